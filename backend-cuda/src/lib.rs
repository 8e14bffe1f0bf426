//! NVIDIA GPUs: kernel form becomes PTX text, and the CUDA driver, found at run time, runs it.

pub mod device;
pub mod emulator;
pub mod ptx;

pub use device::{Cuda, Settings, devices, open, open_with};
pub use emulator::Emulator;
