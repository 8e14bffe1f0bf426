//! Unboxing of arguments. If every caller of a function makes an argument where it calls, and the function only takes the argument apart,
//! the function is given the parts instead. So no cell is made for a state that is a tuple, or a vector that is an object, on its way
//! from one function to the next (the worker of worker/wrapper: Gill and Hutton, *The Worker/Wrapper Transformation*, JFP 2009; constructor
//! specialisation: Peyton Jones, *Call-pattern Specialisation for Haskell Programs*, ICFP 2007).
//!
//! | file | does |
//! |---|---|
//! | [`known`] | finds the shape of a term's value, where the term shows it |
//! | [`positions`] | finds the parameters that are replaced by their parts |
//! | [`roots`] | makes what the host gets at the root alone |
//! | [`rewrite`] | replaces these parameters and their arguments; a value that is made and taken apart in one function is no value there |
//!
//! Invariants: a call whose result is taken apart never gives `*`, or [`unbox`] is done again without it. [`positions`] decides what is worthwhile. [`rewrite`] is correct for any decision, as long as each position only gets values of
//! its shape: it takes an argument apart at the call if it is not made there, and it makes a parameter again if it is needed in one piece.

mod known;
mod positions;
mod rewrite;
mod roots;

use girih_base::idx::IndexVec;
use girih_term::{Body, Ctor, CtorId, DefId, Program, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// Most parts that are given one by one.
const MOST_PARTS: usize = 8;
/// Most parameters of a function that takes parts.
const MOST_PARAMS: usize = 16;

/// How a value is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// A tuple of so many parts, and patterns of as many.
    Tuple(usize),
    Ctor(CtorId),
}

/// A parameter: its function, and which of its parameters it is.
type Position = (DefId, usize);

/// The parameters that are replaced by their parts.
type Positions = HashMap<Position, Shape>;

/// The shape and the parts of a value, where a term makes it.
fn made(term: &Term) -> Option<(Shape, &Vec<Term>)> {
    let (shape, parts) = match &term.kind {
        TermKind::Tuple(parts) => (Shape::Tuple(parts.len()), parts),
        TermKind::Ctor(ctor, parts) => (Shape::Ctor(*ctor), parts),
        _made_elsewhere => return None,
    };
    (1..=MOST_PARTS).contains(&parts.len()).then_some((shape, parts))
}

/// Whether a constructor is the only one of its type.
fn is_only(ctors: &IndexVec<CtorId, Ctor>, ctor: CtorId) -> bool {
    let Ctor { ty, tag, .. } = ctors[ctor];
    ctors.iter().all(|other| other.ty != ty || other.tag == tag)
}

/// The function and the arguments of a call of a definition with all its arguments.
fn call<'t>(program: &Program, term: &'t Term) -> Option<(DefId, &'t Vec<Term>)> {
    let TermKind::Apply(function, args) = &term.kind else { return None };
    let TermKind::Global(def) = function.kind else { return None };
    let is_whole = !args.is_empty() && program.defs.get(def).is_some_and(|def| def.params.len() == args.len());
    is_whole.then_some((def, args))
}

/// Gives functions the parts of their arguments where that is worth it. The `roots` stay as they are, for the host calls them. `is_long` says which definitions may take long.
///
/// What it gives is correct only if no call of the definitions that it returns gives `*`, which is known after [flow analysis](crate::flow). If one does,
/// this is done again with that one in `except`.
pub(crate) fn unbox(
    program: &mut Program,
    roots: &[DefId],
    except: &HashSet<DefId>,
    is_long: &dyn Fn(DefId) -> bool,
) -> HashSet<DefId> {
    let is_net = |body: &Body| matches!(body, Body::Net(_));
    if program.defs.iter().any(|def| is_net(&def.body)) {
        return HashSet::new();
    }
    let givers = known::givers(program, except, is_long);
    let positions = positions::positions(program, roots, &givers);
    rewrite::rewrite(program, &positions, &givers);
    // Nothing follows at the end of a root that could be forked.
    let ends = known::givers(program, except, &|_| false);
    roots::make_at_roots(program, roots, &ends);
    givers.into_keys().chain(ends.into_keys()).collect()
}
