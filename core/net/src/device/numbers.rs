//! `@numbers.meet`: what two words that are numbers or operators give that meet in an operation, as a function of the IR.
//!
//! Only the operators and kinds that a book can come to are written: an operator comes from one that stands in the book, a float from a float or
//! a conversion. The meaning is that of [`number::operate`].

use crate::book::Book;
use crate::number::{self, Meaning};
use crate::word::{Kind, Word};
use girih_base::num::{BinOp, NumKind};
use girih_task::math::{self, MathFunction};
use girih_term::hvm::ast::Operator;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The errors of a run, in the lower bits of the word that says why it ended.
pub mod error {
    /// A division by zero.
    pub const DIVISION: u32 = 1;
    /// An operator that a kind of numbers does not have: the operator's position in [`BinOp::ALL`](girih_base::num::BinOp::ALL) and the kind's.
    pub const UNSUPPORTED: u32 = 2;
    /// A definition that duplicates is duplicated: which one.
    pub const COPIED: u32 = 3;
    /// Two ports meet that no program makes meet: their kinds.
    pub const MISTAKE: u32 = 4;
    /// There is no room for redexes.
    pub const FULL: u32 = 5;
    /// Numbers of two kinds meet: which, by their positions in [`NumKind::ALL`](girih_base::num::NumKind::ALL).
    pub const MIXED: u32 = 6;
    /// A number is no float: its kind's position.
    pub const NOT_FLOAT: u32 = 7;
    /// A number is needed, and these kinds of ports are there.
    pub const NOT_A_NUMBER: u32 = 8;
}

/// What can be met in a book's operations.
#[derive(Debug, Default)]
pub struct Used {
    operators: BTreeSet<(BinOp, bool)>,
    casts: BTreeSet<u32>,
    floats: bool,
}

impl Used {
    /// What a book can come to.
    pub fn of(book: &Book) -> Used {
        let mut used = Used::default();
        let words = book.definitions.iter().flat_map(|definition| definition.template.words());
        words.filter(|word| word.kind() == Kind::Num).for_each(|word| used.add(word));
        used
    }

    fn add(&mut self, word: Word) {
        match number::meaning(word) {
            Meaning::Number(number) => self.floats |= number.kind() == NumKind::F24,
            Meaning::Operator(operator) => match operator {
                Operator::Symbol(op) | Operator::Partial(op, _) => drop(self.operators.insert((op, false))),
                Operator::FlippedSymbol(op) | Operator::Flipped(op, _) => drop(self.operators.insert((op, true))),
                Operator::Cast(kind) => {
                    self.floats |= kind == NumKind::F24;
                    self.casts.insert(number::code(kind));
                }
                Operator::Checked(_) => {}
            },
            Meaning::Nonsense => {}
        }
    }

    /// The operators, each with whether its operands are exchanged.
    pub fn operators(&self) -> impl Iterator<Item = (BinOp, bool)> {
        self.operators.iter().copied()
    }

