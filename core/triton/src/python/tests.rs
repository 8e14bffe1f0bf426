//! What is read of which text.

use super::ast::*;
use super::parse;
use girih_base::span::SourceId;

fn read(text: &str) -> Vec<Stmt> {
    parse(SourceId::new(0), text).unwrap_or_else(|d| panic!("{text}\n{d:#?}"))
}

fn expression(text: &str) -> ExprKind {
    match read(text).remove(0).kind {
        StmtKind::Expr(value) => value.kind,
        other => panic!("{other:?}"),
    }
}

/// An expression with all its parentheses.
fn shown(e: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    match &e.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Float(n) => n.to_string(),
        ExprKind::Str(s) => format!("{s:?}"),
        ExprKind::Tuple(items) => format!("({},)", list(items)),
        ExprKind::List(items) => format!("[{}]", list(items)),
        ExprKind::Attribute(of, name) => format!("{}.{}", shown(of), name.name),
        ExprKind::Subscript(of, index) => format!("{}[{}]", shown(of), shown(index)),
        ExprKind::Slice(a, b, c) => {
            let part = |p: &Option<Box<Expr>>| p.as_ref().map_or(String::new(), |e| shown(e));
            format!("{}:{}:{}", part(a), part(b), part(c))
        }
        ExprKind::Call(of, args) => {
            let args: Vec<String> = args
                .iter()
                .map(|a| {
                    let name = a.name.as_ref().map_or(String::new(), |n| format!("{}=", n.name));
                    format!("{name}{}{}", "*".repeat(a.stars.into()), shown(&a.value))
                })
                .collect();
            format!("{}({})", shown(of), args.join(", "))
        }
        ExprKind::Unary(op, a) => format!("({} {})", op.text(), shown(a)),
        ExprKind::Binary(op, a, b) => format!("({} {} {})", shown(a), op.text(), shown(b)),
        ExprKind::Boolean(op, items) => {
            format!("({})", items.iter().map(shown).collect::<Vec<_>>().join(&format!(" {} ", op.text())))
        }
        ExprKind::Compare(a, rest) => {
            let rest: String = rest.iter().map(|(op, e)| format!(" {} {}", op.text(), shown(e))).collect();
            format!("({}{rest})", shown(a))
        }
        ExprKind::Conditional(c, a, b) => format!("({} if {} else {})", shown(a), shown(c), shown(b)),
        other => format!("{other:?}"),
    }
}

#[test]
fn operators_bind_as_in_python() {
    for (text, expected) in [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("-a ** -b", "(- (a ** (- b)))"),
        ("a if b else c if d else e", "(a if b else (c if d else e))"),
        ("not a == b and c or d", "(((not (a == b)) and c) or d)"),
        ("a < b <= c is not None", "(a < b <= c is not None)"),
        ("a not in b | c ^ d & e << 1", "(a not in (b | (c ^ (d & (e << 1)))))"),
        ("x[:, None, 1:2]", "x[(::, None, 1:2:,)]"),
        ("f(a, b=c, *d, **e)[0].T", "f(a, b=c, *d, **e)[0].T"),
        ("1_000 // 0x10 % 1e-3", "((1000 // 16) % 0.001)"),
    ] {
        let found = shown(&Expr { kind: expression(text), span: girih_base::span::Span::NONE });
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn strings_are_taken_apart() {
    assert_eq!(expression(r#""a\n" 'b' r"\n""#), ExprKind::Str("a\nb\\n".into()));
    let ExprKind::Format(parts) = expression("f\"a{{ {x + 1:>4} {y!r}{z=}{w = }\"") else { panic!("no f-string") };
    let texts: Vec<String> = parts
        .iter()
        .map(|p| match p {
            FormatPart::Text(t) => format!("{t:?}"),
            FormatPart::Value(e, letter, format) => {
                format!("{}{}{format}", shown(e), letter.map_or(String::new(), |c| format!("!{c}")))
            }
        })
        .collect();
    assert_eq!(texts.join(" "), r#""a{ " (x + 1)>4 " " y!r "z=" z!r "w = " w!r """#);
}

#[test]
fn a_file_of_all_kinds_of_statements_is_read() {
    let text = r#"
"""A docstring
over lines."""
from __future__ import annotations
import torch, triton as t
import triton.language as tl
from ..a.b import (c as d,
                   e,)
from . import *

@t.autotune(configs=[t.Config({'B': b}, num_warps=4) for b in [1, 2] if b > 1], key=["n"])
@t.jit
def k(x_ptr, n: tl.constexpr, *rest, key: int = 3, **more) -> None:  # a comment
    a = b = x_ptr + 1; c += 2
    d: tl.constexpr = 1 \
        + 2
    if a:
        pass
    elif b: return
    else:
        while True:
            break
    for i, (j, k) in range(3):
        continue
    else:
        assert a, "b"
	
class C(A, metaclass=B):
    x: int
    async def f(self):
        async with a as b, c: yield 1
        return await g()

try:
    import x
except (A, B) as e:
    raise E from e
finally:
    del a[0], b
with (open(f) as g, h): global z
match = 3
match x:
    case [1, *y]: pass
    case {"a": 1}:
        pass
print((lambda a, *b, c=1: a)(1), {**a, 'b': 1}, {1, 2}, {k: v for k, v in d}, (i for i in x), f"{a['b']}", ..., 1j)
type A[T] = list[T]
if (y := f(x)) is None: x = 1
"#;
    let statements = read(text);
    let functions: Vec<&Arc> =
        statements.iter().filter_map(|s| if let StmtKind::Function(f) = &s.kind { Some(f) } else { None }).collect();
    assert_eq!((functions.len(), functions[0].decorators.len(), functions[0].parameters.list.len()), (1, 2, 5));
    assert_eq!(functions[0].body.len(), 5);
    assert!(statements.iter().any(|s| s.kind == StmtKind::Other(Other("`match`"))));
    let Some(StmtKind::If(condition, ..)) = statements.last().map(|s| &s.kind) else {
        panic!("the last one is an `if`")
    };
    let ExprKind::Compare(first, _) = &condition.kind else { panic!("{condition:?}") };
    assert!(matches!(first.kind, ExprKind::Named(..)));
}
type Arc = std::sync::Arc<FunctionDef>;

#[test]
fn what_is_no_python_is_said_where_it_stands() {
    for (text, part, message) in [
        ("a = (1,\nb = 2", "= 2", "expected"),
        ("def f(:\n  pass", ":", "a name"),
        ("if a:\npass", "pass", "an indented block"),
        ("if a:\n    b\n  c", "  ", "indentation matches none"),
        ("x = 'abc", "'abc", "not closed"),
        ("a $ b", "$", "no meaning"),
        ("f\"{a\"", "f\"{a\"", "braces"),
        ("a = = b", "= b", "an expression"),
        ("for x y in z: pass", "y", "`in`"),
    ] {
        let found = parse(SourceId::new(0), text).expect_err(text);
        let span = found.span();
        assert!(found.message.contains(message), "{text}: {}", found.message);
        assert!(text[span.start as usize..].starts_with(&part[..1]), "{text}: {span:?}");
    }
    let deep = format!("x = {}1{}", "(".repeat(500), ")".repeat(500));
    assert!(parse(SourceId::new(0), &deep).is_err());
    let chain = |arms: usize| format!("if a: pass\n{}else: pass\n", "elif a: pass\n".repeat(arms - 1));
    assert!(parse(SourceId::new(0), &chain(250)).is_ok());
    let error = parse(SourceId::new(0), &chain(251)).expect_err("it is too long");
    assert_eq!(error.message, "this `if` has more than 250 branches");
}
