//! Random programs that are well typed, first-order or not, and end.
//!
//! A program is a list of data types and functions; a function calls earlier ones, or itself with a counter that falls, so
//! every program ends. The cost of a function is bounded while it is made, so it ends soon. With [`Limits::affine`] every
//! variable is used at most once in each branch, and only what the upstream implementation of Bend gets right is used: no
//! closures, no 32-bit numbers, no division by something that may be zero.

mod print;

use super::random::Random;
use print::{ctor_name, imp_type, print_data, print_function, zero};
use std::fmt::Write;

/// What a program may contain.
#[derive(Clone, Copy)]
pub struct Limits {
    /// For the comparison with upstream.
    pub affine: bool,
    /// How many functions there are; small programs have small bodies too.
    pub size: usize,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    Num(&'static str),
    Tuple(Vec<Type>),
    List(Box<Type>),
    Maybe(Box<Type>),
    /// The data type of this number.
    Data(usize),
    Fun(Box<Type>, Box<Type>),
}

/// A data type `D0`, `D1`, …; its first constructor is not recursive.
struct Data {
    ctors: Vec<Vec<Option<Type>>>, // A field without a type is recursive.
}

struct Function {
    name: String,
    /// The first parameter is a counter if the function is recursive.
    params: Vec<Type>,
    ret: Type,
    recursive: bool,
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
    Take(Vec<String>, Expr, Box<Body>),
    If(Expr, Box<Body>, Box<Body>),
    Switch(String, Vec<Body>),
    Match(String, Vec<(String, Body)>),
    Fold(String, Vec<(String, Body)>),
}

enum Expr {
    Word(String),
    Op(&'static str, Box<Expr>, Box<Expr>),
    Call(String, Vec<Expr>),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Lambda(String, Box<Expr>),
}

/// The text of the program of this number.
pub fn program(number: u64, limits: Limits) -> String {
    let mut maker =
        Maker { random: Random::new(number), limits, types: vec![], functions: vec![], names: 0, budget: 0 };
    maker.program()
}

struct Maker {
    random: Random,
    limits: Limits,
    types: Vec<Data>,
    functions: Vec<Function>,
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

impl Maker {
    fn program(&mut self) -> String {
        let mut text = String::new();
        for number in 0..self.random.below(3) {
            let data = self.data();
            text += &print_data(number, &data);
            self.types.push(data);
        }
        for number in 0..self.random.below(self.limits.size + 1) {
            text += &self.function(format!("f{number}"));
        }
        self.budget = BUDGET * 4;
        let ret = self.printable_type(2);
        let body = self.body(vec![], &ret, 3 + self.limits.size / 4);
        text += &print_function("value", &[], &ret, &body, false);
        text + &self.main(&ret)
    }

    /// `main` takes the value apart and puts it together again, because upstream prints what nobody looks into unevaluated.
    fn main(&mut self, ty: &Type) -> String {
        let mut text = String::new();
        let mut statements = String::new();
        let value = self.rebuilt("value".to_owned(), ty, &mut statements, &mut text);
        write!(text, "def main() -> {}:\n{statements}  return {value}\n", imp_type(ty))
            .expect("a string can be written");
        text
    }

