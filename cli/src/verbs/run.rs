//! `girih run FILE [ARGS...]`.

mod watch;

use crate::console::{self, Console};
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::optimizations::{self, Optimization};
use crate::progress::{Progress, Watched};
use crate::verbs::{kernel, net};
use crate::warnings::WarningFlags;
use crate::{device, memory};
use clap::{Args, ValueEnum};
use girih::render::Shader;
use girih::{
    Code, Contest, Error, Executable, Options, Program, RunDevice, RunOptions, SystemHost, Tier, WarningLevels, Work,
};
use girih_runtime::TaskStats;
use serde_json::{Value, json};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  girih run sort.bend                   prints `Result: ` and the value of `main`
  girih run add.bend 3 +4 '[1, 2]'      `main` is applied to the arguments
  girih run loop.bend --timeout 5       stops it after five seconds
  girih run sort.bend --stats           says how long it took and how much memory it needed
  girih run sort.bend --threads 1       runs it on one core instead of all
  girih run sort.bend --device cuda     runs it on the first NVIDIA card; `girih devices` lists all
  girih run sort.bend --device evaluator    evaluates it slowly, without compiling it
  girih run sort.bend --watch           runs it again whenever a file of it changes
  girih run sort.hvm --stats            reduces an interaction net, and counts its rules
  girih run add.gir::add --arg x=@x.npy --arg y='zeros(f32,1024):y.npy' --arg n=1024
                                        launches a kernel of the IR on the best device";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// The program; or FILE.hvm, an interaction net; or FILE.gir::KERNEL, a kernel of the IR
    file: PathBuf,
    /// Arguments of `main`: Bend expressions
    #[arg(value_name = "ARGS")]
    arguments: Vec<String>,
    /// Start at this definition instead of `main`
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    /// Say how long it took to compile and to run, and how much memory it needed
    #[arg(short, long)]
    stats: bool,
    /// Print the result on lines of its own
    #[arg(short)]
    pretty: bool,
    /// Accepted for compatibility with `bend`: values here have no duplications to be shown
    #[arg(short, hide = true)]
    linear: bool,
    /// The most memory for the program's data, and for its nested calls, for example 512M or 4G [default: 3/4
    /// of the machine's, and 4G at most for nested calls; on a device what it has room for, 4G at most]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = interrupt::seconds)]
    timeout: Option<Duration>,
    /// How many threads of the processor run it [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = crate::args::count)]
    threads: Option<NonZeroUsize>,
    /// Where to run it: auto; cpu, native code on all cores; wgpu, cuda, or wgpu:N, cuda:N, a graphics card;
    /// evaluator, which says what programs mean; interpreter, the reference machine
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device::parse)]
    device: device::Device,
    /// Run it on the named device alone. Otherwise the processor runs the program beside a graphics card, and the first result counts
    #[arg(long)]
    alone: bool,
    /// Run it again whenever its file, or one that it imports, changes; Ctrl-C ends this
    #[arg(long)]
    watch: bool,
    /// How to compile it
    #[arg(long, value_name = "TIER", default_value = "auto")]
    tier: TierName,
    #[command(flatten)]
    warnings: WarningFlags,
    /// Switches of `bend`: `no-type-check` leaves types unchecked; the others have no effect here
    #[arg(short = 'O', value_name = "SWITCH", value_delimiter = ' ', value_parser = optimizations::parse)]
    optimizations: Vec<Optimization>,
    #[command(flatten)]
    launch: kernel::Launch,
}

/// How a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TierName {
    /// The best that can run the program
    Auto,
    /// By value; what needs interaction nets is refused
    Direct,
    /// As an interaction net
    Net,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Tier {
        match name {
            TierName::Auto => Tier::Auto,
            TierName::Direct => Tier::Direct,
            TierName::Net => Tier::Net,
        }
    }
}

impl Run {
    /// Runs the program.
    pub fn run(&self, console: &Console) -> Exit {
        if let Some((file, kernel)) = self.file.to_str().and_then(kernel::split) {
            return self.kernel(file, kernel, console);
        }
        if self.launch.is_used() {
            let hint = "a kernel is named FILE.gir::KERNEL";
            return console.fail(
                Code::BadArguments,
                "these options are for kernels, not for Bend programs",
                Some(hint),
            );
        }
        if self.file.extension().is_some_and(|end| end == "py") {
            let file = self.file.display();
            let hint = format!("a Triton kernel is run by `girih launch {file}`");
            return console.fail(Code::BadArguments, format!("`{file}` is a file of Python"), Some(&hint));
        }
        if net::is_net(&self.file) {
            return self.net(console);
        }
        if self.watch {
            return watch::run(&self.file, &self.options(), console);
        }
        match self.program(console) {
            Ok(()) => Exit::Ok,
            Err(exit) => exit,
        }
    }

