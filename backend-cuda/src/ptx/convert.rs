//! Conversions between scalars.
//!
//! Invariant: the exact number is rounded once. Where PTX has no direct conversion, the way there is exact, or rounds to odd (the
//! last bit notes that something was lost), which a second rounding to at most 22 bits cannot tell from the exact number.

use super::copies::Operand;
use super::isa::Isa;
use super::registers::{Class, Reg, scalar_class};
use super::render::{Renderer, name, ptx};
use girih_ir::{Inst, Scalar};

impl Renderer<'_> {
    /// `convert`.
    pub fn convert(&mut self, inst: &Inst) {
        let (from, ty, to) = (self.element(inst.operands[0]), inst.element(), self.result(inst));
        let value = self.reg(inst.operands[0]);
        if ty == Scalar::Bool && from != Scalar::Bool {
            self.to_bool(from, to, value);
        } else if from == Scalar::Bool && ty != Scalar::Bool {
            self.from_bool(ty, to, value);
        } else if from != ty && matches!(from, Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2) {
            let wide = self.widen(from, value.into());
            self.between(Scalar::F32, ty, to, wide);
        } else {
            self.between(from, ty, to, value);
        }
    }

    /// Neither side is `bool`, the source has instructions of its own.
    fn between(&mut self, from: Scalar, ty: Scalar, to: Reg, value: Reg) {
        if from == ty {
            return self.mov(to, value.into());
        }
        match (from.is_float(), ty.is_float()) {
            (false, false) => self.integer(from, ty, to, value),
            (true, false) => self.float_to_integer(from, ty, to, value),
            (_, true) => self.to_float(from, ty, to, value),
        }
    }

    fn to_bool(&mut self, from: Scalar, to: Reg, value: Reg) {
        let (from, value) = match from {
            Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => (Scalar::F32, self.widen(from, value.into())),
            _ => (from, value),
        };
        if from == Scalar::F16 {
            let zero = self.into_reg(Class::B16, Operand::Int(0));
            return ptx!(self, "setp.neu.f16 {to}, {value}, {zero}");
        }
        match from {
            Scalar::F32 => ptx!(self, "setp.neu.f32 {to}, {value}, {}", Operand::F32(0)),
            Scalar::F64 => ptx!(self, "setp.neu.f64 {to}, {value}, {}", Operand::F64(0)),
            _ => ptx!(self, "setp.ne.{} {to}, {value}, 0", name(from)),
        }
    }

    fn from_bool(&mut self, ty: Scalar, to: Reg, value: Reg) {
        let one = ty.one_bits();
        if ty == Scalar::F64 {
            return ptx!(self, "selp.f64 {to}, {}, {}, {value}", Operand::F64(one), Operand::F64(0));
        }
        ptx!(self, "selp.{} {to}, {one}, 0, {value}", to.class.ty());
    }

    fn integer(&mut self, from: Scalar, ty: Scalar, to: Reg, value: Reg) {
        match (value.class, to.class) {
            (Class::B64, Class::B64) => self.mov(to, value.into()),
            (Class::B32, Class::B64) if from.is_signed() => ptx!(self, "cvt.s64.s32 {to}, {value}"),
            (Class::B32, Class::B64) => ptx!(self, "cvt.u64.u32 {to}, {value}"),
            (Class::B64, _) => {
                let low = self.fresh(Class::B32);
                ptx!(self, "cvt.u32.u64 {low}, {value}");
                self.extend(ty, to, low);
            }
            _ => self.extend(ty, to, value),
        }
    }

    /// The low bits of a word as an integer of at most 32 bits, extended as its type says.
    pub fn extend(&mut self, ty: Scalar, to: Reg, word: Reg) {
        match (ty.bits(), ty.is_signed()) {
            (8, true) => ptx!(self, "cvt.s32.s8 {to}, {word}"),
            (16, true) => ptx!(self, "cvt.s32.s16 {to}, {word}"),
            (8, false) => ptx!(self, "and.b32 {to}, {word}, 0xff"),
            (16, false) => ptx!(self, "and.b32 {to}, {word}, 0xffff"),
            _ => self.mov(to, word.into()),
        }
    }

    /// PTX saturates; it gives 0 for NaN only from `f16` and `f32` to at most 32 bits.
    fn float_to_integer(&mut self, from: Scalar, ty: Scalar, to: Reg, value: Reg) {
        let (source, target) = (name(from), name(ty));
        if to.class == Class::B32 && from != Scalar::F64 {
            let wide = if ty.bits() == 32 { to } else { self.fresh(Class::B32) };
            ptx!(self, "cvt.rzi.{target}.{source} {wide}, {value}");
            return self.clamp(ty, to, wide);
        }
        let (wide, number) = (self.fresh(to.class), self.fresh(Class::Pred));
        ptx!(self, "cvt.rzi.{target}.{source} {wide}, {value}");
        ptx!(self, "setp.num.{source} {number}, {value}, {value}");
        let kept = if ty.bits() >= 32 { to } else { self.fresh(to.class) };
        ptx!(self, "selp.{} {kept}, {wide}, 0, {number}", to.class.ty());
        self.clamp(ty, to, kept);
    }

    /// Saturates a 32-bit integer to a shorter one.
    fn clamp(&mut self, ty: Scalar, to: Reg, wide: Reg) {
        if ty.bits() >= 32 {
            return self.mov(to, wide.into());
        }
        if !ty.is_signed() {
            return ptx!(self, "min.u32 {to}, {wide}, {}", (1u32 << ty.bits()) - 1);
        }
        let (most, below) = ((1i32 << (ty.bits() - 1)) - 1, self.fresh(Class::B32));
        ptx!(self, "min.s32 {below}, {wide}, {most}");
        ptx!(self, "max.s32 {to}, {below}, {}", -most - 1);
    }

    fn to_float(&mut self, from: Scalar, ty: Scalar, to: Reg, value: Reg) {
        match ty {
            Scalar::Bf16 | Scalar::F8E4M3 | Scalar::F8E5M2 => {
                let wide = match from {
                    Scalar::F32 => value,
                    Scalar::F16 => self.widen(from, value.into()),
                    _ => self.to_odd(from, value),
                };
                self.narrow(ty, to, wide);
            }
            _ if from.is_float() && ty.bits() > from.bits() => {
                ptx!(self, "cvt.{}.{} {to}, {value}", name(ty), name(from));
            }
            Scalar::F16 if from == Scalar::F32 => self.halve(ty, to, value),
            _ => ptx!(self, "cvt.rn.{}.{} {to}, {value}", name(ty), name(from)),
        }
    }

    /// A number as `f32`, rounded to odd.
    fn to_odd(&mut self, from: Scalar, value: Reg) -> Reg {
        let source = name(from);
        let [near, result] = [(); 2].map(|()| self.fresh(Class::B32));
        let (back, lost, odd) = (self.fresh(scalar_class(from)), self.fresh(Class::Pred), self.fresh(Class::B32));
        ptx!(self, "cvt.rz.f32.{source} {near}, {value}");
        if from.is_float() {
            ptx!(self, "cvt.{source}.f32 {back}, {near}");
            ptx!(self, "setp.neu.{source} {lost}, {back}, {value}");
        } else {
            ptx!(self, "cvt.rzi.{source}.f32 {back}, {near}");
            ptx!(self, "setp.ne.{source} {lost}, {back}, {value}");
        }
        ptx!(self, "selp.b32 {odd}, 1, 0, {lost}");
        ptx!(self, "or.b32 {result}, {near}, {odd}");
        result
    }

    /// A short float as `f32`: exact.
    pub fn widen(&mut self, ty: Scalar, value: Operand) -> Reg {
        let to = self.fresh(Class::B32);
        let value = self.into_reg(scalar_class(ty), value);
        match ty {
            Scalar::Bf16 => {
                let zero = self.into_reg(Class::B16, Operand::Int(0));
                ptx!(self, "mov.b32 {to}, {{{zero}, {value}}}");
            }
            Scalar::F8E4M3 | Scalar::F8E5M2 => {
                let (pair, halves) = (self.fresh(Class::B16), self.fresh(Class::B32));
                let [low, high] = [(); 2].map(|()| self.fresh(Class::B16));
                self.isa(Isa(8, 1));
                ptx!(self, "cvt.u16.u32 {pair}, {value}");
                ptx!(self, "cvt.rn.f16x2.{} {halves}, {pair}", short(ty));
                ptx!(self, "mov.b32 {{{low}, {high}}}, {halves}");
                ptx!(self, "cvt.f32.f16 {to}, {low}");
            }
            _ => ptx!(self, "cvt.f32.{} {to}, {value}", name(ty)),
        }
        to
    }

    /// An `f32` as a short float, to the nearest.
    pub fn narrow(&mut self, ty: Scalar, to: Reg, value: Reg) {
        match ty {
            Scalar::F16 | Scalar::Bf16 => self.halve(ty, to, value),
            Scalar::F8E4M3 | Scalar::F8E5M2 => {
                let pair = self.fresh(Class::B16);
                self.isa(Isa(8, 1));
                ptx!(self, "cvt.rn.satfinite.{}.f32 {pair}, {}, {value}", short(ty), Operand::F32(0));
                ptx!(self, "cvt.u32.u16 {to}, {pair}");
            }
            _ => ptx!(self, "cvt.rn.{}.f32 {to}, {value}", name(ty)),
        }
    }

    /// An `f32` as a float of 16 bits, to the nearest; as the lower one of a pair where there are pairs. ptxas 13.0 makes one instruction of two such
    /// conversions, and of two that are written alone it forgets a bitwise `and` of the first (so that `abs` keeps the sign).
    fn halve(&mut self, ty: Scalar, to: Reg, value: Reg) {
        if self.target.sm < 80 {
            return ptx!(self, "cvt.rn.{}.f32 {to}, {value}", name(ty));
        }
        let (pair, zero) = (self.fresh(Class::B32), self.fresh(Class::B16));
        self.isa(Isa(7, 0));
        ptx!(self, "cvt.rn.{}x2.f32 {pair}, {}, {value}", name(ty), Operand::F32(0));
        ptx!(self, "mov.b32 {{{to}, {zero}}}, {pair}");
    }
}

/// The name of a pair of 8-bit floats.
fn short(ty: Scalar) -> &'static str {
    if ty == Scalar::F8E4M3 { "e4m3x2" } else { "e5m2x2" }
}
