//! Expressions, by how strongly their operators bind.

use super::ast::*;
use super::lexer::{Kind, Token, lex};
use super::parser::{Parse, Parser};
use super::strings::{self, Part};
use girih_base::diag::{Code, Diagnostic};
use std::sync::Arc;

/// Operators of two operands, by rising strength.
const LEVELS: &[&[(&str, BinaryOp)]] = &[
    &[("|", BinaryOp::Or)],
    &[("^", BinaryOp::Xor)],
    &[("&", BinaryOp::And)],
    &[("<<", BinaryOp::Shl), (">>", BinaryOp::Shr)],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Sub)],
    &[
        ("*", BinaryOp::Mul),
        ("/", BinaryOp::Div),
        ("//", BinaryOp::FloorDiv),
        ("%", BinaryOp::Mod),
        ("@", BinaryOp::MatMul),
    ],
];

impl Parser<'_> {
    fn make(&self, start: Token, kind: ExprKind) -> Expr {
        Expr { kind, span: self.span_since(start) }
    }

    /// One or several expressions; several are a tuple.
    pub(super) fn expressions(&mut self) -> Parse<Expr> {
        self.list_of(Self::starred)
    }
    /// An annotation, which may be starred.
    pub(super) fn expressions_one(&mut self) -> Parse<Expr> {
        self.starred()
    }

    /// Between brackets, a colon begins a slice; elsewhere it ends the list.
    fn list_of(&mut self, mut one: impl FnMut(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        let start = self.peek();
        let first = one(self)?;
        if !self.at_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_op(",") {
            if self.ends_list() && !(self.brackets && self.at_op(":")) {
                break;
            }
            items.push(one(self)?);
        }
        Ok(self.make(start, ExprKind::Tuple(items)))
    }

    /// What stands between the brackets of a subscript.
    fn subscript(&mut self) -> Parse<Expr> {
        let outer = std::mem::replace(&mut self.brackets, true);
        let index = self.list_of(Self::slice_or_expression);
        self.brackets = outer;
        index
    }

    fn ends_list(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::Newline | Kind::End => true,
            Kind::Op => matches!(self.slice(token), ")" | "]" | "}" | "=" | ":" | ";"),
            Kind::Name => self.slice(token) == "in",
            Kind::Number | Kind::String | Kind::Indent | Kind::Dedent => false,
        }
    }

    /// What a `for` binds: no `in` in it.
    pub(super) fn targets(&mut self) -> Parse<Expr> {
        self.list_of(Self::targets_one)
    }
    pub(super) fn targets_one(&mut self) -> Parse<Expr> {
        let start = self.peek();
        if self.eat_op("*") {
            let inner = self.binary(0)?;
            return Ok(self.make(start, ExprKind::Starred(Box::new(inner))));
        }
        self.binary(0)
    }

    fn starred(&mut self) -> Parse<Expr> {
        let start = self.peek();
        if self.eat_op("*") {
            let inner = self.binary(0)?;
            return Ok(self.make(start, ExprKind::Starred(Box::new(inner))));
        }
        self.named()
    }

    /// An expression or `name := expression`.
    pub(super) fn named(&mut self) -> Parse<Expr> {
        let start = self.peek();
        let value = self.expression()?;
        if let ExprKind::Name(name) = &value.kind
            && self.eat_op(":=")
        {
            let ident = Ident { name: name.clone(), span: value.span };
            let value = self.expression()?;
            return Ok(self.make(start, ExprKind::Named(ident, Box::new(value))));
        }
        Ok(value)
    }

    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.deeper(Self::conditional)
    }

    fn conditional(&mut self) -> Parse<Expr> {
        let start = self.peek();
        if self.eat_word("lambda") {
            let parameters = self.parameters(":", false)?;
            self.expect_op(":")?;
            let body = self.expression()?;
            return Ok(self.make(start, ExprKind::Lambda(Arc::new(parameters), Arc::new(body))));
        }
        if self.eat_word("yield") {
            self.eat_word("from");
            if !self.ends_list() {
                self.expressions()?;
            }
            return Ok(self.make(start, ExprKind::Other(Other("`yield`"))));
        }
        let then = self.boolean(BooleanOp::Or)?;
        if !self.eat_word("if") {
            return Ok(then);
        }
        let condition = self.boolean(BooleanOp::Or)?;
        if !self.eat_word("else") {
            return self.unexpected("`else`");
        }
        let otherwise = self.expression()?;
        let kind = ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
        Ok(self.make(start, kind))
    }

    fn boolean(&mut self, op: BooleanOp) -> Parse<Expr> {
        let start = self.peek();
        let inner = |p: &mut Self| if op == BooleanOp::Or { p.boolean(BooleanOp::And) } else { p.not() };
        let mut items = vec![inner(self)?];
        while self.eat_word(op.text()) {
            items.push(inner(self)?);
        }
        match items.pop() {
            Some(only) if items.is_empty() => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(self.make(start, ExprKind::Boolean(op, items)))
            }
            None => self.unexpected("an expression"),
        }
    }

    fn not(&mut self) -> Parse<Expr> {
        let start = self.peek();
        if self.eat_word("not") {
            let inner = self.deeper(Self::not)?;
            return Ok(self.make(start, ExprKind::Unary(UnaryOp::Not, Box::new(inner))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let start = self.peek();
        let first = self.binary(0)?;
        let mut rest = vec![];
        while let Some(op) = self.compare_op() {
            rest.push((op, self.binary(0)?));
        }
        if rest.is_empty() { Ok(first) } else { Ok(self.make(start, ExprKind::Compare(Box::new(first), rest))) }
    }

    fn compare_op(&mut self) -> Option<CompareOp> {
        let token = self.peek();
        let op = match (token.kind, self.slice(token)) {
            (Kind::Op, "==") => CompareOp::Eq,
            (Kind::Op, "!=") => CompareOp::Ne,
            (Kind::Op, "<") => CompareOp::Lt,
            (Kind::Op, "<=") => CompareOp::Le,
            (Kind::Op, ">") => CompareOp::Gt,
            (Kind::Op, ">=") => CompareOp::Ge,
            (Kind::Name, "in") => CompareOp::In,
            (Kind::Name, "is") => CompareOp::Is,
            (Kind::Name, "not") if self.tokens.get(self.at + 1).is_some_and(|t| self.slice(*t) == "in") => {
                self.next();
                CompareOp::NotIn
            }
            _ => return None,
        };
        self.next();
        Some(if op == CompareOp::Is && self.eat_word("not") { CompareOp::IsNot } else { op })
    }

    fn binary(&mut self, level: usize) -> Parse<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let start = self.peek();
        let mut left = self.binary(level + 1)?;
        loop {
            let found = operators.iter().find(|(text, _)| self.at_op(text));
            let Some((_, op)) = found else { return Ok(left) };
            self.next();
            let right = self.binary(level + 1)?;
            left = self.make(start, ExprKind::Binary(*op, Box::new(left), Box::new(right)));
        }
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.peek();
        let op = [("-", UnaryOp::Neg), ("+", UnaryOp::Plus), ("~", UnaryOp::Invert)];
        if let Some((_, op)) = op.into_iter().find(|(text, _)| self.at_op(text)) {
            self.next();
            let inner = self.deeper(Self::unary)?;
            return Ok(self.make(start, ExprKind::Unary(op, Box::new(inner))));
        }
        self.power()
    }

    fn power(&mut self) -> Parse<Expr> {
        let start = self.peek();
        if self.eat_word("await") {
            self.deeper(Self::unary)?;
            return Ok(self.make(start, ExprKind::Other(Other("`await`"))));
        }
        let base = self.primary()?;
        if !self.eat_op("**") {
            return Ok(base);
        }
        let exponent = self.deeper(Self::unary)?;
        Ok(self.make(start, ExprKind::Binary(BinaryOp::Pow, Box::new(base), Box::new(exponent))))
    }

    fn primary(&mut self) -> Parse<Expr> {
        let start = self.peek();
        let mut value = self.atom()?;
        loop {
            let kind = if self.eat_op(".") {
                ExprKind::Attribute(Box::new(value), self.ident()?)
            } else if self.eat_op("(") {
                ExprKind::Call(Box::new(value), self.arguments()?)
            } else if self.eat_op("[") {
                let index = self.deeper(Self::subscript)?;
                self.expect_op("]")?;
                ExprKind::Subscript(Box::new(value), Box::new(index))
            } else {
                return Ok(value);
            };
            value = self.make(start, kind);
        }
    }

    fn slice_or_expression(&mut self) -> Parse<Expr> {
        let start = self.peek();
        let part = |p: &mut Self| {
            let ends = p.at_op(":") || p.at_op("]") || p.at_op(",");
            if ends { Ok(None) } else { p.starred().map(|e| Some(Box::new(e))) }
        };
        let from = part(self)?;
        if !self.eat_op(":") {
            return match from {
                Some(value) => Ok(*value),
                None => self.unexpected("an index"),
            };
        }
        let to = part(self)?;
        let step = if self.eat_op(":") { part(self)? } else { None };
        Ok(self.make(start, ExprKind::Slice(from, to, step)))
    }

    /// Arguments and the closing parenthesis.
    pub(super) fn arguments(&mut self) -> Parse<Vec<Argument>> {
        let mut out = vec![];
        while !self.eat_op(")") {
            let stars = if self.eat_op("**") { 2 } else { u8::from(self.eat_op("*")) };
            let is_name =
                self.peek().kind == Kind::Name && self.tokens.get(self.at + 1).is_some_and(|t| self.slice(*t) == "=");
            let name = if is_name && stars == 0 {
                let name = self.ident()?;
                self.next();
                Some(name)
            } else {
                None
            };
            let start = self.peek();
            let mut value = self.named()?;
            if self.at_word("for") || self.at_word("async") {
                value = self.comprehension(start, ComprehensionKind::Generator, value, None)?;
            }
            out.push(Argument { name, stars, value });
            if !self.eat_op(",") {
                self.expect_op(")")?;
                break;
            }
        }
        Ok(out)
    }

    fn comprehension(
        &mut self,
        start: Token,
        kind: ComprehensionKind,
        element: Expr,
        value: Option<Expr>,
    ) -> Parse<Expr> {
        let mut clauses = vec![];
        loop {
            self.eat_word("async");
            if !self.eat_word("for") {
                break;
            }
            let target = self.targets()?;
            if !self.eat_word("in") {
                return self.unexpected("`in`");
            }
            let iterable = self.boolean(BooleanOp::Or)?;
            let mut conditions = vec![];
            while self.eat_word("if") {
                conditions.push(self.boolean(BooleanOp::Or)?);
            }
            clauses.push(Clause { target, iterable, conditions });
        }
        let comprehension = Comprehension { kind, element, value, clauses };
        Ok(self.make(start, ExprKind::Comprehension(Box::new(comprehension))))
    }

    fn atom(&mut self) -> Parse<Expr> {
        let token = self.peek();
        match token.kind {
            Kind::Number => self.number(),
            Kind::String => self.string(),
            Kind::Name => match self.slice(token) {
                "True" => self.constant(ExprKind::Bool(true)),
                "False" => self.constant(ExprKind::Bool(false)),
                "None" => self.constant(ExprKind::None),
                _ => {
                    let ident = self.ident()?;
                    Ok(Expr { kind: ExprKind::Name(ident.name), span: ident.span })
                }
            },
            Kind::Op => match self.slice(token) {
                "(" => self.deeper(Self::parenthesis),
                "[" => self.deeper(Self::list),
                "{" => self.deeper(Self::braces),
                "..." => self.constant(ExprKind::Ellipsis),
                _ => self.unexpected("an expression"),
            },
            Kind::Newline | Kind::Indent | Kind::Dedent | Kind::End => self.unexpected("an expression"),
        }
    }

    fn constant(&mut self, kind: ExprKind) -> Parse<Expr> {
        let token = self.next();
        Ok(Expr { kind, span: self.span_of(token) })
    }

    fn parenthesis(&mut self) -> Parse<Expr> {
        let start = self.next();
        if self.eat_op(")") {
            return Ok(self.make(start, ExprKind::Tuple(vec![])));
        }
        let first = self.peek();
        let mut value = self.expressions()?;
        if self.at_word("for") || self.at_word("async") {
            value = self.comprehension(first, ComprehensionKind::Generator, value, None)?;
        }
        self.expect_op(")")?;
        // The parentheses belong to what they hold, so that it is underlined whole.
        value.span = self.span_since(start);
        Ok(value)
    }

    fn list(&mut self) -> Parse<Expr> {
        let start = self.next();
        let mut items = vec![];
        while !self.eat_op("]") {
            items.push(self.starred()?);
            if let [_] = &items[..]
                && (self.at_word("for") || self.at_word("async"))
                && let Some(element) = items.pop()
            {
                let value = self.comprehension(start, ComprehensionKind::List, element, None)?;
                self.expect_op("]")?;
                return Ok(value);
            }
            if !self.eat_op(",") {
                self.expect_op("]")?;
                break;
            }
        }
        Ok(self.make(start, ExprKind::List(items)))
    }

    fn braces(&mut self) -> Parse<Expr> {
        let start = self.next();
        let mut items = vec![];
        let mut set = vec![];
        while !self.eat_op("}") {
            if self.eat_op("**") {
                items.push((None, self.binary(0)?));
            } else {
                let key = self.starred()?;
                let value = if self.eat_op(":") { Some(self.expression()?) } else { None };
                if self.at_word("for") || self.at_word("async") {
                    let kind = if value.is_some() { ComprehensionKind::Dict } else { ComprehensionKind::Set };
                    let made = self.comprehension(start, kind, key, value)?;
                    self.expect_op("}")?;
                    return Ok(made);
                }
                match value {
                    Some(value) => items.push((Some(key), value)),
                    None => set.push(key),
                }
            }
            if !self.eat_op(",") {
                self.expect_op("}")?;
                break;
            }
        }
        // What is known when a kernel is compiled is looked for in a set, and gone through: a list does both.
        let kind = if set.is_empty() { ExprKind::Dict(items) } else { ExprKind::List(set) };
        Ok(self.make(start, kind))
    }

    fn number(&mut self) -> Parse<Expr> {
        let token = self.next();
        let span = self.span_of(token);
        let text = self.slice(token).replace('_', "").to_ascii_lowercase();
        let radix =
            |prefix: &str, radix: u32| text.strip_prefix(prefix).map(|digits| i128::from_str_radix(digits, radix));
        let integer = radix("0x", 16).or_else(|| radix("0b", 2)).or_else(|| radix("0o", 8));
        let kind = match integer {
            Some(Ok(n)) => Some(ExprKind::Int(n)),
            Some(Err(_)) => None,
            None if text.ends_with('j') => Some(ExprKind::Other(Other("an imaginary number"))),
            None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok().map(ExprKind::Int),
            None => text.parse().ok().map(ExprKind::Float),
        };
        match kind {
            Some(kind) => Ok(Expr { kind, span }),
            None => {
                let message = format!("`{}` is no number, or one of more than 128 bits", self.slice(token));
                Err(Diagnostic::new(Code::PythonSyntax, span, message))
            }
        }
    }

    /// Strings that stand beside each other are one.
    fn string(&mut self) -> Parse<Expr> {
        let start = self.peek();
        let mut parts: Vec<FormatPart> = vec![];
        let mut formats = false;
        while self.peek().kind == Kind::String {
            let token = self.next();
            let text = self.slice(token);
            let literal = strings::open(text);
            let inside = &text[literal.start..literal.end];
            if !literal.format {
                add_text(&mut parts, strings::unescape(inside, literal.raw));
                continue;
            }
            formats = true;
            let Some(cut) = strings::parts(inside, token.start + literal.start, literal.raw) else {
                let message = "the braces of this f-string do not match";
                return Err(Diagnostic::new(Code::PythonSyntax, self.span_of(token), message));
            };
            for part in cut {
                match part {
                    Part::Text(text) => add_text(&mut parts, text),
                    Part::Value(range, letter, format) => {
                        parts.push(FormatPart::Value(self.inner(range)?, letter, format));
                    }
                }
            }
        }
        let kind = match &mut parts[..] {
            [FormatPart::Text(text)] if !formats => ExprKind::Str(std::mem::take(text)),
            _ => ExprKind::Format(parts),
        };
        Ok(self.make(start, kind))
    }

    /// The expression in a range of the text.
    fn inner(&mut self, range: std::ops::Range<usize>) -> Parse<Expr> {
        let tokens = lex(self.source, self.text, range, false)?;
        let mut parser =
            Parser { source: self.source, text: self.text, tokens, at: 0, depth: self.depth, brackets: false };
        let value = parser.deeper(Parser::expressions)?;
        if parser.peek().kind != Kind::End {
            return parser.unexpected("the end of the expression");
        }
        Ok(value)
    }
}

fn add_text(parts: &mut Vec<FormatPart>, text: String) {
    match parts.last_mut() {
        Some(FormatPart::Text(last)) => last.push_str(&text),
        _ => parts.push(FormatPart::Text(text)),
    }
}
