//! What every form of a term computes.

use super::{run_with, value};
use crate::code::Code;
use crate::eval::Limits;

const TYPES: &str = "(type Tree (Node l r) (Leaf v)) (type Opt (None) (Some v)) (type Three (Three a b c))";

fn typed(text: &str) -> String {
    value(&format!("{TYPES} {text}"))
}

#[test]
fn numbers_and_operators() {
    assert_eq!(value("(def main () (+ 1 (* 2 3)))"), "7");
    assert_eq!(value("(def main () (- 10 (- 3 1)))"), "8");
    assert_eq!(value("(def f (a b) (/ (% a b) 2)) (def main () (f 17 10))"), "3");
    assert_eq!(value("(def main () (tuple (< 1 2) (>= 1 2)))"), "(1, 0)");
    assert_eq!(value("(def main () (+ 16777215 2))"), "1");
    assert_eq!(value("(def main () (tuple (- 2i24 5i24) (/ 1.0 4.0)))"), "(-3, 0.250)");
}

#[test]
fn a_constant_operand_stands_on_either_side() {
    let text = |op: &str| format!("(def f (x) (tuple ({op} 3 x) ({op} x 3))) (def main () (f 5))");
    let expected = [
        ("+", "(8, 8)"),
        ("-", "(16777214, 2)"),
        ("*", "(15, 15)"),
        ("/", "(0, 1)"),
        ("%", "(3, 2)"),
        ("==", "(0, 0)"),
        ("!=", "(1, 1)"),
        ("<", "(1, 0)"),
        ("<=", "(1, 0)"),
        (">", "(0, 1)"),
        (">=", "(0, 1)"),
        ("&", "(1, 1)"),
        ("|", "(7, 7)"),
        ("^", "(6, 6)"),
        ("<<", "(96, 40)"),
        (">>", "(0, 0)"),
    ];
    for (op, expected) in expected {
        assert_eq!(value(&text(op)), expected, "{op}");
    }
}

#[test]
fn numbers_of_one_family_are_widened() {
    assert_eq!(value("(def f (a b) (+ a b)) (def main () (f 16777215 1u32))"), "16777216");
    assert_eq!(value("(def f (a b) (* a b)) (def main () (f -3i24 1000000000i32))"), "+1294967296");
    assert_eq!(value("(def f (a b) (+ a b)) (def main () (f 1.5 2.25f32))"), "3.75");
}

#[test]
fn primitives() {
    assert_eq!(value("(def main () (prim to_u24 2.75))"), "2");
    assert_eq!(value("(def f (x) (prim to_f24 (+ x 1))) (def main () (f 3))"), "4.000");
    assert_eq!(value("(def main () (prim atan2 0.0 1.0))"), "0.000");
    assert_eq!(value("(def two () 2.0) (def main () (prim log 8.0 two))"), "3.000");
}

#[test]
fn constructors_and_matches() {
    assert_eq!(
        typed("(def main () (Node (Leaf 1) (Node (Leaf 2) (Leaf 3))))"),
        "Node(Leaf(1), Node(Leaf(2), Leaf(3)))"
    );
    assert_eq!(typed("(def main () (Three 1 None (Some 2)))"), "Three(1, None, Some(2))");
    let sum = "(def sum (t) (match Tree t ((Node l r) (+ (sum l) (sum r))) ((Leaf v) v)))";
    assert_eq!(typed(&format!("{sum} (def main () (sum (Node (Leaf 1) (Node (Leaf 2) (Leaf 3)))))")), "6");
    let middle = "(def f (t) (match Three t ((Three a b c) b)))";
    assert_eq!(typed(&format!("{middle} (def main () (f (Three 1 2 3)))")), "2");
    let rest = "(def f (t) (match Three t ((Three a b c) (tuple a c))))";
    assert_eq!(typed(&format!("{rest} (def main () (f (Three 1 2 3)))")), "(1, 3)");
}

