//! The device, and the reading of PTX that stands for it where there is no card; `GIRIH_REQUIRE_CUDA` makes a missing card a
//! failure.

use girih_base::diag::Code;
use girih_base::span::Sources;
use girih_base::words;
use girih_cuda::ptx::Target;
use girih_cuda::{Emulator, Settings, devices, open, open_with};
use girih_ir::{Module, Type, Verified, text, verify};
use girih_runtime::{Argument, Buffer, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, Program};
use std::time::{Duration, Instant};

/// Every device to test: the reading of PTX, and the first card if there is one.
fn each(test: impl Fn(&Device)) {
    test(&Device::new(Emulator::new(Target::from_name("sm_90a").expect("it is a target"))));
    if let Some(device) = card() {
        test(&device);
    }
}

/// The first card; none if it may be missing and is.
fn card() -> Option<Device> {
    match open(0) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("{}", error.message);
            girih_workbench::missing("CUDA card", "GIRIH_REQUIRE_CUDA");
            None
        }
    }
}

fn module(source: &str) -> Verified<Module> {
    let id = Sources::default().add("test.gir", source);
    verify(text::parse(id, source).expect("it is read").module).expect("it follows the rules")
}

fn load(device: &Device, source: &str) -> Vec<Program> {
    let module = module(source);
    let kernels: Vec<_> = module.kernels().collect();
    device.load(&module, &kernels, &LoadOptions::default()).expect("it is compiled")
}

fn buffer(device: &Device, bytes: u64) -> Buffer {
    device.zeroed(Memory::of(bytes)).expect("there is memory")
}

fn words(device: &Device, buffer: &Buffer, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    device.read(buffer, 0, &mut bytes).expect("it is read");
    words::from_bytes(&bytes)
}

fn number(bits: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: bits.into() })
}

fn dispatch(program: &Program, grid: Grid, arguments: &[Argument]) -> Command {
    Command::Dispatch(Dispatch { program: program.clone(), arguments: arguments.to_vec(), grid })
}

#[test]
fn a_missing_driver_or_card_is_said_plainly() {
    for found in devices() {
        if let Err(error) = found {
            assert_eq!(error.code, Code::NoDevice);
            assert!(!error.message.ends_with('.'), "{}", error.message);
        }
    }
    let error = open(1000).expect_err("there are not so many cards");
    assert_eq!(error.code, Code::NoDevice);
    assert!(open_with(1000, &Settings::default()).is_err());
}

#[test]
fn memory_is_zero_written_read_copied_and_cleared() {
    each(|device| {
        let (a, b) = (buffer(device, 40 << 20), buffer(device, 40 << 20));
        assert!(words(device, &a, 10 << 20).iter().all(|w| *w == 0));
        let pattern: Vec<u32> = (0..10 << 20).collect();
        device.write(&a, 0, &words::to_bytes(&pattern)).expect("it is written");
        let copy = Command::copy((&a, 8), (&b, 16), (40 << 20) - 16);
        device.submit(&[copy, Command::clear(&b, 20, 8)]).expect("it is queued");
        let found = words(device, &b, 10 << 20);
        assert_eq!(found[..8], [0, 0, 0, 0, 2, 0, 0, 5]);
        assert_eq!(found[10 << 19], (10 << 19) - 2);
        drop(a);
        let again = buffer(device, 40 << 20);
        assert!(words(device, &again, 10 << 20).iter().all(|w| *w == 0), "memory that is used again is cleared");
        for (offset, length) in [(2, 4), (0, 2), (40 << 20, 4), (u64::MAX - 3, 4)] {
            let error = device.read(&again, offset, &mut vec![0; length]).expect_err("it is outside");
            assert_eq!(error.code, Code::BadArguments);
        }
    });
}

const ROUNDS: &str = "kernel @step(%from: buffer readonly, %to: buffer, %grid: buffer) workgroup(32) {
  shared %s: u32[32]
  %i = global_id.x
  %l = local_index
  store.u32 %s[%l], (load.u32 %from[%i])
  barrier
  store.u32 %to[%i], (add.u32 (load.u32 %s[(xor.u32 %l, 1)]), (workgroup_id.x))
  if (eq.u32 %i, 0) {
    store.u32 %grid[0], (add.u32 (num_workgroups.x), 1)
    store.u32 %grid[1], 1
    store.u32 %grid[2], 1
  }
}
";

