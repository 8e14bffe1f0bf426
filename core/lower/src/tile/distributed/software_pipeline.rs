//! Loops that copy factors ahead: some iterations before a product its factors start on their way from the buffers to shared memory.
//!
//! With n stages, iteration i waits for its own stage, passes a barrier, and starts the copies of iteration i + n - 1 into the stage that iteration
//! i - 1 has read. Numbers on which the copies depend are carried a second time, n - 1 iterations ahead; copies of iterations that will
//! not be read nothing.
//!
//! Where products are [in flight](super::flight) from one iteration to the next, iteration i - 1 may still read its stage. Then copies are one iteration less
//! ahead: iteration i starts those of i + n - 2, into the stage of iteration i - 2.
//!
//! On devices without asynchronous copies there are two stages: after the barrier, iteration i loads the factors of the next iteration,
//! and stores them into the other stage after its own products. If there is room for only one stage, the stores wait until all invocations have read it.

use super::super::pipeline::{Copied, Pipeline};
use super::super::product::Unit;
use super::super::region_exits::RegionExit;
use super::layout_conversion::beside;
use super::memory::Loaded;
use super::warpgroup::Factor;
use super::{Distributed, Made, impossible};
use crate::rewrite::Rewriter;
use girih_ir::{Attr, Feature, Inst, InstId, Op, RegionId, Scalar, Type, ValueId};

/// Stages that a loop whose products are in flight needs: one that is read, one that the products before may still read, and one to copy into.
pub(super) const LEAST_IN_FLIGHT: u32 = 3;

/// The factors of the loop that is being written.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    handle: ValueId,
    element: Scalar,
    /// Where each factor begins in a stage.
    starts: Vec<u32>,
    /// Elements of a stage, and how many stages there are.
    size: u32,
    depth: u32,
    /// How many iterations ahead copies are.
    ahead: u32,
    /// Whether copies run beside the program.
    beside: bool,
    /// Whether warpgroups read them, in a way of their own.
    fence: bool,
    /// Whether only the matrix unit looks into them, by fragments: then they are copied as words.
    words: bool,
    /// What was loaded for the next iteration and is not put anywhere yet.
    loaded: Vec<Vec<Loaded>>,
    /// The copies that start behind the products of this iteration.
    later: Option<(Pipeline, Later)>,
    /// What products take, where it is in this iteration, and what shows it.
    factors: Vec<(ValueId, Factor)>,
    shown: Vec<ValueId>,
}

/// The copies of a later iteration: the loop's parameters, its carried numbers now and then, and the stages that are read and written.
#[derive(Clone, Debug)]
struct Later {
    params: Vec<ValueId>,
    own: Vec<ValueId>,
    ahead: Vec<ValueId>,
    read: ValueId,
    write: ValueId,
}

