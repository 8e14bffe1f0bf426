//! Discovery: which calls may run at the same time, by what needs what, and not by where they happen to stand.
//!
//! | file | does |
//! |---|---|
//! | [`lasting`] | which calls may take long |
//! | [`naming`] | gives names to the lasting calls inside of a term: A-normal form, as far as it matters (Flanagan, Sabry, Duba, Felleisen 1993) |
//! | [`items`] | the bindings of a block: what each needs, and whether it may take long |
//! | [`branches`] | moves a call into the arms of a choice that has others to run beside it, and out of arms that all make it |
//! | [`split`] | makes the calls in the arms of a choice that do not wait for what stands before it in a choice of their own |
//! | [`schedule`] | puts those that do not wait for each other side by side, and what needs their results behind them |
//! | [`waiting`] | says which calls stay in order, and why |
//! | [`outline`] | makes a definition of a part that is no call, so that it can be forked |
//!
//! Terms become terms: what stands side by side is forked when it is lowered. A *block* is a list of bindings and what is made of them: the body of a definition, a lambda, or an arm.
//!
//! Invariants: nothing runs that would not have run before, and everything that ran does, unless nobody needs its value. [`Discovered::sources`]
//! says which lambda of the program each lambda is.

mod branches;
mod items;
mod lasting;
mod naming;
mod outline;
mod schedule;
mod split;
mod waiting;

use crate::unboxing::unbox;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_term::code::lambdas::Scopes;
use girih_term::simplify::simplify_total;
use girih_term::{Arm, Bind, Body, Def, DefId, Local, LocalId, Match, Program, Target, Term, TermKind};
pub(crate) use items::mention;
use items::{Binding, Fields, Item, Pattern};
use lasting::Lasting;
use std::collections::{HashMap, HashSet};
pub use waiting::{Called, Waiting, Why};

/// A lambda, by its definition and its position in the walk over the definition's lambdas.
pub type Place = (DefId, usize);

/// A program in which calls that can run at the same time stand side by side.
#[derive(Debug)]
pub struct Discovered {
    /// The program. Definitions that were made of parts of others stand behind those that were there.
    pub program: Program,
    /// Which lambda of the original program each lambda is, where that is not the same.
    pub sources: HashMap<Place, Place>,
    /// The lambdas that capture other variables than they did, or in another order. The host cannot read their closures, for the evaluator knows
    /// the lambdas as they were.
    pub recaptured: HashSet<Place>,
    /// The calls that wait for others.
    pub waiting: Vec<Waiting>,
    /// The definitions that were assumed never to give `*`: the program is another one if a call does.
    pub assumed: HashSet<DefId>,
}

impl Discovered {
    /// A program as it was.
    pub fn unchanged(program: &Program) -> Discovered {
        Discovered {
            program: program.clone(),
            sources: HashMap::new(),
            recaptured: HashSet::new(),
            waiting: vec![],
            assumed: HashSet::new(),
        }
    }
}

/// Brings calls together that can run at the same time, in a program that begins at these definitions. It has been simplified.
/// Nothing is assumed of what the definitions in `except` give.
pub(crate) fn discover(program: &Program, roots: &[DefId], except: &HashSet<DefId>) -> Discovered {
    let mut program = program.clone();
    let before = lambdas(&program);
    let lasting = Lasting::of(&program, roots);
    let assumed = unbox(&mut program, roots, except, &|def| lasting.is_long(def));
    let (mut made, mut waiting) = (vec![], vec![]);
    for id in program.defs.ids().collect::<Vec<_>>() {
        let def = &mut program.defs[id];
        let Body::Term(body) = &mut def.body else { continue };
        if !is_by_value(body) {
            continue;
        }
        let body = take(body);
        let arities = Arities { program: &program, lasting: &lasting };
        let mut part = Part {
            id,
            arities,
            locals: program.defs[id].locals.clone(),
            made: &mut made,
            waiting: &mut waiting,
            first: program.defs.len(),
            parts: 0,
        };
        let body = part.block(body);
        let locals = part.locals;
        program.defs[id].locals = locals;
        program.defs[id].body = Body::Term(body);
    }
    for def in made {
        program.defs.push(def);
    }
    // What went into an arm may not be needed there.
    program.defs.iter_mut().for_each(simplify_total);
    let (mut sources, mut recaptured) = (HashMap::new(), HashSet::new());
    for (body, (now, captures)) in lambdas(&program) {
        match before.get(&body) {
            Some((place, captured)) if *captured == captures => _ = sources.insert(now, *place),
            _changed => _ = recaptured.insert(now),
        }
    }
    sources.retain(|now, before| now != before);
    Discovered { program, sources, recaptured, waiting, assumed }
}

