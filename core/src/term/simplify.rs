//! Removal of bindings whose variables are not used. All bindings are pure, so a value that nobody needs is not computed.
//!
//! One pass reaches the fixed point: the scope of a binding is simplified before the binding is looked at, and the uses
//! in a value that is removed do not count any more.

use super::{Bind, Body, Def, LocalId, Target, Term, TermKind};

/// Removes unused bindings from a definition, and unused parts from its tuple patterns.
pub fn simplify(def: &mut Def) {
    let Body::Term(body) = &mut def.body else { return };
    let mut uses = Uses { counts: vec![0; def.locals.len()] };
    uses.count(body, Count::More);
    uses.simplify(body);
}

/// How often each local variable is used.
struct Uses {
    counts: Vec<u32>,
}

/// Whether uses are added or taken away.
#[derive(Clone, Copy)]
enum Count {
    More,
    Fewer,
}

impl Uses {
    fn is_used(&self, local: LocalId) -> bool {
        self.counts.get(local.index()).is_some_and(|&count| count > 0)
    }

    fn count(&mut self, term: &Term, how: Count) {
        let mut todo = vec![term];
        while let Some(term) = todo.pop() {
            if let TermKind::Local(local) = term.kind
                && let Some(count) = self.counts.get_mut(local.index())
            {
                match how {
                    Count::More => *count += 1,
                    Count::Fewer => *count -= 1,
                }
            }
            todo.extend(term.children());
        }
    }

    fn simplify(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Let(binds, body) => {
                self.simplify(body);
                self.simplify_binds(binds);
                if binds.is_empty() {
                    *term = std::mem::replace(body, Term::new(TermKind::Era, term.span));
                }
            }
            _ => term.children_mut().into_iter().for_each(|child| self.simplify(child)),
        }
    }

    /// The scope of all bindings has been simplified already. A later binding stands in the scope of an earlier one.
    fn simplify_binds(&mut self, binds: &mut Vec<Bind>) {
        for bind in binds.iter_mut().rev() {
            if self.is_needed(&mut bind.target) {
                self.simplify(&mut bind.value);
            } else {
                self.count(&bind.value, Count::Fewer);
            }
        }
        binds.retain_mut(|bind| self.is_needed(&mut bind.target));
    }

    /// Forgets the parts that are not used, and says whether anything is left.
    fn is_needed(&self, target: &mut Target) -> bool {
        match target {
            Target::Var(local) => self.is_used(*local),
            Target::Tuple(parts) | Target::Dup(parts) => {
                for part in parts.iter_mut() {
                    *part = part.filter(|&local| self.is_used(local));
                }
                parts.iter().any(Option::is_some)
            }
            Target::Link(_) => true,
        }
    }
}
