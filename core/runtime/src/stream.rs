//! Streams: work in order.
//!
//! Invariant: submitting never waits for work. Whoever wants to wait calls `wait`, and whoever must not, as a page in a browser, awaits an
//! [`Event`] or a [`Download`].

use crate::device::Core;
use crate::driver::{self, QueueId, Slice, bad_arguments};
use crate::event::{Download, Event};
use crate::queue::Queue;
use crate::{Argument, Buffer, Command, Device, Dispatch, Memory, Read, Timing};
use girih_base::diag::Diagnostic;
use std::fmt;
use std::sync::Arc;

/// A queue that is closed when the last stream of it is gone.
struct Closing {
    core: Arc<Core>,
    queue: Arc<Queue>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        let Core { family, driver, allocator } = &*self.core;
        family.close(&self.queue, driver, allocator);
    }
}

/// An order of work on a device. Clones are the same one, and nothing else keeps it: when the last clone is gone, nothing more is queued there.
#[derive(Clone)]
pub struct Stream {
    core: Arc<Core>,
    queue: Arc<Queue>,
    /// None for the first one, which lives as long as the device.
    _closing: Option<Arc<Closing>>,
}

impl Stream {
    pub(crate) fn first(core: Arc<Core>) -> Stream {
        let queue = core.family.first.clone();
        Stream { core, queue, _closing: None }
    }
    pub(crate) fn opened(core: &Arc<Core>, queue: QueueId, is_adopted: bool) -> Stream {
        let queue = core.family.queue(queue, is_adopted);
        let closing = Arc::new(Closing { core: core.clone(), queue: queue.clone() });
        Stream { core: core.clone(), queue, _closing: Some(closing) }
    }

    /// The device.
    pub fn device(&self) -> Device {
        Device::of(self.core.clone())
    }
    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// A new buffer for this stream's work: memory that this stream has used before is used again without waiting. What is in it is not said.
    ///
    /// # Errors
    /// If there is not as much memory.
    pub fn allocate(&self, memory: Memory) -> Result<Buffer, Diagnostic> {
        self.device().allocate_in(memory, &self.queue).map(|(buffer, _)| buffer)
    }

    /// The same, all zero.
    ///
    /// # Errors
    /// If there is not as much memory, or the device fails.
    pub fn zeroed(&self, memory: Memory) -> Result<Buffer, Diagnostic> {
        let (buffer, is_new) = self.device().allocate_in(memory, &self.queue)?;
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
        let commands = resolve(&self.core, &self.queue, commands)?;
        self.core.driver.submit(self.queue.id, &commands)
    }

    /// Writes bytes from a place on, after this stream's work so far. They may be changed when this returns. Devices of wgpu write whole words: there place and number are multiples of 4, or the
    /// bytes end where the buffer's memory does.
    ///
    /// # Errors
    /// If they do not fit, or the device fails.
    pub fn write(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), Diagnostic> {
        let (count, driver) = (bytes.len() as u64, &self.core.driver);
        let to = buffer.slice(offset, count);
        if driver.moves_bytes() || count.is_multiple_of(4) || !to.ends_with_memory() {
            let to = to.resolve_moved(&self.core, &self.queue, true)?;
            return driver.write(self.queue.id, to, bytes);
        }
        // Nobody has what is behind it.
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        let to = buffer.slice(offset, padded.len() as u64).resolve_moved(&self.core, &self.queue, true)?;
        driver.write(self.queue.id, to, &padded)
    }

