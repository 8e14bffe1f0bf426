//! The values on which operations are tried: zeros, ones, extremes, halves, denormals, infinities, NaN, and some
//! ordinary numbers.

use girih_ir::{FloatFormat, Op, Scalar};

/// Combinations of operands for an operation.
#[derive(Clone)]
pub(super) struct Edges {
    operands: Vec<Vec<u64>>,
}

impl Edges {
    /// The values for operands of these types. Where the operation is defined on a range only, they lie in it.
    pub(super) fn of(op: Op, types: &[Scalar]) -> Edges {
        let range = moderate(op);
        let mut operands: Vec<Vec<u64>> = types
            .iter()
            .map(|scalar| match range {
                Some([low, high]) if scalar.is_float() => spread(*scalar, low, high),
                _ => values(*scalar),
            })
            .collect();
        // Triples of all values would be many thousands.
        if operands.len() > 2 {
            for (values, scalar) in operands.iter_mut().zip(types) {
                let kept = if range.is_some() { vec![] } else { extremes(*scalar) };
                thin(values, 24, &kept);
            }
        }
        Edges { operands }
    }

    /// Takes one operand away: a few of its values, as constants of a kernel, and the others.
    pub(super) fn without(mut self, operand: usize, op: Op, scalar: Scalar) -> (Vec<u64>, Edges) {
        let mut constants = self.operands.remove(operand);
        if moderate(op).is_some() && scalar.is_float() {
            thin(&mut constants, 6, &[]);
        } else {
            let few = few(scalar);
            constants.retain(|value| few.contains(value));
        }
        (constants, self)
    }

    /// All combinations: one column for each operand.
    pub(super) fn columns(self) -> Vec<Vec<u64>> {
        let total: usize = self.operands.iter().map(Vec::len).product();
        let mut period = 1;
        let mut columns = vec![];
        for values in self.operands {
            columns.push((0..total).map(|i| values[i / period % values.len()]).collect());
            period *= values.len();
        }
        columns
    }
}

/// Keeps `n` values: those that have to stay, and others that are spread over all.
fn thin(values: &mut Vec<u64>, n: usize, kept: &[u64]) {
    if values.len() > n {
        let others = n - kept.len();
        let spread = (0..others).map(|i| values[i * values.len() / others]);
        *values = kept.iter().copied().chain(spread).collect();
        values.sort_unstable();
        values.dedup();
    }
}

/// Where operations are special: zeros, ones, the least and greatest numbers, denormals, infinities, NaN.
fn extremes(scalar: Scalar) -> Vec<u64> {
    let mask = scalar.mask();
    let Some(format) = scalar.float_format() else {
        let top = mask / 2 + 1;
        return vec![0, 1 & mask, mask, top, top - 1];
    };
    let (one, normal, infinity) = (from_f64(scalar, 1.0), format.least_normal(), format.infinity());
    let positive = [0, 1, normal - 1, normal, one, infinity - 1, infinity];
    positive.iter().flat_map(|bits| [*bits, bits | format.sign()]).chain([infinity + 1]).collect()
}

/// The values for which compilers have rules of their own: what changes nothing, what decides all, powers of two, what signs and rounding
/// make special.
fn few(scalar: Scalar) -> Vec<u64> {
    let mut all = extremes(scalar);
    if scalar.is_float() {
        all.extend([0.5, 2.0, 3.0].map(|number| from_f64(scalar, number)));
    } else {
        all.extend([3, 8, 100, scalar.mask().wrapping_sub(6)].map(|number| number & scalar.mask()));
    }
    all
}

/// Edge values of a type.
pub(super) fn values(scalar: Scalar) -> Vec<u64> {
    let bits = scalar.bits();
    if scalar == Scalar::Bool {
        return vec![0, 1];
    }
    let mut all = scalar.float_format().map_or_else(|| integers(bits), |format| floats(scalar, format));
    let mut random = 0x2545_f491_4f6c_dd1du64 ^ u64::from(bits);
    for _ in 0..8 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        all.push(random & scalar.mask());
    }
    all
}

