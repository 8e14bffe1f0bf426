//! What becomes of a kernel: compiled for the processor, for CUDA and for Vulkan, or refused.
//!
//! Invariant: a kernel counts as compiled for a device where its tiles become legal kernel form there, for one of the ways to guess its arguments.
//! Nothing is run.

use crate::checkout::{Checkout, Entry};
use crate::guess::{CHOICES, Choice, Uses};
use crate::repair::{self, Origins};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_ir::{Caps, Feature};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use girih_triton::{Argument, Compiled, Request};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The devices, in the order of the columns.
pub const DEVICES: [&str; 3] = ["cpu", "cuda", "vulkan"];

/// How far kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stages {
    /// To tile form.
    Front,
    /// To legal kernel form, for each device.
    Devices,
}

/// Why there is no code.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The code of the error.
    pub code: &'static str,
    /// Its sentence.
    pub message: String,
    /// Where: file and line.
    pub place: String,
    /// How far the compiler came.
    reached: u32,
}

impl Refusal {
    /// That of a file that is no Python.
    pub fn of_file(path: &std::path::Path, message: &str) -> Refusal {
        let place = path.display().to_string();
        Refusal { code: Code::KernelSyntax.as_str(), message: message.to_owned(), place, reached: 0 }
    }
}

/// For each device, why there is no code, or nothing if there is.
pub type Verdict = [Option<Refusal>; DEVICES.len()];

/// How long a kernel took in one way to guess its arguments: the front end, and each device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// The front end, until it knew all arguments.
    pub front: Duration,
    /// Legal kernel form, device by device.
    pub devices: [Duration; DEVICES.len()],
}

impl Times {
    /// The longest of them: a user waits for the front end and one device.
    pub fn longest(&self) -> Duration {
        self.front + self.devices.into_iter().max().unwrap_or_default()
    }
}

/// No further way to guess is tried after this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Compiles a kernel in all ways until each device has code; gives the times of the slowest way, too.
pub fn of(entry: &Entry, checkout: &Checkout, stages: Stages) -> (Verdict, Times) {
    let uses = Uses::of(&entry.def, checkout);
    let mut verdict: Verdict = [const { None }; DEVICES.len()];
    let mut has_code = [false; DEVICES.len()];
    let (begin, mut slowest) = (Instant::now(), Times::default());
    for choice in CHOICES {
        if begin.elapsed() > PATIENCE {
            break;
        }
        let mut times = Times::default();
        let refusals = caught(entry, || attempt(entry, checkout, (&uses, stages), *choice, has_code, &mut times));
        if times.longest() > slowest.longest() {
            slowest = times;
        }
        for (at, refusal) in refusals.into_iter().enumerate() {
            match refusal {
                None => has_code[at] = true,
                // What stops a kernel last is what it lacks; what stops it before is a wrong guess.
                Some(new) if verdict[at].as_ref().is_none_or(|old| new.reached > old.reached) => {
                    verdict[at] = Some(new);
                }
                Some(_) => {}
            }
        }
        if has_code == [true; DEVICES.len()] {
            break;
        }
    }
    if has_code == [false; DEVICES.len()]
        && let Some(refusals) = repaired(entry, checkout, (&uses, stages), begin)
    {
        (verdict, has_code) = (refusals.clone(), refusals.map(|refusal| refusal.is_none()));
    }
    (std::array::from_fn(|at| verdict[at].take().filter(|_| !has_code[at])), slowest)
}

/// How often a kernel is compiled to find out what it may be given.
const TRIALS: usize = 400;
/// How many arrays are tried for one refusal, and how many other parameters.
const SUSPECTS: usize = 8;

/// Guesses anew what refused expressions depend on, until the front end takes the kernel. None if it never does, or panics.
fn repaired(entry: &Entry, checkout: &Checkout, (uses, stages): (&Uses, Stages), begin: Instant) -> Option<Verdict> {
    catch_unwind(AssertUnwindSafe(|| {
        let origins = Origins::of(&entry.def, checkout);
        let (mut trials, mut compiled) = (0, None);
        for choice in CHOICES {
            compiled = compiled.or_else(|| search(entry, checkout, (uses, &origins), *choice, &mut trials, begin));
        }
        let (compiled, sources) = compiled?;
        let made = DEVICES.map(|device| code(&compiled, device, stages).err());
        Some(made.map(|errors| errors.map(|errors| refusal(entry, &sources, errors.first(), u32::MAX - 1))))
    }))
    .ok()
    .flatten()
}

