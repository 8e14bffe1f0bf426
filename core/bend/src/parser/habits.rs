//! Where the parser meets what people write who come from other languages; the words and what is said of them are in [`crate::habits`].
//!
//! All of this is asked after something else was expected, so it decides what is said and never what is accepted.

use super::{Failed, Parser};
use crate::ast::{Expr, ExprKind};
use crate::habits::{
    ADDING_METHODS, ITEMS, METHODS, OPERATORS, PREFIXES, PRINTERS, STATEMENT_OUTSIDE, STATEMENTS, TOKENS, hint,
};
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::lexer::{Cursor, is_name_char};
use girih_base::num::BinOp;
use girih_base::span::Span;

/// What is said of a line that is no statement, if nothing more is known of it.
const STATEMENT: &str =
    "a statement gives a value a name (`x = …`), changes a variable (`x += …`) or returns (`return …`)";

const COMMENT: &str = "a comment starts with `#` and ends with the line";

/// The longest piece of a program that a hint repeats, in characters.
const SHOWN: usize = 60;

/// What a hint says to write instead, where it is that and nothing more: an operator in backquotes after `write`.
pub(super) fn exact(hint: &'static str) -> Option<&'static str> {
    let (operator, _) = hint.strip_prefix("write `")?.split_once('`')?;
    BinOp::ALL.iter().any(|op| op.symbol() == operator).then_some(operator)
}

impl<'t> Parser<'t, '_> {
    /// The symbol of another language that comes next, the longest that fits, and its hint.
    pub(super) fn foreign_symbol(&self) -> Option<(&'static str, &'static str)> {
        let tokens = OPERATORS.iter().chain(TOKENS).filter(|(symbol, _)| !symbol.starts_with(is_word_char));
        tokens.copied().filter(|(symbol, _)| self.cursor.starts_with(symbol)).max_by_key(|(symbol, _)| symbol.len())
    }

    /// Whether an operator of another language comes next. `a ++1` and `a --1` are Bend: the number has a sign; so is a name that starts with `/`.
    pub(super) fn at_foreign_operator(&self) -> bool {
        let Some((symbol, _)) = OPERATORS.iter().find(|(symbol, _)| self.cursor.starts_with(symbol)) else {
            return false;
        };
        let behind = self.cursor.rest()[symbol.len()..].chars().next();
        match *symbol {
            "++" | "--" => !behind.is_some_and(|c| c.is_ascii_digit()),
            "//" => !behind.is_some_and(is_word_char),
            _ => true,
        }
    }

    /// What comes next and a hint for it, or nothing and a hint for the word before it.
    pub(super) fn habit(&self) -> Option<(&'t str, &'static str)> {
        let word = self.cursor.word();
        let symbol = self.foreign_symbol().map(|(symbol, hint)| (&self.cursor.rest()[..symbol.len()], hint));
        let method = word.strip_prefix('.').and_then(|method| hint(METHODS, method));
        let word = symbol.or_else(|| hint(TOKENS, word).or(method).map(|hint| (word, hint)));
        let before = self.word_before();
        let line = &self.cursor.text()[self.cursor.line_start()..self.cursor.at()];
        // A statement begins with `return`, too.
        let is_meant = before != "return" || line.contains("lambda");
        word.or_else(|| hint(PREFIXES, before).filter(|_| is_meant).map(|hint| ("", hint)))
    }

    /// The word before the cursor; only a string may stand directly behind it.
    fn word_before(&self) -> &'t str {
        let skipped = self.cursor.skipped();
        let before = &self.cursor.text()[..self.cursor.at() - skipped.len()];
        let word = before.rsplit(|c| !is_name_char(c)).next().unwrap_or_default();
        let is_prefix = self.cursor.starts_with("\"") && skipped.is_empty();
        if is_prefix || (word.len() > 1 && !skipped.is_empty()) { word } else { "" }
    }

    /// Whether a value comes next that cannot be assigned to.
    pub(super) fn at_value(&self) -> bool {
        self.at_number()
            || self.cursor.peek().is_some_and(|c| matches!(c, '"' | '\'' | '[' | '!' | 'λ'))
            || self.cursor.at_keyword("lambda")
    }

    /// The error that the line from `start` is no statement of a block in `column`. `what` was expected at the cursor.
    pub(super) fn no_statement(&mut self, start: Cursor<'t>, column: usize, what: &str) -> Failed {
        let word = start.word();
        let first = start.span(start.at(), start.at() + word.len());
        if is_called(start, word) && PRINTERS.contains(&word) {
            let message = format!("`{word}` is not a statement of Bend");
            return self.error_with_hint(Code::UnexpectedText, first, message, printing(start.rest()));
        }
        let habit = hint(STATEMENTS, word);
        if let Some((span, expression, is_last)) = self.line_of_expression(start, column)
            && (habit.is_none() || !matches!(expression.node, ExprKind::Var(_)))
        {
            return self.fail(unused(expression, span, start, is_last));
        }
        if let Some(hint) = habit {
            return self.error_with_hint(
                Code::UnexpectedText,
                first,
                format!("`{word}` is not a statement of Bend"),
                hint,
            );
        }
        if start.starts_with("<-") {
            let hint = "a step gives its value a name: write `x <- …`, or `* <- …` where nobody needs the value";
            return self.expected_with_hint(what, hint);
        }
        if start.starts_with("\"\"\"") {
            return self.expected_with_hint(what, COMMENT);
        }
        if self.cursor.starts_with("++") || self.cursor.starts_with("--") {
            let sign = &self.cursor.rest()[..1];
            return self.expected_with_hint(what, &format!("write `{word} {sign}= 1`"));
        }
        if self.cursor.text()[..self.cursor.at()].ends_with('*') {
            return self.expected_with_hint(
                what,
                "`match` takes a list apart: below `case List/Cons:` it is `xs.head` and `xs.tail`",
            );
        }
        if self.cursor.starts_with(":") {
            let hint = format!(
                "a variable has no annotation: write `{word} = …`; the types of parameters and results stand in the line of the `def`"
            );
            return self.expected_with_hint(what, &hint);
        }
        let diagnostic = self.expectation(what);
        let has_hint = diagnostic.hint.is_some();
        self.fail(if has_hint { diagnostic } else { diagnostic.hint(STATEMENT) })
    }

    /// The expression that the line from `start` consists of, if it is one, and whether the block in `column` ends with it.
    fn line_of_expression(&self, start: Cursor<'t>, column: usize) -> Option<(Span, Expr, bool)> {
        let mut unsaid = Diagnostics::default();
        let mut parser = Parser::new(start, self.dialect, &mut unsaid);
        parser.depth = self.depth;
        let expression = parser.tuple_expression().ok()?;
        let span = parser.cursor.span_from(start.at());
        parser.eat(";");
        parser.end_of_line("").ok()?;
        let is_last = parser.column != Some(column);
        Some((span, expression, is_last))
    }

    /// Whether a type comes next as other languages define it: a word of theirs, and a name in capitals. Taken for a definition it might be one.
    pub(super) fn at_foreign_type(&self) -> bool {
        let word = self.cursor.word();
        let name = self.cursor.rest()[word.len()..].trim_start_matches(' ');
        ["class", "struct", "enum", "data", "newtype"].contains(&word)
            && name.starts_with(|c: char| c.is_ascii_uppercase())
    }

    /// What to say of the item at the cursor if it cannot be parsed: it begins like one of another language.
    pub(super) fn misread_item(&self) -> Option<Diagnostic> {
        let word = self.cursor.word();
        let span = self.cursor.span(self.cursor.at(), self.cursor.at() + word.len());
        let says = |message: String, hint: &str| Some(Diagnostic::new(Code::UnexpectedText, span, message).hint(hint));
        if let Some(hint) = hint(ITEMS, word) {
            return says(format!("expected a definition, found `{word}`"), hint);
        }
        let lower = word.to_ascii_lowercase();
        if lower != word && ["def", "type", "object", "import", "from"].contains(&&*lower) {
            return says(format!("expected a definition, found `{word}`"), &format!("write `{lower}`"));
        }
        if !word.is_empty() && self.cursor.rest()[word.len()..].starts_with('(') {
            let hint = "a function is called inside another one; a program starts at `main` by itself";
            return says(format!("expected a definition, found a call of `{word}`"), hint);
        }
        if self.cursor.starts_with("/*") {
            let (span, found) = self.found();
            return Some(
                Diagnostic::new(Code::UnexpectedText, span, format!("expected a definition, found {found}"))
                    .hint(COMMENT),
            );
        }
        let is_indented = self.cursor.line_start() < self.cursor.at();
        let is_literal = |c: char| c.is_ascii_digit() || matches!(c, '"' | '\'' | '[');
        if !is_indented && self.cursor.peek().is_some_and(is_literal) {
            let (span, found) = self.found();
            let message = format!("expected a definition, found {found}");
            return Some(Diagnostic::new(Code::UnexpectedText, span, message).hint(STATEMENT_OUTSIDE));
        }
        if is_indented && (!word.is_empty() || self.cursor.rest().starts_with(['[', '"', '\''])) {
            let (span, found) = self.found();
            let hint = "the definition before it has ended; in the functional syntax a call is written `(f x y)` and an operation `(+ a b)`";
            return Some(
                Diagnostic::new(Code::UnexpectedText, span, format!("expected a definition, found {found}")).hint(hint),
            );
        }
        None
    }
}

