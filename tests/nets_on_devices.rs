//! Interaction nets on devices: the kernels give the normal forms of the sequential machine, by the same interactions, on the processor, on a reading of
//! the PTX, and on wgpu where there is an adapter; random nets too. A net without an end stops with the memory error on each.
//!
//! `GIRIH_NETS=500` tries more random nets. `GIRIH_REQUIRE_WGPU=1` makes a missing adapter a failure, `GIRIH_REQUIRE_CUDA=1` a missing card.

use girih::devices::{self, Selector};
use girih::nets::Nets;
use girih_core::net::random;
use girih_core::net::reduce::Limits;
use girih_core::net::rules::Rule;
use girih_core::runtime::Device;
use std::path::PathBuf;

/// Where the programs are.
const PROGRAMS: &str = "core/tests/net";
/// Bytes of memory on devices.
const MEMORY: u64 = 4 << 20;

fn programs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(PROGRAMS).expect("the folder is there");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    found.sort();
    found
}

/// A device by its name; none, said so, if this machine does not have it.
fn device(name: &str) -> Option<Box<dyn Device>> {
    let selector = Selector::parse(name).expect("a device's name");
    match devices::open(&selector, None) {
        Ok(device) => Some(device),
        Err(error) => {
            let required = [("wgpu:", "GIRIH_REQUIRE_WGPU"), ("cuda", "GIRIH_REQUIRE_CUDA")];
            let is_required = |(kind, variable)| name.starts_with(kind) && std::env::var_os(variable).is_some();
            assert!(!required.into_iter().any(is_required), "{name} is required: {}", error.message);
            println!("skipped: without {name}: {}", error.message);
            None
        }
    }
}

fn limits() -> Limits {
    Limits { memory: 1 << 26, interactions: Some(1_000_000), interrupt: None }
}

/// Whether a device has reduced a net to what the sequential machine gives.
fn agrees(name: &str, nets: &Nets, device: &mut dyn Device) -> bool {
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

fn all_programs(name: &str) {
    let Some(mut device) = device(name) else { return };
    let mut same = 0;
    for path in programs() {
        let Ok(nets) = Nets::open(&path) else { continue };
        same += usize::from(agrees(&format!("{name}, {}", path.display()), &nets, &mut *device));
    }
    assert!(same >= 30, "{name}: only {same} programs");
}

fn random_nets(name: &str, count: u64) {
    let Some(mut device) = device(name) else { return };
    let count = std::env::var("GIRIH_NETS").map_or(count, |count| count.parse().expect("a number"));
    let mut same = 0;
    for seed in 0..count {
        let text = random::book(seed).to_string();
        let nets = Nets::from_text("random.hvm", &text).unwrap_or_else(|report| panic!("{report}"));
        // Those without a normal form are for the model: which error comes first is a matter of order.
        if nets.reduce(None, &Limits { interactions: Some(20_000), ..limits() }).is_ok() {
            same += u64::from(agrees(&format!("{name}, net {seed}\n{text}"), &nets, &mut *device));
        }
    }
    assert!(same >= count / 5, "{name}: only {same} of {count} nets");
}

fn endless(name: &str) {
    let Some(mut device) = device(name) else { return };
    let nets = Nets::open(format!("{PROGRAMS}/no_end.hvm")).unwrap_or_else(|report| panic!("{report}"));
    match nets.reduce_on(None, &Limits::default(), &mut *device, Some(1 << 20)) {
        Ok(found) => panic!("{name}: {}", found.text),
        Err(report) => assert_eq!(report.diagnostics[0].code, girih::Code::OutOfMemory, "{name}: {report}"),
    }
}

#[test]
fn the_processor_gives_what_the_sequential_machine_gives() {
    all_programs("cpu");
    random_nets("cpu", 100);
    endless("cpu");
}

#[test]
fn lowered_kernels_give_it() {
    all_programs("lowered:web");
    random_nets("interpreter", 40);
    endless("interpreter");
}

#[test]
fn ptx_gives_it() {
    all_programs("ptx:sm_90a");
    random_nets("ptx:sm_75", 20);
    endless("ptx:sm_90a");
}

#[test]
fn graphics_adapters_give_it() {
    all_programs("wgpu:lavapipe");
    random_nets("wgpu:lavapipe", 10);
    endless("wgpu:lavapipe");
}

#[test]
fn cards_give_it() {
    all_programs("cuda");
    random_nets("cuda", 100);
    endless("cuda");
}
