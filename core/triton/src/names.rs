//! Names: variables of the kernel, what stands in its file and in those that it imports, and what Python itself knows.

use super::body::{Body, Made};
use super::builtins;
use super::source::{Binding, FileId, Imported};
use super::target;
use super::value::{Function, Value};
use crate::python::ast::{Expr, Ident};
use girih_base::diag::{Code, did_you_mean};
use girih_base::span::Span;
use std::sync::Arc;

/// Names that Python itself knows, and the operations that they are.
pub(super) const PYTHON: &[(&str, &str)] = &[
    ("min", "min_of"),
    ("max", "max_of"),
    ("abs", "abs"),
    ("len", "len"),
    ("int", "int"),
    ("float", "float"),
    ("bool", "bool"),
    ("str", "str"),
    ("round", "round"),
    ("print", "print"),
    ("range", "range"),
    ("tuple", "tuple"),
    ("list", "list"),
    ("zip", "zip"),
    ("enumerate", "enumerate"),
    ("isinstance", "isinstance"),
    ("hasattr", "hasattr"),
    ("getattr", "getattr"),
    ("filter", "filter"),
    ("map", "map"),
    ("sorted", "sorted"),
    ("reversed", "reversed"),
    ("sum", "sum_of"),
    ("any", "any_of"),
    ("all", "all_of"),
    ("set", "set"),
    ("dict", "dict"),
    ("bin", "bin"),
    ("hex", "hex"),
    ("divmod", "divmod"),
    ("callable", "callable"),
];

impl Body<'_, '_> {
    /// What a name means here: a variable, a name of the file, or one of Python's.
    pub(super) fn name(&mut self, name: &str, span: Span) -> Made<Value> {
        if let Some(value) = self.scope.get(name) {
            return match value.clone() {
                Value::Unknown(why) => self.fail(
                    Code::KernelName,
                    span,
                    format!("`{name}` cannot be used here: {why}"),
                    "assign it before",
                ),
                value => Ok(value),
            };
        }
        if let Some(value) = self.function.as_ref().and_then(|f| f.scope.get(name)) {
            return Ok(value.clone());
        }
        if let Some(value) = self.global(self.file, name, span)? {
            return match value {
                Value::Unknown(why) => {
                    self.fail(Code::KernelName, span, format!("`{name}` has no meaning in a kernel: {why}"), "")
                }
                value => Ok(value),
            };
        }
        if let Some(row) = PYTHON.iter().find(|(python, _)| *python == name).and_then(|(_, row)| builtins::find(row)) {
            return Ok(Value::Builtin(row, None));
        }
        let names: Vec<String> =
            self.scope.keys().chain(self.module.files.files[self.file].names.keys()).cloned().collect();
        let hint = match did_you_mean(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if !builtins::like(name).is_empty() => builtins::like(name),
            None => "variables that are assigned in a loop or in one branch do not exist after it".into(),
        };
        self.fail(Code::KernelName, span, format!("there is no `{name}` here"), &hint)
    }

    /// What a name of a file stands for.
    pub(super) fn global(&mut self, file: FileId, name: &str, span: Span) -> Made<Option<Value>> {
        // What is at the level of this file sees what stands above it.
        let at = if file == self.now.0 { self.now.1 } else { u32::MAX };
        let Some((which, from, binding)) = self.module.files.files[file].meaning(name, at) else {
            return self.starred_import(file, name, span);
        };
        let (from, binding) = (from, binding.clone());
        let key = (file, name.to_owned(), which);
        if let Some(value) = self.module.constants.get(&key) {
            return Ok(Some(value.clone()));
        }
        // What needs itself has no value.
        self.module.constants.insert(key.clone(), Value::Unknown("its value needs itself".into()));
        let value = self.bound((file, from), &binding, span)?;
        self.module.constants.insert(key, value.clone());
        Ok(Some(value))
    }

    /// The value of a binding that stands there.
    fn bound(&mut self, place: (FileId, u32), binding: &Binding, span: Span) -> Made<Value> {
        let file = place.0;
        Ok(match binding {
            Binding::Function(def) => {
                let jit = def.decorators.iter().any(super::kernel::is_jit);
                Value::Function(Arc::new(Function { file, def: def.clone(), jit, scope: Default::default() }))
            }
            Binding::Class(def) => self.class(place, def),
            Binding::Value(e) => self.evaluated(place, e, None),
            Binding::Element(e, i) => self.evaluated(place, e, Some(*i)),
            Binding::Module { up, path } => self.imported_module(file, *up, path, span)?,
            Binding::Member { up, path, name, span } => self.imported_member(file, *up, path, name, *span)?,
            Binding::Opaque(why) => Value::Unknown((*why).into()),
            Binding::Attempts(attempts) => {
                let mut first = None;
                for attempt in attempts.iter() {
                    match self.bound(place, attempt, span) {
                        Ok(Value::Unknown(why)) => drop(first.get_or_insert(why)),
                        Err(error) => drop(first.get_or_insert(error.message.into())),
                        Ok(value) => return Ok(value),
                    }
                }
                Value::Unknown(first.unwrap_or_else(|| "no branch of the `try` assigns it".into()))
            }
            Binding::Guarded(imports, binding) => {
                for import in imports.iter() {
                    if !self.is_there(file, import)? {
                        return Ok(Value::Unknown(format!("the import of `{}` fails", import.path).into()));
                    }
                }
                self.bound(place, binding, span)?
            }
            Binding::Choice(choice) => {
                let holds = self.evaluated(place, &choice.condition, None).truth();
                match choice.taken(holds) {
                    Some(taken) => self.bound(place, taken, span)?,
                    None => Value::Unknown("the branch of the `if` that assigns it is not taken".into()),
                }
            }
        })
    }

