//! Forked calls: each waits for its turn, runs, or waits to be joined. Without a seed a call runs when it is joined. With one it may run
//! before, and any fork or join may let another one run first, so that what depends on the order is found.

use girih_ir::FunctionId;

/// A forked call.
#[derive(Debug)]
pub(super) enum Task {
    /// Not begun.
    Waiting(FunctionId, Box<[u64]>),
    /// Begun.
    Running,
    /// Ended with these results.
    Done(Box<[u64]>),
    /// Joined; the place is free.
    Gone,
}

/// What is to happen with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It runs now.
    Now,
    /// It waits.
    Later,
}

/// The forked calls of a run, by token.
#[derive(Debug, Default)]
pub(super) struct Forks {
    tasks: Vec<Task>,
    gone: Vec<u32>,
    /// Those that wait, and some that do no more.
    waiting: Vec<u32>,
    random: Option<u64>,
}

impl Forks {
    pub(super) fn new(seed: Option<u64>) -> Forks {
        Forks { random: seed, ..Forks::default() }
    }

    /// SplitMix64; 0 without a seed.
    fn next(&mut self) -> u64 {
        let Some(state) = &mut self.random else { return 0 };
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = *state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A new call; says when it runs.
    pub(super) fn fork(&mut self, callee: FunctionId, arguments: Box<[u64]>) -> (u64, Turn) {
        let turn = if self.random.is_some() && self.next().is_multiple_of(2) { Turn::Now } else { Turn::Later };
        let task = Task::Waiting(callee, arguments);
        let token = match self.gone.pop() {
            Some(place) => {
                self.tasks[place as usize] = task;
                place
            }
            None => {
                self.tasks.push(task);
                (self.tasks.len() - 1) as u32
            }
        };
        if turn == Turn::Later && self.random.is_some() {
            self.waiting.push(token);
        }
        (token.into(), turn)
    }

    /// Begins a call, if it has not begun.
    pub(super) fn begin(&mut self, token: u64) -> Option<(FunctionId, Box<[u64]>)> {
        let task = self.tasks.get_mut(token as usize)?;
        match std::mem::replace(task, Task::Running) {
            Task::Waiting(callee, arguments) => Some((callee, arguments)),
            other => {
                *task = other;
                None
            }
        }
    }

    /// A waiting call that goes first, now and then.
    pub(super) fn someone(&mut self) -> Option<u64> {
        if self.waiting.is_empty() || !self.next().is_multiple_of(4) {
            return None;
        }
        let position = self.next() as usize % self.waiting.len();
        let token = self.waiting.swap_remove(position);
        matches!(self.tasks.get(token as usize), Some(Task::Waiting(..))).then_some(token.into())
    }

    /// A call has ended.
    pub(super) fn end(&mut self, token: u64, results: Box<[u64]>) {
        if let Some(task) = self.tasks.get_mut(token as usize) {
            *task = Task::Done(results);
        }
    }

    /// The results of a call that has ended, which is gone then.
    pub(super) fn join(&mut self, token: u64) -> Option<Box<[u64]>> {
        let task = self.tasks.get_mut(token as usize)?;
        match std::mem::replace(task, Task::Gone) {
            Task::Done(results) => {
                self.gone.push(token as u32);
                Some(results)
            }
            other => {
                *task = other;
                None
            }
        }
    }

    /// A call that begins at its join needs no results of its own.
    pub(super) fn forget(&mut self, token: u64) {
        if let Some(task) = self.tasks.get_mut(token as usize) {
            *task = Task::Gone;
            // A number is not given again while it stands among those that wait. It is mostly one of the last.
            if let Some(position) = self.waiting.iter().rposition(|waiting| u64::from(*waiting) == token) {
                self.waiting.swap_remove(position);
            }
            self.gone.push(token as u32);
        }
    }
}
