//! `girih emit FILE --as FORM`: a program as the compiler sees it.

use crate::console::Console;
use crate::exit::Exit;
use crate::optimizations::{self, Optimization};
use crate::verbs::{kernel, net};
use crate::warnings::WarningFlags;
use clap::{Args, ValueEnum};
use girih::devices::Profile;
use girih::kernels::{KernelForm, Kernels, Language};
use girih::nets::{NetForm, Nets};
use girih::render::Shader;
use girih::{Code, Error, Options, Program, WarningLevels, atomic_file};
use serde_json::json;
use std::io::ErrorKind;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  girih emit sort.bend --as ast                 the program, formatted, without its comments
  girih emit sort.bend --as term                after names are resolved and sugar is removed
  girih emit sort.bend --as term -o sort.txt    the same, into a file
  girih emit sort.bend --as ir                  its functions in the intermediate representation
  girih emit add.gir --as ir                    kernels, formatted
  girih emit add.gir --as kernel --caps web     kernels, lowered for WebGPU's defaults
  girih emit add.gir --as ptx --caps sm_80      the text for a CUDA card
  girih emit plasma.bend --as ptx               a card's kernels for a program or a shader
  girih emit sort.bend --as clif                what native code is made from; also of kernels
  girih emit sort.bend --as net                 as an interaction net
  girih emit small.hvm --as svg -o small.svg    a picture of a small net; also dot, for Graphviz
  girih emit small.hvm --as ptx                 the kernels that reduce it on a CUDA card; also ir
  girih emit add.gir --as wgsl                  for browsers; also spirv, spirv-text, msl, hlsl";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Emit {
    /// The file; or FILE.gir::KERNEL, one kernel of a file
    file: PathBuf,
    /// The form
    #[arg(long = "as", value_name = "FORM")]
    form: Form,
    /// Write to this file, whole or not at all, instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Start at this definition instead of `main`; for kernels, show only this one
    #[arg(short, long, visible_alias = "entry", value_name = "NAME")]
    entrypoint: Option<String>,
    #[command(flatten)]
    warnings: WarningFlags,
    /// Switches of `bend`: `no-type-check` leaves types unchecked; the others have no effect here
    #[arg(short = 'O', value_name = "SWITCH", value_delimiter = ' ', value_parser = optimizations::parse)]
    optimizations: Vec<Optimization>,
    /// The device that kernels are lowered for: web, web-extended, cpu, sm_75 or later [default: sm_90 for ptx, cpu for clif, else web]
    #[arg(long, value_name = "PROFILE", value_parser = crate::device::profile)]
    caps: Option<Profile>,
}

/// A form of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The syntax tree of this file, printed as Bend
    Ast,
    /// The lambda core of the whole program, after type checking
    Term,
    /// An interaction net: that of a program, or of a file that ends in `.hvm`
    Net,
    /// The same as a graph for Graphviz
    Dot,
    /// The same as a picture
    Svg,
    /// Functions of the intermediate representation: those that a program is compiled to, or kernels (.gir)
    Ir,
    /// Kernels, lowered for a device's capabilities (`--caps`): those of a file (.gir), or those that a card runs for a program or a shader
    Kernel,
    /// Kernels as text for the CUDA driver
    Ptx,
    /// Cranelift's text, from which native code is made: of a program, or of kernels
    Clif,
    /// Kernels in WebGPU's language
    Wgsl,
    /// Kernels as a SPIR-V module
    Spirv,
    /// The same, disassembled
    SpirvText,
    /// Kernels in Metal's language
    Msl,
    /// Kernels in Direct3D's language
    Hlsl,
}

impl Form {
    /// The form of nets, if it is one.
    fn of_nets(self) -> Option<NetForm> {
        match self {
            Form::Net => Some(NetForm::Net),
            Form::Dot => Some(NetForm::Dot),
            Form::Svg => Some(NetForm::Svg),
            Form::Ast
            | Form::Term
            | Form::Ir
            | Form::Kernel
            | Form::Ptx
            | Form::Clif
            | Form::Wgsl
            | Form::Spirv
            | Form::SpirvText
            | Form::Msl
            | Form::Hlsl => None,
        }
    }

    /// The form of kernels, if it is one.
    fn of_kernels(self) -> Option<KernelForm> {
        match self {
            Form::Ast | Form::Term | Form::Net | Form::Dot | Form::Svg => None,
            Form::Ir => Some(KernelForm::Ir),
            Form::Kernel => Some(KernelForm::Kernel),
            Form::Ptx => Some(KernelForm::Ptx),
            Form::Clif => Some(KernelForm::Clif),
            Form::Wgsl => Some(KernelForm::Shader(Language::Wgsl)),
            Form::Spirv => Some(KernelForm::Shader(Language::Spirv)),
            Form::SpirvText => Some(KernelForm::Shader(Language::SpirvText)),
            Form::Msl => Some(KernelForm::Shader(Language::Msl)),
            Form::Hlsl => Some(KernelForm::Shader(Language::Hlsl)),
        }
    }
}

