//! Trees from a tape of choices: the property test makes and shrinks the tape, and a shorter tape gives a smaller tree.
//!
//! When the tape is at its end every choice is the first, and the first choice is always a leaf.

use super::kinds::{Counts, Kind};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_bend::ast::{Ident, Node};

/// Makes trees.
pub struct Maker<'t> {
    tape: &'t [u32],
    /// How often each form was made.
    pub counts: Counts,
    names: u32,
}

impl<'t> Maker<'t> {
    /// Reads choices from `tape`.
    pub fn new(tape: &'t [u32], counts: Counts) -> Maker<'t> {
        Maker { tape, counts, names: 0 }
    }

    /// A choice among `options`, from 0.
    pub fn choose(&mut self, options: usize) -> usize {
        let Some((first, rest)) = self.tape.split_first() else { return 0 };
        self.tape = rest;
        *first as usize % options
    }

    /// Yes or no.
    pub fn flip(&mut self) -> bool {
        self.choose(2) == 1
    }

    /// One of the options.
    pub fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.choose(options.len())].clone()
    }

    /// From `least` to `most` things.
    pub fn several<T>(&mut self, least: usize, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.choose(most - least + 1);
        (0..count).map(|_| make(self)).collect()
    }

    /// A thing or none.
    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flip() { Some(make(self)) } else { None }
    }

    /// Counts a form.
    pub fn counted<K: Kind>(&mut self, kind: K) -> K {
        *self.counts.entry(kind.form()).or_default() += 1;
        kind
    }

    /// Counts a form and makes a node of it.
    pub fn node<K: Kind>(&mut self, kind: K) -> Node<K> {
        Node::new(self.counted(kind), Span::NONE)
    }

    /// One of the names.
    pub fn ident(&mut self, names: &[&str]) -> Ident {
        Node::new(Name::new(self.pick(names)), Span::NONE)
    }

    /// A name that no other definition has.
    pub fn fresh(&mut self, stem: &str) -> Ident {
        self.names += 1;
        Node::new(Name::new(format!("{stem}{}", self.names)), Span::NONE)
    }
}
