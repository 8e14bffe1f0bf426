//! `girih conform`: the conformance suite on every device that is found.

mod export;

use crate::console::Console;
use crate::device;
use crate::exit::Exit;
use clap::Args;
use girih::Code;
use girih::devices::{self, Profile, Selector};
use girih_conform::{Choices, Failure, Part, Place, Program, Score, Suite, run_apart, run_on};
use girih_ir::Caps;
use girih_runtime::{Device, DeviceKind};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  girih conform                              every case on every device found
  girih conform table/sin                    the cases of one operation
  girih conform --device wgpu:0 --caps web   one adapter, limited to WebGPU's defaults
  girih conform --programs tests/ir          also programs with `; run:` lines
  girih conform --random 20000 --pack 64     20,000 random kernels
  girih conform --emit wgsl --caps web       run nothing; write the kernels for a browser's compiler";

/// Most failures that are shown; all are counted.
const SHOWN: usize = 40;

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Conform {
    /// Only cases with this in their names, such as `table/add`, `programs/softmax`, `random`
    #[arg(default_value = "")]
    filter: String,
    /// Where to run: interpreter, interpreter:16, lowered:web, wgpu:N, cuda:N; may be repeated
    #[arg(long, value_name = "DEVICE", value_parser = crate::device::selector)]
    device: Vec<Selector>,
    /// Limit wgpu's adapters and the interpreter to a profile: web, web-extended, sm_90
    #[arg(long, value_name = "PROFILE", value_parser = crate::device::profile)]
    caps: Option<Profile>,
    /// Also run the programs of this folder or file
    #[arg(long, value_name = "PATH")]
    programs: Option<PathBuf>,
    /// How many random kernels
    #[arg(long, value_name = "N", default_value_t = 100)]
    random: usize,
    /// How many random kernels in tile form
    #[arg(long, value_name = "N", default_value_t = 50)]
    tiles: usize,
    /// The seed of the random kernels
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// How many random kernels are compiled as one module
    #[arg(long, value_name = "N", default_value_t = 16)]
    pack: usize,
    /// Leave out the cases of the table of operations
    #[arg(long)]
    no_table: bool,
    /// Make one random kernel smaller while it fails, and print it; the choices are those that a failure shows
    #[arg(long, value_name = "HEX", value_parser = girih_conform::choices, conflicts_with_all = ["filter", "programs"])]
    shrink: Option<Choices>,
    /// Run nothing; write the kernels as WGSL into this new folder, a file for each group, lowered for `--caps` [default: web]
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["device", "shrink"])]
    emit: Option<PathBuf>,
}

impl Conform {
    /// Runs the suite; fails if a device differs from the reference.
    pub fn run(&self, console: &Console) -> Exit {
        let suite = Suite {
            filter: self.filter.clone(),
            table: !self.no_table,
            programs: self.programs.clone(),
            random: self.random,
            tiles: self.tiles,
            seed: self.seed,
            pack: self.pack,
        };
        if let Some(folder) = &self.emit {
            return match self.caps.unwrap_or(Profile::Web) {
                profile @ (Profile::Web | Profile::WebExtended) => export::run(&suite, profile, folder, console),
                Profile::Cuda(_) | Profile::Cpu => {
                    console.fail(Code::BadArguments, "WGSL is neither for CUDA cards nor for processors", None)
                }
            };
        }
        let mut devices = match self.devices(console) {
            Ok(devices) => devices,
            Err(exit) => return exit,
        };
        if let Some(choices) = &self.shrink {
            return shrink(choices, &mut devices, console);
        }
        let (groups, programs) = match suite.groups().and_then(|groups| Ok((groups, suite.programs()?))) {
            Ok(found) => found,
            Err(report) => {
                console.report(&report);
                return Exit::Failed;
            }
        };
        let bar = if console.shows_progress() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {pos} groups, {elapsed}  {msg}")
                .unwrap_or(ProgressStyle::default_spinner()),
        );
        let mut failures: Vec<Failure> = vec![];
        let mut scores: BTreeMap<(usize, Part), Score> = BTreeMap::new();
        for (part, group) in groups {
            bar.set_message(group.name.clone());
            let of_group = run_on(&group, &mut devices, &mut |failure| failures.push(failure));
            for (device, score) in of_group.into_iter().enumerate() {
                scores.entry((device, part)).or_default().add(score);
            }
            bar.inc(1);
        }
        for (device, place) in places(&devices) {
            bar.set_message(format!("lines for {}", devices[device].info().name));
            for program in &programs {
                let score = apart(program, place, device, &mut failures);
                if score != Score::default() {
                    scores.entry((device, Part::Programs)).or_default().add(score);
                }
            }
        }
        bar.finish_and_clear();
        report(console, &devices, &scores, &failures);
        if scores.is_empty() {
            return console.fail(Code::BadArguments, self.nothing(&programs), None);
        }
        if failures.is_empty() { Exit::Ok } else { Exit::Failed }
    }

    /// Why nothing was run.
    fn nothing(&self, programs: &[Program]) -> String {
        match &self.programs {
            Some(path) if self.filter.is_empty() && programs.iter().all(|program| program.lines() == 0) => {
                format!("`{}` has no run lines", path.display())
            }
            Some(path) if self.filter.is_empty() => {
                format!("`{}` has no run lines for these devices", path.display())
            }
            None if self.filter.is_empty() => "there is nothing left to run".to_owned(),
            Some(_) | None => format!("no case has `{}` in its name", self.filter),
        }
    }

    /// The devices that were named, or all that were found and can be used.
    fn devices(&self, console: &Console) -> Result<Vec<Device>, Exit> {
        let all = self.device.is_empty();
        let named = if all { found(console) } else { self.device.clone() };
        let mut devices = vec![];
        for selector in &named {
            let own = matches!(selector, Selector::Cuda(_) | Selector::Lowered(_) | Selector::Ptx(_));
            let profile = self.caps.filter(|_| !all || !own);
            devices.push(device::open(selector, profile, console)?);
        }
        Ok(devices)
    }
}

