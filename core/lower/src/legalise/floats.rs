//! Floats: short ones that the device lacks, and operations that it does not round as the IR says.
//!
//! Invariant: afterwards a float that the device does not compute with is its bits in a `u32`, zero above; `f16` and `bf16`
//! that it has are added, multiplied and compared as such and go through `f32` otherwise; conversions between
//! floats and integers join `f32` or `f64` with integers of 32 bits or native ones of 64.
//!
//! Why one more rounding does no harm: the sum, product, quotient and root of numbers of p bits, computed with at least 2 p + 2
//! bits, round to the same as the true value. `f16` has 11 bits, `bf16` 8, `f32` 24. A fused product and sum, and what starts from more than 24
//! bits, is rounded to odd first.

use super::Context;
use super::convert;
use super::emit::Emit;
use super::lacks;
use super::word_packing;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_ir::groups::{
    approximations, arithmetic, atomics, compares, control, conversions, functions, integer_arithmetic, library, masks,
    matrix_products, not_arithmetic, of_kernels, plain_arithmetic, roundings, task_form,
};
use girih_ir::{Builder, Feature, Function, Inst, Op, Scalar, ScalarSet, Type, ValueId, math};

/// Floats that are shorter than a word.
pub(super) const SHORT: ScalarSet = ScalarSet::FLOATS8.or(ScalarSet::of(&[Scalar::F16, Scalar::Bf16]));

pub(super) struct Floats<'c, 'a> {
    pub cx: &'c mut Context<'a>,
}

impl Pass for Floats<'_, '_> {
    fn types(&mut self, ty: Type) -> (Type, usize) {
        match ty {
            Type::Scalar(s) if self.cx.is_bits(s) => (Type::U32, 1),
            _ => (ty, 1),
        }
    }

    fn constant(&mut self, r: &mut Rewriter<'_>, ty: Type, bits: u64) -> Option<Vec<ValueId>> {
        let Type::Scalar(scalar) = ty else { return None };
        self.cx.is_bits(scalar).then(|| vec![r.out.constant(Scalar::U32, bits)])
    }

    fn concerns(&self, function: &Function, inst: &Inst) -> bool {
        let Some(ty) = inst.ty.and_then(Type::element) else { return false };
        let source = inst.operands.first().and_then(|v| function.ty(*v).element()).unwrap_or(ty);
        if SHORT.has(ty) || SHORT.has(source) {
            return true;
        }
        let caps = self.cx.caps;
        match inst.op {
            Op::Convert => ty.is_float() || source.is_float(),
            Op::Div | Op::Sqrt => ty.is_float() && !caps.has(Feature::ExactDivision),
            Op::Mad | Op::Fma => ty.is_float(),
            Op::Neg
            | Op::Abs
            | Op::Select
            | Op::Bitcast
            | not_arithmetic!()
            | functions!()
            | integer_arithmetic!()
            | compares!()
            | plain_arithmetic!() => false,
        }
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        if let Some(result) = self.beside_memory(r, inst) {
            return Ok(Some(result));
        }
        let Some(Type::Scalar(ty)) = inst.ty else { return Ok(None) };
        let source = inst.operands.first().and_then(|v| r.old.ty(*v).element()).unwrap_or(ty);
        let converts = matches!(inst.op, Op::Convert | Op::Bitcast);
        if !(ty.is_float() || converts && source.is_float()) {
            return Ok(None);
        }
        let x: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        let (b, cx) = (&mut r.out, &mut *self.cx);
        let result = match inst.op {
            Op::Convert => convert::convert(b, cx, source, ty, x[0])?,
            Op::Bitcast => convert::bitcast(b, cx, source, ty, x[0]),
            Op::Select => b.select(x[0], x[1], x[2]),
            Op::Neg | Op::Abs if cx.is_bits(ty) => sign(b, inst.op, ty, x[0]),
            Op::Mad => mad(b, cx, ty, &x)?,
            Op::Fma => fma(b, cx, ty, &x)?,
            Op::Div | Op::Sqrt | Op::Neg | Op::Abs | plain_arithmetic!() | roundings!() | approximations!() => {
                operation(b, cx, inst.op, ty, &x)?
            }
            compares!() => compare(b, cx, inst.op, ty, &x)?,
            integer_arithmetic!() | library!() | not_arithmetic!() => return Ok(None),
        };
        Ok(Some(vec![vec![result]]))
    }
}

