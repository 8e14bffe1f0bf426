//! Memory of Python's objects: what offers the buffer protocol, as `bytes`, `memoryview` and NumPy's arrays do.
//!
//! Invariant: an object's memory stays where it is while it is looked at: the view that is held here sees to that. Who changes it from another thread meanwhile
//! gets some of the old bytes and some of the new ones, as everywhere in Python.

use crate::error::wrong;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

/// A view of an object's memory.
pub(crate) struct HostMemory(PyUntypedBuffer);

impl HostMemory {
    /// The memory of an object.
    ///
    /// # Errors
    /// If it offers none, or its elements do not stand side by side.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<HostMemory> {
        let view = PyUntypedBuffer::get(object)?;
        if !view.is_c_contiguous() {
            let hint = "`numpy.ascontiguousarray` makes a copy whose elements do";
            return Err(wrong("the elements of the array do not stand side by side", Some(hint)));
        }
        Ok(HostMemory(view))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self.0.len_bytes() {
            0 => &[],
            #[allow(unsafe_code)]
            // SAFETY: the view has so many bytes side by side, which stay there as long as it does.
            count => unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), count) },
        }
    }

    /// Its bytes, to be written.
    ///
    /// # Errors
    /// If nobody may write them.
    pub fn bytes_mut(&mut self) -> PyResult<&mut [u8]> {
        if self.0.readonly() {
            return Err(wrong("the object may not be written", Some("use a `bytearray` or a writable array")));
        }
        Ok(match self.0.len_bytes() {
            0 => &mut [],
            #[allow(unsafe_code)]
            // SAFETY: as above, and they may be written.
            count => unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), count) },
        })
    }
}
