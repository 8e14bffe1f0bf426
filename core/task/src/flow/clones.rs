//! Which copies of definitions there are.
//!
//! A definition that is used in several ways (a list of integers here, of floats there) has several copies, one for each
//! way. To find the ways, every call of such a definition gets a copy of its own first, as far as a budget allows; after
//! that is solved, copies whose parameters and results have the same structure become one. Definitions that reach each
//! other are copied together, and call each other within one copy.
//!
//! Any choice of copies is right: they only make the sets smaller.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::answer::{Address, address};
use super::{Callee, CellClass, Flow, Instance, LambdaRef, Precision, Set, ShapeId, What};
use girih_base::cycles::groups;
use girih_base::idx::IndexVec;
use girih_term::{Body, DefId, Program, Term};

/// How many copies of a group there may be while the ways are looked for, for each that may be in the end.
const CANDIDATES: u32 = 4;
/// How far into data the structure of a set is looked at.
const DEPTH: u32 = 4;

impl Default for Precision {
    fn default() -> Precision {
        Precision { clones: 8, clone_size: 300 }
    }
}

impl Precision {
    /// Each definition just once.
    pub const MONOVARIANT: Precision = Precision { clones: 1, clone_size: 0 };
}

/// The copies of definitions that calls enter.
pub(super) struct Copies {
    /// The group of each definition.
    group: IndexVec<DefId, usize>,
    choice: Choice,
}

enum Choice {
    /// The first copy, always.
    First,
    /// A new copy for each call from outside of the group.
    Each(Each),
    /// Those that were found.
    Fixed(HashMap<(Instance, Address), Instance>),
}

struct Each {
    /// For each group, how many terms it has if it is to be copied.
    sizes: Vec<Option<usize>>,
    /// For each group, the last copy that there is.
    last: Vec<u32>,
    most: u32,
    /// How many terms there may still be.
    budget: usize,
}

impl Copies {
    /// No copies.
    pub(super) fn first(program: &Program) -> Copies {
        let mentions = |body: &Body| match body {
            Body::Term(body) => body.globals(),
            Body::Net(_) => vec![],
        };
        let edges = program.defs.iter().map(|def| mentions(&def.body)).collect();
        Copies { group: groups(&edges), choice: Choice::First }
    }

    /// A copy for each call, of what the analysis has found to be used in several ways; none if there is no such.
    pub(super) fn each(self, program: &Program, flow: &Flow, precision: Precision) -> Option<Copies> {
        let mut total = 0;
        let mut group_sizes = vec![0; self.group.len()];
        let mut is_wanted = vec![false; self.group.len()];
        let mixed = Mixed::of(program, flow);
        for &instance in flow.instances() {
            let group = self.group[instance.def];
            let size = size(program, instance.def);
            total += size;
            group_sizes[group] += size;
            is_wanted[group] |= mixed.is_used_in_several_ways(program, flow, instance);
        }
        let sizes = group_sizes
            .iter()
            .zip(&is_wanted)
            .map(|(&size, &is_wanted)| (is_wanted && size <= precision.clone_size).then_some(size));
        let sizes: Vec<Option<usize>> = sizes.collect();
        if precision.clones < 2 || sizes.iter().all(Option::is_none) {
            return None;
        }
        let last = vec![0; sizes.len()];
        let each = Each { sizes, last, most: precision.clones.saturating_mul(CANDIDATES), budget: 2 * total + 1000 };
        Some(Copies { choice: Choice::Each(each), ..self })
    }

