//! Kernels launched with arrays and numbers of Rust, and what is said of arguments that do not fit.

use girih::devices::{Profile, Selector, open};
use girih::ir::Type;
use girih::kernels::autotune::{Array, Candidate, Tuning, Variant, tune};
use girih::kernels::{Args, Dim, Kernels, Mask, PreparedLaunch, Scalar, Slot, TileKernel};
use girih::runtime::{Argument, Constant, Device, Grid};
use girih::triton::{self, KernelFile, Request};
use girih::{Code, Diagnostic, Error, Errors, Program, Span, args};
use std::sync::Arc;
use std::time::Duration;

const SCALE: &str = "
kernel @scale(%x: buffer, %n: u32, %by: f32) workgroup(64) launch { grid (div (add %n, 63), 64), 1, 1 } {
  %i = global_id.x
  if (lt %i, %n) {
    store.f32 %x[%i], (mul (load.f32 %x[%i]), %by)
  }
}

kernel @bytes(%from: buffer, %to: buffer, %n: u32) workgroup(64) {
  %i = global_id.x
  if (lt %i, %n) {
    store.u8 %to[%i], (load.u8 %from[%i])
  }
}
";

fn devices() -> [Device; 2] {
    [Selector::Cpu, Selector::Interpreter(32)].map(|selector| open(&selector, None).expect("it is always there"))
}

fn scaled(arguments: Args<'_>) -> Result<(), Error> {
    let device = open(&Selector::Interpreter(32), None)?;
    let scale = Kernels::from_text("scale.gir", SCALE)?.load(&device, Some("scale"))?;
    scale.launch(arguments)
}

#[track_caller]
fn refused(arguments: Args<'_>, message: &str) {
    let error = scaled(arguments).expect_err("the arguments do not fit");
    assert_eq!(error.code(), Some(Code::BadArguments));
    assert!(error.to_string().contains(message), "{error}");
    assert!(format!("{error:#}").contains("scale.gir:2:"), "{error:#}");
}

#[test]
fn what_is_written_comes_back() {
    for device in devices() {
        let kernels = Kernels::from_text("scale.gir", SCALE).expect("it is right");
        let scale = kernels.load(&device, Some("scale")).expect("it loads");
        for count in [1_usize, 63, 64, 1000] {
            let mut x: Vec<f32> = (0..count).map(|i| i as f32).collect();
            scale.launch(args![&mut x, count, 0.5]).expect("it runs");
            assert!(x.iter().enumerate().all(|(i, x)| *x == i as f32 / 2.0));
            // By name, in any order; only a part of the array.
            scale.launch(args![&mut x[..1]; by = 8, n = 1]).expect("it runs");
            assert_eq!(x[0], 0.0);
            // What is only read stays.
            let before = x.clone();
            scale.launch(args![&x, count, 3]).expect("it runs");
            assert_eq!(x, before);
        }
    }
}

