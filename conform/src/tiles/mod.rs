//! Random kernels in tile form: spread over threads, they must give what the whole-array interpreter gives.
//!
//! As with [`super::random`], a kernel is a function of a list of bytes, and is verified, free of races and in bounds. Each program stores its results
//! to places of its own. Sums and matrix products are of small whole numbers, so that the order of
//! sums does not change a result.

mod combine;
mod control;
mod memory;

use super::random::Choices;
use super::{Case, CaseArgument, Expectation, Group, pack};
use girih_ir::attrs::Dim;
use girih_ir::eval;
use girih_ir::kernel::{Block, Buffer, Literal, TileKernel};
use girih_ir::ops::Class;
use girih_ir::{Function, FunctionId, Module, Op, ParamAttrs, Scalar, Shape, Type, verify};
use girih_runtime::Constant;

/// Programs of a launch.
const GRID: u32 = 2;
/// Elements of each input.
const INPUT: u64 = 256;
/// Elements that a store may have, and so the distance between the places of two stores.
const ROOM: u64 = 1024;
/// Stores into each output.
const STORES: u64 = 4;
/// Most accesses: software devices compile slowly beyond that.
const SITES: u32 = 10;
/// Most statements, about.
const SIZE: u32 = 40;
/// Counters that programs add to.
const COUNTERS: u64 = 16;

/// Types that tiles are computed in.
const TYPES: &[Scalar] = &[Scalar::I32, Scalar::F32, Scalar::U32, Scalar::Bool, Scalar::F16];
/// Shapes that tiles begin with.
const SHAPES: &[&[u64]] = &[&[64], &[16, 16], &[128], &[4, 64], &[1], &[2, 8, 16], &[32, 4], &[512], &[16], &[1, 32]];

/// `count` random kernels from a seed, packed into groups of at most `each`.
pub fn tile_groups(seed: u64, count: usize, each: usize) -> impl Iterator<Item = Group> {
    super::random::packed("tiles", seed, count, each, tile_group)
}

/// The kernels of these choices, one case each.
///
/// # Panics
/// If a kernel breaks a rule of the IR: a mistake of the generator, or of the verifier.
pub fn tile_group(name: String, kernels: &[Vec<u8>]) -> Group {
    let mut module = Module::default();
    let mut cases = vec![];
    for (i, choices) in kernels.iter().enumerate() {
        let kernel = module.functions.push(kernel(&format!("t{i}"), choices));
        cases.push(case(
            format!("{i} {}", super::Choices { writer: super::KernelForm::Tiles, bytes: choices.clone() }),
            kernel,
            choices,
        ));
    }
    match verify(module) {
        Ok(module) => Group { name, module, cases },
        Err(errors) => panic!("a random kernel of `{name}` breaks a rule: {}", errors[0].message),
    }
}

fn case(name: String, kernel: FunctionId, choices: &[u8]) -> Case {
    let mut word = choices.iter().fold(0x0bad_cafeu32, |h, b| h.rotate_left(5) ^ u32::from(*b));
    let mut next = move || {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        word >> 8
    };
    let mut small = |scalar| {
        let numbers: Vec<u64> = (0..INPUT).map(|_| eval::narrow(f64::from(next() % 17) - 8.0, scalar)).collect();
        CaseArgument::Buffer(pack(scalar, numbers), Expectation::exact(scalar))
    };
    let (floats, halves) = (small(Scalar::F32), small(Scalar::F16));
    let ints: Vec<u64> =
        (0..INPUT).map(|_| u64::from(if next() % 2 == 0 { next() % 300 } else { next() << 8 })).collect();
    let ints = CaseArgument::Buffer(pack(Scalar::I32, ints), Expectation::exact(Scalar::I32));
    let out = |scalar: Scalar, count: u64, class| {
        let bytes = count * u64::from(scalar.bytes());
        CaseArgument::Buffer(vec![0; bytes as usize], Expectation::class(scalar, class))
    };
    let places = u64::from(GRID) * STORES * ROOM;
    let number = |n: u32| CaseArgument::Scalar(Constant { ty: Type::I32, bits: n.into() });
    let arguments = vec![
        ints,
        floats,
        halves,
        out(Scalar::I32, places, Class::Exact),
        out(Scalar::F32, places, Class::Rounded),
        out(Scalar::F16, places, Class::Rounded),
        out(Scalar::I8, places, Class::Exact),
        out(Scalar::I32, COUNTERS, Class::Exact),
        number(next() % 200),
        number(16 * (next() % 12)),
    ];
    Case::new(name, kernel, arguments, Some([GRID, 1, 1]))
}

