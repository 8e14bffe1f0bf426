//! What the IR's values are in the code: a machine value each, or a variable for those that are set again (behind a barrier, in
//! whose stead another invocation has run).

use super::{Form, Result, Translator, types};
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use girih_core::diag::{Code, Diagnostic};
use girih_core::ir::{Def, Scalar, Type, ValueId};
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

    /// The machine type of a value.
    pub fn machine_type(&self, value: ValueId) -> Result<cranelift_codegen::ir::Type> {
        types::machine_type(self.function.ty(value)).ok_or_else(|| self.broken(value, "has no machine type"))
    }

    fn broken(&self, value: ValueId, what: &str) -> Diagnostic {
        let ty = self.function.ty(value);
        Diagnostic::new(Code::Internal, self.function.span_of(value), format!("a value of type `{ty}` {what}"))
    }
}
