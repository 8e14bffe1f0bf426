//! What is written is accepted: by naga's validator, by its reader of WGSL, by `spirv-val`; and every language can be written.

mod support;

use girih_core::ir::caps::{CoopProduct, SubgroupWidths};
use girih_core::ir::types::MatrixShape;
use girih_core::ir::{Caps, Feature, Module, Scalar, ScalarSet, Verified};
use girih_core::lower;
use girih_core::runtime::LoadOptions;
use girih_wgpu::{Emitted, Language, emit};
use std::path::Path;
use std::process::Command;
use std::sync::Once;
use support::{module, said, table};

/// A device that has all that wgpu can offer.
fn rich() -> Caps {
    let mut caps = Caps::web();
    caps.name = "rich".into();
    let all =
        ScalarSet::WORDS.or(ScalarSet::WIDE).or(ScalarSet::of(&[Scalar::Bool, Scalar::F16, Scalar::F32, Scalar::F64]));
    caps.arithmetic = all;
    caps.storage = all.without(ScalarSet::BOOL);
    caps.local_storage = caps.storage;
    caps.subgroup = SubgroupWidths { min: 32, max: 32 };
    caps.buffer_views = true;
    caps.buffers = 32;
    caps.shared_bytes = 48 << 10;
    caps.invocations = 1024;
    let shape = MatrixShape { m: 16, n: 16, k: 16 };
    caps.coop = vec![CoopProduct { shape, factor: Scalar::F16, acc: Scalar::F32 }];
    [
        Feature::Subgroups,
        Feature::Atomic64,
        Feature::AtomicFloat,
        Feature::StrictFloats,
        Feature::FusedFma,
        Feature::Calls,
    ]
    .into_iter()
    .fold(caps, Caps::with)
}

/// Compiles all kernels and writes them in a language.
fn write(module: &Verified<Module>, caps: &Caps, language: Language) -> Result<Emitted, String> {
    let kernels: Vec<_> = module.kernels().collect();
    let compiled = lower::compile(module, &kernels, caps, &LoadOptions::default()).map_err(|e| said("", &e))?;
    emit(&compiled, caps, language).map_err(|e| format!("{language:?}: {}", said("", &e)))
}

fn text(emitted: Emitted) -> String {
    match emitted {
        Emitted::Text(text) => text,
        Emitted::Words(_) => panic!("words instead of text"),
    }
}

/// naga reads the text again. It does not know the two lines that browsers ask for.
fn reread(wgsl: &str) -> Result<(), String> {
    let known = |line: &&str| !line.starts_with("enable subgroups") && !line.starts_with("diagnostic(");
    let text: Vec<&str> = wgsl.lines().filter(known).collect();
    naga::front::wgsl::parse_str(&text.join("\n")).map(drop).map_err(|e| e.emit_to_string(&text.join("\n")))
}

/// `spirv-val`, where there is one; an error if `GIRIH_REQUIRE_SPIRV_VAL` is set and there is none.
fn spirv_val(words: &[u32], name: &str) -> Result<(), String> {
    let program = std::env::var_os("GIRIH_SPIRV_VAL").unwrap_or_else(|| "spirv-val".into());
    let file = std::env::temp_dir().join(format!("girih-{}-{name}.spv", std::process::id()));
    std::fs::write(&file, bytemuck::cast_slice::<u32, u8>(words)).map_err(|e| e.to_string())?;
    let result = Command::new(&program).args(["--target-env", "vulkan1.3"]).arg(&file).output();
    let _ = std::fs::remove_file(&file);
    match result {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned()),
        Err(_) if std::env::var_os("GIRIH_REQUIRE_SPIRV_VAL").is_none() => {
            static SAID: Once = Once::new();
            SAID.call_once(|| eprintln!("skipped: there is no {}", Path::new(&program).display()));
            Ok(())
        }
        Err(error) => Err(format!("{}: {error}", Path::new(&program).display())),
    }
}

/// All languages of a module under some capabilities.
fn check(name: &str, module: &Verified<Module>, caps: &Caps, portable: bool) -> Result<(), String> {
    let wgsl = text(write(module, caps, Language::Wgsl)?);
    reread(&wgsl).map_err(|e| format!("{e}\n{wgsl}"))?;
    match write(module, caps, Language::Spirv)? {
        Emitted::Words(words) => spirv_val(&words, name)?,
        Emitted::Text(_) => return Err("text instead of words".into()),
    }
    if portable {
        write(module, caps, Language::Msl)?;
        write(module, caps, Language::Hlsl)?;
    }
    Ok(())
}

#[test]
fn every_operation_of_the_table_is_written_or_refused_by_name() {
    let mut written = 0;
    let mut failures = vec![];
    for caps in [Caps::web(), rich()] {
        for (i, case) in table::cases().into_iter().enumerate() {
            let module = match table::kernel(case) {
                Ok(module) => module,
                Err(errors) => {
                    failures.push(format!("{case}: the test's own kernel: {}", said("", &errors)));
                    continue;
                }
            };
            let kernels: Vec<_> = module.kernels().collect();
            // What no shading language has is refused by legalisation, which says so.
            if lower::compile(&module, &kernels, &caps, &LoadOptions::default()).is_err() {
                continue;
            }
            let wide = |s: Scalar| s.bits() == 64 || s == Scalar::F16;
            let portable = !wide(case.source) && !case.ty.element().is_some_and(wide);
            written += 1;
            if let Err(error) = check(&format!("table-{}-{i}", caps.name), &module, &caps, portable) {
                failures.push(format!("{case} on {}: {error}", caps.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {written}:\n{}", failures.len(), failures.join("\n"));
    assert!(written > 500, "{written}");
}
