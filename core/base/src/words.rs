//! Words of 32 bits, and the bytes that they are in files and in the memory of devices: the lowest first.

/// The bytes of words.
pub fn to_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The words of bytes. Bytes behind the last whole word are left out.
pub fn from_bytes(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_from_their_bytes() {
        let words = [1, 0x8000_0203, u32::MAX];
        let bytes = to_bytes(&words);
        assert_eq!(bytes[..8], [1, 0, 0, 0, 3, 2, 0, 0x80]);
        assert_eq!(from_bytes(&bytes), words);
        assert_eq!(from_bytes(&bytes[..11]), words[..2]);
    }
}
