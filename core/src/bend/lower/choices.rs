//! `if`, `switch` and `match` over bodies of either syntax; also the arms of `fold`.

use super::Lowering;
use super::expressions::with_binds;
use super::frame::Binding;
use super::literals::hidden;
use super::{Entity, invalid};
use crate::bend::ast::{Arm as ArmSyntax, Expr, ExprKind, Ident, If, Match as MatchSyntax, Switch as SwitchSyntax};
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::span::Span;
use crate::term::{Arm, Bind, CtorId, LocalId, Match, Switch, Target, Term, TermKind, TypeId};

/// Lowers a body of the syntax at hand.
pub(super) type LowerBody<'b, 'l, B> = &'b mut dyn FnMut(&mut Lowering<'l>, &B) -> Term;

/// How the recursive fields of an arm are bound: plainly, or as what the `fold` makes of them.
pub(super) type BindField<'b, 'l> = &'b mut dyn FnMut(&mut Lowering<'l>, Name, LocalId, bool);

/// What an arm is for.
enum Head {
    Ctor(CtorId),
    /// All that is left; with a name for it.
    Rest(Option<Ident>),
    /// An error was reported.
    Unknown,
}

impl<'l> Lowering<'l> {
    pub(super) fn fun_if(&mut self, i: &If<Expr>, span: Span) -> Term {
        self.if_(i, span, &mut |this, body| this.expression(body))
    }

    pub(super) fn fun_match(&mut self, m: &MatchSyntax<Expr>, span: Span) -> Term {
        self.match_(m, span, &mut |this, body| this.expression(body))
    }

    pub(super) fn fun_switch(&mut self, s: &SwitchSyntax<Expr>, span: Span) -> Term {
        self.switch_(s, span, &mut |this, body| this.expression(body))
    }

    /// `if`: a switch on the condition, in which 0 is false.
    pub(super) fn if_<B>(&mut self, i: &If<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let mut branches = vec![];
        for (condition, then) in &i.branches {
            branches.push((self.expression(condition), self.scoped(then, body)));
        }
        let otherwise = self.scoped(&i.otherwise, body);
        branches
            .into_iter()
            .rfold(otherwise, |otherwise, (condition, then)| condition_term(condition, then, otherwise, span))
    }

    fn scoped<B>(&mut self, body: &B, lower: LowerBody<'_, 'l, B>) -> Term {
        let mark = self.enter();
        let term = lower(self, body);
        self.leave(mark);
        term
    }

    /// The name under which arms see what is inspected: `x` of `match x = e`, or the variable that is inspected.
    pub(super) fn bound_name(bind: &Option<Ident>, arg: &Expr) -> Option<Ident> {
        match (bind, &arg.node) {
            (Some(bind), _) => Some(bind.clone()),
            (None, ExprKind::Var(name)) => Some(Ident::new(name.clone(), arg.span)),
            (None, _) => None,
        }
    }

    /// `with a, b = e`: bindings that the arms see.
    pub(super) fn with_clause(&mut self, with: &[(Ident, Option<Expr>)], binds: &mut Vec<Bind>) {
        let values: Vec<Option<Term>> =
            with.iter().map(|(_, value)| value.as_ref().map(|value| self.expression(value))).collect();
        for ((name, _), value) in with.iter().zip(values) {
            if let Some(value) = value {
                let local = self.bind_local(&name.node, name.span);
                binds.push(Bind { target: Target::Var(local), value });
            }
        }
    }

    /// What is inspected as a variable, bound in front if it is not one already.
    pub(super) fn as_local(&mut self, term: Term, name: Option<&Ident>, binds: &mut Vec<Bind>) -> LocalId {
        if let TermKind::Local(local) = term.kind {
            return local;
        }
        let local = match name {
            Some(name) => self.local(name.node.clone(), name.span),
            None => self.local(hidden("arg"), term.span),
        };
        binds.push(Bind { target: Target::Var(local), value: term });
        local
    }

    pub(super) fn switch_<B>(&mut self, s: &SwitchSyntax<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let mark = self.enter();
        let mut binds = vec![];
        let name = Self::bound_name(&s.bind, &s.arg);
        let number = self.expression(&s.arg);
        let number = self.as_local(number, name.as_ref(), &mut binds);
        self.with_clause(&s.with, &mut binds);
        if let Some(name) = &name {
            self.bind(name.node.clone(), Binding::Local(number));
        }
        let mut cases = vec![];
        for (i, case) in s.cases.iter().enumerate() {
            cases.push((i as u32, self.scoped(case, body)));
        }
        let inner = self.enter();
        let pred = name.as_ref().map(|name| {
            let pred = Name::from(format!("{}-{}", name.node, s.cases.len()));
            self.bind_local(&pred, name.span)
        });
        let default = body(self, &s.default);
        self.leave(inner);
        self.leave(mark);
        let scrutinee = self.local_term(number, s.arg.span);
        with_binds(binds, Term::new(TermKind::Switch(Box::new(Switch { scrutinee, cases, pred, default })), span))
    }

