//! Operations that are written as the table says: name, suffix, operands, attributes.

use super::body::{Body, Named};
use super::cursor::{Parse, counted};
use super::operands::{Operands, What};
use crate::attrs::{Attr, Dim};
use crate::function::{Inst, ValueId, Values};
use crate::ops::{Op, Pattern, Suffix};
use crate::text::lexer::Kind;
use crate::text::words::{Syntax, literal_type, pattern, repeats, simple_type, syntax};
use crate::types::Type;
use girih_base::diag::Code;
use girih_base::span::Span;

/// An instruction that has been appended.
#[derive(Debug)]
pub struct Done {
    /// What it does.
    pub op: Op,
    /// Its results.
    pub results: Values,
    /// Its text, without regions.
    pub span: Span,
}

/// An operation's name with what stands behind it.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The operation.
    pub op: Op,
    /// The type behind its name.
    pub ty: Option<Type>,
    /// The dimension behind its name.
    pub dim: Option<Dim>,
    /// Where all that stands.
    pub span: Span,
}

impl<'a> Body<'_, 'a> {
    /// Takes an instruction, whose results will have these names.
    pub fn instruction(&mut self, names: &[Named<'a>]) -> Parse<Done> {
        let head = self.head()?;
        match syntax(head.op) {
            Some(syntax) => self.control(syntax, head, names),
            None => self.by_table(head),
        }
    }

    /// Takes an instruction in parentheses.
    pub fn inner_instruction(&mut self) -> Parse<Done> {
        let head = self.head()?;
        match syntax(head.op) {
            Some(syntax @ (Syntax::Call | Syntax::Join | Syntax::Cell | Syntax::Global))
                if !head.op.is_terminator() =>
            {
                self.control(syntax, head, &[])
            }
            None => self.by_table(head),
            Some(_regions_and_jumps) => {
                let message = format!("`{}` cannot stand in parentheses", head.op.name());
                self.cursor.fail(Code::IrSyntax, head.span, message, "write it as a statement of its own")
            }
        }
    }

    /// Takes an operation's name and suffix.
    fn head(&mut self) -> Parse<Head> {
        let token = self.cursor.peek();
        if token.kind != Kind::Word {
            return self.cursor.unexpected("an operation");
        }
        self.cursor.next();
        let (word, span) = (self.cursor.slice(token), self.cursor.span(token));
        let (op, tail) = match cut(word) {
            Some(found) => found,
            None => return self.no_operation(word, span),
        };
        let mut head = Head { op, ty: None, dim: None, span };
        match (op.row().suffix, tail) {
            (Suffix::None, None) => {}
            (Suffix::None, Some(tail)) => {
                let message = format!("`{}` has no form `.{tail}`", op.name());
                return self.cursor.fail(Code::IrUntyped, span, message, &format!("write `{}`", op.name()));
            }
            (Suffix::Dim, _) => match Dim::ALL.into_iter().find(|d| Some(d.name()) == tail) {
                Some(dim) => head.dim = Some(dim),
                None => {
                    let message = format!("`{}` is asked for one dimension", op.name());
                    let hint = format!("write `{0}.x`, `{0}.y` or `{0}.z`", op.name());
                    return self.cursor.fail(Code::IrUntyped, span, message, &hint);
                }
            },
            (
                Suffix::Scalar(_)
                | Suffix::Lanes(_)
                | Suffix::Aggregate(_)
                | Suffix::Coop
                | Suffix::Tile(_)
                | Suffix::Block(_)
                | Suffix::Any,
                Some(tail),
            ) => {
                head.ty = Some(self.cursor.ty_named(tail, span)?);
                head.span = self.cursor.span_since(token);
            }
            // It follows from the operands.
            (
                Suffix::Scalar(_)
                | Suffix::Lanes(_)
                | Suffix::Aggregate(_)
                | Suffix::Coop
                | Suffix::Tile(_)
                | Suffix::Block(_)
                | Suffix::Any,
                None,
            ) => {}
        }
        Ok(head)
    }

    fn no_operation<T>(&mut self, word: &str, span: Span) -> Parse<T> {
        if matches!(word, "shared" | "private") {
            let hint = "move it before the first statement of the outermost body";
            return self.cursor.fail(
                Code::IrSyntax,
                span,
                format!("`{word}` memory is declared at the top of a function"),
                hint,
            );
        }
        // Without the type, so that `ad.f32` is near `add`.
        let name = word.rsplit_once('.').filter(|(_, tail)| simple_type(tail).is_some()).map_or(word, |(name, _)| name);
        let message = format!("there is no operation `{name}`");
        self.cursor.unknown(Code::IrUnknown, span, message, name, Op::ALL.iter().map(|op| op.name()), "")
    }

    /// Operands and attributes of an operation whose name has been taken.
    fn by_table(&mut self, head: Head) -> Parse<Done> {
        let Head { op, dim, .. } = head;
        let operands = self.operands()?;
        let mut attrs = self.cursor.attributes(op)?;
        let span = head.span.to(self.cursor.span_before());
        self.check_operands(op, &operands, span)?;
        let ty = self.suffix_of(head, &operands)?;
        let values = self.values(op, ty, &operands)?;
        attrs.extend(dim.map(Attr::Dim));
        let offsets = [Attr::Offset as fn(i32) -> Attr, Attr::SourceOffset];
        attrs.extend(offsets.iter().zip(&operands.offsets).filter(|(_, n)| **n != 0).map(|(attr, n)| attr(*n)));
        let results = match op.row().results {
            // What it waits for comes back as it was.
            [Pattern::Rest] => values.iter().map(|v| self.builder.ty(*v)).collect(),
            _ => self.builder.result_types(op, ty, &values),
        };
        let mut inst = Inst::new(op, ty, &values, span);
        attrs.into_iter().for_each(|attr| inst.set(attr));
        Ok(Done { op, results: self.push(inst, &results), span })
    }

    /// Holds the operands to the number and the shape that the table says.
    fn check_operands(&mut self, op: Op, operands: &Operands<'a>, span: Span) -> Parse<()> {
        let patterns = op.row().operands;
        let items = &operands.items;
        for (i, operand) in items.iter().enumerate() {
            let memory = matches!(pattern(op, i), Some(Pattern::Memory(_)));
            if memory && !operand.access {
                let message = format!("`{}` takes an access here", op.name());
                return self.cursor.fail(Code::IrArity, operand.span, message, "write the index: `%memory[%index]`");
            }
            if !memory && operand.access {
                let message = format!("`{}` takes a value here, not an access", op.name());
                return self.cursor.fail(
                    Code::IrArity,
                    operand.span,
                    message,
                    "read it first: `(load.f32 %memory[%index])`",
                );
            }
        }
        let open = patterns.last().is_some_and(|p| repeats(*p));
        let least = patterns.len() - usize::from(open);
        if items.len() < least || (items.len() > least && !open) {
            // As they are written: an access is one.
            let accesses = op.accesses();
            let (takes, has) = (least - accesses.min(least), items.len() - operands.offsets.len());
            let or_more = if open { " or more" } else { "" };
            let message = format!("`{}` takes {}{or_more}, not {has}", op.name(), counted(takes, "operand"));
            return self.cursor.fail(Code::IrArity, span, message, "");
        }
        Ok(())
    }

    /// The suffix: as written, or else as the operands say.
    fn suffix_of(&mut self, head: Head, operands: &Operands<'a>) -> Parse<Option<Type>> {
        let Head { op, ty, span, .. } = head;
        if ty.is_some() || matches!(op.row().suffix, Suffix::None | Suffix::Dim) {
            return Ok(ty);
        }
        let from = |(i, operand)| match pattern(op, i)? {
            Pattern::T => self.known(operand),
            Pattern::Aggregate => self.known(operand).and_then(Type::element).map(Type::Scalar),
            Pattern::Element
            | Pattern::Bool
            | Pattern::U32
            | Pattern::Ballot
            | Pattern::Mask
            | Pattern::Index
            | Pattern::Memory(_)
            | Pattern::Source
            | Pattern::First
            | Pattern::Fragment
            | Pattern::Token
            | Pattern::Term
            | Pattern::Rest
            | Pattern::Parts
            | Pattern::Block
            | Pattern::AnyBlock
            | Pattern::Indices
            | Pattern::Inside
            | Pattern::Filler => None,
        };
        if let Some(ty) = operands.items.iter().enumerate().find_map(from) {
            return Ok(Some(ty));
        }
        if operands.items.iter().any(|o| matches!(o.what, What::Value(v) if self.is_poison(v))) {
            return Err(self.cursor.reported());
        }
        let message = format!("nothing determines the type of `{}`", op.name());
        let example = match op.row().suffix {
            Suffix::Aggregate(_) => "f32x4",
            Suffix::Tile(_) | Suffix::Block(_) => "tile<128xf32>",
            Suffix::None | Suffix::Dim | Suffix::Scalar(_) | Suffix::Lanes(_) | Suffix::Coop | Suffix::Any => "f32",
        };
        self.cursor.fail(Code::IrUntyped, span, message, &format!("write the type after it: `{}.{example}`", op.name()))
    }

    fn values(&mut self, op: Op, ty: Option<Type>, operands: &Operands<'a>) -> Parse<Vec<ValueId>> {
        let mut values = Vec::with_capacity(operands.items.len());
        for (i, operand) in operands.items.iter().enumerate() {
            let expected = pattern(op, i).and_then(|p| literal_type(p, ty));
            values.push(self.typed(*operand, expected)?);
        }
        Ok(values)
    }

    /// The values of operands at places of these types. `what` takes them; if not `exact`, there may be more or fewer.
    pub fn typed_all(
        &mut self,
        what: (&str, Span),
        operands: &Operands<'a>,
        types: &[Type],
        exact: bool,
    ) -> Parse<Vec<ValueId>> {
        let (what, span) = what;
        if let Some(access) = operands.items.iter().find(|o| o.access) {
            let message = format!("`{what}` takes values, not accesses");
            let hint = "read it first: `(load.f32 %memory[%index])`";
            return self.cursor.fail(Code::IrArity, access.span, message, hint);
        }
        if exact && operands.items.len() != types.len() {
            let message =
                format!("`{what}` takes {} here, not {}", counted(types.len(), "value"), operands.items.len());
            let span = operands.items.iter().fold(span, |span, o| span.to(o.span));
            return self.cursor.fail(Code::IrArity, span, message, "");
        }
        let mut values = Vec::with_capacity(operands.items.len());
        for (i, operand) in operands.items.iter().enumerate() {
            values.push(self.typed(*operand, types.get(i).copied())?);
        }
        Ok(values)
    }
}

/// The operation that a word starts with, and what follows behind a dot.
fn cut(word: &str) -> Option<(Op, Option<&str>)> {
    if let Some(op) = Op::from_name(word) {
        return Some((op, None));
    }
    let (name, tail) = word.rsplit_once('.')?;
    Op::from_name(name).map(|op| (op, Some(tail)))
}
