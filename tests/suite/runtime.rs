//! The device runtime on every device that this machine has: Bend programs, kernels and the host share one device and hand each other buffers;
//! memory of others goes in and out; nothing leaks; two threads use one device.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure, `GIRIH_REQUIRE_CUDA=1` a missing card.

use crate::support::machine;
use girih::Code;
use girih::devices::{self, Selector};
use girih::kernels::Kernels;
use girih_ir::Type;
use girih_ir::nvidia::Target;
use girih_runtime::dlpack::{self, DataType, PackTensor, PackVersion, Tensor};
use girih_runtime::{Argument, Command, Constant, Device, DeviceKind, Dispatch, Grid, LoadOptions, Memory};
use girih_workbench::{missing, sample};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// The processor, the reference machine, the adapters, and the card if there is one.
pub(super) fn all() -> Vec<Device> {
    let mut selectors = vec![Selector::Interpreter(32), Selector::Cpu];
    selectors.extend(machine::WGPU.some_devices());
    let mut devices: Vec<Device> =
        selectors.iter().map(|selector| devices::open(selector, None).expect("the device is there")).collect();
    match devices::open(&Selector::Cuda(0), None) {
        Ok(card) => devices.push(card),
        Err(_) => missing("CUDA card", "GIRIH_REQUIRE_CUDA"),
    }
    devices
}

/// These, and the reading of PTX on the host.
fn everywhere() -> Vec<Device> {
    let emulator = Selector::Ptx(Target::from_name("sm_90").expect("there is such a card"));
    all().into_iter().chain([devices::open(&emulator, None).expect("it is there")]).collect()
}

const KERNELS: &str = "
kernel @add(%from: buffer readonly, %to: buffer, %n: u32, %by: u32) workgroup(64) launch {
  grid (div (add %n, 63), 64), 1, 1
} {
  %i = global_id.x
  if (lt %i, %n) {
    store.u32 %to[%i], (add (load.u32 %from[%i]), %by)
  }
}
kernel @bump(%to: buffer, %n: u32, %by: u32) workgroup(64) launch {
  grid (div (add %n, 63), 64), 1, 1
} {
  %i = global_id.x
  trap_if (gt %by, 1000) code(9)
  if (lt %i, %n) {
    store.u32 %to[%i], (add (load.u32 %to[%i]), %by)
  }
}
";

struct Programs {
    add: girih_runtime::Program,
    bump: girih_runtime::Program,
}

fn programs(device: &Device) -> Programs {
    let kernels = Kernels::from_text("runtime.gir", KERNELS).expect("they are right");
    let ids: Vec<_> = kernels.module.kernels().collect();
    let mut loaded = device.load(&kernels.module, &ids, &LoadOptions::default()).expect("they are loaded");
    let bump = loaded.pop().expect("there are two");
    Programs { add: loaded.pop().expect("there are two"), bump }
}

fn number(n: u32) -> Argument {
    Argument::Scalar(Constant { ty: Type::U32, bits: n.into() })
}

fn launch(program: &girih_runtime::Program, arguments: Vec<Argument>) -> Command {
    Command::Dispatch(Dispatch { program: program.clone(), arguments, grid: Grid::Own })
}

/// Runs a future to its end on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    #[derive(Default)]
    struct Bell(Mutex<bool>, Condvar);
    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            *self.0.lock().expect("nobody panics meanwhile") = true;
            self.1.notify_one();
        }
    }
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut rung = bell.0.lock().expect("nobody panics meanwhile");
        while !std::mem::take(&mut *rung) {
            rung = bell.1.wait(rung).expect("nobody panics meanwhile");
        }
    }
}

