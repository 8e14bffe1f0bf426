//! Terms to functions of the IR in task form.
//!
//! | file | does |
//! |---|---|
//! | [`words`] | how values stand in words of the heap |
//! | [`represent`] | how what may stand somewhere is held in values of the IR |
//! | [`liveness`] | the last use of each variable |
//! | [`writer`], [`terms`], [`calls`], [`choices`] | a function's body |
//! | [`numbers`], [`dynamic`] | operators on kinds that are known, and on those that are not |
//! | [`applying`] | application of whatever function arrives |
//! | [`library`] | functions that are called by name |
//! | [`traps`] | what can go wrong, and where |
//!
//! Invariant: every word that owns a cell is consumed exactly once on every path (the verifier looks).

mod applying;
mod calls;
mod choices;
mod dynamic;
mod library;
mod liveness;
mod numbers;
mod represent;
mod terms;
mod traps;
pub mod words;
mod writer;

use super::flow::{Flow, LambdaRef, ShapeId};
use crate::diag::Diagnostic;
use crate::idx::IndexVec;
use crate::ir::{Function, FunctionId, GlobalId, LayoutId, Module, Type, Verified, verify};
use crate::num::{BinOp, NumKind};
use crate::prim::Prim;
use crate::span::Span;
use crate::term::{DefId, Program, TypeId};
use std::collections::{HashMap, VecDeque};

pub use traps::Trap;

/// A program in task form.
#[derive(Debug)]
pub struct Direct {
    /// The functions.
    pub module: Verified<Module>,
    /// The value of the entry: no parameters, one term.
    pub entry: FunctionId,
    /// Applies a term to a term, for the host.
    pub apply: FunctionId,
    /// Computes a definition that waits to be computed; other terms stay.
    pub force: FunctionId,
    /// What the codes of traps mean; code 1 is the first.
    pub traps: Vec<Trap>,
    /// What the words of its heap mean.
    pub tables: Tables,
}

/// What words of the heap mean.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// How many constructors the program has.
    pub ctors: usize,
    /// How many definitions.
    pub definitions: usize,
    /// How many types.
    pub types: usize,
    /// The lambdas, as immediates number them.
    pub lambdas: Vec<LambdaRef>,
    /// What the cells of each layout are.
    pub layouts: IndexVec<LayoutId, Meaning>,
}

/// What cells of a layout are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A number of 32 bits.
    Boxed(NumKind),
    /// Cells of a shape.
    Shape(ShapeId),
}

/// A function that is made of a part of the program, or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    /// A definition's body.
    Definition(DefId),
    /// A lambda's body; captured values stand behind the parameters.
    Lambda(LambdaRef),
    /// The value of the entry, computed and complete.
    Entry,
    /// Applies a term to so many terms.
    Apply(u32),
    /// Computes what waits to be computed.
    Force,
    /// Which form a term has; see [`dynamic`].
    Form,
    /// A number of any kind as one of this kind.
    Widen(NumKind),
    /// An operator on two terms.
    Operator(BinOp),
    /// A primitive on terms.
    Primitive(Prim),
    /// A term as data of a type: a function that stands for a constructor is asked for it.
    Data(TypeId),
}

/// A program being lowered.
pub(crate) struct Lowering<'p> {
    program: &'p Program,
    flow: &'p Flow,
    module: Module,
    library: library::Library,
    traps: traps::Traps,
    tables: Tables,
    units: HashMap<Unit, FunctionId>,
    globals: HashMap<DefId, GlobalId>,
    boxes: HashMap<NumKind, LayoutId>,
    shapes: HashMap<ShapeId, LayoutId>,
    lambdas: HashMap<LambdaRef, u32>,
    queue: VecDeque<Unit>,
}

/// Lowers what the entry of a program needs. The program has been simplified, and can be run by value.
pub fn lower(program: &Program, flow: &Flow) -> Result<Direct, Vec<Diagnostic>> {
    let tables = Tables {
        ctors: program.ctors.len(),
        definitions: program.defs.len(),
        types: program.types.len(),
        ..Tables::default()
    };
    let mut lowering = Lowering {
        program,
        flow,
        module: Module::default(),
        library: library::Library::default(),
        traps: traps::Traps::default(),
        tables,
        units: HashMap::new(),
        globals: HashMap::new(),
        boxes: HashMap::new(),
        shapes: HashMap::new(),
        lambdas: HashMap::new(),
        queue: VecDeque::new(),
    };
    let entry = lowering.unit(Unit::Entry);
    let apply = lowering.unit(Unit::Apply(1));
    let force = lowering.unit(Unit::Force);
    while let Some(unit) = lowering.queue.pop_front() {
        let id = lowering.units[&unit];
        let function = writer::write(&mut lowering, unit, lowering_function(&lowering, id));
        lowering.module.functions[id] = function;
    }
    lowering.library.finish(&mut lowering.module);
    let Lowering { module, traps, tables, .. } = lowering;
    Ok(Direct { module: verify(module)?, entry, apply, force, traps: traps.all(), tables })
}

fn lowering_function(lowering: &Lowering<'_>, id: FunctionId) -> Function {
    lowering.module.functions[id].clone()
}