impl Floats<'_, '_> {
    /// Where a float that is its bits comes from memory or goes there.
    fn beside_memory(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Option<Vec<Vec<ValueId>>> {
        let ty = inst.ty.and_then(Type::element).filter(|s| self.cx.is_bits(*s))?;
        let parts = match inst.op {
            Op::Load | Op::UniformLoad | Op::Store | Op::Extract if inst.ty != Some(ty.into()) => return None,
            Op::Load | Op::UniformLoad | Op::Extract => 0..0,
            Op::Store => 2..3,
            Op::Vector | Op::Splat => 0..inst.operands.len(),
            Op::Insert
            | arithmetic!()
            | of_kernels!()
            | girih_ir::tile_operations!()
            | task_form!()
            | control!()
            | atomics!()
            | matrix_products!()
            | masks!() => return None,
        };
        let mut x: Vec<ValueId> = inst.operands.iter().map(|v| r.value(self, *v)).collect();
        for x in &mut x[parts.clone()] {
            *x = word_packing::from_low_bits(&mut r.out, ty.into(), *x);
        }
        let results = r.out.rewrite(inst, inst.op, inst.ty, &x).into_iter();
        let bits = |v| if parts.is_empty() { word_packing::to_low_bits(&mut r.out, v) } else { v };
        Some(results.map(bits).map(|v| vec![v]).collect())
    }
}

impl Context<'_> {
    /// Whether floats of a type are their bits in a word.
    pub(super) fn is_bits(&self, scalar: Scalar) -> bool {
        SHORT.has(scalar) && !self.native(scalar)
    }
}

/// The sign bit flipped or cleared.
fn sign(b: &mut Builder, op: Op, ty: Scalar, x: ValueId) -> ValueId {
    let sign = 1 << (ty.bits() - 1);
    if op == Op::Abs {
        return b.and_bits(x, sign - 1);
    }
    let sign = b.like(x, sign);
    b.xor(x, sign)
}

/// Whether a device computes an operation on a short float as it is.
fn is_direct(op: Op, cx: &Context<'_>, ty: Scalar) -> bool {
    let simple = matches!(op, plain_arithmetic!() | compares!() | Op::Neg | Op::Abs);
    !SHORT.has(ty) || simple && cx.native(ty)
}

/// An operation that may be computed in `f32` and rounded once more.
fn operation(b: &mut Builder, cx: &mut Context<'_>, op: Op, ty: Scalar, x: &[ValueId]) -> Result<ValueId, Diagnostic> {
    if is_direct(op, cx, ty) {
        return exact(b, cx, op, ty, x);
    }
    let x = lift_all(b, cx, ty, x)?;
    let result = exact(b, cx, op, Scalar::F32, &x)?;
    convert::lower(b, cx, ty, result)
}

fn lift_all(b: &mut Builder, cx: &mut Context<'_>, ty: Scalar, x: &[ValueId]) -> Result<Vec<ValueId>, Diagnostic> {
    x.iter().map(|x| convert::lift(b, cx, ty, *x)).collect()
}

/// An operation of a type that the device has, by a routine where it does not round it correctly.
fn exact(b: &mut Builder, cx: &mut Context<'_>, op: Op, ty: Scalar, x: &[ValueId]) -> Result<ValueId, Diagnostic> {
    let needed = match op {
        Op::Div | Op::Sqrt => Some(Feature::ExactDivision),
        Op::Fma => Some(Feature::FusedFma),
        Op::Neg
        | Op::Abs
        | Op::Mad
        | not_arithmetic!()
        | functions!()
        | integer_arithmetic!()
        | compares!()
        | plain_arithmetic!()
        | conversions!() => None,
    };
    if ty == Scalar::F32 && needed.is_some_and(|feature| !cx.caps.has(feature)) {
        return Ok(cx.routines.call(b, math::routine(op, ty), x)?[0]);
    }
    Ok(b.op(op, ty, x))
}

/// A comparison.
fn compare(b: &mut Builder, cx: &mut Context<'_>, op: Op, ty: Scalar, x: &[ValueId]) -> Result<ValueId, Diagnostic> {
    if is_direct(op, cx, ty) {
        return Ok(b.op(op, ty, x));
    }
    let x = lift_all(b, cx, ty, x)?;
    Ok(b.op(op, Scalar::F32, &x))
}

/// A product and sum, fused or not, whichever is cheap.
fn mad(b: &mut Builder, cx: &mut Context<'_>, ty: Scalar, x: &[ValueId]) -> Result<ValueId, Diagnostic> {
    if cx.native(ty) && cx.caps.has(Feature::FusedFma) {
        return Ok(b.op(Op::Fma, ty, x));
    }
    let short = !cx.native(ty);
    let y = if short { lift_all(b, cx, ty, x)? } else { x.to_vec() };
    let product = b.mul(y[0], y[1]);
    let sum = b.add(product, y[2]);
    if short { convert::lower(b, cx, ty, sum) } else { Ok(sum) }
}

/// A product and sum, rounded once.
fn fma(b: &mut Builder, cx: &mut Context<'_>, ty: Scalar, x: &[ValueId]) -> Result<ValueId, Diagnostic> {
    if cx.native(ty) && cx.caps.has(Feature::FusedFma) {
        return Ok(b.op(Op::Fma, ty, x));
    }
    match ty {
        Scalar::F16 | Scalar::Bf16 => {
            let x = lift_all(b, cx, ty, x)?;
            let result = cx.routines.call(b, math::routine(Op::Fma, ty), &x)?[0];
            convert::lower(b, cx, ty, result)
        }
        Scalar::F64 => Err(lacks(cx.caps, b.span, "`fma.f64` is rounded once", "write `mad.f64`, or `mul` and `add`")),
        _ => exact(b, cx, Op::Fma, ty, x),
    }
}
