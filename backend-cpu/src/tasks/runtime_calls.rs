//! Functions of the runtime that code calls, by symbol. Each is given its thread's context first.
//!
//! Invariant: they hold nothing that has a destructor when they leave the stack.

use super::context::{Computing, Context};
use super::heap::Cells;
use super::profile::Profiler;
use super::shared::Shared;
use super::work_stealing::{self, Promotion, Record};
use cranelift_codegen::ir::{Type, types};
use cranelift_codegen::isa::CallConv;
use girih_base::span::Span;
use girih_ir::FunctionId;
use girih_ir::heap::{GlobalId, LayoutId, NO_REUSE_TOKEN};
use girih_runtime::Fault;
use std::sync::atomic::Ordering;

/// A function of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    Take,
    Fill,
    Release,
    Drop,
    DropLater,
    Settle,
    Last,
    Trap,
    Look,
    Promote,
    Join,
    Compute,
    Computed,
    Enter,
}

/// What code has to know of it.
pub(super) struct Row {
    pub symbol: &'static str,
    pub address: *const u8,
    /// What it takes behind the context.
    pub takes: &'static [Type],
    /// Whether it gives a word.
    pub gives: bool,
}

impl Helper {
    pub const ALL: [Helper; 14] = [
        Helper::Take,
        Helper::Fill,
        Helper::Release,
        Helper::Drop,
        Helper::DropLater,
        Helper::Settle,
        Helper::Last,
        Helper::Trap,
        Helper::Look,
        Helper::Promote,
        Helper::Join,
        Helper::Compute,
        Helper::Computed,
        Helper::Enter,
    ];

    /// How it is called, where the processor's other functions are called in this way.
    pub fn convention(self, other: CallConv) -> CallConv {
        if self == Helper::Look && cfg!(target_arch = "x86_64") { CallConv::WindowsFastcall } else { other }
    }

    pub fn row(self) -> Row {
        const WORD: Type = types::I32;
        const ADDRESS: Type = types::I64;
        let row = |symbol, address, takes, gives| Row { symbol, address, takes, gives };
        match self {
            Helper::Take => row("girih_take", take as *const u8, &[WORD], true),
            Helper::Fill => row("girih_fill", fill as *const u8, &[WORD, WORD], true),
            Helper::Release => row("girih_release", release as *const u8, &[WORD], false),
            Helper::Drop => row("girih_drop", drop_word as *const u8, &[WORD], false),
            Helper::DropLater => row("girih_drop_later", drop_later as *const u8, &[WORD], false),
            Helper::Settle => row("girih_settle", settle as *const u8, &[WORD], true),
            Helper::Last => row("girih_last", last as *const u8, &[WORD], false),
            Helper::Trap => row("girih_trap", trap as *const u8, &[WORD], false),
            Helper::Look => row("girih_look", look as *const u8, &[WORD, WORD], true),
            Helper::Promote => row("girih_promote", promote as *const u8, &[], false),
            Helper::Join => row("girih_join", join as *const u8, &[ADDRESS], true),
            Helper::Compute => row("girih_compute", compute as *const u8, &[ADDRESS, WORD], false),
            Helper::Computed => row("girih_computed", computed as *const u8, &[ADDRESS, WORD], true),
            Helper::Enter => row("girih_enter", enter as *const u8, &[WORD], false),
        }
    }
}

/// Leaves the stack: the run ends.
///
/// # Safety
/// The context is the calling thread's, which runs on its own stack and holds nothing that has a destructor.
#[allow(unsafe_code)]
pub(super) unsafe fn leave(context: *mut Context) -> ! {
    // SAFETY: the ground is that of the stack that the calling thread is on.
    unsafe { (*(*context).ground).leave() }
}

/// # Safety
/// As of [`leave`].
#[allow(unsafe_code)]
unsafe fn fail(context: *mut Context, fault: Fault) -> ! {
    // SAFETY: the context is the calling thread's; the fault is moved before the stack is left.
    unsafe {
        (*(*context).shared).end(Some(fault));
        leave(context)
    }
}

/// # Safety
/// The context is alive, and so is what it shares with other threads for as long as the reference is used.
#[allow(unsafe_code)]
unsafe fn shared<'a>(context: *mut Context) -> &'a Shared {
    // SAFETY: what is shared outlives the context.
    unsafe { &*(*context).shared }
}

