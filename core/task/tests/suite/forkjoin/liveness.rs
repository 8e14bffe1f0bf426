//! What is live behind calls in loops.

use girih_base::span::Span;
use girih_ir::{Function, ValueId};
use girih_ir::{Module, text};
use girih_task::forkjoin::liveness::Liveness;

/// A function of a text, and its first call of `@f`, `@g` and so on by their names.
fn function(text: &str) -> (Module, Function) {
    let module = text::parse(Span::NONE.source, text).expect("it is right").module;
    let function = module.functions.iter().last().expect("there is one").clone();
    (module, function)
}
fn named(function: &Function, values: &[ValueId]) -> Vec<String> {
    values.iter().map(|v| function.values[*v].name.as_deref().unwrap_or("").to_owned()).collect()
}
/// What is live behind the first call of a function.
fn behind(text: &str, callee: &str) -> Vec<String> {
    let (module, function) = function(text);
    let mut found = None;
    function.walk(function.body, &mut |id, inst| {
        let is_it = inst.callee().is_some_and(|callee_id| module.functions[callee_id].name == callee);
        found = found.or(is_it.then_some(id));
    });
    named(&function, &Liveness::of(&function).behind(found.expect("it is called")))
}

const CALLEES: &str = "\
fn @f(%x: u32) -> u32 {
  return %x
}
fn @g(%x: u32) -> u32 {
  return %x
}
";

#[test]
fn an_arm_that_ends_its_loop_needs_nothing_of_what_comes_behind_the_choice() {
    let text = format!(
        "{CALLEES}
fn @loops(%n: u32, %after: u32) -> u32 {{
  %sum: u32 = loop (%i: u32 = %n, %a: u32 = 0) {{
    if (eq.u32 %i, 0) {{
      %last = call @f(%a)
      break %last
    }}
    %next = call @g(%a)
    continue (sub.u32 %i, 1), (add.u32 %next, %a)
  }}
  return (add.u32 %sum, %after)
}}
"
    );
    assert_eq!(behind(&text, "f"), ["after"]);
    assert_eq!(behind(&text, "g"), ["after", "i", "a"]);
}

#[test]
fn the_next_iteration_needs_what_this_one_used() {
    let text = format!(
        "{CALLEES}
fn @loops(%n: u32, %step: u32) -> u32 {{
  %sum: u32 = loop (%i: u32 = %n, %a: u32 = 0) {{
    %by = add.u32 %a, %step
    %next = call @f(%by)
    if (eq.u32 %i, 0) {{
      %last = call @g(%next)
      break %last
    }}
    continue (sub.u32 %i, 1), %next
  }}
  return %sum
}}
"
    );
    assert_eq!(behind(&text, "f"), ["step", "i"]);
    assert!(behind(&text, "g").is_empty());
}
