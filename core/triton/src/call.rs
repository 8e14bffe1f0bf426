//! Calls: arguments, and the functions that a kernel calls. Each is written once for a combination of constants and types.

use super::body::{Body, Instance, Made};
use super::pointer::{BlockPointer, Pointer};
use super::statement::Flow;
use super::value::{Function, Lambda, Placed, Tensor, Value};
use crate::python::ast::{Argument, Expr, ExprKind, Parameters};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_ir::{FunctionId, ParamAttrs, Scalar, Type, ValueId};
use std::fmt::Write;
use std::sync::Arc;

/// Positional and named arguments.
type Given = (Vec<Placed>, Vec<(String, Placed)>);

impl Body<'_, '_> {
    pub(super) fn call_expression(&mut self, callee: &Expr, arguments: &[Argument], span: Span) -> Made<Value> {
        if let ExprKind::Subscript(of, _) = &callee.kind
            && let Value::Function(function) = self.expr(of)?
        {
            let message = format!("`{}` is launched, but a kernel cannot launch", function.def.name.name);
            return self.fail(Code::KernelSyntax, span, message, "call it without a grid");
        }
        let value = self.expr(callee)?;
        let (positional, named) = self.arguments(arguments)?;
        self.b.span = span;
        self.call(&value, positional, named, span)
    }

    pub(super) fn arguments(&mut self, arguments: &[Argument]) -> Made<Given> {
        let (mut positional, mut named) = (vec![], vec![]);
        for argument in arguments {
            let placed = self.placed(&argument.value)?;
            match (argument.stars, &argument.name) {
                (0, None) => positional.push(placed),
                (0, Some(name)) => named.push((name.name.clone(), placed)),
                (1, _) => {
                    let items = self.iterate(placed.value, placed.span)?;
                    positional.extend(items.into_iter().map(|value| Placed { value, span: placed.span }));
                }
                (_, _) => {
                    let Value::Dict(items) = placed.value else {
                        return self.fail(Code::KernelArgument, placed.span, "`**` is for dictionaries", "");
                    };
                    for (key, value) in items {
                        named.push((key.to_string(), Placed { value, span: placed.span }));
                    }
                }
            }
        }
        Ok((positional, named))
    }

    /// Calls a value with values.
    pub(super) fn call_value(&mut self, callee: &Value, given: Vec<Value>, span: Span) -> Made<Value> {
        let placed = given.into_iter().map(|value| Placed { value, span }).collect();
        self.call(callee, placed, vec![], span)
    }

