//! The suite's kernels as PTX: the assembler takes all that no architecture refuses, and has nothing to say. The programs are with the code generator.
//!
//! `GIRIH_PTXAS` names the assembler; `GIRIH_REQUIRE_PTXAS=1` makes a missing one a failure.

#[path = "../../backend-cuda/tests/suite/ptx/assembler.rs"]
mod assembler;

use assembler::{TARGETS, assemble, target, tool};
use girih_base::diag::{Code, Diagnostic};
use girih_conform::{Group, Suite};
use girih_cuda::ptx::{self, Launches, Ptx, Target};
use girih_ir::{Caps, FunctionId};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use girih_workbench::sample;

/// The kernels of a group that have a case, each once.
fn kernels(group: &Group) -> Vec<FunctionId> {
    let mut kernels: Vec<FunctionId> = vec![];
    for case in &group.cases {
        if !kernels.contains(&case.kernel) {
            kernels.push(case.kernel);
        }
    }
    kernels
}

fn rendered(group: &Group, kernels: &[FunctionId], target: Target) -> Result<Ptx, Vec<Diagnostic>> {
    let caps = Caps::cuda(target.sm, target.specific);
    let compiled = compile(&group.module, kernels, &caps, &LoadOptions::default())?;
    let ids: Vec<FunctionId> = compiled.entries.iter().map(|entry| entry.kernel).collect();
    ptx::render(&compiled.module, &ids, target, Launches::Direct)
}

/// Assembles groups for every architecture; gives for how many kernels.
fn assembled(suite: Suite) -> usize {
    let Some(ptxas) = tool("GIRIH_PTXAS", "ptxas") else { return usize::MAX };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let groups = suite.groups().unwrap_or_else(|report| panic!("{report}"));
    let (mut assembled, mut failures) = (0, vec![]);
    for (_, group) in groups {
        for architecture in TARGETS {
            let target = target(architecture);
            let mut accepted = kernels(&group);
            // What an older architecture lacks is refused by name.
            let lacks = |errors: &[Diagnostic]| errors.iter().all(|error| error.code == Code::NeedsFeature);
            let mut ptx = rendered(&group, &accepted, target);
            if ptx.as_ref().is_err_and(|errors| lacks(errors)) {
                accepted.retain(|kernel| !rendered(&group, &[*kernel], target).is_err_and(|errors| lacks(&errors)));
                ptx = rendered(&group, &accepted, target);
            }
            match ptx.and_then(|ptx| assemble(&ptxas, &ptx, folder.path())) {
                Ok(_) => assembled += accepted.len(),
                Err(said) => failures.push(format!("{} for {architecture}: {}", group.name, said[0].message)),
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assembled
}

#[test]
fn the_table_is_assembled() {
    assert!(assembled(Suite { random: 0, tiles: 0, ..Suite::default() }) > 5000);
}

#[test]
fn random_kernels_are_assembled() {
    let tiles = sample("GIRIH_RANDOM", 10, 80) as usize;
    let suite = Suite { table: false, random: 4 * tiles, tiles, seed: 400, ..Suite::default() };
    assert!(assembled(suite) >= TARGETS.len() * 5 * tiles);
}
