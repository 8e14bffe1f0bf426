//! Arithmetic, comparison and selection of scalars.
//!
//! Invariant: every float operation names its rounding, so that the assembler contracts nothing; what PTX lacks for halves goes
//! through `f32`, which rounds twice innocuously.

use super::copies::Operand;
use super::isa::Isa;
use super::registers::{Class, Reg, scalar_class};
use super::render::{Renderer, name, ptx};
use girih_ir::{Def, Inst, Op, Scalar, Type, ValueId};

impl Renderer<'_> {
    /// An operation on scalars of its suffix type that gives one of it.
    pub fn arithmetic(&mut self, inst: &Inst) {
        let operands: Vec<Operand> = inst.operands.iter().map(|v| self.operand(*v)).collect();
        let result = self.result(inst);
        if !self.compute(inst.op, inst.element(), result, &operands) {
            self.refuse(inst, "it is not legal for this type");
        }
    }

    /// Writes an operation; false if there is none for the type.
    pub fn compute(&mut self, op: Op, ty: Scalar, to: Reg, operands: &[Operand]) -> bool {
        if self.through_f32(op, ty) {
            return self.compute_in_f32(op, ty, to, operands);
        }
        if ty == Scalar::Bf16 {
            self.isa(Isa(7, 8));
        }
        if op == Op::Clz || op == Op::Ctz || op == Op::Popc {
            self.count(op, ty, to, operands[0]);
            return true;
        }
        let Some(code) = code(op, ty) else { return false };
        match operands {
            [a] => ptx!(self, "{code} {to}, {a}"),
            [a, b] if matches!(op, Op::Shl | Op::Shr) => {
                let count = self.shift_count(*b);
                ptx!(self, "{code} {to}, {a}, {count}");
            }
            [a, b] => ptx!(self, "{code} {to}, {a}, {b}"),
            [a, b, c] => ptx!(self, "{code} {to}, {a}, {b}, {c}"),
            _ => return false,
        }
        true
    }

    /// Whether halves are computed as `f32`.
    fn through_f32(&self, op: Op, ty: Scalar) -> bool {
        match ty {
            Scalar::F16 => matches!(op, Op::Div | Op::Sqrt) || matches!(op, Op::Min | Op::Max) && self.target.sm < 80,
            Scalar::Bf16 => matches!(op, Op::Div | Op::Sqrt | Op::Floor | Op::Ceil | Op::Round | Op::Trunc),
            Scalar::Bool
            | Scalar::I8
            | Scalar::I16
            | Scalar::I32
            | Scalar::I64
            | Scalar::U8
            | Scalar::U16
            | Scalar::U32
            | Scalar::U64
            | Scalar::F8E4M3
            | Scalar::F8E5M2
            | Scalar::F32
            | Scalar::F64 => false,
        }
    }

    /// The same operation on `f32`, rounded to the type.
    pub fn compute_in_f32(&mut self, op: Op, ty: Scalar, to: Reg, operands: &[Operand]) -> bool {
        let wide: Vec<Operand> = operands.iter().map(|half| self.widen(ty, *half).into()).collect();
        let result = self.fresh(Class::B32);
        let known = self.compute(op, Scalar::F32, result, &wide);
        self.narrow(ty, to, result);
        known
    }

    /// Leading or trailing zeros, or ones: PTX counts them in a `u32`.
    fn count(&mut self, op: Op, ty: Scalar, to: Reg, value: Operand) {
        let bits = scalar_class(ty).ty();
        let value = if op == Op::Ctz {
            let reversed = self.fresh(scalar_class(ty));
            ptx!(self, "brev.{bits} {reversed}, {value}");
            reversed.into()
        } else {
            value
        };
        let code = if op == Op::Popc { "popc" } else { "clz" };
        if to.class == Class::B32 {
            return ptx!(self, "{code}.{bits} {to}, {value}");
        }
        let narrow = self.fresh(Class::B32);
        ptx!(self, "{code}.{bits} {narrow}, {value}");
        ptx!(self, "cvt.u64.u32 {to}, {narrow}");
    }

    /// PTX counts shifts in a `u32`; the lowering has made them less than the width.
    fn shift_count(&mut self, count: Operand) -> Operand {
        match count {
            Operand::Reg(reg) if reg.class == Class::B64 => {
                let narrow = self.fresh(Class::B32);
                ptx!(self, "cvt.u32.u64 {narrow}, {reg}");
                narrow.into()
            }
            Operand::Reg(_) | Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => count,
        }
    }

    /// A comparison.
    pub fn compare(&mut self, inst: &Inst, code: &str) {
        let (ty, to) = (inst.element(), self.result(inst));
        let (a, b) = (self.operand(inst.operands[0]), self.operand(inst.operands[1]));
        if ty == Scalar::Bool {
            if inst.op == Op::Ne {
                return ptx!(self, "xor.pred {to}, {a}, {b}");
            }
            let different = self.fresh(Class::Pred);
            ptx!(self, "xor.pred {different}, {a}, {b}");
            return ptx!(self, "not.pred {to}, {different}");
        }
        if ty == Scalar::Bf16 {
            self.isa(Isa(7, 8));
        }
        if let Some(float) = self.nan_test(inst) {
            let float = self.reg(float);
            return ptx!(self, "setp.nan.f32 {to}, {float}, {float}");
        }
        // NaN is unequal to everything, also to itself.
        let code = if inst.op == Op::Ne && ty.is_float() { "neu" } else { code };
        ptx!(self, "setp.{code}.{} {to}, {a}, {b}", name(ty));
    }

    /// The float that is NaN if a comparison holds: bits without their sign, which are more than those of infinity. Languages whose compilers may
    /// take it that nothing is NaN need it said by bits; here it is one instruction.
    fn nan_test(&self, inst: &Inst) -> Option<ValueId> {
        let constant = |value: ValueId| self.function.as_constant(value);
        let made_by = |value: ValueId, op: Op| match self.function.values[value].def {
            Def::Result(id, _) => Some(&self.function.insts[id]).filter(|inst| inst.op == op),
            _given => None,
        };
        let infinity = u64::from(f32::INFINITY.to_bits());
        if inst.op != Op::Gt || inst.element() != Scalar::U32 || constant(inst.operands[1]) != Some(infinity) {
            return None;
        }
        let magnitude = made_by(inst.operands[0], Op::And)?;
        let [bits, mask] = magnitude.operands[..] else { return None };
        let cast = made_by(bits, Op::Bitcast).filter(|_| constant(mask) == Some(0x7fff_ffff))?;
        let float = *cast.operands.first()?;
        (self.function.ty(float) == Type::Scalar(Scalar::F32)).then_some(float)
    }

    /// One of two values.
    pub fn select(&mut self, inst: &Inst) {
        let condition = self.reg(inst.operands[0]);
        if inst.element() == Scalar::Bool {
            let (a, b) = (self.operand(inst.operands[1]), self.operand(inst.operands[2]));
            return self.select_bool(self.result(inst), condition, a, b);
        }
        let home = self.home(inst.results[0]);
        let (a, b) = (self.parts(inst.operands[1]), self.parts(inst.operands[2]));
        for ((to, a), b) in home.regs().zip(a).zip(b) {
            self.select_part(to, condition, a, b);
        }
    }

    /// One of two numbers in a register.
    pub fn select_part(&mut self, to: Reg, condition: Reg, a: Operand, b: Operand) {
        ptx!(self, "selp.{} {to}, {a}, {b}, {condition}", to.class.ty());
    }

    /// One of two predicates.
    pub fn select_bool(&mut self, to: Reg, condition: Reg, a: Operand, b: Operand) {
        let [first, not, second] = [(); 3].map(|()| self.fresh(Class::Pred));
        ptx!(self, "and.pred {first}, {condition}, {a}");
        ptx!(self, "not.pred {not}, {condition}");
        ptx!(self, "and.pred {second}, {not}, {b}");
        ptx!(self, "or.pred {to}, {first}, {second}");
    }

    /// Negation and magnitude of halves, bit by bit: PTX has none for all of them.
    pub fn sign(&mut self, inst: &Inst) {
        let ty = inst.element();
        if scalar_class(ty) != Class::B16 {
            return self.arithmetic(inst);
        }
        let (value, to) = (self.operand(inst.operands[0]), self.result(inst));
        if inst.op == Op::Neg {
            ptx!(self, "xor.b16 {to}, {value}, 0x8000");
        } else {
            ptx!(self, "and.b16 {to}, {value}, 0x7fff");
        }
    }
}

