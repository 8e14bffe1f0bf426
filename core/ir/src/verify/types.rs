//! Suffixes, operands and results against the table's rows; constants against their types.

use super::names;
use super::structure::Context;
use crate::function::{Def, Inst, ValueId};
use crate::ops::{Op, Pattern, Suffix};
use crate::types::{MOST_REGS, Scalar, ScalarSet, Type};
use girih_base::diag::Code;

/// Whether an operation is made for its suffix type; reports it if not.
pub(super) fn suffix(cx: &mut Context<'_>, inst: &Inst) -> bool {
    let row = inst.op.row();
    let fits = match (row.suffix, inst.ty) {
        (Suffix::None | Suffix::Dim, ty) => ty.is_none(),
        (_, None) => false,
        (Suffix::Scalar(set) | Suffix::Lanes(set), Some(ty @ Type::Tile(tile))) => {
            inst.op.lifts() && set.has(tile.element) && is_possible(ty)
        }
        (Suffix::Tile(set) | Suffix::Block(set), Some(Type::Tile(tile))) => set.has(tile.element),
        (Suffix::Block(set), Some(Type::Scalar(s))) => set.has(s),
        (Suffix::Tile(_) | Suffix::Block(_), Some(_)) => false,
        (Suffix::Scalar(set), Some(Type::Scalar(s))) => set.has(s),
        (Suffix::Scalar(_), Some(_)) => false,
        (Suffix::Lanes(set), Some(Type::Scalar(s))) => set.has(s),
        (Suffix::Lanes(set), Some(Type::Vector(s, n))) => set.has(s) && Type::is_short_vector(s, n.into()),
        (Suffix::Lanes(_), Some(_)) => false,
        (Suffix::Aggregate(set), Some(ty @ (Type::Vector(s, _) | Type::Regs(s, _)))) => set.has(s) && is_possible(ty),
        (Suffix::Aggregate(_), Some(_)) => false,
        (Suffix::Coop, Some(ty)) => matches!(ty, Type::Coop(..)) && is_possible(ty),
        (Suffix::Any, Some(ty)) => !matches!(ty, Type::Memory(_)) && is_possible(ty),
    };
    if !fits {
        let takes = match row.suffix {
            Suffix::None => "it has no type suffix".into(),
            Suffix::Dim => "its suffix is a dimension, `.x`, `.y` or `.z`".into(),
            Suffix::Scalar(set) => format!("it works on {}", listed(set)),
            Suffix::Lanes(set) => {
                format!("it works on {} and short vectors of them (16 bytes at most)", listed(set))
            }
            Suffix::Aggregate(_) => "it works on short vectors (at most 16 bytes) and `regs<..>`".into(),
            Suffix::Tile(set) => format!("it works on tiles of {}", listed(set)),
            Suffix::Block(set) => format!("it works on {} and tiles of them", listed(set)),
            Suffix::Coop => "it works on fragments, `coop<..>`".into(),
            Suffix::Any => "it works on every type except memories".into(),
        };
        let message = match inst.ty {
            Some(_) => format!("there is no {}", names::operation(inst)),
            None => format!("`{}` needs a type suffix", row.name),
        };
        cx.report(Code::IrSuffix, inst, message, &takes);
    }
    fits
}

fn listed(set: ScalarSet) -> String {
    let names: Vec<&str> = set.iter().map(Scalar::name).collect();
    names.join(", ")
}

/// Whether values can have a type at all.
pub(super) fn is_possible(ty: Type) -> bool {
    match ty {
        Type::Scalar(_) | Type::Token | Type::Term | Type::Memory(_) => true,
        Type::Vector(s, n) => Type::is_short_vector(s, n.into()),
        Type::Regs(s, n) => s != Scalar::Bool && (1..=MOST_REGS).contains(&n),
        Type::Coop(_, shape, s) => s != Scalar::Bool && shape.m > 0 && shape.n > 0 && shape.k > 0,
        // No other shape can be said.
        Type::Tile(_) => true,
    }
}

