//! The text form of interaction nets to trees: a whole text, or the body of an `hvm` definition.
//!
//! Nets have tokens of their own: names may contain `$`, a comment starts with `//` too, operators are numbers.

use super::ast::{Net, Operator, Redex, Tree};
use crate::bend::lexer::Cursor;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::name::Name;
use crate::num::{BinOp, Num, NumKind};
use crate::span::SourceId;

/// How deeply nodes may stand inside each other.
const NESTING_LIMIT: u32 = 300;

/// The symbols of operators; a longer one stands before those that it starts with.
pub(super) const OPERATORS: [(&str, BinOp); 14] = [
    ("<<", BinOp::Shl),
    (">>", BinOp::Shr),
    ("+", BinOp::Add),
    ("-", BinOp::Sub),
    ("*", BinOp::Mul),
    ("/", BinOp::Div),
    ("%", BinOp::Rem),
    ("=", BinOp::Eq),
    ("!", BinOp::Ne),
    ("<", BinOp::Lt),
    (">", BinOp::Gt),
    ("&", BinOp::And),
    ("|", BinOp::Or),
    ("^", BinOp::Xor),
];

/// The operators that have a form with exchanged operands.
const FLIPPABLE: [BinOp; 5] = [BinOp::Sub, BinOp::Div, BinOp::Rem, BinOp::Shl, BinOp::Shr];

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Parses a text that is one net.
pub fn parse_net(source: SourceId, text: &str, diags: &mut Diagnostics) -> Option<Net> {
    let mut cursor = Cursor::new(source, text);
    let net =
        net_at(&mut cursor).and_then(|net| if cursor.is_at_end() { Ok(net) } else { Err(expected(&cursor, "`&`")) });
    net.map_err(|diagnostic| diags.push(*diagnostic)).ok()
}

/// Parses the net that comes next and skips the space behind it.
pub(crate) fn net_at(cursor: &mut Cursor) -> Parsed<Net> {
    let root = tree(cursor, 0)?;
    let mut redexes = vec![];
    skip(cursor);
    while cursor.eat("&") {
        skip(cursor);
        let parallel = cursor.eat("!");
        let left = tree(cursor, 0)?;
        expect(cursor, "~")?;
        let right = tree(cursor, 0)?;
        redexes.push(Redex { parallel, left, right });
        skip(cursor);
    }
    Ok(Net { root, redexes })
}

fn skip(cursor: &mut Cursor) {
    cursor.skip_trivia();
    while cursor.starts_with("//") {
        cursor.skip_line();
        cursor.skip_trivia();
    }
}

fn expect(cursor: &mut Cursor, symbol: &str) -> Parsed<()> {
    skip(cursor);
    if cursor.eat(symbol) { Ok(()) } else { Err(expected(cursor, &format!("`{symbol}`"))) }
}

fn expected(cursor: &Cursor, what: &str) -> Box<Diagnostic> {
    let (length, found) = match cursor.peek() {
        Some(c) => (c.len_utf8(), format!("`{c}`")),
        None => (0, "the end of the file".to_owned()),
    };
    let span = cursor.span(cursor.at(), cursor.at() + length);
    Box::new(Diagnostic::new(Code::UnexpectedText, span, format!("expected {what}, found {found}")))
}

fn tree(cursor: &mut Cursor, depth: u32) -> Parsed<Tree> {
    skip(cursor);
    match cursor.peek() {
        Some('(') => node(cursor, depth, "(", ")", Tree::Con),
        Some('{') => node(cursor, depth, "{", "}", Tree::Dup),
        Some('$') => node(cursor, depth, "$(", ")", Tree::Opr),
        Some('?') => node(cursor, depth, "?(", ")", Tree::Swi),
        Some('[') => operator(cursor),
        Some('@') => {
            cursor.advance("@".len());
            Ok(Tree::Ref(name(cursor, "the name of a definition")?))
        }
        Some('*') => {
            cursor.advance("*".len());
            Ok(Tree::Era)
        }
        Some(c) if c.is_ascii_digit() || c == '+' || c == '-' => Ok(Tree::Num(number(cursor)?)),
        _ => Ok(Tree::Var(name(cursor, "a tree")?)),
    }
}

