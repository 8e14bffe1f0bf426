//! Programs as text and the terms that they become, one folder of snapshots for all.

mod blocks;
mod functions;
mod imports;
mod limits;
mod names;
mod rules;

use girih_base::diag::{Code, Style, render};
use girih_base::name::Name;
use girih_bend::loader::{File, LoadError, Loader};
use girih_bend::{Compilation, Options, compile};
use girih_term::print::print_def;
use girih_term::{Def, Origin, Program};

/// A program of several files, the main file first: paths without `.bend`, and texts.
pub struct Files<'a>(pub &'a [(&'a str, &'a str)]);

impl Loader for Files<'_> {
    fn main(&self) -> Result<File, LoadError> {
        let (path, text) = self.0[0];
        Ok(File { name: format!("{path}.bend"), text: text.to_string() })
    }
    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let found = self.0[1..].iter().find(|(name, _)| *name == path);
        Ok(found.map(|(name, text)| File { name: format!("{name}.bend"), text: text.to_string() }))
    }
    fn folder(&self, path: &str) -> Option<Vec<String>> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let inside = self.0.iter().filter_map(|(name, _)| name.strip_prefix(&prefix));
        let mut names: Vec<String> = inside.filter(|name| !name.contains('/')).map(str::to_string).collect();
        names.sort();
        if names.is_empty() { None } else { Some(names) }
    }
}

/// Compiles without a type check.
pub fn compiled(files: &[(&str, &str)], arguments: &[&str]) -> Compilation {
    let arguments = arguments.iter().map(|text| text.to_string()).collect();
    compiled_as(files, &Options { check_types: false, arguments, ..Options::default() })
}

/// Compiles on a stack as large as the command's.
pub fn compiled_as(files: &[(&str, &str)], options: &Options) -> Compilation {
    std::thread::scope(|scope| {
        let compile = || compile(&Files(files), options);
        let thread = std::thread::Builder::new().stack_size(1 << 30).spawn_scoped(scope, compile);
        thread.expect("a thread").join().expect("no panic")
    })
}

fn is_own(program: &Program, def: &Def) -> bool {
    match def.origin {
        Origin::User => true,
        Origin::Prelude => false,
        Origin::Generated(parent) => is_own(program, &program.defs[parent]),
    }
}

/// What is said about a program, then its own definitions.
pub fn shown(files: &[(&str, &str)], arguments: &[&str]) -> String {
    let compilation = compiled(files, arguments);
    let mut text: String =
        compilation.diagnostics.iter().map(|d| render(d, &compilation.sources, Style::Plain)).collect();
    if let Some(program) = &compilation.program {
        for def in program.defs.iter().filter(|def| is_own(program, def)) {
            text += &print_def(program, def);
        }
    }
    text
}

/// The codes of what is said about a program, in the order of the text.
pub fn codes(files: &[(&str, &str)]) -> Vec<Code> {
    compiled(files, &[]).diagnostics.iter().map(|d| d.code).collect()
}

/// The names of a program's own definitions, the generated ones included.
pub fn own_names(files: &[(&str, &str)]) -> Vec<Name> {
    let compilation = compiled(files, &[]);
    let program = compilation.program.as_ref().expect("a program without errors");
    program.defs.iter().filter(|def| is_own(program, def)).map(|def| def.name.clone()).collect()
}

/// Tests each of which shows what a program becomes, and what is said about it.
macro_rules! becomes {
    ($($name:ident: $text:literal;)*) => {
        $(#[test]
        fn $name() {
            let shown = $crate::lower::shown(&[("main", $text)], &[]);
            insta::assert_snapshot!(stringify!($name), format!("{}\n---\n{shown}", $text.trim_end()));
        })*
    };
}
pub(crate) use becomes;

/// Tests that a program gives these codes, in the order of the text.
macro_rules! says {
    ($($name:ident: $text:literal => [$($code:ident),*];)*) => {
        $(#[test]
        fn $name() {
            let codes = $crate::lower::codes(&[("main", $text)]);
            assert_eq!(codes, [$(girih_base::diag::Code::$code),*] as [girih_base::diag::Code; _]);
        })*
    };
}
pub(crate) use says;
