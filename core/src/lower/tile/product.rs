//! How a matrix product is made, and in which layouts its factors and sums lie.

use super::assign::{LayoutId, Plan};
use super::layout::{Layout, bits_of, dimensions};
use crate::ir::{Caps, Function, Inst, Shape};

/// A matrix product.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// The layout in which the left factor is taken.
    pub left: LayoutId,
    /// The layout in which the right factor is taken.
    pub right: LayoutId,
    /// The layout of the sums.
    pub sums: LayoutId,
    /// What multiplies.
    pub by: Unit,
}

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Each invocation, a rectangle of sums in its registers.
    Registers,
}

/// How a product is made on a device.
pub(super) fn choose(f: &Function, inst: &Inst, plan: &mut Plan, _caps: &Caps) -> Product {
    let shape = |i: usize| f.ty(inst.operands[i]).shape();
    let usual = |plan: &mut Plan, shape: Option<Shape>| {
        let order: Vec<usize> = (0..shape.map_or(0, Shape::rank)).rev().collect();
        let width = bits_of(shape).saturating_sub(plan.threads).min(2);
        let layout = Layout::blocked(shape, &order, width, plan.threads);
        plan.id(layout)
    };
    let (left, right) = (usual(plan, shape(0)), usual(plan, shape(1)));
    let sums = rectangles(shape(2), plan.threads);
    let sums = plan.id(sums);
    Product { left, right, sums, by: Unit::Registers }
}

/// Each invocation has a rectangle as square as can be: up to four columns beside each other, then rows and columns further away.
fn rectangles(shape: Option<Shape>, threads: u8) -> Layout {
    let dimensions = dimensions(shape);
    let columns = dimensions.last().map_or(0, |d| d.1);
    let rows = bits_of(shape) - columns;
    let share = bits_of(shape).saturating_sub(threads);
    let beside = share.div_ceil(2).min(columns);
    let near = beside.min(2);
    // Invocations along a row, and down the columns.
    let along = (columns - beside).min(threads).max(threads.saturating_sub(rows).min(columns - near));
    let down = (threads - along).min(rows);
    let mut parts: Vec<u8> = (0..near).collect();
    let mut held: Vec<u8> = (near..near + along).collect();
    held.extend(columns..columns + down);
    parts.extend(near + along..columns);
    parts.extend(columns + down..columns + rows);
    held.resize(threads.into(), super::layout::FREE);
    Layout { parts, threads: held, product: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_cover_all_sums() {
        for (lengths, threads) in [(&[32, 32][..], 7), (&[128, 64], 8), (&[2, 2], 5), (&[16, 256], 7), (&[4, 16, 16], 5), (&[1, 8], 5)] {
            let layout = rectangles(Shape::of(lengths), threads);
            let mut bits: Vec<u8> = layout.parts.iter().chain(&layout.threads).copied().filter(|b| *b != u8::MAX).collect();
            bits.sort_unstable();
            assert_eq!(bits, (0..bits_of(Shape::of(lengths))).collect::<Vec<u8>>(), "{lengths:?}");
            assert_eq!(layout.threads.len(), usize::from(threads));
        }
    }
}
