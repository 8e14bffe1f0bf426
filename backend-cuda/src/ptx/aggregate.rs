//! Vectors, register arrays and bit casts: which bits of which register an element is.

use super::copies::Operand;
use super::registers::{Class, Home, Reg};
use super::render::{Renderer, ptx};
use girih_ir::{Inst, Scalar, Type, ValueId};

impl Renderer<'_> {
    /// `vector`.
    pub fn vector(&mut self, inst: &Inst) {
        let home = self.home(inst.results[0]);
        self.build(home, inst.element(), &inst.operands);
    }

    /// `splat`.
    pub fn splat(&mut self, inst: &Inst) {
        let home = self.home(inst.results[0]);
        let per_register = lanes_per_register(inst.element());
        let parts = vec![inst.operands[0]; per_register as usize];
        let Some(first) = home.regs().next() else { return };
        let one = self.packed(first.class, inst.element(), &parts);
        home.regs().for_each(|to| self.mov(to, one));
    }

    /// Fills registers with elements.
    fn build(&mut self, home: Home, element: Scalar, values: &[ValueId]) {
        for (to, parts) in home.regs().zip(values.chunks(lanes_per_register(element) as usize)) {
            let part = self.packed(to.class, element, parts);
            self.mov(to, part);
        }
    }

    /// The elements of one register.
    fn packed(&mut self, class: Class, element: Scalar, parts: &[ValueId]) -> Operand {
        if let Some(bits) = self.constant_lanes(element, parts) {
            return Operand::Int(bits);
        }
        let words: Vec<Operand> = parts.iter().map(|v| self.operand(*v)).collect();
        match words[..] {
            [one] => one,
            [a, b] if element == Scalar::F16 || element == Scalar::Bf16 => {
                let pair = self.fresh(class);
                ptx!(self, "mov.b32 {pair}, {{{a}, {b}}}");
                pair.into()
            }
            [a, b] if element.bytes() == 2 => self.permute(a, b, 0x5410).into(),
            [a, b] => self.permute(a, b, 0x0040).into(),
            [a, b, c, d] => {
                let (low, high) = (self.permute(a, b, 0x0040), self.permute(c, d, 0x0040));
                self.permute(low.into(), high.into(), 0x5410).into()
            }
            _ => Operand::Int(0),
        }
    }

    /// The bits of a register all of whose elements are constants.
    fn constant_lanes(&self, element: Scalar, parts: &[ValueId]) -> Option<i64> {
        let lane = |(i, v): (usize, &ValueId)| Some(self.function.as_constant(*v)? << (i as u32 * element.bits()));
        parts.iter().enumerate().map(lane).try_fold(0, |bits, lane| Some(bits | lane?)).map(|bits| bits as i64)
    }

    /// Four bytes chosen from eight.
    fn permute(&mut self, a: Operand, b: Operand, selector: u32) -> Reg {
        let to = self.fresh(Class::B32);
        ptx!(self, "prmt.b32 {to}, {a}, {b}, 0x{selector:04x}");
        to
    }

    /// `extract`.
    pub fn extract(&mut self, inst: &Inst) {
        let Some(position) = self.position(inst) else { return };
        let element = inst.element();
        let per_register = lanes_per_register(element);
        let (source, to) = (self.home(inst.operands[0]).reg(position / per_register), self.result(inst));
        self.lane(element, to, source, position % per_register);
    }

    /// One of the elements of a register.
    fn lane(&mut self, element: Scalar, to: Reg, source: Reg, lane: u32) {
        let bits = element.bits();
        match (to.class, bits) {
            (Class::B16, _) => {
                let other = self.fresh(Class::B16);
                let (low, high) = if lane == 0 { (to, other) } else { (other, to) };
                ptx!(self, "mov.b32 {{{low}, {high}}}, {source}");
            }
            (_, 8 | 16) => {
                let sign = if element.is_signed() { "s32" } else { "u32" };
                ptx!(self, "bfe.{sign} {to}, {source}, {}, {bits}", lane * bits);
            }
            _ => self.mov(to, source.into()),
        }
    }

    /// `insert`.
    pub fn insert(&mut self, inst: &Inst) {
        let Some(position) = self.position(inst) else { return };
        let (old, new) = (self.home(inst.operands[0]), self.home(inst.results[0]));
        let element = self.element(inst.operands[0]);
        let per_register = lanes_per_register(element);
        let (at, lane) = (position / per_register, position % per_register);
        let value = self.operand(inst.operands[2]);
        for i in (0..new.count).filter(|i| *i != at) {
            self.mov(new.reg(i), old.reg(i).into());
        }
        let selector = match element.bytes() {
            1 => 0x3210 & !(0xf << (4 * lane)) | 4 << (4 * lane),
            2 if lane == 0 => 0x3254,
            2 => 0x5410,
            _ => return self.mov(new.reg(at), value),
        };
        let word = self.word(element, value);
        ptx!(self, "prmt.b32 {}, {}, {word}, 0x{selector:04x}", new.reg(at), old.reg(at));
    }

    /// The constant position of an element.
    fn position(&mut self, inst: &Inst) -> Option<u32> {
        let home = self.home(inst.operands[0]);
        let lanes = home.count * lanes_per_register(self.element(inst.operands[0]));
        let position = self.function.as_constant(inst.operands[1]).filter(|p| *p < u64::from(lanes));
        if position.is_none() {
            self.refuse(inst, "the position is not a constant within the vector");
        }
        position.map(|p| p as u32)
    }

    /// `bitcast`.
    pub fn bitcast(&mut self, inst: &Inst) {
        let words = self.words(inst.operands[0]);
        let ty = self.function.ty(inst.results[0]);
        let home = self.home(inst.results[0]);
        self.from_words(ty, home, &words);
    }

    /// A scalar of at most 32 bits as a word.
    pub fn word(&mut self, scalar: Scalar, value: Operand) -> Operand {
        match value {
            Operand::Reg(reg) if reg.class == Class::B16 => {
                let word = self.fresh(Class::B32);
                ptx!(self, "cvt.u32.u16 {word}, {reg}");
                word.into()
            }
            Operand::Reg(reg) if scalar == Scalar::Bool => {
                let word = self.fresh(Class::B32);
                ptx!(self, "selp.b32 {word}, 1, 0, {reg}");
                word.into()
            }
            Operand::Reg(_) | Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => value,
        }
    }

    /// A value as 32-bit words, the lowest first.
    pub fn words(&mut self, value: ValueId) -> Vec<Operand> {
        let scalar = self.element(value);
        let mut words = vec![];
        for part in self.parts(value) {
            match part {
                Operand::Reg(reg) if reg.class == Class::B64 => {
                    let [low, high] = [(); 2].map(|()| self.fresh(Class::B32));
                    ptx!(self, "mov.b64 {{{low}, {high}}}, {reg}");
                    words.extend([Operand::Reg(low), Operand::Reg(high)]);
                }
                Operand::F64(bits) => words.extend(halves(bits)),
                Operand::Int(bits) if scalar.bits() == 64 => words.extend(halves(bits as u64)),
                Operand::Reg(_) | Operand::Int(_) | Operand::F32(_) => words.push(self.word(scalar, part)),
            }
        }
        words
    }

    /// Fills a value's registers from words.
    pub fn from_words(&mut self, ty: Type, home: Home, words: &[Operand]) {
        if home.class == Class::B64 {
            for (to, pair) in home.regs().zip(words.chunks(2)) {
                let (low, high) = (self.into_reg(Class::B32, pair[0]), self.into_reg(Class::B32, pair[1]));
                ptx!(self, "mov.b64 {to}, {{{low}, {high}}}");
            }
            return;
        }
        for (to, word) in home.regs().zip(words) {
            let word = self.into_reg(Class::B32, *word);
            match ty {
                Type::Scalar(Scalar::Bool) => ptx!(self, "setp.ne.u32 {to}, {word}, 0"),
                Type::Scalar(Scalar::F16 | Scalar::Bf16) => ptx!(self, "cvt.u16.u32 {to}, {word}"),
                Type::Scalar(scalar) => self.extend(scalar, to, word),
                Type::Vector(..)
                | Type::Regs(..)
                | Type::Coop(..)
                | Type::Tile(_)
                | Type::Token
                | Type::Term
                | Type::Memory(_) => self.mov(to, word.into()),
            }
        }
    }
}

/// How many elements of a vector a register holds.
fn lanes_per_register(element: Scalar) -> u32 {
    (4 / element.bytes()).max(1)
}

fn halves(bits: u64) -> [Operand; 2] {
    [Operand::Int((bits & 0xffff_ffff) as i64), Operand::Int((bits >> 32) as i64)]
}
