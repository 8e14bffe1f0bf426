//! Elements moved and chosen. A view costs no memory: the kernel that uses it reads its operand in other places.

use super::Tensor;
use crate::error;
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Number, Op, Shape};

impl Tensor {
    /// The same elements in order in another shape.
    #[track_caller]
    pub fn reshape(&self, shape: impl AsRef<[u64]>) -> Tensor {
        self.apply(&[], |g, x| g.reshape(x[0], &Shape::of(shape.as_ref())))
    }
    /// All dimensions from this one on as one.
    #[track_caller]
    pub fn flatten(&self, from: u64) -> Tensor {
        let shape = self.shape();
        let (kept, rest) = shape.split_at((from as usize).min(shape.len()));
        self.reshape([kept, &[Shape::of(rest).elements()]].concat())
    }
    /// A new dimension of length 1 before this one; `-1` adds it behind all.
    #[track_caller]
    pub fn unsqueeze(&self, axis: i64) -> Tensor {
        let rank = self.rank() as i64;
        let at = if axis < 0 { axis + rank + 1 } else { axis };
        if !(0..=rank).contains(&at) {
            let why = format!("{} gets no axis {axis}: it has {rank} dimensions", self.0.ty);
            return self.apply(&[], |_, _| Err(error::shape(why)));
        }
        let mut shape = self.shape();
        shape.insert(at as usize, 1);
        self.reshape(shape)
    }
    /// Without a dimension, whose length is 1.
    #[track_caller]
    pub fn squeeze(&self, axis: i64) -> Tensor {
        let gone = self.axis(axis);
        self.apply(&[], |g, x| {
            let axis = gone?;
            if g.shape(x[0]).length(axis as usize) != 1 {
                return Err(error::shape(format!("{} keeps axis {axis}: its length is not 1", g.ty(x[0]))));
            }
            let shape = g.shape(x[0]).without(&[axis]);
            g.reshape(x[0], &shape)
        })
    }
    /// Parts along an axis, each so long; the last one may be shorter. No part of length 0.
    #[track_caller]
    pub fn split(&self, axis: i64, length: u64) -> Vec<Tensor> {
        let all = self.axis(axis).map_or(0, |axis| self.0.ty.shape.length(axis as usize));
        let starts = (0..all).step_by(usize::try_from(length.max(1)).unwrap_or(usize::MAX));
        starts.map(|start| self.narrow(axis, start, start.saturating_add(length.max(1)).min(all))).collect()
    }
    /// Repeated to a shape: dimensions are added on the left, and those of length 1 repeated.
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl AsRef<[u64]>) -> Tensor {
        self.apply(&[], |g, x| g.broadcast_to(x[0], &Shape::of(shape.as_ref())))
    }
    /// Dimension i of the result is this one's dimension axes(i).
    #[track_caller]
    pub fn permute(&self, axes: impl AsRef<[i64]>) -> Tensor {
        let axes = self.axes(axes.as_ref());
        self.apply(&[], |g, x| g.permute(x[0], &axes?))
    }
    /// Two dimensions exchanged.
    #[track_caller]
    pub fn transpose(&self, a: i64, b: i64) -> Tensor {
        let both = self.axes(&[a, b]);
        self.apply(&[], |g, x| {
            let both = both?;
            let mut axes: Vec<u64> = (0..g.shape(x[0]).rank() as u64).collect();
            axes.swap(both[0] as usize, both[1] as usize);
            g.permute(x[0], &axes)
        })
    }
    /// Positions of one axis from a first up to before another.
    #[track_caller]
    pub fn narrow(&self, axis: i64, start: u64, end: u64) -> Tensor {
        let axis = self.axis(axis);
        self.apply(&[], |g, x| {
            let axis = axis? as usize;
            let (mut low, mut high) = (vec![0; g.shape(x[0]).rank()], g.shape(x[0]).lengths());
            (low[axis], high[axis]) = (start, end);
            g.slice(x[0], &low, &high)
        })
    }
    /// Along each dimension, positions from `start` up to before `end`, `step` apart.
    #[track_caller]
    pub fn slice(&self, start: impl AsRef<[u64]>, end: impl AsRef<[u64]>, step: impl AsRef<[u64]>) -> Tensor {
        self.apply(&[], |g, x| g.strided(x[0], start.as_ref(), end.as_ref(), step.as_ref()))
    }
    /// More elements before and after each dimension, all one number, which has no fraction among integers.
    #[track_caller]
    pub fn pad(&self, low: impl AsRef<[u64]>, high: impl AsRef<[u64]>, value: f64) -> Tensor {
        self.apply(&[], |g, x| g.pad(x[0], low.as_ref(), high.as_ref(), Number::Float(value)))
    }
    /// Backwards along axes.
    #[track_caller]
    pub fn flip(&self, axes: impl AsRef<[i64]>) -> Tensor {
        let axes = self.axes(axes.as_ref());
        self.apply(&[], |g, x| g.along(Op::Flip, x[0], &axes?))
    }
    /// The slices along an axis at the positions that a tensor of one dimension holds. One beyond the end is 0.
    #[track_caller]
    pub fn index_select(&self, axis: i64, positions: &Tensor) -> Tensor {
        let axis = self.axis(axis);
        self.apply(&[positions], |g, x| g.at_axis(Op::IndexSelect, x, axis? as usize))
    }
    /// Along the axis, the elements at positions; the other dimensions are equal. One beyond the end is 0.
    #[track_caller]
    pub fn gather(&self, axis: i64, positions: &Tensor) -> Tensor {
        let axis = self.axis(axis);
        self.apply(&[positions], |g, x| g.at_axis(Op::Gather, x, axis? as usize))
    }
}

