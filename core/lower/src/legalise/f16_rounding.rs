//! Rounds numbers before they are converted to `f16`, on devices that may leave out a conversion to `f16` and back.
//!
//! Drivers of shading languages drop `f32 -> f16 -> f32`, even through selections, magnitudes and bit casts, whatever the
//! program says about it (see docs/platforms.md). A number that is rounded beforehand is the same with and without the two conversions.
//!
//! Invariant: a conversion to `f16` of a value with any use except stores is exact, unless the device has `rounded_conversions`.

use super::Context;
use super::emit::Emit;
use crate::rewrite::{Pass, Rewriter};
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_ir::groups::{arithmetic, control, masks, memory, of_kernels, task_form};
use girih_ir::{Builder, Feature, Function, Inst, Op, Scalar, Space, Type, ValueId};

/// The bits of an `f32`'s exponent, of the least one that a normal `f16` has, and of its sign.
const EXPONENT: u64 = 0x7f80_0000;
const LEAST: u64 = (127 - 14) << 23;
const SIGN: u64 = 1 << 31;
/// From a power of two to one and a half of the power whose last bit is worth what the last bit of an `f16` with the first as its exponent is.
const ABOVE: u64 = (13 << 23) | (1 << 22);
/// 65520, from where on all numbers are infinite, and 2^127, which makes them so.
const ENDLESS: u64 = 0x477f_f000;
const HUGE: u64 = 0x7f00_0000;

/// Rounds beforehand what needs it in a function.
pub(super) fn run(function: Function, cx: &Context<'_>) -> Result<Function, Diagnostic> {
    if cx.caps.has(Feature::RoundedConversions) || !cx.caps.arithmetic.or(cx.caps.conversions).has(Scalar::F16) {
        return Ok(function);
    }
    let mut pass = Halves { read: read(&function) };
    super::pass(function, &mut pass)
}

struct Halves {
    /// Values that are used for more than being stored.
    read: IndexVec<ValueId, bool>,
}

impl Pass for Halves {
    fn concerns(&self, function: &Function, inst: &Inst) -> bool {
        let to_half = inst.op == Op::Convert && inst.ty == Some(Type::Scalar(Scalar::F16));
        to_half && function.ty(inst.operands[0]) == Type::F32 && self.read[inst.results[0]]
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        let x = r.value(self, inst.operands[0]);
        let x = rounded(&mut r.out, x);
        Ok(Some(vec![r.out.rewrite(inst, inst.op, inst.ty, &[x])]))
    }
}

/// Which values of a function are used for more than being stored. What is stored in private memory may come back from there.
fn read(function: &Function) -> IndexVec<ValueId, bool> {
    let mut read: IndexVec<ValueId, bool> = function.values.iter().map(|_| false).collect();
    let mut vectors = vec![];
    function.walk(function.body, &mut |id, inst| match inst.op {
        Op::Store if function.space(inst.operands[0]) != Space::Private => {}
        Op::Vector => vectors.push(id),
        Op::Splat
        | Op::Extract
        | Op::Insert
        | arithmetic!()
        | of_kernels!()
        | girih_ir::tile_operations!()
        | task_form!()
        | memory!()
        | control!()
        | masks!() => inst.operands.iter().for_each(|v| read[*v] = true),
    });
    // A vector's uses come after it.
    for vector in vectors.into_iter().rev().map(|id| &function.insts[id]) {
        if vector.results.iter().any(|v| read[*v]) {
            vector.operands.iter().for_each(|v| read[*v] = true);
        }
    }
    read
}

/// The number of eleven bits that is nearest to an `f32`, ties to even, within the range of `f16`: beyond it infinite. NaN stays NaN.
///
/// One and a half of a power of two is added, so large that what lies below the last bit of an `f16` is rounded away, and taken away again.
fn rounded(b: &mut Builder, x: ValueId) -> ValueId {
    let bits = b.bitcast(Scalar::U32, x);
    let exponent = b.and_bits(bits, EXPONENT);
    let least = b.like(exponent, LEAST);
    let exponent = b.same(Op::Max, &[exponent, least]);
    let above = b.like(exponent, ABOVE);
    let above = b.add(exponent, above);
    let above = b.bitcast(Scalar::F32, above);
    let sum = b.add(x, above);
    let near = b.sub(sum, above);
    // What becomes zero keeps its sign.
    let sign = b.and_bits(bits, SIGN);
    let near = b.bitcast(Scalar::U32, near);
    let near = b.or(near, sign);
    let near = b.bitcast(Scalar::F32, near);
    let magnitude = b.same(Op::Abs, &[x]);
    let has_end = b.compare_bits(Op::Lt, magnitude, ENDLESS);
    let huge = b.like(x, HUGE);
    let endless = b.mul(x, huge);
    b.select(has_end, near, endless)
}
