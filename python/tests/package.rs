//! The Python package as its users have it: the wheel is built and installed into an empty folder, and its tests are run by pytest.
//!
//! The profile is that of cargo's tests, so that what they have compiled is not compiled again: the wheel of a release takes minutes more.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The most bytes of a wheel.
const LARGEST: u64 = 40 << 20;

/// Runs a program, and gives what it has written; says what it has written where it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let written = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert!(output.status.success(), "{command:?} fails:\n{written}");
    written
}

fn is_there(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// The only wheel in a folder.
fn wheel(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("maturin has made the folder");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl")).expect("maturin has made a wheel")
}

#[test]
fn the_package_does_what_its_tests_say() {
    if !is_there("maturin", &["--version"]) {
        return girih_workbench::missing("maturin", "GIRIH_REQUIRE_PYTHON");
    }
    if !is_there("python3", &["-c", "import sys, pip, numpy, pytest; sys.exit(sys.version_info < (3, 11))"]) {
        return girih_workbench::missing("Python 3.11 with pip, NumPy and pytest", "GIRIH_REQUIRE_PYTHON");
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (wheels, packages) = (folder.path().join("wheels"), folder.path().join("packages"));
    run(Command::new("maturin")
        .args(["build", "--profile", "dev", "--locked", "--out"])
        .arg(&wheels)
        .current_dir(project));
    let wheel = wheel(&wheels);
    let bytes = std::fs::metadata(&wheel).expect("it was just made").len();
    assert!(bytes < LARGEST, "the wheel has {bytes} bytes");
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"];
    run(Command::new("python3").args(install).arg(&packages).arg(&wheel));
    // Not in the project's folder: there `girih` would be the sources.
    let mut tests = Command::new("python3");
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]).arg(project.join("tests"));
    tests.env("PYTHONPATH", &packages).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(folder.path());
    println!("{}", run(&mut tests));
}
