//! Random kernels: structured, verified, free of races, with every access inside of its memory.
//!
//! A kernel is a function of a list of bytes, its *choices*; where the bytes end every further choice is 0, the simplest. So a
//! failing kernel shrinks by leaving out and lowering bytes ([`super::shrink`]). Kernels lean towards what breaks code generators:
//! loops that swap what they carry, switches in loops, values that live across barriers.

use super::{Case, CaseArgument, Expectation, Group, pack};
use girih_core::ir::attrs::{Attr, Dim};
use girih_core::ir::ops::Class;
use girih_core::ir::{
    Builder, Function, FunctionId, Inst, Launch, Module, Op, ParamAttrs, Scalar, Space, Type, ValueId, verify,
};
use girih_core::runtime::Constant;
use girih_core::span::Span;

/// Invocations of a workgroup.
const WORKGROUP: u32 = 32;
/// Workgroups of a launch.
const GRID: u32 = 2;
/// Words of the input.
const WORDS: u32 = 64;
/// Most statements that access memory: software devices compile slowly beyond that.
const MEMORY_SITES: u32 = 16;
/// Most instructions, about.
const SIZE: u32 = 160;

/// `count` random kernels from a seed, packed into groups of at most `each`.
pub fn random_groups(seed: u64, count: usize, each: usize) -> impl Iterator<Item = Group> {
    packed("random", seed, count, each, group)
}

/// Groups of random choices.
pub(super) fn packed(
    what: &'static str,
    seed: u64,
    count: usize,
    each: usize,
    group: fn(String, &[Vec<u8>]) -> Group,
) -> impl Iterator<Item = Group> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = move || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let mut made = 0;
    std::iter::from_fn(move || {
        let here = each.min(count - made);
        if here == 0 {
            return None;
        }
        let kernels: Vec<Vec<u8>> = (0..here)
            .map(|_| {
                let length = 16 + next() as usize % 240;
                (0..length).map(|_| next() as u8).collect()
            })
            .collect();
        let name = format!("{what} {seed}:{made}");
        made += here;
        Some(group(name, &kernels))
    })
}

/// The kernels of these choices, one case each.
///
/// # Panics
/// If a kernel breaks a rule of the IR: a mistake of the generator, or of the verifier.
pub fn group(name: String, kernels: &[Vec<u8>]) -> Group {
    let mut module = Module::default();
    let mut cases = vec![];
    for (i, choices) in kernels.iter().enumerate() {
        let function = kernel(&format!("k{i}"), choices, &mut module);
        let kernel = module.functions.push(function);
        cases.push(case(format!("{i} {}", super::Choices(choices.clone())), kernel, choices));
    }
    match verify(module) {
        Ok(module) => Group { name, module, cases },
        Err(errors) => panic!("a random kernel of `{name}` breaks a rule: {}", errors[0].message),
    }
}

fn case(name: String, kernel: FunctionId, choices: &[u8]) -> Case {
    let mut word = choices.iter().fold(0x1234_5678u32, |h, b| h.rotate_left(5) ^ u32::from(*b));
    let mut words = || {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Half of them small, so that conditions go both ways.
        u64::from(if word & 1 == 0 { word } else { word >> 24 })
    };
    let input = pack(Scalar::U32, (0..WORDS).map(|_| words()));
    let n = (WORKGROUP * GRID) as usize;
    let out = |scalar, class| CaseArgument::Buffer(vec![0; n * 4], Expectation::class(scalar, class));
    let arguments = vec![
        CaseArgument::Buffer(input, Expectation::exact(Scalar::U32)),
        out(Scalar::U32, Class::Exact),
        out(Scalar::F32, Class::Rounded),
        CaseArgument::Buffer(vec![0; 16], Expectation::exact(Scalar::U32)),
        CaseArgument::Scalar(Constant { ty: Type::U32, bits: words() }),
    ];
    let grid = Some([GRID, 1, 1]);
    Case { name, kernel, arguments, grid, specialisations: vec![], traps: None, width: None, checks: vec![] }
}

