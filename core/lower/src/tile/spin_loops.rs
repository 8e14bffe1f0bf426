//! Loops that wait for other programs: locks, flags.
//!
//! A loop waits if only memory decides when it ends, and the loop does not change that memory itself: its conditions come from loads, exchanges and
//! updates that are the same in each iteration. Loops that count, that take work from a queue, or that try an update again with a newer value end by
//! themselves.

use super::control_dependence;
use crate::compile::lacks;
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::attrs::Update;
use girih_ir::groups::{not_control, not_of_tiles};
use girih_ir::ops::Effect;
use girih_ir::{Caps, Def, Feature, Function, Inst, InstId, Op, RegionId, ValueId};

/// Refuses a kernel that waits for other programs on a device on which they need not run meanwhile.
pub fn check(kernel: &Function, caps: &Caps) -> Result<(), Diagnostic> {
    if caps.has(Feature::ForwardProgress) {
        return Ok(());
    }
    match waiting(kernel) {
        None => Ok(()),
        Some(asks) => {
            let what = format!("a loop of `@{}` that waits for other programs", kernel.name);
            Err(lacks(Feature::ForwardProgress, caps, &what, kernel.insts[asks].span))
        }
    }
}

/// What asks memory, in the first loop that waits.
pub fn waiting(f: &Function) -> Option<InstId> {
    let sources = control_dependence::sources(f);
    let mut loops = vec![];
    f.walk(f.body, &mut |_, inst| loops.extend((inst.op == Op::Loop).then(|| inst.regions[0])));
    loops.into_iter().find_map(|body| Loop::of(f, &sources, body).asks())
}

/// Whether memory decides what an operation of tile form gives.
fn asks_memory(op: Op) -> bool {
    match op.row().effect {
        Effect::Read | Effect::Atomic => true,
        Effect::Pure | Effect::Write | Effect::Sync | Effect::Control | Effect::Trap | Effect::Heap => false,
    }
}

struct Loop<'f> {
    f: &'f Function,
    sources: &'f IndexVec<ValueId, Vec<ValueId>>,
    body: RegionId,
    /// Values that are made in the loop.
    own: IndexVec<ValueId, bool>,
}

impl<'f> Loop<'f> {
    fn of(f: &'f Function, sources: &'f IndexVec<ValueId, Vec<ValueId>>, body: RegionId) -> Loop<'f> {
        let mut own: IndexVec<ValueId, bool> = f.values.iter().map(|_| false).collect();
        f.regions[body].params.iter().for_each(|v| own[*v] = true);
        f.walk(body, &mut |_, inst| {
            let params = inst.regions.iter().flat_map(|r| &f.regions[*r].params);
            inst.results.iter().chain(params).for_each(|v| own[*v] = true);
        });
        Loop { f, sources, body, own }
    }

    /// What asks memory, if the loop waits.
    fn asks(&self) -> Option<InstId> {
        let mut conditions = vec![];
        self.conditions(self.body, &mut vec![], &mut conditions);
        let decides = self.origins(&conditions);
        let made_by = |v: &ValueId| match self.f.values[*v].def {
            Def::Result(id, _) => Some(id),
            _no_result => None,
        };
        let ends_by_itself = decides.iter().any(|v| match made_by(v) {
            Some(id) => self.changes(&self.f.insts[id]),
            None => self.origins(&self.sources[*v]).contains(v) && !self.stays(*v),
        });
        if ends_by_itself {
            return None;
        }
        decides.iter().filter_map(made_by).find(|id| asks_memory(self.f.insts[*id].op))
    }

    /// On what it depends that this loop is left.
    fn conditions(&self, region: RegionId, around: &mut Vec<ValueId>, out: &mut Vec<ValueId>) {
        for id in &self.f.regions[region].insts {
            let inst = &self.f.insts[*id];
            match inst.op {
                Op::If | Op::Switch => {
                    around.push(inst.operands[0]);
                    inst.regions.iter().for_each(|r| self.conditions(*r, around, out));
                    around.pop();
                }
                Op::While => out.push(inst.operands[0]),
                Op::Break | Op::Return => out.extend(around.iter()),
                // What is left in there is the inner loop.
                Op::Loop | Op::Call | Op::Yield | Op::Continue | Op::Grid | Op::TrapIf | not_control!() => {}
            }
        }
    }

    /// The values of the loop that these are made of, with them.
    fn origins(&self, from: &[ValueId]) -> Vec<ValueId> {
        let mut found: Vec<ValueId> = vec![];
        let mut todo = from.to_vec();
        while let Some(value) = todo.pop() {
            if !self.own[value] || found.contains(&value) {
                continue;
            }
            found.push(value);
            todo.extend(&self.sources[value]);
            if let Def::Result(id, _) = self.f.values[value].def {
                todo.extend(&self.f.insts[id].operands);
            }
        }
        found
    }

    /// Whether a parameter is the same in each iteration.
    fn stays(&self, param: ValueId) -> bool {
        self.sources[param].iter().all(|source| *source == param || !self.own[*source])
    }

    /// Whether an access finds something else each time because of what the loop itself does.
    fn changes(&self, inst: &Inst) -> bool {
        match inst.op {
            Op::TileAtomic => {
                let by = self.f.as_constant(inst.operands[2]);
                matches!(inst.update(), Update::Add | Update::Xor) && by != Some(0)
            }
            Op::TileLoad => {
                let mut written = false;
                self.f.walk(self.body, &mut |_, other| {
                    written |= other.op == Op::TileStore && other.operands[0] == inst.operands[0];
                });
                written
            }
            Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileJoin
            | Op::TileSplit
            | Op::TileCat
            | Op::TileGather
            | Op::TileHistogram
            | Op::TileMap
            | Op::TileReduce
            | Op::TileScan
            | Op::TileDot
            | Op::TileStore
            | Op::TileCompareExchange
            | Op::TileHint
            | Op::TileAssume
            | Op::TilePrint
            | Op::TileAssert
            | not_of_tiles!() => false,
        }
    }
}
