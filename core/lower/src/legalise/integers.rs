//! Integer operations where the devices' own differ from the IR's: shift counts, division, upper halves of products, bit
//! counts of 64 bits.
//!
//! Invariant: afterwards counts of shifts are below the width, divisors are neither zero nor the -1 that overflows (unless
//! the device's division is total), remainders are those of numbers without a sign (unless the device has others), bit counts are of 32 bits, and `mad` on integers, comparisons of truth values are gone.

use super::Context;
use super::emit::Emit;
use super::word_packing;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::{approximations, bits, compares, counts, library, not_arithmetic, plain_arithmetic, roundings};
use girih_ir::{Builder, Feature, Function, Inst, Op, Scalar, Type, ValueId};

pub(super) struct Integers<'c, 'a> {
    pub cx: &'c mut Context<'a>,
}

impl Pass for Integers<'_, '_> {
    fn concerns(&self, _: &Function, inst: &Inst) -> bool {
        // A vector that is still whole is shifted by less than its width.
        !matches!(inst.ty, Some(Type::Vector(..)))
            && inst.ty.and_then(Type::element).is_some_and(|s| s.is_integer() || s == Scalar::Bool)
            && matches!(
                inst.op,
                Op::Shl | Op::Shr | Op::Div | Op::Rem | Op::MulHi | Op::Mad | counts!() | Op::Eq | Op::Ne
            )
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let ty = inst.element();
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let b = &mut r.out;
        let caps = self.cx.caps;
        let result = match inst.op {
            Op::Shl | Op::Shr => {
                let count = b.and_bits(operands[1], u64::from(ty.bits() - 1));
                b.rewrite(inst, inst.op, inst.ty, &[operands[0], count])[0]
            }
            Op::Rem if ty.is_signed() && !caps.has(Feature::SignedRemainder) => {
                // Also where the quotient is defined: what is left of a division by 0 is 0.
                let divisor = divisor(b, ty, operands[0], operands[1]);
                let quotient = quotient(b, ty, operands[0], divisor);
                let whole = b.mul(quotient, divisor);
                b.sub(operands[0], whole)
            }
            Op::Div if ty.is_signed() && !caps.has(Feature::SignedRemainder) => {
                let divisor = divisor(b, ty, operands[0], operands[1]);
                quotient(b, ty, operands[0], divisor)
            }
            Op::Div | Op::Rem if !caps.has(Feature::TotalDivision) => {
                let divisor = divisor(b, ty, operands[0], operands[1]);
                b.same(inst.op, &[operands[0], divisor])
            }
            Op::MulHi if !caps.has(Feature::MulHi) => mulhi(b, ty, operands[0], operands[1]),
            Op::Mad => {
                // A signed sum may fit where the product alone does not: `nowrap` is dropped.
                let product = b.mul(operands[0], operands[1]);
                b.add(product, operands[2])
            }
            Op::Clz | Op::Ctz if ty.bits() == 64 => zeros(b, inst.op, ty, operands[0]),
            Op::Popc if ty.bits() == 64 => ones(b, ty, operands[0]),
            Op::ReverseBits if ty.bits() == 64 => reversed(b, ty, operands[0]),
            Op::Eq if ty == Scalar::Bool => {
                let differs = b.xor(operands[0], operands[1]);
                b.not(differs)
            }
            Op::Ne if ty == Scalar::Bool => b.xor(operands[0], operands[1]),
            Op::Div
            | Op::Neg
            | Op::Abs
            | Op::Fma
            | Op::Sqrt
            | Op::Select
            | Op::Convert
            | Op::Bitcast
            | plain_arithmetic!()
            | Op::Rem
            | Op::MulHi
            | bits!()
            | counts!()
            | compares!()
            | roundings!()
            | library!()
            | approximations!()
            | not_arithmetic!() => return Ok(None),
        };
        Ok(Some(vec![vec![result]]))
    }
}

/// A divisor that gives what the IR says where the device's division is undefined: x / 1 is x, and so are x / 0 and the least
/// integer / -1; the remainders are 0 in all three.
fn divisor(b: &mut Builder, ty: Scalar, x: ValueId, y: ValueId) -> ValueId {
    let minus_one = ty.mask();
    let bad = match b.known(y) {
        Some(bits) if bits != 0 && !(ty.is_signed() && bits == minus_one) => return y,
        _ => b.compare_bits(Op::Eq, y, 0),
    };
    let bad = if ty.is_signed() {
        let least = b.compare_bits(Op::Eq, x, 1 << (ty.bits() - 1));
        let negates = b.compare_bits(Op::Eq, y, minus_one);
        let overflows = b.and(least, negates);
        b.or(bad, overflows)
    } else {
        bad
    };
    let one = b.like(y, 1);
    b.select(bad, one, y)
}

