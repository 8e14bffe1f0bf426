//! Random programs as text: types, functions in either syntax, expressions.

use super::types::{Data, Form, Type};
use super::{Body, Expr, Head, Local, Pattern, Place, Var};

/// What is written of a function besides its code.
#[derive(Default)]
pub struct Notes {
    /// `checked `, `unchecked ` or nothing.
    pub check: &'static str,
    /// Whether there are no types.
    pub is_bare: bool,
    /// The parameters whose type is left open.
    pub holes: Vec<bool>,
    /// Those that may be anything.
    pub any: Vec<bool>,
}

pub fn zero(kind: &str) -> &'static str {
    match kind {
        "u24" => "0",
        "i24" => "+0",
        "f24" => "0.0",
        "u32" => "0u32",
        "i32" => "+0i32",
        _ => "0.0f32",
    }
}

pub fn print_data(number: usize, data: &Data) -> String {
    let fields = |fields: &[Option<Type>], functional: bool| -> Vec<String> {
        let field = |(i, ty): (usize, &Option<Type>)| match (ty, functional) {
            (Some(ty), false) => format!("y{i}: {}", imp_type(ty)),
            (None, false) => format!("~y{i}: D{number}"),
            (Some(ty), true) => format!(" (y{i}: {})", fun_type(ty)),
            (None, true) => format!(" ~(y{i}: D{number})"),
        };
        fields.iter().enumerate().map(field).collect()
    };
    match data.form {
        Form::Object => {
            let fields = data.ctors.first().map_or(vec![], |ctor| fields(ctor, false));
            format!("object D{number} {{ {} }}\n\n", fields.join(", "))
        }
        Form::Functional => {
            let ctor = |(i, ctor): (usize, &Vec<Option<Type>>)| format!("(C{i}{})", fields(ctor, true).concat());
            let ctors: Vec<String> = data.ctors.iter().enumerate().map(ctor).collect();
            format!("type D{number} = {}\n\n", ctors.join(" | "))
        }
        Form::Imperative => {
            let mut text = format!("type D{number}:\n");
            for (i, ctor) in data.ctors.iter().enumerate() {
                let fields = fields(ctor, false);
                let fields = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
                text += &format!("  C{i}{fields}\n");
            }
            text + "\n"
        }
    }
}

pub fn print_function(name: &str, params: &[Var], ret: &Type, body: &Body, functional: bool, notes: &Notes) -> String {
    let Notes { check, is_bare, holes, any } = notes;
    let note = |i: usize, ty: String| match (holes.get(i), any.get(i)) {
        (Some(true), _) => "_".to_owned(),
        (_, Some(true)) => "Any".to_owned(),
        _ => ty,
    };
    let numbered = params.iter().enumerate();
    match (functional, is_bare) {
        (true, true) => {
            let params: String = params.iter().map(|p| format!(" {}", p.name)).collect();
            format!("{check}{name}{params} =\n  {}\n\n", fun_body(body, 1))
        }
        (true, false) => {
            let params: String =
                numbered.map(|(i, p)| format!(" ({}: {})", p.name, note(i, fun_type(&p.ty)))).collect();
            format!("{check}{name}{params} : {} =\n  {}\n\n", fun_type(ret), fun_body(body, 1))
        }
        (false, true) => {
            let params: Vec<String> = params.iter().map(|p| p.name.clone()).collect();
            format!("def {check}{name}({}):\n{}\n", params.join(", "), imp_body(body, 1, None))
        }
        (false, false) => {
            let params: Vec<String> =
                numbered.map(|(i, p)| format!("{}: {}", p.name, note(i, imp_type(&p.ty)))).collect();
            format!("def {check}{name}({}) -> {}:\n{}\n", params.join(", "), imp_type(ret), imp_body(body, 1, None))
        }
    }
}

/// A function of rules; the types of its parameters stand before the colon, or in the type after it.
pub fn print_equations(
    name: &str,
    params: &[Var],
    ret: &Type,
    rules: &[(Vec<Pattern>, Expr)],
    as_arrow: bool,
) -> String {
    let mut text = if as_arrow {
        let params: String = params.iter().map(|p| format!("{} -> ", fun_type(&p.ty))).collect();
        format!("{name} : {params}{}\n", fun_type(ret))
    } else {
        let params: String = params.iter().map(|p| format!(" ({}: {})", p.name, fun_type(&p.ty))).collect();
        format!("{name}{params} : {}\n", fun_type(ret))
    };
    for (patterns, value) in rules {
        let patterns: String = patterns.iter().map(|pattern| format!(" {}", fun_pattern(pattern))).collect();
        text += &format!("{name}{patterns} = {}\n", fun_expr(value));
    }
    text + "\n"
}

