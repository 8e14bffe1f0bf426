//! Two devices run the same program, and the first result counts. With `auto` the processor begins at once, while a card is looked for, its
//! context is created and its kernels are compiled. Beside a card that was named the processor begins when the card does: a lane of a card is
//! fifty times slower than a core, so what runs in narrow parts is the processor's.
//!
//! Invariant: each effect is performed once ([`effects`](super::effects)), so that two runs of it are as good as one; who has lost is told to stop, and
//! what it would still say or ask for is not heard.

use super::effects::{Asked, Replica, Stage};
use crate::devices::Selector;
use girih_base::diag::Code;
use girih_runtime::DeviceKind;
use girih_term::io::Host;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
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

/// A run that looks at a flag, and ends soon after that was raised. Its effects go through the host that it is given. None comes of it if there was
/// nothing to run on.
pub(super) struct Entrant<T> {
    pub flag: Arc<AtomicBool>,
    pub run: Job<T>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Processor,
    Card,
}

impl Who {
    const BOTH: [Who; 2] = [Who::Processor, Who::Card];

    pub fn other(self) -> Who {
        match self {
            Who::Processor => Who::Card,
            Who::Card => Who::Processor,
        }
    }
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
    Stopping(Receiver<Message<T>>),
}

/// What somebody who runs the program tells the one who waits.
pub(super) enum Message<T> {
    /// It is done; nothing came of it if it has panicked or there was nothing to run on.
    Done(Who, Option<Finish<T>>),
    /// The card wants an effect.
    Asks(Asked),
}

