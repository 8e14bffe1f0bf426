//! Long and deep programs: compiled soon, or refused with an error.

use super::codes;
use girih_base::diag::Code;

fn says(text: String, expected: &[Code]) {
    assert_eq!(codes(&[("main", &text)]), expected);
}

#[test]
fn a_long_block() {
    let lines: String = (0..100_000).map(|i| format!("  x{i} = f({i})\n")).collect();
    says(format!("def f(x):\n  return x\ndef main():\n{lines}  return x5\n"), &[]);
}

#[test]
fn a_long_map() {
    let entries: Vec<String> = (0..100_000).map(|i| format!("{i}: {i}")).collect();
    says(format!("def main():\n  return {{ {} }}\n", entries.join(", ")), &[]);
}

#[test]
fn many_rules() {
    let rules: String = (0..100_000).map(|i| format!("f {i} * = {i}\n")).collect();
    says(format!("{rules}f x y = y\nmain = (f 1 2)\n"), &[]);
}

#[test]
fn a_long_text_as_a_pattern() {
    says(format!("f \"{}\" = 1\nf * = 2\nmain = (f 1)\n", "ab".repeat(400)), &[]);
    says(format!("f \"{}\" = 1\nf * = 2\nmain = (f 1)\n", "ab".repeat(50_000)), &[Code::TooDeep]);
}

#[test]
fn many_steps() {
    let steps = |n: usize| (0..n).map(|i| format!("    x{i} <- IO/wrap({i})\n")).collect::<String>();
    says(format!("def main():\n  with IO:\n{}    return wrap(x1)\n", steps(5_000)), &[]);
    says(format!("def main():\n  with IO:\n{}    return wrap(x1)\n", steps(20_000)), &[Code::TooDeep]);
}

#[test]
fn patterns_that_need_too_many_decisions() {
    // Each rule looks at two columns of its own: the tree doubles with every pair.
    let rules: String = (0..40)
        .map(|i| {
            let patterns: Vec<&str> = (0..80).map(|j| if j / 2 == i { "1" } else { "*" }).collect();
            format!("f {} = {i}\n", patterns.join(" "))
        })
        .collect();
    says(format!("{rules}f{} = 99\nmain = f\n", " *".repeat(80)), &[Code::TooDeep]);
}

#[test]
fn a_long_natural_number_is_made_when_the_program_runs() {
    let files = [("main", "def main(x):\n  return x\n")];
    insta::assert_snapshot!(super::shown(&files, &["#2", "#100000"]));
    assert!(super::shown(&files, &["#16777216"]).contains("B0106"));
}

#[test]
fn functions_in_functions() {
    let lambdas: String = (0..100).map(|i| format!("lambda x{i}: ")).collect();
    let text = format!(
        "def main():\n  xs = [1]\n  fold xs:\n    case List/Nil:\n      return 0\n    case List/Cons:\n      return f({lambdas}xs.tail)\ndef f(x):\n  return x\n"
    );
    says(text, &[]);
}
