//! Memory of a device.
//!
//! Invariant: a place that is not in the buffer is an error before anything is moved. Devices that move whole words are given whole words: what is around them is
//! read first.

use crate::device::Device;
use crate::error::{exception, wrong};
use crate::host_memory::HostMemory;
use crate::recorder;
use crate::reserved::Reserved;
use crate::wait::wait;
use girih::runtime::{self, Command, Memory};
use girih::{Code, Diagnostic, Span};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many memories were made.
static SERIALS: AtomicU64 = AtomicU64::new(0);

/// Memory of a device, or a part of it. Parts share the memory, which is given back when the last one goes.
#[pyclass(frozen, module = "girih")]
#[derive(Clone)]
pub(crate) struct Buffer {
    device: Device,
    /// All of the memory.
    whole: runtime::Buffer,
    serial: u64,
    /// Where the memory begins, for the host.
    address: u64,
    /// What keeps that address from being used otherwise, where the memory has none.
    _reserved: Option<Arc<Reserved>>,
    offset: u64,
    nbytes: u64,
}

impl Buffer {
    /// New memory of a device.
    pub fn new(py: Python<'_>, device: &Device, nbytes: u64) -> PyResult<Buffer> {
        py.detach(|| Buffer::make(device, nbytes))
    }

    /// The same for whoever does not keep other threads of Python from going on.
    pub fn make(device: &Device, nbytes: u64) -> PyResult<Buffer> {
        let whole = device.get()?.allocate(Memory::of(nbytes)).map_err(exception)?;
        let (address, reserved) = match whole.address() {
            Some(address) => (address, None),
            None => {
                let reserved = Reserved::of(nbytes)?;
                (reserved.address(), Some(Arc::new(reserved)))
            }
        };
        Ok(Buffer { _reserved: reserved, ..Buffer::over(device, whole, address) })
    }

    /// A part of memory, which the host has no address for.
    pub fn of(device: &Device, part: runtime::Buffer) -> Buffer {
        Buffer::over(device, part, 0)
    }

    fn over(device: &Device, whole: runtime::Buffer, address: u64) -> Buffer {
        let nbytes = whole.bytes();
        let serial = SERIALS.fetch_add(1, Ordering::Relaxed);
        Buffer { device: device.clone(), whole, serial, address, _reserved: None, offset: 0, nbytes }
    }

    /// All of the memory.
    pub fn whole(&self) -> &runtime::Buffer {
        &self.whole
    }

    /// What tells the memory from all others, also from those that are gone.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The byte of the memory where it begins.
    pub fn first_byte(&self) -> u64 {
        self.offset
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.nbytes
    }

    /// Where it begins, for the host.
    pub fn start(&self) -> u64 {
        self.address + self.offset
    }

    /// The device that it is of.
    pub fn owner(&self) -> &Device {
        &self.device
    }

    /// All of it from a byte on, for kernels.
    ///
    /// # Errors
    /// If it ends before that.
    pub fn rest_from(&self, offset: u64) -> PyResult<runtime::Buffer> {
        let nbytes = self.nbytes.checked_sub(offset).ok_or_else(|| self.outside(offset, 0))?;
        Ok(self.whole.slice(self.offset + offset, nbytes))
    }

    /// Where a part of it is in the memory.
    fn place(&self, offset: u64, nbytes: u64) -> PyResult<u64> {
        let is_inside = offset.checked_add(nbytes).is_some_and(|end| end <= self.nbytes);
        if is_inside { Ok(self.offset + offset) } else { Err(self.outside(offset, nbytes)) }
    }

    fn outside(&self, offset: u64, nbytes: u64) -> PyErr {
        let all = self.nbytes;
        wrong(format!("{nbytes} bytes from byte {offset} on are not in a buffer of {all} bytes"), None)
    }
}

/// Writes bytes at a place, whatever a device moves at once.
fn write(device: &runtime::Device, whole: &runtime::Buffer, place: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
    let is_whole = place.is_multiple_of(4) && bytes.len().is_multiple_of(4);
    if is_whole || device.driver().moves_bytes() {
        return device.write(whole, place, bytes);
    }
    let before = (place % 4) as usize;
    let mut around = vec![0; (before + bytes.len()).next_multiple_of(4)];
    let first = place - before as u64;
    device.read(whole, first, &mut around)?;
    around[before..before + bytes.len()].copy_from_slice(bytes);
    device.write(whole, first, &around)
}

/// Bytes of the host.
fn room(nbytes: u64) -> Result<Vec<u8>, Diagnostic> {
    let none = || Diagnostic::new(Code::OutOfMemory, Span::NONE, format!("the host has no {nbytes} bytes left"));
    let count = usize::try_from(nbytes).map_err(|_| none())?;
    let mut bytes = vec![];
    bytes.try_reserve_exact(count).map_err(|_| none())?;
    bytes.resize(count, 0);
    Ok(bytes)
}

/// Whether a device moves these bytes where they are.
fn is_moved(device: &runtime::Device, numbers: [u64; 3]) -> bool {
    device.driver().moves_bytes() || numbers.iter().all(|number| number.is_multiple_of(4))
}

#[pymethods]
impl Buffer {
    /// How many bytes it has.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// The device that it is of.
    #[getter]
    fn device(&self) -> Device {
        self.device.clone()
    }

