//! Choices and operations: what comes after them is done at once where it is there.

use super::memory::Memory;
use super::{Worker, is_pair};
use crate::diag::Code as Error;
use crate::net::boxed::{self, Computed};
use crate::net::number::{self, Symbol};
use crate::net::rules::{ROWS, Row, Rule, TABLE, When};
use crate::net::step;
use crate::net::word::{Kind, Word};
use crate::num::{BinOp, Num};

/// The lower bits of a u24.
const U24: u32 = 1 << 3 | Kind::Num as u32;

fn row_of(a: Kind, b: Kind) -> &'static Row {
    &ROWS[TABLE[a as usize][b as usize].row as usize]
}

#[inline(always)]
fn is_u24(word: Word) -> bool {
    word.0 & 0xFF == U24
}

/// What an operator gives for two u24; none if there is an error, which others report.
fn compute(op: BinOp, a: u32, b: u32) -> Option<Computed> {
    match Num::apply(op, Num::U24(a), Num::U24(b)) {
        Ok(Num::U24(value)) => Some(Computed::Word(Word(value << 8 | U24))),
        Ok(_) | Err(_) => None,
    }
}

/// What numbers give that are met most often, u24 and operators on them; none if it is anything else.
#[inline(always)]
fn quick(left: Computed, right: Word) -> Option<Computed> {
    let (code, value) = (right.payload() & 31, right.payload() >> 5);
    match left {
        Computed::Word(left) if is_u24(left) => match code {
            0 => match number::symbol(value)? {
                Symbol::Operator(code) => Some(Computed::Word(Word(left.0 & !0xFF | code << 3 | Kind::Num as u32))),
                Symbol::Function(function) => Some(Computed::Box(boxed::partial(Num::U24(left.0 >> 8), function))),
            },
            _ => match number::partial(code)? {
                (op, false) => compute(op, value, left.0 >> 8),
                (op, true) => compute(op, left.0 >> 8, value),
            },
        },
        Computed::Word(left) if is_u24(right) => match number::partial(left.payload() & 31)? {
            (op, false) => compute(op, left.0 >> 8, value),
            (op, true) => compute(op, value, left.0 >> 8),
        },
        Computed::Box(words) if is_u24(right) => {
            let (op, first) = boxed::operator_on_u24(words)?;
            compute(op, first, value)
        }
        Computed::Word(_) | Computed::Box(_) => None,
    }
}

impl<M: Memory> Worker<'_, M> {
    /// The words of a number that is a node.
    #[inline(always)]
    fn words(&mut self, word: Word) -> [Word; 2] {
        if word.kind() == Kind::Box { self.parts(word) } else { [Word::NONE; 2] }
    }

    /// A number as a port.
    #[inline(always)]
    fn port(&mut self, number: Computed) -> Word {
        match number {
            Computed::Word(word) => word,
            Computed::Box(words) => {
                let node = self.node(Kind::Box);
                self.write(node, words);
                node
            }
        }
    }

    /// A number meets a choice: it takes one of two arms, if they are there.
    #[inline(always)]
    pub(super) fn switch(&mut self, number: Word, choice: Word) {
        let [arms, result] = self.parts(choice);
        let (is_zero, before) = if is_u24(number) {
            let value = number.0 >> 8;
            (value == 0, Computed::Word(Word(value.wrapping_sub(1) << 8 | U24)))
        } else {
            let words = self.words(number);
            let row = row_of(Kind::Num, Kind::Swi);
            match step::decide(self.book, row, [number, choice], [words, [arms, result]], |word| [word; 2]) {
                Ok((when, before)) => (when == When::Zero, before),
                Err(stop) => return self.stop = Some(stop),
            }
        };
        self.counts.add(Rule::Switch, 1);
        self.free(choice);
        if number.kind() == Kind::Box {
            self.free(number);
        }
        let arms = self.enter(arms);
        if !is_pair(arms) {
            let chosen = if is_zero {
                let node = self.node(Kind::Con);
                self.write(node, [result, Word::ERA]);
                node
            } else {
                let before = self.port(before);
                let (node, inner) = (self.node(Kind::Con), self.node(Kind::Con));
                self.write(inner, [before, result]);
                self.write(node, [Word::ERA, inner]);
                node
            };
            return self.link(chosen, arms);
        }
        self.counts.add(Rule::Annihilate, 1);
        let [zero, other] = self.parts(arms);
        self.free(arms);
        if is_zero {
            self.link(Word::ERA, other);
            return self.link(result, zero);
        }
        self.link(Word::ERA, zero);
        let before = self.port(before);
        let other = self.enter(other);
        match other.kind() {
            Kind::Ref => self.call_with(other, [before, result]),
            Kind::Con => {
                self.counts.add(Rule::Annihilate, 1);
                let [number, rest] = self.parts(other);
                self.free(other);
                self.link(before, number);
                self.link(result, rest);
            }
            Kind::Var | Kind::Era | Kind::Num | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo | Kind::Box => {
                let node = self.node(Kind::Con);
                self.write(node, [before, result]);
                self.link(node, other);
            }
        }
    }

    /// A number meets an operation, and what it gives the next one, if that is there.
    #[inline(always)]
    pub(super) fn operate(&mut self, number: Word, operation: Word) {
        let (mut words, mut operation) = (self.words(number), operation);
        // What is computed need not be a node before it is known that nobody takes it at once.
        let mut left = if number.kind() == Kind::Box {
            self.free(number);
            Computed::Box(words)
        } else {
            Computed::Word(number)
        };
        loop {
            let [operand, result] = self.parts(operation);
            let port = match left {
                Computed::Word(word) => word,
                Computed::Box(_) => Word::new(Kind::Box, 0),
            };
            self.counts.add(Rule::Operate, 1);
            if !matches!(operand.kind(), Kind::Num | Kind::Box) {
                let port = self.port(left);
                self.write(operation, [port, result]);
                return self.link(operand, operation);
            }
            let known = if operand.kind() == Kind::Num { quick(left, operand) } else { None };
            left = match known {
                Some(known) => known,
                None => {
                    let right = self.words(operand);
                    let row = row_of(Kind::Num, Kind::Opr);
                    let parts = [words, [operand, result]];
                    match step::decide(self.book, row, [port, operation], parts, |_| right) {
                        Ok((_, result)) => result,
                        Err(stop) => return self.stop = Some(stop),
                    }
                }
            };
            self.free(operation);
            if operand.kind() == Kind::Box {
                self.free(operand);
            }
            let next = self.enter(result);
            if next.kind() != Kind::Opr {
                let port = self.port(left);
                return self.link(port, next);
            }
            words = match left {
                Computed::Word(_) => [Word::NONE; 2],
                Computed::Box(words) => words,
            };
            operation = next;
            if let Computed::Word(word) = left
                && word.kind() != Kind::Num
            {
                // No operation gives anything but a number.
                return self.stop = Some(step::Stop::Mistake(Error::Internal, word.kind(), Kind::Opr));
            }
        }
    }
}
