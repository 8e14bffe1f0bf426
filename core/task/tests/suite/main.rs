//! The tests of `girih-task`, in one program.

mod bits;
mod chains;
mod cycles;
mod flatten;
mod flow;
mod forkjoin;
mod heap;
mod lower;
mod math;
mod ranges;
mod unboxing;
