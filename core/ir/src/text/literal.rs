//! Literals: from text to the bits of a scalar, once rounded, and back to the shortest text that gives the same bits.

use crate::eval::{narrow, widen};
use crate::types::Scalar;
use girih_base::span::Span;
use std::cmp::Ordering;

/// A literal before its type is known.
#[derive(Clone, Copy, Debug)]
pub struct Literal<'a> {
    /// Whether `-` stands before it.
    pub negative: bool,
    /// The rest.
    pub body: Body<'a>,
    /// Where it stands.
    pub span: Span,
}

/// What a literal says.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// `42`, `0xff`, `1.5e-3`.
    Number(&'a str),
    /// `inf`.
    Inf,
    /// `nan`.
    Nan,
    /// `true`, `false`.
    Bool(bool),
    /// `bits(0x7fc00001)`.
    Bits(u64),
}

/// Why a literal cannot have a type.
#[derive(Debug, PartialEq, Eq)]
pub struct Misfit {
    /// One sentence.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

fn misfit<T>(message: String, hint: &str) -> Result<T, Misfit> {
    Err(Misfit { message, hint: (!hint.is_empty()).then(|| hint.to_string()) })
}

impl Literal<'_> {
    /// The bits that it stands for in a type.
    pub fn bits(&self, ty: Scalar) -> Result<u64, Misfit> {
        let sign = if self.negative { "-" } else { "" };
        match self.body {
            Body::Bits(_) if self.negative => misfit("`bits(..)` has no sign".into(), ""),
            Body::Bits(bits) if bits & !ty.mask() != 0 => {
                misfit(format!("`bits({bits:#x})` does not fit the {} bits of `{ty}`", ty.bits()), "")
            }
            Body::Bits(bits) => Ok(bits),
            Body::Bool(value) if ty == Scalar::Bool && !self.negative => Ok(u64::from(value)),
            Body::Bool(value) => misfit(format!("`{sign}{value}` is not a number of type `{ty}`"), ""),
            _ if ty == Scalar::Bool => misfit("a `bool` is `true` or `false`".into(), ""),
            Body::Number(text) if ty.is_integer() => integer(self.negative, text, ty),
            Body::Number(text) => float(self.negative, text, ty),
            Body::Inf | Body::Nan if ty.is_integer() => misfit(format!("`{ty}` has no infinity and no NaN"), ""),
            Body::Nan if self.negative => misfit("`nan` has no sign".into(), "write the bits: `bits(0xffc00000)`"),
            Body::Nan => Ok(narrow(f64::NAN, ty)),
            Body::Inf => match infinity(ty) {
                Some(bits) => Ok(bits | u64::from(self.negative) << (ty.bits() - 1)),
                None => misfit(format!("`{ty}` has no infinity"), ""),
            },
        }
    }
}

/// The magnitude of an integer's text, `None` beyond 128 bits; or that it is none.
fn magnitude(text: &str) -> Result<Option<u128>, Misfit> {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    if digits.is_empty() || !digits.bytes().all(|b| (b as char).is_digit(radix)) {
        return misfit(format!("`{text}` is not an integer"), "");
    }
    Ok(u128::from_str_radix(digits, radix).ok())
}

/// An integer of at most 64 bits without a type: counts, offsets, seeds.
pub fn count(text: &str) -> Result<u64, Misfit> {
    match magnitude(text)?.and_then(|n| u64::try_from(n).ok()) {
        Some(n) => Ok(n),
        None => misfit(format!("`{text}` is too large"), ""),
    }
}

fn integer(negative: bool, text: &str, ty: Scalar) -> Result<u64, Misfit> {
    let value = magnitude(text)?.and_then(|n| i128::try_from(n).ok()).map(|n| if negative { -n } else { n });
    let (least, most) = match ty.is_signed() {
        true => (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1),
        false => (0, i128::from(ty.mask())),
    };
    match value {
        Some(n) if (least..=most).contains(&n) => Ok(n as u64 & ty.mask()),
        _ => {
            let sign = if negative { "-" } else { "" };
            let message = format!("`{sign}{text}` does not fit `{ty}`, which goes from {least} to {most}");
            let fits_bits = !negative && value.is_some_and(|n| n <= i128::from(ty.mask()));
            misfit(message, if fits_bits { "to give the bits of a number write `bits(..)`" } else { "" })
        }
    }
}

/// Whether a text is digits, perhaps a point and more digits, perhaps an exponent.
fn is_decimal(text: &str) -> bool {
    let (number, exponent) = text.split_once(['e', 'E']).map_or((text, "0"), |(n, e)| (n, e));
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && digits(part) && digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
}

