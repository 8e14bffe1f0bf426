//! The pages about the IR: the reference is what the tables say, and the examples do what they say.

use girih_base::diag::{Diagnostic, Style, render};
use girih_base::span::{SourceId, Sources};
use girih_ir::text::run_lines::{Outcome, RunArgument, RunLine};
use girih_ir::{Module, Type, Verified, math, reference, task_form, text, verify};
use girih_machine::interp::{self, Interpreter, Options};
use girih_machine::tasks::{self, TaskMachine, TaskSettings};
use girih_runtime::{Argument, Command, Constant, Device, Dispatch, Grid, LoadOptions, Memory, TaskOptions};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

const START: &str =
    "<!-- written by the tests from the tables; GIRIH_BLESS=1 cargo test -p girih-machine --test suite docs -->\n";
const END: &str = "<!-- the reference ends here -->";

/// Held while a page is read or written: the tests run side by side.
static PAGES: Mutex<()> = Mutex::new(());

fn page(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

#[test]
fn the_reference_is_what_the_tables_say() {
    let _held = PAGES.lock();
    let path = page("ir.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(START).expect("the page has the marker");
    let (_, after) = rest.split_once(END).expect("the page has the second marker");
    let wanted = format!("{before}{START}\n{}\n{END}{after}", reference::markdown());
    if std::env::var_os("GIRIH_BLESS").is_some() {
        fs::write(path, wanted).unwrap();
    } else {
        assert!(text == wanted, "docs/ir.md is not what the tables say; GIRIH_BLESS=1 writes it anew");
    }
}

/// Files of the IR under a folder, but for those in `bad`, which are refused on purpose.
fn programs(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name == "bad") {
            continue;
        } else if path.is_dir() {
            found.extend(programs(path));
        } else if path.extension().is_some_and(|e| e == "gir") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_program_is_printed_as_it_is_read() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let files = programs(PathBuf::from(root).join("tests/ir"));
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let read = |text: &str| {
            let parsed = text::parse(SourceId::new(0), text).unwrap_or_else(|e| panic!("{}: {e:#?}", file.display()));
            parsed.module
        };
        let text = fs::read_to_string(&file).unwrap();
        let once = text::print(&read(&text));
        assert_eq!(text::print(&read(&once)), once, "{}", file.display());
    }
    let library = text::print(math::library());
    let again = text::parse(SourceId::new(0), &library).unwrap_or_else(|e| panic!("{e:#?}"));
    assert_eq!(text::print(&again.module), library);
}

/// The blocks of a page in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).map(|rest| rest.split("\n```").next().unwrap_or(rest)).collect()
}

#[test]
fn the_examples_do_what_they_say() {
    let _held = PAGES.lock();
    let mut runs = 0;
    for name in ["ir.md", "adding-an-operation.md", "adding-a-backend.md"] {
        let text = fs::read_to_string(page(name)).unwrap();
        for block in blocks(&text, "gir") {
            runs += example(name, block);
        }
    }
    assert!(runs >= 11, "the pages have examples: {runs}");
}

/// Reads, verifies and runs an example; gives how many run lines it has.
fn example(page: &str, block: &str) -> usize {
    let mut sources = Sources::default();
    let id = sources.add(page, block);
    let said =
        |errors: Vec<Diagnostic>| -> String { errors.iter().map(|e| render(e, &sources, Style::Plain)).collect() };
    let parsed = text::parse(id, block).unwrap_or_else(|e| panic!("{}", said(e)));
    let module = verify(parsed.module).unwrap_or_else(|e| panic!("{}", said(e)));
    for line in &parsed.runs {
        if task_form(&module)[line.function] {
            let settings = TaskSettings { checked: true, ..TaskSettings::default() };
            let mut machine = TaskMachine::new(&module, TaskOptions::default(), settings).expect("it is made ready");
            tasks::check_line(&mut machine, &module, line).unwrap_or_else(|what| panic!("{page}: {what}"));
            continue;
        }
        let result =
            if module.functions[line.function].launch.is_some() { launch(&module, line) } else { call(&module, line) };
        result.unwrap_or_else(|e| panic!("{}", said(vec![e])));
    }
    parsed.runs.len()
}

fn call(module: &Verified<Module>, line: &RunLine) -> Result<(), Diagnostic> {
    let arguments: Vec<u64> = line
        .arguments
        .iter()
        .map(|a| match a {
            RunArgument::Scalar(_, bits) => *bits,
            RunArgument::Memory { .. } => panic!("examples of functions take numbers"),
        })
        .collect();
    let found = interp::call(module, line.function, &arguments)?;
    let Outcome::Gives(expected) = &line.outcome else { panic!("examples of functions give results") };
    assert_eq!(expected.mismatch(&found), None, "{expected:?}, but found {found:?}");
    Ok(())
}

fn launch(module: &Verified<Module>, line: &RunLine) -> Result<(), Diagnostic> {
    let device = Device::new(Interpreter::new(Options { checked: true, ..Options::default() }));
    let options =
        LoadOptions { specialisations: line.specialisations.clone(), checked: true, ..LoadOptions::default() };
    let program = device.load(module, &[line.function], &options).map_err(|mut e| e.remove(0))?.swap_remove(0);
    let mut arguments = vec![];
    let mut after = vec![];
    for argument in &line.arguments {
        arguments.push(match argument {
            RunArgument::Scalar(scalar, bits) => Argument::Scalar(Constant { ty: Type::Scalar(*scalar), bits: *bits }),
            RunArgument::Memory { initial, expected } => {
                let bytes = initial.bytes();
                let buffer = device.zeroed(Memory::of(bytes.len() as u64))?;
                device.write(&buffer, 0, &bytes)?;
                after.push((buffer.clone(), bytes.len(), expected));
                Argument::Buffer(buffer)
            }
        });
    }
    let grid = line.grid.map_or(Grid::Own, Grid::Workgroups);
    device.submit(&[Command::Dispatch(Dispatch { program, arguments, grid })])?;
    device.wait()?;
    assert_eq!(line.outcome, Outcome::Ends, "examples of kernels end");
    for (buffer, length, expected) in after {
        let mut bytes = vec![0; length];
        device.read(&buffer, 0, &mut bytes)?;
        if let Some(expected) = expected {
            assert_eq!(expected.mismatch_in(&bytes), None, "{expected:?}, but found {bytes:?}");
        }
    }
    Ok(())
}
