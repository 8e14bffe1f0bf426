//! What the host knows of a value before anything runs, the same for all instances of a step.
//!
//! Of numbers it knows all or nothing. Of a cell it knows the *shape*: the layout, and what is known of the fields. A number in a field is not
//! known, so that trees of one form have one shape, whatever they hold.
//!
//! Invariant: shapes are numbered by what they are, so two are the same exactly if their numbers are.

use crate::hash::FastMap;
use crate::idx::{IndexVec, index_type};
use crate::ir::heap::{self, LayoutId};

index_type! {
    /// A shape.
    pub struct ShapeId;
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// Nothing.
    Unknown,
    /// The bits of a number or truth value.
    Number(u32),
    /// A word that names no cell.
    Word(u32),
    /// The tag of a word that names no cell.
    Tagged(u32),
    /// A cell, and whether it has no other owner.
    Cell {
        /// What it is.
        shape: ShapeId,
        /// Whether it has no other owner.
        owned: bool,
    },
    /// The memory of a cell that was opened: its units of 8 bytes, and the layout that its header names.
    Hole {
        /// How many.
        units: u32,
        /// Which.
        layout: LayoutId,
    },
}

impl Known {
    /// Whether the value is known wholly: the device need not have it.
    pub fn is_whole(self) -> bool {
        match self {
            Known::Number(_) | Known::Word(_) => true,
            Known::Unknown | Known::Tagged(_) | Known::Cell { .. } | Known::Hole { .. } => false,
        }
    }
    /// The bits of what is known wholly.
    pub fn bits(self) -> Option<u32> {
        match self {
            Known::Number(bits) | Known::Word(bits) => Some(bits),
            Known::Unknown | Known::Tagged(_) | Known::Cell { .. } | Known::Hole { .. } => None,
        }
    }
    /// The tag of a word, if that is known.
    pub fn tag(self) -> Option<u32> {
        match self {
            Known::Word(word) => Some(heap::tag(word).min(heap::CELL)),
            Known::Tagged(tag) => Some(tag),
            Known::Cell { .. } => Some(heap::CELL),
            Known::Unknown | Known::Number(_) | Known::Hole { .. } => None,
        }
    }
    /// The same, owned by others too.
    pub fn shared(self) -> Known {
        match self {
            Known::Cell { shape, .. } => Known::Cell { shape, owned: false },
            Known::Unknown | Known::Number(_) | Known::Word(_) | Known::Tagged(_) | Known::Hole { .. } => self,
        }
    }
}

/// What a cell is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Its layout.
    pub layout: LayoutId,
    /// Its units of 8 bytes, if they are known: a cell that was made in a hole may have more than it needs.
    pub units: Option<u32>,
    /// What is known of its fields.
    pub fields: Vec<Known>,
}

/// All shapes.
#[derive(Debug, Default)]
pub struct Shapes {
    all: IndexVec<ShapeId, Shape>,
    numbers: FastMap<Shape, ShapeId>,
}

impl Shapes {
    /// The number of a shape. What is known of numbers in fields is forgotten.
    pub fn of(&mut self, layout: LayoutId, units: Option<u32>, fields: impl IntoIterator<Item = Known>) -> ShapeId {
        let forget = |known: Known| if let Known::Number(_) = known { Known::Unknown } else { known };
        let shape = Shape { layout, units, fields: fields.into_iter().map(forget).collect() };
        if let Some(id) = self.numbers.get(&shape) {
            return *id;
        }
        let id = self.all.push(shape.clone());
        self.numbers.insert(shape, id);
        id
    }
    /// The shape of a number.
    pub fn get(&self, id: ShapeId) -> &Shape {
        &self.all[id]
    }

    /// What is known of a value that is one of two.
    pub fn either(&mut self, a: Known, b: Known) -> Known {
        match (a, b) {
            _ if a == b => a,
            (Known::Cell { shape: x, owned: p }, Known::Cell { shape: y, owned: q }) if p == q => {
                let (x, y) = (self.all[x].clone(), self.all[y].clone());
                if x.layout != y.layout || x.fields.len() != y.fields.len() {
                    return Known::Unknown;
                }
                let fields: Vec<Known> = x.fields.iter().zip(&y.fields).map(|(a, b)| self.either(*a, *b)).collect();
                let units = x.units.filter(|units| y.units == Some(*units));
                Known::Cell { shape: self.of(x.layout, units, fields), owned: p }
            }
            (Known::Word(_) | Known::Tagged(_), Known::Word(_) | Known::Tagged(_)) => match (a.tag(), b.tag()) {
                (Some(x), Some(y)) if x == y && x != heap::CELL => Known::Tagged(x),
                _differ => Known::Unknown,
            },
            _differ => Known::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(shapes: &mut Shapes, units: Option<u32>) -> Known {
        let shape = shapes.of(LayoutId::new(1), units, [Known::Number(7)]);
        Known::Cell { shape, owned: true }
    }

    #[test]
    fn trees_of_one_form_have_one_shape() {
        let mut shapes = Shapes::default();
        let (a, b) = (leaf(&mut shapes, Some(1)), leaf(&mut shapes, Some(1)));
        assert_eq!(a, b);
        let node = |shapes: &mut Shapes, fields: [Known; 2]| shapes.of(LayoutId::new(0), Some(2), fields);
        let (x, y) = (node(&mut shapes, [a, b]), node(&mut shapes, [b, a]));
        assert_eq!(x, y);
        assert_ne!(x, node(&mut shapes, [a, Known::Unknown]));
    }

    #[test]
    fn of_two_values_the_same_is_known() {
        let mut shapes = Shapes::default();
        let (small, large, shared) =
            (leaf(&mut shapes, Some(1)), leaf(&mut shapes, Some(2)), leaf(&mut shapes, Some(1)).shared());
        assert_eq!(shapes.either(small, small), small);
        assert_eq!(shapes.either(small, large), leaf(&mut shapes, None));
        assert_eq!(shapes.either(small, shared), Known::Unknown);
        assert_eq!(shapes.either(Known::Number(1), Known::Number(2)), Known::Unknown);
        assert_eq!(shapes.either(Known::Word(heap::pack(3, 1)), Known::Tagged(3)), Known::Tagged(3));
        assert_eq!(shapes.either(Known::Word(heap::NULL_HOLE), Known::Tagged(3)), Known::Unknown);
    }
}
