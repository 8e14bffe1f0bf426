//! What operations and statements of kernels mean.

use super::run::{Arg, Ran, close, f32s, launch, launch_on_cards, noise, try_launch, zeros};
use girih_ir::Scalar;
use girih_triton::{Alone, LoadedFile, Loader};

fn file(body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n
@triton.jit\ndef early(x, limit):\n    if x > limit:\n        return limit, True\n    return x, False\n
@triton.jit\ndef largest(a, i, b, j):\n    first = a > b\n    return tl.where(first, a, b), tl.where(first, i, j)\n
@triton.jit\ndef add(a, b):\n    return a + b\n
@triton.jit\ndef factorial(n: tl.constexpr):\n    if n <= 1:\n        return 1\n    return n * factorial(n - 1)\n
@triton.jit\ndef moved(p, by):\n    return p + by\n
@triton.jit\ndef k(x, y, n):\n    at = tl.arange(0, 16)\n{lines}"
    )
}

/// Runs a body on arrays `x` (16 floats) and `y` (32 integers); gives `x` and `y`.
fn run(body: &str) -> (Vec<f64>, Vec<f64>) {
    let arguments =
        [("x", f32s((0..16).map(f64::from))), ("y", Arg::Array(Scalar::I32, vec![0.0; 32])), ("n", Arg::Int(5))];
    let mut found = launch(&file(body), "k", [1; 3], &arguments);
    let y = found.pop().unwrap_or_default();
    (found.pop().unwrap_or_default(), y)
}

fn ints(body: &str, expected: &[i64]) {
    let found = run(body).1;
    let expected: Vec<f64> = expected.iter().map(|n| *n as f64).collect();
    assert_eq!(found[..expected.len()], expected, "{body}");
}

#[test]
fn numbers_are_cut_where_that_is_asked_for() {
    let cut = |ty: &str| {
        let to =
            format!("x = (n + at).to(tl.float32) * (1 + 2 ** -11.0)\nv = x.to(tl.{ty}, fp_downcast_rounding='rtz')");
        let whole =
            format!("{to}\nw = tl.where(at % 2 == 0, -x, x).to(tl.{ty}, fp_downcast_rounding='rtz').to(tl.float32)");
        run(&format!("{whole}\ntl.store(y + at, (w * tl.where(at % 2 == 0, -64, 64)).to(tl.int32))\ntl.store(y + 16 + at, (v.to(tl.float32) * 64).to(tl.int32))")).1
    };
    // 5 to 20: what lies above the whole numbers is less than a unit of these types.
    let whole: Vec<f64> = (5..21).chain(5..21).map(|n| f64::from(n * 64)).collect();
    assert_eq!(cut("float16"), whole);
    assert_eq!(cut("bfloat16"), whole);
    let eighth = |n: i32| f64::from(if n < 16 { n } else { n & !1 } * 64);
    assert_eq!(cut("float8e4nv"), (5..21).chain(5..21).map(eighth).collect::<Vec<_>>());
    let found = run("v = tl.full([16], 70000.0, tl.float32).to(tl.float16, fp_downcast_rounding='rtz')\ntl.store(y + at, v.to(tl.int32))").1;
    assert_eq!(found[0], 65504.0);
}

#[test]
fn what_a_division_of_floats_leaves() {
    for (a, b) in [
        (1.0, 0.1),
        (-1.0, 0.1),
        (1.0, -0.1),
        (7.0, f64::INFINITY),
        (-7.0, f64::INFINITY),
        (6.0, 2.0),
        (0.7, 0.1),
        (5.5, -2.0),
    ] {
        let found = run(&format!("a = x * 0 + {a}\nb = x * 0 + float('{b}')\ntl.store(x + at, v)")
            .replace("x * 0", "tl.load(x + at) * 0")
            .replace(", v)", ", a % b)"))
        .0[0];
        assert_eq!(found as f32, a as f32 % b as f32, "{a} % {b}");
    }
    assert!(run("tl.store(x + at, (tl.load(x + at) * 0 + float('inf')) % 2.0)").0[0].is_nan());
}

