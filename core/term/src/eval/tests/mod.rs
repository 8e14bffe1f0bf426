//! The evaluator, each test in three ways: as it is, collecting at every allocation, and the latter with a nursery that
//! is as small as it can be.

mod definitions;
mod functions;
mod io;
mod memory;
pub(crate) mod random;
mod speed;
mod traps;
mod values;

use super::{Limits, Machine, Value, View};
use crate::code::Code;
use crate::testing::source::program;
use girih_base::diag::Diagnostic;

/// Runs `main` in all ways, which must agree.
fn run(text: &str) -> Result<String, Diagnostic> {
    let code = Code::new(&program(text)).expect("the program can be compiled");
    let result = run_with(&code, Limits::default());
    let stress = Limits { stress: true, ..Limits::default() };
    assert_eq!(run_with(&code, stress.clone()), result, "collecting at every allocation changes the result");
    let small = Limits { memory: 4 << 20, ..stress };
    assert_eq!(run_with(&code, small), result, "a small heap changes the result");
    result
}

fn run_with(code: &Code, limits: Limits) -> Result<String, Diagnostic> {
    let mut machine = Machine::new(code, limits);
    let entry = code.program().entry.expect("main");
    let value = machine.call(entry, &[])?;
    show(&mut machine, value)
}

/// The value as text. What waits to be computed is computed if it is not seen yet on the way.
fn show(machine: &mut Machine, value: Value) -> Result<String, Diagnostic> {
    let root = machine.force(value)?;
    let root = machine.keep(root);
    let value = machine.value(&root);
    let list = |machine: &mut Machine, values: Vec<Value>| -> Result<String, Diagnostic> {
        let roots: Vec<super::Root> = values.into_iter().map(|value| machine.keep(value)).collect();
        let mut texts = vec![];
        for root in &roots {
            let value = machine.value(root);
            texts.push(show(machine, value)?);
        }
        Ok(texts.join(", "))
    };
    Ok(match machine.view(value) {
        View::Num(number) => number.to_string(),
        View::Era => "*".to_string(),
        View::Ctor(ctor, fields) => {
            let name = machine.code().program().ctors[ctor].name.clone();
            if fields.is_empty() { name.to_string() } else { format!("{name}({})", list(machine, fields)?) }
        }
        View::Pair(first, second) => format!("({})", list(machine, vec![first, second])?),
        View::Closure { lambda, captured, .. } => {
            let params = machine.code().lambda(lambda).params.len();
            let values = captured.into_iter().map(|(_, value)| value).collect();
            format!("fn/{params}[{}]", list(machine, values)?)
        }
        View::Partial { function, args } => {
            let mut values = vec![function];
            values.extend(args);
            format!("partial[{}]", list(machine, values)?)
        }
        View::Global(def) => machine.code().program().defs[def].name.to_string(),
        View::Constructor(ctor) => format!("make {}", machine.code().program().ctors[ctor].name),
        View::Selector(_) => "select".to_string(),
    })
}

fn value(text: &str) -> String {
    run(text).unwrap_or_else(|error| panic!("{error:#?}"))
}

fn error(text: &str) -> Diagnostic {
    match run(text) {
        Err(error) => error,
        Ok(value) => panic!("there is a value: {value}"),
    }
}

/// The text under the place to blame.
fn blamed<'t>(text: &'t str, error: &Diagnostic) -> &'t str {
    let span = error.span();
    &text[span.start as usize..span.end as usize]
}
