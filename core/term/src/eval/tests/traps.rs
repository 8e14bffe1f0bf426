//! Errors: their code, the place they blame and the calls they show.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{blamed, error, program};
use crate::code;
use crate::eval::{Limits, Machine};
use girih_base::diag::Code;

fn check(text: &str, code: Code, place: &str) {
    let found = error(text);
    assert_eq!((found.code, blamed(text, &found)), (code, place), "{found:#?}");
    assert!(found.hint.is_some(), "{found:#?}");
}

#[test]
fn division_by_zero() {
    check("(def f (x) (+ 1 (/ 5 x))) (def main () (f 0))", Code::DivisionByZero, "(/ 5 x)");
    check("(def f (x) (% 5i24 x)) (def main () (f 0i24))", Code::DivisionByZero, "(% 5i24 x)");
    check("(def f (x) (switch (/ x 0) (0 1) (_ 2))) (def main () (f 0))", Code::DivisionByZero, "(/ x 0)");
}

#[test]
fn numbers_that_do_not_fit() {
    check("(def f (x) (+ x 1.0)) (def main () (f 1))", Code::MixedNumbers, "(+ x 1.0)");
    check("(def f (x) (<< x 1i24)) (def main () (f 1i24))", Code::UnsupportedOperation, "(<< x 1i24)");
    check("(def f (x) (prim sin x)) (def main () (f 1))", Code::UnsupportedOperation, "(prim sin x)");
    check("(def f (x) (+ x 1)) (def main () (f (tuple 1 2)))", Code::NotANumber, "(+ x 1)");
    check("(def f (x) (switch x (0 1) (_ 2))) (def main () (f List/Nil))", Code::NotANumber, "x");
}

#[test]
fn things_that_do_not_fit() {
    check("(def f (x) (x 1)) (def main () (f 2))", Code::NotAFunction, "(x 1)");
    check("(def f (x) (tuple 1 (x 1))) (def main () (f (tuple 1 2)))", Code::NotAFunction, "(x 1)");
    check("(def f (x) x) (def main () (f 1 2))", Code::NotAFunction, "(f 1 2)");
    check("(def f (x) (let (a b) x a)) (def main () (f 2))", Code::NotATuple, "x");
    check("(def f (x) (let (a b c) x a)) (def main () (f (tuple 1 2)))", Code::NotATuple, "x");
    let text = "(type A (A)) (type B (B)) (def f (x) (match A x ((A) 1))) (def main () (f B))";
    check(text, Code::NoMatchingCase, "x");
    let number = "(type A (A)) (def f (x) (match A x ((A) 1))) (def main () (f 3))";
    check(number, Code::NoMatchingCase, "x");
}

#[test]
fn errors_show_the_calls_that_led_to_them() {
    let text = "(def inner (x) (+ 1 (/ 1 x))) (def outer (x) (+ 2 (inner x))) (def main () (+ 3 (outer 0)))";
    let found = error(text);
    let labels: Vec<(&str, &str)> = found.labels[1..]
        .iter()
        .map(|label| (&text[label.span.start as usize..label.span.end as usize], label.text.as_str()))
        .collect();
    assert_eq!(labels, [("(inner x)", "`outer` came here"), ("(outer 0)", "`main` came here")]);
    let recursive = "(def f (n) (switch n (0 (/ 1 n)) (_ p (+ 1 (f p))))) (def main () (+ 1 (f 50)))";
    assert_eq!(error(recursive).labels.len(), 3);
}

#[test]
fn a_flag_stops_the_run() {
    let program = program("(def loop (x) (loop (+ x 1))) (def main () (loop 0))");
    let code = code::Code::new(&program).expect("the program can be compiled");
    let flag = Arc::new(AtomicBool::new(false));
    let mut machine = Machine::new(&code, Limits { interrupt: Some(flag.clone()), ..Limits::default() });
    let found = std::thread::scope(|scope| {
        let run = scope.spawn(|| machine.call(program.entry.expect("main"), &[]));
        flag.store(true, Ordering::Relaxed);
        run.join().expect("no panic")
    });
    assert_eq!(found.expect_err("it was stopped").code, Code::Interrupted);
    assert_eq!(machine.check_interrupt().expect_err("the flag is set").code, Code::Interrupted);
}

#[test]
fn nets_are_refused_before_anything_runs() {
    let text = "(def f (x) (tuple (sup (sup x 2) 1) (sup 3 x))) (def g (x) (sup x 2)) (def main () (f 1))";
    let errors = code::Code::new(&program(text)).expect_err("nets are needed");
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!((errors[0].code, blamed(text, &errors[0])), (Code::NeedsNets, "(sup (sup x 2) 1)"));
    let unused = "(def main () (let x (sup 1 2) 5))";
    assert!(code::Code::new(&program(unused)).is_ok());
    let mut none = program("(def main () 1)");
    none.entry = None;
    assert_eq!(code::Code::new(&none).expect_err("no entry")[0].code, Code::MissingMain);
}