#[test]
fn types_are_those_of_triton() {
    for (expression, ty) in [
        ("tl.zeros([2], tl.float16) + 1.5", "float16"),
        ("tl.zeros([2], tl.float16) / 2", "float32"),
        ("tl.zeros([2], tl.bfloat16) * tl.zeros([2], tl.float16)", "float16"),
        ("tl.zeros([2], tl.bfloat16) + tl.zeros([2], tl.int32)", "float32"),
        ("at + 1.0", "float32"),
        ("at / 3", "float32"),
        ("at // 3", "int32"),
        ("at < 3", "int1"),
        ("tl.zeros([2], tl.int8) + 1", "int8"),
        ("tl.zeros([2], tl.int8) + tl.zeros([2], tl.uint8)", "uint8"),
        ("(at < 3) + (at < 4)", "int1"),
        ("-(at < 3)", "int1"),
        ("(at < 3) + 1", "int32"),
        ("tl.sum(at < 3, 0, dtype=tl.int1)", "int1"),
        ("tl.sum(tl.zeros([4], tl.int8), 0)", "int32"),
        ("tl.sum(tl.zeros([4], tl.int1), 0)", "uint32"),
        ("tl.cumsum(tl.zeros([4], tl.uint8), 0)", "uint32"),
        ("tl.sum(tl.zeros([4], tl.float16), 0)", "float16"),
        ("tl.max(tl.zeros([4], tl.float16), 0)", "float32"),
        ("tl.argmax(at, 0)", "int32"),
        ("tl.dot(tl.zeros([16, 16], tl.int8), tl.zeros([16, 16], tl.int8))", "int32"),
        ("tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([16, 16], tl.float16))", "float32"),
        ("tl.program_id(0)", "int32"),
        ("tl.where(at < 3, 1.0, at)", "float32"),
        ("tl.rand(1, at)", "float32"),
    ] {
        run(&format!("v = {expression}\ntl.static_assert(v.dtype == tl.{ty}, f'{{v.dtype}}')"));
    }
}

#[test]
fn integers_divide_like_c_and_constants_like_python() {
    ints("v = at - 8\ntl.store(y + at, v // 3)", &[-2, -2, -2, -1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2]);
    ints("v = at - 8\ntl.store(y + at, v % 3)", &[-2, -1, 0, -2, -1, 0, -2, -1, 0, 1, 2, 0, 1, 2, 0, 1]);
    ints("tl.static_assert(-7 // 2 == -4)\ntl.static_assert(-7 % 3 == 2)\ntl.store(y, tl.cdiv(n, 2))", &[3]);
}

#[test]
fn integers_become_uniform_floats() {
    let ones = [1; 16];
    ints(
        "same = tl.uint_to_uniform_float(tl.randint(1, at)) == tl.rand(1, at)\ntl.store(y + at, same.to(tl.int32))",
        &ones,
    );
    ints(
        "u = tl.uint_to_uniform_float(at.to(tl.int64) * -576460752303423489)\ntl.store(y + at, ((u >= 0) & (u < 1)).to(tl.int32))",
        &ones,
    );
    ints(
        "a, b, c, d = tl.philox_impl(at, at * 0, at * 0, at * 0, 7, 0)\ne, f, g, h = tl.randint4x(7, at)
tl.store(y + at, ((a == e) & (d == h)).to(tl.int32))",
        &ones,
    );
}

/// One instruction of PTX means what it computes.
#[test]
fn single_instructions_of_assembly_are_known() {
    let asm = |text: &str, arguments: &str| {
        format!(
            "u = tl.inline_asm_elementwise('{text}', '=f{}', [{arguments}], dtype=tl.float32, is_pure=True, pack=1)\n",
            ",f".repeat(arguments.split(',').count())
        )
    };
    let near = |text: &str, arguments: &str, expected: &str| {
        let body = format!(
            "v = at * 0.25\n{}tl.store(y + at, (tl.abs(u - {expected}) <= 1e-3 * tl.abs(u)).to(tl.int32))",
            asm(text, arguments)
        );
        ints(&body, &[1; 16]);
    };
    near("tanh.approx.f32 $0, $1;", "v", "libdevice.tanh(v)");
    near("ex2.approx.ftz.f32 $0, $1;", "v", "tl.exp2(v)");
    near("{ fma.rn.f32 $0, $1, $2, $3; }", "v, v, v", "(v * v + v)");
    near("sub.rn.f32 $0, $2, $1;", "v, v + 1", "1.0");
}

