//! What instructions on registers give: bits in, bits out.
//!
//! Integers are computed here as the PTX manual says, with its own answers where it leaves none: a division by zero gives all ones, so that a
//! missing guard shows. Floats round by [`eval`], which the other devices are held to as well.

use girih_ir::{Op, Scalar, eval};

/// The type of a name in an instruction.
pub(super) fn scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        "pred" => Scalar::Bool,
        "s8" => Scalar::I8,
        "s16" => Scalar::I16,
        "s32" => Scalar::I32,
        "s64" => Scalar::I64,
        "u8" | "b8" => Scalar::U8,
        "u16" | "b16" => Scalar::U16,
        "u32" | "b32" => Scalar::U32,
        "u64" | "b64" => Scalar::U64,
        "f16" => Scalar::F16,
        "bf16" => Scalar::Bf16,
        "f32" | "tf32" => Scalar::F32,
        "f64" => Scalar::F64,
        _ => return None,
    })
}

/// A number with its sign.
fn signed(ty: Scalar, bits: u64) -> i128 {
    let bits = bits & ty.mask();
    match ty.is_signed() {
        true if bits >> (ty.bits() - 1) & 1 == 1 => i128::from(bits) - (1i128 << ty.bits()),
        _ => bits.into(),
    }
}

/// An instruction that reads numbers of its last type and gives one. None if it is not one of those.
pub(super) fn compute(name: &[String], x: &[u64]) -> Option<u64> {
    let parts: Vec<&str> = name.iter().map(String::as_str).collect();
    let ty = scalar(parts.last()?)?;
    if parts[0] == "cvt" {
        return convert(&parts, ty, x[0]);
    }
    if parts.contains(&"approx") || parts.contains(&"full") {
        return approximate(parts[0], x);
    }
    if ty.is_float() && !matches!(parts[0], "selp") { float(&parts, ty, x) } else { integer(&parts, ty, x) }
}

fn float(parts: &[&str], ty: Scalar, x: &[u64]) -> Option<u64> {
    let op = match parts[0] {
        "add" => Op::Add,
        "sub" => Op::Sub,
        "mul" => Op::Mul,
        "div" => Op::Div,
        "fma" => Op::Fma,
        "sqrt" => Op::Sqrt,
        "min" => Op::Min,
        "max" => Op::Max,
        "neg" => Op::Neg,
        "abs" => Op::Abs,
        "setp" => return compare(parts[1], ty, x),
        _ => return None,
    };
    // Every rounding is said.
    let rounds = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Fma | Op::Sqrt);
    (rounds == (parts[1] == "rn")).then(|| eval::scalar(op, ty, ty, x)).flatten()
}

fn compare(how: &str, ty: Scalar, x: &[u64]) -> Option<u64> {
    let op = match how {
        "eq" => Op::Eq,
        "ne" if !ty.is_float() => Op::Ne,
        "neu" => Op::Ne,
        "lt" => Op::Lt,
        "le" => Op::Le,
        "gt" => Op::Gt,
        "ge" => Op::Ge,
        "num" => {
            let is = |bits| eval::scalar(Op::Eq, ty, ty, &[bits, bits]);
            return Some(is(x[0])? & is(x[1])?);
        }
        "nan" => return Some(1 ^ compare("num", ty, x)?),
        _ => return None,
    };
    eval::scalar(op, ty, ty, &[x[0] & ty.mask(), x[1] & ty.mask()])
}

fn integer(parts: &[&str], ty: Scalar, x: &[u64]) -> Option<u64> {
    let width = ty.bits();
    let (a, b) = (signed(ty, x[0]), x.get(1).map_or(0, |b| signed(ty, *b)));
    let c = || x.get(2).map_or(0, |c| signed(ty, *c));
    let result = match (parts[0], parts[1]) {
        ("add", _) => a + b,
        ("sub", _) => a - b,
        ("mul", "lo") => a.wrapping_mul(b),
        ("mul", "hi") if ty.is_signed() => (a * b) >> width,
        ("mul", "hi") => ((a as u128 * b as u128) >> width) as i128,
        ("mul", "wide") => return Some(((a * b) as u64) & wide(ty).mask()),
        ("mad", "lo") => a.wrapping_mul(b).wrapping_add(c()),
        ("mad", "wide") => return Some((a * b + i128::from(x[2])) as u64),
        ("div" | "rem", _) if b == 0 => -1,
        ("div", _) => a / b,
        ("rem", _) => a % b,
        ("min", _) => a.min(b),
        ("max", _) => a.max(b),
        ("neg", _) => -a,
        ("abs", _) => a.abs(),
        ("and", _) => a & b,
        ("or", _) => a | b,
        ("xor", _) => a ^ b,
        ("not", _) => !a,
        ("shl", _) => {
            if (x[1] as u32) < width {
                a << (x[1] as u32)
            } else {
                0
            }
        }
        ("shr", _) => a >> (x[1] as u32).min(width),
        ("clz", _) => i128::from((x[0] & ty.mask()).leading_zeros() - (64 - width)),
        ("popc", _) => i128::from((x[0] & ty.mask()).count_ones()),
        ("brev", _) => i128::from((x[0] & ty.mask()).reverse_bits() >> (64 - width)),
        ("setp", how) => return compare(how, ty, x),
        ("selp", _) => i128::from(if x[2] & 1 == 1 { x[0] } else { x[1] }),
        ("bfe", _) => {
            let (start, length) = (x[1] as u32, x[2] as u32);
            let field = (x[0] >> start) & ((1 << length) - 1);
            let negative = ty.is_signed() && field >> (length - 1) & 1 == 1;
            i128::from(field) - if negative { 1 << length } else { 0 }
        }
        ("prmt", _) => {
            let bytes = u64::from(x[0] as u32) | x[1] << 32;
            let byte = |i: u32| (bytes >> (8 * (x[2] >> (4 * i) & 7)) & 0xff) << (8 * i);
            i128::from((0..4).map(byte).sum::<u64>())
        }
        ("cvta", _) => a,
        _ => return None,
    };
    Some(result as u64 & ty.mask())
}

