//! Recursion of which only cells are left to make: functions become loops, and give what they gave.

use girih_base::span::SourceId;
use girih_ir::heap::{CELL, tag};
use girih_ir::{FunctionId, Module, Op, Verified, text, verify};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};
use girih_task::loops::chains::chains;

const CHECKED: TaskSettings = TaskSettings { checked: true, seed: None, fuel: Some(1_000_000) };
const NUMBERS: [u32; 8] = [0, 1, 2, 3, 7, 8, 20, 31];
/// Bytes of stack that a loop does with, and a recursion of [`DEEP`] levels does not.
const LITTLE: u64 = 4 << 10;
const DEEP: u32 = 1000;

/// A word with all that it leads to, as text; gives its ownership back.
fn shown(machine: &mut TaskMachine, module: &Module, word: u32) -> String {
    fn show(machine: &TaskMachine, module: &Module, word: u32, out: &mut String) {
        if tag(word) != CELL {
            return out.push_str(&format!("{word} "));
        }
        let layout = machine.layout(word).expect("it is a cell");
        out.push_str(&format!("@{}(", module.layouts[layout].name));
        for (i, ty) in module.layouts[layout].fields.iter().enumerate() {
            let field = machine.field(word, i);
            match ty {
                girih_ir::Type::Term => show(machine, module, field, out),
                _number => out.push_str(&format!("{field} ")),
            }
        }
        out.push(')');
    }
    let mut out = String::new();
    show(machine, module, word, &mut out);
    machine.drop(word);
    out
}

/// What a call gives, as text; nothing is left of it.
fn call(module: &Verified<Module>, f: FunctionId, argument: u32, stack: Option<u64>) -> Result<String, String> {
    let mut options = TaskOptions::default();
    options.stack = stack.unwrap_or(options.stack);
    let mut machine = TaskMachine::new(module, options, CHECKED).map_err(|error| error.message.to_string())?;
    let given = machine.call(f, &[argument]).map_err(|fault| format!("{fault:?}"))?;
    let types = module.functions[f].results.clone();
    let one = |(word, ty): (u32, &girih_ir::Type)| match ty {
        girih_ir::Type::Term => shown(&mut machine, module, word),
        _number => word.to_string(),
    };
    let all: Vec<String> = given.into_iter().zip(&types).map(one).collect();
    assert_eq!(machine.stats().live, 0, "nothing is left");
    Ok(all.join(", "))
}

/// The module with chains, in which every function `f` gives what it gave.
fn changed(source: &str) -> (Verified<Module>, String) {
    let source = format!("{LISTS}\n{source}");
    let module = text::parse(SourceId::new(0), &source).unwrap_or_else(|errors| panic!("{errors:#?}")).module;
    let module = verify(module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let f = module.find("f").expect("it has the function");
    let mut changed = Module::clone(&module);
    chains(&mut changed);
    let printed = text::print(&changed);
    let changed = verify(changed).unwrap_or_else(|errors| panic!("{printed}\n{errors:#?}"));
    for number in NUMBERS {
        let (before, after) = (call(&module, f, number, None), call(&changed, f, number, None));
        assert_eq!(before, after, "{number}\n{printed}");
        before.expect("it ends");
    }
    (changed, printed)
}

/// How often a function calls itself.
fn own_calls(module: &Module, name: &str) -> usize {
    let id = module.find(name).expect("it has the function");
    let function = &module.functions[id];
    let mut calls = 0;
    function.walk(function.body, &mut |_, inst| {
        calls += usize::from(matches!(inst.op, Op::Call | Op::Fork) && inst.callee() == Some(id));
    });
    calls
}

/// These functions no longer call themselves, and `f` needs little stack.
fn become_loops(source: &str, names: &[&str]) -> Verified<Module> {
    let (module, printed) = changed(source);
    names.iter().for_each(|name| assert_eq!(own_calls(&module, name), 0, "{name}\n{printed}"));
    let f = module.find("f").expect("it has the function");
    call(&module, f, DEEP, Some(LITTLE)).unwrap_or_else(|fault| panic!("{fault}\n{printed}"));
    module
}

/// This function calls itself as before.
fn stays(source: &str, name: &str) {
    let (module, printed) = changed(source);
    assert!(own_calls(&module, name) > 0, "{printed}");
    assert!(!printed.contains("chain."), "{printed}");
}

/// Lists and trees, and functions that make and read them without recursion.
const LISTS: &str = "layout @cons(u32, term)
    layout @link(term, u32, u32)
    layout @node(term, u32, term)
    fn @counted(%n: u32) -> term {
      %nil = term.pack 3, 0
      %list: term = loop (%i: u32 = %n, %list: term = %nil) {
        if (eq.u32 %i, 0) { break %list }
        %x = rem.u32 (mul.u32 %i, 7), 13
        %more = cell.new @cons %x, %list
        continue (sub.u32 %i, 1), %more
      }
      return %list
    }";

#[test]
fn a_list_is_made_from_its_head_on() {
    become_loops(
        "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           %rest = call @f((sub.u32 %n, 1))
           return (cell.new @cons %n, %rest)
         }",
        &["f"],
    );
}

