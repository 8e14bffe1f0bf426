//! Numbers in nodes of their own: those of 32 bits, and functions on numbers with their first operand.
//!
//! Such a node has no wires but two plain words. The lower halves of both are the bits of a number. Above those of the second stand the kind of
//! the number, in three bits, and, if it is the operand of a function, that function's number plus one. The top bit of both is one: no part of a
//! node is 0, so that a processor that finds a 0 knows that what another one writes has not come yet.

use super::number::{self, Meaning};
use super::word::{Kind, Word};
use girih_base::num::{BinOp, Num, NumError, NumKind};
use girih_term::hvm::ast::Operator;
use girih_term::hvm::function::Function;

const TOP: u32 = 1 << 31;

/// The content of a boxed number.
pub type Words = [Word; 2];

/// What stands at a port: a number, a function that has its first operand, or neither.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A number.
    Number(Num),
    /// A function of two numbers that has the first.
    Partial(Function, Num),
}

/// A result: it fits in a word, or it needs a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Computed {
    /// A word.
    Word(Word),
    /// A node with these words.
    Box(Words),
}

/// The node of a number.
pub fn number(number: Num) -> Words {
    words(number, 0)
}

fn words(number: Num, function: u32) -> Words {
    let bits = number.bits();
    let what = kind_code(number.kind()) | function << 3;
    [Word(bits & 0xFFFF | TOP), Word(bits >> 16 | what << 16 | TOP)]
}

/// The node of a function that has its first operand.
pub(super) fn partial(number: Num, function: u32) -> Words {
    words(number, function + 1)
}

/// The operator that has a u24 as its first operand, and that operand, if a node is one.
#[inline(always)]
pub(super) fn operator_on_u24([Word(low), Word(high)]: Words) -> Option<(BinOp, u32)> {
    let what = (high & !TOP) >> 16;
    let op = BinOp::ALL.get((what >> 3).checked_sub(1)? as usize)?;
    (what & 7 == kind_code(NumKind::U24)).then_some((*op, low & 0xFFFF | (high & 0xFF) << 16))
}

/// A number as a word, if it fits, else as a node.
pub fn packed(number: Num) -> Computed {
    number::number(number).map_or_else(|| Computed::Box(self::number(number)), Computed::Word)
}

/// What the words of a node mean; none if no node has them.
pub fn operand(words: Words) -> Option<Operand> {
    let [Word(low), Word(high)] = words;
    let what = (high & !TOP) >> 16;
    let kind = NumKind::ALL.get((what & 7) as usize)?;
    let number = Num::from_bits(*kind, low & 0xFFFF | high << 16);
    match (what >> 3).checked_sub(1) {
        None => Some(Operand::Number(number)),
        Some(function) => Some(Operand::Partial(Function::numbered(function)?, number)),
    }
}

/// The number that a word is, if it is one; `node` are its words if it is a node.
pub fn plain(word: Word, node: Words) -> Option<Operand> {
    match word.kind() {
        Kind::Box => operand(node),
        Kind::Num => match number::meaning(word) {
            Meaning::Number(number) => Some(Operand::Number(number)),
            Meaning::Operator(_) | Meaning::Nonsense => None,
        },
        Kind::Var | Kind::Ref | Kind::Era | Kind::Con | Kind::Dup | Kind::Opr | Kind::Swi | Kind::Copy | Kind::Clo => {
            None
        }
    }
}

/// A function is given a number: it computes, or waits for the second one.
///
/// # Errors
/// If the number is of a kind that it does not take.
pub fn give(function: Function, number: Num) -> Result<Computed, NumError> {
    if function.arity() == 1 {
        return Ok(packed(function.apply(&[number])?));
    }
    Ok(Computed::Box(words(number, function.number() + 1)))
}

/// An operator with an operand is given a number of 32 bits: the operand's bits are a number of that kind. What makes no sense gives 0.
///
/// # Errors
/// As [`Num::apply`].
pub fn operate(operator: Word, number: Num) -> Result<Computed, NumError> {
    let operand = |partial: Num| Num::from_bits(number.kind(), partial.bits());
    Ok(match number::meaning(operator) {
        Meaning::Operator(Operator::Partial(op, partial)) => packed(Num::apply(op, operand(partial), number)?),
        Meaning::Operator(Operator::Flipped(op, partial)) => packed(Num::apply(op, number, operand(partial))?),
        Meaning::Operator(_) | Meaning::Number(_) | Meaning::Nonsense => Computed::Word(number::unsigned(0)),
    })
}

fn kind_code(kind: NumKind) -> u32 {
    // In the order of their list.
    kind as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_operands_are_kept() {
        let le = Function::Op(BinOp::Le);
        for number in [Num::U24(5), Num::I24(-5), Num::f24(0.5), Num::U32(u32::MAX), Num::I32(-1), Num::F32(0.1)] {
            let Ok(Computed::Box(words)) = give(le, number) else { panic!("a function that waits") };
            assert_eq!(operand(words), Some(Operand::Partial(le, number)));
            assert_eq!(operand(self::number(number)), Some(Operand::Number(number)));
        }
        assert_eq!(packed(Num::U24(3)), Computed::Word(number::unsigned(3)));
        assert!(matches!(packed(Num::U32(3)), Computed::Box(_)));
    }
}
