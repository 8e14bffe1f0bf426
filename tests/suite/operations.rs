//! What kernels call, type by type: one kernel for each type computes everything that there is for it, and what comes out is held to what is computed here
//! in `f64`. Numbers are small and whole, so that short types hold every result.
//!
//! `GIRIH_DEVICE` names devices, with commas, instead of those of this machine.

use crate::support::places::places;
use girih::devices;
use girih::runtime;
use girih::triton::{Argument, KernelFile, Request};
use girih::{Code, Report};
use girih_ir::{Scalar, eval};
use girih_runtime::{Buffer, Device};
use girih_workbench::share;
use std::fmt::Write;

/// Elements of a tile.
const N: usize = 64;

/// An expression of x and y, and what element i of it is.
type Row = (&'static str, fn(&[f64], &[f64], usize) -> f64);

/// For all types.
const COMMON: &[Row] = &[
    ("x + y", |x, y, i| x[i] + y[i]),
    ("x - x", |_, _, _| 0.0),
    ("x * y", |x, y, i| x[i] * y[i]),
    ("x + 1", |x, _, i| x[i] + 1.0),
    ("x == y", |x, y, i| f64::from(u8::from(x[i] == y[i]))),
    ("x != y", |x, y, i| f64::from(u8::from(x[i] != y[i]))),
    ("x < y", |x, y, i| f64::from(u8::from(x[i] < y[i]))),
    ("x <= y", |x, y, i| f64::from(u8::from(x[i] <= y[i]))),
    ("x > y", |x, y, i| f64::from(u8::from(x[i] > y[i]))),
    ("x >= y", |x, y, i| f64::from(u8::from(x[i] >= y[i]))),
    ("tl.where(x < y, x, y)", |x, y, i| x[i].min(y[i])),
    ("tl.maximum(x, y)", |x, y, i| x[i].max(y[i])),
    ("tl.minimum(x, y)", |x, y, i| x[i].min(y[i])),
    ("tl.abs(x)", |x, _, i| x[i].abs()),
    ("tl.sum(x, 0)", |x, _, _| x.iter().sum()),
    ("tl.max(x, 0)", |x, _, _| x.iter().copied().fold(f64::MIN, f64::max)),
    ("tl.min(x, 0)", |x, _, _| x.iter().copied().fold(f64::MAX, f64::min)),
    ("tl.argmax(x, 0)", |x, _, _| first(x, f64::max)),
    ("tl.argmin(x, 0)", |x, _, _| first(x, f64::min)),
    ("tl.reduce(x, 0, larger)", |x, _, _| x.iter().copied().fold(f64::MIN, f64::max)),
    ("tl.cumsum(x, 0)", |x, _, i| x[..=i].iter().sum()),
    ("tl.cumsum(x, 0, reverse=True)", |x, _, i| x[i..].iter().sum()),
    ("tl.associative_scan(x, 0, larger)", |x, _, i| x[..=i].iter().copied().fold(f64::MIN, f64::max)),
    ("tl.sum(tl.reshape(x, [8, 8]), 1, keep_dims=True).broadcast_to([8, 8]).reshape([64])", |x, _, i| {
        x[i / 8 * 8..][..8].iter().sum()
    }),
    ("tl.trans(tl.reshape(x, [4, 16])).reshape([64])", |x, _, i| x[i % 4 * 16 + i / 4]),
    ("tl.permute(tl.reshape(x, [2, 4, 8]), (2, 0, 1)).reshape([64])", |x, _, i| x[i / 4 % 2 * 32 + i % 4 * 8 + i / 8]),
    ("x[None, :].broadcast_to([1, 64]).ravel()", |x, _, i| x[i]),
    ("tl.expand_dims(x, 1).reshape([64])", |x, _, i| x[i]),
    ("halves(x, y)", |x, y, i| if i % 2 == 0 { y[i / 2] } else { x[i / 2] }),
    ("tl.full([64], 3, x.dtype)", |_, _, _| 3.0),
    ("tl.zeros_like(x)", |_, _, _| 0.0),
    ("x.to(tl.float32) / 2", |x, _, i| x[i] / 2.0),
    ("x.to(tl.int32)", |x, _, i| x[i].trunc()),
    ("x.to(tl.int64)", |x, _, i| x[i].trunc()),
    ("x.to(tl.int8)", |x, _, i| x[i].trunc()),
    ("x.to(tl.int1)", |x, _, i| f64::from(u8::from(x[i] != 0.0))),
    ("x.to(tl.float16)", |x, _, i| x[i]),
    ("x.to(tl.bfloat16)", |x, _, i| x[i]),
];

/// For integers.
const INTEGERS: &[Row] = &[
    ("x // y", |x, y, i| (x[i] / y[i]).trunc()),
    ("x % y", |x, y, i| x[i] % y[i]),
    ("x & y", |x, y, i| (x[i] as i64 & y[i] as i64) as f64),
    ("x | y", |x, y, i| (x[i] as i64 | y[i] as i64) as f64),
    ("x ^ y", |x, y, i| (x[i] as i64 ^ y[i] as i64) as f64),
    ("x << 1", |x, _, i| x[i] * 2.0),
    ("x >> 1", |x, _, i| (x[i] / 2.0).floor()),
    ("tl.cdiv(tl.abs(x), y)", |x, y, i| (x[i].abs() / y[i]).ceil()),
    ("tl.xor_sum(x, 0)", |x, _, _| x.iter().fold(0, |n, x| n ^ *x as i64) as f64),
];

/// For floats.
const FLOATS: &[Row] = &[
    ("x / y", |x, y, i| x[i] / y[i]),
    ("-x", |x, _, i| -x[i]),
    ("tl.clamp(x, -2.0, 3.0)", |x, _, i| x[i].clamp(-2.0, 3.0)),
    ("tl.fma(x, y, x)", |x, y, i| x[i] * y[i] + x[i]),
];

/// For `f32`: other floats are converted first, and a kernel that does not is refused by name.
const MATH: &[Row] = &[
    ("tl.exp(x / 4)", |x, _, i| (x[i] / 4.0).exp()),
    ("tl.exp2(x)", |x, _, i| x[i].exp2()),
    ("tl.log(y)", |_, y, i| y[i].ln()),
    ("tl.log2(y)", |_, y, i| y[i].log2()),
    ("tl.sin(x)", |x, _, i| x[i].sin()),
    ("tl.cos(x)", |x, _, i| x[i].cos()),
    ("tl.sqrt(y)", |_, y, i| y[i].sqrt()),
    ("tl.sqrt_rn(y)", |_, y, i| y[i].sqrt()),
    ("tl.rsqrt(y)", |_, y, i| 1.0 / y[i].sqrt()),
    ("tl.floor(x / 3)", |x, _, i| (x[i] / 3.0).floor()),
    ("tl.ceil(x / 3)", |x, _, i| (x[i] / 3.0).ceil()),
    ("tl.sigmoid(x)", |x, _, i| 1.0 / (1.0 + (-x[i]).exp())),
    ("tl.fdiv(x, y)", |x, y, i| x[i] / y[i]),
    ("tl.div_rn(x, y)", |x, y, i| x[i] / y[i]),
    ("libdevice.tanh(x)", |x, _, i| x[i].tanh()),
    ("libdevice.pow(y, x / 4)", |x, y, i| y[i].powf(x[i] / 4.0)),
    ("tl.softmax(x)", |x, _, i| x[i].exp() / x.iter().map(|x| x.exp()).sum::<f64>()),
];

fn first(x: &[f64], best: fn(f64, f64) -> f64) -> f64 {
    let found = x.iter().copied().reduce(best).unwrap_or(0.0);
    x.iter().position(|x| *x == found).unwrap_or(0) as f64
}

const HEAD: &str = "
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def halves(x, y):
    a, b = tl.split(tl.join(x, y))
    both = tl.join(b, a).reshape([128])
    return tl.sum(tl.where(tl.arange(0, 2)[:, None] == 0, both.reshape([2, 64]), tl.zeros_like(both).reshape([2, 64])), 0)


@triton.jit
def put(out_ptr, row: tl.constexpr, value):
    tl.store(out_ptr + row * 64 + tl.arange(0, 64), tl.zeros([64], tl.float32) + value.to(tl.float32))


@triton.jit
def k(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 64)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + at)
";

