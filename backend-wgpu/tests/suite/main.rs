//! The integration tests of `girih-wgpu`, in one program.

mod device;
mod emission;
mod execution;
mod support;
