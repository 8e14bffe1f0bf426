//! Operations that make tiles, move their elements, multiply them as matrices or print them.

use super::code::{Slot, Step};
use super::machine::Machine;
use girih_ir::eval::{int_value, narrow, widen};
use girih_ir::ops::Op;
use girih_ir::types::{Scalar, Type};

/// Most elements of a tile that are printed.
const PRINTED: usize = 1024;

impl Machine<'_> {
    /// The lengths of an operand's or a result's dimensions; none for a scalar.
    fn lengths(&self, value: girih_ir::ValueId) -> Vec<usize> {
        let function = &self.program.module.functions[self.activation.function];
        function.ty(value).shape().map_or(vec![], |shape| shape.lengths().map(|n| n as usize).collect())
    }

    fn element_type(&self, value: girih_ir::ValueId) -> Scalar {
        let function = &self.program.module.functions[self.activation.function];
        function.ty(value).element().unwrap_or(Scalar::U32)
    }

    /// Fills a result: element `i` is what `f` says.
    fn fill_result(&mut self, result: Slot, f: impl Fn(&[u64], usize) -> u64) {
        for i in 0..result.components {
            self.activation.values[result.offset + i] = f(&self.activation.values, i);
        }
    }

    pub(super) fn tile(&mut self, step: &Step) {
        let result = step.results[0];
        let first = step.operands.first().map_or(0, |slot| slot.offset);
        match step.op {
            Op::TileIota => self.fill_result(result, |_, i| i as u64),
            Op::TileSplat => self.fill_result(result, |values, _| values[first]),
            Op::TileReshape | Op::TileHint => self.fill_result(result, |values, i| values[first + i]),
            Op::TileBroadcast => self.broadcast(step),
            Op::TilePermute => self.permute(step),
            Op::TileJoin => {
                let second = step.operands[1].offset;
                self.fill_result(result, |values, i| values[if i % 2 == 0 { first } else { second } + i / 2]);
            }
            Op::TileSplit => {
                for (which, result) in step.results.iter().enumerate() {
                    self.fill_result(*result, |values, i| values[first + 2 * i + which]);
                }
            }
            Op::TileCat => {
                let (count, second) = (step.operands[0].components, step.operands[1].offset);
                self.fill_result(result, |values, i| values[if i < count { first + i } else { second + i - count }]);
            }
            Op::TileGather => self.gather_elements(step),
            Op::TileHistogram => self.histogram(step),
            Op::TileDot => self.dot(step),
            other => unreachable!("`{}` moves no elements", other.name()),
        }
    }

    fn broadcast(&mut self, step: &Step) {
        let inst = self.inst(step);
        let (from, to) = (self.lengths(inst.operands[0]), self.lengths(inst.results[0]));
        let first = step.operands[0].offset;
        self.fill_result(step.results[0], |values, i| {
            let (mut rest, mut place, mut stride) = (i, 0, 1);
            for (from, to) in from.iter().zip(&to).rev() {
                place += if *from == 1 { 0 } else { rest % to * stride };
                stride *= from;
                rest /= to;
            }
            values[first + place]
        });
    }

    fn permute(&mut self, step: &Step) {
        let inst = self.inst(step);
        let (axes, from, to) = (inst.axes(), self.lengths(inst.operands[0]), self.lengths(inst.results[0]));
        let stride = |axis: usize| from[axis + 1..].iter().product::<usize>();
        let strides: Vec<usize> = axes.iter().map(|axis| stride(*axis as usize)).collect();
        let first = step.operands[0].offset;
        self.fill_result(step.results[0], |values, i| {
            let (mut rest, mut place) = (i, 0);
            for (length, stride) in to.iter().zip(&strides).rev() {
                place += rest % length * stride;
                rest /= length;
            }
            values[first + place]
        });
    }

    fn gather_elements(&mut self, step: &Step) {
        let inst = self.inst(step);
        let axis = inst.axis() as usize;
        let (from, to) = (self.lengths(inst.operands[0]), self.lengths(inst.results[0]));
        let index_type = self.element_type(inst.operands[1]);
        let inner: usize = to[axis + 1..].iter().product();
        let (length, count) = (to[axis], from[axis]);
        let (first, index) = (step.operands[0].offset, step.operands[1].offset);
        self.fill_result(step.results[0], |values, i| {
            let at = int_value(values[index + i], index_type);
            if at < 0 || at >= count as i128 {
                return 0;
            }
            values[first + (i / (inner * length) * count + at as usize) * inner + i % inner]
        });
    }

    fn histogram(&mut self, step: &Step) {
        let ty = self.element_type(self.inst(step).operands[0]);
        let (from, inside, result) = (step.operands[0], step.operands[1], step.results[0]);
        let mut counts = vec![0u64; result.components];
        for i in 0..from.components {
            let at = int_value(self.activation.values[from.offset + i], ty);
            if self.element_of(inside, i) != 0
                && let Some(count) = usize::try_from(at).ok().and_then(|at| counts.get_mut(at))
            {
                *count += 1;
            }
        }
        self.activation.values[result.offset..result.offset + result.components].copy_from_slice(&counts);
    }

    fn dot(&mut self, step: &Step) {
        let inst = self.inst(step);
        let element = |operand: usize| self.element_type(inst.operands[operand]);
        let (ty_a, ty_b, ty_c) = (element(0), element(1), element(2));
        let (left, right) = (self.lengths(inst.operands[0]), self.lengths(inst.operands[1]));
        let rank = left.len();
        let (m, k, n) = (left[rank - 2], left[rank - 1], right[rank - 1]);
        let read = |slot: Slot, ty: Scalar| -> Vec<f64> {
            let values = &self.activation.values[slot.offset..slot.offset + slot.components];
            values.iter().map(|bits| number(*bits, ty)).collect()
        };
        let (a, b) = (read(step.operands[0], ty_a), read(step.operands[1], ty_b));
        let mut sums = read(step.operands[2], ty_c);
        for batch in 0..sums.len() / (m * n) {
            let (a, b) = (&a[batch * m * k..], &b[batch * k * n..]);
            let sums = &mut sums[batch * m * n..][..m * n];
            for (i, row) in sums.chunks_exact_mut(n).enumerate() {
                for (kk, factor) in a[i * k..][..k].iter().enumerate() {
                    for (sum, other) in row.iter_mut().zip(&b[kk * n..][..n]) {
                        *sum += factor * other;
                    }
                }
            }
        }
        let result = step.results[0];
        self.fill_result(result, |_, i| bits(sums[i], ty_c));
    }

    pub(super) fn tile_print(&mut self, step: &Step) {
        let inst = self.inst(step);
        let [x, y, z] = self.workgroup;
        let mut line = format!("program ({x}, {y}, {z}) {}", inst.text());
        for (slot, value) in step.operands.iter().zip(&inst.operands) {
            let ty = self.element_type(*value);
            let shown = slot.components.min(PRINTED);
            let texts: Vec<String> = self.activation.values[slot.offset..slot.offset + shown]
                .iter()
                .map(|bits| shown_number(*bits, ty))
                .collect();
            let more = if shown < slot.components { ", .." } else { "" };
            let function = &self.program.module.functions[self.activation.function];
            match function.ty(*value) {
                Type::Tile(_) => line.push_str(&format!(" [{}{more}]", texts.join(", "))),
                _scalar => line.push_str(&format!(" {}", texts.join(""))),
            }
        }
        self.printed.push(line);
    }
}

/// A number as `f64`. Those of matrix products fit: `i32` sums of products of 8 bits are exact in it.
fn number(bits: u64, ty: Scalar) -> f64 {
    if ty.is_float() { widen(bits, ty) } else { int_value(bits, ty) as f64 }
}

fn bits(value: f64, ty: Scalar) -> u64 {
    if ty.is_float() { narrow(value, ty) } else { value as i64 as u64 & ty.mask() }
}

fn shown_number(bits: u64, ty: Scalar) -> String {
    match ty {
        Scalar::Bool => (bits != 0).to_string(),
        ty if ty.is_float() => number(bits, ty).to_string(),
        ty => int_value(bits, ty).to_string(),
    }
}
