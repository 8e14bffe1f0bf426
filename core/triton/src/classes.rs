//! Classes of a file: named tuples and data classes, enumerations, and classes that hold constants and functions.
//!
//! Invariant: a class is read once, when its name is used. An object of one is a tuple whose elements have names, so kernels carry it through branches, loops and calls
//! as they carry tuples.

use super::body::{Body, Made};
use super::source::FileId;
use super::value::{Function, Placed, Record, Value};
use crate::python::ast::{ClassDef, Expr, ExprKind, Ident, Stmt, StmtKind};
use girih_base::diag::{Code, did_you_mean};
use girih_base::span::Span;
use std::sync::Arc;

/// A class.
#[derive(Debug)]
pub(super) struct Class {
    pub name: String,
    pub kind: Kind,
    /// Whether the values that it chooses are bits.
    flags: bool,
    /// What its statements give names to: constants and functions.
    members: Vec<(String, Value)>,
    /// What objects of it hold, with defaults.
    pub fields: Vec<(String, Option<Value>)>,
}

/// What a class is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It holds constants and functions; there are no objects of it.
    Constants,
    /// Its objects have fields.
    Fields,
    /// Its members are records with a name and a value.
    Members,
    /// Its members are their values.
    Values,
}

/// A function with its first arguments: a method, or what `functools.partial` gives.
#[derive(Debug)]
pub(super) struct Partial {
    pub callee: Value,
    pub named: Vec<(String, Value)>,
}

/// What stands for a value that an enumeration chooses.
pub(super) const AUTO: &str = "enum.auto";

impl Class {
    /// A class whose objects have these fields.
    pub(super) fn of_fields(name: &str, fields: Vec<(String, Option<Value>)>) -> Class {
        Class { name: name.to_owned(), kind: Kind::Fields, flags: false, members: vec![], fields }
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.members.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// The members of an enumeration, in order.
    pub(super) fn enumerated(&self) -> Option<Vec<Value>> {
        let is_enumeration = matches!(self.kind, Kind::Members | Kind::Values);
        let all = || self.members.iter().map(|(_, value)| value.clone());
        is_enumeration.then(|| all().filter(|value| !matches!(value, Value::Function(_))).collect())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str()).chain(self.fields.iter().map(|(name, _)| name.as_str()))
    }
}

impl Body<'_, '_> {
    /// Reads a class that stands there.
    pub(super) fn class(&mut self, (file, at): (FileId, u32), def: &ClassDef) -> Value {
        let mut body = Body::new(&mut *self.module, file, girih_ir::Function::new("class", def.name.span));
        (body.host, body.now) = (true, (file, at));
        Value::Class(Arc::new(body.read_class(def)))
    }

    fn read_class(&mut self, def: &ClassDef) -> Class {
        let mut class =
            Class { name: def.name.name.clone(), kind: Kind::Constants, flags: false, members: vec![], fields: vec![] };
        for base in &def.bases {
            let value = self.expr(&base.value).unwrap_or(Value::None);
            class.inherit(&value);
        }
        if def.decorators.iter().any(is_data_class) {
            class.kind = Kind::Fields;
        }
        for statement in &def.body {
            self.read_member(&mut class, statement);
        }
        if let Some(Value::Function(init)) = class.member("__init__").cloned()
            && matches!(class.kind, Kind::Constants | Kind::Fields)
        {
            class.kind = Kind::Fields;
            let this = init.def.parameters.list.first().map_or("self", |p| p.name.name.as_str());
            let mut names = vec![];
            own_fields(&init.def.body, this, &mut names);
            for name in names {
                if class.fields.iter().all(|(own, _)| *own != name) {
                    class.fields.push((name, None));
                }
            }
        }
        class
    }

