//! Versions of the PTX instruction set.
//!
//! Invariant: a module asks for the lowest version of the instruction set that has its instructions, so that the
//! oldest driver that can run it does.

use girih_ir::nvidia::Target;
use std::fmt;

/// A version of the PTX instruction set: `.version` of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Isa(pub u8, pub u8);

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The lowest version of the instruction set that knows an architecture.
pub const fn least(target: Target) -> Isa {
    match target.sm {
        ..80 => Isa(6, 3),
        80..86 => Isa(7, 0),
        86..87 => Isa(7, 1),
        87..89 => Isa(7, 4),
        89..100 => Isa(7, 8),
        100..101 => Isa(8, 6),
        101..120 => Isa(8, 6),
        120..121 => Isa(8, 7),
        121.. => Isa(8, 8),
    }
}
