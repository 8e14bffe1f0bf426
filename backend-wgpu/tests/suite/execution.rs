//! Kernels run on a real adapter, as it is and under WebGPU's default limits.

use crate::support::{dispatch, load, number, on_all, read, run, words};
use girih_runtime::{Argument, Buffer, Command, Dispatch, Grid, Memory};

fn buffer(buffer: &Buffer) -> Argument {
    Argument::buffer(buffer)
}

#[test]
fn vector_add() {
    let source = "
kernel @add(%a: buffer readonly, %b: buffer readonly, %c: buffer, %n: u32) workgroup(64) {
  %i = global_id.x
  %inside = lt.u32 %i, %n
  if %inside {
    %s = add.f32 (load.f32 %a[%i]), (load.f32 %b[%i])
    store.f32 %c[%i], %s
  }
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let n = 1000u32;
        let x: Vec<u32> = (0..n).map(|i| (i as f32 * 0.5).to_bits()).collect();
        let (a, b) = (words(gpu, &x), words(gpu, &x));
        let c = words(gpu, &vec![7; n as usize + 1]);
        run(gpu, &[dispatch(&program, [n.div_ceil(64), 1, 1], &[buffer(&a), buffer(&b), buffer(&c), number(n)])]);
        let result = read(gpu, &c, n as usize + 1);
        assert!((0..n as usize).all(|i| f32::from_bits(result[i]) == i as f32));
        assert_eq!(result[n as usize], 7, "nothing is written beyond the end");
    });
}

#[test]
fn loops_swap_what_they_carry_and_leave_from_a_switch() {
    let source = "
kernel @walk(%out: buffer, %n: u32) workgroup(1) {
  %k, %a, %b = loop (%k: u32 = 0, %a: u32 = 1, %b: u32 = 2) {
    %r: u32 = switch.u32 (rem.u32 %k, 5)
      case 0, 1 { yield 10 }
      case 2 {
        %late = gt.u32 %k, 40
        if %late {
          break %k, %a, %b
        }
        yield 20
      }
      case 3 {
        continue (add.u32 %k, 1), %b, %a
      }
      default { yield 30 }
    %go = lt.u32 %k, %n
    while %go next (add.u32 %k, 1), %b, (add.u32 %a, %r)
  }
  store.u32 %out[0], %k
  store.u32 %out[1], %a
  store.u32 %out[2], %b
}";
    let expected = |n: u32| {
        let (mut k, mut a, mut b) = (0u32, 1u32, 2u32);
        loop {
            let r = match k % 5 {
                0 | 1 => 10,
                2 if k > 40 => break [k, a, b],
                2 => 20,
                3 => {
                    (k, a, b) = (k + 1, b, a);
                    continue;
                }
                _ => 30,
            };
            if k >= n {
                break [k, a, b];
            }
            (k, a, b) = (k + 1, b, a + r);
        }
    };
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[0; 4]);
        for n in [0, 7, 23, 100] {
            run(gpu, &[dispatch(&program, [1; 3], &[buffer(&out), number(n)])]);
            assert_eq!(read(gpu, &out, 3), expected(n), "{n}");
        }
    });
}

#[test]
fn transpose_through_shared_memory() {
    let source = "
kernel @transpose(%in: buffer readonly, %out: buffer, %n: u32) workgroup(8, 8) {
  shared %tile: u32[72]
  %x = global_id.x
  %y = global_id.y
  %lx = local_id.x
  %ly = local_id.y
  %v = load.u32 %in[(add.u32 (mul.u32 %y, %n), %x)]
  store.u32 %tile[(add.u32 (mul.u32 %ly, 9), %lx)], %v
  barrier
  %bx = mul.u32 (workgroup_id.y), 8
  %by = mul.u32 (workgroup_id.x), 8
  %w = load.u32 %tile[(add.u32 (mul.u32 %lx, 9), %ly)]
  store.u32 %out[(add.u32 (mul.u32 (add.u32 %by, %ly), %n), (add.u32 %bx, %lx))], %w
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let n = 32u32;
        let values: Vec<u32> = (0..n * n).collect();
        let (a, b) = (words(gpu, &values), words(gpu, &values));
        run(gpu, &[dispatch(&program, [n / 8, n / 8, 1], &[buffer(&a), buffer(&b), number(n)])]);
        let result = read(gpu, &b, values.len());
        assert!((0..n * n).all(|i| result[i as usize] == (i % n) * n + i / n));
    });
}

