//! A kernel while it is written: values, arithmetic, a function that is called, and the end, which stores everything that is visible.

use super::{Choices, SIZE, WORKGROUP};
use girih_base::span::Span;
use girih_ir::attrs::Dim;
use girih_ir::{Builder, Function, FunctionId, Launch, Module, Op, ParamAttrs, Scalar, Space, Type, ValueId};

/// A kernel while it is written.
pub(super) struct KernelWriter<'a> {
    pub b: Builder,
    pub choices: Choices<'a>,
    /// Values that are visible here.
    pub visible: Vec<ValueId>,
    pub memories: Memories,
    pub helpers: Vec<FunctionId>,
    pub sites: u32,
    pub size: u32,
    /// How many regions stand around.
    pub depth: u32,
    /// The loops that stand around, the innermost last.
    pub loops: Vec<Turning>,
    /// Whether all invocations of the workgroup come here together.
    pub uniform: bool,
}

/// A loop around the current place.
#[derive(Clone)]
pub(super) struct Turning {
    pub params: Vec<ValueId>,
    pub limit: ValueId,
    pub types: Vec<Scalar>,
    /// Whether it may be left, or its next turn started, from inside of other constructs.
    pub irregular: bool,
    /// Whether it ends before its turns rather than after them.
    pub headed: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Memories {
    pub input: ValueId,
    pub counters: ValueId,
    pub shared: ValueId,
    pub private: ValueId,
    pub local: ValueId,
}

/// Types of values, those that matter most several times.
const TYPES: &[Scalar] = &[
    Scalar::U32,
    Scalar::I32,
    Scalar::F32,
    Scalar::Bool,
    Scalar::U32,
    Scalar::I32,
    Scalar::F32,
    Scalar::Bool,
    Scalar::U64,
    Scalar::I64,
    Scalar::U8,
    Scalar::I16,
    Scalar::F16,
    Scalar::Bf16,
];

/// The kernel of these choices; a function that it calls goes into the module.
pub(super) fn kernel(name: &str, choices: &[u8], module: &mut Module) -> Function {
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
    let mut w = KernelWriter {
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

impl KernelWriter<'_> {
    /// A visible value of a type; one is made if there is none.
    pub(super) fn value(&mut self, scalar: Scalar) -> ValueId {
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
            Scalar::F16 => {
                let bits = half::f16::from_f32((number & 0xff) as f32 - 3.0).to_bits();
                self.b.constant(scalar, bits.into())
            }
            Scalar::Bf16 => {
                let bits = half::bf16::from_f32((number & 0xff) as f32 - 3.0).to_bits();
                self.b.constant(scalar, bits.into())
            }
            // High words matter, too.
            Scalar::U64 | Scalar::I64 => {
                self.b.constant(scalar, u64::from(number) << self.choices.one_of(&[0, 31, 32]))
            }
            _ => self.b.constant(scalar, u64::from(number)),
        }
    }

    pub(super) fn keep(&mut self, value: ValueId) {
        self.size += 1;
        self.visible.push(value);
    }

    pub(super) fn statement(&mut self) {
        let deep = self.depth >= 3;
        match self.choices.pick(19) {
            0..=4 => self.arithmetic(),
            5 => self.comparison(),
            6 => self.conversion(),
            7 => self.select(),
            8 if !deep => self.branch(),
            9 if !deep => self.switch(),
            10..=13 if !deep && self.loops.len() < 2 => self.loop_(),
            14 => self.exchange(),
            15 => self.private_array(),
            16 => self.call(),
            17 => self.count(),
            18 => self.vector(),
            _ => self.load_input(),
        }
    }

    fn arithmetic(&mut self) {
        let scalar = self.choices.one_of(TYPES);
        let (op, operands) = match scalar {
            _ if scalar.is_integer() => {
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
            _ if scalar.is_float() => {
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
        let types = [Scalar::U32, Scalar::I32, Scalar::F32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::I16];
        let scalar = self.choices.one_of(&types);
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
    pub(super) fn some_types(&mut self) -> Vec<Scalar> {
        (0..self.choices.pick(3) + 1).map(|_| self.choices.one_of(TYPES)).collect()
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
                Type::Scalar(scalar) if scalar.is_float() => {
                    let wide =
                        if scalar == Scalar::F32 { value } else { self.b.op(Op::Convert, Scalar::F32, &[value]) };
                    float = self.b.op(Op::Max, Scalar::F32, &[float, wide]);
                }
                Type::Scalar(scalar) => {
                    let mut bits = self.b.op(Op::Convert, Scalar::U32, &[value]);
                    if scalar.bytes() == 8 {
                        let half = self.b.constant(scalar, 32);
                        let high = self.b.op(Op::Shr, scalar, &[value, half]);
                        let high = self.b.op(Op::Convert, Scalar::U32, &[high]);
                        bits = self.b.op(Op::Sub, Scalar::U32, &[bits, high]);
                    }
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
