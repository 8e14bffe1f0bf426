//! Functions made ready to run: steps in one list, values at fixed places, the meaning of arithmetic looked up.
//!
//! Regions are laid out one after another behind the instruction that holds them; each ends with its terminator, so there
//! are no jumps, only the places where lanes go on that [`super::machine`] keeps.

use super::activation::owners;
use super::liveness::last_uses;
use super::mask::LANES;
use girih_base::idx::{Idx, IndexVec};
use girih_ir::attrs::Attr;
use girih_ir::eval::{self, Function as Meaning};
use girih_ir::groups::{arithmetic, by_element, effects_and_positions, whole_tiles};
use girih_ir::ops::Op;
use girih_ir::types::{CoopUse, MatrixShape, Space, Type};
pub(super) use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, RegionId, ValueId};
use std::collections::{BTreeSet, HashMap};

/// How many invocations run in step, and how they are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Team {
    /// Whether it is one program in tile form, which has no invocations.
    pub program: bool,
    /// Invocations of a workgroup.
    pub lanes: usize,
    /// Lanes of a full subgroup.
    pub width: usize,
    /// The workgroup's dimensions.
    pub size: [u32; 3],
}

impl Team {
    /// The invocations of a workgroup of this size, in subgroups of so many lanes.
    pub fn new(size: [u32; 3], width: u32) -> Team {
        let lanes = size.iter().map(|n| *n as usize).product::<usize>().clamp(1, LANES);
        Team { program: false, lanes, width: width.clamp(1, 64) as usize, size }
    }
    /// One that runs programs in tile form.
    pub(super) fn of_programs() -> Team {
        Team { program: true, ..Team::new([1; 3], 1) }
    }
    /// How many subgroups there are; the last may be partly empty.
    pub(super) fn subgroups(&self) -> usize {
        self.lanes.div_ceil(self.width)
    }
    /// Position of an invocation in its workgroup.
    pub(super) fn position(&self, lane: usize) -> [u32; 3] {
        let (lane, [x, y, _]) = (lane as u32, self.size);
        [lane % x, lane / x % y, lane / (x * y)]
    }
}

/// Who has a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Each invocation: component c of lane l lies at `offset + c * lanes + l`.
    Lane,
    /// Each subgroup (fragments): element c of subgroup g lies at `offset + c * subgroups + g`.
    Subgroup,
    /// The workgroup (handles): `offset` counts the activation's handles.
    Handle,
}

/// Where a value lies in a activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub owner: Owner,
    pub offset: usize,
    pub components: usize,
}

/// Copies of values, made as if at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves {
    /// From, to.
    pub pairs: Vec<(Slot, Slot)>,
    /// Whether a target is also a source.
    pub overlap: bool,
}

impl Moves {
    fn new(pairs: Vec<(Slot, Slot)>) -> Moves {
        let overlap = pairs.iter().any(|(from, _)| pairs.iter().any(|(_, to)| from == to));
        Moves { pairs: pairs.into_iter().filter(|(from, to)| from != to).collect(), overlap }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Applies a scalar operation to each component.
    Apply(Meaning),
    /// Splits by the first operand; steps where the regions begin and where lanes go on.
    If { then: usize, otherwise: Option<usize>, end: usize },
    /// Splits by the first operand: the region of each value, and of all others.
    Switch { table: Vec<(u64, usize)>, regions: Vec<usize>, end: usize },
    /// Begins a loop whose body follows.
    Loop { enter: Moves, end: usize },
    /// Ends a region of `if` or `switch`.
    Yield(Moves),
    /// Leaves the innermost loop.
    Break(Moves),
    /// Goes on with the innermost loop.
    Continue(Moves),
    /// Either, by the first operand.
    While { next: Moves, exit: Moves },
    /// Ends the function.
    Return,
    /// Runs the region that follows on elements of tiles, which are put into these places.
    Elements { params: Vec<Slot>, end: usize },
    /// Ends that region.
    Give,
    /// Calls a function.
    Call(FunctionId),
    /// Everything else: [`super::perform`] knows by the operation.
    Perform,
}

/// An instruction made ready.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub inst: InstId,
    pub op: Op,
    /// The suffix; `u32` where there is none.
    pub ty: Type,
    pub action: Action,
    pub operands: Vec<Slot>,
    pub results: Vec<Slot>,
    /// Constant part of the first access's index.
    pub offset: i64,
}

/// A shared or private array of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub handle: usize,
    pub space: Space,
    /// Bytes, if they are known before a launch.
    pub bytes: Option<usize>,
    pub align: usize,
    pub group: u32,
    /// Where a private array begins among a lane's private bytes.
    pub start: usize,
}

/// A function made ready.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub steps: Vec<Step>,
    /// How many numbers a activation holds.
    pub values: usize,
    pub constants: Vec<(Slot, u64)>,
    pub params: Vec<Slot>,
    pub handles: usize,
    pub arrays: Vec<Array>,
    /// Private bytes of one lane.
    pub private_bytes: usize,
}

