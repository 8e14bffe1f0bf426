//! Programs on a device, for which the reference machine on lowered kernels stands: it is everywhere.

use super::device_race::{self, Entrant, Finish};
use super::{Contest, RunDevice, RunOptions, Tier, Work};
use crate::devices::{Profile, Selector};
use crate::{Code, Error, Options, Program, SystemHost};
use girih_runtime::{DeviceKind, StepStats};
use girih_term::io::Host;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SORT: &str = "\
def merge(a, b):
  match a:
    case List/Nil:
      return b
    case List/Cons:
      match b:
        case List/Nil:
          return List/Cons(a.head, a.tail)
        case List/Cons:
          if a.head < b.head:
            return List/Cons(a.head, merge(a.tail, List/Cons(b.head, b.tail)))
          else:
            return List/Cons(b.head, merge(List/Cons(a.head, a.tail), b.tail))

def sorted(depth, n):
  if depth == 0:
    return [n * 37 % 64]
  else:
    return merge(sorted(depth - 1, n * 2), sorted(depth - 1, n * 2 + 1))

def main():
  return sorted(4, 0)
";
const SORTED: &str = "[0, 3, 6, 10, 13, 20, 23, 30, 33, 37, 40, 43, 47, 50, 57, 60]";

fn lowered() -> RunOptions {
    RunOptions { device: RunDevice::Device(Selector::Lowered(Profile::Cpu)), ..RunOptions::default() }
}

fn program(text: &str) -> Program {
    Program::from_text("test.bend", text, &Options::default())
}

fn run(text: &str, options: &RunOptions) -> Result<String, Error> {
    program(text).run(&mut SystemHost::new(), options).map(|outcome| outcome.text)
}

/// The code of the first error.
fn refused(text: &str, options: &RunOptions) -> Code {
    run(text, options).expect_err("it fails").diagnostics[0].code
}

#[test]
fn a_program_runs_on_a_device_again_and_again() {
    let mut executable = program(SORT).compile(&lowered()).expect("it compiles");
    let mut seen = vec![];
    for _ in 0..3 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), SORTED);
        let Work::Compiled(work) = executable.stats().work else { panic!("it is compiled") };
        seen.push((work.most_bytes, work.steps));
    }
    assert!(seen[0].0 > 0 && seen.iter().all(|one| one == &seen[0]), "{seen:?}");
    let StepStats { lanes, steps, tasks, submissions, dispatches, .. } = seen[0].1.expect("it ran by fork-join");
    assert!(steps >= 1 && tasks >= 1 && submissions >= 1 && dispatches >= 2 * steps, "{seen:?}");
    let choice = executable.choice().to_string();
    let expected = format!("{lanes} lanes: nothing that runs needs nets; the device was named");
    assert!(choice.starts_with("direct tier on lowered:cpu (") && choice.contains(&expected), "{choice}");
    assert!(choice.contains("; by fork-join, because "), "{choice}");
    let stats = executable.stats().to_string();
    assert!(stats.contains(&format!("steps:       {steps}, {dispatches} dispatches")), "{stats}");
    assert!(!stats.contains("thread"), "{stats}");
}

#[test]
fn an_error_has_its_place_and_does_not_stay() {
    let text = "def main():\n  return [1 / n for n in [1, 0]]\n";
    for explain in [true, false] {
        let options = RunOptions { explain, ..lowered() };
        let mut executable = program(text).compile(&options).expect("it compiles");
        for _ in 0..2 {
            let report = executable.run(&mut SystemHost::new()).expect_err("it divides by zero");
            let error = &report.diagnostics[0];
            assert_eq!(error.code, Code::DivisionByZero, "{report}");
            let place = error.span();
            assert_eq!(&text[place.start as usize..place.end as usize], "1 / n");
        }
    }
}

#[test]
fn memory_that_is_too_little_or_too_much_is_an_error() {
    let grow = "def grow(list, n):\n  if 1:\n    return grow(List/Cons(n, list), n + 1)\n  else:\n    return list\n\ndef main():\n  return grow([], 0)\n";
    let with = |heap| RunOptions { heap: Some(heap), ..lowered() };
    assert_eq!(refused(grow, &with(1 << 16)), Code::OutOfMemory);
    assert_eq!(run(SORT, &with(1 << 20)).expect("there is enough"), SORTED);
    let too_much = run(SORT, &with(5 << 30)).expect_err("no word says where it would be");
    assert_eq!(too_much.diagnostics[0].code, Code::OverLimit);
    assert!(too_much.diagnostics[0].message.contains("5120 MiB"), "{too_much}");
    let deep = "def deep(n):\n  if n == 16777215:\n    return 0\n  else:\n    return 1 + 2 * deep(n + 1)\n\ndef main():\n  return deep(1)\n";
    assert_eq!(refused(deep, &with(1 << 20)), Code::TooManyCalls);
}