#[test]
fn map_fills_the_cells_that_it_opens() {
    let module = become_loops(
        "fn @f(%n: u32) -> term { tail @map((call @counted(%n))) }
         fn @map(%list: term) -> term {
           if (eq.u32 (term.tag %list), 4) {
             %token, %x, %rest = cell.open @cons %list
             %more = call @map(%rest)
             %y = mul.u32 %x, %x
             return (cell.fill @cons %token, %y, %more)
           }
           return %list
         }",
        &["map"],
    );
    let mut machine = TaskMachine::new(&module, TaskOptions::default(), CHECKED).expect("it can be run");
    let word = machine.call(module.find("f").expect("it is there"), &[20]).expect("it ends")[0];
    assert_eq!((machine.stats().allocated, machine.stats().reused), (20, 20));
    machine.drop(word);
}

#[test]
fn append_ends_with_the_other_list() {
    become_loops(
        "fn @f(%n: u32) -> term {
           %a = call @counted(%n)
           %b = call @counted(3)
           tail @append(%a, %b)
         }
         fn @append(%a: term, %b: term) -> term {
           if (eq.u32 (term.tag %a), 4) {
             %token, %x, %rest = cell.open @cons %a
             %more = call @append(%rest, %b)
             return (cell.fill @cons %token, %x, %more)
           }
           term.drop %a
           return %b
         }",
        &["append"],
    );
}

#[test]
fn filter_goes_on_with_and_without_a_cell() {
    become_loops(
        "fn @f(%n: u32) -> term { tail @filter((call @counted(%n)), 6) }
         fn @filter(%list: term, %below: u32) -> term {
           %r: term = loop (%l: term = %list, %b: u32 = %below) {
             if (eq.u32 (term.tag %l), 4) {
               %token, %x, %rest = cell.open @cons %l
               if (lt.u32 %x, %b) {
                 %more = call @filter(%rest, %b)
                 break (cell.fill @cons %token, %x, %more)
               }
               cell.free %token
               continue %rest, %b
             }
             break %l
           }
           return %r
         }",
        &["filter"],
    );
}

#[test]
fn merge_has_two_calls() {
    become_loops(
        "fn @f(%n: u32) -> term {
           %a = call @counted(%n)
           %b = call @counted((add.u32 %n, 3))
           tail @merge(%a, %b)
         }
         fn @merge(%a: term, %b: term) -> term {
           if (ne.u32 (term.tag %a), 4) {
             term.drop %a
             return %b
           }
           if (ne.u32 (term.tag %b), 4) {
             term.drop %b
             return %a
           }
           %m, %x, %as = cell.open @cons %a
           %n, %y, %bs = cell.open @cons %b
           if (lt.u32 %x, %y) {
             %other = cell.fill @cons %n, %y, %bs
             %more = call @merge(%as, %other)
             return (cell.fill @cons %m, %x, %more)
           }
           %other = cell.fill @cons %m, %x, %as
           %more = call @merge(%other, %bs)
           return (cell.fill @cons %n, %y, %more)
         }",
        &["merge"],
    );
}