fn float(negative: bool, text: &str, ty: Scalar) -> Result<u64, Misfit> {
    if !is_decimal(text) {
        return misfit(
            format!("`{text}` is not a decimal number"),
            "put digits on both sides of the point: `0.5`, `1.0e-3`",
        );
    }
    let bits = match ty {
        Scalar::F32 => text.parse::<f32>().ok().filter(|v| v.is_finite()).map(|v| u64::from(v.to_bits())),
        Scalar::F64 => text.parse::<f64>().ok().filter(|v| v.is_finite()).map(f64::to_bits),
        _ => short(text, ty),
    };
    match bits {
        Some(bits) => Ok(bits | u64::from(negative) << (ty.bits() - 1)),
        None => misfit(format!("`{text}` is beyond the largest `{ty}`"), "infinity is written `inf`"),
    }
}

/// The bits of `inf`, for types that have it. Conversions to 8-bit floats stop at the number before it.
fn infinity(ty: Scalar) -> Option<u64> {
    let most = narrow(f64::INFINITY, ty);
    [most, most + 1].into_iter().find(|bits| widen(*bits, ty).is_infinite())
}

/// The bits of a decimal in a float type shorter than `f32`; none beyond the largest number.
fn short(text: &str, ty: Scalar) -> Option<u64> {
    let bits = narrow(nearest_for_rounding(text, ty), ty);
    let value = widen(bits, ty);
    // Conversions give the largest number for what is beyond it, in types without infinity.
    let beyond = bits == narrow(f64::MAX, ty) && text.parse::<f64>().is_ok_and(|v| v > value);
    (value.is_finite() && !beyond).then_some(bits)
}

/// The `f64` nearest to a decimal, moved off a tie of the type if the decimal does not lie exactly on it: so that rounding it
/// gives what rounding the decimal itself would.
fn nearest_for_rounding(text: &str, ty: Scalar) -> f64 {
    let value = text.parse::<f64>().unwrap_or(f64::INFINITY);
    if !value.is_finite() || narrow(value.next_down(), ty) == narrow(value.next_up(), ty) {
        return value;
    }
    // A tie has few bits: 140 decimals show it exactly.
    match decimal(text).compare(&decimal(&format!("{value:.140}"))) {
        Ordering::Less => value.next_down(),
        Ordering::Equal => value,
        Ordering::Greater => value.next_up(),
    }
}

/// 0.d1d2d3.. times a power of ten; no zeros at either end.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn compare(&self, other: &Decimal) -> Ordering {
        self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
    }
}

fn decimal(text: &str) -> Decimal {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let all: Vec<u8> = whole.bytes().chain(part.bytes()).collect();
    let zeros = all.iter().take_while(|b| **b == b'0').count();
    let last = all.iter().rposition(|b| *b != b'0').map_or(zeros, |i| i + 1);
    let exponent = exponent.parse::<i64>().unwrap_or(0);
    Decimal { digits: all[zeros..last].to_vec(), exponent: exponent.saturating_add(whole.len() as i64 - zeros as i64) }
}

/// The shortest literal that gives these bits in a type.
pub fn write(bits: u64, ty: Scalar) -> String {
    if ty == Scalar::Bool {
        return if bits == 0 { "false".into() } else { "true".into() };
    }
    if !ty.is_float() {
        let shift = 64 - ty.bits();
        return if ty.is_signed() { (((bits << shift) as i64) >> shift).to_string() } else { bits.to_string() };
    }
    let value = widen(bits, ty);
    match value {
        _ if value.is_nan() && bits == narrow(f64::NAN, ty) => "nan".into(),
        _ if value.is_nan() => format!("bits({bits:#x})"),
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        _ => match ty {
            Scalar::F32 => format!("{:?}", value as f32),
            Scalar::F64 => format!("{value:?}"),
            _ => shortest(value, bits, ty),
        },
    }
}

/// The shortest text of a finite number in a float type shorter than `f32`.
fn shortest(value: f64, bits: u64, ty: Scalar) -> String {
    let magnitude = bits & (ty.mask() >> 1);
    let found = (0..17).find_map(|digits| {
        let text = format!("{:.digits$e}", value.abs());
        (short(&text, ty) == Some(magnitude)).then(|| text.parse::<f64>().unwrap_or(value).copysign(value))
    });
    format!("{:?}", found.unwrap_or(value))
}