pub fn imp_type(ty: &Type) -> String {
    match ty {
        Type::Num(kind) => (*kind).to_owned(),
        Type::Str => "String".to_owned(),
        Type::None => "None".to_owned(),
        Type::Var(name) => (*name).to_owned(),
        Type::Tuple(parts) => format!("({})", parts.iter().map(imp_type).collect::<Vec<_>>().join(", ")),
        Type::List(element) => format!("List({})", imp_type(element)),
        Type::Maybe(value) => format!("Maybe({})", imp_type(value)),
        Type::Tree(value) => format!("Tree({})", imp_type(value)),
        Type::Map(value) => format!("Map({})", imp_type(value)),
        Type::Try(value) => format!("Try({})", imp_type(value)),
        Type::Data(number) => format!("D{number}"),
        Type::Fun(param, ret) => format!("({} -> {})", imp_type(param), imp_type(ret)),
    }
}

fn fun_type(ty: &Type) -> String {
    match ty {
        Type::Num(_) | Type::Str | Type::None | Type::Var(_) | Type::Data(_) => imp_type(ty),
        Type::Tuple(parts) => format!("({})", parts.iter().map(fun_type).collect::<Vec<_>>().join(", ")),
        Type::List(element) => format!("(List {})", fun_type(element)),
        Type::Maybe(value) => format!("(Maybe {})", fun_type(value)),
        Type::Tree(value) => format!("(Tree {})", fun_type(value)),
        Type::Map(value) => format!("(Map {})", fun_type(value)),
        Type::Try(value) => format!("(Try {})", fun_type(value)),
        Type::Fun(param, ret) => format!("({} -> {})", fun_type(param), fun_type(ret)),
    }
}

fn with_clause(with: &[(String, Option<Expr>)], print: fn(&Expr) -> String) -> String {
    let one = |(name, value): &(String, Option<Expr>)| match value {
        Some(value) => format!("{name} = {}", print(value)),
        None => name.clone(),
    };
    with.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `x`, `x = e`, and the variables that go into the arms.
fn print_head(head: &Head, print: fn(&Expr) -> String) -> String {
    let Head { name, value, with } = head;
    let value = value.as_ref().map_or(String::new(), |value| format!(" = {}", print(value)));
    let with = if with.is_empty() { String::new() } else { format!(" with {}", with_clause(with, print)) };
    format!("{name}{value}{with}")
}

// The imperative syntax.

fn imp_pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Wild => "*".to_owned(),
        Pattern::Var(name) | Pattern::Word(name) => name.clone(),
        Pattern::Tuple(parts) => format!("({})", parts.iter().map(imp_pattern).collect::<Vec<_>>().join(", ")),
        Pattern::Copies(names) => format!("{{{}}}", names.join(", ")),
        Pattern::Ctor(..) | Pattern::List(_) => unreachable!("only rules have these"),
    }
}

