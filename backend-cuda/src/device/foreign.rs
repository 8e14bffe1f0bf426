//! Whose memory is at an address: buffers of others are taken as they are, so the driver is asked whether they are on this card.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::failure;
use cudarc::driver::sys::{self, CUcontext, CUdeviceptr, CUmemorytype, CUpointer_attribute, CUresult};
use girih_base::diag::Diagnostic;
use girih_runtime::driver::ALIGN;

/// What the driver says of an address; none if it does not know it, or has nothing to say.
///
/// # Safety
/// The type is the attribute's.
unsafe fn attribute<T: Default>(attribute: CUpointer_attribute, address: CUdeviceptr) -> Result<Option<T>, Diagnostic> {
    let mut value = T::default();
    // SAFETY: the driver writes one value of the type that the caller promises.
    match unsafe { sys::cuPointerGetAttribute((&raw mut value).cast(), attribute, address) } {
        CUresult::CUDA_SUCCESS => Ok(Some(value)),
        CUresult::CUDA_ERROR_INVALID_VALUE | CUresult::CUDA_ERROR_NOT_SUPPORTED => Ok(None),
        error => Err(failure(error, "tell whose memory is at an address")),
    }
}

/// Whether a byte is in memory that the context's work may use. Memory of a stream-ordered pool, or that was mapped by hand, belongs to a card
/// but to no context.
fn is_at(context: &Context, address: CUdeviceptr) -> Result<bool, Diagnostic> {
    use CUpointer_attribute as A;
    // SAFETY: the driver writes a handle, which is as large as a number of the same bits; a handle of 0 is none.
    let owner = unsafe { attribute::<usize>(A::CU_POINTER_ATTRIBUTE_CONTEXT, address) }?.unwrap_or(0);
    let owner: CUcontext = std::ptr::with_exposed_provenance_mut(owner);
    if !owner.is_null() {
        return Ok(owner == context.raw());
    }
    // SAFETY: the driver writes an `int`.
    let card = unsafe { attribute::<i32>(A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) }?;
    // SAFETY: the driver writes an `unsigned int`.
    let kind = unsafe { attribute::<u32>(A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) }?;
    Ok(card == Some(context.device()) && kind == Some(CUmemorytype::CU_MEMORYTYPE_DEVICE as u32))
}

/// Where the allocation ends that has a byte; none if the driver does not say.
fn end_of(address: CUdeviceptr) -> Result<Option<CUdeviceptr>, Diagnostic> {
    use CUpointer_attribute as A;
    // SAFETY: the driver writes an address.
    let start = unsafe { attribute::<CUdeviceptr>(A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) }?;
    // SAFETY: the driver writes a `size_t`.
    let bytes = unsafe { attribute::<usize>(A::CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) }?;
    let end = start.zip(bytes).and_then(|(start, bytes)| start.checked_add(bytes as u64));
    Ok(end.filter(|end| *end > address))
}

/// Whether bytes are all in memory that the context's work may use. One range may consist of several allocations, one behind another. What is before the first byte that an
/// owner has given, less than [`ALIGN`] bytes, is not asked for. The context is current.
pub(super) fn is_of(context: &Context, address: CUdeviceptr, bytes: u64) -> Result<bool, Diagnostic> {
    let Some(end) = address.checked_add(bytes) else { return Ok(false) };
    let mut at = address.saturating_add(u64::from(ALIGN) - 1).min(end.saturating_sub(1));
    while at < end && bytes > 0 {
        if !is_at(context, at)? {
            return Ok(false);
        }
        at = match end_of(at)? {
            Some(next) => next,
            // Its last byte is all that can be asked for.
            None if at + 1 < end => end - 1,
            None => end,
        };
    }
    Ok(true)
}
