//! The table of suites, what one of them is, and the order in which all of them are measured.

use super::ceilings;
use super::figures::{Ceilings, Failed, Figures, Rival, Row};
use super::machine::{Machine, today};
use super::patience::Patience;
use super::{bend, frames, kernels, net, tile};
use girih::devices::{self, Selector};
use girih::{Code, Report, RunDevice};
use girih_runtime::{Device, DeviceInfo, DeviceKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a row may take at least, and for each of its runs.
const ROW: Duration = Duration::from_secs(20);
const RUN: Duration = Duration::from_secs(4);
/// The same where rivals take part, because upstream needs minutes for some rows, and for checks, which measure nothing.
const LONG_ROW: Duration = Duration::from_secs(600);

/// All suites. Adding one is a row here, and a file that measures.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "bend",
        about: "Bend programs, beside C and upstream with `--rivals`",
        refuses: |_| None,
        open: bend::open,
    },
    Suite {
        name: "corpus",
        about: "many kinds of Bend programs, as people write them, some beside GHC with `--rivals`",
        refuses: |_| None,
        open: bend::open_corpus,
    },
    Suite {
        name: "net",
        about: "interaction nets, beside upstream's `hvm` with `--rivals`",
        refuses: no_nets,
        open: net::open,
    },
    Suite { name: "render", about: "image shaders of the folder `shaders`", refuses: |_| None, open: frames::open },
    Suite { name: "ir", about: "kernels written in the IR", refuses: no_kernels, open: kernels::open },
    Suite {
        name: "tile",
        about: "tile kernels of the folder `shaders`, on processors beside NumPy with `--rivals`",
        refuses: no_kernels,
        open: tile::open,
    },
];

/// A set of things that are measured in the same way.
#[derive(Debug)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in some words.
    pub about: &'static str,
    /// Why it cannot be measured on a device, in a sentence.
    pub refuses: fn(&RunDevice) -> Option<String>,
    /// Gets ready.
    pub(super) open: fn(&mut Bench) -> Result<Box<dyn Session>, Report>,
}

/// A suite that is being measured.
pub(super) trait Session {
    /// What is measured, in order: the names of programs, and how they begin in a list for people.
    fn titles(&self) -> Vec<String>;
    /// Measures one of them.
    fn row(&mut self, bench: &mut Bench, position: usize) -> Result<Row, Report>;
}

/// The suite of a name.
pub fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

fn no_nets(device: &RunDevice) -> Option<String> {
    matches!(device, RunDevice::Evaluator).then(|| "the evaluator runs Bend programs, not nets".to_owned())
}

fn no_kernels(device: &RunDevice) -> Option<String> {
    let message = "the evaluator runs Bend programs, not kernels";
    selector(device).is_none().then(|| message.to_owned())
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Programs whose names contain one of these; all if there are none.
    pub only: Vec<String>,
    /// Numbers of threads, ascending; none for a device, which has lanes.
    pub threads: Vec<usize>,
    /// How many runs a figure is of; at least 1. Others come before, which do not count.
    pub samples: usize,
    /// Whether C and upstream take part.
    pub rivals: bool,
    /// What runs everything.
    pub device: RunDevice,
    /// Bytes that a program's data may take on the host.
    pub memory: u64,
    /// Bytes that it may take on a device; what the device has room for if none.
    pub heap: Option<u64>,
    /// Whether a card that was named runs Bend programs alone, without the processor beside it.
    pub alone: bool,
    /// Programs at their smallest sizes: quick, and of no use as figures.
    pub tiny: bool,
    /// Raised to stop.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Selection {
    /// Whether something of this name is measured.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(&**part))
    }

    /// Whether programs run on a device that has to be loaded.
    pub(super) fn is_on_device(&self) -> bool {
        matches!(self.device, RunDevice::Device(_))
    }
}

/// How large jobs are that suit a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// To see that something works.
    Tiny,
    /// For processors.
    Small,
    /// For cards; and for programs on the processor that are compiled for it.
    Full,
}

/// What there is to say while measuring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// So many things of a suite are going to be measured.
    Suite(&'static str, usize),
    /// This one is being measured.
    Case(String),
    /// A rival or a suite does not take part, in a sentence.
    Skipped(String),
    /// A program failed, in a sentence.
    Failed(String),
}

