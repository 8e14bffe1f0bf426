//! Virtual registers, and which of them hold a value of a type.
//!
//! - `bool` is a predicate; `f16` and `bf16` are 16-bit registers;
//! - integers and floats of 8 bits and integers of 16 bits are 32-bit registers, extended by their sign or by zero as their
//!   type says;
//! - vectors and `regs` are their bytes in order, in 32-bit registers (64-bit ones for elements of 64 bits), so that a
//!   16-byte access needs no packing and tensor cores get halves in pairs.

use girih_ir::types::{CoopUse, MatrixShape};
use girih_ir::{Scalar, Space, Type};
use std::fmt;

/// A register file of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Class {
    /// One bit that guards instructions.
    Pred,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl Class {
    pub const ALL: [Class; 4] = [Class::Pred, Class::B16, Class::B32, Class::B64];

    /// The type in declarations and moves.
    pub const fn ty(self) -> &'static str {
        ["pred", "b16", "b32", "b64"][self as usize]
    }
    /// What its registers' names start with.
    pub const fn prefix(self) -> &'static str {
        ["%p", "%h", "%r", "%rd"][self as usize]
    }
}

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reg {
    pub class: Class,
    pub number: u32,
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.class.prefix(), self.number)
    }
}

/// The consecutive registers of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub class: Class,
    first: u32,
    pub count: u32,
}

impl Home {
    /// Its register of a position.
    pub fn reg(self, i: u32) -> Reg {
        debug_assert!(i < self.count);
        Reg { class: self.class, number: self.first + i }
    }
    /// All its registers.
    pub fn regs(self) -> impl Iterator<Item = Reg> {
        (0..self.count).map(move |i| self.reg(i))
    }
}

/// How many registers of each class a function has.
#[derive(Clone, Debug, Default)]
pub(super) struct Bank {
    used: [u32; 4],
}

impl Bank {
    /// A new register.
    pub fn fresh(&mut self, class: Class) -> Reg {
        self.home(class, 1).reg(0)
    }
    /// New registers for a value.
    pub fn home(&mut self, class: Class, count: u32) -> Home {
        let used = &mut self.used[class as usize];
        let first = *used;
        *used += count;
        Home { class, first, count }
    }
    /// How many registers of a class there are.
    pub fn used(&self, class: Class) -> u32 {
        self.used[class as usize]
    }
}

/// The class and number of registers that hold a value of a type.
pub(super) fn shape(ty: Type) -> (Class, u32) {
    match ty {
        Type::Scalar(scalar) => (scalar_class(scalar), 1),
        Type::Vector(scalar, n) => lanes(scalar, n.into()),
        Type::Regs(scalar, n) => lanes(scalar, n.into()),
        Type::Coop(usage, shape, scalar) => fragment(usage, shape, scalar),
        Type::Token => (Class::B64, 1),
        Type::Memory(Space::Global) => (Class::B64, 1),
        // Reached by their symbols.
        Type::Memory(Space::Shared | Space::Private) => (Class::B64, 0),
        // Neither occurs in kernel form.
        Type::Tile(_) | Type::Term => (Class::B32, 0),
    }
}

/// The class of a scalar's register.
pub(super) fn scalar_class(scalar: Scalar) -> Class {
    match scalar {
        Scalar::Bool => Class::Pred,
        Scalar::F16 | Scalar::Bf16 => Class::B16,
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::U8 | Scalar::U16 | Scalar::U32 => Class::B32,
        Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::F32 => Class::B32,
        Scalar::I64 | Scalar::U64 | Scalar::F64 => Class::B64,
    }
}

fn lanes(scalar: Scalar, n: u32) -> (Class, u32) {
    match scalar.bytes() {
        8 => (Class::B64, n),
        bytes => (Class::B32, (bytes * n).div_ceil(4)),
    }
}

/// Registers of a `wmma` fragment: an equal share of its elements for each of 32 lanes, except that factors of `f16` are
/// held twice.
fn fragment(usage: CoopUse, shape: MatrixShape, scalar: Scalar) -> (Class, u32) {
    let elements = match usage {
        CoopUse::A => u32::from(shape.m) * u32::from(shape.k),
        CoopUse::B => u32::from(shape.k) * u32::from(shape.n),
        CoopUse::Acc => u32::from(shape.m) * u32::from(shape.n),
    };
    match (usage, scalar) {
        (CoopUse::A | CoopUse::B, Scalar::F16) => (Class::B32, 8),
        (_, Scalar::F64) => (Class::B64, (elements / 32).max(1)),
        (_, _) => (Class::B32, (elements * scalar.bytes() / 128).max(1)),
    }
}
