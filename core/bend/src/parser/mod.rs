//! Text to syntax tree: the whole of Bend, both syntaxes mixed in a file.
//!
//! A recursive descent without backtracking: where one token does not decide, a copy of the cursor looks ahead. Items are
//! told apart in `items`, then each kind of construct has its file. Nesting is limited (`NESTING_LIMIT`, and
//! `HEIGHT_LIMIT` for chains of operators, which nest only in the tree), so that the passes after the parser may recurse
//! over expressions; sequences are loops. An error in an item is reported once and the item is left out; parsing goes on
//! at the next line that looks like the start of one (`recovery`).

mod blocks;
mod equations;
mod errors;
mod expressions;
mod habits;
mod items;
mod literals;
mod misplaced;
mod names;
mod patterns;
mod recovery;
mod statements;
mod terms;
mod types;

use super::ast::*;
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::lexer::Cursor;
use girih_base::span::{SourceId, Span};
use std::ops::Range;

/// How deeply constructs may stand inside each other in the text.
const NESTING_LIMIT: u32 = 300;

/// How high a syntax tree may be: `a + b + c + …` is as high as it has operators.
const HEIGHT_LIMIT: u32 = 1000;

/// After so many errors in a file the rest of it is not looked at.
const ERROR_LIMIT: u32 = 50;

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A program. A `#` starts a comment wherever it stands, also before a digit.
    User,
    /// The prelude may name primitives as `%name`, and write natural numbers as `#3`.
    Prelude,
}

/// Parses a file. Items with errors are left out of the module; their errors are in `diags`.
pub fn parse_module(source: SourceId, text: &str, dialect: Dialect, diags: &mut Diagnostics) -> Module {
    let mut cursor = Cursor::new(source, text);
    if dialect == Dialect::Prelude {
        cursor = cursor.with_nat_literals();
    }
    Parser::new(cursor, dialect, diags).module()
}

/// Parses an expression of the functional syntax that is the whole text, for example a program argument. Natural numbers
/// may be written as `#3`.
pub fn parse_expr(source: SourceId, text: &str, diags: &mut Diagnostics) -> Option<Expr> {
    let cursor = Cursor::new(source, text).with_nat_literals();
    let mut parser = Parser::new(cursor, Dialect::User, diags);
    let whole = parser.term().and_then(|term| {
        parser.cursor.skip_trivia();
        if parser.cursor.is_at_end() { Ok(term) } else { Err(parser.expected("the end of the expression")) }
    });
    parser.report_open_comment();
    whole.ok()
}

/// Parses an expression of the imperative syntax that is a part of a line, for example of a comment.
pub fn parse_example(source: SourceId, text: &str, part: Range<usize>, diags: &mut Diagnostics) -> Option<Expr> {
    let mut cursor = Cursor::new(source, &text[..part.end]);
    cursor.advance(part.start.saturating_sub(cursor.at()));
    let mut parser = Parser::new(cursor, Dialect::User, diags);
    let whole = parser.expression().and_then(|expression| {
        parser.skip();
        if parser.cursor.is_at_end() { Ok(expression) } else { Err(parser.expected("the end of the expression")) }
    });
    whole.ok()
}

/// An error was found and is reported; the item cannot be parsed further.
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser<'t, 'd> {
    cursor: Cursor<'t>,
    dialect: Dialect,
    diags: &'d mut Diagnostics,
    errors: u32,
    /// What is said in place of any error in this item, because its start shows what was meant.
    misread: Option<Diagnostic>,
    /// Whether a line end means nothing here, because a bracket is open or the syntax is the functional one.
    free_lines: bool,
    /// The column of the statement or item that comes next, after a line was finished; none at the end of the file.
    column: Option<usize>,
    /// The brackets that are open in this item, outermost first.
    brackets: Vec<Bracket>,
    closings: equations::Closings,
    /// How many constructs are open.
    depth: u32,
    /// The height of the highest tree that was built inside the construct that is open.
    height: u32,
}

impl<'t, 'd> Parser<'t, 'd> {
    fn new(cursor: Cursor<'t>, dialect: Dialect, diags: &'d mut Diagnostics) -> Parser<'t, 'd> {
        Parser {
            cursor,
            dialect,
            diags,
            errors: 0,
            misread: None,
            free_lines: false,
            column: None,
            brackets: vec![],
            closings: Default::default(),
            depth: 0,
            height: 0,
        }
    }

    /// The items of a file. After an error the item is left out.
    fn module(mut self) -> Module {
        let (mut items, mut broken) = (vec![], vec![]);
        loop {
            self.start_item();
            if self.cursor.is_at_end() || self.errors >= ERROR_LIMIT {
                break;
            }
            let start = self.cursor.at();
            match self.item() {
                Ok(item) => items.push(item),
                Err(Failed) => {
                    self.recover(start);
                    broken.extend(self.broken_item(start));
                }
            }
        }
        self.report_open_comment();
        Module { items, broken }
    }