/// Buffers of a kernel.
struct Buffers<'a> {
    inputs: [Buffer<'a>; 3],
    outputs: [Buffer<'a>; 4],
    counters: Buffer<'a>,
}

/// A kernel while it is written.
struct TileWriter<'a> {
    k: &'a TileKernel,
    choices: Choices<'a>,
    /// Values that are visible here.
    visible: Vec<Block<'a>>,
    buffers: Buffers<'a>,
    /// The program's number.
    program: Block<'a>,
    /// How many stores there are into each output.
    stores: [u64; 4],
    sites: u32,
    size: u32,
    /// How many regions stand around.
    depth: u32,
}

fn kernel(name: &str, bytes: &[u8]) -> Function {
    let mut choices = Choices::new(bytes);
    let k = TileKernel::new(name, choices.one_of(&[1, 4, 2, 8]));
    let mut w = TileWriter::new(&k, choices);
    w.load();
    while !w.choices.is_empty() && w.size < SIZE {
        w.statement();
    }
    w.finish();
    k.finish().unwrap_or_else(|wrong| panic!("a mistake of the generator: {}", wrong.message))
}

impl<'a> TileWriter<'a> {
    fn new(k: &'a TileKernel, choices: Choices<'a>) -> TileWriter<'a> {
        let buffer = |name, element, readonly| {
            k.buffer_with(name, element, ParamAttrs { readonly, noalias: true, align: 16, ..ParamAttrs::default() })
        };
        let inputs = [("ints", Scalar::I32), ("floats", Scalar::F32), ("halves", Scalar::F16)];
        let outputs =
            [("words", Scalar::I32), ("numbers", Scalar::F32), ("shorts", Scalar::F16), ("bytes", Scalar::I8)];
        let buffers = Buffers {
            inputs: inputs.map(|(name, element)| buffer(name, element, true)),
            outputs: outputs.map(|(name, element)| buffer(name, element, false)),
            counters: buffer("counters", Scalar::I32, false),
        };
        let number = k.number("number", Scalar::I32);
        let multiple = k.number_with("multiple", Scalar::I32, ParamAttrs { divisible: 16, ..ParamAttrs::default() });
        let program = k.program(Dim::X);
        let visible = vec![program, number, multiple];
        TileWriter { k, choices, visible, buffers, program, stores: [0; 4], sites: 0, size: 0, depth: 0 }
    }

    fn keep(&mut self, value: Block<'a>) {
        self.size += 1;
        self.visible.push(value);
    }

    /// A constant of a type.
    fn constant(&mut self, scalar: Scalar) -> Block<'a> {
        let number = self.choices.one_of(&[1, 0, 2, 3, -1, 7, 16, 31, 100, -8, 255]);
        let literal: Literal = match scalar {
            Scalar::Bool => (number & 1 == 1).into(),
            Scalar::U32 => (number as u32).into(),
            Scalar::U16 => u32::from(number as u16).into(),
            Scalar::U8 => u32::from(number as u8).into(),
            Scalar::I8 => i32::from(number as i8).into(),
            _signed => number.into(),
        };
        self.k.constant(scalar, literal)
    }

    /// A single number of a type.
    fn number(&mut self, scalar: Scalar) -> Block<'a> {
        let numbers: Vec<Block<'a>> = self.visible.iter().copied().filter(|v| v.shape().is_none()).collect();
        if numbers.is_empty() || self.choices.pick(4) == 3 {
            return self.constant(scalar);
        }
        self.choices.one_of(&numbers).to(scalar)
    }

    /// A shape, one that there is already if possible.
    fn some_shape(&mut self) -> Shape {
        let known: Vec<Shape> = self.visible.iter().filter_map(|v| v.shape()).collect();
        let lengths = self.choices.one_of(SHAPES);
        match known.last() {
            Some(_) if self.choices.pick(4) > 0 => known[known.len() - 1 - self.choices.pick(known.len().min(5))],
            _none => Shape::of(lengths).expect("the lengths of the table are powers of two"),
        }
    }

    /// A tile of a type and shape: one that there is, one made of its shape, or a new one.
    fn tile(&mut self, scalar: Scalar, shape: Shape) -> Block<'a> {
        let like: Vec<Block<'a>> = self.visible.iter().copied().filter(|v| v.shape() == Some(shape)).collect();
        let same: Vec<Block<'a>> = like.iter().copied().filter(|v| v.element() == scalar).collect();
        let choice = self.choices.pick(6);
        if !same.is_empty() && choice < 4 {
            return same[same.len() - 1 - self.choices.pick(same.len().min(4))];
        }
        if !like.is_empty() && choice < 5 {
            return like[like.len() - 1 - self.choices.pick(like.len().min(4))].to(scalar);
        }
        if choice == 5 {
            let number = self.number(scalar);
            return self.k.full(&shape.to_vec(), number);
        }
        self.numbers(shape).to(scalar)
    }

    /// The number of each element, in order.
    fn numbers(&self, shape: Shape) -> Block<'a> {
        self.k.iota(shape.elements()).reshape(&shape.to_vec())
    }

    fn statement(&mut self) {
        let deep = self.depth >= 2;
        match self.choices.pick(20) {
            0..=3 => self.arithmetic(),
            4 => self.comparison(),
            5 => self.select(),
            6 => self.view(),
            7 => self.reduce(),
            8 => self.spread_back(),
            9 => self.scan(),
            10 | 11 => self.load(),
            12 | 13 => self.store(),
            14 => self.dot(),
            15 if !deep => self.loop_(),
            16 if !deep => self.branch(),
            17 => self.halves(),
            18 => self.scattered(),
            19 => self.count(),
            _ => self.map(),
        }
    }

    fn arithmetic(&mut self) {
        let (shape, scalar) = (self.some_shape(), self.choices.one_of(TYPES));
        let op = match scalar {
            Scalar::F32 | Scalar::F16 => {
                self.choices.one_of(&[Op::Add, Op::Mul, Op::Sub, Op::Min, Op::Max, Op::Neg, Op::Abs])
            }
            Scalar::Bool => self.choices.one_of(&[Op::And, Op::Or, Op::Xor, Op::Not]),
            _integers => self.choices.one_of(&[
                Op::Add,
                Op::Mul,
                Op::Sub,
                Op::And,
                Op::Or,
                Op::Xor,
                Op::Min,
                Op::Max,
                Op::Shl,
                Op::Shr,
                Op::Div,
                Op::Rem,
                Op::Not,
            ]),
        };
        let operands: Vec<Block<'a>> = (0..op.row().operands.len()).map(|_| self.tile(scalar, shape)).collect();
        self.keep(Block::apply(op, &operands));
    }

    fn comparison(&mut self) {
        let shape = self.some_shape();
        let scalar = self.choices.one_of(&[Scalar::I32, Scalar::F32, Scalar::U32, Scalar::F16]);
        let op = self.choices.one_of(&[Op::Lt, Op::Eq, Op::Ne, Op::Le, Op::Gt, Op::Ge]);
        let operands = [self.tile(scalar, shape), self.tile(scalar, shape)];
        self.keep(Block::apply(op, &operands));
    }

    fn select(&mut self) {
        let (shape, scalar) = (self.some_shape(), self.choices.one_of(TYPES));
        let condition = self.tile(Scalar::Bool, shape);
        let (then, otherwise) = (self.tile(scalar, shape), self.tile(scalar, shape));
        self.keep(condition.select(then, otherwise));
    }

    /// The same elements in another shape or order.
    fn view(&mut self) {
        let (shape, scalar) = (self.some_shape(), self.choices.one_of(TYPES));
        let value = self.tile(scalar, shape);
        let (rank, elements) = (shape.rank(), shape.elements());
        let value = match self.choices.pick(3) {
            0 if rank > 1 => {
                let turn = self.choices.pick(rank);
                let axes: Vec<u32> = (0..rank).map(|i| ((i + 1 + turn) % rank) as u32).collect();
                value.permute(&axes)
            }
            1 => {
                let rows = 1 << self.choices.pick(elements.trailing_zeros() as usize + 1);
                value.reshape(&[rows, elements / rows])
            }
            _flat => value.reshape(&[elements]),
        };
        self.keep(value);
    }

    /// Two tiles beside each other, one taken apart, one behind the other.
    fn halves(&mut self) {
        let (shape, scalar) = (self.some_shape(), self.choices.one_of(TYPES));
        if shape.elements() * 2 > ROOM || shape.rank() > 3 {
            return;
        }
        let (a, b) = (self.tile(scalar, shape), self.tile(scalar, shape));
        if self.choices.pick(2) == 0 {
            self.keep(a.cat(b));
            return;
        }
        let joined = a.join(b);
        self.keep(joined);
        let [_, second] = joined.split();
        self.keep(second);
    }

    /// Elements at computed places, or how often each number stands somewhere: what only the plain way does.
    fn scattered(&mut self) {
        if self.choices.pick(3) == 0 {
            let line = Shape::of(&[64]).expect("a power of two");
            // More bins than short numbers there are, too.
            let scalar = self.choices.one_of(&[Scalar::I32, Scalar::U8, Scalar::I8, Scalar::U16]);
            let bins = self.choices.one_of(&[16, 256, 512]);
            let (value, inside) = (self.tile(scalar, line), self.tile(Scalar::Bool, line));
            self.keep(value.histogram(bins, inside));
            return;
        }
        let (shape, scalar) = (self.some_shape(), self.choices.one_of(&[Scalar::I32, Scalar::F32]));
        let axis = self.choices.pick(shape.rank());
        let (value, index) = (self.tile(scalar, shape), self.tile(Scalar::I32, shape));
        self.keep(value.gather(axis, index));
    }

    /// A function of each element.
    fn map(&mut self) {
        let shape = self.some_shape();
        let operands = [self.tile(Scalar::I32, shape), self.tile(Scalar::F32, shape)];
        let found = self.k.map(&operands, |p| vec![p[0] + 3, p[0].lt(3).select(-p[1], p[1])]);
        for value in found {
            self.keep(value);
        }
    }

    /// Stores the last values of each kind, so that they matter.
    fn finish(mut self) {
        self.sites = self.sites.min(SITES - 3);
        let mut left = 3;
        for value in self.visible.clone().into_iter().rev() {
            let which = match value.element() {
                Scalar::F32 => 1,
                Scalar::F16 => 2,
                _integers => 0,
            };
            if left > 0 && value.shape().is_some() && self.stores[which] < STORES {
                self.store_value(which, value);
                left -= 1;
            }
        }
    }
}

