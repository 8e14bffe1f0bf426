//! The type of a tile: a block of elements that a program computes with as one value.
//!
//! A tile has a shape, whose lengths are powers of two, and an element. How it lies in registers and lanes is not said here:
//! the meaning of a tile operation does not depend on it, and the lowering to threads decides it.

use super::types::Scalar;
use std::fmt;

/// Most dimensions of a tile.
pub const MAX_RANK: usize = 8;
/// Most elements of a tile.
pub const MAX_ELEMENTS: u64 = 1 << 20;
/// Stands where a shape has no dimension.
const NONE: u8 = u8::MAX;

/// Lengths of the dimensions, the slowest first. Each is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape([u8; MAX_RANK]);

impl Shape {
    /// The shape of these lengths; none if there are none or too many, if one is no power of two, or if there are too many elements.
    pub fn of(lengths: &[u64]) -> Option<Shape> {
        let mut logs = [NONE; MAX_RANK];
        if lengths.is_empty() || lengths.len() > MAX_RANK {
            return None;
        }
        let mut elements: u64 = 1;
        for (log, length) in logs.iter_mut().zip(lengths) {
            if !length.is_power_of_two() {
                return None;
            }
            elements = elements.checked_mul(*length).filter(|n| *n <= MAX_ELEMENTS)?;
            *log = length.trailing_zeros() as u8;
        }
        Some(Shape(logs))
    }
    /// How many dimensions there are.
    pub fn rank(self) -> usize {
        self.0.iter().take_while(|log| **log != NONE).count()
    }
    /// The lengths.
    pub fn lengths(self) -> impl Iterator<Item = u64> + Clone {
        self.0.into_iter().take_while(|log| *log != NONE).map(|log| 1 << log)
    }
    /// The lengths in a list.
    pub fn to_vec(self) -> Vec<u64> {
        self.lengths().collect()
    }
    /// The length of a dimension; 1 where there is none.
    pub fn length(self, dimension: usize) -> u64 {
        self.0.get(dimension).filter(|log| **log != NONE).map_or(1, |log| 1 << log)
    }
    /// How many elements there are.
    pub fn elements(self) -> u64 {
        self.lengths().product()
    }
    /// How many elements lie between two neighbours of each dimension, if they lie in order.
    pub fn strides(self) -> Vec<u64> {
        let lengths = self.to_vec();
        (0..lengths.len()).map(|i| lengths[i + 1..].iter().product()).collect()
    }
    /// The shape without a dimension; none if no dimension is left.
    pub fn without(self, dimension: usize) -> Option<Shape> {
        let mut lengths = self.to_vec();
        if dimension < lengths.len() {
            lengths.remove(dimension);
        }
        Shape::of(&lengths)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, length) in self.lengths().enumerate() {
            write!(f, "{}{length}", if i == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

/// A tile's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tile {
    /// What it holds.
    pub element: Scalar,
    /// How many of them, in which dimensions.
    pub shape: Shape,
}

impl Tile {
    /// The same shape of other elements.
    pub const fn with_element(self, element: Scalar) -> Tile {
        Tile { element, ..self }
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tile<{}x{}>", self.shape, self.element)
    }
}
