//! What the host knows of a value before anything runs, the same for all instances of a step.
//!
//! Of numbers it knows all or nothing. Of a cell it knows the *shape*: the layout, and what is known of the fields. A number in a field is not
//! known, so that trees of one form have one shape, whatever they hold. Where a cell stands is part of its shape if that can be said for all
//! instances (see [`place`](super::place)); then nothing else need be known to find it.
//!
//! Invariant: shapes are numbered by what they are, so two are the same exactly if their numbers are.

use super::place::{Address, Bit, PathId, Paths, SOME, Stand};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_ir::heap::{self, LayoutId};

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
        /// By which path the shape is taken, if it says where the cell stands.
        path: Option<PathId>,
    },
    /// A number that an instance can say: where a cell would stand of this shape, by this path.
    Linear {
        /// Its stand alone counts.
        shape: ShapeId,
        /// By which path.
        path: PathId,
    },
    /// The memory of a cell that was opened: its units of 8 bytes, and the layout that its header names.
    Hole {
        /// How many.
        units: u32,
        /// Which.
        layout: LayoutId,
        /// What the cell was, and by which path, if that is known: its fields stand there still.
        was: Option<(ShapeId, PathId)>,
    },
}

impl Known {
    /// Whether the value is known wholly: the device need not have it.
    pub fn is_whole(self) -> bool {
        match self {
            Known::Number(_) | Known::Word(_) | Known::Linear { .. } => true,
            Known::Cell { path, .. } => path.is_some(),
            Known::Hole { was, .. } => was.is_some(),
            Known::Unknown | Known::Tagged(_) => false,
        }
    }
    /// The bits of a number or of a word that names no cell.
    pub fn bits(self) -> Option<u32> {
        match self {
            Known::Number(bits) | Known::Word(bits) => Some(bits),
            Known::Unknown | Known::Tagged(_) | Known::Cell { .. } | Known::Hole { .. } | Known::Linear { .. } => None,
        }
    }
    /// The tag of a word, if that is known.
    pub fn tag(self) -> Option<u32> {
        match self {
            Known::Word(word) => Some(heap::tag(word).min(heap::CELL)),
            Known::Tagged(tag) => Some(tag),
            Known::Cell { .. } => Some(heap::CELL),
            Known::Unknown | Known::Number(_) | Known::Hole { .. } | Known::Linear { .. } => None,
        }
    }
    /// The same, owned by others too.
    pub fn shared(self) -> Known {
        match self {
            Known::Cell { shape, path, .. } => Known::Cell { shape, owned: false, path },
            Known::Unknown
            | Known::Number(_)
            | Known::Word(_)
            | Known::Tagged(_)
            | Known::Hole { .. }
            | Known::Linear { .. } => self,
        }
    }
}

/// What a cell is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CellShape {
    /// Its layout.
    pub layout: LayoutId,
    /// Its units of 8 bytes, if they are known: a cell that was made in a hole may have more than it needs.
    pub units: Option<u32>,
    /// Where it stands.
    pub stand: Option<Stand>,
    /// What is known of its fields.
    pub fields: Vec<Known>,
}

/// All shapes.
#[derive(Debug, Default)]
pub struct Shapes {
    all: IndexVec<ShapeId, CellShape>,
    numbers: FastMap<CellShape, ShapeId>,
    /// The paths by which shapes are taken.
    pub paths: Paths,
    /// Shapes without places.
    bare: FastMap<ShapeId, ShapeId>,
    /// Shapes that are the one or the other, by one more bit of the path.
    pairs: FastMap<(ShapeId, ShapeId), Option<ShapeId>>,
}

impl Shapes {
    /// The number of a shape that stands anywhere. What is known of numbers in fields is forgotten, and where cells stand that they name.
    pub fn of(&mut self, layout: LayoutId, units: Option<u32>, fields: impl IntoIterator<Item = Known>) -> ShapeId {
        let fields: Vec<Known> = fields.into_iter().collect();
        let fields = fields.into_iter().map(|known| self.bare(known)).collect();
        self.number(CellShape { layout, units, stand: None, fields })
    }
    /// The shape of a cell of which an instance knows where it stands, by this path.
    pub fn standing(
        &mut self,
        (layout, units): (LayoutId, u32),
        (stand, path): (Stand, PathId),
        fields: Vec<Known>,
    ) -> Known {
        let fields = fields.into_iter().map(|known| self.field(known, path)).collect();
        let shape = self.number(CellShape { layout, units: Some(units), stand: Some(stand), fields });
        Known::Cell { shape, owned: true, path: Some(path) }
    }
    /// What a shape by this path says of a field.
    fn field(&mut self, known: Known, outer: PathId) -> Known {
        match known {
            Known::Cell { shape, owned, path: Some(path) } => match self.paths.relative(path, outer) {
                Some(path) => Known::Cell { shape, owned, path: Some(path) },
                None => self.bare(known),
            },
            _others => self.bare(known),
        }
    }
    fn number(&mut self, mut shape: CellShape) -> ShapeId {
        let forget = |known: &mut Known| {
            if let Known::Number(_) = known {
                *known = Known::Unknown;
            }
        };
        shape.fields.iter_mut().for_each(forget);
        if let Some(id) = self.numbers.get(&shape) {
            return *id;
        }
        let id = self.all.push(shape.clone());
        self.numbers.insert(shape, id);
        id
    }
    /// The shape of a number.
    pub fn get(&self, id: ShapeId) -> &CellShape {
        &self.all[id]
    }

