//! Devices: one trait that the interpreter, wgpu and CUDA implement, and what is passed to them.

mod device;

pub use device::{
    Argument, BufferId, Command, Constant, Device, DeviceInfo, DeviceKind, Dispatch, Grid, LoadOptions, Memory,
    ProgramId, Timing,
};
