//! Calls of functions of the module.

use super::{Form, Result, Translator, not_legal};
use cranelift_codegen::ir::InstBuilder;
use cranelift_module::FuncId;
use girih_base::idx::IndexVec;
use girih_ir::{FunctionId, Inst};

/// A function that can be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    /// Its declaration.
    pub id: FuncId,
    /// Whether it is given the launch's context.
    pub context: bool,
    /// Whether it is given the invocation's position, too.
    pub position: bool,
}

/// The functions of a module that can be called; none for kernels.
pub(crate) type Callees = IndexVec<FunctionId, Option<Callee>>;

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// `call`.
    pub(super) fn call(&mut self, inst: &Inst) -> Result<()> {
        let id = inst.callee().ok_or_else(|| not_legal(inst))?;
        let callee = self.callees.get(id).copied().flatten().ok_or_else(|| not_legal(inst))?;
        let mut arguments = F::hidden(self, id)?;
        arguments.extend(self.get_all(&inst.operands)?);
        let callee = self.module.declare_func_in_func(callee.id, self.b.func);
        let call = self.b.ins().call(callee, &arguments);
        let results = self.b.inst_results(call).to_vec();
        for (result, value) in inst.results.iter().zip(results) {
            self.set(*result, value);
        }
        Ok(())
    }
}