#[test]
fn arrays_need_not_end_with_a_word() {
    for device in devices() {
        let kernels = Kernels::from_text("scale.gir", SCALE).expect("it is right");
        let bytes = kernels.load(&device, Some("bytes")).expect("it loads");
        for count in [0_u8, 1, 2, 3, 4, 5, 63] {
            let from: Vec<u8> = (0..count).map(|i| 255 - i).collect();
            let mut to = vec![0_u8; from.len()];
            bytes.launch_grid([1, 1, 1], args![&from, &mut to, count]).expect("it runs");
            assert_eq!(from, to);
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let mut x = [1.0_f32];
    refused(args![&mut x, 1], "the parameter `by` of `scale` is not given");
    refused(args![&mut x, 1, 2.0, 3], "`scale` has 3 parameters, and is given more");
    refused(args![&mut x, 1, 2.0; by = 3], "the parameter `by` of `scale` is given twice");
    refused(args![&mut x, 1; bye = 3], "`scale` has no parameter `bye`");
    refused(args![&mut x, -1, 2.0], "`n` of `scale` is of the type `u32`, and is given the integer -1");
    refused(args![&mut x, 0.5, 2.0], "`n` of `scale` is of the type `u32`, and is given the float 0.5");
    refused(args![1, 1, 2.0], "`x` of `scale` is an array, and is given the integer 1");
    refused(args![&mut x, &[1_u32], 2.0], "`n` of `scale` is of the type `u32`, and is given an array of 1 u32");
    let missing =
        Kernels::from_text("scale.gir", SCALE).and_then(|kernels| kernels.load(&devices()[0], Some("scales")));
    assert_eq!(missing.err().and_then(|error| error.code()), Some(Code::KernelEntry));
}

/// A kernel that Rust has written: `out = a * x + out`, of so many elements at once.
fn axpy(block: u64) -> Kernels {
    let k = TileKernel::new("axpy", 2);
    let (x, out) = (k.buffer("x", Scalar::F32), k.buffer("out", Scalar::F32));
    let (a, n) = (k.number("a", Scalar::F32), k.number("n", Scalar::I32));
    let at = k.program(Dim::X) * block as i64 + k.iota(block);
    let inside = at.lt(n);
    out.store(at, a * x.load(at, inside) + out.load(at, inside), inside);
    Kernels::from_module(k.into_module().expect("it is right"))
}

#[test]
fn kernels_by_program_run_on_arrays_of_the_device() {
    for device in devices() {
        let kernels = axpy(128);
        let axpy = kernels.load(&device, None).expect("it loads");
        let x = device.array(&[1.0_f32, 2.0, 3.0]).expect("there is memory");
        let out = device.array(&[0.5_f32; 3]).expect("there is memory");
        for _ in 0..2 {
            axpy.launch_grid([1, 1, 1], args![&x, &out, 2.0, 3]).expect("it is queued");
        }
        assert_eq!(out.read(&device.stream()).expect("it runs"), [4.5, 8.5, 12.5]);
    }
}

#[test]
fn the_fastest_of_some_modules_is_kept_by_their_digests() {
    let device = open(&Selector::Cpu, None).expect("it is always there");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tuning = Tuning { folder: Some(folder.path().into()), budget: Duration::MAX, limit: Duration::MAX };
    let (x, out) = (device.array(&[1.0_f32; 1000]).expect("memory"), device.array(&[0.0_f32; 1000]).expect("memory"));
    let arrays = [&x, &out].map(|array| Array { buffer: array.buffer().clone(), bytes: 4000, element: Scalar::F32 });
    let constant = |ty, bits| Argument::Scalar(Constant { ty, bits });
    let tuned_in = |blocks: [u64; 2], tuning: &Tuning| {
        let kernels = blocks.map(axpy);
        let variants: Vec<Variant<'_>> = (kernels.iter().zip(blocks))
            .map(|(kernels, block)| Variant {
                kernels,
                kernel: None,
                arguments: vec![
                    x.buffer().into(),
                    out.buffer().into(),
                    constant(Type::Scalar(Scalar::F32), 2.0_f32.to_bits().into()),
                    constant(Type::I32, 1000),
                ],
                grid: Grid::Workgroups([1000_u64.div_ceil(block) as u32, 1, 1]),
            })
            .collect();
        tune(&device, &variants, &arrays, tuning).expect("it is right")
    };
    let tuned = |blocks| tuned_in(blocks, &tuning);
    // What a budget or a limit has cut short is not kept.
    let hurried = Tuning { budget: Duration::ZERO, ..tuning.clone() };
    assert!(matches!(tuned_in([64, 256], &hurried).candidates[..], [Candidate::Takes(_), Candidate::NotTried]));
    let strict = Tuning { limit: Duration::ZERO, ..tuning.clone() };
    assert!(matches!(tuned_in([64, 256], &strict).candidates[..], [Candidate::TooSlow(_), Candidate::TooSlow(_)]));
    let first = tuned([64, 256]);
    assert_eq!(first.candidates.len(), 2);
    assert_eq!(out.read(&device.stream()).expect("it is there"), [0.0; 1000], "tuning leaves the arrays as they were");
    let again = tuned([64, 256]);
    assert_eq!((again.variant, again.candidates), (first.variant, vec![]), "what was found is kept");
    assert_eq!(tuned([64, 512]).candidates.len(), 2, "another module is another choice");
}

const FILL: &str = "
import triton
import triton.language as tl

@triton.jit
def fill(out_ptr, n, value, BLOCK: tl.constexpr, TWICE: tl.constexpr = False):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if TWICE:
        value *= 2
    tl.store(out_ptr + at, value, mask=at < n)
";

#[test]
fn triton_kernels_are_compiled_for_what_they_are_given() {
    let device = open(&Selector::Cpu, None).expect("it is always there");
    let fill = KernelFile::from_text("fill.py", FILL).kept_in(None).kernel("fill").expect("it is there");
    let mut floats = vec![0.0_f32; 100];
    fill.launch(&device, [2, 1, 1], args![&mut floats, 100, 1.5; BLOCK = 64]).expect("it runs");
    assert_eq!(floats, [1.5; 100]);
    fill.launch(&device, [2, 1, 1], args![&mut floats, 50, 2.5, 64, true]).expect("it runs");
    assert_eq!(floats[..50], [5.0; 50]);
    assert_eq!(floats[50..], [1.5; 50]);
    let mut integers = vec![0_i32; 100];
    for value in [1, 16, 17] {
        fill.launch(&device, [1, 1, 1], args![&mut integers, 100, value, 128]).expect("it runs");
        assert_eq!(integers, [value; 100]);
    }
    let error = fill.launch(&device, [1, 1, 1], args![&mut integers, 100; BLOCK = 64]).expect_err("a value is missing");
    assert!(error.to_string().contains("value"), "{error}");
    let error =
        fill.launch(&device, [1, 1, 1], args![&mut integers, 100, 1; BLOCK = &[1_i32]]).expect_err("no constant");
    assert!(error.to_string().contains("`BLOCK` of `fill` is a constant, and is given an array of 1 i32"), "{error}");
    let error = fill.launch(&device, [0, 1, 1], args![&mut integers, 100, 1, 64]).expect_err("nothing would run");
    assert!(error.to_string().contains("the grid is 0 in x"), "{error}");
    let error = KernelFile::from_text("fill.py", FILL).kernel("fil").expect_err("there is none");
    assert!(format!("{error:#}").contains("did you mean `fill`?"), "{error:#}");
}

const REVERSED: &str = "
import triton
import triton.language as tl

@triton.jit
def reversed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + n - 1 - at, mask=at < n), mask=at < n)
";

