//! The code from a point to where it is left, and how it is left.
//!
//! A segment is written as a region that yields a [`Transition`]: where to go on and in which way, the registers, what is kept. A choice that
//! leaves is the last thing of its segment: both its regions are written to their ends.

use super::labels::{Labels, words};
use super::machine::{Lane, Transition, Way};
use super::points::{Point, Points};
use super::{cells, refused};
use crate::diag::Diagnostic;
use crate::idx::IndexVec;
use crate::ir::attrs::Attr;
use crate::ir::{Builder, Def, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, ValueId};
use std::collections::HashMap;

/// The type of the word that a value is on devices.
fn as_word(ty: Type) -> Type {
    if ty == Type::Term { Type::U32 } else { ty }
}

/// A function without frame: words instead of terms.
pub(super) fn as_words(function: &Function, new: &IndexVec<FunctionId, Option<FunctionId>>) -> Function {
    let mut copy = Function::new(function.name.clone(), function.span);
    copy.results = function.results.iter().map(|ty| as_word(*ty)).collect();
    let mut b = Builder::new(copy);
    let mut known = HashMap::new();
    for param in &function.params {
        let name = function.values[*param].name.clone().unwrap_or_else(|| "p".into());
        let value = b.function.param(name, as_word(function.ty(*param)), function.param_attrs(*param));
        known.insert(*param, vec![value]);
    }
    let mut copier = Copier { b: &mut b, function, new, lane: None, known };
    copier.region(function.body);
    b.function
}

/// Copies code that does not leave.
pub(super) struct Copier<'a> {
    pub b: &'a mut Builder,
    pub function: &'a Function,
    /// The numbers of functions that are called.
    pub new: &'a IndexVec<FunctionId, Option<FunctionId>>,
    /// Where cells are made; only code with a frame has any.
    pub lane: Option<&'a Lane>,
    /// What stands for values: a token is several.
    pub known: HashMap<ValueId, Vec<ValueId>>,
}

impl Copier<'_> {
    pub fn value(&mut self, value: ValueId) -> ValueId {
        self.values(value)[0]
    }
    pub fn values(&mut self, value: ValueId) -> Vec<ValueId> {
        if let Def::Constant(bits) = self.function.values[value].def {
            return vec![self.b.function.constant(as_word(self.function.ty(value)), bits)];
        }
        self.known[&value].clone()
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
        self.b.span = inst.span;
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| self.value(*v)).collect();
        if let Some(given) = cells::operation(self.b, self.lane, function, inst, &operands) {
            inst.results.iter().zip(given).for_each(|(result, value)| drop(self.known.insert(*result, vec![value])));
            return;
        }
        let mut new =
            Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty.map(as_word), &operands, inst.span) };
        if let Some(callee) = inst.callee().and_then(|callee| self.new[callee]) {
            new.set(Attr::Callee(callee));
        }
        for region in &inst.regions {
            let types: Vec<Type> = function.regions[*region].params.iter().map(|v| as_word(function.ty(*v))).collect();
            let inner = self.b.new_region(&types);
            let params = self.b.function.regions[inner].params.clone();
            for (old, param) in function.regions[*region].params.iter().zip(params) {
                self.known.insert(*old, vec![param]);
            }
            let outer = std::mem::replace(&mut self.b.region, inner);
            self.region(*region);
            self.b.region = outer;
            new.regions.push(inner);
        }
        let types: Vec<Type> = inst.results.iter().map(|v| as_word(function.ty(*v))).collect();
        let made = self.b.push(new, &types);
        let results = self.b.function.insts[made].results.clone();
        for (old, value) in inst.results.iter().zip(results) {
            self.known.insert(*old, vec![value]);
        }
    }
}

/// Writes segments of a function.
pub(super) struct Writer<'a> {
    pub module: &'a Module,
    pub labels: &'a Labels,
    pub id: FunctionId,
    pub points: &'a Points<'a>,
    pub lane: &'a Lane,
    pub copier: Copier<'a>,
}

