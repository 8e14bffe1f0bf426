//! What puts elements together: reductions, scans, products of matrices, elements at computed places; and functions of each element.

use super::{Block, Mask, TileKernel};
use crate::attrs::{Attr, Precision};
use crate::ops::Op;
use crate::types::{Scalar, Shape, Type};
use std::panic::Location;

/// How two matrices are multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// What products are summed in: `f32` or the factors' own type for floats, `i32` for integers of eight bits.
    pub sum: Scalar,
    /// How exactly factors of `f32` are multiplied; as `f32` if not said.
    pub precision: Option<Precision>,
}

impl<'k> Block<'k> {
    /// Elements put together along an axis by a function of two, in an order that is free: it is associative.
    #[track_caller]
    pub fn reduce(self, axis: usize, combine: impl FnOnce(Block<'k>, Block<'k>) -> Block<'k>) -> Block<'k> {
        first(self.kernel.reduce(axis, &[self], |a, b| vec![combine(a[0], b[0])]))
    }

    /// The sum along an axis.
    #[track_caller]
    pub fn sum(self, axis: usize) -> Block<'k> {
        let place = Location::caller();
        self.reduce(axis, |a, b| self.kernel.written_for(place, || a + b))
    }

    /// The greatest along an axis.
    #[track_caller]
    pub fn greatest(self, axis: usize) -> Block<'k> {
        let place = Location::caller();
        self.reduce(axis, |a, b| self.kernel.written_for(place, || a.max(b)))
    }

    /// The least along an axis.
    #[track_caller]
    pub fn least(self, axis: usize) -> Block<'k> {
        let place = Location::caller();
        self.reduce(axis, |a, b| self.kernel.written_for(place, || a.min(b)))
    }

    /// For each element, all up to it along an axis put together; from the end if `reverse`.
    #[track_caller]
    pub fn scan(
        self,
        axis: usize,
        reverse: bool,
        combine: impl FnOnce(Block<'k>, Block<'k>) -> Block<'k>,
    ) -> Block<'k> {
        first(self.kernel.scan(axis, reverse, &[self], |a, b| vec![combine(a[0], b[0])]))
    }

    /// `self` times `other`, plus `summand` (zeros if none): matrices, or as many matrices in a first dimension.
    #[track_caller]
    pub fn dot(self, other: Block<'k>, summand: Option<Block<'k>>, product: Product) -> Block<'k> {
        let other = self.kernel.own(other);
        let (mut lengths, right) = (self.lengths(), other.lengths());
        if lengths.len() != right.len() || !matches!(lengths.len(), 2 | 3) {
            let message = format!("a {} and a {} are no factors", self.describe(), other.describe());
            self.kernel.wrong(message, "both have two dimensions, or both have three");
            return self;
        }
        let last = lengths.len() - 1;
        if lengths[last] != right[last - 1] {
            let message = format!("a {} times a {} is no product", self.describe(), other.describe());
            self.kernel.wrong(message, "rows of the first are as long as columns of the second");
        }
        lengths[last] = right[last];
        let summand = match summand {
            Some(summand) => self.kernel.own(summand),
            None => self.kernel.zeros(&lengths, product.sum),
        };
        let ty = Type::tile(self.kernel.shape_of(&lengths), product.sum);
        let attrs: Vec<Attr> = product.precision.map(Attr::Precision).into_iter().collect();
        self.kernel.push(Op::TileDot, ty, &[self.value, other.value, summand.value], &attrs)
    }

    /// Elements from places along an axis that an index says for each.
    #[track_caller]
    pub fn gather(self, axis: usize, index: Block<'k>) -> Block<'k> {
        let index = self.kernel.own(index);
        let Some(shape) = index.shape() else {
            self.kernel.wrong(format!("a {} is no index into a tile", index.describe()), "it is a tile of integers");
            return self;
        };
        let attrs = [Attr::Axis(axis as u32)];
        self.kernel.push(Op::TileGather, Type::tile(shape, self.element()), &[self.value, index.value], &attrs)
    }

    /// How often each of the numbers 0, 1, .. stands in a tile of one dimension.
    #[track_caller]
    pub fn histogram(self, bins: u64, mask: impl Into<Mask<'k>>) -> Block<'k> {
        let ty = Type::tile(self.kernel.shape_of(&[bins]), Scalar::I32);
        let inside = mask.into().value(self.kernel);
        self.kernel.push(Op::TileHistogram, ty, &[self.value, inside], &[])
    }
}

impl TileKernel {
    /// A function of the elements of some tiles of one shape: it gets one of each, and gives one of each of its results.
    #[track_caller]
    pub fn map<'k>(
        &'k self,
        tiles: &[Block<'k>],
        function: impl FnOnce(&[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        self.by_element(Op::TileMap, &[], tiles, Some, function)
    }

    /// Elements of some tiles of one shape put together along an axis: the function gets one of each twice.
    #[track_caller]
    pub fn reduce<'k>(
        &'k self,
        axis: usize,
        tiles: &[Block<'k>],
        combine: impl FnOnce(&[Block<'k>], &[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let attrs = [Attr::Axis(axis as u32)];
        self.by_element(
            Op::TileReduce,
            &attrs,
            tiles,
            |shape| shape.without(axis),
            |p| {
                let (a, b) = p.split_at(p.len() / 2);
                combine(a, b)
            },
        )
    }

    /// The same for each element with all before it, or with all behind it if `reverse`.
    #[track_caller]
    pub fn scan<'k>(
        &'k self,
        axis: usize,
        reverse: bool,
        tiles: &[Block<'k>],
        combine: impl FnOnce(&[Block<'k>], &[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let mut attrs = vec![Attr::Axis(axis as u32)];
        attrs.extend(reverse.then_some(Attr::Reverse));
        self.by_element(Op::TileScan, &attrs, tiles, Some, |p| {
            let (a, b) = p.split_at(p.len() / 2);
            combine(a, b)
        })
    }

    #[track_caller]
    fn by_element<'k>(
        &'k self,
        op: Op,
        attrs: &[Attr],
        tiles: &[Block<'k>],
        gives: impl FnOnce(Shape) -> Option<Shape>,
        body: impl FnOnce(&[Block<'k>]) -> Vec<Block<'k>>,
    ) -> Vec<Block<'k>> {
        let tiles = &self.own_all(tiles)[..];
        let shape = tiles.first().and_then(|tile| tile.shape());
        let axis = attrs.iter().find_map(|attr| if let Attr::Axis(axis) = attr { Some(*axis as usize) } else { None });
        let Some(shape) = shape.filter(|s| axis.unwrap_or(0) < s.rank() && tiles.iter().all(|t| t.shape() == Some(*s)))
        else {
            let all: Vec<String> = tiles.iter().map(|tile| format!("`{}`", tile.ty())).collect();
            let hint = "they are tiles of one shape, which has the axis";
            self.wrong(format!("`{}` does not take {}", op.name(), all.join(", ")), hint);
            return tiles.to_vec();
        };
        let times = if op == Op::TileMap { 1 } else { 2 };
        let elements = tiles.iter().map(|tile| Type::Scalar(tile.element()));
        let params: Vec<Type> = elements.cycle().take(tiles.len() * times).collect();
        let (region, yields) = self.region(&params, body, Op::Yield);
        let left = gives(shape);
        let results: Vec<Type> = yields.iter().map(|value| Type::block(left, value.element())).collect();
        if let Some(tile) = yields.iter().find(|value| value.shape().is_some()) {
            self.wrong(format!("an element is a {}", tile.describe()), "the function works on scalars");
        }
        self.holding(op, attrs, tiles, &[region], &results)
    }
}

fn first(blocks: Vec<Block<'_>>) -> Block<'_> {
    blocks[0]
}
