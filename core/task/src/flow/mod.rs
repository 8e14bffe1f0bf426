//! Flow analysis: which values may be where.
//!
//! For each variable, result and term it finds the [`Set`] of possible values: number kinds, constructors, functions.
//! The sets are the smallest solution of subset constraints ("what may be in `a` may be in `b`") over the code that can
//! run: arms that no value chooses and functions that nothing calls have empty sets. A cell is identified by the place that
//! makes it, so each field of each such place has a set of its own.
//!
//! It never refuses a program, and it is correct for everything that the evaluator does: thunks, under- and over-application,
//! `*`, constructors that are applied, functions that are matched. The rare ones among these are treated coarsely.
//! What the host sees and gives is part of it: see [`Root`].

mod answer;
mod apply;
mod atoms;
mod choose;
mod clones;
mod code;
mod constants;
mod finish;
mod host;
pub mod operate;
mod print;
mod set;
mod shape;
mod solve;
mod terms;

pub use answer::Flow;
pub use set::{Numbers, Set};
pub use shape::{CellClass, ShapeId, What};

use clones::Copies;
use girih_term::ty::Type;
use girih_term::{CtorId, DefId, Program, Term};

/// A copy of a definition. The copies of a definition have the same code, and sets of their own; they stand for the
/// different ways in which the definition is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance {
    /// The definition.
    pub def: DefId,
    /// Which copy. 0 is the one that the host calls, and that the definition is as a value.
    pub clone: u32,
}

impl From<DefId> for Instance {
    fn from(def: DefId) -> Instance {
        Instance { def, clone: 0 }
    }
}

/// A lambda of a copy of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LambdaRef {
    /// Where it stands.
    pub instance: Instance,
    /// Its position in the walk over the definition's lambdas, in which the evaluator numbers them too.
    pub ordinal: usize,
}

/// A function whose code is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Callee {
    /// A definition with parameters.
    Definition(Instance),
    /// A lambda.
    Lambda(LambdaRef),
    /// A constructor as a function of its fields.
    Constructor(CtorId),
}

/// What the host needs of a definition.
#[derive(Clone, Debug)]
pub struct Root {
    /// The definition.
    pub def: DefId,
    /// What the host calls it with: as many as it has parameters. None if it only wants the value, which is the function
    /// itself if there are parameters.
    pub arguments: Vec<Outside>,
}

/// What the host gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Any data, and whatever the program gave to the host before.
    Anything,
    /// A number of one of these kinds.
    Number(Numbers),
    /// Data of a type without variables; any data where it is [`Type::Any`] or a function.
    Typed(Type),
    /// A definition.
    Definition(DefId),
    /// What calls of one of these roots have given: a state that the host carries from one call to the next.
    Result([DefId; 2]),
}

/// A place that makes a cell.
#[derive(Clone, Copy, Debug)]
pub enum Site<'p> {
    /// A constructor with fields, a list that is not empty, a text that is not empty, or a lambda.
    Term(Instance, &'p Term),
    /// The pair of this number that a tuple makes: 0 is the outer one.
    Pair(Instance, &'p Term, usize),
    /// An application to fewer arguments than the function has parameters: this many in all.
    Partial(Callee, u32),
    /// A constructor that is made by applying [`Callee::Constructor`].
    Made(CtorId),
    /// A constructor that the host makes.
    HostCtor(CtorId),
    /// A pair that the host makes.
    HostPair,
}

/// How precise the analysis is.
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    /// How many copies of a definition there may be.
    pub clones: u32,
    /// The most terms that a definition may have (with the ones that it is recursive with) to be copied.
    pub clone_size: usize,
}

/// Analyses what the roots reach. A root with parameters may be called with anything.
///
/// The program is one that [`simplify`](girih_term::simplify) has been applied to, as
/// [`Code::program`](girih_term::code::Code::program) is.
pub fn flow(program: &Program, roots: &[DefId]) -> Flow {
    let anything = |&def: &DefId| {
        let params = program.defs.get(def).map_or(0, |def| def.params.len());
        Root { def, arguments: vec![Outside::Anything; params] }
    };
    let roots: Vec<Root> = roots.iter().map(anything).collect();
    flow_with(program, &roots, Precision::default())
}

/// Analyses what the roots reach.
pub fn flow_with(program: &Program, roots: &[Root], precision: Precision) -> Flow {
    let (first, copies) = solve::solve(program, roots, Copies::first(program));
    let Some(copies) = copies.each(program, &first, precision) else { return first };
    let (each, copies) = solve::solve(program, roots, copies);
    let Some(copies) = copies.merged(program, &each, precision) else { return first };
    solve::solve(program, roots, copies).0
}
