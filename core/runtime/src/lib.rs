//! Devices: one trait that the interpreter, wgpu and CUDA implement, what is passed to them, and how they are timed. And what runs
//! functions in task form.

mod device;
mod measure;
mod tasks;

pub use device::{
    Argument, BufferId, Command, Constant, Device, DeviceInfo, DeviceKind, Dispatch, Grid, LoadOptions, Memory,
    ProgramId, Read,
};
pub use measure::{Timing, measure};
pub use tasks::{DeviceHeap, Fault, Runner, StepStats, TaskOptions, TaskStats};

use girih_base::diag::{Code, Diagnostic};

/// The error of a launch that noted this trap.
pub fn trap(code: u32) -> Diagnostic {
    Diagnostic::new(Code::Trap, girih_base::span::Span::NONE, format!("the kernel reported trap {code}"))
}