#[test]
fn reductions_and_scans() {
    ints(
        "tl.store(y, tl.sum(at, 0))\ntl.store(y + 1, tl.max(at, axis=0))\ntl.store(y + 2, tl.min(at - 3, axis=0))",
        &[120, 15, -3],
    );
    ints("v = tl.where(at == 3, 9, tl.where(at == 7, 9, 0))\ntl.store(y, tl.argmax(v, 0))", &[3]);
    ints("v, i = tl.max(at % 5, 0, return_indices=True)\ntl.store(y, v)\ntl.store(y + 1, i)", &[4, 4]);
    ints("tl.store(y + at, tl.cumsum(at, 0))", &[0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105, 120]);
    ints("tl.store(y + at, tl.cumsum(at, 0, reverse=True))", &[120, 120, 119, 117, 114]);
    ints("v, i = tl.reduce((at * 7 % 16, at), 0, largest)\ntl.store(y, v)\ntl.store(y + 1, i)", &[15, 9]);
    ints("tl.store(y + at, tl.associative_scan(at, 0, add))", &[0, 1, 3, 6, 10]);
    ints("m = tl.reshape(at, (4, 4))\ntl.store(y + tl.arange(0, 4), tl.sum(m, 1))", &[6, 22, 38, 54]);
    ints(
        "m = tl.reshape(at, (4, 4))\ntl.store(y + tl.arange(0, 4), tl.sum(m, axis=0, keep_dims=True).reshape(4))",
        &[24, 28, 32, 36],
    );
    ints("tl.store(y + tl.arange(0, 4), tl.histogram(at % 3, 4))", &[6, 5, 5, 0]);
    ints("tl.store(y, tl.xor_sum(at, 0))", &[0]);
    // `int1` is an integer of one bit.
    ints("tl.store(y + at, (at > 0) + (at > 1))", &[0, 1, 0, 0]);
    ints("tl.store(y + at, (at > 0) - (at > 1))", &[0, 1, 0, 0]);
    ints("tl.store(y + at, -(at > 1))", &[0, 0, 1, 1]);
    ints("tl.store(y, tl.sum(at > 2, 0, dtype=tl.int1))\ntl.store(y + 1, tl.sum(at > 1, 0, dtype=tl.int1))", &[1, 0]);
}

#[test]
fn shapes() {
    ints("m = at.reshape(4, 4).T\ntl.store(y + at, tl.ravel(m))", &[0, 4, 8, 12, 1, 5, 9, 13]);
    ints("a, b = tl.split(at.reshape(8, 2))\ntl.store(y + tl.arange(0, 8), b)", &[1, 3, 5, 7, 9, 11, 13, 15]);
    ints("v = tl.interleave(at, -at)\ntl.store(y + tl.arange(0, 32), v)", &[0, 0, 1, -1, 2, -2]);
    ints("tl.store(y + at, tl.flip(at))", &[15, 14, 13, 12]);
    ints("tl.store(y + tl.arange(0, 32), tl.cat(at, at, can_reorder=True))", &[0, 1, 2, 3]);
    ints("tl.store(y + at, tl.gather(at * 2, 15 - at, 0))", &[30, 28, 26]);
    ints("tl.store(y + at, tl.gather(at + 1, at * 2 - 2, 0))", &[0, 1, 3, 5, 7, 9, 11, 13, 15, 0, 0]);
    ints("m = at.reshape(4, 4)\ntl.store(y + at, tl.gather(m, 3 - m % 4, 1).reshape(16))", &[3, 2, 1, 0, 7, 6, 5, 4]);
    ints("m = at.reshape(4, 4)\ntl.store(y + at, tl.gather(m, 3 - m // 4, 0).reshape(16))", &[12, 13, 14, 15, 8, 9]);
    ints("v = tl.gather(at < 3, 15 - at, 0)\ntl.store(y + at, v)", &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    ints(
        "v = at\nfor i in range(n):\n    v = tl.gather(v, (at + 1) % 16, 0)\ntl.store(y + at, v)",
        &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4],
    );
    ints("v = tl.gather(tl.histogram(at % 3, 4), at % 4, 0)\ntl.store(y + at, v)", &[6, 5, 5, 0, 6, 5, 5, 0]);
    ints(
        "v = at[None, :] * 10 + tl.arange(0, 2)[:, None]\ntl.store(y + tl.arange(0, 32).reshape(2, 16), v)",
        &[0, 10, 20],
    );
    ints(
        "v = tl.broadcast_to(tl.expand_dims(tl.arange(0, 4), 1), (4, 4))\ntl.store(y + at, v.reshape(16))",
        &[0, 0, 0, 0, 1, 1],
    );
    ints("v = tl.permute(at.reshape(2, 2, 4), (2, 0, 1))\ntl.store(y + at, v.reshape(16))", &[0, 4, 8, 12, 1]);
}

