//! How fast compiled Bend programs run: those of `benches/bend`, at sizes that take milliseconds, each with the result it must give.
//!
//! `cargo bench --bench bend`; the time of a run includes everything after compilation, printing the value too, on a heap that
//! earlier runs have touched. `girih bench bend` measures larger sizes, with new heaps, beside C and beside upstream.

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use girih::{Options, Program, RunOptions, SystemHost};
use girih_bench::programs::BENCHMARKS;
use std::num::NonZeroUsize;
use std::time::Duration;

fn programs(criterion: &mut Criterion) {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut threads = vec![NonZeroUsize::MIN, cores];
    threads.dedup();
    for benchmark in BENCHMARKS {
        let mut group = criterion.benchmark_group(benchmark.name);
        group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(2));
        let size = benchmark.upstream;
        let options = Options { arguments: vec![size.argument.to_string()], ..Options::default() };
        let program = Program::from_text(benchmark.name, benchmark.bend, &options);
        for threads in &threads {
            let options = RunOptions { threads: Some(*threads), ..RunOptions::default() };
            let mut executable = program.compile(&options).unwrap_or_else(|report| panic!("{report}"));
            let mut run = || executable.run(&mut SystemHost::new()).unwrap_or_else(|report| panic!("{report}"));
            assert_eq!(run(), size.value, "{}", benchmark.name);
            group.bench_function(format!("{threads} threads"), |bencher| bencher.iter(&mut run));
        }
        group.finish();
    }
}

/// From the text to native code, for the longest of the programs and for all of them.
fn compilation(criterion: &mut Criterion) {
    let compile = |benchmark: &girih_bench::programs::Benchmark| {
        let options = Options { arguments: vec![benchmark.full.argument.to_string()], ..Options::default() };
        let program = Program::from_text(benchmark.name, benchmark.bend, &options);
        program.compile(&RunOptions::default()).unwrap_or_else(|report| panic!("{report}"))
    };
    let mut group = criterion.benchmark_group("compile");
    group.sample_size(10);
    group.bench_function("all", |bencher| bencher.iter(|| BENCHMARKS.iter().map(compile).for_each(drop)));
    group.finish();
}

criterion_group!(benches, programs, compilation);
criterion_main!(benches);
