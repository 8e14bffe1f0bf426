//! Loop nests: a program runs on one thread, and its tiles are arrays that loops over vectors of four numbers walk through.
//!
//! This is the lowering for processors. A workgroup has one invocation, so there is no barrier and no exchange.
//!
//! * **Arrays.** What is loaded, reduced, multiplied or carried by a loop lies in an array, in order.
//! * **Fusion.** Arithmetic that is used once, or is cheap, has no array: whoever needs an element computes it there and then, from arrays and
//!   from the positions of the element. So a chain of operations becomes one loop.
//! * **Vectors.** A loop handles four neighbours along the innermost dimension at once, as far as the elements are `f32`, `i32`, `u32` or `bool`. Other
//!   types, and regions with control flow, are computed element by element.
//!
//! | what | see |
//! |---|---|
//! | which values have arrays | [`storing`] |
//! | positions of elements, and how views change them | [`point`] |
//! | the value of an element, or of four | [`element`] |
//! | loads, stores, atomic operations | [`memory`] |
//! | reductions, scans, histograms | [`combine`] |
//! | matrix products | [`product`] |
//! | loops and branches that carry tiles | [`mod@control`] |
//! | functions of vectors | [`functions`], [`rare_lanes`] |
//!
//! Invariant: an array is written once between two uses of its value. Loads happen where the program says, or later in the same region with no
//! write to the same buffer in between.

/// What gives no tile whose elements can be computed one by one.
macro_rules! not_by_element {
    () => {
        control!()
            | effects_and_positions!()
            | Op::TileCat
            | Op::TileHistogram
            | Op::TileReduce
            | Op::TileScan
            | Op::TileDot
            | Op::TileStore
            | Op::TileAtomic
            | Op::TileCompareExchange
            | Op::TileAssume
            | Op::TilePrint
            | Op::TileAssert
    };
}

mod combine;
mod control;
mod element;
pub mod functions;
mod memory;
mod point;
mod product;
mod rare_lanes;
mod storing;

use super::axis::Axes;
use super::region_exits::RegionExit;
use super::{carried, fp8};
use crate::rewrite::{Pass, Rewriter};
use crate::simplify::memory::may_alias;
use crate::spmd::lanes::Wide;
use girih_base::diag::{Code, Diagnostic};
use girih_base::hash::FastMap;
use girih_ir::groups::{arithmetic, control, effects_and_positions, jumps, not_control, regions};
use girih_ir::ops::Family;
use girih_ir::{Caps, Function, Inst, Op, Scalar, Shape, Space, Type, ValueId};
use point::Point;
use std::collections::HashMap;
use storing::Uses;

/// A result, or why there is no loop nest.
type Made<T> = Result<T, Diagnostic>;

/// Lanes of a vector.
const LANES: u64 = 4;

/// A tile's memory: its elements in order. Truth values are words, all ones or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Array {
    handle: ValueId,
    element: Scalar,
    shape: Shape,
}

impl Array {
    /// What its memory holds.
    fn stored(&self) -> Scalar {
        if self.element == Scalar::Bool { Scalar::U32 } else { self.element }
    }
}

/// The lowering's state.
struct LoopNest<'a> {
    caps: &'a Caps,
    axes: Axes,
    uses: Uses,
    /// Tiles that have arrays; others are computed where they are used.
    arrays: FastMap<ValueId, Array>,
    /// Loads that have not happened yet, with their buffers.
    pending: Vec<(ValueId, ValueId)>,
    /// What has been computed for the element at hand, for each region that is being written.
    known: Vec<HashMap<(ValueId, Point), Wide>>,
    enclosing: Vec<RegionExit>,
    yielded: Vec<ValueId>,
    bytes: u64,
}

