//! Benchmarks of compiled Bend: programs of `benches/bend`, measured beside the same jobs in C and beside upstream's runtime.
//!
//! | what | see |
//! |---|---|
//! | the programs, their sizes and values | [`programs`] |
//! | what is run, how often, and what counts | [`mod@measure`] |
//! | a C compiler, and upstream's `bend` | [`rivals`] |
//! | the machine that it was measured on | [`machine`] |
//! | figures: as a table, as JSON, beside those of another day | [`figures`], [`table`], [`json`], [`baseline`] |
//! | bars | [`svg`] |
//! | tile kernels on a device | [`tile`] |
//!
//! Every value that is computed is compared with the known one, so a figure is always that of a right result.

pub mod baseline;
pub mod figures;
pub mod json;
pub mod machine;
pub mod measure;
pub mod programs;
pub mod rivals;
pub mod svg;
pub mod table;
#[cfg(test)]
mod tests;
pub mod tile;

pub use figures::{Figures, Row};
pub use measure::{Plan, measure};
