//! Every GPU that wgpu reaches: kernel form becomes a naga module, and wgpu runs it.

// The driver's edge: passthrough of SPIR-V, unchecked shaders and caches of pipelines are unsafe in wgpu.
#![allow(unsafe_code)]

mod device;
pub mod emit;
mod exact_floats;
pub mod shader;

pub use device::{Adapter, Context, Gpu, Settings, SharedBuffer, adapters_of, instance_for};
#[cfg(waits)]
pub use device::{adapters, kind, open, open_with};
pub use emit::{Emitted, Language, emit};
/// Names this code generator and its device by its sources: two builds that may do otherwise have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");

/// What a window that draws on a [`Context`] speaks with.
pub use wgpu;