    fn read_member(&mut self, class: &mut Class, statement: &Stmt) {
        let bind = |body: &mut Self, class: &mut Class, target: &Expr, value: Value| {
            if let ExprKind::Name(name) = &target.kind {
                let value = class.enumerator(name, value);
                body.scope.insert(name.clone(), value.clone());
                class.members.push((name.clone(), value));
            }
        };
        match &statement.kind {
            StmtKind::Assign(targets, value) => {
                let value = self.known_or_why(value);
                targets.iter().for_each(|target| bind(self, class, target, value.clone()));
            }
            StmtKind::Annotated(target, _, value) => {
                let value = value.as_ref().map(|value| self.known_or_why(value));
                if class.kind != Kind::Fields {
                    return value.into_iter().for_each(|value| bind(self, class, target, value));
                }
                if let ExprKind::Name(name) = &target.kind {
                    class.fields.retain(|(own, _)| own != name);
                    class.fields.push((name.clone(), value));
                }
            }
            StmtKind::Function(function) => {
                let jit = function.decorators.iter().any(super::kernel::is_jit);
                let own = Function { file: self.file, def: function.clone(), jit, scope: Default::default() };
                class.members.push((function.name.name.clone(), Value::Function(Arc::new(own))));
            }
            // What else stands in a class gives no name that a kernel uses.
            StmtKind::Expr(_)
            | StmtKind::Augmented(..)
            | StmtKind::If(..)
            | StmtKind::For(..)
            | StmtKind::While(..)
            | StmtKind::Class(_)
            | StmtKind::Return(_)
            | StmtKind::Pass
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Import(_)
            | StmtKind::ImportFrom(..)
            | StmtKind::Assert(..)
            | StmtKind::With(..)
            | StmtKind::Try(..)
            | StmtKind::Global(_)
            | StmtKind::Other(_) => {}
        }
    }

    fn known_or_why(&mut self, e: &Expr) -> Value {
        self.expr(e).unwrap_or_else(|error| Value::Unknown(error.message.into()))
    }

    /// An object of a class; a member of an enumeration by its value.
    pub(super) fn object(
        &mut self,
        class: &Arc<Class>,
        positional: Vec<Placed>,
        mut named: Vec<(String, Placed)>,
        span: Span,
    ) -> Made<Value> {
        match class.kind {
            Kind::Fields => {}
            Kind::Members | Kind::Values => return self.enumerator_of(class, &positional, span),
            Kind::Constants => {
                let message = format!("a kernel makes no objects of `{}`, a class that holds constants", class.name);
                let hint = "a class under `NamedTuple` or `@dataclass` has objects: `class Pair(NamedTuple):`";
                return self.fail(Code::KernelSyntax, span, message, hint);
            }
        }
        if let Some(Value::Function(init)) = class.member("__init__").cloned() {
            return self.initialised(class, &init, (positional, named), span);
        }
        if class.member("__post_init__").is_some() {
            let message = format!("`{}` has a `__post_init__`, which is not run here", class.name);
            return self.fail(Code::KernelSyntax, span, message, "compute the fields where the object is made");
        }
        let mut given = positional.into_iter();
        let mut items = vec![];
        for (name, default) in &class.fields {
            let by_name = named.iter().position(|(n, _)| n == name).map(|at| named.remove(at).1);
            let placed = by_name.or_else(|| given.next()).map(|placed| placed.value);
            match placed.or_else(|| default.clone()) {
                Some(value) => items.push(value),
                None => {
                    let message = format!("`{}` is missing its field `{name}`", class.name);
                    return self.fail(Code::KernelArgument, span, message, "");
                }
            }
        }
        if let Some(extra) = given.next() {
            let message = format!("`{}` has {} fields, but more are given", class.name, class.fields.len());
            return self.fail(Code::KernelArgument, extra.span, message, "");
        }
        if let Some((name, placed)) = named.first() {
            let message = format!("`{}` has no field `{name}`", class.name);
            let hint = did_you_mean(name, class.fields.iter().map(|(name, _)| name.as_str()));
            let hint = hint.map_or(String::new(), |near| format!("did you mean `{near}`?"));
            return self.fail(Code::KernelArgument, self.named_place(name, placed.span), message, &hint);
        }
        Ok(Value::Named(class.clone(), items))
    }

