//! Which part of the code generator an operation belongs to, and arithmetic.
//!
//! Invariant: what shading languages leave open is said exactly: `!=` of NaN is true, `min` and `max` return the operand that is a
//! number, negation and magnitude of floats work on the bits.

use super::types;
use super::writer::{Expr, ShaderWriter};
use super::{error, sync};
use girih_base::diag::Diagnostic;
use girih_ir::{Inst, Op, Scalar, ScalarSet, Type, ValueId};
use naga::{BinaryOperator as B, Expression, Literal, MathFunction as M, UnaryOperator as U};

/// Writes an instruction.
pub fn instruction(w: &mut ShaderWriter<'_, '_>, inst: &Inst) -> Result<(), Diagnostic> {
    match inst.op {
        Op::If => w.if_else(inst),
        Op::Switch => w.switch(inst),
        Op::Loop => w.loop_(inst),
        Op::Call => w.call(inst),
        Op::Yield => w.yield_(inst),
        Op::Break => w.break_(inst),
        Op::Continue => w.continue_(inst),
        Op::While => w.while_(inst),
        Op::Return => w.return_(inst),
        Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Rem
        | Op::Neg
        | Op::Abs
        | Op::Min
        | Op::Max
        | Op::Fma
        | Op::Mad
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Shl
        | Op::Shr
        | Op::Clz
        | Op::Ctz
        | Op::Popc
        | Op::ReverseBits
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge
        | Op::Select
        | Op::Convert
        | Op::Bitcast
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::Trunc
        | Op::Sqrt
        | Op::DivApprox
        | Op::RcpApprox
        | Op::SqrtApprox
        | Op::RsqrtApprox
        | Op::ExpApprox
        | Op::Exp2Approx
        | Op::LogApprox
        | Op::Log2Approx
        | Op::SinApprox
        | Op::CosApprox
        | Op::TanhApprox => arithmetic(w, inst),
        Op::Vector | Op::Splat | Op::Extract | Op::Insert => aggregate(w, inst),
        Op::Load => w.load_op(inst),
        Op::Store => w.store_op(inst),
        Op::UniformLoad => w.uniform_load(inst),
        Op::AtomicLoad
        | Op::AtomicStore
        | Op::AtomicAdd
        | Op::AtomicMin
        | Op::AtomicMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor
        | Op::AtomicExchange
        | Op::AtomicCompareExchange => w.atomic(inst),
        Op::GlobalId
        | Op::LocalId
        | Op::LocalIndex
        | Op::WorkgroupId
        | Op::NumWorkgroups
        | Op::WorkgroupSize
        | Op::SubgroupSize
        | Op::SubgroupId
        | Op::NumSubgroups
        | Op::Lane => sync::position(w, inst),
        Op::Barrier => {
            sync::barrier(w, inst.spaces());
            Ok(())
        }
        Op::Ballot
        | Op::Any
        | Op::All
        | Op::Elect
        | Op::Shuffle
        | Op::ShuffleXor
        | Op::ShuffleUp
        | Op::ShuffleDown
        | Op::Broadcast
        | Op::SubgroupAdd
        | Op::SubgroupMul
        | Op::SubgroupMin
        | Op::SubgroupMax
        | Op::SubgroupAnd
        | Op::SubgroupOr
        | Op::SubgroupXor
        | Op::InclusiveAdd
        | Op::ExclusiveAdd
        | Op::InclusiveMul
        | Op::ExclusiveMul
        | Op::InclusiveMin
        | Op::InclusiveMax => w.subgroup(inst),
        Op::CoopLoad | Op::CoopStore | Op::CoopSplat | Op::CoopMma => w.coop(inst),
        // Legalisation has taken these away, or refused them.
        Op::Grid
        | Op::TrapIf
        | Op::MulHi
        | Op::Rsqrt
        | Op::Exp
        | Op::Exp2
        | Op::Log
        | Op::Log2
        | Op::Sin
        | Op::Cos
        | Op::Tan
        | Op::Asin
        | Op::Acos
        | Op::Atan
        | Op::Atan2
        | Op::Tanh
        | Op::Pow
        | Op::Fence
        | Op::AsyncCopy
        | Op::AsyncCommit
        | Op::AsyncWait
        | Op::MbarrierInit
        | Op::MbarrierArrive
        | Op::MbarrierArriveCopies
        | Op::MbarrierWait
        | Op::MbarrierTest
        | Op::FenceAsync
        | Op::WgmmaFence
        | Op::Wgmma
        | Op::WgmmaCommit
        | Op::WgmmaWait
        | Op::Gemm
        | Op::CellNew
        | Op::CellGet
        | Op::CellLayout
        | Op::CellOpen
        | Op::CellFill
        | Op::CellFree
        | Op::ChainNew
        | Op::ChainGrow
        | Op::ChainEnd
        | Op::TermShare
        | Op::TermDrop
        | Op::TermPack
        | Op::TermTag
        | Op::MaskEq
        | Op::MaskLt
        | Op::MaskLe
        | Op::MaskSelect
        | Op::MaskAny
        | Op::TermPayload
        | Op::GlobalGet
        | Op::Fork
        | Op::Join
        | Op::Tail
        | girih_ir::tile_operations!() => Err(error::operation(inst.span, inst.op)),
    }
}

