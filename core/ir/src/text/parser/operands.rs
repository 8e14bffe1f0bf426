//! Operands: values, literals, accesses, instructions in parentheses.

use super::body::Body;
use super::cursor::{Cursor, Parse, counted};
use crate::function::ValueId;
use crate::text::lexer::Kind;
use crate::text::literal::{self, Literal};
use crate::types::{Scalar, Type};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;
use smallvec::SmallVec;

/// An operand. A literal becomes a value once its type is known.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A value.
    Value(ValueId),
    /// A literal.
    Literal(Literal<'a>),
}

/// An operand and its place.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// What it is.
    pub what: What<'a>,
    /// Where it stands.
    pub span: Span,
    /// Whether it is the memory of an access, so that an index follows.
    pub access: bool,
}

/// Operands as the instruction has them: an access is two.
#[derive(Debug, Default)]
pub struct Operands<'a> {
    /// In order.
    pub items: SmallVec<[Operand<'a>; 4]>,
    /// The constant part of each access's index.
    pub offsets: SmallVec<[i32; 2]>,
}

impl<'a> Cursor<'a> {
    /// Whether a literal comes next.
    fn at_literal(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::Number | Kind::Sign(b'-') => true,
            Kind::Word => matches!(self.slice(token), "inf" | "nan" | "true" | "false" | "bits"),
            _ => false,
        }
    }

    /// Takes a literal.
    pub fn literal(&mut self) -> Parse<Literal<'a>> {
        let start = self.peek();
        let negative = self.eat(b'-');
        let token = self.peek();
        let body = match (token.kind, self.slice(token)) {
            (Kind::Number, text) => literal::Body::Number(text),
            (Kind::Word, "inf") => literal::Body::Inf,
            (Kind::Word, "nan") => literal::Body::Nan,
            (Kind::Word, "true") => literal::Body::Bool(true),
            (Kind::Word, "false") => literal::Body::Bool(false),
            (Kind::Word, "bits") => return self.bits(start, negative),
            _ => return self.unexpected("a literal"),
        };
        self.next();
        Ok(Literal { negative, body, span: self.span_since(start) })
    }

    fn bits(&mut self, start: crate::text::lexer::Token, negative: bool) -> Parse<Literal<'a>> {
        self.next();
        self.expect(b'(', "after `bits`")?;
        let (bits, _) = self.count64("a number such as `0x7fc00001`")?;
        self.expect(b')', "after the number")?;
        Ok(Literal { negative, body: literal::Body::Bits(bits), span: self.span_since(start) })
    }

    /// Takes a literal of a type and gives its bits.
    pub fn literal_of(&mut self, ty: Scalar) -> Parse<u64> {
        let literal = self.literal()?;
        self.fit(literal, ty)
    }

    /// The bits of a literal in a type.
    pub fn fit(&mut self, literal: Literal<'a>, ty: Scalar) -> Parse<u64> {
        literal.bits(ty).or_else(|m| self.fail(Code::IrLiteral, literal.span, m.message, &m.hint.unwrap_or_default()))
    }
}

