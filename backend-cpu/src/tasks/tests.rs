//! How runs end and what they take; their results are the matter of the conformance suite.

use super::{Tasks, open};
use girih_base::span::SourceId;
use girih_ir::{Module, Verified, text, verify};
use girih_runtime::{Fault, Runner, TaskOptions, TaskStats};
use girih_workbench::work::Watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LISTS: &str = include_str!("../../../tests/ir/tasks/lists.gir");
const TREES: &str = include_str!("../../../tests/ir/tasks/trees.gir");

const DEEP: &str = "
    fn @count(%n: u32) -> u32 {
      if (eq %n, 0) {
        return 0
      }
      return (add 1, (call @count((sub %n, 1))))
    }
    fn @endless(%n: u32) -> u32 {
      return (add 1, (call @endless((add %n, 1))))
    }
    fn @turns(%n: u32) -> u32 {
      tail @turns((add %n, 1))
    }
    fn @around(%n: u32) -> u32 {
      %m: u32 = loop (%i: u32 = %n) {
        continue (add %i, 1)
      }
      return %m
    }
    fn @ping(%n: u32) -> u32 {
      if (eq %n, 0) {
        return 1
      }
      tail @pong((sub %n, 1))
    }
    fn @pong(%n: u32) -> u32 {
      if (eq %n, 0) {
        return 2
      }
      tail @ping((sub %n, 1))
    }
";

const FAILS: &str = "
    fn @work(%depth: u32, %bad: u32, %at: u32) -> u32 {
      if (eq %depth, 0) {
        trap_if (eq %at, %bad) code(7)
        return 1
      }
      %d = sub %depth, 1
      %left = fork @work(%d, %bad, (shl %at, 1))
      %right = call @work(%d, %bad, (add (shl %at, 1), 1))
      return (add (join @work %left), %right)
    }
";

/// One tree that all forked calls sum, and that is changed in place when they are done.
const SHARED: &str = "
    fn @many(%depth: u32, %tree: term) -> u32 {
      if (eq %depth, 0) {
        return (call @sum(%tree))
      }
      %d = sub %depth, 1
      %one, %other = term.share %tree
      %left = fork @many(%d, %one)
      %right = call @many(%d, %other)
      return (add (join @many %left), %right)
    }
    fn @raised(%tree: term) -> term {
      if (ne (term.tag %tree), 4) {
        %more = add (term.payload %tree), 1
        term.drop %tree
        return (term.pack 0, %more)
      }
      %token, %left, %right = cell.open @node %tree
      return (cell.fill @node %token, (call @raised(%left)), (call @raised(%right)))
    }
    fn @shared(%depth: u32) -> u32, u32 {
      %one, %other = term.share (call @make(4, 0))
      %sums = call @many(%depth, %one)
      return %sums, (call @sum((call @raised(%other))))
    }
";

/// For each element of a recursion over a list a sum is forked, which itself forks one for each of its elements. What all of them leave in memory is one tree.
const EACH: &str = "
    fn @turn(%n: u32, %x: u32) -> u32 {
      %last: u32 = loop (%i: u32 = 0, %y: u32 = %x) {
        if (eq %i, %n) {
          break %y
        }
        continue (add %i, 1), (xor (mul %y, 1664525), %i)
      }
      return %last
    }
    fn @inner(%n: u32, %tree: term) -> u32 {
      if (eq %n, 0) {
        term.drop %tree
        return 0
      }
      %one, %other = term.share %tree
      %here = fork @sum(%one)
      %rest = call @inner((sub %n, 1), %other)
      return (add (join @sum %here), (add %rest, (and (call @turn(%n, %n)), 1)))
    }
    fn @outer(%n: u32, %m: u32, %tree: term) -> u32 {
      if (eq %n, 0) {
        term.drop %tree
        return 0
      }
      %one, %other = term.share %tree
      %here = fork @inner(%m, %one)
      %rest = call @outer((sub %n, 1), %m, %other)
      return (add (join @inner %here), %rest)
    }
    fn @each(%n: u32, %m: u32) -> u32 {
      return (call @outer(%n, %m, (call @make(2, 0))))
    }
";

struct Machine {
    module: Verified<Module>,
    tasks: Tasks,
}

fn machine(source: &str, options: TaskOptions) -> Machine {
    let parsed = text::parse(SourceId::new(0), source).expect("it can be read");
    let module = verify(parsed.module).expect("it is right");
    let tasks = open(&module, &options).expect("it can be compiled");
    Machine { module, tasks }
}

