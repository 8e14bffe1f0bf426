//! Choices and operations: what comes after them is done at once where it is there.

use super::memory::Memory;
use super::{Worker, is_pair};
use crate::boxed::{self, Computed};
use crate::number::{self, Symbol};
use crate::rule_matching;
use crate::rules::{ROWS, Row, Rule, TABLE, When};
use crate::word::{Kind, Word};
use girih_base::num::{BinOp, Num, NumKind};

/// The lower bits of a u24.
const U24: u32 = 1 << 3 | Kind::Num as u32;

fn row_of(a: Kind, b: Kind) -> &'static Row {
    &ROWS[TABLE[a as usize][b as usize].row as usize]
}

#[inline(always)]
fn is_u24(word: Word) -> bool {
    word.0 & 0xFF == U24
}

/// A number as a port, without an index if it is a node, and that node's words.
#[inline(always)]
fn apart(number: Computed) -> (Word, [Word; 2]) {
    match number {
        Computed::Word(word) => (word, [Word::NONE; 2]),
        Computed::Box(words) => (Word::new(Kind::Box, 0), words),
    }
}

/// What an operator gives for two numbers of 24 bits and one kind; none if there is an error, which others report.
fn compute(op: BinOp, kind: NumKind, a: u32, b: u32) -> Option<Computed> {
    let result = Num::apply(op, Num::from_bits(kind, a), Num::from_bits(kind, b)).ok()?;
    number::number(result).map(Computed::Word)
}

