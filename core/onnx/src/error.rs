//! What is said of a file that is no model, and of a node that cannot be imported.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

/// A file that is no model, or says what no model says.
pub(crate) fn file(why: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::OnnxFile, Span::NONE, why)
}
/// A node whose operator is not there, or not in this way.
pub(crate) fn operator(why: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::OnnxOperator, Span::NONE, why)
}
