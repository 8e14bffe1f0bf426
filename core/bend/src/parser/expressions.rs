//! Expressions of the imperative syntax, and the literals and names that both syntaxes share.
//!
//! A line end finishes an expression unless a bracket is open.

use super::{Parsed, Parser, Separator};
use crate::ast::*;
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::num::BinOp;
use girih_base::span::Span;

impl Parser<'_, '_> {
    /// A literal, if one comes next.
    pub(super) fn literal(&mut self) -> Parsed<Option<ExprKind>> {
        Ok(Some(match self.cursor.peek() {
            Some('"') => ExprKind::Str(self.string_literal()?),
            Some('\'') => ExprKind::Char(self.char_literal()?),
            Some('`') => ExprKind::Symbol(self.symbol_literal()?),
            Some(_) if self.at_number() => ExprKind::Num(self.number()?),
            _ => return Ok(None),
        }))
    }

    /// `$x`.
    pub(super) fn link(&mut self) -> Parsed<ExprKind> {
        self.cursor.advance("$".len());
        Ok(ExprKind::Link(self.name("the name of a scopeless variable")?.node))
    }

    /// Whether `%name` comes next where it is the name of a primitive.
    pub(super) fn at_primitive(&self) -> bool {
        let rest = self.cursor.rest().as_bytes();
        self.dialect == super::Dialect::Prelude
            && rest.first() == Some(&b'%')
            && rest.get(1).is_some_and(u8::is_ascii_alphabetic)
    }

    /// A name in an expression; it must come next.
    pub(super) fn reference(&mut self) -> Parsed<ExprKind> {
        if !self.at_primitive() {
            return Ok(ExprKind::Var(self.name("an expression")?.node));
        }
        self.cursor.advance("%".len());
        let name = self.name("the name of a primitive")?;
        Ok(ExprKind::Var(Name::new(format!("%{}", name.node))))
    }

