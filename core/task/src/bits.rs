//! Sets of small numbers as bits.

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Adds a number. Says whether it is new.
    pub fn insert(&mut self, bit: u32) -> bool {
        let (word, mask) = (bit as usize / 64, 1 << (bit % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & mask == 0;
        self.words[word] |= mask;
        is_new
    }

    /// Whether a number is in the set.
    pub fn contains(&self, bit: u32) -> bool {
        self.words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Adds all numbers of another set.
    pub fn union(&mut self, other: &Bits) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Adds the numbers of another set that are not in `known`. Says whether there were any.
    pub fn union_without(&mut self, other: &Bits, known: &Bits) -> bool {
        let mut any = false;
        for (position, &more) in other.words.iter().enumerate() {
            let new = more & !known.words.get(position).copied().unwrap_or(0);
            if new == 0 {
                continue;
            }
            if position >= self.words.len() {
                self.words.resize(position + 1, 0);
            }
            any |= new & !self.words[position] != 0;
            self.words[position] |= new;
        }
        any
    }

    /// Whether a number is in both sets.
    pub(crate) fn meets(&self, other: &Bits) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// The first 64 numbers, as bits.
    pub(crate) fn first_word(&self) -> u64 {
        self.words.first().copied().unwrap_or(0)
    }

    /// All numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.words.iter().enumerate().flat_map(|(position, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(position as u32 * 64 + bit)
            })
        })
    }

    /// The words, without zeros at the end: equal for equal sets.
    pub(crate) fn key(&self) -> &[u64] {
        let end = self.words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        &self.words[..end]
    }
}
