//! `Match` and `Switch` to instructions.
//!
//! The arms of a choice stand one after the other and all go on at its join. In tail position they return instead, and
//! the join is a return that is only used when the choice meets `*`.

use super::instruction::Slot;
use super::terms::{Builder, Goal, Operands};
use super::{Absorb, Address, Instruction, SmallCtor};
use crate::{Match, Switch, Term, TermKind};
use girih_base::span::Span;

/// A choice whose arms are being emitted.
struct Choice {
    /// Its instruction.
    at: Address,
    goal: Goal,
    /// The jumps at the ends of arms.
    exits: Vec<Address>,
}

impl<'p> Builder<'_, 'p> {
    pub(super) fn choose_number(&mut self, choice: &'p Switch, goal: Goal, top: Slot, span: Span) {
        let Switch { scrutinee, cases, pred, default } = choice;
        let pred = pred.filter(|&local| self.is_used(local));
        match (&scrutinee.kind, &cases[..]) {
            (TermKind::Op(op, a, b), [(0, zero)]) if pred.is_none() => {
                let mut after = top;
                let branch = match self.operands(*op, a, b, &mut after) {
                    Operands::Slots(a, b) => Instruction::Branch { op: *op, a, b, zero: 0 },
                    Operands::Constant(op, a, b) => {
                        Instruction::BranchConst { op, kind: b.kind(), a, bits: b.bits(), zero: 0 }
                    }
                };
                self.zero_or_not(branch, scrutinee.span, goal, top, zero, |code| code.term(default, goal, top));
            }
            (_, [(0, zero)]) => {
                let mut after = top;
                let src = self.operand(scrutinee, &mut after);
                let branch = Instruction::IfZero { src, zero: 0 };
                self.zero_or_not(branch, span, goal, after, zero, |code| {
                    code.default(choice, src, goal, after, span);
                });
            }
            _ => self.table_of_numbers(choice, goal, top, span),
        }
    }

    /// A branch whose first arm is the code for what is not zero.
    fn zero_or_not(
        &mut self,
        branch: Instruction,
        span: Span,
        goal: Goal,
        top: Slot,
        zero: &'p Term,
        not_zero: impl FnOnce(&mut Self),
    ) {
        let mut choice = Choice { at: self.here(), goal, exits: vec![] };
        self.emit(branch, top, span);
        not_zero(self);
        self.end_arm(&mut choice, span);
        let target = self.here();
        match &mut self.tables.instructions[choice.at as usize] {
            Instruction::IfZero { zero, .. }
            | Instruction::Branch { zero, .. }
            | Instruction::BranchConst { zero, .. } => *zero = target,
            other => unreachable!("{other:?} is no branch"),
        }
        self.term(zero, goal, top);
        self.join(choice, top, span);
    }

    fn table_of_numbers(&mut self, switch: &'p Switch, goal: Goal, top: Slot, span: Span) {
        let mut after = top;
        let src = self.operand(&switch.scrutinee, &mut after);
        let mut cases: Vec<(u32, &'p Term)> = switch.cases.iter().map(|(key, body)| (*key, body)).collect();
        cases.sort_by_key(|&(key, _)| key);
        let table = self.tables.targets.len();
        self.tables.targets.resize(table + cases.len() + 1, 0);
        let mut choice = Choice { at: self.here(), goal, exits: vec![] };
        let dense = cases.iter().zip(0..).all(|(&(key, _), position)| key == position);
        if dense {
            let count = cases.len() as u32;
            self.emit(Instruction::Switch { src, table: table as u32, count }, top, span);
        } else {
            let keys = self.tables.keys.len() as u32;
            self.tables.keys.push(cases.iter().map(|&(key, _)| key).collect());
            self.emit(Instruction::Search { src, keys, table: table as u32 }, top, span);
        }
        for (position, (_, body)) in cases.iter().enumerate() {
            self.tables.targets[table + position] = self.here();
            self.term(body, goal, after);
            self.end_arm(&mut choice, span);
        }
        self.tables.targets[table + cases.len()] = self.here();
        self.default(switch, src, goal, after, span);
        self.join(choice, top, span);
    }

    fn default(&mut self, switch: &'p Switch, src: Slot, goal: Goal, mut top: Slot, span: Span) {
        if let Some(pred) = switch.pred
            && self.is_used(pred)
        {
            let by = switch.cases.iter().map(|&(key, _)| key).max().map_or(0, |largest| largest.wrapping_add(1));
            self.emit(Instruction::Predecessor { dst: top, src, by }, top, span);
            self.assign(pred, top);
            top += 1;
        }
        self.term(&switch.default, goal, top);
    }

    pub(super) fn choose_ctor(&mut self, choose: &'p Match, goal: Goal, top: Slot, span: Span) {
        let mut after = top;
        let src = self.operand(&choose.scrutinee, &mut after);
        let ctors = &self.program.types[choose.ty].ctors;
        let first = ctors.first().map_or(0, |ctor| ctor.index());
        let count = ctors.len();
        let table = self.tables.targets.len();
        // A constructor without an arm keeps the address 0, which no arm has.
        self.tables.targets.resize(table + count, 0);
        let mut choice = Choice { at: self.here(), goal, exits: vec![] };
        let match_ = Instruction::Match { first: first as SmallCtor, count: count as u16, src, table: table as u32 };
        self.emit(match_, top, span);
        for arm in &choose.arms {
            self.tables.targets[table + arm.ctor.index() - first] = self.here();
            if let Some(whole) = arm.whole {
                self.assign(whole, src);
            }
            let top = self.fields(&arm.fields, src, after, arm.body.span);
            self.term(&arm.body, goal, top);
            self.end_arm(&mut choice, span);
        }
        if let Some(default) = &choose.default {
            let target = self.here();
            let unset = self.tables.targets[table..table + count].iter_mut().filter(|target| **target == 0);
            unset.for_each(|entry| *entry = target);
            self.term(default, goal, after);
        }
        self.join(choice, top, span);
    }

    /// Loads the fields from the first to the last one that is used. Returns the next free slot.
    fn fields(&mut self, fields: &[crate::LocalId], src: Slot, top: Slot, span: Span) -> Slot {
        let used = |&field: &crate::LocalId| self.is_used(field);
        let (Some(first), Some(last)) = (fields.iter().position(used), fields.iter().rposition(used)) else {
            return top;
        };
        let loaded = &fields[first..=last];
        for (slot, &field) in (top..).zip(loaded) {
            self.assign(field, slot);
        }
        let count = loaded.len() as u16;
        self.emit(Instruction::Fields { first: first as u16, count, src, dst: top }, top, span);
        top + Slot::from(count)
    }

    fn end_arm(&mut self, choice: &mut Choice, span: Span) {
        match choice.goal {
            Goal::Slot(_) => {
                choice.exits.push(self.here());
                self.emit(Instruction::Jump { to: 0 }, 0, span);
            }
            Goal::Return => {}
        }
    }

    fn join(&mut self, choice: Choice, top: Slot, span: Span) {
        let join = self.here();
        for exit in choice.exits {
            self.tables.instructions[exit as usize] = Instruction::Jump { to: join };
        }
        let dst = match choice.goal {
            Goal::Slot(dst) => dst,
            Goal::Return => {
                self.emit(Instruction::Return { src: top }, top, span);
                top
            }
        };
        self.tables.absorbing.push((choice.at, Absorb { dst, join }));
    }
}
