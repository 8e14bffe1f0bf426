//! Statements of a kernel and of the functions that it calls.

use super::body::{Body, Made, Returned};
use super::value::Value;
use crate::python::ast::{BinaryOp, Expr, ExprKind, Other, Stmt, StmtKind};
use girih_base::diag::Code;
use girih_base::span::Span;
use girih_ir::{Op, Type};

/// How a list of statements ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// What follows runs.
    Next,
    /// The function has returned.
    Returned,
}

impl Body<'_, '_> {
    pub(super) fn statements(&mut self, list: &[Stmt]) -> Made<Flow> {
        for statement in list {
            if self.statement(statement)? == Flow::Returned {
                return Ok(Flow::Returned);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, s: &Stmt) -> Made<Flow> {
        self.b.span = s.span;
        match &s.kind {
            // `...` stands where nothing is to be done.
            StmtKind::Expr(Expr { kind: ExprKind::Ellipsis, .. }) => {}
            StmtKind::Expr(e) => drop(self.expr(e)?),
            StmtKind::Assign(targets, value) => {
                let value = self.expr(value)?;
                let value = self.assignable(value, s.span)?;
                for target in targets {
                    self.assign(target, value.clone())?;
                }
            }
            StmtKind::Annotated(target, annotation, value) => self.annotated(target, annotation, value.as_ref())?,
            StmtKind::Augmented(target, op, value) => self.augmented(target, *op, value, s.span)?,
            StmtKind::If(condition, then, otherwise) => {
                let value = self.expr(condition)?;
                if value.is_constant() {
                    let truth = self.constant_bool(&value, "this condition", condition.span)?;
                    return self.statements(if truth { then } else { otherwise });
                }
                let condition = self.condition(&value, condition.span)?;
                return self.branch(condition, then, otherwise, s.span);
            }
            StmtKind::For(target, iterable, list, otherwise) => {
                self.no_else(otherwise)?;
                return self.for_loop(target, iterable, list, s.span);
            }
            StmtKind::While(condition, list, otherwise) => {
                self.no_else(otherwise)?;
                self.while_loop(condition, list, s.span)?;
            }
            StmtKind::Return(value) => {
                let value = match value {
                    Some(e) => self.expr(e)?,
                    None => Value::None,
                };
                self.give_back(value, s.span)?;
                return Ok(Flow::Returned);
            }
            StmtKind::Pass => {}
            StmtKind::Assert(condition, message) => self.assertion(condition, message.as_ref(), s.span)?,
            StmtKind::Break => return self.unsupported("`break`", s.span),
            StmtKind::Continue => return self.unsupported("`continue`", s.span),
            StmtKind::Function(_) => return self.unsupported("a function in a function", s.span),
            StmtKind::Class(..) => return self.unsupported("a class", s.span),
            StmtKind::Import(_) | StmtKind::ImportFrom(..) => return self.unsupported("an import", s.span),
            StmtKind::Global(_) => return self.unsupported("`global`", s.span),
            StmtKind::With(..) => return self.unsupported("`with`", s.span),
            StmtKind::Try(..) => return self.unsupported("`try`", s.span),
            StmtKind::Other(Other(what)) => return self.unsupported(what, s.span),
        }
        Ok(Flow::Next)
    }

    fn unsupported<T>(&self, what: &str, span: Span) -> Made<T> {
        let hint = match what {
            "`break`" | "`continue`" => "let the loop's condition end it, and choose values with `tl.where`",
            "an import" => "import at the top of the file",
            "a function in a function" => "define it outside of the kernel, with `@triton.jit` above it",
            "`global`" => "a kernel reads constants of its file by their names, and changes none",
            "`match`" => "write `if`, `elif` and `else`",
            _ => "",
        };
        self.fail(Code::KernelSyntax, span, format!("a kernel cannot contain {what}"), hint)
    }

    fn no_else(&self, list: &[Stmt]) -> Made<()> {
        match list.first() {
            Some(first) => self.unsupported("an `else` of a loop", first.span),
            None => Ok(()),
        }
    }

    /// Numbers become values of the device when a variable gets them; other constants stay what they are.
    pub(super) fn assignable(&mut self, value: Value, span: Span) -> Made<Value> {
        if self.host {
            return Ok(value);
        }
        Ok(match value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => Value::Tensor(self.tensor_of_constant(&value, span)?),
            Value::Tuple(ref items) | Value::Named(_, ref items) => {
                let items = items.iter().map(|item| self.assignable(item.clone(), span)).collect::<Made<_>>()?;
                value.with_elements(items)
            }
            other => other,
        })
    }

    pub(super) fn assign(&mut self, target: &Expr, value: Value) -> Made<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                if let Value::Tensor(t) = &value
                    && self.b.function.values[t.value].name.is_none()
                    && self.b.function.as_constant(t.value).is_none()
                {
                    self.b.function.values[t.value].name = Some(name.as_str().into());
                }
                self.scope.insert(name.clone(), value);
                Ok(())
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                let Some(items) = value.elements() else {
                    let message = format!("{} is not taken apart into {} variables", value.kind(), targets.len());
                    return self.fail(Code::KernelType, target.span, message, "");
                };
                let mut items = items.to_vec();
                let star = targets.iter().position(|target| matches!(target.kind, ExprKind::Starred(_)));
                if let Some(star) = star.filter(|_| items.len() + 1 >= targets.len()) {
                    // The variable with the star takes what the others leave.
                    let taken = items.len() + 1 - targets.len();
                    let list = Value::Tuple(items.drain(star..star + taken).collect());
                    items.insert(star, list);
                }
                if items.len() != targets.len() {
                    let message = format!("{} values are given to {} variables", items.len(), targets.len());
                    return self.fail(Code::KernelArgument, target.span, message, "");
                }
                targets.iter().zip(items).try_for_each(|(target, item)| self.assign(target, item))
            }
            ExprKind::Starred(inner) => self.assign(inner, value),
            ExprKind::Subscript(..) => {
                let hint = "tiles are values: make a new one with `tl.where`, or store to memory with `tl.store`";
                self.fail(Code::KernelSyntax, target.span, "an element of a tile cannot be assigned", hint)
            }
            ExprKind::Attribute(..) => {
                self.fail(Code::KernelSyntax, target.span, "an attribute cannot be assigned in a kernel", "")
            }
            _others => self.fail(Code::KernelSyntax, target.span, "this cannot be assigned", ""),
        }
    }

    fn annotated(&mut self, target: &Expr, annotation: &Expr, value: Option<&Expr>) -> Made<()> {
        let Some(e) = value else { return Ok(()) };
        let value = self.expr(e)?;
        // What only the running kernel knows stays that, as in Triton: where a constant is needed, its use says so.
        let value =
            if is_constexpr(annotation) && value.is_constant() { value } else { self.assignable(value, e.span)? };
        self.assign(target, value)
    }

    fn augmented(&mut self, target: &Expr, op: BinaryOp, e: &Expr, span: Span) -> Made<()> {
        if !matches!(target.kind, ExprKind::Name(_)) {
            return self.assign(target, Value::None);
        }
        let left = self.expr(target)?;
        let right = self.expr(e)?;
        let value = self.binary(op, &left, &right, span)?;
        let value = self.assignable(value, span)?;
        self.assign(target, value)
    }

    fn assertion(&mut self, condition: &Expr, message: Option<&Expr>, span: Span) -> Made<()> {
        let mut given = vec![self.placed(condition)?];
        if let Some(message) = message {
            given.push(self.placed(message)?);
        }
        let name = if given[0].value.is_constant() { "static_assert" } else { "device_assert" };
        match super::builtins::find(name) {
            Some(row) => self.builtin(row, given, vec![], span).map(drop),
            None => Ok(()),
        }
    }

    /// `return`.
    pub(super) fn give_back(&mut self, value: Value, span: Span) -> Made<()> {
        if self.loops > 0 {
            return self.fail(Code::KernelSyntax, span, "`return` is inside a loop", "let the loop end, then return");
        }
        if self.b.function.launch.is_some() && !matches!(value, Value::None) {
            return self.fail(Code::KernelSyntax, span, "a kernel returns nothing", "store results with `tl.store`");
        }
        let value = match &self.returned {
            None => {
                let value = if self.branches > 0 { self.assignable(value, span)? } else { value };
                let value = self.canonical(&value);
                let mut parts = vec![];
                value.parts(&mut parts);
                self.b.function.results = parts.iter().map(|v| self.b.ty(*v)).collect();
                self.returned = Some(Returned { value: value.clone(), span });
                value
            }
            Some(first) => {
                let first = first.clone();
                let (gives, other) = (value.kind(), first.value.kind());
                let at_end =
                    self.function.as_ref().filter(|f| f.def.name.span == span).map(|f| f.def.name.name.clone());
                self.like_template(&first.value, value, span).map_err(|mut d| {
                    let hint = match at_end {
                        Some(name) => {
                            d.message =
                                format!("`{name}` comes to its end without a `return`, and gives {other} elsewhere");
                            "write a `return` for every case"
                        }
                        None => {
                            d.message = format!("this `return` gives {gives}, and another one gives {other}");
                            "all of them give one type: convert it with `.to(..)` or `tl.broadcast_to(..)`"
                        }
                    };
                    d.label(first.span, format!("this gives {other}")).hint(hint)
                })?
            }
        };
        let mut parts = vec![];
        value.parts(&mut parts);
        self.b.end(Op::Return, &parts);
        Ok(())
    }

    /// Ends a region that is never come to the end of.
    pub(super) fn unreachable(&mut self) {
        let types: Vec<Type> = self.b.function.results.clone();
        let zeros: Vec<_> = types.into_iter().map(|ty| self.b.zero(ty)).collect();
        self.b.end(Op::Return, &zeros);
    }
}

/// Whether an annotation is `tl.constexpr`, in whatever way it is written.
pub(super) fn is_constexpr(annotation: &Expr) -> bool {
    match &annotation.kind {
        ExprKind::Name(name) => name == "constexpr",
        ExprKind::Attribute(_, name) => name.name == "constexpr",
        ExprKind::Str(text) => text.ends_with("constexpr"),
        ExprKind::Subscript(of, _) => is_constexpr(of),
        _others => false,
    }
}
