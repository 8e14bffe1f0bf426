//! The interpreter behind the interface of devices.

use super::*;
use girih_ir::Caps;
use girih_runtime::{Buffer, DeviceKind, Program};
use std::time::Duration;

const ADD: &str = "
kernel @add(%m: buffer, %by: u32) workgroup(4) spec(%times: u32 = 1) {
  %i = global_id.x
  store.u32 %m[%i], (mad.u32 %by, %times, (load.u32 %m[%i]))
}";

fn number(n: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: n.into() })
}
fn read(device: &Device, buffer: &Buffer, words: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * words];
    device.read(buffer, 0, &mut bytes).expect("reads");
    words::from_bytes(&bytes)
}
fn write(device: &Device, buffer: &Buffer, words: &[u32]) {
    device.write(buffer, 0, &words::to_bytes(words)).expect("writes");
}
fn load(device: &Device, source: &str, options: &LoadOptions) -> Program {
    let module = module(source);
    let kernel = module.kernels().next().expect("a kernel");
    device.load(&module, &[kernel], options).unwrap_or_else(|d| panic!("{d:#?}")).swap_remove(0)
}

#[test]
fn buffers_end_where_they_were_asked_to() {
    let store = |ty: &str| {
        format!("kernel @k(%m: buffer, %i: u32) workgroup(1) {{\n  store.{ty} %m[%i], (convert.{ty} %i)\n}}")
    };
    let run = |ty: &str, at: u32, caps: Option<Caps>| {
        let device = Device::new(Interpreter::new(Options { caps, ..checked() }));
        let program = load(&device, &store(ty), &LoadOptions::default());
        let buffer = device.zeroed(Memory::of(6)).expect("memory");
        let arguments = vec![Argument::buffer(&buffer), number(at)];
        let grid = Grid::Workgroups([1; 3]);
        device.submit(&[Command::Dispatch(Dispatch { program, arguments, grid })]).expect("starts");
        device.wait().map_err(|d| d.code)
    };
    assert_eq!((run("u32", 0, None), run("u16", 2, None)), (Ok(()), Ok(())));
    assert_eq!(run("u32", 1, None), Err(Code::OutOfBounds));
    assert_eq!(run("u16", 3, None), Err(Code::OutOfBounds));
    // Where only whole words are accessed, the last word is accessed as a whole.
    assert_eq!(run("u16", 2, Some(Caps::web())), Ok(()));
}

