//! Better guesses: where the compiler refuses a kernel, what the refused expression depends on is guessed in another way.
//!
//! Invariant: only what the kernel is given changes, never the kernel. A way that the compiler refuses at a place where it was refused before leads nowhere.

use crate::checkout::Checkout;
use crate::walk;
use girih_base::span::Span;
use girih_ir::Scalar;
use girih_triton::python::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind};
use girih_triton::{Argument, Constant};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Which names the values of a kernel's variables, and those of the functions that it calls, were computed from.
#[derive(Default)]
pub struct Origins {
    names: BTreeMap<String, BTreeSet<String>>,
}

impl Origins {
    /// Those of a kernel.
    pub fn of(def: &FunctionDef, checkout: &Checkout) -> Origins {
        let (mut origins, mut seen) = (Origins::default(), HashSet::new());
        origins.add(def, checkout, &mut seen);
        origins
    }

    fn add(&mut self, def: &FunctionDef, checkout: &Checkout, seen: &mut HashSet<String>) {
        if !seen.insert(def.name.name.clone()) {
            return;
        }
        walk::statements(&def.body, &mut |statement| match &statement.kind {
            StmtKind::Assign(targets, value) => targets.iter().for_each(|target| self.link(target, value)),
            StmtKind::Annotated(target, _, Some(value))
            | StmtKind::Augmented(target, _, value)
            | StmtKind::For(target, value, ..) => self.link(target, value),
            StmtKind::If(condition, one, other) => self.depend(condition, [one, other]),
            _other => {}
        });
        let mut called = vec![];
        walk::expressions(&def.body, &mut |e| {
            let ExprKind::Call(callee, arguments) = &e.kind else { return };
            let ExprKind::Name(name) = &callee.kind else { return };
            let Some(helper) = checkout.functions.get(name) else { return };
            for (at, parameter) in helper.parameters.list.iter().enumerate() {
                let named = arguments.iter().find(|a| a.name.as_ref().is_some_and(|n| n.name == parameter.name.name));
                if let Some(given) = named.or(arguments.get(at).filter(|a| a.name.is_none())) {
                    let from = self.names.entry(parameter.name.name.clone()).or_default();
                    from.extend(names(&given.value));
                }
            }
            called.push(helper.clone());
        });
        called.iter().for_each(|helper| self.add(helper, checkout, seen));
    }

    /// What branches assign depends on their condition.
    fn depend(&mut self, condition: &Expr, branches: [&[Stmt]; 2]) {
        for branch in branches {
            walk::statements(branch, &mut |statement| {
                if let StmtKind::Assign(targets, _) = &statement.kind {
                    targets.iter().for_each(|target| self.link(target, condition));
                }
            });
        }
    }

    fn link(&mut self, target: &Expr, value: &Expr) {
        let from = names(value);
        for name in names(target) {
            self.names.entry(name).or_default().extend(from.iter().cloned());
        }
    }

    /// All names that an expression of these names depends on, the nearest first.
    pub fn behind(&self, mut near: Vec<String>) -> Vec<String> {
        let mut seen: HashSet<String> = near.iter().cloned().collect();
        let mut at = 0;
        while let Some(name) = near.get(at) {
            let next = self.names.get(name).into_iter().flatten().filter(|name| seen.insert((*name).clone()));
            let next: Vec<String> = next.cloned().collect();
            near.extend(next);
            at += 1;
        }
        near
    }
}

fn names(e: &Expr) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk::each(e, &mut |e| {
        if let ExprKind::Name(name) = &e.kind {
            found.insert(name.clone());
        }
    });
    found
}

/// The words of a place in a text, and of the lines that it stands in.
pub fn words(text: &str, span: Span) -> Vec<String> {
    let (start, end) = ((span.start as usize).min(text.len()), (span.end as usize).min(text.len()));
    let from = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let until = text.get(end..).and_then(|after| after.find('\n')).map_or(text.len(), |at| end + at);
    let mut found: Vec<String> = vec![];
    for piece in [text.get(start..end), text.get(from..until)].into_iter().flatten() {
        for word in piece.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if !word.is_empty() && !found.iter().any(|other| other == word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}

/// What else a parameter may be.
pub fn others(given: &Argument, constexpr: bool) -> Vec<Argument> {
    let constant = |constant| Argument::Constant(constant);
    let mut list = vec![];
    if constexpr || matches!(given, Argument::Constant(_)) {
        list.extend([1, 2, 4, 8, 16, 32, 64, 128, 256].map(|n| constant(Constant::Int(n))));
        list.extend([true, false].map(|b| constant(Constant::Bool(b))));
        list.extend(
            ["tl.float32", "tl.float16", "tl.bfloat16", "tl.float8e4nv", "tl.int32"]
                .map(|t| constant(Constant::Text(t.into()))),
        );
        list.extend([constant(Constant::None), constant(Constant::Float(0.5))]);
        list.extend(["ieee", "relaxed"].map(|t| constant(Constant::Text(t.into()))));
    }
    if !constexpr {
        use Scalar::{Bf16, F8E4M3, F16, F32, I8, I32, I64, U8};
        list.extend([F32, I32, F16, I64, Bf16, U8, I8, F8E4M3].map(Argument::Buffer));
        list.extend([Argument::Scalar(I32, 64), Argument::Scalar(F32, 0x3f00_0000), constant(Constant::None)]);
    }
    list.retain(|other| other != given);
    list
}
