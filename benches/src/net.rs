//! The suite `net`: the nets of `benches/net` at several sizes, by the workers of the host or the kernels of a device, beside upstream's `hvm`.
//!
//! The `@main` of a file contains the size and is rewritten for each size. Contenders for a figure take turns. A figure is the time of the reduction;
//! reading the text and loading kernels count as `compile`.

use super::figures::{Peer, Rival, Row, Run, Size, Work};
use super::rivals::Hvm;
use super::spread::{Spread, median};
use super::suite::{Bench, Event, Scale, Selection, Session, one};
use girih::devices::Selector;
use girih::nets::{Nets, Reduced};
use girih::{Code, Diagnostic, Report, RunDevice, Span};
use girih_net::reduce::Limits;
use std::num::NonZeroUsize;
use std::time::Instant;

/// Most runs of upstream, which take long.
const UPSTREAM_SAMPLES: usize = 3;

/// A net.
struct Program {
    name: &'static str,
    text: &'static str,
    /// Sizes and normal forms: to see that it works, for software devices, for processors, for cards.
    jobs: [(u32, &'static str); 4],
}

macro_rules! programs {
    ($($name:literal: $($size:literal $value:literal),*;)*) => {
        const PROGRAMS: &[Program] = &[$(Program {
            name: $name,
            text: include_str!(concat!("../net/", $name, ".hvm")),
            jobs: [$(($size, $value)),*],
        },)*];
    };
}

programs! {
    "bitonic": 6 "(64 5766848)", 10 "(1024 14157760)", 12 "(4096 13251936)", 20 "(1048576 14311104)";
    "sum": 10 "3254867", 16 "10866667", 20 "10198203", 28 "1750875";
    "tree_sum": 10 "523776", 16 "16744448", 18 "16646144", 24 "8388608";
    "pair_sort": 6 "14820921", 10 "3322826", 12 "2510131", 18 "3504249";
    "lists": 1 "4663334", 4 "3752240", 6 "15008960", 14 "311296";
    "stress": 4 "16000", 8 "256000", 10 "1024000", 18 "10485760";
}

impl Program {
    /// The net at a size.
    fn at(&self, size: u32) -> String {
        let lines = self.text.lines().map(|line| match line.trim_start().starts_with("& @start ~") {
            true => format!("  & @start ~ ({size} a)\n"),
            false => format!("{line}\n"),
        });
        lines.collect()
    }
}

/// Lists nets and sizes, and looks for upstream.
pub(super) fn open(bench: &mut Bench) -> Result<Box<dyn Session>, Report> {
    let on_host = matches!(bench.plan.device, RunDevice::Auto | RunDevice::Cpu);
    let scale = if bench.plan.tiny {
        Scale::Tiny
    } else if on_host {
        Scale::Full
    } else {
        bench.kernel_scale()?
    };
    let sizes = match scale {
        Scale::Tiny => 0..1,
        Scale::Small => 0..2,
        Scale::Full if on_host => 0..3,
        Scale::Full => 1..4,
    };
    let jobs = PROGRAMS.iter().flat_map(|program| sizes.clone().map(move |size| (program, size))).collect();
    let mut hvm = None;
    if bench.plan.rivals {
        match Hvm::find() {
            Ok(found) => {
                let what = format!("{}, by its own count", found.version);
                let command = command(bench.plan);
                bench.rivals.push(Rival { name: format!("hvm {command}"), what });
                hvm = Some(found);
            }
            Err(reason) => (bench.tell)(Event::Skipped(reason)),
        }
    }
    Ok(Box::new(NetSession { jobs, hvm }))
}

/// What upstream runs on the same hardware.
fn command(plan: &Selection) -> &'static str {
    let is_card = matches!(plan.device, RunDevice::Device(Selector::Cuda(_) | Selector::Wgpu(_)));
    if is_card { "run-cu" } else { "run-c" }
}

struct NetSession {
    jobs: Vec<(&'static Program, usize)>,
    hvm: Option<Hvm>,
}

impl Session for NetSession {
    fn titles(&self) -> Vec<String> {
        self.jobs.iter().map(|(program, job)| format!("{} {}", program.name, program.jobs[*job].0)).collect()
    }

