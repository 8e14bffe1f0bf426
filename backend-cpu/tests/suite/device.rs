//! What the device promises: kernels with and without barriers run as the reference machine runs them, and what goes wrong ends with
//! its own error, after which the device goes on.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Sources;
use girih_base::words;
use girih_cpu::{Settings, open};
use girih_ir::{Caps, FunctionId, Module, Type, Verified, text, verify};
use girih_runtime::{Argument, Buffer, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, Program};
use std::time::Duration;

pub(crate) fn cpu(threads: usize) -> Device {
    Device::new(open(&Settings { threads: Some(threads), ..Settings::default() }).unwrap())
}

fn module(source: &str) -> Verified<Module> {
    let id = Sources::default().add("test.gir", source);
    let parsed = text::parse(id, source).unwrap_or_else(|e| panic!("{e:#?}"));
    verify(parsed.module).unwrap_or_else(|e| panic!("{e:#?}"))
}

pub(crate) fn load(device: &Device, source: &str) -> Program {
    let module = module(source);
    let kernels: Vec<FunctionId> = module.kernels().collect();
    device.load(&module, &kernels, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e:#?}")).swap_remove(0)
}

pub(crate) fn words(device: &Device, values: &[u32]) -> Buffer {
    let buffer = device.zeroed(Memory { bytes: 4 * values.len() as u64, indirect: true }).unwrap();
    device.write(&buffer, 0, &words::to_bytes(values)).unwrap();
    buffer
}

pub(crate) fn read(device: &Device, buffer: &Buffer, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    device.read(buffer, 0, &mut bytes).unwrap();
    words::from_bytes(&bytes)
}

pub(crate) fn buffer(buffer: &Buffer) -> Argument {
    Argument::buffer(buffer)
}

pub(crate) fn number(bits: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: bits.into() })
}

pub(crate) fn run(device: &Device, program: &Program, grid: Grid, arguments: &[Argument]) -> Result<(), Diagnostic> {
    let dispatch = Dispatch { program: program.clone(), arguments: arguments.to_vec(), grid };
    device.submit(&[Command::Dispatch(dispatch)])?;
    device.wait()
}

const SUM: &str = "
kernel @sum(%x: buffer readonly, %out: buffer, %n: u32) workgroup(64) launch {
  %blocks = div (add %n, 63), 64
  grid %blocks, 1, 1
} {
  shared %part: u32[64]
  %l = local_index
  %i = global_id.x
  %v: u32 = if (lt %i, %n) {
    yield (load.u32 %x[%i])
  } else {
    yield 0
  }
  store.u32 %part[%l], %v
  loop (%half: u32 = 32) {
    barrier
    if (lt %l, %half) {
      store.u32 %part[%l], (add (load.u32 %part[%l]), (load.u32 %part[(add %l, %half)]))
    }
    while (gt %half, 1) next (shr %half, 1)
  }
  if (eq %l, 0) {
    atomic.add.u32 %out[0], (load.u32 %part[0])
  }
}";

#[test]
fn barriers_in_loops_and_atomics_across_workgroups() {
    for threads in [1, 2, 5] {
        let device = cpu(threads);
        let sum = load(&device, SUM);
        for count in [1u32, 64, 1000, 300_000] {
            let values: Vec<u32> = (0..count).map(|i| i.wrapping_mul(2_654_435_761)).collect();
            let (x, out) = (words(&device, &values), words(&device, &[0]));
            run(&device, &sum, Grid::Own, &[buffer(&x), buffer(&out), number(count)]).unwrap();
            let expected = values.iter().fold(0u32, |a, b| a.wrapping_add(*b));
            assert_eq!(read(&device, &out, 1), [expected], "{count} values on {threads} threads");
        }
    }
}

