//! The files of a kernel: what their names mean, and what they import.
//!
//! Nothing of a file is run. A name is looked at when a kernel uses it, so the code of a host program around a kernel does not matter. What stands at
//! the file's own level sees what names meant above it; what functions see is what they mean at the end.

use super::embedded;
use crate::python::{
    self,
    ast::{Alias, ClassDef, Expr, ExprKind, FunctionDef, Stmt, StmtKind},
};
use girih_base::diag::{Code, Diagnostic};
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::span::{Sources, Span};
use std::collections::HashMap;
use std::sync::Arc;

index_type! {
    /// A file that has been read.
    pub struct FileId;
}

/// Finds the modules that a kernel's file imports.
pub trait Loader {
    /// The file of a module, `a/b` for `import a.b`, as seen from the file of this name; none if there is none. `up` is the number of dots before
    /// it: 0 for a module that is looked for beside the file and in the folders above, 1 for the file's own folder, 2 for the one above.
    ///
    /// # Errors
    /// If there is one that cannot be read: a sentence that says why.
    fn module(&self, from: &str, up: usize, path: &str) -> Result<Option<LoadedFile>, String>;
}

/// A file as it was found.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// Its name, by which it is asked for what it imports; two files have two names.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A loader for a file that stands alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Loader for Alone {
    fn module(&self, _from: &str, _up: usize, _path: &str) -> Result<Option<LoadedFile>, String> {
        Ok(None)
    }
}

/// What a name of a file stands for.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// A function.
    Function(Arc<FunctionDef>),
    /// A class.
    Class(Arc<ClassDef>),
    /// What an expression gives.
    Value(Arc<Expr>),
    /// An element of what an expression gives.
    Element(Arc<Expr>, usize),
    /// A module.
    Module { up: usize, path: String },
    /// A name of a module.
    Member { up: usize, path: String, name: String, span: Span },
    /// Something that has no meaning for kernels.
    Opaque(&'static str),
    /// What an `if` of the file makes of a name.
    Choice(Arc<Choice>),
    /// What the branches of a `try` make of a name: the first that has a value counts.
    Attempts(Arc<Vec<Binding>>),
    /// What a name stands for if all these modules and names can be imported; otherwise an exception is raised before it gets a meaning.
    Guarded(Arc<Vec<Imported>>, Arc<Binding>),
}

/// What an import asks for: a module, or a name of one.
#[derive(Clone, Debug)]
pub(super) struct Imported {
    pub up: usize,
    pub path: String,
    pub name: Option<String>,
    pub span: Span,
}

impl Imported {
    /// What a statement imports.
    fn by(statement: &Stmt) -> Vec<Imported> {
        let one = |up, path: &str, name: Option<&str>, span| Imported {
            up,
            path: path.to_owned(),
            name: name.map(str::to_owned),
            span,
        };
        match &statement.kind {
            StmtKind::Import(aliases) => aliases.iter().map(|a| one(0, &a.path, None, a.span)).collect(),
            StmtKind::ImportFrom(up, path, aliases) => {
                let name = |a: &Alias| (a.path != "*").then(|| a.path.clone());
                aliases.iter().map(|a| one(*up, path, name(a).as_deref(), a.span)).collect()
            }
            _others => vec![],
        }
    }
}

/// What a name is around and in an `if`.
#[derive(Debug)]
pub(super) struct Choice {
    pub condition: Expr,
    pub before: Option<Binding>,
    pub then: Option<Binding>,
    pub otherwise: Option<Binding>,
}

impl Choice {
    /// What the name stands for if the condition holds, or does not; where that is not known, the first meaning that it is given.
    pub(super) fn taken(&self, holds: Option<bool>) -> Option<&Binding> {
        match holds {
            Some(true) => self.then.as_ref().or(self.before.as_ref()),
            Some(false) => self.otherwise.as_ref().or(self.before.as_ref()),
            None => self.before.as_ref().or(self.then.as_ref()).or(self.otherwise.as_ref()),
        }
    }
}

impl Binding {
    /// Whether this, or what it chooses among, is so.
    pub(super) fn any(&self, is: &dyn Fn(&Binding) -> bool) -> bool {
        match self {
            Binding::Choice(choice) => {
                [&choice.before, &choice.then, &choice.otherwise].into_iter().flatten().any(|b| b.any(is))
            }
            Binding::Attempts(attempts) => attempts.iter().any(|b| b.any(is)),
            Binding::Guarded(_, binding) => binding.any(is),
            own => is(own),
        }
    }
}

/// A file.
#[derive(Debug)]
pub(super) struct File {
    pub name: String,
    /// What each name means, in order: from which byte of the file on, and what.
    pub names: HashMap<String, Vec<(u32, Binding)>>,
    /// Modules of which all names were imported.
    pub stars: Vec<(usize, String)>,
    /// Functions in order, those within `if` and `try` included.
    pub functions: Vec<Arc<FunctionDef>>,
    /// Where the statement stands that is read.
    at: u32,
}

