//! What the roots of a run reach, and whether all of it can be run by value.

use super::{Bind, Body, DefId, Program, Target, Term, TermKind};
use crate::diag::{Code, Diagnostic};
use crate::span::Span;

/// The definitions that the roots need, in the order in which they are found.
///
/// # Errors
/// One for each definition that needs interaction nets, at its first place that does, or that should not have passed the
/// compiler; sorted by place.
pub fn reach(program: &Program, roots: &[DefId]) -> Result<Vec<DefId>, Vec<Diagnostic>> {
    let mut walk = Walk { program, seen: vec![false; program.defs.len()], found: vec![], errors: vec![] };
    for &root in roots {
        walk.visit(root);
    }
    let mut next = 0;
    while let Some(&def) = walk.found.get(next) {
        walk.definition(def);
        next += 1;
    }
    if walk.errors.is_empty() {
        return Ok(walk.found);
    }
    walk.errors.sort_by_key(Diagnostic::span);
    Err(walk.errors)
}

struct Walk<'p> {
    program: &'p Program,
    seen: Vec<bool>,
    found: Vec<DefId>,
    errors: Vec<Diagnostic>,
}

impl<'p> Walk<'p> {
    fn visit(&mut self, def: DefId) {
        if let Some(seen) = self.seen.get_mut(def.index())
            && !std::mem::replace(seen, true)
        {
            self.found.push(def);
        }
    }

    fn definition(&mut self, id: DefId) {
        let program: &'p Program = self.program;
        let def = &program.defs[id];
        match &def.body {
            Body::Net(_) => self.needs_nets(def.span, &format!("`{}` is an `hvm` definition", def.name), def.span),
            Body::Term(body) => {
                let before = self.errors.len();
                let mut todo = vec![body];
                while let Some(term) = todo.pop() {
                    self.term(term, def.span);
                    todo.extend(term.children());
                }
                let first = self.errors.drain(before..).min_by_key(Diagnostic::span);
                self.errors.extend(first);
            }
        }
    }

    fn term(&mut self, term: &Term, def: Span) {
        match &term.kind {
            TermKind::Global(id) => self.visit(*id),
            TermKind::Sup(_) => self.needs_nets(term.span, "this is a superposition", def),
            TermKind::Link(name) => self.needs_nets(term.span, &format!("`${name}` is scopeless"), def),
            TermKind::Let(binds, _) => {
                for Bind { target, value } in binds {
                    if let Target::Link(name) = target {
                        self.needs_nets(value.span, &format!("this is bound to the scopeless variable `${name}`"), def);
                    }
                }
            }
            TermKind::Invalid => self.internal(term.span, "an invalid term was not reported"),
            TermKind::Literal(_) => self.internal(term.span, "the kind of a literal was not settled"),
            TermKind::Local(_)
            | TermKind::Num(_)
            | TermKind::Str(_)
            | TermKind::List(_)
            | TermKind::Era
            | TermKind::Ctor(..)
            | TermKind::Tuple(_)
            | TermKind::Lambda(..)
            | TermKind::Apply(..)
            | TermKind::Op(..)
            | TermKind::Prim(..)
            | TermKind::Match(_)
            | TermKind::Switch(_) => {}
        }
    }

    fn needs_nets(&mut self, span: Span, what: &str, def: Span) {
        let message = "running this program needs the net tier";
        let hint = "superpositions, scopeless variables and `hvm` definitions can be checked, but not be run by value; \
                    write the function without them, or keep it out of what the entry point uses";
        let mut error = Diagnostic::new(Code::NeedsNets, span, message).at(what).hint(hint);
        if span != def {
            error = error.label(def, "in this definition");
        }
        self.errors.push(error);
    }

    fn internal(&mut self, span: Span, message: &str) {
        self.errors.push(Diagnostic::new(Code::Internal, span, message).hint("please report it with the program"));
    }
}
