//! Expressions: what is made of other expressions. What names mean is in [`names`](super::names), what values have in [`attributes`](super::attributes).

use super::body::{Body, Made};
use super::builtins::Builtin;
use super::flow::LoopOver;
use super::python_format;
use super::value::{Lambda, Placed, Value};
use crate::python::ast::{BooleanOp, Comprehension, ComprehensionKind, Expr, ExprKind, FormatPart, Other};
use girih_base::diag::Code;
use girih_base::span::Span;
use std::sync::Arc;

impl Body<'_, '_> {
    pub(super) fn placed(&mut self, e: &Expr) -> Made<Placed> {
        Ok(Placed { value: self.expr(e)?, span: e.span })
    }

    pub(super) fn expr(&mut self, e: &Expr) -> Made<Value> {
        let outer = std::mem::replace(&mut self.b.span, e.span);
        let value = self.expression(e);
        self.b.span = outer;
        value
    }

    fn expression(&mut self, e: &Expr) -> Made<Value> {
        match &e.kind {
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::Int(n) => Ok(Value::Int(*n)),
            ExprKind::Float(x) => Ok(Value::Float(*x)),
            ExprKind::Str(text) => Ok(Value::text(text)),
            ExprKind::Format(parts) => self.format(parts),
            ExprKind::Bool(b) => Ok(Value::Bool(*b)),
            ExprKind::None => Ok(Value::None),
            ExprKind::Ellipsis => {
                self.fail(Code::KernelSyntax, e.span, "`...` has no meaning in a kernel", "write each `:`")
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => self.items(items).map(Value::Tuple),
            ExprKind::Dict(items) => self.dict(items, e.span),
            ExprKind::Comprehension(c) => self.comprehension(c),
            ExprKind::Attribute(of, name) => {
                let value = self.expr(of)?;
                self.attribute(value, name, of.span)
            }
            ExprKind::Subscript(of, index) => {
                let value = self.expr(of)?;
                let index = self.expr(index)?;
                self.subscript(value, index, e.span)
            }
            ExprKind::Slice(a, b, c) => {
                let mut parts = [Value::None, Value::None, Value::None];
                for (part, e) in parts.iter_mut().zip([a, b, c]) {
                    if let Some(e) = e {
                        *part = self.expr(e)?;
                    }
                }
                Ok(Value::Slice(Box::new(parts)))
            }
            ExprKind::Call(callee, arguments) => self.call_expression(callee, arguments, e.span),
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                self.unary(*op, &a, e.span)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.binary(*op, &a, &b, e.span)
            }
            ExprKind::Boolean(op, items) => self.boolean(*op, items, e.span),
            ExprKind::Compare(first, rest) => {
                let mut before = self.expr(first)?;
                let mut result: Option<Value> = None;
                for (op, next) in rest {
                    let after = self.expr(next)?;
                    let holds = self.compare(*op, &before, &after, e.span)?;
                    result = Some(match result {
                        None => holds,
                        Some(known) if known.is_constant() && holds.is_constant() => {
                            Value::Bool(known.truth() == Some(true) && holds.truth() == Some(true))
                        }
                        Some(known) => self.logical(BooleanOp::And, &known, &holds, e.span)?,
                    });
                    before = after;
                }
                Ok(result.unwrap_or(Value::None))
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let value = self.expr(condition)?;
                if value.is_constant() {
                    let truth = self.constant_bool(&value, "this condition", condition.span)?;
                    return self.expr(if truth { then } else { otherwise });
                }
                let decided = self.condition(&value, condition.span).map_err(|error| {
                    let texts = [condition, then, otherwise].map(|part| self.written_text(part.span));
                    match texts {
                        [Some(c), Some(a), Some(b)] if matches!(value, Value::Tensor(_)) => {
                            error.hint(format!("choose element by element: `tl.where({c}, {a}, {b})`"))
                        }
                        _long => error,
                    }
                })?;
                self.conditional(decided, then, otherwise, e.span)
            }
            ExprKind::Lambda(parameters, body) => Ok(Value::Lambda(Arc::new(Lambda {
                file: self.file,
                parameters: parameters.clone(),
                body: body.clone(),
                scope: self.scope.clone(),
            }))),
            ExprKind::Named(name, value) => {
                let value = self.expr(value)?;
                self.scope.insert(name.name.clone(), value.clone());
                Ok(value)
            }
            ExprKind::Starred(_) => self.fail(Code::KernelSyntax, e.span, "`*` has no meaning here", ""),
            ExprKind::Other(Other(what)) => {
                self.fail(Code::KernelSyntax, e.span, format!("a kernel cannot contain {what}"), "")
            }
        }
    }

