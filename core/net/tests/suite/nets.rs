//! Interaction nets as text: every program of `core/net/tests/suite/net` comes to the normal form, or the error, that its first lines tell, in every order
//! in which its redexes are taken; its text is read, printed and read again.
//!
//! `GIRIH_HVM` names upstream's command `hvm`, and `GIRIH_HVM_PROGRAMS` a folder of programs: they come to the normal form that it gives, by
//! as many interactions.

use girih_base::diag::{Code, Diagnostic, Diagnostics, WarningLevels};
use girih_base::span::SourceId;
use girih_machine::interp;
use girih_net::book::Book;
use girih_net::device;
use girih_net::parallel;
use girih_net::picture::rows;
use girih_net::reduce::{Counts, Limits, Machine};
use girih_net::rules::Rule;
use girih_net::supersteps::{self, Schedule, Supersteps};
use girih_net::{random, readback};
use girih_term::hvm::ast;
use girih_term::hvm::parse::parse_book;
use girih_workbench::missing;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many orders each program is reduced in.
const ORDERS: u64 = 8;

fn programs(folder: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "hvm") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn directive<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = format!("// {name}: ");
    text.lines().find_map(|line| line.strip_prefix(&start))
}

fn codes(errors: &[Diagnostic]) -> Vec<Code> {
    errors.iter().map(|diagnostic| diagnostic.code).collect()
}

fn said(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect::<Vec<_>>().join("; ")
}

fn parse(text: &str) -> Result<ast::Book, Vec<Diagnostic>> {
    let mut diags = Diagnostics::new(WarningLevels::default());
    let book = parse_book(SourceId::new(0), text, &mut diags);
    if diags.has_errors() { Err(diags.into_sorted()) } else { Ok(book) }
}

fn open(text: &str) -> Result<(ast::Book, Book), Vec<Diagnostic>> {
    let text = parse(text)?;
    let book = Book::new(&text)?;
    Ok((text, book))
}

/// Holds the text of a book to what is read from it again.
fn print_and_read(book: &ast::Book) {
    let printed = book.to_string();
    let again = parse(&printed).unwrap_or_else(|errors| panic!("{}\n{printed}", said(&errors)));
    assert_eq!(again.to_string(), printed);
}

/// An operand of an operator that is written as bits, as a number.
fn plain_operands(text: &str) -> String {
    let mut pieces = text.split("0x");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(']').unwrap_or(piece.len());
        match u32::from_str_radix(&piece[..end], 16) {
            Ok(bits) => out.push_str(&(bits & 0xFF_FFFF).to_string()),
            Err(_) => out.push_str(&piece[..end]),
        }
        out.push_str(&piece[end..]);
    }
    out
}

/// Wires named in the order in which they occur.
fn renamed(text: &str) -> String {
    let mut names: Vec<String> = vec![];
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || "@./_+-$[".contains(c) {
            word.push(c);
            continue;
        }
        if word.starts_with('v') && word[1..].chars().all(|c| c.is_ascii_hexdigit()) {
            let at = names.iter().position(|name| *name == word).unwrap_or_else(|| {
                names.push(word.clone());
                names.len() - 1
            });
            word = format!("v{at}");
        }
        out.push_str(&word);
        word.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}

struct Reduced {
    text: String,
    counts: Counts,
}

fn reduce(book: &Book, limits: &Limits, seed: Option<u64>) -> Result<Reduced, Vec<Diagnostic>> {
    let Some(main) = book.named("main") else { return Err(vec![]) };
    let mut machine = Machine::new(book, limits.clone()).in_order(seed);
    let root = machine.place(main).map_err(|error| vec![error])?;
    machine.run().map_err(|error| vec![error])?;
    Ok(Reduced { text: readback::tree(&machine, root).to_string(), counts: machine.counts() })
}

