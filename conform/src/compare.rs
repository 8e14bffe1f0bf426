//! Comparison of a device's results with the reference's, by numeric class.

use super::unpack;
use girih_ir::Scalar;
use girih_ir::eval::widen;
use girih_ir::ops::Class;

/// How the contents of a buffer are compared after a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// What the buffer holds before the launch, if its denormal numbers matter.
    pub input: Option<Scalar>,
    /// What it holds afterwards.
    pub output: Scalar,
    /// How exactly the elements agree.
    pub agreement: Agreement,
}

/// How exactly elements agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// By a numeric class of the table.
    Class(Class),
    /// Within this part of the larger magnitude, or this absolute difference.
    Relative(f64),
    /// Not at all: the contents do not matter.
    Ignored,
}

impl Expectation {
    /// Every bit counts.
    pub fn exact(output: Scalar) -> Expectation {
        Expectation { input: None, output, agreement: Agreement::Class(Class::Exact) }
    }
    /// By a class.
    pub fn class(output: Scalar, class: Class) -> Expectation {
        Expectation { input: None, output, agreement: Agreement::Class(class) }
    }
    /// The buffer is only read.
    pub fn input(scalar: Scalar) -> Expectation {
        Expectation { input: Some(scalar), output: scalar, agreement: Agreement::Class(Class::Exact) }
    }
}

/// An element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Its position.
    pub index: usize,
    /// What the reference gives, as text.
    pub expected: String,
    /// What the device gives, as text.
    pub found: String,
    /// How many elements differ in all.
    pub count: usize,
}

/// Compares a buffer with the reference's contents; `flushed` is what the reference gives when inputs are flushed.
pub fn compare(expectation: &Expectation, expected: &[u8], flushed: &[u8], found: &[u8]) -> Result<(), Mismatch> {
    let scalar = expectation.output;
    let triples = unpack(scalar, expected).into_iter().zip(unpack(scalar, flushed)).zip(unpack(scalar, found));
    let mut first: Option<Mismatch> = None;
    for (index, ((expected, flushed), found)) in triples.enumerate() {
        let same = |reference| agree(expectation.agreement, scalar, reference, found);
        if same(expected) || same(flushed) {
            continue;
        }
        let mismatch = first.get_or_insert_with(|| Mismatch {
            index,
            expected: show(scalar, expected),
            found: show(scalar, found),
            count: 0,
        });
        mismatch.count += 1;
    }
    first.map_or(Ok(()), Err)
}

/// Whether two values agree.
fn agree(agreement: Agreement, scalar: Scalar, expected: u64, found: u64) -> bool {
    if expected == found {
        return true;
    }
    match agreement {
        Agreement::Ignored => true,
        _ if !scalar.is_float() => false,
        _ if is_nan(scalar, expected) => is_nan(scalar, found),
        Agreement::Class(Class::None | Class::Exact) => false,
        Agreement::Class(Class::Rounded | Class::Library(_)) => is_tiny(scalar, expected) && is_zero(scalar, found),
        Agreement::Class(Class::Bounded(units, power)) => {
            let (a, b) = (value(scalar, expected), value(scalar, found));
            // A unit of a short float is worth many of `f32`, but one rounding step is always allowed.
            let mantissa = scalar.float_format().map_or(23, |format| format.mantissa);
            let units = (u64::from(units) >> (23 - mantissa.min(23))).max(1);
            distance(scalar, expected, found) <= units || (a - b).abs() <= 2f64.powi(power)
        }
        Agreement::Relative(part) => {
            let (a, b) = (value(scalar, expected), value(scalar, found));
            (a - b).abs() <= part * a.abs().max(b.abs()).max(1.0)
        }
    }
}

fn magnitude(scalar: Scalar, bits: u64) -> u64 {
    bits & scalar.mask() >> 1
}

fn is_nan(scalar: Scalar, bits: u64) -> bool {
    match scalar {
        // This format has no infinities: only all ones is NaN.
        Scalar::F8E4M3 => magnitude(scalar, bits) == 0x7f,
        _ => scalar.float_format().is_some_and(|format| magnitude(scalar, bits) > format.infinity()),
    }
}

fn is_zero(scalar: Scalar, bits: u64) -> bool {
    magnitude(scalar, bits) == 0
}

