//! Benchmarks of tile kernels: those of `shaders/` on one device, held to what they must give, beside what the device's memory can do.

use crate::triton::{Argument, Constant, KernelFile, Request};
use girih_core::diag::{Code, Diagnostic};
use girih_core::ir::{Scalar, Type};
use girih_core::runtime::{self, BufferId, Command, Device, Dispatch, Grid, LoadOptions, Memory, measure};
use girih_core::span::Span;
use std::time::{Duration, Instant};

/// What a kernel is slow or fast at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Bytes that go to and from buffers.
    Bytes(f64),
    /// Operations on floats.
    Operations(f64),
}

/// A kernel at a size.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it does, and how large.
    pub name: String,
    file: (&'static str, &'static str),
    kernel: &'static str,
    arguments: Vec<(&'static str, Given)>,
    grid: [u32; 3],
    warps: u32,
    work: Work,
    /// Elements of the result that are known: where they are, what they must be, and how nearly.
    output: &'static str,
    expected: Vec<(usize, f64, f64)>,
}

#[derive(Clone, Debug)]
enum Given {
    /// An array of numbers that look random.
    Array(Scalar, usize),
    /// An array of zeros.
    Empty(Scalar, usize),
    Int(i64),
    Float(f32),
    Constant(i128),
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Which case.
    pub name: String,
    /// How long one launch takes.
    pub median: Duration,
    /// The shortest of those that were timed.
    pub least: Duration,
    /// From the source to the first result.
    pub first: Duration,
    /// What was done.
    pub work: Work,
    /// The share of what the device's memory can do; none for arithmetic.
    pub share: Option<f64>,
}

impl Figure {
    /// GB/s, or TFLOP/s.
    pub fn rate(&self) -> f64 {
        let seconds = self.median.as_secs_f64().max(1e-9);
        match self.work {
            Work::Bytes(bytes) => bytes / seconds / 1e9,
            Work::Operations(count) => count / seconds / 1e12,
        }
    }
    /// The unit of the rate.
    pub const fn unit(&self) -> &'static str {
        match self.work {
            Work::Bytes(_) => "GB/s",
            Work::Operations(_) => "TFLOP/s",
        }
    }
}

/// After so many elements an array repeats: a prime number, so that rows differ.
const PERIOD: usize = 65_521;

/// Element i of an array: a number between -0.5 and 0.5 that a short float holds.
fn element(i: usize) -> f64 {
    let mixed = ((i % PERIOD) as u32).wrapping_mul(0x9e37_79b1);
    f64::from(((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d) >> 24) as i32 - 128) / 256.0
}

const VECTOR_ADD: (&str, &str) = ("vector_add.py", include_str!("../../shaders/vector_add.py"));
const SOFTMAX: (&str, &str) = ("softmax.py", include_str!("../../shaders/softmax.py"));
const LAYER_NORM: (&str, &str) = ("layer_norm.py", include_str!("../../shaders/layer_norm.py"));
const MATMUL: (&str, &str) = ("matmul.py", include_str!("../../shaders/matmul.py"));
const ATTENTION: (&str, &str) = ("attention.py", include_str!("../../shaders/attention.py"));

fn vector_add(n: usize) -> Case {
    let f32s = Given::Array(Scalar::F32, n);
    Case {
        name: format!("vector add f32 {n}"),
        file: VECTOR_ADD,
        kernel: "vector_add",
        arguments: vec![
            ("x_ptr", f32s.clone()),
            ("y_ptr", f32s),
            ("out_ptr", Given::Empty(Scalar::F32, n)),
            ("n", Given::Int(n as i64)),
            ("BLOCK", Given::Constant(1024)),
        ],
        grid: [n.div_ceil(1024) as u32, 1, 1],
        warps: 4,
        work: Work::Bytes(12.0 * n as f64),
        output: "out_ptr",
        expected: [0, n / 3, n - 1].map(|i| (i, 2.0 * element(i), 1e-6)).to_vec(),
    }
}

