//! Definitions without parameters whose value is evident: it is computed in a few steps that cannot fail, and does not
//! depend on itself. Whoever refers to one may have the value at once, so no variable has to be ready for a thunk.

use girih_base::idx::IndexVec;
use girih_base::num::Num;
use girih_term::{Bind, Body, DefId, Program, Target, Term, TermKind};

/// How deep constants are looked into.
const DEPTH: usize = 64;

/// For every definition, whether it is such a constant.
pub(super) fn constants(program: &Program) -> IndexVec<DefId, bool> {
    let mut search = Search { program, states: program.defs.iter().map(|_| State::Unknown).collect() };
    program.defs.ids().map(|def| search.definition(def, DEPTH)).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Unknown,
    Open,
    Known(bool),
}

struct Search<'p> {
    program: &'p Program,
    states: IndexVec<DefId, State>,
}

impl<'p> Search<'p> {
    fn definition(&mut self, id: DefId, depth: usize) -> bool {
        let program: &'p Program = self.program;
        let Some(def) = program.defs.get(id) else { return false };
        let Body::Term(body) = &def.body else { return false };
        match self.states[id] {
            State::Known(known) => return known,
            State::Open => return false,
            State::Unknown if !def.params.is_empty() || depth == 0 => return false,
            State::Unknown => self.states[id] = State::Open,
        }
        let is_constant = self.is_value(body, depth - 1);
        self.states[id] = State::Known(is_constant);
        is_constant
    }

    /// Whether a term has a value that is evident.
    fn is_value(&mut self, term: &'p Term, depth: usize) -> bool {
        match &term.kind {
            TermKind::Num(_) | TermKind::Era | TermKind::Str(_) | TermKind::Local(_) | TermKind::Lambda(..) => true,
            TermKind::Global(def) => !self.program.defs[*def].params.is_empty() || self.definition(*def, depth),
            TermKind::Ctor(_, parts) | TermKind::Tuple(parts) | TermKind::List(parts) => {
                depth > 0 && parts.iter().all(|part| self.is_part(part, depth - 1))
            }
            TermKind::Let(binds, body) => {
                depth > 0
                    && binds.iter().all(|bind| self.is_plain(bind, depth - 1))
                    && !matches!(body.kind, TermKind::Local(_))
                    && self.is_value(body, depth - 1)
            }
            TermKind::Op(..) | TermKind::Prim(..) => self.number(term, depth).is_some(),
            TermKind::Literal(_)
            | TermKind::Apply(..)
            | TermKind::Match(_)
            | TermKind::Switch(_)
            | TermKind::Sup(_)
            | TermKind::Link(_)
            | TermKind::Invalid => false,
        }
    }

    /// Whether a term is evident as a part of data, where a thunk is not computed. What leads back to a definition that is
    /// being looked at is not: of the definitions on a cycle, one stays a thunk.
    fn is_part(&mut self, term: &'p Term, depth: usize) -> bool {
        match term.kind {
            TermKind::Global(def) => self.is_value(term, depth) || self.states[def] != State::Open,
            _ => self.is_value(term, depth),
        }
    }

    fn is_plain(&mut self, bind: &'p Bind, depth: usize) -> bool {
        matches!(bind.target, Target::Var(_)) && self.is_part(&bind.value, depth)
    }

    /// The number that a term is, if it is made of constant numbers only.
    fn number(&mut self, term: &'p Term, depth: usize) -> Option<Num> {
        let depth = depth.checked_sub(1)?;
        match &term.kind {
            TermKind::Num(number) => Some(*number),
            TermKind::Global(def) if self.definition(*def, depth) => match &self.program.defs[*def].body {
                Body::Term(body) => self.number(body, depth),
                Body::Net(_) => None,
            },
            TermKind::Op(op, a, b) => Num::apply(*op, self.number(a, depth)?, self.number(b, depth)?).ok(),
            TermKind::Prim(prim, args) => {
                let args: Option<Vec<Num>> = args.iter().map(|arg| self.number(arg, depth)).collect();
                prim.apply(&args?).ok()
            }
            _ => None,
        }
    }
}
