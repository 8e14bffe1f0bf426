//! Ranges of addresses that become memory when they are touched.
//!
//! On Linux the cells lie low if there is room: where 31 bits name the first byte, processors take it as a part of an instruction.

use memmap2::{MmapOptions, MmapRaw};
use std::io;

/// A range of addresses, given back when it is dropped.
pub(super) enum Reserved {
    /// Anywhere.
    Map(MmapRaw),
    /// At an address that was asked for.
    #[cfg(target_os = "linux")]
    At(*mut u8, usize),
}

// SAFETY: it is no more than a range of addresses; whoever touches them sees to the rest.
#[allow(unsafe_code)]
unsafe impl Send for Reserved {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Reserved {}

impl Reserved {
    /// So many bytes somewhere.
    pub fn anywhere(bytes: usize) -> io::Result<Reserved> {
        Ok(Reserved::Map(MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?.into()))
    }

    /// So many bytes, at a low address if possible.
    pub fn low(bytes: usize) -> io::Result<Reserved> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if let Some(reserved) = PLACES.iter().find_map(|place| at(*place, bytes)) {
            return Ok(reserved);
        }
        Reserved::anywhere(bytes)
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        match self {
            Reserved::Map(map) => map.as_mut_ptr(),
            #[cfg(target_os = "linux")]
            Reserved::At(start, _) => *start,
        }
    }
}

/// Low addresses that are mostly free.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
const PLACES: [usize; 3] = [0x1000_0000, 0x3000_0000, 0x6000_0000];

/// So many bytes at an address, if nothing is there.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[allow(unsafe_code)]
fn at(place: usize, bytes: usize) -> Option<Reserved> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let wanted = std::ptr::without_provenance_mut(place);
    // SAFETY: a new mapping, which replaces none.
    let got = unsafe { libc::mmap(wanted, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return None;
    }
    let reserved = Reserved::At(got.cast(), bytes);
    // Fewer and larger pages, if the system likes; it makes no difference but in time.
    // SAFETY: these are the bytes of the mapping.
    let _ = unsafe { libc::madvise(got, bytes, libc::MADV_HUGEPAGE) };
    // Old kernels take the address for a wish.
    (got.addr() == place).then_some(reserved)
}

#[cfg(target_os = "linux")]
impl Drop for Reserved {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Reserved::At(start, bytes) = self {
            // SAFETY: it is a mapping of its own, and whoever has used it is gone.
            unsafe { libc::munmap(start.cast(), *bytes) };
        }
    }
}
