//! What stands where in the buffers of a program that runs in epochs.
//!
//! Indices count words of 32 bits. A word of a lane stands beside the same word of its neighbours.

use crate::runtime::BufferId;

/// Tag of a word that names a cell which others may name too.
pub const SHARED: u32 = 5;

/// Words of `control`, which is touched by atomics alone.
pub mod control {
    /// The queue, a ring: the next task to take.
    pub const HEAD: u32 = 0;
    /// Where the tasks of this epoch end.
    pub const LIMIT: u32 = 1;
    /// Where the next task goes.
    pub const TAIL: u32 = 2;
    /// Free frames, a ring: the next one to take.
    pub const FRAME_HEAD: u32 = 3;
    /// Where those end that were free when the epoch began.
    pub const FRAME_LIMIT: u32 = 4;
    /// Where the next one goes.
    pub const FRAME_TAIL: u32 = 5;
    /// The first unit of the heap that no lane has.
    pub const HEAP_TOP: u32 = 6;
    /// How many units there are.
    pub const HEAP_END: u32 = 7;
    /// 1 once the result is there.
    pub const DONE: u32 = 8;
    /// Why the run ended: 0, or one of [`fault`](super::fault).
    pub const FAULT: u32 = 9;
    /// How many lanes have not ended what they do.
    pub const BUSY: u32 = 10;
    /// Whether forks become tasks in this epoch.
    pub const EXPAND: u32 = 11;
    /// How many segments a lane runs in an epoch at most.
    pub const STEPS: u32 = 12;
    /// How many epochs there were.
    pub const EPOCHS: u32 = 13;
    /// How many tasks.
    pub const TASKS: u32 = 14;
    /// How many lanes there are.
    pub const LANES: u32 = 15;
    /// The results of the call.
    pub const RESULTS: u32 = 32;
    /// From here on the globals that can be seen; behind them those that are computed in this epoch.
    pub const GLOBALS: u32 = 64;
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

/// Invocations of a workgroup.
pub const WORKGROUP: u32 = 64;

/// How large things are that depend on the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A lane's registers.
    pub registers: u32,
    /// Where registers begin that are kept over calls; what a call gives stands before them.
    pub kept: u32,
    /// How many are kept at most.
    pub most_kept: u32,
    /// Units of heap that a segment takes at most.
    pub need: u32,
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
        1 + self.most_kept
    }
    /// Words of a frame in the pool: [`frame`].
    pub fn pool_frame(&self) -> u32 {
        frame::RESULTS + self.kept + self.most_kept
    }
    /// Words of a task: label, frame, registers.
    pub fn task(&self) -> u32 {
        2 + self.registers
    }
    /// Words of `control`.
    pub fn control(&self) -> u32 {
        control::GLOBALS + 2 * self.globals
    }
    /// Units that a lane takes from the heap at once.
    pub fn chunk(&self) -> u32 {
        self.need.max(32).next_power_of_two()
    }
}

/// Words of a lane.
pub mod lane {
    /// The label where it goes on.
    pub const LABEL: u32 = 0;
    /// The frame in the pool that its results go to.
    pub const BASE: u32 = 1;
    /// How many frames its stack has.
    pub const DEPTH: u32 = 2;
    /// The first free unit of its chunk of the heap.
    pub const UNIT: u32 = 3;
    /// The chunk's end.
    pub const END: u32 = 4;
    /// The lists of free cells, by units.
    pub const FREE: u32 = 5;
    /// How many units cells have at most that are in a list.
    pub const CLASSES: u32 = 4;
    /// Registers, and behind them the stack.
    pub const REGISTERS: u32 = FREE + CLASSES;
}

/// Words of a frame in the pool.
pub mod frame {
    /// The label where it goes on.
    pub const LABEL: u32 = 0;
    /// The frame that its own results go to.
    pub const BASE: u32 = 1;
    /// 1 if it waits for a fork and for its own code, 0 if for a call alone.
    pub const WAITS: u32 = 2;
    /// What it waits for; behind that what is kept.
    pub const RESULTS: u32 = 3;
}

/// Labels that are no places in the program.
pub mod label {
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
    /// Frames, and behind them the ring of free ones.
    pub frames: BufferId,
    /// For each frame how much it waits for.
    pub pending: BufferId,
    /// Tasks.
    pub queue: BufferId,
    /// [`control`].
    pub control: BufferId,
}