/// Whether the operands are those that the row asks for; reports what is not.
pub(super) fn operands(cx: &mut Context<'_>, inst: &Inst) -> bool {
    let patterns = inst.op.row().operands;
    let rest = patterns.last() == Some(&Pattern::Rest);
    let asked = match patterns {
        [Pattern::Parts] => inst.ty.map_or(0, Type::lanes) as usize,
        _ => patterns.len() - usize::from(rest),
    };
    let given = inst.operands.len();
    if given < asked || (given > asked && !rest) {
        let (name, asked) = (names::operation(inst), names::count(asked, "operand"));
        let least = if rest { "at least " } else { "" };
        let message = format!("{name} takes {least}{asked}, here are {given}");
        let hint =
            if inst.op.accesses() > 0 { "a memory and its index count as two" } else { "see its row in the reference" };
        cx.report(Code::IrCount, inst, message, hint);
        return false;
    }
    let before = cx.found.len();
    for (i, operand) in inst.operands.iter().enumerate() {
        if !constant(cx, inst, *operand) {
            continue;
        }
        let pattern = match patterns {
            [Pattern::Parts] => Pattern::Element,
            _ => patterns.get(i).copied().unwrap_or(Pattern::Rest),
        };
        if !fits(cx, inst, pattern, *operand) {
            mismatch(cx, inst, pattern, *operand);
        }
    }
    if matches!(inst.op, Op::Extract | Op::Insert) && cx.found.len() == before {
        position(cx, inst);
    }
    cx.found.len() == before
}

/// Whether a constant is a number of its type; other values are.
fn constant(cx: &mut Context<'_>, inst: &Inst, value: ValueId) -> bool {
    let Def::Constant(bits) = cx.function.values[value].def else { return true };
    let ty = cx.ty(value);
    let fits = matches!(ty, Type::Scalar(s) if bits & !s.mask() == 0);
    if !fits {
        let message = format!("the constant {bits:#x} is not a `{ty}`");
        cx.report(Code::IrConstant, inst, message, "constants are scalars, their bits zero above the type's width");
    }
    fits
}

/// The element that `extract` and `insert` name.
fn position(cx: &mut Context<'_>, inst: &Inst) {
    let lanes = cx.ty(inst.operands[0]).lanes();
    if let Some(at) = cx.function.as_constant(inst.operands[1])
        && at >= u64::from(lanes)
    {
        let message = format!("there is no element {at} in `{}`", cx.ty(inst.operands[0]));
        cx.report(Code::IrConstant, inst, message, &format!("its elements are 0 to {}", lanes.saturating_sub(1)));
    }
}

fn fits(cx: &Context<'_>, inst: &Inst, pattern: Pattern, operand: ValueId) -> bool {
    let found = cx.ty(operand);
    match pattern {
        Pattern::T
        | Pattern::Element
        | Pattern::Bool
        | Pattern::U32
        | Pattern::Ballot
        | Pattern::Mask
        | Pattern::First
        | Pattern::Token
        | Pattern::Term => expected(cx, inst, pattern) == Some(found),
        Pattern::Block => {
            matches!(found, Type::Scalar(_) | Type::Tile(_)) && found.element() == inst.ty.and_then(Type::element)
        }
        Pattern::AnyBlock => matches!(found, Type::Scalar(_) | Type::Tile(_)),
        Pattern::Indices => {
            let integer = found.element().is_some_and(|s| s.is_integer() && s.bits() >= 32);
            integer
                && matches!(found, Type::Scalar(_) | Type::Tile(_))
                && found.shape() == inst.ty.and_then(Type::shape)
        }
        // What is counted is not of the result's shape: `tiles` looks at that.
        Pattern::Inside if inst.op == Op::TileHistogram => found.element() == Some(Scalar::Bool),
        Pattern::Inside => found == Type::BOOL || inst.ty.map(Type::truth) == Some(found),
        Pattern::Filler => inst.ty == Some(found) || inst.ty.and_then(Type::element).map(Type::Scalar) == Some(found),
        Pattern::Index => matches!(found, Type::U32 | Type::U64),
        Pattern::Memory(spaces) => matches!(found, Type::Memory(space) if spaces.contains(&space)),
        Pattern::Source => source(inst, found),
        // Its accumulator is wider than its factors; see the rules of asynchronous operations.
        Pattern::Aggregate if inst.op == Op::Wgmma && matches!(found, Type::Regs(..)) => true,
        Pattern::Aggregate => {
            matches!(found, Type::Vector(s, _) | Type::Regs(s, _) if Some(Type::Scalar(s)) == inst.ty)
        }
        Pattern::Fragment => matches!(found, Type::Coop(..)),
        // What else it may be is said by the region, the callee or the function.
        Pattern::Rest => true,
        // Its elements are looked at one by one.
        Pattern::Parts => false,
    }
}

