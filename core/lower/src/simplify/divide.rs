//! Division and remainder by constants: shifts and masks for powers of two, the upper half of a product otherwise.
//!
//! The multiplier m = ceil(2^(N + k) / d) gives x / d = x * m >> (N + k) exactly for all x < 2^b if the error m * d - 2^(N + k) is at most
//! 2^(N + k - b), where N is the width of the type and b the number of bits that x is known to have.

use super::forward::Forward;
use girih_ir::{Feature, Op, Scalar, ValueId};

impl Forward<'_> {
    /// What stands for `div` or `rem` of integers.
    pub(super) fn division(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId) -> Option<ValueId> {
        let quotient = op == Op::Div;
        let (fa, fb) = (self.facts(a), self.facts(b));
        let natural = !s.is_signed() || fa.is_natural(s) && fb.is_natural(s);
        if natural && fa.max < fb.min {
            return Some(if quotient { self.constant(s, 0) } else { a });
        }
        let Some(d) = self.bits(b) else { return self.by_power(op, s, a, b, natural) };
        match d {
            // x / 0 is x, x rem 0 is 0.
            0 | 1 => return Some(if quotient { a } else { self.constant(s, 0) }),
            _ if d == s.mask() && s.is_signed() => {
                return Some(if quotient { self.emit(Op::Neg, s, &[a], false) } else { self.constant(s, 0) });
            }
            _ => {}
        }
        if !natural {
            return self.signed_division(op, s, a, d);
        }
        if d.is_power_of_two() {
            return Some(self.natural_power(op, s, a, d));
        }
        let q = self.natural_quotient(s, a, d)?;
        Some(if quotient { q } else { self.remainder(s, a, q, b) })
    }

    /// By 2^k, of a number that is not negative.
    fn natural_power(&mut self, op: Op, s: Scalar, a: ValueId, d: u64) -> ValueId {
        if op == Op::Div {
            let count = self.constant(s, d.trailing_zeros().into());
            self.emit(Op::Shr, s, &[a, count], false)
        } else {
            let low = self.constant(s, d - 1);
            self.emit(Op::And, s, &[a, low], false)
        }
    }

    /// By 1 << n.
    fn by_power(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId, natural: bool) -> Option<ValueId> {
        let (one, count, _) = self.is_binary(b, Op::Shl)?;
        if !natural || self.bits(one) != Some(1) {
            return None;
        }
        Some(if op == Op::Div {
            self.emit(Op::Shr, s, &[a, count], false)
        } else {
            let minus = self.constant(s, s.mask());
            let low = self.emit(Op::Add, s, &[b, minus], false);
            self.emit(Op::And, s, &[a, low], false)
        })
    }

    fn remainder(&mut self, s: Scalar, a: ValueId, q: ValueId, d: ValueId) -> ValueId {
        let product = self.emit(Op::Mul, s, &[q, d], false);
        self.emit(Op::Sub, s, &[a, product], false)
    }

    /// Whether the device has the upper half of products of this type.
    fn has_mulhi(&self, s: Scalar) -> bool {
        matches!(s.bits(), 32 | 64) && self.caps.has(Feature::MulHi) && self.caps.arithmetic.has(s)
    }

    /// a / d of a number that is not negative, d not a power of two.
    fn natural_quotient(&mut self, s: Scalar, a: ValueId, d: u64) -> Option<ValueId> {
        if s.is_signed() {
            let unsigned = s.as_bits();
            if !self.has_mulhi(unsigned) {
                return None;
            }
            let bits = self.emit(Op::Convert, unsigned, &[a], false);
            let known = self.facts(a);
            self.learn(bits, known);
            let q = self.natural_quotient(unsigned, bits, d)?;
            return Some(self.emit(Op::Convert, s, &[q], false));
        }
        if !self.has_mulhi(s) {
            return None;
        }
        let known = 64 - self.facts(a).max.leading_zeros();
        if let Some((m, k)) = multiplier(s.bits(), known, d) {
            return Some(self.upper(s, a, m, k));
        }
        // A multiplier of N + 1 bits. An even divisor needs none: what it halves has a bit less.
        let even = d.trailing_zeros();
        if even > 0 {
            let count = self.constant(s, even.into());
            let halved = self.emit(Op::Shr, s, &[a, count], false);
            let (m, k) = multiplier(s.bits(), s.bits() - even, d >> even)?;
            return Some(self.upper(s, halved, m, k));
        }
        let (m, k) = wide_multiplier(s.bits(), d)?;
        let m = self.constant(s, m);
        let high = self.emit(Op::MulHi, s, &[a, m], false);
        let one = self.constant(s, 1);
        let rest = self.emit(Op::Sub, s, &[a, high], false);
        let half = self.emit(Op::Shr, s, &[rest, one], false);
        let sum = self.emit(Op::Add, s, &[half, high], false);
        let count = self.constant(s, u64::from(k - 1));
        Some(self.emit(Op::Shr, s, &[sum, count], false))
    }

    /// a * m >> (N + k).
    fn upper(&mut self, s: Scalar, a: ValueId, m: u64, k: u32) -> ValueId {
        let m = self.constant(s, m);
        let high = self.emit(Op::MulHi, s, &[a, m], false);
        let count = self.constant(s, k.into());
        self.emit(Op::Shr, s, &[high, count], false)
    }

    /// By a constant other than 0, 1 and -1, of a number that may be negative.
    fn signed_division(&mut self, op: Op, s: Scalar, a: ValueId, d: u64) -> Option<ValueId> {
        let bits = s.bits();
        let value = girih_ir::eval::signed(d, s);
        let magnitude = value.unsigned_abs();
        let top = self.constant(s, u64::from(bits - 1));
        let q = if magnitude.is_power_of_two() {
            let k = magnitude.trailing_zeros();
            if k == bits - 1 {
                return Some(self.by_the_least(op, s, a, d));
            }
            // Negative numbers are rounded up, so what is shifted out is added first.
            let unsigned = s.as_bits();
            if !self.caps.arithmetic.has(unsigned) {
                return None;
            }
            let sign = self.emit(Op::Shr, s, &[a, top], false);
            let sign = self.emit(Op::Convert, unsigned, &[sign], false);
            let above = self.constant(unsigned, u64::from(bits - k));
            let bias = self.emit(Op::Shr, unsigned, &[sign, above], false);
            let bias = self.emit(Op::Convert, s, &[bias], false);
            let sum = self.emit(Op::Add, s, &[a, bias], false);
            let count = self.constant(s, k.into());
            self.emit(Op::Shr, s, &[sum, count], false)
        } else {
            if !self.has_mulhi(s) {
                return None;
            }
            let (m, k) = signed_multiplier(bits, magnitude);
            let constant = self.constant(s, m & s.mask());
            let mut high = self.emit(Op::MulHi, s, &[a, constant], false);
            if m >> (bits - 1) != 0 {
                // The multiplier is one of N bits that reads as negative: 2^N * a is missing.
                high = self.emit(Op::Add, s, &[high, a], false);
            }
            let count = self.constant(s, k.into());
            let down = self.emit(Op::Shr, s, &[high, count], false);
            let sign = self.emit(Op::Shr, s, &[a, top], false);
            self.emit(Op::Sub, s, &[down, sign], false)
        };
        let q = if value < 0 { self.emit(Op::Neg, s, &[q], false) } else { q };
        if op == Op::Div {
            return Some(q);
        }
        let d = self.constant(s, d);
        Some(self.remainder(s, a, q, d))
    }

    /// By the least integer, whose only multiples are itself and 0.
    fn by_the_least(&mut self, op: Op, s: Scalar, a: ValueId, least: u64) -> ValueId {
        let least = self.constant(s, least);
        let is_least = self.emit(Op::Eq, s, &[a, least], false);
        let zero = self.constant(s, 0);
        let (then, otherwise) = if op == Op::Div { (self.constant(s, 1), zero) } else { (zero, a) };
        self.emit(Op::Select, s, &[is_least, then, otherwise], false)
    }
}

