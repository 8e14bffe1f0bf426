//! Branches, switches, loops, calls: with lanes that part and come together.

use super::*;

const COLLATZ: &str = "
fn @steps(%n: u32) -> u32 {
  %k, %x = loop (%k: u32 = 0, %x: u32 = %n) {
    %odd = eq.u32 (and.u32 %x, 1), 1
    %next: u32 = if %odd {
      yield (mad.u32 %x, 3, 1)
    } else {
      yield (shr.u32 %x, 1)
    }
    while (gt.u32 %x, 1) next (add.u32 %k, 1), %next
  }
  return %k
}";

fn steps(mut n: u64) -> u64 {
    let mut k = 0;
    while n > 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        k += 1;
    }
    k
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    let module = module(COLLATZ);
    let id = module.find("steps").expect("it stands there");
    let rows: Vec<Vec<u64>> = (1..3000).map(|n| vec![n]).collect();
    let found = interp::call_each(&module, id, &rows, &checked()).expect("no fault");
    for (row, result) in rows.iter().zip(found) {
        assert_eq!(result, [steps(row[0])], "{row:?}");
    }
    assert_eq!(call(COLLATZ, &[27]).expect("no fault"), [111]);
}

#[test]
fn loop_values_are_replaced_at_once() {
    let source = "
fn @fib(%n: u32) -> u32, u32 {
  %a: u32, %b: u32 = loop (%i: u32 = 0, %a: u32 = 0, %b: u32 = 1) {
    if (eq.u32 %i, %n) {
      break %a, %b
    }
    continue (add.u32 %i, 1), %b, (add.u32 %a, %b)
  }
  return %a, %b
}";
    assert_eq!(call(source, &[20]).expect("no fault"), [6765, 10946]);
    let swap = "
fn @swap(%n: u32) -> u32, u32 {
  %x, %y, %i = loop (%x: u32 = 1, %y: u32 = 2, %i: u32 = 0) {
    while (lt.u32 %i, %n) next %y, %x, (add.u32 %i, 1)
  }
  return %x, %y
}";
    assert_eq!(call(swap, &[4]).expect("no fault"), [1, 2]);
    assert_eq!(call(swap, &[5]).expect("no fault"), [2, 1]);
}

#[test]
fn switches_choose_by_signed_values_too() {
    let source = "
fn @name(%x: i32) -> u32 {
  %r: u32 = switch.i32 %x case -1, 5 {
    yield 10
  } case 7 {
    return 99
  } default {
    yield 20
  }
  return (add.u32 %r, 1)
}";
    for (x, expected) in [(-1, 11), (5, 11), (7, 99), (0, 21), (i32::MIN, 21)] {
        assert_eq!(call(source, &[u64::from(x as u32)]).expect("no fault"), [expected], "{x}");
    }
    let module = module(source);
    let id = module.find("name").expect("it stands there");
    let rows: Vec<Vec<u64>> = (0..64).map(|x| vec![x % 9]).collect();
    let found = interp::call_each(&module, id, &rows, &checked()).expect("no fault");
    let expected = |x: u64| [21, 21, 21, 21, 21, 11, 21, 99, 21][x as usize];
    assert!(rows.iter().zip(found).all(|(row, result)| result == [expected(row[0])]));
}

#[test]
fn breaks_out_of_switches_and_returns_out_of_loops() {
    let source = "
fn @walk(%n: u32) -> u32 {
  %r: u32 = loop (%i: u32 = 0, %sum: u32 = 0) {
    %more: u32 = loop (%j: u32 = 0) {
      switch.u32 (add.u32 %i, %j) case 3 {
        break 30
      } case 8 {
        return 1000
      } default {
        yield
      }
      if (ge.u32 %j, 2) {
        break %j
      }
      continue (add.u32 %j, 1)
    }
    if (ge.u32 %i, %n) {
      break (add.u32 %sum, %more)
    }
    continue (add.u32 %i, 1), (add.u32 %sum, %more)
  }
  return %r
}";
    // i = 0: j reaches 2. 1, 2, 3: i + j is 3 on the way. 4, 5: 2. 6: 8 is met.
    assert_eq!(call(source, &[0]).expect("no fault"), [2]);
    assert_eq!(call(source, &[3]).expect("no fault"), [92]);
    assert_eq!(call(source, &[5]).expect("no fault"), [96]);
    assert_eq!(call(source, &[6]).expect("no fault"), [1000]);
}