#[test]
fn memory_of_the_host_is_used_where_it_is() {
    let device = devices::open(&Selector::Cpu, None).expect("it is there");
    let Programs { add, bump } = programs(&device);
    let told = Arc::new(AtomicU32::new(0));
    let mut own: Vec<u32> = (0..1000).collect();
    let (address, bytes) = (own.as_mut_ptr().expose_provenance() as u64, 4 * own.len() as u64);
    let noted = told.clone();
    #[allow(unsafe_code)]
    // SAFETY: the vector lives to the end of the test, and nobody touches it until the buffer is gone.
    let buffer = unsafe {
        device.import(address, bytes, move || {
            noted.fetch_add(1, Ordering::Relaxed);
        })
    };
    let buffer = buffer.expect("the processor takes any address");
    assert_eq!(buffer.address(), Some(address));
    let sums = device.empty::<u32>(1000).expect("there is memory");
    device
        .submit(&[
            launch(&bump, vec![Argument::buffer(&buffer), number(1000), number(7)]),
            // From the fifth number on.
            launch(&add, vec![Argument::Buffer(buffer.from_byte(16)), sums.buffer().into(), number(996), number(100)]),
        ])
        .expect("they are right");
    device.wait().expect("nothing traps");
    assert_eq!(sums.read(&device.stream()).expect("it is there")[..3], [111, 112, 113]);
    assert_eq!(told.load(Ordering::Relaxed), 0);
    drop(buffer);
    assert_eq!(told.load(Ordering::Relaxed), 1, "the owner is told once");
    assert!(own.iter().zip(7..).all(|(a, b)| *a == b));
    for other in [Selector::Interpreter(32)].into_iter().chain(machine::WGPU.some_devices()) {
        let other = devices::open(&other, None).expect("the device is there");
        #[allow(unsafe_code)]
        // SAFETY: as above; the device refuses it.
        let refused = unsafe { other.import(address, bytes, || {}) };
        assert_eq!(refused.err().map(|error| error.code), Some(Code::BadArguments));
    }
}

const SHORT: &str = "
kernel @short(%from: buffer readonly, %to: buffer, %n: u32) workgroup(32) launch {
  grid (div (add %n, 31), 32), 1, 1
} {
  %i = global_id.x
  if (lt %i, %n) {
    store.u16 %to[%i], (load.u16 %from[%i])
  }
}
kernel @wide(%from: buffer readonly align(16), %to: buffer, %n: u32) workgroup(32) launch {
  grid (div (add %n, 31), 32), 1, 1
} {
  %i = global_id.x
  if (lt %i, %n) {
    store.u32 %to[%i], (load.u32 %from[%i])
  }
}
";

#[test]
fn arguments_begin_at_any_element() {
    let kernels = Kernels::from_text("short.gir", SHORT).expect("they are right");
    let ids: Vec<_> = kernels.module.kernels().collect();
    for device in all() {
        let loaded = device.load(&kernels.module, &ids, &LoadOptions::default()).expect("they are loaded");
        let source: Vec<u8> = (0..200u8).collect();
        let from = device.upload(&source).expect("there is memory");
        for (read, write) in [(0, 0), (2, 0), (0, 2), (6, 10), (18, 34)] {
            let to = device.zeroed(Memory::of(200)).expect("there is memory");
            let arguments =
                vec![Argument::Buffer(from.from_byte(read)), Argument::Buffer(to.from_byte(write)), number(40)];
            device.submit(&[launch(&loaded[0], arguments)]).unwrap_or_else(|e| panic!("{device:?}: {}", e.message));
            let (read, write) = (read as usize, write as usize);
            let mut expected = vec![0; 200];
            expected[write..write + 80].copy_from_slice(&source[read..read + 80]);
            assert_eq!(device.numbers::<u8>(&to).expect("it is there"), expected, "{device:?}: {read} to {write}");
        }
        let to = device.zeroed(Memory::of(200)).expect("there is memory");
        let wide = |at| {
            let arguments = vec![Argument::Buffer(from.from_byte(at)), Argument::buffer(&to), number(10)];
            device.submit(&[launch(&loaded[1], arguments)])
        };
        wide(32).expect("the promise is kept");
        assert_eq!(device.numbers::<u8>(&to).expect("it is there")[..4], [32, 33, 34, 35], "{device:?}");
        let broken = wide(4).expect_err("the promise is broken");
        assert!(broken.code == Code::BadArguments && broken.message.contains("starts at byte 4"), "{}", broken.message);
        let between = device.submit(&[launch(
            &loaded[0],
            vec![Argument::Buffer(from.from_byte(1)), Argument::buffer(&to), number(10)],
        )]);
        assert_eq!(between.expect_err("it is between two elements").code, Code::BadArguments, "{device:?}");
    }
}

