//! Operators on words of which the flow says what they may be.
//!
//! If only one kind of number can arrive, anything else ends the run, and the operation follows. If several can, the likeliest one is tried
//! first, and what works on any word is called for the others. An operand that is a variable which lives on is only looked at.

use super::super::flow::{Numbers as Kinds, Set};
use super::Unit;
use super::dynamic::reason;
use super::represent::{Held, Repr};
use super::traps::hint;
use super::words::{tag, tag_of};
use super::writer::TermWriter;
use girih_base::diag::Code;
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;
use girih_base::span::Span;
use girih_ir::{Inst, Op, Scalar, Type, ValueId};
use girih_term::{LocalId, Term, TermKind};

/// What is done with numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Binary(BinOp),
    Primitive(Prim),
}

/// A value that has to be a number.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) held: Held,
    /// What it may be; nothing waits to be computed.
    pub(super) set: Set,
    /// The variable that goes on to own it; none if the operand is to be used up.
    owner: Option<LocalId>,
}

impl Operand {
    /// The kinds of numbers that may arrive.
    fn kinds(&self) -> Kinds {
        match self.held.repr {
            Repr::Number(kind) => Kinds::one(kind),
            Repr::Term => self.set.numbers,
        }
    }
    fn may_be_era(&self) -> bool {
        self.held.repr == Repr::Term && self.set.era
    }
    /// The kind, if any other value ends the run.
    pub(super) fn certain(&self) -> Option<NumKind> {
        self.kinds().single().filter(|_| !self.may_be_era())
    }
}

