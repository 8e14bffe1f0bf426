//! NVIDIA's cards: PTX for their driver, and a reading of PTX on the host.

use super::{Found, cache_folder};
use girih_base::diag::{Diagnostic, Errors};
use girih_cuda::ptx::{self, Launches};
use girih_ir::nvidia::Target;
use girih_ir::{Caps, FunctionId};
use girih_lower::Compiled;
use girih_runtime::Device;

/// Names the code generator by its sources.
pub const IDENTITY: &str = girih_cuda::IDENTITY;

/// Opens the card of a number, held to a profile if one is given.
///
/// # Errors
/// If there is no driver, or no such card.
pub fn open(ordinal: usize, profile: Option<Caps>) -> Result<Device, Diagnostic> {
    let settings = girih_cuda::Settings { profile, cache: cache_folder(), ..girih_cuda::Settings::default() };
    Ok(Device::new(girih_cuda::open_with(ordinal, &settings)?))
}

/// A reading of the PTX for an architecture, on the host.
///
/// # Errors
/// None; a build without CUDA has no PTX to read.
pub fn emulator(target: Target) -> Result<Device, Diagnostic> {
    Ok(Device::new(girih_cuda::Emulator::new(target)))
}

/// Legal kernels as PTX.
///
/// # Errors
/// If an operation has no PTX for this architecture.
pub fn emit(compiled: &Compiled, target: Target) -> Result<String, Errors> {
    let ids: Vec<FunctionId> = compiled.entries.iter().map(|e| e.kernel).collect();
    Ok(ptx::render(&compiled.module, &ids, target, Launches::Direct)?.text)
}

/// All cards, and why there is none.
pub(super) fn find() -> (Vec<Found>, Vec<Diagnostic>) {
    let (mut found, mut missing) = (vec![], vec![]);
    for (i, card) in girih_cuda::devices().into_iter().enumerate() {
        match card {
            Err(error) => missing.push(error),
            Ok(info) => {
                let name = format!("cuda:{i}");
                let (caps, problem) = match open(i, None) {
                    Ok(device) => (device.caps().clone(), None),
                    Err(problem) => (Caps::cuda(75, false), Some(problem)),
                };
                found.push(Found { name, info, caps, problem });
            }
        }
    }
    (found, missing)
}