    fn kernel(&self, file: &str, kernel: Option<&str>, console: &Console) -> Exit {
        if let Some((what, hint)) = self.not_for_kernels() {
            let message = format!("{what} for Bend programs, not for kernels");
            return console.fail(Code::BadArguments, message, Some(hint));
        }
        match self.device.for_kernels() {
            Ok(selector) => {
                // No device can be asked to leave a kernel, so that its process ends at once.
                let _interrupt = self.timeout.map(|_| Interrupt::with_grace(self.timeout, Duration::ZERO, console));
                self.launch.run(file, kernel, selector, console)
            }
            Err(message) => {
                console.fail(Code::NoDevice, message, None);
                Exit::NoDevice
            }
        }
    }

    /// What was given that kernels do not have, and what to do instead.
    fn not_for_kernels(&self) -> Option<(&'static str, &'static str)> {
        let given = [
            (
                !self.arguments.is_empty(),
                "arguments of `main` are",
                "a parameter's value is given by `--arg NAME=VALUE`",
            ),
            (self.entrypoint.is_some(), "`--entrypoint` is", "a kernel is named FILE.gir::KERNEL"),
            (self.stats, "`--stats` is", "`--time` says how long a kernel takes"),
            (self.pretty, "`-p` is", "leave it out"),
            (self.memory.is_some(), "`--memory` is", "leave it out"),
            (self.threads.is_some(), "`--threads` is", "leave it out"),
            (self.alone, "`--alone` is", "leave it out"),
            (self.tier != TierName::Auto, "`--tier` is", "leave it out"),
            (self.watch, "`--watch` is", "leave it out"),
        ];
        given.iter().find(|(is_given, ..)| *is_given).map(|(_, what, hint)| (*what, *hint))
    }

    fn net(&self, console: &Console) -> Exit {
        let wrong = |message: &str, hint: &str| console.fail(Code::BadArguments, message, Some(hint));
        if !self.arguments.is_empty() {
            return wrong("a net takes no arguments", "write them into its `@main`");
        }
        if self.watch {
            return wrong("`--watch` is for Bend programs, not for nets", "leave it out");
        }
        if self.tier == TierName::Direct {
            return wrong("nets run as nets", "leave out `--tier`");
        }
        let settings = net::Settings {
            entry: self.entrypoint.as_deref(),
            memory: self.memory,
            timeout: self.timeout,
            stats: self.stats,
            threads: self.net_threads(),
            device: self.device.for_nets(),
        };
        net::run(&self.file, &settings, console)
    }

