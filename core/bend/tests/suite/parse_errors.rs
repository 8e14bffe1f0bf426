//! What people are told about programs that cannot be parsed: one snapshot a group of mistakes.

use girih_base::diag::{Diagnostics, Style, render};
use girih_base::span::Sources;
use girih_bend::parser::{Dialect, parse_module};

/// Compares the diagnostics of programs with the snapshot of the test.
macro_rules! check {
    ($($programs:tt)*) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(report($($programs)*)) })
    };
}

/// The diagnostics of each program, one after the other.
fn report(programs: &[&str]) -> String {
    let report = programs.iter().map(|text| {
        let mut sources = Sources::default();
        let source = sources.add("main.bend", *text);
        let mut diags = Diagnostics::default();
        parse_module(source, text, Dialect::User, &mut diags);
        assert!(diags.has_errors(), "this is right:\n{text}");
        diags.into_sorted().iter().map(|found| render(found, &sources, Style::Plain)).collect::<String>()
    });
    report.collect::<Vec<_>>().join("----\n")
}

#[test]
fn literals_and_names() {
    check!(&[
        "main = 5u64",
        "main = 0b12",
        "main = 1e5",
        "main = 1.5i32",
        "main = -3u32",
        "main = 5000000000",
        "main = '\\x'",
        "main = 'ab'",
        "main = \"no end",
        "main = `toolong`",
        "def __f():\n  return 1",
        "def //f():\n  return 1",
        "def f(2x):\n  return 1",
    ]);
}

#[test]
fn indentation() {
    check!(&[
        "def main():\n    return 1\n",
        "def main():\nreturn 1\n",
        "def main():\n  x = 1\n    y = 2\n  return x\n",
        "def main():\n  if 1:\n    return 1\n   else:\n    return 2\n",
        "def main():\n  x = 1\n y = 2\n",
        "def main():\n\treturn 1\n",
        "def main():\n",
        "def main():\n  match x:\n",
        "  def main():\n    return 1\n",
        "def main(): return 1\n",
    ]);
}

#[test]
fn brackets_that_stay_open() {
    check!(&[
        "def f():\n  return [1, 2\n\ndef g():\n  return 1\n",
        "main = (f (g 1)\n\nother = 2\n",
        "def f():\n  x = g(1, 2\n  return x\n",
        "def f():\n  return (1 + 2\n",
        "def f():\n  return 1)\n",
        "def f(x):\n  a = g(h(x)\n  (b, c) = x\n  return a\n",
        "main = [1 2)\n",
        "#{ a comment\nmain = 1\n",
    ]);
}

#[test]
fn habits_from_other_languages() {
    check!(&[
        "def f(x):\n  if x = 1:\n    return 1\n  else:\n    return 2\n",
        "def f(x):\n  if x\n    return 1\n  else:\n    return 2\n",
        "def f(x):\n  if x and 1:\n    return 1\n  else:\n    return 2\n",
        "def f(x):\n  if x:\n    return 1\n  else if 2:\n    return 2\n",
        "def f(x):\n  if x:\n    return 1\n",
        "def f(x):\n  for i in x:\n    return i\n",
        "def f(x):\n  g(x)\n  return x\n",
        "def f(x):\n  return 1 if x else 2\n",
        "def f(x):\n  return x // 2\n",
        "def f(x):\n  pass\n",
        "def f(x):\n  m[1][2] = 3\n  return g(x)[1]\n",
        "def f(x):\n  return m[1][2]\n",
        "def f(x):\n  return g(a = 1, 2)\n",
        "def f(x):\n  (a, b) += 2\n  return a\n",
        "def f(x) {\n  return x\n}\n",
        "def f(x):\n  let y = x\n  return y\n",
    ]);
}

#[test]
fn functional_syntax() {
    check!(&[
        "main = f(1, 2)\n",
        "main = 1 + 2\n",
        "main = let x 1; x\n",
        "main = let 5 = 1; x\n",
        "main = λ(List/Cons a b) a\n",
        "main = match x { }\n",
        "main = match x { A 1 }\n",
        "main = match (f x) = y { A: 1 }\n",
        "main = switch x { 1: 2; _: 3 }\n",
        "main = switch x { 0: 1; 2: 2; _: 3 }\n",
        "main = switch x { 0: 1 }\n",
        "main = if x { 1 }\n",
        "main = {1}\n",
        "main = (+ 1)\n",
        "f (x: u24) = x\n",
        "f : u24\ng = 1\n",
        "f [] : u24 = 1\n",
        "f x y\n",
        "main = (Nat/add #3 1)\n",
        "main = #tag {a b}\n",
        "type T\n",
        "* = 1\n",
    ]);
}

#[test]
fn statements_with_cases() {
    check!(&[
        "def f(x):\n  match x:\n    List/Cons:\n      return 1\n",
        "def f(x):\n  match x:\n    case List/Cons x:\n      return 1\n",
        "def f(x):\n  switch x:\n    case 1:\n      return 1\n    case _:\n      return 2\n",
        "def f(x):\n  switch x:\n    case 0:\n      return 1\n",
        "def f(x):\n  bend x = 0:\n    when x < 3:\n      return 1\n",
        "def f(x):\n  bend x + 1:\n    when x < 3:\n      return 1\n    else:\n      return 2\n",
        "def f(x):\n  else:\n    return 1\n",
        "def f(x):\n  with IO\n    return 1\n",
        "def f(x):\n  m[1] <- x\n  return 1\n",
    ]);
}

#[test]
fn items_and_nets() {
    check!(&[
        "from a import\n",
        "import ()\n",
        "from a imports b\n",
        "type T:\n  A { x: }\n",
        "type T:\n  A { x y }\n",
        "type T = (A x ~(y: T) x)\n",
        "object T { x, 5: u24 -> }\n",
        "hvm f:\n  (a b\n",
        "hvm f:\n  [+ x]\n",
        "hvm f:\n  16777216\n",
        "hvm f: (a b)\n",
    ]);
}

#[test]
fn several_errors_and_no_cascades() {
    check!(&["\
def f(x):
  y = [1, 2
  if y:
    return 1
  else:
    return 2

def g(x):
  return x +

type T:
  A { x: u24 }

h (C a) b =
  match a {
    A: (1
    B: 2
  }

main = let x = 1 in x
"]);
}