fn rows(scalar: Scalar) -> Vec<Row> {
    let groups: &[&[Row]] = match (scalar.is_float(), scalar.bits()) {
        (false, _) => &[COMMON, INTEGERS],
        (true, 32) => &[COMMON, FLOATS, MATH],
        (true, _) => &[COMMON, FLOATS],
    };
    groups.concat()
}

/// An array on a device.
fn place(device: &Device, scalar: Scalar, values: &[f64]) -> Buffer {
    let bits = |x: f64| if scalar.is_float() { eval::narrow(x, scalar) } else { x as i64 as u64 };
    let size = scalar.bytes() as usize;
    let bytes: Vec<u8> = values.iter().flat_map(|x| bits(*x).to_le_bytes().into_iter().take(size)).collect();
    device.upload(&bytes).expect("there is memory")
}

fn fetch(device: &Device, buffer: &Buffer, count: usize) -> Vec<f32> {
    let mut bytes = vec![0; count * 4];
    device.read(buffer, 0, &mut bytes).expect("it can be read");
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Runs a kernel of pointers; the arrays are given by type and value, the last one is the result, of `f32`.
fn run(device: &Device, text: &str, arrays: &[(&str, Scalar, Vec<f64>)]) -> Result<Vec<f32>, Report> {
    let file = KernelFile::from_text("operations.py", text);
    let arguments = arrays.iter().map(|(name, scalar, _)| ((*name).to_owned(), Argument::Buffer(*scalar))).collect();
    let loaded = file.load(device, &Request { kernel: "k".into(), arguments, ..Request::default() })?;
    let buffers: Vec<Buffer> = arrays.iter().map(|(_, scalar, values)| place(device, *scalar, values)).collect();
    let named = arrays.iter().zip(&buffers).map(|((name, ..), b)| (*name, runtime::Argument::buffer(b)));
    loaded.launch(device, [1; 3], &named.collect::<Vec<_>>())?;
    let (last, values) = (&buffers[buffers.len() - 1], &arrays[arrays.len() - 1].2);
    Ok(fetch(device, last, values.len()))
}

/// Runs it, or says that the device lacks what it needs.
fn run_or_refuse(device: &Device, text: &str, arrays: &[(&str, Scalar, Vec<f64>)]) -> Option<Vec<f32>> {
    match run(device, text, arrays) {
        Ok(found) => Some(found),
        Err(report) => {
            let refused = report.diagnostics.iter().all(|d| matches!(d.code, Code::NeedsFeature | Code::OverLimit));
            assert!(refused, "{}: {report}", device.info().name);
            None
        }
    }
}

const SCALARS: &[Scalar] = &[
    Scalar::I8,
    Scalar::I16,
    Scalar::I32,
    Scalar::I64,
    Scalar::U8,
    Scalar::U16,
    Scalar::U32,
    Scalar::U64,
    Scalar::F16,
    Scalar::Bf16,
    Scalar::F32,
    Scalar::F64,
];

/// Small whole numbers; y is positive.
fn numbers(scalar: Scalar) -> (Vec<f64>, Vec<f64>) {
    let least = if scalar.is_signed() || scalar.is_float() { -1.0 } else { 0.0 };
    let x = (0..N).map(|i| f64::from((i * 5 % 7) as u32) / 2.0).map(|x| (x + least).trunc());
    (x.collect(), (0..N).map(|i| f64::from((i * 3 % 4) as u32 + 1)).collect())
}

#[test]
fn operations_give_what_they_mean_for_every_type() {
    // In part, each type is tried on every second device.
    let share = share(2);
    for (number, (selector, profile)) in places().into_iter().enumerate() {
        let device = devices::open(&selector, profile).expect("the device is there");
        let mut ran = 0;
        for scalar in share.of(SCALARS.iter().copied().skip(share.offset(number))) {
            let (x, y) = numbers(scalar);
            // Few at once: drivers in software compile slowly.
            for rows in rows(scalar).chunks(16) {
                let mut text = HEAD.to_owned();
                for (i, (expression, _)) in rows.iter().enumerate() {
                    let _ = writeln!(text, "    put(out_ptr, {i}, {expression})");
                }
                let out = vec![0.0; rows.len() * N];
                let arrays =
                    [("x_ptr", scalar, x.clone()), ("y_ptr", scalar, y.clone()), ("out_ptr", Scalar::F32, out)];
                let Some(found) = run_or_refuse(&device, &text, &arrays) else { continue };
                ran += rows.len();
                for (row, (expression, meaning)) in found.chunks(N).zip(rows) {
                    for (i, found) in row.iter().enumerate() {
                        let expected = meaning(&x, &y, i);
                        let tolerance = if matches!(scalar, Scalar::F16 | Scalar::Bf16) { 4e-3 } else { 2e-6 };
                        let near = (f64::from(*found) - expected).abs() <= tolerance * expected.abs().max(1.0);
                        assert!(near, "{selector}: `{expression}` of {scalar}: element {i} is {found}, not {expected}");
                    }
                }
            }
        }
        eprintln!("{ran} operations on {selector}");
        assert!(ran >= share.least(300), "{selector}: only {ran} operations ran");
    }
}

#[test]
fn products_give_what_they_mean_for_every_type() {
    let head = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(a_ptr, b_ptr, out_ptr):\n    row, column = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]\n    a, b = tl.load(a_ptr + row * 16 + column), tl.load(b_ptr + row * 16 + column)\n";
    let types = [Scalar::I8, Scalar::U8, Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F16, Scalar::Bf16, Scalar::F32];
    let ways = ["tl.dot(a, b)", "tl.dot(a, b, acc=tl.full([16, 16], 2, S))", "tl.dot(tl.trans(a), b, out_dtype=S)"];
    // In part, each type is tried on every second device.
    let share = share(2);
    for (number, (selector, profile)) in places().into_iter().enumerate() {
        let device = devices::open(&selector, profile).expect("the device is there");
        for scalar in share.of(types.into_iter().skip(share.offset(number))) {
            let least = if scalar == Scalar::U8 { 0.0 } else { -1.0 };
            let a: Vec<f64> = (0..256).map(|i| f64::from(i * 7 % 4) + least).collect();
            let b: Vec<f64> = (0..256).map(|i| f64::from(i * 5 % 3) + least).collect();
            for (way, expression) in ways.iter().enumerate() {
                let sum = if scalar.is_float() { "tl.float32" } else { "tl.int32" };
                let expression = expression.replace('S', sum);
                let text = format!("{head}    tl.store(out_ptr + row * 16 + column, {expression}.to(tl.float32))\n");
                let arrays = [
                    ("a_ptr", scalar, a.clone()),
                    ("b_ptr", scalar, b.clone()),
                    ("out_ptr", Scalar::F32, vec![0.0; 256]),
                ];
                let Some(found) = run_or_refuse(&device, &text, &arrays) else { continue };
                for (i, found) in found.iter().enumerate() {
                    let left = |k: usize| if way == 2 { a[k * 16 + i / 16] } else { a[i / 16 * 16 + k] };
                    let product: f64 = (0..16).map(|k| left(k) * b[k * 16 + i % 16]).sum();
                    let expected = product + if way == 1 { 2.0 } else { 0.0 };
                    assert_eq!(f64::from(*found), expected, "{selector}: `{expression}` of {scalar}: element {i}");
                }
            }
        }
    }
}

