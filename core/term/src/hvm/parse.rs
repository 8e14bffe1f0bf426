//! The text form of interaction nets to trees: a book of definitions, one net, or the body of an `hvm` definition.
//!
//! Nets have tokens of their own: names may contain `$`, a comment starts with `//` too, operators are numbers. Nodes that stand
//! inside each other are read by a loop, since compiled programs nest them as deep as their texts are long.

use super::ast::{Book, Definition, Mention, Net, Operator, Redex, Tree};
use super::function::Function;
use girih_base::diag::{Code, Diagnostic, Diagnostics};
use girih_base::lexer::Cursor;
use girih_base::name::Name;
use girih_base::num::{BinOp, LiteralValue, Num, NumKind};
use girih_base::span::{SourceId, Span};

/// How deeply nodes may stand inside each other: whoever drops or prints a tree recurses.
const NESTING_LIMIT: usize = 10_000;

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

/// Parses a text of definitions. Behind an error it goes on with the next definition.
pub fn parse_book(source: SourceId, text: &str, diags: &mut Diagnostics) -> Book {
    let mut cursor = Cursor::new(source, text);
    let mut book = Book::default();
    loop {
        skip(&mut cursor);
        if cursor.is_at_end() {
            return book;
        }
        match definition(&mut cursor) {
            Ok(definition) => book.definitions.push(definition),
            Err(diagnostic) => {
                diags.push(*diagnostic);
                skip_to_definition(&mut cursor);
            }
        }
    }
}

/// Goes on to the next line that starts with `@`.
fn skip_to_definition(cursor: &mut Cursor) {
    cursor.skip_line();
    while cursor.skip_line_end() && !cursor.starts_with("@") {
        cursor.skip_line();
    }
}

fn definition(cursor: &mut Cursor) -> Parsed<Definition> {
    if !cursor.eat("@") {
        return Err(expected(cursor, "`@` and the name of a definition"));
    }
    let start = cursor.at();
    let name = name(cursor, "the name of a definition")?;
    let span = cursor.span_from(start);
    expect(cursor, "=")?;
    let mut mentions = vec![];
    let net = net(cursor, &mut mentions)?;
    if !cursor.is_at_end() && !cursor.starts_with("@") {
        return Err(expected(cursor, "`&` or the next definition"));
    }
    Ok(Definition { name, span, net, mentions })
}

/// Parses a text that is one net.
pub fn parse_net(source: SourceId, text: &str, diags: &mut Diagnostics) -> Option<Net> {
    let mut cursor = Cursor::new(source, text);
    let net =
        net_at(&mut cursor).and_then(|net| if cursor.is_at_end() { Ok(net) } else { Err(expected(&cursor, "`&`")) });
    net.map_err(|diagnostic| diags.push(*diagnostic)).ok()
}

/// Parses the net that comes next and skips the space behind it.
pub fn net_at(cursor: &mut Cursor) -> Parsed<Net> {
    net(cursor, &mut vec![])
}

fn net(cursor: &mut Cursor, mentions: &mut Vec<Mention>) -> Parsed<Net> {
    let root = tree(cursor, mentions)?;
    let mut redexes = vec![];
    skip(cursor);
    while cursor.eat("&") {
        skip(cursor);
        let parallel = cursor.eat("!");
        let left = tree(cursor, mentions)?;
        expect(cursor, "~")?;
        let right = tree(cursor, mentions)?;
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

type Build = fn(Box<Tree>, Box<Tree>) -> Tree;

/// How nodes are written: what opens and closes them, and what they are.
const NODES: [(&str, &str, &str, Build); 6] = [
    ("", "(", ")", Tree::Con),
    ("", "{", "}", Tree::Dup),
    ("$", "(", ")", Tree::Opr),
    ("?", "(", ")", Tree::Swi),
    ("^", "{", "}", Tree::Copy),
    ("", "<", ">", Tree::Closure),
];

/// A node whose parts are being read.
struct Open {
    close: &'static str,
    build: Build,
    span: Span,
    first: Option<Tree>,
}

fn tree(cursor: &mut Cursor, mentions: &mut Vec<Mention>) -> Parsed<Tree> {
    let mut open: Vec<Open> = vec![];
    loop {
        skip(cursor);
        if let Some(node) = opened(cursor)? {
            if open.len() >= NESTING_LIMIT {
                let hint = "connect the inner part by a wire and a redex of its own";
                return Err(Box::new(
                    Diagnostic::new(Code::TooDeep, node.span, "this net is nested too deeply").hint(hint),
                ));
            }
            open.push(node);
            continue;
        }
        let mut done = leaf(cursor, mentions)?;
        loop {
            let Some(node) = open.last_mut() else { return Ok(done) };
            let Some(first) = node.first.take() else {
                node.first = Some(done);
                break;
            };
            skip(cursor);
            if !cursor.eat(node.close) {
                let what = format!("`{}` after the two parts of a node", node.close);
                return Err(Box::new(expected(cursor, &what).label(node.span, "to close this")));
            }
            done = (node.build)(Box::new(first), Box::new(done));
            open.pop();
        }
    }
}

/// The start of a node, if one comes next.
fn opened(cursor: &mut Cursor) -> Parsed<Option<Open>> {
    let start = cursor.at();
    let fits = |(mark, bracket, _, _): &&(&str, &str, &str, Build)| {
        cursor.starts_with(if mark.is_empty() { bracket } else { mark })
    };
    let Some(&(mark, bracket, close, build)) = NODES.iter().find(fits) else { return Ok(None) };
    if !mark.is_empty() {
        cursor.advance(mark.len());
    }
    expect(cursor, bracket)?;
    Ok(Some(Open { close, build, span: cursor.span_from(start), first: None }))
}

fn leaf(cursor: &mut Cursor, mentions: &mut Vec<Mention>) -> Parsed<Tree> {
    let start = cursor.at();
    match cursor.peek() {
        Some('[') => operator(cursor),
        Some('*') => {
            cursor.advance("*".len());
            Ok(Tree::Era)
        }
        Some(c) if c.is_ascii_digit() || c == '+' || c == '-' => Ok(Tree::Num(number(cursor)?)),
        first => {
            let definition = first == Some('@') && cursor.eat("@");
            let name = name(cursor, if definition { "the name of a definition" } else { "a tree" })?;
            mentions.push(Mention { name: name.clone(), definition, span: cursor.span_from(start) });
            Ok(if definition { Tree::Ref(name) } else { Tree::Var(name) })
        }
    }
}

fn name(cursor: &mut Cursor, what: &str) -> Parsed<Name> {
    let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '$'));
    if name.is_empty() { Err(expected(cursor, what)) } else { Ok(Name::new(name)) }
}

