//! Runs what a text is: a Bend program, a net, the run lines of kernels; and paints shaders.
//!
//! Invariant: a text runs where the answer says that it has run. What a device cannot run is refused by an error. Only nets always run in the worker: the
//! compilers of browsers take minutes for the kernels that reduce nets.

use crate::check::Findings;
use crate::files::{File, Language};
use crate::host::PageHost;
use crate::kernels;
use crate::launches::Launches;
use girih::devices::{self, Selector};
use girih::kernels::Kernels;
use girih::nets::{Nets, Place};
use girih::render::{Frame, Painting, RenderOptions, Shader, Size};
use girih::{Code, Diagnostic, Error, RunDevice, RunOptions};
use girih_base::span::Span;
use girih_net::reduce::Limits;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;

/// Most bytes of data on the host: the memory of WebAssembly ends at 4 GiB, and the compiler needs some of it.
const MEMORY: u64 = 2 << 30;

/// Where a text runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// On the browser's device.
    Webgpu,
    /// In the worker: programs by the evaluator, nets one step after the other, kernels on the reference machine.
    Worker,
}

impl Device {
    fn for_programs(self) -> RunDevice {
        match self {
            Device::Webgpu => RunDevice::Device(self.selector()),
            Device::Worker => RunDevice::Evaluator,
        }
    }

