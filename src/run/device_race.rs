//! Two devices run the same pure program, and the first result counts. With `auto` the processor begins at once, while a card is looked for, its
//! context is created and its kernels are compiled. Beside a card that was named the processor begins when the card does: a lane of a card is
//! fifty times slower than a core, so what runs in narrow parts is the processor's.
//!
//! Invariant: the program has no effects, so that two runs of it are as good as one; who has lost is told to stop, and what it would still say is
//! not heard.

use crate::devices::Selector;
use girih_base::diag::Code;
use girih_runtime::DeviceKind;
use girih_task::flow::{Callee, What};
use girih_task::lower::{Direct, Meaning};
use girih_term::Program;
use girih_term::io::{Host, Whence};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How often the flag of the user is looked at.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// How the processor takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// How long `auto` looks for no card: programs that are done by then never pay for that.
    pub head_start: Duration,
    /// The cards of `auto`, the first of which that is there and runs the program takes part.
    pub cards: Vec<Selector>,
    /// Whether the processor also helps a device that was named and is not a card: software that runs kernels on the same cores. It is for tests.
    pub helps_software: bool,
}

impl Default for Contest {
    /// A tenth of what creating a context takes on CUDA.
    fn default() -> Contest {
        Contest {
            head_start: Duration::from_millis(20),
            cards: vec![Selector::Cuda(0), Selector::Wgpu(None)],
            helps_software: false,
        }
    }
}

impl Contest {
    /// Whether the processor runs a program beside a device that was named.
    pub(super) fn helps(&self, named: DeviceKind) -> bool {
        match named {
            DeviceKind::Cuda | DeviceKind::Wgpu => true,
            DeviceKind::WgpuSoftware | DeviceKind::Cpu | DeviceKind::Interpreter => self.helps_software,
        }
    }
}

/// Whether a compiled program can have no effects: no value that it makes is a call of the host.
pub(super) fn is_pure(direct: &Direct, program: &Program) -> bool {
    let is_call = |ctor| Some(ctor) == program.known.io_call;
    !direct.tables.layouts.iter().any(|meaning| match meaning {
        Meaning::Shape { what: What::Ctor(ctor) | What::Partial(Callee::Constructor(ctor), _), .. } => is_call(*ctor),
        Meaning::Shape { what: What::Pair | What::Closure(_) | What::Partial(..), .. } | Meaning::Boxed(_) => false,
    })
}

/// Whether an error is one of the device, or of its memory: another one may do better.
pub(super) fn is_of_the_device(code: Code) -> bool {
    let of_devices = [Code::NoDevice, Code::DeviceMemory, Code::DeviceLost, Code::DeviceTimeout, Code::DeviceCompiler];
    of_devices.contains(&code) || [Code::OutOfMemory, Code::Interrupted, Code::Internal].contains(&code)
}

/// What came of a run.
pub(super) struct Finish<T> {
    pub outcome: T,
    /// Whether this is what the program means: its value, or its own error.
    pub is_final: bool,
}

/// A run that looks at a flag, and ends soon after that was raised. None if there was nothing to run on.
pub(super) struct Entrant<T> {
    pub flag: Arc<AtomicBool>,
    pub run: Job<T>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Processor,
    Card,
}

/// What came of a race.
pub(super) struct Race<T> {
    /// The first final outcome, or what the processor says if there is none; none if its run has panicked.
    pub outcome: Option<T>,
    pub loser: Loser<T>,
}

/// The other one of a race.
pub(super) enum Loser<T> {
    /// There was none, or its run has panicked.
    None,
    /// It has ended.
    Ended(T),
    /// It has been told to stop, and will say something once more.
    Stopping(Receiver<Said<T>>),
}

/// Who says what; nothing if it has panicked or there was nothing to run on.
pub(super) type Said<T> = (Who, Option<Finish<T>>);