/// The same from one way to guess: step by step, each of which leads to a place where the kernel was not refused before.
fn search(
    entry: &Entry,
    checkout: &Checkout,
    (uses, origins): (&Uses, &Origins),
    choice: Choice,
    trials: &mut usize,
    begin: Instant,
) -> Option<(Compiled, Sources)> {
    let mut stop = match front(entry, checkout, uses, choice, vec![]) {
        Ok(compiled) => return Some(compiled),
        Err(stop) => stop,
    };
    let mut seen = vec![(stop.span, stop.refusal.message.clone())];
    'steps: loop {
        let near = origins.behind(stop.words.clone());
        let parameters = near.iter().filter_map(|name| entry.kernel.parameters.iter().find(|p| p.name == *name));
        let is_buffer = |name: &str| {
            let given = stop.arguments.iter().find(|(given, _)| given == name);
            matches!(given, Some((_, Argument::Buffer(_))))
        };
        // What arrays hold decides most types.
        let (buffers, others): (Vec<_>, Vec<_>) = parameters.partition(|parameter| is_buffer(&parameter.name));
        for parameter in buffers.into_iter().take(SUSPECTS).chain(others.into_iter().take(SUSPECTS)) {
            let is_it = |given: &str| given.split('.').next() == Some(&parameter.name);
            let Some((_, given)) = stop.arguments.iter().find(|(name, _)| is_it(name)) else { continue };
            for other in repair::others(given, parameter.constexpr) {
                if *trials >= TRIALS || begin.elapsed() > PATIENCE {
                    return None;
                }
                *trials += 1;
                let mut arguments = stop.arguments.clone();
                arguments.iter_mut().filter(|(name, _)| is_it(name)).for_each(|(_, old)| *old = other.clone());
                match front(entry, checkout, uses, choice, arguments) {
                    Ok(compiled) => return Some(compiled),
                    Err(next) => {
                        let place = (next.span, next.refusal.message.clone());
                        let is_new = !seen.iter().any(|(span, _)| *span == place.0);
                        if is_new && (next.span.source != stop.span.source || next.span.start > stop.span.start) {
                            seen.push(place);
                            stop = next;
                            continue 'steps;
                        }
                    }
                }
            }
        }
        return None;
    }
}

/// The same where the compiler panics: that is a refusal of the worst kind.
fn caught(entry: &Entry, attempt: impl FnOnce() -> Verdict) -> Verdict {
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|_| {
        let place = format!("{}::{}", entry.file.display(), entry.def.name.name);
        let refusal = Refusal { code: "panic", message: "the compiler panics".into(), place, reached: u32::MAX };
        std::array::from_fn(|_| Some(refusal.clone()))
    })
}

/// Compiles a kernel in one way, for the devices that have no code yet.
fn attempt(
    entry: &Entry,
    checkout: &Checkout,
    (uses, stages): (&Uses, Stages),
    choice: Choice,
    done: [bool; DEVICES.len()],
    times: &mut Times,
) -> Verdict {
    let begin = Instant::now();
    let front = front(entry, checkout, uses, choice, vec![]);
    times.front = begin.elapsed();
    let (compiled, sources) = match front {
        Ok(compiled) => compiled,
        Err(stop) => return std::array::from_fn(|_| Some(stop.refusal.clone())),
    };
    std::array::from_fn(|at| {
        if done[at] {
            return None;
        }
        let begin = Instant::now();
        let made = code(&compiled, DEVICES[at], stages);
        times.devices[at] = begin.elapsed();
        made.err().map(|errors| refusal(entry, &sources, errors.first(), u32::MAX - 1))
    })
}

