//! `girih explain [CODE]`: the table of diagnostics, one row of it or all.

use crate::console::Console;
use crate::exit::Exit;
use clap::Args;
use girih::{Code, Severity};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  girih explain                      list all errors and warnings
  girih explain B0501                one of them, by its code
  girih explain unused-definition    a warning, by its name";

/// The width that explanations are wrapped to.
const WIDTH: usize = 100;

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// A code such as B0301, or the name of a warning; without it, all are listed
    code: Option<String>,
}

impl Explain {
    /// Prints the explanation.
    pub fn run(&self, console: &Console) -> Exit {
        let Some(text) = &self.code else {
            for &code in Code::ALL {
                console.result(&row(code), || object(code));
            }
            return Exit::Ok;
        };
        if let Some(code) = Code::find(text) {
            console.result(&full(code), || object(code));
            return Exit::Ok;
        }
        let known = Code::ALL.iter().flat_map(|c| std::iter::once(c.as_str()).chain(c.warning_name()));
        let hint = match girih::did_you_mean(text, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`girih explain` lists all codes".to_owned(),
        };
        console.note(&format!("error: there is no error or warning `{text}`\n{hint}"));
        console.object(&json!({"kind": "unknown", "code": text, "hint": hint}));
        Exit::Usage
    }
}

/// `error` or `warning`.
fn severity(code: Code) -> &'static str {
    match code.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A line of the list.
fn row(code: Code) -> String {
    let name = code.warning_name().map(|n| format!(" (-W {n})")).unwrap_or_default();
    format!("{code}  {:<7}  {}{name}", severity(code), code.title())
}

/// Everything about one code.
fn full(code: Code) -> String {
    let mut text = format!("{} {code}: {}\n\n{}", severity(code), code.title(), wrap(code.explanation(), WIDTH));
    if let Some(name) = code.warning_name() {
        text += &format!("\n\n-W {name} shows it as a warning, -D {name} makes it an error, -A {name} hides it.");
    }
    text
}

fn object(code: Code) -> Value {
    json!({
        "kind": "explanation", "code": code.as_str(), "severity": severity(code), "warning": code.warning_name(),
        "title": code.title(), "explanation": code.explanation(),
    })
}

/// Breaks lines at spaces so that none is longer than `width` characters, unless a single word is. Lines that end in the
/// text stay ended.
fn wrap(text: &str, width: usize) -> String {
    let wrapped = text.lines().map(|line| {
        let mut out = String::new();
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > width {
                out.push('\n');
                column = 0;
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out
    });
    wrapped.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("one two three\nfour", 7), "one two\nthree\nfour");
        assert_eq!(wrap("incomprehensible it is", 6), "incomprehensible\nit is");
    }
}
