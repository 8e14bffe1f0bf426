//! Triton kernels, compiled when they are launched, once for each device and kind of arguments.
//!
//! Invariant: a launch looks each parameter up once, by a name that was made ready before, and does not wait.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{exception, wrong};
use crate::prepared::Prepared;
use crate::recorder;
use girih::ir::Scalar;
use girih::kernels::{Arg, PreparedLaunch, Slot, TritonKernel};
use girih::runtime::DeviceKind;
use girih::triton::{self, scalar_named};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file of Triton kernels. Girih's own parser reads the text; the file is not run.
#[pyclass(frozen, module = "girih")]
pub(crate) struct KernelFile(triton::KernelFile);

#[pymethods]
impl KernelFile {
    #[new]
    fn new(name: &str, text: &str) -> KernelFile {
        KernelFile(triton::KernelFile::from_text(name, text))
    }

    /// The names of its kernels, in order.
    fn kernels(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let kernels = py.detach(|| self.0.kernels()).map_err(exception)?;
        Ok(kernels.into_iter().map(|kernel| kernel.name).collect())
    }

    /// One of them; where it asserts, its `device_assert` are kept.
    #[pyo3(signature = (name, asserts = false))]
    fn kernel(&self, py: Python<'_>, name: &str, asserts: bool) -> PyResult<Kernel> {
        let kernel = py.detach(|| self.0.kernel(name)).map_err(exception)?.with(None, None, asserts);
        let parameters = kernel.parameters();
        let names = parameters.iter().map(|parameter| PyString::intern(py, &parameter.name).unbind()).collect();
        let constant = parameters.iter().map(|parameter| parameter.constexpr).collect();
        let file = self.0.clone();
        Ok(Kernel {
            file,
            name: name.to_owned(),
            names,
            constant,
            asserts,
            variants: Mutex::new(vec![(None, None, Arc::new(kernel))]),
        })
    }
}

/// The number of warps and of stages of a launch, and the kernel with these.
type Variant = (Option<u32>, Option<u32>, Arc<TritonKernel>);

/// A kernel of a file.
#[pyclass(frozen, module = "girih")]
pub(crate) struct Kernel {
    file: triton::KernelFile,
    name: String,
    /// The names of the parameters, as Python has them.
    names: Vec<Py<PyString>>,
    /// Which parameters are constants.
    constant: Vec<bool>,
    /// Whether its assertions are kept.
    asserts: bool,
    variants: Mutex<Vec<Variant>>,
}

#[pymethods]
impl Kernel {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names of its parameters, in order, and whether each is a constant.
    #[getter]
    fn parameters(&self, py: Python<'_>) -> Vec<(Py<PyString>, bool)> {
        self.names.iter().zip(&self.constant).map(|(name, constant)| (name.clone_ref(py), *constant)).collect()
    }

    /// Runs so many programs on a device, behind all work so far, and does not wait for them.
    ///
    /// Arguments are given by name: `(buffer, offset in bytes, dtype)` for memory, an `int`, a `float` or a `bool`, and for constants also a `str` or `None`. `("fp64", x)`
    /// is a float of 64 bits; others have 32. A tuple is given as a `list`, and a tensor descriptor as a `dict` of its `base`, `shape`, `strides`, `block_shape` and `padding`.
    #[pyo3(signature = (device, grid, arguments, num_warps = None, num_stages = None))]
    fn launch(
        &self,
        py: Python<'_>,
        device: &Device,
        grid: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyDict>,
        num_warps: Option<u32>,
        num_stages: Option<u32>,
    ) -> PyResult<()> {
        recorder::spoil();
        let grid = sizes(grid)?;
        let given = self.sorted(device, arguments)?;
        // As in Triton, none are started then.
        if grid.contains(&0) {
            return Ok(());
        }
        let (device, kernel) = (device.get()?, self.variant(py, num_warps, num_stages)?);
        py.detach(|| kernel.launch_with(device, grid, given)).map_err(exception)
    }

    /// Compiles the kernel for such arguments, and launches nothing.
    #[pyo3(signature = (device, arguments, num_warps = None, num_stages = None))]
    fn warmup(
        &self,
        py: Python<'_>,
        device: &Device,
        arguments: &Bound<'_, PyDict>,
        num_warps: Option<u32>,
        num_stages: Option<u32>,
    ) -> PyResult<()> {
        let given = self.sorted(device, arguments)?;
        let (device, kernel) = (device.get()?, self.variant(py, num_warps, num_stages)?);
        py.detach(|| kernel.warm_up(device, given)).map_err(exception)
    }

