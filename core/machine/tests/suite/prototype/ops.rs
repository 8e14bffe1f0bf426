//! The operations that the routines are made of, each as the IR defines it, and nothing else.
//!
//! Words are `U` (unsigned) and `I` (two's complement) so that arithmetic wraps and shift counts are masked in every
//! build; `f32` is Rust's own, whose `+`, `-`, `*` round to nearest even and never contract.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Shl, Shr, Sub};

/// A 32-bit word read as unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct U(pub u32);

/// A 32-bit word read as two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct I(pub i32);

macro_rules! word {
    ($T:ident, $raw:ty) => {
        word!($T, $raw, Add add wrapping_add);
        word!($T, $raw, Sub sub wrapping_sub);
        word!($T, $raw, Mul mul wrapping_mul);
        word!($T, $raw, BitAnd bitand bitand);
        word!($T, $raw, BitOr bitor bitor);
        word!($T, $raw, BitXor bitxor bitxor);
        impl Shl<U> for $T {
            type Output = $T;
            fn shl(self, count: U) -> $T {
                $T(self.0.wrapping_shl(count.0))
            }
        }
        impl Shr<U> for $T {
            type Output = $T;
            fn shr(self, count: U) -> $T {
                $T(self.0.wrapping_shr(count.0))
            }
        }
        impl Shl<u32> for $T {
            type Output = $T;
            fn shl(self, count: u32) -> $T {
                self << U(count)
            }
        }
        impl Shr<u32> for $T {
            type Output = $T;
            fn shr(self, count: u32) -> $T {
                self >> U(count)
            }
        }
        impl Not for $T {
            type Output = $T;
            fn not(self) -> $T {
                $T(!self.0)
            }
        }
        impl Neg for $T {
            type Output = $T;
            fn neg(self) -> $T {
                $T(self.0.wrapping_neg())
            }
        }
        impl PartialEq<$raw> for $T {
            fn eq(&self, other: &$raw) -> bool {
                self.0 == *other
            }
        }
        impl PartialOrd<$raw> for $T {
            fn partial_cmp(&self, other: &$raw) -> Option<std::cmp::Ordering> {
                self.0.partial_cmp(other)
            }
        }
    };
    ($T:ident, $raw:ty, $Op:ident $op:ident $call:ident) => {
        impl $Op for $T {
            type Output = $T;
            fn $op(self, other: $T) -> $T {
                $T(self.0.$call(other.0))
            }
        }
        impl $Op<$raw> for $T {
            type Output = $T;
            fn $op(self, other: $raw) -> $T {
                $T(self.0.$call(other))
            }
        }
    };
}
word!(U, u32);
word!(I, i32);

/// The pattern of a float.
pub fn bits(x: f32) -> U {
    U(x.to_bits())
}

/// The float of a pattern.
pub fn float(x: U) -> f32 {
    f32::from_bits(x.0)
}

/// A word read as two's complement.
pub fn signed(x: U) -> I {
    I(x.0 as i32)
}

/// A word read as unsigned.
pub fn unsigned(x: I) -> U {
    U(x.0 as u32)
}

/// The nearest float, ties to even.
pub fn u_to_f(x: U) -> f32 {
    x.0 as f32
}

/// The nearest float, ties to even.
pub fn i_to_f(x: I) -> f32 {
    x.0 as f32
}

/// One or the other.
pub fn select<T>(condition: bool, yes: T, no: T) -> T {
    if condition { yes } else { no }
}

/// One for true, zero for false.
pub fn flag(condition: bool) -> U {
    U(condition as u32)
}

/// The number of leading zeros, 32 for zero.
pub fn clz(x: U) -> U {
    U(x.0.leading_zeros())
}

/// The upper half of the product.
pub fn mulhi(x: U, y: U) -> U {
    U(((u64::from(x.0) * u64::from(y.0)) >> 32) as u32)
}

/// The quotient, the dividend where the divisor is zero.
pub fn udiv(x: U, y: U) -> U {
    U(x.0.checked_div(y.0).unwrap_or(x.0))
}

/// The lesser.
pub fn umin(x: U, y: U) -> U {
    U(x.0.min(y.0))
}

/// The greater.
pub fn umax(x: U, y: U) -> U {
    U(x.0.max(y.0))
}

/// The lesser.
pub fn imin(x: I, y: I) -> I {
    I(x.0.min(y.0))
}

/// The greater.
pub fn imax(x: I, y: I) -> I {
    I(x.0.max(y.0))
}
