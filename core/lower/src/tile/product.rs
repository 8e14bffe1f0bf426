//! How a matrix product is made, and in which layouts its factors and sums lie.

use super::assign_layouts::{Assignment, LayoutId};
use super::layout::{FREE, Kind, Layout, bits_of, dimensions};
use girih_ir::attrs::Precision;
use girih_ir::caps::CoopProduct;
use girih_ir::types::MatrixShape;
use girih_ir::{Caps, Feature, Function, Inst, Scalar, Shape};

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
    /// Each invocation, a rectangle of sums in its registers, from shared memory one number at a time.
    Registers,
    /// The same from shared memory that may be filled ahead, several numbers at a time.
    Rectangles(Rectangles),
    /// The matrix unit, for warpgroups of 128 invocations, from shared memory.
    Warpgroups(Warpgroups),
    /// The matrix unit, for subgroups, by fragments of which only the device knows how they lie in registers.
    Fragments(Fragments),
}

impl Unit {
    /// How the factors stand in shared memory.
    pub fn stored(self) -> Option<[Stored; 2]> {
        match self {
            Unit::Registers => None,
            Unit::Rectangles(by) => Some([by.left, by.right]),
            Unit::Warpgroups(by) => Some([by.left, by.right]),
            Unit::Fragments(by) => Some([by.left, by.right]),
        }
    }
}

/// How the factors of rectangles of sums stand in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rectangles {
    /// The left one.
    pub left: Stored,
    /// The right one.
    pub right: Stored,
}

/// How subgroups share a product of fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragments {
    /// How the left factor stands in shared memory.
    pub left: Stored,
    /// How the right factor does.
    pub right: Stored,
    /// The rows and columns of a fragment, as a logarithm.
    pub side: u8,
    /// The depth of a product of two, as a logarithm.
    pub depth: u8,
    /// How exactly factors are taken.
    pub precision: Precision,
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

/// How a factor stands in shared memory for the matrix unit. For warpgroups: panels of at most 64 elements (128 bytes) of its fastest dimension, one
/// row after another, with chunks of eight elements exchanged by their row. For fragments: rows, with a gap after each that distributes them over the banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Bits of the fastest dimension: where they begin in an element's number, and how many there are.
    pub fast: (u8, u8),
    /// Bits of the other one.
    pub slow: (u8, u8),
    /// Whether the fastest dimension is the depth of the product.
    pub by_depth: bool,
    /// Elements between two rows; 0 where they stand in panels.
    pub gap: u32,
}

impl Stored {
    /// Bits of a panel's row.
    pub fn width(self) -> u8 {
        if self.gap > 0 { self.fast.1 } else { self.fast.1.min(6) }
    }

