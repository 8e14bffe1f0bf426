//! The launch ABI: what a legal kernel's parameters are, and how the host makes them from a launch's arguments.
//!
//! | file | its idea |
//! |---|---|
//! | [`entry`] | a legal kernel, and what each of its parameters is |
//! | [`derived`] | values that a `launch` region computes become parameters |
//! | [`traps`] | the hidden buffer that records the first trap |
//! | [`fold`] | grids of any size on devices whose dimensions are short |
//! | [`arguments`] | the host's part: arguments checked, derived parameters computed, the grid folded |
//! | [`buffer_offsets`] | buffers that begin at places that bindings or accesses do not allow |
//! | [`packed`] | an entry as bytes, for kernels that a device keeps on disk |

mod arguments;
pub mod buffer_offsets;
pub(crate) mod derived;
pub mod entry;
pub(crate) mod fold;
pub mod packed;
pub(crate) mod traps;
