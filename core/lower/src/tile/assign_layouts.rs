//! Which layout each tile has: the analysis that the lowering follows.
//!
//! Accesses to buffers and matrix products state the layouts that they want. From there, layouts go on to values computed from loaded values, through
//! loops and branches, and to results of reductions; each such value has one *home*. Cheap values (counted numbers, repeated
//! numbers, arithmetic on these) and operations that only rename elements have none: they are computed again in every layout in which they are
//! wanted. A second walk, from the end, collects these wishes.
//!
//! Invariant: every tile is demanded only in layouts that are listed with it, and a value with a home is computed there and moved from there.

mod demanded;

use super::axis::{Axes, AxisInfo};
use super::layout::{Kind, Layout, before_broadcast, bits_of, dimensions, permuted, without_axis};
use super::product::{self, Product};
use super::region_exits::{RegionExit, targets};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::groups::{jumps, loop_jumps, not_control, not_of_tiles, other_control};
use girih_ir::ops::Family;
use girih_ir::{Caps, Def, Function, Inst, InstId, Op, RegionId, Shape, Type, ValueId};

/// A layout of a plan.
pub(super) type LayoutId = usize;

/// What the lowering follows.
#[derive(Debug)]
pub(super) struct Assignment {
    /// All layouts, each once.
    pub layouts: Vec<Layout>,
    /// The layout in which a tile is computed; none for what is written wherever it is wanted.
    pub home: IndexVec<ValueId, Option<LayoutId>>,
    /// The layouts in which somebody wants a tile.
    pub demands: IndexVec<ValueId, Vec<LayoutId>>,
    /// The layout of an access to a buffer, and of what an operation that finds elements by their numbers gives.
    pub access: FastMap<InstId, LayoutId>,
    /// The layout in which an operation that finds elements by their numbers takes the tile that it looks into.
    pub sources: FastMap<InstId, LayoutId>,
    /// How matrix products are made.
    pub products: FastMap<InstId, Product>,
    /// For a layout of fragments the one in which their elements are computed with.
    pub shown: FastMap<LayoutId, LayoutId>,
    /// What is known of numbers.
    pub axes: Axes,
    /// Invocations of a workgroup, as a logarithm.
    pub threads: u8,
}

impl Assignment {
    /// The layouts of a kernel in tile form without calls. Where values are stored from where they are, less is moved through shared memory, and accesses
    /// are narrower.
    pub fn of(f: &Function, threads: u32, caps: &Caps, stores_stay: bool) -> Assignment {
        let threads = threads.trailing_zeros() as u8;
        let nothing = || f.values.iter().map(|_| None).collect();
        let plan = Assignment {
            layouts: vec![],
            home: nothing(),
            demands: f.values.iter().map(|_| vec![]).collect(),
            access: FastMap::default(),
            sources: FastMap::default(),
            products: FastMap::default(),
            shown: FastMap::default(),
            axes: Axes::of(f),
            threads,
        };
        let (widths, uses) = (FastMap::default(), Uses::of(f));
        let mut assign = Assign { f, caps, plan, widths, enclosing: vec![], uses, stores_stay };
        assign.scalar();
        assign.widths(f.body);
        assign.region(f.body);
        assign.enclosing.clear();
        assign.wants(f.body);
        assign.plan
    }

    /// The layout of single numbers.
    pub const SCALAR: LayoutId = 0;

    /// A layout's number.
    pub fn id(&mut self, layout: Layout) -> LayoutId {
        if let Some(found) = self.layouts.iter().position(|l| *l == layout) {
            return found;
        }
        self.layouts.push(layout);
        self.layouts.len() - 1
    }

    /// The layout in which the elements of one of fragments are computed with; any other one itself.
    pub fn shown(&self, layout: LayoutId) -> LayoutId {
        self.shown.get(&layout).copied().unwrap_or(layout)
    }

    /// What a layout becomes under other names of bits.
    fn renamed(&mut self, layout: LayoutId, to: &dyn Fn(u8) -> Option<u8>) -> LayoutId {
        let layout = self.layouts[layout].renamed(to);
        self.id(layout)
    }
}

/// What takes each value: an instruction, as which of its operands.
struct Uses(IndexVec<ValueId, Vec<(InstId, usize)>>);

