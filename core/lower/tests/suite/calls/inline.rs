//! Which calls become copies, and where copies of copies end.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Sources;
use girih_ir::{Caps, FunctionId, text, verify};
use girih_lower::calls::inline::MOST;
use girih_lower::{Compiled, compile};
use girih_runtime::LoadOptions;

fn compiled(text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let source = Sources::default().add("test.gir", text);
    let module = verify(text::parse(source, text).expect("it parses").module).expect("it is right");
    let kernels: Vec<FunctionId> = module.kernels().collect();
    compile(&module, &kernels, &Caps::cuda(90, true), &LoadOptions::default())
}

/// Each function calls the next one twice, and all take a buffer: the first would have 2^30 stores.
#[test]
fn copies_of_copies_end() {
    let mut text = "fn @f30(%m: buffer, %x: u32) {\n  store.u32 %m[%x], %x\n  return\n}\n".to_owned();
    for i in (0..30).rev() {
        let call = format!("call @f{}(%m, (add %x, {i}))", i + 1);
        text += &format!("fn @f{i}(%m: buffer, %x: u32) {{\n  {call}\n  {call}\n  return\n}}\n");
    }
    text += "kernel @k(%m: buffer) workgroup(1) {\n  call @f0(%m, 0)\n}\n";
    let errors = compiled(&text).expect_err("it ends");
    assert_eq!(errors[0].code, Code::OverLimit);
    assert!(errors[0].message.contains(&MOST.to_string()), "{}", errors[0].message);
}

/// How many calls are left of three of a long function, the last of which passes this.
fn calls_left(last: &str) -> usize {
    let mut text = "fn @long(%x0: f32, %y: f32) -> f32 {\n".to_owned();
    for i in 0..30 {
        text += &format!("  %x{} = add (mul %x{i}, %y), (mul %x{i}, {i}.5)\n", i + 1);
    }
    text += "  return %x30\n}\nkernel @k(%m: buffer, %a: f32, %b: f32) workgroup(1) {\n";
    for (i, operands) in ["%a, %b", "%b, %a", &format!("%a, {last}")].into_iter().enumerate() {
        text += &format!("  store.f32 %m[{i}], (call @long({operands}))\n");
    }
    let compiled = compiled(&(text + "}\n")).expect("it is compiled");
    let mut calls = 0;
    for function in compiled.module.functions.iter() {
        function.walk(function.body, &mut |_, inst| calls += usize::from(inst.callee().is_some()));
    }
    calls
}

#[test]
fn calls_that_pass_zero_are_copied_and_others_stay() {
    assert_eq!(calls_left("3.0"), 3);
    assert_eq!(calls_left("0.0"), 2);
    assert_eq!(calls_left("-0.0"), 2);
}
