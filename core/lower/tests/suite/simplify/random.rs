//! Random kernels give the same before and after.
//!
//! A kernel is read off a tape of bytes, so that shrinking the tape shrinks the kernel. Each invocation writes only its own part of the output,
//! memory that is shared is read between barriers, and loops are bounded, so every kernel ends and has one result.

use super::meaning::{Argued, launch};
use super::{devices, simplified};
use girih_base::span::Span;
use girih_ir::attrs::{Attr, Dim};
use girih_ir::{
    Builder, Function, Inst, Launch, Module, Op, ParamAttrs, Scalar, Space, Type, ValueId, Verified, text, verify,
};
use girih_machine::interp::Options;
use girih_runtime::{Grid, LoadOptions};
use girih_workbench::{number, sample};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Words of the output that belong to one invocation.
const OWN: u32 = 32;
/// Words of the input.
const INPUT: u32 = 64;
/// Invocations of a workgroup, and workgroups.
const SIZE: [u32; 2] = [8, 2];

struct Generator<'a> {
    tape: std::slice::Iter<'a, u8>,
    b: Builder,
    /// Values of `u32`, `i32`, `f32`, `bool`, `u64`, in this order, then indices of the output and of private memory.
    pools: [Vec<ValueId>; 7],
    input: ValueId,
    output: ValueId,
    scratch: ValueId,
    shared: ValueId,
    /// First word of this invocation's part of the output.
    own: ValueId,
    /// How many more instructions there may be.
    budget: u32,
    loops: u32,
}

const TYPES: [Scalar; 5] = [Scalar::U32, Scalar::I32, Scalar::F32, Scalar::Bool, Scalar::U64];
const NUMBERS: [u64; 12] = [0, 1, 2, 3, 4, 7, 8, 10, 31, 255, 0x8000_0000, 0xffff_ffff];
const FLOATS: [f32; 8] = [0.0, -0.0, 1.0, -1.0, 0.5, 8.0, -3.25, 1e30];

