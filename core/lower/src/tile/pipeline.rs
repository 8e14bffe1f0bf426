//! Loops whose factors are copied ahead: which loads of a loop go to shared memory some iterations before their product, and what has to be
//! computed ahead for that.
//!
//! A load can be copied ahead if nothing but one product by the matrix unit takes it, and if its indices and condition are arithmetic on numbers
//! that the loop carries. Those numbers are carried twice: as they are now, and as they will be.

use super::assign_layouts::{Assignment, view};
use super::product::Stored;
use girih_base::hash::FastMap;
use girih_ir::{AttrKind, Caps, Def, Feature, Function, InstId, Op, RegionId, Type, ValueId};

/// A load that is copied ahead.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    pub load: InstId,
    /// The value that the product takes, which shows what is loaded.
    pub factor: ValueId,
    /// The values that show what is loaded, and that itself.
    pub shown: Vec<ValueId>,
    /// How it stands in shared memory, by bits of what is loaded.
    pub stored: Stored,
    /// How many elements are copied at once, as a logarithm.
    pub width: u8,
}

/// A loop with loads that are copied ahead.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    pub copied: Vec<Copied>,
    /// What is computed ahead, in order.
    pub slice: Vec<InstId>,
    /// Positions of the carried numbers that this needs.
    pub carried: Vec<usize>,
    /// The branch that ends the loop, and whether it does if the condition holds.
    pub exit: (InstId, bool),
    /// What a next iteration begins with.
    pub next: InstId,
}

/// The loops of a kernel whose loads are copied ahead.
pub(super) fn find(f: &Function, plan: &Assignment, caps: &Caps) -> FastMap<InstId, Pipeline> {
    let mut found = FastMap::default();
    if caps.has(Feature::AsyncCopy) || !caps.rolled {
        let mut uses: FastMap<ValueId, usize> = FastMap::default();
        f.walk(f.body, &mut |_, inst| inst.operands.iter().for_each(|v| *uses.entry(*v).or_default() += 1));
        f.walk(f.body, &mut |id, inst| {
            if inst.op == Op::Loop
                && let Some(pipeline) = (Search { f, plan, uses: &uses, body: inst.regions[0] }).pipeline(caps)
            {
                found.insert(id, pipeline);
            }
        });
    }
    found
}

struct Search<'a> {
    f: &'a Function,
    plan: &'a Assignment,
    uses: &'a FastMap<ValueId, usize>,
    body: RegionId,
}

