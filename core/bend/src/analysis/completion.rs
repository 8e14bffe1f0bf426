//! What can be written at a place.
//!
//! What is being written does not parse yet. So the text is first repaired around the place, in one of a few ways, until the item
//! there parses: then the names in scope are what the compiler says.

use super::calls::read;
use super::{Analysis, MAIN, Target, analyze};
use crate::Options;
use crate::ast::{Item, Module};
use crate::loader::{File, LoadError, Loader};
use crate::parser::{Dialect, parse_module};
use girih_base::diag::Diagnostics;
use girih_base::lexer::is_name_char;
use girih_base::num::NumKind;
use std::collections::HashSet;

/// What a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A local variable.
    Variable,
    /// A field of a variable.
    Field,
    /// A function.
    Function,
    /// A constructor.
    Constructor,
    /// A data type, or a type of numbers.
    Type,
    /// A word of the language.
    Keyword,
    /// A file to import.
    File,
}

/// Something that can be written at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is written.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Its definition or type.
    pub detail: Option<String>,
}

/// What can be written at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The byte where the name begins that is completed.
    pub start: usize,
    /// The candidates; those that do not begin like the name are among them.
    pub candidates: Vec<Candidate>,
}

/// Words that begin or continue a construct.
pub(super) const KEYWORDS: &[&str] = &[
    "def",
    "type",
    "object",
    "import",
    "from",
    "hvm",
    "return",
    "if",
    "elif",
    "else",
    "match",
    "case",
    "switch",
    "fold",
    "bend",
    "when",
    "with",
    "open",
    "use",
    "let",
    "ask",
    "lambda",
    "for",
    "in",
    "as",
    "checked",
    "unchecked",
];

/// What stands for a name that is not written yet.
const PLACEHOLDER: &str = "placeholder";

/// What can be written at the byte `at` of the main file.
pub fn complete(loader: &dyn Loader, options: &Options, at: usize) -> Completion {
    let Ok(File { text, .. }) = loader.main() else { return Completion::default() };
    let Some(before) = text.get(..at) else { return Completion::default() };
    let start = before.len() - before.chars().rev().take_while(|c| is_name_char(*c)).count();
    let is_number = text[start..at].starts_with(|c: char| c.is_ascii_digit());
    if read(&text[..start]).is_quoted || is_number {
        return Completion { start, candidates: vec![] };
    }
    let line = &text[text[..start].rfind('\n').map_or(0, |newline| newline + 1)..start];
    if let Some(candidates) = imports(loader, line, &text[start..at]) {
        return Completion { start, candidates };
    }
    let repaired = repairs(&text, start, at).into_iter().find(|(text, probe)| parses_at(text, *probe));
    let (text, probe) = repaired.map_or((text, None), |(text, probe)| (text, Some(probe)));
    let analysis = analyze(&WithMain { loader, text }, options, probe);
    Completion { start, candidates: analysis.candidates() }
}

/// A program whose main file has another text.
struct WithMain<'l> {
    loader: &'l dyn Loader,
    text: String,
}

impl Loader for WithMain<'_> {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { text: self.text.clone(), ..self.loader.main()? })
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        self.loader.file(path)
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        self.loader.folder(path)
    }
}

/// Ways to make the item around a place parse, each with the byte where the name stands then.
fn repairs(text: &str, start: usize, at: usize) -> Vec<(String, usize)> {
    let end = at + text[at..].chars().take_while(|c| is_name_char(*c)).count();
    let word = if start == end { PLACEHOLDER } else { &text[start..end] };
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = end + text[end..].find('\n').unwrap_or(text.len() - end);
    let indentation = text[line_start..].len() - text[line_start..].trim_start_matches(' ').len();
    let item_end = line_end + item_length(&text[line_end..]);
    let block_end = line_end + block_length(&text[line_end..], indentation);
    let (head, indent) = (&text[..line_start], " ".repeat(indentation));
    let returned = |rest: usize| {
        let place = line_start + indentation + "return ".len();
        (format!("{head}{indent}return {word}{}", &text[rest..]), place)
    };
    let open = read(&text[..start]).open;
    let closing: String = open.iter().rev().map(|open| closing(open.bracket)).collect();
    let closed = |rest: usize| (format!("{}{word}{closing}{}", &text[..start], &text[rest..]), start);
    let mut repairs =
        vec![(format!("{}{word}{}", &text[..start], &text[end..]), start), closed(line_end), closed(item_end)];
    // A statement of the imperative syntax is indented.
    if indentation > 0 {
        repairs.extend([returned(line_end), returned(block_end), returned(item_end)]);
    }
    repairs
}

fn closing(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _brace => '}',
    }
}

/// How much of a text, which begins at the end of a line, belongs to the item of that line.
fn item_length(text: &str) -> usize {
    block_length(text, 0)
}

/// How much of a text, which begins at the end of a line, stands deeper than `indentation`.
fn block_length(text: &str, indentation: usize) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n').skip(1) {
        let depth = line.len() - line.trim_start_matches(' ').len();
        if depth <= indentation && !line.trim().is_empty() {
            break;
        }
        length += line.len();
    }
    // The end of the line itself stays, if nothing is left out, and so does the end of the last one, which a file may lack.
    let first = text.find('\n').map_or(0, |newline| newline + 1);
    let end = first + length;
    if length == 0 { 0 } else { end - usize::from(text[..end].ends_with('\n')) }
}