#[test]
fn commands_run_in_order() {
    let device = Device::new(Interpreter::new(checked()));
    assert_eq!(device.info().kind, DeviceKind::Interpreter);
    let program = load(&device, ADD, &LoadOptions::default());
    let thrice = LoadOptions { specialisations: vec![("times".into(), 3)], ..LoadOptions::default() };
    let thrice = load(&device, ADD, &thrice);
    let a = device.zeroed(Memory::of(32)).expect("memory");
    let b = device.zeroed(Memory { bytes: 512 + 30, indirect: true }).expect("memory");
    write(&device, &a, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let dispatch = |program: &Program, at, by, grid| {
        Command::Dispatch(Dispatch { program: program.clone(), arguments: vec![at, number(by)], grid })
    };
    let whole = Argument::buffer;
    device
        .submit(&[
            dispatch(&program, whole(&a), 10, Grid::Workgroups([2, 1, 1])),
            Command::copy((&a, 4), (&b, 0), 12),
            dispatch(&thrice, whole(&a), 100, Grid::Workgroups([1; 3])),
            Command::clear(&a, 28, 4),
            dispatch(&program, Argument::Buffer(b.from_byte(256)), 1, Grid::Workgroups([1; 3])),
        ])
        .expect("starts");
    device.wait().expect("no fault");
    assert_eq!(read(&device, &a, 8), [310, 311, 312, 313, 14, 15, 16, 0]);
    let words = read(&device, &b, 68);
    assert_eq!((&words[..4], &words[64..]), (&[11, 12, 13, 0][..], &[1; 4][..]));
    // Grids from a buffer; a zero runs nothing.
    write(&device, &b, &[1, 1, 1, 2, 0, 1]);
    device
        .submit(&[
            dispatch(&program, whole(&a), 1000, Grid::Indirect(b.clone())),
            dispatch(&program, whole(&a), 5000, Grid::Indirect(b.from_byte(12))),
        ])
        .expect("starts");
    assert_eq!(read(&device, &a, 5), [1310, 1311, 1312, 1313, 14]);
}

#[test]
fn nothing_is_queued_if_something_is_wrong() {
    let device = Device::new(Interpreter::new(checked()));
    let program = load(&device, ADD, &LoadOptions::default());
    let a = device.zeroed(Memory::of(16)).expect("memory");
    let elsewhere = Device::new(Interpreter::new(checked()));
    let other = elsewhere.zeroed(Memory::of(16)).expect("memory");
    let right = Dispatch { program, arguments: vec![Argument::buffer(&a), number(1)], grid: Grid::Workgroups([1; 3]) };
    let mut wrong = vec![];
    for arguments in [
        vec![],
        vec![number(1); 2],
        vec![Argument::buffer(&a); 2],
        vec![Argument::Buffer(other.clone()), number(1)],
        vec![Argument::Buffer(a.slice(4, 16)), number(1)],
    ] {
        wrong.push(Command::Dispatch(Dispatch { arguments, ..right.clone() }));
    }
    wrong
        .push(Command::Dispatch(Dispatch { program: load(&elsewhere, ADD, &LoadOptions::default()), ..right.clone() }));
    wrong.push(Command::Dispatch(Dispatch { grid: Grid::Own, ..right.clone() }));
    wrong.push(Command::Dispatch(Dispatch { grid: Grid::Indirect(a.from_byte(8)), ..right.clone() }));
    wrong.push(Command::copy((&a, 8), (&a, 0), 12));
    wrong.push(Command::copy((&a, 2), (&a, 13), 4));
    wrong.push(Command::clear(&other, 0, 4));
    for command in wrong {
        let error = device.submit(&[Command::Dispatch(right.clone()), command.clone()]).expect_err("wrong");
        assert_eq!(error.code, Code::BadArguments, "{command:?}");
    }
    assert_eq!(read(&device, &a, 4), [0; 4]);
}

#[test]
fn faults_and_traps_are_told_once_at_the_wait() {
    let source = "
kernel @k(%m: buffer, %n: u32) workgroup(4) {
  trap_if (eq.u32 (local_index), %n) code(9)
  store.u32 %m[(add.u32 (local_index), %n)], 5
}";
    for caps in [None, Some(Caps::web())] {
        let device = Device::new(Interpreter::new(Options { caps, ..checked() }));
        let program = load(&device, source, &LoadOptions::default());
        let a = device.zeroed(Memory::of(32)).expect("memory");
        let run = |device: &Device, n| {
            let arguments = vec![Argument::buffer(&a), number(n)];
            let (program, grid) = (program.clone(), Grid::Workgroups([1; 3]));
            device.submit(&[Command::Dispatch(Dispatch { program, arguments, grid })])?;
            device.wait()
        };
        let trap = run(&device, 2).expect_err("a trap");
        assert_eq!(trap.code, Code::Trap);
        assert!(trap.message.contains('9'));
        run(&device, 4).expect("no trap");
        assert_eq!(read(&device, &a, 8), [0, 0, 5, 5, 5, 5, 5, 5]);
        assert_eq!(run(&device, 5).expect_err("outside").code, Code::OutOfBounds);
        device.wait().expect("it was told");
    }
}

#[test]
fn time_passes_by_the_clock_that_is_given() {
    fn clock() -> Duration {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NOW: AtomicU64 = AtomicU64::new(0);
        Duration::from_secs(NOW.fetch_add(3, Ordering::Relaxed))
    }
    let device = Device::new(Interpreter::new(Options { clock: Some(clock), ..checked() }));
    let timing = device.time(&[], 2).expect("nothing runs");
    assert_eq!((timing.runs, timing.exact), (vec![Duration::from_secs(3); 2], false));
    let device = Device::new(Interpreter::new(checked()));
    assert_eq!(device.time(&[], 1).expect("nothing runs").total(), Duration::ZERO);
}

#[test]
fn too_much_is_refused() {
    let source = "
kernel @big(%m: buffer) workgroup(64, 32) {
  store.u32 %m[(local_index)], 1
}";
    let module = module(source);
    let kernel = module.kernels().next().expect("a kernel");
    let device = Device::new(Interpreter::new(checked()));
    let error = device.load(&module, &[kernel], &LoadOptions::default()).expect_err("too big").remove(0);
    assert_eq!(error.code, Code::OverLimit);
    let greedy = "
kernel @greedy(%m: buffer, %n: u32) workgroup(1) launch {
  %words = add.u32 %n, 0
  grid 1, 1, 1
} {
  shared %s: u32[%words]
  store.u32 %s[0], 1
  store.u32 %m[0], (load.u32 %s[0])
}";
    assert!(launch(greedy, checked(), [1; 3], &[Words(vec![0]), Number(10_000)]).is_ok());
    let error = launch(greedy, checked(), [1; 3], &[Words(vec![0]), Number(1 << 20)]).expect_err("too big");
    assert_eq!(error.code, Code::OverLimit);
    let private = "
kernel @private(%m: buffer) workgroup(1024) {
  private %p: u32[1000000]
  store.u32 %p[0], 1
}";
    assert_eq!(launch(private, checked(), [1; 3], &[Words(vec![0])]).expect_err("too big").code, Code::OverLimit);
    let error = device.zeroed(Memory::of(u64::MAX)).expect_err("too big");
    assert_eq!(error.code, Code::DeviceMemory);
    let error = device.zeroed(Memory::of(1 << 62)).expect_err("too big");
    assert_eq!(error.code, Code::DeviceMemory);
}

/// What is made legal for WebGPU computes the same.
#[test]
fn kernels_made_legal_compute_the_same() {
    let source = "
kernel @mix(%a: buffer readonly, %out: buffer) workgroup(32) {
  %t = local_index
  %x = load.u32 %a[%t]
  %wide = mul.i64 (convert.i64 (bitcast.i32 %x)), 1234567890123
  %q = div.i64 %wide, (convert.i64 (add.u32 %t, 1))
  %h = div.f16 (convert.f16 (and.u32 %x, 255)), (convert.f16 (add.u32 %t, 1))
  %f = fma.f32 (convert.f32 %x), 1.5, (sqrt.f32 (convert.f32 %t))
  %sum = subgroup.add.u32 (subgroup.max.u32 %x)
  %e = exp.f32 (div.f32 (convert.f32 %t), 7.0)
  store.u64 %out[%t], (bitcast.u64 %q)
  store.f16 %out[(add.u32 %t, 256)], %h
  store.f32 %out[(add.u32 %t, 192)], (add.f32 %f, %e)
  store.u8 %out[(add.u32 %t, 1024)], (convert.u8 (shr.u32 %x, 3))
}";
    let words: Vec<u32> = (0..32u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i << 3).collect();
    let run = |caps: Option<Caps>, checked: bool| {
        let options = Options { caps, checked, ..Options::default() };
        let given = [Words(words.clone()), Words(vec![0; 512])];
        launch(source, options, [1; 3], &given).unwrap_or_else(|d| panic!("{d:#?}")).remove(1)
    };
    let expected = run(None, true);
    assert_eq!(run(Some(Caps::everything()), true), expected);
    assert_eq!(run(Some(Caps::web()), true), expected);
}
