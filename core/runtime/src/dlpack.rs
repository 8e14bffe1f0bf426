//! Tensors of other libraries, in and out, without a copy: the structures of DLPack 1, and of DLPack before it had versions.
//!
//! Invariant: whoever has a structure that was exported calls its deleter once, and what it leads to lives until then. Whoever imports one takes it
//! over if that succeeds, and leaves it to the caller if it does not.

// The edge to other libraries: every block says why it is safe.
#![allow(unsafe_code)]

use crate::driver::bad_arguments;
use crate::{Buffer, Device, DeviceKind, Memory, Stream};
use girih_base::diag::Diagnostic;
use std::ffi::c_void;
use std::ptr::NonNull;

/// The version that is written; others of the same major one are read.
pub const VERSION: PackVersion = PackVersion { major: 1, minor: 0 };
/// A flag: nobody may write.
pub const READ_ONLY: u64 = 1;

/// A version of DLPack.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackVersion {
    /// Other ones have other structures.
    pub major: u32,
    /// Later ones have more kinds and types.
    pub minor: u32,
}

/// Where memory is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackDevice {
    /// Which kind: [`HOST`], [`CUDA`], [`PINNED_HOST`] or [`MANAGED`].
    pub kind: i32,
    /// Its number.
    pub id: i32,
}

/// The host's memory.
pub const HOST: i32 = 1;
/// Memory of a CUDA card.
pub const CUDA: i32 = 2;
/// Memory of the host that CUDA has locked: the processor takes it as the host's.
pub const PINNED_HOST: i32 = 3;
/// Memory that CUDA moves between host and card: the card takes it as its own.
pub const MANAGED: i32 = 13;

/// What an element is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// 0 is a signed whole number, 1 an unsigned one, 2 a float, 4 a `bf16`, 6 a truth value.
    pub code: u8,
    /// Its bits.
    pub bits: u8,
    /// How many there are side by side: 1 for numbers.
    pub lanes: u16,
}

impl DataType {
    /// A signed whole number.
    pub const fn int(bits: u8) -> DataType {
        DataType { code: 0, bits, lanes: 1 }
    }
    /// An unsigned whole number.
    pub const fn unsigned(bits: u8) -> DataType {
        DataType { code: 1, bits, lanes: 1 }
    }
    /// A float of IEEE 754.
    pub const fn float(bits: u8) -> DataType {
        DataType { code: 2, bits, lanes: 1 }
    }

    /// Bytes of an element; none if it does not consist of whole bytes.
    pub fn bytes(self) -> Option<u64> {
        let bits = u64::from(self.bits) * u64::from(self.lanes);
        (bits > 0 && bits.is_multiple_of(8)).then_some(bits / 8)
    }
}

/// A tensor: `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PackTensor {
    /// Its memory.
    pub data: *mut c_void,
    /// Where that is.
    pub device: PackDevice,
    /// How many dimensions it has.
    pub ndim: i32,
    /// What its elements are.
    pub dtype: DataType,
    /// So many numbers: how many elements there are in each dimension.
    pub shape: *mut i64,
    /// So many numbers: how many elements lie between two of a dimension. Null if it is compact, the last dimension varying fastest.
    pub strides: *mut i64,
    /// The byte of the memory where it begins.
    pub byte_offset: u64,
}

/// A tensor, and who is told when it is not used any more: `DLManagedTensor`.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedTensor {
    /// The tensor.
    pub tensor: PackTensor,
    /// The owner's own.
    pub context: *mut c_void,
    /// Tells the owner, if it is there.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// The same with a version: `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedTensorVersioned {
    /// By which it is to be read.
    pub version: PackVersion,
    /// The owner's own.
    pub context: *mut c_void,
    /// Tells the owner, if it is there.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensorVersioned)>,
    /// [`READ_ONLY`], and others that say nothing to a reader.
    pub flags: u64,
    /// The tensor.
    pub tensor: PackTensor,
}

