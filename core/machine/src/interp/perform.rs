//! Every operation that is neither plain arithmetic nor control flow: which code does it.

use super::code::Step;
use super::fault::Fault;
use super::machine::Machine;
use super::products::WARPGROUP;
use girih_base::diag::Code;
use girih_ir::ops::{Convergence, Op};

impl Machine<'_> {
    /// Does an operation for all lanes that run.
    pub(super) fn perform(&mut self, step: &Step) -> Result<(), Fault> {
        match step.op {
            Op::TrapIf => self.trap_if(step),
            Op::Select => {
                self.select(step);
                Ok(())
            }
            Op::MaskAny => {
                self.any_of_mask(step);
                Ok(())
            }
            Op::Bitcast => {
                self.bitcast(step);
                Ok(())
            }
            Op::Vector | Op::Splat => {
                self.gather(step);
                Ok(())
            }
            Op::Extract | Op::Insert => self.element(step),
            Op::Load => self.load(step),
            Op::Store => self.store(step),
            Op::UniformLoad => self.uniform_load(step),
            Op::AtomicLoad
            | Op::AtomicStore
            | Op::AtomicAdd
            | Op::AtomicMin
            | Op::AtomicMax
            | Op::AtomicAnd
            | Op::AtomicOr
            | Op::AtomicXor
            | Op::AtomicExchange
            | Op::AtomicCompareExchange => {
                self.clear_origins(step);
                self.atomic(step)
            }
            Op::GlobalId
            | Op::LocalId
            | Op::LocalIndex
            | Op::WorkgroupId
            | Op::NumWorkgroups
            | Op::WorkgroupSize
            | Op::SubgroupSize
            | Op::SubgroupId
            | Op::NumSubgroups
            | Op::Lane => {
                self.position(step);
                self.clear_origins(step);
                Ok(())
            }
            Op::Barrier => self.barrier(step),
            Op::Fence => {
                self.ordered(self.inst(step).order());
                Ok(())
            }
            Op::Ballot | Op::Any | Op::All | Op::Elect => self.vote(step),
            Op::Shuffle | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown | Op::Broadcast => self.shuffle(step),
            Op::SubgroupAdd
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
            | Op::InclusiveMax => self.combine(step),
            Op::Gemm => self.gemm(step),
            Op::CoopLoad => self.coop_load(step),
            Op::CoopStore => self.coop_store(step),
            Op::CoopSplat => self.coop_splat(step),
            Op::CoopMma => self.coop_mma(step),
            Op::AsyncCopy => self.async_copy(step),
            Op::AsyncCommit => {
                self.copies.commit(&self.mask);
                Ok(())
            }
            Op::AsyncWait => self.async_wait(step),
            Op::MbarrierInit => self.mbarrier_init(step),
            Op::MbarrierArrive => self.mbarrier_arrive(step),
            Op::MbarrierArriveCopies => self.mbarrier_arrive_copies(step),
            Op::MbarrierWait => self.mbarrier_wait(step),
            Op::MbarrierTest => self.mbarrier_test(step),
            Op::FenceAsync => {
                if let Some(checks) = &mut self.checks {
                    checks.fence_async();
                }
                Ok(())
            }
            Op::WgmmaFence => self.wgmma_fence(step),
            Op::Wgmma => self.wgmma(step),
            Op::WgmmaCommit => self.wgmma_commit(step),
            Op::WgmmaWait => self.wgmma_wait(step),
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
            | Op::TileHint => {
                self.tile(step);
                self.clear_origins(step);
                Ok(())
            }
            Op::TileLoad => self.tile_load(step),
            Op::TileStore => self.tile_store(step),
            Op::TileAtomic | Op::TileCompareExchange => self.tile_atomic(step),
            Op::TileAssume | Op::TileAssert => self.tile_condition(step),
            Op::TilePrint => {
                self.tile_print(step);
                Ok(())
            }
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
            | Op::ExpApprox
            | Op::Exp2Approx
            | Op::LogApprox
            | Op::Log2Approx
            | Op::SinApprox
            | Op::CosApprox
            | Op::TanhApprox
            | Op::Add
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
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Convert
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Trunc
            | Op::Sqrt
            | Op::DivApprox
            | Op::RcpApprox
            | Op::SqrtApprox
            | Op::RsqrtApprox
            | Op::If
            | Op::Switch
            | Op::Loop
            | Op::Call
            | Op::Yield
            | Op::Break
            | Op::Continue
            | Op::While
            | Op::Return
            | Op::Grid
            | Op::TileMap
            | Op::TileReduce
            | Op::TileScan
            | Op::CellNew
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
            | Op::MaskEq
            | Op::MaskLt
            | Op::MaskLe
            | Op::MaskSelect
            | Op::TermPayload
            | Op::GlobalGet
            | Op::Fork
            | Op::Join
            | Op::Tail => {
                let message = format!("the interpreter has no meaning for {}", self.operation(step));
                Err(self.fault(Code::Internal, step, message).into())
            }
        }
    }

    fn trap_if(&mut self, step: &Step) -> Result<(), Fault> {
        self.defined(step, 0, "decides a trap")?;
        let condition = step.operands[0].offset;
        if self.trap.is_none() && self.mask.iter().any(|lane| self.activation.values[condition + lane] != 0) {
            let inst = self.inst(step);
            self.trap = Some((inst.code(), inst.span));
        }
        Ok(())
    }

    fn barrier(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Workgroup)?;
        let spaces = self.inst(step).spaces();
        if let Some(checks) = &mut self.checks {
            checks.barrier(spaces);
        }
        Ok(())
    }

    /// All of those who must reach an operation together have reached it.
    pub(super) fn converged(&self, step: &Step, convergence: Convergence) -> Result<(), Fault> {
        if self.checks.is_none() || self.mask == self.all {
            return Ok(());
        }
        let group = |lane: usize| match convergence {
            Convergence::Free => lane..lane + 1,
            Convergence::Subgroup => {
                let first = lane / self.team.width * self.team.width;
                first..(first + self.team.width).min(self.team.lanes)
            }
            Convergence::Warpgroup => {
                let first = lane / WARPGROUP * WARPGROUP;
                first..(first + WARPGROUP).min(self.team.lanes)
            }
            Convergence::Workgroup => 0..self.team.lanes,
        };
        let Some(missing) = self.mask.iter().flat_map(group).find(|lane| !self.mask.has(*lane)) else { return Ok(()) };
        let whole = match convergence {
            Convergence::Workgroup => "workgroup",
            Convergence::Warpgroup => "warpgroup",
            Convergence::Free | Convergence::Subgroup => "subgroup",
        };
        let message = format!(
            "{} is reached by a part of the {whole} only, not by {}",
            self.operation(step),
            self.invocation(missing)
        );
        let hint = "move it out of the condition, or make the condition the same for all of them";
        Err(self.fault(Code::NotTogether, step, message).hint(hint).into())
    }

    /// An operand is the same in all lanes of each group of `width`.
    pub(super) fn same(&self, step: &Step, operand: usize, width: usize) -> Result<(), Fault> {
        if self.checks.is_none() {
            return Ok(());
        }
        let offset = step.operands[operand].offset;
        let value = |lane: usize| self.activation.values[offset + lane];
        let mut first: Option<usize> = None;
        for lane in self.mask.iter() {
            match first.filter(|first| first / width == lane / width) {
                None => first = Some(lane),
                Some(first) if value(first) != value(lane) => {
                    let what = self.operand(step, operand);
                    let message = format!(
                        "{what} of {} is {} here and {} in {}",
                        self.operation(step),
                        value(lane),
                        value(first),
                        self.invocation(first)
                    );
                    let hint =
                        "it must be the same in all invocations that reach it together; use `broadcast` or `shuffle`";
                    return Err(self.fault_of(Code::NotUniform, step, lane, message).hint(hint).into());
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
