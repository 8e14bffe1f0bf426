//! Copies code of task form that stays within its segment, with words in place of terms.
//!
//! What was computed on the way to an instruction is not computed again, and what is known there folds: so a callee's first test, copied behind
//! the caller's own, costs nothing if the caller knows how it ends.

use super::cells;
use super::lane::Lane;
use super::sites::Sites;
use crate::heap::cells::units;
use crate::word::as_word;
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::attrs::Attr;
use girih_ir::ops::{Effect, Family};
use girih_ir::{Builder, Def, Function, FunctionId, Inst, InstId, Op, RegionId, Type, ValueId, eval};
use std::rc::Rc;

/// A function without frame: words instead of terms.
pub(crate) fn as_words(function: &Function, new: &IndexVec<FunctionId, Option<FunctionId>>) -> Function {
    let mut copy = Function::new(function.name.clone(), function.span);
    copy.results = function.results.iter().map(|ty| as_word(*ty)).collect();
    let mut b = Builder::new(copy);
    let (mut names, mut facts) = (Names::default(), Facts::default());
    for param in &function.params {
        let name = function.values[*param].name.clone().unwrap_or_else(|| "p".into());
        let value = b.function.param(name, as_word(function.ty(*param)), function.param_attrs(*param));
        names.set(*param, vec![value]);
    }
    let mut left = i64::MAX;
    let (names, facts, left) = (&mut names, &mut facts, &mut left);
    let mut copier = Copier { b: &mut b, function, new, lane: None, names, facts, left, around: None };
    copier.region(function.body);
    b.function
}

/// What stands for a function's values; for a token that is several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Rc<FastMap<ValueId, Vec<ValueId>>>);

impl Names {
    pub fn set(&mut self, value: ValueId, words: Vec<ValueId>) {
        Rc::make_mut(&mut self.0).insert(value, words);
    }
}

/// An operation, its type, and what it works on.
type Computation = (Op, Option<Type>, Vec<ValueId>);

/// What is known on the way to an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Values of pure operations.
    computed: Rc<FastMap<Computation, ValueId>>,
    /// Conditions that were tested.
    tested: Rc<FastMap<ValueId, bool>>,
}

impl Facts {
    /// On the way on, a condition is known.
    pub fn learn(&mut self, condition: ValueId, holds: bool) {
        Rc::make_mut(&mut self.tested).insert(condition, holds);
    }
    /// Whether a condition holds, if that is known.
    pub fn test(&self, function: &Function, condition: ValueId) -> Option<bool> {
        match function.values[condition].def {
            Def::Constant(bits) => Some(bits != 0),
            _computed => self.tested.get(&condition).copied(),
        }
    }
}

/// A loop that is copied as one: where its `break` and `continue` lead.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// The steps that are left in this iteration.
    pub steps: ValueId,
    /// What the loop gives.
    pub results: &'a [Type],
    /// What it carries.
    pub carried: &'a [ValueId],
}

/// Copies code that does not leave.
pub(crate) struct Copier<'a> {
    pub b: &'a mut Builder,
    pub function: &'a Function,
    /// The numbers of functions that are called.
    pub new: &'a IndexVec<FunctionId, Option<FunctionId>>,
    /// Where cells are made, and the numbers of the places where that may fail; only code with a frame makes any.
    pub lane: Option<(&'a Lane, &'a Sites)>,
    pub names: &'a mut Names,
    pub facts: &'a mut Facts,
    /// How many instructions may still be copied before the segment shall end.
    pub left: &'a mut i64,
    /// The loop that the code is in.
    pub around: Option<Around<'a>>,
}

