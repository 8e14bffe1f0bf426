//! The way of kernels to a device: selection, specialisation, and then every pass in order.

use super::calls::{inline, unused};
use super::launch::entry::{Compiled, Entry, LaunchScalar, Slot};
use super::launch::{derived, fold, traps};
use super::{legalise, simplify, tile};
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::{Attr, Caps, Def, Feature, Function, FunctionId, Module, Type, Verified};
use girih_runtime::LoadOptions;

/// Makes kernels of a module legal for a device.
///
/// The result holds only these kernels, in this order, and the functions that they still call.
pub fn compile(
    module: &Verified<Module>,
    kernels: &[FunctionId],
    caps: &Caps,
    options: &LoadOptions,
) -> Result<Compiled, Vec<Diagnostic>> {
    let one = |d| vec![d];
    let mut selected = select(module, kernels);
    let ids: Vec<FunctionId> = selected.kernels().collect();
    let programs = tile::run(&mut selected, caps)?;
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        let kernel = &mut selected.functions[id];
        specialise(kernel, options).map_err(one)?;
        entries.push(entry(id, kernel, caps));
    }
    inline::run(&mut selected, caps).map_err(one)?;
    unused::run(&mut selected, &mut entries);
    for entry in &mut entries {
        let kernel = &mut selected.functions[entry.kernel];
        note_widths(kernel, entry);
        derived::run(kernel, entry);
        traps::run(kernel, entry).map_err(one)?;
        fold::run(kernel, entry, caps, programs.kernels.contains(&entry.kernel)).map_err(one)?;
    }
    simplify::before_legalisation(&mut selected, caps);
    legalise::run(&mut selected, &mut entries, caps)?;
    inline::run(&mut selected, caps).map_err(one)?;
    unused::run(&mut selected, &mut entries);
    simplify::run(&mut selected, caps);
    // What is copied is known better there, and may pass its zeros on.
    while inline::of_zeros(&mut selected).map_err(one)? {
        unused::run(&mut selected, &mut entries);
        simplify::run(&mut selected, caps);
    }
    for entry in &mut entries {
        note_alignment(&selected.functions[entry.kernel], entry);
    }
    Ok(Compiled { module: Verified::by_passes(selected)?, entries, notes: programs.notes })
}

/// What making kernels legal for a device has to say of them beside errors: which leave the usual lowering of tiles, why and where.
///
/// # Errors
/// What the device lacks.
pub fn notes(
    module: &Verified<Module>,
    kernels: &[FunctionId],
    caps: &Caps,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    tile::run(&mut select(module, kernels), caps).map(|programs| programs.notes)
}

/// The kernels in the order asked for, then what they call.
fn select(module: &Module, kernels: &[FunctionId]) -> Module {
    let mut order: Vec<FunctionId> = kernels.to_vec();
    let mut position: FastMap<FunctionId, usize> = order.iter().copied().zip(0..).collect();
    let mut next = 0;
    while next < order.len() {
        let function = &module.functions[order[next]];
        function.walk(function.body, &mut |_, inst| {
            if let Some(callee) = inst.callee()
                && !position.contains_key(&callee)
            {
                position.insert(callee, order.len());
                order.push(callee);
            }
        });
        next += 1;
    }
    let mut functions: girih_base::idx::IndexVec<FunctionId, Function> =
        order.iter().map(|id| module.functions[*id].clone()).collect();
    for function in functions.iter_mut() {
        function.simplified = false;
        for inst in function.insts.iter_mut() {
            if let Some(target) = inst.callee().and_then(|callee| position.get(&callee)) {
                inst.set(Attr::Callee(FunctionId::new(*target as u32)));
            }
        }
    }
    Module { functions, ..Module::default() }
}

/// Turns specialisation constants into constants.
pub fn specialise(kernel: &mut Function, options: &LoadOptions) -> Result<(), Diagnostic> {
    let Some(launch) = &mut kernel.launch else { return Ok(()) };
    for constant in std::mem::take(&mut launch.specialisations) {
        let value = &mut kernel.values[constant.value];
        let given =
            options.specialisations.iter().rev().find(|(name, _)| value.name.as_ref().is_some_and(|n| **n == **name));
        let mask = value.ty.element().map_or(u64::MAX, girih_ir::Scalar::mask);
        value.def = Def::Constant(given.map_or(constant.default, |(_, bits)| *bits) & mask);
        value.name = None;
    }
    Ok(())
}

