//! Diagnostics as errors of Rust: `?` takes them where a `Box<dyn Error>` is wanted.

use super::Diagnostic;
use std::error::Error;
use std::fmt;
use std::ops::Deref;

/// The code and the sentence; a place needs the sources, which a diagnostic does not have.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl Error for Diagnostic {}

/// Some diagnostics as one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(Vec<Diagnostic>);

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, diagnostic) in self.iter().enumerate() {
            write!(f, "{}{diagnostic}", if number == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl Error for Errors {}

impl Deref for Errors {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl From<Vec<Diagnostic>> for Errors {
    fn from(diagnostics: Vec<Diagnostic>) -> Errors {
        Errors(diagnostics)
    }
}

impl From<Diagnostic> for Errors {
    fn from(diagnostic: Diagnostic) -> Errors {
        Errors(vec![diagnostic])
    }
}

impl From<Errors> for Vec<Diagnostic> {
    fn from(errors: Errors) -> Vec<Diagnostic> {
        errors.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;
    use crate::span::Span;

    #[test]
    fn diagnostics_are_errors_of_rust() {
        fn fails(count: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
            let one = Diagnostic::new(Code::BadArguments, Span::NONE, "it is wrong");
            if count == 1 { Err(one)? } else { Err(Errors::from(vec![one; count]))? }
        }
        let line = format!("{}: it is wrong", Code::BadArguments);
        assert_eq!(fails(1).expect_err("it fails").to_string(), line);
        assert_eq!(fails(2).expect_err("it fails").to_string(), format!("{line}\n{line}"));
    }
}
