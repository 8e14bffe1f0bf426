//! What a device promises besides running kernels: memory, order, errors, traps, clocks.

use crate::support::{dispatch, gpu, gpu_with, load, module, number, on_all, read, run, said, words};
use girih_base::diag::Code;
use girih_ir::Caps;
use girih_runtime::{Argument, Buffer, Command, Device, LoadOptions, Memory};
use girih_wgpu::{Context, Settings, adapters};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

const BUMP: &str = "
kernel @bump(%m: buffer, %i: u32, %by: u32) workgroup(1) {
  %v = load.u32 %m[%i]
  store.u32 %m[%i], (add.u32 %v, %by)
}";

fn buffer(buffer: &Buffer) -> Argument {
    Argument::buffer(buffer)
}

fn code<T: std::fmt::Debug>(result: Result<T, girih_base::diag::Diagnostic>) -> Code {
    let error = result.unwrap_err();
    assert!(!error.message.ends_with('.') && !error.message.is_empty(), "{}", error.message);
    error.code
}

#[test]
fn buffers_are_zero_also_when_memory_is_used_again() {
    on_all(|gpu| {
        for _ in 0..3 {
            let a = gpu.zeroed(Memory::of(5000)).unwrap();
            assert!(read(gpu, &a, 1250).iter().all(|w| *w == 0));
            gpu.write(&a, 0, &[0xff; 5000]).unwrap();
        }
        let empty = gpu.zeroed(Memory::default()).unwrap();
        gpu.read(&empty, 0, &mut []).unwrap();
    });
}

#[test]
fn bytes_outside_of_a_buffer_are_refused() {
    on_all(|gpu| {
        let a = words(gpu, &[1, 2, 3, 4]);
        assert_eq!(code(gpu.write(&a, 16, &[0; 4])), Code::BadArguments);
        assert_eq!(code(gpu.write(&a, 2, &[0; 4])), Code::BadArguments);
        assert_eq!(code(gpu.read(&a, 14, &mut [0; 3])), Code::BadArguments);
        assert_eq!(code(gpu.read(&a, u64::MAX - 3, &mut [0; 4])), Code::BadArguments);
        let copy = |from, to| Command::copy((&a, from), (&a, to), 8);
        assert_eq!(code(gpu.submit(&[copy(0, 4)])), Code::BadArguments);
        let huge = Memory::of(u64::MAX);
        assert_eq!(code(gpu.allocate(huge)), Code::DeviceMemory);
        assert_eq!(read(gpu, &a, 4), [1, 2, 3, 4], "the device is still usable");
    });
}

#[test]
fn commands_see_what_those_before_them_wrote() {
    on_all(|gpu| {
        let bump = load(gpu, BUMP).swap_remove(0);
        let (a, b) = (words(gpu, &[1, 2, 3, 4]), words(gpu, &[0; 4]));
        let add = |m: &Buffer, i, by| dispatch(&bump, [1; 3], &[buffer(m), number(i), number(by)]);
        run(
            gpu,
            &[
                add(&a, 0, 10),
                Command::copy((&a, 0), (&b, 4), 12),
                add(&b, 1, 100),
                Command::clear(&b, 8, 4),
                add(&b, 2, 5),
                Command::copy((&b, 0), (&a, 0), 16),
            ],
        );
        assert_eq!(read(gpu, &a, 4), [0, 111, 5, 3]);
        run(gpu, &[Command::copy((&a, 4), (&a, 12), 4)]);
        assert_eq!(read(gpu, &a, 4), [0, 111, 5, 111]);
        // Many launches with parameters of their own in one submission.
        let many: Vec<Command> = (0..1000).map(|i| add(&b, i % 4, i)).collect();
        let before = read(gpu, &b, 4);
        run(gpu, &many);
        let sum = |r: u32| (0..1000).filter(|i| i % 4 == r).sum::<u32>();
        assert_eq!(read(gpu, &b, 4), [0, 1, 2, 3].map(|r| before[r as usize] + sum(r)).to_vec());
    });
}

