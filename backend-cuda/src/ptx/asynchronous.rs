//! Copies that run beside the program, and barriers with phases in shared memory.

use super::copies::Operand;
use super::isa::Isa;
use super::registers::Class;
use super::render::{Renderer, ptx};
use girih_ir::Inst;

impl Renderer<'_> {
    /// `async.copy`. A copy from outside reads nothing and writes zeros: its source has no bytes.
    pub fn async_copy(&mut self, inst: &Inst) {
        let bytes = inst.ty.map_or(4, |ty| ty.bytes());
        let [to, to_index, from, from_index, inside] = inst.operands[..] else { return };
        let target = self.address(to, to_index, inst.offset(), bytes);
        let source = self.address(from, from_index, inst.source_offset(), bytes);
        let through = if bytes == 16 { "cg" } else { "ca" };
        let code = format!("cp.async.{through}.shared.global {target}, {source}, {bytes}");
        match self.function.as_constant(inside) {
            Some(0) => ptx!(self, "{code}, 0"),
            Some(_) => ptx!(self, "{code}"),
            None => {
                let (inside, read) = (self.reg(inside), self.fresh(Class::B32));
                self.select_part(read, inside, Operand::Int(bytes.into()), Operand::Int(0));
                ptx!(self, "{code}, {read}");
            }
        }
    }

    /// `async.wait`.
    pub fn async_wait(&mut self, inst: &Inst) {
        ptx!(self, "cp.async.wait_group {}", inst.pending());
    }

    /// The address of a barrier in shared memory.
    fn mbarrier(&mut self, inst: &Inst) -> super::address::Address {
        self.address(inst.operands[0], inst.operands[1], inst.offset(), 8)
    }

    /// `mbarrier.init`.
    pub fn mbarrier_init(&mut self, inst: &Inst) {
        let (barrier, count) = (self.mbarrier(inst), self.operand(inst.operands[2]));
        ptx!(self, "mbarrier.init.shared.b64 {barrier}, {count}");
    }

    /// `mbarrier.arrive`.
    pub fn mbarrier_arrive(&mut self, inst: &Inst) {
        let (barrier, to) = (self.mbarrier(inst), self.result(inst));
        ptx!(self, "mbarrier.arrive.shared.b64 {to}, {barrier}");
    }

    /// `mbarrier.arrive_copies`: one of the arrivals that the barrier counts.
    pub fn mbarrier_arrive_copies(&mut self, inst: &Inst) {
        let barrier = self.mbarrier(inst);
        ptx!(self, "cp.async.mbarrier.arrive.noinc.shared.b64 {barrier}");
    }

    /// `mbarrier.test`.
    pub fn mbarrier_test(&mut self, inst: &Inst) {
        let (barrier, phase, to) = (self.mbarrier(inst), self.reg(inst.operands[2]), self.result(inst));
        ptx!(self, "mbarrier.test_wait.shared.b64 {to}, {barrier}, {phase}");
    }

    /// `mbarrier.wait`: asks until the phase is complete; from `sm_90` on the hardware sleeps meanwhile.
    pub fn mbarrier_wait(&mut self, inst: &Inst) {
        let (barrier, parity) = (self.mbarrier(inst), self.operand(inst.operands[2]));
        let (again, complete) = (self.label(), self.fresh(Class::Pred));
        let ask = if self.target.sm >= 90 {
            self.isa(Isa(7, 8));
            "try_wait"
        } else {
            self.isa(Isa(7, 1));
            "test_wait"
        };
        self.text.label(again);
        ptx!(self, "mbarrier.{ask}.parity.shared.b64 {complete}, {barrier}, {parity}");
        ptx!(self, "@!{complete} bra {again}");
    }
}
