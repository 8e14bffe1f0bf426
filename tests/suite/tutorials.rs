//! The public Triton tutorials, as they are: every kernel of 01 to 06 (backward of 06 excepted) is launched from its file, and what comes out is held to
//! what is computed here in `f64`.
//!
//! `GIRIH_TRITON_TUTORIALS` names the folder with the files, `python/tutorials` of a checkout of Triton; without it the tests say that they have
//! skipped them. `GIRIH_DEVICE` names devices (`cuda`, `wgpu:NVIDIA`, several with commas) instead of the reference machine, the processor, PTX as it is read
//! back, and the adapters of this machine.

use girih::devices::{self, Selector};
use girih::runtime;
use girih::triton::{Argument, Constant, KernelFile, Request};
use girih::{Code, Report};
use girih_ir::{Feature, Scalar, Type, eval};
use girih_runtime::{Buffer, Device, DeviceKind, Memory};
use girih_workbench::missing;
use std::path::PathBuf;

/// A file of the folder; none, and said so, where there is no folder.
fn tutorial(name: &str) -> Option<KernelFile> {
    let Some(folder) = std::env::var_os("GIRIH_TRITON_TUTORIALS").filter(|folder| !folder.is_empty()) else {
        missing("`python/tutorials` of Triton in `GIRIH_TRITON_TUTORIALS`", "GIRIH_REQUIRE_TUTORIALS");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    Some(KernelFile::open(&path).expect("the folder has this tutorial"))
}

/// Where tutorials run.
fn selectors() -> Vec<Selector> {
    if let Ok(names) = std::env::var("GIRIH_DEVICE") {
        return names.split(',').map(|name| Selector::parse(name).expect("a device's name")).collect();
    }
    let mut all: Vec<Selector> = ["interpreter", "cpu", "ptx:sm_90a"]
        .into_iter()
        .map(|name| Selector::parse(name).expect("a device's name"))
        .collect();
    let (found, _) = devices::find();
    let kinds = [DeviceKind::Wgpu, DeviceKind::WgpuSoftware];
    let usable = found.into_iter().filter(|d| d.problem.is_none() && kinds.contains(&d.info.kind));
    all.extend(usable.filter_map(|d| Selector::parse(&d.name).ok()));
    all
}

/// What a parameter is given.
#[derive(Clone, Debug)]
enum Given {
    Array(Scalar, Vec<f64>),
    Int(i64),
    Float(f32),
    Constant(Constant),
}

fn zeros(scalar: Scalar, n: usize) -> Given {
    Given::Array(scalar, vec![0.0; n])
}
fn int(n: usize) -> Given {
    Given::Int(n as i64)
}
fn constant(n: usize) -> Given {
    Given::Constant(Constant::Int(n as i128))
}
fn truth(b: bool) -> Given {
    Given::Constant(Constant::Bool(b))
}

/// Numbers of a type that look random, between -1 and 1.
fn noise(seed: u64, n: usize, scalar: Scalar) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / f64::from(1u32 << 23) - 1.0
    };
    (0..n).map(|_| eval::widen(eval::narrow(next(), scalar), scalar)).collect()
}

/// Constants of a kernel by name, given or chosen.
type Chosen<'c> = dyn Fn(&str) -> u32 + 'c;

/// A kernel and what it is given.
struct Job<'f> {
    file: &'f KernelFile,
    kernel: &'static str,
    given: Vec<(&'static str, Given)>,
    warps: Option<u32>,
    /// How many programs run, by the constants that were chosen.
    grid: &'f dyn Fn(&Chosen<'_>) -> [u32; 3],
}

fn bits(x: f64, scalar: Scalar) -> u64 {
    if scalar.is_float() { eval::narrow(x, scalar) } else { x as i64 as u64 & scalar.mask() }
}

fn number(bytes: &[u8], scalar: Scalar) -> f64 {
    let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    if scalar.is_float() { eval::widen(bits, scalar) } else { eval::int_value(bits, scalar) as f64 }
}

