//! Integers of 64 bits, on devices without them, as two words, the lower one first.
//!
//! Invariant: afterwards no value is an `i64` or `u64` unless the device has them.

use super::Context;
use super::emit::Emit;
use super::lacks;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::{
    approximations, bits, compares, counts, effects_and_positions, functions, jumps, library, not_arithmetic,
    other_control, plain_arithmetic, roundings,
};
use girih_ir::ops::Pattern;
use girih_ir::{Builder, Function, Inst, Op, Scalar, ScalarSet, Type, ValueId, Values, math};

pub(super) struct Wide<'c, 'a> {
    pub cx: &'c mut Context<'a>,
}

/// A number's words.
#[derive(Clone, Copy, Debug)]
struct Pair {
    low: ValueId,
    high: ValueId,
}

impl Pair {
    fn of(words: &[ValueId]) -> Pair {
        // A shift count that is a word already has no upper one; the lower one stands for both.
        Pair { low: words[0], high: *words.get(1).unwrap_or(&words[0]) }
    }
    fn values(self) -> Vec<ValueId> {
        vec![self.low, self.high]
    }
}

impl Pass for Wide<'_, '_> {
    fn types(&mut self, ty: Type) -> (Type, usize) {
        match ty {
            Type::Scalar(s) if self.splits(s) => (Type::U32, 2),
            _ => (ty, 1),
        }
    }

    fn constant(&mut self, r: &mut Rewriter<'_>, ty: Type, bits: u64) -> Option<Vec<ValueId>> {
        ty.element().filter(|s| matches!(ty, Type::Scalar(_)) && self.splits(*s))?;
        Some(vec![r.out.u32(bits as u32), r.out.u32((bits >> 32) as u32)])
    }

    fn concerns(&self, function: &Function, inst: &Inst) -> bool {
        let is_split = |ty: Type| ty.element().is_some_and(|s| self.splits(s));
        inst.ty.is_some_and(is_split) || inst.operands.iter().any(|v| is_split(function.ty(*v)))
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let ty = inst.element();
        let source = inst.operands.first().and_then(|v| r.old.ty(*v).element()).unwrap_or(ty);
        if inst.op.accesses() > 0 {
            return self.access(r, inst).map(Some);
        }
        let converts = matches!(inst.op, Op::Convert | Op::Bitcast) && self.splits(source);
        if inst.op == Op::Call || inst.ty.is_none() || !(self.splits(ty) || converts) {
            return Ok(None);
        }
        let operands: Vec<Pair> = inst.operands.iter().map(|v| Pair::of(r.values(self, *v))).collect();
        let b = &mut r.out;
        let result = match inst.op {
            Op::Switch => return self.switch(r, inst, operands[0]).map(Some),
            Op::Convert => convert(b, source, ty, operands[0], self.cx),
            Op::Bitcast => bitcast(b, source, ty, operands[0]),
            Op::Select => select(b, operands[0].low, operands[1], operands[2]).values(),
            Op::Div | Op::Rem => self.divide(b, inst.op, ty, operands[0], operands[1])?,
            Op::Eq | Op::Ne => vec![equal(b, inst.op, operands[0], operands[1])],
            Op::Lt => vec![less(b, ty, operands[0], operands[1])],
            Op::Gt => vec![less(b, ty, operands[1], operands[0])],
            Op::Ge => vec![not_less(b, ty, operands[0], operands[1])],
            Op::Le => vec![not_less(b, ty, operands[1], operands[0])],
            op @ (Op::If
            | Op::Loop
            | Op::MulHi
            | Op::Neg
            | Op::Abs
            | Op::Fma
            | Op::Mad
            | Op::Shl
            | Op::Shr
            | Op::Sqrt
            | effects_and_positions!()
            | functions!()
            | girih_ir::tile_operations!()
            | plain_arithmetic!()
            | bits!()
            | jumps!()
            | counts!()
            | other_control!()) => arithmetic(b, op, ty, &operands).values(),
        };
        Ok(Some(vec![result]))
    }
}

impl Wide<'_, '_> {
    /// Whether a scalar is split.
    fn splits(&self, scalar: Scalar) -> bool {
        ScalarSet::WIDE.has(scalar) && !self.cx.native(scalar)
    }

