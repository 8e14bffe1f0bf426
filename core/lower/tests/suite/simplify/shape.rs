//! What becomes of small functions: each file is one idea, kept with what is made of it.

use super::{devices, modules, parse, simplified};
use girih_ir::{Caps, text};
use std::fs;

#[test]
fn before_and_after() {
    let mut caps = Caps::everything();
    caps.rolled = false;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/simplify");
    let mut names: Vec<_> = fs::read_dir(folder).expect(folder).map(|entry| entry.expect("an entry").path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "gir"));
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    for path in names {
        let before = fs::read_to_string(&path).expect("a text file");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let module = parse(&name, &before).1.module;
        let after = text::print(&simplified(&name, &module, &caps));
        insta::assert_snapshot!(name, format!("{before}\n; becomes\n\n{after}"));
    }
}

#[test]
fn simplified_modules_follow_the_rules_and_stay() {
    for (name, module) in modules() {
        for caps in devices() {
            let once = simplified(&name, &module, &caps);
            let twice = simplified(&name, &once, &caps);
            let (once, twice) = (text::print(&once), text::print(&twice));
            if once != twice {
                let first = once.lines().zip(twice.lines()).position(|(a, b)| a != b).unwrap_or(0);
                let around =
                    |text: &str| text.lines().skip(first.saturating_sub(5)).take(14).collect::<Vec<_>>().join("\n");
                let (once, twice) = (around(&once), around(&twice));
                panic!("{name} for {} is not simple after once\n{once}\nbecomes\n{twice}", caps.name);
            }
        }
    }
}