#[test]
fn tensors_of_others_come_in_and_go_out() {
    let device = devices::open(&Selector::Cpu, None).expect("it is there");
    let numbers = device.array(&[1u32, 2, 3, 4, 5, 6]).expect("there is memory");
    let tensor = Tensor::new(numbers.buffer().clone(), DataType::unsigned(32), &[2, 3]).expect("it fits");
    let address = numbers.buffer().address();
    let live = || device.figures().buffers;
    let packed = tensor.export().expect("the processor has addresses");
    let plain = tensor.export_unversioned().expect("the processor has addresses");
    drop((numbers, tensor));
    assert_eq!(live(), 1, "what was exported keeps the memory");
    #[allow(unsafe_code)]
    // SAFETY: both were exported right here, and nobody else takes them.
    let (a, b) = unsafe { (Tensor::import(&device, packed), Tensor::import_unversioned(&device, plain)) };
    let (a, b) = (a.expect("it is of this device"), b.expect("it is of this device"));
    assert_eq!((a.buffer().address(), a.shape(), a.strides()), (address, &[2, 3][..], &[3, 1][..]));
    assert_eq!(device.numbers::<u32>(b.buffer()).expect("it is there"), [1, 2, 3, 4, 5, 6]);
    drop(a);
    assert_eq!(device.numbers::<u32>(b.buffer()).expect("it is there")[5], 6);
    drop(b);
    assert_eq!(live(), 0, "all of them have told the owner");
    assert!(Tensor::new(device.allocate(Memory::of(8)).expect("memory"), DataType::float(32), &[3]).is_err());
}

#[test]
fn events_and_downloads_can_be_awaited() {
    for device in all() {
        let Programs { bump, .. } = programs(&device);
        let stream = device.open_stream().expect("there is another order");
        let numbers = stream.allocate(Memory::of(4000)).expect("there is memory");
        stream.write(&numbers, 0, &[0; 4000]).expect("it fits");
        let bumped = |by| launch(&bump, vec![Argument::buffer(&numbers), number(1000), number(by)]);
        stream.submit(&[bumped(1), bumped(2)]).expect("they are right");
        let done = stream.record().expect("a point");
        let bytes = stream.download(&numbers, 40, 8).expect("they are there");
        // The other order comes behind this one.
        device.stream().after(&stream).expect("they are of one device");
        device.submit(&[bumped(10)]).expect("it is right");
        block_on(done.clone()).expect("nothing traps");
        assert!(done.is_done().expect("the device works"));
        assert_eq!(block_on(bytes).expect("nothing traps"), [3, 0, 0, 0, 3, 0, 0, 0], "{device:?}");
        assert_eq!(device.numbers::<u32>(&numbers).expect("it is there"), [13; 1000], "{device:?}");
        // What failed is told once, by whoever asks first.
        stream.submit(&[bumped(2000)]).expect("it is right");
        let (first, second) = (stream.record().expect("a point"), stream.record().expect("a point"));
        assert_eq!(block_on(first.clone()).expect_err("it traps").code, Code::Trap, "{device:?}");
        assert_eq!(first.wait().expect_err("it says so again").code, Code::Trap);
        block_on(second).expect("it was told");
        stream.wait().expect("it was told");
    }
}

