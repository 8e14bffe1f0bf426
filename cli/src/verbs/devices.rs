//! `girih devices`: what kernels can run on here, and why other devices cannot be used.

use crate::console::Console;
use crate::exit::Exit;
use clap::Args;
use girih::devices::{self, Found};
use girih_ir::{Caps, Feature};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  girih devices              each device with its limits and features
  girih devices --json       the same for programs";

/// Options of the verb.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Devices {}

impl Devices {
    /// Lists the devices.
    pub fn run(&self, console: &Console) -> Exit {
        let (found, missing) = devices::find();
        for device in &found {
            console.result(&describe(device), || object(device));
        }
        for reason in &missing {
            console.result(&format!("- {}", reason.message), || json!({"kind": "missing", "reason": reason.message}));
        }
        Exit::Ok
    }
}

fn describe(device: &Found) -> String {
    let Found { name, info, caps, problem } = device;
    let kind = devices::kind_name(info.kind);
    let mut text = format!("{name}: {} ({kind}, {}, {})\n", info.name, info.backend, info.driver);
    if let Some(problem) = problem {
        text.push_str(&format!("  cannot be used: {}\n", problem.message));
        return text;
    }
    for (what, value) in limits(caps) {
        text.push_str(&format!("  {what:<22}{value}\n"));
    }
    let features: Vec<&str> = Feature::ALL.iter().filter(|f| caps.has(**f)).map(|f| f.name()).collect();
    text.push_str(&format!("  {:<22}{}\n", "features", features.join(" ")));
    text
}

/// The limits that matter to those who write kernels.
fn limits(caps: &Caps) -> Vec<(&'static str, String)> {
    let names = |set: girih_ir::ScalarSet| set.iter().map(|s| s.name()).collect::<Vec<_>>().join(" ");
    let size = |bytes: u64| match bytes {
        b if b >= 1 << 30 => format!("{:.1} GiB", b as f64 / f64::from(1 << 30)),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b => format!("{} KiB", b >> 10),
    };
    let [x, y, z] = caps.grid;
    vec![
        ("arithmetic", names(caps.arithmetic)),
        ("storage", names(caps.storage)),
        ("subgroups", format!("{} to {} lanes", caps.subgroup.min, caps.subgroup.max)),
        ("workgroup", format!("{} invocations, {} shared", caps.invocations, size(caps.shared_bytes.into()))),
        ("grid", format!("{x} x {y} x {z}")),
        (
            "buffers",
            format!("{} of {}, bound up to {}", caps.buffers, size(caps.buffer_bytes), size(caps.binding_bytes)),
        ),
    ]
}

fn object(device: &Found) -> serde_json::Value {
    let Found { name, info, caps, problem } = device;
    let limits: serde_json::Map<_, _> = limits(caps).into_iter().map(|(k, v)| (k.to_owned(), json!(v))).collect();
    let features: Vec<&str> = Feature::ALL.iter().filter(|f| caps.has(**f)).map(|f| f.name()).collect();
    json!({
        "kind": "device", "name": name, "device": info.name, "driver": info.driver, "backend": info.backend,
        "limits": limits, "features": features, "problem": problem.as_ref().map(|p| p.message.clone()),
    })
}
