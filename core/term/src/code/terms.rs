//! Terms to instructions.
//!
//! Slots are used as a stack: `top` is the first free slot, a term may use the slots from `top` on, and writes its value
//! to a `dst` that is `top` or below. So all slots below `top` have been written at any time.

use std::collections::HashMap;

use super::compile::address;
use super::instruction::Slot;
use super::liveness;
use super::{Address, Instruction, LambdaId, SmallCtor, Tables};
use crate::eval::Word;
use crate::{Bind, CtorId, LocalId, Program, Target, Term, TermKind};
use girih_base::num::{BinOp, Num};
use girih_base::span::Span;

/// What happens with the value of a term.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// It is written to a slot.
    Slot(Slot),
    /// It is the result of the function.
    Return,
}

/// Emits the code of one function.
pub(super) struct Builder<'a, 'p> {
    pub(super) program: &'p Program,
    pub(super) tables: &'a mut Tables,
    used: &'a [bool],
    lambdas: &'a HashMap<usize, LambdaId>,
    slots: &'a mut [Slot],
}

impl<'a, 'p> Builder<'a, 'p> {
    pub(super) fn new(
        program: &'p Program,
        tables: &'a mut Tables,
        used: &'a [bool],
        lambdas: &'a HashMap<usize, LambdaId>,
        slots: &'a mut [Slot],
    ) -> Builder<'a, 'p> {
        Builder { program, tables, used, lambdas, slots }
    }

