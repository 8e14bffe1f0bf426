//! Devices as handles, and the interface of everything that runs functions in task form.
//!
//! | file | its idea |
//! |---|---|
//! | [`driver`] | the trait that a back end implements; it names everything by number |
//! | `device`, `program` | the handles that users hold: devices, and compiled kernels |
//! | `buffer`, `allocator` | memory with an owner, and the cache of free memory |
//! | `stream`, `waiter` | order of work, events, and waking the futures that wait for them |
//! | `command`, `recording` | work; work that is prepared once and submitted many times |
//! | [`dlpack`] | exchange of tensors with other libraries |
//! | `measure` | measures how long work takes |
//! | `tasks` | the trait `Runner`, which runs functions in task form |

mod allocator;
mod buffer;
mod command;
mod device;
pub mod dlpack;
pub mod driver;
mod measure;
mod program;
mod recording;
mod stream;
mod tasks;
mod waiter;

pub use allocator::Figures;
pub use buffer::{Array, Buffer, Element, Memory};
pub use command::{Argument, Command, Constant, Dispatch, Grid, Read};
pub use device::{Device, DeviceInfo, DeviceKind, LoadOptions};
pub use driver::Driver;
pub use measure::{Timing, measure};
pub use program::Program;
pub use recording::Recording;
pub use stream::{Download, Event, Stream};
pub use tasks::{DeviceHeap, Fault, Runner, StepStats, TaskOptions, TaskStats};

use girih_base::diag::{Code, Diagnostic};

/// The error of a launch that noted this trap.
pub fn trap(code: u32) -> Diagnostic {
    Diagnostic::new(Code::Trap, girih_base::span::Span::NONE, format!("the kernel reported trap {code}"))
}
