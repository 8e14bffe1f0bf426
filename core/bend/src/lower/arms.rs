//! The arms of `match` and `fold`.
//!
//! An arm sees the whole value under the name of what is inspected, and its fields as `x.field`. In an arm of a `fold` the
//! recursive fields are what the fold makes of them, and the whole value is rebuilt of these.

use super::choices::LowerBody;
use super::definition_scope::Binding;
use super::expressions::with_binds;
use super::folds::{Fold, place, uses};
use super::literals::hidden;
use super::{Entity, Lowering, invalid};
use crate::ast::{Arm as ArmSyntax, Ident, Match as MatchSyntax};
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{Arm, Bind, CtorId, LocalId, Match, Target, Term, TermKind, TypeId};
use std::collections::{BTreeSet, HashMap};

/// How many of the missing constructors a message names.
const NAMED: usize = 8;

/// What an arm is for.
enum Head {
    Ctor(CtorId),
    /// All that is left; with a name for it.
    Rest(Option<Ident>),
    /// An error was reported.
    Unknown,
}

/// What the arms of a choice have in common.
#[derive(Clone, Copy)]
struct Choice<'m> {
    /// The name under which the arms see what is inspected.
    name: Option<&'m Ident>,
    ty: TypeId,
    fold: Option<Fold>,
}

/// A field as an arm sees it.
struct Field {
    local: LocalId,
    /// What the fold makes of it; the field itself if nothing folds it.
    seen: LocalId,
}

impl<'l> Lowering<'l> {
    /// A choice between the arms of a `match` or `fold`.
    pub(super) fn arms<B>(
        &mut self,
        m: &MatchSyntax<B>,
        name: Option<&Ident>,
        scrutinee: Term,
        span: Span,
        body: LowerBody<'_, 'l, B>,
        fold: Option<Fold>,
    ) -> Term {
        let heads: Vec<Head> = m.arms.iter().map(|arm| self.arm_head(arm)).collect();
        let first = heads.iter().find_map(|head| if let Head::Ctor(ctor) = head { Some(*ctor) } else { None });
        let starts_with_rest = matches!(heads.first(), Some(Head::Rest(_)));
        let Some(first) = first.filter(|_| !starts_with_rest) else {
            return self.irrefutable(m, &heads, name, scrutinee, body);
        };
        let choice = Choice { name, ty: self.program.ctors[first].ty, fold };
        let ty = choice.ty;
        let mut binds = vec![];
        let needs_local = heads.iter().any(|head| matches!(head, Head::Rest(_)));
        let local = needs_local.then(|| self.as_local(scrutinee.clone(), name, &mut binds));
        let scrutinee = local.map_or(scrutinee, |local| self.local_term(local, m.arg.span));
        let (mut arms, mut default): (Vec<Arm>, Option<Term>) = (vec![], None);
        let mut has_errors = false;
        // The constructors without an arm, in the order of the type.
        let mut missing: BTreeSet<CtorId> = self.program.types[ty].ctors.iter().copied().collect();
        for (arm, head) in m.arms.iter().zip(&heads) {
            match head {
                Head::Unknown => has_errors = true,
                _ if default.is_some() || missing.is_empty() => self.unreachable_arm(arm, ty, &missing, head),
                Head::Ctor(ctor) if self.program.ctors[*ctor].ty != ty => {
                    has_errors = true;
                    self.mixed_types(arm.span, ty, *ctor);
                }
                Head::Ctor(ctor) if !missing.remove(ctor) => self.unreachable_arm(arm, ty, &missing, head),
                Head::Ctor(ctor) => arms.push(self.arm(choice, arm, *ctor, None, body)),
                Head::Rest(rest) => {
                    let left: Vec<CtorId> = missing.iter().copied().collect();
                    match (left.as_slice(), local) {
                        ([ctor], _) => {
                            missing.clear();
                            arms.push(self.arm(choice, arm, *ctor, rest.as_ref(), body));
                        }
                        (_, Some(local)) => {
                            default = Some(self.rest_arm(choice, arm, rest.as_ref(), &left, local, body))
                        }
                        (_, None) => {} // There is a local, for there is an arm for the rest.
                    }
                }
            }
        }
        // An arm that names an unknown constructor may be meant for a missing one; it was reported.
        if default.is_none() && !has_errors {
            self.check_exhaustive(&missing, if m.arg.span.is_none() { span } else { m.arg.span });
        }
        arms.sort_by_key(|arm| self.program.ctors[arm.ctor].tag);
        with_binds(binds, Term::new(TermKind::Match(Box::new(Match { scrutinee, ty, arms, default })), span))
    }

