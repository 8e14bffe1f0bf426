//! Random programs as text: types, functions in either syntax, expressions.

use super::{Body, Data, Expr, Type, Var};

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

pub fn ctor_name(data: usize, ctor: usize) -> String {
    format!("D{data}/C{ctor}")
}

pub fn print_data(number: usize, data: &Data) -> String {
    let mut text = format!("type D{number}:\n");
    for (i, fields) in data.ctors.iter().enumerate() {
        let fields: Vec<String> = fields
            .iter()
            .enumerate()
            .map(|(i, ty)| match ty {
                Some(ty) => format!("y{i}: {}", imp_type(ty)),
                None => format!("~y{i}: D{number}"),
            })
            .collect();
        let fields = if fields.is_empty() { String::new() } else { format!(" {{ {} }}", fields.join(", ")) };
        text += &format!("  C{i}{fields}\n");
    }
    text + "\n"
}

pub fn print_function(name: &str, params: &[Var], ret: &Type, body: &Body, functional: bool) -> String {
    if functional {
        let params: String = params.iter().map(|p| format!(" ({}: {})", p.name, fun_type(&p.ty))).collect();
        return format!("{name}{params} : {} =\n  {}\n\n", fun_type(ret), fun_body(body, 1));
    }
    let params: Vec<String> = params.iter().map(|p| format!("{}: {}", p.name, imp_type(&p.ty))).collect();
    format!("def {name}({}) -> {}:\n{}\n", params.join(", "), imp_type(ret), imp_body(body, 1, None))
}

pub fn imp_type(ty: &Type) -> String {
    match ty {
        Type::Num(kind) => (*kind).to_owned(),
        Type::Tuple(parts) => format!("({})", parts.iter().map(imp_type).collect::<Vec<_>>().join(", ")),
        Type::List(element) => format!("List({})", imp_type(element)),
        Type::Maybe(value) => format!("Maybe({})", imp_type(value)),
        Type::Data(number) => format!("D{number}"),
        Type::Fun(param, ret) => format!("({} -> {})", imp_type(param), imp_type(ret)),
    }
}

fn fun_type(ty: &Type) -> String {
    match ty {
        Type::Num(_) | Type::Data(_) => imp_type(ty),
        Type::Tuple(parts) => format!("({})", parts.iter().map(fun_type).collect::<Vec<_>>().join(", ")),
        Type::List(element) => format!("(List {})", fun_type(element)),
        Type::Maybe(value) => format!("(Maybe {})", fun_type(value)),
        Type::Fun(param, ret) => format!("({} -> {})", fun_type(param), fun_type(ret)),
    }
}

/// Statements; the outcome is returned, or assigned to `target`.
fn imp_body(body: &Body, indent: usize, target: Option<&str>) -> String {
    let pad = "  ".repeat(indent);
    let inner = |body| imp_body(body, indent + 1, target);
    let arms = |head: &str, name: &str, arms: &[(String, Body)]| {
        let arms: String = arms
            .iter()
            .map(|(ctor, body)| format!("{pad}  case {ctor}:\n{}", imp_body(body, indent + 2, target)))
            .collect();
        format!("{pad}{head} {name}:\n{arms}")
    };
    match body {
        Body::Return(value) => match target {
            Some(name) => format!("{pad}{name} = {}\n", imp_expr(value)),
            None => format!("{pad}return {}\n", imp_expr(value)),
        },
        Body::Let(name, value, rest) => imp_body(value, indent, Some(name)) + &imp_body(rest, indent, target),
        Body::Take(names, value, rest) => {
            format!("{pad}({}) = {}\n{}", names.join(", "), imp_expr(value), imp_body(rest, indent, target))
        }
        Body::If(condition, yes, no) => {
            format!("{pad}if {}:\n{}{pad}else:\n{}", imp_expr(condition), inner(yes), inner(no))
        }
        Body::Switch(name, cases) => {
            let mut text = format!("{pad}switch {name}:\n");
            for (i, case) in cases.iter().enumerate() {
                let label = if i + 1 == cases.len() { "_".to_owned() } else { i.to_string() };
                text += &format!("{pad}  case {label}:\n{}", imp_body(case, indent + 2, target));
            }
            text
        }
        Body::Match(name, list) => arms("match", name, list),
        Body::Fold(name, list) => arms("fold", name, list),
    }
}

fn imp_expr(expr: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(imp_expr).collect::<Vec<_>>().join(", ");
    match expr {
        Expr::Word(word) => word.clone(),
        Expr::Op(symbol, a, b) => format!("({} {symbol} {})", imp_expr(a), imp_expr(b)),
        Expr::Call(function, arguments) => format!("{function}({})", list(arguments)),
        Expr::Tuple(parts) => format!("({})", list(parts)),
        Expr::List(items) => format!("[{}]", list(items)),
        Expr::Lambda(var, body) => format!("(lambda {var}: {})", imp_expr(body)),
    }
}

fn fun_body(body: &Body, indent: usize) -> String {
    let pad = "  ".repeat(indent);
    let arms = |head: &str, name: &str, arms: Vec<(String, &Body)>| {
        let arms: String =
            arms.iter().map(|(label, body)| format!("{pad}  {label}: {}\n", fun_body(body, indent + 2))).collect();
        format!("{head} {name} {{\n{arms}{pad}}}")
    };
    let named = |list| -> Vec<(String, &Body)> {
        let list: &Vec<(String, Body)> = list;
        list.iter().map(|(ctor, body)| (ctor.clone(), body)).collect()
    };
    match body {
        Body::Return(value) => fun_expr(value),
        Body::Let(name, value, rest) => {
            format!("let {name} = {};\n{pad}{}", fun_body(value, indent), fun_body(rest, indent))
        }
        Body::Take(names, value, rest) => {
            format!("let ({}) = {};\n{pad}{}", names.join(", "), fun_expr(value), fun_body(rest, indent))
        }
        Body::If(condition, yes, no) => format!(
            "if {} {{\n{pad}  {}\n{pad}}} else {{\n{pad}  {}\n{pad}}}",
            fun_expr(condition),
            fun_body(yes, indent + 1),
            fun_body(no, indent + 1)
        ),
        Body::Switch(name, cases) => {
            let label = |i| if i + 1 == cases.len() { "_".to_owned() } else { usize::to_string(&i) };
            arms("switch", name, cases.iter().enumerate().map(|(i, case)| (label(i), case)).collect())
        }
        Body::Match(name, list) => arms("match", name, named(list)),
        Body::Fold(name, list) => arms("fold", name, named(list)),
    }
}

fn fun_expr(expr: &Expr) -> String {
    let list = |items: &[Expr], between| items.iter().map(fun_expr).collect::<Vec<_>>().join(between);
    match expr {
        Expr::Word(word) => word.clone(),
        Expr::Op(symbol, a, b) => format!("({symbol} {} {})", fun_expr(a), fun_expr(b)),
        Expr::Call(function, arguments) => format!("({function} {})", list(arguments, " ")),
        Expr::Tuple(parts) => format!("({})", list(parts, ", ")),
        Expr::List(items) => format!("[{}]", list(items, ", ")),
        Expr::Lambda(var, body) => format!("(λ{var} {})", fun_expr(body)),
    }
}