    /// The value of a variable again; `statements` take it apart, `functions` rebuild lists.
    fn rebuilt(&mut self, name: String, ty: &Type, statements: &mut String, functions: &mut String) -> String {
        match ty {
            Type::Num(kind) => format!("({name} + {})", zero(kind)),
            Type::Tuple(parts) => {
                let names: Vec<String> = parts.iter().map(|_| self.fresh("v")).collect();
                *statements += &format!("  ({}) = {name}\n", names.join(", "));
                let parts = names.into_iter().zip(parts);
                let parts: Vec<String> = parts.map(|(n, ty)| self.rebuilt(n, ty, statements, functions)).collect();
                format!("({})", parts.join(", "))
            }
            Type::List(element) => {
                let Type::Num(kind) = **element else { unreachable!("lists that are printed hold numbers") };
                let function = self.fresh("list");
                let ty = imp_type(ty);
                *functions += &format!(
                    "def {function}(xs: {ty}) -> {ty}:\n  fold xs:\n    case List/Nil:\n      return []\n    \
                     case List/Cons:\n      return List/Cons((xs.head + {}), xs.tail)\n\n",
                    zero(kind)
                );
                format!("{function}({name})")
            }
            Type::Maybe(_) | Type::Data(_) | Type::Fun(..) => unreachable!("these are not printed"),
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    // Types.

    fn number_type(&mut self) -> Type {
        let kinds: &[&str] = if self.limits.affine {
            &["u24", "u24", "i24", "f24"]
        } else {
            &["u24", "u24", "i24", "f24", "u32", "i32", "f32"]
        };
        let kind: &&str = self.random.pick(kinds);
        Type::Num(kind)
    }

    /// A type whose values print the same everywhere.
    fn printable_type(&mut self, depth: usize) -> Type {
        match self.random.below(if depth == 0 { 2 } else { 5 }) {
            3 => Type::List(Box::new(self.number_type())),
            4 => Type::Tuple((0..2 + self.random.below(2)).map(|_| self.printable_type(depth - 1)).collect()),
            _ => self.number_type(),
        }
    }

    fn any_type(&mut self, depth: usize) -> Type {
        let most = if depth == 0 { 4 } else { 9 };
        match self.random.below(most) {
            3 if !self.types.is_empty() => Type::Data(self.random.below(self.types.len())),
            4 => Type::List(Box::new(self.any_type(depth - 1))),
            5 => Type::Tuple((0..2 + self.random.below(2)).map(|_| self.any_type(depth - 1)).collect()),
            6 => Type::Maybe(Box::new(self.any_type(depth - 1))),
            7 if !self.limits.affine => {
                Type::Fun(Box::new(self.any_type(depth - 1)), Box::new(self.any_type(depth - 1)))
            }
            _ => self.number_type(),
        }
    }

    fn data(&mut self) -> Data {
        let ctors = (0..1 + self.random.below(3)).map(|ctor| {
            let fields = (0..self.random.below(4)).map(|_| {
                let recursive = ctor > 0 && self.random.chance(40);
                if recursive { None } else { Some(self.any_type(1)) }
            });
            fields.collect()
        });
        Data { ctors: ctors.collect() }
    }

    // Functions.

    fn function(&mut self, name: String) -> String {
        let recursive = self.random.chance(40);
        let mut params = vec![];
        let mut scope = vec![];
        for _ in 0..self.random.below(4) {
            let var = Var { name: self.fresh("p"), ty: self.any_type(2) };
            params.push(var.clone());
            scope.push(var);
        }
        let ret = self.any_type(2);
        self.budget = BUDGET / if recursive { ROUNDS } else { 1 };
        let depth = 2 + self.random.below(3);
        let before = self.budget;
        let body = if recursive {
            let counter = Var { name: self.fresh("n"), ty: Type::Num("u24") };
            let body = self.recursion(&name, &counter, &params, scope, &ret, depth);
            params.insert(0, counter);
            body
        } else {
            self.body(scope, &ret, depth)
        };
        let cost = (1 + before - self.budget) * if recursive { ROUNDS } else { 1 };
        let text = print_function(&name, &params, &ret, &body, self.random.chance(40));
        self.functions.push(Function {
            name,
            params: params.into_iter().map(|p| p.ty).collect(),
            ret,
            recursive,
            cost,
        });
        text
    }

    /// `switch n`: without a call of itself for 0, with one call with `n - 1` otherwise.
    fn recursion(
        &mut self,
        name: &str,
        counter: &Var,
        params: &[Var],
        scope: Vec<Var>,
        ret: &Type,
        depth: usize,
    ) -> Body {
        let zero = self.body(scope.clone(), ret, depth - 1);
        let mut scope = scope;
        let mut arguments = vec![Expr::Word(format!("{}-1", counter.name))];
        for param in params {
            arguments.push(self.value(&mut scope, &param.ty, 1));
        }
        let result = Var { name: self.fresh("r"), ty: ret.clone() };
        scope.push(result.clone());
        let rest = self.body(scope, ret, depth - 1);
        let call = Body::Return(Expr::Call(name.to_owned(), arguments));
        Body::Switch(counter.name.clone(), vec![zero, Body::Let(result.name, Box::new(call), Box::new(rest))])
    }

    fn body(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        if depth == 0 {
            return Body::Return(self.value(&mut scope, ret, 2));
        }
        match self.random.below(8) {
            0 | 1 => {
                let var = Var { name: self.fresh("x"), ty: self.any_type(2) };
                let value = self.bound(&mut scope, &var.ty, depth - 1);
                scope.push(var.clone());
                Body::Let(var.name, Box::new(value), Box::new(self.body(scope, ret, depth - 1)))
            }
            2 => {
                let parts: Vec<Var> = (0..2 + self.random.below(2))
                    .map(|_| Var { name: self.fresh("t"), ty: self.any_type(1) })
                    .collect();
                let tuple = Type::Tuple(parts.iter().map(|p| p.ty.clone()).collect());
                let value = self.value(&mut scope, &tuple, 2);
                scope.extend(parts.iter().cloned());
                let names = parts.into_iter().map(|p| p.name).collect();
                Body::Take(names, value, Box::new(self.body(scope, ret, depth - 1)))
            }
            3 => {
                let condition = self.value(&mut scope, &Type::Num("u24"), 2);
                let yes = self.body(scope.clone(), ret, depth - 1);
                Body::If(condition, Box::new(yes), Box::new(self.body(scope, ret, depth - 1)))
            }
            4 => self.switch(scope, ret, depth),
            5 | 6 => self.choice(scope, ret, depth, false),
            _ => self.choice(scope, ret, depth, true),
        }
    }

    /// What is bound to a variable: a value, or now and then the outcome of a branch.
    fn bound(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Body {
        if self.random.chance(75) || depth == 0 {
            return Body::Return(self.value(scope, ty, 3));
        }
        let condition = self.value(scope, &Type::Num("u24"), 2);
        let (mut then, mut other) = (scope.clone(), scope.clone());
        let yes = Body::Return(self.value(&mut then, ty, 2));
        let no = Body::Return(self.value(&mut other, ty, 2));
        scope.retain(|v| then.iter().any(|w| w.name == v.name) && other.iter().any(|w| w.name == v.name));
        Body::If(condition, Box::new(yes), Box::new(no))
    }

    fn switch(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        let Some(var) = self.take(&mut scope, |ty| *ty == Type::Num("u24")) else {
            return self.body(scope, ret, depth - 1);
        };
        let count = 1 + self.random.below(3);
        let mut cases: Vec<Body> = (0..count).map(|_| self.body(scope.clone(), ret, depth - 1)).collect();
        scope.push(Var { name: format!("{}-{count}", var.name), ty: Type::Num("u24") });
        cases.push(self.body(scope, ret, depth - 1));
        Body::Switch(var.name, cases)
    }

    /// A `match` or a `fold`.
    fn choice(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize, fold: bool) -> Body {
        let splits = |ty: &Type| matches!(ty, Type::Data(_) | Type::List(_)) || (!fold && matches!(ty, Type::Maybe(_)));
        let Some(var) = self.take(&mut scope, splits) else { return self.body(scope, ret, depth - 1) };
        if fold {
            // An arm runs once for every node, and may not use what is used up by running once.
            if self.limits.affine {
                scope.clear();
            }
            self.budget /= FOLDED;
        }
        let mut arms = vec![];
        for (ctor, fields) in self.ctors(&var.ty) {
            let mut scope = scope.clone();
            if fold && fields.iter().any(|(_, ty)| ty.is_none()) {
                // In such an arm the variable is the value with its recursive fields folded, of whatever type that is.
                scope.retain(|v| v.name != var.name);
            }
            for (field, ty) in fields {
                let ty = match ty {
                    Some(ty) => ty,
                    None if fold => ret.clone(),
                    None => var.ty.clone(),
                };
                let field = Var { name: format!("{}.{field}", var.name), ty };
                scope.retain(|v| v.name != field.name); // An outer choice of the same variable is hidden.
                scope.push(field);
            }
            arms.push((ctor, self.body(scope, ret, depth - 1)));
        }
        if fold {
            self.budget *= FOLDED;
            Body::Fold(var.name, arms)
        } else {
            Body::Match(var.name, arms)
        }
    }

    /// Constructors of a type.
    fn ctors(&self, ty: &Type) -> Vec<Ctor> {
        match ty {
            Type::List(element) => vec![
                ("List/Nil".to_owned(), vec![]),
                (
                    "List/Cons".to_owned(),
                    vec![("head".to_owned(), Some((**element).clone())), ("tail".to_owned(), None)],
                ),
            ],
            Type::Maybe(value) => vec![
                ("Maybe/Some".to_owned(), vec![("value".to_owned(), Some((**value).clone()))]),
                ("Maybe/None".to_owned(), vec![]),
            ],
            Type::Data(number) => {
                let named = |(i, fields): (usize, &Vec<Option<Type>>)| {
                    let fields = fields.iter().enumerate().map(|(i, ty)| (format!("y{i}"), ty.clone()));
                    (ctor_name(*number, i), fields.collect())
                };
                self.types[*number].ctors.iter().enumerate().map(named).collect()
            }
            Type::Num(_) | Type::Tuple(_) | Type::Fun(..) => vec![],
        }
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

    // Values.

    fn value(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Expr {
        if self.random.chance(if depth == 0 { 80 } else { 40 })
            && let Some(var) = self.take(scope, |t| t == ty)
        {
            return Expr::Word(var.name);
        }
        if depth > 0
            && self.random.chance(35)
            && let Some(call) = self.call(scope, ty, depth)
        {
            return call;
        }
        if depth > 0
            && !self.limits.affine
            && self.random.chance(15)
            && let Some(applied) = self.application(scope, ty, depth)
        {
            return applied;
        }
        self.made(scope, ty, depth)
    }

    /// A call of an earlier function, if one gives the type and is cheap enough.
    fn call(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Option<Expr> {
        let budget = self.budget;
        let fitting: Vec<usize> = (0..self.functions.len())
            .filter(|&i| self.functions[i].ret == *ty && self.functions[i].cost <= budget)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let function = *self.random.pick(&fitting);
        self.budget -= self.functions[function].cost;
        let Function { name, params, recursive, .. } = &self.functions[function];
        let (name, params, recursive) = (name.clone(), params.clone(), *recursive);
        let mut arguments = vec![];
        for (i, param) in params.iter().enumerate() {
            let argument = if i == 0 && recursive {
                let number = self.value(scope, param, depth - 1);
                Expr::Op("%", Box::new(number), Box::new(Expr::Word(ROUNDS.to_string())))
            } else {
                self.value(scope, param, depth - 1)
            };
            arguments.push(argument);
        }
        Some(if arguments.is_empty() { Expr::Word(name) } else { Expr::Call(name, arguments) })
    }

    /// A variable that is a function, applied.
    fn application(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Option<Expr> {
        let var = self.take(scope, |t| matches!(t, Type::Fun(_, ret) if **ret == *ty))?;
        let Type::Fun(param, _) = var.ty else { return None };
        let argument = self.value(scope, &param, depth - 1);
        Some(Expr::Call(var.name, vec![argument]))
    }

    /// A value that is built here.
    fn made(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Expr {
        let less = depth.saturating_sub(1);
        match ty {
            Type::Num(kind) => self.number(scope, kind, depth),
            Type::Tuple(parts) => Expr::Tuple(parts.iter().map(|part| self.value(scope, part, less)).collect()),
            Type::List(element) => {
                let length = if depth == 0 { self.random.below(2) } else { self.random.below(4) };
                Expr::List((0..length).map(|_| self.value(scope, element, less)).collect())
            }
            Type::Maybe(_) | Type::Data(_) => {
                let ctors = self.ctors(ty);
                let flat = |fields: &[(String, Option<Type>)]| fields.iter().all(|(_, ty)| ty.is_some());
                let i = if depth == 0 {
                    ctors.iter().position(|(_, fields)| flat(fields)).unwrap_or(0)
                } else {
                    self.random.below(ctors.len())
                };
                let (name, fields) = &ctors[i];
                let values: Vec<Expr> =
                    fields.iter().map(|(_, field)| self.value(scope, field.as_ref().unwrap_or(ty), less)).collect();
                if values.is_empty() { Expr::Word(name.clone()) } else { Expr::Call(name.clone(), values) }
            }
            Type::Fun(param, ret) => {
                let var = Var { name: self.fresh("a"), ty: (**param).clone() };
                scope.push(var.clone());
                let budget = std::mem::replace(&mut self.budget, 0); // How often it is called is not known.
                let body = self.value(scope, ret, less);
                self.budget = budget;
                scope.retain(|v| v.name != var.name);
                Expr::Lambda(var.name, Box::new(body))
            }
        }
    }

    fn number(&mut self, scope: &mut Vec<Var>, kind: &'static str, depth: usize) -> Expr {
        let ty = Type::Num(kind);
        if depth == 0 || self.random.chance(30) {
            return Expr::Word(self.literal(kind));
        }
        let float = kind.starts_with('f');
        let unsigned = kind.starts_with('u');
        if kind == "u24" && self.random.chance(20) {
            let operands = self.number_type();
            let symbol = *self.random.pick(&["==", "!=", "<", ">", "<=", ">="]);
            return self.op(scope, symbol, &operands, depth);
        }
        if self.random.chance(10)
            && let Some(cast) = self.cast(scope, kind, depth)
        {
            return cast;
        }
        let symbols: &[&str] = match (float, unsigned) {
            (true, _) => &["+", "-", "*", "/"],
            (false, true) => &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"],
            (false, false) => &["+", "-", "*", "/", "%", "&", "|", "^"],
        };
        let symbol = *self.random.pick(symbols);
        if self.limits.affine && matches!(symbol, "/" | "%") {
            let left = self.value(scope, &ty, depth - 1);
            let divisor = loop {
                let literal = self.literal(kind);
                if literal.contains(|c: char| ('1'..='9').contains(&c)) {
                    break literal;
                }
            };
            return Expr::Op(symbol, Box::new(left), Box::new(Expr::Word(divisor)));
        }
        self.op(scope, symbol, &ty, depth)
    }

    fn op(&mut self, scope: &mut Vec<Var>, symbol: &'static str, ty: &Type, depth: usize) -> Expr {
        let left = self.value(scope, ty, depth - 1);
        let right = self.value(scope, ty, depth - 1);
        Expr::Op(symbol, Box::new(left), Box::new(right))
    }

    fn cast(&mut self, scope: &mut Vec<Var>, kind: &'static str, depth: usize) -> Option<Expr> {
        let from = *self.random.pick(&["u24", "i24", "f24"]);
        if from == kind || !matches!(kind, "u24" | "i24" | "f24") {
            return None;
        }
        let value = self.value(scope, &Type::Num(from), depth - 1);
        Some(Expr::Call(format!("{from}/to_{kind}"), vec![value]))
    }

    fn literal(&mut self, kind: &str) -> String {
        let small = self.random.chance(80);
        let whole = self.random.below(if small { 10 } else { 0x80_0000 });
        let sign = if self.random.chance(50) { "+" } else { "-" };
        match kind {
            "u24" => (whole * if small { 1 } else { 2 }).to_string(),
            "i24" => format!("{sign}{whole}"),
            "f24" => format!("{}{}.{}", sign.trim_start_matches('+'), whole % 1000, self.random.below(100)),
            "u32" => format!("{}u32", whole * if small { 1 } else { 511 }),
            "i32" => format!("{sign}{}i32", whole * if small { 1 } else { 255 }),
            _ => format!("{}{}.{}f32", sign.trim_start_matches('+'), whole, self.random.below(1000)),
        }
    }
}
