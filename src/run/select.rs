//! Which tier and which device run a program, and why.

use super::device_sizes;
use super::net::{self, NetEngine};
use super::options::{RunDevice, RunOptions, Tier};
use super::runner;
use crate::devices::{self, Selector};
use crate::features::Feature;
use girih_base::diag::{Code as ErrorCode, Diagnostic};
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_ir::{Module, Op};
use girih_runtime::{Device, DeviceInfo, Runner, TaskOptions};
use girih_task::flow::Root;
use girih_task::lower::Direct;
use girih_term::Program;
use girih_term::code::Code;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What `auto` takes: the first of these that is there. `wgpu` without a name is a card: software adapters are no faster than the processor.
pub(super) const AUTO: &[Selector] = &[Selector::Cuda(0), Selector::Wgpu(None), Selector::Cpu];

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
        let Choice { device, why, .. } = self;
        let threads = counted(self.threads, "thread");
        match (self.tier, &self.card) {
            (Some(tier), Some((info, lanes))) => {
                let DeviceInfo { name, driver, backend, .. } = info;
                write!(f, "{tier} tier on {device} ({name}, {backend}, {driver}), {lanes} lanes: {why}")
            }
            (Some(tier), None) => write!(f, "{tier} tier on the {device}, {threads}: {why}"),
            (None, _) => write!(f, "{device}, {threads}: {why}"),
        }
    }
}

/// What runs a program.
pub(super) enum Engine {
    Compiled(Box<Direct>, Box<dyn Runner + Send>),
    Net(Box<NetEngine>),
    Evaluator,
    /// It has been taken to another thread.
    Away,
}

/// A program that is ready to run.
pub(super) struct Ready {
    pub choice: Choice,
    pub engine: Engine,
    /// The flag that stops it, if that is not the user's: then it may run elsewhere at the same time.
    pub flag: Option<Arc<AtomicBool>>,
    /// The same program, ready on the processor, beside a card that was named.
    pub helper: Option<Box<Ready>>,
}

impl From<(Choice, Engine)> for Ready {
    fn from((choice, engine): (Choice, Engine)) -> Ready {
        Ready { choice, engine, flag: None, helper: None }
    }
}

/// Where a program runs.
enum Place {
    /// On the host: the processor, the reference machine or the evaluator.
    Host(RunDevice),
    /// By fork-join, on a device of this name.
    Device(String, Device),
}

/// Chooses what runs a program and makes it ready. There is code of a program unless it needs nets.
pub(super) fn engine(program: &Program, options: &RunOptions) -> Result<(Option<Code>, Ready), Vec<Diagnostic>> {
    fit(options).map_err(|error| vec![error])?;
    let by_net = |code: Option<Code>, why: &str| {
        let (choice, engine) = net::ready(code.as_ref(), program, options, why)?;
        Ok((code, (choice, Engine::Net(engine)).into()))
    };
    let needs = match Code::new(program) {
        Ok(code) if options.tier == Tier::Net => return by_net(Some(code), "the tier was named"),
        Ok(code) => {
            let ready = compiled(&code, None, options)?;
            return Ok((Some(code), ready));
        }
        Err(errors) => errors,
    };
    let may_be_net = !matches!(options.device, RunDevice::Evaluator) && options.tier != Tier::Direct;
    let first = needs.first().filter(|error| may_be_net && error.code == ErrorCode::NeedsNets);
    match first.and_then(|error| error.labels.first()) {
        Some(label) if needs.iter().all(|error| error.code == ErrorCode::NeedsNets) => {
            let why = if options.tier == Tier::Net { "the tier was named" } else { &label.text };
            // A build without nets says so where they are needed.
            by_net(None, why).map_err(|errors| placed(errors, &needs))
        }
        Some(_) | None => Err(needs),
    }
}

/// That a part is not built, said at the places that need it.
fn placed(errors: Vec<Diagnostic>, needs: &[Diagnostic]) -> Vec<Diagnostic> {
    let place = |error: Diagnostic| match needs.first() {
        Some(first) if is_missing(&error) => Diagnostic { labels: first.labels.clone(), ..error },
        Some(_) | None => error,
    };
    errors.into_iter().map(place).collect()
}

/// Whether something cannot be done because this build lacks a part.
fn is_missing(error: &Diagnostic) -> bool {
    error.code == ErrorCode::NotBuilt
}

