//! What a term of a checked program gives, as far as it can be seen: in types that the checker knows, else in the bodies of what is called.
//!
//! An answer lists everything that the term may give. What cannot be seen is in the list as [`Gives::Unknown`], so that nobody takes a guess for a
//! fact. A term that never returns gives nothing.

use girih_term::ty::Type;
use girih_term::{Body, CtorId, DefId, Program, Term, TermKind, TypeId};
use std::collections::HashSet;

/// How many terms are looked at for one answer; so that the cost does not grow with the square of the program.
const LIMIT: usize = 2000;

/// One thing that a term may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Number,
    Tuple,
    Data(TypeId),
    /// Perhaps a function.
    Unknown,
}

/// What a term may give.
pub(super) fn of_term(program: &Program, term: &Term) -> Vec<Gives> {
    let mut search = Search { program, found: vec![], pending: vec![term], called: HashSet::new() };
    search.run();
    search.found
}

/// What the call of a definition may give that gets as many arguments as the definition has parameters.
pub(super) fn of_call(program: &Program, def: DefId) -> Vec<Gives> {
    let mut search = Search { program, found: vec![], pending: vec![], called: HashSet::new() };
    search.call(def, program.defs[def].params.len());
    search.run();
    search.found
}

struct Search<'p> {
    program: &'p Program,
    found: Vec<Gives>,
    pending: Vec<&'p Term>,
    /// The definitions whose bodies are among the terms.
    called: HashSet<DefId>,
}

impl<'p> Search<'p> {
    fn run(&mut self) {
        let mut left = LIMIT;
        while let Some(term) = self.pending.pop() {
            left -= 1;
            if left == 0 {
                return self.add(Gives::Unknown);
            }
            self.term(term);
        }
    }

    fn add(&mut self, gives: Gives) {
        if !self.found.contains(&gives) {
            self.found.push(gives);
        }
    }

    fn term(&mut self, term: &'p Term) {
        let known = &self.program.known;
        match &term.kind {
            TermKind::Num(_) | TermKind::Literal(_) | TermKind::Op(..) => self.add(Gives::Number),
            TermKind::Tuple(_) => self.add(Gives::Tuple),
            TermKind::Str(_) => self.data(known.string_nil),
            TermKind::List(_) => self.data(known.list_nil),
            TermKind::Ctor(ctor, _) => self.data(Some(*ctor)),
            TermKind::Let(_, body) => self.pending.push(body),
            TermKind::Match(m) => {
                self.pending.extend(&m.default);
                self.pending.extend(m.arms.iter().map(|arm| &arm.body));
            }
            TermKind::Switch(s) => {
                self.pending.push(&s.default);
                self.pending.extend(s.cases.iter().map(|(_, body)| body));
            }
            TermKind::Global(def) => self.call(*def, 0),
            TermKind::Apply(head, args) => match head.kind {
                TermKind::Global(def) => self.call(def, args.len()),
                _ => self.add(Gives::Unknown),
            },
            TermKind::Local(_) | TermKind::Lambda(..) | TermKind::Prim(..) => self.add(Gives::Unknown),
            TermKind::Era | TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid => self.add(Gives::Unknown),
        }
    }

    fn data(&mut self, ctor: Option<CtorId>) {
        self.add(ctor.map_or(Gives::Unknown, |ctor| Gives::Data(self.program.ctors[ctor].ty)));
    }

    fn call(&mut self, id: DefId, given: usize) {
        let def = &self.program.defs[id];
        if given != def.params.len() {
            return self.add(Gives::Unknown);
        }
        if let Some(gives) = def.check.then(|| of_type(&def.ty.ty, given)).flatten() {
            return self.add(gives);
        }
        match &def.body {
            Body::Term(body) if self.called.insert(id) => self.pending.push(body),
            Body::Term(_) => {}
            Body::Net(_) => self.add(Gives::Unknown),
        }
    }
}

/// What a function of this type gives; none if the type does not say it.
fn of_type(function: &Type, params: usize) -> Option<Gives> {
    let mut ty = function;
    for _ in 0..params {
        let Type::Arrow(_, result) = ty else { return None };
        ty = result;
    }
    match ty {
        Type::Num(_) => Some(Gives::Number),
        Type::Tuple(_) => Some(Gives::Tuple),
        Type::Data(id, _) => Some(Gives::Data(*id)),
        Type::None | Type::Param(_) | Type::Arrow(..) => Some(Gives::Unknown),
        Type::Any | Type::Hole | Type::Var(_) => None,
    }
}