/// Multiplier of N bits and shift for numbers of `known` bits.
pub fn multiplier(bits: u32, known: u32, d: u64) -> Option<(u64, u32)> {
    let d = u128::from(d);
    for k in 0..bits {
        // 2^127 is the largest power that fits.
        let power = 1u128.checked_shl(bits + k)?;
        let m = power.div_ceil(d);
        if m >> bits != 0 {
            return None;
        }
        if m * d - power <= power >> known {
            return Some((m as u64, k));
        }
    }
    None
}

/// Multiplier of N + 1 bits without its highest bit, and shift, for numbers of N bits.
pub fn wide_multiplier(bits: u32, d: u64) -> Option<(u64, u32)> {
    let k = 64 - (d - 1).leading_zeros();
    let power = 1u128.checked_shl(bits + k).filter(|_| bits + k < 128)?;
    let m = power.div_ceil(u128::from(d));
    Some((m as u64 & u64::MAX >> (64 - bits), k))
}

/// Multiplier of N bits and shift for signed numbers, d at least 3 and not a power of two.
fn signed_multiplier(bits: u32, d: u64) -> (u64, u32) {
    let d = u128::from(d);
    let mut k = 0;
    loop {
        let power = 1u128 << (bits + k);
        let m = power / d + 1;
        // The dividend has N - 1 bits besides its sign.
        if m * d - power <= power >> (bits - 1) {
            return (m as u64, k);
        }
        k += 1;
    }
}
