//! NVIDIA GPUs: kernel form becomes PTX text, and the CUDA driver, found at run time, runs it.

pub mod device;
pub mod emulator;
mod packed;
pub mod ptx;

pub use device::{Cuda, Settings, devices, open, open_with};
pub use emulator::Emulator;

/// Names this code generator by its sources: two builds that may write different code have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");
