//! Which calls may take long, as far as terms tell.
//!
//! A definition may take long if it calls itself, directly or through others, or calls such a one. A function that is a variable's value may
//! be any that the program makes a value of. If one of these may take long, so may every call of a variable; which of them really do is
//! known when terms are lowered, and only those are forked.

use crate::cycles::reaching_cycles;
use girih_term::{Body, DefId, Program, Term, TermKind};
use std::collections::HashSet;

/// What may take long.
#[derive(Debug)]
pub(super) struct Lasting {
    definitions: HashSet<DefId>,
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
        let edges: Vec<Vec<usize>> = (program.defs.ids())
            .map(|def| bodies(&def).map_or(vec![], |body| body.globals().iter().map(|def| def.index()).collect()))
            .collect();
        let long = reaching_cycles(&edges);
        let reached = reached(&edges, roots);
        let is_long = |def: &DefId| long.contains(&def.index());
        let variables = reached.iter().filter_map(bodies).any(|body| has_long_value(program, body, &is_long));
        if !variables {
            let definitions = long.into_iter().map(|def| DefId::new(def as u32)).collect();
            return Lasting { definitions, variables };
        }
        // Who calls a variable may take long, and so may whoever calls him.
        let edges: Vec<Vec<usize>> = (program.defs.ids().zip(edges))
            .map(|(def, mut edges)| {
                if long.contains(&def.index()) || bodies(&def).is_some_and(calls_variable) {
                    edges.push(def.index());
                }
                edges
            })
            .collect();
        let definitions = reaching_cycles(&edges).into_iter().map(|def| DefId::new(def as u32)).collect();
        Lasting { definitions, variables }
    }

    /// Whether a term is a call that may take long.
    pub fn is_call(&self, program: &Program, term: &Term) -> bool {
        let TermKind::Apply(function, args) = &term.kind else { return false };
        match &function.kind {
            TermKind::Global(def) => {
                let params = program.defs.get(*def).map_or(0, |def| def.params.len());
                !args.is_empty() && args.len() == params && self.definitions.contains(def)
            }
            TermKind::Local(_) => self.variables && !args.is_empty(),
            _other => false,
        }
    }
}

/// The definitions that some lead to.
fn reached(edges: &[Vec<usize>], roots: &[DefId]) -> HashSet<DefId> {
    let mut found: HashSet<DefId> = roots.iter().copied().collect();
    let mut todo: Vec<DefId> = roots.to_vec();
    while let Some(def) = todo.pop() {
        let used = edges.get(def.index()).into_iter().flatten().map(|used| DefId::new(*used as u32));
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
