//! Steps of `IO` that a `with IO:` binds by `=` and never uses: they do not run, and whoever wrote them expects that they do.

use super::results::{self, Gives};
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::span::{Sources, Span};
use girih_term::{Body, DefId, LocalId, Program, Target, Term, TermKind, TypeId};
use std::collections::HashSet;

/// The longest step that a hint repeats, in characters.
const SHOWN: usize = 60;

/// Variables that are bound by `=` inside `with IO:`, with their definitions.
pub(crate) type BoundInIo = HashSet<(DefId, LocalId)>;

/// Reports the steps among what these variables are bound to that nothing uses.
pub(super) fn steps_not_run(program: &Program, bound: &BoundInIo, sources: &Sources, diags: &mut Diagnostics) {
    let io = program.known.io_call.map(|ctor| program.ctors[ctor].ty);
    let defs: HashSet<DefId> = bound.iter().map(|(def, _)| *def).collect();
    for id in program.defs.ids().filter(|id| defs.contains(id)) {
        let Body::Term(body) = &program.defs[id].body else { continue };
        let (mut used, mut values) = (HashSet::new(), vec![]);
        let mut pending = vec![body];
        while let Some(term) = pending.pop() {
            match &term.kind {
                TermKind::Local(local) => _ = used.insert(*local),
                TermKind::Let(binds, _) => values.extend(binds.iter().filter_map(|bind| match bind.target {
                    Target::Var(local) if bound.contains(&(id, local)) => Some((local, &bind.value)),
                    _ => None,
                })),
                _ => {}
            }
            pending.extend(term.children());
        }
        values.retain(|(local, value)| !used.contains(local) && is_step(program, value, io));
        diags.extend(values.iter().map(|(_, value)| not_run(sources, value.span)));
    }
}

fn is_step(program: &Program, value: &Term, io: Option<TypeId>) -> bool {
    let gives = results::of_term(program, value);
    matches!(gives[..], [Gives::Data(ty)] if Some(ty) == io)
}

fn not_run(sources: &Sources, span: Span) -> Diagnostic {
    let text = sources.snippet(span);
    let step = if text.contains('\n') || text.chars().count() > SHOWN { "…" } else { text };
    let hint = match is_functional(sources, span) {
        true => format!("inside `with IO`, `ask * = {step}` runs it"),
        false => format!("inside `with IO:`, `* <- {step}` runs it"),
    };
    Diagnostic::new(Code::UnexpectedText, span, "this step of `IO` is not run").hint(hint)
}

/// Whether the value that stands at a place is bound by a `let`.
fn is_functional(sources: &Sources, span: Span) -> bool {
    let Some(source) = sources.get(span.source) else { return false };
    let before = source.text.get(..span.start as usize).unwrap_or_default();
    let binding = before.trim_end().trim_end_matches('=').trim_end();
    let start = binding.rfind(|c: char| c.is_whitespace()).map_or("", |at| binding[..at].trim_end());
    start.ends_with("let")
}
