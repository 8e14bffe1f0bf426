//! Each way out of a function, in each place where it may stand: the changed function has one exit, verifies, and gives what it gave.

use girih_base::span::SourceId;
use girih_ir::{Function, FunctionId, Module, Op, Verified, text, verify};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};
use girih_task::flatten::with_one_exit;

const CHECKED: TaskSettings = TaskSettings { checked: true, seed: None, fuel: Some(1_000_000) };

/// Whether the only `return` is the last instruction of the body, and no call takes the function's place.
fn has_one_exit(function: &Function) -> bool {
    let mut exits = 0;
    function.walk(function.body, &mut |_, inst| exits += usize::from(matches!(inst.op, Op::Return | Op::Tail)));
    exits == 1 && function.terminator(function.body).is_some_and(|end| end.op == Op::Return)
}

fn parse(source: &str) -> text::Parsed {
    text::parse(SourceId::new(0), source).expect("it can be read")
}

fn checked(module: Module, what: &str) -> Verified<Module> {
    let printed = text::print(&module);
    verify(module).unwrap_or_else(|errors| panic!("{what}: {errors:#?}\n{printed}"))
}

/// What a call gives, or why it ended.
fn call(module: &Verified<Module>, function: FunctionId, arguments: &[u32]) -> Result<Vec<u32>, String> {
    let mut machine =
        TaskMachine::new(module, TaskOptions::default(), CHECKED).map_err(|error| error.message.to_string())?;
    let given = machine.call(function, arguments).map_err(|fault| format!("{fault:?}"))?;
    assert_eq!(machine.stats().live, 0, "nothing is left");
    Ok(given)
}

/// Compares a module with the changed one, on its function `f` of numbers; gives the text of the changed module.
fn compare(source: &str, arguments: &[&[u32]]) -> String {
    let module = checked(parse(source).module, "as it was");
    let changed = checked(with_one_exit(&module), "changed");
    for function in changed.functions.iter() {
        assert!(has_one_exit(function), "{}", text::print(&changed));
    }
    let f = module.find("f").expect("it has the function");
    for arguments in arguments {
        let (before, after) = (call(&module, f, arguments), call(&changed, f, arguments));
        assert_eq!(before, after, "{arguments:?}\n{}", text::print(&changed));
    }
    text::print(&changed)
}

const NUMBERS: &[&[u32]] = &[&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7], &[12], &[30]];

#[test]
fn what_follows_an_arm_that_returned_goes_into_the_other() {
    let text = compare(
        "fn @f(%n: u32) -> u32, u32 {
           %x: u32 = if (lt %n, 2) { return %n, 1 } else { yield (add %n, 5) }
           if (eq %x, 8) { return %x, 2 }
           if (eq %x, 9) { return %x, 3 } else { return %n, %x }
           return 0, 0
         }",
        NUMBERS,
    );
    assert!(!text.contains("loop"), "{text}");
}

#[test]
fn what_follows_is_copied_into_several_arms() {
    let text = compare(
        "fn @f(%n: u32) -> u32 {
           %x: u32 = switch %n case 0 { return 7 } case 1, 2 { yield 4 } case 3 {
             if (eq %n, 3) { return 9 }
             yield 1
           } default { yield %n }
           %twice = add %x, %x
           %y: u32 = if (gt %twice, 10) { yield 1 } else { yield %x }
           return (mul %y, %twice)
         }",
        NUMBERS,
    );
    assert_eq!(text.matches("mul").count(), 3, "{text}");
}

#[test]
fn a_tail_of_another_function_is_a_call() {
    let text = compare(
        "fn @g(%n: u32) -> u32 { return (add %n, 1) }
         fn @f(%n: u32) -> u32 {
           if (eq %n, 3) { tail @g(100) }
           tail @g(%n)
         }",
        NUMBERS,
    );
    assert!(!text.contains("tail") && !text.contains("loop"), "{text}");
}

const LIST: &str = "layout @cons(u32, term)
    fn @list(%n: u32, %rest: term) -> term {
      if (eq %n, 0) { return %rest }
      tail @list((sub %n, 1), (cell.new @cons %n, %rest))
    }
    fn @sum(%list: term, %so_far: u32) -> u32 {
      if (ne (term.tag %list), 4) {
        term.drop %list
        return %so_far
      }
      %hole, %x, %rest = cell.open @cons %list
      cell.free %hole
      tail @sum(%rest, (add %so_far, %x))
    }
";

fn with_lists(source: &str, arguments: &[&[u32]]) -> String {
    compare(&format!("{LIST}{source}"), arguments)
}

#[test]
fn a_tail_of_itself_is_another_iteration() {
    let text = with_lists(
        "fn @f(%n: u32) -> u32 { tail @sum((call @list(%n, (term.pack 3, 0))), 0) }",
        &[&[0], &[1], &[5], &[10_000]],
    );
    assert_eq!(text.matches("loop").count(), 2, "{text}");
}

#[test]
fn a_loop_without_break_gives_the_results() {
    let text = compare(
        "fn @f(%n: u32) -> u32, u32 {
           loop (%k: u32 = %n, %i: u32 = 0) {
             if (gt %k, 20) { return %k, %i }
             %next: u32 = if (eq %i, 3) { continue (add %k, 9), 4 } else { yield (add %k, 1) }
             continue %next, (add %i, 1)
           }
           return 0, 0
         }",
        NUMBERS,
    );
    assert!(!text.contains("bool") && !text.contains("true"), "{text}");
}