    fn starred_import(&mut self, file: FileId, name: &str, span: Span) -> Made<Option<Value>> {
        for (up, path) in self.module.files.files[file].stars.clone() {
            if is_triton(as_triton(&path)) && up == 0 {
                continue;
            }
            if let Some(found) = self.module.files.import(file, up, &path, span)?
                && let Some(value) = self.global(found, name, span)?
            {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// The value of an expression that stands there in a file, or why it has none.
    fn evaluated(&mut self, (file, at): (FileId, u32), e: &Expr, element: Option<usize>) -> Value {
        let mut body = Body::new(&mut *self.module, file, girih_ir::Function::new("constant", e.span));
        (body.host, body.now) = (true, (file, at));
        let value = match body.expr(e) {
            Ok(value) => value,
            Err(error) => return Value::Unknown(error.message.into()),
        };
        match (element, value) {
            (Some(i), Value::Tuple(items)) => items.get(i).cloned().unwrap_or(Value::None),
            (Some(_), other) => Value::Unknown(format!("{} has no elements", other.kind()).into()),
            (None, value) => value,
        }
    }

    fn imported_module(&mut self, file: FileId, up: usize, path: &str, span: Span) -> Made<Value> {
        let path = as_triton(path);
        if up == 0 && is_triton(path) {
            return Ok(Value::Library(path.to_owned()));
        }
        Ok(match self.module.files.import(file, up, path, span)? {
            Some(found) => Value::Library(format!("#{}", found.index())),
            None => Value::Library(path.to_owned()),
        })
    }

    /// Whether an import succeeds: of Triton, of PyTorch and of what is known of Python, and of files that are found.
    fn is_there(&mut self, file: FileId, import: &Imported) -> Made<bool> {
        let Imported { up, path, name, span } = import;
        let of_torch = path == "torch" || path.starts_with("torch.");
        if *up == 0 && !is_triton(as_triton(path)) && (of_torch || is_host(path)) {
            return Ok(true);
        }
        Ok(match name {
            Some(name) => match self.imported_member(file, *up, path, name, *span) {
                Ok(value) => !matches!(value, Value::Unknown(_)),
                // What cannot be imported raises an exception, which the `try` is there for.
                Err(_) => false,
            },
            None if *up == 0 && is_triton(as_triton(path)) => true,
            None => self.module.files.import(file, *up, path, *span)?.is_some(),
        })
    }

    fn imported_member(&mut self, file: FileId, up: usize, path: &str, name: &str, span: Span) -> Made<Value> {
        let (ident, path) = (Ident { name: name.to_owned(), span }, as_triton(path));
        if up == 0 && (is_triton(path) || is_host(path)) {
            return self.attribute(Value::Library(path.to_owned()), &ident, span);
        }
        if up == 0
            && let Some(value) = target::constant(path, name)
        {
            return Ok(value);
        }
        if !path.is_empty()
            && let Some(found) = self.module.files.import(file, up, path, span)?
            && let Some(value) = self.global(found, name, span)?
        {
            return Ok(value);
        }
        let whole = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match self.module.files.import(file, up, &whole, span)? {
            Some(found) => Ok(Value::Library(format!("#{}", found.index()))),
            None => Ok(Value::Unknown(format!("the import `{whole}` was not found").into())),
        }
    }
}

/// The module that stands in for a part of Triton where Triton is not installed, as the part itself.
fn as_triton(path: &str) -> &str {
    path.strip_prefix("girih.").filter(|part| is_triton(part)).unwrap_or(path)
}

/// Whether a module is a part of Triton.
pub(super) fn is_triton(path: &str) -> bool {
    path == "triton" || path.starts_with("triton.")
}

/// Whether a module is one of Python's own or of PyTorch, of which [`target`] knows functions.
fn is_host(path: &str) -> bool {
    super::classes::is_python_module(path)
        || matches!(path, "math" | "os" | "packaging" | "packaging.version" | "torch" | "torch.cuda" | "torch.version")
}
