//! Vectors and register arrays: elements that are known, vectors that are taken apart and put together again.

use super::forward::Forward;
use girih_ir::{Inst, Op, Type, ValueId};

impl Forward<'_> {
    /// What stands for an operation that makes or takes apart an aggregate.
    pub(super) fn aggregate(&mut self, op: Op, ty: Option<Type>, operands: &[ValueId]) -> Option<ValueId> {
        match (op, operands) {
            (Op::Extract, &[from, position]) => self.element(ty?, from, self.bits(position)?),
            (Op::Insert, &[into, position, value]) => self.replaced(into, self.bits(position)?, value),
            (Op::Vector, parts) => self.whole(ty?, parts),
            _no_rule => None,
        }
    }

    fn element(&mut self, ty: Type, from: ValueId, position: u64) -> Option<ValueId> {
        let inst = self.def(from)?;
        match (inst.op, &inst.operands[..]) {
            (Op::Vector, parts) => parts.get(usize::try_from(position).ok()?).copied(),
            (Op::Splat, &[value]) => Some(value),
            (Op::Insert, &[into, at, value]) => {
                if self.bits(at)? == position {
                    return Some(value);
                }
                let position = self.constant(Type::U32, position);
                Some(self.emit(Op::Extract, ty, &[into, position], false))
            }
            (Op::Select, &[condition, a, b]) if self.is_single(from) && self.is_made(a) && self.is_made(b) => {
                let position = self.constant(Type::U32, position);
                let [a, b] = [a, b].map(|v| self.emit(Op::Extract, ty, &[v, position], false));
                Some(self.emit(Op::Select, ty, &[condition, a, b], false))
            }
            _no_rule => None,
        }
    }

    /// Whether an aggregate is made of elements that are at hand.
    fn is_made(&self, value: ValueId) -> bool {
        self.def(value).is_some_and(|inst| matches!(inst.op, Op::Vector | Op::Splat))
    }

    /// An element that is put where it was taken from, or over one that was put there before.
    fn replaced(&mut self, into: ValueId, position: u64, value: ValueId) -> Option<ValueId> {
        if self.taken(value) == Some((into, position)) {
            return Some(into);
        }
        let inst = self.def(into)?;
        let at = usize::try_from(position).ok()?;
        match (inst.op, &inst.operands[..]) {
            (Op::Vector, parts) if at < parts.len() && self.is_single(into) => {
                let (ty, span) = (inst.ty?, inst.span);
                let mut parts = parts.to_vec();
                parts[at] = value;
                if let Some(known) = self.whole(ty, &parts) {
                    return Some(known);
                }
                Some(self.append(Inst::new(Op::Vector, Some(ty), &parts, span)).1)
            }
            _no_rule => None,
        }
    }

    /// Where an element was taken from.
    fn taken(&self, value: ValueId) -> Option<(ValueId, u64)> {
        let inst = self.def(value).filter(|inst| inst.op == Op::Extract)?;
        Some((inst.operands[0], self.bits(inst.operands[1])?))
    }

    /// All elements of one vector in their order.
    fn whole(&mut self, ty: Type, parts: &[ValueId]) -> Option<ValueId> {
        let (from, _) = self.taken(*parts.first()?)?;
        let in_order = parts.iter().zip(0..).all(|(part, i)| self.taken(*part) == Some((from, i)));
        (in_order && self.f.ty(from) == ty).then_some(from)
    }
}