fn integers(bits: u32) -> Vec<u64> {
    let top = 1u64 << (bits - 1);
    let mask = u64::MAX >> (64 - bits);
    let all = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        100,
        127,
        128,
        255,
        256,
        0x7fff,
        0xffff,
        0x1_0000,
        0x00ff_ffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        top,
        top - 1,
        top + 1,
        mask,
        mask - 1,
        mask - 6,
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        0x0123_4567_89ab_cdef,
        // Ties between two `f32`, and numbers that become one if they are rounded in two steps: at 31 bits, at 53.
        0x0100_0001,
        0x0100_0003,
        0xc000_017f,
        0x4000_0040_0000_0001,
        // The same for `f64`.
        0x0020_0000_0000_0001,
        0x0020_0000_0000_0003,
    ];
    let mut all: Vec<u64> = all.iter().map(|v| v & mask).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn floats(scalar: Scalar, format: FloatFormat) -> Vec<u64> {
    let FloatFormat { exponent, mantissa } = format;
    let (sign, infinity, one) = (format.sign(), format.infinity(), scalar.one_bits());
    let step = 1u64 << mantissa;
    let half_step = step >> 1;
    let mut all = vec![
        0,
        1,
        step - 1,
        step,
        step + 1,
        one,
        one + 1,
        one - 1,
        one - step,
        one + half_step,
        one + step,
        one + step + half_step / 2,
        one + step + half_step,
        one + 2 * step + half_step / 2,
        one + 3 * step,
        infinity - 1,
        infinity,
        infinity + half_step.max(1),
        infinity | (step - 1),
    ];
    // Powers of two around the limits of integers, and a half below them.
    for power in [7u64, 8, 15, 16, 22, 23, 24, 31, 32, 52, 53, 63, 64] {
        let biased = (1u64 << (exponent - 1)) - 1 + power;
        if biased < (1 << exponent) - 1 {
            all.extend([biased << mantissa, (biased << mantissa) - 1, (biased << mantissa) + half_step]);
        }
    }
    // pi and e, cut to the type.
    for number in [std::f64::consts::PI, std::f64::consts::E] {
        all.push(from_f64(scalar, number));
    }
    let negative: Vec<u64> = all.iter().map(|v| v | sign).collect();
    all.extend(negative);
    all.sort_unstable();
    all.dedup();
    all
}

/// Numbers over a range, both ends included, geometrically where the range is positive.
fn spread(scalar: Scalar, low: f64, high: f64) -> Vec<u64> {
    let count = 61;
    let at = |i: u32| {
        let part = f64::from(i) / f64::from(count - 1);
        if low > 0.0 { low * (high / low).powf(part) } else { low + (high - low) * part }
    };
    (0..count).map(|i| from_f64(scalar, at(i))).collect()
}

/// A number cut (not rounded) to a type: any nearby value will do.
fn from_f64(scalar: Scalar, number: f64) -> u64 {
    match scalar {
        Scalar::F64 => number.to_bits(),
        Scalar::F32 => u64::from((number as f32).to_bits()),
        Scalar::Bf16 => u64::from((number as f32).to_bits() >> 16),
        Scalar::F16 => u64::from(half::f16::from_f64(number).to_bits()),
        Scalar::F8E5M2 => u64::from(half::f16::from_f64(number).to_bits() >> 8),
        _ => u64::from((number as f32).to_bits() >> 20 & 0x7f),
    }
}

/// The range in which a native operation is bounded; both ends positive means magnitudes that are positive.
fn moderate(op: Op) -> Option<[f64; 2]> {
    match op {
        Op::DivApprox | Op::RcpApprox => Some([1e-4, 1e4]),
        Op::SqrtApprox | Op::RsqrtApprox | Op::LogApprox | Op::Log2Approx | Op::Mad => Some([1e-4, 6e4]),
        Op::ExpApprox => Some([-9.0, 9.0]),
        Op::Exp2Approx => Some([-13.0, 13.0]),
        Op::SinApprox | Op::CosApprox => Some([-3.125, 3.125]),
        Op::TanhApprox => Some([-10.0, 10.0]),
        _no_rule => None,
    }
}

/// Values for a subgroup, of which each order gives the same sum or product: edges where that is so of all numbers; else floats that are added or
/// multiplied exactly.
pub(super) fn shared(op: Op, scalar: Scalar, i: usize) -> u64 {
    let adds = matches!(op, Op::SubgroupAdd | Op::InclusiveAdd | Op::ExclusiveAdd);
    let multiplies = matches!(op, Op::SubgroupMul | Op::InclusiveMul | Op::ExclusiveMul);
    if scalar.is_float() && adds {
        return from_f64(scalar, [1.0, 2.0, 1.0, -1.0, 4.0, 1.0, 2.0][i % 7]);
    }
    if scalar.is_float() && multiplies {
        return from_f64(scalar, [1.0, 2.0, 0.5, -1.0, 4.0, 0.25, 1.0][i % 7]);
    }
    let mut all = values(scalar);
    if let Some(format) = scalar.float_format() {
        // What is least among NaN, and what becomes of denormals, is a device's affair.
        let (normal, magnitude) = (format.least_normal(), format.sign() - 1);
        all.retain(|bits| bits & magnitude == 0 || (normal..=format.infinity()).contains(&(bits & magnitude)));
    }
    // Neighbours are far from each other.
    all[i * 7 % all.len()]
}
