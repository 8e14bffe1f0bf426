//! Addresses for memory that has none the host knows.
//!
//! Invariant: a range of addresses is reserved and has no memory behind it, so whoever reads or writes there by mistake faults at once instead of changing
//! something else.

use crate::error::wrong;
use pyo3::prelude::*;
use region::{Allocation, Protection};

/// A range of addresses that nothing stands at.
pub(crate) struct Reserved(Allocation);

// SAFETY: nobody reads or writes through it: it is a number, and the range is given back once.
#[allow(unsafe_code)]
unsafe impl Send for Reserved {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Reserved {}

impl Reserved {
    /// As many addresses as bytes, and one where there are none.
    ///
    /// # Errors
    /// If there are not as many left.
    pub fn of(bytes: u64) -> PyResult<Reserved> {
        let size = usize::try_from(bytes.max(1)).ok();
        let reserved = size.and_then(|size| region::alloc(size, Protection::NONE).ok());
        reserved.map(Reserved).ok_or_else(|| wrong(format!("there are no {bytes} addresses left"), None))
    }

    /// The first one.
    pub fn address(&self) -> u64 {
        self.0.as_ptr::<u8>().addr() as u64
    }
}