impl Job<'_> {
    fn request(&self) -> Request {
        let argument = |given: &Given| match given {
            Given::Array(scalar, _) => Argument::Buffer(*scalar),
            Given::Int(n) => Argument::Scalar(Scalar::I32, *n as u64 & Scalar::I32.mask()),
            Given::Float(x) => Argument::Scalar(Scalar::F32, x.to_bits().into()),
            Given::Constant(c) => Argument::Constant(c.clone()),
        };
        Request {
            kernel: self.kernel.into(),
            arguments: self.given.iter().map(|(name, given)| ((*name).to_owned(), argument(given))).collect(),
            num_warps: self.warps,
            ..Request::default()
        }
    }

    fn constant(&self, name: &str) -> Option<u32> {
        match self.given.iter().find(|(n, _)| *n == name)? {
            (_, Given::Constant(Constant::Int(n))) => u32::try_from(*n).ok(),
            _no_constant => None,
        }
    }

    /// Runs it; gives all arrays as they are then, in order.
    fn run(&self, device: &Device) -> Result<Vec<Vec<f64>>, Report> {
        let loaded = self.file.load(device, &self.request())?;
        let mut arguments = vec![];
        let mut buffers: Vec<(Buffer, Scalar, usize)> = vec![];
        for (name, given) in &self.given {
            let scalar = |scalar, bits| runtime::Argument::Scalar(runtime::Constant { ty: Type::Scalar(scalar), bits });
            let argument = match given {
                Given::Constant(_) => continue,
                Given::Int(n) => scalar(Scalar::I32, *n as u64 & Scalar::I32.mask()),
                Given::Float(x) => scalar(Scalar::F32, x.to_bits().into()),
                Given::Array(scalar, values) => {
                    let size = scalar.bytes() as usize;
                    let of = |x: &f64| bits(*x, *scalar).to_le_bytes().into_iter().take(size);
                    let mut bytes: Vec<u8> = values.iter().flat_map(of).collect();
                    bytes.resize(bytes.len().next_multiple_of(4), 0);
                    let memory = Memory::of(bytes.len() as u64);
                    let buffer = device.zeroed(memory).expect("there is memory");
                    device.write(&buffer, 0, &bytes).expect("it can be written");
                    buffers.push((buffer.clone(), *scalar, values.len()));
                    runtime::Argument::Buffer(buffer)
                }
            };
            arguments.push((*name, argument));
        }
        let chosen = |name: &str| match loaded.head.chosen.iter().find(|(n, _)| n == name) {
            Some((_, Constant::Int(n))) => *n as u32,
            _given => self.constant(name).expect("a constant of the kernel"),
        };
        loaded.launch(device, (self.grid)(&chosen), &arguments)?;
        let mut out = vec![];
        for (buffer, scalar, count) in buffers {
            let size = scalar.bytes() as usize;
            let mut bytes = vec![0; (count * size).next_multiple_of(4)];
            device.read(&buffer, 0, &mut bytes).expect("it can be read");
            out.push(bytes[..count * size].chunks_exact(size).map(|c| number(c, scalar)).collect());
        }
        Ok(out)
    }
}

/// Runs something on each device.
fn everywhere(run: impl Fn(&Device)) {
    for selector in selectors() {
        let device = devices::open(&selector, None).expect("the device is there");
        run(&device);
    }
}

fn close(device: &Device, what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let near = (a - b).abs() <= tolerance * b.abs().max(1.0);
        assert!(near, "{what} on {}: element {i} is {a}, not {b}", device.info().name);
    }
}

const F16: Scalar = Scalar::F16;
const F32: Scalar = Scalar::F32;

