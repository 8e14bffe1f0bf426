//! Parameters become their parts, and so do what they are given and what a function makes only to take it apart.

use super::known::{Givers, params};
use super::positions::parts;
use super::{Position, Positions, Shape, is_only, made};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_term::simplify::simplify_total;
use girih_term::ty::{Scheme, Type};
use girih_term::{Arm, Bind, Body, Ctor, CtorId, DefId, Local, LocalId, Match, Program, Target, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// Replaces the parameters at all positions.
pub(super) fn rewrite(program: &mut Program, positions: &Positions, givers: &Givers) {
    let arities: IndexVec<DefId, usize> = program.defs.iter().map(|def| def.params.len()).collect();
    let taking: HashSet<DefId> = positions.keys().map(|(def, _)| *def).collect();
    for id in program.defs.ids().collect::<Vec<_>>() {
        let own = params(program, positions, id);
        let counts: Vec<usize> = own.iter().map(|(_, shape)| parts(program, *shape)).collect();
        let Body::Term(body) = &program.defs[id].body else { continue };
        let apart = taken_apart(&arities, body, positions);
        if own.is_empty() && apart.is_empty() && !body.globals().iter().any(|def| taking.contains(def)) {
            continue;
        }
        let def = &mut program.defs[id];
        let Body::Term(body) = &mut def.body else { continue };
        let body = std::mem::replace(body, Term::new(TermKind::Era, def.span));
        let mut at_work = Rewriting {
            positions,
            givers,
            arities: &arities,
            ctors: &program.ctors,
            locals: std::mem::take(&mut def.locals),
            apart,
            known: HashMap::new(),
            log: vec![],
            renamed: HashMap::new(),
        };
        let before = def.params.len();
        let body = at_work.definition(&mut def.params, &own, &counts, body);
        if !own.is_empty() {
            def.ty = of_parts(&def.ty, before, def.params.len());
        }
        def.locals = at_work.locals;
        def.body = Body::Term(body);
        simplify_total(def);
    }
}

/// The type of a function that takes more parameters than before: nothing is said of them, and the result stays.
fn of_parts(scheme: &Scheme, before: usize, now: usize) -> Scheme {
    let mut result = &scheme.ty;
    for _ in 0..before {
        match result {
            Type::Arrow(_, to) => result = to,
            _unknown => return Scheme::mono(Type::Any),
        }
    }
    let arrow = |to: Type, _| Type::Arrow(Box::new(Type::Any), Box::new(to));
    Scheme { params: scheme.params.clone(), ty: (0..now).fold(result.clone(), arrow) }
}

/// The variables that a definition takes apart, or gives to a position.
fn taken_apart(arities: &IndexVec<DefId, usize>, body: &Term, positions: &Positions) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    let mut note = |term: &Term| {
        if let TermKind::Local(local) = term.kind {
            found.insert(local);
        }
    };
    let mut todo = vec![body];
    while let Some(term) = todo.pop() {
        match &term.kind {
            TermKind::Match(choice) => note(&choice.scrutinee),
            TermKind::Let(binds, _) => {
                let tuples = binds.iter().filter(|bind| matches!(bind.target, Target::Tuple(_)));
                tuples.for_each(|bind| note(&bind.value));
            }
            TermKind::Apply(function, args) => {
                if let TermKind::Global(def) = function.kind
                    && arities.get(def) == Some(&args.len())
                {
                    let apart = args.iter().enumerate().filter(|(i, _)| positions.contains_key(&(def, *i)));
                    apart.for_each(|(_, arg)| note(arg));
                }
            }
            _other => {}
        }
        todo.extend(term.children());
    }
    found
}

/// A value whose parts are variables.
#[derive(Clone, Debug)]
struct Apart {
    shape: Shape,
    parts: Vec<LocalId>,
}

/// A definition at work.
struct Rewriting<'p> {
    positions: &'p Positions,
    givers: &'p Givers,
    arities: &'p IndexVec<DefId, usize>,
    ctors: &'p IndexVec<CtorId, Ctor>,
    locals: IndexVec<LocalId, Local>,
    /// The variables that are taken apart somewhere.
    apart: HashSet<LocalId>,
    /// The variables whose parts are variables here.
    known: HashMap<LocalId, Apart>,
    /// What to put back where a scope ends.
    log: Vec<(LocalId, Option<Apart>)>,
    /// Variables that are other ones.
    renamed: HashMap<LocalId, LocalId>,
}

