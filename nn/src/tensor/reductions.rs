//! What elements along axes become. Axes are counted from 0, the slowest first, or backwards from -1.

use super::Tensor;
use crate::error;
use girih_ir::Scalar;
use girih_tensor::{Attr, AttrKind, Made, Number, Op};

macro_rules! reductions {
    ($($name:ident $op:ident $doc:literal;)*) => {
        /// What elements along axes become; these axes are gone.
        impl Tensor {
            $(#[doc = $doc]
            #[track_caller]
            pub fn $name(&self, axes: impl AsRef<[i64]>) -> Tensor {
                self.along(Op::$op, axes.as_ref())
            })*
        }
    };
}
reductions! {
    sum Sum "Sum. Truth values and integers are summed as `i64`.";
    prod Prod "Product. Truth values and integers are multiplied as `i64`.";
    max Amax "The greatest; NaN if one is.";
    min Amin "The least; NaN if one is.";
    mean Mean "The mean.";
    var Var "The mean of squared distances from the mean.";
    logsumexp LogSumExp "log(sum(exp(x))), without overflow.";
    any Any "Whether some truth value is true.";
    all All "Whether all truth values are true.";
}

/// What changes with all elements along axes, in the same shape.
impl Tensor {
    /// exp(x) / sum(exp(x)) along an axis.
    #[track_caller]
    pub fn softmax(&self, axis: i64) -> Tensor {
        self.along(Op::Softmax, &[axis])
    }
    /// The logarithm of `softmax`.
    #[track_caller]
    pub fn log_softmax(&self, axis: i64) -> Tensor {
        self.along(Op::LogSoftmax, &[axis])
    }
    /// Sums of all elements up to this one along the axis. Truth values and integers are summed as `i64`.
    #[track_caller]
    pub fn cumsum(&self, axis: i64) -> Tensor {
        self.along(Op::CumSum, &[axis])
    }
    /// (x - mean) / sqrt(var + epsilon) along axes.
    #[track_caller]
    pub fn normalise(&self, axes: impl AsRef<[i64]>, epsilon: f64) -> Tensor {
        let axes = self.axes(axes.as_ref());
        self.apply(&[], |g, x| {
            let attrs = vec![Attr::List(AttrKind::Axes, axes?), Attr::Number(AttrKind::Value, Number::Float(epsilon))];
            g.push(Op::Normalise, x, attrs)
        })
    }
}

/// Where elements along an axis are.
impl Tensor {
    /// Where the first greatest, or the first NaN, is along the axis, an `i64`.
    #[track_caller]
    pub fn argmax(&self, axis: i64) -> Tensor {
        self.along(Op::ArgMax, &[axis])
    }
    /// Where the first least, or the first NaN, is along the axis, an `i64`.
    #[track_caller]
    pub fn argmin(&self, axis: i64) -> Tensor {
        self.along(Op::ArgMin, &[axis])
    }
    /// The sum of all elements.
    #[track_caller]
    pub fn sum_all(&self) -> Tensor {
        self.sum((0..self.rank() as i64).collect::<Vec<_>>())
    }
    /// The square root of the mean of squared distances from the mean.
    #[track_caller]
    pub fn std(&self, axes: impl AsRef<[i64]>) -> Tensor {
        self.var(axes).sqrt()
    }
    /// The square root of the sum of all squares.
    #[track_caller]
    pub fn norm(&self) -> Tensor {
        self.square().sum_all().sqrt()
    }
    /// The mean of all elements.
    #[track_caller]
    pub fn mean_all(&self) -> Tensor {
        self.mean((0..self.rank() as i64).collect::<Vec<_>>())
    }

    #[track_caller]
    fn along(&self, op: Op, axes: &[i64]) -> Tensor {
        let axes = self.axes(axes);
        let is_sum = matches!(op, Op::Sum | Op::Prod | Op::CumSum);
        let is_short = !self.dtype().is_float() && self.dtype().bits() < 64;
        self.apply(&[], |g, x| {
            // As in PyTorch: few integers of 8 bits have a sum of 8 bits.
            let x = if is_sum && is_short { g.convert(x[0], Scalar::I64)? } else { x[0] };
            g.along(op, x, &axes?)
        })
    }
    /// An axis counted from 0.
    pub(crate) fn axis(&self, axis: i64) -> Made<u64> {
        let rank = self.rank() as i64;
        let counted = if axis < 0 { axis + rank } else { axis };
        if (0..rank).contains(&counted) {
            return Ok(counted as u64);
        }
        Err(error::shape(format!("{} has no axis {axis}: it has {rank} dimensions", self.0.ty)))
    }
    pub(crate) fn axes(&self, axes: &[i64]) -> Made<Vec<u64>> {
        axes.iter().map(|axis| self.axis(*axis)).collect()
    }
}
