//! Ordinary Python that is run when a kernel is compiled: functions without `@triton.jit`, and operations on what is known.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Dtype, Function, Placed, Value};
use crate::diag::Code;
use crate::ir::Scalar;
use crate::python::ast::{Expr, ExprKind, Ident, Other, Stmt, StmtKind};
use crate::span::Span;
use std::sync::Arc;

/// How a list of statements ends.
enum Ran {
    Next,
    Returned(Value),
    Broken,
    Continued,
}

impl Body<'_, '_> {
    pub(super) fn call_host(
        &mut self,
        function: &Arc<Function>,
        positional: Vec<Placed>,
        named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<Value> {
        let what = format!("`{}`", function.def.name.name);
        let runs = positional.iter().chain(named.iter().map(|(_, p)| p)).find(|p| !p.value.is_constant());
        if let Some(placed) = runs {
            let message = format!("{what} has no `@triton.jit` and is given {}", placed.value.kind());
            return self.fail(Code::KernelConstant, placed.span, message, "write `@triton.jit` above the function");
        }
        self.deeper(&function.def.name.name, span)?;
        let (file, host) = (std::mem::replace(&mut self.file, function.file), std::mem::replace(&mut self.host, true));
        let bound = self.bind_parameters(&what, &function.def.parameters, (positional, named), span);
        let result = bound.and_then(|bound| {
            let mut scope = function.scope.clone();
            scope.extend(bound.into_iter().map(|(name, placed)| (name, placed.value)));
            let outer = std::mem::replace(&mut self.scope, scope);
            let ran = self.run(&function.def.body);
            self.scope = outer;
            ran
        });
        (self.file, self.host) = (file, host);
        self.module.depth -= 1;
        Ok(match result? {
            Ran::Returned(value) => value,
            Ran::Next | Ran::Broken | Ran::Continued => Value::None,
        })
    }

    fn run(&mut self, list: &[Stmt]) -> Made<Ran> {
        for s in list {
            self.spend(s.span)?;
            match self.step(s)? {
                Ran::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Ran::Next)
    }

    fn step(&mut self, s: &Stmt) -> Made<Ran> {
        match &s.kind {
            StmtKind::Expr(e) => self.effect(e)?,
            StmtKind::Assign(targets, e) => {
                let value = self.expr(e)?;
                for target in targets {
                    self.set(target, value.clone())?;
                }
            }
            StmtKind::Annotated(target, _, Some(e)) => {
                let value = self.expr(e)?;
                self.set(target, value)?;
            }
            StmtKind::Augmented(target, op, e) => {
                let (left, right) = (self.expr(target)?, self.expr(e)?);
                let value = self.binary(*op, &left, &right, s.span)?;
                self.set(target, value)?;
            }
            StmtKind::If(condition, then, otherwise) => {
                let holds = self.decided(condition)?;
                return self.run(if holds { then } else { otherwise });
            }
            StmtKind::For(target, iterable, list, _) => {
                let items = self.expr(iterable)?;
                for item in self.iterate(items, iterable.span)? {
                    self.set(target, item)?;
                    match self.run(list)? {
                        Ran::Next | Ran::Continued => {}
                        Ran::Broken => break,
                        Ran::Returned(value) => return Ok(Ran::Returned(value)),
                    }
                }
            }
            StmtKind::While(condition, list, _) => {
                while self.decided(condition)? {
                    self.spend(condition.span)?;
                    match self.run(list)? {
                        Ran::Next | Ran::Continued => {}
                        Ran::Broken => break,
                        Ran::Returned(value) => return Ok(Ran::Returned(value)),
                    }
                }
            }
            StmtKind::Return(value) => {
                let value = match value {
                    Some(e) => self.expr(e)?,
                    None => Value::None,
                };
                return Ok(Ran::Returned(value));
            }
            StmtKind::Break => return Ok(Ran::Broken),
            StmtKind::Continue => return Ok(Ran::Continued),
            StmtKind::Pass | StmtKind::Annotated(_, _, None) => {}
            StmtKind::Assert(condition, message) => {
                if !self.decided(condition)? {
                    let said = match message {
                        Some(e) => self.expr(e)?.to_string(),
                        None => String::new(),
                    };
                    return self.fail(Code::KernelAssert, s.span, format!("the assertion fails: {said}"), "");
                }
            }
            StmtKind::Function(def) => {
                let jit = def.decorators.iter().any(super::kernel::is_jit);
                let function = Function { file: self.file, def: def.clone(), jit, scope: self.scope.clone() };
                self.scope.insert(def.name.name.clone(), Value::Function(Arc::new(function)));
            }
            StmtKind::Class(..) => return self.not_run("a class", s.span),
            StmtKind::Import(_) | StmtKind::ImportFrom(..) => return self.not_run("an import", s.span),
            StmtKind::With(..) => return self.not_run("`with`", s.span),
            // What cannot be computed here counts as an exception.
            StmtKind::Try(list, others) => {
                let ran = self.run(list);
                return match (ran, others.first()) {
                    (Err(_), Some(handler)) => self.run(handler),
                    (ran, _) => ran,
                };
            }
            StmtKind::Other(Other(what)) => return self.not_run(what, s.span),
        }
        Ok(Ran::Next)
    }

    fn not_run<T>(&self, what: &str, span: Span) -> Made<T> {
        let message = format!("a function that is run when the kernel is compiled cannot contain {what}");
        self.fail(Code::KernelSyntax, span, message, "")
    }

    fn decided(&mut self, condition: &Expr) -> Made<bool> {
        let value = self.expr(condition)?;
        self.constant_bool(&value, "this condition", condition.span)
    }

    /// `list.append(x)`, `list += [..]` and other things that change a variable.
    fn effect(&mut self, e: &Expr) -> Made<()> {
        if let ExprKind::Call(callee, arguments) = &e.kind
            && let ExprKind::Attribute(of, method) = &callee.kind
            && let ExprKind::Name(name) = &of.kind
            && matches!(&*method.name, "append" | "extend")
            && let Some(Value::Tuple(mut items)) = self.scope.get(name).cloned()
            && let [argument] = &arguments[..]
        {
            let value = self.expr(&argument.value)?;
            if method.name == "append" {
                items.push(value);
            } else {
                items.extend(self.iterate(value, argument.value.span)?);
            }
            self.scope.insert(name.clone(), Value::Tuple(items));
            return Ok(());
        }
        self.expr(e).map(drop)
    }

    fn set(&mut self, target: &Expr, value: Value) -> Made<()> {
        if let ExprKind::Subscript(of, index) = &target.kind
            && let ExprKind::Name(name) = &of.kind
            && let Some(Value::Dict(mut items)) = self.scope.get(name).cloned()
        {
            let key = self.expr(index)?;
            items.retain(|(k, _)| k.equals(&key) != Some(true));
            items.push((key, value));
            self.scope.insert(name.clone(), Value::Dict(items));
            return Ok(());
        }
        self.assign(target, value)
    }
}

/// `hasattr(value, name)`.
pub(super) fn hasattr(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let name = Ident { name: a.value(1).to_string(), span: a.span(1) };
    Ok(Value::Bool(body.attribute(a.value(0).clone(), &name, a.call).is_ok()))
}

/// `tl.static_assert(cond, msg)`.
pub(super) fn static_assert(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    if a.flag(body, 0, "a static assertion")? {
        return Ok(Value::None);
    }
    let said = a.value(1).to_string();
    let message = if said.is_empty() {
        "the static assertion fails".to_owned()
    } else {
        format!("the static assertion fails: {said}")
    };
    body.fail(Code::KernelAssert, a.span(0), message, "")
}

/// `tl.static_print(..)`.
pub(super) fn static_print(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let Value::Tuple(items) = a.rest(0) else { return Ok(Value::None) };
    let text = items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    body.module.notes.push(text);
    Ok(Value::None)
}

/// `tl.constexpr(x)`.
pub(super) fn identity(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    Ok(a.value(0).clone())
}

pub(super) fn len(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    match a.value(0) {
        Value::Tuple(items) => Ok(Value::Int(items.len() as i128)),
        Value::Dict(items) => Ok(Value::Int(items.len() as i128)),
        Value::Str(text) => Ok(Value::Int(text.chars().count() as i128)),
        other => body.fail(Code::KernelType, a.span(0), format!("{} has no length", other.kind()), ""),
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
            format!("{} is not rounded so", other.kind()),
            "use `libdevice.rint`",
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
        return body.fail(Code::KernelArgument, a.call, "a range does not go on in steps of 0", "");
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

pub(super) fn zip(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let Value::Tuple(lists) = a.rest(0) else { return Ok(Value::Tuple(vec![])) };
    let lists: Vec<Vec<Value>> = lists.into_iter().map(|l| body.iterate(l, a.call)).collect::<Made<_>>()?;
    let length = lists.iter().map(Vec::len).min().unwrap_or(0);
    Ok(Value::Tuple((0..length).map(|i| Value::Tuple(lists.iter().map(|l| l[i].clone()).collect())).collect()))
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
        holds |= match (&kind, a.value(0)) {
            (Value::Library(path), value) if path.ends_with(".tensor") => !value.is_constant(),
            (Value::Library(path), value) if path.ends_with(".dtype") => matches!(value, Value::Dtype(_)),
            (Value::Builtin(row, _), value) => match row.name {
                "constexpr" => value.is_constant(),
                "int" => matches!(value, Value::Int(_) | Value::Bool(_)),
                "float" => matches!(value, Value::Float(_)),
                "bool" => matches!(value, Value::Bool(_)),
                "str" => matches!(value, Value::Str(_)),
                "tuple" | "list" => matches!(value, Value::Tuple(_)),
                _ => false,
            },
            (other, _) => {
                let message = format!("{} is no type that is asked for", other.kind());
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
        "make a tuple of all its elements at once",
    )
}

// Questions about types. The argument is a type, or something that has one.

fn asked(body: &Body<'_, '_>, a: &Arguments) -> Made<Dtype> {
    match a.value(0).dtype() {
        Some(ty) => Ok(ty),
        None => body.dtype_of(a.value(0), a.span(0)),
    }
}

macro_rules! questions {
    ($($name:ident: |$ty:ident| $answer:expr;)*) => {
        $(pub(super) fn $name(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
            let $ty = asked(body, a)?;
            Ok(Value::Bool($answer))
        })*
    };
}

questions! {
    is_floating: |ty| !ty.pointer && ty.scalar.is_float();
    is_fp8: |ty| !ty.pointer && ty.scalar.is_float() && ty.scalar.bits() == 8;
    is_fp16: |ty| !ty.pointer && ty.scalar == Scalar::F16;
    is_bf16: |ty| !ty.pointer && ty.scalar == Scalar::Bf16;
    is_fp32: |ty| !ty.pointer && ty.scalar == Scalar::F32;
    is_fp64: |ty| !ty.pointer && ty.scalar == Scalar::F64;
    is_int: |ty| !ty.pointer && !ty.scalar.is_float();
    is_int_signed: |ty| !ty.pointer && ty.scalar.is_signed();
    is_int_unsigned: |ty| !ty.pointer && ty.scalar.is_integer() && !ty.scalar.is_signed();
    is_bool: |ty| !ty.pointer && ty.scalar == Scalar::Bool;
    is_ptr: |ty| ty.pointer && ty.shape.is_none();
    is_block: |ty| ty.shape.is_some();
}

/// `tl.pointer_type(element)`.
pub(super) fn pointer_type(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let ty = body.dtype_of(a.value(0), a.span(0))?;
    Ok(Value::Dtype(Dtype { pointer: true, ..ty }))
}

/// `triton.Config(kwargs, num_warps, num_stages, ..)`.
pub(super) fn config(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let entry = |name: &str, i: usize| (Value::text(name), a.value(i).clone());
    Ok(Value::Dict(vec![entry("kwargs", 0), entry("num_warps", 1), entry("num_stages", 2)]))
}

/// `dictionary.get(key, default)`.
pub(super) fn get(body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let Value::Dict(items) = a.value(0) else {
        return body.fail(Code::KernelType, a.call, format!("{} is no dictionary", a.value(0).kind()), "");
    };
    let found = items.iter().rev().find(|(k, _)| k.equals(a.value(1)) == Some(true));
    Ok(found.map_or_else(|| a.value(2).clone(), |(_, value)| value.clone()))
}
