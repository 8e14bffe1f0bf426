//! Which renderer writes an operation. A new operation of the table is missing here until it has an arm.

use super::isa::Isa;
use super::render::{Renderer, ptx};
use girih_ir::groups::{masks, task_form};
use girih_ir::{Inst, Op};

impl Renderer<'_> {
    /// Writes an instruction.
    pub fn inst(&mut self, inst: &Inst) {
        self.text.span = Some(inst.span);
        match inst.op {
            Op::If => self.if_(inst),
            Op::Switch => self.switch(inst),
            Op::Loop => self.loop_(inst),
            Op::Call => self.call(inst),
            Op::Yield => self.yield_(inst),
            Op::Break => self.break_(inst),
            Op::Continue => self.continue_(inst),
            Op::While => self.while_(inst),
            Op::Return => self.return_(inst),
            Op::Grid | Op::TrapIf => self.refuse(inst, "the lowering takes it away"),

            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Rem
            | Op::MulHi
            | Op::Min
            | Op::Max
            | Op::Fma
            | Op::Mad
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::Shl
            | Op::Shr
            | Op::Clz
            | Op::Ctz
            | Op::Popc
            | Op::ReverseBits
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Sqrt => self.arithmetic(inst),
            Op::Neg | Op::Abs => self.sign(inst),
            Op::Eq => self.compare(inst, "eq"),
            Op::Ne => self.compare(inst, "ne"),
            Op::Lt => self.compare(inst, "lt"),
            Op::Le => self.compare(inst, "le"),
            Op::Gt => self.compare(inst, "gt"),
            Op::Ge => self.compare(inst, "ge"),
            Op::Select => self.select(inst),
            Op::Convert => self.convert(inst),
            Op::Bitcast => self.bitcast(inst),
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
            | Op::Pow => self.refuse(inst, "the math library has it"),
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
            | Op::TanhApprox => self.approximate(inst),

            Op::Vector => self.vector(inst),
            Op::Splat => self.splat(inst),
            Op::Extract => self.extract(inst),
            Op::Insert => self.insert(inst),

            Op::Load => self.load(inst),
            Op::Store => self.store(inst),
            Op::UniformLoad => self.uniform_load(inst),
            Op::AtomicLoad => self.atomic_load(inst),
            Op::AtomicStore => self.atomic_store(inst),
            Op::AtomicAdd => self.atomic(inst, "add"),
            Op::AtomicMin => self.atomic(inst, "min"),
            Op::AtomicMax => self.atomic(inst, "max"),
            Op::AtomicAnd => self.atomic(inst, "and"),
            Op::AtomicOr => self.atomic(inst, "or"),
            Op::AtomicXor => self.atomic(inst, "xor"),
            Op::AtomicExchange => self.atomic(inst, "exch"),
            Op::AtomicCompareExchange => self.atomic(inst, "cas"),

            Op::GlobalId
            | Op::LocalId
            | Op::LocalIndex
            | Op::WorkgroupId
            | Op::NumWorkgroups
            | Op::WorkgroupSize
            | Op::SubgroupSize
            | Op::SubgroupId
            | Op::NumSubgroups
            | Op::Lane => self.launch_position(inst),

            Op::Barrier => ptx!(self, "bar.sync 0"),
            Op::Fence => self.fence(inst),

            Op::Ballot => self.ballot(inst),
            Op::Any => self.vote(inst, "any"),
            Op::All => self.vote(inst, "all"),
            Op::Elect => self.elect(inst),
            Op::Shuffle | Op::Broadcast => self.shuffle(inst, "idx"),
            Op::ShuffleXor => self.shuffle(inst, "bfly"),
            Op::ShuffleUp => self.shuffle(inst, "up"),
            Op::ShuffleDown => self.shuffle(inst, "down"),
            Op::SubgroupAdd => self.reduce(inst, Op::Add),
            Op::SubgroupMul => self.reduce(inst, Op::Mul),
            Op::SubgroupMin => self.reduce(inst, Op::Min),
            Op::SubgroupMax => self.reduce(inst, Op::Max),
            Op::SubgroupAnd => self.reduce(inst, Op::And),
            Op::SubgroupOr => self.reduce(inst, Op::Or),
            Op::SubgroupXor => self.reduce(inst, Op::Xor),
            Op::InclusiveAdd => self.inclusive(inst, Op::Add),
            Op::InclusiveMul => self.inclusive(inst, Op::Mul),
            Op::InclusiveMin => self.inclusive(inst, Op::Min),
            Op::InclusiveMax => self.inclusive(inst, Op::Max),
            Op::ExclusiveAdd => self.exclusive(inst, Op::Add),
            Op::ExclusiveMul => self.exclusive(inst, Op::Mul),

            Op::CoopLoad => self.coop_load(inst),
            Op::CoopStore => self.coop_store(inst),
            Op::CoopSplat => self.coop_splat(inst),
            Op::CoopMma => self.coop_mma(inst),

            Op::AsyncCopy => self.async_copy(inst),
            Op::AsyncCommit => ptx!(self, "cp.async.commit_group"),
            Op::AsyncWait => self.async_wait(inst),
            Op::MbarrierInit => self.mbarrier_init(inst),
            Op::MbarrierArrive => self.mbarrier_arrive(inst),
            Op::MbarrierArriveCopies => self.mbarrier_arrive_copies(inst),
            Op::MbarrierWait => self.mbarrier_wait(inst),
            Op::MbarrierTest => self.mbarrier_test(inst),
            Op::FenceAsync => {
                self.isa(Isa(8, 0));
                ptx!(self, "fence.proxy.async.shared::cta");
            }
            Op::WgmmaFence => self.warpgroup_step("fence"),
            Op::Wgmma => self.wgmma(inst),
            Op::WgmmaCommit => self.warpgroup_step("commit_group"),
            Op::WgmmaWait => self.wgmma_wait(inst),

            Op::Gemm => self.refuse(inst, "only processors have it"),
            task_form!() | masks!() | girih_ir::tile_operations!() => self.refuse(inst, "no kernel on a device has it"),
        }
    }
}
