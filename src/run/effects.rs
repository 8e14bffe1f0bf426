//! The effects of a program that two devices run at the same time. Each effect is performed once, for whoever comes to it first, and the other one gets
//! the same answer when it comes there.
//!
//! A program asks for the same effects in the same order wherever it runs, as long as it gets the same answers. So an effect is named by its
//! number, and a [`Replica`] asks for it as a program asks its host. The [`Stage`] answers. (State machine replication: Schneider 1990; unlike
//! there, requests come from the replicas.)
//!
//! Invariant: what the host is asked for is what one of the two asks for, from the first effect to the last. Whoever asks for something else than the
//! other one did is told to stop.

use super::device_race::{TICK, Who};
use girih_term::io::{Host, Whence};
use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};

/// So many effects behind the other one, or bytes that were read, a device has lost: answers are kept no longer than that.
const MOST_BEHIND: usize = 1 << 20;
const MOST_BYTES: usize = 64 << 20;
/// What a replica is told that is to stop: `EINTR`.
const STOPPED: i32 = 4;

/// An effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Open(String, String),
    Close(u32),
    Read(u32, usize),
    Write(u32, Vec<u8>),
    Flush(u32),
    Seek(u32, i64, Whence),
    Now,
    Sleep(u64),
}

/// What the host answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    Number(u64),
    Bytes(Vec<u8>),
    Error(i32),
}

/// The number of an error that has none.
const UNKNOWN: i32 = 0;

impl Answer {
    pub fn of_nothing(result: Result<(), i32>) -> Answer {
        result.map_or_else(Answer::Error, |()| Answer::Nothing)
    }
    pub fn of_number(result: Result<u32, i32>) -> Answer {
        result.map_or_else(Answer::Error, |number| Answer::Number(number.into()))
    }
    pub fn of_bytes(result: Result<Vec<u8>, i32>) -> Answer {
        result.map_or_else(Answer::Error, Answer::Bytes)
    }

    /// Bytes that it holds.
    fn size(&self) -> usize {
        match self {
            Answer::Bytes(bytes) => bytes.len(),
            Answer::Nothing | Answer::Number(_) | Answer::Error(_) => 0,
        }
    }

    pub fn nothing(self) -> Result<(), i32> {
        match self {
            Answer::Nothing => Ok(()),
            Answer::Error(error) => Err(error),
            Answer::Number(_) | Answer::Bytes(_) => Err(UNKNOWN),
        }
    }
    pub fn number(self) -> Result<u64, i32> {
        match self {
            Answer::Number(number) => Ok(number),
            Answer::Error(error) => Err(error),
            Answer::Nothing | Answer::Bytes(_) => Err(UNKNOWN),
        }
    }
    pub fn bytes(self) -> Result<Vec<u8>, i32> {
        match self {
            Answer::Bytes(bytes) => Ok(bytes),
            Answer::Error(error) => Err(error),
            Answer::Nothing | Answer::Number(_) => Err(UNKNOWN),
        }
    }
}

impl Effect {
    fn perform(&self, host: &mut dyn Host) -> Answer {
        match self {
            Effect::Open(path, mode) => Answer::of_number(host.open(path, mode)),
            Effect::Close(file) => Answer::of_nothing(host.close(*file)),
            Effect::Read(file, count) => Answer::of_bytes(host.read(*file, *count)),
            Effect::Write(file, bytes) => Answer::of_nothing(host.write(*file, bytes)),
            Effect::Flush(file) => Answer::of_nothing(host.flush(*file)),
            Effect::Seek(file, offset, from) => Answer::of_nothing(host.seek(*file, *offset, *from)),
            Effect::Now => Answer::Number(host.now()),
            Effect::Sleep(nanoseconds) => {
                host.sleep(*nanoseconds);
                Answer::Nothing
            }
        }
    }

