//! Kernels on a device: arguments that look random, results with some known elements, and times by the device's clock.

use super::suite::{many, one};
use girih::{Code, Diagnostic, Report, Span};
use girih_ir::{Scalar, Type};
use girih_runtime::{
    Argument, Buffer, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, Program, measure,
};
use std::time::Instant;

/// What a parameter of a kernel is given.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// An array of numbers that look random.
    Array(Scalar, usize),
    /// An array of zeros.
    Empty(Scalar, usize),
    Int(Scalar, i64),
    Float(f32),
}

/// A kernel, what it is given, and what comes out.
pub(super) struct Job<'j> {
    pub title: &'j str,
    pub module: &'j girih_ir::Verified<girih_ir::Module>,
    pub kernel: girih_ir::FunctionId,
    pub given: Vec<Given>,
    pub grid: Grid,
    /// Which parameter the result is.
    pub output: usize,
    /// Elements of the result that are known: where they are, what they must be, and how nearly.
    pub expected: &'j [(usize, f64, f64)],
}

/// What a job has taken, in seconds.
pub(super) struct Taken {
    /// For loading.
    pub load: f64,
    /// For each run.
    pub runs: Vec<f64>,
}

/// After so many elements an array repeats: a prime number, so that rows differ.
const PERIOD: usize = 65_521;

/// Element i of an array: a number between -0.5 and 0.5 that a short float holds.
pub(super) fn element(i: usize) -> f64 {
    let mixed = ((i % PERIOD) as u32).wrapping_mul(0x9e37_79b1);
    f64::from(((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d) >> 24) as i32 - 128) / 256.0
}

/// Loads a kernel, holds its result to what it must be, and measures it.
pub(super) fn run(device: &Device, job: &Job, samples: usize) -> Result<Taken, Report> {
    let begun = Instant::now();
    let programs = device.load(job.module, &[job.kernel], &LoadOptions::default()).map_err(many)?;
    let load = begun.elapsed().as_secs_f64();
    let Ok([program]) = <[Program; 1]>::try_from(programs) else {
        return Err(one(Diagnostic::new(Code::Internal, Span::NONE, "the device gave no kernel")));
    };
    Ok(Taken { load, runs: timed(device, job, program, samples).map_err(one)? })
}

fn timed(device: &Device, job: &Job, program: Program, samples: usize) -> Result<Vec<f64>, Diagnostic> {
    let mut arguments = vec![];
    for given in &job.given {
        arguments.push(argument(device, given)?);
    }
    let output = arguments.get(job.output).cloned();
    let command = [Command::Dispatch(Dispatch { program, arguments, grid: job.grid.clone() })];
    device.submit(&command)?;
    device.wait()?;
    if let (Some(Argument::Buffer(buffer)), Some(Given::Array(ty, _) | Given::Empty(ty, _))) =
        (output, job.given.get(job.output))
    {
        check(device, job, &buffer, *ty)?;
    }
    let timing = measure(device, &command, samples)?;
    Ok(timing.runs.iter().map(|run| run.as_secs_f64()).collect())
}

fn argument(device: &Device, given: &Given) -> Result<Argument, Diagnostic> {
    let scalar = |ty, bits| Argument::Scalar(Constant { ty: Type::Scalar(ty), bits });
    Ok(match given {
        Given::Int(ty, n) => scalar(*ty, *n as u64 & ty.mask()),
        Given::Float(x) => scalar(Scalar::F32, x.to_bits().into()),
        Given::Array(ty, n) | Given::Empty(ty, n) => {
            let bytes = (*n as u64 * u64::from(ty.bytes())).next_multiple_of(4);
            let buffer = device.zeroed(Memory::of(bytes))?;
            if matches!(given, Given::Array(..)) {
                fill(device, &buffer, *ty, *n)?;
            }
            girih_runtime::Argument::buffer(&buffer)
        }
    })
}

/// Writes an array in pieces of some periods, so that the host needs little memory for a large one.
fn fill(device: &Device, buffer: &Buffer, ty: Scalar, n: usize) -> Result<(), Diagnostic> {
    let size = ty.bytes() as usize;
    let bytes = |i| girih_ir::eval::narrow(element(i), ty).to_le_bytes().into_iter().take(size);
    let period: Vec<u8> = (0..PERIOD.min(n)).flat_map(bytes).collect();
    // A multiple of four periods is a multiple of four bytes.
    let piece = period.repeat(n.div_ceil(PERIOD).min(64));
    let mut written = 0;
    while written < n * size {
        let part = &piece[..piece.len().min(n * size - written)];
        let mut part = part.to_vec();
        part.resize(part.len().next_multiple_of(4), 0);
        device.write(buffer, written as u64, &part)?;
        written += part.len();
    }
    Ok(())
}

/// Holds some elements of the result to what they must be.
fn check(device: &Device, job: &Job, buffer: &Buffer, ty: Scalar) -> Result<(), Diagnostic> {
    let size = ty.bytes() as usize;
    for (i, expected, tolerance) in job.expected {
        let byte = i * size;
        let mut word = [0; 4];
        device.read(buffer, (byte & !3) as u64, &mut word)?;
        let bits = u64::from(u32::from_le_bytes(word) >> (8 * (byte & 3))) & ty.mask();
        let found = if ty == Scalar::U32 { bits as f64 } else { girih_ir::eval::widen(bits, ty) };
        let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        if !near {
            let message = format!("{}: element {i} is {found}, not {expected}", job.title);
            return Err(Diagnostic::new(Code::BenchmarkFailed, Span::NONE, message));
        }
    }
    Ok(())
}
