//! Facts about operations that are true or false, where several places need one and no column of the row states it. Every method names
//! all operations by their groups, so that a new one takes no side by accident.

use crate::groups::{
    aggregates, all_positions, arithmetic, atomic_updates, barriers, by_element, cells, control, convergent,
    grid_positions, jumps, local_positions, loop_jumps, masks, mbarriers, memory, not_control, not_of_tiles,
    of_kernels, other_control, reductions, regions, scans, shuffles, subgroup_positions, task_form,
    tiles_without_memory, votes, wgmmas, whole_tiles,
};
use crate::ops::{Effect, Op};
use crate::tile_operations;

impl Op {
    /// Whether it ends a region.
    pub const fn is_terminator(self) -> bool {
        match self {
            jumps!() | Op::Return | Op::Grid | Op::Tail => true,
            regions!()
            | Op::Call
            | Op::TrapIf
            | Op::Fork
            | Op::Join
            | cells!()
            | masks!()
            | arithmetic!()
            | aggregates!()
            | memory!()
            | of_kernels!()
            | tile_operations!() => false,
        }
    }
    /// Whether it ends the function.
    pub const fn leaves_function(self) -> bool {
        match self {
            Op::Return | Op::Tail => true,
            regions!()
            | jumps!()
            | Op::Call
            | Op::Grid
            | Op::TrapIf
            | Op::Fork
            | Op::Join
            | cells!()
            | masks!()
            | arithmetic!()
            | aggregates!()
            | memory!()
            | of_kernels!()
            | tile_operations!() => false,
        }
    }
    /// Whether it ends an iteration of the innermost loop: it leaves the loop, or begins the next iteration.
    pub const fn ends_iteration(self) -> bool {
        match self {
            loop_jumps!() => true,
            regions!() | Op::Yield | other_control!() | not_control!() => false,
        }
    }
    /// Whether it may begin the next iteration of the innermost loop.
    pub const fn begins_iteration(self) -> bool {
        match self {
            Op::Continue | Op::While => true,
            regions!() | Op::Yield | Op::Break | other_control!() | not_control!() => false,
        }
    }
    /// Whether its first operand decides where control goes.
    pub const fn decides_control(self) -> bool {
        match self {
            Op::If | Op::Switch | Op::While => true,
            Op::Loop | Op::Yield | Op::Break | Op::Continue | other_control!() | not_control!() => false,
        }
    }
    /// Whether it runs a region on elements of tiles.
    pub const fn is_by_element(self) -> bool {
        match self {
            by_element!() => true,
            whole_tiles!() | not_of_tiles!() => false,
        }
    }
    /// Whether it asks where its workgroup stands in the grid. Only the kernel knows that where its grid is folded, or gone through in rounds.
    pub const fn asks_for_workgroup(self) -> bool {
        match self {
            grid_positions!() => true,
            local_positions!()
            | subgroup_positions!()
            | convergent!()
            | control!()
            | arithmetic!()
            | aggregates!()
            | memory!()
            | task_form!()
            | masks!()
            | tile_operations!() => false,
        }
    }
    /// Whether giving results is all that it does: where nobody wants them, it is left out. What regions of a branch or a loop do is another
    /// question, and so is whether a load is volatile.
    pub const fn only_gives_results(self) -> bool {
        match self.row().effect {
            Effect::Pure | Effect::Read => true,
            // What combines elements of tiles has no effects, as verified.
            Effect::Control => self.is_by_element(),
            Effect::Write | Effect::Atomic | Effect::Sync | Effect::Trap | Effect::Heap => false,
        }
    }
    /// Whether it writes numbers to the first memory that it names.
    pub const fn writes_memory(self) -> bool {
        match self {
            Op::Store
            | Op::AtomicStore
            | atomic_updates!()
            | Op::AtomicCompareExchange
            | Op::CoopStore
            | Op::AsyncCopy
            | Op::Gemm
            | Op::TileStore
            | Op::TileAtomic
            | Op::TileCompareExchange => true,
            Op::Load
            | Op::UniformLoad
            | Op::AtomicLoad
            | Op::CoopLoad
            | Op::CoopSplat
            | Op::CoopMma
            | Op::AsyncCommit
            | Op::AsyncWait
            | Op::FenceAsync
            | Op::TileLoad
            | mbarriers!()
            | wgmmas!()
            | all_positions!()
            | barriers!()
            | votes!()
            | shuffles!()
            | reductions!()
            | scans!()
            | control!()
            | arithmetic!()
            | aggregates!()
            | task_form!()
            | masks!()
            | by_element!()
            | tiles_without_memory!() => false,
        }
    }
}
