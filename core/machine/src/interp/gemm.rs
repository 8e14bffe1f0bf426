//! Products of matrices in memory (`gemm`), each by one invocation.
//!
//! Sums are kept in `f64` and rounded once, as those of fragments are: any order of rounding is as good as another.

use super::activation::Handle;
use super::checks::Access;
use super::code::Step;
use super::fault::Fault;
use super::machine::Machine;
use super::memory::{read, write};
use girih_ir::eval::{narrow, widen};
use girih_ir::types::Space;

/// Operands that say how large the matrices are; behind them stand the strides.
const SIZES: usize = 6;

impl Machine<'_> {
    /// `gemm`, for all lanes that run.
    pub(super) fn gemm(&mut self, step: &Step) -> Result<(), Fault> {
        for operand in [1, 3, 5].into_iter().chain(SIZES..step.operands.len()) {
            self.defined(step, operand, "says where a matrix lies")?;
        }
        let ty = self.inst(step).element();
        let bytes = ty.bytes() as usize;
        let running = self.mask;
        for lane in running.iter() {
            let number = |operand: usize| self.activation.values[step.operands[operand].offset + lane];
            let [rows, columns, depth, c_row, a_row, a_column, b_row, b_column] =
                std::array::from_fn(|i| number(SIZES + i));
            let (to, sums) = self.matrix(step, (0, lane), (rows, c_row), (columns, 1), Access::Write)?;
            let (from_a, a) = self.matrix(step, (2, lane), (rows, a_row), (depth, a_column), Access::Read)?;
            let (from_b, b) = self.matrix(step, (4, lane), (depth, b_row), (columns, b_column), Access::Read)?;
            let value = |handle: Handle, address: u64| widen(read(self.bytes(handle), address as usize, bytes), ty);
            let (columns, depth) = (columns as usize, depth as usize);
            let results: Vec<u64> = (0..sums.len())
                .map(|i| {
                    let (row, column) = (i / columns, i % columns);
                    let products =
                        (0..depth).map(|k| value(from_a, a[row * depth + k]) * value(from_b, b[k * columns + column]));
                    narrow(products.fold(value(to, sums[i]), |sum, product| sum + product), ty)
                })
                .collect();
            for (address, result) in sums.into_iter().zip(results) {
                write(&mut self.memories.shared, address as usize, bytes, result);
            }
        }
        Ok(())
    }

    /// The memory of a matrix and the byte address of each of its elements, by rows. A dimension is a length and a stride. All elements are there and defined.
    fn matrix(
        &mut self,
        step: &Step,
        (operand, lane): (usize, usize),
        (rows, row): (u64, u64),
        (columns, column): (u64, u64),
        access: Access,
    ) -> Result<(Handle, Vec<u64>), Fault> {
        let handle = self.handle(step, operand);
        let bytes = u64::from(step.ty.bytes());
        let first = i128::from(self.activation.values[step.operands[operand + 1].offset + lane]);
        let count = handle.bytes / bytes;
        let mut addresses = vec![];
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let element = first + i128::from(i * row + j * column);
            if element >= i128::from(count) {
                return Err(self.outside(step, operand, lane, element, count, bytes).into());
            }
            let address = handle.start + element as u64 * bytes;
            self.touch(step, operand, handle, lane, (address, bytes), access)?;
            if let (Some(checks), Space::Shared) = (&self.checks, handle.space) {
                let origin = checks.shared_origin(handle, address, bytes);
                if origin != 0 {
                    let what = format!("the matrix in {}", self.operand(step, operand));
                    return Err(self.undefined(step, lane, &what, checks.row(origin)).into());
                }
            }
            addresses.push(address);
        }
        Ok((handle, addresses))
    }
}
