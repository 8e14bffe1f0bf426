//! Dead code: removes instructions that no effect needs, unused results and parameters of regions, memories that are never read, and
//! unused parameters of functions.
//!
//! An instruction is needed if it has an effect, if it may leave the region that holds it, or if a needed one uses its result. A value that a region
//! yields, or a loop carries, is needed only if that result or parameter is.

use girih_base::hash::FastMap;
use girih_base::idx::IndexVec;
use girih_ir::groups::{
    aggregates, arithmetic, atomics, by_element, jumps, loop_jumps, masks, matrix_products, not_control, of_kernels,
    other_control, regions, task_form, whole_tiles,
};
use girih_ir::ops::Effect;
use girih_ir::{Def, Function, FunctionId, Inst, InstId, MemoryId, Module, Op, RegionId, Regions, ValueId, Values};

/// Removes what nobody needs; whether there was something.
pub(crate) fn run(f: &mut Function) -> bool {
    let mut mark = Mark {
        unread: unread_memories(f),
        insts: f.insts.iter().map(|_| false).collect(),
        values: f.values.iter().map(|_| false).collect(),
        effects: f.insts.iter().map(|_| false).collect(),
        loops: FastMap::default(),
        open: vec![],
        f,
    };
    mark.find_effects(f.body, None);
    mark.need_region(f.body);
    if let Some(prologue) = f.launch.as_ref().and_then(|launch| launch.prologue) {
        mark.need_all(prologue);
    }
    mark.follow();
    let Mark { insts, values, loops, .. } = mark;
    let mut pass = DeadCode { f, insts, values, loops, changed: false };
    let body = pass.f.body;
    pass.region(body);
    let changed = pass.changed;
    memories(f) | changed
}

/// Memories that are only written, and only by stores.
fn unread_memories(f: &Function) -> IndexVec<MemoryId, bool> {
    let mut unread: IndexVec<MemoryId, bool> = f.memories.iter().map(|_| true).collect();
    if unread.is_empty() {
        return unread;
    }
    f.walk(f.body, &mut |_, inst| {
        let written = if inst.op == Op::Store { inst.operands.first() } else { None };
        for operand in inst.operands.iter().filter(|v| Some(*v) != written) {
            if let Def::Memory(id) = f.values[*operand].def {
                unread[id] = false;
            }
        }
    });
    unread
}

struct Mark<'a> {
    f: &'a Function,
    insts: IndexVec<InstId, bool>,
    values: IndexVec<ValueId, bool>,
    /// Whether an instruction is needed whoever uses its results.
    effects: IndexVec<InstId, bool>,
    /// The loop that each of their regions belongs to, and the jumps of the loop.
    loops: Loops,
    /// Values that have become needed and whose definitions have not been looked at.
    open: Vec<ValueId>,
    unread: IndexVec<MemoryId, bool>,
}

type Loops = FastMap<RegionId, (InstId, Vec<InstId>)>;

/// What a region may do besides giving values.
#[derive(Clone, Copy, Default)]
struct Effects {
    /// Something that others see, or the end of the function.
    seen: bool,
    /// The end of an iteration of the innermost loop.
    jumps: bool,
}

