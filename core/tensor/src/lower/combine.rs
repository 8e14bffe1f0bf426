//! Reductions and products of matrices: what combines elements of a tile, and in loops of several tiles.

use super::value::{At, Index, Writer};
use crate::attrs::{AttrKind, Number};
use crate::graph::NodeId;
use crate::ops::{Meaning, Reduction, View};
use crate::schedule::{MOST_COLUMNS, axis_groups, reduced_axes};
use girih_ir::kernel::{Block, Product};
use girih_ir::{Op, Scalar};
use std::ops::Range;

/// So few steps are written one after the other: their positions are known then, and sums stay in registers.
const WRITTEN_OUT: u64 = 16;

impl<'k> Writer<'k> {
    /// A reduction at an index that does not change along columns: elements along the reduced axes are the columns.
    pub fn reduced(&mut self, id: NodeId, by: Reduction, index: &Index<'k>) -> Block<'k> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        let shape = graph.shape(node.operands[0]);
        let axes = reduced_axes(node, by);
        let lengths: Vec<u64> = axes.iter().map(|axis| shape.length(*axis as usize)).collect();
        let count: u64 = lengths.iter().product();
        let block = count.next_power_of_two().min(MOST_COLUMNS / 4);
        let height = extent(index)[0];
        let kernel = self.kernel;
        if count <= MOST_COLUMNS {
            let column = self.columns(count, count.next_power_of_two(), None);
            let parts = self.parts(id, by, index, column, &lengths, height);
            return self.folded(by, &parts, node.ty.element);
        }
        let first = self.nothing(id, by, [height, block]);
        let number = |n: u64| kernel.constant(Scalar::I32, n as i32);
        let parts = self.inside(|writer| {
            kernel.for_range([number(0), number(count), number(block)], &first, |from, before| {
                let column = writer.columns(count, block, Some(from));
                let parts = writer.parts(id, by, index, column, &lengths, height);
                combined(by, before, &parts)
            })
        });
        self.folded(by, &parts, node.ty.element)
    }

    /// A reduction at any index: each result takes its elements one after the other.
    pub fn stepped(&mut self, id: NodeId, by: Reduction, index: &Index<'k>) -> Block<'k> {
        let graph = self.graph;
        let (node, kernel) = (&graph.nodes[id], self.kernel);
        let shape = graph.shape(node.operands[0]);
        let lengths: Vec<u64> = reduced_axes(node, by).iter().map(|axis| shape.length(*axis as usize)).collect();
        let count: u64 = lengths.iter().product();
        let tile = extent(index);
        let number = |n: u64| kernel.constant(Scalar::I32, n as i32);
        if count <= WRITTEN_OUT {
            let mut all: Option<Vec<Block<'k>>> = None;
            for step in 0..count {
                let at = At { at: kernel.full(&[1, 1], number(step)), inside: None };
                let parts = self.elements(id, by, index, at, &lengths, tile);
                all = Some(all.map_or(parts.clone(), |before| combined(by, &before, &parts)));
            }
            let results = all.unwrap_or_else(|| self.nothing(id, by, tile));
            return results[results.len() - 1].to(node.ty.element);
        }
        let first = self.nothing(id, by, tile);
        let results = self.inside(|writer| {
            kernel.for_range([number(0), number(count), number(1)], &first, |step, before| {
                let at = At { at: kernel.full(&[1, 1], step), inside: None };
                let parts = writer.elements(id, by, index, at, &lengths, tile);
                combined(by, before, &parts)
            })
        });
        results[results.len() - 1].to(node.ty.element)
    }

    /// What combined elements begin with.
    fn nothing(&self, id: NodeId, by: Reduction, tile: [u64; 2]) -> Vec<Block<'k>> {
        let element = self.graph.ty(self.graph.nodes[id].operands[0]).element;
        let start = neutral(by, combined_as(by, element))(self);
        let mut all = vec![self.kernel.full(&tile, start)];
        if matches!(by, Reduction::ArgMax | Reduction::ArgMin) {
            all.push(self.kernel.full(&tile, self.kernel.constant(Scalar::I32, i32::MAX)));
        }
        all
    }

