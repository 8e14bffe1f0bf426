//! Figures beside those of an earlier day.

use super::figures::Figures;

/// How a program's time has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The program.
    pub name: String,
    /// How many threads; none on a device.
    pub threads: Option<usize>,
    /// The earlier time.
    pub before: f64,
    /// The time now.
    pub now: f64,
}

impl Change {
    /// How many times as long it takes now.
    pub fn ratio(&self) -> f64 {
        self.now / self.before.max(1e-9)
    }
}

/// The changes of all that was measured both times: the same program, size and number of threads.
pub fn changes(before: &Figures, now: &Figures) -> Vec<Change> {
    let mut changes = vec![];
    for row in &now.rows {
        let Some(old) = before.rows.iter().find(|old| old.name == row.name && old.size == row.size) else { continue };
        for run in &row.runs {
            let Some(old) = old.runs.iter().find(|old| old.threads == run.threads) else { continue };
            let (before, now) = (old.seconds, run.seconds);
            changes.push(Change { name: row.name.clone(), threads: run.threads, before, now });
        }
    }
    changes
}

/// A line a change; those beyond the threshold are marked.
pub fn table(changes: &[Change], threshold: f64) -> String {
    let mut text = String::new();
    let width = changes.iter().map(|change| change.name.len()).max().unwrap_or(0);
    for change in changes {
        let threads = super::figures::on(change.threads);
        // As wide as `threads` is with one more letter.
        let gap = if change.threads == Some(1) { " " } else { "" };
        let mark = if change.ratio() > threshold { "  slower" } else { "" };
        let (before, now) = (super::table::seconds(change.before), super::table::seconds(change.now));
        let (name, ratio) = (&change.name, change.ratio());
        let line = format!("{name:<width$}  {threads}{gap}  {before:>8} -> {now:>8}  {ratio:.2}x{mark}\n");
        text.push_str(&line);
    }
    text
}
