//! The analysis: it is right for every value of every program that there is to test with, and as precise as it is meant
//! to be.

mod host;
mod interpreter;
mod lowered;
mod member;
mod operate;
mod programs;
mod random;
mod speed;
mod table;