    /// An access: its indices are lower words. What it moves has been made words before.
    fn access(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Vec<Vec<ValueId>>, Diagnostic> {
        if inst.ty.is_some_and(|t| matches!(t, Type::Scalar(s) if self.splits(s))) {
            let what = format!("`{}.{}` needs 64-bit integers", inst.op.name(), inst.element());
            let hint = "use 32-bit words, or run it on a device that has 64-bit atomics";
            return Err(lacks(self.cx.caps, inst.span, &what, hint));
        }
        let operands: Vec<ValueId> = (0..)
            .zip(&inst.operands)
            .flat_map(|(i, v)| {
                let mut values = r.values(self, *v).to_vec();
                if inst.op.row().operands.get(i) == Some(&Pattern::Index) {
                    values.truncate(1);
                }
                values
            })
            .collect();
        let results = inst.results.iter().map(|v| r.old.ty(*v)).collect::<Vec<_>>();
        let id = r.out.push(Inst { operands: operands.into(), results: Values::new(), ..inst.clone() }, &results);
        Ok(r.out.function.insts[id].results.iter().map(|v| vec![*v]).collect())
    }

    /// A switch on the position of the region that is taken.
    fn switch(&mut self, r: &mut Rewriter<'_>, inst: &Inst, x: Pair) -> Result<Vec<Vec<ValueId>>, Diagnostic> {
        let cases = inst.cases();
        let mut chosen = r.out.u32(cases.len() as u32);
        for (i, values) in cases.iter().enumerate() {
            let region = r.out.u32(i as u32);
            for value in values {
                let value = Pair { low: r.out.u32(*value as u32), high: r.out.u32((*value >> 32) as u32) };
                let here = equal(&mut r.out, Op::Eq, x, value);
                chosen = r.out.select(here, region, chosen);
            }
        }
        let types: Vec<(Type, usize)> = inst.results.iter().map(|v| self.types(r.old.ty(*v))).collect();
        let regions = inst.regions.iter().map(|region| r.inner(self, *region)).collect::<Result<_, _>>()?;
        let mut new = Inst {
            ty: Some(Type::U32),
            operands: Values::from_slice(&[chosen]),
            regions,
            results: Values::new(),
            ..inst.clone()
        };
        new.set(girih_ir::Attr::Cases((0..cases.len() as i64).map(|i| vec![i]).collect()));
        let flat: Vec<Type> = types.iter().flat_map(|(ty, n)| std::iter::repeat_n(*ty, *n)).collect();
        let id = r.out.push(new, &flat);
        let mut results = r.out.function.insts[id].results.clone().into_iter();
        Ok(types.iter().map(|(_, n)| results.by_ref().take(*n).collect()).collect())
    }

    /// A quotient or remainder, by a routine.
    fn divide(&mut self, b: &mut Builder, op: Op, ty: Scalar, x: Pair, y: Pair) -> Result<Vec<ValueId>, Diagnostic> {
        self.cx.routines.call(b, math::routine(op, ty), &[x.low, x.high, y.low, y.high])
    }
}

/// What an operation is on words.
fn arithmetic(b: &mut Builder, op: Op, ty: Scalar, operands: &[Pair]) -> Pair {
    let x = operands[0];
    let y = operands.get(1).copied().unwrap_or(x);
    match op {
        Op::Add => add(b, x, y),
        Op::Sub => sub(b, x, y),
        Op::Mul => mul(b, x, y),
        Op::Mad => {
            let product = mul(b, x, y);
            add(b, product, operands[2])
        }
        Op::MulHi => mulhi(b, ty, x, y),
        Op::Neg => neg(b, x),
        Op::Abs => {
            let sign = sign(b, x);
            negate_if(b, x, sign)
        }
        Op::Min | Op::Max => {
            let less = if op == Op::Min { less(b, ty, x, y) } else { less(b, ty, y, x) };
            select(b, less, x, y)
        }
        bits!() => {
            let words = |f: fn(Pair) -> ValueId| operands.iter().map(|p| f(*p)).collect::<Vec<_>>();
            let (low, high) = (words(|p| p.low), words(|p| p.high));
            Pair { low: bitwise(b, op, &low), high: bitwise(b, op, &high) }
        }
        Op::Shl | Op::Shr => shift(b, op, ty, x, y.low),
        Op::Clz => first_nonzero(b, Op::Clz, x.high, x.low),
        Op::Ctz => first_nonzero(b, Op::Ctz, x.low, x.high),
        Op::Popc => {
            let (low, high) = (b.same(Op::Popc, &[x.low]), b.same(Op::Popc, &[x.high]));
            Pair { low: b.add(low, high), high: b.u32(0) }
        }
        Op::ReverseBits => Pair { low: b.same(Op::ReverseBits, &[x.high]), high: b.same(Op::ReverseBits, &[x.low]) },
        Op::Div
        | Op::Rem
        | Op::Fma
        | Op::Select
        | Op::Convert
        | Op::Bitcast
        | Op::Sqrt
        | compares!()
        | roundings!()
        | library!()
        | approximations!()
        | not_arithmetic!() => {
            unreachable!("`{}` has no 64-bit integers once memory and subgroups are words", op.name())
        }
    }
}

fn bitwise(b: &mut Builder, op: Op, words: &[ValueId]) -> ValueId {
    match (op, words) {
        (Op::And, [x, y]) => b.and(*x, *y),
        (Op::Or, [x, y]) => b.or(*x, *y),
        (Op::Xor, [x, y]) => b.xor(*x, *y),
        (Op::Not, [_]) => b.same(op, words),
        (other, _) => unreachable!("`{}` is not bitwise", other.name()),
    }
}

fn select(b: &mut Builder, condition: ValueId, x: Pair, y: Pair) -> Pair {
    Pair { low: b.select(condition, x.low, y.low), high: b.select(condition, x.high, y.high) }
}

fn add(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    let low = b.add(x.low, y.low);
    let high = b.add(x.high, y.high);
    if b.known(x.low) == Some(0) || b.known(y.low) == Some(0) {
        return Pair { low, high };
    }
    let carry = b.compare(Op::Lt, low, x.low);
    let carry = b.flag(carry);
    Pair { low, high: b.add(high, carry) }
}

fn sub(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    let low = b.sub(x.low, y.low);
    let high = b.sub(x.high, y.high);
    if b.known(y.low) == Some(0) {
        return Pair { low, high };
    }
    let borrow = b.compare(Op::Lt, x.low, y.low);
    let borrow = b.flag(borrow);
    Pair { low, high: b.sub(high, borrow) }
}

fn neg(b: &mut Builder, x: Pair) -> Pair {
    let zero = Pair { low: b.u32(0), high: b.u32(0) };
    sub(b, zero, x)
}

/// All ones below zero, else zero.
fn sign(b: &mut Builder, x: Pair) -> ValueId {
    let high = b.bitcast(Scalar::I32, x.high);
    let sign = b.shr_by(high, 31);
    b.bitcast(Scalar::U32, sign)
}

/// The negation where `sign` is all ones.
fn negate_if(b: &mut Builder, x: Pair, sign: ValueId) -> Pair {
    let flipped = Pair { low: b.xor(x.low, sign), high: b.xor(x.high, sign) };
    sub(b, flipped, Pair { low: sign, high: sign })
}

fn mul(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    let low = b.mul(x.low, y.low);
    let upper = b.same(Op::MulHi, &[x.low, y.low]);
    let (right, left) = (b.mul(x.low, y.high), b.mul(x.high, y.low));
    let middle = b.add(right, left);
    Pair { low, high: b.add(upper, middle) }
}

/// The upper half of the product of 128 bits, signs aside, then corrected for them.
fn mulhi(b: &mut Builder, ty: Scalar, x: Pair, y: Pair) -> Pair {
    let lowest = b.same(Op::MulHi, &[x.low, y.low]);
    let (a, c) = (product(b, x.low, y.high), product(b, x.high, y.low));
    let top = product(b, x.high, y.high);
    let zero = b.u32(0);
    // The middle word's sum and what it carries into the third.
    let middle = add(b, a, Pair { low: lowest, high: zero });
    let carried = add(b, Pair { low: middle.low, high: zero }, Pair { low: c.low, high: zero });
    let upper = add(b, Pair { low: middle.high, high: zero }, Pair { low: c.high, high: zero });
    let upper = add(b, upper, Pair { low: carried.high, high: zero });
    let result = add(b, top, upper);
    if !ty.is_signed() {
        return result;
    }
    // A negative factor was taken for one that is greater by 2^64.
    let (sx, sy) = (sign(b, x), sign(b, y));
    let from_y = Pair { low: b.and(y.low, sx), high: b.and(y.high, sx) };
    let from_x = Pair { low: b.and(x.low, sy), high: b.and(x.high, sy) };
    let result = sub(b, result, from_y);
    sub(b, result, from_x)
}

/// The product of two words.
fn product(b: &mut Builder, x: ValueId, y: ValueId) -> Pair {
    Pair { low: b.mul(x, y), high: b.same(Op::MulHi, &[x, y]) }
}

/// A shift by a count modulo 64.
fn shift(b: &mut Builder, op: Op, ty: Scalar, x: Pair, count: ValueId) -> Pair {
    if let Some(count) = b.known(count) {
        return shift_by(b, op, ty, x, (count & 63) as u32);
    }
    let near = b.and_bits(count, 31);
    let far = b.and_bits(count, 32);
    let far = b.compare_bits(Op::Ne, far, 0);
    // What crosses from one word to the other is shifted by 1 and by 31 - n: 32 - n would be 32 for n = 0.
    let most = b.u32(31);
    let rest = b.sub(most, near);
    let zero = b.u32(0);
    if op == Op::Shl {
        let low = b.same(Op::Shl, &[x.low, near]);
        let high = b.same(Op::Shl, &[x.high, near]);
        let crossing = b.shr_by(x.low, 1);
        let crossing = b.same(Op::Shr, &[crossing, rest]);
        let high = b.or(high, crossing);
        return Pair { low: b.select(far, zero, low), high: b.select(far, low, high) };
    }
    let high = shift_word(b, ty, x.high, near);
    let low = b.same(Op::Shr, &[x.low, near]);
    let crossing = b.shl_by(x.high, 1);
    let crossing = b.same(Op::Shl, &[crossing, rest]);
    let low = b.or(low, crossing);
    let above = if ty.is_signed() { sign(b, x) } else { zero };
    Pair { low: b.select(far, high, low), high: b.select(far, above, high) }
}

/// The upper word shifted right, with its sign if it has one.
fn shift_word(b: &mut Builder, ty: Scalar, x: ValueId, count: ValueId) -> ValueId {
    if !ty.is_signed() {
        return b.same(Op::Shr, &[x, count]);
    }
    let x = b.bitcast(Scalar::I32, x);
    let count = b.bitcast(Scalar::I32, count);
    let shifted = b.same(Op::Shr, &[x, count]);
    b.bitcast(Scalar::U32, shifted)
}

/// A shift by a known count below 64.
fn shift_by(b: &mut Builder, op: Op, ty: Scalar, x: Pair, count: u32) -> Pair {
    let (near, zero) = (count & 31, b.u32(0));
    if count == 0 {
        return x;
    }
    if op == Op::Shl {
        let moved = b.shl_by(x.low, near);
        if count >= 32 {
            return Pair { low: zero, high: moved };
        }
        let (kept, crossing) = (b.shl_by(x.high, near), b.shr_by(x.low, 32 - near));
        return Pair { low: moved, high: b.or(kept, crossing) };
    }
    let near_count = b.u32(near);
    let moved = if near == 0 { x.high } else { shift_word(b, ty, x.high, near_count) };
    if count >= 32 {
        let above = if ty.is_signed() { sign(b, x) } else { zero };
        return Pair { low: moved, high: above };
    }
    let (kept, crossing) = (b.shr_by(x.low, near), b.shl_by(x.high, 32 - near));
    Pair { low: b.or(kept, crossing), high: moved }
}

/// A count in the first word, or if that is zero 32 and the count in the second.
fn first_nonzero(b: &mut Builder, op: Op, first: ValueId, second: ValueId) -> Pair {
    let (near, far) = (b.same(op, &[first]), b.same(op, &[second]));
    let width = b.u32(32);
    let far = b.add(far, width);
    let empty = b.compare_bits(Op::Eq, first, 0);
    Pair { low: b.select(empty, far, near), high: b.u32(0) }
}

/// `op` is `eq` or `ne`.
fn equal(b: &mut Builder, op: Op, x: Pair, y: Pair) -> ValueId {
    let (low, high) = (b.xor(x.low, y.low), b.xor(x.high, y.high));
    let difference = b.or(low, high);
    b.compare_bits(op, difference, 0)
}

fn not_less(b: &mut Builder, ty: Scalar, x: Pair, y: Pair) -> ValueId {
    let less = less(b, ty, x, y);
    b.not(less)
}

fn less(b: &mut Builder, ty: Scalar, x: Pair, y: Pair) -> ValueId {
    let below = b.compare(Op::Lt, x.low, y.low);
    let level = b.compare(Op::Eq, x.high, y.high);
    let upper = if ty.is_signed() {
        let (x, y) = (b.bitcast(Scalar::I32, x.high), b.bitcast(Scalar::I32, y.high));
        b.compare(Op::Lt, x, y)
    } else {
        b.compare(Op::Lt, x.high, y.high)
    };
    let below = b.and(level, below);
    b.or(upper, below)
}

/// A conversion from or to a 64-bit integer. Short integers have been made words, floats have gone through routines.
fn convert(b: &mut Builder, from: Scalar, to: Scalar, x: Pair, cx: &Context<'_>) -> Vec<ValueId> {
    let wide = |s| ScalarSet::WIDE.has(s) && !cx.native(s);
    match (wide(from), wide(to)) {
        (true, true) => x.values(),
        (true, false) => vec![b.bitcast(to, x.low)],
        (false, _) => {
            let low = b.bitcast(Scalar::U32, x.low);
            let narrow = Pair { low, high: low };
            let high = if from.is_signed() { sign(b, narrow) } else { b.u32(0) };
            vec![low, high]
        }
    }
}

/// The same bits: of two words, or of an `f64` that the device has.
fn bitcast(b: &mut Builder, from: Scalar, to: Scalar, x: Pair) -> Vec<ValueId> {
    match (ScalarSet::WIDE.has(from), ScalarSet::WIDE.has(to)) {
        (true, true) => x.values(),
        (true, false) => {
            let words = b.vector(&x.values());
            vec![b.bitcast(to, words)]
        }
        (false, _) => {
            let words = b.bitcast(Type::Vector(Scalar::U32, 2), x.low);
            b.lanes(words)
        }
    }
}
