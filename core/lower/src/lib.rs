//! IR to IR: from what languages write to what one device can render.
//!
//! The order of passes, for kernels that are loaded on a device with [`Caps`](girih_ir::Caps):
//!
//! 1. *select*: the kernels and what they call; specialisation constants become constants ([`compile`](fn@compile)).
//! 2. *tile, net, task*: families above kernel form are lowered to it (their passes stand here once they have operations).
//! 3. *inline*: calls with memory arguments always, others by size, all where a device has no calls; what nothing calls then is dropped.
//! 4. *simplify*: folding, common subexpressions, dead code, loop-invariant motion, addresses, unrolling; accesses stay apart.
//! 5. *legalise*: what the device lacks is rewritten in terms of what it has, or refused by name.
//! 6. *inline* and *simplify* again, adjacent accesses as one now, then the verifier.

pub mod calls;
mod compile;
mod entrance;
pub mod launch;
pub mod legalise;
mod rewrite;
pub mod simplify;
pub mod spmd;
mod tile;

pub use compile::{compile, notes};
pub use compile::{entry, specialise};
pub use entrance::Entrance;
pub use launch::entry::{Compiled, Entry, LaunchPlan, Parameter, PlannedGrid, Scalar, Slot};
pub use launch::packed::{named_type, read_span, span, type_name};
pub use launch::shift::Origin;
pub use legalise::split::split;
pub use rewrite::{Pass, Rewriter};

/// Names this crate by its sources: two builds that may write different code have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");
