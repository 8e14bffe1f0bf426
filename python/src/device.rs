//! Devices, by the names that the command takes.
//!
//! Invariant: a name gives the same device each time, so its buffers go together. A process that was forked has no devices: their drivers do not survive it.

use crate::buffer::Buffer;
use crate::error::{exception, wrong};
use crate::recorder;
use crate::storage::{Layout, capsule};
use crate::wait::wait;
use girih::devices::{Selector, candidates, find, open};
use girih::runtime::{self, DeviceKind};
use girih::tensor;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A device that was opened, by whom and under which name.
struct Opened {
    selector: Selector,
    /// How many forks had led to the process.
    forks: u32,
    device: runtime::Device,
    /// The same for graphs of tensors, once there are some.
    tensors: OnceLock<tensor::Device>,
}

/// Devices that were opened.
static OPENED: Mutex<Vec<Arc<Opened>>> = Mutex::new(vec![]);
/// How many forks have led to this process since it has loaded the module. Asking the system who this is takes longer than the rest of a launch.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// The same for the process that opened the first one. A fork of it may find `OPENED` locked for ever, and drivers that do not work.
static OPENER: OnceLock<u32> = OnceLock::new();

/// Has Python count forks, where there are any.
pub(crate) fn watch_forks(py: Python<'_>) -> PyResult<()> {
    let Ok(register) = py.import("os")?.getattr("register_at_fork") else { return Ok(()) };
    let count = |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| _ = FORKS.fetch_add(1, Ordering::Relaxed);
    let hooks = PyDict::new(py);
    hooks.set_item("after_in_child", PyCFunction::new_closure(py, None, None, count)?)?;
    register.call((), Some(&hooks)).map(|_| ())
}

fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Says that devices are used here.
///
/// # Errors
/// If this process is a fork of one that has opened some.
fn own(opener: u32) -> PyResult<()> {
    if opener == forks() {
        return Ok(());
    }
    let hint = "start processes by `multiprocessing.get_context(\"spawn\")`";
    Err(wrong("this process is a fork of the one that has opened the device", Some(hint)))
}

/// The device of a selector, opened once; for the best device, the first one of those that it may be.
fn opened(selector: &Selector) -> Result<Device, girih::Error> {
    if *selector == Selector::Auto {
        let [best, rest @ ..] = candidates();
        return rest.iter().fold(opened(&best), |found, next| found.or_else(|_| opened(next)));
    }
    let mut all = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = all.iter().find(|opened| opened.selector == *selector) {
        return Ok(Device(found.clone()));
    }
    let device = open(selector, None)?;
    let made = Arc::new(Opened { selector: selector.clone(), forks: forks(), device, tensors: OnceLock::new() });
    all.push(made.clone());
    Ok(Device(made))
}

/// A device: memory, and what runs kernels.
///
/// `Device("cpu")`, `Device("cuda")`, `Device("cuda:1")`, `Device("wgpu")`, `Device("wgpu:0")`; without a name it is the best one that there is. The same name
/// gives the same device.
#[pyclass(frozen, module = "girih")]
#[derive(Clone)]
pub(crate) struct Device(Arc<Opened>);

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        self.0.device.is(&other.0.device)
    }
}

impl Device {
    /// The library's device.
    ///
    /// # Errors
    /// If this process is a fork of the one that has opened it.
    pub fn get(&self) -> PyResult<&runtime::Device> {
        own(self.0.forks)?;
        Ok(&self.0.device)
    }

    /// The library's device for graphs of tensors.
    ///
    /// # Errors
    /// If this process is a fork of the one that has opened it.
    pub fn tensors(&self) -> PyResult<&tensor::Device> {
        let device = self.get()?;
        Ok(self.0.tensors.get_or_init(|| tensor::Device::new(device.clone())))
    }

