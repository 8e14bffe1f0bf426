//! The host's processor as a device: legal kernels become native code by Cranelift, and all cores run it.
//!
//! | folder | its idea |
//! |---|---|
//! | `translate` | operations as Cranelift's, for kernels and functions alike |
//! | `kernels` | kernel form: workgroups, barriers, frames |
//! | `device` | buffers, programs, launches, threads |
//! | `gemm` | products of matrices in memory |
//! | `tasks` | task form: recursive functions on a heap of cells |

mod device;
mod gemm;
mod host;
mod kernels;
pub mod tasks;
mod translate;

pub use device::{Cpu, Settings};

use girih_base::diag::Diagnostic;
use girih_lower::Compiled;

/// Names this code generator and its device by its sources: two builds that may do otherwise have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");

/// Opens the device.
pub fn open(settings: &Settings) -> Result<Cpu, Diagnostic> {
    Cpu::open(settings)
}

/// Legal kernels and what they call in Cranelift's text.
pub fn emit(compiled: &Compiled) -> Result<String, Diagnostic> {
    kernels::text(compiled, host::isa(host::Use::Kernels)?)
}

/// Whether task form computes with short vectors as they are. Functions that give many of them are possible only then.
pub fn has_vectors() -> bool {
    host::isa(host::Use::Tasks).is_ok_and(|isa| host::has_vectors(&isa))
}