    pub(super) fn match_<B>(&mut self, m: &MatchSyntax<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let mark = self.enter();
        let mut binds = vec![];
        let name = Self::bound_name(&m.bind, &m.arg);
        let scrutinee = self.expression(&m.arg);
        self.with_clause(&m.with, &mut binds);
        let chosen = self.arms(m, name.as_ref(), scrutinee, span, body, &mut |this, name, field, _| {
            this.bind(name, Binding::Local(field));
        });
        self.leave(mark);
        with_binds(binds, chosen)
    }

    /// A choice between the arms of a `match` or `fold`.
    pub(super) fn arms<B>(
        &mut self,
        m: &MatchSyntax<B>,
        name: Option<&Ident>,
        scrutinee: Term,
        span: Span,
        body: LowerBody<'_, 'l, B>,
        bind_field: BindField<'_, 'l>,
    ) -> Term {
        let heads: Vec<Head> = m.arms.iter().map(|arm| self.arm_head(arm)).collect();
        let first = heads.iter().find_map(|head| if let Head::Ctor(ctor) = head { Some(*ctor) } else { None });
        let starts_with_rest = matches!(heads.first(), Some(Head::Rest(_)));
        let Some(first) = first.filter(|_| !starts_with_rest) else {
            return self.irrefutable(m, &heads, name, scrutinee, body);
        };
        let ty = self.program.ctors[first].ty;
        let mut binds = vec![];
        let needs_local = heads.iter().any(|head| matches!(head, Head::Rest(_)));
        let local = needs_local.then(|| self.as_local(scrutinee.clone(), name, &mut binds));
        let scrutinee = local.map_or(scrutinee, |local| self.local_term(local, m.arg.span));
        let (mut arms, mut default): (Vec<Arm>, Option<Term>) = (vec![], None);
        for (arm, head) in m.arms.iter().zip(heads) {
            let covered = default.is_some() || arms.len() == self.program.types[ty].ctors.len();
            match head {
                Head::Unknown => {}
                _ if covered => self.unreachable_arm(arm, &arms, &head),
                Head::Ctor(ctor) if self.program.ctors[ctor].ty != ty => self.mixed_types(arm.span, ty, ctor),
                Head::Ctor(ctor) if arms.iter().any(|a| a.ctor == ctor) => self.unreachable_arm(arm, &arms, &head),
                Head::Ctor(ctor) => arms.push(self.arm(arm, ctor, name, body, bind_field)),
                Head::Rest(rest) => match self.only_missing(ty, &arms) {
                    Some(ctor) => arms.push(self.last_arm(arm, ctor, rest, name, body)),
                    None => default = Some(self.rest_arm(arm, rest, name, local, body)),
                },
            }
        }
        self.check_exhaustive(ty, &arms, default.is_some(), m, span);
        arms.sort_by_key(|arm| self.program.ctors[arm.ctor].tag);
        with_binds(binds, Term::new(TermKind::Match(Box::new(Match { scrutinee, ty, arms, default })), span))
    }

    fn arm_head<B>(&mut self, arm: &ArmSyntax<B>) -> Head {
        let Some(name) = &arm.name else { return Head::Rest(None) };
        match self.find_entity(&name.node) {
            Some(Entity::Ctor(ctor)) => Head::Ctor(ctor),
            Some(Entity::Def(_) | Entity::Tag(_)) | None if name.node.contains('/') => {
                self.unknown_constructor(&name.node, name.span);
                Head::Unknown
            }
            Some(Entity::Def(_) | Entity::Tag(_)) | None => Head::Rest(Some(name.clone())),
        }
    }

    fn arm<B>(
        &mut self,
        arm: &ArmSyntax<B>,
        ctor: CtorId,
        name: Option<&Ident>,
        body: LowerBody<'_, 'l, B>,
        bind_field: BindField<'_, 'l>,
    ) -> Arm {
        let mark = self.enter();
        let whole = name.map(|name| self.bind_local(&name.node, name.span));
        let infos: Vec<(Name, bool)> =
            self.program.ctors[ctor].fields.iter().map(|f| (f.name.clone(), f.recursive)).collect();
        let mut fields = vec![];
        for (field, recursive) in infos {
            let full = match name {
                Some(name) => Name::from(format!("{}.{field}", name.node)),
                None => hidden(&field),
            };
            let local = self.local(full.clone(), arm.span);
            fields.push(local);
            bind_field(self, full, local, recursive);
        }
        let body = body(self, &arm.body);
        self.leave(mark);
        Arm { ctor, whole, fields, body }
    }

