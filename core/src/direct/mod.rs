//! The direct tier: Bend programs as functions of the IR.

pub mod math;
