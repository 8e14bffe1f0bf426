//! Programs whose recursion is a reducer do what the evaluator does, however its calls are shared out.

use crate::support::case::{Case, Gave, LIMIT, agree};
use crate::support::random::Random;
use crate::support::watch;
use girih::devices::{self, Selector};
use girih::{Diagnostic, RunDevice, SystemHost, on_big_stack};
use girih_runtime::TaskOptions;
use girih_task::Failure;
use girih_task::flow::Root;
use girih_task::reducer::runner::{ReducerOptions, ReducerRunner};
use girih_task::reducer::{self, Form};
use girih_term::code::Code;
use girih_term::eval::{Limits, Machine};
use girih_workbench::{Share, sample, share};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What came of a program that is a reducer; none if it is not.
fn run(case: &Case, device: &str, options: ReducerOptions) -> Option<Gave> {
    let alarm = watch::alarm(LIMIT);
    let mut is_one = true;
    let gave = case.with_host(|host| {
        let flag = alarm.flag.clone();
        let is_one = &mut is_one;
        on_big_stack(move || {
            let found = run_here(case, device, options, host, flag);
            *is_one = found.is_some();
            found.unwrap_or_else(|| Err(vec![]))
        })
    });
    is_one.then_some(gave)
}

fn run_here(
    case: &Case,
    device: &str,
    options: ReducerOptions,
    host: &mut SystemHost,
    flag: Arc<AtomicBool>,
) -> Option<Result<String, Vec<Diagnostic>>> {
    let program = case.program.core_program().ok()?;
    let code = Code::new(program).ok()?;
    let roots: Vec<Root> = code.program().entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
    let direct = girih_task::compile_for_lanes(&code, &roots).expect("what can run compiles");
    let reducers = match reducer::lower(&direct.module, direct.entry, &options.form) {
        Ok(reducers) => reducers,
        Err(Failure::Refused(_)) => return None,
        Err(Failure::Wrong(errors)) => panic!("{}: {errors:#?}", case.path),
    };
    let device = devices::open(&Selector::parse(device).expect("a device's name"), None).expect("a device");
    let task = TaskOptions { interrupt: Some(flag.clone()), ..TaskOptions::default() };
    let mut runner = match ReducerRunner::open(&direct.module, reducers, device, &task, options) {
        Ok(runner) => runner,
        Err(errors) => return Some(Err(errors)),
    };
    let mut machine = Machine::new(&code, Limits { interrupt: Some(flag.clone()), ..Limits::default() });
    let gave = girih_task::run::run(&mut machine, &direct, &mut runner, host, Some(flag)).map_err(|d| vec![d]);
    Some(gave)
}

/// Few lanes and short rounds, so that tasks go to and fro; stacks without room; one lane; many of all.
fn forms() -> [ReducerOptions; 4] {
    let options = |lanes, rounds, (workgroup, stack, near, steps)| ReducerOptions {
        lanes,
        rounds,
        form: Form { workgroup, stack, near, steps },
    };
    [
        options(64, 3, (8, 16, 24, 2)),
        options(32, 2, (4, 8, 12, 5)),
        options(1, 1 << 12, (1, 32, 16, 7)),
        options(256, 64, (32, 32, 64, 24)),
    ]
}

fn compare(device: &str, most: usize, share: Share) -> (usize, Vec<String>) {
    let (mut same, mut different) = (0, vec![]);
    for case in share.of(Case::all()) {
        let mut oracle = None;
        for (i, options) in forms().into_iter().enumerate().take(most) {
            let Some(found) = run(&case, device, options) else { continue };
            // The queue of few lanes has little room, and much that is around recursion is not for the host.
            if matches!(found.value, Err((girih::Code::Internal | girih::Code::OutOfFuel, _))) {
                continue;
            }
            let oracle = oracle.get_or_insert_with(|| case.run(RunDevice::Evaluator, &|_| {}));
            if agree(&case, oracle, &found) {
                same += 1;
            } else {
                different.push(format!("{} ({i}): {oracle:?} / {found:?}", case.path));
            }
        }
    }
    (same, different)
}

/// On the processor, or on the device that `GIRIH_REDUCER_DEVICE` names.
#[test]
fn reducers_do_what_the_evaluator_does() {
    let share = share(16);
    let device = std::env::var("GIRIH_REDUCER_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    let (same, different) = compare(&device, 4, share);
    eprintln!("{same} are the same on {device}");
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= share.least(30), "only {same} are the same");
}

/// Operations that are functions, written in two ways.
const EXTREMES: &str = "def greater(a: u24, b: u24) -> u24:
  if a > b:
    return a
  else:
    return b

def smaller(a: u24, b: u24) -> u24:
  if a >= b:
    return b
  else:
    return a

";

/// Writes random functions.
struct Writer(Random);

