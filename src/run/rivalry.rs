//! A program that two devices run at the same time, run after run: who is told to stop is ready for the next run, until it is clear who is faster.
//!
//! Invariant: while two take part, each has a flag of its own, and looks at no other; the race looks at the user's.

use super::device_race::{self, Contest, Entrant, Finish, Loser, Message, Race, TICK, Who};
use super::select::{Engine, Ready, on_a_card, tasks};
use super::{Executable, RunDevice, RunOptions, Stats, gone, runner};
use crate::devices::Selector;
use crate::error::Error;
use crate::stack::on_big_stack;
use girih_base::diag::Code;
use girih_term::io::Host;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// Who wins so many races one after the other runs the program alone from then on. What two begin for the first time does not count: drivers do more then.
const STREAK: u32 = 2;

/// Who else runs a program.
pub(super) struct Rivalry {
    /// The user's flag.
    user: Option<Arc<AtomicBool>>,
    /// How long nobody looks for a card.
    head_start: Duration,
    rival: Rival,
    /// Whether a device was named, which the processor helps. Then who has been told to stop is waited for before the next run.
    waits: bool,
    /// Who has won the last races of two that were ready, and how many of them.
    streak: Option<(Who, u32)>,
    /// Whether both have run before.
    is_warm: bool,
}

enum Rival {
    /// There is none, or none any more.
    None,
    /// The first card that is there and runs the program, which nobody has looked for yet.
    Unknown(Vec<Selector>),
    /// It is ready.
    Ready(Box<Executable>),
    /// It has been told to stop.
    Stopping(Receiver<Message<Ran>>),
}

/// What came of a run, and what ran.
struct Ran {
    executable: Executable,
    result: Result<String, Error>,
}

impl Ran {
    fn error(&self) -> Option<Code> {
        let report = self.result.as_ref().err()?;
        report.diagnostics.first().map(|error| error.code)
    }

    fn finish(self) -> Finish<Ran> {
        let is_final = self.error().is_none_or(|code| !device_race::is_of_the_device(code));
        Finish { outcome: self, is_final }
    }

    /// What is ready for another run: it has ended as it should, or because it was told to.
    fn ready(self) -> Rival {
        match self.error() {
            None | Some(Code::Interrupted) => Rival::Ready(Box::new(self.executable)),
            Some(_) => Rival::None,
        }
    }
}

impl Rivalry {
    /// Somebody to take part, or else the cards of a contest, which nobody has looked for.
    pub(super) fn new(user: Option<Arc<AtomicBool>>, contest: Contest, helper: Option<Executable>) -> Rivalry {
        let waits = helper.is_some();
        let (head_start, rival) = match helper {
            Some(helper) => (Duration::ZERO, Rival::Ready(Box::new(helper))),
            None => (contest.head_start, Rival::Unknown(contest.cards)),
        };
        Rivalry { user, head_start, rival, waits, streak: None, is_warm: false }
    }

    /// Whether the processor only helps.
    pub(super) fn is_of_a_named_device(&self) -> bool {
        self.waits
    }

