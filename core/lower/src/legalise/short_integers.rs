//! Integers of 8 and 16 bits live in `i32` and `u32`, as the same number.
//!
//! Invariant: a value of type `i8` is represented as an `i32` from -128 to 127, and one of type `u8` as a `u32` up to 255; likewise for 16
//! bits. A result that can leave the range is wrapped at once. The short types remain only at loads, stores, atomic operations and bit casts of
//! 16-bit floats, next to a conversion.

use super::emit::{Emit, extend};
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::{
    approximations, atomics, compares, functions, integer_arithmetic, jumps, library, masks, matrix_products,
    more_arithmetic, not_arithmetic, of_kernels, other_control, plain_arithmetic, roundings, task_form,
};
use girih_ir::{Builder, Function, Inst, Op, Scalar, ScalarSet, Type, ValueId};

/// The integers that no device computes with.
pub(super) const NARROW: ScalarSet = ScalarSet::of(&[Scalar::I8, Scalar::I16, Scalar::U8, Scalar::U16]);

pub(super) struct Narrow;

/// The type that a narrow integer lives in.
fn holder(narrow: Scalar) -> Scalar {
    if narrow.is_signed() { Scalar::I32 } else { Scalar::U32 }
}

/// Brings a holder's value into the range of a narrow type by dropping upper bits.
fn wrap(b: &mut Builder, narrow: Scalar, x: ValueId) -> ValueId {
    let x = b.bitcast(holder(narrow), x);
    if let Some(bits) = b.known(x) {
        return constant(b, narrow, bits & narrow.mask());
    }
    if narrow.is_signed() {
        let unused = 32 - narrow.bits();
        let up = b.shl_by(x, unused);
        b.shr_by(up, unused)
    } else {
        b.and_bits(x, narrow.mask())
    }
}

/// A constant of a narrow type in its holder.
fn constant(b: &mut Builder, narrow: Scalar, bits: u64) -> ValueId {
    b.constant(holder(narrow), extend(narrow, bits))
}

/// The bits of a narrow integer as a `u32`, zero above.
fn bits(b: &mut Builder, narrow: Scalar, x: ValueId) -> ValueId {
    let x = b.bitcast(Scalar::U32, x);
    if narrow.is_signed() { b.and_bits(x, narrow.mask()) } else { x }
}

impl Pass for Narrow {
    fn types(&mut self, ty: Type) -> (Type, usize) {
        match ty {
            Type::Scalar(s) if NARROW.has(s) => (holder(s).into(), 1),
            _ => (ty, 1),
        }
    }

    fn constant(&mut self, r: &mut Rewriter<'_>, ty: Type, bits: u64) -> Option<Vec<ValueId>> {
        let narrow = ty.element().filter(|s| NARROW.has(*s))?;
        Some(vec![constant(&mut r.out, narrow, bits)])
    }

    fn concerns(&self, function: &Function, inst: &Inst) -> bool {
        let is_narrow = |ty: Type| ty.element().is_some_and(|s| NARROW.has(s));
        inst.ty.is_some_and(is_narrow) || inst.operands.iter().any(|v| is_narrow(function.ty(*v)))
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let ty = inst.element();
        let source = inst.operands.first().and_then(|v| r.old.ty(*v).element()).unwrap_or(ty);
        if let (Op::Vector | Op::Splat, true) = (inst.op, NARROW.has(ty)) {
            let parts: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
            let parts: Vec<ValueId> = parts.into_iter().map(|x| r.out.convert(ty, x)).collect();
            return Ok(Some(vec![r.out.rewrite(inst, inst.op, inst.ty, &parts)]));
        }
        let touched = inst.op != Op::Call && inst.ty.is_some_and(|t| matches!(t, Type::Scalar(_)));
        if !touched || !(NARROW.has(ty) || NARROW.has(source) && matches!(inst.op, Op::Convert | Op::Bitcast)) {
            return Ok(None);
        }
        let operands: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let b = &mut r.out;
        let result = match inst.op {
            Op::Load | Op::UniformLoad | Op::Extract => {
                let loaded = b.rewrite(inst, inst.op, inst.ty, &operands)[0];
                b.convert(holder(ty), loaded)
            }
            Op::Store => {
                let value = b.convert(ty, operands[2]);
                b.rewrite(inst, Op::Store, inst.ty, &[operands[0], operands[1], value]);
                return Ok(Some(vec![]));
            }
            atomics!() => {
                let values: Vec<ValueId> = operands[2..].iter().map(|value| b.convert(ty, *value)).collect();
                let all = [&operands[..2], &values].concat();
                let results = b.rewrite(inst, inst.op, inst.ty, &all).into_iter();
                return Ok(Some(results.map(|old| vec![b.convert(holder(ty), old)]).collect()));
            }
            Op::Switch => return self.switch(r, inst).map(Some),
            Op::Convert => convert(b, source, ty, operands[0]),
            Op::Bitcast => bitcast(b, source, ty, operands[0]),
            op @ (Op::If
            | Op::Loop
            | Op::Select
            | Op::Vector
            | Op::Splat
            | Op::Insert
            | of_kernels!()
            | functions!()
            | girih_ir::tile_operations!()
            | task_form!()
            | integer_arithmetic!()
            | matrix_products!()
            | compares!()
            | more_arithmetic!()
            | masks!()
            | plain_arithmetic!()
            | jumps!()
            | other_control!()) => arithmetic(b, op, ty, &operands),
        };
        Ok(Some(vec![vec![result]]))
    }
}

