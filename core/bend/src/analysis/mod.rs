//! What an editor asks about a program: what a name stands for, its type, where else it is used, what can be written at a place.
//!
//! [`analyze`] compiles a program as [`crate::compile`] does, with the same diagnostics, and keeps what was found out on the way. It
//! goes on after errors: items with syntax errors are left out, and all others are resolved and typed as well as they can be.
//! Places are bytes of a source. Nothing here reads files, so a page in a browser can use it as an editor does.
//!
//! | module | its question |
//! |---|---|
//! | [`comments`] | which comment documents an item? |
//! | [`hover`] | what is this name, of which type? |
//! | [`outline`] | what does this file define? |
//! | [`completion`] | what can be written here? |
//! | [`completeness`] | is what somebody types finished? |
//! | [`highlight`] | which words get which colour? |
//! | [`calls`] | which call is this place in, and at which argument? |
//! | [`inlays`] | which types has nobody written? |
//! | [`rename`] | what changes if a name is changed, and may it be? |

pub mod calls;
pub mod comments;
pub mod completeness;
pub mod completion;
pub mod highlight;
pub mod hover;
pub mod inlays;
pub mod outline;
pub mod rename;

pub use crate::lower::uses::{Target, Use, Visible};

use crate::ast::{Item, Module};
use crate::check::{self, Types};
use crate::loader::Loader;
use crate::lower::uses::Uses;
use crate::lower::{self, Entry};
use crate::modules::{self, Modules};
use crate::{Options, lint};
use girih_base::diag::{Diagnostic, Diagnostics};
use girih_base::lexer::is_name_char;
use girih_base::name::Name;
use girih_base::span::{SourceId, Sources, Span};
use girih_term::print::show_scheme;
use girih_term::ty::Type;
use girih_term::{CtorId, Origin, Program};
use std::collections::HashMap;

/// The main file of a program among its sources.
pub const MAIN: SourceId = SourceId::new(0);

/// A program and what is known about it.
#[derive(Debug, Default)]
pub struct Analysis {
    /// All files.
    pub sources: Sources,
    /// What [`crate::compile`] reports.
    pub diagnostics: Vec<Diagnostic>,
    modules: Modules,
    program: Program,
    types: Types,
    /// All uses of names, in the order of sources and places; bindings and definitions among them.
    uses: Vec<Use>,
    visible: Vec<Visible>,
    /// The top-level names that the main file sees; if a name is there twice, the first counts.
    names: Vec<(Name, Target)>,
    fields: HashMap<CtorId, Vec<Span>>,
}

/// Analyses a program. If `probe` is a byte of the main file that a name touches, what is in scope there is kept for
/// [`completion`]. Needs as much stack as [`crate::compile`].
pub fn analyze(loader: &dyn Loader, options: &Options, probe: Option<usize>) -> Analysis {
    let mut sources = Sources::default();
    let mut diags = Diagnostics::new(options.warnings.clone());
    let Some(modules) = modules::load(loader, &mut sources, &mut diags) else {
        return Analysis { sources, diagnostics: diags.into_sorted(), ..Analysis::default() };
    };
    // What follows from an item that is missing is not reported, as `compile` does not report it.
    let mut unreported = Diagnostics::default();
    let has_syntax_errors = diags.has_errors();
    let reported = if has_syntax_errors { &mut unreported } else { &mut diags };
    let entry = Entry { name: options.entry.as_ref(), arguments: &options.arguments };
    let probe = probe.map(|at| Span::new(MAIN, at, at));
    let lowered = lower::lower(&modules, &entry, &mut sources, reported, Uses::wanted(probe));
    let (mut program, names) = (lowered.program, lowered.names);
    let types = check::check_with_types(&mut program, reported);
    if !reported.has_errors() {
        lint::lint(&program, &lowered.bound_in_io, &sources, reported);
    }
    let (mut uses, visible) = lowered.uses.finish();
    rules_of_equations(&modules, &mut uses, &sources);
    let mut analysis = Analysis {
        fields: fields(&modules, &program),
        diagnostics: diags.into_sorted(),
        sources,
        modules,
        program,
        types,
        uses: vec![],
        visible,
        names,
    };
    for found in &mut uses {
        found.span = analysis.name_in(found.span);
    }
    uses.retain(|found| analysis.is_written(found));
    analysis.uses = uses;
    analysis
}