impl Tensor {
    /// This tensor, with each element of another added along the axis at the position that `positions` holds. Positions beyond the end add nothing.
    #[track_caller]
    pub fn scatter_add(&self, axis: i64, positions: &Tensor, added: &Tensor) -> Tensor {
        let axis = self.axis(axis);
        self.apply(&[positions, added], |g, x| g.at_axis(Op::ScatterAdd, x, axis? as usize))
    }
    /// A number where truth values are true, else this tensor's elements.
    #[track_caller]
    pub fn masked_fill(&self, mask: &Tensor, number: f64) -> Tensor {
        mask.select(number, self)
    }
    /// Of integers: a new last dimension with 1 at the place that the integer says, else 0, as floats of 32 bits.
    #[track_caller]
    pub fn one_hot(&self, classes: u64) -> Tensor {
        self.unsqueeze(-1).eq(self.device().arange(classes, Scalar::I64)).to(Scalar::F32)
    }
    /// The lower triangle of the last two dimensions, the diagonal included; zeros above.
    #[track_caller]
    pub fn tril(&self) -> Tensor {
        if self.rank() < 2 {
            let why = format!("`tril` of {} needs rows and columns", self.0.ty);
            return self.apply(&[], |_, _| Err(error::shape(why)));
        }
        let length = |back: usize| self.shape().iter().rev().nth(back).copied().unwrap_or(1);
        let [columns, rows] = [0, 1].map(|back| self.device().arange(length(back), Scalar::I32));
        columns.unsqueeze(0).le(rows.unsqueeze(1)).select(self, 0)
    }
}

/// Tensors of one shape beside each other along a new axis; none of no tensors.
#[track_caller]
pub fn stack(tensors: &[&Tensor], axis: i64) -> Option<Tensor> {
    let wide: Vec<Tensor> = tensors.iter().map(|tensor| tensor.unsqueeze(axis)).collect();
    let axis = if axis < 0 { axis + wide.first()?.rank() as i64 } else { axis };
    concat(&wide.iter().collect::<Vec<_>>(), axis)
}

/// One tensor after the other along an axis; none of no tensors.
#[track_caller]
pub fn concat(tensors: &[&Tensor], axis: i64) -> Option<Tensor> {
    let (first, rest) = tensors.split_first()?;
    let axis = first.axis(axis);
    Some(first.apply(rest, |g, x| {
        let attrs = vec![Attr::List(AttrKind::Axis, vec![axis?])];
        g.push(Op::Concat, x, attrs)
    }))
}
