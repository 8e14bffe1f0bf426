//! What stands in the wrong place: an operator between its operands in the functional syntax, a statement in an expression, a keyword as a name.
//!
//! All of this is asked where nothing else can be meant, or after something else was expected.

use super::{Failed, Parsed, Parser};
use crate::ast::{Expr, Pattern, PatternKind};
use crate::habits::{EXPRESSIONS, hint};
use girih_base::diag::Code;
use girih_base::lexer::is_name_char;
use girih_base::num::BinOp;

/// Words that begin a statement, and so never an assignment.
const RESERVED: [&str; 10] = ["def", "return", "if", "match", "fold", "switch", "bend", "with", "open", "use"];

/// Words that go on with an expression before them, so that a keyword in front of one is a variable.
const BEHIND_VARIABLES: [&str; 7] = ["for", "in", "if", "else", "with", "and", "or"];

/// The longest piece of a program that a hint repeats, in bytes.
const SHOWN: usize = 40;

impl Parser<'_, '_> {
    /// The error that a keyword is assigned to, if one comes next.
    pub(super) fn reserved_as_name(&mut self) -> Parsed<()> {
        let word = self.cursor.word();
        let mut behind = self.cursor;
        behind.advance(word.len());
        behind.skip_inline();
        if !RESERVED.contains(&word) || !behind.starts_with("=") || behind.starts_with("==") {
            return Ok(());
        }
        let span = self.cursor.span(self.cursor.at(), self.cursor.at() + word.len());
        let message = format!("`{word}` is a word of the language, so it cannot be the name of a variable");
        Err(self.error_with_hint(Code::BadName, span, message, format!("take another name, such as `my_{word}`")))
    }

    /// The error that a statement stands where an expression should, if one comes next.
    pub(super) fn statement_in_expression(&mut self) -> Parsed<()> {
        let word = self.cursor.word();
        let Some(block) = hint(EXPRESSIONS, word) else { return Ok(()) };
        let mut behind = self.cursor;
        behind.advance(word.len());
        let start = behind.at();
        behind.skip_inline();
        let is_operand = behind.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '"' | '(' | '['));
        if behind.at() == start || !is_operand || BEHIND_VARIABLES.contains(&behind.word()) {
            return Ok(());
        }
        let span = self.cursor.span(self.cursor.at(), self.cursor.at() + word.len());
        let message = format!("expected an expression, found `{word}`, which is a statement here");
        Err(self.error_with_hint(Code::UnexpectedText, span, message, block))
    }

    /// The operator that comes next between two operands. A `*` is an operand itself.
    pub(super) fn infix_operator(&mut self) -> Option<BinOp> {
        self.skip();
        let op = self.cursor.operator().filter(|op| *op != BinOp::Mul && !self.at_foreign_operator())?;
        let behind = self.cursor.rest()[op.symbol().len()..].chars().next();
        behind.is_none_or(|c| c.is_whitespace() || c == '(').then_some(op)
    }

    /// The error that this operator stands between its operands.
    pub(super) fn infix_operation(&mut self, op: BinOp, left: &Expr) -> Failed {
        let hint = self.prefixed(op, left).unwrap_or_else(|| operators_first(op));
        self.expected_with_hint("an argument or `)`", &hint)
    }

    /// The operation as it is to be written, if it ends on this line.
    fn prefixed(&self, op: BinOp, left: &Expr) -> Option<String> {
        let left = &self.cursor.text()[left.span.start as usize..left.span.end as usize];
        let right = self.cursor.rest()[op.symbol().len()..].trim_start();
        let mut depth = 0;
        let end = right.find(|c| match c {
            '(' => {
                depth += 1;
                false
            }
            ')' if depth > 0 => {
                depth -= 1;
                false
            }
            c => c == ')' || (depth == 0 && c.is_whitespace()),
        })?;
        let (right, behind) = right.split_at(end);
        let is_whole = behind.starts_with(')') && !right.is_empty() && !left.contains('\n') && !right.contains('\n');
        (is_whole && left.len() + right.len() <= SHOWN)
            .then(|| format!("operators come first: `({} {left} {right})`", op.symbol()))
    }

    /// The error that something else than an expression comes next in the functional syntax.
    pub(super) fn no_term(&mut self) -> Failed {
        match self.infix_operator() {
            Some(op) => self.expected_with_hint("an expression", &operators_first(op)),
            None => self.expected("an expression"),
        }
    }

    /// The error that an operator comes next, if one does, where `what` is expected.
    pub(super) fn no_infix(&mut self, what: &str) -> Parsed<()> {
        match self.infix_operator() {
            Some(op) => Err(self.expected_with_hint(what, &operators_first(op))),
            None => Ok(()),
        }
    }

    /// The hint that a comma is missing, if another element comes next.
    pub(super) fn missing_comma(&mut self) -> Option<String> {
        self.skip();
        let is_operand = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '"' | '\'');
        // Behind the end of a line it is the bracket that was forgotten.
        let is_next_line = self.cursor.skipped().contains('\n');
        let is_word = self.habit().is_some() || ["for", "if"].contains(&self.cursor.word());
        if !self.cursor.peek().is_some_and(is_operand) || is_word || is_next_line {
            return None;
        }
        let word = self.cursor.word();
        let shown = if word.is_empty() || word.len() > SHOWN { "…" } else { word };
        Some(format!("a comma is missing: write `, {shown}`"))
    }

    /// The error that the body of a lambda stands directly behind its parameters, the last of which may belong to it.
    pub(super) fn lambda_without_colon(&mut self, keyword: &str, params: &[Pattern]) -> Failed {
        self.skip();
        let names: Vec<String> = params.iter().map(shown).collect();
        let rest = self.cursor.rest();
        let token = &rest[..rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len())];
        let repeated = names.len() > 1 && names[..names.len() - 1].contains(&names[names.len() - 1]);
        let (params, body) = match token {
            "" if names.len() > 1 && (repeated || self.cursor.operator().is_some() || rest.starts_with('(')) => {
                (&names[..names.len() - 1], format!("{} …", names[names.len() - 1]))
            }
            "" => (&names[..], "…".to_owned()),
            token if token.len() <= SHOWN => (&names[..], token.to_owned()),
            _long => (&names[..], "…".to_owned()),
        };
        let hint = format!("a `:` stands in front of the body: `{keyword}{}: {body}`", params.join(", "));
        self.expected_with_hint("`:`", &hint)
    }

    /// The error that Haskell's `in` or a comma stands behind a binding, if one does.
    pub(super) fn binding_is_over(&mut self, keyword: &str) -> Parsed<()> {
        self.skip();
        let mut behind = self.cursor;
        let is_in = behind.eat_keyword("in");
        behind.skip_inline();
        let is_operand = behind.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '"' | '(' | '['));
        let at_in = is_in && is_operand;
        // Inside brackets a comma may separate their elements.
        let at_comma = self.cursor.starts_with(",") && self.brackets.is_empty();
        if at_in || at_comma {
            let hint = format!("a `;` stands behind the value: `{keyword} x = 1; x`");
            return Err(self.expected_with_hint("`;` or an expression", &hint));
        }
        Ok(())
    }
}

fn operators_first(op: BinOp) -> String {
    format!("operators come first: `({} a b)`", op.symbol())
}

/// A parameter of a lambda as it is written.
fn shown(pattern: &Pattern) -> String {
    match &pattern.node {
        PatternKind::Var(name) => name.to_string(),
        PatternKind::Link(name) => format!("${name}"),
        _other => "…".to_owned(),
    }
}
