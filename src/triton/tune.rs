//! `@triton.autotune`: of a kernel's configurations the one that takes least time on a device, for what a launch is given.
//!
//! Each candidate is run once on the launch's own arrays, whose contents are put back afterwards, and what it has written is held to what the first
//! one has: a candidate that writes something else does not count. Those that do are timed by the device's clock. What was found is kept in a folder, by
//! the kernel's text, the device, the arguments' types and numbers and the grids, so that the next process need not measure.
//!
//! Invariant: whatever happens, the arrays have their contents when tuning ends without an error.

use super::kept::Store;
use super::{Configurations, Head, KernelFile, Loaded, Request, told};
use crate::error::Error;
use girih_base::diag::Diagnostic;
use girih_ir::{Scalar, eval};
use girih_runtime::{Buffer, Device};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much is spent on tuning, and where what was found is kept.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// When so much time is over no further candidate begins.
    pub budget: Duration,
    /// A candidate that takes longer for one run does not count, nor is it run again.
    pub limit: Duration,
    /// The folder for what was found; none keeps nothing.
    pub folder: Option<PathBuf>,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { budget: Duration::from_secs(5), limit: Duration::from_secs(1), folder: crate::devices::cache_folder() }
    }
}

/// An array of a launch.
#[derive(Clone, Debug)]
pub struct Array {
    /// Where it is.
    pub buffer: Buffer,
    /// Its bytes.
    pub bytes: u64,
    /// The type of its elements.
    pub element: Scalar,
}

/// A launch for which a kernel is tuned.
pub struct Purpose<'a> {
    /// The arguments, by the names of the kernel's parameters.
    pub arguments: &'a [(&'a str, girih_runtime::Argument)],
    /// All arrays among them.
    pub arrays: &'a [Array],
    /// How many programs a configuration needs.
    pub grid: &'a dyn Fn(&Head) -> Result<[u32; 3], Diagnostic>,
}

/// What was found.
#[derive(Debug)]
pub struct Tuned {
    /// The kernel in its best configuration.
    pub loaded: Loaded,
    /// Which one that is.
    pub configuration: usize,
    /// What became of the candidates, in order; empty if the choice was known.
    pub candidates: Vec<Candidate>,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Candidate {
    /// A run takes so long.
    Takes(Duration),
    /// One run took too long.
    TooSlow(Duration),
    /// It writes other numbers than the first one.
    Differs,
    /// The device refuses it.
    Refused(String),
    /// The budget was spent before.
    NotTried,
}

/// Runs that a candidate is timed for.
const RUNS: usize = 5;

impl KernelFile {
    /// Compiles a kernel for a device in the configuration that takes least time for a launch. Where there is nothing to choose, nothing is run.
    ///
    /// # Errors
    /// What is wrong with the kernel or the launch; if the device refuses all configurations, why it refuses the first.
    pub fn tune(
        &self,
        device: &Device,
        request: &Request,
        purpose: &Purpose<'_>,
        tuning: &Tuning,
    ) -> Result<Tuned, Error> {
        let request = &told(device, request);
        let (first, sources) = self.head(device, request)?;
        if first.configurations - request.configuration <= 1 {
            let loaded = self.load_for(device, request, Configurations::One)?;
            return Ok(Tuned { loaded, configuration: request.configuration, candidates: vec![] });
        }
        let grid = (purpose.grid)(&first).map_err(|d| Error::new(sources, vec![d]))?;
        let way = format!("fastest on {grid:?}");
        let file = self.clone().kept_in(tuning.folder.clone());
        let store = Store::new(&file, device, "tuned");
        let known = store.as_ref().and_then(|store| store.number(request, &way)).and_then(|i| usize::try_from(i).ok());
        if let Some(configuration) = known.filter(|i| (request.configuration..first.configurations).contains(i))
            && let Ok(loaded) =
                self.load_for(device, &Request { configuration, ..request.clone() }, Configurations::One)
        {
            return Ok(Tuned { loaded, configuration, candidates: vec![] });
        }
        let tuned = self.measured(device, request, purpose, (tuning, first.configurations))?;
        if let Some(store) = store {
            let (_, sources, imports) = self.compile_noting(request)?;
            store.keep_number(request, &way, (&sources, &imports), tuned.configuration as u64);
        }
        Ok(tuned)
    }

