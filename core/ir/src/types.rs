//! The types of the IR: scalars, short vectors, per-thread register arrays, matrix fragments, memories.
//!
//! A [`Type`] is small and `Copy`; two types are equal exactly if they print alike.

pub use super::tile::{Shape, Tile};
use std::fmt;

/// Most elements of a register array.
pub const MOST_REGS: u16 = 512;

macro_rules! scalars {
    ($($variant:ident $name:literal $bits:literal $doc:literal;)*) => {
        /// A machine number or truth value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Scalar { $(#[doc = $doc] $variant,)* }

        impl Scalar {
            /// All scalars, in the table's order.
            pub const ALL: &[Scalar] = &[$(Scalar::$variant,)*];
            /// The printed name.
            pub const fn name(self) -> &'static str {
                match self { $(Scalar::$variant => $name,)* }
            }
            /// What it is.
            pub const fn doc(self) -> &'static str {
                match self { $(Scalar::$variant => $doc,)* }
            }
            /// Width of the value in bits; 1 for `bool`.
            pub const fn bits(self) -> u32 {
                match self { $(Scalar::$variant => $bits,)* }
            }
            /// The scalar of this printed name.
            pub fn from_name(name: &str) -> Option<Scalar> {
                match name { $($name => Some(Scalar::$variant),)* _ => None }
            }
        }
    };
}

scalars! {
    Bool "bool" 1 "True or false. It has no place in memory: convert it to an integer.";
    I8 "i8" 8 "Two's complement, 8 bits.";
    I16 "i16" 16 "Two's complement, 16 bits.";
    I32 "i32" 32 "Two's complement, 32 bits.";
    I64 "i64" 64 "Two's complement, 64 bits.";
    U8 "u8" 8 "Unsigned, 8 bits.";
    U16 "u16" 16 "Unsigned, 16 bits.";
    U32 "u32" 32 "Unsigned, 32 bits.";
    U64 "u64" 64 "Unsigned, 64 bits.";
    F8E4M3 "f8e4m3" 8 "Float of 4 exponent and 3 mantissa bits, without infinities (`e4m3fn`). Storage and conversion only.";
    F8E5M2 "f8e5m2" 8 "Float of 5 exponent and 2 mantissa bits. Storage and conversion only.";
    F16 "f16" 16 "IEEE binary16.";
    Bf16 "bf16" 16 "The upper half of a binary32.";
    F32 "f32" 32 "IEEE binary32.";
    F64 "f64" 64 "IEEE binary64.";
}

impl Scalar {
    /// Bytes in memory. `bool` counts as one byte where a size is needed for it.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
    /// A signed or unsigned integer.
    pub const fn is_integer(self) -> bool {
        ScalarSet::INTEGERS.has(self)
    }
    /// A signed integer.
    pub const fn is_signed(self) -> bool {
        ScalarSet::SIGNED.has(self)
    }
    /// Any float, those of 8 bits included.
    pub const fn is_float(self) -> bool {
        ScalarSet::FLOATS.has(self) || ScalarSet::FLOATS8.has(self)
    }
    /// The unsigned integer of the same width; `bool` for `bool`.
    pub const fn as_bits(self) -> Scalar {
        match self {
            Scalar::Bool => Scalar::Bool,
            Scalar::I8 | Scalar::U8 | Scalar::F8E4M3 | Scalar::F8E5M2 => Scalar::U8,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::Bf16 => Scalar::U16,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => Scalar::U32,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => Scalar::U64,
        }
    }
    /// The value's bits: all ones below [`bits`](Self::bits).
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
    /// How a float lies in its bits; none for what is no float.
    pub const fn float_format(self) -> Option<FloatFormat> {
        let (exponent, mantissa) = match self {
            Scalar::F8E4M3 => (4, 3),
            Scalar::F8E5M2 => (5, 2),
            Scalar::F16 => (5, 10),
            Scalar::Bf16 => (8, 7),
            Scalar::F32 => (8, 23),
            Scalar::F64 => (11, 52),
            Scalar::Bool
            | Scalar::I8
            | Scalar::I16
            | Scalar::I32
            | Scalar::I64
            | Scalar::U8
            | Scalar::U16
            | Scalar::U32
            | Scalar::U64 => return None,
        };
        Some(FloatFormat { exponent, mantissa })
    }
    /// The bits of 1.
    pub const fn one_bits(self) -> u64 {
        match self.float_format() {
            Some(FloatFormat { exponent, mantissa }) => ((1 << (exponent - 1)) - 1) << mantissa,
            None => 1,
        }
    }
}

/// How a float lies in its bits: below the sign the exponent, below that the mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the mantissa, without the leading one.
    pub mantissa: u32,
}

impl FloatFormat {
    /// The bits of the least normal number.
    pub const fn least_normal(self) -> u64 {
        1 << self.mantissa
    }
    /// The bits of infinity, in formats that have it: the highest exponent.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.mantissa
    }
    /// The bit of the sign.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.mantissa)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scalars: what an operation takes, what a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarSet(u32);

