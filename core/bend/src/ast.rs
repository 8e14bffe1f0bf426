//! The surface syntax of Bend as it was written: both syntaxes, one tree.
//!
//! An imperative `def` has blocks of statements, a functional definition has rules over expressions; what both have
//! (patterns, `match`, `fold`, `bend`, …) is one type that is generic over its bodies. Names are not resolved and nothing
//! is desugared here. Every node carries its [`Span`]; equality of nodes ignores spans, so that two trees are equal when
//! they say the same.

use girih_base::name::Name;
use girih_base::num::NumKind;
use girih_base::span::Span;
use girih_term::hvm::ast::Net;

/// Something and where it stands. Equality looks at the something only.
#[derive(Clone)]
pub struct Node<T> {
    /// What stands there.
    pub node: T,
    /// Where.
    pub span: Span,
}

impl<T> Node<T> {
    /// `node` at `span`.
    pub fn new(node: T, span: Span) -> Node<T> {
        Node { node, span }
    }
}

impl<T: PartialEq> PartialEq for Node<T> {
    fn eq(&self, other: &Node<T>) -> bool {
        self.node == other.node
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Node<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.node.fmt(f)
    }
}

/// Equality of things that carry their place in a field: like that of [`Node`] it does not look at the place.
macro_rules! equal_wherever_it_stands {
    ($($type:ident $(<$body:ident>)? { $($field:ident),* })*) => {
        $(impl$(<$body: PartialEq>)? PartialEq for $type$(<$body>)? {
            fn eq(&self, other: &Self) -> bool {
                let Self { span: _, $($field),* } = self;
                $(*$field == other.$field)&&*
            }
        })*
    };
}

equal_wherever_it_stands! {
    Broken { name, is_type }
    Import { from, names }
    TypeDef { syntax, name, vars, ctors }
    ImpDef { check, name, params, ret, body }
    FunDef { check, name, signature, body }
    Rule { patterns, body }
    HvmDef { name, ty, net }
    Arm<B> { name, body }
}

/// A name in the text.
pub type Ident = Node<Name>;

/// One file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Its top-level items in the order of the text.
    pub items: Vec<Item>,
    /// What is known of the items that are left out because of an error.
    pub broken: Vec<Broken>,
}

/// An item with a syntax error.
#[derive(Clone, Debug)]
pub struct Broken {
    /// From its first word to the last before the next item.
    pub span: Span,
    /// Its name.
    pub name: Ident,
    /// Whether it is a type.
    pub is_type: bool,
}

/// A top-level item.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `from p import …` or `import …`.
    Import(Import),
    /// `type` in either syntax, or `object`.
    Type(TypeDef),
    /// `def f(x): …`.
    Def(ImpDef),
    /// Equations: `f pat … = body`, with or without a signature.
    Equations(FunDef),
    /// `hvm f: net`.
    Hvm(HvmDef),
}

/// An import.
#[derive(Clone, Debug)]
pub struct Import {
    /// The whole statement.
    pub span: Span,
    /// `from path import names`, or none for `import path, …`.
    pub from: Option<Ident>,
    /// What is imported.
    pub names: ImportNames,
}

/// What an import names.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportNames {
    /// `*`.
    All,
    /// `a`, without parentheses.
    One(ImportName),
    /// `(a, b as c)`.
    Many(Vec<ImportName>),
}

/// `name` or `name as alias`; without `from`, the name is a path whose last part is the name.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportName {
    /// The name or path.
    pub name: Ident,
    /// The alias.
    pub alias: Option<Ident>,
}

/// Which of the three ways of writing a type was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeSyntax {
    /// `type T(a): …` with a constructor a line.
    Imp,
    /// `type (T a) = (C x) | D`.
    Fun,
    /// `object T(a) { x }`: one constructor of the type's own name.
    Object,
}

/// A type definition.
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The whole definition.
    pub span: Span,
    /// How it was written.
    pub syntax: TypeSyntax,
    /// The type's name.
    pub name: Ident,
    /// Type variables.
    pub vars: Vec<Ident>,
    /// Constructors, with their own names (without `Type/`). An object has one, of the type's name.
    pub ctors: Vec<CtorDef>,
}

