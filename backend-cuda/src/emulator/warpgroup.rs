//! Warpgroup products: 128 threads, factors in shared memory found by their descriptors, sums in registers. The product is made at
//! once.

use super::alu::scalar;
use super::machine::Together;
use super::memory::{self, Wrong};
use super::parse::{Instruction, Operand};
use girih_ir::attrs::SharedMatrix;
use girih_ir::{Op, Scalar, eval};
use girih_machine::interp::{accumulator_element, factor_byte};

/// Depth of a product of halves.
const DEPTH: usize = 16;

/// `wgmma.mma_async.sync.aligned.m64nNk16.acc.factor.factor {..}, a, b, scale, sign, sign, across, across`.
pub(super) fn product(all: &mut Together<'_>, ins: &Instruction, which: &[usize]) -> Result<(), Wrong> {
    let [sums, a, b, Operand::Bits(1), Operand::Bits(1), Operand::Bits(1), across_a, across_b] = &ins.operands[..]
    else {
        return Err("a product of another form".into());
    };
    let Operand::List(sums) = sums else { return Err("a product without sums".into()) };
    if which.len() != 128 {
        return Err("a product needs a whole warpgroup".into());
    }
    let types: Vec<Scalar> = ins.name.iter().filter_map(|part| scalar(part)).collect();
    let [acc, factor, _] = types[..] else { return Err("a product of no types".into()) };
    let (a, b) = (Factor::read(all, which[0], a, across_a), Factor::read(all, which[0], b, across_b));
    let per_register = (4 / acc.bytes()) as usize;
    let columns = sums.len() * per_register * 2;
    let a = a.elements(all, factor, 64)?;
    let b = b.elements(all, factor, columns)?;
    for (place, thread) in which.iter().enumerate() {
        for (i, register) in sums.iter().enumerate() {
            let old = all.get(*thread, register);
            let mut bits = 0;
            for half in 0..per_register {
                let shift = half as u32 * acc.bits();
                let (row, column) = accumulator_element(place, i * per_register + half);
                let sum = dot(number(acc, old >> shift & acc.mask()), &a[row], &b[column]);
                let rounded = eval::scalar(Op::Convert, acc, Scalar::F64, &[sum.to_bits()]);
                bits |= rounded.ok_or("a sum that cannot be rounded")? << shift;
            }
            all.set(*thread, register, bits)?;
        }
    }
    Ok(())
}

fn number(ty: Scalar, bits: u64) -> f64 {
    f64::from_bits(eval::scalar(Op::Convert, Scalar::F64, ty, &[bits]).unwrap_or(0))
}

fn dot(start: f64, row: &[f64], column: &[f64]) -> f64 {
    row.iter().zip(column).fold(start, |sum, (a, b)| sum + a * b)
}

/// A factor as its descriptor says.
struct Factor {
    start: u64,
    matrix: SharedMatrix,
}

impl Factor {
    fn read(all: &Together<'_>, thread: usize, descriptor: &Operand, across: &Operand) -> Factor {
        let bits = all.get(thread, descriptor);
        let field = |from: u32| (bits >> from & 0x3fff) << 4;
        let matrix = SharedMatrix {
            k_major: all.get(thread, across) == 0,
            swizzle: [0, 128, 64, 32][(bits >> 62) as usize],
            leading: field(16) as u32,
            stride: field(32) as u32,
        };
        Factor { start: field(0), matrix }
    }

    /// Its rows (of the left factor) or columns (of the right one).
    fn elements(&self, all: &Together<'_>, ty: Scalar, outer: usize) -> Result<Vec<Vec<f64>>, Wrong> {
        let element = |i: usize, k: usize| {
            let at = factor_byte(self.start, &self.matrix, i as u64, k as u64) as usize;
            Ok(number(ty, memory::read(all.shared, at, ty.bytes() as usize)?))
        };
        (0..outer).map(|i| (0..DEPTH).map(|k| element(i, k)).collect()).collect()
    }
}