/// A program loads its tile before it stores one, whatever the memories are.
#[test]
fn memories_that_overlap_are_loaded_before_they_are_stored_to() {
    let n = 100;
    let numbers: Vec<f32> = (0..n + 4).map(|i| i as f32).collect();
    for device in devices() {
        // The kernel that was compiled for memories that are apart is not taken for others, nor the other way round.
        let kernel = KernelFile::from_text("reversed.py", REVERSED).kernel("reversed").expect("it is there");
        for shift in [None, Some(0), Some(4), None] {
            let memory = device.array(&numbers).expect("there is memory");
            let apart = device.array(&numbers).expect("there is memory");
            let target = shift.map_or(apart.clone(), |shift| memory.slice(shift, n as u64));
            kernel.launch(&device, [1, 1, 1], args![&memory, &target, n; BLOCK = 128]).expect("it runs");
            let made = target.read(&device.stream()).expect("it can be read");
            let wanted: Vec<f32> = numbers[..n as usize].iter().rev().copied().collect();
            assert_eq!(made[..n as usize], wanted, "{shift:?} on {}", device.info().name);
        }
    }
}

/// What a launch was compiled for is not taken for memory that overlaps, or that begins elsewhere.
#[test]
fn prepared_launches_take_any_memory() {
    let n = 100_u64;
    let numbers: Vec<f32> = (0..n + 4).map(|i| i as f32).collect();
    for device in devices() {
        let kernel = KernelFile::from_text("reversed.py", REVERSED).kernel("reversed").expect("it is there");
        let memory = || Slot::Memory(Scalar::F32);
        let slots = || vec![memory(), memory(), Slot::Fixed(100.into()), Slot::Fixed(128.into())];
        let kernel = Arc::new(kernel);
        let launch = PreparedLaunch::new(kernel.clone(), &device, [1, 1, 1], slots());
        assert_eq!(launch.memories(), 2);
        for (shared, first) in [(false, 0), (true, 0), (true, 4), (true, 1), (false, 3), (false, 0)] {
            let source = device.array(&numbers).expect("there is memory");
            let apart = device.array(&numbers).expect("there is memory");
            let target = if shared { &source } else { &apart }.slice(first, n);
            launch.launch(&[source.buffer().clone(), target.buffer().clone()]).expect("it is queued");
            let made = target.read(&device.stream()).expect("it can be read");
            let wanted: Vec<f32> = numbers[..n as usize].iter().rev().copied().collect();
            assert_eq!(made, wanted, "{shared}, {first} on {}", device.info().name);
        }
        let buffer = device.array(&numbers).expect("there is memory").buffer().clone();
        let error = launch.launch(std::slice::from_ref(&buffer)).expect_err("one is missing");
        assert!(error.to_string().contains("the launch takes 2 memories, and is given 1"), "{error}");
        let none = PreparedLaunch::new(kernel.clone(), &device, [1, 0, 1], slots());
        none.launch(&[buffer.clone(), buffer.clone()]).expect("nothing runs");
        let mut slots = slots();
        slots[2] = Slot::Absent;
        let error = PreparedLaunch::new(kernel, &device, [1, 1, 1], slots).launch(&[buffer.clone(), buffer]);
        let error = error.expect_err("a number is missing");
        assert!(error.to_string().contains("`n`"), "{error}");
    }
}

