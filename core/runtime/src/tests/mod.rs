//! The runtime on a driver that does nothing by itself.

mod fake;
mod futures;
mod memory;
mod streams;
mod transfers;

use crate::{Argument, Buffer, Command, Constant, Device, Dispatch, Grid, Program};
use fake::Fake;
use girih_ir::{Scalar, Type};
use std::sync::mpsc;
use std::time::Duration;

/// Longer than anything takes that comes by itself.
const LONG: Duration = Duration::from_secs(20);
/// Long enough for something to come that is not to come.
const SHORT: Duration = Duration::from_millis(50);

/// A launch that writes a number into all bytes of a buffer.
fn fill(program: &Program, buffer: &Buffer, by: u8) -> Command {
    let by = Argument::Scalar(Constant { ty: Type::Scalar(Scalar::U32), bits: by.into() });
    let arguments = vec![Argument::buffer(buffer), by];
    Command::Dispatch(Dispatch { program: program.clone(), arguments, grid: Grid::Own })
}

/// A buffer of somebody else, and where it is heard when he is told that it is free.
#[allow(unsafe_code)]
fn imported(device: &Device, bytes: u64) -> (Buffer, mpsc::Receiver<()>) {
    let (told, heard) = mpsc::channel();
    // SAFETY: the driver of these tests has memory of its own instead.
    let buffer = unsafe { device.import(0x1000, bytes, move || told.send(()).unwrap_or(())) };
    (buffer.expect("any address will do"), heard)
}
