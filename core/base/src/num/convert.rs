//! Numbers of one kind made numbers of another, and numbers as bits.
//!
//! Among integers a conversion keeps the low bits (and the value, where the target holds it). From a float it truncates
//! toward zero, saturates at the target's range, and NaN gives 0. To a float it rounds to the nearest f32, ties to
//! even, and for f24 that f32 to the nearest f24.

use super::{Num, NumKind};

impl Num {
    /// Its kind.
    #[inline]
    pub fn kind(self) -> NumKind {
        match self {
            Num::U24(_) => NumKind::U24,
            Num::I24(_) => NumKind::I24,
            Num::F24(_) => NumKind::F24,
            Num::U32(_) => NumKind::U32,
            Num::I32(_) => NumKind::I32,
            Num::F32(_) => NumKind::F32,
        }
    }

    /// The number of this kind that stands for it.
    #[inline]
    pub fn to(self, kind: NumKind) -> Num {
        match self {
            Num::U24(value) | Num::U32(value) => unsigned(value, kind),
            Num::I24(value) | Num::I32(value) => signed(value, kind),
            Num::F24(value) | Num::F32(value) => float(value, kind),
        }
    }

    /// Its representation: the 24 or 32 bits of its kind, for an f24 the upper 24 bits of the f32. All NaNs give the
    /// same bits.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Num::U24(value) | Num::U32(value) => value,
            Num::I24(value) => value as u32 & 0xFF_FFFF,
            Num::I32(value) => value as u32,
            Num::F24(value) => float_bits(value) >> 8,
            Num::F32(value) => float_bits(value),
        }
    }

    /// The number of this kind and representation; bits beyond the kind's 24 are ignored.
    #[inline]
    pub fn from_bits(kind: NumKind, bits: u32) -> Num {
        match kind {
            NumKind::U24 => Num::u24(bits),
            NumKind::I24 => Num::i24(bits as i32),
            NumKind::F24 => Num::F24(f32::from_bits(bits << 8)),
            NumKind::U32 => Num::U32(bits),
            NumKind::I32 => Num::I32(bits as i32),
            NumKind::F32 => Num::F32(f32::from_bits(bits)),
        }
    }
}

#[inline]
fn float_bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

#[inline]
fn unsigned(value: u32, kind: NumKind) -> Num {
    match kind {
        NumKind::U24 => Num::u24(value),
        NumKind::I24 => Num::i24(value as i32),
        NumKind::F24 => Num::f24(value as f32),
        NumKind::U32 => Num::U32(value),
        NumKind::I32 => Num::I32(value as i32),
        NumKind::F32 => Num::F32(value as f32),
    }
}

#[inline]
fn signed(value: i32, kind: NumKind) -> Num {
    match kind {
        NumKind::U24 => Num::u24(value as u32),
        NumKind::I24 => Num::i24(value),
        NumKind::F24 => Num::f24(value as f32),
        NumKind::U32 => Num::U32(value as u32),
        NumKind::I32 => Num::I32(value),
        NumKind::F32 => Num::F32(value as f32),
    }
}

#[inline]
fn float(value: f32, kind: NumKind) -> Num {
    match kind {
        NumKind::U24 => Num::U24((value as u32).min(0xFF_FFFF)),
        NumKind::I24 => Num::I24((value as i32).clamp(-0x80_0000, 0x7F_FFFF)),
        NumKind::F24 => Num::f24(value),
        NumKind::U32 => Num::U32(value as u32),
        NumKind::I32 => Num::I32(value as i32),
        NumKind::F32 => Num::F32(value),
    }
}
