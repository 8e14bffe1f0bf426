//! What the parser makes of programs that are right: literals, names against operators, indentation, positions, and the
//! layout in which the printer gives them back.

use girih_base::diag::{Code, Diagnostics, Style, render};
use girih_base::num::NumKind;
use girih_base::span::Sources;
use girih_bend::ast::*;
use girih_bend::parser::{Dialect, parse_expr, parse_module};
use girih_bend::printer::{print_expr, print_module};

fn try_parse(text: &str, dialect: Dialect) -> Result<Module, Vec<Code>> {
    let mut diags = Diagnostics::default();
    let source = Sources::default().add("test.bend", text);
    let module = parse_module(source, text, dialect, &mut diags);
    let codes: Vec<Code> = diags.iter().map(|diagnostic| diagnostic.code).collect();
    if codes.is_empty() { Ok(module) } else { Err(codes) }
}

fn parse(text: &str) -> Module {
    let mut sources = Sources::default();
    let source = sources.add("test.bend", text);
    let mut diags = Diagnostics::default();
    let module = parse_module(source, text, Dialect::User, &mut diags);
    let errors: Vec<String> = diags.iter().map(|found| render(found, &sources, Style::Plain)).collect();
    assert!(errors.is_empty(), "{}", errors.concat());
    module
}

/// The layout of a program.
fn layout(text: &str) -> String {
    print_module(&parse(text))
}

/// An expression of the imperative syntax, printed.
fn imp(expression: &str) -> String {
    let printed = layout(&format!("def main():\n  return {expression}\n"));
    printed.trim_start_matches("def main():\n  return ").trim_end().to_owned()
}

/// A term of the functional syntax, printed.
fn fun(term: &str) -> String {
    layout(&format!("main = {term}\n")).trim_start_matches("main =").trim().to_owned()
}

