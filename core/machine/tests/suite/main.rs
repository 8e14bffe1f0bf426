//! The integration tests of `girih-machine`, in one program.

mod docs;
mod math;
mod prototype;
