//! The module `girih._native`: devices, their memory, and kernels of Triton, for the Python package around it.
//!
//! Invariant: whatever computes or waits lets other threads of Python go on, and a wait ends when the user presses Ctrl-C. Each class has a file, which
//! does little more than name what the library does.

// Whether what a renderer holds may go to another thread is a long question: the types of naga are nested deeply.
#![recursion_limit = "256"]

mod bend;
mod bend_value;
mod buffer;
mod device;
mod error;
mod host_memory;
mod kernel;
mod launcher;
mod picture;
mod prepared;
mod recorder;
mod recording;
mod reserved;
mod sources;
mod storage;
mod tensor_graph;
mod wait;

use pyo3::prelude::*;

/// What the package is built on.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::bend::BendProgram;
    #[pymodule_export]
    use super::buffer::Buffer;
    #[pymodule_export]
    use super::device::{Device, devices};
    #[pymodule_export]
    use super::error::{AssertionFailed, Error, OutOfMemory};
    #[pymodule_export]
    use super::kernel::{Kernel, KernelFile};
    #[pymodule_export]
    use super::launcher::Launcher;
    #[pymodule_export]
    use super::picture::{png, render};
    #[pymodule_export]
    use super::prepared::Prepared;
    #[pymodule_export]
    use super::recorder::{host_step, is_recording, record};
    #[pymodule_export]
    use super::recording::Recording;
    #[pymodule_export]
    use super::storage::{kept_memory, memory_of};
    #[pymodule_export]
    use super::tensor_graph::{TensorGraph, TensorPlan};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::device::watch_forks(module.py())?;
        module.add("OutOfBounds", super::error::out_of_bounds(module.py())?)?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