#[test]
fn recordings_are_submitted_with_other_arguments() {
    for device in all() {
        let Programs { add, bump } = programs(&device);
        let [a, b, c] = [1u32, 10, 100].map(|n| device.array(&[n; 300]).expect("there is memory"));
        let out = device.zeroed(Memory::of(1200)).expect("there is memory");
        let mut recording = device
            .record(&[
                launch(&bump, vec![a.buffer().into(), number(300), number(1)]),
                launch(&add, vec![a.buffer().into(), Argument::buffer(&out), number(300), number(5)]),
            ])
            .expect("they are right");
        let stream = device.stream();
        let found = || device.numbers::<u32>(&out).expect("it is there");
        recording.submit(&stream).expect("it works");
        assert_eq!(found(), [7; 300], "{device:?}");
        recording.submit(&stream).expect("it works");
        assert_eq!(found(), [8; 300], "{device:?}");
        for (array, expected) in [(&b, 10 + 5), (&c, 100 + 5)] {
            recording.set(1, 0, array.buffer().into()).expect("it fits");
            recording.submit(&stream).expect("it works");
            assert_eq!(found(), [expected; 300], "{device:?}");
        }
        recording.set(1, 2, number(7)).expect("it fits");
        recording.set(1, 3, number(0)).expect("it fits");
        recording.submit(&stream).expect("it works");
        assert_eq!((found()[6], found()[7]), (100, 105), "{device:?}");
        assert!(recording.set(1, 9, number(0)).is_err() && recording.set(2, 0, number(0)).is_err());
        assert!(recording.set(1, 0, number(3)).is_err(), "a number is no buffer");
        recording.submit(&stream).expect("what was refused has changed nothing");
        let other = device.open_stream().expect("there is another order");
        other.after(&stream).expect("they are of one device");
        recording.set(0, 2, number(20)).expect("it fits");
        recording.set(1, 0, a.buffer().into()).expect("it fits");
        recording.set(1, 2, number(300)).expect("it fits");
        recording.submit(&other).expect("it works");
        other.wait().expect("nothing traps");
        // The first command has added 1 in the six submissions before.
        let mut found = vec![0; 1200];
        other.read(&out, 0, &mut found).expect("it is there");
        assert_eq!(found, [27u32; 300].map(u32::to_le_bytes).as_flattened(), "{device:?}");
    }
}

/// Allocations of many sizes and launches, in full and in part.
#[test]
fn a_soak_leaks_nothing() {
    for device in all() {
        let is_slow = matches!(device.info().kind, DeviceKind::Interpreter | DeviceKind::WgpuSoftware);
        let (rounds, launches) = if is_slow { (100, 2) } else { (sample("GIRIH_SOAK", 1_000, 10_000), 10) };
        let Programs { bump, .. } = programs(&device);
        let kept = device.zeroed(Memory::of(256)).expect("there is memory");
        let before = device.figures();
        for round in 0..rounds {
            let bytes = 64 + (round * 7919 % 5000) * 4;
            let buffer = device.zeroed(Memory::of(bytes)).expect("there is memory");
            let one = launch(&bump, vec![Argument::buffer(&buffer), number(16), number(1)]);
            device.submit(&vec![one; launches]).expect("they are right");
            device.submit(&[Command::copy((&buffer, 0), (&kept, 64), 64)]).expect("it is right");
        }
        let found = device.numbers::<u32>(&kept).expect("it is there");
        assert_eq!((found[0], &found[16..32]), (0, &[launches as u32; 16][..]), "{device:?}");
        let after = device.figures();
        assert_eq!((after.buffers, after.live), (before.buffers, before.live), "{device:?}");
        assert_eq!(after.allocations, before.allocations + rounds, "{device:?}");
        if device.driver().keeping().is_some() {
            assert!(after.hits > before.hits + rounds / 2, "{device:?}: {after:?}");
        }
        device.trim().expect("it works");
        // The points behind which the blocks go are reached by then.
        device.wait().expect("it works");
        assert_eq!(device.figures().cached, 0, "{device:?}");
    }
}

#[test]
fn two_threads_share_a_device() {
    for device in all() {
        let rounds = if device.info().kind == DeviceKind::Interpreter { 5 } else { 50 };
        std::thread::scope(|scope| {
            for thread in 0..2u32 {
                let device = device.clone();
                scope.spawn(move || {
                    let Programs { add, .. } = programs(&device);
                    let stream = if thread == 0 { device.stream() } else { device.open_stream().expect("another") };
                    for round in 0..rounds {
                        let from = stream.allocate(Memory::of(400)).expect("there is memory");
                        let to = stream.allocate(Memory::of(400)).expect("there is memory");
                        let bytes: Vec<u8> = (0..100u32).flat_map(|i| (i + thread).to_le_bytes()).collect();
                        stream.write(&from, 0, &bytes).expect("it fits");
                        let arguments = vec![(&from).into(), (&to).into(), number(100), number(round)];
                        stream.submit(&[launch(&add, arguments)]).expect("it is right");
                        let mut found = vec![0; 400];
                        stream.read(&to, 0, &mut found).expect("it is there");
                        let expected: Vec<u8> = (0..100u32).flat_map(|i| (i + thread + round).to_le_bytes()).collect();
                        assert_eq!(found, expected, "{device:?}, thread {thread}");
                    }
                });
            }
        });
    }
}

