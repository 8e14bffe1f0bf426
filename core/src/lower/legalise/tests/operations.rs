//! Every scalar operation on every type at the edges, on every profile.

use super::machine::{pack, run, unpack};
use super::{agree, edges, legal, parse, profiles};
use crate::ir::ops::{Class, Pattern, Suffix};
use crate::ir::{Caps, Op, Scalar};

/// An operation on types: suffix and source.
struct Case {
    op: Op,
    ty: Scalar,
    /// Types of the operands.
    operands: Vec<Scalar>,
    result: Scalar,
}

fn cases(wanted: impl Fn(Op) -> bool) -> Vec<Case> {
    let mut cases = vec![];
    for op in Op::ALL.iter().copied().filter(|op| wanted(*op)) {
        let row = op.row();
        let (Suffix::Lanes(set) | Suffix::Scalar(set)) = row.suffix else { continue };
        for ty in set.iter() {
            let sources: Vec<Scalar> = match op {
                Op::Convert => Scalar::ALL.to_vec(),
                Op::Bitcast => Scalar::ALL.iter().copied().filter(|s| s.bits() == ty.bits()).collect(),
                _ => vec![ty],
            };
            for source in sources {
                let scalar = |p: &Pattern| match p {
                    Pattern::T => ty,
                    Pattern::Bool => Scalar::Bool,
                    _ => source,
                };
                let operands = row.operands.iter().map(scalar).collect();
                cases.push(Case { op, ty, operands, result: scalar(&row.results[0]) });
            }
        }
    }
    cases
}

/// How a scalar is read from a buffer: `bool` as a word.
fn load(ty: Scalar, memory: usize) -> String {
    match ty {
        Scalar::Bool => format!("ne.u32 (load.u32 %x{memory}[%i]), 0"),
        _ => format!("load.{ty} %x{memory}[%i]"),
    }
}

/// A kernel that applies the operation to each element.
fn kernel(case: &Case) -> String {
    let params: String = (0..case.operands.len()).map(|i| format!("%x{i}: buffer, ")).collect();
    let loads: String =
        case.operands.iter().enumerate().map(|(i, ty)| format!("    %a{i} = {}\n", load(*ty, i))).collect();
    let operands: Vec<String> = (0..case.operands.len()).map(|i| format!("%a{i}")).collect();
    let store = match case.result {
        Scalar::Bool => "    store.u32 %out[%i], (convert.u32 %r)".into(),
        ty => format!("    store.{ty} %out[%i], %r"),
    };
    format!(
        "kernel @k({params}%out: buffer, %n: u32) workgroup(1) {{\n  loop (%i: u32 = 0) {{\n{loads}    \
         %r = {}.{} {}\n{store}\n    %next = add.u32 %i, 1\n    while (lt.u32 %next, %n) next %next\n  }}\n}}\n",
        case.op.name(),
        case.ty,
        operands.join(", ")
    )
}

/// All combinations of edges, at most some thousands.
fn inputs(case: &Case) -> Vec<Vec<u64>> {
    let mut columns: Vec<Vec<u64>> = vec![vec![]];
    for ty in &case.operands {
        let edges = edges(*ty);
        let edges: Vec<u64> = if case.operands.len() == 3 { edges.into_iter().step_by(2).collect() } else { edges };
        columns = columns.iter().flat_map(|row| edges.iter().map(|e| [&row[..], &[*e]].concat())).collect();
    }
    columns
}

fn width(ty: Scalar) -> Scalar {
    if ty == Scalar::Bool { Scalar::U32 } else { ty }
}

fn buffers(case: &Case, rows: &[Vec<u64>]) -> Vec<Vec<u8>> {
    let mut buffers: Vec<Vec<u8>> = (0..case.operands.len())
        .map(|i| pack(&rows.iter().map(|r| r[i]).collect::<Vec<_>>(), width(case.operands[i])))
        .collect();
    buffers.push(vec![0; rows.len() * width(case.result).bytes() as usize]);
    // Words that a short last element shares.
    buffers.iter_mut().for_each(|b| b.resize(b.len().next_multiple_of(16), 0));
    buffers
}

fn results(case: &Case, rows: usize, buffers: &[Vec<u8>]) -> Vec<u64> {
    unpack(&buffers[case.operands.len()], width(case.result))[..rows].to_vec()
}

fn hold(case: &Case, profiles: &[Caps]) {
    let source = kernel(case);
    let module = parse(&source);
    let rows = inputs(case);
    let numbers = [rows.len() as u64];
    let mut expected = buffers(case, &rows);
    run(&module, crate::ir::FunctionId::new(0), &mut expected, &numbers);
    let expected = results(case, rows.len(), &expected);
    for caps in profiles {
        let uses = |s: Scalar| case.ty == s || case.operands.contains(&s);
        if uses(Scalar::F64) && !caps.arithmetic.has(Scalar::F64) {
            assert!(legal(&module, caps).is_err(), "{} refuses f64", caps.name);
            continue;
        }
        let refused = legal(&module, caps);
        if case.op == Op::Fma && case.ty == Scalar::F64 && !caps.has(crate::ir::Feature::FusedFma) {
            assert!(refused.is_err(), "{} refuses fma.f64", caps.name);
            continue;
        }
        let (legal, entry) = refused.unwrap_or_else(|e| panic!("{}: {e:#?}\n{source}", caps.name));
        let mut found = buffers(case, &rows);
        run(&legal, entry.kernel, &mut found, &numbers);
        let found = results(case, rows.len(), &found);
        for ((row, expected), found) in rows.iter().zip(&expected).zip(&found) {
            let same = agree(case.result, *expected, *found) || matches!(case.op.row().class, Class::Bounded(..));
            let same = same || harmless(case, *expected, *found);
            assert!(
                same,
                "{}: {}.{} {row:x?} ({:?}) gives {found:x}, not {expected:x}\n{}",
                caps.name,
                case.op.name(),
                case.ty,
                case.operands,
                crate::ir::text::print(&legal)
            );
        }
    }
}

/// What the class of rounded operations lets pass.
fn harmless(case: &Case, expected: u64, found: u64) -> bool {
    let magnitude = case.result.mask() >> 1;
    case.op.row().class == Class::Rounded
        && case.result.is_float()
        && expected & magnitude == 0
        && found & magnitude == 0
}

fn check(wanted: impl Fn(Op) -> bool) {
    let profiles = profiles();
    let cases = cases(wanted);
    assert!(!cases.is_empty());
    cases.iter().for_each(|case| hold(case, &profiles));
}

#[test]
fn arithmetic() {
    check(|op| matches!(op, plain_arithmetic!() | Op::Div | Op::Neg | Op::Abs | Op::Mad));
}

#[test]
fn integers() {
    check(|op| matches!(op, integer_arithmetic!()));
}

#[test]
fn comparisons_and_selections() {
    check(|op| matches!(op, compares!() | Op::Select));
}

#[test]
fn conversions() {
    check(|op| matches!(op, Op::Convert | Op::Bitcast));
}

#[test]
fn roundings_and_roots() {
    check(|op| matches!(op, roundings!() | Op::Sqrt | Op::Fma));
}

#[test]
fn the_library() {
    check(|op| matches!(op, library!()));
}

#[test]
fn approximations() {
    check(|op| matches!(op, approximations!()));
}
