//! How fast Bend programs run on one core: the programs of `benches/bend`, each with the result it must give.
//!
//! `cargo bench --bench bend`; the time of a run includes everything after compilation, printing the value too. Where
//! `GIRIH_BEND` is the path of upstream's `bend`, with `hvm` beside it or on the path, each program is also run by its `run-c`
//! and the two times, from start to end of a process or from opening the file, are printed beside each other.

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use girih::{Options, Program, RunOptions, SystemHost};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Names of the programs and what they print.
const PROGRAMS: [(&str, &str); 3] = [("bitonic", "(16384, 11508544)"), ("sum", "14680064"), ("mandelbrot", "147094")];

fn programs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bend");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(10));
    for (name, result) in PROGRAMS {
        let path = format!("{}/benches/bend/{name}.bend", env!("CARGO_MANIFEST_DIR"));
        let program = Program::open(path, &Options::default());
        let run = || {
            let outcome = program.run(&mut SystemHost::new(), &RunOptions::default());
            outcome.unwrap_or_else(|report| panic!("{report}")).text
        };
        assert_eq!(run(), result, "{name}");
        group.bench_function(name, |bencher| bencher.iter(run));
    }
    group.finish();
}

/// Prints how long upstream takes and how long it takes here.
fn beside_upstream(_: &mut Criterion) {
    let Some(bend) = std::env::var_os("GIRIH_BEND") else { return };
    let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
    let beside = Path::new(&bend).parent().map(Path::to_path_buf).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(beside).chain(std::env::split_paths(&path))).expect("they were joined");
    println!("{:<12} {:>12} {:>12} {:>8}", "program", "upstream", "here", "ratio");
    for (name, result) in PROGRAMS {
        let file = format!("{}/benches/bend/{name}.bend", env!("CARGO_MANIFEST_DIR"));
        let theirs = Instant::now();
        let output = Command::new(&bend)
            .args(["run-c", &file])
            .current_dir(folder.path()) // It writes files there.
            .env("PATH", &path)
            .output()
            .expect("GIRIH_BEND can be run");
        let theirs = theirs.elapsed().as_secs_f64();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let here = Instant::now();
        let outcome = Program::open(&file, &Options::default()).run(&mut SystemHost::new(), &RunOptions::default());
        let here = here.elapsed().as_secs_f64();
        assert_eq!(outcome.unwrap_or_else(|report| panic!("{report}")).text, result, "{name}");
        println!("{name:<12} {theirs:>10.3} s {here:>10.3} s {:>7.1}x", theirs / here);
    }
}

criterion_group!(benches, programs, beside_upstream);
criterion_main!(benches);
