//! IO: a program whose value is an `IO` asks for effects, one after the other, and a [`Host`] performs them.
//!
//! An `IO/Call` names a function of the host, its argument and what to do with the answer; an `IO/Done` ends. The answer
//! is a `Result` whose error is an `IOError`: `Type` for an argument of the wrong form, `Name` for a function that does
//! not exist, `Inner` with an error number or a text for what went wrong in the function.
//!
//! Effects are the same for every engine: they read and make values through [`Data`].

mod effects;
mod evaluator;

use super::{CtorId, IO_MAGIC, Known};
use effects::Call;
use girih_base::diag::Diagnostic;
use girih_base::num::Num;

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

/// The values of a program that runs, as effects read and make them.
pub trait Data {
    /// A value. It stays what it is at least until the [`IO/Call`](Data::resume) that it belongs to has been performed.
    type Value: Clone;

    /// The constructors that effects know.
    fn known(&self) -> &Known;
    /// What a value is, one level deep; it is computed here if it has not been.
    fn look(&mut self, value: &Self::Value) -> Result<Seen<Self::Value>, Diagnostic>;
    /// The two parts of a pair; none for anything else.
    fn parts(&mut self, value: &Self::Value) -> Result<Option<[Self::Value; 2]>, Diagnostic> {
        match self.look(value)? {
            Seen::Pair(first, second) => Ok(Some([first, second])),
            Seen::Number(_) | Seen::Ctor(..) | Seen::Other => Ok(None),
        }
    }
    /// The numbers of a list or a string; none for anything else, and if one of its items is no number.
    fn numbers(&mut self, value: &Self::Value) -> Result<Option<Vec<u32>>, Diagnostic>;

    /// `*`.
    fn era(&mut self) -> Self::Value;
    /// A number.
    fn number(&mut self, number: Num) -> Self::Value;
    /// The number of an operating system's error: a `u24`, as the types of the prelude say.
    fn error_number(&mut self, number: i32) -> Self::Value {
        self.number(Num::u24(number as u32))
    }
    /// A pair.
    fn pair(&mut self, first: Self::Value, second: Self::Value) -> Result<Self::Value, Diagnostic>;
    /// A constructor with all its fields.
    fn ctor(&mut self, ctor: CtorId, fields: &[Self::Value]) -> Result<Self::Value, Diagnostic>;
    /// A list of u24.
    fn bytes(&mut self, bytes: &[u8]) -> Result<Self::Value, Diagnostic>;
    /// A string.
    fn text(&mut self, text: &str) -> Result<Self::Value, Diagnostic>;

    /// Between two effects, when the program has this value and nothing else: memory that nobody needs may be given back.
    fn tidy(&mut self, value: Self::Value) -> Result<Self::Value, Diagnostic> {
        Ok(value)
    }

    /// An error if the program is to stop.
    fn check_interrupt(&self) -> Result<(), Diagnostic>;
    /// The program goes on: what comes `next` after a `call`, one of its parts, is applied to the answer. The call itself is not
    /// needed any more.
    fn resume(&mut self, call: Self::Value, next: Self::Value, answer: Self::Value) -> Result<Self::Value, Diagnostic>;
}

/// What a value is, one level deep.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<V> {
    /// A number.
    Number(Num),
    /// A pair.
    Pair(V, V),
    /// A constructor with its fields.
    Ctor(CtorId, Vec<V>),
    /// Anything else: `*`, functions.
    Other,
}

/// Performs the effects that a value asks for, if it is an `IO`, and gives the `IO/Done` that it ends with. Any other
/// value is given back.
///
/// # Errors
/// If the program fails, needs too much memory, or is interrupted.
pub fn run_io<D: Data>(data: &mut D, value: D::Value, host: &mut dyn Host) -> Result<D::Value, Diagnostic> {
    let mut value = value;
    while let Some(call) = Call::of(data, &value)? {
        let answer = call.perform(data, host)?;
        let answer = answer.value(data)?;
        data.check_interrupt()?;
        value = data.resume(value, call.next, answer)?;
        value = data.tidy(value)?;
    }
    Ok(value)
}

/// The numbers that every `IO` carries.
const MAGIC: (Num, Num) = (Num::U24(IO_MAGIC.0), Num::U24(IO_MAGIC.1));
