//! `tl.inline_asm_elementwise`: what instructions of PTX compute, held against Rust's own arithmetic, on every kind of device.

use super::run::{Arg, launch, launch_on_cards, try_launch};
use girih_base::diag::{Style, render};
use girih_ir::{Scalar, eval};
use girih_triton::Alone;

const N: usize = 64;

/// Words with all kinds of bits.
fn words(seed: u64) -> Vec<u32> {
    let edges = [0, 1, 2, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x3c00_4000, 0x0102_0304, 0xf1e2_d3c4];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    (0..N).map(|i| if i % 4 == 0 { edges[i / 4 % edges.len()] } else { random() >> (i % 3 * 9) }).collect()
}

fn numbers(words: &[u32]) -> Arg {
    Arg::Array(Scalar::U32, words.iter().map(|w| f64::from(*w)).collect())
}

/// A kernel that stores what each assembly of three words gives.
fn kernel(texts: &[&str]) -> String {
    let lines: String = texts
        .iter()
        .enumerate()
        .map(|(i, text)| {
            format!(
                "    u = tl.inline_asm_elementwise('{text}', '=r,r,r,r', [va, vb, vc], dtype=tl.uint32, is_pure=True, pack=1)\n    tl.store(o + {i} * 64 + at, u)\n"
            )
        })
        .collect();
    format!(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(a, b, c, o):\n    at = tl.arange(0, 64)\n    va = tl.load(a + at)\n    vb = tl.load(b + at)\n    vc = tl.load(c + at)\n{lines}"
    )
}

/// A launch on some kinds of devices.
type Launch = fn(&str, &str, [u32; 3], &[(&str, Arg)]) -> Vec<Vec<f64>>;
type OfThree<'f> = &'f dyn Fn(u32, u32, u32) -> u32;

fn check(cases: &[(&str, OfThree<'_>)], run: Launch) {
    let (a, b, c) = (words(1), words(2), words(3));
    let texts: Vec<&str> = cases.iter().map(|(text, _)| *text).collect();
    let out = Arg::Array(Scalar::U32, vec![0.0; N * cases.len()]);
    let arguments = [("a", numbers(&a)), ("b", numbers(&b)), ("c", numbers(&c)), ("o", out)];
    let found = run(&kernel(&texts), "k", [1; 3], &arguments).swap_remove(3);
    for (case, (text, expected)) in cases.iter().enumerate() {
        for i in 0..N {
            let (found, expected) = (found[case * N + i] as u32, expected(a[i], b[i], c[i]));
            assert_eq!(
                found, expected,
                "{text} of {:#x}, {:#x}, {:#x}: {found:#x}, not {expected:#x}",
                a[i], b[i], c[i]
            );
        }
    }
}

fn shl(a: u32, n: u32) -> u32 {
    a.checked_shl(n).unwrap_or(0)
}
fn shr(a: u32, n: u32) -> u32 {
    a.checked_shr(n).unwrap_or(0)
}

/// Bit by bit, as the manual of PTX has it.
fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..32).map(|i| (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i).sum()
}
fn bfe(a: u32, place: u32, length: u32, signed: bool) -> u32 {
    let (place, length) = (place & 0xff, length & 0xff);
    let bit = |i: u32| a >> i & 1;
    let sign = if signed && length > 0 { bit((place + length - 1).min(31)) } else { 0 };
    (0..32).map(|i| (if i < length && place + i < 32 { bit(place + i) } else { sign }) << i).sum()
}
fn bfi(a: u32, b: u32, place: u32, length: u32) -> u32 {
    let (place, length) = (place & 0xff, length & 0xff);
    let mut out = b;
    for i in (0..length).filter(|i| place + i < 32) {
        out = out & !(1 << (place + i)) | (a >> i & 1) << (place + i);
    }
    out
}
fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let byte = |digit: u32| {
        let byte = bytes[(digit & 7) as usize];
        u32::from(if digit & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 })
    };
    (0..4).map(|i| byte(selector >> (4 * i)) << (8 * i)).sum()
}

