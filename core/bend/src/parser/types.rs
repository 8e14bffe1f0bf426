//! Type expressions of both syntaxes: `List(T)` in one is `(List T)` in the other, the rest is the same.

use super::{Parsed, Parser, Separator};
use crate::ast::{Node, TypeExpr, TypeKind};
use girih_base::num::NumKind;

impl Parser<'_, '_> {
    /// A type as it is written in imperative definitions.
    pub(super) fn imp_type(&mut self) -> Parsed<TypeExpr> {
        self.arrow_type(Parser::imp_type_atom)
    }

    /// A type as it is written in functional definitions.
    pub(super) fn fun_type(&mut self) -> Parsed<TypeExpr> {
        self.arrow_type(Parser::fun_type_atom)
    }

    /// An atom, and behind an arrow a whole type: arrows associate to the right.
    fn arrow_type(&mut self, atom: fn(&mut Self) -> Parsed<TypeExpr>) -> Parsed<TypeExpr> {
        self.nested(|p| {
            let left = atom(p)?;
            if !p.eat("->") {
                return Ok(left);
            }
            let right = p.arrow_type(atom)?;
            let span = left.span.to(right.span);
            Ok(Node::new(TypeKind::Arrow(Box::new(left), Box::new(right)), span))
        })
    }

    fn imp_type_atom(&mut self) -> Parsed<TypeExpr> {
        self.skip();
        if self.cursor.starts_with("(") {
            return self.tuple_type(Parser::imp_type);
        }
        let name = self.type_name()?;
        self.skip();
        if self.cursor.starts_with("[") || self.cursor.starts_with("<") {
            let hint = "what a type is applied to stands in parentheses, as in `List(u24)`";
            return Err(self.expected_with_hint("`(`", hint));
        }
        match name.node {
            TypeKind::Name(constructor) if self.cursor.starts_with("(") => {
                let constructor = Node::new(constructor, name.span);
                let arguments = self.bracketed("(", ")", |p| p.elements(Separator::Comma, Parser::imp_type))?;
                let span = self.cursor.span_from(name.span.start as usize);
                Ok(Node::new(TypeKind::Apply(constructor, arguments), span))
            }
            _ => Ok(name),
        }
    }

    fn fun_type_atom(&mut self) -> Parsed<TypeExpr> {
        self.skip();
        if self.cursor.starts_with("(") { self.fun_type_in_parentheses() } else { self.type_name() }
    }

    /// `(a, b)`, `(T a b)` or `(a)`.
    fn fun_type_in_parentheses(&mut self) -> Parsed<TypeExpr> {
        let start = self.cursor.at();
        let kind = self.bracketed("(", ")", |p| {
            let head = p.fun_type()?;
            p.skip();
            if p.closes() {
                return Ok(head.node);
            }
            if p.cursor.starts_with(",") {
                return p.rest_of_tuple_type(head, Parser::fun_type);
            }
            match head.node {
                TypeKind::Name(constructor) => {
                    let arguments = p.elements(Separator::None, Parser::fun_type)?;
                    Ok(TypeKind::Apply(Node::new(constructor, head.span), arguments))
                }
                _ => Err(p.unclosed("`->`, `,`")),
            }
        })?;
        Ok(Node::new(kind, self.cursor.span_from(start)))
    }

    /// `(a, b)` or `(a)`.
    fn tuple_type(&mut self, element: fn(&mut Self) -> Parsed<TypeExpr>) -> Parsed<TypeExpr> {
        let start = self.cursor.at();
        let kind = self.bracketed("(", ")", |p| {
            let head = element(p)?;
            if p.closes() { Ok(head.node) } else { p.rest_of_tuple_type(head, element) }
        })?;
        Ok(Node::new(kind, self.cursor.span_from(start)))
    }

    fn rest_of_tuple_type(&mut self, head: TypeExpr, element: fn(&mut Self) -> Parsed<TypeExpr>) -> Parsed<TypeKind> {
        if !self.eat(",") {
            return Err(self.unclosed("`->`, `,`"));
        }
        let mut types = vec![head, element(self)?];
        self.separate(Separator::Comma)?;
        types.extend(self.elements(Separator::Comma, element)?);
        Ok(TypeKind::Tuple(types))
    }

    /// A type that is one word.
    fn type_name(&mut self) -> Parsed<TypeExpr> {
        self.skip();
        if self.cursor.starts_with("[") {
            return Err(self.expected_with_hint("a type", "the type of a list is `List(T)`, as in `List(u24)`"));
        }
        let name = self.name("a type")?;
        let kind = match name.node.as_str() {
            "Any" => TypeKind::Any,
            "None" => TypeKind::None,
            "_" => TypeKind::Hole,
            word => match NumKind::find(word) {
                Some(kind) => TypeKind::Number(kind),
                None => TypeKind::Name(name.node.clone()),
            },
        };
        Ok(Node::new(kind, name.span))
    }
}
