//! The machine types of values.
//!
//! | the IR's | the machine's |
//! |---|---|
//! | `bool` | a byte, 0 or 1 |
//! | integers, `f32`, `f64` | themselves |
//! | words of a heap | an integer of 32 bits |
//! | shorter floats | their bits as an integer |
//! | vectors of 16 bytes | a vector register |
//! | shorter vectors | their bits as an integer, lane 0 the lowest |

use cranelift_codegen::ir::{Type as Machine, types};
use girih_ir::{Scalar, Type};

/// Bytes of a vector register.
const REGISTER: u32 = 16;

/// The machine type of a scalar.
pub(super) fn of_scalar(scalar: Scalar) -> Machine {
    match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 | Scalar::F8E4M3 | Scalar::F8E5M2 => types::I8,
        Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::Bf16 => types::I16,
        Scalar::I32 | Scalar::U32 => types::I32,
        Scalar::I64 | Scalar::U64 => types::I64,
        Scalar::F32 => types::F32,
        Scalar::F64 => types::F64,
    }
}

/// The integer of so many bits, at most 64.
pub(super) fn bits(bits: u32) -> Option<Machine> {
    Machine::int_with_byte_size((bits / 8) as u16).filter(|ty| ty.bits() <= 64)
}

/// The machine type of a value; none for memories and for what is not legal.
pub(crate) fn machine_type(ty: Type) -> Option<Machine> {
    match ty {
        Type::Scalar(scalar) => Some(of_scalar(scalar)),
        Type::Vector(scalar, lanes) if ty.bytes() == REGISTER => of_scalar(scalar).by(u32::from(lanes)),
        Type::Vector(..) => bits(ty.bytes() * 8),
        Type::Term => Some(types::I32),
        Type::Regs(..) | Type::Coop(..) | Type::Tile(_) | Type::Token | Type::Memory(_) => None,
    }
}
