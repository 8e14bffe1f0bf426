//! What the code generator says when it is given what it cannot say in a shading language.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::Op;

/// Legalisation has left something that it must not leave.
pub fn illegal(span: Span, what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(Code::NeedsFeature, span, format!("shading languages do not have {what}"))
        .hint("run the kernel on another device; `girih devices` lists what each has")
}

/// The same for an operation.
pub fn operation(span: Span, op: Op) -> Diagnostic {
    illegal(span, format!("the operation `{}`", op.name()))
}

/// The kernel is larger than the device allows.
pub fn over_limit(span: Span, what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::OverLimit, span, what)
}

/// A mistake of the code generator.
pub fn internal(span: Span, what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(Code::Internal, span, format!("the code generator for shaders failed: {what}"))
        .hint("please report it with the kernel that shows it")
}
