//! Commands that are submitted many times: a graph of the driver, a node for each command, one behind the other.
//!
//! A launch that cannot be a node, because the host reads its grid or all its workgroups run at once, makes the whole a list again: the commands are
//! then put into the stream one by one.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::Cuda;
use super::context::Context;
use super::driver::check;
use super::launch::{Ready, Step};
use cudarc::driver::sys::{self, CUdeviceptr, CUgraph, CUgraphExec, CUgraphNode};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_runtime::driver::{Command, Dispatch, FIRST_QUEUE, QueueId, Replay};
use std::ffi::c_void;
use std::sync::Arc;

/// Commands that were made ready.
pub(super) struct Recorded {
    cuda: Cuda,
    /// None for a command that does nothing.
    steps: Vec<Option<Step>>,
    graph: Option<Graph>,
    /// The word in which all launches of the graph note traps: the one that the queue had to which it was submitted last. None while they differ.
    word: Option<CUdeviceptr>,
}

/// A graph that can be launched. Whoever drops it has waited for its work, or leaves it to [`State::retire`](super::State::retire).
pub(super) struct Graph {
    context: Arc<Context>,
    graph: CUgraph,
    exec: CUgraphExec,
    /// Of each command, its node.
    nodes: Vec<Option<CUgraphNode>>,
}

// SAFETY: handles of the driver, which takes them from any thread on which the context is current; one thread at a time has them.
unsafe impl Send for Graph {}
// SAFETY: nothing is done with a shared one.
unsafe impl Sync for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: both handles are this value's own and are not used afterwards; no work uses them. Errors have nobody to go to.
        self.context.free(|| unsafe {
            if !self.exec.is_null() {
                sys::cuGraphExecDestroy(self.exec);
            }
            sys::cuGraphDestroy(self.graph);
        });
    }
}

/// What the driver is told of a launch: it is passed on at once, for the pointers lead into the launch.
fn parameters(ready: &Ready, values: &mut [u64], pointers: &mut Vec<*mut c_void>) -> sys::CUDA_KERNEL_NODE_PARAMS {
    pointers.clear();
    pointers.extend(values.iter_mut().map(|value| std::ptr::from_mut(value).cast::<c_void>()));
    let ([gx, gy, gz], [x, y, z]) = (ready.grid, ready.program.shape.workgroup);
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: ready.kernel.function,
        gridDimX: gx,
        gridDimY: gy,
        gridDimZ: gz,
        blockDimX: x,
        blockDimY: y,
        blockDimZ: z,
        sharedMemBytes: ready.shared,
        kernelParams: pointers.as_mut_ptr(),
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}

/// Whether a command can be a node.
fn fits(step: &Step) -> bool {
    match step {
        Step::Launch(ready) => !ready.program.shape.cooperative,
        Step::Copy { .. } => true,
        // A graph fills whole words.
        Step::Clear { at, bytes } => (at | bytes).is_multiple_of(4),
        Step::Host { .. } => false,
    }
}

