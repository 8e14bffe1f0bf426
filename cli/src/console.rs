//! The command's output: results on standard output, diagnostics and notes on standard error, or, with `--json`, all of
//! it as JSON objects on standard output, one on each line, each with a `kind`.

use crate::args::Global;
use crate::exit::Exit;
use clap::ColorChoice;
use girih::{Code, Diagnostic, Report, Severity, Sources, Span, Style};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Whether a result could not be written. There is one standard output, so there is one such word.
static LOST: AtomicBool = AtomicBool::new(false);
/// The largest exit code of an error that was printed, if it says more than that something has failed.
static BLAMED: AtomicU8 = AtomicU8::new(0);
/// Whether a device was left at work.
static AT_WORK: AtomicBool = AtomicBool::new(false);

/// The way in which this command speaks.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    style: Style,
    json: bool,
    quiet: bool,
    verbose: bool,
}

impl Console {
    /// As the command line and the terminal want it.
    pub fn new(global: &Global) -> Console {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let coloured = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => !no_color && io::stderr().is_terminal(),
        };
        let style = if coloured { Style::Coloured } else { Style::Plain };
        Console { style, json: global.json, quiet: global.quiet, verbose: global.verbose }
    }

    /// Whether `--json` was given.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Whether there are colours.
    pub fn is_coloured(&self) -> bool {
        self.style == Style::Coloured
    }

    /// Whether a progress bar may be drawn.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && !self.json && io::stderr().is_terminal()
    }

    /// Prints diagnostics; warnings only if `--quiet` was not given.
    pub fn report(&self, report: &Report) {
        for diagnostic in &report.diagnostics {
            if diagnostic.severity == Severity::Warning && self.quiet {
                continue;
            }
            if diagnostic.severity == Severity::Error {
                blame(diagnostic.code);
            }
            if self.json {
                self.object(&diagnostic_json(diagnostic, &report.sources));
            } else {
                whisper(&girih::render(diagnostic, &report.sources, self.style));
            }
        }
    }

    /// How the command ends that a verb has ended so. What was blamed says more than that it has failed, and what was to be printed and was not is a
    /// failure.
    pub fn end(&self, exit: Exit) -> Exit {
        match (exit, BLAMED.load(Ordering::Relaxed)) {
            (Exit::Failed, blamed) if blamed == Exit::NoDevice.number() => Exit::NoDevice,
            (Exit::Failed, blamed) if blamed == Exit::Usage.number() => Exit::Usage,
            (Exit::Ok, _) if LOST.load(Ordering::Relaxed) => Exit::Failed,
            (Exit::Ok | Exit::Failed | Exit::Usage | Exit::NoDevice | Exit::Interrupted, _) => exit,
        }
    }

    /// Ends the process after [`Console::end`], if a device was left at work: its driver would wait for it.
    pub fn leave(&self, exit: Exit) {
        if AT_WORK.load(Ordering::Relaxed) {
            let _ = io::stdout().flush();
            girih::leave(exit.number().into());
        }
    }

    /// Prints an error that has no place in a program, and fails.
    pub fn fail(&self, code: Code, message: impl Into<String>, hint: Option<&str>) -> Exit {
        let mut diagnostic = Diagnostic::new(code, Span::NONE, message);
        diagnostic.hint = hint.map(str::to_owned);
        self.report(&Report { sources: Sources::default(), diagnostics: vec![diagnostic] });
        Exit::of(code)
    }

    /// Prints a result: text for people, or the object that says the same.
    pub fn result(&self, text: &str, object: impl FnOnce() -> Value) {
        if self.json { self.object(&object()) } else { say(&format!("{text}\n")) }
    }

    /// Prints a line for people on standard error.
    pub fn note(&self, text: &str) {
        if !self.json && !self.quiet {
            whisper(&format!("{text}\n"));
        }
    }

    /// Whether `--verbose` was given.
    pub fn verbose(&self) -> bool {
        self.verbose
    }

    /// Prints a line that only `--verbose` asks for.
    pub fn detail(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            self.note(&text());
        }
    }

    /// Prints one JSON object, if `--json` was given.
    pub fn object(&self, value: &Value) {
        if self.json {
            say(&format!("{value}\n"));
        }
    }
}

/// Remembers of an error that was printed how the command ends after it.
fn blame(code: Code) {
    AT_WORK.fetch_or(code == Code::DeviceTimeout, Ordering::Relaxed);
    let exit = Exit::of(code);
    match exit {
        Exit::Usage | Exit::NoDevice => drop(BLAMED.fetch_max(exit.number(), Ordering::Relaxed)),
        Exit::Ok | Exit::Failed | Exit::Interrupted => {}
    }
}

/// Writes all of `text` to standard output. Who does not listen any more has what he wanted; any other error is told once, and the command fails.
fn say(text: &str) {
    let mut stream = io::stdout();
    let Err(error) = stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) else { return };
    if error.kind() != io::ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
        let message = format!("cannot write the result: {error}");
        let diagnostic = Diagnostic::new(Code::CannotWrite, Span::NONE, message);
        whisper(&girih::render(&diagnostic, &Sources::default(), Style::Plain));
    }
}

/// Writes all of `text` to standard error. Nobody can be told that this does not work, so errors end here.
fn whisper(text: &str) {
    let mut stream = io::stderr();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// A diagnostic as an object: lines and columns count from 1, bytes from 0.
fn diagnostic_json(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let labels: Vec<Value> = diagnostic
        .labels
        .iter()
        .filter_map(|label| {
            let file = sources.get(label.span.source)?;
            let (line, column) = sources.line_column(label.span.source, label.span.start);
            let (end_line, end_column) = sources.line_column(label.span.source, label.span.end);
            Some(json!({
                "file": file.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column,
                "start": label.span.start, "end": label.span.end, "text": label.text,
            }))
        })
        .collect();
    json!({
        "kind": "diagnostic", "severity": severity, "code": diagnostic.code.as_str(), "message": diagnostic.message,
        "hint": diagnostic.hint, "labels": labels,
    })
}

/// Text that a program writes, as JSON objects.
#[derive(Debug)]
struct OutputObjects;

impl Write for OutputObjects {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let object = json!({"kind": "output", "text": String::from_utf8_lossy(bytes)});
        io::stdout().write_all(format!("{object}\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// A stream for what a program writes to its standard output while `--json` is on.
pub fn output_objects() -> Box<dyn Write + Send> {
    Box::new(OutputObjects)
}