/// Who runs the lines of programs that no device is asked about, and under which device they are counted: the first one that is the reference machine,
/// and the first one that is the processor.
fn places(devices: &[Device]) -> Vec<(usize, Place)> {
    let first = |kind, place| devices.iter().position(|d| d.info().kind == kind).map(|device| (device, place));
    let places = [first(DeviceKind::Interpreter, Place::Reference), first(DeviceKind::Cpu, Place::Processor)];
    places.into_iter().flatten().collect()
}

/// Runs such lines of a program.
fn apart(program: &Program, place: Place, device: usize, failures: &mut Vec<Failure>) -> Score {
    let mut score = Score::default();
    for (name, result) in run_apart(program, place) {
        match result {
            Ok(()) => score.passed += 1,
            Err(what) => {
                score.failed += 1;
                failures.push(Failure { device, case: format!("{}/{name}", program.group.name), what });
            }
        }
    }
    score
}

/// Makes a random kernel smaller on each device where it fails.
fn shrink(choices: &Choices, devices: &mut [Device], console: &Console) -> Exit {
    let mut exit = Exit::Ok;
    for device in devices {
        let name = format!("{} ({})", device.info().name, device.info().backend);
        match girih_conform::smallest(choices, device) {
            None => console.result(&format!("{name}: passed"), || json!({"kind": "passed", "device": name})),
            Some(small) => {
                exit = Exit::Failed;
                let (choices, what, text) = (small.choices.to_string(), &small.what, &small.text);
                console.result(
                    &format!("{name}: {choices}: {what}\n{text}"),
                    || json!({"kind": "failure", "device": name, "choices": choices, "what": what, "text": text}),
                );
            }
        }
    }
    exit
}

fn found(console: &Console) -> Vec<Selector> {
    let (found, missing) = devices::find();
    for reason in missing {
        console.note(&format!("skipped: {}", reason.message));
    }
    let mut named = vec![Selector::Lowered(Profile::Web), Selector::Lowered(Profile::Cuda(90))];
    named.extend(Selector::parse("ptx"));
    for device in found.into_iter().filter(|d| d.info.kind != DeviceKind::Interpreter) {
        match (device.problem, Selector::parse(&device.name)) {
            (None, Ok(selector)) => named.push(selector),
            (Some(problem), _) => console.note(&format!("skipped: {}: {}", device.name, problem.message)),
            (None, Err(_)) => {}
        }
    }
    named
}

fn report(console: &Console, devices: &[Device], scores: &BTreeMap<(usize, Part), Score>, failures: &[Failure]) {
    let title = |device: usize| {
        let (info, caps): (_, &Caps) = (devices[device].info(), devices[device].caps());
        format!("{} ({}, {})", info.name, info.backend, caps.name)
    };
    for failure in failures.iter().take(if console.json() { usize::MAX } else { SHOWN }) {
        let device = title(failure.device);
        console.result(
            &format!("{device}: {}: {}", failure.case, failure.what),
            || json!({"kind": "failure", "device": device, "case": failure.case, "what": failure.what}),
        );
    }
    if failures.len() > SHOWN && !console.json() {
        console.result(&format!("and {} more", failures.len() - SHOWN), || json!(null));
    }
    for ((device, part), score) in scores {
        let (device, part) = (title(*device), part.name());
        let Score { passed, refused, failed } = *score;
        let text = format!("{device:<60} {part:<9} {passed:>6} passed {refused:>5} refused {failed:>5} failed");
        console.result(&text, || {
            json!({"kind": "conform", "device": device, "part": part, "passed": passed, "refused": refused, "failed": failed})
        });
    }
}
