//! Sorting, and reductions that give positions.

use super::run::{Arg, launch};
use girih_ir::Scalar;

/// Runs a body on arrays `x` (16 floats, with a hole where the second is not a number) and `y` (16 floats), `z` (16 integers).
fn run(body: &str, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "import triton\nimport triton.language as tl\n
@triton.jit\ndef k(x, y, z):\n    at = tl.arange(0, 16)\n    v = tl.load(x + at)\n{lines}"
    );
    let arguments = [
        ("x", Arg::Array(Scalar::F32, x.to_vec())),
        ("y", Arg::Array(Scalar::F32, vec![0.0; 16])),
        ("z", Arg::Array(Scalar::I32, vec![0.0; 16])),
    ];
    let mut found = launch(&text, "k", [1; 3], &arguments);
    let z = found.pop().unwrap_or_default();
    (found.pop().unwrap_or_default(), z)
}

fn mixed() -> Vec<f64> {
    (0..16).map(|i| f64::from((i * 7 + 3) % 16) - 4.0).collect()
}

#[test]
fn tiles_are_sorted() {
    let x = mixed();
    let mut up = x.clone();
    up.sort_by(f64::total_cmp);
    let down: Vec<f64> = up.iter().rev().copied().collect();
    assert_eq!(run("tl.store(y + at, tl.sort(v))", &x).0, up);
    assert_eq!(run("tl.store(y + at, v.sort(descending=True))", &x).0, down);
    assert_eq!(run("tl.store(y + at, tl.sort(v.to(tl.int16)))", &x).0, up);
    assert_eq!(run("tl.store(y + at, tl.sort(v.to(tl.bfloat16), 0, 1))", &x).0, down);
    assert_eq!(run("tl.store(y + tl.arange(0, 4), tl.topk(v, 4))", &x).0[..4], down[..4]);
    assert_eq!(
        run("tl.store(z + at, tl.sort(at % 3))", &x).1,
        [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2].map(f64::from)
    );
}

/// Along each dimension alone.
#[test]
fn rows_and_columns_are_sorted() {
    let x = mixed();
    for dim in 0..2 {
        let body = format!("tl.store(y + at, tl.reshape(tl.sort(tl.reshape(v, (4, 4)), dim={dim}), (16,)))");
        let mut expected = x.clone();
        for line in 0..4 {
            let at = |i: usize| if dim == 0 { i * 4 + line } else { line * 4 + i };
            let mut sorted: Vec<f64> = (0..4).map(|i| x[at(i)]).collect();
            sorted.sort_by(f64::total_cmp);
            sorted.into_iter().enumerate().for_each(|(i, value)| expected[at(i)] = value);
        }
        assert_eq!(run(&body, &x).0, expected, "{dim}");
    }
}

/// Nothing is lost that is not a number: it comes last.
#[test]
fn not_a_number_is_the_greatest() {
    let mut x = mixed();
    x[5] = f64::NAN;
    let found = run("tl.store(y + at, tl.sort(v))", &x).0;
    assert!(found[15].is_nan() && found[..15].is_sorted(), "{found:?}");
    let found = run("tl.store(y + tl.arange(0, 2), tl.topk(v, 2))", &x).0;
    assert!(found[0].is_nan() && found[1] == 11.0, "{found:?}");
}

/// Beside positions, numbers keep their type; alone, short ones are widened.
#[test]
fn the_greatest_keeps_its_type_beside_its_position() {
    let x = mixed();
    let body = "b, i = tl.max(v.to(tl.float16), 0, return_indices=True)
tl.static_assert(b.dtype == tl.float16)
c, j = tl.min(v.to(tl.int8), 0, return_indices=True, return_indices_tie_break_left=False)
tl.static_assert(c.dtype == tl.int8)
d, l = tl.max(v.to(tl.bfloat16), 0, return_indices=True)
tl.static_assert(d.dtype == tl.float32)
tl.static_assert(tl.max(v.to(tl.float16), 0).dtype == tl.float32)
tl.store(y, b)
tl.store(y + 1, c)
tl.store(z, i)
tl.store(z + 1, j)
tl.store(z + 2, tl.argmax(v.to(tl.float16), 0))";
    let (y, z) = run(body, &x);
    let place = |value: f64| x.iter().position(|n| *n == value).unwrap_or_default() as f64;
    assert_eq!((y[0], y[1]), (11.0, -4.0));
    assert_eq!((z[0], z[1], z[2]), (place(11.0), place(-4.0), place(11.0)));
}

#[test]
fn pythons_extremes_take_several_values_and_a_rule_for_nan() {
    let mut x = mixed();
    x[0] = f64::NAN;
    let found = run("tl.store(y + at, max(v, 0.0, 3.0, propagate_nan=tl.PropagateNan.ALL))", &x).0;
    assert!(found[0].is_nan() && found[1..].iter().all(|n| *n >= 3.0), "{found:?}");
    assert_eq!(run("tl.store(y + at, max(v, 3.0))", &x).0[0], 3.0);
}

#[test]
fn every_type_is_sorted() {
    let x = mixed();
    let mut down: Vec<f64> = x.iter().map(|n| n + 4.0).collect();
    down.sort_by(|a, b| b.total_cmp(a));
    let names = ["int8", "uint8", "uint16", "uint32", "int64", "uint64", "float16", "float8e4nv", "float8e5"];
    for name in names {
        // Numbers up to 15 that all of these types hold.
        let round = if name.starts_with("float8e5") { "tl.floor(w / 4) * 4" } else { "w" };
        let body =
            format!("w = v + 4\ntl.store(y + at, tl.sort(({round}).to(tl.{name}), descending=True).to(tl.float32))");
        let expected: Vec<f64> =
            down.iter().map(|n| if name == "float8e5" { (n / 4.0).floor() * 4.0 } else { *n }).collect();
        assert_eq!(run(&body, &x).0, expected, "{name}");
    }
}

