//! What an editor asks: names and what they stand for, types, completion, calls, renaming.

use crate::lower::Files;
use girih_base::span::SourceId;
use girih_bend::Options;
use girih_bend::analysis::completion::{Kind, complete};
use girih_bend::analysis::{Analysis, MAIN, analyze};
use girih_bend::loader::{File, LoadError, Loader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A program whose texts have a mark `‸` where something is asked.
struct Marked {
    files: Vec<(String, String)>,
    at: usize,
}

impl Marked {
    fn new(main: &str, others: &[(&str, &str)]) -> Marked {
        let at = main.find('‸').expect("the text has a mark");
        let mut files = vec![("main".to_owned(), main.replacen('‸', "", 1))];
        files.extend(others.iter().map(|(path, text)| (path.to_string(), text.to_string())));
        Marked { files, at }
    }

    fn with<T>(&self, ask: impl FnOnce(&dyn Loader, usize) -> T) -> T {
        let files: Vec<(&str, &str)> = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        ask(&Files(&files), self.at)
    }

    fn analysis(&self) -> Analysis {
        self.with(|loader, _| analyze(loader, &Options::library(), None))
    }
}

fn hover(main: &str) -> String {
    let program = Marked::new(main, &[]);
    let hover = program.analysis().hover(MAIN, program.at).expect("there is a name");
    hover.comment.map_or(hover.code.clone(), |comment| format!("{}\n{comment}", hover.code))
}

/// The text from a definition to the end of its line.
fn definition(main: &str, others: &[(&str, &str)]) -> String {
    let program = Marked::new(main, others);
    let analysis = program.analysis();
    let (_, target) = analysis.target_at(MAIN, program.at).expect("there is a name");
    let span = analysis.definition(target);
    let source = analysis.sources.get(span.source).expect("it is defined in a source");
    let line = source.text[span.start as usize..].lines().next().unwrap_or_default();
    format!("{}: {line}", source.name)
}

/// The main file after a renaming, or why it was refused.
fn renamed(main: &str, new: &str) -> String {
    let program = Marked::new(main, &[]);
    let analysis = program.analysis();
    let edits = program.with(|loader, at| analysis.rename(loader, &Options::library(), MAIN, at, new));
    match edits {
        Ok(edits) => {
            let mut text = program.files[0].1.clone();
            for edit in edits.iter().rev() {
                text.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
            }
            text
        }
        Err(refusal) => format!("refused: {refusal}"),
    }
}

fn completed(main: &str, others: &[(&str, &str)]) -> Vec<(String, Kind)> {
    let program = Marked::new(main, others);
    let completion = program.with(|loader, at| complete(loader, &Options::library(), at));
    let typed = program.files[0].1[completion.start..program.at].to_owned();
    let candidates = completion.candidates.into_iter().filter(|candidate| candidate.text.starts_with(&typed));
    candidates.map(|candidate| (candidate.text, candidate.kind)).collect()
}

fn texts(candidates: &[(String, Kind)]) -> Vec<&str> {
    candidates.iter().map(|(text, _)| text.as_str()).collect()
}

const INSERT: &str = "\
# Puts a number into a sorted list.
# The list stays sorted.
def insert(x: u24, xs: List(u24)) -> List(u24):
  match xs:
    case List/Nil:
      return [x]
    case List/Cons:
      if x < xs.head:
        return List/Cons(x, xs)
      else:
        return List/Cons(xs.head, insert(x, xs.tail))
";

/// [`INSERT`] with a mark before the `number`-th occurrence of a text.
fn marked(text: &str, word: &str, number: usize) -> String {
    let (at, _) = text.match_indices(word).nth(number).expect("the word occurs so often");
    format!("{}‸{}", &text[..at], &text[at..])
}

#[test]
fn what_names_are_is_said_with_types_and_comments() {
    assert_eq!(
        hover(&marked(INSERT, "insert", 1)),
        "def insert(x: u24, xs: List(u24)) -> List(u24)\nPuts a number into a sorted list.\nThe list stays sorted."
    );
    assert_eq!(hover(&marked(INSERT, "x < xs", 0)), "x: u24");
    assert_eq!(hover(&marked(INSERT, "xs.head", 0)), "xs: List(u24)");
    assert_eq!(hover(&marked(INSERT, "head", 0)), "head: u24    # a field of List/Cons");
    assert!(
        hover(&marked(INSERT, "List/Cons", 1))
            .starts_with("List/Cons { head: T, ~tail: List(T) }    # a constructor of List(T)")
    );
    let prelude = hover("def main():\n  return ‸List/reverse([1])\n");
    assert_eq!(prelude, "def List/reverse(xs: List(T)) -> List(T)\nThe same elements, last first.");
}

#[test]
fn types_that_nobody_wrote_are_inferred() {
    let text = "def twice(f, x):\n  return f(f(x))\n\ndef main():\n  y = ‸twice(lambda n: n + 1, 3)\n  return y\n";
    assert_eq!(hover(text), "def twice(f, x)\n# inferred: (a -> a) -> a -> a");
    let program = Marked::new(text, &[]);
    let inlays = program.analysis().inlays(MAIN);
    let shown: Vec<&str> = inlays.iter().map(|inlay| inlay.text.as_str()).collect();
    assert_eq!(shown, [": a -> a", ": a", " -> a", " -> u24"]);
    let unknown = "def main():\n  return ‸f(1)\n\ndef f(x) -> Any:\n  return x\n\ndef g(x):\n  return [f(x)]\n";
    let inlays = Marked::new(unknown, &[]).analysis().inlays(MAIN);
    let shown: Vec<&str> = inlays.iter().map(|inlay| inlay.text.as_str()).collect();
    assert_eq!(shown, [" -> List(Any)"], "`Any` alone says nothing");
    assert_eq!(hover("def main():\n  (a, b) = (1, 2.5)\n  return ‸b\n"), "b: f24");
}

#[test]
fn definitions_are_found_in_all_files() {
    let lib = (
        "lib/shapes",
        "# A shape.\ntype Shape:\n  Circle { radius: f24 }\n\ndef area(s: Shape) -> f24:\n  return 1.0\n",
    );
    let main = "from lib/shapes import (Shape, area)\n\ndef main(s: Shape) -> f24:\n  match s:\n    case Shape/Circle:\n      return area(s) * s.radius\n";
    let at = |word: &str, number| definition(&marked(main, word, number), &[lib]);
    assert_eq!(at("area", 1), "lib/shapes.bend: area(s: Shape) -> f24:");
    assert_eq!(at("area", 0), "lib/shapes.bend: area(s: Shape) -> f24:");
    assert_eq!(at("Circle", 0), "lib/shapes.bend: Circle { radius: f24 }");
    assert_eq!(at("radius", 0), "lib/shapes.bend: radius: f24 }");
    assert_eq!(at("lib/shapes", 0), "lib/shapes.bend: # A shape.");
    assert_eq!(at("Shape)", 0).as_str(), "lib/shapes.bend: Shape:");
    assert_eq!(at("s.radius", 0), "main.bend: s: Shape) -> f24:");
}

#[test]
fn a_variable_is_one_wherever_it_is_named_again() {
    let program = "def f(n, ‸m):\n  m += n\n  if n:\n    k = m\n  else:\n    k = 2\n  switch m:\n    case 0:\n      return k\n    case _:\n      return m-1 + k\n";
    assert_eq!(renamed(program, "total"), program.replace('‸', "").replace('m', "total"));
    let k = marked(&program.replace('‸', ""), "k", 3);
    assert_eq!(renamed(&k, "kept"), program.replace('‸', "").replace('k', "kept"));
    let rules = "(f 0 ‸x) = x\n(f n x) = (f (- n 1) (+ x n))\n\nmain = (f 3 4)\n";
    assert_eq!(renamed(rules, "y"), "(f 0 y) = y\n(f n x) = (f (- n 1) (+ x n))\n\nmain = (f 3 4)\n");
    assert_eq!(
        renamed("(f‸ 0) = 0\n(f n) = (f (- n 1))\n\nmain = (f 3)\n", "down"),
        "(down 0) = 0\n(down n) = (down (- n 1))\n\nmain = (down 3)\n"
    );
}

#[test]
fn fields_constructors_and_types_are_renamed_where_they_are_written() {
    let text = "type ‸Shape:\n  Circle { radius: f24 }\n  Dot\n\ndef area(s: Shape) -> f24:\n  match s:\n    case Shape/Circle:\n      return s.radius\n    case Shape/Dot:\n      return 0.0\n\ndef main():\n  return area(Shape/Circle { radius: 2.0 })\n";
    let plain = text.replace('‸', "");
    assert_eq!(renamed(text, "Form"), plain.replace("Shape", "Form"));
    assert_eq!(renamed(&marked(&plain, "radius", 1), "r"), plain.replace("radius", "r"));
    assert_eq!(renamed(&marked(&plain, "Circle", 1), "Disc"), plain.replace("Circle", "Disc"));
}

#[test]
fn renaming_is_refused_where_the_program_would_change() {
    let text = "def f(x):\n  return x\n\ndef g(‸x, y):\n  return f(x) + y\n";
    assert_eq!(renamed(text, "f").split(':').next(), Some("refused"));
    assert_eq!(renamed(text, "y").split(':').next(), Some("refused"));
    assert_eq!(renamed(text, "3x").split(':').next(), Some("refused"));
    assert_eq!(renamed(&text.replace('‸', "").replace("def f", "def ‸f"), "g").split(':').next(), Some("refused"));
    let start = renamed("def ‸main():\n  return 1\n", "start");
    assert_eq!(start, "refused: `main` is where the program starts, which is found by this name");
    let prelude = renamed("def main():\n  return ‸List/reverse([1])\n", "other");
    assert_eq!(prelude, "refused: `List/reverse` belongs to the prelude, which every program has");
}

#[test]
fn names_in_scope_complete_what_does_not_parse_yet() {
    let broken = "def f(apple: u24, xs: List(u24)) -> u24:\n  apricot = apple + 1\n  match xs:\n    case List/Nil:\n      return g(ap‸\n    case List/Cons:\n      return xs.head\n\ndef apply(x):\n  return x\n";
    assert_eq!(texts(&completed(broken, &[])), ["apple", "apricot", "apply"]);
    let fields = completed(&broken.replace("(ap‸", "(1)").replace("return xs.head", "return xs.‸"), &[]);
    assert_eq!(fields, [("xs.head".to_owned(), Kind::Field), ("xs.tail".to_owned(), Kind::Field)]);
    let nothing_yet = "def f(first, second):\n  third = first\n  return ‸\n\ndef main():\n  return f(1, 2)\n";
    assert_eq!(texts(&completed(nothing_yet, &[]))[..3], ["first", "second", "third"]);
    let functional = "f one two = (+ one ‸\n\nmain = (f 1 2)\n";
    assert_eq!(texts(&completed(functional, &[]))[..2], ["one", "two"]);
    assert_eq!(completed("def main():\n  return 1 # re‸\n", &[]), []);
    assert!(texts(&completed("def main():\n  ret‸\n", &[])).contains(&"return"));
}

/// A file that ends inside a line, behind a character of several bytes.
#[test]
fn the_last_line_may_lack_its_end() {
    let names = completed("def f(apple):\n  x = (ap‸\n  # é", &[]);
    assert!(names.iter().any(|(name, _)| name == "apple"), "{names:?}");
}

#[test]
fn imports_complete_files_and_names() {
    let lib = ("lib", "def green(x):\n  return x\n\ntype Grey:\n  Light\n");
    assert_eq!(texts(&completed("from l‸\n", &[lib])), ["lib"]);
    assert_eq!(texts(&completed("from lib import gr‸\n", &[lib])), ["green"]);
}

#[test]
fn calls_show_the_parameter_that_comes_next() {
    let signature = |text: &str| {
        let program = Marked::new(text, &[]);
        let signature = program.analysis().signature(MAIN, program.at).expect("a call is open");
        (signature.label, signature.active)
    };
    let text =
        "def clamp(low: u24, high: u24, x: u24) -> u24:\n  return x\n\ndef main():\n  return clamp(1, (2 + 3), ‸\n";
    assert_eq!(signature(text), ("clamp(low: u24, high: u24, x: u24) -> u24".to_owned(), 2));
    let functional = "clamp (low: u24) (high: u24) : u24 = low\n\nmain = (clamp 1 ‸\n";
    assert_eq!(signature(functional), ("clamp(low: u24, high: u24) -> u24".to_owned(), 1));
    assert_eq!(signature("def main():\n  return List/Cons(‸)\n").0, "List/Cons(head: T, tail: List(T)) -> List");
}

#[test]
fn errors_leave_the_rest_of_a_file_known() {
    let text = format!("{INSERT}\ndef broken(x:\n  return )\n\ndef main():\n  return ‸insert(1, [])\n");
    assert!(hover(&text).starts_with("def insert(x: u24"));
    let outline = Marked::new(&text, &[]).analysis().outline(MAIN);
    let names: Vec<&str> = outline.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["insert", "broken", "main"]);
    let inside = format!("{INSERT}\ndef broken(x):\n  return ‸insert(x, \n\ndef main():\n  return 1\n");
    assert!(hover(&inside).starts_with("def insert(x: u24"), "also inside the item with the error");
}