    /// The text of `@numbers.meet` and of what it calls of its own.
    pub fn functions(&self) -> String {
        let mut text = String::new();
        let kinds = [NumKind::U24, NumKind::I24, NumKind::F24];
        let kinds = || kinds.into_iter().filter(|kind| self.floats || *kind != NumKind::F24);
        for kind in kinds() {
            text.push_str(&self.of_kind(kind));
        }
        text.push_str(&self.cast(kinds()));
        let mut apply = String::new();
        for kind in kinds() {
            let (code, name) = (number::code(kind), kind.name());
            let (first, second) = (from_bits(kind, "%l"), from_bits(kind, "%r"));
            let _ = writeln!(
                apply,
                "  case {code} {{\n    %a{code} = {first}\n    %b{code} = {second}\n    %v{code}, %e{code} = call @numbers.{name}(%op, %a{code}, %b{code})\n    \
                 yield %v{code}, %e{code}\n  }}"
            );
        }
        let symbols = self.symbols();
        let zero = number::unsigned(0).0;
        let _ = write!(
            text,
            r"fn @numbers.symbol(%payload: u32) -> bool {{
  %code = and.u32 %payload, 31
  %value = shr.u32 %payload, 5
  %known: bool = switch.u32 %value {symbols} default {{
    yield false
  }}
  return (and.bool (eq.u32 %code, 0), %known)
}}
fn @numbers.apply(%operator: u32, %number: u32) -> u32, u32 {{
  %op = and.u32 %operator, 31
  %partial = shr.u32 %operator, 5
  %value = shr.u32 %number, 5
  %flipped: bool = switch.u32 %op {flipped} default {{
    yield false
  }}
  %l = select.u32 %flipped, %value, %partial
  %r = select.u32 %flipped, %partial, %value
  %word: u32, %error: u32 = switch.u32 (and.u32 %number, 31) {apply}  default {{
    yield {zero}, 0
  }}
  return %word, %error
}}
fn @numbers.meet(%first: u32, %second: u32) -> u32, u32 {{
  %a = shr.u32 %first, 3
  %b = shr.u32 %second, 3
  %is_a = lt.u32 (sub.u32 (and.u32 %a, 31), 1), 3
  %is_b = lt.u32 (sub.u32 (and.u32 %b, 31), 1), 3
  %symbol_a = call @numbers.symbol(%a)
  %symbol_b = call @numbers.symbol(%b)
  ; An operator that is known, partial or not, has a code of its own or stands in a symbol.
  %partial_a = gt.u32 (and.u32 %a, 31), 3
  %partial_b = gt.u32 (and.u32 %b, 31), 3
  %operator = select.u32 (or.bool %symbol_a, (and.bool %partial_a, (not.bool %symbol_b))), %a, %b
  %operand = select.u32 (or.bool %symbol_a, (and.bool %partial_a, (not.bool %symbol_b))), %b, %a
  %symbol = or.bool %symbol_a, %symbol_b
  ; Both are numbers, both are symbols or both are partial, or one means nothing.
  %same = or.bool (or.bool (and.bool %is_a, %is_b), (and.bool %symbol_a, %symbol_b)), (and.bool %partial_a, %partial_b)
  %means_a = or.bool (or.bool %is_a, %symbol_a), %partial_a
  %means_b = or.bool (or.bool %is_b, %symbol_b), %partial_b
  if (or.bool %same, (not.bool (and.bool %means_a, %means_b))) {{
    return {zero}, 0
  }}
  if %symbol {{
    %code = and.u32 (shr.u32 %operator, 5), 31
    if (and.bool (lt.u32 %code, 4), (lt.u32 (sub.u32 (and.u32 %operand, 31), 1), 3)) {{
      return (call @numbers.cast(%code, %operand)), 0
    }}
    return (or.u32 (shl.u32 (or.u32 (shl.u32 (shr.u32 %operand, 5), 5), %code), 3), 3), 0
  }}
  %word, %error = call @numbers.apply(%operator, %operand)
  return %word, %error
}}
",
            flipped = self.flipped(),
        );
        text
    }

    fn symbols(&self) -> String {
        let casts = self.casts.iter().copied();
        let all: Vec<String> = casts.chain(self.codes(|_| true)).map(|code| code.to_string()).collect();
        if all.is_empty() { String::new() } else { format!("case {} {{\n    yield true\n  }}", all.join(", ")) }
    }

    fn flipped(&self) -> String {
        let all: Vec<String> = self.codes(|flipped| flipped).map(|code| code.to_string()).collect();
        if all.is_empty() { String::new() } else { format!("case {} {{\n    yield true\n  }}", all.join(", ")) }
    }

    fn codes(&self, wanted: impl Fn(bool) -> bool) -> impl Iterator<Item = u32> {
        let codes = self.operators.iter().filter(move |(_, flipped)| wanted(*flipped));
        codes.filter_map(|(op, flipped)| number::operator_code(*op, *flipped))
    }

    /// A function of the code of an operator and two numbers of a kind.
    fn of_kind(&self, kind: NumKind) -> String {
        let (ty, name) = (type_of(kind), kind.name());
        let mut text = format!("fn @numbers.{name}(%op: u32, %a: {ty}, %b: {ty}) -> u32, u32 {{\n");
        let _ = writeln!(text, "  %word: u32, %error: u32 = switch.u32 %op");
        // They are in order.
        let mut bases: Vec<BinOp> = self.operators.iter().map(|(op, _)| *op).collect();
        bases.dedup();
        for (i, op) in bases.into_iter().enumerate() {
            let codes = [false, true].into_iter().filter_map(|flipped| number::operator_code(op, flipped));
            let codes: Vec<String> = codes.map(|code| code.to_string()).collect();
            if codes.is_empty() {
                continue;
            }
            let Operation { lines, gives, error } = operation(op, kind, i);
            let word = match gives {
                Gives::Truth(truth) => packed(NumKind::U24, &truth),
                Gives::Number(number) => packed(kind, &number),
                Gives::Nothing => "0".to_owned(),
            };
            let _ = writeln!(text, "  case {} {{\n{lines}    yield {word}, {error}\n  }}", codes.join(", "));
        }
        let _ =
            writeln!(text, "  default {{\n    yield {}, 0\n  }}\n  return %word, %error\n}}", number::unsigned(0).0);
        text
    }

    /// `@numbers.cast`: a number as one of another kind.
    fn cast(&self, kinds: impl Iterator<Item = NumKind> + Clone) -> String {
        let zero = number::unsigned(0).0;
        let mut text =
            String::from("fn @numbers.cast(%to: u32, %number: u32) -> u32 {\n  %value = shr.u32 %number, 5\n");
        let _ = writeln!(text, "  %word: u32 = switch.u32 (or.u32 (shl.u32 %to, 2), (and.u32 %number, 3))");
        let wanted = |kind: &NumKind| self.casts.contains(&number::code(*kind));
        for (i, to) in kinds.clone().filter(wanted).enumerate() {
            for (j, from) in kinds.clone().enumerate() {
                let id = format!("{i}{j}");
                let (given, code) = (from_bits(from, "%value"), number::code(to) << 2 | number::code(from));
                let made = convert(from, to, &format!("%n{id}"));
                let _ = writeln!(
                    text,
                    "  case {code} {{\n    %n{id} = {given}\n    %m{id} = {made}\n    yield {}\n  }}",
                    packed(to, &format!("%m{id}"))
                );
            }
        }
        let _ = writeln!(text, "  default {{\n    yield {zero}\n  }}\n  return %word\n}}");
        text
    }
}