    /// The copies that are left if those of the same structure become one; none if there is at most one of each.
    pub(super) fn merged(self, program: &Program, flow: &Flow, precision: Precision) -> Option<Copies> {
        let mut structures: HashMap<(usize, u32), u64> = HashMap::new();
        let mut order = vec![];
        let shapes = structures_of_shapes(flow);
        for &instance in flow.instances() {
            let key = (self.group[instance.def], instance.clone);
            let structure = structures.entry(key).or_insert_with(|| {
                order.push(key);
                0
            });
            // Whatever the order in which the definitions of the group were found.
            *structure = structure.wrapping_add(structure_of(program, flow, instance, &shapes));
        }
        let classes = classes(&order, &structures, precision.clones);
        let several = |group: usize| classes.iter().any(|(&(other, _), &class)| other == group && class > 1);
        let mut is_copied: HashMap<usize, bool> = HashMap::new();
        let mut find = |instance: Instance| {
            let group = self.group[instance.def];
            let is_copied = *is_copied.entry(group).or_insert_with(|| several(group));
            let class = classes.get(&(group, instance.clone)).copied().filter(|_| is_copied);
            Instance { def: instance.def, clone: class.unwrap_or(0) }
        };
        let positions: HashMap<Instance, usize> = flow.instances().iter().copied().zip(0..).collect();
        let mut calls: Vec<(usize, Instance, Address, Instance)> = vec![];
        for (&(caller, call), &callee) in &flow.callees {
            calls.push((positions.get(&caller).copied().unwrap_or(usize::MAX), caller, call, callee));
        }
        // Where two copies that become one call different copies, the first decides.
        calls.sort_unstable_by_key(|&(position, ..)| position);
        let mut callees = HashMap::new();
        for (_, caller, call, callee) in calls {
            let (caller, callee) = (find(caller), find(callee));
            if callee.clone > 0 || caller.clone > 0 {
                callees.entry((caller, call)).or_insert(callee);
            }
        }
        let any = callees.values().any(|callee| callee.clone > 0);
        any.then_some(Copies { choice: Choice::Fixed(callees), ..self })
    }

    /// What a call enters.
    pub(super) fn callee(&mut self, caller: Instance, call: &Term, def: DefId) -> Instance {
        let group = self.group[def];
        match &mut self.choice {
            Choice::First => def.into(),
            Choice::Fixed(callees) => callees.get(&(caller, address(call))).copied().unwrap_or(def.into()),
            Choice::Each(_) if self.group[caller.def] == group => Instance { def, clone: caller.clone },
            Choice::Each(each) => Instance { def, clone: each.copy(group) },
        }
    }
}

impl Each {
    /// The copy of a group for one more call.
    fn copy(&mut self, group: usize) -> u32 {
        let Some(size) = self.sizes[group] else { return 0 };
        if self.last[group] < self.most && size <= self.budget {
            self.budget -= size;
            self.last[group] += 1;
        }
        self.last[group]
    }
}

/// Numbers the structures of the copies of each group, from 1 on. Those beyond the most that there may be are 0.
fn classes(order: &[(usize, u32)], structures: &HashMap<(usize, u32), u64>, most: u32) -> HashMap<(usize, u32), u32> {
    let mut known: HashMap<(usize, u64), u32> = HashMap::new();
    let mut count: HashMap<usize, u32> = HashMap::new();
    let mut classes = HashMap::new();
    for &(group, clone) in order.iter().filter(|(_, clone)| *clone > 0) {
        let class = *known.entry((group, structures[&(group, clone)])).or_insert_with(|| {
            let count = count.entry(group).or_default();
            *count += 1;
            if *count > most { 0 } else { *count }
        });
        classes.insert((group, clone), class);
    }
    classes
}

/// How many terms a definition has.
fn size(program: &Program, def: DefId) -> usize {
    let Body::Term(body) = &program.defs[def].body else { return 0 };
    let mut size = 0;
    let mut todo = vec![body];
    while let Some(term) = todo.pop() {
        size += 1;
        todo.extend(term.children());
    }
    size
}

/// What a definition is given and gives.
fn structure_of(program: &Program, flow: &Flow, instance: Instance, shapes: &Structures) -> u64 {
    let params = program.defs[instance.def].params.iter().map(|&param| flow.local(instance, param));
    let sets = params.chain([flow.result(instance)]).map(|set| structure_of_set(set, Some(shapes)));
    hash(&(instance.def, sets.collect::<Vec<u64>>()))
}

/// The structure of each shape.
type Structures = IndexVec<ShapeId, u64>;

/// The structures of all shapes, one level deeper in each round: there are many ways into data that holds functions.
fn structures_of_shapes(flow: &Flow) -> Structures {
    let of_all =
        |inner: Option<&Structures>| flow.shapes().iter().map(|shape| structure_of_shape(shape, inner)).collect();
    (1..DEPTH).fold(of_all(None), |inner, _| of_all(Some(&inner)))
}