    /// An object whose `__init__` gives its fields their values.
    fn initialised(
        &mut self,
        class: &Arc<Class>,
        init: &Arc<Function>,
        (mut positional, named): (Vec<Placed>, Vec<(String, Placed)>),
        span: Span,
    ) -> Made<Value> {
        self.deeper(&class.name, span)?;
        let this = Value::Named(class.clone(), vec![Value::None; class.fields.len()]);
        positional.insert(0, Placed { value: this, span });
        let outer_file = std::mem::replace(&mut self.file, init.file);
        let what = format!("`{}`", class.name);
        let made = self.bind_parameters(&what, &init.def.parameters, (positional, named), span).and_then(|bound| {
            let this = bound.first().map_or(String::new(), |(name, _)| name.clone());
            let scope = bound.into_iter().map(|(name, placed)| (name, placed.value)).collect();
            let outer = std::mem::replace(&mut self.scope, scope);
            let run = self.initialise(&init.def.body, &this, class);
            let scope = std::mem::replace(&mut self.scope, outer);
            run.map(|()| scope.get(&this).cloned().unwrap_or(Value::None))
        });
        self.file = outer_file;
        self.module.depth -= 1;
        made
    }

    /// The statements of an `__init__`: what they assign are fields and variables of their own.
    fn initialise(&mut self, list: &[Stmt], this: &str, class: &Class) -> Made<()> {
        for statement in list {
            match &statement.kind {
                StmtKind::Assign(targets, value) => {
                    let value = self.expr(value)?;
                    for target in targets {
                        self.set_field(target, value.clone(), this, class)?;
                    }
                }
                StmtKind::Annotated(target, _, Some(value)) => {
                    let value = self.expr(value)?;
                    self.set_field(target, value, this, class)?;
                }
                StmtKind::If(condition, then, otherwise) => {
                    let value = self.expr(condition)?;
                    let holds = self.constant_bool(&value, "this condition", condition.span)?;
                    self.initialise(if holds { then } else { otherwise }, this, class)?;
                }
                StmtKind::Assert(condition, _) => {
                    let value = self.expr(condition)?;
                    if !self.constant_bool(&value, "this condition", condition.span)? {
                        let message = "an assertion of `__init__` fails";
                        return self.fail(Code::KernelAssert, statement.span, message, "");
                    }
                }
                StmtKind::Expr(Expr { kind: ExprKind::Str(_) | ExprKind::Ellipsis, .. }) | StmtKind::Pass => {}
                _others => {
                    let message = "an `__init__` gives fields their values, and does nothing else";
                    return self.fail(Code::KernelSyntax, statement.span, message, "write `self.name = value`");
                }
            }
        }
        Ok(())
    }

    fn set_field(&mut self, target: &Expr, value: Value, this: &str, class: &Class) -> Made<()> {
        let field = field_of(target, this).and_then(|name| class.fields.iter().position(|(own, _)| own == name));
        match (field, self.scope.get_mut(this)) {
            (Some(at), Some(Value::Named(_, items))) => {
                items[at] = value;
                Ok(())
            }
            (_, _) => self.assign(target, value),
        }
    }

    fn enumerator_of(&mut self, class: &Class, given: &[Placed], span: Span) -> Made<Value> {
        let [placed] = given else {
            return self.fail(Code::KernelArgument, span, format!("`{}` takes the value of a member", class.name), "");
        };
        let is_it = |member: &Value| {
            let value = match member {
                Value::Record(record) => record.field("value").unwrap_or(member),
                own => own,
            };
            value.equals(&placed.value) == Some(true) || member.equals(&placed.value) == Some(true)
        };
        match class.enumerated().unwrap_or_default().into_iter().find(is_it) {
            Some(member) => Ok(member),
            None => {
                let message = format!("`{}` has no member of the value {}", class.name, placed.value);
                self.fail(Code::KernelArgument, placed.span, message, "")
            }
        }
    }

    /// An attribute of a class.
    pub(super) fn class_attribute(&mut self, class: &Arc<Class>, name: &Ident) -> Made<Value> {
        match class.member(&name.name) {
            Some(Value::Unknown(why)) => {
                let message = format!("`{}.{}` has no meaning in a kernel: {why}", class.name, name.name);
                self.fail(Code::KernelName, name.span, message, "")
            }
            Some(value) => Ok(value.clone()),
            None => match &*name.name {
                "__name__" => Ok(Value::text(&class.name)),
                "_fields" => Ok(Value::Tuple(class.fields.iter().map(|(name, _)| Value::text(name)).collect())),
                _none => self.no_member(class, name),
            },
        }
    }

