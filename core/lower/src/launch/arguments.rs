//! The host's part of a launch: arguments checked, derived parameters computed, the grid folded.

use super::entry::{Entry, LaunchPlan, LaunchScalar, Parameter, PlannedGrid, Slot};
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::attrs::Dim;
use girih_ir::{Def, Function, Inst, Op, RegionId, Type, ValueId, eval};
use girih_runtime::Constant;
use girih_runtime::driver::{Argument, Grid, Slice};

pub(super) fn plan(entry: &Entry, arguments: &[Argument], grid: Grid) -> Result<LaunchPlan, Diagnostic> {
    check(entry, arguments)?;
    let prologue = Prologue::run(&entry.source, arguments)?;
    let logical = logical_grid(entry, &prologue, grid)?;
    let grid = match logical {
        Wanted::Workgroups(size) => PlannedGrid::Workgroups(device_grid(entry, size)?),
        Wanted::Indirect(slice) => PlannedGrid::Indirect(slice),
    };
    let parameters = entry.slots.iter().map(|slot| parameter(*slot, arguments, &prologue, logical)).collect();
    let dynamic_shared = entry
        .source
        .memories
        .iter()
        .filter(|m| entry.source.as_constant(m.length).is_none())
        .map(|m| (prologue.value(&entry.source, m.length) as u32).saturating_mul(m.element.bytes()))
        .collect();
    Ok(LaunchPlan { grid, parameters, dynamic_shared })
}

#[derive(Clone, Copy)]
enum Wanted {
    Workgroups([u32; 3]),
    Indirect(Slice),
}

/// The arguments fit the parameters.
fn check(entry: &Entry, arguments: &[Argument]) -> Result<(), Diagnostic> {
    let kernel = &entry.source;
    let wrong = |message: String| Err(Diagnostic::new(Code::BadArguments, kernel.span, message));
    if arguments.len() != kernel.params.len() {
        let count = kernel.params.len();
        return wrong(format!("`@{}` takes {count} arguments, but {} were given", kernel.name, arguments.len()));
    }
    for (i, (param, argument)) in kernel.params.iter().zip(arguments).enumerate() {
        let ty = kernel.ty(*param);
        let name = kernel.values[*param].name.as_deref().unwrap_or("?");
        match (ty, argument) {
            (Type::Memory(_), Argument::Buffer(slice)) if slice.align >= entry.align(i) => {}
            (Type::Memory(_), Argument::Buffer(slice)) => {
                let (at, by) = (slice.offset, entry.align(i));
                return wrong(format!(
                    "the buffer for `%{name}` starts at byte {at}, but the kernel needs a multiple of {by}"
                ));
            }
            (_, Argument::Scalar(constant)) if constant.ty == ty => divisible(kernel, *param, *constant)?,
            (_, Argument::Scalar(constant)) => {
                return wrong(format!("`%{name}` is a `{ty}`, but a `{}` was given", constant.ty));
            }
            (_, Argument::Buffer(_)) => return wrong(format!("`%{name}` is a `{ty}`, but a buffer was given")),
        }
    }
    Ok(())
}

/// A number keeps the promise that its parameter makes.
fn divisible(kernel: &Function, param: ValueId, given: Constant) -> Result<(), Diagnostic> {
    let by = i128::from(kernel.param_attrs(param).divisible.max(1));
    let scalar = kernel.ty(param).element().filter(|scalar| scalar.is_integer() && by > 1);
    let number = scalar.map_or(0, |scalar| eval::int_value(given.bits, scalar));
    if number % by == 0 {
        return Ok(());
    }
    let name = kernel.values[param].name.as_deref().unwrap_or("?");
    let message = format!("`%{name}` is declared divisible by {by}, but {number} was given");
    Err(Diagnostic::new(Code::BadArguments, kernel.span, message))
}

fn logical_grid(entry: &Entry, prologue: &Prologue, grid: Grid) -> Result<Wanted, Diagnostic> {
    match (grid, prologue.grid) {
        (Grid::Workgroups(size), _) | (Grid::Own, Some(size)) => Ok(Wanted::Workgroups(size)),
        (Grid::Indirect(slice), _) => Ok(Wanted::Indirect(slice)),
        (Grid::Own, None) => {
            let message = format!("`@{}` does not say its grid, and none was given", entry.source.name);
            Err(Diagnostic::new(Code::BadArguments, entry.source.span, message)
                .hint("give a grid, or write `launch { grid .. }` in the kernel"))
        }
    }
}

