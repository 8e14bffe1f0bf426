//! Functions of random programs, and the programs.

use super::print::{Notes, imp_type, print_data, print_equations, print_function, zero};
use super::types::{Data, Type};
use super::{BUDGET, Body, Function, Head, Maker, Pattern, ROUNDS, Source, Var, call, word};
use std::fmt::Write;

/// A function that is there: its name, parameters, result, and what it costs.
type Known<'n> = (String, Vec<(&'n str, Type)>, Type, usize);

/// The monad that every program has.
const TRY: &str = "type Try(T):
  Good { val: T }
  Bad { why: u24 }

def Try/wrap(x: T) -> Try(T):
  return Try/Good(x)

def Try/bind(a: Try(A), next: ((Id -> Id) -> A -> Try(B))) -> Try(B):
  match a:
    case Try/Good:
      return undefer(next, a.val)
    case Try/Bad:
      return Try/Bad(a.why)

";

/// Functions that are used in many ways.
const LIBRARY: &str = "def twice(f: A -> A, x: A) -> A:
  return f(f(x))

def compose(f: B -> C, g: A -> B) -> (A -> C):
  return lambda x: f(g(x))

def each(f: A -> B, xs: List(A)) -> List(B):
  match xs:
    case List/Nil:
      return []
    case List/Cons:
      return List/Cons(f(xs.head), each(f, xs.tail))

def pick(c: u24, a: A, b: A) -> A:
  if c:
    return a
  else:
    return b

def both(f: A -> B, x: A) -> (B, B):
  return (f(x), f(x))

";

const LIBRARY_NAMES: &[&str] = &["twice", "compose", "each", "pick", "both"];

impl Maker {
    pub fn program(mut self) -> Source {
        if self.is_free() {
            return self.free_program();
        }
        let mut text = String::new();
        for number in 0..self.random.below(3) {
            text += &self.data_type(number);
        }
        for number in 0..self.random.below(self.limits.size + 1) {
            text += &self.function(format!("f{number}"));
        }
        self.budget = BUDGET * 4;
        let ret = self.printable_type(2);
        let body = self.body(vec![], &ret, 3 + self.limits.size / 4);
        text += &print_function("value", &[], &ret, &body, false, &Notes::default());
        text += &self.rebuilding_main(&ret);
        Source { main: text, library: None }
    }

    fn free_program(mut self) -> Source {
        let mut text = String::new();
        let mut library = None;
        let names = LIBRARY_NAMES.join(", ");
        let in_another_file = self.random.below(8);
        let name: fn(&str) -> String = match in_another_file {
            0 => {
                text += "from ./library import *\n\n";
                str::to_owned
            }
            1 => {
                text += &format!("from ./library import ({names})\n\n");
                str::to_owned
            }
            2 => {
                text += "import ./library as l\n\n";
                |name| format!("l/{name}")
            }
            3 => {
                LIBRARY_NAMES.iter().for_each(|name| text += &format!("from ./library import {name} as my_{name}\n"));
                text += "\n";
                |name| format!("my_{name}")
            }
            _ => {
                text += LIBRARY;
                str::to_owned
            }
        };
        if in_another_file < 4 {
            library = Some(LIBRARY.to_owned());
        }
        self.known_functions(name);
        text += TRY;
        for number in 0..1 + self.random.below(3) {
            text += &self.data_type(number);
        }
        for number in 0..self.random.below(self.limits.size + 1) {
            let name = format!("f{number}");
            text += &if self.random.chance(15) { self.equations(name) } else { self.function(name) };
        }
        self.budget = BUDGET * 4;
        self.functional = self.random.chance(40);
        let ret = self.any_type(2);
        let body = self.body(vec![], &ret, 3 + self.limits.size / 4);
        text += &print_function("main", &[], &ret, &body, self.functional, &Notes::default());
        Source { main: text, library }
    }

    fn data_type(&mut self, number: usize) -> String {
        let data = self.data();
        let text = print_data(number, &data);
        self.types.push(data);
        text
    }

