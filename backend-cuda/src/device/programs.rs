//! Kernels that have been loaded, each in both of its forms: for a grid of the launch, and for a grid in memory. One of them is
//! compiled when the kernel is loaded, the other one when it is first used.

// The driver's edge: every block says why it is safe.
#![allow(unsafe_code)]

use super::compile::Code;
use super::driver::check;
use crate::packed::{Form, FormCode, LaunchShape, Packed};
use crate::ptx::{self, Launches, Ptx, SharedSize, Target};
use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute};
use girih_base::diag::Diagnostic;
use girih_lower::{Compiled, Entry, Origin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A kernel's machine code for one kind of grid.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// Keeps the code on the device.
    _code: Arc<Code>,
    pub function: CUfunction,
    pub shared: SharedSize,
    limits: Arc<Mutex<Limits>>,
}

/// What the driver was told and asked of a kernel.
#[derive(Debug)]
struct Limits {
    /// Bytes of shared memory that a launch may ask for.
    allowed: u32,
    /// How many workgroups a multiprocessor holds at once that have so many bytes of shared memory.
    resident: Option<(u32, u32)>,
}

// SAFETY: the function is a handle of the driver, which takes it from any thread on which the context is current.
unsafe impl Send for Kernel {}
// SAFETY: as above, from several at a time.
unsafe impl Sync for Kernel {}

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
    /// What it was made of; none if its code was kept from an earlier process.
    pub origin: Option<Arc<Origin>>,
    forms: Mutex<Forms>,
    source: Source,
}

/// What forms are made of that are not there yet.
#[derive(Debug)]
enum Source {
    /// The legal module, shared by the kernels that were loaded together.
    Compiled(Arc<Compiled>),
    /// Texts that were kept from an earlier process.
    Texts(Vec<Ptx>),
}

/// A kernel's forms.
#[derive(Debug)]
struct Forms {
    /// How it runs over a grid of the launch; none if that has not been asked for.
    direct: Option<Kernel>,
    indirect: Indirect,
}

/// What makes code of text: the first of its errors.
pub(super) type Making<'a> = &'a dyn Fn(&Ptx) -> Result<Code, Diagnostic>;

impl Program {
    /// The kernels of a compiled module, whose machine code is on the device.
    pub fn all(
        (compiled, origins): (Compiled, Vec<Arc<Origin>>),
        ptx: &Ptx,
        code: Code,
        multiprocessors: u32,
    ) -> Result<Vec<Program>, Diagnostic> {
        let (compiled, code) = (Arc::new(compiled), Arc::new(code));
        let one = |((entry, rendered), origin): ((&Entry, &ptx::Entry), Arc<Origin>)| {
            let shape = LaunchShape::of(&compiled.module.functions[entry.kernel]);
            let mut forms = Forms { direct: None, indirect: Indirect::Unknown };
            forms.accept(shape, &code, rendered, multiprocessors)?;
            let (entry, forms, source) = (entry.clone(), Mutex::new(forms), Source::Compiled(compiled.clone()));
            Ok(Program { entry, shape, origin: Some(origin), forms, source })
        };
        compiled.entries.iter().zip(&ptx.entries).zip(origins).map(one).collect()
    }

    /// A kernel that was kept: forms whose machine code was kept, and texts of others.
    pub fn kept(
        packed: Packed<'_>,
        target: Target,
        multiprocessors: u32,
        load: &dyn Fn(&[u8]) -> Result<Code, Diagnostic>,
    ) -> Result<Program, Diagnostic> {
        let Packed { entry, shape, forms: kept } = packed;
        let mut forms = Forms { direct: None, indirect: Indirect::Unknown };
        let mut texts = vec![];
        for Form { rendered, code } in kept {
            match code {
                FormCode::Machine(code) => forms.accept(shape, &Arc::new(load(code)?), &rendered, multiprocessors)?,
                FormCode::Text(text) => {
                    texts.push(Ptx { text: text.to_owned(), lines: vec![], entries: vec![rendered], target });
                }
            }
        }
        Ok(Program { entry, shape, origin: None, forms: Mutex::new(forms), source: Source::Texts(texts) })
    }

    /// A form that is not there is made by who asks first; the others wait.
    fn forms(&self) -> MutexGuard<'_, Forms> {
        self.forms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its form for grids of the launch, compiled if need be.
    pub fn direct(&self, target: Target, multiprocessors: u32, make: Making<'_>) -> Result<Kernel, Diagnostic> {
        let forms = &mut *self.forms();
        if forms.direct.is_none() {
            let text = self.ptx(target, Launches::Direct).map_err(first)?;
            forms.accept(self.shape, &Arc::new(make(&text)?), &text.entries[0], multiprocessors)?;
        }
        forms.direct.clone().ok_or_else(|| self.lost())
    }