    /// A launch with a grid and with all arguments but memory, which each launch gives by its address: `(dtype,)` stands for it.
    #[pyo3(signature = (device, grid, arguments, num_warps = None, num_stages = None))]
    fn prepare(
        &self,
        py: Python<'_>,
        device: &Device,
        grid: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyDict>,
        num_warps: Option<u32>,
        num_stages: Option<u32>,
    ) -> PyResult<Prepared> {
        let slots = self.each(arguments, |name, value| {
            let single = value.cast::<PyTuple>().ok().filter(|tuple| tuple.len() == 1);
            let Some(single) = single else { return self.argument(device, name, value).map(Slot::Fixed) };
            let dtype = single.get_item(0)?;
            let dtype = dtype.cast::<PyString>().map_err(|_| self.refused(name, "memory whose type is no text"))?;
            self.scalar(name, dtype).map(Slot::Memory)
        })?;
        let slots = slots.into_iter().map(|slot| slot.unwrap_or(Slot::Absent)).collect();
        let kernel = self.variant(py, num_warps, num_stages)?;
        let waits = self.asserts && device.get()?.info().kind == DeviceKind::Cpu;
        let launch = PreparedLaunch::new(kernel, device.get()?, sizes(grid)?, slots);
        Ok(Prepared { launch, device: device.clone(), waits })
    }

    fn __repr__(&self) -> String {
        format!("<girih.Kernel {}>", self.name)
    }
}

impl Kernel {
    /// The kernel with these numbers of warps and stages.
    fn variant(&self, py: Python<'_>, warps: Option<u32>, stages: Option<u32>) -> PyResult<Arc<TritonKernel>> {
        if let Some(kernel) = self.kept(warps, stages) {
            return Ok(kernel);
        }
        // Not while the list is locked: a thread that waits for it keeps Python's lock, which this one may wait for.
        let made = py.detach(|| self.file.kernel(&self.name)).map_err(exception)?;
        let made = Arc::new(made.with(warps, stages, self.asserts));
        // Another thread may have been quicker.
        if let Some(kernel) = self.kept(warps, stages) {
            return Ok(kernel);
        }
        self.variants().push((warps, stages, made.clone()));
        Ok(made)
    }

