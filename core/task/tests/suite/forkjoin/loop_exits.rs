//! Loops that call or return in the end: their iterations stay in them, and functions give what they gave.

use girih_base::span::SourceId;
use girih_ir::{FunctionId, Module, Op, Verified, text, verify};
use girih_machine::tasks::{TaskMachine, TaskSettings};
use girih_runtime::{Runner, TaskOptions};
use girih_task::forkjoin::{Form, lower, whole_loops};

const CHECKED: TaskSettings = TaskSettings { checked: true, seed: None, fuel: Some(1_000_000) };
const NUMBERS: [u32; 8] = [0, 1, 2, 3, 7, 8, 20, 31];

fn call(module: &Verified<Module>, function: FunctionId, argument: u32) -> Result<Vec<u32>, String> {
    let mut machine =
        TaskMachine::new(module, TaskOptions::default(), CHECKED).map_err(|error| error.message.to_string())?;
    let given = machine.call(function, &[argument]).map_err(|fault| format!("{fault:?}"))?;
    assert_eq!(machine.stats().live, 0, "nothing is left");
    Ok(given)
}

/// The text of a module whose function `f` of a number gives what it gave before its loops were made whole.
fn changed(source: &str) -> (Module, String) {
    let module = text::parse(SourceId::new(0), source).expect("it can be read").module;
    let module = verify(module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let f = module.find("f").expect("it has the function");
    let mut changed = Module::clone(&module);
    whole_loops(&mut changed, &[f]).expect("it stays small");
    let printed = text::print(&changed);
    let verified = Verified::by_passes(changed.clone()).expect("it is well formed");
    for number in NUMBERS {
        assert_eq!(call(&module, f, number), call(&verified, f, number), "{number}\n{printed}");
    }
    (changed, printed)
}

/// Whether something in a loop of `f` leaves it other than by its end.
fn leaves(module: &Module) -> bool {
    let function = &module.functions[module.find("f").expect("it has the function")];
    let mut leaves = false;
    function.walk(function.body, &mut |_, inst| {
        if inst.op == Op::Loop {
            function.walk(inst.regions[0], &mut |_, inner| {
                leaves |= matches!(inner.op, Op::Return | Op::Tail | Op::Call | Op::Loop);
            });
        }
    });
    leaves
}

/// A recursive function, which has a frame, and cells.
const CALLEES: &str = "layout @box(u32, term)
    fn @slow(%n: u32, %by: u32) -> u32 {
      if (eq.u32 %n, 0) { return %by }
      %half = shr.u32 %n, 1
      %other = call @slow(%half, %by)
      return (add.u32 %other, %n)
    }
    fn @boxed(%n: u32) -> term {
      %none = term.pack 0, 0
      return (cell.new @box %n, %none)
    }
    fn @content(%box: term borrowed) -> u32 {
      if (eq.u32 (term.tag %box), 4) { return (cell.get.u32 @box %box field(0)) }
      return 0
    }
    fn @opened(%box: term, %by: u32) -> u32 {
      %hole, %n, %rest = cell.open @box %box
      cell.free %hole
      term.drop %rest
      return (add.u32 %n, %by)
    }";

#[test]
fn a_tail_and_a_return_stand_behind_the_loop() {
    let (module, text) = changed(&format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %r: u32 = loop (%i: u32 = %n, %sum: u32 = 0) {{
             if (eq.u32 %i, 0) {{ break %sum }}
             %next = add.u32 %sum, %i
             if (eq.u32 %next, 5) {{ tail @slow(%next, %i) }}
             if (gt.u32 %next, 40) {{ return (mul.u32 %next, %n) }}
             continue (sub.u32 %i, 1), %next
           }}
           return (add.u32 %r, 1)
         }}"
    ));
    assert!(!leaves(&module), "{text}");
}

#[test]
fn a_call_before_a_break_stands_behind_the_loop() {
    let (module, text) = changed(&format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %r: u32, %s: u32 = loop (%i: u32 = %n, %sum: u32 = 0) {{
             switch.u32 %i case 0 {{ break %sum, 1 }} case 3 {{
               %x = call @slow(%sum, %i)
               %y = call @slow(%x, %n)
               break %y, %x
             }} default {{ }}
             continue (sub.u32 %i, 1), (add.u32 %sum, %i)
           }}
           return (add.u32 %r, %s)
         }}"
    ));
    assert!(!leaves(&module), "{text}");
}

/// What one end needs of the cells, the other has given away.
#[test]
fn ends_own_what_they_need() {
    let (module, text) = changed(&format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %begin = call @boxed(%n)
           %r: u32 = loop (%i: u32 = %n, %box: term = %begin) {{
             %hole, %x, %rest = cell.open @box %box
             %new = cell.fill @box %hole, (add.u32 %x, 1), %rest
             if (eq.u32 %i, 0) {{
               %y = call @opened(%new, %i)
               break %y
             }}
             if (eq.u32 %x, 9) {{
               term.drop %new
               tail @slow(%i, %x)
             }}
             if (eq.u32 (rem.u32 %x, 16), 5) {{ tail @opened(%new, 100) }}
             continue (sub.u32 %i, 1), %new
           }}
           return %r
         }}"
    ));
    assert!(!leaves(&module), "{text}");
}

