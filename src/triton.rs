//! Triton kernels from files: which there are, and compiling one for what it is given.
//!
//! ```
//! use girih::triton::{Argument, Constant, KernelFile, Request};
//! use girih::ir::Scalar;
//!
//! let text = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def fill(out_ptr, n, BLOCK: tl.constexpr):
//!     at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
//!     tl.store(out_ptr + at, at, mask=at < n)
//! ";
//! let file = KernelFile::from_text("fill.py", text);
//! let request = Request {
//!     kernel: "fill".into(),
//!     arguments: vec![
//!         ("out_ptr".into(), Argument::Buffer(Scalar::I32)),
//!         ("n".into(), Argument::Scalar(Scalar::I32, 100)),
//!         ("BLOCK".into(), Argument::Constant(Constant::Int(64))),
//!     ],
//!     ..Request::default()
//! };
//! let (compiled, _sources) = file.compile(&request).expect("nothing is wrong with this kernel");
//! assert_eq!(compiled.parameters, ["out_ptr", "n"]);
//! ```

mod tune;

use crate::Report;
use girih_core::diag::{Code, Diagnostic};
use girih_core::runtime::{self, Command, Device, Dispatch, Grid, LoadOptions, ProgramId};
use girih_core::span::{Sources, Span};
pub use girih_core::triton::{Argument, Compiled, Constant, Kernel, LoadedFile, Loader, Parameter, Request};
use std::path::{Path, PathBuf};
pub use tune::{Array, Candidate, Purpose, Tuned, Tuning};

/// A file of kernels.
#[derive(Clone, Debug)]
pub struct KernelFile {
    name: String,
    text: String,
}

impl KernelFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<KernelFile, Report> {
        let path = path.as_ref();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(KernelFile { name: path.display().to_string(), text }),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                let diagnostics = vec![Diagnostic::new(Code::CannotRead, Span::NONE, message)];
                Err(Report { sources: Sources::default(), diagnostics })
            }
        }
    }

    /// A file of this name and text; what it imports is looked for where a file of that name would stand.
    pub fn from_text(name: &str, text: &str) -> KernelFile {
        KernelFile { name: name.to_owned(), text: text.to_owned() }
    }

    /// Its kernels, in order.
    ///
    /// # Errors
    /// If the file is no Python.
    pub fn kernels(&self) -> Result<Vec<Kernel>, Report> {
        let mut sources = Sources::default();
        girih_core::triton::kernels(&mut sources, &self.name, &self.text, &Folders)
            .map_err(|d| Report { sources, diagnostics: vec![d] })
    }

    /// Compiles a kernel for what it is given; also gives the files that were read, for messages.
    ///
    /// # Errors
    /// What is wrong with the kernel, or with what it is given.
    pub fn compile(&self, request: &Request) -> Result<(Compiled, Sources), Report> {
        let mut sources = Sources::default();
        match girih_core::triton::compile(&mut sources, &self.name, &self.text, &Folders, request) {
            Ok(compiled) => Ok((compiled, sources)),
            Err(diagnostics) => Err(Report { sources, diagnostics }),
        }
    }
}

/// A kernel that a device has compiled.
#[derive(Debug)]
pub struct Loaded {
    /// The kernel, for what it was asked for.
    pub compiled: Compiled,
    /// The files that were read, for messages.
    pub sources: Sources,
    /// What the device knows it by.
    pub program: ProgramId,
}

impl KernelFile {
    /// Compiles a kernel for a device. Of the configurations that `@triton.autotune` leaves, the first counts that the device has room for.
    ///
    /// # Errors
    /// What is wrong with the kernel, with what it is given, or what the device lacks.
    pub fn load(&self, device: &mut dyn Device, request: &Request) -> Result<Loaded, Report> {
        let mut request = request.clone();
        request.capability = request.capability.or_else(|| capability(device));
        let mut first = None;
        loop {
            let (compiled, sources) = self.compile(&request)?;
            match device.load(&compiled.module, &[compiled.kernel], &LoadOptions::default()) {
                Ok(programs) => {
                    // One kernel was asked for.
                    let program = programs[0];
                    return Ok(Loaded { compiled, sources, program });
                }
                Err(diagnostics) => {
                    let too_large = diagnostics.iter().all(|d| d.code == Code::OverLimit);
                    request.configuration += 1;
                    let is_last = request.configuration >= compiled.configurations;
                    let report = first.get_or_insert(Report { sources, diagnostics });
                    if !too_large || is_last {
                        return Err(report.clone());
                    }
                }
            }
        }
    }