    fn items(&mut self, items: &[Expr]) -> Made<Vec<Value>> {
        let mut out = vec![];
        for item in items {
            match &item.kind {
                ExprKind::Starred(inner) => {
                    let value = self.expr(inner)?;
                    out.extend(self.iterate(value, inner.span)?);
                }
                _one => out.push(self.expr(item)?),
            }
        }
        Ok(out)
    }

    fn dict(&mut self, items: &[(Option<Expr>, Expr)], span: Span) -> Made<Value> {
        let mut out: Vec<(Value, Value)> = vec![];
        for (key, value) in items {
            match key {
                Some(key) => out.push((self.expr(key)?, self.expr(value)?)),
                None => match self.expr(value)? {
                    Value::Dict(more) => out.extend(more),
                    other => {
                        return self.fail(
                            Code::KernelType,
                            span,
                            format!("{} is not a dictionary", other.kind()),
                            other.hint(),
                        );
                    }
                },
            }
        }
        Ok(Value::Dict(out))
    }

    fn format(&mut self, parts: &[FormatPart]) -> Made<Value> {
        let mut text = String::new();
        for part in parts {
            match part {
                FormatPart::Text(t) => text.push_str(t),
                FormatPart::Value(e, letter, format) => {
                    let value = self.expr(e)?;
                    if !value.is_constant() {
                        let shown = self.written_text(e.span).unwrap_or("this");
                        let message = format!("`{shown}` is {}, which only the running kernel knows", value.kind());
                        let hint = "texts are made when the kernel is compiled; `tl.device_print(\"x\", x)` prints what it holds";
                        return self.fail(Code::KernelConstant, e.span, message, hint);
                    }
                    match python_format::shown(&value, *letter, format) {
                        Ok(shown) => text.push_str(&shown),
                        Err(why) => return self.fail(Code::KernelArgument, e.span, why, ""),
                    }
                }
            }
        }
        Ok(Value::text(&text))
    }

    fn boolean(&mut self, op: BooleanOp, items: &[Expr], span: Span) -> Made<Value> {
        let mut result: Option<Value> = None;
        for item in items {
            // What is known decides whether the rest matters at all.
            if let Some(before) = &result
                && before.is_constant()
            {
                let truth = self.constant_bool(before, "this condition", span)?;
                if truth == (op == BooleanOp::Or) {
                    return Ok(before.clone());
                }
                result = None;
            }
            let value = self.expr(item)?;
            result = Some(match result {
                None => value,
                Some(before) => self.logical(op, &before, &value, span)?,
            });
        }
        Ok(result.unwrap_or(Value::None))
    }

    /// The elements of something that is known.
    pub(super) fn iterate(&mut self, value: Value, span: Span) -> Made<Vec<Value>> {
        if let Value::Class(class) = &value
            && let Some(members) = class.enumerated()
        {
            return Ok(members);
        }
        match value {
            Value::Tuple(items) | Value::Named(_, items) => Ok(items),
            Value::Str(text) => Ok(text.chars().map(|c| Value::text(&c.to_string())).collect()),
            Value::Dict(items) => Ok(items.into_iter().map(|(key, _)| key).collect()),
            other => self.fail(
                Code::KernelType,
                span,
                format!("{} has no elements to go through", other.kind()),
                other.hint(),
            ),
        }
    }

    fn comprehension(&mut self, c: &Comprehension) -> Made<Value> {
        let before = self.scope.clone();
        let mut made = vec![];
        self.clauses(c, 0, &mut made)?;
        self.scope = before;
        Ok(match c.kind {
            ComprehensionKind::Dict => Value::Dict(made),
            ComprehensionKind::List | ComprehensionKind::Set | ComprehensionKind::Generator => {
                Value::Tuple(made.into_iter().map(|(element, _)| element).collect())
            }
        })
    }

    fn clauses(&mut self, c: &Comprehension, at: usize, made: &mut Vec<(Value, Value)>) -> Made<()> {
        let Some(clause) = c.clauses.get(at) else {
            let element = self.expr(&c.element)?;
            let value = match &c.value {
                Some(value) => self.expr(value)?,
                None => Value::None,
            };
            self.spend(c.element.span)?;
            made.push((element, value));
            return Ok(());
        };
        let items = self.expr(&clause.iterable)?;
        for item in self.iterate(items, clause.iterable.span)? {
            self.assign(&clause.target, item)?;
            let mut taken = true;
            for condition in &clause.conditions {
                let value = self.expr(condition)?;
                taken &= self.constant_bool(&value, "this condition", condition.span)?;
            }
            if taken {
                self.clauses(c, at + 1, made)?;
            }
        }
        Ok(())
    }

    /// A step of what is run when a kernel is compiled.
    pub(super) fn spend(&mut self, span: Span) -> Made<()> {
        match self.module.fuel.checked_sub(1) {
            Some(rest) => {
                self.module.fuel = rest;
                Ok(())
            }
            None => self.fail(
                Code::KernelConstant,
                span,
                "this takes too long to be computed when the kernel is compiled",
                "",
            ),
        }
    }

