//! Programs as loop nests: products of floats are one operation on arrays, and tiles that only say where buffers are accessed have no arrays.

use super::count;
use girih_base::span::Sources;
use girih_ir::{Caps, Feature, Function, FunctionId, Op, Scalar, Type, text, verify};
use girih_runtime::LoadOptions;

/// The only kernel of a text, for a processor.
fn nest(source: &str) -> Function {
    let id = Sources::default().add("test.gir", source);
    let parsed = text::parse(id, source).unwrap_or_else(|e| panic!("{e:#?}"));
    let module = verify(parsed.module).unwrap_or_else(|e| panic!("{e:#?}"));
    let kernels: Vec<FunctionId> = module.kernels().collect();
    let caps = Caps::cpu(true).with(Feature::Vectors);
    let compiled =
        girih_lower::compile(&module, &kernels, &caps, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e:#?}"));
    compiled.module.functions[compiled.entries[0].kernel].clone()
}

/// The numbers that a kernel's only product has behind its matrices.
fn product(f: &Function) -> Vec<u64> {
    let mut found = vec![];
    f.walk(f.body, &mut |_, inst| {
        if inst.op == Op::Gemm {
            found.extend(inst.operands[6..].iter().map(|v| f.as_constant(*v).expect("they are constant")));
        }
    });
    found
}

const TRANSPOSED: &str = "
kernel @transposed(%a: buffer, %b: buffer, %out: buffer) workgroup(64) {
  %i = tile.reshape.tile<8x16xi32> (tile.iota.tile<128xi32>)
  %x = tile.load.tile<8x16xf32> %a[%i], true, 0.0
  %y = tile.load.tile<8x16xf32> %b[%i], true, 0.0
  %right = tile.permute.tile<16x8xf32> %y axes(1, 0)
  %product = tile.dot.tile<8x8xf32> %x, %right, (tile.splat.tile<8x8xf32> 0.0)
  %place = tile.reshape.tile<8x8xi32> (tile.iota.tile<64xi32>)
  tile.store.tile<8x8xf32> %out[%place], %product, true
}";

#[test]
fn products_of_floats_are_one_operation_and_transposed_factors_stay_where_they_are() {
    let f = nest(TRANSPOSED);
    assert_eq!(count(&f)[&Op::Gemm], 1);
    // Rows, columns, depth; then the strides: the second factor is read by columns.
    assert_eq!(product(&f), [8, 8, 16, 8, 16, 1, 1, 16]);
    assert_eq!(f.memories.len(), 3, "both factors and the sums, none twice");
}

#[test]
fn places_have_no_arrays() {
    let source = "
kernel @far(%a: buffer, %out: buffer, %stride: i32, %n: i32) workgroup(64) {
  %column = convert.tile<64xi64> (tile.iota.tile<64xi32>)
  %row = convert.tile<32xi64> (mul.tile<32xi32> (tile.iota.tile<32xi32>), (tile.splat.tile<32xi32> %stride))
  %rows = tile.broadcast.tile<32x64xi64> (tile.reshape.tile<32x1xi64> %row)
  %columns = tile.broadcast.tile<32x64xi64> (tile.reshape.tile<1x64xi64> %column)
  %place = add.tile<32x64xi64> %rows, %columns
  loop (%i: i32 = 0) {
    if (ge.i32 %i, %n) {
      break
    }
    %there = add.tile<32x64xi64> %place, (tile.splat.tile<32x64xi64> (convert.i64 %i))
    %x = tile.load.tile<32x64xf32> %a[%there], true, 0.0
    tile.store.tile<32x64xf32> %out[%there], %x, true
    continue (add.i32 %i, 1)
  }
}";
    let f = nest(source);
    let wide = f.memories.iter().filter(|m| m.element == Type::Scalar(Scalar::I64)).count();
    assert_eq!(wide, 0, "an index is computed where it is used");
}
