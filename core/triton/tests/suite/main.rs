//! The integration tests of `girih-triton`, in one program.

mod kernels;