#[test]
fn control_flow() {
    ints("s = 0\nfor i in range(2, n):\n    s += i\ntl.store(y, s)", &[9]);
    ints("s = 0\nfor i in range(n, 0, -2):\n    s = s * 10 + i\ntl.store(y, s)", &[531]);
    ints("s = 1\nwhile s < 100:\n    s = s * n\ntl.store(y, s)", &[125]);
    ints("if n > 3:\n    a = 1\nelif n > 1:\n    a = 2\nelse:\n    a = 3\ntl.store(y, a)", &[1]);
    ints("if n == 4:\n    return\ntl.store(y, 7)", &[7]);
    ints("if n == 5:\n    tl.store(y, 1)\n    return\ntl.store(y, 7)", &[1]);
    ints("a = 1 if n > 3 else 2\ntl.store(y, a)", &[1]);
    ints("a, b = early(n, 3)\ntl.store(y, a)\ntl.store(y + 1, b)", &[3, 1]);
    ints("a, b = early(n, 30)\ntl.store(y, a)\ntl.store(y + 1, b)", &[5, 0]);
    ints("for i in tl.static_range(4):\n    if i % 2 == 0:\n        tl.store(y + i, i + 1)", &[1, 0, 3, 0]);
    ints("p = y\nfor i in range(n):\n    tl.store(p, i)\n    p += 2", &[0, 0, 1, 0, 2, 0, 3]);
    ints("tl.store(moved(y, 3), 9)", &[0, 0, 0, 9]);
    ints("if (n > 3 and n < 9) or n == 0:\n    tl.store(y, 4)", &[4]);
    ints("t = (1, n, 3)\ntl.store(y, t[1] + t[-1] + len(t))", &[11]);
    ints("for i in range(2):\n    if i > 0:\n        a = i\n    else:\n        b = i\n    a = 3\ntl.store(y, n)", &[5]);
    ints("tl.store(y + at, at + factorial(5))", &[120, 121, 122]);
    ints("m: tl.constexpr = n * 2\ntl.store(y, m + 1)", &[11]);
    ints("a = None\nif a is None and not (n is None):\n    tl.store(y, 2)", &[2]);
}

/// A function of the library is called by a kernel of its name, which is still being written.
#[test]
fn a_kernel_has_the_name_of_a_function_that_it_calls() {
    let text = "import triton\nimport triton.language as tl\n
@triton.jit\ndef topk(x, y):\n    tl.store(y + tl.arange(0, 4), tl.topk(tl.load(x + tl.arange(0, 16)), 4))\n";
    let values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3].map(f64::from);
    let found = launch(text, "topk", [1; 3], &[("x", f32s(values)), ("y", zeros(4))]);
    assert_eq!(found[1], [9.0, 9.0, 9.0, 8.0]);
}

/// Floats of both signs meet floats of both signs in memory.
#[test]
fn floats_are_replaced_by_the_greater_and_the_lesser_one() {
    let body = |update: &str| {
        format!(
            "tl.store(x + at, at - 8)\ntl.debug_barrier()\nold = tl.{update}(x + at, tl.where(at % 2 == 0, -3.5, 7.25), mask=at < 15)
tl.debug_barrier()\ntl.store(y + at, (tl.load(x + at) * 4).to(tl.int32))\ntl.store(y + 16 + at, tl.where(at < 15, old, 7).to(tl.int32))"
        )
    };
    let old = [-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7];
    let greater = [-14, 29, -14, 29, -14, 29, -8, 29, 0, 29, 8, 29, 16, 29, 24, 28];
    ints(&body("atomic_max"), &[greater, old].concat());
    let lesser = [-32, -28, -24, -20, -16, -12, -14, -4, -14, 4, -14, 12, -14, 20, -14, 28];
    ints(&body("atomic_min"), &[lesser, old].concat());
    ints("tl.store(x, -2.0)\nold = tl.atomic_max(x, 2.5)\ntl.store(y, old)\ntl.store(y + 1, tl.load(x) * 2)", &[-2, 5]);
}

/// Neighbours in a word are added to at once, by 256 elements; each sum is exact in 11 bits.
#[test]
fn short_floats_are_added_to_beside_each_other() {
    for ty in ["float16", "bfloat16", "float64"] {
        let text = format!(
            "import triton\nimport triton.language as tl\n
@triton.jit\ndef k(x, y):\n    at = tl.arange(0, 256)\n    p = x.to(tl.pointer_type(tl.{ty}))
    tl.store(p + tl.arange(0, 8), tl.arange(0, 8).to(tl.{ty}))\n    tl.debug_barrier()\n    tl.atomic_add(p + at % 4, 0.5, mask=at < 128)
    tl.debug_barrier()\n    tl.store(y + tl.arange(0, 8), tl.load(p + tl.arange(0, 8)).to(tl.float32))\n"
        );
        // No browser has 64-bit floats, and a kernel's short ones are kept in words there.
        let run = if ty == "float64" { launch_on_cards } else { launch };
        let found = run(&text, "k", [1; 3], &[("x", zeros(16)), ("y", zeros(8))]);
        assert_eq!(found[1], [16.0, 17.0, 18.0, 19.0, 4.0, 5.0, 6.0, 7.0], "{ty}");
    }
}

