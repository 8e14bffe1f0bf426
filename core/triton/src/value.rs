//! What an expression of a kernel can be: things that are known when it is compiled, and values of the device.

use super::builtins::Builtin;
use super::classes::{Class, Partial};
use super::pointer::{BlockPointer, Pointer, Role};
use super::source::FileId;
use crate::python::ast::{Expr, FunctionDef, Parameters};
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_ir::{Scalar, Shape, Type, ValueId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A value. Those up to [`Value::Library`] are known when the kernel is compiled.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// An integer of any size.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text.
    Str(Arc<str>),
    /// A type.
    Dtype(Dtype),
    /// A tuple or a list.
    Tuple(Vec<Value>),
    /// An object of a class with fields: what they hold, in order.
    Named(Arc<Class>, Vec<Value>),
    /// A class.
    Class(Arc<Class>),
    /// A function with its first arguments.
    Partial(Arc<Partial>, Vec<Value>),
    /// A dictionary, in the order in which it was written.
    Dict(Vec<(Value, Value)>),
    /// Something of the host's with named parts.
    Record(Arc<Record>),
    /// `a:b:c` between brackets.
    Slice(Box<[Value; 3]>),
    /// A function of a file.
    Function(Arc<Function>),
    /// `lambda`, with the variables around it.
    Lambda(Arc<Lambda>),
    /// An operation of `triton.language`; with its first argument, if it is a method.
    Builtin(&'static Builtin, Option<Box<Value>>),
    /// A module, by its path: `triton.language`.
    Library(String),
    /// A name that could not be given a meaning, and why; an error where it is used.
    Unknown(Arc<str>),
    /// A number of the device, or a tile of them.
    Tensor(Tensor),
    /// A pointer, or a tile of pointers into one buffer.
    Pointer(Pointer),
    /// A pointer to a block of a matrix, or a descriptor of one.
    Block(Box<BlockPointer>),
}

/// Something of the host's with named parts: a configuration, the target.
#[derive(Debug)]
pub(super) struct Record {
    /// What it is, for messages.
    pub what: &'static str,
    /// Its parts.
    pub fields: Vec<(&'static str, Value)>,
}

impl Record {
    /// The part of a name.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

/// A number or a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tensor {
    /// The value in the function that is being written.
    pub value: ValueId,
    /// Its type.
    pub ty: Type,
}

impl Tensor {
    pub(super) fn element(self) -> Scalar {
        self.ty.element().unwrap_or(Scalar::I32)
    }
    pub(super) fn shape(self) -> Option<Shape> {
        self.ty.shape()
    }
}

/// A type as kernels speak of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dtype {
    /// The scalar; what is pointed at, for a pointer.
    pub scalar: Scalar,
    /// Whether it is a pointer.
    pub pointer: bool,
    /// The shape of a tile's type.
    pub shape: Option<Shape>,
}

impl Dtype {
    pub(super) const fn of(scalar: Scalar) -> Dtype {
        Dtype { scalar, pointer: false, shape: None }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = scalar_name(self.scalar);
        let name = if self.pointer { format!("pointer<{name}>") } else { name.to_owned() };
        match self.shape {
            Some(shape) => write!(f, "<[{}], {name}>", lengths(shape)),
            None => write!(f, "{name}"),
        }
    }
}

pub(super) fn lengths(shape: Shape) -> String {
    shape.lengths().map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

/// Triton's names of scalars.
const SCALARS: &[(&str, &str, Scalar)] = &[
    ("int1", "i1", Scalar::Bool),
    ("int8", "i8", Scalar::I8),
    ("int16", "i16", Scalar::I16),
    ("int32", "i32", Scalar::I32),
    ("int64", "i64", Scalar::I64),
    ("uint8", "u8", Scalar::U8),
    ("uint16", "u16", Scalar::U16),
    ("uint32", "u32", Scalar::U32),
    ("uint64", "u64", Scalar::U64),
    ("float8e4nv", "fp8e4nv", Scalar::F8E4M3),
    ("float8e5", "fp8e5", Scalar::F8E5M2),
    ("float16", "fp16", Scalar::F16),
    ("bfloat16", "bf16", Scalar::Bf16),
    ("float32", "fp32", Scalar::F32),
    ("float64", "fp64", Scalar::F64),
];

/// The scalar that `tl.name` is.
pub(super) fn scalar_of_name(name: &str) -> Option<Scalar> {
    let name = if name == "bool" { "int1" } else { name };
    SCALARS.iter().find(|(long, _, _)| *long == name).map(|row| row.2)
}

/// The scalar of one of Triton's names: `fp16`, `float16` or `tl.float16`.
pub fn scalar_named(name: &str) -> Option<Scalar> {
    let name = name.trim_start_matches("tl.");
    let short = || SCALARS.iter().find(|(_, short, _)| *short == name).map(|row| row.2);
    scalar_of_name(name).or_else(short)
}

/// A scalar's short name, as messages and `str(dtype)` have it.
pub(super) fn scalar_name(scalar: Scalar) -> &'static str {
    SCALARS.iter().find(|row| row.2 == scalar).map_or("?", |row| row.1)
}

/// A scalar's name as kernels write it behind `tl.`.
pub(super) fn long_name(scalar: Scalar) -> &'static str {
    SCALARS.iter().find(|row| row.2 == scalar).map_or("?", |row| row.0)
}

