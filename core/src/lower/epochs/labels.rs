//! The points of all functions, numbered, and where their values stand in a lane's registers.
//!
//! What a call, a join or a global gives stands in the first registers, what was kept meanwhile from register [`Labels::kept`] on. Values of
//! points that are reached by a jump stand in a row.
//!
//! A token is its forked call's frame (0 if the call was made at once) and the call's results, if they are there.

use super::memory::Shape;
use super::points::{Point, Points};
use super::refused;
use crate::diag::Diagnostic;
use crate::ir::{Def, Function, FunctionId, Module, Op, Type, ValueId};
use std::collections::{HashMap, HashSet};

/// A point with a number.
pub(super) struct Label {
    pub function: FunctionId,
    pub point: Point,
    /// The values, each with its first register. A fork's token is among them.
    pub values: Vec<(ValueId, u32)>,
}

/// All labels of a module.
pub(super) struct Labels {
    pub all: Vec<Label>,
    numbers: HashMap<(FunctionId, Point), u32>,
    /// The first register of what is kept over a call.
    pub kept: u32,
    registers: u32,
    most_kept: u32,
}

/// The types of the words that a value is in registers.
pub(super) fn words(module: &Module, function: &Function, value: ValueId) -> Vec<Type> {
    match function.ty(value) {
        Type::Token => {
            let Def::Result(fork, _) = function.values[value].def else { return vec![Type::U32] };
            let callee = function.insts[fork].callee();
            let results = callee.map_or(&[][..], |callee| &module.functions[callee].results);
            [Type::U32].iter().chain(results).copied().collect()
        }
        other => vec![other],
    }
}

/// Whether a point is reached by the end of a call: what it keeps stands in a frame meanwhile.
pub(super) fn is_behind_call(function: &Function, point: Point) -> bool {
    match point {
        Point::After(inst) => {
            matches!(function.insts[inst].op, Op::Call | Op::Fork | Op::Join | Op::GlobalGet)
        }
        Point::Entry | Point::Head(_) => false,
    }
}

impl Labels {
    pub fn of(module: &Module, framed: &HashSet<FunctionId>) -> Result<Labels, Diagnostic> {
        let results = framed.iter().map(|f| module.functions[*f].results.len() as u32);
        let kept = results.max().unwrap_or(0).max(1);
        let mut labels = Labels { all: vec![], numbers: HashMap::new(), kept, registers: kept, most_kept: 0 };
        for (id, function) in module.functions.iter_enumerated().filter(|(id, _)| framed.contains(id)) {
            let points = Points::of(function, framed);
            for point in points.all() {
                labels.add(module, id, &points, point)?;
            }
        }
        Ok(labels)
    }

    fn add(&mut self, module: &Module, id: FunctionId, points: &Points<'_>, point: Point) -> Result<(), Diagnostic> {
        let function = points.function;
        let behind_call = is_behind_call(function, point);
        let is_fork = matches!(point, Point::After(inst) if function.insts[inst].op == Op::Fork);
        let (given, kept) = (points.given(point), points.kept(point));
        let mut values = vec![];
        let mut register = if behind_call && is_fork { self.kept } else { 0 };
        for value in &given {
            values.push((*value, register));
            // A fork's token: its frame is kept, and so the first of what is; its results stand where a call gives them.
            register += if is_fork { 1 } else { self.size(module, function, *value)? };
        }
        if behind_call && !is_fork {
            register = self.kept;
        }
        for value in &kept {
            values.push((*value, register));
            register += self.size(module, function, *value)?;
        }
        self.registers = self.registers.max(register);
        if behind_call {
            self.most_kept = self.most_kept.max(register - self.kept);
        }
        self.numbers.insert((id, point), self.all.len() as u32);
        self.all.push(Label { function: id, point, values });
        Ok(())
    }

    fn size(&self, module: &Module, function: &Function, value: ValueId) -> Result<u32, Diagnostic> {
        let words = words(module, function, value);
        let is_word = |ty: &Type| matches!(*ty, Type::BOOL | Type::U32 | Type::I32 | Type::F32 | Type::Term);
        match words.iter().find(|ty| !is_word(ty)) {
            Some(ty) => Err(refused(function.span_of(value), format!("a value of type `{ty}` lives across a call"))),
            None => Ok(words.len() as u32),
        }
    }

    /// The number of a point.
    pub fn number(&self, function: FunctionId, point: Point) -> u32 {
        self.numbers[&(function, point)]
    }
    /// Where a function begins, if it has a frame.
    pub fn entry(&self, function: FunctionId) -> Option<u32> {
        self.numbers.get(&(function, Point::Entry)).copied()
    }

    pub fn shape(&self, module: &Module) -> Shape {
        let need = super::cells::most_units(module);
        let registers = self.registers.max(self.kept + self.most_kept);
        Shape { registers, kept: self.kept, most_kept: self.most_kept, need, globals: module.globals.len() as u32 }
    }
}
