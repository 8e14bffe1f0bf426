//! Loops over ranges of numbers: functions of each form become recursion that halves the range, and give what they gave.

use girih_base::span::SourceId;
use girih_ir::{Module, Op, Verified, text, verify};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};
use girih_task::loops::ranges::ranges;

/// Steps of a call, and of one in which each iteration is a part of its own.
const FUEL: u64 = 100_000;
const MORE_FUEL: u64 = 10 * FUEL;

fn parsed(source: &str) -> Verified<Module> {
    let module = text::parse(SourceId::new(0), source).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}")).module;
    verify(module).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"))
}

/// What `@g` gives; nothing if it does not end soon, or fails.
fn call(module: &Verified<Module>, arguments: &[u32], fuel: u64) -> Option<Vec<u32>> {
    let g = module.find("g").expect("it has the function");
    let settings = TaskSettings { checked: true, seed: None, fuel: Some(fuel) };
    let mut machine = TaskMachine::new(module, TaskOptions::default(), settings).expect("there is memory");
    machine.call(g, arguments).ok()
}

fn has_fork(module: &Module) -> bool {
    let mut found = false;
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| found |= inst.op == Op::Fork);
    }
    found
}

/// The module changed for threads, or none if nothing in it is a range; what it gives is what it gave, for lanes as well.
fn changed(source: &str, calls: &[[u32; 3]]) -> Option<(usize, String)> {
    changed_for(source, calls, true)?;
    changed_for(source, calls, false)
}

fn changed_for(source: &str, calls: &[[u32; 3]], for_lanes: bool) -> Option<(usize, String)> {
    let module = parsed(source);
    let mut changed = Module::clone(&module);
    ranges(&mut changed, for_lanes);
    if changed.functions.len() == module.functions.len() {
        return None;
    }
    let printed = text::print(&changed);
    assert!(has_fork(&changed), "{printed}");
    let changed = verify(changed).unwrap_or_else(|errors| panic!("{printed}\n{errors:#?}"));
    let mut ended = 0;
    for arguments in calls {
        if let Some(before) = call(&module, arguments, FUEL) {
            ended += 1;
            assert_eq!(Some(before), call(&changed, arguments, MORE_FUEL), "{arguments:?}\n{source}\n{printed}");
        }
    }
    Some((ended, printed))
}

/// Calls with ranges of no, one, few and many numbers, in both directions.
fn calls() -> Vec<[u32; 3]> {
    let ends =
        [(0, 0), (1, 0), (0, 1), (5, 1), (2, 9), (90, 7), (11, 100), (3, 16_777_210), (16_777_213, 5), (5000, 2)];
    ends.iter().flat_map(|(from, to)| [[*from, *to, 3], [*from, *to, 10]]).collect()
}

fn recursion(test: &str, (step, by): (&str, u32), op: &str, k: &str) -> String {
    format!(
        "fn @g(%i: u32, %k: u32, %s: u32) -> u32 {{
  %c = {test}.u32 %i, {k}
  if %c {{
    %b = mul.u32 %i, %s
    return %b
  }}
  %n = {step}.u32 %i, {by}
  %m = and.u32 %n, 16777215
  %r = call @g(%m, %k, %s)
  %v = xor.u32 %i, %s
  %e = and.u32 %v, 1
  %o = eq.u32 %e, 0
  if %o {{
    %w = {op}.u32 %v, %r
    return %w
  }}
  return %r
}}
"
    )
}

fn carried(test: &str, (step, by): (&str, u32), op: &str, k: &str) -> String {
    // The loop goes on where the test does not hold; another number goes its own way beside.
    format!(
        "fn @g(%i: u32, %k: u32, %s: u32) -> u32 {{
  %r: u32 = loop (%a: u32 = %i, %t: u32 = 7, %u: u32 = %s) {{
    %c = {test}.u32 %a, {k}
    if %c {{
      %b = sub.u32 %t, %u
      break %b
    }}
    %n = {step}.u32 %a, {by}
    %m = and.u32 %n, 16777215
    %x = mul.u32 %u, %a
    %z = {op}.u32 %t, %x
    %w = add.u32 %u, 5
    continue %m, %z, %w
  }}
  return %r
}}
"
    )
}