/// Statements; the outcome is returned, or assigned to `target`.
fn imp_body(body: &Body, indent: usize, target: Option<&str>) -> String {
    let pad = "  ".repeat(indent);
    let inner = |body| imp_body(body, indent + 1, target);
    let rest = |body| imp_body(body, indent, target);
    let ends = |value: &Expr| match target {
        Some(name) => format!("{name} = {}\n", imp_expr(value)),
        None => format!("return {}\n", imp_expr(value)),
    };
    let arms = |word: &str, head: &Head, arms: Vec<(&str, &Body)>| {
        let arms: String = arms
            .iter()
            .map(|(label, body)| format!("{pad}  case {label}:\n{}", imp_body(body, indent + 2, target)))
            .collect();
        format!("{pad}{word} {}:\n{arms}", print_head(head, imp_expr))
    };
    match body {
        Body::Return(value) => format!("{pad}{}", ends(value)),
        Body::Let(name, value, then) => imp_body(value, indent, Some(name)) + &rest(then),
        Body::Take(pattern, value, then) => {
            format!("{pad}{} = {}\n{}", imp_pattern(pattern), imp_expr(value), rest(then))
        }
        Body::Use(name, value, then) => format!("{pad}use {name} = {}\n{}", imp_expr(value), rest(then)),
        Body::Open(ty, name, then) => format!("{pad}open {ty}: {name}\n{}", rest(then)),
        Body::Def(local, then) => {
            let Local { name, params, ret, body } = &**local;
            let params: Vec<String> = params.iter().map(|p| format!("{}: {}", p.name, imp_type(&p.ty))).collect();
            let body = imp_body(body, indent + 1, None);
            format!("{pad}def {name}({}) -> {}:\n{body}{}", params.join(", "), imp_type(ret), rest(then))
        }
        Body::InPlace(place, op, value, then) => {
            let place = match place {
                Place::Variable(name) => name.clone(),
                Place::Slot(name, key) => format!("{name}[{}]", imp_expr(key)),
            };
            format!("{pad}{place} {op} {}\n{}", imp_expr(value), rest(then))
        }
        Body::If(branches, no) => {
            let mut text = String::new();
            for (i, (condition, yes)) in branches.iter().enumerate() {
                let word = if i == 0 { "if" } else { "elif" };
                text += &format!("{pad}{word} {}:\n{}", imp_expr(condition), inner(yes));
            }
            format!("{text}{pad}else:\n{}", inner(no))
        }
        Body::Switch(head, cases) => {
            let labels: Vec<String> = labels(cases.len());
            arms("switch", head, labels.iter().map(String::as_str).zip(cases).collect())
        }
        Body::Match(head, list) => arms("match", head, named(list)),
        Body::Fold(head, list) => arms("fold", head, named(list)),
        Body::Bend { state, condition, step, base } => format!(
            "{pad}bend {}:\n{pad}  when {}:\n{}{pad}  else:\n{}",
            with_clause(state, imp_expr),
            imp_expr(condition),
            imp_body(step, indent + 2, target),
            imp_body(base, indent + 2, target)
        ),
        Body::With(asks, last) => {
            let mut text = format!("{pad}with Try:\n");
            for (pattern, value) in asks {
                text += &format!("{pad}  {} <- {}\n", imp_pattern(pattern), imp_expr(value));
            }
            format!("{text}{pad}  {}", ends(last))
        }
    }
}

fn labels(count: usize) -> Vec<String> {
    (0..count).map(|i| if i + 1 == count { "_".to_owned() } else { i.to_string() }).collect()
}

fn named(list: &[(String, Body)]) -> Vec<(&str, &Body)> {
    list.iter().map(|(name, body)| (name.as_str(), body)).collect()
}

