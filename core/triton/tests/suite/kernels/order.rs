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