/// Arithmetic, lane by lane where the type has lanes.
fn arithmetic(w: &mut ShaderWriter<'_, '_>, inst: &Inst) -> Result<(), Diagnostic> {
    let has_lanes = |value: &ValueId| matches!(w.source.ty(*value), Type::Vector(..) | Type::Regs(..));
    let source = w.source.ty(inst.operands[0]).element().unwrap_or(Scalar::U32);
    // Most have one lane, and lists of one would cost more than all else here.
    if !inst.operands.iter().chain(&inst.results).any(has_lanes) {
        let result = match inst.operands[..] {
            [a] => {
                let x = [w.one(a)?];
                w.scalar(inst, source, &x)?
            }
            [a, b] => {
                let x = [w.one(a)?, w.one(b)?];
                w.scalar(inst, source, &x)?
            }
            [a, b, c] => {
                let x = [w.one(a)?, w.one(b)?, w.one(c)?];
                w.scalar(inst, source, &x)?
            }
            _ => return Err(error::operation(inst.span, inst.op)),
        };
        w.define_one(inst.results[0], result);
        return Ok(());
    }
    let mut operands = vec![];
    for operand in &inst.operands {
        operands.push(w.parts(*operand)?);
    }
    let lanes = operands.iter().map(Vec::len).max().unwrap_or(1);
    let mut results = Vec::with_capacity(lanes);
    for lane in 0..lanes {
        // The condition of a selection has one lane whatever the values have.
        let x: Vec<Expr> = operands.iter().map(|parts| parts[lane.min(parts.len() - 1)]).collect();
        results.push(w.scalar(inst, source, &x)?);
    }
    w.define(inst.results[0], results);
    Ok(())
}

fn aggregate(w: &mut ShaderWriter<'_, '_>, inst: &Inst) -> Result<(), Diagnostic> {
    let mut parts = w.parts(inst.operands[0])?;
    let position = |w: &ShaderWriter<'_, '_>, parts: &[Expr]| {
        let constant = w.source.as_constant(inst.operands[1]).filter(|i| (*i as usize) < parts.len());
        constant.map(|i| i as usize).ok_or_else(|| error::illegal(inst.span, "positions that are no constants"))
    };
    match inst.op {
        Op::Vector => {
            for operand in &inst.operands[1..] {
                parts.extend(w.parts(*operand)?);
            }
        }
        Op::Splat => parts = vec![parts[0]; inst.ty.map_or(1, Type::lanes) as usize],
        Op::Extract => parts = vec![parts[position(w, &parts)?]],
        Op::Insert => {
            let position = position(w, &parts)?;
            parts[position] = w.one(inst.operands[2])?;
        }
        other => return Err(error::operation(inst.span, other)),
    }
    w.define(inst.results[0], parts);
    Ok(())
}