/// A buffer as a tensor: all of its elements are in the buffer.
#[derive(Clone, Debug)]
pub struct Tensor {
    buffer: Buffer,
    dtype: DataType,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Strides of a compact tensor.
fn compact(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    strides
}

/// Bytes that a tensor reaches, from its first element on.
fn extent(dtype: DataType, shape: &[i64], strides: &[i64]) -> Result<u64, Diagnostic> {
    let Some(element) = dtype.bytes() else {
        return Err(bad_arguments(format!(
            "elements of {} bits, of which there are {} side by side",
            dtype.bits, dtype.lanes
        )));
    };
    if shape.iter().any(|n| *n < 0) || strides.iter().any(|n| *n < 0) {
        return Err(bad_arguments(format!(
            "a tensor of shape {shape:?} has strides {strides:?}: none of them may be negative"
        )));
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let last = shape
        .iter()
        .zip(strides)
        .try_fold(0u64, |sum, (count, stride)| sum.checked_add((*count as u64 - 1).checked_mul(*stride as u64)?));
    let bytes = last.and_then(|last| last.checked_add(1)?.checked_mul(element));
    bytes.ok_or_else(|| bad_arguments(format!("a tensor of shape {shape:?} is more than memory holds")))
}

/// What a device is called, where memory has addresses.
fn place(device: &Device) -> Result<PackDevice, Diagnostic> {
    let kind = match device.info().kind {
        DeviceKind::Cpu => HOST,
        DeviceKind::Cuda => CUDA,
        DeviceKind::Interpreter | DeviceKind::Wgpu | DeviceKind::WgpuSoftware => {
            let message = format!("memory of `{}` has no addresses that others know", device.info().name);
            return Err(bad_arguments(message).hint("use `cpu` or `cuda`, or copy through the host"));
        }
    };
    Ok(PackDevice { kind, id: device.driver().ordinal() as i32 })
}

impl Tensor {
    /// All of a buffer's first elements, compact.
    ///
    /// # Errors
    /// If the buffer has fewer.
    pub fn new(buffer: Buffer, dtype: DataType, shape: &[i64]) -> Result<Tensor, Diagnostic> {
        Tensor::with_strides(buffer, dtype, shape, &compact(shape))
    }

    /// Elements of a buffer, from its first one on, of which so many lie between two of each dimension.
    ///
    /// # Errors
    /// If they are not all in the buffer.
    pub fn with_strides(buffer: Buffer, dtype: DataType, shape: &[i64], strides: &[i64]) -> Result<Tensor, Diagnostic> {
        if shape.len() != strides.len() {
            return Err(bad_arguments(format!("a tensor of shape {shape:?} has the strides {strides:?}")));
        }
        let bytes = extent(dtype, shape, strides)?;
        buffer.in_driver()?;
        if bytes > buffer.bytes() {
            let message = format!("a tensor of {bytes} bytes is more than its buffer, which has {}", buffer.bytes());
            return Err(bad_arguments(message));
        }
        Ok(Tensor { buffer, dtype, shape: shape.to_vec(), strides: strides.to_vec() })
    }

    /// Its memory, from the first element on.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }
    /// What its elements are.
    pub fn dtype(&self) -> DataType {
        self.dtype
    }
    /// How many elements there are in each dimension.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }
    /// How many elements lie between two of each dimension.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }
    /// Whether whoever gave it allows nobody to write. Work that would is refused.
    pub fn is_read_only(&self) -> bool {
        self.buffer.is_read_only()
    }

    /// Takes a tensor of somebody else. It is told when the last buffer that has the memory is gone and work on it is done.
    ///
    /// # Errors
    /// If it is of another version or device, or does not consist of whole bytes; then it is still the caller's.
    ///
    /// # Safety
    /// The structure is one of DLPack that nobody else takes; its memory may be used as [`Device::import`] says, and its deleter may be called from any thread.
    pub unsafe fn import(device: &Device, managed: NonNull<ManagedTensorVersioned>) -> Result<Tensor, Diagnostic> {
        // SAFETY: all versions begin with the version, and this one was looked at before anything else is.
        let version = unsafe { (*managed.as_ptr()).version };
        if version.major != VERSION.major {
            let message = format!("a tensor of DLPack {}.{} is given", version.major, version.minor);
            return Err(bad_arguments(message).hint(format!("version {} is read", VERSION.major)));
        }
        // SAFETY: the caller's promise: it is one of this version.
        let (tensor, flags) = unsafe { ((*managed.as_ptr()).tensor, (*managed.as_ptr()).flags) };
        let owner = Owner(managed);
        let is_read_only = flags & READ_ONLY != 0;
        // SAFETY: as above; the owner is told by its own deleter, once.
        unsafe { Tensor::of(device, &tensor, is_read_only, move || owner.tell()) }
    }

    /// The same for a structure without a version.
    ///
    /// # Errors
    /// As [`import`](Self::import).
    ///
    /// # Safety
    /// As [`import`](Self::import).
    pub unsafe fn import_unversioned(device: &Device, managed: NonNull<ManagedTensor>) -> Result<Tensor, Diagnostic> {
        // SAFETY: the caller's promise.
        let tensor = unsafe { (*managed.as_ptr()).tensor };
        let owner = UnversionedOwner(managed);
        // SAFETY: as above; the owner is told by its own deleter, once.
        unsafe { Tensor::of(device, &tensor, false, move || owner.tell()) }
    }

    /// # Safety
    /// The tensor is one of DLPack, whose memory is there until `told` is called.
    unsafe fn of(
        device: &Device,
        tensor: &PackTensor,
        is_read_only: bool,
        told: impl FnOnce() + Send + 'static,
    ) -> Result<Tensor, Diagnostic> {
        let here = place(device)?;
        let is_here = match tensor.device.kind {
            // The number is that of the card that has locked it.
            PINNED_HOST => here.kind == HOST,
            MANAGED => here == PackDevice { kind: CUDA, id: tensor.device.id },
            _ => tensor.device == here,
        };
        if !is_here {
            let (given, wanted) = (tensor.device, here);
            let message = format!(
                "a tensor of the device of kind {} with number {} is given to one of kind {} with number {}",
                given.kind, given.id, wanted.kind, wanted.id
            );
            return Err(bad_arguments(message).hint("copy it to the device first"));
        }
        let count = usize::try_from(tensor.ndim).map_err(|_| bad_arguments("a tensor has fewer than no dimensions"))?;
        let numbers = |at: *mut i64| match count {
            0 => vec![],
            // SAFETY: the caller's promise: there are so many numbers.
            _ => unsafe { std::slice::from_raw_parts(at, count) }.to_vec(),
        };
        if count > 0 && tensor.shape.is_null() {
            return Err(bad_arguments("a tensor has no shape"));
        }
        let shape = numbers(tensor.shape);
        let strides = if tensor.strides.is_null() { compact(&shape) } else { numbers(tensor.strides) };
        let bytes = extent(tensor.dtype, &shape, &strides)?;
        if bytes == 0 {
            let buffer = device.allocate(Memory::of(0))?;
            told();
            return Ok(Tensor { buffer, dtype: tensor.dtype, shape, strides });
        }
        if tensor.data.is_null() {
            return Err(bad_arguments("a tensor has elements, but no memory"));
        }
        let address = (tensor.data.expose_provenance() as u64).checked_add(tensor.byte_offset);
        let address = address.ok_or_else(|| bad_arguments("a tensor begins beyond all addresses"))?;
        let buffer = match is_read_only {
            // SAFETY: the caller's promise.
            true => unsafe { device.import_read_only(address, bytes, told) }?,
            // SAFETY: the caller's promise.
            false => unsafe { device.import(address, bytes, told) }?,
        };
        Ok(Tensor { buffer, dtype: tensor.dtype, shape, strides })
    }

    /// A structure for somebody else, which keeps the memory until its deleter is called. What was submitted has to be done before anybody looks at the
    /// bytes, and what others do with them before the deleter is called: on a card see [`export_for`](Self::export_for).
    ///
    /// # Errors
    /// If the device's memory has no addresses.
    pub fn export(&self) -> Result<NonNull<ManagedTensorVersioned>, Diagnostic> {
        self.versioned(None)
    }

    /// The same for whoever works in a stream, usually [one of his own](Device::adopt_stream). It comes behind all work that was given to the memory so far, and when the deleter is called the memory is used
    /// again only behind what is in the stream then. Nothing waits on the host. The stream is kept open until then.
    ///
    /// # Errors
    /// As [`export`](Self::export), and if the stream is of another device.
    pub fn export_for(&self, consumer: &Stream) -> Result<NonNull<ManagedTensorVersioned>, Diagnostic> {
        self.versioned(Some(consumer))
    }

    fn versioned(&self, consumer: Option<&Stream>) -> Result<NonNull<ManagedTensorVersioned>, Diagnostic> {
        let flags = if self.is_read_only() { READ_ONLY } else { 0 };
        let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut ManagedTensorVersioned));
        let make = |tensor, context| ManagedTensorVersioned { version: VERSION, context, deleter, flags, tensor };
        self.exported(consumer, make)
    }

