//! Nets as text, as [`super::parse`] reads them.

use super::ast::{Net, Operator, Redex, Tree};
use super::parse::OPERATORS;
use crate::num::{BinOp, Num};
use std::fmt::{Display, Formatter, Result};

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
        }
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (flipped, op, number) = match self {
            Operator::Cast(kind) => return write!(f, "[{}]", kind.name()),
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

fn write_number(f: &mut Formatter<'_>, number: Num) -> Result {
    match number {
        Num::U24(value) | Num::U32(value) => write!(f, "{value}"),
        Num::I24(value) | Num::I32(value) => write!(f, "{value:+}"),
        Num::F24(value) | Num::F32(value) if value.is_nan() => write!(f, "+NaN"),
        Num::F24(value) | Num::F32(value) if value.is_infinite() => write!(f, "{value:+}"),
        Num::F24(value) | Num::F32(value) if value.fract() == 0.0 => write!(f, "{value:.1}"),
        Num::F24(value) | Num::F32(value) => write!(f, "{value}"),
    }
}
