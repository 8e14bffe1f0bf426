//! Expressions: names, attributes, subscripts, and what is made of other expressions.

use super::body::{Body, Made};
use super::builtins;
use super::flow::LoopOver;
use super::source::{Binding, FileId};
use super::target;
use super::value::{Dtype, Function, Lambda, Placed, Value, scalar_of_name};
use crate::diag::{Code, did_you_mean};
use crate::idx::Idx;
use crate::ir;
use crate::python::ast::{BooleanOp, Comprehension, ComprehensionKind, Expr, ExprKind, FormatPart, Ident, Other};
use crate::span::Span;
use std::sync::Arc;

/// Names that Python itself knows, and the operations that they are.
const PYTHON: &[(&str, &str)] = &[
    ("min", "minimum"),
    ("max", "maximum"),
    ("abs", "abs"),
    ("len", "len"),
    ("int", "int"),
    ("float", "float"),
    ("bool", "bool"),
    ("str", "str"),
    ("round", "round"),
    ("print", "print"),
    ("range", "range"),
    ("tuple", "tuple"),
    ("list", "list"),
    ("zip", "zip"),
    ("enumerate", "enumerate"),
    ("isinstance", "isinstance"),
    ("hasattr", "hasattr"),
    ("getattr", "getattr"),
    ("filter", "filter"),
    ("map", "map"),
    ("sorted", "sorted"),
    ("reversed", "reversed"),
    ("sum", "sum_of"),
    ("any", "any_of"),
    ("all", "all_of"),
    ("set", "set"),
    ("dict", "dict"),
];

