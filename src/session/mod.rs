//! A program that grows while somebody types: definitions, which later ones of the same name replace, and expressions, which are computed at once.
//!
//! Every input is compiled with all definitions that count, as one program: so what depends on a changed definition is compiled anew. Invariant: the definitions of a session
//! have no errors together. An input that would change that is refused as a whole, and its errors are at places of what was typed ([`text`]).

mod definitions;
mod text;

use crate::error::Error;
use crate::loader::FileLoader;
use crate::program::Program;
use crate::run::{RunOptions, Stats, value_of_io};
use crate::stack::on_big_stack;
use definitions::{Definition, Input, read};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_bend::Options;
use girih_bend::analysis::analyze;
use girih_bend::analysis::completion::{Completion, complete};
use girih_bend::loader::{File, LoadError, Loader};
use girih_term::io::Host;
use std::path::{Path, PathBuf};
use text::{Origin, SessionText};

/// The name of the definition whose value is that of an expression. Nobody can tell it from others, but a `/` behind `it` is an unlikely name.
const VALUE: &str = "it/value";

/// The name of the last value.
const IT: &str = "it";

/// Longer values are not kept as text: the expression stands for them, and is computed again.
const KEPT: usize = 1 << 16;

/// What has been typed so far, as far as it counts.
#[derive(Clone, Debug)]
pub struct Session {
    /// Where imports are looked for.
    folder: PathBuf,
    definitions: Vec<Definition>,
    /// Everything that was typed or loaded, for the errors about it: name and text.
    origins: Vec<Origin>,
    typed: usize,
}

/// What came of an input.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Nothing was typed.
    Nothing,
    /// These names have been defined.
    Defined(Vec<String>),
    /// An expression has been computed.
    Value {
        /// Its value, as `girih run` prints it; of an `IO` what that ends with.
        text: String,
        /// Its type, if it is known.
        ty: Option<String>,
        /// What it took.
        stats: Box<Stats>,
    },
}

