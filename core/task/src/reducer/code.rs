//! The code of a step: what a call does until its own calls begin.
//!
//! What follows a choice is written into each of its arms, so on each way it is known which calls there are. One of them, the lane goes on with; the
//! others go onto its stack. A call of a function that is no head is written where it is gone on with.
//!
//! A call that ends at once, because a first test says so, is neither put onto the stack nor gone on with: the test is written where the call
//! is made.

use super::find::Found;
use super::lane::{IDLE, Lane};
use super::memory::{control, fault};
use crate::Refusal;
use crate::forkjoin::copier::{Copier, Facts, Names};
use crate::word;
use girih_base::idx::IndexVec;
use girih_ir::{Builder, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, ValueId};
use girih_lower::EarlyExit;

/// Instructions of all steps together, at most.
pub(super) const MOST: i64 = 4000;
/// Instructions before a test that is written where the call is made, at most.
const PEELED: usize = 12;

/// A call that has not begun.
#[derive(Clone, Debug)]
struct Spawn {
    callee: FunctionId,
    arguments: Vec<ValueId>,
}

/// What is so where the writer is.
#[derive(Clone)]
struct Path {
    function: FunctionId,
    names: Names,
    facts: Facts,
    /// What was put together so far of each result.
    sums: Vec<ValueId>,
    /// Calls of this function, and those that go onto the stack.
    spawns: Vec<Spawn>,
    pushes: Vec<Spawn>,
}

/// What follows when an arm ends.
#[derive(Clone, Copy)]
struct Rest<'a> {
    results: &'a [ValueId],
    insts: &'a [InstId],
    next: Option<&'a Rest<'a>>,
}

/// A lane's state behind a step: the head, how many entries the stack has, the sums, the arguments.
pub(super) struct State {
    pub words: Vec<ValueId>,
}

/// What is found out while steps are written.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Most calls on a way.
    pub calls: usize,
    /// Most entries that a step puts onto the stack.
    pub pushes: usize,
    /// Functions that are put onto the stack and are no heads.
    pub missing: Option<FunctionId>,
}

/// Writes steps.
pub(super) struct StepWriter<'m> {
    pub b: Builder,
    pub module: &'m Module,
    pub found: &'m Found,
    pub pure: &'m IndexVec<FunctionId, Option<FunctionId>>,
    /// Functions at which a step ends, and others that a step begins with.
    pub heads: &'m [FunctionId],
    pub entries: &'m [FunctionId],
    pub lane: Lane,
    pub left: i64,
    pub measured: Measured,
}

impl<'m> StepWriter<'m> {
    /// The step that begins with an entry, whose arguments are words.
    pub fn step(
        &mut self,
        entry: FunctionId,
        (depth, sums): (ValueId, &[ValueId]),
        words: &[ValueId],
    ) -> Result<State, Refusal> {
        let function = &self.module.functions[entry];
        let types: Vec<Type> = function.params.iter().map(|param| function.ty(*param)).collect();
        let arguments = words.iter().zip(types).map(|(word, ty)| word::open(&mut self.b, *word, ty)).collect();
        let path = Path {
            function: entry,
            names: Names::default(),
            facts: Facts::default(),
            sums: sums.to_vec(),
            spawns: vec![],
            pushes: vec![],
        };
        let words = self.begin(Spawn { callee: entry, arguments }, depth, path)?;
        Ok(State { words })
    }

    /// Types of a state's words.
    pub fn types(&self) -> Vec<Type> {
        vec![Type::U32; 1 + self.found.monoids.len() + self.lane.width as usize]
    }

    fn begin(&mut self, call: Spawn, depth: ValueId, mut path: Path) -> Result<Vec<ValueId>, Refusal> {
        let function = &self.module.functions[call.callee];
        path.function = call.callee;
        path.names = Names::default();
        for (param, argument) in function.params.iter().zip(call.arguments) {
            path.names.set(*param, vec![argument]);
        }
        self.sequence(&function.regions[function.body].insts, None, depth, path)
    }

