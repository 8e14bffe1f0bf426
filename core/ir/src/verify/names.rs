//! How messages speak of values, types and operations, and where a value comes from.

use super::form::Form;
use crate::function::{Def, Function, Inst, ValueId};
use crate::types::Type;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Span;

/// A value as a message names it.
pub(super) fn value(function: &Function, id: ValueId) -> String {
    let value = &function.values[id];
    match (&value.name, value.def) {
        (Some(name), _) => format!("`%{name}`"),
        (None, Def::Constant(bits)) => constant(value.ty, bits),
        (None, Def::Result(inst, _)) => {
            function.insts.get(inst).map_or("a value".into(), |inst| format!("the result of `{}`", inst.op.name()))
        }
        (None, Def::Argument(..)) => "a value that the loop carries".into(),
        (None, Def::Param(_)) => "a parameter".into(),
        (None, Def::Specialisation(_)) => "a specialisation constant".into(),
        (None, Def::Memory(_)) => "a memory".into(),
    }
}

fn constant(ty: Type, bits: u64) -> String {
    match ty {
        Type::BOOL => format!("`{}`", bits != 0),
        Type::F32 => format!("`{}`", f32::from_bits(bits as u32)),
        Type::Scalar(s) if s.is_signed() => {
            let above = 64 - s.bits();
            format!("`{}`", ((bits << above) as i64) >> above)
        }
        Type::Scalar(s) if s.is_integer() => format!("`{bits}`"),
        _ => "the constant".into(),
    }
}

/// Where a value is defined, if that has a place in the text.
pub(super) fn origin(function: &Function, form: &Form, id: ValueId) -> Span {
    match function.values[id].def {
        Def::Result(inst, _) => function.insts.get(inst).map_or(Span::NONE, |inst| inst.span),
        Def::Argument(region, _) => form.owner(region).map_or(Span::NONE, |inst| function.insts[inst].span),
        Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) => Span::NONE,
    }
}

/// A diagnostic about an instruction and one of its operands: points at both.
pub(super) fn about(
    code: Code,
    function: &Function,
    form: &Form,
    inst: &Inst,
    operand: ValueId,
    message: String,
) -> Diagnostic {
    let from = origin(function, form, operand);
    let diagnostic = Diagnostic::new(code, inst.span, message);
    if from == inst.span {
        return diagnostic;
    }
    let what = format!("{} is defined here, of type `{}`", value(function, operand), function.ty(operand));
    diagnostic.label(from, what)
}

/// An instruction's operation with its suffix, as it is printed.
pub(super) fn operation(inst: &Inst) -> String {
    match inst.ty {
        Some(ty) => format!("`{}.{ty}`", inst.op.name()),
        None => format!("`{}`", inst.op.name()),
    }
}

/// `1 operand`, `2 operands`.
pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
