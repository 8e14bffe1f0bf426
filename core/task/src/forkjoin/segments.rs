//! Segments: the code from a point to where it is left, and how it is left.
//!
//! A segment is written as a region that yields where to go on and in which way, the stack's end, the steps that are left, and registers. On
//! the way, calls are not made but gone into, as far as that is worth it: who called is remembered while code is written, and what is kept
//! over a call goes to the lane's stack only where the segment ends within it. So a recursion's last levels become one piece of code, without
//! a frame.

use super::copier::{Around, Copier, Facts, Names};
use super::labels::{Labels, Places, words};
use super::lane::Lane;
use super::points::{Point, Points};
use super::refused;
use super::sites::Sites;
use crate::word;
use girih_base::diag::Diagnostic;
use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::{Builder, Function, FunctionId, Inst, InstId, Module, Op, RegionId, Type, ValueId};
use std::collections::HashSet;
use std::rc::Rc;

/// How a segment is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To a label.
    Go,
    /// To whoever called, with the first registers.
    Return,
    /// To a label, when the frame in the first register has what it waits for.
    Wait,
    /// The program is wrong: the first register says how.
    Trap,
    /// Nowhere: there was no memory for a cell. No segment says so itself.
    Lack,
}

impl Way {
    pub const ALL: [Way; 5] = [Way::Go, Way::Return, Way::Wait, Way::Trap, Way::Lack];
    /// Where the way stands in a label's word.
    pub const BIT: u32 = super::memory::label::END;
}

/// How far calls are gone into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// How many instructions a segment may have before it shall end.
    pub segment: i64,
    /// The largest function that is gone into.
    pub function: usize,
    /// How often a function is gone into within itself, if it has few instructions.
    pub recursion: usize,
    /// How many calls are gone into within each other beyond the first.
    pub callers: usize,
}

/// A function on the way.
#[derive(Clone)]
pub(super) struct Activation<'a> {
    pub id: FunctionId,
    pub points: Rc<Points<'a>>,
    pub names: Names,
}

/// Who waits for the end of a call while code is written.
#[derive(Clone)]
pub(super) struct Caller<'a> {
    pub activation: Activation<'a>,
    pub call: InstId,
}

/// Where the writer is and what it knows.
#[derive(Clone)]
pub(super) struct Path<'a> {
    pub here: Activation<'a>,
    pub callers: Vec<Caller<'a>>,
    pub facts: Facts,
    /// The steps that are left.
    pub steps: ValueId,
    /// How many tail calls led here.
    pub tails: usize,
}

/// Writes segments.
pub(super) struct SegmentWriter<'a, 'b> {
    pub module: &'a Module,
    pub framed: &'a HashSet<FunctionId>,
    pub pure: &'b IndexVec<FunctionId, Option<FunctionId>>,
    sites: &'b Sites,
    pub labels: Labels,
    pub depth: Depth,
    /// The most frames that a segment puts on the stack, and the most units that it takes of the heap.
    pub pushes: u32,
    pub reserve: u32,
    points: FastMap<FunctionId, Rc<Points<'a>>>,
    sizes: FastMap<FunctionId, usize>,
}

/// A segment on its way.
pub(super) struct Segment<'a, 'b, 'c> {
    pub w: &'c mut SegmentWriter<'a, 'b>,
    pub b: &'c mut Builder,
    pub lane: Lane,
    /// The end of the lane's stack when the segment begins.
    pub depth: ValueId,
    pub left: i64,
}

impl<'a, 'b> SegmentWriter<'a, 'b> {
    pub fn new(
        module: &'a Module,
        framed: &'a HashSet<FunctionId>,
        pure: &'b IndexVec<FunctionId, Option<FunctionId>>,
        sites: &'b Sites,
        depth: Depth,
    ) -> SegmentWriter<'a, 'b> {
        let (labels, points, sizes) = (Labels::default(), FastMap::default(), FastMap::default());
        SegmentWriter { module, framed, pure, sites, labels, depth, pushes: 0, reserve: 0, points, sizes }
    }

