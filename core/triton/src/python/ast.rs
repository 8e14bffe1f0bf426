//! The syntax tree. Every node has the place of its text.

use girih_base::span::Span;
use std::sync::Arc;

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A name.
    Name(String),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A string.
    Str(String),
    /// An f-string: text and expressions in turns.
    Format(Vec<FormatPart>),
    /// `True` or `False`.
    Bool(bool),
    /// `None`.
    None,
    /// `...`.
    Ellipsis,
    /// `a, b`.
    Tuple(Vec<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{a: b}`; a key is missing behind `**`.
    Dict(Vec<(Option<Expr>, Expr)>),
    /// `[a for x in y if c]` and the like.
    Comprehension(Box<Comprehension>),
    /// `a.b`.
    Attribute(Box<Expr>, Ident),
    /// `a[b]`.
    Subscript(Box<Expr>, Box<Expr>),
    /// `a:b:c` within brackets.
    Slice(Option<Box<Expr>>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `f(a, b=c)`.
    Call(Box<Expr>, Vec<Argument>),
    /// `-a`.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a and b and c`, or with `or`.
    Boolean(BooleanOp, Vec<Expr>),
    /// `a < b < c`.
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    /// `a if c else b`: the condition, then both choices.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `lambda a: b`.
    Lambda(Arc<Parameters>, Arc<Expr>),
    /// `*a`.
    Starred(Box<Expr>),
    /// `(a := b)`.
    Named(Ident, Box<Expr>),
    /// What no kernel can contain.
    Other(Other),
}

/// Part of an f-string.
#[derive(Clone, Debug, PartialEq)]
pub enum FormatPart {
    /// Text.
    Text(String),
    /// `{a!r:>8}`: the expression, the letter behind `!`, and the format behind `:`.
    Value(Expr, Option<char>, String),
}

/// Syntax that is read but has no place in kernels: its name, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other(pub &'static str);

/// `element for .. in ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// What is made.
    pub kind: ComprehensionKind,
    /// The element; the key of a dictionary.
    pub element: Expr,
    /// The value of a dictionary.
    pub value: Option<Expr>,
    /// `for target in iterable if conditions`, the outermost first.
    pub clauses: Vec<Clause>,
}

/// What a comprehension makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComprehensionKind {
    /// A list.
    List,
    /// A set.
    Set,
    /// A dictionary.
    Dict,
    /// A generator.
    Generator,
}

/// One `for` of a comprehension.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What is bound.
    pub target: Expr,
    /// What is walked.
    pub iterable: Expr,
    /// Which elements count.
    pub conditions: Vec<Expr>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// `name=`.
    pub name: Option<Ident>,
    /// How many stars stand before it.
    pub stars: u8,
    /// What is given.
    pub value: Expr,
}

macro_rules! operators {
    ($(#[$doc:meta])* $name:ident: $($variant:ident $text:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $(#[doc = $text] $variant,)* }
        impl $name {
            /// As it is written.
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

operators! {
    /// An operator with one operand.
    UnaryOp: Neg "-", Plus "+", Invert "~", Not "not",
}
operators! {
    /// An operator with two operands.
    BinaryOp: Add "+", Sub "-", Mul "*", Div "/", FloorDiv "//", Mod "%", Pow "**", MatMul "@",
    And "&", Or "|", Xor "^", Shl "<<", Shr ">>",
}
operators! {
    /// `and` and `or`.
    BooleanOp: And "and", Or "or",
}
operators! {
    /// A comparison.
    CompareOp: Eq "==", Ne "!=", Lt "<", Le "<=", Gt ">", Ge ">=", Is "is", IsNot "is not", In "in", NotIn "not in",
}

/// A function's parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// In order.
    pub list: Vec<Parameter>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Ident,
    /// What stands behind its colon.
    pub annotation: Option<Expr>,
    /// What it is if it is not given.
    pub default: Option<Expr>,
    /// How many stars stand before it.
    pub stars: u8,
    /// Whether it can only be given by name.
    pub keyword_only: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands; of a compound statement, its first line.
    pub span: Span,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// An expression for its effect.
    Expr(Expr),
    /// `a = b = value`.
    Assign(Vec<Expr>, Expr),
    /// `a: annotation = value`.
    Annotated(Expr, Expr, Option<Expr>),
    /// `a += b`.
    Augmented(Expr, BinaryOp, Expr),
    /// `if`, with `elif` as an `if` in the second list.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for target in iterable`, and the list behind its `else`.
    For(Expr, Expr, Vec<Stmt>, Vec<Stmt>),
    /// `while`, and the list behind its `else`.
    While(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `def`.
    Function(Arc<FunctionDef>),
    /// `class`.
    Class(Arc<ClassDef>),
    /// `return`.
    Return(Option<Expr>),
    /// `pass`.
    Pass,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `import a.b as c`.
    Import(Vec<Alias>),
    /// `from ..a import b as c`: how many dots, the path, the names.
    ImportFrom(usize, String, Vec<Alias>),
    /// `assert`.
    Assert(Expr, Option<Expr>),
    /// `with`: what is entered, and the list.
    With(Vec<(Expr, Option<Expr>)>, Vec<Stmt>),
    /// `try`: the list, those behind `except`, `else` and `finally` in order.
    Try(Vec<Stmt>, Vec<Vec<Stmt>>),
    /// `global a, b`.
    Global(Vec<String>),
    /// What no kernel can contain.
    Other(Other),
}

/// `path as name`.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// What is imported, with dots; `*` for all.
    pub path: String,
    /// As what; the path itself if absent.
    pub name: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionDef {
    /// Its name.
    pub name: Ident,
    /// What stands above it, without `@`.
    pub decorators: Vec<Expr>,
    /// Its parameters.
    pub parameters: Parameters,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassDef {
    /// Its name.
    pub name: Ident,
    /// What stands above it, without `@`.
    pub decorators: Vec<Expr>,
    /// What stands in its parentheses.
    pub bases: Vec<Argument>,
    /// Its statements.
    pub body: Vec<Stmt>,
}