/// A program of the tests of the library.
struct OnDisk(PathBuf);

impl Loader for OnDisk {
    fn main(&self) -> Result<File, LoadError> {
        let text = std::fs::read_to_string(&self.0).expect("the program can be read");
        Ok(File { name: self.0.display().to_string(), text })
    }
    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let place = self.0.parent().expect("it is in a folder").join(format!("{path}.bend"));
        let text = std::fs::read_to_string(&place).ok();
        Ok(text.map(|text| File { name: place.display().to_string(), text }))
    }
    fn folder(&self, path: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(self.0.parent()?.join(path)).ok()?;
        let names =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".bend").map(str::to_owned));
        let mut names: Vec<String> = names.collect();
        names.sort();
        Some(names)
    }
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "bend") {
            found.push(path);
        }
    }
}

/// Where names begin in a text.
fn words(text: &str) -> Vec<usize> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let starts = text.char_indices().filter(|(at, c)| is_name(*c) && !text[..*at].ends_with(is_name));
    starts.map(|(at, _)| at).collect()
}

/// Names that the language looks for, so that a program with another name there is another program.
fn has_a_meaning(name: &str, text: &str) -> bool {
    let is_monad = text.contains(&format!("{name}/bind"));
    ["main", "Main", "fork"].contains(&name) || name.ends_with("/bind") || name.ends_with("/wrap") || is_monad
}

