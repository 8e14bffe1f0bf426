//! Numbers in nodes of their own, and Bend's functions on all six kinds of numbers, as functions of the IR: what [`boxed`] and
//! [`Function`] are on the host.
//!
//! `boxed.gir` has what is the same for all books. Written here is what depends on a book: the operators and the primitives that its definitions name, on the
//! kinds that numbers can come to be of. Books without any of it have `plain.gir` instead.

use super::numbers::{Gives, Operation, Used, convert, error, from_bits, operation, position_of, to_bits};
use crate::book::{Book, Semantics};
use crate::boxed::{self, Operand};
use crate::number::{self, Meaning};
use crate::word::Kind;
use girih_base::num::{BinOp, NumKind};
use girih_base::prim::Prim;
use girih_task::math::{self, MathFunction};
use girih_term::hvm::ast::Operator;
use girih_term::hvm::function::Function;
use std::collections::BTreeSet;
use std::fmt::Write;

const PLAIN: &str = include_str!("plain.gir");
const BOXED: &str = include_str!("boxed.gir");

/// Whether a book comes to numbers in nodes, or to numbers whose kind a choice keeps.
pub fn are_boxed(book: &Book) -> bool {
    let is_checked = |operator: Operator| matches!(operator, Operator::Checked(_));
    book.semantics != Semantics::Net
        || book.definitions.iter().any(|definition| {
            let template = &definition.template;
            let boxes = template.nodes.iter().any(|(kind, _)| *kind == Kind::Box);
            boxes || template.words().any(|word| operator(word).is_some_and(is_checked))
        })
}

fn operator(word: crate::word::Word) -> Option<Operator> {
    if word.kind() != Kind::Num {
        return None;
    }
    match number::meaning(word) {
        Meaning::Operator(operator) => Some(operator),
        Meaning::Number(_) | Meaning::Nonsense => None,
    }
}

/// What the kernels of a book ask about numbers.
pub fn text(book: &Book) -> String {
    let upstream = Used::of(book);
    let functions = upstream.functions();
    if !are_boxed(book) {
        return functions + PLAIN;
    }
    let reached = Reached::of(book, &upstream);
    let own = [reached.operators(&upstream), reached.primitives(), reached.choice()];
    own.into_iter().fold(functions, |text, more| text + &more) + BOXED
}

/// What a book can come to.
struct Reached {
    semantics: Semantics,
    operators: BTreeSet<BinOp>,
    primitives: Vec<Prim>,
    kinds: BTreeSet<NumKind>,
}

impl Reached {
    fn of(book: &Book, upstream: &Used) -> Reached {
        // Comparisons give u24, and effects answer with it. A choice subtracts.
        let operators = upstream.operators().map(|(op, _)| op).chain([BinOp::Sub]).collect();
        let semantics = book.semantics;
        let mut reached = Reached { semantics, operators, primitives: vec![], kinds: BTreeSet::from([NumKind::U24]) };
        for definition in book.definitions.iter() {
            let nodes = definition.template.nodes.iter().filter(|(kind, _)| *kind == Kind::Box);
            for (_, words) in nodes {
                if let Some(Operand::Number(number) | Operand::Partial(_, number)) = boxed::operand(*words) {
                    reached.kinds.insert(number.kind());
                }
            }
            for word in definition.template.words().filter(|word| word.kind() == Kind::Num) {
                match number::meaning(word) {
                    Meaning::Number(number) => _ = reached.kinds.insert(number.kind()),
                    Meaning::Operator(Operator::Cast(kind)) => _ = reached.kinds.insert(kind),
                    Meaning::Operator(Operator::Checked(function)) => reached.add(function),
                    Meaning::Operator(_) | Meaning::Nonsense => {}
                }
            }
        }
        reached
    }

    fn add(&mut self, function: Function) {
        match function {
            Function::Op(op) => _ = self.operators.insert(op),
            Function::Prim(prim) => {
                if let Prim::To(kind) = prim {
                    self.kinds.insert(kind);
                }
                if !self.primitives.contains(&prim) {
                    self.primitives.push(prim);
                }
            }
        }
    }

