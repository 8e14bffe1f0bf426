//! Patterns in both syntaxes, and the literals that patterns and expressions share.

use crate::ast::{Pattern, PatternKind};
use crate::doc::{Doc, bracketed, concat, enclosed, text};

/// A pattern of the functional syntax.
pub fn fun_pattern(pattern: &Pattern) -> Doc {
    pattern_with(pattern, fun_pattern, || Doc::Line)
}

/// A pattern of the imperative syntax.
pub fn imp_pattern(pattern: &Pattern) -> Doc {
    pattern_with(pattern, imp_pattern, || concat([text(","), Doc::Line]))
}

fn pattern_with(pattern: &Pattern, inner: fn(&Pattern) -> Doc, between_superposed: fn() -> Doc) -> Doc {
    let all = |parts: &[Pattern]| parts.iter().map(inner).collect::<Vec<_>>();
    match &pattern.node {
        PatternKind::Wild => text("*"),
        PatternKind::Var(name) => text(name.to_string()),
        PatternKind::Link(name) => text(format!("${name}")),
        PatternKind::Tuple(parts) => bracketed("(", all(parts), ")"),
        PatternKind::Sup(parts) => enclosed("{", all(parts), between_superposed, "}"),
        PatternKind::Ctor(name, parts) => {
            let mut parts = all(parts);
            parts.insert(0, text(name.node.to_string()));
            enclosed("(", parts, || Doc::Line, ")")
        }
        PatternKind::List(parts) => bracketed("[", all(parts), "]"),
        PatternKind::Str(string) => string_literal(string),
        PatternKind::Num(number) => text(number.to_string()),
        PatternKind::Char(c) => char_literal(*c),
    }
}

/// `"text"`.
pub fn string_literal(string: &str) -> Doc {
    let mut literal = String::from("\"");
    string.chars().for_each(|c| push_char(&mut literal, c, '"'));
    literal.push('"');
    text(literal)
}

/// `'c'`.
pub fn char_literal(c: char) -> Doc {
    let mut literal = String::from("'");
    push_char(&mut literal, c, '\'');
    literal.push('\'');
    text(literal)
}

fn push_char(literal: &mut String, c: char, quote: char) {
    match c {
        '\n' => literal.push_str("\\n"),
        '\r' => literal.push_str("\\r"),
        '\t' => literal.push_str("\\t"),
        '\0' => literal.push_str("\\0"),
        '\\' => literal.push_str("\\\\"),
        c if c == quote => literal.extend(['\\', c]),
        c if c.is_control() || c == '\u{feff}' => literal.push_str(&format!("\\u{{{:X}}}", u32::from(c))),
        c => literal.push(c),
    }
}
