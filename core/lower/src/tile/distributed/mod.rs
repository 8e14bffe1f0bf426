//! Writes a kernel for its threads according to a `Plan`: each tile as its registers, in the layouts in which it is wanted.
//!
//! Invariant: control flow depends only on numbers that are known to be the same in the whole workgroup, so all invocations reach every barrier and every
//! exchange among lanes.
//!
//! | what | see |
//! |---|---|
//! | values and their registers, instructions in order | this file |
//! | loops, branches, regions on elements | [`control`] |
//! | arithmetic, and operations that only move registers | [`element`] |
//! | loads, stores, updates | [`memory`] |
//! | reductions and scans | [`combine`] |
//! | elements that are found by their numbers | [`gather`] |
//! | shared memory: rooms, barriers, other layouts | [`layout_conversion`] |
//! | matrix products | [`product`], [`warpgroup`], [`fragments`] |
//! | loops that copy factors ahead | [`software_pipeline`] |
//! | sums that a loop carries while products are added to them | [`flight`] |

mod combine;
mod control;
mod element;
mod flight;
mod fragments;
mod gather;
mod layout_conversion;
mod memory;
mod product;
mod software_pipeline;
mod warpgroup;

use super::MOST_REGISTERS;
use super::assign_layouts::{Assignment, LayoutId};
use super::control_dependence;
use super::layout::FREE;
use super::pipeline::{self, Pipeline};
use super::product as products;
use super::region_exits::RegionExit;
use crate::rewrite::{Pass, Rewriter};
use flight::Flight;
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_base::span::Span;
use girih_ir::groups::{arithmetic, effects_and_positions, jumps, other_control};
use girih_ir::{Caps, Feature, Function, Inst, InstId, Op, RegionId, Scalar, Type, ValueId};
use layout_conversion::Rooms;
use software_pipeline::Stages;
use std::rc::Rc;
use warpgroup::Factor;

/// Parts of a tile.
type Registers = Rc<[ValueId]>;
/// Something that may turn out to be impossible in this way.
type Made<T> = Result<T, Diagnostic>;

/// Kernels without products of which an invocation holds at most so many elements of a tile, run by at least so many invocations, are given at most so
/// many registers, so that two programs fit where one would.
const FEW: usize = 32;
const MANY: u32 = 256;
const REGISTERS: u32 = 64;

/// The kernel for its threads, where loops copy factors into so many stages of shared memory.
pub(super) fn run(kernel: &Function, plan: &Assignment, threads: u32, caps: &Caps, depth: u32) -> Made<Function> {
    if let Some(id) = plan.layouts.iter().position(|l| l.count() > MOST_REGISTERS.into()) {
        let count = plan.layouts[id].count();
        let why = format!("an invocation would hold {count} elements of this tile, more than {MOST_REGISTERS}");
        return Err(placed(impossible(&why), first_in(kernel, plan, id)));
    }
    let lanes = products::lanes(caps, threads);
    let mut distributed = Distributed {
        plan,
        caps,
        threads,
        lanes,
        held: FastMap::default(),
        enclosing: vec![],
        yielded: vec![],
        own: ValueId::new(0),
        bases: vec![],
        rooms: Rooms::default(),
        decides_control: control_dependence::control_dependent(kernel),
        shared_handles: control_dependence::written_and_read(kernel),
        used: control_dependence::used(kernel),
        pipelines: pipeline::find(kernel, plan, caps),
        depth,
        stages: None,
        flight: None,
        standing: vec![],
        extras: vec![],
    };
    let mut r = Rewriter::begin(kernel, &mut distributed)?;
    distributed.positions(&mut r);
    distributed.region(&mut r, kernel.body)?;
    distributed.rooms.settle(&mut r, caps)?;
    let little = plan.products.is_empty() && plan.layouts.iter().all(|l| l.count() <= FEW);
    if let Some(launch) = &mut r.out.function.launch {
        launch.subgroup = if lanes > 0 { Some(1 << lanes) } else { launch.subgroup };
        // What waits for memory should be many.
        launch.registers = launch.registers.or((little && threads >= MANY).then_some(REGISTERS));
    }
    Ok(r.out.function)
}

/// Why the fallback is to be taken, as a clause.
fn impossible(why: &str) -> Diagnostic {
    Diagnostic::new(Code::SharedMemory, Span::NONE, why)
}

/// A reason at a place, if it has none yet.
fn placed(why: Diagnostic, span: Span) -> Diagnostic {
    if why.span().is_none() {
        Diagnostic { hint: why.hint, ..Diagnostic::new(why.code, span, why.message) }
    } else {
        why
    }
}

