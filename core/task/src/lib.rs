//! The direct tier: compiles a program of the typed lambda core to functions of the [IR](girih_ir), like any other
//! language with values, closures and a heap.
//!
//! [`flow`] finds which values each variable may hold, and which cells may reach the same inspection. Facts that are certain
//! need no checks at run time: a variable of one number kind is a machine word, a field of one number kind is stored
//! without a tag, and a known function is called directly. Everything else is decided when the program runs.
//! No program is refused for its types. Only superpositions, scopeless variables and nets are left to the net tier.

pub mod bits;
pub mod cycles;
pub mod data;
pub mod device;
pub mod discover;
pub mod flatten;
pub mod flow;
pub mod forkjoin;
pub mod heap;
pub mod loops;
pub mod lower;
pub mod math;
pub mod pixels;
pub mod readback;
pub mod reducer;
mod refusal;
pub mod run;
mod simplify;
mod unboxing;
mod word;

pub use refusal::{Failure, Refusal};

use discover::{Discovered, discover};
use flow::{Callee, Flow, Instance, LambdaRef, Precision, Root, What, flow_with};
use girih_base::diag::Diagnostic;
use girih_ir::{Module, Verified};
use girih_term::DefId;
use girih_term::code::Code;
use lower::Direct;
use std::collections::HashSet;

/// Compiles what the entry of a program needs.
///
/// # Errors
/// If there is no entry, or it reaches something that only nets can run.
pub fn compile(code: &Code) -> Result<Direct, Vec<Diagnostic>> {
    let entry = code.program().entry.iter();
    let roots: Vec<Root> = entry.map(|def| Root { def: *def, arguments: vec![] }).collect();
    compile_for_threads(code, &roots)
}

/// Compiles what these roots need for threads, so that the host can [call](data::Words::call_root) each of them. The code is compiled for all of
/// them, and for the entry of its program, if that has one.
///
/// # Errors
/// If one reaches something that only nets can run.
pub fn compile_for_threads(code: &Code, roots: &[Root]) -> Result<Direct, Vec<Diagnostic>> {
    lowered(code, roots, true).and_then(|direct| in_halves(direct, false))
}

/// The same for one thread that counts calls: loops over ranges stay loops.
///
/// # Errors
/// If one reaches something that only nets can run.
pub fn compile_in_order(code: &Code, roots: &[Root]) -> Result<Direct, Vec<Diagnostic>> {
    lowered(code, roots, true)
}

/// The same for lanes of a device: every parameter is owned by who gets it, for words say themselves who owns a cell there.
///
/// # Errors
/// If one reaches something that only nets can run.
pub fn compile_for_lanes(code: &Code, roots: &[Root]) -> Result<Direct, Vec<Diagnostic>> {
    lowered(code, roots, false).and_then(|direct| in_halves(direct, true))
}

/// Small functions become part of others, and loops over ranges become recursion.
fn in_halves(direct: Direct, for_lanes: bool) -> Result<Direct, Vec<Diagnostic>> {
    let mut module = Module::clone(&direct.module);
    simplify::simplify(&mut module).map_err(|error| vec![error])?;
    loops::ranges::ranges(&mut module, for_lanes);
    Ok(Direct { module: Verified::by_passes(module)?, ..direct })
}

fn lowered(code: &Code, roots: &[Root], for_threads: bool) -> Result<Direct, Vec<Diagnostic>> {
    let (found, flow) = discovered(code, roots);
    lower::lower(&found, &flow, roots, for_threads)
}

/// The program that is lowered, and which values may be where in it.
pub fn discovered(code: &Code, roots: &[Root]) -> (Discovered, Flow) {
    let begins: Vec<DefId> = roots.iter().map(|root| root.def).chain(code.program().entry).collect();
    let analysed = |found: Discovered| {
        let flow = flow_with(&found.program, roots, Precision::default());
        (found, flow)
    };
    let mut except = HashSet::new();
    loop {
        let (found, flow) = analysed(discover(code.program(), &begins, &except));
        if is_shown(&found, &flow) {
            return analysed(Discovered::unchanged(code.program()));
        }
        let may_be_erased = |instance: &&Instance| flow.result(**instance).era;
        let wrong =
            flow.instances().iter().filter(|instance| found.assumed.contains(&instance.def)).filter(may_be_erased);
        let wrong: Vec<DefId> = wrong.map(|instance| instance.def).collect();
        if wrong.is_empty() {
            return (found, flow);
        }
        // Each round takes definitions out of those that something is assumed of, so this ends.
        except.extend(wrong);
    }
}

/// Whether the host may see a closure that the evaluator does not know.
fn is_shown(found: &Discovered, flow: &Flow) -> bool {
    let is_strange = |lambda: LambdaRef| found.recaptured.contains(&(lambda.instance.def, lambda.ordinal));
    flow.shapes().iter().filter(|shape| shape.external).any(|shape| match shape.what {
        What::Closure(lambda) | What::Partial(Callee::Lambda(lambda), _) => is_strange(lambda),
        What::Partial(Callee::Definition(_) | Callee::Constructor(_), _) | What::Ctor(_) | What::Pair => false,
    })
}