    /// The same without places.
    pub fn bare(&mut self, known: Known) -> Known {
        match known {
            Known::Cell { shape, owned, .. } => Known::Cell { shape: self.bare_shape(shape), owned, path: None },
            Known::Hole { units, layout, .. } => Known::Hole { units, layout, was: None },
            Known::Linear { .. } => Known::Unknown,
            Known::Unknown | Known::Number(_) | Known::Word(_) | Known::Tagged(_) => known,
        }
    }
    fn bare_shape(&mut self, shape: ShapeId) -> ShapeId {
        if let Some(bare) = self.bare.get(&shape) {
            return *bare;
        }
        let CellShape { layout, units, fields, .. } = self.all[shape].clone();
        let bare = self.of(layout, units, fields);
        self.bare.insert(shape, bare);
        bare
    }
    /// The same for code that is measured: that it stands somewhere is known, and not where.
    pub fn somewhere(&mut self, known: Known) -> Known {
        match known {
            Known::Cell { shape, owned, path: Some(_) } => Known::Cell { shape, owned, path: Some(SOME) },
            Known::Hole { units, layout, was: Some((shape, _)) } => {
                Known::Hole { units, layout, was: Some((shape, SOME)) }
            }
            _others => self.bare(known),
        }
    }

    /// What is known of the fields of a cell.
    pub fn fields(&mut self, shape: ShapeId, path: Option<PathId>) -> Vec<Known> {
        let fields = self.all[shape].fields.clone();
        let field = |known| match (known, path) {
            (Known::Cell { shape, owned, path: Some(inner) }, Some(outer)) => {
                Known::Cell { shape, owned, path: Some(self.paths.by(inner, outer)) }
            }
            _others => self.bare(known),
        };
        fields.into_iter().map(field).collect()
    }
    /// What is known of arguments of 2^n calls that an instance of 2^`level` makes together, if it is the same but for places.
    pub fn together(&mut self, all: &[Known], level: u32) -> Known {
        let mut all = all.to_vec();
        let mut bit = level + all.len().trailing_zeros();
        while all.len() > 1 {
            bit -= 1;
            all = all.chunks(2).map(|two| self.pair(two[0], two[1], Bit::Of(bit as u8))).collect();
        }
        all[0]
    }
    /// A number that an instance can say.
    pub fn linear(&mut self, number: u32) -> Known {
        let stand = Some(Stand { base: number, strides: vec![] });
        let shape = self.number(CellShape { layout: LayoutId::new(0), units: None, stand, fields: vec![] });
        Known::Linear { shape, path: self.paths.number(0) }
    }
    /// What is the one or the other, by a bit of the number or path that both are taken from.
    fn pair(&mut self, low: Known, high: Known, by: Bit) -> Known {
        if low == high {
            return low;
        }
        let bare = self.bare(low);
        if self.bare(high) != bare {
            return Known::Unknown;
        }
        match (low, high) {
            (Known::Cell { shape, owned, path: Some(p) }, Known::Cell { shape: other, path: Some(q), .. }) => {
                let pair = self.pair_paths((shape, p), (other, q), by);
                pair.map_or(bare, |(shape, path)| Known::Cell { shape, owned, path: Some(path) })
            }
            (Known::Hole { units, layout, was: Some(x) }, Known::Hole { was: Some(y), .. }) => {
                let was = self.pair_paths(x, y, by);
                was.map_or(bare, |_| Known::Hole { units, layout, was })
            }
            (Known::Linear { shape, path: p }, Known::Linear { shape: other, path: q }) => {
                let pair = self.pair_paths((shape, p), (other, q), by);
                pair.map_or(bare, |(shape, path)| Known::Linear { shape, path })
            }
            _others => bare,
        }
    }
    fn pair_paths(
        &mut self,
        (low, p): (ShapeId, PathId),
        (high, q): (ShapeId, PathId),
        by: Bit,
    ) -> Option<(ShapeId, PathId)> {
        let path = self.paths.pair(p, q, by)?;
        if low == high {
            return Some((low, path));
        }
        let path = self.paths.and(path, by)?;
        Some((self.pair_shapes(low, high)?, path))
    }
    /// The shape that is the one or the other, by a bit at the end of the path: cells that stand in two rows are one.
    fn pair_shapes(&mut self, low: ShapeId, high: ShapeId) -> Option<ShapeId> {
        if let Some(found) = self.pairs.get(&(low, high)) {
            return *found;
        }
        let (x, y) = (self.all[low].clone(), self.all[high].clone());
        let (from, to) = (x.stand?, y.stand?);
        let found = if from.strides == to.strides && (x.layout, x.units) == (y.layout, y.units) {
            let by = Bit::Of(from.strides.len() as u8);
            let apart = to.base.wrapping_sub(from.base);
            let strides = from.strides.into_iter().chain([apart]).collect();
            let fields = x.fields.iter().zip(&y.fields).map(|(x, y)| self.pair(*x, *y, by)).collect();
            let stand = Some(Stand { base: from.base, strides });
            Some(self.number(CellShape { layout: x.layout, units: x.units, stand, fields }))
        } else {
            None
        };
        self.pairs.insert((low, high), found);
        found
    }
    /// What a result of one of 2^`added` calls is for the instance of 2^`level` that made them together.
    pub fn one_of(&mut self, known: Known, level: u32, which: u32, added: u32) -> Known {
        match known {
            Known::Cell { shape, owned, path: Some(path) } => {
                Known::Cell { shape, owned, path: Some(self.paths.one_of(path, level, which, added)) }
            }
            Known::Hole { units, layout, was: Some((shape, path)) } => {
                let path = self.paths.one_of(path, level, which, added);
                Known::Hole { units, layout, was: Some((shape, path)) }
            }
            Known::Linear { shape, path } => {
                Known::Linear { shape, path: self.paths.one_of(path, level, which, added) }
            }
            _others => self.bare(known),
        }
    }

