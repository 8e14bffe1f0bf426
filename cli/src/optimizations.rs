//! `-O`: the switches of `bend`. Only type checking can be switched here; the others change an encoding into interaction nets
//! that does not exist here, so they are accepted and change nothing.

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimization {
    /// `type-check` and `no-type-check`.
    TypeCheck(bool),
    /// Any other switch of `bend`.
    Ignored,
}

/// The switches that can be turned on and, with `no-` before them, off.
const PAIRS: [&str; 7] = ["all", "eta", "prune", "linearize-matches", "float-combinators", "merge", "inline"];

/// The remaining ones.
const SINGLES: [&str; 5] =
    ["check-net-size", "no-check-net-size", "linearize-matches-alt", "adt-scott", "adt-num-scott"];

/// The switch of this name.
pub fn parse(text: &str) -> Result<Optimization, String> {
    let bare = text.strip_prefix("no-").unwrap_or(text);
    match text {
        "type-check" => Ok(Optimization::TypeCheck(true)),
        "no-type-check" => Ok(Optimization::TypeCheck(false)),
        _ if PAIRS.contains(&bare) || SINGLES.contains(&text) => Ok(Optimization::Ignored),
        _ => {
            let known = PAIRS.iter().chain(&SINGLES).copied().chain(["type-check", "no-type-check"]);
            let hint = girih::did_you_mean(text, known).map(|name| format!(", did you mean `{name}`?"));
            Err(format!("no such optimization{}", hint.unwrap_or_default()))
        }
    }
}

/// Whether the program is type-checked after all the switches.
pub fn type_check(switches: &[Optimization]) -> bool {
    let last = switches.iter().rev().find_map(|s| match s {
        Optimization::TypeCheck(on) => Some(*on),
        Optimization::Ignored => None,
    });
    last.unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switches_of_bend_are_known() {
        for name in ["all", "no-all", "eta", "no-float-combinators", "adt-scott", "no-check-net-size"] {
            assert_eq!(parse(name), Ok(Optimization::Ignored), "{name}");
        }
        assert!(parse("foo").is_err() && parse("no-adt-scott").is_err());
        assert!(parse("inlne").is_err_and(|e| e.contains("`inline`")));
        assert!(!type_check(&[Optimization::TypeCheck(false), Optimization::Ignored]));
        assert!(type_check(&[Optimization::TypeCheck(false), Optimization::TypeCheck(true)]));
    }
}