/// `[+]`, `[*2]`, `[:-1]`, `[u24]`.
fn operator(cursor: &mut Cursor) -> Parsed<Tree> {
    cursor.advance("[".len());
    skip(cursor);
    if cursor.eat(".") {
        let function = function(cursor)?;
        expect(cursor, "]")?;
        return Ok(Tree::Operator(Operator::Checked(function)));
    }
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
        (false, false) => Operator::Partial(*op, operand(cursor)?),
        (false, true) => Operator::Flipped(*op, operand(cursor)?),
    };
    expect(cursor, "]")?;
    Ok(Tree::Operator(operator))
}

/// The operand of an operator: a number, or its bits, as which upstream prints it. It prints up to 27 of them, of which 24 count.
fn operand(cursor: &mut Cursor) -> Parsed<Num> {
    const WRITTEN: u32 = (1 << 27) - 1;
    if !cursor.starts_with("0x") {
        return number(cursor);
    }
    let start = cursor.at();
    cursor.advance("0x".len());
    let digits = cursor.take_while(|c| c.is_ascii_hexdigit());
    match u32::from_str_radix(digits, 16) {
        Ok(bits) if bits <= WRITTEN => Ok(Num::u24(bits)),
        Ok(_) | Err(_) => {
            let message = format!("`0x{digits}` are not the bits of a number");
            Err(Box::new(Diagnostic::new(Code::BadLiteral, cursor.span_from(start), message)))
        }
    }
}

/// The longest symbol of a function that comes next.
fn function(cursor: &mut Cursor) -> Parsed<Function> {
    let fits = Function::all().filter(|function| cursor.starts_with(function.symbol()));
    match fits.max_by_key(|function| function.symbol().len()) {
        Some(function) => {
            cursor.advance(function.symbol().len());
            Ok(function)
        }
        None => Err(expected(cursor, "a function on numbers")),
    }
}

/// A number of 24 bits, or with its kind behind it of 32 bits: with a sign it is i24, with a point or as `+inf`, `-inf`, `+NaN` f24.
fn number(cursor: &mut Cursor) -> Parsed<Num> {
    let start = cursor.at();
    let text = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'));
    let span = cursor.span_from(start);
    let malformed = || Box::new(Diagnostic::new(Code::BadLiteral, span, format!("`{text}` is not a number")));
    if text.is_empty() {
        return Err(expected(cursor, "a number"));
    }
    let is_wide = |kind: &NumKind| text.ends_with(kind.name()) && !text.contains("0x");
    let wide = [NumKind::U32, NumKind::I32, NumKind::F32].into_iter().find(is_wide);
    let text = wide.map_or(text, |kind| text.strip_suffix(kind.name()).unwrap_or(text));
    let is_float = text.contains('.') || text.ends_with("inf") || text.ends_with("NaN");
    if is_float || text.contains('e') && !text.contains("0x") {
        let value: f32 = text.replace('_', "").parse().map_err(|_| malformed())?;
        return match wide {
            None => Ok(Num::f24(value)),
            Some(NumKind::F32) => Ok(Num::F32(value)),
            Some(_) => Err(malformed()),
        };
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
    let signed = text.starts_with(['+', '-']);
    let value = if text.starts_with('-') { -magnitude } else { magnitude };
    let kind = match (wide, signed) {
        (None, false) | (Some(NumKind::U32), false) => wide.unwrap_or(NumKind::U24),
        (None, true) | (Some(NumKind::I32), true) => wide.unwrap_or(NumKind::I24),
        (Some(_), _) => return Err(malformed()),
    };
    let literal =
        if signed { Some(LiteralValue::Signed(value)) } else { u32::try_from(value).ok().map(LiteralValue::Unsigned) };
    literal.and_then(|literal| literal.as_num(kind)).ok_or_else(|| {
        let (least, most) = match kind {
            NumKind::U24 => ("0", "16777215"),
            NumKind::I24 => ("-8388608", "+8388607"),
            NumKind::U32 => ("0", "4294967295"),
            NumKind::I32 => ("-2147483648", "+2147483647"),
            // Whole numbers are of neither.
            NumKind::F24 | NumKind::F32 => ("-inf", "+inf"),
        };
        let message = format!("this number is out of range: those of `{}` go from {least} to {most}", kind.name());
        let error = Diagnostic::new(Code::LiteralRange, span, message);
        Box::new(if wide.is_some() { error } else { error.hint("larger numbers say their kind: `4000000000u32`") })
    })
}