/// Bytes that decide.
pub(super) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl Choices<'_> {
    pub(super) fn new(bytes: &[u8]) -> Choices<'_> {
        Choices { bytes: bytes.iter() }
    }
    /// One of `n`; 0 when the bytes have run out.
    pub(super) fn pick(&mut self, n: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % n
    }
    pub(super) fn one_of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.pick(options.len())]
    }
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }
}

/// A kernel while it is written.
struct Writer<'a> {
    b: Builder,
    choices: Choices<'a>,
    /// Values that are visible here.
    visible: Vec<ValueId>,
    memories: Memories,
    helpers: Vec<FunctionId>,
    sites: u32,
    size: u32,
    /// How many regions stand around.
    depth: u32,
    /// The loops that stand around, the innermost last.
    loops: Vec<Turning>,
    /// Whether all invocations of the workgroup come here together.
    uniform: bool,
}

/// A loop around the current place.
#[derive(Clone)]
struct Turning {
    params: Vec<ValueId>,
    limit: ValueId,
    types: Vec<Scalar>,
    /// Whether it may be left, or its next turn started, from inside of other constructs.
    irregular: bool,
}

#[derive(Clone, Copy)]
struct Memories {
    input: ValueId,
    counters: ValueId,
    shared: ValueId,
    private: ValueId,
    local: ValueId,
}

const TYPES: &[Scalar] = &[Scalar::U32, Scalar::I32, Scalar::F32, Scalar::Bool];

fn kernel(name: &str, choices: &[u8], module: &mut Module) -> Function {
    let mut function = Function::new(name, Span::NONE);
    function.launch = Some(Launch { workgroup: [WORKGROUP, 1, 1], ..Launch::default() });
    let buffer = Type::Memory(Space::Global);
    let attrs = |readonly| ParamAttrs { readonly, noalias: true, align: 16, ..ParamAttrs::default() };
    let input = function.param("input", buffer, attrs(true));
    let words = function.param("words", buffer, attrs(false));
    let floats = function.param("floats", buffer, attrs(false));
    let counters = function.param("counters", buffer, attrs(false));
    let number = function.param("number", Type::U32, ParamAttrs::default());
    let length = function.constant(Type::U32, u64::from(WORKGROUP));
    let shared = function.memory(Some("shared".into()), Space::Shared, Type::U32, length);
    let eight = function.constant(Type::U32, 8);
    let private = function.memory(Some("private".into()), Space::Private, Type::U32, eight);

    let mut b = Builder::new(function);
    let id = b.position(Op::GlobalId, Dim::X);
    let local = b.position(Op::LocalId, Dim::X);
    for i in 0..8 {
        // Private memory has no first value of its own.
        let at = b.u32(i);
        b.store(Scalar::U32, private, at, id);
    }
    let memories = Memories { input, counters, shared, private, local };
    let choices = Choices::new(choices);
    let visible = vec![id, local, number];
    let mut w = Writer {
        b,
        choices,
        visible,
        memories,
        helpers: vec![],
        sites: 0,
        size: 0,
        depth: 0,
        loops: vec![],
        uniform: true,
    };
    w.helper(module, name);
    w.load_input();
    while !w.choices.is_empty() && w.size < SIZE {
        w.statement();
    }
    w.finish(id, words, floats);
    w.b.function
}

