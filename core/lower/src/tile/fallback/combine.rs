//! Regions on elements, histograms and matrix products: every invocation computes its own elements from what lies in shared memory.

use super::super::counted_loop::count_up;
use super::super::gather;
use super::super::predication::where_it_holds;
use super::{Block, Fallback, Staged};
use crate::rewrite::Rewriter;
use girih_base::diag::Diagnostic;
use girih_ir::{AttrKind, Inst, Op, Scalar, Shape, Type, ValueId};

/// What stands for each result.
type Results = Result<Vec<Vec<ValueId>>, Diagnostic>;

/// Elements along an axis: how many lines, how long, and how far apart neighbours are.
struct Lines {
    count: u64,
    length: u32,
    stride: u32,
}

impl Lines {
    fn of(inst: &Inst, shape: Option<Shape>) -> Lines {
        let lengths = shape.map_or(vec![1], Shape::to_vec);
        let axis = inst.axis() as usize;
        let length = lengths[axis];
        let stride = lengths[axis + 1..].iter().product::<u64>();
        Lines { count: lengths.iter().product::<u64>() / length, length: length as u32, stride: stride as u32 }
    }
}

impl Fallback<'_> {
    pub(super) fn map(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Results {
        let blocks: Vec<Block> = inst.operands.iter().map(|v| self.block(r, *v)).collect();
        let types: Vec<Type> = inst.results.iter().filter_map(|v| r.old.ty(*v).element()).map(Type::Scalar).collect();
        let mut results = vec![vec![]; types.len()];
        for register in 0..blocks[0].registers.len() {
            let arguments: Vec<ValueId> = blocks.iter().map(|b| b.registers[register]).collect();
            let made = self.written_out(r, inst.regions[0], &arguments, &types)?;
            results.iter_mut().zip(made).for_each(|(list, value)| list.push(value));
        }
        Ok(results)
    }

    /// The first element of a line.
    fn line_start(&self, r: &mut Rewriter<'_>, line: ValueId, lines: &Lines) -> ValueId {
        let (low, length) = (r.out.u32(lines.stride - 1), r.out.u32(lines.length));
        let inner = r.out.op(Op::And, Scalar::U32, &[line, low]);
        let outer = r.out.op(Op::Sub, Scalar::U32, &[line, inner]);
        let scaled = r.out.op(Op::Mul, Scalar::U32, &[outer, length]);
        r.out.op(Op::Add, Scalar::U32, &[scaled, inner])
    }

    fn in_line(&self, r: &mut Rewriter<'_>, start: ValueId, at: ValueId, lines: &Lines) -> ValueId {
        let stride = r.out.u32(lines.stride);
        let far = r.out.op(Op::Mul, Scalar::U32, &[at, stride]);
        r.out.op(Op::Add, Scalar::U32, &[start, far])
    }

    fn fetch_all(&mut self, r: &mut Rewriter<'_>, staged: &[Staged], at: ValueId) -> Vec<ValueId> {
        staged.iter().map(|s| self.fetch(r, *s, at)).collect()
    }

    pub(super) fn reduce(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Results {
        let blocks: Vec<Block> = inst.operands.iter().map(|v| self.block(r, *v)).collect();
        let lines = Lines::of(inst, blocks[0].shape);
        let staged = self.stage(r, &blocks.iter().collect::<Vec<_>>());
        let types: Vec<Type> = blocks.iter().map(|b| Type::Scalar(b.element)).collect();
        let mut results = vec![vec![]; blocks.len()];
        let end = |r: &mut Rewriter<'_>| r.out.u32(lines.length);
        for register in 0..self.parts_of(lines.count) {
            let line = self.element_at(r, register, lines.count);
            let start = self.line_start(r, line, &lines);
            let first = self.fetch_all(r, &staged, start);
            let made = count_up(r, 1, end, &first, |r, at, so_far| {
                let at = self.in_line(r, start, at, &lines);
                let mut arguments = so_far.to_vec();
                arguments.extend(self.fetch_all(r, &staged, at));
                self.written_out(r, inst.regions[0], &arguments, &types)
            })?;
            results.iter_mut().zip(made).for_each(|(list, value)| list.push(value));
        }
        let single = blocks[0].shape.is_some_and(|s| s.rank() == 1);
        if single {
            for (list, block) in results.iter_mut().zip(&blocks) {
                list[0] = self.uniform(r, list[0], block.element);
            }
        }
        Ok(results)
    }

    pub(super) fn scan(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Results {
        let blocks: Vec<Block> = inst.operands.iter().map(|v| self.block(r, *v)).collect();
        let lines = Lines::of(inst, blocks[0].shape);
        let reverse = inst.has(AttrKind::Reverse);
        let staged = self.stage(r, &blocks.iter().collect::<Vec<_>>());
        let types: Vec<Type> = blocks.iter().map(|b| Type::Scalar(b.element)).collect();
        let owner = self.owns(r, lines.count);
        let mut failed = None;
        let end = |r: &mut Rewriter<'_>| r.out.u32(lines.length);
        where_it_holds(r, owner, |r| {
            for register in 0..self.parts_of(lines.count) {
                let line = self.element_at(r, register, lines.count);
                let start = self.line_start(r, line, &lines);
                let last = r.out.u32(lines.length - 1);
                let at_of = |s: &Self, r: &mut Rewriter<'_>, at: ValueId| {
                    let at = if reverse { r.out.op(Op::Sub, Scalar::U32, &[last, at]) } else { at };
                    s.in_line(r, start, at, &lines)
                };
                let zero = r.out.u32(0);
                let first = at_of(self, r, zero);
                let first = self.fetch_all(r, &staged, first);
                let made = count_up(r, 1, end, &first, |r, at, so_far| {
                    let at = at_of(self, r, at);
                    let mut arguments = so_far.to_vec();
                    arguments.extend(self.fetch_all(r, &staged, at));
                    let next = self.written_out(r, inst.regions[0], &arguments, &types)?;
                    for (room, value) in staged.iter().zip(&next) {
                        self.put(r, *room, at, *value);
                    }
                    Ok(next)
                });
                failed = failed.take().or(made.err());
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        self.barrier(r, false);
        let count = blocks[0].count();
        let mut results = vec![];
        for room in &staged {
            let mut registers = vec![];
            for register in 0..self.parts_of(count) {
                let at = self.element_at(r, register, count);
                registers.push(self.fetch(r, *room, at));
            }
            results.push(registers);
        }
        Ok(results)
    }

    pub(super) fn histogram(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Results {
        let (mut numbers, inside) = (self.block(r, inst.operands[0]), self.block(r, inst.operands[1]));
        for (register, value) in numbers.registers.iter_mut().enumerate() {
            let counted = if inside.shape.is_some() { inside.registers[register] } else { inside.registers[0] };
            *value = gather::bin(&mut r.out, *value, counted, numbers.element);
        }
        numbers.element = gather::bin_type(numbers.element);
        let staged = self.stage(r, &[&numbers])[0];
        let (count, element, of) =
            (inst.ty.and_then(Type::shape).map_or(1, Shape::elements), inst.element(), numbers.element);
        let mut registers = vec![];
        for register in 0..self.parts_of(count) {
            let own = self.element_at(r, register, count);
            let own = if of == Scalar::U32 { own } else { r.out.op(Op::Convert, of, &[own]) };
            let zero = r.out.constant(element, 0);
            let end = |r: &mut Rewriter<'_>| r.out.u32(numbers.count() as u32);
            let sum = count_up(r, 0, end, &[zero], |r, at, so_far| {
                let found = self.fetch(r, staged, at);
                let same = r.out.op(Op::Eq, of, &[found, own]);
                let one = r.out.op(Op::Convert, element, &[same]);
                Ok(vec![r.out.op(Op::Add, element, &[so_far[0], one])])
            })?;
            registers.push(sum[0]);
        }
        Ok(vec![registers])
    }

    pub(super) fn dot(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Results {
        let [a, b, c] = [0, 1, 2].map(|i| self.block(r, inst.operands[i]));
        let (left, right) = (a.shape.map_or(vec![], Shape::to_vec), b.shape.map_or(vec![], Shape::to_vec));
        let rank = left.len();
        let (m, k, n) = (left[rank - 2] as u32, left[rank - 1] as u32, right[rank - 1] as u32);
        let staged = self.stage(r, &[&a, &b]);
        // Short floats are summed in `f32`.
        let sums = if c.element.is_float() && c.element.bits() < 32 { Scalar::F32 } else { c.element };
        let convert = |r: &mut Rewriter<'_>, value: ValueId, from: Scalar, to: Scalar| {
            if from == to { value } else { r.out.op(Op::Convert, to, &[value]) }
        };
        let count = c.count();
        let mut registers = vec![];
        for register in 0..self.parts_of(count) {
            let at = self.element_at(r, register, count);
            let [columns, row_length, block_a, block_b, block_c] =
                [n - 1, k, m * k, k * n, (m * n).trailing_zeros()].map(|x| r.out.u32(x));
            let (shift, rows) = (r.out.u32(n.trailing_zeros()), r.out.u32(m - 1));
            let j = r.out.op(Op::And, Scalar::U32, &[at, columns]);
            let row = r.out.op(Op::Shr, Scalar::U32, &[at, shift]);
            let i = r.out.op(Op::And, Scalar::U32, &[row, rows]);
            let batch = r.out.op(Op::Shr, Scalar::U32, &[at, block_c]);
            let (in_a, in_b) =
                (r.out.op(Op::Mul, Scalar::U32, &[batch, block_a]), r.out.op(Op::Mul, Scalar::U32, &[batch, block_b]));
            let in_row = r.out.op(Op::Mul, Scalar::U32, &[i, row_length]);
            let (row_start, column_start) =
                (r.out.op(Op::Add, Scalar::U32, &[in_a, in_row]), r.out.op(Op::Add, Scalar::U32, &[in_b, j]));
            let first = convert(r, c.registers[register], c.element, sums);
            let end = |r: &mut Rewriter<'_>| r.out.u32(k);
            let sum = count_up(r, 0, end, &[first], |r, at, so_far| {
                let width = r.out.u32(n);
                let down = r.out.op(Op::Mul, Scalar::U32, &[at, width]);
                let (x, y) = (
                    r.out.op(Op::Add, Scalar::U32, &[row_start, at]),
                    r.out.op(Op::Add, Scalar::U32, &[column_start, down]),
                );
                let (x, y) = (self.fetch(r, staged[0], x), self.fetch(r, staged[1], y));
                let (x, y) = (convert(r, x, a.element, sums), convert(r, y, b.element, sums));
                Ok(vec![r.out.op(Op::Mad, sums, &[x, y, so_far[0]])])
            })?;
            registers.push(convert(r, sum[0], sums, c.element));
        }
        Ok(vec![registers])
    }
}
