//! Figures compared with earlier ones: a verdict for each.

use super::figures::{Figures, on};
use super::spread::Spread;
use super::table::{Grid, seconds};

/// How a time has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The suite.
    pub suite: String,
    /// The program and its size.
    pub title: String,
    /// How many threads; none on a device.
    pub threads: Option<usize>,
    /// The earlier times.
    pub before: Spread,
    /// The times now.
    pub now: Spread,
}

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It takes less than then.
    Faster,
    /// It takes longer than then.
    Slower,
    /// The middle halves of the runs meet, or the difference is below the threshold.
    Same,
}

impl Verdict {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
        }
    }
}

impl Change {
    /// How many times as long it takes now.
    pub fn ratio(&self) -> f64 {
        self.now.median / self.before.median.max(1e-12)
    }

    /// What it means, if only times that differ by more than this factor count.
    pub fn verdict(&self, threshold: f64) -> Verdict {
        match self.ratio() {
            _ if self.now.meets(&self.before) => Verdict::Same,
            ratio if ratio > threshold => Verdict::Slower,
            ratio if ratio < 1.0 / threshold => Verdict::Faster,
            _ => Verdict::Same,
        }
    }
}

/// The changes of all that was measured both times: the same program, size and number of threads.
pub fn changes(before: &Figures, now: &Figures) -> Vec<Change> {
    let mut changes = vec![];
    for row in &now.rows {
        let is_same = |old: &&super::Row| (&old.suite, old.title()) == (&row.suite, row.title());
        let Some(old) = before.rows.iter().find(is_same) else { continue };
        for run in &row.runs {
            let Some(old) = old.runs.iter().find(|old| old.threads == run.threads) else { continue };
            let (suite, title) = (row.suite.clone(), row.title());
            changes.push(Change { suite, title, threads: run.threads, before: old.time, now: run.time });
        }
    }
    changes
}

/// A line a change.
pub fn grid(changes: &[Change], threshold: f64) -> Grid {
    let head = ["suite", "program", "on", "before", "now", "ratio", "verdict"].map(str::to_owned).to_vec();
    let row = |change: &Change| {
        vec![
            change.suite.clone(),
            change.title.clone(),
            on(change.threads),
            seconds(change.before.median),
            seconds(change.now.median),
            format!("{:.2}x", change.ratio()),
            change.verdict(threshold).name().to_owned(),
        ]
    };
    Grid { head, rows: changes.iter().map(row).collect(), names: 2 }
}

/// What was compared, and how it came out, in a line.
pub fn summary(before: &Figures, now: &Figures, changes: &[Change], threshold: f64) -> String {
    let count = |wanted| changes.iter().filter(|change| change.verdict(threshold) == wanted).count();
    let [faster, slower, same] = [Verdict::Faster, Verdict::Slower, Verdict::Same].map(count);
    let new: usize = now.rows.iter().map(|row| row.runs.len()).sum::<usize>() - changes.len();
    let mut text = format!("since {}: {faster} faster, {slower} slower, {same} the same", before.date);
    if new > 0 {
        text.push_str(&format!(", {new} not in the baseline"));
    }
    let device = |figures: &Figures| figures.card.clone().unwrap_or_else(|| figures.device.clone());
    if device(before) != device(now) || before.machine != now.machine {
        text.push_str("; it was another machine or device");
    }
    text
}