impl TypeDef {
    /// The full name of one of its constructors: `Type/Ctor`, or that of the type itself for an object.
    pub fn full_name(&self, ctor: &CtorDef) -> Name {
        match self.syntax {
            TypeSyntax::Object => self.name.node.clone(),
            TypeSyntax::Imp | TypeSyntax::Fun => Name::from(format!("{}/{}", self.name.node, ctor.name.node)),
        }
    }
}

/// A constructor of a type definition.
#[derive(Clone, Debug, PartialEq)]
pub struct CtorDef {
    /// Its name as written.
    pub name: Ident,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of a constructor.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Ident,
    /// Its type, if annotated.
    pub ty: Option<TypeExpr>,
    /// `~`: `fold` recurses into it.
    pub recursive: bool,
}

/// Whether a definition is type-checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Not said: checked if it has an annotation.
    Default,
    /// `checked`.
    Checked,
    /// `unchecked`.
    Unchecked,
}

/// A parameter and its type, if annotated.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Option<TypeExpr>,
}

/// An imperative definition, at the top level or in a block.
#[derive(Clone, Debug)]
pub struct ImpDef {
    /// The whole definition.
    pub span: Span,
    /// `checked`, `unchecked` or neither.
    pub check: Check,
    /// Its name.
    pub name: Ident,
    /// Its parameters. `def f:` and `def f():` are the same.
    pub params: Vec<Param>,
    /// `-> T`.
    pub ret: Option<TypeExpr>,
    /// Its statements; never empty.
    pub body: Block,
}

/// A functional definition, at the top level or after `def` in a term.
#[derive(Clone, Debug)]
pub struct FunDef {
    /// The whole definition.
    pub span: Span,
    /// `checked`, `unchecked` or neither.
    pub check: Check,
    /// Its name.
    pub name: Ident,
    /// `f (x: T) : R`.
    pub signature: Option<Signature>,
    /// What it does.
    pub body: FunBody,
}

/// The signature of a functional definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Parameters that stand before the colon.
    pub params: Vec<Param>,
    /// The type after the colon.
    pub ty: TypeExpr,
}

/// The right-hand side(s) of a functional definition.
#[derive(Clone, Debug, PartialEq)]
pub enum FunBody {
    /// A signature followed by `= body`: its parameters are the patterns.
    Equation(Expr),
    /// Rules `f pat … = body`; never empty.
    Rules(Vec<Rule>),
}

/// One equation of a functional definition.
#[derive(Clone, Debug)]
pub struct Rule {
    /// From the name to the end of the body.
    pub span: Span,
    /// One pattern a parameter.
    pub patterns: Vec<Pattern>,
    /// The right-hand side.
    pub body: Expr,
}

/// A definition in the text form of interaction nets.
#[derive(Clone, Debug)]
pub struct HvmDef {
    /// The whole definition.
    pub span: Span,
    /// Its name.
    pub name: Ident,
    /// `-> T`.
    pub ty: Option<TypeExpr>,
    /// Its net.
    pub net: Net,
}

/// A type expression.
pub type TypeExpr = Node<TypeKind>;

/// The forms of a type expression.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `Any`.
    Any,
    /// `_`.
    Hole,
    /// `None`.
    None,
    /// `u24`, `i32`, …
    Number(NumKind),
    /// A variable, or a type without arguments.
    Name(Name),
    /// `T(a, b)` or `(T a b)`; at least one argument in the functional syntax.
    Apply(Ident, Vec<TypeExpr>),
    /// `(a, b, …)`, two or more.
    Tuple(Vec<TypeExpr>),
    /// `a -> b`.
    Arrow(Box<TypeExpr>, Box<TypeExpr>),
}

/// A pattern.
pub type Pattern = Node<PatternKind>;

