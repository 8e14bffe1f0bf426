//! To which type operands are converted.

use super::value::scalar_name;
use girih_ir::Scalar;

/// The kinds that Python's numbers are compared by: truth values, integers, floats.
fn kind(scalar: Scalar) -> u8 {
    match scalar {
        Scalar::Bool => 0,
        scalar if scalar.is_float() => 2,
        _integer => 1,
    }
}

/// An operand: its type, and whether it is a number of Python, which widens nothing of its kind or a higher one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub scalar: Scalar,
    pub python: bool,
}

/// The type in which two operands meet. `divides` is for `/`, `//` and `%`, which short floats do not have.
pub(super) fn meet(a: Operand, b: Operand, divides: bool) -> Result<Scalar, String> {
    if a.python != b.python {
        let (number, tensor) = if a.python { (a.scalar, b.scalar) } else { (b.scalar, a.scalar) };
        if kind(number) <= kind(tensor) {
            let short = matches!(tensor, Scalar::F16 | Scalar::Bf16);
            return Ok(if divides && short { Scalar::F32 } else { tensor });
        }
    }
    let (a, b) = (a.scalar, b.scalar);
    let either = |scalar: Scalar| a == scalar || b == scalar;
    let short = |scalar: Scalar| if divides { Scalar::F32 } else { scalar };
    let float8 = |scalar: Scalar| scalar.is_float() && scalar.bits() == 8;
    if either(Scalar::F64) {
        Ok(Scalar::F64)
    } else if either(Scalar::F32) {
        Ok(Scalar::F32)
    } else if either(Scalar::F16) {
        Ok(short(Scalar::F16))
    } else if a == Scalar::Bf16 && b == Scalar::Bf16 {
        Ok(short(Scalar::Bf16))
    } else if either(Scalar::Bf16) {
        Ok(Scalar::F32)
    } else if float8(a) && float8(b) {
        Ok(if a == b { a } else { Scalar::F16 })
    } else if a.is_float() || b.is_float() {
        Err(format!("`{}` and `{}` have no type in common", scalar_name(a), scalar_name(b)))
    } else if divides && a.is_signed() != b.is_signed() && a != Scalar::Bool && b != Scalar::Bool {
        Err(format!("`{}` and `{}` are not divided: one is signed, the other is not", scalar_name(a), scalar_name(b)))
    } else {
        Ok(integer(a, b))
    }
}

/// The integer in which two integers meet: the wider one; of one width, the unsigned one.
pub(super) fn integer(a: Scalar, b: Scalar) -> Scalar {
    if a.is_signed() == b.is_signed() {
        return if a.bits() > b.bits() { a } else { b };
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    if unsigned.bits() >= signed.bits() { unsigned } else { signed }
}

/// The type that a Python integer gets by its size; none if it fits no type.
pub(super) fn of_int(n: i128) -> Option<Scalar> {
    match n {
        _ if i32::try_from(n).is_ok() => Some(Scalar::I32),
        _ if u32::try_from(n).is_ok() => Some(Scalar::U32),
        _ if i64::try_from(n).is_ok() => Some(Scalar::I64),
        _ if u64::try_from(n).is_ok() => Some(Scalar::U64),
        _too_large => None,
    }
}

/// The type that a Python float gets: `f32` unless it lies outside of that type's normal numbers.
pub(super) fn of_float(x: f64) -> Scalar {
    let magnitude = x.abs();
    let fits = magnitude == 0.0
        || !magnitude.is_finite()
        || (magnitude >= f64::from(f32::MIN_POSITIVE) && magnitude <= f64::from(f32::MAX));
    if fits { Scalar::F32 } else { Scalar::F64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::*;

    fn tensors(a: Scalar, b: Scalar, divides: bool) -> Result<Scalar, String> {
        meet(Operand { scalar: a, python: false }, Operand { scalar: b, python: false }, divides)
    }

    #[test]
    fn types_meet_by_tritons_rules() {
        for (a, b, expected) in [
            (F16, F32, F32),
            (F16, Bf16, F16),
            (Bf16, Bf16, Bf16),
            (F16, I64, F16),
            (Bf16, I32, F32),
            (I32, I64, I64),
            (I32, U32, U32),
            (I64, U32, I64),
            (I8, U8, U8),
            (Bool, I32, I32),
            (F64, F16, F64),
        ] {
            assert_eq!(tensors(a, b, false), Ok(expected), "{a} {b}");
            assert_eq!(tensors(b, a, false), Ok(expected), "{b} {a}");
        }
        assert_eq!(tensors(F16, F16, true), Ok(F32));
        assert!(tensors(I32, U32, true).is_err());
    }

    #[test]
    fn numbers_of_python_do_not_widen() {
        let number = |scalar| Operand { scalar, python: true };
        let tensor = |scalar| Operand { scalar, python: false };
        assert_eq!(meet(tensor(F16), number(F32), false), Ok(F16));
        assert_eq!(meet(tensor(F16), number(F32), true), Ok(F32));
        assert_eq!(meet(number(I64), tensor(I8), false), Ok(I8));
        assert_eq!(meet(tensor(I32), number(F32), false), Ok(F32));
        assert_eq!((of_int(-1), of_int(1 << 31), of_int(1 << 40)), (Some(I32), Some(U32), Some(I64)));
        assert_eq!((of_float(1.0), of_float(1e300), of_float(f64::INFINITY)), (F32, F64, F32));
    }
}