impl ScalarSet {
    /// Nothing.
    pub const NONE: ScalarSet = ScalarSet(0);
    /// `bool`.
    pub const BOOL: ScalarSet = ScalarSet::of(&[Scalar::Bool]);
    /// Signed integers.
    pub const SIGNED: ScalarSet = ScalarSet::of(&[Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64]);
    /// Unsigned integers.
    pub const UNSIGNED: ScalarSet = ScalarSet::of(&[Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64]);
    /// All integers.
    pub const INTEGERS: ScalarSet = ScalarSet::SIGNED.or(ScalarSet::UNSIGNED);
    /// `i32` and `u32`.
    pub const WORDS: ScalarSet = ScalarSet::of(&[Scalar::I32, Scalar::U32]);
    /// `i64` and `u64`.
    pub const WIDE: ScalarSet = ScalarSet::of(&[Scalar::I64, Scalar::U64]);
    /// Floats that have arithmetic.
    pub const FLOATS: ScalarSet = ScalarSet::of(&[Scalar::F16, Scalar::Bf16, Scalar::F32, Scalar::F64]);
    /// Floats of which the math library has functions: computed in `f32`, rounded once more for the shorter ones.
    pub const MATH: ScalarSet = ScalarSet::of(&[Scalar::F16, Scalar::Bf16, Scalar::F32]);
    /// Floats of 8 bits.
    pub const FLOATS8: ScalarSet = ScalarSet::of(&[Scalar::F8E4M3, Scalar::F8E5M2]);
    /// Integers and floats that have arithmetic.
    pub const NUMBERS: ScalarSet = ScalarSet::INTEGERS.or(ScalarSet::FLOATS);
    /// Signed integers and floats that have arithmetic.
    pub const NEGATABLE: ScalarSet = ScalarSet::SIGNED.or(ScalarSet::FLOATS);
    /// Integers and `bool`: what the bit operations take.
    pub const BITS: ScalarSet = ScalarSet::INTEGERS.or(ScalarSet::BOOL);
    /// What can stand in memory: everything but `bool`.
    pub const STORED: ScalarSet = ScalarSet::NUMBERS.or(ScalarSet::FLOATS8);
    /// Everything.
    pub const ALL: ScalarSet = ScalarSet::STORED.or(ScalarSet::BOOL);

    /// The set of these scalars.
    pub const fn of(scalars: &[Scalar]) -> ScalarSet {
        let mut bits = 0;
        let mut i = 0;
        while i < scalars.len() {
            bits |= 1 << scalars[i] as u32;
            i += 1;
        }
        ScalarSet(bits)
    }
    /// Both.
    pub const fn or(self, other: ScalarSet) -> ScalarSet {
        ScalarSet(self.0 | other.0)
    }
    /// This set without the other.
    pub const fn without(self, other: ScalarSet) -> ScalarSet {
        ScalarSet(self.0 & !other.0)
    }
    /// Whether `scalar` is in it.
    pub const fn has(self, scalar: Scalar) -> bool {
        self.0 >> scalar as u32 & 1 == 1
    }
    /// Its members, in the table's order.
    pub fn iter(self) -> impl Iterator<Item = Scalar> {
        Scalar::ALL.iter().copied().filter(move |s| self.has(*s))
    }
}

/// What a matrix fragment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CoopUse {
    /// Left factor, M x K.
    A,
    /// Right factor, K x N.
    B,
    /// Accumulator, M x N.
    Acc,
}

/// Rows, columns and depth of a matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatrixShape {
    /// Rows of the left factor and of the result.
    pub m: u16,
    /// Columns of the right factor and of the result.
    pub n: u16,
    /// Columns of the left factor, rows of the right one.
    pub k: u16,
}

impl fmt::Display for MatrixShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// Where a memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// A buffer of the device, seen by all invocations.
    Global,
    /// An allocation of a workgroup.
    Shared,
    /// An array of one invocation.
    Private,
}

impl Space {
    /// All spaces.
    pub const ALL: &[Space] = &[Space::Global, Space::Shared, Space::Private];
    /// The printed name.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Private => "private",
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// One number or truth value.
    Scalar(Scalar),
    /// 2, 4, 8 or 16 scalars of one type, at most 16 bytes.
    Vector(Scalar, u8),
    /// `count` scalars that one thread keeps in registers, reached by constant positions.
    Regs(Scalar, u16),
    /// A matrix fragment distributed over a subgroup in a way that only the device knows.
    Coop(CoopUse, MatrixShape, Scalar),
    /// A block of elements of a program, distributed over a workgroup.
    Tile(Tile),
    /// The state of an asynchronous operation.
    Token,
    /// A word of an interaction net or of the heap.
    Term,
    /// A handle to memory. Not a number: a handle is never stored, selected or merged.
    Memory(Space),
}