    pub fn points(&mut self, id: FunctionId) -> Rc<Points<'a>> {
        let (module, framed) = (self.module, self.framed);
        self.points.entry(id).or_insert_with(|| Rc::new(Points::of(&module.functions[id], framed))).clone()
    }
    /// The label's word of a point.
    pub fn label(&mut self, id: FunctionId, point: Point) -> Result<u32, Diagnostic> {
        let points = self.points(id);
        let point = points.stands_for(point);
        self.labels.label(self.module, id, &points, point)
    }
    pub fn places(&mut self, id: FunctionId, point: Point) -> Result<Rc<Places>, Diagnostic> {
        let points = self.points(id);
        let point = points.stands_for(point);
        self.labels.places(self.module, id, &points, point)
    }
    pub(super) fn size(&mut self, id: FunctionId) -> usize {
        let module = self.module;
        *self.sizes.entry(id).or_insert_with(|| {
            let function = &module.functions[id];
            let mut count = 0;
            function.walk(function.body, &mut |_, _| count += 1);
            count
        })
    }

    /// Writes the segment of a point into the builder's region, and ends it.
    pub fn segment(
        &mut self,
        b: &mut Builder,
        lane: Lane,
        (id, point): (FunctionId, Point),
        (depth, steps, registers): (ValueId, ValueId, &[ValueId]),
    ) -> Result<(), Diagnostic> {
        let points = self.points(id);
        let places = self.places(id, point)?;
        let left = self.depth.segment;
        let here = Activation { id, points, names: Names::default() };
        let mut path = Path { here, callers: vec![], facts: Facts::default(), steps, tails: 0 };
        let mut segment = Segment { w: self, b, lane, depth, left };
        segment.begin(&mut path, &places, registers)?;
        match point {
            Point::Entry => {
                let body = path.here.points.function.body;
                segment.go_on(path, body, 0)
            }
            Point::Head(inst) => segment.iterate(path, inst, None),
            Point::After(inst) => {
                segment.publish(&mut path, inst);
                let (region, position) = path.here.points.place(inst);
                segment.go_on(path, region, position + 1)
            }
        }?;
        self.reserve = self.reserve.max(self.sites.taken());
        Ok(())
    }
}

impl<'a> Segment<'a, '_, '_> {
    /// Names what registers and the frame hold.
    fn begin(&mut self, path: &mut Path<'a>, places: &Places, registers: &[ValueId]) -> Result<(), Diagnostic> {
        let function = path.here.points.function;
        for (value, first) in &places.given {
            let types = words(self.w.module, function, *value);
            let mut named = vec![];
            if places.is_fork {
                named.push(self.lane.load_stack(self.b, self.depth, 1));
            }
            let rest = &types[named.len()..];
            for (i, ty) in (*first..).zip(rest) {
                let word = self.register(registers, i);
                named.push(self.typed(word, *ty));
            }
            path.here.names.set(*value, named);
        }
        for (value, first) in &places.kept {
            let types = words(self.w.module, function, *value);
            let mut named = vec![];
            for (i, ty) in (*first..).zip(&types) {
                let word = match places.in_frame {
                    true => self.lane.load_stack(self.b, self.depth, 1 + i),
                    false => self.register(registers, i),
                };
                named.push(self.typed(word, *ty));
            }
            path.here.names.set(*value, named);
        }
        Ok(())
    }

    /// A register; while it is not known yet how many there must be, something else of which nothing is known.
    fn register(&mut self, registers: &[ValueId], i: u32) -> ValueId {
        let there = registers.get(i as usize).copied();
        there.unwrap_or_else(|| self.lane.load_stack(self.b, self.depth, i))
    }

    fn typed(&mut self, word: ValueId, ty: Type) -> ValueId {
        word::open(self.b, word, ty)
    }
    pub(super) fn word(&mut self, value: ValueId) -> ValueId {
        word::close(self.b, value)
    }
    pub(super) fn as_words(&mut self, values: &[ValueId]) -> Vec<ValueId> {
        values.iter().map(|v| self.word(*v)).collect()
    }