/// Names that are not renamed, and the programs: an import names its file so, a pattern binds the name twice, and a definition's rules are told apart by the column in which they stand.
const REFUSED: [(&str, &str); 4] = [
    ("errors/names/repeated_bind.bend", "x"),
    ("imports/imports_of_imports.bend", "twice"),
    ("imports/name_of_its_file.bend", "twice"),
    ("local/functional_rules.bend", "even"),
];

#[test]
fn every_name_of_the_test_programs_can_be_renamed() {
    let mut files = vec![];
    programs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bend"), &mut files);
    files.sort();
    assert!(files.len() > 300, "the programs are there");
    let (mut renamed, mut refused) = (0, vec![]);
    for file in girih_workbench::share(16).of(files) {
        let loader = OnDisk(file.clone());
        let analysis = analyze(&loader, &Options::default(), None);
        if analysis.diagnostics.iter().any(|d| d.severity == girih_base::diag::Severity::Error) {
            continue;
        }
        let text = loader.main().expect("it was read before").text;
        let mut seen = BTreeSet::new();
        for at in words(&text) {
            let Ok((span, target)) = analysis.renamable(SourceId::new(0), at) else { continue };
            let name = analysis.sources.snippet(span).to_owned();
            if !seen.insert(analysis.definition(target)) || has_a_meaning(&name, &text) {
                continue;
            }
            match analysis.rename(&loader, &Options::default(), MAIN, at, "renamed0") {
                Ok(edits) => {
                    assert!(edits.iter().any(|edit| edit.span == analysis.definition(target)) || name.contains('/'));
                    renamed += 1;
                }
                Err(_) if REFUSED.iter().any(|(end, known)| file.ends_with(end) && *known == name) => {}
                Err(refusal) => refused.push(format!("{}: `{name}`: {refusal}", file.display())),
            }
        }
    }
    assert!(refused.is_empty(), "{renamed} were renamed; refused:\n{}", refused.join("\n"));
    assert!(renamed > 50, "only {renamed} names were renamed");
}

