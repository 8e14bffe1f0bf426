//! Simplified modules follow the rules, mean the same on the reference machine, and look as they should.

mod divide;
mod meaning;
mod merging;
mod random;
mod shape;
mod sinking;

use girih_base::diag::{Style, render};
use girih_base::span::Sources;
use girih_ir::caps::{Caps, Feature};
use girih_ir::{Module, math, text, verify};
use girih_lower::simplify;
use std::fs;
use std::path::{Path, PathBuf};

/// Devices for which there is something different to do.
fn devices() -> Vec<Caps> {
    let mut unrolled = Caps::everything();
    unrolled.rolled = false;
    unrolled.name = "unrolled".into();
    let web = Caps::web();
    vec![Caps::everything(), unrolled, web.clone(), web.with(Feature::MulHi)]
}

/// All `.gir` files of the project that are right by themselves.
fn files() -> Vec<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folders = ["tests/ir", "benches/ir", "backend-cuda/tests", "core/lower/tests/suite/simplify"];
    let mut found = vec![];
    folders.iter().for_each(|folder| collect(&Path::new(root).join(folder), &mut found));
    found.retain(|path: &PathBuf| !path.components().any(|c| matches!(c.as_os_str().to_str(), Some("bad" | "faults"))));
    found.sort();
    assert!(found.len() >= 20, "{found:?}");
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "gir") {
            found.push(path);
        }
    }
}

fn parse(name: &str, text: &str) -> (Sources, text::Parsed) {
    let mut sources = Sources::default();
    let source = sources.add(name, text);
    match text::parse(source, text) {
        Ok(parsed) => (sources, parsed),
        Err(found) => {
            let drawn: String = found.iter().map(|d| render(d, &sources, Style::Plain)).collect();
            panic!("{name} cannot be read\n{drawn}")
        }
    }
}

/// All modules of the project: those of files, and the math library.
fn modules() -> Vec<(String, Module)> {
    let of_file = |path: &PathBuf| {
        let name = path.display().to_string();
        let module = parse(&name, &fs::read_to_string(path).expect("a text file")).1.module;
        (name, module)
    };
    let mut found: Vec<(String, Module)> = files().iter().map(of_file).collect();
    found.push(("math".into(), math::library().clone()));
    found
}

/// The module simplified, which has to follow the rules still.
fn simplified(name: &str, module: &Module, caps: &Caps) -> girih_ir::Verified<Module> {
    let mut after = module.clone();
    simplify::run(&mut after, caps);
    let printed = text::print(&after);
    verify(after).unwrap_or_else(|found| {
        let said: Vec<&str> = found.iter().map(|d| &*d.message).collect();
        panic!("{name} for {}: {said:#?}\nbefore\n{}\nafter\n{printed}", caps.name, text::print(module))
    })
}
