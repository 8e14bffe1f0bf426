//! How a matrix product is made, and in which layouts its factors and sums lie.

use super::assign::{LayoutId, Plan};
use super::layout::{FREE, Layout, bits_of, dimensions};
use crate::ir::{Caps, Feature, Function, Inst, Scalar, Shape};

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
    /// The matrix unit, for warpgroups of 128 invocations, from shared memory.
    Warpgroups(Warpgroups),
}

/// How warpgroups share a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Warpgroups {
    /// As logarithms: how many share the rows, and how many the columns.
    pub along: (u8, u8),
    /// How the left factor stands in shared memory.
    pub left: Stored,
    /// How the right factor does.
    pub right: Stored,
}

/// How a factor stands in shared memory for the matrix unit: panels of at most 64 elements (128 bytes) of its fastest dimension, one row after
/// another, with chunks of eight elements exchanged by their row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Bits of the fastest dimension: where they begin in an element's number, and how many there are.
    pub fast: (u8, u8),
    /// Bits of the other one.
    pub slow: (u8, u8),
    /// Whether the fastest dimension is the depth of the product.
    pub by_depth: bool,
}

impl Stored {
    /// Bits of a panel's row.
    pub fn width(self) -> u8 {
        self.fast.1.min(6)
    }

    /// The bit of the address, counted in elements, that a bit of an element's number becomes.
    pub fn place(self, bit: u8) -> u8 {
        let width = self.width();
        if bit >= self.slow.0 && bit < self.slow.0 + self.slow.1 {
            return width + bit - self.slow.0;
        }
        let along = bit - self.fast.0;
        if along < width { along } else { along + self.slow.1 }
    }

    /// The exchange of chunks, for the bits of an address.
    pub fn swizzled(self, address: u32) -> u32 {
        address ^ (address >> 6 & self.chunks()) << 3
    }

    /// A mask for the chunks of a row.
    pub fn chunks(self) -> u32 {
        ((1u32 << self.width()) / 8).saturating_sub(1)
    }

    /// Elements of the whole factor.
    pub fn elements(self) -> u64 {
        1 << (self.fast.1 + self.slow.1)
    }
}

/// How a product is made on a device.
pub(super) fn choose(
    f: &Function,
    inst: &Inst,
    plan: &mut Plan,
    caps: &Caps,
    factors: [Option<LayoutId>; 2],
) -> Product {
    let shape = |i: usize| f.ty(inst.operands[i]).shape();
    let usual = |plan: &mut Plan, shape: Option<Shape>| {
        let order: Vec<usize> = (0..shape.map_or(0, Shape::rank)).rev().collect();
        let width = bits_of(shape).saturating_sub(plan.threads).min(2);
        let layout = Layout::blocked(shape, &order, width, plan.threads);
        plan.id(layout)
    };
    let left = factors[0].unwrap_or_else(|| usual(plan, shape(0)));
    let right = factors[1].unwrap_or_else(|| usual(plan, shape(1)));
    if let Some((by, sums)) = by_warpgroups(f, inst, plan, caps, [left, right]) {
        let sums = plan.id(sums);
        return Product { left, right, sums, by: Unit::Warpgroups(by) };
    }
    let sums = rectangles(shape(2), plan.threads);
    let sums = plan.id(sums);
    Product { left, right, sums, by: Unit::Registers }
}

/// Warpgroup products, where the device has them and the sides are large enough: how they are shared, and how sums lie.
fn by_warpgroups(
    f: &Function,
    inst: &Inst,
    plan: &Plan,
    caps: &Caps,
    factors: [LayoutId; 2],
) -> Option<(Warpgroups, Layout)> {
    let element = |i: usize| f.ty(inst.operands[i]).element();
    let halves = matches!(element(0), Some(Scalar::F16 | Scalar::Bf16)) && element(0) == element(1);
    let sides = |i: usize| dimensions(f.ty(inst.operands[i]).shape());
    let (a, b, c) = (sides(0), sides(1), sides(2));
    if !caps.has(Feature::Wgmma) || !halves || element(2) != Some(Scalar::F32) || c.len() != 2 || plan.threads < 7 {
        return None;
    }
    let (rows, columns, depth) = (c[0].1, c[1].1, a[1].1);
    let groups = plan.threads - 7;
    if rows < 6 || depth < 4 {
        return None;
    }
    let down = groups.min(rows - 6);
    let across = groups - down;
    let own = columns.checked_sub(across)?;
    // A piece of the columns begins at a panel.
    if !(4..=8).contains(&own) || across > 0 && own < 6 {
        return None;
    }
    // The dimension that invocations hold neighbours of is the fastest in shared memory, too.
    let stored = |which: usize, sides: &[(u8, u8)], depth: usize| {
        let layout = &plan.layouts[factors[which]];
        let first = layout.run(sides[0].0) > layout.run(sides[1].0);
        let (fast, slow) = if first { (0, 1) } else { (1, 0) };
        Stored { fast: sides[fast], slow: sides[slow], by_depth: fast == depth }
    };
    let (left, right) = (stored(0, &a, 1), stored(1, &b, 0));
    if left.width() < 4 || right.width() < 4 || left.slow.1 < 3 || right.slow.1 < 3 {
        return None;
    }
    let row = |bit: u8| columns + bit;
    let mut parts = vec![0, row(3)];
    parts.extend(3..own);
    parts.extend((6 + down..rows).map(row));
    let mut threads = vec![1, 2, row(0), row(1), row(2), row(4), row(5)];
    threads.extend((6..6 + down).map(row));
    threads.extend(own..columns);
    debug_assert!(!threads.contains(&FREE));
    let by = Warpgroups { along: (down, across), left, right };
    Some((by, Layout { parts, threads, product: true }))
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
    held.resize(threads.into(), FREE);
    Layout { parts, threads: held, product: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_cover_all_sums() {
        for (lengths, threads) in
            [(&[32, 32][..], 7), (&[128, 64], 8), (&[2, 2], 5), (&[16, 256], 7), (&[4, 16, 16], 5), (&[1, 8], 5)]
        {
            let layout = rectangles(Shape::of(lengths), threads);
            let mut bits: Vec<u8> =
                layout.parts.iter().chain(&layout.threads).copied().filter(|b| *b != u8::MAX).collect();
            bits.sort_unstable();
            assert_eq!(bits, (0..bits_of(Shape::of(lengths))).collect::<Vec<u8>>(), "{lengths:?}");
            assert_eq!(layout.threads.len(), usize::from(threads));
        }
    }
}
