//! Tuning: of several kernels that do the same, the one that takes least time on a device, for what a launch is given.
//!
//! Each candidate is run once on the launch's own arrays, whose contents are put back afterwards, and what it has written is held to what the first
//! one has: a candidate that writes something else does not count. Those that do are timed by the device's clock. What was found is kept in a folder, by
//! the digests of the candidates' modules, the device, and what the launch is given, so that the next process need not measure.
//!
//! Invariant: whatever happens, the arrays have their contents when tuning ends without an error.

use super::programs::{ProgramStore, about};
use super::{Kernels, LoadedKernel};
use crate::error::Error;
use girih_base::diag::{Code, Diagnostic};
use girih_base::pack::{Packer, Unpacker};
use girih_base::span::Span;
use girih_cache::{Cache, Key};
use girih_ir::{Scalar, eval};
use girih_runtime::{Argument, Buffer, Command, Device, Grid, LoadOptions};
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

/// A kernel that may be the fastest of several, and how it is launched.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// The file or module that it is in.
    pub kernels: &'a Kernels,
    /// Its name, unless it is the only one.
    pub kernel: Option<&'a str>,
    /// What it is given.
    pub arguments: Vec<Argument>,
    /// How many workgroups.
    pub grid: Grid,
}

/// The fastest of several kernels.
#[derive(Debug)]
pub struct Fastest {
    /// Which of the variants it is.
    pub variant: usize,
    /// The kernel.
    pub kernel: LoadedKernel,
    /// What became of the variants, in order; empty if the choice was known.
    pub candidates: Vec<Candidate>,
}