fn node(
    cursor: &mut Cursor,
    depth: u32,
    open: &str,
    close: &str,
    build: fn(Box<Tree>, Box<Tree>) -> Tree,
) -> Parsed<Tree> {
    let start = cursor.at();
    if depth >= NESTING_LIMIT {
        let span = cursor.span(start, start + open.len());
        let hint = "connect the inner part by a variable and a redex of its own";
        return Err(Box::new(Diagnostic::new(Code::TooDeep, span, "this net is nested too deeply").hint(hint)));
    }
    let mut opening = open.chars();
    if let Some(kind) = opening.next().filter(|c| matches!(c, '$' | '?')) {
        cursor.advance(kind.len_utf8());
        skip(cursor);
    }
    let bracket = open.trim_start_matches(['$', '?']);
    expect(cursor, bracket)?;
    let opened = cursor.span_from(start);
    let left = tree(cursor, depth + 1)?;
    let right = tree(cursor, depth + 1)?;
    skip(cursor);
    if !cursor.eat(close) {
        let what = format!("`{close}` after the two parts of a node");
        return Err(Box::new(expected(cursor, &what).label(opened, "to close this")));
    }
    Ok(build(Box::new(left), Box::new(right)))
}

fn name(cursor: &mut Cursor, what: &str) -> Parsed<Name> {
    let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '$'));
    if name.is_empty() { Err(expected(cursor, what)) } else { Ok(Name::new(name)) }
}

/// `[+]`, `[*2]`, `[:-1]`, `[u24]`.
fn operator(cursor: &mut Cursor) -> Parsed<Tree> {
    cursor.advance("[".len());
    skip(cursor);
    for kind in [NumKind::U24, NumKind::I24, NumKind::F24] {
        if cursor.eat_keyword(kind.name()) {
            expect(cursor, "]")?;
            return Ok(Tree::Operator(Operator::Cast(kind)));
        }
    }
    let mut behind = *cursor;
    let flipped = behind.eat(":");
    let fits = |(symbol, op): &&(&str, BinOp)| behind.starts_with(symbol) && (!flipped || FLIPPABLE.contains(op));
    let Some((symbol, op)) = OPERATORS.iter().find(fits) else {
        return Err(expected(cursor, "an operator or a type"));
    };
    behind.advance(symbol.len());
    *cursor = behind;
    skip(cursor);
    let operator = match (cursor.starts_with("]"), flipped) {
        (true, false) => Operator::Symbol(*op),
        (true, true) => Operator::FlippedSymbol(*op),
        (false, false) => Operator::Partial(*op, number(cursor)?),
        (false, true) => Operator::Flipped(*op, number(cursor)?),
    };
    expect(cursor, "]")?;
    Ok(Tree::Operator(operator))
}

/// A number of 24 bits: with a sign it is i24, with a point or as `+inf`, `-inf`, `+NaN` f24.
fn number(cursor: &mut Cursor) -> Parsed<Num> {
    let start = cursor.at();
    let text = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'));
    let span = cursor.span_from(start);
    let malformed = || Box::new(Diagnostic::new(Code::BadLiteral, span, format!("`{text}` is not a number")));
    if text.is_empty() {
        return Err(expected(cursor, "a number"));
    }
    if text.contains('.') || text.ends_with("inf") || text.ends_with("NaN") {
        let value: f32 = text.replace('_', "").parse().map_err(|_| malformed())?;
        return Ok(Num::F32(value).to(NumKind::F24));
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (base, digits) = match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
        (Some(hexadecimal), _) => (16, hexadecimal),
        (_, Some(binary)) => (2, binary),
        (None, None) => (10, digits),
    };
    let magnitude = i64::from_str_radix(&digits.replace('_', ""), base).map_err(|_| malformed())?;
    if digits.starts_with(['+', '-']) {
        return Err(malformed());
    }
    let (low, high, value) = match text.chars().next() {
        Some('-') => (-0x80_0000, 0x7f_ffff, -magnitude),
        Some('+') => (-0x80_0000, 0x7f_ffff, magnitude),
        _ => (0, 0xff_ffff, magnitude),
    };
    if value < low || value > high {
        let message = format!("this number is out of range: numbers of its type go from {low} to {high}");
        return Err(Box::new(Diagnostic::new(Code::LiteralRange, span, message)));
    }
    Ok(if low == 0 { Num::U24(value as u32) } else { Num::I24(value as i32) })
}
