//! The primitives: what the prelude cannot say in Bend. In the prelude's source they are written `%name`.

use crate::num::{Num, NumError, NumKind, math};

/// A primitive operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prim {
    /// `%to_u24` … : converts any number to a kind; a 24-bit integer to its sibling keeps the bits, a float truncates
    /// and saturates, NaN gives 0.
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

    /// Its result. The functions take floats; an f24 with an f32 is widened, and an f24 result is the f32 result
    /// rounded.
    pub fn apply(self, args: &[Num]) -> Result<Num, NumError> {
        match self {
            Prim::To(kind) => Ok(one(args)?.to(kind)),
            Prim::Sin => function(one(args)?, math::sin),
            Prim::Cos => function(one(args)?, math::cos),
            Prim::Tan => function(one(args)?, math::tan),
            Prim::Log => function_of_two(two(args)?, math::log),
            Prim::Atan2 => function_of_two(two(args)?, math::atan2),
        }
    }
}

fn one(args: &[Num]) -> Result<Num, NumError> {
    match args {
        [x] => Ok(*x),
        _ => Err(NumError::ArgumentCount(args.len())),
    }
}

fn two(args: &[Num]) -> Result<(Num, Num), NumError> {
    match args {
        [x, y] => Ok((*x, *y)),
        _ => Err(NumError::ArgumentCount(args.len())),
    }
}

fn function(x: Num, compute: fn(f32) -> f32) -> Result<Num, NumError> {
    match x {
        // Adding zero makes -0.0 positive, as f24 has it: there the sine of -0.0 is 0.0.
        Num::F24(x) => Ok(Num::f24(compute(0.0 + x))),
        Num::F32(x) => Ok(Num::F32(compute(x))),
        Num::U24(_) | Num::I24(_) | Num::U32(_) | Num::I32(_) => Err(NumError::NotFloat(x.kind())),
    }
}

fn function_of_two((x, y): (Num, Num), compute: fn(f32, f32) -> f32) -> Result<Num, NumError> {
    match (x, y) {
        (Num::F24(x), Num::F24(y)) => Ok(Num::f24(compute(x, y))),
        (Num::F24(x) | Num::F32(x), Num::F24(y) | Num::F32(y)) => Ok(Num::F32(compute(x, y))),
        (Num::U24(_) | Num::I24(_) | Num::U32(_) | Num::I32(_), _) => Err(NumError::NotFloat(x.kind())),
        (_, Num::U24(_) | Num::I24(_) | Num::U32(_) | Num::I32(_)) => Err(NumError::NotFloat(y.kind())),
    }
}
