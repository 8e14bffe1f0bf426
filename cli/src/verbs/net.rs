//! `girih run FILE.hvm`: an interaction net reduced to normal form, with the effects that it asks for.

use crate::console::{self, Console};
use crate::device;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::memory;
use girih::SystemHost;
use girih::devices::Selector;
use girih::nets::{Nets, Place, Reduced};
use girih_net::device::DeviceStats;
use girih_net::reduce::{Counts, Limits};
use girih_net::rules::Rule;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// How a net is run.
pub struct Settings<'s> {
    /// The definition to start from, if not `main`.
    pub entry: Option<&'s str>,
    /// The most bytes that it may take.
    pub memory: Option<u64>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Whether to say what was done.
    pub stats: bool,
    /// How many threads reduce it, if no device does.
    pub threads: NonZeroUsize,
    /// The device whose kernels reduce it, if it is not the host.
    pub device: Option<&'s Selector>,
}

/// Whether a file holds nets.
pub fn is_net(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "hvm")
}

/// Reduces the net of a file, performs the effects that it asks for, and prints what is left.
pub fn run(file: &Path, settings: &Settings<'_>, console: &Console) -> Exit {
    let interrupt = Interrupt::new(settings.timeout, console);
    let limits = Limits {
        memory: settings.memory.unwrap_or_else(memory::default_limit),
        interactions: None,
        interrupt: Some(interrupt.flag()),
    };
    let device = match settings.device.map(|selector| device::open(selector, None, console)).transpose() {
        Ok(device) => device,
        Err(exit) => return exit,
    };
    let place = match &device {
        None => Place::Cores(settings.threads),
        Some(device) => Place::Device(device, settings.memory),
    };
    let mut host = SystemHost::new().interrupted_by(interrupt.flag());
    if console.json() {
        host = host.with_stdout(console::output_objects());
    }
    let reduced = Nets::open(file).and_then(|nets| nets.run(settings.entry, &limits, place, Some(&mut host)));
    drop(host);
    match reduced {
        Ok(reduced) => {
            console.result(&format!("Result: {}", reduced.text), || {
                let mut object = json!({"kind": "result", "text": reduced.text});
                if settings.stats {
                    object["stats"] = stats(&reduced);
                }
                object
            });
            if settings.stats {
                let rate = reduced.counts.total() as f64 / reduced.seconds.max(1e-9) / 1e6;
                console
                    .note(&format!("time:         {:.3} s, {rate:.2} million interactions a second", reduced.seconds));
                console.note(&text(&reduced.counts));
                if let Some(work) = &reduced.device {
                    let DeviceStats { lanes, supersteps, reclaims, .. } = work;
                    console.note(&format!(
                        "device:       {lanes} lanes, {supersteps} supersteps, memory reclaimed {reclaims} times"
                    ));
                }
            }
            Exit::Ok
        }
        Err(report) => {
            console.report(&report);
            interrupt.exit_of(&report)
        }
    }
}

/// The interactions by rule, for people.
pub fn text(counts: &Counts) -> String {
    let mut lines = vec![format!("interactions: {}", counts.total())];
    for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link && counts.of(*rule) > 0) {
        lines.push(format!("  {:<12}{}", format!("{}:", rule.name()), counts.of(rule)));
    }
    lines.push(format!("memory:       {:.1} MiB at most", counts.bytes as f64 / f64::from(1 << 20)));
    lines.join("\n")
}

/// The interactions by rule, for programs.
pub fn rules(counts: &Counts) -> Value {
    let rules = Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link);
    rules.map(|rule| (rule.name().to_owned(), Value::from(counts.of(rule)))).collect()
}

fn stats(reduced: &Reduced) -> Value {
    let mut object = json!({
        "seconds": reduced.seconds,
        "interactions": reduced.counts.total(),
        "rules": rules(&reduced.counts),
        "most_bytes": reduced.counts.bytes,
    });
    if let Some(DeviceStats { lanes, supersteps, reclaims, memory, .. }) = reduced.device {
        object["device"] = json!({"lanes": lanes, "supersteps": supersteps, "reclaims": reclaims, "memory": memory});
    }
    object
}