/// A quotient of numbers with a sign, whose divisor is neither zero nor the -1 that overflows. One of 64 bits by a constant comes from magnitudes: NVIDIA's
/// compiler for SPIR-V gives wrong numbers where such a quotient is divided again, and what is left of that is computed.
fn quotient(b: &mut Builder, ty: Scalar, x: ValueId, divisor: ValueId) -> ValueId {
    let by = b.known(divisor).map(|bits| (bits.cast_signed() < 0, bits.cast_signed().unsigned_abs()));
    let Some((negates, magnitude)) = by.filter(|(_, magnitude)| ty.bits() == 64 && !magnitude.is_power_of_two()) else {
        return b.same(Op::Div, &[x, divisor]);
    };
    let zero = b.like(x, 0);
    let is_negative = b.compare_bits(Op::Lt, x, 0);
    let negated = b.sub(zero, x);
    let positive = b.select(is_negative, negated, x);
    let positive = b.bitcast(ty.as_bits(), positive);
    let magnitude = b.like(positive, magnitude);
    let quotient = b.same(Op::Div, &[positive, magnitude]);
    let quotient = b.bitcast(ty, quotient);
    let negated = b.sub(zero, quotient);
    if negates { b.select(is_negative, quotient, negated) } else { b.select(is_negative, negated, quotient) }
}

/// The upper half of a product, from the halves of the factors.
fn mulhi(b: &mut Builder, ty: Scalar, x: ValueId, y: ValueId) -> ValueId {
    let unsigned = ty.as_bits();
    let (ux, uy) = (b.bitcast(unsigned, x), b.bitcast(unsigned, y));
    let half = ty.bits() / 2;
    let low_mask = (1u64 << half) - 1;
    let (x0, x1) = (b.and_bits(ux, low_mask), b.shr_by(ux, half));
    let (y0, y1) = (b.and_bits(uy, low_mask), b.shr_by(uy, half));
    let lowest = b.mul(x0, y0);
    let lowest = b.shr_by(lowest, half);
    // Neither sum overflows: (2^h - 1)^2 + 2 (2^h - 1) is 2^2h - 1.
    let cross = b.mul(x1, y0);
    let first = b.add(cross, lowest);
    let cross = b.mul(x0, y1);
    let first_low = b.and_bits(first, low_mask);
    let second = b.add(cross, first_low);
    let (first, second) = (b.shr_by(first, half), b.shr_by(second, half));
    let top = b.mul(x1, y1);
    let top = b.add(top, first);
    let upper = b.add(top, second);
    let upper = b.bitcast(ty, upper);
    if !ty.is_signed() {
        return upper;
    }
    // A negative factor was taken for one that is greater by 2^width.
    let (sx, sy) = (b.shr_by(x, ty.bits() - 1), b.shr_by(y, ty.bits() - 1));
    let (from_y, from_x) = (b.and(y, sx), b.and(x, sy));
    let upper = b.sub(upper, from_y);
    b.sub(upper, from_x)
}

/// Zeros of 64 bits from those of the words: leading ones are looked for in the upper word first, trailing ones in the lower.
fn zeros(b: &mut Builder, op: Op, ty: Scalar, x: ValueId) -> ValueId {
    let (low, high) = word_packing::halves(b, x);
    let (in_low, in_high) = (b.same(op, &[low]), b.same(op, &[high]));
    let (first, near, far) = if op == Op::Clz { (high, in_high, in_low) } else { (low, in_low, in_high) };
    let width = b.u32(32);
    let far = b.add(far, width);
    let empty = b.compare_bits(Op::Eq, first, 0);
    let count = b.select(empty, far, near);
    b.convert(ty, count)
}

/// Ones of 64 bits.
fn ones(b: &mut Builder, ty: Scalar, x: ValueId) -> ValueId {
    let (low, high) = word_packing::halves(b, x);
    let (in_low, in_high) = (b.same(Op::Popc, &[low]), b.same(Op::Popc, &[high]));
    let count = b.add(in_low, in_high);
    b.convert(ty, count)
}

/// 64 bits in the reverse order.
fn reversed(b: &mut Builder, ty: Scalar, x: ValueId) -> ValueId {
    let (low, high) = word_packing::halves(b, x);
    let (low, high) = (b.same(Op::ReverseBits, &[low]), b.same(Op::ReverseBits, &[high]));
    word_packing::join(b, ty, high, low)
}
