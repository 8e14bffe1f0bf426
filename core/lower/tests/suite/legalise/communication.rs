//! Subgroup operations where the device has them and where it does not.

use super::{Setting, parse, profiles, run, same_everywhere};
use girih_base::diag::Code;
use girih_ir::{Caps, Feature, Scalar, ScalarSet};

/// Lanes of a subgroup on a profile for a workgroup of so many invocations that all come together.
fn width(caps: &Caps, invocations: u32) -> u32 {
    match caps.has(Feature::Subgroups) {
        true if caps.subgroup.min == caps.subgroup.max => caps.subgroup.min,
        true => 16,
        false => invocations.next_power_of_two().min(32),
    }
}

/// Small numbers, so that sums of floats are exact in any order.
fn input(ty: Scalar, count: usize) -> Vec<u8> {
    let number =
        |i: usize| [3, 1, 2, 0, 5, 1, 1, 4, 2][i % 9] as f64 - if ty.is_float() || ty.is_signed() { 2.0 } else { 0.0 };
    let bits = |x: f64| if ty.is_float() { girih_ir::eval::narrow(x, ty) } else { x as i64 as u64 };
    let lanes: Vec<u64> = (0..count).map(|i| bits(number(i)) & ty.mask()).collect();
    let mut bytes = super::pack(&lanes, ty);
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
}

const SIZES: [u32; 4] = [64, 20, 72, 1];

fn hold(ty: Scalar, invocations: u32, body: &str, stores: u32) {
    let source = format!(
        "kernel @k(%from: buffer, %to: buffer) workgroup({invocations}) {{\n  %i = local_index\n  \
         %a = load.{ty} %from[%i]\n{body}}}\n"
    );
    let bytes = (stores * invocations * ty.bytes().max(4)).next_multiple_of(16) as usize;
    same_everywhere(&source, 1, &[input(ty, invocations as usize), vec![0; bytes]], &[], |caps| {
        width(caps, invocations)
    });
}

#[test]
fn reductions_and_scans() {
    let bits = ["subgroup.and", "subgroup.or", "subgroup.xor"];
    let numbers = [
        "subgroup.add",
        "subgroup.mul",
        "subgroup.min",
        "subgroup.max",
        "inclusive.add",
        "exclusive.add",
        "inclusive.mul",
        "exclusive.mul",
        "inclusive.min",
        "inclusive.max",
    ];
    let wide = [Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F16, Scalar::Bf16, Scalar::F32];
    for (ty, invocations) in wide.into_iter().flat_map(|ty| SIZES.map(|n| (ty, n))) {
        let ops: Vec<&str> = numbers.iter().chain(if ty.is_integer() { &bits[..] } else { &[] }).copied().collect();
        // Products of many floats leave the short ones' range.
        let sign = format!("(select.{ty} (lt.{ty} %a, (const.{ty} 0)), (const.{ty} -1), (const.{ty} 1))");
        let store = |(i, op): (usize, &&str)| {
            let operand = if op.ends_with("mul") && ty.is_float() { &sign } else { "%a" };
            format!("  store.{ty} %to[%i + {}], ({op}.{ty} {operand})\n", i as u32 * invocations)
        };
        let body: String = ops.iter().enumerate().map(store).collect();
        hold(ty, invocations, &body, ops.len() as u32);
    }
}

#[test]
fn shuffles_of_any_type() {
    for ty in ScalarSet::STORED.iter().filter(|s| *s != Scalar::F64 && !ScalarSet::FLOATS8.has(*s)) {
        for invocations in [64, 8] {
            let body = format!(
                "  %lane = lane
  %size = subgroup_size
  store.{ty} %to[%i], (shuffle.{ty} %a, (sub.u32 (sub.u32 %size, 1), %lane))
  store.{ty} %to[%i + {invocations}], (shuffle_xor.{ty} %a, 3)
  %up = shuffle_up.{ty} %a, 2
  store.{ty} %to[%i + {}], (select.{ty} (ge.u32 %lane, 2), %up, %a)
  %down = shuffle_down.{ty} %a, 1
  store.{ty} %to[%i + {}], (select.{ty} (lt.u32 (add.u32 %lane, 1), %size), %down, %a)
  store.{ty} %to[%i + {}], (broadcast.{ty} %a, 3)
",
                2 * invocations,
                3 * invocations,
                4 * invocations
            );
            hold_full(ty, invocations, &body);
        }
    }
}

/// Lanes that do not exist are not asked for: the workgroup consists of whole subgroups on each profile that takes part.
fn hold_full(ty: Scalar, invocations: u32, body: &str) {
    let source = format!(
        "kernel @k(%from: buffer, %to: buffer) workgroup({invocations}) {{\n  %i = local_index\n  \
         %a = load.{ty} %from[%i]\n{body}}}\n"
    );
    let bytes = (5 * invocations * ty.bytes()).next_multiple_of(16) as usize;
    let buffers = [input(ty, invocations as usize), vec![0; bytes]];
    let module = parse(&source);
    let mut held = 0;
    for caps in profiles() {
        let subgroup = width(&caps, invocations);
        if !invocations.is_multiple_of(subgroup) {
            continue;
        }
        held += 1;
        let written = Setting { caps: None, subgroup, grid: 1 };
        let expected = run(&module, &written, &buffers, &[]).unwrap_or_else(|e| panic!("{e:#?}\n{source}"));
        let found = run(&module, &Setting { caps: Some(&caps), ..written }, &buffers, &[]);
        let found = found.unwrap_or_else(|e| panic!("{}: {e:#?}\n{}", caps.name, super::printed(&module, &caps)));
        assert_eq!(expected, found, "{}\n{}", caps.name, super::printed(&module, &caps));
    }
    assert!(held > 3);
}

