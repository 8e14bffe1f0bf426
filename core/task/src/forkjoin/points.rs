//! Where functions in task form can be left and gone on with, and what they need there.
//!
//! A call of a function that has a frame of its own, a fork, a join, a loop: whatever an invocation cannot do without leaving the code that it
//! is in ends a *segment*, and code goes on at a *point*. What is needed there is *given* by whoever goes there (arguments, results, what a
//! loop carries) or was *kept* over a call in a frame.
//!
//! Invariant: every value that the code of a point uses is given, kept, a constant or computed there.

use girih_ir::{Def, Function, FunctionId, Inst, InstId, Op, RegionId, ValueId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Point {
    /// Its beginning.
    Entry,
    /// Behind an instruction.
    After(InstId),
    /// The beginning of a loop's next iteration.
    Head(InstId),
}

/// A function's structure, seen from its instructions.
pub(super) struct Points<'f> {
    pub function: &'f Function,
    /// The functions that have frames.
    framed: &'f HashSet<FunctionId>,
    /// Where each instruction stands.
    places: HashMap<InstId, (RegionId, usize)>,
    /// Which instruction each region belongs to.
    owners: HashMap<RegionId, InstId>,
}

impl<'f> Points<'f> {
    pub fn of(function: &'f Function, framed: &'f HashSet<FunctionId>) -> Points<'f> {
        let mut points = Points { function, framed, places: HashMap::new(), owners: HashMap::new() };
        points.enter(function.body);
        points
    }

    fn enter(&mut self, region: RegionId) {
        let function = self.function;
        for (i, id) in function.regions[region].insts.iter().enumerate() {
            self.places.insert(*id, (region, i));
            for inner in &function.insts[*id].regions {
                self.owners.insert(*inner, *id);
                self.enter(*inner);
            }
        }
    }

    /// Where an instruction stands: the region, and its position there.
    pub fn place(&self, inst: InstId) -> (RegionId, usize) {
        self.places[&inst]
    }
    /// The instruction that a region belongs to; none for the body.
    pub fn owner(&self, region: RegionId) -> Option<InstId> {
        self.owners.get(&region).copied()
    }
    /// The innermost loop around a region.
    pub fn around(&self, mut region: RegionId) -> Option<InstId> {
        loop {
            let owner = self.owner(region)?;
            if self.function.insts[owner].op == Op::Loop {
                return Some(owner);
            }
            region = self.place(owner).0;
        }
    }

    /// Whether an instruction may leave the code that it stands in.
    pub fn leaves(&self, inst: &Inst) -> bool {
        match inst.op {
            Op::Call => inst.callee().is_some_and(|callee| self.framed.contains(&callee)),
            Op::Fork | Op::Join | Op::GlobalGet | Op::Return | Op::Tail | Op::TrapIf | Op::Loop => true,
            Op::Yield | Op::Break | Op::Continue | Op::While => true,
            _stays => inst.regions.iter().any(|region| self.region_leaves(*region)),
        }
    }
    /// Whether something in a region, its last `yield` apart, may leave it.
    fn region_leaves(&self, region: RegionId) -> bool {
        let function = self.function;
        let mut insts = function.regions[region].insts.iter().map(|id| &function.insts[*id]);
        insts.any(|inst| inst.op != Op::Yield && self.leaves(inst))
    }

    /// Whether a loop's iterations stay in it, and none has a loop inside: it can be copied as one.
    pub fn is_simple(&self, id: InstId) -> bool {
        let inst = &self.function.insts[id];
        let mut stays = true;
        for region in &inst.regions {
            self.function.walk(*region, &mut |_, inner| {
                let ends = matches!(inner.op, Op::Yield | Op::Break | Op::Continue | Op::While | Op::If | Op::Switch);
                stays &= ends || !self.leaves(inner);
            });
        }
        stays
    }

    /// Whether there is a point behind a choice that leaves: more than one of its regions goes on there.
    pub fn meets(&self, choice: &Inst) -> bool {
        let ends = choice.regions.iter().filter_map(|region| self.function.terminator(*region));
        ends.filter(|end| end.op == Op::Yield).count() > 1
    }

    /// The values that whoever goes to a point gives.
    pub fn given(&self, point: Point) -> Vec<ValueId> {
        let function = self.function;
        match point {
            Point::Entry => function.params.clone(),
            Point::After(inst) => function.insts[inst].results.to_vec(),
            Point::Head(inst) => match function.insts[inst].regions[..] {
                [body, ..] => function.regions[body].params.clone(),
                [] => vec![],
            },
        }
    }

    /// The other values that the code from a point on needs.
    pub fn kept(&self, point: Point) -> Vec<ValueId> {
        let mut needed = match point {
            Point::Entry => BTreeSet::new(),
            Point::After(inst) => {
                let (region, position) = self.place(inst);
                self.needed_from(region, position + 1)
            }
            Point::Head(inst) => self.needed_again(inst),
        };
        for given in self.given(point) {
            needed.remove(&given);
        }
        needed.into_iter().collect()
    }

    /// What the code from a position of a region on needs, and what comes behind the region.
    fn needed_from(&self, region: RegionId, position: usize) -> BTreeSet<ValueId> {
        let mut needed = self.needed_behind(region);
        let function = self.function;
        for id in function.regions[region].insts[position..].iter().rev() {
            self.through(*id, &mut needed);
        }
        needed
    }

    /// What is needed before an instruction, when this is needed behind it.
    fn through(&self, id: InstId, needed: &mut BTreeSet<ValueId>) {
        let function = self.function;
        let inst = &function.insts[id];
        for result in &inst.results {
            needed.remove(result);
        }
        for region in &inst.regions {
            for inner in function.regions[*region].insts.iter().rev() {
                self.through(*inner, needed);
            }
            for param in &function.regions[*region].params {
                needed.remove(param);
            }
        }
        let is_constant = |v: &ValueId| matches!(function.values[*v].def, Def::Constant(_));
        needed.extend(inst.operands.iter().filter(|v| !is_constant(v)));
    }

    fn needed_behind(&self, region: RegionId) -> BTreeSet<ValueId> {
        let Some(owner) = self.owner(region) else { return BTreeSet::new() };
        if self.function.insts[owner].op == Op::Loop {
            return self.needed_again(owner);
        }
        let (outer, position) = self.place(owner);
        let mut needed = self.needed_from(outer, position + 1);
        for result in &self.function.insts[owner].results {
            needed.remove(result);
        }
        needed
    }

    /// What a loop's iterations need besides what they carry, and what comes behind the loop.
    fn needed_again(&self, inst: InstId) -> BTreeSet<ValueId> {
        let (outer, position) = self.place(inst);
        let mut needed = self.needed_from(outer, position + 1);
        self.through(inst, &mut needed);
        for initial in &self.function.insts[inst].operands {
            if !self.is_used_in(inst, *initial) && !self.needed_from(outer, position + 1).contains(initial) {
                needed.remove(initial);
            }
        }
        needed
    }

    /// Whether a value is used in an instruction's regions.
    fn is_used_in(&self, inst: InstId, value: ValueId) -> bool {
        let mut used = false;
        for region in &self.function.insts[inst].regions {
            self.function.walk(*region, &mut |_, inner| used |= inner.operands.contains(&value));
        }
        used
    }
}
