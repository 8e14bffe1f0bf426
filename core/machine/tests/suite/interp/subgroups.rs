//! Subgroup operations at every width, in subgroups that are full and in one that is not, against the same by hand.

use super::*;
use girih_ir::Op;
use girih_ir::eval;

const LANES: usize = 75;
const WIDTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 5];

/// What each of 75 invocations stores: `body` computes `%r` from `%v` (its value), `%t` (its index), `%lane` and `%w`.
fn each(width: u32, values: &[u32], body: &str) -> Vec<u32> {
    let source = format!(
        "
kernel @k(%in: buffer readonly, %out: buffer) workgroup({LANES}) {{
  %t = local_index
  %v = load.u32 %in[%t]
  %lane = lane
  %w = subgroup_size
  {body}
  store.u32 %out[%t], %r
}}"
    );
    let options = self::width(width);
    let found = launch(&source, options, [1; 3], &[Words(values.to_vec()), Words(vec![0; LANES])]);
    found.unwrap_or_else(|d| panic!("width {width}: {d:#?}")).remove(1)
}

fn values() -> Vec<u32> {
    (0..LANES as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ i << 7).collect()
}

/// Calls `f` with a subgroup's values and a lane of it, for each invocation.
fn expected(width: u32, values: &[u32], f: impl Fn(&[u32], usize) -> u32) -> Vec<u32> {
    values
        .chunks(width as usize)
        .flat_map(|group| (0..group.len()).map(|lane| f(group, lane)).collect::<Vec<_>>())
        .collect()
}

#[test]
fn who_is_who() {
    for w in WIDTHS {
        let found = each(
            w,
            &values(),
            "
  %a = mad.u32 (subgroup_id), 1000, %lane
  %r = mad.u32 (num_subgroups), 1000000, %a",
        );
        let count = LANES.div_ceil(w as usize) as u32;
        let expected: Vec<u32> = (0..LANES as u32).map(|i| count * 1_000_000 + i / w * 1000 + i % w).collect();
        assert_eq!(found, expected, "width {w}");
    }
}

#[test]
fn votes() {
    let values = values();
    let odd = |v: &u32| v % 2 == 1;
    for w in WIDTHS {
        let ballot = |group: &[u32]| group.iter().rev().fold(0u64, |bits, v| bits << 1 | u64::from(odd(v)));
        for word in 0..4 {
            let body = format!("%r = extract.u32 (ballot (eq.u32 (and.u32 %v, 1), 1)), {word}");
            let found = each(w, &values, &body);
            let word = |group: &[u32]| if word < 2 { (ballot(group) >> (32 * word)) as u32 } else { 0 };
            assert_eq!(found, expected(w, &values, |group, _| word(group)), "width {w}");
        }
        let found = each(
            w,
            &values,
            "
  %odd = eq.u32 (and.u32 %v, 1), 1
  %any = select.u32 (any %odd), 1, 0
  %all = select.u32 (all %odd), 2, 0
  %one = select.u32 (elect), 4, 0
  %r = or.u32 %any, (or.u32 %all, %one)",
        );
        let vote = |group: &[u32], lane| {
            u32::from(group.iter().any(odd)) + 2 * u32::from(group.iter().all(odd)) + 4 * u32::from(lane == 0)
        };
        assert_eq!(found, expected(w, &values, vote), "width {w}");
    }
}

#[test]
fn shuffles_to_lanes_that_are_there() {
    let values = values();
    for w in WIDTHS {
        // What comes from no lane is replaced; nothing else may be.
        let found = each(
            w,
            &values,
            "
  %x = shuffle_xor.u32 %v, 1
  %left = sub.u32 %t, %lane
  %there = lt.u32 (add.u32 %left, (xor.u32 %lane, 1)), 75
  %fits = and %there, (lt.u32 (xor.u32 %lane, 1), %w)
  %r = select.u32 %fits, %x, 7",
        );
        assert_eq!(found, expected(w, &values, |g, i| *g.get(i ^ 1).unwrap_or(&7)), "xor, width {w}");
        let found = each(
            w,
            &values,
            "
  %x = shuffle_up.u32 %v, 3
  %r = select.u32 (ge.u32 %lane, 3), %x, 7",
        );
        assert_eq!(found, expected(w, &values, |g, i| if i < 3 { 7 } else { g[i - 3] }), "up, width {w}");
        let found = each(
            w,
            &values,
            "
  %x = shuffle_down.u32 %v, 2
  %there = lt.u32 (add.u32 %t, 2), 75
  %r = select.u32 (and %there, (lt.u32 (add.u32 %lane, 2), %w)), %x, 7",
        );
        assert_eq!(found, expected(w, &values, |g, i| *g.get(i + 2).unwrap_or(&7)), "down, width {w}");
        let found = each(
            w,
            &values,
            "
  %left = sub.u32 %t, %lane
  %size = min.u32 %w, (sub.u32 75, %left)
  %x = shuffle.u32x2 (vector.u32x2 %v, %t), (rem.u32 %v, %size)
  %r = xor.u32 (extract.u32 %x, 0), (extract.u32 %x, 1)",
        );
        let base = |i: usize| i / w as usize * w as usize;
        let any: Vec<u32> = (0..LANES)
            .map(|i| {
                let size = (LANES - base(i)).min(w as usize) as u32;
                let from = base(i) + (values[i] % size) as usize;
                values[from] ^ from as u32
            })
            .collect();
        assert_eq!(found, any, "any, width {w}");
        let found = each(w, &values, "%r = broadcast.u32 %v, 0");
        assert_eq!(found, expected(w, &values, |g, _| g[0]), "broadcast, width {w}");
    }
}