/// Runs a program on the processor and, after the head start, on a card if there is one, and gives the first final outcome; if there is none, what the
/// processor says. Whoever loses is stopped: the processor has stopped when this returns, and a card whose driver is busy stops when that is
/// done.
pub(super) fn first<T: Send + 'static>(
    processor: Entrant<T>,
    mut card: Option<Entrant<T>>,
    head_start: Duration,
    user: Option<&AtomicBool>,
) -> Race<T> {
    let flags = [Some(processor.flag.clone()), card.as_ref().map(|card| card.flag.clone())];
    let stop_all = || flags.iter().flatten().for_each(|flag| flag.store(true, Ordering::Relaxed));
    let (sender, receiver) = channel();
    let begun = Instant::now();
    begin(Who::Processor, processor, &sender);
    let (mut at_work, mut card_at_work) = (true, false);
    // What they say that is not final.
    let (mut said, mut of_card) = (None, None);
    loop {
        let is_stopped = user.is_some_and(|flag| flag.load(Ordering::Relaxed));
        if is_stopped {
            stop_all();
            card = None;
        } else if (begun.elapsed() >= head_start || !at_work)
            && let Some(card) = card.take()
        {
            begin(Who::Card, card, &sender);
            card_at_work = true;
        }
        if !at_work && (!card_at_work || is_stopped) {
            let loser = if card_at_work { Loser::Stopping(receiver) } else { Loser::of(of_card) };
            return Race { outcome: said, loser };
        }
        let Ok((who, finish)) = receiver.recv_timeout(TICK) else { continue };
        match who {
            Who::Processor => at_work = false,
            Who::Card => card_at_work = false,
        }
        match (finish, who) {
            (Some(finish), _) if finish.is_final => {
                stop_all();
                // It ends in a moment; then the cores are the caller's again.
                while at_work && let Ok((who, finish)) = receiver.recv() {
                    match who {
                        Who::Processor => (at_work, said) = (false, finish.map(|finish| finish.outcome)),
                        Who::Card => {}
                    }
                }
                let loser = match who {
                    Who::Processor if card_at_work => Loser::Stopping(receiver),
                    Who::Processor => Loser::of(of_card),
                    Who::Card => Loser::of(said),
                };
                return Race { outcome: Some(finish.outcome), loser };
            }
            (Some(finish), Who::Processor) => said = Some(finish.outcome),
            (Some(finish), Who::Card) => of_card = Some(finish.outcome),
            (None, _) => {}
        }
    }
}

impl<T> Loser<T> {
    fn of(ended: Option<T>) -> Loser<T> {
        ended.map_or(Loser::None, Loser::Ended)
    }
}

/// Begins a run on a thread of its own, or on this one if there can be no other; what comes of it is sent.
fn begin<T: Send + 'static>(who: Who, entrant: Entrant<T>, sender: &Sender<Said<T>>) {
    let (job, sender) = (Arc::new(Mutex::new(Some(entrant.run))), sender.clone());
    let theirs = (job.clone(), sender.clone());
    let work = move |(job, sender): (Arc<Mutex<Option<Job<T>>>>, Sender<_>)| {
        let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
        let finish = job.and_then(|job| catch_unwind(AssertUnwindSafe(job)).ok().flatten());
        // Nobody may be there any more to hear it.
        let _ = sender.send((who, finish));
    };
    if Builder::new().name("contest".to_owned()).spawn(move || work(theirs)).is_err() {
        work((job, sender));
    }
}

type Job<T> = Box<dyn FnOnce() -> Option<Finish<T>> + Send>;

/// The host of a program that has no effects.
pub(super) struct Nobody;

/// No such function: `ENOSYS`.
const NONE: i32 = 38;