impl Rewriting<'_> {
    fn definition(
        &mut self,
        params: &mut Vec<LocalId>,
        own: &[(LocalId, Shape)],
        counts: &[usize],
        body: Term,
    ) -> Term {
        let (mut body, span) = (body, body_span(params, &self.locals));
        let mut again = vec![];
        let mut new = vec![];
        for param in std::mem::take(params) {
            let Some(at) = own.iter().position(|(local, _)| *local == param) else {
                new.push(param);
                continue;
            };
            let shape = own[at].1;
            let parts = self.parts_of(param, shape, counts[at]);
            new.extend(&parts);
            // It is left out if it is not needed in one piece.
            again.push(Bind { target: Target::Var(param), value: whole(shape, &parts, span) });
            self.set(param, Apart { shape, parts });
        }
        *params = new;
        self.term(&mut body);
        let mut body = if again.is_empty() { body } else { Term::new(TermKind::Let(again, Box::new(body)), span) };
        self.rename(&mut body);
        body
    }

    /// Variables for the parts of a variable's value.
    fn parts_of(&mut self, whole: LocalId, shape: Shape, count: usize) -> Vec<LocalId> {
        let Local { name, span } = self.locals[whole].clone();
        let part = |i: usize| match shape {
            Shape::Ctor(ctor) => format!("{name}.{}", self.ctors[ctor].fields[i].name),
            Shape::Tuple(_) => format!("{name}.{i}"),
        };
        let names: Vec<String> = (0..count).map(part).collect();
        names.into_iter().map(|name| self.locals.push(Local { name: name.into(), span })).collect()
    }

    fn set(&mut self, local: LocalId, apart: Apart) {
        let before = self.known.insert(local, apart);
        self.log.push((local, before));
    }
    fn leave(&mut self, entered: usize) {
        for (local, before) in self.log.drain(entered..).rev() {
            match before {
                Some(apart) => _ = self.known.insert(local, apart),
                None => _ = self.known.remove(&local),
            }
        }
    }

    /// What is known of the value of a term that is a variable.
    fn known(&self, term: &Term) -> Option<&Apart> {
        match &term.kind {
            TermKind::Local(local) => self.known.get(&self.now(*local)),
            _no_variable => None,
        }
    }

    /// The variable that stands for one now.
    fn now(&self, local: LocalId) -> LocalId {
        let mut local = local;
        while let Some(other) = self.renamed.get(&local) {
            local = *other;
        }
        local
    }

    fn term(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Let(binds, body) => {
                let entered = self.log.len();
                let before = std::mem::take(binds);
                let body = std::mem::replace(&mut **body, Term::new(TermKind::Era, term.span));
                *term = self.bindings(before, body, term.span);
                self.leave(entered);
            }
            TermKind::Match(choice) => {
                self.term(&mut choice.scrutinee);
                if let Some(chosen) = self.chosen(choice) {
                    *term = chosen;
                    return self.term(term);
                }
                self.arms(choice);
            }
            TermKind::Lambda(_, body) => {
                let outside = (std::mem::take(&mut self.known), std::mem::take(&mut self.log));
                self.term(body);
                (self.known, self.log) = outside;
            }
            TermKind::Apply(function, args) => {
                args.iter_mut().for_each(|arg| self.term(arg));
                match &function.kind {
                    TermKind::Global(def) if self.arities.get(*def) == Some(&args.len()) => {
                        let def = *def;
                        self.call(term, def);
                    }
                    _other => self.term(function),
                }
            }
            _other => term.children_mut().into_iter().for_each(|child| self.term(child)),
        }
    }

    /// Rewrites bindings and what is made of them.
    fn bindings(&mut self, before: Vec<Bind>, body: Term, span: Span) -> Term {
        let (mut binds, mut before, mut body) = (vec![], before.into_iter(), body);
        while let Some(mut bind) = before.next() {
            let Some((local, shape, count)) = self.constructor(&bind) else {
                self.bind(bind, &mut binds);
                continue;
            };
            // What a function gives is taken apart by a choice around all that follows.
            self.term(&mut bind.value);
            let parts = self.parts_of(local, shape, count);
            let again = Bind { target: Target::Var(local), value: whole(shape, &parts, bind.value.span) };
            self.set(local, Apart { shape, parts: parts.clone() });
            let rest = self.bindings(before.collect(), body, span);
            let rest = Term::new(TermKind::Let(vec![again], Box::new(rest)), span);
            body = apart(self.ctors, shape, parts, bind.value, rest);
            return if binds.is_empty() { body } else { Term::new(TermKind::Let(binds, Box::new(body)), span) };
        }
        self.term(&mut body);
        if binds.is_empty() { body } else { Term::new(TermKind::Let(binds, Box::new(body)), span) }
    }

    /// A variable that is taken apart somewhere and is bound to a constructor that a function gives, the only one of its type.
    fn constructor(&self, bind: &Bind) -> Option<(LocalId, Shape, usize)> {
        let Target::Var(local) = bind.target else { return None };
        let shape = self.given(&bind.value).filter(|_| self.apart.contains(&local))?;
        let Shape::Ctor(ctor) = shape else { return None };
        is_only(self.ctors, ctor).then(|| (local, shape, self.ctors[ctor].fields.len()))
    }

    /// Rewrites a binding, and puts what becomes of it behind others.
    fn bind(&mut self, bind: Bind, binds: &mut Vec<Bind>) {
        let Bind { target, mut value } = bind;
        self.term(&mut value);
        match target {
            Target::Var(local) if self.apart.contains(&local) => {
                let value = last_of(value, binds);
                self.variable(local, value, binds);
            }
            Target::Tuple(targets) => {
                if let Some(Apart { shape, parts }) = self.known(&value)
                    && *shape == Shape::Tuple(targets.len())
                {
                    let pairs = targets.iter().zip(parts).filter_map(|(target, part)| Some(((*target)?, *part)));
                    let pairs: Vec<_> = pairs.collect();
                    self.renamed.extend(pairs);
                    return;
                }
                let all: Option<Vec<LocalId>> = targets.iter().copied().collect();
                if let (TermKind::Local(local), Some(parts)) = (&value.kind, all) {
                    self.set(self.now(*local), Apart { shape: Shape::Tuple(parts.len()), parts });
                }
                binds.push(Bind { target: Target::Tuple(targets), value });
            }
            target => binds.push(Bind { target, value }),
        }
    }

    /// A variable that is taken apart somewhere: if it is made here, or is a tuple that a function gives, its parts get names.
    fn variable(&mut self, local: LocalId, value: Term, binds: &mut Vec<Bind>) {
        let span = value.span;
        if let Some((shape, terms)) = made(&value) {
            let parts = self.parts_of(local, shape, terms.len());
            let (TermKind::Tuple(terms) | TermKind::Ctor(_, terms)) = value.kind else {
                unreachable!("it was looked at")
            };
            let named = parts.iter().zip(terms).map(|(part, value)| Bind { target: Target::Var(*part), value });
            binds.extend(named);
            binds.push(Bind { target: Target::Var(local), value: whole(shape, &parts, span) });
            return self.set(local, Apart { shape, parts });
        }
        if let Some(apart) = self.known(&value).cloned() {
            self.set(local, apart);
        } else if let Some(shape @ Shape::Tuple(count)) = self.given(&value) {
            let parts = self.parts_of(local, shape, count);
            binds.push(Bind { target: Target::Tuple(parts.iter().copied().map(Some).collect()), value });
            binds.push(Bind { target: Target::Var(local), value: whole(shape, &parts, span) });
            return self.set(local, Apart { shape, parts });
        }
        binds.push(Bind { target: Target::Var(local), value });
    }

    /// The shape of what a call gives.
    fn given(&self, term: &Term) -> Option<Shape> {
        let TermKind::Apply(function, _) = &term.kind else { return None };
        let TermKind::Global(def) = function.kind else { return None };
        self.givers.get(&def).copied()
    }

    /// What a choice gives on a value whose constructor is known.
    fn chosen(&mut self, choice: &mut Match) -> Option<Term> {
        let Apart { shape: Shape::Ctor(ctor), parts } = self.known(&choice.scrutinee)?.clone() else { return None };
        let TermKind::Local(inspected) = choice.scrutinee.kind else { return None };
        match choice.arms.iter().position(|arm| arm.ctor == ctor) {
            Some(at) => {
                let Arm { whole, fields, body, .. } = choice.arms.swap_remove(at);
                self.renamed.extend(fields.into_iter().zip(parts));
                self.renamed.extend(whole.map(|whole| (whole, self.now(inspected))));
                Some(body)
            }
            None => choice.default.take(),
        }
    }

    /// In an arm, the parts of what is inspected are its variables.
    fn arms(&mut self, choice: &mut Match) {
        let inspected = match &choice.scrutinee.kind {
            TermKind::Local(local) => Some(self.now(*local)),
            _computed => None,
        };
        for arm in &mut choice.arms {
            let entered = self.log.len();
            let apart = Apart { shape: Shape::Ctor(arm.ctor), parts: arm.fields.clone() };
            for local in inspected.into_iter().chain(arm.whole) {
                self.set(local, apart.clone());
            }
            self.term(&mut arm.body);
            self.leave(entered);
        }
        choice.default.iter_mut().for_each(|default| self.term(default));
    }

    /// Gives a function the parts of its arguments.
    fn call(&mut self, term: &mut Term, def: DefId) {
        let TermKind::Apply(_, args) = &mut term.kind else { return };
        let (positions, span) = (self.positions, term.span);
        let at = |i: usize| -> Option<Shape> {
            let position: Position = (def, i);
            positions.get(&position).copied()
        };
        let mut elsewhere = vec![];
        let mut new = vec![];
        for (i, arg) in std::mem::take(args).into_iter().enumerate() {
            let Some(shape) = at(i) else {
                new.push(arg);
                continue;
            };
            if let Some(apart) = self.known(&arg).filter(|apart| apart.shape == shape) {
                new.extend(apart.parts.iter().map(|part| variable(*part, arg.span)));
            } else if made(&arg).is_some_and(|(made, _)| made == shape) {
                let (TermKind::Tuple(parts) | TermKind::Ctor(_, parts)) = arg.kind else {
                    unreachable!("it was looked at")
                };
                new.extend(parts);
            } else {
                let count = match shape {
                    Shape::Tuple(count) => count,
                    Shape::Ctor(ctor) => self.ctors[ctor].fields.len(),
                };
                let whole = self.locals.push(Local { name: "argument".into(), span: arg.span });
                let parts = self.parts_of(whole, shape, count);
                new.extend(parts.iter().map(|part| variable(*part, arg.span)));
                elsewhere.push((shape, parts, arg));
            }
        }
        *args = new;
        for (shape, parts, arg) in elsewhere {
            let inner = std::mem::replace(term, Term::new(TermKind::Era, span));
            *term = apart(self.ctors, shape, parts, arg, inner);
        }
    }

    /// Puts the variables that stand for others in their places.
    fn rename(&self, term: &mut Term) {
        if let TermKind::Local(local) = &mut term.kind {
            *local = self.now(*local);
        }
        term.children_mut().into_iter().for_each(|child| self.rename(child));
    }
}