    /// How it runs over grids in memory, compiled if need be.
    pub fn indirect(&self, target: Target, multiprocessors: u32, make: Making<'_>) -> Result<Indirect, Diagnostic> {
        let forms = &mut *self.forms();
        if matches!(forms.indirect, Indirect::Unknown) {
            match self.indirect_ptx(target) {
                None => forms.indirect = Indirect::Host,
                Some(text) => {
                    forms.accept(self.shape, &Arc::new(make(&text)?), &text.entries[0], multiprocessors)?;
                }
            }
        }
        Ok(forms.indirect.clone())
    }

    /// The text of its form for grids in memory; none if the host has to read the grid.
    fn indirect_ptx(&self, target: Target) -> Option<Ptx> {
        if self.shape.cooperative {
            return None;
        }
        // The other form was rendered without an error, so the only one is that this form does not exist. It was not kept then, either.
        self.ptx(target, Launches::Indirect).ok()
    }

    /// The text of a form.
    fn ptx(&self, target: Target, launches: Launches) -> Result<Ptx, Vec<Diagnostic>> {
        match &self.source {
            Source::Compiled(compiled) => ptx::render(&compiled.module, &[self.entry.kernel], target, launches),
            Source::Texts(texts) => {
                let found = texts.iter().find(|text| text.entries[0].launches == launches);
                found.cloned().ok_or_else(|| vec![self.lost()])
            }
        }
    }

    fn lost(&self) -> Diagnostic {
        Diagnostic::new(girih_base::diag::Code::Internal, self.entry.source.span, "the kernel's code has one form")
    }
}

impl Forms {
    /// Takes one of its forms from machine code.
    fn accept(
        &mut self,
        shape: LaunchShape,
        code: &Arc<Code>,
        rendered: &ptx::Entry,
        multiprocessors: u32,
    ) -> Result<(), Diagnostic> {
        let kernel = Kernel::of(code, rendered)?;
        match rendered.launches {
            Launches::Direct => self.direct = Some(kernel),
            Launches::Indirect => {
                let most = kernel.resident(shape, kernel.shared.asked)?.max(1);
                self.indirect = Indirect::Kernel(kernel, most * multiprocessors);
            }
        }
        Ok(())
    }
}

/// The first of some errors, of which there is one at least.
pub(super) fn first(mut said: Vec<Diagnostic>) -> Diagnostic {
    said.swap_remove(0)
}

impl Kernel {
    /// A kernel of a module on the device.
    pub fn of(code: &Arc<Code>, rendered: &ptx::Entry) -> Result<Kernel, Diagnostic> {
        let (function, shared) = (code.kernel(&rendered.name)?, rendered.shared.clone());
        let limits = Arc::new(Mutex::new(Limits { allowed: 48 << 10, resident: None }));
        let kernel = Kernel { _code: code.clone(), function, shared, limits };
        if kernel.shared.chosen.is_empty() {
            kernel.allow(kernel.shared.asked)?;
        }
        Ok(kernel)
    }

    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets launches ask for so much shared memory. What was allowed before stays so: launches are planned together and queued later, so
    /// one that asks for less must not take it from one that asks for more.
    pub fn allow(&self, bytes: u32) -> Result<(), Diagnostic> {
        let mut limits = self.limits();
        if bytes <= limits.allowed {
            return Ok(());
        }
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is loaded as long as `self` lives.
        let result = unsafe { sys::cuFuncSetAttribute(self.function, attribute, bytes as i32) };
        check(result, &format!("give a workgroup {bytes} bytes of shared memory"))?;
        limits.allowed = bytes;
        Ok(())
    }

    /// How many workgroups a multiprocessor holds at once. So much shared memory has been allowed.
    pub fn resident(&self, shape: LaunchShape, shared: u32) -> Result<u32, Diagnostic> {
        let mut limits = self.limits();
        if let Some((_, count)) = limits.resident.filter(|(asked, _)| *asked == shared) {
            return Ok(count);
        }
        let (mut count, invocations) = (0, shape.workgroup.iter().product::<u32>() as i32);
        // SAFETY: the function's module is loaded as long as `self` lives; the driver writes one number.
        let result = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut count, self.function, invocations, shared as usize)
        };
        check(result, "tell how many workgroups fit")?;
        let count = count.max(0) as u32;
        limits.resident = Some((shared, count));
        Ok(count)
    }
}
