//! Random modules of all operations: what is printed is read back and printed alike.
//!
//! The modules keep the shape that the table asks for, but not the rules of the verifier: types of operands are any.

use super::read;
use girih_base::span::Span;
use girih_ir::attrs::*;
use girih_ir::heap::FIELDS;
use girih_ir::ops::{Pattern, Suffix};
use girih_ir::text::{Syntax, print, print_function, syntax};
use girih_ir::types::{CoopUse, MOST_REGS, MatrixShape};
use girih_ir::{
    Attr, AttrKind, Builder, Function, FunctionId, Global, GlobalId, Inst, Launch, Layout, LayoutId, Module, Op,
    ParamAttrs, Scalar, ScalarSet, Shape, Space, Specialisation, Type, Value, ValueId,
};
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use std::collections::HashSet;

struct Maker {
    rng: TestRng,
    b: Builder,
    /// Values that are visible, by region.
    visible: Vec<ValueId>,
    /// Parameters of the loops around, and their results.
    loops: Vec<(Vec<Type>, Vec<Type>)>,
    /// Functions that can be called: parameters and results.
    callees: Vec<(Vec<Type>, Vec<Type>)>,
    /// Fields of the layouts that there are.
    layouts: Vec<Vec<Type>>,
    seen: HashSet<Op>,
    budget: usize,
}

