//! Numbers as Bend prints them: unsigned ones bare, signed ones with their sign, f24 with three decimals, f32 with as
//! many as it takes to read the same number again.

use std::fmt;

use super::Num;

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Num::U24(value) | Num::U32(value) => write!(f, "{value}"),
            Num::I24(value) | Num::I32(value) => write!(f, "{value:+}"),
            Num::F24(value) => write!(f, "{value:.3}"),
            Num::F32(value) => {
                write!(f, "{value}")?;
                // The shortest form of a whole number is that of an integer, but a Bend float has a point.
                if value.is_finite() && value.fract() == 0.0 { f.write_str(".0") } else { Ok(()) }
            }
        }
    }
}
