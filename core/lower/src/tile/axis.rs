//! Axis info: what is known about the numbers in a tile along each dimension: how many are consecutive, what the first of them is a multiple of, and
//! how many are equal. One access then covers several such indices, under a condition that is the same for all of them.
//!
//! Invariant: a fact holds for each aligned run of elements along a dimension, at any position in the other dimensions. As in Triton, indices
//! before `%` or `//` are assumed not to be negative.

use girih_base::idx::IndexVec;
use girih_ir::groups::{compares, counts, functions, loop_jumps, not_arithmetic, not_control, other_control};
use girih_ir::ops::Family;
use girih_ir::{Attr, Def, Function, Inst, Op, RegionId, Scalar, Shape, Type, ValueId};

/// What is known along a dimension, all as logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AxisInfo {
    /// Runs of so many elements in which each is one more than the one before.
    pub contiguous: u8,
    /// The first element of each such run is a multiple of this.
    pub divisible: u8,
    /// Runs of so many equal elements.
    pub constancy: u8,
}

/// As many zeros as anybody asks for.
const MANY: u8 = 30;

impl AxisInfo {
    const NOTHING: AxisInfo = AxisInfo { contiguous: 0, divisible: 0, constancy: 0 };

    /// Of what the first of each run of `run` is a multiple, which is no longer than the known ones.
    pub fn divisible_at(self, run: u8) -> u8 {
        if run < self.contiguous { self.divisible.min(run) } else { self.divisible }
    }
    /// Of what each element is a multiple.
    fn each(self) -> u8 {
        self.divisible_at(0)
    }
    /// What holds if one of both does.
    fn meet(self, other: AxisInfo) -> AxisInfo {
        let contiguous = self.contiguous.min(other.contiguous);
        AxisInfo {
            contiguous,
            divisible: self.divisible_at(contiguous).min(other.divisible_at(contiguous)),
            constancy: self.constancy.min(other.constancy),
        }
    }
}

/// What is known of a value along each of its dimensions; a scalar has one.
pub(super) type AxisInfos = Vec<AxisInfo>;

/// What is known of all values.
#[derive(Debug)]
pub(super) struct Axes {
    known: IndexVec<ValueId, Option<AxisInfos>>,
}

impl Axes {
    /// Of the values of a kernel in tile form without calls.
    pub fn of(function: &Function) -> Axes {
        let known = function.values.iter().map(|_| None).collect();
        let mut analysis = AxisAnalysis { f: function, known, loops: vec![] };
        analysis.region(function.body);
        Axes { known: analysis.known }
    }

    /// What is known of a value; nothing if it is not about integers.
    pub fn infos(&self, f: &Function, value: ValueId) -> AxisInfos {
        let known = self.known[value].clone();
        known.unwrap_or_else(|| start(f, value))
    }
}

fn rank(ty: Type) -> usize {
    ty.shape().map_or(1, Shape::rank)
}

/// What is known without looking at instructions.
fn start(f: &Function, value: ValueId) -> AxisInfos {
    let divisible = match f.values[value].def {
        Def::Constant(0) => MANY,
        Def::Constant(bits) => (bits.trailing_zeros() as u8).min(MANY),
        Def::Param(attrs) => attrs.divisible.max(1).trailing_zeros() as u8,
        Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) | Def::Result(..) => 0,
    };
    vec![AxisInfo { divisible, ..AxisInfo::NOTHING }; rank(f.ty(value))]
}

/// Where a loop's values come from.
struct Carried {
    params: Vec<ValueId>,
    next: Option<Vec<AxisInfos>>,
    results: Vec<ValueId>,
}

struct AxisAnalysis<'a> {
    f: &'a Function,
    known: IndexVec<ValueId, Option<AxisInfos>>,
    loops: Vec<Carried>,
}

