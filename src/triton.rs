//! Triton kernels from files: lists the kernels of a file, and compiles a kernel for the arguments that it gets.
//!
//! ```
//! use girih::kernels::Scalar;
//! use girih::triton::{Argument, Constant, KernelFile, Request};
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
//! assert_eq!(compiled.head.parameters, ["out_ptr", "n"]);
//! ```

mod autotune_configs;
mod compile_cache;

use crate::error::Error;
pub use crate::kernels::autotune::{Array, Candidate, Tuning};
use crate::kernels::programs::{CompiledProgram, ProgramStore};
use crate::report::Report;
pub use autotune_configs::{Purpose, Tuned};
use compile_cache::{Found, Import, Made, Noting, Store};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_cache::Key;
use girih_ir::Caps;
use girih_runtime::{Command, Device, Dispatch, Grid, LoadOptions, Program};
pub use girih_triton::{
    Argument, Card, Compiled, Constant, Head, Kernel, LoadedFile, Loader, Parameter, Request, scalar_named,
};
use std::path::{Path, PathBuf};

/// A file of kernels.
#[derive(Clone, Debug)]
pub struct KernelFile {
    name: String,
    text: String,
    /// Where compiled kernels are kept.
    folder: Option<PathBuf>,
}

impl KernelFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<KernelFile, Error> {
        let path = path.as_ref();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(KernelFile::from_text(&path.display().to_string(), &text)),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                let diagnostics = vec![Diagnostic::new(Code::CannotRead, Span::NONE, message)];
                Err(Error::from(diagnostics))
            }
        }
    }

    /// A file of this name and text; what it imports is looked for where a file of that name would stand.
    pub fn from_text(name: &str, text: &str) -> KernelFile {
        KernelFile { name: name.to_owned(), text: text.to_owned(), folder: crate::devices::cache_folder() }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same file, whose compiled kernels are kept in a folder, or nowhere. Unless this is said they are kept in the
    /// [folder for caches](crate::devices::cache_folder).
    pub fn kept_in(self, folder: Option<PathBuf>) -> KernelFile {
        KernelFile { folder, ..self }
    }

    /// Its kernels, in order.
    ///
    /// # Errors
    /// If the file is no Python.
    pub fn kernels(&self) -> Result<Vec<Kernel>, Error> {
        let mut sources = Sources::default();
        girih_triton::kernels(&mut sources, &self.name, &self.text, &Folders).map_err(|d| Error::new(sources, vec![d]))
    }

    /// Compiles a kernel for what it is given; also gives the files that were read, for messages.
    ///
    /// # Errors
    /// What is wrong with the kernel, or with what it is given.
    pub fn compile(&self, request: &Request) -> Result<(Compiled, Sources), Error> {
        self.compile_noting(request).map(|(compiled, sources, _)| (compiled, sources))
    }

    /// The same; also gives what was imported.
    fn compile_noting(&self, request: &Request) -> Result<(Compiled, Sources, Vec<Import>), Error> {
        let (mut sources, loader) = (Sources::default(), Noting::default());
        match girih_triton::compile(&mut sources, &self.name, &self.text, &loader, request) {
            Ok(compiled) => Ok((compiled, sources, loader.imports())),
            Err(diagnostics) => Err(Error::new(sources, diagnostics)),
        }
    }
}

/// A kernel that a device has compiled.
#[derive(Debug)]
pub struct Loaded {
    /// What launches have to know of it.
    pub head: Head,
    /// The files that were read, for messages.
    pub sources: Sources,
    /// What the device knows it by.
    pub program: Program,
    /// Which configuration of `@triton.autotune` it is compiled in.
    pub configuration: usize,
    /// Whether an earlier process has compiled its module.
    pub was_kept: bool,
}

/// Which configurations of `@triton.autotune` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Configurations {
    /// The first one from that of the request on that the device has room for.
    First,
    /// That of the request.
    One,
}

impl Configurations {
    fn name(self) -> &'static str {
        match self {
            Configurations::First => "first",
            Configurations::One => "one",
        }
    }
}

