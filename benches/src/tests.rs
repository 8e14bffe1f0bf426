//! The suites at small sizes, and what is made of their figures: tables, pictures, comparisons.

use super::figures::{Calls, Ceilings, Failed, Figures, Peer, Rival, Row, Run, Size, Way, Work};
use super::machine::Machine;
use super::programs::{BENCHMARKS, Benchmark, CORPUS, MODULE};
use super::rivals::{Cc, Ghc, Process};
use super::spread::Spread;
use super::suite::{self, Event, SUITES, Selection, Suite};
use super::{baseline, json, svg, table};
use girih::devices::Selector;
use girih::{Code, Report, RunDevice};
use girih_workbench::notes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn tiny(device: RunDevice, threads: Vec<usize>) -> Selection {
    Selection {
        only: vec![],
        threads,
        samples: 1,
        rivals: false,
        device,
        memory: 1 << 30,
        heap: None,
        alone: false,
        tiny: true,
        interrupt: None,
    }
}

fn measure(plan: &Selection, suites: &[&'static Suite], tell: &mut dyn FnMut(Event)) -> Result<Figures, Report> {
    suite::measure(plan, suites, tell, &mut |_| {})
}

fn named(name: &str) -> Vec<&'static Suite> {
    vec![suite::find(name).expect("there is such a suite")]
}

fn device(name: &str) -> RunDevice {
    Selector::parse(name).expect("it is a name").into()
}

#[test]
fn the_evaluator_gives_the_known_values() {
    let figures =
        measure(&tiny(RunDevice::Evaluator, vec![1]), &named("bend"), &mut |_| {}).expect("all values are right");
    let programs = BENCHMARKS.len() + 1;
    assert_eq!((figures.rows.len(), &*figures.failed, &*figures.device), (programs, &[][..], "evaluator"));
}

#[test]
fn native_code_gives_the_known_values_on_one_thread_and_on_three() {
    let mut titles = vec![];
    let figures = measure(&tiny(RunDevice::Cpu, vec![1, 3]), &named("bend"), &mut |event| match event {
        Event::Suite(name, count) => assert_eq!((name, count), ("bend", BENCHMARKS.len() + 1)),
        Event::Case(title) => titles.push(title),
        Event::Skipped(reason) => panic!("nobody was asked: {reason}"),
        Event::Failed(why) => panic!("{why}"),
    });
    let mut rows = figures.expect("all values are right").rows;
    let compilation = rows.pop().expect("there are rows");
    assert!(rows.iter().all(|row| row.runs.len() == 2 && row.compile.is_some_and(|s| s > 0.0)), "{rows:?}");
    assert_eq!((&*compilation.name, compilation.runs.len()), ("compilation", 1));
    let programs: Vec<String> = BENCHMARKS.iter().map(|b| format!("{} {}", b.name, b.tiny.argument)).collect();
    assert_eq!(titles[..programs.len()], programs);
}

#[test]
fn the_corpus_gives_the_known_values() {
    for (device, threads) in [(RunDevice::Evaluator, vec![1]), (RunDevice::Cpu, vec![2])] {
        let figures = measure(&tiny(device, threads), &named("corpus"), &mut |_| {}).expect("all values are right");
        assert_eq!((figures.rows.len(), &*figures.failed), (CORPUS.len(), &[][..]));
    }
}

/// The files of a folder, without their extensions.
fn files(folder: &str) -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let folder = std::fs::read_dir(folder).expect("the folder is there");
    let names = folder.map(|file| file.expect("its name can be read").path().with_extension(""));
    let mut files: Vec<String> =
        names.filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned())).collect();
    files.sort();
    files
}

/// A program that is not in the table would never be measured.
#[test]
fn the_table_of_the_corpus_names_each_file() {
    assert_eq!(files("corpus"), CORPUS.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>());
}

#[test]
fn the_table_of_the_corpus_names_each_file_in_haskell() {
    let named: Vec<&str> = CORPUS.iter().filter(|b| b.haskell.is_some()).map(|b| b.name).collect();
    let mut files = files("haskell");
    files.retain(|name| format!("{name}.hs") != MODULE.0);
    assert_eq!(files, named);
}

