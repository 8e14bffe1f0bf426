//! `girih doc`: every link leads to a place in one of the pages, and pages need nothing from elsewhere.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = "\
# A program with pages.

# A point of the <plane>.
type Point:
  Point { x: f24, y: f24 }

#{
  The sum of the coordinates of a `Point`.

  See `List/reverse`, too.
#}
def sum(p: Point) -> f24:
  match p:
    case Point/Point:
      return p.x + p.y

def main() -> f24:
  return sum(Point/Point(1.0, 2.0))
";

fn doc(folder: &Path, arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_girih")).current_dir(folder).arg("doc").args(arguments).output();
    command.expect("the command was built with this test")
}

/// The texts between two others.
fn between<'t>(text: &'t str, front: &'t str, back: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(front).skip(1).filter_map(move |rest| rest.split(back).next())
}

#[test]
fn links_lead_to_places_and_nothing_comes_from_elsewhere() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("point.bend"), PROGRAM).expect("there is room");
    let output = doc(folder.path(), &["point.bend", "--out", "out/pages"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path().join("out/pages")).expect("it was made") {
        let path = entry.expect("it is a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("it has a name").to_owned();
        pages.insert(name, std::fs::read_to_string(path).expect("it is text"));
    }
    let mut links = 0;
    for (name, text) in &pages {
        assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("src="), "{name}");
        let places: Vec<&str> = between(text, "id=\"", "\"").collect();
        assert_eq!(places.len(), places.iter().collect::<HashSet<_>>().len(), "{name} has a place twice");
        for link in between(text, "href=\"", "\"") {
            let (file, at) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { text } else { pages.get(file).unwrap_or_else(|| panic!("{name}: {link}")) };
            assert!(at.is_empty() || target.contains(&format!("id=\"{at}\"")), "{name}: {link}");
            links += 1;
        }
    }
    assert!(links > 300, "{links}");
    let page = &pages["program-point.html"];
    assert!(page.contains("<p>A program with pages.</p>"), "{page}");
    assert!(page.contains("<p>A point of the &lt;plane&gt;.</p>"), "{page}");
    assert!(
        page.contains("The sum of the coordinates of a <code><a href=\"program-point.html#Point\">Point</a></code>."),
        "{page}"
    );
    assert!(page.contains("<a href=\"prelude-list.html#List/reverse\">List/reverse</a>"), "{page}");
    assert!(page.contains("<summary>Source: point.bend, line 12</summary>"), "{page}");
    assert!(pages["index.html"].contains("<a href=\"program-point.html#sum\">sum</a>"));
}

#[test]
fn a_program_with_an_error_has_no_pages() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("wrong.bend"), "def main() -> u24:\n  return 1.5\n").expect("there is room");
    let output = doc(folder.path(), &["wrong.bend", "--out", "pages"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("error[B0301]"));
    assert!(!folder.path().join("pages").exists());
}
