//! Calls: of definitions and lambdas that are known, of whatever arrives, at the same time where they do not depend on each other.

use super::super::flow::{Callee, Instance, Set, ShapeId, Site, What};
use super::dynamic::reason;
use super::represent::{Held, Repr};
use super::tail_calls::only_functions;
use super::words::{FORM_BITS, Immediate, tag};
use super::writer::{Goal, TermWriter};
use super::{Unit, words};
use girih_base::span::Span;
use girih_ir::{FunctionId, Op, Scalar, Type, ValueId};
use girih_term::groups::{leaves, made_of_values};
use girih_term::{DefId, LocalId, Term, TermKind};

/// Arguments, ready for a call.
pub(super) struct Passed {
    pub(super) unit: Unit,
    pub(super) values: Vec<ValueId>,
    /// Words that are lent, and dropped when the call has ended.
    pub(super) kept: Vec<ValueId>,
    /// Whether what is applied is a function of all its arguments for certain.
    pub(super) is_function: bool,
}

/// The terms that are computed together with a call, itself among them; none if nothing is.
#[derive(Clone, Copy)]
pub(super) struct Beside<'a>(pub(super) &'a [&'a Term]);

impl Beside<'_> {
    /// Whether a variable is used elsewhere than in these parts of the call. If not, and it lives on, it lives until all have ended.
    fn use_it(self, local: LocalId, here: &[Term]) -> bool {
        let count = |terms: &mut dyn Iterator<Item = &Term>| terms.map(|term| uses_of(term, local)).sum::<usize>();
        count(&mut self.0.iter().copied()) > count(&mut here.iter())
    }
}

/// How often a term uses a variable.
fn uses_of(term: &Term, local: LocalId) -> usize {
    let here = usize::from(matches!(term.kind, TermKind::Local(other) if other == local));
    here + term.children().into_iter().map(|child| uses_of(child, local)).sum::<usize>()
}