#[test]
fn memory() {
    ints("tl.store(y + at, at, mask=at < n)", &[0, 1, 2, 3, 4, 0, 0]);
    ints("v = tl.load(x + at, mask=at > 12, other=-1.0)\ntl.store(y + at, v.to(tl.int32))", &[-1, -1]);
    ints("old = tl.atomic_add(y + at % 4, 1)\ntl.store(y + 16 + at, old)", &[4, 4, 4, 4]);
    ints("tl.atomic_max(y + 0 * at, at, mask=at < 7)", &[6]);
    ints("a = tl.atomic_cas(y, 0, 5)\nb = tl.atomic_cas(y, 0, 6)\ntl.store(y + 1, b)", &[5, 5]);
    ints(
        "b = tl.make_block_ptr(x, (4, 3), (4, 1), (0, 0), (2, 4), (1, 0))\nb = tl.advance(b, (2, 0))\nv = tl.load(b, boundary_check=(1,)).to(b.type.element_ty)\ntl.store(y + tl.arange(0, 8), v.reshape(8).to(tl.int32))",
        &[8, 9, 10, 0, 12, 13, 14, 0],
    );
    ints(
        "d = tl.make_tensor_descriptor(x, shape=[4, 4], strides=[4, 1], block_shape=[2, 2])\nv = d.load([3, 1])\ntl.store(y + tl.arange(0, 4), v.reshape(4).to(tl.int32))",
        &[13, 14, 0, 0],
    );
    // A pointer moved to and fro before the buffer's beginning is fine as long as nothing is touched there.
    ints("p = y + (at - 8)\ntl.store(p + 8, at)", &[0, 1, 2, 3]);
}

#[test]
fn functions_of_floats() {
    let points = noise(20, 64).into_iter().map(|x| x * 4.0).collect::<Vec<_>>();
    for (name, f, tolerance) in [
        ("tl.exp", f64::exp as fn(f64) -> f64, 1e-6),
        ("tl.exp2", f64::exp2, 1e-6),
        ("tl.log", f64::ln, 1e-6),
        ("tl.log2", f64::log2, 1e-6),
        ("libdevice.fast_expf", f64::exp, 1e-6),
        ("libdevice.fast_logf", f64::ln, 1e-6),
        ("tl.rsqrt", |x: f64| 1.0 / x.sqrt(), 1e-6),
        ("tl.sigmoid", |x: f64| 1.0 / (1.0 + (-x).exp()), 1e-6),
        ("libdevice.tanh", f64::tanh, 1e-6),
        ("tl.sin", f64::sin, 1e-6),
        ("libdevice.expm1", f64::exp_m1, 1e-6),
        ("libdevice.sinh", f64::sinh, 1e-6),
        ("tl.floor", f64::floor, 0.0),
        ("tl.abs", f64::abs, 0.0),
    ] {
        let source = file("").replace("    at = tl.arange(0, 16)\n", "    at = tl.arange(0, 64)\n")
            + &format!("    tl.store(y + at, {name}(tl.load(x + at)))\n");
        let found = launch(&source, "k", [1; 3], &[("x", f32s(points.clone())), ("y", zeros(64)), ("n", Arg::Int(1))]);
        close(&found[1], &points.iter().map(|x| f(*x)).collect::<Vec<_>>(), tolerance, name);
    }
    // The error function by its integral, in steps small enough.
    let erf = |x: f64| {
        let (steps, sign) = (2000, x.signum());
        let h = x.abs() / f64::from(steps);
        let f = |i: i32| (-(h * f64::from(i)).powi(2)).exp();
        let simpson: f64 = (0..steps / 2).map(|i| f(2 * i) + 4.0 * f(2 * i + 1) + f(2 * i + 2)).sum();
        sign * simpson * h / 3.0 * std::f64::consts::FRAC_2_SQRT_PI
    };
    let source = file("").replace("    at = tl.arange(0, 16)\n", "    at = tl.arange(0, 64)\n")
        + "    tl.store(y + at, tl.erf(tl.load(x + at)))\n";
    let found = launch(&source, "k", [1; 3], &[("x", f32s(points.clone())), ("y", zeros(64)), ("n", Arg::Int(1))]);
    close(&found[1], &points.iter().map(|x| erf(*x)).collect::<Vec<_>>(), 4e-7, "erf");
}

