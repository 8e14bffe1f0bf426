//! What lowering gives to a device: legal kernels, and for each how a launch's arguments become its parameters.

use girih_base::diag::Diagnostic;
use girih_ir::attrs::Dim;
use girih_ir::{Function, FunctionId, Module, Verified};
use girih_runtime::Constant;
use girih_runtime::driver::{Argument, Grid, Slice};

/// Kernels that are legal for a device, with what they call.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// All of them in one module.
    pub module: Verified<Module>,
    /// One for each kernel that was asked for, in that order.
    pub entries: Vec<Entry>,
    /// What is to be said of them beside errors: which left the usual lowering of tiles, why and where.
    pub notes: Vec<Diagnostic>,
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
    /// Whether its grid is folded: it has a [`LaunchScalar::GridSize`] parameter then.
    pub folded: bool,
    /// Largest grid in each dimension on the device.
    pub largest_grid: [u32; 3],
    /// Of each argument that is a buffer, what its first byte's address must be a multiple of: the widest access, and what the parameter promises. 1 of others.
    pub aligns: Vec<u32>,
    /// Of each argument that is a buffer, the widest access through it as the kernel was written; 0 of those that are reached in another way, or not at all.
    pub widths: Vec<u32>,
}

/// What a parameter of a legal kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The buffer that is the launch's argument of this position.
    Buffer(usize),
    /// The device's buffer for traps: one `u32`, 0 until a trap is noted.
    Traps,
    /// A number.
    Scalar(LaunchScalar),
    /// The low (0) or high (1) word of a 64-bit number.
    Word(LaunchScalar, u8),
}

/// Where a scalar parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchScalar {
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
    /// Three `u32` in memory.
    Indirect(Slice),
}

/// The value of a parameter of a legal kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Memory, from its first byte on.
    Buffer(Slice),
    /// The device's buffer for traps.
    Traps,
    /// A number; its type is the legal parameter's.
    Scalar(Constant),
}

impl Entry {
    /// What the address of an argument's first byte must be a multiple of.
    pub fn align(&self, argument: usize) -> u32 {
        self.aligns.get(argument).copied().unwrap_or(1)
    }

    /// What the bytes are a multiple of by which a buffer has to be shifted on a device that binds at multiples of `least`; 0 if it need not be, or if that does
    /// not help.
    pub(crate) fn shift_of(&self, argument: usize, slice: Slice, least: u32) -> u32 {
        let width = self.widths.get(argument).copied().unwrap_or(0);
        let promised = self.source.params.get(argument).map_or(0, |param| self.source.param_attrs(*param).align);
        let is_in_place = slice.align >= self.align(argument).max(least);
        if is_in_place || width == 0 || slice.align < width.max(promised) { 0 } else { width }
    }

    /// Checks the arguments of a launch against the kernel's parameters, runs its `launch` region and folds the grid.
    pub fn plan(&self, arguments: &[Argument], grid: Grid) -> Result<LaunchPlan, Diagnostic> {
        super::arguments::plan(self, arguments, grid)
    }
}
