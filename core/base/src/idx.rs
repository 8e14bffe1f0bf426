//! Typed indices: a `DefId` cannot be used where a `LocalId` is meant.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A 32-bit index type made by [`index_type!`](crate::index_type).
pub trait Idx: Copy + Eq {
    /// From a position.
    fn from_usize(i: usize) -> Self;
    /// The position.
    fn index(self) -> usize;
}

/// Declares a 32-bit index type.
#[macro_export]
macro_rules! index_type {
    ($(#[$meta:meta])* pub struct $name:ident;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The index at a position.
            #[allow(dead_code)] // Not every index type needs it in constants.
            #[inline]
            pub const fn new(i: u32) -> Self {
                Self(i)
            }
            /// The position.
            #[allow(dead_code)] // Not every index type needs it in constants.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::idx::Idx for $name {
            #[inline]
            fn from_usize(i: usize) -> Self {
                Self(u32::try_from(i).expect("an index fits 32 bits: sources are smaller than 4 GiB"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

/// A vector that is indexed by an index type.
#[derive(Clone, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    items: Vec<T>,
    index: PhantomData<fn(I)>,
}

impl<I: Idx, T> IndexVec<I, T> {
    /// An empty vector.
    pub fn new() -> Self {
        Self { items: Vec::new(), index: PhantomData }
    }
    /// Appends an item and returns its index.
    #[inline]
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_usize(self.items.len());
        self.items.push(item);
        id
    }
    /// Makes room for so many more items.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }
    /// The index that the next [`push`](Self::push) will return.
    #[inline]
    pub fn next_id(&self) -> I {
        I::from_usize(self.items.len())
    }
    /// How many items there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The item at an index, if there is one.
    #[inline]
    pub fn get(&self, i: I) -> Option<&T> {
        self.items.get(i.index())
    }
    /// All indices, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_usize)
    }
    /// All items with their indices, in order.
    pub fn iter_enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (I::from_usize(i), t))
    }
    /// All items, in order.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// All items, in order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
}

impl<I, T> IntoIterator for IndexVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<I: Idx, T> Default for IndexVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Idx, T> Index<I> for IndexVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, i: I) -> &T {
        &self.items[i.index()]
    }
}

impl<I: Idx, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, i: I) -> &mut T {
        &mut self.items[i.index()]
    }
}

impl<I: Idx, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self { items: items.into_iter().collect(), index: PhantomData }
    }
}

impl<I, T: std::fmt::Debug> std::fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.items.fmt(f)
    }
}
