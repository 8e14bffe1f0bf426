//! For the tests of this crate and of those above it: programs without the Bend front end, and random ones.

pub mod random;
pub mod source;