/// What is said of an expression that stands where a statement should.
fn unused(expression: Expr, span: Span, start: Cursor<'_>, is_last: bool) -> Diagnostic {
    let text = &start.rest()[..span.end as usize - start.at()];
    let shown = if text.contains('\n') || text.chars().count() > SHOWN { None } else { Some(text) };
    let callee = match &expression.node {
        ExprKind::Call(callee, _) | ExprKind::CallNamed(callee, ..) => Some(&callee.node),
        _ => None,
    };
    let callee = match callee {
        Some(ExprKind::Var(name)) => name.as_str(),
        _ => "",
    };
    let says = |message: &str, hint: String| Diagnostic::new(Code::UnexpectedText, span, message).hint(hint);
    if let Some((list, method)) = callee.split_once('.')
        && ADDING_METHODS.contains(&method)
    {
        // What stands between the brackets of the call, which may be in brackets itself.
        let inside = || text.get(callee.len()..)?.trim().strip_prefix('(')?.strip_suffix(')');
        let added = shown.and_then(|_| inside()).unwrap_or("…");
        let hint = match method {
            "extend" => {
                format!("`{list} = List/concat({list}, {added})` gives the name to a new list, which has more elements")
            }
            _ => format!(
                "`{list} = List/concat({list}, [{added}])` gives the name to a new list, which has one element more"
            ),
        };
        return says("lists do not change, and there are no methods", hint);
    }
    if callee.starts_with("IO/") {
        let call = shown.unwrap_or("step");
        return says("this step of `IO` is not run", format!("inside `with IO:`, `* <- {call}` runs it"));
    }
    if matches!(expression.node, ExprKind::Str(_)) && !is_last {
        return says("expected a statement, found a string", COMMENT.to_owned());
    }
    if is_last {
        let hint = shown.map_or("write `return` in front of it".to_owned(), |text| format!("write `return {text}`"));
        return Diagnostic {
            code: Code::MissingReturn,
            ..says("the block ends with a value that is not returned", hint)
        };
    }
    let hint = match callee {
        "" => "give it a name (`x = …`) or leave the line out",
        _ => "a function changes nothing but gives a value: give that a name (`x = f(…)`), or leave the line out",
    };
    says("nothing is done with the value of this line", hint.to_owned())
}

/// How to print what is printed at the start of this text.
fn printing(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let argument = line.split_once('(').and_then(|(_, behind)| behind.trim_end().strip_suffix(')')).unwrap_or_default();
    let inner =
        argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|text| !text.contains(['"', '\\']));
    let text = match inner {
        Some(text) if text.chars().count() <= SHOWN => format!("\"{text}\\n\""),
        _ => "text".to_owned(),
    };
    format!(
        "a function that prints gives an `IO`, and runs its steps inside `with IO:`\n  with IO:\n    * <- IO/print({text})\n    return wrap(0)\n`u24/to_string(n)` makes text of a number, `String/concat(a, b)` joins two texts"
    )
}

/// Whether an opening parenthesis stands behind the word, perhaps after a `!` or a space, or a string as in Haskell.
fn is_called(cursor: Cursor<'_>, word: &str) -> bool {
    let behind = cursor.rest()[word.len()..].trim_start_matches('!').trim_start_matches(' ');
    behind.starts_with(['(', '"'])
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}