    fn start_item(&mut self) {
        self.misread = None;
        self.free_lines = false;
        self.column = None;
        self.brackets.clear();
        self.closings = Default::default();
        self.depth = 0;
        self.height = 0;
        self.cursor.skip_trivia();
    }

    /// Reports an error.
    fn fail(&mut self, diagnostic: Diagnostic) -> Failed {
        self.errors += 1;
        self.diags.push(self.misread.take().unwrap_or(diagnostic));
        Failed
    }

    /// Parses a construct that may contain others of its kind.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_LIMIT {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let beside = std::mem::replace(&mut self.height, 0);
        let parsed = parse(self);
        self.depth -= 1;
        let parsed = parsed?;
        self.grow()?;
        self.height = self.height.max(beside);
        Ok(parsed)
    }

    /// Says that a node was put on top of all that was built in this construct so far.
    fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > HEIGHT_LIMIT { Err(self.too_deep()) } else { Ok(()) }
    }

    fn too_deep(&mut self) -> Failed {
        let here = self.cursor.span(self.cursor.at(), self.cursor.at());
        let diagnostic = Diagnostic::new(Code::TooDeep, here, "this is nested too deeply")
            .hint("give an inner part a name of its own, for example by a definition");
        self.fail(diagnostic)
    }

    /// Skips space and comments, and line ends where they mean nothing.
    fn skip(&mut self) {
        if self.free_lines {
            self.cursor.skip_trivia();
        } else {
            self.cursor.skip_inline();
        }
    }

    /// Parses with line ends that mean nothing.
    fn with_free_lines<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outside = std::mem::replace(&mut self.free_lines, true);
        let parsed = parse(self);
        self.free_lines = outside;
        parsed
    }

    /// Takes `symbol`, which may stand behind space.
    fn eat(&mut self, symbol: &str) -> bool {
        self.skip();
        self.cursor.eat(symbol)
    }

    /// Takes `keyword`, which may stand behind space.
    fn eat_keyword(&mut self, keyword: &str) -> bool {
        self.skip();
        self.cursor.eat_keyword(keyword)
    }

    /// Takes `symbol` or reports that it is missing.
    fn expect(&mut self, symbol: &str) -> Parsed<Span> {
        self.skip();
        let start = self.cursor.at();
        if self.cursor.eat(symbol) {
            Ok(self.cursor.span_from(start))
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    /// Takes `keyword` or reports that it is missing.
    fn expect_keyword(&mut self, keyword: &str) -> Parsed<()> {
        if self.eat_keyword(keyword) { Ok(()) } else { Err(self.expected(&format!("`{keyword}`"))) }
    }

    /// Parses the inside of a bracket pair whose opening symbol comes next; line ends inside mean nothing.
    fn bracketed<T>(
        &mut self,
        open: &str,
        close: &'static str,
        inside: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let opened = self.expect(open)?;
        self.brackets.push(Bracket { opened, close });
        let parsed = self.with_free_lines(inside)?;
        self.brackets.pop();
        Ok(parsed)
    }

    /// Takes the symbol that closes the innermost bracket if it comes next.
    fn closes(&mut self) -> bool {
        let close = self.brackets.last().map(|bracket| bracket.close);
        close.is_some_and(|close| self.eat(close))
    }

    /// Takes the closing symbol or reports that it is missing; `otherwise` says what else could stand there.
    fn close(&mut self, otherwise: &str) -> Parsed<()> {
        if self.closes() { Ok(()) } else { Err(self.unclosed(otherwise)) }
    }

    /// Parses elements up to the closing symbol.
    fn elements<T>(&mut self, separator: Separator, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut elements = vec![];
        while !self.closes() {
            if self.cursor.is_at_end() {
                return Err(self.unclosed(""));
            }
            elements.push(element(self)?);
            self.separate(separator)?;
        }
        Ok(elements)
    }

    /// Takes what must or may stand between two elements. A separator may stand before the closing symbol too.
    fn separate(&mut self, separator: Separator) -> Parsed<()> {
        let taken = match separator {
            Separator::Comma | Separator::OptionalComma => self.eat(","),
            Separator::OptionalSemicolon => self.eat(";"),
            Separator::None => true,
        };
        if taken || separator != Separator::Comma {
            return Ok(());
        }
        let at_close = self.brackets.last().is_some_and(|bracket| self.cursor.starts_with(bracket.close));
        if at_close { Ok(()) } else { Err(self.unseparated()) }
    }
}

/// A bracket that is open.
#[derive(Clone, Copy)]
struct Bracket {
    opened: Span,
    close: &'static str,
}

/// What stands between the elements of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Comma,
    OptionalComma,
    OptionalSemicolon,
    None,
}