/// The type of a product of numbers.
fn wide(ty: Scalar) -> Scalar {
    if ty.bits() == 16 { Scalar::U32 } else { Scalar::U64 }
}

/// `cvt.rounding.to.from`.
fn convert(parts: &[&str], from: Scalar, x: u64) -> Option<u64> {
    let (to, rounding) = (scalar(parts[parts.len() - 2])?, parts[1]);
    let x = x & from.mask();
    match (from.is_float(), to.is_float()) {
        (false, false) => Some(signed(from, x) as u64 & to.mask()),
        (true, false) => {
            let is_number = eval::scalar(Op::Eq, from, from, &[x, x])? == 1;
            if !is_number && (from == Scalar::F64 || to.bits() == 64) {
                return Some(1 << (to.bits() - 1));
            }
            (rounding == "rzi").then(|| eval::scalar(Op::Convert, to, from, &[x])).flatten()
        }
        (_, true) if rounding == "rz" && to == Scalar::F32 => towards_zero(from, x),
        (true, true) if from == to => {
            let op = match rounding {
                "rmi" => Op::Floor,
                "rpi" => Op::Ceil,
                "rni" => Op::Round,
                "rzi" => Op::Trunc,
                _ => return None,
            };
            eval::scalar(op, to, to, &[x])
        }
        (_, true) => {
            let exact = from.is_float() && to.bits() > from.bits();
            (exact != (rounding == "rn")).then(|| eval::scalar(Op::Convert, to, from, &[x])).flatten()
        }
    }
}

/// An `f32` that is not larger in magnitude.
fn towards_zero(from: Scalar, x: u64) -> Option<u64> {
    let near = eval::scalar(Op::Convert, Scalar::F32, from, &[x])? as u32;
    let value = f32::from_bits(near);
    let beyond = match from {
        Scalar::F64 => f64::from(value).abs() > f64::from_bits(x).abs(),
        _ => (value as i128).abs() > signed(from, x).abs(),
    };
    Some((if beyond { near - 1 } else { near }).into())
}

/// The card's own functions.
fn approximate(name: &str, x: &[u64]) -> Option<u64> {
    let a = f32::from_bits(x[0] as u32);
    let result = match name {
        "div" => a / f32::from_bits(x[1] as u32),
        "rcp" => 1.0 / a,
        "sqrt" => a.sqrt(),
        "rsqrt" => 1.0 / a.sqrt(),
        "ex2" => a.exp2(),
        "lg2" => a.log2(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tanh" => a.tanh(),
        _ => return None,
    };
    Some(result.to_bits().into())
}

/// What an atomic operation leaves in memory.
pub(super) fn atomic(op: &str, ty: Scalar, old: u64, x: &[u64]) -> Option<u64> {
    let combined = |op| eval::scalar(op, ty, ty, &[old, x[0] & ty.mask()]);
    match op {
        "add" => combined(Op::Add),
        "min" => combined(Op::Min),
        "max" => combined(Op::Max),
        "and" => combined(Op::And),
        "or" => combined(Op::Or),
        "xor" => combined(Op::Xor),
        "exch" => Some(x[0] & ty.mask()),
        "cas" => Some(if old == x[0] & ty.mask() { x[1] & ty.mask() } else { old }),
        _ => None,
    }
}

/// Pairs of short floats.
pub(super) fn pair(name: &[String], x: &[u64]) -> Option<u64> {
    let parts: Vec<&str> = name.iter().map(String::as_str).collect();
    let short = |name| match name {
        "e4m3x2" => Some(Scalar::F8E4M3),
        "e5m2x2" => Some(Scalar::F8E5M2),
        _ => None,
    };
    match parts[..] {
        ["cvt", "rn", "satfinite", to, "f32"] => {
            let half = |bits| eval::scalar(Op::Convert, short(to)?, Scalar::F32, &[bits]);
            Some(half(x[0])? << 8 | half(x[1])?)
        }
        // To the nearest number of 10 bits behind the point, away from zero where two are as near.
        ["cvt", "rna", "tf32", "f32"] => {
            let bits = x[0] as u32;
            let finite = bits & 0x7f80_0000 != 0x7f80_0000;
            Some(u64::from(if finite { (bits + 0x1000) & !0x1fff } else { bits }))
        }
        ["cvt", "rn", to @ ("f16x2" | "bf16x2"), "f32"] => {
            let to = if to == "f16x2" { Scalar::F16 } else { Scalar::Bf16 };
            let half = |bits| eval::scalar(Op::Convert, to, Scalar::F32, &[bits]);
            Some(half(x[0])? << 16 | half(x[1])?)
        }
        ["cvt", "rn", "f16x2", from] => {
            let half = |bits| eval::scalar(Op::Convert, Scalar::F16, short(from)?, &[bits & 0xff]);
            Some(half(x[0] >> 8)? << 16 | half(x[0])?)
        }
        _ => None,
    }
}