/// The instruction with its types, for operations that are one.
fn code(op: Op, ty: Scalar) -> Option<String> {
    let (t, bits) = (name(ty), scalar_class(ty).ty());
    let float = ty.is_float();
    let wide_float = matches!(ty, Scalar::F32 | Scalar::F64);
    let rounded = |rounding: &str| Some(format!("cvt.{rounding}.{t}.{t}"));
    match op {
        Op::Add if float => Some(format!("add.rn.{t}")),
        Op::Sub if float => Some(format!("sub.rn.{t}")),
        Op::Mul if float => Some(format!("mul.rn.{t}")),
        Op::Fma if float => Some(format!("fma.rn.{t}")),
        Op::Div if wide_float => Some(format!("div.rn.{t}")),
        Op::Sqrt if wide_float => Some(format!("sqrt.rn.{t}")),
        Op::Floor if float => rounded("rmi"),
        Op::Ceil if float => rounded("rpi"),
        Op::Round if float => rounded("rni"),
        Op::Trunc if float => rounded("rzi"),
        Op::Neg if wide_float || !float => Some(format!("neg.{t}")),
        Op::Abs if wide_float || !float => Some(format!("abs.{t}")),
        Op::Min => Some(format!("min.{t}")),
        Op::Max => Some(format!("max.{t}")),
        Op::And => Some(format!("and.{bits}")),
        Op::Or => Some(format!("or.{bits}")),
        Op::Xor => Some(format!("xor.{bits}")),
        Op::Not => Some(format!("not.{bits}")),
        _no_rule if float => None,
        Op::Add => Some(format!("add.{t}")),
        Op::Sub => Some(format!("sub.{t}")),
        Op::Mul => Some(format!("mul.lo.{t}")),
        Op::Mad => Some(format!("mad.lo.{t}")),
        Op::Div => Some(format!("div.{t}")),
        Op::Rem => Some(format!("rem.{t}")),
        Op::MulHi => Some(format!("mul.hi.{t}")),
        Op::Shl => Some(format!("shl.{bits}")),
        Op::Shr => Some(format!("shr.{t}")),
        Op::ReverseBits => Some(format!("brev.{bits}")),
        _no_rule => None,
    }
}
