//! The device, and the reading of PTX that stands for it where there is no card; `GIRIH_REQUIRE_CUDA` makes a missing card a
//! failure.

use crate::waiting::SLOW;
use girih_base::diag::Code;
use girih_base::span::Sources;
use girih_base::words;
use girih_cuda::ptx::Target;
use girih_cuda::{Emulator, Settings, devices, open, open_with};
use girih_ir::{Module, Type, Verified, text, verify};
use girih_runtime::driver::KernelSource;
use girih_runtime::{Argument, Buffer, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, Program, trap};
use std::ops::Deref;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Every device to test: the reading of PTX, and the first card if there is one.
fn each(test: impl Fn(&Device)) {
    test(&Device::new(Emulator::new(Target::from_name("sm_90a").expect("it is a target"))));
    if let Some(device) = card() {
        test(&device);
    }
}

/// A device, and the leave to use it.
pub struct Card<G>(Device, G);

impl<G> Deref for Card<G> {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.0
    }
}

/// Tests share the card, but for those that ask what it is at, which have it alone.
static USE: RwLock<()> = RwLock::new(());

/// The first card; none if it may be missing and is.
pub fn card() -> Option<Card<RwLockReadGuard<'static, ()>>> {
    let shared = USE.read().unwrap_or_else(PoisonError::into_inner);
    first().map(|device| Card(device, shared))
}

/// The same, which no other test uses meanwhile.
pub fn card_alone() -> Option<Card<RwLockWriteGuard<'static, ()>>> {
    let alone = USE.write().unwrap_or_else(PoisonError::into_inner);
    first().map(|device| Card(device, alone))
}

fn first() -> Option<Device> {
    match open(0) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("{}", error.message);
            girih_workbench::missing("CUDA card", "GIRIH_REQUIRE_CUDA");
            None
        }
    }
}

pub fn module(source: &str) -> Verified<Module> {
    let id = Sources::default().add("test.gir", source);
    verify(text::parse(id, source).expect("it is read").module).expect("it follows the rules")
}

pub fn load(device: &Device, source: &str) -> Vec<Program> {
    let module = module(source);
    let kernels: Vec<_> = module.kernels().collect();
    device.load(&module, &kernels, &LoadOptions::default()).expect("it is compiled")
}

pub fn buffer(device: &Device, bytes: u64) -> Buffer {
    device.zeroed(Memory::of(bytes)).expect("there is memory")
}

pub fn words(device: &Device, buffer: &Buffer, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    device.read(buffer, 0, &mut bytes).expect("it is read");
    words::from_bytes(&bytes)
}

pub fn number(bits: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: bits.into() })
}

pub fn dispatch(program: &Program, grid: Grid, arguments: &[Argument]) -> Command {
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
        for (offset, length) in [((40 << 20) - 2, 4), (40 << 20, 4), (u64::MAX - 3, 4)] {
            let error = device.read(&again, offset, &mut vec![0; length]).expect_err("it is outside");
            assert_eq!(error.code, Code::BadArguments);
        }
    });
}

pub const ROUNDS: &str = "kernel @step(%from: buffer readonly, %to: buffer, %grid: buffer) workgroup(32) {
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

/// Each failure is told once, and by no point before it; whoever is asked first has it.
#[test]
fn a_trap_is_told_by_the_points_behind_it() {
    let Some(device) = card() else { return };
    let source = "kernel @k(%m: buffer, %n: u32) workgroup(32) {\n  trap_if (eq.u32 %n, 1) code(1)\n  trap_if (eq.u32 %n, 2) code(2)\n  store.u32 %m[0], %n\n}\n";
    let (program, m) = (load(&device, source).swap_remove(0), buffer(&device, 16));
    let run = |n| dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(n)]);
    let submit = |n| device.submit(&[run(n)]).expect("it is queued");
    let record = || device.stream().record().expect("a point");
    let told = |result: Result<(), girih_base::diag::Diagnostic>| result.err().map(|error| error.message);
    let trapped = |code| Some(trap(code).message);
    let before = record();
    submit(1);
    let after = record();
    assert_eq!(told(before.wait()), None);
    assert_eq!(told(after.wait()), trapped(1));
    assert_eq!(told(device.wait()), None);
    // What is trapped between a point and the look at it is not lost.
    submit(1);
    let first = record();
    submit(2);
    assert_eq!([told(first.wait()), told(device.wait()), told(device.wait())], [trapped(1), trapped(2), None]);
    // Nor is what a point has seen that nobody asks.
    submit(2);
    drop(record());
    assert_eq!(told(device.wait()), trapped(2));
    // A later point that is asked first tells the earlier failure first.
    submit(1);
    let first = record();
    submit(2);
    let second = record();
    assert_eq!([told(second.wait()), told(first.wait()), told(device.wait())], [trapped(1), None, trapped(2)]);
    // A recording notes traps where the stream that it is submitted to looks.
    let mut recording = device.record(&[run(1), run(3)]).expect("it is right");
    let other = device.open_stream().expect("a stream");
    for stream in [&other, &device.stream(), &other] {
        recording.submit(stream).expect("it works");
        let [here, there] = if stream.wait().is_err() { [true, device.wait().is_err()] } else { [false, true] };
        assert!(here && !there, "{stream:?}");
    }
    // Two threads in one stream: each launch that traps is told, by one of them.
    let found: usize = std::thread::scope(|scope| {
        let thread = || {
            let wait = |_| {
                submit(1);
                usize::from(record().wait().is_err())
            };
            (0..200).map(wait).sum::<usize>()
        };
        let threads = [scope.spawn(thread), scope.spawn(thread)];
        threads.map(|thread| thread.join().expect("it ends")).iter().sum()
    });
    assert!(found >= 200, "{found} of at least 200");
}

