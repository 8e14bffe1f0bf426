//! What lowering gives to a device: legal kernels, and for each how a launch's arguments become its parameters.

use girih_base::diag::Diagnostic;
use girih_ir::attrs::Dim;
use girih_ir::{Function, FunctionId, Module, Verified};
use girih_runtime::{Argument, BufferId, Constant, Grid};

/// Kernels that are legal for a device, with what they call.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// All of them in one module.
    pub module: Verified<Module>,
    /// One for each kernel that was asked for, in that order.
    pub entries: Vec<Entry>,
}

/// A legal kernel and how it is launched.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The kernel in the compiled module.
    pub kernel: FunctionId,
    /// What each of its parameters is, in order.
    pub slots: Vec<Slot>,
    /// The kernel as it was written, specialised: parameters, `launch` region, lengths of dynamic shared memory. Its body only if it has such a region, or
    /// such memory.
    pub source: Function,
    /// Whether its grid is folded: it has a [`Scalar::GridSize`] parameter then.
    pub folded: bool,
    /// Largest grid in each dimension on the device.
    pub largest_grid: [u32; 3],
}

/// What a parameter of a legal kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The buffer that is the launch's argument of this position.
    Buffer(usize),
    /// The device's buffer for traps: one `u32`, 0 until a trap is noted.
    Traps,
    /// A number.
    Scalar(Scalar),
    /// The low (0) or high (1) word of a 64-bit number.
    Word(Scalar, u8),
}

/// Where a scalar parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// The launch's argument of this position.
    Argument(usize),
    /// What the `launch` region defines: the result of its instruction of this position.
    Derived(usize),
    /// The grid before folding; 0 for indirect dispatches, which are not folded.
    GridSize(Dim),
}

/// A launch, ready for the device.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchPlan {
    /// Workgroups to start, folded; or where they stand.
    pub grid: PlannedGrid,
    /// One for each parameter of the legal kernel.
    pub parameters: Vec<Parameter>,
    /// Bytes of each shared memory whose length is chosen at launch, in the order of the kernel's memories.
    pub dynamic_shared: Vec<u32>,
}

/// Workgroups to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedGrid {
    /// So many; a zero means that nothing runs.
    Workgroups([u32; 3]),
    /// Three `u32` in a buffer.
    Indirect(BufferId, u64),
}

/// The value of a parameter of a legal kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A buffer from a byte on.
    Buffer(BufferId, u64),
    /// The device's buffer for traps.
    Traps,
    /// A number; its type is the legal parameter's.
    Scalar(Constant),
}

/// What a pass knows about how parameters came to be; see [`Entry::plan`].
impl Entry {
    /// Checks the arguments of a launch against the kernel's parameters, runs its `launch` region and folds the grid.
    pub fn plan(&self, arguments: &[Argument], grid: Grid) -> Result<LaunchPlan, Diagnostic> {
        super::plan::plan(self, arguments, grid)
    }
}
