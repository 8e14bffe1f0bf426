//! What every form of a term computes.

use super::{error, value};
use crate::diag::Code;

#[test]
fn numbers_and_operators() {
    assert_eq!(value("(def main () (+ 1 (* 2 3)))"), "7");
    assert_eq!(value("(def main () (- 10 (- 3 1)))"), "8");
    assert_eq!(value("(def f (a b) (/ (% a b) 2)) (def main () (f 17 10))"), "3");
    assert_eq!(value("(def main () (tuple (< 1 2) (>= 1 2)))"), "(1, 0)");
    assert_eq!(value("(def f (x) (tuple (- 1 x) (< 1 x) (> 1 x))) (def main () (f 3))"), "(16777214, (1, 0))");
}

#[test]
fn sums_over_trees() {
    let text = "(def sum (d) (switch d (0 1) (_ p (+ (sum p) (sum p))))) (def main () (sum 10))";
    assert_eq!(value(text), "1024");
}

#[test]
fn closures_are_copied() {
    assert_eq!(value("(def main () (let l (fn (x) (+ x x)) (tuple (l 3) (l 4))))"), "(6, 8)");
    let twice = "(def twice (f x) (f (f x))) (def main () (twice twice (fn (x) (+ x 1)) 0))";
    assert_eq!(value(twice), "4");
}

#[test]
fn definitions_that_need_themselves() {
    let text = "(def main () (+ main 1))";
    assert_eq!(error(text).code, Code::SelfDependent);
}