#[test]
fn histogram_by_atomics_of_both_spaces() {
    let source = "
kernel @histogram(%in: buffer readonly, %out: buffer, %n: u32) workgroup(64) {
  shared %bins: u32[16]
  %l = local_index
  %own = lt.u32 %l, 16
  if %own { store.u32 %bins[%l], 0 }
  barrier
  %i = global_id.x
  %inside = lt.u32 %i, %n
  if %inside {
    %old = atomic.add.u32 %bins[(and.u32 (load.u32 %in[%i]), 15)], 1
  }
  barrier
  if %own {
    %old = atomic.add.u32 %out[%l], (load.u32 %bins[%l])
    %m = atomic.max.i32 %out[16], -5
    %s = atomic.min.u32 %out[17], %l
  }
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let n = 1000u32;
        let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
        let input = words(gpu, &values);
        let mut start = [0; 18];
        (start[16], start[17]) = (-9i32 as u32, 3_000_000_000);
        let out = words(gpu, &start);
        run(gpu, &[dispatch(&program, [n.div_ceil(64), 1, 1], &[buffer(&input), buffer(&out), number(n)])]);
        let result = read(gpu, &out, 18);
        for bin in 0..16 {
            assert_eq!(result[bin as usize], values.iter().filter(|v| *v & 15 == bin).count() as u32);
        }
        assert_eq!(result[16..], [-5i32 as u32, 0]);
    });
}

#[test]
fn accesses_of_several_widths_and_types_on_one_buffer() {
    let source = "
kernel @views(%m: buffer) workgroup(1) {
  %v = load.u32x4 %m[1]
  %f = load.f32 %m[0]
  %g = add.f32 %f, 1.0
  store.f32 %m[1], %g
  %x = extract.u32 %v, 3
  %w = vector.u32x2 %x, 9
  store.u32x2 %m[1], %w
  %old = atomic.add.u32 %m[8], 5
  store.u32 %m[9], %old
  %p = load.f32x2 %m[5]
  store.f32x2 %m[6], %p
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let mut start: Vec<u32> = (0..16).collect();
        start[0] = 2.5f32.to_bits();
        let m = words(gpu, &start);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&m)])]);
        let mut expected = start.clone();
        expected[1] = 3.5f32.to_bits();
        (expected[2], expected[3]) = (7, 9);
        (expected[8], expected[9]) = (13, 8);
        (expected[12], expected[13]) = (10, 11);
        assert_eq!(read(gpu, &m, 16), expected);
    });
}

#[test]
fn indirect_dispatch_of_a_grid_that_a_kernel_writes_in_the_same_pass() {
    let source = "
kernel @plan(%grid: buffer, %n: u32) workgroup(1) {
  store.u32 %grid[0], %n
  store.u32 %grid[1], 1
  store.u32 %grid[2], 1
}
kernel @count(%out: buffer) workgroup(4) {
  %old = atomic.add.u32 %out[0], 1
}";
    on_all(|gpu| {
        let programs = load(gpu, source);
        let grid = gpu.zeroed(Memory { bytes: 12, indirect: true }).unwrap();
        let out = words(gpu, &[0]);
        let count = Command::Dispatch(Dispatch {
            program: programs[1].clone(),
            arguments: vec![buffer(&out)],
            grid: Grid::Indirect(grid.clone()),
        });
        let plan = |n| dispatch(&programs[0], [1; 3], &[buffer(&grid), number(n)]);
        run(gpu, &[plan(5), count.clone(), plan(0), count.clone(), plan(300), count.clone()]);
        assert_eq!(read(gpu, &out, 1), [4 * 305]);
    });
}

#[test]
fn numbers_that_are_not_finite_and_comparisons_with_them() {
    let source = "
kernel @floats(%in: buffer readonly, %out: buffer) workgroup(1) {
  %x = load.f32 %in[0]
  %nan = load.f32 %in[1]
  store.f32 %out[0], (min.f32 %x, %nan)
  store.f32 %out[1], (max.f32 %nan, %x)
  store.f32 %out[2], inf
  store.u32 %out[3], (convert.u32 (ne.f32 %nan, %nan))
  store.u32 %out[4], (convert.u32 (eq.f32 %nan, %nan))
  store.f32 %out[5], (neg.f32 (load.f32 %in[2]))
  store.f32 %out[6], nan
  store.u32 %out[7], (convert.u32 (lt.f32 %x, inf))
  store.i32 %out[8], -2147483648
  store.i32 %out[9], (neg.i32 -2147483648)
  store.u32 %out[10], (add.u32 4294967295, 2)
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let input = words(gpu, &[1.5f32.to_bits(), f32::NAN.to_bits(), 0, 0]);
        let out = words(gpu, &[0; 12]);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&input), buffer(&out)])]);
        let result = read(gpu, &out, 12);
        assert_eq!(result[..2], [1.5f32.to_bits(); 2]);
        assert_eq!(result[2], f32::INFINITY.to_bits());
        assert_eq!(result[3..6], [1, 0, (-0.0f32).to_bits()]);
        assert!(f32::from_bits(result[6]).is_nan());
        assert_eq!(result[7..11], [1, 1 << 31, 1 << 31, 1]);
    });
}

