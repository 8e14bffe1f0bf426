//! Discovery: which calls run at the same time, by name, and which do not.

mod blocks;
mod cases;
mod choices;

use crate::support;
use cases::{CASES, Case, LIBRARY, MAIN};
use choices::CHOICES;
use girih::{Options, Program, RunDevice, RunOptions, SystemHost, on_big_stack};
use girih_ir::{Function, Module, Op};
use girih_task::discovered;
use girih_task::flow::Root;
use girih_term::code::Code;
use girih_term::{Bind, Body, LocalId, Target, Term, TermKind};
use std::collections::BTreeMap;

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
    for case in CASES.iter().chain(CHOICES) {
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
            let entry = code.program().entry.into_iter();
            let roots: Vec<_> = entry.map(|def| Root { def, arguments: vec![] }).collect();
            for def in discovered(&code, &roots).0.program.defs.iter() {
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

const IN_ORDER: &str = "
def f(n: u24) -> u24:
  switch n:
    case 0:
      return 1
    case _:
      return f(n-1) * 3

def pairs(n: u24) -> u24:
  return f(n) + f(n + 1)

def loop(n: u24, sum: u24) -> u24:
  if n == 0:
    return sum
  else:
    return loop(n - 1, sum * 2 + f(n))

def early(n: u24) -> u24:
  if f(n) > 3:
    return f(n + 1)
  else:
    return 0

def main():
  return (pairs(3), loop(4, 0), early(2))
";

#[test]
fn what_stays_in_order_is_said_with_its_place() {
    let found = Program::from_text("case.bend", IN_ORDER, &Options::default()).parallelism().expect("it can be run");
    let wanted = "calls that run at the same time:
  case.bend:10:17: in `pairs`: `f`, `f`
  case.bend:25:33: in `main`: `early`, `loop`, `pairs`
calls that wait for others:
  case.bend:16:12: `loop` needs the result of `f` (16:34)
  case.bend:20:12: whether `f` is called depends on the result of `f` (19:6)";
    assert_eq!(found.to_string(), wanted);
}

/// A loop over a range that carries a sum runs in halves, so nothing in it waits.
#[test]
fn ranges_do_not_stay_in_order() {
    let text = IN_ORDER.replace("sum * 2 + f(n)", "sum + f(n)");
    let found = Program::from_text("case.bend", &text, &Options::default()).parallelism().expect("it can be run");
    let halves: Vec<&str> =
        found.together.iter().filter(|group| group.calls == ["loop", "loop"]).map(|group| &*group.place).collect();
    assert_eq!(halves, ["case.bend:12:5"]);
    assert!(found.in_order.iter().all(|waiting| waiting.call != "loop"), "{found}");
}

#[test]
fn a_program_of_one_chain_says_that_nothing_runs_at_the_same_time() {
    let text = "def sum(n, s):\n  switch n:\n    case 0:\n      return s\n    case _:\n      return sum(n-1, s * 2 + n)\n\ndef main():\n  return sum(9, 0)\n";
    let found = Program::from_text("case.bend", text, &Options::default()).parallelism().expect("it can be run");
    assert_eq!(found.to_string(), "no calls run at the same time");
}

const COPIES: &str = "
halves small solve join from to =
  if (small from to) {
    (solve from)
  } else {
    let middle = (/ (+ from to) 2)
    (join (halves small solve join from middle) (halves small solve join middle to))
  }

sum n = (halves λa λb (== (- b a) 1) λa a λx λy (+ x y) 0 n)
most n = (halves λa λb (== (- b a) 1) λa (% (* a a) 101) λx λy if (> x y) { x } else { y } 0 n)

f n = if (== n 0) { 1 } else { (* (f (- n 1)) 3) }

keep p [] = []
keep p (List/Cons x xs) = if (p x) { (List/Cons x (keep p xs)) } else { (keep p xs) }

main = ((sum 9), (most 9), (keep λx (> (f x) 3) [1, 2, 3]))
";

#[test]
fn copies_of_a_function_have_its_name_and_what_all_arms_call_does_not_wait() {
    let found = Program::from_text("case.bend", COPIES, &Options::default()).parallelism().expect("it can be run");
    let of = |name: &str| -> Vec<Vec<String>> {
        let those = found.together.iter().filter(|group| group.function == name);
        those.map(|group| group.calls.clone()).collect()
    };
    assert_eq!(of("halves"), [["halves", "halves"]]);
    assert_eq!(of("keep").len(), 1, "{found}");
    assert!(of("keep")[0].contains(&"keep".to_owned()), "{found}");
    assert!(!found.in_order.iter().any(|waiting| waiting.call == "keep"), "{found}");
}
