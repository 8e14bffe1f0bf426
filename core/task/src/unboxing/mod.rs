//! Unboxing of arguments: a function whose argument every caller makes where it calls, and which only takes it apart, is given the parts instead. So a state that is a tuple, or a vector that is an
//! object, is no cell on its way from one function to the next (the worker of worker/wrapper: Gill and Hutton, *The Worker/Wrapper Transformation*, JFP 2009;
//! constructor specialisation: Peyton Jones, *Call-pattern Specialisation for Haskell Programs*, ICFP 2007).
//!
//! | file | does |
//! |---|---|
//! | [`known`] | of which constructor the value of a term is, where the term tells |
//! | [`positions`] | which parameters are replaced by their parts |
//! | [`rewrite`] | replaces them, and what they are given; takes apart where it stands what was made there |
//!
//! Invariant: [`positions`] decides what is worth it, and [`rewrite`] is right whatever was decided, as long as each value is of the shape that its position has: an argument that is not made at
//! the call is taken apart there, and a parameter that is needed in one piece is made again.

mod known;
mod positions;
mod rewrite;

use girih_base::idx::IndexVec;
use girih_term::{Body, Ctor, CtorId, DefId, Program, Term, TermKind};
use std::collections::HashMap;

/// Most parts that are given one by one.
const MOST_PARTS: usize = 8;
/// Most parameters of a function that takes parts.
const MOST_PARAMS: usize = 16;

/// What has the parts of a value.
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
pub(crate) fn unbox(program: &mut Program, roots: &[DefId], is_long: &dyn Fn(DefId) -> bool) {
    let is_net = |body: &Body| matches!(body, Body::Net(_));
    if program.defs.iter().any(|def| is_net(&def.body)) {
        return;
    }
    let givers = known::givers(program, is_long);
    let positions = positions::positions(program, roots, &givers);
    rewrite::rewrite(program, &positions, &givers);
}