impl<'a> Body<'_, 'a> {
    /// Whether an operand comes next, on the same line.
    fn at_operand(&self) -> bool {
        let starts = matches!(self.cursor.peek().kind, Kind::Value | Kind::Sign(b'('));
        self.cursor.on_line() && (starts || self.cursor.at_literal())
    }

    /// Takes all operands that come next, perhaps none.
    pub fn operands(&mut self) -> Parse<Operands<'a>> {
        let mut out = Operands::default();
        if !self.at_operand() {
            // An attribute may be called like a value; one with a bracket behind it is one.
            let is_attribute = self.cursor.peek_at(1).kind == Kind::Sign(b'(');
            let is_bare = self.cursor.on_line() && self.at_bare_name() && !is_attribute;
            return if is_bare { self.no_operand() } else { Ok(out) };
        }
        self.operand_or_access(&mut out)?;
        while self.cursor.eat(b',') {
            self.operand_or_access(&mut out)?;
        }
        Ok(out)
    }

    fn operand_or_access(&mut self, out: &mut Operands<'a>) -> Parse<()> {
        let start = self.cursor.peek();
        let mut operand = self.operand()?;
        operand.access = matches!(operand.what, What::Value(_)) && self.cursor.on_line() && self.cursor.eat(b'[');
        let access = operand.access;
        out.items.push(operand);
        if access {
            let first = self.cursor.peek();
            let index = self.operand()?;
            out.items.push(index);
            self.no_arithmetic(if first.kind == Kind::Value { self.cursor.slice(first) } else { ".." })?;
            out.offsets.push(self.offset()?);
            self.cursor.expect(b']', "after the index")?;
            // Who points at the memory points at the whole access.
            let position = out.items.len() - 2;
            out.items[position].span = self.cursor.span_since(start);
        }
        Ok(())
    }

    /// Says that something else stands where an operand has to.
    fn no_operand<T>(&mut self) -> Parse<T> {
        let error = self.cursor.instead_of("an operand");
        let error = self.with_sign(error);
        Err(self.cursor.report(error))
    }

    /// Refuses arithmetic behind an index, but for what [`Body::offset`] takes.
    fn no_arithmetic(&mut self, index: &str) -> Parse<()> {
        let (sign, other) = (self.cursor.peek(), self.cursor.peek_at(1));
        let is_value = matches!(other.kind, Kind::Value | Kind::Sign(b'('));
        let name = match self.cursor.slice(sign) {
            "*" => "mul",
            "+" if is_value => "add",
            "-" if is_value => "sub",
            _ => return Ok(()),
        };
        let other = if other.kind == Kind::Sign(b'(') { ".." } else { self.cursor.slice(other) };
        let message = "an index is a value, perhaps with a number that is added to it";
        let span = self.cursor.span(sign);
        self.cursor.fail(Code::IrSyntax, span, message, &format!("write `({name} {index}, {other})`"))
    }

    /// `+ 4`, `- 1` or nothing.
    fn offset(&mut self) -> Parse<i32> {
        let negative = self.cursor.at_sign(b'-');
        if !negative && !self.cursor.at_sign(b'+') {
            return Ok(0);
        }
        self.cursor.next();
        let (n, span) = self.cursor.count64("the number of elements that is added to the index")?;
        let n = i64::try_from(n).ok().map(|n| if negative { -n } else { n });
        match n.and_then(|n| i32::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => self.cursor.fail(Code::IrLiteral, span, "the constant part of an index fits `i32`", ""),
        }
    }

    /// Takes one operand that is no access.
    pub fn operand(&mut self) -> Parse<Operand<'a>> {
        let start = self.cursor.peek();
        let what = match start.kind {
            Kind::Value => What::Value(self.value()?),
            Kind::Sign(b'(') => What::Value(self.parenthesis()?),
            _ if self.cursor.at_literal() => What::Literal(self.cursor.literal()?),
            _ => return self.no_operand(),
        };
        Ok(Operand { what, span: self.cursor.span_since(start), access: false })
    }

    /// Takes the name of a value that is visible. One that is not is said to be so, and nothing is known about it.
    fn value(&mut self) -> Parse<ValueId> {
        let (name, span) = self.cursor.name(Kind::Value, "a value")?;
        if let Some(value) = self.names.find(name) {
            return Ok(value);
        }
        let message = format!("there is no value `%{name}` here");
        if let Some(place) = self.names.was(name) {
            let diagnostic = Diagnostic::new(Code::IrName, span, message).label(place, "visible in its region only");
            let hint = "give the value to what follows by `yield`, `break` or `continue`";
            self.cursor.report(diagnostic.hint(hint));
            return Ok(self.poison());
        }
        let _ = self.cursor.unknown::<()>(Code::IrName, span, message, name, self.names.visible(), "%");
        Ok(self.poison())
    }

    fn parenthesis(&mut self) -> Parse<ValueId> {
        self.cursor.deeper()?;
        self.cursor.next();
        let value = self.nested();
        self.cursor.shallower();
        let value = value?;
        self.cursor.expect(b')', "after the inner instruction")?;
        Ok(value)
    }

    fn nested(&mut self) -> Parse<ValueId> {
        if let Some(value) = self.constant_word()? {
            return Ok(value);
        }
        let done = self.inner_instruction()?;
        match done.results[..] {
            [value] => Ok(value),
            _ => {
                let gives = counted(done.results.len(), "result");
                let message = format!("`{}` gives {gives}, an operand is one", done.op.name());
                self.cursor.fail(Code::IrArity, done.span, message, "write it as a statement of its own")
            }
        }
    }

    /// Takes `const.f32 1.0` if that comes next.
    pub fn constant_word(&mut self) -> Parse<Option<ValueId>> {
        let token = self.cursor.peek();
        let Some(ty) = self.cursor.slice(token).strip_prefix("const").filter(|_| token.kind == Kind::Word) else {
            return Ok(None);
        };
        let span = self.cursor.span(token);
        let Some(ty) = ty.strip_prefix('.').and_then(Scalar::from_name) else {
            let hint = "write the scalar type after it: `const.f32 1.0`";
            return self.cursor.fail(Code::IrUnknown, span, "a constant has a scalar type", hint);
        };
        self.cursor.next();
        let bits = self.cursor.literal_of(ty)?;
        Ok(Some(self.builder.constant(ty, bits)))
    }

    /// The value of an operand at a place where a literal has this type.
    pub fn typed(&mut self, operand: Operand<'a>, ty: Option<Type>) -> Parse<ValueId> {
        let literal = match operand.what {
            What::Value(value) => return Ok(value),
            What::Literal(literal) => literal,
        };
        match ty {
            Some(Type::Scalar(ty)) => {
                let bits = self.cursor.fit(literal, ty)?;
                Ok(self.builder.constant(ty, bits))
            }
            Some(ty @ (Type::Vector(..) | Type::Regs(..))) => {
                let message = format!("a literal is one number, and `{ty}` is needed here");
                let hint = format!("write `(splat.{ty} ..)`");
                self.cursor.fail(Code::IrLiteral, operand.span, message, &hint)
            }
            Some(ty @ Type::Tile(_)) => {
                let message = format!("a literal is one number, and `{ty}` is needed here");
                let hint = format!("write `(tile.splat.{ty} ..)`");
                self.cursor.fail(Code::IrLiteral, operand.span, message, &hint)
            }
            Some(ty) => {
                let message = format!("a literal cannot be of type `{ty}`");
                self.cursor.fail(Code::IrLiteral, operand.span, message, "")
            }
            None => {
                let hint = "say its type: `(const.f32 1.0)`";
                let error =
                    Diagnostic::new(Code::IrLiteral, operand.span, "nothing determines the type of this literal");
                Err(self.cursor.report(error.hint(hint)))
            }
        }
    }

    /// The type of an operand, if it is a value about which something is known.
    pub fn known(&self, operand: &Operand<'_>) -> Option<Type> {
        match operand.what {
            What::Value(value) if !self.is_poison(value) => Some(self.builder.ty(value)),
            What::Value(_) | What::Literal(_) => None,
        }
    }
}
