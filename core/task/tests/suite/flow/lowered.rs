//! Every program that there is becomes functions that verify, for threads and for lanes.

use super::member::entry;
use super::programs::{files, load, on_large_stack, suite};
use girih_task::{compile_for_lanes, compile_for_threads};
use girih_term::code::Code;

#[test]
fn programs_become_functions_that_verify() {
    let corpus = suite().join("../../benches/corpus");
    let examples = suite().join("../../examples/bend");
    let (mut lowered, mut wrong) = (0, vec![]);
    for path in [suite(), corpus, examples].iter().flat_map(|folder| files(folder)) {
        on_large_stack(|| {
            let Some(program) = load(&path) else { return };
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
