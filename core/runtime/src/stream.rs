//! Streams: work in order.
//!
//! Invariant: submitting never waits for work. Whoever wants to wait calls `wait`, and whoever must not, as a page in a browser, awaits an
//! [`Event`] or a [`Download`].

use crate::device::Core;
use crate::driver::{self, FIRST_QUEUE, QueueId, Slice, bad_arguments};
use crate::event::{Download, Event};
use crate::{Buffer, Command, Device, Dispatch, Memory, Read, Timing};
use girih_base::diag::Diagnostic;
use std::fmt;
use std::sync::Arc;

/// A queue that is closed when nobody uses it any more.
pub(crate) struct Closing {
    core: Arc<Core>,
    queue: QueueId,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.core.allocator.close(self.queue);
    }
}

/// An order of work on a device. Clones are the same one.
#[derive(Clone)]
pub struct Stream {
    core: Arc<Core>,
    queue: QueueId,
    /// None for the first one, which lives as long as the device.
    closing: Option<Arc<Closing>>,
}

impl Stream {
    pub(crate) fn first(core: Arc<Core>) -> Stream {
        Stream { core, queue: FIRST_QUEUE, closing: None }
    }
    pub(crate) fn opened(core: Arc<Core>, queue: QueueId) -> Stream {
        core.open.add(queue);
        let closing = Some(Arc::new(Closing { core: core.clone(), queue }));
        Stream { core, queue, closing }
    }

    /// The device.
    pub fn device(&self) -> Device {
        Device::of(self.core.clone())
    }
    pub(crate) fn queue(&self) -> QueueId {
        self.queue
    }

    /// A new buffer for this stream's work: memory that this stream has used before is used again without waiting. What is in it is not said.
    ///
    /// # Errors
    /// If there is not as much memory.
    pub fn allocate(&self, memory: Memory) -> Result<Buffer, Diagnostic> {
        self.device().allocate_in(memory, self.queue, self.closing.clone()).map(|(buffer, _)| buffer)
    }

    /// The same, all zero.
    ///
    /// # Errors
    /// If there is not as much memory, or the device fails.
    pub fn zeroed(&self, memory: Memory) -> Result<Buffer, Diagnostic> {
        let (buffer, is_new) = self.device().allocate_in(memory, self.queue, self.closing.clone())?;
        if memory.bytes > 0 && !(is_new && self.core.driver.starts_zeroed()) {
            self.submit(&[Command::clear(&buffer, 0, memory.bytes.next_multiple_of(4))])?;
        }
        Ok(buffer)
    }

    /// Queues commands. Nothing is queued if an error is returned.
    ///
    /// # Errors
    /// If a command is wrong, or the device fails.
    pub fn submit(&self, commands: &[Command]) -> Result<(), Diagnostic> {
        let commands = resolve(&self.core, self.queue, commands)?;
        self.core.driver.submit(self.queue, &commands)
    }