    /// The same without a version.
    ///
    /// # Errors
    /// As [`export`](Self::export); and if nobody may write, which that structure cannot say.
    pub fn export_unversioned(&self) -> Result<NonNull<ManagedTensor>, Diagnostic> {
        if self.is_read_only() {
            return Err(bad_arguments("a tensor that nobody may write is exported without a version")
                .hint("export it with a version, which says so"));
        }
        self.exported(None, |tensor, context| ManagedTensor { tensor, context, deleter: Some(delete) })
    }

    fn exported<T>(
        &self,
        consumer: Option<&Stream>,
        make: impl FnOnce(PackTensor, *mut c_void) -> T,
    ) -> Result<NonNull<T>, Diagnostic> {
        let device = place(&self.buffer.device())?;
        let address = self.buffer.address().ok_or_else(|| bad_arguments("the buffer has no address"))?;
        // There is nothing to look at where there are no elements.
        let address = if self.shape.contains(&0) { 0 } else { address };
        if let Some(consumer) = consumer {
            consumer.uses(&self.buffer)?;
        }
        let mut kept = Box::new(Kept {
            managed: None,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            _buffer: self.buffer.clone(),
            _consumer: consumer.cloned(),
        });
        let tensor = PackTensor {
            data: std::ptr::with_exposed_provenance_mut(address as usize),
            device,
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            shape: kept.shape.as_mut_ptr(),
            strides: kept.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let kept = Box::into_raw(kept);
        // SAFETY: the box was given up right here, and nobody else has it.
        let managed = unsafe { (*kept).managed.insert(make(tensor, kept.cast())) };
        Ok(NonNull::from(managed))
    }
}

/// What a structure that was exported leads to.
struct Kept<T> {
    managed: Option<T>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    /// Goes before the stream does, which is then asked how far it is.
    _buffer: Buffer,
    _consumer: Option<Stream>,
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedTensorVersioned) {
    if !managed.is_null() {
        // SAFETY: `exported` has put a box there that was given up, and this is called once.
        drop(unsafe { Box::from_raw((*managed).context.cast::<Kept<ManagedTensorVersioned>>()) });
    }
}

unsafe extern "C" fn delete(managed: *mut ManagedTensor) {
    if !managed.is_null() {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw((*managed).context.cast::<Kept<ManagedTensor>>()) });
    }
}

