//! The suite `ir`: kernels of `benches/ir` at several sizes, compared with their known results and with the most that the device can do.

use super::figures::{Row, Run, Size, Work};
use super::launch::{Given, Job, element, run};
use super::spread::Spread;
use super::suite::{Bench, Session};
use girih::Report;
use girih::kernels::Kernels;
use girih_ir::{FunctionId, Scalar};
use girih_runtime::Grid;
use std::time::Instant;

/// Most steps of a point of the Mandelbrot set.
const LIMIT: u32 = 256;

/// A kernel at a size.
struct Case {
    name: &'static str,
    text: &'static str,
    size: Size,
    given: Vec<Given>,
    output: usize,
    work: Work,
    expected: Vec<(usize, f64, f64)>,
}

/// A kernel: its name, its text, its sizes for each scale, and how a case of it is made.
struct Kernel {
    name: &'static str,
    text: &'static str,
    sizes: [&'static [usize]; 3],
    case: fn(&Kernel, usize) -> Case,
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "vector_add",
        text: include_str!("../ir/vector_add.gir"),
        sizes: [&[1 << 12], &[1 << 16, 1 << 19, 1 << 22], &[1 << 20, 1 << 24, 1 << 28]],
        case: vector_add,
    },
    Kernel {
        name: "transpose",
        text: include_str!("../ir/transpose.gir"),
        sizes: [&[48], &[128, 512, 1024], &[1024, 4096, 16_384]],
        case: transpose,
    },
    Kernel {
        name: "softmax",
        text: include_str!("../ir/softmax.gir"),
        sizes: [&[300], &[256, 1024, 4096], &[1024, 4096, 16_384]],
        case: softmax,
    },
    Kernel {
        name: "mandelbrot",
        text: include_str!("../ir/mandelbrot.gir"),
        sizes: [&[16], &[64, 128, 256], &[256, 1024, 2048]],
        case: mandelbrot,
    },
    Kernel {
        name: "tile_matmul",
        text: include_str!("../ir/tile_matmul.gir"),
        sizes: [&[32], &[64, 128, 256], &[1024, 2048, 4096]],
        case: tile_matmul,
    },
];

fn int(n: usize) -> Given {
    Given::Int(Scalar::U32, n as i64)
}

impl Kernel {
    fn with(&self, size: Size, given: Vec<Given>, work: Work, expected: Vec<(usize, f64, f64)>) -> Case {
        let output = given.iter().position(|given| matches!(given, Given::Empty(..))).unwrap_or(0);
        Case { name: self.name, text: self.text, size, given, output, work, expected }
    }
}

fn vector_add(kernel: &Kernel, n: usize) -> Case {
    let given = vec![Given::Array(Scalar::F32, n), Given::Array(Scalar::F32, n), Given::Empty(Scalar::F32, n), int(n)];
    let expected = [0, n / 3, n - 1].map(|i| (i, 2.0 * element(i), 1e-6)).to_vec();
    kernel.with(Size::one(n as u64), given, Work::Bytes(12.0 * n as f64), expected)
}

fn transpose(kernel: &Kernel, n: usize) -> Case {
    let given = vec![Given::Array(Scalar::F32, n * n), Given::Empty(Scalar::F32, n * n), int(n)];
    let places = [(0, 0), (n / 2, n / 3), (n - 1, 1)];
    let expected = places.map(|(i, j)| (i * n + j, element(j * n + i), 0.0)).to_vec();
    kernel.with(Size::of(n, n), given, Work::Bytes(8.0 * (n * n) as f64), expected)
}

/// Rows are a quarter as many as columns, but no more than make a workgroup for each of a card's places.
fn softmax(kernel: &Kernel, columns: usize) -> Case {
    let rows = (columns / 4).min(4096);
    let given = vec![
        Given::Array(Scalar::F32, rows * columns),
        Given::Empty(Scalar::F32, rows * columns),
        int(rows),
        int(columns),
    ];
    let row = rows / 2;
    let powers: Vec<f64> = (0..columns).map(|j| element(row * columns + j).exp()).collect();
    let sum: f64 = powers.iter().sum();
    let expected = [0, columns / 3, columns - 1].map(|j| (row * columns + j, powers[j] / sum, 1e-5)).to_vec();
    kernel.with(Size::of(rows, columns), given, Work::Bytes(8.0 * (rows * columns) as f64), expected)
}