    /// Writes bytes from a place on (a multiple of 4), after this stream's work so far. They may be changed when this returns. Their number is a multiple of
    /// 4, unless they end where the buffer does.
    ///
    /// # Errors
    /// If they do not fit, or the device fails.
    pub fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let count = bytes.len() as u64;
        if buffer.is_foreign() || count.is_multiple_of(4) || offset.checked_add(count) != Some(buffer.bytes()) {
            let to = buffer.slice(offset, count).resolve_words(&self.core, self.queue)?;
            return self.core.driver.write(self.queue, to, bytes);
        }
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        let to = buffer.slice(offset, padded.len() as u64).resolve_words(&self.core, self.queue)?;
        self.core.driver.write(self.queue, to, &padded)
    }

    /// Waits for this stream's work and reads bytes (from a multiple of 4 on). Their number is a multiple of 4, unless they end where the buffer does.
    ///
    /// # Errors
    /// If they are not there, or work or the device fails.
    pub fn read(&self, buffer: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), Diagnostic> {
        self.submit_and_read(&[], &mut [Read::new(buffer, offset, bytes)])
    }

    /// Queues commands, waits for this stream's work, and reads what it left. Nothing is queued if a command or a place is wrong.
    ///
    /// # Errors
    /// If a command or a place is wrong, or work or the device fails.
    pub fn submit_and_read(&self, commands: &[Command], reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        let commands = resolve(&self.core, self.queue, commands)?;
        // Devices move whole words: a read that ends within one, where its memory ends, goes by way of the host.
        let mut padded: Vec<Vec<u8>> = reads.iter().map(Read::padded).collect();
        let mut places = reads
            .iter_mut()
            .zip(&mut padded)
            .map(|(read, padded)| {
                let bytes = if padded.is_empty() { &mut *read.bytes } else { &mut padded[..] };
                let room = bytes.len() as u64;
                let from = if read.from.bytes() == room { read.from.clone() } else { read.from.slice(0, room) };
                Ok(Read { from: from.resolve_words(&self.core, self.queue)?, bytes })
            })
            .collect::<Result<Vec<Read<'_, Slice>>, Diagnostic>>()?;
        self.core.driver.read(self.queue, &commands, &mut places)?;
        for (read, padded) in reads.iter_mut().zip(&padded).filter(|(_, padded)| !padded.is_empty()) {
            read.bytes.copy_from_slice(&padded[..read.bytes.len()]);
        }
        Ok(())
    }

    /// Queues reading so many bytes from a place on (both multiples of 4). They can be waited for, or awaited.
    ///
    /// # Errors
    /// If they are not there, or the device fails.
    pub fn download(&self, buffer: &Buffer, offset: u64, bytes: u64) -> Result<Download, Diagnostic> {
        let from = buffer.slice(offset, bytes).resolve_words(&self.core, self.queue)?;
        Ok(Download::new(self.core.driver.fetch(self.queue, from)?, buffer.clone(), self.clone()))
    }

    /// A point behind all of this stream's work so far.
    ///
    /// # Errors
    /// If the device fails.
    pub fn record(&self) -> Result<Event, Diagnostic> {
        Ok(Event::new(self.core.driver.fence(self.queue, true)?, self.clone()))
    }

    /// This stream's work from now on begins when the work that another stream of the device has now is done. Nothing waits on the host.
    ///
    /// # Errors
    /// If the other stream is of another device, or the device fails.
    pub fn after(&self, other: &Stream) -> Result<(), Diagnostic> {
        if !self.core.is_family(&other.core) {
            let message = "a stream comes after one of another device";
            return Err(bad_arguments(message).hint("wait for an event of the other stream on the host"));
        }
        if self.queue == other.queue { Ok(()) } else { self.core.driver.follow(self.queue, other.queue) }
    }

    /// Waits until this stream's work is done.
    ///
    /// # Errors
    /// If something in it failed or trapped, or the device fails.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.core.driver.read(self.queue, &[], &mut [])
    }

    /// Runs commands `runs` times, queued at once where the device has a queue, and says how long each run took.
    ///
    /// # Errors
    /// As [`submit`](Self::submit) and [`wait`](Self::wait).
    pub fn time(&self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let commands = resolve(&self.core, self.queue, commands)?;
        self.core.driver.time(self.queue, &commands, runs)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.queue)
    }
}

/// Commands as the driver has them.
pub(crate) fn resolve(core: &Core, queue: QueueId, commands: &[Command]) -> Result<Vec<driver::Command>, Diagnostic> {
    commands.iter().map(|command| resolve_one(core, queue, command)).collect()
}

pub(crate) fn resolve_one(core: &Core, queue: QueueId, command: &Command) -> Result<driver::Command, Diagnostic> {
    Ok(match command {
        Command::Dispatch(dispatch) => driver::Command::Dispatch(resolve_dispatch(core, queue, dispatch)?),
        Command::Copy { from, to } => {
            if from.bytes() != to.bytes() {
                let message = format!("{} bytes are copied to {} bytes", from.bytes(), to.bytes());
                return Err(bad_arguments(message));
            }
            driver::Command::Copy { from: from.resolve_words(core, queue)?, to: to.resolve_words(core, queue)? }
        }
        Command::Clear(at) => driver::Command::Clear(at.resolve_words(core, queue)?),
    })
}

pub(crate) fn resolve_dispatch(
    core: &Core,
    queue: QueueId,
    dispatch: &Dispatch,
) -> Result<driver::Dispatch, Diagnostic> {
    let Dispatch { program, arguments, grid } = dispatch;
    let resolve = |buffer: &Buffer| buffer.resolve(core, Some(queue));
    let grid_words = |buffer: &Buffer| buffer.slice(0, 12).resolve_words(core, queue);
    Ok(driver::Dispatch {
        program: program.resolve(core)?,
        arguments: arguments.iter().map(|argument| argument.try_map(resolve)).collect::<Result<_, _>>()?,
        grid: grid.try_map(grid_words)?,
    })
}