/// Masked elements are infinities, and what is computed of them counts.
#[test]
fn functions_of_floats_keep_infinities_and_nan() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let points = [-inf, inf, nan, 0.0, -1.0, 200.0, -200.0, 1.0];
    for (name, expected) in [
        ("tl.exp", [0.0, inf, nan, 1.0, (-1f64).exp(), inf, 0.0, 1f64.exp()]),
        ("tl.exp2", [0.0, inf, nan, 1.0, 0.5, inf, 0.0, 2.0]),
        ("tl.log", [nan, inf, nan, -inf, nan, 200f64.ln(), nan, 0.0]),
        ("libdevice.fast_log2f", [nan, inf, nan, -inf, nan, 200f64.log2(), nan, 0.0]),
        ("tl.rsqrt", [nan, 0.0, nan, inf, nan, 200f64.sqrt().recip(), nan, 1.0]),
    ] {
        let source = file("").replace("    at = tl.arange(0, 16)\n", "    at = tl.arange(0, 8)\n")
            + &format!("    tl.store(y + at, {name}(tl.load(x + at)))\n");
        let found = launch(&source, "k", [1; 3], &[("x", f32s(points)), ("y", zeros(8)), ("n", Arg::Int(1))]);
        close(&found[1], &expected, 1e-6, name);
    }
}

/// What `maximum`, `minimum` and `clamp` make of NaN, by element, in reductions and where a kernel leaves the layouts.
#[test]
fn nan_is_propagated_where_it_is_asked_for() {
    let nan = f64::NAN;
    let a = [1.0, nan, 3.0, nan, -5.0, nan, 7.0, 0.0];
    let b = [2.0, 2.0, nan, nan, -6.0, 1.0, nan, 0.0];
    let either = |f: fn(f64, f64) -> f64, all: bool| -> Vec<f64> {
        let one = |(x, y): (&f64, &f64)| if all && (x.is_nan() || y.is_nan()) { f64::NAN } else { f(*x, *y) };
        a.iter().zip(&b).map(one).collect()
    };
    let clamped = |all: bool| -> Vec<f64> {
        a.iter().map(|x| if x.is_nan() { if all { f64::NAN } else { -1.0 } } else { x.clamp(-1.0, 4.0) }).collect()
    };
    let rows = |all: bool, f: fn(f64, f64) -> f64| -> Vec<f64> {
        let folded = |half: &[f64]| {
            let poisoned = all && half.iter().any(|x| x.is_nan());
            if poisoned { f64::NAN } else { half.iter().copied().fold(f64::NAN, f) }
        };
        a.chunks(2).map(folded).collect()
    };
    let wide = |values: Vec<f64>| values.into_iter().chain([0.0; 8]).take(8).collect::<Vec<f64>>();
    let (none, all) = ("tl.PropagateNan.NONE", "tl.PropagateNan.ALL");
    let by_element = |call: &str| format!("tl.store(y + at, {call})");
    let reduced =
        |which: &str| format!("tl.store(y + tl.arange(0, 4), tl.reduce(tl.load(x + at).reshape(4, 2), 1, {which}))");
    let in_order = |line: String| line.replace("tl.load(x + at)", "tl.gather(tl.load(x + at), at, 0)");
    let pair = "tl.load(x + at), tl.load(x + 8 + at)";
    for (line, expected) in [
        (by_element(&format!("tl.maximum({pair})")), either(f64::max, false)),
        (by_element(&format!("tl.maximum({pair}, propagate_nan={none})")), either(f64::max, false)),
        (by_element(&format!("tl.maximum({pair}, propagate_nan={all})")), either(f64::max, true)),
        (by_element(&format!("tl.minimum({pair}, {all})")), either(f64::min, true)),
        (by_element(&format!("tl.minimum({pair})")), either(f64::min, false)),
        (by_element("tl.clamp(tl.load(x + at), -1.0, 4.0)"), clamped(false)),
        (by_element(&format!("tl.clamp(tl.load(x + at), -1.0, 4.0, propagate_nan={all})")), clamped(true)),
        (reduced("greater"), wide(rows(false, f64::max))),
        (reduced("greater_or_nan"), wide(rows(true, f64::max))),
        (by_element("tl.maximum(float('nan'), 1.0)"), vec![1.0; 8]),
        (by_element("tl.maximum(1.0, float('nan'))"), vec![1.0; 8]),
        (by_element(&format!("tl.minimum(1.0, float('nan'), {all})")), vec![nan; 8]),
        // Floats do not tell these apart.
        (by_element("tl.maximum(2 ** 53, 2 ** 53 + 1) - 2 ** 53"), vec![1.0; 8]),
        (by_element("tl.minimum(2 ** 53 + 1, 2 ** 53) - 2 ** 53"), vec![0.0; 8]),
        ("tl.store(y, tl.max(tl.load(x + at), 0))".into(), wide(vec![7.0])),
    ] {
        for line in [line.clone(), in_order(line)] {
            let functions: String = [("greater", none), ("greater_or_nan", all)]
                .iter()
                .map(|(name, rule)| {
                    format!("@triton.jit\ndef {name}(a, b):\n    return tl.maximum(a, b, propagate_nan={rule})\n\n")
                })
                .collect();
            let source = format!(
                "import triton\nimport triton.language as tl\n\n{functions}@triton.jit\ndef k(x, y):\n    at = tl.arange(0, 8)\n    {line}\n"
            );
            let x = f32s(a.iter().chain(&b).copied());
            let found = launch(&source, "k", [1; 3], &[("x", x), ("y", zeros(8))]);
            close(&found[1], &expected, 0.0, &line);
        }
    }
}

