//! Loads and stores of every width in every space, atomics, barriers, positions, shared memory of chosen length.

use super::*;

#[test]
fn positions_in_three_dimensions() {
    let source = "
kernel @where(%out: buffer) workgroup(2, 3, 2) launch {
  grid 2, 1, 3
} {
  %i = local_index
  %groups = num_workgroups.x
  %g = mad.u32 (workgroup_id.z), %groups, (workgroup_id.x)
  %at = mad.u32 %g, 12, %i
  %x = add.u32 (global_id.x), (mul.u32 (global_id.y), 10)
  %p = add.u32 %x, (mul.u32 (global_id.z), 100)
  %l = add.u32 (local_id.x), (add.u32 (mul.u32 (local_id.y), 2), (mul.u32 (local_id.z), 6))
  store.u32x2 %out[%at], (vector.u32x2 %p, %l)
}";
    let found = launch(source, checked(), [1; 3], &[Words(vec![0; 144])]).expect("no fault").remove(0);
    let mut expected = vec![];
    for (gz, gx) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
        for i in 0..12u32 {
            let (x, y, z) = (i % 2, i / 2 % 3, i / 6);
            expected.extend([gx * 2 + x + y * 10 + (gz * 2 + z) * 100, i]);
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn every_width_in_every_space() {
    for (ty, count) in [("u8", 4), ("u16", 2), ("u32", 1), ("f16x2", 1), ("u8x4", 1)] {
        // Each invocation copies the elements of one word through private and shared memory, the other way round in the end.
        let scalar = ty.trim_end_matches("x2").trim_end_matches("x4");
        let source = format!(
            "
kernel @copy(%in: buffer readonly, %out: buffer) workgroup(32) {{
  shared %s: {scalar}[128] align(16)
  private %p: {scalar}[4] align(16)
  %t = local_index
  %first = mul.u32 %t, {count}
  loop (%i: u32 = 0) {{
    if (ge.u32 %i, {count}) {{
      break
    }}
    store.{ty} %p[%i], (load.{ty} %in[(add.u32 %first, %i)])
    store.{ty} %s[(add.u32 %first, %i)], (load.{ty} %p[%i])
    continue (add.u32 %i, 1)
  }}
  barrier
  %other = mul.u32 (sub.u32 31, %t), {count}
  loop (%i: u32 = 0) {{
    if (ge.u32 %i, {count}) {{
      break
    }}
    store.{ty} %out[(add.u32 %first, %i)], (load.{ty} %s[(add.u32 %other, %i)])
    continue (add.u32 %i, 1)
  }}
}}"
        );
        let words: Vec<u32> = (0..32u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let found = launch(&source, checked(), [1; 3], &[Words(words.clone()), Words(vec![0; 32])]).expect("no fault");
        assert!(found[1].iter().eq(words.iter().rev()), "{ty}");
    }
}

#[test]
fn wide_accesses_and_constant_offsets() {
    let source = "
kernel @wide(%in: buffer readonly align(16), %out: buffer align(16)) workgroup(1) {
  %i = add.u32 (local_index), 2
  %v = load.u32x4 %in[%i - 1]
  %d = load.u64 %in[%i + 1]
  store.u32x4 %out[%i - 2], %v
  store.u64 %out[2], %d
}";
    let found = launch(source, checked(), [1; 3], &[Words((0..12).collect()), Words(vec![0; 8])]).expect("no fault");
    assert_eq!(found[1], [4, 5, 6, 7, 6, 7, 0, 0]);
}

#[test]
fn all_atomics_on_both_spaces() {
    // Nine cells; 64 invocations of each of 3 workgroups; old values are summed so that none is lost.
    let source = "
fn @all(%m: buffer, %i: u32) {
  %one = shl.u32 1, (and.u32 %i, 31)
  %a = atomic.add.u32 %m[0], %i
  %b = atomic.min.i32 %m[1], (bitcast.i32 (sub.u32 50, %i))
  %c = atomic.max.u32 %m[2], %i
  %d = atomic.and.u32 %m[3], (not.u32 %one)
  %e = atomic.or.u32 %m[4], %one
  %f = atomic.xor.u32 %m[5], %one
  %g = atomic.add.f32 %m[6], 0.5
  %h = atomic.compare_exchange.u32 %m[7], %i, (add.u32 %i, 1)
  %k = atomic.add.u64 %m[4], 0x100000001
  return
}
kernel @global(%m: buffer) workgroup(64) {
  call @all(%m, (global_id.x))
}";
    let mut initial = vec![0; 10];
    (initial[2], initial[3], initial[7]) = (5, u32::MAX, 0);
    let found = launch(source, checked(), [3, 1, 1], &[Words(initial)]).expect("no fault").remove(0);
    let sum: u32 = (0..192).sum();
    assert_eq!(found[..8], [sum, (50 - 191i32) as u32, 191, 0, u32::MAX, 0, 96f32.to_bits(), 192]);
    assert_eq!(found[8..], [192, 192]);
    let shared = "
kernel @histogram(%in: buffer readonly, %out: buffer) workgroup(64) {
  shared %bins: u32[4]
  %t = local_index
  if (lt.u32 %t, 4) {
    store.u32 %bins[%t], 0
  }
  barrier
  %old = atomic.add.u32 %bins[(and.u32 (load.u32 %in[%t]), 3)], 1
  barrier
  if (lt.u32 %t, 4) {
    store.u32 %out[%t], (atomic.exchange.u32 %bins[%t], 0)
  }
}";
    let words: Vec<u32> = (0..64u32).map(|i| i * i).collect();
    let found = launch(shared, checked(), [1; 3], &[Words(words), Words(vec![0; 4])]).expect("no fault");
    assert_eq!(found[1], [32, 32, 0, 0]);
}

#[test]
fn a_reduction_in_shared_memory() {
    let source = "
kernel @sum(%in: buffer readonly, %out: buffer, %n: u32) workgroup(128) {
  shared %s: u32[128]
  %t = local_index
  %i = global_id.x
  %v: u32 = if (lt.u32 %i, %n) {
    yield (load.u32 %in[%i])
  } else {
    yield 0
  }
  store.u32 %s[%t], %v
  loop (%d: u32 = 64) {
    barrier
    if (eq.u32 %d, 0) {
      break
    }
    if (lt.u32 %t, %d) {
      store.u32 %s[%t], (add.u32 (load.u32 %s[%t]), (load.u32 %s[(add.u32 %t, %d)]))
    }
    continue (shr.u32 %d, 1)
  }
  %whole = uniform_load.u32 %s[0]
  if (eq.u32 %t, 0) {
    store.u32 %out[(workgroup_id.x)], %whole
  }
}";
    let words: Vec<u32> = (0..300).map(|i| i * 7 + 1).collect();
    for seed in [None, Some(1), Some(2)] {
        let options = Options { seed, ..checked() };
        let given = [Words(words.clone()), Words(vec![0; 3]), Number(300)];
        let found = launch(source, options, [3, 1, 1], &given).expect("no fault").remove(1);
        let sums: Vec<u32> = words.chunks(128).map(|chunk| chunk.iter().sum()).collect();
        assert_eq!(found, sums);
    }
}

#[test]
fn the_length_of_shared_memory_is_chosen_at_launch() {
    let source = "
kernel @reverse(%m: buffer, %n: u32) workgroup(32) spec(%extra: u32 = 1) launch {
  %words = add.u32 %n, %extra
  grid 1, 1, 1
} {
  shared %s: u32[%words]
  %t = local_index
  %inside = lt.u32 %t, %n
  if %inside {
    store.u32 %s[%t], (load.u32 %m[%t])
  }
  barrier
  if %inside {
    store.u32 %m[%t], (load.u32 %s[(sub.u32 (sub.u32 %words, 2), %t)])
  }
}";
    for n in [1, 5, 32] {
        let found = launch(source, checked(), [1; 3], &[Words((0..n).collect()), Number(n)]).expect("no fault");
        assert!(found[0].iter().copied().eq((0..n).rev()), "{n}");
    }
}

#[test]
fn private_memory_of_a_function_is_new_in_each_call() {
    let source = "
fn @sum3(%x: u32) -> u32 {
  private %p: u32[3]
  loop (%i: u32 = 0) {
    if (eq.u32 %i, 3) {
      break
    }
    store.u32 %p[%i], (add.u32 %x, %i)
    continue (add.u32 %i, 1)
  }
  return (add.u32 (load.u32 %p[0]), (add.u32 (load.u32 %p[1]), (load.u32 %p[2])))
}
kernel @twice(%out: buffer) workgroup(8) {
  %t = local_index
  %a = call @sum3(%t)
  %b: u32 = if (lt.u32 %t, 4) {
    %b = call @sum3((mul.u32 %t, 10))
    yield %b
  } else {
    yield 0
  }
  store.u32 %out[%t], (add.u32 %a, %b)
}";
    let found = run(source, 8);
    assert_eq!(found, [6, 39, 72, 105, 15, 18, 21, 24]);
}

#[test]
fn overlapping_shared_arrays_are_one_place() {
    let source = "
kernel @over(%out: buffer) workgroup(4) {
  shared %a: u32[4] group(1)
  shared %b: u32[8] group(1)
  shared %c: u32[4]
  %t = local_index
  store.u32 %a[%t], (add.u32 %t, 1)
  store.u32 %c[%t], 100
  barrier
  %x = load.u32 %a[(sub.u32 3, %t)]
  barrier
  store.u32 %b[%t], 50
  barrier
  store.u32 %out[%t], (add.u32 %x, (add.u32 (load.u32 %b[%t]), (load.u32 %c[%t])))
}";
    assert_eq!(run(source, 4), [154, 153, 152, 151]);
}
