//! Terms to functions of the IR in task form.
//!
//! | file | does |
//! |---|---|
//! | [`words`] | how values stand in words of the heap |
//! | [`represent`] | how the possible values of a place are represented in the IR |
//! | [`liveness`] | the last use of each variable |
//! | [`specialisations`] | the functions that are made, and what they take and give |
//! | [`layouts`] | the layouts of cells |
//! | [`writer`], [`terms`], [`calls`], [`choices`] | a function's body |
//! | [`numbers`], [`operands`], [`dynamic`] | operators on known kinds, on likely kinds, and on unknown kinds |
//! | [`tag_tests`] | tests of what a word is, where the flow analysis leaves a choice |
//! | [`tail_calls`] | functions that give words, so that what they apply at their end takes no stack |
//! | [`products`] | functions that give the fields of their result instead of a cell |
//! | [`borrows`] | parameters that a function only reads |
//! | [`reuse`] | memory of cells that are taken apart, for those that are made |
//! | [`lasting`] | which functions may take long |
//! | [`forks`] | calls that run at the same time |
//! | [`applying`] | application of unknown functions |
//! | [`results`](mod@results) | numbers and fields instead of the words and cells that are made of them at the end |
//! | [`dead_code`] | cleaning up after a function is written |
//! | [`wraparound`] | which numbers of 24 bits are masked, and where |
//! | [`library`] | functions that are called by name |
//! | [`traps`] | what can go wrong, and where |
//!
//! Invariant: every word that owns a cell is consumed exactly once on every path (the verifier looks).

mod applying;
mod borrows;
mod calls;
mod choices;
mod dead_code;
mod dynamic;
mod forks;
mod lasting;
mod layouts;
mod library;
mod liveness;
mod numbers;
mod operands;
mod products;
pub mod represent;
mod results;
mod reuse;
mod specialisations;
mod tag_tests;
mod tail_calls;
mod terms;
mod traps;
pub mod words;
mod wraparound;
mod writer;

use super::discover::{Discovered, Place};
use super::flow::{Callee, Flow, Instance, LambdaRef, Outside, Root, Set, ShapeId, Site, What};
use girih_base::diag::Diagnostic;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use girih_base::num::NumKind;
use girih_ir::heap::{GlobalId, LayoutId};
use girih_ir::{FunctionId, Module, Verified, verify};
use girih_term::code::lambdas::Scopes;
use girih_term::ty::Type;
use girih_term::{Body, CtorId, DefId, LocalId, Program, Term, TermKind};
use represent::{Repr, Results};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use words::Immediate;

pub(crate) use dead_code::remove_unused;
pub(crate) use specialisations::Unit;
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
    /// What that cell would be; none if the result is one value.
    pub parts: Option<What>,
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
    /// Which lambda of the evaluator's program each lambda is, where that is not the same.
    pub sources: HashMap<Place, Place>,
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
    /// The functions whose calls may take long.
    lasting: lasting::Lasting,
    /// The functions that give words, whatever their results are: calls of functions that are values are tail calls there.
    going_on: HashSet<Callee>,
    /// The functions that give the fields of a cell.
    products: HashMap<Unit, ShapeId>,
    /// Whether threads run it, and no lanes of a device.
    for_threads: bool,
    /// The parameters that can be borrowed: only threads borrow words.
    borrows: borrows::Borrows,
    /// The lambdas of all definitions by their bodies' places, and what they are made of.
    lambda_places: HashMap<*const Term, (DefId, usize)>,
    lambda_parts: HashMap<(DefId, usize), LambdaParts<'p>>,
}

