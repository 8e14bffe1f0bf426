//! Terms to functions of the IR in task form.
//!
//! | file | does |
//! |---|---|
//! | [`words`] | how values stand in words of the heap |
//! | [`represent`] | how what may stand somewhere is held in values of the IR |
//! | [`liveness`] | the last use of each variable |
//! | [`writer`], [`terms`], [`calls`], [`choices`] | a function's body |
//! | [`numbers`], [`operands`], [`dynamic`] | operators on kinds that are known, that are likely, and on those that are not |
//! | [`possible`] | tests of what a word is, where the flow leaves a choice |
//! | [`products`] | functions that give the fields of their result instead of a cell |
//! | [`borrows`] | parameters that a function only reads |
//! | [`holes`] | memory of cells that are taken apart, for those that are made |
//! | [`forks`] | calls that run at the same time |
//! | [`applying`] | application of whatever function arrives |
//! | [`tidy`] | what is left to do when a function is written |
//! | [`wraps`] | which numbers of 24 bits are made normal, and where |
//! | [`library`] | functions that are called by name |
//! | [`traps`] | what can go wrong, and where |
//!
//! Invariant: every word that owns a cell is consumed exactly once on every path (the verifier looks).

mod applying;
mod borrows;
mod calls;
mod choices;
mod dynamic;
mod forks;
mod holes;
mod library;
mod liveness;
mod numbers;
mod operands;
mod possible;
mod products;
mod recursion;
pub mod represent;
mod terms;
#[cfg(test)]
mod tests;
mod tidy;
mod traps;
pub mod words;
mod wraps;
mod writer;

use super::flow::{Callee, Flow, Instance, LambdaRef, Outside, Root, Set, ShapeId, Site, What};
use crate::diag::Diagnostic;
use crate::idx::IndexVec;
use crate::ir::heap::{GlobalId, LayoutId};
use crate::ir::{Function, FunctionId, Module, Type, Verified, verify};
use crate::name::Name;
use crate::num::{BinOp, NumKind};
use crate::prim::Prim;
use crate::span::Span;
use crate::term::code::lambdas::Scopes;
use crate::term::{Body, CtorId, DefId, LocalId, Program, Term, TermKind, TypeId};
use represent::{Repr, Results};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use words::Immediate;

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
    /// What the host can make.
    pub host: HostCells,
    /// The roots, in their order: those that are called with arguments.
    pub roots: Vec<Called>,
}

/// A function that the host calls.
#[derive(Clone, Debug)]
pub struct Called {
    /// The function.
    pub function: FunctionId,
    /// How it takes its parameters.
    pub params: Vec<Repr>,
    /// How it gives its result: as one value, or as the fields of a cell that is never made.
    pub results: Vec<Repr>,
    /// The definition whose value is applied, if the function is one that applies anything: it is the first argument then.
    pub applied: Option<DefId>,
}

/// The layouts of cells that the host makes when it answers: those that the program may get.
#[derive(Clone, Debug, Default)]
pub struct HostCells {
    /// Of constructors with fields.
    pub ctors: HashMap<CtorId, LayoutId>,
    /// Of pairs.
    pub pair: Option<LayoutId>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A number of 32 bits.
    Boxed(NumKind),
    /// Cells of a shape.
    Shape {
        /// The shape.
        shape: ShapeId,
        /// What it is.
        what: What,
        /// How the fields are stored.
        fields: Vec<Repr>,
    },
}

impl Meaning {
    /// How many fields the cells have.
    pub fn field_count(&self) -> usize {
        match self {
            Meaning::Boxed(_) => 1,
            Meaning::Shape { fields, .. } => fields.len(),
        }
    }
}

/// A function that is made of a part of the program, or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    /// A definition's body.
    Definition(Instance),
    /// The same, but it borrows the parameters at these bits.
    Borrowing(Instance, u32),
    /// The value of a definition without parameters.
    Value(DefId),
    /// A lambda's body; captured values stand behind the parameters.
    Lambda(LambdaRef),
    /// The value of the entry, computed and complete.
    Entry,
    /// Applies a term to so many terms.
    Apply(u32),
    /// Computes what waits to be computed.
    Force,
    /// The representation of a number of any kind.
    Bits,
    /// A number of any kind as one of this kind.
    Widen(NumKind),
    /// An operator on two terms.
    Operator(BinOp),
    /// A primitive on terms.
    Primitive(Prim),
    /// A term as data of a type: a function that stands for a constructor is asked for it.
    Data(TypeId),
}

