//! NVIDIA GPUs: kernel form becomes PTX text, and the CUDA driver, found at run time, runs it.

pub mod ptx;
