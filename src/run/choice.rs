//! Which tier and which device run a program, and why.

use super::epochs;
use super::options::{RunDevice, RunOptions, Tier};
use super::runner;
use crate::devices::{self, Selector};
use girih_core::diag::{Code as ErrorCode, Diagnostic};
use girih_core::direct::{self, flow::Root, lower::Direct};
use girih_core::net::lower::{Calculus, Lowered, lower};
use girih_core::runtime::{Device, DeviceInfo, Runner, TaskOptions};
use girih_core::span::Span;
use girih_core::term::Program;
use girih_core::term::code::Code;
use std::num::NonZeroUsize;

/// What `auto` takes: the first of these that is there. No software adapter is among them, for it is no faster than the processor.
const AUTO: &[Selector] = &[Selector::Cpu];

/// What was chosen to run a program, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// `direct`, `net`, or none for the evaluator.
    pub tier: Option<&'static str>,
    /// The device, as the command line names it.
    pub device: String,
    /// How many threads there are.
    pub threads: usize,
    /// What the device is, if it is not the host, and how many lanes it has.
    pub card: Option<(DeviceInfo, u32)>,
    /// Why.
    pub why: String,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.threads == 1 { "" } else { "s" };
        let Choice { device, threads, why, .. } = self;
        match (self.tier, &self.card) {
            (Some(tier), Some((info, lanes))) => {
                let DeviceInfo { name, driver, backend, .. } = info;
                write!(f, "{tier} tier on {device} ({name}, {backend}, {driver}), {lanes} lanes: {why}")
            }
            (Some(tier), None) => write!(f, "{tier} tier on the {device}, {threads} thread{plural}: {why}"),
            (None, _) => write!(f, "{device}, {threads} thread{plural}: {why}"),
        }
    }
}

/// What runs a program.
pub(super) enum Engine {
    Compiled(Box<Direct>, Box<dyn Runner + Send>),
    Net(Box<NetEngine>),
    Evaluator,
}

/// A program as a net.
pub(super) struct NetEngine {
    pub program: Program,
    pub lowered: Lowered,
}

/// Where a program runs.
enum Place {
    /// On the host: the processor, the reference machine or the evaluator.
    Host(RunDevice),
    /// In epochs, on a device of this name.
    Device(String, Box<dyn Device>),
}

/// Chooses what runs a program and makes it ready. There is code of a program unless it needs nets.
pub(super) fn engine(
    program: &Program,
    options: &RunOptions,
) -> Result<(Option<Code>, Choice, Engine), Vec<Diagnostic>> {
    fit(options).map_err(|error| vec![error])?;
    let needs = match Code::new(program) {
        Ok(code) if options.tier == Tier::Net => return net(Some(code), program, "the tier was named"),
        Ok(code) => {
            let (choice, engine) = compiled(&code, options)?;
            return Ok((Some(code), choice, engine));
        }
        Err(errors) => errors,
    };
    let by_net = matches!(options.device, RunDevice::Auto | RunDevice::Cpu) && options.tier != Tier::Direct;
    let first = needs.first().filter(|error| by_net && error.code == ErrorCode::NeedsNets);
    match first.and_then(|error| error.labels.first()) {
        Some(label) if needs.iter().all(|error| error.code == ErrorCode::NeedsNets) => {
            let why = if options.tier == Tier::Net { "the tier was named" } else { &label.text };
            net(None, program, why)
        }
        Some(_) | None => Err(needs),
    }
}

/// A program as a net, on the sequential machine.
fn net(code: Option<Code>, program: &Program, why: &str) -> Result<(Option<Code>, Choice, Engine), Vec<Diagnostic>> {
    // What nobody uses is not computed by value; in a net it may be what links a scopeless variable.
    let (program, calculus) = match &code {
        Some(code) => (code.program(), Calculus::ByValue),
        None => (program, Calculus::Nets),
    };
    let lowered = lower(program, calculus)?;
    let choice =
        Choice { tier: Some("net"), device: "processor".to_owned(), threads: 1, card: None, why: why.to_owned() };
    let engine = NetEngine { program: program.clone(), lowered };
    Ok((code, choice, Engine::Net(Box::new(engine))))
}