/// Parameters, captured variables and body of a lambda.
type LambdaParts<'p> = (&'p [LocalId], Vec<LocalId>, &'p Term);

/// A program being lowered.
pub(crate) struct Lowering<'p> {
    program: &'p Program,
    flow: &'p Flow,
    module: Module,
    library: library::Library,
    traps: traps::Traps,
    tables: Tables,
    units: HashMap<Unit, FunctionId>,
    names: HashSet<Name>,
    globals: HashMap<DefId, GlobalId>,
    boxes: HashMap<NumKind, LayoutId>,
    shapes: HashMap<ShapeId, LayoutId>,
    lambdas: HashMap<LambdaRef, u32>,
    queue: VecDeque<Unit>,
    /// Definitions that are used as values.
    mentioned: Vec<DefId>,
    /// Constructors that may be applied: such without fields, and shapes of those with fields.
    applied_units: BTreeSet<CtorId>,
    applied_shapes: BTreeSet<ShapeId>,
    /// Definitions whose calls may take long: those that call themselves, directly or not, and those that call such.
    lasting: HashSet<DefId>,
    /// The functions that give the fields of a cell.
    products: HashMap<Unit, ShapeId>,
    /// The parameters that can be borrowed.
    borrows: borrows::Borrows,
    /// The lambdas of all definitions by their bodies' places, and what they are made of.
    lambda_places: HashMap<*const Term, (DefId, usize)>,
    lambda_parts: HashMap<(DefId, usize), LambdaParts<'p>>,
}

/// Lowers what the entry of a program and the roots need; `lends` says whether parameters may be borrowed. The program has been simplified, and can be run by value.
pub fn lower(program: &Program, flow: &Flow, roots: &[Root], lends: bool) -> Result<Direct, Vec<Diagnostic>> {
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
        names: HashSet::new(),
        globals: HashMap::new(),
        boxes: HashMap::new(),
        shapes: HashMap::new(),
        lambdas: HashMap::new(),
        queue: VecDeque::new(),
        mentioned: vec![],
        applied_units: BTreeSet::new(),
        applied_shapes: BTreeSet::new(),
        lasting: recursion::lasting(program),
        products: HashMap::new(),
        borrows: HashSet::new(),
        lambda_places: HashMap::new(),
        lambda_parts: HashMap::new(),
    };
    lowering.find_lambdas();
    // A state that the host carries is one word.
    let states = roots.iter().flat_map(|root| &root.arguments).filter_map(|given| match given {
        Outside::Result(roots) => Some(*roots),
        Outside::Anything | Outside::Number(_) | Outside::Definition(_) => None,
    });
    let states: Vec<DefId> = states.flatten().collect();
    lowering.products = products::products(&lowering, &states);
    if lends {
        lowering.borrows = borrows::borrows(&lowering);
    }
    let entry = lowering.unit(Unit::Entry);
    let apply = lowering.unit(Unit::Apply(1));
    let force = lowering.unit(Unit::Force);
    let host = lowering.host_cells();
    for given in roots.iter().flat_map(|root| &root.arguments) {
        if let Outside::Definition(def) = given {
            lowering.mention(*def);
        }
    }
    let called = roots.iter().filter(|root| !root.arguments.is_empty());
    let roots: Vec<Called> = called.map(|root| lowering.called(root.def, root.arguments.len())).collect();
    lowering.write_all();
    lowering.library.finish(&mut lowering.module);
    let Lowering { mut module, traps, tables, .. } = lowering;
    let exported: Vec<FunctionId> = roots.iter().map(|root| root.function).chain([entry, apply, force]).collect();
    wraps::wrap_late(&mut module, &exported);
    Ok(Direct { module: verify(module)?, entry, apply, force, traps: traps.all(), tables, host, roots })
}

impl<'p> Lowering<'p> {
    /// Writes all units. Those that work on any function come last, and again until nothing new is known.
    fn write_all(&mut self) {
        let is_late = |unit: &Unit| matches!(unit, Unit::Force | Unit::Apply(_) | Unit::Data(_));
        let mut late: Vec<Unit> = vec![];
        loop {
            while let Some(unit) = self.queue.pop_front() {
                if is_late(&unit) {
                    late.push(unit);
                } else {
                    self.write(unit);
                }
            }
            let known = self.known();
            for unit in late.clone() {
                self.write(unit);
            }
            if self.queue.is_empty() && self.known() == known {
                return;
            }
        }
    }