#[test]
fn bits_are_moved_and_mixed() {
    check(
        &[
            ("lop3.b32 $0, $1, $2, $3, 0xEA;", &|a, b, c| (a & b) | c),
            ("lop3.b32 $0, $1, $2, $3, 0x96;", &|a, b, c| a ^ b ^ c),
            ("lop3.b32 $0, $1, $2, $3, 0x1b;", &|a, b, c| lop3(a, b, c, 0x1b)),
            ("lop3.b32 $0, $1, $2, $3, 0x74;", &|a, b, c| lop3(a, b, c, 0x74)),
            ("lop3.b32 $0, $1, $2, $3, 0xd5;", &|a, b, c| lop3(a, b, c, 0xd5)),
            ("lop3.b32 $0, $1, 0x000f000f, 0x64006400, 0xea;", &|a, _, _| a & 0x000f_000f | 0x6400_6400),
            ("shf.l.wrap.b32 $0, $1, $2, $3;", &|a, b, c| {
                ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32
            }),
            ("shf.r.wrap.b32 $0, $1, $2, $3;", &|a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32),
            ("shf.l.clamp.b32 $0, $1, $2, $3;", &|a, b, c| {
                (((u128::from(b) << 32 | u128::from(a)) << c.min(32)) >> 32) as u32
            }),
            ("shf.r.clamp.b32 $0, $1, $2, $3;", &|a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32),
            ("prmt.b32 $0, $1, $2, $3;", &prmt),
            ("prmt.b32 $0, $1, $2, 0xba98;", &|a, b, _| prmt(a, b, 0xba98)),
            ("prmt.b32.f4e $0, $1, $2, $3;", &|a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (8 * (c & 3))) as u32),
            ("prmt.b32.rc8 $0, $1, $2, $3;", &|a, _, c| (a >> (8 * (c & 3)) & 0xff) * 0x0101_0101),
            ("prmt.b32.b4e $0, $1, $2, 1;", &|a, b, _| prmt(a, b, 0x6701)),
            ("prmt.b32.ecl $0, $1, $2, 2;", &|a, b, _| prmt(a, b, 0x3222)),
            ("prmt.b32.ecr $0, $1, $2, 2;", &|a, b, _| prmt(a, b, 0x2210)),
            ("prmt.b32.rc16 $0, $1, $2, 1;", &|a, b, _| prmt(a, b, 0x3232)),
            ("shl.b32 $0, $1, $2;", &|a, b, _| shl(a, b)),
            ("shr.u32 $0, $1, $2;", &|a, b, _| shr(a, b)),
            ("shr.s32 $0, $1, $2;", &|a, b, _| ((a as i32) >> b.min(31)) as u32),
            ("bfe.u32 $0, $1, $2, $3;", &|a, b, c| bfe(a, b, c, false)),
            ("bfe.s32 $0, $1, $2, $3;", &|a, b, c| bfe(a, b, c, true)),
            ("bfe.u32 $0, $1, 4, 8;", &|a, _, _| a >> 4 & 0xff),
            ("bfe.s32 $0, $1, 28, 8;", &|a, _, _| bfe(a, 28, 8, true)),
            ("bfi.b32 $0, $1, $2, $3, 5;", &|a, b, c| bfi(a, b, c, 5)),
            ("bfi.b32 $0, $1, $2, 8, $3;", &|a, b, c| bfi(a, b, 8, c)),
            ("popc.b32 $0, $1;", &|a, _, _| a.count_ones()),
            ("clz.b32 $0, $1;", &|a, _, _| a.leading_zeros()),
            ("brev.b32 $0, $1;", &|a, _, _| a.reverse_bits()),
            ("not.b32 $0, $1;", &|a, _, _| !a),
            ("cnot.b32 $0, $1;", &|a, _, _| u32::from(a == 0)),
        ],
        launch,
    );
}

