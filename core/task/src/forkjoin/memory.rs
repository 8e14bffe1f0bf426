//! What stands where in the buffers of a program that runs in epochs.
//!
//! Indices count words of 32 bits. What many lanes have each one of stands *by words*: a word of one beside the same word of the next, so that
//! lanes that do the same touch memory in a row.

use girih_runtime::Buffer;

/// Name of the constant of the lanes' kernel that makes them run *tightly*: no segment begins for which there might be no memory. It is 0 unless a heap
/// is full that may not grow, so that nobody else looks.
pub const TIGHT: &str = "tight";

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
    /// How many tasks a workgroup takes.
    pub const SHARE: u32 = 10;
    /// How many steps a lane goes in an epoch at most.
    pub const STEPS: u32 = 11;
    /// How many epochs there were.
    pub const EPOCHS: u32 = 12;
    /// How many tasks went from one workgroup to another.
    pub const TASKS: u32 = 13;
    /// How many workgroups there are.
    pub const GROUPS: u32 = 14;
    /// How many tasks a workgroup shall make before it gives them away, because most workgroups have nothing to do; 0 if they have.
    pub const WANT: u32 = 15;
    /// How many tasks workgroups have given away in this epoch.
    pub const FLUSHED: u32 = 16;
    /// How many workgroups do nothing, or nothing any more, in this epoch.
    pub const EXITED: u32 = 17;
    /// Where memory or frames were lacking first: the number of a place in the source, or the label of what was being done; 0 if nowhere.
    pub const PLACE: u32 = 18;
    /// The frame that gets the results of what was being done there.
    pub const CHAIN: u32 = 19;
    /// Beyond this many units of the heap nothing new begins until the host has looked: it may make the heap larger.
    pub const HEAP_SOFT: u32 = 20;
    /// 1 if a workgroup that runs tightly found no memory for its next segments.
    pub const STARVED: u32 = 21;
    /// Steps after which a workgroup with little work, but more than one lane can do, gives it away: more and more of them while tasks do not
    /// become more.
    pub const PATIENCE: u32 = 22;
    /// The results of the call.
    pub const RESULTS: u32 = 32;
    /// From here on the globals that can be seen; behind them those that are computed in this epoch, and then each workgroup's
    /// words: [`group::KEPT`](super::group::KEPT) and its free frames.
    pub const GLOBALS: u32 = 64;
}

/// Words of a workgroup, in shared memory.
pub mod group {
    /// Its own queue of tasks, a ring: the next one to take.
    pub const QUEUE_HEAD: u32 = 0;
    /// Where the tasks of this round end.
    pub const QUEUE_LIMIT: u32 = 1;
    /// Where the next one goes.
    pub const QUEUE_TAIL: u32 = 2;
    /// Where the queue began when the round did: what stands there is read meanwhile.
    pub const QUEUE_FIRST: u32 = 3;
    /// Its own free frames, a ring: the next one to take.
    pub const FRAME_HEAD: u32 = 4;
    /// Where those end that were free when the round began.
    pub const FRAME_LIMIT: u32 = 5;
    /// Where the next one goes.
    pub const FRAME_TAIL: u32 = 6;
    /// Where they began when the round did.
    pub const FRAME_FIRST: u32 = 7;
    /// The next unit of its chunk of the heap.
    pub const UNIT: u32 = 8;
    /// Where that ends.
    pub const END: u32 = 9;
    /// How many lanes have something to do.
    pub const BUSY: u32 = 10;
    /// How many lanes have nothing to do any more in this round.
    pub const IDLE: u32 = 11;
    /// How many tasks shall be made of what lanes do.
    pub const NEED: u32 = 12;
    /// How many of them a lane makes at most in a round.
    pub const EACH: u32 = 13;
    /// How often loops may go round in a segment while lanes run tightly.
    pub const TURNS: u32 = 14;
    /// How many words there are.
    pub const WORDS: u32 = 15;
    /// Those that are kept between epochs, in `control`; behind them the free frames.
    pub const KEPT: [u32; 3] = [FRAME_TAIL, UNIT, END];
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

/// Tasks that a workgroup keeps for itself, for each of its lanes.
pub const TASKS: u32 = 8;
/// Free frames that it keeps for itself, for each of its lanes.
pub const SPARE: u32 = 4;
/// Units of the heap that a workgroup takes at once, for each of its lanes.
pub const CHUNK: u32 = 32;

/// How large things are that depend on the program and on the form of its kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramSizes {
    /// Invocations of a workgroup.
    pub workgroup: u32,
    /// A lane's registers.
    pub registers: u32,
    /// How many of them are a call's results at most.
    pub results: u32,
    /// How many words are kept over a call at most.
    pub kept: u32,
    /// How many frames a lane's stack has room for, and how many of them, the newest ones, stand in shared memory: a power of two,
    /// or none.
    pub stack: u32,
    /// See [`stack`](Self::stack).
    pub near: u32,
    /// How many frames a segment puts on the stack at most.
    pub pushes: u32,
    /// Units of the largest cell.
    pub largest: u32,
    /// Units that a segment takes at most, if its loops go round once.
    pub reserve: u32,
    /// How many globals there are.
    pub globals: u32,
}

