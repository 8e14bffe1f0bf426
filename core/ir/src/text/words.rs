//! The words of the text form that stand neither in the table of operations nor in that of types: one list for reading and for
//! printing. Also which operations have a syntax of their own, and where a literal needs no type.

use super::lexer::is_name_byte;
use crate::attrs::{AttrKind, Cache, Eviction, MatrixLayout, Order, Precision, Scope, Update};
use crate::ops::{Op, Pattern};
use crate::types::{CoopUse, Scalar, Space, Type};
use std::borrow::Cow;

/// Words for the values of something.
pub type Words<T> = &'static [(&'static str, T)];

pub const ORDERS: Words<Order> = &[
    ("relaxed", Order::Relaxed),
    ("acquire", Order::Acquire),
    ("release", Order::Release),
    ("acquire_release", Order::AcquireRelease),
];
pub const SCOPES: Words<Scope> = &[("workgroup", Scope::Workgroup), ("device", Scope::Device)];
pub const CACHES: Words<Cache> = &[("streaming", Cache::Streaming), ("global", Cache::Global)];
pub const LAYOUTS: Words<MatrixLayout> = &[("row", MatrixLayout::Row), ("column", MatrixLayout::Column)];
pub const USES: Words<CoopUse> = &[("a", CoopUse::A), ("b", CoopUse::B), ("acc", CoopUse::Acc)];
pub const UPDATES: Words<Update> = &[
    ("add", Update::Add),
    ("min", Update::Min),
    ("max", Update::Max),
    ("and", Update::And),
    ("or", Update::Or),
    ("xor", Update::Xor),
    ("exchange", Update::Exchange),
];
pub const PRECISIONS: Words<Precision> =
    &[("ieee", Precision::Ieee), ("tf32", Precision::Tf32), ("tf32x3", Precision::Tf32x3)];
pub const EVICTIONS: Words<Eviction> = &[("first", Eviction::First), ("last", Eviction::Last)];
/// Memories as types.
pub const HANDLES: Words<Space> = &[("buffer", Space::Global), ("shared", Space::Shared), ("private", Space::Private)];

/// A syntax besides the table's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `if c { .. } else { .. }`.
    If,
    /// `switch.u32 v case 1 { .. } default { .. }`.
    Switch,
    /// `loop (%i: u32 = 0) { .. }`.
    Loop,
    /// `call @f(..)`.
    Call,
    /// `join @f %token`.
    Join,
    /// `cell.new @layout ..`.
    Cell,
    /// `global.get @global`.
    Global,
    /// `while c next ..`.
    While,
    /// `tile.reduce %x axis(0) (%a: f32, %b: f32) { .. }`.
    Element,
    /// `yield ..` and others that give values to what holds them.
    Jump,
}

/// The syntax of an operation, if it is not the table's.
pub fn syntax(op: Op) -> Option<Syntax> {
    const OWN: &[(Op, Syntax)] = &[
        (Op::If, Syntax::If),
        (Op::Switch, Syntax::Switch),
        (Op::Loop, Syntax::Loop),
        (Op::Call, Syntax::Call),
        (Op::Fork, Syntax::Call),
        (Op::Tail, Syntax::Call),
        (Op::Join, Syntax::Join),
        (Op::CellNew, Syntax::Cell),
        (Op::CellGet, Syntax::Cell),
        (Op::CellOpen, Syntax::Cell),
        (Op::CellFill, Syntax::Cell),
        (Op::ChainGrow, Syntax::Cell),
        (Op::GlobalGet, Syntax::Global),
        (Op::TileMap, Syntax::Element),
        (Op::TileReduce, Syntax::Element),
        (Op::TileScan, Syntax::Element),
        (Op::While, Syntax::While),
        (Op::Yield, Syntax::Jump),
        (Op::Break, Syntax::Jump),
        (Op::Continue, Syntax::Jump),
        (Op::Return, Syntax::Jump),
        (Op::Grid, Syntax::Jump),
    ];
    OWN.iter().find(|(o, _)| *o == op).map(|(_, syntax)| *syntax)
}

