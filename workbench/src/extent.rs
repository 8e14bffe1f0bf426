//! How much of a long suite is run: a part of it, or with `GIRIH_TESTS=full` all.

use crate::notes::{self, Note};

/// The variable that asks for all of every suite.
pub const EXTENT: &str = "GIRIH_TESTS";

/// Whether all of every suite is run.
///
/// # Panics
/// If the variable has a value that means nothing.
pub fn is_full() -> bool {
    match std::env::var(EXTENT).as_deref() {
        Ok("full") => true,
        Ok("" | "part") | Err(_) => false,
        Ok(other) => panic!("{EXTENT}={other} means nothing: it is `part` or `full`"),
    }
}

/// How many cases of a suite are run: as many as its own `variable` says, otherwise `full` of them with `GIRIH_TESTS=full`, and `part` without,
/// which is said in the summary.
pub fn sample(variable: &str, part: u64, full: u64) -> u64 {
    if let Some(number) = number(variable) {
        return number;
    }
    if is_full() {
        return full;
    }
    notes::take(&Note::InPart);
    part
}

/// The share of a long list of cases that is run.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    each: usize,
}

/// All cases.
pub const ALL: Share = Share { each: 1 };

/// Each so many-th case, which is said in the summary; all of them with `GIRIH_TESTS=full`.
pub fn share(each: usize) -> Share {
    if is_full() {
        return ALL;
    }
    notes::take(&Note::InPart);
    Share { each }
}

impl Share {
    /// The cases that are run.
    pub fn of<T>(self, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        cases.into_iter().step_by(self.each)
    }

    /// How far a case that is run is from the next one.
    pub fn stride(self) -> usize {
        self.each
    }

    /// How many cases to leave out first, so that lists of other numbers between them run all cases.
    pub fn offset(self, number: usize) -> usize {
        number % self.each
    }

    /// Whether the case of a number is run.
    pub fn has(self, number: usize) -> bool {
        number.is_multiple_of(self.each)
    }

    /// How many of these are wanted where so many of all cases are. A share may have a few less.
    pub fn least(self, of_all: usize) -> usize {
        if self.each == 1 { of_all } else { of_all / self.each * 3 / 4 }
    }
}

/// The number that a variable says, if it is set.
///
/// # Panics
/// If it says something else.
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}