#[test]
fn programs_come_to_what_they_tell() {
    let (mut checked, mut wrong) = (0, vec![]);
    for path in programs("tests/suite/net") {
        let text = std::fs::read_to_string(&path).expect("a program");
        let name = path.display().to_string();
        let memory = directive(&text, "memory").map_or(1 << 28, |size| size.parse().expect("a size"));
        let limits = Limits { memory, interactions: Some(10_000_000), interrupt: None };
        let expected = directive(&text, "result");
        let error = directive(&text, "error").and_then(Code::find);
        assert!(expected.is_some() != error.is_some(), "{name} tells a result or an error");
        checked += 1;
        let (text, book) = match open(&text) {
            Ok(opened) => opened,
            Err(errors) => {
                let wanted = error.unwrap_or_else(|| panic!("{name}: {}", said(&errors)));
                assert_eq!(codes(&errors), [wanted], "{name}: {}", said(&errors));
                assert!(!errors[0].labels.is_empty(), "{name}: an error has a place");
                continue;
            }
        };
        print_and_read(&text);
        let first = reduce(&book, &limits, None);
        match (&first, expected, error) {
            (Ok(reduced), Some(expected), _) if reduced.text != expected => {
                wrong.push(format!("{name} gave {}, not {expected}", reduced.text));
            }
            (Ok(_), Some(_), _) => {}
            (Err(errors), _, Some(error)) => assert_eq!(codes(errors), [error], "{name}: {}", said(errors)),
            (Ok(reduced), None, _) => panic!("{name} gave {}", reduced.text),
            (Err(errors), _, None) => panic!("{name}: {}", said(errors)),
        }
        let Ok(first) = first else { continue };
        for seed in 0..ORDERS {
            let other = reduce(&book, &limits, Some(seed)).unwrap_or_else(|errors| panic!("{}", said(&errors)));
            assert_eq!(other.text, first.text, "{name}, order {seed}");
            for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link) {
                assert_eq!(other.counts.of(rule), first.counts.of(rule), "{name}, {}, order {seed}", rule.name());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 40, "only {checked} programs");
}

/// How many schedules each program is run in supersteps by.
const SCHEDULES: u64 = 12;

fn in_supersteps(book: &Book, limits: &Limits, schedule: Schedule) -> Result<(Reduced, Supersteps), Vec<Diagnostic>> {
    let Some(main) = book.named("main") else { return Err(vec![]) };
    let mut machine = Machine::new(book, limits.clone());
    let root = machine.place(main).map_err(|error| vec![error])?;
    let supersteps = supersteps::run(&mut machine, schedule).map_err(|error| vec![error])?;
    Ok((Reduced { text: readback::tree(&machine, root).to_string(), counts: machine.counts() }, supersteps))
}

fn schedule(seed: u64) -> Schedule {
    // One lane, some, many; supersteps of a few interactions and of many.
    Schedule { lanes: [1, 5, 64][seed as usize % 3], steps: [1, 4, 100][seed as usize / 3 % 3], seed }
}

fn assert_same(name: &str, found: &Reduced, expected: &Reduced) {
    assert_eq!(found.text, expected.text, "{name}");
    for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link) {
        assert_eq!(found.counts.of(rule), expected.counts.of(rule), "{name}: {}", rule.name());
    }
}

#[test]
fn supersteps_do_the_same_interactions_in_every_schedule() {
    let (mut same, mut deferred, mut failed) = (0, 0, 0);
    for path in programs("tests/suite/net") {
        let text = std::fs::read_to_string(&path).expect("a program");
        let Ok((_, book)) = open(&text) else { continue };
        let memory = directive(&text, "memory").map_or(1 << 28, |size| size.parse().expect("a size"));
        let limits = Limits { memory, interactions: Some(10_000_000), interrupt: None };
        let oracle = reduce(&book, &limits, None);
        for seed in 0..SCHEDULES {
            let name = format!("{}, schedule {seed}", path.display());
            match (&oracle, in_supersteps(&book, &limits, schedule(seed))) {
                (Ok(oracle), Ok((found, supersteps))) => {
                    assert_same(&name, &found, oracle);
                    deferred += supersteps.deferred;
                }
                (Err(expected), Err(errors)) => assert_eq!(codes(&errors), codes(expected), "{name}"),
                (Ok(_), Err(errors)) => panic!("{name}: {}", said(&errors)),
                (Err(errors), Ok((found, _))) => panic!("{name} gave {}, not {}", found.text, said(errors)),
            }
        }
        if oracle.is_ok() { same += 1 } else { failed += 1 }
    }
    assert!(same >= 30 && failed >= 3, "only {same} programs and {failed} that fail");
    assert!(deferred > 0, "no lane has ever met a node that was on its way");
}

