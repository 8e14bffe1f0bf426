//! Maps whose keys are indices and other small things of the compiler's own: hashing must be fast, and nobody attacks it.
//!
//! The standard library's hash resists chosen keys at a cost that passes over the IR would pay at every value.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map with a fast hash.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;
/// Likewise a set.
pub type FastSet<T> = HashSet<T, BuildHasherDefault<Mixer>>;

/// Multiplies and rotates: each word is mixed into the state by one multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

/// Odd, with bits spread evenly: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A state with another word mixed in: its upper bits depend on all of them.
#[inline]
pub fn mix(state: u64, word: u64) -> u64 {
    (state.rotate_left(23) ^ word).wrapping_mul(FACTOR)
}

impl Mixer {
    fn mix(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // The upper bits depend on all of the input; a map looks at the lower ones, too.
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, x: u8) {
        self.mix(x.into());
    }
    fn write_u16(&mut self, x: u16) {
        self.mix(x.into());
    }
    fn write_u32(&mut self, x: u32) {
        self.mix(x.into());
    }
    fn write_u64(&mut self, x: u64) {
        self.mix(x);
    }
    fn write_usize(&mut self, x: usize) {
        self.mix(x as u64);
    }
    fn write_isize(&mut self, x: isize) {
        self.mix(x as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    fn hash(value: impl Hash) -> u64 {
        BuildHasherDefault::<Mixer>::default().hash_one(value)
    }

    #[test]
    fn small_keys_are_told_apart_by_the_bits_that_a_map_looks_at() {
        let pairs = (0..64u32).flat_map(|a| (0..64u32).map(move |b| (a, b)));
        let all: Vec<u64> = pairs.map(hash).collect();
        let distinct = |bits: fn(u64) -> u64| all.iter().map(|h| bits(*h)).collect::<HashSet<u64>>().len();
        assert_eq!(distinct(|h| h), all.len());
        // A third of as many buckets stay empty where keys fall at random.
        assert!(distinct(|h| h & 0xfff) > all.len() / 2);
        assert_eq!(distinct(|h| h >> 57), 128);
    }

    #[test]
    fn words_of_a_text_count_in_their_order() {
        assert_ne!(hash("abcdefghABCDEFGH"), hash("ABCDEFGHabcdefgh"));
        assert_ne!(hash("a"), hash("b"));
    }
}