    /// Where an instance of 2^`level` has what is known of a cell or hole, or the number; none if that is not known, or takes too much to say.
    pub fn address(&self, known: Known, level: u32) -> Option<Address> {
        let (shape, path, shared) = match known {
            Known::Cell { shape, owned, path } => (shape, path?, !owned),
            Known::Hole { was, .. } => was.map(|(shape, path)| (shape, path, false))?,
            Known::Linear { shape, path } => (shape, path, false),
            Known::Unknown | Known::Number(_) | Known::Word(_) | Known::Tagged(_) => return None,
        };
        let address = self.paths.address(self.all[shape].stand.as_ref()?, path, level)?;
        Some(Address { shared, ..address })
    }
    /// The same, without a place that an instance of 2^`level` could not say.
    pub fn sayable(&mut self, known: Known, level: u32) -> Known {
        let is_some = match known {
            Known::Cell { path, .. } => path == Some(SOME),
            Known::Hole { was, .. } => was.is_some_and(|(_, path)| path == SOME),
            Known::Linear { .. } => false,
            Known::Unknown | Known::Number(_) | Known::Word(_) | Known::Tagged(_) => return known,
        };
        if is_some || self.address(known, level).is_some() { known } else { self.bare(known) }
    }

    /// What is known of a value that is one of two.
    pub fn either(&mut self, a: Known, b: Known) -> Known {
        if a == b {
            return a;
        }
        match (self.bare(a), self.bare(b)) {
            (a, b) if a == b => a,
            (Known::Cell { shape: x, owned: p, .. }, Known::Cell { shape: y, owned: q, .. }) if p == q => {
                let (x, y) = (self.all[x].clone(), self.all[y].clone());
                if x.layout != y.layout || x.fields.len() != y.fields.len() {
                    return Known::Unknown;
                }
                let fields: Vec<Known> = x.fields.iter().zip(&y.fields).map(|(a, b)| self.either(*a, *b)).collect();
                let units = x.units.filter(|units| y.units == Some(*units));
                Known::Cell { shape: self.of(x.layout, units, fields), owned: p, path: None }
            }
            (Known::Word(_) | Known::Tagged(_), Known::Word(_) | Known::Tagged(_)) => match (a.tag(), b.tag()) {
                (Some(x), Some(y)) if x == y && x != heap::CELL => Known::Tagged(x),
                _differ => Known::Unknown,
            },
            _differ => Known::Unknown,
        }
    }
}
