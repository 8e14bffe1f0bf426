//! Bytes that a later process reads back: numbers and pieces of bytes, one behind another. What they mean is known to who wrote them.
//!
//! Invariant: bytes that end early, or are not what was written, read as `None`, never as a panic.

/// Writes.
#[derive(Clone, Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// A number.
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Packer {
        self.bytes.extend(number.into().to_le_bytes());
        self
    }
    /// A piece of bytes, or a text.
    pub fn piece(&mut self, bytes: impl AsRef<[u8]>) -> &mut Packer {
        let bytes = bytes.as_ref();
        self.number(bytes.len() as u64);
        self.bytes.extend(bytes);
        self
    }
    /// A list: how long it is, then its elements.
    pub fn list<T>(&mut self, list: &[T], mut one: impl FnMut(&mut Packer, &T)) -> &mut Packer {
        self.number(list.len() as u64);
        list.iter().for_each(|element| one(self, element));
        self
    }
    /// All that was written.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads what a [`Packer`] has written, in the same order.
#[derive(Clone, Debug)]
pub struct Unpacker<'a> {
    rest: &'a [u8],
}

impl<'a> Unpacker<'a> {
    /// From the beginning.
    pub fn new(bytes: &'a [u8]) -> Unpacker<'a> {
        Unpacker { rest: bytes }
    }
    /// A number.
    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.rest.split_first_chunk::<8>()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*number))
    }
    /// A number that fits into a smaller type.
    pub fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }
    /// A truth value.
    pub fn truth(&mut self) -> Option<bool> {
        Some(self.small::<u8>()? != 0)
    }
    /// A piece of bytes.
    pub fn piece(&mut self) -> Option<&'a [u8]> {
        let length = self.small::<usize>()?;
        let (piece, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(piece)
    }
    /// A text.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.piece()?).ok()
    }
    /// A list.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Unpacker<'a>) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        (0..length).map(|_| one(self)).collect()
    }
    /// Nothing is left.
    pub fn end(self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = (u64, String, Vec<u32>, bool);

    fn read(bytes: &[u8]) -> Option<Read> {
        let mut unpacker = Unpacker::new(bytes);
        let read = (
            unpacker.number()?,
            unpacker.text()?.to_owned(),
            unpacker.list(Unpacker::small::<u32>)?,
            unpacker.truth()?,
        );
        unpacker.end()?;
        Some(read)
    }

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let mut packer = Packer::default();
        packer.number(u64::MAX).piece("text").list(&[1u32, 2, 3], |p, n| _ = p.number(*n)).number(true);
        let bytes = packer.finish();
        assert_eq!(read(&bytes), Some((u64::MAX, "text".into(), vec![1, 2, 3], true)));
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), None, "{end} bytes of it");
        }
        assert_eq!(read(&[&bytes[..], &[0]].concat()), None, "more than was written");
        // A length that is not there asks for no memory.
        assert_eq!(read(&[0xff; 64]), None);
    }
}
