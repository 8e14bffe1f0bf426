//! Loop-invariant code motion: computes before a loop what is the same in every iteration.
//!
//! Arithmetic is total, so pure operations may be computed even if no iteration would compute them. Slow operations, and choices between pure ones, move only if each
//! iteration except the last runs them. A load moves only if the loop certainly runs it (so that no out-of-bounds access is added) and nothing in
//! the loop may write what it reads; a volatile one does not move.

use super::control::is_cheap;
use super::memory::{Touch, is_readonly, may_alias, touch};
use girih_base::hash::FastSet;
use girih_base::idx::IndexVec;
use girih_ir::ops::Effect;
use girih_ir::{Function, InstId, Op, RegionId, Regions, Space, Type, ValueId};

/// Moves what can be moved; whether something was.
pub(crate) fn run(f: &mut Function) -> bool {
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

/// How often a loop runs an instruction.
#[derive(Clone, Copy)]
enum Runs<'w> {
    /// At least once; with what it writes.
    Surely(&'w Writes),
    /// In each round that does not leave the loop before.
    Usually,
    /// In some rounds.
    Sometimes,
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
        if !self.f.holds_regions(region) {
            return;
        }
        let insts = std::mem::take(&mut self.f.regions[region].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            let inst = &self.f.insts[id];
            let is_loop = inst.op == Op::Loop;
            for inner in Regions::from_slice(&inst.regions) {
                self.region(inner, level + u32::from(is_loop));
                if is_loop {
                    let writes = self.writes(inner);
                    self.leave(inner, level, Runs::Surely(&writes), &mut out);
                }
            }
            out.push(id);
        }
        self.f.regions[region].insts = out;
    }

    /// Takes out of a region, which is (part of) the body of a loop at this level, what does not change in the loop.
    fn leave(&mut self, region: RegionId, level: u32, mut runs: Runs<'_>, out: &mut Vec<InstId>) {
        let insts = std::mem::take(&mut self.f.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for id in insts {
            if self.can_leave(id, level, runs) || self.choice_can_leave(id, level, runs) {
                let mut made = vec![];
                note_results(self.f, id, &mut made);
                made.into_iter().for_each(|value| self.depth[value] = level);
                self.changed = true;
                out.push(id);
                continue;
            }
            let inst = &self.f.insts[id];
            if matches!(inst.op, Op::If | Op::Switch) {
                for inner in Regions::from_slice(&inst.regions) {
                    self.leave(inner, level, Runs::Sometimes, out);
                }
            }
            if may_end(self.f, id) && matches!(runs, Runs::Surely(_)) {
                runs = Runs::Usually;
            }
            kept.push(id);
        }
        self.f.regions[region].insts = kept;
    }

    fn can_leave(&self, id: InstId, level: u32, runs: Runs<'_>) -> bool {
        let inst = &self.f.insts[id];
        if inst.operands.iter().any(|v| self.depth[*v] > level) || inst.op.is_terminator() {
            return false;
        }
        match inst.effect() {
            Effect::Pure if inst.results.iter().any(|v| stays(self.f.ty(*v))) => false,
            Effect::Pure => !matches!(runs, Runs::Sometimes) || is_cheap(self.f, id),
            Effect::Read => match runs {
                Runs::Surely(writes) => self.is_unwritten(inst.operands[0], writes),
                Runs::Usually | Runs::Sometimes => false,
            },
            Effect::Write | Effect::Atomic | Effect::Sync | Effect::Control | Effect::Trap | Effect::Heap => false,
        }
    }

    /// Whether an instruction is a choice that can leave as a whole: there is nothing in it but arithmetic on what does not change in the loop.
    fn choice_can_leave(&self, id: InstId, level: u32, runs: Runs<'_>) -> bool {
        let is_choice = matches!(self.f.insts[id].op, Op::If | Op::Switch);
        is_choice && !matches!(runs, Runs::Sometimes) && self.is_plain(id, level, &mut FastSet::default())
    }

    /// Whether an instruction is arithmetic on what does not change in a loop, or on what was `made` within the same choice; or a choice of such.
    fn is_plain(&self, id: InstId, level: u32, made: &mut FastSet<ValueId>) -> bool {
        let inst = &self.f.insts[id];
        let fits = match inst.effect() {
            Effect::Pure => inst.results.iter().all(|v| !matches!(self.f.ty(*v), Type::Regs(..))),
            Effect::Control => matches!(inst.op, Op::If | Op::Switch | Op::Yield),
            Effect::Read | Effect::Write | Effect::Atomic | Effect::Sync | Effect::Trap | Effect::Heap => false,
        };
        let is_known = |v: &ValueId| self.depth[*v] <= level || made.contains(v);
        if !fits || !inst.operands.iter().all(is_known) {
            return false;
        }
        let mut within = inst.regions.iter().flat_map(|region| &self.f.regions[*region].insts);
        let is_plain = within.all(|inner| self.is_plain(*inner, level, made));
        made.extend(&inst.results);
        is_plain
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

/// Whether values of a type stay where they are computed. Register arrays are updated in place: a copy of one that lives longer costs all its registers.
/// Tiles of integers are indices and conditions: what does not change of each is found again in the sums that they become for each invocation, where a
/// constant distance is a part of an address.
fn stays(ty: Type) -> bool {
    match ty {
        Type::Regs(..) => true,
        Type::Tile(tile) => !tile.element.is_float(),
        Type::Scalar(_) | Type::Vector(..) | Type::Coop(..) | Type::Token | Type::Term | Type::Memory(_) => false,
    }
}

/// Values that an instruction defines, those within its regions included.
fn note_results(f: &Function, id: InstId, made: &mut Vec<ValueId>) {
    made.extend(&f.insts[id].results);
    for region in &f.insts[id].regions {
        f.walk(*region, &mut |_, inst| made.extend(&inst.results));
    }
}

/// Whether an instruction may end the iteration, or the function.
fn may_end(f: &Function, id: InstId) -> bool {
    let inst = &f.insts[id];
    let mut ends = false;
    for region in &inst.regions {
        f.walk(*region, &mut |_, inner| {
            // A loop's own jumps stay inside.
            ends |= inner.op.leaves_function() || inner.op.ends_iteration() && inst.op != Op::Loop;
        });
    }
    ends
}
