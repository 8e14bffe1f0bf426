use super::figures::{Beside, Failed, Figures, Row, Run, Together, median};
use super::machine::Machine;
use super::measure::{Event, Plan, measure};
use super::programs::BENCHMARKS;
use super::rivals::Cc;
use super::{baseline, json, svg, table};
use crate::devices::Selector;
use crate::{Code, RunDevice};

fn tiny(device: RunDevice, threads: Vec<usize>) -> Plan {
    Plan {
        only: vec![],
        threads,
        samples: 1,
        rivals: false,
        device,
        memory: 1 << 30,
        heap: None,
        tiny: true,
        interrupt: None,
    }
}

#[test]
fn the_evaluator_gives_the_known_values() {
    let figures = measure(&tiny(RunDevice::Evaluator, vec![1]), &mut |_| {}).expect("all values are right");
    assert_eq!((figures.rows.len(), &*figures.failed, &*figures.device), (BENCHMARKS.len(), &[][..], "evaluator"));
}

#[test]
fn native_code_gives_the_known_values_on_one_thread_and_on_three() {
    let mut names = vec![];
    let figures = measure(&tiny(RunDevice::Cpu, vec![1, 3]), &mut |event| match event {
        Event::Program(name) => names.push(name),
        Event::Skipped(reason) => panic!("nobody was asked: {reason}"),
        Event::Failed(why) => panic!("{why}"),
    });
    let figures = figures.expect("all values are right");
    assert!(figures.rows.iter().all(|row| row.runs.len() == 2 && row.compile > 0.0), "{figures:?}");
    assert_eq!(names, BENCHMARKS.iter().map(|b| b.name).collect::<Vec<_>>());
}

#[test]
fn c_gives_the_known_values() {
    let cc = match Cc::find() {
        Ok(cc) => cc,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    for benchmark in BENCHMARKS {
        let program = cc.compile(benchmark).unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
        for size in [benchmark.tiny, benchmark.upstream] {
            let answer = program.run(size.argument).unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
            assert_eq!(answer.value, size.value, "{} {}", benchmark.name, size.argument);
        }
    }
}

#[test]
fn programs_are_chosen_by_parts_of_their_names() {
    let names = |only: &[&str]| {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        let plan = Plan { only, ..tiny(RunDevice::Evaluator, vec![1]) };
        plan.benchmarks().iter().map(|b| b.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&["sum"]), ["sum", "tree_sum"]);
    assert_eq!(names(&["sort", "fib"]), ["fib", "merge_sort"]);
    assert!(names(&["nothing"]).is_empty());
}

#[test]
fn medians() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
}

fn row(name: &str, size: u32, seconds: [f64; 2], c: Option<f64>, upstream: Option<Beside>) -> Row {
    let run = |threads, seconds| Run { threads: Some(threads), seconds, least: seconds };
    let runs = vec![run(1, seconds[0]), run(2, seconds[1])];
    Row { name: name.to_owned(), size, compile: 0.0125, runs, bytes: 50_331_648, c, upstream }
}

fn figures() -> Figures {
    let beside = |size, theirs, ours| Some(Beside { size, theirs, ours });
    Figures {
        date: "2026-11-21".to_owned(),
        version: "0.1.0".to_owned(),
        machine: Machine { processor: "A Processor <9000>".to_owned(), cores: 2, system: "A System 12".to_owned() },
        device: "cpu".to_owned(),
        card: None,
        samples: 5,
        cc: Some("cc (A System) 12.2.0".to_owned()),
        upstream: Some("bend-lang 0.2.38".to_owned()),
        together: Some(Together { lines: 485, compile: 0.04375 }),
        rows: vec![
            row("bitonic", 20, [1.25, 0.65], Some(1.0), beside(14, 2.5, 0.010)),
            row("fib", 38, [0.25, 0.126], Some(0.003), beside(30, 1.5, 0.000_625)),
            row("life", 9, [0.9955, 0.5], Some(2.0), None),
        ],
        failed: vec![],
    }
}

#[test]
fn the_table() {
    insta::assert_snapshot!(table::table(&figures()));
}

#[test]
fn the_table_without_rivals() {
    let mut figures = figures();
    (figures.cc, figures.upstream) = (None, None);
    for row in &mut figures.rows {
        (row.c, row.upstream) = (None, None);
        row.runs.truncate(1);
    }
    insta::assert_snapshot!(table::table(&figures));
}