/// Where the front end refused a kernel.
struct Stop {
    refusal: Refusal,
    span: Span,
    /// The words of the refused expression, and of its line.
    words: Vec<String>,
    /// What the kernel was given.
    arguments: Vec<(String, Argument)>,
}

/// A kernel in tile form. What the compiler says is missing is guessed, so decorators choose what they can choose.
fn front(
    entry: &Entry,
    checkout: &Checkout,
    uses: &Uses,
    choice: Choice,
    given: Vec<(String, Argument)>,
) -> Result<(Compiled, Sources), Box<Stop>> {
    let Entry { kernel, file, .. } = entry;
    let launched = checkout.launched.get(&kernel.name);
    let guess = |parameter: &str, constexpr: bool| {
        let launched = launched.and_then(|l| l.get(parameter)).map_or(&[][..], Vec::as_slice);
        uses.arguments(parameter, constexpr, choice, launched)
    };
    let text = checkout.texts.get(file).map_or("", String::as_str);
    let mut request = Request { kernel: kernel.name.clone(), arguments: given, ..Request::default() };
    let is_given = |name: &str| request.arguments.iter().any(|(given, _)| given.split('.').next() == Some(name));
    let needed = kernel.parameters.iter().filter(|p| !p.constexpr && !p.optional && !is_given(&p.name));
    let needed: Vec<_> = needed.collect();
    request.arguments.extend(needed.into_iter().flat_map(|p| guess(&p.name, false)));
    loop {
        let mut sources = Sources::default();
        let compiled = girih_triton::compile(&mut sources, &file.display().to_string(), text, checkout, &request);
        let errors = match compiled {
            Ok(compiled) => return Ok((compiled, sources)),
            Err(errors) => errors,
        };
        let missing = errors.first().and_then(missing);
        let missing = missing.and_then(|missing| kernel.parameters.iter().find(|p| p.name == missing));
        match missing.filter(|p| !request.arguments.iter().any(|(given, _)| *given == p.name)) {
            Some(parameter) => request.arguments.extend(guess(&parameter.name, parameter.constexpr)),
            None => {
                let span = errors.first().map_or(Span::NONE, Diagnostic::span);
                let refusal = refusal(entry, &sources, errors.first(), span.start);
                let text = sources.get(span.source).map_or("", |source| &source.text);
                let words = repair::words(text, span);
                return Err(Box::new(Stop { refusal, span, words, arguments: request.arguments }));
            }
        }
    }
}

/// The parameter that an error says is not given.
fn missing(error: &Diagnostic) -> Option<&str> {
    let is_missing = error.code == Code::BadArguments && error.message.ends_with("is not given");
    error.message.split('`').nth(1).filter(|_| is_missing)
}

/// Makes legal kernel form for a device, if asked.
fn code(compiled: &Compiled, device: &str, stages: Stages) -> Result<(), Vec<Diagnostic>> {
    if stages == Stages::Front {
        return Ok(());
    }
    let caps = match device {
        "cpu" => Caps::cpu(false).with(Feature::Vectors),
        "cuda" => Caps::cuda(90, true),
        _vulkan => vulkan(),
    };
    compile(&compiled.module, &[compiled.kernel], &caps, &LoadOptions::default()).map(drop)
}

/// The limits that drivers for the cards of desktops have beyond WebGPU's defaults.
fn vulkan() -> Caps {
    let mut caps = Caps::web_extended();
    (caps.buffers, caps.shared_bytes, caps.invocations) = (64, 32 << 10, 1024);
    caps
}

fn refusal(entry: &Entry, sources: &Sources, error: Option<&Diagnostic>, reached: u32) -> Refusal {
    let Some(error) = error else {
        let place = entry.file.display().to_string();
        return Refusal { code: "?", message: "nothing is said".into(), place, reached };
    };
    let place = match error.span() {
        span if span.is_none() => entry.file.display().to_string(),
        span => {
            let file = sources.get(span.source).map_or("", |source| source.name.as_str());
            format!("{file}:{}", sources.line_column(span.source, span.start).0)
        }
    };
    let place = format!("{place} in {}", entry.def.name.name);
    Refusal { code: error.code.as_str(), message: error.message.clone(), place, reached }
}