/// A recording does not need the stream that it was submitted to.
#[test]
fn a_recording_outlives_the_stream_that_it_ran_on() {
    each(|device| {
        let source = "kernel @add(%m: buffer, %by: u32) workgroup(32) {\n  trap_if (gt.u32 %by, 1000) code(1)\n  store.u32 %m[(local_index)], (add.u32 (load.u32 %m[(local_index)]), %by)\n}\n";
        let (program, m) = (load(device, source).swap_remove(0), buffer(device, 128));
        let one = dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(1)]);
        let mut recording = device.record(&[one.clone(), one]).expect("it is right");
        device.wait().expect("the buffer is cleared");
        for by in [2, 3, 4] {
            let stream = device.open_stream().expect("a stream");
            recording.submit(&stream).expect("it works");
            stream.wait().expect("nothing traps");
            drop(stream);
            recording.set(0, 1, number(by)).expect("no stream is needed");
        }
        let first = device.stream();
        recording.submit(&first).expect("it works");
        first.wait().expect("nothing traps");
        assert_eq!(words(device, &m, 2), [(1 + 1) + (2 + 1) + (3 + 1) + (4 + 1); 2]);
        recording.set(1, 1, number(2000)).expect("it fits");
        recording.submit(&first).expect("it works");
        assert_eq!(first.wait().expect_err("it traps").code, Code::Trap);
    });
}

/// Nothing of a submission is queued if an error is returned, also if it is only the card that cannot do it.
#[test]
fn nothing_is_queued_of_a_wrong_submission() {
    let Some(device) = card() else { return };
    let source = "kernel @put(%m: buffer, %n: u32) workgroup(32) {\n  store.u32 %m[0], %n\n}\n\
                  kernel @all(%m: buffer, %n: u32) workgroup(256) cooperative {\n  store.u32 %m[1], %n\n}\n";
    let (programs, m) = (load(&device, source), buffer(&device, 16));
    let grid = buffer(&device, 12);
    let arguments = |n| [Argument::buffer(&m), number(n)];
    let put = |n| dispatch(&programs[0], Grid::Workgroups([1, 1, 1]), &arguments(n));
    let all = |count, n| dispatch(&programs[1], Grid::Workgroups([count, 1, 1]), &arguments(n));
    device.submit(&[put(1), all(2, 2)]).expect("so many fit");
    assert_eq!(words(&device, &m, 2), [1, 2]);
    let error = device.submit(&[put(3), all(1 << 20, 4)]).expect_err("so many cannot run at once");
    assert_eq!(error.code, Code::OverLimit);
    assert_eq!(device.record(&[put(3), all(1 << 20, 4)]).err().map(|error| error.code), Some(Code::OverLimit));
    assert_eq!(words(&device, &m, 2), [1, 2], "nothing ran");
    // What the host finds in memory later is a failure of the work, which is told once.
    let indirect = dispatch(&programs[1], Grid::Indirect(grid.clone()), &arguments(4));
    device.write(&grid, 0, &words::to_bytes(&[1 << 20, 1, 1])).expect("it is written");
    let before = device.stream().record().expect("a point");
    device.submit(&[put(3), indirect.clone(), put(5)]).expect("what is in memory is not known yet");
    before.wait().expect("it is behind this point");
    assert_eq!(device.wait().expect_err("so many cannot run at once").code, Code::OverLimit);
    assert_eq!(words(&device, &m, 2), [3, 2], "what comes later does not run");
    device.write(&grid, 0, &words::to_bytes(&[2, 1, 1])).expect("it is written");
    device.submit(&[indirect]).expect("it is queued");
    assert_eq!(words(&device, &m, 2), [3, 4]);
}

