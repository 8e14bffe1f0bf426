//! Expressions that the forward walk has seen, so that the same one is found again.
//!
//! Invariant: two expressions of one key give the same value wherever both can be computed.

use super::forward::Forward;
use girih_base::hash::mix;
use girih_ir::{Op, Type, ValueId};

/// An expression, so that the same one is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) op: Op,
    pub(super) ty: Option<Type>,
    pub(super) operands: [ValueId; 4],
    /// A dimension or offset; whether it does not wrap, or the version of the memory that is read.
    pub(super) more: (i32, u32),
}

impl Key {
    /// Two words of operands and one for the rest. The type is left to the comparison: it hardly ever decides.
    fn hash(&self) -> u64 {
        let pair = |a: ValueId, b: ValueId| (a.index() as u64) << 32 | b.index() as u64;
        let [a, b, c, d] = self.operands;
        let rest = (self.more.0 as u64) << 40 ^ u64::from(self.more.1) << 16 ^ self.op as u64;
        mix(mix(mix(0, pair(a, b)), pair(c, d)), rest)
    }
}

/// The expressions that are available at the walk's place, each with its value: chains by their hash, the latest first, so that what a region adds goes
/// again from their beginnings.
#[derive(Debug, Default)]
pub(super) struct Available {
    /// The latest entry of each chain; as many as a power of two.
    heads: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    value: ValueId,
    chain: u32,
    /// The one before it in its chain.
    before: u32,
}

/// No entry.
const END: u32 = u32::MAX;

impl Available {
    /// Forgets all, and makes room for about so many.
    pub(super) fn begin(&mut self, room: usize) {
        self.entries.clear();
        self.entries.reserve(room);
        self.heads.clear();
        self.heads.resize(room.next_power_of_two(), END);
    }
    /// How many there are, for [`back_to`](Self::back_to).
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
    /// Takes all away but the first so many.
    pub(super) fn back_to(&mut self, len: usize) {
        for entry in self.entries.drain(len..).rev() {
            self.heads[entry.chain as usize] = entry.before;
        }
    }

    fn chain(&self, key: &Key) -> u32 {
        // The upper bits depend on all of the key.
        (key.hash() >> 32) as u32 & (self.heads.len() as u32 - 1)
    }
    fn insert(&mut self, key: Key, value: ValueId) {
        let chain = self.chain(&key);
        let before = std::mem::replace(&mut self.heads[chain as usize], self.entries.len() as u32);
        self.entries.push(Entry { key, value, chain, before });
    }
    fn find(&self, key: &Key) -> Option<ValueId> {
        let mut at = self.heads[self.chain(key) as usize];
        while at != END {
            let entry = &self.entries[at as usize];
            if entry.key == *key {
                return Some(entry.value);
            }
            at = entry.before;
        }
        None
    }
}

impl Forward<'_> {
    /// Makes an expression available to the rest of the region.
    pub(super) fn remember(&mut self, key: Key, value: ValueId) {
        self.available.insert(key, value);
    }
    /// An expression that has been computed before.
    pub(super) fn recall(&self, key: &Key) -> Option<ValueId> {
        self.available.find(key)
    }

    /// A pure expression that has been computed before. One that may wrap stands for one that does not, too; not the other way, because
    /// what does not wrap is undefined where it would.
    pub(super) fn same(&self, key: &Key) -> Option<ValueId> {
        let wrapping = || Key { more: (key.more.0, 0), ..*key };
        self.recall(key).or_else(|| if key.more.1 == 0 { None } else { self.recall(&wrapping()) })
    }
}

/// Whether the first two operands may be swapped.
pub(super) fn is_commutative(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Mul
            | Op::MulHi
            | Op::Min
            | Op::Max
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Eq
            | Op::Ne
            | Op::Fma
            | Op::Mad
    )
}

/// The key of an expression; none for those of many operands.
pub(super) fn key(op: Op, ty: Option<Type>, operands: &[ValueId], more: (i32, u32)) -> Option<Key> {
    let mut slots = [ValueId::new(u32::MAX); 4];
    slots.get_mut(..operands.len())?.copy_from_slice(operands);
    if is_commutative(op) && slots[0] > slots[1] {
        slots.swap(0, 1);
    }
    Some(Key { op, ty, operands: slots, more })
}
