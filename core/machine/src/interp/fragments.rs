//! Matrix fragments: a subgroup's fragment is the whole matrix, element after element by rows. How a device spreads it over
//! lanes does not show.

use super::activation::Handle;
use super::checks::Access;
use super::code::{Slot, Step, fragment};
use super::fault::Fault;
use super::machine::{Machine, places};
use super::memory::{read, write};
use girih_ir::attrs::{MatrixLayout, Precision};
use girih_ir::eval::{self, narrow, widen};
use girih_ir::ops::{Convergence, Op};
use girih_ir::types::{Scalar, Space, Type};

/// A subgroup's first lane, and the byte address of each element of its fragment.
type Place = (usize, Vec<u64>);

impl Machine<'_> {
    /// Type of a step's operand.
    fn operand_type(&self, step: &Step, operand: usize) -> Type {
        self.program.module.functions[self.activation.function].ty(self.inst(step).operands[operand])
    }
    /// Where element i of a subgroup's fragment lies.
    fn place(&self, slot: Slot, group: usize, element: usize) -> usize {
        slot.offset + element * self.team.subgroups() + group
    }

    /// Checks the places of the fragments of the subgroups that run.
    fn fragment_places(&mut self, step: &Step, stride: usize) -> Result<(Handle, Vec<Place>), Fault> {
        self.converged(step, Convergence::Subgroup)?;
        for operand in [1, stride] {
            self.same(step, operand, self.team.width)?;
            self.defined(step, operand, "says where a fragment lies")?;
        }
        let handle = self.handle(step, 0);
        let Type::Coop(usage, shape, element) = step.ty else { return Ok((handle, vec![])) };
        let (rows, columns) = fragment(usage, shape);
        let bytes = u64::from(element.bytes());
        let by_rows = self.inst(step).layout() == MatrixLayout::Row;
        let mut found = vec![];
        for group in self.groups() {
            let lane = group[0];
            let value = |operand: usize| i128::from(self.activation.values[step.operands[operand].offset + lane]);
            let (first, stride) = (value(1) + i128::from(step.offset), value(stride));
            let mut addresses = Vec::with_capacity(rows * columns);
            for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i as i128, j as i128))) {
                let index = first + if by_rows { i * stride + j } else { i + j * stride };
                let count = handle.bytes / bytes;
                if index < 0 || index >= i128::from(count) {
                    return Err(self.outside(step, 0, lane, index, count, bytes).into());
                }
                addresses.push(handle.start + index as u64 * bytes);
            }
            found.push((lane, addresses));
        }
        Ok((handle, found))
    }

    pub(super) fn coop_load(&mut self, step: &Step) -> Result<(), Fault> {
        let (handle, places) = self.fragment_places(step, 2)?;
        let bytes = u64::from(step.ty.element().map_or(4, Scalar::bytes));
        for (lane, addresses) in places {
            for (i, address) in addresses.into_iter().enumerate() {
                self.touch(step, 0, handle, lane, (address, bytes), Access::Read)?;
                let place = self.place(step.results[0], lane / self.team.width, i);
                self.activation.values[place] = read(self.bytes(handle), address as usize, bytes as usize);
                if let Some(checks) = &self.checks {
                    let shared = handle.space == Space::Shared;
                    self.activation.origins[place] =
                        if shared { checks.shared_origin(handle, address, bytes) } else { 0 };
                    let undefined = self.activation.origins[place] != 0;
                    if undefined && let Some(checks) = &mut self.checks {
                        checks.poisoned = true;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn coop_store(&mut self, step: &Step) -> Result<(), Fault> {
        let (handle, places) = self.fragment_places(step, 3)?;
        if handle.space == Space::Global {
            self.defined(step, 2, "is stored to a buffer")?;
        }
        let bytes = u64::from(step.ty.element().map_or(4, Scalar::bytes));
        for (lane, addresses) in places {
            for (i, address) in addresses.into_iter().enumerate() {
                self.touch(step, 0, handle, lane, (address, bytes), Access::Write)?;
                let place = self.place(step.operands[2], lane / self.team.width, i);
                let value = self.activation.values[place];
                let memory = match handle.space {
                    Space::Global => &mut self.memories.buffers[handle.buffer],
                    Space::Shared | Space::Private => &mut self.memories.shared,
                };
                write(memory, address as usize, bytes as usize, value);
                if handle.space == Space::Shared
                    && let Some(checks) = &mut self.checks
                {
                    checks.set_origin(None, address, bytes, self.activation.origins[place]);
                }
            }
        }
        Ok(())
    }

    pub(super) fn coop_splat(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Subgroup)?;
        for group in self.groups() {
            let from = step.operands[0].offset + group[0];
            for i in 0..step.results[0].components {
                let place = self.place(step.results[0], group[0] / self.team.width, i);
                self.activation.values[place] = self.activation.values[from];
                if self.checks.is_some() {
                    self.activation.origins[place] = self.activation.origins[from];
                }
            }
        }
        Ok(())
    }

    /// The product of whole matrices. Sums of floats are kept in `f64` and rounded once: products of the short types and of `f32` are
    /// exact there, and any order of rounding is as good as another.
    pub(super) fn coop_mma(&mut self, step: &Step) -> Result<(), Fault> {
        self.converged(step, Convergence::Subgroup)?;
        let Type::Coop(_, shape, element) = step.ty else { return Ok(()) };
        let factor = self.operand_type(step, 0).element().unwrap_or(element);
        let (m, n, k) = (usize::from(shape.m), usize::from(shape.n), usize::from(shape.k));
        let [a, b, c] = step.operands[..] else { return Ok(()) };
        let precision = self.inst(step).precision();
        for group in self.groups() {
            let group = group[0] / self.team.width;
            let value = |slot, i| self.activation.values[self.place(slot, group, i)];
            let mut sums = Vec::with_capacity(m * n);
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let factors = (0..k).map(|l| (value(a, i * k + l), value(b, l * n + j)));
                let start = value(c, i * n + j);
                sums.push(match precision {
                    Precision::Ieee => accumulate(start, element, factors, factor),
                    Precision::Tf32 => {
                        let rounded = factors.map(|(a, b)| (eval::tf32(a), eval::tf32(b)));
                        accumulate(start, element, rounded, factor)
                    }
                    Precision::Tf32x3 => accumulate_in_three(start, factors),
                });
            }
            for (i, sum) in sums.into_iter().enumerate() {
                let place = self.place(step.results[0], group, i);
                self.activation.values[place] = sum;
            }
        }
        self.spread_fragment(step);
        Ok(())
    }

    /// A product with an undefined element is undefined as a whole.
    fn spread_fragment(&mut self, step: &Step) {
        if !self.checks.as_ref().is_some_and(|checks| checks.poisoned) {
            return;
        }
        let mut origin = 0;
        for slot in &step.operands {
            places(*slot, &self.mask, self.team, |place| origin = self.activation.origins[place].max(origin));
        }
        let origins = &mut self.activation.origins;
        places(step.results[0], &self.mask, self.team, |place| origins[place] = origin);
    }
}

/// c + a1 b1 + a2 b2 + ..
pub(super) fn accumulate(c: u64, ty: Scalar, factors: impl Iterator<Item = (u64, u64)>, factor: Scalar) -> u64 {
    if ty.is_float() {
        let sum = factors.fold(widen(c, ty), |sum, (a, b)| sum + widen(a, factor) * widen(b, factor));
        return narrow(sum, ty);
    }
    let product = |(a, b)| eval::int_value(a, factor).wrapping_mul(eval::int_value(b, factor));
    let sum = factors.map(product).fold(eval::int_value(c, ty), i128::wrapping_add);
    eval::scalar(Op::Convert, ty, Scalar::I64, &[sum as i64 as u64]).unwrap_or(0)
}

/// The same of `f32`, each factor as the sum of two numbers of `tf32`; the product of both second ones is left out. Where the second ones' share is
/// not finite, the first ones alone tell what the sum is.
fn accumulate_in_three(c: u64, factors: impl Iterator<Item = (u64, u64)>) -> u64 {
    let two = |bits: u64| {
        let first = widen(eval::tf32(bits), Scalar::F32);
        let rest = narrow(widen(bits, Scalar::F32) - first, Scalar::F32);
        (first, widen(eval::tf32(rest), Scalar::F32))
    };
    let (mut sum, mut share) = (widen(c, Scalar::F32), 0.0f64);
    for (a, b) in factors {
        let ((a, a_rest), (b, b_rest)) = (two(a), two(b));
        sum += a * b;
        share += a_rest * b + a * b_rest;
    }
    narrow(if share.is_finite() { sum + share } else { sum }, Scalar::F32)
}
