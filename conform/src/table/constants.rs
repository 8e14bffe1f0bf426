//! Operations with a constant beside what is loaded, and with the same value twice.
//!
//! Each such constant is a place where a compiler may do something else: strength reduction and folding here, and whatever drivers do. A
//! kernel has all constants of one operand, and stores a result for each.

use super::{CaseWriter, Combinations, operand_types};
use crate::compare;
use crate::edges::Edges;
use girih_ir::ops::Pattern;
use girih_ir::{Op, Scalar};

impl CaseWriter {
    /// For each operand a kernel in which it is constant, and one in which two are the same.
    pub(super) fn constant_cases(&mut self, op: Op, scalar: Scalar) {
        let operands = op.row().operands;
        // Of an operation on constants alone nothing is left, and of a choice by a constant, neither.
        if operands.len() < 2 || scalar == Scalar::Bool {
            return;
        }
        let is_value = |i: &usize| operands[*i] == Pattern::T;
        (0..operands.len()).filter(is_value).for_each(|i| self.constant_case(op, scalar, i));
        if *operands == [Pattern::T; 2] {
            self.twice(op, scalar);
        }
    }

    fn constant_case(&mut self, op: Op, scalar: Scalar, constant: usize) {
        let mut types = operand_types(op, scalar, scalar);
        let (constants, edges) = Edges::of(op, &types).without(constant, op, scalar);
        types.remove(constant);
        let name = format!("{scalar} with constant operand {constant}");
        let mut case = |name: String, constants: &[u64]| {
            let of = Combinations {
                op,
                scalar,
                lanes: 1,
                types: types.clone(),
                edges: edges.clone(),
                results: constants.len(),
            };
            self.combinations(name, of, |k, values| {
                let with = |bits: &u64| {
                    let mut operands = values.to_vec();
                    operands.insert(constant, k.builder.constant(scalar, *bits));
                    k.builder.op(op, scalar, &operands)
                };
                constants.iter().map(with).collect()
            });
        };
        case(name.clone(), &constants);
        let flushed: Vec<u64> = constants.iter().map(|bits| compare::flushed(scalar, *bits)).collect();
        if flushed != constants {
            // Of this only the kernel is wanted.
            case(format!("{name} flushed"), &flushed);
            let kernel = self.cases.pop().map(|case| case.kernel);
            if let Some(case) = self.cases.last_mut() {
                case.flushed = kernel;
            }
        }
    }

    fn twice(&mut self, op: Op, scalar: Scalar) {
        let (types, edges) = (vec![scalar], Edges::of(op, &[scalar]));
        let of = Combinations { op, scalar, lanes: 1, types, edges, results: 1 };
        self.combinations(format!("{scalar} of one value twice"), of, |k, values| {
            vec![k.builder.op(op, scalar, &[values[0], values[0]])]
        });
    }
}