const NAMES: &[&str] =
    &["x", "y", "x.1", "0", "7", "odd name", "a/b", "quote\"", "back\\slash", "é", "line\nbreak", ""];

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        self.rng.next_u32() as usize % n.max(1)
    }
    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        let i = self.below(of.len());
        of[i].clone()
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    fn scalar(&mut self, set: ScalarSet) -> Scalar {
        let all: Vec<Scalar> = set.iter().collect();
        self.one(&all)
    }
    fn vector(&mut self, set: ScalarSet) -> Type {
        let scalar = self.scalar(set.without(ScalarSet::BOOL));
        let lanes: Vec<u32> = [2, 4, 8, 16].into_iter().filter(|n| Type::is_short_vector(scalar, *n)).collect();
        if lanes.is_empty() { scalar.into() } else { Type::Vector(scalar, self.one(&lanes) as u8) }
    }
    fn shape(&mut self) -> MatrixShape {
        MatrixShape { m: self.below(300) as u16, n: self.below(300) as u16, k: self.below(300) as u16 }
    }
    fn coop(&mut self) -> Type {
        let usage = self.one(&[CoopUse::A, CoopUse::B, CoopUse::Acc]);
        Type::Coop(usage, self.shape(), self.scalar(ScalarSet::STORED))
    }
    fn any_type(&mut self) -> Type {
        match self.below(7) {
            6 => self.tile(ScalarSet::ALL),
            0..=2 => self.scalar(ScalarSet::ALL).into(),
            3 => self.vector(ScalarSet::STORED),
            4 => Type::Regs(self.scalar(ScalarSet::STORED), 1 + self.below(usize::from(MOST_REGS)) as u16),
            _ => self.one(&[Type::Token, Type::Term, self_coop()]),
        }
    }
    fn tile(&mut self, set: ScalarSet) -> Type {
        let lengths: Vec<u64> = (0..1 + self.below(3)).map(|_| 1 << self.below(5)).collect();
        let shape = Shape::of(&lengths).expect("a small shape");
        Type::tile(shape, self.scalar(set))
    }
    fn suffix(&mut self, suffix: Suffix) -> Option<Type> {
        match suffix {
            Suffix::None | Suffix::Dim => None,
            Suffix::Scalar(set) => Some(self.scalar(set).into()),
            Suffix::Lanes(set) if self.chance(30) => Some(self.vector(set)),
            Suffix::Lanes(set) => Some(self.scalar(set).into()),
            Suffix::Aggregate(set) if self.chance(50) => Some(Type::Regs(self.scalar(set), 1 + self.below(5) as u16)),
            Suffix::Aggregate(_) => Some(Type::Vector(Scalar::F32, 4)),
            Suffix::Coop => Some(self.coop()),
            Suffix::Tile(set) => Some(self.tile(set)),
            Suffix::Block(set) if self.chance(70) => Some(self.tile(set)),
            Suffix::Block(set) => Some(self.scalar(set).into()),
            Suffix::Any => Some(self.any_type()),
        }
    }
    fn constant(&mut self, scalar: Scalar) -> ValueId {
        let bits = match self.below(4) {
            0 => 0,
            1 => self.below(20) as u64,
            2 => u64::MAX,
            _ => self.rng.next_u64(),
        };
        self.b.constant(scalar, bits)
    }
    /// Any value, of this type if possible.
    fn value(&mut self, ty: Option<Type>) -> ValueId {
        let fitting: Vec<ValueId> =
            self.visible.iter().copied().filter(|v| ty.is_none_or(|ty| self.b.ty(*v) == ty)).collect();
        if !fitting.is_empty() && self.chance(60) {
            return self.one(&fitting);
        }
        match ty {
            Some(Type::Scalar(scalar)) if self.chance(90) => self.constant(scalar),
            _ if self.chance(50) && !self.visible.is_empty() => {
                let all = self.visible.clone();
                self.one(&all)
            }
            _ => {
                let scalar = self.scalar(ScalarSet::ALL);
                self.constant(scalar)
            }
        }
    }
    fn values(&mut self, types: &[Type]) -> Vec<ValueId> {
        types.iter().map(|ty| self.value(Some(*ty))).collect()
    }
    fn types(&mut self, most: usize) -> Vec<Type> {
        (0..self.below(most + 1)).map(|_| self.any_type()).collect()
    }
    fn memory(&mut self) -> ValueId {
        let handles: Vec<ValueId> =
            self.visible.iter().copied().filter(|v| matches!(self.b.ty(*v), Type::Memory(_))).collect();
        self.one(&handles)
    }
    fn operand(&mut self, pattern: Pattern, ty: Option<Type>) -> ValueId {
        match pattern {
            Pattern::T => self.value(ty),
            Pattern::Element | Pattern::Parts => self.value(ty.and_then(Type::element).map(Type::Scalar)),
            Pattern::Bool => self.value(Some(ty.map_or(Type::BOOL, Type::truth))),
            Pattern::Inside => self.value(Some(Type::BOOL)),
            Pattern::Filler => self.value(ty.and_then(Type::element).map(Type::Scalar)),
            Pattern::Mask => self.value(ty.map(|ty| ty.with_element(Scalar::U32))),
            Pattern::U32 | Pattern::Index => self.value(Some(Type::U32)),
            Pattern::Memory(_) => self.memory(),
            Pattern::Ballot
            | Pattern::Source
            | Pattern::Aggregate
            | Pattern::First
            | Pattern::Fragment
            | Pattern::Token
            | Pattern::Term
            | Pattern::Block
            | Pattern::AnyBlock
            | Pattern::Indices
            | Pattern::Rest => self.value(None),
        }
    }
    fn attr(&mut self, kind: AttrKind) -> Option<Attr> {
        let number = self.rng.next_u32();
        Some(match kind {
            AttrKind::Dim => Attr::Dim(self.one(&Dim::ALL)),
            AttrKind::Offset => Attr::Offset(number as i32),
            AttrKind::SourceOffset => Attr::SourceOffset(number as i32 >> 20),
            AttrKind::NoWrap => Attr::NoWrap,
            AttrKind::Total => Attr::Total,
            AttrKind::Order => {
                Attr::Order(self.one(&[Order::Relaxed, Order::Acquire, Order::Release, Order::AcquireRelease]))
            }
            AttrKind::Scope => Attr::Scope(self.one(&[Scope::Workgroup, Scope::Device])),
            AttrKind::Spaces => Attr::Spaces(Spaces { global: self.chance(50), shared: self.chance(50) }),
            AttrKind::Cache => Attr::Cache(self.one(&[Cache::Streaming, Cache::Global])),
            AttrKind::Volatile => Attr::Volatile,
            AttrKind::Unroll => Attr::Unroll,
            AttrKind::Flat => Attr::Flat,
            AttrKind::Pending => Attr::Pending(number),
            AttrKind::Code => Attr::Code(number),
            AttrKind::Field => Attr::Field(number),
            AttrKind::Shape => Attr::Shape(self.shape()),
            AttrKind::MatrixA => Attr::MatrixA(self.shared_matrix()),
            AttrKind::MatrixB => Attr::MatrixB(self.shared_matrix()),
            AttrKind::Layout => Attr::Layout(self.one(&[MatrixLayout::Row, MatrixLayout::Column])),
            AttrKind::Axis => Attr::Axis(number % 3),
            AttrKind::Reverse => Attr::Reverse,
            AttrKind::Update => Attr::Update(self.one(&[Update::Add, Update::Xor, Update::Exchange])),
            AttrKind::Precision => Attr::Precision(self.one(&[Precision::Ieee, Precision::Tf32, Precision::Tf32x3])),
            AttrKind::Eviction => Attr::Eviction(self.one(&[Eviction::First, Eviction::Last])),
            AttrKind::Axes => Attr::Axes(vec![number, 0]),
            AttrKind::Multiple => Attr::Multiple(vec![number]),
            AttrKind::Contiguous => Attr::Contiguous(vec![1, number]),
            AttrKind::Constancy => Attr::Constancy(vec![number, 1, 2]),
            AttrKind::Text => Attr::Text(self.one(NAMES).into()),
            AttrKind::Callee | AttrKind::Cases | AttrKind::Cell | AttrKind::Global => return None,
        })
    }
    fn shared_matrix(&mut self) -> SharedMatrix {
        let swizzle = self.one(&[0, 32, 64, 128]);
        SharedMatrix { k_major: self.chance(50), swizzle, leading: self.rng.next_u32(), stride: self.rng.next_u32() }
    }
    fn attrs(&mut self, op: Op) -> Vec<Attr> {
        let kinds: Vec<AttrKind> = op.row().attrs.to_vec();
        let chosen: Vec<AttrKind> = kinds.into_iter().filter(|k| *k == AttrKind::Dim || self.chance(50)).collect();
        chosen.into_iter().filter_map(|k| self.attr(k)).collect()
    }

    fn push(&mut self, inst: Inst, results: &[Type]) {
        let id = self.b.push(inst, results);
        for value in self.b.function.insts[id].results.clone() {
            if self.chance(40) {
                let name = self.one(NAMES);
                self.b.function.values[value].name = Some(name.into());
            }
            self.visible.push(value);
        }
    }

    /// An operation that is written as the table says.
    fn by_table(&mut self, op: Op) {
        let row = op.row();
        let ty = if op.lifts() && self.chance(20) { Some(self.tile(ScalarSet::ALL)) } else { self.suffix(row.suffix) };
        let mut operands = vec![];
        for pattern in row.operands {
            let count = match pattern {
                Pattern::Rest => self.below(4),
                Pattern::Parts => ty.map_or(0, |t| t.lanes() as usize),
                _ => 1,
            };
            operands.extend((0..count).map(|_| self.operand(*pattern, ty)));
        }
        let mut inst = Inst::new(op, ty, &operands, Span::NONE);
        self.attrs(op).into_iter().for_each(|a| inst.set(a));
        let results = match row.results {
            [Pattern::Rest] => inst.operands.iter().map(|v| self.b.ty(*v)).collect(),
            _ => self.b.result_types(op, ty, &inst.operands),
        };
        self.push(inst, &results);
    }

    /// A region with instructions and an end; values that it defines are forgotten.
    fn region(&mut self, params: &[Type], results: Option<&[Type]>) -> girih_ir::RegionId {
        let region = self.b.new_region(params);
        let outer = std::mem::replace(&mut self.b.region, region);
        let visible = self.visible.len();
        for param in self.b.function.regions[region].params.clone() {
            if self.chance(50) {
                let name = self.one(NAMES);
                self.b.function.values[param].name = Some(name.into());
            }
            self.visible.push(param);
        }
        self.statements();
        self.end(results);
        self.visible.truncate(visible);
        self.b.region = outer;
        region
    }

    /// The end of an arm with these results, or of a loop.
    fn end(&mut self, arm: Option<&[Type]>) {
        let enclosing = self.loops.last().cloned();
        let choice = self.below(if enclosing.is_some() { 4 } else { 1 });
        let (op, types) = match (choice, arm, enclosing) {
            (0, Some(results), _) => (Op::Yield, results.to_vec()),
            (1, _, Some((_, results))) => (Op::Break, results),
            (2, _, Some((params, _))) => (Op::Continue, params),
            // Only a loop that gives its parameters can end by `while`.
            (_, _, Some((params, results))) if params == results => {
                let condition = vec![Type::BOOL];
                (Op::While, condition.into_iter().chain(params).collect())
            }
            (_, _, Some((params, _))) => (Op::Continue, params),
            (_, results, None) => (Op::Yield, results.unwrap_or_default().to_vec()),
        };
        self.seen.insert(op);
        let operands = self.values(&types);
        self.push(Inst::new(op, None, &operands, Span::NONE), &[]);
    }

    fn if_else(&mut self) {
        let results = self.types(2);
        let condition = self.value(Some(Type::BOOL));
        let mut inst = Inst::new(Op::If, None, &[condition], Span::NONE);
        inst.regions = (0..2).map(|_| self.region(&[], Some(&results))).collect();
        self.push(inst, &results);
    }
    fn switch(&mut self) {
        let (results, scalar) = (self.types(2), self.scalar(ScalarSet::INTEGERS));
        let value = self.value(Some(scalar.into()));
        let mut inst = Inst::new(Op::Switch, Some(scalar.into()), &[value], Span::NONE);
        let unused = 64 - scalar.bits();
        let mut cases: Vec<Vec<i64>> = vec![];
        for _ in 0..self.below(3) {
            let raw = self.rng.next_u64();
            let value = if scalar.is_signed() { ((raw << unused) as i64) >> unused } else { (raw >> unused) as i64 };
            cases.push(vec![value; 1 + self.below(2)]);
        }
        inst.regions = (0..=cases.len()).map(|_| self.region(&[], Some(&results))).collect();
        inst.set(Attr::Cases(cases));
        self.push(inst, &results);
    }
    fn repeat(&mut self) {
        let params = self.types(3);
        let results = if self.chance(50) { params.clone() } else { self.types(2) };
        let initial = self.values(&params);
        let mut inst = Inst::new(Op::Loop, None, &initial, Span::NONE);
        self.attrs(Op::Loop).into_iter().for_each(|a| inst.set(a));
        self.loops.push((params.clone(), results.clone()));
        inst.regions.extend([self.region(&params, None)]);
        self.loops.pop();
        self.push(inst, &results);
    }
    /// A call, fork or tail call.
    fn call(&mut self, op: Op) {
        let callee = self.below(self.callees.len());
        let (params, results) = self.callees[callee].clone();
        let results = match op {
            Op::Fork => vec![Type::Token],
            Op::Tail => vec![],
            Op::Call | Op::Join => results,
            other => unreachable!("`{}` calls nothing", other.name()),
        };
        let params = if op == Op::Join { vec![Type::Token] } else { params };
        let operands = if op == Op::Join { vec![self.value(None)] } else { self.values(&params) };
        let mut inst = Inst::new(op, None, &operands, Span::NONE);
        inst.set(Attr::Callee(FunctionId::new(callee as u32)));
        self.push(inst, &results);
    }

    /// An operation on cells of a layout.
    fn cell(&mut self, op: Op) {
        let layout = self.below(self.layouts.len());
        let fields = self.layouts[layout].clone();
        let mut operands = if op == Op::CellNew { vec![] } else { vec![self.value(None)] };
        if op == Op::ChainGrow {
            operands.extend(self.values(&[Type::U32, Type::Term]));
        }
        if matches!(op, Op::CellNew | Op::CellFill) {
            operands.extend(self.values(&fields));
        }
        let ty = self.suffix(op.row().suffix);
        let mut inst = Inst::new(op, ty, &operands, Span::NONE);
        self.attrs(op).into_iter().for_each(|a| inst.set(a));
        inst.set(Attr::Cell(LayoutId::new(layout as u32)));
        let results: Vec<Type> = match op {
            Op::CellGet => ty.into_iter().collect(),
            Op::CellOpen => [Type::Term].into_iter().chain(fields).collect(),
            Op::CellNew | Op::CellFill | Op::ChainGrow => vec![Type::Term],
            other => unreachable!("`{}` names no layout", other.name()),
        };
        self.push(inst, &results);
    }
    fn global(&mut self) {
        let mut inst = Inst::new(Op::GlobalGet, None, &[], Span::NONE);
        inst.set(Attr::Global(GlobalId::new(self.below(2) as u32)));
        self.push(inst, &[Type::Term]);
    }

    /// An operation that works by element.
    fn by_element(&mut self, op: Op) {
        let ty = self.tile(ScalarSet::ALL);
        let zero = self.b.zero(ty);
        let Some(shape) = ty.shape() else { return };
        let attrs: Vec<Attr> = self.attrs(op).into_iter().filter(|a| a.kind() != AttrKind::Axis).collect();
        let element = Type::Scalar(ty.element().unwrap_or(Scalar::U32));
        let params = if op == Op::TileMap { vec![element] } else { vec![element; 2] };
        let mut inst = Inst::new(op, None, &[zero], Span::NONE);
        attrs.into_iter().for_each(|a| inst.set(a));
        inst.regions = [self.region(&params, Some(&[element]))].into_iter().collect();
        let shape = if op == Op::TileReduce { shape.without(0) } else { Some(shape) };
        self.push(inst, &[Type::block(shape, ty.element().unwrap_or(Scalar::U32))]);
    }

    fn statements(&mut self) {
        for _ in 0..self.below(12) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            let op = self.one(Op::ALL);
            if op.is_terminator() {
                continue;
            }
            self.seen.insert(op);
            match syntax(op) {
                Some(Syntax::If) => self.if_else(),
                Some(Syntax::Switch) => self.switch(),
                Some(Syntax::Loop) => self.repeat(),
                Some(Syntax::Call | Syntax::Join) => self.call(op),
                Some(Syntax::Cell) => self.cell(op),
                Some(Syntax::Global) => self.global(),
                Some(Syntax::Element) => self.by_element(op),
                Some(Syntax::While | Syntax::Jump) | None => self.by_table(op),
            }
        }
    }
}

