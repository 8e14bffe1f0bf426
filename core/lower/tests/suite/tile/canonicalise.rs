//! What canonicalised kernels look like.

use girih_base::span::Sources;
use girih_ir::{Module, text, verify};
use girih_lower::tile::canonicalise::run;

fn canonical(written: &str) -> String {
    let mut sources = Sources::default();
    let source = sources.add("test.gir", written);
    let module = verify(text::parse(source, written).expect("it parses").module).expect("it is right");
    let mut module: Module = (*module).clone();
    for function in module.functions.iter_mut() {
        run(function).expect("it has no errors of its own");
    }
    text::print(&verify(module).expect("it is still right"))
}

#[test]
fn what_is_the_same_is_computed_once() {
    insta::assert_snapshot!(canonical(
        "
kernel @twice(%x: buffer, %n: i32) workgroup(32) {
  %i = tile.iota.tile<32xi32>
  %j = tile.iota.tile<32xi32>
  %a = tile.splat.tile<32xi32> %n
  %b = tile.splat.tile<32xi32> %n
  %less = lt.tile<32xi32> %i, %a
  %same = lt.tile<32xi32> %j, %b
  %both = and.tile<32xbool> %less, %same
  %value = tile.load.tile<32xf32> %x[%i], %both, 0.0
  tile.store.tile<32xf32> %x[%j], %value, %same
}
"
    ));
}

#[test]
fn one_number_everywhere_is_computed_once_and_constants_are_folded() {
    insta::assert_snapshot!(canonical(
        "
kernel @numbers(%x: buffer, %n: i32) workgroup(32) {
  %two = add.i32 1, 1
  %a = tile.splat.tile<8x4xi32> %n
  %b = tile.splat.tile<8x4xi32> %two
  %sum = add.tile<8x4xi32> %a, %b
  %line = tile.reshape.tile<32xi32> %sum
  %back = tile.reshape.tile<8x4xi32> %line
  %none = mul.tile<8x4xi32> %back, (tile.splat.tile<8x4xi32> 0)
  %same = add.tile<8x4xi32> %back, %none
  %few = lt.tile<8x4xi32> %same, %b
  tile.store.tile<8x4xi32> %x[%none], %same, %few
}
"
    ));
}

#[test]
fn what_a_loop_does_not_change_stands_before_it_and_what_nobody_needs_goes() {
    insta::assert_snapshot!(canonical(
        "
kernel @loop(%x: buffer, %n: i32) workgroup(32) {
  %zero = tile.splat.tile<32xf32> 0.0
  %sum: tile<32xf32> = loop (%k: i32 = 0, %all: tile<32xf32> = %zero) {
    if (ge.i32 %k, %n) {
      break %all
    }
    %i = tile.iota.tile<32xi32>
    %scaled = mul.tile<32xi32> %i, (tile.splat.tile<32xi32> %n)
    %at = add.tile<32xi32> %scaled, (tile.splat.tile<32xi32> %k)
    %factor = sqrt.tile<32xf32> (convert.tile<32xf32> (tile.splat.tile<32xi32> %n))
    %value = mul.tile<32xf32> (tile.load.tile<32xf32> %x[%at], true, 0.0), %factor
    %unneeded = tile.reduce %value axis(0) (%a: f32, %b: f32) {
      yield (add.f32 %a, %b)
    }
    continue (add.i32 %k, 1), (add.tile<32xf32> %all, %value)
  }
  tile.store.tile<32xf32> %x[(tile.iota.tile<32xi32>)], %sum, true
}
"
    ));
}