/// The structure of a set, without the names of the copies that make what is in it, from those of the shapes in it; these are all the same if none are given.
fn structure_of_set(set: &Set, inner: Option<&Structures>) -> u64 {
    let Set { numbers, era, units, shapes, functions, thunks, makers, selectors, external } = set;
    let functions: Vec<DefId> = functions.iter().map(|function| function.def).collect();
    // Whatever the order of the shapes.
    let shapes = shapes.iter().map(|&shape| inner.map_or(1, |inner| inner[shape]));
    let shapes = shapes.fold(0, u64::wrapping_add);
    hash(&(numbers, era, units, shapes, functions, thunks, makers, selectors, external))
}

fn structure_of_shape(shape: &CellClass, inner: Option<&Structures>) -> u64 {
    let fields = shape.fields.iter().map(|field| structure_of_set(field, inner));
    hash(&(shape.external, original(shape.what), fields.collect::<Vec<u64>>()))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What a cell is, with the first copy in the place of the others.
fn original(what: What) -> What {
    let lambda = |LambdaRef { instance, ordinal }: LambdaRef| LambdaRef { instance: instance.def.into(), ordinal };
    match what {
        What::Ctor(_) | What::Pair => what,
        What::Closure(reference) => What::Closure(lambda(reference)),
        What::Partial(Callee::Lambda(reference), count) => What::Partial(Callee::Lambda(lambda(reference)), count),
        What::Partial(Callee::Definition(instance), count) => {
            What::Partial(Callee::Definition(instance.def.into()), count)
        }
        What::Partial(Callee::Constructor(_), _) => what,
    }
}

/// The shapes in which values of several forms meet.
struct Mixed(IndexVec<ShapeId, bool>);

impl Mixed {
    fn of(program: &Program, flow: &Flow) -> Mixed {
        let mut mixed = Mixed(flow.shapes().iter().map(|_| false).collect());
        loop {
            let mut changes = false;
            for (id, shape) in flow.shapes().iter_enumerated() {
                if !mixed.0[id] && shape.fields.iter().any(|field| mixed.is_mixed(program, flow, field)) {
                    mixed.0[id] = true;
                    changes = true;
                }
            }
            if !changes {
                return mixed;
            }
        }
    }

    /// Whether values of several forms are in a set, or in the data in it: number kinds, data types, functions.
    fn is_mixed(&self, program: &Program, flow: &Flow, set: &Set) -> bool {
        let data = |shape: &ShapeId| match flow.shapes()[*shape].what {
            What::Ctor(ctor) => Some(program.ctors[ctor].ty),
            What::Pair | What::Closure(_) | What::Partial(..) => None,
        };
        let mut types: Vec<_> = set.units.iter().map(|&ctor| program.ctors[ctor].ty).collect();
        types.extend(set.shapes.iter().filter_map(data));
        types.sort_unstable();
        types.dedup();
        let is_pair = |shape: &&ShapeId| flow.shapes()[**shape].what == What::Pair;
        let pairs = set.shapes.iter().filter(is_pair).count().min(1);
        let closures = set.shapes.iter().filter(|shape| data(shape).is_none() && !is_pair(shape)).count();
        let forms = set.numbers.iter().count() + types.len() + pairs + closures + set.functions.len();
        forms > 1 || set.shapes.iter().any(|&shape| self.0[shape])
    }

    /// Whether copies of a definition may make sets smaller. What performs effects is not worth it.
    fn is_used_in_several_ways(&self, program: &Program, flow: &Flow, instance: Instance) -> bool {
        let def = &program.defs[instance.def];
        let io = program.known.io_call.map(|ctor| program.ctors[ctor].ty);
        let is_io = flow.result(instance).shapes.iter().any(|&shape| match flow.shapes()[shape].what {
            What::Ctor(ctor) => Some(program.ctors[ctor].ty) == io,
            What::Pair | What::Closure(_) | What::Partial(..) => false,
        });
        let mut sets = def.locals.ids().map(|local| flow.local(instance, local)).chain([flow.result(instance)]);
        !def.params.is_empty() && !is_io && sets.any(|set| self.is_mixed(program, flow, set))
    }
}