#[test]
fn kernels_give_the_known_values_and_are_held_to_ceilings() {
    let suites = [named("ir"), named("tile")].concat();
    let figures = measure(&tiny(RunDevice::Cpu, vec![1]), &suites, &mut |_| {}).expect("there is a processor");
    assert_eq!(figures.failed, []);
    let ceilings = figures.ceilings.expect("kernels were measured");
    assert!(ceilings.copy > 0.0 && ceilings.fma > 0.0);
    assert!(figures.card.as_ref().is_some_and(|card| card.contains("native code")));
    assert!(figures.rows.iter().all(|row| row.work.is_some() && row.runs.len() == 1));
    for (suite, count) in [("ir", 5), ("tile", 7)] {
        assert_eq!(figures.rows.iter().filter(|row| row.suite == suite).count(), count);
    }
}

#[test]
fn the_reference_machine_gives_the_known_values_of_kernels() {
    let figures = measure(&tiny(device("interpreter"), vec![1]), &named("ir"), &mut |_| {}).expect("it is there");
    assert_eq!((figures.rows.len(), &*figures.failed), (5, &[][..]));
}

#[test]
fn nets_come_to_the_known_normal_forms() {
    for (device, threads, runs) in [(RunDevice::Cpu, vec![1, 3], 2), (device("interpreter"), vec![], 1)] {
        let figures = measure(&tiny(device, threads), &named("net"), &mut |_| {}).expect("it is there");
        assert_eq!((figures.rows.len(), &*figures.failed), (6, &[][..]));
        assert!(figures.rows.iter().all(|row| row.runs.len() == runs && row.work.is_some()));
    }
}

#[test]
fn shaders_are_painted_on_one_thread_and_on_two() {
    let figures = measure(&tiny(RunDevice::Cpu, vec![1, 2]), &named("render"), &mut |_| {}).expect("it paints");
    assert_eq!(figures.failed, []);
    assert!(figures.rows.len() >= 6 && figures.rows.iter().all(|row| row.runs.len() == 2));
    assert!(figures.rows.iter().all(|row| row.rate().is_some_and(|rate| rate.amount() > 0.0)));
}

#[test]
fn suites_refuse_what_cannot_run_them() {
    let refused = |device: RunDevice| -> Vec<&str> {
        SUITES.iter().filter(|suite| (suite.refuses)(&device).is_some()).map(|suite| suite.name).collect()
    };
    assert_eq!(refused(RunDevice::Evaluator), ["net", "ir", "tile"]);
    assert!(refused(RunDevice::Cpu).is_empty());
    assert!(refused(device("interpreter")).is_empty());
}

/// A program in another language gives what the Bend program gives.
fn gives_the_known_values(benchmark: &Benchmark, program: Result<Process, String>) {
    let program = program.unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
    for job in [benchmark.tiny, benchmark.upstream] {
        let answer = program.run(job.argument).unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
        assert_eq!(answer.value, job.value, "{} {}", benchmark.name, job.argument);
    }
}

#[test]
fn c_gives_the_known_values() {
    let Ok(cc) = Cc::find() else { return notes::missing("C compiler `cc`", "GIRIH_REQUIRE_CC") };
    BENCHMARKS.iter().for_each(|benchmark| gives_the_known_values(benchmark, cc.compile(benchmark)));
}

#[test]
fn haskell_gives_the_known_values() {
    let Ok(ghc) = Ghc::find() else { return notes::missing("Haskell compiler `ghc`", "GIRIH_REQUIRE_GHC") };
    let written = CORPUS.iter().filter(|benchmark| benchmark.haskell.is_some());
    written.for_each(|benchmark| gives_the_known_values(benchmark, ghc.compile(benchmark)));
}

#[test]
fn programs_are_chosen_by_parts_of_their_names() {
    let titles = |only: &[&str]| {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        let plan = Selection { only, ..tiny(RunDevice::Evaluator, vec![1]) };
        let titles = suite::titles(&plan, &named("bend")).expect("it is there");
        titles.into_iter().filter(|title| plan.wants(title)).collect::<Vec<_>>()
    };
    assert_eq!(titles(&["sum"]), ["sum 10", "tree_sum 10"]);
    assert_eq!(titles(&["sort", "fib"]), ["fib 15", "merge_sort 100"]);
    assert!(titles(&["nothing"]).is_empty());
}

/// Times around a median, without outliers.
fn around(median: f64) -> Spread {
    // Few digits: the last ones of others are lost on the way through JSON.
    let short = |part: f64| (part * median * 1e9).round() / 1e9;
    let [least, low, high, most] = [0.95, 0.98, 1.02, 1.1].map(short);
    Spread { runs: 5, least, low, median, high, most, outliers: 0 }
}