    /// The elements that a reduction combines at some columns.
    fn parts(
        &mut self,
        id: NodeId,
        by: Reduction,
        index: &Index<'k>,
        column: At<'k>,
        lengths: &[u64],
        height: u64,
    ) -> Vec<Block<'k>> {
        self.elements(id, by, index, column, lengths, [height, column.at.lengths()[1]])
    }

    /// The elements that a reduction combines, of these numbers among those of a result, and the numbers where it asks for them; what is not there is neutral.
    fn elements(
        &mut self,
        id: NodeId,
        by: Reduction,
        index: &Index<'k>,
        column: At<'k>,
        lengths: &[u64],
        shape: [u64; 2],
    ) -> Vec<Block<'k>> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        let rank = graph.shape(node.operands[0]).rank();
        let along = self.unravelled(column, lengths);
        let axes = reduced_axes(node, by);
        let mut kept = index.iter().copied();
        let mut inner = vec![];
        for axis in 0..rank as u64 {
            inner.push(match axes.iter().position(|a| *a == axis) {
                Some(i) => along[i],
                None => kept.next().unwrap_or(self.zero()),
            });
        }
        let value = self.value(node.operands[0], &inner).broadcast_to(&shape);
        let value = value.to(combined_as(by, value.element()));
        let start = neutral(by, value.element())(self);
        let value = match column.inside {
            Some(inside) => inside.select(value, self.kernel.full(&[1, 1], start)),
            None => value,
        };
        match by {
            Reduction::ArgMax | Reduction::ArgMin => {
                let last = self.kernel.full(&[1, 1], self.kernel.constant(Scalar::I32, i32::MAX));
                let numbers = column.inside.map_or(column.at, |inside| inside.select(column.at, last));
                vec![value, numbers.broadcast_to(&shape)]
            }
            Reduction::Sum | Reduction::Prod | Reduction::Max | Reduction::Min | Reduction::Any | Reduction::All => {
                vec![value]
            }
        }
    }

    /// One column of many.
    fn folded(&mut self, by: Reduction, parts: &[Block<'k>], element: Scalar) -> Block<'k> {
        let height = parts[0].lengths()[0];
        let results = self.kernel.reduce(1, parts, |a, b| combined(by, a, b));
        let result = results[results.len() - 1];
        result.reshape(&[height, 1]).to(element)
    }

    /// Sums of all columns up to each one: what is masked off stands behind all that is not.
    pub fn scanned(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let node = &self.graph.nodes[id];
        let height = index.iter().map(|at| at.at.lengths()[0]).max().unwrap_or(1);
        let width = index[node.axis()].at.lengths()[1];
        let value = self.value(node.operands[0], index).broadcast_to(&[height, width]);
        let sums = self.kernel.scan(1, false, &[value], |a, b| combined(Reduction::Sum, a, b));
        sums[0]
    }

    /// The depth of a product.
    pub fn depth(&self, id: NodeId) -> Option<u64> {
        let node = &self.graph.nodes[id];
        let is_product = matches!(node.op.row().meaning, Meaning::Matmul);
        is_product.then(|| self.graph.shape(node.operands[0]).length(node.ty.shape.rank() - 1))
    }

    /// A product of matrices at an index whose last two positions are the tile's rows and columns.
    pub fn product(&mut self, id: NodeId, index: &Index<'k>) -> Block<'k> {
        let graph = self.graph;
        let node = &graph.nodes[id];
        let (rank, kernel) = (node.ty.shape.rank(), self.kernel);
        let depth = graph.shape(node.operands[0]).length(rank - 1);
        let sum = if node.ty.element == Scalar::F64 { Scalar::F64 } else { Scalar::F32 };
        let [height, width, deep] = self.product;
        let number = |n: u64| kernel.constant(Scalar::I32, n as i32);
        let first = kernel.zeros(&[height, width], sum);
        let results = self.inside(|writer| {
            kernel.for_range([number(0), number(depth), number(deep)], &[first], |from, before| {
                let step = kernel.iota(deep) + from;
                let (across, down) = (step.reshape(&[1, deep]), step.reshape(&[deep, 1]));
                let inside = |at: Block<'k>| (!depth.is_multiple_of(deep)).then(|| at.lt(depth as i32));
                let across = At { at: across, inside: inside(across) };
                let down = At { at: down, inside: inside(down) };
                let (mut a, mut b) = (index.clone(), index.clone());
                (a[rank - 1], b[rank - 2]) = (across, down);
                let left = writer.factor(node.operands[0], &a, across, [height, deep]);
                let right = writer.factor(node.operands[1], &b, down, [deep, width]);
                vec![left.dot(right, Some(before[0]), Product { sum, precision: None })]
            })
        });
        results[0].to(node.ty.element)
    }

    /// A factor of a product at an index. One whose rows lie in memory as columns do is loaded as it lies, and transposed then.
    fn factor(&mut self, id: NodeId, index: &Index<'k>, step: At<'k>, shape: [u64; 2]) -> Block<'k> {
        let rank = index.len();
        if !self.is_beside(id, rank - 2) || self.is_beside(id, rank - 1) {
            return self.masked(id, index, step, shape);
        }
        let mut turned = index.clone();
        for at in &mut turned[rank - 2..] {
            *at = exchanged(*at);
        }
        self.masked(id, &turned, exchanged(step), [shape[1], shape[0]]).transpose()
    }
    /// The elements of a node, zeros behind the last step.
    fn masked(&mut self, id: NodeId, index: &Index<'k>, step: At<'k>, shape: [u64; 2]) -> Block<'k> {
        let value = self.value(id, index).broadcast_to(&shape);
        let zero = self.number(value.element(), Number::Int(0));
        step.inside.map_or(value, |inside| inside.select(value, zero))
    }

    /// Whether neighbours along an axis of a node lie beside each other in the memory that it is computed from.
    fn is_beside(&self, id: NodeId, axis: usize) -> bool {
        let node = &self.graph.nodes[id];
        let shape = &node.ty.shape;
        if shape.length(axis) == 1 {
            return false;
        }
        if !self.group.members.contains(&id) {
            return (axis + 1..shape.rank()).all(|after| shape.length(after) == 1);
        }
        let Some(operand) = node.operands.first() else { return false };
        match node.op.row().meaning {
            Meaning::View(View::Permute) => self.is_beside(*operand, node.list(AttrKind::Axes)[axis] as usize),
            Meaning::View(View::Reshape) => {
                let from = self.graph.shape(*operand).lengths();
                let groups = axis_groups(&from, &shape.lengths());
                // The last axis of some that are joined or divided lies as the last one of those that they are made of.
                let last = |axes: &Range<usize>, lengths: &[u64]| axes.clone().rev().find(|axis| lengths[*axis] != 1);
                let own = groups.iter().find(|(_, new)| last(new, &shape.lengths()) == Some(axis));
                own.and_then(|(old, _)| last(old, &from)).is_some_and(|axis| self.is_beside(*operand, axis))
            }
            Meaning::View(View::Broadcast | View::Slice | View::Pad) | Meaning::Convert | Meaning::Pointwise(_) => {
                self.is_beside(*operand, axis)
            }
            Meaning::View(View::Flip | View::Skew | View::Unskew)
            | Meaning::Input
            | Meaning::Full
            | Meaning::Iota
            | Meaning::Reduce(_)
            | Meaning::Concat
            | Meaning::Gather
            | Meaning::Scan
            | Meaning::Merge(_)
            | Meaning::AddAt
            | Meaning::Matmul
            | Meaning::Compound(_) => false,
        }
    }
}