#[test]
fn tutorial_01_vector_add() {
    let Some(file) = tutorial("01-vector-add.py") else { return };
    everywhere(|device| {
        for n in [1, 1000, 2048, 98_432] {
            let (x, y) = (noise(1, n, F32), noise(2, n, F32));
            let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
            let job = Job {
                file: &file,
                kernel: "add_kernel",
                given: vec![
                    ("x_ptr", Given::Array(F32, x)),
                    ("y_ptr", Given::Array(F32, y)),
                    ("output_ptr", zeros(F32, n)),
                    ("n_elements", int(n)),
                    ("BLOCK_SIZE", constant(1024)),
                ],
                warps: None,
                grid: &|of| [(n as u32).div_ceil(of("BLOCK_SIZE")), 1, 1],
            };
            let found = job.run(device).expect("it runs");
            close(device, "the sum", &found[2], &sum, 1e-6);
        }
    });
}

#[test]
fn tutorial_02_softmax() {
    let Some(file) = tutorial("02-fused-softmax.py") else { return };
    everywhere(|device| {
        for (rows, columns, stages, programs) in [(6, 256, 4, 2), (9, 781, 2, 4), (3, 1, 2, 3)] {
            let x = noise(3, rows * columns, F32);
            let job = Job {
                file: &file,
                kernel: "softmax_kernel",
                given: vec![
                    ("output_ptr", zeros(F32, rows * columns)),
                    ("input_ptr", Given::Array(F32, x.clone())),
                    ("input_row_stride", int(columns)),
                    ("output_row_stride", int(columns)),
                    ("n_rows", int(rows)),
                    ("n_cols", int(columns)),
                    ("BLOCK_SIZE", constant(columns.next_power_of_two())),
                    ("num_stages", constant(stages)),
                ],
                warps: Some(8),
                grid: &|_| [programs, 1, 1],
            };
            let found = job.run(device).expect("it runs");
            let of_row = |row: &[f64]| -> Vec<f64> {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                row.iter().map(|x| x.exp() / sum).collect()
            };
            let expected: Vec<f64> = x.chunks(columns).flat_map(of_row).collect();
            close(device, "softmax", &found[0], &expected, 1e-6);
        }
    });
}

