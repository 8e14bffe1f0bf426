//! Standard input, which can be stepped back in: Bend reads a line by reading a piece and going back to the line's end.

use std::io::{ErrorKind, Read, Result};

/// How many bytes are asked for at a time.
const PIECE: usize = 1 << 16;
/// How many bytes that were read are kept to be read again.
const KEPT: usize = 1 << 20;

/// An input with its recent past.
pub struct Stdin {
    source: Box<dyn Read + Send>,
    /// Whether a line may be handed out before more has been typed.
    interactive: bool,
    /// Bytes that were read from the source.
    bytes: Vec<u8>,
    /// How many of them have been handed out.
    position: usize,
}

impl Stdin {
    /// An input that reads from `source`.
    pub fn new(source: impl Read + Send + 'static, interactive: bool) -> Stdin {
        Stdin { source: Box::new(source), interactive, bytes: vec![], position: 0 }
    }

    /// Up to `count` bytes: fewer only at the end of the input, or after a line that was typed.
    pub fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        while self.bytes.len() - self.position < count && !self.has_line() {
            if !self.fill()? {
                break;
            }
        }
        let end = self.bytes.len().min(self.position.saturating_add(count));
        let handed_out = self.bytes[self.position..end].to_vec(); // `position` never exceeds the length.
        self.position = end;
        self.forget();
        Ok(handed_out)
    }

    /// Goes `offset` bytes on or back, as far as the past and the bytes at hand reach.
    pub fn step(&mut self, offset: i64) -> Option<()> {
        let position = self.position.checked_add_signed(isize::try_from(offset).ok()?)?;
        if position > self.bytes.len() {
            return None;
        }
        self.position = position;
        Some(())
    }

    fn has_line(&self) -> bool {
        self.interactive && self.bytes.len() > self.position
    }

    /// Reads more; whether there was more.
    fn fill(&mut self) -> Result<bool> {
        let old = self.bytes.len();
        self.bytes.resize(old + PIECE, 0);
        let read = loop {
            match self.source.read(&mut self.bytes[old..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.bytes.truncate(old + read.as_ref().map_or(0, |n| *n));
        Ok(read? > 0)
    }

    /// Drops the distant past.
    fn forget(&mut self) {
        if self.position > 2 * KEPT {
            self.bytes.drain(..self.position - KEPT);
            self.position = KEPT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, as a slow pipe does.
    struct Drops(std::vec::IntoIter<u8>);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            match (self.0.next(), buffer.first_mut()) {
                (Some(byte), Some(first)) => {
                    *first = byte;
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }

    #[test]
    fn a_read_waits_for_all_its_bytes() {
        let mut stdin = Stdin::new(Drops(b"abcdef".to_vec().into_iter()), false);
        assert_eq!(stdin.read(4).expect("it is memory"), b"abcd");
        assert_eq!(stdin.read(4).expect("it is memory"), b"ef");
        assert_eq!(stdin.read(4).expect("it is memory"), b"");
    }

    #[test]
    fn what_was_read_can_be_read_again() {
        let mut stdin = Stdin::new(Drops(b"one\ntwo\n".to_vec().into_iter()), false);
        assert_eq!(stdin.read(6).expect("it is memory"), b"one\ntw");
        assert_eq!(stdin.step(-2), Some(()));
        assert_eq!(stdin.read(9).expect("it is memory"), b"two\n");
        assert_eq!(stdin.step(-9), None);
        assert_eq!(stdin.step(1), None);
    }

    #[test]
    fn a_terminal_hands_out_what_was_typed() {
        let mut stdin = Stdin::new(Drops(b"ab".to_vec().into_iter()), true);
        assert_eq!(stdin.read(100).expect("it is memory"), b"a");
        assert_eq!(stdin.read(100).expect("it is memory"), b"b");
    }
}
