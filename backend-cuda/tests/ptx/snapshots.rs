//! The PTX of small kernels.