/// Lowers what the entry of a program and the roots need; `for_threads` says whether threads run it: parameters may be borrowed then. The program has been simplified, and can be run by value.
pub fn lower(found: &Discovered, flow: &Flow, roots: &[Root], for_threads: bool) -> Result<Direct, Vec<Diagnostic>> {
    let program = &found.program;
    let tables = Tables {
        sources: found.sources.clone(),
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
        lasting: lasting::Lasting::default(),
        going_on: HashSet::new(),
        products: HashMap::new(),
        for_threads,
        borrows: HashSet::new(),
        lambda_places: HashMap::new(),
        lambda_parts: HashMap::new(),
    };
    lowering.find_lambdas();
    lowering.lasting = lasting::Lasting::of(&lowering);
    lowering.going_on = tail_calls::going_on(&lowering);
    // A state that the host carries is one word, and so is what it performs.
    let states = roots.iter().flat_map(|root| &root.arguments).filter_map(|given| match given {
        Outside::Result(roots) => Some(*roots),
        Outside::Anything | Outside::Number(_) | Outside::Typed(_) | Outside::Definition(_) => None,
    });
    let is_call =
        |id: &ShapeId| matches!(flow.shapes()[*id].what, What::Ctor(ctor) if Some(ctor) == program.known.io_call);
    let performed = |def: &DefId| flow.result(Instance::from(*def)).shapes.iter().any(is_call);
    let kept = states.flatten().chain(roots.iter().map(|root| root.def).filter(performed));
    let kept: Vec<DefId> = kept.collect();
    lowering.products = products::products(&lowering, &kept);
    if for_threads {
        lowering.borrows = borrows::borrows(&lowering);
    }
    let entry = lowering.unit(Unit::Entry);
    let apply = lowering.unit(Unit::Apply(1));
    let force = lowering.unit(Unit::Force);
    let host = lowering.host_cells(roots);
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
    results::in_parts(&mut module, &exported);
    wraparound::wrap_late(&mut module, &exported);
    Ok(Direct { module: verify(module)?, entry, apply, force, traps: traps.all(), tables, host, roots })
}

impl<'p> Lowering<'p> {
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
    /// What the host calls with so many arguments.
    fn called(&mut self, def: DefId, count: usize) -> Called {
        let is_whole = self.program.defs[def].params.len() == count;
        let unit = if is_whole { Unit::Definition(def.into()) } else { Unit::Apply(count as u32) };
        if !is_whole {
            self.mention(def);
        }
        let results = self.results(unit);
        let parts = match results {
            Results::One(_) => None,
            Results::Parts(shape, _) => Some(self.flow.shapes()[shape].what),
        };
        Called {
            function: self.unit(unit),
            params: self.param_reprs(unit),
            results: results.reprs().to_vec(),
            parts,
            applied: (!is_whole).then_some(def),
        }
    }

    /// The layouts of what the host makes, those of numbers of 32 bits in them, and of those that it gives to roots, included.
    fn host_cells(&mut self, roots: &[Root]) -> HostCells {
        let flow: &'p Flow = self.flow;
        let made = self.program.ctors.ids().filter_map(|ctor| Some((ctor, flow.shape(Site::HostCtor(ctor))?)));
        let made: Vec<(CtorId, ShapeId)> = made.collect();
        let pair = flow.shape(Site::HostPair);
        let shapes = made.iter().map(|(_, shape)| *shape).chain(pair);
        let inside = shapes.flat_map(|shape| &flow.shapes()[shape].fields).flat_map(|set| set.numbers.iter());
        let given = roots.iter().flat_map(|root| &root.arguments).filter_map(|given| match given {
            Outside::Typed(Type::Num(kind)) => Some(*kind),
            Outside::Anything
            | Outside::Number(_)
            | Outside::Typed(_)
            | Outside::Definition(_)
            | Outside::Result(_) => None,
        });
        for kind in inside.chain(given).filter(|kind| words::tag_of(*kind).is_none()) {
            self.boxed(kind);
        }
        HostCells {
            ctors: made.into_iter().map(|(ctor, shape)| (ctor, self.shape(shape))).collect(),
            pair: pair.map(|shape| self.shape(shape)),
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
        let id = self.module.globals.push(girih_ir::heap::Global { name, span: self.program.defs[def].span, function });
        self.globals.insert(def, id);
        id
    }
}