    /// `@boxed.of_kind`, an operator on two numbers of a kind, and `@boxed.upstream`, the operator of a code.
    fn operators(&self, upstream: &Used) -> String {
        let mut text = String::new();
        for kind in &self.kinds {
            self.operators_on(*kind, &mut text);
        }
        text.push_str("fn @boxed.of_kind(%kind: u32, %op: u32, %x: u32, %y: u32) -> u32, u32, u32 {\n");
        text.push_str("  %k: u32, %bits: u32, %error: u32 = switch.u32 %kind\n");
        for kind in &self.kinds {
            let (at, name) = (position_of(*kind), kind.name());
            let _ = writeln!(
                text,
                "  case {at} {{\n    %k{at}, %b{at}, %e{at} = call @boxed.{name}(%op, %x, %y)\n    yield %k{at}, %b{at}, %e{at}\n  }}"
            );
        }
        text.push_str("  default {\n    yield 0, 0, 0\n  }\n  return %k, %bits, %error\n}\n");
        text.push_str("fn @boxed.upstream(%code: u32) -> u32, bool, bool {\n");
        text.push_str("  %op: u32, %flipped: bool, %known: bool = switch.u32 %code\n");
        let codes: BTreeSet<(u32, u32, bool)> = upstream
            .operators()
            .flat_map(|(op, _)| [(op, false), (op, true)])
            .filter_map(|(op, flipped)| Some((number::operator_code(op, flipped)?, Function::Op(op).number(), flipped)))
            .collect();
        for (code, op, flipped) in codes {
            let _ = writeln!(text, "  case {code} {{\n    yield {op}, {flipped}, true\n  }}");
        }
        text.push_str("  default {\n    yield 0, false, false\n  }\n  return %op, %flipped, %known\n}\n");
        text
    }

    fn operators_on(&self, kind: NumKind, text: &mut String) {
        let (name, own) = (kind.name(), position_of(kind));
        let _ = writeln!(text, "fn @boxed.{name}(%op: u32, %x: u32, %y: u32) -> u32, u32, u32 {{");
        let _ = writeln!(text, "  %a = {}\n  %b = {}", from_bits(kind, "%x"), from_bits(kind, "%y"));
        text.push_str("  %k: u32, %bits: u32, %error: u32 = switch.u32 %op\n");
        for (i, op) in self.operators.iter().enumerate() {
            let Operation { lines, gives, error } = operation(*op, kind, i);
            let (gives, bits) = match gives {
                Gives::Truth(truth) => (0, truth),
                Gives::Number(number) => (own, format!("({})", to_bits(kind, &number))),
                Gives::Nothing => (0, "0".to_owned()),
            };
            let function = Function::Op(*op).number();
            let _ = writeln!(text, "  case {function} {{\n{lines}    yield {gives}, {bits}, {error}\n  }}");
        }
        text.push_str("  default {\n    yield 0, 0, 0\n  }\n  return %k, %bits, %error\n}\n");
    }

    /// `@boxed.apply`: a function on one or two numbers.
    fn primitives(&self) -> String {
        let unary =
            Function::all().filter(|function| function.arity() == 1).map(|function| function.number().to_string());
        let unary: Vec<String> = unary.collect();
        let mut text = format!(
            "fn @boxed.is_unary(%function: u32) -> bool {{\n  %is: bool = switch.u32 %function\n  case {} {{\n    yield true\n  }}\n  default {{\n    \
             yield false\n  }}\n  return %is\n}}\n",
            unary.join(", ")
        );
        for prim in &self.primitives {
            self.primitive(*prim, &mut text);
        }
        text.push_str("fn @boxed.apply(%function: u32, %ka: u32, %na: u32, %kb: u32, %nb: u32) -> u32, u32, u32 {\n");
        text.push_str("  %kind: u32, %bits: u32, %error: u32 = switch.u32 %function\n");
        for (i, prim) in self.primitives.iter().enumerate() {
            let number = Function::Prim(*prim).number();
            let _ = writeln!(
                text,
                "  case {number} {{\n    %k{i}, %n{i}, %e{i} = call @boxed.{}(%ka, %na, %kb, %nb)\n    yield %k{i}, %n{i}, %e{i}\n  }}",
                prim.name()
            );
        }
        text.push_str(
            "  default {\n    %k, %n, %e = call @boxed.operator(%function, %ka, %na, %kb, %nb)\n    yield %k, %n, %e\n  }\n  \
             return %kind, %bits, %error\n}\n",
        );
        text
    }

