//! Which calls may take long, as far as terms tell.
//!
//! A definition may take long if it calls itself, directly or through others, or calls such a one. A function that is a variable's value may
//! be any that the program makes a value of. If one of these may take long, so may every call of a variable; which of them really do is
//! known when terms are lowered, and only those are forked.

use crate::cycles::reaches_cycle;
use girih_base::idx::IndexVec;
use girih_term::{Body, DefId, Program, Term, TermKind};
use std::collections::HashSet;

/// What may take long.
#[derive(Debug)]
pub(super) struct Lasting {
    definitions: IndexVec<DefId, bool>,
    /// Whether calls of variables may.
    variables: bool,
}

impl Lasting {
    /// What may take long in a program that begins at these definitions.
    pub fn of(program: &Program, roots: &[DefId]) -> Lasting {
        let bodies = |def: &DefId| match &program.defs[*def].body {
            Body::Term(body) => Some(body),
            Body::Net(_) => None,
        };
        let mut edges: IndexVec<DefId, Vec<DefId>> =
            program.defs.ids().map(|def| bodies(&def).map_or(vec![], Term::globals)).collect();
        let long = reaches_cycle(&edges);
        let reached = reached(&edges, roots);
        let is_long = |def: &DefId| long[*def];
        let variables = reached.iter().filter_map(bodies).any(|body| has_long_value(program, body, &is_long));
        if !variables {
            return Lasting { definitions: long, variables };
        }
        // Who calls a variable may take long, and so may whoever calls him.
        for def in program.defs.ids().filter(|def| bodies(def).is_some_and(calls_variable)) {
            edges[def].push(def);
        }
        Lasting { definitions: reaches_cycle(&edges), variables }
    }

    /// Whether calls of a definition may.
    pub fn is_long(&self, def: DefId) -> bool {
        self.definitions.get(def).is_some_and(|is_long| *is_long)
    }

    /// Whether a term is a call that may take long.
    pub fn is_call(&self, program: &Program, term: &Term) -> bool {
        let TermKind::Apply(function, args) = &term.kind else { return false };
        match &function.kind {
            TermKind::Global(def) => {
                let params = program.defs.get(*def).map_or(0, |def| def.params.len());
                !args.is_empty() && args.len() == params && self.is_long(*def)
            }
            TermKind::Local(_) => self.variables && !args.is_empty(),
            _other => false,
        }
    }
}

/// The definitions that some lead to.
fn reached(edges: &IndexVec<DefId, Vec<DefId>>, roots: &[DefId]) -> HashSet<DefId> {
    let mut found: HashSet<DefId> = roots.iter().copied().collect();
    let mut todo: Vec<DefId> = roots.to_vec();
    while let Some(def) = todo.pop() {
        let used = edges.get(def).into_iter().flatten().copied();
        todo.extend(used.filter(|used| found.insert(*used)));
    }
    found
}

/// Whether a term makes a value of a function that may take long: of a lambda, or of a definition that is not called with all its arguments.
fn has_long_value(program: &Program, term: &Term, is_long: &impl Fn(&DefId) -> bool) -> bool {
    let is_function = |def: DefId| program.defs.get(def).is_some_and(|def| !def.params.is_empty());
    match &term.kind {
        TermKind::Lambda(_, body) => body.globals().iter().any(is_long) || has_long_value(program, body, is_long),
        TermKind::Global(def) => is_function(*def) && is_long(def),
        TermKind::Apply(function, args) => {
            let called = match &function.kind {
                TermKind::Global(def) => args.len() < program.defs[*def].params.len() && is_long(def),
                TermKind::Lambda(_, body) => has_long_value(program, body, is_long),
                _other => has_long_value(program, function, is_long),
            };
            called || args.iter().any(|arg| has_long_value(program, arg, is_long))
        }
        _other => term.children().into_iter().any(|child| has_long_value(program, child, is_long)),
    }
}

/// Whether a term calls a variable, in a lambda, too.
fn calls_variable(term: &Term) -> bool {
    let here = matches!(&term.kind, TermKind::Apply(function, _) if matches!(function.kind, TermKind::Local(_)));
    here || term.children().into_iter().any(calls_variable)
}
