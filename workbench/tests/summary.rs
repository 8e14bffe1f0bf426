//! Says behind all other tests what they skipped, and which of them tried a part of their cases.

use girih_workbench::notes;
use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![Trial::test("the_summary_comes_last", || Ok(it_comes_last()?))];
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list
        && let Some(summary) = notes::summary(&notes::give())
    {
        println!("{summary}\n");
    }
    conclusion.exit();
}

/// Cargo runs the tests of packages in the order of their names.
fn it_comes_last() -> Result<(), String> {
    let lock =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).map_err(|e| e.to_string())?;
    let names = lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let ours: Vec<&str> = names.filter(|name| *name == "girih" || name.starts_with("girih-")).collect();
    let last = ours.into_iter().max().unwrap_or_default();
    if last == env!("CARGO_PKG_NAME") { Ok(()) } else { Err(format!("the tests of {last} run behind the summary")) }
}
