//! Every program that there is becomes functions that verify, for threads and for lanes.

use super::member::entry;
use super::programs::{files, load_with, on_large_stack, prepared, suite};
use girih_task::{compile_for_lanes, compile_for_threads};
use girih_term::code::Code;
use girih_term::testing::random::random_program;

#[test]
fn programs_become_functions_that_verify() {
    let corpus = suite().join("../../benches/corpus");
    let examples = suite().join("../../examples/bend");
    let (mut lowered, mut wrong) = (0, vec![]);
    for path in [suite(), corpus.clone(), examples].iter().flat_map(|folder| files(folder)) {
        // Programs of the corpus are given a size.
        let size = path.starts_with(&corpus).then_some("3");
        on_large_stack(|| {
            let Some(program) = load_with(&path, size) else { return };
            let Ok(code) = Code::new(&program) else { return };
            let roots = [entry(&program)];
            for compiled in [compile_for_threads(&code, &roots), compile_for_lanes(&code, &roots)] {
                match compiled {
                    Ok(_) => lowered += 1,
                    Err(errors) => wrong.push(format!("{}: {errors:#?}", path.display())),
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lowered > 1200, "{lowered}");
}

#[test]
fn random_programs_become_functions_that_verify() {
    on_large_stack(|| {
        for seed in 0..600 {
            let program = prepared(random_program(seed)).expect("a program without nets");
            let code = Code::new(&program).expect("a program without nets");
            let roots = [entry(&program)];
            for compiled in [compile_for_threads(&code, &roots), compile_for_lanes(&code, &roots)] {
                assert!(compiled.is_ok(), "{seed}: {:#?}", compiled.err());
            }
        }
    });
}