#[test]
fn effects_are_performed_between_supersteps() {
    let text = "\
def main():
  with IO:
    * <- IO/print(\"what?\\n\")
    line <- IO/input()
    * <- IO/print(\"so:\\n\")
    return line
";
    let written = Arc::new(std::sync::Mutex::new(vec![]));
    let mut host = SystemHost::new()
        .with_stdin(std::io::Cursor::new(b"a line\nand one more\n"))
        .with_stdout(Box::new(Sink(Arc::clone(&written))));
    let result = program(text).run(&mut host, &lowered()).expect("it ends").text;
    drop(host);
    assert_eq!(result, "Result/Ok(\"a line\")");
    assert_eq!(*written.lock().expect("nobody has panicked"), b"what?\nso:\n");
}

struct Sink(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody has panicked").extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_program_on_a_device_can_be_stopped() {
    let flag = Arc::new(AtomicBool::new(false));
    let options = RunOptions { interrupt: Some(Arc::clone(&flag)), ..lowered() };
    let text = "def forever(n):\n  if n == 1:\n    return forever(1)\n  else:\n    return forever(n + 1)\n\ndef main():\n  return forever(0)\n";
    let mut executable = program(text).compile(&options).expect("it compiles");
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        flag.store(true, Ordering::Relaxed);
    });
    let error = executable.run(&mut SystemHost::new()).expect_err("it is stopped");
    assert_eq!(error.diagnostics[0].code, Code::Interrupted);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let threads = RunOptions { threads: NonZeroUsize::new(2), ..lowered() };
    assert_eq!(refused(SORT, &threads), Code::BadArguments);
    let net = RunOptions { tier: Tier::Net, ..threads };
    assert_eq!(refused(SORT, &net), Code::BadArguments);
    let evaluator = RunOptions { device: RunDevice::Evaluator, tier: Tier::Net, ..RunOptions::default() };
    assert_eq!(refused(SORT, &evaluator), Code::BadArguments);
    for absent in [Selector::Cuda(1000), Selector::Wgpu(Some("no such adapter".to_owned()))] {
        assert_eq!(refused(SORT, &RunOptions { device: RunDevice::Device(absent), ..lowered() }), Code::NoDevice);
    }
}

#[test]
fn nets_run_where_they_are_told() {
    let text = "def count(n):\n  switch n:\n    case 0:\n      return 1.5f32\n    case _:\n      return count(n-1) + count(n-1)\n\ndef main():\n  return (count(4), 7)\n";
    let value = program(text).run(&mut SystemHost::new(), &RunOptions::default()).expect("it ends").text;
    let one = NonZeroUsize::new(1);
    let host = RunOptions { device: RunDevice::Cpu, threads: one, ..RunOptions::default() };
    for (options, place) in [(host, "net tier on the processor, 1 thread: "), (lowered(), "net tier on lowered:")] {
        let options = RunOptions { tier: Tier::Net, heap: Some(1 << 20), ..options };
        let mut executable = program(text).compile(&options).expect("it compiles");
        for _ in 0..2 {
            assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), value);
        }
        let choice = executable.choice().to_string();
        assert!(choice.starts_with(place), "{choice}");
    }
}

#[test]
fn programs_whose_control_flow_is_known_are_flattened() {
    let text = "def sum(d, x):\n  switch d:\n    case 0:\n      return x\n    case _:\n      return sum(d-1, x * 2) + sum(d-1, x * 2 + 1)\n\ndef main():\n  return (sum(9, 0), 7)\n";
    let mut executable = program(text).compile(&lowered()).expect("it compiles");
    for _ in 0..2 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), "(130816, 7)");
    }
    let choice = executable.choice().to_string();
    assert!(choice.ends_with("; flattened, because its control flow is known in advance"), "{choice}");
}

#[test]
fn recursion_whose_results_combine_in_any_order_is_a_reducer() {
    let text = "def ways(left: u24, seen: u24) -> u24:\n  if left == 0:\n    return 1\n  else:\n    if seen % 3 == 0:\n      return ways(left - 1, seen + 1)\n    else:\n      return ways(left - 1, seen + 2) + ways(left - 1, seen * 5)\n\ndef main():\n  return (ways(12, 1), ways(3, 0))\n";
    let value = program(text).run(&mut SystemHost::new(), &RunOptions::default()).expect("it ends").text;
    let mut executable = program(text).compile(&lowered()).expect("it compiles");
    for _ in 0..2 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), value);
    }
    let choice = executable.choice().to_string();
    assert!(choice.contains("; as a reducer, "), "{choice}");
}

