//! Looks for what is not meant in a program without errors: definitions that nothing uses, runs that can never end, arguments that nothing takes
//! ([`arguments`]), and steps that do not run ([`steps`]).

mod arguments;
mod results;
pub(crate) mod steps;

use crate::testing;
use girih_base::cycles::on_cycle;
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::idx::IndexVec;
use girih_base::span::{SourceId, Sources};
use girih_term::simplify::simplify;
use girih_term::{Body, Def, DefId, Origin, Program, Term, TermKind};
use std::collections::HashSet;
use steps::BoundInIo;

/// Reports unused definitions of the entry point's file, endless ones, and what else is not meant. What a test uses is used. `bound` are the
/// variables that the lowering saw inside `with IO:`.
pub(super) fn lint(program: &Program, bound: &BoundInIo, sources: &Sources, diags: &mut Diagnostics) {
    arguments::excess_arguments(program, sources, diags);
    steps::steps_not_run(program, bound, sources, diags);
    unused_definitions(program, diags);
    endless_definitions(program, diags);
}

fn unused_definitions(program: &Program, diags: &mut Diagnostics) {
    let Some(entry) = program.entry else { return };
    let file: SourceId = program.defs[entry].span.source;
    let tests = program.defs.iter_enumerated().filter(|(_, def)| def.span.source == file && is_test(def));
    let mut reached: HashSet<DefId> = tests.map(|(id, _)| id).chain([entry]).collect();
    let mut pending: Vec<DefId> = reached.iter().copied().collect();
    while let Some(def) = pending.pop() {
        let used = match &program.defs[def].body {
            Body::Term(body) => body.globals(),
            Body::Net(net) => net.references().into_iter().filter_map(|name| program.def_named(name)).collect(),
        };
        pending.extend(used.into_iter().filter(|def| reached.insert(*def)));
    }
    for (id, def) in program.defs.iter_enumerated() {
        if def.origin == Origin::User && def.span.source == file && !reached.contains(&id) {
            let message = format!("`{}` is never used", def.name);
            diags.push(Diagnostic::new(Code::UnusedDefinition, def.span, message));
        }
    }
}

/// Whether `girih test` runs a definition.
fn is_test(def: &Def) -> bool {
    def.params.is_empty() && def.name.starts_with(testing::PREFIX)
}

/// Follows the calls that are certain to happen when the program runs. A definition that calls itself on every way through it
/// is reported if the program comes there for certain; it is none of our business in a branch that is never taken.
fn endless_definitions(program: &Program, diags: &mut Diagnostics) {
    let Some(entry) = program.entry else { return };
    let edges: IndexVec<DefId, Vec<DefId>> = program
        .defs
        .iter()
        .map(|def| {
            // Values that nothing uses are not computed.
            let mut def = def.clone();
            simplify(&mut def);
            match &def.body {
                Body::Term(body) => certain_calls(program, &def, body),
                Body::Net(_) => vec![],
            }
        })
        .collect();
    let endless = on_cycle(&edges);
    let mut reached: HashSet<DefId> = HashSet::from([entry]);
    let mut pending = vec![entry];
    while let Some(id) = pending.pop() {
        let def = &program.defs[id];
        if endless[id] && def.origin == Origin::User {
            let message = format!("`{}` calls itself on every path through it, so it never ends", def.name);
            diags.push(
                Diagnostic::new(Code::RecursionCycle, def.span, message)
                    .hint("put the recursive call into a branch that is not always taken"),
            );
        } else {
            pending.extend(edges[id].iter().filter(|callee| reached.insert(**callee)));
        }
    }
}

/// The definitions that are called for certain when this one is: not inside a function, and not in a branch.
fn certain_calls(program: &Program, def: &Def, body: &Term) -> Vec<DefId> {
    let mut found = vec![];
    let mut pending = vec![body];
    if let (true, TermKind::Global(other)) = (def.params.is_empty(), &body.kind) {
        found.extend(Some(*other).filter(|other| program.defs[*other].params.is_empty()));
    }
    while let Some(term) = pending.pop() {
        match &term.kind {
            TermKind::Lambda(..) => {}
            TermKind::Match(m) => pending.push(&m.scrutinee),
            TermKind::Switch(s) => pending.push(&s.scrutinee),
            TermKind::Apply(function, args) => {
                if let TermKind::Global(callee) = function.kind
                    && args.len() >= program.defs[callee].params.len()
                {
                    found.push(callee);
                }
                pending.extend(term.children());
            }
            _ => pending.extend(term.children()),
        }
    }
    found
}