    /// What tells it from other devices.
    pub fn place(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// How Python writes it.
    pub fn shown(&self) -> String {
        format!("Device({:?})", self.name())
    }
}

/// The kind of a device, in a word.
fn kind_word(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Interpreter => "interpreter",
        DeviceKind::Wgpu | DeviceKind::WgpuSoftware => "wgpu",
        DeviceKind::Cuda => "cuda",
        DeviceKind::Cpu => "cpu",
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name = None))]
    fn new(py: Python<'_>, name: Option<&str>) -> PyResult<Device> {
        let selector = Selector::parse(name.unwrap_or("auto")).map_err(exception)?;
        own(*OPENER.get_or_init(forks))?;
        py.detach(|| opened(&selector)).map_err(exception)
    }

    /// The name that it was opened by.
    #[getter]
    fn name(&self) -> String {
        self.0.selector.to_string()
    }

    /// `cpu`, `cuda`, `wgpu`, or `interpreter` for the reference machine.
    #[getter]
    fn kind(&self) -> &'static str {
        kind_word(self.0.device.info().kind)
    }

    /// What the card or processor is called.
    #[getter]
    fn description(&self) -> &str {
        &self.0.device.info().name
    }

    /// Its driver and the interface below.
    #[getter]
    fn driver(&self) -> String {
        let info = self.0.device.info();
        format!("{} ({})", info.driver, info.backend)
    }

    /// How many buffers one kernel may use.
    #[getter]
    fn buffers(&self) -> u32 {
        self.0.device.caps().buffers
    }

    /// New memory; what is in it is not said.
    fn allocate(&self, py: Python<'_>, nbytes: u64) -> PyResult<Buffer> {
        Buffer::new(py, self, nbytes)
    }

    /// A capsule of DLPack for new memory, with sizes and strides in elements of a type by DLPack's code and number of bits. What is in the memory is not said.
    fn storage<'py>(
        &self,
        py: Python<'py>,
        nbytes: u64,
        size: Vec<i64>,
        stride: Vec<i64>,
        code: u8,
        bits: u8,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (buffer, layout) = (Buffer::new(py, self, nbytes)?, Layout { size, stride, element: (code, bits) });
        recorder::made(&buffer, &layout);
        capsule(py, buffer, &layout)
    }

    /// Waits for all work so far.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        // Whoever waits looks at what was computed.
        recorder::spoil();
        wait(py, self.get()?)
    }

    /// What it has given out, in bytes and numbers.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = self.get()?.figures();
        let dict = PyDict::new(py);
        let rows = [
            ("live", figures.live),
            ("buffers", figures.buffers),
            ("peak", figures.peak),
            ("cached", figures.cached),
            ("allocations", figures.allocations),
            ("hits", figures.hits),
        ];
        for (name, value) in rows {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Gives memory back to the driver that is kept for later.
    fn trim(&self, py: Python<'_>) -> PyResult<()> {
        let device = self.get()?;
        py.detach(|| device.trim()).map_err(exception)
    }

    fn __repr__(&self) -> String {
        self.shown()
    }

    fn __eq__(&self, other: &Device) -> bool {
        self == other
    }

    fn __hash__(&self) -> usize {
        self.place()
    }

    fn __reduce__(slf: &Bound<'_, Device>) -> (Py<PyAny>, (String,)) {
        (slf.get_type().into_any().unbind(), (slf.get().name(),))
    }
}

/// All devices of this machine: a dictionary with `name`, `kind`, `description`, `driver` and `problem` for each; `problem` is why it cannot be used, or `None`.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let (found, _) = py.detach(find);
    let row = |found: girih::devices::Found| {
        let dict = PyDict::new(py);
        dict.set_item("name", found.name)?;
        dict.set_item("kind", kind_word(found.info.kind))?;
        dict.set_item("description", found.info.name)?;
        dict.set_item("driver", format!("{} ({})", found.info.driver, found.info.backend))?;
        dict.set_item("problem", found.problem.map(|problem| problem.message))?;
        Ok(dict)
    };
    found.into_iter().map(row).collect()
}
