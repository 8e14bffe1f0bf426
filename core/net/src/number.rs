//! Numbers and operators inside of words: 24-bit numbers, symbols of operators, and operators with one operand, bit for bit as upstream has
//! them.
//!
//! A number is a kind of five bits below a value of 24. An operator with one operand keeps the operand's bits and forgets its kind: the
//! other operand's kind counts. What [`Function`]s do instead stands in [`super::boxed`].

use super::word::Word;
use girih_base::num::{BinOp, Num, NumError, NumKind};
use girih_term::hvm::ast::Operator;
use girih_term::hvm::function::Function;

/// The kind of a symbol; its value says which.
const SYMBOL: u32 = 0;
/// The first kind that is an operator with an operand.
const FIRST_OPERATOR: u32 = 4;
/// Where the values of symbols that are [`Function`]s begin.
const CHECKED: u32 = 0x100;

/// The kinds of numbers, by their codes, which count from 1.
const KINDS: [(NumKind, u32); 3] = [(NumKind::U24, 1), (NumKind::I24, 2), (NumKind::F24, 3)];

/// The operators in the order of their codes, the second ones with exchanged operands.
const OPERATORS: [(BinOp, bool); 19] = [
    (BinOp::Add, false),
    (BinOp::Sub, false),
    (BinOp::Sub, true),
    (BinOp::Mul, false),
    (BinOp::Div, false),
    (BinOp::Div, true),
    (BinOp::Rem, false),
    (BinOp::Rem, true),
    (BinOp::Eq, false),
    (BinOp::Ne, false),
    (BinOp::Lt, false),
    (BinOp::Gt, false),
    (BinOp::And, false),
    (BinOp::Or, false),
    (BinOp::Xor, false),
    (BinOp::Shl, false),
    (BinOp::Shl, true),
    (BinOp::Shr, false),
    (BinOp::Shr, true),
];

/// What a number of a word is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meaning {
    /// A number.
    Number(Num),
    /// Anything that is written in brackets.
    Operator(Operator),
    /// A symbol that no operator has, from an operation that makes no sense.
    Nonsense,
}

/// The word of a number; none if its kind has more than 24 bits.
pub fn number(number: Num) -> Option<Word> {
    let code = KINDS.iter().find(|(kind, _)| *kind == number.kind())?.1;
    Some(word(code, number.bits()))
}

/// The word of a u24.
pub fn unsigned(value: u32) -> Word {
    word(1, value & 0xFF_FFFF)
}

/// The word of an operator; none if nets have no such operator.
pub fn operator(operator: Operator) -> Option<Word> {
    let code =
        |wanted: (BinOp, bool)| Some(OPERATORS.iter().position(|known| *known == wanted)? as u32 + FIRST_OPERATOR);
    Some(match operator {
        Operator::Symbol(op) => word(SYMBOL, code((op, false))?),
        Operator::FlippedSymbol(op) => word(SYMBOL, code((op, true))?),
        Operator::Partial(op, operand) => word(code((op, false))?, operand.bits()),
        Operator::Flipped(op, operand) => word(code((op, true))?, operand.bits()),
        Operator::Cast(kind) => word(SYMBOL, KINDS.iter().find(|(known, _)| *known == kind)?.1),
        Operator::Checked(function) => word(SYMBOL, CHECKED + function.number()),
    })
}

/// A symbol of two operands.
pub(super) enum Symbol {
    /// Of an operator, by its code.
    Operator(u32),
    /// Of a function, by its number.
    Function(u32),
}

/// The symbol of a value, if it is one of two operands.
#[inline(always)]
pub(super) fn symbol(value: u32) -> Option<Symbol> {
    let (operators, functions) = (OPERATORS.len() as u32, BinOp::ALL.len() as u32);
    if value.wrapping_sub(FIRST_OPERATOR) < operators {
        Some(Symbol::Operator(value))
    } else if value.wrapping_sub(CHECKED) < functions {
        Some(Symbol::Function(value - CHECKED))
    } else {
        None
    }
}

/// The operator of a code, and whether its operands are exchanged.
#[inline(always)]
pub(super) fn partial(code: u32) -> Option<(BinOp, bool)> {
    OPERATORS.get(code.checked_sub(FIRST_OPERATOR)? as usize).copied()
}

/// The kind of 24 bits of a code; none if it is an operator or a symbol.
#[inline(always)]
pub(super) fn kind(code: u32) -> Option<NumKind> {
    KINDS.get(code.wrapping_sub(1) as usize).map(|(kind, _)| *kind)
}

/// The code of a kind of 24 bits; 0 if it has more.
pub(super) fn code(kind: NumKind) -> u32 {
    KINDS.iter().find(|(known, _)| *known == kind).map_or(0, |(_, code)| *code)
}

/// The code of an operator; none if nets have no such operator.
// LLVM 22 takes a quarter of an hour to optimise a caller's loop with this search unrolled in it.
#[inline(never)]
pub(super) fn operator_code(op: BinOp, flipped: bool) -> Option<u32> {
    Some(OPERATORS.iter().position(|known| *known == (op, flipped))? as u32 + FIRST_OPERATOR)
}

