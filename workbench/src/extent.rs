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

/// The number that a variable says, if it is set.
///
/// # Panics
/// If it says something else.
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}
