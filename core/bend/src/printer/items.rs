//! Top-level items.

use super::patterns::fun_pattern;
use super::statements::{check, imp_def, imp_head};
use super::terms::equals;
use super::types::{fun_type, imp_type};
use crate::ast::*;
use crate::doc::{Doc, bracketed, concat, enclosed, group, join, nest, nothing, text};

/// All items, with blank lines between them; imports stand together.
pub fn module(module: &Module) -> Doc {
    let mut parts = vec![];
    for (i, next) in module.items.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|before| module.items.get(before));
        if let Some(before) = before {
            let together = matches!((before, next), (Item::Import(_), Item::Import(_)));
            parts.push(if together { nothing() } else { Doc::HardLine });
        }
        parts.extend([item(next), Doc::HardLine]);
    }
    concat(parts)
}

fn item(item: &Item) -> Doc {
    match item {
        Item::Import(def) => import(def),
        Item::Type(def) => match def.syntax {
            TypeSyntax::Imp => imp_type_def(def),
            TypeSyntax::Fun => fun_type_def(def),
            TypeSyntax::Object => object(def),
        },
        Item::Def(def) => imp_def(def),
        Item::Equations(def) => equations(def),
        Item::Hvm(def) => hvm(def),
    }
}

/// A definition without its body, or a whole type or import.
pub fn header(item: &Item) -> Doc {
    match item {
        Item::Import(_) | Item::Type(_) => self::item(item),
        Item::Def(def) => imp_head(def),
        Item::Equations(def) => match (&def.signature, &def.body) {
            (Some(signature), _) => concat([text(check(def.check)), signature_of(&def.name.node, signature)]),
            (None, FunBody::Equation(_)) => text(def.name.node.to_string()),
            (None, FunBody::Rules(rules)) => {
                join(rules.iter().map(|rule| rule_head(&def.name.node, rule)), || Doc::HardLine)
            }
        },
        Item::Hvm(def) => hvm_head(def),
    }
}

fn rule_head(name: &str, rule: &Rule) -> Doc {
    let patterns = rule.patterns.iter().flat_map(|pattern| [text(" "), fun_pattern(pattern)]);
    concat([text(name.to_owned()), concat(patterns)])
}

fn hvm_head(def: &HvmDef) -> Doc {
    let ty = def.ty.as_ref().map_or(nothing(), |ty| concat([text(" -> "), imp_type(ty)]));
    concat([text(format!("hvm {}", def.name.node)), ty])
}

fn import(import: &Import) -> Doc {
    let head = match &import.from {
        Some(path) => format!("from {} import ", path.node),
        None => "import ".to_owned(),
    };
    let names = match &import.names {
        ImportNames::All => text("*"),
        ImportNames::One(name) => import_name(name),
        ImportNames::Many(names) => bracketed("(", names.iter().map(import_name).collect(), ")"),
    };
    concat([text(head), names])
}

fn import_name(name: &ImportName) -> Doc {
    match &name.alias {
        Some(alias) => text(format!("{} as {}", name.name.node, alias.node)),
        None => text(name.name.node.to_string()),
    }
}

fn idents(names: &[Ident]) -> Vec<Doc> {
    names.iter().map(|name| text(name.node.to_string())).collect()
}

fn type_head(word: &str, def: &TypeDef) -> Doc {
    let vars = if def.vars.is_empty() { nothing() } else { bracketed("(", idents(&def.vars), ")") };
    concat([text(format!("{word} {}", def.name.node)), vars])
}

fn imp_fields(fields: &[Field]) -> Doc {
    if fields.is_empty() {
        return nothing();
    }
    let fields = fields.iter().map(|field| {
        let name = text(format!("{}{}", tilde(field), field.name.node));
        let ty = field.ty.as_ref().map_or(nothing(), |ty| concat([text(": "), imp_type(ty)]));
        concat([name, ty])
    });
    let fields = join(fields, || concat([text(","), Doc::Line]));
    group(concat([text(" {"), nest(concat([Doc::Line, fields])), Doc::Line, text("}")]))
}

fn tilde(field: &Field) -> &'static str {
    if field.recursive { "~" } else { "" }
}

fn imp_type_def(def: &TypeDef) -> Doc {
    let ctors =
        def.ctors.iter().flat_map(|ctor| [Doc::HardLine, text(ctor.name.node.to_string()), imp_fields(&ctor.fields)]);
    concat([type_head("type", def), text(":"), nest(concat(ctors))])
}

fn object(def: &TypeDef) -> Doc {
    let fields = def.ctors.first().map_or(nothing(), |ctor| imp_fields(&ctor.fields));
    concat([type_head("object", def), fields])
}

fn fun_type_def(def: &TypeDef) -> Doc {
    let head = if def.vars.is_empty() {
        text(def.name.node.to_string())
    } else {
        let mut parts = idents(&def.vars);
        parts.insert(0, text(def.name.node.to_string()));
        enclosed("(", parts, || Doc::Line, ")")
    };
    let ctors = def
        .ctors
        .iter()
        .enumerate()
        .flat_map(|(i, ctor)| [Doc::Line, text(if i == 0 { "= " } else { "| " }), fun_ctor(ctor)]);
    group(concat([text("type "), head, nest(concat(ctors))]))
}

fn fun_ctor(ctor: &CtorDef) -> Doc {
    if ctor.fields.is_empty() {
        return text(ctor.name.node.to_string());
    }
    let fields = ctor.fields.iter().map(|field| {
        let name = field.name.node.to_string();
        match &field.ty {
            Some(ty) => concat([text(tilde(field)), text(format!("({name}: ")), fun_type(ty), text(")")]),
            None => text(format!("{}{name}", tilde(field))),
        }
    });
    let parts = [text(ctor.name.node.to_string())].into_iter().chain(fields).collect();
    enclosed("(", parts, || Doc::Line, ")")
}

/// A functional definition: its signature, and its rules on a line each.
pub fn equations(def: &FunDef) -> Doc {
    let name = &def.name.node;
    let signature = def.signature.as_ref().map(|signature| signature_of(name, signature));
    let check = text(check(def.check));
    match &def.body {
        FunBody::Equation(body) => concat([check, signature.unwrap_or_else(|| text(name.to_string())), equals(body)]),
        FunBody::Rules(rules) => {
            let rules = rules.iter().map(|rule| concat([rule_head(name, rule), equals(&rule.body)]));
            concat([check, join(signature.into_iter().chain(rules), || Doc::HardLine)])
        }
    }
}

fn signature_of(name: &str, signature: &Signature) -> Doc {
    let params = signature.params.iter().map(|param| match &param.ty {
        Some(ty) => concat([text(format!(" ({}: ", param.name.node)), fun_type(ty), text(")")]),
        None => text(format!(" {}", param.name.node)),
    });
    concat([text(name.to_owned()), concat(params), text(" : "), fun_type(&signature.ty)])
}

fn hvm(def: &HvmDef) -> Doc {
    let redexes = def.net.redexes.iter().map(|redex| text(redex.to_string()));
    let lines = [text(def.net.root.to_string())].into_iter().chain(redexes).flat_map(|line| [Doc::HardLine, line]);
    concat([hvm_head(def), text(":"), nest(concat(lines))])
}