impl Generator<'_> {
    fn next(&mut self, below: usize) -> usize {
        usize::from(self.tape.next().copied().unwrap_or(0)) % below.max(1)
    }

    /// A value of a type: a recent one, an old one or a constant.
    fn value(&mut self, ty: usize) -> ValueId {
        let constant = self.next(7) == 6 || self.pools[ty].is_empty();
        if constant {
            let bits = match TYPES[ty] {
                Scalar::F32 => FLOATS[self.next(FLOATS.len())].to_bits().into(),
                Scalar::Bool => self.next(2) as u64,
                _ => NUMBERS[self.next(NUMBERS.len())],
            };
            return self.b.constant(TYPES[ty], bits);
        }
        let n = self.pools[ty].len();
        let back = self.next(n.min(6));
        self.pools[ty][n - 1 - back]
    }

    fn keep(&mut self, ty: usize, value: ValueId) {
        self.pools[ty].push(value);
    }

    fn statements(&mut self, depth: u32) {
        let n = 1 + self.next(5);
        for _ in 0..n {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.next(16) {
                0..=5 => self.arithmetic(),
                7 => self.compare(),
                6 | 8 => self.load(),
                9 => self.store(),
                10 => self.adjacent(),
                11 if depth < 4 => self.branch(depth),
                12 if depth < 3 => self.repeat(depth),
                13 if depth < 4 => self.switch(depth),
                14 if depth == 0 => self.exchange(),
                15 if depth == 1 && self.loops == 0 => self.leave(),
                _ => self.convert(),
            }
        }
    }

    fn arithmetic(&mut self) {
        const INTEGERS: [Op; 16] = [
            Op::Add,
            Op::Add,
            Op::Sub,
            Op::Mul,
            Op::Div,
            Op::Rem,
            Op::And,
            Op::Or,
            Op::Xor,
            Op::Shl,
            Op::Shr,
            Op::Min,
            Op::Max,
            Op::MulHi,
            Op::Mad,
            Op::Not,
        ];
        const REALS: [Op; 8] = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Neg, Op::Abs];
        const LOGIC: [Op; 4] = [Op::And, Op::Or, Op::Xor, Op::Not];
        let ty = [0, 0, 0, 1, 1, 2, 3, 4][self.next(8)];
        let op = match TYPES[ty] {
            Scalar::F32 => REALS[self.next(REALS.len())],
            Scalar::Bool => LOGIC[self.next(LOGIC.len())],
            _ => INTEGERS[self.next(INTEGERS.len())],
        };
        let operands: Vec<ValueId> = op.row().operands.iter().map(|_| self.value(ty)).collect();
        let result = self.b.op(op, TYPES[ty], &operands);
        self.keep(ty, result);
    }

    fn compare(&mut self) {
        const OPS: [Op; 6] = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];
        let (op, ty) = (OPS[self.next(6)], [0, 0, 1, 2][self.next(4)]);
        let (x, y) = (self.value(ty), self.value(ty));
        let c = self.b.op(op, TYPES[ty], &[x, y]);
        self.keep(3, c);
        let ty = self.next(5);
        let (x, y) = (self.value(ty), self.value(ty));
        let chosen = self.b.op(Op::Select, TYPES[ty], &[c, x, y]);
        self.keep(ty, chosen);
    }

    fn convert(&mut self) {
        let (from, to) = (self.next(5), self.next(5));
        let value = self.value(from);
        let result = self.b.op(Op::Convert, TYPES[to], &[value]);
        self.keep(to, result);
    }

    /// A value masked to be an index below a power of two.
    fn index(&mut self, below: u32) -> ValueId {
        let (x, mask) = (self.value(0), self.b.u32(below - 1));
        self.b.op(Op::And, Scalar::U32, &[x, mask])
    }

    /// An index that has been used before, most of the time, so that accesses meet.
    fn place(&mut self, private: bool) -> ValueId {
        let pool = 5 + usize::from(private);
        let n = self.pools[pool].len();
        if n > 0 && self.next(3) > 0 {
            let back = self.next(n.min(3));
            return self.pools[pool][n - 1 - back];
        }
        let place = if private { self.index(16) } else { self.own_index() };
        self.pools[pool].push(place);
        place
    }

    fn own_index(&mut self) -> ValueId {
        let (i, own) = (self.index(OWN), self.own);
        self.b.op(Op::Add, Scalar::U32, &[own, i])
    }

    fn load(&mut self) {
        let (memory, index) = match self.next(3) {
            0 => (self.input, self.index(INPUT)),
            1 => (self.output, self.place(false)),
            _ => (self.scratch, self.place(true)),
        };
        let x = self.b.load(Scalar::U32, memory, index);
        self.keep(0, x);
    }

    fn store(&mut self) {
        let x = self.value(0);
        let (memory, index) = match self.next(2) {
            0 => (self.output, self.place(false)),
            _ => (self.scratch, self.place(true)),
        };
        self.b.store(Scalar::U32, memory, index, x);
    }

    /// Loads or stores of neighbours.
    fn adjacent(&mut self) {
        let (i, two) = (self.index(8), self.b.u32(2));
        let four = self.b.op(Op::Shl, Scalar::U32, &[i, two]);
        let own = self.own;
        let base = self.b.op(Op::Add, Scalar::U32, &[own, four]);
        let store = self.next(2) == 0;
        for k in 0..4 {
            let k = self.b.u32(k);
            let at = self.b.op(Op::Add, Scalar::U32, &[base, k]);
            if self.next(5) == 4 {
                if self.next(2) == 0 { self.load() } else { self.store() }
            }
            self.pools[5].push(at);
            if store {
                let x = self.value(0);
                self.b.store(Scalar::U32, self.output, at, x);
            } else {
                let x = self.b.load(Scalar::U32, self.output, at);
                self.keep(0, x);
            }
        }
    }

    /// Statements of a region, and what it yields; the region's values are forgotten.
    fn arm(&mut self, depth: u32, types: &[usize]) {
        let pools = self.pools.clone();
        self.statements(depth + 1);
        let values: Vec<ValueId> = types.iter().map(|ty| self.value(*ty)).collect();
        let jump = self.next(12);
        if self.loops > 0 && jump == 11 {
            self.jump_out();
        } else {
            self.b.end(Op::Yield, &values);
        }
        self.pools = pools;
    }

    /// Leaves the innermost loop, which carries and gives three words.
    fn jump_out(&mut self) {
        let values: Vec<ValueId> = [0, 0, 0].into_iter().map(|ty| self.value(ty)).collect();
        self.b.end(Op::Break, &values);
    }

    fn results(&mut self) -> Vec<usize> {
        let n = self.next(3);
        (0..n).map(|_| self.next(5)).collect()
    }

    fn branch(&mut self, depth: u32) {
        let (condition, types) = (self.value(3), self.results());
        let regions = [self.b.new_region(&[]), self.b.new_region(&[])];
        self.regions(Op::If, None, condition, &regions, depth, &types, vec![]);
    }

    fn switch(&mut self, depth: u32) {
        let (value, types) = (self.index(4), self.results());
        let regions = [self.b.new_region(&[]), self.b.new_region(&[]), self.b.new_region(&[])];
        let cases = vec![vec![self.next(2) as i64], vec![2, 3]];
        self.regions(Op::Switch, Some(Type::U32), value, &regions, depth, &types, vec![Attr::Cases(cases)]);
    }

    #[allow(clippy::too_many_arguments)]
    fn regions(
        &mut self,
        op: Op,
        ty: Option<Type>,
        operand: ValueId,
        regions: &[girih_ir::RegionId],
        depth: u32,
        types: &[usize],
        attrs: Vec<Attr>,
    ) {
        let outer = self.b.region;
        for region in regions {
            self.b.region = *region;
            self.arm(depth, types);
        }
        self.b.region = outer;
        let mut inst = Inst::new(op, ty, &[operand], Span::NONE);
        inst.regions.extend(regions.iter().copied());
        inst.attrs = attrs;
        let results: Vec<Type> = types.iter().map(|ty| TYPES[*ty].into()).collect();
        let id = self.b.push(inst, &results);
        for (ty, result) in types.iter().zip(self.b.function.insts[id].results.clone()) {
            self.keep(*ty, result);
        }
    }

    /// A loop of a few iterations with a swap, whose end may be tested at the start or at the end.
    fn repeat(&mut self, depth: u32) {
        let constant = self.next(2) == 0;
        let trips = if constant {
            let n = self.next(6) as u32;
            self.b.u32(n)
        } else {
            self.index(8)
        };
        let zero = self.b.u32(0);
        let initial = [zero, self.value(0), self.value(0)];
        let region = self.b.new_region(&[Type::U32; 3]);
        let outer = std::mem::replace(&mut self.b.region, region);
        let pools = self.pools.clone();
        let params = self.b.function.regions[region].params.clone();
        self.pools[0].extend(&params);
        self.loops += 1;
        let at_start = self.next(2) == 0;
        if at_start {
            let done = self.b.op(Op::Ge, Scalar::U32, &[params[0], trips]);
            self.b.if_else(done, &[], |b| b.end(Op::Break, &params), |b| b.end(Op::Yield, &[]));
        }
        self.statements(depth + 1);
        let one = self.b.u32(1);
        let next = self.b.op(Op::Add, Scalar::U32, &[params[0], one]);
        let fresh = self.value(0);
        let swapped = if self.next(2) == 0 { [params[2], params[1]] } else { [params[2], fresh] };
        if at_start {
            self.b.end(Op::Continue, &[next, swapped[0], swapped[1]]);
        } else {
            let more = self.b.op(Op::Lt, Scalar::U32, &[next, trips]);
            self.b.end(Op::While, &[more, next, swapped[0], swapped[1]]);
        }
        self.loops -= 1;
        self.pools = pools;
        self.b.region = outer;
        let mut inst = Inst::new(Op::Loop, None, &initial, Span::NONE);
        inst.regions.extend([region]);
        let id = self.b.push(inst, &[Type::U32; 3]);
        self.pools[0].extend(self.b.function.insts[id].results.clone());
    }

    /// A neighbour's value through shared memory.
    fn exchange(&mut self) {
        let x = self.value(0);
        let i = self.b.position(Op::LocalId, Dim::X);
        let shared = self.shared;
        self.b.store(Scalar::U32, shared, i, x);
        self.b.end(Op::Barrier, &[]);
        let flip = self.b.u32(1 + self.tape.len() as u32 % 7);
        let other = self.b.op(Op::Xor, Scalar::U32, &[i, flip]);
        let y = self.b.load(Scalar::U32, shared, other);
        self.b.end(Op::Barrier, &[]);
        self.keep(0, y);
    }

    /// Stores what there is, under a condition that is not known, and goes on.
    fn leave(&mut self) {
        let (x, y) = (self.value(0), self.value(0));
        let c = self.b.op(Op::Lt, Scalar::U32, &[x, y]);
        let (own, output) = (self.own, self.output);
        self.b.if_else(
            c,
            &[],
            |b| {
                b.store(Scalar::U32, output, own, x);
                b.end(Op::Yield, &[]);
            },
            |b| b.end(Op::Yield, &[]),
        );
    }

    /// Everything that is still known goes to the output; NaN is any NaN.
    fn finish(&mut self) {
        let mut place = 0;
        for (ty, scalar) in TYPES.iter().enumerate() {
            for value in self.pools[ty].clone().into_iter().rev().take(5) {
                let word = match scalar {
                    Scalar::U32 => value,
                    Scalar::F32 => {
                        let nan = self.b.op(Op::Ne, Scalar::F32, &[value, value]);
                        let (bits, any) = (self.b.op(Op::Bitcast, Scalar::U32, &[value]), self.b.u32(0x7fc0_0000));
                        self.b.op(Op::Select, Scalar::U32, &[nan, any, bits])
                    }
                    _ => self.b.op(Op::Convert, Scalar::U32, &[value]),
                };
                let (at, own) = (self.b.u32(place), self.own);
                let at = self.b.op(Op::Add, Scalar::U32, &[own, at]);
                let old = self.b.load(Scalar::U32, self.output, at);
                let mixed = self.b.op(Op::Xor, Scalar::U32, &[old, word]);
                self.b.store(Scalar::U32, self.output, at, mixed);
                place += 1;
            }
        }
        self.b.end(Op::Return, &[]);
    }
}

