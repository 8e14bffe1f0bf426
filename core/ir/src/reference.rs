//! The reference of all types, operations, attributes and features, written from the tables.
//!
//! Invariant: everything said here about an operation comes from its row. `docs/ir.md` contains this text, and a test compares the
//! two.

use super::attrs::AttrKind;
use super::caps::Feature;
use super::ops::{Class, Convergence, Family, Op, Pattern, Row, Suffix, Transfer, Uniformity};
use super::types::{Scalar, ScalarSet, Space};
use std::fmt::Write;

/// Sets of scalars that have a name in the reference.
const SETS: &[(&str, ScalarSet)] = &[
    ("any", ScalarSet::ALL),
    ("stored", ScalarSet::STORED),
    ("numbers", ScalarSet::NUMBERS),
    ("integers", ScalarSet::INTEGERS),
    ("bits", ScalarSet::BITS),
    ("negatable", ScalarSet::NEGATABLE),
    ("floats", ScalarSet::FLOATS),
    ("math", ScalarSet::MATH),
];

/// The reference as Markdown.
pub fn markdown() -> String {
    let mut out = String::new();
    scalars(&mut out);
    for (family, title) in FAMILIES {
        operations(&mut out, *family, title);
    }
    attributes(&mut out);
    features(&mut out);
    out
}

/// Families that have operations, in the table's order.
const FAMILIES: &[(Family, &str)] = &[
    (Family::Control, "Control"),
    (Family::Scalar, "Numbers and vectors"),
    (Family::Memory, "Memory"),
    (Family::Sync, "Positions, subgroups, synchronisation, asynchronous operations"),
    (Family::Tile, "Tiles"),
    (Family::Heap, "Cells and words (task form)"),
    (Family::Task, "Tasks (task form)"),
    (Family::Mask, "Masks (task form; kernels where the device has vectors)"),
];

