//! `girih bench`: how fast programs and kernels are, beside rivals, the most that the device can do, and earlier figures; or how fast one's own program is.

use crate::console::Console;
use crate::device::{self, Device};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::verbs::bench_file;
use clap::Args;
use girih::{Code, RunDevice, atomic_file};
use girih_bench::baseline::{self, Verdict};
use girih_bench::own::Plan;
use girih_bench::suite::{self, Event};
use girih_bench::{Figures, SUITES, Selection, Suite, json, measure, svg, table};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a row may take to notice that it is to end, and the tables to be written.
const GRACE: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  girih bench sort.bend 1000              one's own program, with arguments of `main`
  girih bench sort.bend 1000 --device cpu --device cuda    the same on several devices
  girih bench                             all suites on the processor; reports in girih-bench-cpu
  girih bench --device cuda               all suites on a graphics card
  girih bench --device wgpu:lavapipe      an adapter that computes in software
  girih bench bend ir                     these suites
  girih bench bend --only sort            programs with `sort` in their names
  girih bench bend --rivals               beside C and upstream, if they are found
  girih bench corpus --rivals             beside Haskell, if its compiler `ghc` is found
  girih bench tile --device cpu --rivals  beside NumPy, if `python3` has it
  girih bench --output report             bench.json, bench.md and bench.svg in this folder
  girih bench --markdown > today.md       the tables as a page
  girih bench --json > today.json         the figures, for a later comparison
  girih bench --baseline today.json       fails if something is slower than then";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// What to measure: FILE.bend and arguments of `main`; or suites: bend, corpus, net, render, ir, tile [default: all that the device can do]
    #[arg(value_name = "WHAT")]
    what: Vec<String>,
    /// Where everything runs: auto, cpu, evaluator, wgpu, wgpu:N, cuda, cuda:N; may be repeated for one's own program
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Vec<Device>,
    /// Only programs with this in their names; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How many threads of the processor to use, for example 1,2,4 [default: 1 and the number of cores]
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,
    /// How many runs make a figure, after others that warm up
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    samples: u16,
    /// Also measure the same jobs in C or Haskell, and with upstream's `bend` and `hvm` (named by GIRIH_BEND and GIRIH_HVM, or on the path)
    #[arg(long)]
    rivals: bool,
    /// Write bench.json, bench.md and bench.svg into this folder [default: `girih-bench-DEVICE` if all suites are measured, otherwise none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the tables as a page of Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Draw the figures as bars and curves into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Compare with the figures in this file, which `--json` or `--output` wrote
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// How many times as long as in the baseline something may take
    #[arg(long, value_name = "RATIO", default_value_t = 1.1, requires = "baseline", value_parser = threshold)]
    threshold: f64,
    /// The most memory that a program's data may take, for example 4G [default: 3/4 of the machine's, or
    /// what a device has room for]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Run Bend programs on the named card alone; otherwise the processor runs them beside it, and the first result counts
    #[arg(long)]
    alone: bool,
    /// Use the smallest sizes, to check that everything works rather than how fast it is
    #[arg(long)]
    tiny: bool,
}

/// Reads `--threshold`.
fn threshold(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio: &f64| ratio.is_finite() && *ratio >= 1.0);
    ratio.ok_or_else(|| "expected a number that is at least 1".to_owned())
}

impl Bench {
    /// Measures, and says what came out; fails if something is slower than the baseline.
    pub fn run(&self, console: &Console) -> Exit {
        if let Some((file, arguments)) = self.what.split_first().filter(|(file, _)| bench_file::is_program(file)) {
            return self.file(file, arguments, console);
        }
        let device = match &self.device[..] {
            [device] => device.for_programs(),
            _several => {
                let hint = "name one; a program of your own, FILE.bend, is measured on several";
                return console.fail(Code::BadArguments, "suites are measured on one device at a time", Some(hint));
            }
        };
        // A baseline that cannot be read is known before anything is measured.
        let before = match self.baseline.as_deref().map(read).transpose() {
            Ok(before) => before,
            Err(message) => return console.fail(Code::CannotRead, message, None),
        };
        let interrupt = Interrupt::with_grace(None, GRACE, console);
        let plan = self.plan(device, &interrupt);
        let chosen = match self.chosen(&plan.device, console) {
            Ok(chosen) => chosen,
            Err(exit) => return exit,
        };
        if !plan.only.is_empty()
            && let Err(exit) = named(&plan, &chosen, &interrupt, console)
        {
            return exit;
        }
        // What there is so far is written after each row: whatever ends the command, that is not lost.
        let mut is_told = false;
        let mut keep = |figures: &Figures| {
            let kept = self.folder(&figures.device).map_or(Ok(()), |folder| reports(&folder, figures));
            if let Err(why) = kept
                && !std::mem::replace(&mut is_told, true)
            {
                console.note(&format!("What is measured is not kept until the end: {why}"));
            }
        };
        match measured(&plan, &chosen, &mut keep, console) {
            Ok(figures) if interrupt.is_raised() => {
                self.show(&figures, before.as_ref(), console);
                let what = format!("measuring was stopped after {} rows with figures", figures.rows.len());
                console.fail(Code::Interrupted, what, None);
                interrupt.exit()
            }
            Ok(figures) => self.show(&figures, before.as_ref(), console),
            Err(report) => {
                console.report(&report);
                interrupt.exit_of(&report)
            }
        }
    }