/// # Safety
/// The context is the calling thread's, and what it shares with other threads outlives the cells.
#[allow(unsafe_code)]
unsafe fn cells<'a>(context: *mut Context) -> Cells<'a> {
    // SAFETY: the context is the calling thread's.
    unsafe { Cells::new(&shared(context).heap, context) }
}

/// Memory for a cell of so many units; its header is not set.
///
/// # Safety
/// The context is the calling thread's, which runs code: it may leave the stack.
#[allow(unsafe_code)]
unsafe extern "C" fn take(context: *mut Context, units: u32) -> u32 {
    // SAFETY: the context is the calling thread's.
    unsafe {
        // Code without forks never joins, and drops large structures all the same.
        work_stealing::alone_again(context);
        match cells(context).take(units) {
            Some(word) => word,
            None => fail(context, Fault::Memory { limit: shared(context).heap.limit(), at: Span::NONE }),
        }
    }
}

/// Memory for a cell of a layout, in a reuse token if it fits; its count is 1.
///
/// # Safety
/// As of [`take`]. The reuse token is none, or one that the caller owns and does not use again.
#[allow(unsafe_code)]
unsafe extern "C" fn fill(context: *mut Context, token: u32, layout: u32) -> u32 {
    // SAFETY: the context is the calling thread's, and the reuse token its own.
    unsafe {
        let (heap, cells) = (&shared(context).heap, cells(context));
        let counts = &mut (*context).counts;
        shared(context).profiler.as_deref().into_iter().for_each(Profiler::count_cell);
        let layout = LayoutId::new(layout);
        let units = heap.shapes[layout].units;
        if token != NO_REUSE_TOKEN {
            if heap.shapes[cells.layout(token)].units == units {
                counts.reused += 1;
                cells.set_header(token, layout);
                return token;
            }
            cells.release(token);
            counts.freed += 1;
        }
        counts.allocated += 1;
        let word = take(context, units);
        cells.set_header(word, layout);
        word
    }
}

/// A function with a label begins.
///
/// # Safety
/// The context is the calling thread's.
#[allow(unsafe_code)]
unsafe extern "C" fn enter(context: *mut Context, label: u32) {
    // SAFETY: the context is the calling thread's.
    unsafe { shared(context) }.profiler.iter().for_each(|profiler| profiler.enter(label));
}

/// Gives a reuse token's memory back.
///
/// # Safety
/// The context is the calling thread's. The reuse token is none, or one that the caller owns and does not use again.
#[allow(unsafe_code)]
unsafe extern "C" fn release(context: *mut Context, token: u32) {
    // SAFETY: the context is the calling thread's, and the reuse token its own.
    unsafe {
        if token != NO_REUSE_TOKEN {
            (*context).counts.freed += 1;
            cells(context).release(token);
        }
    }
}

/// Gives back an ownership of a cell.
///
/// # Safety
/// The context is the calling thread's. The caller has an ownership of what the word names, and gives it up.
#[allow(unsafe_code)]
unsafe extern "C" fn drop_word(context: *mut Context, word: u32) {
    // SAFETY: the context is the calling thread's, which owns the word.
    unsafe { (*context).counts.freed += cells(context).drop(word) }
}

/// Notes that a cell has one owner less.
///
/// # Safety
/// As of [`drop_word`]. The cell has several owners, and other threads may be among them.
#[allow(unsafe_code)]
unsafe extern "C" fn drop_later(context: *mut Context, word: u32) {
    // SAFETY: the context is the calling thread's, which owns the word.
    unsafe { (*context).counts.freed += cells(context).drop_later(word) }
}

/// How many owners a cell has, once what was noted of it is subtracted.
///
/// # Safety
/// The context is the calling thread's, which has an ownership of the cell that the word names.
#[allow(unsafe_code)]
unsafe extern "C" fn settle(context: *mut Context, word: u32) -> u32 {
    // SAFETY: the context is the calling thread's, which owns the word.
    unsafe { cells(context).settle(word) }
}

/// Gives back a cell that has just lost its last owner, which had shared its fields.
///
/// # Safety
/// The context is the calling thread's. The word names a cell that nobody owns any more.
#[allow(unsafe_code)]
unsafe extern "C" fn last(context: *mut Context, word: u32) {
    // SAFETY: nobody else has the cell any more.
    unsafe { (*context).counts.freed += cells(context).give_back(word) }
}

