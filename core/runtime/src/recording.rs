//! Commands that are made ready once and submitted many times, with other arguments each time.

use crate::driver::{self, Replay, bad_arguments};
use crate::stream::{resolve, resolve_one};
use crate::{Argument, Command, Device, Grid, Stream};
use girih_base::diag::Diagnostic;
use std::fmt;

/// Commands that were made ready. It keeps the buffers and programs that they use.
///
/// On CUDA they are a graph, on wgpu a list that is checked and bound; on other devices, the commands themselves.
pub struct Recording {
    /// Goes before what it uses does.
    replay: Option<Box<dyn Replay>>,
    device: Device,
    commands: Vec<Command>,
    resolved: Vec<driver::Command>,
}

impl Recording {
    pub(crate) fn new(device: &Device, commands: &[Command]) -> Result<Recording, Diagnostic> {
        let resolved = resolve(device.core(), &device.core().family.first, commands)?;
        let replay = device.driver().record(&resolved)?;
        Ok(Recording { replay, device: device.clone(), commands: commands.to_vec(), resolved })
    }

    /// How many commands there are.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Whether the driver has something better than submitting them one by one.
    pub fn is_ready(&self) -> bool {
        self.replay.is_some()
    }

    /// Replaces an argument of a dispatch from the next submission on.
    ///
    /// # Errors
    /// If the command is no dispatch, or the argument does not fit.
    pub fn set(&mut self, command: usize, argument: usize, value: Argument) -> Result<(), Diagnostic> {
        let Some(Command::Dispatch(dispatch)) = self.commands.get_mut(command) else {
            return Err(bad_arguments(format!("command {command} of the recording is no dispatch")));
        };
        let count = dispatch.arguments.len();
        let Some(place) = dispatch.arguments.get_mut(argument) else {
            return Err(bad_arguments(format!("dispatch {command} of the recording has {count} arguments")));
        };
        if !value.is_like(place) {
            let message =
                format!("argument {argument} of dispatch {command} of the recording is {place}, and becomes {value}");
            return Err(bad_arguments(message));
        }
        let before = std::mem::replace(place, value);
        self.changed(command).inspect_err(|_| {
            if let Command::Dispatch(dispatch) = &mut self.commands[command] {
                dispatch.arguments[argument] = before;
            }
        })
    }

    /// Replaces the grid of a dispatch from the next submission on.
    ///
    /// # Errors
    /// If the command is no dispatch, or the grid does not fit.
    pub fn set_grid(&mut self, command: usize, grid: Grid) -> Result<(), Diagnostic> {
        let Some(Command::Dispatch(dispatch)) = self.commands.get_mut(command) else {
            return Err(bad_arguments(format!("command {command} of the recording is no dispatch")));
        };
        let before = std::mem::replace(&mut dispatch.grid, grid);
        self.changed(command).inspect_err(|_| {
            if let Command::Dispatch(dispatch) = &mut self.commands[command] {
                dispatch.grid = before;
            }
        })
    }

    fn changed(&mut self, command: usize) -> Result<(), Diagnostic> {
        let resolved = resolve_one(self.device.core(), &self.device.core().family.first, &self.commands[command])?;
        if let (Some(replay), driver::Command::Dispatch(dispatch)) = (&mut self.replay, &resolved) {
            replay.set(command, dispatch)?;
        }
        self.resolved[command] = resolved;
        Ok(())
    }

    /// Queues all of them in a stream of the device.
    ///
    /// # Errors
    /// If the stream is of another device, or the device fails.
    pub fn submit(&mut self, stream: &Stream) -> Result<(), Diagnostic> {
        if !stream.device().is(&self.device) {
            return Err(bad_arguments("a recording is submitted to a stream of another device"));
        }
        let queue = stream.queue();
        if queue.id != driver::FIRST_QUEUE {
            // What the buffers are used by is noted with them.
            resolve(self.device.core(), queue, &self.commands)?;
        }
        match &mut self.replay {
            Some(replay) => replay.submit(queue.id),
            None => self.device.driver().submit(queue.id, &self.resolved),
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("commands", &self.commands).finish_non_exhaustive()
    }
}
