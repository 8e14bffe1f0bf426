//! `with` blocks, their steps `x <- e`, and `open`.

use super::choices::LowerBody;
use super::definition_scope::{Binding, apply};
use super::expressions::with_binds;
use super::literals::hidden;
use super::uses::Target as Meaning;
use super::{Entity, Lowering, invalid};
use crate::ast::{Expr, Ident, Pattern, With};
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{Arm, DefId, Match, Term, TermKind};

/// How many steps and `open`s may follow each other. Each stands inside the one before.
const NESTING_LIMIT: usize = 10_000;

/// The type of a `with` block.
#[derive(Clone)]
pub(super) struct Monad {
    name: Ident,
    /// Its `bind`, if there is one.
    bind: Option<DefId>,
}

impl<'l> Lowering<'l> {
    pub(super) fn fun_with(&mut self, w: &With<Expr>) -> Term {
        self.with_(w, &mut |this, body| this.expression(body))
    }

    /// `with T`: steps inside are bound by `T/bind`, and `wrap` is `T/wrap`.
    pub(super) fn with_<B>(&mut self, w: &With<B>, body: LowerBody<'_, 'l, B>) -> Term {
        let member = |what: &str| Name::from(format!("{}/{what}", w.monad.node));
        let bind = match self.find_entity(&member("bind")) {
            Some(Entity::Def(bind)) => Some(bind),
            Some(Entity::Ctor(_) | Entity::Tag(_)) | None => None,
        };
        if let Some(ty) = self.find_type(self.module(), &w.monad.node) {
            self.uses.note(w.monad.span, Meaning::Type(ty));
        }
        let mark = self.enter();
        if let Some(Entity::Def(wrap)) = self.find_entity(&member("wrap")) {
            self.bind(Name::new("wrap"), Span::NONE, Binding::Closed(TermKind::Global(wrap)));
        }
        self.innermost().monads.push(Monad { name: w.monad.clone(), bind });
        let term = body(self, &w.body);
        self.innermost().monads.pop();
        self.leave(mark);
        term
    }

    /// `ask p = e; rest`.
    pub(super) fn ask(
        &mut self,
        pattern: &Pattern,
        value: &Expr,
        span: Span,
        rest: impl FnOnce(&mut Self) -> Term,
    ) -> Term {
        let value = self.expression(value);
        self.ask_value(pattern, value, span, rest)
    }

    /// A step of a monad: `T/bind(value, deferred)`, where the deferred continuation is `λx (x λp rest)`: `undefer` gives
    /// it the identity, and so the function of the step's result.
    pub(super) fn ask_value(
        &mut self,
        pattern: &Pattern,
        value: Term,
        span: Span,
        rest: impl FnOnce(&mut Self) -> Term,
    ) -> Term {
        let bind =
            match self.innermost().monads.last() {
                Some(Monad { bind: Some(bind), .. }) => *bind,
                Some(Monad { name, bind: None }) => {
                    let name = name.clone();
                    self.no_monad(&name);
                    self.poison(pattern);
                    self.nested(span, rest);
                    return invalid(span);
                }
                None => {
                    let message = "this step is outside a `with` block";
                    self.report(Diagnostic::new(Code::AskOutside, pattern.span, message).hint(
                        "put it below `with IO:`, which runs steps; in `with T:` of another monad `T`, below that",
                    ));
                    self.poison(pattern);
                    self.nested(span, rest);
                    return invalid(span);
                }
            };
        let mark = self.enter();
        let (params, binds) = self.parameters(std::slice::from_ref(pattern));
        let body = self.nested(span, rest);
        self.leave(mark);
        let next = Term::new(TermKind::Lambda(params, Box::new(with_binds(binds, body))), span);
        let id = self.local(hidden("deferred"), span);
        let deferred = apply(self.local_term(id, span), vec![next], span);
        let deferred = Term::new(TermKind::Lambda(vec![id], Box::new(deferred)), span);
        apply(Term::new(TermKind::Global(bind), span), vec![value, deferred], span)
    }

    /// Whether the innermost `with` block around what is lowered is one of `IO`.
    pub(super) fn is_in_io(&mut self) -> bool {
        self.innermost().monads.last().is_some_and(|monad| monad.name.node == *"IO")
    }

    fn no_monad(&mut self, name: &Ident) {
        let message = format!("`{0}` is not a monad: there is no function `{0}/bind`", name.node);
        let hint = "a monad `T` has the functions `T/bind(value, next)` and `T/wrap(x)`";
        self.report(Diagnostic::new(Code::NoMonad, name.span, message).hint(hint));
    }

    /// What follows an `open` or a step of a monad: it stands inside of it.
    fn nested(&mut self, span: Span, rest: impl FnOnce(&mut Self) -> Term) -> Term {
        if self.nesting >= NESTING_LIMIT {
            let message = format!("more than {NESTING_LIMIT} `open`s and steps of `with` blocks follow each other");
            self.report(Diagnostic::new(Code::TooDeep, span, message).hint("put some of them into another function"));
            return invalid(span);
        }
        self.nesting += 1;
        let term = rest(self);
        self.nesting -= 1;
        term
    }

    /// `open T x`: a match with one arm, whose body is what follows.
    pub(super) fn open(&mut self, ty: &Ident, var: &Ident, span: Span, rest: impl FnOnce(&mut Self) -> Term) -> Term {
        let module = self.module();
        let Some(id) = self.find_type(module, &ty.node) else {
            self.report_unknown_type(module, &ty.node, ty.span, None);
            return invalid(span);
        };
        self.uses.note(ty.span, Meaning::Type(id));
        let ctors = &self.program.types[id].ctors;
        let &[ctor] = ctors.as_slice() else {
            let message = format!("`{}` has {} constructors, so it cannot be opened", ty.node, ctors.len());
            self.report(Diagnostic::new(Code::NoConstructor, ty.span, message).hint("use `match`"));
            return invalid(span);
        };
        let scrutinee = self.name(&var.node, var.span);
        let mark = self.enter();
        let whole = Some(self.bind_local(&var.node, var.span));
        let names: Vec<Name> = self.program.ctors[ctor].fields.iter().map(|f| f.name.clone()).collect();
        let mut fields = vec![];
        for (index, field) in names.into_iter().enumerate() {
            let full = Name::from(format!("{}.{field}", var.node));
            self.uses.part(&full, var.span, (var.span, var.node.clone()), Some((ctor, index)));
            fields.push(self.bind_local(&full, var.span));
        }
        let body = self.nested(span, rest);
        self.leave(mark);
        let arms = vec![Arm { ctor, whole, fields, body }];
        Term::new(TermKind::Match(Box::new(Match { scrutinee, ty: id, arms, default: None })), span)
    }
}
