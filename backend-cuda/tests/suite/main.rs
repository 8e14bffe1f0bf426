//! The integration tests of `girih-cuda`, in one program.

mod device;
mod ptx;
mod waiting;
