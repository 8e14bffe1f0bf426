//! Values of a version, and operations on them.
//!
//! A value that is the same in all lanes is one number, computed once. A `bool` that differs is a mask.

use super::control::VersionWriter;
use super::{LANES, MASK, Why, vectorised};
use girih_ir::groups::{bits, conversions, counts, functions, more_arithmetic, not_arithmetic, plain_arithmetic};
use girih_ir::{Builder, Def, Inst, Op, Scalar, Type, ValueId};

/// What stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// One number for all lanes.
    Same(ValueId),
    /// A vector, or a mask.
    Each(ValueId),
}

impl Wide {
    /// A value of the version, which differs between lanes or not.
    pub fn of(value: ValueId, each: bool) -> Wide {
        if each { Wide::Each(value) } else { Wide::Same(value) }
    }
    /// Whether it differs.
    pub fn differs(self) -> bool {
        matches!(self, Wide::Each(_))
    }
    /// What it is, one number or a vector.
    pub fn value(self) -> ValueId {
        match self {
            Wide::Same(value) | Wide::Each(value) => value,
        }
    }
    /// As a vector or mask.
    pub fn each(self, b: &mut Builder) -> ValueId {
        match self {
            Wide::Each(value) => value,
            Wide::Same(value) => splat(b, value),
        }
    }
    /// As a vector or mask if `each`, else as it is.
    pub fn shaped(self, b: &mut Builder, each: bool) -> ValueId {
        match self {
            Wide::Same(value) if !each => value,
            Wide::Same(_) | Wide::Each(_) => self.each(b),
        }
    }
}

/// The same number in all lanes.
pub(crate) fn splat(b: &mut Builder, value: ValueId) -> ValueId {
    let ty = b.ty(value);
    if ty == Type::BOOL {
        let (ones, zero) = (b.u32(u32::MAX), b.u32(0));
        let word = match b.function.as_constant(value) {
            Some(0) => zero,
            Some(_) => ones,
            None => b.op(Op::Select, Scalar::U32, &[value, ones, zero]),
        };
        return b.op(Op::Splat, MASK, &[word]);
    }
    b.op(Op::Splat, vectorised(ty).unwrap_or(ty), &[value])
}

/// A word in all lanes.
fn word(b: &mut Builder, scalar: Scalar, bits: u32) -> ValueId {
    let bits = b.constant(scalar, bits.into());
    splat(b, bits)
}

/// Lanes of the first mask, of which those of the second are taken out.
pub(super) fn without(b: &mut Builder, lanes: ValueId, less: ValueId) -> ValueId {
    let rest = b.op(Op::Not, MASK, &[less]);
    b.op(Op::And, MASK, &[lanes, rest])
}
/// Lanes of both masks.
pub(super) fn both(b: &mut Builder, x: ValueId, y: ValueId) -> ValueId {
    b.op(Op::And, MASK, &[x, y])
}
/// Whether a mask has a lane.
pub(crate) fn any(b: &mut Builder, mask: ValueId) -> ValueId {
    b.op(Op::MaskAny, MASK, &[mask])
}
/// The first value in the mask's lanes, the second elsewhere.
pub(crate) fn blend(b: &mut Builder, mask: ValueId, x: ValueId, y: ValueId) -> ValueId {
    if x == y {
        return x;
    }
    let ty = b.ty(x);
    b.op(Op::MaskSelect, ty, &[mask, x, y])
}

impl VersionWriter<'_, '_> {
    /// Writes a plain operation.
    pub(super) fn compute(&mut self, inst: &Inst) -> Result<(), Why> {
        let operands: Vec<Wide> = inst.operands.iter().map(|v| self.wide(*v)).collect();
        if !operands.iter().any(|wide| wide.differs()) {
            let operands: Vec<ValueId> = inst.operands.iter().map(|v| self.same(*v)).collect();
            let new = Inst { attrs: inst.attrs.clone(), ..Inst::new(inst.op, inst.ty, &operands, inst.span) };
            let types: Vec<Type> = inst.results.iter().map(|v| self.old.ty(*v)).collect();
            let id = self.b.push(new, &types);
            let results = self.b.function.insts[id].results.clone();
            inst.results.iter().zip(results).for_each(|(old, new)| self.map[*old] = Some(Wide::Same(new)));
            return Ok(());
        }
        let source = inst.operands.first().map_or(Type::U32, |v| self.old.ty(*v));
        let value = operation(&mut self.b, inst, source, &operands);
        if let Some(result) = inst.results.first() {
            self.map[*result] = Some(Wide::Each(value));
        }
        Ok(())
    }
}