impl Narrow {
    /// A switch on the holder, with the same cases.
    fn switch(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Vec<Vec<ValueId>>, Diagnostic> {
        let wider = Inst { ty: Some(holder(inst.element()).into()), ..inst.clone() };
        let id = r.copy(self, &wider)?;
        let results = r.out.function.insts[id].results.clone();
        Ok(results.into_iter().map(|v| vec![v]).collect())
    }
}

/// What an operation on narrow integers is on their holders.
fn arithmetic(b: &mut Builder, op: Op, ty: Scalar, operands: &[ValueId]) -> ValueId {
    let (x, y) = (operands[0], operands.get(1).copied().unwrap_or(operands[0]));
    match op {
        // These stay in range.
        Op::Min | Op::Max | Op::And | Op::Or | Op::Xor | Op::Rem | compares!() => b.same(op, &[x, y]),
        Op::Select => b.select(x, y, operands[2]),
        Op::Not if ty.is_signed() => b.not(x),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Abs | Op::Not | Op::Mad => {
            let result = b.same(op, operands);
            wrap(b, ty, result)
        }
        Op::MulHi => {
            let product = b.mul(x, y);
            b.shr_by(product, ty.bits())
        }
        Op::Shl | Op::Shr => {
            let count = b.and_bits(y, u64::from(ty.bits() - 1));
            let result = b.same(op, &[x, count]);
            if op == Op::Shl { wrap(b, ty, result) } else { result }
        }
        Op::Clz => counted(b, ty, x, |b, word| leading_zeros(b, ty, word)),
        Op::Ctz => counted(b, ty, x, |b, word| trailing_zeros(b, ty, word)),
        Op::Popc => counted(b, ty, x, |b, word| b.same(op, &[word])),
        Op::ReverseBits => counted(b, ty, x, |b, word| {
            let reversed = b.same(op, &[word]);
            b.shr_by(reversed, 32 - ty.bits())
        }),
        Op::Fma
        | Op::Convert
        | Op::Bitcast
        | Op::Sqrt
        | roundings!()
        | library!()
        | approximations!()
        | not_arithmetic!() => {
            unreachable!("`{}` has no narrow integers once memory and subgroups are words", op.name())
        }
    }
}

/// The zeros before the first one of the shorter width.
fn leading_zeros(b: &mut Builder, ty: Scalar, word: ValueId) -> ValueId {
    let zeros = b.same(Op::Clz, &[word]);
    let unused = b.like(zeros, u64::from(32 - ty.bits()));
    b.sub(zeros, unused)
}

/// The zeros behind the last one.
fn trailing_zeros(b: &mut Builder, ty: Scalar, word: ValueId) -> ValueId {
    // A one above the width ends the count there.
    let end = b.like(word, 1 << ty.bits());
    let word = b.or(word, end);
    b.same(Op::Ctz, &[word])
}

/// What counts or moves bits, of the shorter width: `f` gives a word for a word, whose upper bits are zeros in both.
fn counted(b: &mut Builder, ty: Scalar, x: ValueId, f: impl Fn(&mut Builder, ValueId) -> ValueId) -> ValueId {
    let word = bits(b, ty, x);
    let result = f(b, word);
    wrap_if_signed(b, ty, result)
}

/// A `u32` below the width's range as the holder of a type.
fn wrap_if_signed(b: &mut Builder, ty: Scalar, word: ValueId) -> ValueId {
    if ty.is_signed() { wrap(b, ty, word) } else { word }
}

/// A conversion where one side is narrow. Floats have been converted through 32-bit integers before.
fn convert(b: &mut Builder, from: Scalar, to: Scalar, x: ValueId) -> ValueId {
    // The operand is the same number in 32 bits, or a 64-bit integer whose lower word counts.
    if !NARROW.has(to) {
        return b.convert(to, x);
    }
    if fits(from, to) {
        return b.bitcast(holder(to), x);
    }
    let word = if from.bits() == 64 { b.convert(Scalar::U32, x) } else { x };
    wrap(b, to, word)
}

/// Whether all numbers of a narrow type are numbers of another.
fn fits(from: Scalar, to: Scalar) -> bool {
    NARROW.has(from)
        && (from == to
            || !from.is_signed() && from.bits() < to.bits()
            || from.is_signed() == to.is_signed() && from.bits() <= to.bits())
}

/// The same bits, where one side is narrow.
fn bitcast(b: &mut Builder, from: Scalar, to: Scalar, x: ValueId) -> ValueId {
    if NARROW.has(from) && NARROW.has(to) {
        return wrap(b, to, x);
    }
    if NARROW.has(to) {
        // From a float: only `u16` and `u8` stand beside it.
        let raw = b.bitcast(to.as_bits(), x);
        let word = b.convert(Scalar::U32, raw);
        return wrap_if_signed(b, to, word);
    }
    let word = bits(b, from, x);
    let raw = b.convert(from.as_bits(), word);
    b.bitcast(to, raw)
}