    fn row(&mut self, bench: &mut Bench, position: usize) -> Result<Row, Report> {
        let (program, job) = self.jobs[position];
        let (size, value) = program.jobs[job];
        let text = program.at(size);
        let begun = Instant::now();
        let nets = Nets::from_text(&format!("{}.hvm", program.name), &text)?;
        let reading = begun.elapsed().as_secs_f64();
        let on_host = matches!(bench.plan.device, RunDevice::Auto | RunDevice::Cpu);
        let threads: Vec<Option<usize>> =
            if on_host { bench.plan.threads.iter().copied().map(Some).collect() } else { vec![None] };
        let mut times: Vec<Vec<f64>> = vec![vec![]; threads.len()];
        let (mut theirs, mut last, mut loading) = (vec![], None, vec![]);
        for round in 0..=bench.plan.samples {
            if round > 1 && bench.patience.is_short() {
                break;
            }
            for (times, threads) in times.iter_mut().zip(&threads) {
                let reduced = reduce(bench, &nets, *threads)?;
                if reduced.text != value {
                    let message = format!("`{} {size}` comes to {}, not to {value}", program.name, reduced.text);
                    return Err(one(Diagnostic::new(Code::BenchmarkFailed, Span::NONE, message)));
                }
                if round > 0 {
                    times.push(reduced.seconds);
                    loading.push(reduced.loading);
                }
                last = Some(reduced);
            }
            if round < UPSTREAM_SAMPLES {
                theirs.extend(self.upstream(bench, &text, value));
            }
        }
        let runs = threads.iter().zip(&times);
        let runs = runs.filter_map(|(threads, times)| Some(Run { threads: *threads, time: Spread::of(times)? }));
        let name = format!("hvm {}", command(bench.plan));
        let peer = median(&theirs).map(|seconds| Peer { name, seconds, on_all_cores: true });
        Ok(Row {
            suite: "net".to_owned(),
            name: program.name.to_owned(),
            size: Size::one(size),
            compile: median(&loading).map(|loading| reading + loading),
            runs: runs.collect(),
            bytes: last.as_ref().map(|reduced| reduced.counts.bytes),
            way: None,
            calls: None,
            work: last.map(|reduced| Work::Interactions(reduced.counts.total() as f64)),
            peers: peer.into_iter().collect(),
        })
    }
}

/// One run, on so many threads of the host or on the device.
fn reduce(bench: &mut Bench, nets: &Nets, threads: Option<usize>) -> Result<Reduced, Report> {
    let limits = Limits { memory: bench.plan.memory, interactions: None, interrupt: bench.plan.interrupt.clone() };
    match threads {
        Some(threads) => {
            Ok(nets.reduce_in_parallel(None, &limits, NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN))?)
        }
        None => {
            let heap = bench.plan.heap;
            let limits = Limits { memory: u64::MAX, ..limits };
            Ok(nets.reduce_on(None, &limits, bench.device()?, heap)?)
        }
    }
}

impl NetSession {
    /// What upstream takes for the net; none if it is not there, fails or is wrong. Then it does not take part any more in this net.
    fn upstream(&self, bench: &mut Bench, text: &str, value: &str) -> Option<f64> {
        let answer = self.hvm.as_ref()?.run(command(bench.plan), text);
        match answer {
            Ok(answer) if answer.value == value => Some(answer.seconds),
            Ok(answer) => {
                (bench.tell)(Event::Skipped(format!("upstream comes to {}, not to {value}", answer.value)));
                None
            }
            Err(reason) => {
                (bench.tell)(Event::Skipped(reason));
                None
            }
        }
    }
}
