//! The interface of what runs functions in task form: a heap of cells, and calls of functions that work on it.
//!
//! Invariant: words go in and out as `u32`. A word that is given to a runner is given with its ownership, unless a method says that it
//! only looks; a word that comes out of a call is owned by the caller.

use crate::profile::{CallTree, Labels};
use crate::timeline::Timeline;
use crate::{Buffer, Device};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::heap::{GlobalId, LayoutId};
use girih_ir::{FunctionId, Module};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A heap on a device.
#[derive(Clone, Debug)]
pub struct DeviceHeap {
    /// The device. Until the next call nothing changes the heap.
    pub device: Device,
    /// Where the cells are.
    pub buffer: Buffer,
}

/// Memory for cells in the heap of a device.
#[derive(Clone, Debug)]
pub struct Reserved {
    /// The heap.
    pub heap: DeviceHeap,
    /// The first unit of 8 bytes.
    pub first: u32,
}

/// Why a run ended before its result was there. The heap can be asked for its statistics afterwards and for nothing else.
#[derive(Clone, Debug)]
pub enum Fault {
    /// `trap_if` with this code.
    Trap(u32),
    /// A global that is needed to compute itself.
    SelfDependent(GlobalId),
    /// More live cells than `limit` bytes hold.
    Memory {
        /// How many bytes.
        limit: u64,
        /// Where a cell was being made, if the runner can tell.
        at: Span,
    },
    /// Calls nested so deeply that what they keep takes more than `limit` bytes.
    Stack {
        /// How many bytes.
        limit: u64,
        /// A function that was being called, if the runner can tell; it is one of those that call each other.
        function: Option<FunctionId>,
    },
    /// The run was told to stop.
    Interrupted,
    /// Something else, told as a diagnostic.
    Device(Diagnostic),
}

impl Fault {
    /// The fault as a diagnostic, in terms of the IR. Who made the module knows better what its traps mean.
    pub fn diagnostic(&self, module: &Module) -> Diagnostic {
        let size = |bytes: &u64| {
            if *bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
        };
        match self {
            Fault::Trap(code) => Diagnostic::new(Code::Trap, Span::NONE, format!("trap {code}")),
            Fault::SelfDependent(id) => {
                let (name, span) =
                    module.globals.get(*id).map_or(("?", Span::NONE), |global| (global.name.as_str(), global.span));
                let message = format!("the global `@{name}` is needed to compute itself");
                Diagnostic::new(Code::SelfDependent, span, message)
            }
            Fault::Memory { limit, at } => {
                let message = format!("out of memory: the live data takes more than {}", size(limit));
                Diagnostic::new(Code::OutOfMemory, *at, message)
                    .hint("look for a recursion that never ends, or allow more with `--memory`")
            }
            Fault::Stack { limit, function } => {
                let function = function.and_then(|id| module.functions.get(id));
                let span = function.map_or(Span::NONE, |f| f.span);
                let name = function.map_or(String::new(), |f| format!(", those of `{}` among them", f.name));
                let message = format!("nested calls take more than {}{name}", size(limit));
                let hint = "look for a recursion that never ends, make the call the last step of the function, or allow more with `--memory`";
                Diagnostic::new(Code::TooManyCalls, span, message).hint(hint)
            }
            Fault::Interrupted => Diagnostic::new(Code::Interrupted, Span::NONE, "the program was stopped"),
            Fault::Device(diagnostic) => diagnostic.clone(),
        }
    }
}

/// What a run took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskStats {
    /// Cells that were made in new memory.
    pub allocated: u64,
    /// Cells that were made in memory of a reuse token.
    pub reused: u64,
    /// Cells whose memory was given back.
    pub freed: u64,
    /// Cells that live now.
    pub live: u64,
    /// Most cells that lived at a time, for runners that know it: threads that count each for themselves do not.
    pub most_live: Option<u64>,
    /// Bytes of the cells that live now; 0 if a runner counts them only when it is asked to ([`TaskOptions::count`]).
    pub live_bytes: u64,
    /// Most bytes of memory that cells took at a time.
    pub most_bytes: u64,
    /// Tasks that were forked.
    pub forks: u64,
    /// Tasks that ran on another thread than the one that forked them.
    pub steals: u64,
    /// Calls of functions, tail calls included.
    pub calls: u64,
    /// What else there is to say of a device on which functions run by fork-join. It counts no cells, forks and calls.
    pub steps: Option<StepStats>,
}

/// How kernels run functions in task form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// In steps that were planned before.
    Flattened,
    /// As reducers, which only combine results.
    Reducer,
    /// By fork-join.
    #[default]
    ForkJoin,
}

