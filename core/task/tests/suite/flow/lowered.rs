//! Every program that there is becomes functions that verify, for threads and for lanes.

use super::member::entry;
use super::programs::{files, load_with, of_text, on_large_stack, prepared, suite};
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

/// A pair in a triple that is handed on in one way, dropped in another, and taken apart in a third.
#[test]
fn what_ways_use_differently_has_one_owner() {
    let text = "
def f(n: u24, w: u24) -> (u24, (u24, u24)):
  if n == 0:
    return (1, (w, 3))
  else:
    (a, inner) = f(n - 1, w * 3)
    (b, c) = inner
    return (a + 1, (b + c, n))

def g(n: u24) -> (u24, (u24, u24)):
  (a, inner) = f(n, 5)
  if a % 3 == 0:
    return (a + 1, inner)
  else:
    if a % 3 == 1:
      return (a, (n, 7))
    else:
      (b, c) = inner
      return (b, (c, a))

def main():
  (x, rest) = g(40)
  (y, z) = rest
  (p, other) = g(41)
  (q, r) = other
  return x + y * 3 + z * 5 + p * 7 + q * 11 + r
";
    let program = of_text(text);
    let code = Code::new(&program).expect("a program without nets");
    let roots = [entry(&program)];
    for compiled in [compile_for_threads(&code, &roots), compile_for_lanes(&code, &roots)] {
        assert!(compiled.is_ok(), "{:#?}", compiled.err());
    }
}
