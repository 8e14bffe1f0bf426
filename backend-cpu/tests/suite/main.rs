//! The integration tests of `girih-cpu`, in one program.

mod device;
mod gemm;
mod spmd;