fn module(tape: &[u8]) -> Module {
    let mut f = Function::new("k", Span::NONE);
    f.launch = Some(Launch { workgroup: [SIZE[0], 1, 1], ..Launch::default() });
    let buffer = Type::Memory(Space::Global);
    let input = f.param("in", buffer, ParamAttrs { readonly: true, align: 16, ..ParamAttrs::default() });
    let output = f.param("out", buffer, ParamAttrs { noalias: true, align: 16, ..ParamAttrs::default() });
    let n = f.param("n", Type::U32, ParamAttrs { divisible: 4, ..ParamAttrs::default() });
    let x = f.param("x", Type::F32, ParamAttrs::default());
    let (own, many) = (f.constant(Type::U32, SIZE[0].into()), f.constant(Type::U32, 16));
    let shared = f.memory(Some("s".into()), Space::Shared, Type::U32, own);
    let scratch = f.memory(Some("p".into()), Space::Private, Type::U32, many);
    let mut b = Builder::new(f);
    let id = b.position(Op::GlobalId, Dim::X);
    let words = b.u32(OWN);
    let own = b.op(Op::Mul, Scalar::U32, &[id, words]);
    // Private memory has no value before it is written.
    for i in 0..16 {
        let i = b.u32(i);
        b.store(Scalar::U32, scratch, i, i);
    }
    let pools = [vec![n, id], vec![], vec![x], vec![], vec![], vec![], vec![]];
    let mut g = Generator { tape: tape.iter(), b, pools, input, output, scratch, shared, own, budget: 60, loops: 0 };
    while g.budget > 0 && g.tape.len() > 0 {
        g.statements(0);
    }
    g.finish();
    let mut module = Module::default();
    module.functions.push(g.b.function);
    module
}

