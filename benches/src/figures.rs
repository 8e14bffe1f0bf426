//! What was measured.

use super::machine::Machine;
use super::spread::Spread;

/// The figures of all suites, and what they were measured with.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The day, as `2026-11-21`.
    pub date: String,
    /// This version of Girih.
    pub version: String,
    /// The machine.
    pub machine: Machine,
    /// What ran everything, as the command line names it.
    pub device: String,
    /// What that is, its interface and its driver.
    pub card: Option<String>,
    /// How many runs each figure is of.
    pub samples: usize,
    /// Who took part beside Girih, and what that is.
    pub rivals: Vec<Rival>,
    /// What the device can do, if kernels were measured.
    pub ceilings: Option<Ceilings>,
    /// A row a program and size, in the order of suites.
    pub rows: Vec<Row>,
    /// What has no figures, and why.
    pub failed: Vec<Failed>,
}

/// Someone who does the same jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Its name, as in [`Peer::name`].
    pub name: String,
    /// What it is: a compiler and its version.
    pub what: String,
}

/// What a device can do at most, as kernels that do nothing else reach it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Bytes a second that a copy reads and writes.
    pub copy: f64,
    /// Operations on `f32` a second; a multiplication with an addition is two.
    pub fma: f64,
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its suite.
    pub suite: String,
    /// Its name and size.
    pub name: String,
    /// Why, in a sentence.
    pub why: String,
}

/// The figures of a program at a size. All times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its suite.
    pub suite: String,
    /// Its name.
    pub name: String,
    /// How large the job is.
    pub size: Size,
    /// From the text to what runs: native code, or kernels that a device has loaded.
    pub compile: Option<f64>,
    /// For each number of threads, the times.
    pub runs: Vec<Run>,
    /// Most bytes of a program's data that lived at a time.
    pub bytes: Option<u64>,
    /// How the last run went, where a card was named.
    pub way: Option<Way>,
    /// Which calls of a Bend program run at the same time, and which wait for others.
    pub calls: Option<Calls>,
    /// What is done in a run, where that is known.
    pub work: Option<Work>,
    /// What others take for the same.
    pub peers: Vec<Peer>,
}

/// How a program ran where a card was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The schedule of the kernels, or the device that finished before the card.
    pub name: String,
    /// How many invocations had work, at most; none on the processor.
    pub lanes: Option<u32>,
    /// Supersteps, or phases of a plan; none on the processor.
    pub steps: Option<u64>,
}

/// Calls of a Bend program: a line each, with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls that run at the same time.
    pub together: Vec<String>,
    /// Calls that wait for others, and why.
    pub in_order: Vec<String>,
}

/// How large a job is.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// For people: `20`, `4096x512`.
    pub label: String,
    /// For the axis of a curve.
    pub number: f64,
}

impl Size {
    /// A size that is one number.
    pub fn one(number: impl Into<u64>) -> Size {
        let number = number.into();
        Size { label: number.to_string(), number: number as f64 }
    }

    /// The size of something with rows and columns.
    pub fn of(rows: usize, columns: usize) -> Size {
        Size { label: format!("{rows}x{columns}"), number: (rows * columns) as f64 }
    }
}

/// What is done in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Bytes that go to and from the memory of a device.
    Bytes(f64),
    /// Operations on floats.
    Operations(f64),
    /// Operations on floats in matrix units, where the device has them.
    Products(f64),
    /// Pictures.
    Frames(f64),
    /// Interactions of nets.
    Interactions(f64),
}

impl Work {
    /// How much.
    pub const fn amount(self) -> f64 {
        match self {
            Work::Bytes(amount)
            | Work::Operations(amount)
            | Work::Products(amount)
            | Work::Frames(amount)
            | Work::Interactions(amount) => amount,
        }
    }
}

/// The times on so many threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// How many threads; none on a device, which has lanes.
    pub threads: Option<usize>,
    /// The times.
    pub time: Spread,
}

/// What someone else takes for the same job.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Who.
    pub name: String,
    /// Seconds.
    pub seconds: f64,
    /// Whether it uses all cores; else it is to be compared with one thread.
    pub on_all_cores: bool,
}

/// So many threads, in words.
pub fn on(threads: Option<usize>) -> String {
    match threads {
        None => "device".to_owned(),
        Some(1) => "1 thread".to_owned(),
        Some(n) => format!("{n} threads"),
    }
}

impl Row {
    /// The name and the size.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.size.label)
    }

    /// The median on the fewest threads.
    pub fn first(&self) -> Option<f64> {
        self.runs.first().map(|run| run.time.median)
    }

    /// The median on the most threads.
    pub fn last(&self) -> Option<f64> {
        self.runs.last().map(|run| run.time.median)
    }

    /// How many times as fast it is on the most threads as on the fewest.
    pub fn speedup(&self) -> Option<f64> {
        let last = self.last().filter(|_| self.runs.len() > 1)?;
        Some(self.first()? / last.max(1e-9))
    }

    /// How many times as fast it is as a peer, on as many cores.
    pub fn beside(&self, peer: &Peer) -> Option<f64> {
        let ours = if peer.on_all_cores { self.last() } else { self.first() }?;
        Some(peer.seconds / ours.max(1e-9))
    }

    /// What is done in a second, on the most threads.
    pub fn rate(&self) -> Option<Work> {
        let per = |amount: f64| Some(amount / self.last()?.max(1e-9));
        Some(match self.work? {
            Work::Bytes(n) => Work::Bytes(per(n)?),
            Work::Operations(n) => Work::Operations(per(n)?),
            Work::Products(n) => Work::Products(per(n)?),
            Work::Frames(n) => Work::Frames(per(n)?),
            Work::Interactions(n) => Work::Interactions(per(n)?),
        })
    }
}

impl Ceilings {
    /// The part of what the device can do that a rate is, and the name of the ceiling. Matrix units, pictures and nets have none here.
    pub fn share(&self, rate: Work) -> Option<(f64, &'static str)> {
        match rate {
            Work::Bytes(rate) => Some((rate / self.copy.max(1e-9), "copy")),
            Work::Operations(rate) => Some((rate / self.fma.max(1e-9), "FMA")),
            Work::Products(_) | Work::Frames(_) | Work::Interactions(_) => None,
        }
    }
}
