//! Atomic operations become those that the device has on the memory's view, or loops of compare-exchanges: each attempt computes the new value from the
//! old one, and the loop ends when nobody has come between.
//!
//! | operation | is made as |
//! |---|---|
//! | on integers of 32 and 64 bits | itself |
//! | sum of floats that the device adds (`Caps::atomic_floats`) | itself |
//! | load, store, exchange or compare-exchange of floats of 32 and 64 bits | the same of their bits |
//! | load, store or compare-exchange of 16 bits, with `atomic16` | the same of their bits |
//! | everything else | a loop, on the bits themselves or on the word in which 16 bits lie |
//!
//! Invariant: other elements of a word stay as they are, whoever writes them meanwhile. A loop's first load is relaxed; its compare-exchange has the
//! operation's order, so whoever sees the new value sees what the order promises.

use super::emit::Emit;
use super::storage::{Place, access, sub_word};
use super::word_packing::{from_low_bits, to_low_bits};
use girih_ir::groups::{
    accesses, aggregates, arithmetic, asynchronous, barriers, control, fragments, masks, matrix_products, positions,
    reductions, scans, shuffles, subgroup_positions, task_form, votes,
};
use girih_ir::{AttrKind, Builder, Caps, Feature, Inst, Op, Scalar, ValueId};

/// The type as which a device makes an atomic operation, where the memory may be accessed as any type.
pub(super) fn view(caps: &Caps, op: Op, ty: Scalar) -> Scalar {
    let adds = op == Op::AtomicAdd && caps.atomic_floats.has(ty);
    match ty.bits() {
        _ if adds => ty,
        ..32 if !caps.has(Feature::Atomic16) => Scalar::U32,
        _ if ty.is_float() || ty.bits() < 32 => ty.as_bits(),
        _ => ty,
    }
}

/// Whether a device has an atomic operation of a type on memory of type `base`, but for casts of bits.
pub(super) fn is_direct(caps: &Caps, op: Op, ty: Scalar, base: Scalar) -> bool {
    if base.bits() != ty.bits() {
        return false;
    }
    let is_word = ty.bits() >= 32;
    match op {
        Op::AtomicLoad | Op::AtomicStore | Op::AtomicCompareExchange => true,
        Op::AtomicAdd if ty.is_float() => base == ty && caps.atomic_floats.has(ty),
        Op::AtomicAdd | Op::AtomicAnd | Op::AtomicOr | Op::AtomicXor | Op::AtomicExchange => is_word,
        // Signs are told apart, and floats are in no order of their bits.
        Op::AtomicMin | Op::AtomicMax => is_word && base == ty && ty.is_integer(),
        no_atomics!() => unreachable!("`{}` is no atomic operation", op.name()),
    }
}

/// An atomic operation on memory of type `base`, in which short elements share a word if they are `packed`; gives the old value, if the operation
/// gives one.
pub(super) fn lower(
    b: &mut Builder,
    caps: &Caps,
    inst: &Inst,
    (base, packed): (Scalar, bool),
    place: Place,
    values: &[ValueId],
) -> Option<ValueId> {
    let ty = inst.element();
    if is_direct(caps, inst.op, ty, base) {
        let cast: Vec<ValueId> = values.iter().map(|value| b.bitcast(base, *value)).collect();
        return access(b, inst, inst.op, base.into(), place, &cast).map(|old| b.bitcast(ty, old));
    }
    if !packed && is_bitwise(inst.op) {
        // A short element alone in a word, with zeros above.
        let words: Vec<ValueId> = values.iter().map(|value| to_low_bits(b, *value)).collect();
        return access(b, inst, inst.op, base.into(), place, &words).map(|old| from_low_bits(b, ty.into(), old));
    }
    let cell = Cell::of(b, ty, (base, packed), place);
    let relaxed =
        Inst { attrs: inst.attrs.iter().filter(|a| a.kind() != AttrKind::Order).cloned().collect(), ..inst.clone() };
    if inst.op == Op::AtomicLoad {
        let word = access(b, inst, Op::AtomicLoad, base.into(), cell.place, &[])?;
        return Some(cell.value(b, word));
    }
    let first = access(b, &relaxed, Op::AtomicLoad, base.into(), cell.place, &[])?;
    let old = b.loop_with(&[first], &[base.into()], |b, params| {
        let old = cell.value(b, params[0]);
        let new = updated(b, inst.op, ty, old, values);
        let new = cell.word(b, params[0], new);
        let found = access(b, inst, Op::AtomicCompareExchange, base.into(), cell.place, &[params[0], new])
            .expect("a compare-exchange gives the old value");
        let again = b.compare(Op::Ne, found, params[0]);
        b.end(Op::While, &[again, found]);
    });
    (inst.op != Op::AtomicStore).then(|| cell.value(b, old[0]))
}