    /// An expression that is not a tuple without parentheses.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.infix(0)
    }

    /// An expression; `a, b` is a tuple.
    pub(super) fn tuple_expression(&mut self) -> Parsed<Expr> {
        let head = self.expression()?;
        self.skip();
        if !self.cursor.starts_with(",") {
            return Ok(head);
        }
        let start = head.span.start as usize;
        let mut parts = vec![head];
        while self.eat(",") {
            self.skip();
            if self.cursor.starts_with(")") {
                break;
            }
            parts.push(self.expression()?);
        }
        let span = self.cursor.span_from(start);
        if parts.len() < 2 {
            return Err(self.error(Code::UnexpectedText, span, "expected two or more expressions in a tuple"));
        }
        self.grow()?;
        Ok(Node::new(ExprKind::Tuple(parts), span))
    }

    /// Operands and operators that bind at least as tightly as `loosest`; all associate to the left.
    fn infix(&mut self, loosest: u8) -> Parsed<Expr> {
        let mut left = self.operand()?;
        let mut compared = false;
        loop {
            self.skip();
            let Some(op) = self.cursor.operator().filter(|op| op.precedence() >= loosest) else { return Ok(left) };
            if self.at_foreign_operator() {
                return Err(self.expected("an operator"));
            }
            self.cursor.advance(op.symbol().len());
            let right = self.infix(op.precedence() + 1)?;
            let span = left.span.to(right.span);
            if compared && op.is_comparison() {
                self.diags.push(chained(op, left.span, right.span));
            }
            compared = op.is_comparison();
            left = Node::new(ExprKind::Op(op, Box::new(left), Box::new(right)), span);
            self.grow()?;
        }
    }

    /// A primary expression and the calls, the key or the fields behind it.
    fn operand(&mut self) -> Parsed<Expr> {
        self.skip();
        let start = self.cursor.at();
        let mut operand = self.nested(|p| {
            let kind = p.primary()?;
            Ok(Node::new(kind, p.cursor.span_from(start)))
        })?;
        loop {
            self.skip();
            let kind = match (self.cursor.peek(), operand.node) {
                (Some('('), callee) => self.nested(|p| p.call(Node::new(callee, operand.span)))?,
                (Some('['), ExprKind::Var(map)) => {
                    let key = self.nested(Parser::key)?;
                    ExprKind::MapGet(Node::new(map, operand.span), Box::new(key))
                }
                (Some('{'), ExprKind::Var(constructor)) => {
                    let fields = self.nested(Parser::fields)?;
                    ExprKind::Record(Node::new(constructor, operand.span), fields)
                }
                (Some('['), _) => {
                    let hint = "give the map a name first: `m = …`, then `m[key]`";
                    return Err(self.expected_with_hint("an operator", hint));
                }
                (_, other) => return Ok(Node::new(other, operand.span)),
            };
            self.grow()?;
            operand = Node::new(kind, self.cursor.span_from(start));
        }
    }

    fn primary(&mut self) -> Parsed<ExprKind> {
        match self.cursor.peek() {
            Some('λ') => {
                self.cursor.advance('λ'.len_utf8());
                self.imp_lambda("λ")
            }
            Some('(') => self.bracketed("(", ")", |p| {
                let inner = p.tuple_expression()?;
                p.close("an operator, `,`")?;
                Ok(inner.node)
            }),
            Some('{') => self.bracketed("{", "}", Parser::map_or_superposition),
            Some('[') => self.bracketed("[", "]", Parser::list_or_comprehension),
            Some('!') => self.imp_tree(),
            Some('$') => self.link(),
            Some('*') => {
                self.cursor.advance("*".len());
                Ok(ExprKind::Era)
            }
            _ => {
                if let Some(literal) = self.literal()? {
                    return Ok(literal);
                }
                if self.cursor.eat_keyword("lambda") {
                    return self.imp_lambda("lambda ");
                }
                if self.at_item_start() || (self.cursor.word().is_empty() && !self.at_primitive()) {
                    return Err(self.expected("an expression"));
                }
                self.statement_in_expression()?;
                self.reference()
            }
        }
    }

    /// What stands behind `keyword`, `lambda` or `λ`.
    fn imp_lambda(&mut self, keyword: &str) -> Parsed<ExprKind> {
        let patterns = self.with_free_lines(|p| {
            p.skip();
            if p.cursor.starts_with(":") {
                let hint =
                    "a function without parameters is a value: write it without `lambda:`, and use it without `()`";
                return Err(p.expected_with_hint("the name of a variable", hint));
            }
            let mut patterns = vec![p.lambda_variable()?];
            let mut has_comma = p.eat(",");
            while !p.eat(":") {
                if !has_comma && p.at_body() {
                    return Err(p.lambda_without_colon(keyword, &patterns));
                }
                patterns.push(p.lambda_variable()?);
                has_comma = p.eat(",");
            }
            Ok(patterns)
        })?;
        Ok(ExprKind::Lambda(patterns, Box::new(self.expression()?)))
    }

    /// Whether something comes next that is no parameter of a lambda, but may be its body or go on with it.
    fn at_body(&self) -> bool {
        let Some(next) = self.cursor.peek() else { return false };
        let is_operand = next.is_ascii_digit() || matches!(next, '"' | '\'' | '(' | '[' | 'λ');
        is_operand || (self.cursor.operator().is_some() && self.foreign_symbol().is_none())
    }

    fn lambda_variable(&mut self) -> Parsed<Pattern> {
        self.skip();
        let start = self.cursor.at();
        let kind = if self.cursor.eat("$") {
            PatternKind::Link(self.name("the name of a scopeless variable")?.node)
        } else {
            if self.cursor.starts_with("(") {
                let hint = "the parameters of a lambda have no parentheses: `lambda x, y: x + y`";
                return Err(self.expected_with_hint("the name of a variable or `:`", hint));
            }
            PatternKind::Var(self.variable("the name of a variable or `:`")?.node)
        };
        Ok(Node::new(kind, self.cursor.span_from(start)))
    }

    /// The arguments behind a callee. No arguments are no call.
    fn call(&mut self, callee: Expr) -> Parsed<ExprKind> {
        let mut positional = vec![];
        let mut named: Vec<(Ident, Expr)> = vec![];
        self.bracketed("(", ")", |p| {
            p.elements(Separator::Comma, |p| {
                let argument = p.expression()?;
                if p.eat("=") {
                    let name = p.variable_of(argument)?;
                    named.push((name, p.expression()?));
                } else if let Some((name, _)) = named.first() {
                    let hint = format!("write all arguments without a name before `{} = …`", name.node);
                    let message = "this argument has no name, but comes after one that has";
                    return Err(p.error_with_hint(Code::MisplacedArgument, argument.span, message, hint));
                } else {
                    positional.push(argument);
                }
                Ok(())
            })
        })?;
        Ok(match (positional.is_empty(), named.is_empty()) {
            (true, true) => callee.node,
            (false, true) => ExprKind::Call(Box::new(callee), positional),
            (_, false) => ExprKind::CallNamed(Box::new(callee), positional, named),
        })
    }

    /// `[k]`.
    pub(super) fn key(&mut self) -> Parsed<Expr> {
        self.bracketed("[", "]", |p| {
            let key = p.expression()?;
            p.skip();
            if p.cursor.starts_with(":") {
                let hint = "`m[key]` reads one entry of a map; of a list, a function that calls itself gives a part";
                return Err(p.expected_with_hint("an operator or `]`", hint));
            }
            p.close("an operator")?;
            Ok(key)
        })
    }

    /// `{ x: a, y: b }` behind the name of a constructor.
    fn fields(&mut self) -> Parsed<Vec<(Ident, Expr)>> {
        self.bracketed("{", "}", |p| {
            p.elements(Separator::Comma, |p| {
                let name = p.name("the name of a field")?;
                p.expect(":")?;
                Ok((name, p.expression()?))
            })
        })
    }

    fn map_or_superposition(&mut self) -> Parsed<ExprKind> {
        if self.closes() {
            return Ok(ExprKind::Map(vec![]));
        }
        let head = self.expression()?;
        if self.eat(":") {
            let mut entries = vec![(head, self.expression()?)];
            self.separate(Separator::Comma)?;
            entries.extend(self.elements(Separator::Comma, |p| {
                let key = p.expression()?;
                p.expect(":")?;
                Ok((key, p.expression()?))
            })?);
            return Ok(ExprKind::Map(entries));
        }
        self.eat(",");
        if self.closes() {
            let end = self.cursor.at();
            let span = self.cursor.span(end - "}".len(), end);
            let message = "expected `:` and a value, or a second expression, found `}`";
            let hint = "a map is written `{ key: value }`, a superposition `{ a, b }`";
            return Err(self.error_with_hint(Code::UnexpectedText, span, message, hint));
        }
        let mut parts = vec![head];
        parts.extend(self.elements(Separator::OptionalComma, Parser::expression)?);
        Ok(ExprKind::Sup(parts))
    }

    fn list_or_comprehension(&mut self) -> Parsed<ExprKind> {
        if self.closes() {
            return Ok(ExprKind::List(vec![]));
        }
        let head = self.expression()?;
        if self.eat_keyword("for") {
            return self.comprehension(head);
        }
        self.separate(Separator::Comma)?;
        let mut parts = vec![head];
        parts.extend(self.elements(Separator::Comma, Parser::expression)?);
        Ok(ExprKind::List(parts))
    }

    fn comprehension(&mut self, element: Expr) -> Parsed<ExprKind> {
        let var = self.variable("the name of a variable")?;
        self.expect_keyword("in")?;
        let list = self.expression()?;
        let condition = if self.eat_keyword("if") { Some(self.expression()?) } else { None };
        self.close(if condition.is_some() { "an operator" } else { "an operator, `if`" })?;
        Ok(ExprKind::Comprehension(Box::new(Comprehension { element, var, list, condition })))
    }

    /// `![l, r]` or `!x`.
    fn imp_tree(&mut self) -> Parsed<ExprKind> {
        self.cursor.advance("!".len());
        if !self.cursor.starts_with("[") {
            return Ok(ExprKind::TreeLeaf(Box::new(self.expression()?)));
        }
        self.bracketed("[", "]", |p| {
            let left = p.expression()?;
            p.expect(",")?;
            let right = p.expression()?;
            p.eat(",");
            p.close("an operator")?;
            Ok(ExprKind::TreeNode(Box::new(left), Box::new(right)))
        })
    }
}

/// The warning that a comparison is compared: `a < b < c` is no range.
fn chained(op: BinOp, first: Span, last: Span) -> Diagnostic {
    let message = format!("the left side of this `{}` is itself a comparison, which gives 1 or 0", op.symbol());
    Diagnostic::new(Code::ChainedComparison, last, message)
        .label(first, "this is 1 or 0")
        .hint("write `(a < b) & (b < c)` for both comparisons, or put the first one in parentheses if this is meant")
}
