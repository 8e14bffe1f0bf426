//! Compiled code, kept on disk between runs.
//!
//! | module | its idea |
//! |---|---|
//! | [`file`](mod@file) | one file that is either whole or absent: its data, preceded by their digest |
//! | [`Cache`] | a folder of such files, each named by what it was made from, and bounded in size |
//!
//! A cache that cannot be read or written is not an error: everything is only slower.

mod cache;
pub mod file;

pub use cache::{Cache, Key};

/// Bytes of a digest.
const DIGEST: usize = 32;
