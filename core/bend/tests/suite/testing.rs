//! Which tests a program has, and where their parts stand.

use girih_base::num::BinOp;
use girih_bend::loader::{File, LoadError, Loader};
use girih_bend::testing::{Passes, Test};
use girih_bend::{Compilation, Options, compile_tests};

struct Text(&'static str);

impl Loader for Text {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "tests.bend".to_owned(), text: self.0.to_owned() })
    }

    fn file(&self, _path: &str) -> Result<Option<File>, LoadError> {
        Ok(None)
    }

    fn folder(&self, _path: &str) -> Option<Vec<String>> {
        None
    }
}

fn tests(text: &'static str) -> (Compilation, Vec<Test>) {
    compile_tests(&Text(text), &Options::library())
}

#[test]
fn a_comparison_at_the_end_has_two_sides() {
    let text =
        "def test_a():\n  x = 1\n  return x + 1 == 2\n\ntest_b = let x = 1; (< x 2)\n\ntest_c : u24 = (!= 1 2)\n";
    let (compilation, tests) = tests(text);
    assert_eq!(compilation.diagnostics, []);
    let program = compilation.program.expect("it has no errors");
    let mut seen = vec![];
    for test in &tests {
        let Passes::Compares { op, sides, .. } = &test.passes else { panic!("{test:?}") };
        assert!(sides.iter().all(|side| program.def_named(&side.def).is_some()), "{test:?}");
        let [left, right] = [0, 1].map(|side| compilation.sources.snippet(sides[side].span));
        seen.push((compilation.sources.snippet(test.span), *op, left, right));
    }
    let expected =
        [("test_a", BinOp::Eq, "x + 1", "2"), ("test_b", BinOp::Lt, "x", "2"), ("test_c", BinOp::Ne, "1", "2")];
    assert_eq!(seen, expected);
}

#[test]
fn what_is_no_test_is_left_alone() {
    let text = "def test_of(x):\n  return x == 1\n\ndef tested():\n  return 1 == 1\n\n# >> 1\n# 1\ntest_rules 0 = 1\ntest_rules n = 0\n\ndef test_whole():\n  if 1 == 1:\n    return 1\n  else:\n    return 0\n";
    let (_, tests) = tests(text);
    let [test] = &tests[..] else { panic!("{tests:?}") };
    assert_eq!(test.passes, Passes::True("test_whole".into()));
}

#[test]
fn examples_are_lines_of_comments() {
    let text = "  # >>> 1 + 2  \n  #   3\r\n# >>> \"é\"\n# \"é\"\ndef f():\n  return 1\n";
    let (compilation, tests) = tests(text);
    assert_eq!(compilation.diagnostics, []);
    let seen: Vec<(&str, String, &str)> = tests
        .iter()
        .map(|test| {
            let Passes::Shows { expected, at, .. } = &test.passes else { panic!("{test:?}") };
            (compilation.sources.snippet(test.span), expected.clone(), compilation.sources.snippet(*at))
        })
        .collect();
    assert_eq!(seen, [("1 + 2", "3".to_owned(), "3"), ("\"é\"", "\"é\"".to_owned(), "\"é\"")]);
}

#[test]
fn an_example_without_a_value_is_reported_at_its_place() {
    for text in ["# >>> 1", "# >>> 1\n", "# >>> 1\n#\n", "# >>> 1\n# >>> 2\n# 2\n", "# >>> 1\ndef f():\n  return 1\n"] {
        let (compilation, _) = tests(text);
        let [diagnostic] = &compilation.diagnostics[..] else { panic!("{text:?}: {:?}", compilation.diagnostics) };
        assert_eq!(compilation.sources.snippet(diagnostic.span()), "1", "{text:?}");
    }
}