fn row(name: &str, size: u32, seconds: [f64; 2], peers: &[(&str, f64, bool)]) -> Row {
    let run = |threads, seconds| Run { threads: Some(threads), time: around(seconds) };
    let peer = |(name, seconds, on_all_cores): &(&str, f64, bool)| Peer {
        name: (*name).to_owned(),
        seconds: *seconds,
        on_all_cores: *on_all_cores,
    };
    Row {
        suite: "bend".to_owned(),
        name: name.to_owned(),
        size: Size::one(size),
        compile: Some(0.0125),
        runs: vec![run(1, seconds[0]), run(2, seconds[1])],
        bytes: Some(50_331_648),
        way: (name == "life").then(|| Way { name: "fork-join".to_owned(), lanes: Some(131_072), steps: Some(12) }),
        calls: (name == "life").then(|| Calls {
            together: vec!["life.bend:3:5: in `main`: `row`, `rows`".to_owned()],
            in_order: ["4:5", "5:5"]
                .map(|at| format!("life.bend:{at}: `next` needs the result of `row` (3:5)"))
                .to_vec(),
        }),
        work: None,
        peers: peers.iter().map(peer).collect(),
    }
}

fn kernel(name: &str, size: Size, seconds: f64, work: Work) -> Row {
    let runs = vec![Run { threads: None, time: around(seconds) }];
    let (suite, name) = ("ir".to_owned(), name.to_owned());
    Row {
        suite,
        name,
        size,
        compile: Some(0.004),
        runs,
        bytes: None,
        way: None,
        calls: None,
        work: Some(work),
        peers: vec![],
    }
}

fn figures() -> Figures {
    let rival = |name: &str, what: &str| Rival { name: name.to_owned(), what: what.to_owned() };
    let mut figures = Figures {
        date: "2026-11-21".to_owned(),
        version: "0.1.0".to_owned(),
        machine: Machine { processor: "A Processor <9000>".to_owned(), cores: 2, system: "A System 12".to_owned() },
        device: "cpu".to_owned(),
        card: Some("A Processor <9000>, native code, 2 threads".to_owned()),
        samples: 5,
        rivals: vec![rival("C", "cc (A System) 12.2.0, -O2"), rival("bend run-c", "bend-lang 0.2.38")],
        ceilings: Some(Ceilings { copy: 2e10, fma: 5e10 }),
        rows: vec![
            row("bitonic", 14, [0.0125, 0.010], &[("bend run-c", 2.5, true)]),
            row("bitonic", 20, [1.25, 0.65], &[("C", 1.0, false)]),
            row("fib", 30, [0.001, 0.000_625], &[("bend run-c", 1.5, true)]),
            row("fib", 38, [0.25, 0.126], &[("C", 0.003, false)]),
            row("life", 9, [0.9955, 0.5], &[("C", 2.0, false)]),
            kernel("vector_add", Size::one(1u64 << 16), 0.000_05, Work::Bytes(786_432.0)),
            kernel("vector_add", Size::one(1u64 << 22), 0.0025, Work::Bytes(50_331_648.0)),
            kernel("tile_matmul", Size::of(256, 256), 0.003, Work::Operations(33_554_432.0)),
            kernel("matmul f16", Size::of(256, 256), 0.002, Work::Products(33_554_432.0)),
            kernel("julia", Size::of(256, 256), 0.02, Work::Frames(1.0)),
        ],
        failed: vec![Failed { suite: "bend".to_owned(), name: "radix 17".to_owned(), why: "out of memory".to_owned() }],
    };
    figures.rows[4].runs[1].time.outliers = 1;
    figures
}

#[test]
fn the_tables() {
    insta::assert_snapshot!(table::text(&figures()));
}

#[test]
fn the_tables_as_markdown() {
    insta::assert_snapshot!(table::markdown(&figures()));
}

#[test]
fn the_tables_of_a_device_have_no_threads() {
    let mut figures = figures();
    (figures.device, figures.card) = ("cuda".to_owned(), Some("A Card, CUDA 13.0 sm_90, 580.1".to_owned()));
    figures.rivals.clear();
    figures.rows.truncate(5);
    for row in &mut figures.rows {
        row.peers.clear();
        row.runs.truncate(1);
        row.runs[0].threads = None;
    }
    insta::assert_snapshot!(table::text(&figures));
    let written = json::write(&figures).to_string();
    assert_eq!(json::read(&written).expect("it was written here"), figures);
    assert!(svg::draw(&figures).contains("Girih, device"));
}