    fn write(&mut self, unit: Unit) {
        let id = self.units[&unit];
        let mut declared = self.declare(unit);
        declared.name = self.module.functions[id].name.clone();
        self.module.functions[id] = writer::write(self, unit, declared);
    }

    /// How much is known that the late units depend on.
    fn known(&self) -> [usize; 4] {
        let applied = self.applied_units.len() + self.applied_shapes.len();
        [self.mentioned.len(), self.tables.lambdas.len(), self.module.layouts.len(), applied]
    }

    /// The function of a unit, which will be written if it was not needed before. Its parameters and results are known at once.
    pub(crate) fn unit(&mut self, unit: Unit) -> FunctionId {
        if let Some(id) = self.units.get(&unit) {
            return *id;
        }
        let mut function = self.declare(unit);
        // A program may have a definition of any name.
        while !self.names.insert(function.name.clone()) {
            function.name = format!("{}.girih", function.name).into();
        }
        let id = self.module.functions.push(function);
        self.units.insert(unit, id);
        self.queue.push_back(unit);
        id
    }

    /// A function without a body.
    fn declare(&mut self, unit: Unit) -> Function {
        let (name, span) = self.name(unit);
        let mut function = Function::new(name, span);
        for (i, repr) in self.param_reprs(unit).into_iter().enumerate() {
            let borrowed = matches!(unit, Unit::Borrowing(_, which) if which >> i & 1 == 1);
            let attrs = crate::ir::ParamAttrs { borrowed, ..crate::ir::ParamAttrs::default() };
            function.param(format!("p{i}"), repr.ty(), attrs);
        }
        function.results = self.results(unit).types();
        function
    }

    fn name(&self, unit: Unit) -> (String, Span) {
        let definition = |def: DefId| (self.program.defs[def].name.to_string(), self.program.defs[def].span);
        match unit {
            Unit::Definition(instance) => {
                let (name, span) = definition(instance.def);
                (if instance.clone == 0 { name } else { format!("{name}.{}", instance.clone) }, span)
            }
            Unit::Borrowing(instance, which) => {
                let (name, span) = self.name(Unit::Definition(instance));
                (format!("{name}.look{which}"), span)
            }
            Unit::Value(def) => {
                let (name, span) = definition(def);
                (format!("{name}.value"), span)
            }
            Unit::Lambda(lambda) => {
                let (name, span) = definition(lambda.instance.def);
                (format!("{name}.lambda{}", lambda.ordinal), span)
            }
            Unit::Entry => ("entry".to_owned(), Span::NONE),
            Unit::Apply(count) => (format!("apply.{count}"), Span::NONE),
            Unit::Force => ("force".to_owned(), Span::NONE),
            Unit::Bits => ("bits".to_owned(), Span::NONE),
            Unit::Widen(kind) => (format!("widen.{}", kind.name()), Span::NONE),
            Unit::Operator(op) => (format!("operator.{op:?}").to_lowercase(), Span::NONE),
            Unit::Primitive(prim) => (format!("primitive.{}", prim.name()), Span::NONE),
            Unit::Data(ty) => (format!("data.{}", self.program.types[ty].name), Span::NONE),
        }
    }

    /// How a unit takes its parameters.
    pub(crate) fn param_reprs(&self, unit: Unit) -> Vec<Repr> {
        let terms = |count: usize| vec![Repr::Term; count];
        match unit {
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => {
                let params = self.program.defs[instance.def].params.iter();
                params.map(|p| represent::of(self.flow.local(instance, *p))).collect()
            }
            Unit::Lambda(lambda) => {
                let (params, captures, _) = self.lambda_parts(lambda);
                let locals = params.iter().chain(&captures);
                locals.map(|l| represent::of(self.flow.local(lambda.instance, *l))).collect()
            }
            Unit::Entry | Unit::Value(_) => vec![],
            Unit::Apply(count) => terms(count as usize + 1),
            Unit::Force | Unit::Data(_) | Unit::Bits | Unit::Widen(_) => terms(1),
            Unit::Operator(_) => terms(2),
            Unit::Primitive(prim) => terms(prim.arity()),
        }
    }