/// What a function was compiled to, and what runs it.
pub(crate) struct CompiledFunction {
    pub direct: Box<Direct>,
    pub runner: Box<dyn Runner + Send>,
    /// What runs it on the host; none on a device.
    host: Option<(RunDevice, TaskOptions)>,
}

impl CompiledFunction {
    /// Makes ready for another call. A run on the host that has failed is not gone on with.
    pub fn renew(&mut self, has_failed: bool) -> Result<(), Diagnostic> {
        match &self.host {
            Some((device, tasks)) if has_failed => {
                self.runner = runner::open(device, &self.direct.module, tasks)?.runner;
                Ok(())
            }
            Some(_) | None => self.runner.renew().map_err(|fault| girih_task::run::diagnostic(&self.direct, &fault)),
        }
    }
}

/// A function of a program, compiled for calls with arguments from outside; without arguments it is the entry of the program that the code is of.
/// Nothing is compiled for the evaluator.
pub(crate) fn function(
    code: &Code,
    root: &Root,
    options: &RunOptions,
) -> Result<(Choice, Option<CompiledFunction>), Vec<Diagnostic>> {
    // A contest is one of whole programs: its flag takes the place of the user's, and its processor runs the entry.
    let options = &RunOptions { contest: None, ..options.clone() };
    fit(options).map_err(|error| vec![error])?;
    if options.tier == Tier::Net {
        let message = "a function is called from outside by value, not as a net";
        let hint = "leave out the tier, or use `Tier::Direct`";
        return Err(vec![Diagnostic::new(ErrorCode::BadArguments, Span::NONE, message).hint(hint)]);
    }
    let called = (!root.arguments.is_empty()).then_some(root);
    let Ready { choice, engine, flag: _, helper: _ } = compiled(code, called, options)?;
    match engine {
        Engine::Compiled(direct, runner) => {
            let device = match &options.device {
                RunDevice::Auto | RunDevice::Device(_) => RunDevice::Cpu,
                named @ (RunDevice::Cpu | RunDevice::Interpreter(_) | RunDevice::Evaluator) => named.clone(),
            };
            let host = choice.card.is_none().then(|| (device, tasks(options)));
            Ok((choice, Some(CompiledFunction { direct, runner, host })))
        }
        Engine::Evaluator => Ok((choice, None)),
        Engine::Net(_) | Engine::Away => {
            let message = "a function was made ready to run as a net";
            Err(vec![Diagnostic::new(ErrorCode::Internal, Span::NONE, message)])
        }
    }
}

/// What is compiled of a program: the root that is called, or else its entry.
fn roots(code: &Code, called: Option<&Root>) -> Vec<Root> {
    let entry = || code.program().entry.map(|def| Root { def, arguments: vec![] });
    called.cloned().or_else(entry).into_iter().collect()
}

/// Code of a program, or of a root of it that is called, compiled for the device that was named, or for the first that runs it.
fn compiled(code: &Code, called: Option<&Root>, options: &RunOptions) -> Result<Ready, Vec<Diagnostic>> {
    match &options.device {
        RunDevice::Auto => {
            let direct = girih_task::compile_for_threads(code, &roots(code, called))?;
            let (candidates, why) = candidates(&direct.module, options);
            let begins = options.contest.is_some() && Feature::Cpu.is_built();
            if begins && candidates == AUTO {
                return begun(code, options, "`auto` begins with this device, while it looks for a card");
            }
            let found = match first_that_runs(code, called, options, candidates, why) {
                // The processor comes last, and what is always there after that.
                Err(errors) if options.tier == Tier::Auto && errors.iter().all(is_missing) => {
                    let why = "`auto` takes this, because this build has no native code for the processor";
                    compiled_for(code, called, options, Place::Host(RunDevice::Evaluator), why)
                }
                found => found,
            };
            found.map(Ready::from)
        }
        named => {
            let place = place(named).map_err(|error| vec![error])?;
            match (&place, &options.contest) {
                (Place::Device(_, device), Some(contest)) if contest.helps(device.info().kind) => {
                    helped(code, called, options, place)
                }
                _alone => compiled_for(code, called, options, place, "the device was named").map(Ready::from),
            }
        }
    }
}