impl<'p> TermWriter<'_, 'p> {
    /// A definition as a value.
    pub(super) fn definition(&mut self, def: DefId) -> Held {
        if self.all.program.defs[def].params.is_empty() && self.all.flow.is_constant(def) {
            let unit = Unit::Definition(Instance::from(def));
            let (callee, repr) = (self.all.unit(unit), self.all.result_repr(unit));
            return Held { id: self.b.call(callee, &[repr.ty()], &[])[0], repr };
        }
        self.all.mention(def);
        self.immediate(Immediate::Definition(def))
    }

    /// Which copy of a definition a call goes to.
    pub(super) fn called(&self, term: &Term, def: DefId) -> Instance {
        self.all.flow.callee(self.instance, term).unwrap_or(Instance::from(def))
    }

    /// The definition that a term calls with all its arguments.
    pub(super) fn called_unit(&self, term: &Term) -> Option<Unit> {
        let TermKind::Apply(function, args) = &term.kind else { return None };
        let TermKind::Global(def) = function.kind else { return None };
        let all = !args.is_empty() && args.len() == self.all.program.defs[def].params.len();
        all.then(|| Unit::Definition(self.called(term, def)))
    }

    /// Arguments of a definition as it takes them. A variable that lives on, or is borrowed itself, is lent to a parameter that the definition
    /// only reads. What runs `beside` the call may use the variable up: then an ownership is kept back.
    pub(super) fn arguments(&mut self, callee: Instance, args: &'p [Term], goal: Goal, beside: Beside<'_>) -> Passed {
        let reprs = self.all.param_reprs(Unit::Definition(callee));
        let (mut kept, mut which) = (vec![], 0);
        let mut lent: Vec<Option<(LocalId, Option<ValueId>)>> = vec![None; args.len()];
        for (i, arg) in args.iter().enumerate().take(32) {
            let TermKind::Local(local) = arg.kind else { continue };
            if reprs[i] != Repr::Term
                || self.borrow(local).repr != Repr::Term
                || !self.all.borrows.contains(&(callee, i))
            {
                continue;
            }
            if self.is_lent(local) {
                lent[i] = Some((local, None));
            } else if !self.liveness.is_last(arg) && goal != Goal::Result {
                let is_used_up =
                    beside.use_it(local, args) || args[i + 1..].iter().any(|arg| super::forks::uses(arg, &[local]));
                let mine = is_used_up.then(|| {
                    let (rest, mine) = self.b.share(self.borrow(local).id);
                    self.rebind(local, Held { id: rest, repr: Repr::Term });
                    kept.push(mine);
                    mine
                });
                lent[i] = Some((local, mine));
            }
            which |= u32::from(lent[i].is_some()) << i;
        }
        let owned: Vec<&'p Term> =
            args.iter().zip(&lent).filter(|(_, lent)| lent.is_none()).map(|(arg, _)| arg).collect();
        let mut owned = self.values(&owned).into_iter();
        let mut values = vec![];
        for (lent, repr) in lent.into_iter().zip(reprs) {
            values.push(match (lent, owned.len()) {
                (Some((local, mine)), _) => mine.unwrap_or_else(|| self.borrow(local).id),
                (None, _) => match owned.next() {
                    Some(value) => self.hold(value, repr),
                    None => unreachable!("there is a value for each argument"),
                },
            });
        }
        let unit = if which == 0 { Unit::Definition(callee) } else { Unit::Borrowing(callee, which) };
        Passed { unit, values, kept, is_function: true }
    }

    /// A function that is a value, and its arguments. A variable that lives on, or is borrowed itself, is lent to the application.
    pub(super) fn function_and_arguments(
        &mut self,
        function: &'p Term,
        args: &'p [Term],
        goal: Goal,
        beside: Beside<'_>,
    ) -> Passed {
        let set = self.set_of(function);
        if let TermKind::Local(local) = function.kind
            && self.all.for_threads
            && set.thunks.is_empty()
            && self.borrow(local).repr == Repr::Term
            && let Some(lent) = self.lent_function(function, local, args, goal, beside)
        {
            let values = self.values(&args.iter().collect::<Vec<_>>());
            let word = lent.unwrap_or_else(|| self.borrow(local).id);
            return self.lending(word, &set, values, lent.into_iter().collect());
        }
        let held = self.value(function);
        let values = self.values(&args.iter().collect::<Vec<_>>());
        self.applying(held, &set, values)
    }

    /// Whether a variable that is applied is lent; and the ownership that is kept back meanwhile, if there has to be one.
    fn lent_function(
        &mut self,
        function: &Term,
        local: LocalId,
        args: &[Term],
        goal: Goal,
        beside: Beside<'_>,
    ) -> Option<Option<ValueId>> {
        if self.is_lent(local) {
            return Some(None);
        }
        if self.liveness.is_last(function) || goal == Goal::Result {
            return None;
        }
        let is_in_arguments = args.iter().any(|arg| super::forks::uses(arg, &[local]));
        let is_used_up = is_in_arguments || beside.use_it(local, std::slice::from_ref(function));
        Some(is_used_up.then(|| self.variable(local, false).id))
    }

    /// What applies a word that is lent, and what is dropped behind it.
    fn lending(&mut self, word: ValueId, set: &Set, values: Vec<Held>, kept: Vec<ValueId>) -> Passed {
        if let Some((Unit::Lambda(lambda), closure)) = self.only_lambda(set, values.len()) {
            let found = match closure {
                Some(shape) => {
                    self.look_at_captures(shape, lambda, word).map(|captured| (Unit::LentLambda(lambda), captured))
                }
                None => Some((Unit::Lambda(lambda), vec![])),
            };
            if let Some((unit, captured)) = found {
                let values = self.given_to(unit, values.into_iter(), captured);
                return Passed { unit, values, kept, is_function: true };
            }
        }
        self.all.is_applied(set);
        let unit = Unit::ApplyLent(values.len() as u32);
        let mut words = vec![word];
        words.extend(values.into_iter().map(|value| self.hold(value, Repr::Term)));
        let is_function = only_functions(self.all, set, words.len() - 1);
        Passed { unit, values: words, kept, is_function }
    }

    /// Calls what arguments are for.
    pub(super) fn call_with(&mut self, passed: &Passed, span: Span, goal: Goal) -> Option<Vec<Held>> {
        let Passed { unit, values, kept, is_function } = passed;
        if kept.is_empty() && *is_function {
            return self.call(*unit, values, span, goal);
        }
        self.b.span = span;
        let results = self.all.results(*unit);
        let callee = self.all.unit(*unit);
        let ids = self.b.call(callee, &results.types(), values);
        self.given(passed, &ids, span, goal)
    }

    /// What a call has given that is over.
    pub(super) fn given(&mut self, passed: &Passed, ids: &[ValueId], span: Span, goal: Goal) -> Option<Vec<Held>> {
        passed.kept.iter().for_each(|word| self.b.drop(*word));
        match (passed.unit, ids) {
            (Unit::Apply(_) | Unit::ApplyLent(_), [result]) if !passed.is_function => {
                self.check(*result, span, "this", &[reason::FUNCTION]);
                self.finish(Held { id: *result, repr: Repr::Term }, goal)
            }
            (unit, ids) => {
                let results = self.all.results(unit);
                self.finish_call(&results, ids, goal)
            }
        }
    }

    /// Calls a unit with arguments as it takes them.
    pub(super) fn call(&mut self, unit: Unit, values: &[ValueId], span: Span, goal: Goal) -> Option<Vec<Held>> {
        self.b.span = span;
        let results = self.all.results(unit);
        // A function that gives a cell and ends with a call of one that gives its fields has to wait for it. It comes to that but once: what
        // gives fields ends only with calls of others that do (see `products`).
        if goal == Goal::Result && results == self.results {
            self.free_reuse_tokens(0);
            if self.again.as_ref().is_some_and(|(own, _)| *own == unit) {
                self.b.end(Op::Continue, values);
            } else {
                let callee = self.all.unit(unit);
                self.b.tail(callee, values);
            }
            return None;
        }
        let callee = self.all.unit(unit);
        let ids = self.b.call(callee, &results.types(), values);
        self.finish_call(&results, &ids, goal)
    }
    /// The result of a unit as one value.
    pub(super) fn call_for_value(&mut self, unit: Unit, values: &[ValueId], span: Span) -> Held {
        match self.call(unit, values, span, Goal::Value).as_deref() {
            Some([value]) => *value,
            _ => unreachable!("a wanted value is given"),
        }
    }

    pub(super) fn application(
        &mut self,
        term: &'p Term,
        function: &'p Term,
        args: &'p [Term],
        goal: Goal,
    ) -> Option<Vec<Held>> {
        match &function.kind {
            TermKind::Lambda(params, body) if params.len() == args.len() => {
                for (param, arg) in params.iter().zip(args) {
                    let value = self.value(arg);
                    self.bind_as_known(*param, value);
                }
                self.term(body, goal)
            }
            TermKind::Global(def) if !args.is_empty() && !self.all.program.defs[*def].params.is_empty() => {
                self.apply_definition(term, *def, args, goal)
            }
            _ => self.apply_value(term, function, args, goal),
        }
    }

    /// Applies a definition with parameters. It is the copy that the flow has chosen for this term, whether there are as
    /// many arguments as parameters, fewer or more.
    fn apply_definition(&mut self, term: &'p Term, def: DefId, args: &'p [Term], goal: Goal) -> Option<Vec<Held>> {
        let callee = self.called(term, def);
        let unit = Unit::Definition(callee);
        let arity = self.all.program.defs[def].params.len();
        if args.len() == arity {
            let passed = self.arguments(callee, args, goal, Beside(&[]));
            return self.call_with(&passed, term.span, goal);
        }
        let mut values = self.values(&args.iter().collect::<Vec<_>>());
        if args.len() < arity {
            let partial = self.cell(Site::Partial(Callee::Definition(callee), args.len() as u32), &values);
            return self.finish(partial, goal);
        }
        let rest = values.split_off(arity);
        let reprs = self.all.param_reprs(unit);
        let values: Vec<ValueId> = values.into_iter().zip(reprs).map(|(value, repr)| self.hold(value, repr)).collect();
        let function = self.call_for_value(unit, &values, term.span);
        let set = self.all.flow.result(callee).clone();
        self.apply_held(function, &set, rest, term.span, goal)
    }

    fn apply_value(&mut self, term: &'p Term, function: &'p Term, args: &'p [Term], goal: Goal) -> Option<Vec<Held>> {
        let passed = self.function_and_arguments(function, args, goal, Beside(&[]));
        self.call_with(&passed, term.span, goal)
    }

    /// Applies a value, of which a set says what it may be.
    fn apply_held(&mut self, held: Held, set: &Set, values: Vec<Held>, span: Span, goal: Goal) -> Option<Vec<Held>> {
        let passed = self.applying(held, set, values);
        self.call_with(&passed, span, goal)
    }

    /// What applies a value, of which a set says what it may be.
    fn applying(&mut self, held: Held, set: &Set, values: Vec<Held>) -> Passed {
        let word = self.hold(held, Repr::Term);
        if let Some((unit, closure)) = self.only_lambda(set, values.len()) {
            let reprs = self.all.param_reprs(unit);
            let captured = match closure {
                Some(shape) => self.open(shape, word),
                None => {
                    self.b.drop(word);
                    vec![]
                }
            };
            let all = values.into_iter().chain(captured).zip(reprs);
            let values = all.map(|(value, repr)| self.hold(value, repr)).collect();
            return Passed { unit, values, kept: vec![], is_function: true };
        }
        self.all.is_applied(set);
        let unit = Unit::Apply(values.len() as u32);
        let mut words = vec![word];
        words.extend(values.into_iter().map(|value| self.hold(value, Repr::Term)));
        let is_function = only_functions(self.all, set, words.len() - 1);
        Passed { unit, values: words, kept: vec![], is_function }
    }

    /// The one lambda that a set holds, if it takes so many arguments; and the shape of its closures, if it captures anything.
    fn only_lambda(&self, set: &Set, count: usize) -> Option<(Unit, Option<ShapeId>)> {
        let shape = set.shape()?;
        match self.all.flow.shapes()[shape].what {
            What::Closure(lambda) => {
                let (params, captures, _) = self.all.lambda_parts(lambda);
                let closure = (!captures.is_empty()).then_some(shape);
                (params.len() == count).then_some((Unit::Lambda(lambda), closure))
            }
            What::Ctor(_) | What::Pair | What::Partial(..) => None,
        }
    }

    // What functions that work on any terms give: a term, or the reason why there is none.

    /// Calls a function that may give one of these reasons instead of a value.
    pub(super) fn checked_call(
        &mut self,
        function: FunctionId,
        words: &[ValueId],
        span: Span,
        what: &str,
        reasons: &[u32],
    ) -> ValueId {
        let result = self.b.call(function, &[Type::Term], words)[0];
        self.check(result, span, what, reasons);
        result
    }

    /// Stops the program if a function has given one of these reasons instead of a value.
    fn check(&mut self, result: ValueId, span: Span, what: &str, reasons: &[u32]) {
        let found = self.b.tag(result);
        let immediate = self.b.u32(tag::IMMEDIATE);
        let is_immediate = self.b.op(Op::Eq, Scalar::U32, &[found, immediate]);
        let region = self.b.new_region(&[]);
        self.within(region, |w| {
            let payload = w.b.payload(result);
            for number in reasons {
                let wanted = w.b.u32(number << FORM_BITS | words::REASON);
                let is = w.b.op(Op::Eq, Scalar::U32, &[payload, wanted]);
                let (code, message, hint) = reason::told(*number, what);
                w.trap_if(is, code, span, message, hint);
            }
            w.b.end(Op::Yield, &[]);
        });
        let mut inst = girih_ir::Inst::new(Op::If, None, &[is_immediate], span);
        let other = self.b.new_region(&[]);
        self.within(other, |w| w.b.end(Op::Yield, &[]));
        inst.regions.extend([region, other]);
        self.b.push(inst, &[]);
    }

    /// A word, computed if it is a definition that waits to be computed.
    pub(super) fn forced(&mut self, word: ValueId, set: &Set) -> ValueId {
        if set.thunks.is_empty() {
            return word;
        }
        let force = self.all.unit(Unit::Force);
        self.b.call(force, &[Type::Term], &[word])[0]
    }

    /// Drops what the arms of a choice would have consumed, where none of them runs.
    pub(super) fn drop_unused(&mut self, arms: &[&Term]) {
        let Some(first) = arms.first() else { return };
        for local in self.liveness.consumed(first).to_vec() {
            self.spend(local);
        }
    }

    /// Whether a term in tail position of a body calls the body's own unit.
    pub(super) fn calls_itself_last(&self, body: &Term, unit: Unit) -> bool {
        let (Unit::Definition(own) | Unit::Borrowing(own, _)) = unit else { return false };
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            match &term.kind {
                TermKind::Let(_, body) => todo.push(body),
                TermKind::Match(m) => todo.extend(m.arms.iter().map(|arm| &arm.body).chain(&m.default)),
                TermKind::Switch(s) => todo.extend(s.cases.iter().map(|(_, body)| body).chain([&s.default])),
                TermKind::Apply(function, args) => match &function.kind {
                    TermKind::Lambda(params, body) if params.len() == args.len() => todo.push(body),
                    TermKind::Global(def) => {
                        let all = args.len() == self.all.program.defs[*def].params.len();
                        if all && !args.is_empty() && self.called(term, *def) == own {
                            return true;
                        }
                    }
                    _ => {}
                },
                leaves!() | made_of_values!() | TermKind::Lambda(..) => {}
            }
        }
        false
    }
}