    fn arm_head<B>(&mut self, arm: &ArmSyntax<B>) -> Head {
        let Some(name) = &arm.name else { return Head::Rest(None) };
        self.note_constructor(&name.node, name.span);
        match self.find_ctor(&name.node) {
            Some(ctor) => Head::Ctor(ctor),
            None if name.node.contains('/') => {
                self.unknown_constructor(&name.node, name.span);
                Head::Unknown
            }
            None => Head::Rest(Some(name.clone())),
        }
    }

    /// The arm of one constructor; `rest` is another name for its value.
    fn arm<B>(
        &mut self,
        choice: Choice<'_>,
        arm: &ArmSyntax<B>,
        ctor: CtorId,
        rest: Option<&Ident>,
        body: LowerBody<'_, 'l, B>,
    ) -> Arm {
        let mark = self.enter();
        let whole = self.bind_whole(choice, rest, arm.span);
        let infos: Vec<(Name, bool)> =
            self.program.ctors[ctor].fields.iter().map(|f| (f.name.clone(), f.recursive)).collect();
        let mut fields = vec![];
        for (name, recursive) in infos {
            fields.push(self.field(choice, &[ctor], &name, recursive, arm.span));
        }
        let mut body = body(self, &arm.body);
        self.leave(mark);
        let folds = fields.iter().any(|field| field.seen != field.local);
        if let (Some(whole), true) = (whole, folds) {
            let seen: Vec<LocalId> = fields.iter().map(|field| field.seen).collect();
            place(&mut body, whole, &|span| rebuilt(ctor, &seen, span));
        }
        self.place_fields(choice, &fields, &mut body);
        let whole = whole.filter(|_| !folds);
        Arm { ctor, whole, fields: fields.into_iter().map(|field| field.local).collect(), body }
    }

    /// A variable for the whole value, under all names that the arm has for it.
    fn bind_whole(&mut self, choice: Choice<'_>, rest: Option<&Ident>, span: Span) -> Option<LocalId> {
        let first = choice.name.or(rest)?;
        let whole = self.local(first.node.clone(), if rest.is_some() { span } else { first.span });
        for name in choice.name.into_iter().chain(rest) {
            self.bind(name.node.clone(), name.span, Binding::Local(whole));
        }
        Some(whole)
    }

    /// Variables for a field, which the arm sees as `x.field` if the value has a name.
    fn field(&mut self, choice: Choice<'_>, ctors: &[CtorId], name: &Name, recursive: bool, span: Span) -> Field {
        let full = match choice.name {
            Some(value) => Name::from(format!("{}.{name}", value.node)),
            None => hidden(name),
        };
        let local = self.local(full.clone(), span);
        let folds = recursive && choice.fold.is_some();
        let seen = if folds { self.local(full.clone(), span) } else { local };
        if let Some(owner) = choice.name {
            let at = ctors.iter().find_map(|ctor| Some((*ctor, self.position(*ctor, name)?)));
            self.uses.part(&full, span, (owner.span, owner.node.clone()), at);
        }
        self.bind(full, span, Binding::Local(seen));
        Field { local, seen }
    }

    /// Which field of a constructor has a name.
    fn position(&self, ctor: CtorId, name: &Name) -> Option<usize> {
        self.program.ctors[ctor].fields.iter().position(|field| field.name == *name)
    }

    fn place_fields(&mut self, choice: Choice<'_>, fields: &[Field], body: &mut Term) {
        let Some(fold) = choice.fold else { return };
        for field in fields.iter().filter(|field| field.seen != field.local) {
            fold.place(body, field.seen, field.local);
        }
    }

