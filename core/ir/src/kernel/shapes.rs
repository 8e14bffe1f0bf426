//! Shapes: how operands are brought to one, and the same elements in another.

use super::Block;
use crate::attrs::Attr;
use crate::ops::Op;
use crate::types::{Shape, Type};

impl<'k> Block<'k> {
    /// All of some blocks in the shape that they are broadcast to; none, with a mistake noted, if there is no such shape.
    #[track_caller]
    pub(super) fn together(blocks: &[Block<'k>]) -> Option<Vec<Block<'k>>> {
        let shapes: Vec<Vec<u64>> = blocks.iter().filter_map(|b| b.shape()).map(Shape::to_vec).collect();
        let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
        if rank == 0 {
            return Some(blocks.to_vec());
        }
        let mut lengths = vec![1; rank];
        for shape in &shapes {
            for (length, own) in lengths[rank - shape.len()..].iter_mut().zip(shape) {
                if *own != 1 && *length != 1 && own != length {
                    let all: Vec<String> = blocks.iter().map(|block| format!("`{}`", block.ty())).collect();
                    let hint = "two dimensions have one length, or one of them has length 1";
                    blocks[0].kernel.wrong(format!("{} have no common shape", all.join(" and ")), hint);
                    return None;
                }
                *length = (*length).max(*own);
            }
        }
        let shape = blocks[0].kernel.shape_of(&lengths);
        let mut together = vec![];
        for block in blocks {
            together.push(block.in_shape(shape));
        }
        Some(together)
    }

    /// A scalar, or a tile whose dimensions are the last ones, in a shape that it can be broadcast to.
    #[track_caller]
    pub(super) fn in_shape(self, shape: Shape) -> Block<'k> {
        let ty = Type::tile(shape, self.element());
        let Some(own) = self.shape() else { return self.kernel.push(Op::TileSplat, ty, &[self.value], &[]) };
        if own == shape {
            return self;
        }
        let mut lengths = vec![1; shape.rank().saturating_sub(own.rank())];
        lengths.extend(own.lengths());
        let aligned = self.reshaped(&lengths);
        if aligned.shape() == Some(shape) {
            return aligned;
        }
        self.kernel.push(Op::TileBroadcast, ty, &[aligned.value], &[])
    }

    /// The same elements, repeated along dimensions of length 1 and along new ones in front.
    #[track_caller]
    pub fn broadcast_to(self, lengths: &[u64]) -> Block<'k> {
        let shape = self.kernel.shape_of(lengths);
        let own = self.lengths();
        let fits = own.len() <= lengths.len()
            && own.iter().rev().zip(lengths.iter().rev()).all(|(own, length)| *own == 1 || own == length);
        if !fits {
            let hint = "each dimension is as long as the new one, or has length 1";
            self.kernel.wrong(format!("a {} is not broadcast to {lengths:?}", self.describe()), hint);
            return self.kernel.zeros(&shape.to_vec(), self.element());
        }
        self.in_shape(shape)
    }

    /// The same elements in order, in another shape.
    #[track_caller]
    pub fn reshape(self, lengths: &[u64]) -> Block<'k> {
        let shape = self.kernel.shape_of(lengths);
        if self.lengths().iter().product::<u64>() != shape.elements() {
            let hint = "both shapes have as many elements";
            self.kernel.wrong(format!("a {} does not become {lengths:?}", self.describe()), hint);
            return self.kernel.zeros(&shape.to_vec(), self.element());
        }
        self.reshaped(&shape.to_vec())
    }

    /// The same where there are as many elements.
    #[track_caller]
    fn reshaped(self, lengths: &[u64]) -> Block<'k> {
        match Shape::of(lengths) {
            Some(shape) if self.shape() != Some(shape) => {
                self.kernel.push(Op::TileReshape, Type::tile(shape, self.element()), &[self.value], &[])
            }
            Some(_) | None => self,
        }
    }

    /// The same with a new dimension of length 1 before this one.
    #[track_caller]
    pub fn expand(self, axis: usize) -> Block<'k> {
        let mut lengths = self.lengths();
        if axis > lengths.len() {
            self.kernel.wrong(format!("a {} has no place {axis} for a dimension", self.describe()), "count from 0");
            return self;
        }
        lengths.insert(axis, 1);
        self.kernel.shape_of(&lengths);
        self.reshaped(&lengths)
    }

    /// The same with its dimensions in another order: which one comes first, which second, ..
    #[track_caller]
    pub fn permute(self, axes: &[u32]) -> Block<'k> {
        let own = self.lengths();
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        let lengths: Vec<u64> = axes.iter().filter_map(|axis| own.get(*axis as usize).copied()).collect();
        match Shape::of(&lengths) {
            Some(shape) if sorted.iter().copied().eq(0..own.len() as u32) => {
                let ty = Type::tile(shape, self.element());
                self.kernel.push(Op::TilePermute, ty, &[self.value], &[Attr::Axes(axes.to_vec())])
            }
            Some(_) | None => {
                let hint = "name each of its dimensions once";
                self.kernel.wrong(format!("{axes:?} is no order of the dimensions of a {}", self.describe()), hint);
                self
            }
        }
    }

    /// The same with its last two dimensions exchanged.
    #[track_caller]
    pub fn transpose(self) -> Block<'k> {
        let mut axes: Vec<u32> = (0..self.lengths().len() as u32).collect();
        if let [.., a, b] = &mut axes[..] {
            std::mem::swap(a, b);
            return self.permute(&axes);
        }
        self.kernel.wrong(format!("a {} is no matrix", self.describe()), "it has two dimensions or more");
        self
    }

    /// Two blocks of one shape side by side, in a new last dimension of length 2.
    #[track_caller]
    pub fn join(self, other: Block<'k>) -> Block<'k> {
        let mut lengths = self.lengths();
        lengths.push(2);
        self.put_beside(other, Op::TileJoin, &lengths)
    }

    /// The two blocks that [`join`](Self::join) has put side by side.
    #[track_caller]
    pub fn split(self) -> [Block<'k>; 2] {
        if self.lengths().last() != Some(&2) {
            self.kernel.wrong(format!("a {} is not taken apart", self.describe()), "its last dimension has length 2");
            return [self; 2];
        }
        let [first, second] = self.kernel.with(|b| {
            let ty = b.ty(self.value);
            let id = b.op_with(Op::TileSplit, Some(ty), &[self.value], &[]);
            let results = &b.function.insts[id].results;
            [results[0], results[1]]
        });
        [self.kernel.block(first), self.kernel.block(second)]
    }

    /// Two tiles of one shape, one behind the other in the first dimension.
    #[track_caller]
    pub fn cat(self, other: Block<'k>) -> Block<'k> {
        let mut lengths = self.lengths();
        match lengths.first_mut() {
            Some(first) => *first *= 2,
            None => {
                self.kernel.wrong(format!("a {} has no first dimension", self.describe()), "use `join`");
                return self;
            }
        }
        self.put_beside(other, Op::TileCat, &lengths)
    }

    #[track_caller]
    fn put_beside(self, other: Block<'k>, op: Op, lengths: &[u64]) -> Block<'k> {
        let (shape, other) = (self.kernel.shape_of(lengths), self.kernel.own(other));
        if self.ty() != other.ty() {
            let message = format!("a {} and a {} are put together", self.describe(), other.describe());
            self.kernel.wrong(message, "both have one type");
            return self.kernel.zeros(&shape.to_vec(), self.element());
        }
        self.kernel.push(op, Type::tile(shape, self.element()), &[self.value, other.value], &[])
    }
}