impl ShaderWriter<'_, '_> {
    /// One lane of an arithmetic instruction.
    fn scalar(&mut self, inst: &Inst, source: Scalar, x: &[Expr]) -> Result<Expr, Diagnostic> {
        let ty = inst.element();
        let float = ty.is_float();
        Ok(match inst.op {
            Op::Add => self.binary(B::Add, x[0], x[1]),
            Op::Sub => match self.rounding(x[0], x[1]) {
                Some(rounded) => rounded,
                None => self.binary(B::Subtract, x[0], x[1]),
            },
            Op::Mul => match self.product_with_zero(ty, x[0], x[1]) {
                Some(product) => product,
                None => self.binary(B::Multiply, x[0], x[1]),
            },
            Op::Div if float => match self.quotient_with_zero(ty, x[0], x[1]) {
                Some(quotient) => quotient,
                None => self.binary(B::Divide, x[0], x[1]),
            },
            Op::Div | Op::Rem => {
                let op = if inst.op == Op::Div { B::Divide } else { B::Modulo };
                // A divisor that is the constant 0 would be refused.
                let divisor = if self.is_zero(x[1]) { self.at_run_time(x[1]) } else { x[1] };
                self.binary(op, x[0], divisor)
            }
            Op::Mad if float && ty != Scalar::F64 => self.math(M::Fma, x),
            Op::Mad => {
                let product = self.binary(B::Multiply, x[0], x[1]);
                self.binary(B::Add, product, x[2])
            }
            Op::Fma => self.fused(ty, [x[0], x[1], x[2]]),
            Op::Neg => self.negate(ty, x[0])?,
            Op::Abs => self.magnitude(ty, x[0])?,
            Op::Min | Op::Max => self.extreme(inst.op == Op::Min, ty, x[0], x[1])?,
            Op::And => self.binary(if ty == Scalar::Bool { B::LogicalAnd } else { B::And }, x[0], x[1]),
            Op::Or => self.binary(if ty == Scalar::Bool { B::LogicalOr } else { B::InclusiveOr }, x[0], x[1]),
            Op::Xor => self.binary(if ty == Scalar::Bool { B::NotEqual } else { B::ExclusiveOr }, x[0], x[1]),
            Op::Not => self.unary(if ty == Scalar::Bool { U::LogicalNot } else { U::BitwiseNot }, x[0]),
            Op::Shl => self.shift(B::ShiftLeft, ty, x[0], x[1])?,
            Op::Shr => self.shift(B::ShiftRight, ty, x[0], x[1])?,
            Op::Clz | Op::Ctz | Op::Popc | Op::ReverseBits => self.bits(inst.op, ty, x[0])?,
            Op::Eq => self.binary(B::Equal, x[0], x[1]),
            Op::Ne if float => {
                let equal = self.binary(B::Equal, x[0], x[1]);
                self.unary(U::LogicalNot, equal)
            }
            Op::Ne => self.binary(B::NotEqual, x[0], x[1]),
            Op::Lt => self.binary(B::Less, x[0], x[1]),
            Op::Le => self.binary(B::LessEqual, x[0], x[1]),
            Op::Gt => self.binary(B::Greater, x[0], x[1]),
            Op::Ge => self.binary(B::GreaterEqual, x[0], x[1]),
            Op::Select => self.select(x[0], x[1], x[2]),
            // The bits of an `f16` pass through `u16`, which shading languages lack: as the low half of a word.
            Op::Convert if source == Scalar::U16 && ty == Scalar::U32 => x[0],
            Op::Convert if source == Scalar::U32 && ty == Scalar::U16 => x[0],
            Op::Bitcast if source == Scalar::F16 && ty == Scalar::U16 => self.half_bits(x[0]),
            Op::Bitcast if source == Scalar::U16 && ty == Scalar::F16 => self.half_of_bits(x[0]),
            Op::Convert => self.number(source, ty, x[0])?,
            Op::Bitcast => {
                let (from, to) = (types::legal_scalar(source, inst.span)?, types::legal_scalar(ty, inst.span)?);
                self.bitcast(x[0], from, to)
            }
            Op::Floor => self.math(M::Floor, x),
            Op::Ceil => self.math(M::Ceil, x),
            Op::Round => self.math(M::Round, x),
            Op::Trunc => self.math(M::Trunc, x),
            Op::Sqrt | Op::SqrtApprox => self.math(M::Sqrt, x),
            Op::DivApprox => self.binary(B::Divide, x[0], x[1]),
            Op::RcpApprox => {
                let one =
                    self.literal(if ty == Scalar::F16 { Literal::F16(half::f16::ONE) } else { Literal::F32(1.0) });
                self.add(Expression::Binary { op: B::Divide, left: one, right: x[0] })
            }
            Op::RsqrtApprox => self.math(M::InverseSqrt, x),
            Op::ExpApprox => self.math(M::Exp, x),
            Op::Exp2Approx => self.math(M::Exp2, x),
            Op::LogApprox => self.math(M::Log, x),
            Op::Log2Approx => self.math(M::Log2, x),
            Op::SinApprox => self.math(M::Sin, x),
            Op::CosApprox => self.math(M::Cos, x),
            Op::TanhApprox => self.math(M::Tanh, x),
            other => return Err(error::operation(inst.span, other)),
        })
    }