#[test]
fn buffers_of_other_devices_are_refused() {
    let [one, other] = [Selector::Cpu, Selector::Interpreter(32)]
        .map(|selector| devices::open(&selector, None).expect("the device is there"));
    let Programs { bump, .. } = programs(&one);
    let foreign = other.zeroed(Memory::of(64)).expect("there is memory");
    let refused = one.submit(&[launch(&bump, vec![Argument::buffer(&foreign), number(1), number(1)])]);
    assert_eq!(refused.expect_err("it is of another device").code, Code::BadArguments);
    assert!(other.submit(&[launch(&bump, vec![Argument::buffer(&foreign), number(1), number(1)])]).is_err());
    assert!(one.write(&foreign, 0, &[0; 4]).is_err());
}

/// Short elements are written and read by themselves. Devices of wgpu, which move whole words, say so instead.
#[test]
fn parts_of_words_are_moved() {
    for device in everywhere() {
        let stream = device.stream();
        let numbers = device.array(&[1u16, 2, 3, 4, 5]).expect("there is memory");
        let found = || numbers.read(&stream).expect("they are there");
        let part = numbers.slice(0, 1).write(&stream, &[7]);
        if device.driver().moves_bytes() {
            part.expect("it fits");
            assert_eq!(found(), [7, 2, 3, 4, 5], "{device:?}");
            device.submit(&[Command::copy((numbers.buffer(), 0), (numbers.buffer(), 6), 2)]).expect("it is right");
            device.submit(&[Command::clear(numbers.buffer(), 2, 2)]).expect("it is right");
            assert_eq!(found(), [7, 0, 3, 7, 5], "{device:?}");
        } else {
            assert_eq!(part.expect_err("it moves whole words").code, Code::BadArguments, "{device:?}");
            assert_eq!(found(), [1, 2, 3, 4, 5], "{device:?}");
        }
        numbers.slice(4, 1).write(&stream, &[9]).expect("it ends with the memory");
        assert_eq!(found()[4], 9, "{device:?}");
        let all = found();
        for (first, end) in (0..5).flat_map(|first| (first..=5).map(move |end| (first, end))) {
            let part = numbers.slice(first as u64, (end - first) as u64);
            assert_eq!(part.read(&stream).expect("they are there"), all[first..end], "{device:?}");
            let bytes = 2 * (end - first) as u64;
            let download = stream.download(part.buffer(), 0, bytes).expect("they are there");
            let expected: Vec<u8> = all[first..end].iter().flat_map(|number| number.to_le_bytes()).collect();
            assert_eq!(download.wait().expect("they come"), expected, "{device:?}");
        }
    }
}

const SLOW: &str = "
kernel @slow(%to: buffer, %rounds: u32, %value: u32) workgroup(64) launch {
  grid 1, 1, 1
} {
  %k, %end = loop (%i: u32 = 0, %x: u32 = 1) {
    while (lt %i, %rounds) next (add %i, 1), (xor (mul %x, 1664525), %i)
  }
  store.u32 %to[(global_id.x)], (add %value, (shr.u32 (and %end, 1), 1))
}
";

