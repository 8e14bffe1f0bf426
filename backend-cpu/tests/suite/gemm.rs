//! Products of matrices in memory: what the reference machine computes, with the same bits on any number of threads, and errors at accesses outside.

use super::device::{buffer, cpu, load, number, read, run, words};
use girih_base::diag::Code;
use girih_machine::interp::{Interpreter, Options};
use girih_runtime::{Buffer, Device, Grid};

/// A product of shared memory, whose sizes and strides are parameters.
const PRODUCT: &str = "
kernel @product(%a: buffer readonly, %b: buffer readonly, %out: buffer, %first: u32, %rows: u32, %columns: u32, %depth: u32, %c_row: u32, %a_row: u32, %a_column: u32, %b_row: u32, %b_column: u32) workgroup(1) {
  shared %c: f32[2048]
  loop (%i: u32 = 0) {
    if (ge %i, 2048) {
      break
    }
    store.f32 %c[%i], (convert.f32 %i)
    continue (add %i, 1)
  }
  gemm.f32 %c[0], %a[%first], %b[%first], %rows, %columns, %depth, %c_row, %a_row, %a_column, %b_row, %b_column
  %group = workgroup_id.x
  loop (%i: u32 = 0) {
    if (ge %i, 2048) {
      break
    }
    store.f32 %out[(add (mul %group, 2048), %i)], (load.f32 %c[%i])
    continue (add %i, 1)
  }
}";

/// Numbers whose products and sums `f32` holds, as bits.
fn small(count: u32) -> Vec<u32> {
    (0..count).map(|i| ((i.wrapping_mul(2_654_435_761) >> 28) as f32 - 8.0).to_bits()).collect()
}

/// Numbers whose sums are rounded, as bits.
fn rounded(count: u32) -> Vec<u32> {
    (0..count).map(|i| ((i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 8.0).to_bits()).collect()
}

/// What a device computes.
fn product(device: &Device, factors: &[u32], groups: u32, numbers: [u32; 9]) -> Vec<u32> {
    let program = load(device, PRODUCT);
    let out = words(device, &vec![0; 2048 * groups as usize]);
    let [a, b]: [Buffer; 2] = [words(device, factors), words(device, factors)];
    let mut arguments = vec![buffer(&a), buffer(&b), buffer(&out)];
    arguments.extend(numbers.map(number));
    run(device, &program, Grid::Workgroups([groups, 1, 1]), &arguments).unwrap_or_else(|e| panic!("{e:#?}"));
    read(device, &out, 2048 * groups as usize)
}

/// First element, sizes, strides: squares and vectors, matrices by rows and by columns, none at all.
const SHAPES: [[u32; 9]; 9] = [
    [0, 32, 64, 16, 64, 16, 1, 64, 1],
    [5, 32, 64, 16, 64, 1, 32, 1, 16],
    [3, 17, 13, 29, 100, 40, 1, 17, 1],
    [1, 1, 1, 1, 1, 1, 1, 1, 1],
    [0, 1, 40, 9, 40, 9, 1, 40, 1],
    [0, 40, 1, 9, 1, 9, 1, 1, 1],
    [0, 5, 6, 0, 6, 1, 1, 6, 1],
    [0, 0, 6, 3, 6, 3, 1, 6, 1],
    [0, 9, 7, 5, 8, 0, 0, 0, 2],
];

#[test]
fn products_are_those_of_the_reference_machine() {
    let (own, factors) = (cpu(2), small(4096));
    let reference = Device::new(Interpreter::new(Options { subgroup: 32, ..Options::default() }));
    for numbers in SHAPES {
        assert_eq!(product(&own, &factors, 1, numbers), product(&reference, &factors, 1, numbers), "{numbers:?}");
    }
}

#[test]
fn sums_have_the_same_bits_on_any_number_of_threads() {
    let factors = rounded(4096);
    let one = product(&cpu(1), &factors, 16, SHAPES[0]);
    assert!(one.chunks(2048).all(|group| group == &one[..2048]));
    for threads in [2, 5] {
        assert_eq!(product(&cpu(threads), &factors, 16, SHAPES[0]), one, "{threads} threads");
    }
}

#[test]
fn each_matrix_is_inside_of_its_memory() {
    let device = cpu(2);
    let program = load(&device, PRODUCT);
    let (a, b, out) = (words(&device, &[0; 64]), words(&device, &[0; 32]), words(&device, &[0; 2048]));
    let product = |numbers: [u32; 9]| {
        let mut arguments = vec![buffer(&a), buffer(&b), buffer(&out)];
        arguments.extend(numbers.map(number));
        run(&device, &program, Grid::Workgroups([1, 1, 1]), &arguments)
    };
    product([0, 4, 8, 4, 8, 16, 5, 8, 1]).expect("the last elements of both factors are there");
    let huge = u32::MAX;
    for (numbers, place) in [
        ([0, 4, 8, 8, 8, 8, 1, 8, 1], "element 63 of `%b`"),
        ([0, 5, 8, 4, 8, 16, 1, 8, 1], "element 67 of `%a`"),
        ([huge, 1, 1, 1, 1, 1, 1, 1, 1], "element 4294967295 of `%a`"),
        ([0, 2, 8, 4, 2048, 8, 1, 8, 1], "element 2055 of `%c`"),
        ([0, huge, huge, huge, huge, huge, huge, huge, huge], "of `%c`"),
    ] {
        let error = product(numbers).unwrap_err();
        assert_eq!(error.code, Code::OutOfBounds);
        assert!(error.message.contains(place), "{}", error.message);
    }
}