fn mandelbrot(kernel: &Kernel, side: usize) -> Case {
    let given = vec![Given::Empty(Scalar::U32, side * side), int(side), int(LIMIT as usize)];
    let counts: Vec<u32> = (0..side * side).map(|i| escape(i % side, i / side, side)).collect();
    // A step is five multiplications, two additions and a subtraction; the last one of a point that escapes is only begun.
    let steps: f64 = counts.iter().map(|n| f64::from(*n)).sum();
    let places = [0, side * side / 3, side * side / 2, side * side - 1];
    let expected = places.map(|i| (i, counts[i].into(), 0.0)).to_vec();
    kernel.with(Size::of(side, side), given, Work::Operations(8.0 * steps), expected)
}

/// The steps of a point, in the order of operations of the kernel: the same on every device.
fn escape(px: usize, py: usize, side: usize) -> u32 {
    let step = 3.0 / side as f32;
    let (cx, cy) = (px as f32 * step - 2.25, py as f32 * step - 1.5);
    let (mut x, mut y) = (0.0f32, 0.0f32);
    for k in 0..LIMIT {
        let (x2, y2) = (x * x, y * y);
        if x2 + y2 > 4.0 {
            return k;
        }
        (x, y) = (x2 - y2 + cx, 2.0 * x * y + cy);
    }
    LIMIT
}

fn tile_matmul(kernel: &Kernel, n: usize) -> Case {
    let array = Given::Array(Scalar::F32, n * n);
    let given = vec![array.clone(), array, Given::Empty(Scalar::F32, n * n), int(n)];
    let product = |i: usize, j: usize| (0..n).map(|k| element(i * n + k) * element(k * n + j)).sum::<f64>();
    let places = [(0, 0), (n / 2, n / 3), (n - 1, n - 1)];
    let expected = places.map(|(i, j)| (i * n + j, product(i, j), 1e-4)).to_vec();
    kernel.with(Size::of(n, n), given, Work::Operations(2.0 * (n as f64).powi(3)), expected)
}

/// Reads a kernel that stands alone in its file.
pub(super) fn compiled(name: &str, text: &str) -> Result<(Kernels, FunctionId), Report> {
    let kernels = Kernels::from_text(name, text)?;
    let kernel = kernels.kernel(None)?;
    Ok((kernels, kernel))
}

/// Lists kernels and sizes.
pub(super) fn open(bench: &mut Bench) -> Result<Box<dyn Session>, Report> {
    let scale = bench.kernel_scale()?;
    let sizes = |kernel: &'static Kernel| kernel.sizes[scale as usize].iter().map(move |size| (kernel, *size));
    Ok(Box::new(IrKernels { jobs: KERNELS.iter().flat_map(sizes).collect() }))
}

struct IrKernels {
    jobs: Vec<(&'static Kernel, usize)>,
}

impl Session for IrKernels {
    fn titles(&self) -> Vec<String> {
        self.jobs.iter().map(|(kernel, size)| format!("{} {size}", kernel.name)).collect()
    }

    fn row(&mut self, bench: &mut Bench, position: usize) -> Result<Row, Report> {
        bench.measure_ceilings()?;
        let (kernel, size) = self.jobs[position];
        let Case { name, text, size, given, output, work, expected } = (kernel.case)(kernel, size);
        let begun = Instant::now();
        let (kernels, id) = compiled(name, text)?;
        let reading = begun.elapsed().as_secs_f64();
        let job = Job {
            title: name,
            module: &kernels.module,
            kernel: id,
            given,
            grid: Grid::Own,
            output,
            expected: &expected,
        };
        let samples = bench.plan.samples;
        let taken = run(bench.device()?, &job, samples)?;
        Ok(Row {
            suite: "ir".to_owned(),
            name: name.to_owned(),
            size,
            compile: Some(reading + taken.load),
            runs: Spread::of(&taken.runs).into_iter().map(|time| Run { threads: None, time }).collect(),
            bytes: None,
            way: None,
            calls: None,
            work: Some(work),
            peers: vec![],
        })
    }
}