/// A program on the processor, which others run, too.
fn begun(code: &Code, options: &RunOptions, why: &str) -> Result<Ready, Vec<Diagnostic>> {
    let flag = Arc::new(AtomicBool::new(false));
    let options = RunOptions { interrupt: Some(flag.clone()), ..options.clone() };
    let (choice, engine) = compiled_for(code, None, &options, Place::Host(RunDevice::Cpu), why)?;
    Ok(Ready { choice, engine, flag: Some(flag), helper: None })
}

/// A program on a card that was named, with the processor beside it.
fn helped(code: &Code, called: Option<&Root>, options: &RunOptions, card: Place) -> Result<Ready, Vec<Diagnostic>> {
    if called.is_some() || !Feature::Cpu.is_built() {
        return compiled_for(code, called, options, card, "the device was named").map(Ready::from);
    }
    let flag = Arc::new(AtomicBool::new(false));
    let mine = RunOptions { interrupt: Some(flag.clone()), ..options.clone() };
    let why = "the device was named, and the processor runs the program beside it";
    let (choice, engine) = compiled_for(code, called, &mine, card, why)?;
    let helper = begun(code, options, "this device finished before the one that was named")?;
    Ok(Ready { choice, engine, flag: Some(flag), helper: Some(Box::new(helper)) })
}

/// A program on the first of these cards that is there and runs it.
pub(super) fn on_a_card(code: &Code, options: &RunOptions, cards: &[Selector]) -> Result<Ready, Vec<Diagnostic>> {
    first_that_runs(code, None, options, cards, "`auto` takes this device, which finished before the processor")
        .map(Ready::from)
}

/// What `auto` tries, one after the other, and why these.
fn candidates(module: &Module, options: &RunOptions) -> (&'static [Selector], &'static str) {
    let cpu = &[Selector::Cpu];
    let mut forks = false;
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| forks |= inst.op == Op::Fork);
    }
    if options.threads.is_some() {
        (cpu, "`auto` takes the device that has threads")
    } else if !forks {
        // A lane of a card is much slower than a core.
        (cpu, "`auto` takes this device, because nothing in the program runs in parallel")
    } else {
        (AUTO, "`auto` takes this device")
    }
}

/// The program on the first of these devices that is there and runs it; what the last one says is what is said.
fn first_that_runs(
    code: &Code,
    called: Option<&Root>,
    options: &RunOptions,
    candidates: &[Selector],
    why: &str,
) -> Result<(Choice, Engine), Vec<Diagnostic>> {
    let mut absent: Vec<String> = vec![];
    let mut last = vec![];
    for selector in candidates {
        let why = if absent.is_empty() { why.to_owned() } else { format!("{why}, because {}", absent.join(", and ")) };
        let place = opened(selector).map_err(|error| vec![error]);
        match place.and_then(|place| compiled_for(code, called, options, place, &why)) {
            Ok(found) => return Ok(found),
            Err(errors) => {
                absent.extend(errors.first().map(|error| error.message.clone()));
                last = errors;
            }
        }
    }
    Err(last)
}

/// Code of a program, or of a root of it that is called, compiled for a place.
fn compiled_for(
    code: &Code,
    called: Option<&Root>,
    options: &RunOptions,
    place: Place,
    device_why: &str,
) -> Result<(Choice, Engine), Vec<Diagnostic>> {
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
    let tasks = tasks(options);
    match place {
        Place::Host(RunDevice::Evaluator) => {
            let choice = Choice { tier: None, why: device_why.to_owned(), ..choice("evaluator".to_owned(), 1) };
            Ok((choice, Engine::Evaluator))
        }
        Place::Host(device) => {
            let direct = girih_task::compile_for_threads(code, &roots(code, called))?;
            let opened = runner::open(&device, &direct.module, &tasks).map_err(|error| vec![error])?;
            let choice = choice(opened.name.to_owned(), opened.threads);
            Ok((choice, Engine::Compiled(Box::new(direct), opened.runner)))
        }
        Place::Device(name, device) => {
            let direct = girih_task::compile_for_lanes(code, &roots(code, called))?;
            let info = device.info().clone();
            let runner = match called {
                None => device_sizes::open(&direct, code.program(), device, &tasks, options.heap)?,
                Some(root) => device_sizes::open_function(&direct, root, device, &tasks, options.heap)?,
            };
            let card = Some((info, runner.lanes()));
            let how = runner.how();
            let mut choice = Choice { card, ..choice(name, 1) };
            choice.why = format!("{}; {how}", choice.why);
            Ok((choice, Engine::Compiled(Box::new(direct), Box::new(runner))))
        }
    }
}

