//! Checks all definitions of a program, group by group, and collects their errors.
//!
//! A definition whose annotation says everything needs no group, since its type is known to all others from the start. A
//! definition with an error has the type of its annotation, with `Any` for what that leaves open, so that its
//! users do not fail because of it.

use super::annotation::{Mode, Seed, as_global, is_closed};
use super::groups::{Calls, calls, in_order, roots};
use super::infer::{Checked, Global, Infer, Locals};
use super::place::{Edits, untypeable};
use super::type_errors::Why;
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::idx::IndexVec;
use girih_base::plural::counted;
use girih_term::{Body, Def, DefId, Program, Term};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

/// How often a group of definitions that call each other is inferred again without those that have an error. A group with
/// more errors reports these first.
const ROUNDS: usize = 16;

/// What the checker has found out about a program.
pub(super) struct Solution {
    /// The type of each definition.
    pub types: IndexVec<DefId, Global>,
    /// What changes in the terms.
    pub edits: Edits,
    /// Definitions that have errors.
    pub failed: HashSet<DefId>,
}

/// Checks a program.
///
/// If `locals` is given, the types of local variables are added to it.
pub(super) fn solve(program: &Program, diags: &mut Diagnostics, locals: Option<&mut Locals>) -> Solution {
    let mut failed = HashSet::new();
    for (id, def) in program.defs.iter_enumerated() {
        if let Some(error) = untypeable_part(def) {
            diags.push(error);
            failed.insert(id);
        }
    }
    let is_checked = |id| checked_term(&program.defs[id]).is_some() && !failed.contains(&id);
    let calls = calls(program, &is_checked);
    let roots = roots(program, &calls);
    let mut clusters: BTreeMap<DefId, Vec<DefId>> = BTreeMap::new();
    for id in program.defs.ids().filter(|id| is_checked(*id)) {
        clusters.entry(roots[id]).or_default().push(id);
    }
    let known = |(id, def)| (!is_checked(id) || is_closed(def)).then(|| as_global(def));
    let globals = program.defs.iter_enumerated().map(known).collect();
    let (closed, open): (Vec<_>, Vec<_>) =
        clusters.into_values().partition(|cluster| is_closed(&program.defs[cluster[0]]));
    let locals = locals.map(RefCell::new);
    let mut work = Work { program, globals, calls, roots, edits: Edits::default(), failed, locals };
    for group in in_order(&open, &work.calls).into_iter().chain(closed) {
        work.solve_group(group, diags);
    }
    let types = work.globals.iter().zip(program.defs.iter());
    let types = types.map(|(global, def)| global.clone().unwrap_or_else(|| as_global(def))).collect();
    Solution { types, edits: work.edits, failed: work.failed }
}

/// The body of a definition that is to be checked.
fn checked_term(def: &Def) -> Option<&Term> {
    match &def.body {
        Body::Term(term) if def.check => Some(term),
        Body::Term(_) | Body::Net(_) => None,
    }
}

struct Work<'p> {
    program: &'p Program,
    globals: IndexVec<DefId, Option<Global>>,
    calls: Calls,
    roots: IndexVec<DefId, DefId>,
    edits: Edits,
    failed: HashSet<DefId>,
    /// The types of local variables, if they are wanted.
    locals: Option<RefCell<&'p mut Locals>>,
}

/// A group whose inference went well.
struct Solved {
    types: Vec<(DefId, Global)>,
    edits: Edits,
}

/// The error that a checked definition contains something that has no type.
fn untypeable_part(def: &Def) -> Option<Diagnostic> {
    let (term, what) = checked_term(def).and_then(untypeable)?;
    let message = format!("`{}` is type-checked, and {what} has no type", def.name);
    let error = Diagnostic::new(Code::Untypeable, term.span, message).label(def.span, "the definition");
    Some(error.hint("mark the definition `unchecked`, or leave its type annotation out"))
}

