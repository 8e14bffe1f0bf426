//! A function being written: its variables, the reuse tokens at hand, and how it ends.

use super::super::flow::{Instance, LambdaRef, ShapeId};
use super::represent::{self, Held, Repr, Results};
use super::reuse::ReuseToken;
use super::traps::{Trap, hint};
use super::words::{self, Immediate, tag};
use super::{Lowering, Unit, applying, dead_code, dynamic, liveness::Liveness, numbers::Numbers};
use girih_base::diag::Code;
use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::{Builder, Function, Op, RegionId, Scalar, Type, ValueId};
use girih_term::{Body, LocalId, Term};
use std::collections::{HashMap, HashSet};

/// What happens with the value of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// It is wanted.
    Value,
    /// Its fields are wanted; it is a cell of this shape.
    Parts(ShapeId),
    /// It is the result of the function.
    Result,
}

/// What is at hand at a place of a function; each arm of a choice begins with what there was before it.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The variables, also those that are used up.
    pub(super) variables: HashMap<LocalId, Held>,
    /// Variables that are not used from here on.
    pub(super) spent: HashSet<LocalId>,
    pub(super) reuse: Vec<ReuseToken>,
}

/// A function being written.
pub(super) struct TermWriter<'a, 'p> {
    pub(super) all: &'a mut Lowering<'p>,
    pub(super) b: Builder,
    /// The copy of a definition that it belongs to.
    pub(super) instance: Instance,
    pub(super) liveness: Liveness,
    /// Variables whose words are borrowed: they are never used up.
    lent: HashSet<LocalId>,
    pub(super) state: State,
    /// How the result is given.
    pub(super) results: Results,
    /// The unit itself and how its parameters are held, if it calls itself at its end: then its body is a loop.
    pub(super) again: Option<(Unit, Vec<Repr>)>,
}

/// Writes the function of a unit.
pub(super) fn write(all: &mut Lowering<'_>, unit: Unit, function: Function) -> Function {
    let mut written = match unit {
        Unit::Definition(instance) | Unit::Borrowing(instance, _) => {
            let program = all.program;
            let def = &program.defs[instance.def];
            match &def.body {
                Body::Term(body) => body_of(all, unit, instance, def.params.clone(), body, function),
                // Refused before: `reach` names it.
                Body::Net(_) => function,
            }
        }
        Unit::Lambda(lambda) | Unit::LentLambda(lambda) => {
            let (params, captures, body) = all.lambda_parts(lambda);
            let bound = params.iter().chain(&captures).copied().collect();
            body_of(all, unit, lambda.instance, bound, body, function)
        }
        Unit::Entry => applying::entry(all, function),
        Unit::Apply(count) => applying::apply(all, function, count),
        Unit::ApplyLent(count) => applying::apply_lent(all, function, count),
        Unit::Force => applying::force(all, function),
        Unit::Data(ty) => applying::data(all, function, ty),
        Unit::Value(def) => applying::value(all, function, def),
        Unit::Bits => dynamic::bits(all, function),
        Unit::Widen(kind) => dynamic::widen(all, function, kind),
        Unit::Operator(op) => dynamic::operator(all, function, op),
        Unit::Primitive(prim) => dynamic::primitive(all, function, prim),
    };
    dead_code::tidy(&mut written);
    written
}

/// The function of a definition or a lambda.
fn body_of<'p>(
    all: &mut Lowering<'p>,
    unit: Unit,
    instance: Instance,
    bound: Vec<LocalId>,
    body: &'p Term,
    function: Function,
) -> Function {
    let captures = |term: &Term| all.captures_of(term);
    let liveness = Liveness::of(body, &bound, &captures);
    let reprs: Vec<Repr> = bound.iter().map(|l| represent::of(all.flow.local(instance, *l))).collect();
    let results = all.results(unit);
    let params = function.params.clone();
    let is_borrowed = |param: &ValueId| function.param_attrs(*param).borrowed;
    let lent = bound.iter().zip(&params).filter(|(_, param)| is_borrowed(param)).map(|(local, _)| *local).collect();
    let mut w = TermWriter {
        all,
        b: Builder::new(function),
        instance,
        liveness,
        lent,
        state: State::default(),
        results: results.clone(),
        again: None,
    };
    if w.calls_itself_last(body, unit) {
        w.again = Some((unit, reprs.clone()));
        let region = w.b.new_region(&reprs.iter().map(|r| r.ty()).collect::<Vec<_>>());
        let inner = w.b.function.regions[region].params.clone();
        w.within(region, |w| {
            w.bind_all(&bound, &inner, &reprs);
            w.term(body, Goal::Result);
        });
        let values = w.looped(region, &params, &results.types());
        w.b.end(Op::Return, &values);
    } else {
        w.bind_all(&bound, &params, &reprs);
        w.term(body, Goal::Result);
    }
    w.b.function
}

