//! The conformance suite: cases that every device runs, with results that the reference machine decides.
//!
//! A [`Group`] is a module of kernels and the cases that launch them. Cases come from the table of operations
//! ([`table`]), from `.gir` programs with `; run:` lines ([`programs`]) and from generators of random kernels
//! ([`random`]; [`tiles`], in tile form). A device's results are compared with the reference by the numeric class of each result
//! ([`compare`]).
//!
//! Invariant: a case that a device runs can fail. A case that a device refuses is counted as refused, with the reason, and only
//! the errors that name a lacking feature or limit count as such.

#[cfg(feature = "cpu")]
mod apart;
mod compare;
mod edges;
mod emission;
mod programs;
mod random;
mod runner;
mod shrink;
mod suite;
mod table;
mod tiles;

#[cfg(feature = "cpu")]
pub use apart::{Place, run_apart};
pub use compare::{Expectation, Mismatch};
pub use emission::{Emission, Sheet, emit_group};
pub use programs::{Program, TaskCalls, program_group, run_tasks};
pub use random::{group as random_group, random_groups};
pub use runner::{Oracle, Outcome, Score, run_fault, run_group, run_stated};
pub use shrink::{Choices, KernelForm, Smallest, choices, smallest};
pub use suite::{Failure, Part, Suite, program_files, reference, run_on};
pub use table::table_groups;
pub use tiles::{tile_group, tile_groups};

use girih_ir::{FunctionId, Module, Scalar, Verified};
use girih_runtime::Constant;

/// Kernels of one module and their cases.
#[derive(Debug)]
pub struct Group {
    /// What the cases have in common: an operation, a file, a seed.
    pub name: String,
    /// The kernels.
    pub module: Verified<Module>,
    /// Launches of them.
    pub cases: Vec<Case>,
}

/// One launch and what must come of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique in its group.
    pub name: String,
    /// The kernel.
    pub kernel: FunctionId,
    /// The same with the denormal numbers among its constants replaced by zero, if it has such.
    pub flushed: Option<FunctionId>,
    /// One for each parameter.
    pub arguments: Vec<CaseArgument>,
    /// The number of workgroups; the kernel's own if absent.
    pub grid: Option<[u32; 3]>,
    /// Values of specialisation constants.
    pub specialisations: Vec<(String, u64)>,
    /// The trap that must be reported, if any.
    pub traps: Option<u32>,
    /// The argument, a buffer, whose first word the kernel sets to its subgroup's width: the reference is run with the same.
    pub width: Option<usize>,
    /// What buffers must hold afterwards, whatever the reference says.
    pub checks: Vec<Check>,
}

/// The stated contents of a buffer after a launch.
#[derive(Clone, Debug)]
pub struct Check {
    /// The argument's position.
    pub argument: usize,
    /// Its elements.
    pub expected: girih_ir::text::run_lines::Expectation,
}

/// An argument of a case.
#[derive(Clone, Debug)]
pub enum CaseArgument {
    /// A number.
    Scalar(Constant),
    /// A buffer with these bytes at first, and what its contents must be afterwards.
    Buffer(Vec<u8>, Expectation),
}

impl Case {
    /// A launch of so many workgroups; nothing is special about it.
    pub(crate) fn new(name: String, kernel: FunctionId, arguments: Vec<CaseArgument>, grid: Option<[u32; 3]>) -> Case {
        Case {
            name,
            kernel,
            flushed: None,
            arguments,
            grid,
            specialisations: vec![],
            traps: None,
            width: None,
            checks: vec![],
        }
    }

    /// The same with all denormal numbers in its inputs and constants replaced by zero: what a device that flushes them sees.
    fn flushed(&self) -> Case {
        let mut case = Case { kernel: self.flushed.unwrap_or(self.kernel), ..self.clone() };
        for argument in &mut case.arguments {
            if let CaseArgument::Buffer(bytes, expectation) = argument
                && let Some(scalar) = expectation.input
            {
                compare::flush(bytes, scalar);
            }
        }
        case
    }
}

/// Little-endian bytes of values of one scalar type.
pub(crate) fn pack(scalar: Scalar, values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let size = scalar.bytes() as usize;
    values.into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(size)).collect()
}

/// Values of one scalar type from little-endian bytes; a rest shorter than a value is left out.
pub(crate) fn unpack(scalar: Scalar, bytes: &[u8]) -> Vec<u64> {
    let size = scalar.bytes() as usize;
    let value = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    bytes.chunks_exact(size).map(value).collect()
}