#[test]
fn values_live_across_barriers_in_every_kind_of_region() {
    // Each invocation keeps what it has and reads what its neighbour had, in an `if`, a `switch` and a loop that all reach.
    let source = "
kernel @keep(%out: buffer, %mode: u32) workgroup(4, 2) {
  shared %s: u32[8]
  private %own: u32[2]
  %l = local_index
  %y = local_id.y
  %seed = mul (add %l, 1), 10
  store.u32 %own[0], %seed
  %a: u32 = if (eq %mode, 1) {
    store.u32 %s[%l], %seed
    barrier
    %n = load.u32 %s[(and (add %l, 1), 7)]
    barrier
    yield (add %n, %y)
  } else {
    %r: u32 = switch %mode case 2 {
      store.u32 %s[%l], (add %seed, 1)
      barrier
      yield (load.u32 %s[(xor %l, 1)])
    } default {
      yield 5
    }
    yield %r
  }
  %k, %t = loop (%k: u32 = 0, %t: u32 = %a) {
    barrier
    store.u32 %s[%l], %t
    barrier
    %u = load.u32 %s[(and (add %l, %k), 7)]
    while (lt %k, 3) next (add %k, 1), (add %u, %t)
  }
  store.u32 %out[%l], (add (add %t, (load.u32 %own[0])), %k)
}";
    let device = cpu(2);
    let keep = load(&device, source);
    for mode in 0..3 {
        let out = words(&device, &[0; 8]);
        run(&device, &keep, Grid::Workgroups([1; 3]), &[buffer(&out), number(mode)]).unwrap();
        let seed = |l: u32| (l + 1) * 10;
        let mut t: Vec<u32> = (0..8)
            .map(|l| match mode {
                1 => seed((l + 1) & 7) + l / 4,
                2 => seed(l ^ 1) + 1,
                _ => 5,
            })
            .collect();
        for k in 0..3 {
            t = (0..8).map(|l| t[(l + k) & 7] + t[l]).collect();
        }
        let expected: Vec<u32> = (0..8).map(|l| t[l as usize] + seed(l) + 3).collect();
        assert_eq!(read(&device, &out, 8), expected, "mode {mode}");
    }
}

#[test]
fn an_access_outside_of_a_buffer_is_an_error_with_its_place() {
    let source = "
kernel @out(%m: buffer, %i: u32) workgroup(4, 2) {
  %l = local_index
  if (eq %l, 5) {
    store.u32 %m[%i - 1], 7
  }
}";
    let device = cpu(2);
    let out = load(&device, source);
    let m = words(&device, &[0; 4]);
    for i in [0, 5, u32::MAX] {
        let error = run(&device, &out, Grid::Workgroups([2, 1, 1]), &[buffer(&m), number(i)]).unwrap_err();
        assert_eq!(error.code, Code::OutOfBounds);
        assert_eq!(error.span().start as usize, source.find("store").unwrap());
        let element = i64::from(i) - 1;
        let place =
            format!("element {element} of `%m`, which is outside of it, in invocation (1, 1, 0) of workgroup (");
        assert!(error.message.contains(&place), "{}", error.message);
    }
    run(&device, &out, Grid::Workgroups([2, 1, 1]), &[buffer(&m), number(4)]).unwrap();
    assert_eq!(read(&device, &m, 4), [0, 0, 0, 7], "the device goes on");
}

#[test]
fn a_kernel_without_end_is_stopped() {
    let source = "
fn @spin(%n: u32) -> u32 {
  %r = loop (%i: u32 = %n) {
    while (ne %i, 1) next (add %i, 2)
  }
  return %r
}
kernel @endless(%m: buffer) workgroup(64) {
  loop (%i: u32 = 0) {
    %v = atomic.load.u32 %m[0]
    %w = call @spin(%v)
    while (eq (and %w, 1), %v) next (add %i, 1)
  }
}";
    let device = Device::new(open(&Settings { limit: Duration::from_millis(100), ..Settings::default() }).unwrap());
    let endless = load(&device, source);
    let m = words(&device, &[0]);
    for groups in [1, 1000] {
        let error = run(&device, &endless, Grid::Workgroups([groups, 1, 1]), &[buffer(&m)]).unwrap_err();
        assert_eq!(error.code, Code::DeviceTimeout);
    }
}

