//! What the IR's values are in the code: a machine value each, or a variable for those that are set again (behind a barrier, in
//! whose stead another invocation has run).

use super::{Form, Result, Translator, types};
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value};
use cranelift_frontend::Variable;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Def, Inst, Scalar, Type, ValueId, eval};
use std::collections::HashMap;

/// Where a value is found.
#[derive(Clone, Copy, Debug)]
enum Slot {
    Value(Value),
    Variable(Variable),
}

/// Values by their ids.
#[derive(Debug, Default)]
pub(super) struct Values {
    slots: HashMap<ValueId, Slot>,
}

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// Makes a value a variable, before it is set.
    pub fn declare_variable(&mut self, value: ValueId) -> Result<()> {
        let ty = self.machine_type(value)?;
        let variable = self.b.declare_var(ty);
        self.values.slots.insert(value, Slot::Variable(variable));
        Ok(())
    }

    /// Says what a value is from here on.
    pub fn set(&mut self, value: ValueId, to: Value) {
        match self.values.slots.get(&value) {
            Some(Slot::Variable(variable)) => self.b.def_var(*variable, to),
            Some(Slot::Value(_)) | None => {
                self.values.slots.insert(value, Slot::Value(to));
            }
        }
    }

    /// What a value is here.
    pub fn get(&mut self, value: ValueId) -> Result<Value> {
        if let Def::Constant(bits) = self.function.values[value].def {
            return self.constant(self.function.ty(value), bits);
        }
        match self.values.slots.get(&value) {
            Some(Slot::Value(value)) => Ok(*value),
            Some(Slot::Variable(variable)) => Ok(self.b.use_var(*variable)),
            None => Err(self.broken(value, "is used before it is there")),
        }
    }

    /// What several values are here.
    pub fn get_all(&mut self, values: &[ValueId]) -> Result<Vec<Value>> {
        values.iter().map(|v| self.get(*v)).collect()
    }

    /// A constant of a scalar type.
    fn constant(&mut self, ty: Type, bits: u64) -> Result<Value> {
        let ins = self.b.ins();
        Ok(match ty.element() {
            Some(Scalar::F32) => ins.f32const(f32::from_bits(bits as u32)),
            Some(Scalar::F64) => ins.f64const(f64::from_bits(bits)),
            Some(scalar) => {
                let unused = 64 - types::of_scalar(scalar).bits();
                ins.iconst(types::of_scalar(scalar), ((bits << unused) as i64) >> unused)
            }
            None => return Err(Diagnostic::new(Code::Internal, self.function.span, format!("a constant of `{ty}`"))),
        })
    }

    /// What an operation on constants gives: known here where a function is written within its caller.
    pub(super) fn folded(&mut self, inst: &Inst) -> Result<Option<Value>> {
        let [result] = inst.results[..] else { return Ok(None) };
        let plain = |ty: Type| match ty {
            Type::Scalar(scalar) if scalar.is_integer() || scalar == Scalar::Bool => Some(scalar),
            _of_floats_or_more => None,
        };
        let scalar = |t: &Self, value: ValueId| plain(t.function.ty(value));
        let (true, Some(_), Some(first)) = (inst.op.is_pure(), scalar(self, result), inst.operands.first()) else {
            return Ok(None);
        };
        let Some(source) = scalar(self, *first) else { return Ok(None) };
        let ty = inst.ty.and_then(plain).unwrap_or(source);
        let mut operands = vec![];
        for operand in &inst.operands {
            let (Some(ty), true) = (scalar(self, *operand), self.is_there(*operand)) else { return Ok(None) };
            let value = self.get(*operand)?;
            let Some(bits) = self.known(value) else { return Ok(None) };
            operands.push(bits & ty.mask());
        }
        match eval::scalar(inst.op, ty, source, &operands) {
            Some(bits) => self.constant(self.function.ty(result), bits).map(Some),
            None => Ok(None),
        }
    }

    fn is_there(&self, value: ValueId) -> bool {
        matches!(self.function.values[value].def, Def::Constant(_)) || self.values.slots.contains_key(&value)
    }

    /// The bits of a value that is a constant in the code.
    pub(crate) fn known(&self, value: Value) -> Option<u64> {
        let dfg = &self.b.func.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(value)).inst()?;
        match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u64),
            _computed => None,
        }
    }

    /// The machine type of a value.
    pub fn machine_type(&self, value: ValueId) -> Result<cranelift_codegen::ir::Type> {
        types::machine_type(self.function.ty(value)).ok_or_else(|| self.broken(value, "has no machine type"))
    }

    fn broken(&self, value: ValueId, what: &str) -> Diagnostic {
        let ty = self.function.ty(value);
        Diagnostic::new(Code::Internal, self.function.span_of(value), format!("a value of type `{ty}` {what}"))
    }
}
