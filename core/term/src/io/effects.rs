//! The functions of the host: what each reads of its argument, has done, and answers.

use super::{Data, Host, MAGIC, Seen, Whence};
use crate::CtorId;
use girih_base::diag::Diagnostic;
use girih_base::num::Num;

/// The error number of something that is not an open file.
const BAD_FILE: i32 = 9;
/// What the functions for dynamic libraries answer.
const NO_LIBRARIES: &str = "dynamic libraries are not supported";

/// An `IO/Call`.
pub(super) struct Call<V> {
    /// The name of the function; none if it is no text.
    name: Option<String>,
    argument: V,
    /// What the answer is given to.
    pub next: V,
}

impl<V: Clone> Call<V> {
    /// The call that a value is; none if it is done, or no `IO` at all.
    pub fn of<D: Data<Value = V>>(data: &mut D, value: &V) -> Result<Option<Call<V>>, Diagnostic> {
        let Seen::Ctor(ctor, fields) = data.look(value)? else { return Ok(None) };
        let (true, [magic, name, argument, next]) = (Some(ctor) == data.known().io_call, &fields[..]) else {
            return Ok(None);
        };
        let Some([first, second]) = data.parts(magic)? else { return Ok(None) };
        if (number(data, &first)?, number(data, &second)?) != (Some(MAGIC.0), Some(MAGIC.1)) {
            return Ok(None);
        }
        Ok(Some(Call { name: text(data, name)?, argument: argument.clone(), next: next.clone() }))
    }

    /// Has the function of the host performed.
    pub fn perform<D: Data<Value = V>>(&self, data: &mut D, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
        let Some(name) = &self.name else { return Ok(Answer::WrongName) };
        let argument = &self.argument;
        let answer = match name.as_str() {
            "READ" => read(data, argument, host)?,
            "OPEN" => open(data, argument, host)?,
            "CLOSE" => match file(data, argument)? {
                Some(file) => Answer::from(host.close(file)),
                None => Answer::Errno(BAD_FILE),
            },
            "FLUSH" => match file(data, argument)? {
                Some(file) => Answer::from(host.flush(file)),
                None => Answer::Errno(BAD_FILE),
            },
            "WRITE" => write(data, argument, host)?,
            "SEEK" => seek(data, argument, host)?,
            "GET_TIME" => {
                let time = host.now();
                Answer::Pair((time >> 24) as u32, time as u32)
            }
            "SLEEP" => sleep(data, argument, host)?,
            "DL_OPEN" | "DL_CALL" | "DL_CLOSE" => Answer::Message(NO_LIBRARIES),
            _ => Answer::WrongName,
        };
        Ok(answer)
    }
}

/// What a function of the host answers.
pub(super) enum Answer {
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
    pub fn value<D: Data>(self, data: &mut D) -> Result<D::Value, Diagnostic> {
        let known = data.known().clone();
        let inner = match self {
            Answer::Nothing => Ok(data.era()),
            Answer::Number(number) => Ok(data.number(Num::u24(number))),
            Answer::Bytes(bytes) => Ok(data.bytes(&bytes)?),
            Answer::Pair(first, second) => {
                let parts = [first, second].map(|part| data.number(Num::u24(part)));
                let [first, second] = parts;
                Ok(data.pair(first, second)?)
            }
            Answer::Errno(number) => Err((known.io_error_inner, Some(data.error_number(number)))),
            Answer::Message(text) => Err((known.io_error_inner, Some(data.text(text)?))),
            Answer::WrongType => Err((known.io_error_type, None)),
            Answer::WrongName => Err((known.io_error_name, None)),
        };
        match inner {
            Ok(value) => data.ctor(prelude(known.result_ok), &[value]),
            Err((ctor, inner)) => {
                let error = data.ctor(prelude(ctor), inner.as_slice())?;
                data.ctor(prelude(known.result_err), &[error])
            }
        }
    }
}

fn prelude(ctor: Option<CtorId>) -> CtorId {
    ctor.expect("a prelude with `IO` has `Result` and `IOError`")
}

fn read<D: Data>(data: &mut D, argument: &D::Value, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some([handle, count]) = data.parts(argument)? else { return Ok(Answer::WrongType) };
    let Some(count) = number(data, &count)? else { return Ok(Answer::WrongType) };
    let Some(file) = file(data, &handle)? else { return Ok(Answer::Errno(BAD_FILE)) };
    Ok(host.read(file, count.bits() as usize).map_or_else(Answer::Errno, Answer::Bytes))
}

fn open<D: Data>(data: &mut D, argument: &D::Value, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some([path, mode]) = data.parts(argument)? else { return Ok(Answer::WrongType) };
    let Some(path) = text(data, &path)? else { return Ok(Answer::WrongType) };
    let Some(mode) = text(data, &mode)? else { return Ok(Answer::WrongType) };
    Ok(host.open(&path, &mode).map_or_else(Answer::Errno, Answer::Number))
}

fn write<D: Data>(data: &mut D, argument: &D::Value, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some([handle, bytes]) = data.parts(argument)? else { return Ok(Answer::WrongType) };
    let Some(bytes) = data.numbers(&bytes)? else { return Ok(Answer::WrongType) };
    let Some(file) = file(data, &handle)? else { return Ok(Answer::Errno(BAD_FILE)) };
    let bytes: Vec<u8> = bytes.into_iter().map(|byte| byte as u8).collect();
    Ok(host.write(file, &bytes).into())
}

fn seek<D: Data>(data: &mut D, argument: &D::Value, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some([handle, rest]) = data.parts(argument)? else { return Ok(Answer::WrongType) };
    let Some([offset, whence]) = data.parts(&rest)? else { return Ok(Answer::WrongType) };
    let Some(offset) = number(data, &offset)? else { return Ok(Answer::WrongType) };
    let Some(whence) = number(data, &whence)? else { return Ok(Answer::WrongType) };
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
    let Some(file) = file(data, &handle)? else { return Ok(Answer::Errno(BAD_FILE)) };
    Ok(host.seek(file, offset, whence).into())
}

fn sleep<D: Data>(data: &mut D, argument: &D::Value, host: &mut dyn Host) -> Result<Answer, Diagnostic> {
    let Some([high, low]) = data.parts(argument)? else { return Ok(Answer::WrongType) };
    let Some(high) = number(data, &high)? else { return Ok(Answer::WrongType) };
    let Some(low) = number(data, &low)? else { return Ok(Answer::WrongType) };
    host.sleep(u64::from(high.bits()) << 24 | u64::from(low.bits()));
    Ok(Answer::Nothing)
}

fn number<D: Data>(data: &mut D, value: &D::Value) -> Result<Option<Num>, Diagnostic> {
    match data.look(value)? {
        Seen::Number(number) => Ok(Some(number)),
        Seen::Pair(..) | Seen::Ctor(..) | Seen::Other => Ok(None),
    }
}

fn file<D: Data>(data: &mut D, value: &D::Value) -> Result<Option<u32>, Diagnostic> {
    Ok(number(data, value)?.map(Num::bits))
}

fn text<D: Data>(data: &mut D, value: &D::Value) -> Result<Option<String>, Diagnostic> {
    let character = |code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    Ok(data.numbers(value)?.map(|codes| codes.into_iter().map(character).collect()))
}
