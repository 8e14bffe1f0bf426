//! What kernels of Inductor call.

use super::run::{Arg, close, launch};
use girih_base::span::Sources;
use girih_ir::Scalar;
use girih_triton::{Alone, Argument, Request, compile};

/// Runs a body on arrays `x` (16 floats), `y` (16 floats) and `z` (16 integers).
fn run(body: &str) -> (Vec<f64>, Vec<f64>) {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "import triton\nimport triton.language as tl
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
triton_helpers.set_driver_to_gpu()\n
@triton.jit\ndef k(x, y, z):\n    at = tl.arange(0, 16)\n    v = tl.load(x + at)\n    m = tl.reshape(v, (2, 8))\n    two = tl.arange(0, 2)\n{lines}"
    );
    let arguments = [
        ("x", Arg::Array(Scalar::F32, values())),
        ("y", Arg::Array(Scalar::F32, vec![0.0; 16])),
        ("z", Arg::Array(Scalar::I32, vec![0.0; 16])),
    ];
    let mut found = launch(&text, "k", [1; 3], &arguments);
    let z = found.pop().unwrap_or_default();
    (found.pop().unwrap_or_default(), z)
}

fn values() -> Vec<f64> {
    (0..16).map(|i| f64::from((i * 5 + 2) % 16) * 0.5 - 3.0).collect()
}

#[test]
fn integers_divide_to_below() {
    assert_eq!(
        run("tl.store(z + at, triton_helpers.div_floor_integer(at - 8, 3))").1,
        (-8..8).map(|n: i32| f64::from(n.div_euclid(3))).collect::<Vec<_>>()
    );
    assert_eq!(
        run("tl.store(z + at, triton_helpers.remainder_integer(at - 8, 3))").1,
        (-8..8).map(|n: i32| f64::from(n.rem_euclid(3))).collect::<Vec<_>>()
    );
}

#[test]
fn reductions_of_inductor() {
    let x = values();
    let body = "tl.store(y + two, triton_helpers.max2(m, 1))
value, index = triton_helpers.min_with_index(m, tl.broadcast_to(tl.arange(0, 8)[None, :], (2, 8)), 1)
tl.store(y + 2 + two, value)
tl.store(z + two, index)
tl.store(z + 2 + two, triton_helpers.any(m > 4.0, 1))
tl.store(y + 4 + two, triton_helpers.prod(tl.where(m == 0.0, 1.0, m), 1))";
    let (y, z) = run(body);
    for (row, line) in x.chunks(8).enumerate() {
        let most = line.iter().copied().fold(f64::MIN, f64::max);
        let least = line.iter().copied().fold(f64::MAX, f64::min);
        assert_eq!((y[row], y[2 + row]), (most, least));
        assert_eq!(z[row], line.iter().position(|n| *n == least).unwrap_or_default() as f64);
        assert_eq!(z[2 + row] != 0.0, most > 4.0);
        let product: f64 = line.iter().filter(|n| **n != 0.0).product();
        close(&y[4 + row..5 + row], &[product], 1e-5, "product");
    }
}

#[test]
fn means_and_softmaxes_are_combined() {
    let x = values();
    let body = "mean, m2, weight = triton_helpers.welford(m, tl.zeros_like(m), tl.full(m.shape, 1.0, tl.float32), 1)
tl.store(y + two, mean)
tl.store(y + 2 + two, m2)
most, total = triton_helpers.online_softmax_combine(tl.full(m.shape, float('-inf'), tl.float32), tl.zeros_like(m), m)
top, sum = triton_helpers.online_softmax_reduce(most, total, 1, False)
tl.store(y + 4 + two, top)
tl.store(y + 6 + two, sum)";
    let y = run(body).0;
    for (row, line) in x.chunks(8).enumerate() {
        let mean = line.iter().sum::<f64>() / 8.0;
        let m2: f64 = line.iter().map(|n| (n - mean) * (n - mean)).sum();
        let most = line.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = line.iter().map(|n| (n - most).exp()).sum();
        close(&[y[row], y[2 + row], y[4 + row], y[6 + row]], &[mean, m2, most, sum], 1e-5, "row");
    }
}