/// Each lambda, by where its body is in memory, where it stays while terms are moved; and what the lambda captures.
fn lambdas(program: &Program) -> HashMap<*const Term, (Place, Vec<LocalId>)> {
    let mut found = HashMap::new();
    for (id, def) in program.defs.iter_enumerated() {
        let Body::Term(body) = &def.body else { continue };
        for (ordinal, lambda) in Scopes::of(body, &def.locals).lambdas.into_iter().enumerate() {
            found.insert(std::ptr::from_ref(lambda.body), ((id, ordinal), lambda.captures));
        }
    }
    found
}

/// Whether a term is run by value: nets are not.
fn is_by_value(term: &Term) -> bool {
    let here = match &term.kind {
        TermKind::Sup(_) | TermKind::Link(_) => false,
        TermKind::Let(binds, _) => binds.iter().all(|bind| !matches!(bind.target, Target::Link(_))),
        _other => true,
    };
    here && term.children().into_iter().all(is_by_value)
}

/// Takes a term out of its place.
fn take(term: &mut Term) -> Term {
    let span = term.span;
    std::mem::replace(term, Term::new(TermKind::Era, span))
}

/// What is known of definitions.
#[derive(Clone, Copy)]
struct Arities<'p> {
    program: &'p Program,
    lasting: &'p Lasting,
}

impl Arities<'_> {
    /// Whether a term is a call that may take long.
    fn is_call(self, term: &Term) -> bool {
        self.lasting.is_call(self.program, term)
    }

    /// Whether a term may make such a call when it is computed.
    fn reaches(self, term: &Term) -> bool {
        let is_later = matches!(term.kind, TermKind::Lambda(..));
        !is_later && (self.is_call(term) || term.children().into_iter().any(|child| self.reaches(child)))
    }
}

/// A definition at work.
struct Part<'p> {
    id: DefId,
    arities: Arities<'p>,
    locals: IndexVec<LocalId, Local>,
    /// Calls that wait for others.
    waiting: &'p mut Vec<Waiting>,
    /// Definitions that were made of parts.
    made: &'p mut Vec<Def>,
    /// The number of the first of them.
    first: usize,
    /// How many of them were made of this definition.
    parts: usize,
}