#[test]
fn traps_are_reported_once_by_the_next_wait() {
    let source = "
kernel @check(%m: buffer, %limit: u32) workgroup(4) {
  %v = load.u32 %m[(global_id.x)]
  trap_if (gt.u32 %v, %limit) code(42)
  store.u32 %m[(global_id.x)], 0
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let m = words(gpu, &[1, 2, 3, 4]);
        gpu.submit(&[dispatch(&program, [1; 3], &[buffer(&m), number(3)])]).unwrap();
        let error = gpu.wait().unwrap_err();
        assert_eq!(error.code, Code::Trap);
        assert!(error.message.contains("42"), "{}", error.message);
        gpu.wait().unwrap();
        assert_eq!(read(gpu, &m, 4), [0; 4]);
    });
}

/// Each failure is told once, and by no point before it; whoever is asked first has it.
#[test]
fn a_trap_is_told_by_the_points_behind_it() {
    let source = "
kernel @one(%m: buffer) workgroup(1) {
  trap_if (gt.u32 (load.u32 %m[0]), 0) code(1)
}
kernel @two(%m: buffer) workgroup(1) {
  trap_if (gt.u32 (load.u32 %m[0]), 0) code(2)
}";
    on_all(|gpu| {
        let programs = load(gpu, source);
        let m = words(gpu, &[1]);
        let submit = |i: usize| gpu.submit(&[dispatch(&programs[i], [1; 3], &[buffer(&m)])]).unwrap();
        let record = || gpu.stream().record().unwrap();
        let told = |result: Result<(), girih_base::diag::Diagnostic>| result.err().map(|error| error.message);
        let trap = |code| Some(girih_runtime::trap(code).message);
        let before = record();
        submit(0);
        let after = record();
        assert_eq!(told(before.wait()), None);
        assert_eq!(told(after.wait()), trap(1));
        assert_eq!(told(gpu.wait()), None);
        // What is trapped between a point and the look at it is not lost.
        submit(0);
        let first = record();
        submit(1);
        assert_eq!(told(first.wait()), trap(1));
        assert_eq!(told(gpu.wait()), trap(2));
        assert_eq!(told(gpu.wait()), None);
        // Nor is what a point has seen that nobody asks.
        submit(1);
        drop(record());
        assert_eq!(told(gpu.wait()), trap(2));
        // A later point that is asked first tells the earlier failure first.
        submit(0);
        let first = record();
        submit(1);
        let second = record();
        assert_eq!([told(second.wait()), told(first.wait()), told(gpu.wait())], [trap(1), None, trap(2)]);
        // A download tells it in place of the bytes.
        submit(0);
        let download = gpu.stream().download(&m, 0, 4).unwrap();
        assert_eq!(code(download.wait()), Code::Trap);
        assert_eq!(gpu.stream().download(&m, 0, 4).unwrap().wait().unwrap(), [1, 0, 0, 0]);
    });
}

/// Runs something that must not hang.
fn in_time(what: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        what();
        sender.send(()).ok();
    });
    match receiver.recv_timeout(Duration::from_secs(300)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        _ => thread.join().unwrap(),
    }
}

/// wgpu calls others back while something is submitted, and they may submit something themselves.
#[test]
fn whoever_is_called_back_may_use_the_device() {
    let Some(gpu) = gpu(None) else { return };
    let adapter = adapters().into_iter().find(|adapter| adapter.info == *gpu.info()).unwrap();
    in_time(move || {
        let context = Context::open(adapter, &Settings::default()).unwrap();
        let gpu = Device::new(context.gpu().unwrap());
        let bump = load(&gpu, BUMP).swap_remove(0);
        let m = words(&gpu, &[0; 4]);
        let add = |i| dispatch(&bump, [1; 3], &[buffer(&m), number(i), number(1)]);
        for _ in 0..50 {
            run(&gpu, &[add(0)]);
            let (theirs, command) = (gpu.clone(), add(1));
            context.queue().on_submitted_work_done(move || theirs.submit(&[command]).unwrap());
            gpu.submit(&[add(0)]).unwrap();
        }
        gpu.wait().unwrap();
        assert_eq!(read(&gpu, &m, 4), [100, 50, 0, 0]);
        gpu.time(&[add(2)], 3).unwrap();
    });
}