#[test]
fn reductions_and_scans() {
    let values = values();
    let ops = [
        ("add", Op::Add, 0),
        ("mul", Op::Mul, 1),
        ("min", Op::Min, u64::from(u32::MAX)),
        ("max", Op::Max, 0),
        ("and", Op::And, u64::from(u32::MAX)),
        ("or", Op::Or, 0),
        ("xor", Op::Xor, 0),
    ];
    for w in WIDTHS {
        for (name, op, identity) in ops {
            let fold = |values: &[u32]| {
                values.iter().fold(identity, |sum, v| {
                    eval::scalar(op, Scalar::U32, Scalar::U32, &[sum, u64::from(*v)]).expect("arithmetic")
                }) as u32
            };
            let found = each(w, &values, &format!("%r = subgroup.{name}.u32 %v"));
            assert_eq!(found, expected(w, &values, |g, _| fold(g)), "subgroup.{name}, width {w}");
            if matches!(op, Op::Add | Op::Mul | Op::Min | Op::Max) {
                let found = each(w, &values, &format!("%r = inclusive.{name}.u32 %v"));
                assert_eq!(found, expected(w, &values, |g, i| fold(&g[..=i])), "inclusive.{name}, width {w}");
            }
            if matches!(op, Op::Add | Op::Mul) {
                let found = each(w, &values, &format!("%r = exclusive.{name}.u32 %v"));
                assert_eq!(found, expected(w, &values, |g, i| fold(&g[..i])), "exclusive.{name}, width {w}");
            }
        }
        let found = each(w, &values, "%r = convert.u32 (subgroup.add.f16 (convert.f16 (and.u32 %v, 7)))");
        assert_eq!(found, expected(w, &values, |g, _| g.iter().map(|v| v & 7).sum()), "subgroup.add.f16, width {w}");
    }
}

#[test]
fn a_kernel_says_for_which_width_it_was_written() {
    let source = "
kernel @k(%out: buffer) workgroup(16) subgroup(8) {
  store.u32 %out[(local_index)], (subgroup.add.u32 1)
}";
    assert_eq!(run(source, 16), [8; 16]);
}

/// A product of fragments is what three loops make of the matrices; A by columns, B by rows.
#[test]
fn fragments_are_matrices() {
    let source = "
kernel @product(%a: buffer readonly, %b: buffer readonly, %c: buffer) workgroup(64) {
  %g = subgroup_id
  %zero = coop.splat.coop<acc, 16x8x16, f32> 1.0
  %fa = coop.load.coop<a, 16x8x16, f16> %a[(mul.u32 %g, 256)], 16 layout(column)
  %fb = coop.load.coop<b, 16x8x16, f16> %b[8], 16
  %sum = coop.mma.coop<acc, 16x8x16, f32> %fa, %fb, %zero
  coop.store.coop<acc, 16x8x16, f32> %c[(mul.u32 %g, 128)], %sum, 8
}";
    let half = |i: u32| half::f16::from_f32((i * 37 % 23) as f32 - 11.0);
    let pack = |n: u32| -> Vec<u32> {
        (0..n / 2).map(|i| u32::from(half(2 * i).to_bits()) | u32::from(half(2 * i + 1).to_bits()) << 16).collect()
    };
    let given = [Words(pack(512)), Words(pack(256)), Words(vec![0; 256])];
    let found = launch(source, width(32), [1; 3], &given).expect("no fault").remove(2);
    for (at, word) in found.into_iter().enumerate() {
        let (group, row, column) = (at as u32 / 128, at as u32 / 8 % 16, at as u32 % 8);
        let product = |k: u32| half(group * 256 + row + 16 * k).to_f32() * half(8 + k * 16 + column).to_f32();
        let expected = 1.0 + (0..16).map(product).sum::<f32>();
        assert_eq!(f32::from_bits(word), expected, "group {group}, element ({row}, {column})");
    }
}
