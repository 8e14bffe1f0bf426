//! What a run took, for people.

use super::Choice;
use super::net::{self, Counts, DeviceStats};
use girih_base::plural::counted;
use girih_runtime::{Schedule, StepStats, TaskStats};
use girih_term::eval;

/// What a run took.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Seconds from the program's text to what can run.
    pub compile_seconds: f64,
    /// Seconds from the first step to the printed value.
    pub seconds: f64,
    /// How many threads ran it.
    pub threads: usize,
    /// Which device has answered, if several ran it at the same time.
    pub answered: Option<String>,
    /// What was done.
    pub work: Work,
}

/// What a run has done.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// By compiled code.
    Compiled(TaskStats),
    /// By a machine of nets; with what a device took, if it was one.
    Net(Counts, Option<DeviceStats>),
    /// By the evaluator.
    Evaluated(eval::Stats),
}

impl Stats {
    /// Nothing has run yet.
    pub(super) fn new(compile_seconds: f64, choice: &Choice) -> Stats {
        let work = match choice.tier {
            Some(_) => Work::Compiled(TaskStats::default()),
            None => Work::Evaluated(eval::Stats::default()),
        };
        Stats { compile_seconds, seconds: 0.0, threads: choice.threads, answered: None, work }
    }

    /// How many million of these were done in a second.
    pub(super) fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds.max(1e-9) / 1e6
    }
}

/// A schedule, in words that go on with a sentence.
fn schedule_in_words(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Flattened => "flattened",
        Schedule::Reducer => "as a reducer",
        Schedule::ForkJoin => "by fork-join",
    }
}

pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = counted(self.threads, "thread");
        writeln!(f, "compiled:    {:.3} s", self.compile_seconds)?;
        if let Some(device) = &self.answered {
            writeln!(f, "answered:    {device}")?;
        }
        match &self.work {
            Work::Compiled(TaskStats { steps: Some(work), most_bytes, .. }) => {
                let StepStats { schedule, lanes, heap, steps, tasks, submissions, dispatches, collections } = *work;
                writeln!(f, "time:        {:.3} s on {lanes} lanes, {}", self.seconds, schedule_in_words(schedule))?;
                writeln!(f, "memory:      {:.1} of {:.1} MiB at most", mib(*most_bytes), mib(heap))?;
                let submissions = counted(submissions, "submission");
                writeln!(f, "steps:       {steps}, {dispatches} dispatches in {submissions}")?;
                write!(f, "tasks:       {tasks}")?;
                if collections > 0 {
                    write!(f, "\ncollections: {collections}")?;
                }
                Ok(())
            }
            Work::Compiled(work) => {
                writeln!(f, "time:        {:.3} s on {threads}", self.seconds)?;
                let TaskStats { allocated, reused, freed, live, .. } = *work;
                writeln!(f, "cells:       {allocated} allocated, {reused} reused, {freed} freed")?;
                writeln!(f, "live:        {live} cells, {:.1} MiB", mib(work.live_bytes))?;
                writeln!(f, "memory:      {:.1} MiB at most", mib(work.most_bytes))?;
                write!(f, "tasks:       {} forked, {} taken by another thread", work.forks, work.steals)
            }
            Work::Net(work, device) => net::show(work, device.as_ref(), self, f),
            Work::Evaluated(work) => {
                writeln!(f, "time:        {:.3} s on {threads}", self.seconds)?;
                writeln!(f, "calls:       {} ({:.1} million a second)", work.calls, self.rate(work.calls))?;
                writeln!(f, "allocated:   {} cells, {:.1} MiB", work.cells, mib(work.words * 8))?;
                writeln!(f, "collections: {} small, {} full", work.minor_collections, work.full_collections)?;
                let (live, stack) = (mib(work.largest_live), mib(work.largest_stack));
                write!(f, "largest:     {live:.1} MiB of live data, {stack:.1} MiB of stack")
            }
        }
    }
}
