//! What becomes a definition of its own: `bend`, comprehensions and local functions here, `fold` in [`super::folds`].

use super::choices::{LowerBody, condition_term};
use super::declare::{fun_is_checked, imp_is_checked};
use super::frame::{Binding, Frame, apply, partial};
use super::literals::hidden;
use super::{Lowering, invalid};
use crate::bend::ast::{Bend, Comprehension, Expr, FunDef, Ident, ImpDef};
use crate::name::Name;
use crate::span::Span;
use crate::term::ty::{Scheme, Type};
use crate::term::{Arm, Body, Def, DefId, LocalId, Match, Origin, Term, TermKind};

impl<'l> Lowering<'l> {
    /// Makes a definition out of what `build` lowers in a new frame. Returns it with what it captures here.
    pub(super) fn generate(
        &mut self,
        what: &str,
        span: Span,
        build: impl FnOnce(&mut Self, DefId) -> Term,
    ) -> (DefId, Vec<Term>) {
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

    pub(super) fn fun_bend(&mut self, b: &Bend<Expr>, span: Span) -> Term {
        self.bend_(b, span, &mut |this, body| this.expression(body))
    }

    /// The first values of the state of a `fold` or `bend`.
    pub(super) fn initial_state(&mut self, state: &[(Ident, Option<Expr>)]) -> Vec<Term> {
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
