//! What ends a loop is done behind it, and means the same.

use girih_base::span::Span;
use girih_ir::{Function, Inst, Module, Op, text, verify};
use girih_lower::simplify::sinking::run;
use girih_machine::interp;

const HEAVY: &str = "fn @heavy(%a: u32, %b: u32) -> u32 {
  return (add.u32 (mul.u32 %a, 3), %b)
}\n";
/// Three exit paths, of which two do much, and need different values of the loop.
const EXIT_PATHS: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r, %s = loop (%k: u32 = 0, %x: u32 = %m) {
    %y = add.u32 %x, %k
    if (gt.u32 %y, 90) {
      %h = call @heavy(%y, %n)
      break %h, 1
    }
    if (ge.u32 %k, %n) {
      if (eq.u32 (and.u32 %y, 1), 0) {
        break %k, 2
      }
      %g = call @heavy(%k, %y)
      %t: u32 = if (gt.u32 %g, 20) {
        %i = call @heavy(%g, %x)
        yield %i
      } else {
        yield %g
      }
      break %t, %x
    }
    continue (add.u32 %k, 1), (add.u32 %y, 5)
  }
  return (add.u32 %r, 1), %s
}";
/// A loop in a loop, which also ends by its condition, and whose results both are needed.
const WHILE: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r, %s = loop (%j: u32 = 0, %sum: u32 = %m) {
    %v, %w = loop (%k: u32 = %j, %x: u32 = %sum) {
      if (eq.u32 (and.u32 %x, 7), 3) {
        %h = call @heavy(%x, %k)
        break %h, %k
      }
      while (lt.u32 %k, 9) next (add.u32 %k, 1), (add.u32 %x, %n)
    }
    if (gt.u32 %j, %n) {
      %g = call @heavy(%v, %w)
      break %g, %j
    }
    continue (add.u32 %j, 1), (add.u32 %v, %w)
  }
  return %r, %s
}";

fn module(function: &str) -> Module {
    text::parse(Span::NONE.source, &format!("{HEAVY}{function}")).expect("right text").module
}

#[test]
fn what_ends_a_loop_is_done_behind_it_and_means_the_same() {
    for function in [EXIT_PATHS, WHILE] {
        let before = verify(module(function)).expect("right IR");
        let mut after = module(function);
        after.functions.iter_mut().for_each(run);
        let f = after.find("f").expect("it is there");
        let in_loops = |function: &Function| {
            let mut calls = 0;
            function.walk(function.body, &mut |_, inst| {
                if inst.op == Op::Loop {
                    let count = &mut |_, inner: &Inst| calls += usize::from(inner.op == Op::Call);
                    function.walk(inst.regions[0], count);
                }
            });
            calls
        };
        // What the inner loop did when it was over is in the outer one now.
        assert_eq!(in_loops(&after.functions[f]), usize::from(function == WHILE), "{}", text::print(&after));
        let after = verify(after).expect("it follows the rules");
        for n in 0..14 {
            for m in 0..100 {
                let [old, new] = [&before, &after]
                    .map(|module| interp::call(module, f, &[n, m]).unwrap_or_else(|error| panic!("{}", error.message)));
                assert_eq!(old, new, "{function} of {n}, {m}");
            }
        }
    }
}