#[test]
fn random_nets_come_to_the_same_in_every_order_and_in_supersteps() {
    let limits = Limits { memory: 1 << 24, interactions: Some(20_000), interrupt: None };
    let (mut done, mut failed) = (0, 0);
    for seed in 0..1200 {
        let text = random::book(seed);
        print_and_read(&text);
        let book = Book::new(&text).unwrap_or_else(|errors| panic!("{seed}: {}\n{text}", said(&errors)));
        let oracle = reduce(&book, &limits, None);
        let other = reduce(&book, &limits, Some(seed));
        let threads = in_parallel(&book, &limits, 3);
        for (name, found) in [
            ("order", other),
            ("threads", threads),
            ("supersteps", in_supersteps(&book, &limits, schedule(seed)).map(|(it, _)| it)),
        ] {
            match (&oracle, found) {
                (Ok(oracle), Ok(found)) => assert_same(&format!("{seed}, {name}\n{text}"), &found, oracle),
                (Err(_), Err(_)) => {}
                (Ok(_), Err(errors)) => panic!("{seed}, {name}: {}\n{text}", said(&errors)),
                (Err(errors), Ok(found)) => panic!("{seed}, {name}: {}, not {}\n{text}", found.text, said(errors)),
            }
        }
        if oracle.is_ok() { done += 1 } else { failed += 1 }
    }
    assert!(done >= 250 && failed >= 10, "{done} nets with a normal form, {failed} without");
}

fn in_parallel(book: &Book, limits: &Limits, threads: usize) -> Result<Reduced, Vec<Diagnostic>> {
    let (Some(main), Some(threads)) = (book.named("main"), NonZeroUsize::new(threads)) else { return Err(vec![]) };
    let mut machine = Machine::new(book, limits.clone());
    let root = machine.place(main).map_err(|error| vec![error])?;
    parallel::run(&mut machine, threads).map_err(|error| vec![error])?;
    Ok(Reduced { text: readback::tree(&machine, root).to_string(), counts: machine.counts() })
}

#[test]
fn threads_do_the_same_interactions() {
    let mut same = 0;
    for path in programs("tests/suite/net") {
        let text = std::fs::read_to_string(&path).expect("a program");
        let Ok((_, book)) = open(&text) else { continue };
        let memory = directive(&text, "memory").map_or(1 << 28, |size| size.parse().expect("a size"));
        let limits = Limits { memory, interactions: Some(10_000_000), interrupt: None };
        let oracle = reduce(&book, &limits, None);
        for threads in [1, 2, 5] {
            let name = format!("{}, {threads} threads", path.display());
            match (&oracle, in_parallel(&book, &limits, threads)) {
                (Ok(oracle), Ok(found)) => assert_same(&name, &found, oracle),
                (Err(expected), Err(errors)) => assert_eq!(codes(&errors), codes(expected), "{name}"),
                (Ok(_), Err(errors)) => panic!("{name}: {}", said(&errors)),
                (Err(errors), Ok(found)) => panic!("{name} gave {}, not {}", found.text, said(errors)),
            }
        }
        same += usize::from(oracle.is_ok());
    }
    assert!(same >= 30, "only {same} programs");
}