#[test]
fn a_loop_that_breaks_and_returns_gives_a_flag() {
    compare(
        "fn @f(%n: u32) -> u32 {
           %a, %b = loop (%k: u32 = %n, %i: u32 = 0) {
             if (eq %k, 5) { return 500 }
             if (eq %k, 7) { break %i, 70 }
             while (lt %i, 9) next (add %k, 2), (add %i, 1)
           }
           if (eq %a, 2) { return 2 }
           %c: u32 = loop (%k: u32 = %a) {
             if (gt %k, 1) { tail @f(1) }
             if (eq %k, 0) { break 3 }
             continue (sub %k, 1)
           }
           return (add (add %a, %b), %c)
         }",
        &[&[0], &[1], &[3], &[5], &[6], &[7], &[8], &[14], &[20]],
    );
}

#[test]
fn loops_in_loops_are_left_together() {
    compare(
        "fn @f(%n: u32) -> u32 {
           %s: u32 = loop (%i: u32 = 0, %s: u32 = 0) {
             %go = lt %i, %n
             %t: u32 = if %go {
               %t, %w = loop (%t: u32 = %s, %j: u32 = 0) {
                 if (gt %t, 40) { return (add %t, 1000) }
                 if (eq %t, 13) { tail @f((sub %n, 1)) }
                 if (eq %t, 17) {
                   loop {
                     if (eq %n, 6) { return 6 }
                     break
                   }
                   break %j, 1
                 }
                 while (lt %j, %i) next (add %t, %j), (add %j, 1)
               }
               yield (add %t, %w)
             } else { break %s }
             continue (add %i, 1), (add (add %s, %t), 1)
           }
           return %s
         }",
        &[&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7], &[12]],
    );
}

#[test]
fn what_a_loop_gives_away_on_some_ways_only_is_carried() {
    let text = with_lists(
        "fn @f(%n: u32) -> u32 {
           %list = call @list(%n, (term.pack 3, 0))
           %other = call @list(3, (term.pack 3, 0))
           if (eq (term.tag %list), 4) {
             %tail = cell.get.term @cons %list field(1)
             %same, %mine = term.share %tail
             loop (%outer: u32 = 0, %own: term = %mine) {
               %x: term = loop (%i: u32 = %outer, %m: term = %own) {
                 if (eq (add %i, %n), 6) {
                   term.drop %m
                   term.drop %other
                   tail @sum(%list, (term.tag %same))
                 }
                 if (eq (add %i, %n), 8) {
                   term.drop %m
                   term.drop %list
                   term.drop %other
                   return 8
                 }
                 %head = cell.get.u32 @cons %list field(0)
                 if (eq (add %i, %head), 5) { break %m }
                 continue (add %i, 1), %m
               }
               if (gt (add %outer, (term.tag %same)), 5) {
                 term.drop %x
                 break
               }
               if (gt %n, 2) { continue (add %outer, 1), %x }
               term.drop %x
               term.drop %other
               term.drop %list
               tail @f((sub %n, 1))
             }
             yield
           } else {
             yield
           }
           %a = call @sum(%list, 0)
           return (add %a, (call @sum(%other, 1)))
         }",
        &[&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7], &[8]],
    );
    assert!(text.contains("flat"), "{text}");
}

#[test]
fn holes_and_what_is_borrowed_leave_loops() {
    with_lists(
        "fn @find(%list: term borrowed, %x: u32) -> u32 {
           %found: term = loop (%at: term = %list, %i: u32 = 0) {
             if (ne (term.tag %at), 4) { return 77 }
             if (eq (cell.get.u32 @cons %at field(0)), %x) { break %at }
             if (eq (cell.get.u32 @cons %at field(0)), 99) { tail @find(%list, 99) }
             if (gt %i, 5) { return %i }
             continue (cell.get.term @cons %at field(1)), (add %i, 1)
           }
           return (add (cell.get.u32 @cons %found field(0)), 100)
         }
         fn @hole(%n: u32) -> u32 {
           %list = call @list(2, (term.pack 3, 0))
           %hole, %x, %rest = cell.open @cons %list
           %h, %k = loop (%h: term = %hole, %k: u32 = %n) {
             if (eq %k, 3) {
               cell.free %h
               term.drop %rest
               return 3
             }
             if (gt %k, 4) { break %h, %k }
             continue %h, (add %k, 2)
           }
           tail @sum((cell.fill @cons %h, %k, %rest), %x)
         }
         fn @f(%n: u32) -> u32 {
           %list = call @list(9, (term.pack 3, 0))
           %a = call @find(%list, %n)
           %list2 = cell.new @cons 99, %list
           %b = call @find(%list2, %n)
           term.drop %list2
           return (add (mul %a, 1000), (add (mul %b, 1000000), (call @hole(%n))))
         }",
        &[&[0], &[1], &[2], &[3], &[5], &[6], &[7], &[8], &[10]],
    );
}

#[test]
fn functions_of_one_exit_stay_as_they_are() {
    let source = "fn @f(%n: u32) -> u32 {
  %r: u32, %s: u32 = loop (%k: u32 = %n, %i: u32 = 0) {
    %x: u32 = if (gt %k, 7) {
      break %i, %k
    } else {
      yield (add %k, 1)
    }
    while (lt %k, 9) next %x, (add %i, 1)
  }
  return (add %r, %s)
}
";
    let before = text::print(&parse(source).module);
    assert_eq!(compare(source, NUMBERS), before);
}

#[test]
fn loops_without_end_are_left_by_nothing() {
    let without_end = "fn @f(%n: u32) -> u32 {
        %x: u32 = if (gt %n, 3) {
          loop {
            loop {
              continue
            }
            return 1
          }
          return 2
        } else {
          yield 5
        }
        loop (%k: u32 = 0) {
          if (eq %k, 3) {
            loop {
              continue
            }
            break
          }
          if (eq (add %k, %n), 3) { break }
          continue (add %k, 1)
        }
        return %x
      }";
    compare(without_end, &[&[1], &[2], &[3]]);
}
