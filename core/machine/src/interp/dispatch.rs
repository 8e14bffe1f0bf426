//! Runs all workgroups of a dispatch, or one function.

use super::activation::Handle;
use super::checks::{Checks, Shadows};
use super::code::Team;
use super::fault::Fault;
use super::machine::{Machine, Memories};
use super::mask::LANES;
use super::program::{Layout, Program};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::types::{Space, Type};
use girih_ir::verify::tile_form;
use girih_ir::{FunctionId, Module, ValueId};
use std::ops::Range;
use std::sync::Arc;

/// How a dispatch is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Whether faults are looked for.
    pub checked: bool,
    /// Runs workgroups in an order that this number chooses.
    pub seed: Option<u64>,
    /// Steps that may be made.
    pub fuel: Option<u64>,
}

/// What a parameter of a kernel is for one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A buffer from a byte on, up to another.
    Buffer(usize, u64, u64),
    /// A number's bits.
    Number(u64),
}

/// A dispatch.
#[derive(Debug)]
pub struct Dispatch<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// What its parameters are.
    pub parameters: &'a [Bound],
    /// How many workgroups there are, in three dimensions.
    pub grid: [u32; 3],
    /// Bytes of the shared arrays whose length is chosen at launch.
    pub dynamic_shared: &'a [u32],
    /// Bytes of shared memory that a workgroup can have.
    pub most_shared: usize,
    /// How it is run.
    pub settings: Settings,
}

impl Dispatch<'_> {
    /// Runs it on buffers; gives the trap that it reported, if it did.
    /// What programs print is added to `printed`.
    ///
    /// # Errors
    /// If a fault is found.
    pub fn run(
        &self,
        buffers: &mut Vec<Vec<u8>>,
        shadows: &mut Shadows,
        printed: &mut Vec<String>,
    ) -> Result<Option<(u32, Span)>, Fault> {
        let layout = Layout::new(self.program, self.dynamic_shared);
        if layout.shared_bytes > self.most_shared {
            let function = &self.program.module.functions[self.program.main];
            let (bytes, most) = (layout.shared_bytes, self.most_shared);
            let message =
                format!("`@{}` has {bytes} bytes of shared memory, at most {most} are possible", function.name);
            return Err(Diagnostic::new(Code::OverLimit, function.span, message).into());
        }
        let checks = if self.settings.checked { Some(Box::new(self.checks(buffers, &layout, shadows)?)) } else { None };
        let memories = Memories { buffers: std::mem::take(buffers), shared: vec![] };
        let mut machine = Machine::new(self.program, &layout, memories, checks);
        machine.grid = self.grid;
        machine.fuel = self.settings.fuel.unwrap_or(u64::MAX);
        self.bind(&mut machine);
        let result = self.workgroups(&mut machine);
        *buffers = std::mem::take(&mut machine.memories.buffers);
        printed.append(&mut machine.printed);
        if let Some(checks) = machine.checks {
            checks.end(shadows);
        }
        result.map(|()| machine.trap)
    }

    fn bind(&self, machine: &mut Machine<'_>) {
        for (slot, bound) in self.program.code(self.program.main).params.iter().zip(self.parameters) {
            match *bound {
                Bound::Buffer(buffer, start, end) => {
                    let end = end.min(machine.memories.buffers[buffer].len() as u64);
                    let bytes = end.saturating_sub(start);
                    machine.activation.handles[slot.offset] =
                        Handle { space: Space::Global, buffer, start, bytes, member: 0 };
                }
                Bound::Number(bits) => machine.activation.fill(*slot, bits, machine.team),
            }
        }
    }

    fn workgroups(&self, machine: &mut Machine<'_>) -> Result<(), Fault> {
        let [x, y, z] = self.grid.map(u64::from);
        let total = x.saturating_mul(y).saturating_mul(z);
        let order = Order::new(total, self.settings.seed);
        for i in 0..total {
            let i = order.at(i);
            machine.run([(i % x) as u32, (i / x % y) as u32, (i / (x * y)) as u32])?;
        }
        Ok(())
    }

    fn checks(&self, buffers: &[Vec<u8>], layout: &Layout, shadows: &mut Shadows) -> Result<Checks, Fault> {
        let function = &self.program.module.functions[self.program.main];
        // The bytes of a buffer that its parameters reach.
        let bound = |buffer: usize| {
            let params = function.params.iter().zip(self.parameters);
            params.filter_map(move |(param, bound)| match *bound {
                Bound::Buffer(found, start, end) if found == buffer => Some((*param, start..end)),
                Bound::Buffer(..) | Bound::Number(_) => None,
            })
        };
        for buffer in 0..buffers.len() {
            let is_shared = |(param, own): &(ValueId, Range<u64>)| {
                function.param_attrs(*param).noalias
                    && bound(buffer).any(|(other, bytes)| other != *param && meet(own, &bytes))
            };
            if let Some((param, _)) = bound(buffer).find(is_shared) {
                let name = function.values[param].name.as_deref().unwrap_or("?");
                let message =
                    format!("the buffer for `%{name}`, which is `noalias`, is given to another parameter too");
                let diagnostic = Diagnostic::new(Code::BrokenPromise, function.span, message);
                return Err(diagnostic.hint("leave `noalias` out, or pass another buffer").into());
            }
        }
        let reached = |(i, bytes): (usize, &Vec<u8>)| if bound(i).next().is_some() { bytes.len() } else { 0 };
        let sizes = buffers.iter().enumerate().map(reached);
        let mut checks = Checks::new(shadows, self.program.granule, sizes, layout.shared_bytes);
        let kept = |buffer| bound(buffer).filter(|(param, _)| function.param_attrs(*param).readonly);
        checks.readonly = (0..buffers.len()).map(|buffer| kept(buffer).map(|(_, bytes)| bytes).collect()).collect();
        Ok(checks)
    }
}