/// What a word that is a number means. The operand of an operator is shown as a u24, since its kind is not known.
pub fn meaning(word: Word) -> Meaning {
    let (code, value) = (word.payload() & 31, word.payload() >> 5);
    let kind = |wanted: u32| KINDS.iter().find(|(_, code)| *code == wanted).map(|(kind, _)| *kind);
    let operator = |code: u32| OPERATORS.get(code.checked_sub(FIRST_OPERATOR)? as usize).copied();
    let meant = match code {
        SYMBOL => match (kind(value), operator(value)) {
            (Some(kind), _) => Some(Operator::Cast(kind)),
            (None, Some((op, false))) => Some(Operator::Symbol(op)),
            (None, Some((op, true))) => Some(Operator::FlippedSymbol(op)),
            (None, None) => value.checked_sub(CHECKED).and_then(Function::numbered).map(Operator::Checked),
        },
        code => match (kind(code), operator(code)) {
            (Some(kind), _) => return Meaning::Number(Num::from_bits(kind, value)),
            (None, Some((op, false))) => Some(Operator::Partial(op, Num::u24(value))),
            (None, Some((op, true))) => Some(Operator::Flipped(op, Num::u24(value))),
            (None, None) => None,
        },
    };
    meant.map_or(Meaning::Nonsense, Meaning::Operator)
}

/// The function that a word is the symbol of.
pub fn function(word: Word) -> Option<Function> {
    match meaning(word) {
        Meaning::Operator(Operator::Checked(function)) => Some(function),
        Meaning::Operator(_) | Meaning::Number(_) | Meaning::Nonsense => None,
    }
}

/// The number of a choice: its 24 bits, whatever its kind.
pub fn choice(word: Word) -> u32 {
    word.payload() >> 5
}

/// What two numbers give that meet in an operation: either may be the operator.
///
/// # Errors
/// A division by zero, or an operator that the kind of number does not have. What makes no sense gives 0, as upstream has it.
pub fn operate(a: Word, b: Word) -> Result<Word, NumError> {
    let zero = Ok(unsigned(0));
    match (meaning(a), meaning(b)) {
        (Meaning::Number(_), Meaning::Number(_)) => zero,
        (Meaning::Operator(operator), Meaning::Number(number))
        | (Meaning::Number(number), Meaning::Operator(operator)) => with_number(operator, number),
        (Meaning::Operator(left), Meaning::Operator(right)) if is_symbol(left) != is_symbol(right) => {
            let (symbol, partial) = if is_symbol(left) { (a, b) } else { (b, a) };
            Ok(given(symbol, partial))
        }
        (Meaning::Operator(_), Meaning::Operator(_)) | (Meaning::Nonsense, _) | (_, Meaning::Nonsense) => zero,
    }
}

fn is_symbol(operator: Operator) -> bool {
    match operator {
        Operator::Symbol(_) | Operator::FlippedSymbol(_) | Operator::Cast(_) | Operator::Checked(_) => true,
        Operator::Partial(..) | Operator::Flipped(..) => false,
    }
}

fn with_number(operator: Operator, number: Num) -> Result<Word, NumError> {
    let operand = |partial: Num| Num::from_bits(number.kind(), partial.bits());
    let result = match operator {
        Operator::Symbol(_) | Operator::FlippedSymbol(_) => {
            return Ok(match (self::operator(operator), self::number(number)) {
                (Some(symbol), Some(number)) => given(symbol, number),
                _ => unsigned(0),
            });
        }
        Operator::Partial(op, partial) => Num::apply(op, operand(partial), number)?,
        Operator::Flipped(op, partial) => Num::apply(op, number, operand(partial))?,
        Operator::Cast(kind) => number.to(kind),
        // These are computed by `super::boxed`.
        Operator::Checked(_) => return Ok(unsigned(0)),
    };
    Ok(self::number(result).unwrap_or(unsigned(0)))
}

/// An operator that is given its first operand: the code of one, the value of the other.
fn given(symbol: Word, operand: Word) -> Word {
    word(symbol.payload() >> 5 & 31, operand.payload() >> 5)
}

/// The word of a code and a value.
#[inline(always)]
pub(super) fn word(code: u32, value: u32) -> Word {
    Word::number(value << 5 | code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn num(n: Num) -> Word {
        number(n).expect("a 24-bit number")
    }

    fn symbol(op: BinOp) -> Word {
        operator(Operator::Symbol(op)).expect("an operator")
    }

    fn binary(a: Num, op: BinOp, b: Num) -> Result<Word, NumError> {
        operate(operate(num(a), symbol(op))?, num(b))
    }

    #[test]
    fn the_first_number_is_the_left_operand() {
        assert_eq!(binary(Num::U24(7), BinOp::Sub, Num::U24(2)), Ok(num(Num::U24(5))));
        let flipped = operator(Operator::FlippedSymbol(BinOp::Sub)).expect("it has one");
        let partial = operate(num(Num::U24(7)), flipped).expect("a partial operator");
        assert_eq!(operate(partial, num(Num::U24(2))), Ok(num(Num::u24(0u32.wrapping_sub(5)))));
        assert_eq!(binary(Num::U24(7), BinOp::Div, Num::U24(0)), Err(NumError::DivisionByZero));
    }

    #[test]
    fn casts_convert_and_nonsense_is_zero() {
        let cast = operator(Operator::Cast(NumKind::I24)).expect("a cast");
        assert_eq!(operate(cast, num(Num::U24(0xFF_FFFF))), Ok(num(Num::I24(-1))));
        assert_eq!(operate(num(Num::U24(1)), num(Num::U24(2))), Ok(unsigned(0)));
        assert_eq!(operate(symbol(BinOp::Add), symbol(BinOp::Mul)), Ok(unsigned(0)));
    }

    #[test]
    fn what_is_written_comes_back() {
        let operators = [
            Operator::Symbol(BinOp::Shl),
            Operator::FlippedSymbol(BinOp::Shr),
            Operator::Partial(BinOp::Mul, Num::U24(2)),
            Operator::Flipped(BinOp::Sub, Num::U24(1)),
            Operator::Cast(NumKind::F24),
            Operator::Checked(Function::Op(BinOp::Le)),
        ];
        for written in operators {
            let word = operator(written).expect("an operator of nets");
            assert_eq!(meaning(word), Meaning::Operator(written));
        }
    }
}
