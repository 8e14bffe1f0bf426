//! The points that code goes to by their number, and where their values stand then.
//!
//! What is *given* to a point (arguments, results, what a loop carries) stands in a lane's first registers. What was *kept* over a call stands
//! in the frame just above the end of the lane's stack; elsewhere it stands in the registers behind what is given.
//!
//! A token is its forked call's frame (0 if the call was made at once) and the call's results, if they are there.

use super::memory::label;
use super::points::{Point, Points};
use super::refused;
use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_ir::{Def, Function, FunctionId, Module, Op, Type, ValueId};
use std::rc::Rc;

/// Where the values of a point stand.
#[derive(Debug)]
pub(super) struct Places {
    /// Each with its first register.
    pub given: Vec<(ValueId, u32)>,
    /// Each with its first register, or its first word in the frame.
    pub kept: Vec<(ValueId, u32)>,
    /// Whether what is kept stands in a frame, and of how many words it is.
    pub in_frame: bool,
    pub count: u32,
    /// Whether the first word that is kept is the frame of a fork that was not made at once.
    pub is_fork: bool,
}

/// The points that have numbers.
#[derive(Default)]
pub(super) struct Labels {
    pub all: Vec<(FunctionId, Point)>,
    numbers: FastMap<(FunctionId, Point), u32>,
    places: FastMap<(FunctionId, Point), Rc<Places>>,
    /// How many registers and words of frames there must be, and how many registers for results.
    pub registers: u32,
    pub kept: u32,
    pub results: u32,
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
fn is_behind_call(function: &Function, point: Point) -> bool {
    match point {
        Point::After(inst) => {
            matches!(function.insts[inst].op, Op::Call | Op::Fork | Op::Join | Op::GlobalGet)
        }
        Point::Entry | Point::Head(_) => false,
    }
}

impl Labels {
    /// The word of a point's label.
    pub fn label(
        &mut self,
        module: &Module,
        id: FunctionId,
        points: &Points<'_>,
        point: Point,
    ) -> Result<u32, Diagnostic> {
        let places = self.places(module, id, points, point)?;
        let all = &mut self.all;
        let number = *self.numbers.entry((id, point)).or_insert_with(|| {
            all.push((id, point));
            all.len() as u32 - 1
        });
        if number >= label::NUMBER || places.count >= 1 << (label::END - label::COUNT) {
            let what = "the program has too many places where calls can be left, or keeps too much over one".to_owned();
            return Err(refused(points.function.span, what).hint("run it with `--device cpu`"));
        }
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let count = places.count << label::COUNT;
        Ok(number | flag(places.in_frame, label::KEPT) | flag(places.is_fork, label::FORK) | count)
    }

    /// Where a point's values stand.
    pub fn places(
        &mut self,
        module: &Module,
        id: FunctionId,
        points: &Points<'_>,
        point: Point,
    ) -> Result<Rc<Places>, Diagnostic> {
        if let Some(places) = self.places.get(&(id, point)) {
            return Ok(places.clone());
        }
        let function = points.function;
        let in_frame = is_behind_call(function, point);
        let is_fork = matches!(point, Point::After(inst) if function.insts[inst].op == Op::Fork);
        let mut register = 0;
        let mut given = vec![];
        for value in points.given(point) {
            given.push((value, register));
            // A fork's token: its results stand where a call gives them.
            register += size(module, function, value)? - u32::from(is_fork);
        }
        if in_frame {
            self.results = self.results.max(register);
            self.registers = self.registers.max(register);
            register = u32::from(is_fork);
        }
        let mut kept = vec![];
        for value in points.kept(point) {
            kept.push((value, register));
            register += size(module, function, value)?;
        }
        let most = if in_frame { &mut self.kept } else { &mut self.registers };
        *most = register.max(*most);
        let places = Rc::new(Places { given, kept, in_frame, count: if in_frame { register } else { 0 }, is_fork });
        self.places.insert((id, point), places.clone());
        Ok(places)
    }
}

/// How many words a value is.
fn size(module: &Module, function: &Function, value: ValueId) -> Result<u32, Diagnostic> {
    let words = words(module, function, value);
    let is_word = |ty: &Type| matches!(*ty, Type::BOOL | Type::U32 | Type::I32 | Type::F32 | Type::Term);
    match words.iter().find(|ty| !is_word(ty)) {
        Some(ty) => Err(refused(function.span_of(value), format!("a value of type `{ty}` lives across a call"))),
        None => Ok(words.len() as u32),
    }
}
