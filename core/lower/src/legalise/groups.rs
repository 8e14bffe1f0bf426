//! Groups of operations as patterns, so that a match over operations stays exhaustive without naming all of them again: a
//! new operation compiles only once it is in one of the groups.

/// Regions, jumps, calls, traps.
macro_rules! control {
    () => {
        Op::If
            | Op::Switch
            | Op::Loop
            | Op::Call
            | Op::Yield
            | Op::Break
            | Op::Continue
            | Op::While
            | Op::Return
            | Op::Grid
            | Op::TrapIf
    };
}
/// Arithmetic of integers only.
macro_rules! integer_arithmetic {
    () => {
        Op::Rem | Op::MulHi | bits!() | Op::Shl | Op::Shr | counts!()
    };
}
/// Bitwise operations.
macro_rules! bits {
    () => {
        Op::And | Op::Or | Op::Xor | Op::Not
    };
}
/// What counts or moves single bits.
macro_rules! counts {
    () => {
        Op::Clz | Op::Ctz | Op::Popc | Op::ReverseBits
    };
}
/// Arithmetic of integers and floats that fits in one operation of a wider type.
macro_rules! plain_arithmetic {
    () => {
        Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max
    };
}
/// Comparisons.
macro_rules! compares {
    () => {
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge
    };
}
/// Float to float of integral value.
macro_rules! roundings {
    () => {
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc
    };
}
/// The math library.
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
/// Short vectors and register arrays.
macro_rules! aggregates {
    () => {
        Op::Vector | Op::Splat | Op::Extract | Op::Insert
    };
}
/// Plain accesses.
macro_rules! accesses {
    () => {
        Op::Load | Op::Store | Op::UniformLoad
    };
}
/// Atomic accesses that give the old value for one operand.
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
macro_rules! atomics {
    () => {
        Op::AtomicLoad | Op::AtomicStore | atomic_updates!() | Op::AtomicCompareExchange
    };
}
/// Positions that every device has.
macro_rules! positions {
    () => {
        Op::GlobalId | Op::LocalId | Op::LocalIndex | Op::WorkgroupId | Op::NumWorkgroups | Op::WorkgroupSize
    };
}
/// Positions in a subgroup.
macro_rules! subgroup_positions {
    () => {
        Op::SubgroupSize | Op::SubgroupId | Op::NumSubgroups | Op::Lane
    };
}
/// Barriers and fences.
macro_rules! barriers {
    () => {
        Op::Barrier | Op::Fence
    };
}
/// Votes of a subgroup.
macro_rules! votes {
    () => {
        Op::Ballot | Op::Any | Op::All | Op::Elect
    };
}
/// Values of other lanes.
macro_rules! shuffles {
    () => {
        Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown | Op::Broadcast
    };
}
/// Reductions over a subgroup.
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
macro_rules! exclusive_scans {
    () => {
        Op::ExclusiveAdd | Op::ExclusiveMul
    };
}
/// Scans over the lanes below and the lane itself.
macro_rules! inclusive_scans {
    () => {
        Op::InclusiveAdd | Op::InclusiveMul | Op::InclusiveMin | Op::InclusiveMax
    };
}
/// Scans over a subgroup.
macro_rules! scans {
    () => {
        exclusive_scans!() | inclusive_scans!()
    };
}
/// Fragments.
macro_rules! fragments {
    () => {
        Op::CoopLoad | Op::CoopStore | Op::CoopSplat | Op::CoopMma
    };
}
/// Asynchronous operations.
macro_rules! asynchronous {
    () => {
        Op::AsyncCopy
            | Op::AsyncCommit
            | Op::AsyncWait
            | Op::MbarrierInit
            | Op::MbarrierArrive
            | Op::MbarrierArriveCopies
            | Op::MbarrierWait
            | Op::MbarrierTest
            | Op::FenceAsync
            | Op::WgmmaFence
            | Op::Wgmma
            | Op::WgmmaCommit
            | Op::WgmmaWait
    };
}
/// Task form, which is never legalised: no kernel has it.
macro_rules! task_form {
    () => {
        Op::CellNew
            | Op::CellGet
            | Op::CellLayout
            | Op::CellOpen
            | Op::CellFill
            | Op::CellFree
            | Op::TermShare
            | Op::TermDrop
            | Op::TermPack
            | Op::TermTag
            | Op::TermPayload
            | Op::GlobalGet
            | Op::Fork
            | Op::Join
            | Op::Tail
    };
}
/// Truth and choice lane by lane: task form, too.
macro_rules! masks {
    () => {
        Op::MaskEq | Op::MaskLt | Op::MaskLe | Op::MaskSelect | Op::MaskAny
    };
}
/// All arithmetic on scalars and vectors.
macro_rules! arithmetic {
    () => {
        plain_arithmetic!()
            | integer_arithmetic!()
            | compares!()
            | roundings!()
            | library!()
            | approximations!()
            | Op::Div
            | Op::Neg
            | Op::Abs
            | Op::Fma
            | Op::Mad
            | Op::Select
            | Op::Convert
            | Op::Bitcast
            | Op::Sqrt
    };
}
/// Neither accesses to memory nor operations of a subgroup.
macro_rules! no_access_or_communication {
    () => {
        arithmetic!()
            | control!()
            | aggregates!()
            | positions!()
            | barriers!()
            | fragments!()
            | asynchronous!()
            | task_form!()
            | masks!()
            | girih_ir::tile_operations!()
    };
}
/// All that no subgroup does together.
macro_rules! not_of_a_subgroup {
    () => {
        subgroup_positions!() | accesses!() | atomics!() | no_access_or_communication!()
    };
}
/// All that is not arithmetic: what passes over scalar operations leave alone.
macro_rules! not_arithmetic {
    () => {
        control!()
            | aggregates!()
            | accesses!()
            | atomics!()
            | positions!()
            | subgroup_positions!()
            | barriers!()
            | votes!()
            | shuffles!()
            | reductions!()
            | scans!()
            | fragments!()
            | asynchronous!()
            | task_form!()
            | masks!()
            | girih_ir::tile_operations!()
    };
}
