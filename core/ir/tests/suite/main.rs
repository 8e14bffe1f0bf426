//! The integration tests of `girih-ir`, in one program.

mod bad;
mod uniformity;
