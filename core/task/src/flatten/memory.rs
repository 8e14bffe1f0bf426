//! What stands where in the buffers of a program that runs in sweeps. Indices count words of 32 bits.

/// Words of `control`, which is touched by atomics alone.
pub mod control {
    /// Why the run ended: 0, or one of [`fault`](super::fault).
    pub const FAULT: u32 = 0;
    /// The first unit of the heap that nobody has; beyond the end if there was not enough.
    pub const HEAP_TOP: u32 = 1;
    /// How many units there are.
    pub const HEAP_END: u32 = 2;
    /// How many words there are.
    pub const WORDS: u32 = 4;
}

/// Why a run ended.
pub mod fault {
    /// No memory for cells.
    pub const MEMORY: u32 = 1;
    /// A step's loops went round too often for one dispatch.
    pub const LONG: u32 = 2;
    /// `trap_if` with the code that is left when this is taken away.
    pub const TRAP: u32 = 16;
}

/// Words of a phase in the schedule.
pub mod phase {
    /// Its first step.
    pub const FIRST: u32 = 0;
    /// Where its steps end.
    pub const END: u32 = 1;
    /// The binary logarithm of how many instances there are.
    pub const LEVEL: u32 = 2;
    /// How many words there are.
    pub const WORDS: u32 = 4;
}

/// Words of a step in the schedule.
pub mod step {
    /// The segment.
    pub const SEGMENT: u32 = 0;
    /// Where the words stand that the segment reads.
    pub const WORDS_AT: u32 = 1;
    /// The first word of the frames of its instances.
    pub const BASE: u32 = 2;
    /// The first words of the frames of what they call: by as many instances, twice, four times, and eight times as many.
    pub const CHILD: [u32; 4] = [3, 4, 5, 6];
    /// How many words there are.
    pub const WORDS: u32 = 8;
}
