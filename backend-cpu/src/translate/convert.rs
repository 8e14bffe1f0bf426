//! Conversions and bit casts.

use super::{Form, Result, Translator, not_legal};
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlags, Type as Machine, Value};
use girih_ir::{Inst, Scalar};

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// `convert`: short floats and truth values were converted by legalisation.
    pub(super) fn convert(&mut self, inst: &Inst) -> Result<()> {
        let [operand] = inst.operands[..] else { return Err(not_legal(inst)) };
        let x = self.get(operand)?;
        let from = self.function.ty(operand).element().ok_or_else(|| not_legal(inst))?;
        let to = inst.element();
        let machine = self.suffix_type(inst)?;
        let number = |s: Scalar| s.is_integer() || matches!(s, Scalar::F32 | Scalar::F64);
        if !(number(from) && number(to)) {
            return Err(not_legal(inst));
        }
        let ins = self.b.ins();
        let value = match (from.is_float(), to.is_float()) {
            (false, false) if to.bits() > from.bits() && from.is_signed() => ins.sextend(machine, x),
            (false, false) if to.bits() > from.bits() => ins.uextend(machine, x),
            (false, false) if to.bits() < from.bits() => ins.ireduce(machine, x),
            (false, true) if from.is_signed() => ins.fcvt_from_sint(machine, x),
            (false, true) => ins.fcvt_from_uint(machine, x),
            (true, false) if to.is_signed() => ins.fcvt_to_sint_sat(machine, x),
            (true, false) => ins.fcvt_to_uint_sat(machine, x),
            (true, true) if to.bits() > from.bits() => ins.fpromote(machine, x),
            (true, true) if to.bits() < from.bits() => ins.fdemote(machine, x),
            (false, false) | (true, true) => x,
        };
        self.give(inst, value)
    }

    /// `bitcast`.
    pub(super) fn bitcast(&mut self, inst: &Inst) -> Result<()> {
        let x = self.get_all(&inst.operands)?;
        let ([x], machine) = (&x[..], self.suffix_type(inst)?) else { return Err(not_legal(inst)) };
        if self.b.func.dfg.value_type(*x).bits() != machine.bits() {
            return Err(not_legal(inst));
        }
        let value = self.cast(machine, *x);
        self.give(inst, value)
    }

    /// The same bits as another machine type of the same size.
    pub(super) fn cast(&mut self, to: Machine, x: Value) -> Value {
        let from = self.b.func.dfg.value_type(x);
        if from == to {
            return x;
        }
        let flags = if from.is_vector() || to.is_vector() {
            MemFlags::new().with_endianness(Endianness::Little)
        } else {
            MemFlags::new()
        };
        self.b.ins().bitcast(to, flags, x)
    }
}
