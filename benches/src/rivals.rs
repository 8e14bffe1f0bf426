//! The rivals of programs: the code of compilers for C and for Haskell, and upstream's runtime.

use super::programs::{Benchmark, HEADER, MODULE};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// What a rival has printed, and its time in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The value.
    pub value: String,
    /// Seconds.
    pub seconds: f64,
}

/// The C compiler of this machine.
#[derive(Debug)]
pub struct Cc {
    /// Its name and version.
    pub version: String,
    folder: TempDir,
}

impl Cc {
    /// Looks for `cc`.
    ///
    /// # Errors
    /// If there is none, in a sentence.
    pub fn find() -> Result<Cc, String> {
        let version = first_line("cc", &["--version"]).ok_or("there is no C compiler `cc`")?;
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for C programs: {error}"))?;
        std::fs::write(folder.path().join(HEADER.0), HEADER.1)
            .map_err(|error| format!("C programs cannot be written: {error}"))?;
        Ok(Cc { version, folder })
    }

    /// Compiles a program by `cc -O2`.
    ///
    /// # Errors
    /// If it has not been written in C, or if that fails: what the compiler says.
    pub fn compile(&self, benchmark: &Benchmark) -> Result<Process, String> {
        let text = benchmark.c.ok_or("it has not been written in C")?;
        let source = self.folder.path().join(format!("{}.c", benchmark.name));
        let path = self.folder.path().join(benchmark.name);
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let output = Command::new("cc").arg("-O2").arg("-o").arg(&path).arg(&source).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() { Ok(Process { language: "C", path }) } else { Err(failure("cc", &output)) }
    }
}

/// The Haskell compiler of this machine.
#[derive(Debug)]
pub struct Ghc {
    /// Its name and version.
    pub version: String,
    folder: TempDir,
}

impl Ghc {
    /// Looks for `ghc`.
    ///
    /// # Errors
    /// If there is none, in a sentence.
    pub fn find() -> Result<Ghc, String> {
        let version = first_line("ghc", &["--version"]).ok_or("there is no Haskell compiler `ghc`")?;
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for Haskell programs: {error}"))?;
        Ok(Ghc { version, folder })
    }

    /// Compiles a program by `ghc -O2`.
    ///
    /// # Errors
    /// If it has not been written in Haskell, or if that fails: what the compiler says.
    pub fn compile(&self, benchmark: &Benchmark) -> Result<Process, String> {
        let text = benchmark.haskell.ok_or("it has not been written in Haskell")?;
        // The compiled module `Main` of each program has the same name.
        let folder = self.folder.path().join(benchmark.name);
        let (source, path) = (folder.join("Main.hs"), folder.join("main"));
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(MODULE.0), MODULE.1))
            .and_then(|()| std::fs::write(&source, text))
            .map_err(|error| error.to_string())?;
        let output =
            Command::new("ghc").args(["-O2", "-v0", "-o"]).arg(&path).arg(&source).current_dir(&folder).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() { Ok(Process { language: "Haskell", path }) } else { Err(failure("ghc", &output)) }
    }
}

/// A compiled program; it lives as long as its compiler.
#[derive(Debug)]
pub struct Process {
    language: &'static str,
    path: PathBuf,
}

impl Process {
    /// Runs it; the time is that of the whole process.
    ///
    /// # Errors
    /// If it cannot be run or fails.
    pub fn run(&self, argument: u32) -> Result<Answer, String> {
        let begun = Instant::now();
        let output = Command::new(&self.path).arg(argument.to_string()).output().map_err(|error| error.to_string())?;
        let seconds = begun.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err(failure(&format!("the {} program", self.language), &output));
        }
        Ok(Answer { value: String::from_utf8_lossy(&output.stdout).trim().to_owned(), seconds })
    }
}

/// Upstream's `bend`, which compiles to interaction nets for `hvm`.
#[derive(Debug)]
pub struct Upstream {
    /// Its version.
    pub version: String,
    bend: PathBuf,
    path: OsString,
    folder: TempDir,
}