/// Zero, denormal, or the least normal number, to which a denormal result may be rounded before it is flushed.
fn is_tiny(scalar: Scalar, bits: u64) -> bool {
    scalar.float_format().is_some_and(|format| magnitude(scalar, bits) <= format.least_normal())
}

/// A number, or the zero of its sign in place of a denormal one.
pub(super) fn flushed(scalar: Scalar, bits: u64) -> u64 {
    let denormal = scalar.float_format().is_some_and(|format| magnitude(scalar, bits) < format.least_normal());
    if denormal { bits & !(scalar.mask() >> 1) } else { bits }
}

/// Replaces denormal numbers by zeros of their sign.
pub(super) fn flush(bytes: &mut [u8], scalar: Scalar) {
    if !scalar.is_float() {
        return;
    }
    let flushed = unpack(scalar, bytes).into_iter().map(|bits| flushed(scalar, bits));
    bytes.copy_from_slice(&super::pack(scalar, flushed));
}

/// How many representable numbers lie between two of one type.
fn distance(scalar: Scalar, a: u64, b: u64) -> u64 {
    let ordered = |bits: u64| {
        let magnitude = magnitude(scalar, bits) as i128;
        if bits & !(scalar.mask() >> 1) & scalar.mask() != 0 { -magnitude } else { magnitude }
    };
    u64::try_from((ordered(a) - ordered(b)).abs()).unwrap_or(u64::MAX)
}

/// The number as an `f64`, which holds all of these types but the longest integers exactly.
pub(crate) fn value(scalar: Scalar, bits: u64) -> f64 {
    let signed = || (bits << (64 - scalar.bits())) as i64 >> (64 - scalar.bits());
    match scalar {
        Scalar::F64 | Scalar::F32 | Scalar::F16 | Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => widen(bits, scalar),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => signed() as f64,
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => bits as f64,
    }
}

pub(super) fn show(scalar: Scalar, bits: u64) -> String {
    let width = scalar.bytes() as usize * 2;
    if scalar.is_float() {
        format!("{:e} (0x{bits:0width$x})", value(scalar, bits))
    } else {
        format!("{} (0x{bits:0width$x})", value(scalar, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn differ(class: Class, expected: f32, found: f32) -> bool {
        let expectation = Expectation::class(Scalar::F32, class);
        compare(&expectation, &bytes(&[expected]), &bytes(&[expected]), &bytes(&[found])).is_err()
    }

    #[test]
    fn classes_allow_what_they_say_and_no_more() {
        let next = |x: f32, by: u32| f32::from_bits(x.to_bits() + by);
        assert!(!differ(Class::Exact, f32::NAN, -f32::NAN));
        assert!(differ(Class::Exact, 0.0, -0.0));
        assert!(!differ(Class::Rounded, 0.0, -0.0));
        assert!(differ(Class::Rounded, 1.0, next(1.0, 1)));
        assert!(!differ(Class::Rounded, 1e-40, 0.0));
        assert!(differ(Class::Rounded, 1e-30, 0.0));
        assert!(differ(Class::Rounded, f32::NAN, 1.0) && differ(Class::Rounded, 1.0, f32::NAN));
        assert!(!differ(Class::Bounded(4, -149), 1e6, next(1e6, 4)));
        assert!(differ(Class::Bounded(4, -149), 1e6, next(1e6, 5)));
        assert!(differ(Class::Bounded(4, -149), f32::INFINITY, 1e6));
    }

    #[test]
    fn small_floats_have_their_values() {
        for bits in 0..=u16::MAX {
            let half = half::f16::from_bits(bits).to_f64();
            let ours = value(Scalar::F16, bits.into());
            assert!(ours == half || ours.is_nan() && half.is_nan(), "{bits:x}");
            let brain = half::bf16::from_bits(bits).to_f64();
            let ours = value(Scalar::Bf16, bits.into());
            assert!(ours == brain || ours.is_nan() && brain.is_nan(), "{bits:x}");
        }
        assert_eq!(value(Scalar::F8E4M3, 0x7e), 448.0);
        assert_eq!(value(Scalar::F8E5M2, 0x7b), 57344.0);
    }

    #[test]
    fn denormals_are_flushed_with_their_sign() {
        let mut data = bytes(&[1e-40, -1e-40, 1.0, 0.0, f32::NAN]);
        flush(&mut data, Scalar::F32);
        assert_eq!(unpack(Scalar::F32, &data)[..4], [0, 0x8000_0000, 0x3f80_0000, 0]);
    }
}