impl Writer<'_> {
    /// A visible value of a type; one is made if there is none.
    fn value(&mut self, scalar: Scalar) -> ValueId {
        let of_type: Vec<ValueId> =
            self.visible.iter().copied().filter(|v| self.b.ty(*v) == Type::Scalar(scalar)).collect();
        let constant = of_type.is_empty() || self.choices.pick(6) == 5;
        if !constant {
            // The latest values first: what is carried out of a loop is soon used.
            let back = self.choices.pick(of_type.len().min(6));
            return of_type[of_type.len() - 1 - back];
        }
        let number = self.choices.one_of(&[0u32, 1, 2, 3, 7, 8, 31, 255, 0x8000_0000, u32::MAX, 0x5555_5555]);
        match scalar {
            Scalar::Bool => self.b.bool(number & 1 == 1),
            Scalar::F32 => self.b.f32((number & 0xff) as f32 - 3.0),
            _ => self.b.constant(scalar, u64::from(number)),
        }
    }

    fn keep(&mut self, value: ValueId) {
        self.size += 1;
        self.visible.push(value);
    }

    fn statement(&mut self) {
        let deep = self.depth >= 3;
        match self.choices.pick(16) {
            0..=4 => self.arithmetic(),
            5 => self.comparison(),
            6 => self.conversion(),
            7 => self.select(),
            8 if !deep => self.branch(),
            9 if !deep => self.switch(),
            10 | 11 if !deep && self.loops.len() < 2 => self.loop_(),
            12 => self.exchange(),
            13 => self.private_array(),
            14 => self.call(),
            15 => self.count(),
            _ => self.load_input(),
        }
    }

    fn arithmetic(&mut self) {
        let scalar = self.choices.one_of(TYPES);
        let (op, operands) = match scalar {
            Scalar::U32 | Scalar::I32 => {
                let op = self.choices.one_of(&[
                    Op::Add,
                    Op::Sub,
                    Op::Mul,
                    Op::And,
                    Op::Or,
                    Op::Xor,
                    Op::Shl,
                    Op::Shr,
                    Op::Min,
                    Op::Max,
                    Op::Div,
                    Op::Rem,
                    Op::MulHi,
                    Op::Not,
                    Op::Popc,
                    Op::Clz,
                    Op::Ctz,
                    Op::ReverseBits,
                ]);
                (op, op.row().operands.len())
            }
            // Whole numbers only come into being, so nothing becomes denormal.
            Scalar::F32 => {
                let op = self.choices.one_of(&[Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::Fma, Op::Neg, Op::Abs]);
                (op, op.row().operands.len())
            }
            _ => (self.choices.one_of(&[Op::And, Op::Or, Op::Xor, Op::Not]), 0),
        };
        let count = if scalar == Scalar::Bool { op.row().operands.len() } else { operands };
        let operands: Vec<ValueId> = (0..count).map(|_| self.value(scalar)).collect();
        let value = self.b.op(op, scalar, &operands);
        self.keep(value);
    }

    fn comparison(&mut self) {
        let scalar = self.choices.one_of(&[Scalar::U32, Scalar::I32, Scalar::F32]);
        let op = self.choices.one_of(&[Op::Lt, Op::Eq, Op::Ne, Op::Le, Op::Gt, Op::Ge]);
        let operands = [self.value(scalar), self.value(scalar)];
        let value = self.b.op(op, scalar, &operands);
        self.keep(value);
    }

    fn conversion(&mut self) {
        let from = self.choices.one_of(TYPES);
        let to = self.choices.one_of(TYPES);
        let value = self.value(from);
        let value = self.b.op(Op::Convert, to, &[value]);
        self.keep(value);
    }

    fn select(&mut self) {
        let scalar = self.choices.one_of(TYPES);
        let operands = [self.value(Scalar::Bool), self.value(scalar), self.value(scalar)];
        let value = self.b.op(Op::Select, scalar, &operands);
        self.keep(value);
    }

    /// Some scalar types for what a construct gives.
    fn some_types(&mut self) -> Vec<Scalar> {
        (0..self.choices.pick(3) + 1).map(|_| self.choices.one_of(TYPES)).collect()
    }

    /// A few statements and the end of an arm, in a new region. What they define is not visible afterwards.
    fn arm(&mut self, types: &[Scalar]) -> girih_core::ir::RegionId {
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

    fn construct(&mut self, mut inst: Inst, regions: &[girih_core::ir::RegionId], types: &[Scalar]) {
        inst.regions.extend(regions.iter().copied());
        let types: Vec<Type> = types.iter().map(|s| Type::Scalar(*s)).collect();
        let id = self.b.push(inst, &types);
        let results = self.b.function.insts[id].results.clone();
        results.into_iter().for_each(|v| self.keep(v));
    }

    fn branch(&mut self) {
        let condition = self.value(Scalar::Bool);
        let types = self.some_types();
        let regions = vec![self.arm(&types), self.arm(&types)];
        self.construct(Inst::new(Op::If, None, &[condition], Span::NONE), &regions, &types);
    }

    fn switch(&mut self) {
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
    fn loop_(&mut self) {
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
        let zero = self.b.u32(0);
        let mut initial = vec![zero];
        initial.extend(types.iter().map(|s| self.value(*s)).collect::<Vec<_>>());
        let region =
            self.loop_region(&initial, Turning { params: vec![], limit, types: types.clone(), irregular }, fixed);
        let mut results = vec![Scalar::U32];
        results.extend(&types);
        self.construct(Inst::new(Op::Loop, None, &initial, Span::NONE), &[region], &results);
    }

    fn loop_region(&mut self, initial: &[ValueId], mut turning: Turning, fixed: bool) -> girih_core::ir::RegionId {
        let types: Vec<Type> = initial.iter().map(|v| self.b.ty(*v)).collect();
        let region = self.b.new_region(&types);
        turning.params = self.b.function.regions[region].params.clone();
        let (visible, uniform) = (self.visible.len(), self.uniform);
        let outer = std::mem::replace(&mut self.b.region, region);
        self.uniform &= fixed && !turning.irregular;
        self.depth += 1;
        self.visible.extend(&turning.params);
        self.loops.push(turning.clone());
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

    /// Goes on with the next turn of a loop, unless the last one has been made.
    fn turn(&mut self, turning: &Turning) {
        let Turning { params, limit, types, .. } = turning;
        let one = self.b.u32(1);
        let next = self.b.op(Op::Add, Scalar::U32, &[params[0], one]);
        let mut operands = vec![self.b.op(Op::Lt, Scalar::U32, &[params[0], *limit]), next];
        if self.choices.pick(3) == 1 {
            // Swapped: the parameters themselves, in another order where their types allow it.
            let mut rest = params[1..].to_vec();
            for i in 1..rest.len() {
                if types[i] == types[i - 1] {
                    rest.swap(i, i - 1);
                }
            }
            operands.extend(rest);
        } else {
            operands.extend(types.iter().map(|s| self.value(*s)).collect::<Vec<_>>());
        }
        self.b.end(Op::While, &operands);
    }

    fn leave(&mut self, turning: &Turning) {
        let mut broken = vec![turning.params[0]];
        broken.extend(turning.types.iter().map(|s| self.value(*s)).collect::<Vec<_>>());
        self.b.end(Op::Break, &broken);
    }

    /// Counts a memory access; false if there are too many.
    fn site(&mut self) -> bool {
        self.sites += 1;
        self.sites <= MEMORY_SITES
    }

    fn masked(&mut self, mask: u32) -> ValueId {
        let (value, mask) = (self.value(Scalar::U32), self.b.u32(mask));
        self.b.op(Op::And, Scalar::U32, &[value, mask])
    }

    fn load_input(&mut self) {
        if self.site() {
            let index = self.masked(WORDS - 1);
            let value = self.b.load(Scalar::U32, self.memories.input, index);
            self.keep(value);
        }
    }

    /// Passes a value to another invocation of the workgroup.
    fn exchange(&mut self) {
        if !self.uniform || !self.site() || !self.site() {
            return;
        }
        let Memories { shared, local, .. } = self.memories;
        let value = self.value(Scalar::U32);
        self.b.store(Scalar::U32, shared, local, value);
        self.b.end(Op::Barrier, &[]);
        let index = self.masked(WORKGROUP - 1);
        let value = self.b.load(Scalar::U32, shared, index);
        self.b.end(Op::Barrier, &[]);
        self.keep(value);
    }

    fn private_array(&mut self) {
        if !self.site() || !self.site() {
            return;
        }
        let private = self.memories.private;
        let (index, value) = (self.masked(7), self.value(Scalar::U32));
        self.b.store(Scalar::U32, private, index, value);
        let index = self.masked(7);
        let value = self.b.load(Scalar::U32, private, index);
        self.keep(value);
    }

    /// Adds to a counter; what it was is not looked at, because the order is free.
    fn count(&mut self) {
        if self.site() {
            let (index, value) = (self.masked(3), self.value(Scalar::U32));
            let counters = self.memories.counters;
            self.b.op_with(Op::AtomicAdd, Some(Type::U32), &[counters, index, value], &[]);
        }
    }

    fn call(&mut self) {
        let Some(helper) = self.helpers.first().copied() else { return };
        let operands = [self.value(Scalar::U32), self.value(Scalar::F32)];
        let results = self.b.call(helper, &[Type::U32, Type::F32], &operands);
        results.into_iter().for_each(|v| self.keep(v));
    }

    /// A function with an early return.
    fn helper(&mut self, module: &mut Module, name: &str) {
        if self.choices.pick(3) != 1 {
            return;
        }
        let mut function = Function::new(format!("{name}_helper"), Span::NONE);
        function.results = vec![Type::U32, Type::F32];
        let a = function.param("a", Type::U32, ParamAttrs::default());
        let x = function.param("x", Type::F32, ParamAttrs::default());
        let mut b = Builder::new(function);
        let limit = b.u32(self.choices.pick(64) as u32);
        let early = b.op(Op::Lt, Scalar::U32, &[a, limit]);
        let (five, two) = (b.u32(5), b.f32(2.0));
        let inside_loop = self.choices.pick(2) == 1;
        let leave = |b: &mut Builder| {
            let less = b.op(Op::Add, Scalar::U32, &[a, five]);
            b.end(Op::Return, &[less, x]);
        };
        if inside_loop {
            let zero = b.u32(0);
            b.loop_with(&[zero], &[Type::U32], |b, params| {
                b.if_else(early, &[], leave, |b| b.end(Op::Yield, &[]));
                let one = b.u32(1);
                let next = b.op(Op::Add, Scalar::U32, &[params[0], one]);
                let going = b.op(Op::Lt, Scalar::U32, &[params[0], five]);
                b.end(Op::While, &[going, next]);
            });
        } else {
            b.if_else(early, &[], leave, |b| b.end(Op::Yield, &[]));
        }
        let product = b.op(Op::Mul, Scalar::U32, &[a, five]);
        let sum = b.op(Op::Add, Scalar::F32, &[x, two]);
        b.end(Op::Return, &[product, sum]);
        self.helpers.push(module.functions.push(b.function));
    }

    /// Mixes the visible words and floats into one of each, so that all of them matter.
    fn finish(&mut self, id: ValueId, words: ValueId, floats: ValueId) {
        let visible = self.visible.clone();
        let mut word = self.b.u32(0);
        let mut float = self.b.f32(0.0);
        let five = self.b.u32(5);
        for value in visible {
            match self.b.ty(value) {
                Type::Scalar(Scalar::F32) => float = self.b.op(Op::Max, Scalar::F32, &[float, value]),
                Type::Scalar(_) => {
                    let bits = self.b.op(Op::Convert, Scalar::U32, &[value]);
                    let mixed = self.b.op(Op::Xor, Scalar::U32, &[word, bits]);
                    word = self.b.op(Op::Mul, Scalar::U32, &[mixed, five]);
                }
                _ => {}
            }
        }
        self.b.store(Scalar::U32, words, id, word);
        self.b.store(Scalar::F32, floats, id, float);
        self.b.end(Op::Return, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{describe, reference};
    use super::super::{Oracle, run_group};
    use super::*;
    use crate::devices::{self, Profile, Selector};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    #[test]
    fn many_seeds_make_kernels_that_follow_the_rules() {
        let groups: Vec<Group> = random_groups(1, 200, 25).collect();
        assert_eq!(groups.len(), 8);
        assert!(groups.iter().all(|g| g.cases.len() == 25));
    }

    /// What is wrong with the kernel of these choices on a device.
    fn wrong(choices: &[u8], selector: &Selector) -> Option<String> {
        let group = group("random".to_owned(), &[choices.to_vec()]);
        let mut device = devices::open(selector, None).expect("it is always there");
        let mut machine = reference;
        run_group(&mut Oracle::new(&group, &mut machine), &mut *device).iter().find_map(describe)
    }

    /// Kernels of random choices, always the same ones, shrunk where they fail.
    #[test]
    fn kernels_do_on_devices_what_the_reference_machine_does() {
        let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let devices = [Selector::Cpu, Selector::Lowered(Profile::Web), Selector::Lowered(Profile::Cuda(90))];
        let choices = proptest::collection::vec(any::<u8>(), 16..256);
        let held = runner.run(&choices, |choices| {
            for device in &devices {
                let found = wrong(&choices, device);
                prop_assert!(found.is_none(), "{device}: {found:?}");
            }
            Ok(())
        });
        held.unwrap_or_else(|failure| panic!("{failure}"));
    }
}