    /// The evaluator has one thread.
    fn net_threads(&self) -> NonZeroUsize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        if self.device == device::Device::Evaluator { NonZeroUsize::MIN } else { self.threads.unwrap_or_else(cores) }
    }

    fn program(&self, console: &Console) -> Result<(), Exit> {
        let device = self.device.for_programs();
        let interrupt = Interrupt::new(self.timeout, console);
        let program = Program::open(&self.file, &self.options());
        let report = program.report();
        console.report(&report);
        if program.check().is_err() {
            let no_main = report.diagnostics.iter().any(|d| d.code == Code::MissingMain);
            if no_main && Shader::open(&self.file).is_ok() {
                console
                    .note(&format!("This file is an image shader: `girih render {}` draws it.", self.file.display()));
            }
            return Err(Exit::Failed);
        }
        let failed = |error: Error| {
            console.report(&error);
            interrupt.exit_of(&error)
        };
        let mut executable = program.compile(&self.run_options(device, &interrupt)).map_err(failed)?;
        console.detail(|| format!("compiled in {:.1} ms", executable.stats().compile_seconds * 1e3));
        console.detail(|| executable.choice().to_string());
        if console.verbose()
            && executable.choice().tier == Some("direct")
            && let Ok(found) = program.parallelism()
        {
            console.note(&found.to_string());
        }
        let mut host = SystemHost::new().interrupted_by(interrupt.flag());
        if console.json() {
            host = host.with_stdout(console::output_objects());
        }
        let mut host = Watched { host, progress: Progress::start(console) };
        let result = executable.run(&mut host);
        drop(host);
        match &result {
            Ok(text) => self.print(text, &executable, console),
            Err(report) => console.report(report),
        }
        if self.stats {
            console.note(&executable.stats().to_string());
        }
        if let (true, Some(helper)) = (result.is_ok(), executable.helper()) {
            console.note(&format!(
                "The {helper} finished before the device that was named; `--alone` runs the program there only."
            ));
        }
        let result = result.map(|_| ()).map_err(|_| interrupt.exit());
        if executable.was_in_contest() {
            // A driver may still be opening a card that nobody waits for.
            let _ = std::io::stdout().flush();
            girih::leave(console.end(result.err().unwrap_or(Exit::Ok)).number().into());
        }
        result
    }

    fn run_options(&self, device: RunDevice, interrupt: &Interrupt) -> RunOptions {
        let memory = self.memory.unwrap_or_else(memory::default_limit);
        let most = if self.memory.is_some() { u64::MAX } else { RunOptions::default().stack };
        RunOptions {
            tier: self.tier.into(),
            device,
            memory,
            heap: self.memory,
            stack: memory.min(most),
            threads: self.threads,
            interrupt: Some(interrupt.flag()),
            count: self.stats,
            contest: (!self.alone).then(Contest::default),
            ..RunOptions::default()
        }
    }

    fn print(&self, text: &str, executable: &Executable, console: &Console) {
        let gap = if self.pretty { "\n" } else { " " };
        console.result(&format!("Result:{gap}{text}"), || {
            let mut object = json!({"kind": "result", "text": text});
            if self.stats {
                object["stats"] = stats_json(executable);
            }
            object
        });
    }

    fn options(&self) -> Options {
        let mut levels = WarningLevels::default();
        // A program that is being tried out has definitions in store; `girih check` speaks of them.
        levels.set(Code::UnusedDefinition, None);
        self.warnings.apply(&mut levels);
        Options {
            warnings: levels,
            check_types: optimizations::type_check(&self.optimizations),
            entry: self.entrypoint.as_deref().map(Into::into),
            arguments: self.arguments.clone(),
        }
    }
}

/// What a run took, for programs.
pub(super) fn stats_json(executable: &Executable) -> Value {
    let (stats, choice) = (executable.stats(), executable.choice());
    let mut object = json!({
        "device": choice.device,
        "answered": stats.answered,
        "tier": choice.tier,
        "card": choice.card.as_ref().map(|(info, _)| &info.name),
        "threads": choice.card.is_none().then_some(stats.threads),
        "compile_seconds": stats.compile_seconds,
        "seconds": stats.seconds,
    });
    let work = match &stats.work {
        Work::Compiled(TaskStats { steps: Some(work), most_bytes, .. }) => json!({
            "schedule": work.schedule.name(),
            "lanes": work.lanes,
            "heap_bytes": work.heap,
            "most_bytes": most_bytes,
            "steps": work.steps,
            "tasks": work.tasks,
            "submissions": work.submissions,
            "dispatches": work.dispatches,
            "collections": work.collections,
        }),
        Work::Compiled(work) => json!({
            "allocated": work.allocated,
            "reused": work.reused,
            "freed": work.freed,
            "live": work.live,
            "most_live": work.most_live,
            "live_bytes": work.live_bytes,
            "most_bytes": work.most_bytes,
            "forks": work.forks,
            "steals": work.steals,
            "calls": work.calls,
        }),
        Work::Net(work, device) => {
            let mut object = json!({
                "interactions": work.total(),
                "rules": net::rules(work),
                "most_bytes": work.bytes,
            });
            if let Some(device) = device {
                object["supersteps"] = device.supersteps.into();
                object["lanes"] = device.lanes.into();
            }
            object
        }
        Work::Evaluated(work) => json!({
            "calls": work.calls,
            "cells": work.cells,
            "allocated_bytes": work.words * 8,
            "minor_collections": work.minor_collections,
            "full_collections": work.full_collections,
            "largest_live_bytes": work.largest_live,
            "largest_stack_bytes": work.largest_stack,
        }),
    };
    if let (Value::Object(object), Value::Object(work)) = (&mut object, work) {
        object.extend(work);
    }
    object
}
