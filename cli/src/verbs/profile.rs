//! `girih profile FILE [ARGS...]`: where the time and the memory of a program go, and which calls keep it from being parallel.

mod on_device;

use crate::console::{self, Console};
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::warnings::WarningFlags;
use crate::{device, memory};
use clap::Args;
use girih::profile::{Chain, Definition, Profile as Found, draw};
use girih::{Code, Error, Options, Program, RunDevice, RunOptions, SystemHost, WarningLevels, atomic_file};
use girih_base::plural::counted;
use girih_bench::table::Grid;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Rows that are shown unless all are wanted.
const ROWS: usize = 20;
/// Chains that are shown unless all are wanted.
const CHAINS: usize = 5;
/// With fewer looks than this, times are rough.
const FEW: u64 = 100;
/// The tier of programs that run as interaction nets.
const NET: &str = "net";

const EXAMPLES: &str = "\
Examples:
  girih profile sort.bend 1000              a table of definitions, and what keeps the program from being parallel
  girih profile sort.bend 1000 --svg out.svg    also a flame graph, for a browser
  girih profile sort.bend 1000 --all        all definitions and all chains of calls
  girih profile sort.bend 1000 --device cuda    what a card did while time went on: supersteps, lanes, tasks, memory
  girih profile sort.bend 1000 --json       the figures, for another program to read";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Profile {
    /// The program
    file: PathBuf,
    /// Arguments of `main`: Bend expressions
    #[arg(value_name = "ARGS")]
    arguments: Vec<String>,
    /// Start at this definition instead of `main`
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    /// What runs it: cpu, one core of the processor, whose figures are by definition; or wgpu, cuda, wgpu:N, cuda:N, a graphics card, whose figures are
    /// of its supersteps [default: cpu]
    #[arg(long, value_name = "DEVICE", value_parser = device::parse, conflicts_with = "svg")]
    device: Option<device::Device>,
    /// Draw a flame graph into this file, of a run on the processor
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Show all definitions and chains of calls, not only those that took longest
    #[arg(long)]
    all: bool,
    /// The most memory for the program's data, for example 512M or 4G [default: 3/4 of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = interrupt::seconds)]
    timeout: Option<Duration>,
    #[command(flatten)]
    warnings: WarningFlags,
}

impl Profile {
    /// Runs the program, and says what was found.
    pub fn run(&self, console: &Console) -> Exit {
        let interrupt = Interrupt::new(self.timeout, console);
        let program = Program::open(&self.file, &self.options());
        console.report(&program.report());
        if program.check().is_err() {
            return Exit::Failed;
        }
        let mut host = SystemHost::new().interrupted_by(interrupt.flag());
        if console.json() {
            host = host.with_stdout(console::output_objects());
        }
        let device = self.device.as_ref().map_or(RunDevice::Cpu, device::Device::for_programs);
        match &device {
            RunDevice::Cpu | RunDevice::Device(_) => {}
            RunDevice::Auto | RunDevice::Interpreter(_) | RunDevice::Evaluator => {
                let message = format!("`{device}` cannot be profiled");
                let hint = "name `cpu`, or a graphics card as `girih devices` lists them";
                return console.fail(Code::NoDevice, &message, Some(hint));
            }
        }
        let options = RunOptions { device, count: true, timeline: true, ..self.run_options(&interrupt) };
        let mut executable = match program.compile(&options) {
            Ok(executable) => executable,
            Err(error) => return failed(&error, &interrupt, console),
        };
        // A net has no definitions that call each other: its figures are those of its rules.
        let is_net = executable.choice().tier == Some(NET);
        if is_net || matches!(options.device, RunDevice::Device(_)) {
            if self.svg.is_some() {
                let message = "this program needs interaction nets, in which no definition calls another";
                return console.fail(
                    Code::NeedsNets,
                    message,
                    Some("leave `--svg` out: there is no flame graph of it"),
                );
            }
            let found = if is_net { None } else { program.parallelism().ok() };
            return match executable.run(&mut host) {
                Ok(text) => on_device::show(&text, &executable, found.as_ref(), self.all, console),
                Err(error) => failed(&error, &interrupt, console),
            };
        }
        match program.profile(&mut host, &self.run_options(&interrupt)) {
            Ok(found) => self.show(&found, console),
            Err(error) => failed(&error, &interrupt, console),
        }
    }

    fn options(&self) -> Options {
        let mut levels = WarningLevels::default();
        levels.set(Code::UnusedDefinition, None);
        self.warnings.apply(&mut levels);
        Options {
            warnings: levels,
            entry: self.entrypoint.as_deref().map(Into::into),
            arguments: self.arguments.clone(),
            ..Options::default()
        }
    }

