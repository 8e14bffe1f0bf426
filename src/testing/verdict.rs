//! What is said of a test that fails: both values, each at its place.

use crate::run::value_of_io;
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::BinOp;
use girih_base::span::Span;
use girih_bend::testing::{Side, Test};

/// How many characters of a long value are shown.
const SHOWN: usize = 60;
/// How many of them stand before the place where two values differ.
const BEFORE: usize = 20;

/// Of a test whose value says whether it passes: nothing if it does.
pub(super) fn truth(test: &Test, value: &str) -> Option<Diagnostic> {
    // A test whose value is an `IO` gives what that ends with.
    let value = value_of_io(value).unwrap_or(value);
    let passes = value.parse::<f64>().ok().map(|number| number != 0.0);
    let message = match passes {
        Some(true) => return None,
        Some(false) => format!("`{}` gives {}", test.name, shown(value, 0)),
        None => {
            format!("`{}` gives {}, which says neither that it passes nor that it fails", test.name, shown(value, 0))
        }
    };
    let hint = "a test passes if it gives a number other than 0; end it with a comparison, such as `return total == 6`";
    Some(Diagnostic::new(Code::TestFailed, test.span, message).hint(hint))
}

/// Whether a value is a number, of its text.
pub(super) fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok()
}

/// Of a comparison that does not hold.
pub(super) fn comparison(op: BinOp, sides: &[Side; 2], values: &[String; 2]) -> Diagnostic {
    let message = match op {
        BinOp::Eq if values[0] == values[1] => "the two sides differ by less than is printed",
        BinOp::Eq => "the two sides differ",
        BinOp::Ne => "the two sides are equal",
        _ => "the comparison does not hold",
    };
    let difference = difference(&values[0], &values[1]);
    let [left, right] = [0, 1].map(|side| format!("gives {}", shown(&values[side], difference)));
    Diagnostic::new(Code::TestFailed, sides[0].span, message).at(left).label(sides[1].span, right)
}

/// Of an example whose value is another than the one that is written.
pub(super) fn shown_value(test: &Test, value: &str, expected: &str, at: Span) -> Option<Diagnostic> {
    (value != expected).then(|| {
        let given = format!("gives {}", shown(value, difference(value, expected)));
        Diagnostic::new(Code::TestFailed, test.span, "the example gives something else").at(given).label(at, "expected")
    })
}

/// How many characters two texts have in common at their beginning.
fn difference(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count()
}

/// A value in backquotes; of a long one the part around the character `at`.
fn shown(value: &str, at: usize) -> String {
    let length = value.chars().count();
    if length <= SHOWN {
        return format!("`{value}`");
    }
    let start = at.saturating_sub(BEFORE).min(length - SHOWN);
    let part: String = value.chars().skip(start).take(SHOWN).collect();
    let (before, behind) = (if start > 0 { "…" } else { "" }, if start + SHOWN < length { "…" } else { "" });
    format!("`{before}{part}{behind}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_values_the_part_that_differs_is_shown() {
        assert_eq!(shown("[1, 2]", 3), "`[1, 2]`");
        let long: String = (0..100).map(|digit| char::from(b'0' + digit % 10)).collect();
        assert_eq!(shown(&long, 0), format!("`{}…`", &long[..60]));
        assert_eq!(shown(&long, 50), format!("`…{}…`", &long[30..90]));
        assert_eq!(shown(&long, 99), format!("`…{}`", &long[40..]));
        assert_eq!(difference("[1, 2]", "[1, 3]"), 4);
    }
}
