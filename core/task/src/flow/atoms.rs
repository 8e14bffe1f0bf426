//! The abstract values that sets are made of, numbered, and the cells among them.

use std::collections::HashMap;

use super::shape::What;
use super::solve::Node;
use super::{Instance, Numbers};
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::num::NumKind;
use girih_term::{CtorId, DefId, TypeId};

index_type! {
    /// A place that makes cells.
    pub struct CellId;
}

/// An abstract value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    Number(NumKind),
    Era,
    /// Says that the host may have given the value; never alone.
    External,
    Unit(CtorId),
    Cell(CellId),
    /// A definition with parameters, as a value.
    Function(Instance),
    /// A definition without parameters, not computed yet.
    Thunk(DefId),
    Maker(CtorId),
    Selector(TypeId),
}

/// The number of an [`Atom`]. The number kinds come first, in their order, then `*`.
pub(super) type AtomId = u32;

pub(super) const ERA: AtomId = NumKind::ALL.len() as AtomId;

/// A place that makes cells.
pub(super) struct Cell {
    pub(super) what: What,
    pub(super) fields: Vec<Node>,
    /// Whether the host sees it, or makes it.
    pub(super) external: bool,
    /// Another place of the same shape; itself for the one that stands for the shape.
    same: CellId,
}

/// All abstract values.
pub(super) struct Atoms {
    list: Vec<Atom>,
    ids: HashMap<Atom, AtomId>,
    pub(super) cells: IndexVec<CellId, Cell>,
}

impl Atoms {
    pub(super) fn new() -> Atoms {
        let mut atoms = Atoms { list: vec![], ids: HashMap::new(), cells: IndexVec::new() };
        let first = NumKind::ALL.into_iter().map(Atom::Number).chain([Atom::Era, Atom::External]);
        first.for_each(|atom| {
            atoms.id(atom);
        });
        atoms
    }

    pub(super) fn id(&mut self, atom: Atom) -> AtomId {
        match atom {
            Atom::Number(kind) if !self.list.is_empty() && kind as AtomId != self.list.len() as AtomId => {
                return kind as AtomId;
            }
            _ => {}
        }
        let next = self.list.len() as AtomId;
        let id = *self.ids.entry(atom).or_insert(next);
        if id == next {
            self.list.push(atom);
        }
        id
    }

    pub(super) fn atom(&self, id: AtomId) -> Atom {
        self.list[id as usize]
    }

    /// A new place that makes cells.
    pub(super) fn cell(&mut self, what: What, fields: Vec<Node>, external: bool) -> CellId {
        let id = self.cells.next_id();
        self.cells.push(Cell { what, fields, external, same: id })
    }

    /// The place that stands for all of the same shape.
    pub(super) fn shape(&mut self, cell: CellId) -> CellId {
        let mut at = cell;
        while self.cells[at].same != at {
            let above = self.cells[self.cells[at].same].same;
            self.cells[at].same = above;
            at = above;
        }
        at
    }

    /// What these two places make can meet.
    pub(super) fn unite(&mut self, a: CellId, b: CellId) {
        let (a, b) = (self.shape(a), self.shape(b));
        // The older one stands for both, so that shapes are numbered in the order of their first places.
        let (first, second) = if a.index() < b.index() { (a, b) } else { (b, a) };
        self.cells[second].same = first;
    }
}

/// The number kinds among the first 64 atoms.
pub(super) fn numbers(first_word: u64) -> Numbers {
    Numbers::from_bits(first_word as u8)
}
