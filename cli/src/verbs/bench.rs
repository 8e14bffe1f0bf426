//! `girih bench`: how fast programs are, beside C, beside upstream, and beside an earlier day.

use crate::console::Console;
use crate::device::{self, Device};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::memory;
use clap::{Args, ValueEnum};
use girih::bench::baseline::{self, Change};
use girih::bench::measure::Event;
use girih::bench::programs::BENCHMARKS;
use girih::bench::{Figures, Plan, json, measure, svg, table, tile};
use girih::{Code, Diagnostic, RunDevice, devices};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  girih bench bend                        all programs, on one thread and on all cores
  girih bench bend --only sort            those with `sort` in their names
  girih bench bend --rivals               beside C and beside upstream, where they are found
  girih bench bend --device cuda          on a graphics card
  girih bench tile --device cuda          tile kernels: GB/s, TFLOP/s
  girih bench bend --json > today.json    the figures, to be compared with another day's
  girih bench bend --baseline today.json  fails if a program takes 1.1 times as long as then";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// What to measure
    suite: Suite,
    /// Where programs run: auto, cpu, evaluator, wgpu, wgpu:N, cuda, cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Device,
    /// Only programs with this in their names; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// On how many threads of the processor, for example 1,2,4 [default: 1 and the number of cores]
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,
    /// How many runs a figure is the median of; one more comes before
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    samples: u16,
    /// Measure the same jobs in C, and with upstream's `bend`, which GIRIH_BEND names or which is on the path
    #[arg(long)]
    rivals: bool,
    /// Draw the figures as bars into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Compare with the figures in this file, which `--json` has written
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// How many times as long as in the baseline a program may take
    #[arg(long, value_name = "RATIO", default_value_t = 1.1, requires = "baseline")]
    threshold: f64,
    /// The most memory that a program's data may take, for example 4G [default: 3/4 of the machine's, or
    /// what a device has room for]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Programs at their smallest sizes: to see that they work, not how fast they are
    #[arg(long)]
    tiny: bool,
}

/// A set of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Bend programs
    Bend,
    /// Tile kernels of the folder `shaders`, on one device
    Tile,
}

impl Bench {
    /// Measures, and says what came out; fails if that is slower than the baseline.
    pub fn run(&self, console: &Console) -> Exit {
        if self.suite == Suite::Tile {
            return self.tile(console);
        }
        // A baseline that cannot be read is known before anything is measured.
        let before = match self.baseline.as_deref().map(read).transpose() {
            Ok(before) => before,
            Err(message) => return console.fail(Code::CannotRead, message, None),
        };
        let interrupt = Interrupt::new(None, console);
        let plan = self.plan(&interrupt);
        let count = plan.benchmarks().len();
        if count == 0 {
            let names: Vec<&str> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
            let hint = format!("there are {}", names.join(", "));
            return console.fail(Code::BadArguments, "no program has such a name", Some(&hint));
        }
        let bar = if console.shows_progress() { ProgressBar::new(count as u64) } else { ProgressBar::hidden() };
        bar.set_style(
            ProgressStyle::with_template("{pos}/{len} {msg} ({elapsed})").unwrap_or(ProgressStyle::default_bar()),
        );
        let measured = measure(&plan, &mut |event| match event {
            Event::Program(name) => {
                bar.inc(u64::from(!bar.message().is_empty()));
                bar.set_message(name);
            }
            Event::Skipped(reason) => bar.suspend(|| console.note(&format!("skipped: {reason}"))),
            Event::Failed(why) => {
                bar.suspend(|| console.fail(Code::BenchmarkFailed, why, None));
            }
        });
        bar.finish_and_clear();
        match measured {
            Ok(figures) => self.show(&figures, before.as_ref(), console),
            Err(report) => {
                console.report(&report);
                interrupt.exit_of(&report)
            }
        }
    }

