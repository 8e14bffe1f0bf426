//! The PTX of kernels: it assembles without a warning for every architecture, it becomes the machine code that was meant, and
//! of a dozen small kernels it is as written down.
//!
//! `GIRIH_PTXAS` and `GIRIH_NVDISASM` name the assembler and the disassembler of the CUDA toolkit; otherwise they are looked for on
//! `PATH`. Without them a test says that it was skipped, unless `GIRIH_REQUIRE_PTXAS` is set.

mod assemble;
mod assembler;
mod machine;
mod operations;
mod snapshots;
mod support;
mod tiles;