/// Positions along rows as positions along columns, and the other way.
fn exchanged<'k>(at: At<'k>) -> At<'k> {
    let turned = |block: Block<'k>| block.reshape(&[block.lengths()[1], block.lengths()[0]]);
    At { at: turned(at.at), inside: at.inside.map(turned) }
}

/// How many rows and columns an index has.
fn extent(index: &Index<'_>) -> [u64; 2] {
    [0, 1].map(|side| index.iter().map(|at| at.at.lengths()[side]).max().unwrap_or(1))
}

/// The type in which elements are combined: sums and products of short floats are those of `f32`, and rounded once.
const fn combined_as(by: Reduction, element: Scalar) -> Scalar {
    match (by, element) {
        (Reduction::Sum | Reduction::Prod, Scalar::F16 | Scalar::Bf16) => Scalar::F32,
        (
            Reduction::Sum
            | Reduction::Prod
            | Reduction::Max
            | Reduction::Min
            | Reduction::ArgMax
            | Reduction::ArgMin
            | Reduction::Any
            | Reduction::All,
            element,
        ) => element,
    }
}

/// An operation of the IR on elements, by the rules of tensors: the greater or lesser of NaN and another number is NaN.
pub fn elementwise<'k>(op: Op, operands: &[Block<'k>]) -> Block<'k> {
    let is_float = operands[0].element().is_float();
    if is_float && op == Op::Max {
        return extreme(Op::Gt, operands[0], operands[1]);
    }
    if is_float && op == Op::Min {
        return extreme(Op::Lt, operands[0], operands[1]);
    }
    Block::apply(op, operands)
}
/// The first where it is better or NaN, else the second, which may be NaN.
fn extreme<'k>(better: Op, a: Block<'k>, b: Block<'k>) -> Block<'k> {
    (Block::apply(better, &[a, b]) | is_nan(a)).select(a, b)
}
pub fn is_nan(x: Block<'_>) -> Block<'_> {
    Block::apply(Op::Ne, &[x, x])
}

/// What changes nothing when it is combined.
fn neutral<'k>(by: Reduction, element: Scalar) -> impl Fn(&Writer<'k>) -> Block<'k> {
    let infinity = element.is_float();
    let bits = element.bits();
    move |writer| {
        let int = |n: i128| writer.kernel.constant(element, girih_ir::kernel::Literal::Int(n));
        let float = |x: f64| writer.kernel.constant(element, x);
        let truth = |holds: bool| writer.kernel.constant(element, holds);
        let (least, most) = match element.is_signed() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        match by {
            Reduction::Any => truth(false),
            Reduction::All => truth(true),
            Reduction::Sum => int(0),
            Reduction::Prod => int(1),
            Reduction::Max | Reduction::ArgMax if infinity => float(f64::NEG_INFINITY),
            Reduction::Max | Reduction::ArgMax => int(least),
            Reduction::Min | Reduction::ArgMin if infinity => float(f64::INFINITY),
            Reduction::Min | Reduction::ArgMin => int(most),
        }
    }
}

/// Two become one.
fn combined<'k>(by: Reduction, a: &[Block<'k>], b: &[Block<'k>]) -> Vec<Block<'k>> {
    let best = |better: Op| {
        let wins = Block::apply(better, &[a[0], b[0]]);
        let tied = Block::apply(Op::Eq, &[a[0], b[0]]);
        // NaN is better than all numbers.
        let (wins, tied) = match a[0].element().is_float() {
            true => {
                let nans = [is_nan(a[0]), is_nan(b[0])];
                (wins | (nans[0] & !nans[1]), tied | (nans[0] & nans[1]))
            }
            false => (wins, tied),
        };
        let first = wins | (tied & a[1].lt(b[1]));
        vec![first.select(a[0], b[0]), first.select(a[1], b[1])]
    };
    let one = |op: Op| vec![elementwise(op, &[a[0], b[0]])];
    match by {
        Reduction::Sum => one(Op::Add),
        Reduction::Prod => one(Op::Mul),
        Reduction::Max => one(Op::Max),
        Reduction::Min => one(Op::Min),
        Reduction::Any => one(Op::Or),
        Reduction::All => one(Op::And),
        Reduction::ArgMax => best(Op::Gt),
        Reduction::ArgMin => best(Op::Lt),
    }
}
