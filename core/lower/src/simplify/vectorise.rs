//! Adjacent loads, and adjacent stores, become one access of 2 or 4 lanes.
//!
//! Consider a sequence of instructions that all run if one of them runs. In it, accesses of one type to one memory, from one index with consecutive
//! offsets, are joined if the first place is aligned to their joint size and nothing between them may access the same bytes. Loads
//! move to the first one, stores to the last one.

use super::facts::Facts;
use super::forward::Memo;
use super::memory::{Touch, may_alias, touch};

use girih_base::hash::FastMap;
use girih_ir::{
    Attr, Caps, Def, Feature, Function, Inst, InstId, Op, RegionId, Regions, Scalar, Space, Type, Value, ValueId,
    Values,
};

/// Gathers accesses in a whole function; whether there were any.
pub(super) fn run(f: &mut Function, caps: &Caps, memo: &Memo) -> bool {
    let mut pass = Vectorise { f, caps, memo, known: FastMap::default(), stores: false, changed: false };
    pass.region(pass.f.body);
    // Each looks at where the others stand, so they do not move at the same time.
    pass.stores = true;
    pass.region(pass.f.body);
    pass.changed
}

struct Vectorise<'a> {
    f: &'a mut Function,
    caps: &'a Caps,
    memo: &'a Memo,
    /// How many low bits of an index are zero.
    known: FastMap<ValueId, u32>,
    /// Whether stores are gathered now, or loads.
    stores: bool,
    changed: bool,
}

/// An access that could be a lane of another one.
#[derive(Clone, Copy)]
struct Access {
    at: usize,
    id: InstId,
    offset: i64,
}

/// What accesses have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Group {
    store: bool,
    handle: ValueId,
    /// None for an index that is a constant.
    index: Option<ValueId>,
    wide: bool,
    element: Scalar,
    cache: Option<girih_ir::attrs::Cache>,
}

/// A change to a region: the access that takes the place of one of its instructions, and those that go.
struct Gathered {
    at: usize,
    lanes: Vec<Access>,
    group: Group,
}

