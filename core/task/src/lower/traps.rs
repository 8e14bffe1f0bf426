//! What can go wrong in a run, and where: the codes of `trap_if`.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::collections::HashMap;

/// What a trap means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// The error.
    pub code: Code,
    /// Where.
    pub span: Span,
    /// One sentence.
    pub message: String,
    /// What to do.
    pub hint: &'static str,
}

impl Trap {
    /// The error for people.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.code, self.span, self.message.clone()).hint(self.hint)
    }
}

/// All traps of a program, each once.
#[derive(Debug, Default)]
pub(super) struct Traps {
    all: Vec<Trap>,
    known: HashMap<Trap, u32>,
}

impl Traps {
    /// The code of a trap.
    pub(super) fn code(&mut self, trap: Trap) -> u32 {
        let all = &mut self.all;
        *self.known.entry(trap).or_insert_with_key(|trap| {
            all.push(trap.clone());
            all.len() as u32
        })
    }
    pub(super) fn all(self) -> Vec<Trap> {
        self.all
    }
}

/// Hints, each said in one place.
pub(super) mod hint {
    pub(in super::super) const REPORT: &str = "please report it with the program";
    pub(in super::super) const DIVISION: &str = "compare the divisor with 0 before; floats divide to infinity instead";
    pub(in super::super) const MIXED: &str = "convert one of them, for example with `u24/to_f24`";
    pub(in super::super) const UNSUPPORTED: &str = "bit operators are for integers, shifts for unsigned ones, powers for floats: convert with `i24/to_u24` and its siblings";
    pub(in super::super) const NUMBER: &str =
        "`match` takes a value apart; text is joined by `String/concat(a, b)`, lists by `List/concat(a, b)`";
    pub(in super::super) const FLOAT: &str = "convert it, for example with `u24/to_f24`";
    pub(in super::super) const FUNCTION: &str = "check how many arguments the function takes";
    pub(in super::super) const CASE: &str =
        "annotate the types of the function, so that the checker finds this before it runs";
}