#[test]
fn arms_bind_the_whole_value_and_defaults_take_the_rest() {
    let text = "(def f (t) (match Opt t ((Some v) as whole (tuple whole v)) (_ 0)))";
    assert_eq!(typed(&format!("{text} (def main () (tuple (f (Some 3)) (f None)))")), "((Some(3), 3), 0)");
    let inner = "(def f (t) (+ 1 (match Opt t ((Some v) (+ v 1)) ((None) 10))))";
    assert_eq!(typed(&format!("{inner} (def main () (tuple (f (Some 3)) (f None)))")), "(5, 11)");
}

#[test]
fn switches() {
    let dense = "(def f (x) (switch x (0 10) (1 11) (2 12) (_ p (+ 100 p)))) ";
    let main = "(def main () (list (f 0) (f 1) (f 2) (f 3) (f 9)))";
    let shown =
        |a: &str, b: &str| a.split(' ').rev().fold(b.to_string(), |rest, item| format!("List/Cons({item}, {rest})"));
    assert_eq!(value(&format!("{dense} {main}")), shown("10 11 12 100 106", "List/Nil"));
    let sparse = "(def f (x) (switch x (7 70) (2 20) (100 1) (_ p p)))";
    let main = "(def main () (list (f 7) (f 2) (f 100) (f 101) (f 0)))";
    assert_eq!(value(&format!("{sparse} {main}")), shown("70 20 1 0 16777115", "List/Nil"));
    let none = "(def f (x) (switch x (_ p p))) (def main () (f 5))";
    assert_eq!(value(none), "5");
}

#[test]
fn a_switch_looks_at_the_bits_of_any_number() {
    let text = "(def f (x) (switch x (0 100) (_ p p)))";
    assert_eq!(value(&format!("{text} (def main () (f -1i24))")), "16777214");
    assert_eq!(value(&format!("{text} (def main () (f 5000000000u32))")), "705032703");
    assert_eq!(value(&format!("{text} (def main () (f -1i32))")), "4294967294");
    assert_eq!(value(&format!("{text} (def main () (f 0.0))")), "100");
}

#[test]
fn conditions_branch() {
    let text = "(def f (x y) (switch (< x y) (0 (tuple 0 x)) (_ (tuple 1 y)))) (def main () (tuple (f 1 2) (f 2 1)))";
    assert_eq!(value(text), "((1, 2), (0, 2))");
    let constant = "(def f (x) (+ 1 (switch (& x 1) (0 10) (_ 20)))) (def main () (tuple (f 4) (f 5)))";
    assert_eq!(value(constant), "(11, 21)");
    let used = "(def f (x) (switch (- x 1) (0 7) (_ p (+ p 100)))) (def main () (tuple (f 1) (f 5)))";
    assert_eq!(value(used), "(7, 103)");
}

#[test]
fn tuples_are_nested_pairs() {
    assert_eq!(value("(def main () (tuple 1 2 3 4))"), "(1, (2, (3, 4)))");
    let take = "(def f (t) (let (a b c) t (list a b c)))";
    assert_eq!(value(&format!("{take} (def main () (let (x y z) (tuple 1 2 3) (+ x (* y z))))")), "7");
    let text = format!("{take} (def main () (f (tuple 1 (tuple 2 3))))");
    assert_eq!(value(&text), "List/Cons(1, List/Cons(2, List/Cons(3, List/Nil)))");
    let parts = "(def f (t) (let (_ b _) t b)) (def main () (f (tuple 1 2 3)))";
    assert_eq!(value(parts), "2");
    assert_eq!(value("(def f (t) (let (a b) t (let (c d) b (+ d a)))) (def main () (f (tuple 1 2 3)))"), "4");
}

#[test]
fn copies_are_the_value() {
    assert_eq!(value("(def f (x) (dup (a b) (+ x 1) (* a b))) (def main () (f 4))"), "25");
}

#[test]
fn texts_and_lists() {
    assert_eq!(value("(def main () \"ab\")"), "String/Cons(97, String/Cons(98, String/Nil))");
    assert_eq!(value("(def main () \"\")"), "String/Nil");
    assert_eq!(value("(def main () \"é\")"), "String/Cons(233, String/Nil)");
    assert_eq!(value("(def f (x) (list x (+ x 1))) (def main () (f 1))"), "List/Cons(1, List/Cons(2, List/Nil))");
    assert_eq!(value("(def main () (list (list) *))"), "List/Cons(List/Nil, List/Cons(*, List/Nil))");
}

