//! Loops in loops become one, and mean the same.

use girih_base::span::Span;
use girih_ir::{Function, Module, Op, text, verify};
use girih_lower::simplify::merging::run;
use girih_machine::interp;

/// A trial division for each number, with a budget that ends both loops.
const PRIMES: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r: u32, %left: u32 = loop (%i: u32 = %m, %sum: u32 = 0, %l: u32 = 900) {
    if (eq.u32 %l, 0) {
      break 77, 0
    }
    %k = add.u32 %l, 4294967295
    if (gt.u32 %i, (add.u32 %n, %m)) {
      break %sum, %k
    }
    %is: u32, %j: u32 = loop (%d: u32 = 2, %o: u32 = %k) {
      if (eq.u32 %o, 0) {
        break 0, 0
      }
      %p = add.u32 %o, 4294967295
      if (gt.u32 (mul.u32 %d, %d), %i) {
        break 1, %p
      }
      if (eq.u32 (rem.u32 %i, %d), 0) {
        break 0, %p
      }
      continue (add.u32 %d, 1), %p
    }
    %s = add.u32 %sum, %is
    continue (add.u32 %i, 1), %s, %j
  }
  return %r, %left
}";
/// The inner loop is in an arm, its end is a condition, and there is something to do behind it in the arm and behind the choice.
const ARMS: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r: u32, %s: u32 = loop (%i: u32 = 0, %sum: u32 = %m) {
    %x = mul.u32 (add.u32 %i, %m), 7
    %t: u32 = if (eq.u32 (and.u32 %x, 1), 0) {
      %y = add.u32 %x, 3
      %u: u32 = if (gt.u32 %i, 9) {
        if (gt.u32 %sum, 5000) {
          break %sum, 1
        }
        yield %y
      } else {
        %v: u32, %w: u32 = loop (%k: u32 = 1, %z: u32 = %y) {
          if (gt.u32 %z, 300) {
            break %k, %z
          }
          %q = and.u32 (rem.u32 %z, 64), 5
          while (lt.u32 %q, 5) next (add.u32 %k, 1), (add.u32 (mul.u32 %z, 3), %i)
        }
        if (eq.u32 (and.u32 %v, 3), 3) {
          continue (add.u32 %i, 2), (add.u32 %w, %y)
        }
        yield (add.u32 %v, %y)
      }
      yield (add.u32 %u, 1)
    } else {
      yield %x
    }
    if (gt.u32 %t, 4000) {
      break %t, 2
    }
    while (lt.u32 %i, %n) next (add.u32 %i, 1), (add.u32 %sum, %t)
  }
  return %r, %s
}";
/// Three loops in one another.
const DEEP: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r: u32 = loop (%i: u32 = 0, %a: u32 = 0) {
    if (ge.u32 %i, %n) {
      break %a
    }
    %s: u32 = loop (%j: u32 = 0, %b: u32 = %a) {
      if (gt.u32 %j, %i) {
        break %b
      }
      %t: u32 = loop (%k: u32 = %m, %c: u32 = %b) {
        if (ge.u32 %k, (add.u32 %j, %m)) {
          break (xor.u32 %c, %k)
        }
        continue (add.u32 %k, 1), (add.u32 (mul.u32 %c, 5), %j)
      }
      continue (add.u32 %j, 1), %t
    }
    continue (add.u32 %i, 1), (add.u32 %s, 1)
  }
  return %r, 0
}";
/// What ends the inner loop is the same in all iterations, and much is done around the other.
const EVEN: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r: u32 = loop (%i: u32 = 0, %a: u32 = 0, %e: u32 = %m) {
    if (ge.u32 %i, %n) {
      break %a
    }
    %t: u32 = loop (%k: u32 = 0, %c: u32 = %a) {
      if (ge.u32 %k, %e) {
        break %c
      }
      continue (add.u32 %k, 1), (add.u32 (mul.u32 %c, 5), %i)
    }
    continue (add.u32 %i, 1), (add.u32 %t, 1), %e
  }
  return %r, 0
}";
const HEAVY: &str = "fn @f(%n: u32, %m: u32) -> u32, u32 {
  %r: u32 = loop (%i: u32 = 1, %a: u32 = 0) {
    if (ge.u32 %i, %n) {
      break %a
    }
    %x = div.u32 %m, %i
    %y = rem.u32 %m, %i
    %z = div.u32 %a, %i
    %t: u32 = loop (%k: u32 = 0, %c: u32 = %z) {
      if (ge.u32 %k, %y) {
        break %c
      }
      continue (add.u32 %k, 1), (add.u32 %c, %x)
    }
    continue (add.u32 %i, 1), (add.u32 %t, 1)
  }
  return %r, 0
}";

fn module(function: &str) -> Module {
    text::parse(Span::NONE.source, function).expect("right text").module
}

fn loops(function: &Function) -> usize {
    let mut loops = 0;
    function.walk(function.body, &mut |_, inst| loops += usize::from(inst.op == Op::Loop));
    loops
}

#[test]
fn loops_in_loops_become_one_and_mean_the_same() {
    for (source, left) in [(PRIMES, 1), (ARMS, 1), (DEEP, 1), (EVEN, 2), (HEAVY, 2)] {
        let before = verify(module(source)).expect("right IR");
        let mut after = module(source);
        after.functions.iter_mut().for_each(|function| run(function, Some(900)));
        let f = after.find("f").expect("it is there");
        let printed = text::print(&after);
        assert_eq!(loops(&after.functions[f]), left, "{printed}");
        let after = verify(after).unwrap_or_else(|errors| panic!("{printed}\n{errors:#?}"));
        for n in 0..14 {
            for m in 1..100 {
                let [was, is] = [&before, &after]
                    .map(|module| interp::call(module, f, &[n, m]).unwrap_or_else(|error| panic!("{}", error.message)));
                assert_eq!(was, is, "{n}, {m}\n{source}\n{printed}");
            }
        }
    }
}
