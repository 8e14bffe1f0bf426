//! Measurements, run by hand:
//! `cargo test --release -p girih-term --lib eval::tests::speed -- --ignored --nocapture --test-threads 1`

use std::time::Instant;

use super::{Limits, Machine, program, show};
use crate::code::Code;

const TREE: &str = "(type Tree (Node l r) (Leaf v))";

fn measure(name: &str, text: &str, expected: &str) {
    let program = program(text);
    let code = Code::new(&program).expect("the program can be compiled");
    let start = Instant::now();
    let mut machine = Machine::new(&code, Limits::default());
    let value = machine.call(program.entry.expect("main"), &[]).expect("a value");
    let seconds = start.elapsed().as_secs_f64();
    let stats = machine.stats();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{name}: {seconds:.3} s, {} calls ({:.0} million a second), {} cells, {:.1} MiB made, {} + {} collections, \
         {:.1} MiB live at most, stack {:.2} MiB",
        stats.calls,
        stats.calls as f64 / seconds / 1e6,
        stats.cells,
        mib(stats.words * 8),
        stats.minor_collections,
        stats.full_collections,
        mib(stats.largest_live),
        mib(stats.largest_stack),
    );
    assert_eq!(show(&mut machine, value).expect("a value"), expected);
}

#[test]
#[ignore = "a measurement"]
fn recursive_sum() {
    let text = "(def sum (d) (switch d (0 1) (_ p (+ (sum p) (sum p))))) (def main () (sum 22))";
    measure("sum of depth 22", text, "4194304");
    let text =
        "(def sum (d x) (switch d (0 x) (_ p (+ (sum p (* x 2)) (sum p (+ (* x 2) 1)))))) (def main () (sum 22 0))";
    measure("sum of indices of depth 22", text, "14680064");
}

#[test]
#[ignore = "a measurement"]
fn bitonic_sort() {
    let text = "
        (type Tree (Node l r) (Leaf v))
        (def scatter (d seed) (switch d
            (0 (Leaf (% (+ (* seed 75) 74) 65537)))
            (_ p (Node (scatter p (+ (* seed 5) 3)) (scatter p (+ (* seed 7) 1))))))
        (def sort (down tree) (match Tree tree
            ((Node l r) (merge down (sort 0 l) (sort 1 r)))
            ((Leaf v) (Leaf v))))
        (def merge (down left right)
            (let (low high) (exchange down left right) (Node (settle down low) (settle down high))))
        (def settle (down tree) (match Tree tree ((Node l r) (merge down l r)) ((Leaf v) (Leaf v))))
        (def exchange (down a b) (match Tree a
            ((Leaf av) (match Tree b
                ((Leaf bv) (switch (^ (> av bv) down)
                    (0 (tuple (Leaf av) (Leaf bv)))
                    (_ (tuple (Leaf bv) (Leaf av)))))
                ((Node bl br) (tuple (Leaf av) (Node bl br)))))
            ((Node al ar) (match Tree b
                ((Leaf bv) (tuple (Node al ar) (Leaf bv)))
                ((Node bl br)
                    (let (ll lh) (exchange down al bl)
                    (let (rl rh) (exchange down ar br)
                    (tuple (Node ll rl) (Node lh rh)))))))))
        (def digest (tree) (match Tree tree
            ((Leaf v) (tuple 1 v))
            ((Node l r)
                (let (lc ls) (digest l) (let (rc rs) (digest r) (tuple (+ lc rc) (+ (* ls 31) rs)))))))
        (def main () (digest (sort 0 (scatter 14 1))))";
    measure("bitonic sort of 2^14", text, "(16384, 11508544)");
}

#[test]
#[ignore = "a measurement"]
fn mandelbrot() {
    let text = "
        (def steps (left x y cx cy) (switch left
            (0 0)
            (_ p (switch (> (+ (* x x) (* y y)) 4.0)
                (0 (+ 1 (steps p (+ (- (* x x) (* y y)) cx) (+ (* (* 2.0 x) y) cy) cx cy)))
                (_ 0)))))
        (def point (i) (steps 32 0.0 0.0
            (- (* (prim to_f24 (% i 128)) 0.0234375) 2.25) (- (* (prim to_f24 (/ i 128)) 0.0234375) 1.5)))
        (def points (d i) (switch d (0 (point i)) (_ p (+ (points p (* i 2)) (points p (+ (* i 2) 1))))))
        (def main () (points 14 0))";
    measure("mandelbrot 128x128", text, "147094");
}

#[test]
#[ignore = "a measurement"]
fn tree_of_a_million() {
    let text = format!(
        "{TREE}
        (def gen (d x) (switch d (0 (Leaf x)) (_ p (Node (gen p (* x 2)) (gen p (+ (* x 2) 1))))))
        (def sum (t) (match Tree t ((Node l r) (+ (sum l) (sum r))) ((Leaf v) v)))
        (def main () (sum (gen 20 0)))"
    );
    measure("tree of 2^20 leaves", &text, "16252928");
}

#[test]
#[ignore = "a measurement"]
fn lists_and_closures() {
    let text = "
        (def iota (n) (switch n (0 List/Nil) (_ p (List/Cons p (iota p)))))
        (def map (f xs) (match List xs ((List/Nil) List/Nil) ((List/Cons x t) (List/Cons (f x) (map f t)))))
        (def sum (acc xs) (match List xs ((List/Nil) acc) ((List/Cons x t) (sum (+ acc x) t))))
        (def repeat (n k acc) (switch n (0 acc) (_ p (repeat p k (+ acc (sum 0 (map (fn (x) (* x k)) (iota 1000))))))))
        (def main () (repeat 3000 3 0))";
    measure("3000 lists of 1000, mapped and added", text, "15983328");
}
