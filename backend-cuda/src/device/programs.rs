//! Kernels that have been loaded, each in both of its forms: for a grid of the launch, and for a grid in memory. One of them is
//! compiled when the kernel is loaded, the other one when it is first used.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::compile::Code;
use super::driver::check;
use crate::packed::{LaunchShape, Packed};
use crate::ptx::{self, Launches, Ptx, SharedSize, Target};
use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute};
use girih_base::diag::Diagnostic;
use girih_lower::{Compiled, Entry};
use std::sync::Arc;

/// A kernel's machine code for one kind of grid.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// Keeps the code on the device.
    _code: Arc<Code>,
    pub function: CUfunction,
    pub shared: SharedSize,
}

// SAFETY: the function is a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Kernel {}

/// How a kernel runs over a grid in memory.
#[derive(Clone, Debug)]
pub(super) enum Indirect {
    /// It has not been asked for.
    Unknown,
    /// By as many workgroups as the device holds.
    Kernel(Kernel, u32),
    /// The host has to read the grid: the kernel's workgroups all run at once, or its functions ask where they stand.
    Host,
}

/// A kernel that has been loaded.
#[derive(Debug)]
pub(super) struct Program {
    pub entry: Entry,
    /// What the driver is told at each launch.
    pub shape: LaunchShape,
    /// How it runs over a grid of the launch; none if that has not been asked for.
    pub direct: Option<Kernel>,
    pub indirect: Indirect,
    /// What it was rendered from, shared by the kernels that were loaded together; none if its code was kept from an earlier process.
    compiled: Option<Arc<Compiled>>,
}

impl Program {
    /// The kernels of a compiled module, whose machine code is on the device.
    pub fn all(compiled: Compiled, ptx: &Ptx, code: Code, multiprocessors: u32) -> Result<Vec<Program>, Diagnostic> {
        let (compiled, code) = (Arc::new(compiled), Arc::new(code));
        let one = |(entry, rendered): (&Entry, &ptx::Entry)| {
            let shape = LaunchShape::of(&compiled.module.functions[entry.kernel]);
            let (entry, compiled) = (entry.clone(), Some(compiled.clone()));
            let mut program = Program { entry, shape, direct: None, indirect: Indirect::Unknown, compiled };
            program.accept(&code, rendered, multiprocessors)?;
            Ok(program)
        };
        compiled.entries.iter().zip(&ptx.entries).map(one).collect()
    }

    /// A kernel whose code was kept. It has no form for grids in memory: the host reads those.
    pub fn kept(packed: Packed, code: Code) -> Result<Program, Diagnostic> {
        let Packed { entry, shape, rendered, code: _ } = packed;
        let direct = Some(Kernel::of(&Arc::new(code), &rendered)?);
        Ok(Program { entry, shape, direct, indirect: Indirect::Host, compiled: None })
    }

    /// Takes one of its forms from machine code.
    pub fn accept(&mut self, code: &Arc<Code>, rendered: &ptx::Entry, multiprocessors: u32) -> Result<(), Diagnostic> {
        let kernel = Kernel::of(code, rendered)?;
        match rendered.launches {
            Launches::Direct => self.direct = Some(kernel),
            Launches::Indirect => {
                let most = kernel.resident(self.shape.workgroup.iter().product(), kernel.shared.asked)?;
                self.indirect = Indirect::Kernel(kernel, most * multiprocessors);
            }
        }
        Ok(())
    }

    /// The text of its form for grids in memory; none if the host has to read the grid.
    pub fn indirect_ptx(&self, target: Target) -> Option<Ptx> {
        if self.shape.cooperative {
            return None;
        }
        // The other form was rendered without an error, so the only one is that this form does not exist.
        self.ptx(target, Launches::Indirect).ok()
    }

    /// The text of a form.
    pub fn ptx(&self, target: Target, launches: Launches) -> Result<Ptx, Vec<Diagnostic>> {
        let lost = || {
            Diagnostic::new(girih_base::diag::Code::Internal, self.entry.source.span, "the kernel's code has one form")
        };
        let compiled = self.compiled.as_ref().ok_or_else(|| vec![lost()])?;
        ptx::render(&compiled.module, &[self.entry.kernel], target, launches)
    }
}

impl Kernel {
    /// A kernel of a module on the device.
    pub fn of(code: &Arc<Code>, rendered: &ptx::Entry) -> Result<Kernel, Diagnostic> {
        let kernel =
            Kernel { _code: code.clone(), function: code.kernel(&rendered.name)?, shared: rendered.shared.clone() };
        if kernel.shared.chosen.is_empty() {
            kernel.allow(kernel.shared.asked)?;
        }
        Ok(kernel)
    }

    /// Lets launches ask for so much shared memory. What was allowed before stays so: launches are planned together and queued later, so
    /// one that asks for less must not take it from one that asks for more.
    pub fn allow(&self, bytes: u32) -> Result<(), Diagnostic> {
        if bytes <= 48 << 10 || i64::from(bytes) <= i64::from(self.allowed()?) {
            return Ok(());
        }
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is loaded as long as `self` lives.
        let result = unsafe { sys::cuFuncSetAttribute(self.function, attribute, bytes as i32) };
        check(result, &format!("give a workgroup {bytes} bytes of shared memory"))
    }

    /// How much shared memory launches may ask for. The driver knows it, for all copies of this handle.
    fn allowed(&self) -> Result<i32, Diagnostic> {
        let mut bytes = 0;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is loaded as long as `self` lives; the driver writes one number.
        let result = unsafe { sys::cuFuncGetAttribute(&mut bytes, attribute, self.function) };
        check(result, "tell how much shared memory a workgroup may have")?;
        Ok(bytes)
    }

    /// How many workgroups a multiprocessor holds at once.
    pub fn resident(&self, invocations: u32, shared: u32) -> Result<u32, Diagnostic> {
        let mut count = 0;
        // SAFETY: the function's module is loaded as long as `self` lives; the driver writes one number.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut count,
                self.function,
                invocations as i32,
                shared as usize,
            )
        };
        check(result, "tell how many workgroups fit")?;
        Ok(count.max(1) as u32)
    }
}
