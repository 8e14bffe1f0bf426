//! What a text is compiled to, as text.

use crate::check::Findings;
use crate::files::{File, Language};
use crate::launches::Launches;
use girih::devices::Profile;
use girih::kernels::{KernelForm, Kernels, Language as Shading};
use girih::nets::{NetForm, Nets};
use girih::{Error, Program};
use serde::{Deserialize, Serialize};

/// A stage of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The lambda core.
    Core,
    /// The functions in task form, or the kernels as they were written.
    Ir,
    /// The interaction net.
    Net,
    /// The kernel that a browser's card runs.
    Wgsl,
}

/// A text in a form, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// The text.
    Text {
        /// The text itself.
        text: String,
    },
    /// Why not.
    Not(Findings),
}

/// Shows a text in a form.
pub fn show(file: &File, form: Form) -> Shown {
    let shown = match file.language {
        Language::Bend => bend(&bend_program(file), form),
        Language::Hvm => Nets::from_text(file.language.file(), &file.text).and_then(|nets| net(&nets, form)),
        Language::Gir => Kernels::from_text(file.language.file(), &file.text).and_then(|gir| kernels(&gir, form)),
        Language::Python => Launches::read(file).and_then(|launches| python(&launches, form)),
    };
    match shown {
        Ok(text) => Shown::Text { text },
        Err(error) => Shown::Not(Findings::of(&error)),
    }
}

/// A program, or a shader if it has no `main`.
fn bend_program(file: &File) -> Program {
    let program = file.program(true);
    if program.check().is_ok() { program } else { file.program(false) }
}

fn bend(program: &Program, form: Form) -> Result<String, Error> {
    match form {
        Form::Core => program.core(),
        Form::Ir => program.ir(),
        Form::Net => program.net(NetForm::Net),
        Form::Wgsl => kernels(&program.kernels()?.0, form),
    }
}

fn net(nets: &Nets, form: Form) -> Result<String, Error> {
    match form {
        Form::Core | Form::Net => Ok(nets.emit(NetForm::Net)),
        Form::Ir | Form::Wgsl => kernels(&nets.kernels()?, form),
    }
}

fn kernels(kernels: &Kernels, form: Form) -> Result<String, Error> {
    let form = match form {
        Form::Core | Form::Net | Form::Ir => KernelForm::Ir,
        Form::Wgsl => KernelForm::Shader(Shading::Wgsl),
    };
    Ok(String::from_utf8_lossy(&kernels.emit(form, Profile::Web)?).into_owned())
}

/// The kernel of each launch, compiled for what it is given.
fn python(launches: &Launches, form: Form) -> Result<String, Error> {
    let shown = launches.compiled()?.into_iter().map(|module| kernels(&Kernels::from_module(module), form));
    shown.collect::<Result<Vec<_>, _>>().map(|texts| texts.join("\n"))
}