impl ProgramSizes {
    /// Words of a frame in a stack: where to go on, and what is kept.
    pub fn stack_frame(&self) -> u32 {
        1 + self.kept
    }
    /// Words of a frame in the pool: [`frame`].
    pub fn pool_frame(&self) -> u32 {
        frame::RESULTS + self.results + self.kept
    }
    /// The first unit of the heap that may be a cell's. Those before it are always 0: they are what lanes read that found no memory.
    pub fn first_unit(&self) -> u32 {
        1 + self.largest
    }
    /// Words of a task: label, frame, registers.
    pub fn task(&self) -> u32 {
        2 + self.registers
    }
    /// Where the words of workgroups begin in `control`.
    pub fn groups(&self) -> u32 {
        control::GLOBALS + 2 * self.globals
    }
    /// Words of a workgroup there.
    pub fn group(&self) -> u32 {
        group::KEPT.len() as u32 + self.spare()
    }
    /// Words of `control` for so many workgroups.
    pub fn control(&self, groups: u32) -> u32 {
        self.groups() + groups * self.group()
    }
    /// Places of a workgroup's own queue: a power of two.
    pub fn ring(&self) -> u32 {
        (TASKS * self.workgroup).next_power_of_two()
    }
    /// Frames that it has at first.
    pub fn own_frames(&self) -> u32 {
        self.spare() / 2
    }
    /// Places of its ring of free frames: a power of two.
    pub fn spare(&self) -> u32 {
        (SPARE * self.workgroup).next_power_of_two()
    }
}

/// Words of a lane.
pub mod lane {
    /// How many lists of free cells a lane has: by units, so many at most.
    pub const CLASSES: u32 = 4;
    /// The word behind these, which is kept in private memory alone: where the lane found no memory for a cell, or 0.
    pub const LACKS: u32 = CLASSES;
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

/// How a frame's word in `pending` is read: 0, or who came first of the two that it waits for, and when.
pub mod pending {
    /// Somebody has come.
    pub const CAME: u32 = 1 << 31;
    /// The bit where the epoch's number begins, which wraps around; the workgroup's is below.
    pub const EPOCH: u32 = 16;
}

/// Labels, as they stand in registers and frames.
pub mod label {
    /// The number of the segment.
    pub const NUMBER: u32 = 0x3fff;
    /// The segment takes what was kept from the frame above the stack's end.
    pub const KEPT: u32 = 0x4000;
    /// The frame waits for a fork: what is behind can be done meanwhile.
    pub const FORK: u32 = 0x8000;
    /// The bit where the number of words begins that were kept.
    pub const COUNT: u32 = 16;
    /// The bit where it ends.
    pub const END: u32 = 24;
    /// The frame has gone from a stack to the pool, and what is behind its fork has not become a task: see [`spills`](super::super::spills).
    pub const LATENT: u32 = 1 << 31;
    /// Nothing to do.
    pub const IDLE: u32 = 0xffff;
    /// The task is a frame that has what it waits for.
    pub const RESUME: u32 = 0xfffe;
}

/// The buffers, in the order of the kernels' parameters.
#[derive(Clone, Debug)]
pub struct Buffers {
    /// Cells.
    pub heap: Buffer,
    /// Frames, then the ring of free ones, then what lanes keep: their lists of free cells.
    pub frames: Buffer,
    /// For each frame who has come: [`pending`].
    pub pending: Buffer,
    /// The ring of tasks, then each workgroup's.
    pub queue: Buffer,
    /// [`control`].
    pub control: Buffer,
}