fn on_device(book: &Book, limits: &Limits, options: &device::Options) -> Result<Reduced, Vec<Diagnostic>> {
    let Some(main) = book.named("main") else { return Err(vec![]) };
    let mut machine = Machine::new(book, limits.clone());
    let root = machine.place(main).map_err(|error| vec![error])?;
    let checked = interp::Options { checked: true, ..interp::Options::default() };
    let device = girih_runtime::Device::new(interp::Interpreter::new(checked));
    device::run(&mut machine, &device, options)?;
    let reduced = Reduced { text: readback::tree(&machine, root).to_string(), counts: machine.counts() };
    // What is copied from the device, and no more, is the same net.
    let mut machine = Machine::new(book, limits.clone());
    let root = machine.place(main).map_err(|error| vec![error])?;
    let mut session = device::Session::open(book, &device, options, limits.memory)?;
    let root = session.run_for(&mut machine, root).map_err(|error| vec![error])?;
    let copied = Reduced { text: readback::tree(&machine, root).to_string(), counts: machine.counts() };
    assert_same("a copy", &copied, &reduced);
    Ok(reduced)
}

/// The kernels on the checked reference machine, which finds races: a few lanes and many, supersteps that are short and long, and so little memory
/// that places are used again. Calls wait for their arguments in half of the runs, and are straight code in half of them.
#[test]
fn kernels_do_the_same_interactions() {
    let mut same = 0;
    for (i, path) in programs("tests/suite/net").into_iter().enumerate() {
        let text = std::fs::read_to_string(&path).expect("a program");
        let Ok((_, book)) = open(&text) else { continue };
        let name = path.display().to_string();
        let oracle = reduce(&book, &Limits { memory: 1 << 22, ..Limits::default() }, None);
        for (waits, straight) in
            [(false, true), (true, false), (true, true), (false, false)].into_iter().skip(i % 2).step_by(2)
        {
            let options = device::Options {
                lanes: [64, 256][i % 2],
                steps: [20, 1000][i / 2 % 2],
                memory: [1 << 18, 1 << 22][i / 4 % 2],
                drain: [None, Some(1)][i / 8 % 2],
                waits,
                straight,
                ..device::Options::default()
            };
            match (&oracle, on_device(&book, &Limits::default(), &options)) {
                (Ok(oracle), Ok(found)) => {
                    assert_same(&name, &found, oracle);
                    same += 1;
                }
                (Err(expected), Err(errors)) => assert_eq!(codes(&errors), codes(expected), "{name}"),
                (Ok(_), Err(errors)) => panic!("{name}: {}", said(&errors)),
                (Err(errors), Ok(found)) => panic!("{name} gave {}, not {}", found.text, said(errors)),
            }
        }
    }
    assert!(same >= 60, "only {same} runs");
}

/// A lane that is alone with a tree of calls gives some to the other lanes of its workgroup before the superstep ends.
#[test]
fn lanes_of_a_workgroup_share_their_redexes() {
    let text = std::fs::read_to_string("../../benches/net/sum.hvm").expect("a net of the benchmarks");
    let start = text.find("@start ~ (").expect("its size") + "@start ~ (".len();
    let end = start + text[start..].find(' ').expect("its size");
    let (_, book) = open(&format!("{}10{}", &text[..start], &text[end..])).expect("a book");
    let mut machine = Machine::new(&book, Limits::default());
    machine.place(book.named("main").expect("it has one")).expect("there is room");
    let device = girih_runtime::Device::new(interp::Interpreter::new(interp::Options::default()));
    // One workgroup: nobody outside of it is without work, so the ring is not used.
    let options = device::Options { lanes: 64, straight: false, ..device::Options::default() };
    let stats = device::run(&mut machine, &device, &options).expect("it ends");
    // Without rounds there were 22.
    assert!(stats.supersteps <= 4, "{stats:?}, {} interactions", machine.counts().total());
}

#[test]
fn interactions_are_bounded() {
    let (_, book) = open("@main = a & @loop ~ (0 a)\n@loop = a & @loop ~ a\n").expect("a book");
    let limits = Limits { interactions: Some(100_000), ..Limits::default() };
    let Err(errors) = reduce(&book, &limits, None) else { panic!("it has no end") };
    assert_eq!(codes(&errors), [Code::TooManySteps]);
}

