//! Kernels as text: opens, reads and verifies `.gir` files, and launches kernels with Rust arrays and numbers.
//!
//! ```
//! use girih::devices::{Selector, open};
//! use girih::kernels::Kernels;
//! use girih::args;
//!
//! let text = "
//! kernel @scale(%x: buffer, %n: u32, %by: f32) workgroup(64) launch { grid (div (add %n, 63), 64), 1, 1 } {
//!   %i = global_id.x
//!   if (lt %i, %n) {
//!     store.f32 %x[%i], (mul (load.f32 %x[%i]), %by)
//!   }
//! }
//! ";
//! let device = open(&Selector::Cpu, None)?;
//! let scale = Kernels::from_text("scale.gir", text)?.load(&device, Some("scale"))?;
//! let mut x = [1.0_f32, 2.0, 3.0];
//! scale.launch(args![&mut x, 3, 2.5])?;
//! assert_eq!(x, [2.5, 5.0, 7.5]);
//! # Ok::<(), girih::Error>(())
//! ```
//!
//! A [`TileKernel`] is written in Rust, in tile form: its values add and compare like numbers, whole tiles at a time.
//!
//! ```
//! use girih::args;
//! use girih::devices::{Selector, open};
//! use girih::kernels::{Dim, Kernels, Scalar, TileKernel};
//!
//! let k = TileKernel::new("scale", 4);
//! let (x, by, n) = (k.buffer("x", Scalar::F32), k.number("by", Scalar::F32), k.number("n", Scalar::I32));
//! let at = k.program(Dim::X) * 128 + k.iota(128);
//! x.store(at, x.load(at, at.lt(n)) * by, at.lt(n));
//!
//! let device = open(&Selector::Cpu, None)?;
//! let scale = Kernels::from_module(k.into_module()?).load(&device, None)?;
//! let mut x = [1.0_f32, 2.0, 3.0];
//! scale.launch_grid([1, 1, 1], args![&mut x, 2.5, 3])?;
//! assert_eq!(x, [2.5, 5.0, 7.5]);
//! # Ok::<(), girih::Error>(())
//! ```

mod arguments;
pub mod autotune;
mod launch;
#[cfg(feature = "triton")]
mod prepared;
pub(crate) mod programs;
#[cfg(feature = "triton")]
mod triton;

use crate::devices::{Profile, cpu, cuda, wgpu};
use crate::error::Error;
use crate::report::Report;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_ir::Caps;
use girih_ir::nvidia::Target;
use girih_ir::text::{self, RunLine};
use girih_ir::{FunctionId, Module, Verified, verify};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use std::path::Path;

/// A verified module and the run lines of its text.
#[derive(Clone, Debug)]
pub struct Kernels {
    /// The text, for messages.
    pub sources: Sources,
    /// The functions and kernels.
    pub module: Verified<Module>,
    /// What the text says about itself.
    pub runs: Vec<RunLine>,
}

pub use crate::devices::wgpu::Language;
pub use arguments::{Arg, Args};
pub use girih_ir::Scalar;
pub use girih_ir::attrs::{Attr, Dim, Order, ParamAttrs, Precision, Scope, Update};
pub use girih_ir::kernel::{Block, Buffer, Literal, Mask, Operand, Product, TileKernel};
pub use girih_runtime::Element;
pub use launch::LoadedKernel;
#[cfg(feature = "triton")]
pub use prepared::{PreparedLaunch, Slot};
#[cfg(feature = "triton")]
pub use triton::TritonKernel;

/// What kernels can be shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelForm {
    /// The text of the IR.
    Ir,
    /// The same, lowered for a device.
    Kernel,
    /// Text for the CUDA driver.
    Ptx,
    /// Cranelift's text, before it becomes code of this machine.
    Clif,
    /// A shading language.
    Shader(Language),
}

impl Kernels {
    /// The kernels in a form, lowered for a profile where the form is a device's.
    pub fn emit(&self, form: KernelForm, profile: Profile) -> Result<Vec<u8>, Error> {
        if form == KernelForm::Ir {
            return Ok(text::print(&self.module).into_bytes());
        }
        self.emit_lowered(&self.module.kernels().collect::<Vec<_>>(), form, profile)
    }

    /// One kernel, named as for [`Kernels::kernel`], in a form for which it is lowered.
    pub fn emit_one(&self, kernel: &str, form: KernelForm, profile: Profile) -> Result<Vec<u8>, Error> {
        let kernel = self.kernel(Some(kernel))?;
        if form == KernelForm::Ir {
            let message = "the form `ir` shows the whole file";
            let hint = "leave out the kernel's name, or use `--as kernel`";
            return Err(self.report(vec![Diagnostic::new(Code::BadArguments, Span::NONE, message).hint(hint)]));
        }
        self.emit_lowered(&[kernel], form, profile)
    }