impl<'p> TermWriter<'_, 'p> {
    /// The values of terms that have to be numbers.
    pub(super) fn operands(&mut self, terms: &[&'p Term]) -> Vec<Operand> {
        let is_at_hand = |term: &&Term| matches!(term.kind, TermKind::Local(_) | TermKind::Num(_));
        if !terms.iter().all(is_at_hand) {
            let values = self.values(terms);
            return values.into_iter().zip(terms).map(|(held, term)| self.operand(held, term)).collect();
        }
        let look = |w: &mut Self, term: &'p Term| {
            let set = w.set_of(term);
            match term.kind {
                TermKind::Local(local) if set.thunks.is_empty() && (!w.liveness.is_last(term) || w.is_lent(local)) => {
                    Operand { held: w.borrow(local), set, owner: Some(local) }
                }
                _ => {
                    let held = w.value(term);
                    w.operand(held, term)
                }
            }
        };
        terms.iter().map(|term| look(self, term)).collect()
    }

    fn operand(&mut self, held: Held, term: &Term) -> Operand {
        let set = self.set_of(term);
        let id = if held.repr == Repr::Term { self.forced(held.id, &set) } else { held.id };
        Operand { held: Held { id, ..held }, set: self.all.flow.forced(&set), owner: None }
    }

    /// The word of an operand, as one that is owned.
    pub(super) fn own(&mut self, operand: Operand) -> ValueId {
        let word = self.hold(operand.held, Repr::Term);
        let Some(local) = operand.owner.filter(|_| operand.held.repr == Repr::Term) else { return word };
        let (rest, mine) = self.b.share(word);
        self.rebind(local, Held { id: rest, repr: Repr::Term });
        mine
    }

    /// The number of an operand whose kind is known.
    pub(super) fn take_number(&mut self, operand: &Operand, kind: NumKind) -> ValueId {
        match (operand.held.repr, operand.owner) {
            (Repr::Number(_), _) => operand.held.id,
            (Repr::Term, None) => self.number_of(kind, operand.held.id),
            (Repr::Term, Some(_)) => self.number_in(kind, operand.held.id),
        }
    }

    /// Whether operands are not of these kinds; none if they always are.
    pub(super) fn are_wrong(&mut self, operands: &[Operand], kinds: &[NumKind]) -> Option<ValueId> {
        let mut wrong: Option<ValueId> = None;
        let mut tags: Option<ValueId> = None;
        let mut tested: Vec<ValueId> = vec![];
        let uncertain = operands.iter().zip(kinds).filter(|(operand, _)| operand.held.repr == Repr::Term);
        for (operand, kind) in uncertain {
            let word = operand.held.id;
            if tested.contains(&word) {
                continue;
            }
            tested.push(word);
            let test = match tag_of(*kind) {
                _ if operand.set == (Set { numbers: Kinds::one(*kind), ..Set::default() }) => None,
                Some(tag::U24) => {
                    // Its tag is 0: the tags of all such operands are looked at together.
                    let found = self.b.tag(word);
                    tags = Some(tags.map_or(found, |tags| self.b.op(Op::Or, Scalar::U32, &[tags, found])));
                    None
                }
                Some(tag) => {
                    let found = self.b.tag(word);
                    let wanted = self.b.u32(tag);
                    Some(self.b.op(Op::Ne, Scalar::U32, &[found, wanted]))
                }
                None => {
                    let boxed = self.all.boxed(*kind);
                    self.is_layout(Op::Ne, word, &operand.set, boxed)
                }
            };
            wrong = self.either(wrong, test);
        }
        let zero = self.b.u32(tag::U24);
        let tags = tags.map(|tags| self.b.op(Op::Ne, Scalar::U32, &[tags, zero]));
        self.either(wrong, tags)
    }

    fn either(&mut self, a: Option<ValueId>, b: Option<ValueId>) -> Option<ValueId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.op(Op::Or, Scalar::Bool, &[a, b])),
            (a, b) => a.or(b),
        }
    }

    /// An operator or a primitive on terms.
    pub(super) fn operate(&mut self, term: &'p Term, what: Operator, terms: &[&'p Term]) -> Held {
        let operands = self.operands(terms);
        self.operate_on_operands(term, what, operands)
    }

    /// The same on values of terms.
    pub(super) fn operate_on_values(
        &mut self,
        term: &'p Term,
        what: Operator,
        terms: &[&Term],
        values: &[Held],
    ) -> Held {
        let operands = values.iter().zip(terms).map(|(held, term)| self.operand(*held, term)).collect();
        self.operate_on_operands(term, what, operands)
    }

    fn operate_on_operands(&mut self, term: &'p Term, what: Operator, operands: Vec<Operand>) -> Held {
        self.b.span = term.span;
        let Some(kinds) = self.likely(what, &operands) else {
            let result = self.operate_on_any(what, operands, term.span);
            return Held { id: result, repr: Repr::Term };
        };
        if operands.iter().all(|operand| operand.certain().is_some()) {
            if let Some(wrong) = self.are_wrong(&operands, &kinds) {
                let message = format!("{} needs a number", name(what));
                self.trap_if(wrong, Code::NotANumber, term.span, message, hint::NUMBER);
            }
            return self.operate_on_numbers(what, &operands, &kinds, term.span);
        }
        match self.are_wrong(&operands, &kinds) {
            None => self.operate_on_numbers(what, &operands, &kinds, term.span),
            Some(wrong) => self.operate_likely(term, what, operands, &kinds, wrong),
        }
    }

    /// The likely kinds of operands, for which there is the operation.
    fn likely(&self, what: Operator, operands: &[Operand]) -> Option<Vec<NumKind>> {
        let goes = |kinds: &[NumKind]| match (what, kinds) {
            (Operator::Binary(op), [a, b]) => a.join(*b).is_some_and(|kind| op.is_defined_on(kind)),
            (Operator::Binary(_), _) => false,
            (Operator::Primitive(prim), kinds) => super::numbers::takes(prim, kinds),
        };
        let mut ways: Vec<Vec<NumKind>> = vec![vec![]];
        for operand in operands {
            let longer = |way: &Vec<NumKind>| {
                let way = way.clone();
                operand.kinds().iter().map(move |kind| [&way[..], &[kind]].concat()).collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(longer).collect();
        }
        // Of one kind if that can be.
        let alike = |way: &&Vec<NumKind>| way.windows(2).all(|pair| pair[0] == pair[1]);
        let possible: Vec<&Vec<NumKind>> = ways.iter().filter(|way| goes(way)).collect();
        possible.iter().find(|way| alike(way)).or(possible.first()).map(|way| way.to_vec())
    }

    fn operate_on_numbers(&mut self, what: Operator, operands: &[Operand], kinds: &[NumKind], span: Span) -> Held {
        let ids: Vec<ValueId> = operands.iter().zip(kinds).map(|(o, kind)| self.take_number(o, *kind)).collect();
        let result = match (what, kinds, &ids[..]) {
            (Operator::Binary(op), [ka, kb], [a, b]) => ka.join(*kb).map(|kind| {
                let (a, b) = (self.numbers().convert(*ka, kind, *a), self.numbers().convert(*kb, kind, *b));
                let is_known = self.b.function.as_constant(b).is_some_and(|divisor| divisor != 0);
                if !is_known && let Some(zero) = self.numbers().divides_by_zero(op, kind, b) {
                    self.trap_division(zero, span);
                }
                self.numbers().operate(op, kind, a, b)
            }),
            (Operator::Binary(_), ..) => None,
            (Operator::Primitive(prim), kinds, ids) => self.numbers().primitive(prim, kinds, ids),
        };
        let Some((id, kind)) = result else { unreachable!("`likely` gives kinds that have the operation") };
        Held { id, repr: Repr::Number(kind) }
    }

    /// The operation on likely kinds, or else on whatever arrives.
    fn operate_likely(
        &mut self,
        term: &'p Term,
        what: Operator,
        operands: Vec<Operand>,
        kinds: &[NumKind],
        wrong: ValueId,
    ) -> Held {
        let repr = self.repr_of(term);
        let mut inst = Inst::new(Op::If, None, &[wrong], term.span);
        let (slow, fast) = (self.b.new_region(&[]), self.b.new_region(&[]));
        inst.regions.extend([slow, fast]);
        // Cells that arms make are numbers in boxes; the reuse tokens at hand are for others.
        let reuse = std::mem::take(&mut self.state.reuse);
        let owners: Vec<LocalId> = self.owners(&operands);
        let before: Vec<Held> = owners.iter().map(|local| self.borrow(*local)).collect();
        self.within(slow, |w| {
            let word = w.operate_on_any(what, operands.clone(), term.span);
            let mut given = vec![w.hold(Held { id: word, repr: Repr::Term }, repr)];
            given.extend(owners.iter().map(|local| w.borrow(*local).id));
            w.b.end(Op::Yield, &given);
        });
        self.within(fast, |w| {
            let held = w.operate_on_numbers(what, &operands, kinds, term.span);
            let mut given = vec![w.hold(held, repr)];
            given.extend(before.iter().map(|held| held.id));
            w.b.end(Op::Yield, &given);
        });
        self.state.reuse = reuse;
        let types: Vec<Type> = [repr.ty()].into_iter().chain(owners.iter().map(|_| Type::Term)).collect();
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        for (local, id) in owners.iter().zip(&results[1..]) {
            self.rebind(*local, Held { id: *id, repr: Repr::Term });
        }
        Held { id: results[0], repr }
    }

    /// The variables that go on to own operands.
    fn owners(&self, operands: &[Operand]) -> Vec<LocalId> {
        let mut owners: Vec<LocalId> = vec![];
        for operand in operands.iter().filter(|operand| operand.held.repr == Repr::Term) {
            owners.extend(operand.owner.filter(|local| !owners.contains(local)));
        }
        // A variable that is an operand twice may be used up by the second one.
        let used_up = |local: &LocalId| {
            let word = self.borrow(*local).id;
            operands.iter().any(|operand| operand.owner.is_none() && operand.held.id == word)
        };
        owners.retain(|local| !used_up(local));
        owners
    }

    /// The function that takes any words; a word.
    fn operate_on_any(&mut self, what: Operator, operands: Vec<Operand>, span: Span) -> ValueId {
        let mut operands = operands;
        let mut words = vec![];
        for i in 0..operands.len() {
            let Operand { held, owner, .. } = operands[i].clone();
            let Some(local) = owner.filter(|_| held.repr == Repr::Term) else {
                words.push(self.hold(held, Repr::Term));
                continue;
            };
            let (rest, mine) = self.b.share(held.id);
            words.push(mine);
            self.rebind(local, Held { id: rest, repr: Repr::Term });
            let same = operands[i + 1..].iter_mut().filter(|operand| operand.held.id == held.id);
            same.for_each(|operand| operand.held.id = rest);
        }
        let kinds: Vec<Kinds> = operands.iter().map(Operand::kinds).collect();
        let unit = match what {
            Operator::Binary(op) => Unit::Operator(op),
            Operator::Primitive(prim) => Unit::Primitive(prim),
        };
        let function = self.all.unit(unit);
        self.checked_call(function, &words, span, &name(what), &reasons(what, &kinds))
    }
}

fn name(what: Operator) -> String {
    match what {
        Operator::Binary(op) => format!("the operator `{}`", op.symbol()),
        Operator::Primitive(prim) => format!("`{}`", prim.name()),
    }
}

/// Why there may be no result.
fn reasons(what: Operator, kinds: &[Kinds]) -> Vec<u32> {
    let mut reasons = vec![reason::NUMBER];
    match (what, kinds) {
        (Operator::Binary(op), [a, b]) => {
            let pairs: Vec<(NumKind, NumKind)> = a.iter().flat_map(|a| b.iter().map(move |b| (a, b))).collect();
            let joined: Vec<NumKind> = pairs.iter().filter_map(|(a, b)| a.join(*b)).collect();
            if joined.len() < pairs.len() {
                reasons.push(reason::MIXED);
            }
            if joined.iter().any(|kind| !op.is_defined_on(*kind)) {
                reasons.push(reason::UNSUPPORTED);
            }
            if matches!(op, BinOp::Div | BinOp::Rem) {
                reasons.push(reason::DIVISION);
            }
        }
        (Operator::Binary(_), _) => {}
        (Operator::Primitive(_), _) => reasons.push(reason::FLOAT),
    }
    reasons
}