/// The only type that a pattern lets pass, if there is one.
fn expected(cx: &Context<'_>, inst: &Inst, pattern: Pattern) -> Option<Type> {
    match pattern {
        Pattern::T => inst.ty,
        Pattern::Element => inst.ty.and_then(Type::element).map(Type::Scalar),
        Pattern::Bool => Some(inst.ty.map_or(Type::BOOL, Type::truth)),
        Pattern::U32 => Some(Type::U32),
        Pattern::Ballot => Some(Type::Vector(Scalar::U32, 4)),
        Pattern::Mask => inst.ty.map(|ty| ty.with_element(Scalar::U32)),
        Pattern::First => inst.operands.first().map(|v| cx.ty(*v)),
        Pattern::Token => Some(Type::Token),
        Pattern::Term => Some(Type::Term),
        Pattern::Index
        | Pattern::Memory(_)
        | Pattern::Source
        | Pattern::Aggregate
        | Pattern::Fragment
        | Pattern::Rest
        | Pattern::Parts
        | Pattern::Block
        | Pattern::AnyBlock
        | Pattern::Indices
        | Pattern::Inside
        | Pattern::Filler => None,
    }
}

/// What `convert` and `bitcast` take for a result of type T.
fn source(inst: &Inst, found: Type) -> bool {
    let Some(ty) = inst.ty else { return false };
    if let (Type::Tile(from), Type::Tile(to)) = (found, ty) {
        let same_bits = from.element != Scalar::Bool && from.element.bits() == to.element.bits();
        return from.shape == to.shape && (inst.op != Op::Bitcast || same_bits);
    }
    let (Type::Scalar(element) | Type::Vector(element, _)) = found else { return false };
    if inst.op == Op::Bitcast {
        return element != Scalar::Bool && found.bytes() == ty.bytes();
    }
    found.lanes() == ty.lanes()
}

fn mismatch(cx: &mut Context<'_>, inst: &Inst, pattern: Pattern, operand: ValueId) {
    let (name, found, operation) = (cx.name(operand), cx.ty(operand), names::operation(inst));
    let is_memory = matches!(found, Type::Memory(_));
    let asked = match pattern {
        Pattern::Index => "an index, `u32` or `u64`".into(),
        Pattern::Memory(spaces) => {
            format!("a memory ({})", spaces.iter().map(|s| s.name()).collect::<Vec<_>>().join(", "))
        }
        Pattern::Source if inst.op == Op::Bitcast => {
            format!("something of {} bytes", inst.ty.map_or(0, Type::bytes))
        }
        Pattern::Source => "a scalar or vector of as many lanes".into(),
        Pattern::Aggregate => match inst.ty {
            Some(ty) => format!("a short vector or `regs` of `{ty}`"),
            None => "a short vector or `regs`".into(),
        },
        Pattern::Fragment => "a fragment, `coop<..>`".into(),
        Pattern::Block => match inst.ty.and_then(Type::element) {
            Some(element) => format!("a `{element}` or a tile of them"),
            None => "a tile".into(),
        },
        Pattern::AnyBlock => "a scalar or a tile".into(),
        Pattern::Indices => format!("an integer of 32 or 64 bits for each element of `{}`", shown(inst)),
        Pattern::Inside => "one `bool`, or one for each element".into(),
        Pattern::Filler => format!("an element of `{0}`, or a `{0}`", shown(inst)),
        Pattern::T
        | Pattern::Element
        | Pattern::Bool
        | Pattern::U32
        | Pattern::Ballot
        | Pattern::Mask
        | Pattern::First
        | Pattern::Token
        | Pattern::Term
        | Pattern::Rest
        | Pattern::Parts => match expected(cx, inst, pattern) {
            Some(ty) => format!("`{ty}`"),
            None => "another type".into(),
        },
    };
    if is_memory && !matches!(pattern, Pattern::Memory(_)) {
        let message = format!("{name} is a memory and not a value: {operation} takes {asked} here");
        return cx.blame(Code::IrHandle, inst, operand, message, "read it with `load`");
    }
    let wrong_space = is_memory && matches!(pattern, Pattern::Memory(_));
    let (code, hint) = match pattern {
        Pattern::Memory(_) if wrong_space => (Code::IrMemory, "use a memory of another space"),
        Pattern::Memory(_) => (Code::IrType, "an access is a memory and an index: `%m[%i]`"),
        Pattern::Index
        | Pattern::Source
        | Pattern::Aggregate
        | Pattern::Fragment
        | Pattern::Block
        | Pattern::AnyBlock
        | Pattern::Indices
        | Pattern::Inside
        | Pattern::Filler => (Code::IrType, ""),
        Pattern::T
        | Pattern::Element
        | Pattern::Bool
        | Pattern::U32
        | Pattern::Ballot
        | Pattern::Mask
        | Pattern::First
        | Pattern::Token
        | Pattern::Term
        | Pattern::Rest
        | Pattern::Parts => (Code::IrType, "use `convert` for the same number, `bitcast` for the same bits"),
    };
    cx.blame(code, inst, operand, format!("{name} is `{found}`, but {operation} takes {asked} here"), hint);
}

