//! Terms: expressions in the functional syntax.

use super::expressions::atom;
use super::items::equations;
use super::patterns::fun_pattern;
use crate::ast::*;
use crate::doc::{Doc, bracketed, concat, enclosed, group, join, leaf, nest, nothing, text};

/// A term.
pub fn term(expr: &Expr) -> Doc {
    let all = |parts: &[Expr]| parts.iter().map(nested_term).collect::<Vec<_>>();
    match &expr.node {
        ExprKind::List(parts) => bracketed("[", all(parts), "]"),
        ExprKind::Tuple(parts) => bracketed("(", all(parts), ")"),
        ExprKind::Sup(parts) => enclosed("{", all(parts), || Doc::Line, "}"),
        ExprKind::TreeNode(left, right) => bracketed("![", vec![nested_term(left), nested_term(right)], "]"),
        ExprKind::TreeLeaf(value) => leaf(nested_term(value)),
        ExprKind::Lambda(patterns, body) => {
            let patterns =
                join(patterns.iter().map(|pattern| concat([text("λ"), fun_pattern(pattern)])), || text(" "));
            concat([patterns, hanging(body)])
        }
        ExprKind::Call(callee, arguments) => call(callee, arguments),
        ExprKind::Op(op, left, right) => {
            let operands = [nested_term(left), Doc::Line, nested_term(right)];
            group(concat([text(format!("({} ", op.symbol())), nest(concat(operands)), text(")")]))
        }
        ExprKind::Let(bindings, body) => let_bindings(bindings, body),
        ExprKind::If(parts) => fun_if(parts),
        ExprKind::Match(parts) => fun_match("match", parts),
        ExprKind::Fold(parts) => fun_match("fold", parts),
        ExprKind::Switch(parts) => fun_switch(parts),
        ExprKind::Bend(parts) => fun_bend(parts),
        ExprKind::With(parts) => {
            let body = nest(concat([Doc::HardLine, term(&parts.body)]));
            concat([text(format!("with {} {{", parts.monad.node)), body, Doc::HardLine, text("}")])
        }
        ExprKind::Era
        | ExprKind::Var(_)
        | ExprKind::Link(_)
        | ExprKind::Num(_)
        | ExprKind::Char(_)
        | ExprKind::Symbol(_)
        | ExprKind::Str(_)
        | ExprKind::Nat(_)
        | ExprKind::CallNamed(..)
        | ExprKind::Record(..)
        | ExprKind::Comprehension(_)
        | ExprKind::Map(_)
        | ExprKind::MapGet(..) => atom(expr).unwrap_or_else(|| super::expressions::expression(expr)),
    }
}

fn is_let(expr: &Expr) -> bool {
    matches!(expr.node, ExprKind::Let(..))
}

/// A term among others: bindings, which have lines of their own, get parentheses.
fn nested_term(expr: &Expr) -> Doc {
    if !is_let(expr) {
        return term(expr);
    }
    concat([text("("), nest(concat([Doc::HardLine, term(expr)])), Doc::HardLine, text(")")])
}

/// A term behind something that ends with a space or opens a place for it: bindings start on a line of their own.
fn hanging(expr: &Expr) -> Doc {
    match expr.node {
        ExprKind::Let(..) => nest(concat([Doc::HardLine, term(expr)])),
        ExprKind::Match(_)
        | ExprKind::Fold(_)
        | ExprKind::Switch(_)
        | ExprKind::Bend(_)
        | ExprKind::With(_)
        | ExprKind::If(_)
        | ExprKind::List(_)
        | ExprKind::Lambda(..) => concat([text(" "), term(expr)]),
        _ => group(nest(concat([Doc::Line, term(expr)]))),
    }
}

/// The body of a definition, with its `=`.
pub fn equals(body: &Expr) -> Doc {
    concat([text(" ="), hanging(body)])
}

fn call(callee: &Expr, arguments: &[Expr]) -> Doc {
    let callee = match callee.node {
        // `(* a b)` would be a multiplication, and a lambda or a leaf is easier to see with parentheses of its own.
        ExprKind::Era | ExprKind::Lambda(..) | ExprKind::TreeLeaf(_) => concat([text("("), term(callee), text(")")]),
        _ => nested_term(callee),
    };
    let last = arguments.len().saturating_sub(1);
    let argument = |(i, argument): (usize, &Expr)| match argument.node {
        ExprKind::Lambda(..) if i < last => concat([text("("), term(argument), text(")")]),
        _ => nested_term(argument),
    };
    let arguments = arguments.iter().enumerate().flat_map(|part| [Doc::Line, argument(part)]);
    group(concat([text("("), callee, nest(concat(arguments)), text(")")]))
}

