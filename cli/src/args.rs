//! The command line as a whole: what all verbs share, and the list of verbs.

use crate::verbs::Verb;
use clap::{ArgAction, Args, ColorChoice, Parser};
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  girih run sort.bend             run a program and print its result
  girih run add.bend 3 +4         run it with arguments, which are Bend expressions
  girih check src/*.bend          look for mistakes without running anything
  girih render plasma.bend        draw an image shader
  girih explain B0301             explain an error";

/// Bend programs on every GPU.
#[derive(Debug, Parser)]
#[command(name = "girih", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Command {
    /// What all verbs share.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options of every verb.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub struct Global {
    /// When to use colours; NO_COLOR is respected too
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// Print results and diagnostics as JSON objects, one on each line
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what is being done and how long it takes
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub verbose: bool,
    /// Accepted for compatibility with `bend`: no other program is needed here
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub hvm_bin: Option<OsString>,
}

/// A word such as `-5` or `-1.5f32` is a program argument, but clap would take it for a flag: no flag starts with a
/// digit, so a space is put before the word, which means nothing in Bend.
pub fn protect_negative_numbers(words: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    words.into_iter().map(|word| match word.to_str() {
        Some(text) if text.starts_with('-') && text[1..].starts_with(|c: char| c.is_ascii_digit()) => {
            OsString::from(format!(" {text}"))
        }
        Some(_) | None => word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Command::command().debug_assert();
    }

    #[test]
    fn negative_numbers_are_arguments_and_flags_stay_flags() {
        let words = ["run", "-5", "-1.5f32", "-p", "--stats", "-", "+3"].map(OsString::from);
        let protected: Vec<OsString> = protect_negative_numbers(words).collect();
        assert_eq!(protected, ["run", " -5", " -1.5f32", "-p", "--stats", "-", "+3"].map(OsString::from));
    }
}