/// Who is woken may use the device at once, whoever wakes it.
#[test]
fn whoever_is_woken_may_use_the_device() {
    struct Submits(Device, Command, mpsc::Sender<()>);
    impl Wake for Submits {
        fn wake(self: Arc<Self>) {
            self.0.submit(std::slice::from_ref(&self.1)).unwrap();
            self.0.wait().unwrap();
            self.2.send(()).ok();
        }
    }
    let Some(gpu) = gpu(None) else { return };
    in_time(move || {
        let bump = load(&gpu, BUMP).swap_remove(0);
        let m = words(&gpu, &[0; 4]);
        let add = |i| dispatch(&bump, [1; 3], &[buffer(&m), number(i), number(1)]);
        let mut woken = 0;
        for _ in 0..20 {
            gpu.submit(&vec![add(0); 100]).unwrap();
            let (sender, receiver) = mpsc::channel();
            let waker = Waker::from(Arc::new(Submits(gpu.clone(), add(1), sender)));
            let mut event = gpu.stream().record().unwrap();
            if Pin::new(&mut event).poll(&mut std::task::Context::from_waker(&waker)).is_pending() {
                drop(waker);
                gpu.submit(&[add(2)]).unwrap();
                receiver.recv().expect("it is woken");
                woken += 1;
            }
            event.wait().unwrap();
        }
        let found = read(&gpu, &m, 3);
        assert_eq!((found[0], found[1]), (2000, woken));
    });
}

#[test]
fn arguments_that_cannot_be_bound_are_refused() {
    let source = "
kernel @copy(%a: buffer readonly, %b: buffer) workgroup(1) {
  store.u32 %b[0], (load.u32 %a[0])
}";
    on_all(|gpu| {
        let program = load(gpu, source).swap_remove(0);
        let a = words(gpu, &[7; 128]);
        let b = words(gpu, &[0; 4]);
        let submit = |gpu: &Device, arguments: &[Argument]| gpu.submit(&[dispatch(&program, [1; 3], arguments)]);
        assert_eq!(code(submit(gpu, &[buffer(&a), buffer(&a)])), Code::BadArguments);
        assert_eq!(code(submit(gpu, &[buffer(&a)])), Code::BadArguments);
        assert_eq!(code(submit(gpu, &[buffer(&a), number(1)])), Code::BadArguments);
        assert_eq!(code(submit(gpu, &[Argument::Buffer(a.from_byte(512)), buffer(&b)])), Code::BadArguments);
        assert_eq!(code(gpu.submit(&[dispatch(&program, [70_000, 1, 1], &[buffer(&a), buffer(&b)])])), Code::OverLimit);
        run(gpu, &[dispatch(&program, [1; 3], &[Argument::Buffer(a.from_byte(256)), buffer(&b)])]);
        assert_eq!(read(gpu, &b, 1), [7]);
    });
}

#[test]
fn a_buffer_beyond_one_binding_is_refused_with_advice() {
    let Some(gpu) = gpu(Some(Caps::web())) else { return };
    let bump = load(&gpu, BUMP).swap_remove(0);
    let large = gpu.zeroed(Memory::of((128 << 20) + 16)).unwrap();
    let error = gpu.submit(&[dispatch(&bump, [1; 3], &[buffer(&large), number(0), number(1)])]).unwrap_err();
    assert_eq!(error.code, Code::OverLimit);
    assert!(error.hint.is_some_and(|h| h.contains("several buffer parameters")));
    // From a later byte on it fits.
    run(&gpu, &[dispatch(&bump, [1; 3], &[Argument::Buffer(large.from_byte(256)), number(0), number(1)])]);
    let mut word = [0; 4];
    gpu.read(&large, 256, &mut word).unwrap();
    assert_eq!(word, [1, 0, 0, 0]);
}

