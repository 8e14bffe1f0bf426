//! IO: a program whose value is an `IO` asks for effects, one after the other, and a [`Host`] performs them.
//!
//! An `IO/Call` names a function of the host, its argument and what to do with the answer; an `IO/Done` ends. The answer
//! is a `Result` whose error is an `IOError`: `Type` for an argument of the wrong form, `Name` for a function that does
//! not exist, `Inner` with an error number or a text for what went wrong in the function.

use super::CtorId;
use super::eval::{Machine, Root, Value, View};
use crate::diag::Diagnostic;
use crate::num::Num;

/// The numbers that every `IO` carries.
const MAGIC: (Num, Num) = (Num::U24(0xD0_CA11), Num::U24(0xFF_1FF1));
/// The error number of something that is not an open file.
const BAD_FILE: i32 = 9;
/// What the functions for dynamic libraries answer.
const NO_LIBRARIES: &str = "dynamic libraries are not supported";

/// Performs effects. Errors are numbers as POSIX has them.
pub trait Host {
    /// Opens a file in a mode of C's `fopen`; gives the number that stands for it.
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32>;
    /// Closes a file.
    fn close(&mut self, file: u32) -> Result<(), i32>;
    /// Reads as many bytes, or fewer at the end of the file.
    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32>;
    /// Writes all bytes.
    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32>;
    /// Passes on what was written.
    fn flush(&mut self, file: u32) -> Result<(), i32>;
    /// Moves to another place of a file.
    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32>;
    /// The time in nanoseconds since any fixed moment.
    fn now(&mut self) -> u64;
    /// Waits for a number of nanoseconds.
    fn sleep(&mut self, nanoseconds: u64);
}

/// What the offset of a [`Host::seek`] counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    /// The start of the file.
    Start,
    /// Where the file stands.
    Current,
    /// The end of the file.
    End,
}

/// Performs the effects that a value asks for, if it is an `IO`, and gives the `IO/Done` that it ends with. Any other
/// value is given back.
///
/// # Errors
/// If the program fails, needs too much memory, or is interrupted.
pub fn run_io(machine: &mut Machine, value: Value, host: &mut dyn Host) -> Result<Value, Diagnostic> {
    let mut value = machine.force(value)?;
    loop {
        let kept = machine.keep(value);
        let mut arguments = Arguments { machine };
        let Some(call) = arguments.call(&kept)? else { return Ok(machine.value(&kept)) };
        let answer = perform(&mut arguments, &call, host)?;
        let answer = answer.value(machine)?;
        machine.check_interrupt()?;
        let next = machine.value(&call.next);
        let result = machine.apply(next, &[answer])?;
        value = machine.force(result)?;
    }
}

/// An `IO/Call`.
struct Call {
    /// The name of the function; none if it is no text.
    name: Option<String>,
    argument: Root,
    next: Root,
}

