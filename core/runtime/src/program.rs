//! A kernel that a device has compiled.

use crate::device::Core;
use crate::driver::{ProgramId, bad_arguments};
use girih_base::diag::Diagnostic;
use std::fmt;
use std::sync::Arc;

/// A kernel that a device has compiled. Clones are the same one, which is forgotten when the last one goes; work that was submitted with it
/// still runs.
#[derive(Clone)]
pub struct Program(Arc<Loaded>);

struct Loaded {
    id: ProgramId,
    core: Arc<Core>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.core.driver.unload(self.id);
    }
}

impl Program {
    pub(crate) fn new(core: &Arc<Core>, id: ProgramId) -> Program {
        Program(Arc::new(Loaded { id, core: core.clone() }))
    }

    /// What a driver is given. Only the device that has compiled it runs it.
    pub(crate) fn resolve(&self, core: &Core) -> Result<ProgramId, Diagnostic> {
        if std::ptr::eq(Arc::as_ptr(&self.0.core), core) {
            return Ok(self.0.id);
        }
        let message = format!("a program of `{}` is launched on another device", self.0.core.driver.info().name);
        Err(bad_arguments(message))
    }
}

impl PartialEq for Program {
    /// Whether they are the same.
    fn eq(&self, other: &Program) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?})", self.0.id)
    }
}
