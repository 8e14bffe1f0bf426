//! `girih launch FILE.py::KERNEL`: a Triton kernel, on arrays of NumPy files.

use super::kernel::{Placed, bring_back, time, wrong};
use crate::console::Console;
use crate::exit::Exit;
use crate::interrupt::{self, Interrupt};
use crate::launch::{self, GridText, Named, Value};
use clap::{Args, ValueEnum};
use girih::devices::{self, Selector};
use girih::runtime;
use girih::triton::{
    Argument, Array, Candidate, Constant, Head, KernelFile, Loaded, Parameter, Purpose, Request, Tuning,
};
use girih::{Code, Diagnostic, Report, Sources};
use girih_ir::{Op, Scalar, Type, eval, text};
use girih_machine::interp;
use girih_runtime::{Buffer, Device};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  girih launch vector_add.py::vector_add --grid 1 --arg x_ptr=@x.npy --arg y_ptr=@y.npy --arg out_ptr=zeros(f32,1000):sum.npy --arg n=1000
  girih launch softmax.py::softmax --grid 8 .. --arg BLOCK=1024    a constant of the kernel
  girih launch matmul.py --grid \"cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)\" ..    in the fastest of its configurations; -v shows the time of each
  girih launch softmax.py::softmax --emit ir ..                    the kernel compiled for these arguments";

/// Options of the verb.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Launch {
    /// The file and the kernel; the kernel may be left out if there is only one
    #[arg(value_name = "FILE.py::KERNEL")]
    kernel: String,
    /// Programs to start: 64 or 8,8 or 4,4,4; or an expression such as "cdiv(n, BLOCK)", which each configuration computes: then the fastest of
    /// `@triton.autotune` is taken
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = launch::grid_text)]
    grid: Option<GridText>,
    /// A parameter's value: @in.npy, @in.npy:out.npy, zeros(fp32,1024x512):out.npy, 42, 42:i64, 3.5, true, none, text; NAME.0=VALUE for a tuple's element;
    /// descriptor(@in.npy:out.npy,64x32) for a tensor descriptor of an array, in blocks of such a shape
    #[arg(long, value_name = "NAME=VALUE", value_parser = launch::named)]
    arg: Vec<Named>,
    /// Groups of 32 lanes that run a program [default: what the kernel's decorators say, or 4]
    #[arg(long, value_name = "N")]
    num_warps: Option<u32>,
    /// How many iterations of a loop overlap; a hint
    #[arg(long, value_name = "N")]
    num_stages: Option<u32>,
    /// The device: auto, cpu, wgpu, cuda, or interpreter, on which programs print
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = crate::device::selector)]
    device: Selector,
    /// Run it many times and print how long one run takes
    #[arg(long)]
    time: bool,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = interrupt::seconds)]
    timeout: Option<Duration>,
    /// Check `device_assert`, and look for races
    #[arg(long)]
    debug: bool,
    /// Show the compiled kernel instead of running it
    #[arg(long, value_name = "FORM")]
    emit: Option<Form>,
}

/// A form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Functions in tile form
    Ir,
}

impl Launch {
    /// Does it.
    pub fn run(&self, console: &Console) -> Exit {
        // No device can be asked to leave a kernel, so that its process ends at once.
        let _interrupt = self.timeout.map(|_| Interrupt::with_grace(self.timeout, Duration::ZERO, console));
        match self.launch(console) {
            Ok(()) => Exit::Ok,
            Err(report) => {
                console.report(&report);
                Exit::Failed
            }
        }
    }