/// Ends need the chain of the loop, and others have given a cell away.
#[test]
fn chains_go_on_behind_the_loop() {
    let (module, text) = changed(&format!(
        "{CALLEES}
         fn @sum(%box: term) -> u32 {{
           if (ne.u32 (term.tag %box), 4) {{
             term.drop %box
             return 1
           }}
           %hole, %n, %rest = cell.open @box %box
           cell.free %hole
           %sum = call @sum(%rest)
           return (add.u32 (mul.u32 %sum, 3), %n)
         }}
         fn @f(%n: u32) -> u32 {{
           %none = chain.new
           %more = call @boxed(%n)
           %all: term, %end: term = loop (%chain: term = %none, %box: term = %more, %i: u32 = %n) {{
             if (eq.u32 %i, 0) {{ break %chain, %box }}
             if (eq.u32 %i, 7) {{
               term.drop %box
               %x = call @slow(%i, 3)
               %last = cell.new @box %x, (term.pack 0, 5)
               break %chain, %last
             }}
             if (eq.u32 (rem.u32 %i, 16), 4) {{
               %whole = chain.end %chain, 1, (term.pack 0, 0)
               %x = call @opened(%box, 1)
               %y = call @sum(%whole)
               tail @slow(%x, %y)
             }}
             %cell = cell.new @box %i, (term.pack 0, 0)
             %grown = chain.grow @box %chain, 1, %cell field(1)
             continue %grown, %box, (sub.u32 %i, 1)
           }}
           %whole = chain.end %all, 1, %end
           tail @sum(%whole)
         }}"
    ));
    assert!(!leaves(&module), "{text}");
}

/// The loop gives a cell, and so does what one of its ends calls.
#[test]
fn ends_give_what_the_loop_gives() {
    let (module, text) = changed(&format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %begin = call @boxed(%n)
           %r: term = loop (%i: u32 = %n, %box: term = %begin) {{
             if (eq.u32 %i, 0) {{ break %box }}
             if (eq.u32 %i, 5) {{
               %x = call @slow(%i, %n)
               term.drop %box
               break (term.pack 0, %x)
             }}
             %hole, %x, %rest = cell.open @box %box
             %new = cell.fill @box %hole, (add.u32 %x, %i), %rest
             if (gt.u32 %x, 50) {{ tail @opened(%new, 7) }}
             continue (sub.u32 %i, 1), %new
           }}
           %y = call @content(%r)
           term.drop %r
           return %y
         }}"
    ));
    assert!(!leaves(&module), "{text}");
}

#[test]
fn a_small_function_of_cells_becomes_part_of_the_loop() {
    let (module, text) = changed(&format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %box = call @boxed(%n)
           %r: u32 = loop (%i: u32 = %n, %sum: u32 = 0) {{
             %x = call @content(%box)
             if (eq.u32 %i, 0) {{ break (add.u32 %sum, %x) }}
             continue (sub.u32 %i, 1), (add.u32 %sum, %x)
           }}
           term.drop %box
           return %r
         }}"
    ));
    assert!(!leaves(&module), "{text}");
}

/// Its beginning and each of its iterations need the same.
#[test]
fn a_function_that_is_a_loop_is_one_segment() {
    let source = format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %r: u32 = loop (%i: u32 = %n) {{
             if (eq.u32 %i, 0) {{ tail @slow(7, 3) }}
             if (eq.u32 (rem.u32 %i, 19), 3) {{ break (mul.u32 %i, 2) }}
             continue (sub.u32 %i, 1)
           }}
           return %r
         }}"
    );
    let module = verify(text::parse(SourceId::new(0), &source).expect("it can be read").module).expect("it is right");
    let f = module.find("f").expect("it has the function");
    let kernels = lower(&module, &[f], &Form::FAST).expect("it has kernels");
    assert_eq!(kernels.labels.iter().filter(|(function, _)| *function == f).count(), 1, "{:?}", kernels.labels);
}

#[test]
fn what_goes_on_with_the_loop_stays_in_it() {
    let source = format!(
        "{CALLEES}
         fn @f(%n: u32) -> u32 {{
           %r: u32 = loop (%i: u32 = %n, %sum: u32 = 0) {{
             if (eq.u32 %i, 0) {{ tail @slow(%sum, 3) }}
             %x = call @slow(%i, %sum)
             continue (sub.u32 %i, 1), (and.u32 %x, 255)
           }}
           return %r
         }}"
    );
    let (module, text) = changed(&source);
    assert!(leaves(&module), "{text}");
    assert!(text.contains("tail @slow"), "{text}");
}
