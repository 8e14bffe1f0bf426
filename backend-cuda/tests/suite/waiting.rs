//! What the host waits for on a card, and what it does not wait for.

use crate::device::{ROUNDS, buffer, card_alone, dispatch, load, module, number, words};
use girih_base::diag::Code;
use girih_base::words::to_bytes;
use girih_cuda::{Settings, open_with};
use girih_runtime::{Argument, Command, Device, Grid, LoadOptions};
use std::time::{Duration, Instant};

pub const SLOW: &str = "
kernel @slow(%m: buffer, %n: u32) workgroup(1) {
  %k, %end = loop (%i: u32 = 0, %x: u32 = 1) {
    while (lt %i, %n) next (add %i, 1), (xor (mul %x, 1664525), %i)
  }
  store.u32 %m[0], %end
}";

/// A launch that takes about a second.
fn second_of_work(device: &Device) -> Command {
    const ROUNDS: u32 = 4_000_000;
    let (program, m) = (load(device, SLOW).swap_remove(0), buffer(device, 16));
    let run = |n| dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(n)]);
    let timing = device.time(&[run(ROUNDS)], 3).expect("it runs").median().as_secs_f64();
    run((f64::from(ROUNDS) / timing).min(4e9) as u32)
}

/// A launch runs, and its stream takes whatever comes: nothing waits for it.
#[test]
#[allow(unsafe_code)]
fn submitting_does_not_wait_for_work() {
    let Some(device) = card_alone() else { return };
    let slow = second_of_work(&device);
    let module = module(ROUNDS);
    let kernel = module.kernels().next().expect("there is one");
    let kept = device.load_to_keep(&module, kernel, &LoadOptions::default()).expect("it is compiled").1;
    // SAFETY: the bytes are those that the device has given just now.
    let restored = unsafe { device.restore(&kept.expect("it can be kept"), None) }.expect("it can be restored");
    let grid = buffer(&device, 12);
    device.write(&grid, 0, &to_bytes(&[2, 1, 1])).expect("it is written");
    let [a, b, c] = [(); 3].map(|()| buffer(&device, 4096));
    let arguments = [&a, &b, &c].map(Argument::buffer);
    let indirect = dispatch(&restored, Grid::Indirect(grid), &arguments);
    // What has to be compiled or brought to the card is, before anything is at work.
    device.submit(std::slice::from_ref(&indirect)).expect("it is queued");
    device.wait().expect("nothing traps");
    let large = buffer(&device, 32 << 20);
    let pattern: Vec<u32> = (0..8 << 20).collect();
    device.submit(&[slow]).expect("it is queued");
    let behind = device.stream().record().expect("a point");
    for i in 0..1000 {
        device.write(&a, 4 * i, &(i as u32).to_le_bytes()).expect("it is written");
    }
    device.write(&large, 0, &to_bytes(&pattern)).expect("it is written");
    device.submit(&[indirect]).expect("it is queued");
    let fetch = |i: u64| device.stream().download(&large, i << 20, 1 << 20).expect("it is queued");
    let downloads: Vec<_> = (0..8).map(fetch).collect();
    let begun = Instant::now();
    let is_done = behind.is_done().expect("it can be asked");
    assert!(!is_done, "the submissions have waited for the launch before them");
    for (i, download) in downloads.into_iter().enumerate() {
        assert_eq!(download.wait().expect("it is there"), to_bytes(&pattern[i << 18..(i + 1) << 18]));
    }
    println!("{:?} of waiting were left", begun.elapsed());
    let expected = |i: usize| (i as u32 ^ 1) + i as u32 / 32;
    assert_eq!(words(&device, &b, 64), (0..64).map(expected).collect::<Vec<_>>());
    let mut found = vec![0; 32 << 20];
    device.read(&large, 0, &mut found).expect("it is read");
    assert!(found == to_bytes(&pattern), "all of it arrives");
    // Another thread's read does not keep the stream.
    device.submit(&[second_of_work(&device)]).expect("it is queued");
    let behind = device.stream().record().expect("a point");
    std::thread::scope(|scope| {
        scope.spawn(|| words(&device, &b, 64));
        std::thread::sleep(Duration::from_millis(50));
        device.write(&c, 0, &[1; 4]).expect("it is written");
        assert!(!behind.is_done().expect("it can be asked"), "writing has waited for another thread's read");
    });
}