/// Figures of a card, which has no threads; and a program that it has not enough memory for.
fn figures_of_a_card() -> Figures {
    let mut figures = figures();
    (figures.device, figures.card) = ("cuda".to_owned(), Some("A Card, CUDA 13.0 sm_90, 580.1".to_owned()));
    (figures.cc, figures.upstream, figures.together) = (None, None, None);
    for row in &mut figures.rows {
        (row.c, row.upstream) = (None, None);
        row.runs.truncate(1);
        row.runs[0].threads = None;
    }
    figures.failed = vec![Failed { name: "radix".to_owned(), why: "out of memory".to_owned() }];
    figures
}

#[test]
fn the_table_of_a_card() {
    let figures = figures_of_a_card();
    insta::assert_snapshot!(table::table(&figures));
    let written = json::write(&figures).to_string();
    assert_eq!(json::read(&written).expect("it was written here"), figures);
    assert!(svg::draw(&figures).contains("Girih, device"));
    insta::assert_snapshot!(baseline::table(&baseline::changes(&figures, &figures), 1.1));
}

#[test]
fn a_device_gives_the_known_values() {
    let device = RunDevice::Device(Selector::parse("lowered:cpu").expect("it is a name"));
    let plan = Plan { only: vec!["fib".to_owned(), "lambdas".to_owned()], samples: 2, ..tiny(device, vec![]) };
    let figures = measure(&plan, &mut |_| {}).expect("it is there");
    assert_eq!((&*figures.device, &*figures.failed), ("lowered:cpu", &[][..]), "{figures:?}");
    assert!(figures.card.is_some_and(|card| card.contains("subgroups of 32")));
    assert!(figures.rows.iter().all(|row| row.runs.len() == 1 && row.runs[0].threads.is_none()));
    assert!(figures.rows.iter().any(|row| row.name == "lambdas" && row.bytes > 0));
}

#[test]
fn a_program_that_fails_leaves_the_others_their_figures() {
    let device = RunDevice::Device(Selector::parse("lowered:cpu").expect("it is a name"));
    let only = vec!["fib".to_owned(), "lambdas".to_owned()];
    let plan = Plan { only, heap: Some(1 << 10), ..tiny(device.clone(), vec![]) };
    let mut told = vec![];
    let figures = measure(&plan, &mut |event| told.push(event)).expect("it is there");
    let (rows, failed) = (&figures.rows, &figures.failed);
    assert_eq!((&*rows[0].name, rows.len(), &*failed[0].name, failed.len()), ("fib", 1, "lambdas", 1));
    assert!(told.contains(&Event::Failed(format!("lambdas: {}", failed[0].why))), "{told:?}");
    // What would happen to each of them ends all of it.
    let error = measure(&Plan { threads: vec![2], ..plan }, &mut |_| {}).expect_err("it has no threads");
    assert_eq!(error.diagnostics[0].code, Code::BadArguments);
}

#[test]
fn json_is_written_and_read() {
    let figures = figures();
    let written = serde_json::to_string_pretty(&json::write(&figures)).expect("it is an object");
    assert_eq!(json::read(&written).expect("it was written here"), figures);
    insta::assert_snapshot!(written);
    assert_eq!(json::read("{}").expect_err("nothing is there"), "no text `date`");
    assert!(json::read("girih").is_err());
}

#[test]
fn bars_beside_c() {
    insta::assert_snapshot!(svg::draw(&figures()));
}

#[test]
fn bars_without_c() {
    let mut figures = figures();
    figures.cc = None;
    insta::assert_snapshot!(svg::draw(&figures));
    figures.rows.clear();
    assert!(svg::draw(&figures).ends_with("</svg>\n"));
}

#[test]
fn changes_since_another_day() {
    let before = figures();
    let mut now = figures();
    now.rows[0].runs[1].seconds *= 1.5;
    now.rows[1].runs[0].seconds *= 0.5;
    // Another size is another job.
    now.rows[2].size = 10;
    let changes = baseline::changes(&before, &now);
    assert_eq!(changes.len(), 4);
    insta::assert_snapshot!(baseline::table(&changes, 1.1));
}
