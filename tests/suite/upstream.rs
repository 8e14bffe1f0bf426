//! Random first-order programs give what the upstream implementation of Bend gives: 500 of them, or 2,000 with `GIRIH_TESTS=full`.
//!
//! It runs where `GIRIH_BEND` is the path of upstream's `bend`, version 0.2.38, with `hvm` beside it or on the path; elsewhere
//! it is skipped. `GIRIH_PROGRAMS` says how many programs are compared, `GIRIH_PROGRAM` picks a single one.

use crate::support::generate::{self, Limits};
use crate::support::watch;
use girih::{Options, Program, RunOptions, SystemHost};
use girih_workbench::{missing, number, sample};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn random_programs_give_what_upstream_gives() {
    let Some(bend) = std::env::var_os("GIRIH_BEND") else {
        return missing("`bend` of upstream in `GIRIH_BEND`", "GIRIH_REQUIRE_BEND");
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let numbers = match number("GIRIH_PROGRAM") {
        Some(one) => one..one + 1,
        None => 0..sample("GIRIH_PROGRAMS", 500, 2000),
    };
    let mut different = vec![];
    for number in numbers.clone() {
        let text = generate::program(number, Limits { affine: true, size: (number % 8) as usize }).main;
        let theirs = upstream(&bend, folder.path(), &text);
        let ours = ours(&text);
        if theirs != ours {
            different.push(format!("GIRIH_PROGRAM={number}\nupstream: {theirs}\nhere:     {ours}\n{text}"));
        }
    }
    let total = numbers.count();
    println!("{} of {total} programs give what upstream gives", total - different.len());
    if let Some(first) = different.first() {
        panic!("{} of {total} programs differ, the first is {first}", different.len());
    }
}

/// What upstream prints, in a folder of its own, because it writes files beside the program.
fn upstream(bend: &OsString, folder: &Path, text: &str) -> String {
    let file = folder.join("program.bend");
    std::fs::write(&file, text).expect("a file is written");
    let beside = Path::new(bend).parent().unwrap_or(Path::new("")).to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(beside).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).expect("folders of a path");
    let output = Command::new(bend)
        .args(["run-rs", "program.bend"])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .expect("upstream runs");
    let said = String::from_utf8_lossy(&output.stdout);
    match said.split_once("Result:") {
        Some((_, result)) if output.status.success() => without_encoding(result.trim()),
        Some(_) | None => {
            let why = String::from_utf8_lossy(&output.stderr);
            panic!("upstream refuses a program of the generator:\n{why}\n{text}")
        }
    }
}

/// The empty list is a function upstream, and is printed as one in some places.
fn without_encoding(result: &str) -> String {
    let mut text = result.to_owned();
    for name in 'a'..='z' {
        text = text.replace(&format!("λ{name} ({name} List/Nil/tag)"), "[]");
    }
    text
}

/// What is printed here.
fn ours(text: &str) -> String {
    let program = Program::from_text("program.bend", text, &Options::default());
    if let Err(report) = program.check() {
        return report.to_string();
    }
    let alarm = watch::alarm(std::time::Duration::from_secs(60));
    let options = RunOptions { interrupt: Some(alarm.flag.clone()), ..RunOptions::default() };
    match program.run(&mut SystemHost::new(), &options) {
        Ok(outcome) => outcome.text,
        Err(report) => report.to_string(),
    }
}
