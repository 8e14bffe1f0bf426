//! The terms of a definition as nets.

use super::scope::is_open;
use super::unit::{self, Unit};
use super::{Calculus, Lowering, Meaning};
use girih_base::name::Name;
use girih_base::num::Num;
use girih_term::code::lambdas::Scopes;
use girih_term::hvm::ast::{Operator, Tree};
use girih_term::hvm::function::Function;
use girih_term::{Bind, Body, CtorId, DefId, LocalId, Target, Term, TermKind};
use std::collections::HashMap;

/// How many cells of a list or a text stand inside each other before a wire is put between them.
const CHAIN: usize = 32;

/// What makes the nets of one definition.
pub struct Lowerer<'l, 'p> {
    pub(super) lowering: &'l mut Lowering<'p>,
    pub(super) def: DefId,
    /// The lambdas by the address of their bodies: their positions, and what they capture.
    lambdas: HashMap<*const Term, (usize, Vec<LocalId>)>,
    /// How many arms have names.
    pub(super) arms: usize,
}

impl<'l, 'p> Lowerer<'l, 'p> {
    /// Makes the net of a definition, and those of its lambdas and arms.
    pub fn definition(lowering: &'l mut Lowering<'p>, def: DefId, body: &'p Term) {
        let definition = &lowering.program.defs[def];
        let scopes = Scopes::of(body, &definition.locals);
        let lambdas = scopes.lambdas.into_iter().enumerate();
        let lambdas = lambdas.map(|(i, lambda)| (std::ptr::from_ref(lambda.body), (i, lambda.captures))).collect();
        let mut lowerer = Lowerer { lowering, def, lambdas, arms: 0 };
        let mut unit = Unit::default();
        let value = lowerer.term(&mut unit, body);
        let params = definition.params.iter().map(|param| unit.binder(*param)).collect();
        let net = unit.net(unit::function(vec![], params, value));
        lowerer.lowering.push(definition.name.clone(), definition.span, net);
    }

    /// What a term gives.
    pub(super) fn term(&mut self, unit: &mut Unit, term: &'p Term) -> Tree {
        match &term.kind {
            TermKind::Local(local) => unit.take(*local),
            TermKind::Global(def) => self.lowering.function(*def),
            TermKind::Num(number) => Tree::Num(*number),
            TermKind::Str(text) => {
                let items = text.chars().map(|c| Tree::Num(Num::u24(c as u32))).collect();
                let known = &self.lowering.program.known;
                self.chain(unit, known.string_cons, known.string_nil, items)
            }
            TermKind::List(items) => {
                let items = self.terms(unit, items);
                let known = &self.lowering.program.known;
                self.chain(unit, known.list_cons, known.list_nil, items)
            }
            TermKind::Ctor(ctor, fields) => {
                let fields = self.terms(unit, fields);
                self.lowering.data(unit, *ctor, fields)
            }
            TermKind::Tuple(parts) => unit::tuple(self.terms(unit, parts)),
            TermKind::Lambda(params, body) => self.lambda(unit, params, body, is_open(term)),
            TermKind::Apply(function, args) => self.apply(unit, function, args),
            TermKind::Op(op, left, right) => self.compute(unit, Function::Op(*op), [&**left, &**right]),
            TermKind::Prim(prim, args) => self.compute(unit, Function::Prim(*prim), args),
            TermKind::Let(binds, body) => self.bindings(unit, binds, body),
            TermKind::Match(m) => self.choose(unit, m),
            TermKind::Switch(s) => self.switch(unit, s),
            TermKind::Sup(parts) => {
                let mut parts = self.terms(unit, parts);
                let last = parts.pop().unwrap_or(Tree::Era);
                parts.into_iter().rev().fold(last, |rest, part| Tree::Dup(Box::new(part), Box::new(rest)))
            }
            TermKind::Link(name) => unit.scopeless(name),
            // The checker has settled literals, and reported what is invalid.
            TermKind::Era | TermKind::Literal(_) | TermKind::Invalid => Tree::Era,
        }
    }

    fn terms(&mut self, unit: &mut Unit, terms: &'p [Term]) -> Vec<Tree> {
        terms.iter().map(|term| self.term(unit, term)).collect()
    }

    fn chain(&mut self, unit: &mut Unit, cons: Option<CtorId>, nil: Option<CtorId>, items: Vec<Tree>) -> Tree {
        // The prelude is part of every program.
        let (Some(cons), Some(nil)) = (cons, nil) else { return Tree::Era };
        let mut rest = self.lowering.data(unit, nil, vec![]);
        for (i, item) in items.into_iter().rev().enumerate() {
            if i % CHAIN == CHAIN - 1 {
                let wire = unit.wire();
                unit.link(Tree::Var(wire.clone()), rest);
                rest = Tree::Var(wire);
            }
            rest = self.lowering.data(unit, cons, vec![item, rest]);
        }
        rest
    }

    /// The first operand meets the function, and what comes of it the second one.
    fn compute(&mut self, unit: &mut Unit, function: Function, args: impl IntoIterator<Item = &'p Term>) -> Tree {
        let mut args: Vec<Tree> = args.into_iter().map(|arg| self.term(unit, arg)).collect();
        let result = unit.wire();
        let first = if args.is_empty() { Tree::Era } else { args.remove(0) };
        let rest = args
            .into_iter()
            .rev()
            .fold(Tree::Var(result.clone()), |rest, arg| Tree::Opr(Box::new(arg), Box::new(rest)));
        let symbol = Box::new(Tree::Operator(Operator::Checked(function)));
        unit.link(first, Tree::Opr(symbol, Box::new(rest)));
        Tree::Var(result)
    }