    fn emit_lowered(&self, kernels: &[FunctionId], form: KernelForm, profile: Profile) -> Result<Vec<u8>, Error> {
        let caps = profile.caps();
        let wrong = |errors| self.report(errors);
        let unfit = |message: &str, hint: &str| {
            wrong(vec![Diagnostic::new(Code::BadArguments, Span::NONE, message).hint(hint)])
        };
        let compiled = compile(&self.module, kernels, &caps, &LoadOptions::default()).map_err(wrong)?;
        match form {
            KernelForm::Ir | KernelForm::Kernel => Ok(text::print(&compiled.module).into_bytes()),
            KernelForm::Ptx => match profile {
                Profile::Cuda(sm) => {
                    let ptx = cuda::emit(&compiled, Target { sm, specific: false });
                    ptx.map(String::into_bytes).map_err(|errors| wrong(errors.into()))
                }
                Profile::Web | Profile::WebExtended | Profile::Cpu => {
                    Err(unfit("PTX is only for CUDA cards", "use `--caps sm_90` or another card's"))
                }
            },
            KernelForm::Clif if profile != Profile::Cpu => {
                Err(unfit("Cranelift's text is only for processors", "use `--caps cpu`, or leave `--caps` out"))
            }
            KernelForm::Clif => cpu::emit(&compiled).map(String::into_bytes).map_err(|e| wrong(vec![e])),
            KernelForm::Shader(language) => {
                wgpu::emit(&compiled, &caps, language).map_err(|errors| wrong(errors.into()))
            }
        }
    }

    /// Reads a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Kernels, Error> {
        let path = path.as_ref();
        match std::fs::read_to_string(path) {
            Ok(text) => Kernels::from_text(&path.display().to_string(), &text),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                let diagnostics = vec![Diagnostic::new(Code::CannotRead, Span::NONE, message)];
                Err(Error::from(diagnostics))
            }
        }
    }

    /// Reads a text; its name is used in messages.
    pub fn from_text(name: &str, text: &str) -> Result<Kernels, Error> {
        let mut sources = Sources::default();
        let source = sources.add(name, text);
        let parsed = match text::parse(source, text) {
            Ok(parsed) => parsed,
            Err(diagnostics) => return Err(Error::new(sources, diagnostics)),
        };
        match verify(parsed.module) {
            Ok(module) => Ok(Kernels { sources, module, runs: parsed.runs }),
            Err(diagnostics) => Err(Error::new(sources, diagnostics)),
        }
    }

    /// The kernels of a module that a program has written, with a [`TileKernel`] for one.
    pub fn from_module(module: Verified<Module>) -> Kernels {
        Kernels { sources: Sources::default(), module, runs: vec![] }
    }

    /// The kernel of a name; the only kernel if no name is given.
    pub fn kernel(&self, name: Option<&str>) -> Result<FunctionId, Error> {
        let kernels: Vec<FunctionId> = self.module.kernels().collect();
        let names: Vec<&str> = kernels.iter().map(|k| self.module.functions[*k].name.as_str()).collect();
        let list = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let fail = |message: String, hint: String| {
            let diagnostic = Diagnostic::new(Code::KernelEntry, Span::NONE, message).hint(hint);
            Err(Error::new(self.sources.clone(), vec![diagnostic]))
        };
        match (name, &kernels[..]) {
            (_, []) => fail("the file has no kernel".into(), "a kernel starts with `kernel @name(..)`".into()),
            (None, [only]) => Ok(*only),
            (None, _) => fail("the file has several kernels".into(), format!("name one after `::`: {list}")),
            (Some(name), _) => match names.iter().position(|n| *n == name.trim_start_matches('@')) {
                Some(at) => Ok(kernels[at]),
                None => fail(format!("the file has no kernel `{name}`"), format!("its kernels are {list}")),
            },
        }
    }

    /// What is to be said of a kernel on a device beside errors: why all its tiles go through shared memory there, and which operation makes them. The kernel is
    /// named as for [`Kernels::kernel`].
    ///
    /// # Errors
    /// If there is none of that name, or the device lacks what it needs.
    pub fn notes(&self, kernel: Option<&str>, caps: &Caps) -> Result<Report, Error> {
        let kernel = self.kernel(kernel)?;
        match girih_lower::notes(&self.module, &[kernel], caps) {
            Ok(diagnostics) => Ok(Report { sources: self.sources.clone(), diagnostics }),
            Err(diagnostics) => Err(self.report(diagnostics)),
        }
    }

    /// Diagnostics about these kernels, with their sources.
    pub fn report(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::new(self.sources.clone(), diagnostics)
    }
}
