//! Texts as people write them, and how they are printed.

use super::{canonical, printed, read};
use girih_ir::attrs::{Attr, SharedMatrix};
use girih_ir::text::run_lines::{Elements, Expectation, MemoryInit, Outcome, RunArgument};
use girih_ir::{Op, Scalar, Type};

pub const DESIGN: &str = "
kernel @saxpy(%a: f32, %x: buffer readonly align(16), %y: buffer, %n: u32) workgroup(256) {
  %i = global_id.x
  %inside = lt.u32 %i, %n
  if %inside {
    %r = mad.f32 %a, (load.f32 %x[%i]), (load.f32 %y[%i])
    store.f32 %y[%i], %r
  }
}
fn @escape(%cx: f32, %cy: f32, %limit: u32) -> u32 {
  %k, %x, %y = loop (%k: u32 = 0, %x: f32 = 0.0, %y: f32 = 0.0) {
    %x2 = mul.f32 %x, %x
    %y2 = mul.f32 %y, %y
    %go = and (lt.u32 %k, %limit), (le.f32 (add.f32 %x2, %y2), 4.0)
    while %go next (add.u32 %k, 1), (add.f32 (sub.f32 %x2, %y2), %cx), (add.f32 (mul.f32 (mul.f32 2.0, %x), %y), %cy)
  }
  return %k
}
; run: @escape(0.0, 0.0, 9) == 9
";

#[test]
fn nested_operands_become_lines() {
    let expected = "\
kernel @saxpy(%a: f32, %x: buffer readonly align(16), %y: buffer, %n: u32) workgroup(256) {
  %i = global_id.x
  %inside = lt.u32 %i, %n
  if %inside {
    %0 = load.f32 %x[%i]
    %1 = load.f32 %y[%i]
    %r = mad.f32 %a, %0, %1
    store.f32 %y[%i], %r
  }
}

fn @escape(%cx: f32, %cy: f32, %limit: u32) -> u32 {
  %k, %x, %y = loop (%k: u32 = 0, %x: f32 = 0.0, %y: f32 = 0.0) {
    %x2 = mul.f32 %x, %x
    %y2 = mul.f32 %y, %y
    %0 = lt.u32 %k, %limit
    %1 = add.f32 %x2, %y2
    %2 = le.f32 %1, 4.0
    %go = and.bool %0, %2
    %3 = add.u32 %k, 1
    %4 = sub.f32 %x2, %y2
    %5 = add.f32 %4, %cx
    %6 = mul.f32 2.0, %x
    %7 = mul.f32 %6, %y
    %8 = add.f32 %7, %cy
    while %go next %3, %5, %8
  }
  return %k
}
";
    assert_eq!(printed(DESIGN), expected);
}

#[test]
fn spans_cover_the_instruction() {
    let f = &read(DESIGN).unwrap().module.functions;
    let texts: Vec<&str> =
        f.iter().flat_map(|f| f.insts.iter()).map(|i| &DESIGN[i.span.start as usize..i.span.end as usize]).collect();
    assert!(texts.contains(&"load.f32 %x[%i]") && texts.contains(&"global_id.x") && texts.contains(&"if %inside"));
    assert!(texts.contains(&"loop (%k: u32 = 0, %x: f32 = 0.0, %y: f32 = 0.0)"), "{texts:?}");
    let escape = f.iter().next_back().unwrap();
    let named = |text: &str| {
        escape.values.ids().any(|v| {
            let span = escape.span_of(v);
            &DESIGN[span.start as usize..span.end as usize] == text
        })
    };
    assert!(named("%cx") && named("%go") && named("%x2"));
}

