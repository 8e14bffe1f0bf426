//! The arrays that run lines give to kernels, and what comes of them.
//!
//! Invariant: an array that a line states is as the line states it, or the run is an error.

use girih::ir::text::run_lines::{Expectation, MemoryInit};
use girih::ir::{Scalar, eval};
use girih::runtime::{Buffer, Command, Device, Read};
use girih::{Code, Diagnostic};
use girih_base::span::Span;

/// The most elements of an array that are shown.
const SHOWN: usize = 16;

/// An array on a device.
pub struct Placed<'l> {
    /// How it is named in the result.
    pub name: String,
    /// Where it is.
    pub buffer: Buffer,
    scalar: Scalar,
    expected: Option<&'l Expectation>,
    length: usize,
}

impl<'l> Placed<'l> {
    /// Brings an array to a device.
    pub fn new(
        device: &Device,
        name: String,
        initial: &MemoryInit,
        expected: Option<&'l Expectation>,
    ) -> Result<Placed<'l>, Diagnostic> {
        let mut bytes = initial.bytes();
        let length = bytes.len();
        // Devices count in words.
        bytes.resize(length.next_multiple_of(4), 0);
        let buffer = device.upload(&bytes)?;
        let scalar = expected.and_then(|e| e.values.first()).map_or(initial.scalar, |(scalar, _)| *scalar);
        Ok(Placed { name, buffer, scalar, expected, length })
    }
}

/// Runs a command, and adds what the arrays hold then to the text that says what was run.
///
/// # Errors
/// If the command fails, or an array is not what is expected of it.
pub fn run(
    device: &Device,
    command: Command,
    arrays: &[Placed<'_>],
    (mut text, span): (String, Span),
) -> Result<String, Diagnostic> {
    let mut all: Vec<Vec<u8>> = arrays.iter().map(|array| vec![0; array.length.next_multiple_of(4)]).collect();
    let mut reads: Vec<Read<'_>> =
        arrays.iter().zip(&mut all).map(|(array, bytes)| Read::new(&array.buffer, 0, bytes)).collect();
    device.submit_and_read(&[command], &mut reads)?;
    for (array, bytes) in arrays.iter().zip(&all) {
        let bytes = &bytes[..array.length];
        text.push_str(&format!("\n{} = {}", array.name, shown(array.scalar, bytes)));
        if let Some(wrong) = array.expected.and_then(|expected| expected.mismatch_in(bytes)) {
            let message = format!("element {wrong} of `{}` is not what the run line states\n{text}", array.name);
            return Err(Diagnostic::new(Code::BadArguments, span, message));
        }
    }
    Ok(text)
}

/// The first elements of an array.
fn shown(scalar: Scalar, bytes: &[u8]) -> String {
    let width = (scalar.bytes() as usize).max(1);
    let count = bytes.len() / width;
    let element = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        number(scalar, u64::from_le_bytes(word))
    };
    let first: Vec<String> = bytes.chunks_exact(width).take(SHOWN).map(element).collect();
    let rest = if count > SHOWN { format!(", .. {} more", count - SHOWN) } else { String::new() };
    format!("{scalar}[{}{rest}]", first.join(", "))
}

fn number(scalar: Scalar, bits: u64) -> String {
    if scalar.is_float() {
        return (eval::widen(bits, scalar) as f32).to_string();
    }
    if scalar.is_signed() {
        let unused = 64 - scalar.bits();
        return (((bits << unused) as i64) >> unused).to_string();
    }
    bits.to_string()
}
