//! Truth and choice lane by lane, on vector registers and on single words.

use super::{Form, Result, Translator, not_legal};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use girih_ir::{Def, Inst, Op, Scalar, ValueId};

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// `mask.eq`, `mask.lt`, `mask.le`.
    pub(super) fn compare_lanes(&mut self, inst: &Inst) -> Result<()> {
        let [x, y] = self.get_all(&inst.operands)?[..] else { return Err(not_legal(inst)) };
        let holds = match (inst.op, inst.element()) {
            (Op::MaskEq, Scalar::F32) => self.b.ins().fcmp(FloatCC::Equal, x, y),
            (Op::MaskLt, Scalar::F32) => self.b.ins().fcmp(FloatCC::LessThan, x, y),
            (Op::MaskLe, Scalar::F32) => self.b.ins().fcmp(FloatCC::LessThanOrEqual, x, y),
            (Op::MaskEq, _) => self.b.ins().icmp(IntCC::Equal, x, y),
            (Op::MaskLt, Scalar::I32) => self.b.ins().icmp(IntCC::SignedLessThan, x, y),
            (Op::MaskLt, _) => self.b.ins().icmp(IntCC::UnsignedLessThan, x, y),
            (Op::MaskLe, Scalar::I32) => self.b.ins().icmp(IntCC::SignedLessThanOrEqual, x, y),
            (Op::MaskLe, _) => self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, x, y),
            (_no_comparison, _) => return Err(not_legal(inst)),
        };
        // Of a vector, the machine's own comparison is the mask.
        let is_vector = self.b.func.dfg.value_type(x).is_vector();
        let mask = if is_vector { holds } else { self.b.ins().bmask(types::I32, holds) };
        self.give(inst, mask)
    }

    /// `mask.select`.
    pub(super) fn choose_lanes(&mut self, inst: &Inst) -> Result<()> {
        let [mask, x, y] = self.get_all(&inst.operands)?[..] else { return Err(not_legal(inst)) };
        let (bits, machine) = (self.b.func.dfg.value_type(mask), self.suffix_type(inst)?);
        let (x, y) = (self.cast(bits, x), self.cast(bits, y));
        let chosen = self.b.ins().bitselect(mask, x, y);
        let value = self.cast(machine, chosen);
        self.give(inst, value)
    }

    /// `mask.any`.
    pub(super) fn any_lane(&mut self, inst: &Inst) -> Result<()> {
        let [mask] = self.get_all(&inst.operands)?[..] else { return Err(not_legal(inst)) };
        let any = if self.b.func.dfg.value_type(mask).is_vector() {
            self.b.ins().vany_true(mask)
        } else {
            self.b.ins().icmp_imm(IntCC::NotEqual, mask, 0)
        };
        self.give(inst, any)
    }

    /// The count by which all lanes of a vector are shifted, which is a constant.
    pub(super) fn shift_of_all(&mut self, count: ValueId) -> Option<Value> {
        let Def::Result(splat, _) = self.function.values[count].def else { return None };
        let splat = &self.function.insts[splat];
        let count = splat.operands.first().and_then(|v| self.function.as_constant(*v));
        count.filter(|_| splat.op == Op::Splat).map(|count| self.b.ins().iconst(types::I32, count as i64))
    }
}