    /// Waits for this stream's work and reads bytes.
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
        let Core { driver, family, .. } = &*self.core;
        let commands = resolve(&self.core, &self.queue, commands)?;
        let place = |read: &Read<'_>| {
            let (around, first) = read.from.slice(0, read.bytes.len() as u64).around();
            Ok((around.resolve_moved(&self.core, &self.queue, false)?, first))
        };
        let places = reads.iter().map(place).collect::<Result<Vec<(Slice, usize)>, Diagnostic>>()?;
        // Where a device moves whole words, what is around the bytes goes by way of the host.
        let around = |(read, (from, _)): (&Read<'_>, &(Slice, usize))| {
            vec![0; if from.bytes == read.bytes.len() as u64 { 0 } else { from.bytes as usize }]
        };
        let mut arounds: Vec<Vec<u8>> = reads.iter().zip(&places).map(around).collect();
        let into = |((read, (from, _)), around): ((_, &(Slice, usize)), _)| {
            let (read, around): (&mut Read<'_>, &mut Vec<u8>) = (read, around);
            (*from, if around.is_empty() { &mut *read.bytes } else { &mut around[..] })
        };
        let places_and_rooms = reads.iter_mut().zip(&places).zip(&mut arounds).map(into);
        let mut inner: Vec<Read<'_, Slice>> = places_and_rooms.map(|(from, bytes)| Read { from, bytes }).collect();
        driver.read(self.queue.id, &commands, &mut inner)?;
        for ((read, (_, first)), around) in reads.iter_mut().zip(&places).zip(&arounds) {
            if !around.is_empty() {
                read.bytes.copy_from_slice(&around[*first..first + read.bytes.len()]);
            }
        }
        family.settled()
    }

    /// Queues reading so many bytes from a place on. They can be waited for, or awaited.
    ///
    /// # Errors
    /// If they are not there, or the device fails.
    pub fn download(&self, buffer: &Buffer, offset: u64, bytes: u64) -> Result<Download, Diagnostic> {
        let (around, first) = buffer.slice(offset, bytes).around();
        let from = around.resolve_moved(&self.core, &self.queue, false)?;
        let fetch = self.core.driver.fetch(self.queue.id, from)?;
        Ok(Download::new(fetch, (first, bytes as usize), buffer.clone(), &self.queue))
    }

    /// Work of others in this stream, which the runtime does not see, uses a buffer from now on. It comes behind all work that was given to the buffer so far, and the memory is not used again
    /// before what is in this stream when the buffer goes is done.
    ///
    /// # Errors
    /// If the buffer is of another device, or the device fails.
    pub fn uses(&self, buffer: &Buffer) -> Result<(), Diagnostic> {
        buffer.hand_over(&self.core, &self.queue)
    }

    /// A point behind all of this stream's work so far.
    ///
    /// # Errors
    /// If the device fails.
    pub fn record(&self) -> Result<Event, Diagnostic> {
        Ok(Event::new(self.core.driver.fence(self.queue.id, true)?, &self.queue, &self.core))
    }

    /// This stream's work from now on begins when the work that another stream of the device has now is done. Nothing waits on the host.
    ///
    /// # Errors
    /// If the other stream is of another device, or the device fails.
    pub fn after(&self, other: &Stream) -> Result<(), Diagnostic> {
        self.is_of(&other.core)?;
        if Arc::ptr_eq(&self.queue, &other.queue) {
            return Ok(());
        }
        other.queue.lead(&*self.core.driver, self.queue.id)
    }

    /// This stream's work from now on begins when all work before an event of the device is done, but does not wait for what came later in the event's stream. Nothing waits on the host. A driver that does
    /// not know single points waits for more.
    ///
    /// # Errors
    /// If the event is of another device, or the device fails.
    pub fn after_event(&self, event: &Event) -> Result<(), Diagnostic> {
        self.is_of(event.core())?;
        event.lead(&self.core, &self.queue)
    }

    fn is_of(&self, core: &Core) -> Result<(), Diagnostic> {
        if self.core.is_family(core) {
            return Ok(());
        }
        Err(bad_arguments("a stream comes after one of another device")
            .hint("wait for an event of the other stream on the host"))
    }

    /// Waits until this stream's work is done.
    ///
    /// # Errors
    /// If something in it failed or trapped, or the device fails.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        self.core.driver.read(self.queue.id, &[], &mut [])?;
        self.core.family.settled()
    }

    /// Runs commands `runs` times, queued at once where the device has a queue, and says how long each run took.
    ///
    /// # Errors
    /// As [`submit`](Self::submit) and [`wait`](Self::wait).
    pub fn time(&self, commands: &[Command], runs: usize) -> Result<Timing, Diagnostic> {
        let commands = resolve(&self.core, &self.queue, commands)?;
        let timing = self.core.driver.time(self.queue.id, &commands, runs)?;
        self.core.family.settled().map(|()| timing)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.queue)
    }
}

/// Commands as the driver has them.
pub(crate) fn resolve(
    core: &Core,
    queue: &Arc<Queue>,
    commands: &[Command],
) -> Result<Vec<driver::Command>, Diagnostic> {
    commands.iter().map(|command| resolve_one(core, queue, command)).collect()
}

pub(crate) fn resolve_one(core: &Core, queue: &Arc<Queue>, command: &Command) -> Result<driver::Command, Diagnostic> {
    Ok(match command {
        Command::Dispatch(dispatch) => driver::Command::Dispatch(resolve_dispatch(core, queue, dispatch)?),
        Command::Copy { from, to } => {
            if from.bytes() != to.bytes() {
                let message = format!("{} bytes are copied to {} bytes", from.bytes(), to.bytes());
                return Err(bad_arguments(message));
            }
            let from = from.resolve_moved(core, queue, false)?;
            driver::Command::Copy { from, to: to.resolve_moved(core, queue, true)? }
        }
        Command::Clear(at) => driver::Command::Clear(at.resolve_moved(core, queue, true)?),
    })
}

fn resolve_dispatch(core: &Core, queue: &Arc<Queue>, dispatch: &Dispatch) -> Result<driver::Dispatch, Diagnostic> {
    let Dispatch { program, arguments, grid } = dispatch;
    let argument =
        |(i, argument): (usize, &Argument)| argument.try_map(|buffer| buffer.resolve(core, queue, program.writes(i)));
    Ok(driver::Dispatch {
        program: program.resolve(core)?,
        arguments: arguments.iter().enumerate().map(argument).collect::<Result<_, _>>()?,
        grid: grid.try_map(|buffer| buffer.resolve_grid(core, queue))?,
    })
}