/// What suites have in common while they are measured.
pub struct Bench<'p> {
    /// What to measure.
    pub plan: &'p Selection,
    pub(super) tell: &'p mut dyn FnMut(Event),
    pub(super) rivals: Vec<Rival>,
    pub(super) card: Option<String>,
    pub(super) patience: &'p Patience,
    device: Option<Device>,
    ceilings: Option<Ceilings>,
    /// Whether they have been looked for.
    ceilings_tried: bool,
}

impl<'p> Bench<'p> {
    fn new(plan: &'p Selection, tell: &'p mut dyn FnMut(Event), patience: &'p Patience) -> Bench<'p> {
        Bench { plan, tell, rivals: vec![], card: None, patience, device: None, ceilings: None, ceilings_tried: false }
    }

    /// The device for kernels, opened when it is first asked for.
    pub(super) fn device(&mut self) -> Result<&Device, Report> {
        let device = match self.device.take() {
            Some(device) => device,
            None => {
                let selector = selector(&self.plan.device).unwrap_or(Selector::Auto);
                devices::open(&selector, None)?
            }
        };
        self.card.get_or_insert_with(|| card(device.info()));
        Ok(self.device.insert(device))
    }

    /// What the device for kernels can do, measured once. If that fails, kernels are measured without.
    pub(super) fn measure_ceilings(&mut self) -> Result<(), Report> {
        if !std::mem::replace(&mut self.ceilings_tried, true) {
            let (scale, samples) = (self.kernel_scale()?, self.plan.samples);
            match ceilings::measure(self.device()?, scale, samples) {
                Ok(ceilings) => self.ceilings = Some(ceilings),
                Err(report) => {
                    let why = report.diagnostics.first().map_or("", |diagnostic| &diagnostic.message);
                    (self.tell)(Event::Skipped(format!("what the device can do at most: {why}")));
                }
            }
        }
        Ok(())
    }

    /// How large kernels' jobs are.
    pub(super) fn kernel_scale(&mut self) -> Result<Scale, Report> {
        let tiny = self.plan.tiny;
        Ok(match self.device()?.info().kind {
            _ if tiny => Scale::Tiny,
            DeviceKind::Interpreter => Scale::Tiny,
            DeviceKind::Cpu | DeviceKind::WgpuSoftware => Scale::Small,
            DeviceKind::Wgpu | DeviceKind::Cuda => Scale::Full,
        })
    }

    /// How large programs' jobs are.
    pub(super) fn program_scale(&mut self) -> Result<Scale, Report> {
        Ok(match self.plan.device {
            _ if self.plan.tiny => Scale::Tiny,
            RunDevice::Interpreter(_) => Scale::Tiny,
            RunDevice::Evaluator => Scale::Small,
            RunDevice::Auto | RunDevice::Cpu => Scale::Full,
            RunDevice::Device(_) => self.kernel_scale()?,
        })
    }
}

/// The device for kernels where programs run on this; none for the evaluator.
pub(super) fn selector(device: &RunDevice) -> Option<Selector> {
    match device {
        RunDevice::Auto => Some(Selector::Auto),
        RunDevice::Cpu => Some(Selector::Cpu),
        RunDevice::Interpreter(_) => Some(Selector::Interpreter(32)),
        RunDevice::Evaluator => None,
        RunDevice::Device(selector) => Some(selector.clone()),
    }
}

/// A device in words.
pub(super) fn card(info: &DeviceInfo) -> String {
    let parts = [&info.name, &info.backend, &info.driver];
    parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
}

pub(super) fn one(diagnostic: girih::Diagnostic) -> Report {
    many(vec![diagnostic])
}

pub(super) fn many(diagnostics: Vec<girih::Diagnostic>) -> Report {
    Report { diagnostics, ..Report::default() }
}

/// Measures suites, one after the other. What has been measured so far is given to `keep` after each row. Who stops it gets what there is; what fails,
/// or takes too long, has no figures, is told, and ends nothing else.
///
/// # Errors
/// If it is stopped before anything has figures, or if there is no such device, or options do not go together.
pub fn measure(
    plan: &Selection,
    suites: &[&'static Suite],
    tell: &mut dyn FnMut(Event),
    keep: &mut dyn FnMut(&Figures),
) -> Result<Figures, Report> {
    let runs = u32::try_from(plan.samples).unwrap_or(u32::MAX);
    // Whether a program works does not depend on how busy the machine is.
    let limit = if plan.rivals || plan.tiny { LONG_ROW } else { ROW.max(RUN.saturating_mul(runs)) };
    let patience = &Patience::new(limit, plan.interrupt.clone());
    let watched = &Selection { interrupt: Some(patience.flag()), ..plan.clone() };
    let mut bench = Bench::new(watched, tell, patience);
    let mut figures = Figures {
        date: today(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::this(),
        device: plan.device.to_string(),
        card: None,
        samples: plan.samples,
        rivals: vec![],
        ceilings: None,
        rows: vec![],
        failed: vec![],
    };
    let is_stopped = || plan.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    for suite in suites.iter().take_while(|_| !is_stopped()) {
        let mut session = match guarded(&mut bench, |bench| (suite.open)(bench)) {
            Ok(session) => session,
            Err(report) => {
                figures.give_up(&mut bench, suite, suite.name.to_owned(), report)?;
                continue;
            }
        };
        let titles = session.titles();
        let wanted: Vec<usize> = (0..titles.len()).filter(|position| plan.wants(&titles[*position])).collect();
        (bench.tell)(Event::Suite(suite.name, wanted.len()));
        for position in wanted.into_iter().take_while(|_| !is_stopped()) {
            let title = titles[position].clone();
            (bench.tell)(Event::Case(title.clone()));
            patience.begin();
            match guarded(&mut bench, |bench| session.row(bench, position)) {
                Ok(row) => figures.rows.push(row),
                Err(_) if is_stopped() => break,
                Err(report) => figures.give_up(&mut bench, suite, title, report)?,
            }
            let Bench { rivals, card, ceilings, .. } = &bench;
            (figures.rivals, figures.card) = (rivals.clone(), card.clone());
            figures.ceilings = *ceilings;
            keep(&figures);
        }
    }
    if is_stopped() && figures.rows.is_empty() { Err(interrupted()) } else { Ok(figures) }
}

impl Figures {
    /// Notes that something has no figures; an error if nothing else would have any.
    fn give_up(&mut self, bench: &mut Bench, suite: &Suite, name: String, report: Report) -> Result<(), Report> {
        let is = |codes: &[Code]| report.diagnostics.iter().any(|diagnostic| codes.contains(&diagnostic.code));
        let over = bench.patience.over();
        if over.is_none() && self.is_empty() && is(&[Code::NoDevice, Code::BadArguments]) {
            return Err(report);
        }
        if is(&[Code::DeviceTimeout, Code::Internal]) {
            // Whoever gives a device back waits for what it does, and that may never end.
            std::mem::forget(bench.device.take());
        } else if is(&[Code::DeviceLost]) {
            bench.device = None;
        }
        let why = over.or_else(|| Some(report.diagnostics.first()?.message.clone())).unwrap_or_default();
        (bench.tell)(Event::Failed(format!("{name}: {why}")));
        self.failed.push(Failed { suite: suite.name.to_owned(), name, why });
        Ok(())
    }

    /// Whether nothing has been tried yet.
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.failed.is_empty()
    }
}

/// Measures something whose panic ends nothing else.
fn guarded<'p, T>(bench: &mut Bench<'p>, what: impl FnOnce(&mut Bench<'p>) -> Result<T, Report>) -> Result<T, Report> {
    catch_unwind(AssertUnwindSafe(|| what(bench))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(one(girih::Diagnostic::new(Code::Internal, girih::Span::NONE, format!("it has panicked: {said}"))))
    })
}

/// The titles of what would be measured, without measuring.
///
/// # Errors
/// If there is no such device.
pub fn titles(plan: &Selection, suites: &[&'static Suite]) -> Result<Vec<String>, Report> {
    let quiet = Selection { rivals: false, ..plan.clone() };
    let patience = &Patience::new(ROW, None);
    let tell = &mut |_| {};
    let mut bench = Bench::new(&quiet, tell, patience);
    let mut titles = vec![];
    for suite in suites {
        titles.extend((suite.open)(&mut bench)?.titles());
    }
    Ok(titles)
}

fn interrupted() -> Report {
    one(girih::Diagnostic::new(Code::Interrupted, girih::Span::NONE, "measuring was interrupted"))
}
