//! What the machine takes and how it ends, besides results: those are the matter of `tests/ir/tasks`.

use girih_base::diag::Code;
use girih_base::span::SourceId;
use girih_ir::heap::{self, LayoutId};
use girih_ir::{FunctionId, Module, Verified, text, verify};
use girih_machine::tasks::{Elsewhere, TaskMachine, TaskSettings, check_line};
use girih_runtime::{Fault, Runner, TaskOptions, TaskStats};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const LISTS: &str = include_str!("../../../../tests/ir/tasks/lists.gir");
const TREES: &str = include_str!("../../../../tests/ir/tasks/trees.gir");
const CALLS: &str = include_str!("../../../../tests/ir/tasks/calls.gir");

const CHECKED: TaskSettings = TaskSettings { checked: true, seed: None, fuel: None };

fn module(source: &str) -> Verified<Module> {
    let parsed = text::parse(SourceId::new(0), source).expect("it can be read");
    verify(parsed.module).expect("it is right")
}

/// A machine with the module that it runs, whose functions have names.
struct Named {
    module: Verified<Module>,
    machine: TaskMachine,
}

impl Deref for Named {
    type Target = TaskMachine;
    fn deref(&self) -> &TaskMachine {
        &self.machine
    }
}

impl DerefMut for Named {
    fn deref_mut(&mut self) -> &mut TaskMachine {
        &mut self.machine
    }
}

fn machine(source: &str, options: TaskOptions, settings: TaskSettings) -> Named {
    let module = module(source);
    let machine = TaskMachine::new(&module, options, settings).expect("it can be made ready");
    Named { module, machine }
}

fn call(machine: &mut Named, name: &str, arguments: &[u32]) -> Result<Vec<u32>, Fault> {
    let function = machine.module.find(name).expect("it has the function");
    machine.call(function, arguments)
}

#[test]
fn reversing_reuses_every_cell() {
    let mut with = machine(LISTS, TaskOptions::default(), TaskSettings::default());
    assert_eq!(call(&mut with, "reversed", &[1000]).expect("it ends"), [501_500]);
    let TaskStats { allocated, reused, freed, live, most_live, most_bytes, .. } = with.stats();
    assert_eq!((allocated, reused, freed, live, most_live, most_bytes), (1000, 1000, 1000, 0, Some(1000), 16_000));

    let options = TaskOptions { reuse: false, ..TaskOptions::default() };
    let mut without = machine(LISTS, options, TaskSettings::default());
    assert_eq!(call(&mut without, "reversed", &[1000]).expect("it ends"), [501_500]);
    let TaskStats { allocated, reused, freed, live, .. } = without.stats();
    assert_eq!((allocated, reused, freed, live), (2000, 0, 2000, 0));
}

#[test]
fn what_is_given_back_is_taken_again() {
    let mut machine = machine(LISTS, TaskOptions { memory: 16_000, ..TaskOptions::default() }, TaskSettings::default());
    for _ in 0..5 {
        assert_eq!(call(&mut machine, "dropped", &[1000]).expect("it fits"), [1000]);
    }
    assert_eq!(machine.stats().most_bytes, 16_000);
    let more = call(&mut machine, "dropped", &[1001]);
    assert!(matches!(more, Err(Fault::Memory { limit: 16_000, .. })), "{more:?}");
    // A run that has ended says again why.
    assert!(matches!(call(&mut machine, "dropped", &[1]), Err(Fault::Memory { .. })));
}

#[test]
fn shortages_can_be_made() {
    for n in [1, 7, 1000] {
        let options = TaskOptions { fail_each: Some(n), ..TaskOptions::default() };
        let mut machine = machine(LISTS, options, CHECKED);
        assert_eq!(call(&mut machine, "dropped", &[n as u32 - 1]).expect("there is enough"), [n as u32 - 1]);
        assert!(matches!(call(&mut machine, "dropped", &[1]), Err(Fault::Memory { .. })));
        assert_eq!(machine.stats().allocated, n - 1);
    }
}

#[test]
fn forks_are_counted_and_run_once_in_any_order() {
    for seed in [None, Some(1), Some(2), Some(3)] {
        let settings = TaskSettings { seed, ..CHECKED };
        let mut machine = machine(TREES, TaskOptions::default(), settings);
        assert_eq!(call(&mut machine, "count", &[10]).expect("it ends"), [1024]);
        assert_eq!(machine.stats().forks, 1023);
        assert_eq!(machine.stats().calls, 2047);
    }
}

#[test]
fn stack_time_and_patience_end() {
    let options = TaskOptions { stack: 1 << 20, ..TaskOptions::default() };
    let mut small = machine(CALLS, options, TaskSettings::default());
    let deep = call(&mut small, "deep", &[1_000_000]);
    assert!(matches!(deep, Err(Fault::Stack { limit: 1_048_576, function: Some(_) })), "{deep:?}");

    // A tail call takes no stack, however small it is.
    let options = TaskOptions { stack: 1 << 10, ..TaskOptions::default() };
    let mut tiny = machine(CALLS, options, TaskSettings::default());
    assert_eq!(call(&mut tiny, "even", &[100_001]).expect("it ends"), [0]);

    let settings = TaskSettings { fuel: Some(1000), ..TaskSettings::default() };
    let mut short = machine(CALLS, TaskOptions::default(), settings);
    match call(&mut short, "even", &[1_000_000]) {
        Err(Fault::Device(diagnostic)) => assert_eq!(diagnostic.code, Code::OutOfFuel),
        other => panic!("{other:?}"),
    }
    // Each call has its own.
    let mut again = machine(CALLS, TaskOptions::default(), settings);
    for _ in 0..100 {
        assert_eq!(call(&mut again, "even", &[10]).expect("it ends"), [1]);
    }

    let stop = Some(Arc::new(AtomicBool::new(true)));
    let mut stopped =
        machine(CALLS, TaskOptions { interrupt: stop, ..TaskOptions::default() }, TaskSettings::default());
    assert!(matches!(call(&mut stopped, "even", &[1_000_000]), Err(Fault::Interrupted)));
}

