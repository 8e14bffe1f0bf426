//! The bindings of a block, and what is made of them: the last item has no target.

use super::Arities;
use girih_base::span::Span;
use girih_term::{Arm, CtorId, LocalId, Target, Term, TermKind, TypeId};
use std::collections::HashSet;

/// What a binding of a block binds.
#[derive(Debug)]
pub(super) enum Pattern {
    Target(Target),
    /// The fields of a constructor that is the only one there can be: a choice with one arm, which is none.
    Fields(Fields),
}

/// The arm of a choice that has no other, but for its body.
#[derive(Debug)]
pub(super) struct Fields {
    pub ty: TypeId,
    pub ctor: CtorId,
    pub whole: Option<LocalId>,
    pub locals: Vec<LocalId>,
    pub span: Span,
}

impl Fields {
    /// The variables that it binds.
    pub fn binds(&self) -> Vec<LocalId> {
        self.locals.iter().copied().chain(self.whole).collect()
    }
}

impl Pattern {
    /// The variables that it binds.
    pub fn binds(&self) -> Vec<LocalId> {
        match self {
            Pattern::Target(target) => bound(target),
            Pattern::Fields(fields) => fields.binds(),
        }
    }
}

/// A binding of a block.
pub(super) struct Binding {
    pub pattern: Pattern,
    pub value: Term,
}

impl Binding {
    pub fn new(target: Target, value: Term) -> Binding {
        Binding { pattern: Pattern::Target(target), value }
    }
}

/// A binding, or what a block gives.
#[derive(Debug)]
pub(super) struct Item {
    /// What it binds; none for what the block gives.
    pub target: Option<Pattern>,
    pub value: Term,
    /// The variables that it uses, and those that are bound inside of it.
    pub mentions: HashSet<LocalId>,
    pub kind: Kind,
}

/// How an item is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is a call that may take long.
    Call,
    /// It may make such a call.
    Long,
    /// Nothing in it takes long.
    Short,
}

impl Item {
    pub fn new(target: Option<Pattern>, value: Term, arities: Arities<'_>) -> Item {
        let kind = match () {
            () if arities.is_call(&value) => Kind::Call,
            () if arities.reaches(&value) => Kind::Long,
            () => Kind::Short,
        };
        let mut mentions = HashSet::new();
        mention(&value, &mut mentions);
        Item { target, value, mentions, kind }
    }

    /// The variables that it binds for the items behind it.
    pub fn binds(&self) -> Vec<LocalId> {
        self.target.as_ref().map_or(vec![], Pattern::binds)
    }

    /// Whether it uses one of these.
    pub fn needs(&self, locals: &[LocalId]) -> bool {
        locals.iter().any(|local| self.mentions.contains(local))
    }

    /// Whether it may take long.
    pub fn is_lasting(&self) -> bool {
        self.kind != Kind::Short
    }
}

/// The variables that a target binds.
pub(super) fn bound(target: &Target) -> Vec<LocalId> {
    match target {
        Target::Var(local) => vec![*local],
        Target::Tuple(parts) | Target::Dup(parts) => parts.iter().flatten().copied().collect(),
        Target::Link(_) => vec![],
    }
}

/// Collects the variables that a term uses.
pub(crate) fn mention(term: &Term, found: &mut HashSet<LocalId>) {
    let mut todo = vec![term];
    while let Some(term) = todo.pop() {
        if let TermKind::Local(local) = term.kind {
            found.insert(local);
        }
        todo.extend(term.children());
    }
}

/// Collects the variables that a term binds, at any depth.
pub(super) fn bound_inside(term: &Term, found: &mut HashSet<LocalId>) {
    let mut todo = vec![term];
    while let Some(term) = todo.pop() {
        match &term.kind {
            TermKind::Let(binds, _) => found.extend(binds.iter().flat_map(|bind| bound(&bind.target))),
            TermKind::Lambda(params, _) => found.extend(params),
            TermKind::Match(choice) => {
                let arms = choice.arms.iter();
                found.extend(arms.flat_map(|Arm { whole, fields, .. }| fields.iter().chain(whole)));
            }
            TermKind::Switch(choice) => found.extend(choice.pred),
            _binds_nothing => {}
        }
        todo.extend(term.children());
    }
}

/// The arms of a choice; none for other terms.
pub(super) fn arms(term: &Term) -> Vec<&Term> {
    match &term.kind {
        TermKind::Match(choice) => choice.arms.iter().map(|arm| &arm.body).chain(&choice.default).collect(),
        TermKind::Switch(choice) => choice.cases.iter().map(|(_, body)| body).chain([&choice.default]).collect(),
        _no_choice => vec![],
    }
}

/// The arms of a choice, to be changed.
pub(super) fn arms_mut(term: &mut Term) -> Vec<&mut Term> {
    match &mut term.kind {
        TermKind::Match(choice) => {
            let arms = choice.arms.iter_mut().map(|arm| &mut arm.body);
            arms.chain(&mut choice.default).collect()
        }
        TermKind::Switch(choice) => {
            choice.cases.iter_mut().map(|(_, body)| body).chain([&mut choice.default]).collect()
        }
        _no_choice => vec![],
    }
}

/// What a choice inspects.
pub(super) fn scrutinee(term: &Term) -> Option<&Term> {
    match &term.kind {
        TermKind::Match(choice) => Some(&choice.scrutinee),
        TermKind::Switch(choice) => Some(&choice.scrutinee),
        _no_choice => None,
    }
}