#[test]
fn every_test_step_and_operation() {
    let (mut split, mut ended) = (0, 0);
    for test in ["eq", "lt", "le", "gt", "ge", "ne"] {
        for step in [("sub", 1), ("add", 1), ("sub", 3), ("add", 7)] {
            for op in ["add", "mul", "or", "xor", "and", "min", "max"] {
                for k in ["%k", "0", "40", "16777215"] {
                    for source in [recursion(test, step, op, k), carried(test, step, op, k)] {
                        if let Some((ends, _)) = changed(&source, &calls()) {
                            split += 1;
                            ended += ends;
                        }
                    }
                }
            }
        }
    }
    assert!(split >= 250 && ended >= 2000, "{split} were split, {ended} calls ended");
}

/// What is not put together in any order, what does not end by a test of its own number, and what depends on the sum stays as it is.
#[test]
fn other_loops_stay() {
    let sub = carried("eq", ("sub", 1), "sub", "0");
    let uses = carried("eq", ("sub", 1), "add", "0").replace("mul.u32 %u, %a", "mul.u32 %t, %a");
    let other = carried("eq", ("sub", 1), "add", "0").replace("eq.u32 %a", "eq.u32 %t");
    let doubled = recursion("eq", ("sub", 1), "add", "0").replace("%v, %r", "%r, %r");
    let varies = carried("eq", ("sub", 1), "add", "0").replace("sub.u32 %a, 1", "sub.u32 %a, %u");
    for source in [sub, uses, other, doubled, varies] {
        assert!(changed(&source, &[]).is_none(), "{source}");
    }
}

#[test]
fn two_sums_and_calls_within() {
    let source = "fn @g(%i: u32, %k: u32, %s: u32) -> u32, u32 {
  %0: u32, %1: u32 = loop (%a: u32 = %i, %x: u32 = 0, %y: u32 = %s) {
    %c = eq.u32 %a, 0
    if %c {
      break %x, %y
    }
    %n = sub.u32 %a, 1
    %m = and.u32 %n, 16777215
    %v = call @digits(%a, %k)
    %p = add.u32 %x, %v
    %q = xor.u32 %y, %v
    continue %m, %p, %q
  }
  return %0, %1
}

fn @digits(%n: u32, %k: u32) -> u32 {
  %0: u32 = loop (%a: u32 = %n, %d: u32 = 0) {
    %z = eq.u32 %a, 0
    if %z {
      break %d
    }
    %h = shr.u32 %a, 1
    %b = and.u32 %a, %k
    %e = mul.u32 %d, %b
    %f = add.u32 %e, 1
    continue %h, %f
  }
  return %0
}
";
    let (ended, printed) = changed(source, &calls()).expect("it is a range");
    assert!(ended >= 10, "{ended}\n{printed}");
    assert!(printed.contains("fork @g.range"), "{printed}");
}

/// A range in a range is cut where the outer one has few iterations, and stays a loop, in a function of its own, where it has many.
#[test]
fn ranges_in_ranges() {
    let inner = "fn @inner(%n: u32, %k: u32) -> u32 {
  %0: u32 = loop (%a: u32 = %n, %d: u32 = 0) {
    %z = eq.u32 %a, 0
    if %z {
      break %d
    }
    %h = sub.u32 %a, 1
    %m = and.u32 %h, 16777215
    %e = mul.u32 %a, %k
    %f = add.u32 %d, %e
    continue %m, %f
  }
  return %0
}