    fn launch(&self, console: &Console) -> Result<(), Report> {
        let begun = Instant::now();
        let plain = |d: Diagnostic| Report { sources: Sources::default(), diagnostics: vec![d] };
        let (path, name) = match self.kernel.split_once("::") {
            Some((path, name)) => (path, Some(name)),
            None => (self.kernel.as_str(), None),
        };
        let file = KernelFile::open(path)?;
        let kernels = file.kernels()?;
        let kernel = match (name, &kernels[..]) {
            (Some(name), _) => name.to_owned(),
            (None, [only]) => only.name.clone(),
            (None, []) => {
                let error =
                    Diagnostic::new(Code::KernelEntry, girih::Span::NONE, format!("`{path}` has no Triton kernel"));
                return Err(plain(error.hint(match Path::new(path).extension().is_some_and(|end| end == "bend") {
                    true => format!("a Bend program is run by `girih run {path}`"),
                    false => "a kernel is a function below `@triton.jit`".to_owned(),
                })));
            }
            (None, _) => {
                let list: Vec<String> = kernels.iter().map(|k| format!("`{}`", k.name)).collect();
                let error = Diagnostic::new(
                    Code::KernelEntry,
                    girih::Span::NONE,
                    format!("`{path}` has {} kernels", kernels.len()),
                );
                return Err(plain(error.hint(format!("name one after `::`: {}", list.join(", ")))));
            }
        };
        let parameters = kernels.iter().find(|k| k.name == kernel).map_or(&[][..], |k| &k.parameters);
        launch::each_once(&self.arg).map_err(|e| plain(wrong(e)))?;
        if self.arg.iter().any(|given| matches!(given.value, Value::Descriptor(..))) {
            let arg = launch::in_parts(&self.arg).map_err(|e| plain(wrong(e)))?;
            return Launch { arg, ..self.clone() }.launch(console);
        }
        let mut request = Request { kernel, num_warps: self.num_warps, ..Request::default() };
        (request.num_stages, request.debug, request.apart) = (self.num_stages, self.debug, true);
        for given in &self.arg {
            let argument = argument(given, parameters).map_err(|e| plain(wrong(e)))?;
            request.arguments.push((given.name.clone(), argument));
        }
        if self.emit == Some(Form::Ir) {
            let (compiled, _) = file.compile(&request)?;
            self.tell(&compiled.head, console);
            let printed = text::print(&compiled.module);
            console.result(printed.trim_end(), || serde_json::json!({"kind": "code", "text": printed}));
            return Ok(());
        }
        match &self.device {
            Selector::Interpreter(width) => {
                let options = interp::Options {
                    subgroup: *width,
                    checked: self.debug,
                    clock: Some(devices::clock),
                    ..interp::Options::default()
                };
                let machine = Arc::new(interp::Interpreter::new(options));
                let device = Device::over(machine.clone());
                let done = self.run_on(&device, (&file, &request), milliseconds(begun), console);
                for line in machine.take_printed() {
                    console.result(&line, || serde_json::json!({"kind": "printed", "text": line}));
                }
                done
            }
            other => {
                let (read, opening) = (milliseconds(begun), Instant::now());
                let device = devices::open(other, None)?;
                console.detail(|| format!("the device is open after {:.1} ms", milliseconds(opening)));
                self.run_on(&device, (&file, &request), read, console)
            }
        }
    }

    /// What was said and chosen when the kernel was compiled.
    fn tell(&self, head: &Head, console: &Console) {
        head.notes.iter().for_each(|note| console.note(note));
        if head.prints && !matches!(self.device, Selector::Interpreter(_)) && self.emit.is_none() {
            console.note("programs print only on the reference machine: `--device interpreter`");
        }
        for (name, value) in &head.chosen {
            console.detail(|| format!("{name} = {value}"));
        }
    }

