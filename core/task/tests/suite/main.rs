//! The tests of `girih-task`, in one program.

mod bits;
mod cycles;
mod flatten;
mod flow;
mod forkjoin;
mod heap;
mod lower;
mod math;
mod unboxing;
