//! Ranges of addresses that become memory when they are touched.
//!
//! On Linux the cells lie low if there is room: where 31 bits name the first byte, processors take it as a part of an instruction. The
//! memory of a run that has ended is kept for the next one, because the system clears each page that it gives, which takes longer than most
//! programs take to fill it. The system may take it back meanwhile.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use low::Low;
use memmap2::{MmapOptions, MmapRaw};
use std::io;

/// A range of addresses.
pub(super) enum Reserved {
    /// Anywhere; given back when it is dropped.
    Map(MmapRaw),
    /// At a low address; kept for the next one when it is dropped. None while that is done.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    Low(Option<Low>),
}

impl Reserved {
    /// So many bytes somewhere. They are zero.
    pub fn anywhere(bytes: usize) -> io::Result<Reserved> {
        Ok(Reserved::Map(MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?.into()))
    }

    /// So many bytes, at a low address if possible. Earlier runs may have left something in them.
    pub fn low(bytes: usize) -> io::Result<Reserved> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if let Some(low) = Low::kept(bytes).or_else(|| Low::new(bytes)) {
            return Ok(Reserved::Low(Some(low)));
        }
        Reserved::anywhere(bytes)
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        match self {
            Reserved::Map(map) => map.as_mut_ptr(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            Reserved::Low(low) => low.as_ref().map_or(std::ptr::null_mut(), Low::start),
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
impl Drop for Reserved {
    fn drop(&mut self) {
        if let Reserved::Low(low) = self
            && let Some(low) = low.take()
        {
            low.keep();
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod low {
    use std::sync::{Mutex, PoisonError};

    /// Low addresses that are mostly free.
    const PLACES: [usize; 3] = [0x1000_0000, 0x3000_0000, 0x6000_0000];

    /// The memory of the last run that has ended.
    static KEPT: Mutex<Option<Low>> = Mutex::new(None);

    /// So many bytes at an address; given back when it is dropped.
    pub struct Low(*mut u8, usize);

    // SAFETY: it is no more than a range of addresses; whoever touches them sees to the rest.
    #[allow(unsafe_code)]
    unsafe impl Send for Low {}
    // SAFETY: as above.
    #[allow(unsafe_code)]
    unsafe impl Sync for Low {}

    impl Low {
        /// So many bytes at the first of the places where nothing is.
        pub fn new(bytes: usize) -> Option<Low> {
            PLACES.iter().find_map(|place| at(*place, bytes))
        }

        /// What was kept, if it is of so many bytes. If not, it is given back.
        pub fn kept(bytes: usize) -> Option<Low> {
            let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
            kept.filter(|kept| kept.1 == bytes)
        }

        /// Keeps it for who wants as many bytes next. The system may take its pages.
        #[allow(unsafe_code)]
        pub fn keep(self) {
            // SAFETY: these are the bytes of the mapping, whose contents nobody needs any more.
            let _ = unsafe { libc::madvise(self.0.cast(), self.1, libc::MADV_FREE) };
            let before = KEPT.lock().unwrap_or_else(PoisonError::into_inner).replace(self);
            drop(before);
        }

        pub fn start(&self) -> *mut u8 {
            self.0
        }
    }

    impl Drop for Low {
        #[allow(unsafe_code)]
        fn drop(&mut self) {
            // SAFETY: it is a mapping of its own, and whoever has used it is gone.
            unsafe { libc::munmap(self.0.cast(), self.1) };
        }
    }

    /// So many bytes at an address, if nothing is there.
    #[allow(unsafe_code)]
    fn at(place: usize, bytes: usize) -> Option<Low> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let wanted = std::ptr::without_provenance_mut(place);
        // SAFETY: a new mapping, which replaces none.
        let got = unsafe { libc::mmap(wanted, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if got == libc::MAP_FAILED {
            return None;
        }
        let reserved = Low(got.cast(), bytes);
        // Fewer and larger pages, if the system likes; it makes no difference but in time.
        // SAFETY: these are the bytes of the mapping.
        let _ = unsafe { libc::madvise(got, bytes, libc::MADV_HUGEPAGE) };
        // Old kernels take the address for a wish.
        (got.addr() == place).then_some(reserved)
    }
}
