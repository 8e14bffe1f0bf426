//! Triton kernels on the devices of this machine: masked accesses touch nothing outside of their buffers, and grids may be larger than a
//! device's.
//!
//! `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure. `GIRIH_DEVICE` names devices, with commas, instead of those of this machine.

use crate::support::places::{Place, places};
use girih::devices::{self, Selector};
use girih::runtime;
use girih::triton::{Argument, Constant, KernelFile, Request};
use girih::{Code, Report};
use girih_ir::{Scalar, Type};
use girih_runtime::{Buffer, Device, DeviceKind, Memory};
use girih_workbench::{Share, share};

// Guard regions.

/// Bytes before and behind an array that nobody may touch: as many as a buffer's start is a multiple of.
const GUARD: usize = 256;
/// What stands there, and in what nobody has written.
const SENTINEL: u8 = 0xa5;

/// Masked copies in several ways. All take x, y, n, and a number.
const COPIES: &str = "
import triton
import triton.language as tl


@triton.jit
def line(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def moved(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - first
    inside = (at >= 0) & (at < n)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=inside), mask=inside)


@triton.jit
def holes(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at < n) & (at % 3 != 1)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=inside), mask=inside)


@triton.jit
def matrix(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    column = tl.arange(0, BLOCK // 4)[None, :]
    at = row * first + column
    inside = (column < first) & (at < n)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=inside), mask=inside)


