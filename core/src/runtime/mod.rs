//! Devices: one trait that the interpreter, wgpu and CUDA implement, what is passed to them, and how they are timed.

mod device;
mod measure;

pub use device::{
    Argument, BufferId, Command, Constant, Device, DeviceInfo, DeviceKind, Dispatch, Grid, LoadOptions, Memory,
    ProgramId,
};
pub use measure::{Timing, measure};

use crate::diag::{Code, Diagnostic};

/// The error of a launch that noted this trap.
pub fn trap(code: u32) -> Diagnostic {
    Diagnostic::new(Code::Trap, crate::span::Span::NONE, format!("the kernel reported trap {code}"))
}
