//! Mistakes with the line of the program that made them.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use std::panic::Location;

/// The diagnostic with the caller's line before its sentence.
pub(crate) fn placed(mut mistake: Diagnostic, at: &Location<'_>) -> Diagnostic {
    mistake.message = format!("{}:{}: {}", at.file(), at.line(), mistake.message);
    mistake
}
/// Elements or shapes that do not fit.
pub(crate) fn shape(why: String) -> Diagnostic {
    Diagnostic::new(Code::TensorShape, Span::NONE, why)
}
/// Element types that do not fit.
pub(crate) fn kind(why: String) -> Diagnostic {
    Diagnostic::new(Code::TensorType, Span::NONE, why)
}
/// Data that does not fit.
pub(crate) fn data(why: String) -> Diagnostic {
    Diagnostic::new(Code::TensorData, Span::NONE, why)
}