/// The forms of a pattern. The imperative syntax and `λ`, `let` and `ask` allow all but the last five.
#[derive(Clone, Debug, PartialEq)]
pub enum PatternKind {
    /// `*`.
    Wild,
    /// A variable; or, until names are resolved, a constructor without fields.
    Var(Name),
    /// `$x`.
    Link(Name),
    /// `(a, b, …)`, two or more.
    Tuple(Vec<Pattern>),
    /// `{a b …}`, two or more.
    Sup(Vec<Pattern>),
    /// `(T/C a b)`.
    Ctor(Ident, Vec<Pattern>),
    /// `[a, b]`.
    List(Vec<Pattern>),
    /// `"text"`.
    Str(String),
    /// `5`.
    Num(u32),
    /// `'c'`.
    Char(char),
}

/// Operators and the values of literals; the tables are [`girih_base::num`]'s.
pub use girih_base::num::{BinOp, LiteralValue};

/// A number literal: what was written and what it means.
#[derive(Clone, Debug)]
pub struct Literal {
    /// The spelling, sign and suffix included.
    pub text: Name,
    /// The value; of the suffix's family if there is one, so that `2f32` is a float and `2i32` is signed.
    pub value: LiteralValue,
    /// `u32` in `5u32`.
    pub suffix: Option<NumKind>,
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.text == other.text
    }
}

/// An expression of either syntax.
pub type Expr = Node<ExprKind>;

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    // Both syntaxes.
    /// `*`.
    Era,
    /// A name.
    Var(Name),
    /// `$x`.
    Link(Name),
    /// A number.
    Num(Literal),
    /// `'c'`.
    Char(char),
    /// `` `abcd` ``: the characters as written.
    Symbol(Name),
    /// `"text"`.
    Str(String),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `(a, b, …)`, two or more.
    Tuple(Vec<Expr>),
    /// `{a, b, …}`, two or more.
    Sup(Vec<Expr>),
    /// `![l, r]`.
    TreeNode(Box<Expr>, Box<Expr>),
    /// `!x`.
    TreeLeaf(Box<Expr>),
    /// `lambda x, y: e`, `λx λy e`. The imperative syntax has variables and `$x` only.
    Lambda(Vec<Pattern>, Box<Expr>),
    /// `f(a, b)`, `(f a b)`: one or more arguments.
    Call(Box<Expr>, Vec<Expr>),
    /// `a + b`, `(+ a b)`.
    Op(BinOp, Box<Expr>, Box<Expr>),

    // Imperative syntax only.
    /// `f(a, x = b)`: positional arguments, then one or more named ones.
    CallNamed(Box<Expr>, Vec<Expr>, Vec<(Ident, Expr)>),
    /// `T/C { x: a, y: b }`.
    Record(Ident, Vec<(Ident, Expr)>),
    /// `[e for x in xs if c]`.
    Comprehension(Box<Comprehension>),
    /// `{ k: v, … }`; empty is `{}`.
    Map(Vec<(Expr, Expr)>),
    /// `m[k]`.
    MapGet(Ident, Box<Expr>),

    // Functional syntax only.
    /// `#3`, in the prelude and in program arguments. In a program a `#` always starts a comment.
    Nat(u32),
    /// `let p = v; e`, `use x = v; e`, `ask p = v; e`, `open T x; e`, `def …; e`: one or more of them before the body.
    Let(Vec<FunBind>, Box<Expr>),
    /// `if c { a } elif d { b } else { e }`.
    If(Box<If<Expr>>),
    /// `match x { … }`.
    Match(Box<Match<Expr>>),
    /// `switch x { … }`.
    Switch(Box<Switch<Expr>>),
    /// `fold x { … }`.
    Fold(Box<Match<Expr>>),
    /// `bend x = a { when c: s; else: b }`.
    Bend(Box<Bend<Expr>>),
    /// `with T { e }`.
    With(Box<With<Expr>>),
}

/// A binding of the functional syntax; it scopes over all that follows it.
#[derive(Clone, Debug, PartialEq)]
pub enum FunBind {
    /// `let p = v`.
    Let(Pattern, Expr),
    /// `use x = v`.
    Use(Ident, Expr),
    /// `ask p = v`.
    Ask(Pattern, Expr),
    /// `open T x`.
    Open(Ident, Ident),
    /// `def f … = …`.
    Def(FunDef),
}

