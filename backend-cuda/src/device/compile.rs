//! PTX to machine code by the driver's own compiler, and machine code on the device.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::context::Context;
use super::driver::{check, failure};
use crate::ptx::{self, Ptx};
use cudarc::driver::sys::{self, CUfunction, CUjit_option, CUjitInputType, CUlinkState, CUmodule, CUresult};
use girih_base::diag::Diagnostic;
use girih_cache::Cache;
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// Bytes for what the compiler says.
const LOG: usize = 64 << 10;

/// Machine code for PTX: from the cache, or compiled. With `strict`, what the compiler warns of is an error too.
pub(super) fn machine_code(ptx: &Ptx, cache: Option<&Cache>, strict: bool) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let key = cache.map(|cache| (cache, cache.key(&[ptx.text.as_bytes()])));
    // What was compiled without complaint is not compiled again to hear the same.
    if let Some(code) = key.filter(|_| !strict).and_then(|(cache, key)| cache.get(key)) {
        return Ok(code);
    }
    let (code, said) = Linker::compile(ptx)?;
    if strict {
        let warnings: Vec<&str> = said.lines().filter(|line| line.to_lowercase().contains("warning")).collect();
        if !warnings.is_empty() {
            return Err(ptx::diagnostics(ptx, &warnings.join("\n")));
        }
    }
    if let Some((cache, key)) = key {
        cache.put(key, &code);
    }
    Ok(code)
}

/// The driver's linker, used to compile one text.
struct Linker {
    state: CUlinkState,
    errors: Box<[u8; LOG]>,
    said: Box<[u8; LOG]>,
    /// Where the driver reads the options and writes the logs' lengths, at any call until the linker is destroyed.
    values: Box<[*mut c_void; 4]>,
    /// Which options they are: kept as long, since the driver does not say when it reads them last.
    options: Box<[CUjit_option; 4]>,
}

impl Linker {
    /// Machine code, and what the compiler said.
    fn compile(ptx: &Ptx) -> Result<(Vec<u8>, String), Vec<Diagnostic>> {
        let mut linker = Linker::new().map_err(|d| vec![d])?;
        let text = CString::new(ptx.text.as_bytes()).expect("PTX has no zero bytes: names are mangled to letters");
        linker.add(&text).map_err(|error| linker.refused(ptx, error))?;
        let code = linker.complete().map_err(|error| linker.refused(ptx, error))?;
        Ok((code, log(&*linker.said)))
    }

    fn new() -> Result<Linker, Diagnostic> {
        let (mut errors, mut said) = (Box::new([0; LOG]), Box::new([0; LOG]));
        let size = LOG as *mut c_void;
        let values = Box::new([errors.as_mut_ptr().cast(), size, said.as_mut_ptr().cast(), size]);
        let options = Box::new([
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER,
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        ]);
        let mut linker = Linker { state: std::ptr::null_mut(), errors, said, values, options };
        let (count, options) = (linker.options.len() as u32, linker.options.as_mut_ptr());
        // SAFETY: there are as many values as options, of the kinds that the options ask for (a pointer, or a number in a pointer's
        // place). The values, into which later calls write too, and both logs, which have the size that is said, stay where
        // they are until the linker is dropped.
        let result = unsafe { sys::cuLinkCreate_v2(count, options, linker.values.as_mut_ptr(), &mut linker.state) };
        check(result, "start its compiler")?;
        Ok(linker)
    }

    fn add(&mut self, text: &CString) -> Result<(), CUresult> {
        let (kind, bytes) = (CUjitInputType::CU_JIT_INPUT_PTX, text.as_bytes_with_nul());
        let data = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the text ends with a zero, is only read, and lives for the whole call; there are no further options.
        let result = unsafe {
            let none = std::ptr::null_mut();
            sys::cuLinkAddData_v2(self.state, kind, data, bytes.len(), c"kernels".as_ptr(), 0, none, none.cast())
        };
        succeeded(result)
    }

    fn complete(&mut self) -> Result<Vec<u8>, CUresult> {
        let (mut code, mut size) = (std::ptr::null_mut(), 0usize);
        // SAFETY: the driver writes a pointer and a size of memory that belongs to the linker.
        succeeded(unsafe { sys::cuLinkComplete(self.state, &mut code, &mut size) })?;
        // SAFETY: the memory has this size and lives until the linker is dropped; it is copied here.
        Ok(unsafe { std::slice::from_raw_parts(code.cast::<u8>(), size) }.to_vec())
    }

    /// What the compiler said against the text.
    fn refused(&self, ptx: &Ptx, error: CUresult) -> Vec<Diagnostic> {
        let said = ptx::diagnostics(ptx, &log(&*self.errors));
        if said.is_empty() { vec![failure(error, "compile the kernels")] } else { said }
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        if !self.state.is_null() {
            // SAFETY: the handle is this value's own and is not used afterwards.
            unsafe { sys::cuLinkDestroy(self.state) };
        }
    }
}

fn succeeded(result: CUresult) -> Result<(), CUresult> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(result) }
}

/// The text in a log, which ends at its first zero.
fn log(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Machine code on the device.
#[derive(Debug)]
pub(super) struct Code {
    module: CUmodule,
    context: Arc<Context>,
}

// SAFETY: the module is a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Code {}
// SAFETY: and from several at a time: what is done with a shared one, to look for a kernel, changes nothing.
unsafe impl Sync for Code {}

impl Code {
    /// Brings machine code to the device. The context is current.
    pub fn load(context: &Arc<Context>, code: &[u8]) -> Result<Code, Diagnostic> {
        let mut module = std::ptr::null_mut();
        // SAFETY: the context is current; the image is a whole one that the driver made, which it checks once more.
        check(unsafe { sys::cuModuleLoadData(&mut module, code.as_ptr().cast()) }, "load the kernels")?;
        Ok(Code { module, context: context.clone() })
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Result<CUfunction, Diagnostic> {
        let mut function = std::ptr::null_mut();
        let text = CString::new(name).expect("names are mangled to letters");
        // SAFETY: the module is loaded; the name ends with a zero; the driver writes one handle.
        let result = unsafe { sys::cuModuleGetFunction(&mut function, self.module, text.as_ptr()) };
        check(result, &format!("find the kernel `{name}`"))?;
        Ok(function)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own; whoever drops it has waited for work that runs it. Errors have nobody to go to.
        self.context.free(|| _ = unsafe { sys::cuModuleUnload(self.module) });
    }
}