    /// What the prelude and the library have.
    fn known_functions(&mut self, library: fn(&str) -> String) {
        let (a, b, c) = (Type::Var("A"), Type::Var("B"), Type::Var("C"));
        let fun = |a: &Type, b: &Type| Type::Fun(Box::new(a.clone()), Box::new(b.clone()));
        let list = |a: &Type| Type::List(Box::new(a.clone()));
        let maybe = |a: &Type| Type::Maybe(Box::new(a.clone()));
        let map = |a: &Type| Type::Map(Box::new(a.clone()));
        let tree = |a: &Type| Type::Tree(Box::new(a.clone()));
        let (u24, f24) = (Type::Num("u24"), Type::Num("f24"));
        let pair = |a: &Type, b: &Type| Type::Tuple(vec![a.clone(), b.clone()]);
        let known: Vec<Known> = vec![
            (library("twice"), vec![("f", fun(&a, &a)), ("x", a.clone())], a.clone(), 3),
            (library("compose"), vec![("f", fun(&b, &c)), ("g", fun(&a, &b))], fun(&a, &c), 3),
            (library("each"), vec![("f", fun(&a, &b)), ("xs", list(&a))], list(&b), 20),
            (library("pick"), vec![("c", u24.clone()), ("a", a.clone()), ("b", a.clone())], a.clone(), 1),
            (library("both"), vec![("f", fun(&a, &b)), ("x", a.clone())], pair(&b, &b), 3),
            ("List/reverse".into(), vec![("xs", list(&a))], list(&a), 20),
            ("List/concat".into(), vec![("xs", list(&a)), ("ys", list(&a))], list(&a), 40),
            ("List/length".into(), vec![("xs", list(&a))], pair(&u24, &list(&a)), 20),
            ("List/filter".into(), vec![("xs", list(&a)), ("pred", fun(&a, &u24))], list(&a), 40),
            ("Maybe/unwrap".into(), vec![("m", maybe(&a))], a.clone(), 1),
            ("Tree/reverse".into(), vec![("tree", tree(&a))], tree(&a), 40),
            ("Tree/to_list".into(), vec![("tree", tree(&a))], list(&a), 40),
            ("Map/get_check".into(), vec![("map", map(&a)), ("key", u24.clone())], pair(&maybe(&a), &map(&a)), 25),
            ("Map/contains".into(), vec![("map", map(&a)), ("key", u24.clone())], pair(&u24, &map(&a)), 25),
            ("Map/set".into(), vec![("map", map(&a)), ("key", u24.clone()), ("value", a.clone())], map(&a), 25),
            ("String/equals".into(), vec![("s1", Type::Str), ("s2", Type::Str)], u24.clone(), 10),
            ("u24/to_string".into(), vec![("n", u24)], Type::Str, 8),
            ("Math/sin".into(), vec![("a", f24.clone())], f24.clone(), 1),
            ("Math/atan2".into(), vec![("y", f24.clone()), ("x", f24.clone())], f24.clone(), 1),
            ("Math/floor".into(), vec![("n", f24.clone())], f24, 4),
        ];
        for (name, params, ret, cost) in known {
            let params = params.into_iter().map(|(name, ty)| Var { name: name.to_owned(), ty }).collect();
            self.functions.push(Function { name, params, ret, recursive: false, named: true, cost });
        }
    }