fn softmax(rows: usize, columns: usize) -> Case {
    let block = columns.next_power_of_two();
    let row = rows / 2;
    let powers: Vec<f64> = (0..columns).map(|j| element(row * columns + j).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let places = [0, columns / 3, columns - 1];
    Case {
        name: format!("softmax f32 {rows}x{columns}"),
        file: SOFTMAX,
        kernel: "softmax",
        arguments: vec![
            ("out_ptr", Given::Empty(Scalar::F32, rows * columns)),
            ("in_ptr", Given::Array(Scalar::F32, rows * columns)),
            ("row_stride", Given::Int(columns as i64)),
            ("out_stride", Given::Int(columns as i64)),
            ("rows", Given::Int(rows as i64)),
            ("columns", Given::Int(columns as i64)),
            ("BLOCK", Given::Constant(block as i128)),
        ],
        grid: [rows as u32, 1, 1],
        warps: (block / 1024).clamp(4, 32) as u32,
        work: Work::Bytes(8.0 * (rows * columns) as f64),
        output: "out_ptr",
        expected: places.map(|j| (row * columns + j, powers[j] / sum, 1e-5)).to_vec(),
    }
}

fn layer_norm(rows: usize, columns: usize) -> Case {
    let row = rows / 2;
    let x: Vec<f64> = (0..columns).map(|j| element(row * columns + j)).collect();
    let mean = x.iter().sum::<f64>() / columns as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
    let rstd = 1.0 / (variance + 1e-5).sqrt();
    let places = [0, columns / 3, columns - 1];
    let halves = |n: usize| Given::Array(Scalar::F16, n);
    Case {
        name: format!("layer norm f16 {rows}x{columns}"),
        file: LAYER_NORM,
        kernel: "layer_norm",
        arguments: vec![
            ("x_ptr", halves(rows * columns)),
            ("y_ptr", Given::Empty(Scalar::F16, rows * columns)),
            ("weight_ptr", halves(columns)),
            ("bias_ptr", halves(columns)),
            ("mean_ptr", Given::Empty(Scalar::F32, rows)),
            ("rstd_ptr", Given::Empty(Scalar::F32, rows)),
            ("stride", Given::Int(columns as i64)),
            ("columns", Given::Int(columns as i64)),
            ("eps", Given::Float(1e-5)),
            ("BLOCK", Given::Constant(columns.next_power_of_two().min(4096) as i128)),
        ],
        grid: [rows as u32, 1, 1],
        warps: (columns / 512).clamp(1, 8) as u32,
        work: Work::Bytes(4.0 * (rows * columns) as f64),
        output: "y_ptr",
        expected: places.map(|j| (row * columns + j, (x[j] - mean) * rstd * element(j) + element(j), 4e-3)).to_vec(),
    }
}

fn matmul(n: usize, scalar: Scalar, (rows, columns, depth, warps): (usize, usize, usize, u32)) -> Case {
    let product = |i: usize, j: usize| (0..n).map(|k| element(i * n + k) * element(k * n + j)).sum::<f64>();
    let places = [(0, 0), (n / 2, n / 3), (n - 1, n - 1)];
    let array = Given::Array(scalar, n * n);
    let int = |n: usize| Given::Int(n as i64);
    Case {
        name: format!("matmul {scalar} {n}"),
        file: MATMUL,
        kernel: "matmul",
        arguments: vec![
            ("a_ptr", array.clone()),
            ("b_ptr", array),
            ("c_ptr", Given::Empty(scalar, n * n)),
            ("m", int(n)),
            ("n", int(n)),
            ("k", int(n)),
            ("stride_am", int(n)),
            ("stride_ak", int(1)),
            ("stride_bk", int(n)),
            ("stride_bn", int(1)),
            ("stride_cm", int(n)),
            ("stride_cn", int(1)),
            ("BLOCK_M", Given::Constant(rows as i128)),
            ("BLOCK_N", Given::Constant(columns as i128)),
            ("BLOCK_K", Given::Constant(depth as i128)),
            ("GROUP", Given::Constant(8)),
        ],
        grid: [(n.div_ceil(rows) * n.div_ceil(columns)) as u32, 1, 1],
        warps,
        work: Work::Operations(2.0 * (n as f64).powi(3)),
        output: "c_ptr",
        expected: places.map(|(i, j)| (i * n + j, product(i, j), 2e-2)).to_vec(),
    }
}

fn attention(heads: usize, n: usize, head: usize, keys: usize) -> Case {
    let halves = Given::Array(Scalar::F16, heads * n * head);
    let scale = 1.0 / (head as f64).sqrt();
    // The first query of the first head.
    let scores: Vec<f64> =
        (0..n).map(|j| (0..head).map(|d| element(d) * element(j * head + d)).sum::<f64>() * scale).collect();
    let sum: f64 = scores.iter().map(|s| s.exp()).sum();
    let value = |d: usize| (0..n).map(|j| scores[j].exp() / sum * element(j * head + d)).sum::<f64>();
    Case {
        name: format!("attention f16 {heads}x{n}x{head}"),
        file: ATTENTION,
        kernel: "attention",
        arguments: vec![
            ("q_ptr", halves.clone()),
            ("k_ptr", halves.clone()),
            ("v_ptr", halves),
            ("out_ptr", Given::Empty(Scalar::F16, heads * n * head)),
            ("n", Given::Int(n as i64)),
            ("scale", Given::Float(scale as f32)),
            ("BLOCK_M", Given::Constant(128)),
            ("BLOCK_N", Given::Constant(keys as i128)),
            ("HEAD", Given::Constant(head as i128)),
        ],
        grid: [n.div_ceil(128) as u32, heads as u32, 1],
        warps: 8,
        work: Work::Operations(4.0 * (heads * n * n * head) as f64),
        output: "out_ptr",
        expected: [0, 1, head - 1].map(|d| (d, value(d), 4e-3)).to_vec(),
    }
}

/// What is measured; `tiny` is to see that it works.
pub fn cases(tiny: bool) -> Vec<Case> {
    let small = (32, 32, 32, 4);
    if tiny {
        return vec![
            vector_add(5000),
            softmax(8, 300),
            layer_norm(4, 256),
            matmul(64, Scalar::F16, small),
            matmul(64, Scalar::F32, small),
            attention(1, 128, 32, 64),
        ];
    }
    let large = (128, 256, 64, 8);
    vec![
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
        matmul(8192, Scalar::F16, large),
        matmul(4096, Scalar::F32, (128, 128, 32, 8)),
        attention(64, 2048, 64, 128),
        attention(64, 2048, 128, 128),
    ]
}

fn bytes_of(given: &Given) -> Vec<u8> {
    match given {
        Given::Array(scalar, n) => {
            let (size, mut bytes) = (scalar.bytes() as usize, vec![]);
            for i in 0..PERIOD.min(*n) {
                bytes.extend_from_slice(&girih_core::ir::eval::narrow(element(i), *scalar).to_le_bytes()[..size]);
            }
            let period = bytes.clone();
            while bytes.len() < n * size {
                let more = period.len().min(n * size - bytes.len());
                bytes.extend_from_slice(&period[..more]);
            }
            bytes
        }
        Given::Empty(scalar, n) => vec![0; n * scalar.bytes() as usize],
        Given::Int(_) | Given::Float(_) | Given::Constant(_) => vec![],
    }
}

/// How many bytes a second a copy within the device reads and writes.
///
/// # Errors
/// What the device says.
pub fn memory_rate(device: &mut dyn Device, bytes: u64, runs: usize) -> Result<f64, Diagnostic> {
    let [from, to] = [(); 2].map(|()| device.allocate(Memory { bytes, indirect: false }));
    let (from, to) = (from?, to?);
    let timing = measure(device, &[Command::Copy { from: (from, 0), to: (to, 0), bytes }], runs);
    device.free(from);
    device.free(to);
    Ok(2.0 * bytes as f64 / timing?.median().as_secs_f64().max(1e-9))
}

/// Measures a case.
///
/// # Errors
/// What the compiler or the device says, or that the result is wrong.
pub fn run(device: &mut dyn Device, case: &Case, memory: f64, runs: usize) -> Result<Figure, Vec<Diagnostic>> {
    let one = |d: Diagnostic| vec![d];
    let begun = Instant::now();
    let argument = |given: &Given| match given {
        Given::Array(scalar, _) | Given::Empty(scalar, _) => Argument::Buffer(*scalar),
        Given::Int(n) => Argument::Scalar(Scalar::I32, *n as u64 & 0xffff_ffff),
        Given::Float(x) => Argument::Scalar(Scalar::F32, x.to_bits().into()),
        Given::Constant(n) => Argument::Constant(Constant::Int(*n)),
    };
    let request = Request {
        kernel: case.kernel.into(),
        arguments: case.arguments.iter().map(|(name, given)| ((*name).to_owned(), argument(given))).collect(),
        num_warps: Some(case.warps),
        ..Request::default()
    };
    let file = KernelFile::from_text(case.file.0, case.file.1);
    let (compiled, _) = file.compile(&request).map_err(|report| report.diagnostics)?;
    let program = device.load(&compiled.module, &[compiled.kernel], &LoadOptions::default())?[0];
    let compiling = begun.elapsed();
    let (mut buffers, mut arguments): (Vec<BufferId>, Vec<runtime::Argument>) = (vec![], vec![]);
    let mut output = None;
    for name in &compiled.parameters {
        let Some((_, given)) = case.arguments.iter().find(|(n, _)| n == name) else { continue };
        arguments.push(match given {
            Given::Array(scalar, n) | Given::Empty(scalar, n) => {
                let bytes = bytes_of(given);
                let size = (bytes.len() as u64).next_multiple_of(4);
                let buffer = device.allocate(Memory { bytes: size, indirect: false }).map_err(one)?;
                let mut bytes = bytes;
                bytes.resize(size as usize, 0);
                device.write(buffer, 0, &bytes).map_err(one)?;
                buffers.push(buffer);
                if name == case.output {
                    output = Some((buffer, *scalar, *n));
                }
                runtime::Argument::Buffer(buffer, 0)
            }
            Given::Int(n) => scalar(Scalar::I32, *n as u64 & 0xffff_ffff),
            Given::Float(x) => scalar(Scalar::F32, x.to_bits().into()),
            Given::Constant(_) => continue,
        });
    }
    let command = Command::Dispatch(Dispatch { program, arguments, grid: Grid::Workgroups(case.grid) });
    let launched = Instant::now();
    device.submit(std::slice::from_ref(&command)).map_err(one)?;
    device.wait().map_err(one)?;
    let first = compiling + launched.elapsed();
    let checked = output.map_or(Ok(()), |output| check(device, case, output));
    let timing = checked.and_then(|()| measure(device, std::slice::from_ref(&command), runs));
    buffers.into_iter().for_each(|buffer| device.free(buffer));
    device.unload(program);
    let timing = timing.map_err(one)?;
    let figure = Figure {
        name: case.name.clone(),
        median: timing.median(),
        least: timing.least(),
        first,
        work: case.work,
        share: None,
    };
    let share = matches!(case.work, Work::Bytes(_)).then(|| figure.rate() * 1e9 / memory);
    Ok(Figure { share, ..figure })
}

fn scalar(ty: Scalar, bits: u64) -> runtime::Argument {
    runtime::Argument::Scalar(runtime::Constant { ty: Type::Scalar(ty), bits })
}

/// Holds some elements of the result to what they must be.
fn check(
    device: &mut dyn Device,
    case: &Case,
    (buffer, scalar, _): (BufferId, Scalar, usize),
) -> Result<(), Diagnostic> {
    let size = scalar.bytes() as usize;
    for (i, expected, tolerance) in &case.expected {
        let byte = i * size;
        let mut word = [0; 4];
        device.read(buffer, (byte & !3) as u64, &mut word)?;
        let bits = u64::from(u32::from_le_bytes(word) >> (8 * (byte & 3))) & scalar.mask();
        let found = girih_core::ir::eval::widen(bits, scalar);
        let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        if !near {
            let message = format!("{}: element {i} is {found}, not {expected}", case.name);
            return Err(Diagnostic::new(Code::BenchmarkFailed, Span::NONE, message));
        }
    }
    Ok(())
}

/// The figures as a table.
pub fn table(figures: &[Figure], memory: f64) -> String {
    let mut text = format!("copy within the device: {:.0} GB/s\n", memory / 1e9);
    let width = figures.iter().map(|f| f.name.len()).max().unwrap_or(0);
    for f in figures {
        let share = f.share.map_or(String::new(), |s| format!("  {:.2} of copy", s));
        let line = format!(
            "{:<width$}  {:>9.4} ms  {:>8.1} {:<7}{share}  (first result after {:.0} ms)\n",
            f.name,
            f.median.as_secs_f64() * 1e3,
            f.rate(),
            f.unit(),
            f.first.as_secs_f64() * 1e3,
        );
        text.push_str(&line);
    }
    text
}
