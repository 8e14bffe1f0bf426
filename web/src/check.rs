//! What the compiler says of a text, as data for an editor.
//!
//! Invariant: places count UTF-16 units, as JavaScript does, and lie within the text; what is said of another file has no place, but names it.

use crate::files::{File, Language};
use crate::launches::Launches;
use girih::kernels::Kernels;
use girih::nets::Nets;
use girih::render::Shader;
use girih::{Code, Diagnostic, Report, Severity, Sources, Style};
use serde::Serialize;

/// A part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

/// Something that is said of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The place; none in another file.
    pub place: Option<Place>,
    /// What is said.
    pub text: String,
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The code, for example `B0301`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// What can be done.
    pub hint: Option<String>,
    /// The places, the main one first.
    pub labels: Vec<Label>,
}

/// What is said of a text.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Each of them.
    pub findings: Vec<Finding>,
    /// All of them as the command line shows them.
    pub text: String,
}

/// What a text is, as far as it makes sense.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// What is said of it.
    #[serde(flatten)]
    pub findings: Findings,
    /// Whether it can be run.
    pub runs: bool,
    /// The size of its pictures, if it is an image shader.
    pub shader: Option<[u32; 2]>,
}

impl Findings {
    /// What a report says.
    pub fn of(report: &Report) -> Findings {
        let findings = report.diagnostics.iter().map(|diagnostic| finding(diagnostic, &report.sources)).collect();
        Findings { findings, text: report.render(Style::Plain) }
    }

    /// Nothing.
    pub fn none() -> Findings {
        Findings { findings: vec![], text: String::new() }
    }
}

fn finding(diagnostic: &Diagnostic, sources: &Sources) -> Finding {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let main = Language::ALL.map(Language::file);
    let label = |label: &girih_base::diag::Label| {
        let file = sources.get(label.span.source).filter(|file| main.contains(&&*file.name));
        let at = |byte: u32| file.map(|file| units(&file.text, byte as usize));
        let place = at(label.span.start).zip(at(label.span.end)).map(|(from, to)| Place { from, to });
        Label { place, text: label.text.clone() }
    };
    Finding {
        severity,
        code: diagnostic.code.as_str(),
        message: diagnostic.message.clone(),
        hint: diagnostic.hint.clone(),
        labels: diagnostic.labels.iter().map(label).collect(),
    }
}

/// How many UTF-16 units come before a byte.
fn units(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).map(|(_, char)| char.len_utf16()).sum()
}

/// Checks a text.
pub fn check(file: &File) -> Checked {
    check_for(file, &mut |_| {})
}

/// Checks a text, and hands over the shader that it is: whoever paints it need not check it again.
pub fn check_for(file: &File, taken: &mut dyn FnMut(Shader)) -> Checked {
    let plain = |report: Report| Checked { findings: Findings::of(&report), runs: false, shader: None };
    match file.language {
        Language::Bend => bend(file, taken),
        Language::Hvm => match Nets::from_text(file.language.file(), &file.text) {
            Ok(_) => Checked { findings: Findings::none(), runs: true, shader: None },
            Err(error) => plain(error.into_report()),
        },
        Language::Gir => match Kernels::from_text(file.language.file(), &file.text) {
            Ok(kernels) => Checked { findings: Findings::none(), runs: !kernels.runs.is_empty(), shader: None },
            Err(error) => plain(error.into_report()),
        },
        Language::Python => match Launches::read(file).and_then(|launches| launches.check().map(|()| launches)) {
            Ok(launches) => Checked { findings: Findings::none(), runs: !launches.lines.is_empty(), shader: None },
            Err(error) => plain(error.into_report()),
        },
    }
}

/// A Bend file is a program, or a shader if it has no `main`.
fn bend(file: &File, taken: &mut dyn FnMut(Shader)) -> Checked {
    // A text that does not have the word does not define it: for a shader, which is checked at each key, that saves half of the time.
    if file.text.contains("main") {
        let program = file.program(true);
        let report = program.report();
        let has_no_main = report.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::MissingMain);
        if !has_no_main {
            return Checked { findings: Findings::of(&report), runs: program.check().is_ok(), shader: None };
        }
    }
    let library = file.program(false);
    match Shader::new(&library) {
        Ok(shader) => {
            let size = [shader.size().width(), shader.size().height()];
            taken(shader);
            Checked { findings: Findings::of(&library.report()), runs: false, shader: Some(size) }
        }
        // Of a file that is neither it is said that it has no `main`, and not what a shader would need; unless it nearly is one.
        Err(error) if file.text.contains("def shader") || file.text.contains("def render") => {
            Checked { findings: Findings::of(&error), runs: false, shader: None }
        }
        Err(_) => Checked { findings: Findings::of(&file.program(true).report()), runs: false, shader: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bend(text: &str) -> Checked {
        check(&File::new(Language::Bend, text))
    }

    #[test]
    fn places_count_as_javascript_does() {
        let text = "def main():\n  a = \"𝄞é\"\n  return b\n";
        let checked = bend(text);
        let place = checked.findings.findings[0].labels[0].place.expect("it is in this file");
        let units: Vec<u16> = text.encode_utf16().collect();
        assert_eq!(String::from_utf16_lossy(&units[place.from..place.to]), "b");
        assert_eq!((checked.findings.findings[0].code, checked.runs), ("B0201", false));
    }

    #[test]
    fn a_file_without_main_is_a_shader_or_lacks_one() {
        let shader = bend("width = 20\nheight = 10\ndef shader(x: u24, y: u24, t: f24) -> u24:\n  return x\n");
        assert_eq!((shader.shader, shader.runs), (Some([20, 10]), false));
        assert!(shader.findings.findings.is_empty(), "{}", shader.findings.text);
        let nothing = bend("def f(x):\n  return x\n");
        assert_eq!((nothing.shader, nothing.findings.findings[0].code), (None, "B0215"));
        assert!(bend("def main():\n  return 1\n").runs);
        // The word alone defines nothing.
        let named = bend("# main\ndef shader(x: u24, y: u24, t: f24) -> u24:\n  return x\n");
        assert!(named.shader.is_some() && named.findings.findings.is_empty(), "{}", named.findings.text);
    }

    #[test]
    fn the_shader_that_was_checked_is_handed_over() {
        let taken = |text: &str| {
            let mut sizes = vec![];
            check_for(&File::new(Language::Bend, text), &mut |shader| sizes.push(shader.size().pixels()));
            sizes
        };
        let shader = "width = 20\nheight = 10\ndef shader(x: u24, y: u24, t: f24) -> u24:\n  return x\n";
        assert_eq!(taken(shader), [200]);
        assert_eq!(taken("def main():\n  return 1\n"), [] as [u32; 0]);
        assert_eq!(taken("def shader(x: u24) -> u24:\n  return y\n"), [] as [u32; 0]);
    }
}
