//! Loads a program: the main file, the prelude, and all files that imports lead to, each once.
//!
//! What the names of an import mean is decided here as well: each becomes [`Imported`] entries, a local name for a
//! top-level name of another module. Modules may import each other in cycles.

use super::ast::{Ident, Import, ImportName, ImportNames, Item, Module};
use super::habits;
use super::loader::Loader;
use super::parser::{Dialect, parse_module};
use super::prelude;
use girih_base::diag::{Code, Diagnostic, Diagnostics, did_you_mean};
use girih_base::idx::IndexVec;
use girih_base::index_type;
use girih_base::name::Name;
use girih_base::span::{SourceId, Sources, Span};
use std::collections::{HashMap, HashSet};

index_type! {
    /// A file of the program.
    pub struct ModuleId;
}

/// What a module is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The file that is run.
    Main,
    /// A file that an import has led to.
    Imported,
    /// A file of the prelude; if overridable, a program may define its names again.
    Prelude {
        /// Whether a program may define its names again.
        overridable: bool,
    },
}

/// A file of the program.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its source.
    pub source: SourceId,
    /// Its path, relative to the main file's folder and without `.bend`; what its names start with. Empty for the main
    /// file and the prelude.
    pub path: String,
    /// What it is to the program.
    pub role: Role,
    /// Its syntax tree.
    pub module: Module,
    /// What its imports bind.
    pub imports: Vec<Imported>,
}

impl Loaded {
    /// Whether it is a part of the prelude.
    pub fn is_prelude(&self) -> bool {
        match self.role {
            Role::Main | Role::Imported => false,
            Role::Prelude { .. } => true,
        }
    }
}

/// A name that an import binds.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The name in the importing module.
    pub local: Name,
    /// The module it comes from.
    pub module: ModuleId,
    /// Its name there.
    pub name: Name,
    /// Where the import stands.
    pub span: Span,
    /// How it came to be bound.
    pub how: Bound,
}

/// How an import binds a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The import spells it out.
    Named,
    /// It is one of all names of a file.
    Among,
    /// A shorter form of one of all names of a file, which gives way to any other.
    Shortcut,
}

/// All files of a program, the main file first.
pub type Modules = IndexVec<ModuleId, Loaded>;

/// Loads a program. Files that cannot be found or read are reported and left out; none if the main file is one of these.
pub fn load(loader: &dyn Loader, sources: &mut Sources, diags: &mut Diagnostics) -> Option<Modules> {
    let file = match loader.main() {
        Ok(file) => file,
        Err(error) => {
            diags.push(
                Diagnostic::new(Code::CannotRead, Span::NONE, error.message).hint("give the path of a `.bend` file"),
            );
            return None;
        }
    };
    let main = file.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let main_path = main.strip_suffix(".bend").unwrap_or(main).to_string();
    let mut loading = Loading {
        loader,
        sources,
        diags,
        modules: Modules::new(),
        by_path: HashMap::new(),
        names: HashMap::new(),
        bound: HashMap::new(),
        main_path,
    };
    let source = loading.sources.add(file.name, file.text);
    loading.add(source, String::new(), Role::Main, Dialect::User);
    for &(name, text) in prelude::FILES {
        let source = loading.sources.add(format!("<prelude>/{name}.bend"), text);
        let role = Role::Prelude { overridable: prelude::is_overridable(name) };
        loading.add(source, String::new(), role, Dialect::Prelude);
    }
    loading.follow_imports();
    Some(loading.modules)
}

struct Loading<'a> {
    loader: &'a dyn Loader,
    sources: &'a mut Sources,
    diags: &'a mut Diagnostics,
    modules: Modules,
    /// Files by path; none for a path without a file.
    by_path: HashMap<String, Option<ModuleId>>,
    /// The top-level names of files from which single names are imported.
    names: HashMap<ModuleId, HashSet<Name>>,
    /// Where each name that an import binds stands among the imports of its module.
    bound: HashMap<(ModuleId, Name), usize>,
    /// The path of the main file, which may not be imported.
    main_path: String,
}