/// Flattened: nothing is given back: a plan that needs more than there is is not begun.
#[test]
fn a_plan_that_needs_too_much_memory_is_refused() {
    let text = "def tree(d):\n  switch d:\n    case 0:\n      return !1\n    case _:\n      return ![tree(d-1), tree(d-1)]\n\ndef sum(t):\n  match t:\n    case Tree/Leaf:\n      return t.value\n    case Tree/Node:\n      return sum(t.left) + sum(t.right)\n\ndef main():\n  return sum(tree(9)) + sum(tree(9))\n";
    let options = RunOptions { heap: Some(16 << 10), ..lowered() };
    let executable = program(text).compile(&options).expect("it compiles");
    let choice = executable.choice().to_string();
    assert!(choice.contains("; by fork-join, because there is too little memory for all that it makes;"), "{choice}");
}

/// `auto` beside a card for which the reference machine stands.
fn contest(head_start: Duration) -> RunOptions {
    let cards = vec![Selector::Wgpu(Some("no such adapter".to_owned())), Selector::Lowered(Profile::Cpu)];
    RunOptions { contest: Some(Contest { head_start, cards, ..Contest::default() }), ..RunOptions::default() }
}

#[test]
fn the_processor_begins_while_a_card_is_looked_for() {
    let mut executable = program(SORT).compile(&contest(Duration::MAX)).expect("it compiles");
    let choice = executable.choice().to_string();
    assert!(choice.ends_with("`auto` begins with this device, while it looks for a card"), "{choice}");
    for _ in 0..3 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), SORTED);
        assert_eq!(executable.stats().answered.as_deref(), Some("cpu"));
        assert!(executable.was_in_contest());
    }
    let stats = executable.stats().to_string();
    assert!(stats.contains("\nanswered:    cpu\n"), "{stats}");
    // Whoever is first, it is the same.
    let mut executable = program(SORT).compile(&contest(Duration::ZERO)).expect("it compiles");
    for _ in 0..3 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), SORTED);
    }
}

#[test]
fn a_card_answers_where_the_processor_cannot() {
    let options = RunOptions { fail_each: Some(1), heap: Some(1 << 20), ..contest(Duration::ZERO) };
    let mut executable = program(SORT).compile(&options).expect("it compiles");
    for _ in 0..3 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), SORTED);
        assert_eq!(executable.stats().answered.as_deref(), Some("lowered:cpu"));
    }
    assert_eq!(executable.choice().device, "lowered:cpu");
    // And where neither can, the processor says why.
    let options = RunOptions { heap: Some(1 << 8), ..options };
    assert_eq!(refused(SORT, &options), Code::OutOfMemory);
}

#[test]
fn errors_of_a_program_in_a_contest_come_once() {
    let text = SORT.replace("n * 37 % 64", "n / 0");
    for head_start in [Duration::ZERO, Duration::MAX] {
        let report = run(&text, &contest(head_start)).expect_err("it fails");
        let codes: Vec<Code> = report.diagnostics.iter().map(|error| error.code).collect();
        assert_eq!(codes, [Code::DivisionByZero]);
    }
}

