//! Python's own functions and methods, on what is known when a kernel is compiled.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::Value;
use crate::python::ast::{BinaryOp, CompareOp, Ident};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::Scalar;
use std::cmp::Ordering;

/// `hasattr(value, name)`.
pub(super) fn hasattr(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let name = Ident { name: a.value(1).to_string(), span: a.span(1) };
    Ok(Value::Bool(body.attribute(a.value(0).clone(), &name, a.call).is_ok()))
}

/// `getattr(value, name, default)`.
pub(super) fn getattr(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let name = Ident { name: a.value(1).to_string(), span: a.span(1) };
    match (body.attribute(a.value(0).clone(), &name, a.call), a.value(2)) {
        (Err(error), Value::None) => Err(error),
        (Err(_), default) => Ok(default.clone()),
        (found, _) => found,
    }
}

/// `filter(function, values)`: the values of which it holds.
pub(super) fn filter(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut kept = vec![];
    for item in body.iterate(a.value(1).clone(), a.span(1))? {
        let holds = match a.value(0) {
            Value::None => item.clone(),
            function => body.call_value(function, vec![item.clone()], a.call)?,
        };
        if body.constant_bool(&holds, "what a filter says", a.span(0))? {
            kept.push(item);
        }
    }
    Ok(Value::Tuple(kept))
}

/// `map(function, ..)`: what it gives for each value.
pub(super) fn map(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut made = vec![];
    for given in side_by_side(body, a.starred(), a.call)? {
        made.push(body.call_value(a.value(0), given, a.call)?);
    }
    Ok(Value::Tuple(made))
}

/// The first elements of all lists, the second ones, and so on.
fn side_by_side(body: &mut Body<'_, '_>, lists: &[Value], span: Span) -> Made<Vec<Vec<Value>>> {
    let lists: Vec<Vec<Value>> = lists.iter().map(|l| body.iterate(l.clone(), span)).collect::<Made<_>>()?;
    let length = lists.iter().map(Vec::len).min().unwrap_or(0);
    Ok((0..length).map(|i| lists.iter().map(|l| l[i].clone()).collect()).collect())
}

/// `zip(..)`.
pub(super) fn zip(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let rows = side_by_side(body, a.starred(), a.call)?;
    Ok(Value::Tuple(rows.into_iter().map(Value::Tuple).collect()))
}

/// `sorted(values, key, reverse)`.
pub(super) fn sorted(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut items = vec![];
    for item in body.iterate(a.value(0).clone(), a.span(0))? {
        let key = match a.value(1) {
            Value::None => item.clone(),
            function => body.call_value(function, vec![item.clone()], a.call)?,
        };
        items.push((key, item));
    }
    let mut wrong = None;
    items.sort_by(|(x, _), (y, _)| {
        compared(body, x, y, a.call).unwrap_or_else(|error| {
            wrong.get_or_insert(error);
            Ordering::Equal
        })
    });
    if let Some(error) = wrong {
        return Err(error);
    }
    if a.flag(body, 2, "`reverse`")? {
        items.reverse();
    }
    Ok(Value::Tuple(items.into_iter().map(|(_, item)| item).collect()))
}

/// Which of two tuples is less: what differs first decides.
pub(super) fn tuple_order(body: &mut Body<'_, '_>, x: &[Value], y: &[Value], span: Span) -> Made<Ordering> {
    for (x, y) in x.iter().zip(y) {
        let ordering = compared(body, x, y, span)?;
        if ordering != Ordering::Equal {
            return Ok(ordering);
        }
    }
    Ok(x.len().cmp(&y.len()))
}

/// Which of two constants is less.
fn compared(body: &mut Body<'_, '_>, x: &Value, y: &Value, span: Span) -> Made<Ordering> {
    if let (Value::Tuple(x), Value::Tuple(y)) = (x, y) {
        return tuple_order(body, x, y, span);
    }
    let mut is = |op| body.compare(op, x, y, span).map(|value| value.truth() == Some(true));
    Ok(match (is(CompareOp::Lt)?, is(CompareOp::Gt)?) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        (false, false) => Ordering::Equal,
    })
}