#[test]
fn grids_are_checked_also_those_in_memory() {
    let source = "
kernel @count(%m: buffer) workgroup(3) {
  atomic.add.u32 %m[0], 1
}";
    let device = cpu(2);
    let count = load(&device, source);
    let (m, grid) = (words(&device, &[0]), words(&device, &[9, 5, 2, 7, 1, 70_000]));
    let error = run(&device, &count, Grid::Workgroups([1, 70_000, 1]), &[buffer(&m)]).unwrap_err();
    assert_eq!(error.code, Code::OverLimit);
    run(&device, &count, Grid::Indirect(grid.from_byte(4)), &[buffer(&m)]).unwrap();
    assert_eq!(read(&device, &m, 1), [3 * 5 * 2 * 7]);
    let error = run(&device, &count, Grid::Indirect(grid.from_byte(12)), &[buffer(&m)]).unwrap_err();
    assert_eq!(error.code, Code::OverLimit);
    let error = run(&device, &count, Grid::Indirect(grid.from_byte(24)), &[buffer(&m)]).unwrap_err();
    assert_eq!(error.code, Code::BadArguments);
    run(&device, &count, Grid::Workgroups([0, 3, 3]), &[buffer(&m)]).unwrap();
    assert_eq!(read(&device, &m, 1), [210]);
}

#[test]
fn traps_are_reported_once() {
    let source = "
kernel @check(%m: buffer) workgroup(32) {
  %g = global_id.x
  %v = load.u32 %m[%g]
  trap_if (gt %v, 9) code(42)
}";
    let device = cpu(2);
    let check = load(&device, source);
    let (good, bad) = (words(&device, &[9; 128]), words(&device, &[10; 128]));
    let error = run(&device, &check, Grid::Workgroups([4, 1, 1]), &[buffer(&bad)]).unwrap_err();
    assert!(error.code == Code::Trap && error.message.ends_with(" 42"), "{}", error.message);
    run(&device, &check, Grid::Workgroups([4, 1, 1]), &[buffer(&good)]).unwrap();
}

#[test]
fn shared_memory_of_a_length_that_is_chosen_at_launch() {
    let source = "
kernel @turn(%m: buffer, %n: u32) workgroup(32) launch {
  grid 1, 1, 1
} {
  shared %head: u32[3]
  shared %s: u32[%n]
  shared %t: u32x4[%n]
  %l = local_index
  store.u32 %head[(and %l, 1)], 77
  if (lt %l, %n) {
    store.u32 %s[%l], (load.u32 %m[%l])
  }
  barrier
  if (lt %l, %n) {
    store.u32 %m[%l], (load.u32 %s[(sub (sub %n, 1), %l)])
  }
}";
    let source = source.replace("  shared %t: u32x4[%n]\n", "  shared %t: u64[%n]\n");
    let device = cpu(1);
    let turn = load(&device, &source);
    let m = words(&device, &[1, 2, 3, 4, 5]);
    run(&device, &turn, Grid::Own, &[buffer(&m), number(5)]).unwrap();
    assert_eq!(read(&device, &m, 5), [5, 4, 3, 2, 1]);
    let error = run(&device, &turn, Grid::Own, &[buffer(&m), number(1 << 20)]).unwrap_err();
    assert_eq!(error.code, Code::OverLimit);
}

#[test]
fn what_the_processor_lacks_is_refused_by_name() {
    let source = "
kernel @all_at_once(%m: buffer) workgroup(1) cooperative {
  store.u32 %m[0], 1
}";
    let module = module(source);
    let kernels: Vec<FunctionId> = module.kernels().collect();
    let errors = cpu(1).load(&module, &kernels, &LoadOptions::default()).unwrap_err();
    assert_eq!(errors[0].code, Code::NeedsFeature);
    assert!(errors[0].message.contains("cooperative_launch"), "{}", errors[0].message);
}