/// The grid that the device starts for a wanted one.
fn device_grid(entry: &Entry, wanted: [u32; 3]) -> Result<[u32; 3], Diagnostic> {
    let largest = entry.largest_grid;
    let folds = entry.source.launch.as_ref().is_some_and(|launch| launch.fold);
    let refuse =
        |message: String, hint: &str| Err(Diagnostic::new(Code::OverLimit, entry.source.span, message).hint(hint));
    if folds && (wanted[1] > 1 || wanted[2] > 1) {
        let message = format!("`@{}` is folded, so its grid has one dimension", entry.source.name);
        return refuse(message, "use `%grid.x` alone, or leave `fold` out");
    }
    if wanted.contains(&0) {
        return Ok([0; 3]);
    }
    if entry.folded && (0..3).any(|i| wanted[i] > largest[i]) {
        // Positions are counted in 32 bits, those of the last row's rest included.
        let all = wanted.iter().try_fold(1u32, |all, n| all.checked_mul(*n)).filter(|all| *all <= i32::MAX as u32);
        let Some(all) = all else {
            let message = format!("a grid of {} x {} x {} workgroups", wanted[0], wanted[1], wanted[2]);
            return refuse(message, "2147483647 workgroups are possible in all; let each do more");
        };
        let rows = all.div_ceil(largest[0]);
        // A row is made as short as the number of rows allows, so that few workgroups lie beyond the end.
        let layers = rows.div_ceil(largest[1]);
        let rows = rows.div_ceil(layers);
        return Ok([all.div_ceil(rows * layers), rows, layers]);
    }
    for (i, dim) in Dim::ALL.into_iter().enumerate() {
        if wanted[i] > largest[i] {
            let (name, most) = (dim.name(), largest[i]);
            let message = format!("a grid of {} workgroups in {name}, but the device allows {most}", wanted[i]);
            return refuse(message, "let each workgroup do more, or mark a one-dimensional kernel `fold`");
        }
    }
    Ok(wanted)
}

fn parameter(slot: Slot, arguments: &[Argument], prologue: &Prologue, grid: Wanted) -> Parameter {
    let scalar = |source| match source {
        LaunchScalar::Argument(i) => match arguments[i] {
            Argument::Scalar(constant) => constant,
            Argument::Buffer(_) => Constant { ty: Type::U32, bits: 0 },
        },
        LaunchScalar::Derived(i) => prologue.derived[i],
        LaunchScalar::GridSize(dim) => {
            let bits = match grid {
                Wanted::Workgroups(size) => size[dim as usize],
                Wanted::Indirect(_) => 0,
            };
            Constant { ty: Type::U32, bits: bits.into() }
        }
    };
    match slot {
        Slot::Buffer(i) => match arguments[i] {
            Argument::Buffer(slice) => Parameter::Buffer(slice),
            Argument::Scalar(constant) => Parameter::Scalar(constant),
        },
        Slot::Traps => Parameter::Traps,
        Slot::Scalar(source) => Parameter::Scalar(scalar(source)),
        Slot::Word(source, word) => {
            let bits = scalar(source).bits >> (32 * u32::from(word)) & 0xffff_ffff;
            Parameter::Scalar(Constant { ty: Type::U32, bits })
        }
    }
}

/// What a kernel's `launch` region computes.
struct Prologue {
    /// The result of each of its instructions, in order.
    derived: Vec<Constant>,
    grid: Option<[u32; 3]>,
    known: FastMap<ValueId, u64>,
}

impl Prologue {
    fn run(kernel: &Function, arguments: &[Argument]) -> Result<Prologue, Diagnostic> {
        let mut known = FastMap::default();
        for (param, argument) in kernel.params.iter().zip(arguments) {
            if let Argument::Scalar(constant) = argument {
                known.insert(*param, constant.bits);
            }
        }
        let mut prologue = Prologue { derived: vec![], grid: None, known };
        if let Some(region) = kernel.launch.as_ref().and_then(|launch| launch.prologue) {
            prologue.region(kernel, region)?;
        }
        Ok(prologue)
    }

    fn region(&mut self, kernel: &Function, region: RegionId) -> Result<(), Diagnostic> {
        for id in &kernel.regions[region].insts {
            let inst = &kernel.insts[*id];
            let operands: Vec<u64> = inst.operands.iter().map(|v| self.value(kernel, *v)).collect();
            if inst.op == Op::Grid {
                self.grid = Some([operands[0] as u32, operands[1] as u32, operands[2] as u32]);
            } else if let [result] = inst.results[..] {
                let bits = scalar(kernel, inst, &operands)?;
                self.known.insert(result, bits);
                self.derived.push(Constant { ty: kernel.ty(result), bits });
            }
        }
        Ok(())
    }

    fn value(&self, kernel: &Function, value: ValueId) -> u64 {
        match kernel.values[value].def {
            Def::Constant(bits) => bits,
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) | Def::Result(..) => {
                self.known.get(&value).copied().unwrap_or(0)
            }
        }
    }
}

/// The verifier allows only scalar instructions in a `launch` region whose meaning is known here. A launch with a guessed number would be
/// wrong in silence, so one that is not known ends it.
fn scalar(kernel: &Function, inst: &Inst, operands: &[u64]) -> Result<u64, Diagnostic> {
    let source = inst.operands.last().and_then(|v| kernel.ty(*v).element()).unwrap_or(girih_ir::Scalar::U32);
    eval::scalar(inst.op, inst.element(), source, operands).ok_or_else(|| {
        let message = format!("the host cannot compute `{}` of `@{}`'s `launch` region", inst.op.name(), kernel.name);
        Diagnostic::new(Code::Internal, inst.span, message)
    })
}
