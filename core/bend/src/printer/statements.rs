//! Statements of the imperative syntax.

use super::expressions::expression;
use super::patterns::imp_pattern;
use super::types::imp_type;
use crate::ast::*;
use crate::doc::{Doc, bracketed, concat, join, nest, nothing, text};

/// `def f(x: T) -> R:` and its block.
pub fn imp_def(def: &ImpDef) -> Doc {
    opened(imp_head(def), &def.body)
}

/// A definition without the colon and its body.
pub fn imp_head(def: &ImpDef) -> Doc {
    let params = def.params.iter().map(|param| match &param.ty {
        Some(ty) => concat([text(format!("{}: ", param.name.node)), imp_type(ty)]),
        None => text(param.name.node.to_string()),
    });
    let ret = def.ret.as_ref().map_or(nothing(), |ty| concat([text(" -> "), imp_type(ty)]));
    let name = text(format!("def {}{}", check(def.check), def.name.node));
    concat([name, bracketed("(", params.collect(), ")"), ret])
}

/// `checked`, `unchecked` or nothing, with a space behind it.
pub fn check(check: Check) -> &'static str {
    match check {
        Check::Default => "",
        Check::Checked => "checked ",
        Check::Unchecked => "unchecked ",
    }
}

/// A line that opens a block, and the block.
fn opened(head: Doc, block: &Block) -> Doc {
    concat([head, text(":"), lines(block.iter().map(statement))])
}

/// Lines that stand deeper.
fn lines(lines: impl Iterator<Item = Doc>) -> Doc {
    nest(concat(lines.flat_map(|line| [Doc::HardLine, line])))
}

fn statement(statement: &Stmt) -> Doc {
    match &statement.node {
        StmtKind::Assign(target, value) => concat([assigned(target), text(" = "), expression(value)]),
        StmtKind::Ask(pattern, value) => concat([imp_pattern(pattern), text(" <- "), expression(value)]),
        StmtKind::InPlace(target, op, value) => {
            let target = match target {
                InPlaceTarget::Var(name) => text(name.node.to_string()),
                InPlaceTarget::MapSlot(map, key) => map_slot(map, key),
            };
            concat([target, text(format!(" {} ", op.symbol())), expression(value)])
        }
        StmtKind::Use(name, value) => concat([text(format!("use {} = ", name.node)), expression(value)]),
        StmtKind::Open(ty, var) => text(format!("open {}: {}", ty.node, var.node)),
        StmtKind::Def(def) => imp_def(def),
        StmtKind::Return(value) => concat([text("return "), expression(value)]),
        StmtKind::If(parts) => imp_if(parts),
        StmtKind::Match(parts) => imp_match("match ", parts),
        StmtKind::Fold(parts) => imp_match("fold ", parts),
        StmtKind::Switch(parts) => imp_switch(parts),
        StmtKind::Bend(parts) => imp_bend(parts),
        StmtKind::With(parts) => opened(text(format!("with {}", parts.monad.node)), &parts.body),
    }
}

fn assigned(target: &Target) -> Doc {
    match target {
        Target::Pattern(pattern) => imp_pattern(pattern),
        Target::MapSlot(map, key) => map_slot(map, key),
    }
}

fn map_slot(map: &Ident, key: &Expr) -> Doc {
    concat([text(format!("{}[", map.node)), expression(key), text("]")])
}

fn imp_if(parts: &If<Block>) -> Doc {
    let branches = parts.branches.iter().enumerate().flat_map(|(i, (condition, block))| {
        let word = if i == 0 { "if " } else { "elif " };
        [opened(concat([text(word), expression(condition)]), block), Doc::HardLine]
    });
    concat(branches.chain([opened(text("else"), &parts.otherwise)]))
}

fn bind_and_arg(bind: &Option<Ident>, arg: &Expr) -> Doc {
    let name = bind.as_ref().map_or(nothing(), |bind| text(format!("{} = ", bind.node)));
    concat([name, expression(arg)])
}

fn state(variables: &[(Ident, Option<Expr>)]) -> Doc {
    let variable = |(name, value): &(Ident, Option<Expr>)| match value {
        Some(value) => concat([text(format!("{} = ", name.node)), expression(value)]),
        None => text(name.node.to_string()),
    };
    join(variables.iter().map(variable), || text(", "))
}

fn with_clause(variables: &[(Ident, Option<Expr>)]) -> Doc {
    if variables.is_empty() { nothing() } else { concat([text(" with "), state(variables)]) }
}

fn imp_match(word: &'static str, parts: &Match<Block>) -> Doc {
    let arms = parts.arms.iter().map(|arm| {
        let name = arm.name.as_ref().map_or("_", |name| name.node.as_str());
        opened(text(format!("case {name}")), &arm.body)
    });
    let head = [text(word), bind_and_arg(&parts.bind, &parts.arg), with_clause(&parts.with), text(":")];
    concat(head.into_iter().chain([lines(arms)]))
}

fn imp_switch(parts: &Switch<Block>) -> Doc {
    let numbered = parts.cases.iter().enumerate().map(|(i, block)| opened(text(format!("case {i}")), block));
    let cases = numbered.chain([opened(text("case _"), &parts.default)]);
    let head = [text("switch "), bind_and_arg(&parts.bind, &parts.arg), with_clause(&parts.with), text(":")];
    concat(head.into_iter().chain([lines(cases)]))
}

fn imp_bend(parts: &Bend<Block>) -> Doc {
    let step = opened(concat([text("when "), expression(&parts.condition)]), &parts.step);
    let base = opened(text("else"), &parts.base);
    concat([text("bend "), state(&parts.state), text(":"), lines([step, base].into_iter())])
}
