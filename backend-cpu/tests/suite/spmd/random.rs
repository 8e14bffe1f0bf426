//! Random functions that compute: nested loops, choices, early returns, traps, calls, tail calls of themselves.
//!
//! Invariant: each call of one ends, for all arguments: loops count to four at most, and what calls itself counts its first parameter down.

use girih_base::span::Span;
use girih_ir::{Attr, Builder, Function, FunctionId, Inst, Op, ParamAttrs, Scalar, Type, ValueId};

/// What random functions call. `@slow` does not end for 77.
pub const HELPERS: &str = "
    fn @round(%value: f32) -> f32 {
      %bits = bitcast.u32 %value
      %odd = and.u32 (shr.u32 %bits, 8), 1
      %rounded = and.u32 (add.u32 (add.u32 %bits, 0x7f), %odd), 0xffffff00
      return (bitcast.f32 (select.u32 (gt.u32 (and.u32 %bits, 0x7fffffff), 0x7f800000), 0x7fc00000, %rounded))
    }
    fn @wide(%x: u32) -> u32 {
      %w = mul.u64 (convert.u64 %x), (convert.u64 %x)
      return (convert.u32 (shr.u64 %w, 16))
    }
    fn @slow(%n: u32) -> u32 {
      trap_if (eq %n, 13) code(9)
      %rest, %sum = loop (%k: u32 = (and %n, 3), %s: u64 = 5) {
        %more = or (ne %k, 0), (eq %n, 77)
        %less = select.u32 %more, (sub %k, 1), 0
        while %more next %less, (add %s, (convert.u64 %k))
      }
      return (add %rest, (convert.u32 %sum))
    }
    fn @halvings(%n: u32) -> u32 {
      if (eq %n, 0) {
        return 0
      }
      return (add 1, (call @halvings((shr %n, 1))))
    }
    fn @either(%x: f32, %n: u32) -> f32, bool {
      trap_if (eq %n, 21) code(8)
      if (lt %x, 0.5) {
        return (mul %x, 2.0), (gt %n, 3)
      }
      %y: f32 = switch %n case 0, 5 {
        yield 1.0
      } case 1 {
        yield (sub %x, 1.0)
      } default {
        yield %x
      }
      return %y, (le %y, %x)
    }
";

/// Numbers that look random.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    /// The bits of an argument of a type.
    pub fn argument(&mut self, ty: Type) -> u32 {
        match ty.element() {
            Some(Scalar::Bool) => self.below(2) as u32,
            Some(Scalar::F32) => {
                let some = [f32::NAN, f32::INFINITY, -0.0, 0.0, 0.5, 1.0, -1.5, 3.25, 1e-40, 100.0];
                if self.chance(70) { self.one(&some).to_bits() } else { (self.next() as u32 as f32 / 1e9).to_bits() }
            }
            _whole if self.chance(80) => self.one(&[0, 1, 2, 3, 5, 13, 21, 77, u32::MAX, 1 << 31]),
            _whole => self.next() as u32,
        }
    }
}

const TYPES: [Type; 4] = [Type::U32, Type::I32, Type::F32, Type::BOOL];

/// A function on its way.
pub struct Maker<'r> {
    rng: &'r mut Random,
    b: Builder,
    own: FunctionId,
    /// The helpers in their order.
    helpers: [FunctionId; 5],
    params: Vec<ValueId>,
    visible: Vec<ValueId>,
    /// The types of what the innermost loop carries (behind its count) and gives, the count, and its limit.
    loops: Vec<(Vec<Type>, Vec<Type>, ValueId)>,
    budget: usize,
    calls_itself: bool,
}

