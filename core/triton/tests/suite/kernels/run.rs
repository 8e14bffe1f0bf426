//! Kernels on the reference machine: arguments in, arrays out.

use girih_base::diag::{Diagnostic, Style, render};
use girih_base::span::Sources;
use girih_ir::{Caps, Feature, Scalar, Type, eval};
use girih_machine::interp::{Interpreter, Options};
use girih_runtime::{Command, Device, Dispatch, Grid, LoadOptions, Memory};
use girih_triton::{Alone, Argument, Constant, Loader, Request, compile};
use std::sync::Arc;

/// An argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// An array of a type.
    Array(Scalar, Vec<f64>),
    /// An integer of 32 bits.
    Int(i64),
    /// A float of 32 bits.
    Float(f64),
    /// A constant.
    Const(Constant),
}

pub fn f32s(values: impl IntoIterator<Item = f64>) -> Arg {
    Arg::Array(Scalar::F32, values.into_iter().collect())
}
pub fn zeros(n: usize) -> Arg {
    f32s(vec![0.0; n])
}
pub fn constant(n: i128) -> Arg {
    Arg::Const(Constant::Int(n))
}

/// A number as bits of a type.
fn bits(x: f64, scalar: Scalar) -> u64 {
    if scalar.is_float() { eval::narrow(x, scalar) } else { (x as i64) as u64 & scalar.mask() }
}
fn number(bits: u64, scalar: Scalar) -> f64 {
    if scalar.is_float() { eval::widen(bits, scalar) } else { eval::int_value(bits, scalar) as f64 }
}

/// The number of a type that is nearest.
pub fn rounded(x: f64, scalar: Scalar) -> f64 {
    number(bits(x, scalar), scalar)
}

/// The text of one of the project's kernels.
pub fn shader(name: &str) -> String {
    let path = format!("{}/../../shaders/{name}.py", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect(&path)
}

/// What a run ends with: each array as it is then, and the lines that were printed.
pub type Ran = Result<(Vec<Vec<f64>>, Vec<String>), (Sources, Vec<Diagnostic>)>;

pub fn try_launch(text: &str, kernel: &str, grid: [u32; 3], arguments: &[(&str, Arg)], loader: &dyn Loader) -> Ran {
    launch_on(None, text, kernel, grid, arguments, loader)
}

/// On programs as they are, or spread over threads and made legal for a device.
fn launch_on(
    caps: Option<Caps>,
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    arguments: &[(&str, Arg)],
    loader: &dyn Loader,
) -> Ran {
    let mut sources = Sources::default();
    let scalar = |arg: &Arg| match arg {
        Arg::Array(scalar, _) => Argument::Buffer(*scalar),
        Arg::Int(n) => {
            let scalar = if i32::try_from(*n).is_ok() { Scalar::I32 } else { Scalar::I64 };
            Argument::Scalar(scalar, *n as u64 & scalar.mask())
        }
        Arg::Float(x) => Argument::Scalar(Scalar::F32, bits(*x, Scalar::F32)),
        Arg::Const(c) => Argument::Constant(c.clone()),
    };
    let request = Request {
        kernel: kernel.into(),
        arguments: arguments.iter().map(|(name, arg)| ((*name).to_owned(), scalar(arg))).collect(),
        debug: true,
        ..Request::default()
    };
    let compiled = match compile(&mut sources, "kernel.py", text, loader, &request) {
        Ok(compiled) => compiled,
        Err(found) => return Err((sources, found)),
    };
    let machine = Arc::new(Interpreter::new(Options { checked: true, caps, ..Options::default() }));
    let device = Device::over(machine.clone());
    let run = |device: &Device| -> Result<Vec<Vec<f64>>, Vec<Diagnostic>> {
        let one = |d| vec![d];
        let program = device.load(&compiled.module, &[compiled.kernel], &LoadOptions::default())?.swap_remove(0);
        let (mut given, mut buffers) = (vec![], vec![]);
        for name in &compiled.head.parameters {
            let arg = &arguments.iter().find(|(n, _)| n == name).expect("a given argument").1;
            given.push(match arg {
                Arg::Array(scalar, values) => {
                    let size = scalar.bytes() as usize;
                    let mut bytes: Vec<u8> =
                        values.iter().flat_map(|x| bits(*x, *scalar).to_le_bytes()[..size].to_vec()).collect();
                    bytes.resize(bytes.len().next_multiple_of(4), 0);
                    let buffer = device.zeroed(Memory::of(bytes.len() as u64)).map_err(one)?;
                    device.write(&buffer, 0, &bytes).map_err(one)?;
                    buffers.push((buffer.clone(), *scalar, values.len(), name.clone()));
                    girih_runtime::Argument::Buffer(buffer)
                }
                other => match scalar(other) {
                    Argument::Scalar(ty, bits) => {
                        girih_runtime::Argument::Scalar(girih_runtime::Constant { ty: Type::Scalar(ty), bits })
                    }
                    _ => unreachable!("constants are no parameters"),
                },
            });
        }
        let dispatch = Dispatch { program, arguments: given, grid: Grid::Workgroups(grid) };
        device.submit(&[Command::Dispatch(dispatch)]).map_err(one)?;
        device.wait().map_err(one)?;
        let mut out = vec![];
        for (name, arg) in arguments {
            let Arg::Array(..) = arg else { continue };
            let Some((buffer, scalar, count, _)) = buffers.iter().find(|b| b.3 == **name) else { continue };
            let size = scalar.bytes() as usize;
            let mut bytes = vec![0; (count * size).next_multiple_of(4)];
            device.read(buffer, 0, &mut bytes).map_err(one)?;
            let element = |c: &[u8]| number(c.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)), *scalar);
            out.push(bytes[..count * size].chunks_exact(size).map(element).collect());
        }
        Ok(out)
    };
    match run(&device) {
        Ok(out) => Ok((out, machine.take_printed())),
        Err(found) => Err((sources, found)),
    }
}

