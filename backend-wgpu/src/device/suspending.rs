//! Where a worker of a browser waits for the device: the browser suspends its WebAssembly until a promise is kept. It stands where `blocking.rs` stands elsewhere.
//!
//! Invariant: only calls from outside that may be suspended come here, and there is one of them at a time, so nobody else changes a device that is waited for. A limit on
//! time is not kept here: whoever has waited long enough ends the worker.

use super::State;
use super::record::Recorded;
use super::transfer::{Part, unreadable};
use girih_base::diag::Diagnostic;
use js_sys::Promise;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;
use wasm_bindgen::JsValue;
use web_time::Instant;

/// Suspends until a promise is kept. Nobody breaks those that are made here.
fn wait_for(promise: &Promise) {
    #[expect(deprecated, reason = "marked as experimental: browsers that cannot suspend are told apart by the page")]
    let waited = js_sys::futures::jspi_block_on_promise(promise);
    drop(waited);
}

/// What a future gives, when it does.
pub fn block_on<F: Future + 'static>(future: F) -> F::Output {
    let mut keep = None;
    let promise = Promise::new(&mut |resolve, _reject| keep = Some(resolve));
    let given = Rc::new(RefCell::new(None));
    let taken = given.clone();
    js_sys::futures::spawn_local(async move {
        *taken.borrow_mut() = Some(future.await);
        // A function that keeps a promise throws nothing.
        drop(keep.map(|keep| keep.call0(&JsValue::UNDEFINED)));
    });
    loop {
        wait_for(&promise);
        if let Some(given) = given.take() {
            return given;
        }
    }
}

/// What wgpu tells by a call: the value, once it is there, and who waits for it.
type Told<T> = Arc<Mutex<(Option<T>, Option<Waker>)>>;

fn lock<T>(told: &Mutex<T>) -> MutexGuard<'_, T> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function for wgpu to call, and a future of what it is called with.
fn told<T: Send + 'static>() -> (impl FnOnce(T) + Send + 'static, impl Future<Output = T> + 'static) {
    let told: Told<T> = Arc::new(Mutex::new((None, None)));
    let noted = told.clone();
    let tell = move |value| {
        let waker = {
            let mut told = lock(&noted);
            told.0 = Some(value);
            told.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    };
    let future = poll_fn(move |context| {
        let mut told = lock(&told);
        told.1 = Some(context.waker().clone());
        told.0.take().map_or(Poll::Pending, Poll::Ready)
    });
    (tell, future)
}

impl State {
    /// Waits for what was submitted up to there: wgpu's queue tells of all that was submitted so far.
    pub(super) fn wait_until(&self, _last: &wgpu::SubmissionIndex) -> Result<(), Diagnostic> {
        self.health.check()?;
        let (tell, done) = told();
        self.queue.on_submitted_work_done(move || tell(()));
        block_on(done);
        self.health.check()
    }

    /// Submits commands, and copies of parts of buffers behind them and of the word of the traps, waits, and takes the copies. Gives the newest point behind which they are.
    pub(super) fn fetch(
        &self,
        recorded: Option<Recorded<'_>>,
        parts: &mut [Part<'_>],
        word: Option<&mut [u8; 4]>,
    ) -> Result<u64, Diagnostic> {
        let (tell, mapped) = told();
        let copies = self.submit_copies(recorded, parts, word.is_some(), tell)?;
        let mapped = block_on(mapped);
        // What was wrong with the work says more than that its memory cannot be read.
        self.health.check()?;
        mapped.map_err(|error| unreadable(error.to_string()))?;
        self.take_copies(copies, parts, word)
    }

    /// The browser has told by now, or tells while the work is waited for.
    pub(super) fn ask_until(
        &self,
        holds: impl Fn() -> Result<bool, Diagnostic>,
        _never: impl Fn() -> Diagnostic,
    ) -> Result<(), Diagnostic> {
        while !holds()? {
            wait_for(&Promise::resolve(&JsValue::UNDEFINED));
        }
        Ok(())
    }

    /// One run by the host's clock.
    pub(super) fn clocked(&self, recorded: Recorded<'_>) -> Result<Duration, Diagnostic> {
        self.wait_for_all()?;
        let start = Instant::now();
        self.submit_recorded([recorded.commands], recorded.traps)?;
        self.wait_for_all()?;
        Ok(start.elapsed())
    }
}