/// What a function of the host answers.
enum Answer {
    Nothing,
    Number(u32),
    Bytes(Vec<u8>),
    Pair(u32, u32),
    Errno(i32),
    Message(&'static str),
    WrongType,
    WrongName,
}

impl From<Result<(), i32>> for Answer {
    fn from(result: Result<(), i32>) -> Answer {
        result.map_or_else(Answer::Errno, |()| Answer::Nothing)
    }
}

impl Answer {
    /// The `Result` that it is for the program.
    fn value(self, machine: &mut Machine) -> Result<Value, Diagnostic> {
        let known = machine.code().program().known.clone();
        let inner = match self {
            Answer::Nothing => Ok(Value::ERA),
            Answer::Number(number) => Ok(Num::u24(number).into()),
            Answer::Bytes(bytes) => Ok(machine.list(bytes.into_iter().map(|byte| Num::U24(byte.into()).into()))?),
            Answer::Pair(first, second) => Ok(machine.pair(Num::u24(first).into(), Num::u24(second).into())?),
            Answer::Errno(number) => Err((known.io_error_inner, Some(Num::i24(number).into()))),
            Answer::Message(text) => Err((known.io_error_inner, Some(machine.string(text)?))),
            Answer::WrongType => Err((known.io_error_type, None)),
            Answer::WrongName => Err((known.io_error_name, None)),
        };
        match inner {
            Ok(value) => machine.ctor(prelude(known.result_ok), &[value]),
            Err((ctor, inner)) => {
                let error = machine.ctor(prelude(ctor), inner.as_slice())?;
                machine.ctor(prelude(known.result_err), &[error])
            }
        }
    }
}

fn prelude(ctor: Option<CtorId>) -> CtorId {
    ctor.expect("a prelude with `IO` has `Result` and `IOError`")
}

/// Has a function of the host performed.
fn perform(arguments: &mut Arguments, call: &Call, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some(name) = &call.name else { return Ok(Answer::WrongName) };
    let answer = match name.as_str() {
        "READ" => read(arguments, &call.argument, host)?,
        "OPEN" => open(arguments, &call.argument, host)?,
        "CLOSE" => match arguments.file(&call.argument)? {
            Some(file) => Answer::from(host.close(file)),
            None => Answer::Errno(BAD_FILE),
        },
        "FLUSH" => match arguments.file(&call.argument)? {
            Some(file) => Answer::from(host.flush(file)),
            None => Answer::Errno(BAD_FILE),
        },
        "WRITE" => write(arguments, &call.argument, host)?,
        "SEEK" => seek(arguments, &call.argument, host)?,
        "GET_TIME" => {
            let time = host.now();
            Answer::Pair((time >> 24) as u32, time as u32)
        }
        "SLEEP" => sleep(arguments, &call.argument, host)?,
        "DL_OPEN" | "DL_CALL" | "DL_CLOSE" => Answer::Message(NO_LIBRARIES),
        _ => Answer::WrongName,
    };
    Ok(answer)
}

fn read(arguments: &mut Arguments, argument: &Root, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some((file, count)) = arguments.pair(argument)? else { return Ok(Answer::WrongType) };
    let Some(count) = arguments.number(&count)? else { return Ok(Answer::WrongType) };
    let Some(file) = arguments.file(&file)? else { return Ok(Answer::Errno(BAD_FILE)) };
    Ok(host.read(file, count.bits() as usize).map_or_else(Answer::Errno, Answer::Bytes))
}

fn open(arguments: &mut Arguments, argument: &Root, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some((path, mode)) = arguments.pair(argument)? else { return Ok(Answer::WrongType) };
    let Some(path) = arguments.text(&path)? else { return Ok(Answer::WrongType) };
    let Some(mode) = arguments.text(&mode)? else { return Ok(Answer::WrongType) };
    Ok(host.open(&path, &mode).map_or_else(Answer::Errno, Answer::Number))
}

fn write(arguments: &mut Arguments, argument: &Root, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some((file, bytes)) = arguments.pair(argument)? else { return Ok(Answer::WrongType) };
    let Some(bytes) = arguments.numbers(&bytes)? else { return Ok(Answer::WrongType) };
    let Some(file) = arguments.file(&file)? else { return Ok(Answer::Errno(BAD_FILE)) };
    let bytes: Vec<u8> = bytes.into_iter().map(|byte| byte as u8).collect();
    Ok(host.write(file, &bytes).into())
}

fn seek(arguments: &mut Arguments, argument: &Root, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some((file, rest)) = arguments.pair(argument)? else { return Ok(Answer::WrongType) };
    let Some((offset, whence)) = arguments.pair(&rest)? else { return Ok(Answer::WrongType) };
    let Some(offset) = arguments.number(&offset)? else { return Ok(Answer::WrongType) };
    let Some(whence) = arguments.number(&whence)? else { return Ok(Answer::WrongType) };
    let whence = match whence.bits() {
        0 => Whence::Start,
        1 => Whence::Current,
        2 => Whence::End,
        _ => return Ok(Answer::WrongType),
    };
    // A 24-bit offset is signed, whatever its kind says: so an unsigned one can count backwards too.
    let offset = match offset {
        Num::I24(offset) | Num::I32(offset) => i64::from(offset),
        Num::U32(offset) => i64::from(offset),
        Num::U24(offset) => i64::from((offset << 8) as i32 >> 8),
        Num::F24(_) | Num::F32(_) => return Ok(Answer::WrongType),
    };
    let Some(file) = arguments.file(&file)? else { return Ok(Answer::Errno(BAD_FILE)) };
    Ok(host.seek(file, offset, whence).into())
}

fn sleep(arguments: &mut Arguments, argument: &Root, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some((high, low)) = arguments.pair(argument)? else { return Ok(Answer::WrongType) };
    let Some(high) = arguments.number(&high)? else { return Ok(Answer::WrongType) };
    let Some(low) = arguments.number(&low)? else { return Ok(Answer::WrongType) };
    host.sleep(u64::from(high.bits()) << 24 | u64::from(low.bits()));
    Ok(Answer::Nothing)
}

/// Reads what a program hands to the host. Parts that have not been computed are computed here.
struct Arguments<'m> {
    machine: &'m mut Machine,
}