/// `[e for x in xs if c]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// `e`.
    pub element: Expr,
    /// `x`.
    pub var: Ident,
    /// `xs`.
    pub list: Expr,
    /// `c`.
    pub condition: Option<Expr>,
}

/// Statements that run in order; never empty.
pub type Block = Vec<Stmt>;

/// A statement of the imperative syntax.
pub type Stmt = Node<StmtKind>;

/// The forms of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `p = e`.
    Assign(Target, Expr),
    /// `p <- e`.
    Ask(Pattern, Expr),
    /// `x += e`, `m[k] @= f`.
    InPlace(InPlaceTarget, InPlaceOp, Expr),
    /// `use x = e`.
    Use(Ident, Expr),
    /// `open T: x`.
    Open(Ident, Ident),
    /// `def f(x): …`.
    Def(ImpDef),
    /// `return e`.
    Return(Expr),
    /// `if … elif … else …`.
    If(If<Block>),
    /// `match …`.
    Match(Match<Block>),
    /// `switch …`.
    Switch(Switch<Block>),
    /// `fold …`.
    Fold(Match<Block>),
    /// `bend …`.
    Bend(Bend<Block>),
    /// `with T: …`.
    With(With<Block>),
}

/// What an assignment assigns to.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A pattern.
    Pattern(Pattern),
    /// `m[k]`.
    MapSlot(Ident, Expr),
}

/// What an in-place operation changes.
#[derive(Clone, Debug, PartialEq)]
pub enum InPlaceTarget {
    /// `x`.
    Var(Ident),
    /// `m[k]`.
    MapSlot(Ident, Expr),
}

/// The operator of an in-place operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlaceOp {
    /// `+=`, `-=`, `*=`, `/=`, `&=`, `|=`, `^=`.
    Op(BinOp),
    /// `@=`: applies a function.
    Map,
}

/// `if`, `elif`, `else` over bodies of either syntax.
#[derive(Clone, Debug, PartialEq)]
pub struct If<B> {
    /// Conditions with what they guard; at least one.
    pub branches: Vec<(Expr, B)>,
    /// `else`.
    pub otherwise: B,
}

/// `match` and `fold`.
#[derive(Clone, Debug, PartialEq)]
pub struct Match<B> {
    /// `x` in `match x = e`; none if `e` has no name, or is itself a variable.
    pub bind: Option<Ident>,
    /// What is matched.
    pub arg: Expr,
    /// `with a, b = e`: variables passed into the arms; for a `fold`, the state.
    pub with: Vec<(Ident, Option<Expr>)>,
    /// The arms; at least one.
    pub arms: Vec<Arm<B>>,
}

/// An arm of a `match` or `fold`.
#[derive(Clone, Debug)]
pub struct Arm<B> {
    /// A constructor or a variable; none for `_` and `*`.
    pub name: Option<Ident>,
    /// Where the arm's head stands.
    pub span: Span,
    /// What it does.
    pub body: B,
}

/// `switch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch<B> {
    /// `x` in `switch x = e`; none if `e` has no name, or is itself a variable.
    pub bind: Option<Ident>,
    /// The number.
    pub arg: Expr,
    /// `with a, b = e`.
    pub with: Vec<(Ident, Option<Expr>)>,
    /// The cases 0, 1, … in order; at least one.
    pub cases: Vec<B>,
    /// `_`.
    pub default: B,
}

/// `bend`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bend<B> {
    /// State variables with their first values; a variable without one starts as the variable of that name.
    pub state: Vec<(Ident, Option<Expr>)>,
    /// `when`.
    pub condition: Expr,
    /// What is done while the condition holds; `fork` is in scope.
    pub step: B,
    /// `else`.
    pub base: B,
}

/// `with T`.
#[derive(Clone, Debug, PartialEq)]
pub struct With<B> {
    /// `T`.
    pub monad: Ident,
    /// The steps.
    pub body: B,
}
