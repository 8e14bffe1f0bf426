//! The project's own kernels against straightforward computations in `f64`, for sizes that are and are not multiples of the blocks.

use super::run::{Arg, close, constant, f32s, launch, noise, shader, zeros};
use girih_ir::Scalar;
use girih_triton::Constant;

fn blocks(n: usize, block: usize) -> u32 {
    n.div_ceil(block) as u32
}

#[test]
fn vector_add() {
    for n in [1, 255, 256, 1000, 1024] {
        let (x, y) = (noise(1, n), noise(2, n));
        let arguments = [
            ("x_ptr", f32s(x.clone())),
            ("y_ptr", f32s(y.clone())),
            ("out_ptr", zeros(n)),
            ("n", Arg::Int(n as i64)),
            ("BLOCK", constant(256)),
        ];
        let found = launch(&shader("vector_add"), "vector_add", [blocks(n, 256), 1, 1], &arguments);
        let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        close(&found[2], &expected, 1e-6, "sum");
    }
}

#[test]
fn softmax() {
    for (rows, columns, block) in [(5, 64, 64), (3, 50, 64), (7, 1, 2)] {
        let x = noise(3, rows * columns);
        let arguments = [
            ("out_ptr", zeros(rows * columns)),
            ("in_ptr", f32s(x.clone())),
            ("row_stride", Arg::Int(columns as i64)),
            ("out_stride", Arg::Int(columns as i64)),
            ("rows", Arg::Int(rows as i64)),
            ("columns", Arg::Int(columns as i64)),
            ("BLOCK", constant(block)),
        ];
        let found = launch(&shader("softmax"), "softmax", [2, 1, 1], &arguments);
        let expected: Vec<f64> = x
            .chunks(columns)
            .flat_map(|row| {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                row.iter().map(move |x| x.exp() / sum).collect::<Vec<_>>()
            })
            .collect();
        close(&found[0], &expected, 1e-6, "softmax");
    }
}