/// The word for a value.
pub fn word<T: PartialEq>(words: Words<T>, value: T) -> &'static str {
    words.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| word)
}

/// The scalar, vector, `token` or `term` of this name, or the handle.
pub fn simple_type(name: &str) -> Option<Type> {
    if let Some(scalar) = Scalar::from_name(name) {
        return Some(Type::Scalar(scalar));
    }
    if let Some((element, lanes)) = name.rsplit_once('x') {
        let (element, lanes) = (Scalar::from_name(element)?, lanes.parse::<u32>().ok()?);
        return Type::is_short_vector(element, lanes).then_some(Type::Vector(element, lanes as u8));
    }
    match name {
        "token" => Some(Type::Token),
        "term" => Some(Type::Term),
        _ => HANDLES.iter().find(|(word, _)| *word == name).map(|(_, space)| Type::Memory(*space)),
    }
}

/// Whether an attribute is written behind the operands, as `name` or `name(..)`; others have a place of their own.
pub fn is_written_behind(kind: AttrKind) -> bool {
    use AttrKind::*;
    match kind {
        Dim | Callee | Cases | Offset | SourceOffset | Cell | Global => false,
        NoWrap | Total | Order | Scope | Spaces | Cache | Volatile | Unroll | Pending | Shape | MatrixA | MatrixB
        | Layout | Code | Field | Flat | Axis | Axes | Reverse | Update | Precision | Multiple | Contiguous
        | Constancy | Eviction | Text => true,
    }
}

/// The type that a literal has at a place, if the table says it.
pub fn literal_type(pattern: Pattern, ty: Option<Type>) -> Option<Type> {
    match pattern {
        Pattern::T => ty,
        Pattern::Element | Pattern::Parts => ty.and_then(Type::element).map(Type::Scalar),
        Pattern::Bool => Some(ty.map_or(Type::BOOL, Type::truth)),
        // A literal there is one for all elements.
        Pattern::Inside => Some(Type::BOOL),
        Pattern::Filler => ty.and_then(Type::element).map(Type::Scalar),
        Pattern::U32 | Pattern::Index => Some(Type::U32),
        Pattern::Ballot
        | Pattern::Mask
        | Pattern::Memory(_)
        | Pattern::Source
        | Pattern::Aggregate
        | Pattern::First
        | Pattern::Fragment
        | Pattern::Token
        | Pattern::Term
        | Pattern::Block
        | Pattern::AnyBlock
        | Pattern::Indices
        | Pattern::Rest => None,
    }
}

/// What the table says about an operation's operand of this position.
pub fn pattern(op: Op, position: usize) -> Option<Pattern> {
    let patterns = op.row().operands;
    patterns.get(position).or(patterns.last().filter(|p| repeats(**p))).copied()
}

/// Whether a pattern stands for any number of operands.
pub fn repeats(pattern: Pattern) -> bool {
    matches!(pattern, Pattern::Rest | Pattern::Parts)
}

/// A name as it is written behind `%` or `@`: in quotes if it has other characters than names have.
pub fn quoted(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.bytes().all(is_name_byte) {
        return Cow::Borrowed(name);
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
    out.push('"');
    Cow::Owned(out)
}

/// The types of the operands of an operation on cells of a layout that stand before the fields.
pub fn before_fields(op: Op) -> &'static [Type] {
    if op == Op::CellNew {
        &[]
    } else if op == Op::ChainGrow {
        &[Type::Term, Type::U32, Type::Term]
    } else {
        &[Type::Term]
    }
}

/// The name that is written so.
pub fn unquoted(written: &str) -> Cow<'_, str> {
    let Some(inner) = written.strip_prefix('"') else { return Cow::Borrowed(written) };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next().map(|c| if c == 'n' { '\n' } else { c })),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a value's name is a number, which stands for no name.
pub fn is_number(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_digit())
}
