//! The documentation of programs and of the prelude as pages of HTML: what each file defines, with types, comments and source, and an index.
//!
//! | what | see |
//! |---|---|
//! | what there is to document | this file |
//! | how it stands on a page | [`page`] |
//!
//! Invariant: a page needs nothing but the other pages: every link leads to a place in one of them.

mod page;

use crate::error::Error;
use crate::loader::{FileLoader, TextLoader};
use crate::stack::on_big_stack;
use girih_base::diag::Severity;
use girih_base::span::{SourceId, Sources};
use girih_bend::Options;
use girih_bend::analysis::outline::{Kind, Symbol};
use girih_bend::analysis::{Analysis, analyze};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// A page: the name of its file, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// For example `sort.html`.
    pub file: String,
    /// HTML.
    pub text: String,
}

/// What one file defines.
struct Topic {
    /// The page's file.
    file: String,
    /// What people call it.
    title: String,
    is_prelude: bool,
    /// The comment with which the file begins.
    about: Option<String>,
    items: Vec<Item>,
}

/// A function or a type, with its constructors.
struct Item {
    name: String,
    kind: Kind,
    /// How it is defined, as Bend.
    code: String,
    comment: Option<String>,
    /// The definition's first line, and its text.
    line: usize,
    source: String,
    constructors: Vec<String>,
}

/// Where each name is documented: the page's file and the place in it; several times if several programs define it.
type Places = HashMap<String, Vec<(String, String)>>;

/// The pages about the prelude and about these programs, with the files that they import; the first is the index.
///
/// # Errors
/// If a file cannot be read, or has an error.
///
/// ```
/// let pages = girih::doc::pages(&[])?;
/// assert_eq!(pages[0].file, "index.html");
/// assert!(pages.iter().any(|page| page.file == "prelude-list.html" && page.text.contains("id=\"List/reverse\"")));
/// # Ok::<(), girih::Error>(())
/// ```
pub fn pages(files: &[PathBuf]) -> Result<Vec<Page>, Error> {
    on_big_stack(|| {
        let options = Options::library();
        let empty = TextLoader::new("empty.bend", "");
        let mut topics = topics(&analyze(&empty, &options, None), true, &mut HashSet::new());
        let mut seen = HashSet::new();
        for file in files {
            let analysis = analyze(&FileLoader::new(file), &options, None);
            if analysis.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
                return Err(Error::new(analysis.sources, analysis.diagnostics));
            }
            topics.extend(self::topics(&analysis, false, &mut seen));
        }
        name_apart(&mut topics);
        let places = places(&topics);
        let mut pages = vec![page::index(&topics)];
        pages.extend(topics.iter().map(|topic| page::topic(topic, &places)));
        Ok(pages)
    })
}

/// The files of a program, or those of the prelude; each of them once.
fn topics(analysis: &Analysis, prelude: bool, seen: &mut HashSet<String>) -> Vec<Topic> {
    let all = (0..analysis.sources.iter().count()).map(|number| SourceId::new(number as u32));
    let wanted = all.filter(|id| analysis.module(*id).is_some() && analysis.prelude_file(*id).is_some() == prelude);
    wanted.filter_map(|id| topic(analysis, id, seen)).collect()
}

fn topic(analysis: &Analysis, id: SourceId, seen: &mut HashSet<String>) -> Option<Topic> {
    let source = analysis.sources.get(id)?;
    if !seen.insert(source.name.clone()) {
        return None;
    }
    let prelude = analysis.prelude_file(id);
    let title = prelude.map_or(source.name.clone(), |topic| format!("Prelude: {topic}"));
    let word = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
    let file = match prelude {
        Some(topic) => format!("prelude-{}.html", word(topic)),
        None => format!("program-{}.html", word(source.name.trim_end_matches(".bend"))),
    };
    let is_shown = |symbol: &Symbol| prelude.is_none() || !symbol.name.contains('.');
    let outline = analysis.outline(id);
    let items = outline.iter().filter(|symbol| is_shown(symbol)).filter_map(|symbol| item(analysis, id, symbol));
    Some(Topic { file, title, is_prelude: prelude.is_some(), about: about(&source.text), items: items.collect() })
}

/// The comment with which a text begins, if a blank line is behind it: else it is that of the first definition.
fn about(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take_while(|line| line.starts_with('#') && !line.starts_with("#{")).collect();
    let is_apart = text.lines().nth(lines.len()).is_some_and(|line| line.trim().is_empty());
    let said: Vec<&str> = lines.iter().map(|line| line.trim_start_matches('#').trim()).collect();
    (is_apart && !said.is_empty()).then(|| said.join("\n"))
}

fn item(analysis: &Analysis, id: SourceId, symbol: &Symbol) -> Option<Item> {
    let hover = analysis.hover(id, symbol.name_span.start as usize)?;
    let constructor = |child: &Symbol| {
        let is_whole = child.name.contains('/');
        let name = || if is_whole { child.name.to_string() } else { format!("{}/{}", symbol.name, child.name) };
        (child.kind == Kind::Constructor).then(name)
    };
    let (line, _) = analysis.sources.line_column(id, symbol.span.start);
    Some(Item {
        name: symbol.name.to_string(),
        kind: symbol.kind,
        code: hover.code,
        comment: hover.comment,
        line,
        source: whole(&analysis.sources, symbol).to_owned(),
        constructors: symbol.children.iter().filter_map(constructor).collect(),
    })
}

/// The lines of a definition.
fn whole<'s>(sources: &'s Sources, symbol: &Symbol) -> &'s str {
    sources.snippet(symbol.span).trim_end()
}

/// Gives pages of one name a number.
fn name_apart(topics: &mut [Topic]) {
    let mut taken: HashSet<String> = HashSet::new();
    for topic in topics {
        let stem = topic.file.trim_end_matches(".html").to_owned();
        let mut number = 1;
        // Some systems take names for the same that differ in case alone.
        while !taken.insert(topic.file.to_lowercase()) {
            number += 1;
            topic.file = format!("{stem}-{number}.html");
        }
    }
}

fn places(topics: &[Topic]) -> Places {
    let mut places = Places::new();
    for topic in topics {
        for item in &topic.items {
            for name in item.constructors.iter().chain([&item.name]) {
                places.entry(name.clone()).or_default().push((topic.file.clone(), item.name.clone()));
            }
        }
    }
    places
}
