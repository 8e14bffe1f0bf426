//! What the roots of a run reach, and whether all of it can be run by value.

use super::{Bind, Body, DefId, Program, Target, Term, TermKind};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

/// The definitions that the roots need, in the order in which they are found.
///
/// # Errors
/// One for each definition that needs interaction nets, at the first place where it does, and one for each term that
/// should not have passed the compiler.
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
    if walk.errors.is_empty() { Ok(walk.found) } else { Err(walk.errors) }
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
            Body::Net(_) => {
                let what = format!("`{}` is an `hvm` definition", def.name);
                self.errors.push(needs_nets(def.span, what));
            }
            Body::Term(body) => {
                let mut places = vec![];
                let mut todo = vec![body];
                while let Some(term) = todo.pop() {
                    self.term(term, &mut places);
                    todo.extend(term.children());
                }
                // A superposition seldom comes alone; the first one says it all.
                if let Some((span, what)) = places.into_iter().min_by_key(|(span, _)| *span) {
                    self.errors.push(needs_nets(span, what).label(def.span, "in this definition"));
                }
            }
        }
    }

    fn term(&mut self, term: &Term, places: &mut Vec<(Span, String)>) {
        match &term.kind {
            TermKind::Global(id) => self.visit(*id),
            TermKind::Sup(_) => places.push((term.span, "this is a superposition".to_string())),
            TermKind::Link(name) => places.push((term.span, format!("`${name}` is scopeless"))),
            TermKind::Let(binds, _) => {
                for Bind { target, value } in binds {
                    if let Target::Link(name) = target {
                        places.push((value.span, format!("this is bound to the scopeless variable `${name}`")));
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

    fn internal(&mut self, span: Span, message: &str) {
        self.errors.push(Diagnostic::new(Code::Internal, span, message).hint("please report it with the program"));
    }
}

fn needs_nets(span: Span, what: String) -> Diagnostic {
    let hint = "leave out `--tier` and `--device`: then the program runs as an interaction net, on the processor; or keep this out of \
                what the entry point uses";
    Diagnostic::new(Code::NeedsNets, span, "running this program needs the net tier").at(what).hint(hint)
}