    fn no_member<T>(&self, class: &Class, name: &Ident) -> Made<T> {
        let hint = did_you_mean(&name.name, class.names());
        let hint = hint.map_or(String::new(), |near| format!("did you mean `{near}`?"));
        self.fail(Code::KernelName, name.span, format!("`{}` has no `{}`", class.name, name.name), &hint)
    }

    /// An attribute of an object: a field, a constant of its class, or a method.
    pub(super) fn object_attribute(&mut self, class: &Arc<Class>, items: &[Value], name: &Ident) -> Made<Value> {
        let field = class.fields.iter().position(|(field, _)| *field == name.name);
        if let Some(item) = field.and_then(|at| items.get(at)) {
            return Ok(item.clone());
        }
        let this = Value::Named(class.clone(), items.to_vec());
        let method = |callee: Value, named| Ok(Value::Partial(Arc::new(Partial { callee, named }), vec![this.clone()]));
        match (&*name.name, class.member(&name.name)) {
            (_, Some(Value::Function(function))) => {
                let decorated = |what: &str| function.def.decorators.iter().any(|d| is_named(d, what));
                let callee = Value::Function(function.clone());
                if decorated("staticmethod") {
                    return Ok(callee);
                }
                if decorated("property") {
                    return self.call_value(&callee, vec![this.clone()], name.span);
                }
                method(callee, vec![])
            }
            ("_replace", None) => match super::builtins::find("_replace") {
                Some(row) => method(Value::Builtin(row, None), vec![]),
                None => self.no_member(class, name),
            },
            ("_asdict", None) => {
                let pairs = class.fields.iter().zip(items).map(|((name, _), item)| (Value::text(name), item.clone()));
                Ok(Value::Partial(
                    Arc::new(Partial {
                        callee: super::builtins::find("dict").map_or(Value::None, |row| Value::Builtin(row, None)),
                        named: vec![],
                    }),
                    vec![Value::Dict(pairs.collect())],
                ))
            }
            (_, Some(_)) => self.class_attribute(class, name),
            (_, None) => self.no_member(class, name),
        }
    }

    /// The place of a named argument, from its name on.
    pub(super) fn named_place(&self, name: &str, value: Span) -> Span {
        let before = self.module.files.sources.get(value.source).and_then(|s| s.text.get(..value.start as usize));
        let before = before.and_then(|text| text.trim_end().strip_suffix('='));
        match before.and_then(|text| text.trim_end().strip_suffix(name)) {
            Some(rest) => Span { start: rest.len() as u32, ..value },
            None => value,
        }
    }
}

impl Class {
    /// What a class has from one that it is made of.
    fn inherit(&mut self, base: &Value) {
        match base {
            Value::Class(class) => {
                (self.kind, self.flags) = (class.kind, class.flags);
                self.members.extend(class.members.iter().cloned());
                self.fields.extend(class.fields.iter().cloned());
            }
            Value::Library(path) => match path.as_str() {
                "enum.Flag" | "enum.IntFlag" => {
                    self.flags = true;
                    self.kind = if path == "enum.Flag" { Kind::Members } else { Kind::Values };
                }
                "typing.NamedTuple" => self.kind = Kind::Fields,
                "enum.Enum" if self.kind != Kind::Values => self.kind = Kind::Members,
                "enum.IntEnum" | "enum.StrEnum" => self.kind = Kind::Values,
                _other => {}
            },
            // `class A(int, Enum)`: its members are numbers.
            Value::Builtin(row, None) if matches!(row.name, "int" | "str" | "float") => self.kind = Kind::Values,
            _other => {}
        }
    }

    /// What a name of an enumeration stands for.
    fn enumerator(&self, name: &str, value: Value) -> Value {
        let is_enumeration = matches!(self.kind, Kind::Members | Kind::Values) && !name.starts_with('_');
        if !is_enumeration || matches!(value, Value::Unknown(_)) {
            return value;
        }
        let value = match &value {
            Value::Library(path) if path == AUTO => {
                let number = |member: &Value| match member {
                    Value::Int(n) => Some(*n),
                    Value::Record(record) => match record.field("value") {
                        Some(Value::Int(n)) => Some(*n),
                        _other => None,
                    },
                    _other => None,
                };
                let last = self.members.iter().filter_map(|(_, member)| number(member)).max().unwrap_or(0);
                // The next bit above all that there are.
                let bit = || 1i128.checked_shl(i128::BITS - last.leading_zeros()).unwrap_or(0);
                Value::Int(if self.flags { bit() } else { last + 1 })
            }
            _given => value,
        };
        if self.kind == Kind::Values {
            return value;
        }
        let fields = vec![("name", Value::text(name)), ("value", value), ("__class__", Value::text(&self.name))];
        Value::Record(Arc::new(Record { what: "a member of an enumeration", fields }))
    }
}