impl Type {
    /// `bool`.
    pub const BOOL: Type = Type::Scalar(Scalar::Bool);
    /// `u32`.
    pub const U32: Type = Type::Scalar(Scalar::U32);
    /// `i32`.
    pub const I32: Type = Type::Scalar(Scalar::I32);
    /// `u64`.
    pub const U64: Type = Type::Scalar(Scalar::U64);
    /// `f32`.
    pub const F32: Type = Type::Scalar(Scalar::F32);

    /// The scalar that the type is made of, if it is made of one.
    pub const fn element(self) -> Option<Scalar> {
        match self {
            Type::Scalar(s) | Type::Vector(s, _) | Type::Regs(s, _) | Type::Coop(_, _, s) => Some(s),
            Type::Tile(tile) => Some(tile.element),
            Type::Token | Type::Term | Type::Memory(_) => None,
        }
    }
    /// How many scalars one thread holds of it: 1 for a scalar, 0 where that is not known or not said.
    pub const fn lanes(self) -> u32 {
        match self {
            Type::Scalar(_) => 1,
            Type::Vector(_, n) => n as u32,
            Type::Regs(_, n) => n as u32,
            Type::Coop(..) | Type::Tile(_) | Type::Token | Type::Term | Type::Memory(_) => 0,
        }
    }
    /// Bytes of a scalar or vector in memory; 0 for what has no place there.
    pub const fn bytes(self) -> u32 {
        match self {
            Type::Scalar(s) => s.bytes(),
            Type::Vector(s, n) => s.bytes() * n as u32,
            Type::Regs(..) | Type::Coop(..) | Type::Tile(_) | Type::Token | Type::Term | Type::Memory(_) => 0,
        }
    }
    /// The same shape (scalar or vector) with another element; other types stay.
    pub const fn with_element(self, element: Scalar) -> Type {
        match self {
            Type::Vector(_, n) => Type::Vector(element, n),
            Type::Regs(_, n) => Type::Regs(element, n),
            Type::Scalar(_) => Type::Scalar(element),
            Type::Coop(u, shape, _) => Type::Coop(u, shape, element),
            Type::Tile(tile) => Type::Tile(tile.with_element(element)),
            Type::Token | Type::Term | Type::Memory(_) => self,
        }
    }
    /// The type of a tile.
    pub const fn tile(shape: Shape, element: Scalar) -> Type {
        Type::Tile(Tile { element, shape })
    }
    /// The shape of a tile; none for other types.
    pub const fn shape(self) -> Option<Shape> {
        match self {
            Type::Tile(tile) => Some(tile.shape),
            Type::Scalar(_)
            | Type::Vector(..)
            | Type::Regs(..)
            | Type::Coop(..)
            | Type::Token
            | Type::Term
            | Type::Memory(_) => None,
        }
    }
    /// A scalar, or a tile of this shape.
    pub fn block(shape: Option<Shape>, element: Scalar) -> Type {
        shape.map_or(Type::Scalar(element), |shape| Type::tile(shape, element))
    }
    /// The tiles of which `tile.join` makes this one; none if it has no last dimension of length 2.
    pub fn half(self) -> Option<Type> {
        let shape = self.shape()?;
        let last = shape.rank() - 1;
        (shape.length(last) == 2).then(|| Type::block(shape.without(last), self.element().unwrap_or(Scalar::Bool)))
    }
    /// The truth values that a comparison of this type gives: one, or one for each element of a tile.
    pub fn truth(self) -> Type {
        Type::block(self.shape(), Scalar::Bool)
    }
    /// Whether a vector of `lanes` is one of the short vectors: 2, 4, 8 or 16 lanes of at most 16 bytes in all.
    pub const fn is_short_vector(element: Scalar, lanes: u32) -> bool {
        matches!(lanes, 2 | 4 | 8 | 16) && element.bytes() * lanes <= 16 && !matches!(element, Scalar::Bool)
    }
}

impl From<Scalar> for Type {
    fn from(s: Scalar) -> Type {
        Type::Scalar(s)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(s) => write!(f, "{s}"),
            Type::Vector(s, n) => write!(f, "{s}x{n}"),
            Type::Regs(s, n) => write!(f, "regs<{s}, {n}>"),
            Type::Coop(u, shape, s) => {
                let u = match u {
                    CoopUse::A => "a",
                    CoopUse::B => "b",
                    CoopUse::Acc => "acc",
                };
                write!(f, "coop<{u}, {shape}, {s}>")
            }
            Type::Tile(tile) => write!(f, "{tile}"),
            Type::Token => write!(f, "token"),
            Type::Term => write!(f, "term"),
            Type::Memory(Space::Global) => write!(f, "buffer"),
            Type::Memory(space) => write!(f, "{}", space.name()),
        }
    }
}
