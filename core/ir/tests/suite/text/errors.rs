//! What is said about texts that cannot be read.

use super::read;
use girih_base::diag::{Code, Style, render};
use girih_base::span::Sources;

/// What is said about a text, drawn for people.
fn said(text: &str) -> String {
    let mut sources = Sources::default();
    let id = sources.add("f.gir", text);
    let errors = girih_ir::text::parse(id, text).map(|_| ()).expect_err(text);
    errors.iter().map(|e| render(e, &sources, Style::Plain)).collect()
}

/// The same for several bodies of `fn @f(%x: f32, %i: u32, %m: buffer)`.
fn said_of_bodies(bodies: &[&str]) -> String {
    let text = |body: &&str| said(&format!("fn @f(%x: f32, %i: u32, %m: buffer) {{\n  {body}\n}}\n"));
    bodies.iter().map(text).collect::<Vec<_>>().join("----\n")
}

#[test]
fn names() {
    insta::assert_snapshot!(said_of_bodies(&[
        "%y = add.f32 %xx, 1.0\n  %z = add.f32 %y, %y",
        "%long = add.f32 %x, 1.0\n  %z = mul.f32 %logn, 1.0",
        "%y = ad.f32 %x, 1.0",
        "%y = add.f23 %x, 1.0",
        "%y = add.f32x3 %x, 1.0",
        "%x = add.f32 %x, 1.0",
        "%y = add.f32 %x, 1.0\n  if true {\n    %y = add.f32 %x, 2.0\n  }",
        "call @g()",
        "store.f32 %m[%i], %x cahce(streaming)",
        "store.f32 %m[%i], %x cache(stream)",
        "%y = add.f32 %x, 1.0 cache(streaming)",
        "%y = add.u32 %i, 1 nowrap nowrap",
    ]));
}

#[test]
fn types_and_literals() {
    insta::assert_snapshot!(said_of_bodies(&[
        "%y = add 1.0, 2.0",
        "%y = splat %x",
        "%y = global_id",
        "%y = barrier.f32",
        "%y = lane.x",
        "%y = convert.f32 7",
        "%y = add.u32 %i, -1",
        "%y = add.i8 %i, 128",
        "%y = add.i32 %i, 0xffffffff",
        "%y = add.u32 %i, 1.5",
        "%y = add.f32 %x, 1.",
        "%y = add.f32 %x, 1e39",
        "%y = add.f32 %x, true",
        "%y = add.f32x4 (splat.f32x4 %x), 1.0",
        "%y = load.f32 %m[%i + 3000000000]",
        "%y: u32 = add.f32 %x, %x",
        "%y: regs<f32, 0> = if true { } else { }",
        "%y = coop.load.coop<a, 16x16, f16> %m[0], 16",
        "%y = const 1",
        "%y = add.f32 %x, bits(0x1ffffffff)",
    ]));
}

#[test]
fn counts_and_regions() {
    insta::assert_snapshot!(said_of_bodies(&[
        "%y = add.f32 %x",
        "%y = load.f32 %m",
        "%y = add.f32 %m[%i], %x",
        "%a, %b = add.f32 %x, %x",
        "%a = store.f32 %m[%i], %x",
        "%y = add.f32 (barrier), %x",
        "%y = add.f32 (if true { }), %x",
        "%y = call @f(1.0, 2)",
        "return 1.0",
        "%y = if true { yield 1.0 } else { yield 2.0 }",
        "%y: f32 = if true { yield 1.0 }",
        "%y: f32 = if true { yield 1.0 } else { }",
        "loop (%k: u32 = 0) { }",
        "break",
        "yield",
        "grid 1, 1, 1",
        "if true {\n    break\n  }",
        "return\n  %y = add.f32 %x, 1.0",
        "%y: f32 = switch.u32 %i case 1 { yield 1.0 }",
        "if true {\n  %y = add.f32 %x, 1.0",
    ]));
}

