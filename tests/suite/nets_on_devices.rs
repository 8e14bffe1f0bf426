//! Interaction nets on devices: the kernels give the normal forms of the sequential machine, by the same interactions, on the processor, on a reading of
//! the PTX, and on wgpu where there is an adapter; random nets too. A net without an end stops with the memory error on each. The programs of
//! `core/net/tests/suite/net_effects` write, read and come to what their first lines tell.
//!
//! `GIRIH_HVM` names upstream's command `hvm`: those programs do the same there, by as many interactions.
//! `GIRIH_NETS=500` tries more random nets. `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure, `GIRIH_REQUIRE_CUDA=1` a missing card.

use crate::support::machine;
use girih::SystemHost;
use girih::nets::{Nets, Place};
use girih_net::random;
use girih_net::reduce::Limits;
use girih_net::rules::Rule;
use girih_runtime::Device;
use girih_workbench::{ALL, Share, missing, sample, share};
use std::io::{Cursor, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// Where the programs are.
const PROGRAMS: &str = "core/net/tests/suite/net";
/// Where those with effects are.
const EFFECTS: &str = "core/net/tests/suite/net_effects";
/// Bytes of memory on devices.
const MEMORY: u64 = 4 << 20;

fn programs(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    found.sort();
    found
}

fn limits() -> Limits {
    Limits { memory: 1 << 26, interactions: Some(1_000_000), interrupt: None }
}

/// Whether a device has reduced a net to what the sequential machine gives.
fn agrees(name: &str, nets: &Nets, device: &Device) -> bool {
    let oracle = nets.reduce(None, &limits());
    match (oracle, nets.reduce_on(None, &Limits { interactions: None, ..limits() }, device, Some(MEMORY))) {
        (Ok(oracle), Ok(found)) => {
            assert_eq!(found.text, oracle.text, "{name}");
            for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::Link) {
                assert_eq!(found.counts.of(rule), oracle.counts.of(rule), "{name}: {}", rule.name());
            }
            true
        }
        (Err(expected), Err(found)) => {
            // What has no end is stopped by its interactions here, and by its memory there.
            let wanted = match expected.diagnostics[0].code {
                girih::Code::TooManySteps => girih::Code::OutOfMemory,
                code => code,
            };
            assert_eq!(found.diagnostics[0].code, wanted, "{name}: {found}");
            false
        }
        (Ok(_), Err(found)) => {
            assert_eq!(found.diagnostics[0].code, girih::Code::NoDevice, "{name}: {found}");
            false
        }
        (Err(expected), Ok(found)) => panic!("{name} gave {}, not {expected}", found.text),
    }
}

fn all_programs(name: &str, share: Share) {
    let Some(device) = machine::open(name) else { return };
    let mut same = 0;
    for path in share.of(programs(PROGRAMS)) {
        let Ok(nets) = Nets::open(&path) else { continue };
        same += usize::from(agrees(&format!("{name}, {}", path.display()), &nets, &device));
    }
    assert!(same >= share.least(30), "{name}: only {same} programs");
}

fn random_nets(name: &str, count: u64) {
    let Some(device) = machine::open(name) else { return };
    let count = sample("GIRIH_NETS", count / 2, 2 * count);
    let mut same = 0;
    for seed in 0..count {
        let text = random::book(seed).to_string();
        let nets = Nets::from_text("random.hvm", &text).unwrap_or_else(|report| panic!("{report}"));
        // Those without a normal form are for the model: which error comes first is a matter of order.
        if nets.reduce(None, &Limits { interactions: Some(20_000), ..limits() }).is_ok() {
            same += u64::from(agrees(&format!("{name}, net {seed}\n{text}"), &nets, &device));
        }
    }
    assert!(same >= count / 5, "{name}: only {same} of {count} nets");
}

fn endless(name: &str) {
    let Some(device) = machine::open(name) else { return };
    let nets = Nets::open(format!("{PROGRAMS}/no_end.hvm")).unwrap_or_else(|report| panic!("{report}"));
    match nets.reduce_on(None, &Limits::default(), &device, Some(1 << 19)) {
        Ok(found) => panic!("{name}: {}", found.text),
        Err(report) => assert_eq!(report.diagnostics[0].code, girih::Code::OutOfMemory, "{name}: {report}"),
    }
}

/// What a program with effects tells of itself.
struct Told {
    path: PathBuf,
    input: String,
    output: String,
    result: String,
    interactions: u64,
}

impl Told {
    fn of(path: PathBuf) -> Told {
        let text = std::fs::read_to_string(&path).expect("a program");
        let line = |name: &str| {
            let start = format!("// {name}:");
            text.lines().find_map(|line| line.strip_prefix(&start)).map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
        };
        let [output, result, interactions] = ["output", "result", "interactions"]
            .map(|name| line(name).unwrap_or_else(|| panic!("{} tells its {name}", path.display())).to_owned());
        let input = line("input").unwrap_or_default().to_owned();
        Told { input, output, result, interactions: interactions.parse().expect("a number"), path }
    }
}

