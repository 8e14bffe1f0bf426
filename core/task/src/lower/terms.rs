//! Terms but calls and choices.

use super::super::flow::{Set, ShapeId, Site, What};
use super::operands::Operator;
use super::represent::{self, Held, Repr, Results};
use super::traps::hint;
use super::words::{Immediate, tag};
use super::writer::{Goal, TermWriter};
use girih_base::diag::Code;
use girih_base::num::Num;
use girih_base::span::Span;
use girih_ir::Inst;
use girih_ir::{Op, Scalar, Type, ValueId};
use girih_term::groups::leaves;
use girih_term::{LocalId, Target, Term, TermKind};

impl<'p> TermWriter<'_, 'p> {
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
    /// How what is wanted of a term is held.
    pub(super) fn wanted(&self, term: &Term, goal: Goal) -> Vec<Repr> {
        match goal {
            Goal::Value => vec![self.repr_of(term)],
            Goal::Parts(shape) => represent::stored(&self.all.flow.shapes()[shape]),
            Goal::Result => self.results.reprs().to_vec(),
        }
    }
    /// The value of a term that is not the function's result.
    pub(super) fn value(&mut self, term: &'p Term) -> Held {
        match self.term(term, Goal::Value).as_deref() {
            Some([value]) => *value,
            _ => unreachable!("a wanted value is given"),
        }
    }
    /// The fields of the cell that a term is.
    pub(super) fn parts(&mut self, term: &'p Term, shape: ShapeId) -> Vec<Held> {
        match self.term(term, Goal::Parts(shape)) {
            Some(parts) => parts,
            None => unreachable!("fields that are wanted are given"),
        }
    }
    pub(super) fn term(&mut self, term: &'p Term, goal: Goal) -> Option<Vec<Held>> {
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
                let heads = self.values(&items.iter().collect::<Vec<_>>());
                let known = &self.all.program.known;
                self.chain(term, heads, known.list_cons.is_some(), known.list_nil)
            }
            TermKind::Ctor(ctor, fields) if fields.is_empty() => self.immediate(Immediate::Unit(*ctor)),
            TermKind::Ctor(_, fields) => {
                let values = self.values(&fields.iter().collect::<Vec<_>>());
                self.b.span = term.span;
                return self.made(Site::Term(self.instance, term), values, goal);
            }
            TermKind::Tuple(parts) => {
                let values = self.values(&parts.iter().collect::<Vec<_>>());
                self.b.span = term.span;
                return self.tuple(term, &values, goal);
            }
            TermKind::Lambda(..) => self.closure(term),
            TermKind::Apply(function, args) => return self.application(term, function, args, goal),
            TermKind::Op(op, a, b) => self.operate(term, Operator::Binary(*op), &[a, b]),
            TermKind::Prim(prim, args) => {
                self.operate(term, Operator::Primitive(*prim), &args.iter().collect::<Vec<_>>())
            }
            TermKind::Let(binds, body) => {
                return self.sequence(binds, body, goal);
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
    /// What is made at a site, as it is wanted.
    pub(super) fn made(&mut self, site: Site<'_>, values: Vec<Held>, goal: Goal) -> Option<Vec<Held>> {
        match self.all.flow.shape(site) {
            Some(shape) => self.finish_parts(shape, values, goal),
            None => {
                let never = self.cell(site, &values);
                self.finish(never, goal)
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
    fn chain(&mut self, term: &Term, heads: Vec<Held>, linked: bool, nil: Option<girih_term::CtorId>) -> Held {
        let end = nil.map_or(Immediate::Era, Immediate::Unit);
        let mut rest = self.immediate(end);
        for head in heads.into_iter().rev().filter(|_| linked) {
            rest = self.cell(Site::Term(self.instance, term), &[head, rest]);
        }
        rest
    }

    pub(super) fn tuple(&mut self, term: &Term, parts: &[Held], goal: Goal) -> Option<Vec<Held>> {
        let [first, inner @ .., last] = parts else {
            let one = parts.first().copied();
            let one = one.unwrap_or_else(|| self.immediate(Immediate::Era));
            return self.finish(one, goal);
        };
        let mut rest = *last;
        for (i, part) in inner.iter().enumerate().rev() {
            rest = self.cell(Site::Pair(self.instance, term, i + 1), &[*part, rest]);
        }
        self.made(Site::Pair(self.instance, term, 0), vec![*first, rest], goal)
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

    pub(super) fn bind_target(&mut self, target: &Target, value: &'p Term) {
        if let (Target::Tuple(targets), Some(word)) = (target, self.lent_word(value))
            && targets.len() > 1
        {
            let set = self.set_of(value);
            return self.untuple_lent(word, &set, targets, value.span);
        }
        // Another name for what is lent is lent, too.
        if let (Target::Var(name), TermKind::Local(local)) = (target, &value.kind)
            && self.is_lent(*local)
        {
            return self.lend(*name, self.borrow(*local));
        }
        let goal = self.goal_of(target, value);
        match self.term(value, goal) {
            Some(given) => self.bind_given(target, value, goal, &given),
            None => unreachable!("a wanted value is given"),
        }
    }

    /// What a target wants of its value: the parts of a pair that need not be made.
    pub(super) fn goal_of(&self, target: &Target, value: &Term) -> Goal {
        match target {
            Target::Tuple(targets) if targets.len() > 1 => match self.parts_of(value) {
                Some(shape) if self.all.flow.shapes()[shape].what == What::Pair => Goal::Parts(shape),
                Some(_) | None => Goal::Value,
            },
            Target::Tuple(_) | Target::Var(_) | Target::Dup(_) | Target::Link(_) => Goal::Value,
        }
    }

    /// Binds what a term has given, as its target has wanted it.
    pub(super) fn bind_given(&mut self, target: &Target, value: &Term, goal: Goal, given: &[Held]) {
        match (target, goal, given) {
            (Target::Tuple(targets), Goal::Parts(shape), [first, second]) => {
                let second_set = self.all.flow.shapes()[shape].fields[1].clone();
                self.bind_pair(*first, *second, &second_set, targets, value.span);
            }
            (Target::Tuple(targets), _, [held, ..]) => {
                let set = self.set_of(value);
                self.untuple(*held, &set, targets, value.span);
            }
            (Target::Var(local), _, [held, ..]) => self.bind_as_known(*local, *held),
            (Target::Dup(copies), _, [held, ..]) => {
                self.bind_copies(&copies.iter().flatten().copied().collect::<Vec<_>>(), *held);
            }
            (Target::Link(_), _, [held, ..]) => self.discard(*held),
            (Target::Tuple(_) | Target::Var(_) | Target::Dup(_) | Target::Link(_), _, []) => {}
        }
    }

    fn bind_or_discard(&mut self, target: Option<LocalId>, value: Held) {
        match target {
            Some(local) => self.bind_as_known(local, value),
            None => self.discard(value),
        }
    }

    /// The shape of the cell that a term is, if the term gives the fields of one that is not made yet, on some way at least.
    pub(super) fn parts_of(&self, term: &Term) -> Option<ShapeId> {
        let shape = self.set_of(term).shape()?;
        let few = self.all.flow.shapes()[shape].fields.len() <= super::products::MOST;
        (few && self.gives_parts(term)).then_some(shape)
    }
    fn gives_parts(&self, term: &Term) -> bool {
        match &term.kind {
            TermKind::Tuple(parts) => parts.len() > 1,
            TermKind::Ctor(_, fields) => !fields.is_empty(),
            TermKind::Let(_, body) => self.gives_parts(body),
            TermKind::Match(choice) => {
                choice.arms.iter().map(|arm| &arm.body).chain(&choice.default).any(|body| self.gives_parts(body))
            }
            TermKind::Switch(choice) => {
                choice.cases.iter().map(|(_, body)| body).chain([&choice.default]).any(|body| self.gives_parts(body))
            }
            TermKind::Apply(function, args) => match &function.kind {
                TermKind::Lambda(params, body) if params.len() == args.len() => self.gives_parts(body),
                TermKind::Global(_) => {
                    let unit = self.called_unit(term);
                    unit.is_some_and(|unit| matches!(self.all.results(unit), Results::Parts(..)))
                }
                _ => false,
            },
            leaves!()
            | TermKind::Lambda(..)
            | TermKind::List(_)
            | TermKind::Op(..)
            | TermKind::Prim(..)
            | TermKind::Sup(_) => false,
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
            return self.bind_or_discard(*target, Held { id: word, repr: Repr::Term });
        }
        let (first, second, second_set) = self.pair_of(word, &set, span);
        self.bind_pair(first, second, &second_set, targets, span);
    }

    /// Binds the parts of a pair, of which the second one may be taken apart further.
    fn bind_pair(&mut self, first: Held, second: Held, second_set: &Set, targets: &[Option<LocalId>], span: Span) {
        let [target, rest @ ..] = targets else { return };
        self.bind_or_discard(*target, first);
        if let [last] = rest {
            self.bind_or_discard(*last, second);
        } else if rest.iter().all(Option::is_none) {
            self.discard(second);
        } else {
            self.untuple(second, second_set, rest, span);
        }
    }

    /// Takes a tuple apart that is only lent.
    fn untuple_lent(&mut self, word: ValueId, set: &Set, targets: &[Option<LocalId>], span: Span) {
        let pairs: Vec<ShapeId> =
            set.shapes.iter().copied().filter(|s| self.all.flow.shapes()[*s].what == What::Pair).collect();
        let ([shape], false, true, [first, rest @ ..]) = (&pairs[..], set.era, set.thunks.is_empty(), targets) else {
            let (_, mine) = self.b.share(word);
            return self.untuple(Held { id: mine, repr: Repr::Term }, set, targets, span);
        };
        let layout = self.all.shape(*shape);
        if let Some(other) = self.is_layout(Op::Ne, word, set, layout) {
            self.trap_no_tuple(other, span);
        }
        match rest {
            [second] => self.look_into(*shape, word, &[*first, *second]),
            _ => {
                self.look_into(*shape, word, &[*first]);
                let second = self.field(*shape, word, 1);
                let set = self.all.flow.shapes()[*shape].fields[1].clone();
                if second.repr == Repr::Term {
                    self.untuple_lent(second.id, &set, rest, span);
                } else {
                    self.untuple(second, &set, rest, span);
                }
            }
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
        // The second part of `*` is `*`.
        let mut second_set = Set { era: set.era, ..Set::default() };
        for shape in shapes {
            second_set.merge(&self.all.flow.shapes()[*shape].fields[1]);
        }
        let layouts: Vec<u32> = shapes.iter().map(|shape| self.all.shape(*shape).index() as u32).collect();
        let selector = self.layout_or_none(word);
        let reprs = [Repr::Term, Repr::Term];
        let given = self.ways(selector, &layouts, Goal::Value, &reprs, &mut |w, i, _| {
            if let Some(shape) = shapes.get(i) {
                return Some(w.open(*shape, word));
            }
            let other = if set.era {
                let era = w.is_era(word);
                w.b.op(Op::Not, Scalar::Bool, &[era])
            } else {
                w.b.bool(true)
            };
            w.trap_no_tuple(other, span);
            w.b.drop(word);
            Some(vec![w.immediate(Immediate::Era), w.immediate(Immediate::Era)])
        });
        match given.as_deref() {
            Some([first, second]) => (*first, *second, second_set),
            _ => unreachable!("all ways give a pair"),
        }
    }

    /// The number of a cell's layout; for other words a number that no layout has.
    pub(super) fn layout_or_none(&mut self, word: ValueId) -> ValueId {
        let is_cell = self.has_tag(word, tag::CELL);
        let mut inst = Inst::new(Op::If, None, &[is_cell], self.b.span);
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