    /// Where it is: for `cpu` an address of the host, for `cuda` one of the card. Others have none: then it is an address in a range that is reserved for this
    /// buffer, where the host faults.
    #[getter]
    fn address(&self) -> u64 {
        self.address + self.offset
    }

    /// A part, which shares the memory.
    fn slice(&self, offset: u64, nbytes: u64) -> PyResult<Buffer> {
        Ok(Buffer { offset: self.place(offset, nbytes)?, nbytes, ..self.clone() })
    }

    /// Writes the bytes of an object with the buffer protocol, behind all work so far. The object may be changed when this returns.
    #[pyo3(signature = (source, offset = 0))]
    fn write(&self, py: Python<'_>, source: &Bound<'_, PyAny>, offset: u64) -> PyResult<()> {
        recorder::spoil();
        let (device, source) = (self.device.get()?, HostMemory::of(source)?);
        let bytes = source.bytes();
        let place = self.place(offset, bytes.len() as u64)?;
        py.detach(|| write(device, &self.whole, place, bytes)).map_err(exception)
    }

    /// Waits for all work so far, and fills an object that has the buffer protocol and may be written.
    #[pyo3(signature = (target, offset = 0))]
    fn read_into(&self, py: Python<'_>, target: &Bound<'_, PyAny>, offset: u64) -> PyResult<()> {
        recorder::spoil();
        let (device, mut target) = (self.device.get()?, HostMemory::of(target)?);
        let bytes = target.bytes_mut()?;
        let place = self.place(offset, bytes.len() as u64)?;
        wait(py, device)?;
        py.detach(|| device.read(&self.whole, place, bytes)).map_err(exception)
    }

    /// Waits for all work so far, and gives bytes; without numbers all of them.
    #[pyo3(signature = (offset = 0, nbytes = None))]
    fn read<'py>(&self, py: Python<'py>, offset: u64, nbytes: Option<u64>) -> PyResult<Bound<'py, PyBytes>> {
        recorder::spoil();
        let device = self.device.get()?;
        let nbytes = nbytes.unwrap_or(self.nbytes.saturating_sub(offset));
        let place = self.place(offset, nbytes)?;
        wait(py, device)?;
        PyBytes::new_with(py, nbytes as usize, |bytes| {
            py.detach(|| device.read(&self.whole, place, bytes)).map_err(exception)
        })
    }

    /// Copies bytes of another buffer to this one, behind all work so far. Between two devices they go by way of the host.
    #[pyo3(signature = (other, src_offset = 0, dst_offset = 0, nbytes = None))]
    fn copy_from(
        &self,
        py: Python<'_>,
        other: &Buffer,
        src_offset: u64,
        dst_offset: u64,
        nbytes: Option<u64>,
    ) -> PyResult<()> {
        let (device, source) = (self.device.get()?, other.device.get()?);
        let nbytes = nbytes.unwrap_or(other.nbytes.saturating_sub(src_offset));
        let (from, to) = (other.place(src_offset, nbytes)?, self.place(dst_offset, nbytes)?);
        if nbytes == 0 {
            return Ok(());
        }
        let overlap = other.whole.shares_memory_with(&self.whole) && from < to + nbytes && to < from + nbytes;
        if device.is(source) && !overlap && is_moved(device, [from, to, nbytes]) {
            let copy = Command::copy((&other.whole, from), (&self.whole, to), nbytes);
            py.detach(|| device.submit(&[copy])).map_err(exception)?;
            recorder::copied((other, src_offset), (self, dst_offset), nbytes);
            return Ok(());
        }
        recorder::spoil();
        wait(py, source)?;
        let move_bytes = || {
            let mut bytes = room(nbytes)?;
            source.read(&other.whole, from, &mut bytes)?;
            write(device, &self.whole, to, &bytes)
        };
        py.detach(move_bytes).map_err(exception)
    }

    /// Fills bytes with zero, behind all work so far; without numbers all of them.
    #[pyo3(signature = (offset = 0, nbytes = None))]
    fn clear(&self, py: Python<'_>, offset: u64, nbytes: Option<u64>) -> PyResult<()> {
        let device = self.device.get()?;
        let nbytes = nbytes.unwrap_or(self.nbytes.saturating_sub(offset));
        let place = self.place(offset, nbytes)?;
        if nbytes == 0 {
            return Ok(());
        }
        let clear = || {
            // The last word of the memory is its own, also where it is not full.
            let end = place + nbytes;
            let padded = if end == self.whole.bytes() { end.next_multiple_of(4) - place } else { nbytes };
            if is_moved(device, [place, padded, 0]) {
                let padded = if device.driver().moves_bytes() { nbytes } else { padded };
                device.submit(&[Command::clear(&self.whole, place, padded)])?;
                return Ok(Some(padded));
            }
            write(device, &self.whole, place, &room(nbytes)?).map(|()| None)
        };
        match py.detach(clear).map_err(exception)? {
            Some(padded) => recorder::cleared(self, offset, padded),
            None => recorder::spoil(),
        }
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.nbytes as usize
    }

    fn __repr__(&self) -> String {
        format!("<girih.Buffer of {} bytes on {}>", self.nbytes, self.device.shown())
    }
}