impl Search<'_> {
    fn pipeline(&self, caps: &Caps) -> Option<Pipeline> {
        let insts = &self.f.regions[self.body].insts;
        let next = *insts.last().filter(|id| self.f.insts[**id].op == Op::Continue)?;
        let exit = self.exit()?;
        let mut copied = vec![];
        for id in insts.iter().filter(|id| self.f.insts[**id].op == Op::TileDot) {
            let Some(factors) = self.plan.products.get(id).and_then(|p| p.by.stored()) else { continue };
            for (operand, stored) in factors.into_iter().enumerate() {
                copied.extend(self.copied(self.f.insts[*id].operands[operand], stored, caps));
            }
        }
        if copied.is_empty() {
            return None;
        }
        let mut slice = Slice { search: self, insts: vec![], carried: vec![] };
        slice.need(self.f.insts[exit.0].operands[0])?;
        for one in &copied {
            let load = &self.f.insts[one.load];
            load.operands[1..3].iter().try_for_each(|v| slice.need(*v))?;
        }
        let mut at = 0;
        while at < slice.carried.len() {
            let value = self.f.insts[next].operands[slice.carried[at]];
            slice.need(value)?;
            at += 1;
        }
        // In the loop's own order.
        let wanted = slice.insts;
        let carried = slice.carried;
        let slice = insts.iter().copied().filter(|id| wanted.contains(id)).collect();
        Some(Pipeline { copied, slice, carried, exit, next })
    }

    /// The only branch that leaves the loop: nothing else in it jumps.
    fn exit(&self) -> Option<(InstId, bool)> {
        let mut found = None;
        for id in &self.f.regions[self.body].insts {
            let inst = &self.f.insts[*id];
            let mut jumps = 0;
            for region in &inst.regions {
                if inst.op != Op::Loop {
                    self.f.walk(*region, &mut |_, inner| {
                        jumps += usize::from(inner.op.ends_iteration() || inner.op.leaves_function());
                    });
                }
            }
            if jumps == 0 {
                continue;
            }
            let first = |region: RegionId| self.f.terminator(region).map(|end| end.op);
            let single = inst.regions.iter().all(|r| self.f.regions[*r].insts.len() == 1);
            if found.is_some() || inst.op != Op::If || !single {
                return None;
            }
            found = match (first(inst.regions[0]), first(inst.regions[1])) {
                (Some(Op::Break), Some(Op::Yield)) => Some((*id, true)),
                (Some(Op::Yield), Some(Op::Break)) => Some((*id, false)),
                (_, _) => return None,
            };
        }
        found
    }

    /// The load that a factor shows, if it can be copied.
    fn copied(&self, factor: ValueId, stored: Stored, caps: &Caps) -> Option<Copied> {
        let f = self.f;
        let (mut value, mut bits) = (factor, stored);
        let mut shown = vec![];
        loop {
            shown.push(value);
            let Def::Result(id, _) = f.values[value].def else { return None };
            let inst = &f.insts[id];
            if self.uses.get(&value) != Some(&1) {
                return None;
            }
            if inst.op == Op::TileLoad {
                return self.load(id, factor, bits, caps).map(|copied| Copied { shown, ..copied });
            }
            let back = view(f, inst).filter(|_| matches!(inst.op, Op::TilePermute | Op::TileHint))?;
            let whole = |(first, count): (u8, u8)| back(first).map(|first| (first, count));
            bits = Stored { fast: whole(bits.fast)?, slow: whole(bits.slow)?, ..bits };
            value = inst.operands[0];
        }
    }

    fn load(&self, id: InstId, factor: ValueId, stored: Stored, caps: &Caps) -> Option<Copied> {
        let (f, inst) = (self.f, &self.f.insts[id]);
        if !self.f.regions[self.body].insts.contains(&id) || inst.has(AttrKind::Volatile) {
            return None;
        }
        let dimensions = super::layout::dimensions(f.ty(inst.results[0]).shape());
        let d = dimensions.iter().position(|d| d.0 == stored.fast.0)?;
        let infos = self.plan.axes.infos(f, inst.operands[1]);
        let mask = f.ty(inst.operands[2]).shape().map(|_| self.plan.axes.infos(f, inst.operands[2])[d]);
        let width = super::assign_layouts::access_width(infos[d], mask, inst.element().bytes(), caps);
        let layout = &self.plan.layouts[*self.plan.access.get(&id)?];
        let width = width.min(layout.run(stored.fast.0)).min(stored.width());
        let enough = inst.element().bytes() << width >= 4 && layout.free() == 0;
        (enough && self.is_zero(inst.operands[3])).then(|| Copied { load: id, factor, shown: vec![], stored, width })
    }

    /// Whether what stands where nothing is loaded is zero.
    fn is_zero(&self, value: ValueId) -> bool {
        match self.f.values[value].def {
            Def::Constant(bits) => bits == 0,
            Def::Result(id, _) => {
                let inst = &self.f.insts[id];
                matches!(inst.op, Op::TileSplat | Op::TileBroadcast | Op::Convert) && self.is_zero(inst.operands[0])
            }
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => false,
        }
    }
}

struct Slice<'s, 'a> {
    search: &'s Search<'a>,
    insts: Vec<InstId>,
    carried: Vec<usize>,
}

impl Slice<'_, '_> {
    /// Notes what a value is made of in the loop; none if that cannot be computed ahead.
    fn need(&mut self, value: ValueId) -> Option<()> {
        let (f, body) = (self.search.f, self.search.body);
        match f.values[value].def {
            Def::Argument(region, position) if region == body => {
                let scalar = matches!(f.ty(value), Type::Scalar(_));
                let position = position as usize;
                if !self.carried.contains(&position) {
                    self.carried.push(position);
                }
                scalar.then_some(())
            }
            Def::Result(id, _) if f.regions[body].insts.contains(&id) => {
                if self.insts.contains(&id) {
                    return Some(());
                }
                let inst = &f.insts[id];
                if !inst.op.is_pure() || !inst.regions.is_empty() || inst.op == Op::TileDot {
                    return None;
                }
                self.insts.push(id);
                inst.operands.iter().try_for_each(|v| self.need(*v))
            }
            _known_before => Some(()),
        }
    }
}
