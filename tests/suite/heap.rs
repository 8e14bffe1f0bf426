//! The heap of a device: in parts where one binding does not reach all of it, and collected where it may not grow any more.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure.

use crate::support::machine;
use crate::support::random::Random;
use girih::devices::{self, Profile, Selector};
use girih::{Code, Options, Program, RunDevice, RunOptions, SystemHost, on_big_stack};
use girih_runtime::{Device, Runner, StepStats, TaskOptions};
use girih_task::flow::Root;
use girih_task::forkjoin::Form;
use girih_task::forkjoin::runner::{ForkJoinOptions, ForkJoinRunner};
use girih_task::heap::{MOST_HEAP, PARTS, Segmented};
use girih_term::code;
use girih_term::eval::{Limits, Machine};
use girih_workbench::share;

/// Few lanes, and a heap and a pool that begin small.
const SMALL: ForkJoinOptions = ForkJoinOptions {
    lanes: 64,
    frames: 1 << 9,
    most_frames: 1 << 16,
    heap: 4 << 10,
    most_heap: 240 << 10,
    steps: 2000,
    form: Form::SMALL,
    batch: 8,
};

/// Bytes of a part of a small heap.
const PART: u64 = 64 << 10;

fn program(text: &str) -> Program {
    Program::from_text("test.bend", text, &Options::default())
}

/// A run of which nothing is explained.
fn options() -> RunOptions {
    RunOptions { explain: false, ..RunOptions::default() }
}

fn expected(text: &str) -> String {
    let evaluator = RunOptions { device: RunDevice::Evaluator, ..options() };
    let mut host = SystemHost::new().with_stdout(Box::new(std::io::sink()));
    program(text).run(&mut host, &evaluator).expect("it ends").text
}

/// What a program gives; or its error, and the text of the place that this names.
type Found = Result<String, (Code, String)>;

/// What a program gives on a device, and what that took.
fn run(text: &str, device: Device, options: ForkJoinOptions) -> Result<(Found, ForkJoinOptions, StepStats), Code> {
    let program = program(text);
    let code = code::Code::new(program.core_program().expect("it is right")).expect("it can run");
    let roots: Vec<Root> = code.program().entry.iter().map(|def| Root { def: *def, arguments: vec![] }).collect();
    let direct = girih_task::compile_for_lanes(&code, &roots).expect("it compiles");
    let called = [direct.entry, direct.apply, direct.force];
    let mut runner = ForkJoinRunner::open(&direct.module, &called, device, &TaskOptions::default(), options)
        .map_err(|errors| errors[0].code)?;
    let mut machine = Machine::new(&code, Limits::default());
    let mut host = SystemHost::new().with_stdout(Box::new(std::io::sink()));
    let result = girih_task::run::run(&mut machine, &direct, &mut runner, &mut host, None);
    let stats = runner.stats().steps.expect("it ran by fork-join");
    let result = result.map_err(|error| {
        println!("{}", error.message);
        let span = error.span();
        (error.code, text[span.start as usize..span.end as usize].to_owned())
    });
    Ok((result, runner.options(), stats))
}

/// Trees that are looked at twice, one after another; a list and a tree that stay.
fn shares(depth: u32, rounds: u32, kept: u32, closures: bool) -> String {
    let twice = if closures { "twice(lambda x: total(x) + n, t)" } else { "total(t) + total(t)" };
    format!(
        "\
type Plant:
  Node {{ ~left, ~right }}
  Leaf {{ value }}

def grow(d, x):
  switch d:
    case 0:
      return Plant/Leaf {{ value: x }}
    case _:
      return Plant/Node {{ left: grow(d-1, x), right: grow(d-1, x + 1) }}

def total(tree):
  match tree:
    case Plant/Node:
      return total(tree.left) + total(tree.right)
    case Plant/Leaf:
      return tree.value

def twice(f, x):
  return f(x) + f(x)

def count(n, list):
  if n == 0:
    return list
  else:
    return count(n - 1, List/Cons(n, list))

def sum(list, so_far):
  match list:
    case List/Nil:
      return so_far
    case List/Cons:
      return sum(list.tail, so_far + list.head)

constant = (grow 3 5)

def rounds(n, list, tree, so_far):
  if n == 0:
    return (so_far, sum(list, 0), sum(list, 1), total(tree) + total(constant))
  else:
    t = grow({depth}, n)
    more = so_far + {twice} + total(tree) + total(constant)
    return rounds(n - 1, list, Plant/Node {{ left: t, right: Plant/Leaf {{ value: total(t) }} }}, more)

def both(d):
  switch d:
    case 0:
      return rounds({rounds}, count({kept}, []), Plant/Leaf {{ value: 1 }}, 0)
    case _:
      return (both(d-1), both(d-1))

def main():
  return both(2)
"
    )
}

