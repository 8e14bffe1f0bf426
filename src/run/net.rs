//! Programs as interaction nets: on the cores of the host, or by kernels on a device, which is given the net again after each effect.

use super::select::{AUTO, Choice};
use super::stats::{Stats, mib};
use super::{RunDevice, RunOptions};
use crate::devices::{self, Selector};
use crate::nets::sizes;
use girih_base::diag::Diagnostic;
use girih_base::plural::counted;
use girih_net::device::{self, Session, check};
use girih_net::lower::{Calculus, Lowered, lower};
use girih_net::parallel::Cores;
use girih_net::reduce::{self, Reducer};
use girih_net::rules::Rule;
use girih_net::values::Values;
use girih_runtime::Device;
use girih_term::Program;
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_term::io::Host;
use std::fmt;
use std::num::NonZeroUsize;

pub use girih_net::device::DeviceStats;
pub use girih_net::reduce::Counts;

/// A program as a net.
pub(super) struct NetEngine {
    pub program: Program,
    pub lowered: Lowered,
    pub place: NetPlace,
}

/// Where it is reduced.
pub(super) enum NetPlace {
    /// On so many cores.
    Host(NonZeroUsize),
    /// By kernels.
    Device(Device),
}

/// A program as a net, on the device that was named, or on the first that is there.
pub(super) fn ready(
    code: Option<&Code>,
    program: &Program,
    options: &RunOptions,
    why: &str,
) -> Result<(Choice, Box<NetEngine>), Vec<Diagnostic>> {
    // What nobody uses is not computed by value; in a net it may be what links a scopeless variable.
    let (program, calculus) = match code {
        Some(code) => (code.program(), Calculus::ByValue),
        None => (program, Calculus::Nets),
    };
    let lowered = lower(program, calculus)?;
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = options.threads.unwrap_or_else(cores);
    let choice = |device: &str, threads: usize| Choice {
        tier: Some("net"),
        device: device.to_owned(),
        threads,
        card: None,
        why: why.to_owned(),
    };
    let host = || (choice("processor", threads.get()), NetPlace::Host(threads));
    let on = |selector: &Selector, device: Device| {
        let info = device.info().clone();
        let card = Some((info.clone(), sizes(info.kind).lanes));
        (Choice { card, ..choice(&selector.to_string(), 1) }, NetPlace::Device(device))
    };
    let opened = |selector: &Selector| devices::open_device(selector, None).map_err(|error| vec![error]);
    let (choice, place) = match &options.device {
        RunDevice::Auto if options.threads.is_none() => {
            let cards = AUTO.iter().filter(|selector| **selector != Selector::Cpu);
            cards.filter_map(|selector| Some(on(selector, opened(selector).ok()?))).next().unwrap_or_else(host)
        }
        RunDevice::Auto | RunDevice::Cpu | RunDevice::Evaluator => host(),
        RunDevice::Interpreter(_) => {
            let selector = Selector::Interpreter(32);
            on(&selector, opened(&selector)?)
        }
        RunDevice::Device(selector) => on(selector, opened(selector)?),
    };
    if let NetPlace::Device(_) = &place {
        // What no device runs is said before anything has run.
        check(&lowered.book).map_err(|error| vec![error])?;
    }
    Ok((choice, Box::new(NetEngine { program: program.clone(), lowered, place })))
}

impl NetEngine {
    /// Computes the program's value, with its effects, and its text; and says what that took.
    pub fn run(
        &mut self,
        code: Option<&Code>,
        options: &RunOptions,
        host: &mut dyn Host,
    ) -> (Result<String, Diagnostic>, Counts, Option<DeviceStats>) {
        let NetEngine { program, lowered, place } = self;
        match place {
            NetPlace::Host(threads) => {
                let (result, counts) = computed(program, lowered, code, options, &mut Cores::new(*threads), host);
                (result, counts, None)
            }
            NetPlace::Device(device) => {
                let sizes = sizes(device.info().kind);
                let sizes = device::Options { memory: options.heap.unwrap_or(sizes.memory), ..sizes };
                match Session::open(&lowered.book, device, &sizes, u64::MAX) {
                    Ok(mut session) => {
                        let (result, counts) = computed(program, lowered, code, options, &mut session, host);
                        (result, counts, Some(session.stats()))
                    }
                    Err(errors) => (Err(first(errors)), Counts::default(), None),
                }
            }
        }
    }
}

fn computed(
    program: &Program,
    lowered: &Lowered,
    code: Option<&Code>,
    options: &RunOptions,
    reducer: &mut dyn Reducer,
    host: &mut dyn Host,
) -> (Result<String, Diagnostic>, Counts) {
    let RunOptions { memory, interrupt, .. } = options;
    let limits = reduce::Limits { memory: *memory, interactions: None, interrupt: interrupt.clone() };
    let mut values = Values::new(program, lowered, limits, reducer);
    let result = values.run(host).and_then(|word| match code {
        Some(code) => values.show(&mut Machine::new(code, Limits { memory: *memory, ..Limits::default() }), word),
        None => values.show_net(word),
    });
    (result, values.counts())
}

/// The first of several errors; there is one.
fn first(errors: Vec<Diagnostic>) -> Diagnostic {
    use girih_base::diag::Code;
    use girih_base::span::Span;
    let none = || Diagnostic::new(Code::Internal, Span::NONE, "the device gave no kernels and no reason");
    errors.into_iter().next().unwrap_or_else(none)
}

/// What a reduction took, for people.
pub(super) fn show(
    work: &Counts,
    device: Option<&DeviceStats>,
    stats: &Stats,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match device {
        Some(device) => writeln!(f, "time:        {:.3} s on {} lanes", stats.seconds, device.lanes)?,
        None => writeln!(f, "time:        {:.3} s on {}", stats.seconds, counted(stats.threads, "thread"))?,
    }
    let total = work.total();
    writeln!(f, "interactions: {total} ({:.1} million a second)", stats.rate(total))?;
    for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link && work.of(*rule) > 0) {
        writeln!(f, "  {:<11}{}", format!("{}:", rule.name()), work.of(rule))?;
    }
    write!(f, "memory:      {:.1} MiB at most", mib(work.bytes))?;
    match device {
        Some(device) => {
            write!(f, "\nsupersteps:  {}, memory reclaimed {} times", device.supersteps, device.reclaims)
        }
        None => Ok(()),
    }
}