fn self_coop() -> Type {
    Type::Coop(CoopUse::Acc, MatrixShape { m: 16, n: 16, k: 16 }, Scalar::F32)
}

/// A random module, and the operations in it.
pub fn module(rng: TestRng) -> (Module, HashSet<Op>) {
    let callees = vec![];
    let b = Builder::new(Function::new("none", Span::NONE));
    let mut maker =
        Maker { rng, b, visible: vec![], loops: vec![], callees, layouts: vec![], seen: HashSet::new(), budget: 0 };
    let count = 1 + maker.below(3);
    maker.callees = (0..count)
        .map(|i| {
            let params = maker.types(3);
            (params, if i == 0 { vec![] } else { maker.types(2) })
        })
        .collect();
    let mut module = Module::default();
    for _ in 0..1 + maker.below(3) {
        let (name, fields) = (maker.one(NAMES), (0..maker.below(4)).map(|_| maker.one(&FIELDS)).collect());
        let layout = Layout { name: name.into(), span: Span::NONE, fields };
        maker.layouts.push(layout.fields.clone());
        module.layouts.push(layout);
    }
    for _ in 0..2 {
        let (name, function) = (maker.one(NAMES), FunctionId::new(maker.below(count) as u32));
        module.globals.push(Global { name: name.into(), span: Span::NONE, function });
    }
    for i in 0..count {
        let name = maker.one(&["f", "g", "List/map", "two words", "f.1"]);
        module.functions.push(function(&mut maker, name, i));
    }
    (module, maker.seen)
}

