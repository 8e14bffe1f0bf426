//! Girih: Bend programs on every GPU.
pub use girih_core as core;
