//! The Bend language: compiles text to a syntax tree, and the syntax tree to the lambda core ([`girih_term`]).
//!
//! [`compile`] runs the stages: [`modules`] loads and parses all files, [`lower`] resolves names and desugars, [`check`] infers
//! types, [`lint`] warns about what is probably a mistake.

pub mod analysis;
pub mod ast;
pub mod check;
mod doc;
pub mod format;
mod habits;
mod lint;
pub mod loader;
mod lower;
mod modules;
pub mod parser;
pub mod prelude;
pub mod printer;
pub mod testing;

use girih_base::diag::{Code, Diagnostic, Diagnostics, WarningLevels};
use girih_base::name::Name;
use girih_base::span::{SourceId, Sources};
use girih_term::Program;
use lower::uses::Uses;

/// How a program is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which warnings are shown, hidden or errors.
    pub warnings: WarningLevels,
    /// Whether types are checked.
    pub check_types: bool,
    /// Another entry point than `main`.
    pub entry: Option<Name>,
    /// Bend expressions to which the entry point is applied.
    pub arguments: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { warnings: WarningLevels::default(), check_types: true, entry: None, arguments: vec![] }
    }
}

impl Options {
    /// For a program whose functions are called from outside: it needs no `main`, and nobody can say which of its definitions are used.
    pub fn library() -> Options {
        let mut warnings = WarningLevels::default();
        warnings.set(Code::MissingMain, None);
        warnings.set(Code::UnusedDefinition, None);
        Options { warnings, ..Options::default() }
    }
}

/// What became of a program.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// All files, and the program arguments.
    pub sources: Sources,
    /// Errors and warnings, sorted by place.
    pub diagnostics: Vec<Diagnostic>,
    /// The syntax trees of the program's own files, the main file first. Items with errors are left out.
    pub modules: Vec<(SourceId, ast::Module)>,
    /// The lambda core, if there are no errors.
    pub program: Option<Program>,
}

/// Compiles a program. Needs a stack for a few thousand levels of nesting: a few hundred MiB are plenty.
pub fn compile(loader: &dyn loader::Loader, options: &Options) -> Compilation {
    compile_with(loader, options, |_, _, _| ())
}

/// Compiles a program with what its tests need, and finds these. Needs as much stack as [`compile`].
pub fn compile_tests(loader: &dyn loader::Loader, options: &Options) -> (Compilation, Vec<testing::Test>) {
    let mut tests = vec![];
    let compilation = compile_with(loader, options, |modules, sources, diags| {
        tests = testing::add(modules, sources, diags);
    });
    (compilation, tests)
}

/// Compiles a program to which `add` adds something after it was parsed.
fn compile_with(
    loader: &dyn loader::Loader,
    options: &Options,
    add: impl FnOnce(&mut modules::Modules, &Sources, &mut Diagnostics),
) -> Compilation {
    let mut sources = Sources::default();
    let mut diags = Diagnostics::new(options.warnings.clone());
    let mut loaded = modules::load(loader, &mut sources, &mut diags);
    let mut program = None;
    let mut own_modules = vec![];
    if let Some(loaded) = &mut loaded {
        add(loaded, &sources, &mut diags);
        own_modules = loaded.iter().filter(|m| !m.is_prelude()).map(|m| (m.source, m.module.clone())).collect();
    }
    // An item with a syntax error is missing from its module: to go on would report its every use.
    if let Some(loaded) = loaded.filter(|_| !diags.has_errors()) {
        let entry = lower::Entry { name: options.entry.as_ref(), arguments: &options.arguments };
        let mut lowered = lower::lower(&loaded, &entry, &mut sources, &mut diags, Uses::default());
        if !lowered.is_ambiguous {
            check::check(&mut lowered.program, &mut diags, options.check_types);
        }
        if !diags.has_errors() {
            lint::lint(&lowered.program, &lowered.bound_in_io, &sources, &mut diags);
        }
        program = Some(lowered.program);
    }
    let program = program.filter(|_| !diags.has_errors());
    Compilation { sources, diagnostics: diags.into_sorted(), modules: own_modules, program }
}
