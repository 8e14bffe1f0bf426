//! `girih lsp` as editors use it: programs are opened, broken, repaired and asked about.

mod client;

use client::{Client, at, place, position, url};
use girih::{Code, Options, Program, WarningLevels};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Programs of both syntaxes, with imports, monads, types, pictures.
const PROGRAMS: [&str; 14] = [
    "tests/bend/equations/ackermann.bend",
    "tests/bend/equations/nested_constructors.bend",
    "tests/bend/equations/typed.bend",
    "tests/bend/equations/parenthesised_heads.bend",
    "tests/bend/imports/several_files.bend",
    "tests/bend/imports/type_with_constructors.bend",
    "tests/bend/monads/parser.bend",
    "tests/bend/monads/functional.bend",
    "tests/bend/trees/bitonic_sort.bend",
    "shaders/plasma.bend",
    "shaders/spheres.bend",
    "shaders/julia.bend",
    "shaders/voronoi.bend",
    "tests/cli/run.in/greet.bend",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the project is there")
}

/// What `girih check` says about a file: codes and lines.
fn checked(path: &Path) -> Vec<(String, u64)> {
    let mut warnings = WarningLevels::default();
    warnings.set(Code::MissingMain, None);
    let report = Program::open(path, &Options { warnings, ..Options::default() }).report();
    let lines = report.diagnostics.iter().map(|d| {
        let (line, _) = report.sources.line_column(d.span().source, d.span().start);
        (d.code.as_str().to_owned(), line as u64 - 1)
    });
    lines.collect()
}

fn reported(diagnostics: &[Value]) -> Vec<(String, u64)> {
    let of = |d: &Value| {
        (d["code"].as_str().unwrap_or_default().to_owned(), d["range"]["start"]["line"].as_u64().unwrap_or(0))
    };
    diagnostics.iter().map(of).collect()
}

#[test]
fn programs_are_opened_broken_and_repaired() {
    let mut client = Client::begin(&root());
    for program in PROGRAMS {
        let path = root().join(program);
        let text = std::fs::read_to_string(&path).expect("the program is there");
        let url = url(&path);
        let whole = client.open(&url, &text);
        assert_eq!(reported(&whole), checked(&path), "{program}");
        let symbols = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": url}}));
        assert!(!symbols.as_array().expect("it is a list").is_empty(), "{program}");
        // A line in front of all others that is no item: everything else is still known.
        let start = json!({"start": position(0, 0), "end": position(0, 0)});
        let broken = client.edit(&url, 2, start, "def broken(x:\n  return )\n\n");
        assert_eq!(broken.first().map(|d| &d["source"]), Some(&json!("girih")), "{program}");
        assert!(broken.iter().all(|d| d["severity"] == 1), "{program}: {broken:?}");
        let others = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": url}}));
        assert_eq!(others.as_array().map(Vec::len), symbols.as_array().map(|all| all.len() + 1), "{program}");
        let inserted = json!({"start": position(0, 0), "end": position(3, 0)});
        assert_eq!(client.edit(&url, 3, inserted, ""), whole, "{program}");
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": url}}));
    }
    client.end();
}

const SHAPES: &str = "# A shape.\ntype Shape:\n  Circle { radius: f24 }\n  Square { side: f24 }\n\n# How large a shape is.\ndef area(s: Shape) -> f24:\n  match s:\n    case Shape/Circle:\n      return 3.14 * s.radius * s.radius\n    case Shape/Square:\n      return s.side * s.side\n";
const MAIN: &str = "from shapes import (Shape, area)\n\ndef label(s):\n  return \"😀\"\n\ndef twice(x: f24) -> f24:\n  return x * 2.0\n\ndef main() -> f24:\n  return twice(area(Shape/Circle { radius: 2.0 }))\n";

/// A workspace of two files.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("shapes.bend"), SHAPES).expect("it can be written");
    std::fs::write(folder.path().join("main.bend"), MAIN).expect("it can be written");
    folder
}