/// Whether two ranges of bytes have one in common.
pub(super) fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

/// An order of the workgroups: as they are numbered, or by steps that have no common divisor with their number.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    total: u64,
    step: u64,
    first: u64,
}

impl Order {
    /// An order of so many workgroups; as they are numbered without a seed.
    pub fn new(total: u64, seed: Option<u64>) -> Order {
        let Some(seed) = seed.filter(|_| total > 1) else { return Order { total, step: 1, first: 0 } };
        let divisor = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        // Multiplied by an odd constant, neighbouring seeds give distant steps.
        let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut step = mixed % total;
        while divisor(step, total) != 1 {
            step += 1;
        }
        Order { total, step, first: (mixed >> 17) % total }
    }
    /// The workgroup at a place of the order.
    pub fn at(&self, i: u64) -> u64 {
        let place = u128::from(i) * u128::from(self.step) + u128::from(self.first);
        (place % u128::from(self.total)) as u64
    }
}

/// Calls a function of numbers once for each row of arguments; gives a row of results for each. Vectors and register arrays take as
/// many places as they have elements.
pub(super) fn call(
    module: &Arc<Module>,
    id: FunctionId,
    rows: &[Vec<u64>],
    settings: Settings,
    subgroup: u32,
) -> Result<Vec<Vec<u64>>, Diagnostic> {
    check_arguments(module, id, rows)?;
    let mut results = Vec::with_capacity(rows.len());
    let program = tile_form(module)[id];
    for rows in rows.chunks(if program { 1 } else { LANES }) {
        let team = if program { Team::of_programs() } else { Team::new([rows.len() as u32, 1, 1], subgroup) };
        let program = Program::new(module.clone(), id, team);
        let layout = Layout::new(&program, &[]);
        let new = || Checks::new(&mut Shadows::default(), program.granule, std::iter::empty(), layout.shared_bytes);
        let checks = settings.checked.then(|| Box::new(new()));
        let mut machine = Machine::new(&program, &layout, Memories::default(), checks);
        machine.fuel = settings.fuel.unwrap_or(u64::MAX);
        let mut column = 0;
        for slot in &program.code(id).params {
            for place in slot.offset..slot.offset + slot.components * team.lanes {
                let (component, lane) = ((place - slot.offset) / team.lanes, (place - slot.offset) % team.lanes);
                machine.activation.values[place] = rows[lane][column + component];
            }
            column += slot.components;
        }
        machine.run([0; 3]).map_err(|fault| *fault)?;
        if let Some((code, span)) = machine.trap {
            return Err(trap(code, span));
        }
        results.extend((0..rows.len()).map(|lane| {
            machine.returned.iter().flat_map(|value| value.iter().skip(lane).step_by(team.lanes)).copied().collect()
        }));
    }
    Ok(results)
}

fn check_arguments(module: &Module, id: FunctionId, rows: &[Vec<u64>]) -> Result<(), Diagnostic> {
    let function = &module.functions[id];
    let wrong = |message: String| Err(Diagnostic::new(Code::BadArguments, function.span, message));
    let mut count = 0;
    for param in &function.params {
        match function.ty(*param) {
            Type::Memory(_) | Type::Coop(..) | Type::Tile(_) | Type::Token | Type::Term => {
                return wrong(format!("`@{}` takes more than numbers and cannot be called by itself", function.name));
            }
            ty @ (Type::Scalar(_) | Type::Vector(..) | Type::Regs(..)) => count += ty.lanes() as usize,
        }
    }
    match rows.iter().find(|row| row.len() != count) {
        Some(row) => wrong(format!("`@{}` takes {count} numbers, but {} were given", function.name, row.len())),
        None => Ok(()),
    }
}

/// The error of a reported trap.
pub(super) fn trap(code: u32, span: Span) -> Diagnostic {
    Diagnostic::new(Code::Trap, span, format!("the kernel reported trap {code}"))
}
