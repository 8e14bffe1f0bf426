//! Copies, mbarriers and matrix products of warpgroups, used rightly.

use super::*;
use girih_ir::attrs::SharedMatrix;
use girih_machine::interp::{accumulator_element, factor_byte};

#[test]
fn a_pipeline_of_copies() {
    // Three stages; each workgroup sums four words of every row of 32, two copies under way.
    let source = "
kernel @pipeline(%in: buffer readonly align(16), %out: buffer, %rows: u32) workgroup(8) {
  shared %s: u32x4[24] align(16)
  %t = local_index
  %sum: u32 = loop (%i: u32 = 0, %sum: u32 = 0) {
    %stage = mul.u32 (rem.u32 %i, 3), 8
    async.copy.u32x4 %s[(add.u32 %stage, %t)], %in[(add.u32 (mul.u32 %i, 8), %t)], (lt.u32 %i, %rows)
    async.commit
    if (lt.u32 %i, 2) {
      continue (add.u32 %i, 1), %sum
    }
    async.wait pending(2)
    barrier
    %done = mul.u32 (rem.u32 (add.u32 %i, 1), 3), 8
    %v = load.u32x4 %s[(add.u32 %done, (sub.u32 7, %t))]
    %a = add.u32 (extract.u32 %v, 0), (extract.u32 %v, 1)
    %b = add.u32 (extract.u32 %v, 2), (extract.u32 %v, 3)
    %next = add.u32 %sum, (add.u32 %a, %b)
    barrier
    if (ge.u32 %i, (add.u32 %rows, 1)) {
      break %next
    }
    continue (add.u32 %i, 1), %next
  }
  store.u32 %out[%t], %sum
}";
    for rows in [1u32, 2, 5] {
        let words: Vec<u32> = (0..rows * 32).map(|i| i * 3 + 1).collect();
        let given = [Words(words.clone()), Words(vec![0; 8]), Number(rows)];
        let found = launch(source, checked(), [1; 3], &given).expect("no fault").remove(1);
        for (t, sum) in found.into_iter().enumerate() {
            let of_row = |row: &[u32]| row[4 * (7 - t)..][..4].iter().sum::<u32>();
            assert_eq!(sum, words.chunks(32).map(of_row).sum::<u32>(), "{rows} rows, invocation {t}");
        }
    }
}

#[test]
fn mbarriers_count_arrivals_and_copies() {
    let source = "
kernel @phases(%in: buffer readonly align(16), %out: buffer) workgroup(16) {
  shared %bar: u64[1]
  shared %s: u32[16]
  %t = local_index
  if (eq.u32 %t, 0) {
    mbarrier.init %bar[0], 16
  }
  barrier
  async.copy.u32 %s[%t], %in[%t], true
  mbarrier.arrive_copies %bar[0]
  mbarrier.wait %bar[0], 0
  %a = load.u32 %s[(sub.u32 15, %t)]
  %token = mbarrier.arrive %bar[0]
  %done = mbarrier.test %bar[0], %token
  mbarrier.wait %bar[0], 1
  store.u32 %out[%t], (add.u32 %a, (select.u32 %done, 100, 0))
}";
    let given = [Words((0..16).collect()), Words(vec![0; 16])];
    let found = launch(source, checked(), [1; 3], &given).expect("no fault").remove(1);
    assert!(found.into_iter().eq((0..16).rev().map(|i| i + 100)));
}

#[test]
fn a_test_of_an_mbarrier_that_copies_hold_up_fails_first() {
    let source = "
kernel @poll(%in: buffer readonly align(16), %out: buffer) workgroup(1) {
  shared %bar: u64[1]
  shared %s: u32[1]
  mbarrier.init %bar[0], 2
  %token = mbarrier.arrive %bar[0]
  async.copy.u32 %s[0], %in[0], true
  mbarrier.arrive_copies %bar[0]
  %polls: u32 = loop (%i: u32 = 1) {
    if (mbarrier.test %bar[0], %token) {
      break %i
    }
    continue (add.u32 %i, 1)
  }
  store.u32 %out[0], %polls
  store.u32 %out[1], (load.u32 %s[0])
}";
    let given = [Words(vec![77]), Words(vec![0; 2])];
    assert_eq!(launch(source, checked(), [1; 3], &given).expect("no fault")[1], [2, 77]);
}