impl AxisAnalysis<'_> {
    fn get(&self, value: ValueId) -> AxisInfos {
        self.known[value].clone().unwrap_or_else(|| start(self.f, value))
    }

    /// Weakens what is known of a value to what another one may be, too.
    fn join(&mut self, value: ValueId, infos: &AxisInfos) {
        let met = match &self.known[value] {
            Some(known) => known.iter().zip(infos).map(|(a, b)| a.meet(*b)).collect(),
            None => infos.clone(),
        };
        self.known[value] = Some(met);
    }

    fn region(&mut self, region: RegionId) {
        let f = self.f;
        for id in &f.regions[region].insts {
            let inst = &f.insts[*id];
            match inst.op {
                Op::Loop => self.loop_(inst),
                Op::If | Op::Switch => {
                    for result in &inst.results {
                        self.known[*result] = None;
                    }
                    for inner in &inst.regions {
                        self.region(*inner);
                        if let Some(end) = f.terminator(*inner).filter(|end| end.op == Op::Yield) {
                            for (result, value) in inst.results.iter().zip(&end.operands) {
                                let infos = self.get(*value);
                                self.join(*result, &infos);
                            }
                        }
                    }
                }
                loop_jumps!() => self.jump(inst),
                Op::Yield | not_control!() | other_control!() => {
                    if let [result] = inst.results[..] {
                        self.known[result] = Some(self.result(inst, result));
                    }
                }
            }
        }
    }

    fn jump(&mut self, inst: &Inst) {
        let values = if inst.op == Op::While { &inst.operands[1..] } else { &inst.operands[..] };
        let infos: Vec<AxisInfos> = values.iter().map(|v| self.get(*v)).collect();
        let Some(mut frame) = self.loops.pop() else { return };
        let meet = |a: &AxisInfos, b: &AxisInfos| a.iter().zip(b).map(|(a, b)| a.meet(*b)).collect::<AxisInfos>();
        if inst.op == Op::Break {
            for (result, infos) in frame.results.iter().zip(&infos) {
                self.join(*result, infos);
            }
        } else {
            frame.next = Some(match frame.next.take() {
                Some(before) => before.iter().zip(&infos).map(|(a, b)| meet(a, b)).collect(),
                None => infos,
            });
        }
        if inst.op == Op::While {
            for (result, param) in frame.results.iter().zip(&frame.params) {
                let infos = self.get(*param);
                self.join(*result, &infos);
            }
        }
        self.loops.push(frame);
    }

    fn loop_(&mut self, inst: &Inst) {
        let body = inst.regions[0];
        let params = self.f.regions[body].params.clone();
        for (param, initial) in params.iter().zip(&inst.operands) {
            self.known[*param] = Some(self.get(*initial));
        }
        // What is known only gets less, and there is little of it.
        loop {
            inst.results.iter().for_each(|result| self.known[*result] = None);
            self.loops.push(Carried { params: params.clone(), next: None, results: inst.results.to_vec() });
            self.region(body);
            let next = self.loops.pop().and_then(|frame| frame.next).unwrap_or_default();
            let mut changed = false;
            for (param, infos) in params.iter().zip(&next) {
                let before = self.get(*param);
                self.join(*param, infos);
                changed |= self.get(*param) != before;
            }
            if !changed {
                break;
            }
        }
    }

    fn result(&self, inst: &Inst, result: ValueId) -> AxisInfos {
        let ty = self.f.ty(result);
        let first = || self.get(inst.operands[0]);
        if inst.op.row().family == Family::Scalar && (inst.ty.is_some() || !inst.operands.is_empty()) {
            let operands: Vec<AxisInfos> = inst.operands.iter().map(|v| self.get(*v)).collect();
            return (0..rank(ty)).map(|d| self.element(inst, &operands, d)).collect();
        }
        match inst.op {
            Op::TileIota => {
                let contiguous = ty.shape().map_or(0, |s| s.elements().trailing_zeros() as u8);
                vec![AxisInfo { contiguous, divisible: MANY, constancy: 0 }]
            }
            Op::TileSplat => {
                let divisible = first()[0].each();
                let info =
                    |length: u64| AxisInfo { contiguous: 0, divisible, constancy: length.trailing_zeros() as u8 };
                ty.shape().map_or(vec![], |s| s.lengths().map(info).collect())
            }
            Op::TileReshape => self.reshaped(inst.operands[0], ty),
            Op::TileBroadcast => {
                let (from, to) = (self.f.ty(inst.operands[0]).shape(), ty.shape());
                let lengths = from.map_or(vec![], Shape::to_vec).into_iter().zip(to.map_or(vec![], Shape::to_vec));
                let repeated = |(info, (from, to)): (AxisInfo, (u64, u64))| {
                    if from == to { info } else { AxisInfo { constancy: to.trailing_zeros() as u8, ..info } }
                };
                first().into_iter().zip(lengths).map(repeated).collect()
            }
            Op::TilePermute => {
                let infos = first();
                inst.axes().iter().map(|axis| infos[*axis as usize]).collect()
            }
            Op::TileHint => hinted(inst, first()),
            _no_rule => vec![AxisInfo::NOTHING; rank(ty)],
        }
    }

    fn reshaped(&self, operand: ValueId, ty: Type) -> AxisInfos {
        let infos = self.get(operand);
        let from = self.f.ty(operand).shape().map_or(vec![], Shape::to_vec);
        let to = ty.shape().map_or(vec![], Shape::to_vec);
        let each = infos.iter().map(|info| info.each()).max().unwrap_or(0);
        let single = AxisInfo { divisible: each, ..AxisInfo::NOTHING };
        let long = |lengths: &[u64]| lengths.iter().copied().filter(|n| *n > 1).collect::<Vec<u64>>();
        if long(&from) == long(&to) {
            let mut rest = infos.iter().zip(&from).filter(|(_, n)| **n > 1).map(|(info, _)| *info);
            return to.iter().map(|n| if *n > 1 { rest.next().unwrap_or(single) } else { single }).collect();
        }
        // Runs along the last dimension stay, as far as that one goes.
        let mut out = vec![single; to.len()];
        if let (Some(info), Some(length), Some(last)) = (infos.last(), to.last(), out.last_mut()) {
            let most = length.trailing_zeros() as u8;
            let contiguous = info.contiguous.min(most);
            let divisible = info.divisible_at(contiguous);
            *last = AxisInfo { contiguous, divisible, constancy: info.constancy.min(most) };
        }
        out
    }

    /// Arithmetic, along one dimension.
    fn element(&self, inst: &Inst, operands: &[AxisInfos], d: usize) -> AxisInfo {
        let info = |i: usize| operands[i].get(d).or(operands[i].first()).copied().unwrap_or(AxisInfo::NOTHING);
        let shape = inst.ty.and_then(Type::shape);
        let everywhere = shape.map_or(0, |s| s.length(d).trailing_zeros() as u8);
        // A scalar among tiles is the same everywhere.
        let info = |i: usize| {
            let tile = self.f.ty(inst.operands[i]).shape().is_some();
            if shape.is_some() && !tile {
                AxisInfo { contiguous: 0, divisible: info(i).each(), constancy: everywhere }
            } else {
                info(i)
            }
        };
        let constancy = (0..operands.len()).map(|i| info(i).constancy).min().unwrap_or(0);
        let plain = |divisible: u8| AxisInfo { contiguous: 0, divisible: divisible.min(MANY), constancy };
        let is_float = inst.element().is_float();
        let constant = |i: usize| self.scalar_constant(inst.operands[i]);
        match inst.op {
            Op::Add | Op::Sub if !is_float => {
                let (a, b) = (info(0), info(1));
                let run = a.contiguous.min(b.constancy);
                let other = if inst.op == Op::Add { a.constancy.min(b.contiguous) } else { 0 };
                let divisible =
                    if run >= other { a.divisible_at(run).min(b.each()) } else { a.each().min(b.divisible_at(other)) };
                AxisInfo { contiguous: run.max(other), divisible, constancy }
            }
            Op::Mul if !is_float => match (constant(0), constant(1)) {
                (_, Some(1)) => info(0),
                (Some(1), _) => info(1),
                (_, _) => plain(info(0).each() + info(1).each()),
            },
            Op::Shl => plain(info(0).each() + constant(1).map_or(0, |n| n.min(MANY.into()) as u8)),
            Op::Rem => {
                let (a, b) = (info(0), info(1));
                let run = a.contiguous.min(b.constancy).min(a.divisible).min(b.each());
                AxisInfo { contiguous: run, divisible: a.divisible_at(run).min(b.each()), constancy }
            }
            Op::Div if !is_float => {
                let (a, b) = (info(0), info(1));
                if constant(1) == Some(1) {
                    return a;
                }
                let run = a.contiguous.min(b.constancy).min(a.divisible).min(b.each());
                AxisInfo { contiguous: 0, divisible: 0, constancy: constancy.max(run) }
            }
            Op::Lt | Op::Ge if !is_float => self.compared(info(0), info(1), constancy),
            Op::Gt | Op::Le if !is_float => self.compared(info(1), info(0), constancy),
            Op::Select => {
                let (c, a, b) = (info(0), info(1), info(2));
                let run = a.contiguous.min(b.contiguous).min(c.constancy);
                AxisInfo { contiguous: run, divisible: a.divisible_at(run).min(b.divisible_at(run)), constancy }
            }
            Op::Convert | Op::Bitcast => {
                let from = self.f.ty(inst.operands[0]).element().unwrap_or(Scalar::F32);
                let integers = from.is_integer() && inst.element().is_integer();
                if integers { info(0) } else { plain(0) }
            }
            Op::And if !is_float => plain(info(0).each().max(info(1).each())),
            Op::Or | Op::Xor | Op::Min | Op::Max => plain(info(0).each().min(info(1).each())),
            Op::Neg => plain(info(0).each()),
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::MulHi
            | Op::Abs
            | Op::Fma
            | Op::Mad
            | Op::And
            | Op::Not
            | Op::Shr
            | Op::Sqrt
            | not_arithmetic!()
            | functions!()
            | compares!()
            | counts!() => plain(0),
        }
    }

    /// `numbers < bound` or its opposite: whole runs lie on one side of a bound that is a multiple of their length.
    fn compared(&self, numbers: AxisInfo, bound: AxisInfo, constancy: u8) -> AxisInfo {
        let run = numbers.contiguous.min(numbers.divisible).min(bound.constancy).min(bound.each());
        AxisInfo { contiguous: 0, divisible: 0, constancy: constancy.max(run) }
    }

    /// The number that a value, or each element of a tile, is.
    fn scalar_constant(&self, value: ValueId) -> Option<u64> {
        match self.f.values[value].def {
            Def::Constant(bits) => Some(bits),
            Def::Result(inst, _) => {
                let inst = &self.f.insts[inst];
                let passes = matches!(inst.op, Op::TileSplat | Op::TileBroadcast | Op::TileReshape);
                passes.then(|| self.scalar_constant(inst.operands[0])).flatten()
            }
            Def::Param(_) | Def::Specialisation(_) | Def::Memory(_) | Def::Argument(..) => None,
        }
    }
}

/// What a program promises.
fn hinted(inst: &Inst, mut infos: AxisInfos) -> AxisInfos {
    let log = |n: u32| if n == 0 { 0 } else { (n.trailing_zeros() as u8).min(MANY) };
    for attr in &inst.attrs {
        match attr {
            Attr::Multiple(n) => infos.iter_mut().zip(n).for_each(|(l, n)| l.divisible = l.divisible.max(log(*n))),
            Attr::Contiguous(n) => infos.iter_mut().zip(n).for_each(|(l, n)| l.contiguous = l.contiguous.max(log(*n))),
            Attr::Constancy(n) => infos.iter_mut().zip(n).for_each(|(l, n)| l.constancy = l.constancy.max(log(*n))),
            _no_promise => {}
        }
    }
    infos
}
