//! What the host's side of every runner says to a device, and hears: words as bytes, arguments of launches, ends of calls.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Type;
use girih_runtime::{Argument, Buffer, Constant, Device, Fault};

/// Words as the bytes that a buffer holds.
pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words of bytes that were read.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Reads words of a buffer, from a byte on.
///
/// # Errors
/// If the device fails.
pub fn read(device: &Device, buffer: &Buffer, offset: u64, count: usize) -> Result<Vec<u32>, Diagnostic> {
    let mut bytes = vec![0; 4 * count];
    device.read(buffer, offset, &mut bytes)?;
    Ok(words(&bytes))
}

/// Writes words into a buffer, from a byte on.
///
/// # Errors
/// If the device fails.
pub fn write(device: &Device, buffer: &Buffer, offset: u64, words: &[u32]) -> Result<(), Diagnostic> {
    device.write(buffer, offset, &bytes(words))
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
