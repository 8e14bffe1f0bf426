//! Which values share registers: what a region is given and gives back is joined with what it is made of, wherever their
//! lives do not overlap, so that loop-carried values are updated in place.
//!
//! Above all this holds for the accumulators of `wgmma`: a move on one while a product is under way makes the assembler
//! serialise them all.
//!
//! A life is an interval over the instructions in the order of the text. An operand is read at its instruction's
//! position, a result written just after; a value from outside of a loop that is read inside lives until the loop's end. That is
//! wider than need be (a life has no holes), never narrower.

use super::registers::{Bank, Home, shape};
use girih_base::idx::{Idx, IndexVec};
use girih_ir::{Def, Function, Inst, InstId, Op, RegionId, ValueId};

/// The registers of each value; none for constants and for what is never used.
pub(super) type Homes = IndexVec<ValueId, Option<Home>>;

/// Chooses registers for all values of a function.
pub(super) fn homes(function: &Function, bank: &mut Bank) -> Homes {
    let mut walk = Walk::new(function);
    walk.function();
    let mut classes = Classes::new(walk.lives);
    walk.ties.sort_by_key(|tie| std::cmp::Reverse(tie.weight));
    for tie in &walk.ties {
        classes.join(tie.a, tie.b);
    }
    let mut homes: Homes = function.values.iter().map(|_| None).collect();
    for value in function.values.ids() {
        if matches!(function.values[value].def, Def::Constant(_) | Def::Specialisation(_)) {
            continue;
        }
        let root = classes.root(value);
        if homes[root].is_none() {
            let (class, count) = shape(function.ty(root));
            homes[root] = Some(bank.home(class, count));
        }
        homes[value] = homes[root];
    }
    homes
}

/// When a value is needed: from its definition up to its last use.
#[derive(Clone, Copy, Debug)]
struct Life {
    start: u32,
    end: u32,
}

/// Two values that had better share registers.
struct Tie {
    a: ValueId,
    b: ValueId,
    weight: u32,
}

/// Products are tied before everything else; then what is deeper in loops.
const PRODUCT: u32 = 1 << 16;

struct Walk<'a> {
    function: &'a Function,
    lives: Vec<Life>,
    /// How many loops a value's definition is in.
    depths: Vec<u32>,
    /// Values from outside that were read in each enclosing loop.
    loops: Vec<Vec<ValueId>>,
    /// Loop and `if`/`switch` instructions around, innermost last.
    holders: Vec<InstId>,
    ties: Vec<Tie>,
    now: u32,
}

