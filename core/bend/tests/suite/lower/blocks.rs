//! Blocks of the imperative syntax.

use super::{becomes, says};

becomes! {
    a_block_is_flat: "def main():
  x = 1
  (y, (z, *)) = (x, (x, 2))
  x += y
  x @= lambda n: n * z
  return x
";
    branches_assign_the_same: "def main():
  x = 3
  if x > 2:
    (a, b) = (1, x)
  elif x:
    (a, b) = (2, x)
  else:
    (a, b) = (3, x)
  switch x:
    case 0:
      c = a
    case 1:
      c = b
    case _:
      c = x-2 + x
  return c
";
    maps: "def main():
  m = { 1: 2, 3: 4 }
  m[5] = m[1] + m[m[3]]
  m[1] += 6
  m[3] @= lambda x: x + m[1]
  return {}
";
    a_match_sees_fields_and_whole: "def f(xs, k):
  match ys = xs with k = k + 1:
    case List/Cons:
      return (ys, ys.head, k)
    case List/Nil:
      return (ys, 0, k)
def main():
  return f([1], 2)
";
    an_arm_for_one_left_constructor_is_its_arm: "def f(m):
  match m:
    case Maybe/None:
      return 0
    case other:
      return (m.value, other)
def main():
  return f(Maybe/None)
";
    an_arm_for_several_sees_their_common_fields: "type T:
  A { x, y }
  B { y }
  C { z }
def f(t):
  match t:
    case T/C:
      return t.z
    case _:
      return (t.y, t)
def main():
  return f(T/B(1))
";
    steps_of_a_monad: "def main():
  with IO:
    if 1:
      x <- IO/wrap(1)
    else:
      x <- IO/wrap(2)
    y = x + 1
    (a, *) <- IO/wrap((y, 2))
    return wrap(a)
";
    open_of_an_object: "object P { x, y }
def main():
  p = P { y: 2, x: 1 }
  open P: p
  return (p.x, p)
";
    use_of_names_and_terms: "def f(x):
  return x
def main():
  x = 1
  use g = f
  use C = List/Cons
  use y = g(x)
  x = 2
  match z = C(y, []):
    case C:
      return z.head + y
    case List/Nil:
      return x
";
    comprehensions: "def main():
  k = 2
  return [(y * k, y) for y in [1, 2, 3] if y > k]
";
    trees_symbols_and_characters: "def main():
  return (![!1, !2], `aB`, 'x', \"hi\")
";
}

says! {
    a_branch_without_return: "def main():\n  if 1:\n    return 1\n  else:\n    x = 2\n" => [BranchMismatch];
    branches_of_different_variables: "def main():\n  if 1:\n    x = 1\n  else:\n    y = 2\n  return 3\n" => [BranchMismatch];
    a_step_beside_an_assignment:
        "def main():\n  with IO:\n    if 1:\n      x <- IO/wrap(1)\n    else:\n      x = 1\n    return wrap(x)\n" => [BranchMismatch];
    no_return: "def main():\n  x = 1\n" => [MissingReturn];
    the_last_statement_assigns_a_slot: "def main():\n  x = {}\n  x[1] = 2\n" => [MissingReturn];
    after_a_return: "def main():\n  return 1\n  return 2\n" => [UnreachableStatement];
    after_branches_that_return: "def main():\n  if 1:\n    return 1\n  else:\n    return 2\n  return 2\n" => [UnreachableStatement];
    a_step_outside: "def main():\n  x <- IO/wrap(1)\n  return x\n" => [AskOutside];
    no_monad: "type T:\n  A\ndef main():\n  with T:\n    x <- T/A\n    return x\n" => [NoMonad];
    a_block_without_steps_needs_no_monad: "type T:\n  A\ndef main():\n  with T:\n    return T/A\n" => [];
    a_missing_arm: "def f(m):\n  match m:\n    case Maybe/None:\n      return 0\ndef main():\n  return f(1)\n" => [NotExhaustive];
    a_redundant_arm_hides_no_missing_one:
        "def f(m):\n  match m:\n    case Maybe/None:\n      return 0\n    case Maybe/None:\n      return 0\ndef main():\n  return f(1)\n" => [NotExhaustive, RedundantMatch];
    an_arm_after_the_rest:
        "def f(m):\n  match m:\n    case Maybe/None:\n      return 0\n    case _:\n      return 1\n    case Maybe/Some:\n      return 2\ndef main():\n  return f(1)\n" => [RedundantMatch];
    a_first_arm_for_everything: "def f(m):\n  match m:\n    case none:\n      return 0\n    case Maybe/Some:\n      return 1\ndef main():\n  return f(1)\n" => [IrrefutableMatch, UnreachableMatch];
    arms_of_two_types: "def f(m):\n  match m:\n    case Maybe/None:\n      return 0\n    case List/Nil:\n      return 1\ndef main():\n  return f(1)\n" => [MixedPatterns];
    an_unknown_constructor: "def f(m):\n  match m:\n    case Maybe/Non:\n      return 0\n    case Maybe/Some:\n      return 1\ndef main():\n  return f(1)\n" => [UnboundConstructor];
    open_of_several_constructors: "def main():\n  x = []\n  open List: x\n  return 1\n" => [NoConstructor];
    open_of_an_unknown_type: "def main():\n  x = []\n  open Lst: x\n  return 1\n" => [UnboundType];
}