fn function(maker: &mut Maker, name: &str, position: usize) -> Function {
    let (params, results) = maker.callees[position].clone();
    let mut f = Function::new(name, Span::NONE);
    f.results = results.clone();
    maker.b = Builder::new(f);
    maker.budget = 60;
    maker.visible.clear();
    for ty in params {
        let attrs = ParamAttrs {
            divisible: maker.one(&[0, 16]),
            align: maker.one(&[0, 16]),
            readonly: maker.chance(50),
            borrowed: maker.chance(50),
            noalias: maker.chance(50),
        };
        let name = maker.one(NAMES);
        let value = maker.b.function.param(name, ty, attrs);
        maker.visible.push(value);
    }
    if position == 0 {
        launch(maker);
    }
    for space in [Space::Shared, Space::Private] {
        let element = maker.vector(ScalarSet::STORED);
        let length = maker.value(Some(Type::U32));
        let name = maker.one(NAMES);
        let value = maker.b.function.memory(Some(name.into()), space, element, length);
        maker.visible.push(value);
        for memory in maker.b.function.memories.iter_mut() {
            (memory.align, memory.group) = (memory.align.max(8), 3);
        }
    }
    maker.statements();
    if maker.chance(20) {
        maker.call(Op::Tail);
        maker.seen.insert(Op::Tail);
    } else {
        let results = maker.values(&results);
        maker.b.end(Op::Return, &results);
        maker.seen.insert(Op::Return);
    }
    std::mem::replace(&mut maker.b, Builder::new(Function::new("none", Span::NONE))).function
}

