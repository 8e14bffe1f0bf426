//! Memory by address. A buffer's first byte is at its number, plus one, in the upper bits.

use girih_base::diag::Code;

/// What is wrong with an instruction.
pub(super) struct Wrong {
    /// What a program that ends like this is told; the device is lost where the text itself is wrong.
    pub code: Code,
    pub message: String,
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong { code: Code::DeviceLost, message }
    }
}

impl From<&str> for Wrong {
    fn from(message: &str) -> Wrong {
        message.to_owned().into()
    }
}

/// An access outside of a memory.
pub(super) fn outside(message: String) -> Wrong {
    Wrong { code: Code::OutOfBounds, message }
}

/// Where the number of a buffer stands in an address.
const SHIFT: u32 = 40;

/// The address of a buffer's first byte.
pub(super) fn address(buffer: usize) -> u64 {
    (buffer as u64 + 1) << SHIFT
}

/// The buffer and the byte of an address.
pub(super) fn place(address: u64) -> (usize, usize) {
    (((address >> SHIFT) as usize).wrapping_sub(1), (address & ((1 << SHIFT) - 1)) as usize)
}

/// Reads a number of at most 8 bytes.
pub(super) fn read(memory: &[u8], at: usize, bytes: usize) -> Result<u64, Wrong> {
    let part = slice(memory.len(), at, bytes)?;
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(&memory[part]);
    Ok(u64::from_le_bytes(word))
}

/// Writes one.
pub(super) fn write(memory: &mut [u8], at: usize, bytes: usize, value: u64) -> Result<(), Wrong> {
    let part = slice(memory.len(), at, bytes)?;
    memory[part].copy_from_slice(&value.to_le_bytes()[..bytes]);
    Ok(())
}

fn slice(length: usize, at: usize, bytes: usize) -> Result<std::ops::Range<usize>, Wrong> {
    if !at.is_multiple_of(bytes.max(1)) {
        return Err(format!("an access of {bytes} bytes at byte {at} is not aligned").into());
    }
    match at.checked_add(bytes) {
        Some(end) if end <= length => Ok(at..end),
        _ => Err(outside(format!("an access of {bytes} bytes at byte {at} of {length}"))),
    }
}
