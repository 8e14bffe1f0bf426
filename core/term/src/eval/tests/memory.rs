//! Deep recursion, large data, and the limits of memory.

use super::{Limits, Machine, blamed, program, run_with, show};
use crate::code;
use crate::eval::{Value, View};
use girih_base::diag::{Code, Diagnostic};
use girih_base::num::Num;

const LISTS: &str = "
    (def iota (n xs) (switch n (0 xs) (_ p (iota p (List/Cons p xs)))))
    (def add (xs acc) (match List xs ((List/Nil) acc) ((List/Cons x t) (add t (+ acc x)))))
    (def down (n) (switch n (0 List/Nil) (_ p (List/Cons p (down p)))))";

fn run(text: &str, memory: u64) -> Result<String, Diagnostic> {
    let code = code::Code::new(&program(text)).expect("the program can be compiled");
    run_with(&code, Limits { memory, ..Limits::default() })
}

#[test]
fn recursion_may_be_deep() {
    let text = "(def count (n) (switch n (0 0) (_ p (+ 1 (count p))))) (def main () (count 1000000))";
    assert_eq!(run(text, 256 << 20).expect("a value"), "1000000");
    let closures = "(def compose (n) (switch n (0 (fn (x) x)) (_ p (let f (compose p) (fn (x) (+ 1 (f x)))))))
                    (def main () (compose 1000000 0))";
    assert_eq!(run(closures, 1 << 30).expect("a value"), "1000000");
}

#[test]
fn tail_calls_need_no_stack() {
    let text = "(def loop (n acc) (switch n (0 acc) (_ p (loop p (+ acc 1))))) (def main () (loop 10000000 0))";
    assert_eq!(run(text, 4 << 20).expect("a value"), "10000000");
    let mutual = "(def even (n) (switch n (0 1) (_ p (odd p)))) (def odd (n) (switch n (0 0) (_ p (even p))))
                  (def main () (even 3000000))";
    assert_eq!(run(mutual, 4 << 20).expect("a value"), "1");
    let unknown = "(def loop (self n) (switch n (0 7) (_ p (self self p)))) (def main () (loop loop 3000000))";
    assert_eq!(run(unknown, 4 << 20).expect("a value"), "7");
}

#[test]
fn data_may_be_deep() {
    let text = format!("{LISTS} (def main () (add (iota 10000000 List/Nil) 0))");
    let expected = (0..10_000_000u64).sum::<u64>() % (1 << 24);
    assert_eq!(run(&text, 1 << 30).expect("a value"), expected.to_string());
    let recursive = format!("{LISTS} (def main () (add (down 1000000) 0))");
    assert_eq!(run(&recursive, 1 << 30).expect("a value"), ((0..1_000_000u64).sum::<u64>() % (1 << 24)).to_string());
}

#[test]
fn garbage_is_collected() {
    let text = format!(
        "{LISTS} (def repeat (n acc) (switch n (0 acc) (_ p (repeat p (+ acc (add (iota 10000 List/Nil) 0))))))
         (def main () (repeat 300 0))"
    );
    let expected = (0..10_000u64).sum::<u64>() * 300 % (1 << 24);
    assert_eq!(run(&text, 3 << 20).expect("a value"), expected.to_string());
}

#[test]
fn a_waiting_call_keeps_only_what_it_needs() {
    // While the last list is added, the first two are not needed any more: together they would not fit.
    let text = format!(
        "{LISTS} (def three (a b c) (+ (+ (add a 0) (add b 0)) (add (iota c List/Nil) 0)))
         (def main () (three (iota 100000 List/Nil) (iota 100000 List/Nil) 400000))"
    );
    let sum = |n: u64| (0..n).sum::<u64>();
    let expected = (2 * sum(100_000) + sum(400_000)) % (1 << 24);
    assert_eq!(run(&text, 18 << 20).expect("a value"), expected.to_string());
}

#[test]
fn too_much_data_is_an_error() {
    let text = format!("{LISTS} (def main () (add (iota 1000000 List/Nil) 0))");
    let found = run(&text, 16 << 20).expect_err("16 MB are needed for the list alone");
    assert_eq!((found.code, blamed(&text, &found)), (Code::OutOfMemory, "(List/Cons p xs)"));
    assert!(found.message.starts_with("out of memory: ") && found.message.ends_with(" of 16 MiB live"), "{found:?}");
    assert_eq!(run(&text, 64 << 20).expect("a value"), ((0..1_000_000u64).sum::<u64>() % (1 << 24)).to_string());
}

#[test]
fn endless_recursion_is_an_error() {
    let text = "(def f (x) (+ 1 (f (+ x 1)))) (def main () (f 0))";
    let found = run(text, 32 << 20).expect_err("it does not end");
    assert_eq!((found.code, blamed(text, &found)), (Code::OutOfMemory, "(f (+ x 1))"), "{found:#?}");
    assert!(found.hint.as_ref().is_some_and(|hint| hint.contains("calls wait")), "{found:?}");
    let partial = "(def f (x) (fn (y) (g x))) (def g (x) (+ 1 (f x 1))) (def main () (g 0))";
    assert_eq!(run(partial, 32 << 20).expect_err("it does not end").code, Code::OutOfMemory);
}