/// Code of a program, compiled for a device.
fn compiled(code: &Code, options: &RunOptions) -> Result<(Choice, Engine), Vec<Diagnostic>> {
    let (place, device_why) = place(&options.device).map_err(|error| vec![error])?;
    let tier_why = match options.tier {
        Tier::Auto => "nothing that runs needs nets",
        Tier::Direct | Tier::Net => "the tier was named",
    };
    let choice = |device: String, threads: usize| Choice {
        tier: Some("direct"),
        device,
        threads,
        card: None,
        why: format!("{tier_why}; {device_why}"),
    };
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let tasks = TaskOptions {
        memory: options.memory,
        stack: options.stack,
        interrupt: options.interrupt.clone(),
        reuse: options.reuse,
        fail_each: options.fail_each,
        threads: options.threads.unwrap_or(cores).get(),
        count: options.count,
    };
    match place {
        Place::Host(RunDevice::Evaluator) => {
            let choice = Choice { tier: None, why: device_why.clone(), ..choice("evaluator".to_owned(), 1) };
            Ok((choice, Engine::Evaluator))
        }
        Place::Host(device) => {
            let direct = direct::compile(code)?;
            let opened = runner::open(&device, &direct.module, &tasks).map_err(|error| vec![error])?;
            let choice = choice(opened.name.to_owned(), opened.threads);
            Ok((choice, Engine::Compiled(Box::new(direct), opened.runner)))
        }
        Place::Device(name, device) => {
            let entry = code.program().entry.iter();
            let roots: Vec<Root> = entry.map(|def| Root { def: *def, arguments: vec![] }).collect();
            let direct = direct::compile_without_loans(code, &roots)?;
            let info = device.info().clone();
            let runner = epochs::open(&direct, code.program(), device, &tasks, options.heap)?;
            let card = Some((info, runner.lanes()));
            let how = match &runner.refusal {
                Some(why) => format!("in epochs, for {why}"),
                None => "in sweeps, for its course is known".to_owned(),
            };
            let mut choice = Choice { card, ..choice(name, 1) };
            choice.why = format!("{}; {how}", choice.why);
            Ok((choice, Engine::Compiled(Box::new(direct), Box::new(runner))))
        }
    }
}

/// Refuses options that do not go together.
fn fit(options: &RunOptions) -> Result<(), Diagnostic> {
    let wrong = |message: String, hint: &str| {
        Err(Diagnostic::new(ErrorCode::BadArguments, Span::NONE, message).hint(hint.to_owned()))
    };
    match (&options.device, options.tier) {
        (RunDevice::Evaluator, Tier::Direct | Tier::Net) => {
            let message = "the evaluator compiles nothing, so it has no tiers".to_owned();
            wrong(message, "leave out `--tier`, or use `--device cpu`")
        }
        (RunDevice::Auto | RunDevice::Cpu, Tier::Net) => Ok(()),
        (device @ (RunDevice::Interpreter(_) | RunDevice::Device(_)), Tier::Net) => {
            let message = format!("nets run on the processor, not on `{device}`");
            wrong(message, "leave out `--device`")
        }
        (device @ RunDevice::Device(_), Tier::Auto | Tier::Direct) if options.threads.is_some() => {
            let message = format!("the lanes of `{device}` are not threads, and are as many as it needs");
            wrong(message, "leave out `--threads`, or use `--device cpu`")
        }
        (_, Tier::Auto | Tier::Direct) => Ok(()),
    }
}

/// Where a program runs, and why there.
fn place(device: &RunDevice) -> Result<(Place, String), Diagnostic> {
    let named = "the device was named".to_owned();
    match device {
        RunDevice::Auto => first_there(AUTO),
        RunDevice::Cpu | RunDevice::Interpreter(_) | RunDevice::Evaluator => Ok((Place::Host(device.clone()), named)),
        RunDevice::Device(selector) => Ok((opened(selector)?, named)),
    }
}

/// The first of these devices that is there.
fn first_there(candidates: &[Selector]) -> Result<(Place, String), Diagnostic> {
    let mut absent = vec![];
    for selector in candidates {
        match opened(selector) {
            Ok(place) if absent.is_empty() => return Ok((place, "`auto` takes this device".to_owned())),
            Ok(place) => return Ok((place, format!("`auto` takes this device, for {}", absent.join(", and ")))),
            Err(error) if error.code == ErrorCode::NoDevice => absent.push(error.message.clone()),
            Err(error) => return Err(error),
        }
    }
    let message = format!("there is no device for programs: {}", absent.join(", and "));
    Err(Diagnostic::new(ErrorCode::NoDevice, Span::NONE, message))
}

fn opened(selector: &Selector) -> Result<Place, Diagnostic> {
    match RunDevice::from(selector.clone()) {
        RunDevice::Device(selector) => Ok(Place::Device(selector.to_string(), devices::open(&selector, None)?)),
        host @ (RunDevice::Auto | RunDevice::Cpu | RunDevice::Interpreter(_) | RunDevice::Evaluator) => {
            Ok(Place::Host(host))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Profile;

    #[test]
    fn auto_takes_the_first_device_that_is_there() {
        let none = || Selector::Wgpu(Some("no such adapter".to_owned()));
        let (place, why) = first_there(&[none(), Selector::Cpu]).expect("there is a processor");
        assert!(matches!(place, Place::Host(RunDevice::Cpu)));
        assert_eq!(why, "`auto` takes this device, for wgpu finds no adapter `no such adapter`");
        let (place, _) = first_there(&[Selector::Lowered(Profile::Web), Selector::Cpu]).expect("it is there");
        assert!(matches!(place, Place::Device(name, _) if name == "lowered:web"));
        assert_eq!(first_there(&[none()]).map_err(|error| error.code).err(), Some(ErrorCode::NoDevice));
    }

    #[test]
    fn auto_ends_with_a_device_that_is_always_there() {
        assert_eq!(AUTO.last(), Some(&Selector::Cpu));
    }
}
