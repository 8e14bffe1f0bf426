//! Definitions without parameters: computed once, when they are inspected.

use super::{blamed, error, run_with, value};
use crate::code;
use crate::eval::Limits;
use girih_base::diag::Code;

#[test]
fn a_reference_stays_one_until_it_is_inspected() {
    let cases = [
        ("(+ x 1)", "6"),
        ("(- 8 x)", "3"),
        ("(+ x x)", "10"),
        ("(switch x (0 1) (_ p p))", "4"),
        ("(switch x (0 1) (1 2) (_ p p))", "3"),
        ("(switch x (5 9) (7 2) (_ p p))", "9"),
        ("(switch (< x 6) (0 1) (_ 2))", "2"),
        ("(switch (< x x) (0 1) (_ 2))", "1"),
        ("(prim to_f24 x)", "5.000"),
    ];
    for (case, expected) in cases {
        assert_eq!(value(&format!("(def five () 5) (def f (x) {case}) (def main () (f five))")), expected, "{case}");
        let deep = format!("(def five () (+ 2 three)) (def three () 3) (def f (x) {case}) (def main () (f five))");
        assert_eq!(value(&deep), expected, "{case}");
    }
    let data = "(type Opt (None) (Some v)) (def opt () (Some 3)) (def f (x) (match Opt x ((Some v) v) (_ 0)))";
    assert_eq!(value(&format!("{data} (def main () (f opt))")), "3");
    let tuple = "(def t () (tuple 1 rest)) (def rest () (tuple 2 3)) (def f (x) (let (a b c) x (list a b c)))";
    assert_eq!(value(&format!("{tuple} (def main () (f t))")), "List/Cons(1, List/Cons(2, List/Cons(3, List/Nil)))");
    let function =
        "(def inc () (fn (x) (+ x 1))) (def also () inc) (def f (g) (g 1)) (def main () (tuple (inc 5) (f also)))";
    assert_eq!(value(function), "(6, 2)");
}

#[test]
fn what_is_not_inspected_is_not_computed() {
    let text = "(def fail () (/ 1 0)) (def first (a b) a) (def main () (first 1 fail))";
    assert_eq!(value(text), "1");
    let stored = "(def fail () (/ 1 0)) (def main () (let (a b) (tuple 1 fail) (let (c d) (tuple b a) d)))";
    assert_eq!(value(stored), "1");
    let unused = "(def fail () (/ 1 0)) (def main () (let x (+ fail 1) 2))";
    assert_eq!(value(unused), "2");
    let other_branch = "(def fail () (+ 1 (/ 1 0))) (def main () (switch 1 (0 fail) (_ 7)))";
    assert_eq!(value(other_branch), "7");
}

#[test]
fn definitions_refer_to_themselves_in_data() {
    let text = "(def ones () (List/Cons 1 ones))
        (def take (n xs) (switch n (0 List/Nil) (_ p (match List xs ((List/Cons x t) (List/Cons x (take p t))) (_ List/Nil)))))
        (def main () (take 3 ones))";
    assert_eq!(value(text), "List/Cons(1, List/Cons(1, List/Cons(1, List/Nil)))");
}

#[test]
fn definitions_that_need_themselves_are_errors() {
    let text = "(def main () (+ x 1)) (def x () (+ x 1))";
    let found = error(text);
    assert_eq!((found.code, blamed(text, &found)), (Code::SelfDependent, "(+ x 1)"));
    assert_eq!(error("(def main () (+ a 1)) (def a () b) (def b () a)").code, Code::SelfDependent);
    assert_eq!(error("(def main () main)").code, Code::SelfDependent);
    assert_eq!(error("(def main () (f 1)) (def f () f)").code, Code::SelfDependent);
}

#[test]
fn values_are_computed_once() {
    let text = "(def slow () (count 10000 0)) (def count (n acc) (switch n (0 acc) (_ p (count p (+ acc 1)))))
                (def loop (n acc) (switch n (0 acc) (_ p (loop p (+ acc slow)))))
                (def main () (loop 1000 0))";
    let program = super::program(text);
    let code = code::Code::new(&program).expect("the program can be compiled");
    assert_eq!(run_with(&code, Limits::default()).expect("a value"), "10000000");
    let mut machine = super::Machine::new(&code, Limits::default());
    machine.call(program.entry.expect("main"), &[]).expect("a value");
    assert!(machine.stats().calls < 20_000, "{:?}", machine.stats());
}

#[test]
fn a_failed_definition_can_be_tried_again() {
    let program = super::program("(def main () (+ 1 (/ 1 0)))");
    let code = code::Code::new(&program).expect("the program can be compiled");
    let mut machine = super::Machine::new(&code, Limits::default());
    let entry = program.entry.expect("main");
    for _ in 0..3 {
        assert_eq!(machine.call(entry, &[]).expect_err("it fails").code, Code::DivisionByZero);
    }
}