    fn is_stopped(&self) -> bool {
        self.user.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Who was told to stop takes part again if it has stopped.
    fn gather(&mut self) {
        let Rival::Stopping(receiver) = &self.rival else { return };
        let said = loop {
            match receiver.try_recv() {
                Ok(Message::Done(_, said)) => break said,
                // It is told to stop, and gets no answer.
                Ok(Message::Asks(_)) => {}
                Err(TryRecvError::Disconnected) => break None,
                Err(TryRecvError::Empty) if !self.waits || self.is_stopped() => return,
                Err(TryRecvError::Empty) => match receiver.recv_timeout(TICK) {
                    Ok(Message::Done(_, said)) => break said,
                    Ok(Message::Asks(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                },
            }
        };
        self.rival = said.map_or(Rival::None, |finish| finish.outcome.ready());
    }

    /// Somebody has won; `counts` says whether both were ready, and nobody stopped the race.
    fn note(&mut self, winner: Who, loser: Loser<Ran>, counts: bool) {
        self.rival = match loser {
            Loser::None => Rival::None,
            Loser::Ended(ran) => ran.ready(),
            Loser::Stopping(receiver) => Rival::Stopping(receiver),
        };
        if counts && self.is_warm {
            let before = self.streak.filter(|(who, _)| *who == winner).map_or(0, |(_, count)| count);
            self.streak = Some((winner, before + 1));
        }
        self.is_warm |= counts;
        if self.streak.is_some_and(|(_, count)| count >= STREAK) {
            self.rival = Rival::None;
        }
    }
}

impl Executable {
    /// Runs the program where it is ready, and where somebody else runs it, if that is earlier; then there it is ready.
    pub(super) fn run_in_contest(
        &mut self,
        mut rivalry: Rivalry,
        host: &mut (dyn Host + Send),
    ) -> Result<String, Error> {
        rivalry.gather();
        let mut head_start = Duration::ZERO;
        let mut was_ready = false;
        let rival = match std::mem::replace(&mut rivalry.rival, Rival::None) {
            Rival::None => None,
            Rival::Unknown(cards) => {
                head_start = rivalry.head_start;
                self.on_the_first_of(cards)
            }
            Rival::Ready(mut rival) => {
                was_ready = true;
                rival.reopen()?;
                Some(rival.entrant())
            }
            stopping @ Rival::Stopping(_) => {
                rivalry.rival = stopping;
                None
            }
        };
        self.reopen()?;
        let is_card = was_ready && self.choice.card.is_some();
        let mine = self.taken().entrant();
        let waiting = std::mem::replace(&mut rivalry.rival, Rival::None);
        let (processor, card) = match rival {
            Some(rival) if is_card => (rival, Some(mine)),
            rival => (mine, rival),
        };
        let has_rival = card.is_some();
        let Race { outcome, loser } = device_race::first(processor, card, head_start, rivalry.user.as_deref(), host);
        let Some(Ran { executable, result }) = outcome else {
            return Err(Error::new(self.sources.clone(), vec![gone()]));
        };
        *self = executable;
        self.stats.answered = Some(self.choice.device.clone());
        match has_rival {
            true => {
                let winner = if self.choice.card.is_some() { Who::Card } else { Who::Processor };
                rivalry.note(winner, loser, was_ready && result.is_ok());
            }
            false => rivalry.rival = waiting,
        }
        self.rivalry = Some(rivalry);
        result
    }

    /// All of it; what is left cannot run.
    fn taken(&mut self) -> Executable {
        Executable {
            sources: self.sources.clone(),
            code: self.code.clone(),
            entry: self.entry,
            engine: std::mem::replace(&mut self.engine, Engine::Away),
            options: self.options.clone(),
            choice: self.choice.clone(),
            stats: self.stats.clone(),
            rivalry: None,
            has_run: self.has_run,
        }
    }

    /// A run of it, which its own flag stops.
    fn entrant(mut self) -> Entrant<Ran> {
        self.rivalry = None;
        let flag = self.options.interrupt.get_or_insert_default().clone();
        // The end of an earlier run may have raised it.
        flag.store(false, Ordering::Relaxed);
        let run = move |host: &mut (dyn Host + Send)| {
            let result = self.run_alone(host);
            Some(Ran { executable: self, result }.finish())
        };
        Entrant { flag, run: Box::new(run) }
    }

    /// Another run on the processor begins with a new heap: the one before may have been stopped at any point, and what it has computed
    /// of definitions would spare this one the work.
    fn reopen(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.has_run, true) || self.choice.card.is_some() {
            return Ok(());
        }
        match std::mem::replace(&mut self.engine, Engine::Away) {
            Engine::Compiled(direct, runner) => {
                // The old heap goes first: then the new one has its memory, which the system need not clear again.
                drop(runner);
                let opened = runner::open(&RunDevice::Cpu, &direct.module, &tasks(&self.options));
                let opened = opened.map_err(|error| Error::new(self.sources.clone(), vec![error]))?;
                self.engine = Engine::Compiled(direct, opened.runner);
            }
            engine => self.engine = engine,
        }
        Ok(())
    }

    /// The program on the first of these cards that is there and runs it.
    fn on_the_first_of(&self, cards: Vec<Selector>) -> Option<Entrant<Ran>> {
        let (flag, code, entry) = (Arc::new(AtomicBool::new(false)), self.code.clone()?, self.entry);
        let options = RunOptions { interrupt: Some(flag.clone()), ..self.options.clone() };
        let sources = self.sources.clone();
        let run = move |host: &mut (dyn Host + Send)| {
            let started = Instant::now();
            let ready = on_big_stack(|| on_a_card(&code, &options, &cards)).ok()?;
            let Ready { choice, engine, flag: _, helper: _ } = ready;
            let stats = Stats::new(started.elapsed().as_secs_f64(), &choice);
            let code = Some(code);
            let (rivalry, has_run) = (None, true);
            let mut executable = Executable { sources, code, entry, engine, options, choice, stats, rivalry, has_run };
            let result = executable.run_alone(host);
            Some(Ran { executable, result }.finish())
        };
        Some(Entrant { flag, run: Box::new(run) })
    }
}
