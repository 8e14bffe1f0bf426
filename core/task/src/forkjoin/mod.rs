//! Task form to kernel form: programs with calls, forks and a heap as kernels that any device runs, in *epochs*.
//!
//! No invocation may wait for another one (WebGPU promises no progress between workgroups), so work goes on in bulk-synchronous steps. In
//! an epoch each invocation, a *lane*, goes on with what it was doing or takes a *task* from a queue: a function to call, or a frame to go
//! on with. What it makes for others (tasks, frames that have all that they wait for) is theirs in the next epoch, so everything that
//! a lane reads of another one lies behind the end of a dispatch, and relaxed atomics suffice.
//!
//! | file | its idea |
//! |---|---|
//! | [`leaves`] | small functions become part of their callers |
//! | [`loop_exits`] | what a loop does when it is over stands behind it |
//! | [`liveness`] | which values the code behind an instruction needs |
//! | [`points`] | where functions are left and gone on with |
//! | [`labels`] | the points that code goes to, and where their values stand then |
//! | [`segments`] | the code from a point to where it is left |
//! | [`entering`] | calls on the way of a segment |
//! | [`loops`] | loops on the way of a segment |
//! | [`copier`] | code that stays within its segment |
//! | [`cells`] | cells of the device's heap |
//! | [`lane`] | what a lane's code needs the names of |
//! | [`sites`] | places in the source where memory may be lacking |
//! | [`pointers`] | which words name cells |
//! | [`machine`] | the kernel: rounds of a workgroup, a lane's loop |
//! | [`rounds`] | what a workgroup does between two rounds |
//! | [`writing`] | writing the machine |
//! | [`steps`] | what a lane does in a step |
//! | [`near`] | the newest frames of stacks, in shared memory |
//! | [`spills`] | stacks that are full: their frames go to the pool |
//! | [`calls`] | ends of calls, waits, tasks made of what stacks hold |
//! | [`frames`] | frames of the pool |
//! | [`tasks`] | queues of tasks |
//! | [`chunks`] | memory for a workgroup's cells |
//! | [`planner`] | the kernel between two epochs |
//! | [`memory`] | what stands where in the buffers |
//!
//! Work is shared on two levels. A workgroup has a queue of its own, and shares work among its lanes between barriers, many times an epoch;
//! between epochs, what workgroups have given away is shared out among all.
//!
//! Words say by their tag who owns a cell: who has a word of tag [`CELL`](girih_ir::heap::CELL) has the only one and may use the cell's
//! memory again; what is read through a *shared* word, and both words that `term.share` gives, are shared for ever.

mod calls;
mod cells;
mod chunks;
pub(super) mod copier;
mod entering;
mod frames;
mod labels;
mod lane;
mod leaves;
pub mod liveness;
mod loop_exits;
mod loops;
mod machine;
pub mod memory;
mod near;
mod planner;
pub mod pointers;
mod points;
mod rounds;
pub mod runner;
mod segments;
mod sites;
mod spills;
mod steps;
mod tasks;
mod writing;

use crate::heap::cells::largest;
use crate::loops::accumulate::accumulate;
use crate::loops::chains::chains;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::heap::GlobalId;
use girih_ir::ops::Family;
use girih_ir::{Function, FunctionId, Module, Op, Verified, verify};
use memory::ProgramSizes;
use points::Point;
pub use segments::Depth;
use segments::SegmentWriter;
use sites::Sites;
use std::collections::HashSet;

/// A program as kernels.
#[derive(Debug)]
pub struct ForkJoin {
    /// The kernels [`run`](Self::run) and [`plan`](Self::plan), and what they call.
    pub module: Verified<Module>,
    /// Goes on for one epoch.
    pub run: FunctionId,
    /// Stands before each epoch.
    pub plan: FunctionId,
    /// Where the kernels find what.
    pub shape: ProgramSizes,
    /// The label at which each function that the host may call begins.
    pub entries: Vec<(FunctionId, u32)>,
    /// The places in the source that [`control::PLACE`](memory::control::PLACE) names where memory was lacking; 1 is the first.
    pub sites: Vec<Span>,
    /// Of each label the function that it is in, and the global whose value goes on there.
    pub labels: Vec<(FunctionId, Option<GlobalId>)>,
    /// Of each label what its registers and what it keeps are: [`pointers`].
    pub pointers: Vec<u32>,
}