impl Mark<'_> {
    /// Finds what has effects in a region; `around` is the region of the innermost loop.
    fn find_effects(&mut self, region: RegionId, around: Option<RegionId>) -> Effects {
        let f = self.f;
        let mut all = Effects::default();
        for id in &f.regions[region].insts {
            let inst = &f.insts[*id];
            let mut own = Effects::default();
            for inner in &inst.regions {
                let mut around = around;
                if inst.op == Op::Loop {
                    self.loops.insert(*inner, (*id, vec![]));
                    around = Some(*inner);
                }
                let inner = self.find_effects(*inner, around);
                own.seen |= inner.seen;
                own.jumps |= inner.jumps;
            }
            match inst.op {
                Op::If | Op::Switch => {}
                Op::Loop => own.jumps = false,
                loop_jumps!() => {
                    own.jumps = true;
                    if let Some((_, jumps)) = around.and_then(|around| self.loops.get_mut(&around)) {
                        jumps.push(*id);
                    }
                }
                // What combines elements of tiles has no effects, as verified.
                by_element!() => {}
                // It is needed if what holds it is.
                Op::Yield => self.effects[*id] = true,
                Op::Store => own.seen = !self.is_unread(inst),
                Op::Load
                | Op::UniformLoad
                | arithmetic!()
                | of_kernels!()
                | whole_tiles!()
                | task_form!()
                | atomics!()
                | matrix_products!()
                | masks!()
                | aggregates!()
                | other_control!() => own.seen = !matches!(inst.effect(), Effect::Pure | Effect::Read),
            }
            self.effects[*id] |= own.seen || own.jumps;
            all.seen |= own.seen;
            all.jumps |= own.jumps;
        }
        all
    }

    fn is_unread(&self, inst: &Inst) -> bool {
        let memory = inst.operands.first().map(|v| self.f.values[*v].def);
        matches!(memory, Some(Def::Memory(id)) if self.unread[id])
    }

    /// A region that is run: its effects are needed.
    fn need_region(&mut self, region: RegionId) {
        let f = self.f;
        for id in &f.regions[region].insts {
            if self.effects[*id] {
                self.need_inst(*id);
            }
        }
    }

    fn need_all(&mut self, region: RegionId) {
        let f = self.f;
        for id in &f.regions[region].insts {
            self.insts[*id] = true;
            f.insts[*id].operands.iter().for_each(|v| self.need(*v));
        }
    }

    fn need_inst(&mut self, id: InstId) {
        if std::mem::replace(&mut self.insts[id], true) {
            return;
        }
        let f = self.f;
        let inst = &f.insts[id];
        match inst.op {
            // What they give is needed where it goes.
            Op::Loop | Op::Yield | Op::Break | Op::Continue => {}
            Op::While => inst.operands.iter().take(1).for_each(|v| self.need(*v)),
            Op::If | Op::Switch | not_control!() | other_control!() => inst.operands.iter().for_each(|v| self.need(*v)),
        }
        for region in &inst.regions {
            self.need_region(*region);
        }
    }

    fn need(&mut self, value: ValueId) {
        if !std::mem::replace(&mut self.values[value], true) {
            self.open.push(value);
        }
    }

    fn follow(&mut self) {
        let f = self.f;
        while let Some(value) = self.open.pop() {
            match f.values[value].def {
                Def::Result(id, position) => {
                    self.need_inst(id);
                    self.need_given(&f.insts[id], position as usize);
                }
                Def::Argument(region, position) => self.need_carried(region, position as usize),
                Def::Memory(id) => self.need(f.memories[id].length),
                Def::Constant(_) | Def::Param(_) | Def::Specialisation(_) => {}
            }
        }
    }

    /// What the regions of an instruction give for one of its results.
    fn need_given(&mut self, inst: &Inst, position: usize) {
        let f = self.f;
        for region in &inst.regions {
            if inst.op.is_by_element() {
                // Two elements of all operands make one of all.
                if let Some(end) = f.terminator(*region) {
                    end.operands.iter().for_each(|given| self.need(*given));
                }
            } else if inst.op == Op::Loop {
                self.need_of_jumps(*region, |f, jump| match jump.op {
                    Op::Break => jump.operands.get(position).copied(),
                    Op::While => f.regions[*region].params.get(position).copied(),
                    Op::Yield | Op::Continue | not_control!() | other_control!() | regions!() => None,
                });
            } else if let Some(end) = f.terminator(*region).filter(|end| end.op == Op::Yield)
                && let Some(given) = end.operands.get(position)
            {
                self.need(*given);
            }
        }
    }

    /// What a loop's parameter is at the start and in later iterations.
    fn need_carried(&mut self, region: RegionId, position: usize) {
        let f = self.f;
        let Some((id, jumps)) = self.loops.get(&region) else { return };
        let (id, inst) = (*id, &f.insts[*id]);
        // A loop that gives its parameters gives as many as it carries.
        let tied = jumps.iter().any(|jump| f.insts[*jump].op == Op::While);
        self.need_inst(id);
        if let Some(first) = inst.operands.get(position) {
            self.need(*first);
        }
        if let Some(result) = inst.results.get(position).filter(|_| tied) {
            self.need(*result);
        }
        self.need_of_jumps(region, |_, jump| match jump.op {
            Op::Continue => jump.operands.get(position).copied(),
            Op::While => jump.operands.get(position + 1).copied(),
            Op::Yield | Op::Break | not_control!() | other_control!() | regions!() => None,
        });
    }

    fn need_of_jumps(&mut self, region: RegionId, of: impl Fn(&Function, &Inst) -> Option<ValueId>) {
        let f = self.f;
        let jumps = self.loops.get(&region).map_or(&[][..], |(_, jumps)| jumps);
        let values: Vec<ValueId> = jumps.iter().filter_map(|jump| of(f, &f.insts[*jump])).collect();
        values.into_iter().for_each(|v| self.need(v));
    }
}

