//! Where cells stand, as far as the host knows it.
//!
//! Cells that all instances of a step make stand side by side, so the place of each is linear in the bits of the instance's number. What they name stands
//! elsewhere, at places that depend on the same bits and on the way down to them: the left child or the right one. Such a string of bits is a *path*: each is
//! constant, or one of the instance's. A shape says for every path of its length where the cell stands (its [`Stand`]), and by which paths its fields do;
//! a value is a shape and a path.
//!
//! An instance's bits are counted from the highest. Calls that are made together add bits at the end, so paths stay what they are on the way into
//! a call, and on the way back a bit that is the call's number becomes constant.
//!
//! Invariant: paths are numbered by what they are.

use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::index_type;

index_type! {
    /// A path.
    pub struct PathId;
}

/// A bit of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// The same for all.
    Const(bool),
    /// A bit of the instance's number, counted from the highest; in a shape, a bit of the path that the shape is taken by.
    Of(u8),
    /// The contrary of one.
    Not(u8),
}

impl Bit {
    /// The bit if another one is 0, and if it is 1, for bits that depend on nothing else.
    fn choice(low: Bit, high: Bit, by: Bit) -> Option<Bit> {
        match (low, high, by) {
            _ if low == high => Some(low),
            (Bit::Const(false), Bit::Const(true), _) => Some(by),
            (Bit::Const(true), Bit::Const(false), _) => Some(by.contrary()),
            _differ => None,
        }
    }
    fn contrary(self) -> Bit {
        match self {
            Bit::Const(bit) => Bit::Const(!bit),
            Bit::Of(k) => Bit::Not(k),
            Bit::Not(k) => Bit::Of(k),
        }
    }
    /// The bit with others for those that it is taken from.
    fn map(self, others: impl Fn(u8) -> Option<Bit>) -> Option<Bit> {
        match self {
            Bit::Const(_) => Some(self),
            Bit::Of(k) => others(k),
            Bit::Not(k) => others(k).map(Bit::contrary),
        }
    }
}

/// Where a cell stands, for every path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stand {
    /// The index of its first field for a path of zeros, in words of 32 bits.
    pub base: u32,
    /// How much farther it is for each bit that is set.
    pub strides: Vec<u32>,
}

impl Stand {
    /// Cells of so many units, one for each of 2^`level` instances, from a unit on.
    pub fn row(first_unit: u32, units: u32, level: u32) -> Stand {
        let stride = |bit: u32| (2 * units) << (level - 1 - bit);
        Stand { base: 2 * first_unit + 1, strides: (0..level).map(stride).collect() }
    }
}

/// Bits of a path at most: those of an instance's number and of the way down, and one for each two rows that are taken as one.
pub const BITS: usize = 64;
/// Terms of an address.
const TERMS: usize = 4;

/// Where an instance has a cell: the base, and for each term the number of the instance, shifted right and multiplied. All wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// In words of 32 bits, of the first field.
    pub base: u32,
    /// Shifts and factors; factors of 0 stand at the end.
    pub terms: [(u32, u32); TERMS],
    /// Whether its word says that others name it too.
    pub shared: bool,
}

/// All paths.
#[derive(Debug)]
pub struct Paths {
    all: IndexVec<PathId, Vec<Bit>>,
    numbers: FastMap<Vec<Bit>, PathId>,
}

/// The path of a cell in code that is measured: it has one, and nobody asks which.
pub const SOME: PathId = PathId::new(0);

impl Default for Paths {
    fn default() -> Paths {
        // No path is so long.
        let some = vec![Bit::Of(u8::MAX); usize::from(u8::MAX)];
        let mut paths = Paths { all: IndexVec::default(), numbers: FastMap::default() };
        paths.of(some);
        paths
    }
}

impl Paths {
    /// The path of these bits.
    pub fn of(&mut self, bits: Vec<Bit>) -> PathId {
        if let Some(id) = self.numbers.get(&bits) {
            return *id;
        }
        let id = self.all.push(bits.clone());
        self.numbers.insert(bits, id);
        id
    }
    /// The number of an instance, of 2^`level`.
    pub fn number(&mut self, level: u32) -> PathId {
        self.of((0..level as u8).map(Bit::Of).collect())
    }

    /// A path of a shape that is taken by another path.
    pub fn by(&mut self, inner: PathId, outer: PathId) -> PathId {
        if outer == SOME {
            return SOME;
        }
        let outer = &self.all[outer];
        let bit = |bit: &Bit| bit.map(|k| outer.get(usize::from(k)).copied()).unwrap_or(Bit::Const(false));
        let bits = self.all[inner].iter().map(bit).collect();
        self.of(bits)
    }

