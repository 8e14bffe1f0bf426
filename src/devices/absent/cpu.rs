//! What stands for the processor in a build without native code.

use super::Found;
use crate::features::Feature;
use girih_base::diag::Diagnostic;
use girih_ir::{Caps, Module, Verified};
use girih_lower::Compiled;
use girih_runtime::{Device, Runner, TaskOptions};

/// There is no code generator to name.
pub const IDENTITY: &str = "";

/// Refuses to open it.
///
/// # Errors
/// Always.
pub fn open(_: Option<Caps>) -> Result<Device, Diagnostic> {
    Err(Feature::Cpu.missing())
}

/// Refuses to run functions in task form.
///
/// # Errors
/// Always.
pub fn runner(_: &Verified<Module>, _: &TaskOptions) -> Result<Box<dyn Runner + Send>, Diagnostic> {
    Err(Feature::Cpu.missing())
}

/// There are no vectors where there is no native code.
pub fn has_vectors() -> bool {
    false
}

/// Refuses to show kernels.
///
/// # Errors
/// Always.
pub fn emit(_: &Compiled) -> Result<String, Diagnostic> {
    Err(Feature::Cpu.missing())
}

/// Refuses to show functions in task form.
///
/// # Errors
/// Always.
pub fn emit_tasks(_: &Verified<Module>) -> Result<String, Diagnostic> {
    Err(Feature::Cpu.missing())
}

/// Says what is missing.
pub(super) fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    (vec![], vec![Feature::Cpu.missing()])
}
