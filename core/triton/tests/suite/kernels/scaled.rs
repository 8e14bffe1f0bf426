//! `tl.dot_scaled`: formats, packings and scales, held against products of the numbers that the bytes stand for.

use super::run::{Arg, close, constant, launch, noise, rounded, zeros};
use girih_ir::{Scalar, eval};
use girih_triton::Constant;

const ROWS: usize = 16;
const COLUMNS: usize = 32;
const DEPTH: usize = 64;

const KERNEL: &str = "import triton\nimport triton.language as tl\n
@triton.jit\ndef k(a, a_scale, b, b_scale, o, A: tl.constexpr, B: tl.constexpr, A_DEEP: tl.constexpr, B_DEEP: tl.constexpr, A_BLOCK: tl.constexpr, B_BLOCK: tl.constexpr):
    M: tl.constexpr = 16
    N: tl.constexpr = 32
    K: tl.constexpr = 64
    HEIGHT: tl.constexpr = M // 2 if A == 'e2m1' and not A_DEEP else M
    LEFT: tl.constexpr = K // 2 if A == 'e2m1' and A_DEEP else K
    RIGHT: tl.constexpr = K // 2 if B == 'e2m1' and B_DEEP else K
    WIDTH: tl.constexpr = N // 2 if B == 'e2m1' and not B_DEEP else N
    x = tl.load(a + tl.arange(0, HEIGHT)[:, None] * LEFT + tl.arange(0, LEFT)[None, :])
    y = tl.load(b + tl.arange(0, RIGHT)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
    xs = None
    ys = None
    if A_BLOCK > 0:
        xs = tl.load(a_scale + tl.arange(0, M)[:, None] * (K // A_BLOCK) + tl.arange(0, K // A_BLOCK)[None, :])
    if B_BLOCK > 0:
        ys = tl.load(b_scale + tl.arange(0, N)[:, None] * (K // B_BLOCK) + tl.arange(0, K // B_BLOCK)[None, :])
    start = tl.full([M, N], 2.0, tl.float32)
    found = tl.dot_scaled(x, xs, A, y, ys, B, start, lhs_k_pack=A_DEEP, rhs_k_pack=B_DEEP)
    tl.store(o + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], found)
";

/// What a factor is made of: its format, whether bytes of two numbers lie along the depth, and how many numbers have one scale, if they have one.
#[derive(Clone, Copy, Debug)]
struct Form {
    format: &'static str,
    is_deep: bool,
    block: usize,
    scale: Scalar,
}

/// A factor with its depth last: what the kernel is given, and the numbers that this stands for.
struct Factor {
    stored: Arg,
    scales: Arg,
    numbers: Vec<Vec<f64>>,
}

/// `e2m1`, as the standard tabulates it.
const FP4: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn factor(form: Form, rows: usize, is_turned: bool, seed: u64) -> Factor {
    let random = |seed, n| noise(seed, n).into_iter().map(|x| ((x + 1.0) * 128.0) as u64 & 255).collect::<Vec<u64>>();
    let codes = random(seed, rows * DEPTH);
    let number = |code: u64| match form.format {
        "e2m1" => FP4[(code & 7) as usize] * if code & 8 == 0 { 1.0 } else { -1.0 },
        // Exponents in the middle: no infinity, no NaN, and sums that `f32` keeps.
        "e4m3" => eval::widen(code & 0x9F | 0x20, Scalar::F8E4M3),
        "e5m2" => eval::widen(code & 0x8F | 0x30, Scalar::F8E5M2),
        _floats => (code as f64 - 128.0) / 16.0,
    };
    let code = |code: u64| match form.format {
        "e4m3" => code & 0x9F | 0x20,
        "e5m2" => code & 0x8F | 0x30,
        _as_it_is => code,
    };
    let blocks = DEPTH.checked_div(form.block).unwrap_or(0);
    let exponents: Vec<u64> = random(seed + 1, rows * blocks).into_iter().map(|x| 124 + x % 7).collect();
    let nv: Vec<u64> = random(seed + 1, rows * blocks).into_iter().map(|x| x & 0x1F | 0x28).collect();
    let scale = |row: usize, k: usize| match (form.block, form.scale) {
        (0, _) => 1.0,
        (block, Scalar::U8) => 2f64.powi(exponents[row * blocks + k / block] as i32 - 127),
        (block, scalar) => eval::widen(nv[row * blocks + k / block], scalar),
    };
    let numbers = (0..rows).map(|row| (0..DEPTH).map(|k| number(codes[row * DEPTH + k]) * scale(row, k)).collect());
    let at = |row: usize, k: usize| code(codes[row * DEPTH + k]);
    let pair = |low: u64, high: u64| (low & 15 | (high & 15) << 4) as f64;
    // Rows of the factor, and of what is stored, before it is turned.
    let (height, width) = match (form.format, form.is_deep) {
        ("e2m1", true) => (rows, DEPTH / 2),
        ("e2m1", false) => (rows / 2, DEPTH),
        _one_each => (rows, DEPTH),
    };
    let stored = |row: usize, k: usize| match (form.format, form.is_deep) {
        ("e2m1", true) => pair(at(row, 2 * k), at(row, 2 * k + 1)),
        ("e2m1", false) => pair(at(2 * row, k), at(2 * row + 1, k)),
        ("e4m3" | "e5m2", _) => at(row, k) as f64,
        _floats => number(at(row, k)),
    };
    let cells: Vec<f64> = if is_turned {
        (0..width).flat_map(|k| (0..height).map(move |row| (row, k))).map(|(row, k)| stored(row, k)).collect()
    } else {
        (0..height).flat_map(|row| (0..width).map(move |k| (row, k))).map(|(row, k)| stored(row, k)).collect()
    };
    let scalar = match form.format {
        "bf16" => Scalar::Bf16,
        "fp16" => Scalar::F16,
        _bytes => Scalar::U8,
    };
    let scales = match form.scale {
        Scalar::U8 => exponents.iter().map(|x| *x as f64).collect(),
        scalar => nv.iter().map(|x| eval::widen(*x, scalar)).collect::<Vec<f64>>(),
    };
    let scales = if scales.is_empty() { vec![0.0] } else { scales };
    Factor { stored: Arg::Array(scalar, cells), scales: Arg::Array(form.scale, scales), numbers: numbers.collect() }
}

fn check(left: Form, right: Form) {
    let (a, b) = (factor(left, ROWS, false, 3), factor(right, COLUMNS, true, 9));
    let text = |form: Form| Arg::Const(Constant::Text(form.format.into()));
    let flag = |form: Form| Arg::Const(Constant::Bool(form.is_deep));
    let arguments = [
        ("a", a.stored),
        ("a_scale", a.scales),
        ("b", b.stored),
        ("b_scale", b.scales),
        ("o", zeros(ROWS * COLUMNS)),
        ("A", text(left)),
        ("B", text(right)),
        ("A_DEEP", flag(left)),
        ("B_DEEP", flag(right)),
        ("A_BLOCK", constant(left.block as i128)),
        ("B_BLOCK", constant(right.block as i128)),
    ];
    let wide = if [left.format, right.format].contains(&"fp16") { Scalar::F16 } else { Scalar::Bf16 };
    let product = |row: &Vec<f64>, column: &Vec<f64>| -> f64 {
        row.iter().zip(column).map(|(x, y)| rounded(*x, wide) * rounded(*y, wide)).sum()
    };
    let expected: Vec<f64> =
        a.numbers.iter().flat_map(|row| b.numbers.iter().map(move |column| 2.0 + product(row, column))).collect();
    let found = launch(KERNEL, "k", [1; 3], &arguments);
    close(&found[4], &expected, 1e-5, &format!("{left:?} times {right:?}"));
}

#[test]
fn every_format_multiplies_every_format() {
    for left in ["e2m1", "e4m3", "e5m2", "bf16", "fp16"] {
        for right in ["e2m1", "e4m3", "e5m2", "bf16", "fp16"] {
            let form = |format| Form { format, is_deep: true, block: 32, scale: Scalar::U8 };
            check(form(left), form(right));
        }
    }
}

#[test]
fn scales_are_left_out_and_packings_turn() {
    let plain = Form { format: "e2m1", is_deep: true, block: 0, scale: Scalar::U8 };
    check(Form { is_deep: false, ..plain }, plain);
    check(plain, Form { is_deep: false, block: 32, ..plain });
    check(Form { format: "bf16", ..plain }, Form { is_deep: false, block: 32, ..plain });
    let nv = Form { block: 16, scale: Scalar::F8E4M3, ..plain };
    check(nv, nv);
    check(nv, Form { is_deep: false, ..nv });
}

/// An exponent of 255 is NaN, unless the kernel asks for speed.
#[test]
fn nan_is_a_scale() {
    let text = "import triton\nimport triton.language as tl\n
@triton.jit\ndef k(s, o, FAST: tl.constexpr):
    x = tl.full([16, 32], 1.0, tl.bfloat16)
    y = tl.full([32, 16], 1.0, tl.bfloat16)
    scale = tl.load(s + tl.arange(0, 16)[:, None])
    found = tl.dot_scaled(x, scale, 'bf16', y, None, 'bf16', fast_math=FAST)
    tl.store(o + tl.arange(0, 16), tl.sum(found, 1) / 16)
";
    for (fast, last) in [(false, f64::NAN), (true, f64::INFINITY)] {
        let mut scales = vec![127.0; 16];
        scales[15] = 255.0;
        let arguments =
            [("s", Arg::Array(Scalar::U8, scales)), ("o", zeros(16)), ("FAST", Arg::Const(Constant::Bool(fast)))];
        let found = launch(text, "k", [1; 3], &arguments).pop().unwrap_or_default();
        assert_eq!(found[..15], [32.0; 15]);
        assert!(found[15].total_cmp(&last).is_eq() || found[15].is_nan() && last.is_nan(), "{}", found[15]);
    }
}
