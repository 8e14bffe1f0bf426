//! Memory that another library's tensors keep, as capsules of DLPack, and the way back from an address to the memory.
//!
//! Invariant: memory is in the table from the moment when its capsule is made until its last tensor is gone. Tensors go on any thread, with or without
//! Python's lock, so nothing here needs it.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::wrong;
use girih::runtime;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory by the address where it begins.
static PLACES: Mutex<BTreeMap<u64, Buffer>> = Mutex::new(BTreeMap::new());

fn places() -> MutexGuard<'static, BTreeMap<u64, Buffer>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The memory of a device from each of these addresses on.
///
/// # Errors
/// If there is none of the device at one of them.
pub(crate) fn memories_at(device: &Device, addresses: &[u64]) -> PyResult<Vec<runtime::Buffer>> {
    let all = places();
    let memory = |address: &u64| {
        let (start, buffer) = all.range(..=*address).next_back()?;
        let offset = *address - *start;
        let is_there = offset < buffer.bytes().max(1) && buffer.owner() == device;
        is_there.then(|| buffer.rest_from(offset))
    };
    let none = |address| wrong(format!("there is no memory of {} at {address:#x}", device.shown()), None);
    addresses.iter().map(|address| memory(address).ok_or_else(|| none(address))?).collect()
}

/// The memory that an address is in, and the byte of it that stands there; `None` if no tensor of another library keeps memory there.
#[pyfunction]
pub(crate) fn memory_of(address: u64) -> Option<(Buffer, u64)> {
    let all = places();
    let (start, buffer) = all.range(..=address).next_back()?;
    let offset = address - start;
    (offset < buffer.bytes().max(1)).then(|| (buffer.clone(), offset))
}

/// How many pieces of memory are kept by tensors of other libraries.
#[pyfunction]
pub(crate) fn kept_memory() -> usize {
    places().len()
}

/// The memory that an address is in, and the byte that stands there, counted from where all of the memory begins.
pub(crate) fn place_of(address: u64) -> Option<(Buffer, u64)> {
    memory_of(address).map(|(buffer, offset)| (buffer.clone(), buffer.first_byte() + offset))
}

/// Where a tensor begins. PyTorch has no address for one without elements: then it is where its storage begins.
pub(crate) fn address(tensor: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = tensor.py();
    let address: u64 = tensor.call_method0(intern!(py, "data_ptr"))?.extract()?;
    if address != 0 {
        return Ok(address);
    }
    tensor.call_method0(intern!(py, "untyped_storage"))?.call_method0(intern!(py, "data_ptr"))?.extract()
}

/// How a tensor's elements lie: sizes and strides in elements, and their type by DLPack's code and number of bits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub size: Vec<i64>,
    pub stride: Vec<i64>,
    pub element: (u8, u8),
}

/// The device of DLPack that stands for none that it knows.
const EXTENSION: i32 = 12;

/// `DLManagedTensor` of DLPack 0.8.
#[repr(C)]
struct Managed {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// What a capsule points to, with what that points to.
#[repr(C)]
struct Kept {
    managed: Managed,
    address: u64,
    _numbers: Box<[i64]>,
}

/// The name of a capsule that nobody has taken over.
const UNUSED: &CStr = c"dltensor";

/// Gives memory back when its last tensor is gone.
#[allow(unsafe_code)]
unsafe extern "C" fn forget(managed: *mut Managed) {
    // SAFETY: `capsule` has made it as the first field of a box of `Kept`, and DLPack calls this once.
    let kept = unsafe { Box::from_raw(managed.cast::<Kept>()) };
    // The memory goes after the table is free again: a device may take its time.
    let memory = places().remove(&kept.address);
    drop(memory);
}

/// Gives memory back whose capsule nobody has taken over.
#[allow(unsafe_code)]
unsafe extern "C" fn unused(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a capsule of `capsule`, whose pointer is of this kind while it has this name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, UNUSED.as_ptr()) == 1 {
            forget(ffi::PyCapsule_GetPointer(capsule, UNUSED.as_ptr()).cast());
        }
    }
}

/// A capsule of DLPack's type "extension device" for memory, with a layout.
///
/// # Errors
/// If there are not as many strides as sizes.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    buffer: Buffer,
    Layout { size, stride, element: (code, bits) }: &Layout,
) -> PyResult<Bound<'py, PyAny>> {
    if size.len() != stride.len() {
        return Err(PyValueError::new_err(format!("{} sizes and {} strides", size.len(), stride.len())));
    }
    let dimensions = i32::try_from(size.len()).map_err(|_| PyValueError::new_err("too many dimensions"))?;
    let mut numbers: Box<[i64]> = size.iter().chain(stride).copied().collect();
    let (shape, strides) = numbers.split_at_mut(size.len());
    let (shape, strides) = (shape.as_mut_ptr(), strides.as_mut_ptr());
    let address = buffer.start();
    let managed = Managed {
        data: std::ptr::with_exposed_provenance_mut(address as usize),
        device: [EXTENSION, 0],
        dimensions,
        code: *code,
        bits: *bits,
        lanes: 1,
        shape,
        strides,
        byte_offset: 0,
        context: std::ptr::null_mut(),
        deleter: Some(forget),
    };
    let kept = Box::into_raw(Box::new(Kept { managed, address, _numbers: numbers }));
    places().insert(address, buffer);
    // SAFETY: the pointer stays valid until `forget`, which whoever takes the capsule over calls, or else `unused`.
    #[allow(unsafe_code)]
    unsafe {
        let made = ffi::PyCapsule_New(kept.cast(), UNUSED.as_ptr(), Some(unused));
        if made.is_null() {
            forget(kept.cast());
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}