/// Each round's grid is written by the one before: nothing is read back in between.
#[test]
fn grids_in_memory_follow_each_other() {
    each(|device| {
        let program = load(device, ROUNDS).swap_remove(0);
        let [a, b, grids] = [(); 3].map(|()| buffer(device, 1 << 20));
        device.write(&grids, 0, &words::to_bytes(&[3, 1, 1])).expect("it is written");
        let mut commands = vec![];
        for round in 0..40u64 {
            let (from, to) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
            let arguments =
                [Argument::buffer(from), Argument::buffer(to), Argument::Buffer(grids.from_byte(256 * (round + 1)))];
            commands.push(dispatch(&program, Grid::Indirect(grids.from_byte(256 * round)), &arguments));
        }
        device.submit(&commands).expect("it is queued");
        let found = words(device, &a, 32 * 60);
        // Workgroup w adds w in every round that it is part of: from round w - 2 on, 40 rounds in all.
        for (i, word) in found.iter().enumerate() {
            let group = i as u32 / 32;
            let rounds = if group < 3 { 40 } else { 42u32.saturating_sub(group) };
            assert_eq!(*word, group * rounds, "word {i}");
        }
    });
}

#[test]
fn traps_are_reported_once() {
    each(|device| {
        let source = "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  trap_if (gt.u32 %n, 5) code(7)\n  store.u32 %m[0], %n\n}\n";
        let (program, m) = (load(device, source).swap_remove(0), buffer(device, 16));
        let run = |n| dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(n)]);
        device.submit(&[run(6)]).expect("it is queued");
        assert_eq!(device.wait().expect_err("it traps").code, Code::Trap);
        device.submit(&[run(5)]).expect("it is queued");
        device.wait().expect("the trap is forgotten");
        assert_eq!(words(device, &m, 1), [5]);
    });
}

/// Freeing waits for kernels that run, and so would letting go of the device.
#[test]
fn nobody_waits_for_a_launch_that_takes_too_long() {
    const ROUNDS: u32 = 400_000_000;
    let Some(device) = card() else { return };
    let source = "
kernel @slow(%m: buffer, %n: u32) workgroup(1) {
  %k, %end = loop (%i: u32 = 0, %x: u32 = 1) {
    while (lt %i, %n) next (add %i, 1), (xor (mul %x, 1664525), %i)
  }
  store.u32 %m[0], %end
}";
    let (program, m) = (load(&device, source).swap_remove(0), buffer(&device, 16));
    let arguments = [Argument::buffer(&m), number(ROUNDS / 100)];
    let timing = device.time(&[dispatch(&program, Grid::Workgroups([1, 1, 1]), &arguments)], 3);
    let whole = 100 * timing.expect("it runs").median();
    drop(device);
    let settings = Settings { limit: Duration::from_millis(100), ..Settings::default() };
    let device = Device::new(open_with(0, &settings).expect("there is a card"));
    let (program, m) = (load(&device, source).swap_remove(0), buffer(&device, 16));
    let begun = Instant::now();
    // Some seconds of work.
    let slow = dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(ROUNDS)]);
    device.submit(&[slow]).expect("it is queued");
    for _ in 0..2 {
        assert_eq!(device.wait().expect_err("it takes too long").code, Code::DeviceTimeout);
    }
    drop(device);
    assert!(begun.elapsed() < whole, "{:?} of {whole:?}", begun.elapsed());
}

#[test]
fn machine_code_is_kept_between_runs() {
    if card().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings { cache: Some(folder.path().into()), ..Settings::default() };
    let files = || std::fs::read_dir(folder.path().join("cuda")).map_or(0, Iterator::count);
    for _ in 0..3 {
        let device = Device::new(open_with(0, &settings).expect("it can be opened"));
        let program = load(&device, ROUNDS).swap_remove(0);
        let [a, b, c] = [(); 3].map(|()| buffer(&device, 4096));
        let arguments = [&a, &b, &c].map(Argument::buffer);
        let timing = device.time(&[dispatch(&program, Grid::Workgroups([2, 1, 1]), &arguments)], 1);
        assert!(timing.expect("it runs").exact);
        assert_eq!(words(&device, &b, 64)[32], 1);
        assert_eq!(files(), 1);
        for entry in std::fs::read_dir(folder.path().join("cuda")).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            std::fs::write(path, b"not machine code").expect("it can be damaged");
        }
    }
}