    fn sequence(
        &mut self,
        insts: &[InstId],
        rest: Option<&Rest<'_>>,
        depth: ValueId,
        mut path: Path,
    ) -> Result<Vec<ValueId>, Refusal> {
        let module = self.module;
        let function = &module.functions[path.function];
        for (i, id) in insts.iter().enumerate() {
            let inst = &function.insts[*id];
            self.b.span = inst.span;
            let part = inst.results.iter().find_map(|result| self.found.part(path.function, *result));
            let behind = |results| Rest { results, insts: &insts[i + 1..], next: rest };
            match inst.op {
                Op::Return => {
                    self.add_up_all(&inst.operands, &mut path);
                    return self.end(depth, path);
                }
                Op::Yield => {
                    let Some(rest) = rest else { return Err(Refusal::new("an arm of it ends nowhere")) };
                    self.give(rest.results, &inst.operands, &mut path);
                    return self.sequence(rest.insts, rest.next, depth, path);
                }
                Op::Call | Op::Fork | Op::Tail if self.found.is_own(inst) => {
                    let arguments = inst.operands.iter().map(|v| self.value(*v, &mut path)).collect();
                    path.spawns.extend(inst.callee().map(|callee| Spawn { callee, arguments }));
                    if inst.op == Op::Tail {
                        return self.end(depth, path);
                    }
                }
                Op::Join => {}
                Op::TrapIf => return self.trap(inst, &behind(&[]), depth, path),
                Op::If | Op::Switch if part.is_some() || self.leaves(function, inst) => {
                    return self.choice(inst, &behind(&inst.results), depth, path);
                }
                _other => match part {
                    Some(position) => self.add_up(position, &inst.operands, &mut path),
                    None => self.copy(*id, &mut path)?,
                },
            }
        }
        Err(Refusal::new("its code ends nowhere"))
    }

    /// Whether there is something in an arm that the code behind it has to know of.
    fn leaves(&self, function: &Function, inst: &Inst) -> bool {
        let mut found = false;
        for region in &inst.regions {
            function.walk(*region, &mut |_, inst| {
                found |= matches!(inst.op, Op::Return | Op::TrapIf) || self.found.is_own(inst);
            });
        }
        found
    }

    fn copier<'a>(&'a mut self, path: &'a mut Path) -> Copier<'a> {
        Copier {
            b: &mut self.b,
            function: &self.module.functions[path.function],
            new: self.pure,
            lane: None,
            names: &mut path.names,
            facts: &mut path.facts,
            left: &mut self.left,
            around: None,
        }
    }
    fn value(&mut self, value: ValueId, path: &mut Path) -> ValueId {
        self.copier(path).value(value)
    }
    fn copy(&mut self, id: InstId, path: &mut Path) -> Result<(), Refusal> {
        self.copier(path).copy(id);
        if self.left < 0 { Err(Refusal::new("its steps are too long")) } else { Ok(()) }
    }

    /// What a function gives is added up, as far as it is no part.
    fn add_up_all(&mut self, given: &[ValueId], path: &mut Path) {
        for (position, value) in given.iter().enumerate() {
            self.add_up(position, &[*value], path);
        }
    }
    /// Operands that are no parts themselves are added up here, to the sum of a result.
    fn add_up(&mut self, position: usize, operands: &[ValueId], path: &mut Path) {
        let monoid = self.found.monoids[position];
        for operand in operands {
            let changes = match self.module.functions[path.function].as_constant(*operand) {
                Some(bits) => bits as u32 ^ monoid.turn() != monoid.neutral(),
                None => self.found.part(path.function, *operand).is_none(),
            };
            if changes {
                let value = self.value(*operand, path);
                let word = word::close(&mut self.b, value);
                let word = monoid.turned(&mut self.b, word);
                path.sums[position] = self.b.op(monoid.op(), Type::U32, &[path.sums[position], word]);
            }
        }
    }
    /// An arm gives its results.
    fn give(&mut self, results: &[ValueId], operands: &[ValueId], path: &mut Path) {
        for (result, operand) in results.iter().zip(operands) {
            if let Some(position) = self.found.part(path.function, *result) {
                self.add_up(position, &[*operand], path);
            } else {
                let value = self.value(*operand, path);
                path.names.set(*result, vec![value]);
            }
        }
    }

