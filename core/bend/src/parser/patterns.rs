//! Patterns. The functional syntax has them in rules, and simple ones (without constructors and literals) behind `λ`,
//! `let` and `ask`; the imperative syntax has simple ones with commas of its own on the left of an assignment.

use super::{Parsed, Parser, Separator};
use crate::ast::{Node, Pattern, PatternKind};
use girih_base::diag::Code;
use girih_base::lexer::is_name_char;

impl Parser<'_, '_> {
    /// A pattern of a rule.
    pub(super) fn rule_pattern(&mut self) -> Parsed<Pattern> {
        self.fun_pattern(false, "a pattern or `=`")
    }

    /// A pattern behind `λ`, `let` or `ask`.
    pub(super) fn simple_pattern(&mut self) -> Parsed<Pattern> {
        self.fun_pattern(true, "a variable, `*`, `$`, a tuple or a superposition")
    }

    fn fun_pattern(&mut self, simple: bool, what: &str) -> Parsed<Pattern> {
        self.skip();
        let start = self.cursor.at();
        let first = self.cursor.peek();
        if simple && first.is_some_and(|c| c == '[' || c == '"' || c == '\'' || c.is_ascii_digit()) {
            return Err(
                self.expected_with_hint(what, "literals are matched by `match`, `switch` or the rules of a definition")
            );
        }
        let kind = match first {
            Some('(') => self.nested(|p| p.tuple_or_constructor(simple))?,
            Some('{') => {
                let element = |p: &mut Self| p.fun_pattern(simple, "a pattern");
                let parts =
                    self.nested(|p| p.bracketed("{", "}", |p| p.elements(Separator::OptionalComma, element)))?;
                self.superposition_pattern(parts, start)?
            }
            Some('[') => {
                let element = |p: &mut Self| p.fun_pattern(simple, "a pattern");
                let parts =
                    self.nested(|p| p.bracketed("[", "]", |p| p.elements(Separator::OptionalComma, element)))?;
                PatternKind::List(parts)
            }
            Some('"') => PatternKind::Str(self.string_literal()?),
            Some('\'') => PatternKind::Char(self.char_literal()?),
            Some(c) if c.is_ascii_digit() => PatternKind::Num(self.natural()?),
            Some('$') => self.link_pattern()?,
            Some('*') => self.wildcard_pattern(),
            Some(c) if is_name_char(c) => PatternKind::Var(self.variable("a pattern")?.node),
            _ => return Err(self.expected(what)),
        };
        Ok(Node::new(kind, self.cursor.span_from(start)))
    }

    /// `(a, b)`, or `(C a b)` if literals are allowed too.
    fn tuple_or_constructor(&mut self, simple: bool) -> Parsed<PatternKind> {
        let element = |p: &mut Self| p.fun_pattern(simple, "a pattern");
        self.bracketed("(", ")", |p| {
            let head = element(p)?;
            if p.eat(",") {
                let mut parts = vec![head, element(p)?];
                p.separate(Separator::Comma)?;
                parts.extend(p.elements(Separator::Comma, element)?);
                return Ok(PatternKind::Tuple(parts));
            }
            match head.node {
                PatternKind::Var(name) if !simple => {
                    let parts = p.elements(Separator::None, element)?;
                    Ok(PatternKind::Ctor(Node::new(name, head.span), parts))
                }
                _ if simple => {
                    Err(p
                        .expected_with_hint("`,`", "match constructors with `match` or with the rules of a definition"))
                }
                _ => Err(p.expected("`,`")),
            }
        })
    }

    fn superposition_pattern(&mut self, parts: Vec<Pattern>, start: usize) -> Parsed<PatternKind> {
        if parts.len() >= 2 {
            return Ok(PatternKind::Sup(parts));
        }
        let span = self.cursor.span_from(start);
        Err(self.error(Code::UnexpectedText, span, "expected two or more patterns in a superposition"))
    }

    fn link_pattern(&mut self) -> Parsed<PatternKind> {
        self.cursor.advance("$".len());
        Ok(PatternKind::Link(self.name("the name of a scopeless variable")?.node))
    }

    fn wildcard_pattern(&mut self) -> PatternKind {
        self.cursor.advance("*".len());
        PatternKind::Wild
    }

    /// What stands on the left of `=` or `<-`, without the parentheses of an outermost tuple: `a, b`.
    pub(super) fn assignment_pattern(&mut self) -> Parsed<Pattern> {
        let start = self.cursor.at();
        let head = self.assignment_pattern_part()?;
        self.skip();
        if !self.cursor.starts_with(",") {
            return Ok(head);
        }
        let mut parts = vec![head];
        while self.eat(",") {
            self.skip();
            if self.cursor.starts_with(")") || self.cursor.starts_with("=") {
                break;
            }
            parts.push(self.assignment_pattern_part()?);
        }
        let span = self.cursor.span_from(start);
        if parts.len() < 2 {
            return Err(self.error(Code::UnexpectedText, span, "expected two or more patterns in a tuple"));
        }
        Ok(Node::new(PatternKind::Tuple(parts), span))
    }

    fn assignment_pattern_part(&mut self) -> Parsed<Pattern> {
        self.skip();
        let start = self.cursor.at();
        let kind = match self.cursor.peek() {
            Some('*') => self.wildcard_pattern(),
            Some('$') => self.link_pattern()?,
            Some('(') => {
                let inner = |p: &mut Self| {
                    p.skip();
                    let pattern = p.assignment_pattern()?;
                    p.close("`,`")?;
                    Ok(pattern.node)
                };
                self.nested(|p| p.bracketed("(", ")", inner))?
            }
            Some('{') => {
                let part = Parser::assignment_pattern_part;
                let parts = self.nested(|p| p.bracketed("{", "}", |p| p.elements(Separator::OptionalComma, part)))?;
                self.superposition_pattern(parts, start)?
            }
            _ => PatternKind::Var(self.variable("a pattern")?.node),
        };
        Ok(Node::new(kind, self.cursor.span_from(start)))
    }
}
