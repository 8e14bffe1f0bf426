//! What a program did on a device, or as an interaction net: its supersteps while time went on, its tasks, its memory, the rules of its net.
//!
//! Invariant: the times of all rows add up to the time of the run; what passed outside of supersteps has a row of its own.

use crate::console::Console;
use crate::exit::Exit;
use crate::verbs::run::stats_json;
use girih::{Executable, Parallelism, Work};
use girih_base::plural::counted;
use girih_bench::table::Grid;
use girih_runtime::{StepStats, TaskStats, Timeline};
use serde_json::{Value, json};
use std::fmt::Write;

/// Rows that are shown unless all are wanted.
const ROWS: usize = 16;
/// Characters of a bar for all lanes.
const BAR: f64 = 20.0;

/// Shows what a run took that has given `text`.
pub(super) fn show(
    text: &str,
    executable: &Executable,
    found: Option<&Parallelism>,
    all: bool,
    console: &Console,
) -> Exit {
    let timeline = executable.timeline().map(|timeline| timeline.in_slices(if all { usize::MAX } else { ROWS }));
    console
        .result(&in_words(text, executable, timeline.as_ref(), found), || object(text, executable, timeline.as_ref()));
    Exit::Ok
}

fn in_words(text: &str, executable: &Executable, timeline: Option<&Timeline>, found: Option<&Parallelism>) -> String {
    let stats = executable.stats();
    let mut shown = format!("Result: {text}\n\n");
    match (&stats.work, timeline) {
        (Work::Compiled(TaskStats { steps: Some(work), most_bytes, .. }), Some(timeline)) => {
            let StepStats { heap, steps, tasks, collections, .. } = *work;
            shown.push_str(&table(timeline, stats.seconds));
            let _ = writeln!(shown, "\n{:.3} s: {}", stats.seconds, executable.choice());
            let average = 100.0 * timeline.busy();
            let _ = writeln!(
                shown,
                "{average:.2} % of the lanes had a task when their superstep began, on average over the time"
            );
            let _ = writeln!(
                shown,
                "{steps} supersteps, {} between workgroups, {}",
                counted(tasks as usize, "task"),
                counted(collections as usize, "collection")
            );
            let _ = writeln!(shown, "{} of {} MiB of memory for cells at most", mib(*most_bytes), mib(heap));
        }
        (Work::Compiled(_) | Work::Net(..) | Work::Evaluated(_), _) => {
            let _ = writeln!(shown, "{stats}\n\n{}", executable.choice());
        }
    }
    if let Some(found) = found {
        let _ = write!(shown, "\n{found}");
    }
    shown.trim_end().to_owned()
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// A row for each slice, and one for the rest of the time.
fn table(timeline: &Timeline, seconds: f64) -> String {
    let head = ["lanes with a task", "from", "time", "%", "lanes %", "supersteps", "tasks", "MiB"];
    let percent = |part: f64| format!("{:.1}", 100.0 * part / seconds.max(1e-12));
    let mut from = 0.0;
    let mut rows: Vec<Vec<String>> = vec![];
    for slice in &timeline.slices {
        let (took, busy) = (slice.took.as_secs_f64(), timeline.busy_in(slice));
        rows.push(vec![
            bar(busy),
            format!("{from:.3} s"),
            format!("{took:.3} s"),
            percent(took),
            format!("{:.2}", 100.0 * busy),
            slice.steps.to_string(),
            slice.tasks.to_string(),
            mib(slice.bytes),
        ]);
        from += took;
    }
    let rest = outside(timeline, seconds);
    let mut last = vec!["outside of supersteps".to_owned(), String::new()];
    last.extend([format!("{rest:.3} s"), percent(rest)]);
    last.resize(head.len(), String::new());
    rows.push(last);
    Grid { head: head.map(str::to_owned).to_vec(), rows, names: 1 }.text()
}

/// Seconds in which no superstep ran: the host gave the program to the device, read and printed its value, and performed its effects.
fn outside(timeline: &Timeline, seconds: f64) -> f64 {
    (seconds - timeline.time().as_secs_f64()).max(0.0)
}

/// A part of all lanes; at least one mark where there is any.
fn bar(part: f64) -> String {
    let marks = (BAR * part).ceil() as usize;
    "#".repeat(marks.min(BAR as usize))
}

fn object(text: &str, executable: &Executable, timeline: Option<&Timeline>) -> Value {
    let stats = executable.stats();
    let slices = |timeline: &Timeline| -> Vec<Value> {
        let slice = |slice: &girih_runtime::Slice| {
            json!({
                "seconds": slice.took.as_secs_f64(), "busy": timeline.busy_in(slice), "supersteps": slice.steps,
                "tasks": slice.tasks, "bytes": slice.bytes,
            })
        };
        timeline.slices.iter().map(slice).collect()
    };
    json!({
        "kind": "device_profile",
        "text": text,
        "seconds": stats.seconds,
        "outside_seconds": timeline.map(|timeline| outside(timeline, stats.seconds)),
        "busy": timeline.map(Timeline::busy),
        "slices": timeline.map(slices),
        "stats": stats_json(executable),
    })
}
