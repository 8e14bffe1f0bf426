//! The device's own functions: what is bounded, not exact.

use super::copies::Operand;
use super::isa::Isa;
use super::registers::{Class, Reg};
use super::render::{Renderer, ptx};
use girih_ir::{Inst, Op, Scalar};
use std::f32::consts::{LN_2, LOG2_E};

impl Renderer<'_> {
    /// An `.approx` operation; on halves it is computed in `f32`.
    pub fn approximate(&mut self, inst: &Inst) {
        let ty = inst.element();
        let operands: Vec<Operand> = inst
            .operands
            .iter()
            .map(|v| {
                let operand = self.operand(*v);
                if ty == Scalar::F32 { operand } else { self.widen(ty, operand).into() }
            })
            .collect();
        let to = self.result(inst);
        if ty == Scalar::F32 {
            self.native(inst, to, &operands);
        } else {
            let wide = self.fresh(Class::B32);
            self.native(inst, wide, &operands);
            self.narrow(ty, to, wide);
        }
    }

    fn native(&mut self, inst: &Inst, to: Reg, operands: &[Operand]) {
        let a = operands[0];
        match inst.op {
            Op::DivApprox => ptx!(self, "div.full.f32 {to}, {a}, {}", operands[1]),
            Op::RcpApprox => ptx!(self, "rcp.approx.f32 {to}, {a}"),
            Op::SqrtApprox => ptx!(self, "sqrt.approx.f32 {to}, {a}"),
            Op::RsqrtApprox => ptx!(self, "rsqrt.approx.f32 {to}, {a}"),
            Op::Exp2Approx => ptx!(self, "ex2.approx.ftz.f32 {to}, {a}"),
            Op::Log2Approx => ptx!(self, "lg2.approx.f32 {to}, {a}"),
            Op::SinApprox => ptx!(self, "sin.approx.f32 {to}, {a}"),
            Op::CosApprox => ptx!(self, "cos.approx.f32 {to}, {a}"),
            Op::TanhApprox => {
                self.isa(Isa(7, 0));
                ptx!(self, "tanh.approx.f32 {to}, {a}");
            }
            Op::ExpApprox => {
                let scaled = self.fresh(Class::B32);
                ptx!(self, "mul.rn.f32 {scaled}, {a}, {}", Operand::F32(LOG2_E.to_bits()));
                ptx!(self, "ex2.approx.ftz.f32 {to}, {scaled}");
            }
            Op::LogApprox => {
                let log2 = self.fresh(Class::B32);
                ptx!(self, "lg2.approx.f32 {log2}, {a}");
                ptx!(self, "mul.rn.f32 {to}, {log2}, {}", Operand::F32(LN_2.to_bits()));
            }
            _ => self.refuse(inst, "it is no native function"),
        }
    }
}