#[test]
fn functions_with_several_results() {
    let source = "
fn @both(%a: u32, %b: u32) -> u32, bool, f32 {
  %less = lt.u32 %a, %b
  %d = sub.u32 %a, %b
  if %less {
    return %a, true, 1.5
  }
  return %d, false, 2.5
}
kernel @call(%out: buffer) workgroup(4) {
  %i = local_index
  %d, %less, %f = call @both(%i, 2)
  %base = mul.u32 %i, 3
  store.u32 %out[%base], %d
  store.u32 %out[%base + 1], (convert.u32 %less)
  store.f32 %out[%base + 2], %f
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[0; 12]);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&out)])]);
        let (a, b) = (1.5f32.to_bits(), 2.5f32.to_bits());
        assert_eq!(read(gpu, &out, 12), [0, 1, a, 1, 1, a, 0, 0, b, 1, 0, b]);
    });
}

#[test]
fn subgroups_reduce_scan_and_exchange() {
    // Lanes are not assumed to follow the local index: each invocation writes where it stands.
    let source = "
kernel @lanes(%out: buffer) workgroup(32) {
  %i = local_index
  %at = mul.u32 %i, 16
  %x = add.u32 (mul.u32 %i, 7), 3
  store.u32 %out[%at], (lane)
  store.u32 %out[%at + 1], (subgroup_id)
  store.u32 %out[%at + 2], (subgroup.add.u32 %x)
  store.u32 %out[%at + 3], (inclusive.add.u32 %x)
  store.u32 %out[%at + 4], (exclusive.mul.u32 %x)
  store.u32 %out[%at + 5], (inclusive.max.u32 (xor.u32 %x, 8))
  store.i32 %out[%at + 6], (subgroup.min.i32 (bitcast.i32 (sub.u32 %x, 50)))
  store.u32 %out[%at + 7], (shuffle_xor.u32 %x, 1)
  %odd = ne.u32 (and.u32 %i, 1), 0
  %b = ballot %odd
  store.u32 %out[%at + 8], (extract.u32 %b, 0)
  store.u32 %out[%at + 9], (convert.u32 (any (gt.u32 %x, 200)))
  store.u32 %out[%at + 10], (convert.u32 (elect))
  store.u32 %out[%at + 11], (broadcast.u32 %x, 2)
  %down = shuffle_down.f32 (convert.f32 %x), 1
  store.f32 %out[%at + 12], %down
  store.u32 %out[%at + 13], (subgroup_size)
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[0; 512]);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&out)])]);
        let result = read(gpu, &out, 512);
        let rows: Vec<&[u32]> = result.chunks(16).collect();
        let x = |i: usize| i as u32 * 7 + 3;
        for (i, row) in rows.iter().enumerate() {
            // The lanes of this invocation's subgroup, in order.
            let mut group: Vec<usize> = (0..32).filter(|j| rows[*j][1] == row[1]).collect();
            group.sort_by_key(|j| rows[*j][0]);
            let lane = row[0] as usize;
            assert_eq!(group[lane], i);
            let upto = &group[..=lane];
            assert_eq!(row[2], group.iter().map(|j| x(*j)).sum::<u32>());
            assert_eq!(row[3], upto.iter().map(|j| x(*j)).sum::<u32>());
            assert_eq!(row[4], group[..lane].iter().fold(1u32, |p, j| p.wrapping_mul(x(*j))));
            assert_eq!(Some(row[5]), upto.iter().map(|j| x(*j) ^ 8).max());
            assert_eq!(Some(row[6] as i32), group.iter().map(|j| x(*j) as i32 - 50).min());
            if group.len() > (lane ^ 1) {
                assert_eq!(row[7], x(group[lane ^ 1]));
            }
            let ballot = group.iter().enumerate().filter(|(_, j)| **j % 2 == 1).fold(0, |b, (lane, _)| b | 1 << lane);
            assert_eq!(row[8], ballot);
            assert_eq!(row[9], u32::from(group.iter().any(|j| x(*j) > 200)));
            assert_eq!(row[10], u32::from(lane == 0));
            if group.len() > 2 {
                assert_eq!(row[11], x(group[2]));
            }
            if let Some(next) = group.get(lane + 1) {
                assert_eq!(row[12], (x(*next) as f32).to_bits());
            }
            assert!(row[13] as usize >= group.len());
        }
    });
}

