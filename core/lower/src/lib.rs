//! Passes from IR to IR: they turn the kernels that languages generate into kernels that one device can render.
//!
//! The passes, in order, for kernels that are loaded on a device with [`Caps`](girih_ir::Caps):
//!
//! 1. *select*: take the kernels and the functions that they call; specialisation constants become constants ([`compile`](fn@compile)).
//! 2. *tile*: kernels in tile form become kernels of single invocations.
//! 3. *inline*: inline all calls with memory arguments, other calls depending on size, and every call if the device has no calls; then drop functions that nothing calls.
//! 4. *launch*: derived parameters, traps and folded grids become parameters of the kernel.
//! 5. *simplify*: folding, common subexpressions, dead code, loop-invariant motion, addresses, unrolling; accesses stay separate.
//! 6. *legalise*: rewrite operations that the device lacks to operations that it has, or refuse them by name.
//! 7. *inline* and *simplify* again, joining adjacent accesses; then the verifier.

pub mod calls;
mod compile;
pub mod launch;
pub mod legalise;
mod rewrite;
pub mod simplify;
pub mod spmd;
pub mod tile;

pub use calls::early_exit::EarlyExit;
pub use compile::{compile, notes};
pub use compile::{entry, specialise};
pub use launch::buffer_offsets::Origin;
pub use launch::entry::{Compiled, Entry, LaunchPlan, LaunchScalar, Parameter, PlannedGrid, Slot};
pub use launch::packed::{named_type, read_span, span, type_name};
pub use legalise::split::split;
pub use rewrite::{Pass, Rewriter};

/// Names this crate by its sources: two builds that may write different code have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");