#[test]
fn recursion_with_a_depth_of_its_own_in_each_lane() {
    let source = "
fn @fib(%n: u32) -> u32 {
  if (lt.u32 %n, 2) {
    return %n
  }
  %a = call @fib((sub.u32 %n, 1))
  %b = call @fib((sub.u32 %n, 2))
  return (add.u32 %a, %b)
}";
    let module = module(source);
    let rows: Vec<Vec<u64>> = (0..16).map(|n| vec![n]).collect();
    let id = module.find("fib").expect("it stands there");
    let found = interp::call_each(&module, id, &rows, &checked()).expect("no fault");
    assert_eq!(found.concat(), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610]);
}

#[test]
fn functions_that_trap_or_do_not_end() {
    let source = "
fn @half(%n: u32) -> u32 {
  trap_if (eq.u32 (and.u32 %n, 1), 1) code(7)
  return (shr.u32 %n, 1)
}";
    assert_eq!(call(source, &[8]).expect("no fault"), [4]);
    let trap = call(source, &[9]).expect_err("a trap");
    assert_eq!(trap.code, Code::Trap);
    assert!(trap.message.contains('7'));
    let endless = module(
        "
fn @endless(%n: u32) -> u32 {
  %r = loop (%i: u32 = 0) {
    while true next (add.u32 %i, %n)
  }
  return %r
}",
    );
    let id = endless.find("endless").expect("it stands there");
    let options = Options { fuel: Some(1000), ..Options::default() };
    let error = interp::call_each(&endless, id, &[vec![1]], &options).expect_err("no fuel");
    assert_eq!(error.code, Code::OutOfFuel);
    let deep = "
fn @deep(%n: u32) -> u32 {
  %r = call @deep((add.u32 %n, 1))
  return %r
}";
    assert_eq!(call(deep, &[0]).expect_err("too deep").code, Code::OutOfFuel);
    assert_eq!(call(source, &[1, 2]).expect_err("one argument").code, Code::BadArguments);
}

#[test]
fn vectors_are_taken_apart_and_put_together() {
    let source = "
fn @turn(%v: u32x4, %i: u32) -> u32x4, u32, u64, u16x4 {
  %a = extract.u32 %v, %i
  %w = insert.u32 %v, %i, (add.u32 %a, 100)
  %pair = vector.u32x2 (extract.u32 %v, 0), (extract.u32 %v, 1)
  %long = bitcast.u64 %pair
  %halves = bitcast.u16x4 %long
  %all = select.u32x4 (eq.u32 %i, 9), (splat.u32x4 5), (mul.u32x4 %w, (splat.u32x4 2))
  return %all, %a, %long, %halves
}";
    let found = call(source, &[1, 0x0002_0003, 4, 6, 2]).expect("no fault");
    assert_eq!(found, [2, 0x0004_0006, 208, 12, 4, 0x0002_0003_0000_0001, 1, 0, 3, 2]);
    assert_eq!(call(source, &[1, 2, 3, 4, 7]).expect_err("no such element").code, Code::OutOfBounds);
}

#[test]
fn the_math_library_in_every_lane() {
    let source = "
fn @both(%x: f32, %h: f16x2) -> f32, f16x2, f32 {
  return (exp2.f32 %x), (log2.f16x2 %h), (exp2.approx.f32 %x)
}";
    let bits = |x: f32| u64::from(x.to_bits());
    let found = call(source, &[bits(10.0), 0x4800, 0x3800]).expect("no fault");
    assert_eq!(found, [bits(1024.0), 0x4200, 0xbc00, bits(1024.0)]);
}
