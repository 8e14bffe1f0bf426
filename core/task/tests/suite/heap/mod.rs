//! Tests of heaps on devices.

mod room;
mod walk;
