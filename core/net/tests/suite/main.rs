//! The integration tests of `girih-net`, in one program.

mod nets;