    /// Runs the kernel on a device that is open; reading the file has taken so many milliseconds.
    fn run_on(
        &self,
        device: &Device,
        (file, request): (&KernelFile, &Request),
        read: f64,
        console: &Console,
    ) -> Result<(), Report> {
        let begun = Instant::now();
        let plain = |d: Diagnostic| Report { sources: Sources::default(), diagnostics: vec![d] };
        let own;
        let (grid, tunes) = match &self.grid {
            Some(grid) => (grid, grid.has_names()),
            None => {
                own = own_grid(device, file, request)?;
                (&own, false)
            }
        };
        launch::writable(&self.arg).map_err(plain)?;
        let (mut placed, mut buffers) = (vec![], vec![]);
        for given in &self.arg {
            let Value::Array(source, _) = &given.value else { continue };
            let array = source.array().map_err(|e| plain(wrong(e)))?;
            let array = Placed::new(device, array, &given.value, &given.name).map_err(plain)?;
            buffers.push((given.name.as_str(), array.buffer.clone()));
            placed.push(array);
        }
        let placing = milliseconds(begun);
        let loaded = match tunes {
            false => file.load(device, request)?,
            true => self.tuned(device, (file, request, grid), (&placed, &buffers), console)?,
        };
        let compiled = milliseconds(begun) - placing;
        console.detail(|| {
            let kept = if loaded.was_kept { "kept by an earlier run" } else { "compiled now" };
            format!("reading {read:.2} ms, arrays {placing:.2} ms, the kernel {compiled:.2} ms: {kept}")
        });
        self.tell(&loaded.head, console);
        if console.verbose() {
            let chosen = Request { configuration: loaded.configuration, ..request.clone() };
            // The kernel is compiled: what is wrong with a second look at it keeps nobody from running it.
            if let Ok(notes) = file.notes(device.caps(), &chosen) {
                console.report(&notes);
            }
        }
        let one = |error| loaded.report(vec![error]);
        let arguments = self.arguments(&loaded.head, &buffers).map_err(one)?;
        let command = loaded.command(self.programs(grid, &loaded.head).map_err(one)?, &arguments)?;
        placed.sort_by_key(|p| loaded.head.parameters.iter().position(|name| name == p.name));
        device.submit(std::slice::from_ref(&command)).map_err(one)?;
        device.wait().map_err(one)?;
        let ran = milliseconds(begun);
        bring_back(device, placed, true, console).map_err(|errors| loaded.report(errors))?;
        let whole = read + milliseconds(begun);
        console.detail(|| {
            let (run, back) = (ran - placing - compiled, whole - read - ran);
            format!("the run {run:.2} ms, arrays back {back:.2} ms")
        });
        if self.time {
            let compiled = read + compiled;
            let text = format!("from the source to the result {whole:.1} ms, {compiled:.1} of them for the compilers");
            console.result(&text, || serde_json::json!({"kind": "first", "whole_ms": whole, "compile_ms": compiled}));
            time(device, &command, console).map_err(one)?;
        }
        Ok(())
    }
}

