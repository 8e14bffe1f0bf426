//! Nets as text, as [`super::parse`] reads them.

use super::ast::{Book, Definition, Net, Operator, Redex, Tree};
use super::parse::OPERATORS;
use girih_base::num::{BinOp, Num, NumKind};
use std::fmt::{Display, Formatter, Result};

impl Display for Book {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.definitions.iter().try_for_each(|definition| writeln!(f, "{definition}"))
    }
}

/// A redex a line.
impl Display for Definition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "@{} = {}", self.name, self.net.root)?;
        self.net.redexes.iter().try_for_each(|redex| write!(f, "\n  {redex}"))
    }
}

impl Display for Net {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.root.fmt(f)?;
        self.redexes.iter().try_for_each(|redex| write!(f, " {redex}"))
    }
}

impl Display for Redex {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let parallel = if self.parallel { "!" } else { " " };
        write!(f, "&{parallel}{} ~ {}", self.left, self.right)
    }
}

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Tree::Var(name) => write!(f, "{name}"),
            Tree::Ref(name) => write!(f, "@{name}"),
            Tree::Era => write!(f, "*"),
            Tree::Num(number) => write_number(f, *number),
            Tree::Operator(operator) => operator.fmt(f),
            Tree::Con(left, right) => write!(f, "({left} {right})"),
            Tree::Dup(left, right) => write!(f, "{{{left} {right}}}"),
            Tree::Opr(left, right) => write!(f, "$({left} {right})"),
            Tree::Swi(left, right) => write!(f, "?({left} {right})"),
            Tree::Copy(left, right) => write!(f, "^{{{left} {right}}}"),
            Tree::Closure(left, right) => write!(f, "<{left} {right}>"),
        }
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (flipped, op, number) = match self {
            Operator::Cast(kind) => return write!(f, "[{}]", kind.name()),
            Operator::Checked(function) => return write!(f, "[.{}]", function.symbol()),
            Operator::Symbol(op) => ("", *op, None),
            Operator::FlippedSymbol(op) => (":", *op, None),
            Operator::Partial(op, number) => ("", *op, Some(*number)),
            Operator::Flipped(op, number) => (":", *op, Some(*number)),
        };
        write!(f, "[{flipped}{}", symbol(op))?;
        if let Some(number) = number {
            write_number(f, number)?;
        }
        write!(f, "]")
    }
}

fn symbol(op: BinOp) -> &'static str {
    OPERATORS.iter().find(|(_, known)| *known == op).map_or(op.symbol(), |(symbol, _)| symbol)
}

/// As [`super::parse`] reads it: a number of 32 bits with its kind.
fn write_number(f: &mut Formatter<'_>, number: Num) -> Result {
    match number {
        Num::U24(value) | Num::U32(value) => write!(f, "{value}")?,
        Num::I24(value) | Num::I32(value) => write!(f, "{value:+}")?,
        Num::F24(value) | Num::F32(value) if value.is_nan() => write!(f, "+NaN")?,
        Num::F24(value) | Num::F32(value) if value.is_infinite() => write!(f, "{value:+}")?,
        Num::F24(value) | Num::F32(value) => write!(f, "{value:?}")?,
    }
    match number.kind() {
        NumKind::U24 | NumKind::I24 | NumKind::F24 => Ok(()),
        kind @ (NumKind::U32 | NumKind::I32 | NumKind::F32) => write!(f, "{}", kind.name()),
    }
}