impl Graph {
    /// A graph of commands that note traps in a word. The context is current.
    fn new(cuda: &Cuda, steps: &[Option<Step>], word: CUdeviceptr) -> Result<Graph, Diagnostic> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        check(unsafe { sys::cuGraphCreate(&mut graph, 0) }, "make a graph")?;
        let mut made = Graph { context: cuda.context.clone(), graph, exec: std::ptr::null_mut(), nodes: vec![] };
        let mut last: Option<CUgraphNode> = None;
        for step in steps {
            let node = match step {
                Some(step) => Some(made.node(step, word, last)?),
                None => None,
            };
            last = node.or(last);
            made.nodes.push(node);
        }
        // SAFETY: the graph was made right here; the driver writes one handle.
        check(unsafe { sys::cuGraphInstantiateWithFlags(&mut made.exec, graph, 0) }, "make a graph ready")?;
        Ok(made)
    }

    fn node(&self, step: &Step, word: CUdeviceptr, last: Option<CUgraphNode>) -> Result<CUgraphNode, Diagnostic> {
        let mut node = std::ptr::null_mut();
        let (before, count) = (last.as_slice().as_ptr(), usize::from(last.is_some()));
        // What is safe of all three calls: the graph is this value's, the node before it is one of it, what describes the new one is copied before the call
        // returns, and the driver writes one handle. Memory lives as long as the recording, which has it; and so does the code.
        let result = match step {
            Step::Launch(ready) => {
                let (mut values, mut pointers) = (ready.values_for(word), vec![]);
                let told = parameters(ready, &mut values, &mut pointers);
                // SAFETY: as said above.
                unsafe { sys::cuGraphAddKernelNode_v2(&mut node, self.graph, before, count, &told) }
            }
            Step::Copy { from, to, bytes } => {
                let told = sys::CUDA_MEMCPY3D {
                    srcXInBytes: 0,
                    srcY: 0,
                    srcZ: 0,
                    srcLOD: 0,
                    srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    srcHost: std::ptr::null(),
                    srcDevice: *from,
                    srcArray: std::ptr::null_mut(),
                    reserved0: std::ptr::null_mut(),
                    srcPitch: 0,
                    srcHeight: 0,
                    dstXInBytes: 0,
                    dstY: 0,
                    dstZ: 0,
                    dstLOD: 0,
                    dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
                    dstHost: std::ptr::null_mut(),
                    dstDevice: *to,
                    dstArray: std::ptr::null_mut(),
                    reserved1: std::ptr::null_mut(),
                    dstPitch: 0,
                    dstHeight: 0,
                    WidthInBytes: *bytes as usize,
                    Height: 1,
                    Depth: 1,
                };
                // SAFETY: as said above.
                unsafe { sys::cuGraphAddMemcpyNode(&mut node, self.graph, before, count, &told, self.context.raw()) }
            }
            Step::Clear { at, bytes } => {
                let width = *bytes as usize / 4;
                let told =
                    sys::CUDA_MEMSET_NODE_PARAMS { dst: *at, pitch: 0, value: 0, elementSize: 4, width, height: 1 };
                // SAFETY: as said above.
                unsafe { sys::cuGraphAddMemsetNode(&mut node, self.graph, before, count, &told, self.context.raw()) }
            }
            Step::Host { .. } => {
                let message = "a launch whose grid the host reads is no node of a graph";
                return Err(Diagnostic::new(Code::Internal, Span::NONE, message));
            }
        };
        check(result, "add to a graph")?;
        Ok(node)
    }

    /// Gives a launch other arguments, from the next launch of the graph on.
    fn set(&self, command: usize, ready: &Ready, word: CUdeviceptr) -> Result<(), Diagnostic> {
        let Some(node) = self.nodes.get(command).copied().flatten() else { return Ok(()) };
        let (mut values, mut pointers) = (ready.values_for(word), vec![]);
        let told = parameters(ready, &mut values, &mut pointers);
        // SAFETY: the node is a launch of this graph; what describes it is copied before the call returns.
        check(unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.exec, node, &told) }, "change a graph")
    }
}

impl Recorded {
    /// Makes commands ready. The context is current.
    pub fn new(cuda: &Cuda, commands: &[Command]) -> Result<Recorded, Diagnostic> {
        let steps = commands.iter().map(|command| cuda.plan_one(command)).collect::<Result<Vec<_>, _>>()?;
        let word = cuda.queue(FIRST_QUEUE)?.traps().launching().word;
        let graph = if steps.iter().flatten().all(fits) { Some(Graph::new(cuda, &steps, word)?) } else { None };
        Ok(Recorded { cuda: cuda.clone(), steps, graph, word: Some(word) })
    }

    /// The graph is not launched any more.
    fn let_go(&mut self) {
        if let Some(graph) = self.graph.take() {
            self.cuda.retire(Box::new(graph));
        }
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Replay for Recorded {
    fn set(&mut self, command: usize, dispatch: &Dispatch) -> Result<(), Diagnostic> {
        let _current = self.cuda.context.enter()?;
        let step = self.cuda.plan_one(&Command::Dispatch(dispatch.clone()))?;
        match (&self.graph, &self.steps[command], &step) {
            (Some(graph), Some(Step::Launch(_)), Some(Step::Launch(ready))) if !ready.program.shape.cooperative => {
                // The queue of this word may be closed: its memory is not touched before the next submission says another word.
                graph.set(command, ready, self.word.unwrap_or(0))?;
            }
            (Some(_), _, _) => self.let_go(),
            (None, _, _) => {}
        }
        self.steps[command] = step;
        Ok(())
    }

    fn submit(&mut self, queue: QueueId) -> Result<(), Diagnostic> {
        let (queue, _current) = self.cuda.enter(queue)?;
        let Some(graph) = &self.graph else {
            return self.cuda.context.noted(self.cuda.queue_all(&queue, self.steps.iter().flatten()));
        };
        let notes_traps = |step: &Step| matches!(step, Step::Launch(ready) if ready.traps.is_some());
        let mut noting = self.steps.iter().flatten().any(notes_traps).then(|| queue.traps().launching());
        if let Some(noting) = &noting
            && self.word != Some(noting.word)
        {
            // If one of them fails, the next submission sets all of them again.
            self.word = None;
            for (command, step) in self.steps.iter().enumerate() {
                if let Some(Step::Launch(ready)) = step
                    && ready.traps.is_some()
                {
                    graph.set(command, ready, noting.word)?;
                }
            }
            self.word = Some(noting.word);
        }
        // SAFETY: the graph is ready and lives, as does all that its nodes use, until its work is done.
        let result = unsafe { sys::cuGraphLaunch(graph.exec, queue.stream()) };
        if let Some(noting) = &mut noting {
            noting.may_trap = true;
        }
        self.cuda.context.noted(check(result, "launch a graph"))
    }
}
