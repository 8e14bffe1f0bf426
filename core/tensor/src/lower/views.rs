//! Indices of views: where elements of a view are in its operand.

use super::value::{At, Index, Writer};
use crate::attrs::AttrKind;
use crate::graph::Node;
use crate::ops::View;
use crate::schedule::axis_groups;
use girih_ir::kernel::Block;

impl<'k> Writer<'k> {
    /// The operand's index, and where a view has elements of its operand; everywhere if that is not said.
    pub fn viewed(&mut self, node: &Node, view: View, index: &Index<'k>) -> (Index<'k>, Option<Block<'k>>) {
        let from = self.graph.shape(node.operands[0]).clone();
        // A number beyond all positions only stands where an axis has one element, whose position is 0.
        let number = |kind| i32::try_from(node.list(kind).first().copied().unwrap_or(1)).unwrap_or(i32::MAX);
        let mut moved = index.clone();
        let mut there: Option<Block<'k>> = None;
        match view {
            View::Broadcast => {
                for (axis, at) in moved.iter_mut().enumerate().filter(|(axis, _)| from.length(*axis) == 1) {
                    if node.ty.shape.length(axis) != 1 {
                        *at = self.zero();
                    }
                }
            }
            View::Reshape => moved = self.reshaped(&from.lengths(), &node.ty.shape.lengths(), index),
            View::Permute => {
                node.list(AttrKind::Axes).iter().zip(index).for_each(|(axis, at)| moved[*axis as usize] = *at);
            }
            View::Slice => {
                let (start, step) = (node.list(AttrKind::Start), node.list(AttrKind::Step));
                for (axis, at) in moved.iter_mut().enumerate() {
                    let scaled = if step[axis] == 1 { at.at } else { at.at * (step[axis] as i32) };
                    at.at = if start[axis] == 0 { scaled } else { scaled + (start[axis] as i32) };
                }
            }
            View::Pad => {
                let (low, high) = (node.list(AttrKind::Low), node.list(AttrKind::High));
                for (axis, at) in moved.iter_mut().enumerate().filter(|(axis, _)| low[*axis] + high[*axis] > 0) {
                    let shifted = at.at - (low[axis] as i32);
                    let here = shifted.ge(0) & shifted.lt(from.length(axis) as i32);
                    *at = At { at: shifted, inside: Some(both(at.inside, here)) };
                    there = Some(both(there, here));
                }
            }
            View::Flip => {
                for axis in node.list(AttrKind::Axes) {
                    let at = &mut moved[*axis as usize];
                    at.at = at.at * -1 + (from.length(*axis as usize) as i32 - 1);
                }
            }
            View::Skew => {
                let (axis, row) = (node.axis(), index[index.len() - 1]);
                let at = index[axis].at * number(AttrKind::Stride) + row.at * number(AttrKind::Dilation);
                moved[axis] = At {
                    at,
                    inside: row.inside.map_or(index[axis].inside, |here| Some(both(index[axis].inside, here))),
                };
            }
            View::Unskew => {
                let (axis, row) = (node.axis(), index[index.len() - 1]);
                let (stride, length) = (number(AttrKind::Stride), from.length(node.axis()) as i32);
                let along = index[axis].at - row.at * number(AttrKind::Dilation);
                let at = along / stride;
                let here = along.ge(0) & (along % stride).eq(0) & at.lt(length);
                let masked = row.inside.map_or(index[axis].inside, |here| Some(both(index[axis].inside, here)));
                moved[axis] = At { at, inside: Some(both(masked, here)) };
                there = Some(here);
            }
        }
        (moved, there)
    }

    fn reshaped(&mut self, from: &[u64], to: &[u64], index: &Index<'k>) -> Index<'k> {
        let mut moved = vec![];
        for (old, new) in axis_groups(from, to) {
            let (from, to, index) = (&from[old], &to[new.clone()], &index[new]);
            match factors(from, to).filter(|_| self.of_one(index, to).is_none()) {
                Some(factors) => moved.extend(self.regrouped(from, to, &factors, index)),
                None => {
                    let one = self.ravelled(index, to);
                    moved.extend(self.unravelled(one, from));
                }
            }
        }
        moved
    }

    /// Positions along axes of factors, of which the lengths of both shapes are products. So each quotient is one of a position along a single axis: of a row or of a column,
    /// not of an element.
    fn regrouped(&mut self, from: &[u64], to: &[u64], factors: &[u64], index: &[At<'k>]) -> Index<'k> {
        let mut digits = vec![];
        for (at, own) in index.iter().zip(runs(factors, to)) {
            match factors[own.clone()].len() {
                0 => {}
                1 => digits.push(*at),
                _more => digits.extend(self.unravelled(*at, &factors[own])),
            }
        }
        let mut moved = vec![];
        for own in runs(factors, from) {
            moved.push(match digits[own.clone()] {
                [] => self.zero(),
                [one] => one,
                ref more => self.ravelled(more, &factors[own]),
            });
        }
        moved
    }
}

/// Lengths of which those of both shapes are products, each the product of neighbours; none if there are none, or if one shape has a single axis.
fn factors(from: &[u64], to: &[u64]) -> Option<Vec<u64>> {
    let is_single = |lengths: &[u64]| lengths.iter().filter(|length| **length != 1).count() < 2;
    if is_single(from) || is_single(to) || from.contains(&0) {
        return None;
    }
    let products =
        |lengths: &[u64]| -> Vec<u64> { (0..lengths.len()).map(|axis| lengths[axis..].iter().product()).collect() };
    let mut ends = [vec![1], products(from), products(to)].concat();
    ends.sort_unstable();
    ends.dedup();
    let steps: Option<Vec<u64>> =
        ends.windows(2).rev().map(|pair| pair[1].is_multiple_of(pair[0]).then(|| pair[1] / pair[0])).collect();
    steps
}
/// Which factors each length is the product of.
fn runs(factors: &[u64], lengths: &[u64]) -> Vec<std::ops::Range<usize>> {
    let mut next = 0;
    let run = |length: &u64| {
        let (first, mut product) = (next, 1);
        while product < *length {
            product *= factors[next];
            next += 1;
        }
        first..next
    };
    lengths.iter().map(run).collect()
}

fn both<'k>(a: Option<Block<'k>>, b: Block<'k>) -> Block<'k> {
    a.map_or(b, |a| a & b)
}