/// `reversed(values)`.
pub(super) fn reversed(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let items = body.iterate(a.value(0).clone(), a.span(0))?;
    Ok(Value::Tuple(items.into_iter().rev().collect()))
}

/// `sum(values, start)`.
pub(super) fn sum_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut sum = a.value(1).clone();
    for item in body.iterate(a.value(0).clone(), a.span(0))? {
        sum = body.binary(BinaryOp::Add, &sum, &item, a.call)?;
    }
    Ok(sum)
}

/// `any(values)`.
pub(super) fn any_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut any = false;
    for item in body.iterate(a.value(0).clone(), a.span(0))? {
        any |= body.constant_bool(&item, "an element of this", a.span(0))?;
    }
    Ok(Value::Bool(any))
}

/// `all(values)`.
pub(super) fn all_of(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut all = true;
    for item in body.iterate(a.value(0).clone(), a.span(0))? {
        all &= body.constant_bool(&item, "an element of this", a.span(0))?;
    }
    Ok(Value::Bool(all))
}

/// `set(values)`: each once, in the order in which they came.
pub(super) fn set(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let mut once: Vec<Value> = vec![];
    for item in body.iterate(a.value(0).clone(), a.span(0))? {
        if once.iter().all(|other| other.equals(&item) != Some(true)) {
            once.push(item);
        }
    }
    Ok(Value::Tuple(once))
}

// Dictionaries.

fn dictionary<'a>(body: &Body<'_, '_>, a: &'a Arguments) -> Made<&'a [(Value, Value)]> {
    match a.value(0) {
        Value::Dict(items) => Ok(items),
        other => body.fail(Code::KernelType, a.call, format!("{} is not a dictionary", other.kind()), other.hint()),
    }
}

/// Both dictionaries' entries; those of the second go before.
pub(super) fn united(a: &[(Value, Value)], b: &[(Value, Value)]) -> Value {
    let mut items: Vec<(Value, Value)> = vec![];
    for (key, value) in a.iter().chain(b) {
        match items.iter_mut().find(|(known, _)| known.equals(key) == Some(true)) {
            Some(entry) => entry.1 = value.clone(),
            None => items.push((key.clone(), value.clone())),
        }
    }
    Value::Dict(items)
}

/// `dict(values, name=value, ..)`.
pub(super) fn dict(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let first = match a.value(0) {
        Value::Dict(items) => items.clone(),
        pairs => {
            let mut items = vec![];
            for pair in body.iterate(pairs.clone(), a.span(0))? {
                match &body.iterate(pair, a.span(0))?[..] {
                    [key, value] => items.push((key.clone(), value.clone())),
                    _other => {
                        let message = "a dictionary is made of pairs";
                        return body.fail(Code::KernelType, a.span(0), message, "");
                    }
                }
            }
            items
        }
    };
    let named = match a.value(1) {
        Value::Dict(items) => &items[..],
        _none => &[],
    };
    Ok(united(&first, named))
}

/// `dictionary.get(key, default)`.
pub(super) fn get(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let found = dictionary(body, a)?.iter().rev().find(|(k, _)| k.equals(a.value(1)) == Some(true));
    Ok(found.map_or_else(|| a.value(2).clone(), |(_, value)| value.clone()))
}

/// `dictionary.items()`.
pub(super) fn items(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let pairs = dictionary(body, a)?.iter().map(|(key, value)| Value::Tuple(vec![key.clone(), value.clone()]));
    Ok(Value::Tuple(pairs.collect()))
}

/// `dictionary.keys()`.
pub(super) fn keys(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::Tuple(dictionary(body, a)?.iter().map(|(key, _)| key.clone()).collect()))
}

/// `dictionary.values()`.
pub(super) fn values(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::Tuple(dictionary(body, a)?.iter().map(|(_, value)| value.clone()).collect()))
}

