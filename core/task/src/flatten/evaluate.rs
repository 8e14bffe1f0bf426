//! Evaluates functions for all instances of a call at once: what is known is computed, what is not is written into the segment.
//!
//! Invariant: instances stay together. Where a test's outcome is not known, what depends on it must be code without frames, which each instance
//! runs on its own.

use super::Options;
use super::code::Rooms;
use super::code::{Dev, Val};
use super::known::{Known, Shapes};
use super::memory::fault;
use super::relevance::{self, Relevance};
use super::script::{Activation, CallScript, Script};
use super::selects::is_straight;
use crate::Refusal;
use crate::word::as_word;
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::ops::{Effect, Family};
use girih_ir::{Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Scalar, Type, ValueId, eval};

/// Calls of functions without frames are counted to this depth.
const WEIGHED: usize = 8;

/// How a region ended.
pub(super) enum End {
    Yield(Vec<Val>),
    Return(Vec<Val>),
    Break(Vec<Val>),
    Continue(Vec<Val>),
}

/// What a call takes that is made in place.
#[derive(Clone, Debug)]
pub(super) struct Cost {
    pub count: usize,
    /// Whether something in it is forked.
    pub forks: bool,
    pub results: Vec<Known>,
}

/// What is known of what a call takes: none while it is being measured.
type Measured = Option<Result<Cost, Refusal>>;

/// Writes scripts and segments.
pub(super) struct Sweeper<'a> {
    pub module: &'a Module,
    /// The functions without frames, by their numbers among the kernel's.
    pub pure: &'a IndexVec<FunctionId, Option<FunctionId>>,
    pub options: Options,
    pub shapes: Shapes,
    pub relevance: Relevance,
    /// What calls of functions without frames count for.
    weights: IndexVec<FunctionId, usize>,
    pub scripts: Vec<Script>,
    /// Scripts by what they are for; none while one is being written.
    pub found: FastMap<(FunctionId, Vec<Known>, u32), Option<usize>>,
    /// None while it is being measured.
    pub costs: FastMap<(FunctionId, Vec<Known>), Measured>,
    pub segments: Vec<Function>,
    pub segment_numbers: FastMap<String, u32>,
    /// The instructions of all segments.
    pub code: usize,
    /// How deep calls are nested.
    pub depth: u32,
    /// Units of the heap that have been given out.
    pub rooms: Rooms,
    /// How many instructions may still be evaluated.
    pub(super) work: u64,
}

