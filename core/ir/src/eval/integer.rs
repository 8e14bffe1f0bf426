//! Integers and truth values: total, wrapping, in the host's own types.

use super::{Function, by_routine, meaning, not_evaluated, ones};
use crate::ops::Op;

/// An integer type of the host.
pub(super) trait Int: Copy + Ord {
    const BITS: u32;
    const ZERO: Self;
    /// From bits; those above the width are dropped.
    fn of(bits: u64) -> Self;
    /// The bits, zero above the width.
    fn bits(self) -> u64;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn rem(self, b: Self) -> Self;
    fn mulhi(self, b: Self) -> Self;
    fn abs(self) -> Self;
    fn shl(self, count: u32) -> Self;
    fn shr(self, count: u32) -> Self;
    fn clz(self) -> u32;
    fn ctz(self) -> u32;
    fn popc(self) -> u32;
    fn reverse(self) -> Self;
}

macro_rules! ints {
    ($($ty:ident $unsigned:ident $wide:ident $abs:ident;)*) => {
        $(impl Int for $ty {
            const BITS: u32 = $ty::BITS;
            const ZERO: $ty = 0;
            fn of(bits: u64) -> $ty {
                bits as $ty
            }
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }
            fn add(self, b: $ty) -> $ty {
                self.wrapping_add(b)
            }
            fn sub(self, b: $ty) -> $ty {
                self.wrapping_sub(b)
            }
            fn mul(self, b: $ty) -> $ty {
                self.wrapping_mul(b)
            }
            fn div(self, b: $ty) -> $ty {
                if b == 0 { self } else { self.wrapping_div(b) }
            }
            fn rem(self, b: $ty) -> $ty {
                if b == 0 { 0 } else { self.wrapping_rem(b) }
            }
            fn mulhi(self, b: $ty) -> $ty {
                ((self as $wide * b as $wide) >> $ty::BITS) as $ty
            }
            fn abs(self) -> $ty {
                ints!(@$abs self)
            }
            fn shl(self, count: u32) -> $ty {
                self.wrapping_shl(count)
            }
            fn shr(self, count: u32) -> $ty {
                self.wrapping_shr(count)
            }
            fn clz(self) -> u32 {
                self.leading_zeros()
            }
            fn ctz(self) -> u32 {
                self.trailing_zeros()
            }
            fn popc(self) -> u32 {
                self.count_ones()
            }
            fn reverse(self) -> $ty {
                self.reverse_bits()
            }
        })*
    };
    (@signed $x:ident) => { $x.wrapping_abs() };
    (@unsigned $x:ident) => { $x };
}

ints! {
    i8 u8 i128 signed;
    i16 u16 i128 signed;
    i32 u32 i128 signed;
    i64 u64 i128 signed;
    u8 u8 u128 unsigned;
    u16 u16 u128 unsigned;
    u32 u32 u128 unsigned;
    u64 u64 u128 unsigned;
}

/// A shift's count: modulo the width, which is a power of two. The low bits decide, so a negative count needs no care.
fn count<T: Int>(bits: u64) -> u32 {
    bits as u32 % T::BITS
}

/// The meaning of an operation on integers of a type.
pub(super) fn of<T: Int + 'static>(op: Op) -> Option<Function> {
    match op {
        Op::Add => meaning!(|a, b| T::of(a).add(T::of(b)).bits()),
        Op::Sub => meaning!(|a, b| T::of(a).sub(T::of(b)).bits()),
        Op::Mul => meaning!(|a, b| T::of(a).mul(T::of(b)).bits()),
        Op::Div => meaning!(|a, b| T::of(a).div(T::of(b)).bits()),
        Op::Rem => meaning!(|a, b| T::of(a).rem(T::of(b)).bits()),
        Op::MulHi => meaning!(|a, b| T::of(a).mulhi(T::of(b)).bits()),
        Op::Neg => meaning!(|a| T::ZERO.sub(T::of(a)).bits()),
        Op::Abs => meaning!(|a| T::of(a).abs().bits()),
        Op::Min => meaning!(|a, b| T::of(a).min(T::of(b)).bits()),
        Op::Max => meaning!(|a, b| T::of(a).max(T::of(b)).bits()),
        Op::Mad => meaning!(|a, b, c| T::of(a).mul(T::of(b)).add(T::of(c)).bits()),
        Op::And => meaning!(|a, b| a & b),
        Op::Or => meaning!(|a, b| a | b),
        Op::Xor => meaning!(|a, b| a ^ b),
        Op::Not => meaning!(|a| T::of(!a).bits()),
        Op::Shl => meaning!(|a, b| T::of(a).shl(count::<T>(b)).bits()),
        Op::Shr => meaning!(|a, b| T::of(a).shr(count::<T>(b)).bits()),
        Op::Clz => meaning!(|a| T::of(a).clz().into()),
        Op::Ctz => meaning!(|a| T::of(a).ctz().into()),
        Op::Popc => meaning!(|a| T::of(a).popc().into()),
        Op::ReverseBits => meaning!(|a| T::of(a).reverse().bits()),
        Op::Eq => meaning!(|a, b| (a == b).into()),
        Op::Ne => meaning!(|a, b| (a != b).into()),
        Op::Lt => meaning!(|a, b| (T::of(a) < T::of(b)).into()),
        Op::Le => meaning!(|a, b| (T::of(a) <= T::of(b)).into()),
        Op::Gt => meaning!(|a, b| (T::of(a) > T::of(b)).into()),
        Op::Ge => meaning!(|a, b| (T::of(a) >= T::of(b)).into()),
        Op::MaskEq => meaning!(|a, b| ones(a == b)),
        Op::MaskLt => meaning!(|a, b| ones(T::of(a) < T::of(b))),
        Op::MaskLe => meaning!(|a, b| ones(T::of(a) <= T::of(b))),
        Op::MaskSelect => meaning!(|mask, a, b| (mask & a) | (!mask & b)),
        Op::MaskAny => meaning!(|a| (a != 0).into()),
        Op::Fma | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Sqrt => None,
        Op::DivApprox | Op::RcpApprox | Op::SqrtApprox | Op::RsqrtApprox => None,
        by_routine!() | not_evaluated!() => None,
    }
}

/// The meaning of an operation on truth values.
pub(super) fn of_bool(op: Op) -> Option<Function> {
    match op {
        Op::And => meaning!(|a, b| a & b),
        Op::Or => meaning!(|a, b| a | b),
        Op::Xor | Op::Ne => meaning!(|a, b| a ^ b),
        Op::Eq => meaning!(|a, b| a ^ b ^ 1),
        Op::Not => meaning!(|a| a ^ 1),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::MulHi | Op::Neg | Op::Abs | Op::Min | Op::Max => None,
        Op::Fma | Op::Mad | Op::Shl | Op::Shr | Op::Clz | Op::Ctz | Op::Popc | Op::ReverseBits => None,
        Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Floor | Op::Ceil | Op::Round | Op::Trunc | Op::Sqrt => None,
        Op::MaskEq | Op::MaskLt | Op::MaskLe | Op::MaskSelect | Op::MaskAny => None,
        Op::DivApprox | Op::RcpApprox | Op::SqrtApprox | Op::RsqrtApprox => None,
        by_routine!() | not_evaluated!() => None,
    }
}