    /// The suites that were named; else all that the device can do.
    fn chosen(&self, device: &RunDevice, console: &Console) -> Result<Vec<&'static Suite>, Exit> {
        let mut wanted: Vec<&'static Suite> = vec![];
        for name in &self.what {
            let known = || SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ");
            wanted.push(suite::find(name).ok_or_else(|| {
                let hint = format!("the suites are {}; a program of your own is named FILE.bend", known());
                console.fail(Code::BadArguments, format!("there is no suite `{name}`"), Some(&hint))
            })?);
        }
        if wanted.is_empty() {
            wanted = SUITES.iter().collect();
        }
        let mut chosen = vec![];
        for suite in wanted {
            match (suite.refuses)(device) {
                None => chosen.push(suite),
                Some(why) if self.what.is_empty() => console.note(&format!("skipped: {}: {why}", suite.name)),
                Some(why) => return Err(console.fail(Code::BadArguments, why, None)),
            }
        }
        Ok(chosen)
    }

    /// Measures a program of the user's own.
    fn file(&self, file: &str, arguments: &[String], console: &Console) -> Exit {
        let for_suites = [
            (!self.only.is_empty(), "--only"),
            (self.rivals, "--rivals"),
            (self.output.is_some(), "--output"),
            (self.svg.is_some(), "--svg"),
            (self.baseline.is_some(), "--baseline"),
            (self.tiny, "--tiny"),
        ];
        if let Some((_, option)) = for_suites.iter().find(|(is_given, _)| *is_given) {
            let message = format!("`{option}` is for suites, not for a program of one's own");
            return console.fail(Code::BadArguments, message, Some("leave it out"));
        }
        let interrupt = Interrupt::new(None, console);
        let devices = self.device.iter().map(Device::for_programs);
        let plan = Plan {
            devices: devices.map(|device| (device.clone(), self.threads_of(&device))).collect(),
            samples: self.samples.into(),
            memory: self.memory.unwrap_or_else(memory::default_limit),
            heap: self.memory,
            alone: self.alone,
            interrupt: Some(interrupt.flag()),
        };
        bench_file::run(Path::new(file), arguments, &plan, (self.markdown, &interrupt), console)
    }

    /// With how many threads a device is measured beside others: only the processor has several.
    fn threads_of(&self, device: &RunDevice) -> Vec<usize> {
        match device {
            RunDevice::Auto | RunDevice::Cpu => self.threads(device),
            RunDevice::Device(_) | RunDevice::Interpreter(_) | RunDevice::Evaluator => vec![],
        }
    }

    /// With how many threads of the processor to measure.
    fn threads(&self, device: &RunDevice) -> Vec<usize> {
        let mut threads: Vec<usize> = self.threads.iter().map(|n| usize::from(*n)).collect();
        if threads.is_empty() && !matches!(device, RunDevice::Device(_)) {
            threads = vec![1, std::thread::available_parallelism().map_or(1, |n| n.get())];
        }
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    fn plan(&self, device: RunDevice, interrupt: &Interrupt) -> Selection {
        let threads = self.threads(&device);
        Selection {
            only: self.only.clone(),
            threads,
            samples: self.samples.into(),
            rivals: self.rivals,
            device,
            memory: self.memory.unwrap_or_else(memory::default_limit),
            heap: self.memory,
            alone: self.alone,
            tiny: self.tiny,
            interrupt: Some(interrupt.flag()),
        }
    }

    fn show(&self, figures: &Figures, before: Option<&Figures>, console: &Console) -> Exit {
        let text = if self.markdown { table::markdown(figures) } else { table::text(figures) };
        console.result(text.trim_end(), || json::write(figures));
        if let Err(exit) = self.write(figures, console) {
            return exit;
        }
        let measured = if figures.failed.is_empty() { Exit::Ok } else { Exit::Failed };
        let Some(before) = before else { return measured };
        let changes = baseline::changes(before, figures);
        let grid = baseline::grid(&changes, self.threshold);
        let grid = if self.markdown { grid.markdown() } else { grid.text() };
        let summary = baseline::summary(before, figures, &changes, self.threshold);
        let head = if self.markdown { format!("## Changes\n\n{summary}\n\n") } else { format!("{summary}\n") };
        console.result(format!("\n{head}{grid}").trim_end(), || {
            json::write_changes(&before.date, &changes, self.threshold)
        });
        let slower = changes.iter().any(|change| change.verdict(self.threshold) == Verdict::Slower);
        if slower { Exit::Failed } else { measured }
    }

    /// Writes the files that were asked for.
    fn write(&self, figures: &Figures, console: &Console) -> Result<(), Exit> {
        let failed = |path: &Path, error| console.fail(Code::CannotWrite, format!("{}: {error}", path.display()), None);
        let write = |path: &Path, text: &str| atomic_file::write_bytes(path, text).map_err(|error| failed(path, error));
        if let Some(path) = &self.svg {
            write(path, &svg::draw(figures))?;
        }
        if let Some(folder) = &self.folder(&figures.device) {
            reports(folder, figures).map_err(|error| failed(folder, error))?;
            console.note(&format!("bench.json, bench.md and bench.svg are in `{}`", folder.display()));
        }
        Ok(())
    }

    /// Where reports go. Whoever measures everything, which takes minutes, has them without asking.
    fn folder(&self, device: &str) -> Option<PathBuf> {
        let is_all = self.what.is_empty() && self.only.is_empty() && !self.tiny;
        let is_unsaid = !self.markdown && self.svg.is_none();
        let name = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let usual = || PathBuf::from(format!("girih-bench-{}", device.chars().map(name).collect::<String>()));
        self.output.clone().or_else(|| (is_all && is_unsaid).then(usual))
    }
}