/// How many elements the fragments of a type have: (rows, columns).
pub(super) fn fragment(usage: CoopUse, shape: MatrixShape) -> (usize, usize) {
    let (m, n, k) = (shape.m.into(), shape.n.into(), shape.k.into());
    match usage {
        CoopUse::A => (m, k),
        CoopUse::B => (k, n),
        CoopUse::Acc => (m, n),
    }
}

/// Makes a function ready for a team.
pub(super) fn prepare(module: &Module, id: FunctionId, team: Team) -> Code {
    let function = &module.functions[id];
    let slots = (0..function.values.len()).map(|_| None).collect();
    let code = Code {
        steps: vec![],
        values: 0,
        constants: vec![],
        params: vec![],
        handles: 0,
        arrays: vec![],
        private_bytes: 0,
    };
    let last = last_uses(function);
    let mut p =
        Prepare { function, team, slots, code, holders: vec![], last, live: BTreeSet::new(), free: HashMap::new() };
    p.code.params = function.params.iter().map(|v| p.slot(*v)).collect();
    p.arrays();
    if let Some(prologue) = function.launch.as_ref().and_then(|launch| launch.prologue) {
        p.region(prologue);
    }
    p.region(function.body);
    p.code
}

struct Prepare<'a> {
    function: &'a Function,
    team: Team,
    slots: IndexVec<ValueId, Option<Slot>>,
    code: Code,
    /// The instructions whose regions are being laid out, outermost first.
    holders: Vec<&'a Inst>,
    /// The last step that needs each value.
    last: IndexVec<ValueId, usize>,
    /// Values that have a place, those that are needed for the shortest time first.
    live: BTreeSet<(usize, usize)>,
    /// Places of values that are no longer needed, by their size.
    free: HashMap<usize, Vec<usize>>,
}

impl<'a> Prepare<'a> {
    fn slot(&mut self, value: ValueId) -> Slot {
        if let Some(slot) = self.slots[value] {
            return slot;
        }
        let (owner, components, size) = match self.function.ty(value) {
            Type::Memory(_) => (Owner::Handle, 0, 0),
            Type::Coop(usage, shape, _) => {
                let (rows, columns) = fragment(usage, shape);
                (Owner::Subgroup, rows * columns, rows * columns * self.team.subgroups())
            }
            ty @ (Type::Scalar(_) | Type::Vector(..) | Type::Regs(..)) => {
                (Owner::Lane, ty.lanes() as usize, ty.lanes() as usize * self.team.lanes)
            }
            Type::Tile(tile) => {
                let elements = tile.shape.elements() as usize;
                (Owner::Lane, elements, elements * self.team.lanes)
            }
            Type::Token | Type::Term => (Owner::Lane, 1, self.team.lanes),
        };
        let offset = if owner == Owner::Handle {
            self.code.handles += 1;
            self.code.handles - 1
        } else {
            // What stays is filled in once, before the first step, so it has a place that no other value had.
            let stays = self.last[value] == usize::MAX;
            let used = self.free.get_mut(&size).filter(|_| !stays).and_then(Vec::pop);
            used.unwrap_or_else(|| {
                self.code.values += size;
                self.code.values - size
            })
        };
        let slot = Slot { owner, offset, components };
        self.live.insert((self.last[value], value.index()));
        if let Def::Constant(bits) = self.function.values[value].def {
            self.code.constants.push((slot, bits));
        }
        self.slots[value] = Some(slot);
        slot
    }
    fn slots(&mut self, values: &[ValueId]) -> Vec<Slot> {
        values.iter().map(|v| self.slot(*v)).collect()
    }

    /// Frees the places of values that no step from this one on needs.
    fn release(&mut self, next: usize) {
        while let Some((last, value)) = self.live.first().copied().filter(|(last, _)| *last < next) {
            self.live.remove(&(last, value));
            let Some(slot) = self.slots[ValueId::from_usize(value)] else { continue };
            let size = slot.components * owners(slot, self.team);
            if slot.owner != Owner::Handle {
                self.free.entry(size).or_default().push(slot.offset);
            }
        }
    }

    fn arrays(&mut self) {
        for memory in self.function.memories.iter() {
            let handle = self.slot(memory.value).offset;
            let length = self.function.as_constant(memory.length);
            let bytes = length.map(|n| n as usize * memory.element.bytes() as usize);
            let align = memory.align.max(1) as usize;
            let mut array = Array {
                handle,
                space: memory.space,
                bytes,
                align,
                group: memory.group,
                start: self.code.private_bytes,
            };
            if memory.space == Space::Private {
                array.start = array.start.next_multiple_of(align);
                self.code.private_bytes = array.start + bytes.unwrap_or(0);
            }
            self.code.arrays.push(array);
        }
        // Whole granules of any size, so that lanes do not share one.
        self.code.private_bytes = self.code.private_bytes.next_multiple_of(16);
    }

    fn region(&mut self, region: RegionId) {
        for id in &self.function.regions[region].insts {
            let inst = &self.function.insts[*id];
            if inst.op != Op::Grid {
                self.inst(*id, inst);
            }
        }
    }

