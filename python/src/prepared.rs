//! Launches that are the same but for their memory: all that does not change is looked at once.

use crate::device::Device;
use crate::error::{exception, wrong};
use crate::storage::memory_at;
use crate::wait::wait;
use girih::ir::Scalar;
use girih::kernels::{Arg, TritonKernel};
use pyo3::prelude::*;
use std::sync::Arc;

/// An argument of each launch.
pub(crate) enum Slot {
    /// The same one.
    Fixed(Arg<'static>),
    /// Memory of such elements, which is given by its address.
    Memory(Scalar),
    /// None.
    Absent,
}

/// A kernel with its grid and with all arguments but memory.
#[pyclass(frozen, module = "girih")]
pub(crate) struct Prepared {
    pub kernel: Arc<TritonKernel>,
    pub device: Device,
    pub grid: [u32; 3],
    pub slots: Vec<Slot>,
    /// Whether each launch is waited for, so that the call that is wrong gets the error.
    pub waits: bool,
}

#[pymethods]
impl Prepared {
    /// Runs the kernel behind all work so far, and does not wait for it, unless it has assertions and the processor runs it at once. There is an address for each parameter that was prepared for memory, in their order:
    /// one in memory that tensors keep.
    #[pyo3(signature = (*addresses))]
    fn launch(&self, py: Python<'_>, addresses: Vec<u64>) -> PyResult<()> {
        let mut rest = addresses.iter();
        let device = self.device.get()?;
        let mut given = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            given.push(match slot {
                Slot::Fixed(argument) => argument.again(),
                Slot::Absent => None,
                Slot::Memory(scalar) => {
                    let address = rest.next().ok_or_else(|| self.wrong_count(addresses.len()))?;
                    let found = memory_at(*address).filter(|(buffer, _)| buffer.owner() == &self.device);
                    let name = self.device.shown();
                    let found =
                        found.ok_or_else(|| wrong(format!("there is no memory of {name} at {address:#x}"), None))?;
                    Some(Arg::of_elements(*scalar, found.0.rest_from(found.1)?))
                }
            });
        }
        if rest.next().is_some() {
            return Err(self.wrong_count(addresses.len()));
        }
        // As in Triton, none are started then.
        if self.grid.contains(&0) {
            return Ok(());
        }
        py.detach(|| self.kernel.launch_with(device, self.grid, given)).map_err(exception)?;
        if self.waits { wait(py, device) } else { Ok(()) }
    }
}

impl Prepared {
    fn wrong_count(&self, given: usize) -> PyErr {
        let wanted = self.slots.iter().filter(|slot| matches!(slot, Slot::Memory(_))).count();
        wrong(format!("{given} addresses are given, and the launch was prepared for {wanted}"), None)
    }
}
