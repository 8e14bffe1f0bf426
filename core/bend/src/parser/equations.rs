//! Functional definitions: signatures and rules, at the top level and after `def` in a term.
//!
//! Nothing but the next name says whether another rule follows, and inside a term the expression behind the rules may
//! start like a rule: a look ahead for the `=` decides.

use super::{NESTING_LIMIT, Parsed, Parser};
use crate::ast::{Check, FunBody, FunDef, Ident, Param, Pattern, PatternKind, Rule, Signature};
use girih_base::diag::Code;
use girih_base::lexer::{Cursor, is_name_char};
use std::collections::HashMap;

/// The left-hand side of a rule, or a signature up to its colon.
struct Head {
    start: usize,
    name: Ident,
    parts: Vec<HeadPart>,
}

enum HeadPart {
    Pattern(Pattern),
    Annotated(Param),
}

impl Parser<'_, '_> {
    /// A signature, rules, or both.
    pub(super) fn equations(&mut self) -> Parsed<FunDef> {
        self.nested(|p| p.with_free_lines(Parser::signature_and_rules))
    }

    fn signature_and_rules(&mut self) -> Parsed<FunDef> {
        self.skip();
        let start = self.cursor.at();
        let check = self.check();
        let head = self.head()?;
        let name = head.name.clone();
        self.skip();
        if !self.cursor.starts_with(":") {
            let rule = self.rule(head)?;
            let rules = self.more_rules(rule, &name)?;
            let span = self.cursor.span_from(start);
            return Ok(FunDef { span, check, name, signature: None, body: FunBody::Rules(rules) });
        }
        let signature = Some(self.signature(head)?);
        let body = if self.eat("=") {
            FunBody::Equation(self.term()?)
        } else {
            FunBody::Rules(self.rules_of_signature(&name)?)
        };
        Ok(FunDef { span: self.cursor.span_from(start), check, name, signature, body })
    }

    /// `checked`, `unchecked` or nothing.
    pub(super) fn check(&mut self) -> Check {
        if self.eat_keyword("checked") {
            Check::Checked
        } else if self.eat_keyword("unchecked") {
            Check::Unchecked
        } else {
            Check::Default
        }
    }

    fn signature(&mut self, head: Head) -> Parsed<Signature> {
        let params = head.parts.into_iter().map(|part| self.param_of_signature(part)).collect::<Parsed<_>>()?;
        if self.cursor.starts_with("::") {
            return Err(self.expected("`:`"));
        }
        self.expect(":")?;
        Ok(Signature { params, ty: self.fun_type()? })
    }

    fn param_of_signature(&mut self, part: HeadPart) -> Parsed<Param> {
        let pattern = match part {
            HeadPart::Annotated(param) => return Ok(param),
            HeadPart::Pattern(pattern) => pattern,
        };
        match pattern.node {
            PatternKind::Var(name) => Ok(Param { name: Ident::new(name, pattern.span), ty: None }),
            PatternKind::Ctor(name, parts) if parts.is_empty() => Ok(Param { name, ty: None }),
            _ => Err(self.error_with_hint(
                Code::UnexpectedText,
                pattern.span,
                "expected the name of a parameter in this signature, found a pattern",
                "a signature has names and types, as in `f x (y: u24) : u24`; patterns stand in the rules after it",
            )),
        }
    }

    fn rules_of_signature(&mut self, name: &Ident) -> Parsed<Vec<Rule>> {
        self.skip();
        if self.cursor.is_at_end() {
            return Err(self.expected_with_hint(
                "`=` or a rule",
                &format!("a signature is followed by `= body` or by rules such as `{} … = …`", name.node),
            ));
        }
        let head = self.head()?;
        if head.name != *name {
            return Err(self.error_with_hint(
                Code::UnexpectedText,
                head.name.span,
                format!("expected `=` or a rule of `{}`, found `{}`", name.node, head.name.node),
                format!("the signature of `{}` is followed by `= body` or by its rules", name.node),
            ));
        }
        let rule = self.rule(head)?;
        self.more_rules(rule, name)
    }

    fn more_rules(&mut self, first: Rule, name: &Ident) -> Parsed<Vec<Rule>> {
        let mut rules = vec![first];
        while self.closings.starts_rule(self.cursor, &name.node) {
            let head = self.head()?;
            rules.push(self.rule(head)?);
        }
        Ok(rules)
    }

    fn rule(&mut self, head: Head) -> Parsed<Rule> {
        let patterns = head.parts.into_iter().map(|part| self.pattern_of_rule(part)).collect::<Parsed<_>>()?;
        self.expect("=")?;
        let body = self.term()?;
        Ok(Rule { span: self.cursor.span_from(head.start), patterns, body })
    }

    fn pattern_of_rule(&mut self, part: HeadPart) -> Parsed<Pattern> {
        match part {
            HeadPart::Pattern(pattern) => Ok(pattern),
            HeadPart::Annotated(param) => Err(self.error_with_hint(
                Code::UnexpectedText,
                param.name.span,
                format!(
                    "the parameter `{}` has a type, but the definition has no `: type` after its parameters",
                    param.name.node
                ),
                "write the type of the result before the `=`, as in `f (x: u24) : u24 = …`; the pattern of a list is `(List/Cons x xs)`",
            )),
        }
    }

