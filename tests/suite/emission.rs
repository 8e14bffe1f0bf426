//! The suite's kernels in every shading language: naga reads its WGSL again, `spirv-val` takes the SPIR-V, and Metal's and Direct3D's languages are
//! written without an error. No text is nested deeper than compilers read. What a profile refuses is wider than 32 bits, or needs what only NVIDIA's cards or only processors have.
//!
//! `GIRIH_REQUIRE_SPIRV_VAL=1` makes a missing validator a failure.

#[path = "../../backend-wgpu/tests/suite/support/validators.rs"]
mod validators;

use girih::devices::Profile;
use girih::devices::wgpu::{Emitted, Language};
use girih_conform::{Group, Sheet, Suite, emit_group};
use girih_workbench::{sample, share};
use validators::{nesting, reread, spirv_val};

const LANGUAGES: [Language; 4] = [Language::Wgsl, Language::Spirv, Language::Msl, Language::Hlsl];
/// How many random kernels are written for each profile: in part, and in full.
const RANDOM: [u64; 2] = [50, 400];
/// How many of them in tile form.
const TILES: [u64; 2] = [16, 96];
/// Brackets within each other that Tint reads, whose limit is the lowest.
const DEEPEST: usize = 127;
/// What the reasons name for which a kernel may be refused: types of 64 bits, and operations that no shading language has.
const BEYOND: [&str; 6] = ["`f64`", "`atomic64`", "`async_copy`", "`mbarrier`", "`wgmma`", "`gemm`"];
/// What the reasons say of fragments, which WebGPU does not have: the tests of the code generator write them.
const FRAGMENTS: &str = "`coop";

fn suite(table: bool, programs: bool, random: usize, tiles: usize) -> Vec<Group> {
    let programs = programs.then(|| "tests/ir".into());
    let suite = Suite { table, programs, random, tiles, seed: 300, ..Suite::default() };
    let groups = suite.groups().unwrap_or_else(|report| panic!("{report}"));
    groups.map(|(_, group)| group).collect()
}

/// Writes groups for a profile; gives the number of kernels.
fn write(groups: &[Group], profile: Profile) -> usize {
    let mut failures = vec![];
    let mut written = 0;
    for group in groups {
        let emission = match emit_group(group, &profile.caps(), &LANGUAGES) {
            Ok(emission) => emission,
            Err(errors) => {
                failures.push(format!("{}: {}", group.name, errors[0].message));
                continue;
            }
        };
        for (kernel, reason) in emission.refused {
            if !reason.contains(FRAGMENTS) && !BEYOND.iter().any(|feature| reason.contains(feature)) {
                failures.push(format!("{}/{kernel} is refused: {reason}", group.name));
            }
        }
        for sheet in emission.sheets {
            written += sheet.kernels.len();
            failures.extend(check(&group.name, &sheet).err());
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    written
}

/// Whether others can read what was written.
fn check(group: &str, sheet: &Sheet) -> Result<(), String> {
    let name = format!("{group}{}", sheet.variant);
    for (language, written) in LANGUAGES.iter().zip(&sheet.written) {
        let result = match (language, written) {
            (_, Emitted::Text(text)) if nesting(text) > DEEPEST => {
                Err(format!("{} brackets in each other", nesting(text)))
            }
            (Language::Wgsl, Emitted::Text(text)) => reread(text),
            (_, Emitted::Words(words)) => spirv_val(words, &format!("suite-{name}").replace([' ', ':'], "-")),
            (_, Emitted::Text(text)) => (text.len() > 100).then_some(()).ok_or("nothing was written".into()),
        };
        result.map_err(|what| format!("{name}: {what}"))?;
    }
    Ok(())
}

#[test]
fn the_table_is_written_in_all_languages() {
    let share = share(16);
    for profile in [Profile::WebExtended, Profile::Web] {
        let groups: Vec<_> = share.of(suite(true, false, 0, 0)).collect();
        let written = write(&groups, profile);
        assert!(written > share.least(1000), "{written}");
    }
}

#[test]
fn programs_are_written_in_all_languages() {
    for profile in [Profile::Web, Profile::WebExtended] {
        let written = write(&suite(false, true, 0, 0), profile);
        assert!(written > 70, "{written}");
    }
}

#[test]
fn random_kernels_are_written_in_all_languages() {
    let random = sample("GIRIH_RANDOM", RANDOM[0], RANDOM[1]) as usize;
    for profile in [Profile::Web, Profile::WebExtended] {
        assert_eq!(write(&suite(false, false, random, 0), profile), random);
    }
}

#[test]
fn random_tiles_are_written_in_all_languages() {
    let tiles = sample("GIRIH_RANDOM", TILES[0], TILES[1]) as usize;
    for profile in [Profile::Web, Profile::WebExtended] {
        assert_eq!(write(&suite(false, false, 0, tiles), profile), tiles);
    }
}