impl Host for Nobody {
    fn open(&mut self, _: &str, _: &str) -> Result<u32, i32> {
        Err(NONE)
    }
    fn close(&mut self, _: u32) -> Result<(), i32> {
        Err(NONE)
    }
    fn read(&mut self, _: u32, _: usize) -> Result<Vec<u8>, i32> {
        Err(NONE)
    }
    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), i32> {
        Err(NONE)
    }
    fn flush(&mut self, _: u32) -> Result<(), i32> {
        Err(NONE)
    }
    fn seek(&mut self, _: u32, _: i64, _: Whence) -> Result<(), i32> {
        Err(NONE)
    }
    fn now(&mut self) -> u64 {
        0
    }
    fn sleep(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(
        run: impl FnOnce(&AtomicBool) -> Option<Finish<&'static str>> + Send + 'static,
    ) -> Entrant<&'static str> {
        let flag = Arc::new(AtomicBool::new(false));
        let mine = flag.clone();
        Entrant { flag, run: Box::new(move || run(&mine)) }
    }
    fn after(milliseconds: u64, outcome: &'static str, is_final: bool) -> Entrant<&'static str> {
        entrant(move |_| {
            std::thread::sleep(Duration::from_millis(milliseconds));
            Some(Finish { outcome, is_final })
        })
    }
    fn until_stopped() -> Entrant<&'static str> {
        entrant(|flag| {
            while !flag.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Some(Finish { outcome: "stopped", is_final: false })
        })
    }
    fn won(
        processor: Entrant<&'static str>,
        card: Option<Entrant<&'static str>>,
        head_start: Duration,
        user: Option<&AtomicBool>,
    ) -> Option<&'static str> {
        first(processor, card, head_start, user).outcome
    }
    const SOON: Duration = Duration::from_millis(1);

    #[test]
    fn the_first_result_counts_and_the_other_run_is_stopped() {
        assert_eq!(won(until_stopped(), Some(after(10, "card", true)), SOON, None), Some("card"));
        let slow = until_stopped();
        let flag = slow.flag.clone();
        assert_eq!(won(after(10, "processor", true), Some(slow), SOON, None), Some("processor"));
        assert!(flag.load(Ordering::Relaxed));
    }

    #[test]
    fn who_has_lost_is_given_back() {
        let race = first(after(10, "processor", true), Some(until_stopped()), Duration::ZERO, None);
        let Loser::Stopping(receiver) = race.loser else { panic!("nobody waits for a card") };
        let (who, finish) = receiver.recv().expect("it says so when it has stopped");
        assert_eq!((who, finish.map(|finish| finish.outcome)), (Who::Card, Some("stopped")));
        let race = first(until_stopped(), Some(after(10, "card", true)), Duration::ZERO, None);
        assert!(matches!(race.loser, Loser::Ended("stopped")));
        let race = first(after(20, "processor", true), Some(after(0, "lost", false)), Duration::ZERO, None);
        assert!(matches!(race.loser, Loser::Ended("lost")));
        assert!(matches!(first(after(0, "alone", true), None, SOON, None).loser, Loser::None));
    }

    #[test]
    fn who_is_done_within_the_head_start_asks_no_card() {
        let card = entrant(|_| panic!("nobody has asked for it"));
        assert_eq!(won(after(0, "processor", true), Some(card), Duration::MAX, None), Some("processor"));
    }

    #[test]
    fn what_one_device_cannot_do_the_other_one_may() {
        assert_eq!(won(after(0, "no memory", false), Some(after(20, "card", true)), SOON, None), Some("card"));
        assert_eq!(won(after(20, "processor", true), Some(after(0, "lost", false)), SOON, None), Some("processor"));
        assert_eq!(won(after(20, "no memory", false), Some(entrant(|_| None)), SOON, None), Some("no memory"));
        assert_eq!(won(after(20, "alone", false), None, SOON, None), Some("alone"));
        let panics = || entrant(|_| panic!("a run that panics"));
        assert_eq!(won(after(20, "processor", true), Some(panics()), SOON, None), Some("processor"));
        assert_eq!(won(panics(), None, SOON, None), None);
    }

    #[test]
    fn the_user_stops_both() {
        let user = AtomicBool::new(true);
        assert_eq!(won(until_stopped(), Some(until_stopped()), SOON, Some(&user)), Some("stopped"));
    }
}
