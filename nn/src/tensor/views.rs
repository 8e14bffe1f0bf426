//! Elements moved and chosen. A view costs no memory: the kernel that uses it reads its operand in other places.

use super::Tensor;
use crate::error;
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
        self.reshape([kept, &[rest.iter().product()]].concat())
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
    /// More elements before and after each dimension, all one number.
    #[track_caller]
    pub fn pad(&self, low: impl AsRef<[u64]>, high: impl AsRef<[u64]>, value: f64) -> Tensor {
        let value = if self.dtype().is_float() { Number::Float(value) } else { Number::Int(value as i128) };
        self.apply(&[], |g, x| g.pad(x[0], low.as_ref(), high.as_ref(), value))
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