    /// The arm for several constructors. It sees the fields that all of them have.
    fn rest_arm<B>(
        &mut self,
        choice: Choice<'_>,
        arm: &ArmSyntax<B>,
        rest: Option<&Ident>,
        ctors: &[CtorId],
        scrutinee: LocalId,
        body: LowerBody<'_, 'l, B>,
    ) -> Term {
        let mark = self.enter();
        let folds = choice.fold.is_some()
            && ctors.iter().any(|ctor| self.program.ctors[*ctor].fields.iter().any(|field| field.recursive));
        let whole = if folds { self.bind_whole(choice, rest, arm.span) } else { None };
        if !folds {
            for name in choice.name.into_iter().chain(rest) {
                self.bind(name.node.clone(), name.span, Binding::Local(scrutinee));
            }
        }
        let mut fields = vec![];
        if choice.name.is_some() {
            for (name, recursive) in self.common_fields(ctors) {
                fields.push((name.clone(), self.field(choice, ctors, &name, recursive, arm.span)));
            }
        }
        let mut body = body(self, &arm.body);
        self.leave(mark);
        let mut binds = vec![];
        if let Some(whole) = whole.filter(|whole| uses(&body, *whole) > 0) {
            let value = self.rebuilt_rest(choice, ctors, scrutinee, arm.span);
            binds.push(Bind { target: Target::Var(whole), value });
        }
        for (name, field) in fields {
            self.place_fields(choice, std::slice::from_ref(&field), &mut body);
            if uses(&body, field.local) > 0 {
                let value = self.by_constructor(choice.ty, ctors, scrutinee, arm.span, |this, ctor, fields| {
                    let at = this.position(ctor, &name);
                    at.map_or(invalid(arm.span), |at| this.local_term(fields[at], arm.span))
                });
                binds.push(Bind { target: Target::Var(field.local), value });
            }
        }
        with_binds(binds, body)
    }

    /// The fields that all of these constructors have, and whether they are recursive in all.
    fn common_fields(&self, ctors: &[CtorId]) -> Vec<(Name, bool)> {
        let fields_of = |ctor: CtorId| self.program.ctors[ctor].fields.iter().map(|f| (f.name.clone(), f.recursive));
        let Some((first, others)) = ctors.split_first() else { return vec![] };
        let mut common: Vec<(Name, bool)> = fields_of(*first).collect();
        for other in others {
            let fields: HashMap<Name, bool> = fields_of(*other).collect();
            common.retain(|(name, recursive)| fields.get(name) == Some(recursive));
        }
        common
    }

    /// The value as the arm of a fold for several constructors sees it: rebuilt of folded fields.
    fn rebuilt_rest(&mut self, choice: Choice<'_>, ctors: &[CtorId], scrutinee: LocalId, span: Span) -> Term {
        self.by_constructor(choice.ty, ctors, scrutinee, span, |this, ctor, fields| {
            let infos = this.program.ctors[ctor].fields.iter().zip(fields);
            let seen = infos.map(|(info, field)| match choice.fold {
                Some(fold) if info.recursive => fold.of(*field, span),
                Some(_) | None => this.local_term(*field, span),
            });
            Term::new(TermKind::Ctor(ctor, seen.collect()), span)
        })
    }

    /// A match over some constructors of a type, the only ones that can come here.
    fn by_constructor(
        &mut self,
        ty: TypeId,
        ctors: &[CtorId],
        scrutinee: LocalId,
        span: Span,
        build: impl Fn(&Self, CtorId, &[LocalId]) -> Term,
    ) -> Term {
        let mut arms = vec![];
        for &ctor in ctors {
            let names: Vec<Name> = self.program.ctors[ctor].fields.iter().map(|f| f.name.clone()).collect();
            let fields: Vec<LocalId> = names.iter().map(|name| self.local(hidden(name), span)).collect();
            let body = build(self, ctor, &fields);
            arms.push(Arm { ctor, whole: None, fields, body });
        }
        let is_whole = ctors.len() == self.program.types[ty].ctors.len();
        let default = (!is_whole).then(|| self.prelude_call("unreachable", vec![], span));
        let scrutinee = self.local_term(scrutinee, span);
        Term::new(TermKind::Match(Box::new(Match { scrutinee, ty, arms, default })), span)
    }

