//! The processor: native code on all of its cores.

use super::Found;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use girih_ir::{Caps, Module, Verified};
use girih_lower::Compiled;
use girih_runtime::{Device, Runner, TaskOptions};
use girih_task::loops::chains::with_chains;

/// Names the code generator and its device by their sources.
pub const IDENTITY: &str = girih_cpu::IDENTITY;

/// Opens it for kernels, held to a profile if one is given.
///
/// # Errors
/// If there is no native code for this processor.
pub fn open(profile: Option<Caps>) -> Result<Device, Diagnostic> {
    Ok(Device::new(girih_cpu::open(&girih_cpu::Settings { profile, ..girih_cpu::Settings::default() })?))
}

/// What runs functions in task form.
///
/// # Errors
/// If there is no native code for this processor, or too little memory.
pub fn runner(module: &Verified<Module>, options: &TaskOptions) -> Result<Box<dyn Runner + Send>, Diagnostic> {
    Ok(Box::new(girih_cpu::tasks::open(&prepared(module)?, options)?))
}

/// Functions in task form as native code runs them.
fn prepared(module: &Verified<Module>) -> Result<Verified<Module>, Diagnostic> {
    with_chains(module).map_err(|errors| {
        let wrong = || Diagnostic::new(Code::Internal, Span::NONE, "a changed module is not well formed");
        errors.into_iter().next().unwrap_or_else(wrong)
    })
}

/// Whether functions in task form compute with short vectors as they are.
pub fn has_vectors() -> bool {
    girih_cpu::has_vectors()
}

/// Legal kernels in Cranelift's text.
///
/// # Errors
/// If there is no native code for this processor.
pub fn emit(compiled: &Compiled) -> Result<String, Diagnostic> {
    girih_cpu::emit(compiled)
}

/// Functions in task form in Cranelift's text.
///
/// # Errors
/// If there is no native code for this processor.
pub fn emit_tasks(module: &Verified<Module>) -> Result<String, Diagnostic> {
    girih_cpu::tasks::emit(&prepared(module)?)
}

/// The processor, or why it cannot be used.
pub(super) fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    match open(None) {
        Ok(device) => {
            let (info, caps) = (device.info().clone(), device.caps().clone());
            (vec![Found { name: "cpu".into(), info, caps, problem: None }], vec![])
        }
        Err(error) => (vec![], vec![error]),
    }
}
