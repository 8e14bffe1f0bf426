//! Pointers: a buffer and an index into it, never anything else. Two pointers of different buffers do not meet.

use super::value::Dtype;
use girih_ir::{Scalar, Shape, ValueId};

/// A pointer, or a tile of pointers into one buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pointer {
    /// The buffer: a parameter of the function that is being written.
    pub buffer: ValueId,
    /// What it points at.
    pub pointee: Scalar,
    /// How many elements from the beginning: `i32` or `i64`, in the pointer's shape. None is the beginning itself.
    pub index: Option<ValueId>,
    /// The shape of a tile of pointers.
    pub shape: Option<Shape>,
}

impl Pointer {
    pub(super) fn dtype(&self) -> Dtype {
        Dtype { scalar: self.pointee, pointer: true, shape: self.shape }
    }
}

/// A pointer to a block of a matrix, or a descriptor of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockPointer {
    /// The matrix.
    pub base: Pointer,
    /// Lengths of the matrix, `i64`.
    pub lengths: Vec<ValueId>,
    /// Elements between neighbours, `i64`.
    pub strides: Vec<ValueId>,
    /// Where the block begins, `i32`; nothing for a descriptor, which is told at each access.
    pub offsets: Vec<ValueId>,
    /// Lengths of the block.
    pub block: Vec<u64>,
}
