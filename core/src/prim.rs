//! The primitives: what the prelude cannot say in Bend. In the prelude's source they are written `%name`.

use crate::num::NumKind;

/// A primitive operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prim {
    /// `%to_u24` … : converts any number to a kind; a 24-bit integer to its sibling keeps the bits, a float truncates and
    /// saturates, NaN gives 0.
    To(NumKind),
    /// `%log(x, base)`.
    Log,
    /// `%atan2(y, x)`.
    Atan2,
    /// `%sin(x)`.
    Sin,
    /// `%cos(x)`.
    Cos,
    /// `%tan(x)`.
    Tan,
}

impl Prim {
    /// All primitives.
    pub const ALL: &[Prim] = &[
        Prim::To(NumKind::U24),
        Prim::To(NumKind::I24),
        Prim::To(NumKind::F24),
        Prim::To(NumKind::U32),
        Prim::To(NumKind::I32),
        Prim::To(NumKind::F32),
        Prim::Log,
        Prim::Atan2,
        Prim::Sin,
        Prim::Cos,
        Prim::Tan,
    ];

    /// Its name, without the `%`.
    pub fn name(self) -> &'static str {
        match self {
            Prim::To(NumKind::U24) => "to_u24",
            Prim::To(NumKind::I24) => "to_i24",
            Prim::To(NumKind::F24) => "to_f24",
            Prim::To(NumKind::U32) => "to_u32",
            Prim::To(NumKind::I32) => "to_i32",
            Prim::To(NumKind::F32) => "to_f32",
            Prim::Log => "log",
            Prim::Atan2 => "atan2",
            Prim::Sin => "sin",
            Prim::Cos => "cos",
            Prim::Tan => "tan",
        }
    }

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            Prim::To(_) | Prim::Sin | Prim::Cos | Prim::Tan => 1,
            Prim::Log | Prim::Atan2 => 2,
        }
    }

    /// The primitive of this name.
    pub fn find(name: &str) -> Option<Prim> {
        Prim::ALL.iter().copied().find(|p| p.name() == name)
    }
}
