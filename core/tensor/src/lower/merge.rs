//! Two sorted halves of a row merged: each element finds by binary search how many of the first half are before it (Odeh, Green, Mwassi, Shmueli and Birk, Merge path, 2012).
//!
//! Invariant: every position that is looked at is one of the operand's, whatever a row that is masked off holds, so no access needs a mask.

use super::combine::is_nan;
use super::value::{Index, Writer};
use crate::graph::NodeId;
use crate::ops::Order;
use girih_ir::kernel::{Block, Buffer, Mask};
use girih_ir::{Op, Scalar};

/// The two halves of the rows in which a tile's elements are.
struct Halves<'k> {
    memory: Buffer<'k>,
    order: Order,
    /// Where the row begins.
    start: Block<'k>,
    /// How long a half is.
    length: i32,
}

impl<'k> Halves<'k> {
    /// Whether an element of the first half is before one of the second, or equal.
    fn first_wins(&self, first: Block<'k>, second: Block<'k>) -> Block<'k> {
        let x = self.memory.load(self.start + first, Mask::ALL);
        let y = self.memory.load(self.start + self.length + second, Mask::ALL);
        let loses = match self.order {
            Order::Up => comes_before(Op::Lt, y, x, is_nan(x)),
            Order::Down => comes_before(Op::Gt, y, x, is_nan(y)),
        };
        !loses
    }
}

/// Whether y is strictly before x; what is no number, as is said of the greater one, is greater than all numbers.
fn comes_before<'k>(better: Op, y: Block<'k>, x: Block<'k>, greater_is_nan: Block<'k>) -> Block<'k> {
    let before = Block::apply(better, &[y, x]);
    if !x.element().is_float() {
        return before;
    }
    before | (greater_is_nan & (is_nan(x) ^ is_nan(y)))
}

fn least<'k>(x: Block<'k>, bound: i32) -> Block<'k> {
    x.lt(bound).select(x, x.constant(bound))
}
fn not_negative(x: Block<'_>) -> Block<'_> {
    x.ge(0).select(x, x.constant(0))
}

impl<'k> Writer<'k> {
    /// Where the elements of merged rows are.
    pub fn merged(&mut self, id: NodeId, order: Order, index: &Index<'k>) -> Block<'k> {
        let (graph, kernel) = (self.graph, self.kernel);
        let node = &graph.nodes[id];
        let (lengths, kept) = (graph.shape(node.operands[0]).lengths(), node.ty.shape.length(index.len() - 1));
        let [before @ .., row] = &lengths[..] else { return self.zero().at };
        let length = (row / 2) as i32;
        let rows: u64 = before.iter().product();
        let outer = self.ravelled(&index[..before.len()], before).at;
        let start = least(outer, rows as i32 - 1) * (*row as i32);
        let at = least(index[before.len()].at, kept as i32 - 1);
        // In another shape elements lie in the same order.
        let mut stored = node.operands[0];
        while self.group.members.contains(&stored) {
            stored = graph.nodes[stored].operands[0];
        }
        let halves = Halves { memory: self.reads[&stored], order, start, length };
        let most = least(at, length);
        let reach = (row / 2).min(kept - 1);
        let bits = reach.checked_ilog2().map_or(0, |log| log as i32 + 1);
        let number = |n: i32| kernel.constant(Scalar::I32, n);
        let first = not_negative(at - length);
        let shape: Vec<u64> = first.lengths().iter().zip(start.lengths()).map(|(a, b)| *a.max(&b)).collect();
        let taken =
            kernel.for_range([number(0), number(bits), number(1)], &[first.broadcast_to(&shape)], |i, taken| {
                let step = number(1) << (number(bits - 1) - i);
                let more = taken[0] + step;
                let wins = halves.first_wins(least(more, length) - 1, not_negative(at - more));
                let fits = more.le(most);
                vec![(fits & wins).select(more, taken[0])]
            })[0];
        let second = at - taken;
        let wins = halves.first_wins(least(taken, length - 1), least(second, length - 1));
        let is_first = taken.lt(length) & (wins | second.ge(length));
        is_first.select(taken, second + length)
    }
}
