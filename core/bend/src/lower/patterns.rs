//! Patterns that always fit: those of assignments, `let`, `ask` and lambdas.

use super::Lowering;
use super::definition_scope::Binding;
use super::literals::hidden;
use crate::ast::{Pattern, PatternKind};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_term::{Bind, LocalId, Target, Term, TermKind};

impl Lowering<'_> {
    /// Binds the parts of a value to the variables of a pattern, which come into scope.
    pub(super) fn bind_pattern(&mut self, pattern: &Pattern, value: Term, binds: &mut Vec<Bind>) {
        let mut pending = vec![(pattern, value)];
        while let Some((pattern, value)) = pending.pop() {
            let target = match &pattern.node {
                PatternKind::Wild => Target::Var(self.local(hidden("unused"), pattern.span)),
                PatternKind::Var(name) => Target::Var(self.bind_local(name, pattern.span)),
                PatternKind::Link(name) => Target::Link(name.clone()),
                PatternKind::Tuple(parts) => Target::Tuple(self.bind_parts(parts, &mut pending)),
                PatternKind::Sup(parts) => Target::Dup(self.bind_parts(parts, &mut pending)),
                PatternKind::Ctor(..)
                | PatternKind::List(_)
                | PatternKind::Str(_)
                | PatternKind::Num(_)
                | PatternKind::Char(_) => {
                    self.error(Code::UnexpectedText, pattern.span, "this pattern may not fit: use `match`");
                    Target::Var(self.local(hidden("unused"), pattern.span))
                }
            };
            if let (Target::Var(local), true) = (&target, self.is_in_io()) {
                let def = self.innermost().def;
                self.bound_in_io.insert((def, *local));
            }
            binds.push(Bind { target, value });
        }
    }

    /// Variables for the parts of a pattern. A part that is itself a pattern is taken apart afterwards.
    fn bind_parts<'p>(&mut self, parts: &'p [Pattern], pending: &mut Vec<(&'p Pattern, Term)>) -> Vec<Option<LocalId>> {
        let first = pending.len();
        let mut locals = vec![];
        for part in parts {
            locals.push(match &part.node {
                PatternKind::Wild => None,
                PatternKind::Var(name) => Some(self.bind_local(name, part.span)),
                _ => {
                    let local = self.local(hidden("part"), part.span);
                    pending.push((part, Term::new(TermKind::Local(local), part.span)));
                    Some(local)
                }
            });
        }
        pending[first..].reverse();
        locals
    }

    /// The parameters of a lambda, and the bindings at the start of its body that take them apart.
    pub(super) fn parameters(&mut self, patterns: &[Pattern]) -> (Vec<LocalId>, Vec<Bind>) {
        let (mut params, mut binds, mut compound) = (vec![], vec![], vec![]);
        for pattern in patterns {
            params.push(match &pattern.node {
                PatternKind::Wild => self.local(hidden("unused"), pattern.span),
                PatternKind::Var(name) => self.bind_local(name, pattern.span),
                _ => {
                    let local = self.local(hidden("part"), pattern.span);
                    compound.push((pattern, local));
                    local
                }
            });
        }
        for (pattern, local) in compound {
            self.bind_pattern(pattern, Term::new(TermKind::Local(local), pattern.span), &mut binds);
        }
        (params, binds)
    }

    /// Says that the variables of a pattern are known, but not what they are: an error was reported for their value.
    pub(super) fn poison(&mut self, pattern: &Pattern) {
        let mut pending = vec![pattern];
        while let Some(pattern) = pending.pop() {
            match &pattern.node {
                PatternKind::Var(name) => self.bind(name.clone(), pattern.span, Binding::Poisoned),
                PatternKind::Tuple(parts) | PatternKind::Sup(parts) => pending.extend(parts),
                PatternKind::Wild
                | PatternKind::Link(_)
                | PatternKind::Ctor(..)
                | PatternKind::List(_)
                | PatternKind::Str(_)
                | PatternKind::Num(_)
                | PatternKind::Char(_) => {}
            }
        }
    }

    /// A variable as a term.
    pub(super) fn local_term(&self, local: LocalId, span: Span) -> Term {
        Term::new(TermKind::Local(local), span)
    }
}
