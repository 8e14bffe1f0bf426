//! The tests of `girih-machine`, in one program.

mod docs;
mod interp;
mod math;
mod prototype;
mod tasks;
