//! The formatter: what it makes of every text of the repository, of random modules in odd layouts, and of a text that a person wrote badly.

use super::random::{module, rng};
use super::read;
use girih_base::span::SourceId;
use girih_ir::text::{format, print};
use proptest::prelude::Rng;
use std::path::{Path, PathBuf};

/// Formats a text twice: it stays the same module, and the second time nothing changes.
fn formatted(text: &str) -> String {
    let once = format(SourceId::new(0), text).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    let twice = format(SourceId::new(0), &once).unwrap_or_else(|e| panic!("{e:#?}\n{once}"));
    assert_eq!(once, twice, "the second time changes something");
    let (before, after) = (read(text).expect("it is formatted"), read(&once).expect("it is formatted"));
    assert_eq!(print(&before.module), print(&after.module));
    let marks = |text: &str| text.matches(';').count();
    assert_eq!(marks(text), marks(&once), "comments are lost:\n{once}");
    assert_eq!(before.runs.len(), after.runs.len());
    once
}

#[test]
fn a_badly_written_text() {
    let text = "; head\n\n\n\nkernel   @k(%x :buffer  readonly,%n:u32)workgroup(32){\n\n; above\n%i=global_id.x ; behind\n\n\n   if (lt  %i , %n){\n store.f32 %x[ %i ],1.5\n      ; below\n}\n}\nfn @f( %a: u32,\n%b: u32 ) ->u32 {\n%c = add.u32 %a,\n%b\nreturn %c\n\n}\n; end";
    let expected = "\
; head

kernel @k(%x: buffer readonly, %n: u32) workgroup(32) {
  ; above
  %i = global_id.x  ; behind

  if (lt %i, %n) {
    store.f32 %x[%i], 1.5
    ; below
  }
}
fn @f(%a: u32,
    %b: u32) -> u32 {
  %c = add.u32 %a,
      %b
  return %c
}
; end
";
    assert_eq!(formatted(text), expected);
}

#[test]
fn errors_are_those_of_the_parser() {
    let text = "fn @f( {\n";
    assert_eq!(format(SourceId::new(0), text).err(), read(text).err());
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "gir") {
            found.push(path);
        }
    }
}

#[test]
fn texts_of_the_repository() {
    let mut found = vec![];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["tests", "benches", "examples"].iter().for_each(|folder| files(&root.join(folder), &mut found));
    let mut read_well = 0;
    for file in &found {
        let text = std::fs::read_to_string(file).expect("a text");
        if read(&text).is_ok() {
            formatted(&text);
            read_well += 1;
        }
    }
    assert!(read_well > 100, "only {read_well} of {} can be read", found.len());
}

#[test]
fn random_modules_in_odd_layouts() {
    for number in 0..girih_workbench::sample("GIRIH_CASES", 200, 2000) {
        let mut layout = rng(number);
        let text = print(&module(rng(number)).0);
        let mut odd = String::new();
        for line in text.lines() {
            let indent = " ".repeat(layout.next_u32() as usize % 9);
            odd.push_str(&(indent + line.trim_start()));
            match layout.next_u32() % 6 {
                0 => odd.push_str("   ; behind\n"),
                1 => odd.push_str("\n\n\n ; alone\n"),
                2 => odd.push_str("\r\n"),
                _ => odd.push('\n'),
            }
        }
        formatted(&odd);
    }
}