    /// A browser offers one adapter.
    fn selector(self) -> Selector {
        match self {
            Device::Webgpu => Selector::Wgpu(Some("0".to_owned())),
            Device::Worker => Selector::Interpreter(32),
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// What is said: errors of the run.
    #[serde(flatten)]
    pub findings: Findings,
    /// The value, as `girih run` prints it.
    pub result: Option<String>,
    /// What has run it, and why that.
    pub choice: String,
    /// What it took.
    pub stats: String,
}

impl Ran {
    fn failed(error: &Error) -> Ran {
        Ran { findings: Findings::of(error), result: None, choice: String::new(), stats: String::new() }
    }
}

/// Runs a text. What it writes is told.
pub fn run(file: &File, device: Device, input: &str, told: impl FnMut(u32, &[u8]) + Send + 'static) -> Ran {
    let mut host = PageHost::new(input, told);
    let ran = match file.language {
        Language::Bend => program(file, device, &mut host),
        Language::Hvm | Language::Gir | Language::Python if !file.arguments.is_empty() => Err(no_arguments()),
        Language::Hvm => net(file, &mut host),
        Language::Gir => gir(file, device),
        Language::Python => Launches::read(file).and_then(|launches| kernel(device, |on| launches.run(on))),
    };
    ran.unwrap_or_else(|error| Ran::failed(&error))
}

fn no_arguments() -> Error {
    let error = Diagnostic::new(Code::BadArguments, Span::NONE, "only programs in Bend are given arguments");
    Error::from(error.hint("write what a net or a kernel is given into its text"))
}

fn program(file: &File, device: Device, host: &mut PageHost) -> Result<Ran, Error> {
    let program = file.program(true);
    program.check()?;
    let here = RunOptions { device: RunDevice::Evaluator, memory: MEMORY, ..RunOptions::default() };
    let mut executable = match (program.compile(&here), device) {
        // What needs nets runs as a net, one step after the other.
        (Err(error), _) if error.code() == Some(Code::NeedsNets) => {
            let threads = Some(NonZeroUsize::MIN);
            program.compile(&RunOptions { device: RunDevice::Auto, threads, ..here })?
        }
        (compiled, Device::Worker) => compiled?,
        (compiled, Device::Webgpu) => {
            compiled?;
            program.compile(&RunOptions { device: device.for_programs(), ..here })?
        }
    };
    let result = executable.run(host);
    let (choice, stats) = (executable.choice().to_string(), executable.stats().to_string());
    Ok(match result {
        Ok(text) => Ran { findings: Findings::none(), result: Some(text), choice, stats },
        Err(error) => Ran { choice, stats, ..Ran::failed(&error) },
    })
}

fn net(file: &File, host: &mut PageHost) -> Result<Ran, Error> {
    let nets = Nets::from_text(file.language.file(), &file.text)?;
    let limits = Limits { memory: MEMORY, ..Limits::default() };
    let reduced = nets.run(None, &limits, Place::InTurn(None), Some(host))?;
    let choice = "nets run in the worker, one step after the other".to_owned();
    let stats = format!("time:         {:.3} s\ninteractions: {}", reduced.seconds, reduced.counts.total());
    Ok(Ran { findings: Findings::none(), result: Some(reduced.text), choice, stats })
}

fn gir(file: &File, device: Device) -> Result<Ran, Error> {
    let kernels = Kernels::from_text(file.language.file(), &file.text)?;
    kernel(device, |on| kernels::run(&kernels, on))
}

/// Runs kernels on a device.
fn kernel(device: Device, run: impl FnOnce(&girih::runtime::Device) -> Result<String, Error>) -> Result<Ran, Error> {
    let opened = devices::open(&device.selector(), None)?;
    let text = run(&opened)?;
    let choice = format!("{} ({})", devices::kind_name(opened.info().kind), opened.info().name);
    Ok(Ran { findings: Findings::none(), result: Some(text), choice, stats: String::new() })
}

/// The shader that a file is.
///
/// # Errors
/// If it is none.
pub fn shader(file: &File) -> Result<Shader, Error> {
    Shader::new(&file.program(false))
}

/// Makes a shader ready to paint.
///
/// # Errors
/// If there is no picture of this size, or the device cannot paint it.
pub fn painting(shader: &Shader, device: Device, size: Option<[u32; 2]>) -> Result<Painting, Error> {
    shader.painting(&RenderOptions { device: device.for_programs(), ..options(size)? })
}

/// A coarse picture at a time, in seconds; none of a shader whose pictures are trees.
///
/// # Errors
/// If there is no picture of this size, or the program fails.
pub fn preview(shader: &Shader, size: Option<[u32; 2]>, time: f32) -> Result<Option<Frame>, Error> {
    shader.preview(&options(size)?, time)
}

fn options(size: Option<[u32; 2]>) -> Result<RenderOptions, Error> {
    let refused = |message| Error::from(Diagnostic::new(Code::BadArguments, Span::NONE, message));
    let size = size.map(|[width, height]| Size::checked(width, height).map_err(refused)).transpose()?;
    Ok(RenderOptions { size, memory: MEMORY, ..RenderOptions::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(language: Language, text: &str) -> File {
        File::new(language, text)
    }

    fn result(language: Language, text: &str) -> Ran {
        run(&file(language, text), Device::Worker, "", |_, _| {})
    }

    #[test]
    fn each_language_runs_in_the_worker() {
        let net = "@main = a & @square ~ (7 a)\n@square = ({$([*] $(b r)) b} r)\n";
        let superposed = "def main:\n  return {1 2}\n";
        let gir = "kernel @double(%x: buffer) workgroup(4) launch { grid 1, 1, 1 } {\n  %i = global_id.x\n  store.u32 %x[%i], (mul (load.u32 %x[%i]), 2)\n}\n; run: @double(u32[1, 2, 3, 4] -> u32[2, 4, 6, 8])\n";
        assert_eq!(result(Language::Bend, "def main():\n  return 1 + 2\n").result.as_deref(), Some("3"));
        assert_eq!(result(Language::Hvm, net).result.as_deref(), Some("49"));
        let ran = result(Language::Bend, superposed);
        assert_eq!(ran.result.as_deref(), Some("{1 2}"), "{ran:?}");
        let ran = result(Language::Gir, gir);
        assert!(ran.result.as_ref().is_some_and(|text| text.ends_with("%x = u32[2, 4, 6, 8]")), "{ran:?}");
        let wrong = result(Language::Gir, &gir.replace("8]", "9]"));
        assert!(wrong.findings.findings[0].message.starts_with("element 3 of `%x`"), "{wrong:?}");
    }

    #[test]
    fn programs_have_arguments_and_nets_have_none() {
        let given = |language, text| File { arguments: vec!["3".into(), "[1, 2]".into()], ..File::new(language, text) };
        let program = given(Language::Bend, "def main(n: u24, xs: List(u24)):\n  return (n, xs)\n");
        assert_eq!(run(&program, Device::Worker, "", |_, _| {}).result.as_deref(), Some("(3, [1, 2])"));
        let ran = run(&given(Language::Hvm, "@main = 1\n"), Device::Worker, "", |_, _| {});
        assert_eq!((ran.findings.findings[0].code, ran.result), ("B0906", None));
    }

    #[test]
    fn an_error_of_a_run_has_its_place() {
        let ran = result(Language::Bend, "def main():\n  return 1 / (1 - 1)\n");
        assert_eq!((ran.findings.findings[0].code, ran.result), ("B0501", None));
        assert!(ran.findings.findings[0].labels[0].place.is_some());
    }

    #[test]
    fn pictures_are_those_of_the_threads() {
        let text = "def shader(x: u24, y: u24, t: f24) -> u24:\n  return (x ^ y) + f24/to_u24(t * 60.0)\n";
        let threads = shader(&file(Language::Bend, text)).expect("it is a shader");
        let mut painting = painting(&threads, Device::Worker, Some([20, 10])).expect("it can be painted");
        let size = painting.size();
        for time in [0.0, 1.5] {
            let (mine, theirs) =
                (painting.frame(time).expect("it paints"), threads.frame(size, time).expect("it paints"));
            assert_eq!(mine.pixels, theirs.pixels);
        }
    }
}
