//! Programs: kernels that were compiled, each with the code that it is in.

use super::no_program;
use crate::kernels::{self, Code, Kernel};
use cranelift_codegen::isa::OwnedTargetIsa;
use girih_base::diag::{self, Diagnostic};
use girih_base::idx::Idx;
use girih_ir::{Caps, FunctionId, Module, Verified};
use girih_lower::{Entry, Origin, compile};
use girih_runtime::LoadOptions;
use girih_runtime::driver::ProgramId;
use std::sync::{Arc, PoisonError, RwLock};

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
    /// What it was made of.
    pub origin: Arc<Origin>,
}

/// The programs of a device.
#[derive(Debug, Default)]
pub(super) struct Programs {
    all: RwLock<Vec<Option<Arc<Loaded>>>>,
}

impl Programs {
    /// The program of an id.
    pub fn get(&self, program: ProgramId) -> Result<Arc<Loaded>, Diagnostic> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(program.index()).cloned().flatten().ok_or_else(|| no_program(program))
    }

    /// Compiles kernels.
    pub fn load(
        &self,
        module: &Verified<Module>,
        kernels: &[FunctionId],
        options: &LoadOptions,
        caps: &Caps,
        isa: &OwnedTargetIsa,
    ) -> Result<Vec<ProgramId>, Vec<Diagnostic>> {
        let compiled = compile(module, kernels, caps, options)?;
        let origins = Origin::all(module, kernels, options);
        let (code, kernels) = kernels::compile(&compiled, isa.clone()).map_err(|error| vec![error])?;
        let code = Arc::new(code);
        let too_large: Vec<Diagnostic> =
            compiled.entries.iter().zip(&kernels).filter_map(|(entry, kernel)| too_large(entry, kernel)).collect();
        if !too_large.is_empty() {
            return Err(too_large);
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let first = all.len();
        let loaded = compiled.entries.into_iter().zip(kernels).zip(origins);
        let one = |((entry, kernel), origin)| Some(Arc::new(Loaded { entry, kernel, code: code.clone(), origin }));
        all.extend(loaded.map(one));
        Ok((first..all.len()).map(ProgramId::from_usize).collect())
    }

    /// Forgets a program.
    pub fn unload(&self, program: ProgramId) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let gone = all.get_mut(program.index()).and_then(Option::take);
        for made in gone.iter().flat_map(|gone| gone.origin.made()) {
            all[made.index()] = None;
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
