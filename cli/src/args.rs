//! The command line as a whole: what all verbs share, and the list of verbs.

use crate::verbs::Verb;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, ColorChoice, CommandFactory, Parser};
use girih_base::diag::did_you_mean;
use std::ffi::OsString;
use std::num::NonZeroUsize;

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

impl Command {
    /// Reads the command line; ends the process where it is wrong, or asks for help.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Command {
        Command::try_parse_from(protect_negative_numbers(words)).unwrap_or_else(|error| corrected(error).exit())
    }
}

/// Reads a number of things of which there is one at least.
pub fn count(text: &str) -> Result<NonZeroUsize, String> {
    text.trim().parse().map_err(|_| "expected a whole number from 1 on".to_owned())
}

/// The error with the verb that was meant. The parser's own measure finds hidden names that are like a wrong word in its first letter alone.
fn corrected(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let command = Command::command();
    let verbs = command.get_subcommands().map(clap::Command::get_name);
    let meant = did_you_mean(word, verbs).map(|verb| ContextValue::Strings(vec![verb.to_owned()]));
    let by_end = [(".bend", "run"), (".hvm", "run"), (".gir", "check"), (".py", "launch")];
    let verb = by_end.iter().find(|(end, _)| word.ends_with(end)).map(|(_, verb)| verb);
    let tip = verb.map(|verb| ContextValue::StyledStrs(vec![format!("`girih {verb} {word}` takes the file").into()]));
    // An empty tip would be shown as one.
    error.remove(ContextKind::SuggestedSubcommand);
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, tip);
    } else if let Some(meant) = meant {
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}

/// A word such as `-5` or `-1.5f32` is a program argument, but clap would take it for a flag: no flag starts with a
/// digit, so a space is put before the word, which means nothing in Bend.
fn protect_negative_numbers(words: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
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

    #[test]
    fn a_verb_with_a_slip_is_found() {
        let said = |word: &str| {
            let error = Command::try_parse_from(["girih", word]).expect_err("there is no such verb");
            corrected(error).to_string()
        };
        for (word, verb) in
            [("rnu", "run"), ("chek", "check"), ("tests", "test"), ("benhc", "bench"), ("pofile", "profile")]
        {
            let said = said(word);
            assert!(said.contains(&format!("'{verb}'")) && !said.contains("run-"), "{said}");
        }
        assert!(!said("sort.bend").contains("similar"), "{}", said("sort.bend"));
    }
}