fn product(a: &[f64], b: &[f64], m: usize, n: usize, k: usize) -> Vec<f64> {
    (0..m * n).map(|i| (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum()).collect()
}

#[test]
fn matmul() {
    for (m, n, k, scalar, tolerance) in
        [(32, 64, 32, Scalar::F32, 1e-5), (33, 50, 70, Scalar::F32, 1e-5), (40, 17, 33, Scalar::F16, 4e-3)]
    {
        let round = |v: Vec<f64>| -> Vec<f64> {
            use girih_ir::eval::{narrow, widen};
            v.into_iter().map(|x| widen(narrow(x, scalar), scalar)).collect()
        };
        let (a, b) = (round(noise(4, m * k)), round(noise(5, k * n)));
        let int = |n: usize| Arg::Int(n as i64);
        let arguments = [
            ("a_ptr", Arg::Array(scalar, a.clone())),
            ("b_ptr", Arg::Array(scalar, b.clone())),
            ("c_ptr", Arg::Array(scalar, vec![0.0; m * n])),
            ("m", int(m)),
            ("n", int(n)),
            ("k", int(k)),
            ("stride_am", int(k)),
            ("stride_ak", int(1)),
            ("stride_bk", int(n)),
            ("stride_bn", int(1)),
            ("stride_cm", int(n)),
            ("stride_cn", int(1)),
            ("ACTIVATION", Arg::Const(Constant::Text("leaky".into()))),
            ("PRECISION", Arg::Const(Constant::Text("ieee".into()))),
        ];
        // The first configuration of the file has blocks of 32 x 32.
        let grid = [blocks(m, 32) * blocks(n, 32), 1, 1];
        let found = launch(&shader("matmul"), "matmul", grid, &arguments);
        let expected: Vec<f64> =
            product(&a, &b, m, n, k).into_iter().map(|x| if x >= 0.0 { x } else { 0.01 * x }).collect();
        close(&found[2], &expected, tolerance, "product");
    }
}

/// Blocks that a warpgroup's products take, in all orders of the factors' dimensions in memory, at sizes that are multiples of 16 or of nothing.
#[test]
fn matmul_of_halves() {
    use girih_ir::eval::{narrow, widen};
    let round =
        |v: Vec<f64>| -> Vec<f64> { v.into_iter().map(|x| widen(narrow(x, Scalar::F16), Scalar::F16)).collect() };
    for (m, n, k, by_columns) in [
        (128, 64, 96, [false, false]),
        (80, 48, 64, [true, false]),
        (64, 112, 48, [false, true]),
        (33, 50, 70, [true, true]),
    ] {
        let (a, b) = (round(noise(14, m * k)), round(noise(15, k * n)));
        let turned = |v: &[f64], rows: usize, columns: usize, turn: bool| -> Vec<f64> {
            if turn { (0..rows * columns).map(|i| v[i % rows * columns + i / rows]).collect() } else { v.to_vec() }
        };
        let strides = |rows: usize, columns: usize, turn: bool| if turn { (1, rows) } else { (columns, 1) };
        let (sa, sb) = (strides(m, k, by_columns[0]), strides(k, n, by_columns[1]));
        let int = |n: usize| Arg::Int(n as i64);
        let arguments = [
            ("a_ptr", Arg::Array(Scalar::F16, turned(&a, m, k, by_columns[0]))),
            ("b_ptr", Arg::Array(Scalar::F16, turned(&b, k, n, by_columns[1]))),
            ("c_ptr", Arg::Array(Scalar::F16, vec![0.0; m * n])),
            ("m", int(m)),
            ("n", int(n)),
            ("k", int(k)),
            ("stride_am", int(sa.0)),
            ("stride_ak", int(sa.1)),
            ("stride_bk", int(sb.0)),
            ("stride_bn", int(sb.1)),
            ("stride_cm", int(n)),
            ("stride_cn", int(1)),
            ("BLOCK_M", constant(64)),
            ("BLOCK_N", constant(32)),
            ("BLOCK_K", constant(32)),
            ("GROUP", constant(2)),
        ];
        let found = launch(&shader("matmul"), "matmul", [blocks(m, 64) * blocks(n, 32), 1, 1], &arguments);
        close(&found[2], &product(&a, &b, m, n, k), 1e-2, "product");
    }
}

/// Blocks whose factors do not fit in the web's shared memory as a whole.
#[test]
fn matmul_in_slices() {
    let (m, n, k) = (70, 64, 60);
    let (a, b) = (noise(24, m * k), noise(25, k * n));
    let int = |n: usize| Arg::Int(n as i64);
    let arguments = [
        ("a_ptr", f32s(a.clone())),
        ("b_ptr", f32s(b.clone())),
        ("c_ptr", zeros(m * n)),
        ("m", int(m)),
        ("n", int(n)),
        ("k", int(k)),
        ("stride_am", int(k)),
        ("stride_ak", int(1)),
        ("stride_bk", int(n)),
        ("stride_bn", int(1)),
        ("stride_cm", int(n)),
        ("stride_cn", int(1)),
        ("BLOCK_M", constant(64)),
        ("BLOCK_N", constant(64)),
        ("BLOCK_K", constant(32)),
        ("GROUP", constant(2)),
        ("PRECISION", Arg::Const(Constant::Text("ieee".into()))),
    ];
    let found = launch(&shader("matmul"), "matmul", [blocks(m, 64) * blocks(n, 64), 1, 1], &arguments);
    close(&found[2], &product(&a, &b, m, n, k), 1e-5, "product");
}

/// Factors of `f32` as sums of two numbers of `tf32`: nearly as exact as `f32`, where `tf32` alone is wrong by some 1e-3.
#[test]
fn matmul_in_three_products() {
    let (m, n, k) = (40, 64, 70);
    let (a, b) = (noise(36, m * k), noise(37, k * n));
    let int = |n: usize| Arg::Int(n as i64);
    let arguments = [
        ("a_ptr", Arg::Array(Scalar::F32, a.clone())),
        ("b_ptr", Arg::Array(Scalar::F32, b.clone())),
        ("c_ptr", zeros(m * n)),
        ("m", int(m)),
        ("n", int(n)),
        ("k", int(k)),
        ("stride_am", int(k)),
        ("stride_ak", int(1)),
        ("stride_bk", int(n)),
        ("stride_bn", int(1)),
        ("stride_cm", int(n)),
        ("stride_cn", int(1)),
        ("BLOCK_M", constant(32)),
        ("BLOCK_N", constant(64)),
        ("BLOCK_K", constant(32)),
        ("GROUP", constant(2)),
        ("PRECISION", Arg::Const(Constant::Text("tf32x3".into()))),
    ];
    let found = launch(&shader("matmul"), "matmul", [blocks(m, 32) * blocks(n, 64), 1, 1], &arguments);
    close(&found[2], &product(&a, &b, m, n, k), 1e-5, "product");
}

/// Factors that are numbers of every type that a matrix unit takes, `tf32` and eight bits among them: all products are exact.
#[test]
fn matmul_of_short_factors() {
    let coarse = |seed: u64, n: usize| -> Vec<f64> { noise(seed, n).into_iter().map(|x| (x * 4.0).round()).collect() };
    let (m, n, k) = (64, 40, 70);
    let (a, b) = (coarse(34, m * k), coarse(35, k * n));
    for factor in [Scalar::F32, Scalar::F8E4M3, Scalar::F8E5M2, Scalar::Bf16] {
        let int = |n: usize| Arg::Int(n as i64);
        let arguments = [
            ("a_ptr", Arg::Array(factor, a.clone())),
            ("b_ptr", Arg::Array(factor, b.clone())),
            ("c_ptr", zeros(m * n)),
            ("m", int(m)),
            ("n", int(n)),
            ("k", int(k)),
            ("stride_am", int(k)),
            ("stride_ak", int(1)),
            ("stride_bk", int(n)),
            ("stride_bn", int(1)),
            ("stride_cm", int(n)),
            ("stride_cn", int(1)),
            ("BLOCK_M", constant(64)),
            ("BLOCK_N", constant(32)),
            ("BLOCK_K", constant(32)),
            ("GROUP", constant(2)),
        ];
        let found = launch(&shader("matmul"), "matmul", [blocks(m, 64) * blocks(n, 32), 1, 1], &arguments);
        assert_eq!(found[2], product(&a, &b, m, n, k), "{factor}");
    }
}

#[test]
fn layer_norm_and_its_gradient() {
    for (rows, columns) in [(3, 64), (4, 100)] {
        let (x, weight, bias) = (noise(6, rows * columns), noise(7, columns), noise(8, columns));
        let arguments = [
            ("x_ptr", f32s(x.clone())),
            ("y_ptr", zeros(rows * columns)),
            ("weight_ptr", f32s(weight.clone())),
            ("bias_ptr", f32s(bias.clone())),
            ("mean_ptr", zeros(rows)),
            ("rstd_ptr", zeros(rows)),
            ("stride", Arg::Int(columns as i64)),
            ("columns", Arg::Int(columns as i64)),
            ("eps", Arg::Float(1e-5)),
            ("BLOCK", constant(32)),
        ];
        let found = launch(&shader("layer_norm"), "layer_norm", [rows as u32, 1, 1], &arguments);
        let dy = noise(9, rows * columns);
        let (mut y, mut dx) = (vec![], vec![]);
        for (row, dy) in x.chunks(columns).zip(dy.chunks(columns)) {
            let n = columns as f64;
            let mean = row.iter().sum::<f64>() / n;
            let rstd = 1.0 / (row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n + 1e-5).sqrt();
            y.extend(row.iter().enumerate().map(|(i, x)| (x - mean) * rstd * weight[i] + bias[i]));
            let normal: Vec<f64> = row.iter().map(|x| (x - mean) * rstd).collect();
            let wdy: Vec<f64> = dy.iter().zip(&weight).map(|(d, w)| d * w).collect();
            let c1 = normal.iter().zip(&wdy).map(|(a, b)| a * b).sum::<f64>() / n;
            let c2 = wdy.iter().sum::<f64>() / n;
            dx.extend(normal.iter().zip(&wdy).map(|(a, w)| (w - (a * c1 + c2)) * rstd));
        }
        close(&found[1], &y, 1e-5, "layer norm");
        let arguments = [
            ("dx_ptr", zeros(rows * columns)),
            ("dy_ptr", f32s(dy)),
            ("x_ptr", f32s(x)),
            ("weight_ptr", f32s(weight)),
            ("mean_ptr", f32s(found[4].clone())),
            ("rstd_ptr", f32s(found[5].clone())),
            ("stride", Arg::Int(columns as i64)),
            ("columns", Arg::Int(columns as i64)),
            ("BLOCK", constant(128)),
        ];
        let found = launch(&shader("layer_norm"), "layer_norm_backward", [rows as u32, 1, 1], &arguments);
        close(&found[0], &dx, 1e-5, "gradient");
    }
}

/// Philox-4x32 with ten rounds, by the paper: the first of four words.
fn philox(seed: u64, counter: u32) -> u32 {
    let mut c = [counter, 0, 0, 0];
    let mut k = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let (a, b) = (u64::from(c[0]) * 0xD251_1F53, u64::from(c[2]) * 0xCD9E_8D57);
        c = [(b >> 32) as u32 ^ c[1] ^ k[0], b as u32, (a >> 32) as u32 ^ c[3] ^ k[1], a as u32];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c[0]
}

#[test]
fn dropout() {
    let n = 700;
    let x = noise(10, n);
    let arguments = [
        ("x_ptr", f32s(x.clone())),
        ("out_ptr", zeros(n)),
        ("n", Arg::Int(n as i64)),
        ("p", Arg::Float(0.25)),
        ("seed", Arg::Int(123)),
        ("BLOCK", constant(256)),
    ];
    let found = launch(&shader("dropout"), "dropout", [3, 1, 1], &arguments);
    let uniform = |i: usize| {
        let word = philox(123, i as u32) as i32;
        f64::from(if word < 0 { !word } else { word }) * 4.656_612_734_2e-10
    };
    let expected: Vec<f64> = (0..n).map(|i| if uniform(i) > 0.25 { x[i] / 0.75 } else { 0.0 }).collect();
    close(&found[1], &expected, 1e-6, "dropout");
    let dropped = found[1].iter().filter(|x| **x == 0.0).count();
    assert!((130..220).contains(&dropped), "{dropped} of {n}");
}

#[test]
fn mandelbrot() {
    let (width, height, limit) = (50, 21, 30);
    let arguments = [
        ("out_ptr", Arg::Array(Scalar::I32, vec![0.0; width * height])),
        ("width", Arg::Int(width as i64)),
        ("height", Arg::Int(height as i64)),
        ("x0", Arg::Float(-2.0)),
        ("y0", Arg::Float(-0.9)),
        ("pixel", Arg::Float(0.0625)),
        ("limit", Arg::Int(limit)),
    ];
    let grid = [blocks(width, 32), blocks(height, 8), 1];
    let found = launch(&shader("mandelbrot"), "mandelbrot", grid, &arguments);
    let count = |i: usize| {
        let (cx, cy) = (-2.0f32 + (i % width) as f32 * 0.0625, -0.9f32 + (i / width) as f32 * 0.0625);
        let (mut x, mut y, mut steps) = (0.0f32, 0.0f32, 0);
        while steps < limit && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            steps += 1;
        }
        steps as f64
    };
    let expected: Vec<f64> = (0..width * height).map(count).collect();
    assert_eq!(found[0], expected);
}