@triton.jit
def blocks(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    rows = n // first
    x = tl.make_block_ptr(x_ptr, (rows, first), (first, 1), (tl.program_id(0) * 4, 0), (4, BLOCK // 4), (1, 0))
    y = tl.make_tensor_descriptor(y_ptr, (rows, first), (first, 1), (4, BLOCK // 4))
    y.store([tl.program_id(0) * 4, 0], tl.load(x, boundary_check=(0, 1)))


@triton.jit
def added(x_ptr, y_ptr, n, first, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)
";

const BLOCK: usize = 256;

/// Whether a kernel copies an element.
fn is_copied(kernel: &str, i: usize, n: usize, first: usize) -> bool {
    match kernel {
        "holes" => i % 3 != 1,
        "blocks" => i < n / first * first,
        _all => i < n,
    }
}

/// How many programs a kernel needs.
fn programs(kernel: &str, n: usize, first: usize) -> u32 {
    let count = match kernel {
        "moved" => (n + first).div_ceil(BLOCK),
        "matrix" | "blocks" => n.div_ceil(first).div_ceil(4),
        _line => n.div_ceil(BLOCK),
    };
    count as u32
}

/// An array on a device, perhaps between guards.
struct Guarded {
    buffer: Buffer,
    start: usize,
    bytes: Vec<u8>,
}

impl Guarded {
    fn new(device: &Device, array: &[u8], guarded: bool) -> Guarded {
        let guard = vec![SENTINEL; if guarded { GUARD } else { 0 }];
        let mut bytes = [&guard, array, &guard].concat();
        bytes.resize(bytes.len().next_multiple_of(4), SENTINEL);
        let buffer = device.zeroed(Memory::of(bytes.len() as u64)).expect("there is memory");
        device.write(&buffer, 0, &bytes).expect("it can be written");
        Guarded { buffer, start: guard.len(), bytes }
    }

    fn argument(&self) -> runtime::Argument {
        runtime::Argument::Buffer(self.buffer.from_byte(self.start as u64))
    }

    fn read(&self, device: &Device) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes.len()];
        device.read(&self.buffer, 0, &mut bytes).expect("it can be read");
        bytes
    }
}

struct Copy {
    kernel: &'static str,
    scalar: Scalar,
    n: usize,
    first: usize,
}

impl Copy {
    fn request(&self) -> Request {
        let number = |n: usize| Argument::Scalar(Scalar::I32, n as u64);
        let arguments = [
            ("x_ptr", Argument::Buffer(self.scalar)),
            ("y_ptr", Argument::Buffer(self.scalar)),
            ("n", number(self.n)),
            ("first", number(self.first)),
            ("BLOCK", Argument::Constant(Constant::Int(BLOCK as i128))),
        ];
        let arguments = arguments.into_iter().map(|(name, given)| (name.to_owned(), given)).collect();
        Request { kernel: self.kernel.into(), arguments, ..Request::default() }
    }

    /// Runs it, and looks at every byte of both allocations; none if the device has no such operation.
    fn run(&self, file: &KernelFile, device: &Device, guarded: bool) -> Option<()> {
        let Copy { kernel, scalar, n, first } = *self;
        let what = format!("{kernel} of {n} {scalar} by {first} on {}", device.info().name);
        let loaded = match file.load(device, &self.request()) {
            Ok(loaded) => loaded,
            Err(report) => {
                assert_eq!(report.diagnostics[0].code, Code::NeedsFeature, "{what}: {report}");
                return None;
            }
        };
        let size = scalar.bytes() as usize;
        // No float is NaN, so that none changes when it is loaded.
        let x: Vec<u8> = (0..n * size).map(|i| (i * 7 % 61) as u8).collect();
        let from = Guarded::new(device, &x, guarded);
        let to = Guarded::new(device, &vec![SENTINEL; x.len()], guarded);
        let number = |n: usize| runtime::Argument::Scalar(runtime::Constant { ty: Type::I32, bits: n as u64 });
        let arguments =
            [("x_ptr", from.argument()), ("y_ptr", to.argument()), ("n", number(n)), ("first", number(first))];
        loaded.launch(device, [programs(kernel, n, first), 1, 1], &arguments).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(from.read(device), from.bytes, "{what}: what is only read");
        let mut expected = to.bytes.clone();
        for i in (0..n).filter(|i| is_copied(kernel, *i, n, first)) {
            expected[to.start + i * size..][..size].copy_from_slice(&x[i * size..][..size]);
        }
        let found = to.read(device);
        if let Some(byte) = (0..found.len()).find(|i| found[*i] != expected[*i]) {
            panic!("{what}: byte {} of the array is {:#x}", byte as i64 - to.start as i64, found[byte]);
        }
        Some(())
    }
}

/// Numbers of elements and of columns (also the distance that `moved` moves by): multiples of 16, of 4, of nothing, less than a block and more.
const SIZES: &[(usize, usize)] = &[(1, 1), (7, 3), (160, 16), (255, 33), (512, 48), (1001, 13)];

const SCALARS: &[Scalar] =
    &[Scalar::I8, Scalar::I16, Scalar::F16, Scalar::Bf16, Scalar::I32, Scalar::F32, Scalar::I64, Scalar::F64];

fn guarded_on((selector, profile): &Place, share: Share) {
    let file = KernelFile::from_text("copies.py", COPIES);
    let device = devices::open(selector, *profile).expect("the device is there");
    // Drivers in software compile slowly: every size and every type, but not each with each.
    let some = if device.info().kind == DeviceKind::WgpuSoftware { 3 } else { 1 };
    let mut ran = 0;
    for kernel in ["line", "moved", "holes", "matrix", "blocks", "added"] {
        for (i, scalar) in SCALARS.iter().copied().enumerate() {
            if kernel == "added" && scalar.bits() < 32 {
                continue;
            }
            for (j, (n, first)) in SIZES.iter().copied().enumerate() {
                if !(i + j).is_multiple_of(some) || !share.has(i + j / some) {
                    continue;
                }
                // A buffer of its own ends where the array does, which a machine that looks at each access sees.
                for guarded in [true, false] {
                    ran += usize::from(Copy { kernel, scalar, n, first }.run(&file, &device, guarded).is_some());
                }
            }
        }
    }
    assert!(ran >= share.least(100), "{selector}: only {ran} ran");
}

#[test]
fn masked_accesses_touch_nothing_outside() {
    let (places, share) = (places(), share(20));
    std::thread::scope(|scope| {
        let running: Vec<_> = places.iter().map(|place| scope.spawn(move || guarded_on(place, share))).collect();
        running.into_iter().for_each(|thread| thread.join().expect("every device holds it"));
    });
}

// Grids.

const GRIDS: &str = "
import triton
import triton.language as tl


@triton.jit
def places(out_ptr, BLOCK: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    own = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    at = own * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at * 3 + y + 2 * z)


@triton.jit
def line(out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at + tl.num_programs(0))
";

fn launched(device: &Device, kernel: &str, grid: [u32; 3], block: usize) -> Result<Vec<i32>, Report> {
    let file = KernelFile::from_text("grids.py", GRIDS);
    let arguments = vec![
        ("out_ptr".to_owned(), Argument::Buffer(Scalar::I32)),
        ("BLOCK".into(), Argument::Constant(Constant::Int(block as i128))),
    ];
    let request = Request { kernel: kernel.into(), arguments, num_warps: Some(1), ..Request::default() };
    let loaded = file.load(device, &request)?;
    let count = grid.iter().map(|n| *n as usize).product::<usize>() * block;
    let buffer = device.zeroed(Memory::of((count * 4) as u64)).expect("there is memory");
    let ran = loaded.launch(device, grid, &[("out_ptr", runtime::Argument::buffer(&buffer))]);
    let mut bytes = vec![0; count * 4];
    device.read(&buffer, 0, &mut bytes).expect("it can be read");
    ran?;
    Ok(bytes.chunks_exact(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
}

#[test]
fn grids_are_larger_than_a_device_has_them() {
    // In part, a small grid and one that is too long in a direction.
    let share = share(2);
    for (selector, profile) in places() {
        let device = devices::open(&selector, profile).expect("the device is there");
        let device = &device;
        let slow = matches!(selector, Selector::Ptx(_));
        let long = if slow { 300 } else { 70_001 };
        for grid in share.of([[3, 2, 4], [long, 1, 1], [long, 2, 1], [65_536, 1, 2]]) {
            if slow && grid[0] > long {
                continue;
            }
            let found = launched(device, "places", grid, 1).expect("it runs");
            let [width, height, _] = grid.map(|n| n as usize);
            for (i, n) in found.iter().enumerate() {
                let expected = 3 * i + i / width % height + 2 * (i / (width * height));
                assert_eq!(*n as usize, expected, "{selector}: program {i} of {grid:?}");
            }
        }
        let programs = if slow { 100 } else { 131_072 };
        let found = launched(device, "line", [programs, 1, 1], 4).expect("it runs");
        assert!(found.iter().enumerate().all(|(i, n)| *n as usize == i + programs as usize), "{selector}");
    }
}

#[test]
fn what_is_wrong_with_a_launch_names_the_argument() {
    let file = KernelFile::from_text("copies.py", COPIES);
    let device = devices::open(&Selector::Cpu, None).expect("it is always there");
    let device = &device;
    let request = Copy { kernel: "line", scalar: Scalar::F32, n: 64, first: 3 }.request();
    let loaded = file.load(device, &request).expect("it is right");
    let buffer = device.zeroed(Memory::of(256)).expect("there is memory");
    let array = || runtime::Argument::buffer(&buffer);
    let number = |ty, bits| runtime::Argument::Scalar(runtime::Constant { ty, bits });
    let full = [("x_ptr", array()), ("y_ptr", array()), ("n", number(Type::I32, 64)), ("first", number(Type::I32, 3))];
    assert!(loaded.launch(device, [1; 3], &full).is_ok());
    let said = |grid: [u32; 3], arguments: &[(&str, runtime::Argument)]| {
        let report = loaded.launch(device, grid, arguments).expect_err("something is wrong");
        report.diagnostics[0].message.clone()
    };
    let with = |i: usize, argument: (&'static str, runtime::Argument)| {
        let mut changed = full.clone();
        changed[i] = argument;
        changed
    };
    assert_eq!(said([1; 3], &full[..3]), "the parameter `first` is not given");
    assert_eq!(said([4, 0, 1], &full), "the grid is 0 in y, so no program would run");
    assert_eq!(said([1; 3], &with(3, ("second", array()))), "the kernel has no parameter `second`");
    assert_eq!(said([1; 3], &with(2, ("n", array()))), "`%n` is a `i32`, but a buffer was given");
    assert_eq!(said([1; 3], &with(2, ("n", number(Type::F32, 64)))), "`%n` is a `i32`, but a `f32` was given");
    let seven = || number(Type::I32, 7);
    assert!(said([1; 3], &with(1, ("y_ptr", seven()))).contains("`%y_ptr`"));
    // A promise that the kernel was compiled for.
    assert!(said([1; 3], &with(2, ("n", seven()))).contains("`%n` is declared divisible by 16, but 7 was given"));
    let moved = runtime::Argument::Buffer(buffer.from_byte(4));
    assert!(said([1; 3], &with(0, ("x_ptr", moved))).contains("`%x_ptr` starts at byte 4"));
}