/// A number has a bin, or none, whatever its width; what is masked off is in none. The second time so many values are scanned that all tiles go through
/// shared memory.
#[test]
fn histograms_count_numbers_of_every_width() {
    let list = |item: &dyn Fn(usize) -> String| (0..17).map(item).collect::<Vec<_>>().join(", ");
    let (a, b) = (list(&|i| format!("a{i}")), list(&|i| format!("b{i}")));
    let (sums, all) = (list(&|i| format!("a{i} + b{i}")), list(&|_| "at".into()));
    let scan = format!("    found = tl.associative_scan(({all}), 0, add)\n    tl.store(z + at, found[0])\n");
    for scalar in [Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32] {
        let left = 64 - scalar.bits();
        let fitting = |n: i64| match scalar.is_signed() {
            true => (n << left >> left) as f64,
            false => ((n as u64) << left >> left) as f64,
        };
        let some = [255, 0, -1, 128, 127, 256, 511, 512, 65_535, 300];
        let x: Vec<f64> = (0..64).map(|i| fitting(some[i * 7 % 10] - i as i64 / 32)).collect();
        for (bins, scan) in [(256, ""), (512, ""), (256, &*scan)] {
            let source = format!(
                "import triton\nimport triton.language as tl\n\n@triton.jit\ndef add({a}, {b}):\n    return {sums}\n\n@triton.jit\ndef k(x, y, z):\n    at = tl.arange(0, 64)\n{scan}    found = tl.histogram(tl.load(x + at), {bins}, mask=at % 3 != 0)\n    tl.store(y + tl.arange(0, {bins}), found.to(tl.float32))\n"
            );
            let mut expected = vec![0.0; bins];
            for (i, x) in x.iter().enumerate() {
                if i % 3 != 0 && (0.0..bins as f64).contains(x) {
                    expected[*x as usize] += 1.0;
                }
            }
            let arguments = [("x", Arg::Array(scalar, x.clone())), ("y", zeros(bins)), ("z", zeros(64))];
            let found = launch(&source, "k", [1; 3], &arguments);
            close(&found[1], &expected, 0.0, &format!("{bins} bins of {scalar}"));
        }
    }
}

/// A quotient is near for every divisor, one for a tile or one for each element; and a load stays one that others may answer anew.
#[test]
fn quotients_are_near_for_every_divisor() {
    let inf = f64::INFINITY;
    let numbers = [1.0, -3.0, inf, -inf, 2f64.powi(127), 0.0, 1.0, 7.0];
    let x = f32s(numbers);
    for divisor in [0.0, inf, -inf, f64::NAN, 2f64.powi(127), 2f64.powi(126), 2f64.powi(-126), 3.0] {
        for load in ["tl.load(y)", "tl.load(y + at)", "tl.load(y + at, volatile=True)"] {
            let source = format!(
                "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, y, z):\n    at = tl.arange(0, 8)\n    tl.store(z + at, tl.load(x + at) / {load})\n"
            );
            let expected: Vec<f64> = numbers.iter().map(|x| f64::from((x / divisor) as f32)).collect();
            let arguments = [("x", x.clone()), ("y", f32s([divisor; 8])), ("z", zeros(8))];
            let found = launch(&source, "k", [1; 3], &arguments);
            close(&found[2], &expected, 1e-6, &format!("/ {divisor}, {load}"));
        }
    }
}

