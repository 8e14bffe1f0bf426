//! What small Triton kernels compute on every device, held against what Triton itself computes by its own interpreter.
//!
//! The kernels and the numbers are those of `core/triton/tests/suite/kernels/values.py` and `values.json`, which hold the front end and the reference machine to
//! them. Invariant: the processor runs all of them; another device may refuse a launch only because it lacks a type or an atomic operation.

use super::tutorials::{Given, Job, selectors};
use girih::Code;
use girih::devices;
use girih::triton::{Constant, KernelFile};
use girih_ir::{Scalar, eval};
use girih_runtime::DeviceKind;
use serde_json::Value;

const KERNELS: &str = include_str!("../../core/triton/tests/suite/kernels/values.py");
const LAUNCHES: &str = include_str!("../../core/triton/tests/suite/kernels/values.json");

/// The numbers of an array in their type; what JSON has no numbers for are texts.
fn numbers(list: &Value, scalar: Scalar) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().expect("a number"),
        other => other.as_f64().expect("a number"),
    };
    let rounded = |x: f64| {
        if scalar.is_float() { eval::widen(eval::narrow(x, scalar), scalar) } else { x }
    };
    list.as_array().expect("a list").iter().map(number).map(rounded).collect()
}

/// An argument, and what is in it afterwards if it is an array that is written to.
fn argument(given: &Value) -> (Given, Option<Vec<f64>>) {
    let Some(array) = given.get("array") else {
        let constant = match given.get("constant") {
            Some(Value::String(text)) => Constant::Text(text.clone()),
            Some(Value::Bool(truth)) => Constant::Bool(*truth),
            Some(_) => Constant::None,
            None => match given.as_i64() {
                Some(n) => return (Given::Int(n), None),
                None => Constant::Float(given.as_f64().expect("a number")),
            },
        };
        return (Given::Constant(constant), None);
    };
    let name = array.as_str().expect("a type");
    let scalar = Scalar::ALL.iter().copied().find(|scalar| scalar.name() == name).expect("a type");
    let after = given.get("after").map(|list| numbers(list, scalar));
    let before = given.get("values").map(|list| numbers(list, scalar));
    let zeros = || vec![0.0; after.as_ref().map_or(0, Vec::len)];
    (Given::Array(scalar, before.unwrap_or_else(zeros)), after)
}

fn same(found: f64, expected: f64, within: f64) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= within * (expected.abs() + 0.01)
}

#[test]
fn devices_compute_what_triton_computes() {
    let file = KernelFile::from_text("values.py", KERNELS);
    let launches: Vec<Value> = serde_json::from_str(LAUNCHES).expect("launches");
    for selector in selectors() {
        let device = devices::open(&selector, None).expect("the device is there");
        let (mut wrong, mut refused) = (vec![], vec![]);
        for launch in &launches {
            let word = |key: &str| launch[key].as_str().expect("a name");
            let grid = launch["grid"].as_u64().expect("a grid") as u32;
            let within = launch["within"].as_f64().expect("a bound");
            let (mut given, mut after) = (vec![], vec![]);
            for pair in launch["arguments"].as_array().expect("arguments") {
                let name = pair[0].as_str().expect("a name");
                let (argument, left) = argument(&pair[1]);
                if let Given::Array(..) = argument {
                    after.push((name, left));
                }
                given.push((name, argument));
            }
            let job = Job { file: &file, kernel: word("kernel"), given, warps: None, grid: &|_| [grid, 1, 1] };
            let found = match job.run(&device) {
                Ok(found) => found,
                Err(report) => {
                    let is_lacking = report.diagnostics.iter().all(|d| d.code == Code::NeedsFeature);
                    let list = if is_lacking { &mut refused } else { &mut wrong };
                    list.push(format!("{}: {}", word("case"), report.diagnostics[0].message));
                    continue;
                }
            };
            for ((name, left), found) in after.iter().zip(&found) {
                let Some(expected) = left else { continue };
                if found.len() != expected.len() || !found.iter().zip(expected).all(|(a, b)| same(*a, *b, within)) {
                    wrong.push(format!("{}, `{name}`: {found:?}, not {expected:?}", word("case")));
                }
            }
        }
        let name = &device.info().name;
        assert!(wrong.is_empty(), "on {name}:\n{}", wrong.join("\n"));
        let may_lack = matches!(device.info().kind, DeviceKind::Wgpu | DeviceKind::WgpuSoftware);
        assert!(refused.is_empty() || may_lack, "{name} refuses:\n{}", refused.join("\n"));
        assert!(refused.len() < launches.len() / 4, "{name} refuses most:\n{}", refused.join("\n"));
    }
}