#[test]
fn updates_give_what_they_mean_for_every_type() {
    /// What is called, and what becomes of 6 when each of 1, 2, 3 and 4 is given.
    const UPDATES: &[(&str, f64, bool)] = &[
        ("atomic_add", 16.0, true),
        ("atomic_max", 6.0, true),
        ("atomic_min", 1.0, true),
        ("atomic_and", 0.0, false),
        ("atomic_or", 7.0, false),
        ("atomic_xor", 2.0, false),
    ];
    let types = [
        Scalar::I16,
        Scalar::U16,
        Scalar::F16,
        Scalar::Bf16,
        Scalar::I32,
        Scalar::U32,
        Scalar::F32,
        Scalar::I64,
        Scalar::U64,
        Scalar::F64,
    ];
    for (selector, profile) in places() {
        let device = devices::open(&selector, profile).expect("the device is there");
        for scalar in types {
            for (name, expected, floats) in UPDATES {
                if scalar.is_float() && !floats {
                    continue;
                }
                let text = format!(
                    "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, y_ptr, out_ptr):\n    at = tl.arange(0, 8)\n    tl.{name}(x_ptr + at * 0, tl.load(y_ptr + at), mask=at < 4)\n    tl.debug_barrier()\n    old = tl.atomic_xchg(x_ptr + 1, tl.load(y_ptr))\n    seen = tl.atomic_cas(x_ptr + 2, tl.load(y_ptr + 1), tl.load(y_ptr + 2))\n    tl.debug_barrier()\n    tl.store(out_ptr, tl.load(x_ptr).to(tl.float32))\n    tl.store(out_ptr + 1, old.to(tl.float32))\n    tl.store(out_ptr + 2, tl.load(x_ptr + 1).to(tl.float32))\n    tl.store(out_ptr + 3, seen.to(tl.float32))\n    tl.store(out_ptr + 4, tl.load(x_ptr + 2).to(tl.float32))\n"
                );
                let arrays = [
                    ("x_ptr", scalar, vec![6.0, 5.0, 2.0, 0.0]),
                    ("y_ptr", scalar, (1..9).map(f64::from).collect()),
                    ("out_ptr", Scalar::F32, vec![0.0; 5]),
                ];
                let Some(found) = run_or_refuse(&device, &text, &arrays) else {
                    assert_eq!(scalar.bits(), 64, "{selector}: `{name}` of {scalar} is refused");
                    continue;
                };
                let expected = [*expected as f32, 5.0, 1.0, 2.0, 3.0];
                assert_eq!(found, expected, "{selector}: `{name}` of {scalar}");
            }
        }
    }
}