struct DeadCode<'a> {
    f: &'a mut Function,
    insts: IndexVec<InstId, bool>,
    values: IndexVec<ValueId, bool>,
    loops: Loops,
    changed: bool,
}

impl DeadCode<'_> {
    fn region(&mut self, region: RegionId) {
        let mut insts = std::mem::take(&mut self.f.regions[region].insts);
        let before = insts.len();
        insts.retain(|id| self.insts[*id] || self.f.insts[*id].op.is_terminator());
        self.changed |= insts.len() != before;
        for id in &insts {
            if self.f.insts[*id].regions.is_empty() {
                continue;
            }
            let regions = Regions::from_slice(&self.f.insts[*id].regions);
            match self.f.insts[*id].op {
                Op::Loop => self.narrow_loop(*id),
                Op::If | Op::Switch => self.narrow_results(*id, &regions),
                not_control!() | jumps!() | other_control!() => {}
            }
            for inner in regions {
                self.region(inner);
            }
        }
        self.f.regions[region].insts = insts;
    }

    /// Which of these values are needed; nothing if all are.
    fn needed(&self, values: &[ValueId]) -> Option<Vec<bool>> {
        if values.iter().all(|v| self.values[*v]) {
            return None;
        }
        let keep: Vec<bool> = values.iter().map(|v| self.values[*v]).collect();
        Some(keep)
    }

    fn narrow_results(&mut self, id: InstId, regions: &[RegionId]) {
        let Some(keep) = self.needed(&self.f.insts[id].results) else { return };
        for region in regions {
            if let Some(end) = self.f.regions[*region].insts.last().copied()
                && self.f.insts[end].op == Op::Yield
            {
                retain(&mut self.f.insts[end].operands, &keep, 0);
            }
        }
        self.keep_results(id, &keep);
    }

    fn keep_results(&mut self, id: InstId, keep: &[bool]) {
        self.changed = true;
        retain(&mut self.f.insts[id].results, keep, 0);
        for (i, result) in (0..).zip(self.f.insts[id].results.clone()) {
            self.f.values[result].def = Def::Result(id, i);
        }
    }

    fn narrow_loop(&mut self, id: InstId) {
        let Some(region) = self.f.insts[id].regions.first().copied() else { return };
        let jumps = self.loops.get(&region).map(|(_, jumps)| jumps.clone()).unwrap_or_default();
        let params = self.f.regions[region].params.clone();
        let results = self.f.insts[id].results.clone();
        if let Some(keep) = self.needed(&params) {
            self.changed = true;
            let mut kept = is_kept(&keep, 0);
            self.f.regions[region].params.retain(|_| kept());
            for (i, param) in (0..).zip(self.f.regions[region].params.clone()) {
                self.f.values[param].def = Def::Argument(region, i);
            }
            retain(&mut self.f.insts[id].operands, &keep, 0);
            for jump in &jumps {
                match self.f.insts[*jump].op {
                    Op::Continue => retain(&mut self.f.insts[*jump].operands, &keep, 0),
                    Op::While => retain(&mut self.f.insts[*jump].operands, &keep, 1),
                    Op::Yield | Op::Break | not_control!() | other_control!() | regions!() => {}
                }
            }
        }
        if let Some(keep) = self.needed(&results) {
            for jump in &jumps {
                if self.f.insts[*jump].op == Op::Break {
                    retain(&mut self.f.insts[*jump].operands, &keep, 0);
                }
            }
            self.keep_results(id, &keep);
        }
    }
}