    /// The arm for all constructors without one.
    fn rest_arm<B>(
        &mut self,
        arm: &ArmSyntax<B>,
        rest: Option<Ident>,
        name: Option<&Ident>,
        scrutinee: Option<LocalId>,
        body: LowerBody<'_, 'l, B>,
    ) -> Term {
        let mark = self.enter();
        if let Some(scrutinee) = scrutinee {
            for name in name.into_iter().chain(rest.as_ref()) {
                self.bind(name.node.clone(), Binding::Local(scrutinee));
            }
        }
        let term = body(self, &arm.body);
        self.leave(mark);
        term
    }

    /// The constructor without an arm, if there is just one.
    fn only_missing(&self, ty: TypeId, arms: &[Arm]) -> Option<CtorId> {
        let mut missing = self.program.types[ty].ctors.iter().filter(|ctor| arms.iter().all(|arm| arm.ctor != **ctor));
        missing.next().copied().filter(|_| missing.next().is_none())
    }

    /// The arm for all that is left where that is one constructor: its value can be typed as that constructor.
    fn last_arm<B>(
        &mut self,
        arm: &ArmSyntax<B>,
        ctor: CtorId,
        rest: Option<Ident>,
        name: Option<&Ident>,
        body: LowerBody<'_, 'l, B>,
    ) -> Arm {
        let mark = self.enter();
        let whole = self.local(hidden("whole"), arm.span);
        for name in name.into_iter().chain(rest.as_ref()) {
            self.bind(name.node.clone(), Binding::Local(whole));
        }
        let count = self.program.ctors[ctor].fields.len();
        let fields = (0..count).map(|_| self.local(hidden("field"), arm.span)).collect();
        let body = body(self, &arm.body);
        self.leave(mark);
        Arm { ctor, whole: Some(whole), fields, body }
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
        self.report(
            Diagnostic::new(
                Code::IrrefutableMatch,
                arm.span,
                format!("`{shown}` is a variable here and matches everything"),
            )
            .hint("a constructor is written with its type, as in `List/Cons`"),
        );
        for later in &m.arms[1..] {
            self.report(Diagnostic::new(Code::UnreachableMatch, later.span, "this arm is never reached"));
        }
        let mut binds = vec![];
        let local = self.as_local(scrutinee, name, &mut binds);
        let body = self.rest_arm(arm, rest.clone(), name, Some(local), body);
        with_binds(binds, body)
    }

    fn unreachable_arm<B>(&mut self, arm: &ArmSyntax<B>, arms: &[Arm], head: &Head) {
        let diagnostic = match head {
            Head::Ctor(ctor) if arms.iter().any(|a| a.ctor == *ctor) => {
                let name = &self.program.ctors[*ctor].name;
                Diagnostic::new(Code::RedundantMatch, arm.span, format!("an earlier arm has taken `{name}` already"))
            }
            Head::Ctor(_) | Head::Rest(_) | Head::Unknown => {
                Diagnostic::new(Code::UnreachableMatch, arm.span, "the arms before take everything that comes here")
            }
        };
        self.report(diagnostic.hint("remove this arm"));
    }

    fn mixed_types(&mut self, span: Span, ty: TypeId, ctor: CtorId) {
        let (expected, found) = (&self.program.types[ty].name, &self.program.ctors[ctor].name);
        let message = format!("`{found}` is no constructor of `{expected}`, to which the first arm belongs");
        self.error(Code::MixedPatterns, span, message);
    }

    fn check_exhaustive<B>(&mut self, ty: TypeId, arms: &[Arm], has_rest: bool, m: &MatchSyntax<B>, span: Span) {
        let covered = |ctor: &CtorId| arms.iter().any(|arm| arm.ctor == *ctor);
        let missing: Vec<String> = self.program.types[ty]
            .ctors
            .iter()
            .filter(|ctor| !covered(ctor))
            .map(|ctor| format!("`{}`", self.program.ctors[*ctor].name))
            .collect();
        // An arm that names an unknown constructor may be meant for a missing one; it was reported.
        if has_rest || missing.is_empty() || arms.len() < m.arms.len() {
            return;
        }
        let message = format!("this match has no arm for {}", missing.join(", "));
        let at = if m.arg.span.is_none() { span } else { m.arg.span };
        self.report(
            Diagnostic::new(Code::NotExhaustive, at, message)
                .hint("add the missing arms, or `_` for all that are left"),
        );
    }
}

/// `then` unless the condition is 0.
pub(super) fn condition_term(condition: Term, then: Term, otherwise: Term, span: Span) -> Term {
    let switch = Switch { scrutinee: condition, cases: vec![(0, otherwise)], pred: None, default: then };
    Term::new(TermKind::Switch(Box::new(switch)), span)
}
