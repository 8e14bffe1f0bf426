//! Atomic accesses: the processor's own, all of them sequentially consistent, which is more than any order asks for.

use super::{Form, Place, Result, Translator, not_legal};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, BlockArg, InstBuilder, MemFlags, Type as Machine, Value, types};
use girih_ir::{Inst, Op, Scalar, ScalarSet, Type};

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// The address, type and flags of an atomic access.
    fn atomic(&mut self, inst: &Inst) -> Result<(Value, Machine, MemFlags)> {
        if !ScalarSet::WORDS.or(ScalarSet::WIDE).or(ScalarSet::of(&[Scalar::U16])).has(inst.element()) {
            return Err(not_legal(inst));
        }
        let (address, place) = self.address(inst, Type::Scalar(inst.element()))?;
        let flags = Place { readonly: false, ..place }.flags();
        Ok((address, self.suffix_type(inst)?, flags))
    }

    /// `atomic.load`.
    pub(super) fn atomic_load(&mut self, inst: &Inst) -> Result<()> {
        let (address, ty, flags) = self.atomic(inst)?;
        let value = self.b.ins().atomic_load(ty, flags, address);
        self.give(inst, value)
    }

    /// `atomic.store`.
    pub(super) fn atomic_store(&mut self, inst: &Inst) -> Result<()> {
        let (address, _, flags) = self.atomic(inst)?;
        let value = self.get(inst.operands[2])?;
        self.b.ins().atomic_store(flags, value, address);
        Ok(())
    }

    /// The operations that give the old value for one operand.
    pub(super) fn atomic_update(&mut self, inst: &Inst) -> Result<()> {
        if (inst.op, inst.element()) == (Op::AtomicAdd, Scalar::F32) {
            return self.atomic_add_float(inst);
        }
        let signed = inst.element().is_signed();
        let operation = match (inst.op, signed) {
            (Op::AtomicAdd, _) => AtomicRmwOp::Add,
            (Op::AtomicMin, true) => AtomicRmwOp::Smin,
            (Op::AtomicMin, false) => AtomicRmwOp::Umin,
            (Op::AtomicMax, true) => AtomicRmwOp::Smax,
            (Op::AtomicMax, false) => AtomicRmwOp::Umax,
            (Op::AtomicAnd, _) => AtomicRmwOp::And,
            (Op::AtomicOr, _) => AtomicRmwOp::Or,
            (Op::AtomicXor, _) => AtomicRmwOp::Xor,
            (Op::AtomicExchange, _) => AtomicRmwOp::Xchg,
            _no_update => return Err(not_legal(inst)),
        };
        let (address, ty, flags) = self.atomic(inst)?;
        let operand = self.get(inst.operands[2])?;
        let old = self.b.ins().atomic_rmw(ty, flags, operation, address, operand);
        self.give(inst, old)
    }

    /// The sum of floats: tried until nobody has come between.
    fn atomic_add_float(&mut self, inst: &Inst) -> Result<()> {
        let (address, place) = self.address(inst, Type::F32)?;
        let flags = Place { readonly: false, ..place }.flags();
        let operand = self.get(inst.operands[2])?;
        let (again, done) = (self.b.create_block(), self.b.create_block());
        let expected = self.b.append_block_param(again, types::I32);
        let first = self.b.ins().atomic_load(types::I32, flags, address);
        self.b.ins().jump(again, &[BlockArg::Value(first)]);
        self.b.switch_to_block(again);
        let old = self.cast(types::F32, expected);
        let sum = self.b.ins().fadd(old, operand);
        let sum = self.cast(types::I32, sum);
        let found = self.b.ins().atomic_cas(flags, address, expected, sum);
        let alone = self.b.ins().icmp(IntCC::Equal, found, expected);
        self.b.ins().brif(alone, done, &[], again, &[BlockArg::Value(found)]);
        self.b.seal_block(again);
        self.b.seal_block(done);
        self.b.switch_to_block(done);
        self.give(inst, old)
    }

    /// `atomic.compare_exchange`.
    pub(super) fn atomic_compare_exchange(&mut self, inst: &Inst) -> Result<()> {
        let (address, _, flags) = self.atomic(inst)?;
        let [_, _, expected, new] = inst.operands[..] else { return Err(not_legal(inst)) };
        let (expected, new) = (self.get(expected)?, self.get(new)?);
        let old = self.b.ins().atomic_cas(flags, address, expected, new);
        self.give(inst, old)
    }

    /// `fence`.
    pub(super) fn fence(&mut self) -> Result<()> {
        self.b.ins().fence();
        Ok(())
    }
}