/// The kernel as a loop nest.
///
/// # Errors
/// If its tiles take more memory than a program has.
pub(super) fn run(kernel: &Function, caps: &Caps) -> Made<Function> {
    let mut kernel = kernel.clone();
    carried::run(&mut kernel);
    fp8::run(&mut kernel, caps);
    if let Some(launch) = &mut kernel.launch {
        launch.workgroup = [1, 1, 1];
    }
    let mut nest = LoopNest {
        caps,
        axes: Axes::of(&kernel),
        uses: Uses::of(&kernel),
        arrays: FastMap::default(),
        pending: vec![],
        known: vec![],
        enclosing: vec![],
        yielded: vec![],
        bytes: 0,
    };
    let function = Rewriter::run(&kernel, &mut nest)?;
    if nest.bytes > u64::from(caps.shared_bytes) {
        let message = format!("its tiles take {} bytes, and a program has {}", nest.bytes, caps.shared_bytes);
        return Err(Diagnostic::new(Code::SharedMemory, kernel.span, message));
    }
    Ok(function)
}

/// Whether vectors of four of these are computed with.
fn is_lane(element: Scalar) -> bool {
    matches!(element, Scalar::F32 | Scalar::I32 | Scalar::U32 | Scalar::Bool)
}

impl LoopNest<'_> {
    /// An array for a tile.
    fn array(&mut self, r: &mut Rewriter<'_>, element: Scalar, shape: Shape) -> Array {
        let mut array = Array { handle: ValueId::new(0), element, shape };
        let length = r.out.u32(shape.elements() as u32);
        array.handle = r.out.function.memory(None, Space::Shared, Type::Scalar(array.stored()), length);
        if let Some(id) = r.out.function.memories.ids().next_back() {
            r.out.function.memories[id].align = 16;
        }
        self.bytes += (shape.elements() * u64::from(array.stored().bytes())).next_multiple_of(16);
        array
    }

    /// The array of a tile, made now if there is none yet.
    fn stored(&mut self, r: &mut Rewriter<'_>, value: ValueId) -> Made<Array> {
        if let Some(array) = self.arrays.get(&value) {
            return Ok(*array);
        }
        let (element, shape) = tile(r, value);
        let array = self.array(r, element, shape);
        self.fill(r, array, value)?;
        self.arrays.insert(value, array);
        self.pending.retain(|(load, _)| *load != value);
        Ok(array)
    }

    /// Computes a tile into an array.
    fn fill(&mut self, r: &mut Rewriter<'_>, array: Array, value: ValueId) -> Made<()> {
        self.each_chunk(r, array.shape, &mut |nest, r, point| {
            if point.axis.is_some() && is_lane(array.element) {
                let wide = nest.wide(r, value, point)?;
                nest.put_wide(r, array, point, wide);
                return Ok(());
            }
            for point in point.lanes(r) {
                let one = nest.single(r, value, &point)?;
                nest.put(r, array, &point, one);
            }
            Ok(())
        })
    }

    /// Copies an array.
    fn copy(&mut self, r: &mut Rewriter<'_>, from: Array, to: Array) -> Made<()> {
        self.each_chunk(r, to.shape, &mut |nest, r, point| {
            if point.axis.is_some() && is_lane(to.element) {
                let wide = nest.get_wide(r, from, point);
                nest.put_wide(r, to, point, wide);
                return Ok(());
            }
            for point in point.lanes(r) {
                let one = nest.get(r, from, &point);
                nest.put(r, to, &point, one);
            }
            Ok(())
        })
    }

    /// Loads of what a buffer may overlap happen now; those of all buffers if none is named.
    fn settle(&mut self, r: &mut Rewriter<'_>, buffer: Option<ValueId>) -> Made<()> {
        let due = |(_, of): &&(ValueId, ValueId)| buffer.is_none_or(|buffer| may_alias(r.old, buffer, *of));
        let loads: Vec<ValueId> = self.pending.iter().filter(due).map(|(load, _)| *load).collect();
        for load in loads {
            self.stored(r, load)?;
        }
        Ok(())
    }

    /// An instruction that gives tiles: into arrays if they are worth it.
    fn tiles(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        match inst.op {
            Op::TileReduce => self.reduce(r, inst),
            Op::TileScan => self.scan(r, inst),
            Op::TileHistogram => self.histogram(r, inst),
            Op::TileDot => self.dot(r, inst),
            Op::TileCat => self.cat(r, inst),
            Op::TileAtomic | Op::TileCompareExchange => self.atomic(r, inst),
            Op::TileStore => self.store(r, inst),
            Op::TileAssert => self.assertion(r, inst),
            // Nobody listens to a device, and nothing depends on a promise.
            Op::TilePrint | Op::TileAssume => Ok(()),
            Op::TileLoad => {
                if self.may_wait(r.old, inst) {
                    self.pending.push((inst.results[0], inst.operands[0]));
                    return Ok(());
                }
                self.arrays_of(r, inst)
            }
            Op::TileGather => {
                self.stored(r, inst.operands[0])?;
                self.computed(r, inst)
            }
            Op::TileIota
            | Op::TileSplat
            | Op::TileBroadcast
            | Op::TileReshape
            | Op::TilePermute
            | Op::TileJoin
            | Op::TileSplit
            | Op::TileHint
            | Op::TileMap
            | arithmetic!() => self.computed(r, inst),
            // Nothing else has to do with tiles.
            control!() | effects_and_positions!() => Ok(()),
        }
    }

    /// Arithmetic and views: an array if the values are used more than once and cost something.
    fn computed(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let has_tiles = inst.results.iter().any(|v| is_tile(r.old, *v));
        if !has_tiles || self.is_worth_an_array(r.old, inst) { self.arrays_of(r, inst) } else { Ok(()) }
    }

    /// An instruction that gives single numbers.
    fn numbers(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        let point = Point { at: vec![], axis: None };
        for (which, result) in inst.results.iter().enumerate() {
            let value = self.scoped(|nest| nest.element(r, inst, which, &point))?;
            r.set(*result, &[value]);
        }
        Ok(())
    }

    /// Tiles into arrays, numbers at once.
    fn arrays_of(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Made<()> {
        if !inst.results.iter().any(|v| is_tile(r.old, *v)) {
            return self.numbers(r, inst);
        }
        for result in &inst.results {
            self.stored(r, *result)?;
        }
        Ok(())
    }
}