/// The page of the rules is made from their table. `GIRIH_WRITE=1` writes it.
#[test]
fn the_documentation_holds_the_table() {
    for (path, wanted) in [("../../docs/nets.md", rows::page()), ("../../docs/images/net-rules.svg", rows::picture())] {
        if std::env::var_os("GIRIH_WRITE").is_some() {
            std::fs::write(path, &wanted).expect("the documentation may be written");
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == wanted, "{path} is not what the table says; GIRIH_WRITE=1 writes it");
    }
}

#[test]
fn programs_come_to_what_upstream_gives() {
    let (Ok(hvm), Ok(folder)) = (std::env::var("GIRIH_HVM"), std::env::var("GIRIH_HVM_PROGRAMS")) else {
        return missing("`hvm` of upstream in `GIRIH_HVM`, and programs in `GIRIH_HVM_PROGRAMS`", "GIRIH_REQUIRE_BEND");
    };
    let mut wrong = vec![];
    let mut same = 0;
    for path in programs(&folder) {
        match beside_upstream(&hvm, &path) {
            Ok(()) => same += 1,
            Err(why) => wrong.push(format!("{}: {why}", path.display())),
        }
    }
    assert!(wrong.is_empty() && same > 0, "{same} are the same; not so\n{}", wrong.join("\n"));
}

fn beside_upstream(hvm: &str, path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let (text, book) = open(&text).map_err(|errors| said(&errors))?;
    print_and_read(&text);
    let output = Command::new(hvm).arg("run").arg(path).output().map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |start: &str| output.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    match (line("Result:"), reduce(&book, &Limits::default(), None)) {
        (Some(theirs), Ok(ours)) => {
            let (theirs, text) = (renamed(&plain_operands(theirs)), renamed(&ours.text));
            let (count, expected) = (ours.counts.total().to_string(), line("- ITRS:").unwrap_or_default());
            match (theirs == text, count == expected) {
                (true, true) => Ok(()),
                (false, _) => Err(format!("{text}\nupstream: {theirs}")),
                (true, false) => Err(format!("{count} interactions, upstream {expected}")),
            }
        }
        (None, Err(_)) => Ok(()),
        (Some(theirs), Err(errors)) => Err(format!("{}; upstream: {theirs}", said(&errors))),
        (None, Ok(ours)) => Err(format!("{}, upstream fails: {output}", ours.text)),
    }
}

/// After each step a random net is read back as text: as `@main` of the same book that text comes to the same normal form. A net whose root is wired to a part
/// that is neither there nor waits cannot be written, and is not compared.
#[test]
fn a_net_is_read_back_after_each_step() {
    let mut compared = 0;
    for seed in 0..200 {
        let text = random::book(seed);
        let Ok(book) = Book::new(&text) else { continue };
        let limits = Limits { interactions: Some(4000), ..Limits::default() };
        let Ok(whole) = reduce(&book, &limits, None) else { continue };
        let mut machine = Machine::new(&book, limits.clone());
        let root = machine.place(book.named("main").expect("it has one")).expect("there is room");
        for step in 0.. {
            if step < 12 {
                let mut there = text.clone();
                there.definitions[0].net = readback::net(&machine, root);
                let Ok(again) = Book::new(&parse(&there.to_string()).expect("what is read back is a net")) else {
                    break;
                };
                compared += 1;
                let reduced =
                    reduce(&again, &limits, None).unwrap_or_else(|errors| panic!("{seed}: {}", said(&errors)));
                assert_eq!(renamed(&reduced.text), renamed(&whole.text), "seed {seed}, step {step}:\n{there}");
            }
            if machine.step().expect("the run has ended").is_none() {
                break;
            }
        }
        if !machine.is_done() {
            continue;
        }
        assert_eq!(machine.counts().total(), whole.counts.total(), "seed {seed}");
        assert_eq!(readback::tree(&machine, root).to_string(), whole.text, "seed {seed}");
    }
    assert!(compared > 300, "{compared}");
}
