//! Matrix products. Those of floats are operations of their own (`gemm`), which the code generator leaves to a library's loops over the widest vectors.
//! Those of integers keep a rectangle of sums in registers along the whole depth: an iteration takes one column of four rows of the first factor and one row of
//! the second.
//!
//! Both factors are brought into arrays of the sums' type, by rows.

use super::super::counted_loop::count_up;
use super::point::{Point, plus, vector_axis};
use super::{Array, LANES, LoopNest, Made, is_lane, tile};
use crate::rewrite::Rewriter;
use crate::spmd::lanes::Wide;
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Def, Function, Inst, Op, Scalar, Shape, Type, ValueId};

/// Rows of a rectangle, and vectors of its columns.
const ROWS: u64 = 4;
const COLUMNS: u64 = 2;

/// Whether a tile is zero everywhere.
fn is_zero(f: &Function, tile: ValueId) -> bool {
    let Def::Result(id, _) = f.values[tile].def else { return false };
    let inst = &f.insts[id];
    inst.op == Op::TileSplat && f.as_constant(inst.operands[0]) == Some(0)
}

/// A factor in an array: how many elements are from one row to the next, and from one column to the next.
#[derive(Clone, Copy)]
struct Matrix {
    array: Array,
    row: u64,
    column: u64,
}

/// The tile that a value is with its last two dimensions exchanged.
fn transposed(f: &Function, value: ValueId) -> Option<ValueId> {
    let Def::Result(id, _) = f.values[value].def else { return None };
    let inst = &f.insts[id];
    if inst.op != Op::TilePermute {
        return None;
    }
    let axes = inst.axes();
    let rank = axes.len();
    let exchanged = |d: usize| if d + 2 < rank { d } else { 2 * rank - 3 - d };
    axes.iter().enumerate().all(|(d, axis)| *axis as usize == exchanged(d)).then_some(inst.operands[0])
}

/// Lengths of a product.
struct Lengths {
    batch: Option<Shape>,
    m: u64,
    n: u64,
    k: u64,
}

impl<'a> LoopNest<'a> {
    /// `tile.dot`.
    pub(super) fn dot(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let [(_, left), (_, right), (element, shape)] = [0, 1, 2].map(|i| tile(r, inst.operands[i]));
        let rank = shape.rank();
        let lengths = Lengths {
            batch: (rank > 2).then(|| Shape::of(&[shape.length(0)])).flatten(),
            m: shape.length(rank - 2),
            n: shape.length(rank - 1),
            k: left.length(rank - 1),
        };
        // Short floats are summed in `f32`.
        let sums = if element.is_float() && element.bits() < 32 { Scalar::F32 } else { element };
        let a = self.matrix(r, inst.operands[0], sums, left)?;
        let b = self.matrix(r, inst.operands[1], sums, right)?;
        let by_four = !sums.is_float() && is_lane(sums) && lengths.n >= LANES;
        let from_zero = by_four && is_zero(r.old, inst.operands[2]);
        let own = self.arrays.get(&inst.operands[2]).copied();
        let c = match own.filter(|_| sums == element && self.takes_over(r.old, inst, inst.operands[2])) {
            Some(array) => array,
            None => {
                let array = self.array(r, sums, shape);
                if !from_zero {
                    self.converted(r, inst.operands[2], array)?;
                }
                array
            }
        };
        self.each_element(r, lengths.batch, &mut |nest, r, batch| {
            if sums.is_float() {
                nest.gemm(r, (a, b, c), batch, &lengths);
                Ok(())
            } else if by_four {
                nest.rectangles(r, (a.array, b.array, c), batch, &lengths, from_zero)
            } else {
                nest.elements(r, (a.array, b.array, c), batch, &lengths)
            }
        })?;
        let mut result = c;
        if sums != element {
            result = self.array(r, element, shape);
            self.each_element(r, Some(shape), &mut |nest, r, point| {
                let sum = nest.get(r, c, point);
                let short = r.out.op(Op::Convert, element, &[sum]);
                nest.put(r, result, point, short);
                Ok(())
            })?;
        }
        self.arrays.insert(inst.results[0], result);
        Ok(())
    }

    /// A factor as it lies in an array of the sums' type. Floats that are only transposed stay where they are.
    fn matrix(&mut self, r: &mut Rewriter<'_>, value: ValueId, sums: Scalar, shape: Shape) -> Made<Matrix> {
        let (element, _) = tile(r, value);
        let as_it_lies = sums.is_float() && element == sums && !self.arrays.contains_key(&value);
        if let Some(source) = transposed(r.old, value).filter(|_| as_it_lies) {
            let array = self.stored(r, source)?;
            return Ok(Matrix { array, row: 1, column: array.shape.length(array.shape.rank() - 1) });
        }
        let array = self.factor(r, value, sums, shape)?;
        Ok(Matrix { array, row: shape.length(shape.rank() - 1), column: 1 })
    }

    /// A factor as an array of the sums' type: its own if it has one.
    fn factor(&mut self, r: &mut Rewriter<'_>, value: ValueId, sums: Scalar, shape: Shape) -> Made<Array> {
        let (element, _) = tile(r, value);
        if element == sums {
            return self.stored(r, value);
        }
        let array = self.array(r, sums, shape);
        self.converted(r, value, array)?;
        Ok(array)
    }

    /// Brings a tile into an array of another type.
    fn converted(&mut self, r: &mut Rewriter<'_>, value: ValueId, array: Array) -> Made<()> {
        let (element, shape) = tile(r, value);
        if element == array.element {
            return self.fill(r, array, value);
        }
        self.each_element(r, Some(shape), &mut |nest, r, point| {
            let one = nest.single(r, value, point)?;
            let wider = r.out.op(Op::Convert, array.element, &[one]);
            nest.put(r, array, point, wider);
            Ok(())
        })
    }

