//! Short names for what passes write most: arithmetic whose type is that of its operands, with the identities folded that
//! splitting and masking would otherwise scatter everywhere.
//!
//! Invariant: nothing here changes a result; a folded operation gives one of its operands or a constant.

use girih_ir::attrs::Attr;
use girih_ir::{Builder, Inst, Op, Scalar, Type, ValueId};

/// Extends the builder; all methods write at its place.
pub(super) trait Emit {
    /// The builder.
    fn builder(&mut self) -> &mut Builder;

    /// Scalar type of a value; `u32` for what is none, which the verifier would have refused.
    fn scalar(&mut self, x: ValueId) -> Scalar {
        self.builder().ty(x).element().unwrap_or(Scalar::U32)
    }
    /// A constant of a value's type.
    fn like(&mut self, x: ValueId, bits: u64) -> ValueId {
        let ty = self.scalar(x);
        self.builder().constant(ty, bits)
    }
    /// Bits of a constant.
    fn known(&mut self, x: ValueId) -> Option<u64> {
        self.builder().function.as_constant(x)
    }
    /// An operation on operands of one type.
    fn same(&mut self, op: Op, operands: &[ValueId]) -> ValueId {
        let ty = self.builder().ty(operands[0]);
        self.builder().op(op, ty, operands)
    }

