//! The rules of the IR. A module that passes is [`Verified`], and later stages may trust it: code generators have no errors of
//! their own for wrong kernels.
//!
//! | rules about | see |
//! |---|---|
//! | ids that refer to nothing, regions held twice | [`form`] |
//! | where regions end, what is visible where | [`structure`] |
//! | which terminator belongs where, what regions give and get | [`flow`] |
//! | suffixes, operands, results, constants | [`types`] |
//! | attributes | [`attributes`] |
//! | memories and accesses | [`memory`] |
//! | parameters, workgroups, `launch` regions | [`launch`] |
//! | callees, recursion, writes through parameters | [`calls`] |
//! | layouts, globals, cells, forks | [`heap`] |
//! | shapes of tiles, regions that work by element | [`tiles`] |
//! | which functions are in tile form, and what they may contain | [`tile_form`](mod@tile_form) |
//! | which functions are in task form, and what they may contain | [`task_form`](mod@task_form) |
//! | who owns which term | [`ownership`] |
//! | asynchronous copies and warpgroup products | [`asynchronous`] |
//! | what all invocations reach together | [`uniformity`] |
//!
//! Invariant: no module makes the verifier panic, not even one that no text could produce. A function whose tables do not fit together is
//! reported once and not examined further; rules about the whole module run only if all functions' tables fit.

mod asynchronous;
mod attributes;
mod calls;
mod flow;
mod form;
mod heap;
mod launch;
mod memory;
mod names;
mod ownership;
mod structure;
mod task_form;
mod tile_form;
mod tiles;
mod types;
pub mod uniformity;
mod warpgroups;

pub use task_form::task_form;
pub use tile_form::tile_form;

use super::function::{FunctionId, Module};
use form::Form;
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::span::Span;

/// Something that follows the rules.
#[derive(Clone, Debug)]
pub struct Verified<T>(T);

impl<T> std::ops::Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Verified<Module> {
    /// What passes made of a verified module. They keep to the rules: whether they do is looked at in debug builds, where it would be their bug, and
    /// not in others, where it would only take time.
    pub fn by_passes(module: Module) -> Result<Verified<Module>, Vec<Diagnostic>> {
        if cfg!(debug_assertions) { verify(module) } else { Ok(Verified(module)) }
    }
}

impl<T> Verified<T> {
    /// Gives the module up for changes; it has to be verified again.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Checks a module against the rules: one diagnostic for each that is broken, in the text's order.
pub fn verify(module: Module) -> Result<Verified<Module>, Vec<Diagnostic>> {
    let found = check(&module);
    if found.is_empty() { Ok(Verified(module)) } else { Err(found) }
}

/// What is wrong with a module: one diagnostic for each rule that is broken, in the text's order.
pub fn check(module: &Module) -> Vec<Diagnostic> {
    let mut found = vec![];
    repeated(module.functions.iter().map(|f| (&f.name, f.span)), "", &mut found);
    heap::tables(module, &mut found);
    let mut forms: IndexVec<FunctionId, Option<Form>> = IndexVec::new();
    for function in module.functions.iter() {
        match form::check(function) {
            Ok(form) => drop(forms.push(Some(form))),
            Err(diagnostic) => {
                found.push(diagnostic);
                forms.push(None);
            }
        }
    }
    for (id, form) in forms.iter_enumerated() {
        if let Some(form) = form {
            let before = found.len();
            structure::check(module, id, form, &mut found);
            if found.len() == before {
                ownership::check(module, &module.functions[id], form, &mut found);
            }
        }
    }
    if forms.iter().all(Option::is_some) {
        let task_form = task_form(module);
        task_form::check(module, &task_form, &mut found);
        tile_form::check(module, &task_form, &mut found);
        tiles::called_by_element(module, &mut found);
        calls::writes(module, &mut found);
        if !calls::recursion(module, &mut found) {
            uniformity::check(module, &task_form, &mut found);
            warpgroups::whole(module, &mut found);
        }
    }
    found.sort_by_key(|d| d.span());
    found
}

/// Reports names that stand twice; `what` stands before them in the message.
fn repeated<'a>(names: impl Iterator<Item = (&'a Name, Span)>, what: &str, found: &mut Vec<Diagnostic>) {
    let mut seen = FastMap::default();
    for (name, span) in names {
        if let Some(first) = seen.insert(name, span) {
            found.push(
                Diagnostic::new(Code::IrRepeated, span, format!("{what}`@{name}` is defined twice"))
                    .label(first, "here the first time")
                    .hint("give one of them another name"),
            );
        }
    }
}
