//! Values of every type through regions, calls and parameters.

use super::{edges, same_everywhere};
use girih_ir::{Scalar, ScalarSet, Type};
use girih_runtime::Constant;

fn scalars() -> impl Iterator<Item = Scalar> {
    ScalarSet::STORED.iter().filter(|s| *s != Scalar::F64)
}

/// Input and output.
fn buffers() -> Vec<Vec<u8>> {
    vec![(0..128).map(|i| (i * 73 + 5) as u8).collect(), vec![0; 512]]
}

#[test]
fn regions_yield_and_loops_carry() {
    for ty in scalars() {
        let source = format!(
            "kernel @k(%from: buffer, %to: buffer) workgroup(8) {{
  %i = local_index
  %a = load.{ty} %from[%i]
  %b = load.{ty} %from[%i + 8]
  %x: {ty} = if (lt.u32 %i, 3) {{ yield %a }} else {{ yield %b }}
  %y: {ty} = switch.u32 %i case 1, 2 {{ yield %b }} case 5 {{ yield %a }} default {{ yield %x }}
  %n, %p, %q = loop (%n: u32 = 0, %p: {ty} = %x, %q: {ty} = %y) {{
    if (eq.u32 %n, 6) {{ break %n, %q, %p }}
    if (eq.u32 %n, %i) {{ continue (add.u32 %n, 2), %p, %p }}
    while (lt.u32 %n, 7) next (add.u32 %n, 1), %q, %p
  }}
  store.{ty} %to[%i], %x
  store.{ty} %to[%i + 8], %y
  store.{ty} %to[%i + 16], %p
  store.{ty} %to[%i + 24], %q
  store.u32 %to[%i + 64], %n
}}
"
        );
        same_everywhere(&source, 1, &buffers(), &[], |_| 32);
    }
}

#[test]
fn switches_on_any_integer() {
    for ty in ScalarSet::INTEGERS.iter() {
        let low = if ty.is_signed() { -1i64 } else { 250 };
        let high = if ty.bits() == 64 { 0x1_0000_0003i64 } else { 100 };
        let source = format!(
            "kernel @k(%to: buffer) workgroup(8) {{
  %i = local_index
  %n = add.{ty} (convert.{ty} %i), {low}
  %h = select.{ty} (eq.u32 %i, 6), {high}, %n
  %r: u32 = switch.{ty} %h case {low} {{ yield 10 }} case {}, {high} {{ yield 20 }} default {{ yield 30 }}
  store.u32 %to[%i], %r
}}
",
            low + 3
        );
        same_everywhere(&source, 1, &[vec![0; 32]], &[], |_| 32);
    }
}

#[test]
fn calls_take_and_give_any_type() {
    for ty in scalars() {
        let source = format!(
            "fn @swap(%a: {ty}, %c: bool, %b: {ty}) -> {ty}, bool, {ty} {{
  if %c {{ return %b, (not.bool %c), %a }}
  return %a, %c, %b
}}
kernel @k(%from: buffer, %to: buffer) workgroup(8) {{
  %i = local_index
  %c = ne.u32 (and.u32 %i, 1), 0
  %a, %d, %b = call @swap((load.{ty} %from[%i]), %c, (load.{ty} %from[%i + 8]))
  store.{ty} %to[%i], %a
  store.{ty} %to[%i + 8], %b
  store.u32 %to[%i + 64], (convert.u32 %d)
}}
"
        );
        same_everywhere(&source, 1, &buffers(), &[], |_| 32);
    }
}

#[test]
fn numbers_as_parameters() {
    for ty in ScalarSet::ALL.iter().filter(|s| *s != Scalar::F64) {
        let store = match ty {
            Scalar::Bool => "store.u32 %to[0], (convert.u32 %a)".into(),
            _ => format!("store.{ty} %to[0], %a"),
        };
        let source = format!(
            "kernel @k(%to: buffer, %a: {ty}, %b: u32) workgroup(1) {{\n  {store}\n  store.u32 %to[3], %b\n}}\n"
        );
        for bits in edges(ty) {
            let numbers = [Constant { ty: Type::Scalar(ty), bits }, Constant { ty: Type::U32, bits: 7 }];
            same_everywhere(&source, 1, &[vec![0; 16]], &numbers, |_| 32);
        }
    }
}

#[test]
fn vectors_and_register_arrays() {
    let source = "kernel @k(%from: buffer, %to: buffer) workgroup(4) {
  %i = local_index
  %v = load.f32x4 %from[%i]
  %w = load.i8x16 %from[%i]
  %s = add.f32x4 (mul.f32x4 %v, (splat.f32x4 0.5)), %v
  %n = sub.i8x16 %w, (splat.i8x16 100)
  %r = splat.regs<i64, 5> 9
  %x, %y, %z, %k = loop (%x: f32x4 = %s, %y: i8x16 = %n, %z: regs<i64, 5> = %r, %k: u32 = 0) {
    %zz = insert.i64 %z, %k, (convert.i64 (extract.i8 %y, %k))
    while (lt.u32 %k, 4) next (select.f32x4 (eq.u32 %k, 2), %x, (neg.f32x4 %x)), (add.i8x16 %y, %y), %zz, (add.u32 %k, 1)
  }
  store.f32x4 %to[%i], %x
  store.i8x16 %to[%i + 4], %y
  store.i64 %to[%i + 16], (extract.i64 %z, %i)
  store.u32x4 %to[%i + 10], (bitcast.u32x4 (convert.i16x8 (bitcast.u16x8 %y)))
}
";
    same_everywhere(source, 1, &[(0..64).collect(), vec![0; 256]], &[], |_| 32);
}
