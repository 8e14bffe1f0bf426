//! From `.gir` text to PTX and machine code.

use girih_core::diag::{Diagnostic, Style, render};
use girih_core::ir::{Caps, Module, Verified, text, verify};
use girih_core::lower::compile;
use girih_core::runtime::LoadOptions;
use girih_core::span::Sources;
use girih_cuda::ptx::{self, Launches, Ptx, Target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every architecture that PTX is tested for.
pub const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100"];

/// The target of a name.
pub fn target(name: &str) -> Target {
    Target::from_name(name).unwrap_or_else(|| panic!("{name} is a target"))
}

/// Diagnostics as text.
pub fn told(sources: &Sources, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| render(d, sources, Style::Plain)).collect()
}

/// Diagnostics, and the texts that they speak of.
pub type Refused = (Sources, Vec<Diagnostic>);

/// A verified module.
pub fn module(name: &str, source: &str) -> Result<(Sources, Verified<Module>), Refused> {
    let mut sources = Sources::default();
    let id = sources.add(name, source);
    match text::parse(id, source).and_then(|parsed| verify(parsed.module)) {
        Ok(module) => Ok((sources, module)),
        Err(diagnostics) => Err((sources, diagnostics)),
    }
}

/// All kernels of a text as PTX.
pub fn try_render(name: &str, source: &str, target: Target, launches: Launches) -> Result<Ptx, Refused> {
    let (sources, module) = module(name, source)?;
    let kernels: Vec<_> = module.kernels().collect();
    let caps = Caps::cuda(target.sm, target.specific);
    let rendered = compile(&module, &kernels, &caps, &LoadOptions::default()).and_then(|compiled| {
        let ids: Vec<_> = compiled.entries.iter().map(|e| e.kernel).collect();
        ptx::render(&compiled.module, &ids, target, launches)
    });
    rendered.map_err(|diagnostics| (sources, diagnostics))
}

/// The same, where it has to work.
pub fn rendered(name: &str, source: &str, target: Target) -> Ptx {
    try_render(name, source, target, Launches::Direct).unwrap_or_else(|(s, d)| panic!("{name}: {}", told(&s, &d)))
}

/// Every kernel that comes with the project: a name and a text.
pub fn kernels() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![];
    for folder in ["tests/ptx/kernels", "../tests/ir", "../benches/ir"] {
        texts(&root.join(folder), &mut found);
    }
    found.sort();
    found
}

fn texts(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a folder can be listed").path();
        // Those are wrong on purpose.
        if path.is_dir() && !path.ends_with("bad") {
            texts(&path, found);
        } else if path.extension().is_some_and(|e| e == "gir") {
            let text = std::fs::read_to_string(&path).expect("a kernel is text");
            found.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text));
        }
    }
}

/// One kernel of this folder.
pub fn kernel(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/kernels").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A tool of the CUDA toolkit; none if it may be missing and is.
pub fn tool(variable: &str, name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = named.or_else(|| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file()));
    if found.is_none() {
        let required = std::env::var_os("GIRIH_REQUIRE_PTXAS").is_some();
        assert!(!required, "`{name}` is required; name it by `{variable}`");
        eprintln!("skipped: there is no `{name}`; name it by `{variable}`");
    }
    found
}

/// Assembles a module. What the assembler says comes back as places in the source.
pub fn assemble(ptxas: &Path, ptx: &Ptx, folder: &Path) -> Result<PathBuf, Vec<Diagnostic>> {
    let (text, cubin) = (folder.join("module.ptx"), folder.join("module.cubin"));
    std::fs::write(&text, &ptx.text).expect("the folder can be written");
    let mut command = Command::new(ptxas);
    command.arg("--warn-on-spills").arg(format!("-arch={}", ptx.target));
    let output = command.arg(&text).arg("-o").arg(&cubin).output().expect("the assembler runs");
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() && said.trim().is_empty() {
        true => Ok(cubin),
        false => Err(ptx::diagnostics(ptx, &said)),
    }
}