#[test]
fn integers_are_computed() {
    let wide = |a: u32, b: u32| i64::from(a as i32) * i64::from(b as i32);
    check(
        &[
            ("mul.lo.u32 $0, $1, $2;", &|a, b, _| a.wrapping_mul(b)),
            ("mul.hi.u32 $0, $1, $2;", &|a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32),
            ("mul.hi.s32 $0, $1, $2;", &|a, b, _| (wide(a, b) >> 32) as u32),
            ("mad.lo.s32 $0, $1, $2, $3;", &|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
            ("mad.hi.s32 $0, $1, $2, $3;", &|a, b, c| ((wide(a, b) >> 32) as u32).wrapping_add(c)),
            ("mul24.lo.u32 $0, $1, $2;", &|a, b, _| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
            ("sad.u32 $0, $1, $2, $3;", &|a, b, c| a.abs_diff(b).wrapping_add(c)),
            ("add.sat.s32 $0, $1, $2;", &|a, b, _| (a as i32).saturating_add(b as i32) as u32),
            ("sub.sat.s32 $0, $1, $2;", &|a, b, _| (a as i32).saturating_sub(b as i32) as u32),
            ("{ .reg .b16 l, h, p; mov.b32 {l, h}, $1; mul.hi.u16 p, l, h; mov.b32 $0, {p, h}; }", &|a, _, _| {
                ((a & 0xffff) * (a >> 16)) >> 16 | a & 0xffff_0000
            }),
            ("{ .reg .b16 l, h; mov.b32 {l, h}, $1; mul.wide.s16 $0, l, h; }", &|a, _, _| {
                (i32::from(a as i16) * i32::from((a >> 16) as i16)) as u32
            }),
            (
                "{ .reg .b16 l, h; mov.b32 {l, h}, $1; shr.s16 l, l, $2; shl.b16 h, h, 3; mov.b32 $0, {l, h}; }",
                &|a, b, _| u32::from(((a as i16) >> b.min(15)) as u16) | u32::from(((a >> 16) as u16) << 3) << 16,
            ),
            ("dp4a.s32.s32 $0, $1, $2, $3;", &|a, b, c| {
                let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
                products.fold(c, |sum, (a, b)| sum.wrapping_add((i32::from(a as i8) * i32::from(b as i8)) as u32))
            }),
            (
                "{ .reg .pred p, q; setp.lt.s32 p|q, $1, $2; selp.b32 $0, $1, $2, p; @q add.u32 $0, $0, 1; }",
                &|a, b, _| {
                    if (a as i32) < b as i32 { a } else { b.wrapping_add(1) }
                },
            ),
            (
                "{ .reg .pred p, q; setp.hi.u32 p, $1, $2; setp.ne.and.b32 q, $3, 0, !p; selp.u32 $0, 7, 9, q; }",
                &|a, b, c| {
                    if c != 0 && a <= b { 7 } else { 9 }
                },
            ),
            ("set.ge.u32.s32 $0, $1, $2;", &|a, b, _| if a as i32 >= b as i32 { u32::MAX } else { 0 }),
            ("slct.b32.s32 $0, $1, $2, $3;", &|a, b, c| if c as i32 >= 0 { a } else { b }),
            ("cvt.u32.u8 $0, $1;", &|a, _, _| a & 0xff),
            ("{ .reg .s16 t; cvt.sat.s16.s32 t, $1; cvt.s32.s16 $0, t; }", &|a, _, _| {
                (a as i32).clamp(-32768, 32767) as u32
            }),
            ("{ .reg .b8 t<4>; mov.b32 {t0, t1, t2, t3}, $1; cvt.s32.s8 $0, t2; } // the third byte", &|a, _, _| {
                i32::from((a >> 16) as i8) as u32
            }),
        ],
        launch,
    );
    check(
        &[
            ("{ .reg .b64 p; mul.wide.u32 p, $1, $2; shr.u64 p, p, 16; cvt.u32.u64 $0, p; }", &|a, b, _| {
                ((u64::from(a) * u64::from(b)) >> 16) as u32
            }),
            ("{ .reg .b64 p; mov.b64 p, {$1, $2}; shl.b64 p, p, 68; mov.b64 {_, $0}, p; }", &|_, _, _| 0),
            (
                "{ .reg .b64 p, q; .reg .b32 t; mov.b64 p, {$1, $2}; bfe.u64 q, p, 20, 24; mov.b64 {$0, t}, q; }",
                &|a, b, _| ((u64::from(b) << 32 | u64::from(a)) >> 20 & 0xff_ffff) as u32,
            ),
        ],
        launch_on_cards,
    );
}

/// Two numbers of 16 bits, the lower one first.
fn halves(word: u32, scalar: Scalar) -> [f64; 2] {
    [word & 0xffff, word >> 16].map(|bits| eval::widen(bits.into(), scalar))
}
/// Rounded to the type and side by side; all NaN are one.
fn pair(x: [f64; 2], scalar: Scalar) -> u32 {
    let bits = x.map(|x| eval::narrow(x, scalar) as u32);
    bits[0] | bits[1] << 16
}

/// Floats whose products and sums stay away from rounding twice: quarters.
fn quarters(word: u32) -> [f64; 2] {
    [f64::from(word % 61) * 0.25 - 7.0, f64::from(word / 61 % 67) * 0.25 - 8.0]
}

#[test]
fn two_short_floats_are_computed_side_by_side() {
    for (name, scalar) in [("f16", Scalar::F16), ("bf16", Scalar::Bf16)] {
        // The words become pairs of quarters by instructions that are checked elsewhere.
        let text = |instruction: &str| instruction.replace("T", name);
        let texts: Vec<String> = [
            "fma.rn.Tx2 $0, $1, $2, $3;",
            "add.rn.Tx2 $0, $1, $2;",
            "sub.Tx2 $0, $1, $2;",
            "mul.rn.Tx2 $0, $1, $2;",
            "min.Tx2 $0, $1, $2;",
            "max.Tx2 $0, $1, $2;",
            "neg.Tx2 $0, $1;",
            "abs.Tx2 $0, $1;",
            "fma.rn.relu.Tx2 $0, $1, $2, $3;",
            "{ .reg .pred p, q; .reg .b16 l, h, m, n; setp.gt.Tx2 p|q, $1, $2; mov.b32 {l, h}, $1; mov.b32 {m, n}, $2; selp.b16 l, l, m, p; selp.b16 h, h, n, q; mov.b32 $0, {l, h}; }",
        ]
        .iter()
        .map(|t| text(t))
        .collect();
        let expected: Vec<&dyn Fn(f64, f64, f64) -> f64> = vec![
            &|a, b, c| a * b + c,
            &|a, b, _| a + b,
            &|a, b, _| a - b,
            &|a, b, _| a * b,
            &|a, b, _| a.min(b),
            &|a, b, _| a.max(b),
            &|a, _, _| -a,
            &|a, _, _| a.abs(),
            &|a, b, c| (a * b + c).max(0.0),
            &|a, b, _| a.max(b),
        ];
        let given: Vec<Vec<u32>> =
            (1..4).map(|s| words(s).iter().map(|w| pair(quarters(*w), scalar)).collect()).collect();
        let names: Vec<&str> = texts.iter().map(String::as_str).collect();
        let out = Arg::Array(Scalar::U32, vec![0.0; N * names.len()]);
        let arguments = [("a", numbers(&given[0])), ("b", numbers(&given[1])), ("c", numbers(&given[2])), ("o", out)];
        let found = launch(&kernel(&names), "k", [1; 3], &arguments).swap_remove(3);
        for (case, (text, expected)) in names.iter().zip(&expected).enumerate() {
            for i in 0..N {
                let [a, b, c] = [0, 1, 2].map(|operand: usize| halves(given[operand][i], scalar));
                let expected = [0, 1].map(|side: usize| expected(a[side], b[side], c[side]));
                let found = halves(found[case * N + i] as u32, scalar);
                assert_eq!(found, halves(pair(expected, scalar), scalar), "{text} of {a:?}, {b:?}, {c:?}");
            }
        }
    }
}

/// A kernel of floats that stores what each assembly of two of them gives, as words or as floats.
fn of_floats(cases: &[(&str, &str, &str)]) -> String {
    let lines: String = cases
        .iter()
        .enumerate()
        .map(|(i, (text, constraints, ty))| {
            format!(
                "    u = tl.inline_asm_elementwise('{text}', '{constraints}', [va, vb], dtype=tl.{ty}, is_pure=True, pack=1)\n    tl.store(o + {i} * 16 + at, u.to(tl.uint32, bitcast=True) if u.dtype.primitive_bitwidth == 32 else u.to(tl.uint32))\n"
            )
        })
        .collect();
    format!(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef k(a, b, o):\n    at = tl.arange(0, 16)\n    va = tl.load(a + at)\n    vb = tl.load(b + at)\n{lines}"
    )
}

#[test]
fn numbers_are_converted() {
    let a: Vec<f32> =
        (0..16).map(|i| [0.0, 1.5, -2.5, 1e6, -3.7, -1e9, 448.7, 0.3][i % 8] * (1.0 + (i / 8) as f32)).collect();
    let b: Vec<f32> = (0..16).map(|i| i as f32 * 0.37 - 2.0).collect();
    let two = |high: f32, low: f32, scalar: Scalar| pair([low.into(), high.into()], scalar);
    let eight = |high: f32, low: f32, scalar: Scalar| {
        (eval::scalar(girih_ir::Op::Convert, scalar, Scalar::F32, &[low.to_bits().into()]).expect("a number")
            | eval::scalar(girih_ir::Op::Convert, scalar, Scalar::F32, &[high.to_bits().into()]).expect("a number")
                << 8) as u32
    };
    let whole = |x: f32, round: fn(f32) -> f32| (round(x) as i32) as u32;
    type Case<'f> = (&'f str, &'f str, &'f str, &'f dyn Fn(f32, f32) -> u32);
    let cases: &[Case<'_>] = &[
        ("cvt.rn.f16x2.f32 $0, $1, $2;", "=r,f,f", "uint32", &|a, b| two(a, b, Scalar::F16)),
        ("cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f", "uint32", &|a, b| two(a, b, Scalar::Bf16)),
        ("cvt.rn.relu.bf16x2.f32 $0, $1, $2;", "=r,f,f", "uint32", &|a, b| {
            let relu = |x: f32| if x < 0.0 { 0.0 } else { x };
            two(relu(a), relu(b), Scalar::Bf16)
        }),
        ("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "=h,f,f", "uint16", &|a, b| eight(a, b, Scalar::F8E4M3)),
        ("cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;", "=h,f,f", "uint16", &|a, b| eight(a, b, Scalar::F8E5M2)),
        (
            "{ .reg .b16 t; cvt.rn.satfinite.e5m2x2.f32 t, $1, $2; cvt.rn.f16x2.e5m2x2 $0, t; }",
            "=r,f,f",
            "uint32",
            &|a, b| {
                let bytes = eight(a, b, Scalar::F8E5M2);
                let wide = |byte: u32| eval::widen(byte.into(), Scalar::F8E5M2);
                pair([wide(bytes & 0xff), wide(bytes >> 8)], Scalar::F16)
            },
        ),
        ("{ .reg .b16 t; cvt.rn.f16.f32 t, $2; cvt.f32.f16 $0, t; }", "=f,f,f", "float32", &|_, b| {
            (eval::widen(eval::narrow(b.into(), Scalar::F16), Scalar::F16) as f32).to_bits()
        }),
        ("cvt.rzi.s32.f32 $0, $1;", "=r,f,f", "int32", &|a, _| whole(a, f32::trunc)),
        ("cvt.rni.s32.f32 $0, $1;", "=r,f,f", "int32", &|a, _| whole(a, f32::round_ties_even)),
        ("cvt.rmi.s32.f32 $0, $1;", "=r,f,f", "int32", &|a, _| whole(a, f32::floor)),
        ("cvt.rpi.f32.f32 $0, $2;", "=f,f,f", "float32", &|_, b| b.ceil().to_bits()),
        ("cvt.sat.f32.f32 $0, $2;", "=f,f,f", "float32", &|_, b| b.clamp(0.0, 1.0).to_bits()),
        ("add.sat.f32 $0, $2, $2;", "=f,f,f", "float32", &|_, b| (b + b).clamp(0.0, 1.0).to_bits()),
        ("cvt.rna.tf32.f32 $0, $2;", "=r,f,f", "uint32", &|_, b| (b.to_bits() + 0x1000) & 0xffff_e000),
        ("copysign.f32 $0, $2, $1;", "=f,f,f", "float32", &|a, b| a.copysign(b).to_bits()),
        (
            "{ .reg .pred p; setp.neu.f32 p, $1, 0f7FC00000; selp.f32 $0, 0f3F800000, $2, p; }",
            "=f,f,f",
            "float32",
            &|_, _| 1f32.to_bits(),
        ),
        (
            "{ .reg .pred p; setp.ne.f32 p, $1, 0f7FC00000; selp.f32 $0, 0f3F800000, $2, p; }",
            "=f,f,f",
            "float32",
            &|_, b| b.to_bits(),
        ),
        ("{ .reg .pred p; testp.finite.f32 p, 0f7FC00000; selp.b32 $0, 1, 0, p; }", "=r,f,f", "uint32", &|_, _| 0),
        (
            "{ .reg .pred p; .reg .f32 t; max.NaN.f32 t, $1, 0f7FC00000; setp.nan.f32 p, t, t; selp.b32 $0, 1, 0, p; }",
            "=r,f,f",
            "uint32",
            &|_, _| 1,
        ),
        ("max.f32 $0, $2, 0f7FC00000;", "=f,f,f", "float32", &|_, b| b.to_bits()),
        ("cvt.rzi.s32.f32 $0, 0f7FC00000;", "=r,f,f", "int32", &|_, _| 0),
    ];
    let texts: Vec<(&str, &str, &str)> =
        cases.iter().map(|(text, constraints, ty, _)| (*text, *constraints, *ty)).collect();
    let array = |x: &[f32]| Arg::Array(Scalar::F32, x.iter().map(|x| f64::from(*x)).collect());
    let out = Arg::Array(Scalar::U32, vec![0.0; 16 * cases.len()]);
    let found =
        launch(&of_floats(&texts), "k", [1; 3], &[("a", array(&a)), ("b", array(&b)), ("o", out)]).swap_remove(2);
    for (case, (text, .., expected)) in cases.iter().enumerate() {
        for i in 0..16 {
            let (found, expected) = (found[case * 16 + i] as u32, expected(a[i], b[i]));
            assert!(found == expected, "{text} of {}, {}: {found:#x}, not {expected:#x}", a[i], b[i]);
        }
    }
}

/// Elements share registers; blocks have registers of their own; there are several results.
#[test]
fn elements_are_packed() {
    let text = "import triton\nimport triton.language as tl
SPREAD: tl.constexpr = '''
{   // four bytes become four words
    .reg .b8 part<4>;
    mov.b32 {part0, part1, part2, part3}, $8;
    cvt.u32.u8 $0, part0;
    cvt.u32.u8 $1, part1;
    cvt.u32.u8 $2, part2;
    cvt.u32.u8 $3, part3;
}
{   /* `part` is another one here */
    .reg .f32 part;
    cvt.rn.f32.u32 part, $0; max.f32 $4, part, $9;
    cvt.rn.f32.u32 part, $1; max.f32 $5, part, $10;
    cvt.rn.f32.u32 part, $2; max.f32 $6, part, $11;
    cvt.rn.f32.u32 part, $3; max.f32 $7, part, $12;
}
'''
@triton.jit
def k(a, b, c, d, h, n):
    at = tl.arange(0, 16)
    x = tl.load(a + at)
    y = tl.load(b + at)
    whole, most = tl.inline_asm_elementwise(SPREAD, '=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r', args=[x, y], dtype=(tl.int32, tl.float32), is_pure=True, pack=4)
    tl.store(c + at, whole)
    tl.store(d + at, most)
    twice = tl.inline_asm_elementwise('add.f16x2 $0, $1, $1;', '=r,r', [y.to(tl.float16)], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(h + at, twice)
    one = tl.inline_asm_elementwise('add.f16x2 $0, $1, $1;', '=r,r', [n.to(tl.float16)], dtype=tl.float16, is_pure=True, pack=2)
    alone = tl.inline_asm_elementwise('{ .reg .b16 t; neg.bf16 t, $1; mov.b16 $0, t; }', '=h,h', [y.to(tl.bfloat16)], tl.bfloat16, True, 1)
    tl.store(h + 16 + at, alone.to(tl.float16) + one)
    tied = tl.inline_asm_elementwise('add.s32 $0, $0, 5;', '=r,0', [x.to(tl.int32)], tl.int32, True, 1)
    narrow = tl.inline_asm_elementwise('cvt.u8.u32 $0, $1;', '=r,r', [tied], tl.uint8, True, 1)
    tl.store(c + 16 + at, narrow.to(tl.int32))
";
    let a: Vec<f64> = (0..16).map(|i| f64::from(i * 37 % 256)).collect();
    let b: Vec<f64> = (0..16).map(|i| f64::from(i) * 12.0 - 20.0).collect();
    let arguments = [
        ("a", Arg::Array(Scalar::U8, a.clone())),
        ("b", Arg::Array(Scalar::F32, b.clone())),
        ("c", Arg::Array(Scalar::I32, vec![0.0; 32])),
        ("d", Arg::Array(Scalar::F32, vec![0.0; 16])),
        ("h", Arg::Array(Scalar::F16, vec![0.0; 32])),
        ("n", Arg::Int(3)),
    ];
    let found = launch(text, "k", [1; 3], &arguments);
    for i in 0..16 {
        assert_eq!((found[2][i], found[3][i]), (a[i], a[i].max(b[i])), "{i}");
        assert_eq!((found[4][i], found[4][16 + i]), (2.0 * b[i], 6.0 - b[i]), "{i}");
        assert_eq!(found[2][16 + i], (a[i] + 5.0) % 256.0, "{i}");
    }
}

/// Numbers of 4 bits: to the nearest, halves to the even one, and at most 6.
#[test]
fn numbers_of_four_bits_are_made_and_read() {
    let text = "import triton\nimport triton.language as tl
FOUR: tl.constexpr = '''
{
    .reg .b8 part0, part1, part2, part3;
    griddepcontrol.wait;
    cvt.rn.satfinite.e2m1x2.f32 part0, $5, $1;
    cvt.rn.satfinite.e2m1x2.f32 part1, $6, $2;
    cvt.rn.satfinite.e2m1x2.f32 part2, $7, $3;
    cvt.rn.satfinite.e2m1x2.f32 part3, $8, $4;
    mov.b32 $0, {part0, part1, part2, part3};
}
'''
READ: tl.constexpr = '''{
    .reg .b8 low, t<3>;
    mov.b32 {low, t0, t1, t2}, $1;
    cvt.rn.f16x2.e2m1x2 $0, low;
}'''
@triton.jit
def k(x, q, y):
    at = tl.arange(0, 32)
    pair = tl.load(x + tl.arange(0, 64)).reshape(32, 2).split()
    byte = tl.inline_asm_elementwise(FOUR, '=r,r,r,r,r,r,r,r,r', args=pair, dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(q + at, byte)
    word = tl.inline_asm_elementwise(READ, '=r,r', [byte.to(tl.uint32)], tl.uint32, True, 1)
    tl.store(y + at * 2, (word & 0xffff).to(tl.uint16).to(tl.float16, bitcast=True))
    tl.store(y + at * 2 + 1, (word >> 16).to(tl.uint16).to(tl.float16, bitcast=True))
";
    let x: Vec<f64> = (0..64).map(|i| f64::from(i - 32) * 0.25 + if i % 7 == 3 { 0.01 } else { 0.0 }).collect();
    let arguments = [
        ("x", Arg::Array(Scalar::F32, x.clone())),
        ("q", Arg::Array(Scalar::U8, vec![0.0; 32])),
        ("y", Arg::Array(Scalar::F16, vec![0.0; 64])),
    ];
    let found = launch(text, "k", [1; 3], &arguments);
    let sizes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let nearest = |x: f64| {
        let apart = |code: &usize| ((sizes[*code] - x.abs()).abs(), code % 2);
        let code = (0..8).min_by(|a, b| apart(a).partial_cmp(&apart(b)).expect("numbers")).expect("a code");
        code | if x < 0.0 { 8 } else { 0 }
    };
    for (i, pair) in x.chunks(2).enumerate() {
        let codes = [nearest(pair[0]), nearest(pair[1])];
        assert_eq!(found[1][i] as usize, codes[0] | codes[1] << 4, "{pair:?}");
        let value = |code: usize| if code < 8 { sizes[code] } else { -sizes[code - 8] };
        assert_eq!([found[2][2 * i], found[2][2 * i + 1]], codes.map(value), "{pair:?}");
    }
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let mut drawn = String::new();
    let cases = [
        ("mov.u32 $0, %smid;", "=r,r"),
        ("add.u32 $0, $1, 1; ld.global.b32 $0, [$1];", "=r,r"),
        ("{ .reg .b32 t; shfl.sync.bfly.b32 t, $1, 1, 31, -1; mov.b32 $0, t; }", "=r,r"),
        ("L1: add.u32 $0, $1, 1;", "=r,r"),
        ("vadd4.u32.u32.u32 $0, $1, $1, $1;", "=r,r"),
        ("cvt.rn.e4m3x2.f32 $0, $1, $1;", "=h,r"),
        ("add.f64 $0, $1, $1;", "=r,r"),
        ("mul.u32 $0, $1, $1;", "=r,r"),
        ("add.u32 $0, $1, t;", "=r,r"),
        ("mov.b32 t, $1;", "=r,r"),
        ("add.u32 $0, $1, 1;", "=r,r,r"),
    ];
    for (text, constraints) in cases {
        let text = format!(
            "import triton\nimport triton.language as tl\n@triton.jit\ndef k(a):\n    x = tl.load(a)\n    y = tl.inline_asm_elementwise('{text}', '{constraints}', [x], tl.{}, True, 1)\n",
            if constraints.starts_with("=h") { "uint16" } else { "uint32" }
        );
        let arguments = [("a", Arg::Array(Scalar::U32, vec![0.0; 4]))];
        let Err((sources, found)) = try_launch(&text, "k", [1; 3], &arguments, &Alone) else {
            panic!("it is let through: {text}");
        };
        drawn.extend(found.iter().map(|d| render(d, &sources, Style::Plain)));
    }
    insta::assert_snapshot!("assembly", drawn);
}
