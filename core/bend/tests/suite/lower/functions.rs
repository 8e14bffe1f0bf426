//! What becomes a definition of its own: `fold`, `bend`, comprehensions and local functions.

use super::{becomes, says};

becomes! {
    a_fold_calls_itself_where_a_field_stands: "def main():
  k = 10
  xs = [1, 2]
  fold xs:
    case List/Nil:
      return k
    case List/Cons:
      return xs.head + xs.tail
";
    a_field_that_is_used_twice_is_folded_once: "def f(t):
  fold t:
    case Tree/Leaf:
      return t.value
    case Tree/Node:
      if t.left:
        return t.right
      else:
        return t.left * t.left
def main():
  return f(!1)
";
    a_function_that_an_arm_returns_is_a_part_of_it: "def f(xs):
  fold xs:
    case List/Nil:
      return lambda acc: acc
    case List/Cons:
      return lambda acc: xs.tail(acc + xs.head)
def main():
  return f([1], 0)
";
    a_function_that_an_arm_calls_folds_outside: "def f(xs):
  fold xs:
    case List/Nil:
      return []
    case List/Cons:
      return List/filter([1, 2], lambda x: x + xs.tail)
def main():
  return f([1])
";
    a_fold_with_state: "def main():
  n = 7
  xs = [1, 2]
  fold xs with acc = 0, n:
    case List/Nil:
      return (acc, n)
    case List/Cons:
      acc = acc + xs.head
      return xs.tail(acc, n)
";
    a_fold_rebuilds_the_whole_of_folded_fields: "def main():
  xs = [1, 2]
  fold xs:
    case List/Nil:
      return xs
    case List/Cons:
      return xs
";
    a_fold_with_an_arm_for_several: "type T:
  A { v, ~next }
  B { v, ~next }
  E
def f(t):
  fold t:
    case T/E:
      return 0
    case other:
      return (t.v, t.next, other)
def main():
  return f(T/E)
";
    a_fold_in_a_fold_captures: "def main():
  k = 3
  xs = [[1], [2]]
  fold xs:
    case List/Nil:
      return 0
    case List/Cons:
      ys = xs.head
      fold ys:
        case List/Nil:
          return xs.tail
        case List/Cons:
          return ys.head * k + ys.tail
";
    bend_and_fork: "def main():
  n = 3
  bend x = 0, n:
    when x < n:
      t = ![fork(x + 1, n), fork(x + 2, n)]
    else:
      t = !x
  return t
";
    fork_is_a_value: "main = bend x = 0 { when (< x 3): (List/Cons x (fork (+ x 1))); else: [] }
";
    local_functions: "def main():
  y = 1
  def f(x):
    switch x:
      case 0:
        return y
      case _:
        def g(z):
          return f(x - 1) + z + y
        return g(x)
  return f(3) + f(x = 4)
";
    a_local_function_of_rules: "main =
  let base = 1
  def len [] = base
      len (List/Cons * t) = (+ 1 (len t))
  (len [1])
";
    arguments_are_applied_to_the_entry: "def main(x):
  return x
";
}

#[test]
fn arguments_of_the_program() {
    let files = [("main", "def main(x):\n  return x\n")];
    insta::assert_snapshot!(super::shown(&files, &["(List/Cons 1 [])", "λx x"]));
}

#[test]
fn an_argument_with_an_unknown_name() {
    let files = [("main", "def main(x):\n  return x\n")];
    insta::assert_snapshot!(super::shown(&files, &["(lst 1)"]));
}

says! {
    fork_in_the_condition: "main = bend x = 0 { when (fork x): 1; else: 2 }\n" => [ForkOutside];
    fork_in_the_base: "main = bend x = 0 { when x: 1; else: (fork 1) }\n" => [ForkOutside];
    a_scopeless_variable_leaves_a_fold: "main = (fold x = [1] { List/Nil: 1; List/Cons: $a }, λ$a 1)\n" => [ScopelessCapture];
    a_scopeless_variable_inside_a_fold: "main = fold x = [1] { List/Nil: 1; List/Cons: ((λ$a 1) $a) }\n" => [];
    a_definition_calls_itself_for_certain: "f x = (+ 1 (f x))\nmain = (f 1)\n" => [RecursionCycle];
    a_value_that_is_itself: "a = b\nb = a\nmain = a\n" => [RecursionCycle];
    a_branch_ends_a_recursion: "f x = if x { (f (- x 1)) } else { 0 }\nmain = (f 1)\n" => [];
}