#[test]
fn wide_numbers_cross_lanes_and_count_their_bits() {
    let source = "
kernel @wide(%in: buffer readonly, %out: buffer) workgroup(16) {
  %i = local_index
  %x = load.u64 %in[%i]
  %at = mul.u32 %i, 8
  store.u64 %out[%at], (subgroup.add.u64 %x)
  store.u64 %out[%at + 1], (inclusive.max.u64 %x)
  store.u64 %out[%at + 2], (clz.u64 %x)
  store.u64 %out[%at + 3], (ctz.u64 %x)
  store.u64 %out[%at + 4], (popc.u64 %x)
  store.u64 %out[%at + 5], (reverse_bits.u64 %x)
  store.u64 %out[%at + 6], (mul.u64 %x, %x)
  %word = or.u32 (shl.u32 (subgroup_id), 8), (lane)
  store.u64 %out[%at + 7], (convert.u64 %word)
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let values: Vec<u64> = (0..16u64)
            .map(|i| if i == 3 { 0 } else { (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i * 3) })
            .collect();
        let input = words(gpu, bytemuck::cast_slice(&values));
        let out = words(gpu, &[0; 256]);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&input), buffer(&out)])]);
        let result = read(gpu, &out, 256);
        let result: &[u64] = bytemuck::cast_slice(&result);
        let rows: Vec<&[u64]> = result.chunks(8).collect();
        for (i, row) in rows.iter().enumerate() {
            let mut group: Vec<usize> = (0..16).filter(|j| rows[*j][7] >> 8 == row[7] >> 8).collect();
            group.sort_by_key(|j| rows[*j][7]);
            let lane = (row[7] & 255) as usize;
            let sum = group.iter().fold(0u64, |s, j| s.wrapping_add(values[*j]));
            let most = group[..=lane].iter().map(|j| values[*j]).max();
            let x = values[i];
            assert_eq!((row[0], Some(row[1])), (sum, most), "{i}");
            assert_eq!(row[2..4], [x.leading_zeros().into(), x.trailing_zeros().into()], "{i}");
            assert_eq!(row[4..7], [x.count_ones().into(), x.reverse_bits(), x.wrapping_mul(x)], "{i}");
        }
    });
}

#[test]
fn shared_memories_that_overlap_share_an_array_where_they_must() {
    // 16 KiB fit: once as floats, once as words, with barriers between.
    let source = "
kernel @overlap(%out: buffer) workgroup(64) {
  shared %a: f32[3072] group(1)
  shared %b: u32[3072] group(1)
  %i = local_index
  store.f32 %a[(mul.u32 %i, 48)], (convert.f32 %i)
  barrier
  %other = sub.u32 63, %i
  %x = load.f32 %a[(mul.u32 %other, 48)]
  barrier
  store.u32 %b[(mul.u32 %i, 48)], (convert.u32 %x)
  barrier
  store.u32 %out[%i], (load.u32 %b[(mul.u32 %other, 48)])
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[9; 64]);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&out)])]);
        assert_eq!(read(gpu, &out, 64), (0..64).collect::<Vec<u32>>());
    });
}

#[test]
fn sums_of_floats_by_atomics_in_shared_and_global_memory() {
    let source = "
kernel @sum(%out: buffer) workgroup(64) {
  shared %s: f32[1]
  %i = local_index
  %first = eq.u32 %i, 0
  if %first { store.f32 %s[0], 0.0 }
  barrier
  %a = atomic.add.f32 %s[0], (convert.f32 %i)
  %b = atomic.add.f32 %out[0], 0.5
  barrier
  if %first { store.f32 %out[1], (load.f32 %s[0]) }
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[0; 4]);
        run(gpu, &[dispatch(&program, [3, 1, 1], &[buffer(&out)])]);
        let result = read(gpu, &out, 2);
        assert_eq!(result.iter().map(|w| f32::from_bits(*w)).collect::<Vec<_>>(), [96.0, 2016.0]);
    });
}

#[test]
fn early_return_and_loops_of_unknown_length() {
    let source = "
fn @collatz(%n: u32) -> u32 {
  %steps, %x = loop (%steps: u32 = 0, %x: u32 = %n) {
    if (le.u32 %x, 1) {
      break %steps, %x
    }
    %even = eq.u32 (and.u32 %x, 1), 0
    %next: u32 = if %even { yield (shr.u32 %x, 1) } else { yield (add.u32 (mul.u32 %x, 3), 1) }
    continue (add.u32 %steps, 1), %next
  }
  return %steps
}
kernel @all(%out: buffer, %n: u32) workgroup(32) {
  %i = global_id.x
  if (ge.u32 %i, %n) { return }
  store.u32 %out[%i], (call @collatz(%i))
}";
    let collatz = |n: u32| {
        let (mut steps, mut x) = (0, n);
        while x > 1 {
            (steps, x) = (steps + 1, if x % 2 == 0 { x / 2 } else { 3 * x + 1 });
        }
        steps
    };
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[0; 1000]);
        run(gpu, &[dispatch(&program, [32, 1, 1], &[buffer(&out), number(999)])]);
        let mut expected: Vec<u32> = (0..999).map(collatz).collect();
        expected.push(0);
        assert_eq!(read(gpu, &out, 1000), expected);
    });
}