pub const EVERYTHING: &str = "\
kernel @k(
    %x: buffer readonly noalias align(16),
    %y: buffer,
    %n: u32 divisible(16),
    %t: buffer traps
) workgroup(16, 8) subgroup(32) registers(128) spec(%BLOCK: u32 = 64) spec(%eps: f32 = 1e-5) fold cooperative launch {
  %blocks = div.u32 %n, %BLOCK
  grid %blocks, 1, 1
} {
  shared %tile: f32x4[%blocks]
  shared %other: u32[256] align(16) group(1)
  private %p: u8[7]
  barrier
  barrier spaces(shared, global)
  fence order(acquire_release) scope(workgroup)
  %i = local_index
  %v = load.f32x4 %x[%i + 4] cache(streaming)
  store.f32x4 %tile[%i - 1], %v
  store.u8 %p[0], 255
  %e = extract.f32 %v, 3
  %w = insert.f32 %v, 0, 1.5
  %acc = splat.regs<f32, 8> 0.0
  %q = convert.f32 (const.u32 7)
  %bits = bitcast.f32 (const.u32 2143289345)
  %s = select.f32 true, %e, bits(0x7fc00001)
  %c = eq.f32 %s, nan
  trap_if %c code(7)
  %old = atomic.add.u32 %other[%i], 1 order(acquire) scope(device)
  atomic.add.u32 %other[%i], 1
  %r: f32 = switch.i32 -1 case -1, 2 {
    yield 1.0
  } case 3 {
    yield -inf
  } default {
    %two = add.f32 %e, 2.0
    yield %two
  }
  %total: f32 = loop (%sum: f32 = 0.0, %k: u32 = 0) unroll {
    if %c {
      break 0.5
    } else {
      %k1 = add.u32 %k, 1 nowrap
      continue %sum, %k1
    }
    return
  }
  async.copy.f32x4 %tile[%i], %x[%i + 8], %c
  async.commit
  async.wait pending(2)
  %f = coop.load.coop<a, 16x16x16, f16> %x[0], 16 layout(column)
  %d = wgmma.f16 %acc, %tile[0], %tile[64] shape(64x8x16) a(k, swizzle 128, leading 16, stride 1024) b(n, swizzle 0, leading 1, stride 2)
  %e2 = wgmma.wait %d
  %e.1 = extract.f32 %e2, 0
  loop {
    if %c { } else {
      break
    }
  }
  %\"odd name\", %second = call @\"f g\"(%e.1, 2.0)
}

fn @\"f g\"(%a: f32, %b: f32) -> f32, f32 {
  return %a, 0.1
}
";

#[test]
fn a_text_with_everything_is_canonical() {
    canonical(EVERYTHING);
}

#[test]
fn names_are_made_unique_only_where_they_clash() {
    let text = "fn @f(%x: u32) -> u32 {\n  %1 = add.u32 %x, 1\n  %7 = add.u32 %1, %x\n  return %7\n}\n";
    let mut parsed = read(text).unwrap();
    let f = parsed.module.functions.iter_mut().next().unwrap();
    f.values.iter_mut().filter(|v| v.name.is_none()).for_each(|v| v.name = Some("x".into()));
    let printed = girih_ir::text::print(&parsed.module);
    assert_eq!(
        printed,
        "fn @f(%x: u32) -> u32 {\n  %x.1 = add.u32 %x, 1\n  %x.2 = add.u32 %x.1, %x\n  return %x.2\n}\n"
    );
    canonical(printed);
}

#[test]
fn constants_can_have_names() {
    let text = "fn @f() -> f32, u64 {\n  %pi = const.f32 3.14\n  return %pi, 0xff\n}\n";
    assert_eq!(printed(text), "fn @f() -> f32, u64 {\n  return 3.14, 255\n}\n");
}

#[test]
fn attributes_are_read_as_data() {
    let text = "kernel @k() workgroup(128) {
  shared %m: f16[64]
  %acc = splat.regs<f32, 4> 0.0
  %d = wgmma.f16 %acc, %m[0], %m[8 + 2] shape(64x8x16) a(m, swizzle 64) b(k, stride 3, leading 2)
}
";
    let parsed = read(text).unwrap();
    let f = parsed.module.functions.iter().next().unwrap();
    let inst = f.insts.iter().find(|i| i.op == Op::Wgmma).unwrap();
    assert_eq!(inst.source_offset(), 2);
    let a = SharedMatrix { k_major: false, swizzle: 64, leading: 0, stride: 0 };
    let b = SharedMatrix { k_major: true, swizzle: 0, leading: 2, stride: 3 };
    assert!(inst.attrs.contains(&Attr::MatrixA(a)) && inst.attrs.contains(&Attr::MatrixB(b)));
    assert_eq!(f.ty(inst.results[0]), Type::Regs(Scalar::F32, 4));
}