#[test]
fn names_are_explained_found_and_renamed_across_files() {
    let folder = workspace();
    let mut client = Client::begin(folder.path());
    let (main, shapes) = (url(&folder.path().join("main.bend")), url(&folder.path().join("shapes.bend")));
    client.open(&main, MAIN);
    let area = place(MAIN, "area", 1);
    let hover = client.request("textDocument/hover", at(&main, area.clone()));
    assert_eq!(hover["contents"]["value"], "```bend\ndef area(s: Shape) -> f24\n```\n\n---\n\nHow large a shape is.");
    let definition = client.request("textDocument/definition", at(&main, area.clone()));
    assert_eq!(definition["uri"], shapes);
    assert_eq!(definition["range"]["start"], place(SHAPES, "area", 0));
    let references = client.request(
        "textDocument/references",
        json!({"textDocument": {"uri": main}, "position": area, "context": {"includeDeclaration": true}}),
    );
    assert_eq!(references.as_array().map(Vec::len), Some(3));
    let highlights = client.request("textDocument/documentHighlight", at(&main, area.clone()));
    assert_eq!(highlights.as_array().map(Vec::len), Some(2));
    let prepared = client.request("textDocument/prepareRename", at(&main, area.clone()));
    assert_eq!(prepared["placeholder"], "area");
    let rename =
        |new: &str, position: Value| json!({"textDocument": {"uri": main}, "position": position, "newName": new});
    let edit = client.request("textDocument/rename", rename("surface", area.clone()));
    assert_eq!(edit["changes"][&main].as_array().map(Vec::len), Some(2));
    assert_eq!(edit["changes"][&shapes].as_array().map(Vec::len), Some(1));
    let refusal = client.answer("textDocument/rename", rename("twice", area));
    assert_eq!(refusal["error"]["code"], -32803);
    assert!(refusal["error"]["message"].as_str().is_some_and(|message| message.contains("`twice`")), "{refusal}");
    let symbols = client.request("workspace/symbol", json!({"query": "circ"}));
    assert_eq!((&symbols[0]["name"], &symbols[0]["location"]["uri"]), (&json!("Circle"), &json!(shapes)));
    assert_eq!(symbols[0]["location"]["range"]["start"], place(SHAPES, "Circle", 0));
    client.end();
}

