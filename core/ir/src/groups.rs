//! Groups of operations as patterns, so that a match over operations stays exhaustive without naming all of them again: a
//! new operation compiles only once it stands in one of the groups.
//!
//! A pattern names [`Op`](super::Op) as the module that uses it does. Invariant: the groups that [`not_control!`](crate::not_control) and
//! [`control!`](crate::control) are made of have no operation in common, and together they are all.

/// What holds regions.
#[macro_export]
macro_rules! regions {
    () => {
        Op::If | Op::Switch | Op::Loop
    };
}
/// Control that neither holds a region nor ends one of a branch or a loop.
#[macro_export]
macro_rules! other_control {
    () => {
        Op::Call | Op::Return | Op::Grid | Op::TrapIf
    };
}
/// What ends an iteration of a loop: it leaves the loop, or begins the next iteration.
#[macro_export]
macro_rules! loop_jumps {
    () => {
        Op::Break | Op::Continue | Op::While
    };
}
/// What ends a region of a branch or a loop.
#[macro_export]
macro_rules! jumps {
    () => {
        Op::Yield | $crate::loop_jumps!()
    };
}
/// Regions, jumps, calls, traps.
#[macro_export]
macro_rules! control {
    () => {
        $crate::regions!() | $crate::jumps!() | $crate::other_control!()
    };
}
/// Arithmetic of integers only.
#[macro_export]
macro_rules! integer_arithmetic {
    () => {
        Op::Rem | Op::MulHi | $crate::bits!() | Op::Shl | Op::Shr | $crate::counts!()
    };
}
/// Bitwise operations.
#[macro_export]
macro_rules! bits {
    () => {
        Op::And | Op::Or | Op::Xor | Op::Not
    };
}
/// What counts or moves single bits.
#[macro_export]
macro_rules! counts {
    () => {
        Op::Clz | Op::Ctz | Op::Popc | Op::ReverseBits
    };
}
/// Arithmetic of integers and floats that fits in one operation of a wider type.
#[macro_export]
macro_rules! plain_arithmetic {
    () => {
        Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max
    };
}
/// Comparisons.
#[macro_export]
macro_rules! compares {
    () => {
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge
    };
}
/// Arithmetic that floats and integers have, beside the plain one.
#[macro_export]
macro_rules! more_arithmetic {
    () => {
        Op::Div | Op::Neg | Op::Abs | Op::Fma | Op::Mad | Op::Sqrt
    };
}
/// What moves or shows a number without computing.
#[macro_export]
macro_rules! conversions {
    () => {
        Op::Select | Op::Convert | Op::Bitcast
    };
}
/// Float to float of integral value.
#[macro_export]
macro_rules! roundings {
    () => {
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc
    };
}
/// The math library.
#[macro_export]
macro_rules! library {
    () => {
        Op::Rsqrt
            | Op::Exp
            | Op::Exp2
            | Op::Log
            | Op::Log2
            | Op::Sin
            | Op::Cos
            | Op::Tan
            | Op::Asin
            | Op::Acos
            | Op::Atan
            | Op::Atan2
            | Op::Tanh
            | Op::Pow
    };
}
/// The device's own functions.
#[macro_export]
macro_rules! approximations {
    () => {
        Op::DivApprox
            | Op::RcpApprox
            | Op::SqrtApprox
            | Op::RsqrtApprox
            | Op::ExpApprox
            | Op::Exp2Approx
            | Op::LogApprox
            | Op::Log2Approx
            | Op::SinApprox
            | Op::CosApprox
            | Op::TanhApprox
    };
}
/// Roundings, the math library, and the device's own functions.
#[macro_export]
macro_rules! functions {
    () => {
        $crate::roundings!() | $crate::library!() | $crate::approximations!()
    };
}
/// Short vectors and register arrays.
#[macro_export]
macro_rules! aggregates {
    () => {
        Op::Vector | Op::Splat | Op::Extract | Op::Insert
    };
}
/// Plain accesses.
#[macro_export]
macro_rules! accesses {
    () => {
        Op::Load | Op::Store | Op::UniformLoad
    };
}
/// Atomic accesses that give the old value for one operand.
#[macro_export]
macro_rules! atomic_updates {
    () => {
        Op::AtomicAdd
            | Op::AtomicMin
            | Op::AtomicMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor
            | Op::AtomicExchange
    };
}
/// All atomic accesses.
#[macro_export]
macro_rules! atomics {
    () => {
        Op::AtomicLoad | Op::AtomicStore | $crate::atomic_updates!() | Op::AtomicCompareExchange
    };
}
/// Positions that say where the workgroup stands in the grid, or how large that is.
#[macro_export]
macro_rules! grid_positions {
    () => {
        Op::GlobalId | Op::WorkgroupId | Op::NumWorkgroups
    };
}
/// Positions within the workgroup, and its size.
#[macro_export]
macro_rules! local_positions {
    () => {
        Op::LocalId | Op::LocalIndex | Op::WorkgroupSize
    };
}
/// Positions that every device has.
#[macro_export]
macro_rules! positions {
    () => {
        $crate::grid_positions!() | $crate::local_positions!()
    };
}
/// Positions in a subgroup.
#[macro_export]
macro_rules! subgroup_positions {
    () => {
        Op::SubgroupSize | Op::SubgroupId | Op::NumSubgroups | Op::Lane
    };
}
/// Barriers and fences.
#[macro_export]
macro_rules! barriers {
    () => {
        Op::Barrier | Op::Fence
    };
}
/// Votes of a subgroup.
#[macro_export]
macro_rules! votes {
    () => {
        Op::Ballot | Op::Any | Op::All | Op::Elect
    };
}
/// Values of other lanes.
#[macro_export]
macro_rules! shuffles {
    () => {
        Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown | Op::Broadcast
    };
}
/// Reductions over a subgroup.
#[macro_export]
macro_rules! reductions {
    () => {
        Op::SubgroupAdd
            | Op::SubgroupMul
            | Op::SubgroupMin
            | Op::SubgroupMax
            | Op::SubgroupAnd
            | Op::SubgroupOr
            | Op::SubgroupXor
    };
}
/// Scans over the lanes below.
#[macro_export]
macro_rules! exclusive_scans {
    () => {
        Op::ExclusiveAdd | Op::ExclusiveMul
    };
}
/// Scans over the lanes below and the lane itself.
#[macro_export]
macro_rules! inclusive_scans {
    () => {
        Op::InclusiveAdd | Op::InclusiveMul | Op::InclusiveMin | Op::InclusiveMax
    };
}
/// Scans over a subgroup.
#[macro_export]
macro_rules! scans {
    () => {
        $crate::exclusive_scans!() | $crate::inclusive_scans!()
    };
}
/// Fragments.
#[macro_export]
macro_rules! fragments {
    () => {
        Op::CoopLoad | Op::CoopStore | Op::CoopSplat | Op::CoopMma
    };
}
/// Barriers in shared memory.
#[macro_export]
macro_rules! mbarriers {
    () => {
        Op::MbarrierInit | Op::MbarrierArrive | Op::MbarrierArriveCopies | Op::MbarrierWait | Op::MbarrierTest
    };
}
/// Products of warpgroups.
#[macro_export]
macro_rules! wgmmas {
    () => {
        Op::WgmmaFence | Op::Wgmma | Op::WgmmaCommit | Op::WgmmaWait
    };
}
/// Asynchronous operations.
#[macro_export]
macro_rules! asynchronous {
    () => {
        Op::AsyncCopy | Op::AsyncCommit | Op::AsyncWait | Op::FenceAsync | $crate::mbarriers!() | $crate::wgmmas!()
    };
}
/// Work on cells and words.
#[macro_export]
macro_rules! cells {
    () => {
        Op::CellNew
            | Op::CellGet
            | Op::CellLayout
            | Op::CellOpen
            | Op::CellFill
            | Op::CellFree
            | Op::ChainNew
            | Op::ChainGrow
            | Op::ChainEnd
            | Op::TermShare
            | Op::TermDrop
            | Op::TermPack
            | Op::TermTag
            | Op::TermPayload
            | Op::GlobalGet
    };
}
/// Calls that are no plain ones.
#[macro_export]
macro_rules! tasks {
    () => {
        Op::Fork | Op::Join | Op::Tail
    };
}
/// Task form: cells, words, forks.
#[macro_export]
macro_rules! task_form {
    () => {
        $crate::cells!() | $crate::tasks!()
    };
}
/// Truth and choice lane by lane: task form, too.
#[macro_export]
macro_rules! masks {
    () => {
        Op::MaskEq | Op::MaskLt | Op::MaskLe | Op::MaskSelect | Op::MaskAny
    };
}
/// All arithmetic on scalars and vectors.
#[macro_export]
macro_rules! arithmetic {
    () => {
        $crate::plain_arithmetic!()
            | $crate::integer_arithmetic!()
            | $crate::more_arithmetic!()
            | $crate::compares!()
            | $crate::conversions!()
            | $crate::functions!()
    };
}
/// Products of matrices in memory, by one invocation.
#[macro_export]
macro_rules! matrix_products {
    () => {
        Op::Gemm
    };
}
/// Accesses to memory: plain, atomic, of whole matrices.
#[macro_export]
macro_rules! memory {
    () => {
        $crate::accesses!() | $crate::atomics!() | $crate::matrix_products!()
    };
}
/// What invocations of a workgroup do together, and what runs beside them.
#[macro_export]
macro_rules! convergent {
    () => {
        $crate::barriers!()
            | $crate::votes!()
            | $crate::shuffles!()
            | $crate::reductions!()
            | $crate::scans!()
            | $crate::fragments!()
            | $crate::asynchronous!()
    };
}
/// All positions.
#[macro_export]
macro_rules! all_positions {
    () => {
        $crate::positions!() | $crate::subgroup_positions!()
    };
}
/// What only kernels on a device do: positions, and what invocations do together.
#[macro_export]
macro_rules! of_kernels {
    () => {
        $crate::all_positions!() | $crate::convergent!()
    };
}
/// What is neither control nor arithmetic, nor of the tile family.
#[macro_export]
macro_rules! effects_and_positions {
    () => {
        $crate::aggregates!() | $crate::memory!() | $crate::of_kernels!() | $crate::task_form!() | $crate::masks!()
    };
}
/// All that is not arithmetic on scalars and vectors.
#[macro_export]
macro_rules! not_arithmetic {
    () => {
        $crate::control!() | $crate::effects_and_positions!() | $crate::tile_operations!()
    };
}
/// All that neither holds nor ends a region, nor calls.
#[macro_export]
macro_rules! not_control {
    () => {
        $crate::arithmetic!() | $crate::effects_and_positions!() | $crate::tile_operations!()
    };
}
/// Operations on tiles that run a region on their elements.
#[macro_export]
macro_rules! by_element {
    () => {
        Op::TileMap | Op::TileReduce | Op::TileScan
    };
}
/// Accesses to buffers, a tile at once.
#[macro_export]
macro_rules! tile_accesses {
    () => {
        Op::TileLoad | Op::TileStore | Op::TileAtomic | Op::TileCompareExchange
    };
}
/// What neither runs a region on elements nor accesses a buffer.
#[macro_export]
macro_rules! tiles_without_memory {
    () => {
        Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileJoin
            | Op::TileSplit
            | Op::TileCat
            | Op::TileGather
            | Op::TileHistogram
            | Op::TileDot
            | Op::TileHint
            | Op::TileAssume
            | Op::TilePrint
            | Op::TileAssert
    };
}
/// All others of the tile family.
#[macro_export]
macro_rules! whole_tiles {
    () => {
        $crate::tile_accesses!() | $crate::tiles_without_memory!()
    };
}
/// All that is not of the tile family.
#[macro_export]
macro_rules! not_of_tiles {
    () => {
        $crate::control!() | $crate::arithmetic!() | $crate::effects_and_positions!()
    };
}

pub use {
    accesses, aggregates, all_positions, approximations, arithmetic, asynchronous, atomic_updates, atomics, barriers,
    bits, by_element, cells, compares, control, convergent, conversions, counts, effects_and_positions,
    exclusive_scans, fragments, functions, grid_positions, inclusive_scans, integer_arithmetic, jumps, library,
    local_positions, loop_jumps, masks, matrix_products, mbarriers, memory, more_arithmetic, not_arithmetic,
    not_control, not_of_tiles, of_kernels, other_control, plain_arithmetic, positions, reductions, regions, roundings,
    scans, shuffles, subgroup_positions, task_form, tasks, tile_accesses, tiles_without_memory, votes, wgmmas,
    whole_tiles,
};