impl Machine {
    fn call(&mut self, name: &str, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
        self.tasks.call(self.module.find(name).expect("it has the function"), arguments)
    }
}

fn counted() -> TaskOptions {
    TaskOptions { count: true, ..TaskOptions::default() }
}

#[test]
fn reversing_reuses_every_cell() {
    let mut with = machine(LISTS, counted());
    assert_eq!(with.call("reversed", &[1000]).expect("it ends"), [501_500]);
    let TaskStats { allocated, reused, freed, live, live_bytes, .. } = with.tasks.stats();
    assert_eq!((allocated, reused, freed, live, live_bytes), (1000, 1000, 1000, 0, 0));

    let mut without = machine(LISTS, TaskOptions { reuse: false, ..counted() });
    assert_eq!(without.call("reversed", &[1000]).expect("it ends"), [501_500]);
    let TaskStats { allocated, reused, freed, live, .. } = without.tasks.stats();
    assert_eq!((allocated, reused, freed, live), (2000, 0, 2000, 0));
}

#[test]
fn what_is_given_back_is_taken_again() {
    let mut machine = machine(LISTS, TaskOptions { memory: 16_000, ..counted() });
    for _ in 0..5 {
        assert_eq!(machine.call("dropped", &[1000]).expect("it fits"), [1000]);
    }
    assert_eq!(machine.tasks.stats().most_bytes, 16_000);
    let more = machine.call("dropped", &[1001]);
    assert!(matches!(more, Err(Fault::Memory { limit: 16_000, .. })), "{more:?}");
    // A run that has ended says again why.
    assert!(matches!(machine.call("dropped", &[1]), Err(Fault::Memory { .. })));
}

#[test]
fn long_lists_are_dropped_without_recursion() {
    let mut machine = machine(LISTS, TaskOptions { stack: 1 << 20, ..counted() });
    assert_eq!(machine.call("dropped", &[2_000_000]).expect("it ends"), [2_000_000]);
    assert_eq!(machine.tasks.stats().live_bytes, 0);
}

#[test]
fn what_is_given_back_at_once_is_taken_again_by_any_thread() {
    let mut machine = machine(LISTS, TaskOptions { threads: 2, ..counted() });
    let mut most = vec![];
    for _ in 0..5 {
        assert_eq!(machine.call("dropped", &[20_000]).expect("it fits"), [20_000]);
        let stats = machine.tasks.stats();
        assert_eq!(stats.live_bytes, 0);
        most.push(stats.most_bytes);
    }
    assert_eq!(most, [most[0]; 5]);
}

#[test]
fn shortages_can_be_made() {
    for n in 1..=8 {
        let mut machine = machine(LISTS, TaskOptions { fail_each: Some(n), ..counted() });
        let result = machine.call("dropped", &[5]);
        if n <= 5 {
            assert!(matches!(result, Err(Fault::Memory { .. })), "{n}: {result:?}");
        } else {
            assert_eq!(result.expect("no cell fails"), [5]);
        }
    }
}

#[test]
fn deep_calls_need_only_stack() {
    let mut machine = machine(DEEP, TaskOptions::default());
    assert_eq!(machine.call("count", &[3_000_000]).expect("there is stack enough"), [3_000_000]);
    assert_eq!(machine.call("ping", &[50_000_001]).expect("it takes no stack"), [2]);
}

#[test]
fn the_stack_has_a_limit_and_says_where() {
    let mut machine = machine(DEEP, TaskOptions { stack: 32 << 20, ..TaskOptions::default() });
    let endless = machine.module.find("endless").expect("it has the function");
    for _ in 0..2 {
        let result = machine.call("endless", &[0]);
        let Err(Fault::Stack { limit, function }) = result else { panic!("{result:?}") };
        assert_eq!((limit, function), (32 << 20, Some(endless)));
    }
}

#[test]
fn loops_can_be_interrupted() {
    for name in ["turns", "around", "endless"] {
        let flag = Arc::new(AtomicBool::new(false));
        let options = TaskOptions { interrupt: Some(flag.clone()), stack: 8 << 30, ..TaskOptions::default() };
        let mut machine = machine(DEEP, options);
        let alarm = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            flag.store(true, Ordering::Relaxed);
        });
        let result = machine.call(name, &[0]);
        assert!(matches!(result, Err(Fault::Interrupted)), "{name}: {result:?}");
        alarm.join().expect("it has not panicked");
    }
}