/// Who is told by a structure that was imported.
struct Owner(NonNull<ManagedTensorVersioned>);
// SAFETY: whoever imports promises that the deleter may be called from any thread; nothing else is done with it.
unsafe impl Send for Owner {}

impl Owner {
    fn tell(self) {
        // SAFETY: the structure was taken over, and its deleter is called once: this value goes.
        unsafe {
            if let Some(deleter) = (*self.0.as_ptr()).deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

/// The same without a version.
struct UnversionedOwner(NonNull<ManagedTensor>);
// SAFETY: as above.
unsafe impl Send for UnversionedOwner {}

impl UnversionedOwner {
    fn tell(self) {
        // SAFETY: as above.
        unsafe {
            if let Some(deleter) = (*self.0.as_ptr()).deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_laid_out_as_in_c() {
        assert_eq!((size_of::<PackTensor>(), size_of::<ManagedTensor>()), (48, 64));
        assert_eq!(size_of::<ManagedTensorVersioned>(), 80);
        assert_eq!(std::mem::offset_of!(ManagedTensorVersioned, tensor), 32);
        assert_eq!(std::mem::offset_of!(PackTensor, shape), 24);
    }

    #[test]
    fn extents_are_those_of_the_last_element() {
        let float = DataType::float(32);
        assert_eq!(extent(float, &[2, 3], &[3, 1]).ok(), Some(24));
        assert_eq!(extent(float, &[2, 3], &[8, 2]).ok(), Some(52));
        assert_eq!(extent(float, &[], &[]).ok(), Some(4));
        assert_eq!(extent(float, &[5, 0], &[1, 1]).ok(), Some(0));
        assert!(extent(float, &[i64::MAX, i64::MAX], &[i64::MAX, 1]).is_err());
        assert!(extent(float, &[2], &[-1]).is_err());
        assert!(extent(DataType::int(4), &[2], &[1]).is_err());
        assert_eq!(compact(&[4, 5, 6]), [30, 6, 1]);
    }
}
