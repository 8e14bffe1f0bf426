//! Expressions that the forward walk has seen, so that the same one is found again.
//!
//! Invariant: two expressions of one key give the same value wherever both can be computed.

use super::forward::{Forward, Undo};
use crate::ir::{Op, Type, ValueId};
use std::hash::{Hash, Hasher};

/// An expression, so that the same one is found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) op: Op,
    pub(super) ty: Option<Type>,
    pub(super) operands: [ValueId; 4],
    /// A dimension or offset; whether it does not wrap, or the version of the memory that is read.
    pub(super) more: (i32, u32),
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Two words of operands and one for the rest. The type is left to the comparison: it hardly ever decides.
        let pair = |a: ValueId, b: ValueId| (a.index() as u64) << 32 | b.index() as u64;
        let [a, b, c, d] = self.operands;
        state.write_u64(pair(a, b));
        state.write_u64(pair(c, d));
        state.write_u64((self.more.0 as u64) << 40 ^ u64::from(self.more.1) << 16 ^ self.op as u64);
    }
}

impl Forward<'_> {
    /// Makes an expression available to the rest of the region.
    pub(super) fn remember(&mut self, key: Key, value: ValueId) {
        let old = self.available.insert(key, value);
        self.log.push(Undo::Available(key, old));
    }
    /// An expression that has been computed before.
    pub(super) fn recall(&self, key: &Key) -> Option<ValueId> {
        self.available.get(key).copied()
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