    /// From one row to the next.
    pub fn stride(self) -> u32 {
        (1 << self.width()) + self.gap
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

    /// A slice of the factor: a part of the depth, as a logarithm less.
    pub fn slice(self, bits: u8) -> Stored {
        let mut slice = self;
        let depth = if self.by_depth { &mut slice.fast } else { &mut slice.slow };
        depth.1 -= bits;
        slice
    }

    /// Whether a bit of an element's number says where in the factor it is.
    pub fn has(self, bit: u8) -> bool {
        [self.fast, self.slow].iter().any(|(first, count)| (*first..first + count).contains(&bit))
    }

    /// The bits of the depth.
    pub fn depth(self) -> (u8, u8) {
        if self.by_depth { self.fast } else { self.slow }
    }

    /// The exchange of chunks, for the bits of an address.
    pub fn swizzled(self, address: u32) -> u32 {
        address ^ (address >> 6 & self.chunks()) << 3
    }

    /// A mask for the chunks of a row.
    pub fn chunks(self) -> u32 {
        ((1u32 << self.width()) / 8).saturating_sub(1)
    }

    /// The gaps before the row that an address without them is in.
    pub fn gaps(self, address: u32) -> u32 {
        (address >> self.fast.1) * self.gap
    }

    /// Elements of the whole factor.
    pub fn elements(self) -> u64 {
        (1 << (self.fast.1 + self.slow.1)) + (u64::from(self.gap) << self.slow.1)
    }
}

/// How a product is made on a device.
pub(super) fn choose(
    f: &Function,
    inst: &Inst,
    plan: &mut Assignment,
    caps: &Caps,
    factors: [Option<LayoutId>; 2],
) -> Product {
    let shape = |i: usize| f.ty(inst.operands[i]).shape();
    let usual = |plan: &mut Assignment, shape: Option<Shape>| {
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
    if let Some((by, sums, shown)) = by_fragments(f, inst, plan, caps, [left, right]) {
        let (sums, shown) = (plan.id(sums), plan.id(shown));
        plan.shown.insert(sums, shown);
        return Product { left, right, sums, by: Unit::Fragments(by) };
    }
    let sums = rectangles(shape(2), plan.threads);
    let sums = plan.id(sums);
    let by = by_rectangles(f, inst, plan, caps, [left, right]).map_or(Unit::Registers, Unit::Rectangles);
    Product { left, right, sums, by }
}

/// Rectangles from shared memory that may be filled ahead: for matrices of one type, where code may be written out.
fn by_rectangles(
    f: &Function,
    inst: &Inst,
    plan: &Assignment,
    caps: &Caps,
    factors: [LayoutId; 2],
) -> Option<Rectangles> {
    let element = |i: usize| f.ty(inst.operands[i]).element();
    let sides = |i: usize| dimensions(f.ty(inst.operands[i]).shape());
    let (a, b) = (sides(0), sides(1));
    let factor = element(0).filter(|factor| Some(*factor) == element(1) && matches!(factor.bytes(), 2 | 4))?;
    let long = |(_, bits): &(u8, u8)| *bits >= 3;
    if caps.rolled || a.len() != 2 || !a.iter().chain(&b).all(long) {
        return None;
    }
    let gap = 16 / factor.bytes();
    let left = stored(&plan.layouts[factors[0]], &a, 1, gap);
    let right = stored(&plan.layouts[factors[1]], &b, 0, gap);
    Some(Rectangles { left, right })
}

/// Warpgroup products, where the device has them and the sides are large enough: how they are shared, and how sums lie.
fn by_warpgroups(
    f: &Function,
    inst: &Inst,
    plan: &Assignment,
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
    let left = stored(&plan.layouts[factors[0]], &a, 1, 0);
    let right = stored(&plan.layouts[factors[1]], &b, 0, 0);
    if left.width() < 4 || right.width() < 4 || left.slow.1 < 3 || right.slow.1 < 3 {
        return None;
    }
    let row = |bit: u8| columns + bit;
    let mut registers = vec![0, row(3)];
    registers.extend(3..own);
    registers.extend((6 + down..rows).map(row));
    let mut threads = vec![1, 2, row(0), row(1), row(2), row(4), row(5)];
    threads.extend((6..6 + down).map(row));
    threads.extend(own..columns);
    debug_assert!(!threads.contains(&FREE));
    let by = Warpgroups { along: (down, across), left, right };
    Some((by, Layout { registers, threads, kind: Kind::Sums }))
}

/// A factor in shared memory: the dimension that invocations hold neighbours of is the fastest there, too.
fn stored(layout: &Layout, sides: &[(u8, u8)], depth: usize, gap: u32) -> Stored {
    let first = layout.run(sides[0].0) > layout.run(sides[1].0);
    let (fast, slow) = if first { (0, 1) } else { (1, 0) };
    Stored { fast: sides[fast], slow: sides[slow], by_depth: fast == depth, gap }
}

/// Lanes of a subgroup, as a logarithm; none where they differ or are not known.
pub(super) fn lanes(caps: &Caps, threads: u32) -> u8 {
    let known = caps.has(Feature::Subgroups) && caps.subgroup.min == caps.subgroup.max;
    if known { caps.subgroup.min.min(threads).trailing_zeros() as u8 } else { 0 }
}

/// Products of fragments, where the device has them and there are enough for all subgroups: how they are shared, the layout of sums as fragments, and
/// that of their elements.
fn by_fragments(
    f: &Function,
    inst: &Inst,
    plan: &Assignment,
    caps: &Caps,
    factors: [LayoutId; 2],
) -> Option<(Fragments, Layout, Layout)> {
    let element = |i: usize| f.ty(inst.operands[i]).element();
    let sides = |i: usize| dimensions(f.ty(inst.operands[i]).shape());
    let (a, b, c) = (sides(0), sides(1), sides(2));
    let (factor, acc) = (element(0)?, element(2)?);
    if element(1) != Some(factor) || c.len() != 2 || acc.bits() < 32 {
        return None;
    }
    let lanes = lanes(caps, 1 << plan.threads);
    let (rows, columns, depth) = (c[0].1, c[1].1, a[1].1);
    // What is rounded less than allowed is allowed, too.
    let fits = |p: &&CoopProduct| {
        (p.factor, p.acc) == (factor, acc) && (p.precision == inst.precision() || p.precision == Precision::Ieee)
    };
    let shapes = [(4u8, 4u8), (4, 3), (3, 3)].into_iter().flat_map(|(side, deep)| {
        let (n, k) = (1u16 << side, 1u16 << deep);
        let there = caps.coop.iter().filter(fits).filter(move |p| p.shape == MatrixShape { m: n, n, k });
        there.map(move |p| (side, deep, p.precision))
    });
    // An invocation has a piece of a row.
    let room = |side: u8, deep: u8| side <= lanes && lanes <= 2 * side && rows.min(columns) >= side && depth >= deep;
    let (side, deep, precision) = shapes.into_iter().find(|(side, deep, _)| room(*side, *deep))?;
    // What subgroups have is as square as can be.
    let groups = plan.threads - lanes;
    let (spare_rows, spare_columns) = (rows - side, columns - side);
    if groups > spare_rows + spare_columns {
        return None;
    }
    let least = groups.saturating_sub(spare_columns);
    let own = |down: u8| (rows - down).abs_diff(columns + down - groups);
    let down = (least..=groups.min(spare_rows)).min_by_key(|down| own(*down))?;
    let across = groups - down;
    let gap = 16 / factor.bytes();
    let left = stored(&plan.layouts[factors[0]], &a, 1, gap);
    let right = stored(&plan.layouts[factors[1]], &b, 0, gap);
    let row = |bit: u8| columns + bit;
    let mut fragments: Vec<u8> = (side..columns - across).collect();
    fragments.extend((side..rows - down).map(row));
    let mut subgroups: Vec<u8> = (rows - down..rows).map(row).collect();
    subgroups.extend(columns - across..columns);
    // A lane's elements of a fragment are beside each other.
    let beside = 2 * side - lanes;
    let mut registers: Vec<u8> = (0..beside).collect();
    registers.extend(&fragments);
    let mut threads: Vec<u8> = (beside..side).collect();
    threads.extend((0..side).map(row));
    threads.extend(&subgroups);
    let shown = Layout { registers, threads, kind: Kind::Shown };
    let mut threads = vec![FREE; lanes.into()];
    threads.extend(&subgroups);
    let sums = Layout { registers: fragments, threads, kind: Kind::Fragments(deep) };
    Some((Fragments { left, right, side, depth: deep, precision }, sums, shown))
}

/// Each invocation has a rectangle as square as can be: up to four columns beside each other, then rows and columns further away.
pub fn rectangles(shape: Option<Shape>, threads: u8) -> Layout {
    let dimensions = dimensions(shape);
    let columns = dimensions.last().map_or(0, |d| d.1);
    let rows = bits_of(shape) - columns;
    let share = bits_of(shape).saturating_sub(threads);
    let beside = share.div_ceil(2).min(columns);
    let near = beside.min(2);
    // Invocations along a row, and down the columns.
    let along = (columns - beside).min(threads).max(threads.saturating_sub(rows).min(columns - near));
    let down = (threads - along).min(rows);
    let mut registers: Vec<u8> = (0..near).collect();
    let mut held: Vec<u8> = (near..near + along).collect();
    held.extend(columns..columns + down);
    registers.extend(near + along..columns);
    registers.extend(columns + down..columns + rows);
    held.resize(threads.into(), FREE);
    Layout { registers, threads: held, kind: Kind::Sums }
}