/// All files that have been read.
pub(super) struct Files<'a> {
    pub sources: &'a mut Sources,
    loader: &'a dyn Loader,
    pub files: IndexVec<FileId, File>,
}

impl<'a> Files<'a> {
    pub(super) fn new(sources: &'a mut Sources, loader: &'a dyn Loader) -> Files<'a> {
        Files { sources, loader, files: IndexVec::new() }
    }

    /// Reads a file's text.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<FileId, Diagnostic> {
        let source = self.sources.add(name, text);
        let statements = python::parse(source, text)?;
        Ok(self.push(name, &statements))
    }

    fn push(&mut self, name: &str, statements: &[Stmt]) -> FileId {
        let mut file = File::new(name.to_owned());
        for statement in statements {
            file.at = statement.span.start;
            file.statement(statement);
        }
        file.forget_changed();
        self.files.push(file)
    }

    /// The file of the library's own Python. Its places are in no source.
    pub(super) fn embedded(&mut self, name: &str) -> Result<FileId, Diagnostic> {
        let shown = format!("<{name}>");
        if let Some((id, _)) = self.files.iter_enumerated().find(|(_, file)| file.name == shown) {
            return Ok(id);
        }
        let statements = python::parse(Span::NONE.source, embedded::text(name).unwrap_or_default())?;
        Ok(self.push(&shown, &statements))
    }

    /// The file of a module that another imports; none if there is none.
    pub(super) fn import(
        &mut self,
        from: FileId,
        up: usize,
        path: &str,
        span: Span,
    ) -> Result<Option<FileId>, Diagnostic> {
        if let (0, Some(file)) = (up, embedded::of_module(path)) {
            return self.embedded(file).map(Some);
        }
        let name = self.files[from].name.clone();
        let found = self.loader.module(&name, up, &path.replace('.', "/"));
        let found = found
            .map_err(|why| Diagnostic::new(Code::KernelImport, span, format!("`{path}` cannot be read: {why}")))?;
        let Some(found) = found else { return Ok(None) };
        if let Some((id, _)) = self.files.iter_enumerated().find(|(_, file)| file.name == found.name) {
            return Ok(Some(id));
        }
        self.add(&found.name, &found.text).map(Some)
    }
}

impl File {
    fn new(name: String) -> File {
        File { name, names: HashMap::new(), stars: vec![], functions: vec![], at: 0 }
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        self.names.entry(name.to_owned()).or_default().push((self.at, binding));
    }

    /// What functions change is not known: none is run for what it does.
    fn forget_changed(&mut self) {
        let mut changed = vec![];
        self.functions.iter().for_each(|def| globals(&def.body, &mut changed));
        for name in changed {
            if let Some(meanings) = self.names.get_mut(&name) {
                *meanings = vec![(0, Binding::Opaque("a function of its file changes it"))];
            }
        }
    }