fn arguments() -> Vec<Argued> {
    let word = |i: u32| i.wrapping_mul(0x9e37_79b9).rotate_left(i % 31).to_le_bytes();
    let input = (0..INPUT).flat_map(word).collect();
    let output = (0..OWN * SIZE[0] * SIZE[1]).flat_map(|i| word(i + 1000)).collect();
    vec![
        Argued::Bytes(input),
        Argued::Bytes(output),
        Argued::Number(Scalar::U32, 12),
        Argued::Number(Scalar::F32, 0x3fc0_0000),
    ]
}

#[test]
fn random_kernels_mean_the_same() {
    let cases = sample("GIRIH_CASES", 100, 1000) as u32;
    let seed = number("GIRIH_SEED").map_or(7, |seed| seed as u8);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]));
    let outcome = runner.run(&vec(any::<u8>(), 10..500), |tape| {
        let before = module(&tape);
        let verified = verify(before.clone()).unwrap_or_else(|d| panic!("{d:#?}\n{}", text::print(&before)));
        let kernel = before.kernels().next().expect("one");
        let settings = || Options { fuel: Some(1 << 22), checked: true, ..Options::default() };
        let grid = Grid::Workgroups([SIZE[1], 1, 1]);
        let run =
            |m: &Verified<Module>| launch(m, kernel, settings(), &LoadOptions::default(), grid.clone(), &arguments());
        let expected = run(&verified);
        assert!(expected.is_ok(), "{expected:?}\n{}", text::print(&before));
        for caps in devices() {
            let after = simplified("random", &before, &caps);
            let found = run(&after);
            if found != expected {
                let differ = match (&expected, &found) {
                    (Ok(a), Ok(b)) => a[1].chunks(4).zip(b[1].chunks(4)).position(|(a, b)| a != b),
                    _ => None,
                };
                panic!(
                    "{} differs at {differ:?}: {:?} {:?}\nbefore\n{}\nafter\n{}",
                    caps.name,
                    expected.as_ref().err(),
                    found.as_ref().err(),
                    text::print(&before),
                    text::print(&after)
                );
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
