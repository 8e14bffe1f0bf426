//! Threads with a large stack, because passes over deeply nested programs recurse.

use std::thread::Builder;

/// Address space for a stack, not memory: the system gives pages as they are touched. The sizes are tried in order, since
/// a machine with little address space or a strict limit refuses the larger ones.
#[cfg(target_pointer_width = "64")]
const SIZES: [usize; 3] = [1 << 30, 256 << 20, 64 << 20];
#[cfg(not(target_pointer_width = "64"))]
const SIZES: [usize; 3] = [256 << 20, 64 << 20, 16 << 20];

/// Runs `work` on a thread with a stack of up to 1 GiB and waits for it. A panic in it goes on in the caller. Where no
/// thread can be made at all, the work is done on the caller's stack.
pub fn on_big_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let mut work = Some(work);
    let slot = std::sync::Mutex::new(&mut work);
    let task = || {
        let work = slot.lock().ok().and_then(|mut work| work.take());
        work.map(|work| work())
    };
    let done = std::thread::scope(|scope| {
        let handle = SIZES.iter().find_map(|&size| Builder::new().stack_size(size).spawn_scoped(scope, task).ok())?;
        match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    match (done, work) {
        (Some(result), _) => result,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("a task that was taken has returned or panicked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(n: u64) -> u64 {
        if n == 0 { 0 } else { 1 + std::hint::black_box(depth(n - 1)) }
    }

    #[test]
    fn deep_recursion_fits() {
        assert_eq!(on_big_stack(|| depth(200_000)), 200_000);
    }

    #[test]
    #[should_panic(expected = "inside")]
    fn a_panic_goes_on() {
        on_big_stack(|| panic!("inside"));
    }
}
