//! `girih run FILE.gir::KERNEL`: a kernel launched by hand.

use crate::console::Console;
use crate::device;
use crate::exit::Exit;
use crate::launch::{self, Array, Named, Source, Value};
use clap::Args;
use girih::devices::{Profile, Selector};
use girih::kernels::Kernels;
use girih::{Code, Diagnostic};
use girih_ir::{FunctionId, Scalar, Type};
use girih_runtime::{Argument, Buffer, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, measure};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many elements of an array without a file are shown.
const SHOWN: usize = 16;
/// How many runs of a kernel are timed.
const TIMED: usize = 50;

/// Options that only kernels have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for kernels (FILE.gir::KERNEL)")]
pub struct Launch {
    /// Workgroups to start: 64 or 8,8 or 4,4,4 [default: what the kernel's `launch` says]
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = grid)]
    grid: Option<[u32; 3]>,
    /// A parameter's value: @in.npy, @in.npy:out.npy, zeros(f32,1024x512):out.npy, 42, 3.5, true
    #[arg(long, value_name = "NAME=VALUE", value_parser = launch::named)]
    arg: Vec<Named>,
    /// A specialisation constant's value
    #[arg(long, value_name = "NAME=VALUE", value_parser = launch::named)]
    spec: Vec<Named>,
    /// Run it many times and print how long one run takes on the device
    #[arg(long)]
    time: bool,
    /// Limit the device to a profile: web, web-extended, sm_90
    #[arg(long, value_name = "PROFILE", value_parser = crate::device::profile)]
    caps: Option<Profile>,
}

/// The file and the kernel's name, if the words name a `.gir` file.
pub fn split(file: &str) -> Option<(&str, Option<&str>)> {
    match file.split_once(".gir::") {
        Some((stem, kernel)) => Some((&file[..stem.len() + 4], Some(kernel))),
        None => file.ends_with(".gir").then_some((file, None)),
    }
}

/// Reads `64` or `8,8` or `4x4x4`.
pub(super) fn grid(text: &str) -> Result<[u32; 3], String> {
    let mut grid = [1; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err("a grid has at most three dimensions".into());
    }
    for (slot, part) in grid.iter_mut().zip(parts) {
        *slot = part.trim().parse().map_err(|_| format!("`{part}` is not a number of workgroups"))?;
    }
    Ok(grid)
}

/// An array on the device and where it goes afterwards.
pub(super) struct Placed<'a> {
    pub buffer: Buffer,
    pub array: Array,
    pub value: &'a Value,
    pub name: &'a str,
}

impl<'a> Placed<'a> {
    /// Brings an array to the device.
    pub(super) fn new(
        device: &Device,
        array: Array,
        value: &'a Value,
        name: &'a str,
    ) -> Result<Placed<'a>, Diagnostic> {
        let buffer = device.zeroed(Memory::of(array.bytes.len() as u64))?;
        // A new buffer is all zero.
        if !matches!(value, Value::Array(Source::Zeros(..), _)) {
            let (words, rest) = array.bytes.split_at(array.bytes.len() & !3);
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            for (offset, bytes) in [(0, words), (words.len() as u64, &last[..rest.len().next_multiple_of(4)])] {
                if !bytes.is_empty() {
                    device.write(&buffer, offset, bytes)?;
                }
            }
        }
        Ok(Placed { buffer, array, value, name })
    }
}

/// Brings all arrays back: each to its file, or its beginning to the terminal; of those without a file perhaps only what has
/// changed. What goes wrong with one does not keep the others from being written.
pub(super) fn bring_back(
    device: &Device,
    placed: Vec<Placed<'_>>,
    changed_only: bool,
    console: &Console,
) -> Result<(), Vec<Diagnostic>> {
    let (mut shown, mut errors) = (vec![], vec![]);
    for array in placed {
        match bring(device, array, changed_only) {
            Ok(array) => shown.extend(array),
            Err(error) => errors.push(error),
        }
    }
    errors.extend(shown.into_iter().filter_map(|array| finish(array, console).err()));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Reads what is shown or written of an array; nothing of one that need not be shown.
fn bring<'a>(device: &Device, mut array: Placed<'a>, changed_only: bool) -> Result<Option<Placed<'a>>, Diagnostic> {
    let length = if matches!(array.value, Value::Array(_, Some(_))) {
        array.array.bytes.len()
    } else if changed_only && !has_changed(device, &array)? {
        return Ok(None);
    } else {
        array.array.bytes.len().min((SHOWN + 1) * array.array.scalar.bytes() as usize)
    };
    array.array.bytes = read(device, &array, length)?;
    Ok(Some(array))
}