/// The name behind `self.`, if a target is that.
fn field_of<'e>(target: &'e Expr, this: &str) -> Option<&'e str> {
    match &target.kind {
        ExprKind::Attribute(of, name) if matches!(&of.kind, ExprKind::Name(own) if own == this) => Some(&name.name),
        _others => None,
    }
}

/// The fields that an `__init__` assigns, in order.
fn own_fields(list: &[Stmt], this: &str, out: &mut Vec<String>) {
    for statement in list {
        match &statement.kind {
            StmtKind::Assign(targets, _) => {
                out.extend(targets.iter().filter_map(|target| field_of(target, this)).map(str::to_owned));
            }
            StmtKind::Annotated(target, ..) => out.extend(field_of(target, this).map(str::to_owned)),
            StmtKind::If(_, a, b) => {
                own_fields(a, this, out);
                own_fields(b, this, out);
            }
            _others => {}
        }
    }
}

/// Whether a decorator is called so, in whatever way it is written.
fn is_named(decorator: &Expr, what: &str) -> bool {
    match &decorator.kind {
        ExprKind::Name(name) => name == what,
        ExprKind::Attribute(_, name) => name.name == what,
        ExprKind::Call(callee, _) => is_named(callee, what),
        _others => false,
    }
}

fn is_data_class(decorator: &Expr) -> bool {
    ["dataclass", "aggregate", "_aggregate"].iter().any(|name| is_named(decorator, name))
}

/// `object._replace(field=value, ..)`.
pub(super) fn replaced(body: &mut Body<'_, '_>, a: &super::builtins::Arguments) -> Made<Value> {
    let (Value::Named(class, items), Value::Dict(new)) = (a.value(0), a.value(1)) else {
        return body.fail(Code::KernelType, a.call, "`_replace` is for named tuples", "");
    };
    let mut items = items.clone();
    for (key, value) in new {
        let Some(at) = class.fields.iter().position(|(name, _)| *name == key.to_string()) else {
            let message = format!("`{}` has no field `{key}`", class.name);
            return body.fail(Code::KernelArgument, a.call, message, "");
        };
        items[at] = value.clone();
    }
    Ok(Value::Named(class.clone(), items))
}

/// Whether a module is one of Python's own whose names stand for themselves.
pub(super) fn is_python_module(path: &str) -> bool {
    matches!(path, "typing" | "types" | "enum" | "collections" | "itertools" | "functools" | "dataclasses")
}

impl Body<'_, '_> {
    /// A constant that a caller has named as it stands in the file: `Color.RED`.
    pub(super) fn named_constant(&mut self, text: &str) -> Made<Option<Value>> {
        let Some((class, member)) = text.split_once('.') else { return Ok(None) };
        let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name(class) || !is_name(member) {
            return Ok(None);
        }
        match self.global(self.file, class, Span::NONE)? {
            Some(Value::Class(class)) => Ok(class.member(member).cloned()),
            _other => Ok(None),
        }
    }

    /// A function of the file by its name, which may be a path: what a caller can name where a kernel calls a constant.
    pub(super) fn named_function(&mut self, text: &str, span: Span) -> Made<Option<Value>> {
        let mut parts = text.split('.');
        let Some(first) = parts.next().filter(|first| !first.is_empty()) else { return Ok(None) };
        let Some(mut value) = self.global(self.file, first, span)? else { return Ok(None) };
        for part in parts {
            value = self.attribute(value, &Ident { name: part.to_owned(), span }, span)?;
        }
        let is_function = matches!(value, Value::Function(_) | Value::Lambda(_) | Value::Builtin(..));
        Ok(is_function.then_some(value))
    }
}
