//! Why there are no kernels of a program: it is not of the kind that a schedule is for, or something is wrong.

use girih_base::diag::Diagnostic;
use std::borrow::Cow;
use std::fmt;

/// Why a program does not run by a schedule, in a few words that end a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Cow<'static, str>);

impl Refusal {
    /// For this reason.
    pub fn new(why: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal(why.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why lowering ended without kernels.
#[derive(Debug)]
pub enum Failure {
    /// The program is not of the kind.
    Refused(Refusal),
    /// Something is wrong with what was made.
    Wrong(Vec<Diagnostic>),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}
