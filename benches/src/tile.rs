//! The suite `tile`: kernels of `shaders/` on one device, compared with their known results and with the most that the device can do.

use super::figures::{Peer, Rival, Row, Run, Size, Work};
use super::launch::{self, Given, Job, element};
use super::numpy::{self, Numpy, NumpyJob};
use super::spread::Spread;
use super::suite::{Bench, Event, Scale, Session};
use girih::triton::{Argument, Constant, KernelFile, Request};
use girih::{Report, RunDevice};
use girih_ir::{Caps, Feature, Scalar};
use girih_runtime::Grid;
use std::time::Instant;

/// A kernel at a size.
#[derive(Clone, Debug)]
struct Case {
    /// What it does, and with what numbers.
    name: String,
    size: Size,
    file: (&'static str, &'static str),
    kernel: &'static str,
    arguments: Vec<(&'static str, Input)>,
    grid: [u32; 3],
    warps: u32,
    work: Work,
    /// Elements of the result that are known: where they are, what they must be, and how nearly.
    output: &'static str,
    expected: Vec<(usize, f64, f64)>,
    /// The same for NumPy.
    numpy: Option<NumpyJob>,
}

/// What a parameter is: known when the kernel is compiled, or given to it.
#[derive(Clone, Debug)]
enum Input {
    Constant(Constant),
    Given(Given),
}

fn array(scalar: Scalar, n: usize) -> Input {
    Input::Given(Given::Array(scalar, n))
}

fn empty(scalar: Scalar, n: usize) -> Input {
    Input::Given(Given::Empty(scalar, n))
}

fn int(n: usize) -> Input {
    Input::Given(Given::Int(Scalar::I32, n as i64))
}

fn float(x: f32) -> Input {
    Input::Given(Given::Float(x))
}

fn constant(n: usize) -> Input {
    Input::Constant(Constant::Int(n as i128))
}

const VECTOR_ADD: (&str, &str) = ("vector_add.py", include_str!("../../shaders/vector_add.py"));
const SOFTMAX: (&str, &str) = ("softmax.py", include_str!("../../shaders/softmax.py"));
const LAYER_NORM: (&str, &str) = ("layer_norm.py", include_str!("../../shaders/layer_norm.py"));
const MATMUL: (&str, &str) = ("matmul.py", include_str!("../../shaders/matmul.py"));
const ATTENTION: (&str, &str) = ("attention.py", include_str!("../../shaders/attention.py"));

fn vector_add(n: usize) -> Case {
    let f32s = array(Scalar::F32, n);
    Case {
        name: "vector_add f32".to_owned(),
        size: Size::one(n as u64),
        file: VECTOR_ADD,
        kernel: "vector_add",
        arguments: vec![
            ("x_ptr", f32s.clone()),
            ("y_ptr", f32s),
            ("out_ptr", empty(Scalar::F32, n)),
            ("n", int(n)),
            ("BLOCK", constant(1024)),
        ],
        grid: [n.div_ceil(1024) as u32, 1, 1],
        warps: 4,
        work: Work::Bytes(12.0 * n as f64),
        output: "out_ptr",
        expected: [0, n / 3, n - 1].map(|i| (i, 2.0 * element(i), 1e-6)).to_vec(),
        numpy: Some(NumpyJob { function: "vector_add", lengths: [n, 1] }),
    }
}

fn softmax(rows: usize, columns: usize) -> Case {
    let block = columns.next_power_of_two();
    let row = rows / 2;
    let powers: Vec<f64> = (0..columns).map(|j| element(row * columns + j).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let places = [0, columns / 3, columns - 1];
    Case {
        name: "softmax f32".to_owned(),
        size: Size::of(rows, columns),
        file: SOFTMAX,
        kernel: "softmax",
        arguments: vec![
            ("out_ptr", empty(Scalar::F32, rows * columns)),
            ("in_ptr", array(Scalar::F32, rows * columns)),
            ("row_stride", int(columns)),
            ("out_stride", int(columns)),
            ("rows", int(rows)),
            ("columns", int(columns)),
            ("BLOCK", constant(block)),
        ],
        grid: [rows as u32, 1, 1],
        warps: (block / 1024).clamp(4, 32) as u32,
        work: Work::Bytes(8.0 * (rows * columns) as f64),
        output: "out_ptr",
        expected: places.map(|j| (row * columns + j, powers[j] / sum, 1e-5)).to_vec(),
        numpy: Some(NumpyJob { function: "softmax", lengths: [rows, columns] }),
    }
}

fn layer_norm(rows: usize, columns: usize) -> Case {
    let row = rows / 2;
    let x: Vec<f64> = (0..columns).map(|j| element(row * columns + j)).collect();
    let mean = x.iter().sum::<f64>() / columns as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
    let rstd = 1.0 / (variance + 1e-5).sqrt();
    let places = [0, columns / 3, columns - 1];
    let halves = |n: usize| array(Scalar::F16, n);
    Case {
        name: "layer_norm f16".to_owned(),
        size: Size::of(rows, columns),
        file: LAYER_NORM,
        kernel: "layer_norm",
        arguments: vec![
            ("x_ptr", halves(rows * columns)),
            ("y_ptr", empty(Scalar::F16, rows * columns)),
            ("weight_ptr", halves(columns)),
            ("bias_ptr", halves(columns)),
            ("mean_ptr", empty(Scalar::F32, rows)),
            ("rstd_ptr", empty(Scalar::F32, rows)),
            ("stride", int(columns)),
            ("columns", int(columns)),
            ("eps", float(1e-5)),
            ("BLOCK", constant(columns.next_power_of_two().min(4096))),
        ],
        grid: [rows as u32, 1, 1],
        warps: (columns / 512).clamp(1, 4) as u32,
        work: Work::Bytes(4.0 * (rows * columns) as f64),
        output: "y_ptr",
        expected: places.map(|j| (row * columns + j, (x[j] - mean) * rstd * element(j) + element(j), 4e-3)).to_vec(),
        numpy: Some(NumpyJob { function: "layer_norm", lengths: [rows, columns] }),
    }
}

/// Sides of the blocks of a matrix product, and warps for each.
type Blocks = (usize, usize, usize, u32);

/// Factors of `f32` are taken as they are.
fn matmul(n: usize, scalar: Scalar, blocks: Blocks) -> Case {
    let precision = if scalar == Scalar::F32 { Constant::Text("ieee".into()) } else { Constant::None };
    product(n, scalar, (scalar.name(), precision), blocks)
}

/// Factors of `f32` are rounded to `tf32` where the device has a unit for that.
fn matmul_tf32(n: usize, blocks: Blocks) -> Case {
    product(n, Scalar::F32, ("tf32", Constant::Text("tf32".into())), blocks)
}

fn product(n: usize, scalar: Scalar, (kind, precision): (&str, Constant), blocks: Blocks) -> Case {
    let (rows, columns, depth, warps) = blocks;
    let sum = |i: usize, j: usize| (0..n).map(|k| element(i * n + k) * element(k * n + j)).sum::<f64>();
    let places = [(0, 0), (n / 2, n / 3), (n - 1, n - 1)];
    let square = array(scalar, n * n);
    Case {
        name: format!("matmul {kind}"),
        size: Size::of(n, n),
        file: MATMUL,
        kernel: "matmul",
        arguments: vec![
            ("a_ptr", square.clone()),
            ("b_ptr", square),
            ("c_ptr", empty(scalar, n * n)),
            ("m", int(n)),
            ("n", int(n)),
            ("k", int(n)),
            ("stride_am", int(n)),
            ("stride_ak", int(1)),
            ("stride_bk", int(n)),
            ("stride_bn", int(1)),
            ("stride_cm", int(n)),
            ("stride_cn", int(1)),
            ("BLOCK_M", constant(rows)),
            ("BLOCK_N", constant(columns)),
            ("BLOCK_K", constant(depth)),
            ("GROUP", constant(8)),
            ("PRECISION", Input::Constant(precision)),
        ],
        grid: [(n.div_ceil(rows) * n.div_ceil(columns)) as u32, 1, 1],
        warps,
        work: if kind == "f32" { Work::Operations } else { Work::Products }(2.0 * (n as f64).powi(3)),
        output: "c_ptr",
        expected: places.map(|(i, j)| (i * n + j, sum(i, j), 2e-2)).to_vec(),
        numpy: (kind == "f32").then_some(NumpyJob { function: "matmul", lengths: [n, n] }),
    }
}

fn attention(heads: usize, n: usize, head: usize, (queries, keys, warps): (usize, usize, u32)) -> Case {
    let halves = array(Scalar::F16, heads * n * head);
    let scale = 1.0 / (head as f64).sqrt();
    // The first query of the first head.
    let scores: Vec<f64> =
        (0..n).map(|j| (0..head).map(|d| element(d) * element(j * head + d)).sum::<f64>() * scale).collect();
    let sum: f64 = scores.iter().map(|s| s.exp()).sum();
    let value = |d: usize| (0..n).map(|j| scores[j].exp() / sum * element(j * head + d)).sum::<f64>();
    Case {
        name: format!("attention f16 {heads} heads of {head}"),
        size: Size::one(n as u64),
        file: ATTENTION,
        kernel: "attention",
        arguments: vec![
            ("q_ptr", halves.clone()),
            ("k_ptr", halves.clone()),
            ("v_ptr", halves),
            ("out_ptr", empty(Scalar::F16, heads * n * head)),
            ("n", int(n)),
            ("scale", float(scale as f32)),
            ("BLOCK_M", constant(queries)),
            ("BLOCK_N", constant(keys)),
            ("HEAD", constant(head)),
        ],
        grid: [n.div_ceil(queries) as u32, heads as u32, 1],
        warps,
        work: Work::Products(4.0 * (heads * n * n * head) as f64),
        output: "out_ptr",
        expected: [0, 1, head - 1].map(|d| (d, value(d), 4e-3)).to_vec(),
        numpy: None,
    }
}

/// Shared memory from which on blocks are those that suit the largest cards.
const LARGE: u32 = 100 << 10;

/// What is measured on a device: blocks are as large as its shared memory suits.
fn cases(scale: Scale, caps: &Caps) -> Vec<Case> {
    let small = (32, 32, 32, 4);
    let few = (128, 64, 8);
    let is_large = caps.shared_bytes >= LARGE;
    let keys = if is_large { (128, 128, 8) } else { (64, 32, 4) };
    let large = if is_large { (128, 256, 64, 8) } else { (128, 128, 64, 8) };
    let largest = if is_large { large } else { (128, 256, 32, 8) };
    match scale {
        Scale::Tiny => vec![
            vector_add(5000),
            softmax(8, 300),
            layer_norm(4, 256),
            matmul(64, Scalar::F16, small),
            matmul_tf32(64, small),
            matmul(64, Scalar::F32, small),
            attention(1, 128, 32, few),
        ],
        Scale::Small => {
            let mut cases = vec![
                vector_add(1 << 16),
                vector_add(1 << 20),
                softmax(256, 256),
                softmax(256, 1024),
                layer_norm(256, 1024),
                matmul(128, Scalar::F16, small),
                matmul_tf32(128, small),
                matmul(128, Scalar::F32, small),
                matmul(256, Scalar::F32, small),
                attention(2, 256, 32, few),
            ];
            // What computes on the host with vectors is not as slow as a card that is emulated.
            if caps.has(Feature::Gemm) {
                cases.push(softmax(1000, 1000));
                cases.push(layer_norm(1000, 1000));
                cases.push(matmul(1024, Scalar::F32, (64, 64, 32, 4)));
            }
            cases
        }
        Scale::Full => vec![
            vector_add(1 << 20),
            vector_add(1 << 24),
            vector_add(1 << 28),
            softmax(4096, 512),
            softmax(4096, 1823),
            softmax(4096, 4096),
            softmax(4096, 12_672),
            softmax(4096, 32_768),
            layer_norm(4096, 1024),
            layer_norm(4096, 4096),
            layer_norm(4096, 8192),
            matmul(2048, Scalar::F16, large),
            matmul(4096, Scalar::F16, large),
            matmul(8192, Scalar::F16, largest),
            matmul(4096, Scalar::Bf16, large),
            matmul_tf32(4096, (128, 128, 32, 8)),
            matmul(4096, Scalar::F32, (128, 128, 32, 8)),
            attention(64, 2048, 64, keys),
            attention(64, 2048, 128, keys),
        ],
    }
}

/// Lists kernels and sizes.
pub(super) fn open(bench: &mut Bench) -> Result<Box<dyn Session>, Report> {
    let scale = bench.kernel_scale()?;
    let caps = bench.device()?.caps().clone();
    let mut numpy = None;
    if bench.plan.rivals && matches!(bench.plan.device, RunDevice::Cpu) {
        match Numpy::find() {
            Ok(found) => {
                bench.rivals.push(Rival {
                    name: numpy::NAME.to_owned(),
                    what: format!("{}, on all cores where it uses them", found.version),
                });
                numpy = Some(found);
            }
            Err(reason) => (bench.tell)(Event::Skipped(reason)),
        }
    }
    Ok(Box::new(TileKernels { cases: cases(scale, &caps), numpy }))
}

struct TileKernels {
    cases: Vec<Case>,
    numpy: Option<Numpy>,
}

impl Session for TileKernels {
    fn titles(&self) -> Vec<String> {
        self.cases.iter().map(|case| format!("{} {}", case.name, case.size.label)).collect()
    }

    fn row(&mut self, bench: &mut Bench, position: usize) -> Result<Row, Report> {
        bench.measure_ceilings()?;
        let case = &self.cases[position];
        let begun = Instant::now();
        let (compiled, _) = KernelFile::from_text(case.file.0, case.file.1).compile(&case.request())?;
        let compiling = begun.elapsed().as_secs_f64();
        let given = |name: &String| case.arguments.iter().find(|(n, _)| n == name);
        let passed = compiled.head.parameters.iter().filter_map(|name| match given(name)? {
            (name, Input::Given(given)) => Some((*name, given.clone())),
            (_, Input::Constant(_)) => None,
        });
        let (names, given): (Vec<&str>, Vec<Given>) = passed.unzip();
        let job = Job {
            title: &case.name,
            module: &compiled.module,
            kernel: compiled.kernel,
            given,
            grid: Grid::Workgroups(case.grid),
            output: names.iter().position(|name| *name == case.output).unwrap_or(0),
            expected: &case.expected,
        };
        let samples = bench.plan.samples;
        let taken = launch::run(bench.device()?, &job, samples)?;
        let mut peers = vec![];
        if let (Some(numpy), Some(job)) = (&self.numpy, case.numpy) {
            match numpy.seconds(job, samples) {
                Ok(seconds) => peers.push(Peer { name: numpy::NAME.to_owned(), seconds, on_all_cores: true }),
                Err(reason) => (bench.tell)(Event::Skipped(format!("NumPy's {}: {reason}", job.function))),
            }
        }
        Ok(Row {
            suite: "tile".to_owned(),
            name: case.name.clone(),
            size: case.size.clone(),
            compile: Some(compiling + taken.load),
            runs: Spread::of(&taken.runs).into_iter().map(|time| Run { threads: None, time }).collect(),
            bytes: None,
            way: None,
            calls: None,
            work: Some(case.work),
            peers,
        })
    }
}

impl Case {
    fn request(&self) -> Request {
        let argument = |input: &Input| match input {
            Input::Constant(constant) => Argument::Constant(constant.clone()),
            Input::Given(Given::Array(ty, _) | Given::Empty(ty, _)) => Argument::Buffer(*ty),
            Input::Given(Given::Int(ty, n)) => Argument::Scalar(*ty, *n as u64 & ty.mask()),
            Input::Given(Given::Float(x)) => Argument::Scalar(Scalar::F32, x.to_bits().into()),
        };
        Request {
            kernel: self.kernel.into(),
            arguments: self.arguments.iter().map(|(name, input)| ((*name).to_owned(), argument(input))).collect(),
            num_warps: Some(self.warps),
            apart: true,
            ..Request::default()
        }
    }
}
