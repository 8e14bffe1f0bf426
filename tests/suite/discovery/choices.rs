//! Small programs with choices: calls before them, in what they inspect, and in their arms.

use super::cases::Case;

pub(super) const CHOICES: &[Case] = &[
    Case {
        name: "branch_after",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  if n > 5:
    return a
  else:
    return a + f(n+1)
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "branch_after_call_of_what_was_made",
        program: "
def q(xs: List(u24), k: u24) -> u24:
  match xs:
    case List/Nil:
      return k
    case List/Cons:
      return q(xs.tail, k * 3 + xs.head)
def g(n: u24) -> u24:
  a = q([n, 2 * n], n)
  if n > 5:
    return a
  else:
    return a + f(n+1)
",
        together: &[("g", "f & q")],
    },
    Case {
        name: "branch_after_chain",
        program: "
def g(n: u24) -> u24:
  a = f(f(n))
  if n > 5:
    return a
  else:
    return a + f(n+1)
",
        together: &[("g", "f & g.part0")],
    },
    Case {
        name: "branch_after_let",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  if n > 5:
    return a
  else:
    b = f(n+1)
    return a + b
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "call_in_if_operand",
        program: "
def h(n: u24, c: u24) -> u24:
  if c:
    return f(n)
  else:
    return 1
def g(n: u24) -> u24:
  return h(n, n > 3) + h(n+1, n > 4)
",
        together: &[("g", "h & h")],
    },
    Case {
        name: "if_value_then_call",
        program: "
def g(n: u24) -> u24:
  if n > 5:
    a = f(n)
  else:
    a = f(n+2)
  b = f(n+1)
  return a + b
",
        together: &[("g", "f & g.part0")],
    },
    Case {
        name: "match_fields",
        program: "
type T:
  L { v: u24 }
  B { ~l: T, ~r: T }
def mk(n: u24) -> T:
  switch n:
    case 0:
      return T/L(1)
    case _:
      return T/B(mk(n-1), mk(n-1))
def mx(t: T) -> u24:
  match t:
    case T/L:
      return t.v
    case T/B:
      a = mx(t.l)
      b = mx(t.r)
      if a > b:
        return a
      else:
        return b
def early(t: T) -> u24:
  match t:
    case T/L:
      return t.v
    case T/B:
      a = early(t.l)
      if a == 0:
        return 0
      else:
        return a + early(t.r)
def main() -> u24:
  return mx(mk(5)) + early(mk(4))
",
        together: &[("main", "mk & mx"), ("mk", "mk & mk"), ("mx", "mx & mx")],
    },
    Case {
        name: "object_taken_apart_between",
        program: "
object Pair { left: u24, right: List(u24) }
def pick(pairs: List(Pair)) -> Pair:
  match pairs:
    case List/Nil:
      return Pair { left: 1, right: [] }
    case List/Cons:
      return pairs.head
def h(n: u24, pair: Pair) -> u24:
  a = f(n)
  open Pair: pair
  b = f(pair.left)
  return small(a, b)
def g(n: u24) -> u24:
  return h(n, pick([Pair { left: 2, right: [] }]))
",
        together: &[("h", "f & f")],
    },
    Case {
        name: "scrutinee_then_arm",
        program: "
def g(n: u24) -> u24:
  if f(n) > 3:
    return f(n+1)
  else:
    return 2 * f(n+1)
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "scrutinee_two",
        program: "
def g(n: u24) -> u24:
  if f(n) > f(n+1):
    return 1
  else:
    return 2
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "search_behind_a_test",
        program: "
def ok(n: u24) -> u24:
  switch n:
    case 0:
      return 1
    case _:
      return ok(n-1) * 3 % 7
def g(n: u24) -> u24:
  switch n:
    case 0:
      return 1
    case _:
      others = g(n-1)
      if ok(n-1) > 3:
        return small(f(n), others)
      else:
        return others
",
        together: &[("g", "g.part0 & g")],
    },
    Case {
        name: "search_given_in_parts_behind_a_test",
        program: "
def ok(n: u24) -> u24:
  switch n:
    case 0:
      return 1
    case _:
      return ok(n-1) * 3 % 7
def h(pair: (u24, u24)) -> List(u24):
  (a, b) = pair
  switch a:
    case 0:
      return []
    case _:
      return List/Cons(b, h((a-1, b + 1)))
def both(a: List(u24), b: List(u24)) -> List(u24):
  match a:
    case List/Nil:
      return b
    case List/Cons:
      return List/Cons(a.head, b)
def k(n: u24) -> List(u24):
  switch n:
    case 0:
      return []
    case _:
      others = k(n-1)
      if ok(n-1) > 3:
        return both(h((n, 1)), others)
      else:
        return others
def g(n: u24) -> u24:
  match xs = k(n):
    case List/Nil:
      return 0
    case List/Cons:
      return xs.head
",
        together: &[("k", "k.part0 & k")],
    },
];