fn is_tile(function: &Function, value: ValueId) -> bool {
    matches!(function.ty(value), Type::Tile(_))
}

/// Element and shape of a tile.
fn tile(r: &Rewriter<'_>, value: ValueId) -> (Scalar, Shape) {
    match r.old.ty(value) {
        Type::Tile(tile) => (tile.element, tile.shape),
        other => unreachable!("`{other}` is no tile"),
    }
}

/// Whether an instruction has to do with tiles.
fn concerns_tiles(function: &Function, inst: &Inst) -> bool {
    inst.op.row().family == Family::Tile || inst.operands.iter().chain(&inst.results).any(|v| is_tile(function, *v))
}

impl Pass for LoopNest<'_> {
    /// What stands for a tile where values are carried is a number that nobody reads: its elements are in an array.
    fn types(&mut self, ty: Type) -> (Type, usize) {
        (if matches!(ty, Type::Tile(_)) { Type::U32 } else { ty }, 1)
    }

    fn inst(&mut self, r: &mut Rewriter<'_>, inst: &Inst) -> Result<Option<Vec<Vec<ValueId>>>, Diagnostic> {
        match inst.op {
            regions!() => return self.branch_or_loop(r, inst).map(Some),
            jumps!() => return self.jump(r, inst),
            Op::Call | Op::Return | Op::Grid | Op::TrapIf => return Ok(None),
            not_control!() => {}
        }
        if !concerns_tiles(r.old, inst) {
            return Ok(None);
        }
        self.tiles(r, inst)?;
        let mut stands = vec![];
        for result in &inst.results {
            stands.push(vec![if is_tile(r.old, *result) { r.out.u32(0) } else { r.value(self, *result) }]);
        }
        Ok(Some(stands))
    }
}
