//! How fast a kernel of two hundred lines becomes PTX, a naga module and SPIR-V, stage by stage.
//!
//! `cargo bench --bench compile`. Before the stages are measured, the first compilation of the process is timed alone: it reads
//! those parts of the math library that the kernel needs.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use girih::{Diagnostic, Report, Sources};
use girih_cuda::ptx::{self, Launches, Target};
use girih_ir::{Caps, Feature, FunctionId, Module, Scalar, ScalarSet, Verified, text, verify};
use girih_lower::{Compiled, compile};
use girih_runtime::LoadOptions;
use girih_wgpu::{emit, shader};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// As the program has it.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NAME: &str = "benches/kernels/swarm.gir";
const SOURCE: &str = include_str!("kernels/swarm.gir");

/// What a stage gives, or the end of the bench.
fn expect<T>(result: Result<T, Vec<Diagnostic>>) -> T {
    result.unwrap_or_else(|diagnostics| {
        let mut sources = Sources::default();
        sources.add(NAME, SOURCE);
        panic!("{}", Report { sources, diagnostics })
    })
}

fn parse() -> Module {
    let mut sources = Sources::default();
    let source = sources.add(NAME, SOURCE);
    expect(text::parse(source, SOURCE)).module
}

fn lower(module: &Verified<Module>, caps: &Caps) -> Compiled {
    let kernels: Vec<FunctionId> = module.kernels().collect();
    expect(compile(module, &kernels, caps, &LoadOptions::default()))
}

/// Length of the text.
fn to_ptx(compiled: &Compiled, _: &Caps) -> usize {
    let ids: Vec<FunctionId> = compiled.entries.iter().map(|e| e.kernel).collect();
    let target = Target { sm: 90, specific: true };
    expect(ptx::render(&compiled.module, &ids, target, Launches::Direct)).text.len()
}

/// How many expressions the module has.
fn to_naga(compiled: &Compiled, caps: &Caps) -> usize {
    let shader = expect(shader::render(compiled, shader::Options { caps, strict: true }));
    shader.module.entry_points.iter().map(|e| e.function.expressions.len()).sum()
}

/// How many words there are; naga's own checks and writer, and the marks against contraction, take part.
fn to_spirv(compiled: &Compiled, caps: &Caps) -> usize {
    let shader = expect(shader::render(compiled, shader::Options { caps, strict: true }));
    let one = |error| vec![error];
    let info = expect(emit::validate(&shader).map_err(one));
    expect(emit::spirv(&shader, &info, emit::Guards::None).map_err(one)).len()
}

/// What a graphics card has through Vulkan.
fn vulkan() -> Caps {
    let mut caps = Caps::web();
    let more = ScalarSet::WIDE.or(ScalarSet::of(&[Scalar::F16]));
    caps.name = "vulkan".into();
    caps.arithmetic = caps.arithmetic.or(more);
    caps.atomic_floats = ScalarSet::of(&[Scalar::F32]);
    caps.storage = caps.storage.or(more);
    caps.local_storage = caps.local_storage.or(more);
    caps.buffer_views = true;
    caps.buffers = 64;
    caps.subgroup.min = 32;
    let features = [Feature::Subgroups, Feature::Atomic64, Feature::FusedFma, Feature::StrictFloats, Feature::Calls];
    features.into_iter().fold(caps, Caps::with)
}

/// A way from the IR to what a driver takes: its name, the device, the last stage.
type Way = (&'static str, Caps, fn(&Compiled, &Caps) -> usize);

fn ways() -> [Way; 5] {
    [
        ("ptx sm_90a", Caps::cuda(90, true), to_ptx),
        ("naga web", Caps::web(), to_naga),
        ("naga vulkan", vulkan(), to_naga),
        ("spirv web", Caps::web(), to_spirv),
        ("spirv vulkan", vulkan(), to_spirv),
    ]
}

/// The first compilation of the process, for the device that needs most of the math library.
fn first(_: &mut Criterion) {
    let caps = Caps::web();
    let start = Instant::now();
    let module = expect(verify(parse()));
    let compiled = lower(&module, &caps);
    black_box(to_naga(&compiled, &caps));
    println!("first to a naga module for WebGPU's defaults: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
}

fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compile");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group.bench_function("parse", |b| b.iter(parse));
    let parsed = parse();
    group.bench_function("verify", |b| b.iter_batched(|| parsed.clone(), verify, BatchSize::SmallInput));
    let module = expect(verify(parsed));
    for (name, caps, render) in ways() {
        let compiled = lower(&module, &caps);
        if !name.starts_with("spirv") {
            group.bench_function(format!("{name}: lower"), |b| b.iter(|| lower(&module, &caps)));
        }
        group.bench_function(format!("{name}: render"), |b| b.iter(|| render(&compiled, &caps)));
        group.bench_function(format!("{name}: text to result"), |b| {
            b.iter(|| render(&lower(&expect(verify(parse())), &caps), &caps));
        });
    }
    group.finish();
}

criterion_group!(benches, first, stages);
criterion_main!(benches);
