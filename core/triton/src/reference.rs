//! The list of what kernels can call, as text.
//!
//! Invariant: it comes from the tables that calls are looked up in. `docs/triton.md` contains it, and a test compares the two.

use super::builtins::{self, Builtin, BuiltinWriter};
use super::embedded;
use super::names::PYTHON;
use std::fmt::Write;

/// What a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Language,
    Functions,
    Types,
    Refused,
    /// Python's own functions and methods, which are listed by their own names.
    Python,
}

/// Rows that are methods of Python's own values, or stand for other names.
const METHODS: &[&str] = &[
    "append",
    "get",
    "items",
    "keys",
    "values",
    "copy",
    "startswith",
    "endswith",
    "lower",
    "upper",
    "gather_tensor_descriptor",
    "scatter_tensor_descriptor",
    "split_text",
    "join_texts",
    "format",
    "splitlines",
    "replace",
    "strip",
    "bit_length",
    "constexpr",
    "constexpr_type",
    "_replace",
    "Config",
    "next_power_of_2",
    "cdiv",
    "print",
];

fn group(row: &Builtin) -> Group {
    let of_descriptors = row.name.starts_with("atomic_") && row.name.ends_with("_tensor_descriptor");
    let is_python = PYTHON.iter().any(|(name, of)| *of == row.name && *name != "abs");
    match row.writer {
        BuiltinWriter::Refused(_) => Group::Refused,
        _ if is_python || of_descriptors || METHODS.contains(&row.name) => Group::Python,
        _ if row.name.starts_with("is_") || row.name.starts_with("get_int") || row.name == "kind" => Group::Types,
        BuiltinWriter::Written(written) if written.file == "standard" => Group::Language,
        BuiltinWriter::Float(_) | BuiltinWriter::Written(_) => Group::Functions,
        BuiltinWriter::Call(_) => Group::Language,
    }
}

/// The names of a group, in the tables' order.
fn names(of: Group) -> String {
    let rows = builtins::rows().filter(|row| group(row) == of);
    let names: Vec<String> = rows.map(|row| format!("`{}`", row.name)).collect();
    names.join(", ")
}

/// What the documents list.
pub fn reference() -> String {
    let mut out = String::new();
    let _ = writeln!(out, "**Operations of `triton.language`:** {}\n", names(Group::Language));
    let _ = writeln!(out, "**Functions of numbers**, of `tl`, `tl.math` or `libdevice`: {}\n", names(Group::Functions));
    let _ = writeln!(out, "**Types** have these methods, and Triton's attributes: {}\n", names(Group::Types));
    let python: Vec<String> = PYTHON.iter().map(|(name, _)| format!("`{name}`")).collect();
    let _ = writeln!(
        out,
        "**Python's own functions**, on what is known when a kernel is compiled: {}\n",
        python.join(", ")
    );
    out.push_str("| refused | why |\n|---|---|\n");
    for row in builtins::rows() {
        if let BuiltinWriter::Refused(why) = row.writer {
            let _ = writeln!(out, "| `{}` | {why} |", row.name);
        }
    }
    out.push_str("\n**What is written in Triton's own Python**, and how exact it is:\n\n");
    for (_, text) in embedded::FILES {
        let said = text.strip_prefix("\"\"\"").and_then(|rest| rest.split("\"\"\"").next()).unwrap_or_default();
        let _ = writeln!(out, "- {}", said.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    out
}