/// As in Triton, a function's own annotation does not keep tiles from it, and it can ask what it was given.
#[test]
fn functions_take_tiles_for_constants_and_descriptors_for_pointers() {
    let source = "import triton\nimport triton.language as tl\n
@triton.jit\ndef descriptor(x, n):\n    if isinstance(x, tl.tensor_descriptor):\n        return x\n    else:\n        return tl.make_tensor_descriptor(x, shape=[n, 4], strides=[4, 1], block_shape=[4, 4])\n
@triton.jit\ndef shifted(tile: tl.constexpr, by: tl.constexpr):\n    return tile + by\n
@triton.jit\ndef k(x, y, n):\n    x = descriptor(descriptor(x, n), n)\n    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]\n    tl.store(y + at, shifted(x.load([n - 2, 0]).T, 1))\n";
    let arguments = [("x", f32s((0..16).map(f64::from))), ("y", zeros(16)), ("n", Arg::Int(4))];
    let found = launch(source, "k", [1; 3], &arguments);
    // Two rows are inside, and stand as columns.
    let expected: Vec<f64> = (0..16)
        .map(|i| match (i % 4, i / 4) {
            (row @ 0..2, column) => f64::from((row + 2) * 4 + column + 1),
            _outside => 1.0,
        })
        .collect();
    assert_eq!(found[1], expected);
}

/// A module beside the kernel's file.
struct Beside;

impl Loader for Beside {
    fn module(&self, _from: &str, up: usize, path: &str) -> Result<Option<LoadedFile>, String> {
        let text = match (up, path) {
            (0, "helpers") => {
                "from .deep import add\nimport triton\nSIZE = 2 ** 3\n@triton.jit\ndef twice(x):\n    return add(x, x)\n"
            }
            (1, "deep") => "import triton\n@triton.jit\ndef add(a, b):\n    return a + b\n",
            _ => return Ok(None),
        };
        Ok(Some(LoadedFile { name: format!("{path}.py"), text: text.into() }))
    }
}

#[test]
fn functions_and_constants_come_from_other_files() {
    let source = "import triton, helpers\nimport triton.language as tl\nfrom helpers import twice, SIZE\nfrom missing import thing\n
@triton.jit\ndef k(y):\n    at = tl.arange(0, SIZE)\n    tl.store(y + at, helpers.twice(twice(at)))\n";
    let arguments = [("y", Arg::Array(Scalar::I32, vec![0.0; 8]))];
    let ran: Ran = try_launch(source, "k", [1; 3], &arguments, &Beside);
    let found = ran.map_err(|(_, found)| found).expect("no error").0;
    assert_eq!(found[0], [0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0]);
}

#[test]
fn decorators_are_read() {
    let source = "import triton\nimport triton.language as tl\n
def configs():\n    found = []\n    for b in [16, 32]:\n        found.append(triton.Config({'B': b}, num_warps=2))\n    return found\n
@triton.autotune(configs=configs(), key=['n'])\n@triton.heuristics({'EVEN': lambda args: args['n'] % args['B'] == 0})\n@triton.jit\ndef k(y, n, B: tl.constexpr, EVEN: tl.constexpr):\n    tl.store(y, B)\n    tl.store(y + 1, EVEN)\n";
    let arguments = [("y", Arg::Array(Scalar::I32, vec![0.0; 2])), ("n", Arg::Int(48))];
    assert_eq!(launch(source, "k", [1; 3], &arguments)[0], [16.0, 1.0]);
}

#[test]
fn programs_print_and_assert() {
    let arguments = [("x", zeros(16)), ("y", Arg::Array(Scalar::I32, vec![0.0; 32])), ("n", Arg::Int(5))];
    let source = file("tl.device_print('at', tl.arange(0, 2), n)");
    let printed = try_launch(&source, "k", [1; 3], &arguments, &Alone).map_err(|(_, found)| found).expect("no error").1;
    assert_eq!(printed, ["program (0, 0, 0) at [0, 1] 5"]);
    let source = file("tl.device_assert(at < n, 'small')");
    let Err((_, found)) = try_launch(&source, "k", [1; 3], &arguments, &Alone) else { panic!("let through") };
    assert!(found[0].message.starts_with("the assertion fails for element 5: small"), "{}", found[0].message);
}