fn launch(maker: &mut Maker) {
    let mut launch = Launch { workgroup: maker.one(&[[1, 1, 1], [8, 4, 1], [4, 1, 2]]), ..Launch::default() };
    (launch.fold, launch.cooperative) = (maker.chance(50), maker.chance(50));
    (launch.subgroup, launch.registers) = (maker.one(&[None, Some(32)]), maker.one(&[None, Some(128)]));
    for i in 0..maker.below(3) {
        let scalar = maker.scalar(ScalarSet::ALL);
        let def = girih_ir::Def::Specialisation(i as u32);
        let name = Some(maker.one(NAMES).into());
        let value = maker.b.function.values.push(Value { ty: scalar.into(), def, name });
        launch.specialisations.push(Specialisation { value, default: maker.rng.next_u64() & scalar.mask() });
        maker.visible.push(value);
    }
    if maker.chance(50) {
        let region = maker.b.new_region(&[]);
        launch.prologue = Some(region);
        let outer = std::mem::replace(&mut maker.b.region, region);
        maker.by_table(Op::Add);
        let grid = maker.values(&[Type::U32; 3]);
        maker.b.end(Op::Grid, &grid);
        maker.seen.insert(Op::Grid);
        maker.b.region = outer;
    }
    maker.b.function.launch = Some(launch);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printing_and_reading_are_inverse(seed in any::<u64>()) {
        let (module, _) = module(rng(seed));
        let once = print(&module);
        let again = read(&once).map_err(|e| TestCaseError::fail(format!("{e:#?}\n{once}")))?.module;
        let twice = print(&again);
        let differs = once.lines().zip(twice.lines()).find(|(a, b)| a != b);
        prop_assert!(differs.is_none() && once == twice, "{:?} in\n{}", differs, once);
        same(&module, &again).map_err(|what| TestCaseError::fail(format!("{what}\n{once}")))?;
        let alone: Vec<String> = module.functions.ids().map(|id| print_function(&module, id)).collect();
        prop_assert!(once.ends_with(&alone.join("\n")));
    }
}