/// Whether an array on the device differs from what it was. It is looked at in parts, because memory that the host has not used before
/// costs it more than the copy does.
fn has_changed(device: &Device, placed: &Placed<'_>) -> Result<bool, Diagnostic> {
    const PART: usize = 1 << 20;
    let zeros = matches!(placed.value, Value::Array(Source::Zeros(..), _));
    let mut part = vec![0; placed.array.bytes.len().next_multiple_of(4).min(PART)];
    for (i, before) in placed.array.bytes.chunks(PART).enumerate() {
        let now = &mut part[..before.len().next_multiple_of(4)];
        device.read(&placed.buffer, (i * PART) as u64, now)?;
        let now = &now[..before.len()];
        let same = if zeros { now.iter().fold(0, |any, byte| any | byte) == 0 } else { now == before };
        if !same {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Launch {
    /// Whether an option was given that only kernels have.
    pub fn is_used(&self) -> bool {
        self.grid.is_some() || !self.arg.is_empty() || !self.spec.is_empty() || self.time || self.caps.is_some()
    }

    /// Runs a kernel.
    pub fn run(&self, file: &str, kernel: Option<&str>, selector: &Selector, console: &Console) -> Exit {
        let kernels = match Kernels::open(Path::new(file)) {
            Ok(kernels) => kernels,
            Err(report) => {
                console.report(&report);
                return Exit::Failed;
            }
        };
        let kernel = match kernels.kernel(kernel) {
            Ok(kernel) => kernel,
            Err(report) => {
                console.report(&report);
                return Exit::Failed;
            }
        };
        let device = match device::open(selector, self.caps, console) {
            Ok(device) => device,
            Err(exit) => return exit,
        };
        console.detail(|| format!("on {} ({})", device.info().name, device.info().backend));
        match self.launch(&kernels, kernel, &device, console) {
            Ok(()) => Exit::Ok,
            Err(errors) => {
                console.report(&kernels.report(errors));
                Exit::Failed
            }
        }
    }

    fn launch(
        &self,
        kernels: &Kernels,
        kernel: FunctionId,
        device: &Device,
        console: &Console,
    ) -> Result<(), Vec<Diagnostic>> {
        let one = |error| vec![error];
        launch::writable(&self.arg).map_err(one)?;
        let options = LoadOptions {
            specialisations: self.specialisations(kernels, kernel).map_err(one)?,
            ..LoadOptions::default()
        };
        let started = Instant::now();
        let program = device.load(&kernels.module, &[kernel], &options)?.swap_remove(0);
        console.detail(|| format!("compiled in {:.1} ms", started.elapsed().as_secs_f64() * 1e3));
        if console.verbose()
            && let Ok(notes) = kernels.notes(Some(&kernels.module.functions[kernel].name), device.caps())
        {
            console.report(&notes);
        }
        let mut placed = vec![];
        let arguments = self.arguments(kernels, kernel, device, &mut placed).map_err(one)?;
        let grid = self.grid.map_or(Grid::Own, Grid::Workgroups);
        let command = Command::Dispatch(Dispatch { program, arguments, grid });
        device.submit(std::slice::from_ref(&command)).map_err(one)?;
        device.wait().map_err(one)?;
        bring_back(device, placed, false, console)?;
        if self.time {
            time(device, &command, console).map_err(one)?;
        }
        Ok(())
    }

    fn specialisations(&self, kernels: &Kernels, kernel: FunctionId) -> Result<Vec<(String, u64)>, Diagnostic> {
        let function = &kernels.module.functions[kernel];
        let known = function.launch.as_ref().map_or(&[][..], |l| &l.specialisations[..]);
        launch::each_once(&self.spec).map_err(wrong)?;
        let mut values = vec![];
        for Named { name, value } in &self.spec {
            let found = known.iter().find(|s| function.values[s.value].name.as_ref().is_some_and(|n| **n == **name));
            let Some(found) = found else {
                let message = format!("`@{}` has no specialisation constant `%{name}`", function.name);
                return Err(Diagnostic::new(Code::BadArguments, function.span, message));
            };
            let Value::Number(text) = value else { return Err(wrong(format!("`{name}` is a number"))) };
            values.push((name.clone(), launch::number(text, function.ty(found.value)).map_err(wrong)?));
        }
        Ok(values)
    }

    /// One argument for each parameter; arrays are brought to the device.
    fn arguments<'a>(
        &'a self,
        kernels: &Kernels,
        kernel: FunctionId,
        device: &Device,
        placed: &mut Vec<Placed<'a>>,
    ) -> Result<Vec<Argument>, Diagnostic> {
        let function = &kernels.module.functions[kernel];
        let name_of = |param| function.values[param].name.as_deref().unwrap_or_default();
        launch::each_once(&self.arg).map_err(wrong)?;
        for Named { name, .. } in &self.arg {
            if !function.params.iter().any(|p| name_of(*p) == name) {
                let known: Vec<String> = function.params.iter().map(|p| format!("`{}`", name_of(*p))).collect();
                let message = format!("`@{}` has no parameter `{name}`", function.name);
                return Err(Diagnostic::new(Code::BadArguments, function.span, message)
                    .hint(format!("its parameters are {}", known.join(", "))));
            }
        }
        let mut arguments = vec![];
        for param in &function.params {
            let (name, ty) = (name_of(*param), function.ty(*param));
            let Some(given) = self.arg.iter().find(|a| a.name == name) else {
                let message = format!("the parameter `%{name}` of `@{}` is missing", function.name);
                let hint = format!("add `--arg {name}=..`");
                return Err(Diagnostic::new(Code::BadArguments, function.span, message).hint(hint));
            };
            arguments.push(match (&given.value, ty) {
                (Value::Number(text), Type::Scalar(_)) => {
                    let bits = launch::number(text, ty).map_err(|e| wrong(format!("`%{name}`: {e}")))?;
                    Argument::Scalar(Constant { ty, bits })
                }
                (Value::Array(source, _), Type::Memory(_)) => {
                    let array = source.array().map_err(wrong)?;
                    let one = Placed::new(device, array, &given.value, &given.name)?;
                    let argument = Argument::buffer(&one.buffer);
                    placed.push(one);
                    argument
                }
                (Value::Descriptor(..), _) => {
                    return Err(wrong(format!("`%{name}` is given a descriptor, which only Triton kernels take")));
                }
                (Value::Number(_), _) => return Err(wrong(format!("`%{name}` is a {ty}: give an array"))),
                (Value::Array(..), _) => return Err(wrong(format!("`%{name}` is a {ty}: give a number"))),
            });
        }
        Ok(arguments)
    }
}

pub(super) fn wrong(message: String) -> Diagnostic {
    Diagnostic::new(Code::BadArguments, girih::Span::NONE, message)
}

fn read(device: &Device, placed: &Placed<'_>, length: usize) -> Result<Vec<u8>, Diagnostic> {
    let (mut bytes, whole) = (vec![], length.next_multiple_of(4));
    bytes.try_reserve_exact(whole).map_err(|_| {
        let message = format!("the host has no memory for the {length} bytes of `{}`", placed.name);
        Diagnostic::new(Code::DeviceMemory, girih::Span::NONE, message)
    })?;
    bytes.resize(whole, 0);
    device.read(&placed.buffer, 0, &mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Writes an array to its file; shows the beginning of one without.
fn finish(placed: Placed<'_>, console: &Console) -> Result<(), Diagnostic> {
    let Placed { array, value, name, .. } = placed;
    let Value::Array(source, output) = value else { return Ok(()) };
    let array = source.restore(array);
    match output {
        Some(path) => array.write(path).map_err(|e| Diagnostic::new(Code::CannotWrite, girih::Span::NONE, e)),
        None => {
            let text = beginning(&array);
            console.result(&format!("{name}: {} {text}", array.scalar), || {
                json!({"kind": "array", "name": name, "type": array.scalar.name(), "shape": array.shape, "beginning": text})
            });
            Ok(())
        }
    }
}

/// The first elements of an array.
fn beginning(array: &Array) -> String {
    let size = array.scalar.bytes() as usize;
    let elements = array.bytes.chunks_exact(size);
    let more = if elements.len() > SHOWN { ", .." } else { "" };
    let texts: Vec<String> = elements.take(SHOWN).map(|c| element(array.scalar, c)).collect();
    format!("[{}{more}]", texts.join(", "))
}

fn element(scalar: Scalar, bytes: &[u8]) -> String {
    let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    if scalar.is_float() {
        let wide = girih_ir::eval::scalar(girih_ir::Op::Convert, Scalar::F64, scalar, &[bits]).unwrap_or(0);
        let value = f64::from_bits(wide);
        return if scalar == Scalar::F64 { format!("{value:?}") } else { format!("{:?}", value as f32) };
    }
    if scalar.is_signed() {
        let unused = 64 - scalar.bits();
        return ((bits << unused) as i64 >> unused).to_string();
    }
    bits.to_string()
}

/// Runs a kernel many times; says the median and the spread, and how long the host is busy with one launch.
pub(super) fn time(device: &Device, command: &Command, console: &Console) -> Result<(), Diagnostic> {
    let timing = measure(device, std::slice::from_ref(command), TIMED)?;
    let exact = timing.exact;
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let (least, median, most) = (ms(timing.least()), ms(timing.median()), ms(timing.most()));
    let clock = if exact { "the device's clock" } else { "the host's clock" };
    let host = host_time(device, command, timing.median())?;
    let text = format!(
        "median {median:.4} ms, least {least:.4}, most {most:.4}, of {TIMED} runs by {clock}; a launch takes {host:.1} us of the host"
    );
    console.result(&text, || {
        json!({"kind": "time", "median_ms": median, "least_ms": least, "most_ms": most, "runs": TIMED, "device_clock": exact, "host_us": host})
    });
    Ok(())
}

/// Microseconds that the host takes for a launch, from the arguments to the device's queue: the median of many, of which no more are queued than the
/// device is done with in a fifth of a second.
fn host_time(device: &Device, command: &Command, each: Duration) -> Result<f64, Diagnostic> {
    const MOST: usize = 200;
    let fit = Duration::from_millis(200).as_nanos() / each.as_nanos().max(1);
    let mut taken = vec![];
    for _ in 0..usize::try_from(fit).unwrap_or(MOST).clamp(5, MOST) {
        let begun = Instant::now();
        device.submit(std::slice::from_ref(command))?;
        taken.push(begun.elapsed());
    }
    device.wait()?;
    taken.sort_unstable();
    Ok(taken[taken.len() / 2].as_secs_f64() * 1e6)
}
