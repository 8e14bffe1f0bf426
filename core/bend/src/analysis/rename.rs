//! Renaming. The changed program is analysed again before anything is changed: if it has new errors, or if any name stands for
//! something else than before, renaming is refused, and the reason is said.

use super::{Analysis, Target, analyze};
use crate::Options;
use crate::loader::{File, LoadError, Loader};
use girih_base::diag::{Severity, Stage};
use girih_base::lexer::is_name_char;
use girih_base::span::{SourceId, Span};
use girih_term::Origin;
use std::collections::HashMap;

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

/// Why something cannot be renamed: a plain sentence without a full stop.
pub type Refusal = String;

impl Analysis {
    /// The name at a place, if it can be renamed at all.
    ///
    /// # Errors
    /// If there is no name, or it is not the program's own.
    pub fn renamable(&self, source: SourceId, at: usize) -> Result<(Span, Target), Refusal> {
        let (span, target) = self.target_at(source, at).ok_or("there is no name here that could be changed")?;
        let text = self.sources.snippet(span);
        let origin = match target {
            Target::Def(id) => self.program.defs[id].origin,
            Target::Ctor(id) => self.program.types[self.program.ctors[id].ty].origin,
            Target::Field(id, _) => self.program.types[self.program.ctors[id].ty].origin,
            Target::Type(id) => self.program.types[id].origin,
            Target::Local(_) => Origin::User,
            Target::Module(_) => {
                return Err(format!("`{text}` is the name of a file: rename the file, and then the imports"));
            }
        };
        if matches!(target, Target::Def(id) if self.program.entry == Some(id)) {
            return Err(format!("`{text}` is where the program starts, which is found by this name"));
        }
        let in_prelude = self.prelude_file(self.definition(target).source).is_some();
        if !self.is_own(origin) || in_prelude {
            return Err(format!("`{text}` belongs to the prelude, which every program has"));
        }
        let old = self.sources.snippet(self.definition(target));
        let span = part(text, old).map(|start| Span {
            start: span.start + start as u32,
            end: span.start + (start + old.len()) as u32,
            ..span
        });
        Ok((
            span.ok_or_else(|| {
                format!("`{text}` is another name for `{old}` here: rename `{old}` where it is written")
            })?,
            target,
        ))
    }

    /// What changes if the name at a place becomes `new`. `loader` and `options` are those of this analysis.
    ///
    /// # Errors
    /// If the name cannot be renamed, or the program would not mean the same.
    pub fn rename(
        &self,
        loader: &dyn Loader,
        options: &Options,
        source: SourceId,
        at: usize,
        new: &str,
    ) -> Result<Vec<Edit>, Refusal> {
        let (_, target) = self.renamable(source, at)?;
        let is_simple = matches!(target, Target::Local(_) | Target::Field(..) | Target::Ctor(_));
        check_name(new, is_simple)?;
        let syntax =
            |d: &&girih_base::diag::Diagnostic| d.severity == Severity::Error && d.code.stage() == Stage::Syntax;
        if let Some(error) = self.diagnostics.iter().find(syntax) {
            return Err(format!(
                "a part of the program cannot be read, so uses of the name may be missed: {}",
                error.message
            ));
        }
        let edits = self.edits(target, new);
        let mut texts = HashMap::new();
        for edit in edits.iter().rev() {
            let Some(source) = self.sources.get(edit.span.source) else { continue };
            let text: &mut String = texts.entry(source.name.clone()).or_insert_with(|| source.text.clone());
            text.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
        }
        let changed = analyze(&Changed { loader, texts }, options, None);
        self.compare(&changed, new)?;
        Ok(edits)
    }

    /// The changes, in the order of the text.
    fn edits(&self, target: Target, new: &str) -> Vec<Edit> {
        let definition = self.definition(target);
        let old = self.sources.snippet(definition);
        let mut edits = vec![];
        for found in &self.uses {
            let text = self.sources.snippet(found.span);
            // A constructor is written with its type in front.
            let of_type = match (target, found.target) {
                (Target::Type(ty), Target::Ctor(ctor)) => {
                    self.program.ctors[ctor].ty == ty && self.definition(found.target) != definition
                }
                _other => false,
            };
            let whole = if of_type { text.rsplit_once('/').map(|(ty, _)| ty) } else { Some(text) };
            let is_it = of_type || self.definition(found.target) == definition;
            let Some(start) = whole.filter(|_| is_it).and_then(|whole| part(whole, old)) else { continue };
            let start = found.span.start + start as u32;
            edits
                .push(Edit { span: Span { start, end: start + old.len() as u32, ..found.span }, text: new.to_owned() });
        }
        edits.sort_by_key(|edit| edit.span);
        edits.dedup_by_key(|edit| edit.span);
        edits
    }

    /// Whether a changed program means what this one means.
    fn compare(&self, changed: &Analysis, new: &str) -> Result<(), Refusal> {
        let errors = |analysis: &Analysis| {
            let errors = analysis.diagnostics.iter().filter(|d| d.severity == Severity::Error);
            errors.map(|d| (d.code, d.message.clone())).collect::<Vec<_>>()
        };
        let (before, after) = (errors(self), errors(changed));
        if after.len() > before.len() {
            let added = after.iter().find(|error| !before.contains(error)).or(after.last());
            return Err(format!("the name `{new}` does not work: {}", added.map_or("", |(_, message)| message)));
        }
        if self.meanings() != changed.meanings() {
            return Err(format!(
                "`{new}` is the name of something else already, and the program would not mean the same"
            ));
        }
        Ok(())
    }

    /// For each name in the order of the text: the number of the name that defines it.
    fn meanings(&self) -> Vec<Option<usize>> {
        let own: Vec<_> = self.uses.iter().filter(|found| self.prelude_file(found.span.source).is_none()).collect();
        let numbers: HashMap<Span, usize> = own.iter().enumerate().map(|(i, found)| (found.span, i)).collect();
        own.iter().map(|found| numbers.get(&self.definition(found.target)).copied()).collect()
    }
}

/// Where the name `old` stands in a text that ends with it: alone, or behind a path.
fn part(text: &str, old: &str) -> Option<usize> {
    let path = text.strip_suffix(old)?;
    (path.is_empty() || path.ends_with('/')).then_some(path.len())
}

fn check_name(new: &str, is_simple: bool) -> Result<(), Refusal> {
    let starts_well = new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !new.chars().all(is_name_char) || new.contains("__") {
        return Err(format!(
            "`{new}` is not a name: a name has letters, digits, `_`, `.`, `-` and `/`, and starts with a letter"
        ));
    }
    if is_simple && new.contains(['/', '.']) {
        return Err(format!(
            "`{new}` cannot be the name of a variable, a field or a constructor: it has `/` or `.` in it"
        ));
    }
    Ok(())
}

/// A program of which some files have another text.
struct Changed<'l> {
    loader: &'l dyn Loader,
    /// By the names of files.
    texts: HashMap<String, String>,
}

impl Changed<'_> {
    fn change(&self, file: File) -> File {
        let text = self.texts.get(&file.name).cloned();
        File { text: text.unwrap_or(file.text), name: file.name }
    }
}

impl Loader for Changed<'_> {
    fn main(&self) -> Result<File, LoadError> {
        self.loader.main().map(|file| self.change(file))
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        Ok(self.loader.file(path)?.map(|file| self.change(file)))
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        self.loader.folder(path)
    }
}