    fn measured(
        &self,
        device: &Device,
        request: &Request,
        purpose: &Purpose<'_>,
        (tuning, count): (&Tuning, usize),
    ) -> Result<Tuned, Error> {
        let begun = Instant::now();
        let plain = |d: Diagnostic| Error::from(d);
        let before = contents(device, purpose.arrays).map_err(plain)?;
        let mut agreed: Option<Vec<Vec<u8>>> = None;
        let mut best: Option<(Duration, usize, Loaded)> = None;
        let (mut candidates, mut refused) = (vec![], None);
        for configuration in request.configuration..count {
            if best.is_some() && begun.elapsed() >= tuning.budget {
                candidates.push(Candidate::NotTried);
                continue;
            }
            let loaded = match self.load_for(device, &Request { configuration, ..request.clone() }, Configurations::One)
            {
                Ok(loaded) => loaded,
                Err(report) => {
                    let why = report.diagnostics.first().map_or(String::new(), |d| d.message.clone());
                    candidates.push(Candidate::Refused(why));
                    refused.get_or_insert(report);
                    continue;
                }
            };
            let found = candidate(device, &loaded, purpose, tuning, (&before, &mut agreed))?;
            if let Candidate::Takes(time) = found
                && best.as_ref().is_none_or(|(least, ..)| time < *least)
            {
                best = Some((time, configuration, loaded));
            }
            candidates.push(found);
        }
        match (best, refused) {
            (Some((_, configuration, loaded)), _) => Ok(Tuned { loaded, configuration, candidates }),
            (None, Some(report)) => Err(report),
            // All are slow: the first one serves.
            (None, None) => {
                Ok(Tuned { loaded: self.load(device, request)?, configuration: request.configuration, candidates })
            }
        }
    }
}

/// Runs a candidate, holds what it writes to what others have written, and times it.
fn candidate(
    device: &Device,
    loaded: &Loaded,
    purpose: &Purpose<'_>,
    tuning: &Tuning,
    (before, agreed): (&[Vec<u8>], &mut Option<Vec<Vec<u8>>>),
) -> Result<Candidate, Error> {
    let one = |d: Diagnostic| loaded.report(vec![d]);
    let command = [loaded.command((purpose.grid)(&loaded.head).map_err(one)?, purpose.arguments)?];
    let first = device.time(&command, 1).map_err(one)?.median();
    let after = contents(device, purpose.arrays).map_err(one)?;
    put_back(device, purpose.arrays, before, &after).map_err(one)?;
    if first > tuning.limit {
        return Ok(Candidate::TooSlow(first));
    }
    match agreed {
        None => *agreed = Some(after),
        Some(others) => {
            let pairs = purpose.arrays.iter().zip(others.iter().zip(&after));
            if !pairs.into_iter().all(|(array, (a, b))| alike(array.element, a, b)) {
                return Ok(Candidate::Differs);
            }
        }
    }
    let time = device.time(&command, RUNS).map_err(one)?.median();
    put_back(device, purpose.arrays, before, &[]).map_err(one)?;
    Ok(Candidate::Takes(time))
}

fn contents(device: &Device, arrays: &[Array]) -> Result<Vec<Vec<u8>>, Diagnostic> {
    let one = |array: &Array| {
        let mut bytes = vec![0; array.bytes as usize];
        device.read(&array.buffer, 0, &mut bytes).map(|()| bytes)
    };
    arrays.iter().map(one).collect()
}

/// Gives arrays their contents; those that are known to have them are left alone.
fn put_back(device: &Device, arrays: &[Array], before: &[Vec<u8>], now: &[Vec<u8>]) -> Result<(), Diagnostic> {
    for (i, (array, bytes)) in arrays.iter().zip(before).enumerate() {
        if now.get(i) != Some(bytes) {
            device.write(&array.buffer, 0, bytes)?;
        }
    }
    Ok(())
}

/// Whether two arrays differ by no more than sums in another order do: integers not at all, floats by a few thousandths of the largest.
fn alike(element: Scalar, a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    if !element.is_float() {
        return false;
    }
    let size = element.bytes() as usize;
    let number =
        |bytes: &[u8]| eval::widen(bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)), element);
    let largest = a.chunks_exact(size).map(|x| number(x).abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
    let near = largest * if element.bits() <= 16 { 8e-3 } else { 2e-3 };
    a.chunks_exact(size).zip(b.chunks_exact(size)).all(|(x, y)| {
        let (x, y) = (number(x), number(y));
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= near
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::{Selector, open};
    use girih_runtime::{Constant, Memory};

    const TEXT: &str = "
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'BLOCK': b, 'MORE': m}) for b, m in [(16, 0), (64, 0), (32, 1)]], key=['n'])
@triton.jit
def doubled(x_ptr, n, BLOCK: tl.constexpr, MORE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x + x + MORE, mask=at < n)
";

    #[test]
    fn candidates_that_agree_are_timed_and_the_choice_is_kept() {
        let n = 100u32;
        let device = open(&Selector::Interpreter(4), None).expect("it is always there");
        let buffer = device.zeroed(Memory::of(u64::from(4 * n))).expect("it is small");
        let bytes: Vec<u8> = (0..n).flat_map(u32::to_le_bytes).collect();
        device.write(&buffer, 0, &bytes).expect("it fits");
        let file = KernelFile::from_text("doubled.py", TEXT);
        let request = Request {
            kernel: "doubled".into(),
            arguments: vec![
                ("x_ptr".into(), girih_triton::Argument::Buffer(Scalar::I32)),
                ("n".into(), girih_triton::Argument::Scalar(Scalar::I32, n.into())),
            ],
            ..Request::default()
        };
        let number = Constant { ty: girih_ir::Type::Scalar(Scalar::I32), bits: n.into() };
        let arguments =
            [("x_ptr", girih_runtime::Argument::buffer(&buffer)), ("n", girih_runtime::Argument::Scalar(number))];
        let grid = |head: &Head| {
            let block = head.chosen.iter().find_map(|(name, value)| match value {
                girih_triton::Constant::Int(b) if name == "BLOCK" => u32::try_from(*b).ok(),
                _others => None,
            });
            Ok([n.div_ceil(block.unwrap_or(1)), 1, 1])
        };
        let arrays = [Array { buffer: buffer.clone(), bytes: u64::from(4 * n), element: Scalar::I32 }];
        let purpose = Purpose { arguments: &arguments, arrays: &arrays, grid: &grid };
        let folder = std::env::temp_dir().join(format!("girih-tune-{}", std::process::id()));
        let tuning = Tuning { folder: Some(folder.clone()), budget: Duration::MAX, limit: Duration::MAX };
        let tuned = file.tune(&device, &request, &purpose, &tuning).expect("it is right");
        assert!(
            matches!(tuned.candidates[..], [Candidate::Takes(_), Candidate::Takes(_), Candidate::Differs]),
            "{:?}",
            tuned.candidates
        );
        let mut now = vec![0; bytes.len()];
        device.read(&buffer, 0, &mut now).expect("it is there");
        assert_eq!(now, bytes, "tuning leaves the arrays as they were");
        // Known now: nothing is run.
        let again = file.tune(&device, &request, &purpose, &tuning).expect("it is right");
        assert_eq!((again.configuration, again.candidates), (tuned.configuration, vec![]));
        // No time, no choice; and what is too slow once is not run again.
        let none = Tuning { folder: None, budget: Duration::ZERO, limit: Duration::MAX };
        let first = file.tune(&device, &request, &purpose, &none).expect("it is right");
        assert!(matches!(first.candidates[..], [Candidate::Takes(_), Candidate::NotTried, Candidate::NotTried]));
        let slow = Tuning { folder: None, budget: Duration::MAX, limit: Duration::ZERO };
        let slow = file.tune(&device, &request, &purpose, &slow).expect("it is right");
        assert!(slow.candidates.iter().all(|c| matches!(c, Candidate::TooSlow(_))), "{:?}", slow.candidates);
        let _ = std::fs::remove_dir_all(folder);
    }
}