/// Keeps those values of an instruction whose place is marked; the first `skip` always.
fn retain(values: &mut Values, keep: &[bool], skip: usize) {
    let mut kept = is_kept(keep, skip);
    values.retain(|_| kept());
}

/// Whether the next value of a list stays: its place is marked, or it is one of the first `skip`.
fn is_kept(keep: &[bool], skip: usize) -> impl FnMut() -> bool {
    let mut place = 0;
    move || {
        place += 1;
        place <= skip || keep.get(place - 1 - skip).copied().unwrap_or(true)
    }
}

/// Removes memories that nothing refers to.
fn memories(f: &mut Function) -> bool {
    if f.memories.is_empty() {
        return false;
    }
    let mut used: IndexVec<MemoryId, bool> = f.memories.iter().map(|_| false).collect();
    f.walk(f.body, &mut |_, inst| {
        for operand in &inst.operands {
            if let Def::Memory(id) = f.values[*operand].def {
                used[id] = true;
            }
        }
    });
    if used.iter().all(|used| *used) {
        return false;
    }
    let kept: Vec<_> = f.memories.iter_enumerated().filter(|(id, _)| used[*id]).map(|(_, m)| m.clone()).collect();
    f.memories = kept.into_iter().collect();
    for id in f.memories.ids() {
        let value = f.memories[id].value;
        f.values[value].def = Def::Memory(id);
    }
    true
}

/// Removes parameters that functions do not use, there and in their calls; whether there were any. In a module without kernels
/// every function may be called from outside, so all stays.
pub(super) fn parameters(module: &mut Module) -> bool {
    if module.kernels().next().is_none() {
        return false;
    }
    let keep: IndexVec<FunctionId, Option<Vec<bool>>> = module.functions.iter().map(used_parameters).collect();
    if keep.iter().all(Option::is_none) {
        return false;
    }
    let called = called(module);
    let keep: IndexVec<FunctionId, Option<Vec<bool>>> =
        keep.iter_enumerated().map(|(id, k)| k.clone().filter(|_| called[id])).collect();
    if keep.iter().all(Option::is_none) {
        return false;
    }
    for (id, function) in module.functions.ids().collect::<Vec<_>>().into_iter().zip(module.functions.iter_mut()) {
        if let Some(keep) = &keep[id] {
            let mut kept = is_kept(keep, 0);
            function.params.retain(|_| kept());
        }
        for inst in function.insts.iter_mut().filter(|inst| inst.op == Op::Call) {
            if let Some(keep) = inst.callee().and_then(|callee| keep[callee].as_ref()) {
                retain(&mut inst.operands, keep, 0);
                // What its arguments were computed from may be dead now.
                function.simplified = false;
            }
        }
    }
    true
}

fn used_parameters(function: &Function) -> Option<Vec<bool>> {
    if function.launch.is_some() {
        return None;
    }
    let mut used: IndexVec<ValueId, bool> = function.values.iter().map(|_| false).collect();
    function.walk(function.body, &mut |_, inst| inst.operands.iter().for_each(|v| used[*v] = true));
    let keep: Vec<bool> = function.params.iter().map(|p| used[*p]).collect();
    keep.contains(&false).then_some(keep)
}

fn called(module: &Module) -> IndexVec<FunctionId, bool> {
    let mut called: IndexVec<FunctionId, bool> = module.functions.iter().map(|_| false).collect();
    for function in module.functions.iter() {
        function.walk(function.body, &mut |_, inst| {
            if let Some(callee) = inst.callee() {
                called[callee] = true;
            }
        });
    }
    called
}