    /// What a name means at a byte of the file, and which of its meanings that is; its first one where it has none yet.
    pub(super) fn meaning(&self, name: &str, at: u32) -> Option<(usize, u32, &Binding)> {
        let all = self.names.get(name)?;
        let which = all.iter().rposition(|(from, _)| *from < at).unwrap_or(0);
        all.get(which).map(|(from, binding)| (which, *from, binding))
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Function(def) => {
                self.functions.push(def.clone());
                self.bind(&def.name.name, Binding::Function(def.clone()));
            }
            StmtKind::Assign(targets, value) => {
                let value = Arc::new(value.clone());
                targets.iter().for_each(|target| self.assign(target, &value));
            }
            StmtKind::Annotated(target, _, Some(value)) => self.assign(target, &Arc::new(value.clone())),
            StmtKind::Augmented(target, ..) => {
                if let ExprKind::Name(name) = &target.kind {
                    self.bind(name, Binding::Opaque("it is changed after it was made"));
                }
            }
            StmtKind::Import(aliases) => aliases.iter().for_each(|alias| self.import(alias)),
            StmtKind::ImportFrom(up, path, aliases) => self.import_from(*up, path, aliases),
            StmtKind::If(condition, then, otherwise) => self.choices(condition, then, otherwise),
            // What cannot be computed counts as an exception.
            StmtKind::Try(body, others) => {
                let first = self.guarded(body);
                let others: Vec<_> = others.iter().map(|other| self.within(other)).collect();
                self.branches(std::iter::once(first).chain(others));
            }
            StmtKind::With(_, body) => body.iter().for_each(|s| self.statement(s)),
            StmtKind::Class(def) => self.bind(&def.name.name, Binding::Class(def.clone())),
            StmtKind::Annotated(_, _, None)
            | StmtKind::Global(_)
            | StmtKind::Expr(_)
            | StmtKind::For(..)
            | StmtKind::While(..)
            | StmtKind::Return(_)
            | StmtKind::Pass
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Assert(..)
            | StmtKind::Other(_) => {}
        }
    }

    /// The names of statements that stand within others; their functions and imports are the file's.
    fn within(&mut self, list: &[Stmt]) -> HashMap<String, Binding> {
        let mut inner = File::new(String::new());
        list.iter().for_each(|s| inner.statement(s));
        self.functions.extend(inner.functions);
        self.stars.extend(inner.stars);
        // Within one statement the last meaning counts.
        inner.names.into_iter().filter_map(|(name, mut all)| Some((name, all.pop()?.1))).collect()
    }

    /// The names of the list behind `try`: what stands below an import has a meaning only if that succeeds.
    fn guarded(&mut self, list: &[Stmt]) -> HashMap<String, Binding> {
        let (mut names, mut imports) = (HashMap::new(), vec![]);
        for statement in list {
            let imported = Imported::by(statement);
            let is_import = !imported.is_empty();
            imports.extend(imported);
            for (name, binding) in self.within(std::slice::from_ref(statement)) {
                let stands_alone = is_import || imports.is_empty();
                let binding = match stands_alone {
                    true => binding,
                    false => Binding::Guarded(Arc::new(imports.clone()), Arc::new(binding)),
                };
                names.insert(name, binding);
            }
        }
        names
    }

    fn branches(&mut self, branches: impl Iterator<Item = HashMap<String, Binding>>) {
        let mut attempts: HashMap<String, Vec<Binding>> = HashMap::new();
        for (name, binding) in branches.flatten() {
            attempts.entry(name).or_default().push(binding);
        }
        for (name, mut bindings) in attempts {
            // If no branch gives it a meaning, it keeps the one that it had.
            let before = self.names.get(&name).and_then(|all| all.last()).map(|(_, binding)| binding.clone());
            bindings.extend(before);
            let binding = match (bindings.len(), bindings.pop()) {
                (1, Some(only)) => only,
                (_, last) => {
                    bindings.extend(last);
                    Binding::Attempts(Arc::new(bindings))
                }
            };
            self.bind(&name, binding);
        }
    }

    /// Which branch is taken is asked when a name of it is used.
    fn choices(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) {
        let (mut then, mut otherwise) = (self.within(then), self.within(otherwise));
        let names: Vec<String> = then.keys().chain(otherwise.keys()).cloned().collect();
        for name in names {
            let (one, other) = (then.remove(&name), otherwise.remove(&name));
            if one.is_none() && other.is_none() {
                continue;
            }
            let before = self.names.get(&name).and_then(|all| all.last()).map(|(_, binding)| binding.clone());
            let choice = Choice { condition: condition.clone(), before, then: one, otherwise: other };
            self.bind(&name, Binding::Choice(Arc::new(choice)));
        }
    }

    fn assign(&mut self, target: &Expr, value: &Arc<Expr>) {
        match &target.kind {
            ExprKind::Name(name) => self.bind(name, Binding::Value(value.clone())),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    if let ExprKind::Name(name) = &item.kind {
                        self.bind(name, Binding::Element(value.clone(), i));
                    }
                }
            }
            _no_name => {}
        }
    }

    fn import(&mut self, alias: &Alias) {
        match &alias.name {
            Some(name) => self.bind(name, Binding::Module { up: 0, path: alias.path.clone() }),
            None => {
                let first = alias.path.split('.').next().unwrap_or_default().to_owned();
                self.bind(&first.clone(), Binding::Module { up: 0, path: first });
            }
        }
    }

    fn import_from(&mut self, up: usize, path: &str, aliases: &[Alias]) {
        for alias in aliases {
            if alias.path == "*" {
                self.stars.push((up, path.to_owned()));
                continue;
            }
            let name = alias.name.as_ref().unwrap_or(&alias.path);
            let (path, member, span) = (path.to_owned(), alias.path.clone(), alias.span);
            self.bind(name, Binding::Member { up, path, name: member, span });
        }
    }
}

/// The names that statements say are those of the file.
fn globals(list: &[Stmt], out: &mut Vec<String>) {
    for statement in list {
        match &statement.kind {
            StmtKind::Global(names) => out.extend(names.iter().cloned()),
            StmtKind::If(_, a, b) | StmtKind::While(_, a, b) | StmtKind::For(_, _, a, b) => {
                globals(a, out);
                globals(b, out);
            }
            StmtKind::With(_, body) => globals(body, out),
            StmtKind::Try(body, others) => {
                globals(body, out);
                others.iter().for_each(|other| globals(other, out));
            }
            _others => {}
        }
    }
}