impl Writer {
    fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }
    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn number(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0 => self.below(1 << 24).to_string(),
            1 => "x".to_owned(),
            2 => "y".to_owned(),
            _both => {
                let (a, op, b) =
                    (self.number(depth - 1), self.one_of(&["+", "-", "*", "^", "&", "|"]), self.number(depth - 1));
                format!("({a} {op} {b})")
            }
        }
    }
    fn test(&mut self) -> String {
        let (a, op, b) = (self.number(1), self.one_of(&["<", ">", "==", "!="]), self.number(1));
        format!("{a} {op} {b}")
    }
    /// A call of one of so many functions.
    fn call(&mut self, functions: usize) -> String {
        let (f, x, y) = (self.below(functions), self.number(1), self.number(1));
        let step = 1 + self.below(2);
        format!("f{f}(d - {step}, {x}, {y})")
    }
    /// Something that is put together of calls and numbers by one operation.
    fn together(&mut self, op: &str, functions: usize) -> String {
        let parts = (0..1 + self.below(3)).map(|_| match self.below(4) {
            0 => self.number(1),
            _call => self.call(functions),
        });
        let parts: Vec<String> = parts.collect();
        joined(op, &parts)
    }
    /// The same of calls that give pairs, by an operation for each part: lines of a function.
    fn pairs(&mut self, ops: [&str; 2], functions: usize) -> String {
        let calls: Vec<String> = (0..1 + self.below(3)).map(|_| self.call(functions)).collect();
        let mut text = String::new();
        for (i, call) in calls.iter().enumerate() {
            text += &format!("      (a{i}, b{i}) = {call}\n");
        }
        let [first, second] = [("a", ops[0]), ("b", ops[1])].map(|(name, op)| {
            let mut parts: Vec<String> = (0..calls.len()).map(|i| format!("{name}{i}")).collect();
            if self.below(2) == 0 {
                parts.push(self.number(1));
            }
            joined(op, &parts)
        });
        format!("{text}      return ({first}, {second})\n")
    }
    fn operation(&mut self) -> &'static str {
        ["+", "+", "*", "^", "|", "&", "greater", "smaller"][self.below(8)]
    }
    /// A program of functions that call each other until a number is used up.
    fn program(&mut self) -> String {
        let gives_pairs = self.below(3) == 0;
        let ops = [self.operation(), self.operation()];
        let functions = 1 + self.below(3);
        let mut text = EXTREMES.to_owned();
        for f in 0..functions {
            let test = self.test();
            let [few, many] = [(); 2].map(|()| match gives_pairs {
                true => self.pairs(ops, functions),
                false => format!("      return {}\n", self.together(ops[0], functions)),
            });
            let (ty, leaf) = match gives_pairs {
                true => ("(u24, u24)", format!("({}, {})", self.number(2), self.number(1))),
                false => ("u24", self.number(2)),
            };
            text += &format!(
                "def f{f}(d: u24, x: u24, y: u24) -> {ty}:\n  if d < 2:\n    return {leaf}\n  else:\n    if {test}:\n{few}    else:\n{many}\n"
            );
        }
        let (x, y) = (self.below(1 << 24), self.below(100));
        text + &format!("def main():\n  return f0({}, {x}, {y})\n", 5 + self.below(5))
    }
}

/// Texts put together by an operation, or by a function of two numbers.
fn joined(op: &str, parts: &[String]) -> String {
    let (first, others) = parts.split_first().expect("there is one");
    let is_function = op.starts_with(char::is_alphabetic);
    others.iter().fold(first.clone(), |text, part| match is_function {
        true => format!("{op}({part}, {text})"),
        false => format!("{text} {op} {part}"),
    })
}

/// Random functions that call each other, on the processor or on the device that `GIRIH_REDUCER_DEVICE` names; `GIRIH_REDUCER_RANDOM` says how many.
#[test]
fn random_reducers_do_what_the_evaluator_does() {
    let device = std::env::var("GIRIH_REDUCER_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    let count = sample("GIRIH_REDUCER_RANDOM", 100, 800);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut same = 0;
    for seed in 0..count {
        let text = Writer(Random::new(seed)).program();
        let case = Case::random(folder.path(), &text);
        let form = forms()[seed as usize % forms().len()];
        let Some(found) = run(&case, &device, form) else { continue };
        if matches!(found.value, Err((girih::Code::Internal, _))) {
            continue;
        }
        let oracle = case.run(RunDevice::Evaluator, &|_| {});
        assert!(agree(&case, &oracle, &found), "{seed}: {oracle:?} / {found:?}\n{text}");
        same += 1;
    }
    eprintln!("{same} of {count} are the same on {device}");
    assert!(same >= count / 4, "only {same} are the same");
}

/// With every access looked at: none is outside of its buffer, and no lanes meet.
#[test]
fn lanes_of_reducers_do_not_meet() {
    let share = share(16);
    let (same, different) = compare("interpreter", 2, share);
    eprintln!("{same} are the same");
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    assert!(same >= share.least(15), "only {same} are the same");
}
