//! The dispatches of a flattened program, in batches that a device is given at once.
//!
//! Invariant: the first run submits them as they are, for most programs run once. If the device can make commands ready, all later runs submit what was made
//! ready before the second one: on CUDA hundreds of dispatches are then one launch of a graph, and on wgpu they are not checked again.

use girih_base::diag::Diagnostic;
use girih_runtime::{Command, Device, Read, Recording};

/// Dispatches that are submitted at once.
const BATCH: usize = 64;

/// How the next run submits batches.
enum Way {
    /// There was none before it.
    First,
    /// As they are.
    Plain,
    /// As what was made ready, a recording for each batch.
    Ready(Vec<Recording>),
}

/// The dispatches of a program on a heap.
pub(super) struct Batches {
    commands: Vec<Command>,
    way: Way,
}

impl Batches {
    /// Of all dispatches of a run.
    pub fn new(commands: Vec<Command>) -> Batches {
        Batches { commands, way: Way::First }
    }

    /// How many batches there are.
    pub fn count(&self) -> usize {
        self.commands.len().div_ceil(BATCH)
    }

    /// The dispatches of a batch.
    pub fn batch(&self, number: usize) -> &[Command] {
        let first = number * BATCH;
        &self.commands[first..self.commands.len().min(first + BATCH)]
    }

    /// A run has come to its end: what it submitted will be submitted again.
    ///
    /// # Errors
    /// If the device fails.
    pub fn again(&mut self, device: &Device) -> Result<(), Diagnostic> {
        if matches!(self.way, Way::First) {
            let record = |batch: &[Command]| device.record(batch);
            let recorded = self.commands.chunks(BATCH).map(record).collect::<Result<Vec<_>, _>>()?;
            let is_ready = recorded.iter().all(Recording::is_ready);
            self.way = if is_ready { Way::Ready(recorded) } else { Way::Plain };
        }
        Ok(())
    }

    /// Runs a batch, and waits for it.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run(&mut self, device: &Device, number: usize) -> Result<(), Diagnostic> {
        match &mut self.way {
            Way::First | Way::Plain => device.submit(self.batch(number))?,
            Way::Ready(recorded) => recorded[number].submit(&device.stream())?,
        }
        device.wait()
    }

    /// Runs a batch, and reads what it left.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run_and_read(&mut self, device: &Device, number: usize, reads: &mut [Read<'_>]) -> Result<(), Diagnostic> {
        match &mut self.way {
            Way::First | Way::Plain => device.submit_and_read(self.batch(number), reads),
            Way::Ready(recorded) => {
                recorded[number].submit(&device.stream())?;
                device.submit_and_read(&[], reads)
            }
        }
    }
}
