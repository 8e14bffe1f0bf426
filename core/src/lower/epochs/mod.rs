//! Task form to kernel form: programs with calls, forks and a heap as kernels that any device runs, in *epochs*.
//!
//! No invocation may wait for another one (WebGPU promises no progress between workgroups), so work goes on in bulk-synchronous steps. In
//! an epoch each invocation, a *lane*, goes on with what it was doing or takes a *task* from a queue: a function to call, or a frame to go
//! on with. What it makes for others (tasks, frames that have all that they wait for) is theirs in the next epoch, so everything that
//! a lane reads of another one lies behind the end of a dispatch, and relaxed atomics suffice.
//!
//! | file | its idea |
//! |---|---|
//! | [`points`] | where functions are left and gone on with |
//! | [`labels`] | the numbered points of a module, and where their values stand in a lane's registers |
//! | [`segments`] | the code from a point to where it is left |
//! | [`cells`] | cells of the device's heap |
//! | [`machine`] | the kernel: a lane's loop |
//! | [`calls`] | calls, returns, forks, waits |
//! | [`storage`] | a lane's stack, the pool of frames, the queue of tasks |
//! | [`planner`] | the kernel between two epochs |
//! | [`memory`] | what stands where in the buffers |
//!
//! A lane keeps the frames of its calls in a stack of its own. A call or fork that others shall share has its frame in a pool instead: while
//! there are fewer tasks than lanes, a fork becomes a task, and a call's frame goes to the pool so that the fork inside it can be one.
//!
//! Words say by their tag who owns a cell: who has a word of tag [`CELL`](crate::ir::heap::CELL) has the only one and may use the cell's
//! memory again; what is read through a *shared* word, and both words that `term.share` gives, are shared for ever.

mod calls;
mod cells;
mod labels;
mod machine;
pub mod memory;
mod planner;
mod points;
mod segments;
mod storage;

use crate::diag::{Code, Diagnostic};
use crate::idx::IndexVec;
use crate::ir::ops::Family;
use crate::ir::{FunctionId, Module, Op, Verified, verify};
use crate::span::Span;
pub use cells::units;
use labels::Labels;
use std::collections::HashSet;

/// A program as kernels.
#[derive(Debug)]
pub struct Epochs {
    /// The kernels [`run`](Self::run) and [`plan`](Self::plan), and what they call.
    pub module: Verified<Module>,
    /// Goes on for one epoch.
    pub run: FunctionId,
    /// Stands before each epoch.
    pub plan: FunctionId,
    /// Where the kernels find what.
    pub shape: memory::Shape,
    /// The label at which each function that the host may call begins.
    pub entries: Vec<(FunctionId, u32)>,
}

/// Lowers a module in task form, for calls of these functions. No parameter may be borrowed.
///
/// # Errors
/// If a value of a type that no register holds lives across a call.
pub fn lower(module: &Module, called: &[FunctionId]) -> Result<Epochs, Vec<Diagnostic>> {
    let framed = framed(module, called);
    let labels = Labels::of(module, &framed).map_err(|d| vec![d])?;
    // Labels and layouts are halves of words.
    let most = labels.all.len().max(module.layouts.len());
    if most >= memory::label::RESUME as usize {
        let what = format!("a program of {most} segments or layouts is too large to run in epochs");
        return Err(vec![refused(Span::NONE, what).hint("run it with `--device cpu`")]);
    }
    let shape = labels.shape(module);
    let mut out = Module::default();
    let pure = copy_pure(module, &framed, &mut out);
    let plan = out.functions.push(planner::planner(&shape));
    let kernel = machine::machine(module, &framed, &labels, &shape, &pure).map_err(|d| vec![d])?;
    let run = out.functions.push(kernel);
    let entries = called.iter().filter_map(|f| Some((*f, labels.entry(*f)?))).collect();
    Ok(Epochs { module: verify(out)?, run, plan, shape, entries })
}

/// The functions that have frames: those that work on cells, make tasks or may trap, and whoever calls such; those that call themselves;
/// those that the host calls.
fn framed(module: &Module, called: &[FunctionId]) -> HashSet<FunctionId> {
    let mut framed: HashSet<FunctionId> = called.iter().copied().collect();
    let mut edges: IndexVec<FunctionId, Vec<FunctionId>> = IndexVec::new();
    for (id, function) in module.functions.iter_enumerated() {
        function.walk(function.body, &mut |_, inst| {
            if matches!(inst.op, Op::Tail | Op::Fork) {
                framed.extend(inst.callee());
            }
            let is_scalar = matches!(inst.op, Op::TermPack | Op::TermTag | Op::TermPayload);
            if inst.op == Op::TrapIf || matches!(inst.op.row().family, Family::Heap | Family::Task) && !is_scalar {
                framed.insert(id);
            }
        });
        edges.push(function.callees());
    }
    framed.extend(module.globals.iter().map(|global| global.function));
    let recursive = crate::cycles::on_cycle(&edges);
    framed.extend(recursive.ids().filter(|id| recursive[*id]));
    loop {
        let before = framed.len();
        for (id, called) in edges.iter_enumerated() {
            if called.iter().any(|callee| framed.contains(callee)) {
                framed.insert(id);
            }
        }
        if framed.len() == before {
            return framed;
        }
    }
}

/// Copies the functions that have no frames; gives their new numbers.
fn copy_pure(
    module: &Module,
    framed: &HashSet<FunctionId>,
    out: &mut Module,
) -> IndexVec<FunctionId, Option<FunctionId>> {
    let mut new: IndexVec<FunctionId, Option<FunctionId>> = IndexVec::new();
    let mut next = out.functions.next_id().index() as u32;
    for id in module.functions.ids() {
        let is_pure = !framed.contains(&id);
        new.push(is_pure.then(|| FunctionId::new(next)));
        next += u32::from(is_pure);
    }
    for (id, function) in module.functions.iter_enumerated() {
        if new[id].is_some() {
            out.functions.push(segments::as_words(function, &new));
        }
    }
    new
}

fn refused(span: Span, what: String) -> Diagnostic {
    Diagnostic::new(Code::Internal, span, what)
}
