//! Communication in a subgroup.
//!
//! Shading languages have it for 32 bits. Wider and shorter values cross lanes as words; what has no native reduction or scan is
//! made of shuffles, in as many steps as the lane's number has bits.

use super::error;
use super::positions::Position;
use super::types;
use super::writer::{Expr, ShaderWriter};
use girih_base::diag::Diagnostic;
use girih_ir::{Inst, Op, Scalar};
use naga::{
    BinaryOperator as B, CollectiveOperation as C, Expression, GatherMode, MathFunction as M, Statement,
    SubgroupOperation as S,
};

/// A reduction or scan of the IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Collective {
    kind: C,
    fold: S,
}

const COLLECTIVES: [(Op, C, S); 13] = [
    (Op::SubgroupAdd, C::Reduce, S::Add),
    (Op::SubgroupMul, C::Reduce, S::Mul),
    (Op::SubgroupMin, C::Reduce, S::Min),
    (Op::SubgroupMax, C::Reduce, S::Max),
    (Op::SubgroupAnd, C::Reduce, S::And),
    (Op::SubgroupOr, C::Reduce, S::Or),
    (Op::SubgroupXor, C::Reduce, S::Xor),
    (Op::InclusiveAdd, C::InclusiveScan, S::Add),
    (Op::ExclusiveAdd, C::ExclusiveScan, S::Add),
    (Op::InclusiveMul, C::InclusiveScan, S::Mul),
    (Op::ExclusiveMul, C::ExclusiveScan, S::Mul),
    (Op::InclusiveMin, C::InclusiveScan, S::Min),
    (Op::InclusiveMax, C::InclusiveScan, S::Max),
];

fn collective(op: Op) -> Option<Collective> {
    COLLECTIVES.iter().find(|(o, ..)| *o == op).map(|(_, kind, fold)| Collective { kind: *kind, fold: *fold })
}

/// Whether shading languages have the collective operation for a scalar. `min` and `max` of floats are not: of a NaN they may
/// make anything.
fn is_native(c: Collective, scalar: Scalar) -> bool {
    let scanned = matches!(c.fold, S::Add | S::Mul);
    let bitwise = matches!(c.fold, S::And | S::Or | S::Xor);
    match scalar {
        Scalar::I32 | Scalar::U32 => c.kind == C::Reduce || scanned,
        Scalar::F32 => !bitwise && (c.kind == C::Reduce || scanned),
        _ => false,
    }
}

/// Whether an instruction is made of shuffles and so needs the lane's number and the subgroup's size.
pub fn is_composed(inst: &Inst) -> bool {
    inst.op == Op::Elect || collective(inst.op).is_some_and(|c| !is_native(c, inst.element()))
}

impl ShaderWriter<'_, '_> {
    pub(super) fn subgroup(&mut self, inst: &Inst) -> Result<(), Diagnostic> {
        if let Some(c) = collective(inst.op) {
            let x = self.one(inst.operands[0])?;
            let result = if is_native(c, inst.element()) {
                let scalar = types::legal_scalar(inst.element(), inst.span)?;
                self.native_collective(c, scalar, x)
            } else {
                self.composed(c, inst.element(), x)?
            };
            self.define(inst.results[0], vec![result]);
            return Ok(());
        }
        match inst.op {
            Op::Ballot => {
                let predicate = self.one(inst.operands[0])?;
                let ballot = self.ballot(predicate);
                let words = (0..4).map(|index| self.add(Expression::AccessIndex { base: ballot, index })).collect();
                self.define(inst.results[0], words);
            }
            Op::Any | Op::All => {
                let x = self.one(inst.operands[0])?;
                let fold = if inst.op == Op::Any { S::Any } else { S::All };
                let result = self.native_collective(Collective { kind: C::Reduce, fold }, naga::Scalar::BOOL, x);
                self.define(inst.results[0], vec![result]);
            }
            Op::Elect => {
                let lane = self.position(Position::Lane)?;
                let first = self.gather_word(GatherMode::BroadcastFirst, lane, naga::Scalar::U32);
                let chosen = self.binary(B::Equal, lane, first);
                self.define(inst.results[0], vec![chosen]);
            }
            Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown | Op::Broadcast => {
                let lane = self.one(inst.operands[1])?;
                let mode = match inst.op {
                    Op::ShuffleXor => GatherMode::ShuffleXor(lane),
                    Op::ShuffleUp => GatherMode::ShuffleUp(lane),
                    Op::ShuffleDown => GatherMode::ShuffleDown(lane),
                    // A native broadcast takes constants alone, and a shuffle from one lane is the same.
                    Op::Shuffle | Op::Broadcast => GatherMode::Shuffle(lane),
                    other => return Err(error::operation(inst.span, other)),
                };
                let mut parts = vec![];
                for part in self.parts(inst.operands[0])? {
                    parts.push(self.gather(mode, part, inst.element())?);
                }
                self.define(inst.results[0], parts);
            }
            other => return Err(error::operation(inst.span, other)),
        }
        Ok(())
    }

    fn native_collective(&mut self, c: Collective, scalar: naga::Scalar, argument: Expr) -> Expr {
        let ty = self.scalar_type(scalar);
        let Collective { kind: collective_op, fold: op } = c;
        let statement = |result| Statement::SubgroupCollectiveOperation { op, collective_op, argument, result };
        self.result_of(Expression::SubgroupOperationResult { ty }, statement)
    }

