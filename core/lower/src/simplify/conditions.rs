//! Identities of comparisons, selections and conversions.

use super::facts;
use super::forward::Forward;
use super::inference::mirrored;
use girih_ir::{Op, Scalar, Type, ValueId};

impl Forward<'_> {
    /// What stands for a comparison on integers or truth values.
    pub(super) fn comparison(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        if a == b {
            return Some(self.constant(Scalar::Bool, matches!(op, Op::Eq | Op::Le | Op::Ge).into()));
        }
        if self.bits(a).is_some() && self.bits(b).is_none() {
            return Some(self.emit(mirrored(op), s, &[b, a], false));
        }
        let c = self.bits(b)?;
        if s == Scalar::Bool {
            let same = (op == Op::Eq) == (c == 1);
            return Some(if same { a } else { self.emit(Op::Not, Scalar::Bool, &[a], false) });
        }
        if !matches!(op, Op::Eq | Op::Ne) {
            return self.against_the_edge(op, s, a, c);
        }
        self.equality(op, s, a, c)
    }

    /// x == c or x != c, where x was computed from something that can be compared itself.
    fn equality(&mut self, op: Op, s: Scalar, a: ValueId, c: u64) -> Option<ValueId> {
        if let Some((x, inner, _)) = self.is_binary(a, Op::Add).or_else(|| self.is_binary(a, Op::Xor))
            && let Some(d) = self.bits(inner)
        {
            let is_sum = self.def(a).is_some_and(|inst| inst.op == Op::Add);
            let other = if is_sum { c.wrapping_sub(d) & s.mask() } else { c ^ d };
            let other = self.constant(s, other);
            return Some(self.emit(op, s, &[x, other], false));
        }
        if c == 0
            && let Some((x, y, _)) = self.is_binary(a, Op::Xor).or_else(|| self.is_binary(a, Op::Sub))
        {
            return Some(self.emit(op, s, &[x, y], false));
        }
        // A condition that was made a number.
        let inst = self.def(a)?;
        let &[condition, yes, no] = &inst.operands[..] else { return self.number_of_condition(op, a, c) };
        if inst.op != Op::Select {
            return None;
        }
        let holds = |bits: u64| (bits == c) == (op == Op::Eq);
        let (yes, no) = (holds(self.bits(yes)?), holds(self.bits(no)?));
        Some(match (yes, no) {
            (true, false) => condition,
            (false, true) => self.emit(Op::Not, Scalar::Bool, &[condition], false),
            (same, _) => self.constant(Scalar::Bool, same.into()),
        })
    }

    fn number_of_condition(&mut self, op: Op, a: ValueId, c: u64) -> Option<ValueId> {
        let condition = self.is_unary(a, Op::Convert)?;
        if self.scalar(condition) != Some(Scalar::Bool) || c > 1 {
            return None;
        }
        let same = (op == Op::Eq) == (c == 1);
        Some(if same { condition } else { self.emit(Op::Not, Scalar::Bool, &[condition], false) })
    }

    /// x < 1 is x == 0, and the like, for unsigned numbers.
    fn against_the_edge(&mut self, op: Op, s: Scalar, a: ValueId, c: u64) -> Option<ValueId> {
        if s.is_signed() || !s.is_integer() {
            return None;
        }
        let zero = |walk: &mut Self, op| {
            let zero = walk.constant(s, 0);
            Some(walk.emit(op, s, &[a, zero], false))
        };
        match (op, c) {
            (Op::Lt, 1) | (Op::Le, 0) => zero(self, Op::Eq),
            (Op::Ge, 1) | (Op::Gt, 0) => zero(self, Op::Ne),
            _no_rule => None,
        }
    }

    /// `not` of a comparison of integers is the opposite comparison; of floats only that of equality is.
    pub(super) fn opposite_comparison(&mut self, s: Scalar, a: ValueId) -> Option<ValueId> {
        if s != Scalar::Bool || !self.is_single(a) {
            return None;
        }
        let inst = self.def(a)?;
        let (op, ty) = (facts::opposite(inst.op)?, inst.ty?);
        let &[x, y] = &inst.operands[..] else { return None };
        let exact = ty.element().is_some_and(|s| !s.is_float()) || matches!(op, Op::Eq | Op::Ne);
        exact.then(|| self.emit(op, ty, &[x, y], false))
    }

    /// What stands for `select condition, a, b`.
    pub(super) fn selection(&mut self, ty: Type, condition: ValueId, a: ValueId, b: ValueId) -> Option<ValueId> {
        if a == b {
            return Some(a);
        }
        if let Some(bits) = self.bits(condition) {
            return Some(if bits != 0 { a } else { b });
        }
        if let Some(negated) = self.is_unary(condition, Op::Not) {
            return Some(self.emit(Op::Select, ty, &[negated, b, a], false));
        }
        if ty == Type::BOOL {
            return self.logical(condition, a, b);
        }
        // A choice within a choice of the same condition.
        let inner = |value: ValueId, position: usize| {
            let inst = self.def(value).filter(|inst| inst.op == Op::Select && inst.operands[0] == condition)?;
            Some(inst.operands[position])
        };
        let (x, y) = (inner(a, 1), inner(b, 2));
        if x.is_some() || y.is_some() {
            return Some(self.emit(Op::Select, ty, &[condition, x.unwrap_or(a), y.unwrap_or(b)], false));
        }
        None
    }

    fn logical(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> Option<ValueId> {
        let not = |walk: &mut Self| walk.emit(Op::Not, Scalar::Bool, &[condition], false);
        let found = match (self.bits(a), self.bits(b)) {
            (Some(1), Some(_)) => condition,
            (Some(_), Some(_)) => not(self),
            (Some(1), None) => self.emit(Op::Or, Scalar::Bool, &[condition, b], false),
            (Some(_), None) => {
                let not = not(self);
                self.emit(Op::And, Scalar::Bool, &[not, b], false)
            }
            (None, Some(0)) => self.emit(Op::And, Scalar::Bool, &[condition, a], false),
            (None, Some(_)) => {
                let not = not(self);
                self.emit(Op::Or, Scalar::Bool, &[not, a], false)
            }
            (None, None) => return None,
        };
        Some(found)
    }

    /// What stands for `convert` of a scalar to another type.
    pub(super) fn conversion(&mut self, to: Scalar, a: ValueId) -> Option<ValueId> {
        let from = self.scalar(a)?;
        if from == to {
            return Some(a);
        }
        if !to.is_integer() || !from.is_integer() {
            return None;
        }
        if let Some(original) = self.is_unary(a, Op::Convert)
            && let Some(first) = self.scalar(original).filter(|s| s.is_integer())
            // The low bits come from the original, whatever the type between them adds above.
            && (to.bits() <= from.bits() || first.bits() < from.bits() && (!first.is_signed() || from.is_signed()))
        {
            return Some(self.emit(Op::Convert, to, &[original], false));
        }
        self.widened_sum(from, to, a)
    }

    /// The constant part of a sum that does not wrap goes outwards through a widening, where an access can take it.
    fn widened_sum(&mut self, from: Scalar, to: Scalar, a: ValueId) -> Option<ValueId> {
        let (x, c, exact) = self.is_binary(a, Op::Add)?;
        let c = self.bits(c)?;
        if !exact || from.is_signed() || to.bits() <= from.bits() || !self.is_single(a) {
            return None;
        }
        let wide = self.emit(Op::Convert, to, &[x], false);
        let c = self.constant(to, c);
        Some(self.emit(Op::Add, to, &[wide, c], !to.is_signed()))
    }
}
