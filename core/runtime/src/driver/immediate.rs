//! What drivers share whose work is done when it is submitted, on the host: blocks of its memory, and queues with nothing in them.

use super::{BlockId, Fence, Fetch, QueueId, Slice, bad_arguments};
use crate::Timing;
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::Idx;
use girih_base::span::Span;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The blocks of a device by number. The number of one that was given back is given out again.
#[derive(Debug)]
pub struct Blocks<B> {
    all: Vec<B>,
    free: Vec<BlockId>,
}

impl<B: Default> Blocks<B> {
    /// One block, which the device keeps for itself: number 0.
    pub fn with(own: B) -> Blocks<B> {
        Blocks { all: vec![own], free: vec![] }
    }

    /// Numbers a block.
    pub fn add(&mut self, block: B) -> BlockId {
        match self.free.pop() {
            Some(id) => {
                self.all[id.index()] = block;
                id
            }
            None => {
                self.all.push(block);
                BlockId::from_usize(self.all.len() - 1)
            }
        }
    }

    /// Takes a block back, which leaves an empty one.
    pub fn release(&mut self, block: BlockId) {
        self.all[block.index()] = B::default();
        self.free.push(block);
    }

    /// The block of a number.
    pub fn get(&self, block: BlockId) -> Option<&B> {
        self.all.get(block.index())
    }

    /// The device's own block.
    pub fn own_mut(&mut self) -> &mut B {
        &mut self.all[0]
    }

    /// All blocks, by number.
    pub fn all_mut(&mut self) -> &mut Vec<B> {
        &mut self.all
    }
}

/// Blocks that are bytes.
impl Blocks<Vec<u8>> {
    /// The bytes of a slice.
    pub fn bytes(&self, Slice { block, offset, bytes, .. }: Slice) -> &[u8] {
        &self.all[block.index()][offset as usize..(offset + bytes) as usize]
    }

    /// The bytes of a slice, to be changed.
    pub fn bytes_mut(&mut self, Slice { block, offset, bytes, .. }: Slice) -> &mut [u8] {
        &mut self.all[block.index()][offset as usize..(offset + bytes) as usize]
    }

    /// Copies a slice to another one of the same size.
    pub fn copy(&mut self, from: Slice, to: Slice) {
        let copied = self.bytes(from).to_vec();
        self.bytes_mut(to).copy_from_slice(&copied);
    }

    /// Fills a slice with zero.
    pub fn clear(&mut self, at: Slice) {
        self.bytes_mut(at).fill(0);
    }
}

/// The length of a block for a buffer of so many bytes: whole words, which is what the host reads and writes, and kernels that were made legal.
pub fn whole_words(bytes: u64) -> Option<usize> {
    usize::try_from(bytes).ok()?.checked_next_multiple_of(4)
}

/// A buffer of so many bytes is too large.
pub fn no_memory(bytes: u64) -> Diagnostic {
    let message = format!("a buffer of {bytes} bytes does not fit the memory of this machine");
    Diagnostic::new(Code::DeviceMemory, Span::NONE, message)
}

/// A new block for a buffer of so many bytes.
///
/// # Errors
/// If there is no memory for it.
pub fn zeroed(bytes: u64) -> Result<Vec<u8>, Diagnostic> {
    let length = whole_words(bytes).filter(|length| Vec::<u8>::new().try_reserve_exact(*length).is_ok());
    // The system gives pages of zeros when they are touched.
    length.map(|length| vec![0; length]).ok_or_else(|| no_memory(bytes))
}

/// Runs something so many times and says how long each of them took, by the host's clock.
///
/// # Errors
/// The first that it gives.
pub fn timed(runs: usize, mut run: impl FnMut() -> Result<(), Diagnostic>) -> Result<Timing, Diagnostic> {
    let mut timed = vec![];
    for _ in 0..runs {
        let begun = Instant::now();
        run()?;
        timed.push(begun.elapsed().max(Duration::from_nanos(1)));
    }
    Ok(Timing { runs: timed, exact: false })
}

/// A fence, and bytes, where all work is done.
#[derive(Debug)]
struct Done {
    failed: Failed,
    bytes: Mutex<Option<Vec<u8>>>,
}

impl Fence for Done {
    fn poll(&self) -> Result<bool, Diagnostic> {
        Ok(true)
    }
    fn wait(&self) -> Result<(), Diagnostic> {
        Ok(())
    }
    fn outcome(&self) -> Result<(), Diagnostic> {
        self.failed.tell()
    }
}

impl Fetch for Done {
    fn take(&self) -> Result<Vec<u8>, Diagnostic> {
        let taken = self.bytes.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| bad_arguments("the bytes were taken before"))
    }
}

/// What work of a queue has failed with, until somebody is told. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Failed(Arc<Mutex<Option<Diagnostic>>>);

impl Failed {
    fn lock(&self) -> MutexGuard<'_, Option<Diagnostic>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whether there is something to tell.
    pub fn is_set(&self) -> bool {
        self.lock().is_some()
    }
    /// Notes a failure, if it is the first one.
    pub fn note(&self, failure: Diagnostic) {
        self.lock().get_or_insert(failure);
    }
    /// Tells it.
    ///
    /// # Errors
    /// If there is something to tell.
    pub fn tell(&self) -> Result<(), Diagnostic> {
        self.lock().take().map_or(Ok(()), Err)
    }
}

/// The queues of a device: each has what its work failed with.
#[derive(Debug)]
pub struct DoneQueues(Mutex<Vec<Failed>>);

impl Default for DoneQueues {
    fn default() -> DoneQueues {
        DoneQueues(Mutex::new(vec![Failed::default()]))
    }
}

impl DoneQueues {
    fn lock(&self) -> MutexGuard<'_, Vec<Failed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A new one.
    pub fn open(&self) -> QueueId {
        let mut all = self.lock();
        all.push(Failed::default());
        QueueId::new(all.len() as u32 - 1)
    }
    /// What work of a queue failed with.
    pub fn failed(&self, queue: QueueId) -> Failed {
        self.lock().get(queue.index()).cloned().unwrap_or_default()
    }
    /// The point that a queue has come to.
    pub fn fence(&self, queue: QueueId) -> Box<dyn Fence> {
        Box::new(Done { failed: self.failed(queue), bytes: Mutex::default() })
    }
    /// Bytes that were read in a queue.
    pub fn fetched(&self, queue: QueueId, bytes: Vec<u8>) -> Box<dyn Fetch> {
        Box::new(Done { failed: self.failed(queue), bytes: Mutex::new(Some(bytes)) })
    }
}
