//! Products of matrices, convolution and pooling.

use super::Tensor;
use crate::error;
use girih_tensor::{Attr, AttrKind, Op, Shape};

impl Tensor {
    /// The product of matrices in the last two dimensions; dimensions before are repeated as operators repeat them. A tensor of one dimension is a row on the left, and a
    /// column on the right.
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Tensor {
        self.apply(&[other], |g, x| {
            let (rows, columns) = (g.shape(x[0]).lengths(), g.shape(x[1]).lengths());
            let left = if let [length] = rows[..] { g.reshape(x[0], &Shape::of(&[1, length]))? } else { x[0] };
            let right = if let [length] = columns[..] { g.reshape(x[1], &Shape::of(&[length, 1]))? } else { x[1] };
            let product = g.product(left, right)?;
            let rank = g.shape(product).rank() as u64;
            let mut gone = vec![];
            gone.extend((rows.len() == 1).then_some(rank - 2));
            gone.extend((columns.len() == 1).then_some(rank - 1));
            let shape = g.shape(product).without(&gone);
            g.reshape(product, &shape)
        })
    }
    /// Convolution of [images, channels, height, width] with [channels out, channels in a group, height, width].
    #[track_caller]
    pub fn conv2d(
        &self,
        weights: &Tensor,
        stride: [u64; 2],
        padding: [u64; 2],
        dilation: [u64; 2],
        groups: u64,
    ) -> Tensor {
        let attrs = [
            (AttrKind::Stride, stride.to_vec()),
            (AttrKind::Padding, padding.to_vec()),
            (AttrKind::Dilation, dilation.to_vec()),
            (AttrKind::Groups, vec![groups]),
        ];
        self.apply(&[weights], |g, x| g.push(Op::Conv2d, x, attrs.map(|(kind, list)| Attr::List(kind, list)).to_vec()))
    }
    /// The greatest of each window of the last two of four dimensions.
    #[track_caller]
    pub fn max_pool2d(&self, window: [u64; 2], stride: [u64; 2], padding: [u64; 2]) -> Tensor {
        self.pool(Op::MaxPool2d, window, stride, padding)
    }
    /// The mean of each window of the last two of four dimensions; padding counts as zeros.
    #[track_caller]
    pub fn avg_pool2d(&self, window: [u64; 2], stride: [u64; 2], padding: [u64; 2]) -> Tensor {
        self.pool(Op::AvgPool2d, window, stride, padding)
    }
    #[track_caller]
    fn pool(&self, op: Op, window: [u64; 2], stride: [u64; 2], padding: [u64; 2]) -> Tensor {
        if padding[0] >= window[0] || padding[1] >= window[1] {
            let why = format!("`{}` has padding {padding:?}, which must be less than its window {window:?}", op.name());
            return self.apply(&[], |_, _| Err(error::shape(why)));
        }
        let attrs = [(AttrKind::Window, window), (AttrKind::Stride, stride), (AttrKind::Padding, padding)];
        self.apply(&[], |g, x| g.push(op, x, attrs.map(|(kind, list)| Attr::List(kind, list.to_vec())).to_vec()))
    }
}
