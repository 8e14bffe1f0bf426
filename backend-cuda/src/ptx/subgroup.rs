//! Communication in a subgroup: 32 lanes, of which the last subgroup of a workgroup may lack some.
//!
//! Every instruction names the lanes that take part: all that exist. They meet there, because the verifier has seen that
//! control flow is uniform in the subgroup.

use super::copies::Operand;
use super::isa::Isa;
use super::position::LANES;
use super::registers::{Class, Reg, scalar_class};
use super::render::{Renderer, immediate, name, ptx};
use girih_ir::{Feature, Function, Inst, Op, Scalar};

impl Renderer<'_> {
    /// The lanes that take part.
    fn lanes(&self) -> Operand {
        self.members.map_or(Operand::Int(0xffff_ffff), Operand::Reg)
    }

    /// `ballot`: one word is enough for 32 lanes.
    pub fn ballot(&mut self, inst: &Inst) {
        let (holds, home, lanes) = (self.reg(inst.operands[0]), self.home(inst.results[0]), self.lanes());
        ptx!(self, "vote.sync.ballot.b32 {}, {holds}, {lanes}", home.reg(0));
        home.regs().skip(1).for_each(|word| self.mov(word, Operand::Int(0)));
    }

    /// `any` and `all`.
    pub fn vote(&mut self, inst: &Inst, code: &str) {
        let (holds, to, lanes) = (self.reg(inst.operands[0]), self.result(inst), self.lanes());
        ptx!(self, "vote.sync.{code}.pred {to}, {holds}, {lanes}");
    }

    /// `elect`: the lowest lane always takes part.
    pub fn elect(&mut self, inst: &Inst) {
        let (to, lane) = (self.result(inst), self.fresh(Class::B32));
        ptx!(self, "mov.u32 {lane}, %laneid");
        ptx!(self, "setp.eq.u32 {to}, {lane}, 0");
    }

    /// `shuffle` and its kin, word by word.
    pub fn shuffle(&mut self, inst: &Inst, mode: &str) {
        let lane = self.operand(inst.operands[1]);
        let clamp = if mode == "up" { 0 } else { LANES - 1 };
        let words: Vec<Operand> = self.words(inst.operands[0]);
        let lanes = self.lanes();
        let moved: Vec<Operand> = words
            .into_iter()
            .map(|word| {
                let (word, to) = (self.into_reg(Class::B32, word), self.fresh(Class::B32));
                ptx!(self, "shfl.sync.{mode}.b32 {to}, {word}, {lane}, {clamp}, {lanes}");
                to.into()
            })
            .collect();
        let (ty, home) = (self.function.ty(inst.results[0]), self.home(inst.results[0]));
        self.from_words(ty, home, &moved);
    }

    /// A scalar from another lane, and whether there is such a lane.
    fn from_lane(&mut self, ty: Scalar, value: Reg, mode: &str, by: u32, clamp: Operand) -> (Reg, Reg) {
        let (lanes, exists, result) = (self.lanes(), self.fresh(Class::Pred), self.fresh(value.class));
        let words = match value.class {
            Class::B64 => {
                let [low, high] = [(); 2].map(|()| self.fresh(Class::B32));
                ptx!(self, "mov.b64 {{{low}, {high}}}, {value}");
                vec![low.into(), high.into()]
            }
            Class::Pred | Class::B16 | Class::B32 => vec![self.word(ty, value.into())],
        };
        let mut moved: Vec<Reg> = vec![];
        for word in words {
            let to = self.fresh(Class::B32);
            ptx!(self, "shfl.sync.{mode}.b32 {to}|{exists}, {word}, {by}, {clamp}, {lanes}");
            moved.push(to);
        }
        match moved[..] {
            [low, high] => ptx!(self, "mov.b64 {result}, {{{low}, {high}}}"),
            [word] if value.class == Class::B16 => ptx!(self, "cvt.u16.u32 {result}, {word}"),
            [word] => return (word, exists),
            _ => {}
        }
        (result, exists)
    }

    /// A reduction: one instruction for words from `sm_80` on, otherwise a tree of exchanges.
    pub fn reduce(&mut self, inst: &Inst, op: Op) {
        let (ty, to) = (inst.element(), self.result(inst));
        let value = self.reg(inst.operands[0]);
        if let Some(code) = redux(op, ty).filter(|_| self.target.sm >= 80) {
            self.isa(Isa(7, 0));
            let lanes = self.lanes();
            return ptx!(self, "redux.sync.{code} {to}, {value}, {lanes}");
        }
        let total = match self.members {
            None => self.exchange(inst, op, value),
            Some(members) => self.gather(inst, op, value, members),
        };
        self.mov(to, total.into());
    }

    /// All 32 lanes exchange with the one whose number differs by 16, 8, ..: each step is commutative, so all agree.
    fn exchange(&mut self, inst: &Inst, op: Op, value: Reg) -> Reg {
        let (ty, mut total) = (inst.element(), value);
        for by in [16, 8, 4, 2, 1] {
            let (other, _) = self.from_lane(ty, total, "bfly", by, Operand::Int((LANES - 1).into()));
            total = self.combined(inst, op, total, other);
        }
        total
    }

    /// Lanes take from higher ones that exist; the lowest gives the total to all.
    fn gather(&mut self, inst: &Inst, op: Op, value: Reg, members: Reg) -> Reg {
        let [count, last] = [(); 2].map(|()| self.fresh(Class::B32));
        ptx!(self, "popc.b32 {count}, {members}");
        ptx!(self, "sub.u32 {last}, {count}, 1");
        let (ty, mut total) = (inst.element(), value);
        for by in [16, 8, 4, 2, 1] {
            let (other, exists) = self.from_lane(ty, total, "down", by, last.into());
            total = self.combined_if(inst, op, total, other, exists);
        }
        self.from_lane(ty, total, "idx", 0, Operand::Int((LANES - 1).into())).0
    }

    fn combined(&mut self, inst: &Inst, op: Op, a: Reg, b: Reg) -> Reg {
        let ty = inst.element();
        let result = self.fresh(scalar_class(ty));
        if !self.compute(op, ty, result, &[a.into(), b.into()]) {
            self.refuse(inst, "it is not legal for this type");
        }
        result
    }

    /// The combination of two values, or the first alone.
    fn combined_if(&mut self, inst: &Inst, op: Op, a: Reg, b: Reg, condition: Reg) -> Reg {
        let (both, result) = (self.combined(inst, op, b, a), self.fresh(scalar_class(inst.element())));
        self.select_part(result, condition, both.into(), a.into());
        result
    }

    /// The combination of all lanes up to this one.
    fn scanned(&mut self, inst: &Inst, op: Op, value: Reg) -> Reg {
        let (ty, mut total) = (inst.element(), value);
        for by in [1, 2, 4, 8, 16] {
            let (below, exists) = self.from_lane(ty, total, "up", by, Operand::Int(0));
            total = self.combined_if(inst, op, total, below, exists);
        }
        total
    }

    /// An inclusive scan.
    pub fn inclusive(&mut self, inst: &Inst, op: Op) {
        let value = self.reg(inst.operands[0]);
        let total = self.scanned(inst, op, value);
        self.mov(self.result(inst), total.into());
    }

    /// An exclusive scan: the inclusive one of the lane below, and what changes nothing in the first lane.
    pub fn exclusive(&mut self, inst: &Inst, op: Op) {
        let ty = inst.element();
        let value = self.reg(inst.operands[0]);
        let total = self.scanned(inst, op, value);
        let (below, exists) = self.from_lane(ty, total, "up", 1, Operand::Int(0));
        let neutral = if op == Op::Mul { ty.one_bits() } else { 0 };
        let neutral = self.into_reg(scalar_class(ty), immediate(ty, neutral));
        self.select_part(self.result(inst), exists, below.into(), neutral.into());
    }
}

/// The instruction that reduces words, if there is one.
fn redux(op: Op, ty: Scalar) -> Option<String> {
    let word = matches!(ty, Scalar::I32 | Scalar::U32);
    match op {
        Op::Add | Op::Min | Op::Max if word => Some(format!("{}.{}", op.name(), name(ty))),
        Op::And | Op::Or | Op::Xor if word => Some(format!("{}.b32", op.name())),
        _no_rule => None,
    }
}

/// Whether a function has operations that name the lanes that take part.
pub(super) fn communicates(function: &Function) -> bool {
    let mut found = false;
    function.walk(function.body, &mut |_, inst| {
        found |= inst.op.row().needs == Some(Feature::Subgroups);
    });
    found
}
