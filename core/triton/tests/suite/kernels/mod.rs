//! Triton kernels: what they compute, and what is said about those that are wrong.

mod addresses;
mod assembly;
mod blocks;
mod classes;
mod compile_time;
mod docs;
mod errors;
mod helpers;
mod host;
mod libdevice;
mod order;
mod run;
mod scaled;
mod semantics;
mod shaders;
mod values;
