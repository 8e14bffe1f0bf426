//! From `.gir` text to PTX and machine code.

use girih_base::diag::{Diagnostic, Style, render};
use girih_base::span::Sources;
use girih_cuda::ptx::{self, Launches, Ptx, Target};
use girih_ir::{Caps, Module, Verified, text, verify};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use std::path::Path;

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
    for folder in ["tests/suite/ptx/kernels", "../tests/ir", "../benches/ir"] {
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/ptx/kernels").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
