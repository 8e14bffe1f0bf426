//! Parameters that a function only reads: their fields, their tag, their number. For these there are copies of the function, made when
//! somebody needs them, that borrow them: who calls goes on to own the argument, and nobody counts.
//!
//! Functions that are applied are lent in the same way, and what they have captured is lent to their bodies: `TermWriter::function_and_arguments`.
//!
//! A parameter is read if each of its uses is matched, taken apart, switched on, an operand, passed to a parameter that is read, or comes last:
//! what the function gives, or gives to a function that is a variable. These are the greatest set of which that is true. What is kept of a borrowed value, one of its fields for example, is
//! shared.

use super::super::flow::{Instance, Set, What};
use super::Lowering;
use girih_term::groups::closed_leaves;
use girih_term::{Arm, Bind, Body, LocalId, Match, Target, Term, TermKind};
use std::collections::HashSet;

/// Parameters of copies of definitions, by their positions.
pub type Borrows = HashSet<(Instance, usize)>;

/// The parameters that can be borrowed.
pub fn borrows(all: &Lowering<'_>) -> Borrows {
    let mut found = Borrows::new();
    for &instance in all.flow.instances() {
        for (i, param) in all.program.defs[instance.def].params.iter().enumerate() {
            if is_data(all, all.flow.local(instance, *param)) {
                found.insert((instance, i));
            }
        }
    }
    loop {
        let kept: Borrows = found.iter().copied().filter(|(instance, i)| reads(all, &found, *instance, *i)).collect();
        if kept.len() == found.len() {
            return found;
        }
        found = kept;
    }
}

/// Whether what a set holds may be cells, none of which is a function, and nothing waits to be computed.
fn is_data(all: &Lowering<'_>, set: &Set) -> bool {
    let data = |shape: &super::ShapeId| match all.flow.shapes()[*shape].what {
        What::Ctor(_) | What::Pair => true,
        What::Closure(_) | What::Partial(..) => false,
    };
    let functions = set.functions.is_empty() && set.makers.is_empty() && set.selectors.is_empty();
    !set.shapes.is_empty() && set.shapes.iter().all(data) && functions && set.thunks.is_empty()
}

fn reads(all: &Lowering<'_>, found: &Borrows, instance: Instance, position: usize) -> bool {
    let def = &all.program.defs[instance.def];
    match &def.body {
        Body::Term(body) => Reader { all, found, instance, local: def.params[position] }.reads_or_gives(body),
        Body::Net(_) => false,
    }
}

struct Reader<'a, 'p> {
    all: &'a Lowering<'p>,
    found: &'a Borrows,
    instance: Instance,
    local: LocalId,
}

impl Reader<'_, '_> {
    fn is_it(&self, term: &Term) -> bool {
        matches!(term.kind, TermKind::Local(local) if local == self.local)
    }
    /// Whether a term only reads the variable, or does so in a place where that is possible.
    fn reads_or_is(&self, term: &Term) -> bool {
        self.is_it(term) || self.reads(term)
    }
    /// Whether a function's body only reads the variable, or gives it on some way.
    fn reads_or_gives(&self, body: &Term) -> bool {
        match &body.kind {
            TermKind::Match(choice) => {
                let bodies = choice.arms.iter().map(|arm| &arm.body).chain(&choice.default);
                let whole = |arm: &Arm| match arm.whole {
                    Some(local) if self.is_it(&choice.scrutinee) => Reader { local, ..*self }.reads_or_gives(&arm.body),
                    Some(_) | None => true,
                };
                self.reads_or_is(&choice.scrutinee)
                    && choice.arms.iter().all(whole)
                    && bodies.into_iter().all(|body| self.reads_or_gives(body))
            }
            TermKind::Switch(choice) => {
                let bodies = choice.cases.iter().map(|(_, body)| body).chain([&choice.default]);
                self.reads_or_is(&choice.scrutinee) && bodies.into_iter().all(|body| self.reads_or_gives(body))
            }
            TermKind::Let(binds, body) => self.reads_binds(binds) && self.reads_or_gives(body),
            TermKind::Apply(function, args) if matches!(function.kind, TermKind::Local(_)) => {
                self.reads(function) && args.iter().all(|arg| self.reads_or_is(arg))
            }
            _value => self.reads_or_is(body),
        }
    }
    /// Whether a choice only reads the variable before it has chosen.
    fn reads_choice(&self, choice: &Match) -> bool {
        let kept = |arm: &Arm| arm.whole.is_some_and(|whole| super::forks::uses(&arm.body, &[whole]));
        self.reads_or_is(&choice.scrutinee) && !(self.is_it(&choice.scrutinee) && choice.arms.iter().any(kept))
    }
    fn reads_binds(&self, binds: &[Bind]) -> bool {
        binds.iter().all(|Bind { target, value }| match target {
            Target::Tuple(parts) if parts.len() > 1 => self.reads_or_is(value),
            Target::Tuple(_) | Target::Var(_) | Target::Dup(_) | Target::Link(_) => self.reads(value),
        })
    }
    /// Whether a term only reads the variable.
    fn reads(&self, term: &Term) -> bool {
        match &term.kind {
            TermKind::Match(choice) => {
                let bodies = choice.arms.iter().map(|arm| &arm.body).chain(&choice.default);
                self.reads_choice(choice) && bodies.into_iter().all(|body| self.reads(body))
            }
            TermKind::Switch(choice) => {
                self.reads_or_is(&choice.scrutinee)
                    && choice.cases.iter().map(|(_, body)| body).chain([&choice.default]).all(|body| self.reads(body))
            }
            TermKind::Op(_, a, b) => self.reads_or_is(a) && self.reads_or_is(b),
            TermKind::Prim(_, args) => args.iter().all(|arg| self.reads_or_is(arg)),
            TermKind::Let(binds, body) => self.reads_binds(binds) && self.reads(body),
            TermKind::Apply(function, args) => {
                let callee = match function.kind {
                    TermKind::Global(def) if args.len() == self.all.program.defs[def].params.len() => {
                        Some(self.all.flow.callee(self.instance, term).unwrap_or(Instance::from(def)))
                    }
                    _ => None,
                };
                let passed = |(i, arg): (usize, &Term)| match callee {
                    Some(callee) if self.is_it(arg) => self.found.contains(&(callee, i)),
                    _ => self.reads(arg),
                };
                let function = match &function.kind {
                    TermKind::Lambda(params, body) if params.len() == args.len() => self.reads(body),
                    _ => self.reads(function),
                };
                function && args.iter().enumerate().all(passed)
            }
            TermKind::Lambda(_, body) => !super::forks::uses(body, &[self.local]),
            TermKind::Local(_) => !self.is_it(term),
            closed_leaves!() | TermKind::List(_) | TermKind::Ctor(..) | TermKind::Tuple(_) | TermKind::Sup(_) => {
                term.children().into_iter().all(|child| self.reads(child))
            }
        }
    }
}
