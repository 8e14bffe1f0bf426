//! The integration tests of `girih-lower`, in one program.

mod simplify;