    /// How a unit gives its result.
    pub(crate) fn results(&self, unit: Unit) -> Results {
        let unit = match unit {
            Unit::Borrowing(instance, _) => Unit::Definition(instance),
            other => other,
        };
        match self.products.get(&unit) {
            Some(shape) => Results::Parts(*shape, represent::stored(&self.flow.shapes()[*shape])),
            None => Results::One(self.result_repr(unit)),
        }
    }

    /// How the result of a unit is held as one value.
    pub(crate) fn result_repr(&self, unit: Unit) -> Repr {
        match unit {
            // What a definition without parameters gives may itself wait to be computed.
            Unit::Definition(instance) if self.is_thunk(instance.def) => Repr::Term,
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => represent::of(self.flow.result(instance)),
            Unit::Lambda(lambda) => represent::of(self.flow.lambda_result(lambda)),
            Unit::Widen(kind) => Repr::Number(kind),
            Unit::Bits => Repr::Number(NumKind::U32),
            Unit::Entry
            | Unit::Value(_)
            | Unit::Apply(_)
            | Unit::Force
            | Unit::Data(_)
            | Unit::Operator(_)
            | Unit::Primitive(_) => Repr::Term,
        }
    }

    /// Whether a reference to a definition waits to be computed.
    pub(crate) fn is_thunk(&self, def: DefId) -> bool {
        self.program.defs[def].params.is_empty() && !self.flow.is_constant(def)
    }