#[test]
fn a_profile_takes_away_what_the_adapter_has_beyond_it() {
    let Some(own) = gpu(None) else { return };
    let Some(held) = gpu(Some(Caps::web())) else { return };
    let (own, held, web) = (own.caps(), held.caps(), Caps::web());
    assert_eq!(held.buffers, web.buffers.min(own.buffers));
    assert_eq!(held.shared_bytes, web.shared_bytes.min(own.shared_bytes));
    assert_eq!(held.arithmetic, web.arithmetic);
    assert!(!held.buffer_views);
    assert!(held.name.ends_with("web"));
}

#[test]
fn the_clock_runs() {
    on_all(|gpu| {
        let bump = load(gpu, BUMP).swap_remove(0);
        let m = words(gpu, &[0; 4]);
        let commands = vec![dispatch(&bump, [1; 3], &[buffer(&m), number(0), number(1)]); 10];
        let timing = gpu.time(&commands, 3).unwrap();
        assert_eq!(timing.runs.len(), 3);
        assert!(timing.least().as_nanos() > 0 && timing.total().as_secs() < 60, "{timing:?}");
        assert_eq!(read(gpu, &m, 1), [30]);
    });
}

#[test]
fn floats_are_not_contracted() {
    // Contracting a * b + c gives 0 or 2^-24 by turns where two roundings give the other.
    let source = "
kernel @mandelbrot(%out: buffer, %n: u32) workgroup(8, 8) {
  %x = global_id.x
  %y = global_id.y
  %cx = sub.f32 (mul.f32 (convert.f32 %x), 0.046875), 2.0
  %cy = sub.f32 (mul.f32 (convert.f32 %y), 0.046875), 1.5
  %k, %zx, %zy = loop (%k: u32 = 0, %zx: f32 = 0.0, %zy: f32 = 0.0) {
    %x2 = mul.f32 %zx, %zx
    %y2 = mul.f32 %zy, %zy
    %go = and.bool (lt.u32 %k, %n), (le.f32 (add.f32 %x2, %y2), 4.0)
    while %go next (add.u32 %k, 1), (add.f32 (sub.f32 %x2, %y2), %cx), (add.f32 (mul.f32 (mul.f32 2.0, %zx), %zy), %cy)
  }
  store.u32 %out[(add.u32 (mul.u32 %y, 64), %x)], %k
}";
    let expected = |i: u32| {
        let (cx, cy) = ((i % 64) as f32 * 0.046875 - 2.0, (i / 64) as f32 * 0.046875 - 1.5);
        let (mut k, mut x, mut y) = (0, 0f32, 0f32);
        while k < 500 && x * x + y * y <= 4.0 {
            (k, x, y) = (k + 1, x * x - y * y + cx, 2.0 * x * y + cy);
        }
        k
    };
    // Only strict SPIR-V promises it.
    for profile in [None, Some(Caps::web())] {
        let Some(gpu) = gpu(profile) else { return };
        let gpu = &gpu;
        let program = load(gpu, source).swap_remove(0);
        let out = words(gpu, &[0; 4096]);
        run(gpu, &[dispatch(&program, [8, 8, 1], &[buffer(&out), number(500)])]);
        let wrong = (0..4096).zip(read(gpu, &out, 4096)).filter(|(i, k)| expected(*i) != *k).count();
        assert_eq!(wrong, 0);
    }
}

#[test]
fn checked_kernels_stay_inside_of_their_buffers() {
    on_all(|gpu| {
        let source = "
kernel @wild(%m: buffer, %i: u32) workgroup(1) {
  store.u32 %m[%i], 9
}";
        let module = module(source);
        let kernels: Vec<_> = module.kernels().collect();
        let options = LoadOptions { checked: true, ..LoadOptions::default() };
        let program =
            gpu.load(&module, &kernels, &options).unwrap_or_else(|e| panic!("{}", said(source, &e))).swap_remove(0);
        let m = words(gpu, &[1, 2, 3, 4]);
        run(gpu, &[dispatch(&program, [1; 3], &[buffer(&m), number(1 << 29)])]);
        let after = read(gpu, &m, 4);
        assert!(after[..3] == [1, 2, 3], "{after:?}");
    });
}