impl<'a> Sweeper<'a> {
    pub fn new(
        module: &'a Module,
        pure: &'a IndexVec<FunctionId, Option<FunctionId>>,
        options: Options,
        rooms: Rooms,
    ) -> Sweeper<'a> {
        Sweeper {
            module,
            pure,
            options,
            shapes: Shapes::default(),
            relevance: relevance::of(module, pure, options.decide),
            weights: weights(module, pure),
            scripts: vec![],
            found: FastMap::default(),
            costs: FastMap::default(),
            segments: vec![],
            segment_numbers: FastMap::default(),
            code: 0,
            depth: 0,
            rooms,
            work: options.work,
        }
    }

    pub fn function(&self, f: &CallScript) -> &'a Function {
        let top = f.activations.last().map_or(FunctionId::new(0), |top| top.function);
        &self.module.functions[top]
    }
    pub fn get(&self, f: &CallScript, value: ValueId) -> Val {
        let function = self.function(f);
        if let Def::Constant(bits) = function.values[value].def {
            return literal(bits, function.ty(value));
        }
        let found = f.activations.last().and_then(|top| top.values.get(value.index()).copied().flatten());
        found.map_or(Val { known: Known::Unknown, dev: Dev::Nowhere }, |val| f.code.found(val))
    }
    pub fn gets(&self, f: &CallScript, values: &[ValueId]) -> Vec<Val> {
        values.iter().map(|v| self.get(f, *v)).collect()
    }
    pub fn set(&self, f: &mut CallScript, value: ValueId, val: Val) {
        if let Some(top) = f.activations.last_mut() {
            if top.values.len() <= value.index() {
                top.values.resize(value.index() + 1, None);
            }
            top.values[value.index()] = Some(val);
        }
    }
    /// What stands for a value of the function on the device.
    pub fn dev(&self, f: &mut CallScript, value: ValueId) -> ValueId {
        let function = self.function(f);
        let ty = function.ty(value);
        if let Def::Constant(bits) = function.values[value].def {
            return f.code.b.function.constant(as_word(ty), bits);
        }
        let val = self.get(f, value);
        f.code.value(val, ty)
    }

    /// Evaluates a function's body in the frame.
    pub fn inline(&mut self, f: &mut CallScript, callee: FunctionId, arguments: Vec<Val>) -> Result<Vec<Val>, Refusal> {
        let function = &self.module.functions[callee];
        self.depth += 1;
        if self.depth > self.options.depth {
            return Err(Refusal::new("calls are nested too deeply"));
        }
        let values = vec![None; function.values.len()];
        f.activations.push(Activation { function: callee, values, path: vec![] });
        for (param, val) in function.params.iter().zip(arguments) {
            self.set(f, *param, val);
        }
        let end = self.region(f, function.body)?;
        f.activations.pop();
        self.depth -= 1;
        match end {
            End::Return(values) => Ok(values),
            End::Yield(_) | End::Break(_) | End::Continue(_) => Err(Refusal::new("a function without end")),
        }
    }

    /// What a call takes that is made in place.
    pub fn cost(&mut self, callee: FunctionId, arguments: &[Known]) -> Result<Cost, Refusal> {
        let arguments: Vec<Known> = arguments.iter().map(|known| self.shapes.somewhere(*known)).collect();
        let key = (callee, arguments.clone());
        match self.costs.get(&key) {
            Some(Some(known)) => return known.clone(),
            Some(None) => return Err(Refusal::new("a recursion whose end is not known")),
            None => {}
        }
        self.costs.insert(key.clone(), None);
        let depth = self.depth;
        let found = self.measure(callee, &arguments);
        self.depth = depth;
        self.costs.insert(key, Some(found.clone()));
        found
    }
    fn measure(&mut self, callee: FunctionId, arguments: &[Known]) -> Result<Cost, Refusal> {
        if self.costs.len() > self.options.scripts {
            return Err(Refusal::new("there is too much that differs"));
        }
        let mut f = CallScript::new(0, false, 0, None);
        let arguments = arguments.iter().map(|known| somewhere(&mut f, *known)).collect();
        let results = self.inline(&mut f, callee, arguments)?;
        f.code.store_all();
        let results = results.iter().map(|val| self.shapes.bare(val.known)).collect();
        Ok(Cost { count: f.code.count, forks: f.has_forks, results })
    }

    /// Operands are there: calls that they wait for are made.
    pub fn need(&mut self, f: &mut CallScript, operands: &[ValueId]) -> Result<(), Refusal> {
        if operands.iter().any(|v| f.code.waits(self.get(f, *v))) { self.flush(f) } else { Ok(()) }
    }

    /// Evaluates a region.
    pub fn region(&mut self, f: &mut CallScript, region: RegionId) -> Result<End, Refusal> {
        let function = self.function(f);
        let top = f.activations.len() - 1;
        f.activations[top].path.push((region, 0));
        for (i, id) in function.regions[region].insts.iter().enumerate() {
            if let Some(last) = f.activations[top].path.last_mut() {
                last.1 = i;
            }
            f.code.b.span = function.insts[*id].span;
            if let Some(end) = self.inst(f, *id)? {
                f.activations[top].path.pop();
                return Ok(end);
            }
        }
        Err(Refusal::new("a region without end"))
    }

    fn inst(&mut self, f: &mut CallScript, id: InstId) -> Result<Option<End>, Refusal> {
        let function = self.function(f);
        let inst = &function.insts[id];
        // What does not depend on the device would be done here as a whole.
        self.fits()?;
        self.work = self.work.checked_sub(1).ok_or_else(|| Refusal::new("finding out what it does takes too long"))?;
        match inst.op {
            Op::Return => return Ok(Some(End::Return(self.gets(f, &inst.operands)))),
            Op::Yield => return Ok(Some(End::Yield(self.gets(f, &inst.operands)))),
            Op::Break => return Ok(Some(End::Break(self.gets(f, &inst.operands)))),
            Op::Continue => return Ok(Some(End::Continue(self.gets(f, &inst.operands)))),
            Op::While => return self.go_round(f, inst).map(Some),
            Op::If | Op::Switch => return self.choose(f, inst),
            Op::Loop => return self.repeat(f, inst).map(|()| None),
            Op::Call => {
                let callee = inst.callee().ok_or_else(|| Refusal::new("no such function"))?;
                let has_no_frame = self.pure[callee].is_some() && inst.results.len() != 1;
                let results = if has_no_frame && is_straight(&self.module.functions[callee], self.options.function) {
                    let arguments = self.gets(f, &inst.operands);
                    self.inline(f, callee, arguments)?
                } else {
                    if has_no_frame {
                        self.need(f, &inst.operands)?;
                    }
                    let arguments = self.gets(f, &inst.operands);
                    self.call(f, callee, arguments, Some(inst))?
                };
                self.give(f, inst, results);
            }
            Op::GlobalGet => {
                let global = inst.global().ok_or_else(|| Refusal::new("no such global"))?;
                let results = self.call(f, self.module.globals[global].function, vec![], None)?;
                self.give(f, inst, results);
            }
            Op::Fork => {
                let callee = inst.callee().ok_or_else(|| Refusal::new("no such function"))?;
                let arguments = self.gets(f, &inst.operands);
                f.has_forks = true;
                let results = self.call(f, callee, arguments, None)?;
                f.forks.push(results);
                let token = Val { known: Known::Unknown, dev: Dev::Fork(f.forks.len() - 1) };
                self.give(f, inst, vec![token]);
            }
            Op::Join => {
                let Dev::Fork(fork) = self.get(f, inst.operands[0]).dev else {
                    return Err(Refusal::new("no such fork"));
                };
                let results = f.forks[fork].clone();
                self.give(f, inst, results);
            }
            Op::TrapIf => self.trap(f, inst)?,
            _computes => self.compute(f, inst)?,
        }
        Ok(None)
    }

    pub fn give(&self, f: &mut CallScript, inst: &Inst, results: Vec<Val>) {
        for (result, val) in inst.results.iter().zip(results) {
            self.set(f, *result, val);
        }
    }

    fn trap(&mut self, f: &mut CallScript, inst: &Inst) -> Result<(), Refusal> {
        match self.get(f, inst.operands[0]).known {
            Known::Number(0) => {}
            Known::Number(_) => return Err(Refusal::new("it fails")),
            _unknown => {
                self.need(f, &inst.operands)?;
                let condition = self.dev(f, inst.operands[0]);
                f.code.fault_if(condition, fault::TRAP + inst.code());
            }
        }
        Ok(())
    }

    fn compute(&mut self, f: &mut CallScript, inst: &Inst) -> Result<(), Refusal> {
        let function = self.function(f);
        if inst.op == Op::Select
            && let Known::Number(condition) = self.get(f, inst.operands[0]).known
        {
            let chosen = self.get(f, inst.operands[if condition != 0 { 1 } else { 2 }]);
            self.give(f, inst, vec![chosen]);
            return Ok(());
        }
        if matches!(inst.op.row().family, Family::Heap) {
            let results = self.heap(f, inst)?;
            self.give(f, inst, results);
            return Ok(());
        }
        if inst.op.row().effect != Effect::Pure || !inst.regions.is_empty() {
            return Err(Refusal::new(format!("`{}` is not done in step", inst.op.name())));
        }
        if inst.results.len() > 1 {
            self.need(f, &inst.operands)?;
        }
        if let [result] = inst.results[..]
            && let Some(bits) = self.folded(f, inst, function.ty(result))
        {
            self.set(f, result, bits);
            return Ok(());
        }
        let given = self.operation(f, inst, None);
        self.give(f, inst, given);
        Ok(())
    }

    /// The results of an operation or of a call without frame.
    pub fn operation(&mut self, f: &mut CallScript, inst: &Inst, callee: Option<FunctionId>) -> Vec<Val> {
        let function = self.function(f);
        if let (Some(_), Some(old)) = (callee, inst.callee()) {
            f.code.count = f.code.count.saturating_add(self.weights[old]);
        }
        if let [result] = inst.results[..] {
            let mut operand = |v: &ValueId| match function.values[*v].def {
                Def::Constant(bits) if function.ty(*v).element().is_some_and(|s| s.bits() > 32) => {
                    Val { known: Known::Unknown, dev: Dev::Here(f.code.b.function.constant(function.ty(*v), bits)) }
                }
                _others => self.get(f, *v),
            };
            let operands: Vec<(Val, Type)> = inst.operands.iter().map(|v| (operand(v), function.ty(*v))).collect();
            return vec![f.code.operation(inst.clone(), callee, operands, as_word(function.ty(result)))];
        }
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| self.dev(f, *v)).collect();
        let types: Vec<Type> = inst.results.iter().map(|v| as_word(function.ty(*v))).collect();
        let made = f.code.copy(inst, callee, &operands, &types);
        made.into_iter().map(unknown).collect()
    }

    /// The result of an operation on what is known.
    fn folded(&self, f: &CallScript, inst: &Inst, ty: Type) -> Option<Val> {
        let element = ty.element().filter(|s| s.bits() <= 32)?;
        let function = self.function(f);
        let operands = self.gets(f, &inst.operands);
        let mut bits = vec![];
        for val in &operands {
            let Known::Number(number) = val.known else { return None };
            bits.push(u64::from(number));
        }
        let suffix = match inst.ty {
            Some(Type::Scalar(suffix)) => suffix,
            Some(_wide) => return None,
            None => element,
        };
        let source = inst.operands.first().and_then(|v| function.ty(*v).element())?;
        let bits = eval::scalar(inst.op, suffix, source, &bits)?;
        let is_literal = operands.iter().all(|val| val.dev == Dev::Literal);
        let dev = if is_literal { Dev::Literal } else { Dev::Nowhere };
        Some(Val { known: Known::Number(bits as u32), dev })
    }
}