#[test]
fn an_arrival_waits_for_the_copies_before_it_alone() {
    let source = "
kernel @k(%in: buffer readonly align(16), %out: buffer) workgroup(1) {
  shared %bar: u64[1]
  shared %s: u32[2]
  mbarrier.init %bar[0], 1
  async.copy.u32 %s[0], %in[0], true
  mbarrier.arrive_copies %bar[0]
  async.copy.u32 %s[1], %in[1], true
  mbarrier.wait %bar[0], 0
  store.u32 %out[0], (load.u32 %s[0])
  WAIT
  store.u32 %out[1], (load.u32 %s[1])
}";
    let given = [Words(vec![7, 8]), Words(vec![0; 2])];
    let waited = source.replace("WAIT", "async.commit\n  async.wait");
    assert_eq!(launch(&waited, checked(), [1; 3], &given).expect("no fault")[1], [7, 8]);
    let early = launch(&source.replace("WAIT", ""), checked(), [1; 3], &given).expect_err("a fault");
    assert_eq!(early.code, Code::NotFinished);
}

#[test]
fn accumulators_cover_the_matrix_once() {
    for n in [8, 24, 256] {
        let mut seen = vec![false; 64 * n];
        for (thread, i) in (0..128).flat_map(|thread| (0..n / 2).map(move |i| (thread, i))) {
            let (row, column) = accumulator_element(thread, i);
            assert!(!std::mem::replace(&mut seen[row * n + column], true));
        }
        assert!(seen.into_iter().all(|s| s));
    }
    // A few from the table of the instruction's documentation.
    assert_eq!(accumulator_element(0, 0), (0, 0));
    assert_eq!(accumulator_element(0, 3), (8, 1));
    assert_eq!(accumulator_element(5, 4), (1, 10));
    assert_eq!(accumulator_element(33, 2), (24, 2));
}

#[test]
fn factors_in_shared_memory() {
    let matrix = |k_major, swizzle, leading, stride| SharedMatrix { k_major, swizzle, leading, stride };
    // Rows of 128 bytes: chunk c of row r at chunk c xor (r mod 8).
    let m = matrix(true, 128, 16, 1024);
    for (row, k) in (0..64).flat_map(|row| (0..64).map(move |k| (row, k))) {
        let expected = 4096 + row * 128 + ((k / 8) ^ (row % 8)) * 16 + k % 8 * 2;
        assert_eq!(factor_byte(4096, &m, row, k), expected);
    }
    // A step along K inside of the swizzled row keeps the row's permutation.
    assert_eq!(factor_byte(4096 + 32, &m, 3, 0), factor_byte(4096, &m, 3, 16));
    assert_eq!(factor_byte(0, &matrix(true, 64, 16, 512), 2, 8), 2 * 64);
    assert_eq!(factor_byte(0, &matrix(true, 32, 16, 256), 5, 0), 5 * 32 + 16);
    assert_eq!(factor_byte(0, &matrix(true, 0, 128, 256), 9, 10), 16 + 256 + 128 + 4);
    // M-major: 64 elements of a row of 128 bytes, then the next block.
    assert_eq!(factor_byte(0, &matrix(false, 128, 2048, 1024), 70, 9), 2048 + 1024 + 128 + 16 + 12);
    assert_eq!(factor_byte(0, &matrix(false, 0, 1024, 128), 17, 9), 2 * 128 + 2 + 1024 + 16);
}

/// A 64 x 16 x 32 product in two steps, the factors copied to shared memory as the layouts say.
#[test]
fn products_of_a_warpgroup() {
    for (a, b) in [
        ("k, swizzle 128, leading 16, stride 1024", "k, swizzle 128, leading 16, stride 1024"),
        ("k, swizzle 64, leading 16, stride 512", "k, swizzle 32, leading 16, stride 256"),
        ("k, leading 128, stride 512", "k, leading 128, stride 512"),
    ] {
        product(a, b);
    }
}

