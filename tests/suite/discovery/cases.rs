//! Small programs, each with the calls that run at the same time in it. `g` is the function that is looked at.

/// What programs use: two recursions, and a function that is none.
pub(super) const LIBRARY: &str = "
def f(n: u24) -> u24:
  switch n:
    case 0:
      return 1
    case _:
      return f(n-1) * 3
def p(n: u24) -> (u24, u24):
  switch n:
    case 0:
      return (1, 2)
    case _:
      (a, b) = p(n-1)
      return (a + b, a)
def small(a: u24, b: u24) -> u24:
  return a * 5 + b
";

/// What runs the function `g`.
pub(super) const MAIN: &str = "
def main() -> u24:
  return g(5)
";

/// A program, and for each function that forks the calls that run at the same time, group by group.
pub(super) struct Case {
    pub name: &'static str,
    pub program: &'static str,
    pub together: &'static [(&'static str, &'static str)],
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "acc_loop",
        program: "
def lp(n: u24, acc: u24) -> u24:
  switch n:
    case 0:
      return acc
    case _:
      return lp(n-1, acc + f(n))
def g(n: u24) -> u24:
  return lp(n, 0)
",
        together: &[],
    },
    Case {
        name: "arg_of_small",
        program: "
def g(n: u24) -> u24:
  return small(f(n), f(n+1))
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "bend_ctor",
        program: "
def g(n: u24) -> u24:
  bend d = 0:
    when d < n:
      x = ![fork(d + 1), fork(d + 1)]
    else:
      x = !(f(d))
  return s(x)
def s(t: Tree(u24)) -> u24:
  match t:
    case Tree/Leaf:
      return t.value
    case Tree/Node:
      return s(t.left) + s(t.right)
",
        together: &[("g__bend0", "g__bend0 & g__bend0"), ("s", "s & s")],
    },
    Case {
        name: "bend_stmt",
        program: "
def g(n: u24) -> u24:
  bend d = 0:
    when d < n:
      x = fork(d + 1) + fork(d + 1)
    else:
      x = f(d)
  return x
",
        together: &[("g__bend0", "g__bend0 & g__bend0")],
    },
    Case {
        name: "calls_in_lambda_arg",
        program: "
def g(n: u24) -> u24:
  return (lambda a, b: a + b)(f(n), f(n+1))
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "closure_calls",
        program: "
def ap(h: u24 -> u24, n: u24) -> u24:
  return h(n) + h(n+1)
def g(n: u24) -> u24:
  return ap(lambda x: f(x), n)
",
        together: &[("ap", "g.lambda0 & g.lambda0")],
    },
    Case {
        name: "closure_unknown",
        program: "
def pick(n: u24) -> (u24 -> u24):
  if n > 3:
    return lambda x: f(x)
  else:
    return lambda x: f(x) + n
def g(n: u24) -> u24:
  h = pick(n)
  return h(n) + h(n+1)
",
        together: &[("g", "apply.1 & apply.1.look")],
    },
    Case {
        name: "ctor_fields",
        program: "
type T:
  N { a: u24, b: u24 }
def g2(n: u24) -> T:
  return T/N(f(n), f(n+1))
def g(n: u24) -> u24:
  match x = g2(n):
    case T/N:
      return x.a + x.b
",
        together: &[("g2", "f & f")],
    },
    Case {
        name: "ctor_nested",
        program: "
def g2(n: u24) -> ((u24, u24), u24):
  return ((f(n), 2), f(n+1))
def g(n: u24) -> u24:
  ((a, b), c) = g2(n)
  return a+b+c
",
        together: &[("g2", "f & f")],
    },
    Case {
        name: "dep_mix",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  b = f(a)
  c = f(n+1)
  d = f(c)
  return b + d
",
        together: &[("g", "g.part1 & g.part0")],
    },
    Case {
        name: "destructured_adjacent",
        program: "
def g(n: u24) -> u24:
  (a, b) = p(n)
  (c, d) = p(n+1)
  return a + b + c + d
",
        together: &[("g", "p & p")],
    },
    Case {
        name: "destructured_then_op_then_call",
        program: "
def g(n: u24) -> u24:
  (a, b) = p(n)
  c = a + 1
  d = f(n+1)
  return c + d + b
",
        together: &[("g", "f & p")],
    },
    Case {
        name: "destructured_then_tail",
        program: "
def g(n: u24) -> u24:
  (a, b) = p(n)
  return small(2 - a + b, f(n+1))
",
        together: &[("g", "f & p")],
    },
    Case {
        name: "fold_stmt",
        program: "
type Tr:
  L { v: u24 }
  B { ~l: Tr, ~r: Tr }
def mk(n: u24) -> Tr:
  switch n:
    case 0:
      return Tr/L(1)
    case _:
      return Tr/B(mk(n-1), mk(n-1))
def g(n: u24) -> u24:
  t = mk(n)
  fold t:
    case Tr/L:
      return t.v
    case Tr/B:
      return t.l + t.r
",
        together: &[("g__fold0", "g__fold0 & g__fold0"), ("mk", "mk & mk")],
    },
    Case {
        name: "let_then_pure_then_call",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  c = n * 7
  b = f(c)
  return a + b
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "let_then_use_body_call",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  return a + f(n+1)
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "lets_adjacent",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  b = f(n+1)
  return a * 2 + b
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "list_comp",
        program: "
def g(n: u24) -> u24:
  l = [f(x) for x in [n, n+1, n+2]]
  return sm(l)
def sm(l: List(u24)) -> u24:
  match l:
    case List/Nil:
      return 0
    case List/Cons:
      return l.head + sm(l.tail)
",
        together: &[("g__map0", "f & g__map0")],
    },
    Case {
        name: "list_literal",
        program: "
def g(n: u24) -> u24:
  return List/fold([f(n), f(n+1)], 0)
def List/fold(l: List(u24), a: u24) -> u24:
  match l:
    case List/Nil:
      return a
    case List/Cons:
      return List/fold(l.tail, a * 3 + l.head)
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "list_map",
        program: "
def mp(l: List(u24)) -> List(u24):
  match l:
    case List/Nil:
      return []
    case List/Cons:
      return List/Cons(f(l.head), mp(l.tail))
def sm(l: List(u24)) -> u24:
  match l:
    case List/Nil:
      return 0
    case List/Cons:
      return l.head + sm(l.tail)
def g(n: u24) -> u24:
  return sm(mp([n, n+1, n+2]))
",
        together: &[("mp", "f & mp")],
    },
    Case {
        name: "list_sum_of_calls",
        program: "
def sm(l: List(u24)) -> u24:
  match l:
    case List/Nil:
      return 0
    case List/Cons:
      return f(l.head) + sm(l.tail)
def g(n: u24) -> u24:
  return sm([n, n+1, n+2])
",
        together: &[("sm", "f & sm")],
    },
    Case {
        name: "monad",
        program: "
def ff(n: u24) -> u24:
  switch n:
    case 0:
      return 1
    case _:
      return ff(n-1) * 3
type Id(T):
  Id { v: T }
def Id/bind(a, k):
  match a:
    case Id/Id:
      return undefer(k, a.v)
def Id/wrap(x: A) -> Id(A):
  return Id/Id(x)
def q(n: u24) -> Id(u24):
  return Id/Id(ff(n))
def g(n: u24) -> Id(u24):
  with Id:
    a <- q(n)
    b <- q(n+1)
    return wrap(a + b)
def main() -> u24:
  match x = g(5):
    case Id/Id:
      return x.v
",
        together: &[],
    },
    Case {
        name: "map_of_a_closure",
        program: "
def map(h: u24 -> u24, l: List(u24)) -> List(u24):
  match l:
    case List/Nil:
      return []
    case List/Cons:
      return List/Cons(h(l.head), map(h, l.tail))
def g(n: u24) -> List(u24):
  return map(lambda x: f(x) + n, [n, n + 1])
def main() -> List(u24):
  return g(5)
",
        together: &[("map", "g.lambda0.look & map")],
    },
    Case {
        name: "map_of_a_short_closure",
        program: "
def map(h: u24 -> u24, l: List(u24)) -> List(u24):
  match l:
    case List/Nil:
      return []
    case List/Cons:
      return List/Cons(h(l.head), map(h, l.tail))
def g(n: u24) -> List(u24):
  return map(lambda x: x + n, [n, f(n)])
def main() -> List(u24):
  return g(5)
",
        together: &[],
    },
    Case {
        name: "monad_maybe",
        program: "
def Maybe/bind(a, k):
  match a:
    case Maybe/Some:
      return undefer(k, a.value)
    case Maybe/None:
      return Maybe/None
def Maybe/wrap(x: A) -> Maybe(A):
  return Maybe/Some(x)
def q(n: u24) -> Maybe(u24):
  switch n:
    case 0:
      return Maybe/Some(1)
    case _:
      with Maybe:
        x <- q(n-1)
        return wrap(x * 2)
def g(n: u24) -> u24:
  with Maybe:
    a <- q(n)
    b <- q(n+1)
    r = wrap(a + b)
  match r:
    case Maybe/Some:
      return r.value
    case Maybe/None:
      return 0
",
        together: &[],
    },
    Case {
        name: "nested_small",
        program: "
def g(n: u24) -> u24:
  return small(small(f(n), 1), f(n+1))
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "nested_small_op",
        program: "
def g(n: u24) -> u24:
  return small(f(n), 1) + small(f(n+1), 2)
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "op",
        program: "
def g(n: u24) -> u24:
  return f(n) + f(n+1)
",
        together: &[("g", "f & f")],
    },
    Case {
        name: "tail_arg",
        program: "
def lp(n: u24, a: u24, b: u24) -> u24:
  switch n:
    case 0:
      return a + b
    case _:
      return lp(n-1, f(a), f(b))
def g(n: u24) -> u24:
  return lp(n, 1, 2)
",
        together: &[("lp", "f & f")],
    },
    Case {
        name: "three_way",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  b = f(a)
  c = f(n+1)
  return a + b + c
",
        together: &[("g", "f & g.part0")],
    },
    Case {
        name: "use_between",
        program: "
def g(n: u24) -> u24:
  a = f(n)
  c = a + 1
  b = f(n+1)
  return b + c
",
        together: &[("g", "f & f")],
    },
];