/// The kernel's entry before any pass changes its parameters.
pub fn entry(id: FunctionId, kernel: &Function, caps: &Caps) -> Entry {
    let slot = |(i, param): (usize, &girih_ir::ValueId)| match kernel.ty(*param) {
        Type::Memory(_) => Slot::Buffer(i),
        Type::Scalar(_)
        | Type::Vector(..)
        | Type::Regs(..)
        | Type::Coop(..)
        | Type::Tile(_)
        | Type::Token
        | Type::Term => Slot::Scalar(LaunchScalar::Argument(i)),
    };
    let mut entry = Entry {
        kernel: id,
        slots: kernel.params.iter().enumerate().map(slot).collect(),
        source: head(kernel),
        folded: false,
        largest_grid: caps.grid,
        aligns: vec![],
        widths: vec![0; kernel.params.len()],
    };
    note_widths(kernel, &mut entry);
    let promised = kernel.params.iter().map(|param| kernel.param_attrs(*param).align.max(1));
    entry.aligns = promised.zip(&entry.widths).map(|(promised, width)| promised.max(*width)).collect();
    entry
}

/// Notes how wide the accesses are through each buffer, as far as it is not handed to a function.
fn note_widths(kernel: &Function, entry: &mut Entry) {
    let mut odd = vec![false; kernel.params.len()];
    kernel.walk(kernel.body, &mut |_, inst| {
        for operand in &inst.operands {
            if let Some(i) = kernel.params.iter().position(|param| param == operand)
                && matches!(kernel.ty(*operand), Type::Memory(_))
            {
                match crate::launch::buffer_offsets::width(inst) {
                    Some(width) => entry.widths[i] = entry.widths[i].max(width),
                    None => odd[i] = true,
                }
            }
        }
    });
    entry.widths.iter_mut().zip(odd).filter(|(_, odd)| *odd).for_each(|(width, _)| *width = 0);
}

/// What wmma asks of the addresses of fragments.
const FRAGMENT_ALIGN: u32 = 32;

/// Notes what the accesses of a legal kernel need of the addresses that it is given. No memory is handed to a function any more.
fn note_alignment(kernel: &Function, entry: &mut Entry) {
    // Words are what parameters promise that say nothing.
    for (slot, param) in entry.slots.iter().zip(&kernel.params) {
        if let Slot::Buffer(i) = slot {
            let promised = kernel.param_attrs(*param).align;
            entry.aligns[*i] = if promised == 0 { 4 } else { promised };
        }
    }
    kernel.walk(kernel.body, &mut |_, inst| {
        let width = match inst.ty {
            Some(ty @ (Type::Scalar(_) | Type::Vector(..))) => ty.bytes().next_power_of_two(),
            Some(Type::Memory(_) | Type::Token | Type::Term) | None => 1,
            Some(Type::Regs(..) | Type::Coop(..) | Type::Tile(_)) => FRAGMENT_ALIGN,
        };
        for operand in &inst.operands {
            if let Some(Slot::Buffer(i)) = kernel.params.iter().position(|p| p == operand).map(|p| entry.slots[p]) {
                entry.aligns[i] = entry.aligns[i].max(width.min(girih_runtime::driver::ALIGN));
            }
        }
    });
}

/// What a launch has to know of a kernel: its parameters, its `launch` region, the lengths of its memories.
fn head(kernel: &Function) -> Function {
    let computes = kernel.launch.as_ref().is_some_and(|launch| launch.prologue.is_some());
    if computes || kernel.memories.iter().any(|memory| kernel.as_constant(memory.length).is_none()) {
        return kernel.clone();
    }
    let mut head = Function::new(kernel.name.clone(), kernel.span);
    for param in &kernel.params {
        let value = kernel.values[*param].clone();
        head.params.push(head.values.push(value));
    }
    for memory in kernel.memories.iter() {
        let length = head.constant(Type::U32, kernel.as_constant(memory.length).unwrap_or_default());
        head.memory(None, memory.space, memory.element, length);
    }
    head.launch.clone_from(&kernel.launch);
    head
}

/// A device lacks a feature that nothing can stand for.
pub(super) fn lacks(feature: Feature, caps: &Caps, what: &str, span: girih_base::span::Span) -> Diagnostic {
    Diagnostic::new(
        Code::NeedsFeature,
        span,
        format!("{what} needs `{}`, which `{}` does not have", feature.name(), caps.name),
    )
    .at(feature.doc())
    .hint("`girih devices` lists what each device has")
}
