//! Branches, switches and loops of random kernels, some of which are left early.

use super::writer::{KernelWriter, Turning};
use super::{SIZE, WORDS};
use girih_base::span::Span;
use girih_ir::attrs::Attr;
use girih_ir::{Inst, Op, RegionId, Scalar, Type, ValueId};

impl KernelWriter<'_> {
    /// A few statements and the end of an arm, in a new region. What they define is not visible afterwards.
    fn arm(&mut self, types: &[Scalar]) -> RegionId {
        let region = self.b.new_region(&[]);
        let outer = std::mem::replace(&mut self.b.region, region);
        let (visible, was_uniform) = (self.visible.len(), self.uniform);
        self.uniform = false;
        self.depth += 1;
        for _ in 0..self.choices.pick(4) {
            if self.size < SIZE {
                self.statement();
            }
        }
        self.yields(types);
        self.depth -= 1;
        self.uniform = was_uniform;
        self.visible.truncate(visible);
        self.b.region = outer;
        region
    }

    /// Ends an arm: mostly by its values, sometimes out of the loop or into its next turn.
    fn yields(&mut self, types: &[Scalar]) {
        if let Some(turning) = self.loops.last().filter(|t| t.irregular).cloned() {
            match self.choices.pick(5) {
                3 => return self.leave(&turning),
                4 => return self.turn(&turning),
                _ => {}
            }
        }
        let values: Vec<ValueId> = types.iter().map(|s| self.value(*s)).collect();
        self.b.end(Op::Yield, &values);
    }

    fn construct(&mut self, mut inst: Inst, regions: &[RegionId], types: &[Scalar]) {
        inst.regions.extend(regions.iter().copied());
        let types: Vec<Type> = types.iter().map(|s| Type::Scalar(*s)).collect();
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        results.into_iter().for_each(|v| self.keep(v));
    }

    pub(super) fn branch(&mut self) {
        let condition = self.value(Scalar::Bool);
        if self.choices.pick(4) == 3 && self.site() {
            return self.reading(condition);
        }
        let types = self.some_types();
        let regions = vec![self.arm(&types), self.arm(&types)];
        self.construct(Inst::new(Op::If, None, &[condition], Span::NONE), &regions, &types);
    }

    /// A load where a condition holds and a constant elsewhere; beside it values that are constants in both arms, or visible ones.
    fn reading(&mut self, condition: ValueId) {
        const TYPES: [Scalar; 3] = [Scalar::Bool, Scalar::U32, Scalar::U32];
        let index = self.masked(WORDS - 1);
        let filler: u32 = self.choices.one_of(&[0, 0, 7]);
        let other = if self.choices.pick(2) == 0 { self.b.u32(filler) } else { self.value(Scalar::U32) };
        let [full, empty] = [(); 2].map(|()| self.b.new_region(&[]));
        let input = self.memories.input;
        self.b.within(full, |b| {
            let loaded = b.load(Scalar::U32, input, index);
            let found = b.bool(true);
            b.end(Op::Yield, &[found, loaded, other]);
        });
        self.b.within(empty, |b| {
            let (found, filler) = (b.bool(false), b.u32(filler));
            b.end(Op::Yield, &[found, filler, filler]);
        });
        self.construct(Inst::new(Op::If, None, &[condition], Span::NONE), &[full, empty], &TYPES);
    }

    pub(super) fn switch(&mut self) {
        let mask = self.b.u32(3);
        let value = self.value(Scalar::U32);
        let value = self.b.op(Op::And, Scalar::U32, &[value, mask]);
        let types = self.some_types();
        let arms = self.choices.pick(3) + 1;
        let regions: Vec<_> = (0..=arms).map(|_| self.arm(&types)).collect();
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[value], Span::NONE);
        let first = if arms == 2 { vec![0, 3] } else { vec![0] };
        inst.set(Attr::Cases(std::iter::once(first).chain((1..arms as i64).map(|i| vec![i])).collect()));
        self.construct(inst, &regions, &types);
    }

    /// A loop of at most seven turns that carries some values, two of them perhaps swapped.
    pub(super) fn loop_(&mut self) {
        let fixed = self.choices.pick(2) == 0;
        let limit = if fixed {
            let turns = self.choices.pick(7) as u32;
            self.b.u32(turns)
        } else {
            let (value, seven) = (self.value(Scalar::U32), self.b.u32(7));
            self.b.op(Op::And, Scalar::U32, &[value, seven])
        };
        let types = self.some_types();
        let irregular = self.choices.pick(2) == 1;
        let headed = self.choices.pick(3) == 1;
        let zero = self.b.u32(0);
        let mut initial = vec![zero];
        initial.extend(types.iter().map(|s| self.value(*s)).collect::<Vec<_>>());
        let region = self.loop_region(
            &initial,
            Turning { params: vec![], limit, types: types.clone(), irregular, headed },
            fixed,
        );
        let mut results = vec![Scalar::U32];
        results.extend(&types);
        self.construct(Inst::new(Op::Loop, None, &initial, Span::NONE), &[region], &results);
    }

    fn loop_region(&mut self, initial: &[ValueId], mut turning: Turning, fixed: bool) -> RegionId {
        let types: Vec<Type> = initial.iter().map(|v| self.b.ty(*v)).collect();
        let region = self.b.new_region(&types);
        turning.params = self.b.function.regions[region].params.clone();
        let (visible, uniform) = (self.visible.len(), self.uniform);
        let outer = std::mem::replace(&mut self.b.region, region);
        self.uniform &= fixed && !turning.irregular;
        self.depth += 1;
        self.visible.extend(&turning.params);
        self.loops.push(turning.clone());
        if turning.headed {
            self.head(&turning);
        }
        for _ in 0..self.choices.pick(5) {
            if self.size < SIZE {
                self.statement();
            }
        }
        self.turn(&turning);
        self.loops.pop();
        self.depth -= 1;
        self.visible.truncate(visible);
        self.uniform = uniform;
        self.b.region = outer;
        region
    }

    /// Leaves a loop before its turn if the last one has been made.
    fn head(&mut self, turning: &Turning) {
        let outer = self.b.region;
        let ends = self.b.op(Op::Ge, Scalar::U32, &[turning.params[0], turning.limit]);
        let arms = [self.b.new_region(&[]), self.b.new_region(&[])];
        self.b.region = arms[0];
        self.leave(turning);
        self.b.region = arms[1];
        self.b.end(Op::Yield, &[]);
        self.b.region = outer;
        self.construct(Inst::new(Op::If, None, &[ends], Span::NONE), &arms, &[]);
    }

    /// Goes on with the next turn of a loop, unless the last one has been made.
    fn turn(&mut self, turning: &Turning) {
        let Turning { params, limit, types, headed, .. } = turning;
        let one = self.b.u32(1);
        let next = self.b.op(Op::Add, Scalar::U32, &[params[0], one]);
        let mut operands = vec![];
        if !headed {
            operands.push(self.b.op(Op::Lt, Scalar::U32, &[params[0], *limit]));
        }
        operands.push(next);
        match self.choices.pick(3) {
            1 => operands.extend(swapped(&params[1..], types)),
            2 => operands.extend(params[1..].iter().zip(types).map(|(p, s)| self.mixed(*p, *s)).collect::<Vec<_>>()),
            _ => operands.extend(types.iter().map(|s| self.value(*s)).collect::<Vec<_>>()),
        }
        self.b.end(if *headed { Op::Continue } else { Op::While }, &operands);
    }

    /// A value that depends on what a loop's parameter was in all turns before, in a way that only running the loop tells.
    fn mixed(&mut self, param: ValueId, scalar: Scalar) -> ValueId {
        let value = self.value(scalar);
        if scalar.is_float() {
            return self.b.op(Op::Min, scalar, &[param, value]);
        }
        let mixed = self.b.op(Op::Xor, scalar, &[param, value]);
        if scalar == Scalar::Bool {
            return self.b.op(Op::Not, scalar, &[mixed]);
        }
        let five = self.b.constant(scalar, 5);
        self.b.op(Op::Mul, scalar, &[mixed, five])
    }

    fn leave(&mut self, turning: &Turning) {
        let mut broken = vec![turning.params[0]];
        broken.extend(turning.types.iter().map(|s| self.value(*s)).collect::<Vec<_>>());
        self.b.end(Op::Break, &broken);
    }
}

/// The parameters themselves, in another order where their types allow it.
fn swapped(params: &[ValueId], types: &[Scalar]) -> Vec<ValueId> {
    let mut swapped = params.to_vec();
    for i in 1..swapped.len() {
        if types[i] == types[i - 1] {
            swapped.swap(i, i - 1);
        }
    }
    swapped
}