/// Whether the item around a byte has no syntax error.
fn parses_at(text: &str, at: usize) -> bool {
    let module = parse_module(MAIN, text, Dialect::User, &mut Diagnostics::default());
    let at = at as u32;
    !module.broken.iter().any(|broken| broken.span.start <= at && at <= broken.span.end)
        && module.items.iter().any(|item| {
            let span = whole(item);
            span.start <= at && at <= span.end
        })
}

fn whole(item: &Item) -> girih_base::span::Span {
    match item {
        Item::Import(import) => import.span,
        Item::Type(ty) => ty.span,
        Item::Def(def) => def.span,
        Item::Equations(def) => def.span,
        Item::Hvm(def) => def.span,
    }
}

/// The candidates of an import, of which `line` is what stands before the name `word`; none if the line is not an import.
fn imports(loader: &dyn Loader, line: &str, word: &str) -> Option<Vec<Candidate>> {
    let candidate = |text: String, kind| Candidate { text, kind, detail: None };
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["from"] | ["import", ..] => {
            let folder = word.rsplit_once('/').map_or("", |(folder, _)| folder);
            let files = loader.folder(folder.trim_start_matches("./")).unwrap_or_default().into_iter();
            let path = |file: String| if folder.is_empty() { file } else { format!("{folder}/{file}") };
            Some(files.map(|file| candidate(path(file), Kind::File)).collect())
        }
        ["from", _] => Some(vec![candidate("import".to_owned(), Kind::Keyword)]),
        ["from", path, "import", ..] => {
            let file = loader.file(path.trim_start_matches("./")).ok().flatten();
            let in_file = file.map(|file| parse_module(MAIN, &file.text, Dialect::User, &mut Diagnostics::default()));
            let names = in_file.iter().flat_map(top_level);
            let files = loader.folder(path.trim_start_matches("./")).unwrap_or_default();
            Some(names.chain(files.into_iter().map(|file| candidate(file, Kind::File))).collect())
        }
        _ => None,
    }
}

/// What can be imported from a file by its name.
fn top_level(module: &Module) -> Vec<Candidate> {
    let name = |item: &Item| match item {
        Item::Import(_) => None,
        Item::Type(ty) => Some((ty.name.node.to_string(), Kind::Type)),
        Item::Def(def) => Some((def.name.node.to_string(), Kind::Function)),
        Item::Equations(def) => Some((def.name.node.to_string(), Kind::Function)),
        Item::Hvm(def) => Some((def.name.node.to_string(), Kind::Function)),
    };
    let names = module.items.iter().filter_map(name);
    names.map(|(text, kind)| Candidate { text, kind, detail: None }).collect()
}

impl Analysis {
    /// What is in scope at the probe, the names of the top level, and the words of the language. The innermost comes first.
    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = self
            .visible
            .iter()
            .map(|visible| {
                let ty = visible.variable.and_then(|variable| self.types.locals.get(&variable));
                let is_function = self.local_function(visible.at).is_some();
                let kind = match visible.name.contains('.') {
                    true => Kind::Field,
                    false if is_function => Kind::Function,
                    false => Kind::Variable,
                };
                Candidate { text: visible.name.to_string(), kind, detail: ty.cloned() }
            })
            .collect();
        candidates.sort_by(|a, b| a.text.cmp(&b.text));
        // What the prelude needs for itself has a dot in its name.
        let is_helper = |name: &str, target: Target| {
            name.contains('.') && self.prelude_file(self.definition(target).source).is_some()
        };
        let names = self.names.iter().filter(|(name, target)| !is_helper(name, *target));
        let mut global: Vec<Candidate> = names
            .map(|(name, target)| {
                let kind = match target {
                    Target::Def(_) => Kind::Function,
                    Target::Ctor(_) => Kind::Constructor,
                    Target::Type(_) => Kind::Type,
                    Target::Field(..) => Kind::Field,
                    Target::Local(_) => Kind::Variable,
                    Target::Module(_) => Kind::File,
                };
                let detail = match target {
                    Target::Def(id) => {
                        Some(girih_term::print::show_scheme(&self.program, &self.type_without_captures(*id)))
                    }
                    _other => None,
                };
                Candidate { text: name.to_string(), kind, detail }
            })
            .collect();
        global.sort_by(|a, b| a.text.cmp(&b.text));
        candidates.extend(global);
        let word = |text: &str, kind| Candidate { text: text.to_owned(), kind, detail: None };
        candidates.extend(NumKind::ALL.iter().map(|kind| word(kind.name(), Kind::Type)));
        candidates.extend(["Any", "None"].map(|name| word(name, Kind::Type)));
        candidates.extend(KEYWORDS.iter().map(|keyword| word(keyword, Kind::Keyword)));
        let mut seen = HashSet::new();
        candidates.retain(|candidate| {
            candidate.text != PLACEHOLDER && seen.insert((candidate.text.clone(), candidate.kind == Kind::Type))
        });
        candidates
    }
}