impl KernelFile {
    /// Compiles a kernel for a device, or takes what an earlier process has compiled for the same. Of the configurations that `@triton.autotune` leaves,
    /// the first counts that the device has room for.
    ///
    /// # Errors
    /// What is wrong with the kernel, with what it is given, or what the device lacks.
    pub fn load(&self, device: &Device, request: &Request) -> Result<Loaded, Error> {
        let request = told(device, request);
        self.load_for(device, &request, Configurations::First)
    }

    /// What launches have to know of a kernel on a device, in the configuration of the request.
    ///
    /// # Errors
    /// What is wrong with the kernel, or with what it is given.
    pub fn head(&self, device: &Device, request: &Request) -> Result<(Head, Sources), Error> {
        let request = told(device, request);
        let kept = Store::new(self, device).and_then(|s| s.find(&request, Configurations::One.name()));
        match kept {
            Some(found) => Ok((found.head, found.sources)),
            None => self.compile(&request).map(|(compiled, sources)| (compiled.head, sources)),
        }
    }

    /// What is to be said of a kernel on a device beside errors: why all its tiles go through shared memory, and which operation makes them.
    ///
    /// # Errors
    /// What is wrong with the kernel, with what it is given, or what the device lacks.
    pub fn notes(&self, caps: &Caps, request: &Request) -> Result<Report, Error> {
        let (compiled, sources) = self.compile(&told_of(caps, request))?;
        match girih_lower::notes(&compiled.module, &[compiled.kernel], caps) {
            Ok(diagnostics) => Ok(Report { sources, diagnostics }),
            Err(diagnostics) => Err(Error::new(sources, diagnostics)),
        }
    }

    fn load_for(&self, device: &Device, request: &Request, count: Configurations) -> Result<Loaded, Error> {
        let (store, programs) = (Store::new(self, device), ProgramStore::of(self.folder.as_deref(), device));
        if let Some(found) = store.as_ref().and_then(|store| store.find(request, count.name()))
            && let Some(program) = programs.restore(device, found.digest, None)
        {
            let Found { head, sources, configuration, digest: _ } = found;
            return Ok(Loaded { head, sources, program, configuration, was_kept: true }.telling());
        }
        let asked = request;
        let mut request = request.clone();
        let mut first = None;
        loop {
            let (compiled, sources, imports) = self.compile_noting(&request)?;
            match programs.load(device, &compiled.module, compiled.kernel, &LoadOptions::default()) {
                Ok(CompiledProgram { program, digest, was_kept }) => {
                    let (head, configuration) = (compiled.head, request.configuration);
                    if let (Some(store), Some(digest)) = (&store, digest) {
                        let made = Made { head: &head, sources: &sources, imports: &imports, configuration, digest };
                        store.keep(asked, count.name(), &made);
                    }
                    return Ok(Loaded { head, sources, program, configuration, was_kept }.telling());
                }
                Err(diagnostics) => {
                    let too_large = diagnostics.iter().all(|d| d.code == Code::OverLimit);
                    request.configuration += 1;
                    let is_last = count == Configurations::One || request.configuration >= compiled.head.configurations;
                    let report = first.get_or_insert(Error::new(sources, diagnostics));
                    if !too_large || is_last {
                        return Err(report.clone());
                    }
                }
            }
        }
    }
}

impl KernelFile {
    /// The digest of a kernel's module; none if nothing is kept.
    fn digest(&self, device: &Device, request: &Request, programs: &ProgramStore) -> Option<Key> {
        let (store, way) = (Store::new(self, device), Configurations::One.name());
        if let Some(found) = store.as_ref().and_then(|store| store.find(request, way)) {
            return Some(found.digest);
        }
        match self.compile_noting(request) {
            Ok((compiled, sources, imports)) => {
                let digest = programs.digest(&compiled.module, compiled.kernel, &LoadOptions::default())?;
                if let Some(store) = store {
                    let (head, configuration) = (&compiled.head, request.configuration);
                    let made = Made { head, sources: &sources, imports: &imports, configuration, digest };
                    store.keep(request, way, &made);
                }
                Some(digest)
            }
            Err(error) => programs.digest_of_refusal(error.message()),
        }
    }
}

