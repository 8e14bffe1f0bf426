//! `gemm`: a call of the host's function that multiplies matrices.
//!
//! Code writes what the product is into words on its stack, whose order [`crate::gemm`] has. The host's function checks that all elements are there before it reads
//! any, and says which matrix leaves its memory; the code then ends as it does at any other access outside.

use super::memory::Extent;
use super::{Form, Result, Translator, not_legal};
use crate::gemm::{self, WORDS};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, StackSlotData, StackSlotKind, Value, types};
use cranelift_module::Linkage;
use girih_ir::Inst;

/// Matrices of a product, and the operands of each: a memory and an index.
const MATRICES: usize = 3;

impl<'a, F: Form<'a>> Translator<'a, '_, F> {
    /// `gemm`.
    pub(super) fn gemm(&mut self, inst: &Inst) -> Result<()> {
        let symbol = gemm::symbol(inst.element()).ok_or_else(|| not_legal(inst))?;
        let mut words = vec![];
        for matrix in 0..MATRICES {
            let (memory, index) = (inst.operands[2 * matrix], inst.operands[2 * matrix + 1]);
            let place = *self.places.get(&memory).ok_or_else(|| not_legal(inst))?;
            words.push(place.base);
            words.push(match place.extent {
                Extent::Known(bytes) => self.b.ins().iconst(types::I64, bytes as i64),
                Extent::Value(bytes) => bytes,
            });
            words.push(self.element(index, 0)?);
        }
        for number in &inst.operands[2 * MATRICES..] {
            words.push(self.element(*number, 0)?);
        }
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * WORDS as u32, 3);
        let slot = self.b.create_sized_stack_slot(slot);
        for (word, at) in words.into_iter().zip(0..) {
            self.b.ins().stack_store(word, slot, 8 * at);
        }
        let address = self.b.ins().stack_addr(types::I64, slot, 0);
        let outside = self.host_call(inst, symbol, address)?;
        let element = self.b.ins().stack_load(types::I64, slot, 0);
        for matrix in 0..MATRICES {
            let is = self.b.ins().icmp_imm(IntCC::Equal, outside, matrix as i64 + 1);
            F::outside(self, inst, inst.operands[2 * matrix], is, element)?;
        }
        Ok(())
    }

    /// Calls a function of the host that takes an address and gives 32 bits.
    fn host_call(&mut self, inst: &Inst, symbol: &str, address: Value) -> Result<Value> {
        let mut signature = Signature::new(self.module.isa().default_call_conv());
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I32));
        let id = self.module.declare_function(symbol, Linkage::Import, &signature).map_err(|_| not_legal(inst))?;
        let callee = self.module.declare_func_in_func(id, self.b.func);
        let call = self.b.ins().call(callee, &[address]);
        self.b.inst_results(call).first().copied().ok_or_else(|| not_legal(inst))
    }
}