fn @between(%n: u32, %k: u32) -> u32 {
  %l = and.u32 %n, 1
  %0 = call @inner(%l, %k)
  %1 = mul.u32 %0, %0
  return %1
}
";
    for op in ["add", "xor", "max"] {
        let outer = carried("eq", ("sub", 1), op, "0").replace("mul.u32 %u, %a", "call @between(%a, %k)");
        let source = format!("{outer}\n{inner}");
        let calls = [[0, 0, 3], [40, 0, 3], [2047, 0, 5], [2048, 0, 5], [2500, 0, 3]];
        let (ended, printed) = changed(&source, &calls).expect("it is a range");
        assert_eq!(ended, calls.len(), "{printed}");
        assert!(printed.contains("fn @inner.loop") && printed.contains("fork @g.range2"), "{printed}");
        assert!(printed.contains("call @between.loop") && printed.contains("fork @inner.range"), "{printed}");
    }
    // Recursion that is no range takes long wherever it is.
    let other = inner.replace("%0 = call @inner(%l, %k)", "%0 = call @between(%l, %k)");
    let outer = carried("eq", ("sub", 1), "add", "0").replace("mul.u32 %u, %a", "call @between(%a, %k)");
    let (_, printed) = changed(&format!("{outer}\n{other}"), &[]).expect("it is a range");
    assert!(!printed.contains("@g.range2"), "{printed}");
}

/// Where the largest or smallest number is: a loop that carries both, and recursion that gives them. `crossed` says whether the comparison has the number
/// that was found before on its left side, and `waits` whether that is chosen where it holds.
fn placed(compare: &str, (keeps, crossed, waits): (&str, bool, bool), is_recursion: bool) -> String {
    let (x, y) = if crossed { ("%r", "%e") } else { ("%e", "%r") };
    let (yes, no) = if waits { ("%q", "%i") } else { ("%i", "%q") };
    let body = format!(
        "  %h = mul.u32 %i, 7919
  %e = and.u32 %h, 63
  %t = {compare}.u32 {x}, {y}
  %w = {keeps}.u32 {x}, {y}
  %p = select.u32 %t, {yes}, {no}
  %x = add.u32 %u, %e
"
    );
    let next = "  %n = sub.u32 %i, 1\n  %m = and.u32 %n, 16777215\n";
    let types = "u32, u32, u32";
    if is_recursion {
        format!(
            "fn @g(%i: u32, %k: u32, %s: u32) -> {types} {{
  %c = eq.u32 %i, %k
  if %c {{
    return 31, 7, %s
  }}
{next}  %r: u32, %q: u32, %u: u32 = call @g(%m, %k, %s)
{body}  return %w, %p, %x
}}
"
        )
    } else {
        format!(
            "fn @g(%a: u32, %k: u32, %s: u32) -> {types} {{
  %0: u32, %1: u32, %2: u32 = loop (%i: u32 = %a, %r: u32 = 31, %q: u32 = 7, %u: u32 = %s) {{
  %c = eq.u32 %i, %k
  if %c {{
    break %r, %q, %u
  }}
{next}{body}  continue %m, %w, %p, %x
  }}
  return %0, %1, %2
}}
"
        )
    }
}

#[test]
fn places_of_the_largest_and_the_smallest() {
    let (mut split, mut stayed) = (0, 0);
    for compare in ["lt", "le", "gt", "ge"] {
        for crossed in [false, true] {
            for waits in [false, true] {
                for keeps in ["min", "max"] {
                    for is_recursion in [false, true] {
                        let source = placed(compare, (keeps, crossed, waits), is_recursion);
                        // The place goes with the number that is kept.
                        let is_larger = compare.starts_with('g') != (crossed != waits);
                        let fits = is_larger == (keeps == "max");
                        match changed(&source, &calls()) {
                            Some((ended, printed)) if fits => {
                                split += 1;
                                assert!(ended >= 8, "{ended}\n{printed}");
                            }
                            Some((_, printed)) => panic!("it chooses the others:\n{source}\n{printed}"),
                            None => stayed += usize::from(!fits),
                        }
                    }
                }
            }
        }
    }
    assert_eq!((split, stayed), (32, 32));
}
