//! Four handwritten programs that show that the IR is wide enough: sorting a tree by activation records and supersteps, softmax, and matmul on
//! two kinds of matrix units. Each runs on every device that can run it. `docs/proofs.md` says what they taught.
//!
//! `cargo test --release --test suite proofs:: -- --ignored --nocapture` runs the large sizes on graphics cards and prints how long they took.

mod bitonic;
mod dense;
mod machine;

use girih::devices::{self, Profile, Selector};
use girih_ir::Feature;
use girih_runtime::{Device, DeviceKind};
use machine::Machine;
use std::time::Duration;

/// Devices of this machine that can be used, each with a name; wgpu's also held to WebGPU's defaults, and the reference machine also
/// on kernels that were lowered.
fn devices() -> Vec<(String, Device)> {
    let (found, _) = devices::find();
    let mut wanted = vec![];
    for device in found.into_iter().filter(|d| d.problem.is_none()) {
        let title = format!("{} ({})", device.name, device.info.name);
        wanted.push((title.clone(), device.name.clone(), None));
        match device.info.kind {
            DeviceKind::Interpreter => {
                wanted.extend(["lowered:web", "lowered:sm_90"].map(|name| (name.to_owned(), name.to_owned(), None)));
            }
            DeviceKind::Wgpu | DeviceKind::WgpuSoftware => {
                wanted.push((format!("{title}, web"), device.name, Some(Profile::Web)));
            }
            DeviceKind::Cuda | DeviceKind::Cpu => {}
        }
    }
    let open = |(title, name, profile): (String, String, Option<Profile>)| {
        let selector = Selector::parse(&name).unwrap_or_else(|e| panic!("{e}"));
        let device = devices::open(&selector, profile).unwrap_or_else(|e| panic!("{title}: {}", e.message()));
        (title, device)
    };
    wanted.into_iter().map(open).collect()
}

/// Runs a proof on every device that `can` run it, and on at least one.
fn on_all(repeats: usize, can: impl Fn(&Device) -> bool, proof: impl Fn(&str, &mut Machine)) {
    let mut ran = 0;
    for (name, device) in devices() {
        if !can(&device) {
            println!("{name} lacks what it takes");
            continue;
        }
        proof(&name, &mut Machine::new(device, repeats));
        ran += 1;
    }
    assert!(ran > 0, "no device ran it");
}

fn any(_: &Device) -> bool {
    true
}
fn is_card(device: &Device) -> bool {
    matches!(device.info().kind, DeviceKind::Wgpu | DeviceKind::Cuda)
}
fn has_wgmma(device: &Device) -> bool {
    device.caps().has(Feature::Wgmma)
}
fn has_fragments(device: &Device) -> bool {
    let shape = |c: &girih_ir::caps::CoopProduct| (c.shape.m, c.shape.n, c.shape.k);
    device.caps().coop.iter().any(|c| shape(c) == (16, 16, 16))
}

fn sort(name: &str, machine: &mut Machine, depth: u32) {
    let values: Vec<u32> = (0..1u32 << depth).map(|i| i.wrapping_mul(0x9e37_79b1) >> 9).collect();
    let (found, took) = bitonic::sort(machine, &values);
    let mut wanted = values;
    wanted.sort_unstable();
    assert!(found == wanted, "{name}: the tree of depth {depth} is not sorted");
    assert_eq!((took.steps, took.run), bitonic::expected(depth), "{name}: supersteps, and tasks and frames run");
    println!(
        "bitonic 2^{depth} on {name}: {:.2} ms, {} supersteps, {} run",
        millis(took.elapsed),
        took.steps,
        took.run
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[test]
fn trees_are_sorted() {
    on_all(1, any, |name, machine| {
        [3, 4, 5, 8, 11].into_iter().for_each(|depth| sort(name, machine, depth));
        // The reference machine takes ten seconds for this.
        if machine.kind() != DeviceKind::Interpreter {
            sort(name, machine, 14);
        }
    });
}

#[test]
fn rows_become_softmax() {
    on_all(1, any, |name, machine| {
        for (rows, columns) in
            [(1, 1), (3, 2), (2, 3), (5, 4), (3, 257), (2, 781), (3, 1000), (2, 1023), (2, 4095), (2, 4096)]
        {
            let (error, _) = dense::softmax(machine, rows, columns);
            // In units of the mean 1 / columns.
            assert!(error < 2e-3, "{name}: {rows} x {columns}: off by {error}");
        }
    });
}

fn multiply(which: &dense::Matmul, name: &str, machine: &mut Machine, m: usize, n: usize, k: usize) {
    let (error, took) = dense::matmul(machine, which, m, n, k);
    assert!(error < 1e-3, "{name}: {m} x {n} x {k}: off by {error}");
    let rate = 2.0 * (m * n * k) as f64 / took.as_secs_f64() / 1e12;
    println!("matmul {m} x {n} x {k} on {name}: {:.3} ms, {rate:.1} TFLOP/s, error {error:.1e}", millis(took));
}

/// Sizes that are no squares, and depths of fewer steps than there are stages; the reference machine does the first two.
const SIDES: [[usize; 3]; 5] = [[128, 256, 64], [256, 256, 192], [256, 256, 128], [128, 512, 192], [384, 256, 512]];

fn multiply_all(which: &dense::Matmul, name: &str, machine: &mut Machine) {
    let sizes = if machine.kind() == DeviceKind::Interpreter { 2 } else { SIDES.len() };
    SIDES[..sizes].iter().for_each(|[m, n, k]| multiply(which, name, machine, *m, *n, *k));
}

#[test]
fn warpgroups_multiply() {
    on_all(1, has_wgmma, |name, machine| multiply_all(&dense::WGMMA, name, machine));
}

#[test]
fn fragments_multiply() {
    on_all(1, has_fragments, |name, machine| multiply_all(&dense::COOP, name, machine));
}

#[test]
#[ignore = "needs a graphics card"]
fn large_trees_are_sorted() {
    on_all(1, is_card, |name, machine| [14, 20, 20].into_iter().for_each(|depth| sort(name, machine, depth)));
}

#[test]
#[ignore = "needs a graphics card"]
fn large_rows_become_softmax() {
    on_all(50, is_card, |name, machine| {
        let (error, took) = dense::softmax(machine, 4096, 4096);
        assert!(error < 2e-3, "{name}: off by {error}");
        let rate = 2.0 * 4.0 * 4096.0 * 4096.0 / took.as_secs_f64() / 1e9;
        println!("softmax 4096 x 4096 on {name}: {:.4} ms, {rate:.0} GB/s, error {error:.1e}", millis(took));
    });
}

#[test]
#[ignore = "needs a graphics card with matrix units"]
fn large_matrices_multiply() {
    on_all(
        50,
        |d| is_card(d) && has_wgmma(d),
        |name, machine| multiply(&dense::WGMMA, name, machine, 8192, 8192, 8192),
    );
    on_all(
        20,
        |d| is_card(d) && has_fragments(d),
        |name, machine| multiply(&dense::COOP, name, machine, 8192, 8192, 8192),
    );
}