    /// The path that, taken by `outer`, is this one; none if there is none.
    pub fn relative(&mut self, path: PathId, outer: PathId) -> Option<PathId> {
        if path == SOME || outer == SOME {
            return None;
        }
        let outer = &self.all[outer];
        let find = |(i, bit): (usize, &Bit)| {
            // A constant at the same place is most likely the same bit: the way down to the cell itself.
            if outer.get(i) == Some(bit) {
                return Some(Bit::Of(i as u8));
            }
            bit.map(|k| {
                let same = |other: &Bit| *other == Bit::Of(k) || *other == Bit::Not(k);
                let at = outer.iter().position(same)?;
                Some(if outer[at] == Bit::Of(k) { Bit::Of(at as u8) } else { Bit::Not(at as u8) })
            })
        };
        let bits = self.all[path].iter().enumerate().map(find).collect::<Option<Vec<Bit>>>()?;
        Some(self.of(bits))
    }

    /// The path that is the one or the other, by a bit of the number or path that both are taken from; none if there is none.
    pub fn pair(&mut self, low: PathId, high: PathId, by: Bit) -> Option<PathId> {
        if low == SOME || high == SOME {
            return (low == high).then_some(low);
        }
        let (low, high) = (&self.all[low], &self.all[high]);
        if low.len() != high.len() {
            return None;
        }
        let bits =
            low.iter().zip(high).map(|(low, high)| Bit::choice(*low, *high, by)).collect::<Option<Vec<Bit>>>()?;
        Some(self.of(bits))
    }
    /// A path with one more bit; none if that is too long.
    pub fn and(&mut self, path: PathId, bit: Bit) -> Option<PathId> {
        if path == SOME {
            return Some(path);
        }
        let bits: Vec<Bit> = self.all[path].iter().copied().chain([bit]).collect();
        (bits.len() <= BITS).then(|| self.of(bits))
    }
    /// What a path is for one of 2^`added` calls that an instance of 2^`level` has made together.
    pub fn one_of(&mut self, path: PathId, level: u32, which: u32, added: u32) -> PathId {
        if path == SOME {
            return path;
        }
        let part = |k: u8| which >> (added - 1).saturating_sub(u32::from(k) - level) & 1 == 1;
        let own = |k: u8| Some(if u32::from(k) >= level { Bit::Const(part(k)) } else { Bit::Of(k) });
        let bits = self.all[path].iter().map(|bit| bit.map(own).unwrap_or(*bit)).collect();
        self.of(bits)
    }

    /// Where an instance of 2^`level` has a cell; none if too many terms would say it.
    pub fn address(&self, stand: &Stand, path: PathId, level: u32) -> Option<Address> {
        let mut base = stand.base;
        // How much farther each bit of the number takes, from the lowest.
        let mut strides = vec![0_u32; level as usize];
        for (bit, stride) in self.all[path].iter().zip(&stand.strides) {
            match bit {
                Bit::Const(false) => {}
                Bit::Const(true) => base = base.wrapping_add(*stride),
                Bit::Of(k) | Bit::Not(k) => {
                    let place = strides.get_mut((level as usize).checked_sub(1 + usize::from(*k))?)?;
                    if let Bit::Of(_) = bit {
                        *place = place.wrapping_add(*stride);
                    } else {
                        base = base.wrapping_add(*stride);
                        *place = place.wrapping_sub(*stride);
                    }
                }
            }
        }
        // A bit counts twice as much as the one below it, but where a term begins.
        let mut terms = Address::NONE;
        let mut count = 0;
        let mut below = 0_u32;
        for (shift, stride) in (0..).zip(&strides) {
            let factor = stride.wrapping_sub(below.wrapping_mul(2));
            if factor != 0 {
                *terms.get_mut(count)? = (shift, factor);
                count += 1;
            }
            below = *stride;
        }
        Some(Address { base, terms, shared: false })
    }
}

impl Address {
    /// No terms.
    pub const NONE: [(u32, u32); TERMS] = [(0, 0); TERMS];

    /// Its terms: two of them if they suffice, so that most addresses are of one form.
    pub fn some_terms(&self) -> &[(u32, u32)] {
        let is_short = self.terms[2..].iter().all(|(_, factor)| *factor == 0);
        if is_short { &self.terms[..2] } else { &self.terms }
    }

    /// The same for one instance, as the word of a cell.
    pub fn word(&self, instance: u32) -> u32 {
        let index = self
            .terms
            .iter()
            .fold(self.base, |index, (shift, factor)| index.wrapping_add((instance >> shift).wrapping_mul(*factor)));
        (index << 2) + u32::from(self.shared)
    }
}
