//! How long the analysis takes. Run by hand:
//! `cargo test --release -p girih-task --test suite flow::speed -- --ignored --nocapture --test-threads 1`

use std::time::{Duration, Instant};

use super::member::entry;
use super::programs::{files, load, of_text, on_large_stack, suite};
use girih_task::flow::{Precision, flow_with};
use girih_term::Program;
use girih_term::reachability::reach;

fn measure(name: &str, program: &Program) -> Duration {
    let roots = [entry(program)];
    let time = |precision| {
        (0..5)
            .map(|_| {
                let start = Instant::now();
                let flow = flow_with(program, &roots, precision);
                (start.elapsed(), flow.instances().len())
            })
            .min()
            .expect("a run")
    };
    let (once, definitions) = time(Precision::MONOVARIANT);
    let (best, copies) = time(Precision::default());
    println!("{name}: {definitions} definitions {once:?}, {copies} copies {best:?}");
    best
}

/// A program of many functions that share a few polymorphic ones.
fn large(functions: usize) -> String {
    let mut text = "
def map(xs, f):
  match xs:
    case List/Nil:
      return List/Nil
    case List/Cons:
      return List/Cons(f(xs.head), map(xs.tail, f))
"
    .to_string();
    for i in 0..functions {
        let last = if i == 0 { "0".to_string() } else { format!("f{}(y + {i})", i - 1) };
        text += &format!(
            "
def f{i}(x):
  y = x * {i}
  list = map(map([x, y], lambda z: z + y), lambda z: (z, x))
  match list:
    case List/Nil:
      rest = 0
    case List/Cons:
      (a, b) = list.head
      rest = a + b
  return rest + {last}
"
        );
    }
    text + &format!("\ndef main():\n  return f{}(1)\n", functions - 1)
}

#[test]
#[ignore = "a measurement"]
fn analysis() {
    on_large_stack(|| {
        for functions in [5, 50, 500] {
            measure(&format!("{} lines", functions * 10), &of_text(&large(functions)));
        }
        let mut all: Vec<(Duration, String)> = vec![];
        for path in files(&suite()) {
            let Some(program) = load(&path) else { continue };
            let count = reach(&program, &[program.entry.expect("an entry")]).map_or(0, |found| found.len());
            let name = format!("{} ({count} definitions)", path.display());
            all.push((measure(&name, &program), name));
        }
        all.sort();
        println!("longest: {:?}", &all[all.len().saturating_sub(10)..]);
    });
}
