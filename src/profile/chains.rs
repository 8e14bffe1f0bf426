//! Why a program is not parallel: chains of calls that ran one after another, with the time that the profile found in them.

use super::Profile;
use crate::parallelism::place;
use girih_base::span::{Sources, Span};
use girih_task::discover::{Called, Discovered, Waiting, Why};
use girih_term::{DefId, Origin, Program};
use std::fmt::Write;

/// Calls of one definition of which each waits for one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The definition that makes the calls.
    pub function: String,
    /// Its file, line and column.
    pub place: String,
    /// The calls, in the order in which they run.
    pub links: Vec<Link>,
    /// Seconds that they took together.
    pub seconds: f64,
    /// The source lines of the calls, each underlined.
    pub excerpt: String,
}

/// A call of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What is called.
    pub call: String,
    /// Line and column of the call.
    pub line: usize,
    /// See `line`.
    pub column: usize,
    /// Seconds that calls of it by the chain's definition took.
    pub seconds: f64,
    /// Why it waits, in words; empty of the first.
    pub why: String,
    span: Span,
}

/// The chains of a program's own definitions that have run.
pub(super) fn chains(profile: &Profile, program: &Program, found: &Discovered, sources: &Sources) -> Vec<Chain> {
    let is_own = |def: DefId| program.defs.get(def).is_some_and(|def| def.origin != Origin::Prelude);
    let mut groups: Vec<Vec<&Waiting>> = vec![];
    for waiting in found.waiting.iter().filter(|waiting| is_own(waiting.def)) {
        let is_linked = |other: &&Waiting| {
            other.def == waiting.def
                && [other.call.span, other.on.span]
                    .iter()
                    .any(|span| [waiting.call.span, waiting.on.span].contains(span))
        };
        let (linked, mut rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.iter().any(is_linked));
        rest.push(linked.into_iter().flatten().chain([waiting]).collect());
        groups = rest;
    }
    let mut chains: Vec<Chain> = groups
        .iter()
        .map(|group| chain(group, profile, program, sources))
        .filter(|chain| chain.has_run(profile))
        .collect();
    chains.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.place.cmp(&b.place)));
    chains
}

impl Chain {
    /// Whether two of its calls were made at least: one alone waits for none.
    fn has_run(&self, profile: &Profile) -> bool {
        let was_called = |link: &&Link| !frames(profile, &self.function, &link.call).is_empty();
        self.links.iter().filter(was_called).count() > 1
    }
}

fn chain(group: &[&Waiting], profile: &Profile, program: &Program, sources: &Sources) -> Chain {
    let def = &program.defs[group[0].def];
    let mut calls: Vec<&Called> = vec![];
    for called in group.iter().flat_map(|waiting| [&waiting.on, &waiting.call]) {
        if !calls.iter().any(|other| other.span == called.span) {
            calls.push(called);
        }
    }
    calls.sort_by_key(|called| (depth(called, group, group.len()), called.span.start));
    let mut counted: Vec<usize> = vec![];
    let links: Vec<Link> = calls
        .iter()
        .map(|called| {
            let frames = frames(profile, &def.name, &called.name);
            let seconds = seconds_of(profile, &frames);
            counted.extend(frames);
            let (line, column) = sources.line_column(called.span.source, called.span.start);
            let why = group.iter().find(|waiting| waiting.call.span == called.span);
            let why = why.map_or(String::new(), |waiting| why_in_words(waiting, sources));
            Link { call: called.name.to_string(), line, column, seconds, why, span: called.span }
        })
        .collect();
    // Calls of one definition share its frame, and one call may be within another.
    let seconds = seconds_of(profile, &outermost(profile, counted));
    let excerpt = excerpt(&links, sources);
    Chain { function: def.name.to_string(), place: place(sources, def.span), links, seconds, excerpt }
}

/// How many calls a call waits for, one after the other.
fn depth(called: &Called, group: &[&Waiting], most: usize) -> usize {
    let before = group.iter().filter(|waiting| waiting.call.span == called.span && most > 0);
    before.map(|waiting| 1 + depth(&waiting.on, group, most - 1)).max().unwrap_or(0)
}

/// The frames of calls of one definition by another: below it, or around it where recursion goes on in a frame that is there.
fn frames(profile: &Profile, caller: &str, callee: &str) -> Vec<usize> {
    let frames = &profile.frames;
    let mut found = vec![];
    for (at, frame) in frames.iter().enumerate() {
        if frame.name == callee && frame.caller.is_some_and(|caller_at| frames[caller_at].name == caller) {
            found.push(at);
        }
        if frame.name == caller {
            let around = std::iter::successors(Some(at), |at| frames[*at].caller);
            found.extend(around.into_iter().find(|at| frames[*at].name == callee));
        }
    }
    outermost(profile, found)
}

/// Frames without those that are within others.
fn outermost(profile: &Profile, mut found: Vec<usize>) -> Vec<usize> {
    let frames = &profile.frames;
    found.sort_unstable();
    found.dedup();
    let is_within =
        |at: usize| std::iter::successors(frames[at].caller, |at| frames[*at].caller).any(|at| found.contains(&at));
    found.iter().copied().filter(|at| !is_within(*at)).collect()
}

/// What frames took together. A sum of no floats is -0.
fn seconds_of(profile: &Profile, frames: &[usize]) -> f64 {
    frames.iter().fold(0.0, |sum, at| sum + profile.frames[*at].total)
}

fn why_in_words(waiting: &Waiting, sources: &Sources) -> String {
    let on = &waiting.on;
    let (line, column) = sources.line_column(on.span.source, on.span.start);
    match waiting.why {
        Why::Result => format!("needs the result of `{}` ({line}:{column})", on.name),
        Why::Choice => format!("whether it is called depends on the result of `{}` ({line}:{column})", on.name),
    }
}

/// The lines of the calls, in the order of the text; below each the calls are underlined, with what they took and why they wait.
fn excerpt(links: &[Link], sources: &Sources) -> String {
    let mut links: Vec<&Link> = links.iter().collect();
    links.sort_by_key(|link| (link.line, std::cmp::Reverse(link.column)));
    let width = links.iter().map(|link| link.line.to_string().len()).max().unwrap_or(1);
    let mut text = String::new();
    let mut shown = 0;
    for link in links {
        let Some(source) = sources.get(link.span.source) else { continue };
        let Some(line) = source.line(link.line - 1) else { continue };
        if link.line != shown {
            let _ = writeln!(text, "{:>width$} │ {}", link.line, source.text[line.clone()].trim_end());
            shown = link.line;
        }
        let before: String = source.text[line.start..link.span.start as usize]
            .chars()
            .map(|c| if c == '\t' { c } else { ' ' })
            .collect();
        let end = (link.span.end as usize).min(line.end).max(link.span.start as usize);
        let marks = "^".repeat(source.text[link.span.start as usize..end].trim_end().chars().count().max(1));
        let comma = if link.why.is_empty() { "" } else { ", " };
        let _ = writeln!(text, "{:>width$} │ {before}{marks} {:.3} s{comma}{}", "", link.seconds, link.why);
    }
    text
}