    /// Measures tile kernels: right results first, then how long they take.
    fn tile(&self, console: &Console) -> Exit {
        let failed = |d: &Diagnostic| console.fail(d.code, d.message.clone(), None);
        let selector = match self.device.for_kernels() {
            Ok(selector) => selector,
            Err(why) => return console.fail(Code::BadArguments, why, None),
        };
        let mut device = match devices::open(selector, None) {
            Ok(device) => device,
            Err(error) => {
                failed(&error);
                return Exit::NoDevice;
            }
        };
        let runs = usize::from(self.samples);
        let memory = match tile::memory_rate(&mut *device, if self.tiny { 1 << 20 } else { 1 << 30 }, runs) {
            Ok(memory) => memory,
            Err(error) => return failed(&error),
        };
        let (mut figures, mut exit) = (vec![], Exit::Ok);
        for case in tile::cases(self.tiny) {
            if !self.only.is_empty() && !self.only.iter().any(|only| case.name.contains(only.as_str())) {
                continue;
            }
            match tile::run(&mut *device, &case, memory, runs) {
                Ok(figure) => figures.push(figure),
                Err(errors) => {
                    errors.iter().for_each(|error| {
                        failed(error);
                    });
                    exit = Exit::Failed;
                }
            }
        }
        let name = device.info().name.clone();
        console.result(tile::table(&figures, memory).trim_end(), || {
            let rows: Vec<serde_json::Value> = figures
                .iter()
                .map(|f| {
                    json!({
                        "name": f.name, "median_ms": f.median.as_secs_f64() * 1e3, "least_ms": f.least.as_secs_f64() * 1e3,
                        "first_ms": f.first.as_secs_f64() * 1e3, "rate": f.rate(), "unit": f.unit(), "share": f.share,
                    })
                })
                .collect();
            json!({"kind": "tile", "device": name, "copy_gb_s": memory / 1e9, "rows": rows})
        });
        exit
    }

    fn plan(&self, interrupt: &Interrupt) -> Plan {
        let device = self.device.for_programs();
        let mut threads: Vec<usize> = self.threads.iter().map(|n| usize::from(*n)).collect();
        if threads.is_empty() && !matches!(device, RunDevice::Device(_)) {
            threads = vec![1, std::thread::available_parallelism().map_or(1, |n| n.get())];
        }
        threads.sort_unstable();
        threads.dedup();
        Plan {
            only: self.only.clone(),
            threads,
            samples: self.samples.into(),
            rivals: self.rivals,
            device,
            memory: self.memory.unwrap_or_else(memory::default_limit),
            heap: self.memory,
            tiny: self.tiny,
            interrupt: Some(interrupt.flag()),
        }
    }

    fn show(&self, figures: &Figures, before: Option<&Figures>, console: &Console) -> Exit {
        console.result(table::table(figures).trim_end(), || json::write(figures));
        if let Some(path) = &self.svg
            && let Err(error) = std::fs::write(path, svg::draw(figures))
        {
            return console.fail(Code::CannotWrite, format!("{}: {error}", path.display()), None);
        }
        let measured = if figures.failed.is_empty() { Exit::Ok } else { Exit::Failed };
        let Some(before) = before else { return measured };
        let changes = baseline::changes(before, figures);
        let text = format!("\nsince {}\n{}", before.date, baseline::table(&changes, self.threshold));
        console.result(
            text.trim_end(),
            || json!({"kind": "changes", "changes": changes.iter().map(change).collect::<Vec<_>>()}),
        );
        if changes.iter().any(|change| change.ratio() > self.threshold) { Exit::Failed } else { measured }
    }
}

fn change(change: &Change) -> serde_json::Value {
    let Change { name, threads, before, now } = change;
    json!({"name": name, "threads": threads, "before": before, "now": now, "ratio": change.ratio()})
}

fn read(path: &Path) -> Result<Figures, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    json::read(&text).map_err(|error| format!("{}: {error}", path.display()))
}