/// `dictionary.copy()`, `list.copy()`: nothing is changed in place, so it is the same.
pub(super) fn copy(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(a.value(0).clone())
}

// Texts.

fn texts<'a>(body: &Body<'_, '_>, a: &'a Arguments) -> Made<(&'a str, &'a str)> {
    match (a.value(0), a.value(1)) {
        (Value::Str(text), Value::Str(part)) => Ok((text, part)),
        (Value::Str(_), other) | (other, _) => {
            body.fail(Code::KernelType, a.call, format!("{} is not text", other.kind()), other.hint())
        }
    }
}

/// `text.startswith(part)`.
pub(super) fn startswith(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    texts(body, a).map(|(text, part)| Value::Bool(text.starts_with(part)))
}

/// `text.endswith(part)`.
pub(super) fn endswith(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    texts(body, a).map(|(text, part)| Value::Bool(text.ends_with(part)))
}

/// `text.lower()`.
pub(super) fn lower(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::text(&a.value(0).to_string().to_lowercase()))
}

/// `text.upper()`.
pub(super) fn upper(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::text(&a.value(0).to_string().to_uppercase()))
}

/// `text.replace(old, new)`.
pub(super) fn replace(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let (text, old) = texts(body, a)?;
    Ok(Value::text(&text.replace(old, &a.value(2).to_string())))
}

/// `text.strip()`.
pub(super) fn strip(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::text(a.value(0).to_string().trim()))
}

/// `text.split(separator)`.
pub(super) fn split_text(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    if let Value::None = a.value(1) {
        return Ok(Value::Tuple(a.value(0).to_string().split_whitespace().map(Value::text).collect()));
    }
    let (text, separator) = texts(body, a)?;
    Ok(Value::Tuple(text.split(separator).map(Value::text).collect()))
}

/// `text.splitlines()`.
pub(super) fn splitlines(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::Tuple(a.value(0).to_string().lines().map(Value::text).collect()))
}

/// `text.join(values)`.
pub(super) fn join_texts(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let items = body.iterate(a.value(1).clone(), a.span(1))?;
    let pieces: Vec<String> = items.iter().map(ToString::to_string).collect();
    Ok(Value::text(&pieces.join(&a.value(0).to_string())))
}

/// `text.format(value, .., name=value, ..)`, of fields that are empty, a number or a name.
pub(super) fn format(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let text = a.value(0).to_string();
    let named = match a.value(2) {
        Value::Dict(items) => &items[..],
        _none => &[],
    };
    let wrong = |field: &str| {
        let message = format!("`format` has no value for `{{{field}}}`");
        body.fail(
            Code::KernelArgument,
            a.call,
            message,
            "fields are `{}`, `{0}` and `{name}`, without a format of their own",
        )
    };
    let (mut out, mut rest, mut next) = (String::new(), text.as_str(), 0);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let brace = from.get(..1).unwrap_or_default();
        if from.get(1..2) == Some(brace) {
            out.push_str(brace);
            rest = &from[2..];
            continue;
        }
        let Some((field, behind)) = from.get(1..).and_then(|from| from.split_once('}')).filter(|_| brace == "{") else {
            return wrong("");
        };
        let place = if field.is_empty() { Ok(next) } else { field.parse() };
        let found = match place {
            Ok(place) => a.starred().get(place),
            Err(_) => named.iter().find(|(name, _)| name.to_string() == field).map(|(_, value)| value),
        };
        let Some(value) = found else { return wrong(field) };
        next += usize::from(field.is_empty());
        out.push_str(&value.to_string());
        rest = behind;
    }
    out.push_str(rest);
    Ok(Value::text(&out))
}

// Numbers and sequences.

/// `n.bit_length()`.
pub(super) fn bit_length(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let n = body.constant_int(a.value(0), "this number", a.span(0))?;
    Ok(Value::Int(i128::from(i128::BITS - n.unsigned_abs().leading_zeros())))
}