/// Where the fields of constructors are defined.
fn fields(modules: &Modules, program: &Program) -> HashMap<CtorId, Vec<Span>> {
    let by_span: HashMap<Span, CtorId> = program.ctors.iter_enumerated().map(|(id, ctor)| (ctor.span, id)).collect();
    let types = modules.iter().flat_map(|module| &module.module.items);
    let types = types.filter_map(|item| if let Item::Type(ty) = item { Some(ty) } else { None });
    let ctors = types.flat_map(|ty| &ty.ctors);
    let known = ctors.filter_map(|ctor| {
        let id = by_span.get(&ctor.name.span)?;
        Some((*id, ctor.fields.iter().map(|field| field.name.span).collect()))
    });
    known.collect()
}

/// Adds the names with which the later rules of a function begin.
fn rules_of_equations(modules: &Modules, uses: &mut Vec<Use>, sources: &Sources) {
    use crate::ast::FunBody;
    let of_span: HashMap<Span, Target> = uses.iter().map(|found| (found.span, found.target)).collect();
    for item in modules.iter().flat_map(|module| &module.module.items) {
        let Item::Equations(def) = item else { continue };
        let (Some(target), FunBody::Rules(rules)) = (of_span.get(&def.name.span), &def.body) else { continue };
        for rule in rules {
            let text = sources.snippet(rule.span);
            let skipped = text.len() - text.trim_start_matches(|c: char| c == '(' || c.is_whitespace()).len();
            let start = rule.span.start + skipped as u32;
            let span = Span { start, end: start + def.name.node.len() as u32, ..rule.span };
            if span != def.name.span && sources.snippet(span) == def.name.node.as_str() {
                uses.push(Use { span, target: *target, variable: None });
            }
        }
    }
    uses.sort_by_key(|found| found.span);
}

impl Analysis {
    /// What is known of files in another language: what is wrong with them, and no names.
    pub fn of_diagnostics(sources: Sources, diagnostics: Vec<Diagnostic>) -> Analysis {
        Analysis { sources, diagnostics, ..Analysis::default() }
    }

    /// The name with which a span begins: that of a call without arguments is the whole call's.
    fn name_in(&self, span: Span) -> Span {
        let length = self.sources.snippet(span).chars().take_while(|c| is_name_char(*c)).count();
        Span { end: span.start + length as u32, ..span }
    }

    /// Whether a use is a name in the text; some constructs bind a variable for a whole expression.
    fn is_written(&self, found: &Use) -> bool {
        let text = self.sources.snippet(found.span);
        match found.target {
            Target::Local(at) => !text.is_empty() && self.sources.snippet(at) == text,
            Target::Def(_) | Target::Ctor(_) | Target::Type(_) | Target::Field(..) | Target::Module(_) => {
                !text.is_empty()
            }
        }
    }

    /// The name that the byte `at` is in, or directly behind.
    pub fn use_at(&self, source: SourceId, at: usize) -> Option<&Use> {
        let at = at as u32;
        let behind = self.uses.partition_point(|found| (found.span.source, found.span.start) <= (source, at));
        let touches = |found: &&Use| found.span.source == source && found.span.end >= at;
        self.uses[..behind].iter().rev().take(4).find(touches)
    }

    /// What stands at a place: the name there, or, in an item with a syntax error, what its word is at the top level.
    pub fn target_at(&self, source: SourceId, at: usize) -> Option<(Span, Target)> {
        if let Some(found) = self.use_at(source, at) {
            return Some((found.span, found.target));
        }
        let span = self.word_at(source, at)?;
        let module = self.modules.iter().find(|module| module.source == source)?;
        let is_broken =
            module.module.broken.iter().any(|broken| broken.span.start <= span.start && span.end <= broken.span.end);
        let word = self.sources.snippet(span);
        let known = self.names.iter().find(|(name, _)| is_broken && name == word);
        known.map(|(_, target)| (span, *target)).or_else(|| self.imported_file(module, span))
    }

