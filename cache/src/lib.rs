//! What compilers have made, kept on disk between runs.
//!
//! | module | its idea |
//! |---|---|
//! | [`file`](mod@file) | one file that is whole or not there: its data behind their own digest |
//! | [`Cache`] | a folder of such files, each named by what it was made from, and bounded in size |
//!
//! A cache that cannot be read or written is no error: it is only slower.

mod cache;
pub mod file;

pub use cache::{Cache, Key};

/// Bytes of a digest.
const DIGEST: usize = 32;