/// A number has a bin, or none, whatever its width; what is masked off is in none.
#[test]
fn histograms_count_numbers_of_every_width() {
    let head = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, out_ptr):\n    at = tl.arange(0, 64)\n";
    for (selector, profile) in places() {
        let device = devices::open(&selector, profile).expect("the device is there");
        let mut ran = 0;
        for scalar in [Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32] {
            // As in the type: its greatest and least numbers, and those around the number of bins.
            let left = 64 - scalar.bits();
            let fitting = |n: i64| match scalar.is_signed() {
                true => (n << left >> left) as f64,
                false => ((n as u64) << left >> left) as f64,
            };
            let some = [255, 0, -1, 128, 127, 256, 511, 512, 65_535, 300];
            let x: Vec<f64> = (0..N).map(|i| fitting(some[i * 7 % 10] - i as i64 / 32)).collect();
            for bins in [256, 512] {
                let text = format!(
                    "{head}    found = tl.histogram(tl.load(x_ptr + at), {bins}, mask=at % 3 != 0)\n    tl.store(out_ptr + tl.arange(0, {bins}), found.to(tl.float32))\n"
                );
                let arrays = [("x_ptr", scalar, x.clone()), ("out_ptr", Scalar::F32, vec![0.0; bins])];
                let Some(found) = run_or_refuse(&device, &text, &arrays) else { continue };
                ran += 1;
                let mut expected = vec![0.0; bins];
                for (i, x) in x.iter().enumerate() {
                    if i % 3 != 0 && (0.0..bins as f64).contains(x) {
                        expected[*x as usize] += 1.0;
                    }
                }
                assert_eq!(found, expected, "{selector}: {bins} bins of {scalar}");
            }
        }
        assert!(ran >= 8, "{selector}: only {ran} ran");
    }
}