    /// The file that a path of an import leads to.
    fn imported_file(&self, module: &modules::Loaded, span: Span) -> Option<(Span, Target)> {
        let is_around = |outer: Span| outer.start <= span.start && span.end <= outer.end;
        let mut imports = module.module.items.iter().filter_map(|item| match item {
            Item::Import(import) if is_around(import.span) => Some(import),
            _other => None,
        });
        let import = imports.next()?;
        import.from.as_ref().filter(|from| is_around(from.span))?;
        let from_there = module
            .imports
            .iter()
            .find(|imported| import.span.start <= imported.span.start && imported.span.end <= import.span.end);
        from_there.map(|imported| (span, Target::Module(imported.module)))
    }

    /// Where the main file imports another one; none if it does not do so itself.
    pub fn import_of(&self, source: SourceId) -> Option<Span> {
        let main = self.modules.iter().find(|module| module.source == MAIN)?;
        let import = main.imports.iter().find(|import| self.modules[import.module].source == source)?;
        Some(import.span)
    }

    /// The word around a byte.
    pub fn word_at(&self, source: SourceId, at: usize) -> Option<Span> {
        let text = &self.sources.get(source)?.text;
        let (before, behind) = (text.get(..at)?, text.get(at..)?);
        let start = before.len() - before.chars().rev().take_while(|c| is_name_char(*c)).count();
        let end = at + behind.chars().take_while(|c| is_name_char(*c)).count();
        (start < end).then(|| Span::new(source, start, end))
    }

    /// Where something is defined.
    pub fn definition(&self, target: Target) -> Span {
        match target {
            Target::Def(id) => self.program.defs[id].span,
            Target::Ctor(id) => self.program.ctors[id].span,
            Target::Type(id) => self.program.types[id].span,
            Target::Field(ctor, index) => {
                self.fields.get(&ctor).and_then(|fields| fields.get(index)).copied().unwrap_or(Span::NONE)
            }
            Target::Local(at) => at,
            Target::Module(id) => Span::new(self.modules[id].source, 0, 0),
        }
    }

    /// All places of a name, its definition among them, in all files of the program.
    pub fn places(&self, target: Target) -> impl Iterator<Item = Span> {
        let definition = self.definition(target);
        self.uses.iter().filter(move |found| self.definition(found.target) == definition).map(|found| found.span)
    }

    /// Whether a source is a part of the prelude: its topic, for example `list`.
    pub fn prelude_file(&self, source: SourceId) -> Option<&str> {
        let module = self.modules.iter().find(|module| module.source == source)?;
        let name = &self.sources.get(source)?.name;
        let name = name.strip_prefix("<prelude>/").filter(|_| module.is_prelude());
        name.and_then(|name| name.strip_suffix(".bend"))
    }

    /// The source of a part of the prelude.
    pub fn prelude_source(&self, file: &str) -> Option<SourceId> {
        let sources = self.modules.iter().map(|module| module.source);
        sources.into_iter().find(|source| self.prelude_file(*source) == Some(file))
    }

    /// The type of a definition of the main file, as text; none if nothing is known of it.
    pub fn type_of(&self, name: &str) -> Option<String> {
        let scheme = self.type_without_captures(self.program.def_named(name)?);
        let is_known = !matches!(scheme.ty, Type::Any | Type::Hole | Type::Var(_));
        is_known.then(|| show_scheme(&self.program, &scheme))
    }

    /// The syntax tree of a source.
    pub fn module(&self, source: SourceId) -> Option<&Module> {
        self.modules.iter().find(|module| module.source == source).map(|module| &module.module)
    }

    /// Whether something belongs to the program itself, not to the prelude.
    fn is_own(&self, origin: Origin) -> bool {
        match origin {
            Origin::User | Origin::Generated(_) => true,
            Origin::Prelude => false,
        }
    }
}
