//! What a check costs grows as the program does: programs so large that anything that grows with the square is far beyond the limit.

use crate::constructs::ALL;
use crate::lower::compiled_as;
use girih_base::diag::{Style, render};
use girih_bend::Options;
use girih_workbench::work::{Ended, within};
use std::time::Duration;

/// How many of a construct a program has.
const SIZE: usize = 16_000;

/// Processor time for one program, which takes a second or two.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn every_construct_is_checked_within_the_limit() {
    let late: Vec<&str> = ALL
        .iter()
        .filter(|construct| {
            let text = (construct.program)(SIZE);
            let check = move || {
                let compilation = compiled_as(&[("main", &text)], &Options::default());
                let draw = |found| render(found, &compilation.sources, Style::Plain).len();
                let lengths: Vec<usize> = compilation.diagnostics.iter().map(draw).collect();
                (compilation.program.is_some(), lengths)
            };
            match within(LIMIT, check) {
                Ended::Well((is_right, lengths)) => {
                    let is_wrong = construct.name.starts_with("errors") && !construct.name.ends_with("reached");
                    assert_eq!(is_right, !is_wrong, "{}", construct.name);
                    let longest = lengths.iter().max().copied().unwrap_or(0);
                    assert!(longest < 5_000, "{}: a message of {longest} bytes", construct.name);
                    false
                }
                Ended::Panicked(message) => panic!("{}: {message}", construct.name),
                Ended::Late => true,
            }
        })
        .map(|construct| construct.name)
        .collect();
    assert!(late.is_empty(), "these take too long: {late:?}");
}
