//! Every GPU that wgpu reaches: kernel form becomes a naga module, and wgpu runs it.

// The driver's edge: passthrough of SPIR-V, unchecked shaders and caches of pipelines are unsafe in wgpu.
#![allow(unsafe_code)]

mod device;
pub mod emit;
pub mod shader;
mod strict;

pub use device::{Adapter, Gpu, Settings, adapters, kind, open, open_with};
pub use emit::{Emitted, Language, emit};