/// A request that says on which card the kernel will run.
fn told(device: &Device, request: &Request) -> Request {
    let card = device.driver().multiprocessors();
    let card = card.map(|multiprocessors| Card { multiprocessors, shared_bytes: device.caps().shared_bytes });
    Request { card: request.card.or(card), ..told_of(device.caps(), request) }
}

fn told_of(caps: &Caps, request: &Request) -> Request {
    Request { capability: request.capability.or_else(|| capability(caps)), ..request.clone() }
}

/// The compute capability of a CUDA card.
fn capability(caps: &Caps) -> Option<(u32, u32)> {
    let digits: String = caps.name.strip_prefix("sm_")?.chars().take_while(char::is_ascii_digit).collect();
    let sm: u32 = digits.parse().ok()?;
    Some((sm / 10, sm % 10))
}

impl Loaded {
    /// The same, after the runtime was told what its assertions say: a kernel that another process has compiled reports them by their codes.
    fn telling(self) -> Loaded {
        for text in &self.head.assertions {
            girih_runtime::assertion(text);
        }
        self
    }

    /// A launch of so many programs. Arguments are given by the names of the kernel's parameters, in any order; those that the kernel was compiled for
    /// (constants, integers that are 1) need not be, and do not count.
    ///
    /// # Errors
    /// If an argument is missing or unknown, or if no program would run. What does not fit its parameter is said by the device.
    pub fn command(&self, grid: [u32; 3], arguments: &[(&str, girih_runtime::Argument)]) -> Result<Command, Error> {
        let known = &self.head.all;
        // `t.0` is an element of the tuple `t`.
        let base = |name: &str| name.split('.').next().map(str::to_owned);
        if let Some((name, _)) =
            arguments.iter().find(|(name, _)| !known.iter().any(|n| Some(n) == base(name).as_ref()))
        {
            let list = known.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            return Err(
                self.wrong(format!("the kernel has no parameter `{name}`"), &format!("its parameters are {list}"))
            );
        }
        let mut given = vec![];
        for parameter in &self.head.parameters {
            match arguments.iter().find(|(name, _)| name == parameter) {
                Some((_, argument)) => given.push(argument.clone()),
                None => {
                    let message = format!("the parameter `{parameter}` is not given");
                    return Err(self.wrong(message, "a launch gives each parameter that is no constant"));
                }
            }
        }
        self.dispatch(grid, given)
    }

    /// The same with the arguments in the order of the parameters that are left.
    ///
    /// # Errors
    /// If no program would run.
    pub(crate) fn dispatch(&self, grid: [u32; 3], arguments: Vec<girih_runtime::Argument>) -> Result<Command, Error> {
        if let Some(dimension) = (0..3).find(|i| grid[*i] == 0) {
            let message = format!("the grid is 0 in {}, so no program would run", ["x", "y", "z"][dimension]);
            return Err(self.wrong(message, "a grid has at least one program in each dimension"));
        }
        let program = self.program.clone();
        Ok(Command::Dispatch(Dispatch { program, arguments, grid: Grid::Workgroups(grid) }))
    }

    /// Runs so many programs; see [`Loaded::command`].
    ///
    /// # Errors
    /// What is wrong with the launch, or with the run.
    pub fn launch(
        &self,
        device: &Device,
        grid: [u32; 3],
        arguments: &[(&str, girih_runtime::Argument)],
    ) -> Result<(), Error> {
        let command = self.command(grid, arguments)?;
        device.submit(&[command]).and_then(|()| device.wait()).map_err(|d| self.report(vec![d]))
    }

    /// Diagnostics about this kernel, with its sources.
    pub fn report(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::new(self.sources.clone(), diagnostics)
    }

    fn wrong(&self, message: String, hint: &str) -> Error {
        self.report(vec![Diagnostic::new(Code::BadArguments, self.head.span, message).hint(hint)])
    }
}

/// Finds imported modules beside a file and in the folders above it.
#[derive(Clone, Copy, Debug)]
struct Folders;

/// How many folders above a file are looked into.
const CLIMB: usize = 16;

impl Loader for Folders {
    fn module(&self, from: &str, up: usize, path: &str) -> Result<Option<LoadedFile>, String> {
        // Where there is no current folder, as in a browser, there are no files either.
        let Ok(own) = std::path::absolute(from) else { return Ok(None) };
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