#[test]
fn blur() {
    let (width, height) = (45, 33);
    let image = noise(11, width * height);
    let arguments = [
        ("in_ptr", f32s(image.clone())),
        ("out_ptr", zeros(width * height)),
        ("width", Arg::Int(width as i64)),
        ("height", Arg::Int(height as i64)),
    ];
    let found = launch(&shader("blur"), "blur", [2, 2, 1], &arguments);
    let pixel = |x: i64, y: i64| {
        let (x, y) = (x.clamp(0, width as i64 - 1), y.clamp(0, height as i64 - 1));
        image[y as usize * width + x as usize]
    };
    let weight = [1.0, 2.0, 1.0];
    let expected: Vec<f64> = (0..width * height)
        .map(|i| {
            let (x, y) = ((i % width) as i64, (i / width) as i64);
            let sum = |dy: usize| {
                (0..3).map(|dx| weight[dx] * weight[dy] * pixel(x + dx as i64 - 1, y + dy as i64 - 1)).sum::<f64>()
            };
            (0..3).map(sum).sum::<f64>() / 16.0
        })
        .collect();
    close(&found[1], &expected, 1e-6, "blur");
}

#[test]
fn attention() {
    for (n, causal) in [(32, false), (40, false), (40, true)] {
        let (heads, head) = (2, 16);
        let size = heads * n * head;
        let [q, k, v] = [12, 13, 14].map(|seed| noise(seed, size));
        let scale = 1.0 / (head as f64).sqrt();
        let arguments = [
            ("q_ptr", f32s(q.clone())),
            ("k_ptr", f32s(k.clone())),
            ("v_ptr", f32s(v.clone())),
            ("out_ptr", zeros(size)),
            ("n", Arg::Int(n as i64)),
            ("scale", Arg::Float(scale)),
            ("BLOCK_M", constant(16)),
            ("BLOCK_N", constant(32)),
            ("HEAD", constant(head as i128)),
            ("CAUSAL", Arg::Const(Constant::Bool(causal))),
        ];
        let found = launch(&shader("attention"), "attention", [blocks(n, 16), heads as u32, 1], &arguments);
        let mut expected = vec![];
        for h in 0..heads {
            let row = |m: &[f64], i: usize| m[(h * n + i) * head..][..head].to_vec();
            for i in 0..n {
                let last = if causal { i + 1 } else { n };
                let score = |j: usize| row(&q, i).iter().zip(row(&k, j)).map(|(a, b)| a * b).sum::<f64>() * scale;
                let weights: Vec<f64> = (0..last).map(|j| score(j).exp()).collect();
                let sum: f64 = weights.iter().sum();
                for d in 0..head {
                    expected.push(weights.iter().enumerate().map(|(j, w)| w * row(&v, j)[d]).sum::<f64>() / sum);
                }
            }
        }
        close(&found[3], &expected, 1e-5, "attention");
    }
}