    /// `main` takes the value apart and puts it together again, because upstream prints what nobody looks into unevaluated.
    fn rebuilding_main(&mut self, ty: &Type) -> String {
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
            _ => unreachable!("other types are not printed"),
        }
    }

    // Functions.

    fn function(&mut self, name: String) -> String {
        let recursive = self.random.chance(40);
        self.functional = self.random.chance(40);
        self.vars = match self.random.below(5) {
            0 if self.is_free() => vec!["A"],
            1 if self.is_free() => vec!["A", "B"],
            _ => vec![],
        };
        let mut params: Vec<Var> =
            self.vars.clone().into_iter().map(|var| Var { name: self.fresh("p"), ty: Type::Var(var) }).collect();
        for _ in 0..self.random.below(4) {
            params.push(Var { name: self.fresh("p"), ty: self.any_type(2) });
        }
        let scope = params.clone();
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
        let notes = self.notes(params.len());
        let text = print_function(&name, &params, &ret, &body, self.functional, &notes);
        self.functions.push(Function { name, params, ret, recursive, named: true, cost });
        self.vars.clear();
        text
    }

    /// What is written of a function besides its code.
    fn notes(&mut self, params: usize) -> Notes {
        if self.limits.affine || !self.vars.is_empty() {
            return Notes::default();
        }
        let check = match self.random.below(10) {
            0 => "checked ",
            1 => "unchecked ",
            _ => "",
        };
        let is_annotated = check == "checked " || self.random.chance(92);
        let holes = (0..params).map(|_| self.random.chance(4)).collect();
        let any = (0..params).map(|_| self.random.chance(3)).collect();
        Notes { check, is_bare: !is_annotated, holes, any }
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
        let mut arguments = vec![word(format!("{}-1", counter.name))];
        for param in params {
            arguments.push(self.value(&mut scope, &param.ty, 1));
        }
        let result = Var { name: self.fresh("r"), ty: ret.clone() };
        scope.push(result.clone());
        let rest = self.body(scope, ret, depth - 1);
        let again = Body::Return(call(name, arguments));
        Body::Switch(
            Head { name: counter.name.clone(), value: None, with: vec![] },
            vec![zero, Body::Let(result.name, Box::new(again), Box::new(rest))],
        )
    }

    /// A function of rules.
    fn equations(&mut self, name: String) -> String {
        self.functional = true;
        let params: Vec<Type> = (0..1 + self.random.below(2)).map(|_| self.split_type()).collect();
        let ret = self.any_type(1);
        self.budget = BUDGET;
        let mut rules = vec![];
        for _ in 0..1 + self.random.below(3) {
            let mut scope = vec![];
            let patterns: Vec<Pattern> = params.iter().map(|ty| self.pattern(ty, 2, &mut scope)).collect();
            rules.push((patterns, self.value(&mut scope, &ret, 3)));
        }
        let mut scope: Vec<Var> = vec![];
        for ty in &params {
            scope.push(Var { name: self.fresh("p"), ty: ty.clone() });
        }
        let patterns = scope.iter().map(|var| Pattern::Var(var.name.clone())).collect();
        rules.push((patterns, self.value(&mut scope, &ret, 3)));
        let cost = 1 + BUDGET - self.budget;
        let vars: Vec<Var> = params.into_iter().map(|ty| Var { name: self.fresh("p"), ty }).collect();
        let as_arrow = self.random.chance(40);
        let text = print_equations(&name, &vars, &ret, &rules, as_arrow);
        self.functions.push(Function { name, params: vars, ret, recursive: false, named: false, cost });
        text
    }

    /// A type that patterns can look into.
    fn split_type(&mut self) -> Type {
        match self.random.below(6) {
            0 => Type::Num("u24"),
            1 => Type::Str,
            2 => Type::List(Box::new(self.any_type(1))),
            3 => Type::Tuple(vec![self.any_type(1), self.any_type(1)]),
            4 => Type::Maybe(Box::new(self.any_type(1))),
            _ => Type::Data(self.random.below(self.types.len())),
        }
    }

    /// A pattern of a rule. It need not match; the last rule always does.
    pub fn pattern(&mut self, ty: &Type, depth: usize, scope: &mut Vec<Var>) -> Pattern {
        let ctors = self.ctors(ty);
        let is_plain = depth == 0 || self.random.chance(25);
        match ty {
            _ if is_plain => self.variable(ty, scope),
            Type::Num("u24") if self.random.chance(60) => Pattern::Word(self.random.below(6).to_string()),
            Type::Num("u24") => Pattern::Word(format!("'{}'", self.random.pick(&['a', 'b', ' ']))),
            Type::Str if self.random.chance(60) => Pattern::Word(self.text()),
            Type::List(element) if self.random.chance(50) => {
                let length = self.random.below(3);
                Pattern::List((0..length).map(|_| self.pattern(element, depth - 1, scope)).collect())
            }
            Type::Tuple(parts) => {
                Pattern::Tuple(parts.iter().map(|part| self.pattern(part, depth - 1, scope)).collect())
            }
            _ if ctors.is_empty() => self.variable(ty, scope),
            _ => {
                let (name, fields) = self.random.pick(&ctors);
                let fields = fields.iter().map(|(_, field)| field.as_ref().unwrap_or(ty));
                Pattern::Ctor(name.clone(), fields.map(|field| self.pattern(field, depth - 1, scope)).collect())
            }
        }
    }

    fn variable(&mut self, ty: &Type, scope: &mut Vec<Var>) -> Pattern {
        if self.random.chance(20) {
            return Pattern::Wild;
        }
        let var = Var { name: self.fresh("q"), ty: ty.clone() };
        scope.push(var.clone());
        Pattern::Var(var.name)
    }
}

/// Whether `open` works on a type: it has one constructor.
pub fn opens(types: &[Data], ty: &Type) -> bool {
    matches!(ty, Type::Data(number) if types[*number].ctors.len() == 1)
}