/// Quotients at the ends of what `f32` can be, with one divisor for a tile and with one for each element.
#[test]
fn quotients_are_near_for_every_divisor() {
    let head = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, y_ptr, out_ptr):\n    at = tl.arange(0, 64)\n    x = tl.load(x_ptr + at)\n";
    let inf = f64::INFINITY;
    let numbers = [1.0, -3.0, 0.0, inf, -inf, f64::NAN, 2f64.powi(127), 3e38, 1e-30, 7.0];
    let divisors = [0.0, -0.0, inf, -inf, f64::NAN, 2f64.powi(127), -3e38, 2f64.powi(126), 2f64.powi(-126), 1e-30, 3.0];
    let x: Vec<f64> = (0..N).map(|i| numbers[i % 10]).collect();
    for (selector, profile) in places() {
        let device = devices::open(&selector, profile).expect("the device is there");
        for divisor in divisors {
            for expression in ["x / tl.load(y_ptr)", "x / tl.load(y_ptr + at)"] {
                let text = format!("{head}    tl.store(out_ptr + at, {expression})\n");
                let y = vec![divisor; N];
                let arrays = [
                    ("x_ptr", Scalar::F32, x.clone()),
                    ("y_ptr", Scalar::F32, y),
                    ("out_ptr", Scalar::F32, vec![0.0; N]),
                ];
                let found = run(&device, &text, &arrays).expect("it is possible everywhere");
                for (found, x) in found.iter().zip(&x) {
                    let expected = *x as f32 / divisor as f32;
                    let near = match expected.is_finite() {
                        // What is below the normal numbers may be 0.
                        true => (found - expected).abs() <= expected.abs() * 5e-7 + 1.2e-38,
                        false => *found == expected || found.is_nan() && expected.is_nan(),
                    };
                    assert!(near, "{selector}: `{expression}`: {x} / {divisor} is {found}, not {expected}");
                }
            }
        }
    }
}