/// Work of another stream and memory that is used again come behind slow work. Only where queues run by themselves, as on a card, this could fail.
#[test]
fn streams_come_after_each_other() {
    let kernels = Kernels::from_text("slow.gir", SLOW).expect("they are right");
    let ids: Vec<_> = kernels.module.kernels().collect();
    for device in everywhere() {
        let slow = device.load(&kernels.module, &ids, &LoadOptions::default()).expect("it is loaded").swap_remove(0);
        let rounds = if device.info().kind == DeviceKind::Cuda { 10_000_000 } else { 100 };
        let filled = |to: &girih_runtime::Buffer, value| {
            launch(&slow, vec![Argument::buffer(to), number(rounds), number(value)])
        };
        let [first, second] = [(); 2].map(|()| device.open_stream().expect("there is another"));
        let word = |stream: &girih_runtime::Stream, buffer: &girih_runtime::Buffer| {
            let mut found = [0; 4];
            stream.read(buffer, 0, &mut found).expect("it is there");
            u32::from_le_bytes(found)
        };
        let a = device.zeroed(Memory::of(256)).expect("there is memory");
        device.wait().expect("it works");
        first.submit(&[filled(&a, 1)]).expect("it is right");
        second.after(&first).expect("they are of one device");
        assert_eq!(word(&second, &a), 1, "{device:?}");
        // After an event alone.
        second.submit(&[filled(&a, 2)]).expect("it is right");
        let event = second.record().expect("a point");
        second.submit(&[filled(device.empty::<u32>(64).expect("memory").buffer(), 9)]).expect("it is right");
        first.after_event(&event).expect("it is of this device");
        assert_eq!(word(&first, &a), 2, "{device:?}");
        drop(event);
        // Memory that its own stream still uses goes to another one.
        second.wait().expect("it works");
        let b = first.allocate(Memory::of(256)).expect("there is memory");
        first.submit(&[filled(&b, 3)]).expect("it is right");
        drop(b);
        let b = first.allocate(Memory::of(256)).expect("there is memory");
        second.write(&b, 0, &4u32.to_le_bytes()).expect("it fits");
        assert_eq!(word(&second, &b), 4, "{device:?}");
        first.wait().expect("it works");
        assert_eq!(word(&second, &b), 4, "{device:?}");
        // So does memory of a stream that is gone.
        first.submit(&[filled(&b, 5)]).expect("it is right");
        drop((first, b));
        let c = device.zeroed(Memory::of(256)).expect("there is memory");
        device.wait().expect("it works");
        assert_eq!(word(&device.stream(), &c), 0, "{device:?}");
    }
}

/// The address counts, not the place in the memory that was given.
#[test]
fn memory_of_the_host_may_begin_anywhere() {
    let kernels = Kernels::from_text("short.gir", SHORT).expect("they are right");
    let ids: Vec<_> = kernels.module.kernels().collect();
    let device = devices::open(&Selector::Cpu, None).expect("it is there");
    let loaded = device.load(&kernels.module, &ids, &LoadOptions::default()).expect("they are loaded");
    let mut own: Vec<u8> = (0..255u8).collect();
    let base = own.as_mut_ptr().expose_provenance();
    for (skew, offset) in [(1, 0), (2, 0), (3, 3), (6, 2), (1, 1), (5, 4)] {
        let begin = base.next_multiple_of(16) - base + skew;
        #[allow(unsafe_code)]
        // SAFETY: the vector lives to the end of the test, and nobody changes it.
        let buffer = unsafe { device.import((base + begin) as u64, 100, || {}) }.expect("any address will do");
        let to = device.zeroed(Memory::of(80)).expect("there is memory");
        let arguments = vec![Argument::Buffer(buffer.from_byte(offset)), Argument::buffer(&to), number(40)];
        let launched = device.submit(&[launch(&loaded[0], arguments)]);
        if (skew + offset as usize).is_multiple_of(2) {
            launched.unwrap_or_else(|error| panic!("{skew} and {offset}: {}", error.message));
            let first = begin + offset as usize;
            assert_eq!(device.numbers::<u8>(&to).expect("it is there"), own[first..first + 80]);
        } else {
            assert_eq!(launched.expect_err("it is between two elements").code, Code::BadArguments);
        }
    }
}

