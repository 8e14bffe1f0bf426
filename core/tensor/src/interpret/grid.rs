//! The elements of a shape in order, and their positions.
//!
//! Invariant: nothing is allocated for an element: lengths and strides are known once for a shape.

use crate::infer::MOST_RANK;
use crate::size::Shape;
use std::ops::{Deref, DerefMut};

/// A position in each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    at: [u64; MOST_RANK],
    rank: usize,
}
impl Place {
    /// As many positions as there are.
    pub fn of(all: impl Iterator<Item = u64>) -> Place {
        let mut place = Place { at: [0; MOST_RANK], rank: 0 };
        for at in all.take(MOST_RANK) {
            place.at[place.rank] = at;
            place.rank += 1;
        }
        place
    }
}
impl Deref for Place {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.at[..self.rank]
    }
}
impl DerefMut for Place {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.at[..self.rank]
    }
}

/// A shape whose elements are counted through.
#[derive(Clone, Debug)]
pub struct Grid {
    pub lengths: Vec<u64>,
    pub strides: Vec<u64>,
}
impl Grid {
    pub fn of(shape: &Shape) -> Grid {
        Grid { lengths: shape.lengths(), strides: shape.strides() }
    }
    /// The position of an element in each dimension.
    pub fn places(&self, at: usize) -> Place {
        Place::of(self.strides.iter().zip(&self.lengths).map(|(stride, length)| at as u64 / stride % length))
    }
    /// The number of the element at these positions.
    pub fn offset(&self, places: &[u64]) -> usize {
        places.iter().zip(&self.strides).map(|(place, stride)| place * stride).sum::<u64>() as usize
    }
}
