//! Attributes behind the operands.

use super::cursor::{Cursor, Parse};
use crate::attrs::{Attr, AttrKind, SharedMatrix, Spaces};
use crate::ops::Op;
use crate::text::lexer::Kind;
use crate::text::words::{
    CACHES, EVICTIONS, LAYOUTS, ORDERS, PRECISIONS, SCOPES, UPDATES, is_written_behind, unquoted,
};
use girih_base::diag::Code;
use girih_base::name::Name;

impl Cursor<'_> {
    /// Takes the attributes that come next on the line.
    pub fn attributes(&mut self, op: Op) -> Parse<Vec<Attr>> {
        let mut attrs: Vec<Attr> = vec![];
        while self.on_line() && self.peek().kind == Kind::Word {
            let (name, span) = self.word("")?;
            let written = || op.row().attrs.iter().copied().filter(|k| is_written_behind(*k));
            let Some(kind) = written().find(|k| k.name() == name) else {
                let message = format!("`{}` has no attribute `{name}`", op.name());
                return self.unknown(Code::IrUnknown, span, message, name, written().map(AttrKind::name), "");
            };
            if attrs.iter().any(|a| a.kind() == kind) {
                return self.fail(Code::IrRedefinition, span, format!("the attribute `{name}` appears twice"), "");
            }
            let attr = self.attribute(kind)?;
            attrs.push(attr);
        }
        Ok(attrs)
    }

    /// What stands behind the attribute's name.
    fn attribute(&mut self, kind: AttrKind) -> Parse<Attr> {
        match kind {
            AttrKind::NoWrap => Ok(Attr::NoWrap),
            AttrKind::Volatile => Ok(Attr::Volatile),
            AttrKind::Unroll => Ok(Attr::Unroll),
            AttrKind::Total => Ok(Attr::Total),
            AttrKind::Flat => Ok(Attr::Flat),
            AttrKind::Order => self.enclosed(kind, |c| c.one_of(ORDERS, "an order")).map(Attr::Order),
            AttrKind::Scope => self.enclosed(kind, |c| c.one_of(SCOPES, "a scope")).map(Attr::Scope),
            AttrKind::Cache => self.enclosed(kind, |c| c.one_of(CACHES, "a caching hint")).map(Attr::Cache),
            AttrKind::Layout => self.enclosed(kind, |c| c.one_of(LAYOUTS, "a layout")).map(Attr::Layout),
            AttrKind::Spaces => self.enclosed(kind, Cursor::spaces).map(Attr::Spaces),
            AttrKind::Pending => self.enclosed(kind, |c| c.count("a number")).map(Attr::Pending),
            AttrKind::Code => self.enclosed(kind, |c| c.count("a number")).map(Attr::Code),
            AttrKind::Field => self.enclosed(kind, |c| c.count("a number")).map(Attr::Field),
            AttrKind::Shape => self.enclosed(kind, Cursor::shape).map(Attr::Shape),
            AttrKind::MatrixA => self.enclosed(kind, |c| c.shared_matrix("m")).map(Attr::MatrixA),
            AttrKind::MatrixB => self.enclosed(kind, |c| c.shared_matrix("n")).map(Attr::MatrixB),
            AttrKind::Reverse => Ok(Attr::Reverse),
            AttrKind::Axis => self.enclosed(kind, |c| c.count("a dimension")).map(Attr::Axis),
            AttrKind::Update => self.enclosed(kind, |c| c.one_of(UPDATES, "an update")).map(Attr::Update),
            AttrKind::Precision => self.enclosed(kind, |c| c.one_of(PRECISIONS, "a precision")).map(Attr::Precision),
            AttrKind::Eviction => self.enclosed(kind, |c| c.one_of(EVICTIONS, "an eviction")).map(Attr::Eviction),
            AttrKind::Axes => self.enclosed(kind, Cursor::numbers).map(Attr::Axes),
            AttrKind::Multiple => self.enclosed(kind, Cursor::numbers).map(Attr::Multiple),
            AttrKind::Contiguous => self.enclosed(kind, Cursor::numbers).map(Attr::Contiguous),
            AttrKind::Constancy => self.enclosed(kind, Cursor::numbers).map(Attr::Constancy),
            AttrKind::Text => self.enclosed(kind, Cursor::said).map(Attr::Text),
            AttrKind::Dim
            | AttrKind::Callee
            | AttrKind::Cases
            | AttrKind::Offset
            | AttrKind::SourceOffset
            | AttrKind::Cell
            | AttrKind::Global => {
                let message = format!("`{}` is not written behind the operands", kind.name());
                let span = self.span(self.peek());
                self.fail(Code::IrSyntax, span, message, "")
            }
        }
    }

    /// `( .. )` around what an attribute says.
    fn enclosed<T>(&mut self, kind: AttrKind, inside: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.expect(b'(', &format!("after `{}`", kind.name()))?;
        let value = inside(self)?;
        self.expect(b')', "to close the attribute")?;
        Ok(value)
    }

    fn numbers(&mut self) -> Parse<Vec<u32>> {
        self.list(|c| c.count("a number for each dimension"))
    }

    /// A text, written like a name: `@"x is"`.
    fn said(&mut self) -> Parse<Name> {
        let (name, _) = self.name(Kind::Function, "a text such as `@\"x is\"`")?;
        Ok(Name::from(&*unquoted(name)))
    }

    fn spaces(&mut self) -> Parse<Spaces> {
        if self.at_sign(b')') {
            return Ok(Spaces { global: false, shared: false });
        }
        let words = [("global", true), ("shared", false)];
        let named = self.list(|c| c.one_of(&words, "a space that a barrier orders"))?;
        Ok(Spaces { global: named.contains(&true), shared: named.contains(&false) })
    }

    /// `k, swizzle 128, leading 16, stride 1024`; `other` is the dimension besides the depth.
    fn shared_matrix(&mut self, other: &'static str) -> Parse<SharedMatrix> {
        let k_major = self.one_of(&[("k", true), (other, false)], "a dimension of the matrix")?;
        let mut matrix = SharedMatrix { k_major, swizzle: 0, leading: 0, stride: 0 };
        while self.eat(b',') {
            let fields = [("swizzle", 0), ("leading", 1), ("stride", 2)];
            let field = self.one_of(&fields, "what describes a matrix in shared memory")?;
            let (n, span) = self.count64("a number of bytes")?;
            match (field, u32::try_from(n)) {
                (0, Ok(n)) if n <= 128 => matrix.swizzle = n as u16,
                (1, Ok(n)) => matrix.leading = n,
                (2, Ok(n)) => matrix.stride = n,
                _ => return self.fail(Code::IrLiteral, span, format!("`{n}` is too large here"), ""),
            }
        }
        Ok(matrix)
    }
}
