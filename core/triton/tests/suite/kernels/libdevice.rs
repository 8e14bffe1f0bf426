//! The functions of `libdevice`: all of them are there, and each keeps its bound.

use super::run::{Arg, f32s, launch, try_launch, zeros};
use girih_ir::Scalar;
use girih_triton::Alone;

/// All names of Triton's `libdevice`, by what they take: a letter for each argument (`f`, `d` floats of 32 and 64 bits, `i`, `u`, `l`, `m` integers of
/// 32 and 64 bits, signed and unsigned).
const NAMES: &[(&str, &str)] = &[
    ("i", "clz popc brev ffs abs int2double_rn int2float_rn int2float_rz int2float_rd int2float_ru int_as_float"),
    ("u", "uint2double_rn uint2float_rn uint2float_rz uint2float_rd uint2float_ru uint_as_float"),
    (
        "l",
        "ll2float_rn ll2float_rz ll2float_rd ll2float_ru ll2double_rn ll2double_rz ll2double_rd ll2double_ru longlong_as_double clz",
    ),
    (
        "m",
        "ull2float_rn ull2float_rz ull2float_rd ull2float_ru ull2double_rn ull2double_rz ull2double_rd ull2double_ru",
    ),
    ("ii", "mulhi mul24 hadd rhadd hiloint2double"),
    ("iii", "byte_perm sad"),
    (
        "d",
        "rcp64h double2float_rn double2float_rz double2float_rd double2float_ru double2int_rn double2int_rz double2int_rd double2int_ru \
         double2uint_rn double2uint_rz double2uint_rd double2uint_ru double2loint double2hiint double2ll_rn double2ll_rz double2ll_rd \
         double2ll_ru double2ull_rn double2ull_rz double2ull_rd double2ull_ru double_as_longlong sqrt floor ceil trunc rint signbit isnan isinf \
         isfinited round llround llrint abs",
    ),
    (
        "f",
        "abs floor rsqrt ceil trunc exp2 saturatef rcp_rn rcp_rz rcp_rd rcp_ru sqrt_rn sqrt_rz sqrt_rd sqrt_ru sqrt float2int_rn float2int_rz \
         float2int_rd float2int_ru float2uint_rn float2uint_rz float2uint_rd float2uint_ru float2ll_rn float2ll_rz float2ll_rd float2ll_ru \
         float2ull_rn float2ull_rz float2ull_rd float2ull_ru float_as_int float_as_uint fast_sinf fast_cosf fast_log2f fast_logf fast_expf \
         fast_tanhf fast_tanf fast_exp10f fast_log10f rsqrt_rn rint llrint nearbyint isnan signbit finitef isinf sin cos sinpi cospi tan log2 \
         exp exp10 cosh sinh tanh atan asin acos log log10 log1p acosh asinh atanh expm1 cbrt rcbrt j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 \
         erf erfinv erfc erfcx erfcinv normcdfinv normcdf lgamma tgamma round llround ilogb logb isfinited",
    ),
    (
        "ff",
        "fast_dividef div_rn div_rz div_rd div_ru add_rn add_rz add_rd add_ru mul_rn mul_rz mul_rd mul_ru sub_rn sub_rz sub_rd sub_ru fast_powf \
         copysign nextafter atan2 hypot rhypot fmod remainder pow fdim",
    ),
    ("fff", "fma_rn fma_rz fma_rd fma_ru norm3d rnorm3d fma"),
    ("ffff", "norm4d rnorm4d"),
    ("fi", "ldexp scalbn"),
    ("if", "yn jn"),
];