#[test]
fn tutorial_03_matmul() {
    let Some(file) = tutorial("03-matrix-multiplication.py") else { return };
    everywhere(|device| {
        for (m, n, k, activation) in [(256, 256, 128, ""), (200, 70, 90, "leaky_relu")] {
            let (a, b) = (noise(4, m * k, F16), noise(5, k * n, F16));
            let job = Job {
                file: &file,
                kernel: "matmul_kernel",
                given: vec![
                    ("a_ptr", Given::Array(F16, a.clone())),
                    ("b_ptr", Given::Array(F16, b.clone())),
                    ("c_ptr", zeros(F16, m * n)),
                    ("M", int(m)),
                    ("N", int(n)),
                    ("K", int(k)),
                    ("stride_am", int(k)),
                    ("stride_ak", int(1)),
                    ("stride_bk", int(n)),
                    ("stride_bn", int(1)),
                    ("stride_cm", int(n)),
                    ("stride_cn", int(1)),
                    ("ACTIVATION", Given::Constant(Constant::Text(activation.into()))),
                ],
                warps: None,
                grid: &|of| [(m as u32).div_ceil(of("BLOCK_SIZE_M")) * (n as u32).div_ceil(of("BLOCK_SIZE_N")), 1, 1],
            };
            let found = job.run(device).expect("it runs");
            let element = |i: usize| {
                let sum: f64 = (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum();
                if activation.is_empty() || sum >= 0.0 { sum } else { 0.01 * sum }
            };
            let expected: Vec<f64> = (0..m * n).map(element).collect();
            close(device, "the product", &found[2], &expected, 2e-3);
        }
    });
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
fn tutorial_04_dropout() {
    let Some(file) = tutorial("04-low-memory-dropout.py") else { return };
    everywhere(|device| {
        for n in [10, 1024, 3000] {
            let (x, p) = (noise(6, n, F32), 0.25f32);
            let keep: Vec<f64> = noise(7, n, F32).iter().map(|x| f64::from(u8::from(*x > 0.0))).collect();
            let scaled = |i: usize, kept: bool| if kept { x[i] / 0.75 } else { 0.0 };
            let grid = |of: &Chosen<'_>| [(n as u32).div_ceil(of("BLOCK_SIZE")), 1, 1];
            let job = |kernel, given| Job { file: &file, kernel, given, warps: None, grid: &grid };
            let of_mask = job(
                "_dropout",
                vec![
                    ("x_ptr", Given::Array(F32, x.clone())),
                    ("x_keep_ptr", Given::Array(Scalar::I32, keep.clone())),
                    ("output_ptr", zeros(F32, n)),
                    ("n_elements", int(n)),
                    ("p", Given::Float(p)),
                    ("BLOCK_SIZE", constant(1024)),
                ],
            );
            let found = of_mask.run(device).expect("it runs");
            let expected: Vec<f64> = (0..n).map(|i| scaled(i, keep[i] != 0.0)).collect();
            close(device, "dropout", &found[2], &expected, 1e-6);
            for seed in [123, 512] {
                let seeded = job(
                    "_seeded_dropout",
                    vec![
                        ("x_ptr", Given::Array(F32, x.clone())),
                        ("output_ptr", zeros(F32, n)),
                        ("n_elements", int(n)),
                        ("p", Given::Float(p)),
                        ("seed", Given::Int(seed)),
                        ("BLOCK_SIZE", constant(1024)),
                    ],
                );
                let found = seeded.run(device).expect("it runs");
                let uniform = |i: usize| {
                    let word = philox(seed as u64, i as u32) as i32;
                    f64::from(if word < 0 { !word } else { word }) * 4.656_612_734_2e-10
                };
                let expected: Vec<f64> = (0..n).map(|i| scaled(i, uniform(i) > f64::from(p))).collect();
                close(device, "seeded dropout", &found[1], &expected, 1e-6);
            }
        }
    });
}

/// A layer norm and its gradient, in `f64`.
struct LayerNorm {
    y: Vec<f64>,
    mean: Vec<f64>,
    rstd: Vec<f64>,
    dx: Vec<f64>,
    dw: Vec<f64>,
    db: Vec<f64>,
}

impl LayerNorm {
    const EPS: f32 = 1e-5;

    fn of(x: &[f64], weight: &[f64], bias: &[f64], dy: &[f64]) -> LayerNorm {
        let columns = weight.len();
        let n = columns as f64;
        let (mut y, mut dx, mut mean, mut rstd) = (vec![], vec![], vec![], vec![]);
        let (mut dw, mut db) = (vec![0.0; columns], vec![0.0; columns]);
        for (row, dy) in x.chunks(columns).zip(dy.chunks(columns)) {
            let middle = row.iter().sum::<f64>() / n;
            let variance = row.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / n;
            let by = 1.0 / (variance + f64::from(Self::EPS)).sqrt();
            let normal: Vec<f64> = row.iter().map(|x| (x - middle) * by).collect();
            let wdy: Vec<f64> = dy.iter().zip(weight).map(|(d, w)| d * w).collect();
            let c1 = normal.iter().zip(&wdy).map(|(a, b)| a * b).sum::<f64>() / n;
            let c2 = wdy.iter().sum::<f64>() / n;
            for i in 0..columns {
                y.push(normal[i] * weight[i] + bias[i]);
                dx.push((wdy[i] - (normal[i] * c1 + c2)) * by);
                dw[i] += dy[i] * normal[i];
                db[i] += dy[i];
            }
            mean.push(middle);
            rstd.push(by);
        }
        LayerNorm { y, mean, rstd, dx, dw, db }
    }
}

#[test]
fn tutorial_05_layer_norm() {
    let Some(file) = tutorial("05-layer-norm.py") else { return };
    everywhere(|device| {
        for (rows, columns) in [(5, 1024), (7, 1000), (4, 100)] {
            let halves = |seed, n| noise(seed, n, F16);
            let (x, dy) = (halves(8, rows * columns), halves(9, rows * columns));
            let (weight, bias) = (halves(10, columns), halves(11, columns));
            let expected = LayerNorm::of(&x, &weight, &bias, &dy);
            let block = columns.next_power_of_two();
            let warps = Some((block / 256).clamp(1, 8) as u32);
            let array = |values: &[f64]| Given::Array(F16, values.to_vec());
            let forward = Job {
                file: &file,
                kernel: "_layer_norm_fwd_fused",
                given: vec![
                    ("X", array(&x)),
                    ("Y", zeros(F16, rows * columns)),
                    ("W", array(&weight)),
                    ("B", array(&bias)),
                    ("Mean", zeros(F32, rows)),
                    ("Rstd", zeros(F32, rows)),
                    ("stride", int(columns)),
                    ("N", int(columns)),
                    ("eps", Given::Float(LayerNorm::EPS)),
                    ("BLOCK_SIZE", constant(block)),
                ],
                warps,
                grid: &|_| [rows as u32, 1, 1],
            };
            let found = forward.run(device).expect("it runs");
            close(device, "layer norm", &found[1], &expected.y, 2e-3);
            close(device, "the mean", &found[4], &expected.mean, 1e-5);
            close(device, "the deviation", &found[5], &expected.rstd, 1e-4);
            // Fewer sums than rows, so that programs wait for each other.
            let groups = 2;
            let (mean, rstd) = (Given::Array(F32, expected.mean.clone()), Given::Array(F32, expected.rstd.clone()));
            let backward = Job {
                file: &file,
                kernel: "_layer_norm_bwd_dx_fused",
                given: vec![
                    ("DX", zeros(F16, rows * columns)),
                    ("DY", array(&dy)),
                    ("DW", zeros(F16, groups * columns)),
                    ("DB", zeros(F16, groups * columns)),
                    ("X", array(&x)),
                    ("W", array(&weight)),
                    ("Mean", mean),
                    ("Rstd", rstd),
                    ("Lock", zeros(Scalar::I32, 2 * groups)),
                    ("stride", int(columns)),
                    ("N", int(columns)),
                    ("GROUP_SIZE_M", constant(groups)),
                    ("BLOCK_SIZE_N", constant(block)),
                ],
                warps,
                grid: &|_| [rows as u32, 1, 1],
            };
            let ran = backward.run(device);
            let (dw, db) = if device.caps().has(Feature::ForwardProgress) {
                let found = ran.expect("it runs");
                close(device, "the gradient", &found[0], &expected.dx, 2e-3);
                (found[2].clone(), found[3].clone())
            } else {
                let report = ran.expect_err("nobody runs while a program waits");
                let error = &report.diagnostics[0];
                assert_eq!(error.code, Code::NeedsFeature, "{report}");
                for part in ["_layer_norm_bwd_dx_fused", "waits", "forward_progress"] {
                    assert!(error.message.contains(part), "{report}");
                }
                // What it would have left: all in the first group.
                let first = |sums: &[f64]| [sums, &vec![0.0; columns]].concat();
                (first(&expected.dw), first(&expected.db))
            };
            let sums = Job {
                file: &file,
                kernel: "_layer_norm_bwd_dwdb",
                given: vec![
                    ("DW", array(&dw)),
                    ("DB", array(&db)),
                    ("FINAL_DW", zeros(F16, columns)),
                    ("FINAL_DB", zeros(F16, columns)),
                    ("M", int(groups)),
                    ("N", int(columns)),
                    ("BLOCK_SIZE_M", constant(32)),
                    ("BLOCK_SIZE_N", constant(128)),
                ],
                warps: None,
                grid: &|of| [(columns as u32).div_ceil(of("BLOCK_SIZE_N")), 1, 1],
            };
            let found = sums.run(device).expect("it runs");
            close(device, "the weights' gradient", &found[2], &expected.dw, 1e-2);
            close(device, "the biases' gradient", &found[3], &expected.db, 1e-2);
        }
    });
}

/// Attention and the logarithms (base 2) of its sums, head by head.
fn attention(
    [q, k, v]: [&[f64]; 3],
    (heads, n, head): (usize, usize, usize),
    scale: f64,
    causal: bool,
) -> (Vec<f64>, Vec<f64>) {
    let (mut out, mut logs) = (vec![], vec![]);
    for h in 0..heads {
        let row = |m: &[f64], i: usize| m[(h * n + i) * head..][..head].to_vec();
        for i in 0..n {
            let last = if causal { i + 1 } else { n };
            let query = row(q, i);
            let score = |j: usize| query.iter().zip(row(k, j)).map(|(a, b)| a * b).sum::<f64>() * scale;
            let weights: Vec<f64> = (0..last).map(|j| score(j).exp()).collect();
            let sum: f64 = weights.iter().sum();
            logs.push(sum.log2());
            let mut line = vec![0.0; head];
            for (j, weight) in weights.iter().enumerate() {
                line.iter_mut().zip(row(v, j)).for_each(|(at, v)| *at += weight * v / sum);
            }
            out.extend(line);
        }
    }
    (out, logs)
}

#[test]
fn tutorial_06_attention_forward() {
    let Some(file) = tutorial("06-fused-attention.py") else { return };
    let kernels = file.kernels().expect("it is Python");
    let kernel = kernels.iter().find(|k| k.name == "_attn_fwd").expect("its kernel");
    let by_descriptors = kernel.parameters.iter().any(|p| p.name == "desc_q");
    everywhere(|device| {
        for (batch, heads, n, head, causal) in [(1, 2, 128, 64, true), (2, 1, 256, 64, false), (1, 1, 192, 32, true)] {
            let size = batch * heads * n * head;
            let [q, k, v] = [12, 13, 14].map(|seed| noise(seed, size, F16));
            let scale = 0.5f32;
            let array = |values: &[f64]| Given::Array(F16, values.to_vec());
            let all = [("q", array(&q)), ("k", array(&k)), ("v", array(&v)), ("out", zeros(F16, size))];
            let [q_given, k_given, v_given, out] = all.map(|(_, given)| given);
            let mut given = vec![
                ("sm_scale", Given::Float(scale)),
                ("M", zeros(F32, batch * heads * n)),
                ("Z", int(batch)),
                ("H", int(heads)),
                ("N_CTX", int(n)),
                ("HEAD_DIM", constant(head)),
                ("STAGE", constant(if causal { 3 } else { 1 })),
            ];
            if by_descriptors {
                given.extend([("desc_q", q_given), ("desc_k", k_given), ("desc_v", v_given), ("desc_o", out)]);
                given.extend(["FP8_OUTPUT", "warp_specialize", "IS_HOPPER"].map(|name| (name, truth(false))));
            } else {
                given.extend([("Q", q_given), ("K", k_given), ("V", v_given), ("Out", out)]);
                let by_batch = ["stride_qz", "stride_kz", "stride_vz", "stride_oz"];
                let by_head = ["stride_qh", "stride_kh", "stride_vh", "stride_oh"];
                let by_row = ["stride_qm", "stride_kn", "stride_vk", "stride_om"];
                let by_element = ["stride_qk", "stride_kk", "stride_vn", "stride_on"];
                let strides = [(by_batch, heads * n * head), (by_head, n * head), (by_row, head), (by_element, 1)];
                given.extend(strides.into_iter().flat_map(|(names, by)| names.map(|name| (name, int(by)))));
            }
            let job = Job {
                file: &file,
                kernel: "_attn_fwd",
                given,
                warps: None,
                grid: &|of| [(n as u32).div_ceil(of("BLOCK_M")), (batch * heads) as u32, 1],
            };
            let found = job.run(device).expect("it runs");
            let (expected, logs) = attention([&q, &k, &v], (batch * heads, n, head), scale.into(), causal);
            close(device, "the logarithms", &found[0], &logs, 2e-3);
            close(device, "attention", &found[4], &expected, 4e-3);
        }
    });
}
