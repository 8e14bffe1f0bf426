//! Recorded commands: checked and bound once, then only encoded for each submission. wgpu's command buffers can be submitted only once.
//!
//! Invariant: while a list lives, nothing else writes the buffer in which its scalar parameters stand.

use super::Gpu;
use super::record::Step;
use girih_base::diag::Diagnostic;
use girih_runtime::driver::{Command, Dispatch, QueueId, Replay};

/// Commands that are submitted again and again.
pub(super) struct BoundList {
    gpu: Gpu,
    commands: Vec<Command>,
    /// The number of the buffer for their scalar parameters.
    uniform: usize,
    /// What they are bound to; absent after one was replaced.
    bound: Option<Bound>,
}

struct Bound {
    steps: Vec<Step>,
    /// Whether they may note traps.
    traps: bool,
}

impl BoundList {
    /// Checks and binds commands.
    pub fn new(gpu: &Gpu, commands: &[Command]) -> Result<BoundList, Diagnostic> {
        let uniform = gpu.groups().take_uniform();
        let mut list = BoundList { gpu: gpu.clone(), commands: commands.to_vec(), uniform, bound: None };
        list.bound = Some(list.bind()?);
        Ok(list)
    }

    fn bind(&self) -> Result<Bound, Diagnostic> {
        let (steps, traps) = self.gpu.bound(&self.commands, self.uniform)?;
        Ok(Bound { steps, traps })
    }
}

impl Drop for BoundList {
    fn drop(&mut self) {
        self.gpu.groups().give_uniform(self.uniform);
    }
}

impl Replay for BoundList {
    fn set(&mut self, command: usize, dispatch: &Dispatch) -> Result<(), Diagnostic> {
        let dispatch = Command::Dispatch(dispatch.clone());
        self.gpu.check(&dispatch)?;
        self.commands[command] = dispatch;
        self.bound = None;
        Ok(())
    }

    fn submit(&mut self, _queue: QueueId) -> Result<(), Diagnostic> {
        let bound = match self.bound.take() {
            Some(bound) => bound,
            None => self.bind()?,
        };
        let encoded = self.gpu.encoded(&bound.steps, None);
        let traps = bound.traps;
        self.bound = Some(bound);
        self.gpu.submit_recorded([encoded?], traps)
    }
}