#[test]
fn run_lines_are_data() {
    let text = "
kernel @k(%a: f32, %x: buffer, %y: buffer, %n: u32) workgroup(1) spec(%BLOCK: u32 = 1) {
}
fn @two(%a: i32) -> i32, f16 {
  return %a, 1
}
; run: @two(-3) == -3, 1 ~ 1e-3
; run: @two(1) traps(7)
; run: @k grid(4, 2) spec(%BLOCK = 64) (2.0, f32[1, -2.5] -> u32[1, 2] ~ 1e-5, u16.random(16, 3), 7)
; run: @k(2, u8.zeros(3), f32.fill(2, inf), 7) error B0780 checked
";
    let runs = read(text).unwrap().runs;
    let gives = Expectation { values: vec![(Scalar::I32, 0xffff_fffd), (Scalar::F16, 0x3c00)], tolerance: 1e-3 };
    assert_eq!(runs[0].outcome, Outcome::Gives(gives));
    assert_eq!(runs[1].outcome, Outcome::Traps(7));
    assert_eq!(runs[2].grid, Some([4, 2, 1]));
    assert_eq!(runs[2].specialisations, [("BLOCK".to_string(), 64)]);
    let initial = MemoryInit { scalar: Scalar::F32, elements: Elements::Listed(vec![0x3f80_0000, 0xc020_0000]) };
    let after = Expectation { values: vec![(Scalar::U32, 1), (Scalar::U32, 2)], tolerance: 1e-5 };
    assert_eq!(runs[2].arguments[1], RunArgument::Memory { initial, expected: Some(after) });
    assert!(runs[3].checked);
    assert_eq!(runs[3].outcome, Outcome::Fails(girih_base::diag::Code::OutOfBounds));
}

#[test]
fn memories_give_their_bytes() {
    let bytes = |scalar, elements| MemoryInit { scalar, elements }.bytes();
    assert_eq!(bytes(Scalar::U16, Elements::Iota(3)), [0, 0, 1, 0, 2, 0]);
    assert_eq!(bytes(Scalar::U8, Elements::Iota(257))[256], 0);
    assert_eq!(bytes(Scalar::F16, Elements::Fill(1, 0x3c00)), [0, 0x3c]);
    assert_eq!(bytes(Scalar::F32, Elements::Iota(2)), [0, 0, 0, 0, 0, 0, 0x80, 0x3f]);
    for scalar in [Scalar::F8E4M3, Scalar::F8E5M2, Scalar::F16, Scalar::Bf16, Scalar::F32, Scalar::F64] {
        let bits = MemoryInit { scalar, elements: Elements::Random(1000, 7) }.bits();
        let values: Vec<f64> = bits.iter().map(|b| girih_ir::eval::widen(*b, scalar)).collect();
        assert!(values.iter().all(|v| (-1.0..1.0).contains(v)), "{scalar}");
        assert!((values.iter().sum::<f64>() / 1000.0).abs() < 0.2, "{scalar}");
    }
    let random = MemoryInit { scalar: Scalar::U32, elements: Elements::Random(2, 0) };
    assert_ne!(random.bits()[0], random.bits()[1]);
}

#[test]
fn expectations_are_as_strict_as_they_say() {
    let near = |values: Vec<(Scalar, u64)>, tolerance| Expectation { values, tolerance };
    let one = (Scalar::F32, u64::from(1f32.to_bits()));
    let close = u64::from(1.000_001f32.to_bits());
    assert_eq!(near(vec![one], 0.0).mismatch(&[close]), Some(0));
    assert_eq!(near(vec![one], 1e-5).mismatch(&[close]), None);
    assert_eq!(near(vec![one], 0.0).mismatch(&[]), Some(0));
    assert_eq!(near(vec![(Scalar::F32, 1)], 0.0).mismatch(&[0]), None, "denormals may be flushed");
    assert_eq!(near(vec![(Scalar::F32, 0x7fc0_0000)], 0.0).mismatch(&[0xffc0_0001]), None, "NaN is any NaN");
    assert_eq!(near(vec![(Scalar::F32, 0x7fc0_0000)], 9.0).mismatch(&[0]), Some(0));
    assert_eq!(near(vec![(Scalar::U32, 5)], 1.0).mismatch(&[6]), Some(0));
    assert_eq!(near(vec![(Scalar::U16, 1), (Scalar::U16, 2)], 0.0).mismatch_in(&[1, 0, 3, 0]), Some(1));
    assert_eq!(near(vec![(Scalar::U16, 1), (Scalar::U16, 2)], 0.0).mismatch_in(&[1, 0, 2, 0]), None);
}