/// What tensors of others say is believed if it can be, and otherwise refused; then they are still the caller's.
#[test]
#[allow(unsafe_code)]
fn tensors_say_where_their_elements_are() {
    let device = devices::open(&Selector::Cpu, None).expect("it is there");
    let Programs { add, bump } = programs(&device);
    let numbers = device.array(&[0u32, 1, 2, 3, 4, 5, 6, 7]).expect("there is memory");
    let whole = numbers.buffer();
    let u32s = DataType::unsigned(32);
    assert!(Tensor::with_strides(whole.clone(), u32s, &[2, 2], &[6, 2]).is_err(), "that is more than there is");
    assert!(Tensor::with_strides(whole.clone(), u32s, &[2, 2], &[1]).is_err());
    assert!(Tensor::new(whole.slice(4, 32), u32s, &[1]).is_err());
    let strided = Tensor::with_strides(whole.from_byte(4), u32s, &[2, 2], &[4, 2]).expect("it fits");
    // Changes what was exported before it is taken again.
    let taken = |tensor: &Tensor, change: &dyn Fn(&mut dlpack::ManagedTensorVersioned)| {
        let mut packed = tensor.export().expect("the processor has addresses");
        // SAFETY: it was exported right here, and nobody else takes it.
        unsafe {
            change(packed.as_mut());
            Tensor::import(&device, packed).inspect_err(|_| {
                if let Some(deleter) = packed.as_ref().deleter {
                    deleter(packed.as_ptr());
                }
            })
        }
    };
    let same = taken(&strided, &|_| {}).expect("nothing was changed");
    assert_eq!((same.shape(), same.strides(), same.buffer().bytes()), (&[2, 2][..], &[4, 2][..], 28));
    assert_eq!(device.numbers::<u32>(same.buffer()).expect("they are there"), [1, 2, 3, 4, 5, 6, 7]);
    let later = taken(&strided, &|packed| (packed.tensor.byte_offset, packed.tensor.ndim) = (8, 1));
    assert_eq!(device.numbers::<u32>(later.expect("it is inside").buffer()).expect("they are there")[..2], [3, 4]);
    // Nobody may write one of these.
    let locked = taken(&strided, &|packed| packed.flags |= dlpack::READ_ONLY).expect("it can be read");
    assert!(locked.is_read_only() && locked.export_unversioned().is_err());
    assert!(device.write(locked.buffer(), 0, &[0; 4]).is_err());
    assert!(device.submit(&[launch(&bump, vec![locked.buffer().into(), number(1), number(1)])]).is_err());
    let arguments = vec![locked.buffer().into(), Argument::buffer(whole), number(1), number(50)];
    device.submit(&[launch(&add, arguments)]).expect("it only reads");
    assert_eq!(numbers.read(&device.stream()).expect("they are there")[..3], [51, 1, 2]);
    let again = taken(&locked, &|_| {}).expect("nothing was changed");
    assert!(again.is_read_only());
    // Without elements there is no memory.
    let none = Tensor::new(whole.clone(), u32s, &[3, 0]).expect("it fits");
    let empty = taken(&none, &|packed| assert!(packed.tensor.data.is_null())).expect("it is right");
    assert_eq!((empty.shape(), empty.buffer().bytes()), (&[3, 0][..], 0));
    // The processor takes memory that CUDA has locked, whatever the card's number.
    taken(&strided, &|packed| packed.tensor.device.kind = dlpack::PINNED_HOST).expect("it is the host's");
    let wrong: [&dyn Fn(&mut PackTensor); 7] = [
        &|tensor| tensor.device.kind = dlpack::CUDA,
        &|tensor| tensor.device.kind = dlpack::MANAGED,
        &|tensor| tensor.device.id = 1,
        &|tensor| tensor.byte_offset = u64::MAX,
        &|tensor| tensor.data = std::ptr::null_mut(),
        &|tensor| tensor.ndim = -1,
        &|tensor| tensor.dtype = DataType::unsigned(4),
    ];
    for (i, change) in wrong.into_iter().enumerate() {
        let refused = taken(&strided, &|packed| change(&mut packed.tensor));
        assert_eq!(refused.expect_err("it is wrong").code, Code::BadArguments, "{i}");
    }
    let newer = taken(&strided, &|packed| packed.version = PackVersion { major: 2, minor: 0 });
    assert_eq!(newer.expect_err("it has another form").code, Code::BadArguments);
    drop((same, locked, again, empty, none, strided));
    assert_eq!(device.figures().buffers, 1, "all of them have told the owner");
    let other = devices::open(&Selector::Interpreter(32), None).expect("it is there");
    let away = Tensor::new(other.zeroed(Memory::of(4)).expect("there is memory"), u32s, &[1]).expect("it fits");
    assert_eq!(away.export().expect_err("it has no addresses").code, Code::BadArguments);
}