/// The form of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Invocations of a workgroup.
    pub workgroup: u32,
    /// How many frames a lane's stack has room for, if they are not large. A stack that is full goes to the pool as a whole, in global memory, so a
    /// search that is deeper than its stack takes up to three times as long.
    pub stack: u32,
    /// How many words of a lane's newest frames stand in shared memory at most, if the program makes no cells: those need the cache, of which shared
    /// memory is a part.
    pub near: u32,
    /// How far calls are gone into where they are made.
    pub depth: Depth,
    /// How many instructions the kernel may have before calls are gone into less far: a driver's compiler takes more than twice as long for
    /// twice the code, and a lane that waits for its code does nothing.
    pub code: usize,
}

/// Words that a lane's stack should not exceed. Where frames are large it has room for fewer of them, but never for less than half of what the form
/// says, nor for less than a step needs.
const STACK_WORDS: u32 = 1 << 10;

/// Frames of a stack that shared memory must have room for beside those that a segment pushes, or else has none.
const NEAR: u32 = 3;

/// How many calls are gone into within each other beyond the first where frames stand in shared memory: each may become a frame, and there must be room
/// for all of them.
const FEW_CALLERS: usize = 1;

/// How far calls are gone into where a kernel would be larger than its form allows, by [`Depth::segment`] and [`Depth::function`]: the first of these
/// with which it is not, or else the last.
const SHALLOWER: [(i64, usize); 2] = [(30, 10), (0, 0)];

impl Form {
    /// Kernels for graphics cards.
    pub const FAST: Form = Form {
        workgroup: 128,
        stack: 64,
        near: 48,
        depth: Depth { segment: 60, function: 20, recursion: 1, callers: 8 },
        code: 4400,
    };
    /// Kernels that compile fast, for software adapters.
    pub const SMALL: Form = Form {
        workgroup: 32,
        stack: 16,
        near: 24,
        depth: Depth { segment: 0, function: 0, recursion: 0, callers: 0 },
        code: usize::MAX,
    };
}

/// Lowers a module in task form, for calls of these functions. No parameter may be borrowed.
///
/// # Errors
/// If a value of a type that no register holds lives across a call.
pub fn lower(module: &Module, called: &[FunctionId], form: &Form) -> Result<ForkJoin, Vec<Diagnostic>> {
    let one = |d| vec![d];
    let mut module = module.clone();
    accumulate(&mut module);
    chains(&mut module);
    whole_loops(&mut module, called).map_err(one)?;
    let module = &module;
    let framed = framed(module, called);
    let mut out = Module::default();
    let pure = copy_pure(module, &framed, &mut out);
    let sites = Sites::of(module);
    let write = |shape: &ProgramSizes, depth: Depth| {
        let mut writer = SegmentWriter::new(module, &framed, &pure, &sites, depth);
        let entry = |f: &FunctionId| Ok((*f, writer.label(*f, Point::Entry)?));
        let entries = called.iter().map(entry).collect::<Result<Vec<_>, Diagnostic>>()?;
        let kernel = machine::machine(&mut writer, shape)?;
        Ok((kernel, writer, entries))
    };
    // How many registers there must be is known once all segments are written: they are written twice.
    let largest = largest(module);
    let fixed = ProgramSizes {
        workgroup: form.workgroup,
        stack: form.stack,
        largest,
        globals: module.globals.len() as u32,
        registers: 1,
        ..ProgramSizes::default()
    };
    let sizes = |writer: &SegmentWriter<'_, '_>| ProgramSizes {
        registers: writer.labels.registers.max(arguments(module, called)).max(1),
        results: writer.labels.results,
        kept: writer.labels.kept,
        pushes: writer.pushes,
        reserve: writer.reserve,
        ..fixed
    };
    let mut depth = form.depth;
    let (mut kernel, mut writer, _) = write(&fixed, depth).map_err(one)?;
    let mut is_near = false;
    if writer.reserve == 0 && form.near > 0 {
        let few = Depth { callers: depth.callers.min(FEW_CALLERS), ..depth };
        let written = write(&fixed, few).map_err(one)?;
        is_near = frames_near(form, &sizes(&written.1)) > 0;
        if is_near {
            depth = few;
            (kernel, writer, _) = written;
        }
    }
    for (segment, function) in SHALLOWER {
        if instructions(&kernel) > form.code && segment < depth.segment {
            let recursion = depth.recursion.min(function);
            depth = Depth { segment, function, recursion, ..depth };
            (kernel, writer, _) = write(&fixed, depth).map_err(one)?;
        }
    }
    let shape = sizes(&writer);
    let stack = (STACK_WORDS / shape.stack_frame()).clamp(form.stack / 2, form.stack);
    let near = if is_near { frames_near(form, &shape) } else { 0 };
    let shape = ProgramSizes { stack: stack.max(2 * shape.pushes + 3), near, ..shape };
    let (kernel, mut writer, entries) = write(&shape, depth).map_err(one)?;
    let pointers = pointers::pointers(&mut writer, shape.registers, shape.kept).map_err(one)?;
    let labels = writer.labels.all.iter().map(|(function, point)| (*function, waits_for(module, *function, *point)));
    let labels = labels.collect();
    let plan = out.functions.push(planner::planner(&shape));
    let run = out.functions.push(kernel);
    Ok(ForkJoin { module: verify(out)?, run, plan, shape, entries, sites: sites.spans(), labels, pointers })
}