    fn choice(
        &mut self,
        inst: &Inst,
        rest: &Rest<'_>,
        depth: ValueId,
        mut path: Path,
    ) -> Result<Vec<ValueId>, Refusal> {
        let module = self.module;
        let function = &module.functions[path.function];
        let condition = self.value(inst.operands[0], &mut path);
        if inst.op == Op::If
            && let Some(holds) = path.facts.test(&self.b.function, condition)
        {
            let region = inst.regions[usize::from(!holds)];
            return self.sequence(&function.regions[region].insts, Some(rest), depth, path);
        }
        let mut made = Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &[condition], inst.span) };
        for (i, region) in inst.regions.iter().enumerate() {
            let mut path = path.clone();
            if inst.op == Op::If {
                path.facts.learn(condition, i == 0);
            }
            let arm = self.arm(|w| w.sequence(&function.regions[*region].insts, Some(rest), depth, path))?;
            made.regions.push(arm);
        }
        Ok(self.push(made))
    }
    /// A region that gives a state.
    fn arm(&mut self, body: impl FnOnce(&mut Self) -> Result<Vec<ValueId>, Refusal>) -> Result<RegionId, Refusal> {
        let region = self.b.new_region(&[]);
        let outer = std::mem::replace(&mut self.b.region, region);
        let words = body(self)?;
        self.b.end(Op::Yield, &words);
        self.b.region = outer;
        Ok(region)
    }
    fn push(&mut self, inst: Inst) -> Vec<ValueId> {
        let id = self.b.push(inst, &self.types());
        self.b.function.insts[id].results.to_vec()
    }

    /// The lane stops, or goes on behind.
    fn trap(&mut self, inst: &Inst, rest: &Rest<'_>, depth: ValueId, mut path: Path) -> Result<Vec<ValueId>, Refusal> {
        let condition = self.value(inst.operands[0], &mut path);
        let (code, sums) = (fault::TRAP + inst.code(), path.sums.clone());
        let stop = self.arm(|w| {
            let words = [control::FAULT, 0, code].map(|word| w.b.u32(word));
            w.b.op(Op::AtomicCompareExchange, Type::U32, &[w.lane.control, words[0], words[1], words[2]]);
            Ok(w.idle(depth, &sums))
        })?;
        let on = self.arm(|w| w.sequence(rest.insts, rest.next, depth, path))?;
        let mut made = Inst::new(Op::If, None, &[condition], inst.span);
        made.regions.extend([stop, on]);
        Ok(self.push(made))
    }
    /// A state with nothing to go on with.
    fn idle(&mut self, depth: ValueId, sums: &[ValueId]) -> Vec<ValueId> {
        let (idle, zero) = (self.b.u32(IDLE), self.b.u32(0));
        let mut words = vec![idle, depth];
        words.extend(sums);
        words.resize(self.types().len(), zero);
        words
    }

    /// A function is over but for its calls: one of them is gone on with.
    fn end(&mut self, depth: ValueId, mut path: Path) -> Result<Vec<ValueId>, Refusal> {
        let mut spawns = std::mem::take(&mut path.spawns);
        self.measured.calls = self.measured.calls.max(spawns.len());
        let is_head = |spawn: &Spawn| self.heads.contains(&spawn.callee);
        let at = spawns.iter().position(|spawn| !is_head(spawn)).or(spawns.len().checked_sub(1));
        let next = at.map(|at| spawns.remove(at));
        self.measured.missing = self.measured.missing.or(spawns.iter().find(|s| !is_head(s)).map(|s| s.callee));
        let inlined = next.as_ref().is_some_and(|next| !is_head(next));
        path.pushes.extend(spawns);
        match next {
            Some(next) if inlined => self.begin(next, depth, path),
            next => self.leave(next, depth, path),
        }
    }

    /// The end of a step: what else there is to do goes onto the stack.
    fn leave(&mut self, next: Option<Spawn>, depth: ValueId, mut path: Path) -> Result<Vec<ValueId>, Refusal> {
        let pushes = std::mem::take(&mut path.pushes);
        self.measured.pushes = self.measured.pushes.max(pushes.len());
        let mut depth = depth;
        for call in pushes {
            (depth, path.sums) = self.unless_over(&call, depth, &path, |w, depth| {
                let entry = w.entry(&call);
                w.lane.stack.store(&mut w.b, w.lane.local, depth, &entry);
                let one = w.b.u32(1);
                w.b.op(Op::Add, Type::U32, &[depth, one])
            })?;
        }
        let Some(next) = next else { return Ok(self.idle(depth, &path.sums)) };
        // Where the call is over at once, its head is none.
        let idle = self.b.u32(IDLE);
        let head = self.entry(&next)[0];
        let (head, sums) = self.unless_over(&next, idle, &path, |_, _| head)?;
        let mut words = vec![head, depth];
        words.extend(sums);
        words.extend(self.entry(&next).into_iter().skip(1));
        Ok(words)
    }

    /// An entry of the stack or of the queue: head and arguments.
    fn entry(&mut self, call: &Spawn) -> Vec<ValueId> {
        let head = self.entries.iter().position(|entry| *entry == call.callee).unwrap_or(0);
        let zero = self.b.u32(0);
        let mut words = vec![self.b.u32(head as u32)];
        for argument in &call.arguments {
            let word = word::close(&mut self.b, *argument);
            words.push(word);
        }
        words.resize(self.lane.width as usize, zero);
        words
    }

    /// A number that is made for a call and the sums; the number as it was, and the sums with what the call gives, if it ends at its first test.
    fn unless_over(
        &mut self,
        call: &Spawn,
        number: ValueId,
        path: &Path,
        otherwise: impl FnOnce(&mut Self, ValueId) -> ValueId,
    ) -> Result<(ValueId, Vec<ValueId>), Refusal> {
        let mut path = path.clone();
        let module = self.module;
        let function = &module.functions[call.callee];
        let Some(test) = EarlyExit::of(function, PEELED, |inst| inst.op.is_pure()) else {
            return Ok((otherwise(self, number), path.sums));
        };
        path.function = call.callee;
        path.names = Names::default();
        for (param, argument) in function.params.iter().zip(&call.arguments) {
            path.names.set(*param, vec![*argument]);
        }
        let insts = &function.regions[function.body].insts;
        for id in &insts[..test.before] {
            self.copy(*id, &mut path)?;
        }
        let sums = path.sums.clone();
        let condition = self.value(test.condition, &mut path);
        let over = self.arm(|w| {
            let insts = &function.regions[test.arm].insts;
            for id in insts {
                let inst = &function.insts[*id];
                match inst.op {
                    Op::Return => w.add_up_all(&inst.operands, &mut path),
                    _pure => w.copy(*id, &mut path)?,
                }
            }
            Ok([&[number], &path.sums[..]].concat())
        })?;
        let types = vec![Type::U32; 1 + sums.len()];
        let goes_on = self.arm(|w| Ok([&[otherwise(w, number)], &sums[..]].concat()))?;
        let mut made = Inst::new(Op::If, None, &[condition], function.span);
        made.regions.extend(if test.holds { [over, goes_on] } else { [goes_on, over] });
        let id = self.b.push(made, &types);
        let results = &self.b.function.insts[id].results;
        Ok((results[0], results[1..].to_vec()))
    }
}
