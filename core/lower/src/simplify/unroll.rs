//! Full unrolling of loops whose trip count is a constant.
//!
//! The pass first simulates a loop on what is known about its parameters, without changing it. If this decides every jump, and few enough instructions result,
//! it writes the iterations one after another.

use super::control::jumps;
use girih_base::hash::FastMap;
use girih_ir::attrs::AttrKind;
use girih_ir::groups::{not_control, other_control, regions};
use girih_ir::{
    Def, Function, Inst, InstId, Op, Region, RegionId, Regions, Scalar, Type, Value, ValueId, Values, eval,
};

/// Most instructions that a loop without the attribute `unroll` becomes.
const BUDGET: usize = 160;
/// Most instructions that any loop becomes.
const LIMIT: usize = 1 << 16;

/// Unrolls what can be unrolled, inner loops first; whether something was.
pub(super) fn run(f: &mut Function) -> bool {
    region(f, f.body)
}

fn region(f: &mut Function, id: RegionId) -> bool {
    if !f.holds_regions(id) {
        return false;
    }
    let insts = std::mem::take(&mut f.regions[id].insts);
    let mut out = Vec::with_capacity(insts.len());
    let mut changed = false;
    for inst in insts {
        for i in 0..f.insts[inst].regions.len() {
            changed |= region(f, f.insts[inst].regions[i]);
        }
        if f.insts[inst].op == Op::Loop && trips(f, inst).is_some() {
            // The results are other values now; what uses them is mapped when it is copied, or here by the next walk.
            write(f, inst, &mut out);
            changed = true;
        } else {
            out.push(inst);
        }
    }
    f.regions[id].insts = out;
    changed
}

/// The trip count of a loop that is to be unrolled.
fn trips(f: &Function, id: InstId) -> Option<usize> {
    let inst = &f.insts[id];
    let region = *inst.regions.first()?;
    let limit = if inst.has(AttrKind::Unroll) { LIMIT } else { BUDGET };
    let mut dry = Dry { f, known: FastMap::default(), written: 0, limit };
    let mut params: Vec<Option<u64>> = inst.operands.iter().map(|v| f.as_constant(*v)).collect();
    let mut trips = 0;
    loop {
        dry.known.clear();
        dry.note(&f.regions[region].params, params);
        match dry.run(region)? {
            Way::Next(values) => params = values,
            Way::Out(_) => return Some(trips),
            Way::On(_) => return None,
        }
        trips += 1;
    }
}

/// How a run of a region ends, and what it gives.
enum Way<T> {
    /// The next iteration.
    Next(Vec<T>),
    /// Out of the loop.
    Out(Vec<T>),
    /// What follows the region.
    On(Vec<T>),
}

/// A run that writes nothing.
struct Dry<'a> {
    f: &'a Function,
    /// The values of the iteration that are constants.
    known: FastMap<ValueId, u64>,
    written: usize,
    limit: usize,
}

impl Dry<'_> {
    fn run(&mut self, region: RegionId) -> Option<Way<Option<u64>>> {
        let f = self.f;
        for id in &f.regions[region].insts {
            let inst = &f.insts[*id];
            self.written += 1;
            if self.written > self.limit {
                return None;
            }
            let all = |dry: &Self, values: &[ValueId]| values.iter().map(|v| dry.bits(*v)).collect();
            match inst.op {
                Op::Yield => return Some(Way::On(all(self, &inst.operands))),
                Op::Break => return Some(Way::Out(vec![])),
                Op::Continue => return Some(Way::Next(all(self, &inst.operands))),
                Op::While if self.bits(inst.operands[0])? == 0 => return Some(Way::Out(vec![])),
                Op::While => return Some(Way::Next(all(self, &inst.operands[1..]))),
                Op::Return => return None,
                Op::If | Op::Switch if decides(f, inst) => {
                    let taken = taken(inst, self.bits(inst.operands[0])?)?;
                    match self.run(taken)? {
                        Way::On(values) => self.note(&inst.results, values),
                        way => return Some(way),
                    }
                }
                Op::Call | Op::Grid | Op::TrapIf | not_control!() | regions!() => {
                    self.written += inst.regions.iter().map(|r| size(f, *r)).sum::<usize>();
                    if let Some(bits) = folded(f, inst, |v| self.bits(v)) {
                        self.known.insert(inst.results[0], bits);
                    }
                }
            }
        }
        None
    }

    fn note(&mut self, values: &[ValueId], bits: Vec<Option<u64>>) {
        self.known.extend(values.iter().zip(bits).filter_map(|(v, bits)| bits.map(|bits| (*v, bits))));
    }

    fn bits(&self, value: ValueId) -> Option<u64> {
        self.known.get(&value).copied().or_else(|| self.f.as_constant(value))
    }
}

/// Whether the loop's way goes through a branch.
fn decides(f: &Function, inst: &Inst) -> bool {
    inst.regions.iter().any(|r| !jumps(f, *r).is_empty())
}

/// What an instruction on constants gives.
fn folded(f: &Function, inst: &Inst, bits: impl Fn(ValueId) -> Option<u64>) -> Option<u64> {
    let (&[_], Some(Type::Scalar(s))) = (&inst.results[..], inst.ty) else { return None };
    if !inst.op.is_pure() || inst.operands.is_empty() || inst.operands.len() > 3 {
        return None;
    }
    let source = f.ty(inst.operands[0]).element()?;
    let mut known = [0; 3];
    for (slot, operand) in known.iter_mut().zip(&inst.operands) {
        *slot = bits(*operand)?;
    }
    eval::scalar(inst.op, s, source, &known[..inst.operands.len()])
}