/// Runs a program on the processor and, after the head start, on a card if there is one, and gives the first final outcome; if there is none, what the
/// processor says. Effects are performed by the host. Whoever loses is stopped: the processor has stopped when this returns, and a card whose driver is
/// busy stops when that is done.
pub(super) fn first<T: Send + 'static>(
    processor: Entrant<T>,
    mut card: Option<Entrant<T>>,
    head_start: Duration,
    user: Option<&AtomicBool>,
    host: &mut (dyn Host + Send),
) -> Race<T> {
    let flags = [Some(processor.flag.clone()), card.as_ref().map(|card| card.flag.clone())];
    let stage = Mutex::new(Stage::new(host, flags));
    let stage = || stage.lock().unwrap_or_else(PoisonError::into_inner);
    let (sender, receiver) = channel();
    let begun = Instant::now();
    let mut replica = Replica::new(|number, effect| stage().answer(Who::Processor, number, &effect));
    thread::scope(|scope| {
        let run = processor.run;
        begin(
            Who::Processor,
            sender.clone(),
            move || run(&mut replica),
            |work| Builder::new().name("contest".to_owned()).spawn_scoped(scope, work).is_ok(),
        );
        let (mut at_work, mut card_at_work) = (true, false);
        // What they say that is not final, and whether the processor was told to stop before it had ended.
        let (mut said, mut of_card, mut has_lost) = (None, None, false);
        loop {
            let is_stopped = user.is_some_and(|flag| flag.load(Ordering::Relaxed));
            if is_stopped {
                for who in Who::BOTH {
                    stage().stop(who);
                }
                card = None;
            } else if (begun.elapsed() >= head_start || !at_work)
                && let Some(card) = card.take().filter(|_| stage().has(Who::Card))
            {
                begin_on_a_card(card, &sender);
                card_at_work = true;
            }
            if !at_work && (!card_at_work || is_stopped) {
                if card_at_work {
                    return Race { outcome: said, loser: Loser::Stopping(receiver) };
                }
                // The processor's, unless it was told to stop.
                let (outcome, other) = if has_lost && of_card.is_some() { (of_card, said) } else { (said, of_card) };
                return Race { outcome, loser: Loser::of(other) };
            }
            let (who, finish) = match receiver.recv_timeout(TICK) {
                Err(_nothing) => continue,
                Ok(Message::Asks(asked)) => {
                    let found = stage().answer(Who::Card, asked.number, &asked.effect);
                    asked.answer(found);
                    continue;
                }
                Ok(Message::Done(who, finish)) => (who, finish),
            };
            match who {
                Who::Processor => at_work = false,
                Who::Card => card_at_work = false,
            }
            // What one says that was told to stop is not what the program means: its effects were not those that were performed.
            let is_heard = stage().has(who) || is_stopped;
            has_lost |= who == Who::Processor && !is_heard;
            stage().leaves(who);
            match (finish, who) {
                (Some(finish), _) if finish.is_final && is_heard => {
                    stage().stop(who.other());
                    // It ends in a moment; then the cores are the caller's again.
                    while at_work && let Ok(message) = receiver.recv() {
                        if let Message::Done(Who::Processor, finish) = message {
                            (at_work, said) = (false, finish.map(|finish| finish.outcome));
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
    })
}

impl<T> Loser<T> {
    fn of(ended: Option<T>) -> Loser<T> {
        ended.map_or(Loser::None, Loser::Ended)
    }
}

/// Begins a run on a card, whose driver may still be busy when the race is over. So it asks this thread for its effects.
fn begin_on_a_card<T: Send + 'static>(card: Entrant<T>, sender: &Sender<Message<T>>) {
    let Entrant { flag, run } = card;
    let asks = sender.clone();
    let mut host = Replica::new(move |number, effect| {
        Asked::ask(number, effect, &flag, |asked| asks.send(Message::Asks(asked)).is_ok())
    });
    let spawn = |work: Work<'static>| {
        // This thread answers, so it cannot ask: without another one there is no card.
        if Builder::new().name("contest".to_owned()).spawn(work).is_err() {
            let _ = sender.send(Message::Done(Who::Card, None));
        }
        true
    };
    begin(Who::Card, sender.clone(), move || run(&mut host), spawn);
}

/// Begins a run on a thread of its own, or on this one if there can be no other; what comes of it is sent.
fn begin<'a, T: Send + 'a>(
    who: Who,
    sender: Sender<Message<T>>,
    job: impl FnOnce() -> Option<Finish<T>> + Send + 'a,
    spawn: impl FnOnce(Work<'a>) -> bool,
) {
    let job = Arc::new(Mutex::new(Some(job)));
    let work = |job: Arc<Mutex<Option<_>>>, sender: Sender<_>| {
        move || {
            let job = job.lock().unwrap_or_else(PoisonError::into_inner).take();
            let finish = job.and_then(|job| catch_unwind(AssertUnwindSafe(job)).ok().flatten());
            // Nobody may be there any more to hear it.
            let _ = sender.send(Message::Done(who, finish));
        }
    };
    if !spawn(Box::new(work(job.clone(), sender.clone()))) {
        work(job, sender)();
    }
}

type Work<'a> = Box<dyn FnOnce() + Send + 'a>;
type Job<T> = Box<dyn FnOnce(&mut (dyn Host + Send)) -> Option<Finish<T>> + Send>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemHost;
    use girih_term::io::Whence;
    use std::sync::atomic::AtomicUsize;

    fn entrant(
        run: impl FnOnce(&AtomicBool) -> Option<Finish<&'static str>> + Send + 'static,
    ) -> Entrant<&'static str> {
        let flag = Arc::new(AtomicBool::new(false));
        let mine = flag.clone();
        Entrant { flag, run: Box::new(move |_| run(&mine)) }
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
        race(processor, card, head_start, user).outcome
    }
    fn race(
        processor: Entrant<&'static str>,
        card: Option<Entrant<&'static str>>,
        head_start: Duration,
        user: Option<&AtomicBool>,
    ) -> Race<&'static str> {
        first(processor, card, head_start, user, &mut SystemHost::new())
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
        let race = race(after(10, "processor", true), Some(until_stopped()), Duration::ZERO, None);
        let Loser::Stopping(receiver) = race.loser else { panic!("nobody waits for a card") };
        let Message::Done(who, finish) = receiver.recv().expect("it says so when it has stopped") else {
            panic!("it wants no effect")
        };
        assert_eq!((who, finish.map(|finish| finish.outcome)), (Who::Card, Some("stopped")));
        let race = self::race(until_stopped(), Some(after(10, "card", true)), Duration::ZERO, None);
        assert!(matches!(race.loser, Loser::Ended("stopped")));
        let race = self::race(after(20, "processor", true), Some(after(0, "lost", false)), Duration::ZERO, None);
        assert!(matches!(race.loser, Loser::Ended("lost")));
        assert!(matches!(self::race(after(0, "alone", true), None, SOON, None).loser, Loser::None));
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

    /// A host that counts what it is asked for, and reads numbers.
    #[derive(Default)]
    struct Counter {
        written: Vec<u8>,
        read: u8,
    }
    impl Host for Counter {
        fn open(&mut self, _: &str, _: &str) -> Result<u32, i32> {
            Ok(7)
        }
        fn close(&mut self, _: u32) -> Result<(), i32> {
            Err(9)
        }
        fn read(&mut self, _: u32, count: usize) -> Result<Vec<u8>, i32> {
            self.read += 1;
            Ok(vec![self.read; count])
        }
        fn write(&mut self, _: u32, bytes: &[u8]) -> Result<(), i32> {
            self.written.extend(bytes);
            Ok(())
        }
        fn flush(&mut self, _: u32) -> Result<(), i32> {
            Ok(())
        }
        fn seek(&mut self, _: u32, _: i64, _: Whence) -> Result<(), i32> {
            Ok(())
        }
        fn now(&mut self) -> u64 {
            u64::from(self.read)
        }
        fn sleep(&mut self, _: u64) {}
    }

    /// Reads and writes so many numbers; what was read.
    fn copies(host: &mut dyn Host, count: usize, meets: &AtomicUsize) -> Vec<u8> {
        let mut seen = vec![];
        for i in 0..count {
            // Now this one is first, now that one.
            while i % 7 == 0 && meets.load(Ordering::Relaxed) < 2 * (i / 7) {
                std::thread::yield_now();
            }
            meets.fetch_add(usize::from(i % 7 == 0), Ordering::Relaxed);
            let bytes = host.read(0, 1).expect("there is always one");
            host.write(1, &bytes).expect("all is written");
            seen.extend(bytes);
        }
        assert_eq!((host.open("a", "r"), host.close(7)), (Ok(7), Err(9)));
        seen
    }

    #[test]
    fn each_effect_is_performed_once_and_answered_twice() {
        let meets = Arc::new(AtomicUsize::new(0));
        let entrant = |is_final: bool| {
            let meets = meets.clone();
            let run = move |host: &mut (dyn Host + Send)| Some(Finish { outcome: copies(host, 100, &meets), is_final });
            Entrant { flag: Arc::default(), run: Box::new(run) }
        };
        let mut host = Counter::default();
        let race = first(entrant(false), Some(entrant(false)), Duration::ZERO, None, &mut host);
        let expected: Vec<u8> = (1..=100).collect();
        assert_eq!((race.outcome.as_ref(), &host.written), (Some(&expected), &expected));
        let Loser::Ended(other) = race.loser else { panic!("both have ended") };
        assert_eq!(other, expected);
    }

    #[test]
    fn who_asks_for_something_else_is_stopped() {
        let writes = |byte: u8, after: u64| {
            let flag: Arc<AtomicBool> = Arc::default();
            let mine = flag.clone();
            let run = move |host: &mut (dyn Host + Send)| {
                std::thread::sleep(Duration::from_millis(after));
                let written = host.write(1, &[byte]).is_ok();
                Some(Finish { outcome: (byte, written, mine.load(Ordering::Relaxed)), is_final: after > 0 })
            };
            Entrant { flag, run: Box::new(run) }
        };
        let mut host = Counter::default();
        let race = first(writes(1, 0), Some(writes(2, 50)), Duration::ZERO, None, &mut host);
        // The card came second, with another byte: what it says in the end counts for nothing.
        assert_eq!((race.outcome, host.written), (Some((1, true, false)), vec![1]));
        assert!(matches!(race.loser, Loser::Ended((2, false, true))));
    }

    #[test]
    fn the_user_stops_both() {
        let user = AtomicBool::new(true);
        assert_eq!(won(until_stopped(), Some(until_stopped()), SOON, Some(&user)), Some("stopped"));
    }
}
