//! `girih bench FILE.bend [ARGS...]`: how fast a program of one's own is, on each device and with each number of threads that is asked for.

use crate::console::Console;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use girih::{Code, Options, Program, WarningLevels};
use girih_base::plural::counted;
use girih_bench::machine::{Machine, today};
use girih_bench::own::{Figure, Plan, measure};
use girih_bench::spread::Spread;
use girih_bench::table::{Grid, bytes, seconds};
use serde_json::{Value, json};
use std::path::Path;

/// Whether a word names a program, not a suite.
pub fn is_program(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|extension| extension == "bend")
}

/// Measures the program, and says what came out.
pub fn run(
    file: &Path,
    arguments: &[String],
    plan: &Plan,
    (markdown, interrupt): (bool, &Interrupt),
    console: &Console,
) -> Exit {
    let mut warnings = WarningLevels::default();
    warnings.set(Code::UnusedDefinition, None);
    let options = Options { warnings, arguments: arguments.to_vec(), ..Options::default() };
    let program = Program::open(file, &options);
    console.report(&program.report());
    if program.check().is_err() {
        return Exit::Failed;
    }
    match measure(&program, plan) {
        Ok((value, figures)) => {
            let grid = grid(&figures);
            let table = if markdown { grid.markdown() } else { grid.text() };
            let text = format!("Result: {value}\n\n{table}\n{}", footer(plan, &figures));
            console.result(&text, || object(file, &value, &figures));
            Exit::Ok
        }
        Err(report) => {
            console.report(&report);
            interrupt.exit_of(&report)
        }
    }
}

fn grid(figures: &[Figure]) -> Grid {
    let head = ["device", "threads", "compile", "median", "±", "least", "most", "memory", "speed"];
    let first = figures.first().map_or(1.0, |figure| figure.time.median);
    let row = |figure: &Figure| {
        let Spread { least, median, most, .. } = figure.time;
        vec![
            figure.device.clone(),
            figure.threads.map_or("-".to_owned(), |threads| threads.to_string()),
            seconds(figure.compile.median),
            seconds(median),
            format!("{:.0} %", 100.0 * figure.time.relative()),
            seconds(least),
            seconds(most),
            bytes(figure.bytes),
            format!("{:.2} x", first / median.max(1e-12)),
        ]
    };
    Grid { head: head.map(str::to_owned).to_vec(), rows: figures.iter().map(row).collect(), names: 1 }
}

fn footer(plan: &Plan, figures: &[Figure]) -> String {
    let cards: String =
        figures.iter().filter_map(|figure| Some(format!("\n{}: {}", figure.device, figure.card.as_ref()?))).collect();
    format!(
        "{}, Girih {}, medians of {} after one that warmed up; ± is half the distance of the quartiles; speed is compared with the first row\n{}{cards}",
        today(),
        env!("CARGO_PKG_VERSION"),
        counted(plan.samples, "run"),
        Machine::this()
    )
}

fn object(file: &Path, value: &str, figures: &[Figure]) -> Value {
    let spread = |spread: &Spread| json!({"runs": spread.runs, "least": spread.least, "low": spread.low, "median": spread.median, "high": spread.high, "most": spread.most, "outliers": spread.outliers});
    let rows = figures.iter().map(|figure| {
        json!({"device": figure.device, "card": figure.card, "threads": figure.threads, "compile_seconds": spread(&figure.compile), "seconds": spread(&figure.time), "bytes": figure.bytes})
    });
    json!({
        "kind": "bench_file",
        "file": file.display().to_string(),
        "value": value,
        "date": today(),
        "version": env!("CARGO_PKG_VERSION"),
        "machine": Machine::this().to_string(),
        "rows": rows.collect::<Vec<_>>(),
    })
}