/// NaN is found only where there is nothing else, and the first one then; so no order in which elements meet changes the place.
#[test]
fn positions_do_not_depend_on_nan() {
    let mut x = mixed();
    (x[0], x[3], x[9]) = (f64::NAN, f64::NAN, f64::NAN);
    let body = "tl.store(z, tl.argmax(v, 0))
tl.store(z + 1, tl.argmin(v, 0))
most, place = tl.max(v, 0, return_indices=True)
tl.store(z + 2, place)
tl.store(y, most)
tl.store(z + 3, tl.argmax(v.to(tl.bfloat16), 0))
nothing = tl.load(x + at, mask=at < 0, other=float('nan'))
tl.store(z + 4, tl.argmax(nothing, 0))
tl.store(z + 5, tl.argmin(tl.load(x + at, mask=at < 3, other=float('inf')), 0))
tl.store(z + 6, tl.argmax(tl.load(x + at, mask=at < 3, other=-float('inf')), 0))
tl.store(z + 7, tl.argmax(v.reshape(4, 4), None))
tl.store(z + 8, tl.argmax(at > 4, 0))
flag, place = tl.max(at > 4, 0, return_indices=True)
tl.store(z + 9, tl.where(flag, place, -1))";
    let (y, z) = run(body, &x);
    let best = |better: fn(f64, f64) -> bool, from: &[f64]| {
        let mut found = None;
        for (i, n) in from.iter().enumerate().filter(|(_, n)| !n.is_nan()) {
            if found.is_none_or(|(_, most)| better(*n, most)) {
                found = Some((i, *n));
            }
        }
        found.map_or(0.0, |(i, _)| i as f64)
    };
    let (most, least) = (best(|a, b| a > b, &x), best(|a, b| a < b, &x));
    assert_eq!(y[0], x[most as usize]);
    let first = [best(|a, b| a < b, &x[..3]), best(|a, b| a > b, &x[..3])];
    assert_eq!(z[..10], [most, least, most, most, 0.0, first[0], first[1], most, 5.0, 5.0]);
}

/// Floats of 8 bits are compared and computed as `fp16`, by every operation.
#[test]
fn floats_of_eight_bits_are_computed_with() {
    let x = mixed();
    let head = "@triton.jit\ndef add(a, b):\n    return a + b\n";
    let text = |expression: &str| {
        format!(
            "import triton\nimport triton.language as tl\n{head}@triton.jit\ndef k(x, y):\n    at = tl.arange(0, 16)\n    v = tl.load(x + at).to(tl.float8e4nv)\n    e = ({expression})\n    v = v.to(tl.float16)\n    tl.store(y + at, (e.to(tl.float32) == ({expression}).to(tl.float32)).to(tl.int32) + at * 0)\n"
        )
    };
    let expressions = [
        "v > 1.0",
        "v != v",
        "v == 2.0",
        "-v",
        "abs(v)",
        "tl.maximum(v, 1.0)",
        "min(v, -v)",
        "tl.clamp(v, -1.0, 2.0)",
        "tl.fma(v, v, v)",
        "tl.argmax(v, 0)",
        "tl.max(v, 0, return_indices=True)[1]",
        "tl.sum(v, 0)",
        "tl.cumsum(v, 0)",
        "tl.where(v > 0, v, 0.0)",
        "tl.flip(v)",
        "not v",
        "tl.split(tl.reshape(v, (8, 2)))[0][:, None] + tl.zeros((8, 2), tl.float16)",
        "tl.reduce(v, 0, add)",
    ];
    for expression in expressions {
        let shape = if expression.contains("split") { "tl.arange(0, 16).reshape(8, 2)" } else { "tl.arange(0, 16)" };
        let text = text(expression)
            .replace("tl.store(y + at", &format!("tl.store(y + {shape}"))
            .replace("at * 0)", &format!("{shape} * 0)"));
        let arguments = [("x", Arg::Array(Scalar::F32, x.clone())), ("y", Arg::Array(Scalar::I32, vec![0.0; 16]))];
        let found = super::run::launch_on_cards(&text, "k", [1; 3], &arguments).swap_remove(1);
        assert_eq!(found, vec![1.0; 16], "{expression}");
    }
}

/// Along each dimension, and in order.
#[test]
fn tiles_are_put_one_behind_the_other() {
    let x = mixed();
    for dim in [0, 1, -1] {
        let body = format!(
            "two = tl.arange(0, 2)\nv = two[:, None] * 2 + two[None, :]\nw = tl.cat(v, v + 10, dim={dim})
whole = tl.arange(0, {rows})[:, None] * 4 + tl.arange(0, {columns})[None, :]\ntl.store(z + whole, w)",
            rows = if dim == 0 { 4 } else { 2 },
            columns = if dim == 0 { 2 } else { 4 },
        );
        let z = run(&body, &x).1;
        for side in 0..2usize {
            for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let at = if dim == 0 { (r + 2 * side) * 4 + c } else { r * 4 + c + 2 * side };
                assert_eq!(z[at], (r * 2 + c + 10 * side) as f64, "{dim}: {z:?}");
            }
        }
    }
}