/// What is written comes here.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics with it").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn performs(name: &str, share: Share, mut place: impl FnMut(&mut dyn FnMut(Place<'_>))) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut count = 0;
    for path in share.of(programs(EFFECTS)) {
        let told = Told::of(path);
        let name = format!("{name}, {}", told.path.display());
        let nets = Nets::open(&told.path).unwrap_or_else(|report| panic!("{name}: {report}"));
        place(&mut |place| {
            let page = Page::default();
            let mut host = SystemHost::new()
                .in_folder(folder.path())
                .with_stdin(Cursor::new(told.input.clone().into_bytes()))
                .with_stdout(Box::new(page.clone()));
            let limits = Limits { interactions: None, ..limits() };
            let found = nets.run(None, &limits, place, Some(&mut host));
            let found = found.unwrap_or_else(|report| panic!("{name}: {report}"));
            let written = String::from_utf8_lossy(&page.0.lock().expect("nobody panics with it")).into_owned();
            assert_eq!((found.text.as_str(), written.as_str()), (told.result.as_str(), told.output.as_str()), "{name}");
            assert_eq!(found.counts.total(), told.interactions, "{name}");
        });
        count += 1;
    }
    assert!(count >= share.least(10), "{name}: only {count} programs");
}

fn effects(name: &str, share: Share) {
    let Some(device) = machine::open(name) else { return };
    performs(name, share, |run| run(Place::Device(&device, Some(MEMORY))));
}

#[test]
fn the_host_performs_what_nets_ask_for() {
    performs("in turn", ALL, |run| run(Place::InTurn(None)));
    performs("in another order", ALL, |run| run(Place::InTurn(Some(7))));
    for threads in [1, 3] {
        performs("threads", ALL, |run| run(Place::Cores(NonZeroUsize::new(threads).expect("it is not 0"))));
    }
}

#[test]
fn upstream_performs_the_same() {
    let Ok(hvm) = std::env::var("GIRIH_HVM") else {
        return missing("`hvm` of upstream in `GIRIH_HVM`", "GIRIH_REQUIRE_BEND");
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    for path in programs(EFFECTS) {
        let told = Told::of(path);
        let (printed, interactions) = upstream(&hvm, &told, folder.path());
        let expected = format!("{}Result: {}", told.output, renamed(&told.result));
        assert_eq!((printed.as_str(), interactions), (expected.as_str(), told.interactions), "{}", told.path.display());
    }
}

/// What upstream prints before its statistics, and how many interactions it did.
fn upstream(hvm: &str, told: &Told, folder: &Path) -> (String, u64) {
    let mut child = Command::new(hvm)
        .arg("run-c")
        .arg(std::path::absolute(&told.path).expect("a path"))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("upstream's command");
    child.stdin.take().expect("it is a pipe").write_all(told.input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends").stdout;
    let output = String::from_utf8_lossy(&output).into_owned();
    let (printed, rest) = output.split_once("\n- ITRS: ").expect("statistics");
    let count = rest.lines().next().and_then(|count| count.trim().parse().ok()).expect("a number");
    let (written, result) = printed.rsplit_once("Result: ").expect("a result");
    (format!("{written}Result: {}", renamed(result)), count)
}

/// Wires named in the order in which they occur: upstream names them by their places.
fn renamed(text: &str) -> String {
    let mut names: Vec<&str> = vec![];
    let is_wire = |word: &str| word.starts_with(['x', 'v']) && word[1..].chars().all(|c| c.is_ascii_hexdigit());
    let pieces = text.split_inclusive([' ', '(', ')']).map(|piece| {
        let word = piece.trim_end_matches([' ', '(', ')']);
        if word.is_empty() || !is_wire(word) {
            return piece.to_owned();
        }
        let at = names.iter().position(|name| *name == word).unwrap_or_else(|| {
            names.push(word);
            names.len() - 1
        });
        format!("v{at}{}", &piece[word.len()..])
    });
    pieces.collect()
}

#[test]
fn the_processor_gives_what_the_sequential_machine_gives() {
    all_programs("cpu", share(20));
    random_nets("cpu", 100);
    endless("cpu");
    effects("cpu", ALL);
}

#[test]
fn lowered_kernels_give_it() {
    all_programs("lowered:web", share(20));
    random_nets("interpreter", 40);
    endless("interpreter");
    effects("interpreter", ALL);
}

#[test]
fn ptx_gives_it() {
    all_programs("ptx:sm_90a", share(40));
    random_nets("ptx:sm_75", 20);
    endless("ptx:sm_90a");
    effects("ptx:sm_90a", share(12));
}

#[test]
fn graphics_adapters_give_it() {
    all_programs("wgpu:lavapipe", share(20));
    random_nets("wgpu:lavapipe", 10);
    endless("wgpu:lavapipe");
    effects("wgpu:lavapipe", ALL);
}

#[test]
fn cards_give_it() {
    all_programs("cuda", share(20));
    random_nets("cuda", 100);
    endless("cuda");
    effects("cuda", ALL);
}
