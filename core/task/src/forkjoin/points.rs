//! Where functions in task form can be left and gone on with, and what they need there.
//!
//! A call of a function that has a frame of its own, a fork, a join, a loop: whatever an invocation cannot do without leaving the code that it
//! is in ends a *segment*, and code goes on at a *point*. What is needed there is *given* by whoever goes there (arguments, results, what a
//! loop carries) or was *kept* over a call in a frame.
//!
//! Invariant: every value that the code of a point uses is given, kept, a constant or computed there.

use super::liveness::Liveness;
use girih_ir::{Function, FunctionId, Inst, InstId, Op, RegionId, ValueId};
use std::collections::{HashMap, HashSet};

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
    live: Liveness,
}

/// Whether an instruction, apart from what stands inside of it, leaves the code of its function for good or for a while; calls of these functions do.
pub(super) fn leaves_code(inst: &Inst, framed: &HashSet<FunctionId>) -> bool {
    match inst.op {
        Op::Call => inst.callee().is_some_and(|callee| framed.contains(&callee)),
        Op::Fork | Op::Join | Op::GlobalGet | Op::Return | Op::Tail | Op::TrapIf | Op::Loop => true,
        _stays => false,
    }
}

impl<'f> Points<'f> {
    pub fn of(function: &'f Function, framed: &'f HashSet<FunctionId>) -> Points<'f> {
        let (places, owners, live) = (HashMap::new(), HashMap::new(), Liveness::of(function));
        let mut points = Points { function, framed, places, owners, live };
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
        let ends = matches!(inst.op, Op::Yield | Op::Break | Op::Continue | Op::While);
        ends || leaves_code(inst, self.framed) || inst.regions.iter().any(|region| self.region_leaves(*region))
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

    /// The point itself, or the head of the loop with which a function begins if that needs the same of whoever goes there: then one
    /// segment serves both.
    pub fn stands_for(&self, point: Point) -> Point {
        let function = self.function;
        let first = function.regions[function.body].insts.first();
        match (point, first) {
            (Point::Entry, Some(first)) if function.insts[*first].op == Op::Loop => {
                let head = Point::Head(*first);
                let takes_params = function.insts[*first].operands[..] == function.params[..];
                if takes_params && self.kept(head).is_empty() { head } else { point }
            }
            _other => point,
        }
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
        match point {
            Point::Entry => vec![],
            Point::After(inst) => self.live.behind(inst),
            Point::Head(inst) => self.live.head(inst),
        }
    }
}
