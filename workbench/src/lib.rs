//! What the tests of all crates share: how much of a long suite is run, what is reported where something is missing, and limits on work.
//!
//! No limit here uses a clock. A busy machine takes longer for the same work, and no test fails because of that.

pub mod extent;
pub mod notes;
pub mod work;

pub use extent::{ALL, Share, number, sample, share};
pub use notes::missing;
