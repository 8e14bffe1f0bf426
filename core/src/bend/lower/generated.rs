//! What becomes a definition of its own: `fold`, `bend`, comprehensions and local functions.

use super::choices::{LowerBody, condition_term};
use super::declare::{fun_is_checked, imp_is_checked};
use super::expressions::with_binds;
use super::frame::{Binding, Frame, apply, partial};
use super::literals::hidden;
use super::{Lowering, invalid};
use crate::bend::ast::{Bend, Comprehension, Expr, FunDef, Ident, ImpDef, Match as MatchSyntax};
use crate::name::Name;
use crate::span::Span;
use crate::term::ty::{Scheme, Type};
use crate::term::{Arm, Bind, Body, Def, DefId, LocalId, Match, Origin, Target, Term, TermKind};

impl<'l> Lowering<'l> {
    /// Makes a definition out of what `build` lowers in a new frame. Returns it with what it captures here.
    fn generate(&mut self, what: &str, span: Span, build: impl FnOnce(&mut Self, DefId) -> Term) -> (DefId, Vec<Term>) {
        let frame = self.frame();
        let (parent, module, monads, number) = (frame.def, frame.module, frame.monads.clone(), frame.generated);
        frame.generated += 1;
        let Def { name, check, .. } = &self.program.defs[parent];
        let (name, check) = (Name::from(format!("{name}__{what}{number}")), *check);
        let def = self.program.defs.push(Def {
            name,
            span,
            origin: Origin::Generated(parent),
            check,
            ty: Scheme::mono(Type::Hole),
            params: vec![],
            locals: Default::default(),
            body: Body::Term(invalid(span)),
        });
        let mut frame = Frame::new(def, module);
        frame.monads = monads;
        self.frames.push(frame);
        let mut body = build(self, def);
        let Some(frame) = self.frames.pop() else { return (def, vec![]) };
        self.check_captured_links(&body);
        let captures: Vec<LocalId> = frame.params[..frame.captured.len()].to_vec();
        add_captures(&mut body, def, &captures);
        let lowered = &mut self.program.defs[def];
        (lowered.params, lowered.locals, lowered.body) = (frame.params, frame.locals, Body::Term(body));
        (def, frame.captured)
    }

    pub(super) fn fun_fold(&mut self, f: &MatchSyntax<Expr>, span: Span) -> Term {
        self.fold_(f, span, &mut |this, body| this.expression(body))
    }

    pub(super) fn fun_bend(&mut self, b: &Bend<Expr>, span: Span) -> Term {
        self.bend_(b, span, &mut |this, body| this.expression(body))
    }

    /// `fold x = e with s: …`: a function of the value and the state that matches the value. In its arms a recursive field
    /// is what the function makes of it; with a state, a function of the next state.
    pub(super) fn fold_<B>(&mut self, f: &MatchSyntax<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let name = Self::bound_name(&f.bind, &f.arg);
        let mut args = vec![self.expression(&f.arg)];
        args.extend(self.initial_state(&f.with));
        let (def, captured) = self.generate("fold", span, |this, def| {
            let param = match &name {
                Some(name) => this.local(name.node.clone(), name.span),
                None => this.local(hidden("arg"), f.arg.span),
            };
            this.frame().params.push(param);
            for (state, _) in &f.with {
                this.bind_param(&state.node, state.span);
            }
            let mut recursive = vec![];
            let scrutinee = this.local_term(param, f.arg.span);
            let mut chosen =
                this.arms(f, name.as_ref(), scrutinee, span, body, &mut |this, name, field, is_recursive| {
                    let folded = if is_recursive { this.local(name.clone(), span) } else { field };
                    if is_recursive {
                        recursive.push((folded, field));
                    }
                    this.bind(name, Binding::Local(folded));
                });
            fold_fields(&mut chosen, def, &recursive, !f.with.is_empty());
            chosen
        });
        apply(Term::new(partial(def, captured, span), span), args, span)
    }

    /// The first values of the state of a `fold` or `bend`.
    fn initial_state(&mut self, state: &[(Ident, Option<Expr>)]) -> Vec<Term> {
        let mut values = vec![];
        for (name, value) in state {
            values.push(match value {
                Some(value) => self.expression(value),
                None => self.name(&name.node, name.span),
            });
        }
        values
    }

