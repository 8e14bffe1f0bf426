//! The kernels of a folder of Python files: functions under `@triton.jit` that a host program launches, and what it launches them with.
//!
//! Invariant: a function that another kernel calls, and one that gives back a value, is no kernel of its own.

use crate::walk;
use girih_base::span::Sources;
use girih_triton::python::{
    self,
    ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind},
};
use girih_triton::{Alone, Constant, Kernel, LoadedFile, Loader};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A kernel.
pub struct Entry {
    /// Its file.
    pub file: PathBuf,
    /// Itself.
    pub def: Arc<FunctionDef>,
    /// As the compiler sees it.
    pub kernel: Kernel,
}

/// A folder.
#[derive(Default)]
pub struct Checkout {
    /// The texts of its files.
    pub texts: BTreeMap<PathBuf, String>,
    /// Its kernels.
    pub entries: Vec<Entry>,
    /// Files that are no Python, with what is wrong with them.
    pub unread: Vec<(PathBuf, String)>,
    /// All functions that kernels may call, by name.
    pub functions: HashMap<String, Arc<FunctionDef>>,
    /// The constants that a kernel of a name is launched with, for each parameter.
    pub launched: HashMap<String, HashMap<String, Vec<Constant>>>,
}

impl Checkout {
    /// Reads a folder.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(folder: &Path) -> std::io::Result<Checkout> {
        let mut texts = BTreeMap::new();
        for path in files(&std::path::absolute(folder)?)? {
            // What is not UTF-8 is no file of kernels.
            if let Ok(text) = std::fs::read_to_string(&path) {
                texts.insert(path, text);
            }
        }
        Ok(Checkout::of(texts))
    }

    /// What stands in files of these texts.
    pub fn of(texts: BTreeMap<PathBuf, String>) -> Checkout {
        let (mut checkout, mut called, mut found) = (Checkout::default(), HashSet::new(), vec![]);
        for (path, text) in texts {
            let (mut sources, name) = (Sources::default(), path.display().to_string());
            let source = sources.add(&name, &text);
            match python::parse(source, &text) {
                Ok(statements) => {
                    checkout.launches(&statements);
                    let kernels = girih_triton::kernels(&mut sources, &name, &text, &Alone).unwrap_or_default();
                    walk::statements(&statements, &mut |statement| {
                        let StmtKind::Function(def) = &statement.kind else { return };
                        let Some(kernel) = kernels.iter().find(|k| k.name == def.name.name) else { return };
                        walk::expressions(&def.body, &mut |e| called.extend(callee(e).map(str::to_owned)));
                        checkout.functions.entry(def.name.name.clone()).or_insert_with(|| def.clone());
                        found.push(Entry { file: path.clone(), def: def.clone(), kernel: kernel.clone() });
                    });
                }
                Err(error) if text.contains("triton.jit") => checkout.unread.push((path.clone(), error.message)),
                // Python that no kernel stands in.
                Err(_) => {}
            }
            checkout.texts.insert(path, text);
        }
        let launched = |name: &str| checkout.launched.contains_key(name);
        let is_entry = |entry: &Entry| {
            let name = &entry.def.name.name;
            (launched(name) || !called.contains(name)) && !gives_back(&entry.def.body)
        };
        found.retain(is_entry);
        checkout.entries = found;
        checkout
    }

    /// Notes what `kernel[grid](.., NAME=value)` says, with constants that the file gives a name.
    fn launches(&mut self, statements: &[Stmt]) {
        let mut named = HashMap::new();
        walk::statements(statements, &mut |statement| {
            if let StmtKind::Assign(targets, value) = &statement.kind
                && let ([Expr { kind: ExprKind::Name(name), .. }], Some(value)) = (&targets[..], literal(value))
            {
                named.entry(name.clone()).or_insert(value);
            }
        });
        walk::expressions(statements, &mut |e| {
            let ExprKind::Call(callee, arguments) = &e.kind else { return };
            let ExprKind::Subscript(of, _) = &callee.kind else { return };
            let ExprKind::Name(kernel) = &of.kind else { return };
            let parameters = self.launched.entry(kernel.clone()).or_default();
            for argument in arguments {
                let Some(parameter) = &argument.name else { continue };
                let value = match &argument.value.kind {
                    ExprKind::Name(name) => named.get(name).cloned(),
                    _other => literal(&argument.value),
                };
                let known = parameters.entry(parameter.name.clone()).or_default();
                known.extend(value.filter(|value| !known.contains(value)));
            }
        });
    }
}

/// Imported modules are files of the folder.
impl Loader for Checkout {
    fn module(&self, from: &str, up: usize, path: &str) -> Result<Option<LoadedFile>, String> {
        // A dot is the file's own folder, each further one the folder above; without a dot all of them count.
        let (first, count) = if up == 0 { (1, usize::MAX) } else { (up, 1) };
        let read = |place: PathBuf| {
            let text = self.texts.get(&place)?.clone();
            Some(LoadedFile { name: place.display().to_string(), text })
        };
        Ok(Path::new(from).ancestors().skip(first).take(count).find_map(|folder| {
            let module =
                path.split('/').filter(|part| !part.is_empty()).fold(folder.to_path_buf(), |p, part| p.join(part));
            let mut file = module.clone().into_os_string();
            file.push(".py");
            read(file.into()).or_else(|| read(module.join("__init__.py")))
        }))
    }
}

/// The function that a call names.
fn callee(e: &Expr) -> Option<&str> {
    let ExprKind::Call(callee, _) = &e.kind else { return None };
    match &callee.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Attribute(_, name) => Some(&name.name),
        _other => None,
    }
}

/// Whether a function gives back a value.
fn gives_back(body: &[Stmt]) -> bool {
    let mut gives = false;
    walk::statements(body, &mut |s| {
        gives |= matches!(&s.kind, StmtKind::Return(Some(value)) if value.kind != ExprKind::None);
    });
    gives
}

/// A constant that is written out; a type of Triton is its name.
pub fn literal(e: &Expr) -> Option<Constant> {
    match &e.kind {
        ExprKind::Int(n) => Some(Constant::Int(*n)),
        ExprKind::Float(x) => Some(Constant::Float(*x)),
        ExprKind::Bool(b) => Some(Constant::Bool(*b)),
        ExprKind::None => Some(Constant::None),
        ExprKind::Str(text) => Some(Constant::Text(text.clone())),
        ExprKind::Attribute(of, name) if matches!(&of.kind, ExprKind::Name(n) if n == "tl") => {
            Some(Constant::Text(format!("tl.{}", name.name)))
        }
        _other => None,
    }
}

/// The Python files of a folder and those below it, in order.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    inside.sort();
    for path in inside {
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            found.push(path);
        }
    }
    Ok(found)
}