/// Freeing waits for kernels that run, and so would letting go of the device.
#[test]
fn nobody_waits_for_a_launch_that_takes_too_long() {
    const ROUNDS: u32 = 400_000_000;
    let Some(device) = card_alone() else { return };
    let (program, m) = (load(&device, SLOW).swap_remove(0), buffer(&device, 16));
    let arguments = [Argument::buffer(&m), number(ROUNDS / 100)];
    let timing = device.time(&[dispatch(&program, Grid::Workgroups([1, 1, 1]), &arguments)], 3);
    let whole = 100 * timing.expect("it runs").median();
    drop(device);
    let settings = Settings { limit: Duration::from_millis(100), ..Settings::default() };
    let device = Device::new(open_with(0, &settings).expect("there is a card"));
    let (program, m) = (load(&device, SLOW).swap_remove(0), buffer(&device, 16));
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

/// The processor time of this thread.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn thread_time() -> Duration {
    #[repr(C)]
    struct Timespec {
        seconds: std::ffi::c_long,
        nanoseconds: std::ffi::c_long,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: std::ffi::c_int, time: *mut Timespec) -> std::ffi::c_int;
    }
    /// The number of the clock in Linux.
    const THREAD: std::ffi::c_int = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library writes a time of this form, which it has on systems whose `long` is as wide as a pointer.
    assert_eq!(unsafe { clock_gettime(THREAD, &mut time) }, 0);
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// Many small launches, each with an argument of its own: what a recorded one takes of the host.
#[test]
#[cfg(target_os = "linux")]
fn recorded_launches_take_little_of_the_host() {
    const LAUNCHES: u32 = 100;
    const ROUNDS: u32 = 101;
    let Some(device) = card_alone() else { return };
    let source = "kernel @bump(%m: buffer, %by: u32) workgroup(32) {\n  store.u32 %m[(local_index)], (add.u32 (load.u32 %m[(local_index)]), %by)\n}\n";
    let program = load(&device, source).swap_remove(0);
    let m = buffer(&device, 128);
    let one = dispatch(&program, Grid::Workgroups([1, 1, 1]), &[Argument::buffer(&m), number(1)]);
    let mut recording = device.record(&vec![one; LAUNCHES as usize]).expect("it is right");
    let stream = device.stream();
    recording.submit(&stream).expect("it works");
    device.wait().expect("nothing traps");
    let mut times = vec![];
    for round in 0..ROUNDS {
        let begun = thread_time();
        for launch in 0..LAUNCHES {
            recording.set(launch as usize, 1, number(round + launch)).expect("it fits");
        }
        recording.submit(&stream).expect("it works");
        times.push((thread_time() - begun) / LAUNCHES);
        // The driver makes the host wait for a stream that has too much before it: that is not what is measured.
        device.wait().expect("nothing traps");
    }
    let sum: u32 = (0..ROUNDS).map(|round| LAUNCHES * round + (0..LAUNCHES).sum::<u32>()).sum();
    assert_eq!(words(&device, &m, 1), [LAUNCHES + sum]);
    times.sort();
    let median = times[times.len() / 2];
    println!(
        "{median:?} a launch with an argument of its own, at least {:?}, at most {:?}",
        times[0],
        times[times.len() - 1]
    );
    // Code that is not optimised takes as long as it takes.
    let limit = if cfg!(debug_assertions) { Duration::from_micros(30) } else { Duration::from_micros(3) };
    assert!(median < limit, "{median:?} a launch");
}
