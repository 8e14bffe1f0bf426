//! The functions keep their bits when they are made legal for devices: without integers of 64 bits, without the upper
//! half of products, without an exact division, in kernels that inline all of them.

use super::{Words, edges, same};
use girih_base::num::{Num, math};
use girih_base::span::Span;
use girih_base::words;
use girih_ir::{Caps, Scalar, ScalarSet, Verified, text, verify};
use girih_machine::interp::{Interpreter, Options};
use girih_runtime::{Argument, Buffer, Command, Device, Dispatch, Grid, LoadOptions, Program};
use girih_task::math::{MathFunction, ROOT, ROUND24, function, library};

/// How many arguments a kernel is run on.
const ROWS: usize = 4096;

/// A kernel and the Rust function that it computes of two floats, or of the first.
type Case = (&'static str, usize, fn(f32, f32) -> f32);

/// Every function that stands for an operation of Bend.
fn cases() -> Vec<Case> {
    let known = MathFunction::ALL.map(|which| {
        let expected: fn(f32, f32) -> f32 = match which {
            MathFunction::Remainder => math::remainder,
            MathFunction::Pow => math::pow,
            MathFunction::Log => math::log,
            MathFunction::Atan2 => math::atan2,
            MathFunction::Sin => |x, _| math::sin(x),
            MathFunction::Cos => |x, _| math::cos(x),
            MathFunction::Tan => |x, _| math::tan(x),
        };
        (function(which), which.arity(), expected)
    });
    let round24: Case = (ROUND24, 1, |x, _| f32::from_bits(Num::f24(x).bits() << 8));
    let root: Case = (ROOT, 1, |x, _| math::pow(x, 0.5));
    known.into_iter().chain([round24, root]).collect()
}

/// The library, and a kernel for each case.
fn module(cases: &[Case]) -> Verified<girih_ir::Module> {
    let mut source = text::print(library());
    for (name, arity, _) in cases {
        let arguments = ["(bitcast.f32 (load.u32 %x[%i]))", "(bitcast.f32 (load.u32 %y[%i]))"][..*arity].join(", ");
        source += &format!(
            "kernel @k.{name}(%x: buffer readonly, %y: buffer readonly, %out: buffer) workgroup(64) {{
               %i = global_id.x
               store.u32 %out[%i], (bitcast.u32 (call @{name}({arguments})))
             }}\n"
        );
    }
    verify(text::parse(Span::NONE.source, &source).expect("right text").module).expect("right IR")
}

fn profiles() -> Vec<Caps> {
    let mut bare = Caps::web();
    bare.name = "bare".into();
    bare.storage = ScalarSet::of(&[Scalar::U32]);
    bare.local_storage = bare.storage;
    bare.access_bytes = 4;
    vec![bare, Caps::web(), Caps::cuda(75, false), Caps::cuda(90, true)]
}

/// Pairs of edges, and others.
fn rows() -> Vec<[f32; 2]> {
    let (edges, mut words) = (edges(), Words(8));
    let mut row = |i: usize| {
        let x = edges[words.below(edges.len() as u32) as usize];
        let any = words.float();
        match i % 4 {
            0 => [x, edges[words.below(edges.len() as u32) as usize]],
            1 => [any, words.near(any)],
            2 => [words.near_one(), any],
            _ => [words.denormal(), words.whole(5) / 2.0],
        }
    };
    (0..ROWS).map(&mut row).collect()
}

fn filled(device: &Device, words: impl Iterator<Item = u32>) -> Buffer {
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    device.upload(&bytes).expect("memory")
}

fn launch(device: &Device, program: Program, buffers: [&Buffer; 3]) -> Vec<u32> {
    let arguments = buffers.map(Argument::buffer).to_vec();
    let dispatch = Dispatch { program, arguments, grid: Grid::Workgroups([ROWS as u32 / 64, 1, 1]) };
    device.submit(&[Command::Dispatch(dispatch)]).expect("a launch");
    device.wait().expect("it ends");
    let mut bytes = vec![0; ROWS * 4];
    device.read(buffers[2], 0, &mut bytes).expect("a read");
    words::from_bytes(&bytes)
}

#[test]
fn legal_kernels_give_the_same_bits() {
    let (cases, rows) = (cases(), rows());
    let module = module(&cases);
    let kernels: Vec<_> = module.kernels().collect();
    for caps in profiles() {
        let name = caps.name.clone();
        let device = Device::new(Interpreter::new(Options { caps: Some(caps), subgroup: 64, ..Options::default() }));
        let programs = device.load(&module, &kernels, &LoadOptions::default()).expect("kernels are made legal");
        let x = filled(&device, rows.iter().map(|row| row[0].to_bits()));
        let y = filled(&device, rows.iter().map(|row| row[1].to_bits()));
        let out = filled(&device, rows.iter().map(|_| 0));
        for ((function, _, expected), program) in cases.iter().zip(programs) {
            for ([x, y], got) in rows.iter().zip(launch(&device, program, [&x, &y, &out])) {
                let want = expected(*x, *y).to_bits();
                assert!(same(got, want), "{name}: {function} of {x:?}, {y:?} is {got:#x}, not {want:#x}");
            }
        }
    }
}