/// A program that an earlier process has kept does what it did there.
#[test]
#[allow(unsafe_code)]
fn a_restored_program_has_both_forms() {
    each(|device| {
        let module = module(ROUNDS);
        let kernel = module.kernels().next().expect("there is one");
        let grid = buffer(device, 12);
        device.write(&grid, 0, &words::to_bytes(&[3, 1, 1])).expect("it is written");
        for indirect in [vec![], vec![kernel]] {
            let options = LoadOptions { indirect, ..LoadOptions::default() };
            let (program, kept) = device.load_to_keep(&module, kernel, &options).expect("it is compiled");
            // SAFETY: the bytes are those that the device has given just now.
            let restored = unsafe { device.restore(&kept.expect("it can be kept"), None) }.expect("it can be restored");
            for grid in [Grid::Workgroups([3, 1, 1]), Grid::Indirect(grid.clone())] {
                let found = [&program, &restored].map(|program| {
                    let [a, b, c] = [(); 3].map(|()| buffer(device, 4096));
                    let arguments = [&a, &b, &c].map(Argument::buffer);
                    device.submit(&[dispatch(program, grid.clone(), &arguments)]).expect("it is queued");
                    (words(device, &b, 1024), words(device, &c, 3))
                });
                assert_eq!(found[0], found[1]);
                assert_eq!((found[0].0[64], found[0].1[0]), (2, 4));
            }
        }
    });
}

const FOURS: &str = "
kernel @fours(%x: buffer readonly, %y: buffer noalias) workgroup(32) {
  %i = global_id.x
  %at = mul.u32 %i, 4
  %a = add.u32 (load.u32 %x[%at]), (load.u32 %x[(add.u32 %at, 1)])
  %b = add.u32 (load.u32 %x[(add.u32 %at, 2)]), (load.u32 %x[(add.u32 %at, 3)])
  store.u32 %y[%i], (add.u32 %a, %b)
}";

/// So does one that is restored with its source: the wide loads of its code do not fit such a place.
#[test]
#[allow(unsafe_code)]
fn a_restored_program_takes_buffers_from_any_element_on() {
    let Some(device) = card() else { return };
    let module = module(FOURS);
    let (kernel, options) = (module.kernels().next().expect("there is one"), LoadOptions::default());
    let (program, kept) = device.load_to_keep(&module, kernel, &options).expect("it is compiled");
    let source = KernelSource { module: &module, kernel, options: &options };
    // SAFETY: the bytes are those that the device has given just now.
    let restored = unsafe { device.restore(&kept.expect("it can be kept"), Some(source)) }.expect("it can be restored");
    let x = buffer(&device, 4 * 132);
    device.write(&x, 0, &words::to_bytes(&(0..132).collect::<Vec<u32>>())).expect("it is written");
    for program in [&program, &restored] {
        let y = buffer(&device, 4 * 32);
        let arguments = [Argument::buffer(&x.slice(4, 4 * 128)), Argument::buffer(&y)];
        device.submit(&[dispatch(program, Grid::Workgroups([1, 1, 1]), &arguments)]).expect("it is queued");
        assert_eq!(words(&device, &y, 32), (0..32).map(|i| 16 * i + 10).collect::<Vec<u32>>());
    }
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
    let (mut address, mut pooled, mut stream) = (0, 0, std::ptr::null_mut());
    let _theirs = primary_context();
    // SAFETY: the card's primary context is that of this thread; the driver writes addresses and a handle.
    unsafe {
        assert_eq!(sys::cuMemAlloc_v2(&mut address, 4096), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuStreamCreate(&mut stream, 1), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuMemAllocAsync(&mut pooled, 4096, stream), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuStreamSynchronize(stream), sys::CUresult::CUDA_SUCCESS);
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
    // Memory of a stream-ordered pool belongs to a card, but to no context.
    // SAFETY: 4096 bytes are there until the end of the test, and nobody else uses them; the device refuses what is not there.
    let (ours, beyond) =
        unsafe { (device.import(pooled, 4096, || {}), device.import(address, 1 << 46, || {}).err().map(|e| e.code)) };
    order.write(&ours.expect("it is of this card"), 0, &[7; 4096]).expect("it fits");
    order.wait().expect("nothing traps");
    assert_eq!(beyond, Some(Code::BadArguments));
    // SAFETY: no stream is used by this name, which means another one on every thread.
    let per_thread = unsafe { device.adopt_stream(2) };
    assert_eq!(per_thread.err().map(|error| error.code), Some(Code::BadArguments));
    drop(theirs);
    device.trim().expect("it works");
    assert_eq!(told.load(Ordering::Relaxed), 1, "the owner is told once");
    drop(order);
    // SAFETY: nobody has a buffer or a stream of them any more, and all work is done.
    unsafe {
        sys::cuMemFree_v2(address);
        sys::cuMemFree_v2(pooled);
        sys::cuStreamDestroy_v2(stream);
    }
    let mut host = vec![0u8; 64];
    // SAFETY: the device refuses memory that is not its own.
    let refused = unsafe { device.import(host.as_mut_ptr().expose_provenance() as u64, 64, || {}) };
    assert_eq!(refused.err().map(|error| error.code), Some(Code::BadArguments));
}

/// The primary context of the first card, which is current on this thread until this is dropped.
struct Primary(cudarc::driver::sys::CUdevice);

#[allow(unsafe_code)]
fn primary_context() -> Primary {
    use cudarc::driver::sys;
    let (mut card, mut context) = (0, std::ptr::null_mut());
    // SAFETY: the driver has been started by whoever opened the card; it writes a number and a handle.
    unsafe {
        assert_eq!(sys::cuDeviceGet(&mut card, 0), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuDevicePrimaryCtxRetain(&mut context, card), sys::CUresult::CUDA_SUCCESS);
        assert_eq!(sys::cuCtxPushCurrent_v2(context), sys::CUresult::CUDA_SUCCESS);
    }
    Primary(card)
}

impl Drop for Primary {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let mut context = std::ptr::null_mut();
        // SAFETY: the context was pushed on this thread, which what is in between has left as it was, and retained once.
        unsafe {
            cudarc::driver::sys::cuCtxPopCurrent_v2(&mut context);
            cudarc::driver::sys::cuDevicePrimaryCtxRelease_v2(self.0);
        }
    }
}

