//! What somebody has typed: definitions, each with its names and its place, or an expression.

use girih_base::diag::Diagnostics;
use girih_base::lexer::is_name_char;
use girih_base::span::{SourceId, Span};
use girih_bend::ast::{Item, Module};
use girih_bend::parser::{Dialect, parse_example, parse_module};
use std::ops::Range;

/// Words that begin definitions and imports.
pub(super) const KEYWORDS: &[&str] = &["def", "type", "object", "hvm", "import", "from", "checked", "unchecked"];

/// A definition, or an import.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// What it defines; of an import its own text.
    pub names: Vec<String>,
    /// What stands before it in the program, though nobody has typed it.
    pub head: String,
    /// The text that it is a part of.
    pub origin: usize,
    /// Which part.
    pub range: Range<usize>,
}

impl Definition {
    /// A name for the value of an expression.
    pub fn constant(name: &str, origin: usize, range: Range<usize>) -> Definition {
        Definition { names: vec![name.to_owned()], head: format!("def {name}():\n  return "), origin, range }
    }

    /// Of a constant, the head of one with the same name whose expression may use the old value. `text` is what this one is a part of.
    pub fn before_another(&self, text: &str) -> String {
        let name = &self.names[0];
        let statements = self.head.split_once('\n').map_or("", |(_, statements)| statements);
        let before = statements.strip_suffix("return ").unwrap_or(statements);
        format!("def {name}():\n{before}{name} = {}\n  return ", &text[self.range.clone()])
    }
}

/// What an input is.
pub(super) enum Input {
    /// There is nothing but space and comments.
    Nothing,
    /// Definitions, or what was to be some.
    Definitions(Vec<Definition>),
    /// An expression, or nothing that can be understood.
    Expression,
}

/// Reads an input.
pub(super) fn read(text: &str, origin: usize) -> Input {
    let first = words(text).next().unwrap_or_default();
    if KEYWORDS.contains(&first) {
        return Input::Definitions(of_file(text, origin));
    }
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Input::Nothing;
    }
    if let Some(definition) = assignment(text, origin) {
        return Input::Definitions(vec![definition]);
    }
    match parsed(text) {
        Some(module) if !module.items.is_empty() => Input::Definitions(of_module(&module, text, origin)),
        Some(_) | None => Input::Expression,
    }
}

/// The definitions of a text; the whole text, if it has errors, so that the compiler reports them.
pub(super) fn of_file(text: &str, origin: usize) -> Vec<Definition> {
    match parsed(text) {
        Some(module) => of_module(&module, text, origin),
        None => vec![Definition { names: vec![], head: String::new(), origin, range: 0..text.len() }],
    }
}

fn of_module(module: &Module, text: &str, origin: usize) -> Vec<Definition> {
    let definition = |item: &Item| {
        let span = match item {
            Item::Import(import) => import.span,
            Item::Type(ty) => ty.span,
            Item::Def(def) => def.span,
            Item::Equations(def) => def.span,
            Item::Hvm(def) => def.span,
        };
        // The first line of an item is its own, and so is what stands behind it.
        let start = text[..span.start as usize].rfind('\n').map_or(0, |newline| newline + 1);
        Definition { names: names(item, text, span), head: String::new(), origin, range: start..span.end as usize }
    };
    module.items.iter().map(definition).collect()
}

/// What an item defines.
fn names(item: &Item, text: &str, span: Span) -> Vec<String> {
    match item {
        Item::Import(_) => vec![text[span.start as usize..span.end as usize].to_owned()],
        Item::Type(ty) => {
            let ctors = ty.ctors.iter().map(|ctor| ty.full_name(ctor).to_string());
            let mut names: Vec<String> = std::iter::once(ty.name.node.to_string()).chain(ctors).collect();
            names.dedup();
            names
        }
        Item::Def(def) => vec![def.name.node.to_string()],
        Item::Equations(def) => vec![def.name.node.to_string()],
        Item::Hvm(def) => vec![def.name.node.to_string()],
    }
}

/// `NAME = EXPRESSION`, as in a block of the imperative syntax: a name for a value.
fn assignment(text: &str, origin: usize) -> Option<Definition> {
    let start = text.len() - text.trim_start().len();
    let name = words(text).next()?;
    let behind = &text[start + name.len()..];
    let value = behind.trim_start().strip_prefix('=').filter(|value| !value.starts_with('='))?;
    let range = text.len() - value.trim_start().len()..text.trim_end().len();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text[start..].starts_with(name);
    let parses = is_name && parse_example(SourceId::new(0), text, range.clone(), &mut Diagnostics::default()).is_some();
    parses.then(|| Definition::constant(name, origin, range))
}

/// The syntax tree of a text without errors.
fn parsed(text: &str) -> Option<Module> {
    let mut diags = Diagnostics::default();
    let module = parse_module(SourceId::new(0), text, Dialect::User, &mut diags);
    (!diags.has_errors()).then_some(module)
}

/// The names and words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_name_char(c)).filter(|word| !word.is_empty())
}
