//! Splitting of choices: calls that stand in the arms of a choice and do not wait for what was begun before it are made by a choice of their own, in front of the rest. So in
//! `others = rest(xs)`, `if test(x): join(search(x), others) else: others` the test and the search run beside the rest.
//!
//! Invariant: a call is made in exactly those runs in which it was made before. An arm that makes no such call gives a placeholder, which nothing looks at.

use super::Part;
use super::branches::{has_lambda, rename, replace};
use super::items::{Item, Pattern, arms, arms_mut, bound_inside, mention, scrutinee};
use girih_base::num::Num;
use girih_term::ty::Type;
use girih_term::{LocalId, Target, Term, TermKind};
use std::collections::{HashMap, HashSet};

impl Part<'_> {
    /// Splits the choice at the end of a block, if something lasting stands before it that it does not inspect, and that some calls in its arms do not need.
    pub(super) fn split(&mut self, items: &mut Vec<Item>) {
        let Some(early) = self.early(items) else { return };
        let Some(Item { target, value: mut late, .. }) = items.pop() else { return };
        self.name_scrutinee(&mut late, items);
        let slots = early.iter().map(Vec::len).max().unwrap_or(0);
        let placeholder =
            |slot: usize| early.iter().filter_map(|calls| calls.get(slot)).find_map(|call| self.placeholder(call));
        let placeholders: Vec<Term> = (0..slots).filter_map(placeholder).collect();
        let span = late.span;
        let locals: Vec<LocalId> = (0..slots).map(|_| self.local(span)).collect();
        let mut first = late.clone();
        for (arm, calls) in arms_mut(&mut first).into_iter().zip(&early) {
            let slots = placeholders.iter().enumerate();
            let mut values: Vec<Term> = slots.map(|(i, none)| calls.get(i).unwrap_or(none).clone()).collect();
            *arm = match values.len() {
                1 => values.swap_remove(0),
                _several => Term::new(TermKind::Tuple(values), span),
            };
        }
        self.rename_arms(&mut first);
        for (arm, calls) in arms_mut(&mut late).into_iter().zip(&early) {
            calls.iter().zip(&locals).for_each(|(call, local)| replace(arm, call, *local));
        }
        let bound = match locals[..] {
            [one] => Target::Var(one),
            _ => Target::Tuple(locals.into_iter().map(Some).collect()),
        };
        items.push(Item::new(Some(Pattern::Target(bound)), first, self.arities));
        items.push(Item::new(target, late, self.arities));
    }

    /// For each arm of the choice at the end, the calls that are made before the rest; none if there is nothing to run beside them.
    fn early(&self, items: &[Item]) -> Option<Vec<Vec<Term>>> {
        let (end, before) = items.split_last()?;
        let inspected = scrutinee(&end.value)?;
        let mut needed = HashSet::new();
        mention(inspected, &mut needed);
        let mut beside = vec![];
        for item in before.iter().rev() {
            if item.binds().iter().any(|local| needed.contains(local)) {
                needed.extend(&item.mentions);
            } else if item.is_lasting() {
                beside.extend(item.binds());
            }
        }
        for item in before {
            if item.needs(&beside) {
                beside.extend(item.binds());
            }
        }
        if !end.needs(&beside) {
            return None;
        }
        let of_arm = |arm: &&Term| {
            let mut inner: HashSet<LocalId> = beside.iter().copied().collect();
            bound_inside(arm, &mut inner);
            let mut found = vec![];
            self.independent(arm, last(arm), &inner, &mut found);
            found
        };
        let found: Vec<Vec<Term>> = arms(&end.value).iter().map(of_arm).collect();
        (found.len() > 1 && found.iter().any(|calls| !calls.is_empty())).then_some(found)
    }

    /// The outermost lasting calls that a term makes for certain and that use none of these variables, but for the one at its end.
    fn independent(&self, term: &Term, end: &Term, inner: &HashSet<LocalId>, found: &mut Vec<Term>) {
        let mut mentions = HashSet::new();
        mention(term, &mut mentions);
        let is_free = self.arities.is_call(term) && mentions.is_disjoint(inner) && !has_lambda(term);
        if is_free && !std::ptr::eq(term, end) && self.placeholder(term).is_some() {
            return found.push(term.clone());
        }
        match &term.kind {
            TermKind::Lambda(..) => {}
            TermKind::Match(_) | TermKind::Switch(_) => {
                scrutinee(term).into_iter().for_each(|term| self.independent(term, end, inner, found));
            }
            _other => term.children().into_iter().for_each(|child| self.independent(child, end, inner, found)),
        }
    }

    /// A value of the type of a call's result that is no work to make. Nothing looks at it; the type only keeps the representation as it is.
    fn placeholder(&self, call: &Term) -> Option<Term> {
        let TermKind::Apply(function, args) = &call.kind else { return None };
        let TermKind::Global(def) = function.kind else { return None };
        let mut result = &self.arities.program.defs.get(def)?.ty.ty;
        for _ in args {
            let Type::Arrow(_, to) = result else { return None };
            result = to;
        }
        self.value_of(result).map(|kind| Term::new(kind, call.span))
    }

    fn value_of(&self, ty: &Type) -> Option<TermKind> {
        match ty {
            Type::Num(kind) => Some(TermKind::Num(Num::from_bits(*kind, 0))),
            Type::Data(ty, _) => {
                let program = self.arities.program;
                let ctors = program.types[*ty].ctors.iter();
                let empty = ctors.copied().find(|ctor| program.ctors[*ctor].fields.is_empty())?;
                Some(TermKind::Ctor(empty, vec![]))
            }
            Type::Tuple(parts) => {
                let part = |ty: &Type| Some(Term::new(self.value_of(ty)?, girih_base::span::Span::NONE));
                Some(TermKind::Tuple(parts.iter().map(part).collect::<Option<_>>()?))
            }
            Type::Any | Type::Hole | Type::None | Type::Param(_) | Type::Var(_) | Type::Arrow(..) => None,
        }
    }

    /// Binds what a choice inspects to a variable, so that two choices can inspect it.
    fn name_scrutinee(&mut self, choice: &mut Term, items: &mut Vec<Item>) {
        let span = choice.span;
        let inspected = match &mut choice.kind {
            TermKind::Match(choice) => &mut choice.scrutinee,
            TermKind::Switch(choice) => &mut choice.scrutinee,
            _no_choice => return,
        };
        if !matches!(inspected.kind, TermKind::Local(_)) {
            let local = self.local(span);
            let value = std::mem::replace(inspected, Term::new(TermKind::Local(local), span));
            items.push(Item::new(Some(Pattern::Target(Target::Var(local))), value, self.arities));
        }
    }

    /// Gives the variables that the arms of a choice bind other names.
    fn rename_arms(&mut self, choice: &mut Term) {
        let mut renamed = HashMap::new();
        let mut again = |part: &mut Self, local: &mut LocalId| {
            let copy = part.locals[*local].clone();
            let copy = part.locals.push(copy);
            renamed.insert(*local, copy);
            *local = copy;
        };
        match &mut choice.kind {
            TermKind::Match(choice) => {
                let bound = choice.arms.iter_mut().flat_map(|arm| arm.fields.iter_mut().chain(&mut arm.whole));
                bound.for_each(|local| again(self, local));
            }
            TermKind::Switch(choice) => choice.pred.iter_mut().for_each(|local| again(self, local)),
            _no_choice => {}
        }
        arms_mut(choice).into_iter().for_each(|arm| rename(arm, &renamed));
    }
}

/// What a term ends with.
fn last(term: &Term) -> &Term {
    match &term.kind {
        TermKind::Let(_, body) => last(body),
        _end => term,
    }
}
