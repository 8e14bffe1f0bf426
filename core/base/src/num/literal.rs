//! Number literals before their kind is settled: the exact value that was written, and what it is as a number of a kind.

use super::{Num, NumKind};

/// The value of a number literal, before its type is settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LiteralValue {
    /// Without a sign: u24 or u32.
    Unsigned(u32),
    /// With a sign: i24 or i32.
    Signed(i64),
    /// With a point: f24 or f32. The value is the nearest f32, not rounded to f24 yet.
    Float(f32),
}

impl LiteralValue {
    /// The kind that it has where nothing else is known.
    pub fn default_kind(self) -> NumKind {
        match self {
            LiteralValue::Unsigned(_) => NumKind::U24,
            LiteralValue::Signed(_) => NumKind::I24,
            LiteralValue::Float(_) => NumKind::F24,
        }
    }

    /// The number of a kind that it is; none if the kind cannot hold it. A float is rounded, an integer is not a float.
    pub fn as_num(self, kind: NumKind) -> Option<Num> {
        let integer = match self {
            LiteralValue::Unsigned(n) => i64::from(n),
            LiteralValue::Signed(n) => n,
            LiteralValue::Float(x) => {
                return match kind {
                    NumKind::F24 | NumKind::F32 => Some(Num::F32(x).to(kind)),
                    NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32 => None,
                };
            }
        };
        let bits24 = 1 << 24;
        match kind {
            NumKind::U24 => u32::try_from(integer).ok().filter(|n| *n < bits24).map(Num::U24),
            NumKind::I24 => i32::try_from(integer).ok().filter(|n| (-(1 << 23)..1 << 23).contains(n)).map(Num::I24),
            NumKind::U32 => u32::try_from(integer).ok().map(Num::U32),
            NumKind::I32 => i32::try_from(integer).ok().map(Num::I32),
            NumKind::F24 | NumKind::F32 => None,
        }
    }
}

/// As it is written, without a suffix.
impl std::fmt::Display for LiteralValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LiteralValue::Unsigned(n) => write!(f, "{n}"),
            LiteralValue::Signed(n) => write!(f, "{n:+}"),
            LiteralValue::Float(x) => write!(f, "{x:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_fit_their_ranges_exactly() {
        let fits = |value: LiteralValue, kind| value.as_num(kind).is_some();
        assert!(
            fits(LiteralValue::Unsigned(0xFF_FFFF), NumKind::U24)
                && !fits(LiteralValue::Unsigned(1 << 24), NumKind::U24)
        );
        assert!(fits(LiteralValue::Unsigned(u32::MAX), NumKind::U32));
        assert!(
            fits(LiteralValue::Signed(-(1 << 23)), NumKind::I24)
                && !fits(LiteralValue::Signed(-(1 << 23) - 1), NumKind::I24)
        );
        assert!(
            fits(LiteralValue::Signed((1 << 23) - 1), NumKind::I24)
                && !fits(LiteralValue::Signed(1 << 23), NumKind::I24)
        );
        assert!(fits(LiteralValue::Signed(i64::from(i32::MIN)), NumKind::I32));
        assert!(!fits(LiteralValue::Signed(i64::from(i32::MAX) + 1), NumKind::I32));
    }

    #[test]
    fn floats_are_rounded_to_f24_only_if_they_become_f24() {
        let tenth = LiteralValue::Float(0.1);
        assert_eq!(tenth.as_num(NumKind::F32), Some(Num::F32(0.1)));
        let Some(Num::F24(rounded)) = tenth.as_num(NumKind::F24) else { panic!("a float is an f24") };
        assert_eq!(rounded.to_bits() & 0xFF, 0);
        assert_eq!(tenth.as_num(NumKind::U24), None);
    }
}