#[test]
fn deal_exchanges_its_results() {
    let module = become_loops(
        "fn @f(%n: u32) -> term, term {
           %list = call @counted(%n)
           tail @deal(%list)
         }
         fn @deal(%list: term) -> term, term {
           if (eq.u32 (term.tag %list), 4) {
             %token, %x, %rest = cell.open @cons %list
             %a, %b = call @deal(%rest)
             %more = cell.fill @cons %token, %x, %b
             return %more, %a
           }
           term.drop %list
           return (term.pack 3, 1), (term.pack 3, 2)
         }",
        &["deal"],
    );
    let f = module.find("f").expect("it is there");
    let three = call(&module, f, 3, None).expect("it ends");
    // The end of each list says which of both results it was in the innermost call.
    assert_eq!(three, "@cons(7 @cons(8 19 )), @cons(1 11 )");
}

#[test]
fn unzip_makes_two_lists_beside_a_number() {
    become_loops(
        "fn @f(%n: u32) -> term, u32, term {
           %list = call @counted(%n)
           tail @apart(%list)
         }
         fn @apart(%list: term) -> term, u32, term {
           if (eq.u32 (term.tag %list), 4) {
             %token, %x, %rest = cell.open @cons %list
             %a, %last, %b = call @apart(%rest)
             %half = shr.u32 %x, 1
             %as = cell.fill @cons %token, %half, %a
             %odd = and.u32 %x, 1
             %bs = cell.new @link %b, %odd, %x
             return %as, %last, %bs
           }
           term.drop %list
           return (term.pack 3, 1), 42, (term.pack 3, 2)
         }",
        &["apart"],
    );
}

#[test]
fn a_tree_grows_on_either_side() {
    let (module, printed) = changed(
        "fn @f(%n: u32) -> term {
           %nil = term.pack 3, 0
           %tree: term = loop (%i: u32 = %n, %tree: term = %nil) {
             if (eq.u32 %i, 0) { break %tree }
             %x = rem.u32 (mul.u32 %i, 17), 31
             %more = call @insert(%tree, %x)
             continue (sub.u32 %i, 1), %more
           }
           return %tree
         }
         fn @insert(%tree: term, %x: u32) -> term {
           if (eq.u32 (term.tag %tree), 4) {
             %token, %l, %y, %r = cell.open @node %tree
             if (lt.u32 %x, %y) {
               %more = call @insert(%l, %x)
               return (cell.fill @node %token, %more, %y, %r)
             }
             if (lt.u32 %y, %x) {
               %more = call @insert(%r, %x)
               return (cell.fill @node %token, %l, %y, %more)
             }
             return (cell.fill @node %token, %l, %y, %r)
           }
           term.drop %tree
           %nil = term.pack 3, 0
           return (cell.new @node %nil, %x, %nil)
         }",
    );
    assert_eq!(own_calls(&module, "insert"), 0, "{printed}");
}

#[test]
fn cells_stand_in_each_other() {
    become_loops(
        "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           %rest = call @f((sub.u32 %n, 1))
           %x = mul.u32 %n, 2
           %inner = cell.new @link %rest, %x, %n
           return (cell.new @cons %n, %inner)
         }",
        &["f"],
    );
}

#[test]
fn take_gives_the_rest_back() {
    become_loops(
        "fn @f(%n: u32) -> term, term {
           %list = call @counted(%n)
           tail @split(%list, (shr.u32 %n, 1))
         }
         fn @split(%list: term, %n: u32) -> term, term {
           if (eq.u32 %n, 0) { return (term.pack 3, 0), %list }
           %token, %x, %rest = cell.open @cons %list
           %taken, %left = call @split(%rest, (sub.u32 %n, 1))
           return (cell.fill @cons %token, %x, %taken), %left
         }",
        &["split"],
    );
}

#[test]
fn what_is_lent_is_lent_to_the_next_iteration() {
    become_loops(
        "fn @f(%n: u32) -> term {
           %list = call @counted(%n)
           %copy = call @below(%list, 6)
           term.drop %list
           return %copy
         }
         fn @below(%list: term borrowed, %limit: u32) -> term {
           if (eq.u32 (term.tag %list), 4) {
             %x = cell.get.u32 @cons %list field(0)
             %rest = cell.get.term @cons %list field(1)
             if (lt.u32 %x, %limit) {
               %more = call @below(%rest, %limit)
               return (cell.new @cons %x, %more)
             }
             tail @below(%rest, %limit)
           }
           return (term.pack 3, 0)
         }",
        &["below"],
    );
}