    /// A match whose first arm takes everything.
    fn irrefutable<B>(
        &mut self,
        m: &MatchSyntax<B>,
        heads: &[Head],
        name: Option<&Ident>,
        scrutinee: Term,
        body: LowerBody<'_, 'l, B>,
    ) -> Term {
        let (Some(arm), Some(Head::Rest(rest))) = (m.arms.first(), heads.first()) else {
            return invalid(m.arg.span);
        };
        let shown = rest.as_ref().map_or("_", |name| name.node.as_str());
        let called = if self.may_search() { self.constructors_called(shown) } else { vec![] };
        let hint = match called.as_slice() {
            _ if shown.starts_with(|c: char| c.is_ascii_digit()) => {
                "`match` tells constructors apart; numbers are told apart by `switch`, with the cases 0, 1, 2 … and `_`"
                    .to_owned()
            }
            [] if shown == "_" => "`case _:` takes what is left: move it to the end".to_owned(),
            [] => "a constructor is written with its type, as in `List/Cons`".to_owned(),
            [first, ..] => format!("a constructor is written with its type: `case {first}:`"),
        };
        let message = format!("`{shown}` is a variable here and matches everything");
        self.report(Diagnostic::new(Code::IrrefutableMatch, arm.span, message).hint(hint));
        for later in &m.arms[1..] {
            self.report(Diagnostic::new(Code::UnreachableMatch, later.span, "this arm is never reached"));
        }
        let mut binds = vec![];
        let local = self.as_local(scrutinee, name, &mut binds);
        let mark = self.enter();
        for name in name.into_iter().chain(rest) {
            self.bind(name.node.clone(), name.span, Binding::Local(local));
        }
        // What was meant has fields: that they are not there is no mistake of its own.
        if let Some(name) = name {
            for field in self.fields_of(&called) {
                self.bind(Name::from(format!("{}.{field}", name.node)), name.span, Binding::Poisoned);
            }
        }
        let body = body(self, &arm.body);
        self.leave(mark);
        with_binds(binds, body)
    }

    /// The names of the fields of some constructors.
    fn fields_of(&self, ctors: &[Name]) -> Vec<Name> {
        let found = ctors.iter().filter_map(|name| self.find_ctor(name));
        found.flat_map(|ctor| self.program.ctors[ctor].fields.iter().map(|field| field.name.clone())).collect()
    }

    /// The constructors `Type/name`.
    pub(super) fn constructors_called(&self, name: &str) -> Vec<Name> {
        let values = self.scopes[self.module()].values.iter().chain(&self.prelude.values);
        let ctors = values.filter(|(_, entity)| matches!(entity, Entity::Ctor(_))).map(|(full, _)| full);
        let mut found: Vec<Name> =
            ctors.filter(|full| full.rsplit_once('/').is_some_and(|(_, last)| last == name)).cloned().collect();
        found.sort();
        found
    }

    /// An arm for what earlier ones took; `missing` are the constructors without an arm.
    fn unreachable_arm<B>(&mut self, arm: &ArmSyntax<B>, ty: TypeId, missing: &BTreeSet<CtorId>, head: &Head) {
        let diagnostic = match head {
            Head::Ctor(ctor) if self.program.ctors[*ctor].ty == ty && !missing.contains(ctor) => {
                let name = &self.program.ctors[*ctor].name;
                Diagnostic::new(Code::RedundantMatch, arm.span, format!("an earlier arm matches `{name}` already"))
            }
            Head::Ctor(_) | Head::Rest(_) | Head::Unknown => {
                Diagnostic::new(Code::UnreachableMatch, arm.span, "earlier arms match everything that this one matches")
            }
        };
        self.report(diagnostic.hint("remove this arm"));
    }

    fn mixed_types(&mut self, span: Span, ty: TypeId, ctor: CtorId) {
        let (expected, found) = (&self.program.types[ty].name, &self.program.ctors[ctor].name);
        let message = format!("`{found}` is not a constructor of `{expected}`, to which the first arm belongs");
        self.error(Code::MixedPatterns, span, message);
    }

    fn check_exhaustive(&mut self, missing: &BTreeSet<CtorId>, at: Span) {
        if missing.is_empty() {
            return;
        }
        let shown = if missing.len() > NAMED + 1 { NAMED } else { missing.len() };
        let names: Vec<String> =
            missing.iter().take(shown).map(|ctor| format!("`{}`", self.program.ctors[*ctor].name)).collect();
        let others = match missing.len() - shown {
            0 => String::new(),
            others => format!(" and {others} others"),
        };
        let message = format!("this match has no arm for {}{others}", names.join(", "));
        self.report(
            Diagnostic::new(Code::NotExhaustive, at, message).hint("add the missing arms, or `_` for all others"),
        );
    }
}

fn rebuilt(ctor: CtorId, fields: &[LocalId], span: Span) -> Term {
    let fields = fields.iter().map(|field| Term::new(TermKind::Local(*field), span)).collect();
    Term::new(TermKind::Ctor(ctor, fields), span)
}