    fn is_zero(&self, expr: Expr) -> bool {
        matches!(
            self.out.expressions[expr],
            Expression::Literal(Literal::U32(0) | Literal::I32(0) | Literal::U64(0) | Literal::I64(0))
        )
    }

    /// The bits of a float, if there is an integer of its width.
    pub(super) fn float_bits(&mut self, ty: Scalar, x: Expr) -> Option<(naga::Scalar, naga::Scalar, Expr)> {
        let from = types::scalar(ty)?;
        let to = match ty {
            Scalar::F32 => naga::Scalar::U32,
            Scalar::F64 if self.caps().arithmetic.has(Scalar::U64) => naga::Scalar::U64,
            _ => return None,
        };
        Some((from, to, self.bitcast(x, from, to)))
    }

    /// The bits of an `f16`, as the low half of a word.
    pub(super) fn half_bits(&mut self, x: Expr) -> Expr {
        let wide = self.convert(x, naga::Scalar::F32);
        let zero = self.literal(Literal::F32(0.0));
        let ty = types::lanes_type(&mut self.context.out.types, naga::Scalar::F32, 2);
        let pair = self.add(Expression::Compose { ty, components: vec![wide, zero] });
        self.math(M::Pack2x16float, &[pair])
    }

    /// The `f16` whose bits are the low half of a word.
    pub(super) fn half_of_bits(&mut self, word: Expr) -> Expr {
        let pair = self.math(M::Unpack2x16float, &[word]);
        let low = self.add(Expression::AccessIndex { base: pair, index: 0 });
        self.convert(low, naga::Scalar::F16)
    }

    fn negate(&mut self, ty: Scalar, x: Expr) -> Result<Expr, Diagnostic> {
        if let Some((float, word, bits)) = self.float_bits(ty, x) {
            let sign = self.bits_literal(word, 1 << (word.width * 8 - 1));
            let flipped = self.binary(B::ExclusiveOr, bits, sign);
            return Ok(self.bitcast(flipped, word, float));
        }
        Ok(self.unary(U::Negate, x))
    }

    fn magnitude(&mut self, ty: Scalar, x: Expr) -> Result<Expr, Diagnostic> {
        if let Some((float, word, bits)) = self.float_bits(ty, x) {
            let mask = self.bits_literal(word, (1 << (word.width * 8 - 1)) - 1);
            let cleared = self.binary(B::And, bits, mask);
            return Ok(self.bitcast(cleared, word, float));
        }
        if ty == Scalar::I64 {
            // Shading languages have `abs` for 32 bits.
            let zero = self.literal(Literal::I64(0));
            let below = self.binary(B::Less, x, zero);
            let opposite = self.unary(U::Negate, x);
            return Ok(self.select(below, opposite, x));
        }
        Ok(self.math(M::Abs, &[x]))
    }

    /// The lesser or greater of two numbers; of a number and a NaN the number.
    pub(super) fn extreme(&mut self, least: bool, ty: Scalar, a: Expr, b: Expr) -> Result<Expr, Diagnostic> {
        let native = if least { M::Min } else { M::Max };
        if self.context.options.strict && ty == Scalar::F32 || matches!(ty, Scalar::I32 | Scalar::U32) {
            return Ok(self.math(native, &[a, b]));
        }
        let first = self.binary(if least { B::Less } else { B::Greater }, a, b);
        let first = match self.is_nan(ty, b) {
            Some(nan) => self.binary(B::LogicalOr, first, nan),
            None => first,
        };
        Ok(self.select(first, a, b))
    }