/// The first operation that takes or gives a tile in a layout.
fn first_in(kernel: &Function, plan: &Assignment, layout: LayoutId) -> Span {
    let mut found = Span::NONE;
    let is_in = |v: &ValueId| plan.home[*v] == Some(layout) || plan.demands[*v].contains(&layout);
    kernel.walk(kernel.body, &mut |_, inst| {
        if found.is_none() && inst.results.iter().chain(&inst.operands).any(is_in) {
            found = inst.span;
        }
    });
    found
}

struct Distributed<'p> {
    plan: &'p Assignment,
    caps: &'p Caps,
    /// Invocations of a workgroup.
    threads: u32,
    /// Lanes of a subgroup, as a logarithm; 0 where they are not known.
    lanes: u8,
    held: FastMap<(ValueId, LayoutId), Registers>,
    /// Where the regions around end.
    enclosing: Vec<RegionExit>,
    /// What regions on elements have yielded.
    yielded: Vec<ValueId>,
    /// This invocation's number.
    own: ValueId,
    /// For each layout the bits of an element's number that the invocation says.
    bases: Vec<ValueId>,
    rooms: Rooms,
    /// Numbers on which control flow depends.
    decides_control: IndexVec<ValueId, bool>,
    /// Buffers where what one access writes another one may reach.
    shared_handles: Vec<ValueId>,
    used: IndexVec<ValueId, bool>,
    /// Loops that copy factors ahead, and into how many stages.
    pipelines: FastMap<InstId, Pipeline>,
    depth: u32,
    /// The factors of the loop that is being written.
    stages: Option<Stages>,
    /// The sums of the loop that is being written, if its products are in flight from one iteration to the next.
    flight: Option<Flight>,
    /// Factors that are the same in all iterations: the value, which operand it is, where it stands.
    standing: Vec<(ValueId, usize, Factor)>,
    /// For each loop what its next iteration begins with beside its own values.
    extras: Vec<Vec<ValueId>>,
}

impl Pass for Distributed<'_> {
    fn inst(&mut self, _: &mut Rewriter<'_>, _: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        Ok(None)
    }
}

/// A position without dimension.
fn position(r: &mut Rewriter<'_>, op: Op) -> ValueId {
    let id = r.out.op_with(op, None, &[], &[]);
    r.out.function.insts[id].results[0]
}