    /// All sums of a matrix of floats.
    fn gemm(&mut self, r: &mut Rewriter<'_>, (a, b, c): (Matrix, Matrix, Array), batch: &Point, lengths: &Lengths) {
        let first = |r: &mut Rewriter<'_>, array: Array| {
            let zero = r.out.u32(0);
            let mut at = batch.at.clone();
            at.extend([zero, zero]);
            Point { at, axis: None }.number(&mut r.out, array.shape)
        };
        let mut operands = vec![];
        for array in [c, a.array, b.array] {
            operands.extend([array.handle, first(r, array)]);
        }
        let Lengths { m, n, k, .. } = *lengths;
        operands.extend([m, n, k, n, a.row, a.column, b.row, b.column].map(|number| r.out.u32(number as u32)));
        let product = Inst::new(Op::Gemm, Some(c.element.into()), &operands, r.out.span);
        r.out.push(product, &[]);
    }

    /// All sums of a matrix, rectangle by rectangle.
    fn rectangles(
        &mut self,
        r: &mut Rewriter<'_>,
        arrays: (Array, Array, Array),
        batch: &Point,
        lengths: &Lengths,
        from_zero: bool,
    ) -> Made<()> {
        let rows = ROWS.min(lengths.m);
        let columns = COLUMNS.min(lengths.n / LANES);
        let blocks = Shape::of(&[lengths.m / rows, lengths.n / (columns * LANES)])
            .ok_or_else(|| Diagnostic::new(Code::Internal, r.old.span, "a product without elements"))?;
        self.each_element(r, Some(blocks), &mut |nest, r, block| {
            let scaled = |r: &mut Rewriter<'_>, at: ValueId, by: u64| {
                let log = r.out.u32(by.trailing_zeros());
                r.out.op(Op::Shl, Scalar::U32, &[at, log])
            };
            let (i, j) = (scaled(r, block.at[0], rows), scaled(r, block.at[1], columns * LANES));
            nest.rectangle(r, arrays, batch, (i, j), (rows, columns), lengths.k, from_zero)
        })
    }

    /// The sums of a rectangle, from what their array holds on or from zero.
    #[expect(clippy::too_many_arguments, reason = "a place and lengths in three dimensions")]
    fn rectangle(
        &mut self,
        r: &mut Rewriter<'_>,
        (a, b, c): (Array, Array, Array),
        batch: &Point,
        (i, j): (ValueId, ValueId),
        (rows, columns): (u64, u64),
        depth: u64,
        from_zero: bool,
    ) -> Made<()> {
        let axis = c.shape.rank() - 1;
        let at = |row: ValueId, column: ValueId, axis: Option<usize>| {
            let mut all = batch.at.clone();
            all.extend([row, column]);
            Point { at: all, axis }
        };
        let place = |r: &mut Rewriter<'_>, first: ValueId, n: u64| plus(&mut r.out, first, n as u32);
        let mut places = vec![];
        let mut initial = vec![];
        for row in 0..rows {
            for column in 0..columns {
                let point = at(place(r, i, row), place(r, j, column * LANES), Some(axis));
                initial.push(if from_zero {
                    let zero = r.out.constant(c.element, 0);
                    Wide::Same(zero).each(&mut r.out)
                } else {
                    self.get_wide(r, c, &point).each(&mut r.out)
                });
                places.push(point);
            }
        }
        let vector = Type::Vector(c.element, LANES as u8);
        let end = |r: &mut Rewriter<'_>| r.out.u32(depth as u32);
        let sums = count_up(r, 0, end, &initial, |r, k, sums| {
            let right: Vec<ValueId> = (0..columns)
                .map(|column| {
                    let point = at(k, place(r, j, column * LANES), Some(axis));
                    self.get_wide(r, b, &point).each(&mut r.out)
                })
                .collect();
            let mut next = vec![];
            for row in 0..rows {
                let point = at(place(r, i, row), k, None);
                let left = self.get(r, a, &point);
                let left = Wide::Same(left).each(&mut r.out);
                for (column, right) in right.iter().enumerate() {
                    let sum = sums[row as usize * columns as usize + column];
                    let product = r.out.op(Op::Mul, vector, &[left, *right]);
                    next.push(r.out.op(Op::Add, vector, &[sum, product]));
                }
            }
            Ok(next)
        })?;
        for (point, sum) in places.iter().zip(sums) {
            self.put_wide(r, c, point, Wide::Each(sum));
        }
        Ok(())
    }

    /// All sums of a matrix, one by one.
    fn elements(
        &mut self,
        r: &mut Rewriter<'_>,
        (a, b, c): (Array, Array, Array),
        batch: &Point,
        lengths: &Lengths,
    ) -> Made<()> {
        let whole = Shape::of(&[lengths.m, lengths.n]);
        debug_assert!(vector_axis(c.shape).is_none() || !is_lane(c.element) || lengths.n < LANES);
        self.each_element(r, whole, &mut |nest, r, place| {
            let at = |row: ValueId, column: ValueId| {
                let mut all = batch.at.clone();
                all.extend([row, column]);
                Point { at: all, axis: None }
            };
            let (row, column) = (place.at[0], place.at[1]);
            let to = at(row, column);
            let first = nest.get(r, c, &to);
            let end = |r: &mut Rewriter<'_>| r.out.u32(lengths.k as u32);
            let sum = count_up(r, 0, end, &[first], |r, k, so_far| {
                let (x, y) = (nest.get(r, a, &at(row, k)), nest.get(r, b, &at(k, column)));
                Ok(vec![r.out.op(Op::Mad, c.element, &[x, y, so_far[0]])])
            })?;
            nest.put(r, c, &to, sum[0]);
            Ok(())
        })
    }
}
