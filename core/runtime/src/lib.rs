//! Devices as handles, and the interface of everything that runs functions in task form.
//!
//! | file | its idea |
//! |---|---|
//! | [`driver`] | the trait that a back end implements; it names everything by number |
//! | `device`, `program` | the handles that users hold: devices, and compiled kernels |
//! | `buffer`, `allocator` | memory with an owner, and the cache of free memory |
//! | `stream`, `queue` | order of work; the driver's queue below it, and its end |
//! | `retired` | what waits for work before it can be used again or given back |
//! | `event`, `polling` | events and downloads as futures; the thread that polls where a driver cannot wake them |
//! | `command`, `recording` | work; work that is prepared once and submitted many times |
//! | [`dlpack`] | exchange of tensors with other libraries |
//! | `measure` | measures how long work takes |
//! | `profile` | where the time of a run goes |
//! | `trap` | what kernels report by traps |
//! | `timeline` | what a run on a device did while time went on |
//! | `tasks` | the trait `Runner`, which runs functions in task form |

mod allocator;
mod buffer;
mod command;
mod device;
pub mod dlpack;
pub mod driver;
mod event;
mod measure;
mod polling;
mod profile;
mod program;
mod queue;
mod recording;
mod retired;
mod stream;
mod tasks;
#[cfg(test)]
mod tests;
mod timeline;
mod trap;

pub use allocator::Figures;
pub use buffer::{Array, Buffer, Element, Memory};
pub use command::{Argument, Command, Constant, Dispatch, Grid, Read};
pub use device::{Device, DeviceInfo, DeviceKind, LoadOptions};
pub use driver::Driver;
pub use event::{Download, Event};
pub use measure::{Timing, measure, median};
pub use profile::{CallTree, Frame, Label, Labels};
pub use program::Program;
pub use recording::Recording;
pub use stream::Stream;
pub use tasks::{DeviceHeap, Fault, Reserved, Runner, Schedule, StepStats, TaskOptions, TaskStats};
pub use timeline::{Slice, Timeline};
pub use trap::{assertion, trap};

/// Names this crate by its sources: two builds that may do otherwise have two names.
pub const IDENTITY: &str = env!("GIRIH_SOURCES");
