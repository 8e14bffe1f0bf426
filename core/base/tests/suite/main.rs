//! The integration tests of `girih-base`, in one program.

mod num;