#[test]
fn all_names_are_there() {
    let mut names: Vec<&str> = vec![];
    for (takes, list) in NAMES {
        let arguments: Vec<String> = takes
            .chars()
            .map(|c| {
                let ty = match c {
                    'i' => "int32",
                    'u' => "uint32",
                    'l' => "int64",
                    'm' => "uint64",
                    'd' => "float64",
                    _ => "float32",
                };
                format!("v.to(tl.{ty})")
            })
            .collect();
        for name in list.split(' ') {
            names.push(name);
            let given = arguments.join(", ");
            let text = format!(
                "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n
@triton.jit\ndef k(y):\n    v = tl.arange(0, 4)\n    r = libdevice.{name}({given})\n    tl.store(y + v, r.to(tl.float32))\n"
            );
            if let Err((_, found)) = try_launch(&text, "k", [1; 3], &[("y", zeros(4))], &Alone) {
                panic!("{name}: {found:?}");
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 198);
}

/// What a function gives for these numbers, on every kind of device.
fn values(call: &str, given: &[f64]) -> Vec<f64> {
    let text = format!(
        "import triton\nimport triton.language as tl\nfrom triton.language.extra.cuda import libdevice\n
@triton.jit\ndef k(x, y):\n    at = tl.arange(0, {n})\n    v = tl.load(x + at)\n    tl.store(y + at, {call})\n",
        n = given.len()
    );
    launch(&text, "k", [1; 3], &[("x", f32s(given.iter().copied())), ("y", zeros(given.len()))]).swap_remove(1)
}

fn exactly(call: &str, given: &[f64], expected: &[f64]) {
    let found = values(call, given);
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        assert!(same, "{call} of {} is {a}, not {b}", given[i]);
    }
}

/// The distance in units in the last place stays within a bound, or is small absolutely.
fn within(call: &str, units: f64, absolute: f64, pairs: &[(f64, f64)]) {
    let mut given: Vec<f64> = pairs.iter().map(|(x, _)| *x).collect();
    given.resize(given.len().next_power_of_two(), 1.0);
    let found = values(call, &given);
    for ((x, exact), y) in pairs.iter().zip(found) {
        let unit = f64::from(f32::from_bits((*exact as f32).abs().to_bits() + 1)) - f64::from((*exact as f32).abs());
        let far = (y - exact).abs();
        assert!(far <= units * unit || far <= absolute, "{call} of {x} is {y}, not {exact}");
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn halves_are_rounded_away_from_zero() {
    let below = f64::from(f32::from_bits(0.5f32.to_bits() - 1));
    exactly(
        "libdevice.round(v)",
        &[0.5, 1.5, 2.5, -0.5, -2.5, below, 8_388_609.0, -0.25],
        &[1.0, 2.0, 3.0, -1.0, -3.0, 0.0, 8_388_609.0, -0.0],
    );
    exactly("libdevice.rint(v)", &[0.5, 1.5, 2.5, -2.5], &[0.0, 2.0, 2.0, -2.0]);
    exactly("libdevice.llround(v).to(tl.float32)", &[2.5, -2.5, 0.25, 3.0], &[3.0, -3.0, 0.0, 3.0]);
}

#[test]
fn remainders_are_exact() {
    exactly("libdevice.fmod(v, 0.1)", &[1e20, 0.3, -7.5, INF], &{
        let y = f64::from(0.1f32);
        [f64::from(1e20f32) % y, f64::from(0.3f32) % y, -7.5 % y, NAN]
    });
    exactly("libdevice.remainder(v, 2.0)", &[1.0, 3.0, -3.0, 4.5], &[1.0, -1.0, 1.0, 0.5]);
}

#[test]
fn floats_are_taken_apart() {
    exactly("libdevice.copysign(v, -1.0)", &[1.0, -2.0, 0.0, 4.0], &[-1.0, -2.0, -0.0, -4.0]);
    let next = |x: f32, by: i32| f64::from(f32::from_bits(x.to_bits().wrapping_add_signed(by)));
    exactly("libdevice.nextafter(v, 1.5)", &[1.0, 2.0, 1.5, -1.0], &[next(1.0, 1), next(2.0, -1), 1.5, next(-1.0, -1)]);
    exactly("libdevice.ilogb(v).to(tl.float32)", &[1.0, 0.75, 1024.0, 3.0], &[0.0, -1.0, 10.0, 1.0]);
    exactly("libdevice.ldexp(v, 3)", &[1.0, -0.75, INF, 0.0], &[8.0, -6.0, INF, 0.0]);
    exactly("libdevice.fdim(v, 2.0)", &[1.0, 5.0, NAN, 2.0], &[0.0, 3.0, NAN, 0.0]);
}

#[test]
fn functions_keep_their_bounds() {
    let points =
        |from: f64, to: f64| (0..16).map(move |i| f64::from((from + (to - from) * f64::from(i) / 15.3) as f32));
    let of = |f: fn(f64) -> f64, from: f64, to: f64| points(from, to).map(|x| (x, f(x))).collect::<Vec<_>>();
    within("libdevice.asinh(v)", 4.0, 0.0, &of(f64::asinh, -3.0, 900.0));
    within("libdevice.acosh(v)", 4.0, 0.0, &of(f64::acosh, 1.01, 40.0));
    within("libdevice.atanh(v)", 4.0, 0.0, &of(f64::atanh, -0.9, 0.99));
    within("libdevice.cbrt(v)", 4.0, 0.0, &of(f64::cbrt, -30.0, 7e20));
    within("libdevice.exp10(v)", 4.0, 0.0, &of(|x| 10f64.powf(x), -30.0, 30.0));
    within("libdevice.hypot(v, 3.0)", 3.0, 0.0, &of(|x| x.hypot(3.0), -1e20, 1e20));
    within("libdevice.sinpi(v)", 2.0, 0.0, &of(|x| (std::f64::consts::PI * (x % 2.0)).sin(), 0.1, 9.7));
    within("libdevice.sinh(v)", 4.0, 0.0, &of(f64::sinh, -89.0, 89.3));
    within("libdevice.cosh(v)", 4.0, 0.0, &of(f64::cosh, -89.0, 89.3));
    exactly("libdevice.log1p(v)", &[INF, -1.0, 0.0, -2.0], &[INF, -INF, 0.0, NAN]);
}

/// Where a formula would overflow on the way, or lose a sign.
#[test]
fn the_ends_of_the_range_are_right() {
    within("libdevice.cbrt(v)", 4.0, 0.0, &[(1.2e38, 1.2e38_f64.cbrt()), (-3e38, -(3e38_f64.cbrt())), (8.0, 2.0)]);
    exactly("libdevice.round(v)", &[INF, -INF, -0.25, NAN], &[INF, -INF, -0.0, NAN]);
    exactly("libdevice.erfcx(v)", &[-9.42, -9.45, -9.49, -20.0], &[INF; 4]);
    exactly("libdevice.jn(3, v)", &[1e-20, 1e-30, 0.0, -1e-20], &[0.0, 0.0, 0.0, -0.0]);
}

/// Values with more digits than `fp32` has, computed elsewhere.
#[test]
fn special_functions_keep_their_bounds() {
    within(
        "libdevice.erfc(v)",
        8.0,
        0.0,
        &[(0.5, 0.479_500_122_186_953_5), (3.0, 2.209_049_699_858_544e-5), (-1.0, 1.842_700_792_949_714_8)],
    );
    within(
        "libdevice.erfcx(v)",
        8.0,
        0.0,
        &[(0.0, 1.0), (1.0, 0.427_583_576_155_807), (10.0, 0.056_140_992_743_822_58)],
    );
    within("libdevice.erfinv(v)", 8.0, 0.0, &[(0.5, 0.476_936_276_204_469_9), (-0.25, -0.225_312_055_012_178_1)]);
    within("libdevice.erfcinv(v)", 8.0, 0.0, &[(0.5, 0.476_936_276_204_469_9), (1.5, -0.476_936_276_204_469_9)]);
    within(
        "libdevice.normcdf(v)",
        8.0,
        0.0,
        &[(0.0, 0.5), (-1.0, 0.158_655_253_931_457_05), (1.0, 0.841_344_746_068_543)],
    );
    within("libdevice.normcdfinv(v)", 8.0, 1e-7, &[(0.5, 0.0), (0.25, -0.674_489_750_196_081_7)]);
    within(
        "libdevice.lgamma(v)",
        0.0,
        1e-6,
        &[(0.5, 0.572_364_942_924_700_1), (10.0, 12.801_827_480_081_469), (1.0, 0.0)],
    );
    within(
        "libdevice.tgamma(v)",
        20.0,
        0.0,
        &[(5.0, 24.0), (0.5, 1.772_453_850_905_516), (-1.5, 2.363_271_801_207_355)],
    );
    within("libdevice.j0(v)", 0.0, 2e-6, &[(1.0, 0.765_197_686_557_966_6), (20.0, 0.167_024_664_340_583)]);
    within("libdevice.j1(v)", 0.0, 2e-6, &[(1.0, 0.440_050_585_744_933_5), (-20.0, -0.066_833_124_175_850_05)]);
    within("libdevice.y0(v)", 0.0, 2e-6, &[(1.0, 0.088_256_964_215_676_96), (20.0, 0.062_640_596_809_384)]);
    within("libdevice.y1(v)", 0.0, 2e-6, &[(1.0, -0.781_212_821_300_288_7), (20.0, -0.165_511_614_362_521_3)]);
    within("libdevice.jn(3, v)", 0.0, 1e-5, &[(1.0, 0.019_563_353_982_668_405), (5.0, 0.364_831_230_613_667)]);
    within("libdevice.yn(2, v)", 0.0, 1e-5, &[(2.0, -0.617_408_104_190_682_7)]);
    within("libdevice.cyl_bessel_i0(v)", 12.0, 0.0, &[(1.0, 1.266_065_877_752_008_4), (-10.0, 2_815.716_628_466_254)]);
    within("libdevice.cyl_bessel_i1(v)", 12.0, 0.0, &[(1.0, 0.565_159_103_992_485), (-10.0, -2_670.988_303_701_255)]);
}

/// A result lies on the right side of the exact one, and next to it.
#[test]
fn directions_are_kept() {
    let given: Vec<f64> = (0..16).map(|i| f64::from((f64::from(i) * 0.37 - 2.9) as f32)).collect();
    let y = f64::from(0.7f32);
    for (name, exact) in [("add", (|x, y| x + y) as fn(f64, f64) -> f64), ("mul", |x, y| x * y), ("div", |x, y| x / y)]
    {
        for mode in ["rz", "rd", "ru"] {
            let text = format!(
                "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n
@triton.jit\ndef k(x, y):\n    at = tl.arange(0, 16)\n    tl.store(y + at, libdevice.{name}_{mode}(tl.load(x + at), 0.7))\n"
            );
            let arguments = [("x", f32s(given.iter().copied())), ("y", zeros(16))];
            let (arrays, _) = try_launch(&text, "k", [1; 3], &arguments, &Alone).expect("it runs");
            for (x, found) in given.iter().zip(&arrays[1]) {
                let right = exact(*x, y);
                let side = match mode {
                    "rd" => *found <= right,
                    "ru" => *found >= right,
                    _ => found.abs() <= right.abs(),
                };
                assert!(
                    side && (found - right).abs() <= right.abs() * 1.2e-7,
                    "{name}_{mode} of {x}: {found}, {right}"
                );
            }
        }
    }
}

/// Rounded down, a sum that is nothing is -0. It needs doubles.
#[test]
fn a_sum_that_is_nothing_has_the_sign_of_its_direction() {
    for (call, sign) in [("add_rd(v, -v)", -1.0), ("add_ru(v, -v)", 1.0), ("fma_rd(v, v, -v * v)", -1.0)] {
        let text = format!(
            "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n
@triton.jit\ndef k(y):\n    at = tl.arange(0, 4)\n    v = at.to(tl.float32) - 1.5\n    tl.store(y + at, libdevice.{call})\n"
        );
        let (arrays, _) = try_launch(&text, "k", [1; 3], &[("y", zeros(4))], &Alone).expect("it runs");
        let is_right = |found: &f64| *found == 0.0 && found.signum() == sign;
        assert!(arrays[0].iter().all(is_right), "{call}: {:?}", arrays[0]);
    }
}

#[test]
fn what_is_not_made_for_doubles_is_refused_by_name() {
    let text = "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n
@triton.jit\ndef k(y):\n    at = tl.arange(0, 4)\n    tl.store(y + at, libdevice.erfc(at.to(tl.float64)))\n";
    let arguments = [("y", Arg::Array(Scalar::F32, vec![0.0; 4]))];
    let Err((_, found)) = try_launch(text, "k", [1; 3], &arguments, &Alone) else { panic!("it is let through") };
    assert_eq!(found[0].message, "no device has `erfc` for `fp64`: it is computed in `fp32`");
}