impl Lowering<'_> {
    /// The function of a unit, which will be written if it was not needed before. Its parameters and results are known at once.
    pub(crate) fn unit(&mut self, unit: Unit) -> FunctionId {
        if let Some(id) = self.units.get(&unit) {
            return *id;
        }
        let function = self.declare(unit);
        let id = self.module.functions.push(function);
        self.units.insert(unit, id);
        self.queue.push_back(unit);
        id
    }

    /// A function without a body.
    fn declare(&mut self, unit: Unit) -> Function {
        let (name, span) = self.name(unit);
        let mut function = Function::new(name, span);
        let (params, result) = self.signature(unit);
        for (i, ty) in params.into_iter().enumerate() {
            function.param(format!("p{i}"), ty, crate::ir::ParamAttrs::default());
        }
        function.results = vec![result];
        function
    }

    fn name(&self, unit: Unit) -> (String, Span) {
        let definition = |def: DefId| (self.program.defs[def].name.to_string(), self.program.defs[def].span);
        match unit {
            Unit::Definition(def) => definition(def),
            Unit::Lambda(lambda) => {
                let (name, span) = definition(lambda.def);
                (format!("{name}.lambda{}", lambda.ordinal), span)
            }
            Unit::Entry => ("entry".to_owned(), Span::NONE),
            Unit::Apply(count) => (format!("apply.{count}"), Span::NONE),
            Unit::Force => ("force".to_owned(), Span::NONE),
            Unit::Form => ("form".to_owned(), Span::NONE),
            Unit::Widen(kind) => (format!("widen.{}", kind.name()), Span::NONE),
            Unit::Operator(op) => (format!("operator.{op:?}").to_lowercase(), Span::NONE),
            Unit::Primitive(prim) => (format!("primitive.{}", prim.name()), Span::NONE),
            Unit::Data(ty) => (format!("data.{}", self.program.types[ty].name), Span::NONE),
        }
    }

    fn signature(&self, unit: Unit) -> (Vec<Type>, Type) {
        let terms = |count: u32| vec![Type::Term; count as usize];
        match unit {
            Unit::Definition(def) => {
                let params = self.program.defs[def].params.iter();
                let params = params.map(|p| represent::of(self.flow.local(def, *p)).ty()).collect();
                (params, represent::of(self.flow.result(def)).ty())
            }
            Unit::Lambda(lambda) => {
                let (params, captures) = self.flow.lambda(lambda);
                let locals = params.iter().chain(captures);
                let params = locals.map(|l| represent::of(self.flow.local(lambda.def, *l)).ty()).collect();
                (params, represent::of(self.flow.lambda_result(lambda)).ty())
            }
            Unit::Entry => (vec![], Type::Term),
            Unit::Apply(count) => (terms(count + 1), Type::Term),
            Unit::Force | Unit::Data(_) => (terms(1), Type::Term),
            Unit::Form => (terms(1), Type::U32),
            Unit::Widen(kind) => (terms(1), Type::Scalar(numbers::scalar(kind))),
            Unit::Operator(_) => (terms(2), Type::Term),
            Unit::Primitive(prim) => (terms(prim.arity() as u32), Type::Term),
        }
    }

    /// The layout of cells that hold a number of 32 bits.
    pub(crate) fn boxed(&mut self, kind: NumKind) -> LayoutId {
        if let Some(id) = self.boxes.get(&kind) {
            return *id;
        }
        let fields = vec![Type::Scalar(numbers::scalar(kind))];
        let id = self.layout(format!("box.{}", kind.name()), fields, Meaning::Boxed(kind));
        self.boxes.insert(kind, id);
        id
    }

    /// The layout of cells of a shape.
    pub(crate) fn shape(&mut self, shape: ShapeId) -> LayoutId {
        if let Some(id) = self.shapes.get(&shape) {
            return *id;
        }
        let fields = self.flow.shapes()[shape].fields.iter().map(|set| represent::of(set).ty()).collect();
        let name = format!("{}.{}", self.flow.shapes()[shape].what.name(self.program), shape.index());
        let id = self.layout(name, fields, Meaning::Shape(shape));
        self.shapes.insert(shape, id);
        id
    }

    fn layout(&mut self, name: String, fields: Vec<Type>, meaning: Meaning) -> LayoutId {
        self.tables.layouts.push(meaning);
        self.module.layouts.push(crate::ir::Layout { name: name.into(), fields })
    }

    /// The number of a lambda that captures nothing.
    pub(crate) fn lambda(&mut self, lambda: LambdaRef) -> u32 {
        let lambdas = &mut self.tables.lambdas;
        *self.lambdas.entry(lambda).or_insert_with(|| {
            lambdas.push(lambda);
            lambdas.len() as u32 - 1
        })
    }

    /// The global of a definition without parameters.
    pub(crate) fn global(&mut self, def: DefId) -> GlobalId {
        if let Some(id) = self.globals.get(&def) {
            return *id;
        }
        let function = self.unit(Unit::Definition(def));
        let name = self.program.defs[def].name.clone();
        let id = self.module.globals.push(crate::ir::Global { name, function });
        self.globals.insert(def, id);
        id
    }
}