/// Elements beyond the end stay there, and equal ones keep their order.
#[test]
fn values_are_sorted_with_their_positions() {
    let body = "value, index = triton_helpers.sort_with_index(tl.floor(v * 0.5), at.to(tl.int16), 12, 0, stable=True, descending=True)
tl.store(y + at, value)
tl.store(z + at, index)";
    let (y, z) = run(body);
    let x: Vec<f64> = values().iter().map(|n| (n * 0.5).floor()).collect();
    let mut order: Vec<usize> = (0..12).collect();
    order.sort_by(|a, b| x[*b].total_cmp(&x[*a]));
    for (i, from) in order.iter().enumerate() {
        assert_eq!((y[i], z[i]), (x[*from], *from as f64), "{i}");
    }
    assert!(z[12..].iter().all(|n| *n >= 12.0));
}

#[test]
fn floats_are_split_and_found_among_bounds() {
    let body = "part, power = triton_helpers.frexp(v)
tl.store(y + at, part * tl.exp2(power.to(tl.float32)))
tl.store(z + at, triton_helpers.bucketize_binary_search(at, z, 4, 4, 1, 0, tl.int32, True, None, None, None))";
    let (y, z) = run(body);
    close(&y, &values(), 1e-6, "frexp");
    // All four bounds are 0.
    assert_eq!(z, vec![4.0; 16]);
}

/// Blocks and grids follow from what the decorators of Inductor say of sizes.
#[test]
fn blocks_and_grids_are_those_of_the_decorators() {
    let compiled = |decorator: &str, parameters: &str| {
        let text = format!(
            "import triton\nimport triton.language as tl\nfrom torch._inductor.runtime import triton_heuristics
@triton_heuristics.{decorator}\n@triton.jit\ndef k(x, {parameters}):\n    tl.store(x, 1.0)\n"
        );
        let integers = ["xnumel", "ynumel", "r0_numel"].iter().filter(|name| parameters.contains(**name));
        let mut arguments = vec![("x".to_owned(), Argument::Buffer(Scalar::F32))];
        arguments.extend(integers.map(|name| ((*name).to_owned(), Argument::Scalar(Scalar::I32, 7))));
        let request = Request { kernel: "k".into(), arguments, ..Request::default() };
        let head = compile(&mut Sources::default(), "k.py", &text, &Alone, &request).expect("it compiles").head;
        let chosen: Vec<String> = head.chosen.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (chosen.join(" "), head.grid.unwrap_or_default())
    };
    let meta = |grid: &str| format!("filename=__file__, inductor_meta={{'grid_type': '{grid}'}}");
    for (decorator, parameters, blocks, grid) in [
        ("pointwise(size_hints={'x': 4096}, ", "xnumel, XBLOCK: tl.constexpr", "XBLOCK=1024", "cdiv(xnumel, XBLOCK)"),
        ("pointwise(size_hints=[100], ", "xnumel, XBLOCK: tl.constexpr", "XBLOCK=128", "cdiv(xnumel, XBLOCK)"),
        (
            "reduction(size_hints={'x': 64, 'r0_': 8192}, ",
            "xnumel, r0_numel, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr",
            "XBLOCK=1 R0_BLOCK=2048",
            "cdiv(xnumel, XBLOCK)",
        ),
        (
            "persistent_reduction(size_hints={'x': 64, 'r0_': 16}, ",
            "xnumel, XBLOCK: tl.constexpr",
            "XBLOCK=1",
            "cdiv(xnumel, XBLOCK)",
        ),
    ] {
        let found = compiled(&format!("{decorator}{})", meta("Grid1D")), parameters);
        assert_eq!(found, (blocks.to_owned(), grid.to_owned()), "{decorator}");
    }
    let two = compiled(
        &format!("pointwise(size_hints={{'y': 64, 'x': 16}}, {})", meta("Grid2D")),
        "ynumel, xnumel, YBLOCK: tl.constexpr, XBLOCK: tl.constexpr",
    );
    assert_eq!(two, ("YBLOCK=32 XBLOCK=16".into(), "cdiv(xnumel, XBLOCK),cdiv(ynumel, YBLOCK)".into()));
}
