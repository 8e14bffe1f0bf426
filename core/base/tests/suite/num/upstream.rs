//! The f24 operations against results of Bend's reference interpreter, bit for bit.

use std::collections::BTreeSet;

use girih_base::num::{BinOp, Num, NumError, NumKind};
use girih_base::prim::Prim;

const SAMPLES: &str = include_str!("upstream.txt");

/// The functions that the samples must cover.
const FUNCTIONS: [&str; 12] = ["add", "atan2", "cos", "div", "log", "mul", "pow", "rem", "sin", "sqrt", "sub", "tan"];

fn compute(function: &str, args: &[Num]) -> Result<Num, NumError> {
    match function {
        "sin" => Prim::Sin.apply(args),
        "tan" => Prim::Tan.apply(args),
        "log" => Prim::Log.apply(args),
        "atan2" => Prim::Atan2.apply(args),
        "cos" => {
            let quarter = Num::apply(BinOp::Div, Num::f24(std::f32::consts::PI), Num::f24(2.0))?;
            Prim::Sin.apply(&[Num::apply(BinOp::Sub, quarter, args[0])?])
        }
        "sqrt" => Num::apply(BinOp::Pow, args[0], Num::f24(0.5)),
        "add" => Num::apply(BinOp::Add, args[0], args[1]),
        "sub" => Num::apply(BinOp::Sub, args[0], args[1]),
        "mul" => Num::apply(BinOp::Mul, args[0], args[1]),
        "div" => Num::apply(BinOp::Div, args[0], args[1]),
        "rem" => Num::apply(BinOp::Rem, args[0], args[1]),
        "pow" => Num::apply(BinOp::Pow, args[0], args[1]),
        _ => panic!("`{function}` is not a function of the samples"),
    }
}

#[test]
fn samples_agree() {
    let mut seen = BTreeSet::new();
    for row in SAMPLES.lines().filter(|row| !row.starts_with('#')) {
        let (function, numbers) = row.split_once(' ').expect(row);
        let numbers: Vec<Num> = numbers
            .split(' ')
            .map(|bits| Num::from_bits(NumKind::F24, u32::from_str_radix(bits, 16).expect(row)))
            .collect();
        let (expected, args) = numbers.split_last().expect(row);
        let result = compute(function, args).expect(row);
        assert_eq!(result.bits(), expected.bits(), "{row}, but {result}");
        seen.insert(function);
    }
    assert!(seen.into_iter().eq(FUNCTIONS));
}
