//! Where the elements of a tile lie: which invocation of the workgroup holds which of them, and as which of its registers.
//!
//! The lengths of a tile are powers of two, so the number of an element is bits: those of its last coordinate, the lowest, and so on. A layout
//! names, for each bit of a register's number and of an invocation's number, the corresponding bit of the element's number. Blocked layouts,
//! slices of others (the results of reductions) and the sums of matrix products all have this form. A reshaped tile has the layout of the original
//! tile, and a transposed one has the same layout with bits renamed.
//!
//! Invariant: each bit of the element's number appears exactly once. A bit of the invocation's number may correspond to none: then
//! the invocations that differ in it hold the same elements. Fragments are the exception: a register is a whole fragment, whose bits appear nowhere.

use girih_ir::Shape;

/// Stands for no bit of the element's number.
pub const FREE: u8 = u8::MAX;

/// What a layout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What accesses want, and all that comes of it.
    Blocked,
    /// Sums of matrix products, which others follow.
    Sums,
    /// The elements of fragments in registers: others follow it, and what has it is stored from there.
    Shown,
    /// Fragments: a register is one of the subgroup's, and only the device knows where its elements are.
    Fragments(FragmentDepth),
}

/// The depth, as a logarithm, of the products whose sums fragments are: the device knows them by that, too.
pub type FragmentDepth = u8;

/// A layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// For each bit of a register's number, the element's bit.
    pub registers: Vec<u8>,
    /// For each bit of an invocation's number, the element's bit, or [`FREE`].
    pub threads: Vec<u8>,
    /// What it is for.
    pub kind: Kind,
}

/// Bits of a shape: for each dimension the first bit of its coordinate, and how many there are.
pub(super) fn dimensions(shape: Option<Shape>) -> Vec<(u8, u8)> {
    let lengths: Vec<u64> = shape.map_or(vec![], Shape::to_vec);
    let mut next = 0;
    let mut out: Vec<(u8, u8)> = vec![];
    for length in lengths.iter().rev() {
        let bits = length.trailing_zeros() as u8;
        out.push((next, bits));
        next += bits;
    }
    out.reverse();
    out
}

/// Bits of the number of an element.
pub(super) fn bits_of(shape: Option<Shape>) -> u8 {
    shape.map_or(0, |s| s.elements().trailing_zeros() as u8)
}

impl Layout {
    /// Elements in an order of dimensions, the fastest first: `vector` bits for the registers, then the invocations, then registers again.
    pub fn blocked(shape: Option<Shape>, order: &[usize], vector: u8, threads: u8) -> Layout {
        let dimensions = dimensions(shape);
        let mut bits = order.iter().flat_map(|d| {
            let (first, count) = dimensions[*d];
            first..first + count
        });
        let mut registers: Vec<u8> = bits.by_ref().take(vector.into()).collect();
        let mut held: Vec<u8> = bits.by_ref().take(threads.into()).collect();
        registers.extend(bits);
        held.resize(threads.into(), FREE);
        Layout { registers, threads: held, kind: Kind::Blocked }
    }

    /// How many registers an invocation holds.
    pub fn count(&self) -> usize {
        1 << self.registers.len()
    }

    /// The bits of an element's number that a register's number says.
    pub fn element(&self, register: usize) -> u32 {
        let bit = |(i, to): (usize, &u8)| ((register >> i & 1) as u32) << to;
        self.registers.iter().enumerate().map(bit).sum()
    }

    /// The bits of an invocation's number that say nothing.
    pub fn free(&self) -> u32 {
        self.threads.iter().enumerate().filter(|(_, to)| **to == FREE).map(|(i, _)| 1 << i).sum()
    }

    /// The layout of a tile whose bits are other ones: `to` says what becomes of a bit, none if it is not there.
    pub fn renamed(&self, to: &dyn Fn(u8) -> Option<u8>) -> Layout {
        let thread = |bit: &u8| if *bit == FREE { FREE } else { to(*bit).unwrap_or(FREE) };
        Layout {
            registers: self.registers.iter().filter_map(|bit| to(*bit)).collect(),
            threads: self.threads.iter().map(thread).collect(),
            kind: self.kind,
        }
    }

    /// The register of the renamed layout that holds what stands for a register of this one.
    pub fn renamed_part(&self, register: usize, to: &dyn Fn(u8) -> Option<u8>) -> usize {
        let kept = self.registers.iter().enumerate().filter(|(_, bit)| to(**bit).is_some());
        kept.enumerate().map(|(new, (old, _))| (register >> old & 1) << new).sum()
    }

    /// How many of the lowest bits from `first` on are those of registers: elements that follow each other in one invocation.
    pub fn run(&self, first: u8) -> u8 {
        (0..).take_while(|i| self.registers.contains(&(first + i))).last().map_or(0, |i| i + 1)
    }

    /// The register's bit that is this bit of the element.
    pub fn part_bit(&self, bit: u8) -> Option<usize> {
        self.registers.iter().position(|b| *b == bit)
    }
}

/// What becomes of the bits of a reduced tile: those of the axis go.
pub fn without_axis(shape: Option<Shape>, axis: usize) -> impl Fn(u8) -> Option<u8> {
    let (first, count) = dimensions(shape).get(axis).copied().unwrap_or((0, 0));
    move |bit| match bit {
        below if below < first => Some(below),
        above if above >= first + count => Some(above - count),
        _of_the_axis => None,
    }
}

/// From bits of a broadcast tile to those of what is repeated.
pub fn before_broadcast(from: Option<Shape>, to: Option<Shape>) -> impl Fn(u8) -> Option<u8> {
    let pairs: Vec<((u8, u8), (u8, u8))> = dimensions(from).into_iter().zip(dimensions(to)).collect();
    move |bit| {
        let (old, new) = pairs.iter().find(|(_, new)| bit >= new.0 && bit < new.0 + new.1)?;
        (old.1 == new.1).then(|| old.0 + bit - new.0)
    }
}

/// From bits of a tile with permuted dimensions to those of the tile before (or the other way round).
pub fn permuted(shape: Option<Shape>, axes: &[u32], back: bool) -> impl Fn(u8) -> Option<u8> + use<> {
    // `shape` is that of the result.
    let new = dimensions(shape);
    let mut old = vec![(0, 0); new.len()];
    axes.iter().zip(&new).for_each(|(axis, d)| old[*axis as usize] = *d);
    let mut next = 0;
    for d in old.iter_mut().rev() {
        d.0 = next;
        next += d.1;
    }
    let pairs: Vec<((u8, u8), (u8, u8))> = axes
        .iter()
        .zip(&new)
        .map(|(axis, new)| if back { (*new, old[*axis as usize]) } else { (old[*axis as usize], *new) })
        .collect();
    move |bit| {
        let (from, to) = pairs.iter().find(|(from, _)| bit >= from.0 && bit < from.0 + from.1)?;
        Some(to.0 + bit - from.0)
    }
}
