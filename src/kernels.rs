//! Kernels as text: a `.gir` file opened, read and verified.

use crate::devices::{Profile, cpu, cuda, wgpu};
use crate::report::Report;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
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
    pub fn emit(&self, form: KernelForm, profile: Profile) -> Result<Vec<u8>, Report> {
        if form == KernelForm::Ir {
            return Ok(text::print(&self.module).into_bytes());
        }
        self.emit_lowered(&self.module.kernels().collect::<Vec<_>>(), form, profile)
    }

    /// One kernel, named as for [`Kernels::kernel`], in a form for which it is lowered.
    pub fn emit_one(&self, kernel: &str, form: KernelForm, profile: Profile) -> Result<Vec<u8>, Report> {
        let kernel = self.kernel(Some(kernel))?;
        if form == KernelForm::Ir {
            let message = "the form `ir` shows the whole file";
            let hint = "leave out the kernel's name, or use `--as kernel`";
            return Err(self.report(vec![Diagnostic::new(Code::BadArguments, Span::NONE, message).hint(hint)]));
        }
        self.emit_lowered(&[kernel], form, profile)
    }

    fn emit_lowered(&self, kernels: &[FunctionId], form: KernelForm, profile: Profile) -> Result<Vec<u8>, Report> {
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
                    ptx.map(String::into_bytes).map_err(wrong)
                }
                Profile::Web | Profile::WebExtended | Profile::Cpu => {
                    Err(unfit("PTX is only for CUDA cards", "use `--caps sm_90` or another card's"))
                }
            },
            KernelForm::Clif if profile != Profile::Cpu => {
                Err(unfit("Cranelift's text is only for processors", "use `--caps cpu`, or leave `--caps` out"))
            }
            KernelForm::Clif => cpu::emit(&compiled).map(String::into_bytes).map_err(|e| wrong(vec![e])),
            KernelForm::Shader(language) => wgpu::emit(&compiled, &caps, language).map_err(wrong),
        }
    }

    /// Reads a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Kernels, Report> {
        let path = path.as_ref();
        match std::fs::read_to_string(path) {
            Ok(text) => Kernels::from_text(&path.display().to_string(), &text),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                let diagnostics = vec![Diagnostic::new(Code::CannotRead, Span::NONE, message)];
                Err(Report { sources: Sources::default(), diagnostics })
            }
        }
    }

    /// Reads a text; its name is used in messages.
    pub fn from_text(name: &str, text: &str) -> Result<Kernels, Report> {
        let mut sources = Sources::default();
        let source = sources.add(name, text);
        let parsed = match text::parse(source, text) {
            Ok(parsed) => parsed,
            Err(diagnostics) => return Err(Report { sources, diagnostics }),
        };
        match verify(parsed.module) {
            Ok(module) => Ok(Kernels { sources, module, runs: parsed.runs }),
            Err(diagnostics) => Err(Report { sources, diagnostics }),
        }
    }

    /// The kernel of a name; the only kernel if no name is given.
    pub fn kernel(&self, name: Option<&str>) -> Result<FunctionId, Report> {
        let kernels: Vec<FunctionId> = self.module.kernels().collect();
        let names: Vec<&str> = kernels.iter().map(|k| self.module.functions[*k].name.as_str()).collect();
        let list = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let fail = |message: String, hint: String| {
            let diagnostic = Diagnostic::new(Code::KernelEntry, Span::NONE, message).hint(hint);
            Err(Report { sources: self.sources.clone(), diagnostics: vec![diagnostic] })
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

    /// Diagnostics about these kernels, with their sources.
    pub fn report(&self, diagnostics: Vec<Diagnostic>) -> Report {
        Report { sources: self.sources.clone(), diagnostics }
    }
}