#[test]
fn damaged_programs_are_answered_too() {
    let mut files = vec![];
    programs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bend"), &mut files);
    files.sort();
    let mut asked = 0;
    for file in girih_workbench::share(16).of(files) {
        let text = std::fs::read_to_string(&file).expect("the program can be read");
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(1 + text.len() / 4).collect();
        for at in places {
            let behind = text[at..].char_indices().nth(5).map_or(text.len(), |(length, _)| at + length);
            // Something is missing; the rest is missing; there is a bracket too many.
            let damaged = [
                format!("{}{}", &text[..at], &text[behind..]),
                text[..at].to_owned(),
                format!("{}({}", &text[..at], &text[at..]),
            ];
            for text in damaged {
                let files = [("main", text.as_str())];
                let analysis = analyze(&Files(&files), &Options::library(), None);
                let is_inside = |end: u32| end as usize <= text.len();
                assert!(analysis.outline(MAIN).iter().all(|symbol| is_inside(symbol.span.end)));
                assert!(analysis.inlays(MAIN).iter().all(|inlay| is_inside(inlay.at.end)));
                assert!(analysis.hover(MAIN, at).is_none_or(|hover| is_inside(hover.span.end)));
                analysis.signature(MAIN, at);
                let completion = complete(&Files(&files), &Options::library(), at);
                assert!(completion.start <= at);
                asked += 1;
            }
        }
    }
    assert!(asked > 200, "only {asked} programs were asked about");
}