/// `bin(n)`.
pub(super) fn bin(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let n = body.constant_int(a.value(0), "this number", a.span(0))?;
    let sign = if n < 0 { "-" } else { "" };
    Ok(Value::text(&format!("{sign}{:#b}", n.unsigned_abs())))
}

/// `hex(n)`.
pub(super) fn hex(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let n = body.constant_int(a.value(0), "this number", a.span(0))?;
    let sign = if n < 0 { "-" } else { "" };
    Ok(Value::text(&format!("{sign}{:#x}", n.unsigned_abs())))
}

/// `divmod(x, y)`.
pub(super) fn divmod(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let quotient = body.binary(BinaryOp::FloorDiv, a.value(0), a.value(1), a.call)?;
    let rest = body.binary(BinaryOp::Mod, a.value(0), a.value(1), a.call)?;
    Ok(Value::Tuple(vec![quotient, rest]))
}

/// `callable(value)`.
pub(super) fn callable(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let is_callable = match a.value(0) {
        Value::Function(_) | Value::Lambda(_) | Value::Builtin(..) | Value::Partial(..) | Value::Class(_) => true,
        _other => false,
    };
    Ok(Value::Bool(is_callable))
}

pub(super) fn len(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    match a.value(0) {
        Value::Tuple(items) | Value::Named(_, items) => Ok(Value::Int(items.len() as i128)),
        Value::Class(class) => match class.enumerated() {
            Some(members) => Ok(Value::Int(members.len() as i128)),
            None => body.fail(Code::KernelType, a.span(0), format!("{} has no length", a.value(0).kind()), ""),
        },
        Value::Dict(items) => Ok(Value::Int(items.len() as i128)),
        Value::Str(text) => Ok(Value::Int(text.chars().count() as i128)),
        other => body.fail(Code::KernelType, a.span(0), format!("{} has no length", other.kind()), other.hint()),
    }
}

pub(super) fn int(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    match a.value(0) {
        Value::Int(n) => Ok(Value::Int(*n)),
        Value::Bool(b) => Ok(Value::Int(i128::from(*b))),
        Value::Float(x) => Ok(Value::Int(*x as i128)),
        Value::Str(text) if text.trim().parse::<i128>().is_ok() => Ok(Value::Int(text.trim().parse().unwrap_or(0))),
        _number => {
            let x = a.tensor(body, 0)?;
            Ok(Value::Tensor(body.cast(x, Scalar::I32)))
        }
    }
}

pub(super) fn float(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    match a.value(0) {
        Value::Int(n) => Ok(Value::Float(*n as f64)),
        Value::Float(x) => Ok(Value::Float(*x)),
        Value::Str(text) => match text.trim().trim_start_matches('+').parse::<f64>() {
            Ok(x) => Ok(Value::Float(x)),
            Err(_) => body.fail(Code::KernelConstant, a.span(0), format!("`{text}` is no number"), ""),
        },
        _number => {
            let x = a.tensor(body, 0)?;
            Ok(Value::Tensor(body.cast(x, Scalar::F32)))
        }
    }
}

pub(super) fn bool(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::Bool(a.flag(body, 0, "this")?))
}

pub(super) fn str(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(Value::text(&a.value(0).to_string()))
}

pub(super) fn round(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    match a.value(0) {
        Value::Float(x) => Ok(Value::Int(x.round_ties_even() as i128)),
        Value::Int(n) => Ok(Value::Int(*n)),
        other => body.fail(
            Code::KernelType,
            a.span(0),
            format!("`round` is for numbers that are known when the kernel is compiled, not for {}", other.kind()),
            "on every device, `libdevice.rint(x)` rounds a number or a tile, halves to the even neighbour; `tl.floor(x + 0.5)` rounds halves up",
        ),
    }
}

pub(super) fn sequence(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.iterate(a.value(0).clone(), a.call).map(Value::Tuple)
}

