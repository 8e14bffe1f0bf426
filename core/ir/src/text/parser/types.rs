//! Types and the suffixes of operations.

use super::cursor::{Cursor, Parse};
use crate::text::lexer::Kind;
use crate::text::words::{self, simple_type};
use crate::types::{MOST_REGS, MatrixShape, Scalar, Shape, Type};
use girih_base::diag::Code;
use girih_base::span::Span;

impl<'a> Cursor<'a> {
    /// Takes a type.
    pub fn ty(&mut self) -> Parse<Type> {
        let (name, span) = self.word("a type")?;
        self.ty_named(name, span)
    }

    /// The type whose name has been taken, with what follows in `<..>`.
    pub fn ty_named(&mut self, name: &str, span: Span) -> Parse<Type> {
        match name {
            "regs" if self.at_sign(b'<') => self.regs(),
            "coop" if self.at_sign(b'<') => self.coop(),
            "tile" if self.at_sign(b'<') => self.tile(),
            _ => match simple_type(name) {
                Some(ty) => Ok(ty),
                None => self.no_type(name, span),
            },
        }
    }

    fn no_type<T>(&mut self, name: &str, span: Span) -> Parse<T> {
        let vector = name.rsplit_once('x').is_some_and(|(element, lanes)| {
            Scalar::from_name(element).is_some() && lanes.bytes().all(|b| b.is_ascii_digit())
        });
        let message = format!("there is no type `{name}`");
        if vector {
            let hint = "a short vector has 2, 4, 8 or 16 numbers, 16 bytes at most";
            return self.fail(Code::IrUnknown, span, message, hint);
        }
        let others = ["buffer", "shared", "private", "token", "term", "regs", "coop", "tile"];
        let known = Scalar::ALL.iter().map(|s| s.name()).chain(others);
        self.unknown(Code::IrUnknown, span, message, name, known, "")
    }

    /// `<f32, 8>`.
    fn regs(&mut self) -> Parse<Type> {
        self.expect(b'<', "after `regs`")?;
        let element = self.scalar()?;
        self.expect(b',', "after the element's type")?;
        let token = self.peek();
        let count = self.count("how many registers")?;
        self.expect(b'>', "after the number of registers")?;
        match u16::try_from(count) {
            Ok(count) if (1..=MOST_REGS).contains(&count) => Ok(Type::Regs(element, count)),
            _ => {
                let span = self.span(token);
                self.fail(Code::IrLiteral, span, format!("`regs` holds 1 to {MOST_REGS} values"), "")
            }
        }
    }

    /// `<acc, 16x16x16, f32>`.
    fn coop(&mut self) -> Parse<Type> {
        self.expect(b'<', "after `coop`")?;
        let usage = self.one_of(words::USES, "what a fragment is for")?;
        self.expect(b',', "after the fragment's use")?;
        let shape = self.shape()?;
        self.expect(b',', "after the shape")?;
        let element = self.scalar()?;
        self.expect(b'>', "after the element's type")?;
        Ok(Type::Coop(usage, shape, element))
    }

    /// `<128x64xf32>`.
    fn tile(&mut self) -> Parse<Type> {
        self.expect(b'<', "after `tile`")?;
        let token = self.peek();
        let span = self.span(token);
        if token.kind != Kind::Number {
            return self.unexpected("a shape and an element such as `128x64xf32`");
        }
        self.next();
        let (shape, element) = self.slice(token).rsplit_once('x').unwrap_or(("", self.slice(token)));
        let Some(element) = Scalar::from_name(element) else {
            return self.fail(
                Code::IrUnknown,
                span,
                format!("`{element}` is not an element of a tile"),
                "write `tile<128xf32>`",
            );
        };
        let lengths: Option<Vec<u64>> = shape.split('x').map(|s| s.parse().ok()).collect();
        self.expect(b'>', "after the element's type")?;
        match lengths.and_then(|lengths| Shape::of(&lengths)) {
            Some(shape) => Ok(Type::tile(shape, element)),
            None => {
                let hint = "1 to 8 lengths that are powers of two, of 1048576 elements at most";
                self.fail(Code::IrLiteral, span, format!("`{shape}` is not a valid shape of a tile"), hint)
            }
        }
    }

    /// `64x256x16`.
    pub fn shape(&mut self) -> Parse<MatrixShape> {
        let token = self.peek();
        if token.kind != Kind::Number {
            return self.unexpected("a shape such as `16x16x16`");
        }
        self.next();
        let text = self.slice(token);
        let sides: Option<Vec<u16>> = text.split('x').map(|s| s.parse().ok()).collect();
        match sides.as_deref() {
            Some(&[m, n, k]) => Ok(MatrixShape { m, n, k }),
            _ => {
                let (span, message) = (self.span(token), format!("`{text}` is not a shape"));
                self.fail(Code::IrLiteral, span, message, "rows, columns and depth: `16x16x16`")
            }
        }
    }

    /// A scalar type.
    pub fn scalar(&mut self) -> Parse<Scalar> {
        let token = self.peek();
        match self.ty()? {
            Type::Scalar(scalar) => Ok(scalar),
            ty => {
                let span = self.span_since(token);
                self.fail(Code::IrUnknown, span, format!("`{ty}` is not a scalar type"), "")
            }
        }
    }
}
