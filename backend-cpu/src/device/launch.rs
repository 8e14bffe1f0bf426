//! One launch: workgroups are handed out to threads, each of which has a context, shared memory and frames of its own.

use super::memory::Bytes;
use super::pool::{Job, Pool};
use super::timeout::{RUNNING, Stop};
use crate::kernels::{Code, Kernel, KernelShape, STOPPED, context};
use girih_base::diag::{self, Diagnostic};
use girih_base::span::Span;
use girih_ir::Function;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A launch whose arguments are known.
pub(super) struct Launch<'a> {
    /// Keeps the code alive.
    pub code: Arc<Code>,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The kernel as it was written, for messages.
    pub source: &'a Function,
    /// How many workgroups run, in each dimension.
    pub grid: [u32; 3],
    /// Each parameter's two words.
    pub parameters: Vec<[u64; 2]>,
    /// Bytes of each shared memory of chosen length.
    pub chosen: Vec<u32>,
}

/// Invocations that one thread alone runs in less time than others take to wake.
const FEW: u64 = 2048;
/// As how many invocations a single one of a workgroup counts: it is a program in tile form, which goes through whole tiles.
const PROGRAM: u64 = 128;
/// In how many pieces each thread's share is handed out.
const PIECES: u64 = 16;

/// An access outside of a memory.
#[derive(Clone, Copy, Debug)]
struct Fault {
    number: u32,
    workgroup: [u32; 3],
    element: u64,
    lane: u64,
}

/// What a thread has of its own: its context, and memory that the context leads to.
struct Own {
    context: Vec<u64>,
    _memory: Bytes,
}

/// What the threads of a launch share.
struct Work {
    entry: crate::kernels::Entry,
    grid: [u32; 3],
    groups: u64,
    piece: u64,
    next: AtomicU64,
    stop: Stop,
    fault: Mutex<Option<Fault>>,
    /// By thread.
    own: Vec<Mutex<Own>>,
}

impl Launch<'_> {
    /// Runs it to its end.
    pub fn run(self, pool: &Pool, stop: &Stop, most_shared: u64) -> Result<(), Diagnostic> {
        let groups = self.grid.iter().map(|n| u64::from(*n)).product::<u64>();
        if groups == 0 {
            return Ok(());
        }
        let shape = &self.kernel.shape;
        let invocations = match shape.workgroup.iter().map(|n| u64::from(*n)).product::<u64>() {
            1 => PROGRAM,
            invocations => invocations,
        };
        let alone = groups == 1 || groups.saturating_mul(invocations) <= FEW;
        let threads = if alone { 1 } else { pool.len() };
        let own = (0..threads).map(|_| self.own(stop, most_shared)).collect::<Result<Vec<_>, _>>()?;
        let work = Arc::new(Work {
            entry: self.kernel.entry,
            grid: self.grid,
            groups,
            piece: (groups / (threads as u64 * PIECES)).max(1),
            next: AtomicU64::new(0),
            stop: stop.clone(),
            fault: Mutex::new(None),
            own,
        });
        if alone {
            work.work(0);
        } else {
            pool.run(work.clone());
        }
        // Until here threads were in the code.
        drop(self.code);
        let fault = *work.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.map_or(Ok(()), |fault| Err(said(shape, self.source, fault)))
    }

    /// A thread's own context and memory.
    fn own(&self, stop: &Stop, most_shared: u64) -> Result<Mutex<Own>, Diagnostic> {
        let shape = &self.kernel.shape;
        let (starts, shared) = shape.shared.choose(&self.chosen);
        if shared > most_shared {
            let message =
                format!("a workgroup asks for {shared} bytes of shared memory, but the device allows {most_shared}");
            return Err(Diagnostic::new(diag::Code::OverLimit, self.source.span, message));
        }
        let frames = shared.next_multiple_of(64);
        let bytes = frames + shape.frame * shape.frames;
        let memory = usize::try_from(bytes).ok().and_then(Bytes::zeroed).ok_or_else(|| {
            let message = format!("the {bytes} bytes of a workgroup do not fit the memory of this machine");
            Diagnostic::new(diag::Code::DeviceMemory, self.source.span, message)
        })?;
        let mut words = vec![0; context::words(shape.parameters, starts.len())];
        words[context::STOP] = stop.address();
        words[context::SHARED] = memory.address();
        words[context::FRAMES] = memory.address() + frames;
        for i in 0..3 {
            words[context::GRID + i] = self.grid[i].into();
            words[context::SIZE + i] = shape.workgroup[i].into();
        }
        for (i, parameter) in self.parameters.iter().enumerate() {
            words[context::parameter(i)..][..2].copy_from_slice(parameter);
        }
        for (i, (start, bytes)) in starts.iter().zip(&self.chosen).enumerate() {
            words[context::chosen(shape.parameters, i)..][..2].copy_from_slice(&[*start, u64::from(*bytes)]);
        }
        Ok(Mutex::new(Own { context: words, _memory: memory }))
    }
}

impl Job for Work {
    fn work(&self, thread: usize) {
        let Some(own) = self.own.get(thread) else { return };
        let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let first = self.next.fetch_add(self.piece, Ordering::Relaxed);
            let end = first.saturating_add(self.piece).min(self.groups);
            if first >= end {
                return;
            }
            for group in first..end {
                if self.stop.get() != RUNNING {
                    return;
                }
                self.group(group, &mut own.context);
            }
        }
    }
}

impl Work {
    /// Runs a workgroup.
    #[allow(unsafe_code)]
    fn group(&self, group: u64, context: &mut [u64]) {
        let [columns, rows, _] = self.grid.map(u64::from);
        let workgroup = [group % columns, group / columns % rows, group / columns / rows].map(|n| n as u32);
        let [x, y, z] = workgroup;
        // SAFETY: the code is alive, see `Launch::run`, and has this signature. It reaches memory through the context only: buffers,
        // whose borrow `Launch::run`'s caller holds, and this thread's own memory; each access is checked against the bytes that
        // the context says, or was when it was compiled.
        let number = unsafe { (self.entry)(context.as_mut_ptr(), x, y, z) };
        if number != 0 && number != STOPPED {
            let (element, lane) = (context[context::ELEMENT], context[context::LANE]);
            let fault = Fault { number, workgroup, element, lane };
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
            self.stop.fault();
        }
    }
}

/// A fault in the words of the program.
fn said(shape: &KernelShape, source: &Function, fault: Fault) -> Diagnostic {
    let Fault { number, workgroup: [gx, gy, gz], element, lane } = fault;
    let Some(place) = shape.faults.get(number as usize - 1) else {
        return Diagnostic::new(
            diag::Code::DeviceLost,
            source.span,
            format!("the code ended with the number {number}"),
        );
    };
    let [wide, high, _] = shape.workgroup.map(u64::from);
    // The lane's word has 32 bits that were written.
    let lane = lane & u64::from(u32::MAX);
    let (x, y, z) = (lane % wide, lane / wide % high, lane / wide / high);
    let span = if place.span == Span::NONE { source.span } else { place.span };
    let (operation, memory, element) = (&place.operation, &place.memory, element as i64);
    let message = format!(
        "{operation} accesses element {element} of {memory}, which is outside of it, in invocation ({x}, {y}, {z}) of \
         workgroup ({gx}, {gy}, {gz})"
    );
    Diagnostic::new(diag::Code::OutOfBounds, span, message).hint("compare the index with the length before the access")
}
