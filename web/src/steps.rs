//! A net in the middle of its reduction, for who goes through it step by step.

use crate::check::Findings;
use crate::files::{File, Language};
use girih::nets::{NetForm, Nets, Snapshot};
use girih::{Code, Diagnostic, Error};
use girih_base::span::Span;
use girih_net::reduce::Limits;
use serde::Serialize;

/// The most steps, and the most bytes of a net: each picture is reached from the beginning again.
const MOST: u64 = 100_000;
const MEMORY: u64 = 64 << 20;

/// A net after some steps, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Stepped {
    /// The net.
    Net {
        /// How many interactions were done.
        steps: u64,
        /// The rule of the last one.
        rule: Option<&'static str>,
        /// Whether nothing is left to be done.
        is_normal: bool,
        /// Its text.
        text: String,
        /// Its picture, unless it is too large.
        picture: Option<String>,
    },
    /// Why not.
    Not(Findings),
}

/// The net of a text after so many steps.
pub fn after(file: &File, steps: u64) -> Stepped {
    match snapshot(file, steps) {
        Ok(Snapshot { steps, rule, is_normal, text, picture }) => {
            Stepped::Net { steps, rule, is_normal, text, picture }
        }
        Err(error) => Stepped::Not(Findings::of(&error)),
    }
}

fn snapshot(file: &File, steps: u64) -> Result<Snapshot, Error> {
    let nets = match file.language {
        Language::Hvm => Nets::from_text(file.language.file(), &file.text)?,
        Language::Bend => Nets::from_text(Language::Hvm.file(), &file.program(true).net(NetForm::Net)?)?,
        Language::Gir | Language::Python => {
            return Err(Diagnostic::new(Code::BadArguments, Span::NONE, "kernels are no nets").into());
        }
    };
    if steps > MOST {
        let message = format!("only the first {MOST} steps of a net are shown");
        return Err(Diagnostic::new(Code::BadArguments, Span::NONE, message).into());
    }
    nets.after(None, steps, &Limits { memory: MEMORY, ..Limits::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_net_goes_on_step_by_step() {
        let file = File::new(Language::Hvm, "@main = a & @square ~ (7 a)\n@square = ({$([*] $(b r)) b} r)\n");
        let mut last = String::new();
        for step in 0..7 {
            let Stepped::Net { steps, is_normal, text, picture, .. } = after(&file, step) else {
                panic!("it is a net")
            };
            assert_eq!((steps, is_normal), (step, step == 6), "{text}");
            assert!(text != last && picture.is_some_and(|svg| svg.starts_with("<svg")), "{text}");
            last = text;
        }
        assert_eq!(last, "49");
        assert!(matches!(
            after(&File::new(Language::Bend, "def main():\n  return {1 2} + 3\n"), 1),
            Stepped::Net { steps: 1, .. }
        ));
        assert!(matches!(after(&File::new(Language::Gir, ""), 1), Stepped::Not(_)));
        assert!(matches!(after(&file, MOST + 1), Stepped::Not(_)));
    }
}
