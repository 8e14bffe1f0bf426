//! What the tests of all crates share: how much of a long suite is run, what is said where something is missing, and limits on work.
//!
//! No limit here is a clock's. A machine that is busy with something else takes longer for the same work, and no test fails of that.

pub mod extent;
pub mod notes;
pub mod work;

pub use extent::{number, sample};
pub use notes::missing;
