//! Compiles every program of `tests/bend` that can be run by value to functions of the IR. The verifier, which follows the ownership of
//! every word of the heap, takes each; and so it does what is read from their text.

use crate::support;
use crate::support::case::{Case, Gave, agree};
use girih::{RunDevice, RunOptions, SystemHost, Work};
use girih_machine::tasks::TaskSettings;
use std::num::NonZeroUsize;

use girih::{Code, Diagnostic, Options, Program, on_big_stack};
use girih_base::span::SourceId;
use girih_ir::{text, verify};
use girih_term::code;

/// Programs that come this far at least; those that have errors or need nets do not.
const COMPILED: usize = 500;

/// Compiles a program, and reads its text again. None if there is nothing to compile.
fn compile(path: &str) -> Option<Result<(), String>> {
    let program = Program::open(path, &Options::default());
    let program = program.core_program().ok()?;
    on_big_stack(|| {
        let code = code::Code::new(program).ok()?;
        Some(
            girih_task::compile(&code)
                .map_err(|errors| said(&errors))
                .and_then(|direct| read_again(&text::print(&direct.module))),
        )
    })
}

fn read_again(printed: &str) -> Result<(), String> {
    let parsed = text::parse(SourceId::new(0), printed).map_err(|errors| said(&errors))?;
    let module = verify(parsed.module).map_err(|errors| said(&errors))?;
    let again = text::print(&module);
    if again == printed { Ok(()) } else { Err("what is read from the text prints another text".to_owned()) }
}

fn said(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect::<Vec<_>>().join("; ")
}

