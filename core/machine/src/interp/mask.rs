//! Sets of invocations of a workgroup: who takes part in an instruction.

/// Most invocations of a workgroup.
pub const LANES: usize = 1024;
const WORDS: usize = LANES / 64;

/// A set of invocations, by their local index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask([u64; WORDS]);

impl Mask {
    pub(super) const EMPTY: Mask = Mask([0; WORDS]);

    /// The first `count` invocations.
    pub fn first(count: usize) -> Mask {
        Mask(std::array::from_fn(|word| match count.saturating_sub(word * 64) {
            0 => 0,
            n if n >= 64 => u64::MAX,
            n => (1 << n) - 1,
        }))
    }
    /// Whether an invocation is in the set.
    pub fn has(&self, lane: usize) -> bool {
        self.0.get(lane / 64).is_some_and(|word| word >> (lane % 64) & 1 == 1)
    }
    pub(super) fn insert(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }
    /// The invocations of both sets.
    pub fn or(mut self, other: Mask) -> Mask {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        self
    }
    /// The invocations that are not in another set.
    pub fn without(mut self, other: Mask) -> Mask {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= !b);
        self
    }
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = *self;
        let mut word = 0;
        let mut bits = mask.0[0];
        std::iter::from_fn(move || {
            while bits == 0 {
                word += 1;
                bits = *mask.0.get(word)?;
            }
            let lane = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            Some(lane)
        })
    }
    /// Calls `f` for each member in order; whole words of members are walked without looking at bits.
    #[inline(always)]
    pub fn each(&self, mut f: impl FnMut(usize)) {
        for (word, &bits) in self.0.iter().enumerate() {
            let base = word * 64;
            if bits == u64::MAX {
                (base..base + 64).for_each(&mut f);
            } else {
                let mut rest = bits;
                while rest != 0 {
                    f(base + rest.trailing_zeros() as usize);
                    rest &= rest - 1;
                }
            }
        }
    }
    /// Splits off the members for which `test` holds.
    pub fn filter(&self, mut test: impl FnMut(usize) -> bool) -> Mask {
        let mut chosen = Mask::EMPTY;
        self.each(|lane| {
            if test(lane) {
                chosen.insert(lane);
            }
        });
        chosen
    }
}