/// The suffix as it is written.
fn shown(inst: &Inst) -> String {
    inst.ty.map_or_else(|| "T".into(), |ty| ty.to_string())
}

/// Whether the results are those that the row gives, of types that values can have.
pub(super) fn results(cx: &mut Context<'_>, inst: &Inst) {
    let patterns = inst.op.row().results;
    let rest = patterns.last() == Some(&Pattern::Rest);
    let (asked, given) = (patterns.len() - usize::from(rest), inst.results.len());
    if given < asked || (given > asked && !rest) {
        let (name, asked) = (names::operation(inst), names::count(asked, "result"));
        let least = if rest { "at least " } else { "" };
        let message = format!("{name} gives {least}{asked}, here are {given}");
        return cx.report(Code::IrCount, inst, message, "name each result before `=`");
    }
    for (i, result) in inst.results.iter().enumerate() {
        let found = cx.ty(*result);
        let asked = patterns.get(i).and_then(|p| match p {
            Pattern::Block => inst.ty.and_then(Type::half),
            p => expected(cx, inst, *p),
        });
        if matches!(found, Type::Memory(_)) {
            let (name, operation) = (cx.name(*result), names::operation(inst));
            let message = format!("{operation} cannot give {name}, which is a memory and not a value");
            cx.report(Code::IrHandle, inst, message, "give the index instead");
        } else if !is_possible(found) {
            impossible(cx, inst, *result, found);
        } else if let Some(asked) = asked
            && asked != found
        {
            let (name, operation) = (cx.name(*result), names::operation(inst));
            let message = format!("{operation} gives `{asked}`, but {name} is `{found}`");
            cx.report(Code::IrType, inst, message, "leave the type out, or convert the result");
        }
    }
    for region in &inst.regions {
        for param in &cx.function.regions[*region].params {
            let found = cx.ty(*param);
            if !is_possible(found) {
                impossible(cx, inst, *param, found);
            } else if matches!(found, Type::Memory(_)) {
                let message = format!("the loop carries {}, which is a memory and not a value", cx.name(*param));
                cx.report(Code::IrHandle, inst, message, "carry the index instead");
            }
        }
    }
}

fn impossible(cx: &mut Context<'_>, inst: &Inst, value: ValueId, ty: Type) {
    let name = cx.name(value);
    let lanes = "short vectors have 2, 4, 8 or 16 lanes and at most 16 bytes";
    let hint = format!("{lanes}, `regs` 1 to {MOST_REGS} elements; neither is made of `bool`");
    cx.report(Code::IrType, inst, format!("{name} cannot be of type `{ty}`"), &hint);
}
