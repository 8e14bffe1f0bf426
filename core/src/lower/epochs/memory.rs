//! What stands where in the buffers of a program that runs in epochs.
//!
//! Indices count words of 32 bits. What many lanes have each one of stands *by words*: a word of one beside the same word of the next, so that
//! lanes that do the same touch memory in a row.

use crate::runtime::BufferId;

/// Tag of a word that names a cell which others may name too.
pub const SHARED: u32 = 5;

/// Words of `control`, which is touched by atomics alone.
pub mod control {
    /// The queue of tasks that any workgroup may take, a ring: the first one.
    pub const HEAD: u32 = 0;
    /// How many tasks from there on the workgroups of this epoch take.
    pub const HANDED: u32 = 1;
    /// Where the next task goes.
    pub const TAIL: u32 = 2;
    /// Free frames, a ring: the next one to take.
    pub const FRAME_HEAD: u32 = 3;
    /// Where those end that were free when the epoch began.
    pub const FRAME_LIMIT: u32 = 4;
    /// Where the next one goes.
    pub const FRAME_TAIL: u32 = 5;
    /// The first unit of the heap that nobody has; beyond the end if there was not enough.
    pub const HEAP_TOP: u32 = 6;
    /// How many units there are.
    pub const HEAP_END: u32 = 7;
    /// 1 once the result is there.
    pub const DONE: u32 = 8;
    /// Why the run ended: 0, or one of [`fault`](super::fault).
    pub const FAULT: u32 = 9;
    /// How many workgroups have not ended what they do.
    pub const BUSY: u32 = 10;
    /// How many tasks a workgroup takes.
    pub const SHARE: u32 = 11;
    /// How many steps a lane goes in an epoch at most.
    pub const STEPS: u32 = 12;
    /// How many epochs there were.
    pub const EPOCHS: u32 = 13;
    /// How many tasks went from one workgroup to another.
    pub const TASKS: u32 = 14;
    /// How many workgroups there are.
    pub const GROUPS: u32 = 15;
    /// 1 if most workgroups have nothing to do.
    pub const HUNGRY: u32 = 16;
    /// How many tasks workgroups have given away in this epoch because others had nothing to do.
    pub const FLUSHED: u32 = 17;
    /// How many workgroups do nothing, or nothing any more, in this epoch.
    pub const EXITED: u32 = 18;
    /// How many lanes had something to do at the ends of rounds, and how many lanes there were, in hundreds of lanes.
    pub const ACTIVE: u32 = 19;
    /// See [`ACTIVE`].
    pub const PRESENT: u32 = 20;
    /// The results of the call.
    pub const RESULTS: u32 = 32;
    /// From here on the globals that can be seen; behind them those that are computed in this epoch, and then each workgroup's
    /// [`group`](super::group) words.
    pub const GLOBALS: u32 = 64;
}

/// Words of a workgroup: in shared memory while it runs, in `control` between.
pub mod group {
    /// Its own queue of tasks, a ring: the next one to take.
    pub const QUEUE_HEAD: u32 = 0;
    /// Where the tasks of this round end.
    pub const QUEUE_LIMIT: u32 = 1;
    /// Where the next one goes.
    pub const QUEUE_TAIL: u32 = 2;
    /// Its own free frames, a ring: the next one to take.
    pub const FRAME_HEAD: u32 = 3;
    /// Where those end that were free when the round began.
    pub const FRAME_LIMIT: u32 = 4;
    /// Where the next one goes.
    pub const FRAME_TAIL: u32 = 5;
    /// The next unit of its chunk of the heap.
    pub const UNIT: u32 = 6;
    /// Where that ends.
    pub const END: u32 = 7;
    /// How many lanes have something to do.
    pub const BUSY: u32 = 8;
    /// Where the queue began when the round did: what stands there is read meanwhile.
    pub const QUEUE_FIRST: u32 = 9;
    /// The same of the free frames.
    pub const FRAME_FIRST: u32 = 10;
    /// How many words there are.
    pub const WORDS: u32 = 11;
}

/// Why a run ended.
pub mod fault {
    /// No memory for cells.
    pub const MEMORY: u32 = 1;
    /// No frames for calls.
    pub const FRAMES: u32 = 2;
    /// `trap_if` with the code that is left when this is taken away.
    pub const TRAP: u32 = 16;
}