    /// `name part …` or `(name part …)`.
    fn head(&mut self) -> Parsed<Head> {
        self.skip();
        let start = self.cursor.at();
        if !self.cursor.starts_with("(") {
            let name = self.name("a definition")?;
            let mut parts = vec![];
            loop {
                self.skip();
                if self.cursor.starts_with("=") || self.cursor.starts_with(":") {
                    return Ok(Head { start, name, parts });
                }
                parts.push(self.head_part()?);
            }
        }
        let (name, parts) = self.bracketed("(", ")", |p| {
            let name = p.name("the name of a function")?;
            let mut parts = vec![];
            while !p.closes() {
                if p.cursor.is_at_end() {
                    return Err(p.unclosed("a pattern"));
                }
                parts.push(p.head_part()?);
            }
            Ok((name, parts))
        })?;
        self.skip();
        if self.cursor.starts_with("=") || self.cursor.starts_with(":") {
            return Ok(Head { start, name, parts });
        }
        Err(self.expected("`=`"))
    }

    fn head_part(&mut self) -> Parsed<HeadPart> {
        if !starts_annotation(self.cursor) {
            return Ok(HeadPart::Pattern(self.rule_pattern()?));
        }
        self.bracketed("(", ")", |p| {
            let name = p.variable("the name of a parameter")?;
            p.expect(":")?;
            let ty = Some(p.fun_type()?);
            p.close("")?;
            Ok(HeadPart::Annotated(Param { name, ty }))
        })
    }
}

/// Whether `(name :` comes next.
fn starts_annotation(mut cursor: Cursor) -> bool {
    if !cursor.eat("(") {
        return false;
    }
    cursor.skip_trivia();
    let word = cursor.word();
    cursor.advance(word.len());
    cursor.skip_trivia();
    !word.is_empty() && cursor.starts_with(":")
}

/// What the look ahead for rules has found out about brackets: for the byte at which one opens, the byte behind the one
/// that closes it, or nothing if none does. Each text is looked through once, however often rules stand inside each other.
#[derive(Default)]
pub(super) struct Closings(HashMap<usize, Option<usize>>);

impl Closings {
    /// Whether a rule of `name` comes next: the name, what may be patterns, and `=`.
    fn starts_rule(&mut self, mut cursor: Cursor, name: &str) -> bool {
        cursor.skip_trivia();
        if cursor.starts_with("(") {
            let mut inside = cursor;
            inside.advance("(".len());
            inside.skip_trivia();
            return inside.at_keyword(name) && self.skip_brackets(&mut cursor) && comes_equals(cursor);
        }
        if !cursor.eat_keyword(name) {
            return false;
        }
        loop {
            cursor.skip_trivia();
            let skipped = match cursor.peek() {
                Some('=') => return comes_equals(cursor),
                Some('(' | '{' | '[') => self.skip_brackets(&mut cursor),
                Some('"' | '\'') => skip_quoted(&mut cursor),
                Some('*' | '$') => cursor.next_char().is_some(),
                Some(c) if is_name_char(c) => !cursor.take_while(is_name_char).is_empty(),
                _ => false,
            };
            if !skipped {
                return false;
            }
        }
    }

    /// Moves behind the bracket that closes the one that comes next.
    fn skip_brackets(&mut self, cursor: &mut Cursor) -> bool {
        let start = cursor.at();
        if !self.0.contains_key(&start) {
            self.match_brackets(*cursor);
        }
        match self.0.get(&start) {
            Some(Some(close)) => {
                cursor.advance(close - start);
                true
            }
            Some(None) | None => false,
        }
    }

    /// Finds the ends of the bracket that comes next and of all inside it.
    fn match_brackets(&mut self, mut cursor: Cursor) {
        let mut open = vec![];
        while open.len() <= NESTING_LIMIT as usize {
            cursor.skip_trivia();
            let at = cursor.at();
            let skipped = match cursor.peek() {
                Some('"' | '\'') => skip_quoted(&mut cursor),
                Some('(' | '{' | '[') => {
                    open.push(at);
                    cursor.next_char().is_some()
                }
                Some(')' | '}' | ']') => {
                    let closed = open.pop();
                    self.0.extend(closed.map(|opened| (opened, Some(at + 1))));
                    cursor.next_char().is_some() && !open.is_empty()
                }
                Some(_) => cursor.next_char().is_some(),
                None => false,
            };
            if !skipped {
                break;
            }
        }
        self.0.extend(open.into_iter().map(|opened| (opened, None)));
    }
}

fn comes_equals(mut cursor: Cursor) -> bool {
    cursor.skip_trivia();
    cursor.eat("=") && !cursor.starts_with("=")
}

/// Moves behind a string or a character.
fn skip_quoted(cursor: &mut Cursor) -> bool {
    let quote = cursor.next_char();
    if quote == Some('\'') && !cursor.starts_with("\\") {
        return cursor.next_char().is_some() && cursor.next_char() == quote;
    }
    loop {
        match cursor.next_char() {
            Some('\\') => _ = cursor.next_char(),
            Some(c) if Some(c) == quote => return true,
            Some(_) => {}
            None => return false,
        }
    }
}
