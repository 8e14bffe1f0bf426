//! Launches that are the same but for their memory, which tensors of another library keep.

use crate::device::Device;
use crate::error::{exception, wrong};
use crate::recorder;
use crate::storage::memories_at;
use crate::wait::wait;
use girih::kernels::PreparedLaunch;
use pyo3::prelude::*;

/// A kernel with its grid and with all arguments but memory.
#[pyclass(frozen, module = "girih")]
pub(crate) struct Prepared {
    pub launch: PreparedLaunch,
    pub device: Device,
    /// Whether each launch is waited for, so that the call that is wrong gets the error.
    pub waits: bool,
}

#[pymethods]
impl Prepared {
    /// Runs the kernel behind all work so far, and does not wait for it, unless it has assertions and the processor runs it at once. There is an address for each parameter that was prepared for memory, in their order:
    /// one in memory that tensors keep.
    #[pyo3(signature = (*addresses))]
    fn launch(slf: Py<Prepared>, py: Python<'_>, addresses: Vec<u64>) -> PyResult<()> {
        Prepared::run(&slf, py, &addresses)
    }

    /// Compiles the kernel as most launches need it, and launches nothing. Other threads of Python run meanwhile.
    fn compile(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.launch.compile()).map_err(exception)
    }
}

impl Prepared {
    /// The same for whoever has addresses.
    pub fn run(slf: &Py<Prepared>, py: Python<'_>, addresses: &[u64]) -> PyResult<()> {
        let Prepared { launch, device, waits } = slf.get();
        if addresses.len() != launch.memories() {
            let (given, wanted) = (addresses.len(), launch.memories());
            let message = format!("{given} addresses are given, and the launch was prepared for {wanted}");
            return Err(wrong(message, None));
        }
        let memory = memories_at(device, addresses)?;
        py.detach(|| launch.launch(&memory)).map_err(exception)?;
        recorder::launched(slf, py, addresses);
        if *waits { wait(py, device.get()?) } else { Ok(()) }
    }
}
