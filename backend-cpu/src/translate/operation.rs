//! Which function writes which operation: the one match over all of them.

use super::{Form, Result, Translator, not_legal};
use girih_ir::{Inst, InstId, Op, RegionId};

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// The instructions of a region, its terminator included.
    pub(crate) fn region(&mut self, region: RegionId) -> Result<()> {
        let function = self.function;
        for id in &function.regions[region].insts {
            self.instruction(*id, &function.insts[*id])?;
            if self.has_left {
                break;
            }
        }
        Ok(())
    }

    /// Translates the first instructions of the body; whether anything can come behind them.
    pub(crate) fn beginning(&mut self, count: usize) -> Result<bool> {
        let function = self.function;
        for id in function.regions[function.body].insts.iter().take(count) {
            self.instruction(*id, &function.insts[*id])?;
            if std::mem::take(&mut self.has_left) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn instruction(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        if self.of_neighbours(id, inst)? {
            return Ok(());
        }
        if let Some(value) = self.folded(inst)? {
            return self.give(inst, value);
        }
        match inst.op {
            Op::If => self.if_(inst),
            Op::Switch => self.switch(inst),
            Op::Loop => self.loop_(inst),
            Op::Call => F::call(self, inst),
            Op::Yield => self.yield_(inst),
            Op::Break => self.break_(inst),
            Op::Continue => self.continue_(inst),
            Op::While => self.while_(inst),
            Op::Return => self.return_(inst),

            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Rem
            | Op::MulHi
            | Op::Neg
            | Op::Abs
            | Op::Min
            | Op::Max
            | Op::Fma
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
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Sqrt
            | Op::DivApprox
            | Op::RcpApprox
            | Op::SqrtApprox
            | Op::RsqrtApprox
            | Op::ExpApprox
            | Op::Exp2Approx
            | Op::LogApprox
            | Op::Log2Approx
            | Op::SinApprox
            | Op::CosApprox
            | Op::TanhApprox => self.arithmetic(inst),
            Op::Select => self.select(inst),
            Op::MaskEq | Op::MaskLt | Op::MaskLe => self.compare_lanes(inst),
            Op::MaskSelect => self.choose_lanes(inst),
            Op::MaskAny => self.any_lane(inst),
            Op::Convert => self.convert(inst),
            Op::Bitcast => self.bitcast(inst),

            Op::Vector => self.vector(inst),
            Op::Splat => self.splat(inst),
            Op::Extract => self.extract(inst),
            Op::Insert => self.insert(inst),

            Op::Load => self.load(inst),
            Op::Store => self.store(inst),
            Op::UniformLoad => self.uniform_load(id, inst),
            Op::Gemm => self.gemm(inst),
            Op::AtomicLoad => self.atomic_load(inst),
            Op::AtomicStore => self.atomic_store(inst),
            Op::AtomicAdd
            | Op::AtomicMin
            | Op::AtomicMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor
            | Op::AtomicExchange => self.atomic_update(inst),
            Op::AtomicCompareExchange => self.atomic_compare_exchange(inst),

            Op::GlobalId | Op::LocalId | Op::LocalIndex | Op::WorkgroupId | Op::NumWorkgroups | Op::WorkgroupSize => {
                let position = F::position(self, inst)?;
                self.give(inst, position)
            }
            Op::Barrier => F::barrier(self, id, 0),
            Op::Fence => self.fence(),

            // Lowered before code generation, or refused because the caps lack their feature.
            Op::Grid | Op::Mad => Err(not_legal(inst)),
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
            | Op::Pow => Err(not_legal(inst)),
            Op::SubgroupSize
            | Op::SubgroupId
            | Op::NumSubgroups
            | Op::Lane
            | Op::Ballot
            | Op::Any
            | Op::All
            | Op::Elect
            | Op::Shuffle
            | Op::ShuffleXor
            | Op::ShuffleUp
            | Op::ShuffleDown
            | Op::Broadcast
            | Op::SubgroupAdd
            | Op::SubgroupMul
            | Op::SubgroupMin
            | Op::SubgroupMax
            | Op::SubgroupAnd
            | Op::SubgroupOr
            | Op::SubgroupXor
            | Op::InclusiveAdd
            | Op::ExclusiveAdd
            | Op::InclusiveMul
            | Op::ExclusiveMul
            | Op::InclusiveMin
            | Op::InclusiveMax => Err(not_legal(inst)),
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
            | Op::Fork
            | Op::Join
            | Op::Tail
            | girih_ir::tile_operations!()
            | Op::TrapIf => F::task(self, inst),
            Op::CoopLoad | Op::CoopStore | Op::CoopSplat | Op::CoopMma => Err(not_legal(inst)),
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
            | Op::WgmmaWait => Err(not_legal(inst)),
        }
    }

    /// Sets an instruction's only result.
    pub(crate) fn give(&mut self, inst: &Inst, value: cranelift_codegen::ir::Value) -> Result<()> {
        let [result] = inst.results[..] else { return Err(not_legal(inst)) };
        self.set(result, value);
        Ok(())
    }
}