    /// Compiles a kernel for a device in the configuration that is asked for.
    fn load_one(&self, device: &mut dyn Device, request: &Request) -> Result<Loaded, Report> {
        let (compiled, sources) = self.compile(request)?;
        match device.load(&compiled.module, &[compiled.kernel], &LoadOptions::default()) {
            // One kernel was asked for.
            Ok(programs) => Ok(Loaded { program: programs[0], compiled, sources }),
            Err(diagnostics) => Err(Report { sources, diagnostics }),
        }
    }
}

/// The compute capability of a CUDA card.
fn capability(device: &dyn Device) -> Option<(u32, u32)> {
    let digits: String = device.caps().name.strip_prefix("sm_")?.chars().take_while(char::is_ascii_digit).collect();
    let sm: u32 = digits.parse().ok()?;
    Some((sm / 10, sm % 10))
}

impl Loaded {
    /// A launch of so many programs. Arguments are given by the names of the kernel's parameters, in any order; those that the kernel was compiled for
    /// (constants, integers that are 1) need not be, and do not count.
    ///
    /// # Errors
    /// If an argument is missing or unknown, or if no program would run. What does not fit its parameter is said by the device.
    pub fn command(&self, grid: [u32; 3], arguments: &[(&str, runtime::Argument)]) -> Result<Command, Report> {
        if let Some(dimension) = (0..3).find(|i| grid[*i] == 0) {
            let message = format!("the grid is 0 in {}, so no program would run", ["x", "y", "z"][dimension]);
            return Err(self.wrong(message, "a grid has at least one program in each dimension"));
        }
        let known = &self.compiled.all;
        if let Some((name, _)) = arguments.iter().find(|(name, _)| !known.iter().any(|n| n == name)) {
            let list = known.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            return Err(
                self.wrong(format!("the kernel has no parameter `{name}`"), &format!("its parameters are {list}"))
            );
        }
        let mut given = vec![];
        for parameter in &self.compiled.parameters {
            match arguments.iter().find(|(name, _)| name == parameter) {
                Some((_, argument)) => given.push(*argument),
                None => {
                    let message = format!("the parameter `{parameter}` is not given");
                    return Err(self.wrong(message, "a launch gives each parameter that is no constant"));
                }
            }
        }
        Ok(Command::Dispatch(Dispatch { program: self.program, arguments: given, grid: Grid::Workgroups(grid) }))
    }

    /// Runs so many programs; see [`Loaded::command`].
    ///
    /// # Errors
    /// What is wrong with the launch, or with the run.
    pub fn launch(
        &self,
        device: &mut dyn Device,
        grid: [u32; 3],
        arguments: &[(&str, runtime::Argument)],
    ) -> Result<(), Report> {
        let command = self.command(grid, arguments)?;
        device.submit(&[command]).and_then(|()| device.wait()).map_err(|d| self.report(vec![d]))
    }

    /// Diagnostics about this kernel, with its sources.
    pub fn report(&self, diagnostics: Vec<Diagnostic>) -> Report {
        Report { sources: self.sources.clone(), diagnostics }
    }

    fn wrong(&self, message: String, hint: &str) -> Report {
        let function = &self.compiled.module.functions[self.compiled.kernel];
        self.report(vec![Diagnostic::new(Code::BadArguments, function.span, message).hint(hint)])
    }
}

/// Finds imported modules beside a file and in the folders above it.
#[derive(Clone, Copy, Debug)]
struct Folders;

/// How many folders above a file are looked into.
const CLIMB: usize = 16;

impl Loader for Folders {
    fn module(&self, from: &str, up: usize, path: &str) -> Result<Option<LoadedFile>, String> {
        let own = std::path::absolute(from).map_err(|e| e.to_string())?;
        let mut folder = own.parent().map(Path::to_path_buf);
        for _ in 1..up {
            folder = folder.and_then(|f| f.parent().map(Path::to_path_buf));
        }
        let steps = if up == 0 { CLIMB } else { 1 };
        for _ in 0..steps {
            let Some(here) = folder else { return Ok(None) };
            for candidate in candidates(&here, path) {
                if candidate.is_file() {
                    let text = std::fs::read_to_string(&candidate).map_err(|e| e.to_string())?;
                    return Ok(Some(LoadedFile { name: candidate.display().to_string(), text }));
                }
            }
            folder = here.parent().map(Path::to_path_buf);
        }
        Ok(None)
    }
}

/// Where a module may be: a file, or a folder with an `__init__.py`.
fn candidates(folder: &Path, path: &str) -> [PathBuf; 2] {
    let place = path.split('/').filter(|part| !part.is_empty()).fold(folder.to_path_buf(), |p, part| p.join(part));
    let mut file = place.clone().into_os_string();
    file.push(".py");
    [PathBuf::from(file), place.join("__init__.py")]
}