#[test]
fn a_machine_works_after_it_ran_out_of_memory() {
    let text = format!("{LISTS} (def f (n) (add (iota n List/Nil) 0)) (def main () (f 10))");
    let program = program(&text);
    let f = program.def_named("f").expect("f");
    let code = code::Code::new(&program).expect("the program can be compiled");
    let mut machine = Machine::new(&code, Limits { memory: 8 << 20, ..Limits::default() });
    for _ in 0..3 {
        let many = machine.call(f, &[Num::U24(5_000_000).into()]).expect_err("it does not fit");
        assert_eq!(many.code, Code::OutOfMemory);
        let few = machine.call(f, &[Num::U24(10).into()]).expect("a value");
        assert_eq!(few.num(), Some(Num::U24(45)));
    }
}

#[test]
fn values_from_outside() {
    for stress in [false, true] {
        let text = format!(
            "{LISTS} (def size (xs n) (match List xs ((List/Nil) n) ((List/Cons x t) (size t (+ n 1))))) (def main () (add (list) (size (list) \"\")))"
        );
        let program = program(&text);
        let code = code::Code::new(&program).expect("the program can be compiled");
        let mut machine = Machine::new(&code, Limits { stress, memory: 64 << 20, ..Limits::default() });
        let numbers = machine.list((0..100_000u32).map(|i| Num::u24(i).into())).expect("it fits");
        let kept = machine.keep(numbers);
        let add = program.def_named("add").expect("add");
        let expected = Num::U24((0..100_000u64).sum::<u64>() as u32 & 0xFF_FFFF);
        for _ in 0..3 {
            let numbers = machine.value(&kept);
            let sum = machine.call(add, &[numbers, Num::U24(0).into()]).expect("a value");
            assert_eq!(sum.num(), Some(expected));
        }
        let known = code.program().known.clone();
        let text = machine.string("hi").expect("it fits");
        let pair = machine.pair(text, Value::ERA).expect("it fits");
        let ok = machine.ctor(known.result_ok.expect("a prelude"), &[pair]).expect("it fits");
        let shown = show(&mut machine, ok).expect("a value");
        assert_eq!(shown, "Result/Ok((String/Cons(104, String/Cons(105, String/Nil)), *))");
        drop(kept);
        assert!(machine.list((0..10_000_000).map(|_| Value::ERA)).is_err(), "160 MB do not fit into 64");
    }
}

#[test]
fn closures_lead_back_to_their_lambdas() {
    let program = program("(def f (a b) (let g (fn (x) (+ a x)) (fn (y z) (g (+ y b))))) (def main () (f 1 2))");
    let code = code::Code::new(&program).expect("the program can be compiled");
    let mut machine = Machine::new(&code, Limits::default());
    let value = machine.call(program.entry.expect("main"), &[]).expect("a value");
    let View::Closure { def, lambda, captured } = machine.view(value) else { panic!("a closure") };
    let source = code.lambda(lambda);
    assert_eq!((def, source.def), (program.def_named("f").expect("f"), def));
    let name = |local: crate::LocalId| program.defs[def].locals[local].name.to_string();
    assert_eq!(source.params.iter().copied().map(name).collect::<Vec<_>>(), ["y", "z"]);
    let names: Vec<String> = captured.iter().map(|&(local, _)| name(local)).collect();
    assert!(names.contains(&"g".to_string()) && names.contains(&"b".to_string()), "{names:?}");
    assert_eq!(source.captures.iter().copied().map(name).collect::<Vec<_>>(), names);
}

#[test]
fn stress_collects_at_every_allocation() {
    let code = code::Code::new(&program("(def main () (list 1 (tuple 2 3) (fn (x) (x main))))")).expect("it compiles");
    let mut machine = Machine::new(&code, Limits { stress: true, ..Limits::default() });
    machine.call(code.program().entry.expect("main"), &[]).expect("a value");
    let stats = machine.stats();
    assert_eq!((stats.cells, stats.minor_collections), (2, 2), "{stats:?}");
}

#[test]
fn any_limit_gives_a_value_or_an_error() {
    let text = format!("{LISTS} (def main () (+ (add (down 300) 0) (add (iota 300 List/Nil) 0)))");
    let code = code::Code::new(&program(&text)).expect("the program can be compiled");
    let (mut values, mut errors) = (0, 0);
    for memory in (0..64 << 10).step_by(256) {
        match run_with(&code, Limits { memory, ..Limits::default() }) {
            Ok(value) => {
                assert_eq!(value, "89700");
                values += 1;
            }
            Err(error) => {
                assert_eq!(error.code, Code::OutOfMemory);
                errors += 1;
            }
        }
    }
    assert!(values > 10 && errors > 10, "{values} values, {errors} errors");
}
