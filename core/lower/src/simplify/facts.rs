//! What is known about the bits of a value: bits that are certainly zero or one, and a range.
//!
//! Facts are about the value's bits seen as an unsigned number, whatever its signedness, zero above the type's width. They always
//! hold for every value that the program can produce; an operation marked `nowrap` is believed.

use girih_ir::{Op, Scalar};

/// What is known of an integer's or a truth value's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Bits that are certainly 0.
    pub(super) zeros: u64,
    /// Bits that are certainly 1.
    pub(super) ones: u64,
    /// Least value.
    pub(super) min: u64,
    /// Greatest value.
    pub(super) max: u64,
}

impl Facts {
    /// Nothing but the type's width.
    pub(super) fn unknown(scalar: Scalar) -> Facts {
        Facts { zeros: !scalar.mask(), ones: 0, min: 0, max: scalar.mask() }
    }
    /// A single value.
    pub(super) fn exactly(bits: u64) -> Facts {
        Facts { zeros: !bits, ones: bits, min: bits, max: bits }
    }
    /// A range.
    pub(super) fn between(min: u64, max: u64, scalar: Scalar) -> Facts {
        Facts { min, max, ..Facts::unknown(scalar) }.tightened()
    }
    /// Multiples of a power of two.
    pub(super) fn multiple(zeros: u32, scalar: Scalar) -> Facts {
        let low = (1u64 << zeros.min(scalar.bits() - 1)) - 1;
        Facts { zeros: !scalar.mask() | low, ones: 0, min: 0, max: scalar.mask() & !low }
    }

    /// The only value, if there is one.
    pub(super) fn constant(self) -> Option<u64> {
        (self.min == self.max).then_some(self.min)
    }
    /// How many low bits are certainly zero.
    pub(super) fn trailing_zeros(self) -> u32 {
        self.zeros.trailing_ones()
    }
    /// The range seen as signed numbers of a type.
    pub(super) fn signed(self, scalar: Scalar) -> (i64, i64) {
        let sign = 1u64 << (scalar.bits() - 1);
        let extend = |bits: u64| ((bits ^ sign).wrapping_sub(sign)) as i64;
        if self.max < sign || self.min >= sign {
            (extend(self.min), extend(self.max))
        } else {
            (extend(sign), extend(sign - 1))
        }
    }
    /// Whether it is certainly not negative, seen as a signed number.
    pub(super) fn is_natural(self, scalar: Scalar) -> bool {
        self.max >> (scalar.bits() - 1) == 0
    }