impl Distributed<'_> {
    /// The invocation's number, and what it says of elements in each layout.
    fn positions(&mut self, r: &mut Rewriter<'_>) {
        // A card numbers invocations lane by lane. Elsewhere the number that exchanges among lanes go by is made of theirs.
        self.own = if self.lanes == 0 || self.caps.has(Feature::Index64) {
            position(r, Op::LocalIndex)
        } else {
            let (group, lane) = (position(r, Op::SubgroupId), position(r, Op::Lane));
            let width = r.out.u32(self.lanes.into());
            let first = r.out.op(Op::Shl, Scalar::U32, &[group, width]);
            r.out.op(Op::Add, Scalar::U32, &[first, lane])
        };
        for layout in &self.plan.layouts {
            let base = self.scattered(r, &layout.threads);
            self.bases.push(base);
        }
    }

    /// The invocation's number with its bits moved to these places.
    fn scattered(&self, r: &mut Rewriter<'_>, places: &[u8]) -> ValueId {
        let mut sum: Option<ValueId> = None;
        let mut bit = 0;
        while bit < places.len() {
            let to = places[bit];
            if to == FREE {
                bit += 1;
                continue;
            }
            // Bits that stay beside each other are moved together.
            let count = (0..places.len() - bit).take_while(|i| places[bit + i] == to.wrapping_add(*i as u8)).count();
            let mut value = self.own;
            if bit > 0 {
                let down = r.out.u32(bit as u32);
                value = r.out.op(Op::Shr, Scalar::U32, &[value, down]);
            }
            if bit + count < places.len() {
                let mask = r.out.u32((1 << count) - 1);
                value = r.out.op(Op::And, Scalar::U32, &[value, mask]);
            }
            if to > 0 {
                let up = r.out.u32(to.into());
                value = r.out.op(Op::Shl, Scalar::U32, &[value, up]);
            }
            sum = Some(sum.map_or(value, |sum| r.out.op(Op::Add, Scalar::U32, &[sum, value])));
            bit += count;
        }
        sum.unwrap_or_else(|| r.out.u32(0))
    }

    /// The registers of a value in a layout; a scalar is its only register.
    fn registers(&mut self, r: &mut Rewriter<'_>, value: ValueId, layout: LayoutId) -> Made<Registers> {
        if r.old.ty(value).shape().is_none() {
            return Ok([r.value(self, value)].into());
        }
        if let Some(found) = self.held.get(&(value, layout)) {
            return Ok(found.clone());
        }
        let shown = self.plan.shown(layout);
        match self.held.get(&(value, shown)).cloned() {
            Some(registers) if shown != layout => {
                self.exchanged(r, &registers, (shown, layout), element_of(r, value), r.old.ty(value).shape())
            }
            _not_there => Err(impossible("a tile is not there in the layout in which it is wanted")),
        }
    }

    /// The registers of a value in the layout in which it was computed.
    fn at_home(&mut self, r: &mut Rewriter<'_>, value: ValueId) -> Made<(LayoutId, Registers)> {
        let layout = self.plan.home[value].or(self.plan.demands[value].first().copied()).unwrap_or(Assignment::SCALAR);
        Ok((layout, self.registers(r, value, layout)?))
    }

    /// Says what a tile is in its home, and moves it wherever else it is wanted.
    fn hold(&mut self, r: &mut Rewriter<'_>, value: ValueId, home: LayoutId, registers: Registers) -> Made<()> {
        if r.old.ty(value).shape().is_none() {
            r.set(value, &[registers[0]]);
            return Ok(());
        }
        let element = element_of(r, value);
        for layout in &self.plan.demands[value] {
            if *layout != home {
                let moved = self.exchanged(r, &registers, (home, *layout), element, r.old.ty(value).shape())?;
                self.held.insert((value, *layout), moved);
            }
        }
        self.held.insert((value, home), registers);
        Ok(())
    }

    /// Writes a region's instructions to where the output stands.
    fn region(&mut self, r: &mut Rewriter<'_>, region: RegionId) -> Made<()> {
        let old = r.old;
        for id in &old.regions[region].insts {
            let inst = &old.insts[*id];
            r.out.span = inst.span;
            self.step(r, *id, inst).map_err(|why| placed(why, inst.span))?;
        }
        Ok(())
    }

    fn step(&mut self, r: &mut Rewriter<'_>, id: InstId, inst: &Inst) -> Made<()> {
        let tiles = inst.results.iter().any(|v| r.old.ty(*v).shape().is_some());
        let unwanted = tiles && inst.results.iter().all(|v| self.plan.demands[*v].is_empty());
        if unwanted && inst.op.only_gives_results() || self.is_copied(inst) {
            return Ok(());
        }
        match inst.op {
            Op::If | Op::Switch => self.branch(r, inst),
            Op::Loop => self.loop_(r, id, inst),
            jumps!() => self.jump(r, inst),
            Op::TileStore => self.store(r, id, inst),
            Op::TileAtomic | Op::TileCompareExchange => self.atomic(r, id, inst),
            Op::TileAssert => self.assertion(r, inst),
            // Nobody listens to a device, and nothing depends on a promise.
            Op::TilePrint | Op::TileAssume => Ok(()),
            Op::TileHint if !tiles => {
                let value = r.value(self, inst.operands[0]);
                r.set(inst.results[0], &[value]);
                Ok(())
            }
            Op::TileLoad => self.load(r, id, inst),
            Op::TileReduce => self.reduce(r, id, inst),
            Op::TileScan => self.scan(r, id, inst),
            Op::TileDot => self.product(r, id, inst),
            Op::TileGather => self.gather(r, id, inst),
            Op::TileHistogram => self.histogram(r, id, inst),
            Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileJoin
            | Op::TileSplit
            | Op::TileCat
            | Op::TileMap
            | Op::TileHint => self.elements(r, inst),
            effects_and_positions!() | arithmetic!() | other_control!() if tiles => self.elements(r, inst),
            effects_and_positions!() | arithmetic!() | other_control!() => r.copy(self, inst).map(|_| ()),
        }
    }
}

/// The type of a value's elements.
fn element_of(r: &Rewriter<'_>, value: ValueId) -> Scalar {
    r.old.ty(value).element().unwrap_or(Scalar::U32)
}

/// A truth value in memory is a word.
fn stored(element: Scalar) -> Scalar {
    if element == Scalar::Bool { Scalar::U32 } else { element }
}

/// Values as a vector; one alone stays as it is.
fn vector(r: &mut Rewriter<'_>, element: Scalar, values: &[ValueId]) -> (Type, ValueId) {
    match values {
        [one] => (Type::Scalar(element), *one),
        many => {
            let ty = Type::Vector(element, many.len() as u8);
            (ty, r.out.op(Op::Vector, ty, many))
        }
    }
}

/// The lanes of a vector.
fn lanes(r: &mut Rewriter<'_>, element: Scalar, vector: ValueId, count: usize) -> Vec<ValueId> {
    if count == 1 {
        return vec![vector];
    }
    (0..count as u32)
        .map(|i| {
            let at = r.out.u32(i);
            r.out.op(Op::Extract, element, &[vector, at])
        })
        .collect()
}