    fn variants(&self) -> MutexGuard<'_, Vec<Variant>> {
        self.variants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self, warps: Option<u32>, stages: Option<u32>) -> Option<Arc<TritonKernel>> {
        let all = self.variants();
        all.iter().find(|(w, s, _)| (*w, *s) == (warps, stages)).map(|(_, _, kernel)| kernel.clone())
    }

    /// An argument for each parameter, in order.
    fn sorted(&self, device: &Device, arguments: &Bound<'_, PyDict>) -> PyResult<Vec<Option<Arg<'static>>>> {
        self.each(arguments, |name, value| self.argument(device, name, value))
    }

    /// What is made of the value for each parameter, in order.
    fn each<'py, T>(
        &self,
        arguments: &Bound<'py, PyDict>,
        make: impl Fn(&Bound<'py, PyString>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Vec<Option<T>>> {
        let (py, mut found) = (arguments.py(), 0);
        let mut given = Vec::with_capacity(self.names.len());
        for name in &self.names {
            let value = arguments.get_item(name)?;
            found += usize::from(value.is_some());
            given.push(value.map(|value| make(name.bind(py), &value)).transpose()?);
        }
        if found < arguments.len() {
            return Err(self.unknown(py, arguments));
        }
        Ok(given)
    }

    fn unknown(&self, py: Python<'_>, arguments: &Bound<'_, PyDict>) -> PyErr {
        let known: Vec<String> = self.names.iter().map(|name| name.bind(py).to_string()).collect();
        let keys = arguments.keys().iter().map(|key| key.to_string());
        let unknown = keys.into_iter().find(|key| !known.contains(key)).unwrap_or_default();
        let hint = format!("its parameters are {}", known.join(", "));
        wrong(format!("`{}` has no parameter `{unknown}`", self.name), Some(&hint))
    }

    fn argument(
        &self,
        device: &Device,
        name: &Bound<'_, PyString>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Arg<'static>> {
        if let Ok(memory) = value.cast::<PyTuple>() {
            return match memory.extract::<(&str, f64)>() {
                Ok(("fp64", number)) => Ok(Arg::double(number)),
                Ok(_) | Err(_) => self.memory(device, name, memory),
            };
        }
        // A truth value is an integer, too.
        if let Ok(truth) = value.cast::<PyBool>() {
            return Ok(Arg::from(truth.is_true()));
        }
        if value.is_instance_of::<PyInt>() {
            return integer(value).ok_or_else(|| self.refused(name, "an integer of more than 64 bits"));
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            return Ok(Arg::from(float.value()));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Arg::from(&*text.to_string_lossy()));
        }
        if value.is_none() {
            return Ok(Arg::from(()));
        }
        if let Ok(elements) = value.cast::<PyList>() {
            let elements = elements.iter().map(|element| self.argument(device, name, &element));
            return Ok(Arg::tuple(elements.collect::<PyResult<Vec<_>>>()?));
        }
        if let Ok(parts) = value.cast::<PyDict>() {
            return self.descriptor(device, name, parts);
        }
        Err(self.refused(name, &format!("an object of the type `{}`", value.get_type().name()?)))
    }

    /// A tensor descriptor.
    fn descriptor(
        &self,
        device: &Device,
        name: &Bound<'_, PyString>,
        parts: &Bound<'_, PyDict>,
    ) -> PyResult<Arg<'static>> {
        let missing = |part: &str| self.refused(name, &format!("a tensor descriptor without its part `{part}`"));
        let part = |part: &str| parts.get_item(part)?.ok_or_else(|| missing(part));
        let integers = |name: &str| part(name)?.extract::<Vec<i64>>();
        let (base, padding) = (self.argument(device, name, &part("base")?)?, part("padding")?.extract::<String>()?);
        let [shape, strides, block_shape] = [integers("shape")?, integers("strides")?, integers("block_shape")?];
        Ok(Arg::descriptor_with(base, &shape, &strides, &block_shape, &padding))
    }

    /// Memory from a byte on.
    fn memory(
        &self,
        device: &Device,
        name: &Bound<'_, PyString>,
        value: &Bound<'_, PyTuple>,
    ) -> PyResult<Arg<'static>> {
        let wanted = "a tuple that is not `(buffer, offset, dtype)`";
        let [Ok(buffer), Ok(offset), Ok(dtype)] = [0, 1, 2].map(|i| value.get_borrowed_item(i)) else {
            return Err(self.refused(name, wanted));
        };
        let (Ok(buffer), Ok(offset), Ok(dtype)) =
            (buffer.cast::<Buffer>(), offset.extract::<u64>(), dtype.cast::<PyString>())
        else {
            return Err(self.refused(name, wanted));
        };
        let scalar = self.scalar(name, &dtype)?;
        let buffer = buffer.get();
        if !buffer.owner().get()?.is(device.get()?) {
            return Err(self.refused(name, "memory of another device"));
        }
        Ok(Arg::of_elements(scalar, buffer.rest_from(offset)?))
    }

    /// The type of elements of memory.
    fn scalar(&self, name: &Bound<'_, PyString>, dtype: &Bound<'_, PyString>) -> PyResult<Scalar> {
        let dtype = dtype.to_string_lossy();
        let scalar = scalar_named(dtype.trim_start_matches('*'));
        scalar.ok_or_else(|| self.refused(name, &format!("memory of the unknown type `{dtype}`")))
    }

    fn refused(&self, name: &Bound<'_, PyString>, what: &str) -> PyErr {
        wrong(format!("`{name}` of `{}` is given {what}", self.name), None)
    }
}

/// An integer of the smallest type that Triton takes for it.
fn integer(value: &Bound<'_, PyAny>) -> Option<Arg<'static>> {
    if let Ok(number) = value.extract::<i64>() {
        return Some(i32::try_from(number).map_or_else(|_| Arg::from(number), Arg::from));
    }
    value.extract::<u64>().ok().map(Arg::from)
}

/// How many programs run in each dimension: a number, or up to three.
fn sizes(grid: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let mut sizes = [1; 3];
    if grid.is_instance_of::<PyInt>() {
        sizes[0] = size(grid)?;
        return Ok(sizes);
    }
    let all = grid.cast::<PyTuple>().map_err(|_| PyTypeError::new_err("a grid is a tuple of up to three numbers"))?;
    if all.len() > sizes.len() {
        return Err(wrong(format!("a grid has up to three dimensions, and this one has {}", all.len()), None));
    }
    for (room, given) in sizes.iter_mut().zip(all.iter_borrowed()) {
        *room = size(&given)?;
    }
    Ok(sizes)
}

fn size(number: &Bound<'_, PyAny>) -> PyResult<u32> {
    let none = || wrong(format!("{number} programs: a dimension of a grid is a number from 0 to 4294967295"), None);
    number.extract::<u32>().map_err(|_| none())
}
