//! The lines `#: …` in a Bend file of `tests/bend`, which say what must come out.
//!
//! | line | meaning |
//! |---|---|
//! | `#: result VALUE` | the program ends with this value |
//! | `#: error CODE` | it is refused, or fails, with this error; one line an error, in the order of their places |
//! | `#: nets VALUE` | it needs interaction nets, and ends with this value there; the `error` line says that it cannot be run by value |
//! | `#: warning CODE` | the compiler warns; without such a line it must not |
//! | `#: args A B 'C D'` | program arguments |
//! | `#: flags -D all -Ono-type-check -e other --memory 64M` | as on the command line |
//! | `#: stdin TEXT`, `#: stdout TEXT` | a line that is read, a line that is written |
//! | `#: file NAME TEXT` | a line of a file in the folder in which the program runs |
//!
//! A file without a `result` or `error` line is a library of other tests.

use girih::{Code, Options, Severity, WarningLevels};

/// What the lines of a file say.
#[derive(Default)]
pub struct Directives {
    pub result: Option<String>,
    pub nets: Option<String>,
    pub errors: Vec<Code>,
    pub warnings: Vec<Code>,
    pub arguments: Vec<String>,
    pub flags: Vec<String>,
    pub stdin: String,
    pub stdout: Option<String>,
    pub files: Vec<(String, String)>,
}

impl Directives {
    /// Reads them; a line that is none of these is an error.
    pub fn read(text: &str) -> Result<Directives, String> {
        let mut all = Directives::default();
        for line in text.lines().filter_map(|line| line.trim_start().strip_prefix("#:")) {
            let line = line.strip_prefix(' ').unwrap_or(line);
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            all.add(key, value)?;
        }
        Ok(all)
    }

    fn add(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "result" => match &mut self.result {
                Some(text) => *text = format!("{text}\n{value}"),
                None => self.result = Some(value.trim_end().to_owned()),
            },
            "nets" => self.nets = Some(value.trim_end().to_owned()),
            "error" => self.errors.push(code(value)?),
            "warning" => self.warnings.push(code(value)?),
            "args" => self.arguments.extend(words(value)),
            "flags" => self.flags.extend(words(value)),
            "stdin" => self.stdin += &format!("{value}\n"),
            "stdout" => *self.stdout.get_or_insert_default() += &format!("{value}\n"),
            "file" => {
                let (name, line) = value.split_once(' ').unwrap_or((value, ""));
                match self.files.iter_mut().find(|(n, _)| n == name) {
                    Some((_, text)) => *text += &format!("{line}\n"),
                    None => self.files.push((name.to_owned(), format!("{line}\n"))),
                }
            }
            _ => return Err(format!("there is no directive `{key}`")),
        }
        Ok(())
    }

    /// Whether the file is a test.
    pub fn expects_something(&self) -> bool {
        self.result.is_some() || !self.errors.is_empty()
    }

    /// Options of the compiler, and the memory limit if there is one.
    pub fn options(&self) -> Result<(Options, Option<u64>), String> {
        let mut warnings = WarningLevels::default();
        warnings.set(Code::UnusedDefinition, None);
        let mut options = Options { arguments: self.arguments.clone(), ..Options::default() };
        let mut memory = None;
        let mut flags = self.flags.iter();
        while let Some(flag) = flags.next() {
            let mut value = || flags.next().ok_or_else(|| format!("`{flag}` needs a value"));
            match flag.as_str() {
                "-W" => set(&mut warnings, value()?, Some(Severity::Warning))?,
                "-D" => set(&mut warnings, value()?, Some(Severity::Error))?,
                "-A" => set(&mut warnings, value()?, None)?,
                "-Ono-type-check" => options.check_types = false,
                "-e" => options.entry = Some(value()?.as_str().into()),
                "--memory" => {
                    let mib = value()?.strip_suffix('M').and_then(|n| n.parse::<u64>().ok());
                    memory = Some(mib.ok_or("`--memory` is a number of MiB: `64M`")? << 20);
                }
                _ => return Err(format!("there is no flag `{flag}`")),
            }
        }
        options.warnings = warnings;
        Ok((options, memory))
    }
}

fn set(levels: &mut WarningLevels, name: &str, level: Option<Severity>) -> Result<(), String> {
    let codes = Code::ALL.iter().filter(|c| match c.warning_name() {
        Some(warning) => warning == name || (name == "all" && **c != Code::MissingMain),
        None => false,
    });
    let mut any = false;
    for &code in codes {
        levels.set(code, level);
        any = true;
    }
    if any { Ok(()) } else { Err(format!("there is no warning `{name}`")) }
}

fn code(text: &str) -> Result<Code, String> {
    Code::find(text.trim()).ok_or_else(|| format!("there is no code `{text}`"))
}

/// Words between spaces; single quotes keep spaces together.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