impl Work<'_> {
    fn solve_group(&mut self, mut group: Vec<DefId>, diags: &mut Diagnostics) {
        for _ in 0..ROUNDS {
            if group.is_empty() {
                return;
            }
            let solved = self.attempt(&group, Mode::Annotated);
            let solved = solved.or_else(|failure| self.attempt_like_bend(&group).ok_or(failure));
            match solved {
                Ok(solved) => return self.commit(solved),
                Err((id, error)) => {
                    diags.push(*error);
                    let root = self.roots[id];
                    let (broken, rest) = group.into_iter().partition(|other| self.roots[*other] == root);
                    self.fail(broken);
                    group = rest;
                }
            }
        }
        self.fail(group);
    }

    fn fail(&mut self, broken: Vec<DefId>) {
        for id in broken {
            self.globals[id] = Some(as_global(&self.program.defs[id]));
            self.failed.insert(id);
        }
    }

    fn commit(&mut self, solved: Solved) {
        for (id, global) in solved.types {
            self.globals[id] = Some(global);
        }
        self.edits.extend(solved.edits);
    }

    /// Infers the definitions of a group as Bend does: each by itself or with those that it calls in a cycle, without its
    /// annotation.
    fn attempt_like_bend(&mut self, group: &[DefId]) -> Option<Solved> {
        let singles: Vec<Vec<DefId>> = group.iter().map(|id| vec![*id]).collect();
        let before: Vec<Option<Global>> = group.iter().map(|id| self.globals[*id].clone()).collect();
        let mut whole = Solved { types: Vec::new(), edits: Edits::default() };
        let mut is_solved = true;
        for part in in_order(&singles, &self.calls) {
            let Ok(solved) = self.attempt(&part, Mode::Inferred) else {
                is_solved = false;
                break;
            };
            for (id, global) in solved.types {
                self.globals[id] = Some(global.clone());
                whole.types.push((id, global));
            }
            whole.edits.extend(solved.edits);
        }
        for (id, global) in group.iter().zip(before) {
            self.globals[*id] = global;
        }
        is_solved.then_some(whole)
    }

    fn show_locals(&self, infer: &mut Infer<'_>) {
        if let Some(locals) = &self.locals {
            infer.shown_locals(&mut locals.borrow_mut());
        }
    }

    /// Infers a group. If that fails: the first definition with an error.
    fn attempt(&self, group: &[DefId], mode: Mode) -> Result<Solved, (DefId, Box<Diagnostic>)> {
        let mut infer = Infer::new(self.program, &self.globals, mode);
        let mut seeds = Vec::with_capacity(group.len());
        for &id in group {
            let seed = infer.seed(id).ok_or_else(|| (id, too_few_parameters(&self.program.defs[id])))?;
            if self.globals[id].is_none() || mode == Mode::Inferred {
                infer.group.insert(id, seed.in_group);
            }
            seeds.push((id, seed));
        }
        for (id, seed) in &seeds {
            let done = infer.definition(*id, seed);
            infer.leave();
            if let Err(error) = done {
                self.show_locals(&mut infer);
                return Err((*id, error));
            }
        }
        let mut edits = Edits::default();
        infer.settle(&mut edits);
        self.show_locals(&mut infer);
        let types = seeds.into_iter().map(|(id, seed)| {
            let span = self.program.defs[id].span;
            let found = infer.types.unify(seed.in_group, seed.whole);
            let concluded = found.and_then(|found| infer.conclude(id, found));
            concluded.map(|global| (id, global)).map_err(|clash| (id, infer.clash(clash, span, "has")))
        });
        Ok(Solved { types: types.collect::<Result<_, _>>()?, edits })
    }
}

impl<'p> Infer<'p> {
    /// Infers or checks the body of a definition of the group.
    fn definition(&mut self, id: DefId, seed: &Seed) -> Checked<()> {
        self.enter(id, &seed.params);
        let program = self.program;
        let Some(body) = checked_term(&program.defs[id]) else { return Ok(()) };
        match self.mode {
            Mode::Annotated => self.check(body, seed.result, Why::Result(id)),
            Mode::Inferred => {
                let found = self.infer(body)?;
                self.coerce(body, found, seed.result, Why::Result(id)).map(|_| ())
            }
        }
    }
}

fn too_few_parameters(def: &Def) -> Box<Diagnostic> {
    let has = counted(def.params.len(), "parameter");
    let message = format!("`{}` has {has}, but its annotation says fewer", def.name);
    Box::new(
        Diagnostic::new(Code::TypeMismatch, def.span, message)
            .hint("the annotation of a function of two parameters is `a -> b -> result`"),
    )
}