    /// `bend x = e: when c: s else: b`: a function of the state; `fork` is the function itself.
    pub(super) fn bend_<B>(&mut self, b: &Bend<B>, span: Span, body: LowerBody<'_, 'l, B>) -> Term {
        let args = self.initial_state(&b.state);
        let (def, captured) = self.generate("bend", span, |this, def| {
            for (state, _) in &b.state {
                this.bind_param(&state.node, state.span);
            }
            let condition = this.expression(&b.condition);
            let mark = this.enter();
            this.bind(Name::new("fork"), Binding::Itself(def));
            let step = body(this, &b.step);
            this.leave(mark);
            let mark = this.enter();
            let base = body(this, &b.base);
            this.leave(mark);
            condition_term(condition, step, base, span)
        });
        let function = Term::new(partial(def, captured, span), span);
        if args.is_empty() { function } else { apply(function, args, span) }
    }

    /// `[e for x in xs if c]`: a function over the list.
    pub(super) fn comprehension(&mut self, c: &Comprehension, span: Span) -> Term {
        let list = self.expression(&c.list);
        let known = &self.program.known;
        let (Some(nil), Some(cons)) = (known.list_nil, known.list_cons) else { return invalid(span) };
        let ty = self.program.ctors[cons].ty;
        let (def, captured) = self.generate("map", span, |this, def| {
            let param = this.local(hidden("list"), c.list.span);
            this.frame().params.push(param);
            let mark = this.enter();
            let head = this.bind_local(&c.var.node, c.var.span);
            let tail = this.local(hidden("tail"), span);
            let element = this.expression(&c.element);
            let condition = c.condition.as_ref().map(|condition| this.expression(condition));
            this.leave(mark);
            let rest = |this: &mut Self| {
                let tail = this.local_term(tail, span);
                apply(Term::new(TermKind::Global(def), span), vec![tail], span)
            };
            let cell = Term::new(TermKind::Ctor(cons, vec![element, rest(this)]), span);
            let body = match condition {
                Some(condition) => condition_term(condition, cell, rest(this), span),
                None => cell,
            };
            let empty = Term::new(TermKind::Ctor(nil, vec![]), span);
            let arms = vec![
                Arm { ctor: nil, whole: None, fields: vec![], body: empty },
                Arm { ctor: cons, whole: None, fields: vec![head, tail], body },
            ];
            let scrutinee = this.local_term(param, span);
            Term::new(TermKind::Match(Box::new(Match { scrutinee, ty, arms, default: None })), span)
        });
        apply(Term::new(partial(def, captured, span), span), vec![list], span)
    }

    /// A `def` in a block.
    pub(super) fn local_imp(&mut self, item: &ImpDef) {
        let parameters = item.params.iter().map(|p| Some(p.name.node.clone())).collect();
        let ty = self.local_type(item.params.iter(), item.ret.as_ref());
        self.local_function(&item.name, parameters, imp_is_checked(item), ty, |this| this.function(item));
    }

    /// A `def` in a term.
    pub(super) fn local_fun(&mut self, item: &FunDef) {
        let ty = match &item.signature {
            Some(signature) => self.local_type(signature.params.iter(), Some(&signature.ty)),
            None => Type::Hole,
        };
        self.local_function(&item.name, vec![], fun_is_checked(item), ty, |this| this.equations(item));
    }

    fn local_function(
        &mut self,
        name: &Ident,
        parameters: Vec<Option<Name>>,
        is_checked: bool,
        ty: Type,
        build: impl FnOnce(&mut Self) -> Term,
    ) {
        let what = format!("{}_", name.node);
        let (def, captured) = self.generate(&what, name.span, |this, def| {
            this.parameters.insert(def, parameters);
            // A function with an annotation of its own inside one without is not checked: what it captures has no type.
            this.program.defs[def].check &= is_checked || this.program.defs[def].check;
            this.bind(name.node.clone(), Binding::Itself(def));
            build(this)
        });
        let captures = captured.iter().map(|_| Type::Hole);
        self.program.defs[def].ty = Scheme::mono(Type::function(captures.collect::<Vec<_>>(), ty));
        let binding = match captured.is_empty() {
            true => Binding::Closed(TermKind::Global(def)),
            false => Binding::Function(def, captured),
        };
        self.bind(name.node.clone(), binding);
    }
}