/// An operation of which an operand differs between lanes.
pub(crate) fn operation(b: &mut Builder, inst: &Inst, source: Type, operands: &[Wide]) -> ValueId {
    let element = inst.element();
    if inst.op == Op::Select {
        return select(b, element, operands);
    }
    let x: Vec<ValueId> = operands.iter().map(|wide| wide.each(b)).collect();
    let truths = source == Type::BOOL;
    let ty = if element == Scalar::Bool { MASK } else { Type::Vector(element, LANES) };
    match inst.op {
        Op::Eq if truths => {
            let differ = b.op(Op::Xor, MASK, &x);
            b.op(Op::Not, MASK, &[differ])
        }
        Op::Ne if truths => b.op(Op::Xor, MASK, &x),
        Op::Ne | Op::Eq if is_zero(b, x[1]) && is_flag(b, x[0], DEPTH) => {
            let mask = flagged(b, x[0]);
            if inst.op == Op::Ne { mask } else { b.op(Op::Not, MASK, &[mask]) }
        }
        Op::Ne => {
            let equal = b.op(Op::MaskEq, ty, &x);
            b.op(Op::Not, MASK, &[equal])
        }
        Op::Eq => b.op(Op::MaskEq, ty, &x),
        Op::Lt => compare(b, Op::MaskLt, x[0], x[1]),
        Op::Le => compare(b, Op::MaskLe, x[0], x[1]),
        Op::Gt => compare(b, Op::MaskLt, x[1], x[0]),
        Op::Ge => compare(b, Op::MaskLe, x[1], x[0]),
        Op::Convert if truths && element == Scalar::Bool => x[0],
        Op::Convert if truths => {
            let one = if element == Scalar::F32 { 1.0f32.to_bits() } else { 1 };
            let one = word(b, Scalar::U32, one);
            let bits = both(b, x[0], one);
            if element == Scalar::U32 { bits } else { b.op(Op::Bitcast, ty, &[bits]) }
        }
        Op::Convert if element == Scalar::Bool => {
            let zero = word(b, source.element().unwrap_or(Scalar::U32), 0);
            let equal = b.op(Op::MaskEq, b.ty(x[0]), &[x[0], zero]);
            b.op(Op::Not, MASK, &[equal])
        }
        Op::Convert | Op::Bitcast if Type::Scalar(element) == source => x[0],
        Op::Shl | Op::Shr => {
            // A constant count below the width stays one.
            let count = match operands[1] {
                Wide::Same(count) => b.function.as_constant(count).map(|bits| word(b, element, bits as u32 % 32)),
                Wide::Each(_) => None,
            };
            b.op(inst.op, ty, &[x[0], count.unwrap_or(x[1])])
        }
        Op::Rem
        | Op::MulHi
        | not_arithmetic!()
        | functions!()
        | more_arithmetic!()
        | plain_arithmetic!()
        | bits!()
        | counts!()
        | conversions!() => b.op(inst.op, ty, &x),
    }
}

fn select(b: &mut Builder, element: Scalar, operands: &[Wide]) -> ValueId {
    let (x, y) = (operands[1].each(b), operands[2].each(b));
    match operands[0] {
        Wide::Each(mask) => blend(b, mask, x, y),
        Wide::Same(condition) => {
            let ty = if element == Scalar::Bool { MASK } else { b.ty(x) };
            b.op(Op::Select, ty, &[condition, x, y])
        }
    }
}