    /// Whether a float is NaN, by its bits: a compiler may assume that a comparison never meets one.
    fn is_nan(&mut self, ty: Scalar, x: Expr) -> Option<Expr> {
        if !ty.is_float() {
            return None;
        }
        let Some((_, word, bits)) = self.float_bits(ty, x) else {
            let same = self.binary(B::Equal, x, x);
            return Some(self.unary(U::LogicalNot, same));
        };
        let (mask, infinity) =
            if word.width == 8 { (u64::MAX >> 1, 0x7ff0_0000_0000_0000) } else { (0x7fff_ffff, 0x7f80_0000) };
        let mask = self.bits_literal(word, mask);
        let infinity = self.bits_literal(word, infinity);
        let magnitude = self.binary(B::And, bits, mask);
        Some(self.binary(B::Greater, magnitude, infinity))
    }

    fn shift(&mut self, op: B, ty: Scalar, x: Expr, count: Expr) -> Result<Expr, Diagnostic> {
        let count = match self.out.expressions[count] {
            Expression::Literal(Literal::I32(n)) => self.u32(n as u32 % 32),
            Expression::Literal(Literal::U32(n)) => self.u32(n % 32),
            Expression::Literal(Literal::I64(n)) => self.u32(n as u32 % 64),
            Expression::Literal(Literal::U64(n)) => self.u32(n as u32 % 64),
            _ if ty == Scalar::U32 => count,
            _ if ty == Scalar::I32 => self.bitcast(count, naga::Scalar::I32, naga::Scalar::U32),
            _ => self.convert(count, naga::Scalar::U32),
        };
        Ok(self.binary(op, x, count))
    }

    fn bits(&mut self, op: Op, ty: Scalar, x: Expr) -> Result<Expr, Diagnostic> {
        let own = types::legal_scalar(ty, self.span)?;
        let word = if own.width == 8 { naga::Scalar::U64 } else { naga::Scalar::U32 };
        let x = self.bitcast(x, own, word);
        let fun = match op {
            Op::Clz => M::CountLeadingZeros,
            Op::Ctz => M::CountTrailingZeros,
            Op::Popc => M::CountOneBits,
            Op::ReverseBits => M::ReverseBits,
            other => return Err(error::operation(self.span, other)),
        };
        let is_long = word.width == 8;
        let result = match op {
            Op::Clz | Op::Ctz if is_long => self.zeros64(x, fun),
            Op::Popc if is_long => self.ones64(x),
            Op::ReverseBits if is_long => self.reverse64(x),
            Op::Clz | Op::Ctz | Op::Popc | Op::ReverseBits => self.math(fun, &[x]),
            other => return Err(error::operation(self.span, other)),
        };
        Ok(self.bitcast(result, word, own))
    }

    /// The same number in another type. Floats to integers are in range: legalisation has seen to it.
    pub(super) fn number(&mut self, from: Scalar, to: Scalar, x: Expr) -> Result<Expr, Diagnostic> {
        let source = types::legal_scalar(from, self.span)?;
        let target = types::legal_scalar(to, self.span)?;
        if source == target {
            return Ok(x);
        }
        if to == Scalar::Bool {
            let zero = self.zero(from)?;
            let equal = self.binary(B::Equal, x, zero);
            return Ok(self.unary(U::LogicalNot, equal));
        }
        if ScalarSet::INTEGERS.has(from) && ScalarSet::INTEGERS.has(to) {
            // In two steps: the sign is copied or not by the source's kind, which naga's SPIR-V forgets in one.
            let middle = naga::Scalar { kind: source.kind, width: target.width };
            let wide = if source.width == target.width { x } else { self.convert(x, middle) };
            return Ok(self.bitcast(wide, middle, target));
        }
        Ok(self.convert(x, target))
    }

    /// The zero of a type.
    pub(super) fn zero(&mut self, ty: Scalar) -> Result<Expr, Diagnostic> {
        match types::constant(ty, 0, self.span)? {
            types::Constant::Literal(literal) => Ok(self.literal(literal)),
            types::Constant::Bits(..) | types::Constant::Narrowed(_) => {
                Err(error::internal(self.span, "zero is not finite"))
            }
        }
    }
}
