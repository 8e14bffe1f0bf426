//! Types of random programs.

use super::{Ctor, Maker};

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Num(&'static str),
    Str,
    None,
    Tuple(Vec<Type>),
    List(Box<Type>),
    Maybe(Box<Type>),
    Tree(Box<Type>),
    Map(Box<Type>),
    /// The monad that every program has.
    Try(Box<Type>),
    /// The data type of this number.
    Data(usize),
    Fun(Box<Type>, Box<Type>),
    /// A type variable.
    Var(&'static str),
}

/// How a data type is written.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Imperative,
    Functional,
    /// With one constructor, of the type's own name.
    Object,
}

/// A data type `D0`, `D1`, …; its first constructor is not recursive.
pub struct Data {
    pub form: Form,
    pub ctors: Vec<Vec<Option<Type>>>, // A field without a type is recursive.
}

impl Data {
    pub fn ctor_name(&self, number: usize, ctor: usize) -> String {
        match self.form {
            Form::Object => format!("D{number}"),
            Form::Imperative | Form::Functional => format!("D{number}/C{ctor}"),
        }
    }
}

/// A function of several parameters.
pub fn curried(params: &[Type], ret: Type) -> Type {
    params.iter().rev().fold(ret, |ret, param| Type::Fun(Box::new(param.clone()), Box::new(ret)))
}

/// What type variables stand for.
pub type Meanings = Vec<(&'static str, Type)>;

impl Type {
    /// Finds what the variables of this type have to be for it to be another one.
    pub fn matches(&self, wanted: &Type, meanings: &mut Meanings) -> bool {
        let mut all =
            |a: &[Type], b: &[Type]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.matches(b, meanings));
        match (self, wanted) {
            (Type::Var(name), _) => match meanings.iter().find(|(known, _)| known == name) {
                Some((_, meaning)) => meaning == wanted,
                None => {
                    meanings.push((name, wanted.clone()));
                    true
                }
            },
            (Type::Tuple(a), Type::Tuple(b)) => all(a, b),
            (Type::List(a), Type::List(b))
            | (Type::Maybe(a), Type::Maybe(b))
            | (Type::Tree(a), Type::Tree(b))
            | (Type::Map(a), Type::Map(b))
            | (Type::Try(a), Type::Try(b)) => a.matches(b, meanings),
            (Type::Fun(a, b), Type::Fun(c, d)) => a.matches(c, meanings) && b.matches(d, meanings),
            _ => self == wanted,
        }
    }

    /// The type with its variables replaced.
    pub fn meaning(&self, meanings: &Meanings) -> Type {
        let one = |ty: &Type| Box::new(ty.meaning(meanings));
        match self {
            Type::Var(name) => match meanings.iter().find(|(known, _)| known == name) {
                Some((_, meaning)) => meaning.clone(),
                None => self.clone(),
            },
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(|part| part.meaning(meanings)).collect()),
            Type::List(a) => Type::List(one(a)),
            Type::Maybe(a) => Type::Maybe(one(a)),
            Type::Tree(a) => Type::Tree(one(a)),
            Type::Map(a) => Type::Map(one(a)),
            Type::Try(a) => Type::Try(one(a)),
            Type::Fun(a, b) => Type::Fun(one(a), one(b)),
            Type::Num(_) | Type::Str | Type::None | Type::Data(_) => self.clone(),
        }
    }

    /// The variables in the type.
    pub fn vars(&self, found: &mut Vec<&'static str>) {
        match self {
            Type::Var(name) => found.push(name),
            Type::Tuple(parts) => parts.iter().for_each(|part| part.vars(found)),
            Type::List(a) | Type::Maybe(a) | Type::Tree(a) | Type::Map(a) | Type::Try(a) => a.vars(found),
            Type::Fun(a, b) => {
                a.vars(found);
                b.vars(found);
            }
            Type::Num(_) | Type::Str | Type::None | Type::Data(_) => {}
        }
    }
}

impl Maker {
    pub fn number_type(&mut self) -> Type {
        let kinds: &[&str] = if self.limits.affine {
            &["u24", "u24", "i24", "f24"]
        } else {
            &["u24", "u24", "i24", "f24", "u32", "i32", "f32"]
        };
        let kind: &&str = self.random.pick(kinds);
        Type::Num(kind)
    }

