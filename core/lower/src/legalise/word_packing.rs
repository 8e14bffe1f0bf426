//! Values as words and back: what crosses lanes, and what lies in words of memory.
//!
//! Invariant: `from_words(ty, to_words(value))` is the value, bit for bit. Bits above a short value are zero.

use super::emit::Emit;
use girih_ir::{Builder, Op, Scalar, Type, ValueId};

/// How many words a scalar or vector takes; 1 for `bool`.
pub(super) fn count(ty: Type) -> u32 {
    ty.bytes().div_ceil(4).max(1)
}

/// The words of a value, the lowest first.
pub(super) fn to_words(b: &mut Builder, value: ValueId) -> Vec<ValueId> {
    let ty = b.ty(value);
    match (ty, ty.bytes()) {
        (Type::BOOL, _) => vec![b.flag(value)],
        (_, 0..=3) => vec![to_low_bits(b, value)],
        (_, 4) => vec![b.bitcast(Type::U32, value)],
        (_, bytes) => {
            let words = b.bitcast(Type::Vector(Scalar::U32, (bytes / 4) as u8), value);
            b.lanes(words)
        }
    }
}

/// The value of a type that has these words.
pub(super) fn from_words(b: &mut Builder, ty: Type, words: &[ValueId]) -> ValueId {
    match (ty, ty.bytes()) {
        (Type::BOOL, _) => b.compare_bits(Op::Ne, words[0], 0),
        (_, 0..=3) => from_low_bits(b, ty, words[0]),
        (_, _) => {
            let all = b.vector(words);
            b.bitcast(ty, all)
        }
    }
}

/// A value of at most 16 bits from the lowest bits of a word.
pub(super) fn from_low_bits(b: &mut Builder, ty: Type, word: ValueId) -> ValueId {
    let bits = b.convert(if ty.bytes() == 1 { Scalar::U8 } else { Scalar::U16 }, word);
    b.bitcast(ty, bits)
}

/// The bits of a value of at most 16 bits as a word, zero above.
pub(super) fn to_low_bits(b: &mut Builder, value: ValueId) -> ValueId {
    let bits = b.bitcast(if b.ty(value).bytes() == 1 { Scalar::U8 } else { Scalar::U16 }, value);
    b.convert(Scalar::U32, bits)
}

/// A 64-bit integer from its words.
pub(super) fn join(b: &mut Builder, ty: Scalar, low: ValueId, high: ValueId) -> ValueId {
    let (low, high) = (b.convert(Scalar::U64, low), b.convert(Scalar::U64, high));
    let high = b.shl_by(high, 32);
    let value = b.or(low, high);
    b.bitcast(ty, value)
}

/// The words of a 64-bit integer, the lower one first.
pub(super) fn halves(b: &mut Builder, x: ValueId) -> (ValueId, ValueId) {
    let unsigned = b.bitcast(Scalar::U64, x);
    let low = b.convert(Scalar::U32, unsigned);
    let high = b.shr_by(unsigned, 32);
    (low, b.convert(Scalar::U32, high))
}
