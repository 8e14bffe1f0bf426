//! `girih run FILE [ARGS...]`.

use crate::console::{self, Console};
use crate::exit::Exit;
use crate::optimizations::{self, Optimization};
use crate::verbs::kernel;
use crate::warnings::WarningFlags;
use crate::{device, interrupt, memory};
use clap::{Args, ValueEnum};
use girih::render::Shader;
use girih::{Code, Options, Outcome, Program, RunOptions, Stats, SystemHost, WarningLevels};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  girih run sort.bend                   prints `Result: ` and the value of `main`
  girih run add.bend 3 +4 '[1, 2]'      `main` is applied to the arguments
  girih run loop.bend --timeout 5       stops it after five seconds
  girih run sort.bend --stats           says how long it took and what it needed
  girih run add.gir::add --arg x=@x.npy --arg y='zeros(f32,1024):y.npy' --arg n=1024
                                        launches a kernel of the IR on the best device";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// The program; or FILE.gir::KERNEL, a kernel of the IR
    file: PathBuf,
    /// Arguments of `main`: Bend expressions
    #[arg(value_name = "ARGS")]
    arguments: Vec<String>,
    /// Start at this definition instead of `main`
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    /// Say how long it took, how many steps, how much memory
    #[arg(short, long)]
    stats: bool,
    /// Print the result on lines of its own
    #[arg(short)]
    pretty: bool,
    /// Accepted for compatibility with `bend`: values here have no duplications to be shown
    #[arg(short, hide = true)]
    linear: bool,
    /// The most memory that the program's data may take, for example 512M or 4G [default: 3/4 of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_size)]
    memory: Option<u64>,
    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = interrupt::seconds)]
    timeout: Option<Duration>,
    /// Where to run it: auto, cpu; for kernels also interpreter, wgpu:N, cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = device::parse)]
    device: device::Device,
    /// How to run it
    #[arg(long, value_name = "TIER", default_value = "auto")]
    tier: Tier,
    #[command(flatten)]
    warnings: WarningFlags,
    /// Switches of `bend`: `no-type-check` leaves types unchecked, the others have no effect here
    #[arg(short = 'O', value_name = "SWITCH", value_delimiter = ' ', value_parser = optimizations::parse)]
    optimizations: Vec<Optimization>,
    #[command(flatten)]
    launch: kernel::Launch,
}

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tier {
    /// The best that can run the program
    Auto,
    /// By value, without interaction nets
    Direct,
    /// As an interaction net
    Net,
}

impl Run {
    /// Runs the program.
    pub fn run(&self, console: &Console) -> Exit {
        if let Some((file, kernel)) = self.file.to_str().and_then(kernel::split) {
            return match self.device.for_kernels() {
                Ok(selector) => self.launch.run(file, kernel, &selector, console),
                Err(message) => {
                    console.fail(Code::NoDevice, message, None);
                    Exit::NoDevice
                }
            };
        }
        if self.launch.is_used() {
            let hint = "a kernel is named FILE.gir::KERNEL";
            return console.fail(
                Code::BadArguments,
                "these options are for kernels, not for Bend programs",
                Some(hint),
            );
        }
        if let Err(exit) = self.device.check(console) {
            return exit;
        }
        if self.tier == Tier::Net {
            let hint = "leave `--tier` out: programs without superpositions need no nets";
            return console.fail(Code::NeedsNets, "this version has no net tier", Some(hint));
        }
        let interrupt = interrupt::flag(self.timeout, console);
        let started = std::time::Instant::now();
        let program = Program::open(&self.file, &self.options());
        console.detail(|| format!("compiled in {:.1} ms", started.elapsed().as_secs_f64() * 1e3));
        let report = program.report();
        console.report(&report);
        if program.check().is_err() {
            let no_main = report.diagnostics.iter().any(|d| d.code == Code::MissingMain);
            if no_main && Shader::open(&self.file).is_ok() {
                console
                    .note(&format!("This file is an image shader: `girih render {}` draws it.", self.file.display()));
            }
            return Exit::Failed;
        }
        let limits = RunOptions {
            memory: self.memory.unwrap_or_else(memory::default_limit),
            interrupt: Some(interrupt.clone()),
        };
        let mut host = SystemHost::new().interrupted_by(interrupt);
        if console.json() {
            host = host.with_stdout(console::output_objects());
        }
        match program.run(&mut host, &limits) {
            Ok(outcome) => {
                self.print(&outcome, console);
                Exit::Ok
            }
            Err(report) => {
                console.report(&report);
                Exit::Failed
            }
        }
    }

    fn print(&self, outcome: &Outcome, console: &Console) {
        let gap = if self.pretty { "\n" } else { " " };
        console.result(&format!("Result:{gap}{}", outcome.text), || {
            let mut object = json!({"kind": "result", "text": outcome.text});
            if self.stats {
                object["stats"] = stats_json(&outcome.stats);
            }
            object
        });
        if self.stats {
            console.note(&outcome.stats.to_string());
        }
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

fn stats_json(stats: &Stats) -> Value {
    let machine = &stats.machine;
    json!({
        "seconds": stats.seconds,
        "calls": machine.calls,
        "cells": machine.cells,
        "allocated_bytes": machine.words * 8,
        "minor_collections": machine.minor_collections,
        "full_collections": machine.full_collections,
        "largest_live_bytes": machine.largest_live,
        "largest_stack_bytes": machine.largest_stack,
    })
}