/// Appends a row of a Markdown table.
fn row<const N: usize>(out: &mut String, cells: [&str; N]) {
    let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
    // A String takes everything.
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

fn table<const N: usize>(out: &mut String, title: &str, heads: [&str; N]) {
    let _ = writeln!(out, "### {title}\n");
    row(out, heads);
    row(out, heads.map(|_| "---"));
}

fn scalars(out: &mut String) {
    table(out, "Scalars", ["type", "bits", "what it is"]);
    for scalar in Scalar::ALL {
        row(out, [&code(scalar.name()), &scalar.bits().to_string(), scalar.doc()]);
    }
    out.push('\n');
    table(out, "Sets of scalars", ["name below", "scalars"]);
    for (name, set) in SETS {
        row(out, [name, &members(*set)]);
    }
    out.push('\n');
}

fn code(text: impl AsRef<str>) -> String {
    format!("`{}`", text.as_ref())
}

fn members(set: ScalarSet) -> String {
    set.iter().map(|s| code(s.name())).collect::<Vec<_>>().join(", ")
}

fn set_name(set: ScalarSet) -> String {
    SETS.iter().find(|(_, s)| *s == set).map_or_else(|| members(set), |(name, _)| name.to_string())
}

fn operations(out: &mut String, family: Family, title: &str) {
    let rows: Vec<&Row> = Op::ALL.iter().map(|op| op.row()).filter(|row| row.family == family).collect();
    if rows.is_empty() {
        return;
    }
    table(out, title, ["operation", "T", "attributes", "exactness", "meaning"]);
    for r in rows {
        let attributes: Vec<String> =
            r.attrs.iter().filter(|a| !is_part_of_form(**a)).map(|a| code(a.name())).collect();
        row(out, [&code(form(r)), &suffix(r.suffix), &attributes.join(", "), &class(r.class), &meaning(r)]);
    }
    out.push('\n');
}

/// Attributes that the form shows.
fn is_part_of_form(kind: AttrKind) -> bool {
    matches!(
        kind,
        AttrKind::Dim
            | AttrKind::Callee
            | AttrKind::Cases
            | AttrKind::Offset
            | AttrKind::SourceOffset
            | AttrKind::Cell
            | AttrKind::Global
    )
}

/// What an operation looks like, by its row: `add.T T, T -> T`.
pub fn form(r: &Row) -> String {
    let mut out = r.name.to_string();
    out.push_str(match r.suffix {
        Suffix::None => "",
        Suffix::Dim => ".x",
        Suffix::Scalar(_)
        | Suffix::Lanes(_)
        | Suffix::Aggregate(_)
        | Suffix::Coop
        | Suffix::Tile(_)
        | Suffix::Block(_)
        | Suffix::Any => ".T",
    });
    let mut operands: Vec<String> = vec![];
    for pattern in r.operands {
        match (pattern, operands.last_mut()) {
            (Pattern::Index | Pattern::Indices, Some(memory)) => memory.push_str("[index]"),
            _ => operands.push(operand(*pattern)),
        }
    }
    if !operands.is_empty() {
        let _ = write!(out, " {}", operands.join(", "));
    }
    if !r.results.is_empty() {
        let results: Vec<String> = r.results.iter().map(|p| operand(*p)).collect();
        let _ = write!(out, " -> {}", results.join(", "));
    }
    out
}

fn operand(pattern: Pattern) -> String {
    match pattern {
        Pattern::T => "T",
        Pattern::Element => "element of T",
        Pattern::Bool => "bool",
        Pattern::U32 => "u32",
        Pattern::Ballot => "u32x4",
        Pattern::Mask => "u32 for each lane of T",
        Pattern::Index => "index",
        Pattern::Memory(spaces) => return memory(spaces),
        Pattern::Source => "source",
        Pattern::Aggregate => "aggregate of T",
        Pattern::First => "type of the first",
        Pattern::Fragment => "fragment",
        Pattern::Token => "token",
        Pattern::Term => "term",
        Pattern::Rest => "..",
        Pattern::Parts => "element of T ..",
        Pattern::Block => "tile of T's element",
        Pattern::AnyBlock => "tile",
        Pattern::Indices => "indices",
        Pattern::Inside => "bool or bools",
        Pattern::Filler => "T or its element",
    }
    .to_string()
}

fn memory(spaces: &[Space]) -> String {
    match spaces {
        _ if spaces == Space::ALL => "memory".into(),
        [one] => one.name().into(),
        _ => spaces.iter().map(|s| s.name()).collect::<Vec<_>>().join("/"),
    }
}

fn suffix(suffix: Suffix) -> String {
    match suffix {
        Suffix::None => String::new(),
        Suffix::Dim => "`x`, `y`, `z`".into(),
        Suffix::Scalar(set) => set_name(set),
        Suffix::Lanes(set) => format!("{}, vectors", set_name(set)),
        Suffix::Aggregate(set) => format!("vectors and `regs` of {}", set_name(set)),
        Suffix::Coop => "`coop<..>`".into(),
        Suffix::Tile(set) => format!("tiles of {}", set_name(set)),
        Suffix::Block(set) => format!("{}, tiles", set_name(set)),
        Suffix::Any => "any type".into(),
    }
}

fn class(class: Class) -> String {
    match class {
        Class::None => String::new(),
        Class::Exact => "exact".into(),
        Class::Rounded => "rounded".into(),
        Class::Library(ulp) => format!("library, {ulp} ulp"),
        Class::Bounded(ulp, exponent) => format!("bounded, {ulp} ulp or 2^{exponent}"),
    }
}

/// The row's own words, and what else it says.
fn meaning(r: &Row) -> String {
    let mut out = r.doc.to_string();
    out.push_str(match r.convergence {
        Convergence::Free => "",
        Convergence::Subgroup => " *Reached by the whole subgroup together.*",
        Convergence::Warpgroup => " *Reached by the whole warpgroup together.*",
        Convergence::Workgroup => " *Reached by the whole workgroup together.*",
    });
    out.push_str(match r.transfer {
        Transfer::Always(Uniformity::Launch) => " *Uniform in the launch.*",
        Transfer::Always(Uniformity::Workgroup) => " *Uniform in the workgroup.*",
        Transfer::Always(Uniformity::Subgroup) if !r.results.is_empty() => " *Uniform in the subgroup.*",
        Transfer::Always(Uniformity::Warpgroup | Uniformity::Subgroup | Uniformity::Varying)
        | Transfer::Operands
        | Transfer::Memory
        | Transfer::Regions => "",
    });
    if let Some(feature) = r.needs {
        let _ = write!(out, " *Feature {}.*", code(feature.name()));
    }
    out
}

fn attributes(out: &mut String) {
    table(out, "Attributes", ["attribute", "what it says"]);
    for kind in AttrKind::ALL {
        row(out, [&code(kind.name()), kind.doc()]);
    }
    out.push('\n');
}

fn features(out: &mut String) {
    table(out, "Features of devices", ["feature", "what it is"]);
    for feature in Feature::ALL {
        row(out, [&code(feature.name()), feature.doc()]);
    }
}
