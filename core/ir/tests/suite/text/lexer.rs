//! Texts are cut into tokens and run lines.

use girih_ir::text::lexer::{Kind, lex};

fn kinds(text: &str) -> Vec<(Kind, &str)> {
    let lexed = lex(text, 0, text.len());
    lexed.tokens.iter().map(|t| (t.kind, &text[t.start as usize..t.end as usize])).collect()
}

#[test]
fn numbers_keep_their_exponents() {
    let text = "%i-1 1e-5 0x1e-1 64x4x16 1.5";
    let slices: Vec<&str> = kinds(text).into_iter().map(|(_, s)| s).collect();
    assert_eq!(slices, ["%i", "-", "1", "1e-5", "0x1e", "-", "1", "64x4x16", "1.5", ""]);
}

#[test]
fn names_may_be_quoted() {
    assert_eq!(kinds("@\"a \\\" b\" %List/len")[0], (Kind::Function, "@\"a \\\" b\""));
    assert_eq!(kinds("%\"open\n")[0], (Kind::Unclosed, "%\"open"));
    assert_eq!(kinds("% x")[0], (Kind::Unknown, "%"));
    assert_eq!(kinds("%\"\\é\"")[0], (Kind::Value, "%\"\\é\""));
}

#[test]
fn run_lines_are_found_in_comments() {
    let text = "; run: @f(1)\n;run: x\n; running\n;; run: y";
    let runs: Vec<&str> = lex(text, 0, text.len()).runs.iter().map(|(a, b)| &text[*a..*b]).collect();
    assert_eq!(runs, [" @f(1)", " x", " y"]);
}

#[test]
fn comments_that_are_nearly_run_lines_are_found() {
    let text = "; Run: @f(1)\n;RUN : x\n; run @f\n; run it\n; runs: y\n; run: z";
    let nearly: Vec<&str> = lex(text, 0, text.len()).nearly_runs.iter().map(|(a, b)| &text[*a..*b]).collect();
    assert_eq!(nearly, ["Run", "RUN", "run"]);
}