pub(super) fn type_of(kind: NumKind) -> &'static str {
    match kind {
        NumKind::U24 | NumKind::U32 => "u32",
        NumKind::I24 | NumKind::I32 => "i32",
        NumKind::F24 | NumKind::F32 => "f32",
    }
}

pub(super) fn conversion(how: math::Conversion, ty: &str, value: &str) -> String {
    match how {
        math::Conversion::Same => format!("select.{ty} true, {value}, {value}"),
        math::Conversion::Convert => format!("convert.{ty} {value}"),
        math::Conversion::Bitcast => format!("bitcast.{ty} {value}"),
        math::Conversion::Call(name) => format!("call @{name}({value})"),
    }
}

pub(super) fn from_bits(kind: NumKind, value: &str) -> String {
    conversion(math::from_bits(kind), type_of(kind), value)
}

/// The bits of a number of a kind.
pub(super) fn to_bits(kind: NumKind, value: &str) -> String {
    conversion(math::to_bits(kind), "u32", value)
}

pub(super) fn convert(from: NumKind, to: NumKind, value: &str) -> String {
    conversion(math::conversion(from, to), type_of(to), value)
}

/// The word of a number of a kind.
fn packed(kind: NumKind, value: &str) -> String {
    let bits = format!("({})", to_bits(kind, value));
    format!("(or.u32 (shl.u32 {bits}, 8), {})", number::code(kind) << 3 | 3)
}

/// What an operation gives, as an operand of the IR.
pub(super) enum Gives {
    /// 1 or 0, a u32, which is a u24.
    Truth(String),
    /// A number of the kind of its operands.
    Number(String),
    /// There is no such operation; the error says so.
    Nothing,
}

/// An operation on `%a` and `%b`: lines before it, what it gives, and the error, 0 for none.
pub(super) struct Operation {
    pub lines: String,
    pub gives: Gives,
    pub error: String,
}

