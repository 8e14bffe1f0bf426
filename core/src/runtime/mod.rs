//! Devices: one trait that the interpreter, wgpu and CUDA implement, and what is passed to them.

mod device;

pub use device::{
    Argument, BufferId, Command, Constant, Device, DeviceInfo, DeviceKind, Dispatch, Grid, LoadOptions, Memory,
    ProgramId, Timing,
};

use crate::diag::{Code, Diagnostic};

/// The error of a launch that noted this trap.
pub fn trap(code: u32) -> Diagnostic {
    Diagnostic::new(Code::Trap, crate::span::Span::NONE, format!("the kernel reported trap {code}"))
}