impl Session {
    /// A session without definitions, whose imports are files beside this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Session {
        Session { folder: folder.into(), definitions: vec![], origins: vec![], typed: 0 }
    }

    /// Takes definitions, or computes an expression.
    ///
    /// # Errors
    /// If it cannot be parsed or compiled, or fails while it runs. Then all definitions are as before.
    pub fn enter(&mut self, typed: &str, options: &RunOptions, host: &mut (dyn Host + Send)) -> Result<Answer, Error> {
        let origin = self.origin(typed);
        match read(typed, origin) {
            Input::Nothing => Ok(Answer::Nothing),
            Input::Definitions(definitions) => self.define(definitions).map(Answer::Defined),
            Input::Expression => self.compute(typed, origin, options, host),
        }
    }

    /// The type of an expression, which is not computed; none if nothing is known of it.
    ///
    /// # Errors
    /// If it cannot be parsed or compiled.
    pub fn type_of(&mut self, expression: &str) -> Result<Option<String>, Error> {
        let origin = self.origin(expression);
        let text = self.with_value(expression, origin);
        self.compile(&text, Some(VALUE))?;
        Ok(self.known_type(&text))
    }

    /// Takes the definitions of a file; those of the same names are replaced. From here on, imports are files beside it.
    ///
    /// # Errors
    /// If it cannot be read or has errors.
    pub fn load(&mut self, path: &Path) -> Result<Vec<String>, Error> {
        let file = FileLoader::new(path).main().map_err(|LoadError { message }| {
            Error::new(
                Sources::default(),
                vec![Diagnostic::new(Code::CannotRead, Span::NONE, message).hint("name a `.bend` file")],
            )
        })?;
        self.origins.push(Origin { name: file.name, text: file.text.clone() });
        let definitions = definitions::of_file(&file.text, self.origins.len() - 1);
        let before = std::mem::replace(&mut self.folder, path.parent().unwrap_or(Path::new("")).to_owned());
        self.define(definitions).inspect_err(|_| self.folder = before)
    }

    /// What can be written at the byte `at` of what is being typed.
    pub fn complete(&self, typed: &str, at: usize) -> Completion {
        let mut session = self.clone();
        let origin = session.origin(typed);
        let is_expression = matches!(read(typed, origin), Input::Expression) && !starts_definition(typed);
        let text =
            if is_expression { session.with_value(typed, origin) } else { session.text().with("", typed, origin, 0) };
        let Some(place) = text.place(origin, at) else { return Completion::default() };
        let loader = session.loader(&text);
        let mut completion = on_big_stack(|| complete(&loader, &Options::library(), place));
        completion.candidates.retain(|candidate| candidate.text != VALUE);
        // The name that is completed is as long here as there.
        completion.start = at.saturating_sub(place.saturating_sub(completion.start));
        completion
    }

    /// Keeps a text for errors about it.
    fn origin(&mut self, typed: &str) -> usize {
        self.typed += 1;
        self.origins.push(Origin { name: format!("input {}", self.typed), text: typed.to_owned() });
        self.origins.len() - 1
    }

    /// Adds definitions in the place of those that they replace.
    fn define(&mut self, new: Vec<Definition>) -> Result<Vec<String>, Error> {
        let names: Vec<String> = new.iter().flat_map(|definition| definition.names.iter().cloned()).collect();
        let before = self.definitions.clone();
        self.definitions.retain(|old| !old.names.iter().any(|name| names.contains(name)));
        self.definitions.extend(new);
        match self.compile(&self.text(), None) {
            Ok(_) => Ok(names),
            Err(error) => {
                self.definitions = before;
                Err(error)
            }
        }
    }

    fn compute(
        &mut self,
        typed: &str,
        origin: usize,
        options: &RunOptions,
        host: &mut (dyn Host + Send),
    ) -> Result<Answer, Error> {
        let text = self.with_value(typed, origin);
        let program = self.compile(&text, Some(VALUE))?;
        let outcome = program.run(host, options).map_err(|error| text.placed(error, &self.origins))?;
        let (shown, is_io) = match value_of_io(&outcome.text) {
            Some(inner) => (inner.to_owned(), true),
            None => (outcome.text, false),
        };
        let ty = self.known_type(&text);
        let inner =
            |ty: String| ty.strip_prefix("IO(").and_then(|ty| ty.strip_suffix(')')).map_or(ty.clone(), str::to_owned);
        let ty = if is_io { ty.map(inner) } else { ty };
        self.keep(&shown, ty.as_deref(), (typed, origin), is_io);
        Ok(Answer::Value { text: shown, ty, stats: Box::new(outcome.stats) })
    }

    /// Makes `it` the last value: as its text and of its type if that is the whole value and a program, else as the expression, which is computed again.
    fn keep(&mut self, shown: &str, ty: Option<&str>, expression: (&str, usize), is_io: bool) {
        let heads = [ty.map(|ty| format!("def {IT}() -> {ty}:\n  return ")), Some(format!("def {IT}():\n  return "))];
        // Floats are printed with three decimals.
        if shown.len() <= KEPT && !shown.contains('.') {
            self.origins.push(Origin { name: IT.to_owned(), text: shown.to_owned() });
            let origin = self.origins.len() - 1;
            for head in heads.into_iter().flatten() {
                let it = Definition { names: vec![IT.to_owned()], head, origin, range: 0..shown.len() };
                if self.define(vec![it]).is_ok() {
                    return;
                }
            }
            self.origins.pop();
        }
        let old = self.definitions.iter().position(|definition| definition.names == [IT]);
        let old = old.map(|position| self.definitions.remove(position));
        // What has effects is not done again: there is no last value then.
        if !is_io {
            let mut it = Definition::constant(IT, expression.1, 0..expression.0.len());
            if let Some(old) = old.filter(|_| definitions::words(expression.0).any(|word| word == IT)) {
                it.head = old.before_another(&self.origins[old.origin].text);
            }
            // It has just been compiled in another place.
            let _ = self.define(vec![it]);
        }
    }

    /// The type of the value of a text that has no errors.
    fn known_type(&self, text: &SessionText) -> Option<String> {
        let loader = self.loader(text);
        on_big_stack(|| analyze(&loader, &Options::library(), None).type_of(VALUE))
    }

    fn text(&self) -> SessionText {
        let definitions = self.definitions.iter();
        definitions.fold(SessionText::default(), |text, definition| {
            text.with(
                &definition.head,
                &self.origins[definition.origin].text[definition.range.clone()],
                definition.origin,
                definition.range.start,
            )
        })
    }

    /// All definitions, and that of the value of an expression.
    fn with_value(&self, expression: &str, origin: usize) -> SessionText {
        self.text().with(&format!("def {VALUE}():\n  return "), expression, origin, 0)
    }

    fn compile(&self, text: &SessionText, entry: Option<&str>) -> Result<Program, Error> {
        let options = Options { entry: entry.map(Into::into), ..Options::library() };
        let program = Program::load(&self.loader(text), &options);
        program.check().map_err(|error| text.placed(error, &self.origins))?;
        Ok(program)
    }

    fn loader(&self, text: &SessionText) -> SessionLoader {
        SessionLoader { text: text.text().to_owned(), files: FileLoader::new(self.folder.join("<session>")) }
    }
}

/// Whether what is typed begins like a definition.
fn starts_definition(typed: &str) -> bool {
    definitions::KEYWORDS.contains(&definitions::words(typed).next().unwrap_or_default())
}

/// Gives the text of a session as the main file.
struct SessionLoader {
    text: String,
    files: FileLoader,
}

impl Loader for SessionLoader {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "<session>".to_owned(), text: self.text.clone() })
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        self.files.file(path)
    }

    fn folder(&self, path: &str) -> Option<Vec<String>> {
        self.files.folder(path)
    }
}
