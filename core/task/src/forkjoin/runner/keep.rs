//! A heap without what nobody needs: between two calls, what some words of the host lead to moves to the heap's beginning, as it does when
//! a [collection](super::collect) makes room.
//!
//! Who shares a cell does so afterwards, and who owned one alone still does. Definitions are computed again when they are needed: what they gave
//! is not kept.

use super::ForkJoinRunner;
use super::collect::Roots;
use crate::forkjoin::memory::control;
use girih_base::diag::Code;
use girih_base::words;
use girih_runtime::Fault;

impl ForkJoinRunner {
    /// Keeps what words lead to, and says what these have become; nothing changes if the device has no memory to do so.
    pub(super) fn keep(&mut self, named: &[u32]) -> Result<Option<Vec<u32>>, Fault> {
        match self.keep_there(named) {
            Err(Fault::Device(error)) if error.code == Code::DeviceMemory => Ok(None),
            found => found.map(Some),
        }
    }

    fn keep_there(&mut self, named: &[u32]) -> Result<Vec<u32>, Fault> {
        // A buffer has a word at least.
        let image = if named.is_empty() { &[0] } else { named };
        let buffer = self.device.upload(&words::to_bytes(image)).map_err(Fault::Device)?;
        let roots = Roots::Words { words: buffer.clone(), count: named.len() as u32 };
        let top = self.reclaim(self.shape.first_unit(), &roots)?;
        let kept = self.read(&buffer, 0, named.len()).map_err(Fault::Device)?;
        let (epochs, tasks) = (self.seen(control::EPOCHS), self.seen(control::TASKS));
        self.clear().map_err(Fault::Device)?;
        for (word, value) in [(control::EPOCHS, epochs), (control::TASKS, tasks), (control::HEAP_TOP, top)] {
            self.set(word, value).map_err(Fault::Device)?;
        }
        self.is_used = true;
        self.kept_top = top;
        Ok(kept)
    }
}
