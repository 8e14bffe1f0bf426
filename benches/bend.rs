//! How fast Bend programs run on one core: the programs of `benches/bend`, each with the result it must give.
//!
//! `cargo bench --bench bend`; the time of a run includes everything after compilation, printing the value too.

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use girih::{Options, Program, RunOptions, SystemHost};
use std::time::Duration;

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

criterion_group!(benches, programs);
criterion_main!(benches);
