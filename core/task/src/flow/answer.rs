//! What the analysis has found, by definition, variable and term.

use std::collections::HashMap;

use super::set::Set;
use super::shape::{CellClass, ShapeId};
use super::{Callee, Instance, LambdaRef, Site};
use girih_base::idx::IndexVec;
use girih_term::{CtorId, DefId, LocalId, Term};

/// What the analysis has found. Everything that cannot run, and every value that never arises, has the empty set.
pub struct Flow {
    /// Each set once.
    pub(super) sets: Vec<Set>,
    pub(super) instances: Vec<Instance>,
    pub(super) locals: HashMap<Instance, Vec<SetId>>,
    pub(super) results: HashMap<Instance, SetId>,
    pub(super) lambda_results: HashMap<LambdaRef, SetId>,
    pub(super) terms: HashMap<(Instance, Address), SetId>,
    pub(super) delivered: HashMap<(Instance, Address), SetId>,
    pub(super) callees: HashMap<(Instance, Address), Instance>,
    pub(super) sites: HashMap<SiteKey, ShapeId>,
    pub(super) shapes: IndexVec<ShapeId, CellClass>,
    pub(super) constants: IndexVec<DefId, bool>,
}

/// A position in the table of sets; 0 is the empty one.
pub(super) type SetId = u32;

/// Where a term lies, which is what it is known by while the program does not move.
pub(super) type Address = usize;

pub(super) fn address(term: &Term) -> Address {
    std::ptr::from_ref(term) as Address
}

/// A [`Site`] without the lifetime of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SiteKey {
    Term(Instance, Address),
    Pair(Instance, Address, usize),
    Partial(Callee, u32),
    Made(CtorId),
    HostCtor(CtorId),
    HostPair,
}

impl From<Site<'_>> for SiteKey {
    fn from(site: Site<'_>) -> SiteKey {
        match site {
            Site::Term(instance, term) => SiteKey::Term(instance, address(term)),
            Site::Pair(instance, term, position) => SiteKey::Pair(instance, address(term), position),
            Site::Partial(callee, count) => SiteKey::Partial(callee, count),
            Site::Made(ctor) => SiteKey::Made(ctor),
            Site::HostCtor(ctor) => SiteKey::HostCtor(ctor),
            Site::HostPair => SiteKey::HostPair,
        }
    }
}

impl Flow {
    /// The copies of definitions that can run, in the order in which they are found: functions that are called and
    /// definitions without parameters whose value is needed.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// What a variable may hold.
    pub fn local(&self, instance: impl Into<Instance>, local: LocalId) -> &Set {
        let set = self.locals.get(&instance.into()).and_then(|locals| locals.get(local.index()));
        self.set(set)
    }

    /// What a call of a definition gives; for one without parameters, its value, which is never a thunk.
    pub fn result(&self, instance: impl Into<Instance>) -> &Set {
        self.set(self.results.get(&instance.into()))
    }

    /// What a call of a lambda gives.
    pub fn lambda_result(&self, lambda: LambdaRef) -> &Set {
        self.set(self.lambda_results.get(&lambda))
    }

    /// What a term may give. The term is one of the program that was analysed, at its place there.
    pub fn term(&self, instance: impl Into<Instance>, term: &Term) -> &Set {
        self.set(self.terms.get(&(instance.into(), address(term))))
    }

    /// Whether a term that is no variable can run. The term is one of the program that was analysed, at its place there.
    pub fn can_run(&self, instance: impl Into<Instance>, term: &Term) -> bool {
        self.terms.contains_key(&(instance.into(), address(term)))
    }

    /// The copy of the definition that a term calls, which applies a [`TermKind::Global`](girih_term::TermKind::Global) to
    /// as many arguments as it has parameters, or to fewer or more.
    pub fn callee(&self, instance: impl Into<Instance>, term: &Term) -> Option<Instance> {
        self.callees.get(&(instance.into(), address(term))).copied()
    }

    /// What the functions give that are matched by this term in the place of data; a match goes on with that.
    pub fn delivered(&self, instance: impl Into<Instance>, term: &Term) -> &Set {
        self.set(self.delivered.get(&(instance.into(), address(term))))
    }

    /// The shape of what is made at a place; none if nothing ever is.
    pub fn shape(&self, site: Site<'_>) -> Option<ShapeId> {
        self.sites.get(&site.into()).copied()
    }

    /// All shapes.
    pub fn shapes(&self) -> &IndexVec<ShapeId, CellClass> {
        &self.shapes
    }

    /// Whether a reference to this definition without parameters is its value: computing it needs little and cannot fail,
    /// so it is never a thunk.
    pub fn is_constant(&self, def: DefId) -> bool {
        self.constants.get(def).copied().unwrap_or(false)
    }

    /// What is found if a value of the set is inspected: thunks are replaced by what they give.
    pub fn forced(&self, set: &Set) -> Set {
        let mut forced = Set { thunks: vec![], ..set.clone() };
        for &thunk in &set.thunks {
            forced.merge(self.result(thunk));
        }
        forced
    }

    fn set(&self, id: Option<&SetId>) -> &Set {
        &self.sets[id.map_or(0, |&id| id as usize)]
    }
}
