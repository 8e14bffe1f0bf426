//! Every operation of the table on every type that it has assembles for every architecture.

use super::assembler::{TARGETS, assemble, target, tool};
use super::support::{told, try_render};
use girih_cuda::ptx::Launches;
use girih_ir::ops::{Family, Pattern, Suffix};
use girih_ir::{Op, Scalar, ScalarSet};

/// A kernel that loads operands of an operation on scalars, runs it and stores what it gives.
fn kernel(number: usize, op: Op, ty: Scalar, source: Scalar) -> Option<String> {
    let row = op.row();
    let mut operands = vec![];
    for (i, pattern) in row.operands.iter().enumerate() {
        operands.push(match pattern {
            Pattern::T | Pattern::Element => loaded(i, ty),
            Pattern::Bool => loaded(i, Scalar::Bool),
            // Lanes and distances, which are the same for all.
            Pattern::U32 => "1".into(),
            Pattern::Source => loaded(i, source),
            _ => return None,
        });
    }
    let gives = match row.results {
        [Pattern::T] => ty,
        [Pattern::Bool] => Scalar::Bool,
        _ => return None,
    };
    let result = format!("({}.{ty} {})", op.name(), operands.join(", "));
    let stored = match gives {
        Scalar::Bool => format!("store.u32 %m[0], (select.u32 {result}, 1, 0)"),
        _ => format!("store.{gives} %m[0], {result}"),
    };
    Some(format!("kernel @k{number}(%m: buffer) workgroup(32) {{\n  %i = global_id.x\n  {stored}\n}}\n"))
}

fn loaded(i: usize, ty: Scalar) -> String {
    match ty {
        Scalar::Bool => format!("(ne.u32 (load.u32 %m[%i + {i}]), 0)"),
        _ => format!("(load.{ty} %m[%i + {i}])"),
    }
}

fn set(suffix: Suffix) -> ScalarSet {
    match suffix {
        Suffix::Scalar(set) | Suffix::Lanes(set) => set,
        Suffix::None
        | Suffix::Dim
        | Suffix::Aggregate(_)
        | Suffix::Coop
        | Suffix::Tile(_)
        | Suffix::Block(_)
        | Suffix::Any => ScalarSet::NONE,
    }
}

/// All of them, as one text.
fn all() -> String {
    let mut kernels = vec![];
    for op in Op::ALL.iter().copied().filter(|op| matches!(op.row().family, Family::Scalar | Family::Sync)) {
        for ty in set(op.row().suffix).iter() {
            let sources: Vec<Scalar> = if !op.row().operands.contains(&Pattern::Source) {
                vec![ty]
            } else if op == Op::Bitcast {
                ScalarSet::STORED.iter().filter(|s| s.bits() == ty.bits()).collect()
            } else {
                ScalarSet::ALL.iter().collect()
            };
            kernels.extend(
                sources.into_iter().filter_map(|source| kernel(kernels.len(), op, ty, source)).collect::<Vec<_>>(),
            );
        }
    }
    let mut named = String::new();
    for (i, text) in kernels.iter().enumerate() {
        let (_, rest) = text.split_once('(').unwrap_or_default();
        named.push_str(&format!("kernel @k{i}({rest}"));
    }
    named
}

fn assembles(text: &str, architecture: &str) {
    let Some(ptxas) = tool("GIRIH_PTXAS", "ptxas") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ptx = match try_render("all.gir", text, target(architecture), Launches::Direct) {
        Ok(ptx) => ptx,
        Err((sources, said)) => panic!("{architecture}: {}", told(&sources, &said)),
    };
    assert!(ptx.entries.len() > 100);
    if let Err(said) = assemble(&ptxas, &ptx, folder.path()) {
        let mut sources = girih_base::span::Sources::default();
        sources.add("all.gir", text);
        panic!("{architecture}: {}", told(&sources, &said));
    }
}

#[test]
fn all_operations_on_all_types_assemble() {
    let text = all();
    TARGETS.iter().for_each(|architecture| assembles(&text, architecture));
}