impl Uses {
    fn of(f: &Function) -> Uses {
        let mut uses: IndexVec<ValueId, Vec<(InstId, usize)>> = f.values.iter().map(|_| vec![]).collect();
        f.walk(f.body, &mut |id, inst| inst.operands.iter().enumerate().for_each(|(i, v)| uses[*v].push((id, i))));
        Uses(uses)
    }

    fn is_used(&self, value: ValueId) -> bool {
        !self.0[value].is_empty()
    }

    /// Whether nothing is done with a value but that products are added to it and that it is carried on.
    fn accumulates(&self, f: &Function, value: ValueId) -> bool {
        self.0[value].iter().all(|(id, operand)| {
            let inst = &f.insts[*id];
            match inst.op {
                Op::TileDot => *operand == 2,
                Op::Loop => self.accumulates(f, f.regions[inst.regions[0]].params[*operand]),
                loop_jumps!() => true,
                _no_rule => false,
            }
        })
    }
}

/// How an access wants its tile.
pub(super) struct Wish {
    /// Its dimensions, the fastest first.
    pub order: Vec<usize>,
    /// How many elements may be accessed at once, as a logarithm.
    pub width: u8,
}

struct Assign<'a> {
    f: &'a Function,
    caps: &'a Caps,
    plan: Assignment,
    /// For a shape and an order the widest access.
    widths: FastMap<(Shape, Vec<usize>), u8>,
    enclosing: Vec<RegionExit>,
    uses: Uses,
    stores_stay: bool,
}

/// What an operation does to names of bits, from those of its result to those of its operand.
type Renaming = Box<dyn Fn(u8) -> Option<u8>>;

/// The renaming of an operation that only shows elements in another way.
pub(super) fn view(f: &Function, inst: &Inst) -> Option<Renaming> {
    let to = inst.results.first().and_then(|v| f.ty(*v).shape());
    let from = inst.operands.first().and_then(|v| f.ty(*v).shape());
    match inst.op {
        Op::TileReshape if from.is_some() => Some(Box::new(Some)),
        Op::TileHint => Some(Box::new(Some)),
        Op::TilePermute => Some(Box::new(permuted(to, &inst.axes(), true))),
        Op::TileBroadcast => Some(Box::new(before_broadcast(from, to))),
        Op::TileIota
        | Op::TileSplat
        | Op::TileReshape
        | Op::TileJoin
        | Op::TileSplit
        | Op::TileCat
        | Op::TileGather
        | Op::TileHistogram
        | Op::TileMap
        | Op::TileReduce
        | Op::TileScan
        | Op::TileDot
        | Op::TileLoad
        | Op::TileStore
        | Op::TileAtomic
        | Op::TileCompareExchange
        | Op::TileAssume
        | Op::TilePrint
        | Op::TileAssert
        | not_of_tiles!() => None,
    }
}

/// Arithmetic on each element.
pub(super) fn is_elementwise(inst: &Inst) -> bool {
    matches!(inst.ty, Some(Type::Tile(_))) && inst.op.row().family == Family::Scalar || inst.op == Op::TileMap
}

