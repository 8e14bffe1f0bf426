//! The typed lambda core: what a Bend program means after names are resolved and sugar is removed.
//!
//! A [`Program`] is a list of definitions over data types. Every local variable is bound exactly once in its
//! definition ([`LocalId`]), lambdas have several parameters, constructors always get all their fields, and
//! algebraic data types stay data types (they are not encoded as functions). Pattern matching has become decision trees of
//! [`TermKind::Match`] and [`TermKind::Switch`] over one level each; `fold`, `bend` and local functions have become
//! definitions of their own.

mod children;
pub mod code;
pub mod eval;
pub mod groups;
pub mod hvm;
pub mod io;
pub mod print;
pub mod reachability;
pub mod readback;
pub mod simplify;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod ty;

use crate::hvm::ast::Net;
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::num::{BinOp, LiteralValue, Num};
use girih_base::prim::Prim;
use girih_base::span::Span;
use ty::{Scheme, Type};

index_type! {
    /// A definition of a [`Program`].
    pub struct DefId;
}
index_type! {
    /// A data type of a [`Program`].
    pub struct TypeId;
}
index_type! {
    /// A constructor of a [`Program`], numbered across all types.
    pub struct CtorId;
}
index_type! {
    /// A local variable of a [`Def`].
    pub struct LocalId;
}

/// A whole program, the prelude included.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All definitions.
    pub defs: IndexVec<DefId, Def>,
    /// All data types.
    pub types: IndexVec<TypeId, DataType>,
    /// All constructors; those of one type follow each other in the order of the type's definition.
    pub ctors: IndexVec<CtorId, Ctor>,
    /// Where a run starts.
    pub entry: Option<DefId>,
    /// What the compiler itself knows of the prelude.
    pub known: Known,
}

/// Constructors and definitions of the prelude that literals, IO and readback need.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // Each field is named after the prelude's own name.
pub struct Known {
    pub string_nil: Option<CtorId>,
    pub string_cons: Option<CtorId>,
    pub list_nil: Option<CtorId>,
    pub list_cons: Option<CtorId>,
    pub nat_zero: Option<CtorId>,
    pub nat_succ: Option<CtorId>,
    pub tree_node: Option<CtorId>,
    pub tree_leaf: Option<CtorId>,
    pub map_node: Option<CtorId>,
    pub map_leaf: Option<CtorId>,
    pub result_ok: Option<CtorId>,
    pub result_err: Option<CtorId>,
    pub io_done: Option<CtorId>,
    pub io_call: Option<CtorId>,
    pub io_error_type: Option<CtorId>,
    pub io_error_name: Option<CtorId>,
    pub io_error_inner: Option<CtorId>,
}

impl Known {
    /// Whether a constructor ends a list or a string.
    pub fn is_end(&self, ctor: CtorId) -> bool {
        [self.list_nil, self.string_nil].contains(&Some(ctor))
    }

    /// Whether a constructor is an item of a list or a string, and the rest.
    pub fn is_link(&self, ctor: CtorId) -> bool {
        [self.list_cons, self.string_cons].contains(&Some(ctor))
    }
}

/// The two numbers in the `magic` field of `IO/Done` and `IO/Call`: `IO/MAGIC` of the prelude.
pub const IO_MAGIC: (u32, u32) = (0xD0_CA11, 0xFF_1FF1);

/// Where a definition comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The prelude.
    Prelude,
    /// A file of the program.
    User,
    /// Made by the compiler out of a part of another definition.
    Generated(DefId),
}

impl Origin {
    /// Whether the compiler made it.
    pub fn is_generated(self) -> bool {
        matches!(self, Origin::Generated(_))
    }
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its full name, for example `List/reverse` or `main__fold0`.
    pub name: Name,
    /// Where its name stands.
    pub span: Span,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether its body is type-checked.
    pub check: bool,
    /// The annotation (with `Any` where it says nothing, holes where it is to be inferred); after checking, its type.
    pub ty: Scheme,
    /// Parameters of the definition; none makes it a value that is computed once, when it is first inspected.
    pub params: Vec<LocalId>,
    /// All local variables.
    pub locals: IndexVec<LocalId, Local>,
    /// What it computes.
    pub body: Body,
}

/// The right-hand side of a definition.
#[derive(Clone, Debug)]
pub enum Body {
    /// A term over the parameters.
    Term(Term),
    /// The net of an `hvm` definition.
    Net(Net),
}

/// A local variable.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name in the source, or one that the compiler made up.
    pub name: Name,
    /// Where it is bound.
    pub span: Span,
}

/// A data type.
#[derive(Clone, Debug)]
pub struct DataType {
    /// Its full name.
    pub name: Name,
    /// Where its name stands.
    pub span: Span,
    /// Where it comes from.
    pub origin: Origin,
    /// Its type variables: the variable `i` of the field types is `vars[i]`.
    pub vars: Vec<Name>,
    /// Its constructors, in order.
    pub ctors: Vec<CtorId>,
}

/// A constructor.
#[derive(Clone, Debug)]
pub struct Ctor {
    /// Its full name, for example `List/Cons`.
    pub name: Name,
    /// Where its name stands.
    pub span: Span,
    /// Its type.
    pub ty: TypeId,
    /// Its position among the constructors of its type.
    pub tag: u32,
    /// Its fields.
    pub fields: Vec<FieldInfo>,
}

