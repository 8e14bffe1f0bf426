//! What the host's side of every runner says to a device, and hears: words of buffers, arguments of launches, ends of calls.

use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_base::span::Span;
use girih_base::words;
use girih_ir::Type;
use girih_runtime::{Argument, Buffer, Constant, Device, Fault};
use std::collections::hash_map::Entry;

/// Reads words of a buffer, from a byte on.
///
/// # Errors
/// If the device fails.
pub fn read(device: &Device, buffer: &Buffer, offset: u64, count: usize) -> Result<Vec<u32>, Diagnostic> {
    let mut bytes = vec![0; 4 * count];
    device.read(buffer, offset, &mut bytes)?;
    Ok(words::from_bytes(&bytes))
}

/// Writes words into a buffer, from a byte on.
///
/// # Errors
/// If the device fails.
pub fn write(device: &Device, buffer: &Buffer, offset: u64, words: &[u32]) -> Result<(), Diagnostic> {
    device.write(buffer, offset, &words::to_bytes(words))
}

/// A buffer of so many words on a device.
#[derive(Clone, Copy, Debug)]
pub struct WordBuffer<'d> {
    /// Where it is.
    pub device: &'d Device,
    /// The buffer.
    pub buffer: &'d Buffer,
    /// How many words it has.
    pub words: usize,
}

/// What the host has read of a buffer: in pages of `SIZE` words, each read once, until it is forgotten.
#[derive(Debug, Default)]
pub struct Pages<const SIZE: usize>(FastMap<usize, Vec<u32>>);

impl<const SIZE: usize> Pages<SIZE> {
    /// What was read may have changed.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// The page that a word is in.
    fn page(&mut self, of: WordBuffer<'_>, at: usize) -> Result<&[u32], Diagnostic> {
        match self.0.entry(at / SIZE) {
            Entry::Occupied(page) => Ok(page.into_mut()),
            Entry::Vacant(page) => {
                let first = (at / SIZE * SIZE).min(of.words);
                let words = read(of.device, of.buffer, 4 * first as u64, SIZE.min(of.words - first));
                // What cannot be read is not asked for again.
                let (words, failed) = words.map_or_else(|error| (vec![], Some(error)), |words| (words, None));
                let words = page.insert(words);
                failed.map_or(Ok(words), Err)
            }
        }
    }

    /// A word; 0 where there is none.
    ///
    /// # Errors
    /// If the device fails, once for each page; from then on the page has no words.
    pub fn word(&mut self, of: WordBuffer<'_>, at: usize) -> Result<u32, Diagnostic> {
        Ok(self.page(of, at)?.get(at % SIZE).copied().unwrap_or(0))
    }
}

/// A whole buffer as an argument.
pub fn buffer(buffer: &Buffer) -> Argument {
    Argument::buffer(buffer)
}

/// A number as an argument.
pub fn number(value: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: value.into() })
}

/// Why a call ended without a result.
#[derive(Debug)]
pub enum Ended {
    /// As it would have anywhere.
    Fault(Fault),
    /// It has to run in another way, for this reason.
    Elsewhere(String),
}

/// A device has not done what it was asked for.
pub(crate) fn missing() -> Diagnostic {
    Diagnostic::new(Code::Internal, Span::NONE, "the device gave other kernels or buffers than it was asked for")
}

/// Somebody has not kept to what was agreed.
pub(crate) fn broken(what: impl Into<String>) -> Fault {
    Fault::Device(Diagnostic::new(Code::Internal, Span::NONE, what))
}