impl Arguments<'_> {
    fn view(&mut self, root: &Root) -> Result<View, Diagnostic> {
        let value = self.machine.value(root);
        let value = self.machine.force(value)?;
        Ok(self.machine.view(value))
    }

    /// The call that a value is; none if it is done, or no `IO` at all.
    fn call(&mut self, root: &Root) -> Result<Option<Call>, Diagnostic> {
        let known = &self.machine.code().program().known;
        let io_call = known.io_call;
        let View::Ctor(ctor, fields) = self.view(root)? else { return Ok(None) };
        let (true, [magic, name, argument, next]) = (Some(ctor) == io_call, &fields[..]) else { return Ok(None) };
        let [magic, name, argument, next] = [magic, name, argument, next].map(|&field| self.machine.keep(field));
        let Some((first, second)) = self.pair(&magic)? else { return Ok(None) };
        if (self.number(&first)?, self.number(&second)?) != (Some(MAGIC.0), Some(MAGIC.1)) {
            return Ok(None);
        }
        Ok(Some(Call { name: self.text(&name)?, argument, next }))
    }

    fn pair(&mut self, root: &Root) -> Result<Option<(Root, Root)>, Diagnostic> {
        match self.view(root)? {
            View::Pair(first, second) => Ok(Some((self.machine.keep(first), self.machine.keep(second)))),
            _ => Ok(None),
        }
    }

    fn number(&mut self, root: &Root) -> Result<Option<Num>, Diagnostic> {
        match self.view(root)? {
            View::Num(number) => Ok(Some(number)),
            _ => Ok(None),
        }
    }

    fn file(&mut self, root: &Root) -> Result<Option<u32>, Diagnostic> {
        Ok(self.number(root)?.map(Num::bits))
    }

    fn text(&mut self, root: &Root) -> Result<Option<String>, Diagnostic> {
        let character = |code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        Ok(self.numbers(root)?.map(|codes| codes.into_iter().map(character).collect()))
    }

    /// The numbers of a list or a string.
    fn numbers(&mut self, root: &Root) -> Result<Option<Vec<u32>>, Diagnostic> {
        let known = self.machine.code().program().known.clone();
        let mut numbers = vec![];
        let mut rest = self.machine.value(root);
        loop {
            rest = self.machine.force(rest)?;
            let View::Ctor(ctor, fields) = self.machine.view(rest) else { return Ok(None) };
            let ctor = Some(ctor);
            match fields[..] {
                [] if ctor == known.list_nil || ctor == known.string_nil => return Ok(Some(numbers)),
                [head, tail] if ctor == known.list_cons || ctor == known.string_cons => {
                    // Only where the head has to be computed can the tail move.
                    let (head, tail) = match self.machine.peek(head) {
                        Some(head) => (head, tail),
                        None => {
                            let tail = self.machine.keep(tail);
                            (self.machine.force(head)?, self.machine.value(&tail))
                        }
                    };
                    let Some(head) = head.num() else { return Ok(None) };
                    numbers.push(head.bits());
                    rest = tail;
                }
                _ => return Ok(None),
            }
        }
    }
}