#[test]
fn programs_become_functions_that_verify() {
    let mut compiled = 0;
    let mut failed = vec![];
    for path in support::bend_files(support::PROGRAMS) {
        match compile(&path) {
            None => {}
            Some(Ok(())) => compiled += 1,
            Some(Err(why)) => failed.push(format!("{path}: {why}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(compiled >= COMPILED, "only {compiled} programs were compiled");
}

/// Steps that the reference machine makes at most; programs that need more are left to faster ones.
const STEPS: u64 = 4_000_000;
/// How many programs need more.
const LONG: usize = 12;
#[test]
fn compiled_programs_do_what_the_evaluator_does() {
    let settings = TaskSettings { checked: true, seed: None, fuel: Some(STEPS) };
    let one = NonZeroUsize::MIN;
    let three = one.saturating_add(2);
    type Change<'c> = &'c dyn Fn(&mut RunOptions);
    let ways: [(&str, RunDevice, Change<'_>); 4] = [
        ("interpreter", RunDevice::Interpreter(settings), &|_| {}),
        ("one thread", RunDevice::Cpu, &|options| options.threads = Some(one)),
        ("three threads", RunDevice::Cpu, &|options| options.threads = Some(three)),
        ("without reuse", RunDevice::Cpu, &|options| (options.threads, options.reuse) = (Some(one), false)),
    ];
    let (mut same, mut long) = (0, 0);
    let mut different = vec![];
    let share = girih_workbench::share(32);
    for case in share.of(Case::all()) {
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        for (way, device, change) in &ways {
            match case.run(device.clone(), change) {
                found if agree(&case, &oracle, &found) => same += 1,
                // Too long for the reference machine.
                Gave { value: Err((Code::OutOfFuel, _)), .. } => long += 1,
                found => different.push(format!("{}, {way}: {oracle:?} / {found:?}", case.path)),
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(
        same >= share.least(COMPILED * ways.len() - LONG) && long <= LONG,
        "{same} are the same, {long} take too long"
    );
}

/// A loop of a million effects needs no more memory than one effect does.
#[test]
fn effects_leave_nothing_behind() {
    let text = "def loop(n):\n  switch n:\n    case 0:\n      return IO/wrap(42)\n    case _:\n      with IO:\n        time <- IO/get_time()\n        return loop(n-1)\n\ndef main():\n  return loop(1000000)\n";
    let program = Program::from_text("loop.bend", text, &Options::default());
    let options = RunOptions { memory: 1 << 20, count: true, ..RunOptions::default() };
    let outcome = program.run(&mut SystemHost::new(), &options).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(outcome.text, "IO/Done(IO/MAGIC, 42)");
    let Work::Compiled(work) = outcome.stats.work else { panic!("it was compiled") };
    assert!(work.most_bytes <= 1 << 20 && work.allocated > 1_000_000 && work.live < 100, "{work:?}");
}

/// Trees that several calls look at, and that are dropped whole: threads that have nothing to do give back what they kept, while others change the counts
/// of cells that they share.
#[test]
fn threads_give_back_large_trees_together() {
    let tree = "def tree(depth, x):\n  switch depth:\n    case 0:\n      return !x\n    case _:\n      return ![tree(depth-1, x * 2), tree(depth-1, x * 2 + 1)]\n\n";
    let dress = "def dress(t, other):\n  match t:\n    case Tree/Node:\n      return ![dress(t.left, other), dress(t.right, other)]\n    case Tree/Leaf:\n      return ![!t.value, other]\n\n";
    let first = "def first(t):\n  match t:\n    case Tree/Node:\n      return first(t.left)\n    case Tree/Leaf:\n      return t.value\n\n";
    let main = "def all(depth, n, t):\n  switch depth:\n    case 0:\n      return first(dress(tree(13, n), t)) + first(t)\n    case _:\n      return all(depth-1, n * 2, t) + all(depth-1, n * 2 + 1, ![t, tree(10, n)])\n\ndef main():\n  return all(5, 1, tree(12, 1))\n";
    let program = Program::from_text("trees.bend", &[tree, dress, first, main].concat(), &Options::default());
    let run = |threads: usize| {
        let options = RunOptions {
            device: RunDevice::Cpu,
            threads: NonZeroUsize::new(threads),
            count: true,
            ..RunOptions::default()
        };
        let outcome = program.run(&mut SystemHost::new(), &options).unwrap_or_else(|report| panic!("{report}"));
        let Work::Compiled(work) = outcome.stats.work else { panic!("it was compiled") };
        assert_eq!((work.live, work.live_bytes), (0, 0), "{threads} threads: {work:?}");
        outcome.text
    };
    let expected = run(1);
    for threads in [2, 4, 8].into_iter().cycle().take(12) {
        assert_eq!(run(threads), expected, "{threads} threads");
    }
}

/// Functions that end by making cells of what they give for the rest take no stack, however long a list is.
#[test]
fn long_lists_take_no_stack() {
    const COUNT: u64 = 1_000_000;
    let text = "
def upto(n, m):
  if n == m:
    return []
  else:
    return List/Cons(n, upto(n + 1, m))

def map(list):
  match list:
    case List/Nil:
      return []
    case List/Cons:
      return List/Cons(list.head * 2, map(list.tail))

def append(a, b):
  match a:
    case List/Nil:
      return b
    case List/Cons:
      return List/Cons(a.head, append(a.tail, b))

def deal(list):
  match list:
    case List/Nil:
      return ([], [])
    case List/Cons:
      (a, b) = deal(list.tail)
      return (List/Cons(list.head, b), a)

def sum(list, s):
  match list:
    case List/Nil:
      return s
    case List/Cons:
      return sum(list.tail, s * 3 + list.head)

def main():
  list = upto(0, 1000000)
  (a, b) = deal(append(map(list), list))
  return (sum(a, 0), sum(b, 0))
";
    let program = Program::from_text("lists.bend", text, &Options::default());
    let options = RunOptions { device: RunDevice::Cpu, stack: 64 << 10, count: true, ..RunOptions::default() };
    let outcome = program.run(&mut SystemHost::new(), &options).unwrap_or_else(|report| panic!("{report}"));
    let list = (0..COUNT).map(|n| n * 2).chain(0..COUNT);
    let sum = |odd: usize| list.clone().skip(odd).step_by(2).fold(0, |s, n| (s * 3 + n) & 0xff_ffff);
    assert_eq!(outcome.text, format!("({}, {})", sum(0), sum(1)));
    let Work::Compiled(work) = outcome.stats.work else { panic!("it was compiled") };
    // The pair is the value of `main`.
    assert_eq!(work.live, 1, "{work:?}");
}

/// Continuation-passing style takes no stack: what is applied last is called last, though `walk` gives a number and what applies any word gives a word.
#[test]
fn calls_of_continuations_are_tail_calls() {
    let program = Program::open("tests/bend/calls/continuations.bend", &Options::default());
    let ir = program.ir().unwrap_or_else(|error| panic!("{error}"));
    for name in ["walk(", "walk.lambda1(", "fib(", "fib.lambda1(", "real.lambda0("] {
        let function = ir.split("\nfn @").find(|function| function.starts_with(name));
        let function = function.unwrap_or_else(|| panic!("there is no `{name}`\n{ir}"));
        assert!(function.contains("tail @apply.1(") && !function.contains("call @apply.1("), "{function}");
    }
}