#[test]
fn software_keeps_kernels_inside_of_their_own_arrays() {
    on_all(|gpu| {
        let source = "
kernel @wild(%m: buffer, %n: u32) workgroup(8) {
  shared %tile: u32[8]
  private %own: u32[8]
  %i = local_index
  store.u32 %tile[(add %i, %n)], 9
  store.u32 %own[(add %i, %n)], 9
  barrier
  store.u32 %m[%i], (add (load.u32 %tile[(add %i, %n)]), (load.u32 %own[(add %i, %n)]))
}";
        let program = load(gpu, source).swap_remove(0);
        let m = words(gpu, &[0; 8]);
        for far in [1000, 100_000, 1 << 28] {
            run(gpu, &[dispatch(&program, [1; 3], &[buffer(&m), number(far)])]);
        }
    });
}

#[test]
fn pipelines_are_kept_in_a_folder() {
    let folder = std::env::temp_dir().join(format!("girih-cache-{}", std::process::id()));
    let settings = Settings { cache: Some(folder.clone()), ..Settings::default() };
    // Whole, and damaged at several places.
    for damaged in [None, None, Some(0), Some(40), Some(64), Some(100)] {
        let kept = std::fs::read_dir(&folder).ok().and_then(|mut d| d.next()).and_then(Result::ok);
        if let (Some(at), Some(file)) = (damaged, kept) {
            let mut bytes = std::fs::read(file.path()).unwrap();
            bytes[at] ^= 1;
            std::fs::write(file.path(), bytes).unwrap();
        }
        let Some(gpu) = gpu_with(settings.clone()) else { return };
        let bump = load(&gpu, BUMP).swap_remove(0);
        let m = words(&gpu, &[0; 4]);
        run(&gpu, &[dispatch(&bump, [1; 3], &[buffer(&m), number(1), number(3)])]);
        assert_eq!(read(&gpu, &m, 4), [0, 3, 0, 0]);
    }
    let files = std::fs::read_dir(&folder).map(|d| d.count()).unwrap_or(0);
    std::fs::remove_dir_all(&folder).ok();
    assert_eq!(files, 1);
}

#[test]
fn nobody_waits_for_a_launch_that_takes_too_long() {
    let source = "
kernel @slow(%m: buffer, %n: u32) workgroup(1) {
  %k, %end = loop (%i: u32 = 0, %x: u32 = 1) {
    while (lt %i, %n) next (add %i, 1), (xor (mul %x, 1664525), %i)
  }
  store.u32 %m[0], %end
}";
    const ROUNDS: u32 = 4_000_000_000;
    let Some(gpu) = gpu_with(Settings::default()) else { return };
    let slow = load(&gpu, source).swap_remove(0);
    let m = words(&gpu, &[0]);
    // A thousandth of it, twice: the first one is compiled.
    let whole = [(); 2].map(|()| {
        let begun = Instant::now();
        run(&gpu, &[dispatch(&slow, [1; 3], &[buffer(&m), number(ROUNDS / 1000)])]);
        1000 * begun.elapsed()
    })[1];
    let gpu = gpu_with(Settings { limit: Some(Duration::from_millis(50)), ..Settings::default() }).unwrap();
    let slow = load(&gpu, source).swap_remove(0);
    let m = gpu.zeroed(Memory::of(16)).unwrap();
    let begun = Instant::now();
    gpu.submit(&[dispatch(&slow, [1; 3], &[buffer(&m), number(ROUNDS)])]).unwrap();
    // No adapter goes through so many rounds in that time.
    for _ in 0..2 {
        assert_eq!(code(gpu.wait()), Code::DeviceTimeout);
    }
    drop(gpu);
    assert!(begun.elapsed() < whole, "{:?} of {whole:?}", begun.elapsed());
}

#[test]
fn adapters_say_what_they_are() {
    for adapter in adapters() {
        assert!(!adapter.info.name.is_empty() && !adapter.info.backend.is_empty());
        assert!(adapter.caps.invocations > 0 && adapter.caps.buffers > 0, "{:?}", adapter.caps);
    }
}
