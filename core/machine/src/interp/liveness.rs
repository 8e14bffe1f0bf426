//! How long values are needed, so that a activation need not hold all of them at once.
//!
//! Positions count steps in the order in which they are laid out. A value that is defined before a loop and used in it is needed to
//! the loop's end; what a region gives is written inside of it, so it has its place from the instruction that holds the
//! region on.

use girih_base::idx::IndexVec;
use girih_ir::ops::Op;
pub use girih_ir::{Def, Function, Inst, RegionId, ValueId};

/// The last step that needs each value; `usize::MAX` for what stays.
pub(crate) fn last_uses(function: &Function) -> IndexVec<ValueId, usize> {
    let stays = |def| matches!(def, Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_));
    let last = function.values.iter().map(|value| if stays(value.def) { usize::MAX } else { 0 }).collect();
    let defined = function.values.iter().map(|_| 0).collect();
    let mut walk = Walk { function, next: 0, last, defined, uses: vec![] };
    if let Some(prologue) = function.launch.as_ref().and_then(|launch| launch.prologue) {
        walk.region(prologue);
    }
    walk.region(function.body);
    walk.last
}

struct Walk<'a> {
    function: &'a Function,
    next: usize,
    last: IndexVec<ValueId, usize>,
    /// The step that gives each value its place.
    defined: IndexVec<ValueId, usize>,
    /// All uses so far.
    uses: Vec<ValueId>,
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId) {
        for id in &self.function.regions[region].insts {
            let inst = &self.function.insts[*id];
            if inst.op != Op::Grid {
                self.inst(inst);
            }
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let at = self.next;
        self.next += 1;
        for value in &inst.operands {
            self.needed(*value, at);
            self.uses.push(*value);
        }
        let params = inst.regions.iter().flat_map(|region| &self.function.regions[*region].params);
        for value in inst.results.iter().chain(params) {
            self.defined[*value] = at;
            self.last[*value] = self.last[*value].max(at);
        }
        let inside = self.uses.len();
        for region in &inst.regions {
            self.region(*region);
        }
        let end = self.next;
        if inst.op == Op::Loop || inst.op.is_by_element() {
            for i in inside..self.uses.len() {
                let value = self.uses[i];
                if self.defined[value] <= at {
                    self.needed(value, end);
                }
            }
        }
        if !inst.regions.is_empty() {
            let params = inst.regions.iter().flat_map(|region| &self.function.regions[*region].params);
            inst.results.iter().chain(params).for_each(|value| self.last[*value] = self.last[*value].max(end));
        }
    }

    fn needed(&mut self, value: ValueId, at: usize) {
        self.last[value] = self.last[value].max(at);
    }
}