    pub(super) fn call(
        &mut self,
        callee: &Value,
        mut positional: Vec<Placed>,
        named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<Value> {
        match callee {
            Value::Builtin(row, this) => {
                if let Some(this) = this {
                    positional.insert(0, Placed { value: (**this).clone(), span });
                }
                self.builtin(row, positional, named, span)
            }
            Value::Function(function) if self.host || !function.jit => {
                self.call_host(function, positional, named, span).map_err(|error| placed_at(error, span))
            }
            Value::Function(function) => {
                // What is wrong in the library's own Python is said at the call.
                self.call_jit(function, positional, named, span).map_err(|error| placed_at(error, span))
            }
            Value::Lambda(lambda) => self.call_lambda(lambda, positional, named, span),
            Value::Class(class) => self.object(class, positional, named, span),
            Value::Partial(partial, first) => {
                let placed = |value: &Value| Placed { value: value.clone(), span };
                let positional = first.iter().map(placed).chain(positional).collect();
                let mut all: Vec<(String, Placed)> =
                    partial.named.iter().map(|(n, v)| (n.clone(), placed(v))).collect();
                all.retain(|(name, _)| named.iter().all(|(new, _)| new != name));
                all.extend(named);
                self.call(&partial.callee, positional, all, span)
            }
            Value::Dtype(ty) if !ty.pointer => match positional.first() {
                Some(placed) => {
                    let (placed, scalar) = (placed.clone(), ty.scalar);
                    self.tensor_as(&placed.value, scalar, placed.span).map(Value::Tensor)
                }
                None => self.fail(Code::KernelArgument, span, "a conversion takes a number", ""),
            },
            Value::Library(path) if !path.ends_with(".jit") => {
                if let Some(made) = self.python_call(path, &positional, &named, span)? {
                    return Ok(made);
                }
                let given: Vec<Value> = positional.into_iter().map(|placed| placed.value).collect();
                let operation = path.strip_prefix("math.").and_then(super::builtins::find);
                match (self.told(path, &given), operation) {
                    (Some(value), _) => Ok(value),
                    // Python's `math` on values of the device.
                    (None, Some(row)) if !given.iter().all(Value::is_constant) => {
                        let given = given.into_iter().map(|value| Placed { value, span }).collect();
                        self.builtin(row, given, named, span)
                    }
                    (None, _) => {
                        let message = format!("`{path}` cannot be called here");
                        let name = path.rsplit('.').next().unwrap_or_default();
                        let known = super::builtins::find(name).filter(|_| !self.host && path.contains('.'));
                        let elsewhere = super::builtins::elsewhere(name).filter(|_| !self.host);
                        let hint = match (known, elsewhere) {
                            (Some(row), _) => format!("a kernel calls `tl.{}` for that", row.name),
                            (None, Some(hint)) => hint.to_owned(),
                            (None, None) => {
                                "a kernel calls operations of `triton.language` and functions with `@triton.jit`".into()
                            }
                        };
                        self.fail(Code::KernelName, span, message, &hint)
                    }
                }
            }
            Value::Library(_) => match positional.first().map(|p| &p.value) {
                Some(Value::Function(f)) => {
                    let function = Function { file: f.file, def: f.def.clone(), jit: true, scope: f.scope.clone() };
                    Ok(Value::Function(Arc::new(function)))
                }
                _ => self.fail(Code::KernelArgument, span, "`triton.jit` takes a function of the file", ""),
            },
            other => {
                // A caller names a function of the file by a text.
                if let Value::Str(text) = other
                    && let Some(function) = self.named_function(text, span)?
                {
                    return self.call(&function, positional, named, span);
                }
                let message = format!("{} cannot be called in a kernel", other.kind());
                let hint = "a kernel calls operations of `triton.language` and functions with `@triton.jit`";
                self.fail(Code::KernelName, span, message, hint)
            }
        }
    }

    /// Gives each parameter its argument.
    pub(super) fn bind_parameters(
        &mut self,
        what: &str,
        parameters: &Parameters,
        (positional, mut named): Given,
        span: Span,
    ) -> Made<Vec<(String, Placed)>> {
        let mut given = positional.into_iter();
        let mut out = vec![];
        for p in &parameters.list {
            let name = &p.name.name;
            match p.stars {
                1 => {
                    let items = given.by_ref().map(|placed| placed.value).collect();
                    out.push((name.clone(), Placed { value: Value::Tuple(items), span }));
                    continue;
                }
                2 => {
                    let items = named.drain(..).map(|(key, placed)| (Value::text(&key), placed.value)).collect();
                    out.push((name.clone(), Placed { value: Value::Dict(items), span }));
                    continue;
                }
                _ => {}
            }
            let by_name = named.iter().position(|(n, _)| n == name).map(|i| named.remove(i).1);
            let by_place = if p.keyword_only || by_name.is_some() { None } else { given.next() };
            let placed = match (by_name.or(by_place), &p.default) {
                (Some(placed), _) => placed,
                (None, Some(default)) => self.placed(default)?,
                (None, None) => {
                    let message = format!("{what} is missing its argument `{name}`");
                    let hint = match p.keyword_only {
                        true => format!("`{name}` stands behind `*`, and is given by its name: `{name}=..`"),
                        false => String::new(),
                    };
                    return self.fail(Code::KernelArgument, span, message, &hint);
                }
            };
            out.push((name.clone(), placed));
        }
        if let Some(extra) = given.next() {
            let takes = counted(parameters.list.len(), "argument");
            let message = format!("{what} takes {takes}, but more are given");
            return self.fail(Code::KernelArgument, extra.span, message, "");
        }
        match named.first() {
            Some((name, placed)) => {
                let known = parameters.list.iter().map(|p| p.name.name.as_str());
                let hint = did_you_mean(name, known).map_or(String::new(), |near| format!("did you mean `{near}`?"));
                let message = match parameters.list.iter().any(|p| p.name.name == *name) {
                    true => format!("{what} is given its parameter `{name}` twice"),
                    false => format!("{what} has no parameter `{name}`"),
                };
                self.fail(Code::KernelArgument, self.named_place(name, placed.span), message, &hint)
            }
            None => Ok(out),
        }
    }

    fn call_lambda(
        &mut self,
        lambda: &Lambda,
        positional: Vec<Placed>,
        named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<Value> {
        self.spend(span)?;
        let bound = self.bind_parameters("this lambda", &lambda.parameters, (positional, named), span)?;
        self.deeper("lambda", span)?;
        let mut scope = lambda.scope.clone();
        scope.extend(bound.into_iter().map(|(name, placed)| (name, placed.value)));
        let (outer, file) = (std::mem::replace(&mut self.scope, scope), std::mem::replace(&mut self.file, lambda.file));
        let value = self.expr(&lambda.body);
        (self.scope, self.file) = (outer, file);
        self.module.depth -= 1;
        value
    }

    fn call_jit(
        &mut self,
        function: &Arc<Function>,
        positional: Vec<Placed>,
        named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<Value> {
        let what = format!("`{}`", function.def.name.name);
        let file = std::mem::replace(&mut self.file, function.file);
        let bound = self.bind_parameters(&what, &function.def.parameters, (positional, named), span);
        self.file = file;
        let bound = bound?;
        let mut key = format!("{:p}", Arc::as_ptr(&function.def));
        let (mut operands, mut buffers) = (vec![], vec![]);
        for (_, placed) in &bound {
            self.describe(&placed.value, &mut key, &mut buffers);
            arguments_of(&placed.value, &mut operands);
        }
        let instance = match self.module.instances.get(&key) {
            Some(instance) => instance.clone(),
            None => {
                if self.module.writing.contains(&key) {
                    let message = format!("{what} calls itself with the same types and constants");
                    let hint = "kernels cannot recur: write a loop; a function may call itself with other constants";
                    return self.fail(Code::KernelSyntax, span, message, hint);
                }
                self.module.writing.push(key.clone());
                let written = self.write_instance(function, bound, span);
                self.module.writing.pop();
                let instance = written?;
                self.module.instances.insert(key, instance.clone());
                instance
            }
        };
        let results = self.module.functions[idx(instance.id)].results.clone();
        let values = self.b.call(instance.id, &results, &operands);
        let given: Vec<ValueId> = operands.into_iter().filter(|v| matches!(self.b.ty(*v), Type::Memory(_))).collect();
        let returned = instance.returned.rebuilt(&mut values.into_iter());
        Ok(with_buffers(&returned, &instance.buffers, &given))
    }

    /// Writes what an instance depends on.
    fn describe(&self, value: &Value, out: &mut String, buffers: &mut Vec<ValueId>) {
        let _ = match value {
            Value::Tensor(t) => write!(out, "|{}", t.ty),
            Value::Pointer(p) => {
                for buffer in p.buffers.iter() {
                    let known = buffers.iter().position(|b| *b == buffer).unwrap_or_else(|| {
                        buffers.push(buffer);
                        buffers.len() - 1
                    });
                    let _ = write!(out, "|*{known}");
                }
                let [index, which] = [p.index, p.which].map(|part| part.map(|v| self.b.ty(v).to_string()));
                write!(out, " {:?} {} {index:?} {which:?}", p.role, p.dtype())
            }
            Value::Block(b) => {
                self.describe(&Value::Pointer(b.base), out, buffers);
                write!(out, "|{:?} {}", b.block, b.offsets.len())
            }
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                match value {
                    Value::Named(class, _) => drop(write!(out, "|o{:p}", Arc::as_ptr(class))),
                    Value::Partial(partial, _) => drop(write!(out, "|p{:?}", partial)),
                    _tuple => {}
                }
                out.push('(');
                items.iter().for_each(|item| self.describe(item, out, buffers));
                write!(out, ")")
            }
            Value::Function(f) => write!(out, "|f{:p}", Arc::as_ptr(&f.def)),
            Value::Class(class) => write!(out, "|c{:p}", Arc::as_ptr(class)),
            Value::Lambda(l) => write!(out, "|l{:p}", Arc::as_ptr(&l.body)),
            constant => write!(out, "|{constant:?}"),
        };
    }

    fn write_instance(&mut self, function: &Arc<Function>, bound: Vec<(String, Placed)>, span: Span) -> Made<Instance> {
        let name = &function.def.name.name;
        self.deeper(name, span)?;
        let mut written = girih_ir::Function::new(self.module.unique(name), function.def.name.span);
        let mut scope = std::collections::HashMap::new();
        let mut buffers: Vec<(ValueId, ValueId)> = vec![];
        for (name, placed) in bound {
            let value = self.import(&placed.value, &mut written, &name, &mut buffers);
            scope.insert(name, value);
        }
        let mut body = Body::new(&mut *self.module, function.file, written);
        body.scope = scope;
        body.function = Some(function.clone());
        if body.statements(&function.def.body)? == Flow::Next {
            body.give_back(Value::None, function.def.name.span)?;
        }
        let returned = body.returned.take().map_or(Value::None, |r| r.value);
        let written = body.b.function;
        self.module.depth -= 1;
        let buffers = written.params.iter().copied().filter(|p| matches!(written.ty(*p), Type::Memory(_))).collect();
        self.module.functions.push(written);
        let id = FunctionId::new(self.module.functions.len() as u32 - 1);
        Ok(Instance { id, returned, buffers })
    }

    /// An argument in terms of the parameters of the function that is called.
    fn import(
        &self,
        value: &Value,
        to: &mut girih_ir::Function,
        name: &str,
        buffers: &mut Vec<(ValueId, ValueId)>,
    ) -> Value {
        let param = |to: &mut girih_ir::Function, v: ValueId| to.param(name, self.b.ty(v), ParamAttrs::default());
        match value {
            Value::Tensor(t) => Value::Tensor(Tensor { value: param(to, t.value), ty: t.ty }),
            Value::Pointer(p) => Value::Pointer(self.import_pointer(p, to, name, buffers)),
            Value::Block(b) => {
                let base = self.import_pointer(&b.base, to, name, buffers);
                let mut list = |old: &[ValueId]| old.iter().map(|v| param(to, *v)).collect::<Vec<_>>();
                let (lengths, strides, offsets) = (list(&b.lengths), list(&b.strides), list(&b.offsets));
                Value::Block(Box::new(BlockPointer {
                    base,
                    lengths,
                    strides,
                    offsets,
                    block: b.block.clone(),
                    padding: b.padding,
                }))
            }
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                value.with_elements(items.iter().map(|item| self.import(item, to, name, buffers)).collect())
            }
            constant => constant.clone(),
        }
    }

    fn import_pointer(
        &self,
        p: &Pointer,
        to: &mut girih_ir::Function,
        name: &str,
        buffers: &mut Vec<(ValueId, ValueId)>,
    ) -> Pointer {
        let inside = p.buffers.renamed(|buffer| {
            // A buffer that is given twice is one parameter twice, and one buffer to the function's own pointers.
            let own = to.param(name, Type::Memory(girih_ir::Space::Global), ParamAttrs::default());
            let first = buffers.iter().find(|(outer, _)| *outer == buffer).map(|(_, inner)| *inner);
            if first.is_none() {
                buffers.push((buffer, own));
            }
            first.unwrap_or(own)
        });
        let mut part = |v: Option<ValueId>, what: &str| {
            v.map(|v| to.param(format!("{name}.{what}"), self.b.ty(v), ParamAttrs::default()))
        };
        let (which, index) = (part(p.which, "which"), part(p.index, "index"));
        Pointer { buffers: inside, which, index, ..*p }
    }
}

/// An error that has a place, or else this one.
fn placed_at(error: Diagnostic, span: Span) -> Diagnostic {
    if !error.span().is_none() {
        return error;
    }
    let placed = Diagnostic::new(error.code, span, error.message);
    match error.hint {
        Some(hint) => placed.hint(hint),
        None => placed,
    }
}

fn idx(id: FunctionId) -> usize {
    id.index()
}

/// What a call passes for a value, in the order of the parameters that it becomes.
fn arguments_of(value: &Value, out: &mut Vec<ValueId>) {
    match value {
        Value::Tensor(t) => out.push(t.value),
        Value::Pointer(p) => {
            out.extend(p.buffers.iter());
            out.extend(p.which);
            out.extend(p.index);
        }
        Value::Block(b) => {
            arguments_of(&Value::Pointer(b.base), out);
            out.extend(b.lengths.iter().chain(&b.strides).chain(&b.offsets));
        }
        Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
            items.iter().for_each(|item| arguments_of(item, out));
        }
        _known_when_compiled => {}
    }
}

/// A value that was returned, with the caller's buffers for the callee's.
fn with_buffers(value: &Value, own: &[ValueId], given: &[ValueId]) -> Value {
    let of = |buffer: ValueId| {
        let at = own.iter().position(|b| *b == buffer);
        at.and_then(|at| given.get(at)).copied().unwrap_or(buffer)
    };
    match value {
        Value::Pointer(p) => Value::Pointer(Pointer { buffers: p.buffers.renamed(of), ..*p }),
        Value::Block(b) => {
            let mut block = (**b).clone();
            block.base.buffers = block.base.buffers.renamed(of);
            Value::Block(Box::new(block))
        }
        Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
            value.with_elements(items.iter().map(|item| with_buffers(item, own, given)).collect())
        }
        other => other.clone(),
    }
}

/// A number or a truth value as a constant, for functions that are run when a kernel is compiled.
pub(super) fn constant_of(scalar: Scalar, bits: u64) -> Value {
    match scalar {
        Scalar::Bool => Value::Bool(bits != 0),
        s if s.is_float() => Value::Float(girih_ir::eval::widen(bits, s)),
        s => Value::Int(girih_ir::eval::int_value(bits, s)),
    }
}
