//! What the forward walk learns: facts about values, from conditions that hold, from comparisons, and from results of operations.
//!
//! Invariant: a learnt fact holds from there to the end of the region, and is written to the walk's log.

use super::common_subexpressions::key;
use super::facts::{self, Facts};
use super::forward::{Forward, Undo};
use girih_ir::attrs::AttrKind;
use girih_ir::groups::{conversions, functions, integer_arithmetic, more_arithmetic, not_arithmetic, plain_arithmetic};
use girih_ir::{Attr, Def, InstId, Op, Scalar, Type, ValueId};

impl Forward<'_> {
    /// What is known of a value here.
    pub(super) fn facts(&self, value: ValueId) -> Facts {
        if let Some(facts) = self.facts[value.index()] {
            return facts;
        }
        let scalar = self.f.ty(value).element().unwrap_or(Scalar::U64);
        match self.f.values[value].def {
            Def::Constant(bits) => Facts::exactly(bits),
            Def::Param(attrs) if attrs.divisible > 1 && scalar.is_integer() => {
                Facts::multiple(attrs.divisible.trailing_zeros(), scalar)
            }
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) | Def::Result(..) => {
                Facts::unknown(scalar)
            }
        }
    }
    /// Learns something about a value, until the end of the region.
    pub(super) fn learn(&mut self, value: ValueId, new: Facts) {
        if matches!(self.f.values[value].def, Def::Constant(_)) {
            return;
        }
        let both = self.facts(value).and(new);
        let old = self.facts[value.index()].replace(both);
        self.log.push(Undo::Facts(value, old));
    }

    /// Learns what follows from a condition.
    pub(super) fn learn_condition(&mut self, condition: ValueId, holds: bool) {
        if self.bits(condition).is_some() {
            return;
        }
        let constant = self.constant(Scalar::Bool, holds.into());
        self.stands_for(condition, constant);
        let Some(inst) = self.def(condition) else { return };
        let (op, ty) = (inst.op, inst.ty);
        match (op, &inst.operands[..]) {
            (Op::Not, &[a]) => self.learn_condition(a, !holds),
            (Op::And, &[a, b]) if holds => {
                self.learn_condition(a, true);
                self.learn_condition(b, true);
            }
            (Op::Or, &[a, b]) if !holds => {
                self.learn_condition(a, false);
                self.learn_condition(b, false);
            }
            (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, &[a, b]) => {
                self.learn_comparison(op, ty, a, b, holds)
            }
            _no_rule => {}
        }
    }

    fn learn_comparison(&mut self, op: Op, ty: Option<Type>, a: ValueId, b: ValueId, holds: bool) {
        let Some(Type::Scalar(s)) = ty else { return };
        // The same comparison seen from the other side, and the opposite ones.
        self.is_known(mirrored(op), s, b, a, holds);
        let Some(other) = facts::opposite(op).filter(|op| !s.is_float() || matches!(op, Op::Eq | Op::Ne)) else {
            return;
        };
        self.is_known(other, s, a, b, !holds);
        self.is_known(mirrored(other), s, b, a, !holds);
        if !s.is_integer() {
            return;
        }
        let op = if holds { op } else { other };
        let (fa, fb) = facts::where_true(op, s, self.facts(a), self.facts(b));
        self.learn(a, fa);
        self.learn(b, fb);
        if op == Op::Eq && self.bits(b).is_some() {
            self.stands_for(a, b);
        }
    }

    /// A condition that is computed later will be known.
    fn is_known(&mut self, op: Op, s: Scalar, a: ValueId, b: ValueId, holds: bool) {
        let constant = self.constant(Scalar::Bool, holds.into());
        if let Some(key) = key(op, Some(s.into()), &[a, b], (-1, 0)) {
            self.remember(key, constant);
        }
    }

    /// Notes what follows for the result of an instruction.
    pub(super) fn conclude(&mut self, id: InstId, nowrap: bool, result: ValueId) {
        let inst = &self.f.insts[id];
        let (op, operands) = (inst.op, &inst.operands);
        let Some(Type::Scalar(s)) = inst.ty else { return };
        if !s.is_integer() && s != Scalar::Bool || operands.is_empty() || operands.len() > 3 {
            return;
        }
        let Some(source) = self.scalar(operands[0]) else { return };
        let mut facts = [Facts::exactly(0); 3];
        for (slot, v) in facts.iter_mut().zip(operands) {
            *slot = self.facts(*v);
        }
        if self.scalar(result) == Some(s)
            && let Some(known) = facts::transfer(op, s, source, &facts[..operands.len()], nowrap)
        {
            self.learn(result, known);
        }
    }

    /// Marks integer arithmetic that cannot wrap; whether it is marked.
    pub(super) fn infer_nowrap(&mut self, id: InstId) -> bool {
        let inst = &self.f.insts[id];
        let Some(Type::Scalar(s)) = inst.ty else { return false };
        if s.is_signed()
            || !s.is_integer()
            || !inst.op.row().attrs.contains(&AttrKind::NoWrap)
            || inst.has(AttrKind::NoWrap)
        {
            return false;
        }
        let top = |v: ValueId| u128::from(self.facts(v).max);
        let fits = match (inst.op, &inst.operands[..]) {
            (Op::Add, [a, b]) => top(*a) + top(*b) <= u128::from(s.mask()),
            (Op::Sub, [a, b]) => self.facts(*a).min >= self.facts(*b).max,
            (Op::Mul, [a, b]) => top(*a) * top(*b) <= u128::from(s.mask()),
            (Op::Mad, [a, b, c]) => {
                (top(*a) * top(*b)).checked_add(top(*c)).is_some_and(|max| max <= u128::from(s.mask()))
            }
            (Op::Shl, [a, b]) => {
                let count = self.facts(*b).constant().map(|c| c & u64::from(s.bits() - 1));
                count.is_some_and(|c| top(*a) << c <= u128::from(s.mask()))
            }
            _no_rule => false,
        };
        if fits {
            self.f.insts[id].set(Attr::NoWrap);
        }
        fits
    }
}

/// The comparison with its operands swapped.
pub(super) fn mirrored(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        symmetric @ (Op::Eq
        | Op::Ne
        | not_arithmetic!()
        | functions!()
        | integer_arithmetic!()
        | more_arithmetic!()
        | plain_arithmetic!()
        | conversions!()) => symmetric,
    }
}
