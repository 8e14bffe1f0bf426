//! Naming: what may take long inside of a term becomes a binding before it.
//!
//! Invariant: only what runs for certain is named: not what stands in an arm or in a lambda.

use super::items::{Binding, Item, Pattern};
use super::{Part, is_let, take};
use girih_term::groups::leaves;
use girih_term::{Target, Term, TermKind};

impl Part<'_> {
    /// The items of a block.
    pub(super) fn named(&mut self, binds: Vec<Binding>, body: Term) -> Vec<Item> {
        let mut items = vec![];
        binds.into_iter().for_each(|bind| self.binding(bind, &mut items));
        let mut body = body;
        self.name_inside(&mut body, &mut items);
        items.push(Item::new(None, body, self.arities));
        items
    }

    /// The items of a binding. Only what a variable is bound to is forked, so what has fields is named.
    fn binding(&mut self, Binding { pattern, mut value }: Binding, items: &mut Vec<Item>) {
        match pattern {
            Pattern::Target(_) => self.name_inside(&mut value, items),
            Pattern::Fields(_) => self.name(&mut value, items),
        }
        items.push(Item::new(Some(pattern), value, self.arities));
    }

    /// Names what may take long inside of a term, but not the term itself.
    fn name_inside(&mut self, term: &mut Term, items: &mut Vec<Item>) {
        for child in run_first(term) {
            self.name(child, items);
        }
    }

    /// Names a term, if it may take long, and otherwise what is inside of it.
    fn name(&mut self, term: &mut Term, items: &mut Vec<Item>) {
        if !self.arities.reaches(term) {
            return;
        }
        let is_let = match &term.kind {
            TermKind::Let(..) => true,
            TermKind::Apply(function, args) => is_let(function, args.len()),
            _other => false,
        };
        if is_let {
            let (binds, body) = self.hoisted(take(term));
            binds.into_iter().for_each(|bind| self.binding(bind, items));
            *term = body;
            return self.name(term, items);
        }
        self.name_inside(term, items);
        let is_choice = matches!(term.kind, TermKind::Match(_) | TermKind::Switch(_)) && self.arities.reaches(term);
        if self.arities.is_call(term) || is_choice {
            let local = self.local(term.span);
            let named = std::mem::replace(term, Term::new(TermKind::Local(local), term.span));
            items.push(Item::new(Some(Pattern::Target(Target::Var(local))), named, self.arities));
        }
    }
}

/// The children that a term computes, whatever they are, before it does anything else.
fn run_first(term: &mut Term) -> Vec<&mut Term> {
    match &mut term.kind {
        leaves!() | TermKind::Lambda(..) | TermKind::Let(..) | TermKind::Sup(_) => vec![],
        TermKind::List(items) | TermKind::Ctor(_, items) | TermKind::Tuple(items) | TermKind::Prim(_, items) => {
            items.iter_mut().collect()
        }
        TermKind::Apply(function, args) => std::iter::once(&mut **function).chain(args).collect(),
        TermKind::Op(_, a, b) => vec![a, b],
        TermKind::Match(choice) => vec![&mut choice.scrutinee],
        TermKind::Switch(choice) => vec![&mut choice.scrutinee],
    }
}
