//! Every scalar operation on every type at the edges, on every profile.

use super::{Setting, agree, edges, pack, parse, printed, profiles, run, same_everywhere, unpack};
use girih_base::diag::Code;
use girih_ir::groups::{approximations, compares, integer_arithmetic, library, plain_arithmetic, roundings};
use girih_ir::ops::{Class, Pattern, Suffix};
use girih_ir::{Caps, Feature, Op, Scalar, Type, eval};
use girih_runtime::Constant;

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
            let sources: Vec<Scalar> = if !row.operands.contains(&Pattern::Source) {
                vec![ty]
            } else if op == Op::Bitcast {
                Scalar::ALL.iter().copied().filter(|s| s.bits() == ty.bits()).collect()
            } else {
                Scalar::ALL.to_vec()
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
        "kernel @k({params}%out: buffer, %n: u32) workgroup(64) {{\n  %i = global_id.x\n  if (lt.u32 %i, %n) {{\n{loads}    \
         %r = {}.{} {}\n{store}\n  }}\n}}\n",
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
    let count = Constant { ty: Type::U32, bits: rows.len() as u64 };
    let given = buffers(case, &rows);
    let written = Setting { caps: None, subgroup: 32, grid: rows.len().div_ceil(64) as u32 };
    let expected = run(&module, &written, &given, &[count]).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
    let expected = results(case, rows.len(), &expected);
    for caps in profiles {
        let found = run(&module, &Setting { caps: Some(caps), ..written }, &given, &[count]);
        if is_refused(case, caps) {
            let errors = found.expect_err("nothing stands for it");
            assert!(errors.iter().all(|e| e.code == Code::NeedsFeature), "{errors:#?}");
            continue;
        }
        let found = found.unwrap_or_else(|e| panic!("{}: {e:#?}\n{source}{}", caps.name, printed(&module, caps)));
        let found = results(case, rows.len(), &found);
        for ((row, expected), found) in rows.iter().zip(&expected).zip(&found) {
            assert!(
                is_right(case, row, *expected, *found),
                "{}: {}.{} {row:x?} ({:?}) gives {found:x}, not {expected:x}\n{}",
                caps.name,
                case.op.name(),
                case.ty,
                case.operands,
                printed(&module, caps)
            );
        }
    }
}

/// Whether nothing stands for the case.
fn is_refused(case: &Case, caps: &Caps) -> bool {
    let double = case.ty == Scalar::F64 || case.operands.contains(&Scalar::F64);
    let fused = case.op == Op::Fma && !caps.has(Feature::FusedFma);
    double && (fused || !caps.arithmetic.has(Scalar::F64))
}

fn is_right(case: &Case, row: &[u64], expected: u64, found: u64) -> bool {
    let class = case.op.row().class;
    if case.op == Op::Mad && case.ty.is_float() {
        return mads(case.ty, row).iter().any(|either| agree(case.ty, *either, found));
    }
    // The reference machine's own functions are the math library's, but short floats may be rounded at another step.
    let approximate = matches!(class, Class::Bounded(..)) && case.ty.is_float();
    agree(case.result, expected, found) || approximate || class == Class::Rounded && is_zero(case, expected, found)
}

/// A product and sum, rounded once, twice, or as a device that computes short floats in `f32` does.
fn mads(ty: Scalar, x: &[u64]) -> Vec<u64> {
    let of = |op, ty, x: &[u64]| eval::scalar(op, ty, ty, x).expect("arithmetic");
    let mut results = vec![of(Op::Fma, ty, x), of(Op::Add, ty, &[of(Op::Mul, ty, &x[..2]), x[2]])];
    if ty != Scalar::F64 {
        let wide: Vec<u64> = x.iter().map(|x| eval::narrow(eval::widen(*x, ty), Scalar::F32)).collect();
        let product = of(Op::Mul, Scalar::F32, &wide[..2]);
        let sum = of(Op::Add, Scalar::F32, &[product, wide[2]]);
        results.push(eval::narrow(eval::widen(sum, Scalar::F32), ty));
    }
    results
}

/// The sign of zero is left open where results are rounded.
fn is_zero(case: &Case, expected: u64, found: u64) -> bool {
    let magnitude = case.result.mask() >> 1;
    case.result.is_float() && expected & magnitude == 0 && found & magnitude == 0
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

/// SPIR-V and HLSL leave remainders of negative integers undefined, so shading languages get quotients.
#[test]
fn remainders_of_negative_numbers_come_from_quotients() {
    for ty in [Scalar::I32, Scalar::I64] {
        let source = format!(
            "kernel @k(%m: buffer, %to: buffer) workgroup(8) {{\n  %i = local_index\n  %a = load.{ty} %m[%i]\n  \
             store.{ty} %to[%i], (rem.{ty} %a, 5)\n  store.{ty} %to[%i + 8], (rem.{ty} %a, (load.{ty} %m[%i + 8]))\n}}\n"
        );
        let numbers: Vec<u64> =
            [-7i64, -5, -1, 0, 9, i64::MIN, i64::MAX, i64::from(i32::MIN), 3, -5, 0, -1, 4, -1, -1, -1]
                .map(|number| number as u64 & ty.mask())
                .to_vec();
        let size = ty.bytes() as usize;
        same_everywhere(&source, 1, &[pack(&numbers, ty), vec![0; 16 * size]], &[], |_| 32);
        let module = parse(&source);
        for caps in profiles().into_iter().filter(|caps| !caps.has(Feature::SignedRemainder)) {
            let printed = printed(&module, &caps);
            assert!(!printed.contains("rem.i"), "{}: {printed}", caps.name);
        }
    }
}

/// A compiler for SPIR-V gives wrong numbers where a quotient of 64 bits by a constant is divided again: only magnitudes are divided.
#[test]
fn quotients_of_64_bits_by_constants_come_from_magnitudes() {
    let source = "kernel @k(%m: buffer, %to: buffer) workgroup(8) {
  %i = local_index
  %a = load.i64 %m[%i]
  %b = div.i64 %a, 3
  store.i64 %to[%i], (rem.i64 %b, 5)
  store.i64 %to[%i + 8], (div.i64 %a, -7)
  store.i64 %to[%i + 16], (div.i64 %b, 4)
}
";
    let numbers: Vec<u64> =
        [-943i64, -1, 0, 2, 127, i64::MIN, i64::MAX, i64::from(i32::MIN)].map(i64::cast_unsigned).to_vec();
    same_everywhere(source, 1, &[pack(&numbers, Scalar::I64), vec![0; 24 * 8]], &[], |_| 32);
    let module = parse(source);
    let has = |caps: &Caps| caps.arithmetic.has(Scalar::I64) && !caps.has(Feature::SignedRemainder);
    for caps in profiles().into_iter().filter(has) {
        let printed = printed(&module, &caps);
        assert!(printed.matches("div.i64").count() <= 1, "{}: {printed}", caps.name);
    }
}
