//! The most that a device can do: a copy, and chains of multiplications and additions, measured by kernels of the IR right before the kernels that are compared with them.

use super::figures::Ceilings;
use super::kernels::compiled;
use super::launch::{Given, Job, run};
use super::spread::median;
use super::suite::Scale;
use girih::Report;
use girih_ir::Scalar;
use girih_runtime::{Device, Grid};

const COPY: &str = include_str!("../ir/copy.gir");
const FMA: &str = include_str!("../ir/fma.gir");
/// What an invocation of `fma` does in a round: eight chains, four steps of two operations each.
const PER_ROUND: f64 = 64.0;
const WORKGROUP: u32 = 256;
/// Where chains x -> x / 2 + 1 end.
const LIMIT: f64 = 2.0;

/// Measures both.
pub(super) fn measure(device: &Device, scale: Scale, samples: usize) -> Result<Ceilings, Report> {
    let (bytes, groups, rounds): (usize, u32, u32) = match scale {
        Scale::Tiny => (1 << 12, 2, 16),
        Scale::Small => (1 << 26, 256, 128),
        Scale::Full => (1 << 30, 4224, 2048),
    };
    let (kernels, kernel) = compiled("copy.gir", COPY)?;
    let floats = bytes / 4;
    let job = Job {
        title: "copy",
        module: &kernels.module,
        kernel,
        given: vec![
            Given::Array(Scalar::F32, floats),
            Given::Empty(Scalar::F32, floats),
            Given::Int(Scalar::U32, floats as i64 / 4),
        ],
        grid: Grid::Own,
        output: 1,
        expected: &[floats / 3, floats - 1].map(|i| (i, super::launch::element(i), 0.0)),
    };
    let copy = run(device, &job, samples)?;
    let (kernels, kernel) = compiled("fma.gir", FMA)?;
    let invocations = groups * WORKGROUP;
    let job = Job {
        title: "fma",
        module: &kernels.module,
        kernel,
        given: vec![Given::Empty(Scalar::F32, invocations as usize), Given::Int(Scalar::U32, rounds.into())],
        grid: Grid::Workgroups([groups, 1, 1]),
        output: 0,
        expected: &[(0, 8.0 * LIMIT, 1e-3), (invocations as usize - 1, 8.0 * LIMIT, 1e-3)],
    };
    let fma = run(device, &job, samples)?;
    let rate = |amount: f64, times: &[f64]| amount / median(times).unwrap_or(f64::INFINITY).max(1e-9);
    Ok(Ceilings {
        copy: rate(2.0 * bytes as f64, &copy.runs),
        fma: rate(f64::from(invocations) * f64::from(rounds) * PER_ROUND, &fma.runs),
    })
}