/// Replaces references to a generated definition in its own body by references that pass on its captures.
fn add_captures(term: &mut Term, def: DefId, captures: &[LocalId]) {
    if captures.is_empty() {
        return;
    }
    let span = term.span;
    let passed = || captures.iter().map(|local| Term::new(TermKind::Local(*local), span));
    match &mut term.kind {
        TermKind::Global(found) if *found == def => {
            term.kind = partial(def, passed().collect(), span);
        }
        TermKind::Apply(function, args) if matches!(function.kind, TermKind::Global(found) if found == def) => {
            args.iter_mut().for_each(|arg| add_captures(arg, def, captures));
            args.splice(0..0, passed());
        }
        _ => term.children_mut().into_iter().for_each(|child| add_captures(child, def, captures)),
    }
}

/// Gives the recursive fields of a fold's arms their meaning: `folded` is the fold of `field`.
///
/// With a state it is a function, made wherever it is mentioned. Without one it is a value: a field that is needed at most
/// once, whichever way the arm goes, is folded where it is mentioned, any other at the start of the arm.
fn fold_fields(chosen: &mut Term, def: DefId, recursive: &[(LocalId, LocalId)], has_state: bool) {
    let mut pending = vec![chosen];
    while let Some(term) = pending.pop() {
        match &mut term.kind {
            TermKind::Let(_, body) => pending.push(body),
            TermKind::Match(m) => {
                for arm in &mut m.arms {
                    let own: Vec<_> = recursive.iter().filter(|(_, field)| arm.fields.contains(field)).collect();
                    own.into_iter().for_each(|pair| fold_field(&mut arm.body, def, *pair, has_state));
                }
            }
            _ => {}
        }
    }
}

fn fold_field(body: &mut Term, def: DefId, (folded, field): (LocalId, LocalId), has_state: bool) {
    let span = body.span;
    let call =
        |span| apply(Term::new(TermKind::Global(def), span), vec![Term::new(TermKind::Local(field), span)], span);
    match uses(body, folded) {
        0 => {}
        1 => replace(body, folded, &call),
        _ if has_state => replace(body, folded, &call),
        _ => {
            let inner = std::mem::replace(body, invalid(span));
            *body = with_binds(vec![Bind { target: Target::Var(folded), value: call(span) }], inner);
        }
    }
}

/// The most times that a variable is used on one way through a term; a use inside a function counts as two.
fn uses(term: &Term, local: LocalId) -> usize {
    match &term.kind {
        TermKind::Local(found) => usize::from(*found == local),
        TermKind::Lambda(_, body) => 2 * uses(body, local),
        TermKind::Match(m) => {
            let bodies = m.arms.iter().map(|arm| &arm.body).chain(&m.default);
            uses(&m.scrutinee, local) + bodies.map(|body| uses(body, local)).max().unwrap_or(0)
        }
        TermKind::Switch(s) => {
            let bodies = s.cases.iter().map(|(_, body)| body).chain([&s.default]);
            uses(&s.scrutinee, local) + bodies.map(|body| uses(body, local)).max().unwrap_or(0)
        }
        _ => term.children().into_iter().map(|child| uses(child, local)).sum(),
    }
}

fn replace(term: &mut Term, local: LocalId, by: &impl Fn(Span) -> Term) {
    let span = term.span;
    match &mut term.kind {
        TermKind::Local(found) if *found == local => *term = by(span),
        TermKind::Apply(function, args) if matches!(function.kind, TermKind::Local(found) if found == local) => {
            args.iter_mut().for_each(|arg| replace(arg, local, by));
            let args = std::mem::take(args);
            *term = apply(by(span), args, span);
        }
        _ => term.children_mut().into_iter().for_each(|child| replace(child, local, by)),
    }
}