    pub(super) fn copier<'s>(
        &'s mut self,
        here: &'s mut Activation<'a>,
        facts: &'s mut Facts,
        around: Option<Around<'s>>,
    ) -> Copier<'s> {
        let Activation { points, names, .. } = here;
        let (new, lane, left) = (self.w.pure, Some((&self.lane, self.w.sites)), &mut self.left);
        Copier { b: self.b, function: points.function, new, lane, names, facts, left, around }
    }
    pub(super) fn value(&mut self, path: &mut Path<'a>, value: ValueId) -> ValueId {
        self.copier(&mut path.here, &mut path.facts, None).value(value)
    }
    /// What stands for some values, each of one or more words.
    pub(super) fn values(&mut self, here: &mut Activation<'a>, values: &[ValueId]) -> Vec<ValueId> {
        let mut facts = Facts::default();
        let mut copier = self.copier(here, &mut facts, None);
        values.iter().flat_map(|v| copier.values(*v)).collect()
    }

    /// Writes from a position of a region on, to the end of the segment.
    pub(super) fn go_on(&mut self, mut path: Path<'a>, region: RegionId, position: usize) -> Result<(), Diagnostic> {
        let points = path.here.points.clone();
        for id in &points.function.regions[region].insts[position..] {
            let inst = &points.function.insts[*id];
            self.b.span = inst.span;
            if points.leaves(inst) {
                return self.leave(path, region, *id, inst);
            }
            self.copier(&mut path.here, &mut path.facts, None).copy(*id);
        }
        Err(refused(points.function.span, "a region without end".into()))
    }

    fn leave(&mut self, mut path: Path<'a>, region: RegionId, id: InstId, inst: &Inst) -> Result<(), Diagnostic> {
        let operands = self.values(&mut path.here, &inst.operands);
        match inst.op {
            Op::Return => self.give_back(path, &operands),
            Op::Tail => {
                path.tails += 1;
                let callee = self.callee(inst)?;
                self.enter(path, callee, &operands)
            }
            Op::Call | Op::Fork => self.call(path, id, inst, &operands),
            Op::GlobalGet => self.global(path, id, inst),
            Op::Join => self.join(path, id, &operands),
            Op::TrapIf => self.trap(path, region, id, inst),
            Op::Yield => self.yielded(path, region, inst),
            Op::Break => {
                let around = self.around(&path, region)?;
                self.behind(path, around, &operands)
            }
            Op::Continue => {
                let around = self.around(&path, region)?;
                self.jump(path, Point::Head(around), &operands)
            }
            Op::While => self.again(path, region, &operands),
            Op::Loop => self.iterate(path, id, Some(&operands)),
            Op::If => {
                let [then, otherwise] = inst.regions[..] else {
                    return Err(refused(inst.span, "an `if` without two regions".into()));
                };
                self.both(path, operands[0], |s, p| s.go_on(p, then, 0), |s, p| s.go_on(p, otherwise, 0))
            }
            Op::Switch => self.switch(path, inst, operands[0]),
            _stays => Err(refused(inst.span, format!("`{}` leaves its segment", inst.op.name()))),
        }
    }

    fn around(&self, path: &Path<'a>, region: RegionId) -> Result<InstId, Diagnostic> {
        let points = &path.here.points;
        points.around(region).ok_or_else(|| refused(points.function.span, "no loop is around".into()))
    }
    pub(super) fn callee(&self, inst: &Inst) -> Result<FunctionId, Diagnostic> {
        let callee = match inst.global() {
            Some(global) => Some(self.w.module.globals[global].function),
            None => inst.callee(),
        };
        callee.ok_or_else(|| refused(inst.span, "no such function".into()))
    }

    fn trap(&mut self, mut path: Path<'a>, region: RegionId, id: InstId, inst: &Inst) -> Result<(), Diagnostic> {
        let condition = self.value(&mut path, inst.operands[0]);
        let (_, position) = path.here.points.place(id);
        let code = inst.code();
        self.both(
            path,
            condition,
            |s, path| {
                let code = s.b.u32(code);
                s.end(&path, Way::Trap, 0, s.depth, &[code]);
                Ok(())
            },
            |s, path| s.go_on(path, region, position + 1),
        )
    }

    /// Goes on behind a choice.
    fn yielded(&mut self, mut path: Path<'a>, region: RegionId, inst: &Inst) -> Result<(), Diagnostic> {
        let points = path.here.points.clone();
        let function = points.function;
        let owner = points.owner(region).ok_or_else(|| refused(inst.span, "a `yield` of a body".into()))?;
        let choice = &function.insts[owner];
        let (outer, position) = points.place(owner);
        if points.meets(choice) && (self.left <= 0 || !is_short(function, outer, position + 1)) {
            let given = self.values(&mut path.here, &inst.operands);
            return self.jump(path, Point::After(owner), &given);
        }
        for (result, value) in choice.results.iter().zip(&inst.operands) {
            let values = self.values(&mut path.here, &[*value]);
            path.here.names.set(*result, values);
        }
        self.go_on(path, outer, position + 1)
    }

    /// Goes on behind a loop that is over.
    pub(super) fn behind(&mut self, mut path: Path<'a>, around: InstId, values: &[ValueId]) -> Result<(), Diagnostic> {
        if self.left <= 0 {
            return self.jump(path, Point::After(around), values);
        }
        let points = path.here.points.clone();
        let results = &points.function.insts[around].results;
        results.iter().zip(values).for_each(|(result, value)| path.here.names.set(*result, vec![*value]));
        let (region, position) = points.place(around);
        self.go_on(path, region, position + 1)
    }

    fn again(&mut self, mut path: Path<'a>, region: RegionId, operands: &[ValueId]) -> Result<(), Diagnostic> {
        let around = self.around(&path, region)?;
        let function = path.here.points.function;
        let body = function.insts[around].regions[0];
        let carried = self.values(&mut path.here, &function.regions[body].params);
        self.both(
            path,
            operands[0],
            |s, path| s.jump(path, Point::Head(around), &operands[1..]),
            |s, path| s.behind(path, around, &carried),
        )
    }

    /// Ends the segment in one of two ways.
    pub(super) fn both(
        &mut self,
        mut path: Path<'a>,
        condition: ValueId,
        then: impl FnOnce(&mut Self, Path<'a>) -> Result<(), Diagnostic>,
        otherwise: impl FnOnce(&mut Self, Path<'a>) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        match path.facts.test(&self.b.function, condition) {
            Some(true) => return then(self, path),
            Some(false) => return otherwise(self, path),
            None => {}
        }
        let (x, y) = (self.b.new_region(&[]), self.b.new_region(&[]));
        let mut inst = Inst::new(Op::If, None, &[condition], self.b.span);
        let mut other = path.clone();
        path.facts.learn(condition, true);
        other.facts.learn(condition, false);
        let outer = std::mem::replace(&mut self.b.region, x);
        then(self, path)?;
        self.b.region = y;
        otherwise(self, other)?;
        self.b.region = outer;
        inst.regions.extend([x, y]);
        self.finish(inst);
        Ok(())
    }

    fn switch(&mut self, path: Path<'a>, old: &Inst, value: ValueId) -> Result<(), Diagnostic> {
        let mut inst = Inst { attrs: old.attrs.clone(), ..Inst::new(Op::Switch, old.ty, &[value], old.span) };
        for region in &old.regions {
            let inner = self.b.new_region(&[]);
            let outer = std::mem::replace(&mut self.b.region, inner);
            self.go_on(path.clone(), *region, 0)?;
            self.b.region = outer;
            inst.regions.push(inner);
        }
        self.finish(inst);
        Ok(())
    }

    /// Appends a choice all of whose regions end the segment, and yields what it gives.
    fn finish(&mut self, inst: Inst) {
        let types = vec![Type::U32; 3 + self.lane.shape.registers as usize];
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        self.b.end(Op::Yield, &results);
    }

    /// Ends the segment.
    pub(super) fn end(&mut self, path: &Path<'a>, way: Way, label: u32, depth: ValueId, registers: &[ValueId]) {
        let count = self.lane.shape.registers as usize;
        let zero = self.b.u32(0);
        let label = self.b.u32(label | (way as u32) << Way::BIT);
        let mut words = vec![label, depth, path.steps];
        words.extend(registers.iter().take(count));
        words.resize(3 + count, zero);
        self.w.labels.registers = self.w.labels.registers.max(registers.len() as u32);
        self.b.end(Op::Yield, &words);
    }
}

/// Whether little comes behind a position of a region.
fn is_short(function: &Function, region: RegionId, position: usize) -> bool {
    let mut count = 0;
    for id in &function.regions[region].insts[position..] {
        count += 1;
        for inner in &function.insts[*id].regions {
            function.walk(*inner, &mut |_, _| count += 1);
        }
    }
    count <= 24
}