/// Parts of Triton that hold nothing but other names.
const PARTS: &[&str] = &[
    "language",
    "math",
    "extra",
    "cuda",
    "hip",
    "intel",
    "libdevice",
    "standard",
    "core",
    "random",
    "runtime",
    "jit",
    "testing",
    "tools",
    "compiler",
    "autotune",
    "heuristics",
    "semantic",
    "target_info",
    "driver",
    "active",
    "PropagateNan",
    "dtype",
    "tensor",
    "autotuner",
    "experimental",
    "tensor_descriptor",
    "block_type",
    "tensor_descriptor_base",
];

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
                let [(op, second)] = &rest[..] else {
                    let hint = "write two comparisons with `&` between them";
                    return self.fail(
                        Code::KernelSyntax,
                        e.span,
                        "a chain of comparisons has no meaning in a kernel",
                        hint,
                    );
                };
                let (a, b) = (self.expr(first)?, self.expr(second)?);
                self.compare(*op, &a, &b, e.span)
            }
            ExprKind::Conditional(condition, then, otherwise) => {
                let value = self.expr(condition)?;
                if value.is_constant() {
                    let truth = self.constant_bool(&value, "this condition", condition.span)?;
                    return self.expr(if truth { then } else { otherwise });
                }
                let condition = self.condition(&value, condition.span)?;
                self.conditional(condition, then, otherwise, e.span)
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
                        return self.fail(Code::KernelType, span, format!("{} is no dictionary", other.kind()), "");
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
                FormatPart::Value(e) => text.push_str(&self.expr(e)?.to_string()),
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
        match value {
            Value::Tuple(items) => Ok(items),
            Value::Dict(items) => Ok(items.into_iter().map(|(key, _)| key).collect()),
            other => self.fail(Code::KernelType, span, format!("{} has no elements to go through", other.kind()), ""),
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

    fn name(&mut self, name: &str, span: Span) -> Made<Value> {
        if let Some(value) = self.scope.get(name) {
            return match value.clone() {
                Value::Unknown(why) => self.fail(
                    Code::KernelName,
                    span,
                    format!("`{name}` cannot be used here: {why}"),
                    "assign it before",
                ),
                value => Ok(value),
            };
        }
        if let Some(value) = self.function.as_ref().and_then(|f| f.scope.get(name)) {
            return Ok(value.clone());
        }
        if let Some(value) = self.global(self.file, name, span)? {
            return match value {
                Value::Unknown(why) => {
                    self.fail(Code::KernelName, span, format!("`{name}` has no meaning in a kernel: {why}"), "")
                }
                value => Ok(value),
            };
        }
        if let Some(row) = PYTHON.iter().find(|(python, _)| *python == name).and_then(|(_, row)| builtins::find(row)) {
            return Ok(Value::Builtin(row, None));
        }
        let names: Vec<String> =
            self.scope.keys().chain(self.module.files.files[self.file].names.keys()).cloned().collect();
        let hint = match did_you_mean(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "variables that are assigned in a loop or in one branch are gone behind it".into(),
        };
        self.fail(Code::KernelName, span, format!("there is no `{name}` here"), &hint)
    }

    /// What a name of a file stands for.
    pub(super) fn global(&mut self, file: FileId, name: &str, span: Span) -> Made<Option<Value>> {
        // What is at the level of this file sees what stands above it.
        let at = if file == self.now.0 { self.now.1 } else { u32::MAX };
        let Some((which, from, binding)) = self.module.files.files[file].meaning(name, at) else {
            return self.starred_import(file, name, span);
        };
        let (from, binding) = (from, binding.clone());
        let key = (file, name.to_owned(), which);
        if let Some(value) = self.module.constants.get(&key) {
            return Ok(Some(value.clone()));
        }
        // What needs itself has no value.
        self.module.constants.insert(key.clone(), Value::Unknown("its value needs itself".into()));
        let value = self.bound((file, from), &binding, span)?;
        self.module.constants.insert(key, value.clone());
        Ok(Some(value))
    }

    /// The value of a binding that stands there.
    fn bound(&mut self, place: (FileId, u32), binding: &Binding, span: Span) -> Made<Value> {
        let file = place.0;
        Ok(match binding {
            Binding::Function(def) => {
                let jit = def.decorators.iter().any(super::kernel::is_jit);
                Value::Function(Arc::new(Function { file, def: def.clone(), jit, scope: Default::default() }))
            }
            Binding::Value(e) => self.evaluated(place, e, None),
            Binding::Element(e, i) => self.evaluated(place, e, Some(*i)),
            Binding::Module { up, path } => self.imported_module(file, *up, path, span)?,
            Binding::Member { up, path, name, span } => self.imported_member(file, *up, path, name, *span)?,
            Binding::Opaque(why) => Value::Unknown((*why).into()),
            Binding::Choice(choice) => {
                let holds = self.evaluated(place, &choice.condition, None).truth();
                match choice.taken(holds) {
                    Some(taken) => self.bound(place, taken, span)?,
                    None => Value::Unknown("the branch of the `if` that assigns it is not taken".into()),
                }
            }
        })
    }

    fn starred_import(&mut self, file: FileId, name: &str, span: Span) -> Made<Option<Value>> {
        for (up, path) in self.module.files.files[file].stars.clone() {
            if is_triton(&path) && up == 0 {
                continue;
            }
            if let Some(found) = self.module.files.import(file, up, &path, span)?
                && let Some(value) = self.global(found, name, span)?
            {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// The value of an expression that stands there in a file, or why it has none.
    fn evaluated(&mut self, (file, at): (FileId, u32), e: &Expr, element: Option<usize>) -> Value {
        let mut body = Body::new(&mut *self.module, file, ir::Function::new("constant", e.span));
        (body.host, body.now) = (true, (file, at));
        let value = match body.expr(e) {
            Ok(value) => value,
            Err(error) => return Value::Unknown(error.message.into()),
        };
        match (element, value) {
            (Some(i), Value::Tuple(items)) => items.get(i).cloned().unwrap_or(Value::None),
            (Some(_), other) => Value::Unknown(format!("{} has no elements", other.kind()).into()),
            (None, value) => value,
        }
    }

    fn imported_module(&mut self, file: FileId, up: usize, path: &str, span: Span) -> Made<Value> {
        if up == 0 && is_triton(path) {
            return Ok(Value::Library(path.to_owned()));
        }
        Ok(match self.module.files.import(file, up, path, span)? {
            Some(found) => Value::Library(format!("#{}", found.index())),
            None => Value::Library(path.to_owned()),
        })
    }

    fn imported_member(&mut self, file: FileId, up: usize, path: &str, name: &str, span: Span) -> Made<Value> {
        let ident = Ident { name: name.to_owned(), span };
        if up == 0 && is_triton(path) {
            return self.attribute(Value::Library(path.to_owned()), &ident, span);
        }
        if !path.is_empty()
            && let Some(found) = self.module.files.import(file, up, path, span)?
            && let Some(value) = self.global(found, name, span)?
        {
            return Ok(value);
        }
        let whole = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match self.module.files.import(file, up, &whole, span)? {
            Some(found) => Ok(Value::Library(format!("#{}", found.index()))),
            None => Ok(Value::Unknown(format!("the import `{whole}` was not found").into())),
        }
    }

    pub(super) fn attribute(&mut self, value: Value, name: &Ident, span: Span) -> Made<Value> {
        match &value {
            Value::Library(path) => return self.member(&path.clone(), name),
            Value::Record(record) => {
                return match record.field(&name.name) {
                    Some(field) => Ok(field.clone()),
                    None => {
                        let message = format!("{} has no attribute `{}`", record.what, name.name);
                        self.fail(Code::KernelName, name.span, message, "")
                    }
                };
            }
            Value::Dtype(ty) => {
                let found = match &*name.name {
                    "element_ty" | "scalar" => Some(Value::Dtype(Dtype { pointer: false, shape: None, ..*ty })),
                    "primitive_bitwidth" | "int_bitwidth" => Some(Value::Int(i128::from(ty.scalar.bits()))),
                    "itemsize" => Some(Value::Int(i128::from(ty.scalar.bytes()))),
                    "name" => Some(Value::text(&ty.to_string())),
                    "shape" => Some(shape_value(ty.shape)),
                    _ => None,
                };
                if let Some(found) = found {
                    return Ok(found);
                }
            }
            Value::Tensor(_) | Value::Pointer(_) => {
                let ty = value.dtype().unwrap_or(Dtype::of(ir::Scalar::I32));
                match &*name.name {
                    "dtype" => return Ok(Value::Dtype(Dtype { shape: None, ..ty })),
                    "type" => return Ok(Value::Dtype(ty)),
                    "shape" => return Ok(shape_value(ty.shape)),
                    "numel" => return Ok(Value::Int(ty.shape.map_or(1, |s| i128::from(s.elements())))),
                    "T" => return self.permute_value(&value, &[1, 0], span),
                    _ => {}
                }
            }
            Value::Block(block) => match &*name.name {
                "dtype" => return Ok(Value::Dtype(Dtype::of(block.base.pointee))),
                "block_shape" => {
                    return Ok(Value::Tuple(block.block.iter().map(|n| Value::Int(i128::from(*n))).collect()));
                }
                "load" | "store" if block.offsets.is_empty() => {
                    let row = builtins::find(&format!("{}_tensor_descriptor", name.name));
                    if let Some(row) = row {
                        return Ok(Value::Builtin(row, Some(Box::new(value))));
                    }
                }
                _ => {}
            },
            Value::Function(function) if name.name == "__name__" => return Ok(Value::text(&function.def.name.name)),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) if name.name == "value" => {
                return Ok(value);
            }
            _others => {}
        }
        match builtins::find(&name.name) {
            Some(row) => Ok(Value::Builtin(row, Some(Box::new(value)))),
            None => {
                let message = format!("{} has no attribute `{}`", value.kind(), name.name);
                self.fail(Code::KernelName, name.span, message, &builtins::like(&name.name))
            }
        }
    }

    /// A name of a module.
    fn member(&mut self, path: &str, name: &Ident) -> Made<Value> {
        if let Some(id) = path.strip_prefix('#').and_then(|id| id.parse().ok()) {
            let found = self.global(FileId::from_usize(id), &name.name, name.span)?;
            return match found {
                Some(value) => Ok(value),
                None => self.fail(Code::KernelName, name.span, format!("the imported file has no `{}`", name.name), ""),
            };
        }
        if path == "math" {
            let constant = match &*name.name {
                "pi" => Some(std::f64::consts::PI),
                "e" => Some(std::f64::consts::E),
                "tau" => Some(std::f64::consts::TAU),
                "inf" => Some(f64::INFINITY),
                "nan" => Some(f64::NAN),
                _ => None,
            };
            if let Some(x) = constant {
                return Ok(Value::Float(x));
            }
            if let Some(row) = builtins::find(&name.name) {
                return Ok(Value::Builtin(row, None));
            }
        }
        if let Some(value) = target::constant(path, &name.name) {
            return Ok(value);
        }
        if !is_triton(path) || path == "triton.runtime.driver.active" {
            return Ok(Value::Library(format!("{path}.{}", name.name)));
        }
        if path.ends_with("PropagateNan") {
            return Ok(Value::text(&name.name));
        }
        if let Some(scalar) = scalar_of_name(&name.name) {
            return Ok(Value::Dtype(Dtype::of(scalar)));
        }
        if name.name.starts_with("float8") {
            let message = format!("the type `{}` is not available", name.name);
            return self.fail(Code::KernelRefused, name.span, message, "`tl.float8e4nv` and `tl.float8e5` are");
        }
        if PARTS.contains(&&*name.name) {
            return Ok(Value::Library(format!("{path}.{}", name.name)));
        }
        let short = name.name.strip_prefix("fast_").map(|n| n.trim_end_matches('f'));
        let alias = match short {
            Some("divide") => Some("fdiv"),
            other => other,
        };
        match builtins::find(&name.name).or_else(|| builtins::find(alias?)) {
            Some(row) => Ok(Value::Builtin(row, None)),
            None => {
                let message = format!("`{path}` has no `{}` here", name.name);
                self.fail(Code::KernelRefused, name.span, message, &builtins::like(&name.name))
            }
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
            (Value::Tuple(items), Value::Slice(parts)) => {
                let bound = |body: &Self, value: &Value, default: usize| match value {
                    Value::None => Ok(default),
                    value => {
                        let n = body.constant_int(value, "a position", span)?;
                        let n = if n < 0 { n + items.len() as i128 } else { n };
                        Ok(n.clamp(0, items.len() as i128) as usize)
                    }
                };
                let (from, to) = (bound(self, &parts[0], 0)?, bound(self, &parts[1], items.len())?);
                if !matches!(parts[2], Value::None | Value::Int(1)) {
                    return self.fail(Code::KernelSyntax, span, "a tuple is cut in steps of 1", "");
                }
                Ok(Value::Tuple(items.get(from..to.max(from)).unwrap_or(&[]).to_vec()))
            }
            (Value::Tuple(items), index) => {
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
            (other, _) => self.fail(Code::KernelType, span, format!("{} has no elements", other.kind()), ""),
        }
    }

    /// What a `for` goes through.
    pub(super) fn loop_range(&mut self, e: &Expr) -> Made<LoopOver> {
        if let ExprKind::Call(callee, arguments) = &e.kind
            && let Value::Builtin(row, None) = self.expr(callee)?
            && row.name == "range"
        {
            let (mut positional, named) = self.arguments(arguments)?;
            for hint in &named {
                let known = row.parameters.split(", ").any(|p| p.split('=').next() == Some(&hint.0));
                if !known {
                    let message = format!("`range` has no argument `{}`", hint.0);
                    return self.fail(Code::KernelArgument, hint.1.span, message, "");
                }
            }
            let values: Vec<Value> = positional.drain(..).map(|p| p.value).collect();
            let (zero, one) = (Value::Int(0), Value::Int(1));
            return match &values[..] {
                [end] => Ok(LoopOver::Range([zero, end.clone(), one])),
                [start, end] => Ok(LoopOver::Range([start.clone(), end.clone(), one])),
                [start, end, step] => Ok(LoopOver::Range([start.clone(), end.clone(), step.clone()])),
                _ => self.fail(Code::KernelArgument, e.span, "a range has a start, an end and a step", ""),
            };
        }
        let value = self.expr(e)?;
        self.iterate(value, e.span).map(LoopOver::Each)
    }
}

fn shape_value(shape: Option<ir::Shape>) -> Value {
    Value::Tuple(shape.map_or(vec![], |s| s.lengths().map(|n| Value::Int(i128::from(n))).collect()))
}

fn is_triton(path: &str) -> bool {
    path == "triton" || path.starts_with("triton.")
}