impl Loading<'_> {
    fn add(&mut self, source: SourceId, path: String, role: Role, dialect: Dialect) -> ModuleId {
        let text = self.sources.get(source).map(|s| s.text.clone()).unwrap_or_default();
        let module = parse_module(source, &text, dialect, self.diags);
        self.modules.push(Loaded { source, path, role, module, imports: vec![] })
    }

    /// Modules are appended while their importers are worked through, so this ends when no import leads to a new file.
    fn follow_imports(&mut self) {
        let mut next = 0;
        while next < self.modules.len() {
            let id = ModuleId::new(next as u32);
            let imports: Vec<Import> = self.modules[id]
                .module
                .items
                .iter()
                .filter_map(|item| if let Item::Import(import) = item { Some(import.clone()) } else { None })
                .collect();
            for import in &imports {
                self.import(id, import);
            }
            next += 1;
        }
    }

    fn import(&mut self, importer: ModuleId, import: &Import) {
        let mut bound = vec![];
        match (&import.from, &import.names) {
            (Some(from), ImportNames::All) => self.import_all(importer, from, &mut bound),
            (Some(from), ImportNames::One(name)) => self.import_from(importer, from, from, name, &mut bound),
            (Some(from), ImportNames::Many(names)) => {
                for name in names {
                    self.import_from(importer, from, from, name, &mut bound);
                }
            }
            (None, ImportNames::One(path)) => self.import_path(importer, path, &mut bound),
            (None, ImportNames::Many(paths)) => {
                for path in paths {
                    self.import_path(importer, path, &mut bound);
                }
            }
            // The parser takes `*` after `from` only.
            (None, ImportNames::All) => {}
        }
        for import in bound {
            self.bind(importer, import);
        }
    }

    /// `import a/b/c` is `from a/b import c`.
    fn import_path(&mut self, importer: ModuleId, path: &ImportName, bound: &mut Vec<Imported>) {
        let (folder, name) = path.name.node.rsplit_once('/').unwrap_or(("", &path.name.node));
        let from = Ident::new(Name::new(folder), path.name.span);
        let name = ImportName { name: Ident::new(Name::new(name), path.name.span), alias: path.alias.clone() };
        self.import_from(importer, &from, &path.name, &name, bound);
    }

    /// The path that an import means, relative to the main file's folder. It starts with `..` if it leads out of that folder.
    fn absolute(&self, importer: ModuleId, path: &str) -> String {
        let relative = path.starts_with("./") || path.starts_with("../") || path == "." || path == "..";
        let base = match self.modules[importer].path.rsplit_once('/') {
            Some((folder, _)) if relative => folder,
            Some(_) | None => "",
        };
        let mut parts: Vec<&str> = base.split('/').filter(|p| !p.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => {
                    parts.pop();
                }
                _ => parts.push(part),
            }
        }
        parts.join("/")
    }

    /// The module of a file, loaded if need be.
    fn module(&mut self, path: &str, span: Span) -> Option<ModuleId> {
        if let Some(known) = self.by_path.get(path) {
            return *known;
        }
        if path == self.main_path {
            self.diags.push(
                Diagnostic::new(Code::ImportMain, span, format!("`{path}` is the main file and cannot be imported"))
                    .hint("move what both files need into a file of its own"),
            );
            return None;
        }
        let found = match self.loader.file(path) {
            Ok(Some(file)) => {
                let source = self.sources.add(file.name, file.text);
                Some(self.add(source, path.to_string(), Role::Imported, Dialect::User))
            }
            Ok(None) => None,
            Err(error) => {
                self.diags.push(Diagnostic::new(Code::CannotRead, span, error.message));
                None
            }
        };
        self.by_path.insert(path.to_string(), found);
        found
    }

    fn join(folder: &str, name: &str) -> String {
        if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") }
    }

    /// `from FROM import NAME`: a name of the file FROM, or the file NAME of the folder FROM.
    fn import_from(
        &mut self,
        importer: ModuleId,
        from: &Ident,
        shown: &Ident,
        name: &ImportName,
        bound: &mut Vec<Imported>,
    ) {
        let (path, wanted) = (self.absolute(importer, &from.node), &name.name.node);
        let errors_before = self.diags.iter().count();
        let in_folder = self.module(&Self::join(&path, wanted), name.name.span);
        let file = if path.is_empty() { None } else { self.module(&path, from.span) };
        let in_file = match file {
            Some(file) if self.defines(file, wanted) => Some(file),
            Some(_) | None => None,
        };
        let local = name.alias.as_ref().unwrap_or(&name.name).node.clone();
        match (in_file, in_folder) {
            (Some(_), Some(_)) => {
                let message = format!("both the file `{path}` and the folder `{path}` have a `{wanted}`");
                self.diags.push(Diagnostic::new(Code::ImportConflict, name.name.span, message));
            }
            (Some(module), None) => self.bind_name(module, wanted, &local, name.name.span, bound),
            (None, Some(module)) => self.bind_module(module, wanted, &local, name.name.span, bound),
            (None, None) => match file {
                Some(file) => self.missing_name(file, &path, name),
                None if self.diags.iter().count() == errors_before => self.not_found(shown, &path, wanted),
                None => {}
            },
        }
    }

    /// `from FROM import *`.
    fn import_all(&mut self, importer: ModuleId, from: &Ident, bound: &mut Vec<Imported>) {
        let path = self.absolute(importer, &from.node);
        let errors_before = self.diags.iter().count();
        let file = self.module(&path, from.span);
        let names = file.map(|file| self.top_level_names(file)).unwrap_or_default();
        let folder = self.loader.folder(&path).unwrap_or_default();
        if file.is_none() && folder.is_empty() {
            if self.diags.iter().count() == errors_before {
                self.not_found(from, &path, "*");
            }
            return;
        }
        let in_file: HashSet<&str> = names.iter().map(Name::as_str).collect();
        for file in &folder {
            if in_file.contains(file.as_str()) {
                let message = format!("both the file `{path}` and the folder `{path}` have a `{file}`");
                self.diags.push(Diagnostic::new(Code::ImportConflict, from.span, message));
                continue;
            }
            let path = Self::join(&path, file);
            if path != self.main_path
                && let Some(module) = self.module(&path, from.span)
            {
                self.bind_module(module, file, file, from.span, bound);
            }
        }
        if let Some(module) = file {
            for name in names {
                bound.push(Imported { local: name.clone(), module, name, span: from.span, how: Bound::Among });
            }
        }
    }

    /// A name of a file; a type brings its constructors along.
    fn bind_name(&mut self, module: ModuleId, name: &Name, local: &Name, span: Span, bound: &mut Vec<Imported>) {
        let entry = |local: Name, name: Name| Imported { local, module, name, span, how: Bound::Named };
        for ctor in self.constructors_of(module, name) {
            let local = format!("{local}{}", &ctor[name.len()..]);
            bound.push(entry(Name::from(local), ctor));
        }
        bound.push(entry(local.clone(), name.clone()));
    }

    /// All names of a file as `local/name`, except that the name that is also the file's is `local`; a name `file/name` of
    /// the file is `local/name` as well, if the file has no other of that name.
    fn bind_module(&mut self, module: ModuleId, file: &str, local: &str, span: Span, bound: &mut Vec<Imported>) {
        for name in self.top_level_names(module) {
            let mut push = |local: String, how: Bound| {
                bound.push(Imported { local: Name::from(local), module, name: name.clone(), span, how });
            };
            match name.strip_prefix(file) {
                Some("") => push(local.to_string(), Bound::Among),
                inner => {
                    if let Some(inner) = inner.and_then(|inner| inner.strip_prefix('/')) {
                        push(format!("{local}/{inner}"), Bound::Shortcut);
                    }
                    push(format!("{local}/{name}"), Bound::Among);
                }
            }
        }
    }

    fn bind(&mut self, importer: ModuleId, import: Imported) {
        let next = self.modules[importer].imports.len();
        let existing = *self.bound.entry((importer, import.local.clone())).or_insert(next);
        if existing == next {
            return self.modules[importer].imports.push(import);
        }
        let old = &self.modules[importer].imports[existing];
        if import.how == Bound::Shortcut || (old.module == import.module && old.name == import.name) {
            return;
        }
        if old.how == Bound::Shortcut {
            self.modules[importer].imports[existing] = import;
            return;
        }
        let message = format!("this import of `{}` hides an earlier one", import.local);
        self.diags.push(
            Diagnostic::new(Code::ImportShadow, import.span, message)
                .label(old.span, "the earlier import")
                .hint(format!("give one of them another name: `{} as …`", import.local)),
        );
        self.modules[importer].imports[existing] = import;
    }

    fn top_level_names(&self, module: ModuleId) -> Vec<Name> {
        let mut names = vec![];
        for item in &self.modules[module].module.items {
            match item {
                Item::Import(_) => {}
                Item::Def(def) => names.push(def.name.node.clone()),
                Item::Equations(def) => names.push(def.name.node.clone()),
                Item::Hvm(def) => names.push(def.name.node.clone()),
                Item::Type(ty) => {
                    names.push(ty.name.node.clone());
                    names.extend(ty.ctors.iter().map(|ctor| ty.full_name(ctor)).filter(|name| *name != ty.name.node));
                }
            }
        }
        names
    }

    fn constructors_of(&self, module: ModuleId, name: &Name) -> Vec<Name> {
        let is_type = |item: &&Item| matches!(item, Item::Type(ty) if ty.name.node == *name);
        match self.modules[module].module.items.iter().find(is_type) {
            Some(Item::Type(ty)) => {
                ty.ctors.iter().map(|ctor| ty.full_name(ctor)).filter(|ctor| ctor != name).collect()
            }
            _ => vec![],
        }
    }

    fn defines(&mut self, module: ModuleId, name: &Name) -> bool {
        if !self.names.contains_key(&module) {
            self.names.insert(module, self.top_level_names(module).into_iter().collect());
        }
        self.names[&module].contains(name)
    }

    fn missing_name(&mut self, file: ModuleId, path: &str, name: &ImportName) {
        let names = self.top_level_names(file);
        let message = format!("`{path}` has no `{}`", name.name.node);
        let mut diagnostic = Diagnostic::new(Code::ImportMissingName, name.name.span, message);
        if let Some(near) = did_you_mean(&name.name.node, names.iter().map(Name::as_str)) {
            diagnostic = diagnostic.hint(format!("it has `{near}`")).fix(name.name.span, near);
        }
        self.diags.push(diagnostic);
    }

    fn not_found(&mut self, at: &Ident, path: &str, name: &str) {
        let file = Self::join(path, name);
        let message = if name == "*" {
            format!("there is no file or folder `{path}`")
        } else if path.is_empty() {
            format!("there is no file `{file}.bend`")
        } else {
            format!("there is neither a file `{file}.bend` nor a `{name}` in a file `{path}.bend`")
        };
        let module = at.node.split(['.', '/']).next().unwrap_or_default();
        let relative =
            "paths that start with `./` or `../` are relative to this file, others to the main file's folder";
        let hint = habits::hint(habits::MODULES, module).unwrap_or(relative);
        self.diags.push(Diagnostic::new(Code::ImportNotFound, at.span, message).hint(hint));
    }
}
