//! What stands for NVIDIA's cards in a build without CUDA.

use super::Found;
use crate::features::Feature;
use girih_base::diag::{Diagnostic, Errors};
use girih_ir::Caps;
use girih_ir::nvidia::Target;
use girih_lower::Compiled;
use girih_runtime::Device;

/// There is no code generator to name.
pub const IDENTITY: &str = "";

/// Refuses to open a card.
///
/// # Errors
/// Always.
pub fn open(_: usize, _: Option<Caps>) -> Result<Device, Diagnostic> {
    Err(Feature::Cuda.missing())
}

/// Refuses to read PTX.
///
/// # Errors
/// Always.
pub fn emulator(_: Target) -> Result<Device, Diagnostic> {
    Err(Feature::Cuda.missing())
}

/// Refuses to write PTX.
///
/// # Errors
/// Always.
pub fn emit(_: &Compiled, _: Target) -> Result<String, Errors> {
    Err(Feature::Cuda.missing().into())
}

/// Says what is missing.
pub(super) fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    (vec![], vec![Feature::Cuda.missing()])
}