    /// Finds the lambdas of all definitions, as the evaluator numbers them.
    fn find_lambdas(&mut self) {
        let program: &'p Program = self.program;
        for (id, def) in program.defs.iter_enumerated() {
            let Body::Term(body) = &def.body else { continue };
            for (ordinal, lambda) in Scopes::of(body, &def.locals).lambdas.into_iter().enumerate() {
                self.lambda_places.insert(std::ptr::from_ref(lambda.body), (id, ordinal));
                self.lambda_parts.insert((id, ordinal), (lambda.params, lambda.captures, lambda.body));
            }
        }
    }
    /// How many lambdas a definition has.
    pub(crate) fn lambda_count(&self, def: DefId) -> usize {
        (0..).take_while(|ordinal| self.lambda_parts.contains_key(&(def, *ordinal))).count()
    }
    fn place_of(&self, term: &Term) -> (DefId, usize) {
        match &term.kind {
            TermKind::Lambda(_, body) => self.lambda_places[&std::ptr::from_ref(&**body)],
            _ => unreachable!("only lambdas are looked up"),
        }
    }
    /// The lambda that a term is.
    pub(crate) fn lambda_ref(&self, instance: Instance, term: &Term) -> LambdaRef {
        LambdaRef { instance, ordinal: self.place_of(term).1 }
    }
    /// The variables that a lambda captures.
    pub(crate) fn captures_of(&self, term: &Term) -> Vec<LocalId> {
        self.lambda_parts[&self.place_of(term)].1.clone()
    }
    /// Parameters, captured variables and body of a lambda.
    pub(crate) fn lambda_parts(&self, lambda: LambdaRef) -> LambdaParts<'p> {
        self.lambda_parts[&(lambda.instance.def, lambda.ordinal)].clone()
    }

    /// What a unit gives is applied.
    pub(crate) fn result_is_applied(&mut self, unit: Unit) {
        let flow: &'p Flow = self.flow;
        match unit {
            Unit::Definition(instance) | Unit::Borrowing(instance, _) => self.is_applied(flow.result(instance)),
            Unit::Lambda(lambda) => self.is_applied(flow.lambda_result(lambda)),
            Unit::Entry
            | Unit::Value(_)
            | Unit::Apply(_)
            | Unit::Force
            | Unit::Data(_)
            | Unit::Bits
            | Unit::Widen(_)
            | Unit::Operator(_)
            | Unit::Primitive(_) => {}
        }
    }
    /// What a set holds is applied.
    pub(crate) fn is_applied(&mut self, set: &Set) {
        let set = self.flow.forced(set);
        self.applied_units.extend(&set.units);
        let shapes = self.flow.shapes();
        self.applied_shapes.extend(set.shapes.iter().filter(|s| matches!(shapes[**s].what, What::Ctor(_))));
    }
    /// A definition is used as a value.
    pub(crate) fn mention(&mut self, def: DefId) {
        if !self.mentioned.contains(&def) {
            self.mentioned.push(def);
        }
    }
    /// The definitions that may wait to be computed.
    pub(crate) fn thunks(&self) -> Vec<DefId> {
        self.mentioned.iter().copied().filter(|def| self.is_thunk(*def)).collect()
    }
    /// Functions without captures that are used as values.
    pub(crate) fn functions_as_values(&self) -> Vec<Immediate> {
        let definitions = self.mentioned.iter().filter(|def| !self.is_thunk(**def)).map(|d| Immediate::Definition(*d));
        definitions.chain((0..self.tables.lambdas.len() as u32).map(Immediate::Lambda)).collect()
    }
    /// The shape of a lambda's closures, if it has any.
    pub(crate) fn closure_shape(&self, lambda: LambdaRef) -> Option<ShapeId> {
        self.flow.shapes().iter_enumerated().find(|(_, s)| s.what == What::Closure(lambda)).map(|(id, _)| id)
    }
    /// All layouts so far.
    pub(crate) fn layouts(&self) -> Vec<(LayoutId, Meaning)> {
        self.tables.layouts.iter_enumerated().map(|(id, meaning)| (id, meaning.clone())).collect()
    }
    /// Whether calls of a definition may take long.
    pub(crate) fn is_lasting(&self, def: DefId) -> bool {
        self.lasting.contains(&def)
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
        let flow: &'p Flow = self.flow;
        let what = flow.shapes()[shape].what;
        let fields = represent::stored(&flow.shapes()[shape]);
        let types = fields.iter().map(|repr| repr.ty()).collect();
        let name = format!("{}.{}", self.shape_name(what), shape.index());
        let id = self.layout(name, types, Meaning::Shape { shape, what, fields });
        self.shapes.insert(shape, id);
        id
    }

    fn shape_name(&self, what: What) -> String {
        match what {
            What::Ctor(ctor) => self.program.ctors[ctor].name.to_string(),
            What::Pair => "pair".to_owned(),
            What::Closure(lambda) => self.name(Unit::Lambda(lambda)).0,
            What::Partial(Callee::Definition(instance), n) => {
                format!("{}.given{n}", self.name(Unit::Definition(instance)).0)
            }
            What::Partial(Callee::Lambda(lambda), n) => format!("{}.given{n}", self.name(Unit::Lambda(lambda)).0),
            What::Partial(Callee::Constructor(ctor), n) => format!("{}.given{n}", self.program.ctors[ctor].name),
        }
    }

    fn layout(&mut self, name: String, fields: Vec<Type>, meaning: Meaning) -> LayoutId {
        self.tables.layouts.push(meaning);
        self.module.layouts.push(crate::ir::heap::Layout { name: name.into(), span: Span::NONE, fields })
    }

    /// What the host calls with so many arguments.
    fn called(&mut self, def: DefId, count: usize) -> Called {
        let is_whole = self.program.defs[def].params.len() == count;
        let unit = if is_whole { Unit::Definition(def.into()) } else { Unit::Apply(count as u32) };
        if !is_whole {
            self.mention(def);
        }
        Called {
            function: self.unit(unit),
            params: self.param_reprs(unit),
            results: self.results(unit).reprs().to_vec(),
            applied: (!is_whole).then_some(def),
        }
    }

    /// The layouts of what the host makes.
    fn host_cells(&mut self) -> HostCells {
        let flow: &'p Flow = self.flow;
        let made = self.program.ctors.ids().filter_map(|ctor| Some((ctor, flow.shape(Site::HostCtor(ctor))?)));
        let made: Vec<(CtorId, ShapeId)> = made.collect();
        HostCells {
            ctors: made.into_iter().map(|(ctor, shape)| (ctor, self.shape(shape))).collect(),
            pair: flow.shape(Site::HostPair).map(|shape| self.shape(shape)),
        }
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
        let function = self.unit(Unit::Value(def));
        let name = self.program.defs[def].name.clone();
        let id =
            self.module.globals.push(crate::ir::heap::Global { name, span: self.program.defs[def].span, function });
        self.globals.insert(def, id);
        id
    }
}