/// What numbers give that are met most often, those in words and operators on them; none if it is anything else.
#[inline(always)]
fn quick(left: Computed, right: Word) -> Option<Computed> {
    let (code, value) = (right.payload() & 31, right.payload() >> 5);
    match left {
        Computed::Word(left) => {
            let (known, first) = (left.payload() & 31, left.payload() >> 5);
            match (number::kind(known), number::kind(code)) {
                (Some(kind), None) if code == 0 => match number::symbol(value)? {
                    Symbol::Operator(code) => Some(Computed::Word(number::word(code, first))),
                    Symbol::Function(function) if kind == NumKind::U24 => {
                        Some(Computed::Box(boxed::partial(Num::U24(first), function)))
                    }
                    Symbol::Function(_) => None,
                },
                (Some(kind), None) => match number::partial(code)? {
                    (op, false) => compute(op, kind, value, first),
                    (op, true) => compute(op, kind, first, value),
                },
                (None, Some(kind)) => match number::partial(known)? {
                    (op, false) => compute(op, kind, first, value),
                    (op, true) => compute(op, kind, value, first),
                },
                (Some(_), Some(_)) | (None, None) => None,
            }
        }
        Computed::Box(words) if is_u24(right) => {
            let (op, first) = boxed::operator_on_u24(words)?;
            compute(op, NumKind::U24, first, value)
        }
        Computed::Box(_) => None,
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
    pub(super) fn port(&mut self, number: Computed) -> Word {
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
        let words = self.words(number);
        let Some((is_zero, before)) = self.chosen(number, words) else { return };
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
        let both = self.parts(arms);
        self.free(arms);
        self.take_arm(is_zero, before, both, result);
    }

    /// A number chooses among two arms, which are parts of a pair that need not come into being, no more than the choice.
    #[inline(always)]
    pub(super) fn choose(&mut self, number: Word, arms: [Word; 2], result: Word) {
        if let Some((is_zero, before)) = self.chosen(number, [Word::NONE; 2]) {
            self.counts.add(Rule::Switch, 1);
            self.counts.add(Rule::Annihilate, 1);
            self.take_arm(is_zero, before, arms, result);
        }
    }

    /// Whether a number is zero, and the number before it; none if it cannot choose.
    #[inline(always)]
    fn chosen(&mut self, number: Word, words: [Word; 2]) -> Option<(bool, Computed)> {
        if is_u24(number) {
            let value = number.0 >> 8;
            return Some((value == 0, Computed::Word(Word(value.wrapping_sub(1) << 8 | U24))));
        }
        let row = row_of(Kind::Num, Kind::Swi);
        match rule_matching::decide(self.book, row, [number, Word::NONE], [words, [Word::NONE; 2]], |word| [word; 2]) {
            Ok((when, before)) => Some((when == When::Zero, before)),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }

    /// The first arm if the number was zero, else the other one, which is given the number before it.
    #[inline(always)]
    fn take_arm(&mut self, is_zero: bool, before: Computed, [zero, other]: [Word; 2], result: Word) {
        if is_zero {
            self.link(Word::ERA, other);
            return self.link(result, zero);
        }
        self.link(Word::ERA, zero);
        let before = self.port(before);
        let other = self.enter(other);
        match other.kind() {
            Kind::Ref if self.next.is_none() => self.next = Some((other, [before, result])),
            Kind::Con => {
                self.counts.add(Rule::Annihilate, 1);
                let [number, rest] = self.parts(other);
                self.free(other);
                self.link(before, number);
                self.link(result, rest);
            }
            Kind::Var
            | Kind::Ref
            | Kind::Era
            | Kind::Num
            | Kind::Dup
            | Kind::Opr
            | Kind::Swi
            | Kind::Copy
            | Kind::Clo
            | Kind::Box => {
                let node = self.node(Kind::Con);
                self.write(node, [before, result]);
                self.link(node, other);
            }
        }
    }

    /// What a number or a function with one gives with an operand in a word; none if there is an error.
    #[inline(always)]
    pub(super) fn operated(&mut self, left: Computed, operand: Word) -> Option<Computed> {
        if let Some(known) = quick(left, operand) {
            return Some(known);
        }
        let (port, words) = apart(left);
        let row = row_of(Kind::Num, Kind::Opr);
        let parts = [words, [operand, Word::NONE]];
        match rule_matching::decide(self.book, row, [port, Word::NONE], parts, |_| [Word::NONE; 2]) {
            Ok((_, result)) => Some(result),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }

    /// A number meets an operation, and what it gives the next one, if that is there.
    #[inline(always)]
    pub(super) fn operate(&mut self, number: Word, operation: Word) {
        let (words, mut operation) = (self.words(number), operation);
        // What is computed need not be a node before it is known that nobody takes it at once.
        let mut left = if number.kind() == Kind::Box {
            self.free(number);
            Computed::Box(words)
        } else {
            Computed::Word(number)
        };
        loop {
            let [operand, result] = self.parts(operation);
            self.counts.add(Rule::Operate, 1);
            let computed = match operand.kind() {
                Kind::Num => self.operated(left, operand),
                Kind::Box => self.operated_with_node(left, operand),
                Kind::Var
                | Kind::Ref
                | Kind::Era
                | Kind::Con
                | Kind::Dup
                | Kind::Opr
                | Kind::Swi
                | Kind::Copy
                | Kind::Clo => {
                    let port = self.port(left);
                    self.write(operation, [port, result]);
                    return self.link(operand, operation);
                }
            };
            left = match computed {
                Some(computed) => computed,
                None => return,
            };
            self.free(operation);
            let next = self.enter(result);
            if next.kind() != Kind::Opr {
                let port = self.port(left);
                return self.link(port, next);
            }
            operation = next;
        }
    }

    /// The same with an operand that is a node, which is free then.
    #[inline(never)]
    fn operated_with_node(&mut self, left: Computed, operand: Word) -> Option<Computed> {
        let (port, words) = apart(left);
        let right = self.parts(operand);
        self.free(operand);
        let row = row_of(Kind::Num, Kind::Opr);
        match rule_matching::decide(self.book, row, [port, Word::NONE], [words, [operand, Word::NONE]], |_| right) {
            Ok((_, result)) => Some(result),
            Err(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }
}