impl Distributed<'_> {
    /// A factor that was copied ahead.
    pub(super) fn ahead(&self, value: ValueId) -> Option<Factor> {
        let found = self.stages.as_ref().and_then(|s| s.factors.iter().find(|f| f.0 == value));
        found.map(|f| f.1)
    }

    /// Whether an instruction only shows what was copied ahead.
    pub(super) fn is_copied(&self, inst: &Inst) -> bool {
        let shown = |s: &Stages| inst.results.iter().any(|v| s.shown.contains(v));
        self.stages.as_ref().is_some_and(shown)
    }

    pub(super) fn copying_loop(&mut self, r: &mut Rewriter<'_>, inst: &Inst, pipeline: &Pipeline) -> Made<()> {
        let old = r.old;
        let body = inst.regions[0];
        let params = old.regions[body].params.clone();
        let elements: Vec<Scalar> = pipeline.copied.iter().map(|c| old.insts[c.load].element()).collect();
        let element = elements[0];
        if elements.iter().any(|e| *e != element) || self.stages.is_some() {
            return Err(impossible("factors of two types are copied ahead"));
        }
        let (mut starts, mut size) = (vec![], 0u32);
        for copied in &pipeline.copied {
            starts.push(size);
            size += (copied.stored.elements() as u32).next_multiple_of(512);
        }
        let beside = self.caps.has(Feature::AsyncCopy);
        let depth = if beside { self.depth } else { self.depth.min(2) };
        let by_fragments = self.plan.products.values().all(|p| matches!(p.by, Unit::Fragments(_)));
        let bytes = self.caps.local_views || self.caps.has(Feature::StrictFloats);
        let words = !beside && by_fragments && bytes && element.bytes() < 4;
        let (unit, count) = (if words { Scalar::U32 } else { element }, u64::from(size * depth));
        let handle = self.stages(r, unit, count * u64::from(element.bytes()) / u64::from(unit.bytes()));
        let shown = pipeline.copied.iter().flat_map(|c| c.shown.clone()).collect();
        let flies = self.take_off(r, inst, pipeline)?;
        let ahead = if flies { depth - 2 } else { (depth - 1).max(1) };
        let fence = self.plan.products.values().any(|p| matches!(p.by, Unit::Warpgroups(_)));
        let mut stages = Stages {
            handle,
            element,
            starts,
            size,
            depth,
            ahead,
            beside,
            fence,
            words,
            loaded: vec![],
            later: None,
            factors: vec![],
            shown,
        };
        let mut ahead: Vec<ValueId> = vec![];
        for slot in &pipeline.carried {
            ahead.push(r.value(self, inst.operands[*slot]));
        }
        let mut initial = vec![];
        for (param, value) in params.iter().zip(&inst.operands) {
            initial.extend_from_slice(&self.goes(r, *value, *param)?);
        }
        for stage in 0..stages.ahead {
            let at = r.out.u32(stage * size);
            ahead = self.copies(r, (pipeline, &mut stages), &params, &ahead, at)?;
            self.put_loaded(r, pipeline, &mut stages, at)?;
        }
        let first = initial.len();
        initial.extend_from_slice(&ahead);
        let write = if depth == 1 { 0 } else { stages.ahead * size };
        initial.extend([r.out.u32(0), r.out.u32(write)]);

        let region = r.out.new_region(&[]);
        let outer = std::mem::replace(&mut r.out.region, region);
        self.rooms.unknown();
        let own = self.enter(r, &params, region)?;
        debug_assert_eq!(own, first);
        let more: Vec<Type> = initial[first..].iter().map(|v| r.out.ty(*v)).collect();
        let more: Vec<ValueId> = more.into_iter().map(|ty| r.argument(region, ty)).collect();
        let results: Vec<ValueId> = inst.results.iter().copied().filter(|v| self.carried_out(r, *v)).collect();
        let own_results = inst.results.to_vec();
        self.enclosing.push(RegionExit::Loop { params: params.clone(), results: own_results, carries_all: false });
        self.stages = Some(stages);
        let written = self.iteration(r, pipeline, body, &params, &more);
        self.stages = None;
        self.rooms.copying(false);
        self.extras.pop();
        self.enclosing.pop();
        self.rooms.unknown();
        r.out.region = outer;
        written?;
        let values = self.close(r, inst, (region, &initial), &results);
        // Copies of iterations that were not made have written zeros. Results may change their layout where those stand.
        if beside {
            r.out.op_with(Op::AsyncWait, None, &[], &[Attr::Pending(0)]);
        }
        self.results(r, &results, &values)?;
        self.land(r)
    }

    fn iteration(
        &mut self,
        r: &mut Rewriter<'_>,
        pipeline: &Pipeline,
        body: RegionId,
        params: &[ValueId],
        more: &[ValueId],
    ) -> Made<()> {
        let old = r.old;
        let (ahead, ends) = more.split_at(more.len() - 2);
        let (read, write) = (ends[0], ends[1]);
        self.extras.push(vec![]);
        for id in &old.regions[body].insts {
            let inst = &old.insts[*id];
            r.out.span = inst.span;
            if *id == pipeline.next
                && let Some(mut stages) = self.stages.take()
            {
                if stages.depth == 1 {
                    self.barrier(r, false);
                }
                self.put_loaded(r, pipeline, &mut stages, write)?;
                self.stages = Some(stages);
            }
            self.step(r, *id, inst)?;
            if *id == pipeline.exit.0 {
                let stages = self.stages.as_ref().map(|s| (s.beside, s.ahead, s.fence));
                if let Some((true, ahead, fence)) = stages {
                    r.out.op_with(Op::AsyncWait, None, &[], &[Attr::Pending(ahead - 1)]);
                    if fence {
                        r.out.op_with(Op::FenceAsync, None, &[], &[]);
                    }
                }
                self.barrier(r, false);
                self.next_copies(r, pipeline, params, ahead, (read, write))?;
            }
        }
        Ok(())
    }

    /// Starts the copies of a later iteration, and says where this one's factors are. Where products are in flight, the copies start behind this iteration's
    /// products, which so begin sooner.
    fn next_copies(
        &mut self,
        r: &mut Rewriter<'_>,
        pipeline: &Pipeline,
        params: &[ValueId],
        ahead: &[ValueId],
        (read, write): (ValueId, ValueId),
    ) -> Made<()> {
        let Some(mut stages) = self.stages.take() else { return Err(impossible("copies of no loop")) };
        let mut own = vec![];
        for slot in &pipeline.carried {
            own.push(r.value(self, params[*slot]));
        }
        let later = Later { params: params.to_vec(), own, ahead: ahead.to_vec(), read, write };
        if self.flight.is_some() {
            self.carried_on(r, pipeline, params, &later.own)?;
            stages.later = Some((pipeline.clone(), later));
        } else {
            self.copies_of(r, pipeline, &mut stages, &later)?;
        }
        stages.factors.clear();
        for (copied, start) in pipeline.copied.iter().zip(&stages.starts) {
            let start = r.out.u32(*start);
            let start = r.out.op(Op::Add, Scalar::U32, &[read, start]);
            stages.factors.push((copied.factor, Factor { handle: stages.handle, start: Some(start) }));
        }
        self.stages = Some(stages);
        Ok(())
    }

    /// Starts the copies that wait for the products of this iteration to be started.
    pub(super) fn later_copies(&mut self, r: &mut Rewriter<'_>) -> Made<()> {
        let Some(mut stages) = self.stages.take() else { return Ok(()) };
        if let Some((pipeline, later)) = stages.later.take() {
            self.copies_of(r, &pipeline, &mut stages, &later)?;
        }
        self.stages = Some(stages);
        Ok(())
    }

    /// Starts the copies of a later iteration, and says what the next one begins with. The carried numbers are this iteration's before and after.
    fn copies_of(&mut self, r: &mut Rewriter<'_>, pipeline: &Pipeline, stages: &mut Stages, later: &Later) -> Made<()> {
        let mut extras = self.copies(r, (pipeline, stages), &later.params, &later.ahead, later.write)?;
        self.carried_on(r, pipeline, &later.params, &later.own)?;
        for at in [later.read, later.write] {
            extras.push(after(r, at, stages.size, stages.depth));
        }
        if let Some(last) = self.extras.last_mut() {
            *last = extras;
        }
        Ok(())
    }

    /// Computes what copies depend on from these carried numbers.
    fn carried_on(
        &mut self,
        r: &mut Rewriter<'_>,
        pipeline: &Pipeline,
        params: &[ValueId],
        carried: &[ValueId],
    ) -> Made<()> {
        let old = r.old;
        for (slot, value) in pipeline.carried.iter().zip(carried) {
            r.set(params[*slot], &[*value]);
        }
        pipeline.slice.iter().try_for_each(|id| self.step(r, *id, &old.insts[*id]))
    }

    /// Starts the copies of the iteration that begins with these numbers; gives those of the one after it.
    fn copies(
        &mut self,
        r: &mut Rewriter<'_>,
        (pipeline, stages): (&Pipeline, &mut Stages),
        params: &[ValueId],
        ahead: &[ValueId],
        at: ValueId,
    ) -> Made<Vec<ValueId>> {
        let old = r.old;
        self.carried_on(r, pipeline, params, ahead)?;
        let ends = r.value(self, old.insts[pipeline.exit.0].operands[0]);
        let goes_on = if pipeline.exit.1 { r.out.op(Op::Not, Scalar::Bool, &[ends]) } else { ends };
        for (i, copied) in pipeline.copied.iter().enumerate() {
            if !stages.beside {
                let loaded = self.loaded_units(r, copied.load, goes_on, stages.words)?;
                stages.loaded.push(loaded);
                continue;
            }
            let start = r.out.u32(stages.starts[i]);
            let start = r.out.op(Op::Add, Scalar::U32, &[at, start]);
            self.copy(r, copied, stages, start, goes_on)?;
        }
        if stages.beside {
            r.out.op_with(Op::AsyncCommit, None, &[], &[]);
        }
        let next = &old.insts[pipeline.next];
        Ok(pipeline.carried.iter().map(|slot| r.value(self, next.operands[*slot])).collect())
    }

    /// Puts what was loaded into the stage that begins here.
    fn put_loaded(&mut self, r: &mut Rewriter<'_>, pipeline: &Pipeline, stages: &mut Stages, at: ValueId) -> Made<()> {
        let loaded = std::mem::take(&mut stages.loaded);
        for ((copied, start), registers) in pipeline.copied.iter().zip(&stages.starts).zip(loaded) {
            let log = r.out.u32(copied.width.into());
            let start = r.out.u32(*start);
            let start = r.out.op(Op::Add, Scalar::U32, &[at, start]);
            let start = r.out.op(Op::Shr, Scalar::U32, &[start, log]);
            let places = self.addresses(r, self.plan.access[&copied.load], copied.stored, copied.width);
            for loaded in registers {
                let place = places.iter().find(|(_, registers)| *registers == loaded.registers);
                let place = place.ok_or_else(|| impossible("copies of another width"))?.0;
                let (ty, value) = loaded.vector(r);
                let to = r.out.op(Op::Add, Scalar::U32, &[start, place]);
                r.out.store(ty, stages.handle, to, value);
            }
        }
        Ok(())
    }

    fn copy(
        &mut self,
        r: &mut Rewriter<'_>,
        copied: &Copied,
        stages: &Stages,
        start: ValueId,
        goes_on: ValueId,
    ) -> Made<()> {
        let load: InstId = copied.load;
        let inst = &r.old.insts[load];
        let layout = self.plan.access[&load];
        let buffer = r.value(self, inst.operands[0]);
        let indices = self.registers(r, inst.operands[1], layout)?;
        let inside = self.registers(r, inst.operands[2], layout)?;
        let of = r.old.ty(inst.operands[1]).element().unwrap_or(Scalar::U32);
        let log = r.out.u32(copied.width.into());
        let start = r.out.op(Op::Shr, Scalar::U32, &[start, log]);
        let ty = if copied.width == 0 {
            Type::Scalar(stages.element)
        } else {
            Type::Vector(stages.element, 1 << copied.width)
        };
        let places = self.addresses(r, layout, copied.stored, copied.width);
        for group in self.accesses(r, inst, inst.operands[2], layout, false) {
            let place = places.iter().find(|(_, registers)| *registers == group.registers);
            let place = place.ok_or_else(|| impossible("copies of another width"))?.0;
            let to = r.out.op(Op::Add, Scalar::U32, &[start, place]);
            let (from, offset) = self.index(r, super::memory::one_of(&indices, group.from), of, &group);
            let condition = super::memory::one_of(&inside, group.registers[0]);
            let condition = r.out.op(Op::And, Scalar::Bool, &[goes_on, condition]);
            let attrs: Vec<Attr> = beside(offset)
                .into_iter()
                .map(|attr| if let Attr::Offset(n) = attr { Attr::SourceOffset(n) } else { attr })
                .collect();
            r.out.op_with(Op::AsyncCopy, Some(ty), &[stages.handle, to, buffer, from, condition], &attrs);
        }
        Ok(())
    }
}

/// The beginning of the next stage.
fn after(r: &mut Rewriter<'_>, at: ValueId, size: u32, count: u32) -> ValueId {
    let (step, end, zero) = (r.out.u32(size), r.out.u32(size * count), r.out.u32(0));
    let next = r.out.op(Op::Add, Scalar::U32, &[at, step]);
    let over = r.out.op(Op::Eq, Scalar::U32, &[next, end]);
    r.out.op(Op::Select, Scalar::U32, &[over, zero, next])
}