    /// A type whose values print the same everywhere.
    pub fn printable_type(&mut self, depth: usize) -> Type {
        match self.random.below(if depth == 0 { 2 } else { 5 }) {
            3 => Type::List(Box::new(self.number_type())),
            4 => Type::Tuple((0..2 + self.random.below(2)).map(|_| self.printable_type(depth - 1)).collect()),
            _ => self.number_type(),
        }
    }

    pub fn any_type(&mut self, depth: usize) -> Type {
        if self.limits.affine {
            return match self.random.below(if depth == 0 { 4 } else { 9 }) {
                3 if !self.types.is_empty() => Type::Data(self.random.below(self.types.len())),
                4 => Type::List(Box::new(self.any_type(depth - 1))),
                5 => Type::Tuple((0..2 + self.random.below(2)).map(|_| self.any_type(depth - 1)).collect()),
                6 => Type::Maybe(Box::new(self.any_type(depth - 1))),
                _ => self.number_type(),
            };
        }
        match self.random.below(if depth == 0 { 7 } else { 18 }) {
            0..=2 => self.number_type(),
            3 | 4 if !self.types.is_empty() => Type::Data(self.random.below(self.types.len())),
            5 => {
                if self.random.chance(75) {
                    Type::Str
                } else {
                    Type::None
                }
            }
            6 if !self.vars.is_empty() => {
                let var: &&str = self.random.pick(&self.vars);
                Type::Var(var)
            }
            7 | 8 => Type::List(Box::new(self.any_type(depth - 1))),
            9 | 10 => Type::Tuple((0..2 + self.random.below(2)).map(|_| self.any_type(depth - 1)).collect()),
            11 => Type::Maybe(Box::new(self.any_type(depth - 1))),
            12 => Type::Tree(Box::new(self.any_type(depth - 1))),
            13 => Type::Map(Box::new(self.any_type(depth - 1))),
            14 => Type::Try(Box::new(self.any_type(depth - 1))),
            15..=17 => Type::Fun(Box::new(self.any_type(depth - 1)), Box::new(self.any_type(depth - 1))),
            _ => self.number_type(),
        }
    }

    pub fn data(&mut self) -> Data {
        let form = match self.random.below(4) {
            0 if self.is_free() => Form::Object,
            1 if self.is_free() => Form::Functional,
            _ => Form::Imperative,
        };
        let count = if form == Form::Object { 1 } else { 1 + self.random.below(3) };
        let ctors = (0..count).map(|ctor| {
            let fields = (0..self.random.below(4)).map(|_| {
                let recursive = ctor > 0 && self.random.chance(40);
                if recursive { None } else { Some(self.any_type(1)) }
            });
            fields.collect()
        });
        Data { form, ctors: ctors.collect() }
    }

    /// Constructors of a type.
    pub fn ctors(&self, ty: &Type) -> Vec<Ctor> {
        let field = |name: &str, ty: Option<Type>| (name.to_owned(), ty);
        let ctor = |name: &str, fields| (name.to_owned(), fields);
        match ty {
            Type::List(element) => vec![
                ctor("List/Nil", vec![]),
                ctor("List/Cons", vec![field("head", Some((**element).clone())), field("tail", None)]),
            ],
            Type::Str => vec![
                ctor("String/Nil", vec![]),
                ctor("String/Cons", vec![field("head", Some(Type::Num("u24"))), field("tail", None)]),
            ],
            Type::Maybe(value) => {
                vec![ctor("Maybe/Some", vec![field("value", Some((**value).clone()))]), ctor("Maybe/None", vec![])]
            }
            Type::Tree(value) => vec![
                ctor("Tree/Leaf", vec![field("value", Some((**value).clone()))]),
                ctor("Tree/Node", vec![field("left", None), field("right", None)]),
            ],
            Type::Try(value) => vec![
                ctor("Try/Good", vec![field("val", Some((**value).clone()))]),
                ctor("Try/Bad", vec![field("why", Some(Type::Num("u24")))]),
            ],
            Type::Data(number) => {
                let data = &self.types[*number];
                let named = |(i, fields): (usize, &Vec<Option<Type>>)| {
                    let fields = fields.iter().enumerate().map(|(i, ty)| (format!("y{i}"), ty.clone()));
                    (data.ctor_name(*number, i), fields.collect())
                };
                data.ctors.iter().enumerate().map(named).collect()
            }
            Type::Num(_) | Type::None | Type::Tuple(_) | Type::Map(_) | Type::Fun(..) | Type::Var(_) => vec![],
        }
    }
}