#[test]
fn the_host_makes_looks_and_drops() {
    let cons = LayoutId::new(0);
    let mut machine = machine(LISTS, TaskOptions::default(), CHECKED);
    let end = heap::pack(heap::IMMEDIATE, 0);
    let tail = machine.new_cell(cons, &[2, end]).expect("there is memory");
    let list = machine.new_cell(cons, &[1, tail]).expect("there is memory");
    assert_eq!((machine.layout(list), machine.field(list, 0), machine.field(list, 1)), (Some(cons), 1, tail));
    machine.share(list);
    assert_eq!(call(&mut machine, "digest", &[list]).expect("it ends"), [1003]);
    assert_eq!(machine.stats().live, 2, "the host still owns it");
    let reversed = call(&mut machine, "reverse", &[list]).expect("it ends")[0];
    assert_eq!((machine.field(reversed, 0), machine.stats().live), (2, 2));
    machine.drop(reversed);
    assert_eq!(machine.stats().live, 0);
    assert_eq!((machine.layout(reversed), machine.field(reversed, 0)), (None, 0));
    for nonsense in [0, 3, 4, 7, 12, 0xffff_fffc, u32::MAX] {
        assert_eq!((machine.layout(nonsense), machine.field(nonsense, 9)), (None, 0), "{nonsense:#x}");
    }
    assert!(call(&mut machine, "digest", &[end]).is_ok(), "it goes on");
}

/// Does the calls of a function in the machine's stead, and never drops what they are given.
#[derive(Debug)]
struct Forgetful(FunctionId);

impl Elsewhere for Forgetful {
    fn call(&mut self, function: FunctionId, _arguments: &[u64]) -> Option<Result<Vec<u64>, Fault>> {
        (function == self.0).then(|| Ok(vec![0]))
    }
}

/// A machine with a function `@handed_on` whose argument is forgotten.
fn forgetful() -> Named {
    let source = format!("{LISTS}\nfn @handed_on(%list: term) -> u32 {{\n  return (call @digest(%list))\n}}\n");
    let Named { module, machine } = machine(&source, TaskOptions::default(), CHECKED);
    let digest = module.find("digest").expect("it has the function");
    Named { module, machine: machine.with_elsewhere(Box::new(Forgetful(digest))) }
}

#[test]
fn wrong_uses_by_the_host_are_told() {
    let code = |result: Result<Vec<u32>, Fault>| match result {
        Err(Fault::Device(diagnostic)) => diagnostic.code,
        other => panic!("{other:?}"),
    };
    let fresh = || {
        let mut machine = machine(LISTS, TaskOptions::default(), CHECKED);
        let list = call(&mut machine, "count_down", &[3]).expect("it ends")[0];
        (machine, list)
    };
    // Dropped twice.
    let (mut machine, list) = fresh();
    machine.drop(list);
    machine.drop(list);
    assert_eq!(code(call(&mut machine, "digest", &[4])), Code::NotACell);
    // Used after it was given away.
    let (mut machine, list) = fresh();
    assert!(call(&mut machine, "digest", &[list]).is_ok());
    assert_eq!(code(call(&mut machine, "digest", &[list])), Code::NotACell);
    // An owner too many: one of two is forgotten.
    let mut machine = forgetful();
    let list = call(&mut machine, "count_down", &[3]).expect("it ends")[0];
    machine.share(list);
    assert_eq!(code(call(&mut machine, "handed_on", &[list])), Code::Leak);
    // Too few or too many arguments, and fields.
    let (mut machine, list) = fresh();
    assert_eq!(code(call(&mut machine, "digest", &[])), Code::BadArguments);
    let (mut machine, _) = fresh();
    assert_eq!(code(machine.new_cell(LayoutId::new(0), &[list]).map(|word| vec![word])), Code::BadArguments);
}

#[test]
fn wrong_lines_are_told() {
    let source = "fn @f(%n: u32) -> u32 {\n  trap_if (eq %n, 7) code(3)\n  return (call @f(7))\n}\n\
                  ; run: @f(1) == 2\n; run: @f(1) traps(4)\n; run: @f(1)\n; run: @f(1) error B0508\n; run: @f(1) traps(3)\n";
    let parsed = text::parse(SourceId::new(0), source).expect("it can be read");
    let module = verify(parsed.module).expect("it is right");
    let results: Vec<bool> = parsed
        .runs
        .iter()
        .map(|line| {
            let mut machine = TaskMachine::new(&module, TaskOptions::default(), CHECKED).expect("it can be made ready");
            check_line(&mut machine, &module, line).is_ok()
        })
        .collect();
    assert_eq!(results, [false, false, false, false, true]);
}