/// So many bytes that a few rounds fill them, and a run's garbage does not fit.
fn little(lanes: u32, heap: u64) -> ForkJoinOptions {
    ForkJoinOptions { lanes, heap, most_heap: heap, ..SMALL }
}

#[test]
fn a_full_heap_is_collected() {
    on_big_stack(|| {
        let text = shares(5, 60, 300, false);
        let expected = expected(&text);
        let held = machine::WGPU.some_devices().into_iter().map(|adapter| (adapter, Some(Profile::Web)));
        let all = [Selector::Cpu].into_iter().chain(machine::WGPU.some_devices()).map(|selector| (selector, None));
        for (selector, profile) in share(2).of(all.chain(held)) {
            let device = devices::open(&selector, profile).expect("the device is there");
            let (found, options, stats) = run(&text, device, little(64, 96 << 10)).expect("it loads");
            assert_eq!(found.as_ref(), Ok(&expected), "{selector}: {stats:?}");
            assert!(stats.collections > 1 && options.heap == 96 << 10, "{selector}: {stats:?}");
        }
        // The same in four parts.
        let device =
            Segmented::with_parts(&devices::open(&Selector::Cpu, None).expect("it is there"), 32 << 10, 32 << 10);
        let (found, _, stats) = run(&text, device, little(64, 96 << 10)).expect("it loads");
        assert_eq!(found, Ok(expected), "{stats:?}");
        assert!(stats.collections > 1, "{stats:?}");
    });
}