/// Whole numbers between -8 and 8, of which sums are exact.
fn small(value: Block<'_>) -> Block<'_> {
    value.to(Scalar::F32).max(-8).min(8).trunc()
}

#[cfg(test)]
mod tests {
    use super::super::suite::{self, reference};
    use super::super::{Oracle, Outcome, run_group};
    use super::*;
    use girih::devices::{self, Profile, Selector};
    use girih_ir::ops::Family;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    #[test]
    fn every_operation_on_tiles_occurs() {
        let mut found = vec![];
        for group in tile_groups(1, 120, 20) {
            for function in group.module.functions.iter() {
                function.walk(function.body, &mut |_, inst| found.push(inst.op));
            }
        }
        // Hints and what is said to the host give nothing; a compare-exchange depends on the order of programs.
        let left_out = [Op::TileHint, Op::TileAssume, Op::TilePrint, Op::TileAssert, Op::TileCompareExchange];
        for op in Op::ALL.iter().filter(|op| op.row().family == Family::Tile && !left_out.contains(op)) {
            assert!(found.contains(op), "{}", op.name());
        }
        assert!([Op::Loop, Op::If].iter().all(|op| found.contains(op)));
    }

    /// What is wrong with the kernel of these choices on a device; otherwise whether it ran.
    fn ran(choices: &[u8], selector: &Selector) -> Result<bool, String> {
        let group = tile_group("tiles".to_owned(), &[choices.to_vec()]);
        let device = devices::open(selector, None).expect("it is always there");
        let mut machine = reference;
        let found = run_group(&mut Oracle::new(&group, &mut machine), &device);
        match suite::wrong(&group, &found).next() {
            Some((_, what)) => Err(format!("{selector}: {what}\n{}", girih_ir::text::print(&group.module))),
            None => Ok(found.iter().all(|outcome| matches!(outcome, Outcome::Passed))),
        }
    }

    /// Kernels of random choices, always the same ones, shrunk where they fail.
    #[test]
    fn tiles_on_threads_are_what_whole_arrays_are() {
        let cases = girih_workbench::sample("GIRIH_RANDOM", 20, 120) as u32;
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 3000, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let ptx = Selector::parse("ptx:sm_90a").expect("a device's name");
        let devices = [Selector::Cpu, Selector::Lowered(Profile::Web), Selector::Lowered(Profile::Cuda(90)), ptx];
        let choices = proptest::collection::vec(any::<u8>(), 16..256);
        let counts = std::cell::Cell::new([0, 0]);
        let held = runner.run(&choices, |choices| {
            for device in &devices {
                let ran = ran(&choices, device).map_err(TestCaseError::fail)?;
                let mut now = counts.get();
                now[usize::from(ran)] += 1;
                counts.set(now);
            }
            Ok(())
        });
        held.unwrap_or_else(|failure| panic!("{failure}"));
        let [refused, passed] = counts.get();
        assert!(passed > 10 * refused, "{passed} ran, {refused} were refused");
    }
}