#[test]
fn symbols_are_those_of_buffers_and_of_files_as_they_are_now() {
    let folder = workspace();
    let mut client = Client::begin(folder.path());
    let main = url(&folder.path().join("main.bend"));
    let named = |client: &mut Client, query: &str| -> Vec<String> {
        let symbols = client.request("workspace/symbol", json!({"query": query}));
        let all = symbols.as_array().expect("it is a list").iter();
        all.map(|symbol| symbol["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(named(&mut client, "A"), ["label", "main", "Shape", "Square", "area"]);
    client.open(&main, "def unsaved(x):\n  return x\n\ndef broken(:\n");
    assert_eq!(named(&mut client, "a"), ["unsaved", "Shape", "Square", "area"]);
    std::fs::write(folder.path().join("shapes.bend"), "def surface(x):\n  return x\n").expect("it can be written");
    assert_eq!(named(&mut client, ""), ["unsaved", "broken", "surface"]);
    client.end();
}

#[test]
fn a_workspace_of_too_many_files_says_so_and_renames_nothing() {
    let folder = workspace();
    for number in 0..2_000 {
        std::fs::write(folder.path().join(format!("{number}.bend")), "").expect("it can be written");
    }
    let mut client = Client::begin(folder.path());
    let main = url(&folder.path().join("main.bend"));
    client.open(&main, MAIN);
    let params = |new: &str, position: Value| json!({"textDocument": {"uri": main}, "position": position, "newName": new, "context": {"includeDeclaration": true}});
    let refusal = client.answer("textDocument/rename", params("surface", place(MAIN, "area", 1)));
    assert!(refusal["error"]["message"].as_str().is_some_and(|said| said.contains("2000 Bend files")), "{refusal}");
    let local = client.request("textDocument/rename", params("number", place(MAIN, "x: f24", 0)));
    assert_eq!(local["changes"][&main].as_array().map(Vec::len), Some(2), "a variable is in one file");
    let found = json!({"jsonrpc": "2.0", "id": 99, "method": "textDocument/references", "params": params("", place(MAIN, "area", 1))});
    client.send(&found);
    assert!(client.shown().contains("more than 2000 Bend files"));
    client.end();
}

#[test]
fn a_file_that_others_have_changed_is_renamed_as_it_is_now() {
    let folder = workspace();
    let mut client = Client::begin(folder.path());
    let (main, shapes) = (url(&folder.path().join("main.bend")), url(&folder.path().join("shapes.bend")));
    client.open(&main, MAIN);
    let area = place(MAIN, "area", 1);
    client.request("textDocument/hover", at(&main, area.clone()));
    // Nobody tells the server.
    let changed = format!("# One line more.\n\n{SHAPES}");
    std::fs::write(folder.path().join("shapes.bend"), &changed).expect("it can be written");
    let params = json!({"textDocument": {"uri": main}, "position": area, "newName": "surface"});
    let edit = client.request("textDocument/rename", params);
    assert_eq!(edit["changes"][&shapes][0]["range"]["start"], place(&changed, "area", 0));
    client.end();
}

#[test]
fn open_buffers_count_more_than_files() {
    let folder = workspace();
    let mut client = Client::begin(folder.path());
    let (main, shapes) = (url(&folder.path().join("main.bend")), url(&folder.path().join("shapes.bend")));
    let before = client.open(&main, MAIN);
    assert!(before.iter().all(|d| d["severity"] == 2), "{before:?}");
    client.open(&shapes, SHAPES);
    let name = json!({"start": place(SHAPES, "area", 0), "end": position(6, 8)});
    client.edit(&shapes, 2, name, "surface");
    let after = client.diagnostics(&main, 1);
    assert_eq!(after[0]["code"], "B0211", "{after:?}");
    // A mistake in the other file is shown where it is imported, with its place.
    let all = json!({"start": position(0, 0), "end": position(99, 0)});
    client.edit(&shapes, 3, all, &SHAPES.replace("3.14 *", "3 *"));
    let inside = client.diagnostics(&main, 1);
    assert_eq!((&inside[0]["code"], &inside[0]["range"]["start"]["line"]), (&json!("B0301"), &json!(0)), "{inside:?}");
    assert_eq!(inside[0]["relatedInformation"][0]["location"]["uri"], shapes);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": shapes}}));
    let closed = client.diagnostics(&main, 1);
    assert_eq!(closed, before, "the file counts again");
    client.end();
}

#[test]
fn what_is_written_is_completed_explained_and_corrected() {
    let folder = workspace();
    let mut client = Client::begin(folder.path());
    let main = url(&folder.path().join("main.bend"));
    client.open(&main, MAIN);
    // Behind an emoji and with the line ends of other systems.
    let text = "def f(apple: u24) -> u24:\r\n  face = \"😀\"  # 😀\r\n  (face, app = (\"😀\", ap\r\n\r\ndef main():\r\n  return f(1)\r\n";
    let other = format!("{main}2.bend");
    let wrong = client.open(&other, text);
    assert_eq!(wrong[0]["range"]["start"]["line"], 2);
    let cursor = position(2, 24);
    let list = client.request("textDocument/completion", at(&other, cursor));
    let labels: Vec<&str> =
        list.as_array().expect("it is a list").iter().filter_map(|item| item["label"].as_str()).collect();
    assert!(labels.contains(&"apple") && labels.contains(&"face") && labels.contains(&"List/reverse"), "{labels:?}");
    assert_eq!(list[0]["textEdit"]["range"], json!({"start": position(2, 22), "end": position(2, 24)}));
    let signature = client.request("textDocument/signatureHelp", at(&main, place(MAIN, "area", 1)));
    assert_eq!(signature["signatures"][0]["label"], "twice(x: f24) -> f24");
    let inlays = client.request(
        "textDocument/inlayHint",
        json!({"textDocument": {"uri": main}, "range": {"start": position(0, 0), "end": position(99, 0)}}),
    );
    let shown: Vec<&str> =
        inlays.as_array().expect("it is a list").iter().filter_map(|hint| hint["label"].as_str()).collect();
    assert_eq!(shown, [": a", " -> String"], "and nothing of `main`, which is annotated");
    let typo = json!({"start": place(MAIN, "twice", 1), "end": position(9, 14)});
    let wrong = client.edit(&main, 2, typo, "twize");
    assert_eq!(wrong[0]["code"], "B0201");
    assert!(wrong[0]["message"].as_str().is_some_and(|message| message.contains("did you mean `twice`?")));
    let range = &wrong[0]["range"];
    let actions = client.request(
        "textDocument/codeAction",
        json!({"textDocument": {"uri": main}, "range": range, "context": {"diagnostics": wrong}}),
    );
    assert_eq!(actions[0]["edit"]["changes"][&main], json!([{"range": range, "newText": "twice"}]));
    client.end();
}

#[test]
fn definitions_of_the_prelude_are_in_files() {
    let folder = workspace();
    let mut client = Client::begin(folder.path());
    let main = url(&folder.path().join("main.bend"));
    let text = "def main():\n  return List/reverse([1, 2])\n";
    client.open(&main, text);
    let definition = client.request("textDocument/definition", at(&main, place(text, "reverse", 0)));
    let document = definition["uri"].as_str().expect("it is a document").to_owned();
    let path = document.strip_prefix(if cfg!(windows) { "file:///" } else { "file://" }).expect("it is a file");
    let content = std::fs::read_to_string(path).expect("the file is there");
    let line = definition["range"]["start"]["line"].as_u64().expect("it is a number") as usize;
    assert!(content.lines().nth(line).is_some_and(|line| line.starts_with("def List/reverse(")));
    assert!(std::fs::metadata(path).is_ok_and(|about| about.permissions().readonly()));
    assert_eq!(client.open(&document, &content), Vec::<Value>::new(), "it is no program of its own");
    let hover = client.request("textDocument/hover", at(&document, definition["range"]["start"].clone()));
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains("last first")));
    client.end();
}

#[test]
fn kernels_and_nets_are_checked_too() {
    let mut client = Client::begin(&root());
    for (file, good, bad, code) in [
        ("a.gir", "kernel @k() workgroup(64) {\n}\n", "kernel @k( {\n}\n", "B07"),
        ("a.hvm", "@main = 1\n", "@main = (\n", "B01"),
    ] {
        let url = format!("{}/{file}", url(&root()));
        let wrong = client.open(&url, bad);
        assert!(wrong[0]["code"].as_str().is_some_and(|found| found.starts_with(code)), "{wrong:?}");
        let everything = json!({"start": position(0, 0), "end": position(9, 0)});
        assert_eq!(client.edit(&url, 2, everything, good), Vec::<Value>::new(), "{file}");
    }
    client.end();
}

#[test]
fn documents_are_formatted() {
    let mut client = Client::begin(&root());
    let format = |url: &str| json!({"textDocument": {"uri": url}, "options": {"tabSize": 2, "insertSpaces": true}});
    for (file, text, wanted) in [
        (
            "a.bend",
            "def main( ):  # 😀\n  return f( 1,2 )\n\ndef f(a, b):\n  return a\n",
            "def main():  # 😀\n  return f(1, 2)\n\ndef f(a, b):\n  return a\n",
        ),
        ("a.gir", "fn @f( %a:u32 )->u32{\nreturn %a\n}\n", "fn @f(%a: u32) -> u32 {\n  return %a\n}\n"),
    ] {
        let url = format!("{}/{file}", url(&root()));
        client.open(&url, text);
        let lines = text.lines().count() as u32;
        let everything = json!({"start": position(0, 0), "end": position(lines, 0)});
        let edits = client.request("textDocument/formatting", format(&url));
        assert_eq!(edits, json!([{"range": everything, "newText": wanted}]));
        client.edit(&url, 2, everything, wanted);
        assert_eq!(client.request("textDocument/formatting", format(&url)), Value::Null, "it has its layout");
        client.edit(&url, 3, json!({"start": position(0, 0), "end": position(0, 0)}), "(");
        assert_eq!(client.request("textDocument/formatting", format(&url)), Value::Null, "its syntax is wrong");
    }
    client.end();
}

#[test]
fn wrong_requests_have_the_errors_of_the_protocol() {
    let mut client = Client::start();
    assert_eq!(client.refused("textDocument/hover", json!({})), -32002, "before `initialize`");
    let mut client = Client::begin(&root());
    assert_eq!(client.refused("textDocument/paint", json!({})), -32601, "no such request");
    assert_eq!(client.refused("textDocument/hover", json!({"textDocument": 7})), -32602, "wrong parameters");
    client.notify("textDocument/didOpen", json!({"textDocument": "none"}));
    client.notify("no/such/notification", json!(7));
    let nowhere = "file:///no/such/file.bend";
    assert_eq!(
        client.request("textDocument/hover", at(nowhere, position(3, 4))),
        Value::Null,
        "a document that is not there"
    );
    client.end();
}

#[test]
fn what_is_no_message_ends_the_session_with_an_error() {
    for bytes in [&b"Content-Length: 5\r\n\r\n{\"a\":"[..], b"Content-Length: many\r\n\r\n{}", b"hello\r\n\r\n"] {
        let mut client = Client::begin(&root());
        client.write(bytes);
        let (status, errors) = client.wait();
        assert!(!status.success());
        assert!(errors.starts_with("error[") && !errors.contains("panicked"), "{errors}");
    }
    let mut client = Client::begin(&root());
    client.notify("exit", Value::Null);
    let (status, errors) = client.wait();
    assert!(!status.success() && errors.contains("without `shutdown`"), "{errors}");
}
