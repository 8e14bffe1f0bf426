//! Terms but calls and choices.

use super::super::flow::{Set, ShapeId, Site, What};
use super::operands::Operator;
use super::represent::{self, Held, Repr};
use super::traps::hint;
use super::words::{Immediate, tag};
use super::writer::{Goal, Writer};
use crate::diag::Code;
use crate::ir::Inst;
use crate::ir::attrs::Attr;
use crate::ir::{Op, Scalar, Type, ValueId};
use crate::num::Num;
use crate::span::Span;
use crate::term::{Bind, LocalId, Target, Term, TermKind};

impl<'p> Writer<'_, 'p> {
    /// What a term may give.
    pub(super) fn set_of(&self, term: &Term) -> Set {
        match term.kind {
            TermKind::Local(local) => self.all.flow.local(self.instance, local).clone(),
            _ => self.all.flow.term(self.instance, term).clone(),
        }
    }
    pub(super) fn repr_of(&self, term: &Term) -> Repr {
        represent::of(&self.set_of(term))
    }
    /// The value of a term that is not the function's result.
    pub(super) fn value(&mut self, term: &'p Term) -> Held {
        match self.term(term, Goal::Value) {
            Some(value) => value,
            None => unreachable!("a wanted value is given"),
        }
    }
    pub(super) fn term(&mut self, term: &'p Term, goal: Goal) -> Option<Held> {
        self.b.span = term.span;
        let value = match &term.kind {
            TermKind::Local(local) => self.variable(*local, self.liveness.is_last(term)),
            TermKind::Global(def) => self.definition(*def),
            TermKind::Num(number) => self.number(*number),
            TermKind::Era => self.immediate(Immediate::Era),
            TermKind::Str(text) => {
                let codes: Vec<u32> = text.chars().map(u32::from).collect();
                let known = &self.all.program.known;
                let (cons, nil) = (known.string_cons, known.string_nil);
                let heads = codes.into_iter().map(|code| self.number(Num::u24(code))).collect();
                self.chain(term, heads, cons.is_some(), nil)
            }
            TermKind::List(items) => {
                let heads = items.iter().map(|item| self.value(item)).collect();
                let known = &self.all.program.known;
                self.chain(term, heads, known.list_cons.is_some(), known.list_nil)
            }
            TermKind::Ctor(ctor, fields) if fields.is_empty() => self.immediate(Immediate::Unit(*ctor)),
            TermKind::Ctor(_, fields) => {
                let values = self.values(&fields.iter().collect::<Vec<_>>());
                self.cell(Site::Term(self.instance, term), &values)
            }
            TermKind::Tuple(parts) => {
                let values = self.values(&parts.iter().collect::<Vec<_>>());
                self.tuple(term, &values)
            }
            TermKind::Lambda(..) => self.closure(term),
            TermKind::Apply(function, args) => return self.application(term, function, args, goal),
            TermKind::Op(op, a, b) => self.operate(term, Operator::Binary(*op), &[a, b]),
            TermKind::Prim(prim, args) => {
                self.operate(term, Operator::Primitive(*prim), &args.iter().collect::<Vec<_>>())
            }
            TermKind::Let(binds, body) => {
                for Bind { target, value } in binds {
                    self.bind_target(target, value);
                }
                return self.term(body, goal);
            }
            TermKind::Match(choice) => return self.matching(term, choice, goal),
            TermKind::Switch(choice) => return self.switch(term, choice, goal),
            // `reach` has refused them.
            TermKind::Literal(_) | TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid => {
                self.immediate(Immediate::Era)
            }
        };
        self.b.span = term.span;
        self.finish(value, goal)
    }

    fn number(&mut self, number: Num) -> Held {
        let kind = number.kind();
        let scalar = super::numbers::scalar(kind);
        let bits = match number {
            Num::U24(x) | Num::U32(x) => x,
            Num::I24(x) | Num::I32(x) => x as u32,
            Num::F24(x) | Num::F32(x) => x.to_bits(),
        };
        Held { id: self.b.constant(scalar, u64::from(bits)), repr: Repr::Number(kind) }
    }

    /// A new cell of a site.
    pub(super) fn cell(&mut self, site: Site<'_>, values: &[Held]) -> Held {
        match self.all.flow.shape(site) {
            Some(shape) => self.cell_of(shape, values),
            // The flow says that control never comes here; it is said aloud if it does.
            None => {
                let always = self.b.bool(true);
                let span = self.b.span;
                self.trap_if(always, Code::Internal, span, "this was never meant to be made".to_owned(), hint::REPORT);
                values.iter().for_each(|value| self.discard(*value));
                self.immediate(Immediate::Era)
            }
        }
    }
    /// A new cell of a shape.
    pub(super) fn cell_of(&mut self, shape: ShapeId, values: &[Held]) -> Held {
        let layout = self.all.shape(shape);
        let flow = self.all.flow;
        let reprs = represent::stored(&flow.shapes()[shape]);
        let fields: Vec<ValueId> = values.iter().zip(reprs).map(|(value, repr)| self.hold(*value, repr)).collect();
        Held { id: self.new_cell(layout, &fields), repr: Repr::Term }
    }

    /// A list or a text: links from the last to the first.
    fn chain(&mut self, term: &Term, heads: Vec<Held>, linked: bool, nil: Option<crate::term::CtorId>) -> Held {
        let end = nil.map_or(Immediate::Era, Immediate::Unit);
        let mut rest = self.immediate(end);
        for head in heads.into_iter().rev().filter(|_| linked) {
            rest = self.cell(Site::Term(self.instance, term), &[head, rest]);
        }
        rest
    }

    fn tuple(&mut self, term: &Term, parts: &[Held]) -> Held {
        let Some((last, first)) = parts.split_last() else { return self.immediate(Immediate::Era) };
        let mut rest = *last;
        for (i, part) in first.iter().enumerate().rev() {
            rest = self.cell(Site::Pair(self.instance, term, i), &[*part, rest]);
        }
        rest
    }

    fn closure(&mut self, term: &Term) -> Held {
        let lambda = self.lambda_ref(term);
        let captures = self.liveness.captures(term).to_vec();
        if captures.is_empty() {
            let number = self.all.lambda(lambda);
            return self.immediate(Immediate::Lambda(number));
        }
        let values: Vec<Held> = captures.iter().map(|c| self.variable(c.local, c.last)).collect();
        self.cell(Site::Term(self.instance, term), &values)
    }

    // Bindings.

    fn bind_target(&mut self, target: &Target, value: &'p Term) {
        match target {
            Target::Tuple(targets) => {
                let set = self.set_of(value);
                let held = self.value(value);
                self.untuple(held, &set, targets, value.span);
            }
            Target::Var(local) => {
                let held = self.value(value);
                self.bind_as_known(*local, held);
            }
            Target::Dup(copies) => {
                let held = self.value(value);
                self.bind_copies(&copies.iter().flatten().copied().collect::<Vec<_>>(), held);
            }
            Target::Link(_) => {
                let held = self.value(value);
                self.discard(held);
            }
        }
    }

    /// Binds a variable to a value, held as the flow says of the variable.
    pub(super) fn bind_as_known(&mut self, local: LocalId, value: Held) {
        let repr = represent::of(self.all.flow.local(self.instance, local));
        let id = self.hold(value, repr);
        self.bind(local, Held { id, repr });
    }

    fn bind_copies(&mut self, locals: &[LocalId], value: Held) {
        let Some((first, rest)) = locals.split_first() else { return self.discard(value) };
        let mut left = value;
        for local in rest {
            let mut mine = left;
            if left.repr == Repr::Term {
                let (a, b) = self.b.share(left.id);
                (mine.id, left.id) = (a, b);
            }
            self.bind_as_known(*local, mine);
        }
        self.bind_as_known(*first, left);
    }

    // Tuples.

    /// Takes a tuple apart.
    fn untuple(&mut self, value: Held, set: &Set, targets: &[Option<LocalId>], span: Span) {
        let word = self.hold(value, Repr::Term);
        let word = self.forced(word, set);
        let set = self.all.flow.forced(set);
        let [target, rest @ ..] = targets else { return self.b.drop(word) };
        if rest.is_empty() {
            let held = Held { id: word, repr: Repr::Term };
            return match target {
                Some(local) => self.bind_as_known(*local, held),
                None => self.discard(held),
            };
        }
        let (first, second, second_set) = self.pair_of(word, &set, span);
        match target {
            Some(local) => self.bind_as_known(*local, first),
            None => self.discard(first),
        }
        if let [last] = rest {
            match last {
                Some(local) => self.bind_as_known(*local, second),
                None => self.discard(second),
            }
        } else if rest.iter().all(Option::is_none) {
            self.discard(second);
        } else {
            self.untuple(second, &second_set, rest, span);
        }
    }

    /// The parts of a pair, and what the second one may be. `*` is a pair of `*`.
    fn pair_of(&mut self, word: ValueId, set: &Set, span: Span) -> (Held, Held, Set) {
        if let Some(shape) = set.shape() {
            let parts = self.open(shape, word);
            let second = self.all.flow.shapes()[shape].fields[1].clone();
            return (parts[0], parts[1], second);
        }
        let shapes: Vec<ShapeId> =
            set.shapes.iter().copied().filter(|s| self.all.flow.shapes()[*s].what == What::Pair).collect();
        if let ([shape], false) = (&shapes[..], set.era) {
            let layout = self.all.shape(*shape);
            if let Some(other) = self.is_layout(Op::Ne, word, set, layout) {
                self.trap_no_tuple(other, span);
            }
            let parts = self.open(*shape, word);
            return (parts[0], parts[1], self.all.flow.shapes()[*shape].fields[1].clone());
        }
        self.any_pair(word, set, &shapes, span)
    }

    fn trap_no_tuple(&mut self, condition: ValueId, span: Span) {
        let message = "this is taken apart, and is not a tuple".to_owned();
        self.trap_if(condition, Code::NotATuple, span, message, hint::CASE);
    }

    /// Whether a word is `*`.
    pub(super) fn is_era(&mut self, word: ValueId) -> ValueId {
        let payload = self.b.payload(word);
        let era = self.b.u32(Immediate::Era.payload());
        let same = self.b.op(Op::Eq, Scalar::U32, &[payload, era]);
        let immediate = self.has_tag(word, tag::IMMEDIATE);
        self.b.op(Op::And, Scalar::Bool, &[same, immediate])
    }

    /// Takes whatever arrives apart as a pair: `*` is a pair of `*`, anything else but a pair ends the run.
    fn any_pair(&mut self, word: ValueId, set: &Set, shapes: &[ShapeId], span: Span) -> (Held, Held, Set) {
        let mut second = Set::default();
        for shape in shapes {
            second.merge(&self.all.flow.shapes()[*shape].fields[1]);
        }
        let layouts: Vec<u32> = shapes.iter().map(|shape| self.all.shape(*shape).index() as u32).collect();
        let selector = self.layout_or_none(word);
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), vec![selector], span);
        inst.set(Attr::Cases(layouts.iter().map(|l| vec![i64::from(*l)]).collect()));
        let holes = std::mem::take(&mut self.holes);
        for shape in shapes {
            let region = self.b.new_region(&[]);
            inst.regions.push(region);
            self.within(region, |w| {
                let parts = w.open(*shape, word);
                let words: Vec<ValueId> = parts.into_iter().map(|part| w.hold(part, Repr::Term)).collect();
                w.free_holes(0);
                w.b.end(Op::Yield, &words);
            });
        }
        let region = self.b.new_region(&[]);
        inst.regions.push(region);
        self.within(region, |w| {
            let other = if set.era {
                let era = w.is_era(word);
                w.b.op(Op::Not, Scalar::Bool, &[era])
            } else {
                w.b.bool(true)
            };
            w.trap_no_tuple(other, span);
            w.b.drop(word);
            let (a, b) = (w.immediate(Immediate::Era), w.immediate(Immediate::Era));
            w.b.end(Op::Yield, &[a.id, b.id]);
        });
        self.holes = holes;
        let id = self.b.push(inst, &[Type::Term, Type::Term]);
        let results = self.b.function.insts[id].results.clone();
        let held = |id: ValueId| Held { id, repr: Repr::Term };
        (held(results[0]), held(results[1]), second)
    }

    /// The number of a cell's layout; for other words a number that no layout has.
    pub(super) fn layout_or_none(&mut self, word: ValueId) -> ValueId {
        let is_cell = self.has_tag(word, tag::CELL);
        let mut inst = Inst::new(Op::If, None, vec![is_cell], self.b.span);
        for cell in [true, false] {
            let region = self.b.new_region(&[]);
            self.within(region, |w| {
                let value = if cell { w.b.cell_layout(word) } else { w.b.u32(u32::MAX) };
                w.b.end(Op::Yield, &[value]);
            });
            inst.regions.push(region);
        }
        let id = self.b.push(inst, &[Type::U32]);
        self.b.function.insts[id].results[0]
    }
}
