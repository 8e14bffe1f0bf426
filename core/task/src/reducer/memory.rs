//! What stands where in the buffers of a tally.
//!
//! A task is the number of a head, and its arguments as words. The queue is a ring of tasks; places are counted on for ever and wrap around.
//!
//! What lanes keep stands by words, a lane's beside the next one's: how many tasks, and then the tasks.

/// How many results functions may have.
pub const SUMS: u32 = 4;

/// Words of `control`, which is touched by atomics alone.
pub mod control {
    /// The next task to take; beyond [`LIMIT`] if more were asked for than there are.
    pub const HEAD: u32 = 0;
    /// Where the tasks end that may be taken in this epoch.
    pub const LIMIT: u32 = 1;
    /// Where the next task goes.
    pub const TAIL: u32 = 2;
    /// Where the tasks of this epoch began: what is before has been taken.
    pub const FIRST: u32 = 3;
    /// Why the run ended: 0, or one of [`fault`](super::fault).
    pub const FAULT: u32 = 4;
    /// How many workgroups there are at most.
    pub const GROUPS: u32 = 6;
    /// How many rounds a workgroup goes at most.
    pub const ROUNDS: u32 = 7;
    /// How many epochs had tasks.
    pub const EPOCHS: u32 = 8;
    /// How many tasks epochs have begun with, all together.
    pub const TASKS: u32 = 9;
    /// How many workgroups have kept what they had to do.
    pub const KEPT: u32 = 10;
    /// How many workgroups do nothing, or nothing any more, in this epoch.
    pub const EXITED: u32 = 11;
    /// 1 if at most half of the workgroups have begun.
    pub const HUNGRY: u32 = 12;
    /// How many tasks a workgroup takes at once at most, so that all get some.
    pub const SHARE: u32 = 13;
    /// What was added up so far of each result.
    pub const SUM: u32 = 16;
    /// How many words there are.
    pub const WORDS: u32 = SUM + super::SUMS;
}

/// Words of a workgroup, in shared memory.
pub mod group {
    /// How many lanes have nothing to do.
    pub const IDLE: u32 = 0;
    /// How many lanes have a stack without room.
    pub const FULL: u32 = 1;
    /// How many tasks its lanes give away at the end.
    pub const GIVEN: u32 = 2;
    /// How many tasks lanes have to spare in this round.
    pub const POSTED: u32 = 3;
    /// What its lanes have added up of each result.
    pub const SUM: u32 = 4;
    /// How many words there are.
    pub const WORDS: u32 = SUM + super::SUMS;
}

/// Words that a lane keeps at most.
pub fn kept(stack: u32, width: u32) -> u32 {
    1 + (stack + 1) * width
}

/// Why a run ended.
pub mod fault {
    /// The queue has no room.
    pub const QUEUE: u32 = 1;
    /// `trap_if` with the code that is left when this is taken away.
    pub const TRAP: u32 = 16;
}
