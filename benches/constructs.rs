//! Programs of any size, each made of one construct of Bend: what checking them costs shall grow as their size does.
//!
//! `benches/check.rs` measures them, and the tests of `girih-bend` limit the work that they may be.

use std::fmt::Write;

/// A construct.
pub struct Construct {
    /// What there is much of.
    pub name: &'static str,
    /// A program with so many of it.
    pub program: fn(usize) -> String,
}

/// All constructs. Those behind `errors` are wrong programs.
pub const ALL: &[Construct] = &[
    Construct { name: "definitions", program: |n| each(n, |i| format!("def f{i}(x):\n  return x + {i}\n\n"), MAIN) },
    Construct {
        name: "typed definitions",
        program: |n| each(n, |i| format!("def f{i}(x: u24) -> u24:\n  return x + {i}\n\n"), MAIN),
    },
    Construct {
        name: "calls of the next one",
        program: |n| {
            each(
                n,
                |i| format!("def f{i}(x: u24) -> u24:\n  return f{}(x)\n\n", i + 1),
                &format!("def f{n}(x: u24) -> u24:\n  return x\n\n{MAIN}"),
            )
        },
    },
    Construct {
        name: "mutual recursion",
        program: |n| {
            each(
                n,
                |i| {
                    format!(
                        "def f{i}(x: u24) -> u24:\n  switch x:\n    case 0:\n      return 0\n    case _:\n      return f{}(x-1)\n\n",
                        (i + 1) % n
                    )
                },
                MAIN,
            )
        },
    },
    Construct {
        name: "local functions",
        program: |n| block(n, |i| format!("  def g{i}(x):\n    return x + {i}\n"), "g0(1)"),
    },
    Construct { name: "statements", program: |n| block(n, |i| format!("  x = {i}\n"), "x") },
    Construct {
        name: "statements on the one before",
        program: |n| block(n, |i| if i == 0 { "  x = 1\n".to_owned() } else { format!("  x = x + {}\n", i % 9) }, "x"),
    },
    Construct { name: "local variables", program: |n| block(n, |i| format!("  x{i} = {i}\n"), "x0") },
    Construct { name: "calls", program: |n| block(n, |i| format!("  x{i} = List/reverse([{}])\n", i % 9), "x0") },
    Construct {
        name: "folds",
        program: |n| {
            block(
                n,
                |_| {
                    "  fold xs = [1]:\n    case List/Nil:\n      y = 0\n    case List/Cons:\n      y = xs.head + xs.tail\n".to_owned()
                },
                "y",
            )
        },
    },
    Construct {
        name: "steps of IO",
        program: |n| {
            format!("def main():\n  with IO:\n{}    return wrap(0)\n", "    * <- IO/print(\"a\")\n".repeat(n / 8))
        },
    },
    Construct { name: "elements of a list", program: |n| value(&listed(n, |i| (i % 99).to_string()), "[", "]") },
    Construct { name: "parts of a tuple", program: |n| value(&listed(n, |i| (i % 99).to_string()), "(", ")") },
    Construct { name: "lambdas", program: |n| value(&listed(n, |i| format!("lambda x: x + {i}")), "[", "]") },
    Construct { name: "entries of a map", program: |n| value(&listed(n, |i| format!("{i}: {i}")), "{", "}") },
    Construct { name: "characters of a string", program: |n| value(&"a".repeat(n), "\"", "\"") },
    Construct { name: "comments", program: |n| each(n, |_| "# a comment\n".to_owned(), MAIN) },
    Construct { name: "types", program: |n| each(n, |i| format!("type T{i}:\n  A {{ x }}\n  B\n\n"), MAIN) },
    Construct {
        name: "constructors, each with an arm",
        program: |n| {
            format!(
                "{}def f(t):\n  match t:\n{}\n{MAIN}",
                shape(n),
                each(n, |i| format!("    case T/C{i}:\n      return {}\n", i % 9), "")
            )
        },
    },
    Construct {
        name: "constructors, each with a rule",
        program: |n| {
            format!(
                "type T = {}\n{}main = (f T/C0)\n",
                joined(n, " | ", |i| format!("C{i}")),
                each(n, |i| format!("f T/C{i} = {}\n", i % 9), "")
            )
        },
    },
    Construct {
        name: "numbers, each with a rule",
        program: |n| each(n, |i| format!("f {i} = {}\n", i % 9), "f x = 1\nmain = (f 1)\n"),
    },
    Construct {
        name: "cases of a switch",
        program: |n| {
            format!(
                "def f(x):\n  switch x:\n{}    case _:\n      return 1\n\n{MAIN}",
                each(n, |i| format!("    case {i}:\n      return {}\n", i % 9), "")
            )
        },
    },
    Construct { name: "fields", program: |n| format!("object P {{ {} }}\n\n{MAIN}", listed(n, |i| format!("f{i}"))) },
    Construct {
        name: "fields that constructors share",
        program: |n| {
            let fields = listed(n, |i| format!("f{i}: u24"));
            format!(
                "type T:\n  A {{ {fields} }}\n  B {{ {fields} }}\n  C\n\ndef f(t):\n  match t:\n    case T/C:\n      return 1\n    case _:\n      return 2\n\n{MAIN}"
            )
        },
    },
    Construct {
        name: "type parameters",
        program: |n| {
            format!(
                "type T({}):\n  C {{ {} }}\n\n{MAIN}",
                listed(n, |i| format!("A{i}")),
                listed(n, |i| format!("f{i}: A{i}"))
            )
        },
    },
    Construct {
        name: "parameters",
        program: |n| {
            format!(
                "def f({}) -> u24:\n  return a0\n\ndef main():\n  return f({})\n",
                listed(n, |i| format!("a{i}: u24")),
                listed(n, |_| "1".to_owned())
            )
        },
    },
    Construct {
        name: "errors: unknown names, one in a definition",
        program: |n| each(n, |i| format!("def f{i}(x):\n  return unknown{i}\n\n"), MAIN),
    },
    Construct {
        name: "errors: unknown names of one definition",
        program: |n| block(n, |i| format!("  x{i} = unknown{i}\n"), "1"),
    },
    Construct {
        name: "errors: unknown names of one line",
        program: |n| value(&listed(n, |i| format!("unknown{i}")), "[", "]"),
    },
    Construct {
        name: "errors: unknown types",
        program: |n| each(n, |i| format!("def f{i}(x: Unknown{i}(u24)) -> u24:\n  return 1\n\n"), MAIN),
    },
    Construct {
        name: "errors: unknown constructors",
        program: |n| each(n, |i| format!("def f{i}(x):\n  match x:\n    case List/N{i}:\n      return 1\n\n"), MAIN),
    },
    Construct {
        name: "errors: constructors without their type",
        program: |n| {
            format!(
                "{}{}",
                shape(n),
                each(n, |i| format!("def f{i}(t):\n  match t:\n    case C{i}:\n      return 1\n\n"), MAIN)
            )
        },
    },
    Construct {
        name: "errors: keys without a value",
        program: |n| each(n, |i| format!("def f{i}():\n  return {{ key{i}: 1, other{i}: 2 }}\n\n"), MAIN),
    },
    Construct {
        name: "errors: types that do not fit",
        program: |n| each(n, |i| format!("def f{i}(x: u24) -> u24:\n  return 1.5\n\n"), MAIN),
    },
    Construct {
        name: "errors: definitions of one name",
        program: |n| each(n, |_| "def f(x):\n  return 1\n\n".to_owned(), MAIN),
    },
    Construct {
        name: "errors: arms that are missing",
        program: |n| format!("{}def f(t):\n  match t:\n    case T/C0:\n      return 1\n\n{MAIN}", shape(n)),
    },
    Construct {
        name: "errors: arms that are never reached",
        program: |n| {
            format!(
                "def f(x):\n  match x:\n    case List/Nil:\n      return 1\n    case List/Cons:\n      return 1\n{}\n{MAIN}",
                "    case List/Nil:\n      return 1\n".repeat(n)
            )
        },
    },
    Construct { name: "errors: syntax", program: |n| each(n, |i| format!("def f{i}(x):\n  x + \n\n"), MAIN) },
];

const MAIN: &str = "def main():\n  return 1\n";

/// A text for each number below `n`, and an end.
fn each(n: usize, text: impl Fn(usize) -> String, end: &str) -> String {
    let mut all: String = (0..n).map(text).collect();
    all.push_str(end);
    all
}

fn joined(n: usize, separator: &str, text: impl Fn(usize) -> String) -> String {
    (0..n).map(text).collect::<Vec<_>>().join(separator)
}

fn listed(n: usize, text: impl Fn(usize) -> String) -> String {
    joined(n, ", ", text)
}

/// A `main` of these statements.
fn block(n: usize, statement: impl Fn(usize) -> String, result: &str) -> String {
    let mut text = "def main():\n".to_owned();
    (0..n).for_each(|i| text.push_str(&statement(i)));
    let _ = writeln!(text, "  return {result}"); // Writing into a string does not fail.
    text
}

/// A `main` that is one value, all on one line.
fn value(inner: &str, open: &str, close: &str) -> String {
    format!("def main():\n  return {open}{inner}{close}\n")
}

/// A type of `n` constructors.
fn shape(n: usize) -> String {
    format!("type T:\n{}\n", each(n, |i| format!("  C{i}\n"), ""))
}