impl Writer<'_> {
    /// The segment of a point, when registers have these values. Ends the region.
    pub fn segment(&mut self, point: Point, registers: &[ValueId]) -> Result<(), Diagnostic> {
        let label = &self.labels.all[self.labels.number(self.id, point) as usize];
        for (value, register) in &label.values {
            let types = words(self.module, self.points.function, *value);
            let is_fork = matches!(point, Point::After(inst) if self.points.function.insts[inst].results.contains(value))
                && self.points.function.ty(*value) == Type::Token;
            let word = |i: usize| match (is_fork, i) {
                (true, 0) => registers[*register as usize],
                (true, i) => registers[i - 1],
                (false, i) => registers[*register as usize + i],
            };
            let values = types.iter().enumerate().map(|(i, ty)| self.typed(word(i), *ty)).collect();
            self.copier.known.insert(*value, values);
        }
        if let Point::After(inst) = point
            && self.points.function.insts[inst].op == Op::GlobalGet
        {
            self.publish(inst);
        }
        match point {
            Point::Entry => self.go_on(self.points.function.body, 0),
            Point::Head(inst) => self.go_on(self.points.function.insts[inst].regions[0], 0),
            Point::After(inst) => {
                let (region, position) = self.points.place(inst);
                self.go_on(region, position + 1)
            }
        }
    }

    fn typed(&mut self, word: ValueId, ty: Type) -> ValueId {
        let b = &mut self.copier.b;
        match ty {
            Type::F32 | Type::I32 => b.op(Op::Bitcast, ty, &[word]),
            Type::BOOL => {
                let zero = b.u32(0);
                b.op(Op::Ne, Type::U32, &[word, zero])
            }
            _words => word,
        }
    }
    fn word(&mut self, value: ValueId) -> ValueId {
        let b = &mut self.copier.b;
        match b.ty(value) {
            Type::F32 | Type::I32 => b.op(Op::Bitcast, Type::U32, &[value]),
            Type::BOOL => b.op(Op::Convert, Type::U32, &[value]),
            _words => value,
        }
    }
    fn words(&mut self, values: &[ValueId]) -> Vec<ValueId> {
        let all: Vec<ValueId> = values.iter().flat_map(|v| self.copier.values(*v)).collect();
        all.into_iter().map(|v| self.word(v)).collect()
    }

    /// Writes from a position of a region on, to the end of the segment.
    fn go_on(&mut self, region: RegionId, position: usize) -> Result<(), Diagnostic> {
        let function = self.points.function;
        for id in &function.regions[region].insts[position..] {
            let inst = &function.insts[*id];
            self.copier.b.span = inst.span;
            if self.points.leaves(inst) {
                return self.leave(region, *id, inst);
            }
            self.copier.copy(*id);
        }
        Err(refused(function.span, "a region without end".into()))
    }

    fn leave(&mut self, region: RegionId, id: InstId, inst: &Inst) -> Result<(), Diagnostic> {
        match inst.op {
            Op::Return => {
                let given = self.words(&inst.operands);
                self.end(Transition { registers: given, ..Transition::of(Way::Return, 0) });
            }
            Op::Tail => {
                let given = self.words(&inst.operands);
                let callee = self.entry(inst)?;
                self.end(Transition { registers: given, ..Transition::of(Way::Jump, callee) });
            }
            Op::Call | Op::GlobalGet | Op::Fork => self.call(id, inst)?,
            Op::Join => self.join(id, inst),
            Op::TrapIf => return self.trap(region, id, inst),
            Op::Yield => return self.yielded(region, inst),
            Op::Break => {
                let around = self.around(region)?;
                self.jump(Point::After(around), &inst.operands);
            }
            Op::Continue => {
                let around = self.around(region)?;
                self.jump(Point::Head(around), &inst.operands);
            }
            Op::While => return self.again(region, inst),
            Op::Loop => self.jump(Point::Head(id), &inst.operands),
            Op::If => {
                let condition = self.copier.value(inst.operands[0]);
                return self.both(condition, |w| w.go_on(inst.regions[0], 0), |w| w.go_on(inst.regions[1], 0));
            }
            Op::Switch => return self.switch(inst),
            _stays => return Err(refused(inst.span, format!("`{}` leaves its segment", inst.op.name()))),
        }
        Ok(())
    }

    fn around(&self, region: RegionId) -> Result<InstId, Diagnostic> {
        self.points.around(region).ok_or_else(|| refused(self.points.function.span, "no loop is around".into()))
    }
    fn entry(&self, inst: &Inst) -> Result<u32, Diagnostic> {
        let callee = match inst.global() {
            Some(global) => Some(self.module.globals[global].function),
            None => inst.callee(),
        };
        callee.and_then(|callee| self.labels.entry(callee)).ok_or_else(|| refused(inst.span, "no such function".into()))
    }

    /// The registers of a point, when these values are given.
    fn registers_of(&mut self, point: Point, given: &[ValueId]) -> Vec<ValueId> {
        let label = &self.labels.all[self.labels.number(self.id, point) as usize];
        let names = self.points.given(point);
        let zero = self.copier.b.u32(0);
        let mut registers = vec![];
        for (value, register) in &label.values {
            let source = names.iter().position(|name| name == value).and_then(|i| given.get(i)).unwrap_or(value);
            let words = self.words(&[*source]);
            registers.resize((*register as usize).max(registers.len()), zero);
            registers.extend(words);
        }
        registers
    }
    /// What a call keeps for the point behind it.
    fn kept(&mut self, point: Point) -> Vec<ValueId> {
        let given = self.points.given(point);
        let label = &self.labels.all[self.labels.number(self.id, point) as usize];
        let kept: Vec<ValueId> = label.values.iter().map(|(v, _)| *v).filter(|v| !given.contains(v)).collect();
        self.words(&kept)
    }

    fn jump(&mut self, point: Point, given: &[ValueId]) {
        let registers = self.registers_of(point, given);
        let label = self.labels.number(self.id, point);
        self.end(Transition { registers, ..Transition::of(Way::Jump, label) });
    }

    fn call(&mut self, id: InstId, inst: &Inst) -> Result<(), Diagnostic> {
        let point = Point::After(id);
        let behind = self.labels.number(self.id, point);
        let registers = self.words(&inst.operands);
        let mut kept = self.kept(point);
        let way = if inst.op == Op::Fork { Way::Fork } else { Way::Call };
        if way == Way::Fork {
            // A call that is made at once has no frame that others know.
            kept.insert(0, self.copier.b.u32(0));
        }
        let callee = self.entry(inst)?;
        let made = Transition { registers, kept, behind, ..Transition::of(way, callee) };
        match inst.global() {
            None => self.end(made),
            Some(global) => {
                let (there, value) = self.lane.global(self.copier.b, global);
                let (Transition { registers, .. }, label) = (self.again_with(point, value), behind);
                self.end_of(there, Transition { registers, ..Transition::of(Way::Jump, label) }, made);
            }
        }
        Ok(())
    }
    /// The registers of a point behind a call that has given a word.
    fn again_with(&mut self, point: Point, word: ValueId) -> Transition {
        let kept = self.kept(point);
        let zero = self.copier.b.u32(0);
        let mut registers = vec![word];
        registers.resize(self.labels.kept as usize, zero);
        registers.extend(kept);
        Transition { registers, ..Transition::of(Way::Jump, 0) }
    }

    fn publish(&mut self, inst: InstId) {
        let inst = &self.points.function.insts[inst];
        if let (Some(global), [result]) = (inst.global(), &inst.results[..]) {
            let value = self.copier.value(*result);
            let shared = self.lane.publish(self.copier.b, global, value);
            self.copier.known.insert(*result, vec![shared]);
        }
    }

    fn join(&mut self, id: InstId, inst: &Inst) {
        let point = Point::After(id);
        let behind = self.labels.number(self.id, point);
        let token = self.words(&inst.operands);
        let kept = self.kept(point);
        let zero = self.copier.b.u32(0);
        let mut registers = token[1..].to_vec();
        registers.resize(self.labels.kept as usize, zero);
        registers.extend(&kept);
        let at_once = self.copier.b.op(Op::Eq, Type::U32, &[token[0], zero]);
        let there = Transition { registers, ..Transition::of(Way::Jump, behind) };
        let waits = Transition { registers: vec![token[0]], kept, behind, ..Transition::of(Way::Wait, 0) };
        self.end_of(at_once, there, waits);
    }

    fn trap(&mut self, region: RegionId, id: InstId, inst: &Inst) -> Result<(), Diagnostic> {
        let condition = self.copier.value(inst.operands[0]);
        let (_, position) = self.points.place(id);
        let code = inst.code();
        self.both(
            condition,
            |w| {
                let code = w.copier.b.u32(code);
                w.end(Transition { registers: vec![code], ..Transition::of(Way::Trap, 0) });
                Ok(())
            },
            |w| w.go_on(region, position + 1),
        )
    }

    fn yielded(&mut self, region: RegionId, inst: &Inst) -> Result<(), Diagnostic> {
        let function = self.points.function;
        let owner = self.points.owner(region).ok_or_else(|| refused(inst.span, "a `yield` of a body".into()))?;
        let choice = &function.insts[owner];
        if self.points.meets(choice) {
            self.jump(Point::After(owner), &inst.operands);
            return Ok(());
        }
        for (result, value) in choice.results.iter().zip(&inst.operands) {
            let values = self.copier.values(*value);
            self.copier.known.insert(*result, values);
        }
        let (outer, position) = self.points.place(owner);
        self.go_on(outer, position + 1)
    }

    fn again(&mut self, region: RegionId, inst: &Inst) -> Result<(), Diagnostic> {
        let around = self.around(region)?;
        let body = self.points.function.insts[around].regions[0];
        let carried = self.points.function.regions[body].params.clone();
        let condition = self.copier.value(inst.operands[0]);
        self.both(
            condition,
            |w| {
                w.jump(Point::Head(around), &inst.operands[1..]);
                Ok(())
            },
            |w| {
                w.jump(Point::After(around), &carried);
                Ok(())
            },
        )
    }

    /// Ends the segment in one of two ways.
    fn both(
        &mut self,
        condition: ValueId,
        then: impl FnOnce(&mut Self) -> Result<(), Diagnostic>,
        otherwise: impl FnOnce(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let (a, b) = (self.copier.b.new_region(&[]), self.copier.b.new_region(&[]));
        let known = self.copier.known.clone();
        let outer = std::mem::replace(&mut self.copier.b.region, a);
        then(self)?;
        self.copier.known = known;
        self.copier.b.region = b;
        otherwise(self)?;
        self.copier.b.region = outer;
        let mut inst = Inst::new(Op::If, None, &[condition], self.copier.b.span);
        inst.regions.extend([a, b]);
        self.finish(inst);
        Ok(())
    }

    fn switch(&mut self, old: &Inst) -> Result<(), Diagnostic> {
        let value = self.copier.value(old.operands[0]);
        let mut inst = Inst { attrs: old.attrs.clone(), ..Inst::new(Op::Switch, old.ty, &[value], old.span) };
        let known = self.copier.known.clone();
        for region in &old.regions {
            let inner = self.copier.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.copier.b.region, inner);
            self.copier.known = known.clone();
            self.go_on(*region, 0)?;
            self.copier.b.region = outer;
            inst.regions.push(inner);
        }
        self.finish(inst);
        Ok(())
    }

    /// Appends a choice all of whose regions yield transitions, and yields what it gives.
    fn finish(&mut self, inst: Inst) {
        let types = vec![Type::U32; self.lane.transition_words()];
        let id = self.copier.b.push(inst, &types);
        let results = self.copier.b.function.insts[id].results.clone();
        self.copier.b.end(Op::Yield, &results);
    }

    fn end(&mut self, transition: Transition) {
        let words = self.lane.words_of(self.copier.b, transition);
        self.copier.b.end(Op::Yield, &words);
    }
    /// The first transition if the condition holds, else the second.
    fn end_of(&mut self, condition: ValueId, then: Transition, otherwise: Transition) {
        let then = self.lane.words_of(self.copier.b, then);
        let otherwise = self.lane.words_of(self.copier.b, otherwise);
        let b = &mut self.copier.b;
        let pairs = then.into_iter().zip(otherwise);
        let words: Vec<ValueId> =
            pairs.map(|(x, y)| if x == y { x } else { b.op(Op::Select, Type::U32, &[condition, x, y]) }).collect();
        b.end(Op::Yield, &words);
    }
}