    fn ballot(&mut self, predicate: Expr) -> Expr {
        // The type of the result is known to naga's type resolution alone, but has to stand in the module.
        let types = &mut self.context.out.types;
        types::lanes_type(types, naga::Scalar::U32, 4);
        let statement = |result| Statement::SubgroupBallot { result, predicate: Some(predicate) };
        self.result_of(Expression::SubgroupBallotResult, statement)
    }

    fn gather_word(&mut self, mode: GatherMode, argument: Expr, scalar: naga::Scalar) -> Expr {
        let ty = self.scalar_type(scalar);
        let statement = |result| Statement::SubgroupGather { mode, argument, result };
        self.result_of(Expression::SubgroupOperationResult { ty }, statement)
    }

    /// The value of another lane.
    fn gather(&mut self, mode: GatherMode, x: Expr, scalar: Scalar) -> Result<Expr, Diagnostic> {
        let own = types::legal_scalar(scalar, self.span)?;
        Ok(match scalar {
            Scalar::I32 | Scalar::U32 | Scalar::F32 => self.gather_word(mode, x, own),
            Scalar::Bool => {
                let word = self.convert(x, naga::Scalar::U32);
                let word = self.gather_word(mode, word, naga::Scalar::U32);
                let zero = self.u32(0);
                self.binary(B::NotEqual, word, zero)
            }
            Scalar::F16 => {
                let wide = self.convert(x, naga::Scalar::F32);
                let wide = self.gather_word(mode, wide, naga::Scalar::F32);
                self.convert(wide, own)
            }
            _ => {
                let bits = self.bitcast(x, own, naga::Scalar::U64);
                let (low, high) = self.split(bits);
                let low = self.gather_word(mode, low, naga::Scalar::U32);
                let high = self.gather_word(mode, high, naga::Scalar::U32);
                let bits = self.join(low, high);
                self.bitcast(bits, naga::Scalar::U64, own)
            }
        })
    }

    /// A scan by shuffles; a reduction is the scan's value in the last lane.
    fn composed(&mut self, c: Collective, scalar: Scalar, x: Expr) -> Result<Expr, Diagnostic> {
        let inclusive = self.inclusive(c.fold, scalar, x)?;
        match c.kind {
            C::InclusiveScan => Ok(inclusive),
            C::ExclusiveScan => {
                let one = self.u32(1);
                let below = self.gather(GatherMode::ShuffleUp(one), inclusive, scalar)?;
                let lane = self.position(Position::Lane)?;
                let zero = self.u32(0);
                let first = self.binary(B::Equal, lane, zero);
                let neutral = self.number(Scalar::U32, scalar, if c.fold == S::Mul { one } else { zero })?;
                Ok(self.select(first, neutral, below))
            }
            C::Reduce => {
                let last = self.last_lane()?;
                self.gather(GatherMode::Shuffle(last), inclusive, scalar)
            }
        }
    }

    fn inclusive(&mut self, fold: S, scalar: Scalar, x: Expr) -> Result<Expr, Diagnostic> {
        let ty = types::legal_scalar(scalar, self.span)?;
        let (ty, word) = (self.scalar_type(ty), self.scalar_type(naga::Scalar::U32));
        let sum = self.local(Some("scan".into()), ty, None);
        let distance = self.local(Some("distance".into()), word, None);
        self.store(sum, x);
        let one = self.u32(1);
        self.store(distance, one);
        let (lane, size) = (self.position(Position::Lane)?, self.position(Position::SubgroupSize)?);
        let body = self.block(|w| {
            let far = w.load(distance);
            let done = w.binary(B::GreaterEqual, far, size);
            w.break_if(done)?;
            let own = w.load(sum);
            let other = w.gather(GatherMode::ShuffleUp(far), own, scalar)?;
            let both = w.fold(fold, scalar, other, own)?;
            let exists = w.binary(B::GreaterEqual, lane, far);
            let next = w.select(exists, both, own);
            let twice = w.binary(B::Add, far, far);
            w.store(sum, next);
            w.store(distance, twice);
            Ok(())
        })?;
        self.repeat(body);
        Ok(self.load(sum))
    }

    fn fold(&mut self, fold: S, scalar: Scalar, a: Expr, b: Expr) -> Result<Expr, Diagnostic> {
        Ok(match fold {
            S::Add => self.binary(B::Add, a, b),
            S::Mul => self.binary(B::Multiply, a, b),
            S::Min => self.extreme(true, scalar, a, b)?,
            S::Max => self.extreme(false, scalar, a, b)?,
            S::And => self.binary(B::And, a, b),
            S::Or => self.binary(B::InclusiveOr, a, b),
            S::Xor => self.binary(B::ExclusiveOr, a, b),
            S::Any | S::All => return Err(error::internal(self.span, "a vote is no fold")),
        })
    }

    /// The highest lane that takes part.
    fn last_lane(&mut self) -> Result<Expr, Diagnostic> {
        let yes = self.literal(naga::Literal::Bool(true));
        let ballot = self.ballot(yes);
        let zero = self.u32(0);
        let mut last = zero;
        for index in 0..4 {
            let word = self.add(Expression::AccessIndex { base: ballot, index });
            let some = self.binary(B::NotEqual, word, zero);
            let leading = self.math(M::CountLeadingZeros, &[word]);
            let highest = self.u32(32 * index + 31);
            let here = self.binary(B::Subtract, highest, leading);
            last = self.select(some, here, last);
        }
        Ok(last)
    }
}