/// Tasks and free frames that a workgroup keeps for itself, for each of its lanes.
pub const RING: u32 = 4;
/// Units of the heap that a workgroup takes at once, for each of its lanes.
pub const CHUNK: u32 = 32;

/// How large things are that depend on the program and on the form of its kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Invocations of a workgroup.
    pub workgroup: u32,
    /// A lane's registers.
    pub registers: u32,
    /// How many of them are a call's results at most.
    pub results: u32,
    /// How many words are kept over a call at most.
    pub kept: u32,
    /// How many frames a segment puts on the stack at most.
    pub pushes: u32,
    /// Units of the largest cell.
    pub largest: u32,
    /// How many globals there are.
    pub globals: u32,
}

impl Shape {
    /// Words of a lane besides its stack: [`lane`].
    pub fn lane_words(&self) -> u32 {
        lane::REGISTERS + self.registers
    }
    /// Words of a frame in a stack: where to go on, and what is kept.
    pub fn stack_frame(&self) -> u32 {
        1 + self.kept
    }
    /// Words of a frame in the pool: [`frame`].
    pub fn pool_frame(&self) -> u32 {
        frame::RESULTS + self.results + self.kept
    }
    /// Words of a task: label, frame, registers.
    pub fn task(&self) -> u32 {
        2 + self.registers
    }
    /// Where the words of workgroups begin in `control`.
    pub fn groups(&self) -> u32 {
        control::GLOBALS + 2 * self.globals
    }
    /// Words of `control` for so many workgroups.
    pub fn control(&self, groups: u32) -> u32 {
        self.groups() + groups * group::WORDS
    }
    /// Places of a workgroup's own rings: a power of two.
    pub fn ring(&self) -> u32 {
        (RING * self.workgroup).next_power_of_two()
    }
}

/// Words of a lane.
pub mod lane {
    /// The label where it goes on.
    pub const LABEL: u32 = 0;
    /// The frame in the pool that its results go to.
    pub const BASE: u32 = 1;
    /// Where its stack ends.
    pub const DEPTH: u32 = 2;
    /// Where its stack begins: older frames have gone to the pool.
    pub const BOTTOM: u32 = 3;
    /// The lists of free cells, by units.
    pub const FREE: u32 = 4;
    /// How many units cells have at most that are in a list.
    pub const CLASSES: u32 = 4;
    /// Registers, and behind them the stack.
    pub const REGISTERS: u32 = FREE + CLASSES;
}

/// Words of a frame in the pool. Who names one says in the lowest bit whether it waits for a fork *and* for its own code, or for a call alone.
pub mod frame {
    /// The label where it goes on.
    pub const LABEL: u32 = 0;
    /// The frame that its own results go to.
    pub const BASE: u32 = 1;
    /// What it waits for; behind that what is kept.
    pub const RESULTS: u32 = 2;
}

/// How a frame's word in `pending` is read: how much it waits for, how often that came from other workgroups, and the workgroup whose it is.
pub mod pending {
    /// What one arrival from another workgroup adds.
    pub const FOREIGN: u32 = 1 << 8;
    /// The bit where the workgroup's number begins.
    pub const OWNER: u32 = 16;
}

/// Labels, as they stand in registers and frames.
pub mod label {
    /// The number of the segment.
    pub const NUMBER: u32 = 0x3fff;
    /// The segment takes what was kept from the frame above the stack's end.
    pub const KEPT: u32 = 0x4000;
    /// The frame waits for a fork: what is behind can be done meanwhile.
    pub const FORK: u32 = 0x8000;
    /// Nothing to do.
    pub const IDLE: u32 = 0xffff;
    /// The task is a frame that has what it waits for.
    pub const RESUME: u32 = 0xfffe;
}

/// The buffers, in the order of the kernels' parameters.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Cells.
    pub heap: BufferId,
    /// What lanes keep.
    pub lanes: BufferId,
    /// Frames, then the ring of free ones, then each workgroup's.
    pub frames: BufferId,
    /// For each frame how much it waits for: [`pending`].
    pub pending: BufferId,
    /// The ring of tasks, then each workgroup's.
    pub queue: BufferId,
    /// [`control`].
    pub control: BufferId,
}
