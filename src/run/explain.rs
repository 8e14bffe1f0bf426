//! Errors of compiled programs, with the calls that led there and the values that were met.
//!
//! Compiled code keeps neither. So the evaluator goes the same way again, with the answers that the host gave the first time, and
//! nothing is written twice. If it does not get there soon, the error is told as the compiled code knows it.

use super::effects::Answer;
use girih_base::diag::{Code as ErrorCode, Diagnostic};
use girih_term::DefId;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_term::io::{Host, Whence};
use girih_term::readback;
use std::collections::VecDeque;

/// How many calls the evaluator may make: it takes about a second for them.
const CALLS: u64 = 50_000_000;
/// How much may have been answered: effects, and the bytes that were read.
const MOST_ANSWERED: usize = 1 << 20;

/// A host that remembers what it answered.
pub(super) struct Recorder<'h> {
    host: &'h mut dyn Host,
    /// None if it was too much, or is not wanted.
    log: Option<VecDeque<Answer>>,
    size: usize,
}

impl<'h> Recorder<'h> {
    pub fn new(host: &'h mut dyn Host, wanted: bool) -> Recorder<'h> {
        Recorder { host, log: wanted.then(VecDeque::new), size: 0 }
    }

    /// All answers, if they were few enough.
    pub fn log(self) -> Option<VecDeque<Answer>> {
        self.log
    }

    fn remember(&mut self, size: usize, answer: impl FnOnce() -> Answer) {
        self.size += 1 + size;
        match &mut self.log {
            Some(log) if self.size <= MOST_ANSWERED => log.push_back(answer()),
            Some(_) => self.log = None,
            None => {}
        }
    }

    fn done(&mut self, result: Result<(), i32>) -> Result<(), i32> {
        self.remember(0, || Answer::of_nothing(result));
        result
    }
}

impl Host for Recorder<'_> {
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        let result = self.host.open(path, mode);
        self.remember(0, || Answer::of_number(result));
        result
    }

    fn close(&mut self, file: u32) -> Result<(), i32> {
        let result = self.host.close(file);
        self.done(result)
    }

    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        let result = self.host.read(file, count);
        let size = result.as_ref().map_or(0, Vec::len);
        self.remember(size, || Answer::of_bytes(result.clone()));
        result
    }

    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        let result = self.host.write(file, bytes);
        self.done(result)
    }

    fn flush(&mut self, file: u32) -> Result<(), i32> {
        let result = self.host.flush(file);
        self.done(result)
    }

    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32> {
        let result = self.host.seek(file, offset, from);
        self.done(result)
    }

    fn now(&mut self) -> u64 {
        let now = self.host.now();
        self.remember(0, || Answer::Number(now));
        now
    }

    fn sleep(&mut self, nanoseconds: u64) {
        self.host.sleep(nanoseconds);
    }
}

/// A host that answers as another one did, and does nothing. Where it has no answer, it answers with an error.
struct Replay {
    log: VecDeque<Answer>,
}

impl Replay {
    fn next(&mut self) -> Answer {
        self.log.pop_front().unwrap_or(Answer::Error(0))
    }
}

impl Host for Replay {
    fn open(&mut self, _path: &str, _mode: &str) -> Result<u32, i32> {
        self.next().number().map(|file| file as u32)
    }

    fn close(&mut self, _file: u32) -> Result<(), i32> {
        self.next().nothing()
    }

    fn read(&mut self, _file: u32, _count: usize) -> Result<Vec<u8>, i32> {
        self.next().bytes()
    }

    fn write(&mut self, _file: u32, _bytes: &[u8]) -> Result<(), i32> {
        self.next().nothing()
    }

    fn flush(&mut self, _file: u32) -> Result<(), i32> {
        self.next().nothing()
    }

    fn seek(&mut self, _file: u32, _offset: i64, _from: Whence) -> Result<(), i32> {
        self.next().nothing()
    }

    fn now(&mut self) -> u64 {
        self.next().number().unwrap_or(0)
    }

    fn sleep(&mut self, _nanoseconds: u64) {}
}

/// Whether an error is one that the evaluator can tell more about.
fn is_explained(code: ErrorCode) -> bool {
    use ErrorCode::{
        DivisionByZero, MixedNumbers, NoMatchingCase, NotAFunction, NotANumber, NotATuple, SelfDependent,
        UnsupportedOperation,
    };
    [
        DivisionByZero,
        MixedNumbers,
        NoMatchingCase,
        NotAFunction,
        NotANumber,
        NotATuple,
        SelfDependent,
        UnsupportedOperation,
    ]
    .contains(&code)
}

/// Whether an error is one that nets come to because of others: they take data apart without looking what it is, and call a definition that
/// needs itself again and again.
fn is_vague(code: ErrorCode) -> bool {
    [ErrorCode::NotAValue, ErrorCode::OutOfMemory].contains(&code)
}

/// Whether the error that the evaluator finds is the one that was found before.
fn is_same(before: ErrorCode, found: ErrorCode) -> bool {
    match before {
        ErrorCode::NotAValue => true,
        ErrorCode::OutOfMemory => found == ErrorCode::SelfDependent,
        before => before == found,
    }
}

/// The error as the evaluator tells it, if it finds the same one when it does the same `again`.
pub(crate) fn explain(
    code: &Code,
    memory: u64,
    error: Diagnostic,
    again: impl FnOnce(&mut Machine) -> Result<(), Diagnostic>,
) -> Diagnostic {
    if !is_explained(error.code) && !is_vague(error.code) {
        return error;
    }
    let mut machine = Machine::new(code, Limits { memory, calls: CALLS, ..Limits::default() });
    let found = again(&mut machine).err();
    found.filter(|found| is_same(error.code, found.code)).unwrap_or(error)
}

/// Runs a program again, with the answers that the host gave.
pub(super) fn replay(machine: &mut Machine, entry: DefId, log: VecDeque<Answer>) -> Result<(), Diagnostic> {
    let value = machine.call(entry, &[])?;
    let value = machine.run_io(value, &mut Replay { log })?;
    readback::show(machine, value).map(|_| ())
}