fn literal(text: &str) -> Result<(LiteralValue, Option<NumKind>), Vec<Code>> {
    let module = try_parse(&format!("main = {text}"), Dialect::User)?;
    match &module.items[..] {
        [Item::Equations(FunDef { body: FunBody::Rules(rules), .. })] => match &rules[0].body.node {
            ExprKind::Num(literal) => Ok((literal.value, literal.suffix)),
            other => panic!("{text} is {other:?}"),
        },
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn numbers_have_the_value_that_is_written() {
    use LiteralValue::*;
    let values = [
        ("0", Unsigned(0)),
        ("16777216", Unsigned(1 << 24)),
        ("4294967295", Unsigned(u32::MAX)),
        ("1_000", Unsigned(1000)),
        ("0xFf", Unsigned(255)),
        ("0x5f32", Unsigned(0x5f32)),
        ("0b1_01", Unsigned(5)),
        ("+5", Signed(5)),
        ("-5", Signed(-5)),
        ("-0x10", Signed(-16)),
        ("-2147483648", Signed(-(1 << 31))),
        ("1.5", Float(1.5)),
        ("-0.1", Float(-0.1)),
        ("3.14159265358979323846264338327950288", Float(std::f32::consts::PI)),
        ("0xA.A", Float(10.625)),
        ("0b111.111", Float(7.875)),
        ("+0x0.0000000000000000000000000000001", Float(f32::from_bits((127 - 124) << 23))),
        // Halfway between two floats, and a little more.
        ("0b1000000000000000000000001.0", Float(16777216.0)),
        ("0b1000000000000000000000001.0000000000000000000000000000000000000000000001", Float(16777218.0)),
    ];
    for (text, value) in values {
        assert_eq!(literal(text), Ok((value, None)), "{text}");
    }
}

#[test]
fn suffixes_give_the_type() {
    use LiteralValue::*;
    use NumKind::*;
    let values = [
        ("7u24", Unsigned(7), U24),
        ("4000000000u32", Unsigned(4_000_000_000), U32),
        ("0xFFu32", Unsigned(255), U32),
        ("7i24", Signed(7), I24),
        ("-8388608i24", Signed(-8_388_608), I24),
        ("-3i32", Signed(-3), I32),
        ("1.5f32", Float(1.5), F32),
        ("2f24", Float(2.0), F24),
        ("-2f32", Float(-2.0), F32),
        ("16777217f32", Float(16777216.0), F32),
    ];
    for (text, value, kind) in values {
        assert_eq!(literal(text), Ok((value, Some(kind))), "{text}");
    }
}

#[test]
fn numbers_that_are_wrong_are_refused() {
    use Code::*;
    let refused = [
        ("4294967296", LiteralRange),
        ("-2147483649", LiteralRange),
        ("+2147483648", LiteralRange),
        ("16777216u24", LiteralRange),
        ("8388608i24", LiteralRange),
        ("999999999999999999999999999999999999999999.0", LiteralRange),
        ("0x", BadLiteral),
        ("0b2", BadLiteral),
        ("0b12", BadLiteral),
        ("12ab", BadLiteral),
        ("1.", BadLiteral),
        ("1.2.3", BadLiteral),
        ("1e5", BadLiteral),
        ("-3u32", BadLiteral),
        ("1.5i32", BadLiteral),
        ("5u64", BadLiteral),
        ("-", BadLiteral),
    ];
    for (text, code) in refused {
        assert_eq!(literal(text), Err(vec![code]), "{text}");
    }
}

#[test]
fn characters_strings_and_symbols() {
    assert_eq!(fun(r"'\u{1F600}'"), "'😀'");
    assert_eq!(fun(r"'\''"), r"'\''");
    assert_eq!(fun("'''"), r"'\''");
    assert_eq!(fun(r#""a\"b\\\n\t\r\0\'""#), r#""a\"b\\\n\t\r\0'""#);
    assert_eq!(fun("\"two\nlines\""), r#""two\nlines""#);
    assert_eq!(fun("`aZ9+`"), "`aZ9+`");
    assert_eq!(fun("``"), "``");
    for wrong in ["'", "''", "'ab'", "\"", "\"\\x\"", "'\\u{D800}'", "'\\u41'", "`abcde`", "`a b`", "`abc"] {
        assert_eq!(try_parse(&format!("main = {wrong}"), Dialect::User), Err(vec![Code::BadLiteral]), "{wrong}");
    }
}

#[test]
fn the_place_decides_what_a_sign_or_a_slash_is() {
    assert_eq!(imp("x-3"), "x-3");
    assert_eq!(imp("x -3"), "x - 3");
    assert_eq!(imp("5-3"), "5 - 3");
    assert_eq!(imp("a /b"), "a / b");
    assert_eq!(imp("a/b"), "a/b");
    assert_eq!(imp("f(x, -1, +2.5)"), "f(x, -1, +2.5)");
    assert_eq!(imp("a * *"), "a * *");
    assert_eq!(imp("a ** b*c"), "a ** b * c");
    assert_eq!(fun("[x -3]"), "[x, -3]");
    assert_eq!(fun("[5-3 5/x]"), "[5, -3, 5, /x]");
    assert_eq!(fun("(- 1 2)"), "(- 1 2)");
    assert_eq!(fun("(+1 2)"), "(+1 2)");
    assert_eq!(fun("(+ 1 2)"), "(+ 1 2)");
    assert_eq!(fun("(-1, 2)"), "(-1, 2)");
    assert_eq!(fun("(-1)"), "-1");
    assert_eq!(fun("(*)"), "*");
    assert_eq!(fun("(* , 1)"), "(*, 1)");
    assert_eq!(fun("((*) 1)"), "((*) 1)");
    assert_eq!(fun("(* a b)"), "(* a b)");
    assert_eq!(fun("(/a b)"), "(/ a b)");
    assert_eq!(fun("(== 1 2)"), "(== 1 2)");
    assert_eq!(fun("(f (a) b)"), "(f a b)");
}

#[test]
fn parentheses_are_as_few_as_the_precedence_allows() {
    assert_eq!(imp("((1 + 2)) * (3) - (4 - 5)"), "(1 + 2) * 3 - (4 - 5)");
    assert_eq!(imp("(1 * 2) + (3 * 4)"), "1 * 2 + 3 * 4");
    assert_eq!(imp("(2 ** 3) ** 4"), "2 ** 3 ** 4");
    assert_eq!(imp("2 ** (3 ** 4)"), "2 ** (3 ** 4)");
    assert_eq!(imp("a | b ^ c & d == e < f >> g"), "a | b ^ c & d == e < f >> g");
    assert_eq!(imp("(lambda x: x)(1)"), "(lambda x: x)(1)");
    assert_eq!(imp("(lambda x: x) + 1"), "(lambda x: x) + 1");
    assert_eq!(imp("lambda x y: x + 1"), "lambda x, y: x + 1");
    assert_eq!(imp("(!1) + 1"), "(!1) + 1");
    assert_eq!(imp("!1 + 1"), "!1 + 1");
    assert_eq!(imp("! [1]"), "! [1]");
    assert_eq!(imp("![1, 2]"), "![1, 2]");
    assert_eq!(imp("f(a)(b)(c = 1)"), "f(a)(b)(c = 1)");
    assert_eq!(imp("f()"), "f");
    assert_eq!(imp("1, 2"), "(1, 2)");
}

#[test]
fn calls_maps_records_and_comprehensions() {
    assert_eq!(imp("T/C { a: 1, b: 2, }"), "T/C { a: 1, b: 2 }");
    assert_eq!(imp("T {}"), "T {}");
    assert_eq!(imp("{}"), "{}");
    assert_eq!(imp("{ 0: 4, `hi`: \"bye\", 'c': 2 + 3 }"), "{0: 4, `hi`: \"bye\", 'c': 2 + 3}");
    assert_eq!(imp("{1, 2}"), "{1, 2}");
    assert_eq!(imp("{1 2}"), "{1, 2}");
    assert_eq!(imp("m[k + 1]"), "m[k + 1]");
    assert_eq!(imp("[x + 1 for x in xs if x > 2]"), "[x + 1 for x in xs if x > 2]");
    assert_eq!(imp("[\n  1,\n  2, # two\n]"), "[1, 2]");
    assert_eq!(fun("{1, 2 3}"), "{1 2 3}");
    assert_eq!(fun("![1 2]"), "![1, 2]");
}

#[test]
fn keywords_are_whole_words() {
    assert_eq!(fun("lettuce"), "lettuce");
    assert_eq!(fun("(if-x matches let.a)"), "(if-x matches let.a)");
    assert_eq!(imp("lambdas"), "lambdas");
    assert_eq!(
        layout("def main():\n  returned = 1\n  return returned\n"),
        "def main():\n  returned = 1\n  return returned\n"
    );
    assert_eq!(layout("definition = 1\n"), "definition = 1\n");
}

#[test]
fn bindings_and_lambdas_in_a_row_are_one_node() {
    let chain = parse("main = let a = 1; use b = 2 (let c = 3; λx λ(y, z) (@w x))");
    let Some(Item::Equations(FunDef { body: FunBody::Rules(rules), .. })) = chain.items.first() else {
        panic!("{chain:?}")
    };
    let ExprKind::Let(bindings, body) = &rules[0].body.node else { panic!("{chain:?}") };
    assert_eq!(bindings.len(), 3);
    assert!(matches!(&body.node, ExprKind::Lambda(patterns, _) if patterns.len() == 3), "{body:?}");
}

#[test]
fn rules_end_where_another_name_starts() {
    let text = "main =\n  def aux 0 = 1\n      aux (C x) = x\n      (aux [y]) = y\n  (aux [1, 2, 3])\n\nother = 1\n";
    let layout = layout(text);
    let expected = "main =\n  def aux 0 = 1\n    aux (C x) = x\n    aux [y] = y\n  (aux [1, 2, 3])\n\nother = 1\n";
    assert_eq!(layout, expected);
}

#[test]
fn a_rule_of_the_same_name_is_told_from_the_body() {
    let text = "main =\n  def f x = x;\n  f\n\ng = 1\n";
    assert_eq!(layout(text), text);
    assert_eq!(parse("main = def f x = x (f)").items, parse("main = def f x = x; f").items);
}

#[test]
fn signatures_and_equations() {
    let text = "checked f (x: u24) y : (List a) -> (u24, b) = (g x)\n\nh : u24\nh = 1\n\nunchecked main = 0\n";
    assert_eq!(layout(text), text);
    assert_eq!(layout("(f (x: u24) (y)) : u24 = x"), "f (x: u24) y : u24 = x\n");
}

#[test]
fn types_of_both_syntaxes() {
    let text = "type Tree(T):\n  Node { value: T, ~left: Tree(T) }\n  Leaf\n\nobject P(A) { x: A -> (u32, None), y: _ }\n\n\
                object Unit\n\ntype (List t) = (Cons head ~(tail: (List t))) | Nil\n";
    assert_eq!(layout(text), text);
}

#[test]
fn imports_stand_together() {
    let text = "from a/b import c\nfrom a/b import (d, e as f)\nfrom ./g import *\nimport ../h\nimport (i/j, k as l)\n\nmain = 1\n";
    assert_eq!(layout(text), text);
}

#[test]
fn nets_in_all_their_forms() {
    let text = "hvm f -> u24 -> u24:\n  ($([:-1] ?(a *)) {b @f})\n  & ([+] [u24]) ~ [*-2]\n  &!1.5 ~ -3\n";
    assert_eq!(layout(text), text);
    assert_eq!(layout("hvm f:\n  // a comment\n  (a  a) # and another\nmain = 1\n"), "hvm f:\n  (a a)\n\nmain = 1\n");
}

#[test]
fn statements_have_one_layout() {
    let text = "\
def f(a: u24, b) -> u24:
  (x, *) = a
  m[1] += 2
  m[k] @= lambda x: x
  use y = 1
  open Pair: p
  def g():
    return 1
  if a == 1:
    return 1
  elif b:
    return 2
  else:
    match x = b with y, z = 1:
      case List/Cons:
        return x.head
      case _:
        switch a:
          case 0:
            z = 1
          case 1:
            z = 2
          case _:
            z = a-2
  bend i = 0, a:
    when i < 3:
      return fork(i + 1, a)
    else:
      return i
  with IO:
    x <- IO/read(1)
    return wrap(x)
";
    assert_eq!(layout(text), text);
    let loose = "def f(a:u24,\n  b,)->u24 : # comment\n\n  x , * = a ;\n  # comment\n      # comment\n  return x\n\n";
    assert_eq!(layout(loose), "def f(a: u24, b) -> u24:\n  (x, *) = a\n  return x\n");
}

#[test]
fn long_lines_are_broken_inside_brackets() {
    let name = "a_rather_long_name";
    let list = [name; 6].join(", ");
    let broken = layout(&format!("def main():\n  return f([{list}], {{1: {name} + {name}}})\n"));
    let elements = format!("      {name},\n").repeat(5);
    let expected =
        format!("def main():\n  return f(\n    [\n{elements}      {name}\n    ],\n    {{1: {name} + {name}}}\n  )\n");
    assert_eq!(broken, expected);
    let call = layout(&format!("main = (f {} (g {name}))", [name; 6].join(" ")));
    assert_eq!(call, format!("main =\n  (f\n{}    (g {name}))\n", format!("    {name}\n").repeat(6)));
}

#[test]
fn line_ends_of_other_systems_and_a_byte_order_mark() {
    let text = "\u{feff}# first\r\ndef main():\r\n  x = 1\r\n\r\n  return x\r\n";
    assert_eq!(layout(text), "def main():\n  x = 1\n  return x\n");
    assert_eq!(layout("main = 1"), "main = 1\n");
    assert_eq!(layout(""), "");
}

#[test]
fn comments_stand_anywhere() {
    let text = "#{ a\nblock #}\ndef main(): # here\n# and here\n  return #{ there #} f(1, # one\n    2) # two\n";
    assert_eq!(layout(text), "def main():\n  return f(1, 2)\n");
    assert_eq!(layout("main = #1 is a comment\n  2"), "main = 2\n");
}

#[test]
fn natural_numbers_and_primitives_belong_to_the_prelude() {
    let text = "main = (%log #3 (% %sin 2))\n\ndef f(x):\n  return %log(x % %sin, 1)\n";
    let module = try_parse(text, Dialect::Prelude).unwrap();
    assert_eq!(print_module(&module), text);
    assert!(try_parse("main = (%log 1 2)", Dialect::User).is_err());
    assert!(try_parse("main = #3", Dialect::User).is_err());
}

#[test]
fn program_arguments_are_terms() {
    let parse = |text: &str| {
        let mut diags = Diagnostics::default();
        let parsed = parse_expr(Sources::default().add("argument", text), text, &mut diags);
        assert_eq!(parsed.is_none(), diags.has_errors(), "{text}");
        parsed.map(|term| print_expr(&term))
    };
    assert_eq!(parse(" (f 1 [2]) ").as_deref(), Some("(f 1 [2])"));
    assert_eq!(parse("#3").as_deref(), Some("#3"));
    assert_eq!(parse("1 2"), None);
    assert_eq!(parse(""), None);
    assert_eq!(parse("(1"), None);
}

#[test]
fn places_are_exact() {
    let text = "def main():\n  # λ\n  xs = [1, f(a) + 2]  # comment\n  return xs\n";
    let mut sources = Sources::default();
    let source = sources.add("test.bend", text);
    let module = parse_module(source, text, Dialect::User, &mut Diagnostics::default());
    let Some(Item::Def(def)) = module.items.first() else { panic!("{module:?}") };
    assert_eq!(sources.snippet(def.span), text.trim_end());
    assert_eq!(sources.snippet(def.body[0].span), "xs = [1, f(a) + 2]");
    let StmtKind::Assign(_, Node { node: ExprKind::List(parts), span }) = &def.body[0].node else {
        panic!("{module:?}")
    };
    assert_eq!(sources.snippet(*span), "[1, f(a) + 2]");
    assert_eq!(sources.snippet(parts[1].span), "f(a) + 2");
    let ExprKind::Op(_, call, _) = &parts[1].node else { panic!("{module:?}") };
    assert_eq!(sources.snippet(call.span), "f(a)");
}

#[test]
fn sequences_may_be_long() {
    let count = 100_000;
    let statements = format!("def main():\n{}  return x\n", "  x = x + 1\n".repeat(count));
    let list = format!("main = [{}]\n", "1 ".repeat(count));
    let bindings = format!("main =\n{}  x\n", "  let x = 1;\n".repeat(count));
    let lambdas = format!("main = {}x\n", "λx ".repeat(count));
    let rules = "f 1 = 2\n".repeat(count);
    for text in [statements, list, bindings, lambdas, rules] {
        let module = parse(&text);
        assert_eq!(parse(&print_module(&module)), module);
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |count: usize| {
        [
            format!("main = {}x{}\n", "(f ".repeat(count), ")".repeat(count)),
            format!("main = {}x\n", "!".repeat(count)),
            format!("main = {}x\n", "switch 0 { 0: ".repeat(count)),
            format!("main {}x{} = 1\n", "(C ".repeat(count), ")".repeat(count)),
            format!("main : {}x{} = 1\n", "(C ".repeat(count), ")".repeat(count)),
            format!("def main():\n  return {}x{}\n", "[".repeat(count), "]".repeat(count)),
            format!("def main():\n  return x{}\n", " + x".repeat(count * 10)),
            format!("def main():\n  return f{}\n", "(x)".repeat(count * 10)),
            format!("def main(x: {}a):\n  return x\n", "a -> ".repeat(count)),
            format!("hvm f:\n  {}a{}\n", "(a ".repeat(count * 10), ")".repeat(count * 10)),
            (0..count).map(|i| format!("{}def f():\n", "  ".repeat(i))).collect(),
        ]
    };
    for text in nested(100_000 / 50) {
        assert_eq!(try_parse(&text, Dialect::User).err(), Some(vec![Code::TooDeep]), "{}", &text[..40]);
    }
    for text in nested(90) {
        let codes = try_parse(&text, Dialect::User).err().unwrap_or_default();
        assert!(!codes.contains(&Code::TooDeep), "{}", &text[..40]);
    }
}
