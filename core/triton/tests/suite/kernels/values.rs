//! What small kernels compute, held against what Triton itself computes.
//!
//! `values.py` has the kernels, and each line of `values.json` a launch: what it is given, and what Triton 3.6 leaves in the arrays by its own interpreter.
//! Left out is what that interpreter is known to do otherwise than Triton's compiler: `bf16` arithmetic, and minima and maxima of NaN.

use super::run::{Arg, launch_on_cards, rounded};
use girih_ir::Scalar;
use girih_triton::Constant;
use serde_json::Value;

/// The numbers of an array; what JSON has no numbers for are texts.
fn numbers(list: &Value) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    };
    list.as_array().expect("a list").iter().map(number).collect()
}

/// An argument, and what is in it afterwards if it is an array that is written to.
fn argument(given: &Value) -> (Arg, Option<Vec<f64>>) {
    let Some(array) = given.get("array") else {
        let constant = match given.get("constant") {
            Some(Value::String(text)) => Constant::Text(text.clone()),
            Some(Value::Bool(truth)) => Constant::Bool(*truth),
            Some(_) => Constant::None,
            None => match given.as_i64() {
                Some(n) => return (Arg::Int(n), None),
                None => Constant::Float(given.as_f64().expect("a number")),
            },
        };
        return (Arg::Const(constant), None);
    };
    let name = array.as_str().expect("a type");
    let scalar = Scalar::ALL.iter().copied().find(|scalar| scalar.name() == name).expect("a type");
    // The shortest decimals stand there that are these numbers of the type.
    let exact = |list: Vec<f64>| list.into_iter().map(|x| rounded(x, scalar)).collect::<Vec<f64>>();
    let after = given.get("after").map(numbers).map(exact);
    let before = given.get("values").map(numbers);
    let zeros = || vec![0.0; after.as_ref().map_or(0, Vec::len)];
    (Arg::Array(scalar, before.unwrap_or_else(zeros)), after)
}

fn same(found: f64, expected: f64, within: f64) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= within * (expected.abs() + 0.01)
}

#[test]
fn kernels_compute_what_triton_computes() {
    let text = include_str!("values.py");
    let launches: Vec<Value> = serde_json::from_str(include_str!("values.json")).expect("launches");
    let mut wrong = vec![];
    for launch in &launches {
        let word = |key: &str| launch[key].as_str().expect("a name");
        let within = launch["within"].as_f64().expect("a bound");
        let grid = launch["grid"].as_u64().expect("a grid") as u32;
        let (mut given, mut after) = (vec![], vec![]);
        for pair in launch["arguments"].as_array().expect("arguments") {
            let name = pair[0].as_str().expect("a name");
            let (argument, left) = argument(&pair[1]);
            if let Arg::Array(..) = argument {
                after.push((name, left));
            }
            given.push((name, argument));
        }
        let found = launch_on_cards(text, word("kernel"), [grid, 1, 1], &given);
        for ((name, left), found) in after.iter().zip(&found) {
            let Some(expected) = left else { continue };
            let differs = |(found, expected): (&f64, &f64)| !same(*found, *expected, within);
            if found.len() != expected.len() || found.iter().zip(expected).any(differs) {
                wrong.push(format!("{}, `{name}`: {found:?}, not {expected:?}", word("case")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
