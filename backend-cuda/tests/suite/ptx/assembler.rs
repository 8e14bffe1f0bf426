//! The toolkit's assembler, which is asked for every architecture.

use girih_base::diag::Diagnostic;
use girih_cuda::ptx::{self, Ptx, Target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every architecture that PTX is tested for.
pub const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100"];

/// The target of a name.
pub fn target(name: &str) -> Target {
    Target::from_name(name).unwrap_or_else(|| panic!("{name} is a target"))
}

/// A tool of the CUDA toolkit; none if it may be missing and is.
pub fn tool(variable: &str, name: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = named.or_else(|| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file()));
    if found.is_none() {
        girih_workbench::missing(&format!("`{name}` on the path or in `{variable}`"), "GIRIH_REQUIRE_PTXAS");
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