/// A run that has to go well.
pub fn launch(text: &str, kernel: &str, grid: [u32; 3], arguments: &[(&str, Arg)]) -> Vec<Vec<f64>> {
    let caps = [Caps::web(), fragments(48 << 10), fragments(16 << 10), Caps::cuda(80, false), Caps::cuda(90, true)];
    launch_spread(text, kernel, grid, arguments, &caps)
}

/// A run that has to go well where there are numbers of every width.
pub fn launch_on_cards(text: &str, kernel: &str, grid: [u32; 3], arguments: &[(&str, Arg)]) -> Vec<Vec<f64>> {
    launch_spread(text, kernel, grid, arguments, &[Caps::cuda(80, false), Caps::cuda(90, true)])
}

fn launch_spread(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    arguments: &[(&str, Arg)],
    spread: &[Caps],
) -> Vec<Vec<f64>> {
    let run = |caps: Option<Caps>| {
        let name = caps.as_ref().map_or("tile form".to_owned(), |caps| caps.name.to_string());
        match launch_on(caps, text, kernel, grid, arguments, &Alone) {
            Ok((arrays, _)) => arrays,
            Err((sources, found)) => {
                let drawn: String = found.iter().map(|d| render(d, &sources, Style::Plain)).collect();
                panic!("{name}: {drawn}");
            }
        }
    };
    let arrays = run(None);
    // Every run of a program is also one of its threads.
    for caps in spread {
        let what = format!("{kernel} on {}", caps.name);
        for (found, expected) in run(Some(caps.clone())).iter().zip(&arrays) {
            close(found, expected, SPREAD, &what);
        }
    }
    arrays
}

/// An adapter with products of fragments, but without copies that run beside the program; with so little shared memory that factors go there in slices.
fn fragments(shared_bytes: u32) -> Caps {
    use girih_ir::attrs::Precision;
    use girih_ir::caps::{CoopProduct, SubgroupWidths};
    use girih_ir::types::MatrixShape;
    let mut caps = Caps::web_extended();
    caps.name = format!("fragments-{shared_bytes}");
    caps.subgroup = SubgroupWidths { min: 32, max: 32 };
    caps.shared_bytes = shared_bytes;
    caps.coop = vec![CoopProduct {
        shape: MatrixShape { m: 16, n: 16, k: 16 },
        factor: Scalar::F16,
        acc: Scalar::F32,
        precision: Precision::Ieee,
    }];
    // As Vulkan has them: factors go through shared memory as words.
    caps.with(Feature::StrictFloats)
}

/// How far sums in another order may be apart, of numbers about 1 in short floats.
const SPREAD: f64 = 2e-3;

/// Numbers that look random and are the same every time.
pub fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f64::from((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
        })
        .collect()
}

pub fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let same = a == b || a.is_nan() && b.is_nan();
        assert!(same || (a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: element {i} is {a}, not {b}");
    }
}