#[test]
fn another_function_ends_the_list() {
    let module = become_loops(
        "fn @f(%n: u32) -> term {
           if (lt.u32 %n, 3) { tail @counted(2) }
           %rest = call @f((sub.u32 %n, 1))
           return (cell.new @cons %n, %rest)
         }",
        &["f"],
    );
    let f = module.find("f").expect("it is there");
    assert_eq!(call(&module, f, 4, None).expect("it ends"), "@cons(4 @cons(3 @cons(7 @cons(1 3 ))))");
}

#[test]
fn of_two_calls_the_last_becomes_the_next_iteration() {
    let (module, printed) = changed(
        "fn @f(%n: u32) -> term {
           if (gt.u32 %n, 8) { return (term.pack 3, 2) }
           if (eq.u32 %n, 0) { return (term.pack 3, 1) }
           %left = call @f((shr.u32 %n, 1))
           %right = call @f((sub.u32 %n, 1))
           return (cell.new @node %left, %n, %right)
         }",
    );
    assert_eq!(own_calls(&module, "f"), 1, "{printed}");
}

#[test]
fn insertion_into_a_tree_is_a_loop() {
    let program = "
def put(tree, key: u24):
  match tree:
    case Map/Leaf:
      return Map/Node { value: key, left: Map/Leaf, right: Map/Leaf }
    case Map/Node:
      if key < tree.value:
        return Map/Node { value: tree.value, left: put(tree.left, key), right: tree.right }
      else:
        return Map/Node { value: tree.value, left: tree.left, right: put(tree.right, key) }

def main():
  return put(put(Map/Leaf, 3), 5)
";
    let printed = super::lower::functions(program, &["put"]);
    assert!(printed.starts_with("fn @put(%p0: term, %p1: u32) -> term {"), "{printed}");
    let module = super::lower::module(program);
    let mut looped = Module::clone(&module);
    chains(&mut looped);
    assert_eq!((own_calls(&module, "put"), own_calls(&looped, "put")), (2, 0));
}

// What stays as it is.

#[test]
fn a_trap_behind_the_call_stays_there() {
    stays(
        "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           %rest = call @f((sub.u32 %n, 1))
           trap_if (gt.u32 %n, 100) code(3)
           return (cell.new @cons %n, %rest)
         }",
        "f",
    );
}

#[test]
fn calls_that_run_at_the_same_time_do() {
    stays(
        "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           %less = shr.u32 %n, 1
           %forked = fork @f(%less)
           %right = call @f(%less)
           %left = join @f %forked
           return (cell.new @node %left, %n, %right)
         }",
        "f",
    );
}

#[test]
fn a_result_that_is_looked_at_is_needed() {
    stays(
        "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           %rest = call @f((sub.u32 %n, 1))
           %tag = term.tag %rest
           return (cell.new @cons %tag, %rest)
         }",
        "f",
    );
}

#[test]
fn a_result_that_stands_twice_is_needed() {
    stays(
        "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           %rest = call @f((shr.u32 %n, 1))
           %a, %b = term.share %rest
           return (cell.new @node %a, %n, %b)
         }",
        "f",
    );
}

#[test]
fn what_only_this_call_owns_outlives_it() {
    stays(
        "fn @f(%n: u32) -> term {
           %list = call @counted(%n)
           %copy = call @copy(%list, %n)
           term.drop %list
           return %copy
         }
         fn @copy(%list: term borrowed, %n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 0) }
           %fewer = call @counted((sub.u32 %n, 1))
           %more = call @copy(%fewer, (sub.u32 %n, 1))
           term.drop %fewer
           return (cell.new @cons %n, %more)
         }",
        "copy",
    );
}

#[test]
fn functions_that_end_with_each_other_take_no_stack() {
    let source = "fn @f(%n: u32) -> term {
           if (eq.u32 %n, 0) { return (term.pack 3, 9) }
           if (eq.u32 %n, 5) {
             %rest = call @f((sub.u32 %n, 1))
             return (cell.new @cons %n, %rest)
           }
           tail @other((sub.u32 %n, 1))
         }
         fn @other(%n: u32) -> term { tail @f(%n) }";
    stays(source, "f");
    let (module, _) = changed(source);
    call(&module, module.find("f").expect("it is there"), DEEP, Some(LITTLE)).expect("it takes no stack");
}