    fn apply(&mut self, unit: &mut Unit, function: &'p Term, args: &'p [Term]) -> Tree {
        if let TermKind::Lambda(params, body) = &function.kind
            && params.len() == args.len()
        {
            let args = self.terms(unit, args);
            let value = self.term(unit, body);
            for (param, arg) in params.iter().zip(args) {
                let binder = unit.binder(*param);
                unit.link(arg, binder);
            }
            return value;
        }
        if let TermKind::Global(def) = function.kind
            && let definition = &self.lowering.program.defs[def]
            && let (Body::Term(_), arity @ 1..) = (&definition.body, definition.params.len())
            && !args.is_empty()
        {
            let mut args = self.terms(unit, args);
            if args.len() < arity {
                let stage = self.lowering.given(def, args.len());
                return Tree::Closure(Box::new(stage), Box::new(unit::tuple(args)));
            }
            let rest = args.split_off(arity);
            let entry = self.lowering.entry(def);
            let result = unit.apply(entry, args);
            return if rest.is_empty() { result } else { unit.apply(result, rest) };
        }
        let function = self.term(unit, function);
        let args = self.terms(unit, args);
        unit.apply(function, args)
    }

    fn lambda(&mut self, unit: &mut Unit, params: &'p [LocalId], body: &'p Term, open: bool) -> Tree {
        if open {
            let value = self.term(unit, body);
            let params = self.params(unit, params);
            return unit::function(vec![], params, value);
        }
        // Every lambda that is not applied where it stands was found in the walk.
        let Some((ordinal, captures)) = self.lambdas.get(&std::ptr::from_ref(body)).cloned() else { return Tree::Era };
        self.lambda_stages(ordinal, &captures, params, body);
        let name = self.stage_name(ordinal, 0);
        if captures.is_empty() {
            return Tree::Ref(name);
        }
        let captured = captures.iter().map(|local| unit.take(*local)).collect();
        Tree::Closure(Box::new(Tree::Ref(name)), Box::new(unit::tuple(captured)))
    }

    /// The parameters of a function; one that is delayed without any is given `*`.
    fn params(&mut self, unit: &mut Unit, params: &[LocalId]) -> Vec<Tree> {
        if params.is_empty() { vec![Tree::Era] } else { params.iter().map(|param| unit.binder(*param)).collect() }
    }

    fn stage_name(&self, ordinal: usize, given: usize) -> Name {
        let name = &self.lowering.program.defs[self.def].name;
        let stage = if given == 0 { String::new() } else { format!("P{given}") };
        Name::from(format!("{name}__L{ordinal}{stage}"))
    }

    /// The definitions of a lambda: one for each number of arguments that it may have before it has all.
    fn lambda_stages(&mut self, ordinal: usize, captures: &[LocalId], params: &'p [LocalId], body: &'p Term) {
        let span = body.span;
        let last = params.len().saturating_sub(1);
        for given in 0..last {
            let name = self.stage_name(ordinal, given);
            self.note(&name, ordinal, captures.len(), given);
            let mut unit = Unit::default();
            let before = unit.wires(captures.len() + given);
            let param = unit.wire();
            let held = before.iter().chain([&param]).cloned().map(Tree::Var).collect();
            let next = Tree::Ref(self.stage_name(ordinal, given + 1));
            let result = Tree::Closure(Box::new(next), Box::new(unit::tuple(held)));
            let root = unit::function(super::captured(before), vec![Tree::Var(param)], result);
            self.lowering.push(name, span, unit.net(root));
        }
        let name = self.stage_name(ordinal, last);
        self.note(&name, ordinal, captures.len(), last);
        let mut unit = Unit::default();
        let value = self.term(&mut unit, body);
        let (held, own) = params.split_at(last);
        let held = captures.iter().chain(held).map(|local| unit.binder(*local)).collect();
        let own = self.params(&mut unit, own);
        let net = unit.net(unit::function(held, own, value));
        self.lowering.push(name, span, net);
    }

    fn note(&mut self, name: &Name, ordinal: usize, captured: usize, given: usize) {
        self.lowering.meanings.insert(name.clone(), Meaning::Lambda { def: self.def, ordinal, captured, given });
    }

    fn bindings(&mut self, unit: &mut Unit, binds: &'p [Bind], body: &'p Term) -> Tree {
        let values: Vec<Tree> = binds.iter().map(|bind| self.term(unit, &bind.value)).collect();
        let result = self.term(unit, body);
        for (bind, value) in binds.iter().zip(values) {
            let target = self.target(unit, &bind.target);
            unit.link(value, target);
        }
        result
    }

    fn target(&mut self, unit: &mut Unit, target: &Target) -> Tree {
        let parts = |unit: &mut Unit, parts: &[Option<LocalId>]| -> Vec<Tree> {
            parts.iter().map(|part| part.map_or(Tree::Era, |local| unit.binder(local))).collect()
        };
        match target {
            Target::Var(local) => unit.binder(*local),
            Target::Tuple(locals) => unit::tuple(parts(unit, locals)),
            Target::Dup(locals) => {
                let mut copies = parts(unit, locals);
                let last = copies.pop().unwrap_or(Tree::Era);
                let node = match self.lowering.calculus {
                    Calculus::ByValue => Tree::Copy,
                    Calculus::Nets => Tree::Dup,
                };
                copies.into_iter().rev().fold(last, |rest, copy| node(Box::new(copy), Box::new(rest)))
            }
            Target::Link(name) => unit.scopeless(name),
        }
    }
}
