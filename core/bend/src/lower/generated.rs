//! What becomes a definition of its own: `bend`, comprehensions and local functions here, `fold` in [`super::folds`].

use super::choices::{LowerBody, condition_term};
use super::declare::imp_is_annotated;
use super::definition_scope::{Binding, DefinitionScope, apply, partial};
use super::literals::hidden;
use super::{Lowering, invalid};
use crate::ast::{Bend, Check, Comprehension, Expr, FunDef, Ident, ImpDef, Param, TypeExpr};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::ty::{Scheme, Type};
use girih_term::{Arm, Body, Def, DefId, LocalId, Match, Origin, Term, TermKind};

impl<'l> Lowering<'l> {
    /// Makes a definition out of what `build` lowers in a new scope. Returns it with what it captures here.
    pub(super) fn generate(
        &mut self,
        what: &str,
        span: Span,
        build: impl FnOnce(&mut Self, DefId) -> Term,
    ) -> (DefId, Vec<Term>) {
        let scope = self.innermost();
        let (parent, module, monads, number) = (scope.def, scope.module, scope.monads.clone(), scope.generated);
        scope.generated += 1;
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
        let mut scope = DefinitionScope::new(def, module);
        scope.monads = monads;
        self.enclosing.push(scope);
        let mut body = build(self, def);
        let Some(scope) = self.enclosing.pop() else { return (def, vec![]) };
        self.check_captured_links(&body);
        let captures: Vec<LocalId> = scope.params[..scope.captured.len()].to_vec();
        add_captures(&mut body, def, &captures);
        let lowered = &mut self.program.defs[def];
        (lowered.params, lowered.locals, lowered.body) = (scope.params, scope.locals, Body::Term(body));
        (def, scope.captured)
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
            this.bind(Name::new("fork"), Span::NONE, Binding::Itself(def));
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
            this.innermost().params.push(param);
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
        let function = LocalFunction {
            name: &item.name,
            check: item.check,
            annotation: imp_is_annotated(item).then_some((&*item.params, item.ret.as_ref())),
            parameters: item.params.iter().map(|p| Some(p.name.clone())).collect(),
        };
        self.local_function(function, |this| this.function(item));
    }

    /// A `def` in a term.
    pub(super) fn local_fun(&mut self, item: &FunDef) {
        let function = LocalFunction {
            name: &item.name,
            check: item.check,
            annotation: item.signature.as_ref().map(|s| (s.params.as_slice(), Some(&s.ty))),
            parameters: vec![],
        };
        self.local_function(function, |this| this.equations(item));
    }

    fn local_function(&mut self, function: LocalFunction<'_>, build: impl FnOnce(&mut Self) -> Term) {
        let LocalFunction { name, check, annotation, parameters } = function;
        let (def, captured) = self.generate(&format!("{}_", name.node), name.span, |this, def| {
            this.parameters.insert(def, parameters);
            this.bind(name.node.clone(), name.span, Binding::Itself(def));
            build(this)
        });
        // Otherwise it is checked if the function around it is: what it captures of another has no type.
        self.program.defs[def].check &= check != Check::Unchecked;
        if let Some((params, ret)) = annotation {
            self.program.defs[def].ty = self.local_type(self.module(), captured.len(), params, ret);
        }
        let binding = match captured.is_empty() {
            true => Binding::Closed(TermKind::Global(def)),
            false => Binding::Function(def, captured),
        };
        self.bind(name.node.clone(), name.span, binding);
    }
}

/// What a local function says of itself.
struct LocalFunction<'a> {
    name: &'a Ident,
    check: Check,
    /// Parameters and result, if any of them has a type.
    annotation: Option<(&'a [Param], Option<&'a TypeExpr>)>,
    /// The names of its parameters, for named arguments.
    parameters: Vec<Option<Ident>>,
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
