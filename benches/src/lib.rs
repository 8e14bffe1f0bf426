//! Benchmarks: suites of programs and kernels at several sizes, measured on a device, beside others who do the same jobs, and beside an earlier day.
//!
//! | what | see |
//! |---|---|
//! | the table of suites, and how all of them are measured | [`suite`] |
//! | compiled Bend: the programs of `benches/bend`, their sizes and values | [`bend`], [`programs`] |
//! | interaction nets of `benches/net`, their sizes and normal forms | [`net`] |
//! | a C compiler, and upstream's `bend` and `hvm` | [`rivals`] |
//! | frames a second of image shaders | [`frames`] |
//! | kernels of the IR, and of tiles, on a device | [`kernels`], [`tile`], [`launch`] |
//! | what the device can do at most | [`ceilings`] |
//! | the machine that it was measured on | [`machine`] |
//! | figures, and how runs of one differ | [`figures`], [`spread`] |
//! | figures as tables and Markdown, as JSON, beside those of another day | [`table`], [`json`], [`baseline`] |
//! | bars and curves | [`svg`] |
//!
//! Every value that is computed is compared with the known one, so a figure is always that of a right result.

pub mod baseline;
mod bend;
mod ceilings;
pub mod figures;
mod frames;
pub mod json;
mod kernels;
mod launch;
pub mod machine;
mod net;
mod patience;
pub mod programs;
pub mod rivals;
pub mod spread;
pub mod suite;
pub mod svg;
pub mod table;
#[cfg(test)]
mod tests;
mod tile;

pub use figures::{Figures, Row};
pub use suite::{SUITES, Selection, Suite, measure};