#[test]
fn vectors_and_truth_values_cross_lanes() {
    let body = "  %v = vector.f32x4 %a, (neg.f32 %a), %a, 1.5
  %w = shuffle_xor.f32x4 %v, 1
  store.f32 %to[%i], (extract.f32 %w, 1)
  %b = shuffle_xor.bool (lt.f32 %a, 0.0), 2
  store.u32 %to[%i + 64], (convert.u32 %b)
  %bytes = shuffle.u8x2 (bitcast.u8x2 (convert.u16 (bitcast.u32 %a))), 0
  store.u8x2 %to[%i + 256], %bytes
";
    hold(Scalar::F32, 64, body, 3);
}

#[test]
fn votes_and_positions() {
    for invocations in SIZES {
        let body = format!(
            "  %c = gt.u32 %a, 2
  %v = ballot %c
  store.u32x4 %to[%i], %v
  store.u32 %to[%i + {}], (convert.u32 (any %c))
  store.u32 %to[%i + {}], (convert.u32 (all (gt.u32 %a, 0)))
  store.u32 %to[%i + {}], (convert.u32 (elect))
  store.u32 %to[%i + {}], (add.u32 (mul.u32 (lane), 1000), (subgroup_size))
  store.u32 %to[%i + {}], (add.u32 (mul.u32 (subgroup_id), 1000), (num_subgroups))
",
            4 * invocations,
            5 * invocations,
            6 * invocations,
            7 * invocations,
            8 * invocations
        );
        hold(Scalar::U32, invocations, &body, 9);
    }
}

#[test]
fn operations_follow_each_other_in_loops() {
    let body = "  %r: u32 = loop (%s: u32 = %a, %k: u32 = 0) {
    %t = add.u32 (shuffle_xor.u32 %s, 1), (subgroup.max.u32 %s)
    %u = add.u32 %t, (exclusive.add.u32 %t)
    if (eq.u32 %k, 4) { break %u }
    continue %u, (add.u32 %k, 1)
  }
  store.u32 %to[%i], %r
";
    hold(Scalar::U32, 64, body, 1);
    hold(Scalar::U32, 16, body, 1);
}

#[test]
fn results_of_a_workgroup_that_is_one_subgroup_are_uniform() {
    // A barrier stands where only subgroup operations say that all come.
    let source = "kernel @k(%from: buffer, %to: buffer) workgroup(8) {
  shared %m: u32[8]
  %i = local_index
  %a = load.u32 %from[%i]
  %n = subgroup.add.u32 %a
  if (gt.u32 %n, 3) {
    %p = subgroup.min.u32 %a
    store.u32 %to[%i], (add.u32 %p, %n)
  } else {
    store.u32 %to[%i], 5
  }
  if (any (gt.u32 %a, 1)) {
    store.u32 %to[%i + 8], (broadcast.u32 %a, 2)
  }
}
";
    same_everywhere(source, 1, &[input(Scalar::U32, 8), vec![0; 64]], &[], |caps| width(caps, 8));
}

const DIVERGENT: &str = "kernel @k(%from: buffer, %to: buffer) workgroup(64) LAUNCH {
  %i = local_index
  %a = load.u32 %from[%i]
  %s = subgroup.add.u32 %a
  if (gt.u32 %s, 60) { store.u32 %to[%i], (subgroup.max.u32 %a) }
}
";

#[test]
fn subgroups_of_one_where_not_all_come() {
    let source = DIVERGENT.replace("LAUNCH", "");
    let one = |caps: &Caps| if caps.has(Feature::Subgroups) { width(caps, 64) } else { 1 };
    same_everywhere(&source, 1, &[input(Scalar::U32, 64), vec![0; 256]], &[], one);
}

#[test]
fn a_width_that_is_asked_for_is_met_or_refused() {
    let body = "kernel @k(%from: buffer, %to: buffer) workgroup(64) subgroup(16) {
  %i = local_index
  %a = load.u32 %from[%i]
  store.u32 %to[%i], (add.u32 (subgroup.add.u32 %a), (shuffle.u32 %a, 15))
}
";
    same_everywhere(body, 1, &[input(Scalar::U32, 64), vec![0; 256]], &[], |_| 32);
    let module = parse(&DIVERGENT.replace("LAUNCH", "subgroup(32)"));
    for caps in profiles() {
        let setting = Setting { caps: Some(&caps), subgroup: 32, grid: 1 };
        let found = run(&module, &setting, &[input(Scalar::U32, 64), vec![0; 256]], &[]);
        match found {
            Ok(_) => assert_eq!((caps.subgroup.min, caps.subgroup.max), (32, 32), "{}", caps.name),
            Err(errors) => assert!(errors.iter().all(|e| e.code == Code::NeedsFeature), "{errors:#?}"),
        }
    }
}
