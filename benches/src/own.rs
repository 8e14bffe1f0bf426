//! A user's own program, measured on each device that is asked for.
//!
//! Devices and numbers of threads take turns, so that other work of the machine affects all of them. Each run on the processor starts with a new heap, for
//! which the program is compiled again; that time is kept apart. On a card it is compiled once. All runs must give the same value.

use super::bend::memory_of;
use super::spread::Spread;
use super::suite::{card, one};
use girih::{Code, Contest, Diagnostic, Executable, Program, Report, RunDevice, RunOptions, Span, SystemHost};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Devices, each with numbers of threads; none for one that has no threads.
    pub devices: Vec<(RunDevice, Vec<usize>)>,
    /// How many runs a figure is of; others come before, which do not count.
    pub samples: usize,
    /// Bytes that the program's data may take on the host.
    pub memory: u64,
    /// Bytes that it may take on a device; what the device has room for if none.
    pub heap: Option<u64>,
    /// Whether a card runs the program alone, without the processor beside it.
    pub alone: bool,
    /// Raised to stop.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// What the runs on one device took.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The device's name on the command line.
    pub device: String,
    /// The card's own name.
    pub card: Option<String>,
    /// How many threads of the processor.
    pub threads: Option<usize>,
    /// Seconds from the text to what can run.
    pub compile: Spread,
    /// Seconds from the first step to the printed value.
    pub time: Spread,
    /// The most memory that the program's data took.
    pub bytes: u64,
}

/// What is measured by turns.
struct Contender<'p> {
    device: &'p RunDevice,
    threads: Option<usize>,
    /// The program on a card.
    loaded: Option<Executable>,
    card: Option<String>,
    compile: Vec<f64>,
    time: Vec<f64>,
    bytes: u64,
}

/// Measures a program; gives its value and the figures.
///
/// # Errors
/// If the program cannot be run on one of the devices, fails there, or gives another value than elsewhere.
pub fn measure(program: &Program, plan: &Plan) -> Result<(String, Vec<Figure>), Report> {
    let contender = |device, threads| Contender {
        device,
        threads,
        loaded: None,
        card: None,
        compile: vec![],
        time: vec![],
        bytes: 0,
    };
    let mut contenders: Vec<Contender<'_>> = vec![];
    for (device, threads) in &plan.devices {
        if threads.is_empty() {
            contenders.push(contender(device, None));
        }
        contenders.extend(threads.iter().map(|threads| contender(device, Some(*threads))));
    }
    let mut value: Option<String> = None;
    for round in 0..=plan.samples {
        for contender in &mut contenders {
            let given = contender.run(program, plan, round > 0)?;
            let expected = value.get_or_insert_with(|| given.clone());
            if *expected != given {
                let message = format!("`{}` gives {given}, and a run before gave {expected}", contender.device);
                let hint = "measure a program that gives the same value each time";
                return Err(one(Diagnostic::new(Code::BenchmarkFailed, Span::NONE, message).hint(hint)));
            }
        }
    }
    Ok((value.unwrap_or_default(), contenders.into_iter().filter_map(Contender::figure).collect()))
}

impl Contender<'_> {
    /// Runs the program once. What it writes is no report.
    fn run(&mut self, program: &Program, plan: &Plan, counts: bool) -> Result<String, Report> {
        let is_card = matches!(self.device, RunDevice::Device(_));
        let mut executable = match self.loaded.take() {
            Some(loaded) => loaded,
            None => program.compile(&self.options(plan))?,
        };
        let value = executable.run(&mut SystemHost::new().with_stdout(Box::new(std::io::sink())))?;
        let stats = executable.stats();
        if counts {
            self.compile.push(stats.compile_seconds);
            self.time.push(stats.seconds);
            self.bytes = self.bytes.max(memory_of(&stats.work));
        }
        self.card = executable.choice().card.as_ref().map(|(info, _)| card(info));
        self.loaded = is_card.then_some(executable);
        Ok(value)
    }

    fn options(&self, plan: &Plan) -> RunOptions {
        RunOptions {
            device: self.device.clone(),
            memory: plan.memory,
            heap: plan.heap,
            threads: self.threads.and_then(NonZeroUsize::new),
            interrupt: plan.interrupt.clone(),
            explain: false,
            contest: (!plan.alone).then(Contest::default),
            ..RunOptions::default()
        }
    }

    fn figure(self) -> Option<Figure> {
        Some(Figure {
            device: self.device.to_string(),
            card: self.card,
            threads: self.threads,
            compile: Spread::of(&self.compile)?,
            time: Spread::of(&self.time)?,
            bytes: self.bytes,
        })
    }
}