/// Whoever calls us may be at work on another card: its context is its own affair.
#[test]
#[allow(unsafe_code)]
fn the_context_of_the_calling_thread_stays() {
    use cudarc::driver::sys;
    let now = || {
        let mut context = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        assert_eq!(unsafe { sys::cuCtxGetCurrent(&mut context) }, sys::CUresult::CUDA_SUCCESS);
        context
    };
    let work = |device: Card<RwLockReadGuard<'static, ()>>| {
        let (program, m) = (load(&device, SLOW).swap_remove(0), buffer(&device, 16));
        let run = dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(3)]);
        let mut recording = device.record(std::slice::from_ref(&run)).expect("it is right");
        let stream = device.open_stream().expect("a stream");
        recording.submit(&stream).expect("it works");
        stream.record().expect("a point").wait().expect("nothing traps");
        device.time(&[run], 2).expect("it runs");
        words(&device, &m, 1);
        now()
    };
    let Some(device) = card() else { return };
    assert_eq!(work(device), std::ptr::null_mut(), "there was none");
    assert_eq!(now(), std::ptr::null_mut(), "there was none");
    let device = card().expect("there is a card");
    let _theirs = primary_context();
    let before = now();
    assert_eq!((work(device), now()), (before, before));
}

/// Launches that ask for different amounts of shared memory may be planned by two threads at a time.
#[test]
fn two_threads_choose_the_length_of_shared_memory() {
    let Some(device) = card() else { return };
    let source = "kernel @chosen(%m: buffer, %n: u32) workgroup(32) {\n  shared %a: u32[%n]\n  %i = local_index\n  store.u32 %a[%i], %i\n  barrier\n  \
                  store.u32 %m[%i], (load.u32 %a[(xor.u32 %i, 1)])\n}\n";
    for _ in 0..20 {
        // The most that is allowed begins anew with the program.
        let program = &load(&device, source)[0];
        std::thread::scope(|scope| {
            for base in [13_000, 13_001] {
                let device = device.clone();
                scope.spawn(move || {
                    let m = buffer(&device, 128);
                    for step in 0..20 {
                        let arguments = [Argument::buffer(&m), number(base + 1000 * step)];
                        let run = dispatch(program, Grid::Workgroups([1, 1, 1]), &arguments);
                        device.submit(&[run]).expect("so much may be asked for");
                    }
                    assert_eq!(words(&device, &m, 2), [1, 0]);
                });
            }
        });
    }
}