/// A comparison. Where no top bit is set, unsigned numbers are compared as signed ones: processors have no other comparison.
fn compare(b: &mut Builder, op: Op, x: ValueId, y: ValueId) -> ValueId {
    let ty = b.ty(x);
    if ty.element() == Some(Scalar::U32) && is_small(b, x) && is_small(b, y) {
        let signed = Type::Vector(Scalar::I32, LANES);
        let (x, y) = (b.op(Op::Bitcast, signed, &[x]), b.op(Op::Bitcast, signed, &[y]));
        return b.op(op, signed, &[x, y]);
    }
    b.op(op, ty, &[x, y])
}

/// Whether all lanes are 0.
fn is_zero(b: &Builder, x: ValueId) -> bool {
    let Def::Result(inst, _) = b.function.values[x].def else { return false };
    let inst = &b.function.insts[inst];
    inst.op == Op::Splat && b.function.as_constant(inst.operands[0]) == Some(0)
}

/// How deep a word is looked into.
const DEPTH: u32 = 6;

/// The operation that gives a value, and its operands.
fn origin(b: &Builder, x: ValueId) -> Option<(Op, Vec<ValueId>)> {
    let Def::Result(inst, _) = b.function.values[x].def else { return None };
    let inst = &b.function.insts[inst];
    Some((inst.op, inst.operands.to_vec()))
}

/// Whether a word is 1 or 0 in each lane, as a mask says.
fn is_flag(b: &Builder, x: ValueId, depth: u32) -> bool {
    let Some((op, operands)) = origin(b, x).filter(|_| depth > 0) else { return false };
    match (op, &operands[..]) {
        (Op::And, [mask, one]) if is_mask(b, *mask, depth - 1) => {
            origin(b, *one).is_some_and(|(op, of)| op == Op::Splat && b.function.as_constant(of[0]) == Some(1))
        }
        (Op::And | Op::Or | Op::Xor, [x, y]) => is_flag(b, *x, depth - 1) && is_flag(b, *y, depth - 1),
        // A truth that is the same in all lanes.
        (Op::Splat, [word]) => origin(b, *word).is_some_and(|(op, of)| op == Op::Convert && b.ty(of[0]) == Type::BOOL),
        _no_rule => false,
    }
}

/// The mask that such a word says.
fn flagged(b: &mut Builder, x: ValueId) -> ValueId {
    let Some((op, operands)) = origin(b, x) else { return x };
    match (op, &operands[..]) {
        (Op::And | Op::Or | Op::Xor, [x, y]) if is_flag(b, *y, DEPTH) => {
            let (x, y) = (flagged(b, *x), flagged(b, *y));
            b.op(op, MASK, &[x, y])
        }
        (Op::Splat, [word]) => {
            let truth = origin(b, *word).map_or(*word, |(_, of)| of[0]);
            splat(b, truth)
        }
        (Op::And, [mask, _]) => *mask,
        (other, _) => unreachable!("a result of `{}` is not known to be a flag", other.name()),
    }
}

/// Whether the lanes of a word are all ones or 0, as far as is seen here.
fn is_mask(b: &Builder, x: ValueId, depth: u32) -> bool {
    let Some((op, operands)) = origin(b, x).filter(|_| depth > 0) else { return false };
    match op {
        Op::MaskEq | Op::MaskLt | Op::MaskLe => true,
        Op::Not | Op::And | Op::Or | Op::Xor => operands.iter().all(|v| is_mask(b, *v, depth - 1)),
        _no_rule => false,
    }
}

/// Whether no lane has its top bit set.
fn is_small(b: &Builder, x: ValueId) -> bool {
    let f = &b.function;
    let constant = |v: ValueId| f.as_constant(v).is_some_and(|bits| bits <= i32::MAX as u64);
    let Def::Result(inst, _) = f.values[x].def else { return false };
    let inst = &f.insts[inst];
    match inst.op {
        Op::Splat => constant(inst.operands[0]),
        Op::And => inst.operands.iter().any(|v| is_small(b, *v)),
        _no_rule => false,
    }
}