/// A function that is written in a file.
#[derive(Debug)]
pub(super) struct Function {
    pub file: FileId,
    pub def: Arc<FunctionDef>,
    /// Whether it is compiled for the device; others are run when a kernel is compiled.
    pub jit: bool,
    /// What stands around it, if it is defined in another function.
    pub scope: HashMap<String, Value>,
}

/// A lambda.
#[derive(Debug)]
pub(super) struct Lambda {
    pub file: FileId,
    pub parameters: Arc<Parameters>,
    pub body: Arc<Expr>,
    pub scope: HashMap<String, Value>,
}

impl Value {
    /// A text.
    pub(super) fn text(text: &str) -> Value {
        Value::Str(Arc::from(text))
    }

    /// The elements of a tuple, a list or an object with fields.
    pub(super) fn elements(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(items) | Value::Named(_, items) => Some(items),
            _no_tuple => None,
        }
    }

    /// The same with other elements, if it has any.
    pub(super) fn with_elements(&self, items: Vec<Value>) -> Value {
        match self {
            Value::Named(class, _) => Value::Named(class.clone(), items),
            Value::Partial(partial, _) => Value::Partial(partial.clone(), items),
            _tuple => Value::Tuple(items),
        }
    }

    /// Whether it is known when the kernel is compiled.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Value::Tensor(_) | Value::Pointer(_) | Value::Block(_) => false,
            Value::Tuple(items) | Value::Named(_, items) | Value::Partial(_, items) => {
                items.iter().all(Value::is_constant)
            }
            Value::Class(_)
            | Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::Dtype(_)
            | Value::Dict(_)
            | Value::Record(_)
            | Value::Slice(_)
            | Value::Function(_)
            | Value::Lambda(_)
            | Value::Builtin(..)
            | Value::Library(_)
            | Value::Unknown(_) => true,
        }
    }

    /// What it is, for messages.
    pub(super) fn kind(&self) -> String {
        match self {
            Value::None => "`None`".into(),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => format!("the constant {self}"),
            Value::Dtype(ty) => format!("the type `{ty}`"),
            Value::Tuple(items) => format!("a tuple of {}", counted(items.len(), "element")),
            Value::Named(class, _) => format!("an object of the class `{}`", class.name),
            Value::Class(class) => format!("the class `{}`", class.name),
            Value::Partial(partial, _) => partial.callee.kind(),
            Value::Dict(_) => "a dictionary".into(),
            Value::Record(record) => record.what.into(),
            Value::Slice(_) => "a slice".into(),
            Value::Function(f) => format!("the function `{}`", f.def.name.name),
            Value::Lambda(_) => "a lambda".into(),
            Value::Builtin(b, _) => format!("the operation `{}`", b.name),
            Value::Library(path) => format!("the module `{path}`"),
            Value::Unknown(why) => format!("a name without a meaning ({why})"),
            Value::Tensor(t) => format!("`{}`", self.dtype().unwrap_or(Dtype::of(t.element()))),
            Value::Pointer(p) => match p.role {
                Role::Elements => format!("`{}`", p.dtype()),
                Role::Address => format!("an address (`{}`)", p.dtype()),
                Role::Table => "a table of addresses".into(),
            },
            Value::Block(b) => format!("a block pointer of `{}`", scalar_name(b.base.pointee)),
        }
    }

    /// What such a value is good for, as a hint where another kind is needed.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Value::None => "`None` is what an argument is that was left out: `if x is not None:` asks for that",
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                "this number is known when the kernel is compiled; `tl.full(shape, x, dtype)` makes a tile of it"
            }
            Value::Str(_) => {
                "text is known to the compiler only: it chooses between options, and the device computes with numbers"
            }
            Value::Dtype(_) => "a type converts: `x.to(tl.float32)`",
            Value::Tuple(_) => "take an element out of it: `x[0]`, or `a, b = x`",
            Value::Named(..) => "take a field out of it: `x.name`",
            Value::Class(_) => "name one of its members, as in `Mode.FAST`, or make an object of it",
            Value::Dict(_) => "take a value out of it: `x[\"key\"]`",
            Value::Record(_) => "take one of its attributes: `x.name`",
            Value::Slice(_) => "a slice stands in brackets: `x[:, None]`",
            Value::Function(_) | Value::Lambda(_) | Value::Partial(..) => "call it, with its arguments in parentheses",
            Value::Builtin(..) => "call it, with its arguments in parentheses, as in `tl.sum(x, axis=0)`",
            Value::Library(_) => "name something of the module, as in `tl.load`",
            Value::Unknown(_) => "what a kernel uses of Python's names are constants, functions and types",
            Value::Tensor(t) if t.shape().is_some() => {
                "this is a whole tile: `tl.sum` and `tl.max` make one number of it, `tl.where` chooses element by element"
            }
            Value::Tensor(_) => {
                "this number is known only when the kernel runs: a `tl.constexpr` is known when it is compiled"
            }
            Value::Pointer(_) => "`tl.load(p)` reads what a pointer points at",
            Value::Block(_) => "`tl.load(block)` reads what a block pointer points at",
        }
    }

    /// The type of a value of the device.
    pub(super) fn dtype(&self) -> Option<Dtype> {
        match self {
            Value::Tensor(t) => Some(Dtype { scalar: t.element(), pointer: false, shape: t.shape() }),
            Value::Pointer(p) => Some(p.dtype()),
            Value::Block(b) => Some(Dtype { scalar: b.base.pointee, pointer: true, shape: None }),
            _known_when_compiled => None,
        }
    }

    /// Whether a constant counts as true.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Value::None => Some(false),
            Value::Bool(b) => Some(*b),
            Value::Int(n) => Some(*n != 0),
            Value::Float(x) => Some(*x != 0.0),
            Value::Str(s) => Some(!s.is_empty()),
            Value::Tuple(items) => Some(!items.is_empty()),
            Value::Dict(items) => Some(!items.is_empty()),
            Value::Named(_, items) => Some(!items.is_empty()),
            Value::Class(_)
            | Value::Partial(..)
            | Value::Dtype(_)
            | Value::Record(_)
            | Value::Function(_)
            | Value::Lambda(_)
            | Value::Builtin(..)
            | Value::Library(_) => Some(true),
            Value::Slice(_) | Value::Unknown(_) | Value::Tensor(_) | Value::Pointer(_) | Value::Block(_) => None,
        }
    }

    /// Whether two constants are equal, as Python has it; none if that cannot be said.
    pub(super) fn equals(&self, other: &Value) -> Option<bool> {
        let number = |v: &Value| match v {
            Value::Bool(b) => Some(f64::from(u8::from(*b))),
            Value::Int(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            _no_number => None,
        };
        Some(match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Dtype(a), Value::Dtype(b)) => a == b,
            (Value::Tuple(a) | Value::Named(_, a), Value::Tuple(b) | Value::Named(_, b)) => {
                let mut same = a.len() == b.len();
                for (a, b) in a.iter().zip(b) {
                    same &= a.equals(b)?;
                }
                same
            }
            (Value::Library(a), Value::Library(b)) => a == b,
            (Value::Record(a), Value::Record(b)) => Arc::ptr_eq(a, b),
            (Value::Class(a), Value::Class(b)) => Arc::ptr_eq(a, b),
            (Value::Function(a), Value::Function(b)) => Arc::ptr_eq(&a.def, &b.def),
            (a, b) if !a.is_constant() || !b.is_constant() => return None,
            (a, b) => match (number(a), number(b)) {
                (Some(a), Some(b)) => a == b,
                (None, None) => matches!((a, b), (Value::None, Value::None)),
                (_, _) => false,
            },
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => write!(f, "None"),
            Value::Bool(true) => write!(f, "True"),
            Value::Bool(false) => write!(f, "False"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Str(s) => write!(f, "{s}"),
            Value::Dtype(ty) => write!(f, "{ty}"),
            Value::Tuple(items) => {
                write!(f, "({})", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Value::Named(class, items) => {
                let fields = class.fields.iter().zip(items).map(|((name, _), item)| format!("{name}={item}"));
                write!(f, "{}({})", class.name, fields.collect::<Vec<_>>().join(", "))
            }
            Value::Record(record) if record.field("__class__").is_some() => {
                let part = |name| record.field(name).map_or(String::new(), ToString::to_string);
                write!(f, "{}.{}", part("__class__"), part("name"))
            }
            other => write!(f, "{}", other.kind()),
        }
    }
}

/// A value and the place of the expression that gave it.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub value: Value,
    pub span: Span,
}