/// `range(..)` where it is not the head of a loop, and `tl.static_range(..)`: all its numbers.
pub(super) fn range(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let first = body.constant_int(a.value(0), "the start of this range", a.span(0))?;
    let (start, end) = match a.value(1) {
        Value::None => (0, first),
        end => (first, body.constant_int(end, "the end of this range", a.span(1))?),
    };
    let step = match a.value(2) {
        Value::None => 1,
        step => body.constant_int(step, "the step of this range", a.span(2))?,
    };
    if step == 0 {
        return body.fail(Code::KernelArgument, a.call, "a range cannot have steps of 0", "");
    }
    let mut items = vec![];
    let mut at = start;
    while (step > 0 && at < end) || (step < 0 && at > end) {
        body.spend(a.call)?;
        items.push(Value::Int(at));
        at += step;
    }
    Ok(Value::Tuple(items))
}

pub(super) fn enumerate(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let items = body.iterate(a.value(0).clone(), a.call)?;
    let pair = |(i, item)| Value::Tuple(vec![Value::Int(i as i128), item]);
    Ok(Value::Tuple(items.into_iter().enumerate().map(pair).collect()))
}

/// `triton.next_power_of_2(n)`.
pub(super) fn next_power_of_2(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let n = body.constant_int(a.value(0), "this number", a.span(0))?;
    let power = u64::try_from(n).ok().and_then(u64::checked_next_power_of_two);
    match power {
        Some(power) => Ok(Value::Int(i128::from(power))),
        None => body.fail(Code::KernelConstant, a.call, format!("no power of two follows {n}"), ""),
    }
}

/// `isinstance(value, tl.constexpr)` and the like.
pub(super) fn isinstance(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let kinds = match a.value(1) {
        Value::Tuple(items) => items.clone(),
        one => vec![one.clone()],
    };
    let mut holds = false;
    for kind in kinds {
        let value = a.value(0);
        holds |= match (&kind, value) {
            (Value::Library(path), value) => match path.rsplit('.').next() {
                Some("tensor") => matches!(value, Value::Tensor(_) | Value::Pointer(_)),
                Some("dtype") => matches!(value, Value::Dtype(_)),
                Some("block_type") => matches!(value, Value::Dtype(ty) if ty.shape.is_some()),
                Some("tensor_descriptor" | "tensor_descriptor_base" | "TensorDescriptor") => {
                    matches!(value, Value::Block(block) if block.offsets.is_empty())
                }
                _other => {
                    let message = format!("{} is not a type that can be used here", kind.kind());
                    return body.fail(Code::KernelArgument, a.span(1), message, "");
                }
            },
            (Value::Class(class), value) => match value {
                Value::Named(of, _) => std::sync::Arc::ptr_eq(of, class),
                member => class.enumerated().unwrap_or_default().iter().any(|own| own.equals(member) == Some(true)),
            },
            (Value::Builtin(row, _), value) => match row.name {
                "constexpr" => value.is_constant(),
                "int" => matches!(value, Value::Int(_) | Value::Bool(_)),
                "float" => matches!(value, Value::Float(_)),
                "bool" => matches!(value, Value::Bool(_)),
                "str" => matches!(value, Value::Str(_)),
                "tuple" => matches!(value, Value::Tuple(_) | Value::Named(..)),
                "list" | "set" => matches!(value, Value::Tuple(_)),
                "dict" => matches!(value, Value::Dict(_)),
                "pointer_type" => matches!(value, Value::Dtype(ty) if ty.pointer),
                "Config" => matches!(value, Value::Record(record) if record.field("kwargs").is_some()),
                _ => false,
            },
            (other, _) => {
                let message = format!("{} is not a type that can be used here", other.kind());
                return body.fail(Code::KernelArgument, a.span(1), message, "");
            }
        };
    }
    Ok(Value::Bool(holds))
}

/// `list.append(x)` outside of a function that is run.
pub(super) fn append_nowhere(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    body.fail(
        Code::KernelSyntax,
        a.call,
        "a list cannot be changed in a kernel",
        "make a longer tuple: `t = t + (x, )`",
    )
}