/// What a term ends with, behind its bindings, which come before others now: an argument that is taken apart at a call is such a binding.
fn last_of(term: Term, binds: &mut Vec<Bind>) -> Term {
    let mut term = term;
    while let TermKind::Let(inner, body) = term.kind {
        binds.extend(inner);
        term = *body;
    }
    term
}

fn variable(local: LocalId, span: Span) -> Term {
    Term::new(TermKind::Local(local), span)
}

/// Takes a value apart for a term.
pub(super) fn apart(
    ctors: &IndexVec<CtorId, Ctor>,
    shape: Shape,
    parts: Vec<LocalId>,
    value: Term,
    body: Term,
) -> Term {
    let span = body.span;
    let kind = match shape {
        Shape::Tuple(_) => {
            let target = Target::Tuple(parts.into_iter().map(Some).collect());
            TermKind::Let(vec![Bind { target, value }], Box::new(body))
        }
        Shape::Ctor(ctor) => {
            let arms = vec![Arm { ctor, whole: None, fields: parts, body }];
            let ty = ctors[ctor].ty;
            // It is never of another constructor.
            let default = (!is_only(ctors, ctor)).then(|| Term::new(TermKind::Era, span));
            TermKind::Match(Box::new(Match { scrutinee: value, ty, arms, default }))
        }
    };
    Term::new(kind, span)
}

/// A value of its parts.
pub(super) fn whole(shape: Shape, parts: &[LocalId], span: Span) -> Term {
    let parts = parts.iter().map(|part| variable(*part, span)).collect();
    let kind = match shape {
        Shape::Tuple(_) => TermKind::Tuple(parts),
        Shape::Ctor(ctor) => TermKind::Ctor(ctor, parts),
    };
    Term::new(kind, span)
}

/// Where the first parameter stands.
fn body_span(params: &[LocalId], locals: &IndexVec<LocalId, Local>) -> Span {
    params.first().map_or(Span::NONE, |param| locals[*param].span)
}