#[test]
fn what_makes_a_kernel_slow_is_said() {
    let large = TileKernel::new("sums", 8);
    let (x, at) = (large.buffer("x", Scalar::F32), large.iota(65536));
    x.store(at, x.load(at, Mask::ALL).scan(0, false, |a, b| a + b), Mask::ALL);
    let large = Kernels::from_module(large.into_module().expect("it is right"));
    let notes = large.notes(None, &Profile::Cuda(90).caps()).expect("it is possible");
    let [note] = &notes.diagnostics[..] else { panic!("{notes}") };
    assert_eq!(note.code, Code::SharedMemory);
    assert!(note.message.contains("all tiles of `@sums` go through shared memory"), "{notes}");
    assert_eq!(axpy(128).notes(Some("axpy"), &Profile::Cuda(90).caps()).expect("it is possible").diagnostics, []);
    let unknown = axpy(128).notes(Some("axpby"), &Profile::Cuda(90).caps()).expect_err("there is none");
    assert_eq!(unknown.code(), Some(Code::KernelEntry));
}

#[test]
fn a_loaded_kernel_says_its_configuration() {
    let text = FILL.replace(
        "@triton.jit",
        "@triton.autotune(configs=[triton.Config({'BLOCK': b}) for b in [262144, 64, 32]], key=['n'])\n@triton.jit",
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = KernelFile::from_text("fill.py", &text).kept_in(Some(folder.path().into()));
    let request = Request {
        kernel: "fill".into(),
        arguments: vec![
            ("out_ptr".into(), triton::Argument::Buffer(Scalar::F32)),
            ("n".into(), triton::Argument::Scalar(Scalar::I32, 100)),
            ("value".into(), triton::Argument::Scalar(Scalar::F32, 0)),
        ],
        ..Request::default()
    };
    // No card has room for the first one.
    for was_kept in [false, true] {
        let device = open(&Selector::parse("ptx:sm_80").expect("it is one"), None).expect("it is always there");
        let loaded = file.load(&device, &request).expect("the second one has room");
        assert_eq!((loaded.configuration, loaded.was_kept), (1, was_kept));
        assert!(file.notes(device.caps(), &request).is_err(), "the first one is refused");
        let chosen = Request { configuration: loaded.configuration, ..request.clone() };
        assert_eq!(file.notes(device.caps(), &chosen).expect("it is possible").diagnostics, []);
    }
}

/// What the library says goes through `?`, also where any error will do.
#[test]
fn errors_are_errors_of_rust() {
    fn all<E>(program: &Program) -> Result<(), E>
    where
        E: From<Error> + From<Diagnostic> + From<Errors>,
    {
        let device = open(&"cpu".parse::<Selector>()?, None)?;
        open(&Selector::parse("lowered")?, None)?;
        Profile::parse("web")?;
        let (x, out) = (device.array(&[1.0_f32])?, device.array(&[2.0_f32])?);
        let k = TileKernel::new("copy", 1);
        let (from, to, at) = (k.buffer("from", Scalar::F32), k.buffer("to", Scalar::F32), k.iota(1));
        to.store(at, from.load(at, Mask::ALL), Mask::ALL);
        let copy = Kernels::from_module(k.into_module()?).load(&device, None)?;
        copy.launch_grid([1, 1, 1], args![&x, &out])?;
        device.wait()?;
        assert_eq!(out.read(&device.stream())?, [1.0]);
        let mut bytes = [0; 4];
        device.read(out.buffer(), 0, &mut bytes)?;
        program.check()?;
        assert_eq!(program.function::<(u32,), u32>("same")?.call((7,))?, 7);
        let shader = girih::render::Shader::new(program)?;
        let mut renderer = shader.renderer(&girih::render::RenderOptions::default())?;
        renderer.submit(0.0);
        let picture = loop {
            match renderer.poll() {
                Some(picture) => break picture?,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(picture.frame()?.pixels.len(), 4);
        Ok(())
    }
    fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Result<(), Any> {
        Err(error)?
    }
    type Any = Box<dyn std::error::Error + Send + Sync>;
    let text = "
def same(n: u24) -> u24:
  return n

def shader(x: u24, y: u24, t: f24) -> u24:
  return x

def width() -> u24:
  return 2

def height() -> u24:
  return 2
";
    let program = Program::from_text("all.bend", text, &girih::render::Shader::options());
    all::<Error>(&program).expect("nothing is wrong");
    all::<Any>(&program).expect("nothing is wrong");
    let one = Diagnostic::new(Code::BadArguments, Span::NONE, "it is wrong");
    for said in [refused(one.clone()), refused(Errors::from(one.clone())), refused(Error::from(one.clone()))] {
        assert!(said.expect_err("it is refused").to_string().ends_with(": it is wrong"));
    }
    let unknown = Selector::parse("gpu").expect_err("it is none");
    assert_eq!(unknown.code(), Some(Code::BadArguments));
    assert!(unknown.message().starts_with("`gpu` is not a device"), "{unknown}");
}