    /// A number that tells effects apart: what was written need not be kept to see whether the other one writes the same.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        std::mem::discriminant(self).hash(&mut hasher);
        match self {
            Effect::Open(path, mode) => (path, mode).hash(&mut hasher),
            Effect::Close(file) | Effect::Flush(file) => file.hash(&mut hasher),
            Effect::Read(file, count) => (file, count).hash(&mut hasher),
            Effect::Write(file, bytes) => (file, bytes).hash(&mut hasher),
            Effect::Seek(file, offset, from) => {
                (file, offset).hash(&mut hasher);
                std::mem::discriminant(from).hash(&mut hasher);
            }
            Effect::Now => {}
            Effect::Sleep(nanoseconds) => nanoseconds.hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// The host of a program that two run, what was performed, and how far each of the two is.
pub(super) struct Stage<'h> {
    host: &'h mut (dyn Host + Send),
    /// Effects whose answers nobody needs any more.
    forgotten: usize,
    answers: VecDeque<(u64, Answer)>,
    /// Bytes of these.
    bytes: usize,
    /// How many effects the processor and the card have had; none for one that takes part no longer, or never has.
    had: [Option<usize>; 2],
    /// What stops them.
    flags: [Option<Arc<AtomicBool>>; 2],
}

impl<'h> Stage<'h> {
    pub fn new(host: &'h mut (dyn Host + Send), flags: [Option<Arc<AtomicBool>>; 2]) -> Stage<'h> {
        let had = flags.each_ref().map(|flag| flag.as_ref().map(|_| 0));
        Stage { host, forgotten: 0, answers: VecDeque::new(), bytes: 0, had, flags }
    }

    /// Whether somebody takes part.
    pub fn has(&self, who: Who) -> bool {
        self.had[who as usize].is_some()
    }
    /// Somebody takes part no longer: it has ended, or ends soon.
    pub fn leaves(&mut self, who: Who) {
        self.had[who as usize] = None;
        self.forget();
    }
    /// Somebody is told to stop.
    pub fn stop(&mut self, who: Who) {
        self.leaves(who);
        self.flags[who as usize].iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }

    /// What came of an effect that somebody asks for, and of which number it is. None for one that is to stop: it takes part no longer, or asks for
    /// something else than the other one did. The other one is told to stop if it is too far behind.
    pub fn answer(&mut self, who: Who, number: usize, effect: &Effect) -> Option<Answer> {
        if !self.has(who) {
            return None;
        }
        let fingerprint = effect.fingerprint();
        let kept = number.checked_sub(self.forgotten).and_then(|place| self.answers.get(place));
        let found = match kept {
            Some((same, found)) if *same == fingerprint => found.clone(),
            Some(_) => {
                self.stop(who);
                return None;
            }
            None => {
                let found = effect.perform(self.host);
                self.bytes += found.size();
                self.answers.push_back((fingerprint, found.clone()));
                found
            }
        };
        self.had[who as usize] = Some(number + 1);
        self.forget();
        let other = who.other();
        let is_behind = self.had[other as usize].is_some_and(|had| had < number);
        if is_behind && (self.answers.len() > MOST_BEHIND || self.bytes > MOST_BYTES) {
            self.stop(other);
        }
        Some(found)
    }

    /// Forgets the answers that both have had.
    fn forget(&mut self) {
        let needed = self.had.iter().flatten().min().copied().unwrap_or(usize::MAX);
        while self.forgotten < needed
            && let Some((_, answer)) = self.answers.pop_front()
        {
            self.bytes -= answer.size();
            self.forgotten += 1;
        }
    }
}

/// The host of one of the two.
pub(super) struct Replica<'a> {
    /// Gives what comes of the effect of a number, or none if this one is to stop.
    ask: Box<dyn FnMut(usize, Effect) -> Option<Answer> + Send + 'a>,
    number: usize,
}

impl<'a> Replica<'a> {
    pub fn new(ask: impl FnMut(usize, Effect) -> Option<Answer> + Send + 'a) -> Replica<'a> {
        Replica { ask: Box::new(ask), number: 0 }
    }

    /// What came of an effect; an error for one that is to stop.
    fn perform(&mut self, effect: Effect) -> Answer {
        let number = self.number;
        self.number += 1;
        (self.ask)(number, effect).unwrap_or(Answer::Error(STOPPED))
    }
}

/// Somebody who cannot reach the stage asks for an effect of a number, and waits for the answer.
pub(super) struct Asked {
    pub number: usize,
    pub effect: Effect,
    answer: SyncSender<Answer>,
}

impl Asked {
    /// Asks, and waits until there is an answer or the flag is raised.
    pub fn ask(number: usize, effect: Effect, flag: &AtomicBool, send: impl FnOnce(Asked) -> bool) -> Option<Answer> {
        let (answer, receiver) = sync_channel(1);
        if !send(Asked { number, effect, answer }) {
            return None;
        }
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if flag.load(Ordering::Relaxed) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    /// Answers; who is to stop gets no answer.
    pub fn answer(self, found: Option<Answer>) {
        if let Some(found) = found {
            // It may have been told to stop meanwhile.
            let _ = self.answer.send(found);
        }
    }
}

impl Host for Replica<'_> {
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        self.perform(Effect::Open(path.to_owned(), mode.to_owned())).number().map(|file| file as u32)
    }
    fn close(&mut self, file: u32) -> Result<(), i32> {
        self.perform(Effect::Close(file)).nothing()
    }
    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        self.perform(Effect::Read(file, count)).bytes()
    }
    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        self.perform(Effect::Write(file, bytes.to_vec())).nothing()
    }
    fn flush(&mut self, file: u32) -> Result<(), i32> {
        self.perform(Effect::Flush(file)).nothing()
    }
    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32> {
        self.perform(Effect::Seek(file, offset, from)).nothing()
    }
    fn now(&mut self) -> u64 {
        self.perform(Effect::Now).number().unwrap_or(0)
    }
    fn sleep(&mut self, nanoseconds: u64) {
        self.perform(Effect::Sleep(nanoseconds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemHost;

    fn flags() -> [Option<Arc<AtomicBool>>; 2] {
        [Some(Arc::default()), Some(Arc::default())]
    }

    #[test]
    fn answers_are_kept_until_both_have_had_them() {
        let mut host = SystemHost::new();
        let mut stage = Stage::new(&mut host, flags());
        let times: Vec<_> = (0..10).map(|number| stage.answer(Who::Card, number, &Effect::Now)).collect();
        assert_eq!(stage.answers.len(), 10);
        let again: Vec<_> = (0..10).map(|number| stage.answer(Who::Processor, number, &Effect::Now)).collect();
        assert!(times == again && times.iter().all(Option::is_some), "{times:?} {again:?}");
        assert_eq!(stage.answers.len(), 0);
        stage.leaves(Who::Card);
        assert!(stage.answer(Who::Processor, 10, &Effect::Now).is_some());
        assert_eq!((stage.answers.len(), stage.answer(Who::Card, 10, &Effect::Now)), (0, None));
    }

    #[test]
    fn who_is_too_far_behind_is_told_to_stop() {
        let flags = flags();
        let mut host = SystemHost::new();
        let mut stage = Stage::new(&mut host, flags.clone());
        let raised = || flags.each_ref().map(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
        for number in 0..MOST_BEHIND {
            assert!(stage.answer(Who::Processor, number, &Effect::Now).is_some());
        }
        assert_eq!((raised(), stage.has(Who::Card)), ([false, false], true));
        assert!(stage.answer(Who::Processor, MOST_BEHIND, &Effect::Now).is_some());
        assert_eq!((raised(), stage.has(Who::Card), stage.answers.len()), ([false, true], false, 0));
    }
}