/// An operation on two numbers of a kind, which stand in the IR as [`math::Conversion`] says. The names of its lines end in a number.
pub(super) fn operation(op: BinOp, kind: NumKind, id: usize) -> Operation {
    let ty = type_of(kind);
    let fine = |lines: String, gives: Gives| Operation { lines, gives, error: "0".to_owned() };
    let truth = |condition: String| fine(String::new(), Gives::Truth(format!("(convert.u32 ({condition}))")));
    let compared = |name: &str| truth(format!("{name}.{ty} %a, %b"));
    let unsupported = || {
        let position = BinOp::ALL.iter().position(|known| *known == op).unwrap_or(0) as u32;
        let error = error::UNSUPPORTED | position << 4 | position_of(kind) << 12;
        Operation { lines: String::new(), gives: Gives::Nothing, error: error.to_string() }
    };
    let brought = |value: String| {
        let narrow = match kind {
            NumKind::U24 => format!("call @bend.u32_to_u24(({value}))"),
            NumKind::I24 => format!("call @bend.i32_to_i24(({value}))"),
            NumKind::F24 => format!("call @{}(({value}))", math::ROUND24),
            NumKind::U32 | NumKind::I32 | NumKind::F32 => value,
        };
        fine(format!("    %c{id} = {narrow}\n"), Gives::Number(format!("%c{id}")))
    };
    let plain = |name: &str| brought(format!("{name}.{ty} %a, %b"));
    let call =
        |function: MathFunction, arguments: &str| brought(format!("call @{}({arguments})", math::function(function)));
    let divided = |name: &str| Operation { error: format!("(convert.u32 (eq.{ty} %b, 0))"), ..plain(name) };
    let is_24 = kind == NumKind::F24;
    match (op, kind.is_float()) {
        (BinOp::Add, _) => plain("add"),
        (BinOp::Sub, _) => plain("sub"),
        (BinOp::Mul, _) => plain("mul"),
        (BinOp::Div, false) => divided("div"),
        (BinOp::Rem, false) => divided("rem"),
        (BinOp::Div, true) => plain("div"),
        (BinOp::Rem, true) => call(MathFunction::Remainder, "%a, %b"),
        (BinOp::Pow, true) => call(MathFunction::Pow, "%a, %b"),
        (BinOp::Pow, false) => unsupported(),
        (BinOp::Eq, _) => compared("eq"),
        (BinOp::Ne, _) => compared("ne"),
        (BinOp::Lt, _) => compared("lt"),
        (BinOp::Gt, _) => compared("gt"),
        // For f24 these are the negations of the other two, which hold where an operand is NaN.
        (BinOp::Le, _) if is_24 => truth("not.bool (gt.f32 %a, %b)".to_owned()),
        (BinOp::Ge, _) if is_24 => truth("not.bool (lt.f32 %a, %b)".to_owned()),
        (BinOp::Le, _) => compared("le"),
        (BinOp::Ge, _) => compared("ge"),
        (BinOp::And, false) => plain("and"),
        (BinOp::Or, false) => plain("or"),
        (BinOp::Xor, false) => plain("xor"),
        (BinOp::Shl | BinOp::Shr, false) if !op.supports(kind) => unsupported(),
        (BinOp::Shl, false) => plain("shl"),
        (BinOp::Shr, false) => plain("shr"),
        (BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr, true) if !is_24 => unsupported(),
        // Upstream's floats have functions under these symbols.
        (BinOp::And, true) => call(MathFunction::Atan2, "%a, %b"),
        (BinOp::Or, true) => call(MathFunction::Log, "%b, %a"),
        (BinOp::Xor, true) => call(MathFunction::Pow, "%a, %b"),
        (BinOp::Shl, true) => call(MathFunction::Sin, "(add.f32 %a, %b)"),
        (BinOp::Shr, true) => call(MathFunction::Tan, "(add.f32 %a, %b)"),
    }
}

/// The position of a kind in [`NumKind::ALL`].
pub(super) fn position_of(kind: NumKind) -> u32 {
    // Each kind stands in the list.
    NumKind::ALL.iter().position(|known| *known == kind).unwrap_or(0) as u32
}