impl Emit {
    /// Prints the form.
    pub fn run(&self, console: &Console) -> Exit {
        let kernels = self.file.to_str().and_then(kernel::split);
        if net::is_net(&self.file) {
            let emitted = match (self.form.of_nets(), self.form.of_kernels()) {
                (Some(form), _) => Nets::open(&self.file).map(|nets| nets.emit(form).into_bytes()),
                (None, Some(form)) => Nets::open(&self.file)
                    .and_then(|nets| nets.kernels()?.emit(form, self.caps.unwrap_or_else(|| usual(form)))),
                (None, None) => {
                    let message = "nets have the forms `net`, `dot` and `svg`, and those of kernels";
                    return console.fail(Code::BadArguments, message, None);
                }
            };
            return match emitted {
                Ok(bytes) => self.write(&bytes, console),
                Err(report) => {
                    console.report(&report);
                    Exit::Failed
                }
            };
        }
        let emitted = match (self.form.of_kernels(), kernels) {
            (Some(form), Some((file, kernel))) => self.kernels(file, kernel, form),
            (None | Some(KernelForm::Ir | KernelForm::Clif), None) => self.program(),
            (Some(form), None) => self.kernels_of_program(form, console),
            (None, Some(_)) => {
                return console.fail(Code::BadArguments, "this form is for Bend programs, not for kernels", None);
            }
        };
        match emitted {
            Ok(bytes) => self.write(&bytes, console),
            Err(report) => {
                console.report(&report);
                Exit::Failed
            }
        }
    }

    fn program(&self) -> Result<Vec<u8>, Error> {
        let program = Program::open(&self.file, &self.options());
        let text = match self.form {
            Form::Ast => program.syntax(),
            Form::Net => program.net(NetForm::Net),
            Form::Dot => program.net(NetForm::Dot),
            Form::Svg => program.net(NetForm::Svg),
            Form::Ir => program.ir(),
            Form::Clif => program.clif(),
            Form::Term
            | Form::Kernel
            | Form::Ptx
            | Form::Wgsl
            | Form::Spirv
            | Form::SpirvText
            | Form::Msl
            | Form::Hlsl => program.core(),
        };
        text.map(String::into_bytes)
    }

    /// The kernels that a card runs for a program.
    fn kernels_of_program(&self, form: KernelForm, console: &Console) -> Result<Vec<u8>, Error> {
        let mut program = Program::open(&self.file, &self.options());
        if program.core_program().is_err() {
            // A shader needs no `main`.
            let shader = Program::open(&self.file, &Shader::options());
            program = if shader.core_program().is_ok() { shader } else { program };
        }
        let (kernels, about) = program.kernels()?;
        console.detail(|| about);
        kernels.emit(form, self.caps.unwrap_or_else(|| usual(form)))
    }

    /// The kernel of a file that is named, or all.
    fn kernels(&self, file: &str, kernel: Option<&str>, form: KernelForm) -> Result<Vec<u8>, Error> {
        let (kernels, profile) = (Kernels::open(file)?, self.caps.unwrap_or_else(|| usual(form)));
        match self.entrypoint.as_deref().or(kernel) {
            Some(kernel) => kernels.emit_one(kernel, form, profile),
            None => kernels.emit(form, profile),
        }
    }

    /// Writes to the file, or as text to standard output.
    fn write(&self, bytes: &[u8], console: &Console) -> Exit {
        let Some(path) = &self.output else {
            let Ok(text) = std::str::from_utf8(bytes) else {
                let hint = "name a file with `-o`, or use `--as spirv-text`";
                return console.fail(Code::BadArguments, "this form is not text", Some(hint));
            };
            let form = self.form.to_possible_value().map(|v| v.get_name().to_owned());
            console.result(text.trim_end(), || json!({"kind": "emit", "as": form, "text": text}));
            return Exit::Ok;
        };
        match atomic_file::write_bytes(path, bytes) {
            Ok(()) => Exit::Ok,
            Err(error) => {
                let why = match error.kind() {
                    ErrorKind::NotFound => "there is no such folder".to_owned(),
                    ErrorKind::PermissionDenied => "permission is denied".to_owned(),
                    ErrorKind::IsADirectory => "it is a folder".to_owned(),
                    kind => kind.to_string(), // The error itself speaks of a temporary file.
                };
                console.fail(Code::CannotWrite, format!("cannot write `{}`: {why}", path.display()), None)
            }
        }
    }

    fn options(&self) -> Options {
        let mut levels = WarningLevels::default();
        if self.form == Form::Ast {
            levels.set(Code::MissingMain, None);
        }
        self.warnings.apply(&mut levels);
        Options {
            warnings: levels,
            check_types: optimizations::type_check(&self.optimizations),
            entry: self.entrypoint.as_deref().map(Into::into),
            arguments: vec![],
        }
    }
}

/// The device for which kernels have a form, if none is named.
fn usual(form: KernelForm) -> Profile {
    match form {
        KernelForm::Ptx => Profile::Cuda(90),
        KernelForm::Clif => Profile::Cpu,
        KernelForm::Ir | KernelForm::Kernel | KernelForm::Shader(_) => Profile::Web,
    }
}
