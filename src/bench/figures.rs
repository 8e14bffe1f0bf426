//! What was measured.

use super::machine::Machine;

/// The figures of all programs, and what they were measured with.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The day, as `2026-11-21`.
    pub date: String,
    /// This version of Girih.
    pub version: String,
    /// The machine.
    pub machine: Machine,
    /// What ran the programs.
    pub device: String,
    /// What that is, its interface and its driver, if it is not the processor.
    pub card: Option<String>,
    /// How many runs each figure is the median of.
    pub samples: usize,
    /// The C compiler and its version, if C took part.
    pub cc: Option<String>,
    /// Upstream's version, if it took part.
    pub upstream: Option<String>,
    /// All programs as one.
    pub together: Option<Together>,
    /// A row a program.
    pub rows: Vec<Row>,
    /// Programs that have no figures: each failed.
    pub failed: Vec<Failed>,
}

/// A program that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its name.
    pub name: String,
    /// Why, in a sentence.
    pub why: String,
}

/// The figures of one program. All times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its argument.
    pub size: u32,
    /// From the text to native code, or to kernels that a device has loaded.
    pub compile: f64,
    /// For each number of threads, the time from the first step to the printed value.
    pub runs: Vec<Run>,
    /// Most bytes of cells that lived at a time.
    pub bytes: u64,
    /// C's time, from the start of its process to the end.
    pub c: Option<f64>,
    /// Beside upstream's runtime, at a size that it can do.
    pub upstream: Option<Beside>,
}

/// Compilation of a longer program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Together {
    /// How many lines it has.
    pub lines: usize,
    /// Seconds from its text to native code.
    pub compile: f64,
}

/// The time on so many threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// How many threads; none on a device, which has lanes.
    pub threads: Option<usize>,
    /// The median.
    pub seconds: f64,
    /// The shortest.
    pub least: f64,
}

/// So many threads, in words.
pub(super) fn on(threads: Option<usize>) -> String {
    match threads {
        None => "device".to_owned(),
        Some(1) => "1 thread".to_owned(),
        Some(n) => format!("{n} threads"),
    }
}

/// Two times of the same job, on all threads that were asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// The argument.
    pub size: u32,
    /// Upstream's own count, without its compilation.
    pub theirs: f64,
    /// Ours, without compilation too.
    pub ours: f64,
}

impl Beside {
    /// How many times as fast ours is.
    pub fn ratio(&self) -> f64 {
        self.theirs / self.ours.max(1e-9)
    }
}

impl Row {
    /// The time on the fewest threads.
    pub fn first(&self) -> Option<f64> {
        self.runs.first().map(|run| run.seconds)
    }

    /// How many times as long as C it takes on the fewest threads.
    pub fn beside_c(&self) -> Option<f64> {
        Some(self.first()? / self.c?.max(1e-9))
    }

    /// How many times as fast it is on the most threads as on the fewest.
    pub fn speedup(&self) -> Option<f64> {
        let last = self.runs.last().filter(|_| self.runs.len() > 1)?;
        Some(self.first()? / last.seconds.max(1e-9))
    }
}

/// The median; none of nothing.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle).copied()?;
    Some(if sorted.len() % 2 == 1 { upper } else { (sorted[middle - 1] + upper) / 2.0 })
}
