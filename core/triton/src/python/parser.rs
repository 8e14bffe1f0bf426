//! Statements. The first thing that cannot be read ends the reading.

use super::ast::*;
use super::lexer::{Kind, Token, lex};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{SourceId, Span};
use std::sync::Arc;

pub(super) type Parse<T> = Result<T, Diagnostic>;

/// How deep statements and expressions may be nested.
const DEPTH: usize = 100;
/// How many branches an `if` may have. Those of kernels for lists of tensors have one for each tensor.
const ARMS: usize = 250;

/// Reads a file.
///
/// # Errors
/// If the text is no Python.
pub fn parse(source: SourceId, text: &str) -> Result<Vec<Stmt>, Diagnostic> {
    let tokens = lex(source, text, 0..text.len(), true)?;
    let mut parser = Parser { source, text, tokens, at: 0, depth: 0, brackets: false };
    let mut out = vec![];
    while parser.peek().kind != Kind::End {
        parser.statement(&mut out)?;
    }
    Ok(out)
}

pub(super) struct Parser<'a> {
    pub source: SourceId,
    pub text: &'a str,
    pub tokens: Vec<Token>,
    pub at: usize,
    pub depth: usize,
    /// Whether this is the inside of a subscript.
    pub brackets: bool,
}

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }
    pub(super) fn slice(&self, token: Token) -> &'a str {
        &self.text[token.start..token.end]
    }
    pub(super) fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }
    pub(super) fn span_of(&self, token: Token) -> Span {
        Span::new(self.source, token.start, token.end)
    }
    /// From a token to the last one that was taken.
    pub(super) fn span_since(&self, start: Token) -> Span {
        let last = self.tokens[self.at.saturating_sub(1)];
        Span::new(self.source, start.start, last.end.max(start.start))
    }
    pub(super) fn at_op(&self, op: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Op && self.slice(token) == op
    }
    pub(super) fn at_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Name && self.slice(token) == word
    }
    pub(super) fn eat_op(&mut self, op: &str) -> bool {
        let found = self.at_op(op);
        self.at += usize::from(found);
        found
    }
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        self.at += usize::from(found);
        found
    }
    pub(super) fn unexpected<T>(&self, wanted: &str) -> Parse<T> {
        let token = self.peek();
        let found = match token.kind {
            Kind::Newline => "the end of the line".into(),
            Kind::Indent => "a deeper indentation".into(),
            Kind::Dedent => "the end of a block".into(),
            Kind::End => "the end of the file".into(),
            Kind::Name | Kind::Number | Kind::String | Kind::Op => format!("`{}`", self.slice(token)),
        };
        let message = format!("expected {wanted}, found {found}");
        Err(Diagnostic::new(Code::PythonSyntax, self.span_of(token), message))
    }
    pub(super) fn expect_op(&mut self, op: &str) -> Parse<()> {
        if self.eat_op(op) { Ok(()) } else { self.unexpected(&format!("`{op}`")) }
    }
    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }
    pub(super) fn ident(&mut self) -> Parse<Ident> {
        let token = self.peek();
        if token.kind != Kind::Name || KEYWORDS.contains(&self.slice(token)) {
            return self.unexpected("a name");
        }
        self.next();
        Ok(Ident { name: self.slice(token).to_owned(), span: self.span_of(token) })
    }
    pub(super) fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= DEPTH {
            let message = format!("this is nested more than {DEPTH} deep");
            return Err(Diagnostic::new(Code::PythonSyntax, self.span_of(self.peek()), message));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn statement(&mut self, out: &mut Vec<Stmt>) -> Parse<()> {
        let start = self.peek();
        if start.kind == Kind::Op && self.at_op("@") {
            return self.decorated(out);
        }
        let word = if start.kind == Kind::Name { self.slice(start) } else { "" };
        let kind = match word {
            "if" => self.if_statement()?,
            "for" => self.for_statement()?,
            "while" => {
                self.next();
                let condition = self.named()?;
                let body = self.block()?;
                StmtKind::While(condition, body, self.else_block()?)
            }
            "def" => self.function(vec![])?,
            "class" => self.class(vec![])?,
            "with" => self.with()?,
            "try" => self.try_statement()?,
            "async" => {
                self.next();
                let mut inner = vec![];
                self.statement(&mut inner)?;
                StmtKind::Other(Other("`async`"))
            }
            "match" if self.is_match() => self.match_statement()?,
            _ => return self.simple_line(out),
        };
        out.push(Stmt { kind, span: self.first_line(start) });
        Ok(())
    }

    /// From a token to the end of its line.
    fn first_line(&self, start: Token) -> Span {
        let line = self.text[start.start..].find('\n').unwrap_or(self.text.len() - start.start);
        let text = self.text[start.start..start.start + line].trim_end();
        Span::new(self.source, start.start, start.start + text.len())
    }

    /// Statements on one line.
    fn simple_line(&mut self, out: &mut Vec<Stmt>) -> Parse<()> {
        loop {
            let start = self.peek();
            let kind = self.simple()?;
            out.push(Stmt { kind, span: self.span_since(start) });
            if !self.eat_op(";") || self.peek().kind == Kind::Newline {
                break;
            }
        }
        if self.peek().kind != Kind::Newline {
            return self.unexpected("the end of the line");
        }
        self.next();
        Ok(())
    }

    fn at_line_end(&self) -> bool {
        self.peek().kind == Kind::Newline || self.at_op(";")
    }

    fn simple(&mut self) -> Parse<StmtKind> {
        let token = self.peek();
        let word = if token.kind == Kind::Name { self.slice(token) } else { "" };
        match word {
            "pass" => self.word(StmtKind::Pass),
            "break" => self.word(StmtKind::Break),
            "continue" => self.word(StmtKind::Continue),
            "return" => {
                self.next();
                Ok(StmtKind::Return(if self.at_line_end() { None } else { Some(self.expressions()?) }))
            }
            "import" => {
                self.next();
                Ok(StmtKind::Import(self.aliases(true)?))
            }
            "from" => self.import_from(),
            "assert" => {
                self.next();
                let test = self.expression()?;
                let message = if self.eat_op(",") { Some(self.expression()?) } else { None };
                Ok(StmtKind::Assert(test, message))
            }
            "raise" => self.skip_rest("`raise`"),
            "global" => self.globals(),
            "nonlocal" => self.skip_rest("`nonlocal`"),
            "del" => self.skip_rest("`del`"),
            "type" if self.is_type_alias() => self.skip_rest("`type`"),
            _ => self.expression_statement(),
        }
    }

    fn globals(&mut self) -> Parse<StmtKind> {
        let start = self.peek().end;
        self.skip_rest("`global`")?;
        let end = self.peek().start.max(start);
        let names = self.text[start..end].split(|c: char| !c.is_alphanumeric() && c != '_');
        Ok(StmtKind::Global(names.filter(|name| !name.is_empty()).map(str::to_owned).collect()))
    }

    fn word(&mut self, kind: StmtKind) -> Parse<StmtKind> {
        self.next();
        Ok(kind)
    }

    /// A statement whose contents do not matter.
    fn skip_rest(&mut self, what: &'static str) -> Parse<StmtKind> {
        self.next();
        if !self.at_line_end() {
            self.expressions()?;
            while self.eat_word("from") || self.eat_op("=") {
                self.expressions()?;
            }
        }
        Ok(StmtKind::Other(Other(what)))
    }

    fn is_type_alias(&self) -> bool {
        let follows = |i: usize, kind: Kind| self.tokens.get(self.at + i).is_some_and(|t| t.kind == kind);
        follows(1, Kind::Name) && follows(2, Kind::Op)
    }

    fn expression_statement(&mut self) -> Parse<StmtKind> {
        let first = self.expressions()?;
        if self.eat_op(":") {
            let annotation = self.expression()?;
            let value = if self.eat_op("=") { Some(self.expressions()?) } else { None };
            return Ok(StmtKind::Annotated(first, annotation, value));
        }
        let token = self.peek();
        if token.kind == Kind::Op {
            let op = match self.slice(token) {
                "+=" => Some(BinaryOp::Add),
                "-=" => Some(BinaryOp::Sub),
                "*=" => Some(BinaryOp::Mul),
                "/=" => Some(BinaryOp::Div),
                "//=" => Some(BinaryOp::FloorDiv),
                "%=" => Some(BinaryOp::Mod),
                "**=" => Some(BinaryOp::Pow),
                "@=" => Some(BinaryOp::MatMul),
                "&=" => Some(BinaryOp::And),
                "|=" => Some(BinaryOp::Or),
                "^=" => Some(BinaryOp::Xor),
                "<<=" => Some(BinaryOp::Shl),
                ">>=" => Some(BinaryOp::Shr),
                _ => None,
            };
            if let Some(op) = op {
                self.next();
                return Ok(StmtKind::Augmented(first, op, self.expressions()?));
            }
        }
        if !self.at_op("=") {
            return Ok(StmtKind::Expr(first));
        }
        let mut targets = vec![first];
        while self.eat_op("=") {
            targets.push(self.expressions()?);
        }
        let value = targets.pop().ok_or_else(|| self.unexpected::<()>("a value").unwrap_err())?;
        Ok(StmtKind::Assign(targets, value))
    }

    fn dotted(&mut self) -> Parse<String> {
        let mut path = self.ident()?.name;
        while self.eat_op(".") {
            path.push('.');
            path.push_str(&self.ident()?.name);
        }
        Ok(path)
    }

    fn aliases(&mut self, dotted: bool) -> Parse<Vec<Alias>> {
        let mut out = vec![];
        loop {
            let start = self.peek();
            let path = if dotted { self.dotted()? } else { self.ident()?.name };
            let name = if self.eat_word("as") { Some(self.ident()?.name) } else { None };
            out.push(Alias { path, name, span: self.span_since(start) });
            if !self.eat_op(",") || self.at_op(")") {
                return Ok(out);
            }
        }
    }

    fn import_from(&mut self) -> Parse<StmtKind> {
        self.next();
        let mut dots = 0;
        loop {
            if self.eat_op(".") {
                dots += 1;
            } else if self.eat_op("...") {
                dots += 3;
            } else {
                break;
            }
        }
        let path = if self.at_word("import") { String::new() } else { self.dotted()? };
        self.expect_word("import")?;
        let star = self.peek();
        if self.eat_op("*") {
            let alias = Alias { path: "*".into(), name: None, span: self.span_of(star) };
            return Ok(StmtKind::ImportFrom(dots, path, vec![alias]));
        }
        let names = if self.eat_op("(") {
            let names = self.aliases(false)?;
            self.expect_op(")")?;
            names
        } else {
            self.aliases(false)?
        };
        Ok(StmtKind::ImportFrom(dots, path, names))
    }

    /// `:` and what belongs to it.
    fn block(&mut self) -> Parse<Vec<Stmt>> {
        self.deeper(|p| {
            p.expect_op(":")?;
            let mut out = vec![];
            if p.peek().kind != Kind::Newline {
                p.simple_line(&mut out)?;
                return Ok(out);
            }
            p.next();
            if p.peek().kind != Kind::Indent {
                return p.unexpected("an indented block");
            }
            p.next();
            while p.peek().kind != Kind::Dedent {
                if p.peek().kind == Kind::End {
                    return p.unexpected("a statement");
                }
                p.statement(&mut out)?;
            }
            p.next();
            Ok(out)
        })
    }

    fn else_block(&mut self) -> Parse<Vec<Stmt>> {
        if self.eat_word("else") { self.block() } else { Ok(vec![]) }
    }

    fn if_statement(&mut self) -> Parse<StmtKind> {
        let mut arms = vec![];
        loop {
            let start = self.peek();
            self.next();
            let condition = self.named()?;
            let then = self.block()?;
            arms.push((condition, then, self.first_line(start)));
            if !self.at_word("elif") {
                break;
            }
            if arms.len() == ARMS {
                let message = format!("this `if` has more than {ARMS} branches");
                return Err(Diagnostic::new(Code::PythonSyntax, self.span_of(self.peek()), message));
            }
        }
        let mut otherwise = self.else_block()?;
        // Each `elif` is an `if` in the `else` of the one before it.
        while let Some((condition, then, span)) = arms.pop() {
            let kind = StmtKind::If(condition, then, otherwise);
            if arms.is_empty() {
                return Ok(kind);
            }
            otherwise = vec![Stmt { kind, span }];
        }
        self.unexpected("a condition")
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.next();
        let target = self.targets()?;
        self.expect_word("in")?;
        let iterable = self.expressions()?;
        let body = self.block()?;
        Ok(StmtKind::For(target, iterable, body, self.else_block()?))
    }

    fn decorated(&mut self, out: &mut Vec<Stmt>) -> Parse<()> {
        let start = self.peek();
        let mut decorators = vec![];
        while self.eat_op("@") {
            decorators.push(self.named()?);
            if self.peek().kind != Kind::Newline {
                return self.unexpected("the end of the line");
            }
            self.next();
        }
        let kind = if self.at_word("def") {
            self.function(decorators)?
        } else if self.at_word("class") {
            self.class(decorators)?
        } else if self.eat_word("async") {
            self.function(decorators)?;
            StmtKind::Other(Other("`async`"))
        } else {
            return self.unexpected("`def` or `class`");
        };
        out.push(Stmt { kind, span: self.first_line(start) });
        Ok(())
    }

    fn type_parameters(&mut self) -> Parse<()> {
        if self.eat_op("[") {
            while !self.eat_op("]") {
                if self.peek().kind == Kind::End {
                    return self.unexpected("`]`");
                }
                self.next();
            }
        }
        Ok(())
    }

    fn function(&mut self, decorators: Vec<Expr>) -> Parse<StmtKind> {
        self.expect_word("def")?;
        let name = self.ident()?;
        self.type_parameters()?;
        self.expect_op("(")?;
        let parameters = self.parameters(")", true)?;
        self.expect_op(")")?;
        if self.eat_op("->") {
            self.expressions()?;
        }
        let body = self.block()?;
        Ok(StmtKind::Function(Arc::new(FunctionDef { name, decorators, parameters, body })))
    }

    /// Parameters up to `end`, which is left.
    pub(super) fn parameters(&mut self, end: &str, annotated: bool) -> Parse<Parameters> {
        let mut list = vec![];
        let mut keyword_only = false;
        while !self.at_op(end) {
            if self.eat_op("/") {
                // Those before it are given by position, which is how all may be given.
            } else if self.at_op("*") && self.tokens.get(self.at + 1).is_some_and(|t| self.slice(*t) == ",") {
                self.next();
                keyword_only = true;
            } else {
                let stars = if self.eat_op("**") { 2 } else { u8::from(self.eat_op("*")) };
                let name = self.ident()?;
                let annotation = if annotated && self.eat_op(":") { Some(self.expressions_one()?) } else { None };
                let default = if self.eat_op("=") { Some(self.expression()?) } else { None };
                list.push(Parameter { name, annotation, default, stars, keyword_only });
                keyword_only |= stars == 1;
            }
            if !self.eat_op(",") {
                break;
            }
        }
        Ok(Parameters { list })
    }

    fn class(&mut self, decorators: Vec<Expr>) -> Parse<StmtKind> {
        self.expect_word("class")?;
        let name = self.ident()?;
        self.type_parameters()?;
        let bases = if self.eat_op("(") { self.arguments()? } else { vec![] };
        Ok(StmtKind::Class(Arc::new(ClassDef { name, decorators, bases, body: self.block()? })))
    }

    fn with(&mut self) -> Parse<StmtKind> {
        self.next();
        let mut items = vec![];
        // Parentheses around all items read as a tuple, or as an expression followed by `as`.
        let parenthesised = self.at_op("(") && self.with_is_parenthesised();
        if parenthesised {
            self.next();
        }
        loop {
            let value = self.expression()?;
            let name = if self.eat_word("as") { Some(self.targets_one()?) } else { None };
            items.push((value, name));
            if !self.eat_op(",") || self.at_op(")") {
                break;
            }
        }
        if parenthesised {
            self.expect_op(")")?;
        }
        Ok(StmtKind::With(items, self.block()?))
    }

    /// Whether the closing bracket of the next opening one stands before `:`, and there is `as` or a comma between.
    fn with_is_parenthesised(&self) -> bool {
        let (mut depth, mut i, mut names) = (0, self.at, false);
        while let Some(token) = self.tokens.get(i) {
            match self.slice(*token) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                "as" | "," if depth == 1 => names = true,
                _ => {}
            }
            if depth == 0 {
                return names && self.tokens.get(i + 1).is_some_and(|t| self.slice(*t) == ":");
            }
            i += 1;
        }
        false
    }

    fn try_statement(&mut self) -> Parse<StmtKind> {
        self.next();
        let body = self.block()?;
        let mut others = vec![];
        loop {
            if self.eat_word("except") {
                self.eat_op("*");
                if !self.at_op(":") {
                    self.expressions()?;
                    if self.eat_word("as") {
                        self.ident()?;
                    }
                }
            } else if !self.eat_word("else") && !self.eat_word("finally") {
                break;
            }
            others.push(self.block()?);
        }
        if others.is_empty() {
            return self.unexpected("`except` or `finally`");
        }
        Ok(StmtKind::Try(body, others))
    }

    /// Whether a line that starts with the name `match` is a statement of that kind.
    fn is_match(&self) -> bool {
        let mut i = self.at + 1;
        let first = self.tokens.get(i).is_some_and(|t| {
            let text = self.slice(*t);
            t.kind != Kind::Op
                && t.kind != Kind::Newline
                && (t.kind != Kind::Name || !KEYWORDS.contains(&text) || text == "not")
                || matches!(text, "(" | "[" | "{" | "*" | "-" | "~")
        });
        while self.tokens.get(i).is_some_and(|t| !matches!(t.kind, Kind::Newline | Kind::End)) {
            i += 1;
        }
        first && self.slice(self.tokens[i - 1]) == ":" && self.tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Indent)
    }

    /// A `match`, whose cases are passed over.
    fn match_statement(&mut self) -> Parse<StmtKind> {
        while self.peek().kind != Kind::Newline {
            self.next();
        }
        let mut depth = 0;
        loop {
            match self.next().kind {
                Kind::Indent => depth += 1,
                Kind::Dedent => depth -= 1,
                Kind::End => return self.unexpected("a case"),
                Kind::Name | Kind::Number | Kind::String | Kind::Op | Kind::Newline => {}
            }
            if depth == 0 && matches!(self.tokens[self.at - 1].kind, Kind::Dedent) {
                return Ok(StmtKind::Other(Other("`match`")));
            }
        }
    }
}