/// A random function; its first parameter is counted down by calls of itself.
pub fn function(rng: &mut Random, name: &str, own: FunctionId, helpers: [FunctionId; 5]) -> Function {
    let mut function = Function::new(name, Span::NONE);
    let mut types = vec![Type::U32];
    types.extend((0..1 + rng.below(4)).map(|_| rng.one(&TYPES)));
    let params: Vec<ValueId> =
        (0..).zip(&types).map(|(i, ty)| function.param(format!("p{i}"), *ty, ParamAttrs::default())).collect();
    function.results = (0..1 + rng.below(3)).map(|_| rng.one(&TYPES)).collect();
    let budget = 12 + rng.below(40);
    let (b, visible) = (Builder::new(function), params.clone());
    let mut maker = Maker { rng, b, own, helpers, params, visible, loops: vec![], budget, calls_itself: false };
    maker.begin();
    maker.b.function
}

impl Maker<'_> {
    fn begin(&mut self) {
        // Counts are small, and at zero it ends.
        let seven = self.b.u32(7);
        let fuel = self.b.op(Op::And, Scalar::U32, &[self.params[0], seven]);
        self.params[0] = fuel;
        self.visible.push(fuel);
        let zero = self.b.u32(0);
        let empty = self.b.op(Op::Eq, Scalar::U32, &[fuel, zero]);
        let results = self.results();
        self.b.if_else(empty, &[], |b| b.end(Op::Return, &results), |b| b.end(Op::Yield, &[]));
        self.block(3);
        if self.rng.chance(50) {
            self.tail();
        } else {
            let results = self.results();
            self.b.end(Op::Return, &results);
        }
    }

    fn results(&mut self) -> Vec<ValueId> {
        let types = self.b.function.results.clone();
        self.values(&types)
    }
    fn values(&mut self, types: &[Type]) -> Vec<ValueId> {
        types.iter().map(|ty| self.value(*ty)).collect()
    }
    fn value(&mut self, ty: Type) -> ValueId {
        let fitting: Vec<ValueId> = self.visible.iter().copied().filter(|v| self.b.ty(*v) == ty).collect();
        if !fitting.is_empty() && self.rng.chance(85) {
            return self.rng.one(&fitting);
        }
        let bits = self.rng.argument(ty);
        self.b.constant(ty.element().unwrap_or(Scalar::U32), bits.into())
    }

    /// The arguments of a call of itself, which has less to do.
    fn less(&mut self) -> Vec<ValueId> {
        let one = self.b.u32(1);
        let fuel = self.b.op(Op::Sub, Scalar::U32, &[self.params[0], one]);
        let types: Vec<Type> = self.params[1..].iter().map(|v| self.b.ty(*v)).collect();
        let mut given = vec![fuel];
        given.extend(self.values(&types));
        given
    }
    fn tail(&mut self) {
        let given = self.less();
        self.b.tail(self.own, &given);
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.rng.below(6) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.rng.below(20) {
                0..=10 => self.operation(),
                11 => self.trap(),
                12 | 13 => self.call(),
                14 | 15 if depth > 0 => self.choice(depth - 1),
                16 if depth > 0 => self.switch(depth - 1),
                17 if depth > 0 => self.jump_if(depth - 1),
                18 if depth > 0 => self.repeat(depth - 1),
                _ => self.operation(),
            }
        }
    }

    /// Writes a region that sees what is seen here.
    fn inside<R>(&mut self, params: &[Type], write: impl FnOnce(&mut Self, &[ValueId]) -> R) -> girih_ir::RegionId {
        let region = self.b.new_region(params);
        let outer = std::mem::replace(&mut self.b.region, region);
        let seen = self.visible.len();
        let given = self.b.function.regions[region].params.clone();
        self.visible.extend(&given);
        write(self, &given);
        self.visible.truncate(seen);
        self.b.region = outer;
        region
    }

    fn keep(&mut self, value: ValueId) {
        self.visible.push(value);
    }

    fn operation(&mut self) {
        use Op::*;
        let ty = self.rng.one(&TYPES);
        let scalar = ty.element().unwrap_or(Scalar::U32);
        let ops: &[Op] = match scalar {
            Scalar::Bool => &[And, Or, Xor, Not, Eq, Ne, Select],
            Scalar::F32 => &[Add, Sub, Mul, Div, Sqrt, Floor, Neg, Abs, Lt, Le, Gt, Ge, Eq, Ne, Select, Convert],
            Scalar::I32 => &[
                Add, Sub, Mul, Div, Rem, And, Or, Not, Shl, Shr, Min, Max, Neg, Abs, MulHi, Lt, Le, Gt, Ge, Eq, Select,
                Convert,
            ],
            _unsigned => &[
                Add, Sub, Mul, Div, Rem, And, Xor, Not, Shl, Shr, Min, Max, Clz, Popc, Lt, Le, Gt, Ge, Ne, Eq, Select,
                Convert,
            ],
        };
        let op = self.rng.one(ops);
        let operands = match op {
            Select => vec![self.value(Type::BOOL), self.value(ty), self.value(ty)],
            Convert => {
                let from = self.rng.one(&TYPES);
                vec![self.value(from)]
            }
            Not | Sqrt | Floor | Neg | Abs | Clz | Popc => vec![self.value(ty)],
            _of_two => vec![self.value(ty), self.value(ty)],
        };
        let value = self.b.op(op, scalar, &operands);
        self.keep(value);
    }

    fn trap(&mut self) {
        let (x, n) = (self.value(Type::U32), self.rng.below(40) as u32);
        let n = self.b.u32(n);
        let condition = self.b.op(Op::Eq, Scalar::U32, &[x, n]);
        let code = 1 + self.rng.below(5) as u32;
        self.b.op_with(Op::TrapIf, None, &[condition], &[Attr::Code(code)]);
    }

    fn call(&mut self) {
        let [round, wide, slow, halvings, either] = self.helpers;
        let word = self.value(Type::U32);
        match self.rng.below(6) {
            0 => {
                let x = self.value(Type::F32);
                let y = self.b.call(round, &[Type::F32], &[x])[0];
                let bits = self.b.op(Op::Bitcast, Scalar::U32, &[y]);
                self.visible.extend([y, bits]);
            }
            1 => {
                let y = self.b.call(wide, &[Type::U32], &[word])[0];
                self.keep(y);
            }
            2 => {
                let endless = self.b.u32(77);
                let ends = self.b.op(Op::Ne, Scalar::U32, &[word, endless]);
                let called = |b: &mut Builder| {
                    let y = b.call(slow, &[Type::U32], &[word]);
                    b.end(Op::Yield, &y);
                };
                let y = self.b.if_else(ends, &[Type::U32], called, |b| b.end(Op::Yield, &[word]))[0];
                self.keep(y);
            }
            3 => {
                let y = self.b.call(halvings, &[Type::U32], &[word])[0];
                self.keep(y);
            }
            4 if !self.calls_itself && self.loops.is_empty() => {
                self.calls_itself = true;
                let given = self.less();
                let types = self.b.function.results.clone();
                let results = self.b.call(self.own, &types, &given);
                self.visible.extend(results);
            }
            _ => {
                let x = self.value(Type::F32);
                let results = self.b.call(either, &[Type::F32, Type::BOOL], &[x, word]);
                self.visible.extend(results);
            }
        }
    }

    fn choice(&mut self, depth: usize) {
        let condition = self.value(Type::BOOL);
        let types: Vec<Type> = (0..self.rng.below(3)).map(|_| self.rng.one(&TYPES)).collect();
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        for _ in 0..2 {
            let arm = self.arm(depth, &types);
            inst.regions.push(arm);
        }
        self.push(inst, &types);
    }
    fn arm(&mut self, depth: usize, types: &[Type]) -> girih_ir::RegionId {
        self.inside(&[], |maker, _| {
            maker.block(depth);
            let values = maker.values(types);
            maker.b.end(Op::Yield, &values);
        })
    }
    fn push(&mut self, inst: Inst, types: &[Type]) {
        let id = self.b.push(inst, types);
        let results = self.b.function.insts[id].results.clone();
        self.visible.extend(results);
    }

    fn switch(&mut self, depth: usize) {
        let value = self.value(Type::U32);
        let types: Vec<Type> = (0..self.rng.below(2)).map(|_| self.rng.one(&TYPES)).collect();
        let mut inst = Inst::new(Op::Switch, Some(Type::U32), &[value], Span::NONE);
        let cases = vec![vec![0, 5], vec![1 + self.rng.below(3) as i64]];
        for _ in 0..=cases.len() {
            let arm = self.arm(depth, &types);
            inst.regions.push(arm);
        }
        inst.set(Attr::Cases(cases));
        self.push(inst, &types);
    }

    /// A jump that some lanes make.
    fn jump_if(&mut self, depth: usize) {
        let condition = self.value(Type::BOOL);
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        let then = self.inside(&[], |maker, _| {
            if maker.rng.chance(50) {
                maker.block(depth);
            }
            maker.jump();
        });
        let otherwise = self.inside(&[], |maker, _| {
            if maker.rng.chance(30) {
                maker.block(depth);
            }
            maker.b.end(Op::Yield, &[]);
        });
        inst.regions.extend(if self.rng.chance(50) { [then, otherwise] } else { [otherwise, then] });
        self.push(inst, &[]);
    }
    fn jump(&mut self) {
        let innermost = self.loops.last().cloned();
        match (self.rng.below(4), innermost) {
            (0, Some((_, gives, _))) => {
                let values = self.values(&gives);
                self.b.end(Op::Break, &values);
            }
            (1, Some((carries, _, count))) => {
                let given = self.next(count, &carries);
                self.b.end(Op::Continue, &given);
            }
            (2, _) => self.tail(),
            _ => {
                let results = self.results();
                self.b.end(Op::Return, &results);
            }
        }
    }
    fn next(&mut self, count: ValueId, carries: &[Type]) -> Vec<ValueId> {
        let one = self.b.u32(1);
        let mut given = vec![self.b.op(Op::Add, Scalar::U32, &[count, one])];
        given.extend(self.values(carries));
        given
    }

    fn repeat(&mut self, depth: usize) {
        let carries: Vec<Type> = (0..self.rng.below(3)).map(|_| self.rng.one(&TYPES)).collect();
        let ends_by_while = self.rng.chance(40);
        let mut all = vec![Type::U32];
        all.extend(&carries);
        let gives: Vec<Type> =
            if ends_by_while { all.clone() } else { (0..self.rng.below(3)).map(|_| self.rng.one(&TYPES)).collect() };
        let mut initial = vec![self.b.u32(0)];
        initial.extend(self.values(&carries));
        let (three, some) = (self.b.u32(3), self.value(Type::U32));
        let limit = if self.rng.chance(50) { self.b.op(Op::And, Scalar::U32, &[some, three]) } else { three };
        let body = self.inside(&all, |maker, params| {
            let count = params[0];
            let more = maker.b.op(Op::Lt, Scalar::U32, &[count, limit]);
            let leave = maker.values(&gives);
            maker.b.if_else(more, &[], |b| b.end(Op::Yield, &[]), |b| b.end(Op::Break, &leave));
            maker.loops.push((carries.clone(), gives.clone(), count));
            maker.block(depth);
            let condition = maker.value(Type::BOOL);
            let given = maker.next(count, &carries);
            maker.loops.pop();
            if ends_by_while {
                let mut operands = vec![condition];
                operands.extend(given);
                maker.b.end(Op::While, &operands);
            } else {
                maker.b.end(Op::Continue, &given);
            }
        });
        let mut inst = Inst::new(Op::Loop, None, &initial, Span::NONE);
        inst.regions.extend([body]);
        self.push(inst, &gives);
    }
}