/// Writes the three reports into a folder; none of them is ever there in part.
fn reports(folder: &Path, figures: &Figures) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |name: &str, text: String| atomic_file::write_bytes(&folder.join(name), text);
    write("bench.json", format!("{}\n", json::write(figures)))?;
    write("bench.md", table::markdown(figures))?;
    write("bench.svg", svg::draw(figures))
}

/// Fails if nothing has one of the wanted names.
fn named(plan: &Selection, chosen: &[&'static Suite], interrupt: &Interrupt, console: &Console) -> Result<(), Exit> {
    let titles = suite::titles(plan, chosen).map_err(|report| {
        console.report(&report);
        interrupt.exit_of(&report)
    })?;
    if titles.iter().any(|title| plan.wants(title)) {
        return Ok(());
    }
    let mut names: Vec<&str> = titles.iter().map(|title| title.rsplit_once(' ').map_or(&**title, |t| t.0)).collect();
    names.dedup();
    let hint = format!("there are {}", names.join(", "));
    Err(console.fail(Code::BadArguments, "no benchmark has this in its name", Some(&hint)))
}

/// Measures, with a bar on a terminal.
fn measured(
    plan: &Selection,
    chosen: &[&'static Suite],
    keep: &mut dyn FnMut(&Figures),
    console: &Console,
) -> Result<Figures, girih::Report> {
    let bar = if console.shows_progress() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg} ({elapsed})");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut tell = |event| match event {
        Event::Suite(name, count) => {
            bar.set_prefix(name);
            bar.set_length(count as u64);
            bar.set_position(0);
            bar.set_message("");
        }
        Event::Case(title) => {
            bar.inc(u64::from(!bar.message().is_empty()));
            bar.set_message(title);
        }
        Event::Skipped(reason) => bar.suspend(|| console.note(&format!("skipped: {reason}"))),
        Event::Failed(why) => {
            bar.suspend(|| console.fail(Code::BenchmarkFailed, why, None));
        }
    };
    let figures = measure(plan, chosen, &mut tell, keep);
    bar.finish_and_clear();
    figures
}

fn read(path: &Path) -> Result<Figures, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // What `--json` prints is an object a line; the figures are one of them.
    let figures = text.lines().find(|line| line.contains("\"kind\":\"bench\"")).unwrap_or(&text);
    json::read(figures).map_err(|error| format!("{}: {error}", path.display()))
}