impl Assign<'_> {
    fn scalar(&mut self) {
        let layout = Layout::blocked(None, &[], 0, self.plan.threads);
        self.plan.id(layout);
    }

    fn shape(&self, value: ValueId) -> Option<Shape> {
        self.f.ty(value).shape()
    }

    /// The most elements of an access that an invocation's share of a tile has.
    fn share(&self, shape: Shape) -> u8 {
        bits_of(Some(shape)).saturating_sub(self.plan.threads)
    }

    /// How an access to a buffer wants its tile.
    fn wish(&self, inst: &Inst) -> Option<(Shape, Wish)> {
        let shape = self.shape(inst.operands[1])?;
        let infos = self.plan.axes.infos(self.f, inst.operands[1]);
        let mut order: Vec<usize> = (0..shape.rank()).rev().collect();
        // The dimension whose neighbours are neighbours in memory comes first; it is the last one if nothing is known.
        order.sort_by_key(|d| std::cmp::Reverse(infos[*d].contiguous));
        let inside = inst.operands[if inst.op == Op::TileLoad { 2 } else { 3 }];
        let mask = self.shape(inside).map(|_| self.plan.axes.infos(self.f, inside));
        let first = order[0];
        let width = self.width(infos[first], mask.map(|m| m[first]), inst.element().bytes());
        Some((shape, Wish { order, width: width.min(self.share(shape)) }))
    }

    /// How many elements may be accessed at once.
    fn width(&self, info: AxisInfo, mask: Option<AxisInfo>, bytes: u32) -> u8 {
        access_width(info, mask, bytes, self.caps)
    }

    /// Looks at all accesses: those of one shape and order get one layout, wide enough for the widest.
    fn widths(&mut self, region: RegionId) {
        let f = self.f;
        f.walk(region, &mut |_, inst| {
            if matches!(inst.op, Op::TileLoad | Op::TileStore)
                && let Some((shape, wish)) = self.wish(inst)
            {
                let width = self.widths.entry((shape, wish.order)).or_default();
                *width = wish.width.max(*width);
            }
        });
    }

    fn blocked(&mut self, shape: Shape, order: &[usize]) -> LayoutId {
        let width = self.widths.get(&(shape, order.to_vec())).copied();
        let width = width.unwrap_or_else(|| self.share(shape).min(2));
        let layout = Layout::blocked(Some(shape), order, width, self.plan.threads);
        self.plan.id(layout)
    }

    /// The layout of tiles that nobody wants in any.
    fn usual(&mut self, shape: Option<Shape>) -> LayoutId {
        let Some(shape) = shape else { return Assignment::SCALAR };
        let order: Vec<usize> = (0..shape.rank()).rev().collect();
        self.blocked(shape, &order)
    }

    /// The layout in which a value comes for nothing, if there is one.
    fn suggested(&mut self, value: ValueId) -> Option<LayoutId> {
        self.shape(value)?;
        if let Some(home) = self.plan.home[value] {
            return Some(self.plan.shown(home));
        }
        let Def::Result(id, _) = self.f.values[value].def else { return None };
        let inst = &self.f.insts[id];
        match inst.op {
            Op::TileReshape | Op::TileHint => self.suggested(inst.operands[0]),
            Op::TilePermute => {
                let layout = self.suggested(inst.operands[0])?;
                let forth = permuted(self.shape(value), &inst.axes(), false);
                Some(self.plan.renamed(layout, &forth))
            }
            _no_rule => None,
        }
    }

    /// Whether a value is made of something that is not written twice.
    fn is_costly(&self, value: ValueId) -> bool {
        if self.plan.home[value].is_some() {
            return true;
        }
        let Def::Result(id, _) = self.f.values[value].def else { return false };
        let inst = &self.f.insts[id];
        self.shape(value).is_some()
            && view(self.f, inst).is_some()
            && inst.operands.first().is_some_and(|v| self.is_costly(*v))
    }

    /// The best of the layouts in which values come; the usual one if they cost something but come in none.
    fn best(&mut self, values: &[ValueId], shape: Option<Shape>) -> Option<LayoutId> {
        let found: Vec<LayoutId> = values.iter().filter_map(|v| self.suggested(*v)).collect();
        let product = found.iter().copied().find(|l| self.plan.layouts[*l].kind != Kind::Blocked);
        if let Some(layout) = product.or(found.first().copied()) {
            return Some(layout);
        }
        values.iter().any(|v| self.is_costly(*v)).then(|| self.usual(shape))
    }

    fn set(&mut self, value: ValueId, layout: LayoutId) {
        if self.shape(value).is_some() {
            self.plan.home[value] = Some(layout);
        }
    }

    fn region(&mut self, region: RegionId) {
        let f = self.f;
        for id in &f.regions[region].insts {
            let inst = &f.insts[*id];
            match inst.op {
                Op::Loop => self.loop_(inst),
                Op::If | Op::Switch => {
                    self.enclosing.push(RegionExit::Branch(inst.results.to_vec()));
                    inst.regions.iter().for_each(|r| self.region(*r));
                    self.enclosing.pop();
                    self.settle(&inst.results);
                }
                jumps!() => {
                    for (value, to) in targets(&self.enclosing, inst).unwrap_or_default() {
                        if self.plan.home[to].is_none()
                            && let Some(layout) = self.carried(inst.op, value, to)
                        {
                            self.set(to, layout);
                        }
                    }
                }
                not_control!() | other_control!() => self.inst(*id, inst),
            }
        }
    }

    /// The layout in which a jump brings a value to where it is known by another name. Fragments stay what they are where they are added to, and
    /// on their way out of a loop.
    fn carried(&mut self, op: Op, value: ValueId, to: ValueId) -> Option<LayoutId> {
        let is_fragments = |home: &LayoutId| matches!(self.plan.layouts[*home].kind, Kind::Fragments(_));
        let home = self.plan.home[value].filter(is_fragments);
        match home {
            Some(home) if op == Op::Break || op != Op::Yield && self.uses.accumulates(self.f, to) => Some(home),
            _elements => self.suggested(value),
        }
    }

    /// Tiles that come out of control flow have a home.
    fn settle(&mut self, values: &[ValueId]) {
        for value in values {
            if self.plan.home[*value].is_none() && self.shape(*value).is_some() {
                let layout = self.usual(self.shape(*value));
                self.set(*value, layout);
            }
        }
    }

    fn loop_(&mut self, inst: &Inst) {
        let body = inst.regions[0];
        let params = self.f.regions[body].params.clone();
        let open = |s: &Self| params.iter().filter(|v| s.shape(**v).is_some() && s.plan.home[**v].is_none()).count();
        let results = inst.results.to_vec();
        self.enclosing.push(RegionExit::Loop { params: params.clone(), results, carries_all: true });
        // What an iteration gives says how the next one has it.
        loop {
            let before = open(self);
            self.region(body);
            let after = open(self);
            if after == 0 || after == before {
                break;
            }
        }
        for (param, initial) in params.iter().zip(&inst.operands) {
            if self.plan.home[*param].is_none()
                && let Some(layout) = self.suggested(*initial)
            {
                self.set(*param, layout);
            }
        }
        self.settle(&params);
        self.region(body);
        self.enclosing.pop();
        for (result, param) in inst.results.iter().zip(&params) {
            if self.plan.home[*result].is_none()
                && self.f.ty(*result) == self.f.ty(*param)
                && let Some(layout) = self.plan.home[*param]
            {
                self.set(*result, layout);
            }
        }
        self.settle(&inst.results);
    }

    fn inst(&mut self, id: InstId, inst: &Inst) {
        let shape = inst.results.first().and_then(|v| self.shape(*v));
        match inst.op {
            Op::TileLoad | Op::TileStore | Op::TileAtomic | Op::TileCompareExchange => {
                let layout = self.access(inst);
                self.plan.access.insert(id, layout);
                inst.results.iter().for_each(|v| self.set(*v, layout));
            }
            Op::TileReduce => {
                let operand = self.combined(&inst.operands);
                let to = without_axis(self.shape(inst.operands[0]), inst.axis() as usize);
                let layout = self.plan.renamed(operand, &to);
                self.plan.access.insert(id, operand);
                inst.results.iter().for_each(|v| self.set(*v, layout));
            }
            Op::TileScan => {
                let layout = self.scanned(inst);
                self.plan.access.insert(id, layout);
                inst.results.iter().for_each(|v| self.set(*v, layout));
            }
            Op::TileGather | Op::TileHistogram => {
                let indices = if inst.op == Op::TileGather { self.suggested(inst.operands[1]) } else { None };
                let layout = indices.unwrap_or_else(|| self.usual(shape));
                self.plan.access.insert(id, layout);
                self.set(inst.results[0], layout);
            }
            Op::TileDot => {
                let factors = [0, 1].map(|i| self.suggested(inst.operands[i]));
                let made = product::choose(self.f, inst, &mut self.plan, self.caps, factors);
                self.set(inst.results[0], made.sums);
                self.plan.products.insert(id, made);
            }
            Op::TileJoin => {
                let half = self.shape(inst.operands[0]);
                let from = self.best(&inst.operands, half).unwrap_or_else(|| self.usual(half));
                let layout = self.joined(from);
                self.set(inst.results[0], layout);
            }
            Op::TileSplit => {
                let half = self.shape(inst.results[0]);
                let own = self.suggested(inst.operands[0]);
                let from = own.filter(|l| self.plan.layouts[*l].registers.contains(&0));
                let layout = match from {
                    Some(layout) => self.plan.renamed(layout, &|bit| bit.checked_sub(1)),
                    None => self.usual(half),
                };
                inst.results.iter().for_each(|v| self.set(*v, layout));
            }
            Op::TileCat => {
                let half = self.shape(inst.operands[0]);
                let from = self.best(&inst.operands, half).unwrap_or_else(|| self.usual(half));
                let layout = self.doubled(from, bits_of(half));
                self.set(inst.results[0], layout);
            }
            Op::TileMap | not_of_tiles!() if is_elementwise(inst) => {
                // What a region computes is not written twice, either.
                let found = self.best(&inst.operands, shape);
                let found = if inst.op == Op::TileMap { found.or_else(|| Some(self.usual(shape))) } else { found };
                if let Some(layout) = found {
                    inst.results.iter().for_each(|v| self.set(*v, layout));
                }
            }
            Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileMap
            | Op::TileHint
            | Op::TileAssume
            | Op::TilePrint
            | Op::TileAssert
            | not_of_tiles!() => {}
        }
    }

    /// The layout of tiles that are combined along an axis.
    fn combined(&mut self, operands: &[ValueId]) -> LayoutId {
        let shape = self.shape(operands[0]);
        self.best(operands, shape).unwrap_or_else(|| self.usual(shape))
    }

    /// A scan goes along the registers of an invocation first, then along invocations: its axis is the fastest dimension.
    fn scanned(&mut self, inst: &Inst) -> LayoutId {
        let shape = self.shape(inst.operands[0]);
        let axis = inst.axis() as usize;
        let mut order = vec![axis];
        order.extend((0..shape.map_or(0, Shape::rank)).rev().filter(|d| *d != axis));
        let (_, along) = dimensions(shape)[axis];
        let share = shape.map_or(0, |s| self.share(s));
        let layout = Layout::blocked(shape, &order, along.min(share), self.plan.threads);
        self.plan.id(layout)
    }

    /// The layout of two tiles beside each other in a new last dimension.
    fn joined(&mut self, half: LayoutId) -> LayoutId {
        let mut layout = self.plan.layouts[half].renamed(&|bit| Some(bit + 1));
        layout.registers.insert(0, 0);
        self.plan.id(layout)
    }

    /// The layout of two tiles after each other.
    fn doubled(&mut self, half: LayoutId, bits: u8) -> LayoutId {
        let mut layout = self.plan.layouts[half].clone();
        layout.registers.push(bits);
        self.plan.id(layout)
    }

    fn access(&mut self, inst: &Inst) -> LayoutId {
        let Some((shape, wish)) = self.wish(inst) else { return Assignment::SCALAR };
        let wanted = self.blocked(shape, &wish.order);
        let own: Vec<ValueId> = match inst.op {
            Op::TileLoad => vec![inst.operands[1], inst.operands[2], inst.operands[3]],
            Op::TileStore => vec![inst.operands[2], inst.operands[1], inst.operands[3]],
            Op::TileAtomic | Op::TileCompareExchange => inst.operands[1..].to_vec(),
            other => unreachable!("`{}` is no access", other.name()),
        };
        // Where a layout that is there already is as good, nothing is moved.
        let Some(there) = own.iter().find_map(|v| self.suggested(*v)) else { return wanted };
        let (first, _) = dimensions(Some(shape))[wish.order[0]];
        let as_wide = self.plan.layouts[there].run(first) >= wish.width;
        let moves_little = self.share(shape) < 2;
        let no_access = matches!(inst.op, Op::TileAtomic | Op::TileCompareExchange);
        let stays = moves_little || no_access || self.stores_stay && inst.op == Op::TileStore;
        if as_wide && self.plan.layouts[there].kind != Kind::Sums || stays { there } else { wanted }
    }
}

/// How many elements of so many bytes may be accessed at once along a dimension.
pub(super) fn access_width(info: AxisInfo, mask: Option<AxisInfo>, bytes: u32, caps: &Caps) -> u8 {
    let most = (caps.access_bytes / bytes.max(1)).max(1).trailing_zeros() as u8;
    let uniform = mask.map_or(most, |m| m.constancy);
    let run = info.contiguous.min(uniform).min(most);
    run.min(info.divisible_at(run))
}