    /// Sum.
    fn add(&mut self, x: ValueId, y: ValueId) -> ValueId {
        match (self.known(x), self.known(y)) {
            (Some(0), _) if self.scalar(x).is_integer() => y,
            (_, Some(0)) if self.scalar(x).is_integer() => x,
            _ => self.same(Op::Add, &[x, y]),
        }
    }
    /// Difference.
    fn sub(&mut self, x: ValueId, y: ValueId) -> ValueId {
        if self.known(y) == Some(0) && self.scalar(x).is_integer() { x } else { self.same(Op::Sub, &[x, y]) }
    }
    /// Product.
    fn mul(&mut self, x: ValueId, y: ValueId) -> ValueId {
        match (self.known(x), self.known(y)) {
            (Some(1), _) | (_, Some(0)) if self.scalar(x).is_integer() => y,
            (_, Some(1)) | (Some(0), _) if self.scalar(x).is_integer() => x,
            _ => self.same(Op::Mul, &[x, y]),
        }
    }
    /// Bitwise and.
    fn and(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let ones = self.scalar(x).mask();
        match (self.known(x), self.known(y)) {
            (Some(a), Some(b)) => self.like(x, a & b),
            (Some(0), _) => x,
            (_, Some(0)) => y,
            (Some(a), _) if a == ones => y,
            (_, Some(b)) if b == ones => x,
            _ => self.same(Op::And, &[x, y]),
        }
    }
    /// Bitwise and with a constant.
    fn and_bits(&mut self, x: ValueId, bits: u64) -> ValueId {
        let y = self.like(x, bits);
        self.and(x, y)
    }
    /// Bitwise or.
    fn or(&mut self, x: ValueId, y: ValueId) -> ValueId {
        match (self.known(x), self.known(y)) {
            (Some(a), Some(b)) => self.like(x, a | b),
            (Some(0), _) => y,
            (_, Some(0)) => x,
            _ => self.same(Op::Or, &[x, y]),
        }
    }
    /// Bitwise exclusive or.
    fn xor(&mut self, x: ValueId, y: ValueId) -> ValueId {
        match (self.known(x), self.known(y)) {
            (Some(a), Some(b)) => self.like(x, a ^ b),
            (Some(0), _) => y,
            (_, Some(0)) => x,
            _ => self.same(Op::Xor, &[x, y]),
        }
    }
    /// Bitwise complement.
    fn not(&mut self, x: ValueId) -> ValueId {
        self.same(Op::Not, &[x])
    }
    /// Shift left by a constant below the width.
    fn shl_by(&mut self, x: ValueId, count: u32) -> ValueId {
        self.shift_by(Op::Shl, x, count)
    }
    /// Shift right by a constant below the width.
    fn shr_by(&mut self, x: ValueId, count: u32) -> ValueId {
        self.shift_by(Op::Shr, x, count)
    }
    /// A shift by a constant below the width.
    fn shift_by(&mut self, op: Op, x: ValueId, count: u32) -> ValueId {
        if count == 0 {
            return x;
        }
        let count = self.like(x, u64::from(count));
        self.same(op, &[x, count])
    }
    /// A comparison.
    fn compare(&mut self, op: Op, x: ValueId, y: ValueId) -> ValueId {
        self.same(op, &[x, y])
    }
    /// A comparison with a constant.
    fn compare_bits(&mut self, op: Op, x: ValueId, bits: u64) -> ValueId {
        let y = self.like(x, bits);
        self.same(op, &[x, y])
    }
    /// One or the other.
    fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        match self.known(condition) {
            Some(0) => no,
            Some(_) => yes,
            None if yes == no => yes,
            None => {
                let ty = self.builder().ty(yes);
                self.builder().op(Op::Select, ty, &[condition, yes, no])
            }
        }
    }
    /// 1 or 0 as a `u32`.
    fn flag(&mut self, condition: ValueId) -> ValueId {
        let (one, zero) = (self.builder().u32(1), self.builder().u32(0));
        self.select(condition, one, zero)
    }
    /// The same number in another type. Constants of integers are converted at once.
    fn convert(&mut self, to: Scalar, x: ValueId) -> ValueId {
        let from = self.scalar(x);
        if from == to {
            return x;
        }
        match self.known(x) {
            Some(bits) if from.is_integer() && to.is_integer() => {
                let bits = extend(from, bits);
                self.builder().constant(to, bits)
            }
            _ => self.builder().op(Op::Convert, to, &[x]),
        }
    }
    /// The same bits in another type of the same width.
    fn bitcast(&mut self, to: impl Into<Type>, x: ValueId) -> ValueId {
        let to = to.into();
        let from = self.builder().ty(x);
        if from == to {
            return x;
        }
        match (to, self.known(x)) {
            (Type::Scalar(to), Some(bits)) => self.builder().constant(to, bits),
            _ => self.builder().op(Op::Bitcast, to, &[x]),
        }
    }
    /// Element of a vector at a constant position.
    fn extract(&mut self, vector: ValueId, position: u32) -> ValueId {
        let ty = self.scalar(vector);
        let position = self.builder().u32(position);
        self.builder().op(Op::Extract, ty, &[vector, position])
    }
    /// All elements of a vector; a scalar is its own element.
    fn lanes(&mut self, value: ValueId) -> Vec<ValueId> {
        match self.builder().ty(value) {
            Type::Scalar(_) => vec![value],
            ty => (0..ty.lanes()).map(|i| self.extract(value, i)).collect(),
        }
    }
    /// A vector of these elements; one element is itself.
    fn vector(&mut self, elements: &[ValueId]) -> ValueId {
        if let [one] = elements {
            return *one;
        }
        let ty = Type::Vector(self.scalar(elements[0]), elements.len() as u8);
        self.builder().op(Op::Vector, ty, elements)
    }

    /// An instruction like another one, with these operands and this suffix.
    fn rewrite(&mut self, inst: &Inst, op: Op, ty: Option<Type>, operands: &[ValueId]) -> Vec<ValueId> {
        self.with_attrs(op, ty, operands, &inst.attrs)
    }
    /// An instruction with attributes, of those that its row has.
    fn with_attrs(&mut self, op: Op, ty: Option<Type>, operands: &[ValueId], attrs: &[Attr]) -> Vec<ValueId> {
        let attrs: Vec<Attr> = attrs.iter().filter(|a| op.row().attrs.contains(&a.kind())).cloned().collect();
        let id = self.builder().op_with(op, ty, operands, &attrs);
        self.builder().function.insts[id].results.to_vec()
    }
}

impl Emit for Builder {
    fn builder(&mut self) -> &mut Builder {
        self
    }
}

/// Integer bits as 64 bits of the same number.
pub(super) fn extend(ty: Scalar, bits: u64) -> u64 {
    let unused = 64 - ty.bits();
    if ty.is_signed() { ((bits << unused) as i64 >> unused) as u64 } else { bits }
}
