//! `-W`, `-D` and `-A`: which warnings are shown, which are errors, which are hidden. The last option wins, so the order of
//! all three on the command line is kept.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use girih::{Code, Severity, WarningLevels};

/// The flags in the order of the command line.
#[derive(Clone, Debug, Default)]
pub struct WarningFlags {
    set: Vec<(Which, Option<Severity>)>,
}

/// What a flag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// `all`: every warning but `missing-main`.
    All,
    /// One of them.
    One(Code),
}

/// The three flags: identifier, letter, help, level.
const FLAGS: [(&str, char, &str, Option<Severity>); 3] = [
    ("warn", 'W', "Show a warning", Some(Severity::Warning)),
    ("deny", 'D', "Treat a warning as an error", Some(Severity::Error)),
    ("allow", 'A', "Hide a warning", None),
];

impl WarningFlags {
    /// Applies the flags to `levels`.
    pub fn apply(&self, levels: &mut WarningLevels) {
        for (which, level) in &self.set {
            match which {
                Which::One(code) => levels.set(*code, *level),
                Which::All => named().filter(|c| *c != Code::MissingMain).for_each(|c| levels.set(c, *level)),
            }
        }
    }
}

/// The diagnostics that have a warning name.
fn named() -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(|c| c.warning_name().is_some())
}

fn find(text: &str) -> Option<Which> {
    if text == "all" { Some(Which::All) } else { named().find(|c| c.warning_name() == Some(text)).map(Which::One) }
}

impl Args for WarningFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, (id, letter, help, _)| {
            let names = std::iter::once("all").chain(named().filter_map(Code::warning_name));
            let parser = PossibleValuesParser::new(names).try_map(|text| find(&text).ok_or("no such warning"));
            command.arg(
                Arg::new(*id)
                    .short(*letter)
                    .long(*id)
                    .value_name("WARNING")
                    .help(*help)
                    .help_heading("Warnings")
                    .hide_possible_values(*id != "warn")
                    .action(ArgAction::Append)
                    .value_delimiter(' ')
                    .value_parser(parser),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WarningFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = WarningFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let mut placed = vec![];
        for (id, _, _, level) in FLAGS {
            let places = matches.indices_of(id).into_iter().flatten();
            let values = matches.get_many::<Which>(id).into_iter().flatten();
            placed.extend(places.zip(values).map(|(place, which)| (place, (*which, level))));
        }
        placed.sort_by_key(|(place, _)| *place);
        self.set.extend(placed.into_iter().map(|(_, flag)| flag));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        warnings: WarningFlags,
    }

    fn levels(words: &[&str]) -> WarningLevels {
        let line = Line::try_parse_from(std::iter::once(&"girih").chain(words)).expect("these are flags");
        let mut levels = WarningLevels::default();
        line.warnings.apply(&mut levels);
        levels
    }

    #[test]
    fn the_last_word_counts_whatever_its_letter() {
        let l = levels(&["-Dall", "-A", "unused-definition", "-Wrepeated-bind"]);
        assert_eq!(l.level(Code::UnusedDefinition), None);
        assert_eq!(l.level(Code::RepeatedBind), Some(Severity::Warning));
        assert_eq!(l.level(Code::ImportShadow), Some(Severity::Error));
        let l = levels(&["-Aunused-definition", "-Dall"]);
        assert_eq!(l.level(Code::UnusedDefinition), Some(Severity::Error));
    }

    #[test]
    fn all_leaves_the_missing_entry_point_an_error() {
        assert_eq!(levels(&["-Aall"]).level(Code::MissingMain), Some(Severity::Error));
        assert_eq!(levels(&["-Amissing-main"]).level(Code::MissingMain), None);
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(Line::try_parse_from(["girih", "-W", "no-such-warning"]).is_err());
    }
}