#[test]
fn shared_memory_beyond_48_kib_and_of_chosen_length() {
    each(|device| {
        let source = "kernel @large(%m: buffer) workgroup(32) {\n  shared %s: u32[15000]\n  %i = local_index\n  \
                  store.u32 %s[%i + 14900], %i\n  barrier\n  store.u32 %m[%i], (load.u32 %s[(xor.u32 %i, 1) + 14900])\n}\n\
                  kernel @chosen(%m: buffer, %n: u32) workgroup(32) {\n  shared %a: u32[%n]\n  shared %b: u64[%n]\n  \
                  %i = local_index\n  store.u32 %a[%i], %i\n  store.u64 %b[%i], 9\n  barrier\n  \
                  store.u32 %m[%i], (add.u32 (load.u32 %a[(xor.u32 %i, 1)]), (convert.u32 (load.u64 %b[%i])))\n}\n";
        let programs = load(device, source);
        let m = buffer(device, 128);
        let one = Grid::Workgroups([1, 1, 1]);
        device.submit(&[dispatch(&programs[0], one.clone(), &[Argument::buffer(&m)])]).expect("it is queued");
        assert_eq!(words(device, &m, 4), [1, 0, 3, 2]);
        for n in [32, 9000] {
            device
                .submit(&[dispatch(&programs[1], one.clone(), &[Argument::buffer(&m), number(n)])])
                .expect("it is queued");
            assert_eq!(words(device, &m, 4), [10, 9, 12, 11]);
        }
        let most = dispatch(&programs[1], one.clone(), &[Argument::buffer(&m), number(1 << 20)]);
        assert_eq!(device.submit(&[most]).expect_err("that is too much").code, Code::OverLimit);
    });
}

/// Memory and a stream that somebody else has made in the card's primary context are used as they are.
#[test]
#[allow(unsafe_code)]
fn memory_and_streams_of_others_are_used_as_they_are() {
    use cudarc::driver::sys;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let Some(device) = card() else { return };
    let program = load(&device, ROUNDS).swap_remove(0);
    let (mut address, mut stream) = (0, std::ptr::null_mut());
    // SAFETY: loading the program has made the card's primary context that of this thread; the driver writes an address and a handle.
    unsafe {
        assert_eq!(sys::cuMemAlloc_v2(&mut address, 4096), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuStreamCreate(&mut stream, 1), sys::CUresult::CUDA_SUCCESS);
    }
    let told = Arc::new(AtomicU32::new(0));
    let noted = told.clone();
    // SAFETY: 4096 bytes are there until the end of the test, and nobody else uses them; the stream lives as long.
    let (theirs, order) = unsafe {
        let theirs = device.import(address, 4096, move || noted.store(1, Ordering::Relaxed));
        (theirs.expect("it is of this card"), device.adopt_stream(stream.expose_provenance() as u64))
    };
    let order = order.expect("it is of this card");
    assert_eq!(theirs.address(), Some(address));
    let [to, grids] = [(); 2].map(|()| order.zeroed(Memory::of(4096)).expect("there is memory"));
    order.write(&theirs, 0, &words::to_bytes(&[5; 1024])).expect("it fits");
    let arguments = [&theirs, &to, &grids].map(Argument::buffer);
    order.submit(&[dispatch(&program, Grid::Workgroups([2, 1, 1]), &arguments)]).expect("it is right");
    drop(arguments);
    let done = order.record().expect("a point");
    done.wait().expect("nothing traps");
    let mut found = [0; 256];
    order.read(&to, 0, &mut found).expect("it is there");
    assert_eq!((found[0], found[128]), (5, 6));
    drop(theirs);
    device.trim().expect("it works");
    assert_eq!(told.load(Ordering::Relaxed), 1, "the owner is told once");
    drop(order);
    // SAFETY: nobody has a buffer or a stream of them any more, and all work is done.
    unsafe {
        sys::cuMemFree_v2(address);
        sys::cuStreamDestroy_v2(stream);
    }
    let mut host = vec![0u8; 64];
    // SAFETY: the device refuses memory that is not its own.
    let refused = unsafe { device.import(host.as_mut_ptr().expose_provenance() as u64, 64, || {}) };
    assert_eq!(refused.err().map(|error| error.code), Some(Code::BadArguments));
}

/// Many small launches: what a recorded one takes of the host's time.
#[test]
fn recorded_launches_take_little_of_the_host() {
    let Some(device) = card() else { return };
    let source = "kernel @bump(%m: buffer, %by: u32) workgroup(32) {\n  store.u32 %m[(local_index)], (add.u32 (load.u32 %m[(local_index)]), %by)\n}\n";
    let program = load(&device, source).swap_remove(0);
    let m = buffer(&device, 128);
    let one = dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(1)]);
    let mut recording = device.record(&vec![one; 100]).expect("it is right");
    let stream = device.stream();
    recording.submit(&stream).expect("it works");
    device.wait().expect("nothing traps");
    let begun = Instant::now();
    for round in 0..100 {
        recording.set(round, 1, number(2)).expect("it fits");
        recording.submit(&stream).expect("it works");
    }
    let each = begun.elapsed() / 10_000;
    device.wait().expect("nothing traps");
    // Each round has one launch more that adds 2.
    assert_eq!(words(&device, &m, 1), [100 + 100 * 100 + (1..=100).sum::<u32>()]);
    println!("{each:?} a launch");
}