/// Whether an operation does the same to a number with zeros above it.
fn is_bitwise(op: Op) -> bool {
    match op {
        Op::AtomicLoad
        | Op::AtomicStore
        | Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor => true,
        Op::AtomicAdd | Op::AtomicMin | Op::AtomicMax | no_atomics!() => false,
    }
}

/// Where a value lies that a loop exchanges.
#[derive(Clone, Copy)]
struct Cell {
    ty: Scalar,
    base: Scalar,
    place: Place,
    /// How far up its bits are in the word, if the word holds others too.
    shift: Option<ValueId>,
}

impl Cell {
    fn of(b: &mut Builder, ty: Scalar, (base, packed): (Scalar, bool), place: Place) -> Cell {
        if base.bits() == ty.bits() || !packed {
            return Cell { ty, base, place, shift: None };
        }
        let (place, shift) = sub_word(b, place, ty.bytes());
        Cell { ty, base, place, shift: Some(shift) }
    }

    /// The value in a word.
    fn value(&self, b: &mut Builder, word: ValueId) -> ValueId {
        if self.base.bits() == self.ty.bits() {
            return b.bitcast(self.ty, word);
        }
        let mut word = b.bitcast(Scalar::U32, word);
        if let Some(shift) = self.shift {
            word = b.same(Op::Shr, &[word, shift]);
        }
        from_low_bits(b, self.ty.into(), word)
    }

    /// The word with another value in it.
    fn word(&self, b: &mut Builder, word: ValueId, value: ValueId) -> ValueId {
        if self.base.bits() == self.ty.bits() {
            return b.bitcast(self.base, value);
        }
        let Some(shift) = self.shift else { return to_low_bits(b, value) };
        let mask = b.u32(u32::MAX >> (32 - self.ty.bits()));
        let mask = b.same(Op::Shl, &[mask, shift]);
        let others = b.not(mask);
        let word = b.bitcast(Scalar::U32, word);
        let others = b.and(word, others);
        let value = to_low_bits(b, value);
        let value = b.same(Op::Shl, &[value, shift]);
        let word = b.or(others, value);
        b.bitcast(self.base, word)
    }
}

/// What an operation makes of the old value.
fn updated(b: &mut Builder, op: Op, ty: Scalar, old: ValueId, values: &[ValueId]) -> ValueId {
    let combined = match op {
        Op::AtomicAdd => Op::Add,
        Op::AtomicMin => Op::Min,
        Op::AtomicMax => Op::Max,
        Op::AtomicAnd => Op::And,
        Op::AtomicOr => Op::Or,
        Op::AtomicXor => Op::Xor,
        Op::AtomicStore | Op::AtomicExchange => return values[0],
        Op::AtomicCompareExchange => {
            // Only 16 bits come here: all that is wider is compared by the device.
            let (found, expected) = (to_low_bits(b, old), to_low_bits(b, values[0]));
            let equal = b.compare(Op::Eq, found, expected);
            return b.select(equal, values[1], old);
        }
        Op::AtomicLoad | no_atomics!() => unreachable!("`{}` updates nothing", op.name()),
    };
    b.op(combined, ty, &[old, values[0]])
}