/// # Safety
/// As of [`leave`].
#[allow(unsafe_code)]
unsafe extern "C" fn trap(context: *mut Context, code: u32) {
    // SAFETY: the context is the calling thread's.
    unsafe { fail(context, Fault::Trap(code)) }
}

/// The stack is used up, or there is something to look at. 1 if another thread has nothing to do, there is nothing for it yet, and the code that looks can
/// go on in its open version.
///
/// # Safety
/// As of [`leave`]: the stack may be left.
#[allow(unsafe_code)]
unsafe fn look_around(context: *mut Context, function: u32, opens: u32) -> u32 {
    let here = std::ptr::from_ref(&function).addr();
    // SAFETY: the context is the calling thread's.
    unsafe {
        let shared = shared(context);
        if shared.is_ending() {
            leave(context);
        }
        if shared.is_interrupted() {
            fail(context, Fault::Interrupted);
        }
        let end = (*context).stack_end;
        if here < end {
            fail(context, Fault::Stack { limit: shared.stack, function: Some(FunctionId::new(function)) });
        }
        (*context).set_limits(end);
        // Whoever has rung in between is not missed.
        if shared.is_ending() {
            leave(context);
        }
        let is_asked = (*context).hungry.load(Ordering::SeqCst) != 0;
        if !is_asked || work_stealing::promote(context) != Promotion::Nothing {
            return 0;
        }
        (*context).opening.store(usize::MAX, Ordering::SeqCst);
        if opens != 0 {
            (*context).level = 0;
        }
        opens
    }
}

/// It stands in every loop and is hardly ever called, so it is called in the way that leaves most vector registers as they are.
///
/// # Safety
/// As of [`look_around`].
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
unsafe extern "win64" fn look(context: *mut Context, function: u32, opens: u32) -> u32 {
    // SAFETY: as of the caller.
    unsafe { look_around(context, function, opens) }
}
/// # Safety
/// As of [`look_around`].
#[cfg(not(target_arch = "x86_64"))]
#[allow(unsafe_code)]
unsafe extern "C" fn look(context: *mut Context, function: u32, opens: u32) -> u32 {
    // SAFETY: as of the caller.
    unsafe { look_around(context, function, opens) }
}

/// # Safety
/// As of [`work_stealing::promote`].
#[allow(unsafe_code)]
unsafe extern "C" fn promote(context: *mut Context) {
    // SAFETY: the context is the calling thread's.
    unsafe {
        work_stealing::promote(context);
    }
}

/// 1 if the caller is to run the call, 0 once its results are there.
///
/// # Safety
/// As of [`work_stealing::join`].
#[allow(unsafe_code)]
unsafe extern "C" fn join(context: *mut Context, record: *mut Record) -> u32 {
    // SAFETY: the record is the calling thread's youngest, and a task.
    unsafe { u32::from(work_stealing::join(context, record)) }
}

/// A global is about to be computed.
///
/// # Safety
/// The context is the calling thread's, which may leave the stack. The node is memory in the caller's stack frame, and stays there until
/// [`computed`] is called with it.
#[allow(unsafe_code)]
unsafe extern "C" fn compute(context: *mut Context, node: *mut Computing, global: u32) {
    // SAFETY: the node is in the stack of the caller, where it stays until the global is computed, as those of the chain do.
    unsafe {
        let mut chain = (*context).chain;
        while !chain.is_null() {
            if (*chain).global == global {
                fail(context, Fault::SelfDependent(GlobalId::new(global)));
            }
            chain = (*chain).outer;
        }
        node.write(Computing { outer: (*context).chain, global });
        (*context).chain = node;
    }
}

/// A global has been computed: gives an ownership of its value, which is that of whoever was first.
///
/// # Safety
/// The context is the calling thread's. The node is the one that [`compute`] was given last and that is not computed yet, and the caller has
/// an ownership of the word.
#[allow(unsafe_code)]
unsafe extern "C" fn computed(context: *mut Context, node: *mut Computing, word: u32) -> u32 {
    // SAFETY: the node is the one of `compute`; the word is owned.
    unsafe {
        (*context).chain = (*node).outer;
        let global = shared(context).global((*node).global);
        let cells = cells(context);
        match global.compare_exchange(NO_REUSE_TOKEN, word, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                cells.share(word);
                word
            }
            Err(there) => {
                (*context).counts.freed += cells.drop(word);
                cells.share(there);
                there
            }
        }
    }
}
