//! What becomes of a kernel: compiled for the processor, for CUDA and for Vulkan, or refused.
//!
//! Invariant: a kernel counts as compiled for a device where its tiles become legal kernel form there, for one of the ways to guess its arguments.
//! Nothing is run.

use crate::checkout::{Checkout, Entry};
use crate::guess::{CHOICES, Choice, Uses};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Sources;
use girih_ir::{Caps, Feature};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use girih_triton::{Compiled, Request};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The devices, in the order of the columns.
pub const DEVICES: [&str; 3] = ["cpu", "cuda", "vulkan"];

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

/// Compiles a kernel in all ways until each device has code.
pub fn of(entry: &Entry, checkout: &Checkout) -> Verdict {
    let uses = Uses::of(&entry.def, checkout);
    let mut verdict: Verdict = [const { None }; DEVICES.len()];
    let mut has_code = [false; DEVICES.len()];
    for choice in CHOICES {
        let refusals = caught(entry, || attempt(entry, checkout, &uses, *choice, has_code));
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
    std::array::from_fn(|at| verdict[at].take().filter(|_| !has_code[at]))
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
fn attempt(entry: &Entry, checkout: &Checkout, uses: &Uses, choice: Choice, done: [bool; DEVICES.len()]) -> Verdict {
    let (compiled, sources) = match front(entry, checkout, uses, choice) {
        Ok(compiled) => compiled,
        Err(refusal) => return std::array::from_fn(|_| Some(refusal.clone())),
    };
    std::array::from_fn(|at| {
        if done[at] {
            return None;
        }
        code(&compiled, DEVICES[at]).err().map(|errors| refusal(entry, &sources, errors.first(), u32::MAX - 1))
    })
}

/// A kernel in tile form. What the compiler says is missing is guessed, so decorators choose what they can choose.
fn front(entry: &Entry, checkout: &Checkout, uses: &Uses, choice: Choice) -> Result<(Compiled, Sources), Refusal> {
    let Entry { kernel, file, .. } = entry;
    let launched = checkout.launched.get(&kernel.name);
    let guess = |parameter: &str, constexpr: bool| {
        let launched = launched.and_then(|l| l.get(parameter)).map_or(&[][..], Vec::as_slice);
        uses.arguments(parameter, constexpr, choice, launched)
    };
    let text = checkout.texts.get(file).map_or("", String::as_str);
    let mut request = Request { kernel: kernel.name.clone(), ..Request::default() };
    let needed = kernel.parameters.iter().filter(|p| !p.constexpr && !p.optional);
    request.arguments.extend(needed.flat_map(|p| guess(&p.name, false)));
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
                let reached = errors.first().map_or(0, |error| error.span().start);
                return Err(refusal(entry, &sources, errors.first(), reached));
            }
        }
    }
}

/// The parameter that an error says is not given.
fn missing(error: &Diagnostic) -> Option<&str> {
    let is_missing = error.code == Code::BadArguments && error.message.ends_with("is not given");
    error.message.split('`').nth(1).filter(|_| is_missing)
}

/// Makes legal kernel form for a device.
fn code(compiled: &Compiled, device: &str) -> Result<(), Vec<Diagnostic>> {
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
