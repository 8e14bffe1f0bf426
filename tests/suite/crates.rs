//! The direction of crates: which may use which, and what each feature of the library brings with it.
//!
//! Cargo refuses circles alone; these tests refuse any arrow that the table does not have.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What each crate may use. A row uses rows above it only, so the table has no circle.
const ARROWS: &[(&str, &[&str])] = &[
    ("girih-fingerprint", &[]),
    ("girih-cache", &[]),
    ("girih-workbench", &[]),
    ("girih-derive", &[]),
    ("girih-base", &[]),
    ("girih-ir", &["base"]),
    ("girih-runtime", &["base", "ir"]),
    ("girih-lower", &["base", "ir", "runtime"]),
    ("girih-machine", &["base", "ir", "runtime", "lower"]),
    ("girih-term", &["base"]),
    ("girih-task", &["base", "ir", "runtime", "lower", "machine", "term"]),
    ("girih-net", &["base", "ir", "runtime", "lower", "term", "task"]),
    ("girih-bend", &["base", "term"]),
    ("girih-triton", &["base", "ir", "lower"]),
    ("girih-tensor", &["base", "ir"]),
    ("girih-onnx", &["base", "ir", "tensor"]),
    ("girih-nn", &["base", "ir", "runtime", "tensor", "onnx"]),
    ("girih-cpu", &["base", "ir", "runtime", "lower"]),
    ("girih-cuda", &["cache", "base", "ir", "runtime", "lower", "machine"]),
    ("girih-wgpu", &["cache", "base", "ir", "runtime", "lower"]),
    (
        "girih",
        &[
            "cache", "base", "ir", "runtime", "lower", "machine", "term", "task", "net", "bend", "triton", "nn", "cpu",
            "cuda", "wgpu", "derive",
        ],
    ),
    ("girih-features", &["girih"]),
    ("girih-conform", &["girih", "base", "ir", "runtime", "lower", "machine", "cpu", "wgpu"]),
    ("girih-bench", &["girih", "base", "ir", "runtime", "bend", "net"]),
    ("girih-lsp", &["girih", "base", "bend"]),
    ("girih-cli", &["girih", "base", "bend", "ir", "runtime", "machine", "term", "net", "conform", "bench", "lsp"]),
    ("girih-python", &["girih"]),
    ("girih-web", &["girih", "base", "term", "net", "bend", "conform"]),
];

/// What build scripts may use.
const BUILDING: &str = "girih-fingerprint";

/// The features of the library, and crates that come with one of them alone.
const FEATURES: &[(&str, &[&str])] = &[
    ("bend", &["girih-bend", "gif", "png"]),
    ("net", &["girih-net"]),
    ("triton", &["girih-triton"]),
    ("tensor", &["girih-nn", "girih-onnx", "prost", "safetensors"]),
    ("cpu", &["girih-cpu", "cranelift-codegen"]),
    ("cuda", &["girih-cuda", "cudarc"]),
    ("wgpu", &["girih-wgpu", "wgpu", "naga"]),
];

/// What cargo says when it is asked about this workspace.
fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).arg("--offline").output();
    let output = output.expect("cargo can be started");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// The crates of the workspace with what they use: names and kinds, `normal` or `build`.
fn manifests() -> BTreeMap<String, Vec<(String, &'static str)>> {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).expect("cargo writes JSON");
    let list = |value: &Value| value.as_array().expect("it is a list").clone();
    let text = |value: &Value| value.as_str().expect("it is text").to_owned();
    let used = |package: &Value| {
        let ours = list(&package["dependencies"]).into_iter().filter(|used| used["path"].is_string());
        let kinds = ours.filter_map(|used| match used["kind"].as_str() {
            None => Some((text(&used["name"]), "normal")),
            Some("build") => Some((text(&used["name"]), "build")),
            // Tests may look at anything.
            Some(_) => None,
        });
        kinds.collect()
    };
    list(&metadata["packages"]).iter().map(|package| (text(&package["name"]), used(package))).collect()
}

/// The row of a name in the table, which leaves out the prefix.
fn row(name: &str) -> Option<usize> {
    ARROWS.iter().position(|(known, _)| *known == name || known.strip_prefix("girih-") == Some(name))
}

#[test]
fn the_table_has_no_circle() {
    for (at, (name, uses)) in ARROWS.iter().enumerate() {
        for used in *uses {
            let to = row(used).unwrap_or_else(|| panic!("{name} may use {used}, which has no row"));
            assert!(to < at, "{name} may use {used}, which is no row above it");
        }
    }
}

#[test]
fn crates_use_only_what_the_table_says() {
    let manifests = manifests();
    let rows: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let crates: BTreeSet<&str> = manifests.keys().map(String::as_str).collect();
    assert_eq!(crates, rows, "each crate has its row");
    let mut refused = vec![];
    for (name, uses) in &manifests {
        let (_, allowed) = ARROWS[row(name).expect("it has a row")];
        for (used, kind) in uses {
            let is_fine = match *kind {
                "build" => used == BUILDING,
                _normal => allowed.iter().any(|allowed| row(allowed) == row(used)),
            };
            if !is_fine {
                refused.push(format!("{name} -> {used} ({kind})"));
            }
        }
    }
    assert!(refused.is_empty(), "arrows that the table does not have:\n{}", refused.join("\n"));
}

/// The crates that the library is built of with some features.
fn tree(features: &str) -> BTreeSet<String> {
    let list = cargo(&[
        "tree",
        "--package",
        "girih",
        "--no-default-features",
        "--features",
        features,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    list.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn a_feature_brings_its_own_crates_alone() {
    let bare = tree("");
    for (feature, own) in FEATURES {
        let with = tree(feature);
        for (other, crates) in FEATURES {
            for name in *crates {
                assert!(!bare.contains(*name), "without features there is no {name}");
                assert_eq!(with.contains(*name), own.contains(name), "{name} of `{other}` with `{feature}` alone");
            }
        }
    }
}

#[test]
fn the_features_are_those_that_messages_name() {
    let known: Vec<&str> = girih::features::Feature::ALL.iter().map(|feature| feature.name()).collect();
    let listed: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, listed);
}
