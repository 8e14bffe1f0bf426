//! Discovery: which calls run at the same time, by name, and which do not.

use crate::support;
use girih::{Options, Program, RunDevice, RunOptions, SystemHost, on_big_stack};
use girih_ir::{Function, Module, Op};
use girih_task::discover::discover;
use girih_term::code::Code;
use girih_term::{Bind, Body, LocalId, Target, Term, TermKind};
use std::collections::BTreeMap;

/// What programs use: two recursions, and a function that is none.
const LIBRARY: &str = "
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
const MAIN: &str = "
def main() -> u24:
  return g(5)
";

/// A program, and for each function that forks the calls that run at the same time, group by group.
struct Case {
    name: &'static str,
    program: &'static str,
    together: &'static [(&'static str, &'static str)],
}

const CASES: &[Case] = &[
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
        together: &[("g", "apply.1 & apply.1")],
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
        together: &[("g__map0", "g__map0 & f")],
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
        together: &[("mp", "mp & f")],
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
        together: &[("sm", "sm & f")],
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
        together: &[("mk", "mk & mk"), ("mx", "mx & mx")],
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
        together: &[("map", "map & g.lambda0")],
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

/// The calls that run at the same time in a function: those that are forked, and those that are made before the first of them is joined.
fn groups(module: &Module, function: &Function) -> String {
    let (mut groups, mut open, mut tokens) = (vec![], vec![], 0);
    function.walk(function.body, &mut |_, inst| {
        let name = || inst.callee().map_or(String::new(), |id| module.functions[id].name.to_string());
        match inst.op {
            Op::Fork => {
                tokens += 1;
                open.push(name());
            }
            Op::Call if tokens > 0 => open.push(name()),
            Op::Join => {
                tokens -= 1;
                if tokens == 0 {
                    groups.push(std::mem::take(&mut open).join(" & "));
                }
            }
            _no_rule => {}
        }
    });
    groups.join(", ")
}

fn together(case: &Case) -> BTreeMap<String, String> {
    let main = if case.program.contains("def main") { "" } else { MAIN };
    let text = format!("{LIBRARY}{}{main}", case.program);
    let program = Program::from_text("case.bend", &text, &Options::default());
    let program = program.core_program().unwrap_or_else(|error| panic!("{}: {error}", case.name));
    on_big_stack(|| {
        let code = Code::new(program).unwrap_or_else(|errors| panic!("{}: {errors:?}", case.name));
        let direct = girih_task::compile(&code).unwrap_or_else(|errors| panic!("{}: {errors:?}", case.name));
        let found = direct.module.functions.iter().map(|f| (f.name.to_string(), groups(&direct.module, f)));
        found.filter(|(_, groups)| !groups.is_empty()).collect()
    })
}

#[test]
fn calls_that_wait_for_nothing_of_each_other_run_together() {
    let mut wrong = vec![];
    for case in CASES {
        let found = together(case);
        let wanted = case.together.iter().map(|(name, groups)| (name.to_string(), groups.to_string()));
        if found != wanted.collect() {
            wrong.push(format!("{}: {found:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first variable that a term uses where it is not bound.
fn unbound(term: &Term, bound: &mut Vec<LocalId>) -> Option<LocalId> {
    let before = bound.len();
    let found = match &term.kind {
        TermKind::Local(local) => (!bound.contains(local)).then_some(*local),
        TermKind::Let(binds, body) => binds
            .iter()
            .find_map(|Bind { target, value }| {
                let found = unbound(value, bound);
                match target {
                    Target::Var(local) => bound.push(*local),
                    Target::Tuple(parts) | Target::Dup(parts) => bound.extend(parts.iter().flatten()),
                    Target::Link(_) => {}
                }
                found
            })
            .or_else(|| unbound(body, bound)),
        TermKind::Lambda(params, body) => {
            bound.extend(params);
            unbound(body, bound)
        }
        TermKind::Match(choice) => unbound(&choice.scrutinee, bound)
            .or_else(|| {
                choice.arms.iter().find_map(|arm| {
                    let before = bound.len();
                    bound.extend(arm.fields.iter().chain(&arm.whole));
                    let found = unbound(&arm.body, bound);
                    bound.truncate(before);
                    found
                })
            })
            .or_else(|| choice.default.as_ref().and_then(|body| unbound(body, bound))),
        TermKind::Switch(choice) => unbound(&choice.scrutinee, bound)
            .or_else(|| choice.cases.iter().find_map(|(_, body)| unbound(body, bound)))
            .or_else(|| {
                bound.extend(choice.pred);
                unbound(&choice.default, bound)
            }),
        _others => term.children().into_iter().find_map(|child| unbound(child, bound)),
    };
    bound.truncate(before);
    found
}

#[test]
fn every_variable_stays_bound_where_it_is_used() {
    let mut wrong = vec![];
    let programs = support::bend_files(support::PROGRAMS).into_iter().chain(support::bend_files("benches/corpus"));
    for path in programs {
        let program = Program::open(&path, &Options::default());
        let Ok(program) = program.core_program() else { continue };
        on_big_stack(|| {
            let Ok(code) = Code::new(program) else { return };
            let roots: Vec<_> = code.program().entry.into_iter().collect();
            for def in discover(code.program(), &roots).program.defs.iter() {
                let Body::Term(body) = &def.body else { continue };
                if let Some(local) = unbound(body, &mut def.params.clone()) {
                    wrong.push(format!("{path}: `{}` in `{}`", def.locals[local].name, def.name));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Programs that give closures whose lambdas capture less in the end, or in another order.
const CLOSURES: &[&str] = &[
    "
def mk(a: u24, b: u24) -> (u24 -> u24):
  return lambda z: (lambda u, v: u + z)(a, b)
def main() -> (u24 -> u24):
  return mk(1, 2)
",
    "
def mk(n: u24, c: u24):
  x = f(n)
  y = n * 7
  if c == 0:
    return (f(y), lambda w: x * 10 + y + w)
  else:
    return (0, lambda w: w)
def main():
  return mk(3, 0)
",
];

#[test]
fn closures_are_read_as_the_evaluator_knows_them() {
    for program in CLOSURES {
        let program = Program::from_text("closures.bend", &format!("{LIBRARY}{program}"), &Options::default());
        let run = |device: RunDevice| {
            let options = RunOptions { device, ..RunOptions::default() };
            program
                .run(&mut SystemHost::new(), &options)
                .map(|outcome| outcome.text)
                .map_err(|report| report.to_string())
        };
        assert_eq!(run(RunDevice::Cpu), run(RunDevice::Evaluator));
    }
}
