//! Type expressions in both syntaxes.

use crate::ast::{TypeExpr, TypeKind};
use crate::doc::{Doc, bracketed, concat, enclosed, text};

/// A type as imperative definitions write it.
pub fn imp_type(ty: &TypeExpr) -> Doc {
    ty_with(ty, imp_type, |constructor, arguments| bracketed(format!("{constructor}("), arguments, ")"))
}

/// A type as functional definitions write it.
pub fn fun_type(ty: &TypeExpr) -> Doc {
    ty_with(ty, fun_type, |constructor, mut arguments| {
        arguments.insert(0, text(constructor.to_owned()));
        enclosed("(", arguments, || Doc::Line, ")")
    })
}

fn ty_with(ty: &TypeExpr, inner: fn(&TypeExpr) -> Doc, apply: fn(&str, Vec<Doc>) -> Doc) -> Doc {
    match &ty.node {
        TypeKind::Any => text("Any"),
        TypeKind::Hole => text("_"),
        TypeKind::None => text("None"),
        TypeKind::Number(kind) => text(kind.name()),
        TypeKind::Name(name) => text(name.to_string()),
        TypeKind::Apply(constructor, arguments) => apply(&constructor.node, arguments.iter().map(inner).collect()),
        TypeKind::Tuple(parts) => bracketed("(", parts.iter().map(inner).collect(), ")"),
        TypeKind::Arrow(from, to) => {
            let is_arrow = matches!(from.node, TypeKind::Arrow(..));
            let from = if is_arrow { concat([text("("), inner(from), text(")")]) } else { inner(from) };
            concat([from, text(" -> "), inner(to)])
        }
    }
}
