//! Every GPU that wgpu reaches: kernel form becomes a naga module, and wgpu runs it.

pub mod shader;