/// What a runner may use.
pub(crate) fn tasks(options: &RunOptions) -> TaskOptions {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    TaskOptions {
        memory: options.memory,
        stack: options.stack,
        interrupt: options.interrupt.clone(),
        reuse: options.reuse,
        fail_each: options.fail_each,
        threads: options.threads.unwrap_or(cores).get(),
        count: options.count,
        profile: None,
        timeline: options.timeline,
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
        (device @ RunDevice::Device(_), _) if options.threads.is_some() => {
            let message = format!("the lanes of `{device}` are not threads, and are as many as it needs");
            wrong(message, "leave out `--threads`, or use `--device cpu`")
        }
        (_, Tier::Auto | Tier::Direct | Tier::Net) => Ok(()),
    }
}

/// Where a program runs on a device that was named.
fn place(device: &RunDevice) -> Result<Place, Diagnostic> {
    match device {
        RunDevice::Auto => Ok(Place::Host(RunDevice::Cpu)),
        RunDevice::Cpu | RunDevice::Interpreter(_) | RunDevice::Evaluator => Ok(Place::Host(device.clone())),
        RunDevice::Device(selector) => opened(selector),
    }
}

fn opened(selector: &Selector) -> Result<Place, Diagnostic> {
    match RunDevice::from(selector.clone()) {
        RunDevice::Device(selector) => Ok(Place::Device(selector.to_string(), devices::open_device(&selector, None)?)),
        host @ (RunDevice::Auto | RunDevice::Cpu | RunDevice::Interpreter(_) | RunDevice::Evaluator) => {
            Ok(Place::Host(host))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Profile;

    fn code(text: &str) -> Code {
        let program = crate::Program::from_text("test.bend", text, &crate::Options::default());
        Code::new(program.core_program().expect("it is right")).expect("it can run")
    }

    const FORKS: &str = "def sum(d):\n  switch d:\n    case 0:\n      return 1\n    case _:\n      return sum(d-1) + sum(d-1)\n\ndef main():\n  return sum(5)\n";

    #[test]
    fn auto_takes_the_first_device_that_runs_the_program() {
        let none = || Selector::Wgpu(Some("no such adapter".to_owned()));
        let options = RunOptions::default();
        let first = |candidates: &[Selector], options: &RunOptions| {
            first_that_runs(&code(FORKS), None, options, candidates, "why").map(|(choice, _)| choice)
        };
        let choice = first(&[none(), Selector::Cpu], &options).expect("there is a processor");
        assert_eq!(choice.device, "cpu");
        assert!(choice.why.ends_with("why, because wgpu finds no adapter `no such adapter`"), "{choice}");
        let web = Selector::Lowered(Profile::Web);
        assert_eq!(first(&[web.clone(), Selector::Cpu], &options).expect("it is there").device, "lowered:web");
        // A device that is there, but has too little memory for what was asked.
        let large = RunOptions { heap: Some(1 << 30), ..RunOptions::default() };
        let fork_join = "def count(n):\n  if n == 0:\n    return 0\n  else:\n    return count(n - 1) + count(n - 1)\n\ndef main():\n  return count\n";
        let found = first_that_runs(&code(fork_join), None, &large, &[web, Selector::Cpu], "why").expect("it runs").0;
        assert_eq!(found.device, "cpu", "{found}");
        assert!(found.why.contains("1024 MiB"), "{found}");
        let codes = first(&[none()], &options).map_err(|errors| errors[0].code);
        assert_eq!(codes.err(), Some(ErrorCode::NoDevice));
    }

    #[test]
    fn auto_tries_cards_before_the_processor() {
        assert_eq!(AUTO, [Selector::Cuda(0), Selector::Wgpu(None), Selector::Cpu]);
        let tried = |text: &str, options: &RunOptions| {
            candidates(&girih_task::compile(&code(text)).expect("it compiles").module, options).0
        };
        let options = RunOptions::default();
        assert_eq!(tried(FORKS, &options), AUTO);
        assert_eq!(tried("def main():\n  return 1 + 2\n", &options), [Selector::Cpu]);
        let threads = RunOptions { threads: NonZeroUsize::new(2), ..options };
        assert_eq!(tried(FORKS, &threads), [Selector::Cpu]);
    }
}
