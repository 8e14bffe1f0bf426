//! Where a kernel waits, and what an invocation has to keep until it goes on.
//!
//! The invocations of a workgroup run one after the other, each from one barrier to the next. So what is defined before a barrier and
//! used behind it must be kept in the invocation's frame. Instructions are numbered in the order of the text; a use inside of a loop
//! counts as one at the loop's end if the value comes from outside of it, because control comes back.

use girih_ir::ops::Convergence;
use girih_ir::{Def, Function, InstId, Op, RegionId, Type, ValueId};
use std::collections::HashMap;

/// A barrier.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The instruction.
    pub at: InstId,
    /// Which of its barriers: `uniform_load` has two.
    pub position: usize,
    /// What is kept there.
    pub live: Vec<ValueId>,
}

/// A value's life.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// When it is defined.
    from: usize,
    /// When it is used last.
    to: usize,
    /// The loops around its definition: as many of the first ones around a use enclose both.
    depth: usize,
    region: RegionId,
}

/// The steps of an instruction: a barrier before it, its uses, its results, a barrier behind it.
const STEPS: usize = 4;
const USES: usize = 1;
const RESULTS: usize = 2;
const BEHIND: usize = 3;

/// The barriers of a kernel in the order of the text; `rebuilt` says which values need not be kept.
pub(crate) fn points(kernel: &Function, rebuilt: impl Fn(Op) -> bool) -> Vec<Point> {
    let mut walk = Walk { kernel, lives: HashMap::new(), loops: vec![], regions: vec![], found: vec![], next: 0 };
    walk.region(kernel.body);
    let kept = |value: &ValueId| match kernel.values[*value].def {
        Def::Result(inst, _) => !rebuilt(kernel.insts[inst].op),
        Def::Argument(..) => true,
        Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) => false,
    };
    let mut values: Vec<(ValueId, Life)> = walk.lives.iter().map(|(v, life)| (*v, *life)).collect();
    values.retain(|(v, _)| kept(v) && !matches!(kernel.ty(*v), Type::Memory(_)));
    values.sort_by_key(|(_, life)| life.from);
    let live = |found: &Found| {
        let here = |life: &Life| life.from < found.when && found.when < life.to && found.regions.contains(&life.region);
        values.iter().filter(|(_, life)| here(life)).map(|(v, _)| *v).collect()
    };
    walk.found.iter().map(|found| Point { at: found.at, position: found.position, live: live(found) }).collect()
}

/// A barrier before it is known what lives there.
struct Found {
    at: InstId,
    position: usize,
    when: usize,
    /// The regions around it.
    regions: Vec<RegionId>,
}

struct Walk<'a> {
    kernel: &'a Function,
    lives: HashMap<ValueId, Life>,
    /// The ends of the loops around, once they are known, and their parameters.
    loops: Vec<Loop>,
    regions: Vec<RegionId>,
    found: Vec<Found>,
    next: usize,
}

struct Loop {
    params: Vec<ValueId>,
    /// Values from outside that are used inside.
    uses: Vec<ValueId>,
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId) {
        self.regions.push(region);
        for id in &self.kernel.regions[region].insts {
            self.instruction(*id);
        }
        self.regions.pop();
    }

    fn instruction(&mut self, id: InstId) {
        let inst = &self.kernel.insts[id];
        let start = self.next * STEPS;
        self.next += 1;
        if inst.op.row().convergence == Convergence::Workgroup {
            self.barrier(id, 0, start);
        }
        for operand in &inst.operands {
            self.used(*operand, start + USES);
        }
        if inst.op == Op::While {
            // If the condition fails, the loop gives its parameters.
            let params = self.loops.last().map_or(vec![], |l| l.params.clone());
            params.iter().for_each(|p| self.used(*p, start + USES));
        }
        for region in &inst.regions {
            let params = self.kernel.regions[*region].params.clone();
            let is_loop = inst.op == Op::Loop;
            let depth = self.loops.len() + usize::from(is_loop);
            for param in &params {
                self.lives.insert(*param, Life { from: start + RESULTS, to: 0, depth, region: *region });
            }
            if is_loop {
                self.loops.push(Loop { params, uses: vec![] });
            }
            self.region(*region);
            if is_loop {
                self.end_of_loop();
            }
        }
        let results = if inst.regions.is_empty() { start + RESULTS } else { self.next * STEPS };
        self.next += usize::from(!inst.regions.is_empty());
        let (depth, region) = (self.loops.len(), *self.regions.last().expect("a region is being walked"));
        for result in &inst.results {
            self.lives.insert(*result, Life { from: results, to: 0, depth, region });
        }
        if inst.op == Op::UniformLoad {
            self.barrier(id, 1, start + BEHIND);
        }
    }

    fn barrier(&mut self, at: InstId, position: usize, when: usize) {
        self.found.push(Found { at, position, when, regions: self.regions.clone() });
    }

    fn used(&mut self, value: ValueId, when: usize) {
        let Some(life) = self.lives.get_mut(&value) else { return };
        life.to = life.to.max(when);
        for inner in &mut self.loops[life.depth..] {
            inner.uses.push(value);
        }
    }

    /// What comes from outside is needed until the loop ends.
    fn end_of_loop(&mut self) {
        let Some(ended) = self.loops.pop() else { return };
        let end = self.next * STEPS;
        self.next += 1;
        for value in ended.uses {
            if let Some(life) = self.lives.get_mut(&value) {
                life.to = life.to.max(end);
            }
        }
    }
}