/// How many operations functions without frames have, those of loops counted for many.
fn weights(module: &Module, pure: &IndexVec<FunctionId, Option<FunctionId>>) -> IndexVec<FunctionId, usize> {
    let mut found: IndexVec<FunctionId, usize> = module.functions.iter().map(|_| 0).collect();
    // They do not call themselves, so callees are counted after as many rounds as calls are nested.
    for _round in 0..WEIGHED {
        for (id, function) in module.functions.iter_enumerated().filter(|(id, _)| pure[*id].is_some()) {
            let mut count: usize = 0;
            function.walk(function.body, &mut |_, inst| {
                let callee = inst.callee().map_or(0, |callee| found[callee]);
                count = count.saturating_add(1 + callee + if inst.op == Op::Loop { super::code::LOOP } else { 0 });
            });
            found[id] = count;
        }
    }
    found
}

/// A value of which only the device knows.
pub(super) fn unknown(value: ValueId) -> Val {
    Val { known: Known::Unknown, dev: Dev::Here(value) }
}

/// A value in code that is measured.
pub(super) fn somewhere(f: &mut CallScript, known: Known) -> Val {
    let dev = if known.bits().is_some() { Dev::Nowhere } else { Dev::Here(f.code.u32(0)) };
    Val { known, dev }
}

fn literal(bits: u64, ty: Type) -> Val {
    let known = match ty {
        Type::Term => Known::Word(bits as u32),
        Type::Scalar(scalar) if scalar.bits() <= 32 || scalar == Scalar::Bool => Known::Number(bits as u32),
        _wide => Known::Unknown,
    };
    Val { known, dev: Dev::Literal }
}