impl Vectorise<'_> {
    fn region(&mut self, region: RegionId) {
        for i in 0..self.f.regions[region].insts.len() {
            let id = self.f.regions[region].insts[i];
            for inner in Regions::from_slice(&self.f.insts[id].regions) {
                self.region(inner);
            }
        }
        let gathers = if self.stores { Op::Store } else { Op::Load };
        let accesses = |id: &&InstId| self.f.insts[**id].op == gathers;
        if self.f.regions[region].insts.iter().filter(accesses).nth(1).is_none() {
            return;
        }
        let insts = self.f.regions[region].insts.clone();
        let mut gathered = vec![];
        let mut start = 0;
        for (i, id) in insts.iter().enumerate() {
            // What may not come back, or may wait for others, ends a stretch.
            let inst = &self.f.insts[*id];
            if !inst.regions.is_empty() || inst.op.is_terminator() || matches!(touch(inst), Touch::Shared | Touch::All)
            {
                self.stretch(&insts, start, i, &mut gathered);
                start = i + 1;
            }
        }
        if !gathered.is_empty() {
            self.changed = true;
            self.write(region, &insts, gathered);
        }
    }

    fn stretch(&mut self, insts: &[InstId], start: usize, end: usize, gathered: &mut Vec<Gathered>) {
        let mut groups: Vec<(Group, Vec<Access>)> = vec![];
        let mut place: FastMap<Group, usize> = FastMap::default();
        for (at, id) in insts.iter().enumerate().take(end).skip(start) {
            let Some((group, offset)) = self.access(*id) else { continue };
            let position = *place.entry(group).or_insert_with(|| {
                groups.push((group, vec![]));
                groups.len() - 1
            });
            groups[position].1.push(Access { at, id: *id, offset });
        }
        for (group, accesses) in groups {
            if accesses.len() > 1 && group.store == self.stores {
                self.gather(insts, group, accesses, gathered);
            }
        }
    }

    /// A scalar load or store that may become a lane.
    fn access(&self, id: InstId) -> Option<(Group, i64)> {
        let inst = &self.f.insts[id];
        let store = inst.op == Op::Store;
        if !store && inst.op != Op::Load {
            return None;
        }
        let Some(Type::Scalar(element)) = inst.ty else { return None };
        let (handle, index) = (*inst.operands.first()?, *inst.operands.get(1)?);
        let native = match self.f.space(handle) {
            Space::Global => self.caps.storage.has(element),
            // Where there are no calls, the back end takes local memory element by element.
            Space::Shared | Space::Private => self.caps.local_storage.has(element) && self.caps.has(Feature::Calls),
        };
        if !native || inst.ty.is_none() {
            return None;
        }
        let wide = self.f.ty(index) == Type::U64;
        let cache = inst.attrs.iter().find_map(|a| if let Attr::Cache(c) = a { Some(*c) } else { None });
        let (index, offset) = match self.f.as_constant(index) {
            Some(bits) => (None, i64::try_from(bits).ok()?.checked_add(inst.offset().into())?),
            None => (Some(index), inst.offset().into()),
        };
        Some((Group { store, handle, index, wide, element, cache }, offset))
    }

    /// Takes runs of lanes out of accesses of one group.
    fn gather(&mut self, insts: &[InstId], group: Group, mut accesses: Vec<Access>, gathered: &mut Vec<Gathered>) {
        accesses.sort_by_key(|a| (a.offset, a.at));
        if accesses.windows(2).any(|w| w[0].offset == w[1].offset) {
            return;
        }
        let mut rest = &accesses[..];
        while let Some(first) = rest.first() {
            let fits = [4usize, 2].into_iter().find(|lanes| {
                let Some(run) = rest.get(..*lanes) else { return false };
                let follows = run.iter().zip(0..).all(|(a, i)| a.offset == first.offset + i);
                follows && self.is_aligned(group, first.offset, *lanes as u32) && self.is_free(insts, group, run)
            });
            let lanes = fits.unwrap_or(1);
            let (run, others) = rest.split_at(lanes);
            rest = others;
            if lanes > 1 {
                let places = run.iter().map(|a| a.at);
                let at = if group.store { places.max() } else { places.min() };
                gathered.push(Gathered { at: at.unwrap_or(0), lanes: run.to_vec(), group });
            }
        }
    }

    fn is_aligned(&mut self, group: Group, offset: i64, lanes: u32) -> bool {
        let bytes = group.element.bytes() * lanes;
        let low = lanes.trailing_zeros();
        let aligned = match self.f.values[group.handle].def {
            Def::Param(attrs) if self.f.space(group.handle) == Space::Global => attrs.align,
            Def::Memory(id) => self.f.memories[id].align,
            Def::Param(_) | Def::Constant(_) | Def::Specialisation(_) | Def::Argument(..) | Def::Result(..) => 0,
        };
        let zeros = match group.index {
            Some(index) => self.trailing_zeros(index, 8),
            None => u32::MAX,
        };
        Type::is_short_vector(group.element, lanes)
            && bytes <= self.caps.access_bytes
            && aligned >= bytes
            && offset % i64::from(lanes) == 0
            && offset >= 0
            && zeros >= low
    }

    /// How many low bits of a value are zero: what its definition shows, a few steps back.
    fn trailing_zeros(&mut self, value: ValueId, steps: u32) -> u32 {
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        let scalar = self.f.ty(value).element().unwrap_or(Scalar::U32);
        let facts = match self.f.values[value].def {
            Def::Constant(bits) => return bits.trailing_zeros(),
            Def::Param(attrs) if attrs.divisible > 1 => return attrs.divisible.trailing_zeros(),
            Def::Result(id, _) if steps > 0 => {
                let inst = self.f.insts[id].clone();
                let multiples: Vec<Facts> = inst
                    .operands
                    .iter()
                    .map(|v| match self.f.as_constant(*v) {
                        Some(bits) => Facts::exactly(bits),
                        None => Facts::multiple(self.trailing_zeros(*v, steps - 1), scalar),
                    })
                    .collect();
                match inst.ty {
                    Some(Type::Scalar(s)) if s.is_integer() => super::facts::transfer(inst.op, s, s, &multiples, false),
                    _ => None,
                }
            }
            Def::Argument(..) => self.memo.loops.get(&value).copied(),
            Def::Result(..) | Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) => None,
        };
        let zeros = facts.map_or(0, Facts::trailing_zeros);
        self.known.insert(value, zeros);
        zeros
    }

    /// Whether the lanes can come together: nothing between them may touch their bytes.
    fn is_free(&self, insts: &[InstId], group: Group, run: &[Access]) -> bool {
        let places: Vec<usize> = run.iter().map(|a| a.at).collect();
        let (Some(first), Some(last)) = (places.iter().min(), places.iter().max()) else { return false };
        (*first..=*last).all(|at| {
            if places.contains(&at) {
                return true;
            }
            match touch(&self.f.insts[insts[at]]) {
                Touch::Nothing => true,
                Touch::Reads(_) if !group.store => true,
                Touch::Reads(other) | Touch::Writes(other) => {
                    !may_alias(self.f, other, group.handle) || self.is_elsewhere(at, insts[at], group, run)
                }
                Touch::Shared | Touch::All => false,
            }
        })
    }

    /// Whether an access from the same base goes to none of the elements that move over it.
    fn is_elsewhere(&self, at: usize, id: InstId, group: Group, run: &[Access]) -> bool {
        let Some((other, offset)) = self.access(id) else { return false };
        let same_base = other.handle == group.handle && other.index == group.index && other.element == group.element;
        // Loads move up, stores move down.
        let moves_over = |a: &Access| if group.store { a.at < at } else { a.at > at };
        same_base && !run.iter().any(|a| a.offset == offset && moves_over(a))
    }

    fn write(&mut self, region: RegionId, insts: &[InstId], gathered: Vec<Gathered>) {
        let mut places: FastMap<usize, Vec<InstId>> = FastMap::default();
        for one in gathered {
            let new = self.combined(&one);
            for lane in &one.lanes {
                places.entry(lane.at).or_default();
            }
            places.insert(one.at, new);
        }
        let out = insts.iter().enumerate().flat_map(|(at, id)| match places.remove(&at) {
            Some(new) => new,
            None => vec![*id],
        });
        self.f.regions[region].insts = out.collect();
    }

    /// The access of all lanes, with what goes before and after it.
    fn combined(&mut self, one: &Gathered) -> Vec<InstId> {
        let Group { store, handle, index, wide, element, cache } = one.group;
        let lanes = one.lanes.len();
        let ty = Type::Vector(element, lanes as u8);
        let span = self.f.insts[one.lanes[0].id].span;
        let word = if wide { Scalar::U64 } else { Scalar::U32 };
        let mut out = vec![];
        let (index, offset) = match index {
            None => (self.f.constant(word.into(), (one.lanes[0].offset / lanes as i64) as u64), 0),
            Some(index) => {
                let by = self.f.constant(word.into(), u64::from(lanes.trailing_zeros()));
                let mut inst = Inst::new(Op::Shr, Some(word.into()), &[index, by], span);
                let index = self.result(&mut inst, word.into());
                out.push(self.f.insts.push(inst));
                (index, (one.lanes[0].offset / lanes as i64) as i32)
            }
        };
        let mut operands = vec![handle, index];
        if store {
            let parts: Values = one.lanes.iter().map(|a| self.f.insts[a.id].operands[2]).collect();
            let mut vector = Inst::new(Op::Vector, Some(ty), &parts, span);
            operands.push(self.result(&mut vector, ty));
            out.push(self.f.insts.push(vector));
        }
        let mut access = Inst::new(if store { Op::Store } else { Op::Load }, Some(ty), &operands, span);
        if offset != 0 {
            access.set(Attr::Offset(offset));
        }
        if let Some(cache) = cache {
            access.set(Attr::Cache(cache));
        }
        if store {
            out.push(self.f.insts.push(access));
            return out;
        }
        let vector = self.result(&mut access, ty);
        out.push(self.f.insts.push(access));
        for (i, lane) in one.lanes.iter().enumerate() {
            let position = self.f.constant(Type::U32, i as u64);
            let mut extract = Inst::new(Op::Extract, Some(element.into()), &[vector, position], span);
            extract.results = self.f.insts[lane.id].results.clone();
            let id = self.f.insts.next_id();
            for result in &extract.results {
                self.f.values[*result].def = Def::Result(id, 0);
            }
            out.push(self.f.insts.push(extract));
        }
        out
    }

    /// A result for an instruction that is about to be added.
    fn result(&mut self, inst: &mut Inst, ty: Type) -> ValueId {
        let value = self.f.values.push(Value { ty, def: Def::Result(self.f.insts.next_id(), 0), name: None });
        inst.results = Values::from_slice(&[value]);
        value
    }
}