    /// The whole function; the frame starts with the values of `given`.
    pub(super) fn body<'l>(&mut self, given: impl Iterator<Item = &'l LocalId>, body: &'p Term) {
        let mut top = 0;
        for &local in given {
            self.assign(local, top);
            top += 1;
        }
        self.term(body, Goal::Return, top);
    }

    /// Emits an instruction. When it runs, all slots below `top` have been written, and those that it reads.
    pub(super) fn emit(&mut self, instruction: Instruction, top: Slot, span: Span) {
        self.tables.instructions.push(instruction);
        self.tables.spans.push(span);
        let height = liveness::reads_below(self.tables).max(top);
        self.tables.heights.push(height);
    }

    /// Where the next instruction will stand.
    pub(super) fn here(&self) -> Address {
        self.tables.instructions.len() as Address
    }

    pub(super) fn assign(&mut self, local: LocalId, slot: Slot) {
        self.slots[local.index()] = slot;
    }

    pub(super) fn is_used(&self, local: LocalId) -> bool {
        self.used[local.index()]
    }

    /// Emits an instruction that writes the value of a term, and what follows from the goal.
    fn compute(&mut self, goal: Goal, top: Slot, span: Span, instruction: impl FnOnce(Slot) -> Instruction) {
        match goal {
            Goal::Slot(dst) => self.emit(instruction(dst), top, span),
            Goal::Return => {
                self.emit(instruction(top), top, span);
                self.emit(Instruction::Return { src: top }, top, span);
            }
        }
    }

    /// The value of a term, in a slot: the variable's own if it is a variable, else `top`, which is then taken.
    pub(super) fn operand(&mut self, term: &'p Term, top: &mut Slot) -> Slot {
        if let TermKind::Local(local) = term.kind {
            return self.slots[local.index()];
        }
        let slot = *top;
        self.term(term, Goal::Slot(slot), slot);
        *top += 1;
        slot
    }

    /// The values of terms, in successive slots from `top` on.
    fn window(&mut self, terms: &'p [Term], top: Slot) {
        for (slot, term) in (top..).zip(terms) {
            self.term(term, Goal::Slot(slot), slot);
        }
    }

    pub(super) fn term(&mut self, term: &'p Term, goal: Goal, top: Slot) {
        let span = term.span;
        match &term.kind {
            TermKind::Local(local) => self.variable(self.slots[local.index()], goal, top, span),
            TermKind::Global(def) => self.constant(Word::Global(*def), goal, top, span),
            TermKind::Num(number) => self.constant(Word::from(*number), goal, top, span),
            TermKind::Era => self.constant(Word::Era, goal, top, span),
            TermKind::Str(text) => {
                let index = self.tables.texts.len() as u32;
                self.tables.texts.push(text.clone());
                self.compute(goal, top, span, |dst| Instruction::Text { dst, text: index });
            }
            TermKind::List(items) => {
                self.window(items, top);
                let count = items.len() as u32;
                self.compute(goal, top, span, |dst| Instruction::List { dst, at: top, count });
            }
            TermKind::Ctor(ctor, fields) => self.ctor(*ctor, fields, goal, top, span),
            TermKind::Tuple(parts) => self.tuple(parts, goal, top, span),
            TermKind::Lambda(_, body) => self.lambda(body, goal, top, span),
            TermKind::Apply(function, args) => self.apply(function, args, goal, top, span),
            TermKind::Op(op, a, b) => self.operator(*op, a, b, goal, top, span),
            TermKind::Prim(prim, args) => {
                let mut after = top;
                let operands: Vec<Slot> = args.iter().map(|arg| self.operand(arg, &mut after)).collect();
                let (a, b) = match operands[..] {
                    [a] => (a, a),
                    [a, b] => (a, b),
                    _ => unreachable!("primitives take one or two arguments"),
                };
                self.compute(goal, top, span, |dst| Instruction::Prim { prim: *prim, dst, a, b });
            }
            TermKind::Let(binds, body) => {
                let mut top = top;
                for Bind { target, value } in binds {
                    self.bind(target, value, &mut top);
                }
                self.term(body, goal, top);
            }
            TermKind::Match(choice) => self.choose_ctor(choice, goal, top, to_blame(&choice.scrutinee, span)),
            TermKind::Switch(choice) => self.choose_number(choice, goal, top, to_blame(&choice.scrutinee, span)),
            TermKind::Literal(_) | TermKind::Sup(_) | TermKind::Link(_) | TermKind::Invalid => {
                self.compute(goal, top, span, |_| Instruction::Refused);
            }
        }
    }

    fn variable(&mut self, src: Slot, goal: Goal, top: Slot, span: Span) {
        match goal {
            Goal::Slot(dst) if dst == src => {}
            Goal::Slot(dst) => self.emit(Instruction::Move { dst, src }, top, span),
            Goal::Return => self.emit(Instruction::Return { src }, top, span),
        }
    }

    fn constant(&mut self, value: Word, goal: Goal, top: Slot, span: Span) {
        self.compute(goal, top, span, |dst| Instruction::Const { dst, value: value.into() });
    }

    fn ctor(&mut self, id: CtorId, fields: &'p [Term], goal: Goal, top: Slot, span: Span) {
        let ctor = id.index() as SmallCtor;
        let mut after = top;
        match fields {
            [] => self.constant(Word::Unit(ctor), goal, top, span),
            [field] => {
                let field = self.operand(field, &mut after);
                self.compute(goal, top, span, |dst| Instruction::Data1 { ctor, dst, field });
            }
            [first, second] => {
                let first = self.operand(first, &mut after);
                let second = self.operand(second, &mut after);
                self.compute(goal, top, span, |dst| Instruction::Data2 { ctor, dst, first, second });
            }
            _ => {
                self.window(fields, top);
                let count = fields.len() as u16;
                self.compute(goal, top, span, |dst| Instruction::Data { ctor, count, dst, at: top });
            }
        }
    }

    fn tuple(&mut self, parts: &'p [Term], goal: Goal, top: Slot, span: Span) {
        if let [first, second] = parts {
            let mut after = top;
            let first = self.operand(first, &mut after);
            let second = self.operand(second, &mut after);
            self.compute(goal, top, span, |dst| Instruction::Pair { dst, first, second });
        } else {
            self.window(parts, top);
            let count = parts.len() as u32;
            self.compute(goal, top, span, |dst| Instruction::Tuple { dst, at: top, count });
        }
    }

    fn lambda(&mut self, body: &'p Term, goal: Goal, top: Slot, span: Span) {
        let id = self.lambdas[&address(body)];
        let lambda = &mut self.tables.lambdas[id];
        lambda.slots = lambda.captures.iter().map(|local| self.slots[local.index()]).collect();
        if lambda.slots.is_empty() {
            self.constant(Word::Lambda(id), goal, top, span);
        } else {
            self.compute(goal, top, span, |dst| Instruction::Closure { dst, lambda: id });
        }
    }

    fn operator(&mut self, op: BinOp, a: &'p Term, b: &'p Term, goal: Goal, top: Slot, span: Span) {
        let mut after = top;
        match self.operands(op, a, b, &mut after) {
            Operands::Constant(op, a, b) => self.compute(goal, top, span, |dst| {
                let (kind, bits) = (b.kind(), b.bits());
                Instruction::OpConst { op, kind, dst, a, bits }
            }),
            Operands::Slots(a, b) => self.compute(goal, top, span, |dst| Instruction::Op { op, dst, a, b }),
        }
    }

    /// Evaluates the operands of an operator. One that is a constant becomes part of the instruction if it is on the
    /// right, or can be brought there.
    pub(super) fn operands(&mut self, op: BinOp, a: &'p Term, b: &'p Term, top: &mut Slot) -> Operands {
        match (&a.kind, &b.kind, mirrored(op)) {
            (_, TermKind::Num(b), _) => Operands::Constant(op, self.operand(a, top), *b),
            (TermKind::Num(a), _, Some(op)) => Operands::Constant(op, self.operand(b, top), *a),
            _ => {
                let a = self.operand(a, top);
                Operands::Slots(a, self.operand(b, top))
            }
        }
    }

    fn bind(&mut self, target: &'p Target, value: &'p Term, top: &mut Slot) {
        match target {
            Target::Tuple(targets) => {
                let mut after = *top;
                let src = self.operand(value, &mut after);
                let (dst, count) = (*top, targets.len() as u32);
                self.emit(Instruction::Untuple { src, dst, count }, dst, value.span);
                for (slot, target) in (dst..).zip(targets) {
                    target.iter().for_each(|&local| self.assign(local, slot));
                }
                *top += count;
            }
            Target::Var(local) => {
                let slot = self.operand(value, top);
                self.assign(*local, slot);
            }
            Target::Dup(copies) => {
                let slot = self.operand(value, top);
                copies.iter().flatten().for_each(|&local| self.assign(local, slot));
            }
            Target::Link(_) => self.emit(Instruction::Refused, *top, value.span),
        }
    }

    fn apply(&mut self, function: &'p Term, args: &'p [Term], goal: Goal, top: Slot, span: Span) {
        match &function.kind {
            // The arguments are bound like variables; there is no closure. `Scopes` sees it in the same way.
            TermKind::Lambda(params, body) if params.len() == args.len() => {
                let mut top = top;
                for (&param, arg) in params.iter().zip(args) {
                    let slot = self.operand(arg, &mut top);
                    self.assign(param, slot);
                }
                self.term(body, goal, top);
            }
            TermKind::Global(def) if args.len() <= self.program.defs[*def].params.len() && !args.is_empty() => {
                self.window(args, top);
                let (def, at, count) = (*def, top, args.len() as u16);
                if args.len() < self.program.defs[def].params.len() {
                    self.compute(goal, top, span, |dst| Instruction::Partial { count, dst, at, def });
                    return;
                }
                // The entry and the frame are filled in when all definitions have been compiled.
                let entry = def.index() as Address;
                match goal {
                    Goal::Return => self.emit(Instruction::TailCall { count, entry, at, frame: 0 }, at, span),
                    Goal::Slot(dst) => {
                        self.emit(Instruction::Call { count, entry, at, frame: 0 }, at, span);
                        self.variable(at, Goal::Slot(dst), at, span);
                    }
                }
            }
            _ => {
                let mut at = top;
                let function = self.operand(function, &mut at);
                self.window(args, at);
                let count = args.len() as u32;
                match goal {
                    Goal::Return => self.emit(Instruction::TailApply { function, at, count }, at, span),
                    Goal::Slot(dst) => {
                        self.emit(Instruction::Apply { function, at, count }, at, span);
                        self.variable(at, Goal::Slot(dst), at, span);
                    }
                }
            }
        }
    }
}

/// The place of a choice: what it looks at, where that has a place of its own.
fn to_blame(scrutinee: &Term, choice: Span) -> Span {
    if scrutinee.span.is_none() { choice } else { scrutinee.span }
}

/// The evaluated operands of an operator.
pub(super) enum Operands {
    /// The right one is a constant.
    Constant(BinOp, Slot, Num),
    /// Both are in slots.
    Slots(Slot, Slot),
}

/// The operator that gives the same with its operands exchanged.
fn mirrored(op: BinOp) -> Option<BinOp> {
    match op {
        BinOp::Add | BinOp::Mul | BinOp::Eq | BinOp::Ne | BinOp::And | BinOp::Or | BinOp::Xor => Some(op),
        BinOp::Lt => Some(BinOp::Gt),
        BinOp::Le => Some(BinOp::Ge),
        BinOp::Gt => Some(BinOp::Lt),
        BinOp::Ge => Some(BinOp::Le),
        BinOp::Sub | BinOp::Div | BinOp::Rem | BinOp::Pow | BinOp::Shl | BinOp::Shr => None,
    }
}
