//! Sets of small numbers as bits.

/// A set of small numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Adds a number. Says whether it is new.
    pub(crate) fn insert(&mut self, bit: u32) -> bool {
        let (word, mask) = (bit as usize / 64, 1 << (bit % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & mask == 0;
        self.words[word] |= mask;
        is_new
    }

    pub(crate) fn contains(&self, bit: u32) -> bool {
        self.words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Adds all numbers of another set.
    pub(crate) fn union(&mut self, other: &Bits) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Adds the numbers of another set that are not in `known`. Says whether there were any.
    pub(crate) fn union_without(&mut self, other: &Bits, known: &Bits) -> bool {
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
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

#[cfg(test)]
mod tests {
    use super::Bits;

    fn set(bits: &[u32]) -> Bits {
        let mut set = Bits::default();
        bits.iter().for_each(|&bit| assert!(set.insert(bit)));
        set
    }

    #[test]
    fn what_is_inserted_is_there_in_order() {
        let mut all = set(&[200, 3, 63, 64]);
        assert!(!all.insert(63));
        assert_eq!(all.iter().collect::<Vec<u32>>(), [3, 63, 64, 200]);
        assert!(all.contains(64) && !all.contains(65) && !all.contains(10_000));
    }

    #[test]
    fn unions_say_whether_they_add() {
        let mut pending = Bits::default();
        assert!(!pending.union_without(&set(&[1, 100]), &set(&[1, 100, 5])));
        assert!(pending.is_empty());
        assert!(pending.union_without(&set(&[1, 100]), &set(&[1])));
        assert!(!pending.union_without(&set(&[1, 100]), &set(&[1])));
        assert_eq!(pending.iter().collect::<Vec<u32>>(), [100]);
        let mut all = set(&[2]);
        all.union(&set(&[300]));
        assert_eq!(all.iter().collect::<Vec<u32>>(), [2, 300]);
    }
}