    fn primitive(&self, prim: Prim, text: &mut String) {
        let _ = writeln!(text, "fn @boxed.{}(%ka: u32, %na: u32, %kb: u32, %nb: u32) -> u32, u32, u32 {{", prim.name());
        let function = match prim {
            Prim::To(to) => return self.conversion(to, text),
            Prim::Log => MathFunction::Log,
            Prim::Atan2 => MathFunction::Atan2,
            Prim::Sin => MathFunction::Sin,
            Prim::Cos => MathFunction::Cos,
            Prim::Tan => MathFunction::Tan,
        };
        let (short, wide) = (position_of(NumKind::F24), position_of(NumKind::F32));
        let not_float = error::NOT_FLOAT;
        for number in ["a", "b"] {
            let _ = writeln!(
                text,
                "  if (ne.u32 (rem.u32 %k{number}, 3), {short}) {{\n    return 0, 0, (or.u32 {not_float}, (shl.u32 %k{number}, 4))\n  }}\n  \
                 %{number} = bitcast.f32 (call @boxed.widen(%k{number}, {wide}, %n{number}))"
            );
        }
        let value = if function.arity() == 1 {
            // Adding zero makes -0.0 positive, as f24 has it.
            format!("call @{}((select.f32 (eq.u32 %ka, {short}), (add.f32 0.0, %a), %a))", math::function(function))
        } else {
            format!("call @{}(%a, %b)", math::function(function))
        };
        let _ = writeln!(
            text,
            "  %value = {value}\n  %short = and.bool (eq.u32 %ka, {short}), (eq.u32 %kb, {short})\n  %rounded = call @{}(%value)\n  \
             %small = {}\n  %large = {}\n  return (select.u32 %short, {short}, {wide}), (select.u32 %short, %small, %large), 0\n}}",
            math::ROUND24,
            to_bits(NumKind::F24, "%rounded"),
            to_bits(NumKind::F32, "%value"),
        );
    }

    fn conversion(&self, to: NumKind, text: &mut String) {
        text.push_str("  %bits: u32 = switch.u32 %ka\n");
        for from in &self.kinds {
            let at = position_of(*from);
            let _ = writeln!(
                text,
                "  case {at} {{\n    %a{at} = {}\n    %t{at} = {}\n    yield ({})\n  }}",
                from_bits(*from, "%na"),
                convert(*from, to, &format!("%a{at}")),
                to_bits(to, &format!("%t{at}")),
            );
        }
        let _ = writeln!(text, "  default {{\n    yield 0\n  }}\n  return {}, %bits, 0\n}}", position_of(to));
    }

    /// `@choose`: the number of a choice, 0 or not; the number before it, of its kind; why there is none. What is no number chooses by its bits,
    /// and before it stands a u24.
    fn choice(&self) -> String {
        let mut ones = String::new();
        for kind in &self.kinds {
            let one = girih_base::num::Num::U24(1).to(*kind).bits();
            let _ = writeln!(ones, "  case {} {{\n    yield {one}\n  }}", position_of(*kind));
        }
        let (minus, mistake) = (Function::Op(BinOp::Sub).number(), error::NOT_A_NUMBER);
        let kinds = (Kind::Box as u32) << 4 | (Kind::Swi as u32) << 8;
        // In a net as upstream has it, the kind of a number in a word is not looked at.
        let by_bits = match self.semantics {
            Semantics::Net => "or.bool (eq.u32 %what, 2), (ne.u32 (and.u32 %x, 15), 10)",
            Semantics::Bend | Semantics::Values => "eq.u32 %what, 2",
        };
        format!(
            "fn @choose(%x: u32, %x1: u32, %x2: u32) -> u32, u32, u32, u32 {{
  %what, %kind, %bits, %function = call @boxed.what(%x, %x1, %x2)
  if (eq.u32 %what, 1) {{
    return 0, 0, 0, {}
  }}
  if ({by_bits}) {{
    return %bits, (or.u32 (shl.u32 (sub.u32 %bits, 1), 8), 11), 0, 0
  }}
  %one: u32 = switch.u32 %kind
{ones}  default {{
    yield 1
  }}
  %k, %less, %error = call @boxed.of_kind(%kind, {minus}, %bits, %one)
  %low, %high = call @boxed.pack(%k, %less)
  ; Nobody asks for what is before 0.
  return %bits, %low, (select.u32 (eq.u32 %bits, 0), 0, %high), 0
}}
",
            mistake | kinds
        )
    }
}
