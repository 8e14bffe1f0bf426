//! A kernel that a device has compiled.

use crate::device::Core;
use crate::driver::{ProgramId, bad_arguments};
use girih_base::diag::Diagnostic;
use girih_ir::ops::Effect;
use girih_ir::{Function, FunctionId, Inst, Module, ValueId};
use std::fmt;
use std::sync::Arc;

/// A kernel that a device has compiled. Clones are the same one, which is forgotten when the last one goes; work that was submitted with it
/// still runs.
#[derive(Clone)]
pub struct Program(Arc<Loaded>);

struct Loaded {
    id: ProgramId,
    writes: Writes,
    core: Arc<Core>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.core.driver.unload(self.id);
    }
}

impl Program {
    pub(crate) fn new(core: &Arc<Core>, id: ProgramId, writes: Writes) -> Program {
        Program(Arc::new(Loaded { id, writes, core: core.clone() }))
    }

    /// Whether it may write the memory that is its argument of some position.
    pub(crate) fn writes(&self, argument: usize) -> bool {
        self.0.writes.0.get(argument).copied().unwrap_or(true)
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

/// Which arguments of a kernel it may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writes(Vec<bool>);

/// The first bytes of a program that is kept.
const MARK: [u8; 4] = *b"gir1";

impl Writes {
    /// Those of a kernel of a module.
    pub fn of(module: &Module, kernel: FunctionId) -> Writes {
        let function = &module.functions[kernel];
        let is_written = |param| !function.param_attrs(param).readonly && may_write(function, param);
        Writes(function.params.iter().map(|param| is_written(*param)).collect())
    }

    /// A driver's bytes of a program, with these before them.
    pub fn pack(&self, bytes: &[u8]) -> Vec<u8> {
        let count = (self.0.len() as u32).to_le_bytes();
        let writes = self.0.iter().map(|is_written| u8::from(*is_written));
        MARK.into_iter().chain(count).chain(writes).chain(bytes.iter().copied()).collect()
    }

    /// What [`pack`](Self::pack) was given; none if it has not made the bytes.
    pub fn unpack(bytes: &[u8]) -> Option<(Writes, &[u8])> {
        let (count, rest) = bytes.strip_prefix(&MARK)?.split_first_chunk::<4>()?;
        let (writes, rest) = rest.split_at_checked(u32::from_le_bytes(*count) as usize)?;
        Some((Writes(writes.iter().map(|is_written| *is_written != 0).collect()), rest))
    }
}

/// Whether anything but a read has a value as an operand: what is called may write.
fn may_write(function: &Function, value: ValueId) -> bool {
    let is_other = |inst: &Inst| inst.op.row().effect != Effect::Read && inst.operands.contains(&value);
    function.insts.iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_kept_with_the_program() {
        let writes = Writes(vec![true, false, true]);
        let bytes = writes.pack(b"code");
        assert_eq!(Writes::unpack(&bytes), Some((writes, &b"code"[..])));
        assert_eq!(Writes::unpack(b"code"), None);
        assert_eq!(Writes::unpack(&bytes[..10]), None);
    }
}