#[test]
fn the_text_of_the_code_is_the_same_each_time() {
    let module = module(SUM);
    let kernels: Vec<FunctionId> = module.kernels().collect();
    let text = || {
        let compiled = girih_lower::compile(&module, &kernels, &Caps::cpu(false), &LoadOptions::default()).unwrap();
        girih_cpu::emit(&compiled).unwrap()
    };
    assert!(text().contains("atomic_rmw"), "{}", text());
    assert_eq!(text(), text());
}

/// Cranelift joins equal loads, but not these: each is atomic, or stands behind a fence.
#[test]
fn volatile_loads_are_made_each_time() {
    let source = "
kernel @volatile(%x: buffer readonly align(16), %out: buffer) workgroup(1) {
  %a = load.f32 %x[0] volatile
  %b = load.f32 %x[0] volatile
  store.f32 %out[0], (add %a, %b)
  store.u32 %out[1], (convert.u32 (load.u8 %x[4] volatile))
  store.u32 %out[2], (convert.u32 (load.u64 %x[1] volatile))
  store.f32 %out[3], (extract.f32 (load.f32x4 %x[0] volatile), 0)
}";
    let device = cpu(1);
    let (x, out) = (words(&device, &[1.5f32.to_bits(), 200, 9, 0]), words(&device, &[0; 4]));
    run(&device, &load(&device, source), Grid::Workgroups([1; 3]), &[buffer(&x), buffer(&out)]).unwrap();
    assert_eq!(read(&device, &out, 4), [3f32.to_bits(), 200, 9, 1.5f32.to_bits()]);
    let module = module(source);
    let kernels: Vec<FunctionId> = module.kernels().collect();
    let compiled = girih_lower::compile(&module, &kernels, &Caps::cpu(false), &LoadOptions::default()).unwrap();
    let text = girih_cpu::emit(&compiled).unwrap();
    assert!(text.matches("atomic_load").count() >= 4, "{text}");
}

#[test]
fn neighbours_become_one_access_that_stays_inside() {
    let source = "
kernel @move(%x: buffer readonly, %out: buffer, %from: u32, %to: u32) workgroup(1) {
  %a = load.u32 %x[%from]
  %b = load.u32 %x[%from + 1]
  %c = load.u32 %x[(add %from, 2)]
  %d = load.u32 %x[%from + 3]
  %v = vector.u32x4 %a, %b, %c, %d
  store.u32 %out[%to], (extract.u32 %v, 0)
  store.u32 %out[%to + 1], (extract.u32 %v, 1)
  store.u32 %out[(add %to, 2)], (extract.u32 %v, 2)
  store.u32 %out[%to + 3], (extract.u32 %v, 3)
}";
    let device = cpu(1);
    let program = load(&device, source);
    let x = words(&device, &(10..20).collect::<Vec<u32>>());
    for (from, to) in [(0, 3), (3, 0), (6, 5), (5, 6)] {
        let out = words(&device, &[0; 10]);
        let arguments = [buffer(&x), buffer(&out), number(from), number(to)];
        run(&device, &program, Grid::Workgroups([1; 3]), &arguments).unwrap();
        let mut expected = [0; 10];
        (0..4).for_each(|i| expected[(to + i) as usize] = 10 + from + i);
        assert_eq!(read(&device, &out, 10), expected, "from {from} to {to}");
    }
    let short = words(&device, &[0; 3]);
    let outside = [(7, 0), (10, 0), (u32::MAX - 1, 0), (1 << 31, 0), (0, 7), (0, u32::MAX - 2)];
    for (from, to) in outside {
        let out = words(&device, &[0; 10]);
        let arguments = [buffer(&x), buffer(&out), number(from), number(to)];
        let error = run(&device, &program, Grid::Workgroups([1; 3]), &arguments).unwrap_err();
        assert_eq!(error.code, Code::OutOfBounds, "from {from} to {to}");
    }
    let arguments = [buffer(&short), buffer(&x), number(0), number(0)];
    let error = run(&device, &program, Grid::Workgroups([1; 3]), &arguments).unwrap_err();
    assert_eq!(error.code, Code::OutOfBounds);
}