    /// What holds if one of both does.
    pub(super) fn or(self, other: Facts) -> Facts {
        Facts {
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
    /// What holds if both do. Facts that contradict each other belong to code that is never reached: the first stay.
    pub(super) fn and(self, other: Facts) -> Facts {
        let both = Facts {
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
            min: self.min.max(other.min),
            max: self.max.min(other.max),
        };
        if both.zeros & both.ones != 0 || both.min > both.max { self } else { both.tightened() }
    }

    /// Lets bits and range learn from each other.
    fn tightened(mut self) -> Facts {
        self.max = self.max.min(!self.zeros);
        self.min = self.min.max(self.ones);
        if self.min > self.max {
            return self;
        }
        let same = !(u64::MAX.checked_shr((self.min ^ self.max).leading_zeros()).unwrap_or(0));
        self.ones |= self.min & same;
        self.zeros |= !self.min & same;
        self
    }

    fn bits(zeros: u64, ones: u64, scalar: Scalar) -> Facts {
        Facts { zeros: zeros | !scalar.mask(), ones, min: 0, max: scalar.mask() }.tightened()
    }
}

/// What follows for the result of an operation on scalars of type `s` (the suffix), where `source` is the operand's type for
/// conversions. Operations that say nothing give `None`.
pub(super) fn transfer(op: Op, s: Scalar, source: Scalar, operands: &[Facts], nowrap: bool) -> Option<Facts> {
    let facts = match (op, operands) {
        (Op::And, [a, b]) => {
            Facts { max: a.max.min(b.max), ..Facts::bits(a.zeros | b.zeros, a.ones & b.ones, s) }.tightened()
        }
        (Op::Or, [a, b]) => {
            Facts { min: a.min.max(b.min), ..Facts::bits(a.zeros & b.zeros, a.ones | b.ones, s) }.tightened()
        }
        (Op::Xor, [a, b]) => {
            let ones = a.ones & b.zeros | a.zeros & b.ones;
            Facts::bits(a.zeros & b.zeros | a.ones & b.ones, ones & s.mask(), s)
        }
        (Op::Not, [a]) => Facts::bits(a.ones, a.zeros & s.mask(), s),
        (Op::Add, [a, b]) => sum(s, *a, *b, nowrap),
        (Op::Sub, [a, b]) => difference(s, *a, *b, nowrap),
        (Op::Mul, [a, b]) => product(s, *a, *b, nowrap),
        (Op::Mad, [a, b, c]) => sum(s, product(s, *a, *b, nowrap), *c, nowrap),
        (Op::MulHi, [a, b]) if !s.is_signed() => {
            let high = |x: u64, y: u64| ((u128::from(x) * u128::from(y)) >> s.bits()) as u64;
            Facts::between(high(a.min, b.min), high(a.max, b.max), s)
        }
        (Op::Div, [a, b]) if unsigned(s, a, b) && b.min > 0 => Facts::between(a.min / b.max, a.max / b.min, s),
        // A quotient by zero is the dividend.
        (Op::Div, [a, b]) if unsigned(s, a, b) => Facts::between(a.min.min(a.min / b.max.max(1)), a.max, s),
        (Op::Rem, [a, b]) if unsigned(s, a, b) => Facts::between(0, a.max.min(b.max.saturating_sub(1)), s),
        (Op::Shl, [a, b]) => shifted_left(s, *a, b.constant()? & u64::from(s.bits() - 1)),
        (Op::Shr, [a, b]) if !s.is_signed() || a.is_natural(s) => shifted_right(s, *a, *b),
        (Op::Min, [a, b]) if unsigned(s, a, b) => Facts::between(a.min.min(b.min), a.max.min(b.max), s).and(a.or(*b)),
        (Op::Max, [a, b]) if unsigned(s, a, b) => Facts::between(a.min.max(b.min), a.max.max(b.max), s).and(a.or(*b)),
        (Op::Abs, [a]) if s.is_signed() && a.is_natural(s) => *a,
        (Op::Select, [_, a, b]) => a.or(*b),
        (Op::Clz, [a]) => {
            let above = 64 - s.bits();
            Facts::between(u64::from(a.max.leading_zeros() - above), u64::from(a.min.leading_zeros() - above), s)
        }
        (Op::Ctz, [a]) => Facts::between(u64::from(a.trailing_zeros().min(s.bits())), u64::from(s.bits()), s),
        (Op::Popc, [a]) => {
            Facts::between(u64::from(a.ones.count_ones()), u64::from((!a.zeros & s.mask()).count_ones()), s)
        }
        (Op::Convert, [a]) => converted(s, source, *a)?,
        (Op::Bitcast, [a]) if (s.is_integer()) && source.is_integer() => *a,
        _no_rule => return None,
    };
    Some(facts)
}

fn unsigned(s: Scalar, a: &Facts, b: &Facts) -> bool {
    s.is_integer() && (!s.is_signed() || a.is_natural(s) && b.is_natural(s))
}

/// Low bits that are zero in both stay zero; the range holds if nothing wraps.
fn sum(s: Scalar, a: Facts, b: Facts, nowrap: bool) -> Facts {
    let low = Facts::multiple(a.trailing_zeros().min(b.trailing_zeros()), s);
    let (min, max) = (u128::from(a.min) + u128::from(b.min), u128::from(a.max) + u128::from(b.max));
    let mask = u128::from(s.mask());
    if max <= mask {
        low.and(Facts::between(min as u64, max as u64, s))
    } else if nowrap && !s.is_signed() && min <= mask {
        low.and(Facts::between(min as u64, s.mask(), s))
    } else {
        low
    }
}

fn difference(s: Scalar, a: Facts, b: Facts, nowrap: bool) -> Facts {
    let low = Facts::multiple(a.trailing_zeros().min(b.trailing_zeros()), s);
    if a.min >= b.max {
        low.and(Facts::between(a.min - b.max, a.max - b.min, s))
    } else if nowrap && !s.is_signed() && a.max >= b.min {
        low.and(Facts::between(0, a.max - b.min, s))
    } else {
        low
    }
}

fn product(s: Scalar, a: Facts, b: Facts, nowrap: bool) -> Facts {
    let low = Facts::multiple(a.trailing_zeros() + b.trailing_zeros().min(s.bits()), s);
    let (min, max) = (u128::from(a.min) * u128::from(b.min), u128::from(a.max) * u128::from(b.max));
    let mask = u128::from(s.mask());
    if max <= mask {
        low.and(Facts::between(min as u64, max as u64, s))
    } else if nowrap && !s.is_signed() && min <= mask {
        low.and(Facts::between(min as u64, s.mask(), s))
    } else {
        low
    }
}

fn shifted_left(s: Scalar, a: Facts, count: u64) -> Facts {
    let zeros = a.zeros << count | ((1 << count) - 1);
    let bits = Facts::bits(zeros, (a.ones << count) & s.mask(), s);
    if u128::from(a.max) << count <= u128::from(s.mask()) {
        bits.and(Facts::between(a.min << count, a.max << count, s))
    } else {
        bits
    }
}

fn shifted_right(s: Scalar, a: Facts, count: Facts) -> Facts {
    match count.constant() {
        Some(count) => {
            let count = count & u64::from(s.bits() - 1);
            let above = !(s.mask() >> count);
            Facts::bits(a.zeros >> count | above, a.ones >> count, s).and(Facts::between(
                a.min >> count,
                a.max >> count,
                s,
            ))
        }
        None => Facts::between(0, a.max, s),
    }
}

fn converted(to: Scalar, from: Scalar, a: Facts) -> Option<Facts> {
    let fits = a.max <= to.mask();
    if !from.is_integer() && from != Scalar::Bool {
        return None;
    }
    if to == Scalar::Bool {
        return Some(if a.min > 0 { Facts::exactly(1) } else { Facts::unknown(to) });
    }
    if !to.is_integer() {
        return None;
    }
    if from.is_signed() && to.bits() > from.bits() && !a.is_natural(from) {
        // Copies of the sign come in above.
        return Some(Facts::multiple(a.trailing_zeros().min(from.bits() - 1), to));
    }
    Some(if fits { a } else { Facts::bits(a.zeros & to.mask(), a.ones & to.mask(), to) })
}

/// What a comparison gives, if the facts decide it.
pub(super) fn compare(op: Op, s: Scalar, a: Facts, b: Facts) -> Option<bool> {
    if !s.is_integer() && s != Scalar::Bool {
        return None;
    }
    let ((a0, a1), (b0, b1)) = if s.is_signed() {
        let wide = |(min, max): (i64, i64)| (i128::from(min), i128::from(max));
        (wide(a.signed(s)), wide(b.signed(s)))
    } else {
        ((i128::from(a.min), i128::from(a.max)), (i128::from(b.min), i128::from(b.max)))
    };
    let different = a1 < b0 || b1 < a0 || a.ones & b.zeros != 0 || a.zeros & b.ones != 0;
    let equal = a0 == a1 && b0 == b1 && a0 == b0;
    let decided = |yes: bool, no: bool| {
        if yes {
            Some(true)
        } else if no {
            Some(false)
        } else {
            None
        }
    };
    if op == Op::Eq {
        decided(equal, different)
    } else if op == Op::Ne {
        decided(different, equal)
    } else if op == Op::Lt {
        decided(a1 < b0, a0 >= b1)
    } else if op == Op::Le {
        decided(a1 <= b0, a0 > b1)
    } else if op == Op::Gt {
        decided(a0 > b1, a1 <= b0)
    } else if op == Op::Ge {
        decided(a0 >= b1, a1 < b0)
    } else {
        None
    }
}

/// What `a` and `b` are known to be where `a op b` holds (unsigned, or both not negative).
pub(super) fn where_true(op: Op, s: Scalar, a: Facts, b: Facts) -> (Facts, Facts) {
    if !unsigned(s, &a, &b) {
        return if op == Op::Eq && (s.is_integer() || s == Scalar::Bool) { (a.and(b), b.and(a)) } else { (a, b) };
    }
    let below = |max: u64| Facts::between(0, max, s);
    let from = |min: u64| Facts::between(min, s.mask(), s);
    let one_less = |x: u64| x.saturating_sub(1);
    let one_more = |x: u64| x.saturating_add(1).min(s.mask());
    if op == Op::Eq {
        (a.and(b), b.and(a))
    } else if op == Op::Lt {
        (a.and(below(one_less(b.max))), b.and(from(one_more(a.min))))
    } else if op == Op::Le {
        (a.and(below(b.max)), b.and(from(a.min)))
    } else if op == Op::Gt {
        (a.and(from(one_more(b.min))), b.and(below(one_less(a.max))))
    } else if op == Op::Ge {
        (a.and(from(b.min)), b.and(below(a.max)))
    } else if op == Op::Ne {
        let without = |a: Facts, b: Facts| match b.constant() {
            Some(c) if c == a.min && a.min < a.max => a.and(from(a.min + 1)),
            Some(c) if c == a.max && a.min < a.max => a.and(below(a.max - 1)),
            _ => a,
        };
        (without(a, b), without(b, a))
    } else {
        (a, b)
    }
}

/// The comparison that holds where this one does not (integers only).
pub(super) fn opposite(op: Op) -> Option<Op> {
    let pairs = [(Op::Eq, Op::Ne), (Op::Lt, Op::Ge), (Op::Le, Op::Gt)];
    pairs.iter().find_map(|(a, b)| {
        if op == *a {
            Some(*b)
        } else if op == *b {
            Some(*a)
        } else {
            None
        }
    })
}