    fn run_options(&self, interrupt: &Interrupt) -> RunOptions {
        let memory = self.memory.unwrap_or_else(memory::default_limit);
        let stack = memory.min(RunOptions::default().stack);
        RunOptions { memory, stack, interrupt: Some(interrupt.flag()), ..RunOptions::default() }
    }

    fn show(&self, found: &Found, console: &Console) -> Exit {
        console.result(&self.text(found), || object(found));
        if let Some(path) = &self.svg
            && let Err(error) = atomic_file::write_bytes(path, draw(found))
        {
            return console.fail(Code::CannotWrite, format!("{}: {error}", path.display()), None);
        }
        if found.samples < FEW {
            console.note(&format!(
                "The run was so short that its times are rough: they come from {} at what runs. Calls and cells are exact.",
                counted(found.samples as usize, "look")
            ));
        }
        if found.is_full {
            console.note("There were too many chains of definitions that call each other. What a definition took with others is too little.");
        }
        Exit::Ok
    }

    fn text(&self, found: &Found) -> String {
        let most = |usual: usize| if self.all { usize::MAX } else { usual };
        let mut text = format!("Result: {}\n\n", found.text);
        text.push_str(&table(found, most(ROWS)));
        let chains = found.chains.len();
        if chains == 0 {
            text.push_str("\nNo calls ran one after another because they wait for each other.");
            return text;
        }
        text.push_str("\nCalls that ran one after another, because they wait for each other:\n");
        for shown in found.chains.iter().take(most(CHAINS)) {
            text.push_str(&chain(shown, found));
        }
        if chains > most(CHAINS) {
            let _ = write!(text, "\n{} more took less time; `--all` shows them.", chains - CHAINS);
        }
        text.trim_end().to_owned()
    }
}

fn failed(error: &Error, interrupt: &Interrupt, console: &Console) -> Exit {
    console.report(error);
    interrupt.exit_of(error)
}

/// The definitions as a table.
fn table(found: &Found, most: usize) -> String {
    let head = ["definition", "place", "own", "%", "total", "%", "calls", "cells"];
    let time = |seconds: f64| [format!("{seconds:.3} s"), format!("{:.1}", found.percent(seconds))];
    let row = |row: &Definition| {
        let ([own, own_part], [total, total_part]) = (time(row.own), time(row.total));
        let place = row.place.clone().unwrap_or_default();
        vec![row.name.clone(), place, own, own_part, total, total_part, row.calls.to_string(), row.cells.to_string()]
    };
    let rows = found.definitions.iter().take(most).map(row).collect();
    let mut text = Grid { head: head.map(str::to_owned).to_vec(), rows, names: 2 }.text();
    let left = found.definitions.len().saturating_sub(most);
    if left > 0 {
        let _ = writeln!(text, "{left} more took less time; `--all` shows them.");
    }
    let _ = writeln!(text, "\n{:.3} s on one core", found.seconds);
    text
}

fn chain(chain: &Chain, found: &Found) -> String {
    let calls: Vec<String> = chain.links.iter().map(|link| format!("`{}`", link.call)).collect();
    let percent = found.percent(chain.seconds);
    format!(
        "\n{:.3} s ({percent:.1} %) in `{}` ({}): {}\n{}",
        chain.seconds,
        chain.function,
        chain.place,
        calls.join(", then "),
        chain.excerpt
    )
}

fn object(found: &Found) -> Value {
    let definitions = found.definitions.iter().map(|row| {
        json!({"name": row.name, "place": row.place, "calls": row.calls, "cells": row.cells, "own_seconds": row.own, "total_seconds": row.total})
    });
    let frames = found.frames.iter().map(|frame| {
        json!({"name": frame.name, "caller": frame.caller, "calls": frame.calls, "cells": frame.cells, "own_seconds": frame.own, "total_seconds": frame.total})
    });
    let chains = found.chains.iter().map(|chain| {
        let links = chain.links.iter().map(
            |link| json!({"call": link.call, "line": link.line, "column": link.column, "seconds": link.seconds, "why": link.why}),
        );
        json!({"function": chain.function, "place": chain.place, "seconds": chain.seconds, "calls": links.collect::<Vec<_>>()})
    });
    json!({
        "kind": "profile",
        "text": found.text,
        "seconds": found.seconds,
        "samples": found.samples,
        "definitions": definitions.collect::<Vec<_>>(),
        "frames": frames.collect::<Vec<_>>(),
        "chains": chains.collect::<Vec<_>>(),
    })
}