/// A program that asks, waits for answers, computes and says what came of it, again and again.
const TALKS: &str = "
def talk(n, sum):
  with IO:
    * <- IO/print(\"more?\\n\")
    line <- IO/input()
    match line:
      case Result/Ok:
        match line.val:
          case String/Cons:
            * <- IO/print(\"so:\\n\")
            more = total(sorted(4, n))
            return talk(n + 1, sum + more)
          case String/Nil:
            return wrap((n, sum))
      case Result/Err:
        return wrap((n, sum))

def total(list):
  match list:
    case List/Nil:
      return 0
    case List/Cons:
      return list.head + total(list.tail)

def main():
  return talk(0, 0)
";

#[test]
fn effects_of_a_program_in_a_contest_are_performed_once() {
    let text = SORT.replace("def main():\n  return sorted(4, 0)\n", TALKS);
    let talk = |options: &RunOptions| {
        let mut executable = program(&text).compile(options).expect("it compiles");
        let mut answers = vec![];
        for _ in 0..3 {
            let written = Arc::new(std::sync::Mutex::new(vec![]));
            let mut host = SystemHost::new()
                .with_stdin(std::io::Cursor::new(b"a\nb\nc\n"))
                .with_stdout(Box::new(Sink(Arc::clone(&written))));
            let result = executable.run(&mut host).expect("it ends");
            drop(host);
            answers.push((result, written.lock().expect("nobody has panicked").clone()));
        }
        (executable.was_in_contest(), answers)
    };
    let alone = talk(&RunOptions { device: RunDevice::Cpu, ..RunOptions::default() });
    assert!(!alone.0);
    let said = String::from_utf8(alone.1[0].1.clone()).expect("it is text");
    assert_eq!(said.matches("more?\n").count(), 4, "{said}");
    for options in [contest(Duration::MAX), contest(Duration::ZERO), helped()] {
        assert_eq!(talk(&options), (true, alone.1.clone()));
    }
    // Where the processor has no memory, the other one goes on from where it was.
    let options = RunOptions { fail_each: Some(400), heap: Some(1 << 20), ..contest(Duration::ZERO) };
    assert_eq!(talk(&options).1, alone.1);
}

/// A device that was named, for which the reference machine stands, and the processor beside it.
fn helped() -> RunOptions {
    let contest = Contest { helps_software: true, ..Contest::default() };
    RunOptions { contest: Some(contest), ..lowered() }
}

#[test]
fn the_processor_helps_a_device_that_was_named() {
    let mut executable = program(SORT).compile(&helped()).expect("it compiles");
    let choice = executable.choice().to_string();
    assert!(choice.contains("the device was named, and the processor runs the program beside it"), "{choice}");
    for _ in 0..8 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), SORTED);
        assert!(["cpu", "lowered:cpu"].contains(&executable.stats().answered.as_deref().unwrap_or_default()));
    }
    // Errors are the program's, whoever finds them.
    let report = run(&SORT.replace("n * 37 % 64", "n / 0"), &helped()).expect_err("it fails");
    assert_eq!(report.diagnostics.iter().map(|error| error.code).collect::<Vec<_>>(), [Code::DivisionByZero]);
    // Where the processor cannot, the device answers, and where the device cannot, nothing begins.
    let options = RunOptions { fail_each: Some(1), heap: Some(1 << 20), ..helped() };
    let mut executable = program(SORT).compile(&options).expect("it compiles");
    for _ in 0..4 {
        assert_eq!(executable.run(&mut SystemHost::new()).expect("it ends"), SORTED);
        assert_eq!(executable.stats().answered.as_deref(), Some("lowered:cpu"));
        assert_eq!(executable.helper(), None);
    }
}

#[test]
fn a_card_is_helped_and_software_is_not_unless_asked() {
    let kinds =
        [DeviceKind::Cuda, DeviceKind::Wgpu, DeviceKind::WgpuSoftware, DeviceKind::Cpu, DeviceKind::Interpreter];
    let helps = |contest: &Contest| kinds.map(|kind| contest.helps(kind));
    assert_eq!(helps(&Contest::default()), [true, true, false, false, false]);
    assert_eq!(helps(&Contest { helps_software: true, ..Contest::default() }), [true; 5]);
    let alone = RunOptions { contest: Some(Contest::default()), ..lowered() };
    assert!(!program(SORT).compile(&alone).expect("it compiles").was_in_contest());
}

#[test]
fn the_processor_stops_when_a_card_is_done() {
    let forever = "def count(x: u24) -> u24:\n  if x == 1:\n    return count(1)\n  else:\n    return count(x + 1)\n\ndef main() -> u24:\n  return count(0)\n";
    let flag = Arc::new(AtomicBool::new(false));
    let options = RunOptions { device: RunDevice::Cpu, interrupt: Some(flag.clone()), ..RunOptions::default() };
    let mut executable = program(forever).compile(&options).expect("it compiles");
    let processor = move |_: &mut (dyn Host + Send)| {
        let result = executable.run(&mut SystemHost::new());
        Some(Finish { outcome: result, is_final: false })
    };
    let card = |_: &mut (dyn Host + Send)| {
        std::thread::sleep(Duration::from_millis(200));
        Some(Finish { outcome: Ok("a value".to_owned()), is_final: true })
    };
    let processor = Entrant { flag, run: Box::new(processor) };
    let card = Entrant { flag: Arc::default(), run: Box::new(card) };
    // The processor would go on for ever, and has stopped when this returns.
    let race = device_race::first(processor, Some(card), Duration::ZERO, None, &mut SystemHost::new());
    assert_eq!(race.outcome.expect("a card is done").expect("a value"), "a value");
}