fn imp_expr(expr: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(imp_expr).collect::<Vec<_>>().join(", ");
    match expr {
        Expr::Word(word) => word.clone(),
        Expr::Op(symbol, a, b) => format!("({} {symbol} {})", imp_expr(a), imp_expr(b)),
        Expr::Call(function, arguments) => format!("{}({})", imp_expr(function), list(arguments)),
        Expr::CallNamed(function, arguments, named) => {
            let named = named.iter().rev().map(|(name, value)| format!("{name}={}", imp_expr(value)));
            let all: Vec<String> = arguments.iter().map(imp_expr).chain(named).collect();
            format!("{function}({})", all.join(", "))
        }
        Expr::Record(ctor, fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", imp_expr(value)));
            format!("{ctor} {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Expr::Tuple(parts) => format!("({})", list(parts)),
        Expr::List(items) => format!("[{}]", list(items)),
        Expr::Tree(parts) => match &parts[..] {
            [leaf] => match imp_expr(leaf) {
                // `![` begins a node.
                leaf if leaf.starts_with('[') => format!("Tree/Leaf({leaf})"),
                leaf => format!("!{leaf}"),
            },
            parts => format!("![{}]", list(parts)),
        },
        Expr::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", imp_expr(key), imp_expr(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Expr::Get(map, key) => format!("{map}[{}]", imp_expr(key)),
        Expr::Comprehension { element, var, list, condition } => {
            let condition = condition.as_ref().map_or(String::new(), |c| format!(" if {}", imp_expr(c)));
            format!("[{} for {var} in {}{condition}]", imp_expr(element), imp_expr(list))
        }
        Expr::Lambda(params, body) => {
            let params: Vec<String> = params.iter().map(imp_pattern).collect();
            format!("(lambda {}: {})", params.join(", "), imp_expr(body))
        }
        Expr::Inner(_) => unreachable!("this is functional only"),
    }
}

// The functional syntax.

fn fun_pattern(pattern: &Pattern) -> String {
    let list = |parts: &[Pattern], between| parts.iter().map(fun_pattern).collect::<Vec<_>>().join(between);
    match pattern {
        Pattern::Wild => "*".to_owned(),
        Pattern::Var(name) | Pattern::Word(name) => name.clone(),
        Pattern::Tuple(parts) => format!("({})", list(parts, ", ")),
        Pattern::Copies(names) => format!("{{{}}}", names.join(" ")),
        Pattern::Ctor(name, parts) if parts.is_empty() => name.clone(),
        Pattern::Ctor(name, parts) => format!("({name} {})", list(parts, " ")),
        Pattern::List(parts) => format!("[{}]", list(parts, ", ")),
    }
}

fn fun_body(body: &Body, indent: usize) -> String {
    let pad = "  ".repeat(indent);
    let rest = |body| fun_body(body, indent);
    let arms = |word: &str, head: &Head, arms: Vec<(&str, &Body)>| {
        let arms: String =
            arms.iter().map(|(label, body)| format!("{pad}  {label}: {}\n", fun_body(body, indent + 2))).collect();
        format!("{word} {} {{\n{arms}{pad}}}", print_head(head, fun_expr))
    };
    match body {
        Body::Return(value) => fun_expr(value),
        Body::Let(name, value, then) => {
            format!("let {name} = {};\n{pad}{}", fun_body(value, indent), rest(then))
        }
        Body::Take(pattern, value, then) => {
            format!("let {} = {};\n{pad}{}", fun_pattern(pattern), fun_expr(value), rest(then))
        }
        Body::Use(name, value, then) => format!("use {name} = {};\n{pad}{}", fun_expr(value), rest(then)),
        Body::Open(ty, name, then) => format!("open {ty} {name};\n{pad}{}", rest(then)),
        Body::Def(local, then) => {
            let Local { name, params, ret, body } = &**local;
            let params: String = params.iter().map(|p| format!(" ({}: {})", p.name, fun_type(&p.ty))).collect();
            format!("def {name}{params} : {} = {}\n{pad}{}", fun_type(ret), fun_body(body, indent + 1), rest(then))
        }
        Body::InPlace(..) => unreachable!("this is imperative only"),
        Body::If(branches, no) => {
            let mut text = String::new();
            for (i, (condition, yes)) in branches.iter().enumerate() {
                let word = if i == 0 { "if" } else { " elif" };
                text += &format!("{word} {} {{\n{pad}  {}\n{pad}}}", fun_expr(condition), fun_body(yes, indent + 1));
            }
            format!("{text} else {{\n{pad}  {}\n{pad}}}", fun_body(no, indent + 1))
        }
        Body::Switch(head, cases) => {
            let labels = labels(cases.len());
            arms("switch", head, labels.iter().map(String::as_str).zip(cases).collect())
        }
        Body::Match(head, list) => arms("match", head, named(list)),
        Body::Fold(head, list) => arms("fold", head, named(list)),
        Body::Bend { state, condition, step, base } => format!(
            "bend {} {{\n{pad}  when {}: {}\n{pad}  else: {}\n{pad}}}",
            with_clause(state, fun_expr),
            fun_expr(condition),
            fun_body(step, indent + 2),
            fun_body(base, indent + 2)
        ),
        Body::With(asks, last) => {
            let mut text = "with Try {\n".to_owned();
            for (pattern, value) in asks {
                text += &format!("{pad}  ask {} = {};\n", fun_pattern(pattern), fun_expr(value));
            }
            format!("{text}{pad}  {}\n{pad}}}", fun_expr(last))
        }
    }
}

fn fun_expr(expr: &Expr) -> String {
    let list = |items: &[Expr], between| items.iter().map(fun_expr).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Word(word) => word.clone(),
        Expr::Op(symbol, a, b) => format!("({symbol} {} {})", fun_expr(a), fun_expr(b)),
        Expr::Call(function, arguments) => format!("({} {})", fun_expr(function), list(arguments, " ")),
        Expr::Tuple(parts) => format!("({})", list(parts, ", ")),
        Expr::List(items) => format!("[{}]", list(items, ", ")),
        Expr::Tree(parts) => match &parts[..] {
            [leaf] => match fun_expr(leaf) {
                leaf if leaf.starts_with('[') => format!("(Tree/Leaf {leaf})"),
                leaf => format!("!{leaf}"),
            },
            parts => format!("![{}]", list(parts, ", ")),
        },
        Expr::Lambda(params, body) => {
            let params: String = params.iter().map(|param| format!("λ{} ", fun_pattern(param))).collect();
            format!("({params}{})", fun_expr(body))
        }
        Expr::Inner(body) => fun_body(body, 1),
        Expr::CallNamed(..) | Expr::Record(..) | Expr::Map(_) | Expr::Get(..) | Expr::Comprehension { .. } => {
            unreachable!("these are imperative only")
        }
    }
}