impl Schedule {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Schedule::Flattened => "flattened",
            Schedule::Reducer => "reducer",
            Schedule::ForkJoin => "fork-join",
        }
    }
}

/// What a run on a device took so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStats {
    /// How it ran.
    pub schedule: Schedule,
    /// Invocations that tasks are spread over.
    pub lanes: u32,
    /// Bytes that there are for cells.
    pub heap: u64,
    /// Supersteps in which there was something to do.
    pub steps: u64,
    /// Tasks that workgroups were given: calls, and frames that had what they waited for. What a workgroup shares out among its own lanes is
    /// not counted.
    pub tasks: u64,
    /// How often the host gave the device work, and looked what came of it.
    pub submissions: u64,
    /// Kernels that were in these submissions.
    pub dispatches: u64,
    /// How often cells that nobody needs were looked for, because the heap was full and might not grow.
    pub collections: u64,
}

/// How functions in task form run.
#[derive(Clone, Debug)]
pub struct TaskOptions {
    /// Most bytes of live cells.
    pub memory: u64,
    /// Most bytes of nested calls, of each thread.
    pub stack: u64,
    /// Set by another thread to end the run.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Whether `cell.open` gives reuse tokens; without it all memory is freed and allocated anew.
    pub reuse: bool,
    /// An artificial shortage: each n-th cell that is made fails for lack of memory, once.
    pub fail_each: Option<u64>,
    /// How many threads run tasks; a runner may have fewer.
    pub threads: usize,
    /// Whether cells, forks and calls are counted, which takes a little time. A runner may count anyway.
    pub count: bool,
    /// Whether it is to be found out where time and memory go: then one thread runs it, and counts. The labels of the module's functions.
    pub profile: Option<Arc<Labels>>,
    /// Whether a device that runs by fork-join is looked at after each superstep, which takes time: see [`Runner::timeline`].
    pub timeline: bool,
}

impl Default for TaskOptions {
    fn default() -> TaskOptions {
        TaskOptions {
            memory: 4 << 30,
            stack: 1 << 30,
            interrupt: None,
            reuse: true,
            fail_each: None,
            threads: 1,
            count: false,
            profile: None,
            timeline: false,
        }
    }
}

/// A heap, and functions that run on it.
pub trait Runner {
    /// Calls a function. Parameters and results are words of 32 bits: a `term`, a number of 32 bits, or a truth value as 0 or 1.
    fn call(&mut self, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, Fault>;
    /// The layout of the cell that a word names; none for other words and for what is no word of this heap. Only looks.
    fn layout(&self, cell: u32) -> Option<LayoutId>;
    /// A field of a cell; 0 if there is none. Only looks: a `term` that is kept must be shared.
    fn field(&self, cell: u32, field: usize) -> u32;
    /// A new cell, which takes the fields' ownership.
    fn new_cell(&mut self, layout: LayoutId, fields: &[u32]) -> Result<u32, Fault>;
    /// Makes two ownerships of one.
    fn share(&mut self, word: u32);
    /// Gives an ownership back.
    fn drop(&mut self, word: u32);
    /// The heap, if it is on a device, its cells standing as a `Walker` expects them: for kernels that look at it between
    /// calls.
    fn device_heap(&mut self) -> Option<DeviceHeap> {
        None
    }
    /// Memory for cells of so many units of 8 bytes, in a row: a kernel writes the cells before the next call, and owns them as
    /// the host owns what [`new_cell`](Self::new_cell) makes. None if the heap is not on a device, or holds only what calls make.
    fn reserve(&mut self, _units: u32) -> Result<Option<Reserved>, Fault> {
        Ok(None)
    }
    /// What was taken so far.
    fn stats(&self) -> TaskStats;
    /// Where time and memory went, if that was to be found out and something has run; it is not found out any longer.
    fn profile(&mut self) -> Option<CallTree> {
        None
    }
    /// What the device did while time went on, if that was to be found out and it ran by fork-join.
    fn timeline(&self) -> Option<Timeline> {
        None
    }
    /// Why cells could not be looked at, if that has happened: what was seen since then is nothing.
    fn trouble(&self) -> Option<Diagnostic> {
        None
    }
    /// Gives back all cells but those that some words lead to, and says what these words are now. None if cells are given back as they are dropped.
    fn keep_only(&mut self, _words: &[u32]) -> Result<Option<Vec<u32>>, Fault> {
        Ok(None)
    }
    /// Whether much of a heap is taken that may not grow, and what nobody needs is given back by [`keep_only`](Self::keep_only) alone.
    fn is_crowded(&self) -> bool {
        false
    }
    /// Forgets all cells, where memory is not given back otherwise, and the fault that a run has ended with.
    fn renew(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}