impl Part<'_> {
    /// A variable that the source does not have.
    fn local(&mut self, span: Span) -> LocalId {
        self.locals.push(Local { name: "call".into(), span })
    }

    /// Rewrites a block.
    fn block(&mut self, term: Term) -> Term {
        let span = term.span;
        let (mut binds, mut body) = self.flattened(term);
        let chances = binds.iter().map(|bind| &bind.value).chain([&body]).map(|term| self.chances(term)).sum::<usize>();
        if chances < 2 {
            // There is nothing to run beside anything, but there are blocks inside.
            binds.iter_mut().for_each(|bind| self.inside(&mut bind.value));
            self.inside(&mut body);
            return whole(binds, body, span);
        }
        let mut items = self.named(binds, body);
        self.hoist(&mut items);
        self.note_waiting(&items);
        self.sink(&mut items);
        self.split(&mut items);
        items.iter_mut().for_each(|item| self.inside(&mut item.value));
        of_items(self.scheduled(items), span)
    }

    /// How many calls that may take long stand in a term, in the arms of choices, too: at most two are counted.
    fn chances(&self, term: &Term) -> usize {
        if matches!(term.kind, TermKind::Lambda(..)) {
            return 0;
        }
        let here = usize::from(self.arities.is_call(term));
        let inside = term.children().into_iter().map(|child| self.chances(child)).sum::<usize>();
        (here + inside).min(2)
    }

    /// Rewrites the blocks inside of a term that is no block.
    fn inside(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Lambda(_, body) => **body = self.block(take(body)),
            TermKind::Match(choice) => {
                self.inside(&mut choice.scrutinee);
                let arms = choice.arms.iter_mut().map(|arm| &mut arm.body);
                arms.chain(&mut choice.default).for_each(|arm| *arm = self.block(take(arm)));
            }
            TermKind::Switch(choice) => {
                self.inside(&mut choice.scrutinee);
                let cases = choice.cases.iter_mut().map(|(_, body)| body);
                cases.chain([&mut choice.default]).for_each(|arm| *arm = self.block(take(arm)));
            }
            TermKind::Let(..) => *term = self.block(take(term)),
            _other => term.children_mut().into_iter().for_each(|child| self.inside(child)),
        }
    }

    /// Bindings and what is made of them; those of `let` inside of `let` are one list, and so are the fields that a choice with one arm binds, if the block
    /// gives what the arm does.
    fn flattened(&mut self, term: Term) -> (Vec<Binding>, Term) {
        let (mut binds, mut body) = (vec![], term);
        loop {
            let span = body.span;
            match body.kind {
                TermKind::Let(more, next) => {
                    for Bind { target, value } in more {
                        let (inner, value) = self.hoisted(value);
                        binds.extend(inner);
                        binds.push(Binding::new(target, value));
                    }
                    body = *next;
                }
                TermKind::Match(mut choice) if choice.arms.len() == 1 && choice.default.is_none() => {
                    let Some(Arm { ctor, whole, fields, body: next }) = choice.arms.pop() else {
                        unreachable!("it was looked at")
                    };
                    let fields = Fields { ty: choice.ty, ctor, whole, locals: fields, span };
                    let (inner, value) = self.flattened(choice.scrutinee);
                    binds.extend(inner);
                    binds.push(Binding { pattern: Pattern::Fields(fields), value });
                    body = next;
                }
                // A lambda that is applied where it stands binds its parameters as `let` does.
                TermKind::Apply(function, args) if is_let(&function, args.len()) => {
                    let TermKind::Lambda(params, next) = function.kind else { unreachable!("it was looked at") };
                    binds.extend(params.into_iter().zip(args).map(|(p, value)| Binding::new(Target::Var(p), value)));
                    body = *next;
                }
                kind => return (binds, Term { kind, span }),
            }
        }
    }

    /// The same for a part of a block, whose bindings come before those of the block. A choice stays, for what it gives is `*` if what it looks at is, and
    /// nothing else of the block is then. Calls in it that do not use its fields are bound before it.
    fn hoisted(&mut self, term: Term) -> (Vec<Binding>, Term) {
        let span = term.span;
        let (mut binds, body) = self.flattened(term);
        let is_choice = |bind: &Binding| matches!(bind.pattern, Pattern::Fields(_));
        let Some(first) = binds.iter().position(is_choice) else { return (binds, body) };
        let (mut inside, mut bound) = (vec![], vec![]);
        for Binding { pattern, value } in binds.split_off(first) {
            let mut mentioned = HashSet::new();
            mention(&value, &mut mentioned);
            let is_free = self.arities.reaches(&value) && bound.iter().all(|local| !mentioned.contains(local));
            match pattern {
                Pattern::Target(target) if is_free => binds.push(Binding::new(target, value)),
                Pattern::Fields(fields) if is_free => {
                    bound.extend(fields.binds());
                    let (local, span) = (self.local(value.span), value.span);
                    binds.push(Binding::new(Target::Var(local), value));
                    let value = Term::new(TermKind::Local(local), span);
                    inside.push(Binding { pattern: Pattern::Fields(fields), value });
                }
                pattern => {
                    bound.extend(pattern.binds());
                    inside.push(Binding { pattern, value });
                }
            }
        }
        (binds, whole(inside, body, span))
    }
}

/// Whether a function is a lambda that gets all its arguments.
fn is_let(function: &Term, args: usize) -> bool {
    matches!(&function.kind, TermKind::Lambda(params, _) if params.len() == args && args > 0)
}

/// The block that items are, the last of which has no target.
fn of_items(mut items: Vec<Item>, span: Span) -> Term {
    let body = items.pop().map_or(Term::new(TermKind::Era, span), |item| item.value);
    let bind = |Item { target, value, .. }| Some(Binding { pattern: target?, value });
    whole(items.into_iter().filter_map(bind).collect(), body, span)
}

fn whole(binds: Vec<Binding>, body: Term, span: Span) -> Term {
    let mut body = body;
    let mut group = vec![];
    let close = |group: &mut Vec<Bind>, body: Term| {
        let binds: Vec<Bind> = std::mem::take(group).into_iter().rev().collect();
        if binds.is_empty() { body } else { Term::new(TermKind::Let(binds, Box::new(body)), span) }
    };
    for Binding { pattern, value } in binds.into_iter().rev() {
        match pattern {
            Pattern::Target(target) => group.push(Bind { target, value }),
            Pattern::Fields(Fields { ty, ctor, whole, locals, span }) => {
                let arms = vec![Arm { ctor, whole, fields: locals, body: close(&mut group, body) }];
                let choice = Match { scrutinee: value, ty, arms, default: None };
                body = Term::new(TermKind::Match(Box::new(choice)), span);
            }
        }
    }
    close(&mut group, body)
}