pub fn rng(seed: u64) -> TestRng {
    let bytes: Vec<u8> = seed.to_le_bytes().into_iter().cycle().take(32).collect();
    TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &bytes)
}

#[test]
fn all_operations_are_tried() {
    let mut seen = HashSet::new();
    for seed in 0..200 {
        seen.extend(module(rng(seed)).1);
    }
    let missing: Vec<&str> = Op::ALL.iter().filter(|op| !seen.contains(op)).map(|op| op.name()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Whether two modules are the same but for names, places and the numbers of values.
fn same(a: &Module, b: &Module) -> Result<(), String> {
    let fields = |m: &Module| m.layouts.iter().map(|l| l.fields.clone()).collect::<Vec<_>>();
    let globals = |m: &Module| m.globals.iter().map(|g| g.function).collect::<Vec<_>>();
    if (fields(a), globals(a)) != (fields(b), globals(b)) {
        return Err("layouts or globals differ".into());
    }
    for (f, g) in a.functions.iter().zip(b.functions.iter()) {
        let flat = |f: &Function| {
            let mut insts = vec![];
            let regions = f.launch.as_ref().and_then(|l| l.prologue).into_iter().chain([f.body]);
            for region in regions {
                f.walk(region, &mut |_, inst| {
                    let shown = |v: &ValueId| (f.ty(*v), f.as_constant(*v));
                    let operands: Vec<_> = inst.operands.iter().map(shown).collect();
                    let results: Vec<_> = inst.results.iter().map(shown).collect();
                    let attrs: Vec<Attr> = inst.attrs.iter().filter(|a| !is_default(a)).cloned().collect();
                    insts.push(format!("{} {:?} {operands:?} {results:?} {attrs:?}", inst.op.name(), inst.ty));
                });
            }
            insts
        };
        let (left, right) = (flat(f), flat(g));
        if let Some(i) = (0..left.len().max(right.len())).find(|i| left.get(*i) != right.get(*i)) {
            return Err(format!("{:?}\nbecame\n{:?}", left.get(i), right.get(i)));
        }
        let header = |f: &Function| {
            let params: Vec<_> = f.params.iter().map(|p| (f.ty(*p), f.param_attrs(*p))).collect();
            let memories: Vec<_> = f.memories.iter().map(|m| (m.space, m.element, m.align, m.group)).collect();
            let launch = f.launch.as_ref().map(|l| {
                let specs: Vec<_> = l.specialisations.iter().map(|s| (f.ty(s.value), s.default)).collect();
                (l.workgroup, l.fold, l.cooperative, l.subgroup, l.registers, specs)
            });
            format!("{params:?} {:?} {memories:?} {launch:?}", f.results)
        };
        if header(f) != header(g) {
            return Err(format!("{}\nbecame\n{}", header(f), header(g)));
        }
    }
    Ok(())
}

fn is_default(attr: &Attr) -> bool {
    matches!(attr, Attr::Offset(0) | Attr::SourceOffset(0))
}