    fn inst(&mut self, id: InstId, inst: &'a Inst) {
        self.release(self.code.steps.len());
        let (operands, results) = (self.slots(&inst.operands), self.slots(&inst.results));
        let at = self.code.steps.len();
        let action = self.action(inst, &operands, &results);
        self.code.steps.push(Step {
            inst: id,
            op: inst.op,
            ty: inst.ty.unwrap_or(Type::U32),
            action,
            operands,
            results,
            offset: inst.offset().into(),
        });
        if inst.regions.is_empty() {
            return;
        }
        self.holders.push(inst);
        let mut starts = vec![];
        for region in &inst.regions {
            starts.push(self.code.steps.len());
            self.region(*region);
        }
        self.holders.pop();
        self.patch(at, &starts);
    }

    /// Says where the regions of a step begin, now that they are laid out.
    fn patch(&mut self, at: usize, starts: &[usize]) {
        let after = self.code.steps.len();
        match &mut self.code.steps[at].action {
            Action::If { then, otherwise, end } => {
                *end = after;
                *then = starts.first().copied().unwrap_or(after);
                *otherwise = starts.get(1).copied();
            }
            Action::Switch { regions, end, .. } => {
                *end = after;
                *regions = starts.to_vec();
            }
            Action::Loop { end, .. } | Action::Elements { end, .. } => *end = after,
            Action::Apply(_)
            | Action::Yield(_)
            | Action::Break(_)
            | Action::Continue(_)
            | Action::While { .. }
            | Action::Return
            | Action::Give
            | Action::Call(_)
            | Action::Perform => {}
        }
    }

    fn action(&mut self, inst: &Inst, operands: &[Slot], results: &[Slot]) -> Action {
        let moves = |from: &[Slot], to: &[Slot]| Moves::new(from.iter().copied().zip(to.iter().copied()).collect());
        match inst.op {
            Op::If => Action::If { then: 0, otherwise: None, end: 0 },
            Op::Switch => Action::Switch { table: table(inst), regions: vec![], end: 0 },
            Op::Loop => {
                let params = self.params(inst);
                Action::Loop { enter: moves(operands, &params), end: 0 }
            }
            by_element!() => Action::Elements { params: self.params(inst), end: 0 },
            Op::Yield if self.holders.last().is_some_and(|holder| holder.op.is_by_element()) => Action::Give,
            Op::Yield => {
                let results = self.holder_results();
                Action::Yield(moves(operands, &results))
            }
            Op::Break => {
                let (_, results) = self.innermost_loop();
                Action::Break(moves(operands, &results))
            }
            Op::Continue => {
                let (params, _) = self.innermost_loop();
                Action::Continue(moves(operands, &params))
            }
            Op::While => {
                let (params, results) = self.innermost_loop();
                Action::While { next: moves(operands.get(1..).unwrap_or(&[]), &params), exit: moves(&params, &results) }
            }
            Op::Return => Action::Return,
            Op::Call => inst.callee().map_or(Action::Perform, Action::Call),
            Op::Grid | Op::TrapIf | whole_tiles!() | effects_and_positions!() | arithmetic!() => {
                self.arithmetic(inst, operands, results).map_or(Action::Perform, Action::Apply)
            }
        }
    }

    /// The meaning of an operation that works on each component alone.
    fn arithmetic(&self, inst: &Inst, operands: &[Slot], results: &[Slot]) -> Option<Meaning> {
        if inst.op == Op::Select {
            return None; // Its first operand is one for all components, and what is not chosen does not matter.
        }
        let (Some(ty), Some(first), [result]) = (inst.ty?.element(), inst.operands.first(), results) else {
            return None;
        };
        let alike = operands.iter().all(|slot| slot.owner == Owner::Lane && slot.components == result.components);
        let source = self.function.ty(*first).element()?;
        if alike { eval::function(inst.op, ty, source) } else { None }
    }

    fn params(&mut self, inst: &Inst) -> Vec<Slot> {
        let params = inst.regions.first().map(|region| self.function.regions[*region].params.clone());
        self.slots(&params.unwrap_or_default())
    }
    fn holder_results(&mut self) -> Vec<Slot> {
        let results = self.holders.last().map(|inst| inst.results.clone());
        self.slots(&results.unwrap_or_default())
    }
    /// Parameters and results of the innermost loop.
    fn innermost_loop(&mut self) -> (Vec<Slot>, Vec<Slot>) {
        let Some(inst) = self.holders.iter().rev().copied().find(|inst| inst.op == Op::Loop) else {
            return (vec![], vec![]);
        };
        (self.params(inst), self.slots(&inst.results))
    }
}

/// Values of a switch with the number of their region, sorted.
fn table(inst: &Inst) -> Vec<(u64, usize)> {
    let mask = inst.element().mask();
    let cases = inst.attrs.iter().find_map(|a| if let Attr::Cases(cases) = a { Some(cases) } else { None });
    let mut table: Vec<(u64, usize)> = cases
        .into_iter()
        .flatten()
        .enumerate()
        .flat_map(|(region, values)| values.iter().map(move |v| (*v as u64 & mask, region)))
        .collect();
    table.sort_unstable();
    table
}
