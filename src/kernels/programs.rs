//! Programs that an earlier process has compiled: found by the digest of the module that they were compiled from, whatever language wrote it.
//!
//! Invariant: what is found is what compiling would give. The compiler, the device, the module's text, the kernel, the options and the places that messages name
//! are all in the key.

use crate::devices::{cpu, cuda, wgpu};
use girih_base::diag::Diagnostic;
use girih_cache::{Cache, Key};
use girih_ir::{FunctionId, Module, Verified, text};
use girih_runtime::driver::KernelSource;
use girih_runtime::{Device, LoadOptions, Program};
use std::path::Path;

/// Counts what this file writes: another form gets another number.
const FORM: u32 = 1;

/// The crates that make a program of a module and launch it, by their sources. Of those of a device that keeps no programs the choices between kernels are kept.
const COMPILERS: [&str; 7] = [
    girih_base::IDENTITY,
    girih_ir::IDENTITY,
    girih_lower::IDENTITY,
    girih_runtime::IDENTITY,
    cpu::IDENTITY,
    cuda::IDENTITY,
    wgpu::IDENTITY,
];

/// What a device and its compiler are known by.
pub(crate) fn about(device: &Device) -> String {
    let compilers = (FORM, env!("CARGO_PKG_VERSION"), COMPILERS);
    format!("{compilers:?}\n{:?}\n{:?}", device.info(), device.caps())
}

/// The programs of a device that are kept in a folder.
#[derive(Debug)]
pub(crate) struct ProgramStore {
    cache: Option<Cache>,
}

/// A program, and where it comes from.
#[derive(Debug)]
#[cfg_attr(not(feature = "triton"), expect(dead_code, reason = "only Triton's files look where a program comes from"))]
pub(crate) struct CompiledProgram {
    pub program: Program,
    /// What it is kept under, if something is.
    pub digest: Option<Key>,
    /// Whether an earlier process has compiled it.
    pub was_kept: bool,
}

impl ProgramStore {
    /// The store of a folder; without one nothing is kept.
    pub fn of(folder: Option<&Path>, device: &Device) -> ProgramStore {
        ProgramStore { cache: folder.map(|folder| Cache::new(folder, "programs", about(device))) }
    }

    /// The digest of a kernel: what its program is kept under. None if nothing is kept.
    pub fn digest(&self, module: &Verified<Module>, kernel: FunctionId, options: &LoadOptions) -> Option<Key> {
        let cache = self.cache.as_ref()?;
        let function = &module.functions[kernel];
        let rest = format!("{kernel:?} {options:?} {:?}", function.span);
        Some(cache.key(&[text::print(module).as_bytes(), rest.as_bytes()]))
    }

    /// What stands in for the digest of a Triton kernel that a compiler has refused with this message.
    #[cfg(feature = "triton")]
    pub fn digest_of_refusal(&self, message: &str) -> Option<Key> {
        Some(self.cache.as_ref()?.key(&[b"refused", message.as_bytes()]))
    }

    /// The program that is kept under a digest, on a device that says the same of itself; with its source, if that is at hand.
    pub fn restore(&self, device: &Device, digest: Key, source: Option<KernelSource<'_>>) -> Option<Program> {
        let bytes = self.cache.as_ref()?.get(digest)?;
        #[allow(unsafe_code)]
        // SAFETY: a device that says the same of itself has given them: that is in the key, and nobody but this user's Girih writes into the folder.
        unsafe {
            device.restore(&bytes, source)
        }
    }

    /// The program of a kernel: the one that is kept, or one that is compiled now and kept.
    ///
    /// # Errors
    /// As [`Device::load`].
    pub fn load(
        &self,
        device: &Device,
        module: &Verified<Module>,
        kernel: FunctionId,
        options: &LoadOptions,
    ) -> Result<CompiledProgram, Vec<Diagnostic>> {
        let digest = self.digest(module, kernel, options);
        let source = Some(KernelSource { module, kernel, options });
        if let Some(program) = digest.and_then(|digest| self.restore(device, digest, source)) {
            return Ok(CompiledProgram { program, digest, was_kept: true });
        }
        let (program, bytes) = device.load_to_keep(module, kernel, options)?;
        if let (Some(cache), Some(digest), Some(bytes)) = (&self.cache, digest, bytes) {
            cache.put(digest, &bytes);
        }
        Ok(CompiledProgram { program, digest, was_kept: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::{Selector, open};

    #[test]
    fn all_that_makes_and_launches_a_program_is_in_its_key() {
        let device = open(&Selector::Interpreter(4), None).expect("it is always there");
        let about = about(&device);
        let makers = [girih_lower::IDENTITY, girih_runtime::IDENTITY, cpu::IDENTITY, cuda::IDENTITY, wgpu::IDENTITY];
        assert!(makers.iter().all(|maker| about.contains(maker)), "{about}");
        assert!(!girih_runtime::IDENTITY.is_empty());
    }
}