#[test]
fn a_device_gives_the_known_values() {
    let plan = Selection {
        only: vec!["fib".to_owned(), "lambdas".to_owned()],
        samples: 2,
        ..tiny(device("lowered:cpu"), vec![])
    };
    let figures = measure(&plan, &named("bend"), &mut |_| {}).expect("it is there");
    assert_eq!((&*figures.device, &*figures.failed), ("lowered:cpu", &[][..]), "{figures:?}");
    assert!(figures.card.as_ref().is_some_and(|card| card.contains("subgroups of 32")));
    assert!(figures.rows.iter().all(|row| row.runs.len() == 1 && row.runs[0].threads.is_none()));
    assert!(figures.rows.iter().any(|row| row.name == "lambdas" && row.bytes > Some(0)));
    let schedules = ["flattened", "reducer", "fork-join"];
    let is_said = |way: &Way| schedules.contains(&&*way.name) && way.lanes > Some(0) && way.steps > Some(0);
    assert!(figures.rows.iter().all(|row| row.way.as_ref().is_some_and(is_said)), "{figures:?}");
}

#[test]
fn a_program_that_fails_leaves_the_others_their_figures() {
    let only = vec!["fib".to_owned(), "lambdas".to_owned()];
    let plan = Selection { only, heap: Some(1 << 10), ..tiny(device("lowered:cpu"), vec![]) };
    let mut told = vec![];
    let figures = measure(&plan, &named("bend"), &mut |event| told.push(event)).expect("it is there");
    let (rows, failed) = (&figures.rows, &figures.failed);
    assert_eq!((&*rows[0].name, rows.len(), &*failed[0].name, failed.len()), ("fib", 1, "lambdas 6", 1));
    assert!(told.contains(&Event::Failed(format!("lambdas 6: {}", failed[0].why))), "{told:?}");
    // What would happen to each of them ends all of it.
    let error =
        measure(&Selection { threads: vec![2], ..plan }, &named("bend"), &mut |_| {}).expect_err("it has no threads");
    assert_eq!(error.diagnostics[0].code, Code::BadArguments);
}

#[test]
fn who_stops_has_what_was_measured() {
    let stop = Arc::new(AtomicBool::new(false));
    let plan = Selection { interrupt: Some(stop.clone()), ..tiny(RunDevice::Cpu, vec![1]) };
    let suites: Vec<&Suite> = SUITES.iter().collect();
    let mut kept = vec![];
    let mut cases = 0;
    let mut third = |event| {
        cases += u32::from(matches!(event, Event::Case(_)));
        stop.store(cases > 2, Ordering::Relaxed);
    };
    let figures = suite::measure(&plan, &suites, &mut third, &mut |figures| kept.push(figures.rows.len()));
    let figures = figures.expect("something was measured");
    assert_eq!((figures.rows.len(), &*figures.failed, &*kept), (2, &[][..], &[1, 2][..]), "{figures:?}");
    // If nothing was measured, that is an error.
    let error = measure(&plan, &suites, &mut |_| {}).expect_err("it was stopped before");
    assert_eq!(error.diagnostics[0].code, Code::Interrupted);
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
fn bars_and_curves() {
    insta::assert_snapshot!(svg::draw(&figures()));
    let empty = Figures { rows: vec![], ..figures() };
    assert!(svg::draw(&empty).ends_with("</svg>\n"));
}

#[test]
fn changes_since_another_day() {
    let before = figures();
    let mut now = figures();
    let scaled = |factor: f64, time: &mut Spread| *time = around(time.median * factor);
    scaled(1.5, &mut now.rows[0].runs[1].time);
    scaled(0.5, &mut now.rows[1].runs[0].time);
    // Farther than the runs are apart, but no more than the threshold.
    scaled(1.08, &mut now.rows[2].runs[0].time);
    // Another size is another job.
    now.rows[4].size = Size::one(10u64);
    let changes = baseline::changes(&before, &now);
    assert_eq!(changes.len(), 13);
    let summary = baseline::summary(&before, &now, &changes, 1.1);
    assert_eq!(summary, "since 2026-11-21: 1 faster, 1 slower, 11 the same, 2 not in the baseline");
    insta::assert_snapshot!(baseline::grid(&changes, 1.1).text());
}
