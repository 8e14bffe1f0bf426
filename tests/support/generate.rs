//! Random programs that are well typed, first-order or not, and end.
//!
//! A program is a list of data types and functions; a function calls earlier ones, or itself with a counter that falls, so
//! every program ends. The cost of a function is bounded while it is made, so it ends soon. With [`Limits::affine`] every
//! variable is used at most once in each branch, and only what the upstream implementation of Bend gets right is used: no
//! closures, no 32-bit numbers, no division by something that may be zero. Without it every form of the language is used
//! that needs no interaction nets.
//!
//! | file | makes |
//! |---|---|
//! | [`types`] | types, data types, what constructors there are |
//! | [`functions`] | functions in either syntax, equations, the functions that every program has |
//! | [`bodies`] | statements |
//! | [`values`] | expressions |
//! | [`print`] | text |

mod bodies;
mod functions;
mod print;
mod source;
mod types;
mod values;

use super::random::Random;
pub use source::Source;
use types::{Data, Type};

/// What a program may contain.
#[derive(Clone, Copy)]
pub struct Limits {
    /// For the comparison with upstream.
    pub affine: bool,
    /// How many functions there are; small programs have small bodies too.
    pub size: usize,
}

struct Function {
    name: String,
    /// The first parameter is a counter if the function is recursive.
    params: Vec<Var>,
    ret: Type,
    recursive: bool,
    /// Whether a call may name its arguments.
    named: bool,
    cost: usize,
}

/// A constructor: its name, and the names and types of its fields; a field without a type is recursive.
type Ctor = (String, Vec<(String, Option<Type>)>);

/// A variable in scope.
#[derive(Clone)]
struct Var {
    name: String,
    ty: Type,
}

/// The body of a function.
enum Body {
    Return(Expr),
    Let(String, Box<Body>, Box<Body>),
    Take(Pattern, Expr, Box<Body>),
    Use(String, Expr, Box<Body>),
    /// A variable of a type with one constructor.
    Open(String, String, Box<Body>),
    Def(Box<Local>, Box<Body>),
    /// A place, an operator and an operand; in the imperative syntax only.
    InPlace(Place, &'static str, Expr, Box<Body>),
    If(Vec<(Expr, Body)>, Box<Body>),
    Switch(Head, Vec<Body>),
    Match(Head, Vec<(String, Body)>),
    Fold(Head, Vec<(String, Body)>),
    Bend {
        state: Vec<(String, Option<Expr>)>,
        condition: Expr,
        step: Box<Body>,
        base: Box<Body>,
    },
    /// Steps of the monad `Try`, and what they end with.
    With(Vec<(Pattern, Expr)>, Expr),
}

/// What a choice is about: a variable, with its value if it is bound here, and the variables that go into the arms.
struct Head {
    name: String,
    value: Option<Expr>,
    with: Vec<(String, Option<Expr>)>,
}

/// What a statement changes.
enum Place {
    Variable(String),
    /// The value of a key of a map.
    Slot(String, Expr),
}

/// A function inside of another one.
struct Local {
    name: String,
    params: Vec<Var>,
    ret: Type,
    body: Body,
}

enum Pattern {
    Wild,
    Var(String),
    Tuple(Vec<Pattern>),
    Copies(Vec<String>),
    Ctor(String, Vec<Pattern>),
    List(Vec<Pattern>),
    /// A text, a number or a character.
    Word(String),
}

enum Expr {
    Word(String),
    Op(&'static str, Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    /// With the last arguments named.
    CallNamed(String, Vec<Expr>, Vec<(String, Expr)>),
    Record(String, Vec<(String, Expr)>),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    /// A leaf or a node.
    Tree(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
    Get(String, Box<Expr>),
    Comprehension {
        element: Box<Expr>,
        var: String,
        list: Box<Expr>,
        condition: Option<Box<Expr>>,
    },
    Lambda(Vec<Pattern>, Box<Expr>),
    /// In the functional syntax only.
    Inner(Box<Body>),
}

fn word(text: impl Into<String>) -> Expr {
    Expr::Word(text.into())
}

fn call(function: impl Into<String>, arguments: Vec<Expr>) -> Expr {
    Expr::Call(Box::new(word(function)), arguments)
}

/// The program of this number.
pub fn program(number: u64, limits: Limits) -> Source {
    let random = Random::new(number);
    let maker = Maker {
        random,
        limits,
        types: vec![],
        functions: vec![],
        vars: vec![],
        functional: false,
        names: 0,
        budget: 0,
    };
    maker.program()
}

struct Maker {
    random: Random,
    limits: Limits,
    types: Vec<Data>,
    functions: Vec<Function>,
    /// The type variables of the function that is being made. It has a parameter of each.
    vars: Vec<&'static str>,
    /// Whether the function that is being made is written in the functional syntax.
    functional: bool,
    names: usize,
    /// How many more calls the function that is being made may cost.
    budget: usize,
}

/// The most that a call of a function may cost, in calls.
const BUDGET: usize = 2_000;
/// Counters of recursive functions start below this.
const ROUNDS: usize = 5;
/// A value that is folded over is no larger than this, more or less.
const FOLDED: usize = 20;
/// The most that a function may cost that is called nobody knows how often.
const CHEAP: usize = 20;

impl Maker {
    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn is_free(&self) -> bool {
        !self.limits.affine
    }

    /// A variable whose type fits, out of the scope if it can be used only once.
    fn take(&mut self, scope: &mut Vec<Var>, fits: impl Fn(&Type) -> bool) -> Option<Var> {
        let fitting: Vec<usize> = (0..scope.len()).filter(|&i| fits(&scope[i].ty)).collect();
        if fitting.is_empty() {
            return None;
        }
        let i = *self.random.pick(&fitting);
        Some(if self.limits.affine { scope.remove(i) } else { scope[i].clone() })
    }

    /// A variable that can be bound again: no field and no predecessor.
    fn plain(&mut self, scope: &[Var], fits: impl Fn(&Type) -> bool) -> Option<Var> {
        let fitting: Vec<&Var> =
            scope.iter().filter(|var| fits(&var.ty) && !var.name.contains(['.', '-', '/'])).collect();
        if fitting.is_empty() { None } else { Some((*self.random.pick(&fitting)).clone()) }
    }
}
