//! Launches of a kernel with tensors and numbers in one order, as compiled functions make them.
//!
//! Invariant: launches whose numbers and device are the same are prepared once, and differ only in their memory.

use crate::device::Device;
use crate::error::wrong;
use crate::prepared::Prepared;
use crate::storage::{address, memory_of};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Launches that are kept: sizes that change all the time are not all kept.
const MOST_PREPARED: usize = 1024;

/// A number, by which launches are told apart. Zeros of both signs are equal in Python, and a NaN is not itself: their bits tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Number {
    Bool(bool),
    Int(i128),
    Float(u64),
}

/// What launches have in common that are prepared together.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    device: usize,
    numbers: Vec<Number>,
}

/// A kernel that is given tensors and numbers in one order.
#[pyclass(frozen, module = "girih")]
pub(crate) struct Launcher {
    name: String,
    /// For each argument whether it is a tensor.
    is_memory: Vec<bool>,
    /// Prepares a launch, given the device and a tuple of the numbers.
    prepare: Py<PyAny>,
    prepared: Mutex<HashMap<Key, Py<Prepared>>>,
}

#[pymethods]
impl Launcher {
    #[new]
    fn new(name: String, is_memory: Vec<bool>, prepare: Py<PyAny>) -> Launcher {
        Launcher { name, is_memory, prepare, prepared: Mutex::default() }
    }

    /// Launches the kernel behind all work so far, on the device that the tensors are on. What else is said by name is for other devices.
    #[pyo3(signature = (*arguments, **_named))]
    fn run(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        if arguments.len() != self.is_memory.len() {
            let (name, given, taken) = (&self.name, arguments.len(), self.is_memory.len());
            return Err(wrong(format!("`{name}` is given {given} arguments, and takes {taken}"), None));
        }
        let (mut addresses, mut numbers) = (Vec::with_capacity(arguments.len()), vec![]);
        for (argument, is_memory) in arguments.iter_borrowed().zip(&self.is_memory) {
            match is_memory {
                true => addresses.push(address(&argument)?),
                false => numbers.push(self.number(&argument)?),
            }
        }
        let device =
            addresses.first().and_then(|address| memory_of(*address)).map(|(buffer, _)| buffer.owner().clone());
        let device = device.ok_or_else(|| wrong(format!("`{}` is given no memory of Girih", self.name), None))?;
        let key = Key { device: device.place(), numbers };
        let found = self.lock().get(&key).map(|prepared| prepared.clone_ref(py));
        let prepared = match found {
            Some(prepared) => prepared,
            None => self.prepared(py, device, key, arguments)?,
        };
        Prepared::run(&prepared, py, &addresses)
    }
}

impl Launcher {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Py<Prepared>>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, argument: &Bound<'_, PyAny>) -> PyResult<Number> {
        if let Ok(truth) = argument.cast::<PyBool>() {
            return Ok(Number::Bool(truth.is_true()));
        }
        if argument.is_instance_of::<PyInt>() {
            return argument.extract().map(Number::Int);
        }
        if let Ok(float) = argument.cast::<PyFloat>() {
            return Ok(Number::Float(float.value().to_bits()));
        }
        let ty = argument.get_type();
        Err(wrong(format!("`{}` is given an object of the type `{}` for a number", self.name, ty.name()?), None))
    }

    fn prepared(
        &self,
        py: Python<'_>,
        device: Device,
        key: Key,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<Py<Prepared>> {
        let numbers = arguments.iter().zip(&self.is_memory).filter(|(_, is_memory)| !**is_memory);
        let numbers = PyTuple::new(py, numbers.map(|(number, _)| number).collect::<Vec<_>>())?;
        let made: Py<Prepared> = self.prepare.call1(py, (device, numbers))?.extract(py)?;
        let all = &mut *self.lock();
        if all.len() >= MOST_PREPARED {
            all.clear();
        }
        all.insert(key, made.clone_ref(py));
        Ok(made)
    }
}
