//! Sizes, shapes and the types of tensors.
//!
//! A [`Size`] hides what it is: today a number, so that symbolic sizes can come without changing what uses shapes.

use girih_ir::{Scalar, ScalarSet};
use std::fmt;

/// How long a dimension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    /// A size that is known.
    pub const fn known(length: u64) -> Size {
        Size(length)
    }
    /// The number.
    pub const fn length(self) -> u64 {
        self.0
    }
}

/// The lengths of a tensor's dimensions, the slowest first. A single number has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(Vec<Size>);

impl Shape {
    /// The shape of known lengths.
    pub fn of(lengths: &[u64]) -> Shape {
        Shape(lengths.iter().map(|length| Size::known(*length)).collect())
    }
    /// How many dimensions there are.
    pub fn rank(&self) -> usize {
        self.0.len()
    }
    /// The lengths.
    pub fn lengths(&self) -> Vec<u64> {
        self.0.iter().map(|size| size.length()).collect()
    }
    /// The length of a dimension; 1 where there is none.
    pub fn length(&self, axis: usize) -> u64 {
        self.0.get(axis).map_or(1, |size| size.length())
    }
    /// How many elements there are; the greatest number where they cannot be counted, which no tensor's shape is.
    pub fn elements(&self) -> u64 {
        self.0.iter().map(|size| size.length()).fold(1, u64::saturating_mul)
    }
    /// How many elements lie between two neighbours of each dimension, if they lie in order.
    pub fn strides(&self) -> Vec<u64> {
        let lengths = self.lengths();
        (0..lengths.len()).map(|axis| lengths[axis + 1..].iter().product()).collect()
    }
    /// The shape without these axes.
    pub fn without(&self, axes: &[u64]) -> Shape {
        let kept = self.0.iter().enumerate().filter(|(axis, _)| !axes.contains(&(*axis as u64)));
        Shape(kept.map(|(_, size)| *size).collect())
    }
    /// The shape with length 1 at these axes.
    pub fn ones_at(&self, axes: &[u64]) -> Shape {
        let one = |axis: usize, size: Size| if axes.contains(&(axis as u64)) { Size::known(1) } else { size };
        Shape(self.0.iter().enumerate().map(|(axis, size)| one(axis, *size)).collect())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<String> = self.lengths().iter().map(u64::to_string).collect();
        write!(f, "[{}]", lengths.join(", "))
    }
}

/// The type of a tensor: what its elements are, and its shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Type of an element.
    pub element: Scalar,
    /// The shape.
    pub shape: Shape,
}

impl TensorType {
    /// What elements may be.
    pub const ELEMENTS: ScalarSet = ScalarSet::NUMBERS.or(ScalarSet::BOOL);

    /// The type of an element and known lengths.
    pub fn of(element: Scalar, lengths: &[u64]) -> TensorType {
        TensorType { element, shape: Shape::of(lengths) }
    }
    /// The same shape of other elements.
    pub fn with_element(&self, element: Scalar) -> TensorType {
        TensorType { element, shape: self.shape.clone() }
    }
    /// The same elements in another shape.
    pub fn with_shape(&self, shape: Shape) -> TensorType {
        TensorType { element: self.element, shape }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.element, self.shape)
    }
}
