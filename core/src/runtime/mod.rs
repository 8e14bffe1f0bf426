//! Devices: one trait that the interpreter, wgpu and CUDA implement, what is passed to them, and how they are timed. And what runs
//! functions in task form.

mod cells;
mod device;
pub mod epochs;
mod measure;
mod pace;
mod room;
mod segments;
pub mod sweeps;
pub mod tallies;
mod tasks;
mod walk;

pub(crate) use cells::words;
pub use device::{
    Argument, BufferId, Command, Constant, Device, DeviceInfo, DeviceKind, Dispatch, Grid, LoadOptions, Memory,
    ProgramId, Read,
};
pub use measure::{Timing, measure};
pub use pace::Clock;
pub use room::{MOST_HEAP, reaches};
pub use segments::{PARTS, Segmented};
pub use tasks::{EpochStats, Fault, Runner, TaskOptions, TaskStats};
pub use walk::{DeviceHeap, Field, Sheet, Walker};

use crate::diag::{Code, Diagnostic};

/// The error of a launch that noted this trap.
pub fn trap(code: u32) -> Diagnostic {
    Diagnostic::new(Code::Trap, crate::span::Span::NONE, format!("the kernel reported trap {code}"))
}