/// Has iterations of loops stay in them, where that can be: what they call becomes part of them, and what they do in the end stands behind them.
///
/// # Errors
/// If a function would become too large.
pub fn whole_loops(module: &mut Module, called: &[FunctionId]) -> Result<(), Diagnostic> {
    let framed = framed(module, called);
    leaves::leaves(module, &framed)?;
    loop_exits::loop_exits(module, &framed);
    Ok(())
}

/// The most arguments that a function takes which the host calls.
fn arguments(module: &Module, called: &[FunctionId]) -> u32 {
    called.iter().map(|f| module.functions[*f].params.len() as u32).max().unwrap_or(0)
}

/// How many frames of a stack stand in shared memory: a power of two, because remainders by it are cheap; none if so few have room that they would
/// go to and fro.
fn frames_near(form: &Form, shape: &ProgramSizes) -> u32 {
    let near = (form.near / shape.stack_frame()).checked_ilog2().map_or(0, |log| 1 << log);
    if near < shape.pushes + NEAR { 0 } else { near }
}

fn instructions(function: &Function) -> usize {
    let mut count = 0;
    function.walk(function.body, &mut |_, _| count += 1);
    count
}

/// The global whose value goes on at a point.
fn waits_for(module: &Module, function: FunctionId, point: Point) -> Option<GlobalId> {
    match point {
        Point::After(inst) => {
            let inst = &module.functions[function].insts[inst];
            if inst.op == Op::GlobalGet { inst.global() } else { None }
        }
        Point::Entry | Point::Head(_) => None,
    }
}

/// The functions that have frames: those that work on cells, make tasks or may trap, and whoever calls such; those that call themselves;
/// those that the host calls.
pub(super) fn framed(module: &Module, called: &[FunctionId]) -> HashSet<FunctionId> {
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
    let recursive = girih_base::cycles::on_cycle(&edges);
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
pub(super) fn copy_pure(
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
            out.functions.push(copier::as_words(function, &new));
        }
    }
    new
}

/// Copies the functions that have no frames to another module, for calls of one that has; gives their numbers there.
pub(super) fn pure(module: &Module, called: FunctionId, out: &mut Module) -> IndexVec<FunctionId, Option<FunctionId>> {
    copy_pure(module, &framed(module, &[called]), out)
}

fn refused(span: Span, what: String) -> Diagnostic {
    Diagnostic::new(Code::Internal, span, what)
}