#[test]
fn syntax() {
    insta::assert_snapshot!(said_of_bodies(&[
        "%y = add.f32 %x, 1.0 %z = add.f32 %x, 1.0",
        "%y add.f32 %x, 1.0",
        "%y = add.f32 %x,, 1.0",
        "%y = add.f32 (%x), 1.0",
        "%y = load.f32 %m[%i",
        "%y = add.f32 %x, #",
        "%\"open = add.f32 %x, 1.0",
        "42",
        "shared %s: f32[16]\n  shared %t: f32[16] algin(4)",
        "%y = add.f32 %x, 1.0\n  shared %s: f32[16]",
        "}\n}",
        "# what the next line does\n  %y = add.f32 %x, 1.0",
        "// what the next line does\n  %y = add.f32 %x, 1.0",
        "%y = add.f32 %x, 1.0 // one more",
        "store.f32 %m[%i + %i], %x",
        "%y = load.f32 %m[%i * 2]",
        "%y = load.f32 %m[(add.u32 %i, 1) - %i]",
        "return x",
        "%y = add.f32 %x, x",
        "%y = %x",
        "%y = 3",
        "%y = -1.5",
        "if true {\n    %y = add.f32 %x, 1.0",
    ]));
}

#[test]
fn headers() {
    let texts = [
        "fun @f() {\n}\n",
        "fn f() {\n}\n",
        "fn @f(%x) {\n}\n",
        "fn @f(%x: f32, %x: u32) {\n}\n",
        "fn @f(%x: f32 readnoly) {\n}\n",
        "fn @f() {\n}\nfn @f() {\n}\n",
        "kernel @k() {\n}\n",
        "kernel @k() wrokgroup(1) {\n}\n",
        "kernel @k() workgroup(1, 2, 3, 4) {\n}\n",
        "kernel @k() workgroup(99999999999) {\n}\n",
        "kernel @k() workgroup(1) launch {\n} {\n}\n",
        "kernel @k() workgroup(1) launch {\n  return\n} {\n}\n",
        "fn @f(%x: f32\nfn @g() {\n  call @f(%x)\n}\n",
        "fn @f() {\n  call @g(1)\n}\n}\nfn @g(%x: f32) {\n}\n",
    ];
    insta::assert_snapshot!(texts.map(said).join("----\n"));
}

#[test]
fn run_lines() {
    let runs = [
        "@g(1)",
        "f(1)",
        "@f(1)",
        "@f(1.0, 2) == ",
        "@f(1.0, 2) == 3, 4",
        "@f(1.0, 2) == 3 4",
        "@f(1.0, 2, 3)",
        "@f grid(1) (1.0, 2)",
        "@k grid(1) (f32[1], 1)",
        "@k spec(%BLOCKS = 1) (f32[1])",
        "@k spec(%BLOCK = 1.5) (f32[1])",
        "@k (f32)",
        "@k (f32.zeroes(3))",
        "@k (bool[true])",
        "@k (f32[1] -> f32[1, 2])",
        "@k (f64.zeros(4000000000))",
        "@k (f32[1]) error B9999",
    ];
    let text = |run: &str| {
        said(&format!(
            "fn @f(%x: f32, %i: u32) -> u32 {{\n  return %i\n}}\nkernel @k(%m: buffer) workgroup(1) spec(%BLOCK: u32 = 1) {{\n}}\n; run: {run}\n"
        ))
    };
    insta::assert_snapshot!(runs.map(text).join("----\n"));
}

#[test]
fn several_errors_are_said_at_once() {
    let text = "
fn @f(%x: f32) -> f32 {
  %a = add.f32 %y, 1.0
  %b = sine.f32 %a
  if %b {
    %c = mul.f32 %x, true
  } else {
    %d = add.f32 %c, %d
  }
  return %b
}
fn @g(%x: f33) {
}
fn @h() {
  call @g(1.0)
  %q = call @f(1.0, 2.0)
  store.f32 %m[0], %q
}
";
    insta::assert_snapshot!(said(text));
}

#[test]
fn too_many_errors_end_the_reading() {
    let text = format!("fn @f() {{\n{}}}\n", "  %a = ad.f32 1.0, 2.0\n".repeat(10_000));
    let errors = read(&text).map(|_| ()).unwrap_err();
    assert!(errors.len() < 100, "{}", errors.len());
}

#[test]
fn nesting_has_a_limit() {
    let operand = format!("fn @f(%x: f32) {{\n  %y = {}%x{}\n}}\n", "neg.f32 (".repeat(500), ")".repeat(500));
    let region = format!("fn @f() {{\n{}{}}}\n", "if true {\n".repeat(500), "}\n".repeat(500));
    let deep = format!("fn @f(%x: f32) {{\n  %y = {}neg.f32 %x{}\n}}\n", "neg.f32 (".repeat(120), ")".repeat(120));
    for text in [operand, region] {
        let errors = read(&text).map(|_| ()).unwrap_err();
        assert!(errors.iter().all(|e| e.code == Code::TooDeep) && errors.len() == 1, "{errors:?}");
    }
    assert!(read(&deep).is_ok());
}
