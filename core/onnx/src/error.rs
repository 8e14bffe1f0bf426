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
/// An operator that no row of the table has, with what helps in its domain.
pub(crate) fn missing(domain: &str, name: &str) -> Diagnostic {
    let of = if domain.is_empty() { String::new() } else { format!(" of the domain `{domain}`") };
    let near = crate::operators::nearest(name);
    let hint = match (domain, near) {
        ("com.microsoft", _) => {
            "such operators are what ONNX Runtime's optimiser writes: take the model as it was exported, before it was optimised".to_owned()
        }
        ("ai.onnx.ml", _) if crate::operators::find("", name).is_some() => {
            format!("`{name}` is an operator of ONNX's own domain, whose name is empty")
        }
        ("", Some(near)) => format!("there is `{near}`; `docs/onnx.md` lists the operators"),
        _other => {
            "`docs/onnx.md` lists the operators: export the model for another version of the standard (`opset_version=18` of `torch.onnx.export`), or without the part that needs this one".to_owned()
        }
    };
    operator(format!("this operator{of} is not there")).hint(hint)
}
