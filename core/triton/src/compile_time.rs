//! Ordinary Python that is run when a kernel is compiled: functions without `@triton.jit`, and operations on what is known.

use super::body::{Body, Made};
use super::builtins::Arguments;
use super::value::{Function, Placed, Record, Value};
use crate::python::ast::{Expr, ExprKind, Other, Stmt, StmtKind};
use girih_base::diag::Code;
use girih_base::span::Span;
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
            StmtKind::Global(_) => return self.not_run("`global`", s.span),
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

/// `triton.Config(kwargs, num_warps, num_stages, ..)`.
pub(super) fn config(_body: &mut Body<'_, '_>, a: &Arguments) -> Made<Value> {
    let names = ["kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook"];
    let fields = names.into_iter().enumerate().map(|(i, name)| (name, a.value(i).clone())).collect();
    Ok(Value::Record(Arc::new(Record { what: "a configuration", fields })))
}