    fn subscript(&mut self, value: Value, index: Value, span: Span) -> Made<Value> {
        match (&value, &index) {
            (Value::Tensor(_) | Value::Pointer(_), index) => {
                let items = match index {
                    Value::Tuple(items) => items.clone(),
                    one => vec![one.clone()],
                };
                self.index_block(&value, &items, span)
            }
            (Value::Tuple(items) | Value::Named(_, items), Value::Slice(parts)) => {
                let places = self.sliced(items.len(), parts, span)?;
                Ok(Value::Tuple(places.into_iter().filter_map(|at| items.get(at).cloned()).collect()))
            }
            (Value::Str(text), Value::Slice(parts)) => {
                let letters: Vec<char> = text.chars().collect();
                let places = self.sliced(letters.len(), parts, span)?;
                let kept: String = places.into_iter().filter_map(|at| letters.get(at)).collect();
                Ok(Value::text(&kept))
            }
            (Value::Str(text), index) => {
                let at = self.constant_int(index, "a position in a text", span)?;
                let letters: Vec<char> = text.chars().collect();
                let found = if at < 0 { at + letters.len() as i128 } else { at };
                match usize::try_from(found).ok().and_then(|at| letters.get(at)) {
                    Some(letter) => Ok(Value::text(&letter.to_string())),
                    None => self.fail(Code::KernelArgument, span, format!("`{text}` has no letter {at}"), ""),
                }
            }
            (Value::Tuple(items) | Value::Named(_, items), index) => {
                let at = self.constant_int(index, "a position in a tuple", span)?;
                let found = if at < 0 { at + items.len() as i128 } else { at };
                match usize::try_from(found).ok().and_then(|i| items.get(i)) {
                    Some(item) => Ok(item.clone()),
                    None => self.fail(
                        Code::KernelArgument,
                        span,
                        format!("a tuple of {} has no element {at}", items.len()),
                        "",
                    ),
                }
            }
            (Value::Dict(items), key) => match items.iter().rev().find(|(k, _)| k.equals(key) == Some(true)) {
                Some((_, value)) => Ok(value.clone()),
                None => self.fail(Code::KernelName, span, format!("the dictionary has no {key}"), ""),
            },
            (other, _) => self.fail(Code::KernelType, span, format!("{} has no elements", other.kind()), other.hint()),
        }
    }

    /// What a `for` goes through.
    pub(super) fn loop_range(&mut self, e: &Expr) -> Made<LoopOver> {
        if let ExprKind::Call(callee, arguments) = &e.kind
            && let Value::Builtin(row, None) = self.expr(callee)?
            && row.name == "range"
        {
            let (positional, named) = self.arguments(arguments)?;
            return self.counted(row, positional, named, e.span);
        }
        let value = self.expr(e)?;
        self.iterate(value, e.span).map(LoopOver::Each)
    }

    /// The places that a slice takes of so many elements, as Python counts them.
    fn sliced(&self, length: usize, parts: &[Value; 3], span: Span) -> Made<Vec<usize>> {
        let length = length as i128;
        let part = |value: &Value| match value {
            Value::None => Ok(None),
            value => self.constant_int(value, "a position", span).map(Some),
        };
        let step = part(&parts[2])?.unwrap_or(1);
        if step == 0 {
            return self.fail(Code::KernelArgument, span, "a slice cannot have steps of 0", "");
        }
        let (least, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let bound = |given: Option<i128>, default: i128| match given {
            None => default,
            Some(n) => (if n < 0 { n + length } else { n }).clamp(least, most),
        };
        let (first, last) = if step > 0 { (least, most) } else { (most, least) };
        let (mut at, end) = (bound(part(&parts[0])?, first), bound(part(&parts[1])?, last));
        let mut places = vec![];
        while (step > 0 && at < end) || (step < 0 && at > end) {
            places.extend(usize::try_from(at));
            at += step;
        }
        Ok(places)
    }

    /// `range(start, end, step)` as the head of a loop. What else is said there is a hint.
    fn counted(
        &mut self,
        row: &'static Builtin,
        positional: Vec<Placed>,
        named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<LoopOver> {
        let arguments = self.bind(row, positional, named, span)?;
        let (zero, one) = (Value::Int(0), Value::Int(1));
        let (first, second) = (arguments.value(0).clone(), arguments.value(1).clone());
        let step = if let Value::None = arguments.value(2) { one } else { arguments.value(2).clone() };
        let (start, end) = if let Value::None = second { (zero, first) } else { (first, second) };
        Ok(LoopOver::Range(Box::new([start, end, step])))
    }
}