impl<'a, 'p> TermWriter<'a, 'p> {
    /// A writer of a function that belongs to no definition.
    pub(super) fn plain(all: &'a mut Lowering<'p>, function: Function) -> TermWriter<'a, 'p> {
        TermWriter {
            all,
            b: Builder::new(function),
            instance: Instance { def: girih_term::DefId::new(0), clone: 0 },
            liveness: Liveness::default(),
            lent: HashSet::new(),
            state: State::default(),
            results: Results::One(Repr::Term),
            again: None,
        }
    }

    pub(super) fn within<R>(&mut self, region: RegionId, body: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.b.region, region);
        let result = body(self);
        self.b.region = outer;
        result
    }

    fn looped(&mut self, region: RegionId, initial: &[ValueId], results: &[Type]) -> Vec<ValueId> {
        let mut inst = girih_ir::Inst::new(Op::Loop, None, initial, self.b.span);
        inst.regions.extend([region]);
        let id = self.b.push(inst, results);
        self.b.function.insts[id].results.to_vec()
    }

    fn bind_all(&mut self, locals: &[LocalId], values: &[ValueId], reprs: &[Repr]) {
        for ((local, id), repr) in locals.iter().zip(values).zip(reprs) {
            self.bind(*local, Held { id: *id, repr: *repr });
        }
    }

    /// Gives a variable its value, which dies at once if it is not used.
    pub(super) fn bind(&mut self, local: LocalId, value: Held) {
        if self.liveness.is_unused(local) {
            if !self.is_lent(local) {
                self.discard(value);
            }
        } else {
            self.state.variables.insert(local, value);
        }
    }
    /// A variable's value; a use that is not the last one leaves an ownership behind.
    pub(super) fn variable(&mut self, local: LocalId, last: bool) -> Held {
        let held = self.state.variables[&local];
        if last {
            self.state.spent.insert(local);
        }
        if held.repr != Repr::Term || (last && !self.is_lent(local)) {
            return held;
        }
        let (rest, mine) = self.b.share(held.id);
        self.state.variables.insert(local, Held { id: rest, repr: Repr::Term });
        Held { id: mine, repr: Repr::Term }
    }
    /// Whether a variable's word is borrowed.
    pub(super) fn is_lent(&self, local: LocalId) -> bool {
        self.lent.contains(&local)
    }
    /// Gives a variable a value that is only lent.
    pub(super) fn lend(&mut self, local: LocalId, value: Held) {
        let repr = represent::of(self.all.flow.local(self.instance, local));
        let held = match (value.repr, repr) {
            (Repr::Term, Repr::Number(kind)) => Held { id: self.number_in(kind, value.id), repr },
            (Repr::Number(_), _) => Held { id: self.hold(value, repr), repr },
            (Repr::Term, Repr::Term) => value,
        };
        // A number that was made a word is the variable's own.
        if value.repr == Repr::Term {
            self.lent.insert(local);
        }
        self.bind(local, held);
    }
    /// A variable's value, looked at only.
    pub(super) fn borrow(&self, local: LocalId) -> Held {
        self.state.variables[&local]
    }
    /// A variable's value stands in another word.
    pub(super) fn rebind(&mut self, local: LocalId, value: Held) {
        self.state.variables.insert(local, value);
    }

    /// Drops what dies at the start of an arm.
    pub(super) fn let_die(&mut self, arm: &Term) {
        for local in self.liveness.dying(arm).to_vec() {
            self.spend(local);
        }
    }
    /// Drops a variable that nobody uses from here on.
    pub(super) fn spend(&mut self, local: LocalId) {
        self.state.spent.insert(local);
        if !self.is_lent(local) {
            self.discard(self.borrow(local));
        }
    }
    /// A value that nobody needs.
    pub(super) fn discard(&mut self, value: Held) {
        if value.repr == Repr::Term {
            self.b.drop(value.id);
        }
    }

    // Words.

    pub(super) fn immediate(&mut self, immediate: Immediate) -> Held {
        let payload = self.b.u32(immediate.payload());
        Held { id: self.b.pack(tag::IMMEDIATE, payload), repr: Repr::Term }
    }
    /// Whether a word has a tag.
    pub(super) fn has_tag(&mut self, word: ValueId, tag: u32) -> ValueId {
        let found = self.b.tag(word);
        let wanted = self.b.u32(tag);
        self.b.op(Op::Eq, Scalar::U32, &[found, wanted])
    }
    /// A number as a word.
    pub(super) fn word_of(&mut self, kind: NumKind, value: ValueId) -> ValueId {
        let Some(tag) = words::tag_of(kind) else {
            let layout = self.all.boxed(kind);
            return self.new_cell(layout, &[value]);
        };
        let bits = self.numbers().bits(value, Scalar::U32);
        let payload = match kind {
            NumKind::F24 => {
                let eight = self.b.u32(8);
                self.b.op(Op::Shr, Scalar::U32, &[bits, eight])
            }
            NumKind::I24 => {
                let mask = self.b.u32(0xFF_FFFF);
                self.b.op(Op::And, Scalar::U32, &[bits, mask])
            }
            NumKind::U24 | NumKind::U32 | NumKind::I32 | NumKind::F32 => bits,
        };
        self.b.pack(tag, payload)
    }
    /// The number that a word is known to hold; the word is consumed.
    pub(super) fn number_of(&mut self, kind: NumKind, word: ValueId) -> ValueId {
        let number = self.number_in(kind, word);
        match words::tag_of(kind) {
            Some(_) => self.b.drop_flat(word),
            None => self.b.drop(word),
        }
        number
    }
    /// The number that a word is known to hold; it is only looked at.
    pub(super) fn number_in(&mut self, kind: NumKind, word: ValueId) -> ValueId {
        match kind {
            NumKind::U24 => self.b.payload(word),
            NumKind::I24 => {
                let payload = self.b.payload(word);
                let signed = self.numbers().bits(payload, Scalar::I32);
                let eight = self.b.constant(Scalar::I32, 8);
                let high = self.b.op(Op::Shl, Scalar::I32, &[signed, eight]);
                self.b.op(Op::Shr, Scalar::I32, &[high, eight])
            }
            NumKind::F24 => {
                let payload = self.b.payload(word);
                let eight = self.b.u32(8);
                let bits = self.b.op(Op::Shl, Scalar::U32, &[payload, eight]);
                self.numbers().bits(bits, Scalar::F32)
            }
            NumKind::U32 | NumKind::I32 | NumKind::F32 => {
                let layout = self.all.boxed(kind);
                self.b.cell_get(Repr::Number(kind).ty(), layout, 0, word)
            }
        }
    }
    /// A value, held in another way.
    pub(super) fn hold(&mut self, value: Held, repr: Repr) -> ValueId {
        match (value.repr, repr) {
            (Repr::Term, Repr::Term) => value.id,
            (Repr::Number(kind), Repr::Term) => self.word_of(kind, value.id),
            (Repr::Term, Repr::Number(kind)) => self.number_of(kind, value.id),
            (Repr::Number(from), Repr::Number(to)) => self.numbers().convert(from, to, value.id),
        }
    }

    pub(super) fn numbers(&mut self) -> Numbers<'_> {
        Numbers { builder: &mut self.b, library: &mut self.all.library }
    }

    // Ends and faults.

    /// The value of a term, as it is wanted, or the end of the function with it.
    pub(super) fn finish(&mut self, value: Held, goal: Goal) -> Option<Vec<Held>> {
        match (goal, self.results.clone()) {
            (Goal::Value, _) => Some(vec![value]),
            (Goal::Parts(shape), _) => {
                let word = self.hold(value, Repr::Term);
                Some(self.open(shape, word))
            }
            (Goal::Result, Results::One(repr)) => {
                let id = self.hold(value, repr);
                self.leave(&[id]);
                None
            }
            (Goal::Result, Results::Parts(shape, _)) => {
                let word = self.hold(value, Repr::Term);
                let parts: Vec<ValueId> = self.open(shape, word).into_iter().map(|part| part.id).collect();
                self.leave(&parts);
                None
            }
        }
    }
    /// The same for a cell of a shape, of which there are the fields.
    pub(super) fn finish_parts(&mut self, shape: ShapeId, parts: Vec<Held>, goal: Goal) -> Option<Vec<Held>> {
        let flow = self.all.flow;
        let reprs = represent::stored(&flow.shapes()[shape]);
        match (goal, &self.results) {
            (Goal::Parts(wanted), _) if wanted == shape => {
                let held = |(part, repr): (Held, Repr)| Held { id: self.hold(part, repr), repr };
                Some(parts.into_iter().zip(reprs).map(held).collect())
            }
            (Goal::Result, Results::Parts(own, _)) if *own == shape => {
                let held = parts.into_iter().zip(reprs).map(|(part, repr)| self.hold(part, repr));
                let parts: Vec<ValueId> = held.collect();
                self.leave(&parts);
                None
            }
            (Goal::Value | Goal::Parts(_) | Goal::Result, _) => {
                let cell = self.cell_of(shape, &parts);
                self.finish(cell, goal)
            }
        }
    }
    /// The same for what a function gave.
    pub(super) fn finish_call(&mut self, results: &Results, ids: &[ValueId], goal: Goal) -> Option<Vec<Held>> {
        match results {
            Results::One(repr) => self.finish(Held { id: ids[0], repr: *repr }, goal),
            Results::Parts(shape, reprs) => {
                let parts = ids.iter().zip(reprs).map(|(id, repr)| Held { id: *id, repr: *repr }).collect();
                self.finish_parts(*shape, parts, goal)
            }
        }
    }
    /// The same where control never comes.
    pub(super) fn finish_nowhere(&mut self, goal: Goal, reprs: &[Repr]) -> Option<Vec<Held>> {
        let reprs = if goal == Goal::Result { self.results.reprs().to_vec() } else { reprs.to_vec() };
        let values: Vec<Held> = reprs.into_iter().map(|repr| self.nothing(repr)).collect();
        if goal != Goal::Result {
            return Some(values);
        }
        self.leave(&values.iter().map(|value| value.id).collect::<Vec<_>>());
        None
    }
    /// Ends the function.
    fn leave(&mut self, values: &[ValueId]) {
        self.free_reuse_tokens(0);
        self.b.end(if self.again.is_some() { Op::Break } else { Op::Return }, values);
    }
    /// Ends the run if a condition holds.
    pub(super) fn trap_if(&mut self, condition: ValueId, code: Code, span: Span, message: String, hint: &'static str) {
        let code = self.all.traps.code(Trap { code, span, message, hint });
        self.b.op_with(Op::TrapIf, None, &[condition], &[Attr::Code(code)]);
    }
    pub(super) fn trap_division(&mut self, condition: ValueId, span: Span) {
        self.trap_if(condition, Code::DivisionByZero, span, "division by zero".to_owned(), hint::DIVISION);
    }
    /// A word that stands where control never comes.
    fn nothing(&mut self, repr: Repr) -> Held {
        match repr {
            Repr::Term => self.immediate(Immediate::Era),
            Repr::Number(_) => Held { id: self.b.zero(repr.ty()), repr },
        }
    }
    /// The lambda that a term is.
    pub(super) fn lambda_ref(&self, term: &Term) -> LambdaRef {
        self.all.lambda_ref(self.instance, term)
    }
}
