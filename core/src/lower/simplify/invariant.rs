//! Loop-invariant code motion: what is the same in every iteration is computed before the loop.
//!
//! Arithmetic is total, so pure operations may be computed although no iteration would have; slow ones move only if the loop is sure to
//! run them. A load moves only if the loop is sure to run it (so that no access outside of a memory comes in) and nothing in the
//! loop may write what it reads.

use super::control::is_cheap;
use super::memory::{Touch, is_readonly, may_alias, touch};
use crate::idx::IndexVec;
use crate::ir::ops::Effect;
use crate::ir::{Function, InstId, Op, RegionId, Space, Type, ValueId};

/// Moves what can be moved; whether something was.
pub(super) fn run(f: &mut Function) -> bool {
    let mut depth: IndexVec<ValueId, u32> = f.values.iter().map(|_| 0).collect();
    note_depths(f, f.body, 0, &mut depth);
    let mut motion = Motion { f, depth, changed: false };
    motion.region(motion.f.body, 0);
    motion.changed
}

/// In how many loops each value is defined.
fn note_depths(f: &Function, region: RegionId, level: u32, depth: &mut IndexVec<ValueId, u32>) {
    for param in &f.regions[region].params {
        depth[*param] = level;
    }
    for id in &f.regions[region].insts {
        let inst = &f.insts[*id];
        for result in &inst.results {
            depth[*result] = level;
        }
        for inner in &inst.regions {
            note_depths(f, *inner, level + u32::from(inst.op == Op::Loop), depth);
        }
    }
}

struct Motion<'a> {
    f: &'a mut Function,
    depth: IndexVec<ValueId, u32>,
    changed: bool,
}

/// What a loop's iterations do to memory.
#[derive(Default)]
struct Writes {
    handles: Vec<ValueId>,
    shared: bool,
    all: bool,
}

impl Motion<'_> {
    /// Looks for loops, inner ones first, so that what leaves an inner loop may leave the outer one, too.
    fn region(&mut self, region: RegionId, level: u32) {
        let insts = std::mem::take(&mut self.f.regions[region].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            let inst = &self.f.insts[id];
            let is_loop = inst.op == Op::Loop;
            for inner in inst.regions.clone() {
                self.region(inner, level + u32::from(is_loop));
                if is_loop {
                    let writes = self.writes(inner);
                    self.leave(inner, level, Some(&writes), &mut out);
                }
            }
            out.push(id);
        }
        self.f.regions[region].insts = out;
    }

    /// Takes out of a region, which is (part of) the body of a loop at this level, what does not change in the loop. `writes` is given as long
    /// as the loop is sure to run what follows.
    fn leave(&mut self, region: RegionId, level: u32, writes: Option<&Writes>, out: &mut Vec<InstId>) {
        let insts = std::mem::take(&mut self.f.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let mut sure = writes;
        for id in insts {
            if self.can_leave(id, level, sure) {
                for result in self.f.insts[id].results.clone() {
                    self.depth[result] = level;
                }
                self.changed = true;
                out.push(id);
                continue;
            }
            let inst = &self.f.insts[id];
            if matches!(inst.op, Op::If | Op::Switch) {
                for inner in inst.regions.clone() {
                    self.leave(inner, level, None, out);
                }
            }
            if may_end(self.f, id) {
                sure = None;
            }
            kept.push(id);
        }
        self.f.regions[region].insts = kept;
    }

    fn can_leave(&self, id: InstId, level: u32, sure: Option<&Writes>) -> bool {
        let inst = &self.f.insts[id];
        if inst.operands.iter().any(|v| self.depth[*v] > level) || inst.op.is_terminator() {
            return false;
        }
        match inst.op.row().effect {
            // Register arrays are updated in place: a copy of one that lives longer costs all its registers.
            Effect::Pure if inst.results.iter().any(|v| matches!(self.f.ty(*v), Type::Regs(..))) => false,
            Effect::Pure => sure.is_some() || is_cheap(self.f, id),
            Effect::Read => sure.is_some_and(|writes| self.is_unwritten(inst.operands[0], writes)),
            Effect::Write | Effect::Atomic | Effect::Sync | Effect::Control | Effect::Trap | Effect::Heap => false,
        }
    }

    fn is_unwritten(&self, handle: ValueId, writes: &Writes) -> bool {
        if is_readonly(self.f, handle) {
            return true;
        }
        let seen_by_others = self.f.space(handle) != Space::Private;
        let by_others = writes.all || (writes.shared && seen_by_others);
        !by_others && !writes.handles.iter().any(|written| may_alias(self.f, handle, *written))
    }

    fn writes(&self, region: RegionId) -> Writes {
        let mut writes = Writes::default();
        self.f.walk(region, &mut |_, inst| match touch(inst) {
            Touch::Nothing | Touch::Reads(_) => {}
            Touch::Writes(handle) => writes.handles.push(handle),
            Touch::Shared => writes.shared = true,
            Touch::All => writes.all = true,
        });
        writes
    }
}

/// Whether an instruction may end the iteration, or the function.
fn may_end(f: &Function, id: InstId) -> bool {
    let inst = &f.insts[id];
    let mut ends = false;
    for region in &inst.regions {
        f.walk(*region, &mut |_, inner| {
            let jumps = matches!(inner.op, Op::Break | Op::Continue | Op::While);
            // A loop's own jumps stay inside.
            ends |= inner.op == Op::Return || jumps && inst.op != Op::Loop;
        });
    }
    ends
}
