//! Programs: kernels that were compiled, each with the code that it is in.

use super::no_program;
use crate::kernels::{self, Code, Kernel};
use cranelift_codegen::isa::OwnedTargetIsa;
use girih_base::diag::{self, Diagnostic};
use girih_base::idx::Idx;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Entry, compile};
use girih_runtime::{LoadOptions, ProgramId};
use std::sync::Arc;

/// Most bytes of the frames of a workgroup.
const FRAMES: u64 = 1 << 28;

/// A kernel that was compiled.
#[derive(Debug)]
pub(super) struct Loaded {
    /// How it is launched.
    pub entry: Entry,
    /// Its code.
    pub kernel: Kernel,
    /// What the code is in.
    pub code: Arc<Code>,
}

/// The programs of a device.
#[derive(Debug, Default)]
pub(super) struct Programs {
    all: Vec<Option<Loaded>>,
}

impl Programs {
    /// The program of an id.
    pub fn get(&self, program: ProgramId) -> Result<&Loaded, Diagnostic> {
        self.all.get(program.index()).and_then(Option::as_ref).ok_or_else(|| no_program(program))
    }

    /// Compiles kernels.
    pub fn load(
        &mut self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
        caps: &Caps,
        isa: &OwnedTargetIsa,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = compile(module, kernels, caps, options)?;
        let (code, kernels) = kernels::compile(&compiled, isa.clone()).map_err(|error| vec![error])?;
        let code = Arc::new(code);
        let too_large: Vec<Diagnostic> =
            compiled.entries.iter().zip(&kernels).filter_map(|(entry, kernel)| too_large(entry, kernel)).collect();
        if !too_large.is_empty() {
            return Err(too_large);
        }
        let first = self.all.len();
        let loaded = compiled.entries.into_iter().zip(kernels);
        self.all.extend(loaded.map(|(entry, kernel)| Some(Loaded { entry, kernel, code: code.clone() })));
        Ok((first..self.all.len()).map(ProgramId::from_usize).collect())
    }

    /// Forgets a program.
    pub fn unload(&mut self, program: ProgramId) {
        if let Some(slot) = self.all.get_mut(program.index()) {
            *slot = None;
        }
    }
}

fn too_large(entry: &Entry, kernel: &Kernel) -> Option<Diagnostic> {
    let bytes = kernel.shape.frame.saturating_mul(kernel.shape.frames);
    (bytes > FRAMES).then(|| {
        let (mib, name) = (bytes >> 20, &entry.source.name);
        let message = format!("the values and private arrays of `@{name}` take {mib} MiB for one workgroup");
        Diagnostic::new(diag::Code::OverLimit, entry.source.span, message).hint("make the workgroup smaller")
    })
}
