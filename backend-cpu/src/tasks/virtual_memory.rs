//! Ranges of addresses that become memory when they are touched.
//!
//! On Linux the cells lie low if there is room: where 31 bits name the first byte, processors take it as a part of an instruction. The
//! memory of a run that has ended is kept for the next one, because the system clears each page that it gives, which takes longer than most
//! programs take to fill it. The system may take it back meanwhile.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use kept::Kept;
use memmap2::{MmapOptions, MmapRaw};
use std::io;

/// A range of addresses.
pub(super) enum Reserved {
    /// Given back when it is dropped.
    Map(MmapRaw),
    /// Kept for the next one when it is dropped. None while that is done.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    Kept(Option<Kept>),
}

impl Reserved {
    /// So many bytes somewhere. They are zero.
    pub fn anywhere(bytes: usize) -> io::Result<Reserved> {
        Ok(Reserved::Map(MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?.into()))
    }

    /// So many bytes for cells, at a low address if possible. Earlier runs may have left something in them.
    pub fn for_cells(bytes: usize) -> io::Result<Reserved> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        if let Some(kept) = Kept::of(bytes).or_else(|| Kept::new(bytes)) {
            return Ok(Reserved::Kept(Some(kept)));
        }
        Reserved::anywhere(bytes)
    }

    /// Its first byte.
    pub fn start(&self) -> *mut u8 {
        match self {
            Reserved::Map(map) => map.as_mut_ptr(),
            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            Reserved::Kept(kept) => kept.as_ref().map_or(std::ptr::null_mut(), Kept::start),
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
impl Drop for Reserved {
    fn drop(&mut self) {
        if let Reserved::Kept(kept) = self
            && let Some(kept) = kept.take()
        {
            kept.keep();
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod kept {
    use std::sync::{Mutex, PoisonError};

    /// Low addresses that are mostly free.
    const PLACES: [usize; 3] = [0x1000_0000, 0x3000_0000, 0x6000_0000];

    /// The memory of the last run that has ended.
    static LAST: Mutex<Option<Kept>> = Mutex::new(None);

    /// So many bytes at an address; given back when it is dropped.
    pub struct Kept(*mut u8, usize);

    // SAFETY: it is no more than a range of addresses; whoever touches them sees to the rest.
    #[allow(unsafe_code)]
    unsafe impl Send for Kept {}
    // SAFETY: as above.
    #[allow(unsafe_code)]
    unsafe impl Sync for Kept {}

    impl Kept {
        /// So many bytes at the first of the low places where nothing is, or else where the system likes.
        pub fn new(bytes: usize) -> Option<Kept> {
            PLACES.iter().find_map(|place| at(*place, bytes)).or_else(|| mapped(0, bytes, 0))
        }

        /// What was kept, if it is of so many bytes. If not, it is given back.
        pub fn of(bytes: usize) -> Option<Kept> {
            let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
            last.filter(|last| last.1 == bytes)
        }

        /// Keeps it for who wants as many bytes next, unless something lower is kept. The system may take its pages.
        #[allow(unsafe_code)]
        pub fn keep(self) {
            // SAFETY: these are the bytes of the mapping, whose contents nobody needs any more.
            let _ = unsafe { libc::madvise(self.0.cast(), self.1, libc::MADV_FREE) };
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            let given_back = match &*last {
                Some(lower) if lower.1 == self.1 && lower.0 < self.0 => Some(self),
                Some(_) | None => last.replace(self),
            };
            drop(last);
            drop(given_back);
        }

        pub fn start(&self) -> *mut u8 {
            self.0
        }
    }

    impl Drop for Kept {
        #[allow(unsafe_code)]
        fn drop(&mut self) {
            // SAFETY: it is a mapping of its own, and whoever has used it is gone.
            unsafe { libc::munmap(self.0.cast(), self.1) };
        }
    }

    /// So many bytes at an address, if nothing is there.
    fn at(place: usize, bytes: usize) -> Option<Kept> {
        // Old kernels take the address for a wish.
        mapped(place, bytes, libc::MAP_FIXED_NOREPLACE).filter(|mapped| mapped.0.addr() == place)
    }

    /// A new mapping of so many bytes.
    #[allow(unsafe_code)]
    fn mapped(wanted: usize, bytes: usize, flags: libc::c_int) -> Option<Kept> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | flags;
        let wanted = std::ptr::without_provenance_mut(wanted);
        // SAFETY: a new mapping, which replaces none.
        let got = unsafe { libc::mmap(wanted, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if got == libc::MAP_FAILED {
            return None;
        }
        let mapped = Kept(got.cast(), bytes);
        // Fewer and larger pages, if the system likes; it makes no difference but in time.
        // SAFETY: these are the bytes of the mapping.
        let _ = unsafe { libc::madvise(got, bytes, libc::MADV_HUGEPAGE) };
        Some(mapped)
    }
}
