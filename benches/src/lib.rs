//! Benchmarks: suites of programs and kernels at several sizes, measured on a device, beside rivals that do the same jobs, and beside earlier figures.
//!
//! | what | see |
//! |---|---|
//! | the table of suites, and how all of them are measured | [`suite`] |
//! | compiled Bend: the programs of `benches/bend` and `benches/corpus`, their sizes and values | [`bend`], [`programs`] |
//! | a user's own program on several devices | [`own`] |
//! | interaction nets of `benches/net`, their sizes and normal forms | [`net`] |
//! | compilers for C and for Haskell, and upstream's `bend` and `hvm`; NumPy | [`rivals`]; [`numpy`] |
//! | frames a second of image shaders | [`frames`] |
//! | kernels of the IR, and of tiles, on a device | [`kernels`], [`tile`], [`launch`] |
//! | the most that the device can do | [`ceilings`] |
//! | the machine on which it was measured | [`machine`] |
//! | figures, and how the runs of one figure differ | [`figures`], [`spread`] |
//! | figures as tables and Markdown, as JSON, beside earlier figures | [`table`], [`json`], [`baseline`] |
//! | bars and curves | [`svg`] |
//!
//! Every computed value is compared with the known one, so every figure belongs to a correct result.

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
mod numpy;
pub mod own;
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
