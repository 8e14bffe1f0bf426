//! Identities of integers and truth values: exact for every input.

use super::facts::Facts;
use super::forward::Forward;
use girih_ir::{Op, Scalar, ValueId};

impl Forward<'_> {
    /// What stands for an operation of two operands on integers or truth values.
    pub(super) fn integer(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId, nowrap: bool) -> Option<ValueId> {
        let (a, b) =
            if super::common_subexpressions::is_commutative(op) && self.bits(a).is_some() { (b, a) } else { (a, b) };
        match op {
            Op::Add => self.sum(s, a, b, nowrap),
            Op::Sub => self.difference(s, a, b, nowrap),
            Op::Mul => self.product(s, a, b, nowrap),
            Op::And => self.and(s, a, b),
            Op::Or => self.or(s, a, b),
            Op::Xor => self.xor(s, a, b),
            Op::Shl => self.shift_left(s, a, b, nowrap),
            Op::Shr => self.shift_right(s, a, b),
            Op::Min | Op::Max => self.least_or_greatest(op, s, a, b),
            Op::MulHi => (self.bits(b)? < 2 && !s.is_signed() || self.bits(b)? == 0).then(|| self.constant(s, 0)),
            _no_rule => None,
        }
    }

    /// What stands for an operation of one operand on integers or truth values.
    pub(super) fn integer_unary(&mut self, op: Op, s: Scalar, a: ValueId) -> Option<ValueId> {
        match op {
            Op::Not => self.is_unary(a, Op::Not).or_else(|| self.opposite_comparison(s, a)),
            Op::Neg => self.is_unary(a, Op::Neg),
            Op::Abs if self.facts(a).is_natural(s) => Some(a),
            Op::Abs => match self.is_unary(a, Op::Neg) {
                Some(inner) => Some(self.emit(Op::Abs, s, &[inner], false)),
                None => self.is_unary(a, Op::Abs).map(|_| a),
            },
            Op::ReverseBits => self.is_unary(a, Op::ReverseBits),
            _no_rule => None,
        }
    }

    fn sum(&mut self, s: Scalar, a: ValueId, b: ValueId, nowrap: bool) -> Option<ValueId> {
        if let Some((x, y, _)) = self.is_binary(a, Op::Sub)
            && y == b
        {
            return Some(x);
        }
        if let Some((x, y, _)) = self.is_binary(b, Op::Sub)
            && y == a
        {
            return Some(x);
        }
        let Some(c) = self.bits(b) else { return self.outwards(s, a, b, nowrap) };
        if c == 0 {
            return Some(a);
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Add)
            && let Some(d) = self.bits(inner)
        {
            let exact = nowrap && exact && !s.is_signed() && u128::from(c) + u128::from(d) <= u128::from(s.mask());
            return Some(self.plus(s, x, c.wrapping_add(d), exact));
        }
        let (x, inner, exact) = self.is_binary(a, Op::Sub)?;
        let d = self.bits(inner)?;
        Some(self.moved(s, x, c, d, nowrap && exact))
    }

    /// x + c.
    fn plus(&mut self, s: Scalar, x: ValueId, c: u64, nowrap: bool) -> ValueId {
        let c = self.constant(s, c & s.mask());
        self.emit(Op::Add, s, &[x, c], nowrap)
    }

    /// x - down + up, the exact result of which fits if `nowrap`.
    fn moved(&mut self, s: Scalar, x: ValueId, up: u64, down: u64, nowrap: bool) -> ValueId {
        if nowrap && !s.is_signed() && down > up {
            let less = self.constant(s, down - up);
            return self.emit(Op::Sub, s, &[x, less], true);
        }
        self.plus(s, x, up.wrapping_sub(down), nowrap && !s.is_signed())
    }

    /// Constants move outwards, where an access can take them: a + (x + c) is (a + x) + c.
    fn outwards(&mut self, s: Scalar, a: ValueId, b: ValueId, nowrap: bool) -> Option<ValueId> {
        for (inner, other) in [(a, b), (b, a)] {
            if let Some((x, c, exact)) = self.is_binary(inner, Op::Add)
                && let Some(c) = self.bits(c)
                && self.is_single(inner)
            {
                let exact = nowrap && exact && !s.is_signed();
                let sum = self.emit(Op::Add, s, &[x, other], exact);
                return Some(self.plus(s, sum, c, exact));
            }
        }
        None
    }

    fn difference(&mut self, s: Scalar, a: ValueId, b: ValueId, nowrap: bool) -> Option<ValueId> {
        if a == b {
            return Some(self.constant(s, 0));
        }
        if let Some((x, y, _)) = self.is_binary(a, Op::Add) {
            if x == b {
                return Some(y);
            }
            if y == b {
                return Some(x);
            }
        }
        let c = self.bits(b)?;
        if c == 0 {
            return Some(a);
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Add)
            && let Some(d) = self.bits(inner)
        {
            // What is added at least as much as is taken away: where that fits, this does, too.
            return Some(self.moved(s, x, d, c, exact && (nowrap || d >= c)));
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Sub)
            && let Some(d) = self.bits(inner)
            && let Some(less) = c.checked_add(d).filter(|less| *less <= s.mask())
        {
            let less = self.constant(s, less);
            return Some(self.emit(Op::Sub, s, &[x, less], nowrap && exact && !s.is_signed()));
        }
        // What cannot wrap stays a difference, for addresses.
        let exact = nowrap || self.facts(a).min >= c;
        (!exact).then(|| self.plus(s, a, c.wrapping_neg(), false))
    }

    fn product(&mut self, s: Scalar, a: ValueId, b: ValueId, nowrap: bool) -> Option<ValueId> {
        let c = self.bits(b)?;
        if c == 0 {
            return Some(b);
        }
        if c == 1 {
            return Some(a);
        }
        if c == s.mask() && s.is_signed() {
            return Some(self.emit(Op::Neg, s, &[a], false));
        }
        if c.is_power_of_two() && (!s.is_signed() || !nowrap) {
            let count = self.constant(s, c.trailing_zeros().into());
            return Some(self.emit(Op::Shl, s, &[a, count], nowrap));
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Mul)
            && let Some(d) = self.bits(inner)
        {
            return Some(self.times(s, x, u128::from(c) * u128::from(d), nowrap && exact));
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Shl)
            && let Some(d) = self.bits(inner)
        {
            return Some(self.times(s, x, u128::from(c) << (d & u64::from(s.bits() - 1)), nowrap && exact));
        }
        self.distributed(s, a, c, nowrap)
    }

    /// x * c for any c; the exact result fits if `nowrap`.
    fn times(&mut self, s: Scalar, x: ValueId, c: u128, nowrap: bool) -> ValueId {
        let exact = nowrap && !s.is_signed() && c <= u128::from(s.mask());
        let c = self.constant(s, c as u64 & s.mask());
        self.emit(Op::Mul, s, &[x, c], exact)
    }

    /// (x + d) * c is x * c + d * c: constants move outwards.
    fn distributed(&mut self, s: Scalar, a: ValueId, c: u64, nowrap: bool) -> Option<ValueId> {
        let (x, inner, exact) = self.is_binary(a, Op::Add)?;
        let d = self.bits(inner)?;
        if !self.is_single(a) {
            return None;
        }
        let exact = nowrap && exact && !s.is_signed() && u128::from(c) * u128::from(d) <= u128::from(s.mask());
        let product = self.times(s, x, c.into(), exact);
        Some(self.plus(s, product, c.wrapping_mul(d), exact))
    }

    fn shift_left(&mut self, s: Scalar, a: ValueId, b: ValueId, nowrap: bool) -> Option<ValueId> {
        let width = u64::from(s.bits());
        let given = self.bits(b)?;
        let count = given & (width - 1);
        if count == 0 {
            return Some(a);
        }
        if count != given {
            let b = self.constant(s, count);
            return Some(self.emit(Op::Shl, s, &[a, b], nowrap));
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Shl)
            && let Some(d) = self.bits(inner)
        {
            let sum = count + (d & (width - 1));
            if sum >= width {
                return Some(self.constant(s, 0));
            }
            let sum = self.constant(s, sum);
            return Some(self.emit(Op::Shl, s, &[x, sum], nowrap && exact));
        }
        if let Some((x, inner, _)) = self.is_binary(a, Op::Shr)
            && self.bits(inner).map(|d| d & (width - 1)) == Some(count)
        {
            let high = self.constant(s, s.mask() << count & s.mask());
            return Some(self.emit(Op::And, s, &[x, high], false));
        }
        if let Some((x, inner, exact)) = self.is_binary(a, Op::Mul)
            && let Some(d) = self.bits(inner)
        {
            return Some(self.times(s, x, u128::from(d) << count, nowrap && exact));
        }
        self.distributed_shift(s, a, count, nowrap)
    }

    fn distributed_shift(&mut self, s: Scalar, a: ValueId, count: u64, nowrap: bool) -> Option<ValueId> {
        let (x, inner, exact) = self.is_binary(a, Op::Add)?;
        let d = self.bits(inner)?;
        if !self.is_single(a) {
            return None;
        }
        let wide = u128::from(d) << count;
        let exact = nowrap && exact && !s.is_signed() && wide <= u128::from(s.mask());
        let by = self.constant(s, count);
        let shifted = self.emit(Op::Shl, s, &[x, by], exact);
        Some(self.plus(s, shifted, wide as u64, exact))
    }

    fn shift_right(&mut self, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        let width = u64::from(s.bits());
        let given = self.bits(b)?;
        let count = given & (width - 1);
        if count == 0 {
            return Some(a);
        }
        if count != given {
            let b = self.constant(s, count);
            return Some(self.emit(Op::Shr, s, &[a, b], false));
        }
        if let Some((x, inner, _)) = self.is_binary(a, Op::Shr)
            && let Some(d) = self.bits(inner)
        {
            let sum = count + (d & (width - 1));
            if sum >= width && !s.is_signed() {
                return Some(self.constant(s, 0));
            }
            let sum = self.constant(s, sum.min(width - 1));
            return Some(self.emit(Op::Shr, s, &[x, sum], false));
        }
        let (x, inner, exact) = self.is_binary(a, Op::Shl)?;
        let up = self.bits(inner)? & (width - 1);
        if s.is_signed() {
            return None;
        }
        if exact && up != count {
            let by = self.constant(s, up.abs_diff(count));
            let op = if up > count { Op::Shl } else { Op::Shr };
            return Some(self.emit(op, s, &[x, by], up > count));
        }
        if up != count {
            return None;
        }
        if exact || self.facts(x).max <= s.mask() >> count {
            return Some(x);
        }
        let low = self.constant(s, s.mask() >> count);
        Some(self.emit(Op::And, s, &[x, low], false))
    }

    fn and(&mut self, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        let (fa, fb) = (self.facts(a), self.facts(b));
        // All that the other could take away is away already.
        if a == b || !fa.zeros & !fb.ones & s.mask() == 0 {
            return Some(a);
        }
        if !fb.zeros & !fa.ones & s.mask() == 0 {
            return Some(b);
        }
        if self.is_unary(a, Op::Not) == Some(b) || self.is_unary(b, Op::Not) == Some(a) {
            return Some(self.constant(s, 0));
        }
        let c = self.bits(b)?;
        let (x, inner, _) = self.is_binary(a, Op::And)?;
        let d = self.bits(inner)?;
        let both = self.constant(s, c & d);
        Some(self.emit(Op::And, s, &[x, both], false))
    }

    fn or(&mut self, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        let (fa, fb) = (self.facts(a), self.facts(b));
        // All that the other could add is there already.
        if a == b || !fb.zeros & !fa.ones & s.mask() == 0 {
            return Some(a);
        }
        if !fa.zeros & !fb.ones & s.mask() == 0 {
            return Some(b);
        }
        if self.is_unary(a, Op::Not) == Some(b) || self.is_unary(b, Op::Not) == Some(a) {
            return Some(self.constant(s, s.mask()));
        }
        let c = self.bits(b)?;
        let (x, inner, _) = self.is_binary(a, Op::Or)?;
        let d = self.bits(inner)?;
        let both = self.constant(s, c | d);
        Some(self.emit(Op::Or, s, &[x, both], false))
    }

    fn xor(&mut self, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        if a == b {
            return Some(self.constant(s, 0));
        }
        if let Some((x, y, _)) = self.is_binary(a, Op::Xor) {
            if x == b {
                return Some(y);
            }
            if y == b {
                return Some(x);
            }
        }
        let c = self.bits(b)?;
        if c == 0 {
            return Some(a);
        }
        if c == s.mask() {
            return Some(self.emit(Op::Not, s, &[a], false));
        }
        let (x, inner, _) = self.is_binary(a, Op::Xor)?;
        let d = self.bits(inner)?;
        let both = self.constant(s, c ^ d);
        Some(self.emit(Op::Xor, s, &[x, both], false))
    }

    fn least_or_greatest(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        if a == b {
            return Some(a);
        }
        let range = |f: Facts| match s.is_signed() {
            true => (i128::from(f.signed(s).0), i128::from(f.signed(s).1)),
            false => (i128::from(f.min), i128::from(f.max)),
        };
        let ((a0, a1), (b0, b1)) = (range(self.facts(a)), range(self.facts(b)));
        let first = op == Op::Min;
        if a1 <= b0 {
            return Some(if first { a } else { b });
        }
        if b1 <= a0 {
            return Some(if first { b } else { a });
        }
        let c = self.bits(b)?;
        let (x, inner, _) = self.is_binary(a, op)?;
        let d = self.bits(inner)?;
        let both = girih_ir::eval::scalar(op, s, s, &[c, d])?;
        let both = self.constant(s, both);
        Some(self.emit(op, s, &[x, both], false))
    }

    /// a * b + c on integers.
    pub(super) fn multiply_add(&mut self, s: Scalar, operands: [ValueId; 3], nowrap: bool) -> Option<ValueId> {
        let [a, b, c] = operands;
        let (a, b) = if self.bits(a).is_some() { (b, a) } else { (a, b) };
        let exact = nowrap && !s.is_signed();
        if let (Some(x), Some(y)) = (self.bits(a), self.bits(b)) {
            let fits = u128::from(x) * u128::from(y) <= u128::from(s.mask());
            return Some(self.plus(s, c, x.wrapping_mul(y), exact && fits));
        }
        match self.bits(b) {
            Some(0) => return Some(c),
            Some(1) => return Some(self.emit(Op::Add, s, &[a, c], nowrap)),
            Some(_) | None => {}
        }
        if let Some(k) = self.bits(c) {
            let product = self.emit(Op::Mul, s, &[a, b], exact);
            return Some(self.plus(s, product, k, exact));
        }
        if let Some((x, k, inner)) = self.is_binary(c, Op::Add)
            && let Some(k) = self.bits(k)
            && self.is_single(c)
        {
            let exact = exact && inner;
            let sum = self.emit(Op::Mad, s, &[a, b, x], exact);
            return Some(self.plus(s, sum, k, exact));
        }
        let times = self.bits(b)?;
        let (x, k, inner) = self.is_binary(a, Op::Add)?;
        let k = self.bits(k)?;
        if !self.is_single(a) {
            return None;
        }
        let exact = exact && inner && u128::from(k) * u128::from(times) <= u128::from(s.mask());
        let sum = self.emit(Op::Mad, s, &[x, b, c], exact);
        Some(self.plus(s, sum, k.wrapping_mul(times), exact))
    }
}
