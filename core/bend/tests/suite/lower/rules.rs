//! Functional equations and their decision trees.

use super::{becomes, says};

becomes! {
    rules_over_constructors: "len [] = 0
len (List/Cons * t) = (+ 1 (len t))
main = (len [1])
";
    rules_of_several_leaves_are_shared: "zip [] * = []
zip * [] = []
zip (List/Cons a as) (List/Cons b bs) = (List/Cons (a, b) (zip as bs))
main = (zip [1] [2])
";
    a_variable_is_the_whole_value: "or (Maybe/None) y = y
or x * = x
main = (or Maybe/None 1)
";
    numbers_and_characters: "f 'a' = 1
f 70000 = 2
f n = (+ n 1)
main = (f 3)
";
    texts_lists_and_tuples: "f (\"ab\", [x]) = x
f (*, *) = 0
main = (f (\"ab\", [1]))
";
    dup_patterns_and_scopeless_ones: "f {a b} $x = (a b $x)
main = (f 1 2)
";
    a_scopeless_pattern_of_a_shared_rule: "f 0 1 $x = $x
f n * $y = (n $y)
main = (f 1 2 3)
";
    constructors_beside_many_others: "type D = (A) | (B) | (C) | (D x) | (E) | (F)
f D/A = 1
f (D/D x) = x
f other = other
main = (f D/A)
";
    lambda_and_let_patterns: "main = let (a, {b c}) = (1, 2); let f = λ(x, y) λ* (x y); (f (a, b) c)
";
    a_signature_with_a_body: "add (x: u24) (y: u24) : u24 = (+ x y)
main = (add 1 2)
";
}

says! {
    a_missing_number: "f 0 = 1\nf 1 = 2\nmain = (f 1)\n" => [NotExhaustive];
    rules_of_different_lengths: "f a b = 1\nf a = 2\nmain = (f 1)\n" => [RuleArity];
    a_rule_that_nothing_reaches: "f * = 1\nf 0 = 2\nmain = (f 1)\n" => [UnreachableMatch];
    a_rule_that_others_cover: "f [] = 1\nf (List/Cons * *) = 2\nf x = 3\nmain = (f 1)\n" => [UnreachableMatch];
    numbers_beside_constructors: "f 0 = 1\nf [] = 2\nf * = 3\nmain = (f 1)\n" => [MixedPatterns];
    constructors_of_two_types: "f [] = 1\nf Maybe/None = 2\nf * = 3\nmain = (f 1)\n" => [MixedPatterns];
    too_few_fields: "f (List/Cons x) = 1\nf * = 2\nmain = (f 1)\n" => [PatternArity];
    tuples_of_different_lengths: "f (a, b) = 1\nf (a, b, c) = 2\nmain = (f 1)\n" => [PatternArity];
    an_unknown_constructor: "f (List/Con a b) = 1\nmain = (f 1)\n" => [UnboundConstructor];
    a_variable_twice: "f x x = x\nmain = (f 1 2)\n" => [RepeatedBind];
    a_parameter_twice: "def f(x, x):\n  return x\ndef main():\n  return f(1, 2)\n" => [RepeatedBind];
    errors_in_an_unreachable_rule: "f * = 1\nf 0 = y\nmain = (f 1)\n" => [UnreachableMatch, UnboundName];
}

#[test]
fn the_missing_case_is_named() {
    let text = "f [] * = 0\nf (List/Cons (a, Maybe/None) *) 0 = 1\nf * 1 = 2\nf * * = 3\ng [] [] = 1\ng (List/Cons * []) * = 2\nmain = (f [] 1)\n";
    insta::assert_snapshot!(super::shown(&[("main", text)], &[]));
}
