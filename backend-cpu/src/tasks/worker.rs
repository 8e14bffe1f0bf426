//! A thread's own large stack, on which code runs, and leaving it: the run is over then, and nothing on it is needed any more.

use super::context::Context;
use super::shared::Shared;
use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::sync::atomic::Ordering;

/// What functions of the runtime may use below the limit that code looks at.
const MARGIN: usize = 256 << 10;

/// How to leave a stack.
pub(super) struct Ground {
    yielder: *const Yielder<(), ()>,
}

impl Ground {
    /// Leaves the stack for good.
    ///
    /// # Safety
    /// The caller runs on the stack that this is the ground of, and holds nothing that has a destructor.
    #[allow(unsafe_code)]
    pub unsafe fn leave(&self) -> ! {
        loop {
            // SAFETY: the yielder is that of the stack that the caller runs on, and lives as long as the stack is used.
            unsafe { (*self.yielder).suspend(()) };
        }
    }
}

/// A stack for code.
pub(super) struct Stack(Option<DefaultStack>);

impl Stack {
    /// Reserves so many bytes, which become memory when they are touched.
    pub fn new(bytes: u64) -> Result<Stack, Diagnostic> {
        let size = usize::try_from(bytes).unwrap_or(usize::MAX >> 1).saturating_add(2 * MARGIN);
        let stack = DefaultStack::new(size.min(usize::MAX >> 8)).map_err(|error| {
            let message = format!("the system reserves no {} MiB for nested calls: {error}", bytes >> 20);
            Diagnostic::new(Code::OutOfMemory, Span::NONE, message).hint("allow less with `--memory`")
        })?;
        Ok(Stack(Some(stack)))
    }

    /// Runs something on the stack. Says whether it came to its end; if not, the stack was left.
    ///
    /// # Safety
    /// The context is the calling thread's, and no other stack uses it meanwhile. What the work runs may leave the stack at any call of the
    /// runtime: it must not rely on destructors.
    #[allow(unsafe_code)]
    pub unsafe fn run(&mut self, shared: &Shared, context: *mut Context, work: impl FnOnce()) -> bool {
        let Some(stack) = self.0.take() else { return false };
        // SAFETY: the context is the calling thread's.
        unsafe {
            (*context).stack_end = stack.limit().get() + MARGIN;
            (*context).stack_start = stack.base().get();
            (*context).level = 0;
            (*context).set_limits((*context).stack_end);
        }
        // SAFETY: as above.
        let is_asked = unsafe { (*context).hungry.load(Ordering::SeqCst) } != 0;
        if is_asked || shared.is_ending() || shared.is_interrupted() {
            // SAFETY: as above.
            unsafe { (*context).set_limits(usize::MAX) };
        }
        let body = |yielder: &Yielder<(), ()>, ()| {
            let ground = Ground { yielder };
            // SAFETY: as above. The ground lives on the stack that it is for.
            unsafe { (*context).ground = &raw const ground };
            work();
        };
        // SAFETY: what the closure has borrowed lives until this function returns, and the coroutine is gone by then.
        let mut coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        let ended = match coroutine.resume(()) {
            CoroutineResult::Return(()) => true,
            CoroutineResult::Yield(()) => {
                // SAFETY: nothing on the stack has a destructor that matters: code has none, and functions of the runtime leave only when
                // they hold nothing.
                unsafe { coroutine.force_reset() };
                false
            }
        };
        self.0 = Some(coroutine.into_stack());
        ended
    }
}
