//! The integration tests of `girih`, in one program; `tests/cases` has those of which there is one for each file or device.

mod assembly;
mod compiled;
mod crates;
mod devices;
mod direct;
mod discovery;
mod emission;
mod examples;
mod flatten;
mod forkjoin;
mod heap;
mod kernel_arguments;
mod mutations;
mod names;
mod nets;
mod nets_on_devices;
mod operations;
mod paths;
mod products;
mod proofs;
mod reducer;
mod render;
mod runtime;
mod shared_device;
#[path = "../support/mod.rs"]
mod support;
mod tiles;
mod tutorials;
mod typed;
mod upstream;
mod well_typed;
mod window;
