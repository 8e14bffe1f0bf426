//! Functions: closures, partial and over-application, delays, and data that is applied or functions that are matched.

use super::{error, value};
use girih_base::diag::Code;

const TYPES: &str = "(type Tree (Node l r) (Leaf v)) (type Opt (None) (Some v))";

#[test]
fn closures_are_copied() {
    assert_eq!(value("(def main () (let l (fn (x) (+ x x)) (tuple (l 3) (l 4))))"), "(6, 8)");
    let map = "(def map (xs f) (match List xs ((List/Nil) List/Nil) ((List/Cons x t) (List/Cons (f x) (map t f)))))
               (def main () (map (list 2 3 4) (fn (x) (* x x))))";
    assert_eq!(value(map), "List/Cons(4, List/Cons(9, List/Cons(16, List/Nil)))");
    let twice = "(def twice (f x) (f (f x))) (def main () (twice twice (fn (x) (+ x 1)) 0))";
    assert_eq!(value(twice), "4");
}

#[test]
fn closures_capture() {
    assert_eq!(
        value("(def f (a b) (fn (x) (+ (* a x) b))) (def main () (let g (f 2 3) (tuple (g 1) (g 10))))"),
        "(5, 23)"
    );
    let nested = "(def f (a) (fn (b) (fn (c) (list a b c)))) (def main () (((f 1) 2) 3))";
    assert_eq!(value(nested), "List/Cons(1, List/Cons(2, List/Cons(3, List/Nil)))");
    let stored =
        "(def f (a) (tuple (fn (x) (+ x a)) (fn (x) (* x a)))) (def main () (let (g h) (f 5) (tuple (g 1) (h 2))))";
    assert_eq!(value(stored), "(6, 10)");
    let aliased = "(def f (a) (let b a (fn (x) (+ x b)))) (def main () (f 1 2))";
    assert_eq!(value(aliased), "3");
}

#[test]
fn functions_are_values() {
    assert_eq!(value("(def f (x) x) (def main () f)"), "f");
    assert_eq!(value("(def f (x y z) x) (def main () (f 1 2))"), "partial[f, 1, 2]");
    assert_eq!(value("(def main () (fn (x y) x))"), "fn/2[]");
    assert_eq!(value("(def f (a) (fn (x y) a)) (def main () (f 7 8))"), "partial[fn/2[7], 8]");
}

#[test]
fn functions_take_their_arguments_in_any_portions() {
    let f = "(def f (a b c) (list a b c)) (def apply1 (g x) (g x)) (def apply2 (g x y) (g x y))";
    let expected = "List/Cons(1, List/Cons(2, List/Cons(3, List/Nil)))";
    for main in ["(f 1 2 3)", "((f 1) 2 3)", "((f 1 2) 3)", "(((f 1) 2) 3)", "(apply1 (apply2 f 1 2) 3)"] {
        assert_eq!(value(&format!("{f} (def main () {main})")), expected, "{main}");
    }
    let g = "(def g (a) (fn (b c) (list a b c))) (def apply3 (f x y z) (f x y z))";
    for main in ["(g 1 2 3)", "((g 1) 2 3)", "((g 1 2) 3)", "(((g 1) 2) 3)", "(apply3 g 1 2 3)"] {
        assert_eq!(value(&format!("{g} (def main () {main})")), expected, "{main}");
        assert_eq!(value(&format!("{g} (def main () (let (x y) (tuple 5 {main}) y))")), expected, "{main}");
    }
    let many = "(def h (a) (fn (b) (fn (c) (fn (d) (+ a (+ b (+ c d))))))) (def main () (h 1 2 3 4))";
    assert_eq!(value(many), "10");
}

#[test]
fn lambdas_that_are_applied_at_once_bind_variables() {
    assert_eq!(value("(def main () ((fn (x y) (- x y)) 5 3))"), "2");
    let text = "(def f (a) ((fn (x) (fn (y) (tuple a x y))) (+ a 1))) (def main () (f 1 9))";
    assert_eq!(value(text), "(1, (2, 9))");
    assert_eq!(value("(def main () ((fn (x) (fn (y) (+ x y))) 5 3))"), "8");
}

#[test]
fn delays_run_when_forced() {
    assert_eq!(value("(def f (x) (let d (fn () (+ x 1)) (tuple (force d) (force d)))) (def main () (f 1))"), "(2, 2)");
    let never = "(def fail (x) (/ 1 x)) (def f (b) (let d (fn () (fail 0)) (switch b (0 7) (_ (force d))))) (def main () (f 0))";
    assert_eq!(value(never), "7");
    assert_eq!(value("(def f (x y) x) (def main () (force f))"), "f");
    assert_eq!(value("(def f (x) (force x)) (def main () (f 5))"), "5");
    assert_eq!(value("(def main () ((fn () (fn (x) (+ x 1))) 5))"), "6");
}

#[test]
fn constructors_are_functions_of_what_takes_them_apart() {
    let text = |main: &str| format!("{TYPES} (def main () {main})");
    assert_eq!(value(&text("((Node 1 2) (fn (tag l r) (tuple tag l r)))")), "(0, (1, 2))");
    assert_eq!(value(&text("((Leaf 1) (fn (tag v) (tuple tag v)))")), "(1, 1)");
    assert_eq!(value(&text("(let none None (none (fn (tag) tag)))")), "0");
    assert_eq!(
        value(&text("((Some 4) (fn (tag v rest) (list tag v rest)) 5)")),
        "List/Cons(1, List/Cons(4, List/Cons(5, List/Nil)))"
    );
    assert_eq!(value(&text("((Some (fn (x) (+ x 1))) (fn (tag v) v) 5)")), "6");
}

#[test]
fn functions_that_stand_for_constructors_are_matched() {
    let text = |main: &str| {
        format!(
            "{TYPES}
             (def some (v) (fn (x) (x 1 v)))
             (def none () (fn (x) (x 0)))
             (def node (l r) (fn (x) (x 0 l r)))
             (def get (t) (match Opt t ((Some v) (+ v 1)) ((None) 100)))
             (def sides (t) (match Tree t ((Node l r) (tuple l r)) ((Leaf v) v)))
             (def main () {main})"
        )
    };
    assert_eq!(value(&text("(tuple (get (some 5)) (get none))")), "(6, 100)");
    assert_eq!(value(&text("(sides (node 1 2))")), "(1, 2)");
    assert_eq!(value(&text("(let t (some 5) (+ (get t) (get t)))")), "12");
    assert_eq!(error(&text("(get (fn (x) 5))")).code, Code::NoMatchingCase);
    assert_eq!(error(&text("(get (fn (x) (x 9)))")).code, Code::NoMatchingCase);
    assert_eq!(error(&text("(get (fn (x) (x 1)))")).code, Code::NoMatchingCase);
    assert_eq!(value(&text("(get (fn (x) *))")), "*");
    let waiting = "(def tag () 1) (def five () 5) (def lazy () (fn (x) (x tag five)))";
    assert_eq!(value(&format!("{waiting} {}", text("(get lazy)"))), "6");
}

#[test]
fn recursion_through_closures() {
    let text = "(def fix (f) (f (fn (x) (fix f x))))
                (def main () (fix (fn (self n) (switch n (0 1) (_ p (* n (self p))))) 6))";
    assert_eq!(value(text), "720");
}