/// The grid that the kernel's decorators say.
fn own_grid(device: &Device, file: &KernelFile, request: &Request) -> Result<GridText, Report> {
    let (head, sources) = file.head(device, request)?;
    let said = head.grid.as_deref().and_then(|text| launch::grid_text(text).ok());
    said.ok_or_else(|| {
        let error = wrong("the grid is missing".into()).hint("say how many programs run: `--grid 64`");
        Report { sources, diagnostics: vec![error] }
    })
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

impl Launch {
    /// The arguments of a compiled kernel.
    fn arguments(&self, head: &Head, buffers: &[(&str, Buffer)]) -> Result<Vec<(&str, runtime::Argument)>, Diagnostic> {
        let mut arguments = vec![];
        for (name, ty) in head.parameters.iter().zip(&head.types) {
            let Some(given) = self.arg.iter().find(|a| a.name == *name) else { continue };
            let argument = match &given.value {
                Value::Array(..) => match buffers.iter().find(|(of, _)| of == name) {
                    Some((_, buffer)) => runtime::Argument::buffer(buffer),
                    None => continue,
                },
                Value::Descriptor(..) => continue,
                Value::Number(text) => {
                    let ty = *ty;
                    let bits = launch::number(launch::typed_number(text).0, ty)
                        .map_err(|e| wrong(format!("`{name}`: {e}")))?;
                    runtime::Argument::Scalar(runtime::Constant { ty, bits })
                }
            };
            arguments.push((given.name.as_str(), argument));
        }
        Ok(arguments)
    }

    /// How many programs a compiled kernel is run by.
    fn programs(&self, grid: &GridText, head: &Head) -> Result<[u32; 3], Diagnostic> {
        let chosen = |name: &str| match head.chosen.iter().find(|(n, _)| n == name) {
            Some((_, Constant::Int(n))) => Some(*n),
            _not_chosen => None,
        };
        let given = |name: &str| match &self.arg.iter().find(|a| a.name == name)?.value {
            Value::Number(text) => launch::typed_number(text).0.parse().ok(),
            Value::Array(..) | Value::Descriptor(..) => None,
        };
        grid.programs(&|name| given(name).or_else(|| chosen(name))).map_err(wrong)
    }

    /// The kernel in the configuration that takes least time on the arrays.
    fn tuned(
        &self,
        device: &Device,
        (file, request, grid): (&KernelFile, &Request, &GridText),
        (placed, buffers): (&[Placed<'_>], &[(&str, Buffer)]),
        console: &Console,
    ) -> Result<Loaded, Report> {
        let (first, sources) = file.head(device, request)?;
        let one = |error| Report { sources, diagnostics: vec![error] };
        let arguments = self.arguments(&first, buffers).map_err(one)?;
        let array = |p: &Placed<'_>| Array {
            buffer: p.buffer.clone(),
            bytes: (p.array.bytes.len() as u64).next_multiple_of(4),
            element: p.array.scalar,
        };
        let arrays: Vec<Array> = placed.iter().map(array).collect();
        let programs = |head: &Head| self.programs(grid, head);
        let purpose = Purpose { arguments: &arguments, arrays: &arrays, grid: &programs };
        let tuned = file.tune(device, request, &purpose, &Tuning::default())?;
        for (i, candidate) in tuned.candidates.iter().enumerate() {
            console.detail(|| match candidate {
                Candidate::Takes(time) => format!("configuration {i}: {:.4} ms", time.as_secs_f64() * 1e3),
                Candidate::TooSlow(time) => format!("configuration {i}: {:.0} ms, too slow", time.as_secs_f64() * 1e3),
                Candidate::Differs => format!("configuration {i} writes other numbers than the first one"),
                Candidate::Refused(why) => format!("configuration {i} is refused: {why}"),
                Candidate::NotTried => format!("configuration {i} was not tried: there was no time left"),
            });
        }
        Ok(tuned.loaded)
    }
}

/// What a parameter is given, for the compiler.
pub(super) fn argument(given: &Named, parameters: &[Parameter]) -> Result<Argument, String> {
    let name = given.name.split('.').next().unwrap_or(&given.name);
    let constexpr = parameters.iter().any(|p| p.name == name && p.constexpr) || given.name.contains(".block_shape.");
    match &given.value {
        Value::Descriptor(..) => Err(format!("the parts of `{name}` are given one by one")),
        Value::Number(text) if given.name.ends_with(".padding") => Ok(Argument::Constant(Constant::Text(text.clone()))),
        Value::Array(source, _) => Ok(Argument::Buffer(source.scalar()?)),
        Value::Number(text) if constexpr => Ok(Argument::Constant(constant(text))),
        Value::Number(text) if let (number, Some(scalar)) = launch::typed_number(text) => {
            launch::number(number, Type::Scalar(scalar)).map(|bits| Argument::Scalar(scalar, bits))
        }
        Value::Number(text) => match constant(text) {
            Constant::None => Ok(Argument::Constant(Constant::None)),
            Constant::Bool(b) => Ok(Argument::Scalar(Scalar::Bool, u64::from(b))),
            Constant::Float(x) => {
                let bits = eval::scalar(Op::Convert, Scalar::F32, Scalar::F64, &[x.to_bits()]).unwrap_or(0);
                Ok(Argument::Scalar(Scalar::F32, bits))
            }
            Constant::Int(n) => {
                let scalar = if i32::try_from(n).is_ok() { Scalar::I32 } else { Scalar::I64 };
                launch::number(text, Type::Scalar(scalar)).map(|bits| Argument::Scalar(scalar, bits))
            }
            Constant::Text(text) => Err(format!(
                "`{}` is given the text `{text}`: write a number, `@file.npy` or `zeros(f32,1024)`",
                given.name
            )),
        },
    }
}

/// A constant as it is written on the command line.
fn constant(text: &str) -> Constant {
    match text {
        "none" | "None" => Constant::None,
        "true" | "True" => Constant::Bool(true),
        "false" | "False" => Constant::Bool(false),
        text => match (text.parse(), text.parse()) {
            (Ok(n), _) => Constant::Int(n),
            (_, Ok(x)) => Constant::Float(x),
            (_, _) => Constant::Text(text.trim_matches('"').to_owned()),
        },
    }
}