fn product(a: &str, b: &str) {
    let source = format!(
        "
kernel @product(%a: buffer readonly align(16), %b: buffer readonly align(16), %c: buffer) workgroup(128) {{
  shared %s: f16[12288] align(1024)
  %t = local_index
  loop (%i: u32 = %t) {{
    if (ge.u32 %i, 12288) {{
      break
    }}
    store.f16 %s[%i], (load.f16 %a[%i])
    continue (add.u32 %i, 128)
  }}
  fence.async
  barrier
  %zero = splat.regs<f32, 8> 0.0
  wgmma.fence
  %p = wgmma.f16 %zero, %s[0], %s[8192] shape(64x16x16) a({a}) b({b})
  wgmma.commit
  %sum = wgmma.wait %p
  loop (%i: u32 = 0) unroll {{
    if (eq.u32 %i, 8) {{
      break
    }}
    store.f32 %c[(add.u32 (mul.u32 %t, 8), %i)], (extract.f32 %sum, %i)
    continue (add.u32 %i, 1)
  }}
}}"
    );
    let layout = |text: &str| {
        let number = |name: &str| {
            text.split(", ").find_map(|part| part.strip_prefix(name)).map_or(0, |n| n.trim().parse().expect("a number"))
        };
        let swizzle = number("swizzle") as u16;
        SharedMatrix { k_major: true, swizzle, leading: number("leading"), stride: number("stride") }
    };
    let (la, lb) = (layout(a), layout(b));
    let value = |i: u64, k: u64, salt: u64| half::f16::from_f32(((i * 31 + k * 17 + salt) % 13) as f32 - 6.0);
    let mut bytes = vec![0u8; 24576];
    for (i, k) in (0..64).flat_map(|i| (0..16).map(move |k| (i, k))) {
        let at = factor_byte(0, &la, i, k) as usize;
        bytes[at..at + 2].copy_from_slice(&value(i, k, 1).to_le_bytes());
    }
    for (j, k) in (0..16).flat_map(|j| (0..16).map(move |k| (j, k))) {
        let at = factor_byte(16384, &lb, j, k) as usize;
        bytes[at..at + 2].copy_from_slice(&value(j, k, 5).to_le_bytes());
    }
    let given = [Words(words::from_bytes(&bytes)), Words(vec![0; 4]), Words(vec![0; 1024])];
    let found = launch(&source, checked(), [1; 3], &given).unwrap_or_else(|d| panic!("{a}: {d:#?}")).remove(2);
    for (at, word) in found.into_iter().enumerate() {
        let (i, j) = accumulator_element(at / 8, at % 8);
        let term = |k| value(i as u64, k, 1).to_f32() * value(j as u64, k, 5).to_f32();
        assert_eq!(f32::from_bits(word), (0..16).map(term).sum::<f32>(), "{a}: element ({i}, {j})");
    }
}

/// Proof (c) of the suite, whole and checked, against three loops.
#[test]
fn the_pipelined_matmul_of_the_suite() {
    let source = include_str!("../../../../../tests/ir/proofs/matmul_wgmma.gir");
    let (m, n, k) = (128u32, 256u32, 256u32);
    let value = |i: u32, j: u32, salt: u32| half::f16::from_f32(((i * 7 + j * 11 + salt) % 9) as f32 - 4.0);
    let pack = |rows: u32, columns: u32, salt: u32| -> Vec<u32> {
        let at = |i: u32| u32::from(value(i / columns, i % columns, salt).to_bits());
        (0..rows * columns / 2).map(|i| at(2 * i) | at(2 * i + 1) << 16).collect()
    };
    let out = Words(vec![0; (m * n / 2) as usize]);
    let given = [Words(pack(m, k, 1)), Words(pack(n, k, 2)), out, Number(m), Number(n), Number(k)];
    let found = launch(source, checked(), [1; 3], &given).unwrap_or_else(|d| panic!("{d:#?}")).remove(2);
    for (at, word) in found.into_iter().enumerate() {
        for half in 0..2 {
            let (i, j) = (2 * at as u32 / n, 2 * at as u32 % n + half);
            let exact: f32 = (0..k).map(|l| value(i, l, 1).to_f32() * value(j, l, 2).to_f32()).sum();
            let bits = (word >> (16 * half)) as u16;
            assert_eq!(half::f16::from_bits(bits), half::f16::from_f32(exact), "({i}, {j})");
        }
    }
}

/// The suite's products in every layout: right programs, whose sums the card decides about.
#[test]
fn products_in_every_layout() {
    let module = module(include_str!("../../../../../tests/ir/workgroup/products.gir"));
    let kernels: Vec<_> = module.kernels().collect();
    let device = Device::new(Interpreter::new(checked()));
    let programs = device.load(&module, &kernels, &LoadOptions::default()).unwrap_or_else(|d| panic!("{d:#?}"));
    let mut seen = vec![];
    for program in programs {
        let buffer = device.zeroed(Memory::of(4 * 64 * 128)).expect("memory");
        let dispatch = Dispatch { program, arguments: vec![Argument::buffer(&buffer)], grid: Grid::Workgroups([1; 3]) };
        device.submit(&[Command::Dispatch(dispatch)]).expect("starts");
        let mut bytes = vec![0; 4 * 64 * 16];
        device.read(&buffer, 0, &mut bytes).unwrap_or_else(|d| panic!("{d:#?}"));
        assert!(bytes.iter().any(|b| *b != 0) && !seen.contains(&bytes), "each layout finds other numbers");
        seen.push(bytes);
    }
    assert_eq!(seen.len(), 16);
}
