//! Sets of values, as the analysis gives them: everything in them is sorted, so equal sets are equal.

use super::Instance;
use super::shape::ShapeId;
use girih_base::num::NumKind;
use girih_term::{CtorId, DefId, TypeId};

/// A set of number kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numbers(u8);

impl Numbers {
    /// No kind.
    pub const NONE: Numbers = Numbers(0);
    /// All kinds.
    pub const ALL: Numbers = Numbers((1 << NumKind::ALL.len()) - 1);

    /// The kinds whose bits, in the order of [`NumKind::ALL`], are set.
    pub(super) fn from_bits(bits: u8) -> Numbers {
        Numbers(bits & Numbers::ALL.0)
    }

    /// One kind.
    pub fn one(kind: NumKind) -> Numbers {
        Numbers(1 << kind as u8)
    }

    /// Whether a kind is in the set.
    pub fn contains(self, kind: NumKind) -> bool {
        self.0 & Numbers::one(kind).0 != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = NumKind> {
        NumKind::ALL.into_iter().filter(move |&kind| self.contains(kind))
    }

    /// The kind, if there is just one.
    pub fn single(self) -> Option<NumKind> {
        let mut kinds = self.iter();
        kinds.next().filter(|_| kinds.next().is_none())
    }

    /// The kinds of both sets.
    #[must_use]
    pub fn union(self, other: Numbers) -> Numbers {
        Numbers(self.0 | other.0)
    }
}

impl FromIterator<NumKind> for Numbers {
    fn from_iter<I: IntoIterator<Item = NumKind>>(kinds: I) -> Numbers {
        kinds.into_iter().fold(Numbers::NONE, |set, kind| set.union(Numbers::one(kind)))
    }
}

/// What something may be. A set without anything belongs to what is never computed, or never gives a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set {
    /// Numbers of these kinds.
    pub numbers: Numbers,
    /// `*`.
    pub era: bool,
    /// Constructors without fields.
    pub units: Vec<CtorId>,
    /// Cells: constructors with fields, pairs, closures (those that capture nothing too), partial applications.
    pub shapes: Vec<ShapeId>,
    /// Definitions with parameters, as values.
    pub functions: Vec<Instance>,
    /// Definitions without parameters that are not [constants](super::Flow::is_constant): they are computed when they are
    /// inspected.
    pub thunks: Vec<DefId>,
    /// Constructors as functions of their fields. They arise only where a match meets a function.
    pub makers: Vec<CtorId>,
    /// What a match on this type applies a function to that stands in the place of data.
    pub selectors: Vec<TypeId>,
    /// Whether the value may come from the host, which may give anything. All that it can be made of is in the other
    /// parts of the set too.
    pub external: bool,
}

impl Set {
    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        *self == Set::default()
    }

    /// The kind of number, if nothing else is in the set.
    pub fn number(&self) -> Option<NumKind> {
        let kind = self.numbers.single()?;
        (*self == Set { numbers: self.numbers, external: self.external, ..Set::default() }).then_some(kind)
    }

    /// The shape, if nothing else is in the set.
    pub fn shape(&self) -> Option<ShapeId> {
        let &[shape] = &self.shapes[..] else { return None };
        let only = Set { shapes: vec![shape], external: self.external, ..Set::default() };
        (*self == only).then_some(shape)
    }
    /// Adds all that is in another set.
    pub fn merge(&mut self, other: &Set) {
        self.numbers = self.numbers.union(other.numbers);
        self.era |= other.era;
        self.external |= other.external;
        self.units.extend_from_slice(&other.units);
        self.shapes.extend_from_slice(&other.shapes);
        self.functions.extend_from_slice(&other.functions);
        self.thunks.extend_from_slice(&other.thunks);
        self.makers.extend_from_slice(&other.makers);
        self.selectors.extend_from_slice(&other.selectors);
        self.sort();
    }

    /// Makes the set what all sets are: sorted, each thing once.
    pub(super) fn sort(&mut self) {
        fn sort<T: Ord>(all: &mut Vec<T>) {
            all.sort_unstable();
            all.dedup();
        }
        sort(&mut self.units);
        sort(&mut self.shapes);
        sort(&mut self.functions);
        sort(&mut self.thunks);
        sort(&mut self.makers);
        sort(&mut self.selectors);
    }
}