impl Upstream {
    /// The `bend` that `GIRIH_BEND` names, or the one on the path. `hvm` may stand beside it.
    ///
    /// # Errors
    /// If there is none, in a sentence.
    pub fn find() -> Result<Upstream, String> {
        let bend = std::env::var_os("GIRIH_BEND").map_or_else(|| PathBuf::from("bend"), PathBuf::from);
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let beside = bend.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_path_buf);
        let path = std::env::join_paths(beside.into_iter().chain(std::env::split_paths(&paths)))
            .map_err(|error| error.to_string())?;
        let version = first_line(&bend, &["--version"]).ok_or_else(|| {
            format!("there is no `{}`: `GIRIH_BEND` names upstream's compiler, or it is on the path", bend.display())
        })?;
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for upstream: {error}"))?;
        Ok(Upstream { version, bend, path, folder })
    }

    /// Runs a program by `run-c` on all cores; the time is upstream's own count, which leaves its compilation out.
    ///
    /// # Errors
    /// If that fails, or prints no time.
    pub fn run(&self, benchmark: &Benchmark, argument: u32) -> Result<Answer, String> {
        let file = self.folder.path().join(format!("{}.bend", benchmark.name));
        std::fs::write(&file, benchmark.bend).map_err(|error| error.to_string())?;
        let output = Command::new(&self.bend)
            .args(["run-c", "-s"])
            .arg(&file)
            .arg(argument.to_string())
            .current_dir(self.folder.path()) // It writes files there.
            .env("PATH", &self.path)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        answer(&text).filter(|_| output.status.success()).ok_or_else(|| failure("bend", &output))
    }
}

/// Upstream's `hvm`, which reduces nets.
#[derive(Debug)]
pub struct Hvm {
    /// Its version.
    pub version: String,
    hvm: PathBuf,
    folder: TempDir,
}

impl Hvm {
    /// The `hvm` that `GIRIH_HVM` names, or the one on the path.
    ///
    /// # Errors
    /// If there is none, in a sentence.
    pub fn find() -> Result<Hvm, String> {
        let hvm = std::env::var_os("GIRIH_HVM").map_or_else(|| PathBuf::from("hvm"), PathBuf::from);
        let version = first_line(&hvm, &["--version"]).ok_or_else(|| {
            format!("there is no `{}`: `GIRIH_HVM` names upstream's machine, or it is on the path", hvm.display())
        })?;
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for upstream: {error}"))?;
        Ok(Hvm { version, hvm, folder })
    }

    /// Reduces a net by a command, `run-c` or `run-cu`; the time is upstream's own count.
    ///
    /// # Errors
    /// If that fails, or prints no time.
    pub fn run(&self, command: &str, net: &str) -> Result<Answer, String> {
        let file = self.folder.path().join("net.hvm");
        std::fs::write(&file, net).map_err(|error| error.to_string())?;
        let output = Command::new(&self.hvm).arg(command).arg(&file).stdin(Stdio::null()).output();
        let output = output.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        answer(&text).filter(|_| output.status.success()).ok_or_else(|| failure("hvm", &output))
    }
}

/// The value and the time in what `bend run-c -s` and `hvm` print.
fn answer(text: &str) -> Option<Answer> {
    let value = text.lines().find_map(|line| line.strip_prefix("Result: "))?;
    let time = text.lines().find_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix("TIME:"))?;
    let seconds = time.trim().trim_end_matches('s').parse().ok()?;
    Some(Answer { value: value.trim().to_owned(), seconds })
}

pub(super) fn failure(what: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said");
    format!("{what} failed ({}): {said}", output.status)
}

/// The first line that a command prints, if it can be run and succeeds.
pub(super) fn first_line(command: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_s_answer_is_read() {
        let text = "Result: (16384, 11508544)\n- ITRS: 75792875\n- TIME: 12.81s\n- MIPS: 5.92\n";
        let expected = Answer { value: "(16384, 11508544)".to_owned(), seconds: 12.81 };
        assert_eq!(answer(text), Some(expected));
        assert_eq!(answer("Result: 5\n"), None);
    }
}
