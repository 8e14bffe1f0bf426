//! Numbers of Bend: six kinds, the operators on them, and how they are written.
//!
//! A number of a 24-bit kind is always in the range of its kind, because it is made only by [`Num::u24`],
//! [`Num::i24`] or [`Num::f24`].

mod apply;
mod convert;
mod display;
mod f24;
mod literal;
pub mod math;

pub use apply::NumError;
pub use literal::LiteralValue;

/// A kind of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NumKind {
    /// Unsigned, modulo 2^24.
    U24,
    /// Signed, modulo 2^24.
    I24,
    /// f32 whose low 8 mantissa bits are zero.
    F24,
    /// Unsigned, modulo 2^32.
    U32,
    /// Signed, modulo 2^32.
    I32,
    /// IEEE 754 binary32.
    F32,
}

impl NumKind {
    /// All kinds.
    pub const ALL: [NumKind; 6] = [NumKind::U24, NumKind::I24, NumKind::F24, NumKind::U32, NumKind::I32, NumKind::F32];

    /// Its name in Bend.
    pub fn name(self) -> &'static str {
        match self {
            NumKind::U24 => "u24",
            NumKind::I24 => "i24",
            NumKind::F24 => "f24",
            NumKind::U32 => "u32",
            NumKind::I32 => "i32",
            NumKind::F32 => "f32",
        }
    }

    /// The kind of this name.
    pub fn find(name: &str) -> Option<NumKind> {
        NumKind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// Whether its numbers are floats.
    pub fn is_float(self) -> bool {
        match self {
            NumKind::F24 | NumKind::F32 => true,
            NumKind::U24 | NumKind::I24 | NumKind::U32 | NumKind::I32 => false,
        }
    }

    /// The 32-bit kind of its family.
    pub fn widened(self) -> NumKind {
        match self {
            NumKind::U24 | NumKind::U32 => NumKind::U32,
            NumKind::I24 | NumKind::I32 => NumKind::I32,
            NumKind::F24 | NumKind::F32 => NumKind::F32,
        }
    }

    /// The kind in which an operator on the two kinds works: their own where they are the same, the 32-bit one of their
    /// family, or none.
    pub fn join(self, other: NumKind) -> Option<NumKind> {
        if self == other {
            Some(self)
        } else if self.widened() == other.widened() {
            Some(self.widened())
        } else {
            None
        }
    }
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    /// Below 2^24.
    U24(u32),
    /// From -2^23 to 2^23 - 1.
    I24(i32),
    /// The low 8 bits of the representation are zero.
    F24(f32),
    /// Any.
    U32(u32),
    /// Any.
    I32(i32),
    /// Any.
    F32(f32),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it; the table below says the rest.
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl BinOp {
    /// All operators.
    pub const ALL: [BinOp; 17] = {
        use BinOp::*;
        [Add, Sub, Mul, Div, Rem, Pow, Eq, Ne, Lt, Le, Gt, Ge, And, Or, Xor, Shl, Shr]
    };

    /// Its symbol in Bend.
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::Pow => "**",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
        }
    }

    /// How tightly it binds in the imperative syntax: 0 is loosest. All operators associate to the left.
    pub fn precedence(self) -> u8 {
        match self {
            BinOp::Or => 0,
            BinOp::Xor => 1,
            BinOp::And => 2,
            BinOp::Eq | BinOp::Ne => 3,
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => 4,
            BinOp::Shl | BinOp::Shr => 5,
            BinOp::Add | BinOp::Sub => 6,
            BinOp::Mul | BinOp::Div | BinOp::Rem => 7,
            BinOp::Pow => 8,
        }
    }

    /// Whether its operands may change places.
    pub fn is_commutative(self) -> bool {
        use BinOp::*;
        match self {
            Add | Mul | Eq | Ne | And | Or | Xor => true,
            Sub | Div | Rem | Pow | Lt | Le | Gt | Ge | Shl | Shr => false,
        }
    }

    /// Whether it compares: its result is a u24, 1 or 0, whatever the kind of the operands.
    pub fn is_comparison(self) -> bool {
        use BinOp::*;
        match self {
            Eq | Ne | Lt | Le | Gt | Ge => true,
            Add | Sub | Mul | Div | Rem | Pow | And | Or | Xor | Shl | Shr => false,
        }
    }

    /// Whether checked code may use it on numbers of this kind: powers are for floats, bits for integers, shifts for
    /// unsigned ones.
    pub fn supports(self, kind: NumKind) -> bool {
        use BinOp::*;
        match self {
            Add | Sub | Mul | Div | Rem | Eq | Ne | Lt | Le | Gt | Ge => true,
            Pow => kind.is_float(),
            And | Or | Xor => !kind.is_float(),
            Shl | Shr => matches!(kind, NumKind::U24 | NumKind::U32),
        }
    }

    /// Whether it has a result on numbers of this kind: what checked code may use, and everything on f24, where the bit
    /// operators are mathematical functions.
    pub fn is_defined_on(self, kind: NumKind) -> bool {
        self.supports(kind) || kind == NumKind::F24
    }
}