/// What a program has made between two effects is given back too.
#[test]
fn programs_with_effects_go_on_for_long() {
    on_big_stack(|| {
        let text = shares(1, 1, 0, false).replace(
            "def main():\n  return both(2)\n",
            "\
def go_on(n, plant, so_far):
  if n == 0:
    return IO/wrap(so_far + total(plant))
  else:
    with IO:
      * <- IO/print(\"-\")
      return go_on(n - 1, grow(4, n), so_far + total(plant) + total(plant))

def main():
  return go_on(200, Plant/Leaf { value: 1 }, 0)
",
        );
        let device = devices::open(&Selector::Cpu, None).expect("it is there");
        let (found, options, stats) = run(&text, device, little(32, 32 << 10)).expect("it loads");
        assert_eq!(found, Ok(expected(&text)), "{stats:?}");
        assert_eq!(options.heap, 32 << 10);
    });
}

/// Lists and trees that are not finished when the heap is full: other calls run in each iteration of the loops that make them.
const UNFINISHED: &str = "\
def walk(x):
  t = grow(4, x)
  return (total(t) + total(t) + x) % 1009

def wander(n, x):
  switch n:
    case 0:
      return []
    case _:
      return List/Cons(x, wander(n-1, walk(x)))

def deal(list, x):
  match list:
    case List/Nil:
      return ([], [x])
    case List/Cons:
      (a, b) = deal(list.tail, walk(x))
      return (List/Cons(list.head, b), a)

type Set:
  Empty
  Member { value, ~left, ~right }

def put(set, value, x):
  match set:
    case Set/Empty:
      return Set/Member { value: value, left: Set/Empty, right: Set/Empty }
    case Set/Member:
      if value < set.value:
        return Set/Member { value: set.value, left: put(set.left, value, walk(x)), right: set.right }
      else:
        return Set/Member { value: set.value, left: set.left, right: put(set.right, value, walk(x)) }

def put_all(list, set):
  match list:
    case List/Nil:
      return set
    case List/Cons:
      return put_all(list.tail, put(set, list.head, list.head))

def digest(set):
  match set:
    case Set/Empty:
      return 1
    case Set/Member:
      return (digest(set.left) * 3 + set.value + digest(set.right) * 5) % 65521

def each(d, x):
  switch d:
    case 0:
      (a, b) = deal(wander(30, x), x)
      return digest(put_all(a, put_all(b, Set/Empty)))
    case _:
      return (each(d-1, x + 1) * 7 + each(d-1, x + 2)) % 65521

def main():
  return each(3, 1)
";

#[test]
fn what_is_not_finished_moves_in_a_collection() {
    on_big_stack(|| {
        let text = shares(1, 1, 0, false).replace("def main():\n  return both(2)\n", UNFINISHED);
        let expected = expected(&text);
        let all = [Selector::Interpreter(8), Selector::Cpu].into_iter().chain(machine::WGPU.some_devices());
        for selector in all {
            for (steps, form) in [(7, Form::SMALL), (2000, Form { workgroup: 32, stack: 16, ..Form::FAST })] {
                let device = devices::open(&selector, None).expect("the device is there");
                let options = ForkJoinOptions { steps, form, ..little(64, 64 << 10) };
                let (found, _, stats) = run(&text, device, options).expect("it loads");
                assert_eq!(found.as_ref(), Ok(&expected), "{selector}: {stats:?}");
                assert!(stats.collections > 1, "{selector}: {stats:?}");
            }
        }
    });
}

#[test]
fn collections_change_nothing() {
    // It is noted beside the name of the test, which its own thread has.
    let share = share(5);
    on_big_stack(|| {
        let mut collections = 0;
        for number in share.of(0..24) {
            let random = &mut Random::new(number);
            let pick = |random: &mut Random, all: &[u32]| *random.pick(all);
            let text = shares(
                pick(random, &[1, 3, 5, 7]),
                pick(random, &[10, 30, 90]),
                pick(random, &[0, 40, 400]),
                random.chance(50),
            );
            let form = if random.chance(40) { Form { workgroup: 32, stack: 16, ..Form::FAST } } else { Form::SMALL };
            let options = ForkJoinOptions {
                steps: pick(random, &[3, 40, 2000]),
                batch: pick(random, &[1, 8]) as usize,
                form,
                ..little(pick(random, &[32, 64, 96, 256]), u64::from(pick(random, &[48, 80, 160])) << 10)
            };
            let checked = number % 6 == 0;
            let selector = if checked { Selector::Interpreter(8) } else { Selector::Cpu };
            let device = devices::open(&selector, None).expect("the device is there");
            let (found, _, stats) = run(&text, device, options).expect("it loads");
            match found {
                // Where more is kept than there is room for, that is said.
                Err((Code::OutOfMemory, place)) => assert!(!place.is_empty(), "program {number} on {selector}"),
                found => assert_eq!(found, Ok(expected(&text)), "program {number} on {selector}, {options:?}\n{text}"),
            }
            println!("program {number}: {stats:?}");
            collections += stats.collections;
        }
        assert!(collections > share.least(50) as u64, "{collections}");
    });
}

#[test]
fn a_heap_of_several_parts_is_one() {
    on_big_stack(|| {
        let text = shares(4, 10, 200, true);
        let expected = expected(&text);
        let selectors = [(Selector::Cpu, None), (Selector::Interpreter(8), None)];
        let web = machine::WGPU.some_devices().into_iter().map(|adapter| (adapter, Some(Profile::Web)));
        for (selector, profile) in selectors.into_iter().chain(web) {
            for most_heap in share(2).of([PARTS as u64 * PART, 2 * PART]) {
                let inner = devices::open(&selector, profile).expect("the device is there");
                let device = Segmented::with_parts(&inner, PART, PART);
                let most_heap = most_heap - (16 << 10);
                // Within the web's limits nothing else has a binding left.
                let small = ForkJoinOptions { lanes: 32, frames: 1 << 8, most_frames: 1 << 8, ..SMALL };
                let options = if profile.is_some() { small } else { SMALL };
                let (found, options, stats) =
                    run(&text, device, ForkJoinOptions { most_heap, ..options }).expect("it loads");
                assert_eq!(found.as_ref(), Ok(&expected), "{selector}: {stats:?}");
                assert!(options.heap > most_heap / 2, "{selector}: {options:?}");
            }
        }
    });
}

#[test]
fn what_more_parts_would_need_is_said() {
    let text = "\
def grow(n, list):
  if n == 0:
    return list
  else:
    return grow(n - 1, List/Cons(n, list))

def main():
  return grow(1000000, [])
";
    on_big_stack(|| {
        let most_heap = PARTS as u64 * PART;
        let small = ForkJoinOptions { lanes: 32, frames: 1 << 8, most_frames: 1 << 8, most_heap, ..SMALL };
        let web = machine::WGPU.some_devices().into_iter().map(|adapter| (adapter, Some(Profile::Web)));
        for (selector, profile) in share(2).of([(Selector::Cpu, None)].into_iter().chain(web)) {
            let open = || {
                let device = devices::open(&selector, profile).expect("the device is there");
                Segmented::with_parts(&device, PART, PART)
            };
            let (found, options, stats) = run(text, open(), small).expect("it loads");
            assert_eq!(found, Err((Code::OutOfMemory, "List/Cons(n, list)".to_owned())), "{selector}: {stats:?}");
            assert!(options.heap > 3 * PART, "{selector}: {options:?}");
            let refused = run(text, open(), ForkJoinOptions { most_heap: most_heap + 256, ..small });
            assert_eq!(refused.err(), Some(Code::OverLimit), "{selector}");
        }
    });
}

/// What runs ask for is what all parts together reach.
#[test]
fn runs_reach_beyond_one_binding() {
    on_big_stack(|| {
        let text = shares(3, 2, 10, false);
        for adapter in machine::WGPU.some_devices() {
            let reach = devices::open(&adapter, None).expect("the device is there").reach();
            let run = |heap| {
                let device = RunDevice::Device(adapter.clone());
                let outcome = program(&text).run(&mut SystemHost::new(), &RunOptions { device, heap, ..options() });
                outcome.map(|outcome| outcome.text).map_err(|report| report.diagnostics[0].code)
            };
            let most = MOST_HEAP.min((PARTS as u64) << reach.ilog2());
            for heap in share(2).of([Some(most), Some(MOST_HEAP.min(reach + 256)), None]) {
                assert_eq!(run(heap), Ok(expected(&text)), "{adapter}, {heap:?}");
            }
            assert_eq!(run(Some(most + 256)), Err(Code::OverLimit), "{adapter}");
        }
    });
}

/// Leaves of so many numbers, so that few calls fill much memory; and a sum in which each leaf counts otherwise.
const NUMBERS: u32 = 14;

fn wide(depth: u32) -> String {
    let each = |text: &dyn Fn(u32) -> String, between: &str| (0..NUMBERS).map(text).collect::<Vec<_>>().join(between);
    let fields = each(&|i| format!("n{i}"), ", ");
    let values = each(&|i| format!("n{i}: x + {i}"), ", ");
    let sum = each(&|i| format!("tree.n{i}"), " + ");
    format!(
        "\
type Plant:
  Node {{ ~left, ~right }}
  Leaf {{ {fields} }}

def grow(d, x):
  switch d:
    case 0:
      return Plant/Leaf {{ {values} }}
    case _:
      return Plant/Node {{ left: grow(d-1, x), right: grow(d-1, x + 1) }}

def total(tree):
  match tree:
    case Plant/Node:
      return total(tree.left) * 3 + total(tree.right) * 2
    case Plant/Leaf:
      return {sum}

def main():
  t = grow({depth}, 1)
  return total(t) + total(t)
"
    )
}

/// What that program gives: a tree's sum is `a + b * x`, modulo 2^24.
fn wide_sum(depth: u32) -> u32 {
    let leaf = (NUMBERS * (NUMBERS - 1) / 2, NUMBERS);
    let (a, b) = (0..depth).fold(leaf, |(a, b), _| ((5 * a + 2 * b) & 0xff_ffff, (5 * b) & 0xff_ffff));
    (2 * (a + b)) & 0xff_ffff
}

#[test]
fn the_sum_of_wide_trees_is_known() {
    on_big_stack(|| assert_eq!(expected(&wide(6)), wide_sum(6).to_string()));
}

/// A heap of hundreds of MiB within the limits of the web, where a binding ends at 128.
#[test]
fn a_large_heap_within_the_limits_of_the_web() {
    on_big_stack(|| {
        // 2^21 leaves of 64 bytes, and as many nodes of 16: 160 MiB.
        let depth = 21;
        for adapter in machine::WGPU.some_devices() {
            let device = devices::open(&adapter, Some(Profile::Web)).expect("the device is there");
            let device = Segmented::over(device);
            let most_heap = device.reach() - (16 << 20);
            // For each lane as many as the tree is deep, twice: what is behind a fork, and who waits for it.
            let frames = 1 << 15;
            let options =
                ForkJoinOptions { lanes: 1 << 9, frames, most_frames: frames, heap: 32 << 20, most_heap, ..SMALL };
            let (found, options, stats) = run(&wide(depth), device, options).expect("it loads");
            println!("{adapter}: {found:?}, {options:?}, {stats:?}");
            assert_eq!(found, Ok(wide_sum(depth).to_string()), "{stats:?}");
            assert!(options.heap > 300 << 20, "{options:?}");
        }
    });
}
