//! Expressions in the imperative syntax, with the fewest parentheses.

use super::patterns::{char_literal, imp_pattern, string_literal};
use crate::ast::{BinOp, Expr, ExprKind, Ident, Pattern};
use crate::doc::{Doc, bracketed, concat, group, leaf, nest, text};

/// Whether a line may end in an expression: a bracket is open around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Free,
    Fixed,
}

/// An expression in a statement.
pub fn expression(expr: &Expr) -> Doc {
    in_lines(expr, Lines::Fixed)
}

/// An expression with a bracket around it.
fn inner(expr: &Expr) -> Doc {
    in_lines(expr, Lines::Free)
}

fn inner_all(exprs: &[Expr]) -> Vec<Doc> {
    exprs.iter().map(inner).collect()
}

fn in_lines(expr: &Expr, lines: Lines) -> Doc {
    match &expr.node {
        ExprKind::List(parts) => bracketed("[", inner_all(parts), "]"),
        ExprKind::Tuple(parts) => bracketed("(", inner_all(parts), ")"),
        ExprKind::Sup(parts) => bracketed("{", inner_all(parts), "}"),
        ExprKind::TreeNode(left, right) => bracketed("![", vec![inner(left), inner(right)], "]"),
        ExprKind::TreeLeaf(value) => leaf(in_lines(value, lines)),
        ExprKind::Lambda(patterns, body) => lambda(patterns, body, lines),
        ExprKind::Call(callee, arguments) => {
            concat([operand_of_call(callee, lines), bracketed("(", inner_all(arguments), ")")])
        }
        ExprKind::CallNamed(callee, positional, named) => {
            let named = named.iter().map(|(name, value)| concat([text(format!("{} = ", name.node)), inner(value)]));
            let arguments = positional.iter().map(inner).chain(named).collect();
            concat([operand_of_call(callee, lines), bracketed("(", arguments, ")")])
        }
        ExprKind::Op(op, left, right) => group(operation(*op, left, right, lines)),
        ExprKind::Record(constructor, fields) => record(constructor, fields),
        ExprKind::Comprehension(parts) => {
            let list =
                [inner(&parts.element), Doc::Line, text(format!("for {} in ", parts.var.node)), inner(&parts.list)];
            let condition = parts.condition.iter().flat_map(|condition| [Doc::Line, text("if "), inner(condition)]);
            let inside = concat(list.into_iter().chain(condition));
            group(concat([text("["), nest(concat([Doc::SoftLine, inside])), Doc::SoftLine, text("]")]))
        }
        ExprKind::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| concat([map_key(key), text(": "), inner(value)])).collect();
            bracketed("{", entries, "}")
        }
        ExprKind::MapGet(map, key) => concat([text(format!("{}[", map.node)), inner(key), text("]")]),
        ExprKind::Era
        | ExprKind::Var(_)
        | ExprKind::Link(_)
        | ExprKind::Num(_)
        | ExprKind::Char(_)
        | ExprKind::Symbol(_)
        | ExprKind::Str(_)
        | ExprKind::Nat(_)
        | ExprKind::Let(..)
        | ExprKind::If(_)
        | ExprKind::Match(_)
        | ExprKind::Switch(_)
        | ExprKind::Fold(_)
        | ExprKind::Bend(_)
        | ExprKind::With(_) => atom(expr).unwrap_or_else(|| super::terms::term(expr)),
    }
}

/// An expression that is one token, the same in both syntaxes.
pub fn atom(expr: &Expr) -> Option<Doc> {
    Some(match &expr.node {
        ExprKind::Era => text("*"),
        ExprKind::Var(name) => text(name.to_string()),
        ExprKind::Link(name) => text(format!("${name}")),
        ExprKind::Num(literal) => text(literal.text.to_string()),
        ExprKind::Char(c) => char_literal(*c),
        ExprKind::Symbol(symbol) => text(format!("`{symbol}`")),
        ExprKind::Str(string) => string_literal(string),
        ExprKind::Nat(number) => text(format!("#{number}")),
        _ => return None,
    })
}

fn lambda(patterns: &[Pattern], body: &Expr, lines: Lines) -> Doc {
    let patterns = crate::doc::join(patterns.iter().map(imp_pattern), || text(", "));
    concat([text("lambda "), patterns, text(": "), in_lines(body, lines)])
}

/// A lambda and a leaf reach as far to the right as they can, so nothing may follow them.
fn reaches_right(expr: &Expr) -> bool {
    matches!(expr.node, ExprKind::Lambda(..) | ExprKind::TreeLeaf(_))
}

fn parenthesised(expr: &Expr) -> Doc {
    group(concat([text("("), nest(concat([Doc::SoftLine, inner(expr)])), Doc::SoftLine, text(")")]))
}

fn operand_of_call(callee: &Expr, lines: Lines) -> Doc {
    match callee.node {
        ExprKind::Var(_) | ExprKind::Call(..) | ExprKind::CallNamed(..) | ExprKind::Tuple(_) | ExprKind::Era => {
            in_lines(callee, lines)
        }
        _ => parenthesised(callee),
    }
}

fn map_key(key: &Expr) -> Doc {
    if reaches_right(key) { parenthesised(key) } else { inner(key) }
}

/// Operands and operators of one precedence stand in one group, so that all of their lines end or none does.
fn operation(op: BinOp, left: &Expr, right: &Expr, lines: Lines) -> Doc {
    let left = match &left.node {
        // Without parentheses this is warned about: it looks like a range.
        ExprKind::Op(inner, ..) if inner.is_comparison() && op.is_comparison() => parenthesised(left),
        ExprKind::Op(inner, a, b) if inner.precedence() == op.precedence() => operation(*inner, a, b, lines),
        ExprKind::Op(inner, ..) if inner.precedence() < op.precedence() => parenthesised(left),
        _ => operand(left, lines),
    };
    let right = match &right.node {
        ExprKind::Op(inner, ..) if inner.precedence() <= op.precedence() => parenthesised(right),
        _ => operand(right, lines),
    };
    let after = if lines == Lines::Free { Doc::Line } else { text(" ") };
    concat([left, text(format!(" {}", op.symbol())), after, right])
}

fn operand(expr: &Expr, lines: Lines) -> Doc {
    if reaches_right(expr) { parenthesised(expr) } else { in_lines(expr, lines) }
}

fn record(constructor: &Ident, fields: &[(Ident, Expr)]) -> Doc {
    let open = format!("{} {{", constructor.node);
    if fields.is_empty() {
        return concat([text(open), text("}")]);
    }
    let fields = fields.iter().map(|(name, value)| concat([text(format!("{}: ", name.node)), inner(value)]));
    let fields = crate::doc::join(fields, || concat([text(","), Doc::Line]));
    group(concat([text(open), nest(concat([Doc::Line, fields])), Doc::Line, text("}")]))
}