fn let_bindings(bindings: &[FunBind], body: &Expr) -> Doc {
    let mut lines = vec![];
    for (i, binding) in bindings.iter().enumerate() {
        let next = match bindings.get(i + 1) {
            Some(next) => Some(keyword(next)),
            None => first_word(body),
        };
        lines.push(fun_bind(binding, next));
        lines.push(Doc::HardLine);
    }
    lines.push(term(body));
    concat(lines)
}

fn keyword(binding: &FunBind) -> &'static str {
    match binding {
        FunBind::Let(..) => "let",
        FunBind::Use(..) => "use",
        FunBind::Ask(..) => "ask",
        FunBind::Open(..) => "open",
        FunBind::Def(_) => "def",
    }
}

/// The word that a term starts with, if it starts with one.
fn first_word(expr: &Expr) -> Option<&str> {
    match &expr.node {
        ExprKind::Var(name) => Some(name),
        ExprKind::Let(bindings, _) => bindings.first().map(keyword),
        ExprKind::If(_) => Some("if"),
        ExprKind::Match(_) => Some("match"),
        ExprKind::Fold(_) => Some("fold"),
        ExprKind::Switch(_) => Some("switch"),
        ExprKind::Bend(_) => Some("bend"),
        ExprKind::With(_) => Some("with"),
        _ => None,
    }
}

fn fun_bind(binding: &FunBind, next: Option<&str>) -> Doc {
    let value = |head: Doc, value: &Expr| concat([head, equals(value), text(";")]);
    match binding {
        FunBind::Let(pattern, e) => value(concat([text("let "), fun_pattern(pattern)]), e),
        FunBind::Ask(pattern, e) => value(concat([text("ask "), fun_pattern(pattern)]), e),
        FunBind::Use(name, e) => value(text(format!("use {}", name.node)), e),
        FunBind::Open(ty, var) => text(format!("open {} {};", ty.node, var.node)),
        FunBind::Def(def) => {
            // What follows could be taken for another rule if it starts with the name of the definition.
            let end = if next == Some(&def.name.node) { text(";") } else { nothing() };
            concat([text("def "), nest(equations(def)), end])
        }
    }
}

/// `{ e }` with the body on a line of its own, or all on one.
fn braced(head: Doc, body: &Expr) -> Doc {
    concat([head, text(" {"), nest(concat([Doc::Line, term(body)])), Doc::Line, text("}")])
}

fn fun_if(parts: &If<Expr>) -> Doc {
    let branches = parts.branches.iter().enumerate().map(|(i, (condition, body))| {
        let word = if i == 0 { "if " } else { " elif " };
        braced(concat([text(word), nested_term(condition)]), body)
    });
    group(concat(branches.chain([braced(text(" else"), &parts.otherwise)])))
}

fn bind_and_arg(bind: &Option<Ident>, arg: &Expr) -> Doc {
    let name = bind.as_ref().map_or(nothing(), |bind| text(format!("{} = ", bind.node)));
    concat([name, nested_term(arg)])
}

fn state(variables: &[(Ident, Option<Expr>)]) -> Doc {
    let variable = |(name, value): &(Ident, Option<Expr>)| match value {
        Some(value) => concat([text(format!("{} = ", name.node)), nested_term(value)]),
        None => text(name.node.to_string()),
    };
    join(variables.iter().map(variable), || text(", "))
}

fn with_clause(variables: &[(Ident, Option<Expr>)]) -> Doc {
    if variables.is_empty() { nothing() } else { concat([text(" with "), state(variables)]) }
}

fn cases(head: Doc, cases: impl Iterator<Item = Doc>) -> Doc {
    let cases = cases.flat_map(|case| [Doc::HardLine, case]);
    concat([head, text(" {"), nest(concat(cases)), Doc::HardLine, text("}")])
}

fn case(label: &str, body: &Expr) -> Doc {
    concat([text(format!("{label}:")), hanging(body)])
}

fn fun_match(word: &'static str, parts: &Match<Expr>) -> Doc {
    let head = concat([text(word), text(" "), bind_and_arg(&parts.bind, &parts.arg), with_clause(&parts.with)]);
    let arms = parts.arms.iter().map(|arm| case(arm.name.as_ref().map_or("_", |name| name.node.as_str()), &arm.body));
    cases(head, arms)
}

fn fun_switch(parts: &Switch<Expr>) -> Doc {
    let head = concat([text("switch "), bind_and_arg(&parts.bind, &parts.arg), with_clause(&parts.with)]);
    let numbered = parts.cases.iter().enumerate().map(|(number, body)| case(&number.to_string(), body));
    cases(head, numbered.chain([case("_", &parts.default)]))
}

fn fun_bend(parts: &Bend<Expr>) -> Doc {
    let space = if parts.state.is_empty() { nothing() } else { text(" ") };
    let head = concat([text("bend"), space, state(&parts.state)]);
    let step = concat([text("when "), nested_term(&parts.condition), text(":"), hanging(&parts.step)]);
    cases(head, [step, case("else", &parts.base)].into_iter())
}