/// While some threads have left already, others still run calls that those have forked.
#[test]
fn threads_that_are_interrupted_end_in_any_order() {
    for moment in 0..40 {
        let flag = Arc::new(AtomicBool::new(false));
        let options = TaskOptions { threads: 8, interrupt: Some(flag.clone()), ..TaskOptions::default() };
        let mut machine = machine(TREES, options);
        let alarm = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(500 * moment));
            flag.store(true, Ordering::Relaxed);
        });
        let result = machine.call("count", &[60]);
        assert!(matches!(result, Err(Fault::Interrupted)), "{result:?}");
        alarm.join().expect("it has not panicked");
    }
}

#[test]
fn threads_take_what_is_forked() {
    let mut machine = machine(TREES, TaskOptions { threads: 4, ..counted() });
    // On a busy machine it may take a while until they come to it; but they are given as much of the processor as this thread.
    let watch = Watch::start();
    while machine.tasks.stats().steals < 10 {
        assert_eq!(machine.call("count", &[20]).expect("it ends"), [1 << 20]);
        assert_eq!(machine.call("tree_sum", &[14]).expect("it ends"), [134_209_536]);
        assert!(watch.took() < Duration::from_secs(60), "other threads have done nothing");
    }
    assert_eq!(machine.tasks.stats().live_bytes, 0);
}

#[test]
fn what_threads_have_shared_is_changed_in_place() {
    let mut machine = machine(&format!("{TREES}{SHARED}"), TaskOptions { threads: 4, ..counted() });
    let watch = Watch::start();
    let mut runs = 0;
    while machine.tasks.stats().steals < 10 {
        assert_eq!(machine.call("shared", &[12]).expect("it ends"), [120 << 12, 120 + 16]);
        runs += 1;
        let TaskStats { reused, live, live_bytes, .. } = machine.tasks.stats();
        assert_eq!((reused, live, live_bytes), (15 * runs, 0, 0));
        assert!(watch.took() < Duration::from_secs(60), "other threads have done nothing");
    }
}

#[test]
fn a_fault_of_any_thread_ends_the_run() {
    for bad in [0, 1, 77_777, (1 << 17) - 1] {
        let mut machine = machine(FAILS, TaskOptions { threads: 3, ..TaskOptions::default() });
        assert_eq!(machine.call("work", &[17, u32::MAX, 0]).expect("nothing is bad"), [1 << 17]);
        let result = machine.call("work", &[17, bad, 0]);
        assert!(matches!(result, Err(Fault::Trap(7))), "{bad}: {result:?}");
        assert!(matches!(machine.call("work", &[0, 1, 0]), Err(Fault::Trap(7))));
    }
}

#[test]
fn machines_come_and_go() {
    for threads in [1, 2, 7] {
        for _ in 0..10 {
            let mut machine = machine(TREES, TaskOptions { threads, ..TaskOptions::default() });
            assert_eq!(machine.call("count", &[6]).expect("it ends"), [64]);
        }
    }
}

#[test]
fn words_that_are_no_cells_are_only_looked_at() {
    let mut machine = machine(LISTS, counted());
    for word in [0, 3, 4, 12, u32::MAX, 0xffff_fffc] {
        assert_eq!(machine.tasks.layout(word), None, "{word}");
        assert_eq!(machine.tasks.field(word, 0), 0);
        machine.tasks.share(word);
        Runner::drop(&mut machine.tasks, word);
    }
}

#[test]
fn calls_for_each_element_run_once_on_any_number_of_threads() {
    let source = format!("{TREES}{EACH}");
    let on = |threads| machine(&source, TaskOptions { threads, ..counted() });
    let mut one = on(1);
    let expected = one.call("each", &[300, 40]).expect("it ends");
    let once = one.tasks.stats().forks;
    for threads in [2, 3, 8] {
        let mut machine = on(threads);
        let (watch, mut runs) = (Watch::start(), 0);
        while runs < 20 || machine.tasks.stats().steals < 1000 {
            assert_eq!(machine.call("each", &[300, 40]).expect("it ends"), expected, "on {threads} threads");
            runs += 1;
            assert!(watch.took() < Duration::from_secs(60), "other threads have done nothing");
        }
        let TaskStats { live, forks, .. } = machine.tasks.stats();
        assert_eq!((live, forks), (0, runs * once), "on {threads} threads");
    }
}