impl<'a> Walk<'a> {
    fn new(function: &'a Function) -> Walk<'a> {
        let lives = vec![Life { start: 0, end: 1 }; function.values.len()];
        let depths = vec![0; function.values.len()];
        Walk { function, lives, depths, loops: vec![], holders: vec![], ties: vec![], now: 1 }
    }

    fn function(&mut self) {
        self.region(self.function.body);
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        function.regions[region].params.iter().for_each(|v| self.define(*v));
        for id in &function.regions[region].insts {
            self.inst(*id);
        }
    }

    fn inst(&mut self, id: InstId) {
        let inst = &self.function.insts[id];
        self.now += 2;
        inst.operands.iter().for_each(|v| self.read(*v));
        self.jump(inst);
        self.tied(inst);
        if inst.op == Op::Loop {
            self.loop_(id, inst);
        } else if !inst.regions.is_empty() {
            self.branch(id, inst);
        }
        inst.results.iter().for_each(|v| self.define(*v));
    }

    fn loop_(&mut self, id: InstId, inst: &Inst) {
        let body = inst.regions[0];
        for (value, param) in inst.operands.iter().zip(&self.function.regions[body].params) {
            // Entered once for many rounds: the back edge's ties come first.
            self.tie(*value, *param, 0);
        }
        self.holders.push(id);
        self.loops.push(vec![]);
        self.region(body);
        self.now += 2;
        for value in self.loops.pop().unwrap_or_default() {
            self.read(value);
        }
        self.holders.pop();
    }

    fn branch(&mut self, id: InstId, inst: &Inst) {
        self.holders.push(id);
        for region in &inst.regions {
            self.region(*region);
        }
        self.holders.pop();
        self.now += 2;
        // Arms may run under the condition as a guard: it stays until the results are complete.
        for value in &inst.operands {
            self.read(*value);
            self.lives[value.index()].end = self.now + 2;
        }
    }

    /// Ties of what a terminator gives with where it goes.
    fn jump(&mut self, inst: &Inst) {
        let function = self.function;
        let innermost = |is_loop: bool| {
            self.holders.iter().rev().map(|id| &function.insts[*id]).find(|holder| (holder.op == Op::Loop) == is_loop)
        };
        let holder = innermost(inst.op != Op::Yield);
        let Some(holder) = holder.filter(|_| inst.op.is_terminator()) else { return };
        if matches!(inst.op, Op::Yield | Op::Break) {
            self.tie_all(&inst.operands, &holder.results);
        } else if inst.op == Op::Continue {
            self.tie_all(&inst.operands, &function.regions[holder.regions[0]].params);
        } else if inst.op == Op::While {
            let params = &function.regions[holder.regions[0]].params;
            params.iter().for_each(|v| self.read(*v));
            self.tie_all(&inst.operands[1..], params);
            self.tie_all(params, &holder.results);
        }
    }

    /// Ties of operands that an instruction updates.
    fn tied(&mut self, inst: &Inst) {
        if inst.op == Op::Wgmma {
            self.tie(inst.operands[0], inst.results[0], PRODUCT);
        } else if inst.op == Op::WgmmaWait {
            for (operand, result) in inst.operands.iter().zip(&inst.results) {
                self.tie(*operand, *result, PRODUCT);
            }
        } else if inst.op == Op::CoopMma {
            self.tie(inst.operands[2], inst.results[0], self.weight());
        } else if inst.op == Op::Insert {
            self.tie(inst.operands[0], inst.results[0], self.weight());
        }
    }

    fn weight(&self) -> u32 {
        self.loops.len() as u32 + 1
    }
    fn tie_all(&mut self, from: &[ValueId], to: &[ValueId]) {
        for (a, b) in from.iter().zip(to) {
            self.tie(*a, *b, self.weight());
        }
    }
    fn tie(&mut self, a: ValueId, b: ValueId, weight: u32) {
        let fixed = |v: ValueId| matches!(self.function.values[v].def, Def::Constant(_) | Def::Specialisation(_));
        if !fixed(a) && !fixed(b) && self.function.ty(a) == self.function.ty(b) {
            self.ties.push(Tie { a, b, weight });
        }
    }

    fn define(&mut self, value: ValueId) {
        self.lives[value.index()] = Life { start: self.now + 1, end: self.now + 2 };
        self.depths[value.index()] = self.loops.len() as u32;
    }
    fn read(&mut self, value: ValueId) {
        let life = &mut self.lives[value.index()];
        life.end = life.end.max(self.now + 1);
        // Read again at the end of each loop that it comes from outside of.
        if let Some(depth) = self.loops.len().checked_sub(1).filter(|d| self.depths[value.index()] as usize <= *d) {
            self.loops[depth].push(value);
        }
    }
}

/// Values that share registers, by union and find.
struct Classes {
    parents: Vec<u32>,
    /// Of roots: the lives of all members, in order.
    lives: Vec<Vec<Life>>,
}

impl Classes {
    fn new(lives: Vec<Life>) -> Classes {
        let parents = (0..lives.len() as u32).collect();
        Classes { parents, lives: lives.into_iter().map(|life| vec![life]).collect() }
    }

    fn root(&mut self, value: ValueId) -> ValueId {
        let mut at = value.index();
        while self.parents[at] as usize != at {
            let up = self.parents[at] as usize;
            self.parents[at] = self.parents[up];
            at = up;
        }
        ValueId::from_usize(at)
    }

    /// Joins the classes of two values if no two lives in them overlap.
    fn join(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.root(a).index(), self.root(b).index());
        if a == b || overlap(&self.lives[a], &self.lives[b]) {
            return;
        }
        let moved = std::mem::take(&mut self.lives[b]);
        self.lives[a].extend(moved);
        self.lives[a].sort_by_key(|life| life.start);
        self.parents[b] = a as u32;
    }
}

/// Whether two ordered lists have lives that overlap.
fn overlap(a: &[Life], b: &[Life]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.end <= y.start {
            i += 1;
        } else if y.end <= x.start {
            j += 1;
        } else {
            return true;
        }
    }
    false
}