impl Copier<'_> {
    pub fn value(&mut self, value: ValueId) -> ValueId {
        if let Def::Constant(bits) = self.function.values[value].def {
            return self.b.function.constant(as_word(self.function.ty(value)), bits);
        }
        self.names.0[&value][0]
    }
    pub fn values(&mut self, value: ValueId) -> Vec<ValueId> {
        if let Def::Constant(bits) = self.function.values[value].def {
            return vec![self.b.function.constant(as_word(self.function.ty(value)), bits)];
        }
        self.names.0[&value].clone()
    }

    fn region(&mut self, region: RegionId) {
        let function = self.function;
        for id in &function.regions[region].insts {
            self.copy(*id);
        }
    }

    /// Copies an instruction with all that is inside.
    pub fn copy(&mut self, id: InstId) {
        let function = self.function;
        let inst = &function.insts[id];
        *self.left -= 1;
        self.b.span = inst.span;
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| self.value(*v)).collect();
        let lane = self.lane.map(|(lane, sites)| Lane { place: sites.number(inst.span), ..*lane });
        if let (Some((_, sites)), Op::CellNew | Op::CellFill) = (self.lane, inst.op) {
            sites.take(units(inst.operands.len()));
        }
        if let Some(given) = cells::operation(self.b, lane.as_ref(), function, inst, &operands) {
            inst.results.iter().zip(given).for_each(|(result, value)| self.names.set(*result, vec![value]));
            return;
        }
        if let [result] = inst.results[..]
            && inst.op.row().effect == Effect::Pure
            && inst.attrs.is_empty()
        {
            let value = self.pure(inst, operands, as_word(function.ty(result)));
            self.names.set(result, vec![value]);
            return;
        }
        match (inst.op, self.around) {
            (Op::Break, Some(around)) => return self.leave_loop(around, &operands),
            (Op::Continue, Some(around)) => return self.repeat(around, &operands),
            (Op::While, Some(around)) => {
                let none: Vec<ValueId> = around.carried.to_vec();
                let otherwise = leaving(self.b, around, &none);
                self.b.if_else(operands[0], &[], |b| b.end(Op::Yield, &[]), |b| b.end(Op::Break, &otherwise));
                return self.repeat(around, &operands[1..]);
            }
            _stays => {}
        }
        self.again(inst, operands);
    }

    /// The value of a pure operation: one that is there already, a constant, or a new one.
    fn pure(&mut self, inst: &Inst, operands: Vec<ValueId>, ty: Type) -> ValueId {
        let key = (inst.op, inst.ty.map(as_word), operands);
        if let Some(value) = self.facts.computed.get(&key) {
            return *value;
        }
        let function = &self.b.function;
        let bits: Option<Vec<u64>> = key
            .2
            .iter()
            .map(|v| match function.values[*v].def {
                Def::Constant(bits) => Some(bits),
                _computed => None,
            })
            .collect();
        if let (Some(bits), Some(Type::Scalar(s)), Some(source)) =
            (bits, key.1, key.2.first().and_then(|v| function.ty(*v).element()))
            && inst.op.row().family == Family::Scalar
            && let Some(bits) = eval::scalar(inst.op, s, source, &bits)
        {
            return self.b.function.constant(ty, bits);
        }
        let made = self.b.push(Inst::new(key.0, key.1, &key.2.clone(), inst.span), &[ty]);
        let value = self.b.function.insts[made].results[0];
        Rc::make_mut(&mut self.facts.computed).insert(key, value);
        value
    }

    /// The same instruction.
    fn again(&mut self, inst: &Inst, operands: Vec<ValueId>) {
        let function = self.function;
        let mut new =
            Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty.map(as_word), &operands, inst.span) };
        if let Some(callee) = inst.callee().and_then(|callee| self.new[callee]) {
            new.set(Attr::Callee(callee));
        }
        // A loop within one that is copied as a loop has its own `break` and `continue`.
        let around = self.around;
        if inst.op == Op::Loop {
            self.around = None;
        }
        for region in &inst.regions {
            let types: Vec<Type> = function.regions[*region].params.iter().map(|v| as_word(function.ty(*v))).collect();
            let inner = self.b.new_region(&types);
            let params = self.b.function.regions[inner].params.clone();
            for (old, param) in function.regions[*region].params.iter().zip(params) {
                self.names.set(*old, vec![param]);
            }
            let facts = self.facts.clone();
            let outer = std::mem::replace(&mut self.b.region, inner);
            self.region(*region);
            self.b.region = outer;
            *self.facts = facts;
            new.regions.push(inner);
        }
        self.around = around;
        let types: Vec<Type> = inst.results.iter().map(|v| as_word(function.ty(*v))).collect();
        let made = self.b.push(new, &types);
        let results = self.b.function.insts[made].results.clone();
        for (old, value) in inst.results.iter().zip(results) {
            self.names.set(*old, vec![value]);
        }
    }

    fn leave_loop(&mut self, around: Around<'_>, values: &[ValueId]) {
        let words = leaving(self.b, around, values);
        self.b.end(Op::Break, &words);
    }

    /// Goes on with the next iteration, if a step is left.
    fn repeat(&mut self, around: Around<'_>, carried: &[ValueId]) {
        let zero = self.b.u32(0);
        let over = self.b.op(Op::Eq, Type::U32, &[around.steps, zero]);
        let mut exhausted = vec![zero, zero];
        for ty in around.results {
            exhausted.push(self.b.zero(*ty));
        }
        exhausted.extend(carried);
        self.b.if_else(over, &[], |b| b.end(Op::Break, &exhausted), |b| b.end(Op::Yield, &[]));
        let less = self.b.u32(u32::MAX);
        let steps = self.b.op(Op::Add, Type::U32, &[around.steps, less]);
        let again: Vec<ValueId> = [steps].iter().chain(carried).copied().collect();
        self.b.end(Op::Continue, &again);
    }
}

/// What a loop gives that is over: that it is, the steps that are left, its results, and nothing for what it carries.
fn leaving(b: &mut Builder, around: Around<'_>, values: &[ValueId]) -> Vec<ValueId> {
    let mut words = vec![b.u32(1), around.steps];
    words.extend(values);
    for value in around.carried {
        let ty = b.ty(*value);
        words.push(b.zero(ty));
    }
    words
}
