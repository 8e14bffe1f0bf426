//! Compiles every program of `tests/bend` that can be run by value to functions of the IR. The verifier, which follows the ownership of
//! every word of the heap, takes each; and so it does what is read from their text.

mod support;

use girih::core::direct;
use girih::core::span::SourceId;
use girih::core::term::code::Code;
use girih::ir::{text, verify};
use girih::{Diagnostic, Options, Program, on_big_stack};

/// Programs that come this far at least; those that have errors or need nets do not.
const COMPILED: usize = 500;

/// Compiles a program, and reads its text again. None if there is nothing to compile.
fn compile(path: &str) -> Option<Result<(), String>> {
    let program = Program::open(path, &Options::default());
    let program = program.core_program().ok()?;
    on_big_stack(|| {
        let code = Code::new(program).ok()?;
        Some(
            direct::compile(&code)
                .map_err(|errors| said(&errors))
                .and_then(|direct| read_again(&text::print(&direct.module))),
        )
    })
}

fn read_again(printed: &str) -> Result<(), String> {
    let parsed = text::parse(SourceId::new(0), printed).map_err(|errors| said(&errors))?;
    let module = verify(parsed.module).map_err(|errors| said(&errors))?;
    let again = text::print(&module);
    if again == printed { Ok(()) } else { Err("what is read from the text prints another text".to_owned()) }
}

fn said(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect::<Vec<_>>().join("; ")
}

#[test]
fn programs_become_functions_that_verify() {
    let mut compiled = 0;
    let mut failed = vec![];
    for path in support::bend_files(support::PROGRAMS) {
        match compile(&path) {
            None => {}
            Some(Ok(())) => compiled += 1,
            Some(Err(why)) => failed.push(format!("{path}: {why}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(compiled >= COMPILED, "only {compiled} programs were compiled");
}