#[test]
fn the_erased_value_absorbs() {
    let cases = [
        "(+ x 1)",
        "(- 1 x)",
        "(+ (+ x x) 1)",
        "(x 1 2)",
        "(prim sin x)",
        "(switch x (0 1) (_ 2))",
        "(switch x (0 1) (1 2) (_ 3))",
        "(switch x (5 1) (9 2) (_ 3))",
        "(switch (< x 1) (0 1) (_ 2))",
        "(match Opt x ((None) 1) ((Some v) v))",
        "(match Opt (x 1) ((None) 1) ((Some v) v))",
        "(let (a b) x b)",
        "(let (a b c) x c)",
        "(let (a b) x (+ a 1))",
    ];
    for case in cases {
        assert_eq!(typed(&format!("(def f (x) {case}) (def main () (f *))")), "*", "{case}");
        let inside = format!("(def f (x) (tuple 7 {case} 8)) (def main () (f *))");
        assert_eq!(typed(&inside), "(7, (*, 8))", "{case}");
        let waiting = format!("(def era () *) (def f (x) (tuple 7 {case} 8)) (def main () (f era))");
        assert_eq!(typed(&waiting), "(7, (*, 8))", "{case}");
    }
}

#[test]
fn a_choice_inside_an_operand_keeps_the_others() {
    let text = "(def f (a b t) (+ (* a b) (match Opt t ((None) (+ a 1)) ((Some v) (switch v (0 a) (_ p (+ p b)))))))
                (def main () (list (f 2 3 None) (f 2 3 (Some 0)) (f 2 3 (Some 5))))";
    assert_eq!(typed(text), "List/Cons(9, List/Cons(8, List/Cons(13, List/Nil)))");
}

#[test]
fn functions_with_more_slots_than_liveness_tracks() {
    let params: Vec<String> = (0..80).map(|i| format!("x{i}")).collect();
    let args: Vec<String> = (0..80).map(|i| format!("(Some {i})")).collect();
    let sum = params.iter().fold("0".to_string(), |sum, x| format!("(+ {sum} (get {x}))"));
    let text = format!(
        "(def get (t) (match Opt t ((Some v) (id v)) ((None) 0)))
         (def id (x) (let y (Some x) (match Opt y ((Some v) v) ((None) 0))))
         (def f ({}) {sum})
         (def main () (f {}))",
        params.join(" "),
        args.join(" "),
    );
    assert_eq!(typed(&text), (0..80).sum::<u32>().to_string());
    let binds: String = (1..150).map(|i| format!("(let x{i} (Some (get x{}))\n", i - 1)).collect();
    let text = format!(
        "(def get (t) (match Opt t ((Some v) (+ v 1)) ((None) 0)))
         (def main () (let x0 (Some 0) {binds} (tuple (get x149) (get x70) (get x3)) {})",
        ")".repeat(150),
    );
    assert_eq!(typed(&text), "(150, (71, 4))");
}

#[test]
fn sums_over_trees() {
    let text = "(def sum (d) (switch d (0 1) (_ p (+ (sum p) (sum p))))) (def main () (sum 10))";
    assert_eq!(value(text), "1024");
}

#[test]
fn machines_share_code() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Code>();
    sent::<crate::eval::Machine>();
    let text = "(def f (n) (switch n (0 List/Nil) (_ p (List/Cons p (f p))))) (def main () (f 100))";
    let code = Code::new(&super::program(text)).expect("the program can be compiled");
    let expected = run_with(&code, Limits::default()).expect("a value");
    let run = || run_with(&code, Limits { stress: true, ..Limits::default() }).expect("a value");
    let results: Vec<String> =
        std::thread::scope(|scope| [scope.spawn(run), scope.spawn(run)].map(|t| t.join().expect("no panic")).into());
    assert!(results.iter().all(|result| *result == expected));
}