/// A field of a constructor.
#[derive(Clone, Debug)]
pub struct FieldInfo {
    /// Its name.
    pub name: Name,
    /// Its type; [`Type::Param`] `i` is the variable `i` of the data type.
    pub ty: Type,
    /// Whether `fold` recurses into it.
    pub recursive: bool,
}

/// A term and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// What it is.
    pub kind: TermKind,
    /// The source it was made from.
    pub span: Span,
}

impl Term {
    /// A term at a place.
    pub fn new(kind: TermKind, span: Span) -> Term {
        Term { kind, span }
    }
}

/// The forms of a term. Evaluation is by value, left to right; arms of [`TermKind::Match`] and [`TermKind::Switch`] run
/// only when chosen, and a reference to a definition without parameters is a value that is computed when inspected.
#[derive(Clone, Debug, PartialEq)]
pub enum TermKind {
    /// A local variable.
    Local(LocalId),
    /// A definition.
    Global(DefId),
    /// A number whose type is settled.
    Num(Num),
    /// A literal without a suffix (characters and symbols too), exactly as it was written. The checker settles it: it
    /// becomes [`TermKind::Num`] of the 32-bit kind of its family where its place needs that, else of the 24-bit kind; one
    /// that does not fit is an error of the checker's. A literal with a suffix is a [`TermKind::Num`] from the start. After
    /// the checker there are no literals.
    Literal(LiteralValue),
    /// Text; a list of characters made of `String/Cons` and `String/Nil`.
    Str(Name),
    /// `[a, b]`; made of `List/Cons` and `List/Nil`.
    List(Vec<Term>),
    /// The erased value `*`: whatever consumes it gives `*`.
    Era,
    /// A constructor with all its fields.
    Ctor(CtorId, Vec<Term>),
    /// Two or more parts. As a value it is nested pairs: `(a, (b, c))`.
    Tuple(Vec<Term>),
    /// A function. Without parameters it delays its body until it is applied to no arguments.
    Lambda(Vec<LocalId>, Box<Term>),
    /// An application to any number of arguments, fewer or more than the function has parameters.
    Apply(Box<Term>, Vec<Term>),
    /// An operator.
    Op(BinOp, Box<Term>, Box<Term>),
    /// A primitive of the prelude, with all its arguments.
    Prim(Prim, Vec<Term>),
    /// Bindings, each in scope of those after it, then the result.
    Let(Vec<Bind>, Box<Term>),
    /// A choice between the constructors of a type.
    Match(Box<Match>),
    /// A choice between numbers.
    Switch(Box<Switch>),
    /// A superposition. Net tier only.
    Sup(Vec<Term>),
    /// The use of a scopeless variable. Net tier only.
    Link(Name),
    /// Stands where an error has been reported already.
    Invalid,
}

/// A binding of a [`TermKind::Let`].
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// What is bound.
    pub target: Target,
    /// The value.
    pub value: Term,
}

/// What a [`Bind`] binds.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A variable. The checker generalises its type.
    Var(LocalId),
    /// The parts of a tuple; a part that is not used has no variable.
    Tuple(Vec<Option<LocalId>>),
    /// The copies of a value (`let {a b} = v`). Where no superposition can arise, all are the value.
    Dup(Vec<Option<LocalId>>),
    /// A scopeless variable. Net tier only.
    Link(Name),
}

/// A choice between the constructors of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The value that is inspected.
    pub scrutinee: Term,
    /// The type whose constructors the arms are.
    pub ty: TypeId,
    /// At most one arm a constructor.
    pub arms: Vec<Arm>,
    /// What happens for constructors without an arm; absent if there are none such.
    pub default: Option<Term>,
}

/// An arm of a [`Match`].
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// The constructor.
    pub ctor: CtorId,
    /// A name for the whole value, whose type is the constructor applied to these very fields (so that
    /// `Result/Err` of one result type can be returned as one of another).
    pub whole: Option<LocalId>,
    /// Its fields.
    pub fields: Vec<LocalId>,
    /// What the arm computes.
    pub body: Term,
}

/// A choice between numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// The number.
    pub scrutinee: Term,
    /// Values, each at most once, with what they give.
    pub cases: Vec<(u32, Term)>,
    /// In the default: the number minus (the largest case plus one).
    pub pred: Option<LocalId>,
    /// What all other numbers give.
    pub default: Term,
}

impl Drop for Program {
    /// Takes deep terms apart by a loop, since whoever drops a program may have a small stack.
    fn drop(&mut self) {
        let mut pending: Vec<Term> = vec![];
        for def in self.defs.iter_mut() {
            if let Body::Term(body) = &mut def.body {
                pending.push(std::mem::replace(body, Term::new(TermKind::Era, def.span)));
            }
        }
        while let Some(mut term) = pending.pop() {
            let span = term.span;
            let children = term.children_mut().into_iter();
            pending.extend(children.map(|child| std::mem::replace(child, Term::new(TermKind::Era, span))));
        }
    }
}

impl Program {
    /// The definition of this full name.
    pub fn def_named(&self, name: &str) -> Option<DefId> {
        self.defs.iter_enumerated().find(|(_, d)| d.name == name).map(|(id, _)| id)
    }
}