/// Loads the one of some kernels that do the same which takes least time. `arrays` are all arrays among the arguments.
///
/// # Errors
/// If there is no variant, a launch is wrong, or a run fails; if the device refuses all variants, why it refuses the first.
pub fn tune(device: &Device, variants: &[Variant<'_>], arrays: &[Array], tuning: &Tuning) -> Result<Fastest, Error> {
    let programs = ProgramStore::of(tuning.folder.as_deref(), device);
    let (mut digests, mut given) = (vec![], String::new());
    for variant in variants {
        let kernel = variant.kernels.kernel(variant.kernel)?;
        digests.push(programs.digest(&variant.kernels.module, kernel, &LoadOptions::default()));
        given += &described(variant);
    }
    let choices = Choices::of(tuning, device, &digests, &given);
    let load = |variant: &Variant<'_>| variant.kernels.load_in(&programs, device, variant.kernel);
    if let Some(known) = choices.as_ref().and_then(Choices::find)
        && let Some(Ok(kernel)) = variants.get(known).map(load)
    {
        return Ok(Fastest { variant: known, kernel, candidates: vec![] });
    }
    let mut refused = None;
    let make = |number: usize| -> Result<Result<(LoadedKernel, Command), String>, Error> {
        let Variant { arguments, grid, .. } = &variants[number];
        match load(&variants[number]) {
            Ok(kernel) => {
                let command = kernel.command(arguments.clone(), grid.clone());
                Ok(Ok((kernel, command)))
            }
            Err(error) => {
                let why = error.message().to_owned();
                refused.get_or_insert(error);
                Ok(Err(why))
            }
        }
    };
    let wrong = |kernel: Option<&LoadedKernel>, d: Diagnostic| match kernel {
        Some(kernel) => kernel.wrong(d),
        None => Error::from(d),
    };
    let found = fastest(device, 0..variants.len(), (arrays, tuning), make, wrong)?;
    let is_complete = found.is_complete();
    let (variant, kernel) = match (found.best, refused, variants.first()) {
        (Some(best), _, _) => best,
        (None, Some(error), _) => return Err(error),
        // All are slow: the first one serves.
        (None, None, Some(first)) => (0, load(first)?),
        (None, None, None) => {
            return Err(Error::from(Diagnostic::new(Code::BadArguments, Span::NONE, "there is no kernel to choose")));
        }
    };
    if let Some(choices) = choices.filter(|_| is_complete) {
        choices.keep(variant);
    }
    Ok(Fastest { variant, kernel, candidates: found.candidates })
}

/// What a variant is given, without where it is.
fn described(variant: &Variant<'_>) -> String {
    let arguments = variant.arguments.iter().map(|argument| match argument {
        Argument::Buffer(buffer) => format!("{} bytes", buffer.bytes()),
        Argument::Scalar(constant) => format!("{constant:?}"),
    });
    let grid = match &variant.grid {
        Grid::Own => "own".to_owned(),
        Grid::Workgroups(size) => format!("{size:?}"),
        Grid::Indirect(_) => "indirect".to_owned(),
    };
    format!("{} on {grid}\n", arguments.collect::<Vec<_>>().join(", "))
}

/// What of the candidates was tried, and which is best.
#[derive(Debug)]
pub(crate) struct Choice<K> {
    /// The best one and its number; none if there is none that serves.
    pub best: Option<(usize, K)>,
    /// What became of each.
    pub candidates: Vec<Candidate>,
}

impl<K> Choice<K> {
    /// Whether more time would change nothing: neither the budget nor the limit, which are not in its key, has decided it. One that is too slow is slower than
    /// the best.
    pub fn is_complete(&self) -> bool {
        self.best.is_some() && !self.candidates.contains(&Candidate::NotTried)
    }
}

/// Which of some candidates was found to be the fastest, kept by their digests.
#[derive(Debug)]
pub(crate) struct Choices {
    cache: Cache,
    key: Key,
}

impl Choices {
    /// The choice between modules of these digests for a launch, which `given` describes; none if nothing is kept, or if a module has no digest.
    pub fn of(tuning: &Tuning, device: &Device, digests: &[Option<Key>], given: &str) -> Option<Choices> {
        let cache = Cache::new(tuning.folder.as_deref()?, "tuned", about(device));
        let digests: Vec<Key> = digests.iter().copied().collect::<Option<_>>()?;
        let mut parts: Vec<&[u8]> = digests.iter().map(AsRef::as_ref).collect();
        parts.push(given.as_bytes());
        let key = cache.key(&parts);
        Some(Choices { cache, key })
    }

    /// The one that was found.
    pub fn find(&self) -> Option<usize> {
        let bytes = self.cache.get(self.key)?;
        let mut from = Unpacker::new(&bytes);
        let number = from.number()?;
        from.end()?;
        usize::try_from(number).ok()
    }

    /// Keeps it.
    pub fn keep(&self, number: usize) {
        let mut to = Packer::default();
        to.number(number as u64);
        self.cache.put(self.key, &to.finish());
    }
}

/// Tries candidates in order, each made by `make`, which gives its kernel and the command that launches it; an inner error is a device's refusal of one candidate.
///
/// # Errors
/// What `make` fails with, or what is wrong with the launch or a run; with the kernel that was tried, if one was.
pub(crate) fn fastest<K, E>(
    device: &Device,
    numbers: std::ops::Range<usize>,
    (arrays, tuning): (&[Array], &Tuning),
    mut make: impl FnMut(usize) -> Result<Result<(K, Command), String>, E>,
    wrong: impl Fn(Option<&K>, Diagnostic) -> E,
) -> Result<Choice<K>, E> {
    let begun = Instant::now();
    let before = contents(device, arrays).map_err(|d| wrong(None, d))?;
    let mut agreed: Option<Vec<Vec<u8>>> = None;
    let mut best: Option<(Duration, usize, K)> = None;
    let mut candidates = vec![];
    for number in numbers {
        if best.is_some() && begun.elapsed() >= tuning.budget {
            candidates.push(Candidate::NotTried);
            continue;
        }
        let (kernel, command) = match make(number)? {
            Ok(made) => made,
            Err(why) => {
                candidates.push(Candidate::Refused(why));
                continue;
            }
        };
        let found = candidate(device, &[command], (arrays, tuning), (&before, &mut agreed));
        let found = found.map_err(|d| wrong(Some(&kernel), d))?;
        if let Candidate::Takes(time) = found
            && best.as_ref().is_none_or(|(least, ..)| time < *least)
        {
            best = Some((time, number, kernel));
        }
        candidates.push(found);
    }
    Ok(Choice { best: best.map(|(_, number, kernel)| (number, kernel)), candidates })
}

/// Runs a candidate, holds what it writes to what others have written, and times it.
fn candidate(
    device: &Device,
    command: &[Command],
    (arrays, tuning): (&[Array], &Tuning),
    (before, agreed): (&[Vec<u8>], &mut Option<Vec<Vec<u8>>>),
) -> Result<Candidate, Diagnostic> {
    let first = device.time(command, 1)?.median();
    let after = contents(device, arrays)?;
    put_back(device, arrays, before, &after)?;
    if first > tuning.limit {
        return Ok(Candidate::TooSlow(first));
    }
    match agreed {
        None => *agreed = Some(after),
        Some(others) => {
            let pairs = arrays.iter().zip(others.iter().zip(&after));
            if !pairs.into_iter().all(|(array, (a, b))| alike(array.element, a, b)) {
                return Ok(Candidate::Differs);
            }
        }
    }
    let time = device.time(command, RUNS)?.median();
    put_back(device, arrays, before, &[])?;
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