/// The region that a branch takes.
fn taken(inst: &Inst, bits: u64) -> Option<RegionId> {
    if inst.op == Op::If {
        return inst.regions.get(usize::from(bits == 0)).copied();
    }
    let mask = inst.ty?.element().map_or(u64::MAX, Scalar::mask);
    let cases = inst.cases();
    let position = cases.iter().position(|cases| cases.iter().any(|c| *c as u64 & mask == bits));
    inst.regions.get(position.unwrap_or(cases.len())).copied()
}

fn size(f: &Function, region: RegionId) -> usize {
    let mut n = 0;
    f.walk(region, &mut |_, _| n += 1);
    n
}

/// Writes all iterations of a loop that [`trips`] has passed, and then names for its results.
fn write(f: &mut Function, id: InstId, out: &mut Vec<InstId>) {
    let inst = f.insts[id].clone();
    let Some(region) = inst.regions.first().copied() else { return };
    let params = f.regions[region].params.clone();
    let mut copy = Copy { map: params.iter().copied().zip(inst.operands.iter().copied()).collect(), out };
    let results = loop {
        match copy.iteration(f, region, &params) {
            Some(Way::Next(values)) => copy.map = params.iter().copied().zip(values).collect(),
            Some(Way::Out(values)) => break values,
            // A dry run has come through here.
            Some(Way::On(_)) | None => return,
        }
    };
    // An `if` on a constant gives the results under their old names, until the forward walk removes it.
    alias(f, &inst, &results, copy.out);
}

fn alias(f: &mut Function, inst: &Inst, values: &[ValueId], out: &mut Vec<InstId>) {
    if inst.results.is_empty() {
        return;
    }
    let condition = f.constant(Type::BOOL, 1);
    let mut arms = vec![];
    for _ in 0..2 {
        let end = f.insts.push(Inst::new(Op::Yield, None, values, inst.span));
        arms.push(f.regions.push(Region { params: vec![], insts: vec![end] }));
    }
    let id = f.insts.next_id();
    for (i, result) in (0..).zip(&inst.results) {
        f.values[*result].def = Def::Result(id, i);
    }
    let mut chosen = Inst::new(Op::If, None, &[condition], inst.span);
    chosen.results = inst.results.clone();
    chosen.regions = arms.into();
    f.insts.push(chosen);
    out.push(id);
}

struct Copy<'a> {
    map: FastMap<ValueId, ValueId>,
    out: &'a mut Vec<InstId>,
}

impl Copy<'_> {
    fn value(&self, value: ValueId) -> ValueId {
        self.map.get(&value).copied().unwrap_or(value)
    }
    fn values(&self, values: &[ValueId]) -> Vec<ValueId> {
        values.iter().map(|v| self.value(*v)).collect()
    }

    /// Writes a copy of (a part of) an iteration, the way that a dry run has gone.
    fn iteration(&mut self, f: &mut Function, region: RegionId, params: &[ValueId]) -> Option<Way<ValueId>> {
        for id in f.regions[region].insts.clone() {
            let inst = f.insts[id].clone();
            match inst.op {
                Op::Yield => return Some(Way::On(self.values(&inst.operands))),
                Op::Break => return Some(Way::Out(self.values(&inst.operands))),
                Op::Continue => return Some(Way::Next(self.values(&inst.operands))),
                Op::While => {
                    let (condition, next) = inst.operands.split_first()?;
                    if f.as_constant(self.value(*condition))? == 0 {
                        return Some(Way::Out(self.values(params)));
                    }
                    return Some(Way::Next(self.values(next)));
                }
                Op::If | Op::Switch if decides(f, &inst) => {
                    let bits = f.as_constant(self.value(inst.operands[0]))?;
                    match self.iteration(f, taken(&inst, bits)?, params)? {
                        Way::On(values) => self.map.extend(inst.results.iter().copied().zip(values)),
                        way => return Some(way),
                    }
                }
                not_control!() | other_control!() | regions!() => {
                    if let Some(bits) = folded(f, &inst, |v| f.as_constant(self.value(v))) {
                        let ty = f.ty(inst.results[0]);
                        self.map.insert(inst.results[0], f.constant(ty, bits));
                    } else {
                        let copy = self.inst(f, &inst);
                        self.out.push(copy);
                    }
                }
            }
        }
        None
    }

    /// A copy of an instruction with all its regions.
    fn inst(&mut self, f: &mut Function, inst: &Inst) -> InstId {
        let mut copy = Inst {
            operands: self.values(&inst.operands).into(),
            results: Values::new(),
            regions: Regions::new(),
            ..inst.clone()
        };
        for region in &inst.regions {
            copy.regions.push(self.region(f, *region));
        }
        let id = f.insts.next_id();
        for (i, result) in (0..).zip(&inst.results) {
            let Value { ty, name, .. } = f.values[*result].clone();
            let new = f.values.push(Value { ty, def: Def::Result(id, i), name });
            self.map.insert(*result, new);
            copy.results.push(new);
        }
        f.insts.push(copy);
        id
    }

    fn region(&mut self, f: &mut Function, region: RegionId) -> RegionId {
        let id = f.regions.push(Region::default());
        let Region { params, insts } = f.regions[region].clone();
        let params = (0..).zip(params).map(|(i, param)| {
            let Value { ty, name, .. } = f.values[param].clone();
            let new = f.values.push(Value { ty, def: Def::Argument(id, i), name });
            self.map.insert(param, new);
            new
        });
        let params: Vec<ValueId> = params.collect();
        let insts = insts.into_iter().map(|inst| {
            let inst = f.insts[inst].clone();
            self.inst(f, &inst)
        });
        let insts = insts.collect();
        f.regions[id] = Region { params, insts };
        id
    }
}
